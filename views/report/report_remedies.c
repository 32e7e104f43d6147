// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What to do about losses that another setting prevents: full rings, and threads for which there was no ring. It is
 * another setting for processes that are started than for those that are attached to.
 */
#include "base/json.h"
#include "base/table.h"
#include "views/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum loss { LOSS_FULL, LOSS_NO_RING, LOSSES };

static const char *const causes[LOSSES] = {[LOSS_FULL] = "full", [LOSS_NO_RING] = "no_ring"};

/* The processes that lost records by a cause. */
struct losers {
    uint64_t records;
    size_t processes;
    const struct summary_process *worst;
    uint64_t of_worst;
};

static bool is_attached(const struct experiment *e, const char *name)
{
    for (uint32_t i = 0; i < e->process_count; i++)
        if (e->processes[i].attach && strcmp(e->processes[i].name, name) == 0)
            return true;
    return false;
}

/*
 * Records without a ring have other causes, too, which the notes name: no memory, an aspect that cannot be declared. A
 * node that has lost them in many processes keeps the notes of some: the others of which no note says otherwise are
 * taken to be as these.
 */
static bool had_no_ring_left(const struct summary *s, const struct summary_process *p)
{
    bool others = false, more = false, otherwise = false;
    for (size_t i = 0; i < s->note_count; i++) {
        const struct summary_note *n = &s->notes[i];
        bool its = n->instance == p->instance, taken = strcmp(n->code, "BEZEL-RINGS-TAKEN") == 0;
        if (n->node != p->node)
            continue;
        if (its && taken)
            return true;
        others = others || taken;
        more = more || strcmp(n->code, "BEZEL-NOTES-MORE") == 0;
        otherwise = otherwise || (its && strcmp(n->code, "BEZEL-RING-NO-MEMORY") == 0);
    }
    return others && more && !otherwise;
}

static uint64_t lost_by(const struct report *r, size_t process, enum loss cause)
{
    const struct verdict_books *b = &r->verdict->books[process];
    if (report_imported(r))
        return 0; /* our settings were not those of its source */
    if (cause == LOSS_FULL)
        return b->full;
    return b->no_ring && had_no_ring_left(r->summary, &r->summary->processes[process]) ? b->no_ring : 0;
}

static struct losers find_losers(const struct report *r, enum loss cause, bool attached)
{
    struct losers found = {0};
    for (size_t i = 0; i < r->summary->process_count; i++) {
        const struct summary_process *p = &r->summary->processes[i];
        uint64_t lost = lost_by(r, i, cause);
        if (lost == 0 || p->role != ROLE_SUT || is_attached(r->experiment, p->name) != attached)
            continue;
        found.records = found.records > UINT64_MAX - lost ? UINT64_MAX : found.records + lost;
        found.processes++;
        if (lost > found.of_worst) {
            found.worst = p;
            found.of_worst = lost;
        }
    }
    return found;
}

/* Records that the process produced per second, from its first stored record to its last, or its last loss behind that;
 * NaN: unknown. */
static double rate_produced(const struct summary_process *p)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    double attempts = 0;
    for (size_t i = 0; i < p->book_count; i++) {
        const struct summary_book *b = &p->books[i];
        attempts += (double)b->attempts;
        if (b->stored == 0)
            continue;
        first = b->first_ns < first ? b->first_ns : first;
        last = b->last_ns > last ? b->last_ns : last;
    }
    last = p->last_loss > last && first < INT64_MAX ? p->last_loss : last;
    double seconds = ((double)last - (double)first) / 1e9;
    return seconds > 0 ? attempts / seconds : NAN;
}

/* ns, the longest time between two polls of its node; 0: unknown. */
static int64_t longest_pause(const struct report *r, const struct summary_process *p)
{
    bool polled = r->experiment->sensing.mode == POLL_POLLING && p->node < r->summary->node_count;
    return polled ? r->summary->nodes[p->node].period_worst : 0;
}

static void print_remedy_of_full(const struct experiment *e, bool attached, FILE *out)
{
    if (attached)
        fputs("Start attached processes with a larger BEZEL_RING_RECORDS (4096 if unset)", out);
    else
        fprintf(out, "Make sensing.ring.records larger than %u", e->sensing.ring_records);
    if (e->sensing.mode == POLL_POLLING)
        fprintf(out, ", or poll more often (%s)",
                experiment_policy_can(e->adapt.policy, POLICY_MOVES) ? "adapt.period" : "sensing.poll.period");
    fputc('.', out);
}

static void print_remedy(const struct report *r, enum loss cause, bool attached, FILE *out)
{
    uint32_t threads = r->experiment->sensing.ring_threads;
    if (cause == LOSS_FULL)
        print_remedy_of_full(r->experiment, attached, out);
    else if (attached)
        fprintf(out, "Start attached processes with a larger BEZEL_RING_THREADS (128 if unset, at most %d).",
                EXPERIMENT_RING_THREADS_MAX);
    else if (threads < EXPERIMENT_RING_THREADS_MAX)
        fprintf(out, "Make sensing.ring.threads larger than %u, up to %d.", threads, EXPERIMENT_RING_THREADS_MAX);
    else
        fprintf(out, "Let fewer threads record at once: a process has at most %d rings.", EXPERIMENT_RING_THREADS_MAX);
}

/* Whether a ring would have had room for what the process that lost most produced between two polls. */
static void print_rate(const struct report *r, const struct losers *full, bool attached, const char *name, FILE *out)
{
    double rate = rate_produced(full->worst), pause = (double)longest_pause(r, full->worst) / 1e9;
    if (rate <= 0 || pause <= 0)
        return;
    fprintf(out, "    %s produced %s records a second on average: up to %s a poll, as polls were up to %s apart.\n",
            name, number_double(rate).s, number_double(ceil(rate * pause)).s, units_duration((int64_t)(pause * 1e9)).s);
    if (!attached && rate * pause < r->experiment->sensing.ring_records)
        fputs("    A ring has room for that. So records came in bursts, or bezeld was stopped or killed for a while.\n",
              out);
}

static void print_losers(const struct report *r, const struct losers *l, enum loss cause, bool attached, FILE *out)
{
    char name[REPORT_PROCESS_SIZE];
    report_process_pid(r, l->worst, name, sizeof name);
    fprintf(out, "  %s: %s records of %s", cause == LOSS_FULL ? "Ring full" : "More threads than rings",
            units_count(l->records).s, name);
    if (l->processes > 1)
        fprintf(out, " and %zu more process%s", l->processes - 1, l->processes == 2 ? "" : "es");
    fputs(" were lost.\n    ", out);
    print_remedy(r, cause, attached, out);
    fputc('\n', out);
    if (cause == LOSS_FULL)
        print_rate(r, l, attached, name, out);
}

void report_remedies(const struct report *r, FILE *out)
{
    for (int cause = 0; cause < LOSSES; cause++)
        for (int attached = 0; attached < 2; attached++) {
            struct losers l = find_losers(r, (enum loss)cause, attached);
            if (l.processes > 0)
                print_losers(r, &l, (enum loss)cause, attached, out);
        }
}

static void put_losers(const struct report *r, const struct losers *l, enum loss cause, bool attached, struct json *j)
{
    char *text = NULL;
    size_t n;
    FILE *out = l->processes ? open_memstream(&text, &n) : NULL;
    if (!out)
        return;
    print_remedy(r, cause, attached, out);
    json_object(j, NULL);
    json_text(j, "cause", causes[cause]);
    json_bool(j, "attached", attached);
    json_uint(j, "processes", l->processes);
    json_uint(j, "records", l->records);
    json_double(j, "rate_per_s", rate_produced(l->worst));
    json_int(j, "period_worst_ns", longest_pause(r, l->worst));
    json_text(j, "text", fclose(out) == 0 ? text : NULL);
    json_object_end(j);
    free(text);
}

void report_json_remedies(const struct report *r, struct json *j)
{
    json_array(j, "remedies");
    for (int cause = 0; cause < LOSSES; cause++)
        for (int attached = 0; attached < 2; attached++) {
            struct losers l = find_losers(r, (enum loss)cause, attached);
            put_losers(r, &l, (enum loss)cause, attached, j);
        }
    json_array_end(j);
}
