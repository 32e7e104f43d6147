// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/reach.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limit.h"
#include "base/log.h"
#include "base/units.h"
#include "ecs/commands.h"
#include "ecs/rundir.h"
#include "mdr/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REACH_QUEUE = 4 };

#define REACH_PATIENCE (5 * CLOCK_S)

/* ---- Finding the daemons ----------------------------------------------------------------------------------------- */

static int find_control(const char *run, char private[RUNDIR_PRIVATE_MAX])
{
    int err = rundir_control(run, private);
    if (err == 0)
        return EXIT_HELD;
    if (err == BEZEL_EPERM)
        log_error("BEZEL-REACH", "%s is another user's run: only who runs it may steer it", run);
    else if (err == BEZEL_EUNREACH)
        log_error("BEZEL-REACH", "%s does not go on any more: there is nothing to steer", run);
    else
        log_error("BEZEL-REACH", "%s/control is no folder of a run's sockets: %s", run, limit_reason(err));
    return err == BEZEL_EINVAL ? EXIT_FAILED : EXIT_UNREACHABLE;
}

static int load_experiment(const char *run, struct experiment **e)
{
    char path[PATH_MAX + 32], *text;
    size_t n;
    struct experiment_diagnostics found;
    snprintf(path, sizeof path, "%.*s/experiment.yaml", PATH_MAX, run);
    if (file_read_plain(path, 1, EXPERIMENT_FILE_MAX, &text, &n) != 0) {
        log_error("BEZEL-REACH", "cannot read %s: %s", path, strerror(errno));
        return EXIT_FAILED;
    }
    int err = experiment_read(text, n, e, &found);
    if (err)
        experiment_print_diagnostics(&found, path, stderr);
    experiment_diagnostics_free(&found);
    free(text);
    return err ? EXIT_FAILED : EXIT_HELD;
}

static int connect_nodes(struct reach *r, const char *private, const char *node)
{
    const struct experiment *e = r->experiment;
    for (uint32_t i = 0; i < e->node_count; i++) {
        char endpoint[LINK_ENDPOINT_MAX];
        struct reach_node *to = &r->nodes[r->count];
        if (node && strcmp(e->nodes[i].name, node) != 0)
            continue;
        snprintf(endpoint, sizeof endpoint, "ipc://%s/.node%u", private, i);
        int err = link_connect(endpoint, MESSAGE_MAX_BYTES, REACH_QUEUE, NULL, &to->link);
        if (err) {
            log_error("BEZEL-REACH", "cannot connect to %s: %s", endpoint, limit_reason(err));
            return EXIT_FAILED;
        }
        to->name = e->nodes[i].name;
        r->count++;
    }
    if (r->count > 0)
        return EXIT_HELD;
    log_error("BEZEL-REACH", "the experiment has no node '%s'", node);
    return EXIT_USAGE;
}

int reach_open(const char *run, const char *node, struct reach *r)
{
    char private[RUNDIR_PRIVATE_MAX];
    *r = (struct reach){.count = 0};
    int code = load_experiment(run, &r->experiment);
    if (code == EXIT_HELD)
        code = find_control(run, private);
    if (code == EXIT_HELD && !(r->nodes = calloc(r->experiment->node_count, sizeof *r->nodes)))
        code = EXIT_FAILED;
    if (code == EXIT_HELD)
        code = connect_nodes(r, private, node);
    if (code != EXIT_HELD)
        reach_close(r);
    return code;
}

void reach_close(struct reach *r)
{
    for (uint32_t i = 0; i < r->count; i++)
        link_close(r->nodes[i].link, 0);
    free(r->nodes);
    experiment_free(r->experiment);
    *r = (struct reach){.count = 0};
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

static bool send_command(struct reach *r, struct reach_node *node, const struct message_command *command)
{
    static uint8_t bytes[MESSAGE_PATTERNS_MAX + 64];
    static struct message m; /* one thread; too large for a stack */
    m.type = MESSAGE_COMMAND;
    m.command = *command;
    node->asked = m.command.id = ++r->commands;
    int n = message_encode(&m, bytes, sizeof bytes);
    return n > 0 && link_send(node->link, NULL, bytes, (size_t)n) == 0;
}

/* Whether its answer came; what is not, is dropped. */
static bool take_answer(struct reach_node *node, struct message *m)
{
    struct link_frame frame;
    while (link_receive(node->link, &frame) == 0) {
        int err = message_decode(frame.data, frame.size, m);
        link_frame_free(&frame);
        if (!err && m->type == MESSAGE_REPLY && m->reply.id == node->asked)
            return true;
    }
    return false;
}

static uint32_t wait_for_answers(struct reach *r, int64_t until)
{
    struct link *links[LINK_WAIT_MAX];
    size_t n = 0;
    uint32_t missing = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        missing += r->nodes[i].asked != 0;
        if (r->nodes[i].asked && n < LINK_WAIT_MAX)
            links[n++] = r->nodes[i].link;
    }
    int64_t now = clock_now();
    if (missing && now < until)
        link_wait(links, n, NULL, 0, until - now);
    return missing;
}

int reach_ask(struct reach *r, const struct message_command *command,
              bool (*take)(void *context, const char *node, const struct message_reply *reply), void *context)
{
    static struct message m; /* one thread; too large for a stack */
    int64_t until = clock_now() + REACH_PATIENCE;
    int code = EXIT_HELD;
    for (uint32_t i = 0; i < r->count; i++)
        if (!send_command(r, &r->nodes[i], command))
            log_error("BEZEL-REACH", "the command to node %s cannot be sent", r->nodes[i].name);
    while (wait_for_answers(r, until) && clock_now() < until)
        for (uint32_t i = 0; i < r->count; i++) {
            struct reach_node *node = &r->nodes[i];
            if (!node->asked || !take_answer(node, &m))
                continue;
            node->asked = 0;
            if (!take(context, node->name, &m.reply))
                code = EXIT_FAILED;
        }
    for (uint32_t i = 0; i < r->count; i++) {
        if (!r->nodes[i].asked)
            continue;
        log_error("BEZEL-REACH", "node %s did not answer within %s", r->nodes[i].name,
                  units_duration(REACH_PATIENCE).s);
        r->nodes[i].asked = 0;
        code = EXIT_UNREACHABLE;
    }
    return code;
}
