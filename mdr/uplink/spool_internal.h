// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the files of the spool share: the layout of its file, and its state. spool.h is its interface. */
#ifndef BEZEL_MDR_UPLINK_SPOOL_INTERNAL_H
#define BEZEL_MDR_UPLINK_SPOOL_INTERNAL_H

#include "base/checksum.h"
#include "mdr/uplink/spool.h"
#include "mdr/uplink/window.h"

#include <limits.h>
#include <stddef.h>
#include <sys/uio.h>

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
    uint64_t turn, freed, written; /* written: the end when the mark was made; the end is there or later */
    uint32_t life;                 /* number of the daemon's life that wrote it */
    uint32_t doubtful;             /* 1: see spool_is_doubtful() */
    uint64_t sum;
};

/*
 * The entry of position p is at SPOOL_DATA + p % capacity; `bytes` 0: filler up to the end of the file. Lives of
 * daemons are numbered, and numbers in consecutive entries never fall. So an old entry after a damaged one is not
 * mistaken for an entry of a later life.
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
    uint64_t freed, marked; /* the oldest position; and the one in the file's mark */
    uint64_t written;
    uint64_t turn; /* of the last mark */
    uint32_t life; /* this daemon's; while reading back, the last entry's */
    bool doubtful;
    char path[PATH_MAX];
    uint8_t buffer[WINDOW_PACKET_BYTES]; /* for reading back at the start */
};

static inline uint64_t entry_span(uint32_t bytes)
{
    return (sizeof(struct spool_entry) + bytes + SPOOL_ALIGN - 1) & ~(uint64_t)(SPOOL_ALIGN - 1);
}

static inline uint64_t to_end(const struct spool *s, uint64_t position)
{
    return s->capacity - position % s->capacity;
}

static inline uint64_t place(const struct spool *s, uint64_t position)
{
    return SPOOL_DATA + position % s->capacity;
}

static inline uint64_t entry_sum(const struct spool_entry *e, const void *packet)
{
    uint64_t sum = checksum_add(CHECKSUM_START, e, offsetof(struct spool_entry, sum));
    return e->bytes ? checksum_add(sum, packet, e->bytes) : sum;
}

static inline uint64_t span_at(const struct spool *s, uint64_t position, const struct spool_entry *e)
{
    return e->bytes ? entry_span(e->bytes) : to_end(s, position);
}

/** Writes all of `parts`, which it changes. Returns 0 or the error. */
int spool_write_at(int fd, struct iovec *parts, int count, uint64_t at);

/** Reads `n` bytes. Returns 0; BEZEL_EMALFORMED at the end of the file; or the error. */
int spool_read_at(int fd, void *to, size_t n, uint64_t at);

/** Reads the head of the entry at `position`. Returns 0; BEZEL_EMALFORMED if there is none; or the error. */
int spool_get_head(const struct spool *s, uint64_t position, struct spool_entry *e);

/** Writes where the spool begins and ends, over the older of the two marks. */
int spool_put_mark(struct spool *s);

#endif
