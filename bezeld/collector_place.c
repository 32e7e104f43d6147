// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/collector_place.h"

#include "base/address.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "base/ulimit.h"
#include "bezeld/launch/launch_collector.h"
#include "mdr/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AFTER_THE_NODES (5 * CLOCK_S) /* the collector waits for nodes that send what is left after their silence */

struct collector_place {
    uint8_t run[16];
    char name[MESSAGE_NAME_MAX + 1]; /* "-NAME" of an inner collector, "": the root */
    int inner;                       /* its index, or EXPERIMENT_ROOT */
    struct experiment *experiment;
    struct programs *programs;
    char program[PATH_MAX], server[PATH_MAX], listen[MESSAGE_TEXT_MAX + 1];
    char parents[EXPERIMENT_PARENTS_MAX][LAUNCH_COLLECTOR_ENDPOINT]; /* as this machine sees them */
    int64_t silence, heard;
};

static void free_place(struct collector_place *p, bool forget)
{
    programs_close(p->programs, forget);
    experiment_free(p->experiment);
    free(p);
}

static void remove_place(struct collector_places *all, struct collector_place **p, bool forget)
{
    free_place(*p, forget);
    *p = all->list[--all->count];
}

static struct collector_place **find(struct collector_places *all, const struct message_envelope *of)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (memcmp(all->list[i]->run, of->run, sizeof all->list[i]->run) == 0 &&
            strcmp(all->list[i]->name, of->node) == 0)
            return &all->list[i];
    return NULL;
}

bool collector_places_take(const struct message *m)
{
    if (m->type != MESSAGE_COMMAND || (m->envelope.node[0] && m->envelope.node[0] != '-'))
        return false;
    switch (m->command.verb) {
    case VERB_CONFIGURE:
    case VERB_ENDING:
    case VERB_DISCARD:
        return true;
    default:
        return programs_take(m);
    }
}

/* ---- A new place ------------------------------------------------------------------------------------------------- */

static int read_experiment(struct collector_place *p, const char *text, char why[COLLECTOR_PLACE_WHY_MAX])
{
    struct experiment_diagnostics found = {0};
    int err = experiment_read(text, strlen(text), &p->experiment, &found);
    p->inner = err || !p->name[0] ? EXPERIMENT_ROOT : experiment_inner_find(p->experiment, p->name + 1);
    bool there = !err && (!p->name[0] ? experiment_collector_node(p->experiment) >= 0
                                      : p->inner >= 0 && experiment_inner_node(p->experiment, (uint32_t)p->inner) >= 0);
    if (!err && (!there || !p->experiment->store.key))
        err = BEZEL_EMALFORMED;
    if (err)
        snprintf(why, COLLECTOR_PLACE_WHY_MAX, "this bezeld cannot read the experiment: %s",
                 found.count ? found.list[0].sentence : ulimit_reason(err));
    experiment_diagnostics_free(&found);
    return err;
}

static int open_programs(struct collector_places *all, struct collector_place *p, char why[COLLECTOR_PLACE_WHY_MAX])
{
    struct programs_options options = {
        .launcher = all->launcher,
        .experiment = p->experiment,
        .control = all->control,
        .collector = {.program = p->program,
                      .server = p->server,
                      .keys = all->keys,
                      .listen = p->listen,
                      .run = p->run,
                      .inner = p->inner >= 0 ? &p->experiment->inner[p->inner] : NULL,
                      .parents = (const char(*)[LAUNCH_COLLECTOR_ENDPOINT])p->parents,
                      .connections = p->inner >= 0 ? experiment_inner_nodes(p->experiment, (uint32_t)p->inner) : 0,
                      .silence = p->silence ? p->silence + AFTER_THE_NODES : 0}};
    memcpy(options.run, p->run, sizeof options.run);
    return programs_open(&options, &p->programs, why);
}

static int find_program(const char *name, char path[PATH_MAX], char why[COLLECTOR_PLACE_WHY_MAX])
{
    if (program_find_own(name, path, PATH_MAX) == 0)
        return 0;
    snprintf(why, COLLECTOR_PLACE_WHY_MAX, "there is no %s beside this bezeld, nor in its PATH: install it there",
             name);
    return BEZEL_ENOENT;
}

/* Makes the place that the message requests. NULL: `why` says why it cannot. */
static struct collector_place *make(struct collector_places *all, const struct message *m,
                                    char why[COLLECTOR_PLACE_WHY_MAX])
{
    struct collector_place *p = all->count < COLLECTOR_PLACES_MAX ? calloc(1, sizeof *p) : NULL;
    snprintf(why, COLLECTOR_PLACE_WHY_MAX, "this bezeld has %u collectors of runs, the maximum", all->count);
    if (!p)
        return NULL;
    memcpy(p->run, m->envelope.run, sizeof p->run);
    snprintf(p->name, sizeof p->name, "%s", m->envelope.node);
    p->heard = clock_now();
    int err = read_experiment(p, m->configure.experiment, why);
    if (!err)
        err = find_program("bezel-collector", p->program, why);
    if (!err && p->inner < 0) /* by which the run comes home */
        err = find_program("bezel-serve", p->server, why);
    if (!err) {
        p->silence = all->idle_timeout > 0 && p->experiment->silence > 0 ? p->experiment->silence : all->idle_timeout;
        err = open_programs(all, p, why);
    }
    if (!err)
        return all->list[all->count++] = p;
    free_place(p, false);
    return NULL;
}

/* A parent that listens at all addresses is reached at the address from which the request came. */
static void see_parent(const char *text, const struct command_request *from, char endpoint[LAUNCH_COLLECTOR_ENDPOINT])
{
    struct address address;
    const char *why;
    bool any = address_read(text, &address, &why) == 0 && address.kind == ADDRESS_ANY;
    if (any)
        snprintf(endpoint, LAUNCH_COLLECTOR_ENDPOINT, "tcp://%.200s:%u", from->host[0] ? from->host : "127.0.0.1",
                 address.port);
    else
        snprintf(endpoint, LAUNCH_COLLECTOR_ENDPOINT, "%s", text);
}

/*
 * Where it is to listen, and its parents. One that runs and has other parents by now, because another `bezel run` has
 * taken the run over, ends: it is then started again.
 */
static void take_endpoints(struct collector_place *p, const char *text, const struct command_request *from)
{
    char list[MESSAGE_TEXT_MAX + 1], *rest = NULL, before[sizeof p->parents];
    size_t n = 0;
    memcpy(before, p->parents, sizeof before);
    snprintf(list, sizeof list, "%s", text);
    const char *one = strtok_r(list, " ", &rest);
    snprintf(p->listen, sizeof p->listen, "%s", one ? one : "");
    memset(p->parents, 0, sizeof p->parents);
    while (n < EXPERIMENT_PARENTS_MAX && (one = strtok_r(NULL, " ", &rest)))
        see_parent(one, from, p->parents[n++]);
    if (before[0] && memcmp(before, p->parents, sizeof before) != 0)
        programs_end(p->programs, END_TERM);
}

static void configure(struct collector_places *all, const struct command_request *from)
{
    const struct message *m = command_server_message(all->control);
    struct collector_place **there = find(all, &from->envelope), *p = there ? *there : NULL;
    char why[COLLECTOR_PLACE_WHY_MAX] = "";
    bool begun = !p;
    if (!from->may_launch)
        snprintf(why, sizeof why,
                 "your key does not have the role launch here, and the collector is to be started: add `launch` to the "
                 "roles in %.100s.pub in the bezeld's folder of keys",
                 from->key);
    else if (!all->keys)
        snprintf(why, sizeof why,
                 "this bezeld has no keys: start it with --keys DIR, a folder with the collector's key");
    else if (!p)
        p = make(all, m, why);
    if (!p || !from->may_launch) {
        command_server_refuse(all->control, from, ANSWER_REFUSED, why);
        return;
    }
    take_endpoints(p, m->configure.collector, from);
    p->heard = clock_now();
    command_server_reply(all->control, from, NULL,
                         &(struct message_reply){.state = DAEMON_ACTIVE, .answer = ANSWER_SESSION, .begun = begun});
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

static void answer(struct collector_places *all, const struct command_request *from)
{
    command_server_reply(
        all->control, from, NULL,
        &(struct message_reply){.state = DAEMON_ACTIVE, .answer = ANSWER_BEZELD, .sessions = all->count});
}

void collector_places_receive(struct collector_places *all, const struct command_request *from)
{
    const struct message *m = command_server_message(all->control);
    struct collector_place **p = find(all, &from->envelope);
    if (m->command.verb == VERB_CONFIGURE) {
        configure(all, from);
        return;
    }
    if (!p) {
        command_server_refuse(all->control, from, ANSWER_ABSENT, "this bezeld has no collector of this run");
        return;
    }
    (*p)->heard = clock_now();
    if (m->command.verb == VERB_DISCARD) {
        remove_place(all, p, true);
        answer(all, from);
    } else if (m->command.verb == VERB_ENDING) {
        programs_end((*p)->programs, m->command.ending);
        answer(all, from);
    } else
        programs_receive((*p)->programs, from);
}

void collector_places_turn(struct collector_places *all)
{
    int64_t now = clock_now();
    for (uint32_t i = all->count; i-- > 0;) {
        struct collector_place **p = &all->list[i];
        programs_turn((*p)->programs);
        if ((*p)->silence == 0 || now - (*p)->heard < (*p)->silence + AFTER_THE_NODES)
            continue;
        log_warn("BEZEL-IDLE-TIMEOUT",
                 "no command from `bezel run` about the collector of experiment %s: the collector ends",
                 (*p)->experiment->name);
        remove_place(all, p, false);
    }
}

size_t collector_places_fds(const struct collector_places *all, int *fds)
{
    size_t n = 0;
    for (uint32_t i = 0; i < all->count; i++)
        if (programs_fd(all->list[i]->programs) >= 0)
            fds[n++] = programs_fd(all->list[i]->programs);
    return n;
}

void collector_places_free(struct collector_places *all)
{
    while (all->count > 0)
        remove_place(all, &all->list[0], false);
}
