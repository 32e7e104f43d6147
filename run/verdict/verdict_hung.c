// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What a program that hangs makes of a limit: it makes no record, so limits that read records do not see it. Judged are
 * its silence until it was killed, the run began to end, or up to now, waits and long spans that are open, and
 * intervals that end no more. What they do not break for certain is not known to have held.
 */
#include "run/verdict/verdict_internal.h"

#include "base/clock.h"
#include "base/condition.h"
#include "base/saturate.h"
#include "metric/arrivals.h"
#include "resmgr/agent/agent.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* The program that process `p` was when the run started it, and whose end is known; NULL: it is none. */
static const struct summary_program *program_of(const struct summary *s, const struct summary_process *p)
{
    const struct summary_program *g = summary_program_of(s, p, NULL);
    while (g && g->state != LAUNCHED_ENDED)
        g = summary_program_of(s, p, g);
    return g;
}

/*
 * When program `g`, which process `p` was, had ended. It runs from its launch on, and `p` began when it first recorded:
 * where it is not known when it was started, it had ended by then at the latest.
 */
static int64_t ended_by(const struct summary_process *p, const struct summary_program *g)
{
    return saturate_add(g->started != 0 ? g->started : p->started, g->ran);
}

int64_t verdict_there_until(const struct summary *s, const struct summary_process *p)
{
    const struct summary_program *g = program_of(s, p);
    const struct builtin_ending *is = &p->ending;
    int64_t end = g ? ended_by(p, g) : INT64_MIN;
    bool is_late = is->at != 0 && (!g || is->way == ENDING_EXEC || end > is->at);
    return !is_late ? end : is->seen != 0 ? is->seen : INT64_MIN;
}

int64_t verdict_ended(const struct summary *s, const struct summary_process *p, int64_t within)
{
    const struct builtin_ending *is = &p->ending;
    int64_t last = INT64_MIN, found = is->at != 0 && is->way != ENDING_NONE ? is->at : INT64_MAX;
    int64_t seen = is->seen > p->started ? is->seen : p->started; /* it came and went between two looks */
    bool is_near = found < INT64_MAX && is->at - seen <= within;
    for (size_t b = 0; b < p->book_count; b++)
        last = p->books[b].stored && p->books[b].last_ns > last ? p->books[b].last_ns : last;
    for (const struct summary_program *g = NULL; (g = summary_program_of(s, p, g)) != NULL;) {
        int64_t ended = ended_by(p, g);
        if (g->state == LAUNCHED_ENDED && ended >= last && ended <= found && (g->started != 0 || is_near))
            return ended;
    }
    return found >= last && is_near ? found : INT64_MAX;
}

/* How process `p` ended, as the silence before its end is to be taken. */
enum hung_end {
    HUNG_NOT,     /* by itself, or nothing is known */
    HUNG_PERHAPS, /* a signal may have ended it, by which a program is not asked to end */
    HUNG_KILLED,  /* it did */
    HUNG_STAYS    /* it still was there when the run began to end, or is there now */
};

static enum hung_end hung_end_of(const struct verdict *v, const struct summary *s, const struct summary_process *p)
{
    const struct summary_program *g = program_of(s, p);
    const struct builtin_ending *is = &p->ending;
    const char *by = summary_property(s, "ended_by");
    int64_t found = is->at != 0 ? is->at : INT64_MAX, end = g ? ended_by(p, g) : INT64_MAX;
    bool is_later = v->ended != 0 && summary_run_time(s, p->node, end < found ? end : found) >= v->ended;
    bool is_own = g || (is->way == ENDING_EXIT && summary_run_time(s, p->node, is->seen) < v->ended);
    int signal = g && WIFSIGNALED(g->status) ? WTERMSIG(g->status) : 0;
    if (is->at != 0 && is->way == ENDING_EXEC)
        return HUNG_NOT;
    if (signal && signal != SIGTERM && signal != SIGINT)
        return HUNG_KILLED;
    if (!g && is->at == 0)
        return v->run != RUN_ABORTED && p->state == PROCESS_RUNNING ? HUNG_STAYS : HUNG_NOT;
    if (is_later && by && strcmp(by, "processes") == 0 && is_own)
        return HUNG_NOT; /* the run ended with it */
    if (is_later || (is->at != 0 && is->way == ENDING_NONE))
        return HUNG_STAYS;
    return g || is->way != ENDING_UNKNOWN ? HUNG_NOT : HUNG_PERHAPS;
}

/* Whether a silence of so many ns breaks limit `i` by itself, more than all that was judged on `node`. */
static bool silence_breaks(const struct summary *s, const struct experiment *e, uint32_t i, uint32_t node,
                           int64_t silent)
{
    const struct experiment_limit *l = &e->limits[i];
    const struct experiment_metric *m = &e->metrics[l->metric];
    if (l->compare != COMPARE_AT_MOST || !verdict_one_breaks(e, l) || !experiment_metric_is_of_arrivals(m) ||
        (m->arrivals == ARRIVALS_JITTER && m->period == 0))
        return false;
    double value = m->kind == METRIC_MISSES         ? arrivals_missed(m, silent)
                   : m->arrivals == ARRIVALS_JITTER ? (double)(silent - m->period)
                                                    : (double)silent;
    return value > l->bound && !(value <= verdict_judged_worst(s, e, node, i));
}

/*
 * By how much the time between two records exceeds the bound of limit `i`, ns, if process `k` was silent for so long: a
 * mean, a quantile or the last one takes such a time in when the next record comes. 0 and less: not; or it is judged
 * while it lasts, as the longest one and misses are. Of jitter without a period it is compared with the mean time.
 */
static double silence_exceeds(const struct summary *s, const struct experiment *e, uint32_t i, size_t k, int64_t silent)
{
    const struct experiment_limit *l = &e->limits[i];
    const struct experiment_metric *m = &e->metrics[l->metric];
    const struct summary_process *p = &s->processes[k];
    bool is_jitter = m->arrivals == ARRIVALS_JITTER;
    double usual = (double)m->period;
    if (l->compare != COMPARE_AT_MOST || m->arrivals == ARRIVALS_NONE ||
        (verdict_one_breaks(e, l) && (!is_jitter || m->period > 0)))
        return 0;
    const struct summary_book *book = summary_book_of(p, m->aspect);
    if (m->period == 0 && book && book->stored > 1)
        usual = (double)(book->last_ns - book->first_ns) / (double)(book->stored - 1);
    return (double)silent - (is_jitter ? usual : 0) - l->bound;
}

/*
 * Whether instants found limit `i` violated in a silence of `silent` ns before `end`. What was over before is of
 * others; later it may have been so because the run had ended.
 */
static bool violated_in(const struct summary *s, uint32_t i, int64_t silent, int64_t end)
{
    for (size_t k = 0; k < s->violation_count; k++) {
        const struct history_violation *v = &s->violations[k];
        if (v->limit == i && summary_run_time(s, v->node, v->begin) < end &&
            (v->open || summary_run_time(s, v->node, v->end) >= end - silent))
            return true;
    }
    return false;
}

/*
 * Whether `silent` ns before process `k` was killed, or the run began to end, may break limit `i`: of a killed one also
 * where instants found it violated meanwhile; `killed` 0: it was not. Instants that did so are taken back where a
 * process ended soon behind. Other values are known as long as a record is in the window.
 */
static bool silence_counts(const struct summary *s, const struct experiment *e, const struct verdict_limit *v,
                           uint32_t i, size_t k, int64_t silent, int64_t killed)
{
    const struct experiment_limit *l = &e->limits[i];
    double over = silence_exceeds(s, e, i, k, silent);
    bool is_seen = !v->switched && !verdict_is_reduced(&e->metrics[l->metric], &s->processes[k]);
    bool is_hung = is_seen && over > 0 && over >= (double)l->persistence && silent > agent_settling(e, l);
    bool is_found = v->before_end != 0 && violated_in(s, i, silent, killed);
    return is_hung || (killed != 0 && is_found) ||
           ((killed != 0 || is_seen) && silence_breaks(s, e, i, s->processes[k].node, silent));
}

/*
 * Until when the silence of process `k` counts, in the run's time: it was there then, and all that it had recorded
 * would be known. While a run goes on it is behind what nodes tell by what they may tell late. INT64_MIN: that is not
 * known.
 */
static int64_t silent_until(const struct verdict *v, const struct summary *s, const struct experiment *e, size_t k)
{
    const struct summary_process *p = &s->processes[k];
    int64_t until = summary_run_time(s, p->node, verdict_there_until(s, p)), last = s->nodes[p->node].last_at;
    bool is_open = hung_end_of(v, s, p) == HUNG_STAYS && until == INT64_MIN && p->ending.at == 0;
    if (v->run == RUN_RUNNING && is_open)
        return summary_run_time(s, p->node, saturate_sub(last, verdict_unheard_after(e)));
    return v->ended != 0 && (until > v->ended || is_open) ? v->ended : until;
}

/* Whether `ns` more in violation would not exceed the tolerance of limit `i`. */
static bool is_borne(const struct verdict *v, const struct experiment *e, uint32_t i, int64_t ns)
{
    const struct verdict_limit *l = &v->limits[i];
    return (double)saturate_add(l->violated, ns) <= e->limits[i].tolerance * (double)saturate_add(l->judged, ns);
}

/*
 * Limit `i` is not known to have held, because of what lasted on `node`, or still `lasts`; where its tolerance bears
 * that, it is not known to hold now.
 */
static void doubt(struct verdict *v, const struct summary *s, uint32_t i, uint32_t node, bool borne, bool lasts)
{
    struct verdict_limit *all = &v->limits[i];
    if (!borne)
        verdict_doubt_on(v, s, i, node, lasts);
    all->lasts = lasts && all->lasts == VERDICT_HELD ? VERDICT_UNKNOWN : all->lasts;
    for (size_t row = 0; row < s->limit_count && lasts; row++)
        if (summary_limit_is_of(&s->limits[row], i, node))
            v->rows[row].lasts = v->rows[row].lasts == VERDICT_HELD ? VERDICT_UNKNOWN : v->rows[row].lasts;
}

/*
 * The silence before the end of a process is no violation, for it may be its end. Of one that was killed it is not, nor
 * of one that still was when the run began to end, or is: it may have hung. So the limit is not known to have held.
 * What lies behind the run's beginning to end is no silence: that a process is silent then is what it was told to be.
 */
static void judge_silent(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t i)
{
    struct verdict_limit *l = &v->limits[i];
    bool running = v->run == RUN_RUNNING;
    for (size_t k = 0; k < s->process_count; k++) {
        const struct summary_process *p = &s->processes[k];
        int64_t until = silent_until(v, s, e, k), last = INT64_MIN;
        bool is_read = true;
        enum hung_end how = hung_end_of(v, s, p);
        if (how != HUNG_NOT && until != INT64_MIN)
            last = verdict_last_chosen(s, e, i, k, &is_read);
        int64_t silent = last == INT64_MIN ? 0 : saturate_sub(until, last);
        bool borne = is_borne(v, e, i, silent);
        if (silent <= 0 || !silence_counts(s, e, l, i, k, silent, how == HUNG_STAYS ? 0 : until) ||
            (borne && !(running && how == HUNG_STAYS)) || (running && verdict_goes_on(s, e, i, k)))
            continue;
        int64_t *most = how == HUNG_STAYS ? &l->silent : how == HUNG_KILLED ? &l->killed : &l->perhaps;
        l->mute = how == HUNG_STAYS && silent > *most ? p : l->mute;
        *most = silent > *most ? silent : *most;
        l->unread = l->unread || !is_read;
        doubt(v, s, i, p->node, borne, how == HUNG_STAYS);
    }
}

int64_t verdict_counted_since(const struct summary *s, const struct summary_process *p, const char *aspect)
{
    int64_t paused = INT64_MAX, counted = INT64_MAX;
    for (size_t i = 0; i < s->note_count; i++) {
        const struct summary_note *n = &s->notes[i];
        bool is_counted = verdict_switches(n, "count", aspect);
        if (n->node != p->node)
            continue;
        if (strcmp(n->code, "BEZEL-PAUSED") == 0)
            paused = n->at;
        else if (strcmp(n->code, "BEZEL-RESUMED") == 0)
            paused = INT64_MAX;
        else if (is_counted || verdict_switches(n, "on", aspect) || verdict_switches(n, "off", aspect))
            counted = !is_counted ? INT64_MAX : saturate_least(n->at, counted);
    }
    return saturate_least(paused, counted);
}

int64_t verdict_open_until(const struct summary *s, const struct builtin_open *o)
{
    int64_t last = o->state == OPEN_NOW ? s->nodes[o->node].last_at : 0;
    int64_t until = summary_run_time(s, o->node, last > o->at ? last : o->at);
    int64_t ended = summary_ended(s);
    return ended != 0 && until > ended ? ended : until;
}

int64_t verdict_open_ns(const struct summary *s, const struct builtin_open *o)
{
    bool is_known = o->since > 0 && o->node < s->node_count;
    return is_known ? verdict_open_until(s, o) - summary_run_time(s, o->node, o->since) : 0;
}

double verdict_worst(const struct summary *s, const struct verdict_limit *v, const struct builtin_limit *l)
{
    double open = v->open_breaks ? (double)verdict_open_ns(s, v->open) : (double)NAN;
    return open > l->worst || isnan(l->worst) ? open : l->worst;
}

const char *verdict_open_field(const struct summary *s, const struct builtin_open *o)
{
    const struct summary_process *p = summary_process_of(s, o->node, (uint64_t)o->instance);
    const struct dict_aspect *a = p ? dict_aspect_of(p->dict, o->aspect) : NULL;
    return a && a->kind == DICT_RECEIVED ? "waited" : "duration";
}

/* Whether process `p`, in which `o` is open, had made records of its aspect before it began. */
static bool began_behind(const struct summary_process *p, const struct builtin_open *o)
{
    const struct summary_book *book = summary_book_of(p, o->aspect);
    return book && book->stored > 0 && book->first_ns < o->since;
}

/*
 * From how many ns on `o` may change what metric `m` of limit `i` is, so that the limit does not hold; infinite: never.
 * Its condition tells, or the bound; of a metric that others are made of, the longest time that is stored.
 */
static double open_matters(const struct summary *s, const struct experiment *e, uint32_t i,
                           const struct experiment_metric *m, const struct builtin_open *o)
{
    const struct experiment_limit *l = &e->limits[i];
    const char *field = verdict_open_field(s, o), *ignored;
    bool is_whole = m == &e->metrics[l->metric], at_most = l->compare == COMPARE_AT_MOST;
    struct condition c = {.field = ""};
    bool is_chosen = m->where && condition_read(m->where, &c, &ignored) == 0 && strcmp(c.field, field) == 0;
    bool longer = c.bound.compare == CONDITION_ABOVE || c.bound.compare == CONDITION_AT_LEAST;
    const struct summary_process *p = summary_process_of(s, o->node, (uint64_t)o->instance);
    if (m->arrivals == ARRIVALS_TIME && is_whole && at_most && began_behind(p, o))
        return l->bound; /* the time since the record before is longer */
    if (is_chosen && (m->kind == METRIC_PERCENT || experiment_metric_is_counted(m)))
        return !is_whole || (longer ? at_most : !at_most && m->kind == METRIC_PERCENT) ? c.bound.number : INFINITY;
    if (is_chosen && !longer)
        return INFINITY; /* it is not of those */
    double from = is_chosen ? c.bound.number : 0;
    if (!m->field || strcmp(m->field, field) != 0)
        return is_chosen ? from : INFINITY;
    if (is_whole)
        return at_most ? fmax(from, l->bound) : INFINITY;
    return p ? fmax(from, verdict_range(s, e, i, m, (size_t)(p - s->processes)).max.d) : from;
}

/*
 * Whether `over` ns beyond the bound violate limit `l` by themselves. That a process ended, or a span, is known up to
 * a second late.
 */
static bool open_violates(const struct experiment *e, const struct experiment_limit *l, int64_t over)
{
    return verdict_one_breaks(e, l) && !e->metrics[l->metric].where && l->tolerance <= 0 &&
           over - CLOCK_S > l->persistence;
}

/* Whether `o` is open, or was at the end of the run. */
static bool is_open(const struct verdict *v, const struct summary *s, const struct builtin_open *o)
{
    return o->state == OPEN_NOW || (v->ended != 0 && summary_run_time(s, o->node, o->at) >= v->ended);
}

/* No instant found it, so the share of the time that was judged does not tell of it. */
static void violate_by(struct verdict_limit *l, const struct builtin_open *o, int64_t lasted, int64_t since, bool lasts)
{
    if (l->is < VERDICT_VIOLATED) {
        l->is = VERDICT_VIOLATED;
        l->node = o->node;
        l->since = since;
        l->share = NAN;
    }
    l->open_breaks = true;
    l->lasts = lasts ? VERDICT_VIOLATED : l->lasts;
    if (lasted >= l->open_ns) {
        l->open = o;
        l->open_ns = lasted;
    }
}

static void violate_on(struct verdict *v, const struct summary *s, uint32_t i, const struct builtin_open *o,
                       int64_t lasted, int64_t since)
{
    bool lasts = is_open(v, s, o);
    violate_by(&v->limits[i], o, lasted, since, lasts);
    for (size_t row = 0; row < s->limit_count; row++)
        if (summary_limit_is_of(&s->limits[row], i, o->node))
            violate_by(&v->rows[row], o, lasted, since, lasts);
}

/*
 * A wait or long span that did not end before the run began to made no record until then, and lasted for longer than
 * any that would break a limit on its duration from above. A mean, a quantile, a condition, another metric or
 * adaptation may bear it: then it is not known. A number may be so many more at most. `m`: the limit's metric, or one
 * that it is made of.
 */
static void judge_open(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t i,
                       const struct experiment_metric *m)
{
    const struct experiment_limit *l = &e->limits[i];
    struct verdict_limit *is = &v->limits[i];
    uint64_t count = 0;
    for (int operand = 0; operand < 2 && m->operands; operand++)
        judge_open(v, s, e, i, &e->metrics[experiment_metric_operand(e, m, operand)]);
    for (size_t k = 0; k < s->open_count && m->aspect; k++) {
        const struct builtin_open *o = &s->open_spans[k];
        int64_t lasted = verdict_open_ns(s, o);
        double over = strcmp(o->aspect, m->aspect) == 0 ? (double)lasted - open_matters(s, e, i, m, o) : 0;
        bool borne = (double)is->violated + over <= l->tolerance * (double)is->judged;
        if (over <= 0 || over < (double)l->persistence || (borne && !(v->run == RUN_RUNNING && is_open(v, s, o))))
            continue;
        bool is_number = m == &e->metrics[l->metric] && experiment_metric_is_counted(m);
        if (is_number && fmax(0, verdict_judged_worst(s, e, o->node, i)) + verdict_most(m, ++count) <= l->bound)
            continue;
        if (lasted > is->open_ns && (m->arrivals == ARRIVALS_NONE || is->is < VERDICT_VIOLATED)) {
            is->open = o;
            is->open_ns = lasted;
        }
        doubt(v, s, i, o->node, borne, is_open(v, s, o));
        if (m == &e->metrics[l->metric] && m->arrivals == ARRIVALS_NONE &&
            open_violates(e, l, saturate_ns((int64_t)over)))
            violate_on(v, s, i, o, lasted, saturate_ns(o->since + (int64_t)l->bound));
    }
}

/*
 * Times between records are those of each thread. One that waits in another aspect may hang, while others of its
 * process go on: its records were read. When a process ended is known up to a second late, and what its records tell
 * while the run goes on as late as any.
 */
static void judge_waiters(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t i)
{
    struct verdict_limit *l = &v->limits[i];
    for (size_t k = 0; k < s->waiter_count; k++) {
        const struct summary_waiter *w = &s->waiters[k];
        const struct builtin_open *o = &s->open_spans[w->open];
        const struct summary_process *p = summary_process_of(s, o->node, (uint64_t)o->instance);
        bool running = v->run == RUN_RUNNING, lasts = is_open(v, s, o);
        int64_t lasted = verdict_open_ns(s, o), late = !lasts ? CLOCK_S : running ? verdict_unheard_after(e) : 0;
        int64_t last = summary_run_time(s, o->node, w->last), since = summary_run_time(s, o->node, o->since);
        int64_t silent = saturate_sub(saturate_add(since, lasted - late), last);
        bool borne = is_borne(v, e, i, silent);
        if (w->limit != i || last == INT64_MIN || lasted <= 0 || silent <= 0 ||
            !(silence_counts(s, e, l, i, (size_t)(p - s->processes), silent, 0) ||
              silence_breaks(s, e, i, o->node, silent)) ||
            (borne && !(running && lasts)))
            continue;
        if (l->is < VERDICT_VIOLATED && lasted > l->open_ns) {
            l->open = o;
            l->open_ns = lasted;
        }
        doubt(v, s, i, o->node, borne, lasts);
    }
}

/* Likewise of an interval: the first records since the last one that ended any may have no end because it hangs. */
static void judge_endless(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t i)
{
    const struct experiment_limit *l = &e->limits[i];
    const struct summary_chosen *times = verdict_chosen(s, i, 0);
    struct verdict_limit *is = &v->limits[i];
    bool running = v->run == RUN_RUNNING;
    double over = times && times->open > 0 ? (double)times->open - l->bound : 0;
    bool borne = times && (double)is->violated + over <= l->tolerance * (double)saturate_add(is->judged, times->open);
    if (!times || times->open <= agent_settling(e, l) || l->compare != COMPARE_AT_MOST || over <= 0 ||
        over < (double)l->persistence || (running ? verdict_goes_on(s, e, i, 0) : borne))
        return;
    is->endless = times->open;
    is->endless_of = times->open_of;
    doubt(v, s, i, 0, borne, true);
}

void verdict_judge_hung(struct verdict *v, const struct summary *s, const struct experiment *e, uint32_t i)
{
    if (experiment_limit_is_on_interval(e, &e->limits[i]))
        judge_endless(v, s, e, i);
    else if (e->limits[i].metric >= 0) {
        judge_silent(v, s, e, i);
        judge_waiters(v, s, e, i);
        judge_open(v, s, e, i, &e->metrics[e->limits[i].metric]);
    }
}
