// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Values as text of OpenMetrics 1.0. A family is begun, then all its samples are added, those of one run after the
 * other. There are at most `most` lines of samples: what is beyond is left out, and counted for the run that it is of.
 * Names of a run (metrics, limits, aspects, processes) are values of labels, which hold any text: a byte that is no
 * UTF-8 becomes \xHH, as in utf8_escape(), so two names stay two. Pure, but for `out`.
 */
#ifndef BEZEL_MEDIATORS_METRICS_EXPOSITION_H
#define BEZEL_MEDIATORS_METRICS_EXPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { EXPOSITION_LABEL_MAX = 512 /* bytes of a value; what is beyond is cut */ };

enum exposition_type {
    EXPOSITION_COUNTER,
    EXPOSITION_GAUGE,
    EXPOSITION_HISTOGRAM,
    EXPOSITION_INFO,
    EXPOSITION_STATES,
    EXPOSITION_TYPES
};

struct exposition_family {
    const char *name; /* without the suffix that its type asks for; with the unit, if it has one, as its end */
    enum exposition_type type;
    const char *unit; /* NULL: none */
    const char *help;
};

struct exposition_label {
    const char *name, *value; /* a value of NULL: the label is missing */
};

/** Set `out` and `most`; the rest zero. */
struct exposition {
    FILE *out;
    size_t most, count;                     /* lines of samples */
    uint64_t *left_out;                     /* where those of the present run are counted */
    const char *run;                        /* the value of label `run`; NULL: samples have none */
    const struct exposition_family *family; /* private, as `begun` */
    bool begun;                             /* its head is written */
};

/** Begins a family. Its head is written with its first sample. `f` is borrowed. */
void exposition_begin(struct exposition *x, const struct exposition_family *f);

/** Adds a sample of a counter, gauge or info, whose value is 1. `labels` end with one without a name; NULL: none. */
void exposition_number(struct exposition *x, const struct exposition_label *labels, double value);
void exposition_count(struct exposition *x, const struct exposition_label *labels, uint64_t value);

/** Adds the states of `names`, which end with NULL: a line for each, of which number `is` has the value 1. */
void exposition_states(struct exposition *x, const struct exposition_label *labels, const char *const *names,
                       size_t is);

/**
 * Adds a histogram: `counts` of numbers up to each of `n` rising `edges`, not cumulative, and behind them that of the
 * numbers above all edges. `sum` NaN: it is not known.
 */
void exposition_histogram(struct exposition *x, const struct exposition_label *labels, const double *edges,
                          const uint64_t *counts, size_t n, double sum);

/** Writes the end, behind which there is nothing. */
void exposition_end(struct exposition *x);

#endif
