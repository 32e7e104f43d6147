// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/accept.h"
#include "collector/account.h"
#include "collector/reader.h"
#include "collector/verify_own.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A file of the walk, as far as it is read. */
struct file {
    struct verify_walk *walk;
    const char *name; /* without its directory */
    struct model_stream *stream;
    int err;      /* of looking at the database again */
    bool matched; /* it was as long, and the same, as when it was saved */
};

static BEZEL_PRINTF(5, 6) void tell(struct file *f, enum verify_is is, const char *code, const char *remedy,
                                    const char *format, ...)
{
    char file[2 * MODEL_BASE_MAX + 320], text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(file, sizeof file, "trace/%s/%s", f->walk->node->dir, f->name);
    const struct model_stream *s = f->stream;
    verify_tell(f->walk->v, &(struct verify_finding){.is = is,
                                                     .code = code,
                                                     .file = file,
                                                     .placed = s != NULL,
                                                     .offset = s ? s->bytes : 0,
                                                     .packet = s ? s->packets : 0,
                                                     .text = text,
                                                     .remedy = remedy});
}

/* The process of a packet as the database knows it now; NULL where it does not, or was not asked. */
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

/* Whether a process that the first look did not know is one that has come since: its packets are beyond that look. */
static bool is_newer(struct file *f, const struct packet_header *h)
{
    const struct verify_walk *w = f->walk;
    return memcmp(h->uuid, w->node->uuid, sizeof h->uuid) == 0 && (look_again(f, h) || f->err);
}

/* Has process `p` know what was declared since the first look, where that explains the packet. */
static void learn(struct file *f, struct model_process *p, const struct packet_header *h)
{
    struct model_process *now = dict_includes(p->dict, h->dictionary) ? NULL : look_again(f, h);
    if (!now || !dict_includes(now->dict, p->dict->hash))
        return;
    model_set_dictionary(p, now->dict);
    now->dict = NULL;
    f->walk->newer_stale = true;
}

/* The stream that a file belongs to by its first packet. Any reason why it cannot be it is told. */
static struct model_stream *stream_of(struct file *f, const struct packet_header *h)
{
    char expected[MODEL_BASE_MAX + 12];
    const struct model_node *node = f->walk->node;
    struct model_process *p = model_find_process(node, h->instance);
    if (!p || memcmp(h->uuid, node->uuid, sizeof h->uuid) != 0) {
        if (!is_newer(f, h))
            tell(f, VERIFY_DAMAGED, "unknown-stream", NULL, "it is of no process that run.db knows");
        return NULL;
    }
    snprintf(expected, sizeof expected, "%s-%u", p->base, h->ring);
    struct model_stream *s = strcmp(f->name, expected) == 0 ? model_stream(p, h->ring) : NULL;
    if (!s)
        tell(f, VERIFY_DAMAGED, "misnamed", NULL, "its packets are those of %s", expected);
    return s;
}

static void check_saved(struct file *f)
{
    const struct model_stream *s = f->stream;
    if (s->bytes != s->saved.bytes)
        return;
    f->matched = true;
    if (s->packets != s->saved.packets || s->at.next_ordinal != s->saved.next_ordinal ||
        s->at.discarded != s->saved.discarded)
        tell(f, VERIFY_DAMAGED, "other-counts", NULL,
             "run.db has %" PRIu64 " packets, next ordinal %" PRIu64 ", %" PRIu64 " lost; the file %" PRIu64
             ", %" PRIu64 ", %" PRIu64,
             s->saved.packets, s->saved.next_ordinal, s->saved.discarded, s->packets, s->at.next_ordinal,
             s->at.discarded);
    else if (s->sum != s->saved.sum)
        tell(f, VERIFY_DAMAGED, "changed", NULL,
             "something in the bytes up to here is not what was stored: their checksum differs from run.db's");
}

/* Takes a packet, as the collector took it. Returns whether to go on. */
static bool take_packet(struct file *f, const struct packet_header *h, const uint8_t *packet)
{
    if (!f->stream && !(f->stream = stream_of(f, h)))
        return false;
    struct model_stream *s = f->stream;
    struct model_process *p = s->process;
    struct accept_found found;
    learn(f, p, h);
    const char *reason = dict_includes(p->dict, h->dictionary) ? accept_check(p, s, h, packet, &found)
                                                               : "a dictionary that run.db does not have";
    if (reason) {
        if (!f->err)
            tell(f, VERIFY_DAMAGED, "wrong-packet", NULL, "%s", reason);
        return false;
    }
    accept_advance(s, h, found.lost);
    s->bytes += h->size_bytes;
    account_count(p, h, packet, &found.all, 0);
    account_sum(s, h, packet);
    if (f->walk->rows)
        account_rows(f->walk->rows, p, h, packet, found.lost);
    check_saved(f);
    return true;
}

/* What stands behind the last good packet, and what should. */
static void check_end(struct file *f, uint64_t rest)
{
    const struct model_stream *s = f->stream;
    bool more = rest > 0 || (s && s->bytes > s->saved.bytes);
    if (s && s->bytes < s->saved.bytes)
        tell(f, VERIFY_DAMAGED, "truncated", NULL, "it ends here; %" PRIu64 " bytes that were stored are missing",
             s->saved.bytes - s->bytes);
    else if (s && s->saved.bytes > 0 && !f->matched)
        tell(f, VERIFY_DAMAGED, "other-counts", NULL, "no packet ends at byte %" PRIu64 ", where one was saved",
             s->saved.bytes);
    else if (more && !verify_is_left(f->walk))
        return; /* it goes on */
    else if (rest > 0)
        tell(f, VERIFY_INCOMPLETE, "torn", verify_remedy_restart,
             "%" PRIu64 " bytes behind the last whole packet, which was never acknowledged", rest);
    else if (more && verify_is_settled(f->walk))
        tell(f, VERIFY_DAMAGED, "other-counts", NULL,
             "run.db, which was finished, has %" PRIu64 " packets of it; it holds %" PRIu64, s->saved.packets,
             s->packets);
    else if (more)
        tell(f, VERIFY_INCOMPLETE, "unsaved", verify_remedy_restart,
             "its last %" PRIu64 " packets are not in run.db: the collector was killed", s->packets - s->saved.packets);
}

/* Behind what was saved anything may stand where the power failed, and a restart cuts it off. */
static void tell_no_packet(struct file *f, const char *reason, uint64_t rest)
{
    if (!f->stream || f->stream->bytes >= f->stream->saved.bytes)
        tell(f, VERIFY_INCOMPLETE, "torn", verify_remedy_restart, "%s: %" PRIu64 " bytes behind all that was saved",
             reason, rest);
    else
        tell(f, VERIFY_DAMAGED, "not-a-packet", NULL, "%s", reason);
}

int verify_file(const char *path, void *context)
{
    struct verify_walk *w = context;
    struct file f = {.walk = w, .name = strrchr(path, '/') + 1};
    struct reader *r;
    struct packet_header h;
    const uint8_t *packet;
    int err = reader_open(path, &r), more;
    if (err == BEZEL_ENOMEM || err == BEZEL_ENOENT)
        return err == BEZEL_ENOENT ? 0 : err; /* a temporary's name of a moment ago */
    if (err == BEZEL_EMALFORMED)
        tell(&f, VERIFY_DAMAGED, "foreign", verify_remedy_foreign, "it is no file");
    else if (err)
        tell(&f, VERIFY_DAMAGED, "unreadable", NULL, "it cannot be opened: %s", strerror(errno));
    if (err)
        return 0;
    bool good = true;
    while ((more = reader_next(r, &h, &packet)) > 0 && (good = take_packet(&f, &h, packet)))
        ;
    if (more == BEZEL_EMALFORMED || more == BEZEL_EVERSION)
        tell_no_packet(&f, reader_reason(r), reader_rest(r));
    else if (more < 0)
        tell(&f, VERIFY_DAMAGED, "unreadable", NULL, "%s", strerror(errno));
    else if (good)
        check_end(&f, reader_rest(r));
    if (f.stream && (more < 0 || !good))
        f.stream->behind = true; /* what it should have is not looked for any more */
    reader_close(r);
    return f.err;
}

void verify_missing(struct verify_walk *w)
{
    for (struct model_process *p = w->node->processes; p; p = p->next)
        for (uint32_t ring = 0; ring < PACKET_RINGS_MAX; ring++) {
            struct model_stream *s = p->streams[ring];
            if (!s || s->packets || s->behind || s->saved.packets == 0)
                continue;
            char name[MODEL_BASE_MAX + 12];
            snprintf(name, sizeof name, "%s-%u", p->base, ring);
            struct file f = {.walk = w, .name = name};
            s->behind = true;
            tell(&f, VERIFY_DAMAGED, "missing", NULL,
                 "%" PRIu64 " packets that were stored are missing, with their file", s->saved.packets);
        }
}

void verify_unknown(struct verify_walk *w, const struct model_process *p)
{
    for (uint32_t ring = 0; ring < PACKET_RINGS_MAX; ring++) {
        struct model_stream *s = p->streams[ring];
        if (!s || s->packets == 0 || s->behind)
            continue;
        char name[MODEL_BASE_MAX + 12];
        snprintf(name, sizeof name, "%s-%u", p->base, ring);
        struct file f = {.walk = w, .name = name, .stream = s};
        tell(&f, VERIFY_INCOMPLETE, "unknown", NULL,
             "unknown after ordinal %" PRIu64 ": nobody saw the end of its process, nor its last books",
             s->at.next_ordinal);
    }
}
