// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What a verdict makes of a program that hangs: of its silence, and of waits and spans that no record ends. */
#include "base/clock.h"
#include "mdr/manage.h"
#include "run/verdict/verdict.h"
#include "tests/lib/sample_run.h"
#include "tests/lib/test.h"
#include "views/report/report_causes.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct verdict *judge(const struct sample *s, bool running)
{
    struct verdict *v;
    assert_int_equal(verdict_new(&s->summary, &s->experiment, running, &v), 0);
    return v;
}

/* Process 1 alone has the aspect of the limit. Its last record is of 5 s after the start, and held the limit. */
static void make_silent(struct sample *s, enum experiment_metric_kind kind, double bound)
{
    static struct summary_chosen chosen;
    sample_held(s);
    s->experiment.limit_count = s->summary.limit_count = 1;
    s->metrics[0].kind = kind;
    s->metrics[0].arrivals = kind == METRIC_MISSES ? ARRIVALS_NONE : ARRIVALS_TIME;
    s->metrics[0].period = 200 * CLOCK_MS;
    s->metrics[0].aspect = (char *)s->books[1][1].name;
    s->limits[0] = (struct experiment_limit){.kind = LIMIT_EXPECT, .compare = COMPARE_AT_MOST, .bound = bound};
    s->rows[0] = sample_row(0, 0, 9, 0);
    s->rows[0].worst = 20e6;
    for (size_t p = 0; p < s->summary.process_count; p++)
        for (size_t b = 0; b < s->processes[p].book_count; b++)
            if (p != 1 && strcmp(s->processes[p].books[b].name, s->books[1][1].name) == 0)
                s->processes[p].books[b].attempts = s->processes[p].books[b].stored = 0;
    s->books[1][1].last_ns = sample_time(5);
    s->books[1][1].first_ns = sample_time(5) - 10 * CLOCK_MS;
    chosen = (struct summary_chosen){.process = 1, .min = NAN, .max = NAN};
    s->summary.chosen = &chosen;
    s->summary.chosen_count = 1;
}

static void end_at(struct sample *s, double at)
{
    static char ended[32];
    snprintf(ended, sizeof ended, "%lld", 1700000000 * 1000000000LL + (long long)(at * 1e9));
    s->properties[2].value = ended;
}

/* The run started process 1, and it ended `at` s after the start. */
static void end_program(struct sample *s, int status, double at)
{
    s->programs[0] = (struct summary_program){.node = "studio",
                                              .pid = s->processes[1].pid,
                                              .state = LAUNCHED_ENDED,
                                              .status = status,
                                              .ran = sample_time(at) - s->processes[1].started};
    s->summary.program_count = 1;
}

/*
 * A process made its last record 5 s after the start, and ended 0.9 s later. Times between its records may be 100 ms,
 * and ten periods of 200 ms may be missed; or instants found the limit violated meanwhile, for so many s. It is the
 * same where only some records count, and that was the last of these.
 */
TEST(the_silence_of_a_killed_process_is_no_end_of_its_own)
{
    static const struct {
        enum experiment_metric_kind kind;
        int status;
        double bound, worst, taken_back, tolerance;
        bool held, brief; /* brief: window and adapt.every are 1 ms */
        double ended;     /* the run, which had it killed later */
        double earlier;   /* by how much what was taken back began before the last record */
    } cases[] = {{METRIC_MAX, SIGKILL, 100e6, 20e6, 0, 0, false, false, 10, 0},
                 {METRIC_MAX, SIGSEGV, 100e6, 20e6, 0, 0, false, false, 10, 0},
                 {METRIC_MAX, SIGTERM, 100e6, 20e6, 0, 0, true, false, 10, 0},
                 {METRIC_MAX, SIGINT, 100e6, 20e6, 0, 0, true, false, 10, 0},
                 {METRIC_MAX, 0, 100e6, 20e6, 0, 0, true, false, 10, 0},
                 {METRIC_MAX, 0x300, 100e6, 20e6, 0, 0, true, false, 10, 0},
                 {METRIC_MAX, SIGKILL, 950e6, 20e6, 0, 0, true, false, 10, 0},
                 {METRIC_MAX, SIGKILL, 100e6, 950e6, 0, 0, true, false, 10, 0},
                 {METRIC_MAX, SIGKILL, 100e6, 20e6, 0, 0.2, true, false, 10, 0},
                 {METRIC_MISSES, SIGKILL, 3, 1, 0, 0, false, false, 10, 0},
                 {METRIC_MISSES, SIGKILL, 4, 1, 0, 0, true, false, 10, 0},
                 {METRIC_MEAN, SIGKILL, 100e6, 20e6, 0, 0, true, false, 10, 0},
                 {METRIC_MEAN, SIGKILL, 100e6, 20e6, 0.8, 0, false, false, 10, 0},
                 {METRIC_MEAN, SIGKILL, 100e6, 20e6, 0.8, 0, true, false, 10, 1},
                 {METRIC_MEAN, SIGKILL, 100e6, 20e6, 0.8, 0, false, false, 10, 0.5},
                 {METRIC_MEAN, SIGKILL, 100e6, 20e6, 0, 0, false, true, 10, 0},
                 {METRIC_MEAN, SIGTERM, 100e6, 20e6, 0, 0, true, true, 10, 0},
                 {METRIC_MEAN, SIGKILL, 950e6, 20e6, 0, 0, true, true, 10, 0},
                 {METRIC_MAX, SIGKILL, 100e6, 20e6, 0, 0, true, false, 5.05, 0},
                 {METRIC_MAX, SIGKILL, 100e6, 20e6, 0, 0, false, false, 5.5, 0},
                 {METRIC_MEAN, SIGKILL, 100e6, 20e6, 0.8, 0, true, false, 5, 0},
                 {METRIC_MEAN, SIGKILL, 100e6, 20e6, 0.8, 0, false, false, 5.2, 0},
                 {METRIC_MEAN, SIGKILL, 100e6, 20e6, 0, 0, true, true, 5.05, 0}};
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; k++) {
        size_t i = k / 2;
        bool some = k % 2;
        struct sample s;
        make_silent(&s, cases[i].kind, cases[i].bound);
        s.limits[0].tolerance = cases[i].tolerance;
        s.metrics[0].where = some ? (char *)"number > 1" : NULL;
        if (cases[i].brief)
            s.metrics[0].window = s.experiment.adapt.every = CLOCK_MS;
        s.rows[0].worst = cases[i].worst;
        s.books[1][1].last_ns = sample_time(some ? 5.85 : 5);
        s.summary.chosen->last = some ? sample_time(5) : 0;
        end_program(&s, cases[i].status, 5.9);
        end_at(&s, cases[i].ended);
        struct history_violation violation = {.begin = sample_time(5 - cases[i].earlier),
                                              .end = sample_time(5 - cases[i].earlier + cases[i].taken_back)};
        s.summary.violations = &violation;
        s.summary.violation_count = cases[i].taken_back > 0;
        struct verdict *v = judge(&s, false);
        if (v->limits[0].is != (cases[i].held ? VERDICT_HELD : VERDICT_UNKNOWN) || v->rows[0].is != v->limits[0].is)
            fail_msg("case %zu: %s", k, verdict_name(v->limits[0].is));
        if (cases[i].held)
            assert_int_equal(v->limits[0].killed, 0);
        else
            assert_float_equal((double)v->limits[0].killed / 1e9, fmin(cases[i].ended, 5.9) - 5, 1e-3);
        verdict_free(v);
    }
}

/*
 * A process was killed 5.9 s after the start, and made records up to 5.85 s. The last one that meets the condition was
 * `at` (0: none did), and on its node another process made one at `other`. Times between these may be 100 ms.
 */
TEST(without_a_record_that_meets_the_condition_there_is_no_silence)
{
    static const struct {
        double at, other;
        bool unread, per_node;
        double killed; /* s */
    } cases[] = {{0, 0, false, false, 0},   {5, 0, false, false, 0.9}, {5, 0, true, false, 0.9},
                 {0, 5, false, false, 0},   {0, 5, false, true, 0.9},  {5, 5.88, false, true, 0},
                 {5, 5.2, false, true, 0.7}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        make_silent(&s, METRIC_MAX, 100e6);
        end_at(&s, 10);
        s.metrics[0].where = (char *)"number > 1";
        s.metrics[0].per_process = !cases[i].per_node;
        s.books[1][1].last_ns = sample_time(5.85);
        struct summary_chosen chosen[2] = {{.process = 1, .min = NAN, .max = NAN, .unread = cases[i].unread},
                                           {.process = 0, .min = NAN, .max = NAN}};
        chosen[0].last = cases[i].at > 0 ? sample_time(cases[i].at) : INT64_MIN;
        chosen[1].last = cases[i].other > 0 ? sample_time(cases[i].other) : INT64_MIN;
        s.summary.chosen = chosen;
        s.summary.chosen_count = 2;
        end_program(&s, SIGKILL, 5.9);
        struct verdict *v = judge(&s, false);
        const struct verdict_limit *l = &v->limits[0];
        if (l->is != (cases[i].killed > 0 ? VERDICT_UNKNOWN : VERDICT_HELD) || l->unread != cases[i].unread ||
            fabs((double)l->killed / 1e9 - cases[i].killed) > 1e-3)
            fail_msg("case %zu: %s, killed %.3f", i, verdict_name(l->is), (double)l->killed / 1e9);
        verdict_free(v);
    }
}

/*
 * A process made its last record 5 s after the start, of a run of 10 s. Its bezeld saw it `seen` and found its end
 * `at`. Of one that the run started, its launcher knows for how long it `ran`, from before its first record; 0: it did
 * not. That is counted from its launch.
 */
TEST(a_process_that_the_run_did_not_start_may_have_hung)
{
    enum { KILL = SIGKILL, TERM = SIGTERM };
    static const struct {
        int way;
        double at, seen, ran;
        int status;
        const char *by;
        double killed, perhaps, silent; /* s */
        double launch;                  /* s before it recorded; 0: not known */
    } cases[] = {{ENDING_UNKNOWN, 7, 6.9, 0, 0, "duration", 0, 1.9, 0, 0},
                 {ENDING_EXIT, 7, 6.9, 0, 0, "duration", 0, 0, 0, 0},
                 {ENDING_EXEC, 7, 6.9, 0, 0, "duration", 0, 0, 0, 0},
                 {ENDING_UNKNOWN, 7, 5.05, 0, 0, "duration", 0, 0, 0, 0}, /* for less than 100 ms for certain */
                 {ENDING_UNKNOWN, 7, 0, 0, 0, "duration", 0, 0, 0, 0},
                 {ENDING_UNKNOWN, 0, 0, 0, 0, "duration", 0, 0, 0, 0}, /* of a version that does not tell */
                 {ENDING_UNKNOWN, 11, 10.9, 0, 0, "duration", 0, 0, 5, 0},
                 {ENDING_UNKNOWN, 10.1, 9.9, 0, 0, "duration", 0, 0, 4.9, 0},
                 {ENDING_EXIT, 11, 10.9, 0, 0, "duration", 0, 0, 5, 0},
                 {ENDING_NONE, 11, 11, 0, 0, "duration", 0, 0, 5, 0},
                 {ENDING_NONE, 7, 7, 0, 0, "duration", 0, 0, 2, 0}, /* it was left then */
                 {ENDING_EXIT, 10.1, 9.9, 0, 0, "processes", 0, 0, 0, 0},
                 {ENDING_EXIT, 11, 10.9, 0, 0, "processes", 0, 0, 5, 0},
                 {ENDING_UNKNOWN, 10.1, 9.9, 0, 0, "processes", 0, 0, 4.9, 0},
                 {ENDING_UNKNOWN, 7, 6.9, 6.95, KILL, "duration", 1.95, 0, 0, 0},
                 {ENDING_UNKNOWN, 5.06, 5.05, 8, KILL, "duration", 0, 0, 0, 0}, /* its first record was 3 s late */
                 {ENDING_UNKNOWN, 7, 6.9, 9, KILL, "duration", 1.9, 0, 0, 0},
                 {ENDING_EXEC, 7, 6.9, 9, KILL, "duration", 0, 0, 0, 0},
                 {ENDING_EXIT, 5.5, 5.4, 11, 0, "duration", 0, 0, 0, 0},
                 {ENDING_UNKNOWN, 9, 5.05, 8, KILL, "duration", 3, 0, 0, 0}, /* likewise, and bezeld stood still */
                 {ENDING_UNKNOWN, 9, 5.05, 8, KILL, "duration", 0, 0, 0, 2.95},
                 {ENDING_UNKNOWN, 9, 5.05, 8, KILL, "duration", 1, 0, 0, 2},
                 {ENDING_UNKNOWN, 0, 0, 8, KILL, "duration", 1, 0, 0, 2},
                 {ENDING_EXIT, 10.5, 5.05, 11, 0, "duration", 0, 0, 0, 2},
                 {ENDING_EXEC, 7, 6.9, 9, KILL, "duration", 0, 0, 0, 3},
                 {ENDING_UNKNOWN, 7, 6.9, 6.95, TERM, "duration", 0, 0, 0, 0},
                 {ENDING_EXIT, 10.1, 9.9, 10.2, 0, "duration", 0, 0, 4.9, 0},
                 {ENDING_EXIT, 10.1, 9.9, 10.05, 0, "duration", 0, 0, 5, 0},
                 {ENDING_EXIT, 10.1, 9.9, 10.05, 0, "processes", 0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        make_silent(&s, METRIC_MAX, 100e6);
        end_at(&s, 10);
        s.properties[3].value = cases[i].by;
        s.processes[1].ending = (struct builtin_ending){.at = cases[i].at > 0 ? sample_time(cases[i].at) : 0,
                                                        .seen = cases[i].seen > 0 ? sample_time(cases[i].seen) : 0,
                                                        .way = cases[i].way};
        end_program(&s, cases[i].status, cases[i].ran);
        if (cases[i].launch > 0)
            s.programs[0].started = s.processes[1].started - (int64_t)(cases[i].launch * 1e9);
        s.summary.program_count = cases[i].ran > 0;
        struct verdict *v = judge(&s, false);
        const struct verdict_limit *l = &v->limits[0];
        bool held = cases[i].killed + cases[i].perhaps + cases[i].silent <= 0;
        if (l->is != (held ? VERDICT_HELD : VERDICT_UNKNOWN) ||
            fabs((double)l->killed / 1e9 - cases[i].killed) > 1e-3 ||
            fabs((double)l->perhaps / 1e9 - cases[i].perhaps) > 1e-3 ||
            fabs((double)l->silent / 1e9 - cases[i].silent) > 1e-3)
            fail_msg("case %zu: %s, killed %.3f, perhaps %.3f, silent %.3f", i, verdict_name(l->is),
                     (double)l->killed / 1e9, (double)l->perhaps / 1e9, (double)l->silent / 1e9);
        verdict_free(v);
    }
}

/*
 * While the run goes on, process 1 made its last record at 5 s, and the last that is known of its node is of 10 s; what
 * is known may be 3 s late. The mean time between its records may be 100 ms, in windows and instants of 1 ms, and was.
 */
TEST(a_process_that_hangs_is_silent_while_the_run_goes_on)
{
    static const struct {
        double last_at, bound, tolerance; /* s; of the node, of the limit */
        uint64_t under_way, off;          /* records that were attempted and not stored; that were only counted ... */
        double lost;                      /* ... known at; 0: no packet tells of them yet */
        double ended;                     /* its bezeld found that it had ended by exit(); 0: it is there */
        enum verdict_is is, now;
        double silent; /* s */
    } cases[] = {
        {10, 0.1, 0, 0, 0, 0, 0, VERDICT_UNKNOWN, VERDICT_UNKNOWN, 2},
        {8.2, 0.1, 0, 0, 0, 0, 0, VERDICT_UNKNOWN, VERDICT_UNKNOWN, 0.2},
        {8.05, 0.1, 0, 0, 0, 0, 0, VERDICT_HELD, VERDICT_HELD, 0},      /* it may not be known yet */
        {10, 2.1, 0, 0, 0, 0, 0, VERDICT_HELD, VERDICT_HELD, 0},        /* it records seldom */
        {10, 0.1, 0, 7, 0, 0, 0, VERDICT_HELD, VERDICT_HELD, 0},        /* its records are on their way */
        {10, 0.1, 0.5, 0, 0, 0, 0, VERDICT_HELD, VERDICT_UNKNOWN, 2},   /* the limit bears it, and it lasts */
        {10, 0.1, 0.5, 0, 7, 0, 0, VERDICT_HELD, VERDICT_HELD, 0},      /* its aspect is only counted */
        {10, 0.1, 0.5, 0, 7, 9, 0, VERDICT_HELD, VERDICT_HELD, 0},      /* likewise, and another one is not */
        {10, 0.1, 0.5, 0, 7, 4.9, 0, VERDICT_HELD, VERDICT_UNKNOWN, 2}, /* it was, before */
        {10, 0.1, 0, 0, 0, 0, 5.5, VERDICT_HELD, VERDICT_HELD, 0},
        {10, 0.1, 0, 0, 0, 9, 0, VERDICT_UNKNOWN, VERDICT_UNKNOWN, 2}, /* only another aspect is counted */
        {0, 0.1, 0, 0, 0, 0, 0, VERDICT_HELD, VERDICT_HELD, 0},        /* nothing is known of its node */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        make_silent(&s, METRIC_MEAN, cases[i].bound * 1e9);
        s.summary.property_count = 2; /* it has no end */
        s.summary.chosen_count = 0;
        s.metrics[0].window = s.experiment.adapt.every = CLOCK_MS;
        s.limits[0].tolerance = cases[i].tolerance;
        s.nodes[0].last_at = cases[i].last_at > 0 ? sample_time(cases[i].last_at) : 0;
        struct summary_process *p = &s.processes[1];
        struct summary_book *b = &s.books[1][1];
        p->state = PROCESS_RUNNING;
        b->off = cases[i].off;
        b->attempts = b->stored + b->off + cases[i].under_way;
        struct verdict_books all = verdict_process(&s.summary, p);
        p->discarded = all.full + all.window + all.spool + all.unfinished + all.reduced + all.reducer;
        p->discarded += cases[i].lost > 0 ? all.off : all.off - b->off;
        p->last_loss = cases[i].lost > 0 ? sample_time(cases[i].lost) : 0;
        if (cases[i].ended > 0)
            p->ending = (struct builtin_ending){.at = sample_time(cases[i].ended), .way = ENDING_EXIT};
        struct verdict *v = judge(&s, true);
        const struct verdict_limit *l = &v->limits[0];
        if (l->is != cases[i].is || v->rows[0].is != l->is || verdict_now(l, MESSAGE_LIMIT_HELD) != cases[i].now ||
            verdict_now(&v->rows[0], MESSAGE_LIMIT_HELD) != cases[i].now ||
            fabs((double)l->silent / 1e9 - cases[i].silent) > 1e-3 || l->mute != (cases[i].silent > 0 ? p : NULL))
            fail_msg("case %zu: %s, now %s, silent %.3f", i, verdict_name(l->is),
                     verdict_name(verdict_now(l, MESSAGE_LIMIT_HELD)), (double)l->silent / 1e9);
        verdict_free(v);
    }
}

/* It may be that records were not wanted: the sentence says both. Times of notes are 3, 3.5 and 4 s after the start. */
TEST(a_process_whose_aspect_was_only_counted_may_not_have_been_silent)
{
    static const struct {
        const char *codes[3], *texts[3];
        double since; /* s; 0: it was not, at the end */
    } cases[] = {{{NULL}, {NULL}, 0},
                 {{"BEZEL-PAUSED"}, {"paused"}, 3},
                 {{"BEZEL-PAUSED", "BEZEL-RESUMED"}, {"paused", "resumed"}, 0},
                 {{"BEZEL-PAUSED", "BEZEL-RESUMED", "BEZEL-PAUSED"}, {"paused", "resumed", "paused"}, 4},
                 {{"BEZEL-STEERED"}, {"change 1: aspects count: a* frame_*"}, 3},
                 {{"BEZEL-STEERED"}, {"change 1: aspects count: other"}, 0},
                 {{"BEZEL-STEERED", "BEZEL-STEERED"}, {"change 1: aspects count: *", "change 2: aspects count: *"}, 3},
                 {{"BEZEL-STEERED", "BEZEL-STEERED"}, {"change 1: aspects count: *", "change 2: aspects on: *"}, 0},
                 {{"BEZEL-STEERED", "BEZEL-PAUSED"}, {"change 1: aspects count: *", "paused"}, 3},
                 {{"BEZEL-STEERED", "BEZEL-RESUMED"}, {"change 1: aspects count: *", "resumed"}, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint32_t node = 0; node < 2; node++) {
            struct sample s;
            sample_held(&s);
            s.summary.note_count = 0;
            for (size_t n = 0; n < 3 && cases[i].codes[n]; n++)
                s.notes[s.summary.note_count++] = (struct summary_note){.node = s.processes[1].node + node,
                                                                        .name = "",
                                                                        .at = sample_time(3 + 0.5 * (double)n),
                                                                        .code = cases[i].codes[n],
                                                                        .text = cases[i].texts[n]};
            int64_t since = verdict_counted_since(&s.summary, &s.processes[1], "frame_shown");
            if (since != (cases[i].since > 0 && node == 0 ? sample_time(cases[i].since) : INT64_MAX))
                fail_msg("case %zu: %lld", i, (long long)since);
        }
}

/* A wait, long span or receiver of `s`, of the aspect of its metric, that began at 3 s and has no end. */
static struct open_sample {
    struct dict_aspect aspect;
    struct dict dict;
    struct builtin_open open;
    struct summary_chosen held; /* its records were read, and held the limit */
} open_sample;

static void add_open(struct sample *s, enum dict_kind kind, double at, int state)
{
    struct open_sample *is = &open_sample;
    is->aspect = (struct dict_aspect){.kind = kind, .name = s->metrics[0].aspect};
    is->dict = (struct dict){.aspect_count = 1, .aspects = &is->aspect};
    is->open = (struct builtin_open){.at = sample_time(at),
                                     .instance = (int64_t)s->processes[1].instance,
                                     .aspect = is->aspect.name,
                                     .since = sample_time(3),
                                     .state = state};
    is->held = (struct summary_chosen){.process = 1, .min = NAN, .max = NAN};
    for (size_t p = 0; p < s->summary.process_count; p++)
        for (size_t b = 0; b < s->processes[p].book_count && p != 1; b++)
            if (strcmp(s->processes[p].books[b].name, is->aspect.name) == 0) /* of one process alone */
                s->processes[p].books[b].attempts = s->processes[p].books[b].stored = 0;
    s->processes[1].dict = &is->dict;
    s->summary.open_spans = &is->open;
    s->summary.chosen = &is->held;
    s->summary.open_count = s->summary.chosen_count = 1;
}

/* Also where records of other threads came behind the latest that is known of it, or its process was seen to end later.
 */
TEST(a_wait_was_open_for_as_long_in_its_causes_as_by_the_verdict)
{
    for (int left = 0; left < 2; left++) {
        struct sample s;
        struct why_limits w = {0};
        sample_held(&s);
        s.processes[1].state = left ? PROCESS_ENDED : PROCESS_RUNNING;
        s.nodes[0].last_at = sample_time(6);
        add_open(&s, DICT_WAIT, left ? 7 : 5.5, left ? OPEN_LEFT : OPEN_NOW);
        assert_int_equal(report_why_open(&s.summary, &w), 0);
        const struct why_open *o = w.open;
        while (!o->span)
            o++;
        assert_int_equal(o->until - o->from, verdict_open_ns(&s.summary, &open_sample.open));
        assert_int_equal(o->until - o->from, (left ? 4 : 3) * CLOCK_S);
        free(w.open);
    }
}

/*
 * A wait began 3 s after the start of a run of 10 s, and its process ended `at`, or the latest that is known of it is
 * that it was open at 4.5 s. Waits may take `bound` s. All that ended took 6 ms.
 */
TEST(a_wait_that_never_ended_breaks_a_limit_on_its_duration)
{
    static const struct {
        enum experiment_metric_kind kind;
        enum experiment_limit_kind limit;
        const char *where, *field;
        enum dict_kind dict;
        int state;
        bool running;
        double at, bound, tolerance, persistence;
        enum verdict_is is;
        double open; /* s */
    } cases[] = {
        {METRIC_MAX, LIMIT_EXPECT, NULL, "duration", DICT_WAIT, OPEN_LEFT, false, 9.5, 1, 0, 0, VERDICT_VIOLATED, 6.5},
        {METRIC_MAX, LIMIT_EXPECT, NULL, "duration", DICT_SPAN, OPEN_LEFT, false, 9.5, 1, 0, 0, VERDICT_VIOLATED, 6.5},
        {METRIC_MAX, LIMIT_EXPECT, NULL, "duration", DICT_WAIT, OPEN_LEFT, false, 12, 6, 0, 0, VERDICT_UNKNOWN, 7},
        {METRIC_MAX, LIMIT_EXPECT, NULL, "duration", DICT_WAIT, OPEN_LEFT, false, 12, 8, 0, 0, VERDICT_HELD, 0},
        {METRIC_MAX, LIMIT_EXPECT, NULL, "duration", DICT_WAIT, OPEN_ENDED, false, 10.5, 1, 0, 0, VERDICT_VIOLATED, 7},
        {METRIC_MAX, LIMIT_EXPECT, NULL, "duration", DICT_WAIT, OPEN_NOW, false, 4.5, 1, 0, 0, VERDICT_VIOLATED, 6.9},
        {METRIC_MAX, LIMIT_EXPECT, NULL, "duration", DICT_WAIT, OPEN_NOW, true, 4.5, 1, 0, 0, VERDICT_VIOLATED, 6.9},
        {METRIC_MAX, LIMIT_EXPECT, NULL, "duration", DICT_WAIT, OPEN_LEFT, false, 9.5, 1, 0, 5, VERDICT_UNKNOWN, 6.5},
        {METRIC_MAX, LIMIT_EXPECT, NULL, "duration", DICT_WAIT, OPEN_LEFT, false, 9.5, 1, 0, 6, VERDICT_HELD, 0},
        {METRIC_MAX, LIMIT_EXPECT, NULL, "duration", DICT_WAIT, OPEN_LEFT, false, 9.5, 1, 0.1, 0, VERDICT_UNKNOWN, 6.5},
        {METRIC_MAX, LIMIT_EXPECT, NULL, "duration", DICT_WAIT, OPEN_LEFT, false, 9.5, 1, 0.7, 0, VERDICT_HELD, 0},
        {METRIC_MAX, LIMIT_EXPECT, "a > 1", "duration", DICT_WAIT, OPEN_LEFT, false, 9.5, 1, 0, 0, VERDICT_UNKNOWN,
         6.5},
        {METRIC_MAX, LIMIT_HOLD, NULL, "duration", DICT_WAIT, OPEN_LEFT, false, 9.5, 1, 0, 0, VERDICT_UNKNOWN, 6.5},
        {METRIC_MEAN, LIMIT_EXPECT, NULL, "duration", DICT_WAIT, OPEN_LEFT, false, 9.5, 1, 0, 0, VERDICT_UNKNOWN, 6.5},
        {METRIC_MAX, LIMIT_EXPECT, NULL, "waited", DICT_WAIT, OPEN_LEFT, false, 9.5, 1, 0, 0, VERDICT_HELD, 0},
        {METRIC_MAX, LIMIT_EXPECT, NULL, "duration", DICT_RECEIVED, OPEN_LEFT, false, 9.5, 1, 0, 0, VERDICT_HELD, 0},
        {METRIC_MAX, LIMIT_EXPECT, NULL, "waited", DICT_RECEIVED, OPEN_LEFT, false, 9.5, 1, 0, 0, VERDICT_VIOLATED,
         6.5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = s.summary.limit_count = 1;
        s.metrics[0].kind = cases[i].kind;
        s.metrics[0].field = (char *)cases[i].field;
        s.metrics[0].where = (char *)cases[i].where;
        s.limits[0] = (struct experiment_limit){.kind = cases[i].limit,
                                                .compare = COMPARE_AT_MOST,
                                                .bound = cases[i].bound * 1e9,
                                                .tolerance = cases[i].tolerance,
                                                .persistence = (int64_t)(cases[i].persistence * 1e9)};
        s.rows[0] = sample_row(0, 0, 9, 0);
        s.rows[0].worst = 6e6;
        if (cases[i].running)
            s.summary.property_count = 2;
        add_open(&s, cases[i].dict, cases[i].at, cases[i].state);
        struct verdict *v = judge(&s, cases[i].running);
        if (v->limits[0].is != cases[i].is || v->rows[0].is != cases[i].is)
            fail_msg("case %zu: %s", i, verdict_name(v->limits[0].is));
        bool lasts = cases[i].state == OPEN_NOW || cases[i].at > 10;
        if (verdict_now(&v->rows[0], MESSAGE_LIMIT_HELD) != (lasts ? cases[i].is : VERDICT_HELD) ||
            verdict_now(&v->limits[0], MESSAGE_LIMIT_VIOLATED) != VERDICT_VIOLATED)
            fail_msg("case %zu: now %s", i, verdict_name(verdict_now(&v->rows[0], MESSAGE_LIMIT_HELD)));
        assert_float_equal((double)v->limits[0].open_ns / 1e9, cases[i].open, 1e-6);
        assert_int_equal(v->rows[0].open_breaks, v->limits[0].is == VERDICT_VIOLATED);
        if (v->limits[0].is == VERDICT_VIOLATED)
            assert_true(v->rows[0].since == sample_time(3 + cases[i].bound) && isnan(v->rows[0].share));
        verdict_free(v);
    }
}

/* The same wait of 6.5 s made no record, so no condition on how long waits took has met one. All that ended held. */
TEST(a_wait_that_never_ended_may_meet_a_condition)
{
    static const struct {
        enum experiment_metric_kind kind;
        enum experiment_compare compare;
        const char *where;
        double bound, worst;
        bool holds;
    } cases[] = {
        {METRIC_PERCENT, COMPARE_AT_MOST, "duration > 1 s", 5, 0, false},
        {METRIC_PERCENT, COMPARE_AT_MOST, "duration > 8 s", 5, 0, true},
        {METRIC_PERCENT, COMPARE_AT_MOST, "duration < 1 s", 5, 0, true},
        {METRIC_PERCENT, COMPARE_AT_LEAST, "duration <= 1000000000", 99, 100, false},
        {METRIC_PERCENT, COMPARE_AT_LEAST, "duration > 1 s", 99, 100, true},
        {METRIC_PERCENT, COMPARE_AT_MOST, "a > 1", 5, 0, true},
        {METRIC_COUNT, COMPARE_AT_MOST, "duration >= 1 s", 0, 0, false},
        {METRIC_COUNT, COMPARE_AT_MOST, "duration >= 1 s", 1, 0, true}, /* it would be one */
        {METRIC_COUNT, COMPARE_AT_MOST, "duration >= 1 s", 1, 1, false},
        {METRIC_RATE, COMPARE_AT_MOST, "duration > 1 s", 0.5, 0, false},
        {METRIC_MAX, COMPARE_AT_MOST, "duration > 1 s", 5, 0, false}, /* of another field, which nobody knows */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = s.summary.limit_count = 1;
        s.metrics[0].kind = cases[i].kind;
        s.metrics[0].field = (char *)(cases[i].kind == METRIC_MAX ? "a" : NULL);
        s.metrics[0].where = (char *)cases[i].where;
        s.metrics[0].window = CLOCK_S;
        s.limits[0] =
            (struct experiment_limit){.kind = LIMIT_EXPECT, .compare = cases[i].compare, .bound = cases[i].bound};
        s.rows[0] = sample_row(0, 0, 9, 0);
        s.rows[0].worst = cases[i].worst;
        add_open(&s, DICT_WAIT, 9.5, OPEN_LEFT);
        struct verdict *v = judge(&s, false);
        if (v->limits[0].is != (cases[i].holds ? VERDICT_HELD : VERDICT_UNKNOWN))
            fail_msg("case %zu: %s", i, verdict_name(v->limits[0].is));
        assert_float_equal((double)v->limits[0].open_ns / 1e9, cases[i].holds ? 0 : 6.5, 1e-6);
        verdict_free(v);
        s.rows[0].held = 0; /* nor is its length a value of one that instants found violated */
        s.rows[0].violated = CLOCK_S;
        v = judge(&s, false);
        assert_int_equal(v->limits[0].is, VERDICT_VIOLATED);
        assert_false(v->rows[0].open_breaks);
        verdict_free(v);
    }
}

/* A thread that hangs in a wait makes no record, while others of its process go on: no instant finds them silent. */
TEST(a_thread_that_hangs_is_silent_though_its_process_is_not)
{
    for (int first = 2; first <= 4; first += 2) { /* s: when the first wait ended; this one began at 3 */
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = s.summary.limit_count = 1;
        s.metrics[0].kind = METRIC_MAX;
        s.metrics[0].arrivals = ARRIVALS_TIME;
        s.metrics[0].aspect = (char *)s.books[1][1].name;
        s.limits[0] = (struct experiment_limit){.kind = LIMIT_EXPECT, .compare = COMPARE_AT_MOST, .bound = 1e9};
        s.rows[0] = sample_row(0, 0, 9, 0);
        s.rows[0].worst = 6e6;
        add_open(&s, DICT_WAIT, 9.5, OPEN_LEFT);
        s.books[1][1].first_ns = sample_time(first);
        s.books[1][1].last_ns = sample_time(9.9);
        struct verdict *v = judge(&s, false);
        assert_int_equal(v->limits[0].is, first == 2 ? VERDICT_UNKNOWN : VERDICT_HELD);
        assert_float_equal((double)v->limits[0].open_ns / 1e9, first == 2 ? 6.5 : 0, 1e-6);
        verdict_free(v);
    }
}

/* It may wait in another aspect than that of the limit. Who did not record that one, or still does, does not hang. */
TEST(a_thread_that_hangs_elsewhere_is_silent_if_it_recorded_before)
{
    static const struct {
        enum experiment_metric_kind kind;
        double last, at, bound; /* s; the wait began at 3 s, the run ended at 10 */
        bool holds;
        bool running; /* it did not, and what is known of 9.5 s may be 3 s late */
    } cases[] = {{METRIC_MAX, 2.9, 9.5, 1, false, false},     {METRIC_MAX, 0, 9.5, 1, true, false},
                 {METRIC_MAX, 9.4, 9.5, 1, true, false},      {METRIC_MAX, 2.9, 9.5, 5.7, true, false},
                 {METRIC_MAX, 2.9, 12, 5.7, false, false},    {METRIC_MAX, 2.9, 12, 7.2, true, false},
                 {METRIC_MEAN, 2.9, 9.5, 1, false, false},    {METRIC_MEAN, 0, 9.5, 1, true, false},
                 {METRIC_MISSES, 2.9, 9.5, 20, false, false}, {METRIC_MISSES, 2.9, 9.5, 60, true, false},
                 {METRIC_MAX, 2.9, 9.5, 3.5, false, true},    {METRIC_MAX, 2.9, 9.5, 3.7, true, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = s.summary.limit_count = 1;
        s.metrics[0].kind = cases[i].kind;
        s.metrics[0].arrivals = cases[i].kind == METRIC_MISSES ? ARRIVALS_NONE : ARRIVALS_TIME;
        s.metrics[0].period = 100 * CLOCK_MS;
        s.metrics[0].window = 10 * CLOCK_S;
        s.metrics[0].aspect = (char *)s.books[1][1].name;
        s.limits[0] = (struct experiment_limit){.kind = LIMIT_EXPECT, .compare = COMPARE_AT_MOST};
        s.limits[0].bound = cases[i].kind == METRIC_MISSES ? cases[i].bound : cases[i].bound * 1e9;
        if (cases[i].kind == METRIC_MEAN)
            s.metrics[0].window = s.experiment.adapt.every = CLOCK_MS;
        s.rows[0] = sample_row(0, 0, 9, 0);
        s.rows[0].worst = cases[i].kind == METRIC_MISSES ? 0 : 6e6;
        add_open(&s, DICT_WAIT, cases[i].at, cases[i].running ? OPEN_NOW : OPEN_LEFT);
        s.nodes[0].last_at = cases[i].running ? sample_time(cases[i].at) : s.nodes[0].last_at;
        s.summary.property_count = cases[i].running ? 2 : s.summary.property_count;
        open_sample.open.aspect = "rest";
        s.books[1][1].last_ns = sample_time(9.9);
        struct summary_waiter waiter = {.last = cases[i].last > 0 ? sample_time(cases[i].last) : INT64_MIN};
        s.summary.waiters = &waiter;
        s.summary.waiter_count = 1;
        struct verdict *v = judge(&s, cases[i].running);
        if (v->limits[0].is != (cases[i].holds ? VERDICT_HELD : VERDICT_UNKNOWN) || v->rows[0].is != v->limits[0].is)
            fail_msg("case %zu: %s", i, verdict_name(v->limits[0].is));
        assert_true((v->limits[0].open == NULL) == cases[i].holds);
        assert_true(!cases[i].running || v->rows[0].lasts == v->limits[0].is);
        verdict_free(v);
    }
}
