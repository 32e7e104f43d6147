// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "run/store/cover.h"
#include "run/store/disk.h"
#include "run/store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STORE_PUSH_ALIGN = 64 << 10 };

void store_unsynced(struct store *s, struct model_stream *stream, size_t n)
{
    if (s->sync == STORE_SYNC_NEVER)
        return;
    s->unsynced_streams += !stream->unsynced;
    s->unsynced_bytes += n;
    stream->unsynced = true;
}

/* Leaves out the page that is still being filled. A failure shows in the next sync, or the kernel retries. */
void store_push(struct model_stream *stream)
{
    uint64_t end = stream->bytes & ~(uint64_t)(STORE_PUSH_ALIGN - 1);
    if (stream->pushed > end) /* the file was begun anew, or truncated */
        stream->pushed = end;
    if (end - stream->pushed < STORE_PUSH_BYTES)
        return;
    (void)sync_file_range(stream->fd, (off_t)stream->pushed, (off_t)(end - stream->pushed), SYNC_FILE_RANGE_WRITE);
    stream->pushed = end;
}

void store_found(struct store *s, struct model_stream *stream)
{
    stream->process->node->names_unsynced = s->names_unsynced = true;
    store_unsynced(s, stream, 0);
}

bool store_sync_due(const struct store *s, int64_t now)
{
    return now >= store_sync_at(s);
}

int64_t store_sync_at(const struct store *s)
{
    if (s->unsynced_streams == 0 || s->sync <= 0 || s->unsynced_bytes >= STORE_SYNC_BYTES)
        return 0;
    return s->synced_at + s->sync;
}

void store_hurry(struct store *s)
{
    if (s->sync > 0)
        s->sync = 0;
}

/* Syncs the directories that lead to a stream's file, the inner one first. Returns 0 or an errno value. */
static int sync_names(struct store *s, struct model_node *node)
{
    char dir[PATH_MAX];
    if (store_path(s, node, NULL, dir, sizeof dir) != 0)
        return ENAMETOOLONG;
    int sys = node->names_unsynced ? disk_sync(dir) : 0;
    if (sys)
        return sys;
    node->names_unsynced = false;
    sys = s->names_unsynced ? disk_sync_parent(dir) : 0;
    if (!sys)
        s->names_unsynced = false;
    return sys;
}

int store_sync(struct store *s, struct model_stream *stream)
{
    if (!stream->unsynced)
        return 0;
    if (s->lasting)
        return BEZEL_ESYS;
    char path[PATH_MAX];
    int err = store_path(s, stream->process->node, stream, path, sizeof path);
    if (err)
        return err;
    int sys = stream->fd < 0 ? store_open_stream(s, stream, path) : 0;
    if (!sys && fdatasync(stream->fd) != 0)
        sys = errno;
    if (!sys)
        sys = sync_names(s, stream->process->node);
    if (sys) {
        store_fail(s, sys, path);
        s->lasting = true;
        return err_from_errno(sys);
    }
    stream->unsynced = false;
    stream->process->dirty = true; /* its synced length is not saved yet */
    if (--s->unsynced_streams == 0) {
        s->unsynced_bytes = 0;
        s->synced_at = clock_now();
    }
    return 0;
}

int store_expire(struct store *s, const struct model_stream *stream)
{
    const struct model_expired *gone = &stream->expired;
    const struct model_process *p = stream->process;
    char path[PATH_MAX];
    if (gone->bytes == 0)
        return 0;
    if (store_path(s, p->node, stream, path, sizeof path) != 0)
        return ENAMETOOLONG;
    struct cover c = {.header = {.stream_id = p->stream_id,
                                 .timestamp_end = gone->last_end,
                                 .size_bytes = gone->bytes,
                                 .discarded = gone->discarded,
                                 .seq = gone->packets - 1,
                                 .instance = p->instance,
                                 .ring = stream->at.ring,
                                 .first_ordinal = gone->next_ordinal},
                      .records = gone->records};
    memcpy(c.header.uuid, p->node->uuid, sizeof c.header.uuid);
    return cover_write(path, &c);
}

int store_keep_damaged(const struct store *s, const char *path, uint64_t at, char *kept, size_t size)
{
    char dir[PATH_MAX];
    const char *name = strrchr(path, '/'), *node = name;
    while (node > path && node[-1] != '/')
        node--;
    snprintf(dir, sizeof dir, "%s/damaged", s->run);
    if (file_make_dirs(dir, 0777) != 0)
        return errno;
    int n = snprintf(kept, size, "%s/%.*s-%s@%" PRIu64, dir, (int)(name - node), node, name + 1, at);
    if (n < 0 || (size_t)n >= size)
        return ENAMETOOLONG;
    bool sync = s->sync != STORE_SYNC_NEVER;
    int sys = disk_keep_tail(path, at, kept, sync);
    if (!sys && sync)
        sys = disk_sync(dir);
    return !sys && sync ? disk_sync(s->run) : sys;
}
