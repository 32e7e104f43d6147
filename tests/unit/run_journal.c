// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/run_journal.h"

#include "base/file.h"
#include "base/hash.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct run_journal_program programs[] = {
    {.index = 0,
     .known = true,
     .missing = 7,
     .row = {.of.incarnation = 1,
             .state = LAUNCHED_ENDED,
             .pid = 4711,
             .status = 0x300,
             .started = 5,
             .ended = 6,
             .user_ns = 1,
             .system_ns = 2,
             .memory = UINT64_MAX,
             .output = 4,
             .dropped = 5}},
    {.index = 0,
     .current = true,
     .known = true,
     .done = true,
     .begun = 40,
     .row = {.of.incarnation = 2, .ready = true, .pid = 4712, .error = 1, .stage = "nice"}},
    {.index = UINT32_MAX, .current = true, .counted = true, .home = true, .row.state = LAUNCHED_LOST, .row.status = -1},
};
static struct console_event events[] = {{.at = 17, .error = true, .text = "two\nlines, and a \\ in them"}, {.at = -18}};

static struct run_journal full(void)
{
    struct run_journal j = {.run = "7ccf6d52-b0db-49c7-be29-b8a3dbd7164f",
                            .epoch = UINT64_MAX - 1,
                            .boot = "00112233445566778899aabbccddeeff",
                            .host = "desk",
                            .pid = 4321,
                            .directory = "/home/a b\nc",
                            .name = "video-conference",
                            .duration = 5000000000,
                            .data = "tcp://0.0.0.0:7766",
                            .inner = {[1] = "tcp://192.0.2.1:7770", [EXPERIMENT_INNER_MAX - 1] = "ipc:///x y"},
                            .realtime_offset = -3,
                            .state = {.phase = PHASE_DRAINING,
                                      .ended_by = ENDED_BY_INTERRUPT,
                                      .failed = true,
                                      .interrupted = true,
                                      .attached_seen = true,
                                      .started = -10,
                                      .ended = INT64_MAX},
                            .undrained = true,
                            .snapshots = 3,
                            .snapshots_refused = 4,
                            .program_count = sizeof programs / sizeof *programs,
                            .event_count = sizeof events / sizeof *events,
                            .programs = programs,
                            .events = events};
    j.state.drained[1] = j.state.drained[STATE_DAEMONS_MAX - 1] = true;
    return j;
}

/* The journal as text, of which nothing is wrong. */
static char *print(const struct run_journal *j, size_t *n)
{
    char *text = NULL;
    assert_int_equal(run_journal_print(j, &text, n), 0);
    return text;
}

/* Gives the text the last line that it needs, and reads it. */
static int parse_sealed(const char *lines)
{
    char text[2048];
    struct run_journal *j = NULL;
    int n = snprintf(text, sizeof text, "%s", lines);
    n += snprintf(text + n, sizeof text - (size_t)n, "end %016" PRIx64 "\n",
                  hash_fnv64(HASH_FNV64_START, text, (size_t)n));
    int err = run_journal_parse(text, (size_t)n, &j);
    run_journal_free(j);
    return err;
}

TEST(what_was_written_is_read)
{
    struct run_journal j = full(), *read = NULL;
    size_t n, again_n;
    char *text = print(&j, &n);
    assert_int_equal(run_journal_parse(text, n, &read), 0);
    char *again = print(read, &again_n);
    assert_int_equal(n, again_n);
    assert_memory_equal(text, again, n);
    assert_string_equal(read->directory, j.directory);
    assert_memory_equal(read->inner, j.inner, sizeof j.inner);
    assert_string_equal(read->events[0].text, events[0].text);
    assert_int_equal(read->events[1].at, -18);
    assert_int_equal(read->programs[0].row.status, 0x300);
    assert_int_equal(read->programs[1].row.of.incarnation, 2);
    assert_string_equal(read->programs[1].row.stage, "nice");
    assert_true(read->state.drained[1] && !read->state.drained[2]);
    assert_true(read->state.ended == INT64_MAX && read->state.started == -10);
    assert_int_equal(read->state.phase, PHASE_DRAINING);
    run_journal_free(read);
    free(text);
    free(again);
}

TEST(one_that_is_torn_or_changed_anywhere_is_refused)
{
    struct run_journal j = full(), *read = NULL;
    size_t n;
    char *text = print(&j, &n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(run_journal_parse(text, i, &read), BEZEL_EMALFORMED);
        text[i] = (char)(text[i] ^ 1);
        assert_int_equal(run_journal_parse(text, n, &read), BEZEL_EMALFORMED);
        text[i] = (char)(text[i] ^ 1);
    }
    free(text);
}

TEST(lines_that_mean_nothing_are_refused)
{
    static const char *const wrong[] = {
        "",
        "nonsense 1\n",
        "epoch\n",
        "epoch x\n",
        "epoch -1\n",
        "epoch 18446744073709551615\n",
        "epoch 99999999999999999999\n",
        "epoch 1 \n",
        "epoch 1 2\n",
        "state 9 0 0 0 0 0 0 0 0 0 0 0\n",
        "state 1 0 2 0 0 0 0 0 0 0 0 0\n",
        "state 1 0 0 0 0 0 0 0 0 0 0\n",
        "drained 99999\n",
        "duration -1\n",
        "offset --1\n",
        "offset 99999999999999999999\n",
        "boot 00112233445566778899aabbccddeeff0\n",
        "host a\\b\n",
        "host a\\",
        "event 1 0\n",
        "program 0\n",
        "program 0 1 1 0 0 0 0 0 1 9 0 1 0 0 0 0 0 0 0 0 0 \n",
    };
    const char *begin = "bezel-journal 1\nrun x\nepoch 1\n";
    char text[512];
    assert_int_equal(parse_sealed(begin), 0);
    assert_int_equal(parse_sealed("bezel-journal 1\nrun x\n"), BEZEL_EMALFORMED); /* no epoch */
    assert_int_equal(parse_sealed("bezel-journal 1\nepoch 1\n"), BEZEL_EMALFORMED);
    for (size_t i = 1; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "%s%s", begin, wrong[i]);
        assert_int_equal(parse_sealed(text), BEZEL_EMALFORMED);
    }
}

TEST(another_version_is_told_from_damage)
{
    assert_int_equal(parse_sealed("bezel-journal 2\nwhatever comes\n"), BEZEL_EVERSION);
    assert_int_equal(parse_sealed("bezel-journal x\n"), BEZEL_EVERSION);
    assert_int_equal(parse_sealed("another file\n"), BEZEL_EMALFORMED);
}

TEST_WITH(scratch_begin, scratch_end, the_file_is_written_when_something_has_changed)
{
    struct run_journal j = full(), *read = NULL;
    uint64_t written = 0;
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/" RUN_JOURNAL_FILE, scratch_dir);
    assert_int_equal(run_journal_read(scratch_dir, &read), BEZEL_ENOENT);
    assert_int_equal(run_journal_write(&j, scratch_dir, false, &written), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(run_journal_write(&j, scratch_dir, false, &written), 0);
    assert_int_equal(run_journal_read(scratch_dir, &read), BEZEL_ENOENT); /* the same text is not written again */
    j.epoch = 5;
    assert_int_equal(run_journal_write(&j, scratch_dir, false, &written), 0);
    assert_int_equal(run_journal_read(scratch_dir, &read), 0);
    assert_int_equal(read->epoch, 5);
    run_journal_free(read);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(run_journal_write(&j, scratch_dir, true, &written), 0); /* this one always is */
    assert_int_equal(access(path, F_OK), 0);
    run_journal_remove(scratch_dir);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_not_equal(symlink("/dev/zero", path), -1);
    assert_int_not_equal(run_journal_read(scratch_dir, &read), 0); /* a link is not followed */
}
