// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/sessions.h"

#include <string.h>

#define ATTEND_EVERY (10 * CLOCK_MS) /* links are looked at this often, however short the waits */
#define SLEEP_MAX    (5 * CLOCK_MS)  /* up to here a bare timer; beyond it also wakes for links */
#define SPIN_MAX     (100 * CLOCK_US)

enum {
    SLICE = 32768,    /* records that a turn takes where there are several sessions */
    SESSIONS_FDS = 2, /* signals and lease */
};

_Static_assert(SESSIONS_MAX *(NODE_LINKS + 1) + 1 + SESSIONS_FDS <= LINK_WAIT_MAX,
               "one wait for all links and bells, desk, signals and lease");

/*
 * The shortest sleep of five tries, at most SPIN_MAX: a wait shorter than this is spun. The bound is for a machine so
 * busy that every try is long: to spin there would take from others what they lack.
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

void sessions_init(struct sessions *all)
{
    *all = (struct sessions){.count = 0};
}

int sessions_add(struct sessions *all, struct session *s)
{
    if (all->count == SESSIONS_MAX)
        return BEZEL_EFULL;
    all->list[all->count++] = s;
    all->min_sleep = measure_min_sleep(); /* each may have placed the thread anew, whose timer slack it depends on */
    return 0;
}

struct session *sessions_find(const struct sessions *all, const uint8_t run[16], const char *node)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (memcmp(all->list[i]->run, run, sizeof all->list[i]->run) == 0 && strcmp(all->list[i]->name, node) == 0)
            return all->list[i];
    return NULL;
}

void sessions_remove(struct sessions *all, uint32_t i)
{
    session_free(all->list[i]);
    all->list[i] = all->list[--all->count];
}

/* How long a turn may make the others wait is how many records it may take: these are a millisecond or so. */
static void share_thread(struct sessions *all)
{
    uint32_t serving = 0;
    for (uint32_t i = 0; i < all->count; i++)
        serving += all->list[i]->phase < SESSION_CLOSES;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->list[i]->phase < SESSION_CLOSES)
            node_share(all->list[i]->node, serving > 1 ? SLICE : 0);
}

/*
 * All have a turn when a link may have brought something, since it is not known to whom; else who is due. Always in the
 * same order, and by the time as it then is: whoever becomes due waits for one turn of each other one at most.
 */
bool sessions_turn(struct sessions *all)
{
    int64_t now = clock_now();
    bool attend = all->woken || now - all->attended >= ATTEND_EVERY;
    all->woken = false;
    if (attend) {
        all->attended = now;
        share_thread(all);
    }
    for (uint32_t i = 0; i < all->count; i++) {
        struct session *s = all->list[i];
        if (!attend && session_due(s) > now)
            continue;
        session_turn(s, attend);
        now = i + 1 < all->count ? clock_now() : now;
    }
    return attend;
}

static int64_t earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* One that drains or closes waits for its links, not for time: it does not make the others wait by a bare timer. */
static bool is_at_work(const struct session *s)
{
    return s->phase < SESSION_CLOSES && !node_draining(s->node);
}

static void wait_for_links(struct sessions *all, const int *fds, size_t fd_count, int64_t timeout)
{
    struct link *links[SESSIONS_MAX * NODE_LINKS + 1];
    int all_fds[SESSIONS_MAX + SESSIONS_FDS];
    size_t n = 0, fd_n = fd_count < SESSIONS_FDS ? fd_count : SESSIONS_FDS;
    memcpy(all_fds, fds, fd_n * sizeof *fds);
    links[n++] = all->desk;
    for (uint32_t i = 0; i < all->count; i++) {
        if (all->list[i]->phase >= SESSION_CLOSES)
            continue;
        n += node_links(all->list[i]->node, links + n);
        all_fds[fd_n++] = node_bell(all->list[i]->node);
    }
    all->woken = link_wait(links, n, all_fds, fd_n, timeout) > 0;
}

void sessions_wait(struct sessions *all, const int *fds, size_t fd_count)
{
    int64_t now = clock_now(), due = INT64_MAX, work_due = INT64_MAX;
    for (uint32_t i = 0; i < all->count; i++) {
        int64_t next = session_due(all->list[i]);
        due = earliest(due, next);
        if (is_at_work(all->list[i]))
            work_due = earliest(work_due, next);
    }
    if (due < now + all->min_sleep)
        return;
    if (work_due > now + SLEEP_MAX)
        wait_for_links(all, fds, fd_count, due == INT64_MAX ? -1 : due - now);
    else
        clock_sleep_until(due);
}

void sessions_end(struct sessions *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        session_end(all->list[i]);
}

void sessions_free(struct sessions *all)
{
    while (all->count > 0)
        sessions_remove(all, all->count - 1);
}
