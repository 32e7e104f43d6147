// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Why some work of a run was slow: the paths of its slow instances beside those of the usual ones, as text and JSON
 * (docs/WHY.md). Reads the stored records twice: first to find the instances, then what threads did in them. One
 * thread; blocks on the disk.
 */
#ifndef BEZEL_VIEWS_WHY_WHY_H
#define BEZEL_VIEWS_WHY_WHY_H

#include "analysis/delay.h"
#include "analysis/imbalance.h"
#include "analysis/search.h"
#include "analysis/sequence.h"
#include "analysis/slack.h"
#include "analysis/slow.h"
#include "analysis/whatif.h"
#include "base/condition.h"
#include "base/json.h"
#include "config/experiment.h"
#include "run/read/run_reader.h"

#include <stdio.h>

/** What instances of the work are. */
enum why_of {
    WHY_FIELD,    /* a record: so long before it as a field of it says; of a span its duration */
    WHY_GAP,      /* the time between two records of a thread, process, node, or the run; or from the last one on */
    WHY_INTERVAL, /* from the first record to the last of those that belong together */
    WHY_PATH,     /* one: all that the run did from `from` to `until`, and the path to what was last */
};

/**
 * What no record ends: a wait or long span that is open, or was when its process or the run ended; or, without a name,
 * a process: what it did last goes on until its end. Texts are borrowed.
 */
struct why_open {
    const char *node, *process, *span, *reason; /* span: NULL: the process. reason: what it waits for; "": nothing */
    int64_t node_row, row;                      /* of node and process in the database */
    uint32_t pid, thread;
    int64_t from, until; /* ns of the run's time. from: of a span */
    bool ended;          /* its process did, then; else that is the latest that is known */
    bool itself;         /* ... before the run began to end, with nothing open */
    const char *field;   /* of a span: in which its records have how long it was open; static */
};

/** Between which records there are times. */
enum why_between { WHY_OF_THREAD, WHY_OF_PROCESS, WHY_OF_NODE, WHY_OF_RUN };

/** A question; texts are borrowed. */
struct why_question {
    enum why_of of;
    const char *limit;  /* that was violated, as in the file; NULL: none */
    const char *aspect; /* whose records end an instance */
    const char *field;  /* WHY_FIELD; NULL: the duration of a span, or else the only field with a unit of time */
    const char *node, *process; /* globs; NULL: any */
    const char *where;          /* a condition that the records meet; NULL: all */
    enum why_between between;   /* WHY_GAP */
    const struct experiment_metric *interval;
    int64_t wait; /* WHY_INTERVAL: ns that its last record may come behind the window of the metric (order.wait) */
    double share; /* as in struct slow_choice, as the next one */
    int64_t beyond;
    int64_t from, until;    /* ns of the run's time: instances that end from then on, and before then */
    const char *change;     /* what if that were so: as whatif_read() takes it, or WHY_BEST; NULL: not asked */
    bool goes_on;           /* WHY_PATH: more records may come */
    bool search;            /* the answer is a search through hypotheses */
    unsigned phase, phases; /* it is about this one of so many, from 1; 0: about all of its time */
    int64_t part; /* of a limit: records may have a part in a violation that begins so much later; 0: each that is too
                     long is one */
    size_t window_count;
    const struct activity_window *windows; /* borrowed, as in struct slow_choice: what is beyond `beyond` and ends
                                              outside of them violated nothing; none: all of it may have */
    int64_t excused;                       /* WHY_GAP: the end of a process explains a silence of so many ns */
    size_t open_count;
    const struct why_open *open; /* borrowed */
    size_t memory;               /* bytes for what threads did in the instances; 0: ACTIVITY_MEMORY */
};

/** What a change would do. */
struct why_prediction {
    char change[4 * MESSAGE_NAME_MAX + 32];
    struct whatif whatif;
};

struct why_answer {
    struct why_question question;
    struct slow_choice choice;
    struct activity activity;
    struct slow_terms terms;
    struct path path;           /* of the slowest instance */
    struct slack slack;         /* of messages, in it */
    struct imbalance imbalance; /* of the slow instances */
    struct sequences sequences; /* likewise */
    struct delays delays;       /* in them */
    size_t prediction_count;    /* of the change that was asked for; of WHY_BEST the one that gains most comes first */
    struct why_prediction *predictions;
    struct search search;
    int64_t cpu;         /* WHY_PATH: ns on CPUs of all threads */
    int64_t newest;      /* WHY_PATH: the latest time of a record that was read */
    uint64_t records;    /* WHY_PATH with a search: that programs made in its time */
    uint64_t late_spans; /* WHY_PATH: as in struct live */
    uint64_t missing;    /* records that were lost, or had expired, where instances were looked for: of any aspect */
    uint64_t elsewhere;  /* instances beyond the bound outside of the question's windows */
    uint64_t unplaced;   /* instances of an interval whose last record came before the first one */
    uint64_t too_long;   /* times of an interval that are known behind the run alone (interval_keep_late()): ... */
    int64_t longest;     /* ... the longest of them, ns; none is among the instances */
    struct run_reader_totals totals;
    char misuse[512]; /* the run has no such work; "": it has */
};

/**
 * Finds the answer in run directory `run`. Returns 0; BEZEL_EINVAL with a->misuse; or an error, which rundb_why()
 * explains. why_free() in all cases.
 */
int why_read(const char *run, const struct why_question *q, struct why_answer *a) BEZEL_MUST_CHECK;
void why_free(struct why_answer *a);

#define WHY_BEST "best" /* each change of one span, process or kind of wait, or of the place of one process */

/** Whether there is a prediction, if one was asked for. Pure. */
bool why_is_predicted(const struct why_answer *a);

/** Whether more than half of the time of the slow instances is explained. Pure. */
bool why_is_known(const struct why_answer *a);

/** Whether a search found something, or that there is nothing to be found. Pure. */
bool why_is_found(const struct why_answer *a);

/** How a question could not be put: a limit about something else than how long work took. */
struct why_refusal {
    const char *limit, *why; /* static */
};

/** Spans, waits or messages of the processes of one name that were counted, and not recorded. */
struct why_unrecorded {
    const char *process, *aspect; /* borrowed */
    uint64_t count;
    double cpu; /* of a CPU: what recording them would take at most; NaN: for how long they came is not known */
};

enum { WHY_UNRECORDED_MOST = 16 };

/** An aspect that was recorded, or counted again, since a search asked for it (analysis/deepen.h). */
struct why_turn {
    int64_t after; /* ns since the search began */
    char aspect[DICT_NAME_MAX + 1];
    bool on;
    double may, says, cost; /* as they were then */
};

enum { WHY_TURNS_MOST = 64 };

struct why_turns {
    int64_t from, until;   /* ns of the run's time: nothing was turned on then, but before; INT64_MIN: nothing was */
    const char *held_back; /* why nothing more was recorded that might say more, static; NULL: nothing might */
    size_t count;          /* the latest ones */
    struct why_turn turns[WHY_TURNS_MOST];
};

/** What is printed of a run. */
struct why_page {
    const char *run; /* as it is shown */
    int64_t started; /* ns of the run's time: times are since then */
    bool goes_on, several_nodes;
    size_t answer_count, refusal_count;
    const struct why_answer *answers;
    const struct why_refusal *refusals;
    bool search; /* the next are of a search */
    size_t unrecorded_count;
    const struct why_unrecorded *unrecorded;
    const struct why_turns *turns; /* that were made for it; NULL: it was not to make any */
};

/** Print it. Errors show in ferror(out). Pure but for `out`. */
void why_text(const struct why_page *p, FILE *out);
void why_json(const struct why_page *p, FILE *out);

/**
 * The answer in up to three sentences: how slow, what the slow have more, and where most of that is; or what is not
 * known, and what would make it known. Calls `put` with each. Pure but for `put`.
 */
void why_cause(const struct why_page *p, const struct why_answer *a, void (*put)(void *context, const char *text),
               void *context);

/** Writes the members that `bezel why --json` has of an answer, with the first terms and without pieces. Pure. */
void why_json_cause(const struct why_page *p, const struct why_answer *a, struct json *j);

/** What a term of the answer is, and where, as texts of at most `size` bytes each. Pure. */
void why_term_texts(const struct why_page *p, const struct why_answer *a, const struct slow_term *t, char *what,
                    char *where, size_t size);

enum { WHY_LIMITS_MOST = 8, WHY_QUESTIONS_MOST = 2 * WHY_LIMITS_MOST + 1 };
#define WHY_SLOWEST 0.01 /* of all, where neither an option nor a bound says which are slow */

/**
 * The questions that the violated limits of a run put, as many as WHY_LIMITS_MOST, and those that put none. `share`: of
 * the slowest, where no bound says which are slow.
 */
struct why_limits {
    size_t question_count, refusal_count;
    struct why_question questions[WHY_QUESTIONS_MOST]; /* of a search also the run, and its phases */
    struct why_refusal refusals[WHY_LIMITS_MOST];
    size_t open_count;
    struct why_open *open;           /* for free(); questions borrow it, as the next */
    struct activity_window *windows; /* of all questions */
};

/** By what the phases of a run are told apart. */
enum why_phases {
    WHY_NO_PHASES,
    WHY_FOUND,   /* steep changes of what the run did */
    WHY_SQUARES, /* the least squares of the same */
    WHY_KNOBS,   /* knobs were turned */
    WHY_DECISIONS,
    WHY_VIOLATIONS, /* they began or ended */
    WHY_PHASES
};

/** Reads what `--phases` takes. Returns 0 or BEZEL_EINVAL. Pure. */
int why_phases_by(const char *text, enum why_phases *by) BEZEL_MUST_CHECK;

/**
 * Adds question `q` for each phase of its time, WHY_LIMITS_MOST at most, to `w`. Returns 0, or an error as why_read().
 */
int why_find_phases(const char *run, enum why_phases by, const struct why_question *q,
                    struct why_limits *w) BEZEL_MUST_CHECK;

/** What `bezel why` was asked. All zeros: the limits that were violated. */
struct why_asked {
    struct why_question question; /* without an aspect: the limits that were violated put the questions */
    enum why_phases phases;
    bool slowest; /* its share counts, whatever a limit's bound says */
    bool search;  /* through hypotheses: of the limits that were violated, of the run, and of its phases */
    bool json;
    const struct why_turns *turns; /* as in why_page */
};

/** Notes that no path answers limit `l`, and why, a static sentence; not beyond WHY_LIMITS_MOST. Pure. */
void why_refuse(struct why_limits *w, const struct experiment_limit *l, const char *why);

/** Adds the question of violated limit `l` of `e`, which both are borrowed. Pure. */
void why_ask(struct why_limits *w, const struct experiment *e, const struct experiment_limit *l, double share);

#endif
