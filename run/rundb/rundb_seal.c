// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/rundb/rundb_live.h"
#include "run/rundb/rundb_sqlite.h"

#include "base/checksum.h"
#include "base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A database at rest has a seal: a checksum over its rows, with the RUNDB_FINISHED for which it was made. The trace
 * proves the tables of built-in aspects, so they are not read for it, however long they are, but for that of limits,
 * which is short and makes the verdict; where packets have expired from the store it proves them no more, and they are.
 * Seals of former versions, without the mark at their end, leave out limits, too. The checksums of the rows are added
 * up: their order does not matter. A row's begins with its table, and has type, length and bytes of each value; but a
 * program's has no start that is not known, so that the seal of a version without that column goes on.
 */

static uint64_t add_value(uint64_t sum, sqlite3_stmt *row, int at)
{
    int type = sqlite3_column_type(row, at);
    int64_t number = type == SQLITE_INTEGER ? sqlite3_column_int64(row, at) : 0;
    double real = type == SQLITE_FLOAT ? sqlite3_column_double(row, at) : 0;
    sum = checksum_step(sum, (uint64_t)type);
    if (type == SQLITE_INTEGER)
        return checksum_step(sum, (uint64_t)number);
    if (type == SQLITE_FLOAT) {
        memcpy(&number, &real, sizeof number);
        return checksum_step(sum, (uint64_t)number);
    }
    const void *bytes = type == SQLITE_NULL ? NULL : sqlite3_column_blob(row, at);
    return checksum_add(sum, bytes ? bytes : "", bytes ? (size_t)sqlite3_column_bytes(row, at) : 0);
}

static uint64_t sum_values(uint64_t sum, sqlite3_stmt *row, int n)
{
    for (int i = 0; i < n; i++)
        sum = add_value(sum, row, i);
    return sum;
}

uint64_t rundb_sum_row(uint64_t sum, sqlite3_stmt *row)
{
    return sum_values(sum, row, sqlite3_column_count(row));
}

/* How many values of a row of table `name` count. */
static int values_of(const char *name, sqlite3_stmt *row)
{
    int n = sqlite3_column_count(row);
    bool is_known = strcmp(name, "programs") != 0 || strcmp(sqlite3_column_name(row, n - 1), "started") != 0 ||
                    sqlite3_column_int64(row, n - 1) != 0;
    return is_known ? n : n - 1;
}

static int add_table(struct rundb *f, const char *name, uint64_t *sum)
{
    char query[160];
    sqlite3_stmt *row;
    bool properties = strcmp(name, "properties") == 0;
    snprintf(query, sizeof query, "SELECT * FROM %.64s%s", name, properties ? " WHERE key <> '" RUNDB_SEAL "'" : "");
    int rc = SQLITE_DONE, err = rundb_error(f->db, sqlite3_prepare_v2(f->db, query, -1, &row, NULL));
    while (!err && (rc = sqlite3_step(row)) == SQLITE_ROW)
        *sum += sum_values(checksum_add(CHECKSUM_START, name, strlen(name)), row, values_of(name, row));
    sqlite3_finalize(row);
    return err ? err : rundb_error(f->db, rc);
}

static bool is_builtin(const char *name)
{
    bool is = false;
    for (size_t i = 0; i < BUILTIN_COUNT; i++)
        is = is || strcmp(builtin_layout(i)->table, name) == 0;
    return is;
}

static const char with_limits[] = ":limits"; /* the mark */

/* Makes the seal of the rows as they are now. */
static int make(struct rundb *f, const char *finished, bool limits, char seal[RUNDB_SEAL_MAX])
{
    int64_t expired = 0;
    uint64_t sum = 0;
    sqlite3_stmt *tables;
    int rc = SQLITE_DONE, err = rundb_number(f->db, "SELECT count(*) FROM section_streams", &expired);
    if (!err)
        err = rundb_error(
            f->db, sqlite3_prepare_v2(f->db, "SELECT name FROM sqlite_schema WHERE type = 'table'", -1, &tables, NULL));
    if (err)
        return err;
    while (!err && (rc = sqlite3_step(tables)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(tables, 0);
        if (expired > 0 || !is_builtin(name) || (limits && strcmp(name, builtin_layout(BUILTIN_LIMIT)->table) == 0))
            err = add_table(f, name, &sum);
    }
    sqlite3_finalize(tables);
    snprintf(seal, RUNDB_SEAL_MAX, "%s:%016" PRIx64 "%s", finished, sum, limits ? with_limits : "");
    return err ? err : rundb_error(f->db, rc);
}

int rundb_seal(struct rundb *f)
{
    char finished[24], seal[RUNDB_SEAL_MAX];
    if (rundb_get(f, RUNDB_FINISHED, finished, sizeof finished) != 0 || !finished[0])
        return 0;
    int err = make(f, finished, true, seal);
    return err ? err : rundb_put(f, RUNDB_SEAL, seal);
}

int rundb_check_seal(struct rundb *f, bool bounded)
{
    char finished[24], seal[RUNDB_SEAL_MAX], right[RUNDB_SEAL_MAX];
    if (rundb_get(f, RUNDB_FINISHED, finished, sizeof finished) != 0)
        finished[0] = '\0';
    size_t n = strlen(finished);
    if (rundb_get(f, RUNDB_SEAL, seal, sizeof seal) != 0 || strncmp(seal, finished, n) != 0 || seal[n] != ':')
        return RUNDB_UNSEALED;
    if (!bounded)
        rundb_allow(0); /* its time is proportional to what is read anyway */
    int err = make(f, finished, strstr(seal, with_limits) != NULL, right);
    return err ? err : strcmp(seal, right) == 0 ? RUNDB_SEALED : RUNDB_BROKEN;
}

int rundb_sum_experiment(const char *run, char sum[RUNDB_EXPERIMENT_MAX])
{
    enum { LONGEST = 16 << 20 }; /* more than a run is ever made with */
    char path[PATH_MAX], *text;
    size_t n;
    if (snprintf(path, sizeof path, "%s/experiment.yaml", run) >= (int)sizeof path)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    int err = file_read_plain(path, 1, LONGEST, &text, &n);
    if (err)
        return err;
    snprintf(sum, RUNDB_EXPERIMENT_MAX, "%016" PRIx64, checksum_add(CHECKSUM_START, text, n));
    free(text);
    return 0;
}
