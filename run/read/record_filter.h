// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Which records of a run are wanted. Pure, but for the memory of the caller. */
#ifndef BEZEL_RUN_READ_RECORD_FILTER_H
#define BEZEL_RUN_READ_RECORD_FILTER_H

#include "base/condition.h"
#include "run/model/run_model.h"

#include <stdbool.h>

/** All of it must hold. Globs are fnmatch(3)'s without flags; NULL: any. */
struct record_filter {
    const char *node, *process, *aspect; /* globs on names; borrowed */
    bool no_monitor;                     /* none of the monitor's own processes */
    /* Which aspects; NULL: any. `of` is its own. */
    bool (*takes)(const void *of, const struct dict_aspect *aspect);
    const void *of;
    int64_t from, until;        /* ns of the run's time: from <= time < until; INT64_MAX: for ever */
    struct condition condition; /* a record without its field does not meet it */
};

/** The filter that lets everything through. */
#define RECORD_FILTER_ALL ((struct record_filter){.from = INT64_MIN, .until = INT64_MAX})

/**
 * Whether the names and the condition make sense for what `m` has: 0; BEZEL_ENOENT: no node, process, aspect or field
 * has such a name; BEZEL_EINVAL: the fields that have it cannot be compared so. *why is then the sentence for the
 * operator, in `text`, of `size` bytes, with the nearest name. A run without anything has nothing to compare names
 * with: they make sense.
 */
int record_filter_check(const struct record_filter *f, const struct model *m, char *text, size_t size) BEZEL_MUST_CHECK;

bool record_filter_takes(const char *glob, const char *name);
bool record_filter_takes_process(const struct record_filter *f, const struct model_process *p);

/** What is wanted of a process, by aspect id. */
enum { RECORD_UNWANTED = 0, RECORD_WANTED = 1, RECORD_IF = 2 /* plus the number of the field: if that meets it */ };

/** Fills `wanted` for the aspects of `d`. Returns whether any is wanted. */
bool record_filter_aspects(const struct record_filter *f, const struct dict *d, uint8_t wanted[DICT_ASPECTS_MAX + 1]);

/** Whether field `field` of record `r` meets the condition. */
bool record_filter_holds(const struct condition *c, const struct dict *d, const struct packet_record *r,
                         uint32_t field);

/** Whether `time`, of `node`'s clock in ns, lies in the filter's time. */
bool record_filter_in_time(const struct record_filter *f, const struct model_node *node, uint64_t time);

/**
 * Whether record `r` of process `p` is let through. `wanted`: of its aspect; `is_partly`: its time has to be looked at.
 */
static inline bool record_filter_lets(const struct record_filter *f, const struct model_process *p,
                                      const struct packet_record *r, uint8_t wanted, bool is_partly)
{
    if (wanted == RECORD_UNWANTED || (is_partly && !record_filter_in_time(f, p->node, r->timestamp)))
        return false;
    return wanted == RECORD_WANTED || record_filter_holds(&f->condition, p->dict, r, (uint32_t)(wanted - RECORD_IF));
}

/** Where records of `node` from time `begin` to `end` may lie. */
enum record_where { RECORD_OUTSIDE, RECORD_PARTLY, RECORD_INSIDE };
enum record_where record_filter_where(const struct record_filter *f, const struct model_node *node, uint64_t begin,
                                      uint64_t end);

#endif
