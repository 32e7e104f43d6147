// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "bezeld/node/node_internal.h"
#include "bezeld/node/owner.h"
#include "mdr/message.h"

#include <stdio.h>
#include <string.h>

static enum message_daemon_state node_state(const struct node *n)
{
    if (sender_refused(n->sender))
        return DAEMON_FAILED;
    if (n->draining)
        return node_drained(n) ? DAEMON_DRAINED : DAEMON_DRAINING;
    if (n->pause.on)
        return DAEMON_PAUSED;
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

uint64_t node_seen(const struct node *n)
{
    return external_counts(n->external)->processes_seen;
}

void node_describe(struct node *n, struct message_session *session)
{
    session->state = node_state(n);
    session->processes = count_living(n);
}

static enum message_way way_of(const struct node *n)
{
    const char *why;
    if (!sender_connected(n->sender))
        return MESSAGE_WAY_NONE;
    return sender_is_direct(n->sender, &why) ? MESSAGE_WAY_DIRECT : MESSAGE_WAY_LINK;
}

static void fill_status(struct node *n, struct message_node_status *s)
{
    const struct external_counts *c = external_counts(n->external);
    struct external_totals flow = external_totals(n->external);
    *s = (struct message_node_status){.records = c->sut_records,
                                      .lost_full = flow.full,
                                      .lost_off = flow.off,
                                      .lost_no_ring = flow.no_ring,
                                      .lost_window = flow.window,
                                      .lost_spool = flow.spool,
                                      .lost_reducer = flow.reducer,
                                      .window_bytes = window_waiting(external_window(n->external)),
                                      .spool_bytes = sender_spooled(n->sender),
                                      .processes = count_living(n),
                                      .processes_seen = c->processes_seen,
                                      .period_ns = n->policy.on ? (uint64_t)n->policy.period : 0,
                                      .stop_wanted = n->stop_wanted,
                                      .manager = node_manager_status(n),
                                      .way = way_of(n)};
    s->firing_count = firings_write(&n->triggers.firings, n->realtime_offset, clock_now(), s->firings);
}

/* Writes the most important fault, if there is one, as a sentence for the operator. */
static void fill_trouble(const struct node *n, char text[MESSAGE_TEXT_MAX + 1])
{
    const struct external_counts *c = external_counts(n->external);
    uint64_t unobserved = external_unobserved(n->external);
    const char *refused = sender_refused(n->sender), *trouble = sender_trouble(n->sender);
    if (refused)
        message_text(text, MESSAGE_TEXT_MAX, refused);
    else if (trouble)
        snprintf(text, MESSAGE_TEXT_MAX + 1, "the collector at %s %s", sender_endpoint(n->sender), trouble);
    else if (c->unread)
        snprintf(text, MESSAGE_TEXT_MAX + 1,
                 "no room for %llu more process%s until the end, whose records are lost: %s",
                 (unsigned long long)c->unread, c->unread == 1 ? "" : "es", c->unread_why);
    else if (unobserved == 1)
        snprintf(text, MESSAGE_TEXT_MAX + 1,
                 "1 process was not observed: nothing is known of its records; the report has the reason");
    else if (unobserved) /* the number is said anew when it has doubled: each text is an event of the run */
        snprintf(text, MESSAGE_TEXT_MAX + 1,
                 "%llu or more processes were not observed: nothing is known of their records; the report has the "
                 "number and the reason",
                 1ULL << (63 - __builtin_clzll(unobserved)));
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

/* Sent at once, because rings of other nodes go on overwriting. If it is lost, the next answer to QUERY has it. */
void node_report_firings(struct node *n, int64_t now)
{
    if (!firings_report_due(&n->triggers.firings, n->has_asker, now))
        return;
    struct message *m = command_server_message(n->control);
    m->type = MESSAGE_REPLY;
    m->reply = (struct message_reply){.answer = ANSWER_NODE};
    fill_reply(n, &m->reply);
    (void)!command_server_send(n->control, &n->asker, n->uuid);
}

/* How many records of the aspect the processes of that name have tried to write. */
static uint64_t count_records(struct node *n, const struct message_command *command, int64_t now)
{
    static struct message_books books; /* one thread; too large for a stack */
    uint64_t records = 0;
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        if (!p || !p->at->dict || strcmp(p->name, command->process) != 0)
            continue;
        external_books(p, now, &books);
        for (uint32_t k = 0; k < books.row_count; k++) {
            uint32_t id = books.rows[k].aspect;
            bool is =
                id <= p->at->dict->aspect_count && strcmp(p->at->dict->aspects[id - 1].name, command->aspect) == 0;
            records += is ? books.rows[k].attempts : 0;
        }
    }
    return records;
}

static void query(struct node *n, const struct command_request *from, const struct message_command *command,
                  int64_t now, struct message_reply *r)
{
    static const struct message_poll unchanged;
    if (command->subject == SUBJECT_POLL)
        (void)node_poll_answer(n, &unchanged, now, r);
    else if (command->subject == SUBJECT_KNOBS) {
        r->answer = ANSWER_KNOBS;
        node_knobs_list(n, command->from, &command_server_message(n->control)->knobs);
    } else if (command->subject == SUBJECT_RECORDS) {
        r->answer = ANSWER_RECORDS;
        r->records = count_records(n, command, now);
    } else {
        n->asker = *from;
        n->asker.id = 0; /* what is sent to it later is no answer */
        n->has_asker = true;
    }
}

static void set(struct node *n, const struct message_command *command, int64_t now, struct message_reply *r)
{
    if (command->subject == SUBJECT_ASPECTS)
        aspect_steering_switch(&n->aspect_steering, n->external, command, now, r);
    else if (command->subject == SUBJECT_KNOBS)
        node_knob_answer(n, &command->knob, r);
    else if (node_poll_answer(n, &command->poll, now, r))
        manager_client_override(n, now);
}

static bool is_owners(const struct node *n, const struct message_command *command)
{
    return n->owner.epoch == 0 || owner_judge(n->owner, command->owner) == OWNER_SAME;
}

/* Another operator's STOP is passed on to the run's `bezel run`, which ends programs and nodes in order. */
static void stop(struct node *n, const struct message_command *command)
{
    if (is_owners(n, command)) {
        external_end_run(n->external);
        node_drain(n);
    } else
        n->stop_wanted = true;
}

/* Carries out `command`. *r stays ANSWER_NODE, unless the command has an answer of its own. */
static void carry_out(struct node *n, const struct command_request *from, const struct message_command *command,
                      int64_t now, struct message_reply *r)
{
    switch (command->verb) {
    case VERB_CONFIGURE: /* the bezeld has carried it out */
        return;
    case VERB_START:
    case VERB_RESUME:
        node_pause(n, false, now);
        return;
    case VERB_PAUSE:
        node_pause(n, true, now);
        return;
    case VERB_QUERY:
        query(n, from, command, now, r);
        return;
    case VERB_SET:
        set(n, command, now, r);
        return;
    case VERB_STOP:
        stop(n, command);
        return;
    case VERB_SHUTDOWN:
        node_stop(n);
        return;
    case VERB_SNAPSHOT:
        aspect_steering_snapshot(&n->aspect_steering, n->external, now, r);
        snapshot_take_report(n, r->saved.processes, now);
        return;
    case VERB_SAVE:
        snapshot_take_answer(n, &command->save, now, r);
        return;
    case VERB_ENDING:
        node_processes_end(n);
        return;
    case VERB_DISCARD: /* of a collector */
        return;
    }
}

void node_receive(struct node *n, const struct command_request *from)
{
    const struct message *m = command_server_message(n->control);
    int64_t now = clock_now();
    n->tasks_due = INT64_MIN; /* whatever it changes, a turn follows */
    if (m->type != MESSAGE_COMMAND) {
        manager_client_receive(n, from, m, now);
        node_triggers_turn(n, now);
        return;
    }
    struct message_reply reply = {.answer = ANSWER_NODE};
    struct message_command command = m->command; /* its answer takes the place of the message */
    if (is_owners(n, &command))
        n->last_received = now;
    carry_out(n, from, &command, now, &reply);
    fill_reply(n, &reply);
    command_server_reply(n->control, from, n->uuid, &reply);
}
