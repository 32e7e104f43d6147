// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The send queue: every packet of a stream goes out on each connection once, whole and in order, from the first that is
 * not acknowledged; it is told as stored once; and window and spool take as much as they have room for together.
 */
#include "mdr/uplink/send_queue.h"
#include "base/clock.h"
#include "bezel/sensor.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"
#include "tests/lib/window_model.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLOOD = 60000, SPOOL = 16 << 20 };

BEZEL_ASPECT(flood, (int64, number, "1"), (int64, more, "1"));

static struct fixture f;

extern const int descriptors_kept;
const int descriptors_kept = 1; /* of the segment that this process has, as it records */

static void flood(uint64_t *made)
{
    for (int i = 0; i < FLOOD; i++)
        bezel_record(flood, (int64_t)(*made)++, 0);
}

/* With nobody who acknowledges, a ring fuller than any packet is long, before each poll. */
TEST(a_flood_fills_the_spool_behind_the_smallest_window)
{
    struct send_queue b;
    uint64_t made = 0, want = SPOOL / 2;
    setenv("BEZEL_RING_RECORDS", "65536", 1);
    f.options = (struct external_options){.batch = true, .take_all = true, .window_bytes = WINDOW_BYTES_MIN};
    scratch_begin(NULL);
    fixture_open(&f);
    struct uplink_source source = external_uplink(f.external);
    assert_int_equal(send_queue_open(&b, &source, scratch_dir, SPOOL, clock_now()), 0);
    flood(&made);
    for (int turn = 0; turn < 200 && send_queue_spooled(&b) < want; turn++) {
        external_poll(f.external, clock_now());
        external_housekeep(f.external, clock_now());
        send_queue_move(&b, clock_now());
        flood(&made);
    }
    assert_true(send_queue_spooled(&b) >= want);
    send_queue_close(&b, true);
    fixture_discard(&f);
    scratch_end(NULL);
}

/* ---- Packets of the model, and what must become of them ---------------------------------------------------------- */

enum { STREAMS = 3, CUTS = 8192 };

struct flow {
    uint32_t number;                 /* in the window */
    uint64_t cut, sent, ever, acked; /* packets; `sent` on this connection, `ever` on any */
    struct packet_header packet[CUTS];
    bool told[CUTS]; /* as stored */
};

static struct play {
    struct window *window;
    struct send_queue queue;
    struct flow flows[STREAMS];
    uint64_t told;
    bool full;
    int64_t now;
    const char *expected; /* the note that may be added */
    unsigned noted;
} p;

static const uint8_t run[16] = "this run", uuid[16] = "this trace";

static void add_note(void *context, uint64_t instance, int64_t now, const char *code, const char *format, ...)
{
    (void)context, (void)instance, (void)now, (void)format;
    if (p.expected && strcmp(code, p.expected) == 0)
        p.noted++;
    else if (strcmp(code, "BEZEL-SPOOL-FULL") != 0)
        fail_msg("%s", code);
}

static void stored(void *context, const struct packet_header *h, int64_t now)
{
    (void)context;
    struct flow *flow = &p.flows[h->instance - 1];
    assert_int_equal(now, p.now);
    assert_true(h->seq < flow->acked && !flow->told[h->seq]);
    uint8_t is[PACKET_HEADER_BYTES], was[PACKET_HEADER_BYTES];
    packet_put_header(is, h);
    packet_put_header(was, &flow->packet[h->seq]);
    assert_memory_equal(is, was, sizeof is);
    flow->told[h->seq] = true;
    p.told++;
}

static void spool_full(void *context, bool full)
{
    (void)context;
    p.full = full;
}

static struct uplink_source make_source(void)
{
    struct uplink_source source = {.context = &p,
                                   .window = p.window,
                                   .dir = scratch_dir,
                                   .add_note = add_note,
                                   .stored = stored,
                                   .spool_full = spool_full};
    memcpy(source.run, run, sizeof run);
    memcpy(source.uuid, uuid, sizeof uuid);
    return source;
}

static void open_queue(uint64_t spool_bytes)
{
    struct uplink_source source = make_source();
    assert_int_equal(send_queue_open(&p.queue, &source, scratch_dir, spool_bytes, p.now), 0);
    send_queue_rewind(&p.queue);
}

static void open_window(uint64_t bytes)
{
    uint64_t left;
    assert_int_equal(window_open(&scratch_folder, run, uuid, bytes, &p.window, &left), 0);
}

static void play_open(uint64_t window_bytes, uint64_t spool_bytes)
{
    uint32_t id;
    memset(&p, 0, sizeof p);
    p.now = 1;
    scratch_begin(NULL);
    open_window(window_bytes);
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_int_equal(window_stream_id(p.window, i + 1, &id), 0);
        int n = window_add_stream(p.window, i + 1, 0, id, 0);
        assert_true(n >= 0);
        p.flows[i].number = (uint32_t)n;
    }
    open_queue(spool_bytes);
}

static void play_close(void)
{
    send_queue_close(&p.queue, true);
    window_close(p.window, true);
    scratch_end(NULL);
}

/* Another life: what was acknowledged is told to it by the receiver's welcome. */
static void play_again(uint64_t spool_bytes)
{
    send_queue_close(&p.queue, false);
    window_close(p.window, false);
    open_window(WINDOW_BYTES_MIN);
    open_queue(spool_bytes);
    for (uint32_t i = 0; i < STREAMS; i++) {
        struct flow *flow = &p.flows[i];
        if (flow->cut == 0)
            continue;
        assert_int_equal(window_stream(p.window, flow->number)->next_seq, flow->cut);
        window_acknowledge(p.window, flow->number, flow->acked);
        flow->sent = flow->acked;
    }
}

static bool cut(uint32_t i)
{
    struct flow *flow = &p.flows[i];
    if (flow->cut == CUTS)
        return false;
    flow->packet[flow->cut] = model_next(window_stream(p.window, flow->number));
    bool done = model_cut(p.window, flow->number);
    flow->cut += done;
    return done;
}

/* A packet of a header alone, of which many find room. */
static bool cut_small(uint32_t i)
{
    struct flow *flow = &p.flows[i];
    const struct window_stream *s = window_stream(p.window, flow->number);
    struct packet_header h = {.stream_id = s->stream_id,
                              .size_bytes = PACKET_HEADER_BYTES,
                              .seq = s->next_seq,
                              .kind = s->next_seq ? PACKET_LOSS : PACKET_OPEN,
                              .instance = s->instance};
    uint8_t *at = flow->cut < CUTS ? window_reserve(p.window, PACKET_HEADER_BYTES) : NULL;
    if (!at)
        return false;
    packet_put_header(at, &h);
    window_commit(p.window, flow->number, &h);
    flow->packet[flow->cut++] = h;
    return true;
}

/* Sends the next packet; false: there is none, and so each has been sent. */
static bool send_one(void)
{
    struct send_queue_packet next;
    uint64_t before = send_queue_unacknowledged(&p.queue);
    if (!send_queue_next(&p.queue, &next, p.now)) {
        for (uint32_t i = 0; i < STREAMS; i++)
            assert_true(p.flows[i].sent == p.flows[i].cut || p.flows[i].acked == p.flows[i].cut);
        return false;
    }
    struct flow *flow = &p.flows[next.header.instance - 1];
    assert_int_equal(next.stream, flow->number);
    uint64_t first = flow->sent > flow->acked ? flow->sent : flow->acked;
    assert_int_equal(next.header.seq, first);
    assert_true(model_is(next.data, next.bytes, &flow->packet[first]));
    uint64_t with = send_queue_with_next(&p.queue);
    assert_true(with >= before + next.bytes);
    send_queue_sent(&p.queue, &next);
    assert_int_equal(send_queue_unacknowledged(&p.queue), with);
    flow->sent = first + 1;
    flow->ever = flow->sent > flow->ever ? flow->sent : flow->ever;
    return true;
}

static void acknowledge(uint32_t i, uint64_t next_seq)
{
    struct flow *flow = &p.flows[i];
    window_acknowledge(p.window, flow->number, next_seq);
    flow->acked = next_seq > flow->acked ? next_seq : flow->acked;
}

static void connect_again(void)
{
    send_queue_rewind(&p.queue);
    assert_int_equal(send_queue_unacknowledged(&p.queue), 0);
    for (uint32_t i = 0; i < STREAMS; i++)
        p.flows[i].sent = 0;
}

/* Everything goes out, is acknowledged, and leaves. */
static void everything_goes(void)
{
    uint64_t all = 0;
    while (send_one())
        ;
    assert_int_equal(send_queue_unacknowledged(&p.queue), send_queue_waiting(&p.queue));
    for (uint32_t i = 0; i < STREAMS; i++) {
        acknowledge(i, p.flows[i].cut);
        all += p.flows[i].cut;
    }
    for (uint64_t left = UINT64_MAX; send_queue_waiting(&p.queue) < left;) {
        left = send_queue_waiting(&p.queue);
        send_queue_free(&p.queue, p.now);
    }
    assert_int_equal(send_queue_waiting(&p.queue), 0);
    assert_int_equal(p.told, all);
}

/* ---- Any order of what can happen -------------------------------------------------------------------------------- */

enum { OPERATIONS = 4000 };

static void operate(uint64_t r, uint64_t spool_bytes)
{
    uint32_t i = (uint32_t)(r >> 8) % STREAMS;
    struct flow *flow = &p.flows[i];
    uint64_t what = r % 64, n = r >> 16;
    p.now += (int64_t)(n % 3);
    if (what == 0)
        connect_again();
    else if (what == 1)
        play_again(spool_bytes);
    else if (what < 20)
        (void)cut(i);
    else if (what < 28)
        (void)cut_small(i);
    else if (what < 44)
        for (uint64_t k = 0; k <= n % 8 && send_one(); k++)
            ;
    else if (what < 52 && flow->ever > flow->acked)
        acknowledge(i, flow->acked + 1 + n % (flow->ever - flow->acked));
    else if (what < 58)
        send_queue_move(&p.queue, p.now);
    else
        send_queue_free(&p.queue, p.now);
}

static void each_packet_is_sent_in_order_and_told_once(uint64_t spool_bytes)
{
    uint64_t seed = seed_start();
    play_open(WINDOW_BYTES_MIN, spool_bytes);
    for (int i = 0; i < OPERATIONS; i++)
        operate(seed_next(&seed), spool_bytes);
    everything_goes();
    play_close();
}

TEST(whatever_happens_each_packet_is_sent_in_order_and_told_once)
{
    each_packet_is_sent_in_order_and_told_once(0);
    each_packet_is_sent_in_order_and_told_once(SPOOL_BYTES_MIN);
    each_packet_is_sent_in_order_and_told_once(4 * SPOOL_BYTES_MIN);
}

/* ---- How much ---------------------------------------------------------------------------------------------------- */

/* Moves once; returns the bytes that left the window. */
static uint64_t move(void)
{
    uint64_t before = window_waiting(p.window);
    send_queue_move(&p.queue, p.now);
    return before - window_waiting(p.window);
}

TEST(nothing_moves_up_to_three_quarters_of_the_smallest_window_and_then_half_becomes_free)
{
    play_open(WINDOW_BYTES_MIN, 4 * SPOOL_BYTES_MIN);
    uint64_t capacity = window_capacity(p.window), span = PACKET_HEADER_BYTES + sizeof(struct window_packet);
    while (window_waiting(p.window) <= capacity / 4 * 3) {
        assert_int_equal(move(), 0);
        assert_true(cut_small(0));
    }
    assert_true(move() > 0);
    assert_in_range(window_waiting(p.window), capacity / 2 - 2 * span, capacity / 2);
    assert_int_equal(move(), 0);
    everything_goes();
    play_close();
}

TEST(no_call_moves_or_frees_more_than_its_turn)
{
    play_open(4 * WINDOW_BYTES_MIN, 16 * SPOOL_BYTES_MIN);
    while (cut(0))
        ;
    uint64_t moved = move();
    assert_in_range(moved, SEND_QUEUE_TURN_BYTES, SEND_QUEUE_TURN_BYTES + WINDOW_PACKET_BYTES + 4096);
    everything_goes();
    play_close();

    play_open(WINDOW_BYTES_MIN, 4 * SPOOL_BYTES_MIN);
    while (p.flows[0].cut < 4 * SEND_QUEUE_TURN || send_queue_spooled(&p.queue) == 0) {
        assert_true(cut_small(0));
        (void)move();
    }
    uint64_t spooled = window_first(p.window, p.flows[0].number);
    assert_true(spooled > 2 * SEND_QUEUE_TURN);
    while (send_one())
        ;
    acknowledge(0, p.flows[0].cut);
    uint64_t in_window = p.flows[0].cut - spooled;
    send_queue_free(&p.queue, p.now);
    assert_int_equal(p.told, in_window + SEND_QUEUE_TURN);
    everything_goes();
    play_close();
}

/* A spool that is full is told; one that has room again is used at once, and that is told too. */
TEST(a_full_spool_is_told_until_it_has_room_again)
{
    play_open(WINDOW_BYTES_MIN, SPOOL_BYTES_MIN);
    for (int i = 0; i < 64 && !p.full; i++) {
        while (cut(0) || cut_small(0))
            ;
        (void)move();
    }
    assert_true(p.full);
    assert_int_equal(move(), 0);
    assert_true(p.full);
    while (send_one())
        ;
    acknowledge(0, window_first(p.window, p.flows[0].number)); /* all of the spool */
    send_queue_free(&p.queue, p.now);
    assert_int_equal(send_queue_spooled(&p.queue), 0);
    assert_true(move() > 0);
    assert_false(p.full);
    while (!p.full) {
        while (cut(0) || cut_small(0))
            ;
        (void)move();
    }
    acknowledge(0, p.flows[0].cut);
    send_queue_free(&p.queue, p.now); /* the window is empty, and nothing needs the spool */
    assert_int_equal(move(), 0);
    assert_false(p.full);
    everything_goes();
    play_close();
}

/* ---- What cannot be sent any more -------------------------------------------------------------------------------- */

/* Fills the spool with packets of streams 0 and 1 in turn. */
static void fill_the_spool(void)
{
    while (send_queue_spooled(&p.queue) == 0) {
        assert_true(cut_small(0) && cut_small(1));
        (void)move();
    }
}

TEST(nothing_of_a_torn_stream_is_sent_or_told_as_stored)
{
    play_open(WINDOW_BYTES_MIN, 4 * SPOOL_BYTES_MIN);
    fill_the_spool();
    window_tear(p.window, p.flows[0].number);
    p.flows[0].acked = p.flows[0].cut; /* as far as sending goes */
    assert_true(cut_small(0));
    p.flows[0].acked++;
    while (send_one())
        ;
    acknowledge(1, p.flows[1].cut);
    while (send_queue_waiting(&p.queue) > 0) {
        uint64_t before = send_queue_waiting(&p.queue);
        send_queue_free(&p.queue, p.now);
        assert_true(send_queue_waiting(&p.queue) < before);
    }
    assert_int_equal(p.told, p.flows[1].cut);
    assert_false(p.flows[0].told[0]);
    play_close();
}

/* A process that is done with may have packets in the spool, behind one that another one waits for. */
TEST(packets_of_a_forgotten_process_are_neither_sent_nor_damage)
{
    play_open(WINDOW_BYTES_MIN, 4 * SPOOL_BYTES_MIN);
    assert_true(cut_small(1));
    for (int i = 0; i < 100; i++)
        assert_true(cut_small(0));
    while (send_queue_spooled(&p.queue) == 0) {
        assert_true(cut_small(1));
        (void)move();
    }
    while (send_one())
        ;
    acknowledge(0, p.flows[0].cut);
    send_queue_free(&p.queue, p.now);
    assert_int_equal(p.told, 0);
    assert_false(window_holds(p.window, p.flows[0].number));
    uint64_t spooled = send_queue_spooled(&p.queue);
    window_forget(p.window, 1);
    memset(&p.flows[0], 0, sizeof p.flows[0]);
    play_again(4 * SPOOL_BYTES_MIN); /* a note would fail the test */
    assert_false(p.queue.damaged);
    assert_int_equal(send_queue_spooled(&p.queue), spooled);
    connect_again();
    while (send_one())
        ;
    assert_int_equal(p.flows[1].sent, p.flows[1].cut);
    play_close();
}

/* What is no packet, or not the next one of its stream, though its checksum is right, ends what is taken back. */
TEST(what_cannot_be_in_the_spool_is_lost_with_all_behind_it)
{
    for (int way = 0; way < 3; way++) {
        play_open(WINDOW_BYTES_MIN, 4 * SPOOL_BYTES_MIN);
        fill_the_spool();
        uint64_t spooled = send_queue_spooled(&p.queue), at = spool_oldest(p.queue.spool);
        static uint8_t packet[WINDOW_PACKET_BYTES];
        int n = spool_read(p.queue.spool, &at, packet, sizeof packet);
        assert_true(n > 0); /* the first one, once more: it is not the next one */
        packet[0] ^= way == 1;
        assert_int_equal(spool_append(p.queue.spool, packet, (uint32_t)n - (way == 2 ? 4 : 0)), 0);
        p.expected = "BEZEL-SPOOL-DAMAGED";
        play_again(4 * SPOOL_BYTES_MIN);
        assert_int_equal(p.noted, 1);
        assert_true(p.queue.damaged);
        assert_int_equal(send_queue_spooled(&p.queue), spooled);
        play_close();
    }
}

/* Which packets of its stream are missing, only a receiver can say: the next life must ask, too. */
TEST(what_could_not_be_read_back_is_missing_in_the_next_life_too)
{
    enum { IN_FIRST_PACKET = 4096 + 40 };
    struct send_queue_packet next;
    uint8_t byte;
    play_open(WINDOW_BYTES_MIN, 4 * SPOOL_BYTES_MIN);
    fill_the_spool();
    int fd = open(spool_path(p.queue.spool), O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, IN_FIRST_PACKET), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, IN_FIRST_PACKET), 1);
    close(fd);
    p.expected = "BEZEL-SPOOL-DAMAGED";
    assert_true(send_queue_next(&p.queue, &next, p.now)); /* one of the other stream */
    assert_int_equal(next.header.instance, 2);
    assert_int_equal(p.noted, 1);
    assert_true(window_stream(p.window, p.flows[0].number)->torn);
    uint64_t oldest = spool_oldest(p.queue.spool);
    send_queue_free(&p.queue, p.now);
    assert_true(spool_oldest(p.queue.spool) > oldest); /* the damaged one has left */
    play_again(4 * SPOOL_BYTES_MIN);
    assert_int_equal(p.noted, 1);
    assert_true(p.queue.damaged);
    assert_true(window_stream(p.window, p.flows[0].number)->torn);
    assert_int_equal(window_stream(p.window, p.flows[0].number)->acked_seq, p.flows[0].cut);
    p.flows[0].acked = p.flows[0].cut; /* as far as sending goes */
    while (send_one())
        ;
    assert_int_equal(p.flows[1].sent, p.flows[1].cut);
    play_close();
}

TEST(a_spool_that_cannot_be_opened_is_an_error)
{
    struct send_queue other;
    play_open(WINDOW_BYTES_MIN, 0);
    struct uplink_source source = make_source();
    assert_true(send_queue_open(&other, &source, "/dev/null/spool", SPOOL_BYTES_MIN, p.now) < 0);
    play_close();
}

TEST(a_low_watermark_holds_once_all_before_it_was_sent)
{
    enum { PACKETS = 50 };
    struct send_queue_packet packet;
    play_open(WINDOW_BYTES_MIN, 0);
    assert_int_equal(send_queue_low(&p.queue), 0);
    send_queue_mark(&p.queue, 10);
    assert_int_equal(send_queue_low(&p.queue), 10); /* there is nothing to send */
    for (uint32_t i = 0; i < PACKETS; i++) {
        assert_true(cut(i % STREAMS));
        send_queue_mark(&p.queue, 100 + i);
    }
    for (int64_t sent = 0; sent <= PACKETS; sent++) {
        int64_t last = SEND_QUEUE_MARKS - 2, lows = sent < last ? sent : sent < PACKETS ? last : PACKETS;
        assert_int_equal(send_queue_low(&p.queue), lows ? 99 + lows : 10);
        bool more = send_queue_next(&p.queue, &packet, p.now);
        assert_int_equal(more, sent < PACKETS);
        if (more)
            send_queue_sent(&p.queue, &packet);
    }
    send_queue_rewind(&p.queue); /* another connection */
    assert_int_equal(send_queue_low(&p.queue), 0);
    while (send_queue_next(&p.queue, &packet, p.now))
        send_queue_sent(&p.queue, &packet);
    assert_int_equal(send_queue_low(&p.queue), 99 + PACKETS);
    play_close();
}

TEST(no_low_watermark_holds_before_the_spool_was_sent)
{
    struct send_queue_packet packet;
    play_open(WINDOW_BYTES_MIN, SPOOL_BYTES_MIN);
    while (send_queue_spooled(&p.queue) == 0) {
        assert_true(cut(0));
        send_queue_mark(&p.queue, 100);
        send_queue_move(&p.queue, p.now);
    }
    while (send_queue_next(&p.queue, &packet, p.now)) {
        if (!packet.in_window)
            assert_int_equal(send_queue_low(&p.queue), 0);
        send_queue_sent(&p.queue, &packet);
    }
    assert_int_equal(send_queue_low(&p.queue), 100);
    play_close();
}
