// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/facts_db.h"
#include "collector/facts_run.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Two kinds of tables. nodes, processes (with dictionaries), books' attempts and losses by cause, latency, facts,
 * events and notes are known here alone and are committed before anything relies on them. losses, self, limits,
 * decisions, metrics, polling, flow, expired, obeyed, knobs, findings, streams, kinds and books' stored counts are
 * derived from the packets of the trace, and can be written anew from them at any time.
 *
 * A transaction stays open for some 200 ms and is then committed by the caller. Commits do not reach for stable storage
 * (synchronous = OFF) unless facts_lasting() says so: a kill loses nothing that was committed, the power may, as it may
 * with packets. Whoever writes before and after the collector must say it as well, or its pages may be missing under
 * what the collector committed.
 */
/* A table without ROWID begins with its key: SQLite 3.40 finds damage in others where there is none (quick_check). */
static const char *const schema[] = {
    "CREATE TABLE facts(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE events(at INTEGER NOT NULL, error INTEGER NOT NULL, text TEXT NOT NULL);"
    "CREATE TABLE nodes(id INTEGER PRIMARY KEY, name TEXT NOT NULL, uuid BLOB NOT NULL UNIQUE, boot BLOB NOT NULL,"
    " realtime_offset INTEGER NOT NULL, dir TEXT NOT NULL UNIQUE, left INTEGER NOT NULL DEFAULT 0,"
    " unobserved INTEGER NOT NULL DEFAULT 0);"
    "CREATE TABLE processes(id INTEGER PRIMARY KEY, node INTEGER NOT NULL REFERENCES nodes, instance INTEGER NOT NULL,"
    " stream_id INTEGER NOT NULL, pid INTEGER NOT NULL, role INTEGER NOT NULL, name TEXT NOT NULL, executable TEXT NOT "
    "NULL,"
    " started INTEGER NOT NULL, base TEXT NOT NULL, dictionary BLOB NOT NULL, state INTEGER NOT NULL DEFAULT 0,"
    " overwrites INTEGER NOT NULL,"
    " unfinished INTEGER NOT NULL DEFAULT 0, unobserved INTEGER NOT NULL DEFAULT 0, latency BLOB, UNIQUE(node, "
    "instance), UNIQUE(node, stream_id));"
    "CREATE TABLE streams(process INTEGER NOT NULL REFERENCES processes, ring INTEGER NOT NULL, packets INTEGER NOT "
    "NULL,"
    " bytes INTEGER NOT NULL, next_ordinal INTEGER NOT NULL, discarded INTEGER NOT NULL, sum INTEGER NOT NULL,"
    " closed INTEGER NOT NULL,"
    " PRIMARY KEY(process, ring))"
    " WITHOUT ROWID;"
    "CREATE TABLE books(process INTEGER NOT NULL REFERENCES processes, aspect INTEGER NOT NULL, name TEXT NOT NULL,"
    " attempts INTEGER NOT NULL, lost_full INTEGER NOT NULL, lost_off INTEGER NOT NULL, lost_no_ring INTEGER NOT NULL,"
    " lost_window INTEGER NOT NULL, lost_spool INTEGER NOT NULL,"
    " stored INTEGER NOT NULL, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL, PRIMARY KEY(process, aspect))"
    " WITHOUT ROWID;"
    "CREATE TABLE kinds(process INTEGER NOT NULL REFERENCES processes, aspect INTEGER NOT NULL, kind INTEGER NOT NULL,"
    " unit TEXT NOT NULL, total INTEGER NOT NULL, last REAL, min REAL, max REAL, durations BLOB,"
    " PRIMARY KEY(process, aspect)) WITHOUT ROWID;"
    "CREATE TABLE losses(process INTEGER NOT NULL REFERENCES processes, ring INTEGER NOT NULL, begin_ns INTEGER NOT "
    "NULL,"
    " end_ns INTEGER NOT NULL, first_ordinal INTEGER NOT NULL, count INTEGER NOT NULL);",
    "CREATE TABLE self(process INTEGER NOT NULL REFERENCES processes, at INTEGER NOT NULL, cpu_ns INTEGER NOT NULL,"
    " wakeups INTEGER NOT NULL, records INTEGER NOT NULL, bytes INTEGER NOT NULL, window_bytes INTEGER NOT NULL,"
    " oldest_ns INTEGER NOT NULL, period_ns INTEGER NOT NULL, sensor_cpu REAL, worst_ns INTEGER NOT NULL);"
    "CREATE TABLE limits(node INTEGER NOT NULL REFERENCES nodes, number INTEGER NOT NULL, epoch INTEGER NOT NULL,"
    " at INTEGER NOT NULL, state INTEGER NOT NULL, value REAL, worst REAL, settling INTEGER NOT NULL, held INTEGER NOT "
    "NULL,"
    " violated INTEGER NOT NULL, unknown INTEGER NOT NULL, last_violated INTEGER NOT NULL,"
    " PRIMARY KEY(node, number, epoch)) WITHOUT ROWID;"
    "CREATE TABLE decisions(node INTEGER NOT NULL REFERENCES nodes, at INTEGER NOT NULL, policy INTEGER NOT NULL,"
    " action INTEGER NOT NULL, before_ns INTEGER NOT NULL, after_ns INTEGER NOT NULL, cause INTEGER NOT NULL,"
    " by INTEGER NOT NULL, epoch INTEGER NOT NULL, sequence INTEGER NOT NULL);"
    "CREATE TABLE metrics(node INTEGER NOT NULL REFERENCES nodes, at INTEGER NOT NULL, metric TEXT NOT NULL,"
    " process TEXT NOT NULL, value REAL);"
    "CREATE TABLE clocks(process INTEGER PRIMARY KEY REFERENCES processes, at INTEGER NOT NULL, kernel INTEGER NOT "
    "NULL,"
    " counter INTEGER NOT NULL, program INTEGER NOT NULL, error_ns INTEGER NOT NULL, jumps INTEGER NOT NULL,"
    " clamped INTEGER NOT NULL);"
    "CREATE TABLE polling(node INTEGER NOT NULL REFERENCES nodes, at INTEGER NOT NULL, cause INTEGER NOT NULL,"
    " period_ns INTEGER NOT NULL, mode INTEGER NOT NULL, forward INTEGER NOT NULL, batch INTEGER NOT NULL);"
    "CREATE TABLE flow(process INTEGER NOT NULL REFERENCES processes, at INTEGER NOT NULL, produced INTEGER NOT NULL,"
    " lost_full INTEGER NOT NULL, lost_off INTEGER NOT NULL, lost_no_ring INTEGER NOT NULL, overwritten INTEGER NOT "
    "NULL, in_rings INTEGER NOT NULL, in_window INTEGER NOT NULL, backpressure INTEGER NOT NULL, lost_window INTEGER "
    "NOT NULL, lost_spool INTEGER NOT NULL);"
    "CREATE TABLE expired(process INTEGER NOT NULL REFERENCES processes, instance INTEGER NOT NULL, aspect TEXT NOT "
    "NULL, name TEXT NOT NULL, bound_ns INTEGER NOT NULL, taken INTEGER NOT NULL, expired INTEGER NOT NULL,"
    " PRIMARY KEY(process, instance, aspect)) WITHOUT ROWID;"
    "CREATE TABLE knobs(node INTEGER NOT NULL REFERENCES nodes, at INTEGER NOT NULL, process TEXT NOT NULL, name TEXT "
    "NOT NULL, unit TEXT NOT NULL, instance INTEGER NOT NULL, cause INTEGER NOT NULL, before INTEGER NOT NULL,"
    " after INTEGER NOT NULL, number INTEGER NOT NULL, value REAL, epoch INTEGER NOT NULL, sequence INTEGER NOT NULL);"
    "CREATE TABLE snapshots(process INTEGER NOT NULL REFERENCES processes, number INTEGER NOT NULL, moment INTEGER NOT "
    "NULL, at INTEGER NOT NULL, node TEXT NOT NULL, cause INTEGER NOT NULL, value REAL, duration_ns INTEGER NOT NULL,"
    " records INTEGER NOT NULL, processes INTEGER NOT NULL, first_ns INTEGER NOT NULL, last_ns INTEGER NOT NULL,"
    " over INTEGER NOT NULL, PRIMARY KEY(process, number, moment)) WITHOUT ROWID;"
    "CREATE TABLE observations(node INTEGER NOT NULL REFERENCES nodes, at INTEGER NOT NULL, number INTEGER NOT NULL,"
    " state INTEGER NOT NULL, value REAL);"
    "CREATE TABLE findings(node INTEGER NOT NULL REFERENCES nodes, at INTEGER NOT NULL, what INTEGER NOT NULL, holds "
    "INTEGER NOT NULL, number INTEGER NOT NULL, needed REAL, budget REAL, floor INTEGER NOT NULL);"
    "CREATE TABLE obeyed(process INTEGER PRIMARY KEY REFERENCES processes, at INTEGER NOT NULL, epoch INTEGER NOT NULL,"
    " obeyed INTEGER NOT NULL, expired INTEGER NOT NULL, outdated INTEGER NOT NULL, repeated INTEGER NOT NULL,"
    " cut INTEGER NOT NULL, lost INTEGER NOT NULL, untold INTEGER NOT NULL);"
    "CREATE TABLE notes(node INTEGER REFERENCES nodes, instance INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT NOT "
    "NULL, at INTEGER NOT NULL, code TEXT NOT NULL, text TEXT NOT NULL, UNIQUE(node, instance, pid, name, code, "
    "text));",
};

/*
 * Of what is told again and again the latest row by its time counts, of several with one time the greatest. So the
 * order in which packets of several rings came makes no difference: the trace alone says what the rows are.
 */
static const char *const sql[FACTS_STATEMENTS] = {
    [FACTS_BEGIN] = "BEGIN IMMEDIATE",
    [FACTS_COMMIT] = "COMMIT",
    [FACTS_PUT] = "INSERT OR REPLACE INTO facts VALUES(?1, ?2)",
    [FACTS_GET] = "SELECT value FROM facts WHERE key = ?1",
    [FACTS_EVENT] = "INSERT INTO events VALUES(?1, ?2, ?3)",
    [FACTS_NODE] = "INSERT INTO nodes(name, uuid, boot, realtime_offset, dir) VALUES(?1, ?2, ?3, ?4, ?5)",
    [FACTS_NODE_STATE] = "UPDATE nodes SET left = ?2, unobserved = ?3 WHERE id = ?1",
    [FACTS_PROCESS] = ("INSERT INTO processes(node, instance, stream_id, pid, role, name, executable, started, base,"
                       " dictionary, overwrites) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"),
    [FACTS_DICTIONARY] = "UPDATE processes SET dictionary = ?2 WHERE id = ?1",
    [FACTS_PROCESS_STATE] = ("UPDATE processes SET state = ?2, unfinished = ?3, latency = ?4, unobserved = ?5"
                             " WHERE id = ?1"),
    [FACTS_BOOK] = "INSERT OR REPLACE INTO books VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    [FACTS_KIND] = "INSERT OR REPLACE INTO kinds VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [FACTS_STREAM] = "INSERT OR REPLACE INTO streams VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [FACTS_LOSS] = "INSERT INTO losses VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
    [FACTS_SELF] = "INSERT INTO self VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    [FACTS_LIMIT] =
        ("INSERT INTO limits(node, number, at, state, value, worst, settling, held, violated, unknown, last_violated,"
         " epoch) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT DO UPDATE SET"
         " at = excluded.at, state = excluded.state, value = excluded.value, worst = excluded.worst,"
         " settling = excluded.settling, held = excluded.held, violated = excluded.violated,"
         " unknown = excluded.unknown, last_violated = excluded.last_violated"
         " WHERE (excluded.at, excluded.state, ifnull(excluded.value, -9e999), ifnull(excluded.worst, -9e999),"
         " excluded.settling, excluded.held, excluded.violated, excluded.unknown, excluded.last_violated)"
         " > (limits.at, limits.state, ifnull(limits.value, -9e999), ifnull(limits.worst, -9e999), limits.settling,"
         " limits.held, limits.violated, limits.unknown, limits.last_violated)"),
    [FACTS_DECISION] = "INSERT INTO decisions VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [FACTS_METRIC] = "INSERT INTO metrics VALUES(?1, ?2, ?3, ?4, ?5)",
    [FACTS_CLOCK] = "INSERT OR REPLACE INTO clocks SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE NOT EXISTS"
                    " (SELECT 1 FROM clocks WHERE process = ?1 AND (at, kernel, counter, program, error_ns, jumps,"
                    " clamped) > (?2, ?3, ?4, ?5, ?6, ?7, ?8))",
    [FACTS_POLLING] = "INSERT INTO polling VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [FACTS_FLOW] = "INSERT INTO flow VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    [FACTS_EXPIRED] = "INSERT OR REPLACE INTO expired(process, name, aspect, instance, bound_ns, taken, expired)"
                      " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS (SELECT 1 FROM expired WHERE process = ?1"
                      " AND aspect = ?3 AND instance = ?4 AND (taken, expired, bound_ns, name) > (?6, ?7, ?5, ?2))",
    [FACTS_OBEYED] = "INSERT OR REPLACE INTO obeyed SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 WHERE NOT EXISTS"
                     " (SELECT 1 FROM obeyed WHERE process = ?1 AND (at, epoch, obeyed, expired, outdated, repeated,"
                     " cut, lost, untold) > (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10))",
    [FACTS_FINDING] = "INSERT INTO findings VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [FACTS_KNOB] = "INSERT INTO knobs VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    [FACTS_SNAPSHOT] =
        ("INSERT OR REPLACE INTO snapshots SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13"
         " WHERE NOT EXISTS (SELECT 1 FROM snapshots WHERE process = ?1 AND number = ?2 AND moment = ?3 AND"
         " (at, node, cause, ifnull(value, -9e999), duration_ns, records, processes, first_ns, last_ns, over) >"
         " (?4, ?5, ?6, ifnull(?7, -9e999), ?8, ?9, ?10, ?11, ?12, ?13))"),
    [FACTS_OBSERVATION] = "INSERT INTO observations VALUES(?1, ?2, ?3, ?4, ?5)",
    [FACTS_NOTE] = ("INSERT OR IGNORE INTO notes SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7"
                    " WHERE (SELECT count(*) FROM notes WHERE node = ?1) < ?8"),
    [FACTS_SILENT] = ("INSERT INTO notes SELECT (SELECT max(id) FROM nodes WHERE name = ?1), 0, ?3, ?2, ?4, ?5, ?6"
                      " WHERE NOT EXISTS (SELECT 1 FROM processes WHERE name = ?2)"
                      " AND NOT EXISTS (SELECT 1 FROM processes JOIN nodes ON nodes.id = processes.node"
                      " WHERE nodes.name = ?1 AND pid = ?3)"
                      " AND NOT EXISTS (SELECT 1 FROM notes WHERE name = ?2 AND code = ?5)"),
};

int facts_error(sqlite3 *db, int rc)
{
    int sys = db ? sqlite3_system_errno(db) : 0;
    errno = sys;
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_FULL:
        errno = sys ? sys : ENOSPC;
        return BEZEL_ENOSPC;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return BEZEL_EBUSY;
    case SQLITE_NOMEM:
        return facts_refuse(BEZEL_ENOMEM, "out of memory, or what it takes to read it is more than 512 MiB");
    case SQLITE_PERM:
    case SQLITE_READONLY:
        return BEZEL_EPERM;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return BEZEL_EMALFORMED;
    case SQLITE_TOOBIG:
        return facts_refuse(BEZEL_EMALFORMED, "it holds a value that is longer than any that Bezel writes");
    case SQLITE_INTERRUPT:
        return BEZEL_ETIMEDOUT;
    case SQLITE_CONSTRAINT:
        return BEZEL_EINVAL;
    default:
        return sys ? err_from_errno(sys) : BEZEL_ESYS;
    }
}

static int facts_exec(sqlite3 *db, const char *text)
{
    return facts_error(db, sqlite3_exec(db, text, NULL, NULL, NULL));
}

int facts_prepare_get(struct facts *f)
{
    return facts_error(f->db, sqlite3_prepare_v2(f->db, sql[FACTS_GET], -1, &f->statements[FACTS_GET], NULL));
}

int facts_make_schema(sqlite3 *db)
{
    char mark[96];
    int err = 0;
    for (size_t i = 0; !err && i < sizeof schema / sizeof *schema; i++)
        err = facts_exec(db, schema[i]);
    snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d", FACTS_APPLICATION,
             FACTS_VERSION);
    return err ? err : facts_exec(db, mark);
}

/* Two may open a new database at once: the schema is looked for and made within one transaction. */
static int schema_make(sqlite3 *db)
{
    bool empty;
    int err = facts_exec(db, "BEGIN IMMEDIATE");
    if (err)
        return err;
    err = facts_check_schema(db, &empty);
    if (empty)
        err = facts_make_schema(db);
    int end = facts_exec(db, err ? "ROLLBACK" : "COMMIT");
    return err ? err : end;
}

static void facts_release(struct facts *f)
{
    for (int i = 0; i < FACTS_STATEMENTS; i++)
        sqlite3_finalize(f->statements[i]);
    sqlite3_close(f->db);
    free(f);
}

/* Readies what was opened with result `err`; where it cannot, it is released. */
static int facts_ready(struct facts *it, int err, struct facts **f)
{
    for (int i = 0; i < FACTS_STATEMENTS && !err; i++)
        err = facts_error(it->db, sqlite3_prepare_v2(it->db, sql[i], -1, &it->statements[i], NULL));
    if (err) {
        int sys = errno;
        facts_release(it);
        errno = sys;
        return err;
    }
    *f = it;
    return 0;
}

int facts_open(const char *run, struct facts **f)
{
    struct facts *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    int err = facts_open_file(run, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL, &it->db);
    if (!err)
        err = schema_make(it->db);
    if (!err)
        err = facts_exec(it->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
    return facts_ready(it, err, f);
}

int facts_open_scratch(struct facts **f)
{
    struct facts *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int err = facts_error(NULL, sqlite3_open_v2("", &it->db, flags, NULL));
    if (!err)
        err = facts_exec(it->db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536");
    if (!err)
        err = facts_make_schema(it->db);
    return facts_ready(it, err, f);
}

int facts_lasting(struct facts *f)
{
    return facts_exec(f->db, "PRAGMA synchronous = FULL");
}

/* The last to close leaves one plain file, which read-only media and other programs can open. */
int facts_close(struct facts *f)
{
    if (!f)
        return 0;
    int before = errno, err = facts_commit(f), sys = err ? errno : before;
    sqlite3_busy_timeout(f->db, 0);
    if (!sqlite3_db_readonly(f->db, "main"))
        (void)!facts_exec(f->db, "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
    facts_release(f);
    errno = sys;
    return err;
}

int facts_begin(struct facts *f)
{
    if (f->within)
        return 0;
    int err = facts_error(f->db, sqlite3_step(f->statements[FACTS_BEGIN]));
    sqlite3_reset(f->statements[FACTS_BEGIN]);
    f->within = !err;
    return err;
}

sqlite3_stmt *facts_prepare(struct facts *f, enum facts_statement which, int *err)
{
    *err = facts_begin(f);
    if (*err)
        f->lacks = true;
    return *err ? NULL : f->statements[which];
}

int facts_run(struct facts *f, sqlite3_stmt *statement)
{
    int err = facts_error(f->db, sqlite3_step(statement)), sys = errno;
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    if (err)
        f->lacks = true;
    f->within = !sqlite3_get_autocommit(f->db);
    errno = sys;
    return err;
}

int facts_commit(struct facts *f)
{
    if (!f->within)
        return 0;
    int err = facts_error(f->db, sqlite3_step(f->statements[FACTS_COMMIT])), sys = errno;
    sqlite3_reset(f->statements[FACTS_COMMIT]);
    f->within = !sqlite3_get_autocommit(f->db);
    if (err && !f->within)
        f->lacks = true;
    errno = sys;
    return err;
}

void facts_bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

int facts_put(struct facts *f, const char *key, const char *value)
{
    int err;
    sqlite3_stmt *s = facts_prepare(f, FACTS_PUT, &err);
    if (!s)
        return err;
    facts_bind_text(s, 1, key);
    facts_bind_text(s, 2, value);
    return facts_run(f, s);
}

int facts_put_int(struct facts *f, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    return facts_put(f, key, text);
}

int facts_event(struct facts *f, int64_t at, bool error, const char *text)
{
    int err;
    sqlite3_stmt *s = facts_prepare(f, FACTS_EVENT, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, at);
    sqlite3_bind_int(s, 2, error);
    facts_bind_text(s, 3, text);
    return facts_run(f, s);
}

int facts_silent(struct facts *f, const char *node, const char *name, int64_t pid, const char *text)
{
    int err;
    sqlite3_stmt *s = facts_prepare(f, FACTS_SILENT, &err);
    if (!s)
        return err;
    facts_bind_text(s, 1, node);
    facts_bind_text(s, 2, name);
    sqlite3_bind_int64(s, 3, pid);
    sqlite3_bind_int64(s, 4, clock_now());
    facts_bind_text(s, 5, FACTS_NO_SEGMENT);
    facts_bind_text(s, 6, text);
    return facts_run(f, s);
}
