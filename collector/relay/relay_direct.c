// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Packets of nodes on this machine, read out of their windows (mdr/uplink/direct.h) where the root is on another one. A
 * node learns the root's clock alone, and asks nobody: so it is invited, by a DIRECT without a proof, once it has its
 * WELCOME. Its packets go up as frames, between those that it sends over the link, and the root's positions acknowledge
 * them as ever. No packet goes up before a message that the node sent before it (direct_reader_said()).
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/uuid.h"
#include "collector/relay/relay_internal.h"
#include <string.h>

/* ---- agreeing ---------------------------------------------------------------------------------------------------- */

static int answer(struct relay *r, const struct relay_child *child, uint64_t proof, bool agreed, const char *text)
{
    r->message.type = MESSAGE_DIRECT;
    r->message.direct = (struct message_direct){.attempt = child->attempt, .proof = proof, .agreed = agreed};
    message_text(r->message.direct.text, MESSAGE_TEXT_MAX, text);
    return relay_send_below(r, &child->peer);
}

/* A root on this machine reads the window itself, and a node below a child is another collector's to invite. */
void relay_invite(struct relay *r, struct relay_child *child)
{
    uint8_t own[16];
    char text[37];
    clock_identity(own);
    if (child->peer.path_size == 0 && memcmp(own, r->clock.identity, sizeof own) != 0)
        child->invited = answer(r, child, 0, true, uuid_print(own, text)) == 0;
}

void relay_on_direct(struct relay *r, struct relay_child *child, const struct link_frame *frame)
{
    char why[DIRECT_WHY_MAX] = "the inner collector reads as many windows as it can";
    const struct message_direct *m = &r->message.direct;
    if (message_decode(frame->data, frame->size, &r->message) != 0 || m->attempt != child->attempt) {
        r->status.dropped++;
        return;
    }
    child->invited = false; /* once for each HELLO */
    child->proof = m->proof;
    child->heard = 0;
    bool agreed = r->windows < RELAY_WINDOWS &&
                  direct_reader_open(m->text, child->run, child->uuid, m->proof, &child->window, why) == 0;
    r->windows += agreed;
    if (!agreed)
        log_info("BEZEL-DIRECT", "node %s: packets take the link: %s", child->node, why);
    if (answer(r, child, child->proof, agreed, agreed ? "" : why) != 0)
        relay_forget(r, child);
}

void relay_leave_window(struct relay *r, struct relay_child *child)
{
    if (!child->window)
        return;
    direct_reader_close(child->window);
    child->window = NULL;
    r->windows--;
}

/* ---- taking ------------------------------------------------------------------------------------------------------ */

static void give_up(struct relay *r, struct relay_child *child)
{
    log_warn("BEZEL-DIRECT", "node %s: its window can no longer be read: the missing packets come over the link",
             child->node);
    relay_leave_window(r, child);
    if (answer(r, child, child->proof, false, "the window could not be read on") != 0)
        relay_forget(r, child); /* it connects again */
}

/* Tells the root what holds for all packets that went up. */
static void pass_low(struct relay *r, struct relay_child *child)
{
    int64_t low = direct_reader_low(child->window);
    if (low <= child->low)
        return;
    r->message.type = MESSAGE_WATERMARK;
    r->message.watermark.low = (uint64_t)low;
    int n = message_encode(&r->message, r->bytes, sizeof r->bytes);
    if (n > 0 && link_send(r->above, &child->peer, r->bytes, (size_t)n) == 0)
        child->low = low;
}

/* Whether packets may go up now: the messages before them did, and there is room for them. */
static bool may_pass(const struct relay *r, const struct relay_child *child)
{
    uint64_t held = atomic_load_explicit(&child->held, memory_order_relaxed); /* relaxed: a bound with room behind it */
    return child->heard >= direct_reader_said(child->window) && relay_takes(r) && held <= r->credit;
}

static int take_from(struct relay *r, struct relay_child *child, int most)
{
    struct direct_packet packet;
    int taken = 0, more = direct_reader_fill(child->window);
    child->waits = false;
    while (!more && taken < most && (more = direct_reader_look(child->window, &packet)) > 0) {
        child->waits = !may_pass(r, child);
        if (child->waits)
            return taken;
        more = 0;
        bool passed = relay_pass_copy(r, child, packet.data, packet.bytes);
        if (!child->window) /* the child was forgotten */
            return taken;
        child->waits = !passed;
        if (!passed)
            return taken;
        direct_reader_take(child->window);
        taken++;
    }
    if (more < 0)
        give_up(r, child);
    else
        pass_low(r, child);
    return taken;
}

int relay_take_windows(struct relay *r, int most)
{
    int taken = 0;
    for (unsigned n = r->status.children; n > 0 && r->windows > 0 && r->above && taken < most; n--) {
        r->next_window = r->next_window < r->status.children ? r->next_window : 0;
        struct relay_child *child = r->status.children > 0 ? r->children[r->next_window++] : NULL;
        if (child && child->window)
            taken += take_from(r, child, most - taken);
    }
    return taken;
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

int64_t relay_sleep(struct relay *r, int *fds, size_t *count, int64_t most)
{
    *count = 0;
    for (unsigned i = 0; i < r->status.children && *count < r->windows; i++) {
        struct relay_child *child = r->children[i];
        if (!child->window)
            continue;
        most = direct_reader_sleep(child->window, child->waits, &fds[*count], most);
        ++*count;
    }
    return most;
}

void relay_awake(struct relay *r)
{
    for (unsigned i = 0, n = 0; i < r->status.children && n < r->windows; i++)
        if (r->children[i]->window) {
            direct_reader_awake(r->children[i]->window);
            n++;
        }
}
