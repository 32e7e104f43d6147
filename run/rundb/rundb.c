// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/parts.h"
#include "run/rundb/rundb_live.h"
#include "run/rundb/rundb_sqlite.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * There are two kinds of data. Only the database has nodes, processes (with dictionaries), books' attempts and losses
 * by cause, latency, properties, events, notes and programs: these are committed before anything relies on them. The
 * others are derived from the packets of the trace, and can be written anew from them at any time: losses, streams,
 * fields, books' stored counts and the tables of built-in aspects (run/rundb/rundb_builtin.c); where packets
 * have expired, from what sections note and the packets that are kept (rundb_sections.h).
 *
 * The caller commits a transaction after some 200 ms. Commits are not synced (synchronous = OFF) unless rundb_lasting()
 * was called: a kill loses nothing that was committed, but a power failure may, as it may lose packets. If the
 * collector syncs, writers before and after it must call rundb_lasting() as well, else their pages may be missing below
 * its own.
 */
/* A table without ROWID begins with its key: SQLite 3.40 finds damage in others where there is none (quick_check). */
static const char schema[] =
    "CREATE TABLE properties(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE events(at INTEGER NOT NULL, error INTEGER NOT NULL, text TEXT NOT NULL);"
    "CREATE TABLE nodes(id INTEGER PRIMARY KEY, name TEXT NOT NULL, uuid BLOB NOT NULL UNIQUE, clock BLOB NOT NULL,"
    " realtime_offset INTEGER NOT NULL, dir TEXT NOT NULL UNIQUE, left INTEGER NOT NULL DEFAULT 0, unobserved INTEGER"
    " NOT NULL DEFAULT 0);"
    "CREATE TABLE processes(id INTEGER PRIMARY KEY, node INTEGER NOT NULL REFERENCES nodes, instance INTEGER NOT"
    " NULL, stream_id INTEGER NOT NULL, pid INTEGER NOT NULL, role INTEGER NOT NULL, name TEXT NOT NULL, executable"
    " TEXT NOT NULL, started INTEGER NOT NULL, base TEXT NOT NULL, dictionary BLOB NOT NULL, state INTEGER NOT NULL"
    " DEFAULT 0, overwrites INTEGER NOT NULL, unfinished INTEGER NOT NULL DEFAULT 0, unobserved INTEGER NOT NULL"
    " DEFAULT 0, latency BLOB, latency_bound INTEGER NOT NULL DEFAULT 0, UNIQUE(node, instance), UNIQUE(node, "
    "stream_id));"
    "CREATE TABLE streams(process INTEGER NOT NULL REFERENCES processes, ring INTEGER NOT NULL, packets INTEGER NOT"
    " NULL, bytes INTEGER NOT NULL, next_ordinal INTEGER NOT NULL, discarded INTEGER NOT NULL, sum INTEGER NOT NULL,"
    " closed INTEGER NOT NULL, records INTEGER NOT NULL, PRIMARY KEY(process, ring)) WITHOUT ROWID;"
    "CREATE TABLE books(process INTEGER NOT NULL REFERENCES processes, aspect INTEGER NOT NULL, name TEXT NOT NULL,"
    " kind INTEGER NOT NULL, attempts INTEGER NOT NULL, lost_full INTEGER NOT NULL, lost_off INTEGER NOT NULL, "
    "lost_no_ring INTEGER NOT"
    " NULL, lost_window INTEGER NOT NULL, lost_spool INTEGER NOT NULL, stored INTEGER NOT NULL, first_ns INTEGER NOT"
    " NULL, last_ns INTEGER NOT NULL, PRIMARY KEY(process, aspect)) WITHOUT ROWID;"
    "CREATE TABLE fields(process INTEGER NOT NULL REFERENCES processes, aspect INTEGER NOT NULL, field INTEGER NOT"
    " NULL, name TEXT NOT NULL, unit TEXT NOT NULL, count INTEGER NOT NULL, unknown INTEGER NOT NULL, total INTEGER,"
    " mean REAL, last, min, max, p50, p99, PRIMARY KEY(process, aspect, field)) WITHOUT ROWID;"
    "CREATE TABLE losses(process INTEGER NOT NULL REFERENCES processes, ring INTEGER NOT NULL, begin_ns INTEGER NOT"
    " NULL, end_ns INTEGER NOT NULL, first_ordinal INTEGER NOT NULL, count INTEGER NOT NULL, section INTEGER NOT NULL);"
    "CREATE TABLE sections(number INTEGER PRIMARY KEY, at INTEGER NOT NULL, clock INTEGER NOT NULL);"
    "CREATE TABLE section_streams(section INTEGER NOT NULL, process INTEGER NOT NULL REFERENCES processes, ring INTEGER"
    " NOT NULL, packets INTEGER NOT NULL, bytes INTEGER NOT NULL, records INTEGER NOT NULL, next_ordinal INTEGER NOT"
    " NULL, discarded INTEGER NOT NULL, sum INTEGER NOT NULL, last_end INTEGER NOT NULL, closed INTEGER NOT NULL,"
    " PRIMARY KEY(section, process, ring)) WITHOUT ROWID;"
    "CREATE TABLE section_books(section INTEGER NOT NULL, process INTEGER NOT NULL REFERENCES processes, aspect INTEGER"
    " NOT NULL, stored INTEGER NOT NULL, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, PRIMARY KEY(section,"
    " process, aspect)) WITHOUT ROWID;"
    "CREATE TABLE section_fields(section INTEGER NOT NULL, process INTEGER NOT NULL REFERENCES processes, aspect "
    "INTEGER"
    " NOT NULL, field INTEGER NOT NULL, state BLOB NOT NULL, PRIMARY KEY(section, process, aspect, field)) WITHOUT"
    " ROWID;"
    "CREATE TABLE notes(node INTEGER REFERENCES nodes, instance INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT NOT"
    " NULL, at INTEGER NOT NULL, code TEXT NOT NULL, text TEXT NOT NULL, UNIQUE(node, instance, pid, name, code,"
    " text));"
    "CREATE TABLE programs(node TEXT NOT NULL, name TEXT NOT NULL, incarnation INTEGER NOT NULL, pid INTEGER NOT NULL,"
    " state INTEGER NOT NULL, status INTEGER NOT NULL, error INTEGER NOT NULL, stage TEXT NOT NULL, ran INTEGER NOT"
    " NULL, cpu INTEGER NOT NULL, memory INTEGER NOT NULL, missing INTEGER NOT NULL, " RUNDB_LAUNCHED
    ", PRIMARY KEY(node, name, incarnation)) WITHOUT ROWID;";

static const char *const sql[RUNDB_BUILTIN] = {
    [RUNDB_BEGIN] = "BEGIN IMMEDIATE",
    [RUNDB_COMMIT] = "COMMIT",
    [RUNDB_PUT] = "INSERT OR REPLACE INTO properties VALUES(?1, ?2)",
    [RUNDB_GET] = "SELECT value FROM properties WHERE key = ?1",
    [RUNDB_EVENT] = "INSERT INTO events VALUES(?1, ?2, ?3)",
    [RUNDB_NODE] = "INSERT INTO nodes(name, uuid, clock, realtime_offset, dir) VALUES(?1, ?2, ?3, ?4, ?5)",
    [RUNDB_NODE_STATE] = "UPDATE nodes SET left = ?2, unobserved = ?3 WHERE id = ?1",
    [RUNDB_PROCESS] = ("INSERT INTO processes(node, instance, stream_id, pid, role, name, executable, started, base,"
                       " dictionary, overwrites) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"),
    [RUNDB_DICTIONARY] = "UPDATE processes SET dictionary = ?2 WHERE id = ?1",
    [RUNDB_PROCESS_STATE] =
        ("UPDATE processes SET state = ?2, unfinished = ?3, latency = ?4, unobserved = ?5, latency_bound = ?6"
         " WHERE id = ?1"),
    [RUNDB_BOOK] = ("INSERT INTO books VALUES(?1, ?2, ?3, ?14, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
                    " ON CONFLICT(process, aspect) DO UPDATE SET name = ?3, attempts = ?4, lost_full = ?5,"
                    " lost_off = ?6, lost_no_ring = ?7, lost_window = ?8, lost_spool = ?9,"
                    " stored = iif(?13, ?10, stored), first_ns = iif(?13, ?11, first_ns),"
                    " last_ns = iif(?13, ?12, last_ns)"),
    [RUNDB_FIELD] = ("INSERT OR REPLACE INTO fields VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
                     " ?14)"),
    [RUNDB_STREAM] = "INSERT OR REPLACE INTO streams VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [RUNDB_LOSS] = "INSERT INTO losses VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [RUNDB_NOTE] = ("INSERT OR IGNORE INTO notes SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7"
                    " WHERE (SELECT count(*) FROM notes WHERE node = ?1) < ?8"),
    [RUNDB_SILENT] = ("INSERT INTO notes SELECT (SELECT max(id) FROM nodes WHERE name = ?1), 0, ?3, ?2, ?4, ?5, ?6"
                      " WHERE NOT EXISTS (SELECT 1 FROM processes WHERE name = ?2)"
                      " AND NOT EXISTS (SELECT 1 FROM processes JOIN nodes ON nodes.id = processes.node"
                      " WHERE nodes.name = ?1 AND pid = ?3)"
                      " AND NOT EXISTS (SELECT 1 FROM notes WHERE name = ?2 AND code = ?5)"),
    [RUNDB_SILENT_NODE] = "UPDATE notes SET node = (SELECT max(id) FROM nodes WHERE name = ?2) WHERE rowid = ?1",
    [RUNDB_PROGRAM] = "INSERT OR REPLACE INTO programs VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
};

int rundb_error(sqlite3 *db, int rc)
{
    int sys = db ? sqlite3_system_errno(db) : 0;
    errno = sys;
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_FULL:
        errno = ENOSPC; /* sqlite3_system_errno() is of an earlier error: SQLite keeps none for this one */
        return BEZEL_ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        if (rundb_lock_errno())
            return rundb_refuse(BEZEL_ESYS,
                                "its file system has no locks (%s), without which two programs could write it at once: "
                                "put the run into another folder (--runs)",
                                strerror(rundb_lock_errno()));
        return BEZEL_EBUSY;
    case SQLITE_NOMEM:
        return rundb_refuse(BEZEL_ENOMEM, "out of memory, or reading it needs more than 512 MiB");
    case SQLITE_PERM:
    case SQLITE_READONLY:
        return BEZEL_EPERM;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return BEZEL_EMALFORMED;
    case SQLITE_TOOBIG:
        return rundb_refuse(BEZEL_EMALFORMED, "it holds a value that is longer than any that Bezel writes");
    case SQLITE_INTERRUPT:
        return BEZEL_ETIMEDOUT;
    case SQLITE_CONSTRAINT:
        return BEZEL_EINVAL;
    case SQLITE_IOERR:
        if (db && sqlite3_extended_errcode(db) == SQLITE_IOERR_SHMMAP && (sys == ENODEV || sys == EINVAL))
            return rundb_refuse(BEZEL_ESYS,
                                "its file system cannot map files into memory (%s), as its log needs: put "
                                "the run into another folder (--runs)",
                                strerror(sys));
        return sys ? err_from_errno(sys) : BEZEL_ESYS;
    default:
        return sys ? err_from_errno(sys) : BEZEL_ESYS;
    }
}

static int rundb_exec(sqlite3 *db, const char *text)
{
    return rundb_error(db, sqlite3_exec(db, text, NULL, NULL, NULL));
}

int rundb_prepare_get(struct rundb *f)
{
    return rundb_error(f->db, sqlite3_prepare_v2(f->db, sql[RUNDB_GET], -1, &f->statements[RUNDB_GET], NULL));
}

int rundb_make_schema(sqlite3 *db)
{
    char mark[96];
    int err = rundb_exec(db, schema);
    if (!err)
        err = rundb_make_builtins(db);
    snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d", RUNDB_APPLICATION,
             RUNDB_VERSION);
    return err ? err : rundb_exec(db, mark);
}

/* Two programs may open a new database at once, so the schema is checked and made within one transaction. */
static int schema_make(sqlite3 *db)
{
    bool empty;
    int err = rundb_exec(db, "BEGIN IMMEDIATE");
    if (err)
        return err;
    err = rundb_check_schema(db, &empty);
    if (empty)
        err = rundb_make_schema(db);
    else if (!err)
        err = rundb_renew(db, true);
    int end = rundb_exec(db, err ? "ROLLBACK" : "COMMIT");
    return err ? err : end;
}

static void rundb_release(struct rundb *f)
{
    for (int i = 0; i < RUNDB_STATEMENTS; i++)
        sqlite3_finalize(f->statements[i]);
    sqlite3_close(f->db);
    free(f);
}

/* Prepares the statements of a database that was opened with result `err`. On any error releases it. */
static int rundb_ready(struct rundb *it, int err, struct rundb **f)
{
    for (int i = 0; i < RUNDB_BUILTIN && !err; i++)
        err = rundb_error(it->db, sqlite3_prepare_v2(it->db, sql[i], -1, &it->statements[i], NULL));
    if (!err)
        err = rundb_prepare_builtins(it);
    if (err) {
        int sys = errno;
        rundb_release(it);
        errno = sys;
        return err;
    }
    *f = it;
    return 0;
}

static int see_log(void *has_log, int count, char **values, char **names)
{
    (void)count, (void)names;
    *(bool *)has_log = values[0] && strcmp(values[0], "wal") == 0;
    return 0;
}

/*
 * A database has a log from its beginning until a collector has finished, also while nobody writes it, because a reader
 * of a plain file would keep the next writer out. Then it becomes one plain file. Either change is one write of a few
 * bytes of the file's first sector, so it needs no journal. With one, a kill in between would leave a database that
 * readers, which may not roll back, cannot open. A killed collector leaves the log, which stays: removing it would need
 * a database without readers.
 */
static int begin_log(sqlite3 *db)
{
    bool empty = false, has_log = false;
    int err = rundb_exec(db, "BEGIN");
    if (err)
        return err;
    err = rundb_check_schema(db, &empty);
    int end = rundb_exec(db, "COMMIT");
    if (err && !empty)
        return err; /* it is not ours: nothing in it is changed */
    err = end ? end : rundb_error(db, sqlite3_exec(db, "PRAGMA journal_mode", see_log, &has_log, NULL));
    return err || has_log ? err : rundb_exec(db, "PRAGMA journal_mode = MEMORY; PRAGMA journal_mode = WAL");
}

/*
 * Pages in the log from which on a commit moves them into the database, and the log is written from its beginning
 * again. By SQLite's 1000 it would have taken all of the store's reserve on a full disk before that, save by save.
 */
#define LOG_PAGES "64"

int rundb_open(const char *run, struct rundb **f)
{
    struct rundb *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    int err = rundb_open_file(run, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL, &it->db);
    if (!err)
        err = begin_log(it->db);
    if (!err)
        err = schema_make(it->db);
    if (!err)
        err = rundb_exec(it->db, "PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = " LOG_PAGES);
    return rundb_ready(it, err, f);
}

int rundb_open_scratch(struct rundb **f)
{
    struct rundb *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int err = rundb_error(NULL, sqlite3_open_v2("", &it->db, flags, NULL));
    if (!err)
        err = rundb_exec(it->db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536");
    if (!err)
        err = rundb_make_schema(it->db);
    return rundb_ready(it, err, f);
}

int rundb_lasting(struct rundb *f)
{
    return rundb_exec(f->db, "PRAGMA synchronous = FULL");
}

static bool is_finished(struct rundb *f)
{
    char finished[24];
    return rundb_get(f, RUNDB_FINISHED, finished, sizeof finished) == 0 && finished[0];
}

/* The last connection to a finished run leaves one plain file, which other programs can open, also on read-only media.
 */
int rundb_close(struct rundb *f)
{
    if (!f)
        return 0;
    int before = errno, err = f->within && !f->lacks ? rundb_seal(f) : 0;
    if (!err)
        err = rundb_commit(f);
    int sys = err ? errno : before;
    sqlite3_busy_timeout(f->db, 0);
    if (!sqlite3_db_readonly(f->db, "main"))
        (void)!rundb_exec(f->db, is_finished(f) ? "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = MEMORY"
                                                : "PRAGMA wal_checkpoint(TRUNCATE)");
    rundb_release(f);
    errno = sys;
    return err;
}

int rundb_begin(struct rundb *f)
{
    if (f->within)
        return 0;
    int err = rundb_error(f->db, sqlite3_step(f->statements[RUNDB_BEGIN]));
    sqlite3_reset(f->statements[RUNDB_BEGIN]);
    f->within = !err;
    return err;
}

static void bind(sqlite3_stmt *s, int at, const struct rundb_value *v)
{
    switch (v->type) {
    case RUNDB_IS_INT:
        sqlite3_bind_int64(s, at, v->number);
        break;
    case RUNDB_IS_REAL:
        sqlite3_bind_double(s, at, v->real);
        break;
    case RUNDB_IS_TEXT:
        sqlite3_bind_text(s, at, v->bytes, -1, SQLITE_STATIC);
        break;
    case RUNDB_IS_BLOB:
        sqlite3_bind_blob(s, at, v->bytes, (int)v->number, SQLITE_STATIC);
    }
}

int rundb_write_row(struct rundb *f, int which, const struct rundb_value *values, size_t count)
{
    sqlite3_stmt *s = f->statements[which];
    int err = rundb_begin(f), sys = errno;
    if (!err) {
        for (size_t i = 0; i < count; i++)
            bind(s, (int)i + 1, &values[i]);
        err = rundb_error(f->db, sqlite3_step(s)), sys = errno;
        sqlite3_reset(s);
        sqlite3_clear_bindings(s);
        f->within = !sqlite3_get_autocommit(f->db);
    }
    f->lacks = f->lacks || err;
    errno = sys;
    return err;
}

int rundb_commit(struct rundb *f)
{
    if (!f->within)
        return 0;
    int err = rundb_error(f->db, sqlite3_step(f->statements[RUNDB_COMMIT])), sys = errno;
    sqlite3_reset(f->statements[RUNDB_COMMIT]);
    f->within = !sqlite3_get_autocommit(f->db);
    if (err && !f->within)
        f->lacks = true;
    errno = sys;
    return err;
}

int rundb_end(struct rundb *f, int err)
{
    if (!err)
        err = rundb_commit(f);
    if (!err)
        return 0;
    int sys = errno;
    if (!sqlite3_get_autocommit(f->db))
        (void)sqlite3_exec(f->db, "ROLLBACK", NULL, NULL, NULL);
    f->within = false;
    errno = sys;
    return err;
}

int rundb_put(struct rundb *f, const char *key, const char *value)
{
    return rundb_write(f, RUNDB_PUT, RUNDB_TEXT(key), RUNDB_TEXT(value));
}

int rundb_put_int(struct rundb *f, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    return rundb_put(f, key, text);
}

const char *rundb_ways_key(int64_t row, char key[RUNDB_WAYS_KEY])
{
    snprintf(key, RUNDB_WAYS_KEY, RUNDB_WAYS "%" PRId64, row);
    return key;
}

int rundb_event(struct rundb *f, int64_t at, bool error, const char *text)
{
    return rundb_write(f, RUNDB_EVENT, RUNDB_INT(at), RUNDB_INT(error), RUNDB_TEXT(text));
}

int rundb_silent(struct rundb *f, const char *node, const char *name, int64_t pid, const char *text)
{
    return rundb_write(f, RUNDB_SILENT, RUNDB_TEXT(node), RUNDB_TEXT(name), RUNDB_INT(pid), RUNDB_INT(clock_now()),
                       RUNDB_TEXT(RUNDB_NO_SEGMENT), RUNDB_TEXT(text));
}

/* Notes of a collector have negative rowids in a joined database. */
static int forget_silent(struct rundb *f)
{
    static const char text[] =
        "DELETE FROM notes WHERE rowid >= 0 AND code = '" RUNDB_NO_SEGMENT "' AND (name IN (SELECT name FROM processes)"
        " OR name IN (SELECT name FROM notes WHERE rowid < 0 AND code = '" RUNDB_NO_SEGMENT "')"
        " OR ((SELECT name FROM nodes WHERE id = notes.node), pid) IN"
        " (SELECT nodes.name, pid FROM processes JOIN nodes ON nodes.id = processes.node))";
    int err = rundb_begin(f);
    return err ? err : rundb_error(f->db, sqlite3_exec(f->db, text, NULL, NULL, NULL));
}

int rundb_place_silent(struct rundb *f, const char *(*node_of)(const void *context, const char *process),
                       const void *context)
{
    static const char text[] =
        "SELECT rowid, name FROM notes WHERE rowid >= 0 AND node IS NULL AND code = '" RUNDB_NO_SEGMENT "'";
    sqlite3_stmt *rows;
    int err = rundb_error(f->db, sqlite3_prepare_v2(f->db, text, -1, &rows, NULL)), rc = SQLITE_DONE;
    while (!err && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(rows, 1), *node = name ? node_of(context, name) : NULL;
        if (node)
            err = rundb_write(f, RUNDB_SILENT_NODE, RUNDB_INT(sqlite3_column_int64(rows, 0)), RUNDB_TEXT(node));
    }
    sqlite3_finalize(rows);
    err = err ? err : rundb_error(f->db, rc);
    return err ? err : forget_silent(f);
}

int rundb_program(struct rundb *f, const char *node, const struct message_launched *row, uint64_t missing)
{
    int64_t ran = row->ended ? row->ended - row->started : 0;
    return rundb_write(f, RUNDB_PROGRAM, RUNDB_TEXT(node), RUNDB_TEXT(row->of.process), RUNDB_INT(row->of.incarnation),
                       RUNDB_INT(row->pid), RUNDB_INT(row->state), RUNDB_INT(row->status), RUNDB_INT(row->error),
                       RUNDB_TEXT(row->stage), RUNDB_INT(ran), RUNDB_INT((int64_t)(row->user_ns + row->system_ns)),
                       RUNDB_INT((int64_t)row->memory), RUNDB_INT((int64_t)missing), RUNDB_INT(row->started));
}
