// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/receive/recover.h"

#include "base/file.h"
#include "base/log.h"
#include "run/model/validate.h"
#include "run/rundb/rundb_save.h"
#include "run/rundb/rundb_sections.h"
#include "run/store/trace_reader.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char not_next[] = "they are not the next packet of this stream";

struct recovery {
    struct rundb *rundb;
    struct store *store;
    struct model_node *node;
    bool rows_only;
    bool join; /* a file does not reach to where its sections begin */
};

/* The stream that a file's packet belongs to; NULL, with a reason, where it belongs to none. `explained`: it has a
 * dictionary, which a cover has not. */
static struct model_stream *stream_of(const struct recovery *r, const char *path, const struct packet_header *h,
                                      bool explained, const char **reason)
{
    char expected[PATH_MAX];
    *reason = "it belongs to no process in run.db";
    struct model_process *p = model_find_process(r->node, h->instance);
    if (!p || memcmp(h->uuid, r->node->uuid, sizeof h->uuid) != 0 ||
        (explained && !dict_includes(p->dict, h->dictionary)))
        return NULL;
    struct model_stream *s = model_stream(p, h->ring);
    *reason = "the file's name is not that of its stream";
    if (!s || store_path(r->store, r->node, s, expected, sizeof expected) != 0 || strcmp(path, expected) != 0)
        return NULL;
    *reason = NULL;
    return s;
}

/* Logs damage, and adds it to the run database: rows that are saved from now on agree with the files, and hide it. */
static BEZEL_PRINTF(2, 3) void report_damaged(struct rundb *f, const char *format, ...)
{
    char text[2 * PATH_MAX + 256], all[16384];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log_error("BEZEL-STORE-DAMAGED", "%s", text);
    if (rundb_get(f, RUNDB_DAMAGED, all, sizeof all) != 0)
        all[0] = '\0';
    size_t n = strlen(all);
    snprintf(all + n, sizeof all - n, "%s%s", n ? "; " : "", text);
    (void)!rundb_put(f, RUNDB_DAMAGED, all); /* if this fails, so does the commit, which is reported */
}

static const char *recover_packet(const struct recovery *r, const struct rundb_bounds *b, struct model_stream *s,
                                  const char *path, const struct packet_header *h, const uint8_t *packet)
{
    uint64_t lost = packet_lost(h, s->at.discarded);
    if (!dict_includes(s->process->dict, h->dictionary))
        return "it uses a dictionary that run.db does not have";
    rundb_set_section(r->rundb, rundb_section_of(b, s->bytes));
    const char *reason = validate_take(s, h, packet);
    if (reason)
        return reason;
    store_found(r->store, s);
    if (s->bytes == s->saved.bytes && s->sum != s->saved.sum)
        report_damaged(r->rundb,
                       "%s: its first %" PRIu64 " bytes were changed since they were stored: their checksum differs",
                       path, s->bytes);
    rundb_add_packet(r->rundb, s->process, h, packet, lost);
    return NULL;
}

/*
 * Truncates a file behind its last good packet; a file without any is removed, and its packets are sent again. Behind a
 * damaged packet there may be good ones that no node has any more, so the bytes are kept in damaged/. Whether stored
 * packets are missing then is checked against the database: after a power failure bytes that were never acknowledged
 * may hold anything.
 */
static int truncate_tail(const struct store *store, const char *path, uint64_t good, const char *reason)
{
    struct stat st;
    char kept[PATH_MAX];
    if (stat(path, &st) != 0)
        return err_from_errno(errno);
    if ((uint64_t)st.st_size == good && good != 0)
        return 0;
    if (reason) {
        int sys = store_keep_damaged(store, path, good, kept, sizeof kept);
        if (sys)
            return err_from_errno(sys);
        log_error("BEZEL-STORE-TRUNCATED", "%s: %" PRIu64 " bytes from byte %" PRIu64 " on were moved to %s: %s", path,
                  (uint64_t)st.st_size - good, good, kept, reason);
    }
    if (good == 0 ? unlink(path) != 0 : truncate(path, (off_t)good) != 0)
        return err_from_errno(errno);
    return 0;
}

/*
 * What the file's beginning says of its stream: its first packet, or its cover. Returns 0, with *s
 * NULL if it is no stream's, with a reason if there is one; or an error.
 */
static int look_first(const struct recovery *r, const char *path, struct trace_reader *reader, struct model_stream **s,
                      const char **reason)
{
    struct packet_header h;
    const uint8_t *packet;
    int more = trace_reader_look(reader, &h, &packet);
    const struct trace_expired *gone = reader->expired;
    bool malformed = more == BEZEL_EMALFORMED || more == BEZEL_EVERSION;
    *s = NULL;
    *reason = NULL;
    if (more < 0 && !malformed)
        return more;
    bool is = more > 0 || reader->refused;
    if (is || gone->packets > 0)
        *s = stream_of(r, path, is ? &h : &gone->cover, is && !r->rows_only, reason);
    else if (malformed && !(*s = model_find_expired(r->node, strrchr(path, '/') +
                                                                 1))) /* else a kill came while its cover was written */
        *reason = not_next;
    return 0;
}

/* The file has a cover over more than the database lets expire: this is of an earlier time than the file. */
static void follow_cover(struct recovery *r, const char *path, struct model_stream *s, const struct trace_expired *gone)
{
    const struct packet_header *h = &gone->cover;
    if (gone->packets == 0 || h->size_bytes <= s->bytes)
        return;
    report_damaged(r->rundb, "%s: by its cover %" PRIu64 " bytes expired, by run.db %" PRIu64, path, h->size_bytes,
                   s->bytes);
    validate_pass(s, h, gone->cover_records);
    r->join = true;
}

/* Reads the packets behind what expired of stream `s`. Returns 0 or an error; *reason, where not all were right. */
static int recover_packets(struct recovery *r, const char *path, struct trace_reader *reader, struct model_stream *s,
                           const char **reason)
{
    struct rundb_bounds bounds;
    struct packet_header h;
    const uint8_t *packet;
    int more = 0, err = rundb_load_bounds(r->rundb, s, &bounds);
    if (err)
        return err;
    trace_reader_follow(reader, s);
    s->noted = bounds.count ? bounds.at[bounds.count - 1].bytes : s->expired.bytes;
    while (!*reason && (more = trace_reader_next(reader, &h, &packet)) > 0)
        *reason = recover_packet(r, &bounds, s, path, &h, packet);
    r->join = r->join || !rundb_bounds_hold(&bounds, s->bytes);
    if (more == BEZEL_EMALFORMED || more == BEZEL_EVERSION)
        *reason = reader->refused ? reader->reason : not_next;
    return more < 0 && !*reason ? more : 0;
}

/* Writes only the rows. A packet's loss is what the counter grew by, as when the packet was stored. */
static int rows_of_stream(const struct recovery *r, struct trace_reader *reader, const struct model_stream *s)
{
    struct rundb_bounds bounds;
    struct packet_header h;
    const uint8_t *packet;
    int err = rundb_load_bounds(r->rundb, s, &bounds);
    trace_reader_follow(reader, s);
    while (!err && (err = trace_reader_next(reader, &h, &packet)) > 0) {
        rundb_set_section(r->rundb, rundb_section_of(&bounds, reader->at.bytes - h.size_bytes));
        rundb_add_packet(r->rundb, s->process, &h, packet, reader->lost);
        err = 0;
    }
    return err == BEZEL_EMALFORMED || err == BEZEL_EVERSION ? 0 : err;
}

static int recover_file(const char *path, void *context)
{
    struct recovery *r = context;
    struct trace_reader *reader;
    const char *reason = NULL;
    int err = trace_reader_open(path, &reader);
    if (err == BEZEL_EMALFORMED && !r->rows_only)
        log_error("BEZEL-STORE-FOREIGN", "%s is not a regular file: ignored; move it out of the run directory", path);
    if (err)
        return err == BEZEL_EMALFORMED ? 0 : err;
    struct model_stream *s;
    err = look_first(r, path, reader, &s, &reason);
    if (s && r->rows_only) {
        err = rows_of_stream(r, reader, s);
    } else if (s) {
        follow_cover(r, path, s, reader->expired);
        err = recover_packets(r, path, reader, s, &reason);
    }
    trace_reader_close(reader);
    return err || r->rows_only ? err : truncate_tail(r->store, path, s ? s->bytes : 0, reason);
}

/* Files whose names begin with a dot were never finished. */
static int remove_temporaries(const char *dir)
{
    DIR *d = file_open_dir(dir, TRACE_READER_PLAIN - 1);
    if (!d)
        return err_from_errno(errno);
    int err;
    for (const struct dirent *e; (e = file_next(d, &err));)
        if (e->d_name[0] == '.' && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            (void)unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    return err;
}

static int recover_node(struct recovery *r)
{
    char dir[PATH_MAX];
    int err = store_path(r->store, r->node, NULL, dir, sizeof dir);
    if (err)
        return err;
    if (!r->rows_only) {
        err = remove_temporaries(dir);
        if (err == BEZEL_ENOENT)
            return 0; /* nothing of this node is stored yet */
    }
    if (!err)
        err = trace_reader_list(dir, recover_file, r);
    return err == BEZEL_ENOENT && r->rows_only ? 0 : err;
}

/* What sections noted is not what the files have: a power failure took packets that were stored before they began. */
static int join_sections(struct rundb *f, struct model *m)
{
    for (struct model_node *node = m->nodes; node; node = node->next)
        for (struct model_process *p = node->processes; p; p = p->next)
            for (uint32_t ring = 0; ring < p->ring_count; ring++)
                if (p->streams[ring])
                    p->streams[ring]->noted = p->streams[ring]->expired.bytes;
    return rundb_join_sections(f);
}

static int recover_nodes(struct rundb *f, struct store *s, struct model *m, bool rows_only)
{
    struct recovery r = {.rundb = f, .store = s, .rows_only = rows_only};
    struct rundb_section sections[RUNDB_SECTIONS_MAX];
    size_t count = 0;
    int err = rundb_clear_derived(f);
    if (!err && !rows_only)
        err = rundb_clear_streams(f);
    for (r.node = m->nodes; r.node && !err; r.node = r.node->next)
        err = recover_node(&r);
    if (!err && r.join && !rows_only)
        err = join_sections(f, m);
    if (!err)
        err = rundb_load_sections(f, sections, &count);
    rundb_set_section(f, count ? sections[count - 1].number : 0);
    for (struct model_node *node = m->nodes; node && !rows_only; node = node->next)
        for (struct model_process *p = node->processes; p; p = p->next)
            p->dirty = true; /* streams and books are saved with their process */
    return err;
}

/* Reports missing bytes, syncs the streams, and writes the metadata anew, from the database alone. */
static int finish_node(struct rundb *f, struct store *s, struct model_node *node)
{
    bool any = false;
    int err = 0;
    for (struct model_process *p = node->processes; p && !err; p = p->next)
        for (uint32_t ring = 0; ring < p->ring_count && !err; ring++) {
            struct model_stream *stream = p->streams[ring];
            any = any || (stream && stream->packets);
            if (stream && stream->bytes < stream->saved.bytes)
                report_damaged(
                    f, "trace/%s/%s: %" PRIu64 " stored bytes are missing (damaged/ may have what was in their place)",
                    node->dir, model_file(p, ring).name, stream->saved.bytes - stream->bytes);
            int sys = stream ? store_expire(s, stream) : 0; /* a kill may have come in between */
            if (sys)
                log_warn("BEZEL-STORE-EXPIRE", "trace/%s/%s: cannot free the space of expired packets: %s", node->dir,
                         model_file(p, ring).name, strerror(sys));
            else if (stream)
                stream->covered = stream->expired.bytes;
            err = stream ? store_sync(s, stream) : 0;
        }
    if (!any || err)
        return err;
    int sys = store_metadata(s, node);
    if (sys == ENOSPC || sys == EDQUOT || sys == EFBIG)
        return 0; /* the first packet that needs it tries again */
    return sys ? err_from_errno(sys) : 0;
}

static uint64_t saved_number(struct rundb *f, const char *key)
{
    char text[24];
    return rundb_get(f, key, text, sizeof text) == 0 ? strtoull(text, NULL, 10) : 0;
}

int recover_run(struct rundb *f, struct store *s, struct model *m)
{
    int err = rundb_put(f, RUNDB_FINISHED, "");
    if (!err)
        err = rundb_commit(f); /* before a file is touched */
    if (!err)
        err = rundb_load(f, m);
    if (!err)
        err = rundb_load_streams(f, m);
    if (!err)
        err = rundb_load_expired(f, m);
    if (!err)
        err = recover_nodes(f, s, m, false);
    for (struct model_node *node = m->nodes; node && !err; node = node->next)
        err = finish_node(f, s, node);
    if (err)
        return err;
    m->totals.refused = saved_number(f, RUNDB_REFUSED);
    m->totals.untaken = saved_number(f, RUNDB_UNTAKEN);
    m->totals.untaken_records = saved_number(f, RUNDB_UNTAKEN_RECORDS);
    return 0;
}

int recover_rows(struct rundb *f, struct store *s, struct model *m)
{
    return recover_nodes(f, s, m, true);
}
