// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mediators/engine/publish.h"

#include "base/checksum.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/retry_timer.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "collector/serve/serve_socket.h"
#include "run/read/run_missing.h"
#include "run/rundb/rundb_apply.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TURN          (100 * CLOCK_MS)
#define GRACE         (8 * CLOCK_S) /* for what is stored, once it is to end */
#define RETRY_FIRST   (500 * CLOCK_MS)
#define RETRY_LONGEST (10 * CLOCK_S)

/* A file of the run, as this session's reader numbers it. */
struct published_file {
    char *name;
    bool stream;
};

struct publish {
    const struct publish_options *o;
    struct engine *engine;
    struct serve_socket socket; /* to the reader */
    pid_t reader;               /* 0: none */
    struct published_file *files;
    uint32_t capacity;
    uint64_t behind; /* bytes of packets that the reader has not sent */
    bool over;       /* the reader has sent all; ... */
    bool whole;      /* ... and the run is over */
    uint64_t cut;    /* files that are damaged, or left out: they are not handed on whole */
    uint64_t gone;   /* messages that the engine has no more */
    bool asked;      /* the reader was asked for no more than what is stored */
    bool connected;  /* a session was, so far */
    int64_t end_at;  /* when it gives up, once it is to end; 0: it is not */
    char why[ENGINE_WHY_MAX];
};

static BEZEL_PRINTF(3, 4) int fail(struct publish *p, int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(p->why, sizeof p->why, format, args);
    va_end(args);
    return err;
}

static int fail_at_engine(struct publish *p, int err)
{
    return err ? fail(p, err, "%s", p->engine ? engine_why(p->engine) : err_text(err)) : 0;
}

/* ---- the reader -------------------------------------------------------------------------------------------------- */

/* Starts the reader of a session, and asks it for all that the run has. */
static int start_reader(struct publish *p)
{
    if (serve_socket_start_reader(p->o->server, p->o->run, &p->socket.fd, &p->reader) != 0)
        return fail(p, BEZEL_ESYS, "%s cannot be started: %s", p->o->server, ulimit_reason(BEZEL_ESYS));
    p->socket.message = (struct read_message){
        .type = READ_MIRROR, .mirror = {.follow = true, .rows = RUNDB_APPLY_VERSION, .credit = READ_CREDIT_MAX}};
    return serve_socket_send(&p->socket) == 0 ? 0 : fail(p, BEZEL_EUNREACH, "the reader of the run has ended");
}

static void stop_reader(struct publish *p)
{
    if (p->socket.fd >= 0)
        close(p->socket.fd);
    p->socket.fd = -1;
    if (p->reader) {
        kill(p->reader, SIGKILL); /* it only reads */
        waitpid(p->reader, NULL, 0);
    }
    p->reader = 0;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void forget_files(struct publish *p)
{
    for (uint32_t i = 0; i < p->capacity; i++)
        free(p->files[i].name);
    free(p->files);
    p->files = NULL;
    p->capacity = 0;
}

static struct published_file *find_file(struct publish *p, const struct read_file *m)
{
    if (m->number >= p->capacity) {
        uint32_t wanted = m->number < 32 ? 64 : 2 * (m->number + 1);
        if (!grow_zeroed(&p->files, &p->capacity, wanted, sizeof *p->files))
            return NULL;
    }
    struct published_file *it = &p->files[m->number];
    if (!it->name)
        *it = (struct published_file){.name = strdup(m->name), .stream = m->stream};
    return it->name ? it : NULL;
}

/* How much of the file the engine has, where that is what lies in the run directory; 0: none, or something else. */
static uint64_t end_of_same(int fd, const struct engine_message *last)
{
    uint8_t here[READ_BYTES_MAX];
    struct read_message m;
    if (read_message_decode(last->bytes, last->size, &m) != 0 || m.type != READ_BYTES)
        return 0;
    ssize_t n = pread(fd, here, m.bytes.count, (off_t)m.bytes.offset);
    bool same = n == (ssize_t)m.bytes.count && memcmp(here, m.bytes.bytes, (size_t)n) == 0;
    return same ? m.bytes.offset + m.bytes.count : 0;
}

static struct read_have have_of(int fd, uint32_t number, uint64_t bytes)
{
    uint8_t tail[READ_TAIL];
    size_t n = bytes < sizeof tail ? (size_t)bytes : sizeof tail;
    struct read_have have = {.number = number, .bytes = bytes};
    if (pread(fd, tail, n, (off_t)(bytes - n)) != (ssize_t)n)
        have.bytes = n = 0;
    have.sum = checksum_add(CHECKSUM_START, tail, n);
    return have;
}

/* Answers the reader, which offers a stream, with what the engine has of it. */
static int answer(struct publish *p, uint32_t number, const char *name)
{
    char path[PATH_MAX];
    struct engine_message last;
    int err = engine_flush(p->engine);
    int has = err ? err : engine_last(p->engine, name, &last);
    if (has < 0)
        return fail_at_engine(p, has);
    snprintf(path, sizeof path, "%s/%s", p->o->run, name);
    int fd = has ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    p->socket.message = (struct read_message){.type = READ_HAVE, .have = {.number = number, .sum = CHECKSUM_START}};
    if (fd >= 0) {
        p->socket.message.have = have_of(fd, number, end_of_same(fd, &last));
        close(fd);
    }
    return serve_socket_send(&p->socket) == 0 ? 0 : fail(p, BEZEL_EUNREACH, "the reader of the run has ended");
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static int put(struct publish *p, const char *key, bool once)
{
    return fail_at_engine(p, engine_put(p->engine, key, once, p->socket.bytes, p->socket.received));
}

/* The engine may have another run of that name. */
static int take_reading(struct publish *p, const struct read_reading *reading)
{
    struct engine_message last;
    struct read_message m;
    int has = engine_last(p->engine, "run", &last);
    if (has < 0)
        return fail_at_engine(p, has);
    bool known = has && read_message_decode(last.bytes, last.size, &m) == 0 && m.type == READ_READING;
    if (has && (!known || (m.reading.run[0] && strcmp(m.reading.run, reading->run) != 0)))
        return fail(p, BEZEL_EINVAL, "it has another run of that name: give this one another name (--name)");
    int err = put(p, "run", false);
    return err ? err : put(p, "rows", false);
}

static int take_file(struct publish *p, const struct read_file *m)
{
    const struct published_file *it = find_file(p, m);
    uint32_t number = m->number;
    if (!it)
        return fail(p, BEZEL_ENOMEM, "memory is short");
    if (strlen(it->name) > ENGINE_NAME_MAX - 8)
        return fail(p, BEZEL_EINVAL, "the name of %s is too long for it", it->name);
    int err = put(p, "files", false);
    return err || !it->stream ? err : answer(p, number, it->name);
}

static int take(struct publish *p, const struct read_message *m)
{
    const struct published_file *it;
    switch (m->type) {
    case READ_READING:
        return take_reading(p, &m->reading);
    case READ_FILE:
        return take_file(p, &m->file);
    case READ_BYTES:
        it = m->bytes.number < p->capacity ? &p->files[m->bytes.number] : NULL;
        if (!it || !it->name)
            return fail(p, BEZEL_EMALFORMED, "the reader sends bytes of no file");
        return it->stream ? put(p, it->name, true) : put(p, "files", false);
    case READ_ROWS:
        return put(p, "rows", false);
    case READ_STEP:
        p->behind = m->step.behind;
        return m->step.commit ? put(p, "rows", false) : 0;
    case READ_END:
        p->over = true;
        p->whole = m->end.why == READ_END_DONE && m->end.behind == 0;
        p->cut = m->end.cut;
        return m->end.why == READ_END_DONE || m->end.why == READ_END_STOPPED
                   ? put(p, "rows", false)
                   : fail(p, BEZEL_EMALFORMED, "the run cannot be read: %s", m->end.reason);
    default:
        return 0; /* watermarks are of live readers */
    }
}

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

/* Whether it is to end at once; at first it asks the reader for what is stored. */
static bool is_to_end(struct publish *p)
{
    bool ends = lifetime_terms(p->o->signals) > 0 || lifetime_is_deserted(p->o->parent_pipe);
    if (ends && !p->end_at)
        p->end_at = clock_now() + GRACE;
    if (p->end_at && !p->asked && p->socket.fd >= 0) {
        p->socket.message = (struct read_message){.type = READ_END};
        p->asked = serve_socket_send(&p->socket) == 0;
    }
    return p->end_at && clock_now() >= p->end_at;
}

static int take_next(struct publish *p)
{
    struct read_message m;
    int got = serve_socket_receive(&p->socket, TURN, &m);
    if (got == 0)
        return fail_at_engine(p, engine_flush(p->engine)); /* so a failure shows while the run is silent */
    return got == 1 ? take(p, &m) : fail(p, BEZEL_EUNREACH, "the reader of the run has ended");
}

/* One connection. Returns 0 when all is acknowledged, BEZEL_EAGAIN where it was to end, or an error. */
static int session(struct publish *p)
{
    p->over = p->whole = p->asked = false;
    int err = fail_at_engine(p, engine_open(p->o->url, p->o->name, true, &p->engine));
    if (!err)
        err = start_reader(p);
    while (!err && !p->over) {
        err = is_to_end(p) ? BEZEL_EAGAIN : take_next(p);
        p->connected = p->connected || (!err && p->behind == 0);
    }
    if (!err)
        err = fail_at_engine(p, engine_flush(p->engine));
    if (!err)
        err = fail_at_engine(p, engine_gone(p->engine, &p->gone));
    stop_reader(p);
    engine_close(p->engine);
    p->engine = NULL;
    forget_files(p);
    return err;
}

static void wait_some(struct publish *p, struct retry_timer *retry)
{
    retry_timer_fail(retry, retry->pause > 0, RETRY_FIRST, RETRY_LONGEST);
    int64_t until = clock_now() + retry->pause;
    while (clock_now() < until && !is_to_end(p))
        clock_sleep_until(clock_now() + TURN);
}

/* Says what the engine lacks. What was sent is not compared with its checksums on the way. */
static int end(const struct publish *p, int err)
{
    uint64_t damaged =
        !err && p->cut == 0 && p->whole ? run_missing(p->o->run, &RECORD_FILTER_ALL, UINT64_MAX, true) : p->cut;
    if (!err && damaged > 0) {
        log_error("BEZEL-ENGINE-CUT",
                  "%s has %s files of run %s as they are here, damaged, or only in part; 'bezel verify %s' names them",
                  p->o->url, units_count(damaged).s, p->o->name, p->o->run);
        return EXIT_FAILED;
    }
    if (!err && p->gone > 0) {
        log_error(
            "BEZEL-ENGINE-GONE",
            "%s has lost %s messages of run %s, which expired there or were deleted: the run cannot be made again "
            "from there; the run directory has all of it: remove what the engine has of it, or run bezel-engine "
            "--to %s --name NAME %s with another name",
            p->o->url, units_count(p->gone).s, p->o->name, p->o->url, p->o->run);
        return EXIT_FAILED;
    }
    if (!err && p->whole)
        return EXIT_OK;
    if (!err)
        log_warn("BEZEL-ENGINE-PART",
                 "%s has what was stored of run %s by now, and the run goes on: to hand on the "
                 "rest, run bezel-engine --to %s %s again",
                 p->o->url, p->o->name, p->o->url, p->o->run);
    else
        log_error("BEZEL-ENGINE",
                  "%s lacks a part of run %s: %s; the run directory has all of it: to hand it on, run "
                  "bezel-engine --to %s %s",
                  p->o->url, p->o->name, p->why[0] ? p->why : "there was no time", p->o->url, p->o->run);
    return err ? EXIT_FAILED : EXIT_OK;
}

int publish_run(const struct publish_options *o)
{
    struct publish *p = calloc(1, sizeof *p);
    struct retry_timer retry = {.pause = 0};
    int err;
    if (!p)
        return EXIT_FAILED;
    p->o = o;
    p->socket.fd = -1;
    while ((err = session(p)) == BEZEL_EUNREACH && !is_to_end(p)) {
        if (p->connected || retry.pause == 0)
            log_warn("BEZEL-ENGINE-AWAY", "%s: %s; the run is stored in its directory, and is handed on later", o->url,
                     p->why);
        if (p->connected)
            retry.pause = 0;
        p->connected = false;
        wait_some(p, &retry);
    }
    int code = end(p, err);
    free(p);
    return code;
}
