// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/shm/segment_create.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Reserving memory for bytes of a segment, on a file system that may be full: by fallocate(), which needs the
 * descriptor; if that is closed or fails, by madvise(MADV_POPULATE_WRITE); if that fails too, by writing.
 */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older ones refuse it */
#endif

enum { RESERVE_INTERRUPTS = 64 }; /* tries: a signal undoes a fallocate() of tmpfs */

/* Keeps the file's size: the program may just now close the descriptor, and reuse its number for another file. */
static int allocate(int fd, uint64_t offset, uint64_t bytes)
{
    int tries = RESERVE_INTERRUPTS;
    while (fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes) != 0)
        if (errno != EINTR || --tries == 0)
            return err_from_errno(errno);
    return 0;
}

enum { MADV_INVALID = 0x7fff };

/* Whether madvise() accepts an invalid advice, as under qemu-user, which ignores any advice without an error. */
static bool takes_every_advice(void *page, size_t bytes)
{
    return madvise(page, bytes, MADV_INVALID) == 0;
}

/* Lets the kernel touch the pages: without room this fails, while touching them ourselves would end the program. */
static int populate(const struct segment_owned *own, uint64_t offset, uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = offset & ~(page - 1);
    char *at = (char *)own->segment + first;
    if (takes_every_advice(at, page))
        return BEZEL_EINVAL;
    if (madvise(at, offset - first + bytes, MADV_POPULATE_WRITE) == 0)
        return 0;
    return errno == EFAULT ? BEZEL_ENOSPC : err_from_errno(errno);
}

/* For file systems without fallocate() under kernels without MADV_POPULATE_WRITE: writes the bytes over themselves. */
static int write_over(const struct segment_owned *own, uint64_t offset, uint64_t bytes)
{
    char part[512];
    for (uint64_t done = 0; done < bytes;) {
        size_t n = bytes - done < sizeof part ? (size_t)(bytes - done) : sizeof part;
        ssize_t r = pread(own->fd, part, n, (off_t)(offset + done));
        ssize_t w = r > 0 ? pwrite(own->fd, part, (size_t)r, (off_t)(offset + done)) : r;
        if (w == 0 || (w < 0 && errno != EINTR))
            return w < 0 ? err_from_errno(errno) : BEZEL_ESYS;
        done += w > 0 ? (uint64_t)w : 0;
    }
    return 0;
}

static bool is_full(int err)
{
    return err == BEZEL_ENOSPC || err == BEZEL_ENOMEM;
}

int segment_reserve(const struct segment_owned *own, uint64_t offset, uint64_t bytes)
{
    int cancel, saved = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    bool held = segment_holds_fd(own);
    int err = held ? allocate(own->fd, offset, bytes) : BEZEL_ESYS;
    if (err && !is_full(err))
        err = populate(own, offset, bytes);
    if (err && !is_full(err) && held)
        err = write_over(own, offset, bytes);
    pthread_setcancelstate(cancel, &cancel);
    errno = saved;
    return err;
}

int segment_lock(const struct segment_owned *own, uint64_t offset, uint64_t bytes)
{
    int saved = errno;
    int err = mlock((char *)own->segment + offset, bytes) == 0 ? 0 : err_from_errno(errno);
    errno = saved;
    return err;
}
