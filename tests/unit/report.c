// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/report/report.h"
#include "base/file.h"
#include "base/table.h"
#include "run/rundb/rundb.h"
#include "tests/lib/test.h"
#include "tests/lib/written_report.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static bool running; /* of those without an end: somebody runs them */

static const char *directory = REPORT_DIRECTORY;

static char *written(const struct sample *s, report_writer *write, bool all)
{
    return report_written(s, directory, write, running, all);
}

/* Compares with tests/golden/report/NAME; BEZEL_GOLDEN_UPDATE=1 in the environment writes it anew instead. */
static void assert_golden(const char *name, const char *text)
{
    char path[PATH_MAX], *expected;
    size_t n;
    snprintf(path, sizeof path, BEZEL_SOURCE_DIR "/tests/golden/report/%s", name);
    if (getenv("BEZEL_GOLDEN_UPDATE"))
        assert_int_equal(file_replace(path, text, strlen(text)), 0);
    assert_int_equal(file_read(path, 1 << 20, &expected, &n), 0);
    assert_string_equal(text, expected);
    free(expected);
}

static void check_golden(const struct sample *s, report_writer *write, bool all, const char *name)
{
    char *text = written(s, write, all);
    assert_golden(name, text);
    free(text);
}

TEST(a_run_that_held_reads_as_recorded)
{
    struct sample s;
    sample_held(&s);
    check_golden(&s, report_text, false, "held.txt");
    check_golden(&s, report_text, true, "held-all.txt");
    check_golden(&s, report_json, false, "held.json");
}

TEST(a_troubled_run_reads_as_recorded)
{
    struct sample s;
    sample_troubled(&s);
    check_golden(&s, report_text, false, "troubled.txt");
    check_golden(&s, report_text, true, "troubled-all.txt");
    check_golden(&s, report_json, false, "troubled.json");
}

TEST(values_of_spans_counters_and_gauges_read_as_recorded)
{
    struct sample s;
    sample_kinds_held(&s);
    s.labels[0] = (struct label_statistics){
        .process = 1, .aspect = 1, .name = "type", .labels = "key|delta", .records = 300, .counts = {120, 170}};
    s.counters[0] = (struct counter_statistics){
        .node = "studio",
        .aspect = "node_network",
        .of = "eth0",
        .pid = -1,
        .first_ns = sample_time(1),
        .last_ns = sample_time(9),
        .samples = 9,
        .field_count = 4,
        .fields = {{"received", "B", 123456, 40000, true}, {"sent", "B", 0, 0, true}, {"errors", "1", 0, NAN, false}}};
    s.counters[1] = s.counters[0];
    s.counters[1].pid = 4711;
    s.label_count = 1;
    s.counter_count = 2;
    check_golden(&s, report_text, false, "kinds.txt");
    check_golden(&s, report_text, true, "kinds-all.txt");
    check_golden(&s, report_json, false, "kinds.json");
}

TEST(flight_recorders_show_what_they_overwrote)
{
    struct sample s;
    sample_held(&s);
    sample_recorder(&s, 1);
    check_golden(&s, report_text, false, "recorder.txt");
    check_golden(&s, report_text, true, "recorder-all.txt");
    check_golden(&s, report_json, false, "recorder.json");
}

/* It is another one for processes that are started than for those that are attached to. */
TEST(the_remedy_of_a_full_ring_is_named)
{
    struct sample s;
    sample_full_rings(&s, false);
    s.experiment.adapt.policy = POLICY_NONE;
    char *text = written(&s, report_text, false);
    assert_non_null(strstr(text, "  Ring full: 42,480 records of client.2 (4713) and 1 more process were lost.\n"
                                 "    Make sensing.ring.records larger than 4096, or poll more often "
                                 "(sensing.poll.period).\n"));
    assert_null(strstr(text, "BEZEL_RING_RECORDS"));
    free(text);
    sample_full_rings(&s, true);
    check_golden(&s, report_text, false, "full.txt");
    check_golden(&s, report_text, true, "full-all.txt");
    check_golden(&s, report_json, false, "full.json");
    text = written(&s, report_text, false);
    assert_non_null(strstr(text, " produced 2892 records a second on average"));
    free(text);
    s.processes[2].last_loss = sample_time(20); /* it went on for as long again, and all of that was lost */
    text = written(&s, report_text, false);
    assert_non_null(strstr(text, " produced 14"));
    free(text);
    s.experiment.sensing.mode = POLL_BUSY_WAIT;
    text = written(&s, report_text, false);
    assert_null(strstr(text, "poll more often"));
    free(text);
}

/* Where the notes say that threads found no ring; records without a ring have other causes, too. */
TEST(the_remedy_of_too_few_rings_is_named)
{
    struct sample s;
    sample_full_rings(&s, false);
    s.experiment.sensing.ring_threads = 200;
    for (size_t i = 1; i < 3; i++) {
        s.books[i][1].no_ring = s.books[i][1].full;
        s.books[i][1].full = 0;
        s.notes[i - 1] = (struct summary_note){.node = s.processes[i].node,
                                               .instance = s.processes[i].instance,
                                               .name = s.processes[i].name,
                                               .code = i == 1 ? "BEZEL-RINGS-TAKEN" : "BEZEL-RING-NO-MEMORY",
                                               .text = "why"};
    }
    s.notes[2] = (struct summary_note){.node = s.processes[1].node, .name = "", .code = "BEZEL-NOTES-MORE", .text = ""};
    s.summary.notes = s.notes;
    s.summary.note_count = 3;
    char *text = written(&s, report_text, false);
    assert_non_null(strstr(text, "  More threads than rings: 14,160 records of client.1 (4712) were lost.\n"
                                 "    Make sensing.ring.threads larger than 200, up to 1024.\n"));
    assert_null(strstr(text, "BEZEL_RING_THREADS"));
    free(text);
    s.notes[1].instance = 77; /* of the second process no note had room */
    text = written(&s, report_text, false);
    assert_non_null(strstr(text, "and 1 more process were lost"));
    free(text);
    s.notes[1].instance = s.processes[2].instance;
    s.experiment.sensing.ring_threads = EXPERIMENT_RING_THREADS_MAX;
    text = written(&s, report_json, false);
    assert_non_null(strstr(text, "\"cause\": \"no_ring\""));
    assert_non_null(strstr(text, "Let fewer threads record at once: a process has at most 1024 rings."));
    free(text);
    s.notes[1].code = "BEZEL-RINGS-TAKEN";
    s.experiment.processes[0].attach = s.experiment.processes[1].attach = (char *)"client*";
    text = written(&s, report_text, false);
    assert_non_null(strstr(text, "42,480 records of client.2 (4713) and 1 more process were lost.\n    Start attached "
                                 "processes with a larger BEZEL_RING_THREADS (128 if unset, at most 1024).\n"));
    free(text);
}

TEST(a_trace_of_more_streams_than_can_be_opened_is_merged)
{
    struct sample s;
    static struct summary_stream many[1019];
    sample_held(&s);
    s.processes[0].streams = many;
    s.processes[0].stream_count = 1018;
    char *text = written(&s, report_text, false);
    assert_non_null(strstr(text, "Every record:  babeltrace2 "));
    assert_null(strstr(text, "merge"));
    free(text);
    s.processes[0].stream_count++;
    text = written(&s, report_text, false);
    assert_non_null(strstr(text, "Every record:  bezel export --merge "));
    assert_non_null(strstr(text, " | xargs babeltrace2\n  The trace has 1,019 streams, each a file"));
    assert_null(strstr(text, "  babeltrace2 "));
    free(text);
}

TEST(a_trace_with_more_than_the_books_says_how_it_is_counted)
{
    struct sample s;
    sample_troubled(&s);
    s.summary.behind = true;
    char *text = written(&s, report_text, false);
    assert_non_null(strstr(text, "to have the rest counted (bezel-collector --run runs/20231114-221320-video).\n"));
    free(text);
}

/* A limit breaks on two nodes, again and again on one; a snapshot is taken on both, and one by hand; a node is off. */
TEST(the_timeline_is_in_order)
{
    enum { COLUMNS = 800 };
    static struct history_column columns[3][COLUMNS];
    struct sample s;
    sample_troubled(&s);
    for (int i = 0; i < COLUMNS; i++) {
        int64_t at = sample_time(10.0 * i / COLUMNS);
        bool broken = (i >= 160 && i < 240) || (i >= 400 && i % 80 < 40);
        columns[0][i] = (struct history_column){at, 1, i >= 40, 30, 30, broken ? 24 : 29.5, false};
        columns[1][i / 4] = i % 4 == 0 ? (struct history_column){at, 2, 2, 28, 31, 30, false} : columns[1][i / 4];
        columns[2][i] = (struct history_column){at, 1, 1, 4, i == 300 ? 400 : 4, i == 300 ? 400 : 4, false};
    }
    struct history_series series[3] = {{.node = 0, .limit = 0}, {.node = 1, .limit = 0}, {.node = 0, .limit = 1}};
    for (size_t i = 0; i < 3; i++)
        series[i].columns =
            (struct history_columns){.width = 20, .count = i == 1 ? COLUMNS / 4 : COLUMNS, .list = columns[i]};
    struct history_violation violations[] = {{0, 0, sample_time(2), sample_time(3), false, 24, 28},
                                             {1, 0, sample_time(2.2), sample_time(2.3), false, 28, 28},
                                             {0, 1, sample_time(3.75), sample_time(3.85), false, 400, 400},
                                             {1, 0, sample_time(5), sample_time(5.5), false, 23, 24},
                                             {1, 0, sample_time(6), sample_time(6.5), false, 22, 24},
                                             {1, 0, sample_time(7), sample_time(10), true, 25, 26}};
    struct builtin_snapshot snapshots[] = {
        {0, 0, "studio", 1, 0, 24, sample_time(2) - 5000, 2 * CLOCK_S, 1256, 2, sample_time(1.5), sample_time(3.9), 1},
        {1, 0, "studio", 1, 0, 24, sample_time(2), 2 * CLOCK_S, 0, 1, 0, 0, 0},
        {1, 0, "", 0, -1, NAN, sample_time(8), 0, 64, 1, sample_time(7.5), sample_time(7.9), 1}};
    s.summary.series = series;
    s.summary.series_count = 3;
    s.summary.violations = violations;
    s.summary.violation_count = 6;
    s.summary.snapshots = snapshots;
    s.summary.snapshot_count = 3;
    s.properties[s.summary.property_count - 1] = (struct summary_property){RUNDB_SNAPSHOTS_REFUSED, "7"};
    check_golden(&s, report_text, false, "timeline.txt");
    check_golden(&s, report_json, false, "timeline.json");
    struct builtin_conclusion conclusions[] = {
        {0, sample_time(2.5), .what = CONCLUSION_INFEASIBLE, .holds = true, .limit = -1, .needed = 12.5, .budget = 10},
        {0, sample_time(2.6), .what = CONCLUSION_LOAD_SHEDDING, .holds = true, .limit = -1, .floor = 2},
        {0, sample_time(2.7), .what = CONCLUSION_VIOLATED, .holds = true}, /* as the violation says */
        {0, sample_time(4.5), .what = CONCLUSION_INFEASIBLE, .limit = -1}};
    struct builtin_knob knobs[] = {
        {0, sample_time(2.8), .process = "server", .knob = "quality", .unit = "%", .cause = SET_BY_MANAGER,
         .before = 80, .after = 60, .value = 24},
        {1, sample_time(9), .process = "cli\033[2J", .knob = "rate", .unit = "", .before = 3, .after = 4, .limit = -1}};
    s.summary.conclusions = conclusions;
    s.summary.conclusion_count = 4;
    s.summary.knobs = knobs;
    s.summary.knob_count = 2;
    struct builtin_setpoints setpoints[] = {{0, 0, 7, 100, 1, 2, 3, 4, 5, 6}};
    s.summary.setpoints = setpoints;
    s.summary.setpoints_count = 1;
    struct history_gap gaps[] = {{.limit = 1, .begin = sample_time(4), .end = sample_time(4.4), .why = "lost"},
                                 {.limit = 1,
                                  .begin = sample_time(4.6),
                                  .end = sample_time(4.9),
                                  .judged = true,
                                  .held = CLOCK_S / 5,
                                  .violated = CLOCK_S / 20,
                                  .unknown = CLOCK_S / 20}};
    s.summary.gaps = gaps;
    s.summary.gap_count = 2;
    check_golden(&s, report_text, true, "timeline-all.txt");
    check_golden(&s, report_json, false, "timeline-all.json");
}

TEST(it_says_where_babeltrace2_comes_from)
{
    struct sample s;
    struct verdict *v;
    sample_held(&s);
    assert_int_equal(verdict_new(&s.summary, &s.experiment, running, &v), 0);
    struct report r = {.run = REPORT_DIRECTORY,
                       .summary = &s.summary,
                       .experiment = &s.experiment,
                       .verdict = v,
                       .no_babeltrace = true};
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    report_text(&r, out);
    fclose(out);
    assert_non_null(strstr(text, "/trace\n  babeltrace2 is not installed here; on Debian: apt install babeltrace2\n"));
    free(text);
    verdict_free(v);
}

TEST(notes_beyond_the_first_24_are_counted_and_shown_with_all)
{
    static struct summary_note notes[30];
    static char texts[27][16];
    struct sample s;
    sample_full_rings(&s, false);
    for (size_t i = 0; i < 30; i++) {
        size_t n = i < 27 ? i : i - 27;
        snprintf(texts[n], sizeof texts[n], "note %02zu.", n);
        notes[i] = (struct summary_note){0, 31 + i, 4712, sample_time(1), "client.1", "BEZEL-UNREAD", texts[n]};
    }
    s.summary.notes = notes;
    for (size_t count = 24; count <= 30; count++) {
        char line[64], *text, *all;
        s.summary.note_count = count;
        text = written(&s, report_text, false);
        all = written(&s, report_text, true);
        size_t distinct = count < 27 ? count : 27;
        snprintf(line, sizeof line, "  %zu more\n", distinct - 23);
        assert_int_equal(strstr(text, line) != NULL, distinct > 24);
        assert_int_equal(strstr(text, " more\n") != NULL, distinct > 24);
        assert_null(strstr(all, " more\n"));
        assert_non_null(strstr(text, "note 22."));
        assert_int_equal(strstr(text, "note 23.") != NULL, distinct == 24);
        assert_int_equal(strstr(all, "note 26.") != NULL, distinct == 27);
        assert_int_equal(strstr(text, "client.1 (4712) and 1 more") != NULL, count > 27);
        free(text);
        free(all);
    }
    notes[29].code = "BEZEL-CLOCK-GAP"; /* for which the verdict is not green */
    char *text = written(&s, report_text, false);
    assert_non_null(strstr(text, "\nNotes\n  client.1 (4712)             BEZEL-CLOCK-GAP  note 02.\n"));
    free(text);
}

TEST(a_run_that_was_aborted_says_so)
{
    struct sample s;
    sample_troubled(&s);
    s.summary.property_count = 2;
    check_golden(&s, report_text, false, "aborted.txt");
    check_golden(&s, report_text, true, "aborted-all.txt");
}

/* It was stored, and let go by the operator's wish: that is neither a loss nor a doubt. */
TEST(what_expired_from_the_store_is_stored_and_said)
{
    struct sample s;
    struct summary_stream streams[] = {{0, 300, false, {12, 290, 9000}}};
    sample_held(&s);
    s.processes[1].streams = streams;
    s.processes[1].stream_count = 1;
    s.processes[1].expired = streams[0].expired;
    char *text = written(&s, report_text, true);
    assert_non_null(strstr(text, "stored, none lost, 290 of them expired from the store since.\n"));
    assert_non_null(strstr(text, "  In the trace: 2,118 records, and "));
    assert_non_null(strstr(text, "the oldest first: 290 records in 12 packets of 8.79 KiB, and 0 in 0 of\n"));
    free(text);
    text = written(&s, report_json, false);
    assert_non_null(strstr(text, "\"packets\": 12"));
    free(text);
}

TEST(unknown_records_are_shown_with_the_ordinal_after_which)
{
    struct sample s;
    struct summary_stream streams[] = {{0, 300, true, {0}}, {1, 302, false, {0}}, {7, 0, true, {0}}};
    sample_held(&s);
    s.nodes[0].open = true;
    s.processes[1].streams = streams;
    s.processes[1].stream_count = 3;
    s.processes[2].state = s.processes[3].state = PROCESS_RUNNING;
    s.processes[2].streams = &streams[1];
    s.processes[2].stream_count = 1;
    s.books[1][0].attempts += 12;
    s.books[1][0].window = 5;
    s.books[1][0].spool = 7;
    check_golden(&s, report_text, false, "vanished.txt");
    check_golden(&s, report_text, true, "vanished-all.txt");
    check_golden(&s, report_json, false, "vanished.json");
}

TEST(processes_that_were_not_observed_are_shown_with_their_node_or_parent)
{
    struct sample s;
    sample_held(&s);
    s.nodes[0].unobserved = 1;
    s.processes[1].unobserved = 2;
    s.processes[2].unobserved = 1;
    check_golden(&s, report_text, false, "unobserved.txt");
    check_golden(&s, report_text, true, "unobserved-all.txt");
    check_golden(&s, report_json, false, "unobserved.json");
    s.nodes[0].open = true; /* it vanished besides */
    char *text = written(&s, report_sentence, false);
    assert_non_null(strstr(text, ", none counted as lost, but 1 node vanished, and 4 processes were not observed: "
                                 "their records are unknown."));
    free(text);
}

TEST(where_no_process_was_observed_the_books_say_how_many_were_not)
{
    struct sample s;
    sample_held(&s);
    s.nodes[0].unobserved = 1;
    s.summary.process_count = 0;
    char *text = written(&s, report_text, false);
    assert_non_null(strstr(text, "no process recorded anything, but 1 process was not observed: its records are "
                                 "unknown."));
    assert_non_null(strstr(text, "  Not observed: 1 process recorded without a segment that could be read. The records "
                                 "of this process are unknown:\n    1 process counted at node studio\n"));
    free(text);
}

static void check_sentence(const struct sample *s, const char *expected)
{
    char *text = written(s, report_sentence, false);
    if (!strstr(text, expected))
        fail_msg("%s\ndoes not say: %s", text, expected);
    free(text);
}

TEST(a_node_without_programs_is_not_why_a_limit_of_kind_hold_was_not_judged)
{
    for (int empty = 0; empty < 2; empty++) {
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = 1;
        s.limits[0].kind = LIMIT_HOLD;
        s.nodes[1] = s.nodes[0];
        s.summary.node_count = 2;
        for (int i = 0; i < 2; i++)
            s.rows[i] = (struct builtin_limit){.node = i,
                                               .at = sample_time(9),
                                               .worst = NAN,
                                               .settling = i == empty ? 0 : CLOCK_S / 2,
                                               .unknown = i == empty ? CLOCK_S : CLOCK_S / 10};
        check_sentence(&s, ": fps >= 29 could not be judged: a limit of kind hold is judged after adaptation has had ");
    }
}

TEST(what_a_verdict_hides_is_in_its_sentence)
{
    struct sample s;
    sample_held(&s);
    check_sentence(&s,
                   ": both limits held; sensor_cpu <= 10 % was violated for 20.0 ms in all, within its tolerance of "
                   "1 %; 2,408 records");
    s.summary.limit_count = s.experiment.limit_count = 1;
    check_sentence(&s, ": its limit held, 2,408 records");
    s.limits[0].kind = LIMIT_EXPECT;
    struct history_violation silence = {.begin = sample_time(8), .end = sample_time(9.5)};
    s.summary.violations = &silence;
    s.summary.violation_count = 1;
    check_sentence(&s,
                   ": its limit held, violated for 1.50 s before a process ended, which does not count; 2,408 records");
    s.summary.violation_count = 0;
    s.limits[0].kind = LIMIT_HOLD;
    s.limits[0].tolerance = 0.05;
    s.rows[0].violated = CLOCK_S / 8;
    check_sentence(&s, ": its limit held, violated for 125 ms in all, within its tolerance of 5 %; 2,408 records");
    s.rows[0].unknown = s.rows[0].unjudged = CLOCK_MS;
    check_sentence(&s, "within its tolerance of 5 %, and not judged for 1.00 ms; 2,408 records");
    s.rows[0].unknown = s.rows[0].unjudged = 5 * CLOCK_S;
    check_sentence(&s, ": fps >= 29 could not be judged for 5.00 s of 12.6 s, and was violated 1.64 % of the 7.62 s "
                       "that were judged; ");
    s.rows[0].violated = 20 * CLOCK_S;
    check_sentence(&s, ": fps >= 29 was violated 72.7 % of the time, and not judged for 5.00 s; ");
    s.rows[0].held = s.rows[0].violated = s.rows[0].settling = 0;
    check_sentence(&s, ": fps >= 29 could not be judged for 5.00 s of 5.00 s; ");
    s.rows[0].unknown = 60 * CLOCK_S; /* most of the time it had no value: that is no time in which it was judged */
    s.rows[0].worst = NAN;
    check_sentence(&s, ": fps >= 29 could not be judged: its metric had no value at any time in 5.00 s, and it was not "
                       "judged for 5.00 s more; ");
    s.rows[0].worst = s.rows[0].unjudged = 0;
    check_sentence(&s, ": fps >= 29 could not be judged: its metric had a value only right before a process ended");
    s.metrics[0].aspect = (char *)s.books[1][1].name;
    s.metrics[0].window = 1000 * CLOCK_S;
    check_sentence(&s, ": fps >= 29 could not be judged: no process recorded frame_shown for so long as its metric's "
                       "window, 16 min 40 s; ");
    s.metrics[0].window = CLOCK_S;
    struct history_violation early = {0, 0, sample_time(1), sample_time(1.5), false, 24, 28};
    s.summary.violations = &early;
    s.summary.violation_count = 1;
    s.rows[0] = sample_row(0, 0, 9, 0.25);
    char *text = written(&s, report_text, false);
    assert_non_null(strstr(text, "  fps >= 29 on studio: 250 ms of the violations in the timeline do not count, "));
    free(text);
    s.rows[0].violated = CLOCK_S * 3 / 10;
    text = written(&s, report_text, false);
    assert_null(strstr(text, "do not count"));
    free(text);
    s.rows[0] = sample_row(0, 0, 0.7, 0);
    s.rows[0].unknown = 6300 * CLOCK_MS;
    check_sentence(&s, ": its limit held, judged for only 700 ms of 9.00 s; ");
    s.rows[0] = sample_row(0, 0, 9, 0);
    s.experiment.adapt.every = 400 * CLOCK_MS, s.metrics[0].window = 100 * CLOCK_MS;
    check_sentence(&s, ": fps >= 29 could not be judged: its values are of 400 ms each (adapt.every), longer than its "
                       "window; ");
    s.metrics[0].kind = METRIC_MEAN;
    check_sentence(&s, ": its limit held, judged only in 100 ms of each 400 ms, its window; ");
    s.rows[0].violated = 2 * CLOCK_S;
    check_sentence(&s, ": fps >= 29 was violated 18.2 % of the time, and judged only in 100 ms of each 400 ms, its");
    s.rows[0].violated = 0;
    s.summary.gaps = &(struct history_gap){.sparse = true, .judged = true}; /* all of it, from the records */
    s.summary.gap_count = 1;
    check_sentence(&s, ": its limit held, 2,408 records");
    s.summary.gap_count = 0;
    s.metrics[0].kind = METRIC_INTERVAL, s.metrics[0].interval.statistic = METRIC_MEAN;
    check_sentence(&s, ": its limit held, judged only in 100 ms of each 400 ms, its window; ");
    s.metrics[0].interval.statistic = METRIC_MIN; /* a record that is less by itself is found */
    check_sentence(&s, ": its limit held, 2,408 records");
}

/* What processes of a node made together is not known if each began when the one before had ended. */
TEST(why_a_limit_over_followers_was_not_judged_is_said)
{
    for (int follows = 0; follows < 2; follows++) {
        struct sample s;
        sample_held(&s);
        s.rows[0].unknown = s.rows[0].unjudged = CLOCK_S;
        s.metrics[0].aspect = (char *)s.books[1][1].name;
        s.metrics[0].per_process = false;
        s.processes[2] = s.processes[1];
        struct summary_book later = s.books[1][1];
        s.processes[2].books = &later;
        s.processes[2].book_count = 1;
        later.first_ns = s.books[1][1].last_ns + (follows ? 1 : 0);
        later.last_ns = later.first_ns + CLOCK_S;
        s.rows[0].node = s.processes[1].node;
        struct history_gap gaps[] = {{.begin = later.first_ns - 5 * CLOCK_S, .end = later.first_ns - 2 * CLOCK_S},
                                     {.begin = later.first_ns, .end = later.first_ns + CLOCK_S}};
        s.summary.gaps = gaps;
        s.summary.gap_count = 2;
        char *text = written(&s, report_text, true);
        assert_int_equal(strstr(text, "not judged for 1.00 s: a process began when the one") != NULL, follows);
        assert_non_null(strstr(text, "not judged for 3.00 s: bezeld was stopped"));
        assert_int_equal(strstr(text, "a process began when the one before had ended") != NULL, follows);
        free(text);
    }
}

TEST(what_was_recorded_behind_a_jump_of_a_clock_is_not_known)
{
    struct sample s;
    sample_held(&s);
    s.notes[0] = (struct summary_note){.at = sample_time(1), .name = "", .code = "BEZEL-CLOCK-JUMPED", .text = ""};
    s.notes[1] = (struct summary_note){.at = sample_time(2), .name = "", .code = "BEZEL-CLOCK-GAP", .text = ""};
    s.summary.note_count = 1;
    check_sentence(&s, ", none lost.");
    s.summary.note_count = 2;
    check_sentence(&s,
                   ", none counted as lost, but records are unknown of a time in which a node did not observe, after a "
                   "jump of its clock (the notes say how long it was).");
}

/* Its times are since it began, and no other start is told of. */
TEST(a_run_of_which_no_program_was_started_says_so)
{
    struct sample s;
    sample_held(&s);
    s.properties[1].key = RUNDB_BEGUN;
    s.summary.property_count = 2;
    char *text = report_written(&s, REPORT_DIRECTORY, report_text, true, false);
    assert_non_null(strstr(text, " is starting, and no program has been started yet; so far: "));
    assert_null(strstr(text, "\nStarted "));
    free(text);
    text = written(&s, report_text, false);
    assert_non_null(strstr(text, ", before a program was started; later events are unknown; until then: "));
    assert_non_null(strstr(text, "\nNo program was started; the run began 2023-11-14 22:13:20.000 UTC;"));
    free(text);
    text = written(&s, report_json, false);
    assert_non_null(strstr(text, "\"started\": null"));
    free(text);
}

TEST(losses_of_an_aborted_run_are_unknown)
{
    struct sample s;
    sample_held(&s);
    s.summary.property_count = 2;
    char *text = written(&s, report_sentence, false);
    assert_non_null(strstr(text, ", none counted as lost."));
    free(text);
    struct experiment_node node = {.name = (char *)"studio", .address = (char *)"tcp://studio:7000"};
    s.experiment.nodes = &node;
    s.experiment.node_count = 1;
    text = written(&s, report_opening, false);
    assert_non_null(strstr(text, "'bezel attach' takes the run over.\n"));
    free(text);
    node.address = NULL;
    text = written(&s, report_opening, false);
    assert_null(strstr(text, "takes the run over"));
    free(text);
}

TEST(a_run_that_goes_on_calls_its_rest_in_flight)
{
    struct sample s;
    sample_held(&s);
    s.summary.property_count = 2;
    s.nodes[0].last_at = sample_time(60);
    s.books[0][0].attempts += 1234;
    s.summary.limit_count = 1;
    running = true;
    char *text = written(&s, report_text, true);
    running = false;
    assert_non_null(strstr(text, "has been running for 1 min 00 s; so far: "));
    assert_null(strstr(text, "none lost")); /* the latest books are up to a second old */
    assert_non_null(strstr(text, "sensor_cpu <= 10 % is not judged yet; the other limit held; "));
    assert_non_null(strstr(text, "In flight, or not yet counted: 1,234.\n"));
    assert_null(strstr(text, "balance"));
    assert_non_null(strstr(text, "bezel export runs/20231114-221320-video | xargs babeltrace2\n"));
    free(text);
}

struct said {
    enum verdict_is limits[3];
    size_t limit_count;
    const char *sentence;
};

#define SAID(n, text, ...)                                                                                             \
    {                                                                                                                  \
        {__VA_ARGS__}, n, "video-conference ran 10.0 s: " text "2,408 records of 4 processes stored, none lost."       \
    }

static const struct said said[] = {
    SAID(0, "", 0),
    SAID(1, "its limit held, ", VERDICT_HELD),
    SAID(2, "both limits held, ", VERDICT_HELD, VERDICT_HELD),
    SAID(3, "all 3 limits held, ", VERDICT_HELD, VERDICT_HELD, VERDICT_HELD),
    SAID(2, "sensor_cpu <= 10 % was violated 12 % of the time; the other limit held; ", VERDICT_HELD, VERDICT_VIOLATED),
    SAID(3,
         "fps >= 29 could not be judged: a limit of kind hold is judged after adaptation has had 2.00 s to settle, and "
         "the run ended before that; the other 2 limits held; ",
         VERDICT_UNKNOWN, VERDICT_HELD, VERDICT_HELD),
    SAID(2,
         "sensor_cpu <= 10 % was violated 12 % of the time; fps >= 29 could not be judged: a limit of kind hold is "
         "judged "
         "after adaptation has had 2.00 s to settle, and the run ended before that; ",
         VERDICT_UNKNOWN, VERDICT_VIOLATED),
    SAID(1, "fps >= 29 cannot hold: violated 12 % of the time, also while collection was off; ", VERDICT_INFEASIBLE),
};

/* The sentence depends on the verdict alone: a verdict made by hand is printed as it is. */
TEST(the_sentence_names_what_did_not_hold)
{
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        struct sample s;
        sample_held(&s);
        s.experiment.limit_count = 3;
        struct verdict *v;
        assert_int_equal(verdict_new(&s.summary, &s.experiment, false, &v), 0);
        v->limit_count = said[i].limit_count;
        for (size_t l = 0; l < v->limit_count; l++)
            v->limits[l] = (struct verdict_limit){.is = said[i].limits[l], .share = 0.12};
        struct report r = {.run = "run", .summary = &s.summary, .experiment = &s.experiment, .verdict = v};
        char *text;
        size_t n;
        FILE *out = open_memstream(&text, &n);
        report_sentence(&r, out);
        fclose(out);
        assert_string_equal(text, said[i].sentence);
        free(text);
        verdict_free(v);
    }
}

TEST(a_limit_that_several_nodes_violated_is_shown_with_their_number)
{
    struct sample s;
    sample_troubled(&s);
    s.rows[2].violated = s.rows[2].held;
    char *text = written(&s, report_sentence, false);
    assert_non_null(strstr(text, "; sensor_cpu <= 10 % was violated on 2 nodes 50 % of the time; "));
    free(text);
    s.nodes[1].name = s.nodes[0].name; /* another trace of it, behind a jump of its clock */
    text = written(&s, report_sentence, false);
    assert_non_null(strstr(text, "; sensor_cpu <= 10 % was violated on studio 50 % of the time; "));
    free(text);
}

TEST(lines_fit_a_wide_terminal_and_hold_no_control_characters)
{
    struct sample s;
    sample_troubled(&s);
    char *text = written(&s, report_text, true);
    char *rest = strchr(text, '\n') + 1; /* the sentence may be as long as it must */
    for (char *line; (line = strsep(&rest, "\n"));) {
        if (strlen(line) > 120)
            fail_msg("%zu columns: %s", strlen(line), line);
        for (const char *p = line; *p; p++)
            assert_true((unsigned char)*p >= ' ');
    }
    free(text);
}

/* An escape sequence in a name, as one byte of Latin-1 too, moves no cursor. */
TEST(names_do_nothing_to_a_terminal)
{
    struct sample s;
    sample_held(&s);
    s.properties[3] = (struct summary_property){"name", "\033[2Jvideo\xc2\x9b"
                                                        "2J"};
    s.processes[1].name = "cli\033]0;ent\xc2\x9b";
    s.processes[1].state = PROCESS_RUNNING;
    s.books[1][0].attempts += 5;
    char *text = report_written(&s, "runs/\033[2J\n", report_text, running, true);
    assert_non_null(strstr(text, "'runs/?[2J?'/trace\n"));
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "\xc2\x9b"));
    assert_non_null(strstr(text, "?[2Jvideo??2J"));
    assert_non_null(strstr(text, "cli?]0;ent??"));
    free(text);
}

TEST(commands_have_the_path_of_the_run_as_one_word)
{
    struct sample s;
    sample_troubled(&s);
    s.summary.behind = true;
    char *text = report_written(&s, "my runs/it's $1", report_text, running, false);
    assert_non_null(strstr(text, "babeltrace2 'my runs/it'\\''s $1'/trace\n"));
    assert_non_null(strstr(text, "bezel report --all 'my runs/it'\\''s $1'\n"));
    assert_non_null(strstr(text, "(bezel-collector --run 'my runs/it'\\''s $1')"));
    assert_non_null(strstr(text, "Run directory: my runs/it's $1\n"));
    free(text);
}

/* A change by an operator has its time, among what else happened, and is no note. */
TEST(changes_of_aspects_are_in_the_timeline)
{
    struct sample s;
    sample_held(&s);
    s.notes[0] = (struct summary_note){
        .at = sample_time(2.5), .name = "", .code = "BEZEL-STEERED", .text = "change 1: aspects off: frame_*"};
    s.summary.note_count = 1;
    char *text = written(&s, report_text, false);
    assert_non_null(strstr(text, "Timeline\n  2.500 s  studio  operator, change 1: aspects off: frame_*\n"));
    assert_null(strstr(text, "Notes"));
    free(text);
    s.metrics[0].aspect = (char *)"frame_shown";
    struct history_gap gaps[] = {{.begin = sample_time(1), .end = sample_time(2)},
                                 {.begin = sample_time(2.4), .end = sample_time(3)}};
    s.summary.gaps = gaps;
    s.summary.gap_count = 2;
    text = written(&s, report_text, true);
    assert_non_null(strstr(text, "not judged for 1.00 s: bezeld was stopped"));
    assert_non_null(strstr(text, "not judged for 600 ms: an operator had turned its aspect off\n"));
    free(text);
    s.summary.gap_count = 0;
    s.notes[0].code = "BEZEL-PAUSED";
    s.notes[0].text = "paused by an operator";
    text = written(&s, report_text, false);
    assert_non_null(strstr(text, "Timeline\n  2.500 s  studio  paused by an operator\n"));
    free(text);
    s.notes[0].code = "BEZEL-OTHER";
    text = written(&s, report_text, false);
    assert_null(strstr(text, "Timeline"));
    assert_non_null(strstr(text, "Notes\n"));
    free(text);
}

TEST(jq_reads_the_json)
{
    if (system("command -v jq >/dev/null") != 0) {
        puts("jq is not installed");
        skip();
    }
    struct sample s;
    sample_troubled(&s);
    char *text = written(&s, report_json, false);
    FILE *jq = popen("jq -e '.format == 3 and .verdict.is == \"infeasible\" and .verdict.exit_code == 3 and "
                     "(.limits | length) == 3 and .limits[2].nodes[0].value == null and "
                     "(.decisions | length) == 31 and .books.balanced == false and "
                     "(.books.sut | .produced == .stored + ([.lost[]] | add) + .rest) and "
                     ".books.processes[0].instance == \"18364758544493064720\"' >/dev/null",
                     "w");
    assert_non_null(jq);
    fputs(text, jq);
    assert_int_equal(pclose(jq), 0);
    free(text);
}

TEST(a_table_is_sorted_behind_its_first_row)
{
    static const char *const heads[] = {"node", "n"};
    static const char *const names[] = {"desk10", "desk2", "studio", "desk1"};
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    struct table *t = table_with_heads("lr", heads);
    table_sort(t); /* the first row alone */
    for (int i = 0; i < 4; i++) {
        table_cell(t, "%s", names[i]);
        table_cell(t, "%d", i);
    }
    table_sort(t);
    table_print(t, 0, out);
    fclose(out);
    assert_string_equal(text, "node    n\ndesk1   3\ndesk2   1\ndesk10  0\nstudio  2\n");
    free(text);
}

TEST(a_clock_that_stamped_nothing_has_an_unknown_error)
{
    struct sample s;
    sample_held(&s);
    s.nodes[0].clock = (struct builtin_clocks){0};
    char *text = written(&s, report_text, true);
    assert_non_null(strstr(text, "  studio  unknown                unknown      0"));
    free(text);
}
