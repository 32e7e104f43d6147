// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/saturate.h"
#include "base/units.h"
#include "collector/remote/remote_reader.h"
#include "ecs/cli/command_mirror.h"
#include "ecs/cli/command_time.h"
#include "ecs/cli/commands.h"
#include "export/record_writer.h"
#include "run/read/run_missing.h"
#include "run/read/run_reader.h"
#include "run/rundb/rundb.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char about[] =
    "Prints the last records of a run, one a line, and with -f those that follow, until the run ends. Records of "
    "a node come in the order of its clock, nodes in the order of the run's time (docs/CLOCKS.md). Where records "
    "were lost, a line says how many. What is new is printed within half a second. A record that was stored "
    "later than others of its node that were printed already is marked as late. " COMMAND_RUN " ENDPOINT is where "
    "`bezel serve` or a collector serves it on this machine or another, such as tcp://desk:7770.\n";
static const char footer[] =
    "Exit codes: 0 done, 1 failed, 2 wrong usage, or no such run, 4 the run lies on another machine, or the "
    "server is not reached.\n";

enum { LINES = 10, LOOK_MS = 250 };

struct tail {
    const char *format, *lines, *where, *from, *until, *since;
    struct remote_place place; /* of a server */
    bool follow, all;
    uint64_t compared; /* so many bytes, with their checksums */
    char run[PATH_MAX];
    struct record_filter filter;
    struct run_reader *reader;
    struct record_writer *writer;
    uint64_t age; /* of the model that the writer knows */
};

static bool goes_on(const struct tail *t)
{
    return run_reader_goes_on(t->run);
}

static int fail(const struct tail *t, int err)
{
    log_error("BEZEL-TAIL", "cannot read %s: %s", t->run, rundb_why(err));
    return EXIT_FAILED;
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

static int read_since(const struct tail *t, int64_t *since)
{
    const char *why;
    if (t->since && units_read_duration(t->since, since, &why) != 0)
        return options_misuse("--since: '%s' is not a duration: %s", t->since, why);
    return OPTIONS_GO_ON;
}

static int read_times(struct tail *t)
{
    int64_t newest = INT64_MIN, since = 0;
    int code = read_since(t, &since);
    if (code == OPTIONS_GO_ON)
        code = command_read_times(t->from, t->until, t->run, &t->filter);
    if (code != OPTIONS_GO_ON || !t->since)
        return code;
    int err = run_reader_newest(t->run, &t->filter, &newest);
    if (!err && newest > INT64_MIN)
        t->filter.from = saturate_add(newest, -since);
    return err ? fail(t, err) : OPTIONS_GO_ON;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Checks what can be checked before the run is looked at. */
static int check_options(struct tail *t, enum record_writer_format *format, uint64_t *lines)
{
    static const char *const formats[] = {
        [RECORD_WRITER_TEXT] = "text", [RECORD_WRITER_CSV] = "csv", [RECORD_WRITER_JSONL] = "jsonl"};
    const char *why;
    *format = RECORD_WRITER_TEXT;
    while (t->format && *format <= RECORD_WRITER_JSONL && strcmp(t->format, formats[*format]) != 0)
        (*format)++;
    if (*format > RECORD_WRITER_JSONL)
        return options_misuse("'%s' is not a format: use text, csv or jsonl", t->format);
    *lines = t->from || t->since ? UINT64_MAX : LINES;
    t->compared = RUN_MISSING_MOST;
    if (t->lines && strcmp(t->lines, "all") == 0)
        t->compared = *lines = UINT64_MAX;
    else if (t->lines && units_read_count(t->lines, lines, &why) != 0)
        return options_misuse("-n: '%s' is not a count: %s, or all", t->lines, why);
    if (t->from && t->since)
        return options_misuse("give --from or --since");
    return command_read_where(t->where, &t->filter.condition);
}

/* Waits for the next look. False: nobody reads the output any more. */
static bool wait_to_look(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    (void)!fflush(stdout); /* ferror() has the result */
    return poll(&out, 1, LOOK_MS) <= 0 || !(out.revents & (POLLERR | POLLHUP));
}

/* Opens the run; with -f one that has just begun may not have its database yet. */
static int open_run(struct tail *t)
{
    int err = run_reader_open_compared(t->run, &t->filter, t->compared, &t->reader);
    while (err == BEZEL_ENOENT && t->follow && !lifetime_stop && goes_on(t) && wait_to_look())
        err = run_reader_open_compared(t->run, &t->filter, t->compared, &t->reader);
    return err ? fail(t, err) : OPTIONS_GO_ON;
}

/* A name or a field that the run does not have is a mistake; while the run goes on, it may still come. */
static int check_filter(const struct tail *t)
{
    char text[512];
    int err = record_filter_check(&t->filter, run_reader_model(t->reader, NULL), text, sizeof text);
    if (err == BEZEL_ENOENT && goes_on(t)) {
        log_warn("BEZEL-TAIL-NAME", "%s; the run goes on, and may still bring it", text);
        return OPTIONS_GO_ON;
    }
    return err ? options_misuse("%s", text) : OPTIONS_GO_ON;
}

/* Prints all records that there are for now, or until the output fails, with errno. */
static int print_records(struct tail *t)
{
    struct record_item item;
    uint64_t age;
    int more = 0;
    while (!ferror(stdout) && (more = run_reader_next(t->reader, &item)) > 0) {
        (void)run_reader_model(t->reader, &age);
        if (age != t->age)
            record_writer_forget(t->writer);
        t->age = age;
        record_writer_put(t->writer, &item);
    }
    return more < 0 ? more : 0;
}

/* Losses and other findings that no printed line shows. */
static void print_totals(const struct tail *t, struct run_reader_totals totals, bool growing)
{
    uint64_t left_out = record_writer_left_out(t->writer);
    if (totals.lost)
        log_warn("BEZEL-TAIL-LOST", "%s records of these streams were lost meanwhile; 'bezel report' says why",
                 units_count(totals.lost).s);
    if (totals.proofs[RECORD_LATE])
        log_warn("BEZEL-TAIL-LATE", "%s records came after later ones had been printed",
                 units_count(totals.proofs[RECORD_LATE]).s);
    if (totals.proofs[RECORD_CONTRARY])
        log_warn("BEZEL-TAIL-CONTRARY",
                 "%s messages seem to have been received before they were sent: the clocks are wrong by more than "
                 "their bounds, or tags contradict each other",
                 units_count(totals.proofs[RECORD_CONTRARY]).s);
    if (totals.rest && !growing)
        log_warn("BEZEL-READ-TORN",
                 "the last packets of streams are incomplete (%s bytes), and are not read; see 'bezel verify'",
                 units_count(totals.rest).s);
    if (left_out)
        log_warn("BEZEL-TAIL-COLUMNS", "%s values have no column, as their fields came after the heading: use jsonl",
                 units_count(left_out).s);
}

static int print_run(struct tail *t)
{
    bool growing, read = true;
    int err;
    do {
        growing = goes_on(t);
        bool more = t->follow && growing;
        err = run_reader_look(t->reader, more ? RUN_READER_HOLD : RUN_READER_ALL);
        if (!err)
            err = print_records(t);
        read = !more || err || ferror(stdout) || lifetime_stop || wait_to_look();
        if (!more)
            break;
    } while (!err && read && !ferror(stdout) && !lifetime_stop);
    if (err)
        return fail(t, err);
    if (ferror(stdout))
        return options_unwritten(errno);
    print_totals(t, run_reader_totals(t->reader), growing);
    command_warn_mirror(t->run);
    if (!read)
        raise(SIGPIPE);
    return options_end(read ? EXIT_OK : EXIT_FAILED);
}

static int tail_run(struct tail *t, enum record_writer_format format, uint64_t lines)
{
    int code = open_run(t);
    if (code == OPTIONS_GO_ON)
        code = check_filter(t);
    if (code != OPTIONS_GO_ON)
        return code;
    run_reader_stop(t->reader, &lifetime_stop);
    int err = lines < UINT64_MAX ? run_reader_last(t->reader, lines, !t->follow) : 0;
    if (!err)
        err = record_writer_open(stdout, format, run_reader_model(t->reader, NULL), &t->filter, true, &t->writer);
    return err ? fail(t, err) : print_run(t);
}

/* ---- a run that a server serves ---------------------------------------------------------------------------------- */

static int fail_remote(const struct remote_reader *r, int err)
{
    const char *why = r ? remote_reader_why(r) : "memory is short";
    if (strcmp(why, log_last_error()) != 0) /* the link may have said so already */
        log_error("BEZEL-TAIL-SERVER", "%s", why);
    return err == BEZEL_EUNREACH ? EXIT_UNREACHABLE : err == BEZEL_EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

/* Copies an option into the `size` bytes of a text in the request. */
static bool put_option(char *to, size_t size, const char *value)
{
    return snprintf(to, size, "%s", value ? value : "") < (int)size;
}

static int make_request(struct tail *t, enum record_writer_format format, uint64_t lines, struct read_request *q)
{
    int64_t since = 0;
    int code = command_read_times(t->from, t->until, NULL, &t->filter);
    if (code == OPTIONS_GO_ON)
        code = read_since(t, &since);
    *q = (struct read_request){.no_monitor = t->filter.no_monitor,
                               .follow = t->follow,
                               .schemas = format == RECORD_WRITER_CSV, /* for its heading */
                               .from = t->filter.from,
                               .until = t->filter.until,
                               .since = (uint64_t)since,
                               .last = lines};
    if (!put_option(q->node, sizeof q->node, t->filter.node) ||
        !put_option(q->process, sizeof q->process, t->filter.process) ||
        !put_option(q->aspect, sizeof q->aspect, t->filter.aspect) || !put_option(q->where, sizeof q->where, t->where))
        code = options_misuse("a glob has more than %d bytes, or a condition more than %d", MESSAGE_TEXT_MAX,
                              READ_WHERE_MAX);
    return code;
}

/* As check_filter(), by what the server said. */
static int check_note(const struct read_reading *said)
{
    if (!said->note[0])
        return OPTIONS_GO_ON;
    if (!said->grows)
        return options_misuse("%s", said->note);
    log_warn("BEZEL-TAIL-NAME", "%s; the run goes on, and may still bring it", said->note);
    return OPTIONS_GO_ON;
}

/* Whether somebody still reads the output, which is written now. */
static bool is_read(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    (void)!fflush(stdout);
    return poll(&out, 1, 0) <= 0 || !(out.revents & (POLLERR | POLLHUP));
}

/* Prints what comes, until the end. Returns 0 or an error; *read: whether somebody read it. */
static int print_remote(struct tail *t, struct remote_reader *r, bool *read)
{
    struct record_item item;
    uint64_t age;
    int64_t deadline = 0; /* what is printed is written before there is a wait */
    while (!ferror(stdout) && !lifetime_stop) {
        int more = remote_reader_next(r, &item, deadline);
        deadline = 0;
        if (more == BEZEL_EAGAIN && !(*read = is_read()))
            return 0;
        if (more == BEZEL_EAGAIN) {
            deadline = clock_now() + LOOK_MS * CLOCK_MS;
            continue;
        }
        if (more <= 0)
            return more;
        (void)remote_reader_model(r, &age);
        if (age != t->age)
            record_writer_forget(t->writer);
        t->age = age;
        record_writer_put(t->writer, &item);
    }
    return 0;
}

static int print_server(struct tail *t, struct remote_reader *r, enum record_writer_format format)
{
    bool read = true;
    int err = record_writer_open(stdout, format, remote_reader_model(r, NULL), &t->filter, true, &t->writer);
    if (!err)
        err = print_remote(t, r, &read);
    if (!err && ferror(stdout))
        return options_unwritten(errno);
    struct remote_reader_totals totals = remote_reader_totals(r);
    struct run_reader_totals as = {.lost = totals.lost, .rest = totals.rest};
    memcpy(as.proofs, totals.proofs, sizeof as.proofs);
    print_totals(t, as, false);
    if (totals.cut)
        log_warn(
            "BEZEL-READ-DAMAGED",
            "damaged, gone or changed since they were stored: %s of the server's streams; see 'bezel verify' there",
            units_count(totals.cut).s);
    if (err)
        return fail_remote(r, err);
    if (!read)
        raise(SIGPIPE);
    return options_end(read ? EXIT_OK : EXIT_FAILED);
}

static int tail_server(struct tail *t, const char *endpoint, enum record_writer_format format, uint64_t lines)
{
    struct remote_reader *r = NULL;
    struct read_request request;
    t->place.endpoint = endpoint;
    t->place.stop = &lifetime_stop;
    int code = make_request(t, format, lines, &request);
    if (code != OPTIONS_GO_ON)
        return code;
    lifetime_catch(SA_RESTART); /* with which a line that is being written is completed */
    int err = remote_reader_open(&t->place, &request, &r);
    if (err == BEZEL_EAGAIN)
        code = EXIT_OK; /* it was stopped */
    else
        code = err ? fail_remote(r, err) : check_note(remote_reader_said(r));
    if (code == OPTIONS_GO_ON)
        code = print_server(t, r, format);
    remote_reader_close(r);
    record_writer_close(t->writer);
    return code;
}

int cmd_tail(int argc, char **argv)
{
    struct tail t = {.filter = RECORD_FILTER_ALL};
    struct command_mirror m = {.dir = NULL};
    struct options o = {.program = "bezel tail",
                        .usage = "[OPTIONS] [RUN]\n[OPTIONS] ENDPOINT",
                        .about = about,
                        .footer = footer,
                        .most = 1};
    const struct options_entry entries[] = {
        {"follow", 'f', NULL,
         "go on with the records that follow, until the run ends or ctrl-C (default: end with the last one that is "
         "stored now)",
         .flag = &t.follow},
        {"lines", 'n', "N", "begin with the last N records, or with `all` (default: 10; with --from or --since: all)",
         .value = &t.lines},
        {"format", 0, "FORMAT", "text (default), csv or jsonl: as `bezel export --merge --format` has them",
         .value = &t.format},
        COMMAND_FILTER(&t),
        {"since", 0, "DURATION", "only from so long before the newest record on: \"5 s\"", .value = &t.since},
        COMMAND_RUNS(&m.target),
        COMMAND_KEYS(&t.place),
        {0},
    };
    enum record_writer_format format = RECORD_WRITER_TEXT;
    uint64_t lines = LINES;
    int code = options_read(&o, entries, argc, argv);
    t.filter.no_monitor = !t.all && !t.filter.process && !t.filter.aspect;
    if (code == OPTIONS_GO_ON)
        code = check_options(&t, &format, &lines);
    if (code == OPTIONS_GO_ON && o.words[0] && remote_link_is_endpoint(o.words[0]))
        return tail_server(&t, o.words[0], format, lines);
    if (code == OPTIONS_GO_ON && (t.place.keys || t.place.key || t.place.server))
        code = options_misuse("--keys, --key and --server-key go with an ENDPOINT, such as tcp://desk:7770");
    if (code == OPTIONS_GO_ON)
        code = command_open_mirrored(&m, o.words[0], COMMAND_GROWS, t.run);
    if (code != OPTIONS_GO_ON)
        return code;
    lifetime_catch(SA_RESTART); /* with which a line that is being written is completed */
    code = read_times(&t);
    if (code == OPTIONS_GO_ON)
        code = tail_run(&t, format, lines);
    run_reader_close(t.reader);
    record_writer_close(t.writer);
    return code;
}
