// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/store.h"

#include "base/file.h"
#include "collector/metadata.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct store {
    char run[PATH_MAX / 2];
    bool sync;
    unsigned open, open_max;
    struct model_stream *newest, *oldest; /* open files, by their last use */
    bool reserve;                         /* the reserve file is there */
    int failure;                          /* errno; 0: none */
    bool lasting;                         /* ... and no retry can help */
    int64_t retry_at;
    char failed_path[PATH_MAX];
};

/* A quarter of what the process may open is left to ZeroMQ and SQLite, and never less than eight are used. */
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

/* Returns 0 or an errno. */
static int reserve_take(struct store *s)
{
    char path[PATH_MAX];
    reserve_path(s, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    int sys = posix_fallocate(fd, 0, STORE_RESERVE);
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

int store_open(const char *run, bool sync, struct store **s)
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
    if (err) {
        free(it);
        return err;
    }
    it->sync = sync;
    it->open_max = open_limit();
    (void)reserve_take(it); /* without a reserve the store works as well, until the disk is full */
    *s = it;
    return 0;
}

int store_path(const struct store *s, const struct model_node *node, const struct model_stream *stream, char *path,
               size_t size)
{
    int n = stream
                ? snprintf(path, size, "%s/trace/%s/%s-%u", s->run, node->dir, stream->process->base, stream->at.ring)
                : snprintf(path, size, "%s/trace/%s", s->run, node->dir);
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

static void stream_close(struct store *s, struct model_stream *stream)
{
    lru_take(s, stream);
    close(stream->fd);
    stream->fd = -1;
    s->open--;
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

/*
 * Opens the file at `path`, closing the one that was not used for longest where there are enough or too many. What a
 * closed one must still bring to stable storage does not need its descriptor. Returns 0 or an errno.
 */
static int stream_open(struct store *s, struct model_stream *stream, const char *path)
{
    int flags = O_WRONLY | O_CLOEXEC | (stream->bytes ? 0 : O_CREAT | O_TRUNC);
    while (s->open >= s->open_max)
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

/* Brings a file or directory to stable storage. Returns 0 or an errno. */
static int path_sync(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int sys = fsync(fd) != 0 ? errno : 0;
    close(fd);
    return sys;
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

/* Room for the reserve shows that space came back. Where a limit other than space stopped us only a packet can tell. */
bool store_retry(struct store *s, int64_t now)
{
    if (!s->failure || s->lasting || now < s->retry_at)
        return false;
    s->retry_at = now + STORE_RETRY;
    if (!s->reserve && reserve_take(s) != 0 && (s->failure == ENOSPC || s->failure == EDQUOT))
        return false;
    if (s->reserve && (s->failure == ENOSPC || s->failure == EDQUOT))
        s->failure = 0;
    else
        s->retry_at = now;
    return true;
}

/* ---- appending --------------------------------------------------------------------------------------------------- */

/* Returns 0 or an errno. */
static int metadata_store(struct store *s, struct model_node *node, const char *dir)
{
    char path[PATH_MAX + 16], *text;
    size_t n;
    if (file_make_dirs(dir, 0777) != 0)
        return errno;
    if (metadata_write(node, &text, &n) != 0)
        return ENOMEM;
    snprintf(path, sizeof path, "%s/metadata", dir);
    int sys;
    while ((sys = file_replace(path, text, n) != 0 ? errno : 0) == EMFILE && s->oldest)
        stream_close(s, s->oldest);
    free(text);
    if (!sys && s->sync)
        sys = path_sync(path);
    if (!sys)
        node->metadata_stale = false;
    return sys;
}

/* Writes all or leaves the file at its committed length. Returns 0 or an errno. */
static int write_whole(int fd, const uint8_t *p, size_t n, uint64_t at)
{
    size_t done = 0;
    while (done < n) {
        ssize_t w = pwrite(fd, p + done, n - done, (off_t)(at + done));
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0) {
            int sys = w < 0 ? errno : EIO;
            /* Where even that fails the torn tail stays: the next packet is written over it, and a restart cuts it. */
            (void)!ftruncate(fd, (off_t)at);
            return sys;
        }
        done += (size_t)w;
    }
    return 0;
}

/* `path` with a dot before the file's name. */
static void hidden_path(const char *path, char hidden[PATH_MAX + 1])
{
    size_t dir = (size_t)(strrchr(path, '/') - path) + 1;
    memcpy(hidden, path, dir);
    hidden[dir] = '.';
    memcpy(hidden + dir + 1, path + dir, strlen(path + dir) + 1);
}

/* Returns 0 or an errno; a stream's first packet appears together with its file. */
static int stream_write(struct store *s, struct model_stream *stream, const char *dir, const char *path,
                        const void *packet, size_t n)
{
    char hidden[PATH_MAX + 1];
    hidden_path(path, hidden);
    if (stream->fd < 0) {
        int sys = stream_open(s, stream, stream->bytes ? path : hidden);
        if (sys)
            return sys;
    } else {
        lru_take(s, stream);
        lru_put(s, stream);
    }
    int sys = write_whole(stream->fd, packet, n, stream->bytes);
    if (!sys && stream->bytes == 0 && rename(hidden, path) != 0)
        sys = errno;
    if (!sys && stream->bytes == 0 && s->sync)
        sys = path_sync(dir);
    if (sys && stream->bytes == 0) {
        stream_close(s, stream);
        unlink(hidden);
    }
    return sys;
}

int store_append(struct store *s, struct model_stream *stream, const void *packet, size_t n)
{
    if (s->failure && (s->lasting || clock_now() < s->retry_at))
        return err_from_errno(s->failure);
    struct model_node *node = stream->process->node;
    char dir[PATH_MAX], path[PATH_MAX];
    int err = store_path(s, node, NULL, dir, sizeof dir);
    if (!err)
        err = store_path(s, node, stream, path, sizeof path);
    if (err)
        return err;
    int sys = node->metadata_stale ? metadata_store(s, node, dir) : 0;
    if (sys) {
        store_fail(s, sys, dir);
        return err_from_errno(sys);
    }
    sys = stream_write(s, stream, dir, path, packet, n);
    if (sys) {
        store_fail(s, sys, path);
        return err_from_errno(sys);
    }
    if (!s->reserve && s->failure)
        (void)reserve_take(s);
    s->failure = 0;
    stream->bytes += n;
    stream->unsynced = true;
    return 0;
}

int store_sync(struct store *s, struct model_stream *stream)
{
    if (!s->sync || !stream->unsynced)
        return 0;
    if (s->lasting)
        return BEZEL_ESYS;
    char path[PATH_MAX];
    int err = store_path(s, stream->process->node, stream, path, sizeof path);
    if (err)
        return err;
    int sys = stream->fd < 0 ? stream_open(s, stream, path) : 0;
    if (!sys && fdatasync(stream->fd) != 0)
        sys = errno;
    if (sys) {
        store_fail(s, sys, path);
        s->lasting = true;
        return err_from_errno(sys);
    }
    stream->unsynced = false;
    return 0;
}
