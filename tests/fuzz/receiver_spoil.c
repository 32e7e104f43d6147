// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/receiver_collector.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <unistd.h>

void spoil_file(struct collector *c, const struct spoiling *s)
{
    uint8_t bytes[256];
    char other[PATH_MAX + 4];
    int fd = open(s->path, O_RDWR | O_CLOEXEC);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0, at = size > 0 ? s->place % size : 0;
    int what = size > 0 ? s->bits % 4 : -1;
    c->spoilt = true;
    if (what == 0)
        fuzz_must(ftruncate(fd, at) == 0);
    if (what == 1) {
        fuzz_must(pread(fd, bytes, 1, at) == 1);
        bytes[0] ^= s->byte;
        fuzz_must(pwrite(fd, bytes, 1, at) == 1);
    }
    if (what == 2) {
        memset(bytes, s->place, sizeof bytes);
        fuzz_must(pwrite(fd, bytes, s->byte, size) == s->byte);
    }
    if (what == 3) {
        snprintf(other, sizeof other, "%s%u", s->path, s->byte % 10u);
        fuzz_must(rename(s->path, other) == 0);
    }
    if (fd >= 0)
        close(fd);
}

/* The text of row `n` of a query, counted round; `name` stays where there is none. */
static void find_name(sqlite3 *db, const char *query, unsigned n, char name[64])
{
    sqlite3_stmt *s;
    unsigned count = 0;
    fuzz_must(sqlite3_prepare_v2(db, query, -1, &s, NULL) == SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW)
        count++;
    sqlite3_reset(s);
    for (unsigned i = 0; count && i <= n % count && sqlite3_step(s) == SQLITE_ROW; i++)
        snprintf(name, 64, "%s", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
}

void spoil_database(struct collector *c, const struct spoiling *s)
{
    static const char *const values[] = {
        "NULL",       "-1",           "0",
        "1",          "255",          "1e308",
        "-1e308",     "9e999",        "9223372036854775807",
        "128",        "x'00'",        "x'ff00ff'",
        "''",         "'../x'",       "'.'",
        "4294967296", "char(10, 27)", "-9223372036854775808",
        "rowid",      "zeroblob(16)", "9223372036854775807 - rowid",
        "hex(rowid)",
    };
    char path[96], table[64] = "nodes", column[64] = "dir", query[256];
    sqlite3 *db;
    c->spoilt = true;
    snprintf(path, sizeof path, "%s/run.db", c->run);
    fuzz_must(sqlite3_open(path, &db) == SQLITE_OK);
    find_name(db, "SELECT name FROM sqlite_schema WHERE type = 'table'", s->place >> 8, table);
    snprintf(query, sizeof query, "SELECT name FROM pragma_table_info('%s')", table);
    find_name(db, query, s->place & 255, column);
    snprintf(query, sizeof query, "UPDATE OR REPLACE %s SET %s = %s", table, column,
             values[s->byte % (sizeof values / sizeof *values)]);
    (void)!sqlite3_exec(db, query, NULL, NULL, NULL); /* what a constraint refuses stays as it is */
    fuzz_must(sqlite3_close(db) == SQLITE_OK);
}
