// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/programs.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "bezeld/launch/launch_program.h"
#include "bezeld/launch/launcher.h"
#include "bezeld/node/node.h"
#include "mdr/message.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASKED_MAX = 64 /* commands under way; of more, the oldest gets no answer, and is repeated by who sent it */ };

#define CONNECT_EVERY (50 * CLOCK_MS)

struct asked {
    uint32_t id; /* to the launcher; 0: the place is free */
    bool start;  /* a program is to be started */
    struct command_request from;
};

struct programs {
    struct programs_options options;
    char name[LAUNCHER_NAME_MAX];
    struct launcher launcher;
    bool connected;
    bool other_version; /* the launcher's; it was logged */
    bool fenced;        /* programs_fence() */
    int64_t tried;      /* to connect */
    struct asked asked[ASKED_MAX];
};

bool programs_are_ours(const struct experiment *e, uint32_t node)
{
    bool starts = false;
    for (uint32_t i = 0; i < e->process_count; i++)
        starts |= e->processes[i].node == node && e->processes[i].argv;
    for (uint32_t i = 0; i < e->trigger_count; i++)
        starts |= experiment_trigger_action(&e->triggers[i], ACT_COMMAND) != NULL;
    return starts && experiment_is_remote(&e->nodes[node]);
}

/* ---- The connection ---------------------------------------------------------------------------------------------- */

/* Whether it is connected; else *err says why. */
static bool connect_launcher(struct programs *p, int *err)
{
    int64_t now = clock_now();
    *err = BEZEL_EAGAIN;
    if (p->connected || (p->tried && now - p->tried < CONNECT_EVERY))
        return p->connected;
    p->tried = now;
    *err = launcher_connect(p->options.launcher, p->name, &p->launcher);
    return p->connected = *err == 0;
}

static void refuse_all(struct programs *p, const char *why)
{
    for (struct asked *a = p->asked; a < p->asked + ASKED_MAX; a++) {
        if (a->id)
            command_server_refuse(p->options.control, &a->from, ANSWER_REFUSED, why);
        a->id = 0;
    }
}

/* Who asked gets no answer, and asks again. */
static void disconnect(struct programs *p)
{
    (void)launcher_close(&p->launcher);
    p->connected = false;
    memset(p->asked, 0, sizeof p->asked);
}

int programs_open(const struct programs_options *options, struct programs **out, char why[PROGRAMS_WHY_MAX])
{
    if (!options->launcher) {
        snprintf(why, PROGRAMS_WHY_MAX,
                 "this bezeld starts no programs: start `bezel-launcher --dir DIR` beside it, and the bezeld with "
                 "`--launcher DIR`");
        return BEZEL_EPERM;
    }
    struct programs *p = calloc(1, sizeof *p);
    int err = p ? 0 : BEZEL_ENOMEM;
    if (p) {
        *p = (struct programs){.options = *options, .launcher.fd = -1};
        char inner[EXPERIMENT_NAME_MAX + 3] = "";
        if (options->collector.inner)
            snprintf(inner, sizeof inner, "--%s", options->collector.inner->name);
        launcher_session_name(options->run,
                              inner[0]                     ? inner
                              : options->collector.program ? LAUNCH_COLLECTOR_SESSION
                                                           : options->experiment->nodes[options->node].name,
                              p->name);
        if (connect_launcher(p, &err) || err == BEZEL_EAGAIN) {
            *out = p;
            return 0;
        }
    }
    if (errno == EACCES || errno == EPERM)
        snprintf(why, PROGRAMS_WHY_MAX, "bezeld may not use the launcher in %.120s: %s; start both as the same user",
                 options->launcher, strerror(errno));
    else
        snprintf(why, PROGRAMS_WHY_MAX,
                 "no bezel-launcher serves in %.150s: %s; start `bezel-launcher --dir DIR` there", options->launcher,
                 errno ? strerror(errno) : ulimit_reason(err));
    free(p);
    return err;
}

void programs_close(struct programs *p, bool forget)
{
    static struct message m; /* one thread; too large for a stack */
    if (!p)
        return;
    m.type = MESSAGE_COMMAND;
    m.command = (struct message_command){.id = 1, .verb = VERB_SHUTDOWN};
    bool sent = p->connected && forget && launcher_send(&p->launcher, &m) == 0;
    if (forget && !sent) { /* the launcher was stopped, and its queue is full: a new connection has another one */
        disconnect(p);
        sent =
            launcher_connect(p->options.launcher, p->name, &p->launcher) == 0 && launcher_send(&p->launcher, &m) == 0;
    }
    if (forget && !sent)
        log_warn("BEZEL-LAUNCHER", "%s: cannot send the launcher the end of the run: the launcher ends by itself",
                 p->name);
    (void)launcher_close(&p->launcher);
    free(p);
}

int programs_fd(const struct programs *p)
{
    return p && p->connected ? p->launcher.fd : -1;
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

bool programs_take(const struct message *m)
{
    const struct message_command *c = &m->command;
    bool query = c->verb == VERB_QUERY && (c->subject == SUBJECT_PROCESSES || c->subject == SUBJECT_OUTPUT);
    return m->type == MESSAGE_COMMAND && (query || (c->verb == VERB_START && c->start.process[0]));
}

static struct asked *remember(struct programs *p, const struct command_request *from, bool start)
{
    struct asked *place = p->asked;
    for (struct asked *a = p->asked; a < p->asked + ASKED_MAX && place->id; a++)
        if (!a->id || a->id < place->id)
            place = a;
    *place = (struct asked){.id = ++p->launcher.id, .start = start, .from = *from};
    return place;
}

/* Makes the LAUNCH of the collector, or of what comes in its place. NULL, or why it cannot be started. */
static const char *make_collector(const struct programs *p, struct message *m)
{
    static struct launch_collector c; /* one thread; large for a stack */
    struct message_start of = m->command.start;
    if (!launch_collector_make(p->options.experiment, &p->options.collector, of.process, &c))
        return "a collector is started by the name `collector`; in its place `server` and `discard`";
    c.launch.of.incarnation = of.incarnation;
    m->type = MESSAGE_LAUNCH;
    return launch_to_message(&c.launch, &m->launch) ? "its command and environment are too long" : NULL;
}

/* Makes the LAUNCH of the command of a trigger that has fired on this node. NULL, or why it cannot be started. */
static const char *make_command(const struct programs *p, struct message *m, uint32_t trigger)
{
    struct message_start of = m->command.start;
    struct message_firing f;
    struct launch_program program;
    if (!p->options.of || !node_firing(*p->options.of, trigger, &f))
        return "the trigger has not fired on this node since its bezeld was started";
    if (launch_program_trigger(p->options.experiment, p->options.node, &f, &program) != 0)
        return "this bezeld has no memory";
    program.launch.of = of;
    program.launch.silence = p->options.silence;
    m->type = MESSAGE_LAUNCH;
    int err = launch_to_message(&program.launch, &m->launch);
    launch_program_free(&program);
    return err ? "its command is too long" : NULL;
}

/* Makes the LAUNCH of the program that the START in `m` names. NULL, or why it cannot be started. */
static const char *make_launch(const struct programs *p, struct message *m)
{
    const struct experiment *e = p->options.experiment;
    struct message_start of = m->command.start;
    struct launch_program program;
    uint32_t instance;
    const struct experiment_process *process = launch_program_find(e, p->options.node, of.process, &instance);
    int trigger = launch_program_trigger_find(e, of.process);
    if (trigger >= 0)
        return make_command(p, m, (uint32_t)trigger);
    if (!process)
        return "the experiment has no such program on this node";
    if (launch_program_make(e, process, instance, p->options.dir, &program) != 0)
        return "this bezeld has no memory";
    program.launch.of.incarnation = of.incarnation;
    program.launch.silence = p->options.silence;
    m->type = MESSAGE_LAUNCH;
    int err = launch_to_message(&program.launch, &m->launch);
    launch_program_free(&program);
    return err ? "its command and environment are too long" : NULL;
}

void programs_receive(struct programs *p, const struct command_request *from)
{
    static struct message m; /* one thread; too large for a stack */
    struct command_server *control = p->options.control;
    const struct message *asked = command_server_message(control);
    const char *why = NULL;
    int err;
    m.type = MESSAGE_COMMAND;
    m.envelope = asked->envelope;
    m.command = asked->command;
    bool start = m.command.verb == VERB_START;
    if (start && p->fenced) /* whoever wants it still asks the next bezeld */
        return;
    if (start && !from->may_launch)
        why = "your key does not have the role launch at this bezeld";
    else if (start)
        why = p->options.collector.program ? make_collector(p, &m) : make_launch(p, &m);
    if (why) {
        command_server_refuse(control, from, ANSWER_REFUSED, why);
        return;
    }
    if (!connect_launcher(p, &err)) {
        if (err != BEZEL_EAGAIN)
            command_server_refuse(control, from, ANSWER_REFUSED, "the launcher of this machine does not serve");
        return;
    }
    struct asked *a = remember(p, from, start);
    if (start)
        m.launch.id = a->id;
    else
        m.command.id = a->id;
    err = launcher_send(&p->launcher, &m);
    if (err)
        a->id = 0;
    if (err == BEZEL_EUNREACH)
        disconnect(p);
}

void programs_fence(struct programs *p)
{
    bool waits = false;
    if (!p || p->fenced)
        return;
    p->fenced = true;
    for (const struct asked *a = p->asked; a < p->asked + ASKED_MAX; a++)
        waits |= a->id && a->start;
    if (p->connected && waits)
        disconnect(p);
}

void programs_end(struct programs *p, enum message_ending how)
{
    int err;
    if (p && connect_launcher(p, &err) && launcher_end(&p->launcher, how) == BEZEL_EUNREACH)
        disconnect(p);
}

void programs_turn(struct programs *p)
{
    int err = BEZEL_EAGAIN;
    if (!p || !p->connected)
        return;
    struct message *m = command_server_message(p->options.control);
    while ((err = launcher_receive(&p->launcher, m)) == 0) {
        p->other_version = false;
        struct asked *a = p->asked;
        while (a < p->asked + ASKED_MAX && (a->id == 0 || a->id != m->reply.id))
            a++;
        if (m->type != MESSAGE_REPLY || a == p->asked + ASKED_MAX)
            continue;
        struct message_reply reply = m->reply;
        a->id = 0;
        command_server_reply(p->options.control, &a->from, NULL, &reply);
    }
    if (err == BEZEL_EVERSION) {
        char why[sizeof m->refuse.reason + 120];
        snprintf(why, sizeof why, "restart the launcher in %.60s, when no program runs: %s", p->options.launcher,
                 m->refuse.reason);
        if (!p->other_version)
            log_error("BEZEL-LAUNCHER-VERSION", "%s", why);
        p->other_version = true;
        refuse_all(p, why);
    }
    if (err != BEZEL_EAGAIN)
        disconnect(p);
}
