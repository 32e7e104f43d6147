// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/verdict/verify_books.h"

#include "base/file.h"
#include "config/experiment.h"
#include "run/history/summary.h"
#include "run/rundb/rundb_live.h"
#include "run/verdict/verdict.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The process whose books are verified. */
struct subject {
    struct verify *v;
    const struct summary *s;
    const struct summary_process *p;
};

static BEZEL_PRINTF(4, 5) void report_finding(const struct subject *w, enum verify_is is, const char *code,
                                              const char *format, ...)
{
    char text[512];
    int n = snprintf(text, sizeof text, "process %.100s (%" PRIu32 ") of node %.100s: ", w->p->name, w->p->pid,
                     w->s->nodes[w->p->node].name);
    va_list args;
    va_start(args, format);
    vsnprintf(text + n, sizeof text - (size_t)n, format, args);
    va_end(args);
    verify_add(w->v, &(struct verify_report){.is = is, .code = code, .file = "run.db", .text = text});
}

/*
 * The ordinals of a ring count attempts, so the trace shows how many records the rings of closed streams lost, though
 * not by which cause. (The losses of flight recorders are counted by ordinals alone.)
 */
static void verify_ordinals(const struct subject *w, const struct verdict_books *b)
{
    uint64_t lost = b->full + b->window + b->spool + b->off + b->unfinished;
    for (size_t i = 0; i < w->p->stream_count; i++)
        if (w->p->streams[i].open)
            return;
    uint64_t reduced = b->reduced + b->reducer;
    if (!w->p->overwrites && lost + reduced != w->p->discarded + b->before)
        report_finding(w, VERIFY_DAMAGED, "unbalanced",
                       "the books count %" PRIu64 " records as lost in its rings, the ordinals of the trace %" PRIu64,
                       lost, w->p->discarded - w->p->reduced);
    else if (reduced != w->p->reduced && w->p->expired.packets == 0)
        report_finding(w, VERIFY_DAMAGED, "unbalanced",
                       "the books count %" PRIu64 " records that its reducer took, the ordinals of the trace %" PRIu64,
                       reduced, w->p->reduced);
}

/* No aspect accounts for more records than were attempted; the aspect of an unfinished record is not known. */
static void verify_aspects(const struct subject *w)
{
    for (size_t i = 0; i < w->p->book_count; i++) {
        const struct summary_book *b = &w->p->books[i];
        uint64_t found = b->stored + b->reduced + b->full + b->off + b->no_ring + b->window + b->spool + b->reducer;
        if (found > b->attempts)
            report_finding(w, VERIFY_DAMAGED, "unbalanced",
                           "aspect %.100s: %" PRIu64 " records are accounted for, but only %" PRIu64 " were produced",
                           b->name, found, b->attempts);
    }
}

static void verify_process(const struct subject *w)
{
    struct verdict_books b = verdict_process(w->s, w->p);
    if (w->p->state == PROCESS_RUNNING)
        return; /* verify_run() has reported how far it is known */
    bool open = verdict_is_open(w->s, w->p);
    if (w->p->state == PROCESS_LEFT)
        report_finding(w, VERIFY_INCOMPLETE, "left",
                       "it went on when its bezeld had ended: its records since then are unknown");
    else if (open)
        report_finding(w, VERIFY_INCOMPLETE, "unknown",
                       "its end is unknown, because it could not be read or stored; its counters have %" PRIu64
                       " more records",
                       b.unstored);
    else if (b.unstored > 0)
        report_finding(w, VERIFY_INCOMPLETE, "unstored",
                       "%" PRIu64 " records were given up: they did not reach the store", b.unstored);
    if (b.rest != 0)
        report_finding(w, VERIFY_DAMAGED, "unbalanced",
                       "%" PRIu64 " records are %s: produced %" PRIu64 ", stored %" PRIu64 ", reduced %" PRIu64
                       ", lost by all causes %" PRIu64,
                       b.rest > 0 ? (uint64_t)b.rest : -(uint64_t)b.rest,
                       b.rest > 0 ? "neither stored nor counted as lost" : "accounted for twice", b.attempts, b.stored,
                       b.reduced, verdict_lost(&b));
    else if (!open && b.unstored == 0)
        verify_ordinals(w, &b);
    if (!open && b.before == 0)
        verify_aspects(w);
}

static void add_incomplete(struct verify *v, const char *code, const char *text)
{
    verify_add(v, &(struct verify_report){.is = VERIFY_INCOMPLETE, .code = code, .file = "run.db", .text = text});
}

static void verify_unobserved(struct verify *v, uint64_t count, const char *what, const char *name)
{
    char text[256];
    if (count == 0)
        return;
    snprintf(text, sizeof text, "%" PRIu64 " process%s %s %s recorded, but %s not observed: the records are unknown",
             count, count == 1 ? "" : "es", what, name, count == 1 ? "was" : "were");
    add_incomplete(v, "unobserved", text);
}

/* Each life of a node's bezeld but the first follows a time that is unknown. */
static void verify_lives(struct verify *v, const struct summary *s, size_t i)
{
    char text[256];
    snprintf(text, sizeof text, "node %.100s: what programs recorded between two lives of its bezeld is unknown",
             s->nodes[i].name);
    for (size_t before = 0; before < i; before++)
        if (verdict_joined_again(s, i) && strcmp(s->nodes[before].name, s->nodes[i].name) == 0) {
            add_incomplete(v, "left", text);
            return;
        }
}

static void verify_all_observed(struct verify *v, const struct summary *s)
{
    for (size_t i = 0; i < s->node_count; i++) {
        verify_lives(v, s, i);
        verify_unobserved(v, s->nodes[i].unobserved, "counted at node", s->nodes[i].name);
    }
    for (size_t i = 0; i < s->process_count; i++) {
        const struct summary_process *p = &s->processes[i];
        char name[128];
        snprintf(name, sizeof name, "%s (%" PRIu32 ") of node %s", p->name, p->pid, s->nodes[p->node].name);
        verify_unobserved(v, p->unobserved, "forked by", name);
    }
}

static void verify_notes(struct verify *v, const struct summary *s)
{
    char text[512];
    for (size_t i = 0; i < s->note_count; i++) {
        const struct summary_note *n = &s->notes[i];
        const char *node = n->node < s->node_count ? s->nodes[n->node].name : "?";
        bool is_gap = verdict_is_clock_gap(s, i);
        if (is_gap)
            snprintf(text, sizeof text,
                     "node %.100s did not observe its processes for a while, behind a jump of its clock: what they "
                     "recorded then is unknown",
                     node);
        else if (verdict_is_uncounted(s, i))
            snprintf(text, sizeof text, "node %.100s: there may be records that no books count: %.32s: %.300s", node,
                     n->code, n->text);
        else
            continue;
        add_incomplete(v, is_gap ? "clock-gap" : "uncounted", text);
    }
}

/* What has no proof of its end: nodes that have not said that all is stored, programs of launchers that were silent. */
static void verify_ends(struct verify *v, const struct summary *s)
{
    char text[512];
    const char *unended = summary_property(s, RUNDB_UNENDED);
    for (size_t i = 0; i < s->node_count; i++) {
        if (!s->nodes[i].open || verdict_gave_up(s, (uint32_t)i))
            continue;
        snprintf(text, sizeof text, "node %.100s has not said that all its records are stored", s->nodes[i].name);
        add_incomplete(v, "vanished", text);
    }
    if (!unended)
        return;
    snprintf(text, sizeof text,
             "programs %.300s may have gone on unobserved: their launcher has not said that all "
             "have ended",
             unended);
    add_incomplete(v, "unended", text);
}

/* Nodes of the file of which nothing is stored; a run without a readable file has only what its database names. */
static int verify_joined(struct verify *v, const char *run, const struct summary *s)
{
    char path[PATH_MAX], text[256], *file;
    struct experiment_diagnostics found;
    struct experiment *e = NULL;
    size_t n;
    if (snprintf(path, sizeof path, "%s/experiment.yaml", run) >= (int)sizeof path ||
        file_read_plain(path, 1, EXPERIMENT_FILE_MAX, &file, &n) != 0)
        return 0;
    int err = experiment_read(file, n, &e, &found);
    for (uint32_t i = 0; !err && i < e->node_count; i++) {
        if (!verdict_is_unjoined(s, e->nodes[i].name))
            continue;
        snprintf(text, sizeof text, "node %.100s never joined the run: nothing of it is stored", e->nodes[i].name);
        add_incomplete(v, "unjoined", text);
    }
    if (!err)
        experiment_free(e);
    experiment_diagnostics_free(&found);
    free(file);
    return err == BEZEL_ENOMEM ? err : 0;
}

/* The database was read again; the mark of its last collector shows whether it is unchanged. */
static int verify_loaded(struct verify *v, const char *run, const struct summary *s)
{
    const char *finished = summary_property(s, RUNDB_FINISHED);
    v->totals.imported = summary_property(s, RUNDB_IMPORTED) != NULL;
    bool settled = v->finished[0] && finished && strcmp(finished, v->finished) == 0;
    verify_all_observed(v, s);
    verify_notes(v, s);
    if (v->totals.served || (v->finished[0] && !settled)) {
        add_incomplete(v, "going-on", "a collector serves the run: more may come");
        return 0;
    }
    for (size_t i = 0; settled && i < s->process_count; i++)
        verify_process(&(struct subject){v, s, &s->processes[i]});
    if (settled && s->left_out)
        add_incomplete(v, "refused", "the collector refused processes, whose records are missing: see bezel report");
    if (!summary_property(s, RUNDB_ENDED))
        add_incomplete(v, "aborted",
                       "the run did not end in order: its bezel run was killed, or could not write that it ended");
    else if (settled)
        verify_ends(v, s);
    return settled ? verify_joined(v, run, s) : 0;
}

int verify_books(struct verify *v, const char *run)
{
    struct summary *s;
    int err = summary_load_books(run, &s);
    struct verify_report f = {.is = VERIFY_DAMAGED, .code = "database", .file = "run.db", .text = rundb_why(err)};
    if (err == BEZEL_ENOMEM)
        return err;
    if (err && v->totals.damaged == 0 && v->totals.incomplete == 0)
        verify_add(v, &f);
    if (err)
        return 0;
    err = verify_loaded(v, run, s);
    summary_free(s);
    return err;
}
