// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/log.h"
#include "ecs/node_impl.h"

#include <stdio.h>

enum { NODE_COMMANDS_A_TURN = 8 };

static enum message_daemon_state node_state(const struct node *n)
{
    if (forward_refused(n->forward))
        return DAEMON_FAILED;
    if (n->draining)
        return node_drained(n) ? DAEMON_DRAINED : DAEMON_DRAINING;
    return forward_connected(n->forward) ? DAEMON_ACTIVE : DAEMON_STARTING;
}

static int64_t count_living(struct node *n)
{
    int64_t living = 0;
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        living += p && p->role == ROLE_SUT && p->phase == EXTERNAL_LIVE;
    }
    return living;
}

void node_fill_reply(struct node *n, struct message_reply *reply)
{
    const struct external_counts *c = external_counts(n->external);
    struct external_flow flow = external_flow(n->external);
    reply->state = node_state(n);
    const char *refused = forward_refused(n->forward);
    snprintf(reply->text, sizeof reply->text, "%s", refused ? refused : "");
    if (!refused && c->broken_rings + c->broken_segments)
        snprintf(reply->text, sizeof reply->text,
                 "a process wrote into its segment what makes no sense, and is not read any further: the report tells "
                 "which");
    uint64_t unobserved = external_unobserved(n->external);
    if (!refused && unobserved)
        snprintf(reply->text, sizeof reply->text,
                 "%llu process%s not observed: nothing is known of what %s recorded; the report tells why",
                 (unsigned long long)unobserved, unobserved == 1 ? " was" : "es were", unobserved == 1 ? "it" : "they");
    if (!refused && c->unread)
        snprintf(reply->text, sizeof reply->text,
                 "%llu processes were never read, there were too many at once: what they recorded is lost; raise the "
                 "limit of open files (ulimit -n)",
                 (unsigned long long)c->unread);
    message_reply_add(reply, "records", (int64_t)c->records);
    message_reply_add(reply, "bytes", (int64_t)c->bytes);
    message_reply_add(reply, "lost_full", (int64_t)flow.full);
    message_reply_add(reply, "lost_off", (int64_t)flow.off);
    message_reply_add(reply, "lost_no_ring", (int64_t)flow.no_ring);
    message_reply_add(reply, "lost_window", (int64_t)flow.window);
    message_reply_add(reply, "lost_spool", (int64_t)flow.spool);
    message_reply_add(reply, "period_ns", n->policy.on ? n->policy.period : 0);
    message_reply_add(reply, "sensor_cpu_milli", (int64_t)(n->sensor_cpu * 1000));
    message_reply_add(reply, "window_bytes", (int64_t)window_waiting(external_window(n->external)));
    message_reply_add(reply, "unacked", forward_waiting(n->forward) != 0);
    message_reply_add(reply, "spool_bytes", (int64_t)forward_spooled(n->forward));
    message_reply_add(reply, "processes", count_living(n));
    message_reply_add(reply, "processes_seen", (int64_t)c->processes_seen);
    message_reply_add(reply, "connected", forward_connected(n->forward));
    message_reply_add(reply, "expired", (int64_t)c->expired);
    message_reply_add(reply, "broken", (int64_t)(c->broken_rings + c->broken_segments));
    node_place_reply(n, reply);
    node_manager_reply(n, reply);
    node_helm_reply(n, reply);
}

static void reply(struct node *n, const struct link_peer *peer)
{
    int size = message_encode(&n->message, n->bytes, sizeof n->bytes);
    if (size < 0 || link_send(n->control, peer, n->bytes, (size_t)size) != 0)
        log_warn("BEZEL-REPLY", "a reply could not be sent");
}

static void answer(struct node *n, const struct link_peer *peer, struct message_command command)
{
    n->heard = clock_now();
    if (command.verb == VERB_STATUS) {
        n->asker = *peer;
        n->has_asker = true;
    }
    if (command.verb == VERB_ENDING)
        agent_processes_end(n->agent);
    if (command.verb == VERB_DRAIN)
        node_drain(n);
    if (command.verb == VERB_STOP)
        node_stop(n);
    n->message.type = MESSAGE_REPLY;
    n->message.reply = (struct message_reply){.id = command.id};
    node_fill_reply(n, &n->message.reply);
    steering_answer(&n->steering, n->external, &command, clock_now(), &n->message.reply);
    node_save_tell(n, &command, clock_now(), &n->message.reply);
    node_save_answer(n, &command, clock_now(), &n->message.reply);
    node_poll_answer(n, &command, clock_now(), &n->message.reply);
    node_knob_answer(n, &command, &n->message.reply);
    reply(n, peer);
}

static void refuse(struct node *n, const struct link_peer *peer)
{
    n->message.type = MESSAGE_REFUSE;
    n->message.refuse = (struct message_refuse){.reason = "your key has not the role control at this daemon"};
    reply(n, peer);
}

void node_answer_commands(struct node *n)
{
    struct link_frame frame;
    for (int i = 0; i < NODE_COMMANDS_A_TURN && link_receive(n->control, &frame) == 0; i++) {
        struct link_peer peer = frame.peer;
        bool may = link_may(&frame, KEY_CONTROL);
        int err = message_decode(frame.data, frame.size, &n->message);
        link_frame_free(&frame);
        if (!may)
            refuse(n, &peer);
        else if (!err && (n->message.type == MESSAGE_WATCH || n->message.type == MESSAGE_SETTING ||
                          n->message.type == MESSAGE_JUDGEMENT))
            node_manager_hear(n, &peer, clock_now());
        else if (err || n->message.type != MESSAGE_COMMAND)
            log_warn("BEZEL-COMMAND", "what came over the control link is no command");
        else
            answer(n, &peer, n->message.command);
    }
}
