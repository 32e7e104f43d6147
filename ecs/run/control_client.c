// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/run/control_client.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/limit.h"
#include "base/log.h"
#include "base/units.h"
#include "ecs/report/report.h"
#include "ecs/run/rundir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTROL_CLIENT_PATIENCE (5 * CLOCK_S)

/* ---- Finding the daemons ----------------------------------------------------------------------------------------- */

static int find_control(const char *run, char private[RUNDIR_PRIVATE_MAX], uint8_t uuid[16])
{
    int err = rundir_control(run, private, uuid);
    if (err == 0)
        return EXIT_OK;
    if (err == BEZEL_EPERM)
        log_error("BEZEL-UNREACHABLE", "%s is another user's run: only that user may control it", run);
    else if (err == BEZEL_EUNREACH)
        log_error("BEZEL-UNREACHABLE", "%s is not running any more: there is nothing to control", run);
    else
        log_error("BEZEL-UNREACHABLE", "%s/control does not lead to the folder of a run's sockets: %s", run,
                  limit_reason(err));
    return err == BEZEL_EINVAL ? EXIT_FAILED : EXIT_UNREACHABLE;
}

static int connect_to(struct control_client *r, const char *endpoint, const uint8_t uuid[16], const char *name,
                      const char *node)
{
    struct control_client_node *to = &r->nodes[r->count];
    int err = command_caller_open(&to->caller, endpoint, NULL, uuid, node);
    if (err) {
        log_error("BEZEL-UNREACHABLE", "cannot connect to %s: %s", endpoint, limit_reason(err));
        return EXIT_FAILED;
    }
    to->name = name;
    r->count++;
    return EXIT_OK;
}

static int connect_daemon(struct control_client *r, const char *private, const uint8_t uuid[16], const char *name)
{
    char endpoint[LINK_ENDPOINT_MAX];
    snprintf(endpoint, sizeof endpoint, "ipc://%s/.%s", private, name);
    return connect_to(r, endpoint, uuid, name, "");
}

static int connect_nodes(struct control_client *r, const char *private, const uint8_t uuid[16], const char *node)
{
    const struct experiment *e = r->experiment;
    int code = EXIT_OK;
    for (uint32_t i = 0; i < e->node_count && code == EXIT_OK; i++) {
        char endpoint[LINK_ENDPOINT_MAX];
        if (node && strcmp(e->nodes[i].name, node) != 0)
            continue;
        if (e->nodes[i].address)
            snprintf(endpoint, sizeof endpoint, "%s", e->nodes[i].address);
        else
            snprintf(endpoint, sizeof endpoint, "ipc://%s/.b%u/control", private, i);
        code = connect_to(r, endpoint, uuid, e->nodes[i].name, e->nodes[i].name);
    }
    if (code != EXIT_OK || r->count > 0)
        return code;
    log_error("BEZEL-NODE", "the experiment has no node '%s'", node);
    return EXIT_USAGE;
}

static int connect_whom(struct control_client *r, const char *private, const uint8_t uuid[16],
                        enum control_client_whom whom, const char *node)
{
    if (whom == CONTROL_CLIENT_NODES)
        return connect_nodes(r, private, uuid, node);
    if (whom == CONTROL_CLIENT_COLLECTOR || experiment_has_manager(r->experiment))
        return connect_daemon(r, private, uuid, whom == CONTROL_CLIENT_COLLECTOR ? "collector" : "manager");
    log_error("BEZEL-NODE", "the experiment has no resource manager");
    return EXIT_USAGE;
}

int control_client_open(const char *run, enum control_client_whom whom, const char *node, struct control_client *r)
{
    char private[RUNDIR_PRIVATE_MAX];
    uint8_t uuid[16];
    *r = (struct control_client){.count = 0};
    int code = report_load_experiment(run, &r->experiment) == 0 ? EXIT_OK : EXIT_FAILED;
    if (code == EXIT_OK)
        code = find_control(run, private, uuid);
    if (code == EXIT_OK && !(r->nodes = calloc(r->experiment->node_count, sizeof *r->nodes)))
        code = EXIT_FAILED;
    if (code == EXIT_OK)
        code = connect_whom(r, private, uuid, whom, node);
    if (code != EXIT_OK)
        control_client_close(r);
    return code;
}

void control_client_close(struct control_client *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        command_caller_close(&r->nodes[i].caller, 0);
    free(r->nodes);
    experiment_free(r->experiment);
    *r = (struct control_client){.count = 0};
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

/* What its name is of, in a message. */
static const char *kind_of(const struct control_client_node *node)
{
    return node->caller.node[0] ? "node" : "the";
}

/* Sends the command once the daemon is known; until then a QUERY goes in its place. */
static void send_command(struct control_client_node *node, const struct message_command *command)
{
    static struct message m; /* one thread; too large for a stack */
    m.command = *command;
    node->asked = true;
    node->id = 0;
    int sent = command_caller_send(&node->caller, &m);
    if (sent > 0)
        node->id = (uint32_t)sent;
    else if (sent < 0)
        log_error("BEZEL-UNREACHABLE", "cannot send the command to %s %s: %s", kind_of(node), node->name,
                  limit_reason(sent));
}

/* Whether the reply to its command came, or a REFUSE. Drops other messages. */
static bool take_answer(struct control_client_node *node, const struct message_command *command, struct message *m)
{
    int err;
    while ((err = command_caller_receive(&node->caller, m)) != BEZEL_EAGAIN) {
        bool reply = !err && m->type == MESSAGE_REPLY;
        if (((!err || err == BEZEL_EVERSION) && m->type == MESSAGE_REFUSE) ||
            (reply && node->id != 0 && m->reply.id == node->id))
            return true;
        if (reply && node->id == 0)
            send_command(node, command);
    }
    return false;
}

static uint32_t wait_for_answers(struct control_client *r, int64_t until)
{
    struct link *links[LINK_WAIT_MAX];
    size_t n = 0;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        missing += r->nodes[i].asked;
        if (r->nodes[i].asked && n < LINK_WAIT_MAX)
            links[n++] = r->nodes[i].caller.link;
    }
    int64_t now = clock_now();
    if (missing && now < until)
        link_wait(links, n, NULL, 0, until - now);
    return missing;
}

/* Returns EXIT_OK if it is the wanted answer; else logs the reason, and returns an exit code. */
static int check_answer(const struct control_client_node *node, const struct message *m, enum message_answer wanted)
{
    if (m->type == MESSAGE_REPLY && m->reply.answer == wanted)
        return EXIT_OK;
    if (m->type == MESSAGE_REFUSE)
        log_error("BEZEL-REFUSED", "%s %s refuses commands: %s", kind_of(node), node->name, m->refuse.reason);
    else
        log_error("BEZEL-REFUSED", "%s: %s", node->name,
                  m->reply.text[0] ? m->reply.text : "its answer is of an unexpected kind");
    return m->type == MESSAGE_REPLY && m->reply.answer == ANSWER_REFUSED ? EXIT_USAGE : EXIT_FAILED;
}

int control_client_ask(struct control_client *r, const struct message_command *command, enum message_answer wanted,
                       bool (*take)(void *context, const char *node, const struct message *answer), void *context)
{
    static struct message m; /* one thread; too large for a stack */
    int64_t until = clock_now() + CONTROL_CLIENT_PATIENCE;
    int code = EXIT_OK;
    for (uint32_t i = 0; i < r->count; i++)
        send_command(&r->nodes[i], command);
    while (wait_for_answers(r, until) && clock_now() < until)
        for (uint32_t i = 0; i < r->count; i++) {
            struct control_client_node *node = &r->nodes[i];
            if (!node->asked || !take_answer(node, command, &m))
                continue;
            node->asked = false;
            int answered = check_answer(node, &m, wanted);
            if (answered == EXIT_OK && !take(context, node->name, &m))
                answered = EXIT_FAILED;
            code = answered != EXIT_OK ? answered : code;
        }
    for (uint32_t i = 0; i < r->count; i++) {
        if (!r->nodes[i].asked)
            continue;
        log_error("BEZEL-UNREACHABLE", "%s %s did not answer within %s", kind_of(&r->nodes[i]), r->nodes[i].name,
                  units_duration(CONTROL_CLIENT_PATIENCE).s);
        r->nodes[i].asked = false;
        code = EXIT_UNREACHABLE;
    }
    return code;
}
