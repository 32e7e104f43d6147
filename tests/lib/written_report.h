// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The report of a sample run (sample_run.h) as a text. */
#ifndef BEZEL_TESTS_LIB_WRITTEN_REPORT_H
#define BEZEL_TESTS_LIB_WRITTEN_REPORT_H

#include "tests/lib/sample_run.h"
#include "tests/lib/test.h"
#include "views/report/report.h"

#include <stdlib.h>

#define REPORT_DIRECTORY "runs/20231114-221320-video"

typedef void report_writer(const struct report *r, FILE *out);

/** What `write` writes of the report of a run in `directory`; for free(). `running`: somebody runs it, if it has no
 * end; `all`: omit nothing. */
static inline char *report_written(const struct sample *s, const char *directory, report_writer *write, bool running,
                                   bool all)
{
    struct verdict *v;
    assert_int_equal(verdict_new(&s->summary, &s->experiment, running, &v), 0);
    struct report r = {.run = directory,
                       .summary = &s->summary,
                       .experiment = &s->experiment,
                       .verdict = v,
                       .all = all,
                       .messages = {s->message_count, (struct message_statistics *)s->messages},
                       .counters = {s->counter_count, false, (struct counter_statistics *)s->counters},
                       .labels = {s->label_count, (struct label_statistics *)s->labels}};
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    assert_non_null(out);
    write(&r, out);
    fclose(out);
    verdict_free(v);
    return text;
}

#endif
