// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/uplink/spool_internal.h"

#include <errno.h>
#include <unistd.h>

/* ---- Files ------------------------------------------------------------------------------------------------------- */

int spool_write_at(int fd, struct iovec *parts, int count, uint64_t at)
{
    while (count > 0) {
        ssize_t n = pwritev(fd, parts, count, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? err_from_errno(errno) : BEZEL_ENOSPC;
        at += (uint64_t)n;
        for (; count > 0 && (size_t)n >= parts->iov_len; parts++, count--)
            n -= (ssize_t)parts->iov_len;
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + n;
            parts->iov_len -= (size_t)n;
        }
    }
    return 0;
}

int spool_read_at(int fd, void *to, size_t n, uint64_t at)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, (char *)to + done, n - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? err_from_errno(errno) : BEZEL_EMALFORMED;
        done += (size_t)got;
    }
    return 0;
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

static int put_entry(const struct spool *s, uint64_t position, const void *packet, uint32_t bytes)
{
    struct spool_entry e = {.magic = ENTRY_MAGIC, .position = position, .bytes = bytes, .life = s->life};
    e.sum = entry_sum(&e, packet);
    struct iovec parts[] = {{&e, sizeof e}, {(void *)packet, bytes}};
    return spool_write_at(s->fd, parts, bytes ? 2 : 1, place(s, position));
}

int spool_get_head(const struct spool *s, uint64_t position, struct spool_entry *e)
{
    int err = spool_read_at(s->fd, e, sizeof *e, place(s, position));
    if (!err && (e->magic != ENTRY_MAGIC || e->position != position || e->bytes > WINDOW_PACKET_BYTES ||
                 entry_span(e->bytes) > to_end(s, position)))
        err = BEZEL_EMALFORMED;
    return err;
}

/* Moves *at over filler, and behind the packet that follows, whose head is in *e. */
static int next_head(const struct spool *s, uint64_t *at, struct spool_entry *e, uint64_t *position)
{
    for (;;) {
        if (*at >= s->written)
            return 0;
        int err = spool_get_head(s, *at, e);
        if (err) {
            *at = s->written;
            return err;
        }
        *position = *at;
        *at += span_at(s, *at, e);
        if (e->bytes)
            return (int)e->bytes;
    }
}

int spool_read(const struct spool *s, uint64_t *at, void *packet, uint32_t room)
{
    struct spool_entry e;
    uint64_t position = 0, from = *at;
    int n = next_head(s, at, &e, &position);
    if (n <= 0)
        return n;
    if (e.bytes > room) {
        *at = from;
        return BEZEL_EFULL;
    }
    int err = spool_read_at(s->fd, packet, e.bytes, place(s, position) + sizeof e);
    return err ? err : entry_sum(&e, packet) == e.sum ? n : BEZEL_EMALFORMED;
}

int spool_peek(const struct spool *s, uint64_t *at, void *begin, uint32_t room)
{
    struct spool_entry e;
    uint64_t position = 0;
    int n = next_head(s, at, &e, &position);
    if (n <= 0)
        return n;
    uint32_t bytes = e.bytes < room ? e.bytes : room;
    int err = spool_read_at(s->fd, begin, bytes, place(s, position) + sizeof e);
    return err ? err : (int)bytes;
}

/* ---- Marks ------------------------------------------------------------------------------------------------------- */

int spool_put_mark(struct spool *s)
{
    struct spool_mark m = {
        .turn = s->turn + 1, .freed = s->freed, .written = s->written, .life = s->life, .doubtful = s->doubtful};
    m.sum = checksum_add(CHECKSUM_START, &m, offsetof(struct spool_mark, sum));
    struct iovec part = {&m, sizeof m};
    int err = spool_write_at(s->fd, &part, 1, SPOOL_MARKS * (1 + m.turn % 2));
    if (err)
        return err;
    s->turn = m.turn;
    s->marked = s->freed;
    return 0;
}

void spool_truncate(struct spool *s, uint64_t from)
{
    if (from < s->freed || from >= s->written)
        return;
    s->written = from;
    s->doubtful = true;
    (void)!spool_put_mark(s); /* else the next daemon truncates it again */
}

bool spool_is_doubtful(const struct spool *s)
{
    return s->doubtful;
}

void spool_doubt(struct spool *s)
{
    if (s->doubtful)
        return;
    s->doubtful = true;
    (void)!spool_put_mark(s); /* else the next mark has it, without which nothing is freed */
}

int spool_free(struct spool *s, uint64_t until)
{
    if (until <= s->freed || until > s->written)
        return 0;
    s->freed = until;
    return spool_put_mark(s);
}

/* ---- Appending --------------------------------------------------------------------------------------------------- */

uint64_t spool_oldest(const struct spool *s)
{
    return s->freed;
}

uint64_t spool_written(const struct spool *s)
{
    return s->written;
}

int spool_append(struct spool *s, const void *packet, uint32_t n)
{
    uint64_t span = entry_span(n), filler = to_end(s, s->written) < span ? to_end(s, s->written) : 0;
    if (n == 0 || n > WINDOW_PACKET_BYTES)
        return BEZEL_EINVAL;
    if (s->written + filler + span - s->freed > s->capacity)
        return BEZEL_EFULL;
    int err = s->written + filler + span - s->marked > s->capacity ? spool_put_mark(s) : 0;
    if (!err && filler)
        err = put_entry(s, s->written, NULL, 0);
    if (!err)
        err = put_entry(s, s->written + filler, packet, n);
    if (!err)
        s->written += filler + span;
    return err;
}
