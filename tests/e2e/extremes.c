// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The extremes of every time and count that the wire can carry, said by a node with valid messages: every reader of the
 * run ends, in order, and gives the records of the other node: while the run goes on, from this machine and by a
 * server, and when it has ended. With sanitizers, no arithmetic overflows on the way.
 */
#include "collector/receive/receiver.h"
#include "mdr/builtin.h"
#include "mdr/message.h"
#include "tests/lib/collector_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/serve_process.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint8_t run_id[16] = "a run's identity";

/* As float64, some of these are not a number, or infinite. */
static const uint64_t extremes[] = {0,
                                    1,
                                    INT64_MAX / 2,
                                    INT64_MAX - 1,
                                    INT64_MAX,
                                    UINT64_C(1) << 63,
                                    UINT64_MAX,
                                    UINT64_C(0x7ff0000000000000),
                                    UINT64_C(0xfff0000000000000)};

enum { EXTREMES = sizeof extremes / sizeof *extremes, HONEST = 100, ARGS = 10 };

/* `RUN` stands for the run directory, `SERVED` for its server, `OUT` for a file or folder to write. `honest`: its
 * output has HONEST lines of the honest node. */
static const struct reader {
    const char *args[ARGS];
    bool honest;
} readers[] = {
    {{"verify", "RUN"}, false},
    {{"report", "RUN"}, false},
    {{"report", "--json", "RUN"}, false},
    {{"report", "--html", "OUT.html", "RUN"}, false},
    {{"tail", "-n", "all", "RUN"}, true},
    {{"tail", "-n", "3", "RUN"}, false},
    {{"tail", "--since", "10s", "RUN"}, false},
    {{"export", "--format", "jsonl", "--merge", "RUN"}, true},
    {{"export", "--format", "csv", "RUN"}, false},
    {{"export", "RUN", "OUT.ctf"}, false},
    {{"export", "--merge", "RUN", "OUT.merged"}, false},
    {{"export", "--format", "jsonl", "RUN"}, true}, /* the last one: it gives what the test counts */
};

static const struct reader live_readers[] = {
    {{"verify", "RUN"}, false},
    {{"report", "RUN"}, false},
    {{"report", "--json", "RUN"}, false},
    {{"top", "--plain", "-n", "2", "--interval", "200ms", "RUN"}, false},
    {{"top", "--plain", "-n", "1", "--view", "aspects", "--own", "RUN"}, false},
    {{"top", "--plain", "-n", "1", "--view", "messages", "RUN"}, false},
    {{"top", "--plain", "-n", "1", "--view", "decisions", "RUN"}, false},
    {{"top", "--plain", "-n", "1", "--view", "losses", "--back", "1s", "RUN"}, false},
    {{"tail", "-n", "3", "RUN"}, false},
    {{"tail", "-n", "3", "SERVED"}, false},
    {{"tail", "-n", "all", "--process", "*", "SERVED"}, false},
    {{"export", "--format", "jsonl", "RUN"}, true},
    {{"export", "RUN", "OUT.live"}, false},
};

/* They end when they have given all of the honest node, and are interrupted. */
static const struct reader followers[] = {
    {{"tail", "-f", "-n", "all", "RUN"}, true},
    {{"tail", "-f", "-n", "all", "SERVED"}, true},
};

static const struct reader view = {{"view", "--file", "OUT.view.html", "RUN"}, false};

static const char longest[] = "a-name-of-sixty-three-characters-which-is-the-longest-one-it-is";

/* ---- what is said ------------------------------------------------------------------------------------------------ */

static const struct dict_aspect kinds[] = {
    {.kind = DICT_SPAN, .name = "span", .field_count = 1, .fields = {{DICT_INT64, "duration", "ns", ""}}},
    {.kind = DICT_COUNTER, .name = "counter", .field_count = 1, .fields = {{DICT_INT64, "count", "B", ""}}},
    {.kind = DICT_GAUGE, .name = "gauge", .field_count = 1, .fields = {{DICT_FLOAT64, "value", "K", ""}}},
    {.kind = DICT_SENT,
     .name = "sent",
     .field_count = 2,
     .fields = {{DICT_STRING, "peer", "", ""}, {DICT_INT64, "tag", "", ""}}},
    {.kind = DICT_RECEIVED,
     .name = "received",
     .field_count = 2,
     .fields = {{DICT_STRING, "peer", "", ""}, {DICT_INT64, "tag", "", ""}}},
};

/* Records of all kinds whose values are extreme, and with `at`, whose times are. */
static void add_program(struct fake_sensor *f, const char *name, uint64_t value, bool at)
{
    uint64_t values[DICT_FIELDS_MAX];
    unsigned p = fake_add_process(f, name, 100 + f->process_count, ROLE_SUT);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        (void)fake_add_aspect_like(f, p, &kinds[i]);
    (void)fake_add_string(f, p, name); /* messages go to the other one of this name */
    for (unsigned i = 0; i < DICT_FIELDS_MAX; i++)
        values[i] = value;
    for (uint32_t aspect = 1; aspect <= f->processes[p]->dict->aspect_count; aspect++) {
        if (at) /* of each packet: it takes some time more */
            f->processes[p]->rings[aspect % 2].time = value < 20000 ? 0 : value - 20000 + 3000 * aspect;
        values[0] =
            f->processes[p]->dict->aspects[aspect - 1].kind >= DICT_SENT ? f->processes[p]->dict->string_count : value;
        fake_cut_one(f, p, aspect % 2, aspect, values);
        fake_cut_one(f, p, aspect % 2, aspect, values);
    }
    f->processes[p]->said.started = value;
}

/* Rows of the monitor's own: what every one of its aspects says is extreme. */
static void add_daemon(struct fake_sensor *f, uint64_t value)
{
    uint64_t values[DICT_FIELDS_MAX];
    unsigned p = fake_add_process(f, "bezeld", 50, ROLE_DAEMON);
    uint32_t first = f->processes[p]->dict->aspect_count;
    for (unsigned i = 0; i < BUILTIN_COUNT; i++)
        (void)fake_add_aspect_like(f, p, &builtin_aspects[i]);
    for (unsigned i = 0; i < DICT_FIELDS_MAX; i++)
        values[i] = value;
    for (uint32_t aspect = first + 1; aspect <= f->processes[p]->dict->aspect_count; aspect++) {
        fake_cut_one(f, p, 0, aspect, values);
        fake_cut_one(f, p, 0, aspect, values);
    }
}

/* Whatever else a node says of itself and its processes. */
static void say_messages(struct fake_sensor *f, uint64_t value)
{
    struct message_books *b = &f->out->books;
    f->out->type = MESSAGE_NOTE;
    f->out->note = (struct message_note){.at = value, .name = "times", .code = "BEZEL-TIME", .text = "a note"};
    assert_true(fake_say(f));
    f->out->type = MESSAGE_HEARTBEAT;
    f->out->heartbeat.at = value;
    assert_true(fake_say(f));
    f->out->type = MESSAGE_WATERMARK;
    f->out->watermark.low = value;
    assert_true(fake_say(f));
    for (unsigned i = 0; i <= f->process_count; i++) {
        f->out->type = MESSAGE_BOOKS;
        *b = (struct message_books){.instance = i ? f->processes[i - 1]->said.instance : 0,
                                    .state = PROCESS_ENDED,
                                    .at = value,
                                    .unfinished = value,
                                    .unobserved = value};
        b->row_count = i ? 2 : 0;
        b->rows[0] = (struct message_books_row){1, value, value, 0, 0, 0, 0};
        b->rows[1] = (struct message_books_row){2, value, 0, value, value, value, value};
        assert_true(fake_say(f));
    }
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static void look_live(const struct collector_process *c, uint64_t value);

/* Nodes that are there while the readers read: who says nothing for a while counts as gone. */
static struct fake_sensor *present[2];

static void turn(int64_t wait)
{
    for (int i = 0; i < 2; i++)
        if (present[i])
            fake_round(present[i], 0);
    clock_sleep_until(clock_now() + wait);
}

static void store(struct collector_process *c, uint64_t value, bool live)
{
    struct fake_sensor *good = fake_new("desk", run_id, 1), *evil = fake_new("evil", run_id, 2);
    assert_true(good && evil);
    evil->hello.realtime_offset = (int64_t)value;
    add_program(evil, "times", value, true);
    add_program(evil, "times", value, true);
    add_program(evil, longest, value, false);
    add_daemon(evil, value);
    assert_true(fake_connect(evil, c->endpoint));
    (void)!fake_settle(evil, CLOCK_S); /* a part may be refused */
    say_messages(evil, value);
    unsigned p = fake_add_process(good, "app", 10, ROLE_SUT);
    fake_cut(good, p, 0, HONEST);
    fake_close_stream(good, p, 0);
    assert_true(fake_connect(good, c->endpoint));
    assert_true(fake_settle(good, PATIENCE));
    present[0] = good;
    present[1] = evil;
    if (live)
        look_live(c, value);
    present[0] = present[1] = NULL;
    (void)!fake_say_bye(evil, CLOCK_S);
    assert_true(fake_say_books(good, p, PROCESS_ENDED, 0));
    assert_true(fake_say_bye(good, PATIENCE));
    fake_free(good);
    fake_free(evil);
    assert_int_equal(collector_end(c, SIGTERM), 0);
}

/* ---- readers ----------------------------------------------------------------------------------------------------- */

static struct serve_process server;

static pid_t spawn(const struct collector_process *c, const struct reader *r)
{
    static char words[ARGS][PATH_MAX];
    const char *args[ARGS + 2] = {"bezel"};
    char out[PATH_MAX], err[PATH_MAX];
    snprintf(out, sizeof out, "%s/out", c->dir);
    snprintf(err, sizeof err, "%s/err", c->dir);
    for (int i = 0; i < ARGS && r->args[i]; i++) {
        if (strcmp(r->args[i], "RUN") == 0)
            snprintf(words[i], sizeof words[i], "%s", c->run);
        else if (strcmp(r->args[i], "SERVED") == 0)
            snprintf(words[i], sizeof words[i], "%s", server.endpoint);
        else if (strncmp(r->args[i], "OUT", 3) == 0)
            snprintf(words[i], sizeof words[i], "%s/%s", c->dir, r->args[i]);
        else
            snprintf(words[i], sizeof words[i], "%s", r->args[i]);
        args[i + 1] = words[i];
    }
    /* Emptied here: who waits for its lines must not see those of the reader before. */
    int a = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int b = open(err, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(a >= 0 && b >= 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(a, STDOUT_FILENO);
        dup2(b, STDERR_FILENO);
        execv(BEZEL, (char *const *)(uintptr_t)args);
        _exit(127);
    }
    close(a);
    close(b);
    assert_true(pid > 0);
    return pid;
}

/* Its wait status; -1: it did not end. */
static int await(pid_t pid)
{
    int status = -1;
    int64_t deadline = clock_now() + PATIENCE;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (clock_now() > deadline) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
            return -1;
        }
        turn(5 * CLOCK_MS);
    }
    return status;
}

/* How many lines of a file in the collector's folder have `text`; prints them with `show`. */
static unsigned count_lines(const struct collector_process *c, const char *name, const char *text, bool show)
{
    char path[PATH_MAX], *line = NULL;
    size_t room = 0;
    unsigned n = 0;
    snprintf(path, sizeof path, "%s/%s", c->dir, name);
    FILE *f = fopen(path, "re");
    while (f && getline(&line, &room, f) > 0)
        if (strstr(line, text)) {
            n++;
            if (show)
                print_message("%s", line);
        }
    free(line);
    if (f)
        fclose(f);
    return n;
}

static void judge(const struct collector_process *c, const struct reader *r, uint64_t value, int status)
{
    unsigned complaints = count_lines(c, "err", "runtime error", true) + count_lines(c, "err", "Sanitizer", true);
    unsigned honest = r->honest ? count_lines(c, "out", "desk", false) : HONEST;
    if (status < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > 4 || complaints || honest < HONEST) {
        (void)count_lines(c, "err", "", true);
        fail_msg("bezel %s %s, extreme %llu: status %x, %u records of desk", r->args[0], r->args[1],
                 (unsigned long long)value, (unsigned)status, honest);
    }
}

static void read_by(const struct collector_process *c, const struct reader *r, uint64_t value)
{
    judge(c, r, value, await(spawn(c, r)));
}

static void follow_by(const struct collector_process *c, const struct reader *r, uint64_t value)
{
    int64_t deadline = clock_now() + PATIENCE;
    pid_t pid = spawn(c, r);
    while (count_lines(c, "out", "desk", false) < HONEST && clock_now() < deadline)
        turn(20 * CLOCK_MS);
    kill(pid, SIGINT);
    int status = await(pid);
    judge(c, r, value, status == SIGINT ? 0 : status);
}

/* A page that asks for everything, where there is a Python for it. */
static void view_by(const struct collector_process *c, uint64_t value)
{
    char door[PATH_MAX];
    int64_t deadline = clock_now() + PATIENCE;
    snprintf(door, sizeof door, "%s/OUT.view.html", c->dir);
    pid_t pid = spawn(c, &view);
    while (access(door, R_OK) != 0 && clock_now() < deadline && waitpid(pid, NULL, WNOHANG) == 0)
        turn(20 * CLOCK_MS);
    pid_t page = fork();
    if (page == 0) {
        execlp("python3", "python3", "tests/lib/look_at_page.py", door, (char *)NULL);
        _exit(127);
    }
    int looked = await(page);
    kill(pid, SIGTERM);
    judge(c, &view, value, await(pid));
    if (looked != 0)
        fail_msg("a page of extreme %llu: %x", (unsigned long long)value, (unsigned)looked);
}

/* While the run goes on: the evil node has said all that it says, and is still there. */
static void look_live(const struct collector_process *c, uint64_t value)
{
    assert_true(serve_process_start(&server, c->run, "tcp://127.0.0.1:*", NULL));
    for (size_t i = 0; i < sizeof live_readers / sizeof *live_readers; i++)
        read_by(c, &live_readers[i], value);
    for (size_t i = 0; i < sizeof followers / sizeof *followers; i++)
        follow_by(c, &followers[i], value);
    assert_int_equal(serve_process_end(&server, SIGTERM), 0);
    if (system("command -v python3 >/dev/null") == 0)
        view_by(c, value);
}

TEST(every_reader_ends_and_gives_what_others_recorded)
{
    for (int i = 0; i < EXTREMES; i++) {
        struct collector_process c = {0};
        assert_true(collector_make(&c));
        assert_true(collector_start(&c, "tcp://127.0.0.1:*"));
        store(&c, extremes[i], !getenv("BEZEL_TEST_LIGHT") || i % 3 == 1);
        assert_int_equal(count_lines(&c, "log", "runtime error", true), 0);
        for (size_t k = 0; k < sizeof readers / sizeof *readers; k++)
            read_by(&c, &readers[k], extremes[i]);
        /* Times that no clock can have are refused. */
        assert_true(count_lines(&c, "out", "evil", false) > (extremes[i] < (uint64_t)1 << 61 ? 20 : 0));
        collector_remove(&c);
    }
}
