// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/uplink/direct_internal.h"

#include "base/file.h"
#include "base/sigbus_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* A new file, and not the one of a predecessor: a receiver may still have that mapped. */
static int make_page(struct direct_offer *o, const struct folder *folder, const uint8_t run[16], const uint8_t uuid[16])
{
    if (unlinkat(folder->fd, DIRECT_NAME, 0) != 0 && errno != ENOENT)
        return err_from_errno(errno);
    int fd = folder_open_file(folder, DIRECT_NAME, O_RDWR | O_CREAT | O_EXCL);
    if (fd < 0)
        return err_from_errno(errno);
    file_share(fd, folder->fd);
    void *at = MAP_FAILED;
    int sys =
        posix_fallocate(fd, 0, sizeof(struct direct_page)); /* touching a sparse page of a full tmpfs would kill */
    if (sys == 0)
        at = mmap(NULL, sizeof(struct direct_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED && sys == 0)
        sys = errno;
    close(fd);
    if (at == MAP_FAILED) {
        unlinkat(folder->fd, DIRECT_NAME, 0);
        return errno = sys, err_from_errno(sys);
    }
    o->page = at;
    o->guard = sigbus_guard_add(at, sizeof *o->page);
    if (o->guard < 0)
        return errno = ENOMEM, BEZEL_ENOMEM;
    memcpy(o->page->run, run, sizeof o->page->run);
    memcpy(o->page->uuid, uuid, sizeof o->page->uuid);
    if (getrandom(&o->page->proof, sizeof o->page->proof, 0) != sizeof o->page->proof)
        return BEZEL_ESYS;
    o->proof = o->page->proof;
    o->page->magic = DIRECT_MAGIC;
    return 0;
}

static int make_bell(struct direct_offer *o, const struct folder *folder)
{
    struct stat st;
    if (unlinkat(folder->fd, DIRECT_BELL_NAME, 0) != 0 && errno != ENOENT)
        return err_from_errno(errno);
    if (mkfifoat(folder->fd, DIRECT_BELL_NAME, 0600) != 0)
        return err_from_errno(errno);
    o->bell = openat(folder->fd, DIRECT_BELL_NAME, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (o->bell < 0)
        return err_from_errno(errno);
    if (fstat(o->bell, &st) != 0 || !S_ISFIFO(st.st_mode))
        return BEZEL_EPERM;
    file_share(o->bell, folder->fd);
    return 0;
}

int direct_offer_open(struct direct_offer *o, const char *dir, const uint8_t run[16], const uint8_t uuid[16])
{
    struct folder folder;
    *o = (struct direct_offer){.dir = dir, .bell = -1, .guard = -1};
    sigbus_guard_init();
    int err = folder_open(dir, &folder);
    if (!err)
        err = make_page(o, &folder, run, uuid);
    if (!err)
        err = make_bell(o, &folder);
    folder_close(&folder);
    if (err) {
        int saved = errno;
        direct_offer_close(o);
        errno = saved;
    }
    return err;
}

void direct_offer_close(struct direct_offer *o)
{
    struct folder folder;
    if (o->dir && (o->page || o->bell >= 0) && folder_open(o->dir, &folder) == 0) {
        unlinkat(folder.fd, DIRECT_NAME, 0);
        unlinkat(folder.fd, DIRECT_BELL_NAME, 0);
        folder_close(&folder);
    }
    if (o->page) {
        sigbus_guard_remove(o->guard);
        munmap(o->page, sizeof *o->page);
    }
    if (o->bell >= 0)
        close(o->bell);
    *o = (struct direct_offer){.bell = -1, .guard = -1};
}

/* A reader that sees `from` sees the other words as they are here, or later; and words of an older tag are not its. */
void direct_offer_begin(struct direct_offer *o, uint64_t from)
{
    struct direct_page *p = o->page;
    o->tag = o->tag % (DIRECT_TAGS - 1) + 1;
    o->low = o->tag;
    o->from = o->to = from | o->tag;
    atomic_exchange_explicit(&p->from, 0, memory_order_acq_rel); /* X9 acq_rel: pairs X9, before room is used again */
    if (from == UINT64_MAX)
        return;
    atomic_store_explicit(&p->low, o->low, memory_order_relaxed);   /* relaxed: X0 publishes it */
    atomic_store_explicit(&p->to, o->to, memory_order_relaxed);     /* relaxed: likewise */
    atomic_store_explicit(&p->from, o->from, memory_order_release); /* X0 release: pairs X1, to and low */
}

static void wake(struct direct_offer *o)
{
    ssize_t n;
    if (!atomic_exchange_explicit(&o->page->asleep, 0, memory_order_acq_rel)) /* X6 acq_rel: pairs X6, after X2 */
        return;
    do
        n = write(o->bell, "", 1);
    while (n < 0 && errno == EINTR); /* EAGAIN: it is full of bytes that wake, too */
}

void direct_offer_up_to(struct direct_offer *o, uint64_t to, int64_t low)
{
    o->to = to | o->tag;
    atomic_store_explicit(&o->page->to, o->to, memory_order_release); /* X2 release: pairs X3, the packets before it */
    if (low > 0 && low < INT64_MAX / DIRECT_TAGS) {
        o->low = (uint64_t)low * DIRECT_TAGS | o->tag;
        atomic_store_explicit(&o->page->low, o->low, memory_order_release); /* X4 release: pairs X5, after X2 */
    }
    wake(o);
}

void direct_offer_said(struct direct_offer *o, uint64_t said)
{
    o->said = said;
    atomic_store_explicit(&o->page->said, said, memory_order_relaxed); /* relaxed: X2 publishes it */
}

void direct_offer_next(struct direct_offer *o, int64_t next)
{
    atomic_store_explicit(&o->page->next, (uint64_t)next, memory_order_relaxed); /* relaxed: X2 publishes it */
}

bool direct_offer_looks(struct direct_offer *o)
{
    uint32_t turn = atomic_load_explicit(&o->page->turn, memory_order_acquire); /* X7 acquire: pairs X8 */
    bool is = turn != o->turn;
    o->turn = turn;
    return is;
}

uint64_t direct_offer_acknowledged(const struct direct_offer *o, uint32_t stream)
{
    uint64_t word = atomic_load_explicit(&o->page->acks[stream], memory_order_relaxed); /* relaxed: X7 ordered it */
    uint64_t next_seq = word >> 24;
    return word == direct_ack(o->proof, stream, next_seq) ? next_seq : 0;
}

void direct_offer_forget(struct direct_offer *o, uint32_t stream)
{
    atomic_store_explicit(&o->page->acks[stream], 0, memory_order_relaxed); /* relaxed: X2 publishes it */
}

bool direct_offer_is_own(const struct direct_offer *o)
{
    const struct direct_page *p = o->page;
    return atomic_load_explicit(&p->from, memory_order_relaxed) == o->from && /* relaxed: our own */
           atomic_load_explicit(&p->to, memory_order_relaxed) == o->to &&     /* relaxed: likewise */
           atomic_load_explicit(&p->said, memory_order_relaxed) == o->said && /* relaxed: likewise */
           atomic_load_explicit(&p->low, memory_order_relaxed) == o->low;     /* relaxed: likewise */
}

bool direct_offer_is_broken(const struct direct_offer *o)
{
    return sigbus_guard_hit(o->guard);
}
