// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by why_*.c; why.h is the interface. */
#ifndef BEZEL_VIEWS_WHY_WHY_INTERNAL_H
#define BEZEL_VIEWS_WHY_WHY_INTERNAL_H

#include "base/units.h"
#include "views/why/why.h"

struct why_place_text {
    char s[2 * MESSAGE_NAME_MAX + DICT_NAME_MAX + 56];
};

struct why_pid_text {
    char s[24];
};

struct why_what_text {
    char s[2 * MESSAGE_NAME_MAX + DICT_NAME_MAX + 136];
};

/** The record before, of whatever times are taken between. */
struct why_last {
    int64_t of, process; /* why_between(); the row of the process that made it */
    uint32_t thread;
    int64_t at; /* INT64_MAX: not known */
};

struct why_lasts {
    size_t count, capacity;
    struct why_last *list;
};

/** Whose records the times of `q` are between, as a number: a process, node, or the run. */
int64_t why_between(const struct why_question *q, int64_t node_row, int64_t process_row);

/** Adds the instances of WHY_GAP and WHY_FIELD that no record ends. False: no memory. */
bool why_add_open(struct why_answer *a, const struct why_lasts *lasts);

/** Adds the spans that no record ends to what threads did. False: no memory. */
bool why_take_open(struct why_answer *a);

/** Prints which of the slow instances no record ends, and what they were in. Pure but for `out`. */
void why_put_open(const struct why_page *p, const struct why_answer *a, FILE *out);
void why_json_open(const struct why_page *p, const struct why_answer *a, struct json *j);

/** What a thread did, and where; `own`: it is that thread's alone, else one of its process. */
struct why_doing {
    enum path_class is;
    enum path_why why;
    uint32_t thread, span, peer, by;
    bool own;
};

struct why_doing why_doing_of(const struct slow_term *t);

/** The same as texts, such as "runs" and "player (4711) in decode". */
struct why_what_text why_what(const struct why_page *p, const struct why_answer *a, const struct why_doing *d);
struct why_place_text why_where(const struct why_page *p, const struct why_answer *a, const struct why_doing *d);

/** Predicts the change that a->question asks for. Returns 0 or BEZEL_ENOMEM. Pure. */
int why_predict(struct why_answer *a) BEZEL_MUST_CHECK;

/** Prints what was predicted, if that was asked for. Pure but for `out`. */
void why_put_predictions(const struct why_answer *a, FILE *out);
void why_json_predictions(const struct why_answer *a, struct json *j);

/** Searches what a->terms have. Returns 0 or BEZEL_ENOMEM. Pure. */
int why_search(struct why_answer *a) BEZEL_MUST_CHECK;

/** Prints what was found, if a search was asked for. Pure but for `out`. */
void why_put_search(const struct why_page *p, const struct why_answer *a, FILE *out);
void why_json_search(const struct why_answer *a, struct json *j);

/** Prints what was recorded for the search. Pure but for `out`. */
void why_put_turns(const struct why_page *p, FILE *out);

/** Prints what could be recorded, and was not, if a search was asked for. Pure but for `out`. */
void why_put_unrecorded(const struct why_page *p, FILE *out);
void why_json_unrecorded(const struct why_page *p, struct json *j);

/**
 * "player (4711)", of all threads of the process; or, `own`, with the thread: "player (4711, thread 4713)"; on several
 * nodes with the node before it. The next: " (4711)"; "" where it is not known, or of several processes.
 */
struct why_place_text why_process(const struct why_page *p, const struct why_answer *a, uint32_t thread, bool own);
struct why_pid_text why_pid_text(int64_t pid);

/** "-1.2 ms"; "-": NaN. */
struct units_text why_duration(double ns);

/** The pid of the process of `thread`; ACTIVITY_SEVERAL: that name had several on its node. */
int64_t why_pid(const struct why_answer *a, uint32_t thread);

/** As why_read(), of WHY_PATH. */
int why_read_path(const char *run, struct why_answer *a) BEZEL_MUST_CHECK;

/** CPUs that could have been busy on average, if nothing but the path had held them back; NaN: that is not known. */
double why_most_parallel(const struct why_answer *a);

/** Whether slack is known in the slowest instance: nothing is missing, and a hundredth of its path at most unknown. */
bool why_has_slack(const struct why_answer *a);

/** Calls `put` with each sentence about what the answer rests on, and what would make more of it known. */
void why_remarks(const struct why_page *p, const struct why_answer *a, void (*put)(void *context, const char *text),
                 void *context);

#endif
