// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "export/export.h"

#include "base/file.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "export/export_internal.h"
#include "run/read/run_missing.h"
#include "run/read/run_reader.h"
#include "run/read/run_streams.h"
#include "run/rundb/rundb.h"
#include "run/store/cover.h"
#include "run/store/metadata.h"
#include "run/store/trace_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A copy of a growing trace is consistent because of its order: first the length of each stream, then the metadata,
 * then the bytes of the streams up to these lengths. The metadata is made from the database, which has all that a
 * packet needs before the packet is stored, and only grows. The file `metadata` may be older than the database; it is
 * copied only if there is no database.
 */

enum { METADATA_MAX = 1 << 28, COPY_BYTES = 1 << 17 };

/* ---- copying ---- */

/* Begins behind what expired of a stream, in both. Returns the bytes that are left to be copied. */
static uint64_t pass_expired(int from, int to, uint64_t bytes)
{
    struct cover c;
    uint64_t expired = cover_read(from, &c) ? c.header.size_bytes : 0;
    bool passed = expired && lseek(from, (off_t)expired, SEEK_SET) >= 0 && lseek(to, (off_t)expired, SEEK_SET) >= 0;
    return !passed ? bytes : bytes > expired ? bytes - expired : 0;
}

/* Gives the copy the cover that the stream has now: what expired while it was copied may be zeros in it. */
static int put_cover(int from, int to)
{
    uint8_t header[PACKET_HEADER_BYTES];
    struct cover c;
    struct stat st;
    if (!cover_read(from, &c))
        return 0;
    packet_put_cover(header, &c.header, c.records);
    if (lseek(to, 0, SEEK_SET) < 0 || fstat(to, &st) != 0)
        return err_from_errno(errno);
    int err = file_write_all(to, header, sizeof header);
    if (!err && (uint64_t)st.st_size < c.header.size_bytes && ftruncate(to, (off_t)c.header.size_bytes) != 0)
        err = err_from_errno(errno);
    return err;
}

static int copy_descriptor(int from, int to, uint64_t bytes)
{
    uint8_t *buffer = malloc(COPY_BYTES);
    int err = buffer ? 0 : BEZEL_ENOMEM;
    bytes = pass_expired(from, to, bytes);
    while (!err && bytes > 0) {
        ssize_t n = read(from, buffer, bytes < COPY_BYTES ? bytes : COPY_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = EIO; /* shorter than its committed length: somebody truncated it */
        err = n <= 0 ? err_from_errno(errno) : file_write_all(to, buffer, (size_t)n);
        bytes -= n > 0 ? (uint64_t)n : 0;
    }
    free(buffer);
    return err ? err : put_cover(from, to);
}

/* Copies the first `bytes` of file `path` into directory `dir`, under the same name. */
static int copy_file(const char *path, const char *dir, uint64_t bytes)
{
    char target[PATH_MAX];
    if (snprintf(target, sizeof target, "%s%s", dir, strrchr(path, '/')) >= (int)sizeof target)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    int from = file_open_plain(path, TRACE_READER_PLAIN, false);
    if (from < 0)
        return from;
    int to = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    int err = to < 0 ? err_from_errno(errno) : copy_descriptor(from, to, bytes);
    if (to >= 0 && close(to) != 0 && !err)
        err = err_from_errno(errno);
    close(from);
    return err;
}

static const struct model_node *find_node(const struct model *m, const char *dir)
{
    const struct model_node *node = m ? m->nodes : NULL;
    while (node && strcmp(node->dir, dir) != 0)
        node = node->next;
    return node;
}

/* Writes the metadata of `node` into directory `to`; a copy of file `from` if `node` is NULL or memory runs out. */
static int copy_metadata(const struct model_node *node, const char *from, const char *to)
{
    char *text;
    size_t n;
    int err = node ? metadata_write(node, &text, &n) : BEZEL_ENOENT;
    if (err)
        err = file_read_plain(from, TRACE_READER_PLAIN, METADATA_MAX, &text, &n);
    if (err)
        return err;
    err = file_replace_in(to, "metadata", text, n);
    free(text);
    return err;
}

static int copy_streams(const char *run, const struct model_node *model, const struct export_node *node, const char *to)
{
    char metadata[PATH_MAX];
    if (snprintf(metadata, sizeof metadata, "%s/trace/%s/metadata", run, node->dir) >= (int)sizeof metadata)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    int err = copy_metadata(model, metadata, to);
    for (size_t i = 0; !err && i < node->count; i++)
        err = copy_file(node->streams[i].path, to, node->streams[i].bytes);
    return err;
}

/* Readers treat a directory without a trace as an error. */
static int write_empty_trace(const char *into)
{
    static const char text[] = "/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = be; };\n";
    return file_replace_in(into, "metadata", text, sizeof text - 1);
}

/* Copies each node that has a stream into a directory of its own below `into`. */
static int copy_nodes(const char *run, const struct export_nodes *nodes, const struct model *m, bool merged,
                      const char *into)
{
    char to[PATH_MAX];
    int err = 0, copied = 0;
    for (size_t i = 0; !err && i < nodes->count; i++) {
        const struct export_node *node = &nodes->list[i];
        const struct model_node *model = find_node(m, node->dir);
        if (node->count == 0)
            continue;
        if (snprintf(to, sizeof to, "%s/%s", into, node->dir) >= (int)sizeof to)
            return errno = ENAMETOOLONG, BEZEL_EINVAL;
        if (merged && !model) {
            log_warn("BEZEL-EXPORT-FOREIGN", "left out trace/%s: run.db has no node for it", node->dir);
            continue;
        }
        if (mkdir(to, 0777) != 0)
            return err_from_errno(errno);
        err = merged ? export_merge(model, node, to, &m->order) : copy_streams(run, model, node, to);
        copied++;
    }
    return err || copied ? err : write_empty_trace(into);
}

/* Copies the trace of `run` into the empty directory `into`. */
static int copy_run(const char *run, bool merged, const char *into)
{
    struct export_nodes nodes;
    int err = export_find(run, &nodes), unknown = 0;
    struct model *m = err ? NULL : run_streams_load(run, false, &unknown);
    if (merged && unknown) {
        log_error("BEZEL-EXPORT-DATABASE", "cannot merge without %s/run.db: %s", run, rundb_why(unknown));
        err = unknown;
    }
    if (!err)
        err = copy_nodes(run, &nodes, m, merged, into);
    model_free(m);
    export_find_free(&nodes);
    return err;
}

/* ---- putting it in place ---- */

/* A folder that cannot be read may contain files, so it does not count as empty. */
static bool is_empty(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir)
        return false;
    int entries = 0, err;
    while (file_next(dir, &err))
        entries++;
    closedir(dir);
    return !err && entries <= 2; /* itself and its parent */
}

/* Whether `target` may be replaced: it is missing, an empty directory, or an export. If it cannot be, making it tells.
 */
static bool may_replace(const char *target)
{
    char mark[PATH_MAX];
    struct stat st;
    if (lstat(target, &st) != 0)
        return true;
    if (!S_ISDIR(st.st_mode) || snprintf(mark, sizeof mark, "%s/" EXPORT_MARK, target) >= (int)sizeof mark)
        return false;
    return access(mark, F_OK) == 0 || is_empty(target);
}

static void remove_leftover(const char *path)
{
    if (file_remove_tree(path) != 0)
        log_warn("BEZEL-EXPORT-LEFTOVER", "cannot remove %s: %s", path, strerror(errno));
}

/* Whether the file system cannot exchange names: NFS, 9p, FAT, most of FUSE. Old kernels have no such call. */
static bool lacks_exchange(int sys)
{
    return sys == EINVAL || sys == ENOSYS || sys == EOPNOTSUPP;
}

/*
 * Puts `made` in place of `target` in two steps: for a moment a reader finds neither. `made` gets the name of the
 * former one, which is removed, or put back where the second step fails.
 */
static int put_by_two_steps(const char *made, const char *target)
{
    char aside[PATH_MAX];
    struct stat st;
    bool there = lstat(target, &st) == 0;
    if (snprintf(aside, sizeof aside, "%s.old", made) >= (int)sizeof aside)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    if (there && rename(target, aside) != 0)
        return err_from_errno(errno);
    if (rename(made, target) != 0) {
        int sys = errno;
        if (there && rename(aside, target) != 0)
            log_warn("BEZEL-EXPORT-LEFTOVER", "the previous export is now %s, and cannot be moved back: %s", aside,
                     strerror(errno));
        return errno = sys, err_from_errno(sys);
    }
    if (there)
        remove_leftover(aside);
    return 0;
}

/* Renames `made` to `target`, in one step where the file system can, and removes the former `target`. */
static int put_in_place(const char *made, const char *target)
{
    if (renameat2(AT_FDCWD, made, AT_FDCWD, target, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno == EEXIST && renameat2(AT_FDCWD, made, AT_FDCWD, target, RENAME_EXCHANGE) == 0) {
        remove_leftover(made);
        return 0;
    }
    return lacks_exchange(errno) ? put_by_two_steps(made, target) : err_from_errno(errno);
}

static int write_mark(const char *dir)
{
    static const char text[] = "This directory was made by 'bezel export', which replaces it.\n";
    return file_replace_in(dir, EXPORT_MARK, text, sizeof text - 1);
}

/* Makes a directory beside `target`, in the same file system; its path into `made`. */
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

/* Where no folder can be renamed, as in an overlay that a user's namespace mounted: readers may find a part of it. */
static int make_in_place(const char *target, int (*fill)(void *context, const char *made), void *context)
{
    struct stat st;
    int err = lstat(target, &st) == 0 ? file_remove_tree(target) : 0;
    if (!err && mkdir(target, 0777) != 0)
        err = err_from_errno(errno);
    if (err)
        return err;
    err = fill(context, target);
    if (!err)
        err = write_mark(target);
    if (err)
        remove_leftover(target);
    return err;
}

int export_make(const char *what, const char *target, int (*fill)(void *context, const char *made), void *context)
{
    char made[PATH_MAX];
    if (!may_replace(target)) {
        log_error("BEZEL-EXPORT-TARGET", "%s exists, and is not an export: remove it, or name another directory",
                  target);
        return BEZEL_EBUSY;
    }
    int err = make_beside(target, made);
    if (err) {
        log_error("BEZEL-EXPORT-TARGET", "cannot make a directory beside %s: %s%s", target, strerror(errno),
                  file_room(target, errno));
        return err;
    }
    err = fill(context, made);
    if (!err)
        err = write_mark(made);
    if (!err && (err = put_in_place(made, target)) != 0 && errno == EXDEV) {
        remove_leftover(made);
        err = make_in_place(target, fill, context);
        made[0] = '\0';
    }
    if (!err)
        return 0;
    log_error("BEZEL-EXPORT", "cannot export %s to %s: %s%s", what, target,
              err == BEZEL_EINVAL ? strerror(errno) : ulimit_reason(err),
              err == BEZEL_ENOSPC ? file_room(target, errno) : "");
    if (made[0])
        remove_leftover(made);
    return err;
}

struct copied {
    const char *run;
    bool merged;
};

static int fill_trace(void *context, const char *made)
{
    const struct copied *c = context;
    return copy_run(c->run, c->merged, made);
}

int export_trace(const char *run, const char *target, bool merged)
{
    struct copied c = {run, merged};
    if (!run_reader_goes_on(run))
        (void)run_missing(run, &RECORD_FILTER_ALL, UINT64_MAX, true); /* which warns: the copy has no checksums */
    return export_make(run, target, fill_trace, &c);
}
