// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"
#include "base/ulimit.h"
#include "export/export.h"
#include "export/export_internal.h"
#include "export/record_writer.h"
#include "run/read/run_streams.h"
#include "run/rundb/rundb.h"
#include "run/store/trace_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/*
 * Dictionaries are read from the database when the export begins. A packet that needs a later version of one was stored
 * after that, and ends its stream here.
 */

struct records {
    FILE *out;                    /* NULL: into a folder */
    struct record_writer *writer; /* likewise */
    struct export_folder *folder;
    const char *run;
    const struct record_filter *filter;
    uint8_t wanted[DICT_ASPECTS_MAX + 1]; /* of the present process */
    bool served;                          /* by a collector: files grow */
    uint64_t expired, expired_packets; /* records that expired from the store, of what was wanted, and their packets */
    uint32_t rings;                    /* the present node has no file of a ring from here on */
};

static int put_item(struct records *x, const struct record_item *item)
{
    if (x->folder)
        return export_folder_put(x->folder, item);
    record_writer_put(x->writer, item);
    return 0;
}

static bool has_failed(const struct records *x)
{
    return x->out && ferror(x->out);
}

/* ---- walking the run ---- */

static int put_packet(struct records *x, const struct model_process *p, const struct packet_header *h,
                      const uint8_t *packet)
{
    struct packet_record r;
    size_t offset = PACKET_HEADER_BYTES;
    int more;
    enum record_where where = record_filter_where(x->filter, p->node, h->timestamp_begin, h->timestamp_end);
    if (where == RECORD_OUTSIDE)
        return 0;
    while ((more = packet_next_record(packet, h, p->dict->field_counts, p->dict->aspect_count, &offset, &r)) > 0) {
        if (!record_filter_lets(x->filter, p, &r, x->wanted[r.aspect], where == RECORD_PARTLY))
            continue;
        struct record_item item = {.process = p, .packet = h, .r = &r, .aspect = &p->dict->aspects[r.aspect - 1]};
        item.at = run_clock_at(&p->node->run_clock, r.timestamp < INT64_MAX ? (int64_t)r.timestamp : INT64_MAX);
        int err = put_item(x, &item);
        if (err)
            return err;
    }
    return has_failed(x) ? BEZEL_ESYS : more;
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
        warn_missing(path, s, r->at.bytes, trace_reader_rest(r));
    x->expired += r->expired->records;
    x->expired_packets += r->expired->packets;
    trace_reader_close(r);
    if (err != BEZEL_EMALFORMED && err != BEZEL_EVERSION)
        return err;
    log_warn("BEZEL-EXPORT-DAMAGED", "%s: %s: exported up to there", path, err_text(err));
    return 0;
}

static int put_process(struct records *x, const struct model_process *p)
{
    int err = 0;
    bool any = record_filter_takes(x->filter->node, p->node->name) && record_filter_takes_process(x->filter, p) &&
               record_filter_aspects(x->filter, p->dict, x->wanted);
    for (uint32_t ring = 0; any && !err && (ring < x->rings || ring < p->ring_count); ring++) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%s/trace/%s/%s", x->run, p->node->dir, model_file(p, ring).name);
        err = n < (int)sizeof path ? put_stream(x, p, model_find_stream(p, ring), path) : BEZEL_EINVAL;
    }
    return err;
}

static int count_ring(const char *path, void *rings)
{
    const char *dash = strrchr(path, '-');
    uint32_t *count = rings;
    char *end = NULL;
    unsigned long ring = dash ? strtoul(dash + 1, &end, 10) : 0;
    if (dash && !*end && ring < PACKET_RINGS_MAX && ring >= *count)
        *count = (uint32_t)ring + 1;
    return 0;
}

/* While a collector writes, a node has files that the database does not know yet. */
static void count_rings(struct records *x, const struct model_node *node)
{
    char path[PATH_MAX];
    x->rings = 0;
    if (snprintf(path, sizeof path, "%s/trace/%s", x->run, node->dir) < (int)sizeof path)
        (void)!trace_reader_list(path, count_ring, &x->rings); /* what the database knows is looked for anyway */
}

/* The monitor's own processes come last. */
static int put_all(struct records *x, const struct model *m)
{
    int err = 0;
    for (int turn = 0; turn < 2; turn++)
        for (const struct model_node *node = m->nodes; node && !err; node = node->next) {
            count_rings(x, node);
            for (const struct model_process *p = node->processes; p && !err; p = p->next)
                if ((p->role == ROLE_DAEMON) == (turn == 1))
                    err = put_process(x, p);
        }
    if (!err && x->out && fflush(x->out) != 0)
        err = BEZEL_ESYS;
    return err;
}

/* ---- all nodes in one order ---- */

static int take(void *context, const struct record_item *item)
{
    struct records *x = context;
    int err = item->r ? put_item(x, item) : 0;
    return has_failed(x) ? BEZEL_ESYS : err;
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
        if (node && !record_filter_takes(x->filter->node, node->name))
            continue;
        if (node)
            parts[count++] = (struct export_part){node, &nodes.list[i]};
        else
            log_warn("BEZEL-EXPORT-FOREIGN", "left out trace/%s: run.db has no node for it", nodes.list[i].dir);
    }
    if (!err)
        err = export_in_order(parts, count, &m->order, x->filter, &taker);
    if (!err && x->out && fflush(x->out) != 0)
        err = BEZEL_ESYS;
    free(parts);
    export_find_free(&nodes);
    return err;
}

/* Whether the filter makes sense for what the run has. */
static int check(const struct records *x, const struct model *m)
{
    char why[512];
    int err = record_filter_check(x->filter, m, why, sizeof why);
    if (err == BEZEL_ENOENT && x->served) {
        log_warn("BEZEL-EXPORT-NAME", "%s; so far: the run goes on, and it may still come", why);
        return 0;
    }
    if (err)
        log_error("BEZEL-EXPORT-NAME", "%s", why);
    return err ? BEZEL_EINVAL : 0;
}

static int put_records(struct records *x, const struct model *m, enum export_format format, bool merged)
{
    enum record_writer_format as = format == EXPORT_CSV ? RECORD_WRITER_CSV : RECORD_WRITER_JSONL;
    int err = record_writer_open(x->out, as, m, x->filter, merged, &x->writer);
    if (!err)
        err = merged ? put_in_order(x, m) : put_all(x, m);
    if (err)
        log_error("BEZEL-EXPORT", "cannot export the records of %s: %s", x->run, ulimit_reason(err));
    return err;
}

/* Loads what the run has, if the filter makes sense for it. */
static int load(const struct records *x, struct model **m)
{
    int err;
    *m = run_streams_load(x->run, true, &err);
    if (err)
        log_error("BEZEL-EXPORT-DATABASE", "%s/run.db: %s", x->run, rundb_why(err));
    return err ? err : check(x, *m);
}

int export_records(const char *run, enum export_format format, bool merged, const struct record_filter *filter,
                   FILE *out)
{
    struct records x = {.out = out, .run = run, .filter = filter, .served = trace_reader_is_served(run)};
    struct model *m = NULL;
    int err = load(&x, &m);
    if (!err)
        err = put_records(&x, m, format, merged);
    export_warn_expired(x.expired, x.expired_packets);
    record_writer_close(x.writer);
    model_free(m);
    return err;
}

/* ---- into a folder ---- */

struct files {
    struct records *x;
    const struct model *m;
    bool merged;
};

static int fill_files(void *context, const char *made)
{
    struct files *f = context;
    f->x->folder = export_folder_new(made, f->m, f->x->filter, f->merged);
    if (!f->x->folder)
        return BEZEL_ENOMEM;
    int err = f->merged ? put_in_order(f->x, f->m) : put_all(f->x, f->m);
    int closed = export_folder_close(f->x->folder);
    return err ? err : closed;
}

int export_files(const char *run, bool merged, const struct record_filter *filter, const char *target)
{
    struct records x = {.run = run, .filter = filter, .served = trace_reader_is_served(run)};
    struct model *m = NULL;
    int err = load(&x, &m);
    if (!err)
        err = export_make(run, target, fill_files, &(struct files){&x, m, merged});
    export_warn_expired(x.expired, x.expired_packets);
    model_free(m);
    return err;
}
