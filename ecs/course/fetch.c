// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/fetch.h"

#include "base/file.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "base/uuid.h"
#include "base/words.h"
#include "bezeld/launch/launch_collector.h"
#include "ecs/course/rundir.h"
#include "mdr/message.h"
#include "mdr/run_file.h"
#include "run/rundb/rundb.h"
#include "run/rundb/rundb_live.h"
#include "run/store/mirror_state.h"
#include "run/verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * The run directory here has two writers, one after the other. `bezel run` wrote the experiment, and into run.db what
 * it alone knows: events, programs, how the run ended. The mirror adds the trace and the collector's rows, and replaces
 * nothing of that. While the file `away` is there nobody reads the run, so it may be in any state.
 *
 * The file goes when the database has the collector's RUNDB_FINISHED, which a mirror writes last; when no stream
 * contradicts the database; and when all of it is on the disk. What was damaged here since it came is copied again.
 * What is damaged there comes as far as it is whole: the run is home, its file `mirror` says what it lacks, and the
 * copy there stays.
 */
#define START_LIMIT  (15 * CLOCK_S) /* for a program there to be started, and then for its answer */
#define FINISH_LIMIT (60 * CLOCK_S) /* for a collector that reads the stored trace once more */
#define REMOVE_LIMIT (10 * CLOCK_S)
#define ASK_AGAIN    CLOCK_S /* without an answer */
#define TURN         (20 * CLOCK_MS)

enum { COPIES = 3, MESSAGES_A_TURN = 256 };

struct fetch {
    const struct fetch_options *o;
    struct fetch_result *result;
    struct remote_collector *place;
    int run; /* the directory here */
    int err;
    bool answered, ended; /* the server there */
    unsigned copies;      /* that were made of the run */
    unsigned spoilt;      /* streams here that were found damaged in the last one, and removed */
};

static int fail(struct fetch *f, int err, const char *format, ...) BEZEL_PRINTF(3, 4);

static int fail(struct fetch *f, int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!f->err)
        vsnprintf(f->result->why, FETCH_WHY_MAX, format, args);
    va_end(args);
    if (!f->err)
        f->err = err;
    return f->err;
}

static bool is_stopped(struct fetch *f)
{
    if (f->o->stop && f->o->stop(f->o->context))
        (void)fail(f, BEZEL_ETIMEDOUT, "it was interrupted");
    return f->err != 0;
}

static void wait_some(struct fetch *f, struct link *other)
{
    struct link *links[] = {f->place->caller.link, other};
    link_wait(links, 2, NULL, 0, TURN);
    remote_collector_turn(f->place);
}

/* ---- programs there ---------------------------------------------------------------------------------------------- */

/* Has `program` started there, unless it runs. */
static int start(struct fetch *f, const char *program)
{
    int64_t until = clock_now() + START_LIMIT;
    int status;
    remote_collector_start(f->place, program);
    while (!is_stopped(f) && f->place->phase != REMOTE_COLLECTOR_RUNS) {
        const char *why = f->place->why;
        wait_some(f, NULL);
        if (remote_collector_ended(f->place, &status))
            return f->ended = true, fail(f, BEZEL_EUNREACH, "%s", why[0] ? why : "its server does not start there");
        if (clock_now() > until)
            (void)fail(f, BEZEL_EUNREACH, "nothing answers at %s%s%s", f->place->node->address, why[0] ? ": " : "",
                       why);
    }
    return f->err;
}

/* A collector that was killed left a database behind that another one completes; one that goes on is ended. */
static int finish_collector(struct fetch *f)
{
    static struct message m; /* one thread; too large for a stack */
    struct command_caller caller = {.link = NULL};
    int64_t until = clock_now() + FINISH_LIMIT, asked = 0;
    int status, err = start(f, LAUNCH_COLLECTOR);
    if (!err && command_caller_open(&caller, f->place->control, remote_collector_access(f->place), f->place->run, ""))
        err = fail(f, BEZEL_EUNREACH, "cannot connect to %s", f->place->control);
    f->place->hurry = true;
    while (!err && !is_stopped(f) && !remote_collector_ended(f->place, &status)) {
        int64_t now = clock_now();
        bool known = caller.life != 0;
        for (int n = 0; n < MESSAGES_A_TURN && command_caller_receive(&caller, &m) == 0; n++)
            continue;
        if (now - asked > ASK_AGAIN || (!known && caller.life)) {
            asked = now;
            m.command = (struct message_command){.verb = VERB_SHUTDOWN};
            (void)!command_caller_send(&caller, &m);
        }
        if (now > until)
            (void)fail(f, BEZEL_ETIMEDOUT, "the collector there does not end");
        wait_some(f, caller.link);
    }
    command_caller_close(&caller, 0);
    return f->err;
}

/* Has the copy there removed. What is home stays home if that fails. */
static void discard(struct fetch *f)
{
    int64_t until = clock_now() + REMOVE_LIMIT;
    int status = -1;
    remote_collector_start(f->place, LAUNCH_COLLECTOR_DISCARD);
    f->place->hurry = true;
    while (!remote_collector_ended(f->place, &status) && clock_now() < until)
        wait_some(f, NULL);
    if (status != 0)
        log_warn("BEZEL-FETCH", "the run is home; its copy on node %s could not be removed: %s", f->place->node->name,
                 f->place->directory);
}

/* ---- the mirror -------------------------------------------------------------------------------------------------- */

static bool turn(void *context, const struct mirror_progress *progress)
{
    struct fetch *f = context;
    int status;
    f->answered = progress->answered;
    if (f->o->progress && progress->answered)
        f->o->progress(f->o->context, progress->taken, progress->taken + progress->behind);
    remote_collector_turn(f->place);
    f->ended = remote_collector_ended(f->place, &status);
    if (f->ended && f->answered)
        (void)fail(f, BEZEL_EUNREACH, "the server of the run there has ended");
    return !f->ended && !is_stopped(f);
}

static int mirror_from(struct fetch *f, const char *endpoint)
{
    char id[37];
    const struct mirror_options mirror = {.place = {.endpoint = endpoint,
                                                    .keys = endpoint_path(endpoint) ? NULL : f->place->keys,
                                                    .key = f->place->experiment->control_key,
                                                    .server = f->place->experiment->store.key},
                                          .dir = f->o->run,
                                          .home = uuid_print(f->place->run, id),
                                          .once = true,
                                          .turn = turn,
                                          .context = f,
                                          .why = f->result->why};
    f->answered = false;
    return mirror_run(&mirror);
}

/* Mirrors what is stored there, through the first proxy that leads there, or directly. */
static int mirror(struct fetch *f)
{
    const char *rest = f->place->proxies, *word;
    char endpoint[LINK_ENDPOINT_MAX];
    size_t n;
    int err;
    do {
        n = words_next(&rest, &word);
        snprintf(endpoint, sizeof endpoint, "%.*s", (int)(n ? n : strlen(f->place->control)),
                 n ? word : f->place->control);
        err = mirror_from(f, endpoint);
    } while (n && !f->err && !f->ended && err == BEZEL_EUNREACH && !f->answered);
    return err;
}

/* Whether another try may do better: the server has not answered yet, or was being ended since the last fetch. */
static bool may_pass(const struct fetch *f, int err)
{
    return !f->err && !f->answered && (f->ended || err == BEZEL_EUNREACH || err == BEZEL_EPERM);
}

/* One that is being ended refuses, and has to go before another one can take its place. */
static int copy(struct fetch *f)
{
    int64_t until = clock_now() + START_LIMIT;
    for (;;) {
        f->ended = false;
        int err = start(f, LAUNCH_COLLECTOR_SERVER);
        if (!err)
            err = mirror(f);
        if (!may_pass(f, err))
            return f->err ? f->err : (f->err = err); /* the reason is there */
        if (clock_now() > until)
            return err == BEZEL_EPERM ? (f->err = err)
                                      : fail(f, BEZEL_EUNREACH, "nothing answers at %s", f->place->control);
        if (err == BEZEL_EPERM)
            remote_collector_forget(f->place);
    }
}

/* The server takes commands' place, so it cannot start beside a collector that goes on. */
static int copy_finished(struct fetch *f)
{
    int err = copy(f);
    bool unfinished = err ? f->ended : !rundb_has_finished(f->o->run);
    if (!unfinished)
        return err;
    f->err = 0;
    if (!err)
        remote_collector_forget(f->place); /* the server, too */
    err = finish_collector(f);
    if (!err)
        err = copy(f);
    if (!err && !rundb_has_finished(f->o->run))
        (void)fail(f, BEZEL_EMALFORMED, "the collector there has not completed run.db: see %s", f->place->log);
    return f->err;
}

/* ---- what has come ----------------------------------------------------------------------------------------------- */

static void remove_spoilt(const struct verify_report *finding, void *context)
{
    struct fetch *f = context;
    if (finding->is == VERIFY_DAMAGED && f->copies < COPIES && run_file_ok(finding->file))
        f->spoilt += unlinkat(f->run, finding->file, 0) == 0;
}

/* What is damaged there, and cannot be had. Returns whether there is such. */
static bool find_lacks(struct fetch *f)
{
    struct mirror_state s;
    if (mirror_state_read(f->o->run, &s) != 1 || s.lacking == 0)
        return false;
    snprintf(f->result->why, FETCH_WHY_MAX, "it lacks a part of %" PRIu64 " files, which are damaged there: %s",
             s.lacking, s.lacks[0]);
    return true;
}

/* Compares trace and database; a stream that is damaged here is copied again, as long as that may help. */
static int verify(struct fetch *f)
{
    for (f->copies = 1; !find_lacks(f); f->copies++) {
        struct verify v = {.report = remove_spoilt, .context = f};
        f->spoilt = 0;
        int err = verify_run(&v, f->o->run);
        if (err)
            return fail(f, err, "%s cannot be verified: %s", f->o->run, ulimit_reason(err));
        if (verify_is(&v) < VERIFY_DAMAGED)
            return 0;
        if (f->spoilt == 0) {
            snprintf(f->result->why, FETCH_WHY_MAX, "it is damaged: 'bezel verify' says where");
            break;
        }
        if (copy(f) != 0)
            return f->err;
    }
    return BEZEL_EMALFORMED;
}

static const char *node_of(const void *context, const char *process)
{
    const struct experiment *e = context;
    for (uint32_t i = 0; i < e->process_count; i++)
        if (experiment_is_instance(&e->processes[i], process))
            return e->nodes[e->processes[i].node].name;
    return NULL;
}

/* Brings up to date what `bezel run` wrote before it had the rows of the collector. */
static int join(struct fetch *f)
{
    struct rundb *db;
    int err = rundb_open(f->o->run, &db);
    if (!err) {
        err = rundb_place_silent(db, node_of, f->place->experiment);
        int closed = rundb_close(db);
        err = err ? err : closed;
    }
    return err ? fail(f, err, "%s/run.db: %s", f->o->run, rundb_why(err)) : 0;
}

/* Returns 0; or BEZEL_EMALFORMED without f->err: it is here, as far as it can be. */
static int settle(struct fetch *f)
{
    int err = join(f), lacks = err ? 0 : verify(f);
    if (!f->err && syncfs(f->run) != 0)
        (void)fail(f, err_from_errno(errno), "%s: %s", f->o->run, strerror(errno));
    if (!f->err && rundir_note_away(f->o->run, NULL) != 0)
        (void)fail(f, BEZEL_ESYS, "%s/away cannot be removed: %s", f->o->run, strerror(errno));
    f->result->home = !f->err;
    return f->err ? f->err : lacks;
}

int fetch_run(const struct fetch_options *o, struct fetch_result *result)
{
    struct fetch f = {.o = o, .result = result, .place = o->place};
    *result = (struct fetch_result){.home = false};
    f.run = open(o->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f.run < 0)
        return fail(&f, err_from_errno(errno), "%s: %s", o->run, strerror(errno));
    int err = copy_finished(&f);
    if (!err)
        err = settle(&f);
    if (!err)
        discard(&f);
    if (f.result->home)
        remote_collector_forget(f.place);
    close(f.run);
    return err;
}
