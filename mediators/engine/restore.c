// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mediators/engine/restore.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "collector/remote/mirror_files.h"
#include "run/rundb/rundb.h"
#include "run/rundb/rundb_apply.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define LOOK_PAUSE (500 * CLOCK_MS)

enum { LOOKS = 6 }; /* for the end of the run */

struct restore {
    const char *dir;
    struct engine *engine;
    struct mirror_files files;
    struct rundb_apply *apply;
    FILE *rows;    /* that came since the last commit */
    bool fresh;    /* the next commit is the first of its connection: it begins a new database */
    bool complete; /* the engine has all of the run */
};

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int forget_rows(struct restore *r)
{
    rewind(r->rows);
    return ftruncate(fileno(r->rows), 0) == 0 ? 0 : BEZEL_ESYS;
}

/* A connection sends all rows again, so nothing stays of those that came before. */
static int begin_database(struct restore *r)
{
    static const char *const names[] = {"run.db", "run.db-wal", "run.db-shm"};
    (void)!rundb_apply_close(r->apply);
    r->apply = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (unlinkat(r->files.folder, names[i], 0) != 0 && errno != ENOENT)
            return BEZEL_ESYS;
    r->fresh = false;
    return rundb_apply_open(r->dir, false, &r->apply);
}

static int commit(struct restore *r)
{
    uint8_t bytes[READ_BYTES_MAX];
    size_t n;
    int err = r->fresh || !r->apply ? begin_database(r) : 0;
    if (!err && fflush(r->rows) != 0)
        err = BEZEL_ESYS;
    rewind(r->rows);
    while (!err && (n = fread(bytes, 1, sizeof bytes, r->rows)) > 0)
        err = rundb_apply_bytes(r->apply, bytes, n);
    if (!err)
        err = rundb_apply_commit(r->apply);
    return err ? err : forget_rows(r);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static int fail_rows(const struct restore *r, int err)
{
    if (err)
        log_error("BEZEL-ENGINE-DATABASE", "%s/run.db: %s", r->dir, rundb_why(err));
    return err;
}

static int fail_files(struct restore *r, int err)
{
    if (err == BEZEL_EMALFORMED)
        log_error("BEZEL-ENGINE-DAMAGED", "the engine %s", r->files.why);
    else if (err < 0)
        log_error("BEZEL-ENGINE-FILE", "%s/%s: %s", r->dir, mirror_files_name(&r->files), ulimit_reason(err));
    return err < 0 ? err : 0;
}

/* A connection of the publisher begins. */
static int begin(struct restore *r)
{
    mirror_files_forget(&r->files);
    r->fresh = true;
    r->complete = false;
    return forget_rows(r);
}

static int take(struct restore *r, const struct read_message *m)
{
    struct read_have have;
    switch (m->type) {
    case READ_READING:
        return begin(r);
    case READ_FILE:
        if (m->file.lacks[0])
            log_warn("BEZEL-ENGINE-LACKS", "%s was not handed on whole: %s", m->file.name, m->file.lacks);
        return fail_files(r, mirror_files_take(&r->files, &m->file, &have));
    case READ_BYTES:
        return fail_files(r, mirror_files_write(&r->files, &m->bytes));
    case READ_ROWS:
        return fwrite(m->rows.bytes, 1, m->rows.count, r->rows) == m->rows.count ? 0 : fail_rows(r, BEZEL_ESYS);
    case READ_STEP:
        return m->step.commit ? fail_rows(r, commit(r)) : 0;
    case READ_END:
        r->complete = m->end.why == READ_END_DONE && m->end.cut == 0;
        return 0;
    default:
        return 0;
    }
}

static int take_all(struct restore *r)
{
    struct engine_message got;
    struct read_message m;
    int more, err = 0;
    while (!err && (more = engine_next(r->engine, &got)) == 1) {
        err = read_message_decode(got.bytes, got.size, &m);
        if (err)
            log_error("BEZEL-ENGINE-DAMAGED", "a message of the run is %s",
                      err == BEZEL_EVERSION ? "of another version of Bezel" : "none of Bezel's");
        else
            err = take(r, &m);
    }
    if (!err && more < 0)
        log_error("BEZEL-ENGINE", "%s", engine_why(r->engine));
    return err ? err : more;
}

/* A server of a cluster that was just started may lack for a while what the cluster has acknowledged. */
static int take_until_end(struct restore *r)
{
    int err = take_all(r);
    for (int i = 0; i < LOOKS && !err && !r->complete; i++) {
        clock_sleep_until(clock_now() + LOOK_PAUSE);
        err = take_all(r);
    }
    return err;
}

/* ---- the directory ----------------------------------------------------------------------------------------------- */

/* Opens a new or empty directory. Returns -1 after a message. */
static int open_directory(const char *dir)
{
    int count = 0, err = file_make_dirs(dir, 0777), fd = err ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *listed = fd < 0 ? NULL : opendir(dir);
    while (listed && readdir(listed))
        count++;
    if (listed)
        closedir(listed);
    if (fd >= 0 && listed && count <= 2)
        return fd;
    log_error("BEZEL-ENGINE-DIRECTORY", "%s: %s", dir,
              fd < 0 || !listed ? ulimit_reason(err ? err : BEZEL_ESYS) : "it holds something: name a new directory");
    if (fd >= 0)
        close(fd);
    return -1;
}

static int restore(struct restore *r, const char *url, const char *name)
{
    int err = engine_open(url, name, false, &r->engine);
    if (err) {
        log_error("BEZEL-ENGINE", "%s: %s", url, r->engine ? engine_why(r->engine) : err_text(err));
        return err;
    }
    r->files.folder = open_directory(r->dir);
    r->rows = r->files.folder < 0 ? NULL : tmpfile();
    if (!r->rows)
        return BEZEL_ESYS;
    err = take_until_end(r);
    if (!err && !r->complete)
        log_warn("BEZEL-ENGINE-PART", "%s has a part of run %s: its end is not there", url, name);
    return err;
}

int restore_run(const char *url, const char *name, const char *dir)
{
    struct restore r = {.dir = dir, .files = {.folder = -1}};
    int err = restore(&r, url, name);
    int closed = rundb_apply_close(r.apply);
    err = err ? err : fail_rows(&r, closed);
    mirror_files_forget(&r.files);
    if (r.files.folder >= 0)
        close(r.files.folder);
    if (r.rows)
        (void)!fclose(r.rows);
    engine_close(r.engine);
    return err ? EXIT_FAILED : EXIT_OK;
}
