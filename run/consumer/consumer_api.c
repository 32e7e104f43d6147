// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* libbezel-consumer: <bezel/consumer.h> over the reader of a run, or of its server. */
#include <bezel/consumer.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/remote/remote_reader.h"
#include "run/read/run_missing.h"
#include "run/read/run_reader.h"
#include "run/rundb/rundb.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)BEZEL_CONSUMER_EINVAL == (int)BEZEL_EINVAL && (int)BEZEL_CONSUMER_ENOMEM == (int)BEZEL_ENOMEM &&
                   (int)BEZEL_CONSUMER_EMALFORMED == (int)BEZEL_EMALFORMED &&
                   (int)BEZEL_CONSUMER_EVERSION == (int)BEZEL_EVERSION &&
                   (int)BEZEL_CONSUMER_ENOENT == (int)BEZEL_ENOENT,
               "errors are those of base/err.h");
_Static_assert((int)BEZEL_CONSUMER_EUNREACH == (int)BEZEL_EUNREACH && (int)BEZEL_CONSUMER_EPERM == (int)BEZEL_EPERM,
               "likewise");
_Static_assert((int)BEZEL_CONSUMER_STRING == (int)DICT_STRING && (int)BEZEL_CONSUMER_ENUM == (int)DICT_ENUM &&
                   (int)BEZEL_CONSUMER_FLOAT64 == (int)DICT_FLOAT64 && (int)BEZEL_CONSUMER_INT64 == (int)DICT_INT64,
               "types are those of dictionaries");
_Static_assert((int)BEZEL_CONSUMER_TACHYON == (int)RECORD_TACHYON && (int)BEZEL_CONSUMER_MOVED == (int)RECORD_MOVED &&
                   (int)BEZEL_CONSUMER_CONTRARY == (int)RECORD_CONTRARY,
               "orders are those of records");
_Static_assert((int)BEZEL_CONSUMER_LATE == (int)RECORD_LATE && (int)BEZEL_CONSUMER_PROVEN == (int)RECORD_PROVEN &&
                   (int)BEZEL_CONSUMER_UNKNOWN == (int)RECORD_UNKNOWN,
               "likewise");

#define LOOK (250 * CLOCK_MS) /* between two looks */

enum { /* of programs that were compiled when there was no server, and no logical time */
       OPTIONS_LEAST = offsetof(struct bezel_consumer_options, keys),
       TOTALS_LEAST = offsetof(struct bezel_consumer_totals, behind),
       ITEM_LEAST = offsetof(struct bezel_consumer_item, logical_ns),
};

struct bezel_consumer {
    char *texts[4]; /* copies of the options' texts */
    char *run;
    bool follow, over;
    int64_t look_at;              /* when the next look is due */
    struct run_reader *reader;    /* of a run directory, ... */
    struct remote_reader *remote; /* ... or of a server: the other is NULL */
    struct record_item item;      /* the last one; `process` NULL: none */
    char text[DICT_LABELS_MAX + 1];
};

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static _Thread_local char reason[512];

static BEZEL_PRINTF(2, 3) int refuse(int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return err;
}

const char *bezel_consumer_reason(void)
{
    return reason;
}

/* Copies our struct of `ours` bytes into the caller's, whose size is its first member, as far as the caller has it. */
static void copy_out(void *to, const void *from, size_t ours)
{
    size_t size;
    memcpy(&size, to, sizeof size);
    memcpy((char *)to + sizeof size, (const char *)from + sizeof size, (size < ours ? size : ours) - sizeof size);
}

/* Whether a struct of `size` bytes has all members up to the end of the first version's, `least`. */
static bool is_size(size_t size, size_t least)
{
    return size >= least || (refuse(BEZEL_EINVAL, "the size of a struct is not set: sizeof it"), false);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static bool copy_text(const char *text, char **copy)
{
    *copy = text ? strdup(text) : NULL;
    return !text || *copy;
}

static int read_options(struct bezel_consumer *c, const struct bezel_consumer_options *o, struct record_filter *f)
{
    const char *why;
    if (!copy_text(o->node, &c->texts[0]) || !copy_text(o->process, &c->texts[1]) ||
        !copy_text(o->aspect, &c->texts[2]))
        return refuse(BEZEL_ENOMEM, "memory is short");
    f->node = c->texts[0];
    f->process = c->texts[1];
    f->aspect = c->texts[2];
    f->from = o->from_ns ? o->from_ns : INT64_MIN;
    f->until = o->until_ns ? o->until_ns : INT64_MAX;
    c->follow = o->follow != 0;
    if (o->where && condition_read(o->where, &f->condition, &why) != 0)
        return refuse(BEZEL_EINVAL, "'%s': %s", o->where, why);
    return 0;
}

static int open_run(struct bezel_consumer *c, const struct record_filter *f, uint64_t last)
{
    char text[sizeof reason - 64];
    int err = run_reader_open_compared(c->run, f, RUN_MISSING_MOST, &c->reader);
    if (!err && record_filter_check(f, run_reader_model(c->reader, NULL), text, sizeof text) == BEZEL_EINVAL)
        return refuse(BEZEL_EINVAL, "%s", text);
    if (!err && last)
        err = run_reader_last(c->reader, last, !c->follow);
    return err ? refuse(err, "cannot read %s: %s", c->run, rundb_why(err)) : 0;
}

static int open_directory(struct bezel_consumer *c, const char *run, const struct bezel_consumer_options *o)
{
    struct record_filter f = RECORD_FILTER_ALL;
    if (!(c->run = realpath(run, NULL)))
        return refuse(BEZEL_ENOENT, "there is no run %s", run);
    int err = read_options(c, o, &f);
    return err ? err : open_run(c, &f, o->last);
}

/* Copies a text into the `size` bytes of a message. */
static bool put_text(char *to, size_t size, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    if (n >= size)
        return false;
    memcpy(to, text ? text : "", n + 1);
    return true;
}

static int open_server(struct bezel_consumer *c, const char *endpoint, const struct bezel_consumer_options *o)
{
    struct read_request q = {.follow = o->follow != 0,
                             .from = o->from_ns ? o->from_ns : INT64_MIN,
                             .until = o->until_ns ? o->until_ns : INT64_MAX,
                             .last = o->last ? o->last : READ_LAST_ALL};
    struct remote_place place = {.endpoint = endpoint, .keys = o->keys, .key = o->key, .server = o->server_key};
    if (!put_text(q.node, sizeof q.node, o->node) || !put_text(q.process, sizeof q.process, o->process) ||
        !put_text(q.aspect, sizeof q.aspect, o->aspect) || !put_text(q.where, sizeof q.where, o->where))
        return refuse(BEZEL_EINVAL, "a glob has more than %d bytes, or a condition more than %d", MESSAGE_TEXT_MAX,
                      READ_WHERE_MAX);
    int err = remote_reader_open(&place, &q, &c->remote);
    return err ? refuse(err, "%s", c->remote ? remote_reader_why(c->remote) : "memory is short") : 0;
}

int bezel_consumer_open(const char *run, const struct bezel_consumer_options *options, struct bezel_consumer **consumer)
{
    struct bezel_consumer_options o = {.size = sizeof o};
    *consumer = NULL;
    log_mute();
    if (options && !is_size(options->size, OPTIONS_LEAST))
        return BEZEL_EINVAL;
    if (options)
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    struct bezel_consumer *c = calloc(1, sizeof *c);
    if (!c)
        return refuse(BEZEL_ENOMEM, "memory is short");
    int err = remote_link_is_endpoint(run) ? open_server(c, run, &o) : open_directory(c, run, &o);
    if (err)
        bezel_consumer_close(c);
    else
        *consumer = c;
    return err;
}

void bezel_consumer_close(struct bezel_consumer *c)
{
    if (!c)
        return;
    run_reader_close(c->reader);
    remote_reader_close(c->remote);
    for (size_t i = 0; i < sizeof c->texts / sizeof *c->texts; i++)
        free(c->texts[i]);
    free(c->run);
    free(c);
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

static void give(const struct record_item *from, struct bezel_consumer_item *to)
{
    struct bezel_consumer_item item = {
        .kind = from->r ? BEZEL_CONSUMER_RECORD : BEZEL_CONSUMER_LOSS,
        .order = (int)from->proof,
        .node = from->process->node->name,
        .process = from->process->name,
        .aspect = from->r ? from->aspect->name : NULL,
        .pid = from->process->pid,
        .ring = from->packet->ring,
        .thread = from->packet->thread,
        .fields = from->r ? from->aspect->field_count : 0,
        .time_ns = (int64_t)from->time,
        .run_time_ns = from->at.ns,
        .error_ns = from->at.bound < INT64_MAX ? from->at.bound : -1,
        .lost = from->lost,
        .logical_ns = from->logical,
    };
    copy_out(to, &item, sizeof item);
}

/* Looks for what is new. Returns 0 or an error. */
static int look(struct bezel_consumer *c)
{
    bool more = c->follow && run_reader_goes_on(c->run);
    int err = run_reader_look(c->reader, more ? RUN_READER_HOLD : RUN_READER_ALL);
    c->over = !more;
    c->look_at = clock_now() + LOOK;
    return err;
}

/* Waits until a look is due. False: `deadline` came before that. */
static bool wait_for_look(const struct bezel_consumer *c, int64_t deadline)
{
    int64_t until = c->look_at < deadline ? c->look_at : deadline;
    while (clock_now() < until)
        clock_sleep_until(until);
    return clock_now() >= c->look_at;
}

static int next_remote(struct bezel_consumer *c, struct bezel_consumer_item *item, int64_t deadline)
{
    int more = remote_reader_next(c->remote, &c->item, deadline);
    if (more > 0)
        give(&c->item, item);
    return more > 0               ? BEZEL_CONSUMER_ITEM
           : more == 0            ? BEZEL_CONSUMER_END
           : more == BEZEL_EAGAIN ? BEZEL_CONSUMER_LATER
                                  : refuse(more, "%s", remote_reader_why(c->remote));
}

static int next_stored(struct bezel_consumer *c, struct bezel_consumer_item *item, int64_t deadline)
{
    for (;;) {
        int more = run_reader_next(c->reader, &c->item);
        if (more > 0) {
            give(&c->item, item);
            return BEZEL_CONSUMER_ITEM;
        }
        if (more == 0 && c->over)
            return BEZEL_CONSUMER_END;
        if (more == 0 && !wait_for_look(c, deadline))
            return BEZEL_CONSUMER_LATER;
        if (more == 0)
            more = look(c);
        if (more < 0)
            return refuse(more, "cannot read %s: %s", c->run, rundb_why(more));
    }
}

int bezel_consumer_next(struct bezel_consumer *c, struct bezel_consumer_item *item, int timeout_ms)
{
    if (!c || !is_size(item->size, ITEM_LEAST))
        return BEZEL_EINVAL;
    int64_t deadline = timeout_ms < 0 ? INT64_MAX : clock_now() + timeout_ms * CLOCK_MS;
    c->item.process = NULL;
    return c->remote ? next_remote(c, item, deadline) : next_stored(c, item, deadline);
}

int bezel_consumer_get(struct bezel_consumer *c, uint32_t i, struct bezel_consumer_field *field)
{
    const struct record_item *item = &c->item;
    if (!is_size(field->size, sizeof *field))
        return BEZEL_EINVAL;
    if (!item->process || !item->r || i >= item->aspect->field_count)
        return refuse(BEZEL_EINVAL, "the last item has no field %u", (unsigned)i);
    const struct dict_field *f = &item->aspect->fields[i];
    struct record_value v = record_item_value(item->process->dict, item->r, i);
    struct bezel_consumer_field it = {.type = (int)f->type, .name = f->name, .unit = f->unit ? f->unit : ""};
    if (f->type == DICT_FLOAT64)
        it.real = v.real;
    else if (f->type != DICT_STRING)
        it.integer = (int64_t)packet_value(item->r, i);
    if (v.as == RECORD_TEXT) {
        snprintf(c->text, sizeof c->text, "%.*s", (int)v.length, v.text);
        it.text = c->text;
    }
    copy_out(field, &it, sizeof it);
    return 0;
}

static struct bezel_consumer_totals totals_of(const struct bezel_consumer *c)
{
    struct run_reader_totals t = {0};
    uint64_t behind;
    if (c->remote) {
        struct remote_reader_totals of = remote_reader_totals(c->remote);
        t = (struct run_reader_totals){.records = of.records, .lost = of.lost, .cut = of.cut};
        memcpy(t.proofs, of.proofs, sizeof t.proofs);
        behind = of.behind;
    } else {
        t = run_reader_totals(c->reader);
        behind = run_reader_behind(c->reader);
    }
    return (struct bezel_consumer_totals){.records = t.records,
                                          .lost = t.lost,
                                          .late = t.proofs[RECORD_LATE],
                                          .cut = t.cut,
                                          .behind = behind,
                                          .tachyons = t.proofs[RECORD_TACHYON],
                                          .moved = t.proofs[RECORD_MOVED],
                                          .contrary = t.proofs[RECORD_CONTRARY],
                                          .latency_ns = t.waited ? (int64_t)(t.waited_ns / t.waited) : 0,
                                          .latency_most_ns = t.waited_most,
                                          .expired = t.expired};
}

int bezel_consumer_totals(const struct bezel_consumer *c, struct bezel_consumer_totals *totals)
{
    if (!is_size(totals->size, TOTALS_LEAST))
        return BEZEL_EINVAL;
    struct bezel_consumer_totals it = totals_of(c);
    copy_out(totals, &it, sizeof it);
    return 0;
}
