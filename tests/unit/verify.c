// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* `bezel verify` on a valid run, and on runs with every known kind of damage. */
#include "run/verify/verify.h"

#include "base/file.h"
#include "run/rundb/rundb.h"
#include "tests/lib/seed.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int flips = 60;

static const uint8_t run_id[16] = "a run's identity";
static uint64_t seed;

struct fixture {
    char dir[32];
    struct fake_sensor *sensor;
    struct stored_run run;
    enum verify_is is;
    char text[512];  /* of the last finding */
    char said[4096]; /* codes of all findings, each between blanks, and their files */
    char first[512]; /* text of the first finding */
    uint64_t offset, packet;
    struct verify_totals totals;
    uint64_t run_packets, run_bytes; /* that were stored */
};

static void hear(const struct verify_report *f, void *context)
{
    struct fixture *t = context;
    size_t n = strlen(t->said);
    snprintf(t->said + n, sizeof t->said - n, " %s %s ", f->code, f->file);
    if (n == 0)
        snprintf(t->first, sizeof t->first, "%s", f->text);
    snprintf(t->text, sizeof t->text, "%s", f->text);
    t->offset = f->offset;
    t->packet = f->packet;
}

static enum verify_is look(struct fixture *t)
{
    struct verify v = {.report = hear, .context = t};
    t->said[0] = '\0';
    assert_int_equal(verify_run(&v, t->dir), 0);
    t->totals = v.totals;
    return verify_is(&v);
}

static void assert_finds(struct fixture *t, enum verify_is is, const char *what)
{
    enum verify_is found = look(t);
    if (found != is || (what && !strstr(t->said, what)) || (!what && t->said[0]))
        fail_msg("found %d: %s; expected %d: %s", found, t->said, is, what ? what : "nothing");
}

static void begin(struct fixture *t)
{
    t->run = (struct stored_run){0};
    assert_int_equal(stored_start(&t->run, t->dir, t->sensor, STORE_SYNC_NEVER), 0);
}

static void end(struct fixture *t)
{
    stored_end(&t->run);
    assert_int_equal(stored_stop(&t->run), 0);
}

/* Two processes of two rings each, with losses; `end`: they have ended. */
static int setup(void **state)
{
    struct fixture *t = calloc(1, sizeof *t);
    snprintf(t->dir, sizeof t->dir, "/tmp/bezel-verify-XXXXXX");
    if (!mkdtemp(t->dir))
        return -1;
    t->sensor = fake_new("desk", run_id, seed_next(&seed));
    for (unsigned i = 0; i < 2; i++) {
        fake_add_process(t->sensor, "app", 10 + i, ROLE_SUT);
        for (unsigned k = 0; k < 8; k++)
            fake_cut(t->sensor, i, k % 2, 1 + (uint32_t)(seed_next(&seed) % 50));
        fake_lose(t->sensor, i, 0, 7);
        fake_close_stream(t->sensor, i, 0);
        fake_close_stream(t->sensor, i, 1);
    }
    *state = t;
    begin(t);
    int err = stored_feed(&t->run, UINT64_MAX);
    t->run_packets = t->run.model->totals.packets;
    t->run_bytes = t->run.model->totals.bytes;
    end(t);
    return err;
}

static int teardown(void **state)
{
    struct fixture *t = *state;
    stored_drop(&t->run);
    fake_free(t->sensor);
    int err = file_remove_tree(t->dir);
    free(t);
    return err;
}

static const char *path_of(const struct fixture *t, const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", t->dir, name);
    return path;
}

TEST_WITH(setup, teardown, a_run_that_is_right_is_complete)
{
    struct fixture *t = *test_state;
    assert_finds(t, VERIFY_COMPLETE, NULL);
    assert_int_equal(t->totals.nodes, 1);
    assert_int_equal(t->totals.processes, 2);
    assert_int_equal(t->totals.streams, 4);
    assert_int_equal(t->totals.packets, t->run_packets);
    assert_int_equal(t->totals.bytes, t->run_bytes);
    assert_int_equal(t->totals.records, fake_records(t->sensor));
    assert_int_equal(t->totals.lost, 14);
    assert_int_equal(t->totals.damaged + t->totals.incomplete, 0);
}

TEST_WITH(setup, teardown, any_byte_that_changes_is_seen)
{
    struct fixture *t = *test_state;
    for (int i = 0; i < flips; i++) {
        char name[64];
        struct stat st;
        snprintf(name, sizeof name, "trace/desk/app-%u-%u", 10 + (unsigned)(seed_next(&seed) % 2),
                 (unsigned)(seed_next(&seed) % 2));
        int fd = open(path_of(t, name), O_RDWR);
        assert_int_equal(fstat(fd, &st), 0);
        off_t at = (off_t)(seed_next(&seed) % (uint64_t)st.st_size);
        uint8_t byte, bit = (uint8_t)(1 << seed_next(&seed) % 8);
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= bit;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        assert_finds(t, VERIFY_DAMAGED, name);
        assert_true(t->offset <= (uint64_t)st.st_size);
        byte ^= bit;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        close(fd);
    }
    assert_finds(t, VERIFY_COMPLETE, NULL);
}

TEST_WITH(setup, teardown, a_file_that_is_cut_anywhere_is_truncated)
{
    struct fixture *t = *test_state;
    const struct fake_stream *s = &t->sensor->processes[0]->rings[0];
    assert_int_equal(truncate(path_of(t, "trace/desk/app-10-0"), (off_t)s->starts[s->packets - 1]), 0);
    assert_finds(t, VERIFY_DAMAGED, " truncated trace/desk/app-10-0 ");
    assert_int_equal(t->packet, s->packets - 1);
    assert_int_equal(t->offset, s->starts[s->packets - 1]);
    assert_int_equal(truncate(path_of(t, "trace/desk/app-10-0"), (off_t)s->starts[2] + 1), 0);
    assert_finds(t, VERIFY_DAMAGED, " truncated trace/desk/app-10-0 ");
    assert_int_equal(t->packet, 2);
    assert_int_equal(truncate(path_of(t, "trace/desk/app-10-0"), 0), 0);
    assert_finds(t, VERIFY_DAMAGED, " missing trace/desk/app-10-0 ");
    assert_int_equal(unlink(path_of(t, "trace/desk/app-10-0")), 0);
    assert_finds(t, VERIFY_DAMAGED, " missing trace/desk/app-10-0 ");
}

TEST_WITH(setup, teardown, files_that_changed_places_are_found)
{
    struct fixture *t = *test_state;
    char a[512], b[512];
    snprintf(a, sizeof a, "%s", path_of(t, "trace/desk/app-10-0"));
    snprintf(b, sizeof b, "%s", path_of(t, "trace/desk/app-11-0"));
    assert_int_equal(renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE), 0);
    assert_finds(t, VERIFY_DAMAGED, " misnamed trace/desk/app-10-0 ");
    assert_non_null(strstr(t->said, " misnamed trace/desk/app-11-0 "));
}

/* Appends `n` bytes of the first stream from packet `packet` on to its file. */
static void append(struct fixture *t, uint64_t packet, size_t n)
{
    const struct fake_stream *s = &t->sensor->processes[0]->rings[0];
    int fd = open(path_of(t, "trace/desk/app-10-0"), O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, s->bytes + s->starts[packet], n), n);
    close(fd);
}

TEST_WITH(setup, teardown, a_packet_that_came_twice_is_no_part_of_it)
{
    struct fixture *t = *test_state;
    const struct fake_stream *s = &t->sensor->processes[0]->rings[0];
    append(t, 1, s->starts[2] - s->starts[1]);
    assert_finds(t, VERIFY_INCOMPLETE, " torn trace/desk/app-10-0 ");
}

TEST_WITH(setup, teardown, a_torn_tail_is_incomplete_and_a_restart_mends_it)
{
    struct fixture *t = *test_state;
    append(t, 1, 77);
    assert_finds(t, VERIFY_INCOMPLETE, " torn trace/desk/app-10-0 ");
    begin(t);
    end(t);
    assert_finds(t, VERIFY_COMPLETE, NULL);
}

TEST_WITH(setup, teardown, packets_that_the_database_lacks_are_incomplete)
{
    struct fixture *t = *test_state;
    fake_add_process(t->sensor, "late", 12, ROLE_SUT);
    fake_cut(t->sensor, 2, 0, 10);
    begin(t);
    assert_int_equal(stored_grow(&t->run), 0);
    fake_cut(t->sensor, 2, 0, 10);
    assert_int_equal(stored_feed(&t->run, UINT64_MAX), 0);
    stored_drop(&t->run);
    assert_finds(t, VERIFY_INCOMPLETE, " unsaved trace/desk/late-12-0 ");
    assert_non_null(strstr(t->first, "its last 1 packets are not in run.db"));
    begin(t);
    end(t);
    assert_finds(t, VERIFY_COMPLETE, NULL);
}

/* A power failure may keep that bytes were freed, and lose the cover that was written before. */
TEST_WITH(setup, teardown, an_earlier_cover_over_freed_bytes_is_no_damage)
{
    enum { PACKETS = 80, ROOM = 12 << 10 };
    struct fixture *t = *test_state;
    uint8_t cover[128], after[sizeof cover];
    char path[512];
    snprintf(path, sizeof path, "%s", path_of(t, "trace/desk/kept-12-0"));
    fake_add_process(t->sensor, "kept", 12, ROLE_SUT);
    for (int i = 0; i < PACKETS; i++)
        fake_cut(t->sensor, 2, 0, 50);
    t->run = (struct stored_run){.batch = 1, .keep_to.bytes = ROOM};
    assert_int_equal(stored_start(&t->run, t->dir, t->sensor, STORE_SYNC_NEVER), 0);
    assert_int_equal(stored_feed(&t->run, PACKETS / 2), 0);
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, cover, sizeof cover, 0), sizeof cover);
    assert_int_equal(stored_feed(&t->run, UINT64_MAX), 0);
    stored_drop(&t->run);
    assert_int_equal(pread(fd, after, sizeof after, 0), sizeof after);
    assert_memory_not_equal(after, cover, sizeof cover);
    assert_int_equal(pwrite(fd, cover, sizeof cover, 0), sizeof cover);
    close(fd);
    assert_int_equal(look(t), VERIFY_INCOMPLETE);
    begin(t);
    end(t);
    assert_finds(t, VERIFY_COMPLETE, NULL);
}

TEST_WITH(setup, teardown, what_nobody_saw_end_is_unknown_after_its_last_ordinal)
{
    struct fixture *t = *test_state;
    begin(t);
    t->run.node->processes->state = PROCESS_RUNNING;
    t->run.node->processes->dirty = true;
    assert_int_equal(stored_stop(&t->run), 0);
    assert_finds(t, VERIFY_INCOMPLETE, " unknown trace/desk/app-10-0  unknown trace/desk/app-10-1 ");
}

TEST_WITH(setup, teardown, a_collector_that_serves_it_makes_no_damage)
{
    struct fixture *t = *test_state;
    int fd = open(t->dir, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    append(t, 1, 77);
    assert_finds(t, VERIFY_COMPLETE, NULL);
    assert_true(t->totals.served);
    close(fd);
}

TEST_WITH(setup, teardown, metadata_that_explains_less_is_damage)
{
    struct fixture *t = *test_state;
    char path[512], *text;
    size_t n;
    snprintf(path, sizeof path, "%s", path_of(t, "trace/desk/metadata"));
    assert_int_equal(file_read(path, 1 << 20, &text, &n), 0);
    char *field = strstr(strstr(text, "stream_id = 2"), "_frame");
    text[0] = '#'; /* nothing else: all processes are explained */
    assert_int_equal(file_replace(path, text, n), 0);
    assert_finds(t, VERIFY_DAMAGED, " metadata trace/desk/metadata ");
    text[0] = '/';
    field[1] = 'F';
    assert_int_equal(file_replace(path, text, n), 0);
    assert_finds(t, VERIFY_DAMAGED, " metadata trace/desk/metadata ");
    assert_int_equal(file_replace(path, text, n / 2), 0);
    assert_finds(t, VERIFY_DAMAGED, " metadata trace/desk/metadata ");
    assert_int_equal(unlink(path), 0);
    assert_finds(t, VERIFY_DAMAGED, " metadata trace/desk/metadata ");
    begin(t); /* a restart writes it anew */
    end(t);
    assert_finds(t, VERIFY_COMPLETE, NULL);
    free(text);
}

/* One byte more, less or different, anywhere: readers would fail, or read something else. */
TEST_WITH(setup, teardown, any_byte_of_metadata_that_changes_is_seen)
{
    struct fixture *t = *test_state;
    char path[512], *text;
    size_t n;
    snprintf(path, sizeof path, "%s", path_of(t, "trace/desk/metadata"));
    assert_int_equal(file_read(path, 1 << 20, &text, &n), 0);
    const char *version = strstr(text, "tracer_version = ");
    size_t end_of_version = (size_t)(strchr(version, ';') - text);
    for (int i = 0; i < flips; i++) {
        size_t at = (size_t)(seed_next(&seed) % n);
        if (at >= (size_t)(version - text) && at < end_of_version)
            continue; /* the version may be any */
        text[at] ^= 1;
        assert_int_equal(file_replace(path, text, n), 0);
        assert_finds(t, VERIFY_DAMAGED, " metadata trace/desk/metadata ");
        text[at] ^= 1;
        assert_int_equal(file_replace(path, text, at), 0);
        assert_finds(t, VERIFY_DAMAGED, " metadata trace/desk/metadata ");
    }
    text[n] = 'x'; /* in place of its NUL */
    assert_int_equal(file_replace(path, text, n + 1), 0);
    assert_finds(t, VERIFY_DAMAGED, " metadata trace/desk/metadata ");
    assert_int_equal(file_replace(path, text, n), 0);
    assert_finds(t, VERIFY_COMPLETE, NULL);
    free(text);
}

/* A killed collector leaves an earlier state of metadata. That is no damage; any other text is. */
TEST_WITH(setup, teardown, metadata_that_a_kill_left_behind_is_late)
{
    struct fixture *t = *test_state;
    char path[512], *text;
    size_t n;
    snprintf(path, sizeof path, "%s", path_of(t, "trace/desk/metadata"));
    assert_int_equal(file_read(path, 1 << 20, &text, &n), 0);
    begin(t);
    fake_add_string(t->sensor, 0, "one string more");
    fake_add_aspect(t->sensor, 0, "one_aspect_more");
    fake_add_process(t->sensor, "late", 12, ROLE_SUT);
    fake_cut(t->sensor, 2, 0, 10);
    assert_int_equal(stored_feed(&t->run, UINT64_MAX), 0);
    stored_drop(&t->run);
    assert_int_equal(file_replace(path, text, n), 0);
    assert_finds(t, VERIFY_INCOMPLETE, " late trace/desk/metadata ");
    assert_non_null(strstr(t->said, " interrupted run.db "));
    text[n] = '\n';
    assert_int_equal(file_replace(path, text, n + 1), 0);
    assert_finds(t, VERIFY_DAMAGED, " metadata trace/desk/metadata ");
    begin(t);
    end(t);
    assert_finds(t, VERIFY_COMPLETE, NULL);
    assert_int_equal(file_replace(path, text, n), 0); /* after a finished collector it is damage */
    assert_finds(t, VERIFY_DAMAGED, " metadata trace/desk/metadata ");
    free(text);
}

TEST_WITH(setup, teardown, what_a_finished_database_lacks_is_damage)
{
    struct fixture *t = *test_state;
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path_of(t, "run.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM streams WHERE ring = 1", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_finds(t, VERIFY_DAMAGED, " other-counts trace/desk/app-10-1 ");
}

/* What stands in a database is shown as it is, also what looks like a format. */
TEST_WITH(setup, teardown, a_row_that_is_not_as_the_trace_says_is_shown_with_both_values)
{
    struct fixture *t = *test_state;
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path_of(t, "run.db"), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE books SET name = '5 %% of %d'", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_finds(t, VERIFY_DAMAGED, " other-rows run.db ");
    assert_string_equal(t->text,
                        "table books, row 1, of process or node 1: column name is 5 %% of %d; by the trace it is "
                        "tick");
}

/* A collector that adds process after process until it is killed; writes a byte to `ready` after the first. */
static void store_for_ever(struct fixture *t, int ready)
{
    t->run = (struct stored_run){0};
    if (stored_start(&t->run, t->dir, t->sensor, STORE_SYNC_NEVER) != 0)
        _exit(2);
    for (uint32_t pid = 100; pid < 700; pid++) {
        fake_forget_processes(t->sensor);
        fake_add_process(t->sensor, "short", pid, ROLE_SUT);
        t->sensor->processes[0]->said.stream_id = pid;
        fake_cut(t->sensor, 0, 0, 3);
        if (stored_feed(&t->run, UINT64_MAX) != 0 || (pid == 100 && write(ready, "", 1) != 1))
            _exit(1);
    }
    for (;;)
        pause();
}

TEST_WITH(setup, teardown, a_run_that_goes_on_is_never_damaged)
{
    struct fixture *t = *test_state;
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0)
        store_for_ever(t, ready[1]);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    enum verify_is worst = VERIFY_COMPLETE;
    char said[sizeof t->said] = "";
    for (int i = 0; i < (getenv("BEZEL_TEST_LIGHT") ? 10 : 40) && worst != VERIFY_DAMAGED; i++)
        if ((worst = look(t)) == VERIFY_DAMAGED)
            snprintf(said, sizeof said, "%s", t->said);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    if (worst == VERIFY_DAMAGED)
        fail_msg("while it goes on: %s", said);
    assert_int_equal(look(t), VERIFY_INCOMPLETE);
    begin(t);
    end(t);
    assert_finds(t, VERIFY_COMPLETE, NULL);
    close(ready[0]);
}

TEST_WITH(setup, teardown, a_run_that_has_only_begun_is_not_damaged)
{
    struct fixture *t = *test_state;
    assert_int_equal(unlink(path_of(t, "run.db")), 0);
    assert_finds(t, VERIFY_DAMAGED, " database run.db ");
    assert_int_equal(file_remove_tree(path_of(t, "trace")), 0);
    assert_finds(t, VERIFY_INCOMPLETE, " begun run.db ");
}

TEST_WITH(setup, teardown, no_link_is_followed)
{
    struct fixture *t = *test_state;
    char trace[512], other[512];
    snprintf(trace, sizeof trace, "%s", path_of(t, "trace/desk"));
    snprintf(other, sizeof other, "%s", path_of(t, "elsewhere"));
    assert_int_equal(rename(trace, other), 0);
    assert_int_equal(symlink("../elsewhere", trace), 0);
    assert_finds(t, VERIFY_DAMAGED, " unreadable desk ");
}

TEST_WITH(setup, teardown, what_is_no_file_is_not_waited_for)
{
    struct fixture *t = *test_state;
    assert_int_equal(mkfifo(path_of(t, "trace/desk/app-10-7"), 0600), 0);
    assert_int_equal(mkdir(path_of(t, "trace/desk/app-10-8"), 0700), 0);
    assert_int_equal(symlink("/dev/zero", path_of(t, "trace/desk/app-10-9")), 0);
    assert_int_equal(mkfifo(path_of(t, "trace/stranger"), 0600), 0);
    assert_finds(t, VERIFY_DAMAGED,
                 " foreign trace/desk/app-10-7  foreign trace/desk/app-10-8  foreign trace/desk/app-10-9 ");
    assert_non_null(strstr(t->said, " foreign trace/stranger "));
    begin(t); /* a restart does not wait either */
    end(t);
    assert_int_equal(unlink(path_of(t, "run.db")), 0);
    assert_int_equal(mkfifo(path_of(t, "run.db"), 0600), 0);
    assert_finds(t, VERIFY_DAMAGED, " database run.db ");
}

TEST_WITH(setup, teardown, a_database_that_is_none_is_damage)
{
    struct fixture *t = *test_state;
    char *text;
    size_t n;
    assert_int_equal(file_read(path_of(t, "run.db"), 1 << 24, &text, &n), 0);
    for (size_t i = 4096; i < n; i++) /* all pages but the first */
        text[i] = (char)seed_next(&seed);
    assert_int_equal(file_replace(path_of(t, "run.db"), text, n), 0);
    assert_finds(t, VERIFY_DAMAGED, " database run.db ");
    assert_int_equal(file_replace(path_of(t, "run.db"), "nothing", 7), 0);
    assert_finds(t, VERIFY_DAMAGED, " database run.db ");
    assert_int_equal(unlink(path_of(t, "run.db")), 0);
    assert_finds(t, VERIFY_DAMAGED, " database run.db ");
    free(text);
}

/* A restart keeps the bytes behind a damaged packet, and notes the damage, although everything agrees again. */
/* A forged database, with names that lead to other folders, and invalid numbers. */
TEST_WITH(setup, teardown, a_database_that_says_what_cannot_be_is_damage)
{
    struct fixture *t = *test_state;
    static const char *const lies[] = {"processes SET base = '../../app-' || id",
                                       "processes SET role = 2",
                                       "processes SET role = -1",
                                       "processes SET state = 4",
                                       "nodes SET dir = '../desk'",
                                       "nodes SET name = 'de\nsk'",
                                       "streams SET ring = 1024 + ring",
                                       "books SET aspect = 256 + aspect"};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        sqlite3 *db;
        char *right, statement[128];
        size_t n;
        assert_int_equal(file_read(path_of(t, "run.db"), 1 << 24, &right, &n), 0);
        snprintf(statement, sizeof statement, "UPDATE %s", lies[i]);
        assert_int_equal(sqlite3_open(path_of(t, "run.db"), &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db, statement, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        assert_finds(t, VERIFY_DAMAGED, " database run.db ");
        assert_int_equal(file_replace(path_of(t, "run.db"), right, n), 0);
        free(right);
        assert_finds(t, VERIFY_COMPLETE, NULL);
    }
}

/* What `bezel run` adds at the end of a run. */
static void add_rows(struct fixture *t)
{
    struct rundb *db;
    struct message_launched row = {.of = {"app", 1}, .state = LAUNCHED_ENDED, .pid = 10, .started = 5, .ended = 9};
    assert_int_equal(rundb_open(t->dir, &db), 0);
    assert_int_equal(rundb_program(db, "desk", &row, 3), 0);
    assert_int_equal(rundb_event(db, 7, true, "something happened"), 0);
    assert_int_equal(rundb_silent(db, "desk", "other", 12, "it recorded nothing"), 0);
    assert_int_equal(rundb_put(db, "ended_by", "duration"), 0);
    assert_int_equal(rundb_close(db), 0);
}

/* Changes column `column` of `table` in all rows, and looks. Returns whether there was anything to change. */
static bool change_column(struct fixture *t, const char *table, const char *column)
{
    sqlite3 *db;
    char statement[512];
    snprintf(statement, sizeof statement,
             "UPDATE %s SET %s = CASE typeof(%s) WHEN 'integer' THEN %s + 1000003 WHEN 'real' THEN %s * 3 + 1"
             " WHEN 'text' THEN %s || 'x' WHEN 'null' THEN 1 ELSE CAST(%s || x'31' AS BLOB) END",
             table, column, column, column, column, column, column);
    assert_int_equal(sqlite3_open(path_of(t, "run.db"), &db), SQLITE_OK);
    int rc = sqlite3_exec(db, statement, NULL, NULL, NULL), changes = sqlite3_changes(db);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    if (rc == SQLITE_OK && changes > 0 && look(t) == VERIFY_COMPLETE)
        fail_msg("a change of %s.%s is not seen", table, column);
    return rc == SQLITE_OK && changes > 0;
}

TEST_WITH(setup, teardown, any_value_of_the_database_that_changes_is_seen)
{
    struct fixture *t = *test_state;
    sqlite3 *names;
    sqlite3_stmt *columns;
    char *right;
    size_t n;
    unsigned changed = 0;
    add_rows(t);
    assert_finds(t, VERIFY_COMPLETE, NULL);
    assert_int_equal(file_read(path_of(t, "run.db"), 1 << 24, &right, &n), 0);
    assert_int_equal(file_replace(path_of(t, "names.db"), right, n), 0);
    assert_int_equal(sqlite3_open(path_of(t, "names.db"), &names), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(names,
                                        "SELECT m.name, p.name FROM sqlite_schema m, pragma_table_info(m.name) p"
                                        " WHERE m.type = 'table'",
                                        -1, &columns, NULL),
                     SQLITE_OK);
    while (sqlite3_step(columns) == SQLITE_ROW) {
        changed += change_column(t, (const char *)sqlite3_column_text(columns, 0),
                                 (const char *)sqlite3_column_text(columns, 1));
        assert_int_equal(file_replace(path_of(t, "run.db"), right, n), 0);
    }
    sqlite3_finalize(columns);
    sqlite3_close(names);
    free(right);
    assert_true(changed > 60);
    assert_finds(t, VERIFY_COMPLETE, NULL);
}

TEST_WITH(setup, teardown, a_restart_on_damage_keeps_what_it_cuts_and_says_so)
{
    struct fixture *t = *test_state;
    const struct fake_stream *s = &t->sensor->processes[0]->rings[0];
    char path[512], *kept;
    size_t n;
    int fd = open(path_of(t, "trace/desk/app-10-0"), O_RDWR);
    assert_int_equal(pwrite(fd, "????", 4, (off_t)s->starts[2]), 4);
    close(fd);
    begin(t);
    assert_int_equal(stored_stop(&t->run), 0);
    snprintf(path, sizeof path, "damaged/desk-app-10-0@%zu", s->starts[2]);
    assert_int_equal(file_read(path_of(t, path), 1 << 20, &kept, &n), 0);
    assert_int_equal(n, s->used - s->starts[2]);
    assert_memory_equal(kept + 4, s->bytes + s->starts[2] + 4, n - 4);
    free(kept);
    assert_finds(t, VERIFY_DAMAGED, " was-damaged run.db ");
}

TEST_WITH(setup, teardown, a_restart_does_not_take_changed_bytes_for_good)
{
    struct fixture *t = *test_state;
    const struct fake_stream *s = &t->sensor->processes[0]->rings[0];
    int fd = open(path_of(t, "trace/desk/app-10-0"), O_RDWR);
    assert_int_equal(pwrite(fd, "\x7f", 1, (off_t)s->starts[1] + 92), 1); /* the thread: any value is valid */
    close(fd);
    assert_finds(t, VERIFY_DAMAGED, " changed trace/desk/app-10-0 ");
    begin(t);
    assert_int_equal(stored_stop(&t->run), 0);
    assert_finds(t, VERIFY_DAMAGED, " was-damaged run.db ");
}

int main(void)
{
    seed = seed_start();
    if (getenv("BEZEL_TEST_LIGHT"))
        flips = 15;
    return test_run(NULL, NULL);
}
