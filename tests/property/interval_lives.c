// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A sender that is restarted numbers its messages from 1 again. Receivers take what they get in its order, each as late
 * as it is; they lose some, share the messages out, or join later. Whatever an interval tells then is the time between
 * a sending and a receiving of one message; and where each is received before its number is used again, it tells all.
 */
#include "base/clock.h"
#include "metric/interval.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 600, LIVES = 4, MESSAGES = 60, RECEIVERS = 3, MOST = LIVES * MESSAGES * (1 + RECEIVERS) };

#define NOW   (INT64_C(1000) * CLOCK_S)
#define START (INT64_C(100) * CLOCK_S) /* of the clock's time */
#define MS    CLOCK_MS

static uint64_t seed;
static struct interval_event events[MOST];
static int64_t sent_at[MOST]; /* of a receiving: when its message was sent */
static size_t count, told;

static uint64_t below(uint64_t n)
{
    return seed_next(&seed) % n;
}

static void put(uint32_t position, uint32_t source, int64_t number, int64_t at, int64_t sent)
{
    sent_at[count] = START + sent;
    events[count++] = (struct interval_event){.position = position,
                                              .key = interval_key_of_integer(number),
                                              .source = source,
                                              .end = source,
                                              .own = START + at,
                                              .at = {NOW + at, 0}};
}

static int64_t sending_of(const struct interval_record *to)
{
    for (size_t i = 0; i < count; i++)
        if (events[i].position == 1 && events[i].source == to->source && events[i].own == to->own)
            return sent_at[i];
    return INT64_MIN;
}

static void check(void *context, const struct interval_time *time)
{
    (void)context;
    told++;
    assert_int_equal(time->from.own, sending_of(&time->to));
    assert_int_equal(time->took.ns, time->to.own - time->from.own);
}

static int by_time(const void *a, const void *b)
{
    const struct interval_event *x = a, *y = b;
    return x->own != y->own ? (x->own > y->own) - (x->own < y->own) : (x->source > y->source) - (x->source < y->source);
}

/* Returns whether each message is received before its number is used again. */
static bool draw(int64_t reach, size_t *received)
{
    uint32_t starts = 1 + (uint32_t)below(LIVES), messages = 1 + (uint32_t)below(MESSAGES);
    uint32_t receivers = 1 + (uint32_t)below(RECEIVERS), drops = below(2) ? 0 : 8;
    bool shared = receivers > 1 && below(2), lags = receivers == 1 || (!shared && below(4) == 0); /* beyond reach */
    int64_t at = 0, pause = (int64_t)below(3 * (uint64_t)reach), got[RECEIVERS] = {0}, lag[RECEIVERS];
    int64_t used_again = (messages - 1) * 10 * MS + pause;
    uint32_t join[RECEIVERS];
    bool is_plain = !shared && drops == 0;
    for (uint32_t r = 0; r < receivers; r++) {
        lag[r] = MS + (int64_t)below(lags ? 3 * (uint64_t)reach : (uint64_t)reach - 20 * MS);
        join[r] = below(4) ? 0 : (uint32_t)below(2 * messages);
        is_plain = is_plain && (receivers == 1 || !lags) && join[r] == 0 && lag[r] + 10 * MS < used_again;
    }
    count = *received = 0;
    for (uint32_t life = 0; life < starts; life++, at += pause)
        for (uint32_t i = 0; i < messages; i++, at += i < messages ? 10 * MS : 0) {
            uint32_t worker = (uint32_t)below(receivers);
            put(0, 100 + life, i, at, at);
            for (uint32_t r = 0; r < receivers; r++) {
                if ((shared && r != worker) || life * messages + i < join[r] || (drops && below(drops) == 0))
                    continue;
                int64_t next = at + lag[r] + (int64_t)below(10 * MS);
                got[r] = next > got[r] ? next : got[r] + 1;
                put(1, 1 + r, i, got[r], at);
                ++*received;
            }
        }
    return is_plain;
}

TEST(nothing_is_told_of_two_messages)
{
    size_t all = 0, known = 0;
    seed = seed_start();
    for (int i = 0; i < ROUNDS; i++) {
        struct interval *in;
        struct experiment_metric m = {.kind = METRIC_INTERVAL, .window = 50 * MS + (int64_t)below(300 * MS)};
        int64_t wait = (int64_t)below(300 * MS);
        size_t received;
        m.interval.count = 2;
        m.interval.memory = EXPERIMENT_MATCH_MEMORY_MIN;
        m.interval.statistic = METRIC_MAX;
        assert_int_equal(interval_new(&m, wait, &in), 0);
        assert_int_equal(interval_keep_late(in), 0);
        told = 0;
        interval_tell(in, check, NULL);
        bool is_plain = draw(m.window + wait, &received);
        static struct interval_event sorted[MOST];
        memcpy(sorted, events, sizeof events);
        qsort(sorted, count, sizeof *sorted, by_time);
        for (size_t k = 0; k < count; k++)
            interval_add(in, &sorted[k], sorted[k].at.ns);
        interval_finish(in, sorted[count - 1].at.ns + 10 * CLOCK_S, true);
        struct interval_counts c = interval_counts(in);
        assert_int_equal(told, c.matched);
        assert_true(told <= received && (!is_plain || told == received));
        assert_int_equal(c.open + c.waiting, 0);
        uint64_t ended = c.matched + c.repeated[1];
        for (int k = 0; k < INTERVAL_CAUSES; k++)
            ended += c.ends[k];
        assert_int_equal(ended, received);
        all += received;
        known += told;
        interval_free(in);
    }
    assert_true(known > all / 2); /* it does not just know nothing */
}
