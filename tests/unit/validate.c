// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* A collector stores the next packet of a stream if it is valid, and refuses all others with a reason. */
#include "collector/receive/receiver_packet.h"

#include "base/file.h"
#include "tests/lib/seed.h"
#include "tests/lib/store_fixture.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct received taken;

/* Process 0, ring 0: open, data, loss, data. */
static int setup(void **state)
{
    int err = store_fixture_begin(state);
    struct store_fixture *t = *state;
    taken = (struct received){0};
    fake_add_process(t->sensor, "app", 1, ROLE_SUT);
    fake_cut(t->sensor, 0, 0, 3);
    fake_lose(t->sensor, 0, 0, 5);
    fake_cut(t->sensor, 0, 0, 4);
    return err;
}

static const uint8_t *packet(const struct store_fixture *t, unsigned i, size_t *n)
{
    const struct fake_stream *s = &t->sensor->processes[0]->rings[0];
    *n = s->starts[i + 1] - s->starts[i];
    return s->bytes + s->starts[i];
}

static enum received_as give(struct store_fixture *t, unsigned i)
{
    size_t n;
    const uint8_t *p = packet(t, i, &n);
    receiver_take_packet(t->node, t->store, NULL, p, n, &taken);
    return taken.what;
}

/* Gives packet `i` with its header changed by `change`. */
static enum received_as give_changed(struct store_fixture *t, unsigned i, void (*change)(struct packet_header *h))
{
    size_t n;
    struct packet_header h;
    const uint8_t *p = packet(t, i, &n);
    uint8_t *copy = malloc(n);
    memcpy(copy, p, n);
    assert_int_equal(packet_get_header(p, n, &h), 0);
    change(&h);
    packet_put_header(copy, &h);
    receiver_take_packet(t->node, t->store, NULL, copy, n, &taken);
    free(copy);
    return taken.what;
}

static void assert_stored(const struct store_fixture *t, unsigned packets)
{
    char path[128], *data;
    size_t n;
    const struct fake_stream *s = &t->sensor->processes[0]->rings[0];
    snprintf(path, sizeof path, "%s/trace/desk/app-1-0", t->dir);
    assert_int_equal(file_read(path, 1 << 20, &data, &n), 0);
    assert_int_equal(n, s->starts[packets]);
    assert_memory_equal(data, s->bytes, n);
    free(data);
}

TEST_WITH(setup, store_fixture_end, packets_in_sequence_are_stored)
{
    struct store_fixture *t = *test_state;
    store_fixture_know(t, 0);
    fake_close_stream(t->sensor, 0, 0);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(give(t, i), RECEIVED_STORED);
        assert_int_equal(taken.found.lost, i == 2 ? 5 : 0);
    }
    assert_stored(t, 5);
    assert_int_equal(taken.stream->at.next_seq, 5);
    assert_int_equal(taken.stream->at.next_ordinal, 3 + 5 + 4);
    assert_int_equal(taken.stream->at.discarded, 5);
    assert_int_equal(t->model->totals.records, 7);
    assert_int_equal(t->model->totals.discarded, 5);
    assert_int_equal(t->model->totals.packets, 5);
    assert_int_equal(t->model->totals.streams, 1);
    assert_ptr_equal(model_next_touched(t->node), taken.stream);
    assert_null(model_next_touched(t->node));
}

TEST_WITH(setup, store_fixture_end, a_duplicate_is_acknowledged_again_and_not_stored)
{
    struct store_fixture *t = *test_state;
    store_fixture_know(t, 0);
    for (unsigned i = 0; i < 3; i++)
        give(t, i);
    assert_non_null(model_next_touched(t->node));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(give(t, i), RECEIVED_DUPLICATE);
    assert_non_null(model_next_touched(t->node));
    assert_int_equal(give(t, 3), RECEIVED_STORED);
    assert_stored(t, 4);
}

TEST_WITH(setup, store_fixture_end, a_packet_ahead_is_dropped_and_the_position_told)
{
    struct store_fixture *t = *test_state;
    store_fixture_know(t, 0);
    assert_int_equal(give(t, 1), RECEIVED_AHEAD);
    struct model_stream *s = model_next_touched(t->node);
    assert_int_equal(s->at.next_seq, 0);
    assert_true(s->behind);
    give(t, 0);
    assert_false(s->behind);
    assert_int_equal(give(t, 3), RECEIVED_AHEAD);
    assert_int_equal(give(t, 1), RECEIVED_STORED);
    assert_stored(t, 2);
}

TEST_WITH(setup, store_fixture_end, a_process_or_dictionary_that_is_not_known_is_needed)
{
    struct store_fixture *t = *test_state;
    assert_int_equal(give(t, 0), RECEIVED_UNKNOWN);
    assert_int_equal(taken.header.instance, t->sensor->processes[0]->said.instance);
    store_fixture_know(t, 0);
    assert_int_equal(give(t, 0), RECEIVED_STORED);
    fake_add_aspect(t->sensor, 0, "later");
    fake_cut(t->sensor, 0, 0, 50);
    for (unsigned i = 1; i < 4; i++)
        assert_int_equal(give(t, i), RECEIVED_STORED); /* an earlier version of the dictionary */
    assert_int_equal(give(t, 4), RECEIVED_UNKNOWN);
    store_fixture_know(t, 0);
    assert_int_equal(give(t, 4), RECEIVED_STORED);
    assert_stored(t, 5);
}

static void change_nothing(struct packet_header *h)
{
    (void)h;
}
static void change_uuid(struct packet_header *h)
{
    h->uuid[3] ^= 1;
}
static void change_stream_id(struct packet_header *h)
{
    h->stream_id++;
}
static void change_ordinal(struct packet_header *h)
{
    h->first_ordinal++;
}
static void change_discarded(struct packet_header *h)
{
    h->discarded++;
}
static void change_discarded_down(struct packet_header *h)
{
    h->discarded--;
}
static void change_begin(struct packet_header *h)
{
    h->timestamp_begin = 1;
}
static void change_end(struct packet_header *h)
{
    h->timestamp_end = UINT64_MAX;
}
static void change_end_before_records(struct packet_header *h)
{
    h->timestamp_end = h->timestamp_begin;
}
static void change_kind(struct packet_header *h)
{
    h->kind = PACKET_OPEN;
}
static void change_kind_to_loss(struct packet_header *h)
{
    h->kind = PACKET_LOSS;
}

static void assert_refused(struct store_fixture *t, unsigned i, void (*change)(struct packet_header *h),
                           const char *reason)
{
    uint64_t refused = t->model->totals.refused;
    assert_int_equal(give_changed(t, i, change), RECEIVED_REFUSED);
    assert_string_equal(taken.reason, reason);
    assert_int_equal(t->model->totals.refused, refused + 1);
}

TEST_WITH(setup, store_fixture_end, a_packet_that_contradicts_its_stream_is_refused_with_the_reason)
{
    struct store_fixture *t = *test_state;
    store_fixture_know(t, 0);
    fake_close_stream(t->sensor, 0, 0);
    fake_cut(t->sensor, 0, 0, 1);
    assert_refused(t, 0, change_kind_to_loss, "a stream that does not begin with an opening packet");
    assert_refused(t, 0, change_discarded, "a stream that does not begin with an opening packet");
    give(t, 0);
    assert_refused(t, 1, change_uuid, "a packet of another trace");
    assert_refused(t, 1, change_stream_id, "the stream class of another process");
    assert_refused(t, 1, change_ordinal, "an ordinal that does not follow");
    assert_refused(t, 1, change_discarded, "a loss in a packet of records");
    assert_refused(t, 1, change_begin, "a time before that of the packet before");
    assert_refused(t, 1, change_end, "a time beyond the clock's range");
    assert_refused(t, 1, change_end_before_records, "records that do not fit the dictionary");
    give(t, 1);
    assert_refused(t, 2, change_kind, "an opening packet within a stream");
    give(t, 2);
    give(t, 3);
    assert_refused(t, 4, change_discarded_down, "fewer losses than before");
    assert_int_equal(give(t, 4), RECEIVED_STORED);
    assert_refused(t, 5, change_nothing, "a packet behind the closing one");
    assert_stored(t, 5);
}

TEST_WITH(setup, store_fixture_end, bytes_that_are_no_packet_are_refused)
{
    struct store_fixture *t = *test_state;
    uint8_t bytes[2048] = {0};
    size_t n;
    store_fixture_know(t, 0);
    give(t, 0);
    memcpy(bytes, packet(t, 1, &n), packet(t, 1, &n) ? n : 0);
    for (size_t k = 0; k < n; k++) {
        receiver_take_packet(t->node, t->store, NULL, bytes, k, &taken);
        assert_int_equal(taken.what, RECEIVED_REFUSED);
    }
    receiver_take_packet(t->node, t->store, NULL, bytes, n + 4, &taken);
    assert_int_equal(taken.what, RECEIVED_REFUSED);
    assert_string_equal(taken.reason, "bytes behind the packet");
    bytes_put_u32(bytes + 76, PACKET_THINNED);
    receiver_take_packet(t->node, t->store, NULL, bytes, n, &taken);
    assert_string_equal(taken.reason, "a packet that only a collector makes");
    bytes_put_u32(bytes + 72, PACKET_VERSION + 1);
    receiver_take_packet(t->node, t->store, NULL, bytes, n, &taken);
    assert_string_equal(taken.reason, "a packet of another version");
    assert_stored(t, 1);
}

/* Whichever bit is flipped, a stored packet has a valid position, valid bounds and known aspects. */
TEST_WITH(setup, store_fixture_end, a_damaged_packet_does_no_harm)
{
    struct store_fixture *t = *test_state;
    uint64_t seed = seed_start();
    uint8_t bytes[2048];
    size_t n;
    store_fixture_know(t, 0);
    give(t, 0);
    const uint8_t *good = packet(t, 1, &n);
    for (int i = 0; i < 20000; i++) {
        memcpy(bytes, good, n);
        bytes[seed_next(&seed) % n] ^= (uint8_t)(1 + seed_next(&seed) % 255);
        receiver_take_packet(t->node, t->store, NULL, bytes, n, &taken);
        if (taken.what != RECEIVED_STORED)
            continue;
        struct model_stream *s = taken.stream;
        assert_int_equal(s->at.next_seq, 2);
        assert_int_equal(s->at.next_ordinal, 3);
        assert_int_equal(s->at.discarded, 0);
        s->at.next_seq = 1; /* as if it had not come */
        s->at.next_ordinal = 0;
        s->last_end = 0;
        s->closed = false;
    }
}
