// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The report of a run, as text, JSON or a page (docs/REPORT.md); also while the run goes on. */
#ifndef BEZEL_VIEWS_REPORT_REPORT_H
#define BEZEL_VIEWS_REPORT_REPORT_H

#include "base/units.h"
#include "run/read/record_tables.h"
#include "views/report/verdict.h"

#include <stdio.h>

struct json;
struct table;

/** Forms of a report. true also means JSON, false text. */
enum report_form { REPORT_TEXT = 0, REPORT_JSON = 1, REPORT_ALL = 2, REPORT_HTML = 4, REPORT_DATA = 8 };

/**
 * Loads run directory `run`, judges the run and prints the report to `out`: as text, or as JSON (REPORT_JSON), a page
 * (REPORT_HTML) or the data of such a page (REPORT_DATA); with REPORT_ALL the text omits nothing (JSON never does).
 * `running`: the run's `bezel run` lives. Returns the exit code of the verdict (see verdict_exit_code()), or a negative
 * BEZEL_E* after logging why there is no report. Reads files; not async-signal-safe.
 */
int report_print(const char *run, bool running, int form, FILE *out) BEZEL_MUST_CHECK;

/** Reads the experiment of run directory `run`. Returns 0 with *e for experiment_free(), or an error, which it logs. */
int report_load_experiment(const char *run, struct experiment **e) BEZEL_MUST_CHECK;

/** The input of all functions below; everything is borrowed. */
struct report {
    const char *run; /* the directory, as the report shows it */
    const struct summary *summary;
    const struct experiment *experiment;
    const struct verdict *verdict;
    struct message_table messages;
    struct counter_table counters;
    struct label_table labels;
    bool all;           /* text: omit nothing, join no lines */
    bool compact;       /* JSON: one line */
    size_t most;        /* JSON: processes and events, at most; 0: all */
    bool color;         /* text: for a terminal */
    bool no_babeltrace; /* text: babeltrace2 is not installed */
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

/** Text: prints the title of a section; whether a process is shown; whether details of each process are. */
void report_title(const struct report *r, const char *text, FILE *out);
bool report_shows(const struct report *r, const struct summary_process *p);
bool report_opens_processes(const struct report *r);

/** Text: the books of the processes, whether they balance, and what is unknown. */
void report_books(const struct report *r, FILE *out);

/** What to do about full rings, and about threads without a ring. Text: below the books. JSON: member `remedies`. */
void report_remedies(const struct report *r, FILE *out);
void report_json_remedies(const struct report *r, struct json *j);

/** Text: statistics of fields, totals of counters and spans; nothing if there are none. JSON: members of an aspect. */
void report_values(const struct report *r, FILE *out);
void report_json_values(struct json *j, const struct summary_process *p, const struct summary_book *b);

/**
 * Whether a field of a sampler's aspect is a counter: the values leave it out. Text: by how much these grew; nothing if
 * there are none. JSON: `counters`.
 */
bool report_is_counter(const char *aspect, const char *field);
void report_counters(const struct report *r, FILE *out);
void report_json_counters(const struct report *r, struct json *j);

/** Text: how often each label of enums was recorded; nothing if there are none. JSON: member of an aspect with enums.
 */
void report_labels(const struct report *r, FILE *out);
void report_json_labels(const struct report *r, struct json *j, const struct summary_process *p,
                        const struct summary_book *b);

/** Text: how long messages took, and how many have no counterpart; nothing if there are none. JSON: as above. */
void report_messages(const struct report *r, FILE *out);
void report_json_messages(const struct report *r, struct json *j, const struct summary_process *p,
                          const struct summary_book *b);

/** The unit in which a table shows its times, of which `least_ns` is the least but for 0: there it is not small. */
struct report_unit {
    const char *name;
    double ns;
};
struct report_unit report_unit_for(double least_ns);

/** Text: of more rows of a table than these only --all shows the rest; prints how many of `rows` are left out, if any.
 */
enum { REPORT_ROWS_MOST = 64 };
void report_left_out(const struct report *r, size_t rows, FILE *out);

/** Text: why limit `l` is infeasible, as the end of a sentence. */
void report_why(const struct report *r, const struct verdict_limit *l, FILE *out);

/** Text: how many of the manager's setpoints each node applied; nothing if there is no manager. JSON: `setpoints`. */
void report_setpoints(const struct report *r, FILE *out);
void report_json_setpoints(const struct report *r, struct json *j);

/**
 * A conclusion of a policy, as a cell of the timeline. JSON: `conclusions`; members of a limit: why it is infeasible.
 */
void report_conclusion(const struct report *r, struct table *t, const struct builtin_conclusion *f);
void report_json_conclusions(const struct report *r, struct json *j);
void report_json_why(const struct report *r, const struct verdict_limit *l, struct json *j);

/** The programs that the run started: how they ended. JSON: `programs`. */
void report_programs(const struct report *r, FILE *out);
void report_json_programs(const struct report *r, struct json *j);

/**
 * Names of the file that nothing in the run has (names.h). Text: nothing if there are none. JSON: member `names`. Of a
 * limit that could not be judged for that: the reason, as the end of a sentence.
 */
void report_names(const struct report *r, FILE *out);
void report_json_names(const struct report *r, struct json *j);
void report_unjudged(const struct report *r, size_t limit, FILE *out);

/** Commands that show what was around the worst violation of each limit that did not hold. JSON: member `looks`. */
void report_looks(const struct report *r, FILE *out);
void report_json_looks(const struct report *r, struct json *j);

/** The notes, as text and as member `notes`; whether one tells of a change by an operator: that is in the timeline. */
bool report_note_is_change(const struct report *r, const struct summary_note *n);
void report_notes(const struct report *r, FILE *out);
void report_json_notes(const struct report *r, struct json *j);

/**
 * Text: how the nodes polled, and how many records with a latency bound expired; nothing if none has one. A change of
 * how a node polls is a cell of the timeline. JSON: members `polling` and `expired`, and a node's statistics of its
 * polls.
 */
void report_polling_change(struct table *t, const struct builtin_polling *p);
void report_polling(const struct report *r, FILE *out);
void report_expired(const struct report *r, FILE *out);
void report_json_polling(const struct report *r, struct json *j);
void report_json_expired(const struct report *r, struct json *j);
void report_json_poll_stats(struct json *j, const struct summary_node *n);

/** Text: the timeline of the run; nothing if it has no line. JSON: members `violations` and `gaps`. */
void report_timeline(const struct report *r, FILE *out);
void report_json_violations(const struct report *r, struct json *j);
void report_json_gaps(const struct report *r, struct json *j);

/** Why limits were not judged in a gap. */
const char *report_gap_cause(const struct report *r, const struct history_gap *g);

/**
 * A snapshot, as a cell of the timeline: the one whose first row in the summary is `from`. Text: what snapshots saved;
 * nothing if none was taken. JSON: members `snapshots` and `snapshots_refused`.
 */
void report_snapshot(const struct report *r, struct table *t, size_t from);
void report_snapshots(const struct report *r, FILE *out);
void report_json_snapshots(const struct report *r, struct json *j);

/** A change of a knob, as a cell of the timeline. JSON: member `knobs`. */
void report_knob(const struct report *r, struct table *t, const struct builtin_knob *k);
void report_json_knobs(const struct report *r, struct json *j);

/** JSON: members `end` and `streams` of a process. */
void report_json_streams(const struct report *r, struct json *j, const struct summary_process *p);

/** The experiment's name, as it was run (an option may have changed the file's). Borrowed from the report. */
const char *report_experiment_name(const struct report *r);

/** Names of numbers in the database; "?" for unknown numbers. Static storage. */
const char *report_policy_name(int policy);
const char *report_action_name(int action);
const char *report_decider_name(int by);
const char *report_node_name(const struct report *r, uint32_t node);

/** What expired from the store of all processes of `role`. */
struct summary_expired report_expired_from_store(const struct report *r, enum message_role role);

/** Whether limit `index` is a global one; "all" if it is, else the name of `node`. */
bool report_is_global(const struct report *r, int64_t index);
const char *report_where(const struct report *r, uint32_t node, int64_t index);

/** Time `at` of the clock of `node`, in ns since the run's start. */
int64_t report_run_time(const struct report *r, uint32_t node, int64_t at);

/** The limit's text in the experiment file; "?" if there is no limit `index`. */
const char *report_limit_text(const struct report *r, int64_t index);

/** A value of its metric as text, in the limit's unit. */
struct units_text report_limit_value(const struct report *r, int64_t index, double value);

/** The unit of metric `name`, as JSON has it: "ns", "1/s", "%", or that of the field; NULL: it is not known. */
const char *report_metric_unit(const struct report *r, const char *name);

#endif
