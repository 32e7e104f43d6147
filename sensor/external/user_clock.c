// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/external/user_clock.h"

enum timebase_news user_clock_poll(struct user_clock *c, struct segment_pair *shared, int64_t now)
{
    struct clock_pair pair;
    bool open = c->asked_ns != 0;
    if (!open && c->timebase.pairs == 0 && segment_pair_take_last(shared, &pair) && pair.ns < now + TIMEBASE_LONGEST_NS)
        return timebase_add(&c->timebase, &pair);
    if (open && segment_pair_take(shared, c->asked, &pair)) {
        int64_t since = c->asked_ns;
        c->asked_ns = 0;
        if (pair.ns >= since && pair.ns < now + TIMEBASE_LONGEST_NS)
            return timebase_add(&c->timebase, &pair);
        c->timebase.due_ns = now + c->timebase.interval_ns;
        return TIMEBASE_IGNORED;
    }
    if (open ? now - c->asked_ns > USER_CLOCK_ASK_AGAIN_NS : now >= timebase_due(&c->timebase)) {
        c->asked = segment_pair_ask(shared);
        c->asked_ns = now;
    }
    return TIMEBASE_IGNORED;
}
