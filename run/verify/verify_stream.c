// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/model/validate.h"
#include "run/rundb/rundb_save.h"
#include "run/rundb/rundb_sections.h"
#include "run/store/cover.h"
#include "run/store/trace_reader.h"
#include "run/verify/verify_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A stream file of the walk. */
struct file {
    struct verify_walk *walk;
    const char *name; /* without its directory */
    struct model_stream *stream;
    int err;      /* of reading the database again */
    bool matched; /* a packet ended where the saved stream ended */
    bool passed;  /* more expired than at the first look: what that made is not known */
    struct rundb_bounds bounds;
};

static BEZEL_PRINTF(5, 6) void report(struct file *f, enum verify_is is, const char *code, const char *remedy,
                                      const char *format, ...)
{
    char file[2 * MODEL_BASE_MAX + 320], text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(file, sizeof file, "trace/%s/%s", f->walk->node->dir, f->name);
    const struct model_stream *s = f->stream;
    verify_add(f->walk->v, &(struct verify_report){.is = is,
                                                   .code = code,
                                                   .file = file,
                                                   .placed = s != NULL,
                                                   .offset = s ? s->bytes : 0,
                                                   .packet = s ? s->packets : 0,
                                                   .text = text,
                                                   .remedy = remedy});
}

/* The process of a packet in the database as it is now, with its dictionary; NULL if it is not there, or f->err. */
static struct model_process *look_again(struct file *f, const struct packet_header *h)
{
    struct verify_walk *w = f->walk;
    const struct model_node *node = w->newer ? model_find_node(w->newer, w->node->uuid) : NULL;
    struct model_process *p = node ? model_find_process(node, h->instance) : NULL;
    if (p && p->dict && dict_includes(p->dict, h->dictionary))
        return p;
    node = verify_look_again(w, &f->err);
    p = node ? model_find_process(node, h->instance) : NULL;
    return p && p->dict && dict_includes(p->dict, h->dictionary) ? p : NULL;
}

/* Whether the process of a packet came after the first look: it is not verified then. */
static bool is_newer(struct file *f, const struct packet_header *h)
{
    const struct verify_walk *w = f->walk;
    return memcmp(h->uuid, w->node->uuid, sizeof h->uuid) == 0 && (look_again(f, h) || f->err);
}

/* Gives process `p` the dictionary that it has got since the first look, if the packet uses that. */
static void take_dictionary(struct file *f, struct model_process *p, const struct packet_header *h)
{
    struct model_process *now = dict_includes(p->dict, h->dictionary) ? NULL : look_again(f, h);
    if (!now || !dict_includes(now->dict, p->dict->hash))
        return;
    model_set_dictionary(p, now->dict);
    now->dict = NULL;
    f->walk->newer_stale = true;
}

/* The stream that a file belongs to by its first packet; NULL if there is none, which is reported. */
static struct model_stream *stream_of(struct file *f, const struct packet_header *h)
{
    const struct model_node *node = f->walk->node;
    struct model_process *p = model_find_process(node, h->instance);
    if (!p || memcmp(h->uuid, node->uuid, sizeof h->uuid) != 0) {
        if (!is_newer(f, h))
            report(f, VERIFY_DAMAGED, "unknown-stream", NULL, "it belongs to no process in run.db");
        return NULL;
    }
    const struct model_file expected = model_file(p, h->ring);
    struct model_stream *s = strcmp(f->name, expected.name) == 0 ? model_stream(p, h->ring) : NULL;
    if (!s)
        report(f, VERIFY_DAMAGED, "misnamed", NULL, "its packets belong into file %s", expected.name);
    return s;
}

static void check_saved(struct file *f)
{
    const struct model_stream *s = f->stream;
    if (s->bytes != s->saved.bytes || f->passed)
        return;
    f->matched = true;
    if (s->packets != s->saved.packets || s->at.next_ordinal != s->saved.next_ordinal ||
        s->at.discarded != s->saved.discarded)
        report(f, VERIFY_DAMAGED, "other-counts", NULL,
               "run.db has %" PRIu64 " packets, next ordinal %" PRIu64 ", %" PRIu64 " lost; the file %" PRIu64
               ", %" PRIu64 ", %" PRIu64,
               s->saved.packets, s->saved.next_ordinal, s->saved.discarded, s->packets, s->at.next_ordinal,
               s->at.discarded);
    else if (s->sum != s->saved.sum)
        report(f, VERIFY_DAMAGED, "changed", NULL,
               "the bytes up to here were changed since they were stored: their checksum differs from that in run.db");
}

/* Counts a packet as the collector did. Returns whether to go on. */
static bool take_packet(struct file *f, const struct packet_header *h, const uint8_t *packet)
{
    struct model_stream *s = f->stream;
    struct model_process *p = s->process;
    uint64_t lost = packet_lost(h, s->at.discarded);
    take_dictionary(f, p, h);
    if (f->walk->rows)
        rundb_set_section(f->walk->rows, rundb_section_of(&f->bounds, s->bytes));
    const char *reason = dict_includes(p->dict, h->dictionary) ? validate_take(s, h, packet)
                                                               : "it uses a dictionary that run.db does not have";
    if (reason) {
        if (!f->err)
            report(f, VERIFY_DAMAGED, "wrong-packet", NULL, "%s", reason);
        return false;
    }
    if (f->walk->rows)
        rundb_add_packet(f->walk->rows, p, h, packet, lost);
    check_saved(f);
    return true;
}

/* Compares the end of the file with the saved end: `rest` bytes follow the last good packet. */
static void check_end(struct file *f, uint64_t rest)
{
    const struct model_stream *s = f->stream;
    bool more = rest > 0 || (s && s->bytes > s->saved.bytes);
    if (s && s->bytes < s->saved.bytes)
        report(f, VERIFY_DAMAGED, "truncated", NULL, "it ends here; %" PRIu64 " stored bytes are missing",
               s->saved.bytes - s->bytes);
    else if (s && s->saved.bytes > s->expired.bytes && !f->matched && !f->passed)
        report(f, VERIFY_DAMAGED, "other-counts", NULL,
               "no packet ends at byte %" PRIu64 ", where one ended when the stream was saved", s->saved.bytes);
    else if (more && !verify_is_left(f->walk))
        return; /* it is being written */
    else if (rest > 0)
        report(f, VERIFY_INCOMPLETE, "torn", verify_remedy_restart,
               "%" PRIu64 " bytes of a packet that was not completed, and never acknowledged", rest);
    else if (more && verify_is_settled(f->walk))
        report(f, VERIFY_DAMAGED, "other-counts", NULL,
               "run.db, which is finished, has %" PRIu64 " packets of it; the file holds %" PRIu64, s->saved.packets,
               s->packets);
    else if (more)
        report(f, VERIFY_INCOMPLETE, "unsaved", verify_remedy_restart,
               "its last %" PRIu64 " packets are not in run.db: the collector was killed",
               s->packets - s->saved.packets);
}

/* Behind the saved end a power failure may leave anything, which a restart of the collector removes. */
static void report_no_packet(struct file *f, const struct trace_reader *r)
{
    if (f->stream && r->refused)
        report(f, VERIFY_DAMAGED, "wrong-packet", NULL, "%s", r->reason);
    else if (!f->stream || f->stream->bytes >= f->stream->saved.bytes)
        report(f, VERIFY_INCOMPLETE, "torn", verify_remedy_restart, "%s: %" PRIu64 " bytes behind the saved packets",
               r->reason, trace_reader_rest(r));
    else
        report(f, VERIFY_DAMAGED, "not-a-packet", NULL, "%s", r->reason);
}

/*
 * More expired than the database said at the first look: this is a collector's work since then, or damage. The counts
 * of what expired meanwhile are not known.
 */
static void follow_cover(struct file *f, const struct trace_reader *r)
{
    const struct trace_expired *gone = r->expired;
    const struct packet_header *h = &gone->cover;
    struct model_stream *s = f->stream;
    struct model_totals *t = &f->walk->model->totals;
    if (!s || gone->packets == 0 || h->size_bytes <= s->bytes)
        return;
    if (verify_is_settled(f->walk))
        report(f, VERIFY_DAMAGED, "other-counts", NULL,
               "by its cover %" PRIu64 " bytes expired, by run.db, which is finished, %" PRIu64, h->size_bytes,
               s->expired.bytes);
    t->packets += h->seq + 1 - s->packets;
    model_count(s->process, gone->cover_records - s->records, h->discarded - s->at.discarded);
    t->bytes += h->size_bytes - s->bytes;
    t->expired += h->seq + 1 - s->expired.packets;
    t->expired_records += gone->cover_records - s->expired.records;
    t->expired_bytes += h->size_bytes - s->expired.bytes;
    validate_pass(s, h, gone->cover_records);
    s->expired.packets = s->packets;
    s->expired.records = s->records;
    s->expired.bytes = s->bytes;
    f->passed = true;
}

/* Once the collector has finished, the cover of what expired is there, as run.db counts it and as it was written. */
static void verify_cover(struct file *f, const char *path)
{
    struct cover c;
    const struct model_stream *s = f->stream;
    if (!s || s->expired.packets == 0 || !verify_is_settled(f->walk))
        return;
    int is = cover_check(path, &c);
    bool same = is != 0 && c.header.seq + 1 == s->expired.packets && c.header.size_bytes == s->expired.bytes &&
                c.records == s->expired.records;
    if (!same)
        report(f, VERIFY_DAMAGED, "cover", NULL,
               "its cover stands for %" PRIu64 " packets (%" PRIu64 " bytes, %" PRIu64
               " records), and by run.db %" PRIu64 " (%" PRIu64 ", %" PRIu64 ") expired",
               is != 0 ? c.header.seq + 1 : 0, is != 0 ? c.header.size_bytes : 0, is != 0 ? c.records : 0,
               s->expired.packets, s->expired.bytes, s->expired.records);
    else if (is < 0)
        report(f, VERIFY_DAMAGED, "cover", NULL, "its cover was changed since it was written: its checksum differs");
}

/*
 * Finds the stream of a file by its first packet, or its cover, and goes on behind what expired.
 * A cover that is not complete is none: a kill came in between. A power failure may leave an earlier cover than that of
 * the bytes that are freed. False: it has no stream. *more: as of trace_reader_look().
 */
static bool begin_stream(struct file *f, struct trace_reader *r, int *more)
{
    struct packet_header h;
    const uint8_t *packet;
    *more = trace_reader_look(r, &h, &packet);
    const struct trace_expired *gone = r->expired;
    if (*more <= 0 && !r->refused && gone->packets == 0) {
        f->stream = *more < 0 ? model_find_expired(f->walk->node, f->name) : NULL;
        if (!f->stream)
            return true;
        *more = 0;
    } else {
        f->stream = stream_of(f, *more > 0 || r->refused ? &h : &gone->cover);
    }
    if (!f->stream)
        return false;
    if (r->refused || f->stream->expired.bytes > gone->cover.size_bytes)
        *more = 0; /* what is behind the expired packets is read again */
    f->stream->walked = true;
    trace_reader_follow(r, f->stream);
    follow_cover(f, r);
    f->err = f->walk->rundb ? rundb_load_bounds(f->walk->rundb, f->stream, &f->bounds) : 0;
    return f->err == 0;
}

int verify_file(const char *path, void *context)
{
    struct verify_walk *w = context;
    struct file f = {.walk = w, .name = strrchr(path, '/') + 1};
    struct trace_reader *r;
    struct packet_header h;
    const uint8_t *packet;
    int err = trace_reader_open(path, &r), more;
    if (err == BEZEL_ENOMEM || err == BEZEL_ENOENT)
        return err == BEZEL_ENOENT ? 0 : err; /* a temporary file that was renamed meanwhile */
    if (err == BEZEL_EMALFORMED)
        report(&f, VERIFY_DAMAGED, "foreign", verify_remedy_foreign, "it is not a regular file");
    else if (err)
        report(&f, VERIFY_DAMAGED, "unreadable", NULL, "it cannot be opened: %s", strerror(errno));
    if (err)
        return 0;
    bool good = begin_stream(&f, r, &more);
    while (good && more >= 0 && (more = trace_reader_next(r, &h, &packet)) > 0) {
        follow_cover(&f, r);
        good = take_packet(&f, &h, packet);
    }
    follow_cover(&f, r);
    verify_cover(&f, path);
    if (more == BEZEL_EMALFORMED || more == BEZEL_EVERSION)
        report_no_packet(&f, r);
    else if (more < 0)
        report(&f, VERIFY_DAMAGED, "unreadable", NULL, "%s", strerror(errno));
    else if (good)
        check_end(&f, trace_reader_rest(r));
    if (f.stream && (more < 0 || !good || f.passed))
        f.stream->behind = true; /* its counts are not compared any more */
    trace_reader_close(r);
    return f.err;
}

void verify_missing(struct verify_walk *w)
{
    for (struct model_process *p = w->node->processes; p; p = p->next)
        for (uint32_t ring = 0; ring < p->ring_count; ring++) {
            struct model_stream *s = p->streams[ring];
            if (!s || s->walked || s->behind || s->saved.packets <= s->packets)
                continue;
            const struct model_file of = model_file(p, ring);
            struct file f = {.walk = w, .name = of.name};
            s->behind = true;
            report(&f, VERIFY_DAMAGED, "missing", NULL, "%" PRIu64 " stored packets are missing, with their file",
                   s->saved.packets - s->packets);
        }
}

void verify_unknown(struct verify_walk *w, const struct model_process *p)
{
    for (uint32_t ring = 0; ring < p->ring_count; ring++) {
        struct model_stream *s = p->streams[ring];
        if (!s || s->packets == 0 || s->behind)
            continue;
        const struct model_file of = model_file(p, ring);
        struct file f = {.walk = w, .name = of.name, .stream = s};
        report(&f, VERIFY_INCOMPLETE, "unknown", NULL,
               "unknown after ordinal %" PRIu64 ": neither the end of its process nor its last books arrived",
               s->at.next_ordinal);
    }
}
