// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/read/run_reader_internal.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "collector/store/trace_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FOLDERS_MAX = 4096 }; /* below trace/; an experiment has up to 1,024 nodes, some of them with several traces */

/* ---- files that were found --------------------------------------------------------------------------------------- */

static uint64_t path_hash(const char *path)
{
    return hash_fnv64(HASH_FNV64_START, path, strlen(path));
}

static bool is_known(const struct run_reader *r, const char *path)
{
    return r->known.slots && hash_index_find(&r->known, path_hash(path), HASH_INDEX_NO_RING) >= 0;
}

/* Makes room for one more. */
static int grow_known(struct run_reader *r)
{
    size_t slots = r->known.slots ? (size_t)r->known.mask + 1 : 0;
    if (2 * (r->known_count + 1) <= slots)
        return 0;
    struct hash_index larger = {.mask = (uint32_t)(slots ? 2 * slots : 64) - 1};
    larger.slots = calloc((size_t)larger.mask + 1, sizeof *larger.slots);
    if (!larger.slots)
        return BEZEL_ENOMEM;
    for (size_t i = 0; i < slots; i++)
        if (r->known.slots[i].number)
            hash_index_put(&larger, r->known.slots[i].instance, HASH_INDEX_NO_RING, 0);
    free(r->known.slots);
    r->known = larger;
    return 0;
}

static int add_known(struct run_reader *r, const char *path)
{
    int err = grow_known(r);
    if (err)
        return err;
    hash_index_put(&r->known, path_hash(path), HASH_INDEX_NO_RING, 0);
    r->known_count++;
    return 0;
}

/* ---- a stream ---------------------------------------------------------------------------------------------------- */

/* Reads the first packet's header. Returns 1; 0 where the file has no complete one yet; or an error. */
static int read_first(const char *path, struct packet_header *h)
{
    uint8_t bytes[PACKET_HEADER_BYTES];
    int fd = file_open_plain(path, TRACE_READER_PLAIN, false);
    if (fd < 0)
        return fd == BEZEL_EINVAL || errno == ELOOP || errno == ENXIO ? BEZEL_EINVAL : fd;
    ssize_t n = pread(fd, bytes, sizeof bytes, 0);
    int err = n < 0 ? err_from_errno(errno) : 0;
    close(fd);
    if (err || n < (ssize_t)sizeof bytes)
        return err;
    err = packet_get_header(bytes, sizeof bytes, h);
    return err && err != BEZEL_EAGAIN ? err : 1;
}

/* The process of a new stream, which the model may have to be loaded anew for; NULL with *err 0: there is none. */
static const struct model_process *find_process(struct run_reader *r, const uint8_t uuid[16], uint64_t instance,
                                                int *err)
{
    const struct model_process *p = NULL;
    *err = 0;
    for (int turn = 0; turn < 2 && !p && !*err; turn++) {
        if (turn == 1)
            *err = run_reader_renew(r);
        const struct model_node *node = *err ? NULL : model_find_node(r->model, uuid);
        p = node ? model_find_process(node, instance) : NULL;
    }
    return p;
}

static int add_stream(struct run_reader *r, const char *path, const struct model_process *p, uint64_t begin)
{
    if (r->count == r->capacity) {
        size_t larger = r->capacity ? 2 * r->capacity : 32;
        struct record_stream **list = realloc(r->streams, larger * sizeof(struct record_stream *));
        if (!list)
            return BEZEL_ENOMEM;
        r->streams = list;
        r->capacity = larger;
    }
    struct record_stream *s = calloc(1, sizeof *s);
    int err = s ? record_stream_init(s, record_order_source(r->order), path, p, begin) : BEZEL_ENOMEM;
    if (!err) {
        s->number = r->numbers++;
        err = record_order_add(r->order, s);
    }
    if (!err) {
        r->streams[r->count++] = s;
        return 0;
    }
    if (s)
        record_stream_fini(s);
    free(s);
    return err;
}

/* Warns of a file that is not read, or not to its end. */
static void leave_out(struct run_reader *r, const char *path, int err)
{
    if (err == BEZEL_EINVAL)
        log_warn("BEZEL-READ-FOREIGN", "left out %s: it is not a regular file", path);
    else if (err)
        log_warn("BEZEL-READ-DAMAGED", "left out %s: %s at its start", path, err_text(err));
    else
        log_warn("BEZEL-READ-FOREIGN", "left out %s: run.db has no process for it", path);
    r->totals.cut++;
}

/* A file in a node's folder. */
struct found {
    struct run_reader *r;
    const struct run_reader_folder *folder;
};

static int take_file(const char *path, void *context)
{
    const struct found *found = context;
    struct run_reader *r = found->r;
    struct packet_header h = {0};
    if (is_known(r, path))
        return 0;
    int more = read_first(path, &h), err = 0;
    if (more == 0 || more == BEZEL_ENOENT)
        return 0;
    if (more < 0 && more != BEZEL_EINVAL && more != BEZEL_EMALFORMED && more != BEZEL_EVERSION)
        return more;
    const struct model_process *p = more > 0 ? find_process(r, found->folder->uuid, h.instance, &err) : NULL;
    if (!err)
        err = add_known(r, path);
    if (err)
        return err;
    if (!p)
        leave_out(r, path, more > 0 ? 0 : more);
    else if (record_filter_takes_process(&r->filter, p))
        err = add_stream(r, path, p, h.timestamp_begin);
    return err;
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

static struct run_reader_folder *find_folder(struct run_reader *r, const char *name)
{
    for (size_t i = 0; i < r->folder_count; i++)
        if (strcmp(r->folders[i].name, name) == 0)
            return &r->folders[i];
    return NULL;
}

static const struct model_node *node_of(const struct model *m, const char *dir)
{
    const struct model_node *node = m->nodes;
    while (node && strcmp(node->dir, dir) != 0)
        node = node->next;
    return node;
}

static bool is_folder(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Notes a new entry of trace/. */
static int add_folder(struct run_reader *r, const char *name, const char *path)
{
    if (r->folder_count == r->folder_capacity) {
        size_t larger = r->folder_capacity ? 2 * r->folder_capacity : 8;
        struct run_reader_folder *list = realloc(r->folders, larger * sizeof *list);
        if (!list)
            return BEZEL_ENOMEM;
        r->folders = list;
        r->folder_capacity = larger;
    }
    const struct model_node *node = node_of(r->model, name);
    int err = node ? 0 : run_reader_renew(r);
    if (err)
        return err;
    node = node_of(r->model, name);
    struct run_reader_folder *f = &r->folders[r->folder_count++];
    *f = (struct run_reader_folder){.left_out = !node || !record_filter_takes(r->filter.node, node->name)};
    snprintf(f->name, sizeof f->name, "%s", name);
    if (node)
        memcpy(f->uuid, node->uuid, sizeof f->uuid);
    if (!node || !is_folder(path)) {
        log_warn("BEZEL-READ-FOREIGN", "left out %s: %s", path,
                 node ? "it is not a folder" : "run.db has no node for it");
        r->totals.cut++;
        f->left_out = true;
    }
    return 0;
}

static int64_t ns_of(const struct timespec *t)
{
    return t->tv_sec * CLOCK_S + t->tv_nsec;
}

/*
 * Whether the folder may have entries that were not listed. A file that came after the listing has changed the folder,
 * to a time that is not before that of the listing but for the clock's grain, and for a clock that was set.
 */
static bool may_have_more(struct run_reader_folder *f, const char *path)
{
    struct timespec now;
    struct stat st;
    if (lstat(path, &st) != 0)
        return true;
    int64_t changed = ns_of(&st.st_mtim);
    bool same = f->listed > 0 && changed == f->changed && f->listed - changed > CLOCK_S;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!same)
        f->listed = ns_of(&now);
    f->changed = changed;
    return !same;
}

static int list_folder(struct run_reader *r, const char *trace, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", trace, name) >= (int)sizeof path)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    struct run_reader_folder *f = find_folder(r, name);
    if (!f && r->folder_count == FOLDERS_MAX) {
        log_warn("BEZEL-READ-FOREIGN", "left out %s: there are more than %d entries beside it", path, FOLDERS_MAX);
        return 0;
    }
    int err = f ? 0 : add_folder(r, name, path);
    f = find_folder(r, name);
    if (err || f->left_out || !may_have_more(f, path))
        return err;
    struct found found = {r, f};
    return trace_reader_list(path, take_file, &found);
}

/* Measures all streams, and queues those that have more: also a torn end, which may be a packet of that size by now. */
static int measure(struct run_reader *r)
{
    int err = 0;
    for (size_t i = 0; i < r->count && !err; i++) {
        struct record_stream *s = r->streams[i];
        struct stat st;
        if (s->cut || lstat(s->path, &st) != 0)
            continue;
        if ((uint64_t)st.st_size != s->bytes)
            record_stream_measure(s, (uint64_t)st.st_size);
        if (!s->queued && record_stream_has_more(s))
            err = record_order_add(r->order, s);
    }
    return err;
}

int run_reader_find(struct run_reader *r)
{
    char trace[PATH_MAX];
    if (snprintf(trace, sizeof trace, "%s/trace", r->run) >= (int)sizeof trace)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    DIR *dir = file_open_dir(trace, 1);
    if (!dir)
        return errno == ENOENT && access(r->run, F_OK) == 0 ? 0 : err_from_errno(errno); /* nothing is stored yet */
    int err = 0;
    for (struct dirent *d; !err && (d = file_next(dir, &err));)
        if (d->d_name[0] != '.')
            err = list_folder(r, trace, d->d_name);
    closedir(dir);
    return err ? err : measure(r);
}
