// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/plain.h"
#include "ecs/report.h"
#include "ecs/table.h"
#include "resmgr/policy.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

enum { ROWS_SHOWN = 20 }; /* unless all is asked for */

/* ---- names ---- */

const char *report_policy_name(int policy)
{
    return experiment_policy_word(policy);
}

const char *report_action_name(int action)
{
    return action >= POLICY_KEEP && action <= POLICY_RESUME ? policy_action_name((enum policy_action)action) : "?";
}

const char *report_decider_name(int by)
{
    return by == 0 ? "agent" : by == 1 ? "manager" : "?";
}

const char *report_experiment_name(const struct report *r)
{
    const char *name = summary_fact(r->summary, "name"); /* as it was run: an option may have changed the file's */
    return name ? name : r->experiment->name;
}

const char *report_node_name(const struct report *r, uint32_t node)
{
    return node < r->summary->node_count ? r->summary->nodes[node].name : "?";
}

bool report_is_whole(const struct report *r, int64_t index)
{
    return index >= 0 && index < r->experiment->limit_count && r->experiment->limits[index].whole;
}

const char *report_where(const struct report *r, uint32_t node, int64_t index)
{
    return report_is_whole(r, index) ? "all" : report_node_name(r, node);
}

int64_t report_run_time(const struct report *r, uint32_t node, int64_t at)
{
    int64_t offset = node < r->summary->node_count ? r->summary->nodes[node].realtime_offset : 0;
    return at + offset - r->verdict->started;
}

const char *report_limit_text(const struct report *r, int64_t index)
{
    return index >= 0 && index < r->experiment->limit_count ? r->experiment->limits[index].text : "?";
}

struct units_text report_limit_value(const struct report *r, int64_t index, double value)
{
    bool in_time =
        index >= 0 && index < r->experiment->limit_count && r->experiment->limits[index].unit == UNIT_DURATION;
    return in_time && value >= 0 && value < 9e18 ? units_duration((int64_t)value) : figure_number(value);
}

void report_process_name(const struct report *r, const struct summary_process *p, char *name, size_t size)
{
    if (r->summary->node_count > 1)
        snprintf(name, size, "%s/%s", report_node_name(r, p->node), p->name);
    else
        snprintf(name, size, "%s", p->name);
    plain_text(name);
}

void report_process_pid(const struct report *r, const struct summary_process *p, char *name, size_t size)
{
    char plain[REPORT_PROCESS_SIZE - 16];
    report_process_name(r, p, plain, sizeof plain);
    snprintf(name, size, "%s (%" PRIu32 ")", plain, p->pid);
}

/* ---- what the text shows ---- */

void report_title(const struct report *r, const char *text, FILE *out)
{
    fprintf(out, r->color ? "\n\033[1m%s\033[0m\n" : "\n%s\n", text);
}

void report_rows(const struct report *r, const char *title, const char *sides, const char *const heads[], size_t count,
                 void (*row)(const struct report *r, struct table *t, size_t i), FILE *out)
{
    bool cut = count > ROWS_SHOWN && !r->all;
    if (count == 0)
        return;
    report_title(r, title, out);
    struct table *t = table_with_heads(sides, heads);
    for (size_t i = 0; i < count; i++)
        if (!cut || i < ROWS_SHOWN / 2 || i >= count - ROWS_SHOWN / 2)
            row(r, t, i);
    table_print(t, 2, out);
    if (cut)
        fprintf(out, "  (%zu more between them: --all shows them)\n", count - ROWS_SHOWN);
}

bool report_shows(const struct report *r, const struct summary_process *p)
{
    return p->role == ROLE_SUT || r->all;
}

/* More processes than this are not opened up unless all is asked for. */
enum { PROCESSES_OPENED = 24 };

bool report_opens_processes(const struct report *r)
{
    return r->all || r->verdict->sut.processes <= PROCESSES_OPENED;
}

/* ---- the sentence ---- */

/* CLOCK_REALTIME as a date and time. */
static struct units_text when(int64_t realtime)
{
    struct units_text text;
    time_t seconds = (time_t)(realtime / CLOCK_S);
    struct tm utc;
    if (!gmtime_r(&seconds, &utc) || strftime(text.s, sizeof text.s, "%Y-%m-%d %H:%M:%S UTC", &utc) == 0)
        snprintf(text.s, sizeof text.s, "an unknown time");
    return text;
}

static void say_run(const struct report *r, FILE *out)
{
    struct units_text took = units_duration(r->verdict->duration);
    const char *ended_by = summary_fact(r->summary, "ended_by");
    char name[EXPERIMENT_NAME_MAX + 1];
    snprintf(name, sizeof name, "%s", report_experiment_name(r));
    plain_text(name);
    if (r->verdict->run == RUN_RUNNING)
        fprintf(out, "%s has been running for %s; so far: ", name, took.s);
    else if (r->verdict->run == RUN_CUT)
        fprintf(out, "%s was cut off at %s, %s after its start; what came after is unknown; until then: ", name,
                when(r->verdict->started + r->verdict->duration).s, took.s);
    else if (ended_by && strcmp(ended_by, "interrupt") == 0)
        fprintf(out, "%s was interrupted after %s: ", name, took.s);
    else if (r->verdict->failed)
        fprintf(out, "%s failed after %s: ", name, took.s);
    else
        fprintf(out, "%s ran %s: ", name, took.s);
}

/* " on desk1", or " on 2 nodes": where limit `i` did not hold; nothing where there is but one node. */
static void say_where(const struct report *r, size_t i, FILE *out)
{
    size_t nodes = 0;
    if (r->experiment->limits[i].whole) {
        fputs(" on the whole", out);
        return;
    }
    for (size_t row = 0; row < r->summary->limit_count; row++)
        nodes += r->summary->limits[row].index == i && r->verdict->rows[row].is >= VERDICT_VIOLATED;
    if (nodes > 1)
        fprintf(out, " on %zu nodes", nodes);
    else if (r->summary->node_count > 1)
        fprintf(out, " on %s", report_node_name(r, r->verdict->limits[i].node));
}

static void say_broken_limit(const struct report *r, size_t i, FILE *out)
{
    const struct verdict_limit *l = &r->verdict->limits[i];
    const char *text = report_limit_text(r, (int64_t)i);
    if (l->is == VERDICT_UNKNOWN) {
        fprintf(out, r->verdict->run == RUN_RUNNING ? "%s is not judged yet" : "%s could not be judged", text);
        return;
    }
    bool infeasible = l->is == VERDICT_INFEASIBLE;
    fprintf(out, infeasible ? "%s cannot hold" : "%s was violated", text);
    say_where(r, i, out);
    fprintf(out, infeasible ? ": violated %s of the time, " : " %s of the time", figure_share(l->share).s);
    if (infeasible)
        report_why(r, l, out);
}

static void say_limits(const struct report *r, FILE *out)
{
    enum { NAMED_MAX = 3 };
    const struct verdict *v = r->verdict;
    size_t broken = 0, held = 0;
    for (size_t i = 0; i < v->limit_count; i++) {
        if (v->limits[i].is == VERDICT_HELD) {
            held++;
        } else if (++broken <= NAMED_MAX) {
            say_broken_limit(r, i, out);
            fputs("; ", out);
        }
    }
    if (broken > NAMED_MAX)
        fprintf(out, "%zu more limits did not hold; ", broken - NAMED_MAX);
    if (held == 0)
        return;
    if (broken > 0)
        fprintf(out, held == 1 ? "the other limit held; " : "the other %zu limits held; ", held);
    else if (held <= 2)
        fputs(held == 1 ? "its limit held, " : "both limits held, ", out);
    else
        fprintf(out, "all %zu limits held, ", held);
}

static void say_lost(const struct report *r, FILE *out)
{
    const struct verdict_books *b = &r->verdict->sut;
    if (verdict_lost(b) == 0) {
        const struct verdict *v = r->verdict;
        bool known = v->run != RUN_CUT && v->unknown == 0 && v->vanished == 0 && v->unobserved == 0;
        fputs(known ? "none lost" : "none counted as lost", out);
        return;
    }
    const struct {
        uint64_t count;
        const char *cause;
    } losses[] = {{b->full, "ring full"},        {b->window, "window full"},      {b->spool, "spool full"},
                  {b->off, "collection off"},    {b->overwritten, "overwritten"}, {b->no_ring, "no ring"},
                  {b->unfinished, "unfinished"}, {b->unstored, "not stored"}};
    fprintf(out, "%s lost", units_count(verdict_lost(b)).s);
    const char *before = " (";
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        if (losses[i].count == 0)
            continue;
        fprintf(out, "%s%s %s", before, units_count(losses[i].count).s, losses[i].cause);
        before = ", ";
    }
    fputc(')', out);
}

/* What keeps the numbers from being the whole: ", but ..., and ...". */
static void say_unknown(const struct verdict *v, FILE *out)
{
    const char *joint = ", but";
    if (v->behind) {
        fprintf(out, "%s the trace may hold more", joint);
        joint = ", and";
    }
    if (v->vanished) {
        fprintf(out, "%s %zu node%s vanished", joint, v->vanished, v->vanished == 1 ? "" : "s");
        joint = ", and";
    }
    if (v->unknown) {
        fprintf(out, "%s the end of %zu process%s is unknown", joint, v->unknown, v->unknown == 1 ? "" : "es");
        joint = ", and";
    }
    if (v->unobserved)
        fprintf(out,
                v->unobserved == 1 ? "%s %s process was not observed: its records are unknown"
                                   : "%s %s processes were not observed: their records are unknown",
                joint, units_count(v->unobserved).s);
    else if (!v->balanced && !v->vanished && !v->unknown && v->run == RUN_ENDED)
        fputs(", but the books do not balance", out);
}

void report_sentence(const struct report *r, FILE *out)
{
    const struct verdict_books *b = &r->verdict->sut;
    say_run(r, out);
    say_limits(r, out);
    if (b->processes == 0) {
        fputs("no process recorded anything", out);
    } else {
        fprintf(out, "%s record%s of %u process%s stored, ", units_count(b->stored).s, b->stored == 1 ? "" : "s",
                b->processes, b->processes == 1 ? "" : "es");
        say_lost(r, out);
    }
    say_unknown(r->verdict, out);
    fputc('.', out);
}
