// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The copy of a run's database: one that `bezel run` writes too (joined), one of an older format, one whose original
 * went back in time, one that another writer holds; and bytes that no server sends.
 */
#include "base/bytes.h"
#include "base/checksum.h"
#include "base/file.h"
#include "mdr/parts.h"
#include "run/rundb/rundb_rows.h"
#include "run/rundb/rundb_sections.h"
#include "tests/lib/rundb_copy.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

static char run[SCRATCH_PATH], mirror[SCRATCH_PATH];
static struct copy copy;
static struct model *model;
static bool busy;

int __real_rundb_begin(struct rundb *f);
int __wrap_rundb_begin(struct rundb *f);
int __wrap_rundb_begin(struct rundb *f)
{
    return busy ? BEZEL_EBUSY : __real_rundb_begin(f);
}

static int begin(void **state)
{
    (void)state;
    scratch_make(run);
    scratch_make(mirror);
    copy = (struct copy){.run = run, .to = mirror};
    model = model_new("");
    busy = false;
    return model ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    copy_close_apply(&copy);
    free(copy.bytes.at);
    model_free(model);
    scratch_remove(run);
    scratch_remove(mirror);
    return 0;
}

static struct rundb *opened(const char *dir)
{
    struct rundb *f;
    assert_int_equal(rundb_open(dir, &f), 0);
    return f;
}

static void change(const char *dir, const char *text)
{
    struct rundb *f = opened(dir);
    assert_int_equal(sqlite3_exec(f->db, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(rundb_close(f), 0);
}

static int64_t number(const char *dir, const char *query)
{
    struct rundb *f;
    assert_int_equal(rundb_open_read(dir, &f), 0);
    int64_t n = copy_number(f->db, query);
    assert_int_equal(rundb_close(f), 0);
    return n;
}

static int sealed(const char *dir)
{
    struct rundb *f;
    assert_int_equal(rundb_open_read(dir, &f), 0);
    int is = rundb_check_seal(f, false);
    assert_int_equal(rundb_close(f), 0);
    return is;
}

/* ---- the collector's database ------------------------------------------------------------------------------------ */

static struct model_node *add_node(struct rundb *f, const char *name)
{
    struct message_hello hello = {.clock = {1}};
    snprintf(hello.node, sizeof hello.node, "%s", name);
    memcpy(hello.uuid, name, strlen(name) + 1);
    struct model_node *node = model_add_node(model, &hello);
    assert_non_null(node);
    assert_int_equal(rundb_add_node(f, node), 0);
    return node;
}

static void add_process(struct rundb *f, struct model_node *node, const char *name, uint32_t pid)
{
    uint8_t dictionary[256];
    struct message_process *said = calloc(1, sizeof *said);
    assert_non_null(said);
    said->instance = said->stream_id = said->pid = pid;
    said->role = ROLE_SUT;
    snprintf(said->name, sizeof said->name, "%s", name);
    struct model_process *p = model_add_process(node, said);
    free(said);
    assert_non_null(p);
    struct dict_aspect tick = {.id = 1, .name = "tick"};
    int n = dict_append_aspect(dictionary, 0, sizeof dictionary, &tick);
    assert_true(n > 0);
    assert_int_equal(rundb_add_process(f, p, dictionary, (size_t)n), 0);
}

static void add_note(struct rundb *f, const struct model_node *node, const char *name, const char *code)
{
    struct message_note note = {.at = 9};
    snprintf(note.name, sizeof note.name, "%s", name);
    snprintf(note.code, sizeof note.code, "%s", code);
    snprintf(note.text, sizeof note.text, "the node says so");
    assert_int_equal(rundb_add_note(f, node, &note), 0);
}

static void finish(struct rundb *f)
{
    assert_int_equal(rundb_put_int(f, RUNDB_FINISHED, 77), 0);
    assert_int_equal(rundb_seal(f), 0);
    assert_int_equal(rundb_commit(f), 0);
}

/* ---- joined ------------------------------------------------------------------------------------------------------ */

static void write_at_home(void)
{
    struct message_launched row = {.of = {.process = "nav", .incarnation = 2}, .pid = 17, .state = LAUNCHED_ENDED};
    struct rundb *f = opened(mirror);
    assert_int_equal(rundb_put(f, "name", "survey"), 0);
    assert_int_equal(rundb_event(f, 11, true, "the line was cut"), 0);
    assert_int_equal(rundb_program(f, "desk", &row, 5), 0);
    assert_int_equal(rundb_silent(f, "desk", "nav", 17, "recorded nothing"), 0);
    assert_int_equal(rundb_silent(f, "desk", "late", 18, "recorded nothing"), 0);
    assert_int_equal(rundb_silent(f, "desk", "renamed", 19, "recorded nothing"), 0);
    assert_int_equal(rundb_silent(f, "desk", "refused", 20, "recorded nothing"), 0);
    assert_int_equal(rundb_close(f), 0);
}

static const char *node_of(const void *context, const char *process)
{
    (void)context;
    return strcmp(process, "stranger") == 0 ? NULL : "desk";
}

TEST_WITH(begin, end, what_is_at_home_stays_in_a_joined_copy)
{
    struct rundb *f = opened(run);
    struct model_node *node = add_node(f, "desk");
    add_note(f, node, "worker", RUNDB_NO_SEGMENT);
    assert_int_equal(rundb_event(f, 1, false, "not of home"), 0);
    assert_int_equal(rundb_put(f, "run", "an id"), 0);
    assert_int_equal(rundb_put(f, "collector.refused", "3"), 0);
    assert_int_equal(rundb_commit(f), 0);
    copy.joined = true;
    copy_all(&copy, false);
    write_at_home();
    assert_int_equal(number(mirror, "SELECT count(*) FROM notes"), 5);
    assert_int_equal(rundb_put(f, "name", "a server's own"), 0); /* hostile: no collector does so */
    assert_int_equal(rundb_put(f, "run", "another id"), 0);
    assert_int_equal(rundb_put(f, "collector.refused", "4"), 0);
    add_process(f, node, "late", 18);
    add_process(f, node, "worker", 30); /* another one than the node's note is about: it stays */
    add_process(f, node, "its own name", 19);
    add_note(f, node, "refused", RUNDB_NO_SEGMENT);
    add_note(f, node, "other", "BEZEL-A");
    assert_int_equal(rundb_commit(f), 0);
    copy_all(&copy, false);
    copy_close_apply(&copy);
    copy_all(&copy, false); /* with the token */
    copy_close_apply(&copy);
    struct rundb *home = opened(mirror);
    assert_int_equal(rundb_place_silent(home, node_of, NULL), 0);
    assert_int_equal(rundb_close(home), 0);
    assert_int_equal(number(mirror, "SELECT count(*) FROM processes"), 3);
    assert_int_equal(number(mirror, "SELECT count(*) FROM programs"), 1);
    assert_int_equal(number(mirror, "SELECT count(*) FROM events"), 1);
    assert_int_equal(number(mirror, "SELECT count(*) FROM properties WHERE (key, value) IN (VALUES('name', 'survey'),"
                                    " ('run', 'an id'), ('collector.refused', '4'))"),
                     3);
    assert_int_equal(number(mirror, "SELECT count(*) FROM notes WHERE name IN ('worker', 'refused', 'other') AND"
                                    " text = 'the node says so'"),
                     3);
    assert_int_equal(number(mirror, "SELECT count(*) FROM notes WHERE text = 'recorded nothing' AND name = 'nav'"), 1);
    assert_int_equal(number(mirror, "SELECT count(*) FROM notes"), 4);
    assert_int_equal(rundb_close(f), 0);
}

TEST_WITH(begin, end, the_seal_of_a_joined_copy_is_made_at_home)
{
    struct rundb *f = opened(run);
    finish(f);
    copy.joined = true;
    copy_all(&copy, false);
    assert_int_equal(sealed(mirror), RUNDB_UNSEALED);
    write_at_home();
    assert_int_equal(sealed(mirror), RUNDB_UNSEALED);
    copy_all(&copy, true);
    assert_int_equal(sealed(mirror), RUNDB_SEALED);
    assert_int_equal(rundb_put(f, RUNDB_FINISHED, ""), 0); /* another collector begins */
    assert_int_equal(rundb_commit(f), 0);
    copy_all(&copy, false);
    assert_int_equal(number(mirror, "SELECT count(*) FROM properties WHERE key IN ('seal', 'collector.finished')"), 0);
    finish(f);
    copy_all(&copy, true);
    write_at_home();
    assert_int_equal(sealed(mirror), RUNDB_SEALED);
    change(run, "DELETE FROM properties");
    copy_close_apply(&copy);
    copy_all(&copy, true);
    assert_int_equal(sealed(mirror), RUNDB_UNSEALED);
    assert_int_equal(number(mirror, "SELECT count(*) FROM properties WHERE key = 'name'"), 1);
    assert_int_equal(rundb_close(f), 0);
}

TEST_WITH(begin, end, the_database_is_not_held_before_the_commit)
{
    struct rundb *f = opened(run);
    add_process(f, add_node(f, "desk"), "nav", 1);
    copy.joined = true;
    assert_true(copy_look(&copy, -1, false));
    assert_int_equal(rundb_apply_bytes(copy.apply, copy.bytes.at, copy.bytes.n), 0);
    write_at_home();
    busy = true;
    assert_int_equal(rundb_apply_commit(copy.apply), BEZEL_EBUSY);
    busy = false;
    assert_int_equal(rundb_apply_commit(copy.apply), 0);
    assert_int_equal(number(mirror, "SELECT count(*) FROM processes"), 1);
    assert_int_equal(rundb_close(f), 0);
}

/* ---- the original ------------------------------------------------------------------------------------------------ */

#define OLDER                                                                                                          \
    "DROP TABLE endings; DROP TABLE open_spans; DROP TABLE reductions; DROP TABLE triggers; DROP TABLE threads; "      \
    "ALTER TABLE programs DROP COLUMN started; PRAGMA user_version = 16"

static uint64_t sum_of_seal(struct rundb *f)
{
    char seal[RUNDB_SEAL_MAX];
    assert_int_equal(rundb_get(f, RUNDB_SEAL, seal, sizeof seal), 0);
    return strtoull(strchr(seal, ':') + 1, NULL, 16);
}

/* So the seal of a run of a version that does not tell it goes on. */
TEST_WITH(begin, end, a_start_that_is_not_known_is_not_in_the_seal)
{
    static const char columns[] =
        "SELECT node, name, incarnation, pid, state, status, error, stage, ran, cpu, memory, missing FROM programs";
    struct message_launched row = {.of = {.process = "nav", .incarnation = 1}, .pid = 17, .state = LAUNCHED_ENDED};
    struct rundb *f = opened(run);
    sqlite3_stmt *s;
    finish(f);
    uint64_t before = sum_of_seal(f);
    assert_int_equal(rundb_program(f, "desk", &row, 5), 0);
    finish(f);
    uint64_t unknown = sum_of_seal(f);
    assert_int_equal(sqlite3_prepare_v2(f->db, columns, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    assert_int_equal(unknown - before, rundb_sum_row(checksum_add(CHECKSUM_START, "programs", 8), s));
    sqlite3_finalize(s);
    row.started = 5;
    assert_int_equal(rundb_program(f, "desk", &row, 5), 0);
    finish(f);
    assert_int_not_equal(sum_of_seal(f), unknown);
    assert_int_equal(rundb_close(f), 0);
}

TEST_WITH(begin, end, an_older_format_is_copied_into_one_of_this)
{
    struct message_launched row = {.of = {.process = "nav", .incarnation = 1}, .pid = 17, .state = LAUNCHED_ENDED};
    struct rundb *f = opened(run), *reader;
    add_process(f, add_node(f, "desk"), "nav", 1);
    assert_int_equal(rundb_program(f, "desk", &row, 5), 0);
    finish(f);
    assert_int_equal(rundb_close(f), 0);
    char path[SCRATCH_PATH + 8];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/run.db", run);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode = WAL;" OLDER, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sealed(run), RUNDB_SEALED);
    copy_all(&copy, true);
    assert_int_equal(number(mirror, "PRAGMA user_version"), RUNDB_VERSION);
    copy_assert_same(&copy, true);
    assert_int_equal(sealed(mirror), RUNDB_SEALED);
    /* A collector makes it one of this format, while it is read. */
    assert_int_equal(rundb_open_read(run, &reader), 0);
    assert_int_equal(copy_number(reader->db, "SELECT count(*) FROM threads"), 0);
    assert_int_equal(rundb_refresh(reader), 0);
    change(run, "INSERT INTO threads VALUES(1, 2, 'nav', 3, 4, 'decoder', 0)");
    copy_all(&copy, true);
    copy_assert_same(&copy, true);
    assert_int_equal(number(mirror, "SELECT count(*) FROM threads"), 1);
    assert_int_equal(rundb_refresh(reader), 1);
    assert_int_equal(copy_number(reader->db, "SELECT count(*) FROM threads"), 1);
    assert_int_equal(rundb_close(reader), 0);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A power failure takes what was committed last, and other rows come in its place. */
TEST_WITH(begin, end, a_database_that_went_back_is_copied_anew)
{
    char path[SCRATCH_PATH + 8], *before;
    size_t n;
    snprintf(path, sizeof path, "%s/run.db", run);
    change(run, "INSERT INTO events VALUES(1, 0, 'first')");
    assert_int_equal(file_read(path, 1 << 24, &before, &n), 0);
    change(run, "INSERT INTO events VALUES(2, 0, 'lost'); INSERT INTO programs VALUES('a', 'b', 1, 1, 1, 1, 1, '', 1,"
                " 1, 1, 1, 1)");
    copy_all(&copy, false);
    copy_close_apply(&copy);
    assert_int_equal(file_replace(path, before, n), 0);
    free(before);
    change(run, "INSERT INTO events VALUES(3, 0, 'another')");
    copy_all(&copy, false);
    copy_assert_same(&copy, false);
}

/* The property says that rows before the last one are others than before. */
TEST_WITH(begin, end, rows_that_were_made_anew_are_sent_anew)
{
    struct rundb *f = opened(run);
    change(run, "INSERT INTO sections VALUES(5, 1, 1), (6, 1, 1)");
    change(run, "INSERT INTO losses VALUES(1, 0, 1, 1, 1, 1, 4), (1, 0, 2, 2, 2, 2, 5), (1, 0, 3, 3, 3, 3, 6)");
    copy_all(&copy, false);
    assert_int_equal(rundb_join_sections(f), 0);
    assert_int_equal(rundb_commit(f), 0);
    copy_all(&copy, false);
    copy_assert_same(&copy, false);
    assert_int_equal(number(mirror, "SELECT count(*) FROM losses WHERE section > 5"), 0);
    assert_int_equal(rundb_clear_derived(f), 0);
    assert_int_equal(rundb_commit(f), 0);
    change(run, "INSERT INTO losses VALUES(1, 0, 8, 8, 8, 8, 5), (1, 0, 9, 9, 9, 9, 5)");
    copy_close_changes(&copy);
    copy_all(&copy, false);
    copy_assert_same(&copy, false);
    /* Nothing to delete: the copy need not be made anew. */
    int64_t before = number(run, "SELECT value FROM properties WHERE key = 'rewritten'");
    change(run, "DELETE FROM losses");
    assert_int_equal(rundb_clear_derived(f), 0);
    assert_int_equal(rundb_commit(f), 0);
    assert_int_equal(number(run, "SELECT value FROM properties WHERE key = 'rewritten'"), before);
    assert_int_equal(rundb_close(f), 0);
}

/* ---- bytes that no server sends ---------------------------------------------------------------------------------- */

static uint8_t piece[512];
static size_t piece_bytes;

static void begin_piece(enum rundb_rows_what what, int table)
{
    piece[4] = (uint8_t)what;
    piece[5] = (uint8_t)table;
    piece_bytes = 6;
    bytes_put_u32(piece, 2);
}

static void add_bytes(const void *bytes, size_t n)
{
    memcpy(piece + piece_bytes, bytes, n);
    piece_bytes += n;
    bytes_put_u32(piece, (uint32_t)piece_bytes - 4);
}

static void add_int(int64_t value)
{
    uint8_t bytes[9] = {SQLITE_INTEGER | 8 << 4};
    bytes_put_u64(bytes + 1, (uint64_t)value);
    add_bytes(bytes, sizeof bytes);
}

static void add_text(const char *text)
{
    uint8_t bytes[5] = {SQLITE_TEXT | 4 << 4};
    bytes_put_u32(bytes + 1, (uint32_t)strlen(text));
    add_bytes(bytes, sizeof bytes);
    add_bytes(text, strlen(text));
}

/* Behind a row that is right; nothing of either stays. */
static void assert_refused(const char *words)
{
    uint8_t bad[sizeof piece];
    size_t n = piece_bytes;
    memcpy(bad, piece, n);
    begin_piece(RUNDB_ROWS_PUT, RUNDB_ROWS_PROPERTIES);
    add_text("a");
    add_text("b");
    assert_int_equal(rundb_apply_bytes(copy.apply, piece, piece_bytes), 0);
    assert_int_equal(rundb_apply_bytes(copy.apply, bad, n), 0);
    assert_int_equal(rundb_apply_commit(copy.apply), BEZEL_EMALFORMED);
    if (!strstr(rundb_why(BEZEL_EMALFORMED), words))
        fail_msg("%s; expected: %s", rundb_why(BEZEL_EMALFORMED), words);
    assert_int_equal(rundb_apply_commit(copy.apply), 0); /* it is dropped */
    assert_int_equal(number(mirror, "SELECT count(*) FROM properties"), 0);
}

TEST_WITH(begin, end, malformed_pieces_are_refused)
{
    change(run, "");
    copy_open(&copy);
    begin_piece(RUNDB_ROWS_PUT, RUNDB_ROWS_TABLES);
    assert_refused("unknown");
    begin_piece((enum rundb_rows_what)9, 0);
    assert_refused("unknown");
    begin_piece(RUNDB_ROWS_PUT, RUNDB_ROWS_PROPERTIES);
    add_text("name");
    assert_refused("lacks a value");
    add_text("value");
    add_text("value");
    assert_refused("too many values");
    begin_piece(RUNDB_ROWS_PUT, RUNDB_ROWS_PROPERTIES);
    add_text("name");
    add_int(5);
    assert_refused("another type");
    begin_piece(RUNDB_ROWS_PUT, RUNDB_ROWS_PROPERTIES);
    add_text("name");
    add_bytes((uint8_t[1]){SQLITE_NULL}, 1);
    assert_refused("that it must have");
    begin_piece(RUNDB_ROWS_DELETE, RUNDB_ROWS_STREAMS);
    add_int(1);
    assert_refused("lacks a value");
    begin_piece(RUNDB_ROWS_PUT, RUNDB_ROWS_PROPERTIES);
    add_bytes((uint8_t[5]){SQLITE_TEXT | 4 << 4, 0xff, 0xff, 0xff, 0xff}, 5);
    assert_refused("lacks a value");
    begin_piece(RUNDB_ROWS_PUT, RUNDB_ROWS_PROPERTIES);
    add_bytes((uint8_t[3]){SQLITE_TEXT | 1 << 4, 2, 'a'}, 3);
    assert_refused("lacks a value");
    begin_piece(RUNDB_ROWS_PUT, RUNDB_ROWS_PROPERTIES);
    add_bytes((uint8_t[10]){SQLITE_INTEGER | 9 << 4}, 10);
    assert_refused("lacks a value");
    begin_piece(RUNDB_ROWS_PUT, RUNDB_ROWS_PROPERTIES);
    add_bytes((uint8_t[1]){99}, 1);
    assert_refused("lacks a value");
    begin_piece(RUNDB_ROWS_CLEAR, RUNDB_ROWS_PROPERTIES);
    add_int(5);
    assert_refused("has values");
    bytes_put_u32(piece, (uint32_t)sizeof(struct rundb_rows_piece));
    assert_refused("longer than any");
    bytes_put_u32(piece, 1000);
    assert_refused("cut off");
    bytes_put_u32(piece, 0);
    assert_refused("longer than any");
    piece_bytes = 3;
    assert_refused("cut off");
    copy_close_apply(&copy);
    copy.joined = true;
    copy_open(&copy);
    begin_piece(RUNDB_ROWS_DELETE, RUNDB_ROWS_NOTES);
    add_int(-4);
    assert_refused("not above 0");
}

TEST_WITH(begin, end, a_token_that_is_none_is_refused)
{
    struct rundb_changes *c;
    uint8_t token[RUNDB_APPLY_TOKEN_MAX];
    size_t n;
    change(run, "");
    copy_open(&copy);
    assert_int_equal(rundb_apply_token(copy.apply, token, &n), 0);
    assert_int_equal(rundb_changes_open(run, token, n - 1, &c), BEZEL_EMALFORMED);
    token[0] ^= 1;
    assert_int_equal(rundb_changes_open(run, token, n, &c), BEZEL_EMALFORMED);
    token[0] ^= 1;
    token[n - 1] ^= 1; /* rows that nobody has: that table is sent anew */
    copy_close_changes(&copy);
    change(run, "INSERT INTO events VALUES(1, 0, 'one'); INSERT INTO threads VALUES(1, 2, 'nav', 3, 4, 'decoder', 0)");
    assert_int_equal(rundb_changes_open(run, token, n, &copy.changes), 0);
    copy_all(&copy, false);
    copy_assert_same(&copy, false);
}

static int refuse(void *context, const void *bytes, size_t n)
{
    (void)context, (void)bytes, (void)n;
    return BEZEL_EUNREACH;
}

TEST_WITH(begin, end, after_a_put_that_failed_nothing_is_sent)
{
    change(run, "INSERT INTO events VALUES(1, 0, 'one')");
    copy_open(&copy);
    assert_int_equal(rundb_changes_begin(copy.changes, false), 1);
    assert_int_equal(rundb_changes_put(copy.changes, RUNDB_CHANGES_REST, refuse, NULL), BEZEL_EUNREACH);
    assert_int_equal(rundb_changes_end(copy.changes), 0);
    assert_int_equal(rundb_changes_begin(copy.changes, false), BEZEL_EINVAL);
}
