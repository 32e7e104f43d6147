// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/spool.h"

#include "base/file.h"
#include "base/sum.h"
#include "sensor/window.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * The file: a head, two marks, each in a sector of its own, then the places of entries from SPOOL_DATA on. Numbers are
 * the machine's own: the file never leaves it.
 */
#define SPOOL_MAGIC UINT64_C(0x42455a454c535031) /* "BEZELSP1" */
#define ENTRY_MAGIC UINT64_C(0x42455a454c53504e)

enum { SPOOL_VERSION = 1, SPOOL_ALIGN = 32, SPOOL_MARKS = 512, SPOOL_DATA = 4096 };

struct spool_head {
    uint64_t magic, version, capacity;
    uint8_t run[16], uuid[16];
    uint64_t sum;
};

struct spool_mark {
    uint64_t turn, freed, written; /* the last as it was: the end is there or behind it */
    uint64_t life;                 /* of who wrote it */
    uint64_t sum;
};

/*
 * At position p an entry stands at SPOOL_DATA + p % capacity; `bytes` 0: it only fills up the end of the file. Lives of
 * daemons are counted, and stand in the entries in their order: what stood behind a damaged entry is not taken for what
 * a later life wrote in its place.
 */
struct spool_entry {
    uint64_t magic, position;
    uint32_t bytes, life;
    uint64_t sum; /* of the fields before it and the packet */
};

_Static_assert(sizeof(struct spool_entry) == SPOOL_ALIGN, "every place can hold a head");

struct spool {
    int fd;
    uint64_t capacity;
    uint64_t freed, marked; /* the oldest position; and as the file's mark has it */
    uint64_t written;
    uint64_t turn; /* of the last mark */
    uint32_t life; /* ours; while reading back, of the last entry */
    char path[PATH_MAX];
    uint8_t buffer[WINDOW_PACKET_BYTES]; /* of reading back at the start */
};

/* ---- Files ------------------------------------------------------------------------------------------------------- */

static int write_at(int fd, struct iovec *parts, int count, uint64_t at)
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

/* All of it, or BEZEL_EMALFORMED where the file ends. */
static int read_at(int fd, void *to, size_t n, uint64_t at)
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

static uint64_t entry_span(uint32_t bytes)
{
    return (sizeof(struct spool_entry) + bytes + SPOOL_ALIGN - 1) & ~(uint64_t)(SPOOL_ALIGN - 1);
}

static uint64_t to_end(const struct spool *s, uint64_t position)
{
    return s->capacity - position % s->capacity;
}

static uint64_t place(const struct spool *s, uint64_t position)
{
    return SPOOL_DATA + position % s->capacity;
}

static uint64_t entry_sum(const struct spool_entry *e, const void *packet)
{
    uint64_t sum = sum_add(SUM_START, e, offsetof(struct spool_entry, sum));
    return e->bytes ? sum_add(sum, packet, e->bytes) : sum;
}

static int put_entry(const struct spool *s, uint64_t position, const void *packet, uint32_t bytes)
{
    struct spool_entry e = {.magic = ENTRY_MAGIC, .position = position, .bytes = bytes, .life = s->life};
    e.sum = entry_sum(&e, packet);
    struct iovec parts[] = {{&e, sizeof e}, {(void *)packet, bytes}};
    return write_at(s->fd, parts, bytes ? 2 : 1, place(s, position));
}

/* The head of the entry at `position`: whether one was written there in this round of the file. */
static int get_head(const struct spool *s, uint64_t position, struct spool_entry *e)
{
    int err = read_at(s->fd, e, sizeof *e, place(s, position));
    if (!err && (e->magic != ENTRY_MAGIC || e->position != position || e->bytes > WINDOW_PACKET_BYTES ||
                 entry_span(e->bytes) > to_end(s, position)))
        err = BEZEL_EMALFORMED;
    return err;
}

static uint64_t span_at(const struct spool *s, uint64_t position, const struct spool_entry *e)
{
    return e->bytes ? entry_span(e->bytes) : to_end(s, position);
}

/* Moves *at over what fills up an end, then behind the packet that follows, whose head is in *e. */
static int next_head(const struct spool *s, uint64_t *at, struct spool_entry *e, uint64_t *position)
{
    for (;;) {
        if (*at >= s->written)
            return 0;
        int err = get_head(s, *at, e);
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
    int err = read_at(s->fd, packet, e.bytes, place(s, position) + sizeof e);
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
    int err = read_at(s->fd, begin, bytes, place(s, position) + sizeof e);
    return err ? err : (int)bytes;
}

/* ---- Marks ------------------------------------------------------------------------------------------------------- */

static int put_mark(struct spool *s)
{
    struct spool_mark m = {.turn = s->turn + 1, .freed = s->freed, .written = s->written, .life = s->life};
    m.sum = sum_add(SUM_START, &m, offsetof(struct spool_mark, sum));
    struct iovec part = {&m, sizeof m};
    int err = write_at(s->fd, &part, 1, SPOOL_MARKS * (1 + m.turn % 2));
    if (err)
        return err;
    s->turn = m.turn;
    s->marked = s->freed;
    return 0;
}

/* The later one of the two that are whole. */
static bool get_marks(struct spool *s, struct spool_mark *last)
{
    bool any = false;
    for (uint64_t i = 0; i < 2; i++) {
        struct spool_mark m;
        if (read_at(s->fd, &m, sizeof m, SPOOL_MARKS * (1 + i)) != 0 || m.turn % 2 != i ||
            m.sum != sum_add(SUM_START, &m, offsetof(struct spool_mark, sum)) || m.freed % SPOOL_ALIGN ||
            m.freed > INT64_MAX || m.life >= UINT32_MAX || (any && m.turn < last->turn))
            continue;
        *last = m;
        any = true;
    }
    return any;
}

void spool_cut(struct spool *s, uint64_t from)
{
    if (from < s->freed || from >= s->written)
        return;
    s->written = from;
    (void)!put_mark(s); /* else the next life finds the same, and cuts it again */
}

int spool_free(struct spool *s, uint64_t until)
{
    if (until <= s->freed || until > s->written)
        return 0;
    s->freed = until;
    return put_mark(s);
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
    int err = s->written + filler + span - s->marked > s->capacity ? put_mark(s) : 0;
    if (!err && filler)
        err = put_entry(s, s->written, NULL, 0);
    if (!err)
        err = put_entry(s, s->written + filler, packet, n);
    if (!err)
        s->written += filler + span;
    return err;
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* Whether a whole entry stands at `position`, written in this round by who wrote the one before it, or later. */
static bool is_whole(struct spool *s, uint64_t position, struct spool_entry *e)
{
    return get_head(s, position, e) == 0 && e->life >= s->life &&
           (e->bytes == 0 || read_at(s->fd, s->buffer, e->bytes, place(s, position) + sizeof *e) == 0) &&
           entry_sum(e, s->buffer) == e->sum;
}

/*
 * The bytes that are lost where reading back ends at `from`, and that is not the end: as the mark says, or a whole
 * entry that follows within the length of any.
 */
static uint64_t damage_at(struct spool *s, uint64_t from, uint64_t marked)
{
    struct spool_entry e;
    uint64_t most = from + 2 * entry_span(WINDOW_PACKET_BYTES), round = s->freed + s->capacity;
    if (from < marked)
        return marked - from;
    for (uint64_t at = from + SPOOL_ALIGN; at < most && at < round; at += SPOOL_ALIGN)
        if (is_whole(s, at, &e))
            return at - from;
    return 0;
}

/* Reads back what a crashed daemon left: the entries from the mark on, to the first that is not whole. */
static void read_back(struct spool *s, uint64_t marked, struct spool_found *found)
{
    for (s->written = s->freed; s->written < s->freed + s->capacity;) {
        struct spool_entry e;
        if (!is_whole(s, s->written, &e)) {
            bool begun = get_head(s, s->written, &e) == 0 && e.life >= s->life;
            found->damaged = damage_at(s, s->written, marked);
            found->torn = begun && !found->damaged;
            return;
        }
        s->life = e.life;
        found->packets += e.bytes != 0;
        s->written += span_at(s, s->written, &e);
    }
}

/* Begins our life: no entry of it is written before the mark that counts it. */
static int take_over(struct spool *s, const struct spool_mark *last, struct spool_found *found)
{
    s->turn = last->turn;
    s->freed = last->freed;
    read_back(s, last->written, found);
    s->life = (uint32_t)last->life + 1;
    return put_mark(s);
}

static struct spool_head head_of(const uint8_t run[16], const uint8_t uuid[16], uint64_t capacity)
{
    struct spool_head h = {.magic = SPOOL_MAGIC, .version = SPOOL_VERSION, .capacity = capacity};
    memcpy(h.run, run, 16);
    memcpy(h.uuid, uuid, 16);
    h.sum = sum_add(SUM_START, &h, offsetof(struct spool_head, sum));
    return h;
}

/* Whether the file is the spool of this run and trace; its capacity stays what it was. */
static bool adopt(struct spool *s, const uint8_t run[16], const uint8_t uuid[16], struct spool_mark *last)
{
    struct spool_head h;
    if (read_at(s->fd, &h, sizeof h, 0) != 0 || h.capacity < SPOOL_BYTES_MIN || h.capacity > INT64_MAX / 4 ||
        h.capacity % SPOOL_DATA)
        return false;
    struct spool_head expected = head_of(run, uuid, h.capacity);
    s->capacity = h.capacity;
    return memcmp(&h, &expected, sizeof h) == 0 && get_marks(s, last);
}

/* The head comes last: a kill before it leaves no spool. */
static int create(struct spool *s, const uint8_t run[16], const uint8_t uuid[16], uint64_t bytes)
{
    s->capacity = (bytes + SPOOL_DATA - 1) / SPOOL_DATA * SPOOL_DATA;
    if (ftruncate(s->fd, 0) != 0)
        return err_from_errno(errno);
    struct spool_head h = head_of(run, uuid, s->capacity);
    struct iovec part = {&h, sizeof h};
    int err = put_mark(s);
    return err ? err : write_at(s->fd, &part, 1, 0);
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
    if (!err && adopt(s, run, uuid, &last)) {
        err = take_over(s, &last, found);
    } else if (!err) {
        found->of_others = lseek(s->fd, 0, SEEK_END) > 0;
        err = create(s, run, uuid, bytes < SPOOL_BYTES_MIN ? SPOOL_BYTES_MIN : bytes);
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
    if (s->freed == s->written)
        unlink(s->path);
    close(s->fd);
    free(s);
}
