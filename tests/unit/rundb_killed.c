// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The run database before its collector has finished: with a log, which is read, and taken over by the next one. */
#include "base/file.h"
#include "run/history/summary.h"
#include "run/rundb/rundb.h"
#include "run/rundb/rundb_sqlite.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[32];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/bezel-rundb-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return file_remove_tree(dir);
}

/* As a killed collector does. */
static void write_and_leave(const char *run)
{
    struct rundb *f;
    pid_t pid = fork();
    if (pid == 0)
        _exit(rundb_open(run, &f) || rundb_put(f, "name", "in the log") || rundb_commit(f));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static bool is_named(const char *run, const char *name)
{
    struct summary *s;
    if (summary_load(run, &s) != 0)
        return false;
    bool is = strcmp(summary_property(s, "name"), name) == 0;
    summary_free(s);
    return is;
}

TEST_WITH(setup, teardown, what_a_killed_collector_left_is_read_without_room_for_an_index)
{
    char index[64], log[64];
    int status;
    write_and_leave(dir);
    snprintf(index, sizeof index, "%s/run.db-shm", dir);
    snprintf(log, sizeof log, "%s/run.db-wal", dir);
    assert_int_equal(unlink(index), 0);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
        _exit(!is_named(dir, "in the log"));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(access(log, F_OK), 0); /* opening for reading writes nothing: the log stays */
    assert_true(is_named(dir, "in the log"));
}

/* `bezel verify` may be reading when a collector is started again. */
TEST_WITH(setup, teardown, a_reader_does_not_keep_the_next_collector_from_starting)
{
    struct rundb *f;
    sqlite3 *reader;
    write_and_leave(dir);
    assert_int_equal(rundb_open_database(dir, &reader), 0); /* in a transaction */
    assert_int_equal(rundb_open(dir, &f), 0);
    assert_int_equal(rundb_close(f), 0);
    sqlite3_close(reader);
}

/* Nor between `bezel run`, which makes the database, and its collector; nor where a mirror goes on. */
TEST_WITH(setup, teardown, a_reader_keeps_no_writer_out_before_a_collector_has_finished)
{
    struct rundb *f;
    sqlite3 *reader;
    assert_int_equal(rundb_open(dir, &f), 0);
    assert_int_equal(rundb_put(f, "name", "of bezel run"), 0);
    assert_int_equal(rundb_close(f), 0);
    assert_int_equal(rundb_open_database(dir, &reader), 0);
    assert_int_equal(rundb_open(dir, &f), 0);
    assert_int_equal(rundb_put(f, "name", "of its collector"), 0);
    assert_int_equal(rundb_close(f), 0);
    sqlite3_close(reader);
    assert_true(is_named(dir, "of its collector"));
}
