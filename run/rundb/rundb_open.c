// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/rundb/rundb_sqlite.h"

#include "base/clock.h"
#include "base/folder_lock.h"
#include "base/grow.h"
#include "base/ulimit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Opens a database that is not trusted. Nothing in it is used before these checks have passed, in this order: its files
 * are regular files, not links; its header has our application id and version; the text of its schema is exactly the
 * one that this version makes, so it has no foreign generated column, virtual table, trigger, view or index. Then only
 * rows are left. Their size, and the memory and time for reading them, are bounded.
 */

enum {
    VALUE_MAX = 1 << 20, /* bytes; the longest value that Bezel writes is a dictionary, 64 KiB */
    STEPS = 100000,      /* of SQLite's virtual machine between two checks of the time */
    CACHE_KIB = 8192,    /* else the file's header would set it */
};
#define HEAP_MAX ((sqlite3_int64)512 << 20) /* bytes that SQLite may allocate in this process */

static _Thread_local struct {
    int64_t until;  /* end of this thread's CPU time for reading; 0: unbounded */
    int seconds;    /* of that, when it was allowed */
    int make_errno; /* of the last file that could not be made; 0: none */
    int lock_errno; /* of the last lock that failed, though nobody had it; 0: none did */
    int err;        /* that `text` explains */
    char text[256]; /* why the last database could not be opened or read */
} guard;

/* ---- why --------------------------------------------------------------------------------------------------------- */

int rundb_refuse(int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(guard.text, sizeof guard.text, format, args);
    va_end(args);
    guard.err = err;
    return err;
}

const char *rundb_why(int err)
{
    if (err && err == guard.err)
        return guard.text;
    if (err == BEZEL_ETIMEDOUT) {
        snprintf(guard.text, sizeof guard.text, "reading it took more than %d s of CPU time, and was stopped",
                 guard.seconds);
        return guard.text;
    }
    return ulimit_reason(err);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

int rundb_read_seconds(int64_t bytes)
{
    int64_t more = bytes / RUNDB_READ_BYTES;
    return RUNDB_READ_S + (more < INT_MAX / 2 ? (int)more : INT_MAX / 2);
}

void rundb_allow(int seconds)
{
    guard.seconds = seconds;
    guard.until = seconds ? clock_thread_cpu() + seconds * CLOCK_S : 0;
}

bool rundb_is_too_long(void)
{
    return guard.until != 0 && clock_thread_cpu() > guard.until;
}

static int on_progress(void *context)
{
    (void)context;
    return rundb_is_too_long();
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/*
 * SQLite opens everything by this function, in all of its file systems: databases, logs, journals, indexes, folders to
 * sync, and /dev/urandom. Opening a pipe could block for ever; a symbolic link could lead anywhere.
 */
static int open_plain(const char *path, int flags, int mode)
{
    struct stat st;
    if (strcmp(path, "/dev/urandom") == 0)
        return open(path, flags);
    int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, mode);
    if (fd < 0 && (flags & O_CREAT))
        guard.make_errno = errno;
    else if (fd < 0 && errno == ENOENT && guard.make_errno)
        errno =
            guard.make_errno; /* SQLite tries to read a file that it could not make, and says that it is not there */
    if (fd < 0 || (fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))))
        return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

/* As fcntl(2): SQLite takes any failure of a lock for a lock that another process has, and keeps no errno of it. */
static int note_lock(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *argument = va_arg(args, void *);
    va_end(args);
    int result = fcntl(fd, command, argument);
    if (result != 0 && command == F_SETLK && errno != EAGAIN && errno != EACCES && errno != EINTR)
        guard.lock_errno = errno;
    return result;
}

int rundb_lock_errno(void)
{
    return guard.lock_errno;
}

static void use_open_plain(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    if (vfs && vfs->iVersion >= 3)
        vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)open_plain);
    if (vfs && vfs->iVersion >= 3)
        vfs->xSetSystemCall(vfs, "fcntl", (sqlite3_syscall_ptr)note_lock);
}

/* Checks the database and the files beside it for a clear message; open_plain() refuses them in any case. */
static int check_files(const char *path)
{
    static const char *const beside[] = {"", "-journal", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        char name[PATH_MAX];
        struct stat st;
        if (snprintf(name, sizeof name, "%s%s", path, beside[i]) >= (int)sizeof name)
            return BEZEL_EINVAL;
        if (lstat(name, &st) != 0) {
            if (errno != ENOENT)
                return err_from_errno(errno);
        } else if (!S_ISREG(st.st_mode)) {
            return rundb_refuse(BEZEL_EMALFORMED, "%s is not a regular file", strrchr(name, '/') + 1);
        }
    }
    return 0;
}

/* ---- schema ------------------------------------------------------------------------------------------------------ */

int rundb_number(sqlite3 *db, const char *text, int64_t *value)
{
    sqlite3_stmt *statement;
    int rc = sqlite3_prepare_v2(db, text, -1, &statement, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
        *value = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
        sqlite3_finalize(statement);
    }
    return rundb_error(db, rc);
}

enum { SCHEMA_COLUMNS = 4 };
#define SCHEMA "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid"

/* What this version makes. SQLite takes some thousand times as long to make it as to compare it. */
struct known_schema {
    size_t count, capacity;
    struct {
        char *text[SCHEMA_COLUMNS]; /* NULL: SQLite made it itself */
    } * rows;
};
static struct known_schema *_Atomic known; /* for as long as the process lives */

static void free_known(struct known_schema *k)
{
    for (size_t r = 0; r < k->count; r++)
        for (int i = 0; i < SCHEMA_COLUMNS; i++)
            free(k->rows[r].text[i]);
    free(k->rows);
    free(k);
}

/* Adds the row of which `s` is at. */
static int add_row(struct known_schema *k, sqlite3_stmt *s)
{
    if (!grow_list(&k->rows, &k->capacity, k->count, sizeof *k->rows))
        return BEZEL_ENOMEM;
    char **text = k->rows[k->count++].text;
    bool whole = true;
    for (int i = 0; i < SCHEMA_COLUMNS; i++) {
        const char *is = (const char *)sqlite3_column_text(s, i);
        text[i] = is ? strdup(is) : NULL;
        whole = whole && (text[i] || sqlite3_column_type(s, i) == SQLITE_NULL);
    }
    return whole ? 0 : BEZEL_ENOMEM;
}

static int make_known(struct known_schema *k)
{
    sqlite3 *own;
    sqlite3_stmt *s = NULL;
    int rc = SQLITE_DONE;
    int err = rundb_error(NULL, sqlite3_open_v2(":memory:", &own, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));
    if (!err)
        err = rundb_make_schema(own);
    if (!err)
        err = rundb_error(own, sqlite3_prepare_v2(own, SCHEMA, -1, &s, NULL));
    while (!err && (rc = sqlite3_step(s)) == SQLITE_ROW)
        err = add_row(k, s);
    if (!err)
        err = rundb_error(own, rc);
    sqlite3_finalize(s);
    sqlite3_close(own);
    return err;
}

/* NULL with *err. */
static const struct known_schema *get_known(int *err)
{
    struct known_schema *k = atomic_load(&known), *none = NULL;
    *err = 0;
    if (k)
        return k;
    k = calloc(1, sizeof *k);
    *err = k ? make_known(k) : BEZEL_ENOMEM;
    if (!*err && atomic_compare_exchange_strong(&known, &none, k))
        return k;
    if (k)
        free_known(k);
    return none; /* another thread made it meanwhile */
}

/* Whether row `r` is of a table that format `version` lacks. */
static bool is_lacking(const struct known_schema *k, size_t r, int64_t version)
{
    for (enum builtin b = rundb_first_lacking(version); b < BUILTIN_COUNT; b++)
        if (strcmp(k->rows[r].text[1], builtin_layout(b)->table) == 0)
            return true;
    return false;
}

/* Whether `is` is the text of table `programs` in a format that does not know when programs were started. */
static bool is_unlaunched(const char *is, const char *wanted, int64_t version)
{
    const char *more = strstr(wanted, ", " RUNDB_LAUNCHED);
    size_t n = more ? (size_t)(more - wanted) : 0;
    return version < RUNDB_VERSION_LAUNCHED && more && strncmp(is, wanted, n) == 0 &&
           strcmp(is + n, more + strlen(", " RUNDB_LAUNCHED)) == 0;
}

/* Steps through both schemas. Returns 0, BEZEL_EMALFORMED at the first difference, or an error. */
static int compare_schemas(sqlite3 *db, sqlite3_stmt *found, const struct known_schema *ours, int64_t version)
{
    for (size_t r = 0;; r++) {
        while (r < ours->count && is_lacking(ours, r, version))
            r++;
        int rc = sqlite3_step(found);
        if (rc != SQLITE_ROW && rc != SQLITE_DONE)
            return rundb_error(db, rc);
        if (rc == SQLITE_DONE && r == ours->count)
            return 0;
        if (rc != SQLITE_ROW || r == ours->count)
            return rundb_refuse(BEZEL_EMALFORMED, "its schema has %s than that of format %d",
                                rc == SQLITE_ROW ? "something more" : "something less", (int)version);
        for (int i = 0; i < SCHEMA_COLUMNS; i++) {
            const char *is = (const char *)sqlite3_column_text(found, i), *wanted = ours->rows[r].text[i];
            if (is && wanted ? strcmp(is, wanted) != 0 && !is_unlaunched(is, wanted, version) : is != wanted)
                return rundb_refuse(BEZEL_EMALFORMED, "its schema is not that of format %d: %.60s differs",
                                    (int)version, ours->rows[r].text[1]);
        }
    }
}

/* Compares the schema with that of `version`. Only queries of sqlite_schema run on a database with an unknown schema.
 */
static int check_text(sqlite3 *db, int64_t version)
{
    sqlite3_stmt *found = NULL;
    int err;
    const struct known_schema *ours = get_known(&err);
    if (ours)
        err = rundb_error(db, sqlite3_prepare_v2(db, SCHEMA, -1, &found, NULL));
    if (!err)
        err = compare_schemas(db, found, ours, version);
    sqlite3_finalize(found);
    return err;
}

int rundb_check_schema(sqlite3 *db, bool *empty)
{
    int64_t application = 0, version = 0, objects = 0;
    int err = rundb_number(db, "PRAGMA application_id", &application);
    if (!err)
        err = rundb_number(db, "PRAGMA user_version", &version);
    if (!err)
        err = rundb_number(db, "SELECT count(*) FROM sqlite_schema", &objects);
    *empty = !err && application == 0 && version == 0 && objects == 0;
    if (err)
        return err;
    if (*empty)
        return BEZEL_ENOENT;
    if (application != RUNDB_APPLICATION)
        return rundb_refuse(BEZEL_EVERSION, "it belongs to another program");
    if (version < RUNDB_VERSION_READ || version > RUNDB_VERSION)
        return rundb_refuse(
            BEZEL_EVERSION,
            "it has format %lld, of another version of Bezel (versions.txt beside it names it); this is "
            "Bezel " BEZEL_VERSION ", which reads format %d",
            (long long)version, RUNDB_VERSION);
    return check_text(db, version);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void distrust(sqlite3 *db)
{
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, (int *)NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, (int *)NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 64 << 10);
    sqlite3_limit(db, SQLITE_LIMIT_COLUMN, 64);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
}

/* SQLite reports a path that is too long for it as a file that cannot be opened. */
static int check_length(const char *path)
{
    const sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    size_t most = vfs && vfs->mxPathname > 16 ? (size_t)vfs->mxPathname - 16 : SIZE_MAX; /* with the log's name */
    if (strlen(path) <= most)
        return 0;
    errno = ENAMETOOLONG;
    return rundb_refuse(
        BEZEL_EINVAL, "its path has %zu bytes, and SQLite opens paths of up to %zu: name a folder with a shorter path",
        strlen(path), most);
}

int rundb_open_file(const char *run, int flags, const char *vfs, sqlite3 **db)
{
    char real[PATH_MAX], path[PATH_MAX];
    guard.err = guard.make_errno = guard.lock_errno = 0;
    guard.until = 0;
    *db = NULL;
    if (!realpath(run, real))
        return err_from_errno(errno);
    if (snprintf(path, sizeof path, "%s/run.db", real) >= (int)sizeof path)
        return BEZEL_EINVAL;
    int err = check_length(path);
    if (!err)
        err = check_files(path);
    if (!err) {
        use_open_plain();
        flags |= SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
        int rc = sqlite3_open_v2(path, db, flags, vfs);
        err = rundb_error(*db, rc); /* also after a failure *db is set, and has the errno */
    }
    if (!err) {
        distrust(*db);
        sqlite3_busy_timeout(*db, RUNDB_BUSY_MS);
    }
    return err;
}

/*
 * A killed collector leaves a log beside its database. To read it SQLite makes an index file in shared memory, which
 * fails on a full or read-only disk. Without locks SQLite keeps the index in its own memory. That is safe: if a
 * collector were running, it would have made the index file.
 */
#define ALONE "unix-none"

/* Opens a database of `bytes` for reading through SQLite's file system `vfs`; NULL: the usual one. */
static int open_read(const char *run, int64_t bytes, const char *vfs, sqlite3 **db)
{
    bool empty;
    int err = rundb_open_file(run, SQLITE_OPEN_READONLY, vfs, db);
    if (!err) {
        char setup[160];
        sqlite3_hard_heap_limit64(HEAP_MAX);
        rundb_allow(rundb_read_seconds(bytes));
        sqlite3_progress_handler(*db, STEPS, on_progress, NULL);
        sqlite3_db_config(*db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); /* else closing deletes an empty log */
        snprintf(setup, sizeof setup,
                 "%sPRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -%d; BEGIN",
                 vfs ? "PRAGMA locking_mode = EXCLUSIVE; " : "", CACHE_KIB);
        err = rundb_error(*db, sqlite3_exec(*db, setup, NULL, NULL, NULL));
    }
    if (!err)
        err = rundb_check_schema(*db, &empty);
    if (!err)
        err = rundb_renew(*db, false);
    if (err) {
        int sys = errno;
        sqlite3_close(*db);
        *db = NULL;
        errno = sys;
    }
    return err;
}

static int refuse_missing(void)
{
    return rundb_refuse(BEZEL_ENOENT, "there is no run.db, or it is empty: the run was killed before anything was "
                                      "stored, or the file was removed");
}

int rundb_open_database(const char *run, sqlite3 **db)
{
    char path[PATH_MAX];
    struct stat st;
    *db = NULL;
    if (snprintf(path, sizeof path, "%s/run.db", run) >= (int)sizeof path)
        return BEZEL_EINVAL;
    if (lstat(path, &st) != 0)
        return errno == ENOENT ? refuse_missing() : err_from_errno(errno);
    if (folder_holder(run) == FOLDER_HELD_ELSEWHERE) /* SQLite's index of its log is in memory of one machine */
        return rundb_refuse(BEZEL_EBUSY,
                            "a collector on another machine is writing it, and only a part of that can be seen here: "
                            "read the run on that machine, or from there (store.serve)");
    int err = open_read(run, st.st_size, NULL, db);
    if (err && err != BEZEL_EBUSY && err != BEZEL_ENOENT && err != BEZEL_EVERSION && err != BEZEL_EMALFORMED &&
        err != BEZEL_ETIMEDOUT && open_read(run, st.st_size, ALONE, db) == 0)
        err = 0;
    return err == BEZEL_ENOENT ? refuse_missing() : err;
}
