// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * How run, nodes, processes and threads spent their time, and the messages between processes: of the intervals of
 * sampler `switches`, where these are stored and not too many.
 */
#include "views/report/report_spent.h"

#include "base/plain.h"
#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RECORDS_MOST UINT64_C(2000000) /* stored ones */

static bool wants(const void *of, const struct dict_aspect *a)
{
    (void)of;
    return activity_wants(a);
}

/* Whether intervals on CPUs are stored. */
static bool has_intervals(const struct summary *s)
{
    for (size_t i = 0; i < s->process_count; i++)
        for (size_t k = 0; s->processes[i].role == ROLE_DAEMON && k < s->processes[i].book_count; k++)
            if (s->processes[i].books[k].stored && strcmp(s->processes[i].books[k].name, "thread_interval") == 0)
                return true;
    return false;
}

static int read_load(const char *run, struct report_spent *l)
{
    struct record_filter filter = RECORD_FILTER_ALL;
    struct run_reader *reader = NULL;
    struct record_item item;
    filter.takes = wants;
    int err = activity_init(&l->activity, NULL, 0);
    err = err ? err : run_reader_open_all(run, &filter, &reader);
    while (!err && (err = run_reader_next(reader, &item)) > 0)
        err = activity_take(&l->activity, &item) ? 0 : BEZEL_ENOMEM;
    run_reader_close(reader);
    err = err ? err : activity_settle(&l->activity);
    err = err ? err : spent_init(&l->spent, &l->activity);
    return err ? err : spent_window(&l->spent, INT64_MIN, INT64_MAX);
}

struct report_spent *report_spent_find(const char *run, bool running, const struct report *r)
{
    const struct verdict *v = r->verdict;
    if (running || !has_intervals(r->summary) || v->sut.stored + v->daemons.stored > RECORDS_MOST)
        return NULL;
    struct report_spent *l = calloc(1, sizeof *l);
    if (l && read_load(run, l) == 0)
        return l;
    report_spent_free(l);
    return NULL;
}

void report_spent_free(struct report_spent *l)
{
    if (!l)
        return;
    spent_fini(&l->spent);
    activity_fini(&l->activity);
    free(l);
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static void name_of(const struct report *r, const struct spent_element *e, char *name, size_t size)
{
    const struct activity_thread *t = &r->spent->activity.threads[e->thread];
    bool several = r->summary->node_count > 1;
    if (e->level == SPENT_RUN)
        snprintf(name, size, "the run");
    else if (e->level == SPENT_NODE)
        snprintf(name, size, "%s", t->node);
    else
        snprintf(name, size, "%s%s%s", several ? t->node : "", several ? "/" : "", t->process);
    size_t n = strlen(name);
    if (e->level == SPENT_THREAD)
        snprintf(name + n, size - n, " %s (%u)", t->name, (unsigned)t->id);
    plain_text(name);
}

/* A time between bounds: what is unknown of it may be all of the time that is unknown. */
static void bounds_columns(struct rows *w, const char *head, const char *least_key, const char *most_key, int64_t least,
                           int64_t most)
{
    struct units_text low = units_duration(least), high = units_duration(most);
    bool open = strcmp(low.s, high.s) != 0;
    json_int(w->json, least_key, least);
    json_int(w->json, most_key, most);
    rows_cell(w, head, 'r', "%s%s%s", low.s, open ? " .. " : "", open ? high.s : "");
}

static void messages_columns(struct rows *w, const struct spent_sums *s)
{
    double seconds = s->elapsed > 0 ? (double)s->elapsed / 1e9 : (double)NAN;
    rows_count(w, "sent", "sent", s->sent);
    rows_count(w, "received", "received", s->received);
    json_double(w->json, "sent_per_s", (double)s->sent / seconds);
    json_double(w->json, "received_per_s", (double)s->received / seconds);
    json_known_int(w->json, "sent_bytes", s->sent_bytes >= 0, s->sent_bytes);
    json_known_int(w->json, "received_bytes", s->received_bytes >= 0, s->received_bytes);
}

static void load_row(struct rows *w, const struct report *r, const void *item)
{
    static const char *const levels[] = {"run", "node", "process", "thread"};
    const struct spent_element *e = item;
    const struct activity_thread *t = &r->spent->activity.threads[e->thread];
    const struct spent_sums *s = &e->sums;
    int64_t unknown = spent_unknown(s);
    char name[REPORT_PROCESS_SIZE + THREAD_NAME_MAX + 16];
    name_of(r, e, name, sizeof name);
    rows_text(w, "of", NULL, name);
    json_text(w->json, "level", levels[e->level]);
    json_text(w->json, "node", e->level >= SPENT_NODE ? t->node : NULL);
    json_text(w->json, "process", e->level >= SPENT_PROCESS ? t->process : NULL);
    json_text(w->json, "name", e->level == SPENT_THREAD ? t->name : NULL);
    json_known_int(w->json, "thread", e->level == SPENT_THREAD, t->id);
    rows_cell(w, "elapsed", 'r', "%s", units_duration(s->elapsed).s);
    json_int(w->json, "elapsed_ns", s->elapsed);
    bounds_columns(w, "CPU", "cpu_ns", "cpu_most_ns", s->cpu, spent_cpu_most(s));
    bounds_columns(w, "ready", "ready_least_ns", "ready_most_ns", s->ready_least, s->ready_most + unknown);
    bounds_columns(w, "waiting", "waiting_least_ns", "waiting_most_ns", s->off - s->ready_most,
                   s->off - s->ready_least + unknown);
    rows_cell(w, "unknown", 'r', "%s", units_duration(unknown).s);
    json_int(w->json, "unknown_ns", unknown);
    rows_double(w, "response", "response_ratio", spent_response(s), 1);
    rows_double(w, "load", "load_factor", spent_factor(s), 1);
    rows_double(w, "CPUs", "parallelism", spent_parallelism(s), 1);
    json_double(w->json, "utilisation", spent_utilisation(s));
    messages_columns(w, s);
}

static void add_parts(struct rows *w, const struct spent *l, size_t parent)
{
    for (size_t i = 1; i < l->count; i++)
        if (l->elements[i].parent == parent) {
            rows_add(w, load_row, &l->elements[i]);
            if (l->elements[i].level < SPENT_THREAD)
                add_parts(w, l, i);
        }
}

/* The short text has the row of the run. */
static void add_load(struct rows *w, const struct report *r)
{
    if (!r->spent)
        return;
    rows_add(w, load_row, &r->spent->spent.elements[0]);
    if (r->all || w->json)
        add_parts(w, &r->spent->spent, 0);
}

/* Where the kernel's sum of the programs is not within the bounds of the run. */
static void print_kernels(const struct report *r, FILE *out)
{
    const struct spent_sums *run = r->spent ? &r->spent->spent.elements[0].sums : NULL;
    int64_t cpu = 0;
    for (size_t i = 0; run && i < r->summary->program_count; i++)
        cpu = saturate_add(cpu, r->summary->programs[i].cpu);
    if (cpu > 0 && (cpu < run->cpu || cpu > spent_cpu_most(run)))
        fprintf(out,
                "  The programs, with all their threads and children, took %s of CPU time by the kernel's count, which "
                "has the way from each wake to the CPU, too.\n",
                units_duration(cpu).s);
}

const struct rows_section report_load = {.title = "Load", .key = "load", .add = add_load, .text = print_kernels};

/* ---- Messages between processes ---------------------------------------------------------------------------------- */

static void pair_row(struct rows *w, const struct report *r, const void *item)
{
    const struct spent_pair *p = item;
    const struct activity_thread *from = &r->spent->activity.threads[p->from], *to = &r->spent->activity.threads[p->to];
    const struct spent_sums *run = &r->spent->spent.elements[0].sums;
    char name[REPORT_PROCESS_SIZE];
    name_of(r, &(struct spent_element){.level = SPENT_PROCESS, .thread = p->from}, name, sizeof name);
    rows_text(w, "from", NULL, name);
    name_of(r, &(struct spent_element){.level = SPENT_PROCESS, .thread = p->to}, name, sizeof name);
    rows_text(w, "to", NULL, name);
    json_text(w->json, "from_node", from->node);
    json_text(w->json, "from", from->process);
    json_text(w->json, "to_node", to->node);
    json_text(w->json, "to", to->process);
    rows_count(w, "messages", "messages", p->messages);
    rows_double(w, "1/s", "per_s", run->elapsed > 0 ? (double)p->messages * 1e9 / (double)run->elapsed : (double)NAN,
                1);
    json_known_int(w->json, "bytes", p->bytes >= 0, p->bytes);
    rows_cell(w, "bytes", 'r', "%s", p->bytes >= 0 ? units_bytes((uint64_t)p->bytes).s : "-");
}

static void add_pairs(struct rows *w, const struct report *r)
{
    for (size_t i = 0; r->spent && i < r->spent->spent.pair_count; i++)
        rows_add(w, pair_row, &r->spent->spent.pairs[i]);
}

const struct rows_section report_pairs = {
    .title = "Messages between processes", .key = "messages_between", .add = add_pairs};
