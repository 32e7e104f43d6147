// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/limit.h"
#include "base/log.h"
#include "collector/rundb/rundb_live.h"
#include "collector/store/trace_reader.h"
#include "collector/verify/verify.h"
#include "ecs/export/export.h"
#include "ecs/export/export_internal.h"
#include "ecs/report/json.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/*
 * Dictionaries are read from the database when the export begins. A packet that needs a later version of one was stored
 * after that, and ends its stream here.
 */

enum { ORDER_BYTES = 64 << 20 };

/* What stands already in an order: the latest time that a record of some node may have, and the latest of the others.
 */
struct order {
    const struct model_node *latest;
    int64_t until, until_of_others;
};

struct records {
    FILE *out;
    struct csv *csv; /* NULL: JSON lines */
    const char *run;
    bool served; /* by a collector: files grow */
    struct order order;
};

/* ---- values ---- */

static struct export_value text(const char *text, size_t length)
{
    return (struct export_value){.as = EXPORT_TEXT, .text = text, .length = length};
}

/* The label of `value` of an enum; length 0: it has no label. */
static struct export_value enum_label(const struct dict_field *f, uint64_t value)
{
    const char *label = f->labels;
    for (; value > 0; value--) {
        label = strchr(label, '|');
        if (!label)
            return text("", 0);
        label++;
    }
    return text(label, strcspn(label, "|"));
}

struct export_value export_value(const struct export_record *record, uint32_t i)
{
    const struct dict_field *f = &record->aspect->fields[i];
    const struct dict *dict = record->process->dict;
    uint64_t bits = packet_value(record->r, i);
    struct export_value v = {.as = EXPORT_INT, .integer = (int64_t)bits};
    if (f->type == DICT_FLOAT64) {
        v.as = EXPORT_FLOAT;
        memcpy(&v.real, &bits, sizeof v.real);
    } else if (f->type == DICT_STRING) {
        if (bits == 0 || bits > dict->string_count)
            v.as = EXPORT_ABSENT;
        else
            v = text(dict->strings[bits - 1], strlen(dict->strings[bits - 1]));
    } else if (f->type == DICT_ENUM && bits <= DICT_LABELS_MAX) {
        struct export_value label = enum_label(f, bits);
        if (label.length)
            v = label;
    }
    return v;
}

/* ---- order ---- */

static int64_t add_capped(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Whether a record of `node` at `at` was made after all that stand already, of other clocks. */
static enum export_proof order_proof(struct order *o, const struct model_node *node, struct clock_reading at)
{
    int64_t others = o->latest == node ? o->until_of_others : o->until;
    int64_t from;
    bool is_proven = at.bound < INT64_MAX && !__builtin_sub_overflow(at.ns, at.bound, &from) && from > others;
    int64_t until = add_capped(at.ns, at.bound);
    if (!o->latest)
        *o = (struct order){node, until, INT64_MIN};
    else if (o->latest == node)
        o->until = until > o->until ? until : o->until;
    else if (until > o->until)
        *o = (struct order){node, until, o->until};
    else if (until > o->until_of_others)
        o->until_of_others = until;
    return is_proven ? EXPORT_PROVEN : EXPORT_UNKNOWN;
}

/* ---- JSON lines ---- */

static void put_value(struct json *j, const char *name, const struct export_value *v)
{
    char text[DICT_LABELS_MAX + 1];
    switch (v->as) {
    case EXPORT_TEXT:
        snprintf(text, sizeof text, "%.*s", (int)v->length, v->text);
        json_text(j, name, text);
        return;
    case EXPORT_ABSENT:
        json_text(j, name, NULL);
        return;
    case EXPORT_INT:
        json_int(j, name, v->integer);
        return;
    case EXPORT_FLOAT:
        json_double(j, name, v->real);
        return;
    }
}

static void put_jsonl(FILE *out, const struct export_record *record)
{
    struct json j = {.out = out, .compact = true};
    json_object(&j, NULL);
    json_text(&j, "node", record->process->node->name);
    json_text(&j, "process", record->process->name);
    json_uint(&j, "pid", record->process->pid);
    json_uint(&j, "ring", record->packet->ring);
    json_uint(&j, "thread", record->packet->thread);
    json_uint(&j, "time_ns", record->r->timestamp);
    json_text(&j, "aspect", record->aspect->name);
    json_int(&j, "run_time_ns", record->at.ns);
    if (record->at.bound < INT64_MAX)
        json_int(&j, "error_ns", record->at.bound);
    else
        json_text(&j, "error_ns", NULL);
    if (record->proof != EXPORT_UNORDERED)
        json_text(&j, "order", record->proof == EXPORT_PROVEN ? "proven" : "unknown");
    json_object(&j, "fields");
    for (uint32_t i = 0; i < record->aspect->field_count; i++) {
        struct export_value v = export_value(record, i);
        put_value(&j, record->aspect->fields[i].name, &v);
    }
    json_object_end(&j);
    json_object_end(&j);
}

/* ---- walking the run ---- */

static int put_packet(struct records *x, const struct model_process *p, const struct packet_header *h,
                      const uint8_t *packet)
{
    struct packet_record r;
    size_t offset = PACKET_HEADER_BYTES;
    int more;
    if (x->csv)
        csv_packet(x->csv, p, h);
    while ((more = packet_next_record(packet, h, p->dict->field_counts, p->dict->aspect_count, &offset, &r)) > 0) {
        struct export_record record = {.process = p, .packet = h, .r = &r, .aspect = &p->dict->aspects[r.aspect - 1]};
        record.at = run_clock_at(&p->node->run_clock, r.timestamp < INT64_MAX ? (int64_t)r.timestamp : INT64_MAX);
        if (x->csv)
            csv_record(x->csv, &record);
        else
            put_jsonl(x->out, &record);
    }
    return ferror(x->out) ? BEZEL_ESYS : more;
}

/* Warns of stored bytes that are missing, or of bytes at the end that cannot be exported. */
static void warn_missing(const char *path, const struct model_stream *s, uint64_t bytes, uint64_t rest)
{
    if (s && bytes < s->saved.bytes)
        log_warn("BEZEL-EXPORT-DAMAGED", "%s: %" PRIu64 " bytes that were stored are missing from byte %" PRIu64 " on",
                 path, s->saved.bytes - bytes, bytes);
    else if (rest)
        log_warn("BEZEL-EXPORT-TORN",
                 "%s: its last %" PRIu64 " bytes are not a complete packet, and not exported; see 'bezel verify'", path,
                 rest);
}

static int put_stream(struct records *x, const struct model_process *p, const struct model_stream *s, const char *path)
{
    struct trace_reader *r;
    int err = trace_reader_open(path, &r);
    if (err == BEZEL_ENOENT) {
        warn_missing(path, s, 0, 0);
        return 0;
    }
    if (err == BEZEL_EMALFORMED) {
        log_warn("BEZEL-EXPORT-FOREIGN", "left out %s: it is not a regular file", path);
        return 0;
    }
    if (err)
        return err;
    struct packet_header h;
    const uint8_t *packet;
    int more;
    bool later = false;
    while (!err && !later && (more = trace_reader_next(r, &h, &packet)) != 0) {
        later = more > 0 && !dict_includes(p->dict, h.dictionary);
        if (!later)
            err = more < 0 ? more : put_packet(x, p, &h, packet);
    }
    if (!err && !later && !x->served)
        warn_missing(path, s, trace_reader_offset(r), trace_reader_rest(r));
    trace_reader_close(r);
    if (err != BEZEL_EMALFORMED && err != BEZEL_EVERSION)
        return err;
    log_warn("BEZEL-EXPORT-DAMAGED", "%s: %s: exported up to there", path, err_text(err));
    return 0;
}

static int put_all(struct records *x, const struct model *m)
{
    int err = 0;
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

/* ---- all nodes in one order ---- */

static int take(void *context, size_t source, const struct export_item *item)
{
    struct records *x = context;
    (void)source;
    if (!item->r)
        return 0;
    struct export_record record = {.process = item->process, .packet = item->packet, .r = item->r, .at = item->at};
    record.aspect = &item->process->dict->aspects[item->r->aspect - 1];
    record.proof = order_proof(&x->order, item->process->node, item->at);
    if (x->csv) {
        csv_packet(x->csv, item->process, item->packet);
        csv_record(x->csv, &record);
    } else {
        put_jsonl(x->out, &record);
    }
    return ferror(x->out) ? BEZEL_ESYS : 0;
}

static int put_in_order(struct records *x, const struct model *m)
{
    struct export_nodes nodes;
    struct export_taker taker = {.context = x, .take = take};
    size_t count = 0;
    int err = export_find(x->run, &nodes);
    struct export_part *parts = calloc(nodes.count + 1, sizeof *parts);
    if (!err && !parts)
        err = BEZEL_ENOMEM;
    for (size_t i = 0; i < nodes.count && !err; i++) {
        const struct model_node *node = m->nodes;
        while (node && strcmp(node->dir, nodes.list[i].dir) != 0)
            node = node->next;
        if (node)
            parts[count++] = (struct export_part){node, &nodes.list[i]};
        else
            log_warn("BEZEL-EXPORT-FOREIGN", "left out trace/%s: run.db has no node for it", nodes.list[i].dir);
    }
    if (!err)
        err = export_in_order(parts, count, ORDER_BYTES, &taker);
    if (!err && fflush(x->out) != 0)
        err = BEZEL_ESYS;
    free(parts);
    export_find_free(&nodes);
    return err;
}

struct model *export_load_model(const char *run, bool streams, int *err)
{
    struct rundb *f;
    struct model *m = model_new("");
    *err = m ? rundb_open_read(run, &f) : BEZEL_ENOMEM;
    if (!*err) {
        *err = rundb_get(f, "run", m->run, sizeof m->run);
        if (!*err || *err == BEZEL_ENOENT)
            *err = rundb_load(f, m);
        if (!*err && streams)
            *err = rundb_load_streams(f, m);
        (void)!rundb_close(f);
    }
    if (!*err) {
        m->clocks_last = true; /* as far as there are */
        return m;
    }
    model_free(m);
    return NULL;
}

int export_records(const char *run, enum export_format format, bool merged, FILE *out)
{
    struct records x = {.out = out, .run = run, .served = verify_is_served(run), .order = {NULL, INT64_MIN, INT64_MIN}};
    int err;
    struct model *m = export_load_model(run, true, &err);
    if (err) {
        log_error("BEZEL-EXPORT-DATABASE", "%s/run.db: %s", run, rundb_why(err));
    } else {
        err = format == EXPORT_CSV ? csv_open(out, m, merged, &x.csv) : 0;
        if (!err)
            err = merged ? put_in_order(&x, m) : put_all(&x, m);
        if (err)
            log_error("BEZEL-EXPORT", "cannot export the records of %s: %s", run, limit_reason(err));
    }
    csv_close(x.csv);
    model_free(m);
    return err;
}
