// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The receiver's peers: whatever connections come and go in whatever order, each is found by its id and by its node, as
 * in a plain list, and there are never more than the limit.
 */
#include "collector/receive/receiver_internal.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

enum { NODES = 24, LIMIT = 16, STEPS = 100000 };

static uint64_t seed;

/* Ids of all sizes, some of them the beginnings of others. */
static struct link_peer id_of(uint32_t i)
{
    struct link_peer id = {.size = (uint8_t)(1 + i % LINK_PEER_MAX)};
    id.id[0] = (uint8_t)(i / LINK_PEER_MAX);
    return id;
}

TEST(peers_are_found_while_others_come_and_go)
{
    static struct receiver in;
    static struct model_node nodes[NODES];
    bool here[NODES] = {false};
    unsigned count = 0;
    in.limits.connections = LIMIT;
    assert_int_equal(receiver_peers_open(&in), 0);
    in.shares = shares_new((const uint64_t[SHARE_KINDS]){LIMIT, 1, 1});
    assert_non_null(in.shares);
    struct share *share = shares_of(in.shares, "desk");
    for (uint32_t i = 0; i < NODES; i++)
        nodes[i].row = i + 1;
    for (int step = 0; step < STEPS; step++) {
        uint32_t at = (uint32_t)(seed_next(&seed) % NODES);
        struct link_peer id = id_of(at);
        if (here[at]) {
            receiver_drop(&in, seed_next(&seed) % 2 ? receiver_find(&in, &id) : receiver_find_node(&in, &nodes[at]));
            here[at] = false;
            count--;
        } else {
            here[at] = receiver_add(&in, &id, &nodes[at], share) != NULL;
            assert_true(here[at] == (count < LIMIT));
            count += here[at];
        }
        assert_int_equal(in.peer_count, count);
        assert_int_equal(share->used[SHARE_PLACES], count);
        for (uint32_t i = 0; i < NODES; i++) {
            id = id_of(i);
            const struct peer *p = receiver_find(&in, &id);
            assert_true(here[i] ? p && p->node == &nodes[i] : !p);
            assert_ptr_equal(receiver_find_node(&in, &nodes[i]), p);
        }
    }
    receiver_peers_close(&in);
    shares_free(in.shares);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
