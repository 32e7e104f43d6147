// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/owner.h"

#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#define WHO(epoch, holder) ((struct message_leadership){epoch, holder})

TEST(the_greatest_epoch_is_the_owner_and_the_greatest_holder_of_one_epoch)
{
    assert_int_equal(owner_judge(WHO(0, 0), WHO(1, 5)), OWNER_NEWER);
    assert_int_equal(owner_judge(WHO(1, 5), WHO(1, 5)), OWNER_SAME);
    assert_int_equal(owner_judge(WHO(1, 5), WHO(2, 4)), OWNER_NEWER);
    assert_int_equal(owner_judge(WHO(2, 4), WHO(1, 5)), OWNER_FORMER);
    assert_int_equal(owner_judge(WHO(2, 4), WHO(2, 5)), OWNER_NEWER);
    assert_int_equal(owner_judge(WHO(2, 5), WHO(2, 4)), OWNER_FORMER);
    assert_int_equal(owner_judge(WHO(UINT64_MAX, 0), WHO(UINT64_MAX, UINT64_MAX)), OWNER_NEWER);
}

TEST(who_claims_nothing_takes_nothing_over)
{
    assert_int_equal(owner_judge(WHO(0, 0), WHO(0, 0)), OWNER_OTHER);
    assert_int_equal(owner_judge(WHO(3, 3), WHO(0, 9)), OWNER_OTHER);
}

/* In whichever order the commands of several arrive at two nodes, both have the same owner in the end. */
TEST(all_nodes_decide_alike)
{
    static const struct message_leadership who[] = {{1, 9}, {2, 3}, {2, 7}, {3, 1}, {3, 8}};
    enum { N = sizeof who / sizeof *who };
    for (size_t first = 0; first < N; first++)
        for (size_t step = 1; step < N; step++) { /* N is prime: each step reaches all of them */
            struct message_leadership owner = WHO(0, 0);
            for (size_t i = 0; i < N; i++) {
                struct message_leadership claim = who[(first + i * step) % N];
                if (owner_judge(owner, claim) == OWNER_NEWER)
                    owner = claim;
            }
            assert_int_equal(owner.epoch, 3);
            assert_int_equal(owner.holder, 8);
        }
}

TEST_WITH(scratch_begin, scratch_end, a_restarted_daemon_knows_the_owner_of_its_run_alone)
{
    static const uint8_t run[16] = "this run", other[16] = "another run";
    struct state_file f, of_other;
    owner_file_init(&f, scratch_dir, run);
    owner_file_init(&of_other, scratch_dir, other);
    assert_int_equal(owner_read(&f).epoch, 0);
    owner_save(&f, WHO(3, UINT64_MAX));
    assert_int_equal(owner_read(&f).epoch, 3);
    assert_true(owner_read(&f).holder == UINT64_MAX);
    assert_int_equal(owner_read(&of_other).epoch, 0);
    state_file_write(&f, "3 and nonsense");
    assert_int_equal(owner_read(&f).epoch, 0);
}
