// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/timebase_own.h"

#include "base/hash.h"

#include <string.h>

static uint64_t copy_check(const struct timebase_copy *copy)
{
    const uint8_t *from = (const uint8_t *)&copy->turn;
    return hash_fnv64(HASH_FNV64_START, from, sizeof *copy - offsetof(struct timebase_copy, turn));
}

static bool is_whole(const struct timebase_copy *copy)
{
    return copy->turn && copy->check == copy_check(copy);
}

/* The place of the newer whole copy; negative: there is none. */
static int newest_copy(const struct timebase_store *store)
{
    bool first = is_whole(&store->copies[0]), second = is_whole(&store->copies[1]);
    if (first && second)
        return store->copies[1].turn > store->copies[0].turn;
    return second ? 1 : first ? 0 : -1;
}

void timebase_save(struct timebase_store *store, const uint8_t boot[16], const struct timebase *tb)
{
    int newest = newest_copy(store);
    struct timebase_copy *copy = &store->copies[newest == 0];
    copy->turn = newest < 0 ? 1 : store->copies[newest].turn + 1;
    memcpy(copy->boot, boot, sizeof copy->boot);
    copy->timebase = *tb;
    copy->check = copy_check(copy);
}

static bool is_piece(const struct timebase_piece *p)
{
    const uint64_t factor_max = UINT64_C(1) << 62;
    if (p->shift < 1 || p->shift > 63 || p->ns < 0 || p->ns >= ns_max || p->error_ns < 0)
        return false;
    if (p->slew < 1 || p->slew >= factor_max || p->rate < 1 || p->rate >= factor_max || p->bend >= factor_max)
        return false;
    int64_t bent = scale_held(p->bend, p->slew, p->shift);
    return bent < ns_max && p->bend_ns == p->ns + bent;
}

/* Whether the pieces are one continuous function. */
static bool is_function(const struct timebase *tb)
{
    for (uint32_t back = 0; back < tb->held; back++)
        if (!is_piece(piece_back(tb, back)))
            return false;
    for (uint32_t back = 0; back + 1 < tb->held; back++) {
        const struct timebase_piece *p = piece_back(tb, back), *before = piece_back(tb, back + 1);
        if ((int64_t)(p->ticks - before->ticks) <= 0 || piece_ns(before, p->ticks - before->ticks) != p->ns)
            return false;
    }
    return true;
}

/* A comparison with a NaN is false. */
static bool is_state(const struct timebase *tb)
{
    return tb->newest < TIMEBASE_PIECES && tb->held >= 1 && tb->held <= TIMEBASE_PIECES && tb->pairs >= 1 &&
           tb->rate >= rate_min && tb->rate <= rate_max && tb->rate_error >= 0 && tb->rate_error <= unknown_error &&
           tb->chord >= 0 && tb->chord <= 2 * rate_max && tb->chord_error >= 0 && tb->chord_error <= 1e18 &&
           is_sane(&tb->base) && is_sane(&tb->last) && tb->base.ns <= tb->last.ns && tb->last_error_ns >= 0 &&
           tb->opening_error >= 0 && tb->opening_error <= 1e18 && tb->opening_length >= 0 &&
           tb->opening_length <= 1e18 && tb->usual_ns >= 0 && tb->usual_ns < ns_max &&
           tb->interval_ns >= TIMEBASE_FIRST_NS && tb->interval_ns <= TIMEBASE_LONGEST_NS && tb->worst_ns >= -1;
}

bool timebase_load(const struct timebase_store *store, const uint8_t boot[16], struct timebase *tb)
{
    int newest = newest_copy(store);
    if (newest < 0 || memcmp(store->copies[newest].boot, boot, 16) != 0)
        return false;
    const struct timebase *saved = &store->copies[newest].timebase;
    if (!is_state(saved) || !is_function(saved))
        return false;
    *tb = *saved;
    tb->due_ns = 0;
    tb->asked_ns = 0;
    return true;
}
