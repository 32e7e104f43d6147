// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/clock_client.h"

#include "base/clock.h"
#include "mdr/message.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/*
 * One thread asks, the owner takes samples. The link and the relation of the clocks are the thread's alone: neither
 * needs the lock. Between the two stand, under `lock`: what the owner wants (the endpoint and how often it was set,
 * `ends`, `at_once`), which `wake` announces, and the ring of samples, of which `count` may be read without the lock to
 * see that there is none. The lock is never held in a call of the link, so the owner, which polls rings, waits for a
 * few copies at most; clock_client_last() alone waits for the network.
 *
 * One question is under way at a time, and has a number. An answer counts only if it has that number, which goes up at
 * once: a late answer to an earlier question, or a second one, would make the way there look longer than it was.
 * Without an answer for ANSWER_MAX the question is asked again, under a new number; without any for DEAF_MAX the
 * connection is made anew. An answer by another clock, which its identity shows, begins a new relation. If the owner
 * takes no samples, the ring fills, and further ones are dropped: the relation has seen them all the same.
 */

#define ANSWER_MAX CLOCK_S       /* a question is repeated after it */
#define DEAF_MAX   (8 * CLOCK_S) /* without an answer: connects again */

struct clock_client {
    pthread_t thread;
    int wake; /* eventfd: the owner has changed something */
    const struct link_keys *keys;
    struct clock_keeping keeping;

    pthread_mutex_t lock; /* of all up to the next blank line */
    pthread_cond_t arrived;
    char endpoint[LINK_ENDPOINT_MAX];
    uint32_t connections; /* clock_client_connect() was called */
    uint64_t answers;
    bool ends, at_once;
    struct clock_client_sample samples[CLOCK_CLIENT_SAMPLES];
    uint32_t first;
    _Atomic uint32_t count; /* also read without the lock, to see that there is none */

    struct link *link; /* this and what follows is the thread's */
    uint32_t connected;
    uint64_t number; /* of the question that waits for its answer */
    int64_t sent, due, heard;
    struct clock_wall wall; /* when that question was sent */
    uint8_t identity[16];
    struct clock_relation relation;
    struct message message;
    uint8_t bytes[MESSAGE_CLOCK_BYTES];
};

/* ---- The thread -------------------------------------------------------------------------------------------------- */

static void connect_to(struct clock_client *c, const char *endpoint, int64_t now)
{
    link_close(c->link, 0);
    c->link = NULL;
    c->due = c->heard = now;
    if (*endpoint && link_connect(endpoint, LINK_FRAME_LEAST, 1, c->keys, &c->link) != 0)
        c->link = NULL;
}

/* Does what the owner wants. False: ends. */
static bool obey(struct clock_client *c, int64_t now)
{
    char endpoint[LINK_ENDPOINT_MAX];
    eventfd_t count;
    (void)eventfd_read(c->wake, &count);
    pthread_mutex_lock(&c->lock);
    bool ends = c->ends, moved = c->connections != c->connected;
    c->connected = c->connections;
    if (c->at_once)
        c->due = now;
    c->at_once = false;
    memcpy(endpoint, c->endpoint, sizeof endpoint);
    pthread_mutex_unlock(&c->lock);
    if (!ends && (moved || (*endpoint && now - c->heard > DEAF_MAX)))
        connect_to(c, endpoint, now);
    return !ends;
}

static void ask(struct clock_client *c)
{
    c->message.type = MESSAGE_CLOCK;
    c->message.clock = (struct message_clock){.number = ++c->number};
    int n = message_encode(&c->message, c->bytes, sizeof c->bytes);
    c->wall = clock_wall_read(&c->keeping);
    c->sent = clock_now();
    c->due = c->sent + ANSWER_MAX;
    if (n > 0)
        (void)!link_send(c->link, NULL, c->bytes, (size_t)n); /* what is lost is asked again */
}

/* The wall clock for the time of an exchange. If it was set meanwhile, that is within the error. */
static struct clock_wall wall_between(struct clock_wall before, struct clock_wall after)
{
    int64_t apart = before.ahead < after.ahead ? after.ahead - before.ahead : before.ahead - after.ahead;
    if (before.error <= 0 || after.error <= 0)
        return (struct clock_wall){.ahead = 0, .error = -1};
    return (struct clock_wall){.ahead = before.ahead,
                               .error = (before.error > after.error ? before.error : after.error) + apart};
}

static void keep(struct clock_client *c, const struct clock_client_sample *sample)
{
    uint32_t count = atomic_load_explicit(&c->count, memory_order_relaxed); /* relaxed: under the lock */
    if (count == CLOCK_CLIENT_SAMPLES)
        return;
    c->samples[(c->first + count) % CLOCK_CLIENT_SAMPLES] = *sample;
    atomic_store_explicit(&c->count, count + 1, memory_order_relaxed); /* relaxed: under the lock */
}

/* Takes an exchange into the relation. What is then known of it goes into `s`. */
static enum clock_news learn(struct clock_relation *r, struct clock_client_sample *s)
{
    struct clock_piece piece;
    uint64_t contradicted = r->contradicted;
    int64_t sent = s->x.sent + (s->x.received - s->x.sent) / 2, arrived = s->x.arrived;
    struct clock_reading expected = clock_relation_at(r, sent);
    enum clock_news news = clock_relation_add(r, &s->x);
    while (clock_relation_next(r, &piece))
        ;
    s->contradicted = r->contradicted != contradicted;
    s->jumped = news == CLOCK_JUMPED;
    s->step = s->jumped ? arrived + (s->x.answered - arrived) / 2 - expected.ns : 0;
    return news;
}

/* An answer to an earlier question, or to none, has another number. */
static void take(struct clock_client *c, const struct message_clock *m, int64_t received)
{
    const int64_t most = INT64_MAX;
    struct clock_client_sample s = {.x = {.sent = c->sent, .received = received, .peer = {m->ahead, m->error}}};
    if (m->number != c->number || m->arrived > (uint64_t)most || m->answered > (uint64_t)most)
        return;
    c->number++;
    if (memcmp(c->identity, m->identity, sizeof c->identity) != 0)
        clock_relation_init(&c->relation);
    memcpy(c->identity, m->identity, sizeof c->identity);
    memcpy(s.identity, m->identity, sizeof s.identity);
    s.x.arrived = (int64_t)m->arrived;
    s.x.answered = (int64_t)m->answered;
    s.x.own = wall_between(c->wall, clock_wall_read(&c->keeping));
    enum clock_news news = learn(&c->relation, &s);
    c->heard = received;
    c->due = received + clock_relation_wait(&c->relation, news);
    pthread_mutex_lock(&c->lock);
    c->answers++;
    if (news != CLOCK_NONSENSE)
        keep(c, &s);
    pthread_cond_signal(&c->arrived);
    pthread_mutex_unlock(&c->lock);
}

static void receive(struct clock_client *c)
{
    struct link_frame frame;
    while (c->link && link_receive(c->link, &frame) == 0) {
        int64_t received = clock_now();
        if (message_decode(frame.data, frame.size, &c->message) == 0 && c->message.type == MESSAGE_CLOCK)
            take(c, &c->message.clock, received);
        link_frame_free(&frame);
    }
}

static void *run(void *context)
{
    struct clock_client *c = context;
    for (int64_t now; obey(c, now = clock_now());) {
        if (c->link && now >= c->due)
            ask(c);
        int64_t left = c->due - clock_now();
        (void)link_wait(&c->link, 1, &c->wake, 1, !c->link ? -1 : left > 0 ? left : 0);
        receive(c);
    }
    link_close(c->link, 0);
    return NULL;
}

/* ---- The owner's side -------------------------------------------------------------------------------------------- */

int clock_client_open(const struct link_keys *keys, const struct clock_keeping *keeping, struct clock_client **out)
{
    pthread_condattr_t monotonic;
    struct clock_client *c = calloc(1, sizeof *c);
    if (!c)
        return BEZEL_ENOMEM;
    c->keys = keys;
    c->keeping = *keeping;
    clock_relation_init(&c->relation);
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&c->arrived, &monotonic);
    pthread_condattr_destroy(&monotonic);
    c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->wake >= 0 && (errno = link_thread(&c->thread, run, c)) == 0) {
        *out = c;
        return 0;
    }
    int err = err_from_errno(errno);
    if (c->wake >= 0)
        close(c->wake);
    free(c);
    return err;
}

void clock_client_close(struct clock_client *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->ends = true;
    pthread_mutex_unlock(&c->lock);
    (void)eventfd_write(c->wake, 1);
    pthread_join(c->thread, NULL);
    pthread_cond_destroy(&c->arrived);
    pthread_mutex_destroy(&c->lock);
    close(c->wake);
    free(c);
}

void clock_client_connect(struct clock_client *c, const char *endpoint)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    int n = snprintf(c->endpoint, sizeof c->endpoint, "%s", endpoint);
    if (n >= (int)sizeof c->endpoint)
        c->endpoint[0] = '\0';
    c->connections++;
    pthread_mutex_unlock(&c->lock);
    (void)eventfd_write(c->wake, 1);
}

bool clock_client_take(struct clock_client *c, struct clock_client_sample *sample)
{
    if (!c || atomic_load_explicit(&c->count, memory_order_relaxed) == 0) /* relaxed: the next look sees it */
        return false;
    pthread_mutex_lock(&c->lock);
    *sample = c->samples[c->first];
    c->first = (c->first + 1) % CLOCK_CLIENT_SAMPLES;
    atomic_fetch_sub_explicit(&c->count, 1, memory_order_relaxed); /* relaxed: under the lock */
    pthread_mutex_unlock(&c->lock);
    return true;
}

void clock_client_last(struct clock_client *c, int64_t timeout_ns)
{
    if (!c)
        return;
    int64_t until = clock_now() + timeout_ns;
    struct timespec deadline = {.tv_sec = until / CLOCK_S, .tv_nsec = until % CLOCK_S};
    pthread_mutex_lock(&c->lock);
    uint64_t before = c->answers;
    c->at_once = before > 0;
    (void)eventfd_write(c->wake, 1);
    while (before > 0 && c->answers == before && pthread_cond_timedwait(&c->arrived, &c->lock, &deadline) == 0)
        ;
    pthread_mutex_unlock(&c->lock);
}
