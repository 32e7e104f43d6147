// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The report of a run, as text, JSON or a page (docs/REPORT.md); also while the run goes on. */
#ifndef BEZEL_VIEWS_REPORT_REPORT_H
#define BEZEL_VIEWS_REPORT_REPORT_H

#include "base/units.h"
#include "run/read/buckets_statistics.h"
#include "run/read/interval_statistics.h"
#include "run/read/record_tables.h"
#include "run/verdict/verdict.h"
#include "views/report/rows.h"
#include <limits.h>

#include <stdio.h>

/** Forms of a report. true also means JSON, false text. */
enum report_form {
    REPORT_TEXT = 0,
    REPORT_JSON = 1,
    REPORT_ALL = 2,
    REPORT_HTML = 4,
    REPORT_DATA = 8,
};

/**
 * Loads run directory `run`, judges the run and prints the report to `out`: as text, or as JSON (REPORT_JSON), a page
 * (REPORT_HTML) or the data of such a page (REPORT_DATA); with REPORT_ALL the text omits nothing (JSON never does).
 * `running`: the run's `bezel run` lives. `metrics`: a file whose metrics and limits take the place of those of the
 * run, which must have ended; NULL: these. Returns the exit code of the verdict (see verdict_exit_code()), or a
 * negative BEZEL_E* after logging why there is no report. Reads files; not async-signal-safe.
 */
int report_print(const char *run, bool running, const char *metrics, int form, FILE *out) BEZEL_MUST_CHECK;

struct why_asked;

/**
 * Answers what `bezel why` is asked of run directory `run`, and prints it to `out`. `running`: its `bezel run` lives.
 * Returns the exit code, after logging what is wrong; or BEZEL_EINVAL with `misuse`, of `size` bytes, what is wrong
 * with the question.
 */
int report_why_print(const char *run, bool running, const struct why_asked *asked, char *misuse, size_t size,
                     FILE *out) BEZEL_MUST_CHECK;

/** Reads the experiment of run directory `run`. Returns 0 with *e for experiment_free(), or an error, which it logs. */
int report_load_experiment(const char *run, struct experiment **e) BEZEL_MUST_CHECK;

/** Reads what its database says of it. Returns 0 with *s for summary_free(), or an error, which it logs. */
int report_load_summary(const char *run, bool running, struct summary **s) BEZEL_MUST_CHECK;

/**
 * Judges what report_load_*() have read, in `s`, for a report of `form`. Returns 0 with *intervals for
 * interval_table_free() and *v for verdict_free(), or an error with nothing to free.
 */
int report_judge(const char *run, bool running, struct summary *s, const struct experiment *e, int form,
                 struct interval_table *intervals, struct verdict **v) BEZEL_MUST_CHECK;

/** The input of all functions below; everything is borrowed. */
struct report {
    const char *run; /* the directory, as the report shows it */
    const struct summary *summary;
    const struct experiment *experiment;
    const struct verdict *verdict;
    struct message_table messages;
    struct counter_table counters;
    struct label_table labels;
    struct interval_table intervals;
    struct buckets_table histograms;    /* of metrics that are not the run's own */
    const struct report_causes *causes; /* of the limits that were violated; NULL: none is looked for */
    const struct report_spent *spent;   /* NULL: not known */
    bool all;                           /* text: omit nothing, join no lines */
    bool compact;                       /* JSON: one line */
    size_t most;                        /* lines of a table or rows of a list, at most; 0: all */
    bool color;                         /* text: for a terminal */
    bool no_babeltrace;                 /* text: babeltrace2 is not installed */
};

/** The sentence that opens a report, without a newline; as text, for free(): NULL if memory is short. Pure. */
void report_sentence(const struct report *r, FILE *out);
char *report_sentence_text(const struct report *r);

/** Print the complete report. Errors show in ferror(out). Pure but for `out`. */
void report_text(const struct report *r, FILE *out);
void report_json(const struct report *r, FILE *out);

/**
 * Prints the report as a page for a browser that refers to nothing else, of less than 2 MB. Likewise. Returns 0, or
 * BEZEL_ENOMEM with a page that is empty.
 */
int report_html(const struct report *r, FILE *out) BEZEL_MUST_CHECK;

/**
 * Prints what a page shows of the report, without the columns of plots, as one JSON object: {"is": "report", "report",
 * "broken", "left_out"}, of less than 1.5 MB. Returns 0, or BEZEL_ENOMEM.
 */
int report_data(const struct report *r, FILE *out) BEZEL_MUST_CHECK;

/** "client.1"; in a run of several nodes "desk1/client.1". `name` has `size` bytes. */
void report_process_name(const struct report *r, const struct summary_process *p, char *name, size_t size);

/** The same with the pid: "client.1 (4711)". `name` has `size` bytes; REPORT_PROCESS_SIZE are enough. */
enum { REPORT_PROCESS_SIZE = 160 };
void report_process_pid(const struct report *r, const struct summary_process *p, char *name, size_t size);

/** `text` as a word for the shell: in quotes where it needs them. Of less than PATH_MAX bytes. */
struct report_word {
    char s[4 * PATH_MAX];
};
struct report_word report_word(const char *text);

/** Text: prints the title of a section. */
void report_title(const struct report *r, const char *text, FILE *out);

/** The sections, in the order of report_sections.c. */
extern const struct rows_section report_head, report_cause, report_limits, report_names, report_looks, report_timeline,
    report_polling, report_loop, report_setpoints, report_snapshots, report_triggers, report_books, report_expired,
    report_rates, report_values, report_totals, report_labels, report_counters, report_messages, report_metrics,
    report_histograms, report_monitor, report_clocks, report_run_clocks, report_intervals, report_unmatched,
    report_programs, report_notes, report_open, report_events, report_paths, report_load, report_pairs;

/** Those of the JSON alone. */
extern const struct rows_section report_violations, report_gaps, report_decisions, report_polling_changes,
    report_conclusions, report_knobs, report_firings, report_nodes;

enum { REPORT_NAMED_MAX = 3 }; /* limits that the sentence names: broken ones before unknown ones */

/** The sentence, and when the run started. */
void report_opening(const struct report *r, FILE *out);

/** Whether the first line is green: all limits held, all is known, nothing failed, and the sentence hides nothing. */
bool report_is_green(const struct report *r);

/**
 * Whether on `node` a process began to record the aspect of limit `limit` between these times, when no other one was
 * there any more.
 */
bool report_is_followed(const struct report *r, uint32_t node, uint32_t limit, int64_t from, int64_t until);

/** That limit `i` could not be judged, of what, and why: a sentence without its full stop. */
void report_unknown(const struct report *r, size_t i, FILE *out);

/** Why limit `l` is infeasible, as the end of a sentence. */
void report_why(const struct report *r, const struct verdict_limit *l, FILE *out);

/** Prints why a limit could not be judged, as the end of a sentence: names in the file that nothing recorded has. */
void report_unjudged(const struct report *r, size_t limit, FILE *out);

/** The text of trigger `i`: "fps >= 29 violated"; "?" where the file has none. */
const char *report_trigger_text(const struct report *r, int64_t i);

/** A line of the timeline: the snapshot whose first row in the summary is `item`. */
rows_describe report_snapshot_line;

/** What to do about full rings and missing ones. */
void report_remedies(const struct report *r, FILE *out);
void report_json_remedies(const struct report *r, struct json *j);

/** What expired from the store of all processes of `role`. */
struct summary_expired report_expired_from_store(const struct report *r, enum message_role role);

/** How many records of `aspect` expired, of *taken; of all processes. `aspect` may be NULL. */
int64_t report_expired_of(const struct report *r, const char *aspect, int64_t *taken);

/** Adds a line for each aspect that is read, and of which records expired: `ignored` says by what they were. */
typedef bool report_reads(const struct experiment *e, const char *aspect);
void report_expired_lines(struct rows *w, report_reads *reads, const char *ignored);

/** Text: the columns that name a process and an aspect of it. */
void report_process_columns(struct rows *w, const struct report *r, const struct summary_process *p,
                            const struct summary_book *b);

/** JSON: members of an aspect; latencies of all records, or of a process. */
void report_json_values(const struct report *r, struct json *j, const struct summary_process *p,
                        const struct summary_book *b);
void report_json_labels(const struct report *r, struct json *j, const struct summary_process *p,
                        const struct summary_book *b);
void report_json_messages(const struct report *r, struct json *j, const struct summary_process *p,
                          const struct summary_book *b);
void report_json_latency(const struct summary_latency *l, struct json *j);

/** Whether a field of a sampler's aspect is a counter: it is among the kernel's counters, not the values. */
bool report_is_counter(const char *aspect, const char *field);

/** Whether a note is about a change by an operator; the timeline has these. */
bool report_note_is_change(const struct report *r, const struct summary_note *n);

/** JSON: an object with the number of rows that each list would leave out if it had at most `most` rows. */
void report_json_left_out(const struct report *r, size_t most, struct json *j);

/** The unit in which a table shows its times, of which `least_ns` is the least but for 0: there it is not small. */
struct report_unit {
    const char *name;
    double ns;
};
struct report_unit report_unit_for(double least_ns);

/** Makes *least_ns, INFINITY at first, the least of the times that it takes. */
void report_take_least(double *least_ns, double ns);

/** The experiment's name, as it was run (an option may have changed the file's). Borrowed from the report. */
const char *report_experiment_name(const struct report *r);

/** By whom and as what the trace was written of which the run was made; NULL: it was run. */
const char *report_imported(const struct report *r);

/** Names of numbers in the database; "?" for unknown numbers. Static storage. */
const char *report_policy_name(int policy);
const char *report_action_name(int action);
const char *report_decider_name(int by);
const char *report_node_name(const struct report *r, uint32_t node);

/** Whether limit `index` is a global one; "all" if it is, else the name of `node`. */
bool report_is_global(const struct report *r, int64_t index);
const char *report_where(const struct report *r, uint32_t node, int64_t index);

/** Time `at` of the clock of `node`, in ns since the run's start. */
int64_t report_run_time(const struct report *r, uint32_t node, int64_t at);

/** Until when a wait or long span was open, as far as is known: "until its process ended". */
const char *report_open_until(const struct report *r, const struct builtin_open *o);

/** The limit's text in the experiment file; "?" if there is no limit `index`. */
const char *report_limit_text(const struct report *r, int64_t index);

/** A value of its metric as text, in the limit's unit. */
struct units_text report_limit_value(const struct report *r, int64_t index, double value);

/** How many numbers came into bucket `bucket` of a histogram in the process or node of `like`; NULL: in all. */
double report_bucket_count(const struct summary *s, const struct history_series *like, const char *bucket);

/** The unit of metric `name`, as JSON has it: "ns", "1/s", "%", or that of the field; NULL: it is not known. */
const char *report_metric_unit(const struct report *r, const char *name);

#endif
