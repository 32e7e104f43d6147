// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/uplink/direct_internal.h"
#include "mdr/uplink/window_internal.h"

#include "base/clock.h"
#include "base/sigbus_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct direct_reader {
    struct direct_page *page;
    const struct window_file *window;
    size_t window_bytes; /* of its mapping */
    int page_guard, window_guard, bell;
    uint64_t proof, capacity; /* as they were checked */
    uint64_t from;            /* the offer that is read, with its tag; 0: none */
    uint64_t at;              /* position of the next packet */
    uint64_t offered, said, low, low_offered;
    uint8_t *bytes; /* copied from position `copied_from` on */
    uint64_t copied_from, copied_to;
    bool acknowledges, asleep;
    uint32_t unread; /* waits behind which the bell was not read */
    uint32_t found;  /* how many looks in a row found packets, up to FOUND_OFTEN */
    uint64_t next;   /* as it was offered */
};

#define BEHIND_NEXT  (50 * (uint64_t)CLOCK_US) /* from the begin of a poll until its packets are offered */
#define NEXT_IS_SOON (10 * (uint64_t)CLOCK_MS)
#define LOOK_AGAIN   (10 * CLOCK_MS) /* where a packet waits that cannot be taken now */

enum { FOUND_OFTEN = 4 };

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static BEZEL_PRINTF(3, 4) int refuse(char why[DIRECT_WHY_MAX], int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, DIRECT_WHY_MAX, format, args);
    va_end(args);
    return err;
}

/* The length of a file; 0: it has none, or cannot be looked at. */
static size_t bytes_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_size > 0 ? (size_t)st.st_size : 0;
}

/* A guarded mapping of a file's first bytes; NULL, or guard -1, where that cannot be. */
static void *map(int fd, size_t bytes, int access, int *guard)
{
    void *at = mmap(NULL, bytes, access, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return NULL;
    *guard = sigbus_guard_add(at, bytes);
    return at;
}

static void unmap(const void *at, size_t bytes, int guard)
{
    sigbus_guard_remove(guard);
    if (at)
        munmap((void *)at, bytes);
}

static int open_page(struct direct_reader *r, const struct folder *f, const uint8_t run[16], const uint8_t uuid[16],
                     uint64_t proof, char why[DIRECT_WHY_MAX])
{
    int fd = folder_open_file(f, DIRECT_NAME, O_RDWR);
    if (fd < 0)
        return refuse(why, err_from_errno(errno), "%.100s/" DIRECT_NAME " cannot be opened: %s", f->path,
                      strerror(errno));
    if (bytes_of(fd) >= sizeof *r->page)
        r->page = map(fd, sizeof *r->page, PROT_READ | PROT_WRITE, &r->page_guard);
    close(fd);
    if (!r->page || r->page_guard < 0)
        return refuse(why, BEZEL_EMALFORMED, "%.100s/" DIRECT_NAME " cannot be mapped", f->path);
    if (r->page->magic != DIRECT_MAGIC || r->page->proof != proof || memcmp(r->page->run, run, 16) != 0 ||
        memcmp(r->page->uuid, uuid, 16) != 0)
        return refuse(why, BEZEL_EMALFORMED, "%.100s/" DIRECT_NAME " is of another sender or machine", f->path);
    r->proof = proof;
    return 0;
}

static int open_window(struct direct_reader *r, const struct folder *f, const uint8_t run[16], char why[DIRECT_WHY_MAX])
{
    int fd = folder_open_file(f, WINDOW_NAME, O_RDONLY);
    if (fd < 0)
        return refuse(why, err_from_errno(errno), "%.100s/" WINDOW_NAME " cannot be opened: %s", f->path,
                      strerror(errno));
    r->window_bytes = bytes_of(fd);
    if (r->window_bytes > sizeof *r->window)
        r->window = map(fd, r->window_bytes, PROT_READ, &r->window_guard);
    close(fd);
    if (!r->window || r->window_guard < 0)
        return refuse(why, BEZEL_EMALFORMED, "%.100s/" WINDOW_NAME " cannot be mapped", f->path);
    r->capacity = r->window->capacity;
    if (r->window->magic != WINDOW_MAGIC || r->window->version != WINDOW_VERSION ||
        memcmp(r->window->run, run, sizeof r->window->run) != 0 || r->capacity < WINDOW_BYTES_MIN ||
        r->capacity % WINDOW_ALIGN != 0 || r->capacity != r->window_bytes - sizeof *r->window)
        return refuse(why, BEZEL_EMALFORMED, "%.100s/" WINDOW_NAME " is of another run or version", f->path);
    return 0;
}

static int open_bell(struct direct_reader *r, const struct folder *f, char why[DIRECT_WHY_MAX])
{
    struct stat st;
    /* For writing too, so that it has a writer: a pipe without one would end each wait at once. */
    r->bell = openat(f->fd, DIRECT_BELL_NAME, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (r->bell >= 0 && fstat(r->bell, &st) == 0 && S_ISFIFO(st.st_mode))
        return 0;
    return refuse(why, BEZEL_EPERM, "%.100s/" DIRECT_BELL_NAME " cannot be opened", f->path);
}

int direct_reader_open(const char *dir, const uint8_t run[16], const uint8_t uuid[16], uint64_t proof,
                       struct direct_reader **out, char why[DIRECT_WHY_MAX])
{
    struct folder f;
    struct direct_reader *r = calloc(1, sizeof *r);
    *out = NULL;
    why[0] = '\0';
    if (!r)
        return refuse(why, BEZEL_ENOMEM, "no memory");
    r->page_guard = r->window_guard = r->bell = -1;
    sigbus_guard_init();
    r->bytes = malloc(DIRECT_FILL);
    int err = r->bytes ? 0 : refuse(why, BEZEL_ENOMEM, "no memory");
    if (!err && (err = folder_open(dir, &f)) != 0)
        (void)refuse(why, err, "%.100s %.80s", dir, f.why[0] ? f.why : err_text(err));
    if (!err) {
        err = open_page(r, &f, run, uuid, proof, why);
        if (!err)
            err = open_window(r, &f, run, why);
        if (!err)
            err = open_bell(r, &f, why);
        folder_close(&f);
    }
    if (err)
        direct_reader_close(r);
    else
        *out = r;
    return err;
}

void direct_reader_close(struct direct_reader *r)
{
    if (!r)
        return;
    unmap(r->page, sizeof *r->page, r->page_guard);
    unmap(r->window, r->window_bytes, r->window_guard);
    if (r->bell >= 0)
        close(r->bell);
    free(r->bytes);
    free(r);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static uint64_t tag_of(uint64_t word)
{
    return word % DIRECT_TAGS;
}

/* Reads what is offered now. False: nothing is, or it is just being changed. */
static bool read_offer(struct direct_reader *r)
{
    const struct direct_page *p = r->page;
    uint64_t from = atomic_load_explicit(&p->from, memory_order_acquire); /* X1 acquire: pairs X0 */
    uint64_t low = atomic_load_explicit(&p->low, memory_order_acquire);   /* X5 acquire: pairs X4 */
    uint64_t to = atomic_load_explicit(&p->to, memory_order_acquire);     /* X3 acquire: pairs X2 */
    if (tag_of(from) == 0 || tag_of(to) != tag_of(from) || tag_of(low) != tag_of(from))
        return false;
    if (from != r->from) {
        r->from = from;
        r->at = r->copied_from = r->copied_to = from - tag_of(from);
        r->low = 0;
    }
    r->offered = to - tag_of(to);
    r->said = atomic_load_explicit(&p->said, memory_order_relaxed); /* relaxed: X3 ordered it */
    r->next = atomic_load_explicit(&p->next, memory_order_relaxed); /* relaxed: X3 ordered it */
    r->low_offered = low / DIRECT_TAGS;
    return true;
}

/*
 * Whether the offer is still the one that was read. If so, whoever ends it now sees that the bytes are copied, before
 * it uses their room again.
 */
static bool is_offered(const struct direct_reader *r)
{
    return atomic_fetch_or_explicit(&r->page->from, 0, memory_order_acq_rel) == r->from; /* X9 acq_rel: pairs X9 */
}

/* Whether the window still has the bytes from `at` on: another process that owns it by now may have freed them. */
static bool is_there(const struct direct_reader *r, uint64_t at)
{
    atomic_thread_fence(memory_order_acquire); /* W3 acquire: pairs W2, between the copy and this look */
    return atomic_load_explicit(&r->window->freed, memory_order_relaxed) <= at; /* relaxed: W3 ordered it */
}

static bool is_position(uint64_t position)
{
    return position % WINDOW_ALIGN == 0 && position <= INT64_MAX;
}

/* Copies from r->at on, up to where the window's memory ends. */
static int copy(struct direct_reader *r)
{
    uint64_t to_end = r->capacity - r->at % r->capacity, n = r->offered - r->at;
    n = n < to_end ? n : to_end;
    n = n < DIRECT_FILL ? n : DIRECT_FILL;
    memcpy(r->bytes, r->window->bytes + r->at % r->capacity, (size_t)n);
    if (sigbus_guard_hit(r->window_guard)) /* it was truncated */
        return BEZEL_EMALFORMED;
    if (!is_offered(r)) /* its end came meanwhile */
        return 0;
    if (!is_there(r, r->at)) /* another process owns the window now: it says from where to go on */
        return BEZEL_EMALFORMED;
    r->copied_from = r->at;
    r->copied_to = r->at + n;
    return 0;
}

int direct_reader_fill(struct direct_reader *r)
{
    if (r->at < r->copied_to)
        return 0;
    bool offered = read_offer(r);
    if (sigbus_guard_hit(r->page_guard))
        return BEZEL_EMALFORMED;
    if (!offered)
        return 0;
    if (!is_position(r->at) || !is_position(r->offered) || r->offered < r->at || r->offered - r->at > r->capacity)
        return BEZEL_EMALFORMED;
    if (r->offered == r->at) {
        r->low = r->low_offered;
        r->found = 0;
        return 0;
    }
    r->found += r->found < FOUND_OFTEN;
    return copy(r);
}

int direct_reader_look(struct direct_reader *r, struct direct_packet *out)
{
    for (; r->at < r->copied_to;) {
        struct window_packet p;
        uint64_t left = r->copied_to - r->at, to_end = r->capacity - r->at % r->capacity;
        if (left < sizeof p)
            return BEZEL_EMALFORMED;
        const uint8_t *at = r->bytes + (r->at - r->copied_from);
        memcpy(&p, at, sizeof p);
        if (p.bytes == 0 && to_end <= r->offered - r->at) { /* filler */
            r->at += to_end;
            continue;
        }
        uint64_t span = packet_span(p.bytes);
        if (p.bytes == 0 || p.bytes > WINDOW_PACKET_BYTES || span > to_end || p.stream >= WINDOW_STREAMS)
            return BEZEL_EMALFORMED;
        if (span > left && r->copied_to < r->offered && r->at > r->copied_from) { /* it was copied in part */
            r->copied_to = r->at;
            return 0;
        }
        if (span > left)
            return BEZEL_EMALFORMED;
        *out = (struct direct_packet){at + sizeof p, p.bytes, p.stream};
        return 1;
    }
    return 0;
}

void direct_reader_take(struct direct_reader *r)
{
    struct window_packet p;
    memcpy(&p, r->bytes + (r->at - r->copied_from), sizeof p);
    r->at += packet_span(p.bytes);
    if (r->at == r->offered)
        r->low = r->low_offered;
}

uint64_t direct_reader_said(const struct direct_reader *r)
{
    return r->said;
}

int64_t direct_reader_low(const struct direct_reader *r)
{
    return r->low <= INT64_MAX ? (int64_t)r->low : 0;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

void direct_reader_acknowledge(struct direct_reader *r, uint32_t stream, uint64_t next_seq)
{
    atomic_store_explicit(&r->page->acks[stream], direct_ack(r->proof, stream, next_seq),
                          memory_order_relaxed); /* relaxed: X8 publishes it */
    r->acknowledges = true;
}

void direct_reader_acknowledged(struct direct_reader *r)
{
    if (r->acknowledges)
        atomic_fetch_add_explicit(&r->page->turn, 1, memory_order_release); /* X8 release: pairs X7, the acks */
    r->acknowledges = false;
}

bool direct_reader_may_sleep(struct direct_reader *r)
{
    if (r->at < r->copied_to)
        return false;
    r->asleep = true;
    atomic_exchange_explicit(&r->page->asleep, 1, memory_order_acq_rel); /* X6 acq_rel: pairs X6, before the look */
    return !read_offer(r) || (r->offered == r->at && r->low == r->low_offered);
}

/* How long until a look behind the sender's next poll, which is to find packets; 0: none is expected. */
static int64_t until_next(const struct direct_reader *r)
{
    if (r->found < FOUND_OFTEN || r->at < r->copied_to)
        return 0;
    uint64_t ahead = r->next + BEHIND_NEXT - (uint64_t)clock_now(); /* the sender may say anything */
    return ahead <= NEXT_IS_SOON ? (int64_t)ahead : 0;
}

int64_t direct_reader_sleep(struct direct_reader *r, bool waits, int *fd, int64_t most)
{
    int64_t ahead = waits ? LOOK_AGAIN : until_next(r);
    *fd = ahead > 0 ? -1 : r->bell;
    if (ahead > 0)
        return ahead < most ? ahead : most;
    return direct_reader_may_sleep(r) ? most : 0;
}

int direct_reader_bell(const struct direct_reader *r)
{
    return r->bell;
}

/*
 * A sender that has cleared `asleep` has rung. Its byte may come a moment later than this looks, and a hostile sender
 * may write any number at any time: such bytes end further waits at once, of which each 16th reads some.
 */
void direct_reader_awake(struct direct_reader *r)
{
    uint8_t bytes[PIPE_BUF];
    if (!r->asleep)
        return;
    r->asleep = false;
    bool rung = !atomic_exchange_explicit(&r->page->asleep, 0, memory_order_relaxed); /* relaxed: only a byte follows */
    if (!rung && ++r->unread % 16 != 0)
        return;
    (void)!read(r->bell, bytes, sizeof bytes); /* once: who writes faster would hold this up for ever */
}
