// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/remote_collector.h"

#include "base/address.h"
#include "base/file.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "bezeld/launch/launch_collector.h"
#include "mdr/message.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASK_EVERY    (500 * CLOCK_MS) /* what has become of it */
#define ASK_SOON     (50 * CLOCK_MS)  /* the same while it is to start or to end */
#define START_AGAIN  (5 * CLOCK_S)    /* how long a launcher that is being ended is replaced by another one */
#define FORGET_LIMIT (2 * CLOCK_S)
#define LAST_OUTPUT  (6 * CLOCK_S) /* for the rest of its output, once it has ended: it may hold the reason */

enum { FORGET_LINGER_MS = 500, MESSAGES_A_TURN = 256 };

/* ---- Before ------------------------------------------------------------------------------------------------------ */

static void endpoint_at(const struct experiment_node *node, uint16_t port, char endpoint[LINK_ENDPOINT_MAX])
{
    struct address address;
    char text[ADDRESS_TEXT_MAX];
    const char *why;
    endpoint[0] = '\0';
    if (address_read(node->address, &address, &why) != 0)
        return;
    address.port = port;
    snprintf(endpoint, LINK_ENDPOINT_MAX, "%s", address_print(&address, text));
}

char *remote_collector_control(const struct experiment *e, int inner, char endpoint[LINK_ENDPOINT_MAX])
{
    char text[ADDRESS_TEXT_MAX];
    snprintf(endpoint, LINK_ENDPOINT_MAX, "%s", experiment_control(e, inner, text));
    return endpoint;
}

void remote_collector_bound(struct remote_collector *c, uint32_t port, char endpoint[LINK_ENDPOINT_MAX])
{
    struct address address;
    char text[ADDRESS_TEXT_MAX];
    const char *why;
    endpoint_at(c->node, (uint16_t)port, endpoint);
    if (address_read(c->listen, &address, &why) != 0)
        return;
    address.port = (uint16_t)port;
    snprintf(c->listen, sizeof c->listen, "%s", address_print(&address, text));
    if (address.kind == ADDRESS_IPV4 || address.kind == ADDRESS_IPV6)
        snprintf(endpoint, LINK_ENDPOINT_MAX, "%s", c->listen);
}

struct command_caller_access remote_collector_access(const struct remote_collector *c)
{
    return (struct command_caller_access){c->own, c->collector_key, c->proxies};
}

static int print_request(struct remote_collector *c)
{
    char *text = NULL;
    size_t n = 0;
    int err = experiment_part_text(c->experiment, (uint32_t)(c->node - c->experiment->nodes), &text, &n);
    if (!err && n > MESSAGE_EXPERIMENT_MAX)
        err = BEZEL_EFULL;
    if (!err)
        snprintf(c->request->experiment, sizeof c->request->experiment, "%s", text);
    free(text);
    return err;
}

int remote_collector_init(struct remote_collector *c, const struct experiment *e, int inner, const uint8_t run[16],
                          const char *keys, const char *log)
{
    bool root = inner == EXPERIMENT_ROOT;
    int node = root ? experiment_collector_node(e) : experiment_inner_node(e, (uint32_t)inner);
    *c = (struct remote_collector){
        .experiment = e, .node = &e->nodes[node], .keys = keys, .request = calloc(1, sizeof *c->request)};
    memcpy(c->run, run, sizeof c->run);
    if (!root)
        snprintf(c->place, sizeof c->place, "-%.*s", EXPERIMENT_INNER_NAME_MAX, e->inner[inner].name);
    snprintf(c->listen, sizeof c->listen, "%s", root ? e->store.listen : e->inner[inner].listen);
    snprintf(c->log, sizeof c->log, "%s", log);
    bool fits = snprintf(c->own, sizeof c->own, "%s/%s.key", keys, e->control_key) < (int)sizeof c->own &&
                snprintf(c->server, sizeof c->server, "%s/%s.pub", keys, c->node->key) < (int)sizeof c->server &&
                snprintf(c->collector_key, sizeof c->collector_key, "%s/%s.pub", keys, e->store.key) <
                    (int)sizeof c->collector_key;
    remote_collector_control(e, inner, c->control);
    experiment_proxies(e, c->control, c->proxies);
    launch_collector_directory(e, run, c->directory);
    int err = !c->request ? BEZEL_ENOMEM : fits ? print_request(c) : BEZEL_EFULL;
    if (err)
        log_error("BEZEL-RUN-COLLECTOR", "cannot request a collector on node %s: %s", c->node->name,
                  ulimit_reason(err));
    return err;
}

void remote_collector_free(struct remote_collector *c)
{
    command_caller_close(&c->caller, FORGET_LINGER_MS);
    free(c->request);
    *c = (struct remote_collector){.phase = REMOTE_COLLECTOR_NONE};
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

static void end(struct remote_collector *c, const char *why)
{
    c->phase = REMOTE_COLLECTOR_ENDED;
    c->ended = clock_now();
    if (why)
        snprintf(c->why, sizeof c->why, "%s", why);
}

/* Sends the command, or nothing where the bezeld has to introduce itself first: then it is sent at its answer. */
static bool send_command(struct remote_collector *c, const struct message_command *command)
{
    static struct message m; /* one thread; too large for a stack */
    m.command = *command;
    if (command->verb == VERB_CONFIGURE) {
        m.configure = *c->request;
        int n = snprintf(m.configure.collector, sizeof m.configure.collector, "%s%s%s", c->listen,
                         c->parents[0] ? " " : "", c->parents);
        if (n >= (int)sizeof m.configure.collector)
            return false; /* cannot happen: daemons_start() has counted */
    }
    c->asked = clock_now();
    return command_caller_send(&c->caller, &m) > 0;
}

static void send_start(struct remote_collector *c)
{
    struct message_command start = {.verb = VERB_START, .start.incarnation = c->incarnation};
    snprintf(start.start.process, sizeof start.start.process, "%s", c->program);
    (void)send_command(c, &start); /* it is repeated until it is answered */
}

/* What is to be known next: its place, what runs there, what became of it. */
static void ask(struct remote_collector *c)
{
    if (!c->placed)
        (void)send_command(c, &(struct message_command){.verb = VERB_CONFIGURE});
    else if (c->phase == REMOTE_COLLECTOR_LISTED && c->incarnation)
        send_start(c);
    else
        (void)send_command(
            c, &(struct message_command){.verb = VERB_QUERY, .subject = SUBJECT_PROCESSES, .since = c->since});
}

static void ask_for_output(struct remote_collector *c)
{
    struct message_command query = {
        .verb = VERB_QUERY, .subject = SUBJECT_OUTPUT, .offset = c->fetched, .start = c->row.of};
    if (c->known && c->placed && c->row.pid && c->row.output > c->fetched)
        (void)send_command(c, &query);
}

static void begin(struct remote_collector *c)
{
    c->phase = REMOTE_COLLECTOR_ASKED;
    c->incarnation = 0;
    c->placed = c->known = false;
    c->since = c->fetched = 0;
    ask(c);
}

void remote_collector_start(struct remote_collector *c, const char *program)
{
    char proxies[EXPERIMENT_PROXIES_MAX];
    experiment_proxies(c->experiment, c->node->address, proxies);
    int err = c->caller.link
                  ? 0
                  : command_caller_open(&c->caller, c->node->address,
                                        (struct command_caller_access){c->own, c->server, proxies}, c->run, c->place);
    c->program = program;
    c->why[0] = '\0';
    c->hurry = false;
    c->began = clock_now();
    if (err)
        end(c, ulimit_reason(err));
    else
        begin(c);
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

static void take_row(struct remote_collector *c, const struct message_launched *row)
{
    c->row = *row;
    c->known = true;
    if (row->state == LAUNCHED_RUNS)
        c->phase = REMOTE_COLLECTOR_RUNS;
    else if (row->state == LAUNCHED_FAILED) {
        snprintf(c->why, sizeof c->why, "%s: %s", row->stage, strerror(row->error));
        end(c, NULL);
    } else if (row->state == LAUNCHED_LOST)
        end(c, "it has ended, because its launcher was killed");
    else if (c->phase != REMOTE_COLLECTOR_ENDED)
        end(c, NULL);
}

/* The first list shows the incarnation that runs, or else which one is the next. */
static void take_list(struct remote_collector *c, const struct message_launched_list *list)
{
    if (c->phase == REMOTE_COLLECTOR_NONE)
        return; /* an answer that came late */
    bool first = c->phase == REMOTE_COLLECTOR_LISTED && c->incarnation == 0;
    uint32_t latest = 0;
    for (const struct message_launched *row = list->rows; row < list->rows + list->count; row++) {
        if (strcmp(row->of.process, c->program) != 0)
            continue;
        if (row->of.incarnation > latest)
            latest = row->of.incarnation;
        if ((first && row->state == LAUNCHED_RUNS) || (!first && row->of.incarnation == c->incarnation)) {
            c->incarnation = row->of.incarnation;
            take_row(c, row);
        }
    }
    if (list->change > c->since)
        c->since = list->change;
    if (first && c->incarnation == 0) {
        c->incarnation = latest + 1;
        send_start(c);
    }
}

static void take_output(struct remote_collector *c, const struct message_output *part)
{
    if (part->offset < c->fetched || part->count == 0)
        return;
    int fd = c->log[0] ? open(c->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666) : -1;
    if (fd >= 0) {
        (void)!file_write_all(fd, part->bytes, part->count); /* a log is not worth an error */
        close(fd);
    }
    c->fetched = part->offset + part->count;
    ask_for_output(c);
}

/*
 * A launcher that was silent for long, or is being ended, starts nothing any more: it is replaced by another one, which
 * has not started anything.
 */
static void take_refusal(struct remote_collector *c, const char *why)
{
    bool again = c->phase == REMOTE_COLLECTOR_LISTED && clock_now() - c->began < START_AGAIN;
    if (again) {
        (void)send_command(c, &(struct message_command){.verb = VERB_DISCARD});
        c->phase = REMOTE_COLLECTOR_ASKED;
        c->incarnation = 0;
        c->placed = false;
        c->since = 0;
        snprintf(c->why, sizeof c->why, "%s", why);
    } else if (c->phase < REMOTE_COLLECTOR_RUNS)
        end(c, why);
}

static void take_reply(struct remote_collector *c, const struct message *m)
{
    switch (m->reply.answer) {
    case ANSWER_SESSION:
        c->placed = true;
        if (c->phase == REMOTE_COLLECTOR_ASKED) {
            c->phase = REMOTE_COLLECTOR_LISTED;
            c->incarnation = 0;
            ask(c);
        }
        return;
    case ANSWER_PROCESSES:
        take_list(c, &m->launched);
        ask_for_output(c);
        return;
    case ANSWER_OUTPUT:
        take_output(c, &m->output);
        return;
    case ANSWER_REFUSED:
        take_refusal(c, m->reply.text);
        return;
    case ANSWER_ABSENT: /* the bezeld was restarted */
        c->placed = false;
        return;
    default: /* it has introduced itself */
        if (c->phase == REMOTE_COLLECTOR_ASKED && m->reply.answer == ANSWER_BEZELD)
            c->asked = 0;
    }
}

void remote_collector_turn(struct remote_collector *c)
{
    static struct message m; /* one thread; too large for a stack */
    int err;
    for (int n = 0; n < MESSAGES_A_TURN && (err = command_caller_receive(&c->caller, &m)) != BEZEL_EAGAIN; n++) {
        if ((!err || err == BEZEL_EVERSION) && m.type == MESSAGE_REFUSE && c->phase < REMOTE_COLLECTOR_RUNS)
            end(c, m.refuse.reason);
        else if (!err && m.type == MESSAGE_REPLY)
            take_reply(c, &m);
    }
    int64_t now = clock_now();
    bool soon = c->hurry || c->phase == REMOTE_COLLECTOR_ASKED || c->phase == REMOTE_COLLECTOR_LISTED;
    if (c->phase != REMOTE_COLLECTOR_NONE && now - c->asked >= (soon ? ASK_SOON : ASK_EVERY))
        ask(c);
}

bool remote_collector_ended(struct remote_collector *c, int *status)
{
    bool output = c->known && c->row.output > c->fetched && clock_now() - c->ended < LAST_OUTPUT;
    if (c->phase != REMOTE_COLLECTOR_ENDED || output)
        return false;
    *status = c->known && c->row.state == LAUNCHED_ENDED ? c->row.status : -1;
    c->phase = REMOTE_COLLECTOR_NONE;
    return true;
}

void remote_collector_end(struct remote_collector *c)
{
    c->hurry = true;
    (void)send_command(c, &(struct message_command){.verb = VERB_ENDING, .ending = END_TERM});
}

void remote_collector_kill(struct remote_collector *c)
{
    if (c->phase == REMOTE_COLLECTOR_NONE || c->phase == REMOTE_COLLECTOR_ENDED)
        return;
    (void)send_command(c, &(struct message_command){.verb = VERB_ENDING, .ending = END_KILL});
    (void)send_command(c, &(struct message_command){.verb = VERB_DISCARD});
    end(c, NULL);
}

void remote_collector_forget(struct remote_collector *c)
{
    static struct message m; /* one thread; too large for a stack */
    int64_t until = clock_now() + FORGET_LIMIT;
    uint32_t before = c->caller.id; /* a slow answer may be to any of those that follow */
    c->phase = REMOTE_COLLECTOR_NONE;
    for (c->asked = 0; clock_now() < until;) {
        if (clock_now() - c->asked >= ASK_EVERY)
            (void)send_command(c, &(struct message_command){.verb = VERB_DISCARD});
        link_wait(&c->caller.link, 1, NULL, 0, ASK_SOON);
        for (int n = 0; n < MESSAGES_A_TURN && command_caller_receive(&c->caller, &m) == 0; n++)
            if (m.type == MESSAGE_REPLY && m.reply.id > before &&
                (m.reply.answer == ANSWER_BEZELD || m.reply.answer == ANSWER_ABSENT)) {
                c->placed = false;
                return;
            }
    }
}
