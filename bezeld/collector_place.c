// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/collector_place.h"

#include "base/clock.h"
#include "base/limit.h"
#include "base/log.h"
#include "base/program.h"
#include "bezeld/launch/launch_collector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AFTER_THE_NODES (5 * CLOCK_S) /* the collector waits for nodes that send what is left after their silence */

struct collector_place {
    uint8_t run[16];
    struct experiment *experiment;
    struct programs *programs;
    char program[PATH_MAX], listen[MESSAGE_TEXT_MAX + 1];
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

static struct collector_place **find(struct collector_places *all, const uint8_t run[16])
{
    for (uint32_t i = 0; i < all->count; i++)
        if (memcmp(all->list[i]->run, run, sizeof all->list[i]->run) == 0)
            return &all->list[i];
    return NULL;
}

bool collector_places_take(const struct message *m)
{
    if (m->type != MESSAGE_COMMAND)
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
    if (!err && (experiment_collector_node(p->experiment) < 0 || !p->experiment->store.key))
        err = BEZEL_EMALFORMED;
    if (err)
        snprintf(why, COLLECTOR_PLACE_WHY_MAX, "this bezeld cannot read the experiment: %s",
                 found.count ? found.list[0].sentence : limit_reason(err));
    experiment_diagnostics_free(&found);
    return err;
}

static int open_programs(struct collector_places *all, struct collector_place *p, char why[COLLECTOR_PLACE_WHY_MAX])
{
    struct programs_options options = {.launcher = all->launcher,
                                       .experiment = p->experiment,
                                       .control = all->control,
                                       .collector = {.program = p->program,
                                                     .keys = all->keys,
                                                     .listen = p->listen,
                                                     .run = p->run,
                                                     .silence = p->silence ? p->silence + AFTER_THE_NODES : 0}};
    memcpy(options.run, p->run, sizeof options.run);
    return programs_open(&options, &p->programs, why);
}

/* Makes the place that the message requests. NULL: `why` says why it cannot. */
static struct collector_place *make(struct collector_places *all, const struct message *m,
                                    char why[COLLECTOR_PLACE_WHY_MAX])
{
    struct collector_place *p = all->count < COLLECTOR_PLACES_MAX ? calloc(1, sizeof *p) : NULL;
    snprintf(why, COLLECTOR_PLACE_WHY_MAX, "this bezeld has the collectors of %u runs, the maximum", all->count);
    if (!p)
        return NULL;
    memcpy(p->run, m->envelope.run, sizeof p->run);
    p->heard = clock_now();
    int err = read_experiment(p, m->configure.experiment, why);
    if (!err && program_find_own("bezel-collector", p->program, sizeof p->program) != 0) {
        snprintf(why, COLLECTOR_PLACE_WHY_MAX,
                 "there is no bezel-collector beside this bezeld, nor in its PATH: install it there");
        err = BEZEL_ENOENT;
    }
    if (!err) {
        p->silence = all->idle_timeout > 0 && p->experiment->silence > 0 ? p->experiment->silence : all->idle_timeout;
        err = open_programs(all, p, why);
    }
    if (!err)
        return all->list[all->count++] = p;
    free_place(p, false);
    return NULL;
}

static void configure(struct collector_places *all, const struct command_request *from)
{
    const struct message *m = command_server_message(all->control);
    struct collector_place **there = find(all, from->envelope.run), *p = there ? *there : NULL;
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
    snprintf(p->listen, sizeof p->listen, "%s", m->configure.collector);
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
    struct collector_place **p = find(all, from->envelope.run);
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
        log_warn("BEZEL-IDLE-TIMEOUT", "no command from `bezel run` about the collector of experiment %s: it ends",
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
