// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The report on a run, as text for people or as JSON (docs/REPORT.md), also of a run that is being written. */
#ifndef BEZEL_ECS_REPORT_H
#define BEZEL_ECS_REPORT_H

#include "base/units.h"
#include "ecs/verdict.h"

#include <stdio.h>

struct json;
struct table;

/** Forms of a report; a bool that says "as JSON" may stand in their place. */
enum report_form { REPORT_TEXT = 0, REPORT_JSON = 1, REPORT_ALL = 2, REPORT_SVG = 4 };

/**
 * Loads run directory `run`, judges it and prints the report to `out`: as JSON with REPORT_JSON; with REPORT_ALL the
 * text leaves nothing out (JSON never does); with REPORT_SVG it is a plot. Returns the exit code of the verdict (see
 * verdict_exit_code()), or a negative BEZEL_E* after saying on stderr why there is no report. Not async-signal-safe;
 * reads files.
 */
int report_print(const char *run, int form, FILE *out) BEZEL_MUST_CHECK;

/** What the two writers below need; everything is borrowed. */
struct report {
    const char *run; /* the directory, as it is shown */
    const struct summary *summary;
    const struct experiment *experiment;
    const struct verdict *verdict;
    bool all;   /* text: leave nothing out */
    bool color; /* text: for a terminal */
};

/** The sentence that opens a report, without a line's end. Pure. */
void report_sentence(const struct report *r, FILE *out);

/** The whole report. Errors show in ferror(out). Pure but for `out`. */
void report_text(const struct report *r, FILE *out);
void report_json(const struct report *r, FILE *out);

/** The limits against time, and how nodes polled: an SVG image that needs nothing else. Likewise. */
void report_svg(const struct report *r, FILE *out);

/** "client.1", with its node before it where the run has several: "desk1/client.1". `name` takes `size` bytes. */
void report_process_name(const struct report *r, const struct summary_process *p, char *name, size_t size);

/** The same and the pid: "client.1 (4711)". `name` takes `size` bytes; REPORT_PROCESS_SIZE are enough. */
enum { REPORT_PROCESS_SIZE = 160 };
void report_process_pid(const struct report *r, const struct summary_process *p, char *name, size_t size);

/** Text: the title of a section; whether a process is shown; whether what belongs to each process is. */
void report_title(const struct report *r, const char *text, FILE *out);

/** A section of `count` rows, nothing where that is 0; of many, unless all is asked for, the first and the last ones.
 */
void report_rows(const struct report *r, const char *title, const char *sides, const char *const heads[], size_t count,
                 void (*row)(const struct report *r, struct table *t, size_t i), FILE *out);
bool report_shows(const struct report *r, const struct summary_process *p);
bool report_opens_processes(const struct report *r);

/** Text: the books of the processes, whether they balance, and what of them is not known. */
void report_books(const struct report *r, FILE *out);

/** JSON: member `remedies` of the books, what to do where rings were full; the text has it among its remarks. */
void report_json_remedies(const struct report *r, struct json *j);

/** Text: what spans, counters and gauges came to; nothing where there are none. JSON: members of an aspect's object. */
void report_kinds(const struct report *r, FILE *out);
void report_json_kind(struct json *j, const struct summary_book *b);

/** Why limit `l` is infeasible, words that go on behind a comma. */
void report_why(const struct report *r, const struct verdict_limit *l, FILE *out);

/** What nodes made of the manager's settings; nothing where there is none. JSON: member `settings`. */
void report_obeyed(const struct report *r, FILE *out);
void report_json_obeyed(const struct report *r, struct json *j);

/** What the policies found; nothing where there is nothing. JSON: member `findings`; of a limit why it is infeasible.
 */
void report_findings(const struct report *r, FILE *out);

/** Text: a cell that tells of a finding, with its name where `with_word`. */
void report_finding(const struct report *r, struct table *t, const struct summary_finding *f, bool with_word);
void report_json_findings(const struct report *r, struct json *j);
void report_json_why(const struct report *r, const struct verdict_limit *l, struct json *j);

/** What the processes said, as text and as member `notes`. */
void report_notes(const struct report *r, FILE *out);
void report_json_notes(const struct report *r, struct json *j);

/**
 * How the nodes polled, and what of records with a latency bound expired; nothing where there is nothing to tell. JSON:
 * members `polling` and `expired`, and of a node what it measured of its polls.
 */
void report_polling(const struct report *r, FILE *out);
void report_expired(const struct report *r, FILE *out);
void report_json_polling(const struct report *r, struct json *j);
void report_json_expired(const struct report *r, struct json *j);
void report_json_pace(struct json *j, const struct summary_node *n);

/** What happened, in order; nothing where nothing did. JSON: member `violations`. */
void report_story(const struct report *r, FILE *out);
void report_json_violations(const struct report *r, struct json *j);

/** What snapshots saved; nothing where none was taken. JSON: members `snapshots` and `snapshots_refused`. */
void report_snapshots(const struct report *r, FILE *out);
void report_json_snapshots(const struct report *r, struct json *j);

/** Which knobs were turned; nothing where none was. JSON: member `knobs`. */
void report_knobs(const struct report *r, FILE *out);
void report_json_knobs(const struct report *r, struct json *j);

/** Processes that were not observed; nothing where there is none. */
void report_unobserved(const struct report *r, FILE *out);

/**
 * What is not known of a run that is over. Text: nothing where all is. JSON: members `end` and `streams` of a process.
 */
void report_unknown(const struct report *r, FILE *out);
void report_json_streams(const struct report *r, struct json *j, const struct summary_process *p);

/** The experiment's name, as it was run. Borrowed from the report. */
const char *report_experiment_name(const struct report *r);

/** Texts of the numbers that the database holds; "?" where a number is none of theirs. Static storage. */
const char *report_policy_name(int policy);
const char *report_action_name(int action);
const char *report_decider_name(int by);
const char *report_node_name(const struct report *r, uint32_t node);

/** Whether limit `index` is on the whole; "all" where it is, else the name of the node that it was judged on. */
bool report_is_whole(const struct report *r, int64_t index);
const char *report_where(const struct report *r, uint32_t node, int64_t index);

/** `at` of the clock of `node` as nanoseconds since the run's start. */
int64_t report_run_time(const struct report *r, uint32_t node, int64_t at);

/** The limit's text in the experiment file; "?" where it has no limit `index`. */
const char *report_limit_text(const struct report *r, int64_t index);

/** A value of its metric, in the unit of the limit; a duration as one. */
struct units_text report_limit_value(const struct report *r, int64_t index, double value);

#endif
