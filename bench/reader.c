// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

#include "bench/reader.h"

#include "base/clock.h"
#include "bench/batch.h"
#include "bench/record.h"
#include "resmgr/pace/gap.h"
#include "sensor/external/external.h"

#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PERIOD_NS = 1000000, FINISH_S = 10, ASPECTS = 32 /* more than a benchmark declares */ };

/* Between this process and its reader. */
struct control {
    _Atomic bool busy, ready;
};

static struct control *control;
static pid_t reader;
static const struct segment *own;

/* ---- The reader's process ---------------------------------------------------------------------------------------- */

static void acknowledge_all(struct window *w)
{
    uint64_t at = window_oldest(w);
    struct packet_header h;
    for (struct window_packet *p; (p = window_next(w, &at)) != NULL;)
        if (packet_get_header(p->data, p->bytes, &h) == 0)
            window_acknowledge(w, p->stream, h.seq + 1);
    window_free_each(w, NULL, NULL);
}

/* A busy reader leaves the gaps of a bezeld that waits busily. */
static void read_for_ever(struct external *x)
{
    int64_t housekeep = 0, gap = 0;
    for (int64_t due = clock_now();;) {
        int64_t now = clock_now();
        external_poll(x, now);
        if (now >= housekeep) {
            external_housekeep(x, now);
            housekeep = now + 20 * CLOCK_MS;
        }
        acknowledge_all(external_window(x));
        if (atomic_load(&control->busy)) {
            gap = gap_next(gap, external_fill(x), 0, gap_spin_longest(0));
            clock_spin_until(now + gap);
        } else {
            due = due + PERIOD_NS > now ? due + PERIOD_NS : now + PERIOD_NS;
            clock_sleep_until(due);
        }
    }
}

static void be_reader(pid_t parent)
{
    struct external_options options = {
        .dir = getenv("BEZEL_DIR"), .run = {0x62}, .window_bytes = 16 << 20, .batch = true, .take_all = true};
    struct external *x;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    bench_place(BENCH_READER);
    int err = external_open(&options, &x);
    if (err != 0) {
        bench_say("the reader cannot start in %s: %s", options.dir, err_text(err));
        _exit(1);
    }
    atomic_store(&control->ready, true);
    read_for_ever(x);
}

/* ---- The writer's side ------------------------------------------------------------------------------------------- */

/* The segment of this process, by its number. */
static const struct segment *find_own(void)
{
    char pattern[4096];
    glob_t found;
    const struct segment *mine = NULL;
    snprintf(pattern, sizeof pattern, "%s/*" SEGMENT_SUFFIX, getenv("BEZEL_DIR"));
    if (glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = 0; i < found.gl_pathc && !mine; i++) {
        struct stat st;
        int fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) != 0)
            continue;
        void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        close(fd);
        if (at != MAP_FAILED && ((const struct segment *)at)->pid == (uint32_t)getpid())
            mine = at;
        else if (at != MAP_FAILED)
            munmap(at, (size_t)st.st_size);
    }
    globfree(&found);
    return mine;
}

static const struct bezel_ring *own_ring(uint32_t i)
{
    return (const struct bezel_ring *)((const char *)own + own->ring_offset + i * own->ring_stride);
}

/* Whether the ring of this thread, the first, has counted an attempt: then records are enabled. */
static bool recording(void)
{
    uint64_t attempts = 0;
    bezel_record(bench_two, 0, 0);
    for (uint32_t id = 1; id < ASPECTS; id++)
        attempts += bezel_tally_get(&own_ring(0)->attempts[id]);
    return attempts > 0;
}

int reader_start(void)
{
    pid_t self = getpid();
    control = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (control == MAP_FAILED || (reader = fork()) < 0)
        return bench_say("no memory or process for the reader"), -1;
    if (reader == 0)
        be_reader(self);
    bench_place(BENCH_WRITER);
    int64_t deadline = clock_now() + FINISH_S * CLOCK_S;
    while (!atomic_load(&control->ready))
        if (clock_now() > deadline || waitpid(reader, NULL, WNOHANG) != 0)
            return bench_say("the reader does not start"), -1;
    if (bezel_thread_init(0) != 0 || !(own = find_own()))
        return bench_say("this process has no segment or no ring"), -1;
    while (!recording()) {
        if (clock_now() > deadline)
            return bench_say("the reader does not enable this process's records"), -1;
        clock_sleep_until(clock_now() + CLOCK_MS);
    }
    reader_let_drain();
    return 0;
}

void reader_stop(void)
{
    if (reader > 0 && kill(reader, SIGKILL) == 0)
        waitpid(reader, NULL, 0);
    reader = 0;
}

void reader_busy(bool busy)
{
    atomic_store(&control->busy, busy);
    reader_let_drain();
}

/* Whether ring `r` is or was a thread's: then it has memory. */
static bool is_used(uint32_t r)
{
    uint32_t state = atomic_load_explicit(&own->ring_state[r], memory_order_acquire);
    return state == SEGMENT_RING_OWNED || state == SEGMENT_RING_RELEASED;
}

static bool drained(void)
{
    for (uint32_t r = 0; own && r < own->ring_max; r++)
        if (is_used(r) && __atomic_load_n(&own_ring(r)->head, __ATOMIC_RELAXED) !=
                              __atomic_load_n(&own_ring(r)->tail, __ATOMIC_RELAXED))
            return own->when_full == SEGMENT_OVERWRITE;
    return true;
}

void reader_let_drain(void)
{
    bench_spin(PERIOD_NS);
    for (int i = 0; i < 1000 && !drained(); i++)
        bench_spin(PERIOD_NS / 10);
}

uint64_t reader_dropped(void)
{
    uint64_t n = 0;
    for (uint32_t r = 0; own && r < own->ring_max; r++)
        for (uint32_t id = 1; id < ASPECTS && is_used(r); id++)
            n += bezel_tally_get(&own_ring(r)->full[id]);
    return n;
}

enum segment_clock reader_clock(void)
{
    return (enum segment_clock)own->clock;
}
