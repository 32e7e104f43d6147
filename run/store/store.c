// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/store/store_internal.h"

#include "base/file.h"
#include "run/store/disk.h"
#include "run/store/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Three quarters of the process's descriptors, at least 8; ZeroMQ and SQLite need the rest. */
static unsigned open_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / 4 * 3 >= STORE_OPEN_MAX)
        return STORE_OPEN_MAX;
    return limit.rlim_cur / 4 * 3 > 8 ? (unsigned)(limit.rlim_cur / 4 * 3) : 8;
}

static void reserve_path(const struct store *s, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/.reserve", s->run);
}

/* Whether space has run out, which the reserve is for; other errors are, say, a limit on files or a broken disk. */
static bool is_space(int sys)
{
    return sys == ENOSPC || sys == EDQUOT;
}

/*
 * Allocates the reserve. After space has run out STORE_ROOM must be free: the bytes of the reserve alone, which was
 * freed, show no new room. Returns 0 or an errno value.
 */
static int reserve_take(struct store *s)
{
    char path[PATH_MAX];
    reserve_path(s, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return errno;
    int sys = posix_fallocate(fd, 0, is_space(s->failure) ? STORE_ROOM : STORE_RESERVE);
    if (!sys && ftruncate(fd, STORE_RESERVE) != 0)
        sys = errno;
    close(fd);
    s->reserve = sys == 0;
    if (sys)
        unlink(path);
    return sys;
}

static void reserve_give(struct store *s)
{
    char path[PATH_MAX];
    reserve_path(s, path);
    unlink(path);
    s->reserve = false;
}

/* Syncs the run directory and its name. */
static int sync_run(const struct store *s)
{
    int sys = disk_sync(s->run);
    return sys ? sys : disk_sync_parent(s->run);
}

int store_open(const char *run, int64_t sync, struct store **s)
{
    struct store *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    char trace[PATH_MAX];
    int err = BEZEL_EINVAL;
    if (snprintf(it->run, sizeof it->run, "%s", run) < (int)sizeof it->run) {
        snprintf(trace, sizeof trace, "%s/trace", run);
        err = file_make_dirs(trace, 0777);
    }
    it->sync = sync;
    if (!err && sync != STORE_SYNC_NEVER && (errno = sync_run(it)) != 0)
        err = err_from_errno(errno);
    if (err) {
        free(it);
        return err;
    }
    it->metadata_credit = STORE_METADATA_BURST;
    it->metadata_at = it->synced_at = clock_now();
    it->open_max = open_limit();
    (void)reserve_take(it); /* the store works without it, too, until the disk is full */
    *s = it;
    return 0;
}

int store_path(const struct store *s, const struct model_node *node, const struct model_stream *stream, char *path,
               size_t size)
{
    int n = snprintf(path, size, "%s/trace/%s%s%s", s->run, node->dir, stream ? "/" : "",
                     stream ? model_file(stream->process, stream->at.ring).name : "");
    return n < 0 || (size_t)n >= size ? BEZEL_EINVAL : 0;
}

/* ---- open files -------------------------------------------------------------------------------------------------- */

static void lru_take(struct store *s, struct model_stream *stream)
{
    *(stream->newer ? &stream->newer->older : &s->newest) = stream->older;
    *(stream->older ? &stream->older->newer : &s->oldest) = stream->newer;
    stream->newer = stream->older = NULL;
}

static void lru_put(struct store *s, struct model_stream *stream)
{
    stream->older = s->newest;
    stream->newer = NULL;
    *(s->newest ? &s->newest->newer : &s->oldest) = stream;
    s->newest = stream;
}

/* A network file system may have taken bytes that it cannot store, and says so when the file is closed. */
static void stream_close(struct store *s, struct model_stream *stream)
{
    char path[PATH_MAX];
    lru_take(s, stream);
    if (close(stream->fd) != 0 && !s->lasting) {
        int sys = errno;
        store_fail(s, sys, store_path(s, stream->process->node, stream, path, sizeof path) == 0 ? path : s->run);
        s->lasting = true;
    }
    stream->fd = -1;
    s->open--;
}

int store_settle(struct store *s)
{
    while (s->oldest)
        stream_close(s, s->oldest);
    errno = s->failure;
    return s->lasting && s->sync == STORE_SYNC_NEVER ? err_from_errno(s->failure) : 0;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    while (s->oldest)
        stream_close(s, s->oldest);
    reserve_give(s);
    free(s);
}

int store_open_stream(struct store *s, struct model_stream *stream, const char *path)
{
    int flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (stream->bytes ? 0 : O_CREAT | O_TRUNC);
    while (s->open >= s->open_max && s->oldest)
        stream_close(s, s->oldest);
    while ((stream->fd = open(path, flags, 0666)) < 0) {
        if (errno != EMFILE || !s->oldest)
            return errno;
        stream_close(s, s->oldest);
    }
    lru_put(s, stream);
    s->open++;
    return 0;
}

/* ---- failing ----------------------------------------------------------------------------------------------------- */

void store_fail(struct store *s, int sys, const char *path)
{
    if (s->reserve)
        reserve_give(s);
    s->failure = sys ? sys : EIO;
    s->retry_at = clock_now() + STORE_RETRY;
    snprintf(s->failed_path, sizeof s->failed_path, "%s", path);
}

int store_failure(const struct store *s, const char **path)
{
    if (path)
        *path = s->failed_path;
    return s->failure;
}

/* If the reserve can be allocated there is space again. For any other failure only storing a packet can show it. */
bool store_retry(struct store *s, int64_t now)
{
    if (!s->failure || s->lasting || now < s->retry_at)
        return false;
    s->retry_at = now + STORE_RETRY;
    if (!s->reserve && reserve_take(s) != 0 && is_space(s->failure))
        return false;
    if (s->reserve && is_space(s->failure))
        s->failure = 0;
    else
        s->retry_at = now;
    return true;
}

/* ---- appending --------------------------------------------------------------------------------------------------- */

/*
 * A node's metadata is rewritten completely for each addition. With thousands of processes one after the other that
 * would be more bytes than the trace itself, so they are limited, as bursts and as a rate. Beyond the limit metadata is
 * written late. Only other programs that read the folder at that moment notice: Bezel reads packets by the database.
 */
static bool metadata_affordable(struct store *s)
{
    int64_t now = clock_now(), gained = (now - s->metadata_at) / CLOCK_MS * (STORE_METADATA_RATE / 1000);
    if (gained > 0) {
        s->metadata_credit += gained;
        s->metadata_at = now;
    }
    if (s->metadata_credit > STORE_METADATA_BURST)
        s->metadata_credit = STORE_METADATA_BURST;
    return s->metadata_credit > 0;
}

static int metadata_replace(struct store *s, const char *path, const char *text, size_t n)
{
    int (*replace)(const char *, const void *, size_t) =
        s->sync == STORE_SYNC_NEVER ? file_replace : file_replace_lasting;
    while (replace(path, text, n) != 0) {
        if (errno != EMFILE || !s->oldest)
            return errno;
        stream_close(s, s->oldest);
    }
    return 0;
}

int store_metadata(struct store *s, struct model_node *node)
{
    char dir[PATH_MAX], path[PATH_MAX + 16], *text;
    struct stat st;
    size_t n;
    if (store_path(s, node, NULL, dir, sizeof dir) != 0)
        return ENAMETOOLONG;
    if (mkdir(dir, 0777) != 0) {
        if (errno != EEXIST)
            return errno;
        if (lstat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
            return ENOTDIR; /* a symbolic link would lead elsewhere */
    }
    if (!node->has_dir)
        s->names_unsynced = true; /* also where it exists: who made it may have been killed before the sync */
    if (metadata_keep(node) != 0 || metadata_write(node, &text, &n) != 0)
        return ENOMEM;
    snprintf(path, sizeof path, "%s/metadata", dir);
    int sys = metadata_replace(s, path, text, n);
    free(text);
    s->metadata_credit -= (int64_t)n;
    if (sys)
        return sys;
    node->names_unsynced = true;
    for (struct model_process *p = node->processes; p; p = p->next)
        p->metadata_stale = false;
    node->metadata_late = false;
    node->has_dir = true;
    return 0;
}

/* Whether a node has packets, and its metadata lacks declarations of its processes, used or not. */
static bool declares_more(const struct model_node *node)
{
    const struct model_process *p = node->has_dir ? node->processes : NULL;
    while (p && !p->metadata_stale)
        p = p->next;
    return p != NULL;
}

void store_tidy(struct store *s, const struct model *m, bool all)
{
    for (struct model_node *node = m->nodes; node; node = node->next) {
        if (all ? !node->metadata_late && !declares_more(node) : !node->metadata_late || !metadata_affordable(s))
            continue;
        char dir[PATH_MAX];
        int sys = store_metadata(s, node);
        if (sys && !s->failure)
            store_fail(s, sys, store_path(s, node, NULL, dir, sizeof dir) == 0 ? dir : node->dir);
    }
}

void store_tidy_last(struct store *s, struct model *m)
{
    m->clocks_last = true;
    for (struct model_node *node = m->nodes; node; node = node->next)
        node->metadata_late = node->metadata_late || (node->has_dir && node->run_clock.kind != RUN_CLOCK_WALL);
    store_tidy(s, m, true);
}

/* The first packet of a file. Returns 0 or an errno value. The file gets its name after the packet is written. */
static int stream_begin(struct store *s, struct model_stream *stream, const char *path, const void *packet, size_t n)
{
    char hidden[PATH_MAX + 1];
    disk_hidden(path, hidden);
    int sys = store_open_stream(s, stream, hidden);
    if (sys)
        return sys;
    sys = disk_write(stream->fd, packet, n, 0);
    if (!sys && rename(hidden, path) != 0)
        sys = errno;
    stream->process->node->names_unsynced = true;
    if (sys) {
        stream_close(s, stream);
        unlink(hidden);
    }
    return sys;
}

/* Returns 0 or an errno value. Most packets go into a file that is open, and need no path. */
static int stream_write(struct store *s, struct model_stream *stream, const void *packet, size_t n)
{
    char path[PATH_MAX];
    if (stream->fd >= 0) {
        lru_take(s, stream);
        lru_put(s, stream);
        return disk_write(stream->fd, packet, n, stream->bytes);
    }
    if (store_path(s, stream->process->node, stream, path, sizeof path) != 0)
        return ENAMETOOLONG;
    if (stream->bytes == 0)
        return stream_begin(s, stream, path, packet, n);
    int sys = store_open_stream(s, stream, path);
    return sys ? sys : disk_write(stream->fd, packet, n, stream->bytes);
}

void store_pause(struct store *s, bool paused)
{
    s->paused = paused;
}

int store_append(struct store *s, struct model_stream *stream, const void *packet, size_t n)
{
    if (s->paused)
        return BEZEL_EAGAIN;
    if (s->failure && (s->lasting || clock_now() < s->retry_at || (is_space(s->failure) && !s->reserve)))
        return err_from_errno(s->failure); /* the remaining room is kept for the database */
    struct model_node *node = stream->process->node;
    node->metadata_late = node->metadata_late || stream->process->metadata_stale;
    int sys = node->metadata_late && (metadata_affordable(s) || !node->has_dir) ? store_metadata(s, node) : 0;
    if (!sys)
        sys = stream_write(s, stream, packet, n);
    if (sys) {
        char path[PATH_MAX];
        store_fail(s, sys, store_path(s, node, stream, path, sizeof path) == 0 ? path : node->dir);
        return err_from_errno(sys);
    }
    if (!s->reserve && s->failure)
        (void)reserve_take(s);
    s->failure = 0;
    stream->bytes += n;
    store_push(stream);
    store_unsynced(s, stream, n);
    return 0;
}
