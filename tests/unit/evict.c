// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* When a process is evicted, and what remains of it. */
#include "collector/receive/evict.h"
#include "collector/receive/receiver_packet.h"
#include "run/store/metadata.h"
#include "tests/lib/store_fixture.h"
#include "tests/lib/test.h"

#include <stdlib.h>

enum { RECORDS = 3, LOST = 5 };

static struct received taken;

static enum received_as give(struct store_fixture *t, unsigned ring, unsigned i)
{
    const struct fake_stream *s = &t->sensor->processes[0]->rings[ring];
    receiver_take_packet(t->node, t->store, NULL, s->bytes + s->starts[i], s->starts[i + 1] - s->starts[i], &taken);
    return taken.what;
}

/* A process that is ready for eviction: open, data, loss and close of ring 0 are stored. Tests undo one condition. */
static struct model_process *ready(struct store_fixture *t)
{
    fake_add_process(t->sensor, "app", 1, ROLE_SUT);
    fake_cut(t->sensor, 0, 0, RECORDS);
    fake_lose(t->sensor, 0, 0, LOST);
    fake_close_stream(t->sensor, 0, 0);
    struct model_process *p = store_fixture_know(t, 0);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(give(t, 0, i), RECEIVED_STORED);
    while (model_next_touched(t->node))
        ;
    p->state = PROCESS_ENDED;
    p->counts[1] = (struct model_count){.stored = RECORDS, .attempts = RECORDS + LOST, .full = LOST};
    return p;
}

static void assert_evicted(struct store_fixture *t, const struct model_process *p)
{
    assert_false(model_is_evicted(p));
    evict_ended(t->model, NULL);
    assert_true(model_is_evicted(p));
}

static void assert_stays(struct store_fixture *t, const struct model_process *p)
{
    evict_ended(t->model, NULL);
    assert_false(model_is_evicted(p));
}

TEST_WITH(store_fixture_begin, store_fixture_end, a_settled_process_is_evicted)
{
    struct store_fixture *t = *test_state;
    struct model_process *p = ready(t);
    assert_evicted(t, p);
    evict_ended(t->model, NULL); /* again: nothing to do */
    assert_ptr_equal(model_find_process(t->node, p->instance), p);
    assert_ptr_equal(t->node->processes, p);
    assert_null(t->node->active);
}

TEST_WITH(store_fixture_begin, store_fixture_end, one_that_waits_for_an_answer_is_active_until_it_has_it)
{
    struct store_fixture *t = *test_state;
    struct model_process *p = ready(t);
    evict_ended(t->model, NULL);
    for (int twice = 0; twice < 2; twice++) {
        model_activate(p);
        p->books_answer = true;
        evict_ended(t->model, NULL);
        assert_ptr_equal(t->node->active, p);
        assert_null(p->next_active);
    }
    p->books_answer = false;
    evict_ended(t->model, NULL);
    assert_null(t->node->active);
}

TEST_WITH(store_fixture_begin, store_fixture_end, whose_facts_are_not_settled_stays)
{
    struct store_fixture *t = *test_state;
    struct model_process *p = ready(t);
    p->state = PROCESS_RUNNING;
    assert_stays(t, p);
    p->state = PROCESS_DETACHED; /* it lives, and may be attached to again */
    assert_stays(t, p);
    p->state = PROCESS_ENDED;
    p->books_answer = true;
    assert_stays(t, p);
    p->books_answer = false;
    p->dirty = true;
    assert_stays(t, p);
    p->dirty = false;
    assert_evicted(t, p);
}

TEST_WITH(store_fixture_begin, store_fixture_end, whose_streams_are_not_settled_stays)
{
    struct store_fixture *t = *test_state;
    struct model_process *p = ready(t);
    struct model_stream *s = p->streams[0];
    bool *const flags[] = {&s->touched, &s->behind, &s->unsynced};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        bool was = *flags[i];
        *flags[i] = true;
        assert_stays(t, p);
        *flags[i] = was;
    }
    s->unsynced = s->closed = false;
    assert_stays(t, p);
    s->closed = true;
    assert_evicted(t, p);
}

TEST_WITH(store_fixture_begin, store_fixture_end,
          whose_records_are_missing_stays_but_for_the_unfinished_and_the_overwritten)
{
    struct store_fixture *t = *test_state;
    struct model_process *p = ready(t);
    p->counts[1].attempts++; /* a record may still arrive */
    assert_stays(t, p);
    p->overwrites = true; /* overwritten records are in no count */
    assert_evicted(t, p);
}

TEST_WITH(store_fixture_begin, store_fixture_end, a_record_that_was_never_finished_keeps_nobody)
{
    struct store_fixture *t = *test_state;
    struct model_process *p = ready(t);
    p->counts[1].attempts++;
    p->unfinished = 1;
    assert_evicted(t, p);
}

TEST_WITH(store_fixture_begin, store_fixture_end, what_comes_of_it_later_is_a_repetition_or_refused)
{
    struct store_fixture *t = *test_state;
    struct model_process *p = ready(t);
    fake_cut(t->sensor, 0, 0, 1);
    fake_cut(t->sensor, 0, 1, 1);
    assert_evicted(t, p);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(give(t, 0, i), RECEIVED_DUPLICATE);
        assert_ptr_equal(model_next_touched(t->node), p->streams[0]);
    }
    uint64_t refused = t->model->totals.refused;
    assert_int_equal(give(t, 0, 4), RECEIVED_REFUSED);
    assert_string_equal(taken.reason, "a packet of a process that has ended");
    assert_int_equal(give(t, 1, 0), RECEIVED_REFUSED); /* a ring that it never had */
    assert_int_equal(t->model->totals.refused, refused + 2);
    assert_null(model_find_stream(p, 1));
}

/* Also a process that has stored nothing, whose metadata was never written. */
TEST_WITH(store_fixture_begin, store_fixture_end, metadata_is_the_same_with_and_without_it)
{
    struct store_fixture *t = *test_state;
    char *before, *after;
    size_t n, m;
    struct model_process *p = ready(t);
    fake_add_process(t->sensor, "quiet", 2, ROLE_SUT);
    struct model_process *quiet = store_fixture_know(t, 1);
    quiet->state = PROCESS_ENDED;
    assert_int_equal(metadata_write(t->node, &before, &n), 0);
    evict_ended(t->model, NULL);
    assert_true(model_is_evicted(p) && model_is_evicted(quiet));
    assert_int_equal(metadata_write(t->node, &after, &m), 0);
    assert_int_equal(n, m);
    assert_memory_equal(before, after, n);
    free(before);
    free(after);
    assert_int_equal(store_metadata(t->store, t->node), 0);
}
