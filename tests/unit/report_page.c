// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The page of a report: its data are those of the summary, whatever that holds, in less than 2 MB. */
#include "tests/lib/test.h"
#include "tests/lib/written_report.h"

#include <float.h>
#include <string.h>

static void write_html(const struct report *r, FILE *out)
{
    assert_int_equal(report_html(r, out), 0);
}

/* The page of `s`, which is whole, without bytes that no page may have, and below 2 MB; for free(). */
static char *page_of(const struct sample *s)
{
    char *text = report_written(s, REPORT_DIRECTORY, write_html, false, false);
    size_t n = strlen(text);
    assert_in_range(n, 1, 2000000);
    assert_string_equal(text + n - 8, "</html>\n");
    for (size_t i = 0; i < n; i++)
        assert_true((unsigned char)text[i] >= ' ' || text[i] == '\n');
    return text;
}

/* What a page says of element `id`, up to the end of the element; NULL: no such element. */
static char *data_of(const char *page, const char *id)
{
    char begin[64];
    snprintf(begin, sizeof begin, "id=\"%s\">", id);
    const char *from = strstr(page, begin);
    return from ? strndup(from + strlen(begin), (size_t)(strstr(from, "</script>") - from) - strlen(begin)) : NULL;
}

/* Names come from files and foreign programs; a run may be empty, or have no length. */
TEST(a_page_has_no_markup_of_the_run)
{
    struct sample s;
    sample_held(&s);
    s.experiment.name = (char *)"</title><script>alert(2)</script>";
    s.properties[0] = (struct summary_property){"other", s.experiment.name};
    s.limits[0].text = (char *)"a<b & \"c\" >= 29\x01";
    s.nodes[0].name = "</script><script>alert(1)</script>";
    char *text = page_of(&s);
    assert_null(strstr(text, "<script>alert"));
    assert_non_null(strstr(text, "\\u003c/script>\\u003cscript>alert(1)\\u003c/script>"));
    free(text);
    s.summary = (struct summary){0};
    free(page_of(&s));
}

enum { COLUMNS = 800 };

static struct history_series series_of(struct history_column *columns, size_t count)
{
    return (struct history_series){.begin = columns[0].at,
                                   .end = columns[count - 1].at,
                                   .columns = {.width = 20, .count = count, .list = columns}};
}

/* What a limit reads has a plot with its bound. */
TEST(metrics_that_no_limit_reads_have_their_values_in_the_page)
{
    struct history_column columns[] = {{sample_time(1), 1, 1, 30, 30, 30, false},
                                       {sample_time(9), 2, 2, 28, 31, 29.5, false}};
    struct sample s;
    sample_held(&s);
    s.values[0].columns = (struct history_columns){.width = 20, .count = 2, .list = columns};
    s.values[0].begin = sample_time(1);
    s.values[0].end = sample_time(9);
    char *page = page_of(&s), *series = data_of(page, "series");
    assert_null(strstr(series, "\"metric\""));
    free(series);
    free(page);
    s.values[0].metric = "free";
    page = page_of(&s);
    series = data_of(page, "series");
    assert_non_null(strstr(series, "{\"metric\":\"free\",\"process\":\"client.1\",\"node\":0,"
                                   "\"columns\":[[1000000000,30,30,30],[9000000000,28,31,29.5]]}"));
    free(series);
    free(page);
}

/* From the last value that the first bezeld knew to the first one of the next. */
TEST(the_line_of_a_metric_ends_where_nobody_knew_it)
{
    struct history_column columns[] = {{sample_time(1), 1, 1, 30, 30, 30, false},
                                       {sample_time(2), 1, 1, 31, 31, 31, false},
                                       {sample_time(9), 1, 1, 28, 28, 28, false}};
    struct summary_process daemons[] = {
        {.node = 0, .role = ROLE_DAEMON, .name = "bezeld", .started = sample_time(0)},
        {.node = 1, .role = ROLE_DAEMON, .name = "bezeld", .started = sample_time(1.5)}, /* another node's */
        {.node = 0, .role = ROLE_DAEMON, .name = "bezeld", .started = sample_time(8)},
    };
    struct sample s;
    sample_held(&s);
    s.summary.processes = daemons;
    s.summary.process_count = 3;
    s.values[0].columns = (struct history_columns){.width = 20, .count = 3, .list = columns};
    s.values[0].begin = sample_time(1);
    s.values[0].end = sample_time(9);
    s.values[0].metric = "free";
    char *page = page_of(&s), *series = data_of(page, "series");
    assert_non_null(strstr(series, "\"columns\":[[1000000000,30,30,30],[2000000000,31,31,31],"
                                   "[2000000001,null,null,null],[9000000000,28,28,28]]}"));
    free(series);
    free(page);
}

/* A field of a program may hold any number, and a daemon may not be believed either. */
TEST(numbers_of_any_size_leave_the_page_whole)
{
    static struct history_column columns[COLUMNS];
    static const double far[] = {DBL_MAX, -DBL_MAX, 30, DBL_MIN, NAN, INFINITY};
    struct sample s;
    sample_troubled(&s);
    for (int i = 0; i < COLUMNS; i++) {
        double v = far[i % 6];
        columns[i] = (struct history_column){sample_time(10.0 * i / COLUMNS), 1, i % 5 > 0, v, v, v, false};
    }
    struct history_series series = series_of(columns, COLUMNS);
    s.summary.series = &series;
    s.summary.series_count = 1;
    s.polling[0].period = INT64_C(1) << 61;
    s.polling[1].period = -1;
    s.decisions[0].after = -(INT64_C(1) << 61);
    char *text = page_of(&s), *data = data_of(text, "series");
    assert_ptr_equal(strstr(data, "[{\"limit\":0,\"node\":0,\"columns\":[["), data);
    assert_null(strstr(data, "nan"));
    assert_null(strstr(data, "inf"));
    free(data);
    free(text);
}

/* A column of the plot is {time, least, most, last}; null is unknown. */
TEST(a_plot_has_the_columns_of_the_summary)
{
    struct history_column columns[] = {{sample_time(0), 2, 2, 28.5, 31, 30, false},
                                       {sample_time(1), 3, 2, 29, 30, 29.5, false}, /* then unknown */
                                       {sample_time(2), 1, 0, NAN, NAN, NAN, false}};
    struct sample s;
    sample_held(&s);
    struct history_series series = series_of(columns, 3);
    series.limit = 1;
    s.summary.series = &series;
    s.summary.series_count = 1;
    char *text = page_of(&s), *data = data_of(text, "series");
    assert_string_equal(data, "[{\"limit\":1,\"node\":0,\"columns\":[[0,28.5,31,30],[1000000000,29,30,null],"
                              "[2000000000,null,null,null]]}]\n");
    free(data);
    free(text);
}

/* Of what does not fit it has the first, and says how many more there are. */
TEST(the_page_of_a_large_run_is_bounded)
{
    enum { PROCESSES = 10000, DECISIONS = 100000, SERIES = 300 };
    static struct history_column columns[COLUMNS];
    struct sample s;
    sample_troubled(&s);
    struct summary_process *processes = calloc(PROCESSES, sizeof *processes);
    struct builtin_decision *decisions = calloc(DECISIONS, sizeof *decisions);
    struct history_series *series = calloc(SERIES, sizeof *series);
    assert_true(processes && decisions && series);
    for (size_t i = 0; i < PROCESSES; i++)
        processes[i] = s.summary.processes[0];
    for (size_t i = 0; i < DECISIONS; i++)
        decisions[i] = s.decisions[0];
    for (int i = 0; i < COLUMNS; i++)
        columns[i] = (struct history_column){sample_time(10.0 * i / COLUMNS), 1, 1, i, i, i, false};
    for (size_t i = 0; i < SERIES; i++)
        series[i] = series_of(columns, COLUMNS);
    s.summary.processes = processes;
    s.summary.process_count = PROCESSES;
    s.summary.decisions = decisions;
    s.summary.decision_count = DECISIONS;
    s.summary.series = series;
    s.summary.series_count = SERIES;
    char *text = page_of(&s), *left = data_of(text, "left-out"), *data = data_of(text, "report"), expected[64];
    size_t shown = 0;
    for (const char *p = data; (p = strstr(p, "\"action\":")); p++)
        shown++;
    assert_in_range(shown, 100, 1000);
    snprintf(expected, sizeof expected, "\"decisions\":%zu", DECISIONS - shown);
    assert_non_null(strstr(left, expected));
    snprintf(expected, sizeof expected, "\"processes\":%zu", PROCESSES - shown);
    assert_non_null(strstr(left, expected));
    assert_non_null(strstr(left, "\"notes\":0"));
    assert_non_null(strstr(data, "\"processes\":10000,\"produced\"")); /* sums are of all */
    free(data);
    data = data_of(text, "series");
    assert_non_null(strstr(data, "[0,0,")); /* joined columns */
    free(data);
    free(left);
    free(text);
    free(processes);
    free(decisions);
    free(series);
}

/* Plots hatch all of them, in order of the run's time, though the list in the report may be cut short. */
TEST(a_page_tells_when_limits_were_violated_on_any_node)
{
    enum { VIOLATIONS = 20000 };
    struct sample s;
    sample_troubled(&s);
    struct history_violation *all = calloc(VIOLATIONS, sizeof *all);
    assert_non_null(all);
    all[0] = (struct history_violation){.node = 0, .limit = 1, .begin = sample_time(4), .end = sample_time(5)};
    all[1] = (struct history_violation){.node = 1, .limit = 1, .begin = sample_time(1), .end = sample_time(2)};
    all[2] = (struct history_violation){.node = 0, .limit = 1, .begin = sample_time(1.5), .end = sample_time(3)};
    all[3] = (struct history_violation){.node = 0, .limit = 2, .begin = sample_time(2), .end = sample_time(2)};
    s.summary.violations = all;
    s.summary.violation_count = 4;
    char *text = page_of(&s), *data = data_of(text, "broken");
    assert_string_equal(data, "[[],[1000000000,3000000000,4000000000,5000000000],[2000000000,2000000000]]\n");
    free(data);
    free(text);
    for (int i = 0; i < VIOLATIONS; i++)
        all[i] = (struct history_violation){.begin = sample_time(10.0 * i / VIOLATIONS),
                                            .end = sample_time(10.0 * i / VIOLATIONS) + 100 * CLOCK_US};
    s.summary.violation_count = VIOLATIONS;
    text = page_of(&s);
    data = data_of(text, "broken");
    assert_in_range(strlen(data), 20, 100000);
    assert_ptr_equal(strstr(data, "[[0,"), data);
    assert_non_null(strstr(data, ",9999600000],[],[]]"));
    free(data);
    free(text);
    free(all);
}

/* Some are repeated, in other processes: these are counted with the first. */
