// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/fetch.h"

#include "base/file.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "base/uuid.h"
#include "bezeld/launch/launch_collector.h"
#include "ecs/course/rundir.h"
#include "mdr/run_file.h"
#include "run/rundb/rundb.h"
#include "run/rundb/rundb_live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/*
 * run.db is copied into a folder of its own, joined there with the one that is here, and then renamed over it. Files of
 * the trace are copied to their places: as long as the run directory says that it is away, nobody reads them.
 */
#define FETCH_DATABASE ".fetched"

#define START_LIMIT  (15 * CLOCK_S) /* for the server of files to answer */
#define FINISH_LIMIT (60 * CLOCK_S) /* for a collector that reads the stored trace once more */
#define ASK_AGAIN    CLOCK_S        /* without an answer */
#define SILENCE      (10 * CLOCK_S) /* without an answer, after which it is given up */
#define NOTHING_NEW  (10 * CLOCK_S) /* with answers that bring nothing new, after which it is given up, and ... */
#define SUM_SLOWEST  (1 << 20)      /* ... bytes of a file for each further second, while its checksum is made there */
#define TURN         (20 * CLOCK_MS)
#define SUM_EVERY    (50 * CLOCK_MS) /* asks for checksums that were not made yet */

enum {
    IN_FLIGHT = 32,
    PIECES_A_TURN = 64,
    MESSAGES_A_TURN = 256,
    TRIES = 3,
    UNFIT_MAX = 100, /* answers in a row that do not fit what was asked; one comes for each that was lost */
};

struct fetch_file {
    char *name;
    uint64_t size, sum, have; /* have: bytes that are here, from the first on */
    bool summed, complete, checked;
    unsigned tries;
};

struct fetch {
    const struct fetch_options *o;
    char *why;
    int err;
    struct command_caller caller;
    int run, fd; /* the directory here; the file in work, -1: none */
    struct fetch_file *files;
    uint32_t count, total;
    bool listed;
    uint64_t bytes, done;        /* of all files; that are here */
    uint32_t fetching, checking; /* the files in work */
    uint32_t asking;             /* the file that was asked for last, and up to where */
    uint64_t asked;
    struct {
        uint32_t id, file; /* id 0: the place is free */
        uint64_t offset;
        enum message_subject subject;
    } in_flight[IN_FLIGHT];
    unsigned in_flight_count;
    uint64_t checked, sum;
    int64_t answered, asked_at, listed_at;
    int64_t advanced; /* when something came, or was done, by which the run is nearer home */
    unsigned unfit;   /* answers since */
};

enum fetch_step fetch_next_step(uint64_t here, uint64_t there)
{
    return here > there ? FETCH_FROM_START : here < there ? FETCH_REST : FETCH_CHECK;
}

static int fail(struct fetch *f, int err, const char *format, ...) BEZEL_PRINTF(3, 4);

static int fail(struct fetch *f, int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!f->err)
        vsnprintf(f->why, FETCH_WHY_MAX, format, args);
    va_end(args);
    if (!f->err)
        f->err = err;
    return f->err;
}

/* With errno. */
static void fail_to_write(struct fetch *f, const char *name)
{
    int sys = errno, err = err_from_errno(sys);
    fail(f, err, "cannot write %s/%s: %s%s", f->o->run, name, ulimit_reason(err), file_room(f->o->run, sys));
}

static bool is_stopped(struct fetch *f)
{
    if (f->o->stop && f->o->stop(f->o->context))
        fail(f, BEZEL_ETIMEDOUT, "it was interrupted");
    return f->err != 0;
}

static void wait_some(struct fetch *f, int64_t timeout)
{
    struct link *links[] = {f->caller.link, f->o->place->caller.link};
    link_wait(links, 2, NULL, 0, timeout);
}

/* ---- Whether it goes on ------------------------------------------------------------------------------------------ */

static void note_advance(struct fetch *f)
{
    f->advanced = clock_now();
    f->unfit = 0;
}

struct wanted {
    char text[MESSAGE_TEXT_MAX + 64];
};

/* What is to come next from there. */
static struct wanted describe_wanted(const struct fetch *f)
{
    struct wanted w;
    if (!f->listed)
        snprintf(w.text, sizeof w.text, "its list of files from number %u on", f->count);
    else if (f->fetching < f->count)
        snprintf(w.text, sizeof w.text, "%s from byte %" PRIu64 " on", f->files[f->fetching].name,
                 f->files[f->fetching].have);
    else
        snprintf(w.text, sizeof w.text, "the checksum of %s", f->files[f->checking].name);
    return w;
}

#define DOUBT "is a disk damaged there, or does another program answer?"

/* Takes an answer that does not fit what was asked. */
static void take_unfit(struct fetch *f)
{
    if (++f->unfit == UNFIT_MAX)
        fail(f, BEZEL_EMALFORMED, "%s has sent something else %d times in place of %s: " DOUBT, f->o->place->control,
             UNFIT_MAX, describe_wanted(f).text);
}

/* It is given up where nothing comes any more, and where what comes is nothing new. */
static void check_advance(struct fetch *f, int64_t now)
{
    const struct fetch_file *file = f->listed && f->checking < f->count ? &f->files[f->checking] : NULL;
    int64_t limit = NOTHING_NEW;
    if (file && file->complete && !file->summed)
        limit += (int64_t)(file->size / SUM_SLOWEST) * CLOCK_S;
    if (now - f->answered > SILENCE)
        fail(f, BEZEL_EUNREACH, "nothing comes any more from %s", f->o->place->control);
    if (now - f->advanced > limit)
        fail(f, BEZEL_EMALFORMED, "%s answers, but has not sent %s for %" PRId64 " s: " DOUBT, f->o->place->control,
             describe_wanted(f).text, limit / CLOCK_S);
}

/* ---- Files here -------------------------------------------------------------------------------------------------- */

/* Opens the file here. -1 with errno. */
static int open_file(const struct fetch *f, const struct fetch_file *file)
{
    bool database = strcmp(file->name, "run.db") == 0;
    return file_open_below(f->run, database ? FETCH_DATABASE "/run.db" : file->name);
}

static void close_file(struct fetch *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

/* Finds out how much of each file is here. */
static void look_at_files(struct fetch *f)
{
    for (uint32_t i = 0; i < f->count && !f->err; i++) {
        struct fetch_file *file = &f->files[i];
        struct stat st;
        int fd = open_file(f, file);
        if (fd < 0 || fstat(fd, &st) != 0) {
            fail_to_write(f, file->name);
        } else {
            enum fetch_step step = fetch_next_step((uint64_t)st.st_size, file->size);
            file->have = step == FETCH_FROM_START ? 0 : (uint64_t)st.st_size;
            file->complete = step == FETCH_CHECK;
            if (step == FETCH_FROM_START && ftruncate(fd, 0) != 0)
                fail_to_write(f, file->name);
            f->done += file->have;
        }
        if (fd >= 0)
            close(fd);
    }
}

/* ---- The other side ---------------------------------------------------------------------------------------------- */

static bool ask(struct fetch *f, enum message_subject subject, uint32_t from, uint64_t offset)
{
    static struct message m; /* one thread; too large for a stack */
    m.command = (struct message_command){.verb = VERB_QUERY, .subject = subject, .from = from, .offset = offset};
    int i = 0, id;
    while (i < IN_FLIGHT && f->in_flight[i].id)
        i++;
    if (i == IN_FLIGHT || (id = command_caller_send(&f->caller, &m)) <= 0)
        return false;
    f->in_flight[i].id = (uint32_t)id;
    f->in_flight[i].file = from;
    f->in_flight[i].offset = offset;
    f->in_flight[i].subject = subject;
    f->in_flight_count++;
    f->asked_at = clock_now();
    return true;
}

/* Answers that are still to come count for nothing; what is missing is asked for again. */
static void ask_anew(struct fetch *f)
{
    memset(f->in_flight, 0, sizeof f->in_flight);
    f->in_flight_count = 0;
    f->asking = f->fetching;
    f->asked = f->fetching < f->count ? f->files[f->fetching].have : 0;
    f->asked_at = clock_now();
}

static bool add_file(struct fetch *f, const struct message_file *row)
{
    struct fetch_file *file = &f->files[f->count];
    if (!run_file_ok(row->name) || row->size > RUN_FILE_SIZE_MAX || f->bytes + row->size > RUN_FILE_SIZE_MAX) {
        fail(f, BEZEL_EMALFORMED, "%s lists a file that no run has: '%.100s', %s: " DOUBT, f->o->place->control,
             row->name, units_bytes(row->size).s);
        return false;
    }
    *file = (struct fetch_file){.name = strdup(row->name), .size = row->size};
    if (!file->name)
        return fail(f, BEZEL_ENOMEM, "%s", err_text(BEZEL_ENOMEM)), false;
    f->bytes += row->size;
    f->count++;
    note_advance(f);
    return true;
}

/* A checksum is known for good: a server that was started again makes all of them once more. */
static void take_sum(struct fetch *f, struct fetch_file *file, const struct message_file *row)
{
    if (strcmp(file->name, row->name) != 0 || file->size != row->size ||
        (file->summed && row->summed && file->sum != row->sum)) {
        fail(f, BEZEL_EMALFORMED, "%s has changed there, at %s: " DOUBT, file->name, f->o->place->control);
    } else if (row->summed && !file->summed) {
        file->summed = true;
        file->sum = row->sum;
        note_advance(f);
    }
}

/* The first list makes the files known; later ones their checksums. */
static void take_list(struct fetch *f, const struct message_file_list *list)
{
    uint32_t before = f->count;
    if (!f->files) {
        f->total = list->total;
        f->files = list->total > 0 && list->total <= RUN_FILES_MAX ? calloc(list->total, sizeof *f->files) : NULL;
        if (!f->files) {
            fail(f, BEZEL_EMALFORMED, "%s lists %u files, and a run has 1 to %d: " DOUBT, f->o->place->control,
                 list->total, RUN_FILES_MAX);
            return;
        }
    }
    for (uint32_t i = 0; i < list->count && !f->err; i++) {
        const struct message_file *row = &list->files[i];
        uint64_t number = (uint64_t)list->first + i;
        if (list->total != f->total || number > f->count || number >= f->total)
            break;
        if (number == f->count && !add_file(f, row))
            return;
        take_sum(f, &f->files[number], row);
    }
    if (!f->listed && f->count == before)
        take_unfit(f);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Two files of one name would overwrite each other. */
static void check_names(struct fetch *f)
{
    char **names = calloc(f->count, sizeof *names);
    for (uint32_t i = 0; names && i < f->count; i++)
        names[i] = f->files[i].name;
    if (names)
        qsort(names, f->count, sizeof *names, compare_names);
    else
        fail(f, BEZEL_ENOMEM, "%s", err_text(BEZEL_ENOMEM));
    for (uint32_t i = 1; names && i < f->count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            fail(f, BEZEL_EMALFORMED, "%s lists %s twice: " DOUBT, f->o->place->control, names[i]);
    free(names);
}

static void pass_complete(struct fetch *f)
{
    while (f->fetching < f->count && f->files[f->fetching].complete) {
        close_file(f);
        f->fetching++;
    }
}

/* Parts come in the order in which they were asked for; another one means that some are lost. */
static void take_part(struct fetch *f, uint32_t number, uint64_t offset, const struct message_output *part)
{
    pass_complete(f);
    struct fetch_file *file = f->fetching < f->count ? &f->files[f->fetching] : NULL;
    if (!file || number != f->fetching || offset != file->have || part->offset != offset ||
        part->count > file->size - file->have || part->count == 0) {
        ask_anew(f);
        take_unfit(f);
        return;
    }
    if (f->fd < 0)
        f->fd = open_file(f, file);
    for (uint32_t n = 0; n < part->count && !f->err;) {
        ssize_t wrote = f->fd < 0 ? -1 : pwrite(f->fd, part->bytes + n, part->count - n, (off_t)(file->have + n));
        if (wrote < 0 && errno != EINTR)
            fail_to_write(f, file->name);
        n += wrote > 0 ? (uint32_t)wrote : 0;
    }
    file->have += part->count;
    f->done += part->count;
    file->complete = file->have == file->size;
    note_advance(f);
}

static void take_reply(struct fetch *f, const struct message *m)
{
    int i = 0;
    f->answered = clock_now();
    while (i < IN_FLIGHT && (m->reply.id == 0 || f->in_flight[i].id != m->reply.id))
        i++;
    if (i == IN_FLIGHT)
        return; /* it was asked for anew */
    enum message_subject subject = f->in_flight[i].subject;
    f->in_flight[i].id = 0;
    f->in_flight_count--;
    if (m->reply.answer == ANSWER_REFUSED) {
        fail(f, BEZEL_ESYS, "%s", m->reply.text);
    } else if (m->reply.answer == ANSWER_FILES && subject == SUBJECT_FILES) {
        take_list(f, &m->files);
    } else if (m->reply.answer == ANSWER_OUTPUT && subject == SUBJECT_FILE) {
        take_part(f, f->in_flight[i].file, f->in_flight[i].offset, &m->output);
    } else {
        ask_anew(f);
        take_unfit(f);
    }
}

static void receive(struct fetch *f)
{
    static struct message m; /* one thread; too large for a stack */
    int err;
    for (int n = 0; n < MESSAGES_A_TURN && !f->err; n++) {
        if ((err = command_caller_receive(&f->caller, &m)) == BEZEL_EAGAIN)
            return;
        if ((!err || err == BEZEL_EVERSION) && m.type == MESSAGE_REFUSE)
            fail(f, BEZEL_EPERM, "%s", m.refuse.reason);
        else if (!err && m.type == MESSAGE_REPLY)
            take_reply(f, &m);
        else
            take_unfit(f);
    }
}

/* ---- The work ---------------------------------------------------------------------------------------------------- */

static void ask_for_list(struct fetch *f)
{
    if (f->in_flight_count == 0 && (!f->files || f->count < f->total))
        (void)ask(f, SUBJECT_FILES, f->count, 0);
    if (!f->files || f->count < f->total)
        return;
    struct statvfs space;
    f->listed = true;
    check_names(f);
    if (!f->err)
        look_at_files(f);
    if (fstatvfs(f->run, &space) == 0 && (uint64_t)space.f_bavail * space.f_frsize < f->bytes - f->done)
        fail(f, BEZEL_ENOSPC, "%s has no room for %s: make room there", f->o->run, units_bytes(f->bytes - f->done).s);
    f->fetching = 0;
    ask_anew(f);
}

/* Asks for parts of one file after the other, ahead of those that come. */
static void ask_for_parts(struct fetch *f)
{
    pass_complete(f);
    for (;;) {
        while (f->asking < f->count && (f->files[f->asking].complete || f->asked >= f->files[f->asking].size)) {
            f->asking++;
            f->asked = f->asking < f->count ? f->files[f->asking].have : 0;
        }
        if (f->asking == f->count || !ask(f, SUBJECT_FILE, f->asking, f->asked))
            return;
        f->asked += MESSAGE_OUTPUT_MAX;
    }
}

static void compare(struct fetch *f, struct fetch_file *file)
{
    if (f->sum == file->sum) {
        file->checked = true;
    } else if (++file->tries == TRIES) {
        fail(f, BEZEL_EMALFORMED, "%s differs from the one there after %d copies: is a disk damaged?", file->name,
             TRIES);
    } else {
        f->done -= file->size;
        file->have = 0;
        file->complete = false;
        close_file(f);
        f->fetching = f->checking; /* those behind it that are complete are passed over */
        ask_anew(f);
    }
    f->checking += file->checked;
    f->checked = f->sum = 0;
}

/* Checks files that are complete, a few pieces at a time. Returns whether it has worked. */
static bool check_some(struct fetch *f)
{
    static uint8_t piece[RUN_FILE_PIECE]; /* one thread */
    if (f->checking == f->count || !f->files[f->checking].complete)
        return false;
    struct fetch_file *file = &f->files[f->checking];
    if (!file->summed) {
        if (clock_now() - f->listed_at > SUM_EVERY && ask(f, SUBJECT_FILES, f->checking, 0))
            f->listed_at = clock_now();
        return false;
    }
    int fd = open_file(f, file);
    for (int i = 0; i < PIECES_A_TURN && f->checked < file->size && !f->err; i++) {
        size_t n = file->size - f->checked < sizeof piece ? (size_t)(file->size - f->checked) : sizeof piece;
        if (fd < 0 || pread(fd, piece, n, (off_t)f->checked) != (ssize_t)n)
            fail(f, BEZEL_ESYS, "cannot read %s/%s", f->o->run, file->name);
        f->sum = run_file_sum(f->sum, piece, n);
        f->checked += n;
    }
    note_advance(f);
    if (fd >= 0)
        close(fd);
    if (!f->err && f->checked == file->size)
        compare(f, file);
    return true;
}

static void work(struct fetch *f)
{
    while (!is_stopped(f) && !(f->listed && f->checking == f->count)) {
        int64_t now = clock_now();
        int status;
        remote_collector_turn(f->o->place);
        receive(f);
        if (f->err)
            return;
        if (!f->listed)
            ask_for_list(f);
        else
            ask_for_parts(f);
        bool busy = f->listed && check_some(f);
        if (f->o->progress && f->listed)
            f->o->progress(f->o->context, f->done, f->bytes);
        if (f->in_flight_count > 0 && now - f->asked_at > ASK_AGAIN && now - f->answered > ASK_AGAIN)
            ask_anew(f);
        check_advance(f, now);
        if (remote_collector_ended(f->o->place, &status))
            fail(f, BEZEL_EUNREACH, "the server of its files there has ended");
        wait_some(f, busy ? 0 : TURN);
    }
}

/* ---- Before and after -------------------------------------------------------------------------------------------- */

/* Has `program` started there, and waits until it answers. */
static int start(struct fetch *f, const char *program)
{
    const struct remote_collector *place = f->o->place;
    int64_t until = clock_now() + START_LIMIT, asked = 0;
    int status;
    remote_collector_start(f->o->place, program);
    command_caller_close(&f->caller, 0);
    while (!is_stopped(f)) {
        static struct message m; /* one thread; too large for a stack */
        int64_t now = clock_now();
        remote_collector_turn(f->o->place);
        if (place->phase == REMOTE_COLLECTOR_RUNS && !f->caller.link &&
            command_caller_open(&f->caller, place->control, remote_collector_access(place), place->run, "") != 0)
            return fail(f, BEZEL_EUNREACH, "cannot connect to %s", place->control);
        if (remote_collector_ended(f->o->place, &status))
            return fail(f, BEZEL_EUNREACH, "%s", place->why[0] ? place->why : "it does not start there");
        if (f->caller.link && now - asked > TURN * 10 && (asked = now) != 0) {
            m.command = (struct message_command){.verb = VERB_QUERY};
            (void)!command_caller_send(&f->caller, &m);
        }
        for (int n = 0; n < MESSAGES_A_TURN && command_caller_receive(&f->caller, &m) == 0; n++)
            if (m.type == MESSAGE_REPLY)
                return f->answered = clock_now(), note_advance(f), ask_anew(f), 0;
        if (now > until)
            fail(f, BEZEL_EUNREACH, "nothing answers at %s%s%s",
                 place->caller.life ? place->control : place->node->address, place->why[0] ? ": " : "", place->why);
        wait_some(f, TURN);
    }
    return f->err;
}

/* A collector that was killed left a database behind that another one completes. */
static int finish_collector(struct fetch *f)
{
    static struct message m; /* one thread; too large for a stack */
    int64_t until = clock_now() + FINISH_LIMIT, asked = 0;
    int status = -1, err = start(f, LAUNCH_COLLECTOR);
    f->o->place->hurry = true;
    while (!err && !is_stopped(f) && !remote_collector_ended(f->o->place, &status)) {
        int64_t now = clock_now();
        remote_collector_turn(f->o->place);
        for (int n = 0; n < MESSAGES_A_TURN && command_caller_receive(&f->caller, &m) == 0; n++)
            continue;
        if (now - asked > ASK_AGAIN) {
            asked = now;
            m.command = (struct message_command){.verb = VERB_SHUTDOWN};
            (void)!command_caller_send(&f->caller, &m);
        }
        if (now > until)
            fail(f, BEZEL_ETIMEDOUT, "the collector there does not end");
        wait_some(f, TURN);
    }
    return f->err;
}

static const char *node_of(const void *context, const char *process)
{
    const struct experiment *e = context;
    for (uint32_t i = 0; i < e->process_count; i++)
        if (experiment_is_instance(&e->processes[i], process))
            return e->nodes[e->processes[i].node].name;
    return NULL;
}

/* Joins the two databases, and puts the joined one in place. */
static int join_databases(struct fetch *f, const char *id)
{
    char folder[PATH_MAX], from[PATH_MAX + 8], to[PATH_MAX + 8], run[64] = "";
    struct rundb *db;
    if (snprintf(folder, sizeof folder, "%s/" FETCH_DATABASE, f->o->run) >= (int)sizeof folder)
        return fail(f, BEZEL_EINVAL, "%s: its path is too long", f->o->run);
    snprintf(from, sizeof from, "%s/run.db", folder);
    snprintf(to, sizeof to, "%s/run.db", f->o->run);
    int err = rundb_open(folder, &db);
    if (err)
        return fail(f, err, "%s: %s", from, rundb_why(err));
    if (rundb_get(db, "run", run, sizeof run) != 0 || strcmp(run, id) != 0)
        fail(f, BEZEL_EMALFORMED, "%s is not the database of this run", from);
    if (!f->err)
        err = rundb_lasting(db);
    if (!f->err && !err && (err = rundb_adopt(db, f->o->run, node_of, f->o->place->experiment)) != 0)
        fail(f, err, "cannot join %s with %s: %s", from, to, rundb_why(err));
    int closed = rundb_close(db);
    if (!f->err && (err || closed))
        fail(f, err ? err : closed, "%s: %s", from, rundb_why(err ? err : closed));
    if (!f->err && rename(from, to) != 0)
        fail(f, err_from_errno(errno), "cannot rename %s: %s", from, strerror(errno));
    if (!f->err)
        (void)!file_remove_tree(folder);
    return f->err;
}

/* Has the copy there removed. What is home stays home if that fails. */
static void discard(struct fetch *f)
{
    static struct message m; /* one thread; too large for a stack */
    int64_t until = clock_now() + SILENCE, asked = 0;
    bool gone = false;
    int status;
    while (!gone && clock_now() < until) {
        if (clock_now() - asked > ASK_AGAIN) {
            asked = clock_now();
            m.command = (struct message_command){.verb = VERB_DISCARD};
            (void)!command_caller_send(&f->caller, &m);
        }
        wait_some(f, TURN);
        remote_collector_turn(f->o->place);
        for (int n = 0; n < MESSAGES_A_TURN && command_caller_receive(&f->caller, &m) == 0; n++)
            gone =
                gone || (m.type == MESSAGE_REPLY && m.reply.answer == ANSWER_FILES && m.reply.state == DAEMON_DRAINING);
        gone = gone || (remote_collector_ended(f->o->place, &status) && status == 0);
    }
    if (!gone)
        log_warn("BEZEL-FETCH", "the run is home; its copy on node %s could not be removed: %s",
                 f->o->place->node->name, f->o->place->directory);
    remote_collector_forget(f->o->place);
}

static void close_all(struct fetch *f)
{
    close_file(f);
    command_caller_close(&f->caller, 0);
    for (uint32_t i = 0; i < f->count; i++)
        free(f->files[i].name);
    free(f->files);
    if (f->run >= 0)
        close(f->run);
}

/* Starts the server of files; where the collector did not end in good order, another one has to do that before. */
static void begin(struct fetch *f)
{
    if (start(f, LAUNCH_COLLECTOR_FILES) == 0)
        return;
    if (f->err != BEZEL_EUNREACH || !f->o->place->known)
        return;
    f->err = 0;
    if (finish_collector(f) == 0)
        (void)start(f, LAUNCH_COLLECTOR_FILES);
}

int fetch_run(const struct fetch_options *o, char why[FETCH_WHY_MAX])
{
    struct fetch f = {.o = o, .why = why, .fd = -1};
    char id[37];
    f.run = open(o->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f.run < 0)
        return fail(&f, err_from_errno(errno), "%s: %s", o->run, strerror(errno));
    uuid_print(o->place->run, id);
    begin(&f);
    if (!f.err)
        work(&f);
    if (!f.err && syncfs(f.run) != 0)
        fail(&f, err_from_errno(errno), "%s: %s", o->run, strerror(errno));
    if (!f.err)
        join_databases(&f, id);
    if (!f.err && rundir_note_away(o->run, NULL) != 0)
        fail(&f, BEZEL_ESYS, "%s/away cannot be removed: %s", o->run, strerror(errno));
    if (!f.err)
        discard(&f);
    close_all(&f);
    return f.err;
}
