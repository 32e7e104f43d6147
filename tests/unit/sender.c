// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The sender against a collector that the test plays, over a real link. The sender's time is the test's: it
 * stands still while frames travel.
 */
#include "mdr/uplink/sender.h"
#include "base/clock.h"
#include "bezel/sensor.h"
#include "mdr/message.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

BEZEL_ASPECT(step, (int64, number, "1"));

static uint64_t expected; /* packets */

enum { RECORDS = 200, PACKET = PACKET_HEADER_BYTES + PACKET_RECORD_BYTES + 8 };

/* The collector's end. Of each stream of the one process it keeps what it got. */
struct upper {
    struct link *link;
    struct link_peer peer; /* who said HELLO last */
    uint64_t low;          /* by the last WATERMARK */
    uint32_t hellos, books, byes;
    uint64_t packets, bytes, from; /* since that HELLO; sequence number of the first */
    struct message_position at;    /* behind the last packet */
    bool processes;                /* PROCESS came since that HELLO */
    uint32_t node_books;           /* of `books`, those of the node */
    uint64_t unobserved;           /* as the last of them say */
    uint64_t node_at;              /* `at` of it */
    uint64_t instance, process_at; /* of the last books of a process */
};

struct scene {
    struct fixture fixture;
    struct sender *forward;
    struct message_hello hello;
    struct upper upper;
    char endpoint[200]; /* or two */
    int64_t now;
};

static struct message message;
static uint8_t bytes[MESSAGE_MAX_BYTES];

/* A step that does not put off to look for what arrived. */
static void step(struct sender *f, int64_t now, bool bye)
{
    sender_attend(f);
    sender_step(f, now, bye);
}

static void record_steps(void *unused)
{
    (void)unused;
    for (int i = 0; i < RECORDS; i++)
        bezel_record(step, i);
}

/* A window with OPEN, a packet for each record, and CLOSE; nobody to send them to yet. */
static void scene_open(struct scene *s)
{
    memset(s, 0, sizeof *s);
    s->fixture.options = (struct external_options){.batch = false, .take_all = true};
    fixture_open(&s->fixture);
    fixture_wait(fixture_spawn(record_steps, NULL));
    int64_t deadline = clock_now() + PATIENCE;
    for (int i = 0; i < RECORDS + 1; i++)
        external_poll(s->fixture.external, clock_now());
    while (!fixture_all_gone(&s->fixture)) {
        external_housekeep(s->fixture.external, clock_now());
        assert_true(clock_now() < deadline);
    }
    s->hello = (struct message_hello){.node = "desk1", .pid = 4711};
    memcpy(s->hello.uuid, s->fixture.options.uuid, 16);
    snprintf(s->endpoint, sizeof s->endpoint, "ipc://%s/data", s->fixture.dir);
    s->now = clock_now();
}

static void upper_open(struct scene *s)
{
    assert_int_equal(link_bind(s->endpoint, PACKET_MAX_BYTES, NULL, &s->upper.link), 0);
}

static int64_t low_mark; /* of the source */

static int64_t low(void *context, int64_t now)
{
    (void)context;
    (void)now;
    return low_mark;
}

static void sender_begin(struct scene *s)
{
    struct uplink_source source = external_uplink(s->fixture.external);
    source.low = low;
    struct sender_options options = {.endpoints = s->endpoint, .hello = s->hello};
    assert_int_equal(sender_open(&source, &options, &s->forward), 0);
}

static void scene_close(struct scene *s)
{
    sender_close(s->forward, false);
    link_close(s->upper.link, 0);
    external_finish(s->fixture.external, clock_now());
    fixture_close(&s->fixture);
}

static uint64_t waiting(const struct scene *s)
{
    return window_waiting(external_window(s->fixture.external));
}

/* ---- The collector's part ---------------------------------------------------------------------------------------- */

static void take_packet(struct upper *u, const struct link_frame *frame)
{
    struct packet_header h;
    assert_int_equal(packet_get_header(frame->data, frame->size, &h), 0);
    assert_true(u->processes);
    if (u->packets++ == 0)
        u->from = h.seq;
    else
        assert_int_equal(h.seq, u->at.next_seq); /* in order, and none twice on a connection */
    u->bytes += frame->size;
    u->at = (struct message_position){.instance = h.instance, .ring = h.ring, .next_seq = h.seq + 1};
}

static void take_frame(struct upper *u, const struct link_frame *frame)
{
    bool current =
        u->hellos && u->peer.size == frame->peer.size && memcmp(u->peer.id, frame->peer.id, frame->peer.size) == 0;
    if (packet_is_packet(frame->data, frame->size)) {
        if (current)
            take_packet(u, frame);
        return;
    }
    assert_int_equal(message_decode(frame->data, frame->size, &message), 0);
    if (message.type == MESSAGE_HELLO) {
        u->peer = frame->peer;
        u->hellos++;
        u->packets = u->bytes = u->at.next_seq = 0;
        u->processes = false;
    }
    u->processes = u->processes || message.type == MESSAGE_PROCESS;
    u->books += message.type == MESSAGE_BOOKS;
    u->low = message.type == MESSAGE_WATERMARK ? message.watermark.low : u->low;
    u->byes += message.type == MESSAGE_BYE;
    if (message.type == MESSAGE_BOOKS && message.books.instance == 0) {
        u->node_books++;
        u->unobserved = message.books.unobserved;
        u->node_at = message.books.at;
    } else if (message.type == MESSAGE_BOOKS) {
        u->instance = message.books.instance;
        u->process_at = message.books.at;
    }
}

static void upper_take(struct scene *s)
{
    struct link_frame frame;
    while (s->upper.link && link_receive(s->upper.link, &frame) == 0) {
        take_frame(&s->upper, &frame);
        link_frame_free(&frame);
    }
}

static void say(struct scene *s)
{
    int n = message_encode(&message, bytes, sizeof bytes);
    assert_true(n > 0);
    assert_int_equal(link_send(s->upper.link, &s->upper.peer, bytes, (size_t)n), 0);
}

static void welcome(struct scene *s, uint64_t credit, uint32_t count, struct message_position at)
{
    message.type = MESSAGE_WELCOME;
    message.welcome.credit_bytes = credit;
    message.welcome.more = false;
    message.welcome.stream_count = count;
    message.welcome.streams[0] = at;
    say(s);
}

static void acknowledge(struct scene *s, struct message_position at)
{
    message.type = MESSAGE_ACK;
    message.ack.stream_count = 1;
    message.ack.streams[0] = at;
    say(s);
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

/* Has both do their part, at the same moment of the sender's time, until `done`. */
static void until(struct scene *s, bool (*done)(struct scene *s))
{
    int64_t deadline = clock_now() + PATIENCE;
    while (!done(s)) {
        step(s->forward, s->now, false);
        upper_take(s);
        if (clock_now() > deadline)
            fail_msg("it did not come to pass");
        struct link *links[] = {s->upper.link, sender_link(s->forward)};
        (void)link_wait(links, 2, NULL, 0, CLOCK_MS);
    }
}

/* What is under way arrives: a sign of life goes through behind it. */
static void settle(struct scene *s)
{
    for (int i = 0; i < 20; i++) {
        step(s->forward, s->now, false);
        clock_sleep_until(clock_now() + CLOCK_MS);
        upper_take(s);
    }
}

static bool greeted(struct scene *s)
{
    return s->upper.hellos > 0;
}

static bool greeted_twice(struct scene *s)
{
    return s->upper.hellos > 1;
}

static bool connected(struct scene *s)
{
    return sender_connected(s->forward);
}

static bool has_all(struct scene *s)
{
    return s->upper.at.next_seq == RECORDS + 2;
}

static bool is_empty(struct scene *s)
{
    return waiting(s) == 0;
}

/* Time passes until the sender gives its connection up, and another one greets. */
static void fall_silent(struct scene *s)
{
    uint64_t before = sender_counts(s->forward)->attempts;
    upper_take(s);
    s->upper.hellos = 0;
    for (; sender_counts(s->forward)->attempts == before; s->now += CLOCK_MS)
        step(s->forward, s->now, false);
    until(s, greeted);
}

/* The rest is sent, and acknowledged as it comes. */
static void hand_over(struct scene *s)
{
    int64_t deadline = clock_now() + PATIENCE;
    for (uint64_t acknowledged = 0; !is_empty(s);) {
        step(s->forward, s->now, false);
        upper_take(s);
        if (s->upper.at.next_seq > acknowledged)
            acknowledge(s, s->upper.at);
        acknowledged = s->upper.at.next_seq;
        assert_true(clock_now() < deadline);
        struct link *links[] = {s->upper.link, sender_link(s->forward)};
        (void)link_wait(links, 2, NULL, 0, CLOCK_MS);
    }
    assert_true(has_all(s));
}

static void meet(struct scene *s, uint64_t credit)
{
    until(s, greeted);
    welcome(s, credit, 0, (struct message_position){0});
    until(s, connected);
}

static void scene_begin(struct scene *s, uint64_t credit)
{
    scene_open(s);
    upper_open(s);
    sender_begin(s);
    meet(s, credit);
}

static void scene_end(struct scene *s)
{
    hand_over(s);
    scene_close(s);
}

/* ---- Attempts ---------------------------------------------------------------------------------------------------- */

enum { ATTEMPTS = 12 };

/* When each attempt is made while nobody answers, to the millisecond. */
static void watch_attempts(struct scene *s, int64_t at[ATTEMPTS])
{
    int64_t begin = s->now;
    for (uint64_t seen = 1; seen < ATTEMPTS; s->now += CLOCK_MS) {
        step(s->forward, s->now, false);
        if (sender_counts(s->forward)->attempts == seen)
            continue;
        assert_int_equal(sender_counts(s->forward)->attempts, seen + 1);
        at[seen++] = s->now - begin;
        assert_true(s->now - begin < 100 * CLOCK_S);
    }
    at[0] = 0;
}

TEST(who_is_not_answered_tries_again_after_growing_pauses_that_follow_from_who_it_is)
{
    struct scene s;
    int64_t first[ATTEMPTS], again[ATTEMPTS], other[ATTEMPTS];
    scene_open(&s);
    sender_begin(&s);
    watch_attempts(&s, first);
    int64_t longest = SENDER_PAUSE_FIRST_NS;
    for (int i = 1; i < ATTEMPTS; i++) {
        int64_t pause = first[i] - first[i - 1] - SENDER_SILENCE_NS;
        assert_in_range(pause, longest / 2 - CLOCK_MS, longest + 2 * CLOCK_MS);
        longest = 2 * longest < SENDER_PAUSE_LAST_NS ? 2 * longest : SENDER_PAUSE_LAST_NS;
    }
    sender_close(s.forward, false);
    sender_begin(&s);
    watch_attempts(&s, again);
    assert_memory_equal(first, again, sizeof first);
    sender_close(s.forward, false);
    s.hello.pid++;
    sender_begin(&s);
    watch_attempts(&s, other);
    assert_memory_not_equal(first, other, sizeof first);
    upper_open(&s);
    meet(&s, 0);
    until(&s, has_all);
    scene_end(&s);
}

TEST(a_welcome_makes_pauses_short_again)
{
    struct scene s;
    int64_t at[ATTEMPTS];
    scene_open(&s);
    sender_begin(&s);
    watch_attempts(&s, at);
    upper_open(&s);
    meet(&s, 0);
    uint64_t attempts = sender_counts(s.forward)->attempts;
    int64_t silent = s.now;
    for (; sender_counts(s.forward)->attempts == attempts; s.now += CLOCK_MS)
        step(s.forward, s.now, false);
    assert_true(s.now - silent <= SENDER_SILENCE_NS + SENDER_PAUSE_FIRST_NS + 3 * CLOCK_MS);
    s.upper.hellos = 0;
    meet(&s, 0);
    until(&s, has_all);
    scene_end(&s);
}

TEST(an_answer_that_comes_after_the_attempt_was_given_up_is_not_listened_to)
{
    struct scene s;
    scene_open(&s);
    upper_open(&s);
    sender_begin(&s);
    until(&s, greeted);
    struct link_peer late = s.upper.peer;
    for (uint64_t n = sender_counts(s.forward)->attempts; sender_counts(s.forward)->attempts == n; s.now += CLOCK_MS)
        step(s.forward, s.now, false);
    until(&s, greeted_twice);
    struct link_peer second = s.upper.peer;
    s.upper.peer = late;
    message = (struct message){.type = MESSAGE_REFUSE};
    int n = message_encode(&message, bytes, sizeof bytes);
    (void)!link_send(s.upper.link, &late, bytes, (size_t)n); /* gone by now, or not yet */
    s.upper.peer = second;
    welcome(&s, 0, 0, (struct message_position){0});
    until(&s, has_all);
    assert_null(sender_refused(s.forward));
    scene_end(&s);
}

/* ---- Low watermarks ---------------------------------------------------------------------------------------------- */

static bool told_the_low_mark(struct scene *s)
{
    s->now += CLOCK_MS;
    return s->upper.low == (uint64_t)low_mark;
}

TEST(the_low_watermark_comes_behind_all_packets_before_it)
{
    struct scene s;
    low_mark = 1000;
    scene_begin(&s, 0);
    until(&s, told_the_low_mark);
    assert_true(has_all(&s));
    low_mark = 2000;
    int64_t before = s.now;
    until(&s, told_the_low_mark);
    assert_in_range(s.now - before, SENDER_LOW_NS - 10 * CLOCK_MS, SENDER_ALIVE_NS - 1); /* not with each step */
    low_mark = 0;
    scene_end(&s);
}

/* ---- Credit ------------------------------------------------------------------------------------------------------ */

static bool has_expected(struct scene *s)
{
    return s->upper.packets >= expected;
}

TEST(no_more_is_sent_than_the_credit_and_always_a_packet)
{
    static const uint64_t credits[] = {1, 1000, 5 * PACKET + 4, 20000, UINT64_MAX};
    for (size_t i = 0; i < sizeof credits / sizeof *credits; i++) {
        struct scene s;
        scene_begin(&s, credits[i]);
        uint64_t most =
            (uint64_t)SENDER_QUEUE * PACKET_HEADER_BYTES; /* as the smallest of packets fill ZeroMQ's queue */
        assert_int_equal(sender_counts(s.forward)->credit, credits[i] < most ? credits[i] : most);
        for (uint64_t before = 0, turns = 0; s.upper.packets < RECORDS + 2; turns++) {
            expected = turns == 0 ? 1 : s.upper.packets + 1;
            until(&s, has_expected);
            settle(&s);
            uint64_t unacknowledged = s.upper.bytes - before;
            assert_true(unacknowledged <= credits[i] || s.upper.packets == expected);
            uint64_t counted = sender_counts(s.forward)->unacknowledged; /* with what a packet takes in the window */
            assert_true(counted >= unacknowledged);
            assert_true(counted <= credits[i] || s.upper.packets == expected);
            if (turns > 5) /* enough was seen */
                break;
            before = s.upper.bytes;
            acknowledge(&s, s.upper.at);
        }
        hand_over(&s);
        assert_int_equal(s.upper.hellos, 1);
        scene_close(&s);
    }
}

/* ---- Positions --------------------------------------------------------------------------------------------------- */

TEST(a_welcome_says_from_where_on_packets_are_sent)
{
    struct scene s;
    scene_begin(&s, 0);
    until(&s, has_all);
    struct message_position at = s.upper.at;
    fall_silent(&s); /* with everything on the way */
    at.next_seq = 77;
    memset(&s.upper.at, 0, sizeof s.upper.at);
    welcome(&s, 0, 1, at);
    until(&s, has_all);
    assert_int_equal(s.upper.from, 77);
    assert_int_equal(s.upper.packets, RECORDS + 2 - 77);
    scene_end(&s);
}

TEST(who_lacks_packets_gets_them_on_a_new_connection_but_not_as_often_as_it_asks)
{
    struct scene s;
    scene_begin(&s, 0);
    until(&s, has_all);
    struct message_position at = s.upper.at;
    at.next_seq = 10;
    acknowledge(&s, at);
    acknowledge(&s, at); /* it repeats itself: what followed is not there */
    until(&s, greeted_twice);
    welcome(&s, 0, 1, at);
    until(&s, has_all);
    assert_int_equal(s.upper.from, 10);
    acknowledge(&s, at);
    settle(&s);
    assert_int_equal(s.upper.hellos, 2); /* too early */
    s.now += SENDER_AGAIN_LAST_NS;
    acknowledge(&s, at);
    s.upper.hellos = 0;
    until(&s, greeted);
    welcome(&s, 0, 1, at);
    until(&s, has_all);
    scene_end(&s);
}

/* What a collector may say that cannot be true; the packets behind sequence number 5 were not sent yet. */
static void lie(struct scene *s, bool in_welcome)
{
    const struct message_position at = s->upper.at;
    struct message_position lies[] = {at, at, at, at, at, at};
    lies[0].next_seq = UINT64_MAX;
    lies[1].next_seq = RECORDS + 2; /* cut, but never sent */
    lies[2].next_seq = RECORDS + 3; /* never cut */
    lies[3].instance++, lies[3].next_seq = 3;
    lies[4].ring = UINT32_MAX;
    lies[5].ring = 1;
    uint32_t *count = in_welcome ? &message.welcome.stream_count : &message.ack.stream_count;
    message.type = in_welcome ? MESSAGE_WELCOME : MESSAGE_ACK;
    message.welcome = (struct message_welcome){0};
    *count = MESSAGE_ROWS_MAX;
    for (uint32_t i = 0; i < MESSAGE_ROWS_MAX; i++) {
        struct message_position *row = in_welcome ? &message.welcome.streams[i] : &message.ack.streams[i];
        *row = lies[i % 6];
    }
    if (in_welcome)
        message.welcome.credit_bytes = 1;
    say(s);
}

static void lies_free_nothing(bool in_welcome)
{
    struct scene s;
    scene_begin(&s, 1); /* a packet at a time */
    expected = 1;
    until(&s, has_expected);
    while (s.upper.at.next_seq < 5) {
        expected++;
        acknowledge(&s, s.upper.at);
        until(&s, has_expected);
    }
    uint64_t before = waiting(&s);
    if (in_welcome) {
        fall_silent(&s);
    }
    lie(&s, in_welcome);
    settle(&s);
    assert_int_equal(waiting(&s), before);
    assert_true(sender_counts(s.forward)->impossible >= MESSAGE_ROWS_MAX / 2);
    assert_int_equal(external_note_count(s.fixture.external), 1); /* told, once */
    assert_string_equal(external_note(s.fixture.external, 0)->code, "BEZEL-AHEAD");
    scene_end(&s); /* and nothing is skipped */
}

TEST(who_acknowledges_what_it_never_got_frees_nothing)
{
    lies_free_nothing(false);
}

TEST(who_welcomes_with_positions_that_cannot_be_frees_nothing)
{
    lies_free_nothing(true);
}

TEST(a_collector_that_lost_what_it_had_acknowledged_is_noted_and_costs_nothing_else)
{
    struct scene s;
    scene_begin(&s, 0);
    until(&s, has_all);
    struct message_position at = s.upper.at;
    at.next_seq = 50;
    acknowledge(&s, at);
    settle(&s);
    uint64_t before = waiting(&s);
    fall_silent(&s);
    memset(&s.upper.at, 0, sizeof s.upper.at);
    at.next_seq = 20;
    welcome(&s, 0, 1, at);
    until(&s, has_all);
    assert_int_equal(s.upper.from, 50); /* what there is */
    assert_int_equal(waiting(&s), before);
    assert_string_equal(external_note(s.fixture.external, 0)->code, "BEZEL-BEHIND");
    scene_end(&s);
}

/* ---- The node's own books ---------------------------------------------------------------------------------------- */

static void record_without_room(void *unused)
{
    (void)unused;
    struct rlimit small = {4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &small) != 0)
        _exit(1);
    bezel_record(step, 1);
}

static bool has_node_books(struct scene *s)
{
    return s->upper.node_books == expected;
}

static void save_books(struct scene *s, uint64_t instance, uint64_t at)
{
    message.type = MESSAGE_BOOKS;
    message.books = (struct message_books){.instance = instance, .state = PROCESS_ENDED, .at = at};
    say(s);
    settle(s);
}

TEST(what_no_process_counts_is_sent_until_it_is_saved)
{
    struct scene s;
    scene_begin(&s, 0);
    hand_over(&s);
    external_housekeep(s.fixture.external, clock_now()); /* what it had is acknowledged: its books are final */
    settle(&s);
    assert_int_equal(s.upper.node_books, 0); /* there is nothing to say */
    save_books(&s, s.upper.instance, s.upper.process_at);
    assert_true(sender_booked(s.forward));
    for (expected = 1; expected <= 2; expected++) {
        assert_int_equal(fixture_wait(fixture_spawn(record_without_room, NULL)), 0);
        external_housekeep(s.fixture.external, clock_now());
        assert_false(sender_booked(s.forward));
        until(&s, has_node_books);
        assert_int_equal(s.upper.unobserved, expected);
    }
    settle(&s);
    assert_int_equal(s.upper.node_books, 2); /* once for each that comes */
    fall_silent(&s);
    welcome(&s, 0, 1, s.upper.at);
    expected = 3;
    until(&s, has_node_books); /* again, for they were not answered */
    assert_int_equal(s.upper.unobserved, 2);
    save_books(&s, 0, s.upper.node_at - 1); /* those before them were */
    assert_false(sender_booked(s.forward));
    save_books(&s, 0, s.upper.node_at);
    assert_true(sender_booked(s.forward));
    scene_close(&s);
}

/* ---- What a collector says instead of a welcome ------------------------------------------------------------------ */

static bool is_refused(struct scene *s)
{
    return sender_refused(s->forward) != NULL;
}

/* Says the message in `message` as another version of Bezel would. */
static void say_of_another_version(struct scene *s)
{
    int n = message_encode(&message, bytes, sizeof bytes);
    assert_true(n > 0);
    bytes[7]++; /* the format */
    assert_int_equal(link_send(s->upper.link, &s->upper.peer, bytes, (size_t)n), 0);
}

static void assert_gives_up(struct scene *s)
{
    uint64_t attempts = sender_counts(s->forward)->attempts;
    assert_false(sender_connected(s->forward));
    for (int i = 0; i < 100; i++, s->now += CLOCK_S)
        step(s->forward, s->now, false);
    assert_int_equal(sender_counts(s->forward)->attempts, attempts);
    assert_int_equal(s->upper.packets, 0);
}

/* Up to HELLO, which the collector has and has not answered. */
static void scene_greet(struct scene *s)
{
    scene_open(s);
    upper_open(s);
    sender_begin(s);
    until(s, greeted);
}

static bool greeted_in_time(struct scene *s)
{
    s->now += CLOCK_MS;
    return greeted(s);
}

TEST(who_is_refused_asks_the_next_one_and_gives_up_when_all_have_refused_and_knows_why)
{
    struct scene s;
    struct link *links[2];
    char data[96];
    scene_open(&s);
    upper_open(&s);
    links[1] = s.upper.link;
    snprintf(data, sizeof data, "%.90s", s.endpoint);
    strcat(s.endpoint, "2");
    assert_int_equal(link_bind(s.endpoint, PACKET_MAX_BYTES, NULL, &links[0]), 0);
    snprintf(s.endpoint, sizeof s.endpoint, "%s2 %s", data, data);
    sender_begin(&s);
    for (unsigned i = 0; i < 4; i++) { /* the second one welcomes, and is silent then */
        s.upper.link = links[i % 2];
        s.upper.hellos = 0;
        until(&s, greeted_in_time);
        assert_null(sender_refused(s.forward));
        message = (struct message){.type = i == 1 ? MESSAGE_WELCOME : MESSAGE_REFUSE};
        if (i != 1)
            snprintf(message.refuse.reason, sizeof message.refuse.reason, "refusal %u", i);
        say(&s);
        if (i == 1) {
            until(&s, connected);
            s.now += 3 * CLOCK_S;
        }
    }
    until(&s, is_refused);
    assert_string_equal(sender_refused(s.forward), "refusal 3");
    assert_gives_up(&s);
    link_close(links[0], 0);
    scene_close(&s);
}

TEST(a_greeting_of_another_version_is_a_refusal_and_later_it_is_damage)
{
    struct scene s;
    scene_greet(&s);
    message = (struct message){.type = MESSAGE_WELCOME};
    say_of_another_version(&s);
    until(&s, is_refused);
    assert_non_null(strstr(sender_refused(s.forward), "version"));
    assert_gives_up(&s);
    sender_close(s.forward, false);
    s.upper.hellos = 0;
    sender_begin(&s);
    meet(&s, 0);
    message = (struct message){.type = MESSAGE_WELCOME};
    say_of_another_version(&s);
    settle(&s);
    assert_null(sender_refused(s.forward));
    until(&s, has_all);
    scene_end(&s);
}

TEST(what_comes_before_the_welcome_acknowledges_nothing)
{
    struct scene s;
    scene_begin(&s, 0);
    until(&s, has_all);
    struct message_position all = s.upper.at;
    fall_silent(&s); /* all is sent, and nothing is acknowledged */
    uint64_t before = waiting(&s);
    acknowledge(&s, all);
    settle(&s);
    assert_false(sender_connected(s.forward));
    assert_int_equal(waiting(&s), before);
    welcome(&s, 0, 1, all);
    until(&s, connected);
    until(&s, is_empty);
    scene_close(&s);
}

TEST(who_connects_again_before_the_answer_came_sends_all_once)
{
    struct scene s;
    scene_begin(&s, 0);
    until(&s, has_all);
    for (int i = 0; i < 5; i++) /* each time greeted, and not answered */
        fall_silent(&s);
    assert_true(waiting(&s) > 0);
    welcome(&s, 0, 0, (struct message_position){0});
    until(&s, connected);
    until(&s, has_all); /* in order, and none twice: take_packet() */
    assert_int_equal(s.upper.from, 0);
    assert_int_equal(s.upper.packets, RECORDS + 2);
    scene_end(&s);
}
