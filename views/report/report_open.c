// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Waits and long spans that are open, or were when their process or the run ended. */
#include "base/exit_code.h"
#include "views/report/report.h"

#include <inttypes.h>

/* Until when it was open, as far as is known. */
const char *report_open_until(const struct report *r, const struct builtin_open *o)
{
    if (o->state == OPEN_LEFT)
        return "until its process ended";
    return r->verdict->run == RUN_RUNNING ? "so far" : "until the run ended";
}

static void open_row(struct rows *w, const struct report *r, const void *item)
{
    const struct builtin_open *o = item;
    const struct summary_process *p = summary_process_of(r->summary, o->node, (uint64_t)o->instance);
    char name[REPORT_PROCESS_SIZE];
    bool known = o->since > 0;
    snprintf(name, sizeof name, "%s", o->process);
    if (p)
        report_process_pid(r, p, name, sizeof name);
    rows_text(w, "process", NULL, name);
    json_text(w->json, "node", report_node_name(r, o->node));
    json_text(w->json, "process", o->process);
    if (p)
        json_uint(w->json, "pid", p->pid);
    json_uint(w->json, "instance", (uint64_t)o->instance);
    rows_cell(w, "thread", 'r', "%" PRId64, o->thread);
    json_int(w->json, "thread", o->thread);
    rows_text(w, "span", "aspect", o->aspect);
    rows_text(w, "waits for", "reason", o->reason[0] ? o->reason : NULL);
    rows_known_ns(w, "since", "since_ns", known, known ? report_run_time(r, o->node, o->since) : 0);
    rows_known_ns(w, "open for", "open_ns", known, known ? verdict_open_ns(r->summary, o) : 0);
    rows_text(w, "", NULL, report_open_until(r, o));
    json_text(w->json, "state", o->state == OPEN_LEFT ? "left" : o->state == OPEN_ENDED ? "ended" : "open");
}

/* The short text has them where something went wrong: they may say where. */
static int open_rank(const struct report *r, const void *item)
{
    (void)item;
    return r->all || verdict_exit_code(r->verdict) != EXIT_OK ? 0 : -1;
}

const struct rows_section report_open = {
    ROWS_LIST("Open waits and spans", "open_spans", open_spans, open_count, open_row), .rank = open_rank,
    .remark =
        "Waits (BEZEL_WAIT, bezel_receiving()) and spans of BEZEL_LONG_SPAN that have no end, or none before the run "
        "began to end. Times since the run started."};
