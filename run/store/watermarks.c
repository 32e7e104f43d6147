// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/store/watermarks.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * A reader copies the file while it is written. Both copies of a watermark only grow, but where a node has come back,
 * so the lower one is right whichever of them is old.
 */
struct row {
    uint8_t uuid[16];
    _Atomic int64_t low, low_again, at;
};

_Static_assert(sizeof(struct row) == 40, "a row of the file");

enum { STEP = 64, READ_ROWS = 256 };

struct watermarks {
    int fd;
    struct row *rows;
    size_t count, capacity;
    char path[PATH_MAX];
};

static int make_path(const char *run, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/watermarks", run) < PATH_MAX ? 0 : (errno = ENAMETOOLONG, BEZEL_EINVAL);
}

/* Room for STEP more, allocated on the disk: a store into the mapping would end the process where there is none. */
static int grow(struct watermarks *w)
{
    size_t capacity = w->capacity + STEP;
    if (capacity > WATERMARKS_MAX)
        return BEZEL_EFULL;
    int sys = posix_fallocate(w->fd, 0, (off_t)(capacity * sizeof *w->rows));
    if (sys)
        return errno = sys, err_from_errno(sys);
    void *at = mmap(NULL, capacity * sizeof *w->rows, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
    if (at == MAP_FAILED)
        return err_from_errno(errno);
    if (w->rows)
        munmap(w->rows, w->capacity * sizeof *w->rows);
    w->rows = at;
    w->capacity = capacity;
    return 0;
}

int watermarks_open(const char *run, struct watermarks **out)
{
    struct watermarks *w = calloc(1, sizeof *w);
    if (!w)
        return BEZEL_ENOMEM;
    int err = make_path(run, w->path);
    w->fd = err ? -1 : open(w->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (!err && w->fd < 0)
        err = err_from_errno(errno);
    if (!err)
        err = grow(w);
    if (err) {
        int sys = errno;
        watermarks_close(w);
        errno = sys;
        return err;
    }
    *out = w;
    return 0;
}

void watermarks_close(struct watermarks *w)
{
    if (!w)
        return;
    if (w->rows)
        munmap(w->rows, w->capacity * sizeof *w->rows);
    if (w->fd >= 0) {
        unlink(w->path);
        close(w->fd);
    }
    free(w);
}

int watermarks_add(struct watermarks *w)
{
    if (!w || (w->count == w->capacity && grow(w) != 0))
        return -1;
    return (int)w->count++;
}

/* A new row is complete before its uuid is there, which readers look for. */
void watermarks_put(struct watermarks *w, int place, const struct watermark *to)
{
    if (!w || place < 0)
        return;
    struct row *r = &w->rows[place];
    atomic_store_explicit(&r->low, to->low, memory_order_relaxed);       /* relaxed: see struct row */
    atomic_store_explicit(&r->low_again, to->low, memory_order_relaxed); /* relaxed: likewise */
    atomic_store_explicit(&r->at, to->at, memory_order_relaxed);         /* relaxed: an older time is one too */
    memcpy(r->uuid, to->uuid, sizeof r->uuid);
}

static size_t take_rows(const struct row *rows, size_t n, struct watermark *to)
{
    static const uint8_t none[16];
    size_t taken = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t low, again, at;
        memcpy(&low, (const void *)&rows[i].low, sizeof low);
        memcpy(&again, (const void *)&rows[i].low_again, sizeof again);
        memcpy(&at, (const void *)&rows[i].at, sizeof at);
        if (memcmp(rows[i].uuid, none, sizeof none) == 0 || at <= 0)
            continue;
        to[taken] = (struct watermark){.low = low < again ? low : again, .at = at};
        memcpy(to[taken].uuid, rows[i].uuid, sizeof to->uuid);
        taken++;
    }
    return taken;
}

size_t watermarks_read(const char *run, struct watermark *to, size_t room)
{
    char path[PATH_MAX];
    struct row rows[READ_ROWS];
    size_t count = 0;
    off_t from = 0;
    int fd = make_path(run, path) == 0 ? file_open_plain(path, 1, false) : -1;
    if (fd < 0)
        return 0;
    while (count < room) {
        size_t most = room - count < READ_ROWS ? room - count : READ_ROWS;
        ssize_t n = pread(fd, rows, most * sizeof *rows, from);
        if (n < (ssize_t)sizeof *rows)
            break;
        count += take_rows(rows, (size_t)n / sizeof *rows, to + count);
        from += n / (ssize_t)sizeof *rows * (ssize_t)sizeof *rows;
    }
    close(fd);
    return count;
}
