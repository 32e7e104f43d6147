// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The text of a report without --all: on a screen where the run went well, and else with all that went wrong. */
#include "run/rundb/rundb.h"
#include "tests/lib/test.h"
#include "tests/lib/written_report.h"
#include "views/report/report_causes.h"

#include <math.h>
#include <string.h>

/* Lines on a terminal of 80 columns. */
static size_t lines_of(const char *text)
{
    size_t lines = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        lines += 1 + (strcspn(line, "\n") + 79) / 80 - (*line != '\n');
    return lines;
}

/* However much there is of each kind; what does not fit is counted. */
TEST(a_run_that_went_well_fits_a_screen)
{
    enum { MANY = 40 };
    static struct experiment_limit limits[MANY];
    static struct builtin_limit rows[MANY];
    static struct summary_program programs[MANY];
    static struct summary_note notes[MANY];
    static struct summary_event events[MANY];
    static struct history_violation violations[MANY];
    static char texts[MANY][16];
    struct sample s;
    sample_held(&s);
    for (size_t i = 0; i < MANY; i++) {
        snprintf(texts[i], sizeof texts[i], "fps >= %zu", i);
        limits[i] = s.limits[0];
        limits[i].text = texts[i];
        rows[i] = sample_row(0, (uint32_t)i, 7.5, 0);
        programs[i] = (struct summary_program){
            .node = "studio", .name = "server", .incarnation = 1, .state = LAUNCHED_ENDED, .stage = "", .ran = CLOCK_S};
        notes[i] = (struct summary_note){0, i, 4712, sample_time(1), "client.1", "BEZEL-UNREAD", texts[i]};
        events[i] = (struct summary_event){SAMPLE_STARTED, false, "bezeld was restarted"};
        violations[i] = (struct history_violation){0, 0, sample_time(2), sample_time(3), false, 24, 28};
    }
    s.experiment.limits = limits;
    s.summary.limits = rows;
    s.summary.programs = programs;
    s.summary.notes = notes;
    s.summary.events = events;
    s.summary.violations = violations;
    s.experiment.limit_count = 1;
    s.summary.limit_count = s.summary.program_count = 1;
    for (size_t count = 1; count <= MANY; count = 3 * count + 1) {
        s.experiment.limit_count = (uint32_t)count;
        s.summary.limit_count = s.summary.program_count = count;
        char *text = report_written(&s, REPORT_DIRECTORY, report_text, false, false);
        assert_in_range(lines_of(text), 10, 25);
        assert_non_null(strstr(text, "\nLimits\n"));
        assert_non_null(strstr(text, "\nPrograms\n"));
        assert_int_equal(strstr(text, " more\n") != NULL, count > 4);
        assert_non_null(strstr(text, "\nIn full:       bezel report --all " REPORT_DIRECTORY "\n"));
        free(text);
    }
    s.summary.note_count = s.summary.event_count = s.summary.violation_count = MANY;
    char *text = report_written(&s, REPORT_DIRECTORY, report_text, false, false);
    assert_in_range(lines_of(text), 20, 25);
    assert_non_null(strstr(text, "\nNotes\n"));
    assert_non_null(strstr(text, "\nEvents\n"));
    free(text);
    s.experiment.limit_count = 2;
    s.summary.limit_count = s.summary.program_count = s.summary.note_count = s.summary.violation_count = 2;
    s.summary.event_count = 0;
    text = report_written(&s, REPORT_DIRECTORY, report_text, false, false);
    assert_in_range(lines_of(text), 20, 25);
    assert_non_null(strstr(text, "\nTimeline\n  2 lines\n")); /* other sections make room for the limits */
    assert_non_null(strstr(text, "in violation\n  held "));
    free(text);
}

/* A change of a run that went well, for which its verdict is not green, and what the short text says of it. */
static void break_run(struct sample *s, int how)
{
    static struct experiment_node nodes[2] = {{.name = (char *)"studio"}, {.name = (char *)"desk9"}};
    static struct experiment_process absent = {.name = (char *)"viewer", .attach = (char *)"viewer*", .instances = 1};
    switch (how) {
    case 0:
        s->nodes[0].open = true;
        break;
    case 1:
        s->processes[1].state = PROCESS_LEFT;
        break;
    case 2:
        s->nodes[0].unobserved = 1;
        break;
    case 3:
        s->experiment.nodes = nodes;
        s->experiment.node_count = 2;
        break;
    case 4:
        s->properties[s->summary.property_count++] = (struct summary_property){RUNDB_UNENDED, "on desk9"};
        break;
    case 5:
        s->books[1][0].attempts += 5;
        break;
    case 6:
        s->notes[0] = (struct summary_note){0, 0, 0, sample_time(1), "", "BEZEL-CLOCK-GAP", "for 3 s"};
        s->summary.note_count = 1;
        break;
    case 7:
        s->notes[0] = (struct summary_note){0, 31, 7, sample_time(1), "x", "BEZEL-SEGMENT", "cannot be read"};
        s->summary.note_count = 1;
        break;
    case 8:
        s->summary.left_out = true;
        break;
    case 9:
        s->rows[0].violated = CLOCK_S;
        break;
    case 10:
        s->rows[0].unknown = s->rows[0].unjudged = 5 * CLOCK_S;
        break;
    case 11:
        s->experiment.processes = &absent;
        s->experiment.process_count = 1;
        break;
    case 12:
        s->books[1][0].attempts += 5;
        s->summary.behind = true;
        break;
    case 13:
        s->properties[3].value = "failure";
        s->summary.event_count = 1;
        s->events[0] = (struct summary_event){SAMPLE_STARTED, true, "bezeld was ended by signal 9"};
        break;
    default:
        s->properties[s->summary.property_count++] = (struct summary_property){"outcome", "4"};
        s->summary.program_count = 1;
        s->programs[0] = (struct summary_program){"studio", "x", 1, 0, LAUNCHED_FAILED, 0, 2, "exec", 0, 0, 0, 0, 0};
    }
}

/* The row of each limit has the verdict of the run on it. */
static void check_limits(const struct verdict *v, const struct sample *s, char *text)
{
    char *rest = text, *line = strsep(&rest, "\n");
    while (strcmp(line, "Limits") != 0)
        line = strsep(&rest, "\n");
    for (; *line; line = strsep(&rest, "\n"))
        for (size_t i = 0; i < v->limit_count; i++)
            if (strstr(line, s->experiment.limits[i].text) && !strchr(line, ':')) /* no remark */
                assert_true(strncmp(line + 2, verdict_name(v->limits[i].is), strcspn(line + 2, " ")) == 0);
}

TEST(the_short_text_has_what_a_verdict_is_not_green_for)
{
    static const char *const says[] = {"node studio vanished",
                                       "client.1 (4712): it went on when bezeld had ended",
                                       "Not observed: 1 process",
                                       "node desk9 never joined",
                                       "programs on desk9: their launcher",
                                       "client.1 (4712): 5 produced, but neither stored",
                                       "BEZEL-CLOCK-GAP  for 3 s",
                                       "BEZEL-SEGMENT  cannot be read",
                                       "processes that the collector refused",
                                       "  infeasible  fps >= 29 ",
                                       "  unknown  fps >= 29 ",
                                       "no program came for 'viewer'",
                                       "The trace may hold more",
                                       "error  bezeld was ended by signal 9",
                                       "not started: exec"};
    for (int how = 0; how < (int)(sizeof says / sizeof *says); how++) {
        struct sample s;
        struct verdict *v;
        sample_held(&s);
        break_run(&s, how);
        s.experiment.adapt.period_max = CLOCK_S;
        sample_add_decision(&s, 0.1, POLICY_OFF, CLOCK_MS, 0, 0);
        s.rows[0].last_violated = sample_time(9);
        assert_int_equal(verdict_new(&s.summary, &s.experiment, false, &v), 0);
        assert_int_not_equal(verdict_exit_code(v), 0);
        char *text = report_written(&s, REPORT_DIRECTORY, report_text, false, false);
        if (!strstr(text, says[how]))
            fail_msg("%d: it lacks '%s': %s", how, says[how], text);
        check_limits(v, &s, text);
        verdict_free(v);
        free(text);
    }
}

/* The page takes the sentence from the JSON. */
TEST(the_books_of_a_mirror_balance_as_far_as_they_are_here)
{
    for (int partial = 0; partial < 2; partial++) {
        struct sample s;
        sample_held(&s);
        s.summary.mirror.partial = partial;
        char *json = report_written(&s, REPORT_DIRECTORY, report_json, false, false);
        char *text = report_written(&s, REPORT_DIRECTORY, report_text, false, true);
        const char *says = partial ? "The books balance as far as they are here."
                                   : "The books balance: every record is accounted for.";
        assert_non_null(strstr(json, says));
        assert_non_null(strstr(text, says));
        free(json);
        free(text);
    }
}

static void write_in_color(const struct report *r, FILE *out)
{
    struct report colored = *r;
    colored.color = true;
    report_opening(&colored, out);
}

/* Also where there is no limit that could be unknown. */
TEST(the_first_line_is_green_only_if_all_is_known)
{
    for (int how = -1; how <= 14; how++) {
        struct sample s;
        sample_held(&s);
        if (how == 9 || how == 10)
            continue; /* its limits alone */
        if (how >= 0)
            break_run(&s, how);
        s.experiment.limit_count = 0;
        s.summary.limit_count = 0;
        char *text = report_written(&s, REPORT_DIRECTORY, write_in_color, false, false);
        bool green = strncmp(text, "\033[1;32m", 7) == 0;
        if (green != (how < 0))
            fail_msg("%d: %.120s", how, text);
        free(text);
    }
}

TEST(where_not_all_fits_what_went_wrong_comes_first)
{
    enum { MANY = 40 };
    static struct summary_program programs[MANY];
    static struct summary_event events[MANY];
    struct sample s;
    sample_full_rings(&s, false); /* it did not go well: 24 lines for each section */
    for (size_t i = 0; i < MANY; i++) {
        bool last = i == MANY - 1;
        programs[i] = (struct summary_program){.node = "studio",
                                               .name = last ? "bad" : "good",
                                               .incarnation = 1,
                                               .state = LAUNCHED_ENDED,
                                               .status = last ? 0x700 : 0,
                                               .stage = ""};
        events[i] = (struct summary_event){SAMPLE_STARTED, last, last ? "what broke" : "something"};
    }
    s.summary.programs = programs;
    s.summary.events = events;
    s.summary.program_count = s.summary.event_count = MANY;
    char *text = report_written(&s, REPORT_DIRECTORY, report_text, false, false);
    assert_non_null(strstr(text, "memory\n  bad      exit code 7"));
    assert_non_null(strstr(text, "\nEvents\n  0.000 s  error  what broke\n"));
    size_t counted = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));)
        counted += strcmp(line, "  17 more") == 0; /* below 23 rows each */
    assert_int_equal(counted, 2);
    free(text);
    text = report_written(&s, REPORT_DIRECTORY, report_text, false, true);
    assert_non_null(strstr(text, "memory\n  good     exit code 0"));
    assert_null(strstr(text, " more\n"));
    free(text);
}

/* Of decisions those that end collection, of records too late for control those that were, of nodes those in trouble.
 */
TEST(the_short_text_leaves_out_what_explains_nothing)
{
    struct sample s;
    sample_troubled(&s);
    char *text = report_written(&s, REPORT_DIRECTORY, report_text, false, false);
    assert_non_null(strstr(text, "  5.000 s  studio  dpp: off, 124 us -> off, for fps >= 29\n"));
    assert_null(strstr(text, "dpp: lengthen"));
    assert_non_null(strstr(text, "  studio/client.1  frame_shown  100 ms    301       12  3.99 %\n"));
    assert_null(strstr(text, "ment  frame_shown  100 ms"));
    assert_null(strstr(text, "studio/server (4711) "));
    assert_null(strstr(text, "In the trace: "));
    assert_non_null(strstr(text, "  violated                        studio "));
    assert_null(strstr(text, "  held "));
    free(text);
    s.rows[1].violated = 0; /* sensor_cpu holds on both nodes, and has a row for both */
    text = report_written(&s, REPORT_DIRECTORY, report_text, false, false);
    assert_non_null(strstr(text, "  held        sensor_cpu <= 10 %  all            28.5 %           0 %\n"
                                 "  12 of 301 records of frame_shown had expired (sensing.expire): limits ignore them, "
                                 "but for their number.\n\n"));
    s.summary.judged_anew = true; /* from all that is stored */
    free(text);
    text = report_written(&s, REPORT_DIRECTORY, report_text, false, false);
    assert_null(strstr(text, "had expired (sensing"));
    free(text);
    s.nodes[1].run_clock.relation.contradicted = 7;
    text = report_written(&s, REPORT_DIRECTORY, report_text, false, false);
    assert_non_null(strstr(text, "\nClocks compared\n  desk1: 7 exchanges of times contradicted "));
    free(text);
}

/* Triggers on records and histograms look at none that expired, and say so, not that there were none. */
TEST(who_ignores_expired_records_says_so)
{
    struct builtin_trigger counts[2] = {{.trigger = 0}, {.trigger = 1}};
    struct experiment_trigger triggers[2] = {
        {.when = (char[]){"any frame_shown"}, .condition = WHEN_RECORD, .first.aspect = (char[]){"frame_shown"}},
        {.when = (char[]){"any other"}, .condition = WHEN_RECORD, .first.aspect = (char[]){"other"}}};
    struct sample s;
    sample_troubled(&s);
    s.summary.watched = counts;
    s.summary.watched_count = 2;
    s.experiment.triggers = triggers;
    s.experiment.trigger_count = 2;
    s.metrics[0].kind = METRIC_HISTOGRAM;
    char *text = report_written(&s, REPORT_DIRECTORY, report_text, false, true);
    assert_non_null(strstr(text, "never fired: all that was seen of its aspect had expired (sensing.expire)\n"));
    assert_non_null(strstr(text, "never fired: no record of its aspect was seen\n"));
    assert_non_null(strstr(text, "  12 of 301 records of frame_shown had expired (sensing.expire): triggers on records "
                                 "ignore them.\n"));
    assert_non_null(strstr(text, "\nHistograms\n  12 of 301 records of frame_shown had expired (sensing.expire): they "
                                 "are not counted here.\n"));
    free(text);
    triggers[0].condition = WHEN_SILENT; /* counters tell of it */
    s.summary.judged_anew = true;
    text = report_written(&s, REPORT_DIRECTORY, report_text, false, true);
    assert_null(strstr(text, "had expired (sensing"));
    free(text);
}

TEST(a_copy_without_an_end_may_be_of_a_run_that_went_on)
{
    struct sample s;
    sample_troubled(&s);
    s.summary.property_count = 2; /* aborted */
    s.summary.copied = true;
    char *text = report_written(&s, REPORT_DIRECTORY, report_text, false, false);
    assert_non_null(strstr(text, " was aborted, or copied while it went on, at 2023-11-14 22:13:29 UTC, 9.90 s after"));
    free(text);
}

/* Of three clients with 301 records each one has a gap of three times that of all, if they make too few. */
TEST(of_too_few_records_of_several_processes_each_is_asked)
{
    for (int apart = 0; apart < 2; apart++) {
        struct sample s;
        struct verdict *v;
        struct why_limits w = {0};
        sample_held(&s);
        s.metrics[0].per_process = false;
        s.rows[0].violated = CLOCK_S;
        for (size_t i = 2; apart && i < 4; i++) { /* they follow one another */
            s.books[i][1].first_ns += (int64_t)(i - 1) * 20 * CLOCK_S;
            s.books[i][1].last_ns += (int64_t)(i - 1) * 20 * CLOCK_S;
        }
        assert_int_equal(verdict_new(&s.summary, &s.experiment, false, &v), 0);
        report_why_ask(v, &s.summary, &s.experiment, 0.5, &w);
        assert_int_equal(w.question_count, 1);
        assert_int_equal(w.questions[0].between, apart ? WHY_OF_NODE : WHY_OF_PROCESS);
        assert_int_equal(w.questions[0].beyond, (apart ? 1 : 3) * (CLOCK_S / 29) - 1);
        free(w.windows);
        verdict_free(v);
    }
}

/* However far the window reaches back: before the first record there is nothing. */
TEST(commands_around_a_violation_begin_with_the_records)
{
    for (int64_t window = CLOCK_S; window <= 3600 * CLOCK_S; window *= 3600) {
        struct history_violation violation = {0, 0, sample_time(2), sample_time(3), false, 24, 28};
        struct sample s;
        sample_held(&s);
        s.metrics[0].window = window;
        s.rows[0] = sample_row(0, 0, 1, 7);
        s.summary.violations = &violation;
        s.summary.violation_count = 1;
        char *text = report_written(&s, REPORT_DIRECTORY, report_text, false, false);
        assert_non_null(strstr(text, window == CLOCK_S ? "from 0.900 s to 3.000 s" : "from 0.500 s to 3.000 s"));
        free(text);
    }
}

TEST(a_value_of_a_limit_has_the_unit_of_its_bound)
{
    struct experiment_limit limits[] = {{.unit = UNIT_DURATION}, {.unit = UNIT_PERCENT}, {.unit = UNIT_NUMBER}};
    struct experiment e = {.limit_count = 3, .limits = limits};
    struct report r = {.experiment = &e};
    assert_string_equal(report_limit_value(&r, 0, 45e6).s, "45.0 ms");
    assert_string_equal(report_limit_value(&r, 0, -45e6).s, "-45.0 ms");
    assert_string_equal(report_limit_value(&r, 0, -1).s, "-1 ns");
    assert_string_equal(report_limit_value(&r, 0, (double)-INFINITY).s, "-inf");
    assert_string_equal(report_limit_value(&r, 1, -4.5).s, "-4.5 %");
    assert_string_equal(report_limit_value(&r, 2, -45e6).s, "-45,000,000");
}

TEST(a_value_beyond_its_bound_does_not_read_as_the_bound)
{
    struct experiment_limit limits[] = {{.unit = UNIT_DURATION, .bound = 20e6},
                                        {.unit = UNIT_PERCENT, .bound = 50},
                                        {.unit = UNIT_NUMBER, .bound = 10000},
                                        {.unit = UNIT_DURATION, .bound = 120e9}};
    struct experiment e = {.limit_count = 4, .limits = limits};
    struct report r = {.experiment = &e};
    assert_string_equal(report_limit_value(&r, 0, 20e6).s, "20.0 ms");
    assert_string_equal(report_limit_value(&r, 0, 20.04e6).s, "20.04 ms");
    assert_string_equal(report_limit_value(&r, 0, 20e6 + 1).s, "20.000001 ms");
    assert_string_equal(report_limit_value(&r, 0, 20.06e6).s, "20.1 ms");
    assert_string_equal(report_limit_value(&r, 1, 49.998).s, "49.998 %");
    assert_string_equal(report_limit_value(&r, 2, 10000.4).s, "10000.4");
    assert_string_equal(report_limit_value(&r, 3, 120.2e9).s, "120.2 s");
    assert_string_equal(report_limit_value(&r, 3, (double)NAN).s, "-");
}

/* How fast a source is shows from its first record on, and that it is not too fast from its begin on. */
TEST(what_was_too_short_for_a_limit_is_named)
{
    static const struct {
        enum experiment_compare compare;
        int64_t window;
        const char *expected;
    } table[] = {
        {COMPARE_AT_LEAST, 1000 * CLOCK_S, ": no process recorded frame_shown for so long as its metric's wind"},
        {COMPARE_AT_MOST, 1000 * CLOCK_S, ": no process that has frame_shown was there for so long as its met"},
        {COMPARE_AT_MOST, 4 * CLOCK_S, ": its metric had a value only right before a process ended"}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct sample s;
        sample_held(&s);
        s.metrics[0].aspect = (char *)s.books[1][1].name;
        s.metrics[0].window = table[i].window;
        s.limits[0].compare = table[i].compare;
        s.rows[0] = sample_row(0, 0, 0, 0);
        s.rows[0].unknown = 8 * CLOCK_S;
        for (size_t p = 0; p < s.summary.process_count; p++)
            s.processes[p].ending.at = s.processes[p].ending.seen = s.processes[p].started + 5 * CLOCK_S;
        char *text = report_written(&s, REPORT_DIRECTORY, report_sentence, false, false);
        if (!strstr(text, table[i].expected))
            fail_msg("%s\ndoes not say: %s", text, table[i].expected);
        free(text);
    }
}
