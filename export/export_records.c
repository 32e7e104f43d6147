// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/folder_lock.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "export/export.h"
#include "export/export_internal.h"
#include "export/mcap.h"
#include "export/perfetto.h"
#include "export/picl.h"
#include "export/record_writer.h"
#include "run/read/run_missing.h"
#include "run/read/run_reader.h"
#include "run/read/run_streams.h"
#include "run/rundb/rundb_live.h"
#include "run/store/trace_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Stream by stream, dictionaries are read from the database when the export begins. A packet that needs a later version
 * of one was stored after that, and ends its stream here. In one order, the reader of runs reads the later one, too.
 */

struct records {
    FILE *out; /* NULL: into a folder */
    const struct export_sink *sink;
    void *to;                  /* the sink's own */
    struct run_reader *reader; /* in one order; NULL: stream by stream */
    const struct model *model;
    const char *run;
    const struct record_filter *filter;
    uint8_t wanted[DICT_ASPECTS_MAX + 1]; /* of the present process */
    bool served;                          /* by a collector: files grow */
    uint64_t expired, expired_packets; /* records that expired from the store, of what was wanted, and their packets */
    uint32_t rings;                    /* the present node has no file of a ring from here on */
    const char *why;                   /* it failed; NULL: its error tells */
};

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
        int err = x->sink->put(x->to, &item);
        if (err)
            return err;
    }
    return has_failed(x) ? BEZEL_ESYS : more;
}

/* Whether the packet was stored after the model was loaded: by now, the database has its dictionary. */
static bool is_later(const struct records *x, const struct model_process *p, const struct packet_header *h)
{
    int err;
    struct model *now = x->served ? run_streams_load(x->run, false, &err) : NULL;
    struct model_node *node = now ? model_find_node(now, h->uuid) : NULL;
    const struct model_process *same = node ? model_find_process(node, p->instance) : NULL;
    bool is = same && dict_includes(same->dict, h->dictionary);
    model_free(now);
    return is;
}

/* Stored bytes that are gone or were changed were told of when the run was loaded. */
static int put_stream(struct records *x, const struct model_process *p, const char *path)
{
    struct trace_reader *r;
    int err = trace_reader_open(path, &r);
    if (err == BEZEL_ENOENT)
        return 0;
    if (err == BEZEL_EMALFORMED) {
        log_warn("BEZEL-EXPORT-FOREIGN", "left out %s: it is not a regular file", path);
        return 0;
    }
    if (err)
        return err;
    struct packet_header h;
    const uint8_t *packet;
    int more;
    bool known = true;
    while (!err && known && (more = trace_reader_next(r, &h, &packet)) != 0) {
        known = more < 0 || dict_includes(p->dict, h.dictionary);
        if (known)
            err = more < 0 ? more : put_packet(x, p, &h, packet);
        else if (!is_later(x, p, &h))
            err = BEZEL_EMALFORMED;
    }
    uint64_t rest = err || x->served ? 0 : trace_reader_rest(r);
    if (rest)
        log_warn("BEZEL-EXPORT-TORN",
                 "%s: its last %" PRIu64 " bytes are not a complete packet, and not exported; see 'bezel verify'", path,
                 rest);
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
        err = n < (int)sizeof path ? put_stream(x, p, path) : BEZEL_EINVAL;
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
    return err;
}

/* ---- all nodes in one order ---- */

/* Takes in a newer model: the items to come belong to it. */
static void renew(struct records *x, uint64_t *age)
{
    uint64_t before = *age;
    x->model = run_reader_model(x->reader, age);
    if (*age == before)
        return;
    if (x->sink->forget)
        x->sink->forget(x->to, x->model);
}

static int put_in_order(struct records *x)
{
    struct record_item item;
    uint64_t age;
    int more = 0;
    (void)run_reader_model(x->reader, &age);
    int err = run_reader_look(x->reader, RUN_READER_ALL);
    while (!err && (more = run_reader_next(x->reader, &item)) > 0) {
        renew(x, &age);
        if (item.r || x->sink->losses)
            err = x->sink->put(x->to, &item);
        if (!err && has_failed(x))
            err = BEZEL_ESYS;
    }
    uint64_t left_out = x->sink->left_out ? x->sink->left_out(x->to) : 0;
    if (left_out)
        log_warn("BEZEL-EXPORT-COLUMNS", "%s values have no column: their fields came after the first line was written",
                 units_count(left_out).s);
    return err ? err : more;
}

static int put_in_any_order(struct records *x)
{
    return x->reader ? put_in_order(x) : put_all(x, x->model);
}

/* Whether the filter makes sense for what the run has. */
static int check(const struct records *x)
{
    char why[512];
    int err = record_filter_check(x->filter, x->model, why, sizeof why);
    if (err == BEZEL_ENOENT && x->served) {
        log_warn("BEZEL-EXPORT-NAME", "%s; the run goes on, and may still bring it", why);
        return 0;
    }
    if (err)
        log_error("BEZEL-EXPORT-NAME", "%s", why);
    return err ? BEZEL_EINVAL : 0;
}

/* Loads what the run has, if the filter makes sense for it; *loaded, for model_free(), if it is not the reader's. */
static int load(struct records *x, bool merged, struct model **loaded)
{
    int err = 0;
    x->served = folder_is_held(x->run);
    *loaded = NULL;
    if (!run_reader_goes_on(x->run))
        (void)run_missing(x->run, x->filter, UINT64_MAX, true); /* which warns */
    if (merged)
        err = run_reader_open(x->run, x->filter, &x->reader);
    else
        *loaded = run_streams_load(x->run, true, &err);
    if (err) {
        log_error("BEZEL-EXPORT-DATABASE", "%s/run.db: %s", x->run, rundb_why(err));
        return err;
    }
    x->model = merged ? run_reader_model(x->reader, NULL) : *loaded;
    return check(x);
}

static void unload(struct records *x, struct model *loaded)
{
    export_warn_expired(x->expired, x->expired_packets);
    run_reader_close(x->reader);
    model_free(loaded);
}

/* ---- to a stream ------------------------------------------------------------------------------------------------- */

/* What one of the following writes, and with what. */
struct written {
    int (*write)(struct records *x, const struct written *w);
    enum export_format format;
    bool all;
    const struct export_attachment *attachments;
    size_t attachment_count;
};

static int put_line(void *to, const struct record_item *item)
{
    record_writer_put(to, item);
    return 0;
}

static void forget_lines(void *to, const struct model *m)
{
    (void)m;
    record_writer_forget(to);
}

static uint64_t left_out_of_lines(const void *to)
{
    return record_writer_left_out(to);
}

static int write_lines(struct records *x, const struct written *w)
{
    static const struct export_sink lines = {put_line, forget_lines, left_out_of_lines, false};
    enum record_writer_format as = w->format == EXPORT_CSV ? RECORD_WRITER_CSV : RECORD_WRITER_JSONL;
    struct record_writer *writer = NULL;
    int err = record_writer_open(x->out, as, x->model, x->filter, x->reader != NULL, &writer);
    x->sink = &lines;
    x->to = writer;
    if (!err)
        err = put_in_any_order(x);
    record_writer_close(writer);
    return err;
}

static int put_event(void *to, const struct record_item *item)
{
    return perfetto_put(to, item);
}

static int write_perfetto(struct records *x, const struct written *w)
{
    static const struct export_sink events = {put_event, NULL, NULL, true};
    x->sink = &events;
    x->to = perfetto_new(x->out, w->all);
    int err = x->to ? put_in_any_order(x) : BEZEL_ENOMEM;
    perfetto_free(x->to);
    return err;
}

static int put_message(void *to, const struct record_item *item)
{
    return mcap_put(to, item);
}

static int put_picl(void *to, const struct record_item *item)
{
    return picl_put(to, item);
}

static int write_mcap(struct records *x, const struct written *w)
{
    static const struct export_sink messages = {put_message, NULL, NULL, true};
    struct mcap *m = mcap_new(x->out);
    x->sink = &messages;
    x->to = m;
    int err = m ? put_in_any_order(x) : BEZEL_ENOMEM;
    for (size_t i = 0; i < w->attachment_count && !err; i++) {
        const struct export_attachment *a = &w->attachments[i];
        err = mcap_attach(m, a->name, a->media, a->data, a->n);
    }
    err = err ? err : mcap_end(m);
    if (!err && mcap_left_out(m))
        log_warn("BEZEL-EXPORT-CHANNELS", "%s records were left out: an MCAP file has no more than 65,535 channels",
                 units_count(mcap_left_out(m)).s);
    mcap_free(m);
    return err;
}

/* Starts sort(1) for lines of PICL, whose third word is their time. Returns its input, or NULL with errno. */
static FILE *open_sort(pid_t *pid)
{
    static const char *const args[] = {"env", "LC_ALL=C", "sort", "-s", "-S", "64M", "-t", " ", "-k3,3n", NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    int sys = posix_spawnp(pid, args[0], &actions, NULL, (char **)(uintptr_t)args, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    FILE *to = sys ? NULL : fdopen(ends[1], "w");
    if (!to)
        close(ends[1]);
    errno = sys ? sys : errno;
    return to;
}

/* Sort begins to write when it has read everything. */
static int write_picl(struct records *x, const struct written *w)
{
    static const struct export_sink lines = {put_picl, NULL, NULL, true};
    pid_t pid = -1;
    int status = 1;
    (void)w;
    int64_t started = 0;
    (void)!rundb_read_start(x->run, &started); /* the model was read from there */
    FILE *to = open_sort(&pid);
    struct picl *p = to ? picl_new(to, started) : NULL;
    x->sink = &lines;
    x->to = p;
    int err = p ? put_in_any_order(x) : to ? BEZEL_ENOMEM : BEZEL_ESYS;
    if (!err)
        picl_end(p);
    if (p && picl_left_out(p))
        log_warn("BEZEL-EXPORT-TEXTS", "%s texts were left out: PICL has numbers alone",
                 units_count(picl_left_out(p)).s);
    picl_free(p);
    bool bad = to && (ferror(to) != 0) | (fclose(to) != 0);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (pid > 0 && status != 0)
        x->why = "sort, which puts them in order, could not write them, as it says above";
    return err ? err : bad || status != 0 ? BEZEL_ESYS : 0;
}

static int write_records(struct records *x, bool merged, const struct written *w)
{
    struct model *loaded;
    int err = load(x, merged, &loaded);
    if (!err) {
        err = w->write(x, w);
        err = !err && (fflush(x->out) != 0 || ferror(x->out)) ? BEZEL_ESYS : err;
        if (err)
            log_error("BEZEL-EXPORT", "cannot export the records of %s: %s", x->run,
                      x->why ? x->why : ulimit_reason(err));
    }
    unload(x, loaded);
    return err;
}

int export_records(const char *run, enum export_format format, bool merged, const struct record_filter *filter,
                   FILE *out)
{
    struct records x = {.out = out, .run = run, .filter = filter};
    return write_records(&x, merged, &(struct written){.write = write_lines, .format = format});
}

int export_perfetto(const char *run, const struct record_filter *filter, bool all, FILE *out)
{
    struct records x = {.out = out, .run = run, .filter = filter};
    return write_records(&x, true, &(struct written){.write = write_perfetto, .all = all});
}

int export_picl(const char *run, const struct record_filter *filter, FILE *out)
{
    struct records x = {.out = out, .run = run, .filter = filter};
    return write_records(&x, true, &(struct written){.write = write_picl});
}

int export_mcap(const char *run, const struct record_filter *filter, const struct export_attachment *attachments,
                size_t count, FILE *out)
{
    struct records x = {.out = out, .run = run, .filter = filter};
    return write_records(&x, true, &(struct written){write_mcap, 0, false, attachments, count});
}

/* ---- into a folder ---- */

static int fill_files(void *context, const char *made)
{
    struct records *x = context;
    x->sink = &export_folder_sink;
    x->to = export_folder_new(made, x->model, x->filter, x->reader != NULL);
    if (!x->to)
        return BEZEL_ENOMEM;
    int err = put_in_any_order(x);
    int closed = export_folder_close(x->to);
    return err ? err : closed;
}

static int fill_database(void *context, const char *made)
{
    struct records *x = context;
    x->sink = &export_database_sink;
    x->to = export_database_open(made);
    if (!x->to)
        return BEZEL_ESYS;
    int err = put_in_any_order(x);
    int closed = export_database_close(x->to);
    return err ? err : closed;
}

static int make(struct records *x, bool merged, int (*fill)(void *context, const char *made), const char *target)
{
    struct model *loaded;
    int err = load(x, merged, &loaded);
    if (!err)
        err = export_make(x->run, target, fill, x);
    unload(x, loaded);
    return err;
}

int export_files(const char *run, bool merged, const struct record_filter *filter, const char *target)
{
    struct records x = {.run = run, .filter = filter};
    return make(&x, merged, fill_files, target);
}

int export_database(const char *run, const struct record_filter *filter, const char *target)
{
    struct records x = {.run = run, .filter = filter};
    return make(&x, false, fill_database, target);
}
