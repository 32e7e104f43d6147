// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "export/record_writer.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/plain.h"
#include "base/units.h"
#include "export/export_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct record_writer {
    FILE *out;
    enum record_writer_format format;
    struct csv *csv;
    int64_t second; /* of `clock` */
    char clock[16], date[24];
};

const char *record_writer_proof(enum record_proof proof)
{
    static const char *const words[RECORD_PROOFS] = {
        [RECORD_UNORDERED] = "",       [RECORD_UNKNOWN] = "unknown", [RECORD_PROVEN] = "proven",
        [RECORD_LATE] = "late",        [RECORD_TACHYON] = "tachyon", [RECORD_MOVED] = "moved",
        [RECORD_CONTRARY] = "contrary"};
    return words[proof];
}

/* ---- JSON lines ------------------------------------------------------------------------------------------------- */

static void put_value(struct json *j, const char *name, const struct record_value *v)
{
    char text[DICT_LABELS_MAX + 1];
    switch (v->as) {
    case RECORD_TEXT:
        snprintf(text, sizeof text, "%.*s", (int)v->length, v->text);
        json_text(j, name, text);
        return;
    case RECORD_ABSENT:
        json_text(j, name, NULL);
        return;
    case RECORD_INT:
        json_int(j, name, v->integer);
        return;
    case RECORD_FLOAT:
        json_double(j, name, v->real);
        return;
    }
}

static void put_jsonl(FILE *out, const struct record_item *record)
{
    struct json j = {.out = out, .compact = true};
    json_object(&j, NULL);
    json_text(&j, "node", record->process->node->name);
    json_text(&j, "process", record->process->name);
    json_uint(&j, "pid", record->process->pid);
    json_uint(&j, "ring", record->packet->ring);
    json_uint(&j, "thread", record->packet->thread);
    json_text(&j, "thread_name", record_item_thread(record));
    json_uint(&j, "time_ns", record->r->timestamp);
    json_text(&j, "aspect", record->aspect->name);
    json_int(&j, "run_time_ns", record->at.ns);
    if (record->at.bound < INT64_MAX)
        json_int(&j, "error_ns", record->at.bound);
    else
        json_text(&j, "error_ns", NULL);
    if (record->proof != RECORD_UNORDERED) {
        json_text(&j, "order", record_writer_proof(record->proof));
        json_int(&j, "logical_ns", record->logical);
    }
    json_object(&j, "fields");
    for (uint32_t i = 0; i < record->aspect->field_count; i++) {
        struct record_value v = record_item_value(record->process->dict, record->r, i);
        put_value(&j, record->aspect->fields[i].name, &v);
    }
    json_object_end(&j);
    json_object_end(&j);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Control characters could change what the terminal shows. */
static void put_plain(FILE *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char pair[] = {text[i], i + 1 < n ? text[i + 1] : '\0', '\0'};
        size_t control = text[i] ? plain_control(pair) : 1;
        fputc_unlocked(control ? '?' : text[i], out);
        if (control == 2)
            fputc_unlocked('?', out), i++;
    }
}

static void put_name(FILE *out, const char *name)
{
    put_plain(out, name, strlen(name));
}

/* The local time of day, to the ns; date and zone before it, on a line of their own, where they have changed. */
static void put_time(struct record_writer *w, struct clock_reading at)
{
    int64_t second = at.ns / CLOCK_S, ns = at.ns % CLOCK_S;
    if (ns < 0)
        second--, ns += CLOCK_S;
    if (!w->clock[0] || second != w->second) {
        char date[sizeof w->date] = "?";
        struct tm tm;
        time_t seconds = (time_t)second;
        snprintf(w->clock, sizeof w->clock, "?");
        if (localtime_r(&seconds, &tm)) {
            strftime(w->clock, sizeof w->clock, "%H:%M:%S", &tm);
            strftime(date, sizeof date, "%F UTC%z", &tm);
        }
        if (strcmp(date, w->date) != 0)
            fprintf(w->out, "-- %s --\n", date);
        memcpy(w->date, date, sizeof date);
        w->second = second;
    }
    fprintf(w->out, "%s.%09" PRId64, w->clock, ns);
    if (at.bound == INT64_MAX)
        fputs(" \u00b1?", w->out);
    else if (at.bound > 0)
        fprintf(w->out, " \u00b1%s", units_duration(at.bound).s);
}

static void put_field(FILE *out, const struct record_item *item, uint32_t i)
{
    const struct dict_field *f = &item->aspect->fields[i];
    struct record_value v = record_item_value(item->process->dict, item->r, i);
    fprintf(out, " %s=", f->name);
    if (v.as == RECORD_TEXT && f->type == DICT_STRING) {
        fputc('"', out);
        put_plain(out, v.text, v.length);
        fputc('"', out);
    } else if (v.as == RECORD_TEXT) {
        put_plain(out, v.text, v.length);
    } else if (v.as == RECORD_INT) {
        fprintf(out, "%" PRId64, v.integer);
    } else if (v.as == RECORD_FLOAT) {
        fprintf(out, "%.9g", v.real);
    } else {
        fputc('?', out);
    }
    const char *thread =
        item->process->role == ROLE_DAEMON && strcmp(f->name, "thread") == 0 ? record_item_thread(item) : NULL;
    if (thread) {
        fputc('/', out);
        put_name(out, thread);
    }
    if (f->unit && f->unit[0] && strcmp(f->unit, "1") != 0) {
        fputc(' ', out);
        put_name(out, f->unit);
    }
}

/* The process, and the name of the thread, but for its first thread, whose name is the program's. */
static void put_process(FILE *out, const struct record_item *item)
{
    bool other = item->process->role == ROLE_SUT && item->packet->thread != item->process->pid;
    const char *thread = other ? record_item_thread(item) : NULL;
    put_name(out, item->process->name);
    fprintf(out, "[%" PRIu32 "%s", item->process->pid, thread ? "/" : "");
    put_name(out, thread ? thread : "");
    fputc(']', out);
}

static void put_text(struct record_writer *w, const struct record_item *item)
{
    put_time(w, item->at);
    if (item->proof >= RECORD_LATE)
        fprintf(w->out, " %s", record_writer_proof(item->proof));
    else if (item->proof == RECORD_UNKNOWN && item->at.bound > 0)
        fputs(" order unknown", w->out);
    fputc(' ', w->out);
    put_name(w->out, item->process->node->name);
    fputc(' ', w->out);
    put_process(w->out, item);
    if (item->r) {
        fprintf(w->out, " %s", item->aspect->name);
        for (uint32_t i = 0; i < item->aspect->field_count; i++)
            put_field(w->out, item, i);
    } else {
        fprintf(w->out, " -- %s record%s of ring %" PRIu32 " lost up to here --", units_count(item->lost).s,
                item->lost == 1 ? "" : "s", item->packet->ring);
    }
    fputc('\n', w->out);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

int record_writer_open(FILE *out, enum record_writer_format format, const struct model *m,
                       const struct record_filter *filter, bool ordered, struct record_writer **w)
{
    struct record_writer *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    *it = (struct record_writer){.out = out, .format = format};
    int err = format == RECORD_WRITER_CSV ? csv_open(out, m, filter, ordered, false, &it->csv) : 0;
    if (err) {
        free(it);
        return err;
    }
    *w = it;
    return 0;
}

void record_writer_close(struct record_writer *w)
{
    if (!w)
        return;
    csv_close(w->csv);
    free(w);
}

void record_writer_put(struct record_writer *w, const struct record_item *item)
{
    if (w->format == RECORD_WRITER_TEXT) {
        put_text(w, item);
    } else if (item->r && w->csv) {
        csv_packet(w->csv, item->process, item->packet);
        csv_record(w->csv, item);
    } else if (item->r) {
        put_jsonl(w->out, item);
    }
}

void record_writer_forget(struct record_writer *w)
{
    if (w->csv)
        csv_forget(w->csv);
}

uint64_t record_writer_left_out(const struct record_writer *w)
{
    return w->csv ? csv_left_out(w->csv) : 0;
}
