// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The programs that the run started: how they ended, and what they used. */
#include "base/json.h"
#include "base/plain.h"
#include "base/table.h"
#include "mdr/message.h"
#include "views/report/report.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

enum { PROGRAMS_SHOWN = 24 /* of more, only --all shows those that ended well */ };

static bool ended_by_silence(const struct summary_program *p)
{
    return p->state == LAUNCHED_ENDED && strcmp(p->stage, MESSAGE_STAGE_SILENCE) == 0;
}

static bool ended_well(const struct summary_program *p)
{
    return !ended_by_silence(p) && p->state == LAUNCHED_ENDED &&
           (p->status == 0 || (WIFSIGNALED(p->status) && WTERMSIG(p->status) == SIGTERM));
}

static bool is_shown(const struct report *r, const struct summary_program *p)
{
    return r->all || r->summary->program_count <= PROGRAMS_SHOWN || !ended_well(p) || p->missing > 0;
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
    else if (name)
        snprintf(text, size, "SIG%s", name);
    else if (WIFSIGNALED(p->status))
        snprintf(text, size, "signal %d", WTERMSIG(p->status));
    else
        snprintf(text, size, "exit code %d", WEXITSTATUS(p->status));
}

static void program_row(const struct report *r, const struct summary_program *p, struct table *t)
{
    char end[160], place[160] = "";
    describe_end(p, end, sizeof end);
    if (r->experiment->node_count > 1)
        snprintf(place, sizeof place, "%s/", p->node);
    if (p->incarnation > 1)
        table_cell(t, "%s%s, start %u", place, p->name, p->incarnation);
    else
        table_cell(t, "%s%s", place, p->name);
    table_cell(t, "%s", end);
    table_cell(t, "%s", p->state == LAUNCHED_ENDED ? units_duration(p->ran).s : "-");
    table_cell(t, "%s", p->state == LAUNCHED_ENDED ? units_duration(p->cpu).s : "-");
    table_cell(t, "%s", p->state == LAUNCHED_ENDED ? units_bytes(p->memory).s : "-");
}

static void print_missing(const struct summary_program *p, FILE *out)
{
    char name[2 * EXPERIMENT_NAME_MAX + 2];
    snprintf(name, sizeof name, "%s/%s", p->node, p->name);
    plain_text(name);
    fprintf(out, "  %s of the output of %s is missing: it was not fetched in time, or there was no space.\n",
            units_bytes(p->missing).s, name);
}

void report_programs(const struct report *r, FILE *out)
{
    static const char *const heads[] = {"program", "end", "ran", "CPU", "memory"};
    const struct summary *s = r->summary;
    size_t shown = 0;
    for (size_t i = 0; i < s->program_count; i++)
        shown += is_shown(r, &s->programs[i]);
    if (shown > 0) {
        report_title(r, "Programs", out);
        struct table *t = table_with_heads("llrrr", heads);
        for (size_t i = 0; i < s->program_count; i++)
            if (is_shown(r, &s->programs[i]))
                program_row(r, &s->programs[i], t);
        table_print(t, 2, out);
    }
    for (size_t i = 0; i < s->program_count; i++)
        if (s->programs[i].missing > 0)
            print_missing(&s->programs[i], out);
}

void report_json_programs(const struct report *r, struct json *j)
{
    static const char *const states[] = {"running", "ended", "failed", "lost"};
    json_array(j, "programs");
    for (size_t i = 0; i < r->summary->program_count; i++) {
        const struct summary_program *p = &r->summary->programs[i];
        bool ended = p->state == LAUNCHED_ENDED;
        json_object(j, NULL);
        json_text(j, "node", p->node);
        json_text(j, "program", p->name);
        json_int(j, "incarnation", p->incarnation);
        json_int(j, "pid", p->pid);
        json_text(j, "state", states[p->state]);
        if (ended && WIFEXITED(p->status))
            json_int(j, "exit_code", WEXITSTATUS(p->status));
        if (ended && WIFSIGNALED(p->status))
            json_int(j, "signal", WTERMSIG(p->status));
        if (ended_by_silence(p))
            json_text(j, "ended_by", "silence");
        if (p->state == LAUNCHED_FAILED) {
            json_text(j, "failed", p->stage);
            json_text(j, "reason", strerror(p->error));
        }
        json_int(j, "ran_ns", p->ran);
        json_int(j, "cpu_ns", p->cpu);
        json_int(j, "memory_bytes", (int64_t)p->memory);
        json_int(j, "output_missing_bytes", (int64_t)p->missing);
        json_object_end(j);
    }
    json_array_end(j);
}
