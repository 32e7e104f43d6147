// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/control_client.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "base/words.h"
#include "ecs/course/inventory_file.h"
#include "ecs/course/remote_collector.h"
#include "ecs/course/run_journal.h"
#include "ecs/course/rundir.h"
#include "mdr/message.h"
#include "views/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTROL_CLIENT_PATIENCE (5 * CLOCK_S)
#define CONTROL_CLIENT_LOOK     (250 * CLOCK_MS) /* for nodes that are to be asked another way */

/* ---- Finding the daemons ----------------------------------------------------------------------------------------- */

static int find_control(const char *run, char private[RUNDIR_PRIVATE_MAX], uint8_t uuid[16])
{
    int err = rundir_control(run, private, uuid);
    if (err == 0)
        return EXIT_OK;
    if (err == BEZEL_EPERM)
        log_error("BEZEL-UNREACHABLE", "%s is another user's run: only that user may control it", run);
    else if (err == BEZEL_EBUSY)
        log_error("BEZEL-UNREACHABLE", "%s is a copy of a run that goes on: name the folder of the run itself", run);
    else if (err == BEZEL_EUNREACH)
        log_error("BEZEL-UNREACHABLE", "%s is not running any more: there is nothing to control%s%s", run,
                  run_journal_is(run)
                      ? "; its `bezel run` was killed, and what of it goes on is taken over with: bezel "
                        "attach "
                      : "",
                  run_journal_is(run) ? run : "");
    else
        log_error("BEZEL-UNREACHABLE", "%s/control does not lead to the folder of a run's sockets: %s", run,
                  ulimit_reason(err));
    return err == BEZEL_EINVAL ? EXIT_FAILED : EXIT_UNREACHABLE;
}

static int connect_to(struct control_client *r, const char *endpoint, struct command_caller_access access,
                      const uint8_t uuid[16], const char *name, const char *node)
{
    struct control_client_node *to = &r->nodes[r->count];
    log_forget_error();
    int err = command_caller_open(&to->caller, endpoint, access, uuid, node);
    if (err && !log_last_error()[0]) /* else that names the key */
        log_error("BEZEL-UNREACHABLE", "cannot connect to %s: %s", endpoint, ulimit_reason(err));
    if (err)
        return EXIT_FAILED;
    to->name = name;
    r->count++;
    return EXIT_OK;
}

static int connect_daemon(struct control_client *r, const char *private, const uint8_t uuid[16], const char *name)
{
    char endpoint[LINK_ENDPOINT_MAX];
    snprintf(endpoint, sizeof endpoint, "ipc://%s/.%s", private, name);
    return connect_to(r, endpoint, (struct command_caller_access){0}, uuid, name, "");
}

struct access_text {
    char own[PATH_MAX], server[PATH_MAX], proxies[EXPERIMENT_PROXIES_MAX];
};

_Static_assert((int)EXPERIMENT_PROXIES_MAX == (int)COMMAND_CALLER_PROXIES_MAX, "a caller has room for all proxies");

/* How to reach what has the key `server` at an endpoint on node `node`, with the keys in a folder. */
static struct command_caller_access access_to(const struct experiment *e, uint32_t node, const char *endpoint,
                                              const char *keys, const char *server, struct access_text *text)
{
    bool keyed = experiment_is_remote(&e->nodes[node]);
    experiment_proxies(e, endpoint, text->proxies);
    if (snprintf(text->own, sizeof text->own, "%s/%s.key", keys ? keys : "", keyed ? e->control_key : "") >= PATH_MAX ||
        snprintf(text->server, sizeof text->server, "%s/%s.pub", keys ? keys : "", keyed ? server : "") >= PATH_MAX)
        text->own[0] = text->server[0] = '\0'; /* no such file, which is said then */
    return (struct command_caller_access){keyed ? text->own : NULL, text->server, text->proxies};
}

/* To a collector on a node: EXPERIMENT_ROOT, or an inner one. */
static int connect_placed(struct control_client *r, const char *keys, const uint8_t uuid[16], int inner,
                          const char *name)
{
    const struct experiment *e = r->experiment;
    struct access_text text;
    char endpoint[LINK_ENDPOINT_MAX];
    int node = inner == EXPERIMENT_ROOT ? experiment_collector_node(e) : experiment_inner_node(e, (uint32_t)inner);
    remote_collector_control(e, inner, endpoint);
    return connect_to(r, endpoint, access_to(e, (uint32_t)node, endpoint, keys, e->store.key, &text), uuid, name, "");
}

static int connect_there(struct control_client *r, const char *private, const uint8_t uuid[16], int inner,
                         const char *name)
{
    char keys[PATH_MAX];
    snprintf(keys, sizeof keys, "%s/" RUNDIR_KEYS, private);
    return connect_placed(r, keys, uuid, inner, name);
}

static int connect_collector(struct control_client *r, const char *private, const uint8_t uuid[16])
{
    return r->experiment->collector.node ? connect_there(r, private, uuid, EXPERIMENT_ROOT, "collector")
                                         : connect_daemon(r, private, uuid, "collector");
}

static int connect_inner(struct control_client *r, const char *private, const uint8_t uuid[16])
{
    const struct experiment *e = r->experiment;
    int code = EXIT_OK;
    for (uint32_t i = 0; i < e->inner_count && code == EXIT_OK; i++) {
        char endpoint[LINK_ENDPOINT_MAX];
        snprintf(endpoint, sizeof endpoint, "ipc://%s/.inner%u", private, i);
        code = e->inner[i].node
                   ? connect_there(r, private, uuid, (int)i, e->inner[i].name)
                   : connect_to(r, endpoint, (struct command_caller_access){0}, uuid, e->inner[i].name, "");
    }
    return code;
}

static int connect_nodes(struct control_client *r, const char *private, const uint8_t uuid[16], const char *node)
{
    const struct experiment *e = r->experiment;
    int code = EXIT_OK;
    for (uint32_t i = 0; i < e->node_count && code == EXIT_OK; i++) {
        char endpoint[LINK_ENDPOINT_MAX], keys[PATH_MAX];
        struct access_text text;
        if (node && strcmp(e->nodes[i].name, node) != 0)
            continue;
        if (e->nodes[i].address)
            snprintf(endpoint, sizeof endpoint, "%s", e->nodes[i].address);
        else
            snprintf(endpoint, sizeof endpoint, "ipc://%s/.b%u/control", private, i);
        snprintf(keys, sizeof keys, "%s/" RUNDIR_KEYS, private);
        code = connect_to(r, endpoint, access_to(e, i, endpoint, keys, e->nodes[i].key, &text), uuid, e->nodes[i].name,
                          e->nodes[i].name);
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
    if (whom == CONTROL_CLIENT_COLLECTOR)
        return connect_collector(r, private, uuid);
    if (whom == CONTROL_CLIENT_INNER)
        return connect_inner(r, private, uuid);
    if (experiment_has_manager(r->experiment))
        return connect_daemon(r, private, uuid, "manager");
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
    if (code == EXIT_OK &&
        !(r->nodes = calloc(r->experiment->node_count + r->experiment->inner_count, sizeof *r->nodes)))
        code = EXIT_FAILED;
    if (code == EXIT_OK)
        code = connect_whom(r, private, uuid, whom, node);
    if (code != EXIT_OK)
        control_client_close(r);
    return code;
}

int control_client_open_bezeld(const char *endpoint, struct command_caller_access access, const char *name,
                               struct control_client *r)
{
    static const uint8_t no_run[16];
    *r = (struct control_client){.nodes = calloc(1, sizeof *r->nodes)};
    int code = r->nodes ? connect_to(r, endpoint, access, no_run, name, "") : EXIT_FAILED;
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
    return node->caller.node[0] ? "node" : strchr(node->name, '/') ? "the bezeld at" : "the";
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
                  ulimit_reason(sent));
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
    int64_t left = until - clock_now();
    if (missing && left > 0)
        link_wait(links, n, NULL, 0, left < CONTROL_CLIENT_LOOK ? left : CONTROL_CLIENT_LOOK);
    return missing;
}

/* Returns EXIT_OK if it is the wanted answer; else logs the reason, and returns an exit code. */
static int check_answer(const struct control_client_node *node, const struct message *m, enum message_answer wanted)
{
    if (m->type == MESSAGE_REPLY && m->reply.answer == wanted)
        return EXIT_OK;
    if (m->type == MESSAGE_REFUSE)
        log_error("BEZEL-REFUSED", "%s %s refuses commands: %s", kind_of(node), node->name, m->refuse.reason);
    else if (m->reply.answer == ANSWER_ABSENT)
        log_error("BEZEL-REFUSED",
                  "%s: its bezeld does not serve this run yet: the run is starting, or bezeld was started again; try "
                  "again in a moment",
                  node->name);
    else
        log_error("BEZEL-REFUSED", "%s: %s", node->name,
                  m->reply.text[0] ? m->reply.text : "its answer is of an unexpected kind");
    return m->type == MESSAGE_REPLY && m->reply.answer == ANSWER_REFUSED ? EXIT_USAGE : EXIT_FAILED;
}

/* Where there are proxies, one after the other is tried. */
static int64_t patience_with(const struct control_client *r)
{
    size_t most = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        size_t proxies = words_count(r->nodes[i].caller.proxies);
        most = proxies > most ? proxies : most;
    }
    return CONTROL_CLIENT_PATIENCE + (int64_t)most * COMMAND_CALLER_TRY;
}

int control_client_ask(struct control_client *r, const struct message_command *command, enum message_answer wanted,
                       bool (*take)(void *context, const char *node, const struct message *answer), void *context)
{
    static struct message m; /* one thread; too large for a stack */
    int64_t patience = patience_with(r), until = clock_now() + patience;
    int code = EXIT_OK;
    for (uint32_t i = 0; i < r->count; i++)
        send_command(&r->nodes[i], command);
    while (wait_for_answers(r, until) && clock_now() < until)
        for (uint32_t i = 0; i < r->count; i++) {
            struct control_client_node *node = &r->nodes[i];
            if (node->asked && node->caller.life == 0 && command_caller_is_lost(&node->caller))
                send_command(node, command); /* another way */
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
                  units_duration(patience).s);
        r->nodes[i].asked = false;
        code = EXIT_UNREACHABLE;
    }
    return code;
}

/* ---- From another machine ---------------------------------------------------------------------------------------- */

/* The run of an experiment, as the bezelds list it. */
struct sought {
    const char *experiment, *node;
    uint32_t found; /* sessions of this experiment and node */
    uint8_t run[16];
};

static bool seek(void *context, const char *name, const struct message *answer)
{
    struct sought *sought = context;
    const struct message_session_list *list = &answer->sessions;
    (void)name;
    for (const struct message_session *s = list->sessions; s < list->sessions + list->count; s++)
        if (strcmp(s->experiment, sought->experiment) == 0 && strcmp(s->node, sought->node) == 0) {
            sought->found++;
            memcpy(sought->run, s->run, sizeof sought->run);
        }
    return true;
}

/* Asks the bezeld of node `node` for the run of its session. */
static int find_run(struct control_client *r, uint32_t node, struct command_caller_access access, uint8_t run[16])
{
    const struct experiment_node *n = &r->experiment->nodes[node];
    struct sought sought = {.experiment = r->experiment->name, .node = n->name};
    struct control_client bezeld;
    struct message_command command = {.verb = VERB_QUERY, .subject = SUBJECT_SESSIONS};
    int code = control_client_open_bezeld(n->address, access, n->address, &bezeld);
    if (code == EXIT_OK) {
        code = control_client_ask(&bezeld, &command, ANSWER_SESSIONS, seek, &sought);
        control_client_close(&bezeld);
    }
    memcpy(run, sought.run, sizeof sought.run);
    if (code != EXIT_OK || sought.found == 1)
        return code;
    if (sought.found == 0)
        log_error("BEZEL-UNREACHABLE",
                  "the bezeld of node %s serves no run of experiment %s: `bezel ls` lists its runs", n->name,
                  r->experiment->name);
    else
        log_error("BEZEL-UNREACHABLE",
                  "the bezeld of node %s serves %u runs of experiment %s: give the run directory, where `bezel run` is",
                  n->name, sought.found, r->experiment->name);
    return EXIT_UNREACHABLE;
}

static int find_sessions(struct control_client *r, const char *node)
{
    const struct experiment *e = r->experiment;
    int code = EXIT_OK;
    for (uint32_t i = 0; i < e->node_count && code == EXIT_OK; i++) {
        const struct experiment_node *n = &e->nodes[i];
        struct access_text text;
        uint8_t run[16];
        if (!n->address || (node && strcmp(n->name, node) != 0))
            continue;
        struct command_caller_access access = access_to(e, i, n->address, e->store.keys, n->key, &text);
        code = find_run(r, i, access, run);
        if (code == EXIT_OK)
            code = connect_to(r, n->address, access, run, n->name, n->name);
    }
    if (code != EXIT_OK || r->count > 0)
        return code;
    log_error("BEZEL-NODE", "the experiment has no node%s%s with an address: give the run directory", node ? " " : "",
              node ? node : "");
    return EXIT_USAGE;
}

/* To collector `inner`, if it is on a node, whose bezeld knows the run. */
static int find_collector(struct control_client *r, int inner, const char *name)
{
    const struct experiment *e = r->experiment;
    int node = inner == EXPERIMENT_ROOT ? experiment_collector_node(e) : experiment_inner_node(e, (uint32_t)inner);
    struct access_text text;
    uint8_t run[16];
    if (node < 0)
        return EXIT_OK;
    int code =
        find_run(r, (uint32_t)node,
                 access_to(e, (uint32_t)node, e->nodes[node].address, e->store.keys, e->nodes[node].key, &text), run);
    return code == EXIT_OK ? connect_placed(r, e->store.keys, run, inner, name) : code;
}

static int find_collectors(struct control_client *r, enum control_client_whom whom)
{
    const struct experiment *e = r->experiment;
    int code = EXIT_OK;
    if (whom == CONTROL_CLIENT_COLLECTOR)
        code = find_collector(r, EXPERIMENT_ROOT, "collector");
    for (uint32_t i = 0; whom == CONTROL_CLIENT_INNER && i < e->inner_count && code == EXIT_OK; i++)
        code = find_collector(r, (int)i, e->inner[i].name);
    if (code != EXIT_OK || r->count > 0 || whom == CONTROL_CLIENT_INNER)
        return code;
    log_error("BEZEL-NODE", "%s is commanded where `bezel run` is: give the run directory",
              whom == CONTROL_CLIENT_COLLECTOR ? "a collector that is on no node" : "a resource manager");
    return EXIT_USAGE;
}

int control_client_open_file(const char *file, enum control_client_whom whom, const char *node,
                             struct control_client *r)
{
    char *text = NULL;
    size_t n;
    struct experiment_diagnostics found = {0};
    *r = (struct control_client){.count = 0};
    int err = file_read(file, EXPERIMENT_FILE_MAX, &text, &n);
    struct inventory_resolved resolved = {0};
    if (err)
        log_error("BEZEL-FILE", "%s: %s", file, ulimit_reason(err));
    else
        err = inventory_file_resolve(file, &text, &n, &resolved);
    if (!err)
        err = experiment_read(text, n, &r->experiment, &found);
    for (size_t i = 0; i < found.count; i++)
        found.list[i].at = inventory_place(&resolved, found.list[i].at);
    inventory_resolved_free(&resolved);
    if (err == BEZEL_EMALFORMED)
        experiment_print_diagnostics(&found, file, stderr);
    experiment_diagnostics_free(&found);
    free(text);
    int code = err ? EXIT_USAGE : EXIT_OK;
    if (code == EXIT_OK &&
        !(r->nodes = calloc(r->experiment->node_count + r->experiment->inner_count + 1, sizeof *r->nodes)))
        code = EXIT_FAILED;
    if (code == EXIT_OK)
        code = whom == CONTROL_CLIENT_NODES ? find_sessions(r, node) : find_collectors(r, whom);
    if (code != EXIT_OK)
        control_client_close(r);
    return code;
}
