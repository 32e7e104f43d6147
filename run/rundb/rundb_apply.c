// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/rundb/rundb_apply.h"

#include "base/bytes.h"
#include "base/checksum.h"
#include "run/rundb/rundb_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How rows of a table are written; prepared when the first one comes. */
struct writer {
    sqlite3_stmt *columns, *put, *gone;
};

struct rundb_apply {
    struct rundb *f;
    bool joined;
    FILE *taken; /* and not committed */
    struct writer writers[RUNDB_ROWS_TABLES];
    struct rundb_rows_piece piece;
};

static int malformed(const char *what)
{
    return rundb_refuse(BEZEL_EMALFORMED, "the changes of run.db that the server sent are malformed: %s", what);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* A file without a name in the run directory, which has room for a run. */
static FILE *open_taken(const char *run)
{
    char path[PATH_MAX];
    int fd = open(run, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0 && snprintf(path, sizeof path, "%s/.rows.XXXXXX", run) < (int)sizeof path) {
        fd = mkostemp(path, O_CLOEXEC); /* a file system without O_TMPFILE */
        if (fd >= 0)
            (void)!unlink(path);
    }
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");
    if (fd >= 0 && !file)
        close(fd);
    return file;
}

int rundb_apply_bytes(struct rundb_apply *a, const void *bytes, size_t n)
{
    return n == 0 || fwrite(bytes, 1, n, a->taken) == n ? 0 : err_from_errno(errno);
}

static int drop(struct rundb_apply *a)
{
    rewind(a->taken);
    return ftruncate(fileno(a->taken), 0) == 0 ? 0 : err_from_errno(errno);
}

/* Reads the next piece. Returns 1, 0 at the end, or an error. */
static int next_piece(struct rundb_apply *a)
{
    uint8_t *bytes = a->piece.bytes;
    size_t n = fread(bytes, 1, 4, a->taken);
    if (n == 0 && !ferror(a->taken))
        return 0;
    a->piece.n = n == 4 ? bytes_get_u32(bytes) : 0;
    if (n == 4 && (a->piece.n < 2 || a->piece.n > sizeof a->piece.bytes))
        return malformed("a row is longer than any that Bezel writes");
    if (n != 4 || fread(bytes, 1, a->piece.n, a->taken) != a->piece.n)
        return ferror(a->taken) ? err_from_errno(errno) : malformed("a row is cut off");
    return 1;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Writes a column's name; a rowid is none. */
static void write_name(sqlite3_str *out, int table, sqlite3_stmt *columns, int i)
{
    bool is_rowid = i == 0 && rundb_rows_table(table).rowid;
    sqlite3_str_appendf(out, is_rowid ? "%w" : "\"%w\"", sqlite3_column_name(columns, i));
}

/* Properties that `bezel run` alone writes. A server that has them, too, does not replace them. */
#define OF_HOME                                                                                                        \
    "(?1 IN ('run', 'name', '" RUNDB_EXPERIMENT "', 'started', 'ended', 'ended_by', 'outcome', '" RUNDB_UNDRAINED      \
    "', '" RUNDB_UNENDED "', '" RUNDB_UNMANAGED "', '" RUNDB_BEHIND "', '" RUNDB_SNAPSHOTS_REFUSED                     \
    "') OR ?1 GLOB 'versions.*' OR ?1 GLOB 'host.*')"

static const char put_property[] = "INSERT OR REPLACE INTO properties(key, value) SELECT ?1, ?2 WHERE NOT (" OF_HOME
                                   " AND EXISTS (SELECT 1 FROM properties WHERE key = ?1))";
static const char delete_property[] = "DELETE FROM properties WHERE key = ?1 AND NOT " OF_HOME;

/*
 * In a joined database notes of the collector have the negative of their rowid, 0 and above are those of `bezel run`:
 * notes of a collector are never deleted, so there is a -1, behind which SQLite counts on. Whatever rowid a server
 * sends, it becomes one below 0.
 */
static void write_put(sqlite3_str *out, int table, sqlite3_stmt *columns, bool negative)
{
    int count = sqlite3_column_count(columns);
    sqlite3_str_appendf(out, "INSERT OR REPLACE INTO %s", rundb_rows_table(table).name);
    for (int i = 0; i < count; i++) {
        sqlite3_str_appendall(out, i == 0 ? "(" : ", ");
        write_name(out, table, columns, i);
    }
    for (int i = 0; i < count; i++)
        sqlite3_str_appendf(out, i == 0 && negative ? "%s-max(abs(?%d), 1)" : "%s?%d", i == 0 ? ") VALUES(" : ", ",
                            i + 1);
    sqlite3_str_appendall(out, ")");
}

static void write_delete(sqlite3_str *out, int table, sqlite3_stmt *columns, bool negative)
{
    sqlite3_str_appendf(out, "DELETE FROM %s", rundb_rows_table(table).name);
    for (int i = 0; i < rundb_rows_table(table).keys; i++) {
        sqlite3_str_appendall(out, i == 0 ? " WHERE " : " AND ");
        write_name(out, table, columns, i);
        sqlite3_str_appendf(out, negative ? " = -max(abs(?%d), 1)" : " = ?%d", i + 1);
    }
}

/* Prepares the statement of text `out`, and frees that. */
static int prepare(sqlite3 *db, sqlite3_str *out, sqlite3_stmt **s)
{
    char *text = sqlite3_str_finish(out);
    int err = text ? rundb_error(db, sqlite3_prepare_v2(db, text, -1, s, NULL)) : BEZEL_ENOMEM;
    sqlite3_free(text);
    return err;
}

static int prepare_writer(struct rundb_apply *a, int table)
{
    struct writer *w = &a->writers[table];
    sqlite3 *db = a->f->db;
    bool negative = a->joined && table == RUNDB_ROWS_NOTES, properties = a->joined && table == RUNDB_ROWS_PROPERTIES;
    if (w->gone)
        return 0;
    int err = w->columns ? 0 : rundb_rows_query(db, table, "", &w->columns);
    if (!err && !w->put) {
        sqlite3_str *out = sqlite3_str_new(db);
        if (properties)
            sqlite3_str_appendall(out, put_property);
        else
            write_put(out, table, w->columns, negative);
        err = prepare(db, out, &w->put);
    }
    if (!err) {
        sqlite3_str *out = sqlite3_str_new(db);
        if (properties)
            sqlite3_str_appendall(out, delete_property);
        else
            write_delete(out, table, w->columns, negative);
        err = prepare(db, out, &w->gone);
    }
    return err;
}

static void bind(sqlite3_stmt *s, int at, const struct rundb_rows_value *v)
{
    double real;
    switch (v->type) {
    case SQLITE_INTEGER:
        sqlite3_bind_int64(s, at, v->number);
        break;
    case SQLITE_FLOAT:
        memcpy(&real, &v->number, sizeof real);
        sqlite3_bind_double(s, at, real);
        break;
    case SQLITE_TEXT:
        sqlite3_bind_text(s, at, (const char *)v->bytes, (int)v->number, SQLITE_STATIC);
        break;
    case SQLITE_BLOB:
        sqlite3_bind_blob(s, at, v->bytes, (int)v->number, SQLITE_STATIC);
        break;
    default:
        sqlite3_bind_null(s, at);
    }
}

/* Runs `s` with the `count` values of the piece, whose columns are those of `columns`. */
static int run(struct rundb_apply *a, sqlite3_stmt *s, sqlite3_stmt *columns, int count)
{
    const uint8_t *at = a->piece.bytes + 2, *end = a->piece.bytes + a->piece.n;
    struct rundb_rows_value v;
    for (int i = 0; i < count; i++) {
        if (!rundb_rows_read(&at, end, &v))
            return malformed("a row lacks a value");
        if (!rundb_rows_type_ok(sqlite3_column_decltype(columns, i), v.type))
            return malformed("a value has another type than its column");
        if (a->joined && a->piece.bytes[1] == RUNDB_ROWS_NOTES && i == 0 && v.number <= 0)
            return malformed("a note's number is not above 0");
        bind(s, i + 1, &v);
    }
    if (at != end)
        return malformed("a row has too many values");
    int err = rundb_error(a->f->db, sqlite3_step(s));
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return err == BEZEL_EINVAL ? malformed("a row lacks a value that it must have") : err;
}

/* Of a joined database only the rows that changes have put are deleted. Of properties the others are put behind this.
 */
static int clear(struct rundb_apply *a, int table)
{
    char text[96];
    const char *which = !a->joined                       ? ""
                        : table == RUNDB_ROWS_NOTES      ? " WHERE rowid < 0"
                        : table == RUNDB_ROWS_PROPERTIES ? " WHERE key IN ('" RUNDB_FINISHED "', '" RUNDB_SEAL "')"
                                                         : "";
    if (a->piece.n != 2)
        return malformed("the deletion of all rows has values");
    snprintf(text, sizeof text, "DELETE FROM %s%s", rundb_rows_table(table).name, which);
    return rundb_error(a->f->db, sqlite3_exec(a->f->db, text, NULL, NULL, NULL));
}

/* Tables of a joined database that `bezel run` alone writes. */
static bool is_of_home(const struct rundb_apply *a, int table)
{
    return a->joined && (table == RUNDB_ROWS_EVENTS || table == RUNDB_ROWS_PROGRAMS);
}

static int apply_piece(struct rundb_apply *a)
{
    int what = a->piece.bytes[0], table = a->piece.bytes[1];
    if (table >= RUNDB_ROWS_TABLES || what < RUNDB_ROWS_CLEAR || what > RUNDB_ROWS_DELETE)
        return malformed("a table that is unknown");
    if (is_of_home(a, table))
        return 0;
    if (what == RUNDB_ROWS_CLEAR)
        return clear(a, table);
    struct writer *w = &a->writers[table];
    int err = prepare_writer(a, table);
    if (err)
        return err;
    return what == RUNDB_ROWS_PUT ? run(a, w->put, w->columns, sqlite3_column_count(w->columns))
                                  : run(a, w->gone, w->columns, rundb_rows_table(table).keys);
}

/* ---- commit ------------------------------------------------------------------------------------------------------ */

static int apply(struct rundb_apply *a)
{
    int more, err = 0;
    while (!err && (more = next_piece(a)) != 0)
        err = more < 0 ? more : apply_piece(a);
    if (!err && a->joined)
        err = rundb_seal(a->f);
    return err;
}

int rundb_apply_commit(struct rundb_apply *a)
{
    if (fflush(a->taken) != 0)
        return err_from_errno(errno);
    if (ftell(a->taken) == 0)
        return 0;
    int err = rundb_begin(a->f);
    if (err)
        return err;
    rewind(a->taken);
    err = rundb_end(a->f, apply(a));
    int sys = errno, dropped = drop(a);
    errno = err ? sys : errno;
    return err ? err : dropped;
}

static int place_of(sqlite3 *db, int table, struct rundb_rows_place *place)
{
    sqlite3_stmt *row;
    bool grows = rundb_rows_table(table).grows;
    int rc, err = rundb_rows_query(db, table, grows ? "ORDER BY rowid DESC LIMIT 1" : "", &row);
    if (err)
        return err;
    while ((rc = sqlite3_step(row)) == SQLITE_ROW) {
        place->last = grows ? sqlite3_column_int64(row, 0) : RUNDB_ROWS_NONE;
        place->sum += rundb_sum_row(CHECKSUM_START, row);
    }
    sqlite3_finalize(row);
    return rundb_error(db, rc);
}

int rundb_apply_token(struct rundb_apply *a, void *token, size_t *n)
{
    struct rundb_rows_token t = {0};
    int err = drop(a);
    if (!err)
        err = rundb_rows_rewritten(a->f->db, &t.rewritten);
    for (int i = 0; i < RUNDB_ROWS_TABLES; i++) {
        t.tables[i].last = RUNDB_ROWS_NONE;
        if (!err && !is_of_home(a, i))
            err = place_of(a->f->db, i, &t.tables[i]);
    }
    rundb_rows_put_token(&t, token);
    *n = RUNDB_ROWS_TOKEN;
    return err;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

int rundb_apply_open(const char *run, bool joined, struct rundb_apply **a)
{
    struct rundb_apply *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    it->joined = joined;
    int err = rundb_open(run, &it->f);
    if (!err && !(it->taken = open_taken(run)))
        err = err_from_errno(errno);
    if (!err) {
        *a = it;
        return 0;
    }
    int sys = errno;
    (void)!rundb_apply_close(it);
    errno = sys;
    return err;
}

int rundb_apply_close(struct rundb_apply *a)
{
    if (!a)
        return 0;
    for (int i = 0; i < RUNDB_ROWS_TABLES; i++) {
        sqlite3_finalize(a->writers[i].columns);
        sqlite3_finalize(a->writers[i].put);
        sqlite3_finalize(a->writers[i].gone);
    }
    if (a->taken)
        (void)!fclose(a->taken);
    int err = rundb_close(a->f);
    free(a);
    return err;
}
