// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "collector/facts_run.h"
#include "collector/reader.h"
#include "collector/verify.h"
#include "ecs/export.h"
#include "ecs/json.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Dictionaries come from the database, as they are when the export begins. A packet that needs a later version of one
 * ends its stream here: it was stored after the export began.
 */

static const char *const fixed[] = {"node", "process", "pid", "ring", "thread", "time_ns", "aspect"};

enum { FIXED = sizeof fixed / sizeof *fixed };

/** A column of the CSV for each name that a field has anywhere. Names belong to the dictionaries. */
struct columns {
    size_t count, capacity;
    const char **names;
};

struct records {
    enum export_format format;
    FILE *out;
    struct columns columns;
    const char *run;
    bool served; /* by a collector: files grow */
};

/** A record in its context. */
struct record {
    const struct model_process *process;
    const struct packet_header *packet;
    const struct packet_record *r;
    const struct dict_aspect *aspect;
};

/* ---- values ---- */

/* The label of number `value` of an enum, as *length bytes; NULL where it has none. */
static const char *enum_label(const struct dict_field *f, uint64_t value, size_t *length)
{
    const char *label = f->labels;
    for (; value > 0; value--) {
        label = strchr(label, '|');
        if (!label++)
            return NULL;
    }
    *length = strcspn(label, "|");
    return *length ? label : NULL;
}

/** A field's value, ready to be written: a text, or a number where text is NULL. */
struct shown_value {
    const char *text;
    bool absent; /* a string that found no place in its process */
    char label[DICT_LABELS_MAX + 1];
};

static void show_value(const struct record *record, uint32_t i, struct shown_value *shown)
{
    const struct dict_field *f = &record->aspect->fields[i];
    const struct dict *dict = record->process->dict;
    uint64_t bits = packet_value(record->r, i);
    shown->text = NULL;
    shown->absent = false;
    if (f->type == DICT_STRING) {
        shown->absent = bits == 0 || bits > dict->string_count;
        shown->text = shown->absent ? NULL : dict->strings[bits - 1];
    } else if (f->type == DICT_ENUM && bits <= DICT_LABELS_MAX) {
        size_t length;
        const char *label = enum_label(f, bits, &length);
        if (label) {
            snprintf(shown->label, sizeof shown->label, "%.*s", (int)length, label);
            shown->text = shown->label;
        }
    }
}

static double value_float(const struct record *record, uint32_t i)
{
    uint64_t bits = packet_value(record->r, i);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- JSON lines ---- */

static void put_jsonl(struct records *x, const struct record *record)
{
    struct json j = {.out = x->out, .compact = true};
    json_object(&j, NULL);
    json_text(&j, "node", record->process->node->name);
    json_text(&j, "process", record->process->name);
    json_uint(&j, "pid", record->process->pid);
    json_uint(&j, "ring", record->packet->ring);
    json_uint(&j, "thread", record->packet->thread);
    json_uint(&j, "time_ns", record->r->timestamp);
    json_text(&j, "aspect", record->aspect->name);
    json_object(&j, "fields");
    for (uint32_t i = 0; i < record->aspect->field_count; i++) {
        struct shown_value shown;
        show_value(record, i, &shown);
        const char *name = record->aspect->fields[i].name;
        if (shown.text || shown.absent)
            json_text(&j, name, shown.text);
        else if (record->aspect->fields[i].type == DICT_FLOAT64)
            json_double(&j, name, value_float(record, i));
        else
            json_int(&j, name, (int64_t)packet_value(record->r, i));
    }
    json_object_end(&j);
    json_object_end(&j);
}

/* ---- CSV (RFC 4180, but lines end in LF) ---- */

static void put_csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++)
        fputs(*text == '"' ? "\"\"" : (char[]){*text, '\0'}, out);
    fputc('"', out);
}

static void put_csv_value(FILE *out, const struct record *record, uint32_t i)
{
    struct shown_value shown;
    show_value(record, i, &shown);
    if (shown.text)
        put_csv_text(out, shown.text);
    else if (shown.absent)
        return;
    else if (record->aspect->fields[i].type != DICT_FLOAT64)
        fprintf(out, "%" PRId64, (int64_t)packet_value(record->r, i));
    else
        fprintf(out, "%.17g", isnan(value_float(record, i)) ? (double)NAN : value_float(record, i)); /* never "-nan" */
}

static void put_csv(struct records *x, const struct record *record)
{
    put_csv_text(x->out, record->process->node->name);
    fputc(',', x->out);
    put_csv_text(x->out, record->process->name);
    fprintf(x->out, ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",", record->process->pid, record->packet->ring,
            record->packet->thread, record->r->timestamp);
    put_csv_text(x->out, record->aspect->name);
    for (size_t c = 0; c < x->columns.count; c++) {
        fputc(',', x->out);
        for (uint32_t i = 0; i < record->aspect->field_count; i++)
            if (strcmp(record->aspect->fields[i].name, x->columns.names[c]) == 0)
                put_csv_value(x->out, record, i);
    }
    fputc('\n', x->out);
}

static bool is_fixed(const char *name)
{
    for (size_t i = 0; i < FIXED; i++)
        if (strcmp(name, fixed[i]) == 0)
            return true;
    return false;
}

static void put_csv_head(const struct records *x)
{
    for (size_t i = 0; i < FIXED; i++)
        fprintf(x->out, "%s%s", i ? "," : "", fixed[i]);
    for (size_t c = 0; c < x->columns.count; c++)
        fprintf(x->out, ",%s%s", is_fixed(x->columns.names[c]) ? "field." : "", x->columns.names[c]);
    fputc('\n', x->out);
}

static int add_column(struct columns *columns, const char *name)
{
    for (size_t c = 0; c < columns->count; c++)
        if (strcmp(columns->names[c], name) == 0)
            return 0;
    if (columns->count == columns->capacity) {
        size_t larger = columns->capacity ? 2 * columns->capacity : 32;
        const char **names = realloc(columns->names, larger * sizeof *names);
        if (!names)
            return BEZEL_ENOMEM;
        columns->names = names;
        columns->capacity = larger;
    }
    columns->names[columns->count++] = name;
    return 0;
}

static int collect_columns(struct columns *columns, const struct model *m, enum message_role role)
{
    int err = 0;
    for (const struct model_node *node = m->nodes; node; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            for (uint32_t a = 0; p->role == role && a < p->dict->aspect_count; a++)
                for (uint32_t f = 0; !err && f < p->dict->aspects[a].field_count; f++)
                    err = add_column(columns, p->dict->aspects[a].fields[f].name);
    return err;
}

/* ---- walking the run ---- */

static int put_packet(struct records *x, const struct model_process *p, const struct packet_header *h,
                      const uint8_t *packet)
{
    struct packet_record r;
    size_t offset = PACKET_HEADER_BYTES;
    int more;
    while ((more = packet_next_record(packet, h, p->dict->field_counts, p->dict->aspect_count, &offset, &r)) > 0) {
        struct record record = {p, h, &r, &p->dict->aspects[r.aspect - 1]};
        if (x->format == EXPORT_CSV)
            put_csv(x, &record);
        else
            put_jsonl(x, &record);
    }
    return ferror(x->out) ? BEZEL_ESYS : more;
}

/* What is not there though it was stored; what is there and cannot be exported. */
static void tell_missing(const char *path, const struct model_stream *s, uint64_t bytes, uint64_t rest)
{
    if (s && bytes < s->saved.bytes)
        log_warn("BEZEL-EXPORT-DAMAGED", "%s: %" PRIu64 " bytes that were stored are missing from byte %" PRIu64 " on",
                 path, s->saved.bytes - bytes, bytes);
    else if (rest)
        log_warn("BEZEL-EXPORT-TORN",
                 "%s: its last %" PRIu64 " bytes are no whole packet, and not exported: bezel verify tells more", path,
                 rest);
}

static int put_stream(struct records *x, const struct model_process *p, const struct model_stream *s, const char *path)
{
    struct reader *r;
    int err = reader_open(path, &r);
    if (err == BEZEL_ENOENT) {
        tell_missing(path, s, 0, 0);
        return 0;
    }
    if (err == BEZEL_EMALFORMED) {
        log_warn("BEZEL-EXPORT-FOREIGN", "%s is no file: left out", path);
        return 0;
    }
    if (err)
        return err;
    struct packet_header h;
    const uint8_t *packet;
    int more;
    bool later = false;
    while (!err && !later && (more = reader_next(r, &h, &packet)) != 0) {
        later = more > 0 && !dict_includes(p->dict, h.dictionary);
        if (!later)
            err = more < 0 ? more : put_packet(x, p, &h, packet);
    }
    if (!err && !later && !x->served)
        tell_missing(path, s, reader_offset(r), reader_rest(r));
    reader_close(r);
    if (err != BEZEL_EMALFORMED && err != BEZEL_EVERSION)
        return err;
    log_warn("BEZEL-EXPORT-DAMAGED", "%s: %s: exported up to there", path, err_text(err));
    return 0;
}

static int put_all(struct records *x, const struct model *m)
{
    int err = 0;
    if (x->format == EXPORT_CSV) {
        err = collect_columns(&x->columns, m, ROLE_SUT);
        if (!err)
            err = collect_columns(&x->columns, m, ROLE_DAEMON);
        put_csv_head(x);
    }
    for (const struct model_node *node = m->nodes; node; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            for (unsigned ring = 0; !err && ring < PACKET_RINGS_MAX; ring++) {
                char path[PATH_MAX];
                int n = snprintf(path, sizeof path, "%s/trace/%s/%s-%u", x->run, node->dir, p->base, ring);
                err = n < (int)sizeof path ? put_stream(x, p, p->streams[ring], path) : BEZEL_EINVAL;
            }
    if (!err && fflush(x->out) != 0)
        err = BEZEL_ESYS;
    return err;
}

static int load(const char *run, struct model *m)
{
    struct facts *f;
    int err = facts_open_read(run, &f);
    if (err)
        return err;
    err = facts_load(f, m);
    if (!err)
        err = facts_load_streams(f, m);
    (void)!facts_close(f);
    return err;
}

int export_records(const char *run, enum export_format format, FILE *out)
{
    struct records x = {.format = format, .out = out, .run = run, .served = verify_is_served(run)};
    struct model *m = model_new("");
    int err = m ? load(run, m) : BEZEL_ENOMEM;
    if (err) {
        log_error("BEZEL-EXPORT-DATABASE", "%s/run.db: %s", run, err_text(err));
    } else {
        err = put_all(&x, m);
        if (err)
            log_error("BEZEL-EXPORT", "cannot export the records of %s: %s", run,
                      err == BEZEL_ESYS ? strerror(errno) : err_text(err));
    }
    free(x.columns.names);
    if (m)
        model_free(m);
    return err;
}
