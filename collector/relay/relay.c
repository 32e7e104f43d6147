// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/relay/relay_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "mdr/packet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    TURN_FRAMES = 256,  /* taken from each side in a turn */
    UP_QUEUE = 1 << 20, /* frames in ZeroMQ's queue to the parent: more than `buffer` allows, so that is the bound */
};

/* A frame in a queue to the parent. */
struct under_way {
    struct relay *relay;
    struct relay_child *child;
    struct link_frame frame;
    uint8_t copy[]; /* the frame's bytes, where they are not the link's */
};

struct relay *relay_new(struct link *below, const struct relay_options *options)
{
    struct relay *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->below = below;
    r->options = *options;
    if ((r->has_run = options->run != NULL))
        memcpy(r->run, options->run, sizeof r->run);
    r->credit = options->buffer / 2 / options->children;
    if (r->credit < RELAY_CREDIT_LEAST)
        r->credit = RELAY_CREDIT_LEAST;
    link_set_relay(below);
    r->unidentified_peers = unidentified_peers_new(link_endpoint(below));
    if (r->unidentified_peers && relay_children_open(r) == 0)
        return r;
    relay_free(r);
    return NULL;
}

/* ZeroMQ's threads let go of frames some time after the link was closed. */
static void wait_for_frames(struct relay *r)
{
    for (struct relay_child *c = r->forgotten; c; c = c->next)
        while (atomic_load_explicit(&c->held, memory_order_acquire) != 0) /* I1 acquire: pairs I0 */
            nanosleep(&(struct timespec){.tv_nsec = CLOCK_MS}, NULL);
}

void relay_free(struct relay *r)
{
    if (!r)
        return;
    link_close(r->above, 0);
    relay_forget_all(r);
    wait_for_frames(r);
    relay_children_close(r);
    unidentified_peers_free(r->unidentified_peers);
    free(r);
}

struct link *relay_above(const struct relay *r)
{
    return r->above;
}

const char *relay_parent(const struct relay *r)
{
    return r->options.parents[r->parent];
}

const struct relay_clock *relay_clock(const struct relay *r)
{
    return &r->clock;
}

void relay_set_clock_port(struct relay *r, uint32_t port)
{
    r->clock_port = port;
}

struct relay_status relay_status(const struct relay *r)
{
    struct relay_status s = r->status;
    s.held = atomic_load_explicit(&r->held, memory_order_relaxed); /* relaxed: a number to show */
    return s;
}

const char *relay_trouble(const struct relay *r)
{
    return r->trouble[0] ? r->trouble : NULL;
}

bool relay_takes(const struct relay *r)
{
    uint64_t held = atomic_load_explicit(&r->held, memory_order_relaxed); /* relaxed: a bound with room behind it */
    return held + PACKET_MAX_BYTES <= r->options.buffer;
}

/* ---- the parent -------------------------------------------------------------------------------------------------- */

static void hang_up(struct relay *r)
{
    link_close(r->above, 0);
    r->above = NULL;
    r->clock = (struct relay_clock){.port = 0};
    relay_forget_all(r);
}

/* Connects to the parent, unless it is. Returns whether there is a link. */
static bool reach(struct relay *r, int64_t now)
{
    if (r->above)
        return true;
    int err = link_connect(relay_parent(r), MESSAGE_MAX_BYTES, UP_QUEUE, r->options.keys, &r->above);
    if (err) {
        log_warn("BEZEL-RELAY-PARENT", "cannot connect to the parent at %s: %s", relay_parent(r), ulimit_reason(err));
        return false;
    }
    link_set_relay(r->above);
    r->answered_at = now;
    return true;
}

/* Without children nobody lacks the parent. */
static void rest(struct relay *r)
{
    hang_up(r);
    r->trouble[0] = '\0';
}

static void leave_silent_parent(struct relay *r, int64_t now)
{
    const char *silent = relay_parent(r);
    r->parent = (r->parent + 1) % r->options.parent_count;
    r->status.moves++;
    r->status.circle = r->status.circle && r->options.parent_count == 1; /* else it is another way */
    const char *why = link_trouble(r->above);
    snprintf(r->trouble, sizeof r->trouble, "the parent at %s %s", silent, why ? why : "has not answered for 1.5 s");
    log_warn("BEZEL-RELAY-PARENT", "%s: connecting to %s%s", r->trouble, relay_parent(r),
             r->options.parent_count == 1 ? " again" : "");
    hang_up(r);
    (void)!reach(r, now);
}

/* ---- from below -------------------------------------------------------------------------------------------------- */

int relay_send_below(struct relay *r, const struct link_peer *to)
{
    int n = message_encode(&r->message, r->bytes, sizeof r->bytes);
    return n < 0 ? n : link_send(r->below, to, r->bytes, (size_t)n);
}

static void refuse(struct relay *r, const struct link_peer *peer, const char *reason)
{
    r->status.refused++;
    log_warn("BEZEL-PEER-REFUSED", "%s", reason);
    r->message.type = MESSAGE_REFUSE;
    message_text(r->message.refuse.reason, MESSAGE_TEXT_MAX, reason);
    (void)!relay_send_below(r, peer); /* without an answer it says HELLO again */
}

/* Whether what says HELLO may be a child; else it is refused. */
static bool is_admitted(struct relay *r, const struct link_frame *frame)
{
    char reason[3 * KEY_NAME_MAX + 192] = "";
    const struct message_hello *hello = &r->message.hello;
    if (!link_may(frame, KEY_OBSERVE))
        snprintf(reason, sizeof reason, "your key does not have the role observe at this inner collector");
    else if (!link_speaks_for(r->below, frame, hello->node))
        snprintf(reason, sizeof reason,
                 "key %s does not speak for node %s: add the node to 'nodes:' in %s.pub, in the inner collector's "
                 "folder of keys",
                 frame->key, hello->node, frame->key);
    else if (r->has_run && memcmp(hello->run, r->run, sizeof r->run) != 0)
        snprintf(reason, sizeof reason, "this inner collector serves another run");
    if (reason[0])
        refuse(r, &frame->peer, reason);
    return !reason[0];
}

/*
 * Whether a frame from `peer` has been here before, from `child`: its path ends with what this collector put before the
 * child's own when it passed the frame up. A child does not know that id.
 */
static bool has_come_back(const struct link_peer *peer, const struct relay_child *child)
{
    const struct link_peer *own = &child->peer;
    uint8_t tail[1 + LINK_PEER_MAX + LINK_PATH_MAX];
    size_t n = 1 + (size_t)own->size + own->path_size;
    tail[0] = own->size;
    memcpy(tail + 1, own->id, own->size);
    memcpy(tail + 1 + own->size, own->path, own->path_size);
    return peer->path_size >= n && memcmp(peer->path + peer->path_size - n, tail, n) == 0;
}

/* A HELLO that a child has sent came again, from another inner collector: what goes up there comes down here. */
static void say_circle(struct relay *r, const struct relay_child *child)
{
    if (!r->status.circle)
        log_warn(
            "BEZEL-RELAY-CIRCLE",
            "what node %s sends came back from %s: parents of inner collectors form a circle, and do not reach the "
            "root; correct --parent",
            child->node, relay_parent(r));
    r->status.circle = true;
}

/* Whether a later HELLO of the node came over another connection. */
static bool is_late(struct relay *r, const struct link_peer *peer, const struct message_hello *hello)
{
    const struct relay_child *other = relay_other(r, peer, hello);
    if (other && hello->attempt == other->attempt && has_come_back(peer, other))
        say_circle(r, other);
    return other && hello->attempt <= other->attempt;
}

/* The share of a node that says HELLO; NULL: the HELLO is dropped, because it is beyond that, or memory is short. */
static struct share *share_of(struct relay *r, const struct message_hello *hello, int64_t now)
{
    struct share *share = shares_of(r->shares, hello->node);
    if (!share || share_hello(share, now))
        return share;
    log_warn("BEZEL-NODE-SHARE",
             "node %s sends HELLO more than 8 times a second, which is its share: further ones are dropped",
             hello->node);
    r->status.refused++;
    return NULL;
}

_Static_assert(SHARE_HELLOS == 8, "share_of() says so");

/* The child that the frame is from; NULL: it is dropped. */
static struct relay_child *take_hello(struct relay *r, const struct link_frame *frame, int64_t now)
{
    int err = message_decode(frame->data, frame->size, &r->message);
    if (err == BEZEL_EVERSION)
        refuse(r, &frame->peer, r->message.refuse.reason);
    struct share *share = err || !is_admitted(r, frame) ? NULL : share_of(r, &r->message.hello, now);
    if (!share || is_late(r, &frame->peer, &r->message.hello))
        return NULL;
    struct relay_child *child = relay_add(r, &frame->peer, &r->message.hello, share);
    if (child)
        child->connection = link_connection(frame);
    else
        refuse(r, &frame->peer,
               "this inner collector serves as many nodes as it may, or as many connections of this node as are its "
               "share: give it more, or the node another parent");
    return child;
}

static void let_go(void *data, void *hint)
{
    struct under_way *u = hint;
    struct relay *r = u->relay;
    struct relay_child *child = u->child;
    uint64_t bytes = u->frame.size;
    if (data != u->copy)
        link_frame_free(&u->frame);
    free(u);
    relay_let_go(r, child, bytes);
}

/* Whether the node has so much under way as no correct one has, also if it began anew while its frames waited. */
static bool is_beyond_credit(const struct relay *r, const struct relay_child *child)
{
    uint64_t held = atomic_load_explicit(&child->held, memory_order_relaxed); /* relaxed: a bound with room behind it */
    return held > r->credit + RELAY_EXCESS || relay_held_of(r, child) > 2 * r->credit + RELAY_EXCESS;
}

/* Passes the frame on, which is *u's, and not its caller's any more. */
static void pass_up(struct relay *r, struct under_way *u, struct relay_child *child)
{
    uint64_t bytes = u->frame.size;
    u->relay = r;
    u->child = child;
    relay_hold(r, child, bytes);
    int err = link_send_shared(r->above, &u->frame.peer, (void *)u->frame.data, bytes, let_go, u);
    if (!err) {
        r->status.frames++;
        r->status.bytes += bytes;
    } else if (err == BEZEL_EFULL) {
        refuse(r, &child->peer, "there are more inner collectors above this node than a path has room for");
        relay_forget(r, child);
    } else
        relay_forget(r, child); /* the frame is lost, so it has to begin anew */
}

bool relay_pass_copy(struct relay *r, struct relay_child *child, const void *data, uint32_t n)
{
    struct under_way *u = malloc(sizeof *u + n);
    if (!u)
        return false;
    memcpy(u->copy, data, n);
    u->frame = (struct link_frame){.peer = child->peer, .data = u->copy, .size = n};
    pass_up(r, u, child);
    return true;
}

static struct relay_child *sender_of(struct relay *r, const struct link_frame *frame, int64_t now)
{
    if (message_type_of(frame->data, frame->size) == MESSAGE_HELLO)
        return take_hello(r, frame, now);
    return frame->roles & KEY_OBSERVE ? relay_find(r, &frame->peer) : NULL;
}

/* Returns whether there was a frame. */
static bool take_below(struct relay *r, int64_t now)
{
    struct under_way *u = malloc(sizeof *u);
    if (!u || link_receive(r->below, &u->frame) != 0) {
        free(u);
        return false;
    }
    struct relay_child *child = sender_of(r, &u->frame, now);
    if (child && is_beyond_credit(r, child)) {
        log_warn("BEZEL-PEER-RATE", "node %s sends more than its credit: it has to connect again", child->node);
        r->status.forgotten++;
        relay_forget(r, child);
        child = NULL;
    }
    if (child && child->invited && message_type_of(u->frame.data, u->frame.size) == MESSAGE_DIRECT) {
        relay_on_direct(r, child, &u->frame);
        link_frame_free(&u->frame);
        free(u);
        return true;
    }
    if (child && reach(r, now)) {
        child->heard_at = now;
        child->heard++;
        pass_up(r, u, child);
        return true;
    }
    r->status.dropped++;
    link_frame_free(&u->frame);
    free(u);
    return true;
}

/* ---- from above -------------------------------------------------------------------------------------------------- */

/*
 * WELCOME with this collector's credit, and its port for questions. One that cannot be read, as of another version, is
 * the node's to refuse. Returns as link_send().
 */
static int pass_welcome(struct relay *r, const struct link_frame *frame, struct relay_child *child)
{
    struct message_welcome *w = &r->message.welcome;
    if (message_decode(frame->data, frame->size, &r->message) != 0)
        return link_send(r->below, &frame->peer, frame->data, frame->size);
    r->status.circle = false;
    memcpy(r->clock.identity, w->clock, sizeof r->clock.identity);
    r->clock.port = w->clock_port;
    snprintf(r->clock.parent, sizeof r->clock.parent, "%s", relay_parent(r));
    if (w->credit_bytes == 0 || w->credit_bytes > r->credit)
        w->credit_bytes = r->credit;
    w->clock_port = r->clock_port;
    bool whole = !w->more;
    int err = relay_send_below(r, &frame->peer);
    if (!err && whole)
        relay_invite(r, child);
    return err;
}

static void pass_down(struct relay *r, const struct link_frame *frame, struct relay_child *child)
{
    int type = message_type_of(frame->data, frame->size);
    int err = type == MESSAGE_WELCOME ? pass_welcome(r, frame, child)
                                      : link_send(r->below, &frame->peer, frame->data, frame->size);
    bool leaves = type == MESSAGE_BYE || type == MESSAGE_REFUSE;
    if (err && err != BEZEL_EUNREACH) { /* it misses an answer, so it has to begin again */
        log_warn("BEZEL-RELAY-CHILD", "node %s does not receive its answers: it has to connect again", child->node);
        r->status.forgotten++;
    }
    if (leaves)
        child->share->left = true;
    if (err || leaves)
        relay_forget(r, child);
}

static bool take_above(struct relay *r, int64_t now)
{
    struct link_frame frame;
    if (!r->above || link_receive(r->above, &frame) != 0)
        return false;
    struct relay_child *child = relay_find(r, &frame.peer);
    r->answered_at = now;
    r->trouble[0] = '\0';
    if (child)
        pass_down(r, &frame, child); /* which may forget it */
    else
        r->status.dropped++;
    link_frame_free(&frame);
    return true;
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

int relay_turn(struct relay *r, int64_t now)
{
    int taken = 0;
    for (int i = 0; i < TURN_FRAMES && take_above(r, now); i++)
        taken++;
    for (int i = 0; i < TURN_FRAMES && relay_takes(r) && take_below(r, now); i++)
        taken++;
    return taken + relay_take_windows(r, TURN_FRAMES);
}

int64_t relay_tick(struct relay *r, int64_t now)
{
    if (now < r->tick_at)
        return r->tick_at;
    relay_look_at_children(r, now);
    if (r->above && r->status.children == 0 && now - r->answered_at > RELAY_CHILD_SILENCE)
        rest(r);
    else if (r->above && r->status.children > 0 && now - r->answered_at > RELAY_SILENCE)
        leave_silent_parent(r, now);
    if (now >= r->unidentified_at) {
        relay_end_unidentified(r, now);
        r->unidentified_at = now + UNIDENTIFIED_PEERS_EVERY;
    }
    return r->tick_at = now + RELAY_TICK;
}
