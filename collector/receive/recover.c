// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/recover.h"

#include "base/file.h"
#include "base/log.h"
#include "collector/accept.h"
#include "collector/account.h"
#include "collector/reader.h"

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

struct recovery {
    struct facts *facts;
    struct store *store;
    struct model_node *node;
    bool rows_only;
};

/* The stream that a file's packet belongs to, and why it cannot be one; NULL and a reason where it belongs to none. */
static struct model_stream *stream_of(const struct recovery *r, const char *path, const struct packet_header *h,
                                      const char **reason)
{
    char expected[PATH_MAX];
    *reason = "it is of no process that the database knows";
    struct model_process *p = model_find_process(r->node, h->instance);
    if (!p || memcmp(h->uuid, r->node->uuid, sizeof h->uuid) != 0 || !dict_includes(p->dict, h->dictionary))
        return NULL;
    struct model_stream *s = model_stream(p, h->ring);
    *reason = "its name is not that of its stream";
    if (!s || store_path(r->store, r->node, s, expected, sizeof expected) != 0 || strcmp(path, expected) != 0)
        return NULL;
    *reason = NULL;
    return s;
}

/* The database says it too, for what is saved from now on will agree with the files. */
static BEZEL_PRINTF(2, 3) void tell_damaged(struct facts *f, const char *format, ...)
{
    char text[2 * PATH_MAX + 256], all[16384];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log_error("BEZEL-STORE-DAMAGED", "%s", text);
    if (facts_get(f, FACTS_DAMAGED, all, sizeof all) != 0)
        all[0] = '\0';
    size_t n = strlen(all);
    snprintf(all + n, sizeof all - n, "%s%s", n ? "; " : "", text);
    (void)!facts_put(f, FACTS_DAMAGED, all); /* where it cannot, the commit cannot either, and says so */
}

static const char *recover_packet(const struct recovery *r, const char *path, const struct packet_header *h,
                                  const uint8_t *packet)
{
    const char *reason;
    struct accept_found found;
    struct model_stream *s = stream_of(r, path, h, &reason);
    if (!s)
        return reason;
    reason = accept_check(s->process, s, h, packet, &found);
    if (reason)
        return reason;
    accept_advance(s, h, found.lost);
    s->bytes += h->size_bytes;
    store_found(r->store, s);
    account_count(s->process, h, packet, &found.all, 0);
    account_sum(s, h, packet);
    if (s->bytes == s->saved.bytes && s->sum != s->saved.sum)
        tell_damaged(r->facts, "%s: its first %" PRIu64 " bytes are not what was stored: their checksum differs", path,
                     s->bytes);
    account_rows(r->facts, s->process, h, packet, found.lost);
    return NULL;
}

/*
 * Cuts a file behind its last good packet. A file without any is removed: its first packet is to come again. Behind a
 * damaged packet there may be good ones, which nobody can send again: they are kept. Whether anything is missing then
 * the database knows, for without power what was never acknowledged may look like anything.
 */
static int cut_tail(const struct store *store, const char *path, uint64_t good, const char *reason)
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
        log_error("BEZEL-STORE-CUT", "%s: %" PRIu64 " bytes from byte %" PRIu64 " on are cut off, and kept in %s: %s",
                  path, (uint64_t)st.st_size - good, good, kept, reason);
    }
    if (good == 0 ? unlink(path) != 0 : truncate(path, (off_t)good) != 0)
        return err_from_errno(errno);
    return 0;
}

static int recover_file(const char *path, void *context)
{
    const struct recovery *r = context;
    struct reader *reader;
    struct packet_header h;
    const uint8_t *packet;
    const char *reason = NULL;
    uint64_t good = 0;
    int err = reader_open(path, &reader), more;
    if (err == BEZEL_EMALFORMED) {
        log_error("BEZEL-STORE-FOREIGN", "%s is no file: it is left alone", path);
        return 0;
    }
    if (err)
        return err;
    while ((more = reader_next(reader, &h, &packet)) > 0) {
        reason = recover_packet(r, path, &h, packet);
        if (reason)
            break;
        good = reader_offset(reader);
    }
    reader_close(reader);
    if (more == BEZEL_EMALFORMED || more == BEZEL_EVERSION)
        reason = "they are no packet of this stream";
    else if (more < 0)
        return more;
    return cut_tail(r->store, path, good, reason);
}

/* Rows alone: the losses are what the counter grew by, as when the packets were accepted. */
static int rows_of_file(const char *path, void *context)
{
    const struct recovery *r = context;
    struct reader *reader;
    struct packet_header h;
    const uint8_t *packet;
    uint64_t discarded = 0;
    int err = reader_open(path, &reader);
    if (err)
        return err == BEZEL_EMALFORMED ? 0 : err;
    while ((err = reader_next(reader, &h, &packet)) > 0) {
        const struct model_process *p = model_find_process(r->node, h.instance);
        if (p)
            account_rows(r->facts, p, &h, packet, h.discarded - discarded);
        discarded = h.discarded;
    }
    reader_close(reader);
    return err;
}

/* Files that begin with a dot were never finished. */
static int remove_temporaries(const char *dir)
{
    DIR *d = file_open_dir(dir, READER_PLAIN - 1);
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
            return 0; /* nothing was stored of it yet */
    }
    if (!err)
        err = reader_list(dir, r->rows_only ? rows_of_file : recover_file, r);
    return err == BEZEL_ENOENT && r->rows_only ? 0 : err;
}

static int recover_nodes(struct facts *f, struct store *s, struct model *m, bool rows_only)
{
    struct recovery r = {.facts = f, .store = s, .rows_only = rows_only};
    int err = facts_clear_derived(f);
    if (!err && !rows_only)
        err = facts_clear_streams(f);
    for (r.node = m->nodes; r.node && !err; r.node = r.node->next)
        err = recover_node(&r);
    for (struct model_node *node = m->nodes; node && !rows_only; node = node->next)
        for (struct model_process *p = node->processes; p; p = p->next)
            p->dirty = true; /* streams and books are saved with their process */
    return err;
}

/* Metadata is known from the database alone: what a kill, or the power, left of it does not matter. */
static int finish_node(struct facts *f, struct store *s, struct model_node *node)
{
    bool any = false;
    int err = 0;
    for (struct model_process *p = node->processes; p && !err; p = p->next)
        for (size_t ring = 0; ring < PACKET_RINGS_MAX && !err; ring++) {
            struct model_stream *stream = p->streams[ring];
            any = any || (stream && stream->packets);
            if (stream && stream->bytes < stream->saved.bytes)
                tell_damaged(f,
                             "trace/%s/%s-%zu: %" PRIu64
                             " bytes that were stored are missing (what stood there may be in damaged/)",
                             node->dir, p->base, ring, stream->saved.bytes - stream->bytes);
            err = stream ? store_sync(s, stream) : 0;
        }
    if (!any || err)
        return err;
    int sys = store_metadata(s, node);
    if (sys == ENOSPC || sys == EDQUOT || sys == EFBIG)
        return 0; /* the first packet that needs it tries again */
    return sys ? err_from_errno(sys) : 0;
}

static uint64_t saved_number(struct facts *f, const char *key)
{
    char text[24];
    return facts_get(f, key, text, sizeof text) == 0 ? strtoull(text, NULL, 10) : 0;
}

int recover_run(struct facts *f, struct store *s, struct model *m)
{
    int err = facts_put(f, FACTS_FINISHED, "");
    if (!err)
        err = facts_commit(f); /* before a file is touched */
    if (!err)
        err = facts_load(f, m);
    if (!err)
        err = facts_load_streams(f, m);
    if (!err)
        err = recover_nodes(f, s, m, false);
    for (struct model_node *node = m->nodes; node && !err; node = node->next)
        err = finish_node(f, s, node);
    if (err)
        return err;
    m->totals.refused = saved_number(f, FACTS_REFUSED);
    m->totals.untaken = saved_number(f, FACTS_UNTAKEN);
    m->totals.untaken_records = saved_number(f, FACTS_UNTAKEN_RECORDS);
    return 0;
}

int recover_rows(struct facts *f, struct store *s, struct model *m)
{
    return recover_nodes(f, s, m, true);
}
