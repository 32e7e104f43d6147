// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by top_source*.c; top_source.h is the interface. */
#ifndef BEZEL_VIEWS_TOP_TOP_SOURCE_INTERNAL_H
#define BEZEL_VIEWS_TOP_TOP_SOURCE_INTERNAL_H

#include "config/experiment.h"
#include "metric/quantile.h"
#include "run/model/interval_times.h"
#include "run/verdict/verdict.h"
#include "views/picture/catalogue.h"
#include "views/picture/shown_record.h"
#include "views/picture/strip.h"
#include "views/top/top_source.h"
#include "views/why/why.h"

#include <limits.h>

/** What a process did in the shown interval. */
struct top_counts {
    uint64_t records, bytes, lost;
    int64_t last;                  /* end of the last packet of the process, ns of the node's clock */
    size_t first_item, item_count; /* its rows, in the view of aspects */
};

/** What the daemons of a node recorded last. `at` 0: nothing of the kind. */
struct top_node {
    struct builtin_usage usage;
    struct builtin_limit limits[MESSAGE_LIMITS_MAX];
    int64_t since[MESSAGE_LIMITS_MAX]; /* of a limit in violation: when it began to be */
    uint64_t records, bytes, lost, processes;
    bool unheard;                       /* nothing comes of it while the run goes on, whose newest time is shown */
    uint64_t ringless, ringless_before; /* lost by threads without a ring: so far, and before the shown interval */
};

/** Who had the CPU while a thread was ready. */
struct top_rival {
    const char *name; /* NULL: nobody is known */
    int64_t pid;      /* 0: none */
    int64_t had;      /* ns */
};

/** Statistics of a row of the view of aspects. */
struct top_stat {
    uint64_t records, values;
    double min, max;
    bool visible; /* it is on the screen, where not all rows have a histogram */
    struct quantile *quantile;
};

struct top_source {
    char *path;                    /* of the run directory */
    struct experiment *experiment; /* NULL: it cannot be read */
    struct catalogue c;
    uint64_t changes; /* of the catalogue, for which there are the counts */
    struct top_violation *violations;
    size_t violation_count;
    bool stale;                     /* the violations are to be made anew */
    int64_t judged_at, judge_again; /* clock_now() when the verdict was asked for, and is to be again; 0: not yet */
    bool judged_running;            /* the run went on then */
    struct summary *summary;
    struct verdict *verdict; /* NULL: there is none */

    /* Of the moment that was taken last. */
    bool judged; /* it is the newest of the run, of which the verdict is ... */
    bool at_end; /* ... and the run has ended: its verdict stands for the states of limits */
    int64_t time, interval;
    struct top_counts *counts; /* by process */
    struct top_node *nodes;
    struct top_item *items;
    size_t item_count, item_capacity;
    uint64_t left_out;
    struct top_stat *stats; /* by item */
    size_t stat_capacity;
    struct quantile *quantiles[TOP_QUANTILES_MAX];
    size_t quantile_count, quantiles_made;
    bool all_quantiles; /* of the rows of aspects all have one */
    struct shown_record *records;
    size_t record_count;
    int32_t records_limit; /* the limit that they are looked at for; -1: none */
    enum top_view view;
    struct top_rival *rivals; /* by index of the items of the view of threads */
    size_t rival_count;
    struct why_answer why; /* of the view of the path, with the texts of its rows */
    struct top_path_texts {
        char what[TOP_TEXT_MAX], where[TOP_TEXT_MAX];
    } * path_texts;
    struct interval_times times; /* of the view of intervals */
    char title[TOP_TEXT_MAX];
};

/** Adds a zeroed item with all values NaN; NULL: there are too many, or no memory. */
struct top_item *top_source_add(struct top_source *s);

/** The limit of the experiment; NULL: there is none of this number. */
const struct experiment_limit *top_source_limit(const struct top_source *s, int64_t limit);
const char *top_source_limit_text(const struct top_source *s, int64_t limit);

/** Whether process `i` is one that a view confined to `scope` shows. */
bool top_source_shows(const struct top_source *s, const struct top_state *state, struct top_id scope, size_t i);

/** The shown interval on the clock of `node`, with both ends included. */
void top_source_window(const struct top_source *s, uint32_t node, int64_t *from, int64_t *until);

/** Calls levels_records() for all streams that have something from `from` to `until` ns before the shown time. */
struct top_source_reading {
    struct top_source *s;
    size_t process, number; /* of the process, of the stream */
    const struct levels_stream *stream;
    void *context;
};
typedef int top_source_take_record(const struct top_source_reading *r, const struct packet_record *record,
                                   const struct levels_place *place);
int top_source_read(struct top_source *s, size_t stream, uint32_t aspect, int64_t from, int64_t until,
                    top_source_take_record *take, void *context) BEZEL_MUST_CHECK;

/**
 * Asks for the verdict, where it is due. `running`: the run goes on; `newest`: the moment is its newest, or its end.
 * ..._forget_verdict(): frees what that found.
 */
void top_source_judge(struct top_source *s, bool running, bool newest);
void top_source_forget_verdict(struct top_source *s);

/** What a limit on `node` is, of which `state` was recorded last. ..._count_limits(): counts what they are. */
enum verdict_is top_source_is(const struct top_source *s, uint32_t node, int32_t limit, int64_t state);
void top_source_count_limits(const struct top_source *s, struct top_data *d);

/** At the end of an ended run, gives `l` the worst value and the time in violation that the report has of it. */
void top_source_end_limit(const struct top_source *s, uint32_t node, int32_t limit, struct builtin_limit *l);

/** Finds what lasts in a run that goes on. ..._unheard(): whether nothing comes of `node`; TOP_ANY: of any. */
void top_source_find_lasting(struct top_source *s, struct top_data *d);
bool top_source_unheard(const struct top_source *s, uint32_t node);

/** Counts a record, or a loss. */
top_source_take_record top_source_count;

/**
 * Rows of aspects: made before the records of the shown interval are read, of streams whose process has rows with
 * top_source_read_values(), which counts, too; and finished behind that.
 */
int top_source_aspects(struct top_source *s, const struct top_state *state, struct top_id scope) BEZEL_MUST_CHECK;
int top_source_read_values(struct top_source *s, size_t stream, int64_t from, int64_t until) BEZEL_MUST_CHECK;
void top_source_finish_aspects(struct top_source *s);

/** Rows of the other views. */
int top_source_records(struct top_source *s, const struct top_state *state, struct top_id scope) BEZEL_MUST_CHECK;
int top_source_path(struct top_source *s) BEZEL_MUST_CHECK;
int top_source_messages(struct top_source *s, const struct top_state *state) BEZEL_MUST_CHECK;
int top_source_threads(struct top_source *s, const struct top_state *state, struct top_id scope) BEZEL_MUST_CHECK;
int top_source_intervals(struct top_source *s) BEZEL_MUST_CHECK;
int top_source_waits(struct top_source *s, const struct top_state *state, struct top_id scope) BEZEL_MUST_CHECK;
void top_source_decisions(struct top_source *s, struct top_id scope);
void top_source_losses(struct top_source *s, struct top_id scope);
void top_source_controller(const struct top_source *s, char *text, size_t size);

/** Texts of rows that are made when they are shown. */
void top_source_make_record(const struct top_source *s, const struct top_item *item, char *text, size_t size);
void top_source_make_decision(const struct top_source *s, const struct top_item *item, char *text, size_t size);
void top_source_make_loss(const struct top_source *s, const struct top_item *item, char *text, size_t size);
void top_source_make_rival(const struct top_rival *r, int64_t span, char *text, size_t size);

/** What thread `id` of a process did, for strip_fini(), also after an error; and who had the CPU longest meanwhile. */
int top_source_strip(struct top_source *s, size_t process, uint32_t id, int64_t from, int64_t until, size_t parts,
                     struct strip *strip, struct top_rival *rival) BEZEL_MUST_CHECK;

/** The run's time of an event. */
int64_t top_source_event_time(const struct top_source *s, const struct history_event *e);

#endif
