// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/log.h"
#include "bezeld/node_internal.h"

#include <stdio.h>

enum { NODE_COMMANDS_A_TURN = 8 };

static enum message_daemon_state node_state(const struct node *n)
{
    if (sender_refused(n->sender))
        return DAEMON_FAILED;
    if (n->draining)
        return node_drained(n) ? DAEMON_DRAINED : DAEMON_DRAINING;
    return sender_connected(n->sender) ? DAEMON_ACTIVE : DAEMON_STARTING;
}

static uint32_t count_living(struct node *n)
{
    uint32_t living = 0;
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        living += p && p->role == ROLE_SUT && p->phase == EXTERNAL_LIVE;
    }
    return living;
}

static void fill_status(struct node *n, struct message_node_status *s)
{
    const struct external_counts *c = external_counts(n->external);
    struct external_totals flow = external_totals(n->external);
    *s = (struct message_node_status){.records = c->records,
                                      .lost_full = flow.full,
                                      .lost_off = flow.off,
                                      .lost_no_ring = flow.no_ring,
                                      .lost_window = flow.window,
                                      .lost_spool = flow.spool,
                                      .window_bytes = window_waiting(external_window(n->external)),
                                      .spool_bytes = sender_spooled(n->sender),
                                      .processes = count_living(n),
                                      .processes_seen = c->processes_seen,
                                      .period_ns = n->policy.on ? (uint64_t)n->policy.period : 0,
                                      .manager = node_manager_status(n),
                                      .violation = snapshot_take_violation(n)};
}

/* Writes the most important fault, if there is one, as a sentence for the operator. */
static void fill_trouble(const struct node *n, char text[MESSAGE_TEXT_MAX + 1])
{
    const struct external_counts *c = external_counts(n->external);
    uint64_t unobserved = external_unobserved(n->external);
    const char *refused = sender_refused(n->sender);
    if (refused)
        message_text(text, MESSAGE_TEXT_MAX, refused);
    else if (c->unread)
        snprintf(
            text, MESSAGE_TEXT_MAX + 1,
            "%llu processes were never read, because too many ran at once: their records are lost; raise the limit of "
            "open files (ulimit -n)",
            (unsigned long long)c->unread);
    else if (unobserved)
        snprintf(text, MESSAGE_TEXT_MAX + 1,
                 "%llu process%s not observed: nothing is known of %s records; the report has the reason",
                 (unsigned long long)unobserved, unobserved == 1 ? " was" : "es were",
                 unobserved == 1 ? "its" : "their");
    else if (c->broken_rings + c->broken_segments)
        snprintf(text, MESSAGE_TEXT_MAX + 1,
                 "a process corrupted its segment, and is no longer read: the report names it");
}

/* Fills in the state; the status, if that is the answer; and, if there is no text yet, the most important fault. */
static void fill_reply(struct node *n, struct message_reply *reply)
{
    reply->state = node_state(n);
    if (reply->answer == ANSWER_NODE)
        fill_status(n, &reply->node);
    if (!reply->text[0])
        fill_trouble(n, reply->text);
}

static void send_message(struct node *n, const struct link_peer *peer)
{
    int size = message_encode(&n->message, n->bytes, sizeof n->bytes);
    if (size < 0 || link_send(n->control, peer, n->bytes, (size_t)size) != 0)
        log_warn("BEZEL-REPLY", "a reply could not be sent");
}

/* Sent at once, because rings of other nodes go on overwriting. If it is lost, the next answer to STATUS has it. */
void node_report_broken(struct node *n, int64_t now)
{
    bool listens = n->has_asker && snapshot_due(&n->snapshot) == INT64_MAX;
    if (!limit_changes_report_due(&n->limits, listens, now))
        return;
    n->message.type = MESSAGE_REPLY;
    n->message.reply = (struct message_reply){.id = 0, .answer = ANSWER_NODE};
    fill_reply(n, &n->message.reply);
    int size = message_encode(&n->message, n->bytes, sizeof n->bytes);
    if (size > 0)
        (void)!link_send(n->control, &n->asker, n->bytes, (size_t)size);
}

/* Carries out `command`. *r stays ANSWER_NODE, unless the command has an answer of its own. */
static void carry_out(struct node *n, const struct link_peer *peer, const struct message_command *command, int64_t now,
                      struct message_reply *r)
{
    switch (command->verb) {
    case VERB_STATUS:
        n->asker = *peer;
        n->has_asker = true;
        return;
    case VERB_ENDING:
        agent_processes_end(n->agent);
        return;
    case VERB_DRAIN:
        node_drain(n);
        return;
    case VERB_STOP:
        node_stop(n);
        return;
    case VERB_SNAPSHOT:
        aspect_steering_snapshot(&n->aspect_steering, n->external, now, r);
        snapshot_take_report(n, r->saved.processes, now);
        return;
    case VERB_SAVE:
        snapshot_take_answer(n, &command->save, now, r);
        return;
    case VERB_ASPECTS:
        aspect_steering_switch(&n->aspect_steering, n->external, command, now, r);
        return;
    case VERB_POLL:
        if (node_poll_answer(n, &command->poll, now, r))
            manager_client_override(n, now);
        return;
    case VERB_KNOB:
        node_knob_answer(n, &command->knob, r, &n->message.knobs);
        return;
    case VERB_BEGIN:
        r->answer = ANSWER_REFUSED;
        snprintf(r->text, sizeof r->text,
                 "a session cannot begin another one: send BEGIN to the control endpoint of its bezeld");
        return;
    }
}

static void answer(struct node *n, const struct link_peer *peer, struct message_command command)
{
    struct message_reply reply = {.id = command.id, .answer = ANSWER_NODE};
    n->last_received = clock_now();
    carry_out(n, peer, &command, n->last_received, &reply);
    fill_reply(n, &reply);
    n->message.type = MESSAGE_REPLY;
    n->message.reply = reply; /* a list of knobs is already in n->message.knobs */
    send_message(n, peer);
}

static void refuse(struct node *n, const struct link_peer *peer, const char *reason)
{
    n->message.type = MESSAGE_REFUSE;
    message_text(n->message.refuse.reason, MESSAGE_TEXT_MAX, reason);
    send_message(n, peer);
}

/* Takes the message in n->message; `err`: the result of decoding it. */
static void take_message(struct node *n, const struct link_peer *peer, int err)
{
    if (err == BEZEL_EVERSION) {
        log_warn("BEZEL-COMMAND", "a command is refused: %s", n->message.refuse.reason);
        send_message(n, peer); /* the REFUSE that it was read as */
    } else if (!err && (n->message.type == MESSAGE_WATCH || n->message.type == MESSAGE_SETPOINT ||
                        n->message.type == MESSAGE_JUDGEMENT)) {
        int64_t now = clock_now();
        manager_client_receive(n, peer, now);
        node_report_broken(n, now);
    } else if (err || n->message.type != MESSAGE_COMMAND)
        log_warn("BEZEL-COMMAND", "a message on the control link was dropped: it is not a command");
    else
        answer(n, peer, n->message.command);
}

void node_answer_commands(struct node *n)
{
    struct link_frame frame;
    for (int i = 0; i < NODE_COMMANDS_A_TURN && link_receive(n->control, &frame) == 0; i++) {
        struct link_peer peer = frame.peer;
        bool may = link_may(&frame, KEY_CONTROL);
        int err = message_decode(frame.data, frame.size, &n->message);
        link_frame_free(&frame);
        if (may)
            take_message(n, &peer, err);
        else
            refuse(n, &peer, "your key does not have the role control at this daemon");
    }
}
