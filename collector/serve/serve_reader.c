// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/serve/serve_reader.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/folder_lock.h"
#include "base/saturate.h"
#include "collector/serve/serve_mirror.h"
#include "collector/serve/serve_schemas.h"
#include "collector/serve/serve_socket.h"
#include "mdr/parts.h"
#include "mdr/read_message.h"
#include "run/read/run_missing.h"
#include "run/read/run_reader.h"
#include "run/rundb/rundb_live.h"
#include <stdlib.h>
#include <string.h>

#define BEHIND_EVERY (100 * CLOCK_MS) /* between two looks at how much is stored, which cost up to 1 % of the time */

_Static_assert((int)READ_UNKNOWN == (int)RECORD_UNKNOWN && (int)READ_PROVEN == (int)RECORD_PROVEN &&
                   (int)READ_LATE == (int)RECORD_LATE && (int)READ_TACHYON == (int)RECORD_TACHYON &&
                   (int)READ_MOVED == (int)RECORD_MOVED && (int)READ_CONTRARY == (int)RECORD_CONTRARY,
               "orders are those of records");

struct serve_reader {
    const char *run;
    struct serve_socket *socket;
    struct read_request request;
    struct record_filter filter;
    struct run_reader *reader;
    struct serve_schemas schemas;
    uint64_t behind;
    int64_t behind_at; /* when `behind` is to be brought up to date */
    uint64_t age;      /* of the model that the schemas were looked up in */
    struct read_frame frame;
    uint8_t dictionary[MESSAGE_DICT_MAX];
};

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static int send_end(struct serve_reader *s)
{
    struct read_end *end = &s->socket->end;
    if (s->reader) {
        struct run_reader_totals totals = run_reader_totals(s->reader);
        end->records = totals.records;
        end->lost = totals.lost;
        end->late = totals.proofs[RECORD_LATE];
        end->cut = totals.cut;
        end->rest = totals.rest;
        end->behind = end->why == READ_END_DONE ? 0 : run_reader_behind(s->reader);
    }
    return serve_socket_send_end(s->socket);
}

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

static const char *glob_of(const char *text)
{
    return text[0] ? text : NULL;
}

static int read_filter(struct serve_reader *s)
{
    const struct read_request *q = &s->request;
    const char *why;
    s->filter = (struct record_filter){.node = glob_of(q->node),
                                       .process = glob_of(q->process),
                                       .aspect = glob_of(q->aspect),
                                       .no_monitor = q->no_monitor,
                                       .from = q->from,
                                       .until = q->until};
    if (q->where[0] && condition_read(q->where, &s->filter.condition, &why) != 0)
        return serve_socket_end(s->socket, BEZEL_EINVAL, "'%s': %s", q->where, why);
    return 0;
}

static bool goes_on(const struct serve_reader *s)
{
    return run_reader_goes_on(s->run);
}

static int read_since(struct serve_reader *s)
{
    int64_t newest = INT64_MIN, since = s->request.since <= INT64_MAX ? (int64_t)s->request.since : INT64_MAX;
    int err = since ? run_reader_newest(s->run, &s->filter, &newest) : 0;
    if (newest > INT64_MIN && saturate_add(newest, -since) > s->filter.from)
        s->filter.from = saturate_add(newest, -since);
    return err;
}

/* A run that has just begun may not have its database yet. */
static int open_run(struct serve_reader *s)
{
    int err = read_since(s);
    if (!err)
        err = run_reader_open_compared(s->run, &s->filter, RUN_MISSING_MOST, &s->reader);
    while (err == BEZEL_ENOENT && s->request.follow && goes_on(s) &&
           !serve_socket_is_ending(s->socket, SERVE_READER_LOOK)) {
        err = read_since(s);
        if (!err)
            err = run_reader_open_compared(s->run, &s->filter, RUN_MISSING_MOST, &s->reader);
    }
    if (err)
        return serve_socket_end_unread(s->socket, err);
    run_reader_buffers(s->reader, SERVE_READER_BUFFERS);
    return 0;
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static int send_schema(struct serve_reader *s, const struct model_process *p, uint32_t number)
{
    struct read_schema *m = &s->socket->message.schema;
    s->socket->message.type = READ_SCHEMA;
    *m = (struct read_schema){
        .number = number, .instance = p->instance, .pid = p->pid, .role = p->role, .dictionary = s->dictionary};
    memcpy(m->node, p->node->name, sizeof m->node);
    memcpy(m->uuid, p->node->uuid, sizeof m->uuid);
    memcpy(m->process, p->name, sizeof m->process);
    int n = serve_schemas_dictionary(p->dict, s->dictionary);
    m->dictionary_bytes = n > 0 ? (uint32_t)n : 0;
    return n < 0 ? n : serve_socket_send(s->socket);
}

/* Gives the number of the process's schema, which is sent first if it was not sent yet. */
static int find_schema(struct serve_reader *s, const struct model_process *p, uint32_t *number)
{
    int is_new = serve_schemas_find(&s->schemas, p, number);
    return is_new > 0 ? send_schema(s, p, *number) : is_new;
}

static int send_schemas(struct serve_reader *s)
{
    uint32_t number;
    int err = 0;
    for (const struct model_node *node = run_reader_model(s->reader, NULL)->nodes; node; node = node->next)
        for (const struct model_process *p = node->processes; p && !err; p = p->next)
            if (record_filter_takes(s->filter.node, node->name) && record_filter_takes_process(&s->filter, p))
                err = find_schema(s, p, &number);
    return err;
}

static int send_reading(struct serve_reader *s)
{
    char text[512] = "";
    const struct model *m = run_reader_model(s->reader, NULL);
    struct read_message *reading = &s->socket->message;
    int err = record_filter_check(&s->filter, m, text, sizeof text);
    if (err == BEZEL_EINVAL)
        return serve_socket_end(s->socket, err, "%s", text);
    err = s->request.schemas ? send_schemas(s) : 0;
    if (err)
        return err;
    reading->type = READ_READING;
    reading->reading = (struct read_reading){.grows = goes_on(s)};
    message_text(reading->reading.run, MESSAGE_NAME_MAX, m->run);
    message_text(reading->reading.note, MESSAGE_TEXT_MAX, text);
    return serve_socket_send(s->socket);
}

static void look_behind(struct serve_reader *s)
{
    int64_t start = clock_now();
    if (start < s->behind_at)
        return;
    s->behind = run_reader_behind(s->reader);
    int64_t now = clock_now(), pause = 100 * (now - start);
    s->behind_at = now + (pause > BEHIND_EVERY ? pause : BEHIND_EVERY);
}

static int flush_frame(struct serve_reader *s)
{
    if (s->frame.count == 0)
        return 0;
    look_behind(s);
    read_frame_end(&s->frame, s->behind);
    int err = serve_socket_put(s->socket, s->frame.bytes, s->frame.size);
    read_frame_begin(&s->frame);
    return err;
}

static int put(struct serve_reader *s, const struct record_item *from)
{
    struct read_item item = {.ring = from->packet->ring,
                             .thread = from->packet->thread,
                             .order = from->r ? (enum read_order)from->proof : READ_LOSS,
                             .run_time = from->at.ns,
                             .error = from->at.bound < INT64_MAX ? from->at.bound : -1,
                             .time = from->time,
                             .lost = from->lost};
    uint64_t age;
    (void)run_reader_model(s->reader, &age);
    if (age != s->age)
        serve_schemas_renewed(&s->schemas);
    s->age = age;
    int err = find_schema(s, from->process, &item.schema);
    if (!err && !read_frame_add(&s->frame, &item, from->r)) {
        err = flush_frame(s);
        if (!err && !read_frame_add(&s->frame, &item, from->r))
            err = BEZEL_EFULL; /* cannot happen: a frame has room for an item */
    }
    return err;
}

/* Sends all that there is for now. */
static int send_records(struct serve_reader *s)
{
    struct record_item item;
    int more, err = 0;
    while (!err && (more = run_reader_next(s->reader, &item)) > 0)
        err = put(s, &item);
    if (!err && more < 0)
        return serve_socket_end_unread(s->socket, more);
    return err ? err : flush_frame(s);
}

/* Whether a collector serves the run, or has died before it finished: then another one may go on with it. */
static bool is_unfinished(const struct serve_reader *s)
{
    return folder_is_held(s->run) || (goes_on(s) && !rundb_has_finished(s->run));
}

static int follow(struct serve_reader *s)
{
    for (bool ending = false;; ending = serve_socket_is_ending(s->socket, SERVE_READER_LOOK)) {
        bool more = s->request.follow && !ending && goes_on(s);
        int err = run_reader_look(s->reader, more ? RUN_READER_HOLD : RUN_READER_ALL);
        if (err)
            return serve_socket_end_unread(s->socket, err);
        err = send_records(s);
        if (!err && ending && s->request.follow && is_unfinished(s))
            return serve_socket_end_stopped(s->socket);
        if (err || !more)
            return err;
    }
}

static int serve(struct serve_reader *s)
{
    int err = read_filter(s);
    if (!err)
        err = open_run(s);
    if (!err)
        err = send_reading(s);
    if (!err && s->request.last != READ_LAST_ALL) {
        err = run_reader_last(s->reader, s->request.last, !s->request.follow);
        if (err)
            return serve_socket_end_unread(s->socket, err);
    }
    return err ? err : follow(s);
}

static int serve_items(const char *run, struct serve_socket *socket, const struct read_request *request)
{
    struct serve_reader *s = calloc(1, sizeof *s);
    if (!s)
        return BEZEL_ENOMEM;
    s->run = run;
    s->socket = socket;
    s->request = *request;
    read_frame_begin(&s->frame);
    int err = serve(s);
    if (err < 0 && socket->end.why == READ_END_DONE)
        (void)serve_socket_end_unread(socket, err);
    if (err != SERVE_GONE)
        err = send_end(s);
    run_reader_close(s->reader);
    serve_schemas_fini(&s->schemas);
    free(s);
    return err;
}

int serve_reader_run(const char *run, int fd)
{
    struct serve_socket *socket = calloc(1, sizeof *socket);
    struct read_message m;
    if (!socket)
        return EXIT_FAILED;
    socket->fd = fd;
    int err = serve_socket_receive(socket, -1, &m);
    if (err == 1 && m.type == READ_READ)
        err = serve_items(run, socket, &m.read);
    else if (err == 1 && m.type == READ_MIRROR)
        err = serve_mirror(run, socket, &m.mirror);
    free(socket);
    return err ? EXIT_FAILED : EXIT_OK;
}
