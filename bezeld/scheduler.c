// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/scheduler.h"

#include "base/saturate.h"
#include <string.h>

/* Links and descriptors are looked at this often, however short the waits; ... */
#define CONTROL_EVERY (25 * CLOCK_MS)
#define CONTROL_SOON  (2 * CLOCK_MS)  /* ... and this often ... */
#define CONTROL_LASTS (20 * CLOCK_MS) /* ... for so long after a command, as another one often follows its answer */
#define SLEEP_MAX     (5 * CLOCK_MS)  /* up to here a bare timer; beyond it also wakes for links */
#define SPIN_MAX      (100 * CLOCK_US)

enum {
    SLICE = 32768,                            /* records that a turn takes where there are several sessions */
    SCHEDULER_FDS = 2 + COLLECTOR_PLACES_MAX, /* signals, parent pipe, launchers of collectors */
};

_Static_assert(SCHEDULER_MAX * 2 + 1 + SCHEDULER_FDS <= LINK_WAIT_MAX,
               "one wait for all links and doorbells, control endpoint, signals and parent pipe");

/*
 * The shortest sleep of five tries, at most SPIN_MAX: shorter waits are spun. The bound is for a machine so busy that
 * every try is long, where spinning would take CPU time that others need.
 */
static int64_t measure_min_sleep(void)
{
    int64_t best = SPIN_MAX;
    for (int i = 0; i < 5; i++) {
        int64_t before = clock_now();
        clock_sleep_until(before + CLOCK_US);
        int64_t took = clock_now() - before;
        best = took < best ? took : best;
    }
    return best;
}

void scheduler_init(struct scheduler *all)
{
    *all = (struct scheduler){.control_due = INT64_MAX, .alive_due = INT64_MAX};
}

int scheduler_add(struct scheduler *all, struct session *s)
{
    if (all->count == SCHEDULER_MAX)
        return BEZEL_EFULL;
    all->list[all->count++] = s;
    all->min_sleep = measure_min_sleep(); /* the session may have changed the thread's timer slack */
    return 0;
}

struct session *scheduler_find(const struct scheduler *all, const uint8_t run[16], const char *node)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (memcmp(all->list[i]->run, run, sizeof all->list[i]->run) == 0 && strcmp(all->list[i]->name, node) == 0)
            return all->list[i];
    return NULL;
}

void scheduler_remove(struct scheduler *all, uint32_t i)
{
    session_free(all->list[i]);
    all->list[i] = all->list[--all->count];
}

/* Limits the records of a turn, and so how long the other sessions wait for it: about a millisecond. */
static void share_thread(struct scheduler *all)
{
    uint32_t serving = 0;
    for (uint32_t i = 0; i < all->count; i++)
        serving += all->list[i]->phase < SESSION_CLOSES;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->list[i]->phase < SESSION_CLOSES)
            node_share(all->list[i]->node, serving > 1 ? SLICE : 0);
}

static int64_t control_due(const struct scheduler *all, int64_t now)
{
    return all->controlled + (now - all->commanded < CONTROL_LASTS ? CONTROL_SOON : CONTROL_EVERY);
}

/*
 * If a link may have a message, all sessions get a turn, since it is not known whose it is; else those that are due.
 * The order is always the same, and each session is checked against the current time, so a session that becomes due
 * waits for at most one turn of each other session.
 */
bool scheduler_turn(struct scheduler *all)
{
    int64_t now = clock_now();
    bool attend = all->woken;
    bool control = attend || now >= all->control_due || now >= all->alive_due;
    all->woken = false;
    share_thread(all);
    for (uint32_t i = 0; i < all->count; i++) {
        struct session *s = all->list[i];
        if (!attend && session_due(s) > now)
            continue;
        session_turn(s, attend);
        now = i + 1 < all->count ? clock_now() : now;
    }
    return control;
}

/* A session that drains or closes waits for its links, so it does not shorten the wait to a bare timer. */
static bool is_at_work(const struct session *s)
{
    return s->phase < SESSION_CLOSES && !node_draining(s->node);
}

/* Returns whether a link has a message, or a descriptor can be read: the next turn attends to them. */
static bool wait_for_links(struct scheduler *all, const int *fds, size_t fd_count, int64_t timeout)
{
    struct link *links[SCHEDULER_MAX + 1];
    int all_fds[2 * SCHEDULER_MAX + SCHEDULER_FDS];
    size_t n = 0, fd_n = fd_count < SCHEDULER_FDS ? fd_count : SCHEDULER_FDS;
    memcpy(all_fds, fds, fd_n * sizeof *fds);
    links[n++] = all->control_endpoint;
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->list[i]->phase >= SESSION_CLOSES)
            continue;
        links[n++] = node_link(all->list[i]->node);
        all_fds[fd_n++] = node_doorbell(all->list[i]->node);
        all_fds[fd_n++] = programs_fd(all->list[i]->programs);
    }
    return all->woken = link_wait(links, n, all_fds, fd_n, timeout) > 0;
}

/* Whether somebody says something: one call of the system shows it, for all links and descriptors together. */
static bool is_called(struct scheduler *all, const int *fds, size_t fd_count, int64_t now)
{
    if (now < control_due(all, now))
        return false;
    all->controlled = now;
    return wait_for_links(all, fds, fd_count, 0);
}

static bool spins(const struct scheduler *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (is_at_work(all->list[i]) && node_spins(all->list[i]->node))
            return true;
    return false;
}

/* A wait for so short that links are not waited for. */
static void wait_alone(const struct scheduler *all, int64_t now, int64_t due)
{
    if (due < now + all->min_sleep || spins(all))
        clock_spin_until(due);
    else
        clock_sleep_until(due);
}

/* Those of a node that is found still again and again. Returns the time. */
static int64_t look_in_a_row(const struct scheduler *all, struct node *n, int64_t now, int64_t until)
{
    struct node_look look;
    if (!node_look_begin(n, &look))
        return now;
    until = saturate_least(until, look.until);
    while (look.due < until) {
        if (look.due < now + all->min_sleep)
            clock_spin_until(look.due);
        else
            clock_sleep_until(look.due);
        now = node_look_now(&look);
        if (!node_look(&look, now))
            break;
    }
    node_looked(n, &look);
    return now;
}

/* Turns of a single session that only poll need nothing of the loop around them. */
static void look_on(struct scheduler *all, const int *fds, size_t fd_count)
{
    struct session *s = all->list[0];
    int64_t now = clock_now();
    while (all->count == 1 && now < all->control_due && session_polls(s, now) && !is_called(all, fds, fd_count, now)) {
        now = look_in_a_row(all, s->node, now, saturate_least(control_due(all, now), all->control_due));
        int64_t due = session_due(s);
        if (due >= control_due(all, now) && due > now + SLEEP_MAX)
            return; /* meanwhile somebody may say something */
        if (due <= now)
            continue;
        wait_alone(all, now, due);
        now = clock_now();
    }
}

void scheduler_wait(struct scheduler *all, const int *fds, size_t fd_count)
{
    int64_t now = clock_now(), due = saturate_least(all->control_due, all->alive_due), work_due = INT64_MAX;
    for (uint32_t i = 0; i < all->count; i++) {
        int64_t next = session_due(all->list[i]);
        due = saturate_least(due, next);
        if (is_at_work(all->list[i]))
            work_due = saturate_least(work_due, next);
    }
    if (due >= now + all->min_sleep && work_due > now + SLEEP_MAX) {
        (void)wait_for_links(all, fds, fd_count, due == INT64_MAX ? -1 : due - now);
        return;
    }
    if (is_called(all, fds, fd_count, now))
        return;
    wait_alone(all, now, due);
    look_on(all, fds, fd_count);
}

void scheduler_end(struct scheduler *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        session_end(all->list[i]);
}
