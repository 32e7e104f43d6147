// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Databases that are not ours: without exactly this version's schema, or not regular files, they are refused. */
#include "base/file.h"
#include "run/history/summary.h"
#include "run/rundb/rundb_live.h"
#include "run/rundb/rundb_sqlite.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct fixture {
    char dir[32], database[48];
};

static int setup(void **state)
{
    struct fixture *t = calloc(1, sizeof *t);
    struct rundb *f;
    snprintf(t->dir, sizeof t->dir, "/tmp/bezel-foreign-XXXXXX");
    if (!mkdtemp(t->dir))
        return -1;
    snprintf(t->database, sizeof t->database, "%s/run.db", t->dir);
    *state = t;
    return rundb_open(t->dir, &f) != 0 || rundb_put(f, "name", "a run") != 0 || rundb_close(f) != 0;
}

static int teardown(void **state)
{
    struct fixture *t = *state;
    int err = file_remove_tree(t->dir);
    free(t);
    return err;
}

static void change(const struct fixture *t, const char *statements)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(t->database, &db), SQLITE_OK);
    int rc = sqlite3_exec(db, statements, NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        fail_msg("%s: %s", statements, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Opening for reading and for writing fails, with a sentence that contains `words`. */
static void assert_refused(const struct fixture *t, int err, const char *words)
{
    struct summary *s;
    struct rundb *f;
    int found = summary_load(t->dir, &s);
    if (found != err || !strstr(rundb_why(found), words))
        fail_msg("%d, %s; expected %d, %s", found, rundb_why(found), err, words);
    found = rundb_open(t->dir, &f);
    if (found != err || !strstr(rundb_why(found), words))
        fail_msg("to write: %d, %s; expected %d, %s", found, rundb_why(found), err, words);
}

TEST_WITH(setup, teardown, what_bezel_made_is_taken)
{
    struct fixture *t = *test_state;
    struct summary *s;
    assert_int_equal(summary_load(t->dir, &s), 0);
    assert_string_equal(summary_property(s, "name"), "a run");
    summary_free(s);
}

TEST_WITH(setup, teardown, a_database_that_is_gone_is_told_with_why)
{
    struct fixture *t = *test_state;
    struct summary *s;
    for (int gone = 0; gone < 2; gone++) {
        assert_int_equal(gone ? unlink(t->database) : truncate(t->database, 0), 0);
        assert_int_equal(summary_load(t->dir, &s), BEZEL_ENOENT);
        assert_non_null(
            strstr(rundb_why(BEZEL_ENOENT), "there is no run.db, or it is empty: the run was killed before"));
    }
}

TEST_WITH(setup, teardown, any_other_schema_is_refused)
{
    static const char *const changes[] = {
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'name TEXT NOT NULL,',"
        " 'name TEXT GENERATED ALWAYS AS (hex(zeroblob(400000000))),') WHERE name = 'nodes'",
        "CREATE TRIGGER t AFTER INSERT ON properties BEGIN SELECT 1; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE INDEX i ON properties(length(value))",
        "DROP TABLE notes; CREATE VIRTUAL TABLE notes USING fts5(node, instance, pid, name, at, code, text)",
        "DROP TABLE notes; CREATE VIEW notes AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
        " SELECT x node, x instance, x pid, x name, x at, x code, x text FROM c",
        "ALTER TABLE events ADD COLUMN more TEXT COLLATE NOCASE",
        "DROP TABLE notes",
        "ANALYZE",
    };
    struct fixture *t = *test_state;
    char *right;
    size_t n;
    assert_int_equal(file_read(t->database, 1 << 24, &right, &n), 0);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        change(t, changes[i]);
        assert_refused(t, BEZEL_EMALFORMED, "its schema ");
        assert_int_equal(file_replace(t->database, right, n), 0);
    }
    free(right);
}

TEST_WITH(setup, teardown, another_version_is_named)
{
    struct fixture *t = *test_state;
    char ours[64];
    snprintf(ours, sizeof ours, "reads format %d", RUNDB_VERSION);
    change(t, "PRAGMA user_version = 1234");
    assert_refused(t, BEZEL_EVERSION, "it has format 1234, of another version of Bezel");
    assert_refused(t, BEZEL_EVERSION, ours);
    change(t, "PRAGMA application_id = 1");
    assert_refused(t, BEZEL_EVERSION, "another program");
}

#define OLDER                                                                                                          \
    "DROP TABLE endings; DROP TABLE open_spans; DROP TABLE reductions; DROP TABLE triggers; DROP TABLE threads; "      \
    "ALTER TABLE programs DROP COLUMN started; PRAGMA user_version = 16"

static void is_read(struct fixture *t)
{
    struct summary *s;
    struct rundb *f;
    assert_int_equal(summary_load(t->dir, &s), 0);
    assert_string_equal(summary_property(s, "name"), "a run");
    summary_free(s);
    assert_int_equal(rundb_open_read(t->dir, &f), 0);
    int64_t rows = -1;
    assert_int_equal(rundb_number(f->db, "SELECT count(*) FROM threads", &rows), 0);
    assert_int_equal(rows, 0);
    assert_int_equal(rundb_number(f->db, "SELECT count(*) FROM triggers", &rows), 0);
    assert_int_equal(rows, 0);
    assert_int_equal(rundb_close(f), 0);
    assert_int_equal(rundb_open(t->dir, &f), 0); /* to write: it becomes one of this format */
    assert_int_equal(rundb_number(f->db, "PRAGMA user_version", &rows), 0);
    assert_int_equal(rows, RUNDB_VERSION);
    assert_int_equal(rundb_close(f), 0);
    assert_int_equal(summary_load(t->dir, &s), 0);
    summary_free(s);
}

static void assert_started(struct fixture *t, int64_t at)
{
    struct summary *s;
    assert_int_equal(summary_load(t->dir, &s), 0);
    assert_int_equal(s->program_count, 1);
    assert_int_equal(s->programs[0].started, at);
    assert_int_equal(s->programs[0].ran, 4);
    summary_free(s);
}

TEST_WITH(setup, teardown, formats_before_are_read)
{
    struct message_launched row = {.of = {"app", 1}, .state = LAUNCHED_ENDED, .pid = 10, .started = 5, .ended = 9};
    struct fixture *t = *test_state;
    struct rundb *f;
    assert_int_equal(rundb_open(t->dir, &f), 0);
    assert_int_equal(rundb_program(f, "desk", &row, 0), 0);
    assert_int_equal(rundb_close(f), 0);
    assert_started(t, 5);
    change(t, "DROP TABLE endings; DROP TABLE open_spans; DROP TABLE reductions; DROP TABLE triggers; "
              "ALTER TABLE programs DROP COLUMN started; PRAGMA user_version = 17");
    is_read(t);
    change(t, OLDER);
    assert_started(t, 0);
    is_read(t);
    assert_started(t, 0);
}

TEST_WITH(setup, teardown, the_format_before_has_its_own_schema)
{
    struct fixture *t = *test_state;
    change(t, "PRAGMA user_version = 16");
    assert_refused(t, BEZEL_EMALFORMED, "its schema has something more than that of format 16");
    change(t, OLDER "; DROP TABLE notes");
    assert_refused(t, BEZEL_EMALFORMED, "its schema");
}

TEST_WITH(setup, teardown, what_is_no_file_is_not_opened)
{
    static const char *const names[] = {"run.db-journal", "run.db-wal", "run.db-shm", "run.db"};
    struct fixture *t = *test_state;
    char path[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", t->dir, names[i]);
        (void)unlink(path);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_refused(t, BEZEL_EMALFORMED, "is not a regular file");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink("/dev/zero", path), 0);
        assert_refused(t, BEZEL_EMALFORMED, "is not a regular file");
        assert_int_equal(unlink(path), 0);
        assert_int_equal(symlink("elsewhere", path), 0);
        assert_refused(t, BEZEL_EMALFORMED, "is not a regular file");
        assert_int_equal(unlink(path), 0);
    }
}

/* Root may open every file, so a child without root's rights tries it. */
TEST_WITH(setup, teardown, what_may_not_be_read_is_refused_with_the_reason_of_the_system)
{
    struct fixture *t = *test_state;
    struct summary *s;
    int status;
    assert_int_equal(chmod(t->dir, 0755), 0);
    assert_int_equal(chmod(t->database, 0), 0);
    pid_t child = fork();
    if (child == 0) {
        bool dropped = geteuid() != 0 || seteuid(65534) == 0;
        int err = summary_load(t->dir, &s);
        _exit(!dropped || err != BEZEL_EPERM || strcmp(rundb_why(err), "Permission denied") != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

TEST_WITH(setup, teardown, what_is_too_large_is_not_read)
{
    struct fixture *t = *test_state;
    struct summary *s;
    change(t, "INSERT INTO events VALUES(1, 1, CAST(zeroblob(100000000) AS TEXT))");
    assert_int_equal(summary_load(t->dir, &s), BEZEL_EMALFORMED);
    assert_non_null(strstr(rundb_why(BEZEL_EMALFORMED), "longer than any"));
    change(t, "DELETE FROM events; INSERT INTO events WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c"
              " WHERE x < 2100000) SELECT x, 1, '' FROM c");
    assert_int_equal(summary_load(t->dir, &s), BEZEL_EFULL);
    assert_non_null(strstr(rundb_why(BEZEL_EFULL), "more rows of one kind"));
}
