// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* A collector counts every message of a peer in the share of its node, before it is decoded. */
#include "base/clock.h"
#include "collector/receive/receiver_internal.h"
#include "tests/lib/test.h"

TEST(a_message_of_any_kind_is_within_the_share_of_its_node)
{
    static struct receiver in;
    static struct model_node node;
    static struct message m = {.type = MESSAGE_HEARTBEAT};
    uint8_t good[256];
    const uint8_t bad[] = {1, 2, 3};
    int n = message_encode(&m, good, sizeof good);
    assert_true(n > 0);
    in.model = model_new("");
    in.shares = shares_new((const uint64_t[SHARE_KINDS]){1, 1, 1});
    assert_true(in.model && in.shares);
    struct peer peer = {.node = &node, .share = shares_of(in.shares, "desk"), .received_at = CLOCK_S};
    const struct link_frame frames[] = {{.data = good, .size = (size_t)n}, {.data = bad, .size = sizeof bad}};
    receiver_take_message(&in, &frames[0], &peer, true);
    assert_int_equal(in.model->totals.refused, 0);
    receiver_take_message(&in, &frames[1], &peer, true);
    assert_int_equal(in.model->totals.refused, 1);
    assert_true(peer.share->messages.taken == 2);
    peer.share->messages.taken = 2.0 * SHARE_MESSAGES_BURST;
    for (unsigned i = 0; i < 2; i++)
        receiver_take_message(&in, &frames[i], &peer, true);
    assert_int_equal(in.model->totals.refused, 3);
    peer.received_at += 60 * CLOCK_S; /* it has been silent for a while */
    receiver_take_message(&in, &frames[0], &peer, true);
    assert_int_equal(in.model->totals.refused, 3);
    shares_free(in.shares);
    model_free(in.model);
}
