// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The receiver of packets that pass directly, when a node is hostile, or gone: the others are served, and whoever
 * cannot be answered is gone.
 */
#include "collector/receive/receiver_internal.h"
#include "mdr/uplink/direct_internal.h"
#include "run/rundb/rundb_sqlite.h"
#include "tests/lib/fake_sensor.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { NODES = 2 };

static const uint8_t run_id[16] = "a run's identity";

static int answer_err; /* of the receiver's sends, as long as it is set */

int __wrap_link_send(struct link *link, const struct link_peer *peer, const void *data, size_t n);
int __real_link_send(struct link *link, const struct link_peer *peer, const void *data, size_t n);

int __wrap_link_send(struct link *link, const struct link_peer *peer, const void *data, size_t n)
{
    return peer && answer_err ? answer_err : __real_link_send(link, peer, data, n);
}

/* ---- a collector and nodes beside it ----------------------------------------------------------------------------- */

static struct model *model;
static struct rundb *rundb;
static struct store *store;
static struct link *link;
static struct receiver *in;

static struct beside {
    struct fake_sensor *f;
    char dir[SCRATCH_PATH + 8];
    struct folder folder;
    struct window *window;
    struct direct_offer offer;
} nodes[NODES];

static int open_node(struct beside *n, const char *name)
{
    uint64_t left;
    n->f = fake_new(name, run_id, 42);
    n->f->hello.attempt = 1;
    fake_add_process(n->f, "app", 1, ROLE_SUT);
    snprintf(n->dir, sizeof n->dir, "%s/%s", scratch_dir, name);
    if (mkdir(n->dir, 0700) != 0 || folder_open(n->dir, &n->folder) != 0 ||
        window_open(&n->folder, run_id, n->f->hello.uuid, WINDOW_BYTES_MIN, &n->window, &left) != 0)
        return -1;
    return window_add_stream(n->window, n->f->processes[0]->said.instance, 0, 1, 0) == 0 &&
                   direct_offer_open(&n->offer, n->dir, run_id, n->f->hello.uuid) == 0
               ? 0
               : -1;
}

static int begin(void **state)
{
    char endpoint[SCRATCH_PATH + 16];
    struct receiver_limits limits = {.connections = 4, .processes = 8};
    (void)state;
    int err = scratch_begin(NULL);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/data", scratch_dir);
    answer_err = 0;
    model = model_new("");
    if (err || rundb_open(scratch_dir, &rundb) != 0 || rundb_serve(rundb, false) != 0 ||
        store_open(scratch_dir, STORE_SYNC_NEVER, &store) != 0 ||
        link_bind(endpoint, PACKET_MAX_BYTES, NULL, &link) != 0)
        return -1;
    in = receiver_new(model, rundb, store, link, limits);
    return in ? open_node(&nodes[0], "desk") || open_node(&nodes[1], "lamp") : -1;
}

static int end(void **state)
{
    for (struct beside *n = nodes; n < nodes + NODES; n++) {
        fake_disconnect(n->f);
        fake_free(n->f);
        direct_offer_close(&n->offer);
        window_close(n->window, true);
        folder_close(&n->folder);
    }
    receiver_free(in);
    link_close(link, 0);
    assert_int_equal(rundb_close(rundb), 0);
    store_close(store);
    model_free(model);
    return scratch_end(state);
}

/* Turns until the receiver took `frames` of the link. */
static void take(int frames)
{
    int64_t deadline = clock_now() + PATIENCE;
    for (int taken = 0; taken < frames;) {
        assert_true(clock_now() < deadline);
        (void)link_wait(&link, 1, NULL, 0, 100 * CLOCK_MS);
        taken += receiver_turn(in);
    }
}

static void ask(struct beside *n)
{
    n->f->out->type = MESSAGE_DIRECT;
    n->f->out->direct = (struct message_direct){.attempt = n->f->hello.attempt, .proof = n->offer.page->proof};
    message_text(n->f->out->direct.text, MESSAGE_TEXT_MAX, n->dir);
    assert_true(fake_say(n->f));
    take(1);
}

static struct peer *peer_of(const struct beside *n)
{
    struct model_node *node = model_find_node(model, n->f->hello.uuid);
    return node ? receiver_find_node(in, node) : NULL;
}

static void meet(struct beside *n)
{
    assert_true(fake_connect(n->f, link_endpoint(link)));
    take(1);
    assert_true(fake_say_process(n->f, 0));
    take(1);
    ask(n);
    assert_non_null(peer_of(n)->direct);
    direct_offer_begin(&n->offer, window_oldest(n->window));
}

/* Packets of the node's process stand in its window, and are offered. */
static void offer(struct beside *n, unsigned packets)
{
    const struct fake_stream *s = &n->f->processes[0]->rings[0];
    for (unsigned i = 0; i < packets; i++) {
        struct packet_header h;
        uint64_t last = s->packets;
        fake_cut(n->f, 0, 0, 1);
        for (; last < s->packets; last++) { /* the first one opens the stream */
            const uint8_t *packet = s->bytes + s->starts[last];
            uint32_t bytes = (uint32_t)(s->starts[last + 1] - s->starts[last]);
            assert_int_equal(packet_get_header(packet, bytes, &h), 0);
            uint8_t *to = window_reserve(n->window, bytes);
            assert_non_null(to);
            memcpy(to, packet, bytes);
            window_commit(n->window, 0, &h);
        }
    }
    direct_offer_up_to(&n->offer, window_end(n->window), 0);
}

static uint64_t stored_of(const struct beside *n)
{
    const struct model_process *p = model_find_process(peer_of(n)->node, n->f->processes[0]->said.instance);
    const struct model_stream *s = p ? model_find_stream(p, 0) : NULL;
    return s ? s->at.next_seq : 0;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, a_node_that_never_stops_keeps_no_other_waiting)
{
    for (int first = 0; first < NODES; first++) {
        struct beside *floods = &nodes[first], *seldom = &nodes[1 - first];
        if (first == 0) {
            meet(floods);
            meet(seldom);
        }
        uint64_t before = stored_of(seldom);
        offer(floods, 20 * RECEIVER_BATCH);
        offer(seldom, 1);
        for (int turns = 0; turns < 2; turns++)
            assert_true(receiver_turn(in) > 0);
        assert_true(stored_of(seldom) > before);
        assert_true(stored_of(floods) < floods->f->processes[0]->rings[0].packets);
        while (receiver_turn(in) > 0)
            ;
        assert_int_equal(stored_of(floods), floods->f->processes[0]->rings[0].packets);
        window_acknowledge(floods->window, 0, stored_of(floods));
        window_free_each(floods->window, NULL, NULL);
    }
}

/* Connects, and never says what its process is. */
static void meet_without_process(struct beside *n)
{
    assert_true(fake_connect(n->f, link_endpoint(link)));
    take(1);
    ask(n);
    direct_offer_begin(&n->offer, window_oldest(n->window));
}

/* Its process is not taken, and nobody hears that its packets are thrown away. */
static void go_in_the_midst_of_packets(void (*first)(struct beside *n), void (*second)(struct beside *n),
                                       struct beside *gone, struct beside *stays)
{
    first(&nodes[0]);
    second(&nodes[1]);
    model->full = true;
    offer(gone, 5);
    answer_err = BEZEL_EUNREACH;
    (void)receiver_turn(in);
    answer_err = 0;
    assert_null(peer_of(gone));
    offer(stays, 5);
    (void)receiver_turn(in);
    assert_int_equal(stored_of(stays), stays->f->processes[0]->rings[0].packets);
    assert_int_equal(in->direct_count, 1);
}

TEST_WITH(begin, end, the_first_one_may_go_in_the_midst_of_its_packets)
{
    go_in_the_midst_of_packets(meet_without_process, meet, &nodes[0], &nodes[1]);
}

TEST_WITH(begin, end, the_last_one_may_go_in_the_midst_of_its_packets)
{
    go_in_the_midst_of_packets(meet, meet_without_process, &nodes[1], &nodes[0]);
}

TEST_WITH(begin, end, who_cannot_be_told_that_its_window_is_broken_is_gone)
{
    meet(&nodes[0]);
    atomic_store(&nodes[0].offer.page->to, UINT64_MAX / DIRECT_TAGS * DIRECT_TAGS + nodes[0].offer.tag);
    answer_err = BEZEL_EAGAIN;
    (void)receiver_turn(in);
    answer_err = 0;
    assert_null(peer_of(&nodes[0]));
}

TEST_WITH(begin, end, a_node_asks_once_for_each_greeting)
{
    meet(&nodes[0]);
    const struct direct_source *before = peer_of(&nodes[0])->direct;
    uint64_t refused = model->totals.refused;
    ask(&nodes[0]);
    assert_ptr_equal(peer_of(&nodes[0])->direct, before);
    nodes[0].f->hello.attempt--; /* it comes late */
    ask(&nodes[0]);
    assert_int_equal(model->totals.refused, refused + 2);
    nodes[0].f->hello.attempt += 2;
    meet(&nodes[0]);
}

/* Its last low watermark may be found only behind its BYE, with which it promised more. */
TEST_WITH(begin, end, a_node_that_left_holds_up_nobody)
{
    struct watermarks *file;
    struct watermark mark;
    assert_int_equal(watermarks_open(scratch_dir, &file), 0);
    receiver_set_watermarks(in, file);
    meet(&nodes[0]);
    nodes[0].f->out->type = MESSAGE_BYE;
    assert_true(fake_say(nodes[0].f));
    take(1);
    direct_offer_up_to(&nodes[0].offer, window_end(nodes[0].window), 1000);
    (void)receiver_turn(in);
    assert_int_equal(watermarks_read(scratch_dir, &mark, 1), 1);
    assert_true(mark.low == WATERMARK_LEFT);
    receiver_set_watermarks(in, NULL);
    watermarks_close(file);
}
