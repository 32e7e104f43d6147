// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The index of processes and rings, and sets of processes: whatever is added and removed in whatever order, they answer
 * as a plain list would. The index is small here and half full, so that its keys stand in one another's way.
 */
#include "base/hash_index.h"
#include "base/bitset.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

enum { SLOTS = 64, KEYS = 40, STEPS = 200000 };

static uint64_t seed;

TEST(an_index_answers_as_a_list_would)
{
    struct hash_index_slot slots[SLOTS] = {{0}};
    struct hash_index x = {slots, SLOTS - 1};
    int list[KEYS]; /* the number of each key, or -1 */
    uint32_t used = 0;
    for (int k = 0; k < KEYS; k++)
        list[k] = -1;
    for (int step = 0; step < STEPS; step++) {
        uint32_t key = (uint32_t)(seed_next(&seed) % KEYS), ring = key % 3 == 2 ? HASH_INDEX_NO_RING : key % 3;
        uint64_t instance = UINT64_C(0x100000) * (key / 3);
        if (list[key] >= 0 && seed_next(&seed) % 2) {
            hash_index_remove(&x, instance, ring);
            list[key] = -1;
            used--;
        } else if (list[key] >= 0 || used < SLOTS / 2) {
            used += list[key] < 0;
            list[key] = (int)(seed_next(&seed) % 1000);
            hash_index_put(&x, instance, ring, (uint32_t)list[key]);
        } else {
            hash_index_remove(&x, instance, ring); /* which is not there */
        }
        for (uint32_t k = 0; k < KEYS; k++)
            assert_int_equal(hash_index_find(&x, UINT64_C(0x100000) * (k / 3), k % 3 == 2 ? HASH_INDEX_NO_RING : k % 3),
                             list[k]);
    }
}

TEST(a_set_of_places_is_walked_in_order)
{
    for (int round = 0; round < 200; round++) {
        struct bitset s = {{0}};
        bool in[BITSET_MAX] = {false};
        uint64_t members = seed_next(&seed) % (2 * BITSET_MAX);
        for (uint64_t n = 0; n < members; n++) {
            uint32_t i = (uint32_t)(seed_next(&seed) % BITSET_MAX);
            in[i] = seed_next(&seed) % 4 != 0;
            (in[i] ? bitset_add : bitset_remove)(&s, i);
        }
        int next = 0, first_free = -1;
        for
            BITSET_EACH (i, &s) {
                for (; next < i; next++)
                    assert_false(in[next] || bitset_has(&s, (uint32_t)next));
                assert_true(in[next++]);
            }
        for (int i = 0; i < BITSET_MAX; i++) {
            assert_false(i >= next && in[i]);
            first_free = first_free < 0 && !in[i] ? i : first_free;
        }
        assert_int_equal(bitset_free(&s), first_free);
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
