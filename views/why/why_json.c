// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/live.h"
#include "base/json.h"
#include "base/units.h"
#include "views/why/why_internal.h"

#include <math.h>
#include <stdarg.h>

enum { PIECES_MOST = 10000, TERMS_OF_CAUSE = 3, DELAYS_MOST = 100 };

/* ---- what an answer rests on ------------------------------------------------------------------------------------- */

struct remarks {
    void (*put)(void *context, const char *text);
    void *context;
};

static void BEZEL_PRINTF(2, 3) remark(const struct remarks *r, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    r->put(r->context, text);
}

/* Whether a hundredth of the time of the slow instances or more is `unknown`, or else known, for that reason. */
static bool has_why(const struct slow_terms *t, enum path_why why, bool unknown)
{
    double ns = 0;
    for (size_t i = 0; i < t->count; i++)
        ns += (t->terms[i].is == PATH_UNKNOWN) == unknown && t->terms[i].why == why ? t->terms[i].slow : 0;
    return ns > 0 && ns >= t->slow / 100;
}

/* Whether threads were ready for so long while nobody knows who had the CPU. */
static bool has_nobody(const struct slow_terms *t)
{
    double ns = 0;
    for (size_t i = 0; i < t->count; i++)
        ns += t->terms[i].is == PATH_READY && t->terms[i].by == ACTIVITY_NONE ? t->terms[i].slow : 0;
    return ns > 0 && ns >= t->slow / 10;
}

/* Whether it is recorded who had the CPU while some thread was ready. */
static bool has_rivals(const struct activity *a)
{
    bool has = false;
    for (size_t i = 0; i < a->thread_count; i++)
        has = has || a->threads[i].rival_count > 0;
    return has;
}

/* What would make known what is unknown for a reason. */
static const char *remedy_of(enum path_why why, const struct activity *a)
{
    static const char *const of[PATH_WHYS] = {
        [PATH_BLOCKED] = "Threads waited, and no record says for what: BEZEL_WAIT, or BEZEL_SENT and BEZEL_RECEIVED, "
                         "in the program do.",
        [PATH_LOST] = "Records were lost in these times; `bezel report` says why, and what to do about it.",
        [PATH_INTERRUPT] = "Threads waited for a timer or a device: BEZEL_WAIT in the program says for which.",
        [PATH_SOFTIRQ] = "Threads waited for work of the kernel, such as messages: BEZEL_SENT and BEZEL_RECEIVED say "
                         "for which, or BEZEL_WAIT.",
        [PATH_WOKEN] = "Threads of which nothing is recorded ended waits: records of them would say why so late.",
        [PATH_UNSENT] = "Threads waited for messages whose sending is not recorded: BEZEL_SENT at their senders is.",
        [PATH_BETWEEN] = "Whether threads waited or were ready the kernel's sums leave open: a shorter period of "
                         "switches says more.",
        [PATH_CLOCKS] = "Threads waited for messages of a node whose clock is not known: docs/CLOCKS.md.",
        [PATH_BEGINNING] = "What threads did before their first records is not known.",
        [PATH_CYCLE] = "Messages lead back to where the path was: their tags are not unique.",
        [PATH_FORGOTTEN] = "The path leads to what was too long ago to be kept; --from and --until take less.",
    };
    if (why == PATH_NO_SWITCHES)
        return a->intervals > 0
                   ? "Switches were recorded in part: of a program from when bezeld had found it, some ms after its "
                     "begin; by snapshots (sensing: {samplers: {switches: all}} stores all); or as far as the kernel "
                     "and `switches.budget` permit, which notes of `bezel report` say then; docs/SAMPLERS.md, "
                     "Switches."
                   : "No switches were recorded, so nobody knows when threads ran and when they waited; unless the "
                     "kernel refused them, as a note of `bezel report` says then, add to the file: "
                     "sensing: {samplers: {switches: all}}";
    if (why == PATH_BLOCKED && a->wakings == 0)
        return "Threads waited, and no record says for what: BEZEL_WAIT, or BEZEL_SENT and BEZEL_RECEIVED, in the "
               "program do. Who ended a wait nobody saw: bezeld does as root, outside of containers; a note of "
               "`bezel report` says what it lacked.";
    return of[why];
}

/* For which reason most is unknown; PATH_KNOWN: less than a hundredth is, for each. */
static enum path_why most_unknown(const struct slow_terms *t)
{
    double ns[PATH_WHYS] = {0};
    enum path_why most = PATH_KNOWN;
    for (size_t i = 0; i < t->count; i++)
        ns[t->terms[i].why] += t->terms[i].is == PATH_UNKNOWN ? t->terms[i].slow : 0;
    for (enum path_why why = PATH_KNOWN; why < PATH_WHYS; why++)
        most = ns[why] > ns[most] ? why : most;
    return has_why(t, most, true) ? most : PATH_KNOWN;
}

/* That of the reason of most comes first. */
static void put_remedies(const struct remarks *r, const struct why_answer *a)
{
    static const enum path_why others[] = {PATH_NO_SWITCHES, PATH_BLOCKED, PATH_LOST, PATH_FORGOTTEN};
    enum path_why most = most_unknown(&a->terms);
    if (remedy_of(most, &a->activity))
        remark(r, "%s", remedy_of(most, &a->activity));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] != most && has_why(&a->terms, others[i], true))
            remark(r, "%s", remedy_of(others[i], &a->activity));
}

void why_remarks(const struct why_page *p, const struct why_answer *a, void (*put)(void *context, const char *text),
                 void *context)
{
    struct remarks r = {put, context};
    put_remedies(&r, a);
    if (has_why(&a->terms, PATH_NO_SWITCHES, false))
        remark(&r, "Where no switches were recorded, waits for locks, input and output are at most so long as is said: "
                   "their threads may have been ready again, or stopped, for some of it.");
    if (has_nobody(&a->terms) && has_rivals(&a->activity))
        remark(
            &r,
            "Of some times in which threads were ready nobody knows who had the CPU: of each, at most 8 of those who "
            "had it in turn are recorded, and none while switches keeps to its budget; docs/SAMPLERS.md, Who had "
            "the CPU.");
    else if (has_nobody(&a->terms))
        remark(&r, "Who had the CPU while threads were ready is not recorded: bezeld needs CAP_PERFMON for it, "
                   "and a note of `bezel report` says where it lacked that; docs/SAMPLERS.md, Who had the CPU.");
    if (a->choice.slow_count && a->question.of != WHY_PATH && slow_may_be_recording(&a->terms))
        remark(&r,
               "Recording the slow ones took %s .. %s of them on average, by what a record costs at least and at most: "
               "it may be what they have more.",
               units_duration((int64_t)a->terms.of_slow.least).s, units_duration((int64_t)a->terms.of_slow.most).s);
    if (a->terms.bound > 0)
        remark(&r, "The clocks of nodes are known so well that a step from one to another is right to %s.",
               units_duration(a->terms.bound).s);
    if (a->activity.forgotten && a->activity.unsent)
        remark(&r, "%s sendings were forgotten, as memory for messages is bounded: their messages count as not sent.",
               units_count(a->activity.forgotten).s);
    if (a->late_spans)
        remark(&r,
               "%s spans and waits were recorded more than %s late, as they lasted longer: the time in them before "
               "that may be shown as in no span.",
               units_count(a->late_spans).s, units_duration(LIVE_LATE).s);
    if (a->unplaced)
        remark(&r, "%s times of the interval were left out: their last records came before their first ones.",
               units_count(a->unplaced).s);
    if (a->totals.cut)
        remark(&r, "%s of the streams of records are damaged: what is behind the damage is not in the answer.",
               units_count(a->totals.cut).s);
    if (a->totals.expired)
        remark(&r, "%s records had expired from the store: they are not in the answer.",
               units_count(a->totals.expired).s);
    if (p->goes_on)
        remark(&r, "The run goes on: this is about what is stored by now.");
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* `pid` is null where it is not known, or several processes have the name. */
static void put_process(struct json *j, const char *const keys[3], const struct why_answer *a, uint32_t thread)
{
    const struct activity_thread *t = thread == ACTIVITY_NONE ? NULL : &a->activity.threads[thread];
    int64_t pid = t ? why_pid(a, thread) : 0;
    json_text(j, keys[0], t ? t->node : NULL);
    json_text(j, keys[1], t ? t->process : NULL);
    json_known_int(j, keys[2], pid > 0, pid);
}

static void put_class(struct json *j, const struct why_page *p, const struct why_answer *a, const struct why_doing *d)
{
    static const char *const own[] = {"node", "process", "pid"}, *const of_peer[] = {"sender_node", "sender",
                                                                                     "sender_pid"};
    int64_t by_pid = d->by == ACTIVITY_NONE ? 0 : a->activity.pids[d->by];
    json_text(j, "class", path_class_name(d->is));
    json_text(j, "why", d->why == PATH_KNOWN ? NULL : path_why_name(d->why));
    put_process(j, own, a, d->thread);
    json_text(j, "span", d->span == ACTIVITY_NONE ? NULL : a->activity.names[d->span]);
    put_process(j, of_peer, a, d->peer);
    json_text(j, "by", d->by == ACTIVITY_NONE ? NULL : a->activity.names[d->by]);
    json_known_int(j, "by_pid", by_pid > 0, by_pid);
    json_text(j, "what", why_what(p, a, d).s);
    json_text(j, "where", why_where(p, a, d).s);
}

static void put_terms(struct json *j, const struct why_page *p, const struct why_answer *a, size_t most)
{
    bool alone = a->choice.usual_count == 0;
    json_array(j, "terms");
    for (size_t i = 0; i < a->terms.count && i < most; i++) {
        const struct slow_term *t = &a->terms.terms[i];
        const struct why_doing d = why_doing_of(t);
        json_object(j, NULL);
        put_class(j, p, a, &d);
        json_double(j, "more_ns", t->slow - t->usual);
        json_double(j, "slow_ns", t->slow);
        json_double(j, "usual_ns", alone ? (double)NAN : t->usual);
        json_int(j, "slow_least_ns", t->slow_least);
        json_int(j, "slow_most_ns", t->slow_most);
        json_object_end(j);
    }
    json_array_end(j);
}

static void put_slack(struct json *j, const struct why_answer *a)
{
    static const char *const to[] = {"node", "process", "pid"}, *const of[] = {"sender_node", "sender", "sender_pid"};
    json_array(j, "slack");
    for (size_t k = 0; k < a->slack.count && why_has_slack(a); k++) {
        const struct slack_pair *is = &a->slack.pairs[k];
        json_object(j, NULL);
        put_process(j, of, a, is->from);
        json_uint(j, "sender_thread", a->activity.threads[is->from].id);
        put_process(j, to, a, is->to);
        json_uint(j, "thread", a->activity.threads[is->to].id);
        json_uint(j, "messages", is->messages);
        json_int(j, "least_ns", is->least);
        json_object_end(j);
    }
    json_array_end(j);
    json_bool(j, "slack_known", why_has_slack(a));
}

static void put_imbalance(struct json *j, const struct why_answer *a)
{
    json_array(j, "imbalance");
    for (size_t i = 0; i < a->imbalance.count; i++) {
        const struct imbalance_span *s = &a->imbalance.spans[i];
        json_object(j, NULL);
        json_text(j, "span", a->activity.names[s->name]);
        json_uint(j, "threads", s->threads);
        json_double(j, "path_ns", s->path);
        json_double(j, "mean_ns", s->mean);
        json_double(j, "least_ns", s->least);
        json_object_end(j);
    }
    json_array_end(j);
}

static void put_sequences(struct json *j, const struct why_page *p, const struct why_answer *a)
{
    static const char *const own[] = {"node", "process", "pid"};
    json_array(j, "sequences");
    for (size_t i = 0; i < a->sequences.count; i++) {
        const struct sequence *is = &a->sequences.list[i];
        json_object(j, NULL);
        json_uint(j, "times", is->times);
        json_double(j, "ns", is->ns);
        json_array(j, "steps");
        for (size_t k = 0; k < is->count; k++) {
            const struct term *at = &is->steps[k];
            const struct why_doing d = {.thread = at->thread, .span = at->span};
            json_object(j, NULL);
            put_process(j, own, a, at->thread);
            json_text(j, "span", at->span == ACTIVITY_NONE ? NULL : a->activity.names[at->span]);
            json_text(j, "where", why_where(p, a, &d).s);
            json_object_end(j);
        }
        json_array_end(j);
        json_object_end(j);
    }
    json_array_end(j);
    json_uint(j, "sequences_left_out", a->sequences.left_out);
}

static void put_delays(struct json *j, const struct why_page *p, const struct why_answer *a)
{
    json_array(j, "delays");
    for (size_t i = 0; i < a->delays.count && i < DELAYS_MOST; i++) {
        const struct term *is = &a->delays.list[i].of;
        json_object(j, NULL);
        put_class(j, p, a, &(struct why_doing){is->is, is->why, is->thread, is->span, is->peer, is->by, .own = false});
        json_double(j, "ns", a->delays.list[i].ns);
        json_uint(j, "waiters", a->delays.list[i].waiters);
        json_object_end(j);
    }
    json_array_end(j);
}

static void put_slowest(struct json *j, const struct why_page *p, const struct why_answer *a)
{
    const struct slow_instance *i = a->choice.slow;
    json_object(j, "slowest");
    json_int(j, "from_ns", i->from - p->started);
    json_int(j, "until_ns", i->until - p->started);
    json_uint(j, "thread", i->thread);
    json_array(j, "pieces");
    for (size_t k = 0; k < a->path.count && k < PIECES_MOST; k++) {
        const struct path_piece *is = &a->path.pieces[k];
        json_object(j, NULL);
        json_int(j, "from_ns", is->from - p->started);
        json_int(j, "until_ns", is->until - p->started);
        put_class(j, p, a, &(struct why_doing){is->is, is->why, is->thread, is->span, is->peer, is->by, .own = true});
        json_uint(j, "thread", a->activity.threads[is->thread].id);
        json_object_end(j);
    }
    json_array_end(j);
    put_slack(j, a);
    json_uint(j, "left_out", a->path.count > PIECES_MOST ? a->path.count - PIECES_MOST : 0);
    json_object_end(j);
}

static void put_remark(void *context, const char *text)
{
    json_text(context, NULL, text);
}

static void put_members(struct json *j, const struct why_page *p, const struct why_answer *a, size_t terms)
{
    static const char *const of[] = {"field", "gap", "interval", "path"};
    const struct slow_choice *c = &a->choice;
    json_text(j, "limit", a->question.limit);
    json_known_int(j, "phase", a->question.phase > 0, a->question.phase);
    json_text(j, "of", of[a->question.of]);
    json_text(j, "aspect", a->question.aspect);
    json_text(j, "field", a->question.of == WHY_FIELD ? a->question.field : NULL);
    json_text(j, "verdict", why_is_known(a) ? "explained" : "unknown");
    json_uint(j, "instances", c->count);
    json_uint(j, "missing_records", a->missing);
    json_uint(j, "elsewhere", a->elsewhere);
    json_uint(j, "too_long", a->too_long);
    json_int(j, "longest_ns", a->longest);
    json_known_int(j, "beyond_ns", c->beyond > 0, c->beyond);
    json_uint(j, "over", c->over);
    json_uint(j, "slow", c->slow_count);
    json_uint(j, "usual", c->usual_count);
    json_double(j, "slow_ns", c->slow_count ? a->terms.slow : (double)NAN);
    json_double(j, "usual_ns", c->usual_count ? a->terms.usual : (double)NAN);
    json_double(j, "unknown_ns", c->slow_count ? a->terms.slow_unknown : (double)NAN);
    if (a->question.of != WHY_PATH) {
        json_double(j, "slow_recording_least_ns", a->terms.of_slow.least);
        json_double(j, "slow_recording_most_ns", a->terms.of_slow.most);
        json_double(j, "usual_recording_least_ns", a->terms.of_usual.least);
        json_double(j, "usual_recording_most_ns", a->terms.of_usual.most);
    }
    json_known_int(j, "error_ns", a->terms.bound < INT64_MAX, a->terms.bound);
    if (a->question.of == WHY_PATH) {
        double elapsed = a->terms.slow;
        json_int(j, "cpu_ns", a->cpu);
        json_double(j, "parallelism", elapsed > 0 ? (double)a->cpu / elapsed : (double)NAN);
        json_double(j, "parallelism_most", why_most_parallel(a));
        json_uint(j, "late_spans", a->late_spans);
    }
    put_terms(j, p, a, terms);
    why_json_open(p, a, j);
    json_array(j, "remarks");
    why_remarks(p, a, put_remark, j);
    json_array_end(j);
}

static void put_answer(struct json *j, const struct why_page *p, const struct why_answer *a)
{
    json_object(j, NULL);
    put_members(j, p, a, SIZE_MAX);
    if (a->choice.slow_count)
        put_slowest(j, p, a);
    if (a->question.of != WHY_PATH)
        put_imbalance(j, a);
    put_sequences(j, p, a);
    if (a->question.of != WHY_PATH)
        put_delays(j, p, a);
    why_json_predictions(a, j);
    why_json_search(a, j);
    json_object_end(j);
}

void why_json_cause(const struct why_page *p, const struct why_answer *a, struct json *j)
{
    put_members(j, p, a, TERMS_OF_CAUSE);
}

void why_json(const struct why_page *p, FILE *out)
{
    struct json j = {.out = out};
    json_object(&j, NULL);
    json_text(&j, "run", p->run);
    json_array(&j, "answers");
    for (size_t i = 0; i < p->answer_count; i++)
        put_answer(&j, p, &p->answers[i]);
    json_array_end(&j);
    why_json_unrecorded(p, &j);
    json_array(&j, "unanswered");
    for (size_t i = 0; i < p->refusal_count; i++) {
        json_object(&j, NULL);
        json_text(&j, "limit", p->refusals[i].limit);
        json_text(&j, "why", p->refusals[i].why);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
    fputc('\n', out);
}
