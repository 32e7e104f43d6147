// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/uplink/window_internal.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Reads back the packets of a crashed daemon. False: the file is inconsistent. */
static bool recover(struct window *w)
{
    struct window_file *f = w->file;
    uint64_t freed = atomic_load_explicit(&f->freed, memory_order_acquire);     /* W3 acquire: pairs W2 */
    uint64_t written = atomic_load_explicit(&f->written, memory_order_acquire); /* W1 acquire: pairs W0 */
    if (written < freed || written - freed > f->capacity || freed % WINDOW_ALIGN || written % WINDOW_ALIGN ||
        written > INT64_MAX) /* impossible */
        return false;
    for (uint32_t i = 0; i < WINDOW_STREAMS; i++)
        w->streams[i] = stream_from(&f->streams[i]);
    for (uint64_t at = freed; at < written;) {
        struct packet_header h;
        struct window_packet *p = packet_at(w, at);
        uint64_t room = to_end(w, at) < written - at ? to_end(w, at) : written - at;
        if (p->bytes == 0 && to_end(w, at) <= room) {
            at += to_end(w, at);
            continue;
        }
        if (p->bytes > room || packet_span(p->bytes) > room || p->stream >= WINDOW_STREAMS ||
            packet_get_header(p->data, p->bytes, &h) != 0 || h.size_bytes != p->bytes)
            return false;
        atomic_store_explicit(&p->references, 0, memory_order_relaxed); /* relaxed: its readers are gone */
        w->records += h.records;
        if (h.seq >= w->streams[p->stream].next_seq) /* else it was saved, and not freed yet */
            stream_apply(&w->streams[p->stream], &h);
        w->streams[p->stream].held += packet_span(p->bytes);
        at += packet_span(p->bytes);
    }
    for (uint32_t i = 0; i < WINDOW_STREAMS; i++) {
        struct window_stream *s = &w->streams[i];
        s->sent_seq = s->next_seq; /* any of them may have been sent */
        if (s->torn)
            s->acked_seq = s->next_seq;
    }
    return true;
}

static uint64_t count_packets(struct window *w)
{
    uint64_t n = 0;
    for (uint64_t at = window_oldest(w); window_next(w, &at);)
        n++;
    return n;
}

static int window_map(struct window *w, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
    if (at == MAP_FAILED)
        return err_from_errno(errno);
    w->file = at;
    w->mapped = bytes;
    return 0;
}

/* Maps the window in the open file and reads it back. Whether it is complete, and of this run and trace. */
static bool window_adopt(struct window *w, const uint8_t run[16], const uint8_t uuid[16], uint64_t *left)
{
    struct stat st;
    if (fstat(w->fd, &st) != 0 || (size_t)st.st_size < sizeof(struct window_file) ||
        window_map(w, (size_t)st.st_size) != 0 || !w->file)
        return false;
    struct window_file *f = w->file;
    bool complete = f->magic == WINDOW_MAGIC && f->version == WINDOW_VERSION && f->capacity >= WINDOW_BYTES_MIN &&
                    f->capacity % WINDOW_ALIGN == 0 && f->capacity == (size_t)st.st_size - sizeof *f && recover(w);
    if (complete && memcmp(f->run, run, 16) == 0 && memcmp(f->uuid, uuid, 16) == 0)
        return true;
    *left = complete ? count_packets(w) : 0;
    munmap(w->file, w->mapped);
    w->file = NULL;
    return false;
}

static int window_create(struct window *w, const uint8_t run[16], const uint8_t uuid[16], uint64_t bytes)
{
    uint64_t capacity = (bytes + 4095) & ~UINT64_C(4095);
    size_t total = sizeof(struct window_file) + capacity;
    if (ftruncate(w->fd, 0) != 0 || ftruncate(w->fd, (off_t)total) != 0)
        return err_from_errno(errno);
    if ((errno = posix_fallocate(w->fd, 0, (off_t)total)) != 0)
        return err_from_errno(errno);
    int err = window_map(w, total);
    if (!w->file)
        return err;
    memset(w->streams, 0, sizeof w->streams); /* recover() may have filled them */
    w->records = 0;
    w->created = true;
    w->file->version = WINDOW_VERSION;
    w->file->next_stream_id = 1;
    w->file->capacity = capacity;
    memcpy(w->file->run, run, 16);
    memcpy(w->file->uuid, uuid, 16);
    atomic_signal_fence(memory_order_seq_cst); /* a kill before the magic leaves no window */
    w->file->magic = WINDOW_MAGIC;
    return 0;
}

/*
 * The window is this user's alone: the daemon believes what stands in it, so that somebody else who wrote there would
 * write in the daemon's memory. A group's folder may have one of another user, of an earlier run: it is replaced.
 */
static int open_file(const struct folder *folder)
{
    struct stat st;
    int fd = folder_open_file(folder, WINDOW_NAME, O_RDWR | O_CREAT);
    bool foreign = fd < 0 ? errno == EACCES : fstat(fd, &st) != 0 || st.st_uid != geteuid();
    if (!foreign)
        return fd;
    if (fd >= 0)
        close(fd);
    if (unlinkat(folder->fd, WINDOW_NAME, 0) != 0)
        return -1;
    return folder_open_file(folder, WINDOW_NAME, O_RDWR | O_CREAT | O_EXCL);
}

int window_open(const struct folder *folder, const uint8_t run[16], const uint8_t uuid[16], uint64_t bytes,
                struct window **out, uint64_t *left)
{
    *left = 0;
    struct window *w = calloc(1, sizeof *w);
    if (!w)
        return BEZEL_ENOMEM;
    w->folder = folder;
    w->fd = open_file(folder);
    int err = w->fd < 0 ? err_from_errno(errno) : 0;
    if (!err)
        file_show(w->fd, folder->fd);
    if (!err && flock(w->fd, LOCK_EX | LOCK_NB) != 0)
        err = errno == EWOULDBLOCK ? BEZEL_EBUSY : err_from_errno(errno);
    if (!err && !window_adopt(w, run, uuid, left))
        err = window_create(w, run, uuid, bytes);
    if (err) {
        int saved = errno;
        if (w->fd >= 0)
            close(w->fd);
        free(w);
        errno = saved;
        return err;
    }
    window_enlist(w);
    *out = w;
    return 0;
}

void window_close(struct window *w, bool remove)
{
    if (!w)
        return;
    if (remove)
        unlinkat(w->folder->fd, WINDOW_NAME, 0);
    munmap(w->file, w->mapped);
    close(w->fd);
    free(w);
}

static void work_in(uint8_t uuid[16], uint32_t birth)
{
    for (uint32_t i = 0; i < sizeof birth; i++)
        uuid[15 - i] ^= (uint8_t)(birth >> 8 * i);
}

bool window_trace(struct window *w, uint32_t birth, uint8_t uuid[16])
{
    bool created = w->created;
    if (created)
        w->file->birth = birth;
    w->created = false;
    work_in(uuid, w->file->birth);
    return created;
}

uint32_t window_birth(const struct window *w)
{
    return w->file->birth;
}

bool window_is_of(const char *dir, const uint8_t run[16], const uint8_t trace[16])
{
    uint8_t head[offsetof(struct window_file, freed)], uuid[16];
    uint64_t magic;
    uint32_t birth;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" WINDOW_NAME, dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool complete = fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head;
    if (fd >= 0)
        close(fd);
    if (!complete)
        return false;
    memcpy(&magic, head + offsetof(struct window_file, magic), sizeof magic);
    memcpy(uuid, head + offsetof(struct window_file, uuid), sizeof uuid);
    memcpy(&birth, head + offsetof(struct window_file, birth), sizeof birth);
    work_in(uuid, birth);
    return magic == WINDOW_MAGIC && memcmp(head + offsetof(struct window_file, run), run, 16) == 0 &&
           memcmp(uuid, trace, 16) == 0;
}
