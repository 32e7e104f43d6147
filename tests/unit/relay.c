// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Relays between nodes and a root, over real links in one thread. The test is the nodes and the root, and makes the
 * time.
 */
#include "collector/relay/relay.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "mdr/link/shares.h"
#include "mdr/message.h"
#include "mdr/uplink/direct.h"
#include "tests/lib/fake_sensor.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { RELAYS = 11, NODES = 4 };

static const uint8_t run_id[16] = "a run's identity", other_run[16] = "another one's id";

static struct relay *relays[RELAYS]; /* the first one is next to the root */
static struct link *below[RELAYS];
static unsigned relay_count;
static struct link *root;
static struct fake_sensor *nodes[NODES];
static int64_t now;
static struct message message;
static uint8_t bytes[MESSAGE_MAX_BYTES];

/* ---- the scene --------------------------------------------------------------------------------------------------- */

static void place(char endpoint[LINK_ENDPOINT_MAX], const char *name, unsigned number)
{
    snprintf(endpoint, LINK_ENDPOINT_MAX, "ipc://%s/%s%u", scratch_dir, name, number);
}

static void open_root(void)
{
    char endpoint[LINK_ENDPOINT_MAX];
    place(endpoint, "root", 0);
    assert_int_equal(link_bind(endpoint, PACKET_MAX_BYTES, NULL, &root), 0);
    link_set_relay(root);
}

/* A relay below the last one, or below the root. `options`: its parents are filled in where there are none. */
static void add_relay(struct relay_options options)
{
    char endpoint[LINK_ENDPOINT_MAX];
    if (options.parent_count == 0) {
        place(options.parents[0], relay_count ? "relay" : "root", relay_count ? relay_count - 1 : 0);
        options.parent_count = 1;
    }
    options.children = options.children ? options.children : NODES;
    options.buffer = options.buffer ? options.buffer : RELAY_BUFFER_LEAST;
    place(endpoint, "relay", relay_count);
    assert_int_equal(link_bind(endpoint, PACKET_MAX_BYTES, NULL, &below[relay_count]), 0);
    relays[relay_count] = relay_new(below[relay_count], &options);
    assert_non_null(relays[relay_count]);
    relay_set_clock_port(relays[relay_count], 7000 + relay_count);
    relay_count++;
}

static int begin(void **state)
{
    now = CLOCK_S;
    relay_count = 0;
    root = NULL;
    return scratch_begin(state);
}

static int end(void **state)
{
    for (unsigned i = 0; i < NODES; i++) {
        if (nodes[i])
            fake_disconnect(nodes[i]);
        fake_free(nodes[i]);
        nodes[i] = NULL;
    }
    while (relay_count > 0) {
        relay_free(relays[--relay_count]);
        link_close(below[relay_count], 0);
    }
    link_close(root, 0);
    return scratch_end(state);
}

/* Node `i` says HELLO to the last relay. */
static void greet(unsigned i)
{
    static const char *const names[NODES] = {"desk", "rack", "belt", "arm"};
    if (!nodes[i])
        nodes[i] = fake_new(names[i], run_id, i);
    assert_non_null(nodes[i]);
    assert_true(fake_connect(nodes[i], link_endpoint(below[relay_count - 1])));
}

/* The relays move what there is, and wait a little where there is nothing. */
static void move(void)
{
    int taken = 0;
    for (unsigned i = 0; i < relay_count; i++)
        taken += relay_turn(relays[i], now);
    if (taken == 0) {
        struct link *links[RELAYS + NODES + 1];
        size_t n = 0;
        links[n++] = root;
        for (unsigned i = 0; i < relay_count; i++)
            links[n++] = relay_takes(relays[i]) ? below[i] : NULL;
        (void)link_wait(links, n, NULL, 0, CLOCK_MS);
    }
}

/* The next frame of type `type` for the root. */
static void root_takes(enum message_type type, struct link_frame *frame)
{
    int64_t deadline = clock_now() + PATIENCE;
    while (link_receive(root, frame) != 0) {
        move();
        assert_true(clock_now() < deadline);
    }
    assert_int_equal(message_type_of(frame->data, frame->size), type);
    link_frame_free(frame); /* its peer stays */
}

/* The next message for node `i`. */
static void node_takes(unsigned i, enum message_type type)
{
    struct link_frame frame;
    int64_t deadline = clock_now() + PATIENCE;
    while (link_receive(nodes[i]->link, &frame) != 0) {
        move();
        assert_true(clock_now() < deadline);
    }
    assert_int_equal(message_decode(frame.data, frame.size, &message), 0);
    link_frame_free(&frame);
    if (message.type == MESSAGE_DIRECT && message.direct.proof == 0 && type != MESSAGE_DIRECT)
        node_takes(i, type); /* an invitation: all of these nodes are on this machine */
    else
        assert_int_equal(message.type, type);
}

static void root_says(const struct link_peer *to)
{
    int n = message_encode(&message, bytes, sizeof bytes);
    assert_true(n > 0);
    assert_int_equal(link_send(root, to, bytes, (size_t)n), 0);
}

static void welcome(const struct link_peer *to, uint64_t credit)
{
    message = (struct message){.type = MESSAGE_WELCOME};
    message.welcome = (struct message_welcome){.credit_bytes = credit, .clock = "the root's clock", .clock_port = 99};
    root_says(to);
}

static void beat(const struct link_peer *to, uint64_t at)
{
    message = (struct message){.type = MESSAGE_HEARTBEAT, .heartbeat.at = at};
    root_says(to);
}

static void say_heartbeat(unsigned i)
{
    *nodes[i]->out = (struct message){.type = MESSAGE_HEARTBEAT};
    assert_true(fake_say(nodes[i]));
}

/* Node `i` is welcomed. Returns its peer at the root. */
static struct link_peer meet(unsigned i)
{
    struct link_frame hello;
    greet(i);
    root_takes(MESSAGE_HELLO, &hello);
    welcome(&hello.peer, 0);
    node_takes(i, MESSAGE_WELCOME);
    return hello.peer;
}

static bool is_dropped(uint64_t count)
{
    int64_t deadline = clock_now() + PATIENCE;
    while (relay_status(relays[relay_count - 1]).dropped < count && clock_now() < deadline)
        move();
    return relay_status(relays[relay_count - 1]).dropped == count;
}

static void pass(int64_t time)
{
    for (int64_t until = now + time; now < until; now += RELAY_TICK)
        for (unsigned i = 0; i < relay_count; i++)
            (void)relay_tick(relays[i], now);
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

TEST_WITH(begin, end, frames_of_each_node_come_to_the_root_and_answers_back)
{
    struct link_frame frame;
    open_root();
    add_relay((struct relay_options){0});
    add_relay((struct relay_options){0});
    struct link_peer peers[NODES];
    for (unsigned i = 0; i < NODES; i++)
        peers[i] = meet(i);
    for (unsigned i = 0; i < NODES; i++) {
        assert_memory_equal(peers[i].id, peers[0].id, sizeof peers[0].id); /* one connection */
        assert_int_equal(peers[i].path_size, 2 * (1 + peers[0].size));
        assert_int_equal(link_peer_is(&peers[i], &peers[0]), i == 0);
    }
    for (unsigned i = NODES; i-- > 0;) {
        say_heartbeat(i);
        root_takes(MESSAGE_HEARTBEAT, &frame);
        assert_true(link_peer_is(&frame.peer, &peers[i]));
    }
    for (unsigned i = 0; i < NODES; i++)
        beat(&peers[i], i + 1);
    for (unsigned i = NODES; i-- > 0;) {
        node_takes(i, MESSAGE_HEARTBEAT);
        assert_int_equal(message.heartbeat.at, i + 1);
    }
    assert_int_equal(relay_status(relays[0]).children, NODES);
    assert_int_equal(relay_status(relays[0]).frames, 2 * NODES);
    assert_int_equal(relay_status(relays[0]).dropped, 0);
}

TEST_WITH(begin, end, welcome_tells_the_least_credit_and_the_nearest_port)
{
    struct link_frame hello;
    open_root();
    add_relay((struct relay_options){.buffer = UINT64_C(8) << 20});
    add_relay((struct relay_options){.buffer = UINT64_C(16) << 20});
    greet(0);
    root_takes(MESSAGE_HELLO, &hello);
    welcome(&hello.peer, 0);
    node_takes(0, MESSAGE_WELCOME);
    assert_int_equal(message.welcome.credit_bytes, (UINT64_C(4) << 20) / NODES);
    assert_int_equal(message.welcome.clock_port, 7001);
    assert_memory_equal(message.welcome.clock, "the root's clock", 16);
    assert_int_equal(relay_clock(relays[0])->port, 99);
    assert_string_equal(relay_clock(relays[0])->parent, link_endpoint(root));
    assert_int_equal(relay_clock(relays[1])->port, 7000);
    welcome(&hello.peer, 1000);
    node_takes(0, MESSAGE_WELCOME);
    assert_int_equal(message.welcome.credit_bytes, 1000);
}

TEST_WITH(begin, end, what_a_root_of_another_version_says_is_the_nodes_to_refuse)
{
    struct link_frame hello;
    open_root();
    add_relay((struct relay_options){0});
    for (int i = 0; i < 2; i++) {
        greet(0);
        root_takes(MESSAGE_HELLO, &hello);
        message = (struct message){.type = i == 0 ? MESSAGE_WELCOME : MESSAGE_REFUSE};
        int n = message_encode(&message, bytes, sizeof bytes);
        bytes[7]++; /* the format */
        assert_int_equal(link_send(root, &hello.peer, bytes, (size_t)n), 0);
        struct link_frame frame;
        int64_t deadline = clock_now() + PATIENCE;
        while (link_receive(nodes[0]->link, &frame) != 0) {
            move();
            assert_true(clock_now() < deadline);
        }
        assert_int_equal(message_decode(frame.data, frame.size, &message), BEZEL_EVERSION);
        link_frame_free(&frame);
        assert_int_equal(relay_status(relays[0]).children, 1 - i);
        assert_int_equal(relay_status(relays[0]).forgotten, 0);
    }
}

TEST_WITH(begin, end, a_path_that_is_too_long_is_refused)
{
    struct link_frame hello;
    open_root();
    for (unsigned i = 0; i < 9; i++)
        add_relay((struct relay_options){0});
    greet(0);
    root_takes(MESSAGE_HELLO, &hello);
    assert_int_equal(hello.peer.path_size, LINK_PATH_MAX);
    add_relay((struct relay_options){0});
    greet(1);
    node_takes(1, MESSAGE_REFUSE);
    assert_non_null(strstr(message.refuse.reason, "more inner collectors"));
}

/* ---- children ---------------------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, who_did_not_say_hello_is_not_heard)
{
    open_root();
    add_relay((struct relay_options){0});
    struct link_peer peer = meet(0);
    nodes[1] = fake_new("rack", run_id, 1);
    int err = link_connect(link_endpoint(below[0]), PACKET_MAX_BYTES, 8, NULL, &nodes[1]->link);
    assert_int_equal(err, 0);
    uint64_t before = relay_status(relays[0]).dropped;
    say_heartbeat(1);
    assert_true(is_dropped(before + 1));
    beat(&peer, 1);
    node_takes(0, MESSAGE_HEARTBEAT);
}

TEST_WITH(begin, end, hellos_of_other_runs_and_versions_are_refused)
{
    open_root();
    add_relay((struct relay_options){.run = other_run});
    greet(0);
    node_takes(0, MESSAGE_REFUSE);
    assert_non_null(strstr(message.refuse.reason, "another run"));
    nodes[1] = fake_new("rack", other_run, 1);
    message = (struct message){.type = MESSAGE_HELLO, .hello = nodes[1]->hello};
    int n = message_encode(&message, bytes, sizeof bytes);
    assert_true(n > 0);
    bytes[7]++; /* the format */
    int err = link_connect(link_endpoint(below[0]), PACKET_MAX_BYTES, 8, NULL, &nodes[1]->link);
    assert_int_equal(err, 0);
    assert_int_equal(link_send(nodes[1]->link, NULL, bytes, (size_t)n), 0);
    node_takes(1, MESSAGE_REFUSE);
    assert_non_null(strstr(message.refuse.reason, "version"));
    assert_int_equal(relay_status(relays[0]).refused, 2);
    assert_int_equal(relay_status(relays[0]).children, 0);
}

TEST_WITH(begin, end, more_children_than_may_be_are_refused)
{
    open_root();
    add_relay((struct relay_options){.children = 1});
    meet(0);
    greet(1);
    node_takes(1, MESSAGE_REFUSE);
    struct link_frame frame;
    say_heartbeat(0);
    root_takes(MESSAGE_HEARTBEAT, &frame);
    *nodes[0]->out = (struct message){.type = MESSAGE_BYE};
    assert_true(fake_say(nodes[0]));
    root_takes(MESSAGE_BYE, &frame);
    message = (struct message){.type = MESSAGE_BYE};
    root_says(&frame.peer);
    node_takes(0, MESSAGE_BYE);
    assert_int_equal(relay_status(relays[0]).children, 0);
    meet(1); /* there is room again */
}

TEST_WITH(begin, end, the_latest_hello_of_a_node_counts)
{
    struct link_frame frame;
    open_root();
    add_relay((struct relay_options){0});
    struct link_peer first = meet(0);
    struct link *old = nodes[0]->link;
    nodes[0]->link = NULL; /* fake_connect() would close it */
    struct link_peer second = meet(0);
    assert_false(link_peer_is(&first, &second));
    assert_int_equal(relay_status(relays[0]).children, 1);
    message = (struct message){.type = MESSAGE_HEARTBEAT};
    int n = message_encode(&message, bytes, sizeof bytes);
    assert_int_equal(link_send(old, NULL, bytes, (size_t)n), 0);
    assert_true(is_dropped(1));
    message = (struct message){.type = MESSAGE_HELLO, .hello = nodes[0]->hello};
    message.hello.attempt--; /* as one that was long on its way */
    n = message_encode(&message, bytes, sizeof bytes);
    assert_int_equal(link_send(old, NULL, bytes, (size_t)n), 0);
    assert_true(is_dropped(2));
    say_heartbeat(0);
    root_takes(MESSAGE_HEARTBEAT, &frame);
    assert_true(link_peer_is(&frame.peer, &second));
    link_close(old, 0);
}

TEST_WITH(begin, end, silent_children_are_forgotten_and_then_the_parent_is_left)
{
    open_root();
    add_relay((struct relay_options){0});
    struct link_peer peer = meet(0);
    for (int i = 0; i < 5; i++) { /* the parent is there */
        pass(CLOCK_S);
        beat(&peer, 1);
        node_takes(0, MESSAGE_HEARTBEAT);
    }
    assert_int_equal(relay_status(relays[0]).children, 1);
    pass(2 * RELAY_TICK);
    assert_int_equal(relay_status(relays[0]).children, 0);
    assert_non_null(relay_above(relays[0]));
    pass(RELAY_CHILD_SILENCE + RELAY_TICK);
    assert_null(relay_above(relays[0]));
    assert_int_equal(relay_status(relays[0]).moves, 0);
    meet(0);
}

/* ---- parents ----------------------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, a_silent_parent_is_left_for_the_next_one)
{
    struct relay_options options = {.parent_count = 2};
    open_root();
    place(options.parents[0], "nobody", 0);
    place(options.parents[1], "root", 0);
    add_relay(options);
    greet(0);
    while (relay_status(relays[0]).children == 0)
        move();
    pass(RELAY_SILENCE - RELAY_TICK);
    assert_string_equal(relay_parent(relays[0]), options.parents[0]);
    pass(3 * RELAY_TICK);
    assert_string_equal(relay_parent(relays[0]), options.parents[1]);
    assert_int_equal(relay_status(relays[0]).moves, 1);
    assert_int_equal(relay_status(relays[0]).children, 0);
    assert_non_null(strstr(relay_trouble(relays[0]), "nobody0 has not answered"));
    say_heartbeat(0); /* nobody knows it */
    assert_true(is_dropped(1));
    struct link_peer peer = meet(0);
    assert_null(relay_trouble(relays[0]));
    for (int i = 0; i < 4; i++) { /* it answers, and is not left */
        pass(CLOCK_S);
        say_heartbeat(0);
        beat(&peer, 1);
        node_takes(0, MESSAGE_HEARTBEAT);
    }
    assert_int_equal(relay_status(relays[0]).moves, 1);
    pass(RELAY_SILENCE + 2 * RELAY_TICK);
    assert_string_equal(relay_parent(relays[0]), options.parents[0]); /* and so on */
}

TEST_WITH(begin, end, a_circle_of_parents_is_told_and_nothing_goes_round_it)
{
    struct relay_options options = {.parent_count = 1};
    place(options.parents[0], "relay", 1);
    add_relay(options);
    add_relay((struct relay_options){0});
    greet(0);
    assert_true(is_dropped(1));
    assert_true(relay_status(relays[1]).circle);
    assert_false(relay_status(relays[0]).circle);
    say_heartbeat(0);
    assert_true(is_dropped(2));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(relay_status(relays[i]).frames, 2);
        assert_int_equal(relay_status(relays[i]).children, 1);
    }
}

TEST_WITH(begin, end, the_same_hello_over_two_connections_is_no_circle)
{
    open_root();
    add_relay((struct relay_options){0});
    struct link_peer first = meet(0);
    struct link *old = nodes[0]->link;
    nodes[0]->link = NULL;
    nodes[0]->hello.attempt--; /* which fake_connect() counts up */
    greet(0);
    assert_true(is_dropped(1));
    assert_false(relay_status(relays[0]).circle);
    struct link *late = nodes[0]->link;
    nodes[0]->link = old;
    beat(&first, 1); /* the first connection is the node's */
    node_takes(0, MESSAGE_HEARTBEAT);
    link_close(late, 0);
}

TEST_WITH(begin, end, who_greets_without_end_is_dropped_and_nobody_else)
{
    struct link_frame frame;
    int64_t deadline = clock_now() + PATIENCE;
    open_root();
    add_relay((struct relay_options){0});
    struct link_peer peer = meet(0);
    greet(1);
    root_takes(MESSAGE_HELLO, &frame);
    for (uint64_t i = 0; i < 5000; i++) {
        *nodes[1]->out = (struct message){.type = MESSAGE_HELLO, .hello = nodes[1]->hello};
        nodes[1]->out->hello.attempt += i;
        memcpy(nodes[1]->out->hello.uuid, &i, sizeof i); /* a trace each */
        while (!fake_say(nodes[1])) {                    /* the link holds so many until its thread gets a CPU */
            assert_true(clock_now() < deadline);
            move();
        }
        move();
    }
    while (relay_status(relays[0]).frames + relay_status(relays[0]).dropped < 5002)
        move();
    assert_in_range(relay_status(relays[0]).frames, SHARE_HELLOS_BURST, SHARE_HELLOS_BURST + SHARE_HELLOS + 3);
    assert_in_range(relay_status(relays[0]).refused, 4900, 5000);
    assert_int_equal(relay_status(relays[0]).children, 2);
    for (uint64_t i = 2; i < relay_status(relays[0]).frames; i++)
        root_takes(MESSAGE_HELLO, &frame);
    beat(&peer, 1);
    node_takes(0, MESSAGE_HEARTBEAT);
    say_heartbeat(0);
    root_takes(MESSAGE_HEARTBEAT, &frame);
    assert_true(link_peer_is(&frame.peer, &peer));
}

/* Sends a frame of `n` bytes that looks like a packet. */
static void send_bytes(unsigned i, size_t n)
{
    static uint8_t packet[PACKET_MAX_BYTES] = {0xC1, 0xFC, 0x1F, 0xC1};
    assert_true(n <= sizeof packet && fake_send(nodes[i], packet, n));
}

TEST_WITH(begin, end, who_floods_is_forgotten_and_nobody_else)
{
    struct relay_options options = {.parent_count = 1};
    place(options.parents[0], "nobody", 0);
    add_relay(options);
    greet(0);
    greet(1);
    while (relay_status(relays[0]).children < 2)
        move();
    uint64_t credit = RELAY_BUFFER_LEAST / 2 / NODES, most = 0;
    int64_t deadline = clock_now() + PATIENCE;
    while (relay_status(relays[0]).forgotten == 0) {
        if (relay_status(relays[0]).held < RELAY_BUFFER_LEAST)
            send_bytes(0, 64 << 10);
        move();
        uint64_t held = relay_status(relays[0]).held;
        most = held > most ? held : most;
        assert_true(clock_now() < deadline);
    }
    assert_int_equal(relay_status(relays[0]).children, 1);
    assert_in_range(most, credit + RELAY_EXCESS, credit + RELAY_EXCESS + (256 << 10));
    uint64_t before = relay_status(relays[0]).frames;
    send_bytes(1, 1000);
    while (relay_status(relays[0]).frames == before && clock_now() < deadline)
        move();
    assert_int_equal(relay_status(relays[0]).frames, before + 1);
}

TEST_WITH(begin, end, nothing_is_taken_while_the_buffer_is_full_and_nothing_is_lost)
{
    struct link_frame frame;
    struct relay_options options = {.children = 64};
    uint64_t sent = 0, came = 0;
    add_relay(options);
    for (unsigned i = 0; i < NODES; i++)
        greet(i);
    while (relay_status(relays[0]).children < NODES)
        move();
    /* Within what a node may have under way, and more than fits in all. */
    for (unsigned k = 0; k < 17; k++)
        for (unsigned i = 0; i < NODES; i++, sent++)
            send_bytes(i, 60000);
    int64_t deadline = clock_now() + PATIENCE;
    while (relay_takes(relays[0]) && relay_status(relays[0]).frames < sent + NODES && clock_now() < deadline)
        move();
    bool filled = !relay_takes(relays[0]);
    assert_true(relay_status(relays[0]).held <= RELAY_BUFFER_LEAST);
    open_root();
    while (came < sent + NODES) {
        move();
        assert_true(clock_now() < deadline);
        while (link_receive(root, &frame) == 0) {
            came++;
            link_frame_free(&frame);
        }
    }
    assert_true(filled);
    assert_int_equal(relay_status(relays[0]).forgotten, 0);
    assert_int_equal(relay_status(relays[0]).dropped, 0);
    assert_true(relay_takes(relays[0]));
}

TEST_WITH(begin, end, a_child_that_does_not_read_is_forgotten)
{
    open_root();
    add_relay((struct relay_options){0});
    struct link_peer peer = meet(0);
    int64_t deadline = clock_now() + PATIENCE;
    message = (struct message){.type = MESSAGE_ACK, .ack.stream_count = MESSAGE_ROWS_MAX};
    for (uint32_t i = 0; i < MESSAGE_ROWS_MAX; i++)
        message.ack.streams[i].instance = i;
    int n = message_encode(&message, bytes, sizeof bytes);
    while (relay_status(relays[0]).forgotten == 0) {
        int err = link_send(root, &peer, bytes, (size_t)n);
        assert_true(!err || err == BEZEL_EAGAIN);
        move();
        assert_true(clock_now() < deadline);
    }
    assert_int_equal(relay_status(relays[0]).children, 0);
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static struct {
    char dir[SCRATCH_PATH + 8];
    struct folder folder;
    struct window *window;
    struct direct_offer offer;
} beside; /* node 0 */

static void open_window(void)
{
    uint64_t left;
    snprintf(beside.dir, sizeof beside.dir, "%s/desk", scratch_dir);
    assert_int_equal(mkdir(beside.dir, 0700), 0);
    assert_int_equal(folder_open(beside.dir, &beside.folder), 0);
    const uint8_t *uuid = nodes[0]->hello.uuid;
    assert_int_equal(window_open(&beside.folder, run_id, uuid, WINDOW_BYTES_MIN, &beside.window, &left), 0);
    fake_add_process(nodes[0], "app", 1, ROLE_SUT);
    assert_int_equal(window_add_stream(beside.window, nodes[0]->processes[0]->said.instance, 0, 1, 0), 0);
    assert_int_equal(direct_offer_open(&beside.offer, beside.dir, run_id, uuid), 0);
}

static void close_window(void)
{
    direct_offer_close(&beside.offer);
    window_close(beside.window, true);
    folder_close(&beside.folder);
}

static void ask_direct(void)
{
    nodes[0]->out->type = MESSAGE_DIRECT;
    nodes[0]->out->direct =
        (struct message_direct){.attempt = nodes[0]->hello.attempt, .proof = beside.offer.page->proof};
    message_text(nodes[0]->out->direct.text, MESSAGE_TEXT_MAX, beside.dir);
    assert_true(fake_say(nodes[0]));
}

/* The node is invited, and asks. */
static struct link_peer meet_beside(void)
{
    uint8_t own[16];
    char text[37];
    struct link_peer peer = meet(0);
    clock_identity(own);
    node_takes(0, MESSAGE_DIRECT);
    assert_true(message.direct.proof == 0 && message.direct.agreed);
    assert_string_equal(message.direct.text, uuid_print(own, text));
    open_window();
    ask_direct();
    node_takes(0, MESSAGE_DIRECT);
    assert_true(message.direct.agreed && message.direct.proof == beside.offer.page->proof);
    direct_offer_begin(&beside.offer, window_oldest(beside.window));
    return peer;
}

/* The node's next packets stand in the window: returns the number of the first one. */
static uint64_t cut(void)
{
    const struct fake_stream *s = &nodes[0]->processes[0]->rings[0];
    struct packet_header h;
    uint64_t first = s->packets;
    fake_cut(nodes[0], 0, 0, 1);
    for (uint64_t i = first; i < s->packets; i++) { /* the first one opens the stream */
        uint32_t n = (uint32_t)(s->starts[i + 1] - s->starts[i]);
        assert_int_equal(packet_get_header(s->bytes + s->starts[i], n, &h), 0);
        uint8_t *to = window_reserve(beside.window, n);
        assert_non_null(to);
        memcpy(to, s->bytes + s->starts[i], n);
        window_commit(beside.window, 0, &h);
    }
    return first;
}

/* The root gets the node's packets from `first` on. */
static void assert_packets(uint64_t first, const struct link_peer *from)
{
    struct link_frame frame;
    int64_t deadline = clock_now() + PATIENCE;
    const struct fake_stream *s = &nodes[0]->processes[0]->rings[0];
    for (uint64_t i = first; i < s->packets; i++) {
        while (link_receive(root, &frame) != 0) {
            move();
            assert_true(clock_now() < deadline);
        }
        assert_true(link_peer_is(&frame.peer, from));
        assert_int_equal(frame.size, s->starts[i + 1] - s->starts[i]);
        assert_memory_equal(frame.data, s->bytes + s->starts[i], frame.size);
        link_frame_free(&frame);
    }
}

TEST_WITH(begin, end, packets_of_a_window_go_up_behind_what_was_said_before_them)
{
    struct link_frame frame;
    open_root();
    add_relay((struct relay_options){0});
    struct link_peer peer = meet_beside();
    uint64_t first = cut();
    direct_offer_said(&beside.offer, 1);
    direct_offer_up_to(&beside.offer, window_end(beside.window), 5000);
    for (int i = 0; i < 20; i++)
        move();
    assert_int_equal(link_receive(root, &frame), BEZEL_EAGAIN);
    assert_true(fake_say_process(nodes[0], 0));
    root_takes(MESSAGE_PROCESS, &frame);
    assert_packets(first, &peer);
    root_takes(MESSAGE_WATERMARK, &frame);
    assert_true(link_peer_is(&frame.peer, &peer));
    first = cut();
    direct_offer_up_to(&beside.offer, window_end(beside.window), 0);
    assert_packets(first, &peer);
    close_window();
}

TEST_WITH(begin, end, a_window_that_is_no_window_any_more_is_left)
{
    open_root();
    add_relay((struct relay_options){0});
    (void)meet_beside();
    (void)cut();
    direct_offer_up_to(&beside.offer, window_end(beside.window) + 2 * WINDOW_BYTES_MIN, 0);
    node_takes(0, MESSAGE_DIRECT);
    assert_false(message.direct.agreed);
    assert_int_equal(relay_status(relays[0]).children, 1);
    ask_direct(); /* not invited any more: it is the root's to answer */
    struct link_frame frame;
    root_takes(MESSAGE_DIRECT, &frame);
    close_window();
}

/* A root on this machine reads windows itself. */
TEST_WITH(begin, end, beside_the_root_nobody_is_invited)
{
    struct link_frame hello;
    open_root();
    add_relay((struct relay_options){0});
    greet(0);
    root_takes(MESSAGE_HELLO, &hello);
    message = (struct message){.type = MESSAGE_WELCOME};
    clock_identity(message.welcome.clock);
    root_says(&hello.peer);
    node_takes(0, MESSAGE_WELCOME);
    open_window();
    beat(&hello.peer, 1);
    struct link_frame frame;
    while (link_receive(nodes[0]->link, &frame) != 0)
        move();
    assert_int_equal(message_type_of(frame.data, frame.size), MESSAGE_HEARTBEAT);
    link_frame_free(&frame);
    ask_direct();
    root_takes(MESSAGE_DIRECT, &frame);
    close_window();
}
