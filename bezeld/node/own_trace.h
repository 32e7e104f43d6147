// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The own trace: bezeld's records about itself (mdr/builtin.h). Each session has its own, a segment in the folder of
 * its node. One thread.
 */
#ifndef BEZEL_BEZELD_NODE_OWN_TRACE_H
#define BEZEL_BEZELD_NODE_OWN_TRACE_H

#include "mdr/builtin.h"
#include "sensor/shm/journal.h"

/**
 * Opens the journal in folder `dir`; its reader must have opened the folder before. Returns 0 with *j for
 * journal_close(), or an error of journal_open().
 */
int own_trace_open(const char *dir, struct journal **j) BEZEL_MUST_CHECK;

/** own_trace_record_<name>() records one struct builtin_<name>; a text that is NULL is recorded as none. */
#define OWN_TRACE_RECORD(NAME, name, table, owner, rows)                                                               \
    void own_trace_record_##name(struct journal *j, const struct builtin_##name *r);
BUILTINS(OWN_TRACE_RECORD)
#undef OWN_TRACE_RECORD

#endif
