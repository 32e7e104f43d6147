// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/record_tables.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "run/read/run_reader.h"

#include <stdlib.h>

enum { LOOK_EVERY = 1024 }; /* records between two looks at the clock */

struct readings {
    struct message_reading *messages; /* NULL: none are wanted */
    struct counter_reading counters;
    struct label_reading labels;
    bool wants_labels;
};

static bool takes(const void *readings, const struct dict_aspect *a)
{
    const struct readings *r = readings;
    return (r->messages && message_reading_wants(a)) || counter_reading_wants(&r->counters, a) ||
           (r->wants_labels && label_reading_wants(a));
}

/* Returns false where memory is short. */
static bool take(struct readings *r, const struct record_item *item)
{
    bool monitor = item->process->role == ROLE_DAEMON;
    if (monitor && counter_reading_wants(&r->counters, item->aspect))
        counter_reading_take(&r->counters, item);
    if (!monitor && r->wants_labels && label_reading_wants(item->aspect))
        label_reading_take(&r->labels, item);
    return !r->messages || !message_reading_wants(item->aspect) || message_reading_take(r->messages, item);
}

static int read_all(struct readings *r, struct run_reader *reader, int64_t deadline)
{
    struct record_item item;
    int more = 0;
    for (unsigned n = 1; (more = run_reader_next(reader, &item)) > 0; n++)
        if ((item.r && !take(r, &item)) || (n % LOOK_EVERY == 0 && clock_now() >= deadline)) {
            r->counters.table.cut = r->counters.counts;
            break;
        }
    return more < 0 ? more : 0;
}

int record_tables_read(const char *run, const struct record_tables_wanted *w, int64_t budget_ns,
                       struct record_tables *t)
{
    struct readings r = {.counters = {.counts = w->counts}, .wants_labels = w->labels};
    struct record_filter filter = RECORD_FILTER_ALL;
    struct run_reader *reader = NULL;
    int64_t begun = clock_now();
    *t = (struct record_tables){0};
    filter.takes = takes;
    filter.of = &r;
    r.messages = w->messages ? message_reading_new() : NULL;
    int err = w->messages && !r.messages ? BEZEL_ENOMEM : run_reader_open_all(run, &filter, &reader);
    if (!err)
        err = read_all(&r, reader, saturate_add(begun, budget_ns));
    run_reader_close(reader);
    int end = r.messages ? message_reading_end(r.messages, &t->messages) : 0;
    free(r.counters.before);
    t->counters = r.counters.table;
    t->labels = r.labels.table;
    return err ? err : end;
}

void record_tables_free(struct record_tables *t)
{
    message_table_free(&t->messages);
    counter_table_free(&t->counters);
    label_table_free(&t->labels);
}
