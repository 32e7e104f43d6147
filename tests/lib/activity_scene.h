// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Threads that run, work in spans and send messages, made by hand for tests of analysis/. */
#ifndef BEZEL_TESTS_LIB_ACTIVITY_SCENE_H
#define BEZEL_TESTS_LIB_ACTIVITY_SCENE_H

#include "analysis/activity.h"
#include "tests/lib/test.h"

#include <string.h>

/** A thread, the only one of its process. */
static inline uint32_t scene_thread(struct activity *a, int64_t node, const char *process)
{
    struct activity_thread t = {
        .node_row = node, .process_row = (int64_t)a->thread_count, .id = (uint32_t)a->thread_count};
    strcpy(t.process, process);
    uint32_t n = activity_add_thread(a, &t);
    assert_int_not_equal(n, ACTIVITY_NONE);
    return n;
}

static inline void scene_span(struct activity *a, uint32_t t, const char *name, int64_t begin, int64_t end)
{
    struct activity_span s = {begin, end, activity_name(a, name), ACTIVITY_NO_WAIT};
    assert_true(activity_add_span(a, t, s));
}

/** On a CPU from `begin` to `end`, and off since the interval before, of which `ready` ready. */
static inline void scene_run(struct activity *a, uint32_t t, int64_t begin, int64_t end, int64_t ready)
{
    const struct activity_thread *is = &a->threads[t];
    int64_t last = is->interval_count ? is->intervals[is->interval_count - 1].end : begin;
    assert_true(activity_add_interval(
        a, t, (struct activity_interval){begin, end, begin - last, ready, ready, ACTIVITY_WAITED}));
}

static inline void scene_send(struct activity *a, uint32_t t, int64_t at)
{
    struct activity_event e = {.at = at, .peer = ACTIVITY_NONE, .kind = ACTIVITY_SENT};
    assert_true(activity_add_event(a, t, e));
}

static inline void scene_receive(struct activity *a, uint32_t t, int64_t at, uint32_t from, int64_t sent)
{
    struct activity_event e = {.at = at, .from = sent, .peer = from, .kind = ACTIVITY_RECEIVED};
    assert_true(activity_add_event(a, t, e));
}

#endif
