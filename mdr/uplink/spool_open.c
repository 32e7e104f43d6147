// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/uplink/spool_internal.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads the later one of the complete marks. Returns 0, BEZEL_EMALFORMED if none is complete, or the error of a read.
 */
static int get_marks(struct spool *s, struct spool_mark *last)
{
    bool any = false;
    for (uint64_t i = 0; i < 2; i++) {
        struct spool_mark m;
        int err = spool_read_at(s->fd, &m, sizeof m, SPOOL_MARKS * (1 + i));
        if (err && err != BEZEL_EMALFORMED)
            return err;
        if (err || m.turn % 2 != i || m.sum != checksum_add(CHECKSUM_START, &m, offsetof(struct spool_mark, sum)) ||
            m.freed % SPOOL_ALIGN || m.freed > INT64_MAX || m.life == UINT32_MAX || (any && m.turn < last->turn))
            continue;
        *last = m;
        any = true;
    }
    return any ? 0 : BEZEL_EMALFORMED;
}

/*
 * Returns 0 where a whole entry stands at `position`, written in this round by who wrote the one before it, or later;
 * BEZEL_EMALFORMED where none does; or the error of a read.
 */
static int check_entry(struct spool *s, uint64_t position, struct spool_entry *e)
{
    int err = spool_get_head(s, position, e);
    if (!err && e->life < s->life)
        err = BEZEL_EMALFORMED;
    if (!err && e->bytes)
        err = spool_read_at(s->fd, s->buffer, e->bytes, place(s, position) + sizeof *e);
    return err ? err : entry_sum(e, s->buffer) == e->sum ? 0 : BEZEL_EMALFORMED;
}

/*
 * Moves *at to the first position before `end` that has the magic of an entry; `end`: none has. Reads many places at
 * once. Returns 0, or the error of a read.
 */
static int next_likely(const struct spool *s, uint64_t *at, uint64_t end)
{
    struct spool_entry entries[128];
    while (*at < end) {
        uint64_t n = end - *at < sizeof entries ? end - *at : sizeof entries;
        if (n > to_end(s, *at))
            n = to_end(s, *at);
        ssize_t got = pread(s->fd, entries, n, (off_t)place(s, *at));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_from_errno(errno);
        for (ssize_t i = 0; i < got / SPOOL_ALIGN; i++, *at += SPOOL_ALIGN, n -= SPOOL_ALIGN)
            if (entries[i].magic == ENTRY_MAGIC)
                return 0;
        *at += n;
    }
    *at = end;
    return 0;
}

/*
 * Reading back has ended at `from`. *lost: the bytes that are lost if that is not the end, as the mark shows, or a
 * complete entry within the length of the longest; else 0. Returns 0, or the error of a read.
 */
static int damage_at(struct spool *s, uint64_t from, uint64_t marked, uint64_t *lost)
{
    struct spool_entry e;
    uint64_t at = from, end = from + 2 * entry_span(WINDOW_PACKET_BYTES), round = s->freed + s->capacity;
    int err = BEZEL_EMALFORMED;
    *lost = from < marked ? marked - from : 0;
    if (end > round)
        end = round;
    while (*lost == 0 && err == BEZEL_EMALFORMED && at < end) {
        at += SPOOL_ALIGN;
        err = next_likely(s, &at, end);
        if (!err && at < end)
            err = check_entry(s, at, &e);
        if (!err && at < end)
            *lost = at - from;
    }
    return err == BEZEL_EMALFORMED ? 0 : err;
}

/*
 * Reads back what a crashed daemon left: the entries from the mark on, to the first that is not whole. What only fills
 * up the end of the file ends nothing: it is written again, before the packet that it was for. What stands behind the
 * end that the mark gives, and is older than the mark, was dropped. Returns 0, or the error of a read, after which
 * nothing may be written: the entry that could not be read may be whole.
 */
static int read_back(struct spool *s, const struct spool_mark *last, struct spool_found *found)
{
    s->written = s->freed;
    for (uint64_t at = s->freed; at < s->freed + s->capacity;) {
        struct spool_entry e;
        if (at >= last->written && s->life < last->life)
            s->life = last->life;
        int err = check_entry(s, at, &e);
        if (err && err != BEZEL_EMALFORMED)
            return err;
        if (err) {
            int head = spool_get_head(s, at, &e);
            if (head && head != BEZEL_EMALFORMED)
                return head;
            err = damage_at(s, at, last->written, &found->damaged);
            found->torn = head == 0 && e.life >= s->life && !found->damaged;
            return err;
        }
        s->life = e.life;
        found->packets += e.bytes != 0;
        at += span_at(s, at, &e);
        if (e.bytes)
            s->written = at;
    }
    return 0;
}

/*
 * Begins this daemon's life: its mark is in stable storage before its first entry. Otherwise a power failure could lose
 * the mark and keep entries. The next life would then get the same number, and take these entries for its own.
 */
static int take_over(struct spool *s, const struct spool_mark *last, struct spool_found *found)
{
    s->turn = last->turn;
    s->freed = last->freed;
    int err = read_back(s, last, found);
    s->doubtful = last->doubtful || found->damaged > 0;
    s->life = last->life + 1;
    err = err ? err : spool_put_mark(s);
    return err || fdatasync(s->fd) == 0 ? err : err_from_errno(errno);
}

static struct spool_head head_of(const uint8_t run[16], const uint8_t uuid[16], uint64_t capacity)
{
    struct spool_head h = {.magic = SPOOL_MAGIC, .version = SPOOL_VERSION, .capacity = capacity};
    memcpy(h.run, run, 16);
    memcpy(h.uuid, uuid, 16);
    h.sum = checksum_add(CHECKSUM_START, &h, offsetof(struct spool_head, sum));
    return h;
}

/*
 * Returns 0 where the file is the spool of this run and trace, whose capacity stays what it was; BEZEL_EMALFORMED where
 * it is not; or the error of a read, which says nothing about the file.
 */
static int adopt(struct spool *s, const uint8_t run[16], const uint8_t uuid[16], struct spool_mark *last)
{
    struct spool_head h;
    int err = spool_read_at(s->fd, &h, sizeof h, 0);
    if (err)
        return err;
    if (h.capacity < SPOOL_BYTES_MIN || h.capacity > INT64_MAX / 4 || h.capacity % SPOOL_DATA)
        return BEZEL_EMALFORMED;
    struct spool_head expected = head_of(run, uuid, h.capacity);
    s->capacity = h.capacity;
    return memcmp(&h, &expected, sizeof h) == 0 ? get_marks(s, last) : BEZEL_EMALFORMED;
}

/*
 * Removes what is in a file that is not our spool. A file of others keeps the length from which on it may have had
 * packets, until it has a mark that says so: a kill before that does not make it look like a new one.
 */
static int clear(struct spool *s, bool of_others)
{
    static const uint8_t zeros[SPOOL_DATA];
    struct iovec part = {(void *)zeros, sizeof zeros};
    if (ftruncate(s->fd, of_others ? SPOOL_DATA : 0) != 0)
        return err_from_errno(errno);
    return of_others ? spool_write_at(s->fd, &part, 1, 0) : 0;
}

/* The head comes last: a kill before it leaves no spool. */
static int create(struct spool *s, const uint8_t run[16], const uint8_t uuid[16], uint64_t bytes,
                  struct spool_found *found)
{
    struct stat st;
    if (fstat(s->fd, &st) != 0)
        return err_from_errno(errno);
    found->of_others = st.st_size >= SPOOL_DATA;
    s->doubtful = found->of_others;
    s->capacity = (bytes + SPOOL_DATA - 1) / SPOOL_DATA * SPOOL_DATA;
    struct spool_head h = head_of(run, uuid, s->capacity);
    struct iovec part = {&h, sizeof h};
    int err = clear(s, found->of_others);
    if (!err)
        err = spool_put_mark(s);
    return err ? err : spool_write_at(s->fd, &part, 1, 0);
}

/* In a folder that others may write to, the name may be somebody else's file. */
static int open_file(struct spool *s)
{
    struct stat st;
    s->fd = open(s->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (s->fd < 0)
        return err_from_errno(errno);
    if (flock(s->fd, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? BEZEL_EBUSY : err_from_errno(errno);
    if (fstat(s->fd, &st) != 0)
        return err_from_errno(errno);
    return S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1 ? 0 : BEZEL_EPERM;
}

int spool_open(const char *dir, const uint8_t run[16], const uint8_t uuid[16], uint64_t bytes, struct spool **out,
               struct spool_found *found)
{
    *found = (struct spool_found){0};
    struct spool *s = calloc(1, sizeof *s);
    if (!s)
        return BEZEL_ENOMEM;
    char hex[33];
    for (int i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", uuid[i]);
    s->fd = -1;
    int err = file_make_dirs(dir, 0700);
    if (!err && snprintf(s->path, sizeof s->path, "%s/bezel-%s.spool", dir, hex) >= (int)sizeof s->path)
        err = BEZEL_EINVAL;
    if (!err)
        err = open_file(s);
    struct spool_mark last = {0};
    int adopted = err ? err : adopt(s, run, uuid, &last);
    if (!err && adopted != BEZEL_EMALFORMED) {
        err = adopted ? adopted : take_over(s, &last, found);
    } else if (!err) {
        err = create(s, run, uuid, bytes < SPOOL_BYTES_MIN ? SPOOL_BYTES_MIN : bytes, found);
    }
    if (err) {
        int saved = errno;
        if (s->fd >= 0)
            close(s->fd);
        free(s);
        errno = saved;
        return err;
    }
    *out = s;
    return 0;
}

const char *spool_path(const struct spool *s)
{
    return s->path;
}

void spool_close(struct spool *s)
{
    if (!s)
        return;
    if (s->freed == s->written && !s->doubtful)
        unlink(s->path);
    close(s->fd);
    free(s);
}

void spool_discard(struct spool *s)
{
    if (!s)
        return;
    s->freed = s->written;
    s->doubtful = false;
    spool_close(s);
}
