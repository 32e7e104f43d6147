// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/export.h"

#include "base/file.h"
#include "base/log.h"
#include "collector/facts_run.h"
#include "collector/metadata.h"
#include "collector/reader.h"
#include "collector/verify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The order makes a copy of a growing trace consistent: first how long each stream is, then what explains it, which the
 * database had before the first packet that needs it and which only ever grows, then the bytes of the streams up to
 * those lengths. The file `metadata` may lag behind the database; it is taken where there is no database.
 */

enum { METADATA_MAX = 1 << 28, COPY_BYTES = 1 << 17 };

/** A stream file and its committed length. */
struct export_stream {
    char *path;
    uint64_t bytes;
};

struct export_streams {
    bool served; /* by a collector: files grow */
    size_t count, capacity;
    struct export_stream *list;
};

static void streams_free(struct export_streams *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i].path);
    free(s->list);
}

/*
 * Committed bytes of stream file `path`. A packet that cannot be read ends them, as a torn tail does, but is told of.
 */
static int committed_length(const char *path, bool served, uint64_t *bytes)
{
    struct reader *r;
    int err = reader_open(path, &r);
    if (err == BEZEL_EMALFORMED) {
        log_warn("BEZEL-EXPORT-FOREIGN", "%s is no file: left out", path);
        *bytes = 0;
        return 0;
    }
    if (err)
        return err;
    struct packet_header h;
    const uint8_t *packet;
    while ((err = reader_next(r, &h, &packet)) > 0) {
    }
    *bytes = reader_offset(r);
    uint64_t rest = err == 0 && !served ? reader_rest(r) : 0;
    reader_close(r);
    if (rest)
        log_warn("BEZEL-EXPORT-TORN",
                 "%s: its last %llu bytes are no whole packet, and not exported: bezel verify tells more", path,
                 (unsigned long long)rest);
    if (err != BEZEL_EMALFORMED && err != BEZEL_EVERSION)
        return err;
    log_warn("BEZEL-EXPORT-DAMAGED", "%s: %s at byte %llu: exported up to there", path, err_text(err),
             (unsigned long long)*bytes);
    return 0;
}

static int add_stream(const char *path, void *context)
{
    struct export_streams *s = context;
    uint64_t bytes;
    int err = committed_length(path, s->served, &bytes);
    if (err || bytes == 0)
        return err;
    if (s->count == s->capacity) {
        size_t larger = s->capacity ? 2 * s->capacity : 32;
        struct export_stream *list = realloc(s->list, larger * sizeof *list);
        if (!list)
            return BEZEL_ENOMEM;
        s->list = list;
        s->capacity = larger;
    }
    char *copy = strdup(path);
    if (!copy)
        return BEZEL_ENOMEM;
    s->list[s->count++] = (struct export_stream){copy, bytes};
    return 0;
}

/* ---- copying ---- */

static int copy_descriptor(int from, int to, uint64_t bytes)
{
    uint8_t *buffer = malloc(COPY_BYTES);
    int err = buffer ? 0 : BEZEL_ENOMEM;
    while (!err && bytes > 0) {
        ssize_t n = read(from, buffer, bytes < COPY_BYTES ? bytes : COPY_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO; /* shorter than its committed length: somebody else cut it */
        err = n <= 0 ? err_from_errno(errno) : file_write_all(to, buffer, (size_t)n);
        bytes -= n > 0 ? (uint64_t)n : 0;
    }
    free(buffer);
    return err;
}

/* Copies the first `bytes` of file `path` into directory `dir`, under the same name. */
static int copy_file(const char *path, const char *dir, uint64_t bytes)
{
    char target[PATH_MAX];
    if (snprintf(target, sizeof target, "%s%s", dir, strrchr(path, '/')) >= (int)sizeof target)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (from < 0)
        return err_from_errno(errno);
    int to = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int err = to < 0 ? err_from_errno(errno) : copy_descriptor(from, to, bytes);
    if (to >= 0 && close(to) != 0 && !err)
        err = err_from_errno(errno);
    close(from);
    return err;
}

/* Metadata of the node with directory `name` by the run's database. Returns 0 with *text, which the caller frees. */
static int make_metadata(const char *run, const char *name, char **text, size_t *n)
{
    struct facts *f;
    struct model *m = model_new("");
    int err = m ? facts_open_read(run, &f) : BEZEL_ENOMEM;
    if (!err) {
        err = facts_get(f, "run", m->run, sizeof m->run);
        if (!err || err == BEZEL_ENOENT)
            err = facts_load(f, m);
        (void)!facts_close(f);
    }
    const struct model_node *node = err ? NULL : m->nodes;
    while (node && strcmp(node->dir, name) != 0)
        node = node->next;
    if (!err)
        err = node ? metadata_write(node, text, n) : BEZEL_ENOENT;
    model_free(m);
    return err;
}

/* Puts what explains the node's trace `from` as it is now into directory `to`. */
static int copy_metadata(const char *run, const char *from, const char *to)
{
    char path[PATH_MAX], target[PATH_MAX], *text;
    size_t n;
    if (snprintf(path, sizeof path, "%s/metadata", from) >= (int)sizeof path ||
        snprintf(target, sizeof target, "%s/metadata", to) >= (int)sizeof target)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    int err = make_metadata(run, strrchr(from, '/') + 1, &text, &n);
    if (err)
        err = file_read_regular(path, METADATA_MAX, &text, &n);
    if (err)
        return err;
    err = file_replace(target, text, n);
    free(text);
    return err;
}

/* One node's trace `from` into a new directory `to`. BEZEL_EAGAIN where it holds no packet yet. */
static int copy_node(const char *run, const char *from, const char *to, bool served)
{
    struct export_streams streams = {.served = served};
    int err = reader_list(from, add_stream, &streams);
    if (!err && streams.count == 0)
        err = BEZEL_EAGAIN;
    if (!err && mkdir(to, 0777) != 0)
        err = err_from_errno(errno);
    if (!err)
        err = copy_metadata(run, from, to);
    for (size_t i = 0; !err && i < streams.count; i++)
        err = copy_file(streams.list[i].path, to, streams.list[i].bytes);
    streams_free(&streams);
    return err;
}

/* Readers take a directory without a trace for an error. */
static int write_empty_trace(const char *into)
{
    static const char text[] = "/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = be; };\n";
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/metadata", into) >= (int)sizeof path)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    return file_replace(path, text, sizeof text - 1);
}

/* Every node below `<run>/trace` into directory `into`. */
static int copy_nodes(const char *run, const char *into)
{
    char trace[PATH_MAX], from[PATH_MAX], to[PATH_MAX];
    snprintf(trace, sizeof trace, "%s/trace", run);
    DIR *dir = opendir(trace);
    if (!dir)
        return err_from_errno(errno);
    int err = 0, copied = 0;
    bool served = verify_is_served(run);
    for (struct dirent *d; !err && (d = readdir(dir));) {
        if (d->d_name[0] == '.')
            continue;
        if (snprintf(from, sizeof from, "%s/%s", trace, d->d_name) >= (int)sizeof from ||
            snprintf(to, sizeof to, "%s/%s", into, d->d_name) >= (int)sizeof to) {
            errno = ENAMETOOLONG;
            err = BEZEL_EINVAL;
            break;
        }
        err = copy_node(run, from, to, served);
        copied += err == 0;
        if (err == BEZEL_EAGAIN)
            err = 0;
    }
    closedir(dir);
    return err || copied ? err : write_empty_trace(into);
}

/* ---- putting it in place ---- */

static bool is_empty(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return false;
    int entries = 0;
    while (readdir(dir))
        entries++;
    closedir(dir);
    return entries <= 2; /* itself and its parent */
}

/* Whether nothing of anybody else's stands at `target`: it is missing, an empty directory, or an export. */
static bool may_replace(const char *target)
{
    char mark[PATH_MAX];
    struct stat st;
    if (lstat(target, &st) != 0)
        return errno == ENOENT;
    if (!S_ISDIR(st.st_mode) || snprintf(mark, sizeof mark, "%s/" EXPORT_MARK, target) >= (int)sizeof mark)
        return false;
    return access(mark, F_OK) == 0 || is_empty(target);
}

static void remove_leftover(const char *path)
{
    if (file_remove_tree(path) != 0)
        log_warn("BEZEL-EXPORT-LEFTOVER", "%s stays behind: %s", path, strerror(errno));
}

/* Puts `made` where `target` is, in one step, and removes what stood there. */
static int put_in_place(const char *made, const char *target)
{
    if (renameat2(AT_FDCWD, made, AT_FDCWD, target, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EEXIST || renameat2(AT_FDCWD, made, AT_FDCWD, target, RENAME_EXCHANGE) != 0)
        return err_from_errno(errno);
    remove_leftover(made);
    return 0;
}

static int write_mark(const char *dir)
{
    static const char text[] = "This directory was made by 'bezel export', which replaces it.\n";
    char mark[PATH_MAX];
    if (snprintf(mark, sizeof mark, "%s/" EXPORT_MARK, dir) >= (int)sizeof mark)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    return file_replace(mark, text, sizeof text - 1);
}

/* A new directory beside `target`, in the same file system, into `made`. */
static int make_beside(const char *target, char made[PATH_MAX])
{
    const char *slash = strrchr(target, '/');
    int parent = slash ? (int)(slash - target) + 1 : 0;
    if (snprintf(made, PATH_MAX, "%.*s.%s.XXXXXX", parent, target, target + parent) >= PATH_MAX)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    if (!mkdtemp(made))
        return err_from_errno(errno);
    mode_t mask = umask(0);
    umask(mask);
    return chmod(made, 0777 & ~mask) == 0 ? 0 : err_from_errno(errno);
}

int export_trace(const char *run, const char *target)
{
    char made[PATH_MAX];
    if (!may_replace(target)) {
        log_error("BEZEL-EXPORT-TARGET", "%s stands there and is no export: remove it, or name another directory",
                  target);
        return BEZEL_EBUSY;
    }
    int err = make_beside(target, made);
    if (err) {
        log_error("BEZEL-EXPORT-TARGET", "cannot make a directory beside %s: %s", target, strerror(errno));
        return err;
    }
    err = copy_nodes(run, made);
    if (!err)
        err = write_mark(made);
    if (!err)
        err = put_in_place(made, target);
    if (!err)
        return 0;
    log_error("BEZEL-EXPORT", "cannot export %s to %s: %s", run, target, strerror(errno));
    remove_leftover(made);
    return err;
}
