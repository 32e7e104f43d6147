// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/store/cover.h"

#include "base/checksum.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    COVER_BLOCK = 4096, /* bytes at the beginning that stay: the cover's own */
    COVER_READS = 8,
    COVER_BYTES = PACKET_HEADER_BYTES + 8, /* with its checksum, which no reader of packets looks at */
};

static uint64_t sum_of(const uint8_t header[PACKET_HEADER_BYTES])
{
    uint64_t sum = checksum_add(CHECKSUM_START, header, PACKET_HEADER_BYTES);
    return htole64(sum);
}

static bool read_header(int fd, uint8_t p[PACKET_HEADER_BYTES])
{
    ssize_t n;
    do
        n = pread(fd, p, PACKET_HEADER_BYTES, 0);
    while (n < 0 && errno == EINTR);
    return n == PACKET_HEADER_BYTES;
}

/* A read may see a part of a write: two that are the same saw none, or all of it. */
int cover_read(int fd, struct cover *c)
{
    uint8_t bytes[2][PACKET_HEADER_BYTES];
    if (!read_header(fd, bytes[0]))
        return 0;
    for (int i = 1; i < COVER_READS; i++) {
        if (!read_header(fd, bytes[i % 2]))
            return 0;
        if (memcmp(bytes[0], bytes[1], sizeof bytes[0]) == 0)
            break;
    }
    return packet_get_cover(bytes[0], sizeof bytes[0], &c->header, &c->records) == 0;
}

/*
 * Whether the file, of which the bytes from `offset` on were read just now, has a cover that reaches over the first of
 * them; *c is it then.
 */
static bool cover_reaches(int fd, uint64_t offset, struct cover *c)
{
    return cover_read(fd, c) && c->header.size_bytes > offset;
}

static int punch(int fd, uint64_t until)
{
    uint64_t end = until & ~(uint64_t)(COVER_BLOCK - 1);
    if (end <= COVER_BLOCK)
        return 0;
    return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, COVER_BLOCK, (off_t)(end - COVER_BLOCK)) == 0
               ? 0
               : errno;
}

/* One write within a sector: a kill or a loss of power leaves the cover before, or this one. */
static int put(int fd, const struct cover *c)
{
    uint8_t bytes[COVER_BYTES];
    size_t size = c->header.size_bytes < COVER_BYTES ? PACKET_HEADER_BYTES : COVER_BYTES;
    packet_put_cover(bytes, &c->header, c->records);
    uint64_t sum = sum_of(bytes);
    memcpy(bytes + PACKET_HEADER_BYTES, &sum, sizeof sum);
    ssize_t n;
    do
        n = pwrite(fd, bytes, size, 0);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)size ? 0 : n < 0 ? errno : EIO;
}

/* Takes from the first packet what it says of the stream, and no later one changes. */
static void take_first(int fd, struct packet_header *h)
{
    uint8_t bytes[PACKET_HEADER_BYTES];
    struct packet_header first;
    uint64_t records;
    int err = read_header(fd, bytes) ? packet_get_header(bytes, sizeof bytes, &first) : BEZEL_EMALFORMED;
    if (err && err != BEZEL_EAGAIN && packet_get_cover(bytes, sizeof bytes, &first, &records) != 0)
        first = (struct packet_header){.timestamp_begin = h->timestamp_end};
    h->timestamp_begin = first.timestamp_begin < h->timestamp_end ? first.timestamp_begin : h->timestamp_end;
    h->thread = first.thread;
    h->generation = first.generation;
}

/* The cover is there before a byte is freed, so no reader takes a hole for damage. `take`: it is completed by that. */
static int write_cover(int fd, struct cover *c, void (*take)(int fd, struct packet_header *h))
{
    struct cover before;
    struct stat st;
    int sys = fstat(fd, &st) != 0 ? errno : 0;
    if (!sys && (uint64_t)st.st_size < c->header.size_bytes && ftruncate(fd, (off_t)c->header.size_bytes) != 0)
        sys = errno;
    if (!sys && !cover_reaches(fd, c->header.size_bytes - 1, &before)) {
        if (take)
            take(fd, &c->header);
        sys = put(fd, c);
    }
    return sys ? sys : punch(fd, c->header.size_bytes);
}

int cover_write(const char *path, struct cover *c)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0)
        return errno;
    int sys = write_cover(fd, c, take_first);
    close(fd);
    return sys;
}

int cover_copy(int fd, const struct cover *c)
{
    struct cover copy = *c;
    return write_cover(fd, &copy, NULL);
}

int cover_check(const char *path, struct cover *c)
{
    uint8_t bytes[COVER_BYTES] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : pread(fd, bytes, sizeof bytes, 0);
    if (fd >= 0)
        close(fd);
    if (n < PACKET_HEADER_BYTES || packet_get_cover(bytes, PACKET_HEADER_BYTES, &c->header, &c->records) != 0)
        return 0;
    uint64_t sum = sum_of(bytes);
    return c->header.size_bytes < COVER_BYTES || memcmp(bytes + PACKET_HEADER_BYTES, &sum, sizeof sum) == 0 ? 1 : -1;
}

int cover_try(const char *path)
{
    char file[PATH_MAX];
    if (snprintf(file, sizeof file, "%s/.hole", path) >= (int)sizeof file)
        return ENAMETOOLONG;
    int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return errno;
    int sys = ftruncate(fd, 4 * COVER_BLOCK) != 0 ? errno : punch(fd, 3 * COVER_BLOCK);
    close(fd);
    unlink(file);
    return sys;
}
