// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What is not known: processes that were not observed; of a run that is over nodes that vanished, and processes whose
 * end is not in the store.
 */
#include "ecs/json.h"
#include "ecs/report.h"
#include "ecs/table.h"

#include <inttypes.h>

enum { STREAMS_SHOWN = 24 };

static void print_stream(const struct summary_stream *s, const char *name, FILE *out)
{
    fprintf(out, "    %s, ring %" PRIu32 ": ", name, s->ring);
    if (s->next_ordinal == 0)
        fputs("unknown from its first record on\n", out);
    else
        fprintf(out, "unknown after ordinal %" PRIu64 "\n", s->next_ordinal - 1);
}

/* Every open stream of `p`, as far as `left` goes, which it takes from. */
static void print_process(const struct report *r, const struct summary_process *p, size_t *left, FILE *out)
{
    char name[REPORT_PROCESS_SIZE];
    report_process_pid(r, p, name, sizeof name);
    size_t open = 0;
    for (size_t i = 0; i < p->stream_count; i++) {
        if (!p->streams[i].open)
            continue;
        open++;
        if (*left == 0)
            continue;
        --*left;
        print_stream(&p->streams[i], name, out);
    }
    if (open > 0 || *left == 0)
        return;
    --*left;
    fprintf(out,
            p->stream_count ? "    %s: its last counters are unknown\n" : "    %s: unknown from its first record on\n",
            name);
}

void report_unknown(const struct report *r, FILE *out)
{
    const struct summary *s = r->summary;
    const struct verdict *v = r->verdict;
    if (v->run == RUN_RUNNING || (v->unknown == 0 && v->vanished == 0 && !s->left_out))
        return;
    fputs("  Not known, for it never reached the store (what these produced, above, is at least that much):\n", out);
    if (s->left_out)
        fprintf(
            out,
            "    processes that the collector refused: nothing of them is stored; the last counters of %s of them say "
            "%s records\n",
            units_count(s->untaken).s, units_count(s->untaken_records).s);
    for (size_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].open && !verdict_gave_up(s, (uint32_t)i))
            fprintf(out, "    node %s vanished: it never said that all it had is stored\n", s->nodes[i].name);
    size_t left = r->all ? SIZE_MAX : STREAMS_SHOWN;
    for (size_t i = 0; i < s->process_count; i++)
        if (verdict_is_open(s, &s->processes[i]))
            print_process(r, &s->processes[i], &left, out);
    if (left == 0)
        fputs("    ... (--all shows all of them)\n", out);
}

static const char *processes(uint64_t count)
{
    return count == 1 ? "process" : "processes";
}

void report_unobserved(const struct report *r, FILE *out)
{
    const struct summary *s = r->summary;
    uint64_t all = r->verdict->unobserved;
    if (all == 0)
        return;
    fprintf(out,
            "  Not observed: %s %s recorded without a segment that could be read. The records of %s are unknown:\n",
            units_count(all).s, processes(all), all == 1 ? "this process" : "these processes");
    for (size_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].unobserved)
            fprintf(out, "    %s %s of node %s\n", units_count(s->nodes[i].unobserved).s,
                    processes(s->nodes[i].unobserved), s->nodes[i].name);
    size_t left = r->all ? SIZE_MAX : STREAMS_SHOWN;
    for (size_t i = 0; i < s->process_count; i++) {
        char name[REPORT_PROCESS_SIZE];
        if (s->processes[i].unobserved == 0 || left == 0)
            continue;
        left--;
        report_process_pid(r, &s->processes[i], name, sizeof name);
        fprintf(out, "    %s %s that %s forked\n", units_count(s->processes[i].unobserved).s,
                processes(s->processes[i].unobserved), name);
    }
    if (left == 0)
        fputs("    ... (--all shows all of them)\n", out);
}

void report_json_streams(const struct report *r, struct json *j, const struct summary_process *p)
{
    json_text(j, "end",
              !verdict_is_open(r->summary, p)  ? "known"
              : r->verdict->run == RUN_RUNNING ? "open"
                                               : "unknown");
    json_array(j, "streams");
    for (size_t i = 0; i < p->stream_count; i++) {
        const struct summary_stream *s = &p->streams[i];
        json_object(j, NULL);
        json_uint(j, "ring", s->ring);
        json_bool(j, "closed", !s->open);
        json_uint(j, "next_ordinal", s->next_ordinal);
        if (s->open && s->next_ordinal > 0 && r->verdict->run != RUN_RUNNING)
            json_uint(j, "unknown_after", s->next_ordinal - 1);
        else
            json_text(j, "unknown_after", NULL);
        json_object_end(j);
    }
    json_array_end(j);
}
