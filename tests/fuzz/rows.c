// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Rows of a run database that a mirror takes: the first byte says whether the database is joined, the rest are the
 * bytes. Whatever they are, the schema stays; and what a database takes can be sent on from there, to another one that
 * then has the same rows.
 */
#include "base/file.h"
#include "run/model/run_model.h"
#include "run/rundb/rundb_rows.h"
#include "tests/fuzz/fuzz.h"

#include <sys/stat.h>

enum { PLAIN, JOINED, SECOND, COPIES };

static char dir[] = "/dev/shm/bezel-fuzz-rows-XXXXXX", folders[COPIES][64];
static struct rundb *databases[COPIES];
static struct rundb_apply *copies[COPIES];

static void clean_up(void)
{
    for (int i = 0; i < COPIES; i++) {
        (void)!rundb_apply_close(copies[i]);
        (void)!rundb_close(databases[i]);
    }
    (void)!file_remove_tree(dir);
}

static void begin(void)
{
    fuzz_must(mkdtemp(dir));
    atexit(clean_up);
    for (int i = 0; i < COPIES; i++) {
        snprintf(folders[i], sizeof folders[i], "%s/%d", dir, i);
        fuzz_must(mkdir(folders[i], 0700) == 0);
        fuzz_must(rundb_open(folders[i], &databases[i]) == 0);
        fuzz_must(rundb_apply_open(folders[i], i == JOINED, &copies[i]) == 0);
    }
}

/* The next input is taken by empty databases. */
static void clear(struct rundb *f)
{
    char text[96];
    for (int i = 0; i < RUNDB_ROWS_TABLES; i++) {
        snprintf(text, sizeof text, "DELETE FROM %s", rundb_rows_table(i).name);
        fuzz_must(sqlite3_exec(f->db, text, NULL, NULL, NULL) == SQLITE_OK);
    }
}

/* The schema is what it was, and whoever reads the database stands its rows. */
static void read_rows(const char *run)
{
    struct model *m = model_new("");
    struct rundb *f;
    fuzz_must(m && rundb_open_read(run, &f) == 0);
    m->uncounted = true;
    (void)!rundb_load(f, m);
    fuzz_must(rundb_check(f) == 0);
    fuzz_must(rundb_close(f) == 0);
    model_free(m);
}

static int send_on(void *context, const void *bytes, size_t n)
{
    return rundb_apply_bytes(context, bytes, n);
}

static void copy(const char *run, struct rundb_apply *to)
{
    struct rundb_changes *c;
    fuzz_must(rundb_changes_open(run, NULL, 0, &c) == 0);
    fuzz_must(rundb_changes_begin(c, true) == 1);
    fuzz_must(rundb_changes_put(c, RUNDB_CHANGES_EXPLAIN, send_on, to) == 0);
    fuzz_must(rundb_changes_put(c, RUNDB_CHANGES_REST, send_on, to) == 0);
    fuzz_must(rundb_changes_end(c) == 0);
    rundb_changes_close(c);
    fuzz_must(rundb_apply_commit(to) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t token[2][RUNDB_APPLY_TOKEN_MAX];
    size_t n[2];
    if (!copies[0])
        begin();
    int which = size > 0 && data[0] & 1 ? JOINED : PLAIN;
    if (size > 0)
        fuzz_must(rundb_apply_bytes(copies[which], data + 1, size - 1) == 0);
    if (rundb_apply_commit(copies[which]) != 0)
        return 0;
    read_rows(folders[which]);
    copy(folders[which], copies[SECOND]);
    fuzz_must(rundb_apply_token(copies[PLAIN], token[0], &n[0]) == 0);
    fuzz_must(rundb_apply_token(copies[SECOND], token[1], &n[1]) == 0);
    fuzz_must(which == JOINED || (n[0] == n[1] && memcmp(token[0], token[1], n[0]) == 0));
    clear(databases[which]);
    clear(databases[SECOND]);
    return 0;
}
