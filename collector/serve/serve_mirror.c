// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/serve/serve_mirror.h"

#include "base/clock.h"
#include "base/folder_lock.h"
#include "collector/serve/serve_files.h"
#include "collector/serve/serve_reader.h"
#include "mdr/parts.h"
#include "run/read/run_reader.h"
#include "run/rundb/rundb_apply.h"
#include "run/rundb/rundb_changes.h"
#include "run/rundb/rundb_live.h"
#include "run/store/mirror_state.h"
#include "run/store/watermarks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Looks for streams and rows, and measurements of known streams, are as far apart as makes them a twentieth of the time
 * at most. Packets are sent as soon as they are measured: a mirror is behind by little more than the link.
 */
#define LOOK_PAUSE    (100 * CLOCK_MS)
#define MEASURE_PAUSE (2 * CLOCK_MS)  /* while streams grow */
#define MEASURE_QUIET (10 * CLOCK_MS) /* else */
#define SHARE         20

enum { MARKS = 4096 }; /* nodes whose watermarks are sent: as many as a collector can have */

struct serve_mirror {
    const char *run;
    struct serve_socket *socket;
    struct serve_files files;
    struct rundb_changes *changes;
    FILE *rows; /* of one snapshot */
    bool follow, grows;
    bool ending;    /* the server ends: it wants no more than what is stored by now, but for the run's last rows */
    bool last;      /* what is stored was measured for the last time ... */
    bool over;      /* ... after the run was over */
    bool caught_up; /* that was sent to the mirror, once */
    int64_t look_at, measure_at;
    struct read_step said;
    struct watermark *marks, *sent; /* that are to be sent; the last ones that were. NULL: there were none yet */
    size_t mark_count, sent_count;  /* mark_count 0: none is to be sent */
    uint8_t bytes[READ_BYTES_MAX];
};

/* A mirror that is not complete is served as a run that goes on: what is mirrored from it is not complete either. */
static bool goes_on(const struct serve_mirror *v)
{
    struct mirror_look look;
    mirror_state_look(v->run, &look);
    return look.partial || run_reader_goes_on(v->run);
}

static int64_t later(int64_t start, int64_t pause)
{
    int64_t now = clock_now(), cost = SHARE * (now - start);
    return now + (cost > pause ? cost : pause);
}

/* ---- what is said ------------------------------------------------------------------------------------------------ */

static int send_step(struct serve_mirror *v, bool commit)
{
    const struct read_step step = {.behind = v->files.behind, .grows = v->grows, .commit = commit};
    v->socket->end.behind = step.behind;
    v->said = step;
    v->socket->message.type = READ_STEP;
    v->socket->message.step = step;
    return serve_socket_send(v->socket);
}

static int send_reading(struct serve_mirror *v)
{
    struct read_message *m = &v->socket->message;
    m->type = READ_READING;
    m->reading = (struct read_reading){.grows = goes_on(v)};
    message_text(m->reading.run, MESSAGE_NAME_MAX, v->files.found.model->run);
    return serve_socket_send(v->socket);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int keep_rows(void *context, const void *bytes, size_t n)
{
    const struct serve_mirror *v = context;
    return n == 0 || fwrite(bytes, 1, n, v->rows) == n ? 0 : BEZEL_ESYS;
}

/* Takes the rows of a snapshot. Returns 1; 0 where nothing has changed; or an error. */
static int take_rows(struct serve_mirror *v, bool finished)
{
    int more = rundb_changes_begin(v->changes, finished);
    if (more <= 0)
        return more;
    rewind(v->rows);
    int err = rundb_changes_put(v->changes, RUNDB_CHANGES_EXPLAIN, keep_rows, v);
    if (!err)
        err = rundb_changes_put(v->changes, RUNDB_CHANGES_REST, keep_rows, v);
    int ended = rundb_changes_end(v->changes);
    return err ? err : ended ? ended : 1;
}

static int send_rows(struct serve_mirror *v)
{
    long left = ftell(v->rows);
    int err = left < 0 || fflush(v->rows) != 0 ? BEZEL_ESYS : 0;
    rewind(v->rows);
    while (!err && left > 0) {
        size_t want = left < (long)sizeof v->bytes ? (size_t)left : sizeof v->bytes;
        if (fread(v->bytes, 1, want, v->rows) != want)
            return BEZEL_ESYS;
        v->socket->message.type = READ_ROWS;
        v->socket->message.rows = (struct read_rows){.count = (uint32_t)want, .bytes = v->bytes};
        err = serve_socket_send(v->socket);
        left -= (long)want;
    }
    return err ? err : send_step(v, true);
}

/* ---- watermarks -------------------------------------------------------------------------------------------------- */

/* Reads them, before the look that finds what was stored by then. */
static void read_marks(struct serve_mirror *v)
{
    if (v->mark_count > 0)
        return;
    if (!v->marks)
        v->marks = calloc(2 * MARKS, sizeof *v->marks);
    if (!v->marks)
        return; /* the mirror gives records as if the collector had none */
    v->sent = v->marks + MARKS;
    v->mark_count = watermarks_read(v->run, v->marks, MARKS);
}

/* Sends those that are new, where all is sent that was stored when they were read. */
static int send_marks(struct serve_mirror *v)
{
    struct read_watermark *m = &v->socket->message.watermark;
    int err = 0;
    if (v->mark_count == 0 || !serve_files_passed(&v->files))
        return 0;
    int64_t now = clock_now();
    for (size_t i = 0; i < v->mark_count && !err; i++) {
        const struct watermark *it = &v->marks[i];
        if (i < v->sent_count && memcmp(it, &v->sent[i], sizeof *it) == 0)
            continue;
        v->socket->message.type = READ_WATERMARK;
        *m = (struct read_watermark){.low = it->low, .age = now > it->at ? (uint64_t)(now - it->at) : 0};
        memcpy(m->node, it->uuid, sizeof m->node);
        err = serve_socket_send(v->socket);
    }
    memcpy(v->sent, v->marks, v->mark_count * sizeof *v->marks);
    v->sent_count = v->mark_count;
    v->mark_count = 0;
    return err;
}

/* ---- the course -------------------------------------------------------------------------------------------------- */

/* Looks for what is new but packets, and sends it. Rows come after the model was loaded, so they explain as much. */
static int look(struct serve_mirror *v)
{
    int64_t start = clock_now();
    int err = serve_files_look(&v->files);
    int more = err ? err : take_rows(v, false);
    v->look_at = later(start, LOOK_PAUSE);
    if (more < 0)
        return more;
    err = more ? send_rows(v) : 0;
    return err ? err : serve_files_send_whole(&v->files);
}

static void measure(struct serve_mirror *v, bool all)
{
    int64_t start = clock_now();
    bool grew = serve_files_measure(&v->files, all);
    v->measure_at = later(start, grew ? MEASURE_PAUSE : MEASURE_QUIET);
}

/* Takes answers of the mirror, waiting for the first one for up to `ns`. */
static int take_answers(struct serve_mirror *v, int64_t ns)
{
    struct read_message m;
    int got, err = 0;
    while (!err && (got = serve_socket_receive(v->socket, ns, &m)) == 1) {
        if (m.type == READ_END)
            v->ending = true, v->look_at = 0;
        else
            err = m.type == READ_HAVE ? serve_files_take(&v->files, &m.have) : BEZEL_EMALFORMED;
        ns = 0;
    }
    err = err ? err : got == BEZEL_EUNREACH ? SERVE_GONE : got < 0 ? got : 0;
    if (err == BEZEL_EMALFORMED)
        err = serve_socket_end(v->socket, BEZEL_EINVAL, "the mirror answers what it was not asked");
    return err;
}

/* Whether the collector has finished, and `bezel run` is about to write the last rows. */
static bool is_closing(const struct serve_mirror *v)
{
    return !folder_is_held(v->run) && rundb_has_finished(v->run);
}

/* Looks for all that there is by now, at least. */
static int look_at_run(struct serve_mirror *v)
{
    bool over = !goes_on(v), last = !v->follow || over || (v->ending && !is_closing(v)); /* before the look */
    bool has_marks = v->mark_count > 0;
    read_marks(v);
    int err = look(v);
    if (!err && v->ending && !last)
        err = send_step(v, false); /* the server stays for those that still take something */
    measure(v, true);
    if (last)
        serve_files_look_for_covers(&v->files);
    if (!has_marks)
        serve_files_mark(&v->files);
    v->last = last;
    v->over = over;
    v->grows = !over;
    return err;
}

/* Looks and measures, where it is time to. */
static int find(struct serve_mirror *v)
{
    int64_t now = clock_now();
    if (!v->last && now >= v->look_at)
        return look_at_run(v);
    if (v->files.unexplained && now >= v->look_at)
        return look(v);
    if (!v->last && now >= v->measure_at)
        measure(v, false);
    return 0;
}

/* Sends for a turn. */
static int send_some(struct serve_mirror *v, bool *more)
{
    int err = serve_files_send(&v->files, more);
    bool caught_up = !err && !*more;
    bool news = v->files.behind != v->said.behind || v->grows != v->said.grows || (caught_up && !v->caught_up);
    v->caught_up = v->caught_up || caught_up;
    if (!err)
        err = send_marks(v);
    return err ? err : news ? send_step(v, false) : 0;
}

/* Sends what is held back while the run goes on. */
static int finish(struct serve_mirror *v)
{
    int more = v->over ? take_rows(v, true) : 0;
    int err = more < 0 ? more : more ? send_rows(v) : send_step(v, false);
    v->socket->end.cut = v->files.cut + v->files.found.left_out;
    v->socket->end.rest = v->files.rest;
    return !err && v->follow && !v->over ? serve_socket_end_stopped(v->socket) : err;
}

static int follow(struct serve_mirror *v)
{
    for (bool more = true;;) {
        int err = find(v);
        if (!err)
            err = send_some(v, &more);
        if (!err && v->last && !more)
            return finish(v);
        int64_t now = clock_now(), until = v->last || v->measure_at < v->look_at ? v->measure_at : v->look_at;
        bool waits = !more || serve_files_waits(&v->files) || v->files.unexplained;
        if (!err)
            err = take_answers(v, waits && until > now ? until - now : 0);
        if (err)
            return err;
    }
}

/* A run that has just begun may not have its database yet. */
static int open_run(struct serve_mirror *v, const struct read_mirror *request)
{
    int err = serve_files_init(&v->files, v->run, v->socket);
    while (err == BEZEL_ENOENT && v->follow && !v->ending && run_reader_goes_on(v->run)) {
        v->ending = serve_socket_is_ending(v->socket, SERVE_READER_LOOK);
        serve_files_fini(&v->files);
        memset(&v->files, 0, sizeof v->files);
        err = serve_files_init(&v->files, v->run, v->socket);
    }
    if (!err)
        err = rundb_changes_open(v->run, request->token, request->token_bytes, &v->changes);
    return err;
}

static int serve(struct serve_mirror *v, const struct read_mirror *request)
{
    if (request->rows != RUNDB_APPLY_VERSION)
        return serve_socket_end(v->socket, BEZEL_EVERSION,
                                "this server sends rows of version %d: use the same version of Bezel at both ends",
                                RUNDB_APPLY_VERSION);
    v->rows = tmpfile();
    if (!v->rows)
        return serve_socket_end(v->socket, BEZEL_ESYS, "the server has no room for a temporary file: %s",
                                strerror(errno));
    int err = open_run(v, request);
    if (!err)
        err = send_reading(v);
    return err ? err : follow(v);
}

int serve_mirror(const char *run, struct serve_socket *socket, const struct read_mirror *request)
{
    struct serve_mirror *v = calloc(1, sizeof *v);
    uint8_t token[READ_TOKEN_MAX];
    struct read_mirror copy = *request;
    if (!v)
        return BEZEL_ENOMEM;
    memcpy(token, request->token_bytes ? request->token : token,
           request->token_bytes); /* it lies in the socket's bytes */
    copy.token = token;
    v->run = run;
    v->socket = socket;
    v->follow = request->follow;
    v->grows = goes_on(v);
    int err = serve(v, &copy);
    if (err < 0 && socket->end.why == READ_END_DONE)
        (void)serve_socket_end_unread(socket, err);
    if (err != SERVE_GONE)
        err = serve_socket_send_end(socket);
    rundb_changes_close(v->changes);
    serve_files_fini(&v->files);
    free(v->marks);
    if (v->rows)
        (void)!fclose(v->rows);
    free(v);
    return err;
}
