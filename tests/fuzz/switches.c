// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* A ring of the kernel with whatever bytes: nothing is read beside it, and intervals do not overlap. */
#include "sensor/samplers/switches_decode.h"

#include "tests/fuzz/fuzz.h"

static void expect_interval(const struct switches_interval *i, int64_t *end)
{
    fuzz_must(i->begin >= *end && i->end >= i->begin);
    fuzz_must(i->off == SWITCHES_UNKNOWN || (i->off >= 0 && i->ready_least >= 0 && i->ready_least <= i->ready_most));
    fuzz_must(i->off == SWITCHES_UNKNOWN || i->ready_most <= i->off);
    fuzz_must(i->ended >= SWITCHES_END_WAITED && i->ended <= SWITCHES_END_GOES_ON);
    *end = i->end;
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
