// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A ring of the kernel with whatever bytes: nothing is read beside it, intervals do not overlap, and of a time no more
 * is said than it has.
 */
#include "sensor/samplers/switches_cpu.h"

#include "tests/fuzz/fuzz.h"

static void expect_interval(const struct switches_interval *i, int64_t *end)
{
    fuzz_must(i->begin >= *end && i->end >= i->begin);
    fuzz_must(i->off == SWITCHES_UNKNOWN || (i->off >= 0 && i->ready_least >= 0 && i->ready_least <= i->ready_most));
    fuzz_must(i->off == SWITCHES_UNKNOWN || i->ready_most <= i->off);
    fuzz_must(i->ended >= SWITCHES_END_WAITED && i->ended <= SWITCHES_END_GOES_ON);
    *end = i->end;
}

/* The same bytes as records of a CPU. */
static void expect_rivals(struct switches_bytes b, const struct switches_format *format)
{
    static struct switches_comings comings;
    static struct switches_wakings wakings;
    struct switches_rival r[SWITCHES_RIVALS];
    struct switches_cpu_event e = {0};
    bool broken = false;
    comings.count = 0;
    memset(&wakings, 0, sizeof wakings);
    while (switches_cpu_next(&b, format, &e, &broken)) {
        fuzz_must(e.time >= 0);
        if (e.what == SWITCHES_CPU_COMES) {
            switches_leave(&comings, e.leaves);
            switches_come(&comings, e.time, e.pid, e.thread);
        } else if (e.what == SWITCHES_CPU_LOST)
            switches_miss(&comings);
        else if (e.what == SWITCHES_CPU_WOKEN)
            switches_wake(&wakings, &(struct switches_waking){e.time, e.time, e.woken, e.pid, e.thread, e.context});
        else
            fuzz_must(e.command[SWITCHES_COMMAND - 1] == '\0');
    }
    fuzz_must(b.at == b.head);
    int64_t begin = e.time / 2, end = e.time, at = begin, had = 0;
    unsigned n = switches_rivals(&comings, e.thread, begin, end, r);
    for (unsigned i = 0; i < n; i++) {
        fuzz_must(r[i].begin >= at && r[i].end > r[i].begin && r[i].had <= r[i].end - r[i].begin);
        at = r[i].end;
        had += r[i].had;
    }
    fuzz_must(at <= end && had + switches_unknown(&comings, begin, end) <= end - begin);
    const struct switches_waking *w = switches_waking_of(&wakings, e.woken, begin, end);
    fuzz_must(!w || (w->woken == e.woken && w->time > begin && w->time <= end));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t ring_size = 64;
    uint8_t head[2] = {0};
    if (size < sizeof head)
        return 0;
    memcpy(head, data, sizeof head);
    size -= sizeof head;
    while (ring_size < size)
        ring_size *= 2;
    uint8_t *ring = fuzz_memory(ring_size);
    memset(ring, 0, ring_size);
    memcpy(ring, data + sizeof head, size);
    struct switches_bytes b = {.ring = ring, .size = ring_size, .at = head[0], .head = head[0] + (uint64_t)size};
    struct switches_gaps g = {.queued = (int8_t)head[1]};
    struct switches_thread t;
    struct switches_event e;
    struct switches_interval i;
    bool broken = false;
    int64_t end = 0;
    const struct switches_format format = {.flags = head[0] % 64, .woken = head[1] % 64};
    expect_rivals(b, &format);
    switches_begin(&t, 0);
    while (switches_next(&b, &e, &broken)) {
        fuzz_must(e.time >= 0);
        switches_add_gap(&g, &t, &e);
        if (switches_feed(&t, &e, &g, &i))
            expect_interval(&i, &end);
        if (head[1] & 1 && switches_cut(&t, e.time, head[1] & 2, &i))
            expect_interval(&i, &end);
    }
    switches_finish(&t);
    fuzz_must(b.at == b.head);
    free(ring);
    return 0;
}
