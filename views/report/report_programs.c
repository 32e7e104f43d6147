// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The programs that the run started: how they ended, and what they used. */
#include "mdr/parts.h"
#include "views/report/report.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static bool ended_by(const struct summary_program *p, const char *stage)
{
    return p->state == LAUNCHED_ENDED && strcmp(p->stage, stage) == 0;
}

static bool ended_by_silence(const struct summary_program *p)
{
    return ended_by(p, MESSAGE_STAGE_SILENCE);
}

/* Of the command of a trigger. */
static bool ended_by_timeout(const struct summary_program *p)
{
    return ended_by(p, MESSAGE_STAGE_TIMEOUT);
}

static bool ended_well(const struct summary_program *p)
{
    return !ended_by_silence(p) && !ended_by_timeout(p) && p->state == LAUNCHED_ENDED &&
           (p->status == 0 || (WIFSIGNALED(p->status) && WTERMSIG(p->status) == SIGTERM));
}

static void describe_end(const struct summary_program *p, char *text, size_t size)
{
    const char *name = WIFSIGNALED(p->status) ? sigabbrev_np(WTERMSIG(p->status)) : NULL;
    if (p->state == LAUNCHED_FAILED)
        snprintf(text, size, "not started: %s: %s", p->stage, strerror(p->error));
    else if (p->state == LAUNCHED_LOST)
        snprintf(text, size, "unknown: its launcher has ended");
    else if (p->state == LAUNCHED_RUNS)
        snprintf(text, size, "unknown");
    else if (ended_by_silence(p))
        snprintf(text, size, "ended: its launcher had no command");
    else if (ended_by_timeout(p))
        snprintf(text, size, "ended: it ran into its timeout");
    else if (name)
        snprintf(text, size, "SIG%s", name);
    else if (WIFSIGNALED(p->status))
        snprintf(text, size, "signal %d", WTERMSIG(p->status));
    else
        snprintf(text, size, "exit code %d", WEXITSTATUS(p->status));
}

static void program_row(struct rows *w, const struct report *r, const void *item)
{
    static const char *const states[] = {"running", "ended", "failed", "lost"};
    const struct summary_program *p = item;
    bool ended = p->state == LAUNCHED_ENDED;
    char end[160], place[160] = "", start[32] = "";
    describe_end(p, end, sizeof end);
    if (r->experiment->node_count > 1)
        snprintf(place, sizeof place, "%s/", p->node);
    if (p->incarnation > 1)
        snprintf(start, sizeof start, ", start %u", p->incarnation);
    rows_cell(w, "program", 'l', "%s%s%s", place, p->name, start);
    rows_text(w, "end", NULL, end);
    json_text(w->json, "node", p->node);
    json_text(w->json, "program", p->name);
    json_int(w->json, "incarnation", p->incarnation);
    json_int(w->json, "pid", p->pid);
    json_text(w->json, "state", states[p->state]);
    if (ended && WIFEXITED(p->status))
        json_int(w->json, "exit_code", WEXITSTATUS(p->status));
    if (ended && WIFSIGNALED(p->status))
        json_int(w->json, "signal", WTERMSIG(p->status));
    if (ended_by_silence(p) || ended_by_timeout(p))
        json_text(w->json, "ended_by", p->stage);
    if (p->state == LAUNCHED_FAILED) {
        json_text(w->json, "failed", p->stage);
        json_text(w->json, "reason", strerror(p->error));
    }
    rows_cell(w, "ran", 'r', "%s", ended ? units_duration(p->ran).s : "-");
    json_int(w->json, "ran_ns", p->ran);
    rows_cell(w, "CPU", 'r', "%s", ended ? units_duration(p->cpu).s : "-");
    json_int(w->json, "cpu_ns", p->cpu);
    rows_cell(w, "memory", 'r', "%s", ended ? units_bytes(p->memory).s : "-");
    json_uint(w->json, "memory_bytes", p->memory);
    json_uint(w->json, "output_missing_bytes", p->missing);
}

static int program_rank(const struct report *r, const void *item)
{
    const struct summary_program *p = item;
    (void)r;
    return !ended_well(p) || p->missing > 0;
}

static void print_missing(const struct report *r, FILE *out)
{
    struct rows w = {.report = r, .bare = true};
    for (size_t i = 0; i < r->summary->program_count; i++) {
        const struct summary_program *p = &r->summary->programs[i];
        if (p->missing > 0)
            rows_line(&w, "%s of the output of %s/%s is missing: it was not fetched in time, or there was no space.",
                      units_bytes(p->missing).s, p->node, p->name);
    }
    rows_print_table(&w, out);
}

const struct rows_section report_programs = {ROWS_LIST("Programs", "programs", programs, program_count, program_row),
                                             .rank = program_rank, .text = print_missing};
