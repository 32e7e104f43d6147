// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The sentence that opens the report: the verdict, and all that is between it and a green one. */
#include "base/clock.h"
#include "base/file.h"
#include "base/plain.h"
#include "base/saturate.h"
#include "views/report/report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* CLOCK_REALTIME as a date and time. */
static struct units_text date_text(int64_t realtime)
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
    const char *ended_by = summary_property(r->summary, "ended_by");
    const char *copied = r->summary->copied ? ", or copied while it went on," : "";
    char name[EXPERIMENT_NAME_MAX + 1];
    snprintf(name, sizeof name, "%s", report_experiment_name(r));
    plain_text(name);
    if (report_imported(r) && r->verdict->run == RUN_ENDED)
        fprintf(out, "%s, imported, is of %s: ", name, took.s);
    else if (r->verdict->run == RUN_RUNNING && summary_is_unstarted(r->summary))
        fprintf(out, "%s is starting, and no program has been started yet; so far: ", name);
    else if (r->verdict->run == RUN_RUNNING)
        fprintf(out, "%s has been running for %s; so far: ", name, took.s);
    else if (r->verdict->run == RUN_ABORTED && summary_is_unstarted(r->summary))
        fprintf(out,
                "%s was aborted%s at %s, before a program was started; later events are unknown; until then: ", name,
                copied, date_text(r->verdict->started + r->verdict->duration).s);
    else if (r->verdict->run == RUN_ABORTED)
        fprintf(out, "%s was aborted%s at %s, %s after its start; later events are unknown; until then: ", name, copied,
                date_text(r->verdict->started + r->verdict->duration).s, took.s);
    else if (ended_by && strcmp(ended_by, "trigger") == 0)
        fprintf(out, "%s was stopped by a trigger after %s: ", name, took.s);
    else if (ended_by && strcmp(ended_by, "interrupt") == 0)
        fprintf(out, "%s was interrupted after %s: ", name, took.s);
    else if (r->verdict->failed)
        fprintf(out, "%s failed after %s: ", name, took.s);
    else
        fprintf(out, "%s ran %s: ", name, took.s);
}

static bool was_broken(const struct report *r, size_t row, size_t limit)
{
    return r->summary->limits[row].limit == (int64_t)limit && r->verdict->rows[row].is >= VERDICT_VIOLATED;
}

/* On how many nodes limit `i` did not hold. A node may have a row for each of its traces. */
static size_t count_broken(const struct report *r, size_t i)
{
    size_t nodes = 0;
    for (size_t row = 0; row < r->summary->limit_count; row++) {
        const char *name = report_node_name(r, r->summary->limits[row].node);
        size_t before = 0;
        while (before < row &&
               !(was_broken(r, before, i) && strcmp(report_node_name(r, r->summary->limits[before].node), name) == 0))
            before++;
        nodes += before == row && was_broken(r, row, i);
    }
    return nodes;
}

/* Where limit `i` did not hold: " on desk1", or " on 2 nodes"; nothing in a run of one node. */
static void say_where(const struct report *r, size_t i, FILE *out)
{
    size_t nodes = count_broken(r, i);
    if (r->experiment->limits[i].global) {
        fputs(" over all nodes", out);
        return;
    }
    if (nodes > 1)
        fprintf(out, " on %zu nodes", nodes);
    else if (r->summary->node_count > 1)
        fprintf(out, " on %s", report_node_name(r, r->verdict->limits[i].node));
}

/* Whether a limit was judged for less than half of the run. */
static bool is_judged_little(const struct verdict_limit *l)
{
    return l->judged < l->total - l->judged;
}

/* First records of the interval that limit `i` bounds from above, to which no last one came in a window, or before
 * their value came again: how long these take is not known. */
static uint64_t count_endless(const struct report *r, size_t i)
{
    const struct experiment_limit *l = &r->experiment->limits[i];
    bool is = r->intervals.counts && l->compare == COMPARE_AT_MOST && experiment_limit_is_on_interval(r->experiment, l);
    const struct interval_counts *c = is ? &r->intervals.counts[l->metric] : NULL;
    return c ? c->beginnings[INTERVAL_LATE] + c->repeated[0] : 0;
}

/* Whether a verdict hides something: violations within the tolerance, or times that were not judged. */
static bool hides(const struct report *r, size_t i)
{
    const struct verdict_limit *l = &r->verdict->limits[i];
    return l->skips || (l->is == VERDICT_HELD && (l->violated > 0 || l->before_end > 0)) || l->unjudged > 0 ||
           is_judged_little(l) || l->strays || l->missed > 0 || l->switched || count_endless(r, i) > 0;
}

/* Records of the interval that limit `i` is on, of which it is not known what they belong to. */
static uint64_t count_unclear(const struct report *r, size_t i)
{
    const struct experiment_limit *l = &r->experiment->limits[i];
    bool is = r->intervals.counts && experiment_limit_is_on_interval(r->experiment, l);
    return is ? interval_counts_unclear(&r->intervals.counts[l->metric], &r->experiment->metrics[l->metric]) : 0;
}

/*
 * Behind a value that a record had: the books do not tell records that meet a metric's condition from others, nor the
 * times between them.
 */
static const char *of_where(const struct report *r, size_t i)
{
    int metric = r->experiment->limits[i].metric;
    if (!r->verdict->limits[i].unchosen)
        return "";
    return metric >= 0 && experiment_metric_is_of_arrivals(&r->experiment->metrics[metric])
               ? " at most: not all records of the aspect could be read"
               : ", whether it meets 'where' or not";
}

/* What a limit stood at when a process made its last record, likewise. */
static void say_end(const struct report *r, size_t i, FILE *out)
{
    const struct verdict_limit *l = &r->verdict->limits[i];
    fputs(" at the last record of a process", out);
    if (l->unchosen)
        fputs(", for its records are not all known", out);
    else
        fprintf(out, ", when it was %s", report_limit_value(r, (int64_t)i, l->stray).s);
    if (l->stray_at > 0)
        fprintf(out, " (at %s)", units_duration(report_run_time(r, l->stray_on, l->stray_at)).s);
}

/* When a stored record was not judged, behind what says that nobody did. */
static void say_stray(const struct report *r, size_t i, FILE *out)
{
    if (verdict_has_end(r->experiment, (uint32_t)i)) {
        say_end(r, i, out);
        return;
    }
    if (verdict_forbids(r->experiment, &r->experiment->limits[i])) {
        fputs(r->verdict->limits[i].unchosen ? " where its records are not all known"
                                             : " when a record met 'where', or may have",
              out);
        return;
    }
    bool is_time = experiment_limit_is_on_interval(r->experiment, &r->experiment->limits[i]);
    fprintf(out, is_time ? " when one took %s%s" : " when a record had %s%s",
            report_limit_value(r, (int64_t)i, r->verdict->limits[i].stray).s, of_where(r, i));
}

/* Says a part of a list, and how the next one is joined to it. */
static void say_part(FILE *out, const char **joint, const char *format, ...) BEZEL_PRINTF(3, 4);

static void say_part(FILE *out, const char **joint, const char *format, ...)
{
    va_list args;
    fputs(*joint, out);
    va_start(args, format);
    vfprintf(out, format, args);
    va_end(args);
    *joint = ", and";
}

/* Says what the verdict hides, as the rest of a sentence about the limit, which goes on with `joint`. */
static void say_hidden(const struct report *r, size_t i, const char *joint, FILE *out)
{
    const struct verdict_limit *l = &r->verdict->limits[i];
    if (l->is == VERDICT_HELD && l->violated > 0)
        say_part(out, &joint, " violated for %s in all, within its tolerance of %s", units_duration(l->violated).s,
                 number_percent(r->experiment->limits[i].tolerance).s);
    if (l->is == VERDICT_HELD && l->before_end > 0)
        say_part(out, &joint, " violated for %s before a process ended, which does not count",
                 units_duration(l->before_end).s);
    if (l->skips)
        say_part(out, &joint, " judged only in %s of each %s, its window",
                 units_duration(experiment_limit_window(r->experiment, &r->experiment->limits[i])).s,
                 units_duration(r->experiment->adapt.every).s);
    if (is_judged_little(l))
        say_part(out, &joint, " judged for only %s of %s", units_duration(l->judged).s, units_duration(l->total).s);
    else if (l->unjudged > 0)
        say_part(out, &joint, " not judged for %s", units_duration(l->unjudged).s);
    if (l->missed > 0)
        say_part(out, &joint, " not judged for %s of its records, which were lost", units_count(l->missed).s);
    if (count_endless(r, i) > 0)
        say_part(out, &joint, " not judged for %s of its first records, to which no last one came",
                 units_count(count_endless(r, i)).s);
    if (l->switched)
        say_part(out, &joint, " not judged while an operator had turned its aspect off");
    if (l->strays) {
        say_part(out, &joint, " not judged");
        say_stray(r, i, out);
    }
}

/* The other reason for which the process that was silent to the end of the run made no record for limit `i`, if any. */
static void say_counted(const struct report *r, size_t i, FILE *out)
{
    const struct summary_process *p = r->verdict->limits[i].mute;
    int64_t at = verdict_counted_since(r->summary, p, r->experiment->metrics[r->experiment->limits[i].metric].aspect);
    if (at < INT64_MAX)
        fprintf(out, " (from %s on its aspect was only counted)", units_duration(report_run_time(r, p->node, at)).s);
}

/* Of what a limit could not be judged, behind these words. */
static void say_unjudged_of(const struct report *r, size_t i, FILE *out)
{
    const struct verdict_limit *l = &r->verdict->limits[i];
    int metric = r->experiment->limits[i].metric;
    bool running = r->verdict->run == RUN_RUNNING;
    const char *joint = "", *silent = metric >= 0 && r->experiment->metrics[metric].where
                                          ? l->unread
                                                ? "made no record that meets 'where', of those that could be read,"
                                                : "made no record that meets 'where'"
                                          : "was silent";
    if (l->unjudged > 0 && (l->judged > 0 || l->unjudged >= l->total)) {
        say_part(out, &joint, " for %s of %s", units_duration(l->unjudged < l->total ? l->unjudged : l->total).s,
                 units_duration(l->total).s);
        joint = " and";
    }
    if (count_unclear(r, i) > 0)
        say_part(out, &joint, " for %s of its records, whose counterparts are not known",
                 units_count(count_unclear(r, i)).s);
    if (l->missed > 0 && l->judged > 0)
        say_part(out, &joint, " for %s of its records, which were lost", units_count(l->missed).s);
    if (l->switched)
        say_part(out, &joint, " while an operator had turned its aspect off");
    if (l->killed)
        say_part(out, &joint, " for the %s for which a process %s before it was killed", units_duration(l->killed).s,
                 silent);
    if (l->perhaps)
        say_part(out, &joint, " for the %s for which a process %s before it ended without exit(), perhaps killed",
                 units_duration(l->perhaps).s, silent);
    if (l->silent && running)
        say_part(out, &joint, " for at least %s for which %s has been silent", units_duration(l->silent).s,
                 l->mute->name);
    else if (l->silent) {
        say_part(out, &joint, " for the %s for which a process %s, until the run ended", units_duration(l->silent).s,
                 silent);
        say_counted(r, i, out);
    }
    if (l->endless)
        say_part(out, &joint, " for the %s since a first record, behind which no last one%s%s%s",
                 units_duration(l->endless).s, l->endless_of ? " of " : "", l->endless_of ? l->endless_of : "",
                 running ? " has come" : " came until the run ended");
    if (l->open)
        say_part(out, &joint, " for the %s for which %s was open, %s",
                 units_duration(verdict_open_ns(r->summary, l->open)).s, l->open->aspect,
                 report_open_until(r, l->open));
    if (l->strays) {
        fputs(joint, out);
        say_stray(r, i, out);
    }
    if (l->unseen && l->judged > 0)
        fprintf(out, ": %.*s (%s)", (int)strcspn(l->unseen->text, ":"), l->unseen->text, l->unseen->code);
    if (l->blurred && l->judged > 0)
        fprintf(out, ": its values are of %s each (adapt.every), longer than its window",
                units_duration(r->experiment->adapt.every).s);
}

void report_unknown(const struct report *r, size_t i, FILE *out)
{
    const struct verdict_limit *l = &r->verdict->limits[i];
    bool running = r->verdict->run == RUN_RUNNING;
    bool is_open = l->unjudged > 0 || l->missed > 0 || l->switched || l->killed || l->perhaps || l->silent ||
                   l->endless || l->open || count_unclear(r, i) > 0 || ((l->blurred || l->unseen) && l->judged > 0);
    bool so_far = l->judged > 0 && !is_open && !l->strays && l->share <= r->experiment->limits[i].tolerance;
    fprintf(out,
            so_far && r->verdict->partial ? "%s held as far as is known here"
            : so_far && !running  ? "%s held as far as it was judged" /* why no further is said behind the books */
            : running && !is_open ? "%s is not judged yet"
                                  : "%s could not be judged",
            report_limit_text(r, (int64_t)i));
    if (r->summary->experiment_changed) /* which is the reason, and is said behind the books */
        return;
    say_unjudged_of(r, i, out);
    if (l->judged == 0)
        report_unjudged(r, i, out);
    else if (l->unjudged > 0)
        fprintf(out, ", and was violated %s of the %s that were judged", number_percent(l->share).s,
                units_duration(l->judged).s);
}

static void say_broken_limit(const struct report *r, size_t i, FILE *out)
{
    const struct verdict_limit *l = &r->verdict->limits[i];
    if (l->is == VERDICT_UNKNOWN) {
        report_unknown(r, i, out);
        return;
    }
    bool infeasible = l->is == VERDICT_INFEASIBLE;
    fprintf(out, infeasible ? "%s cannot hold" : "%s was violated", report_limit_text(r, (int64_t)i));
    say_where(r, i, out);
    if (l->open && !(l->share > 0))
        fprintf(out, ": %s was open for %s, %s", l->open->aspect,
                units_duration(verdict_open_ns(r->summary, l->open)).s, report_open_until(r, l->open));
    else if (!infeasible && l->share <= 0)
        fputs(" at an instant", out); /* which counts no time */
    else
        fprintf(out, infeasible ? ": violated %s of the time" : " %s of the time", number_percent(l->share).s);
    say_hidden(r, i, ", and", out);
    if (infeasible) {
        fputs(", ", out);
        report_why(r, l, out);
    }
}

/* Names how many limits held, and each of which the verdict hides something. */
static void say_held(const struct report *r, size_t broken, size_t held, FILE *out)
{
    bool all = broken == 0;
    if (held == 1)
        fputs(all ? "its limit held" : "the other limit held", out);
    else if (held == 2 && all)
        fputs("both limits held", out);
    else
        fprintf(out, all ? "all %zu limits held" : "the other %zu limits held", held);
    const char *end = all ? ", " : "; ";
    for (size_t i = 0; i < r->verdict->limit_count; i++) {
        const struct verdict_limit *l = &r->verdict->limits[i];
        if (l->is != VERDICT_HELD || !hides(r, i))
            continue;
        if (held > 1)
            fprintf(out, "; %s was", report_limit_text(r, (int64_t)i));
        say_hidden(r, i, held > 1 ? "" : ",", out);
        end = "; ";
    }
    fputs(end, out);
}

static bool is_against(enum verdict_is is)
{
    return is == VERDICT_VIOLATED || is == VERDICT_INFEASIBLE;
}

/* Names limits that were broken before those of which it is not known. */
static void say_limits(const struct report *r, FILE *out)
{
    const struct verdict *v = r->verdict;
    size_t named = 0, held = 0, unnamed[2] = {0, 0};
    for (int unknown = 0; unknown < 2; unknown++)
        for (size_t i = 0; i < v->limit_count; i++) {
            if (v->limits[i].is == VERDICT_HELD) {
                held += (size_t)unknown;
            } else if (is_against(v->limits[i].is) != unknown) {
                if (named++ < REPORT_NAMED_MAX) {
                    say_broken_limit(r, i, out);
                    fputs("; ", out);
                } else {
                    unnamed[unknown]++;
                }
            }
        }
    if (unnamed[0])
        fprintf(out, "%zu more limit%s did not hold; ", unnamed[0], unnamed[0] == 1 ? "" : "s");
    if (unnamed[1])
        fprintf(out, "%zu more %s not known to have held; ", unnamed[1], unnamed[1] == 1 ? "limit is" : "limits are");
    if (held > 0)
        say_held(r, named, held, out);
}

/* For how long nothing has come of the node that is not heard for longest; 0: all are heard. */
static int64_t longest_unheard(const struct report *r)
{
    const struct summary_node *n = verdict_unheard_node(r->verdict, r->summary, r->experiment);
    return n ? verdict_unheard(r->verdict, r->summary, r->experiment, n) : 0;
}

static void say_lost(const struct report *r, FILE *out)
{
    const struct verdict_books *b = &r->verdict->sut;
    if (verdict_lost(b) == 0) {
        /* Of a run that goes on the latest books are up to a second old. */
        bool known = verdict_is_complete(r->verdict) && r->verdict->run != RUN_RUNNING;
        fputs(report_imported(r) ? "none counted as lost by the source"
              : known            ? "none lost"
                                 : "none counted as lost",
              out);
        if (longest_unheard(r) > 0)
            fprintf(out, " up to %s", units_duration(saturate_sub(r->verdict->duration, longest_unheard(r))).s);
        return;
    }
    fprintf(out, "%s lost", units_count(verdict_lost(b)).s);
    if (report_imported(r) && verdict_lost(b) == b->full) {
        fputs(" (as the source counted)", out);
        return;
    }
    const char *before = " (";
    for (size_t i = 0; i < VERDICT_LOSSES; i++) {
        if (verdict_count(b, verdict_losses[i].at) == 0)
            continue;
        fprintf(out, "%s%s %s", before, units_count(verdict_count(b, verdict_losses[i].at)).s, verdict_losses[i].words);
        before = ", ";
    }
    fputc(')', out);
}

/* Begins a reason: ", but" the first one, ", and" the others. */
static const char *begin_reason(size_t *count)
{
    return (*count)++ ? ", and" : ", but";
}

static size_t say_unheard(const struct report *r, FILE *out)
{
    const struct summary_node *first = verdict_unheard_node(r->verdict, r->summary, r->experiment);
    size_t n = 0, more = 0;
    if (!first)
        return 0;
    for (size_t i = 0; i < r->summary->node_count; i++)
        more += &r->summary->nodes[i] != first &&
                verdict_unheard(r->verdict, r->summary, r->experiment, &r->summary->nodes[i]) > 0;
    fprintf(out, "%s node %s has not been heard for %s", begin_reason(&n), first->name,
            units_duration(longest_unheard(r)).s);
    if (more)
        fprintf(out, ", nor %zu more", more);
    return n;
}

/* Why the numbers are incomplete: what is said before and behind the number, or the text, of each. */
static const struct {
    const char *before, *behind[2]; /* of one, of several */
    enum { NO_MORE, NUMBER, TEXT } has;
} reasons[VERDICT_LACKS] = {
    [LACK_BEHIND] = {"the trace may hold more"},
    [LACK_ABSENT] = {"no program came for '", {"'", "'"}, TEXT},
    [LACK_MISSING] = {"",
                      {" file of the trace is gone or damaged ('bezel verify' says which)",
                       " files of the trace are gone or damaged ('bezel verify' says which)"},
                      NUMBER},
    [LACK_CHANGED] = {"run.db was changed since the run, which no number here is proof against"},
    [LACK_EXPERIMENT] =
        {"experiment.yaml was changed since the run began, so its limits are not those that were judged"},
    [LACK_VANISHED] = {"", {" node vanished", " nodes vanished"}, NUMBER},
    [LACK_UNJOINED] = {"", {" node never joined the run", " nodes never joined the run"}, NUMBER},
    [LACK_LEFT_OUT] = {"the collector refused processes, none of whose records are stored (see the notes)"},
    [LACK_UNKNOWN] = {"the end of ", {" process is unknown", " processes is unknown"}, NUMBER},
    [LACK_LEFT] = {"", {" process went on when bezeld had ended", " processes went on when bezeld had ended"}, NUMBER},
    [LACK_REJOINED] = {"what programs recorded between two lives of a bezeld is unknown"},
    [LACK_UNENDED] = {"programs may have been started or have gone on unobserved ",
                      {": their launcher has not said that all have ended"},
                      TEXT},
    [LACK_CLOCK_GAP] = {"records are unknown of a time in which a node did not observe, after a jump of its clock (the "
                        "notes say how long it was)"},
    [LACK_UNCOUNTED] = {"there may be records that no books count (see the notes: ", {")", ")"}, TEXT},
    [LACK_UNOBSERVED] = {"",
                         {" process was not observed: its records are unknown",
                          " processes were not observed: their records are unknown"},
                         NUMBER},
};

static void say_reason(const struct verdict *v, enum verdict_lack_kind i, FILE *out)
{
    const char *behind = reasons[i].behind[reasons[i].behind[1] && v->lacks[i] != 1];
    fputs(reasons[i].before, out);
    if (reasons[i].has != NO_MORE)
        fprintf(out, "%s%s", reasons[i].has == TEXT ? v->lacking[i] : units_count(v->lacks[i]).s, behind);
    if (i == LACK_ABSENT && v->lacks[i] > 1)
        fprintf(out, ", nor for %s more that the file attaches to", units_count(v->lacks[i] - 1).s);
    if (i == LACK_UNKNOWN && v->lacks[LACK_LEFT])
        fprintf(out, " (%s went on when bezeld had ended)", units_count(v->lacks[LACK_LEFT]).s);
}

static void say_unknown(const struct report *r, FILE *out)
{
    const struct verdict *v = r->verdict;
    size_t n = say_unheard(r, out);
    for (unsigned i = 0; i < VERDICT_LACKS; i++) {
        bool said = (i == LACK_LEFT && v->lacks[LACK_UNKNOWN]) || (i == LACK_REJOINED && v->lacks[LACK_LEFT]);
        if (v->lacks[i] == 0 || said)
            continue;
        fprintf(out, "%s ", begin_reason(&n));
        say_reason(v, i, out);
    }
    if (!v->balanced && v->run == RUN_ENDED && !verdict_lacks(v, ~VERDICT_NOT_OF_BOOKS))
        fprintf(out, "%s the books do not balance", begin_reason(&n));
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
        if (b->reduced)
            fprintf(out, "%s reduced to values, ", units_count(b->reduced).s);
        say_lost(r, out);
    }
    struct summary_expired gone = report_expired_from_store(r, ROLE_SUT);
    if (gone.records)
        fprintf(out, ", %s of them expired from the store since", units_count(gone.records).s);
    say_unknown(r, out);
    fputc('.', out);
    if (r->summary->mirror.text[0])
        fprintf(out, " %s", r->summary->mirror.text);
}

char *report_sentence_text(const struct report *r)
{
    char *sentence = NULL;
    size_t n;
    FILE *memory = open_memstream(&sentence, &n);
    if (memory)
        report_sentence(r, memory);
    return file_text_end(memory, &sentence) == 0 ? sentence : NULL;
}

/* ---- The first lines of the text --------------------------------------------------------------------------------- */

/* When the run started, with milliseconds, for times that are added to it. */
static void print_start(const struct report *r, FILE *out)
{
    char date[40];
    time_t seconds = (time_t)(r->verdict->started / CLOCK_S);
    struct tm utc;
    if (r->verdict->started <= 0 || !gmtime_r(&seconds, &utc) ||
        strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", &utc) == 0)
        return;
    fprintf(out, "%s %s.%03d UTC; the times below are since then.\n",
            summary_is_unstarted(r->summary) ? "No program was started; the run began" : "Started", date,
            (int)(r->verdict->started % CLOCK_S / CLOCK_MS));
}

/* Nodes with an address may go on for a while without their `bezel run`. */
static bool may_be_taken_over(const struct report *r)
{
    bool addressed = false;
    for (uint32_t i = 0; i < r->experiment->node_count; i++)
        addressed |= r->experiment->nodes[i].address != NULL;
    return addressed && r->verdict->run == RUN_ABORTED;
}

bool report_is_green(const struct report *r)
{
    bool green = verdict_exit_code(r->verdict) == 0 && verdict_is_complete(r->verdict);
    for (size_t i = 0; i < r->verdict->limit_count && green; i++)
        green = !hides(r, i);
    return green;
}

void report_opening(const struct report *r, FILE *out)
{
    static const char *const colors[] = {"\033[1;32m", "\033[1;33m", "\033[1;31m", "\033[1;31m"};
    enum verdict_is is = r->verdict->is, as = is == VERDICT_HELD && !report_is_green(r) ? VERDICT_UNKNOWN : is;
    if (r->color)
        fputs(colors[as], out);
    report_sentence(r, out);
    fputs(r->color ? "\033[0m\n" : "\n", out);
    print_start(r, out);
    if (report_imported(r)) {
        char source[128];
        snprintf(source, sizeof source, "%s", report_imported(r));
        plain_text(source);
        fprintf(out, "Imported from %s: the books have what this source counted.\n", source);
    }
    if (may_be_taken_over(r))
        fputs("Nodes with an address go on without `bezel run` for a while: 'bezel attach' takes the run over.\n", out);
}
