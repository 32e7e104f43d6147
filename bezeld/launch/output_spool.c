// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/output_spool.h"

#include "mdr/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20, PIECE = 1 << 16 };

int output_spool_open(struct output_spool *s, int folder, const char *name, uint64_t kept, int *input)
{
    int ends[2];
    *s = OUTPUT_SPOOL_NONE;
    s->kept = kept;
    s->file = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->file < 0)
        return err_from_errno(errno);
    if (pipe2(ends, O_CLOEXEC) != 0) {
        int error = errno;
        output_spool_close(s);
        return errno = error, err_from_errno(error);
    }
    s->pipe = ends[0];
    *input = ends[1];
    fcntl(s->pipe, F_SETFL, O_NONBLOCK);
    fcntl(s->pipe, F_SETPIPE_SZ, PIPE_BYTES); /* a program that writes in bursts then waits less; may be refused */
    return 0;
}

int output_spool_take_up(struct output_spool *s, int folder, const char *name)
{
    struct stat file;
    *s = OUTPUT_SPOOL_NONE;
    s->file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (s->file < 0 || fstat(s->file, &file) != 0) {
        int error = errno;
        output_spool_close(s);
        return errno = error, err_from_errno(error);
    }
    off_t data = lseek(s->file, 0, SEEK_DATA);
    s->size = (uint64_t)file.st_size;
    s->hole = data > 0 ? (uint64_t)data : 0;
    return 0;
}

/* Without space the bytes are dropped: the program goes on. */
static void write_piece(struct output_spool *s, const uint8_t *bytes, size_t n)
{
    while (n > 0) {
        ssize_t written = pwrite(s->file, bytes, n, (off_t)s->size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            break;
        s->size += (uint64_t)written;
        bytes += written;
        n -= (size_t)written;
    }
    s->dropped += n;
}

/* A file system without holes keeps everything. */
static void make_hole(struct output_spool *s)
{
    if (s->size - s->hole < s->kept + OUTPUT_SPOOL_STEP)
        return;
    uint64_t until = (s->size - s->kept) / OUTPUT_SPOOL_STEP * OUTPUT_SPOOL_STEP;
    if (fallocate(s->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)until) == 0)
        s->hole = until;
}

void output_spool_take(struct output_spool *s)
{
    static uint8_t piece[PIECE]; /* one thread */
    for (size_t taken = 0; s->pipe >= 0 && taken < PIPE_BYTES;) {
        ssize_t n = read(s->pipe, piece, sizeof piece);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0) {
            close(s->pipe);
            s->pipe = -1;
            return;
        }
        taken += (size_t)n;
        write_piece(s, piece, (size_t)n);
    }
    make_hole(s);
}

void output_spool_read(const struct output_spool *s, uint64_t from, struct message_output *out)
{
    out->offset = from < s->hole ? s->hole : from > s->size ? s->size : from;
    out->count = 0;
    uint64_t left = s->size - out->offset;
    size_t wanted = left < sizeof out->bytes ? (size_t)left : sizeof out->bytes;
    while (out->count < wanted) {
        ssize_t n = pread(s->file, out->bytes + out->count, wanted - out->count, (off_t)(out->offset + out->count));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        out->count += (uint32_t)n;
    }
    out->last = s->pipe < 0 && out->offset + out->count == s->size;
}

void output_spool_close(struct output_spool *s)
{
    if (s->pipe >= 0)
        close(s->pipe);
    if (s->file >= 0)
        close(s->file);
    s->pipe = s->file = -1;
}
