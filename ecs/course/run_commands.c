// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/grow.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "ecs/course/run_internal.h"
#include "mdr/message.h"
#include "run/rundb/rundb.h"
#include <string.h>

/*
 * Commands of triggers: the launcher of the node where a trigger has fired starts its command, with the event in its
 * environment, and ends it if it lasts too long. One command of a trigger runs at a time, on whatever node, and a run
 * has at most RUN_COMMANDS_MAX of each trigger; others are refused, and counted.
 */

enum { COMMANDS_SHOWN = 20 /* of each trigger, on the console; the report lists all */ };

#define ASK_AGAIN CLOCK_S /* where a launcher elsewhere has not answered for so long */

static struct daemon *daemon_of(struct run *r, const struct run_command *c)
{
    return &r->daemons.daemons[1 + c->node].process;
}

static bool is_remote(const struct run *r, const struct run_command *c)
{
    return experiment_is_remote(&r->e->nodes[c->node]);
}

static uint32_t number_of(const struct run *r, const struct run_command *c)
{
    return (uint32_t)(c - r->commands);
}

/* Whether more about this trigger's commands is to be said. */
static bool is_shown(const struct run_command *c)
{
    return c->started <= COMMANDS_SHOWN;
}

static void fail(struct run *r, struct run_command *c, const char *why)
{
    c->runs = false;
    c->failed++;
    if (is_shown(c))
        console_error(&r->console, "BEZEL-RUN-COMMAND",
                      "the command of trigger %u (%s) on node %s could not be started: %s", number_of(r, c) + 1,
                      r->e->triggers[number_of(r, c)].when, r->e->nodes[c->node].name, why);
}

/* ---- Starting ---------------------------------------------------------------------------------------------------- */

static void start_remote(struct run *r, struct run_command *c, int64_t now)
{
    struct daemon *d = daemon_of(r, c);
    struct message_command start = {.verb = VERB_START, .start = {.incarnation = c->row.of.incarnation}};
    launch_program_trigger_name(number_of(r, c), start.start.process);
    if (d->serves && daemon_command(d, &start) == 0)
        c->sent_id = d->caller.id;
    c->sent_at = now;
}

static void start_local(struct run *r, struct run_command *c, const struct message_firing *f)
{
    struct launch_program program;
    char output[PATH_MAX + 96];
    if (r->launcher_lost) {
        fail(r, c, "the launcher is gone");
        return;
    }
    int err = launch_program_trigger(r->e, c->node, f, &program);
    snprintf(output, sizeof output, "%s/output/%s.txt", r->dir.path, program.launch.of.process);
    program.launch.of.incarnation = c->row.of.incarnation;
    program.launch.output = LAUNCH_OUTPUT_FILE;
    program.launch.file = output;
    err = err ? err : launcher_start(&r->launcher, &program.launch);
    launch_program_free(&program);
    c->sent_id = err ? 0 : r->launcher.id;
    if (err)
        fail(r, c, err == BEZEL_EFULL ? "its command is too long" : ulimit_reason(err));
}

void run_command_fire(struct run *r, uint32_t node, const struct message_firing *f, uint64_t times)
{
    struct run_command *c = &r->commands[f->trigger];
    int64_t now = clock_now();
    bool refused = c->runs || c->started == RUN_COMMANDS_MAX;
    c->refused += refused ? times : times - 1;
    if (refused)
        return;
    c->runs = true;
    c->known = false;
    c->started++;
    c->node = node;
    c->sent_id = 0;
    /* Greater than those of the `bezel run` before: the launcher of a node may know them. */
    uint32_t taken = r->taken && c->started == 1 ? (uint32_t)((now - r->state.started) / CLOCK_MS) : 0;
    c->row = (struct message_launched){.of.incarnation = c->row.of.incarnation + taken + 1};
    launch_program_trigger_name(f->trigger, c->row.of.process);
    if (is_remote(r, c))
        start_remote(r, c, now);
    else
        start_local(r, c, f);
}

void run_commands_ask(struct run *r)
{
    int64_t now = clock_now();
    for (uint32_t i = 0; i < r->e->trigger_count && r->state.phase == PHASE_RUNNING; i++) {
        struct run_command *c = &r->commands[i];
        if (c->runs && !c->known && is_remote(r, c) && now - c->sent_at >= ASK_AGAIN)
            start_remote(r, c, now);
    }
}

/* ---- What becomes of them ---------------------------------------------------------------------------------------- */

/* Keeps the row for the report. */
static void keep(struct run *r, struct run_command *c)
{
    if (grow_by_one(&r->command_rows, r->command_row_count, sizeof *r->command_rows)) /* or the report lacks it */
        r->command_rows[r->command_row_count++] = (struct run_command_row){.node = c->node, .row = c->row};
}

static void report_end(struct run *r, const struct run_command *c)
{
    char end[128];
    uint32_t i = number_of(r, c);
    bool late = strcmp(c->row.stage, MESSAGE_STAGE_TIMEOUT) == 0;
    sut_processes_describe_end(c->row.status, end, sizeof end);
    if (late)
        console_error(&r->console, "BEZEL-RUN-COMMAND",
                      "the command of trigger %u (%s) on node %s did not end within %s, and %s", i + 1,
                      r->e->triggers[i].when, r->e->nodes[c->node].name,
                      units_exact_duration(experiment_trigger_action(&r->e->triggers[i], ACT_COMMAND)->timeout).s, end);
    else
        console_event(&r->console, "BEZEL-RUN-COMMAND", "the command of trigger %u (%s) on node %s %s", i + 1,
                      r->e->triggers[i].when, r->e->nodes[c->node].name, end);
}

bool run_command_take(struct run *r, const struct message_launched *row)
{
    int i = launch_program_trigger_find(r->e, row->of.process);
    struct run_command *c = i < 0 ? NULL : &r->commands[i];
    if (!c || !c->runs || row->of.incarnation != c->row.of.incarnation)
        return i >= 0;
    c->known = true;
    c->row = *row;
    if (row->state == LAUNCHED_RUNS)
        return true;
    keep(r, c);
    c->runs = false;
    c->failed += row->state != LAUNCHED_ENDED || row->status != 0;
    if (row->state == LAUNCHED_ENDED && is_shown(c))
        report_end(r, c);
    else if (row->state == LAUNCHED_FAILED) {
        c->failed--;
        fail(r, c, strerror(row->error));
    }
    return true;
}

bool run_command_refused(struct run *r, int node, const struct message_reply *reply)
{
    for (uint32_t i = 0; i < r->e->trigger_count; i++) {
        struct run_command *c = &r->commands[i];
        bool is_its = node < 0 ? !is_remote(r, c) : is_remote(r, c) && c->node == (uint32_t)node;
        if (!c->runs || c->known || !is_its || c->sent_id == 0 || c->sent_id != reply->id ||
            reply->answer != ANSWER_REFUSED)
            continue;
        fail(r, c, reply->text);
        return true;
    }
    return false;
}

int run_commands_put(struct run *r, struct rundb *f)
{
    int err = 0;
    for (uint32_t i = 0; i < r->e->trigger_count; i++) {
        struct run_command *c = &r->commands[i];
        if (c->runs && c->known)
            keep(r, c);
        if (c->refused)
            console_event(
                &r->console, "BEZEL-RUN-COMMAND",
                "trigger %u (%s) fired %llu more times without its command, because one still ran, another firing "
                "was told with it, or %d had been started",
                i + 1, r->e->triggers[i].when, (unsigned long long)c->refused, RUN_COMMANDS_MAX);
        if (c->late)
            console_event(&r->console, "BEZEL-RUN-TRIGGER",
                          "trigger %u (%s) fired as the run ended, when neither a command nor a snapshot is begun any "
                          "more: firings without one: %llu",
                          i + 1, r->e->triggers[i].when, (unsigned long long)c->late);
    }
    for (size_t i = 0; i < r->command_row_count && !err; i++)
        err = rundb_program(f, r->e->nodes[r->command_rows[i].node].name, &r->command_rows[i].row, 0);
    return err;
}
