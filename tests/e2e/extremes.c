// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The extremes of every time and count that the wire can carry, said by a node with valid messages: every reader of the
 * run ends, in order, and gives the records of the other node. With sanitizers, no arithmetic overflows on the way.
 */
#include "collector/receive/receiver.h"
#include "mdr/builtin.h"
#include "tests/lib/collector_fixture.h"
#include "tests/lib/patience.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const uint8_t run_id[16] = "a run's identity";

static const uint64_t extremes[] = {0, 1, INT64_MAX / 2, INT64_MAX - 1, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};

enum { EXTREMES = sizeof extremes / sizeof *extremes, HONEST = 100, ARGS = 8 };

/* `RUN` stands for the run directory, `OUT` for a file or folder to write. `honest`: its output has HONEST lines of the
 * honest node. */
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
    struct message_books *b = &f->out.books;
    f->out.type = MESSAGE_NOTE;
    f->out.note = (struct message_note){.at = value, .name = "times", .code = "BEZEL-TIME", .text = "a note"};
    assert_true(fake_say(f));
    f->out.type = MESSAGE_HEARTBEAT;
    f->out.heartbeat.at = value;
    assert_true(fake_say(f));
    f->out.type = MESSAGE_WATERMARK;
    f->out.watermark.low = value;
    assert_true(fake_say(f));
    for (unsigned i = 0; i <= f->process_count; i++) {
        f->out.type = MESSAGE_BOOKS;
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

static void store(struct collector_process *c, uint64_t value)
{
    struct fake_sensor *good = fake_new("desk", run_id, 1), *evil = fake_new("evil", run_id, 2);
    assert_true(good && evil);
    evil->hello.realtime_offset = (int64_t)value;
    add_program(evil, "times", value, true);
    add_program(evil, "times", value, true);
    add_program(evil, "values", value, false);
    add_daemon(evil, value);
    assert_true(fake_connect(evil, c->endpoint));
    (void)!fake_settle(evil, CLOCK_S); /* a part may be refused */
    say_messages(evil, value);
    unsigned p = fake_add_process(good, "app", 10, ROLE_SUT);
    fake_cut(good, p, 0, HONEST);
    fake_close_stream(good, p, 0);
    assert_true(fake_connect(good, c->endpoint));
    assert_true(fake_settle(good, PATIENCE));
    (void)!fake_say_bye(evil, CLOCK_S);
    assert_true(fake_say_books(good, p, PROCESS_ENDED, 0));
    assert_true(fake_say_bye(good, PATIENCE));
    fake_free(good);
    fake_free(evil);
    assert_int_equal(collector_end(c, SIGTERM), 0);
}

/* ---- readers ----------------------------------------------------------------------------------------------------- */

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
        else if (strncmp(r->args[i], "OUT", 3) == 0)
            snprintf(words[i], sizeof words[i], "%s/%s", c->dir, r->args[i]);
        else
            snprintf(words[i], sizeof words[i], "%s", r->args[i]);
        args[i + 1] = words[i];
    }
    pid_t pid = fork();
    if (pid == 0) {
        int a = open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600), b = open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(a, STDOUT_FILENO);
        dup2(b, STDERR_FILENO);
        execv(BEZEL, (char *const *)(uintptr_t)args);
        _exit(127);
    }
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
        clock_sleep_until(clock_now() + 5 * CLOCK_MS);
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

static void read_by(const struct collector_process *c, const struct reader *r, uint64_t value)
{
    int status = await(spawn(c, r));
    unsigned complaints = count_lines(c, "err", "runtime error", true) + count_lines(c, "err", "Sanitizer", true);
    unsigned honest = r->honest ? count_lines(c, "out", "desk", false) : HONEST;
    if (status < 0 || !WIFEXITED(status) || WEXITSTATUS(status) > 4 || complaints || honest < HONEST) {
        (void)count_lines(c, "err", "", true);
        fail_msg("bezel %s %s, extreme %llu: status %x, %u records of desk", r->args[0], r->args[1],
                 (unsigned long long)value, (unsigned)status, honest);
    }
}

static void every_reader_ends_and_gives_what_others_recorded(void **state)
{
    (void)state;
    for (int i = 0; i < EXTREMES; i++) {
        struct collector_process c = {0};
        assert_true(collector_make(&c));
        assert_true(collector_start(&c, "tcp://127.0.0.1:*"));
        store(&c, extremes[i]);
        assert_int_equal(count_lines(&c, "log", "runtime error", true), 0);
        for (size_t k = 0; k < sizeof readers / sizeof *readers; k++)
            read_by(&c, &readers[k], extremes[i]);
        /* Times that no clock can have are refused. */
        assert_true(count_lines(&c, "out", "evil", false) > (extremes[i] < (uint64_t)1 << 61 ? 20 : 0));
        collector_remove(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_reader_ends_and_gives_what_others_recorded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
