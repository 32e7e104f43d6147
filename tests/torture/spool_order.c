// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Window and spool as one queue, through kills: a node that cuts faster than its collector takes, whose daemon is
 * killed and whose connections break at random. Every packet of every stream reaches the collector in order; none is
 * given back before it is acknowledged; what the window has no room for, the spool has.
 */
#include "base/clock.h"
#include "mdr/uplink/send_queue.h"
#include "sensor/external/external_internal.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"
#include "tests/lib/window_model.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAMS = 4 };

static const uint8_t run[16] = "this run", uuid[16] = "this trace";
static char dir[SCRATCH_PATH];
static uint64_t seed, writes_left;

/* What outlives the node: the collector's store, and the node's promises. */
static struct store {
    uint64_t next[STREAMS];           /* stored before it */
    struct window_stream at[STREAMS]; /* as the model has it there */
    uint64_t acked[STREAMS];          /* the node was told so */
    uint64_t cut[STREAMS];            /* the node cut so many, at least */
    uint64_t most_spooled, spool_full, restarts;
} * store;

ssize_t __real_pwritev64(int fd, const struct iovec *parts, int count, off64_t at);
ssize_t __wrap_pwritev64(int fd, const struct iovec *parts, int count, off64_t at);

/* The last write of a life does some of its work, from the front. */
ssize_t __wrap_pwritev64(int fd, const struct iovec *parts, int count, off64_t at)
{
    if (writes_left == 0 || --writes_left > 0)
        return __real_pwritev64(fd, parts, count, at);
    struct iovec part = {parts[0].iov_base, seed_next(&seed) % (parts[0].iov_len + 1)};
    (void)!__real_pwritev64(fd, count > 1 && seed_next(&seed) % 2 ? parts : &part, 1, at);
    _exit(0);
}

static struct external *open_node(void)
{
    struct external *x;
    struct external_options options = {.dir = dir, .batch = true, .window_bytes = WINDOW_BYTES_MIN};
    memcpy(options.run, run, 16);
    memcpy(options.uuid, uuid, 16);
    if (external_open(&options, &x) != 0)
        return NULL;
    struct window *w = external_window(x);
    for (uint32_t i = 0; i < STREAMS; i++)
        if (window_find(w, i + 1, 0) < 0 && window_add_stream(w, i + 1, 0, i + 1, 0) < 0)
            return NULL;
    return x;
}

static int open_backlog(struct external *x, struct send_queue *b)
{
    struct uplink_source source = external_uplink(x);
    return send_queue_open(b, &source, dir, 2 * SPOOL_BYTES_MIN, 0);
}

static void must(bool holds, int code)
{
    if (!holds)
        _exit(code);
}

/* A connection: the collector says where it stands, and takes what comes; of each stream exactly the next. */
static void welcome(struct send_queue *b)
{
    for (uint32_t i = 0; i < STREAMS; i++) {
        int n = window_find(b->window, i + 1, 0);
        struct window_stream *s = window_stream(b->window, (uint32_t)n);
        must(store->next[i] <= s->sent_seq, 11); /* what is stored was sent */
        must(store->acked[i] >= s->acked_seq, 12);
        window_acknowledge(b->window, (uint32_t)n, store->next[i]);
        store->acked[i] = store->next[i];
    }
    send_queue_rewind(b);
}

static void take(struct send_queue *b, int64_t now)
{
    static uint8_t expected[WINDOW_PACKET_BYTES];
    struct send_queue_packet p;
    if (!send_queue_next(b, &p, now))
        return;
    uint32_t i = (uint32_t)p.header.instance - 1;
    must(i < STREAMS && p.header.seq == store->next[i], 13); /* in order, none missing, none twice */
    struct packet_header h = model_next(&store->at[i]);
    packet_put_header(expected, &h);
    must(p.bytes == h.size_bytes && memcmp(expected, p.data, PACKET_HEADER_BYTES) == 0, 14);
    send_queue_sent(b, &p);
    store->at[i] = model_after(store->at[i], ++store->next[i]);
}

static void acknowledge(struct send_queue *b)
{
    uint32_t i = (uint32_t)(seed_next(&seed) % STREAMS);
    store->acked[i] = store->next[i];
    window_acknowledge(b->window, (uint32_t)window_find(b->window, i + 1, 0), store->next[i]);
}

static void live(uint64_t writes, uint64_t steps)
{
    struct send_queue b;
    struct external *x = open_node();
    must(x != NULL, 1);
    writes_left = writes;
    must(open_backlog(x, &b) == 0, 2);
    must(!b.damaged, 3);
    for (uint32_t i = 0; i < STREAMS; i++) {
        int n = window_find(b.window, i + 1, 0);
        must(window_stream(b.window, (uint32_t)n)->next_seq >= store->cut[i],
             4); /* nothing that was cut is forgotten */
    }
    welcome(&b);
    bool drains = seed_next(&seed) % 3 == 0;
    for (uint64_t step = 0; step < steps; step++) {
        int64_t now = (int64_t)step * CLOCK_MS;
        for (uint64_t n = drains ? 0 : seed_next(&seed) % 4; n > 0; n--) {
            uint32_t i = (uint32_t)(seed_next(&seed) % STREAMS);
            int stream = window_find(b.window, i + 1, 0);
            if (model_cut(b.window, (uint32_t)stream))
                store->cut[i] = window_stream(b.window, (uint32_t)stream)->next_seq;
        }
        send_queue_free(&b, now);
        for (uint64_t n = seed_next(&seed) % (drains ? 8 : 3); n > 0; n--)
            take(&b, now);
        if (seed_next(&seed) % 4 == 0)
            acknowledge(&b);
        if (seed_next(&seed) % 50 == 0)
            welcome(&b);
        send_queue_move(&b, now);
        uint64_t spooled = send_queue_spooled(&b);
        must(spooled <= 2 * SPOOL_BYTES_MIN, 5);
        store->most_spooled = spooled > store->most_spooled ? spooled : store->most_spooled;
        store->spool_full += x->spool_full;
    }
    _exit(0);
}

static void drain(void)
{
    struct send_queue b;
    struct external *x = open_node();
    assert_non_null(x);
    assert_int_equal(open_backlog(x, &b), 0);
    welcome(&b);
    for (int64_t now = 0; send_queue_waiting(&b) > 0; now += CLOCK_MS) {
        assert_true(now < 100000 * CLOCK_MS);
        for (int i = 0; i < 100; i++)
            take(&b, now);
        for (uint32_t i = 0; i < STREAMS; i++) {
            store->acked[i] = store->next[i];
            window_acknowledge(b.window, (uint32_t)window_find(b.window, i + 1, 0), store->next[i]);
        }
        send_queue_free(&b, now);
    }
    for (uint32_t i = 0; i < STREAMS; i++) {
        int n = window_find(b.window, i + 1, 0);
        assert_int_equal(window_stream(b.window, (uint32_t)n)->next_seq, store->next[i]);
        assert_true(store->next[i] >= store->cut[i]);
    }
    char path[128];
    snprintf(path, sizeof path, "%s", spool_path(b.spool));
    send_queue_close(&b, false);
    assert_int_equal(access(path, F_OK), -1); /* an empty one goes */
    external_close(x, false);
}

TEST(every_packet_goes_up_in_order_whatever_is_killed)
{
    int restarts = getenv("BEZEL_TEST_LIGHT") ? 30 : 300;
    store = mmap(NULL, sizeof *store, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    scratch_make(dir);
    for (uint32_t i = 0; i < STREAMS; i++)
        store->at[i] = (struct window_stream){.instance = i + 1, .stream_id = i + 1};
    for (int i = 0; i < restarts; i++) {
        uint64_t writes = seed_next(&seed) % 3 ? 1 + seed_next(&seed) % 400 : 0, steps = 1 + seed_next(&seed) % 2000;
        pid_t pid = fork();
        if (pid == 0)
            live(writes, steps);
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        if (i % 20 == 19)
            drain();
    }
    drain();
    uint64_t sum = 0;
    for (uint32_t i = 0; i < STREAMS; i++)
        sum += store->next[i];
    printf("%d lives, %llu packets, at most %llu bytes spooled, full for %llu steps\n", restarts,
           (unsigned long long)sum, (unsigned long long)store->most_spooled, (unsigned long long)store->spool_full);
    assert_true(store->most_spooled > SPOOL_BYTES_MIN);
    assert_true(store->spool_full > 0);
    scratch_remove(dir);
    munmap(store, sizeof *store);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
