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
    if (open && w->p->state != PROCESS_LEFT) /* of that, verify_lack() tells */
        report_finding(w, VERIFY_INCOMPLETE, "unknown",
                       "its end is unknown, because it could not be read or stored; its counters have %" PRIu64
                       " more records",
                       b.unstored);
    else if (!open && b.unstored > 0)
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

/* What lacks, but unknown ends, of which verify_process() knows more, and what is found in the files. */
static const struct {
    const char *code, *says; /* behind whom it is about */
} lacks[VERDICT_LACKS] = {
    [LACK_LEFT] = {"left", ": it went on when its bezeld had ended: its records since then are unknown"},
    [LACK_UNENDED] = {"unended", " may have gone on unobserved: their launcher has not said that all have ended"},
    [LACK_VANISHED] = {"vanished", " has not said that all its records are stored"},
    [LACK_UNJOINED] = {"unjoined", " never joined the run: nothing of it is stored"},
    [LACK_LEFT_OUT] = {"refused", "the collector refused processes, whose records are missing: see bezel report"},
    [LACK_UNOBSERVED] = {"unobserved", " recorded without being observed: the records are unknown"},
    [LACK_REJOINED] = {"left", ": what programs recorded between two lives of its bezeld is unknown"},
    [LACK_CLOCK_GAP] = {"clock-gap",
                        " did not observe its processes for a while, behind a jump of its clock: what they "
                        "recorded then is unknown"},
    [LACK_UNCOUNTED] = {"uncounted", ": there may be records that no books count: "},
};

struct lacking {
    struct verify *v;
    const struct summary *s;
};

/* A trace that is longer than the books know is found in its files. */
static void verify_lack(void *context, const struct verdict_lack *l)
{
    const struct lacking *w = context;
    const char *node = l->node < w->s->node_count ? w->s->nodes[l->node].name : l->note ? "?" : l->what;
    const char *noun = !node ? "" : l->is == LACK_UNENDED ? "programs " : "node ";
    char text[768], count[64] = "", process[160] = "", note[384] = "";
    if (!lacks[l->is].code || (l->is == LACK_UNCOUNTED && !l->note))
        return;
    if (l->is == LACK_UNOBSERVED)
        snprintf(count, sizeof count, "%" PRIu64 " process%s %s ", l->count, l->count == 1 ? "" : "es",
                 l->process ? "forked by" : "counted at");
    if (l->process)
        snprintf(process, sizeof process, "process %.100s (%" PRIu32 ") of ", l->process->name, l->process->pid);
    if (l->is == LACK_UNCOUNTED)
        snprintf(note, sizeof note, "%.32s: %.300s", l->note->code, l->note->text);
    snprintf(text, sizeof text, "%s%s%s%.200s%s%s", count, process, noun, node ? node : "", lacks[l->is].says, note);
    add_incomplete(w->v, lacks[l->is].code, text);
}

/* The file of the run, whose nodes may never have joined; *e is NULL if it cannot be read. Returns 0 or BEZEL_ENOMEM.
 */
static int read_file(const char *run, struct experiment **e)
{
    char path[PATH_MAX], *file;
    struct experiment_diagnostics found;
    size_t n;
    *e = NULL;
    if (snprintf(path, sizeof path, "%s/experiment.yaml", run) >= (int)sizeof path ||
        file_read_plain(path, 1, EXPERIMENT_FILE_MAX, &file, &n) != 0)
        return 0;
    int err = experiment_read(file, n, e, &found);
    experiment_diagnostics_free(&found);
    free(file);
    *e = err ? NULL : *e;
    return err == BEZEL_ENOMEM ? err : 0;
}

/* The database was read again; the mark of its last collector shows whether it is unchanged. */
static int verify_loaded(struct verify *v, const char *run, const struct summary *s)
{
    const char *finished = summary_property(s, RUNDB_FINISHED);
    bool settled = v->finished[0] && finished && strcmp(finished, v->finished) == 0;
    bool goes_on = v->totals.served || (v->finished[0] && !settled), ended = summary_ended(s) != 0;
    struct experiment *e = NULL;
    v->totals.imported = summary_property(s, RUNDB_IMPORTED) != NULL;
    settled = settled && !goes_on;
    int err = settled ? read_file(run, &e) : 0;
    if (err)
        return err;
    verdict_each_lack(s, e, settled && ended, verify_lack, &(struct lacking){v, s});
    experiment_free(e);
    for (size_t i = 0; settled && i < s->process_count; i++)
        verify_process(&(struct subject){v, s, &s->processes[i]});
    if (goes_on)
        add_incomplete(v, "going-on", "a collector serves the run: more may come");
    else if (!ended)
        add_incomplete(
            v, "aborted",
            s->copied ? "the run has no end: this is a copy, and was made while the run went on, or the run did not "
                        "end in order"
                      : "the run did not end in order: its bezel run was killed, or could not write that it ended");
    return 0;
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
