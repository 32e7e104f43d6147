// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/log.h"
#include "collector/reader.h"
#include "collector/verify.h"
#include "ecs/export_own.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Where the search is. */
struct search {
    bool served; /* by a collector: files grow */
    struct export_node *node;
};

/*
 * Reads stream file s->path up to its last whole packet. A packet that cannot be read ends it, as a torn tail does, but
 * is told of.
 */
static int measure(struct export_stream *s, bool served)
{
    struct reader *r;
    int err = reader_open(s->path, &r);
    if (err == BEZEL_EMALFORMED) {
        log_warn("BEZEL-EXPORT-FOREIGN", "%s is no file: left out", s->path);
        return 0;
    }
    if (err)
        return err;
    struct packet_header h;
    const uint8_t *packet;
    while ((err = reader_next(r, &h, &packet)) > 0) {
        if (s->bytes == 0)
            s->instance = h.instance, s->begin = h.timestamp_begin;
        s->bytes = reader_offset(r);
    }
    uint64_t rest = err == 0 && !served ? reader_rest(r) : 0;
    reader_close(r);
    if (rest)
        log_warn("BEZEL-EXPORT-TORN",
                 "%s: its last %llu bytes are no whole packet, and not exported: bezel verify tells more", s->path,
                 (unsigned long long)rest);
    if (err != BEZEL_EMALFORMED && err != BEZEL_EVERSION)
        return err;
    log_warn("BEZEL-EXPORT-DAMAGED", "%s: %s at byte %llu: exported up to there", s->path, err_text(err),
             (unsigned long long)s->bytes);
    return 0;
}

static int add_stream(const char *path, void *context)
{
    const struct search *search = context;
    struct export_node *node = search->node;
    if (node->count == node->capacity) {
        size_t larger = node->capacity ? 2 * node->capacity : 32;
        struct export_stream *list = realloc(node->streams, larger * sizeof *list);
        if (!list)
            return BEZEL_ENOMEM;
        node->streams = list;
        node->capacity = larger;
    }
    struct export_stream *s = &node->streams[node->count];
    *s = (struct export_stream){.path = strdup(path)};
    int err = s->path ? measure(s, search->served) : BEZEL_ENOMEM;
    if (!err && s->bytes > 0)
        node->count++;
    else
        free(s->path);
    return err;
}

static int add_node(struct export_nodes *nodes, const char *trace, const char *dir, bool served)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", trace, dir) >= (int)sizeof path)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    if (nodes->count == nodes->capacity) {
        size_t larger = nodes->capacity ? 2 * nodes->capacity : 8;
        struct export_node *list = realloc(nodes->list, larger * sizeof *list);
        if (!list)
            return BEZEL_ENOMEM;
        nodes->list = list;
        nodes->capacity = larger;
    }
    struct search search = {.served = served, .node = &nodes->list[nodes->count++]};
    memset(search.node, 0, sizeof *search.node);
    snprintf(search.node->dir, sizeof search.node->dir, "%s", dir);
    return reader_list(path, add_stream, &search);
}

/* What is no folder is nobody's trace. */
static int add_found(struct export_nodes *nodes, const char *trace, const char *dir, bool served)
{
    int err = add_node(nodes, trace, dir, served);
    if (err == BEZEL_ESYS && errno == ELOOP)
        log_error("BEZEL-EXPORT-LINK", "%s/%s is a symbolic link, which is not followed: copy the trace itself there",
                  trace, dir);
    if (err != BEZEL_ESYS || errno != ENOTDIR)
        return err;
    log_warn("BEZEL-EXPORT-FOREIGN", "%s/%s is no folder: left out", trace, dir);
    nodes->count--;
    return 0;
}

int export_find(const char *run, struct export_nodes *nodes)
{
    char trace[PATH_MAX];
    *nodes = (struct export_nodes){0};
    if (snprintf(trace, sizeof trace, "%s/trace", run) >= (int)sizeof trace)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    DIR *dir = file_open_dir(trace, 1);
    if (!dir)
        return err_from_errno(errno);
    int err = 0;
    bool served = verify_is_served(run);
    for (struct dirent *d; !err && (d = file_next(dir, &err));)
        if (d->d_name[0] != '.')
            err = add_found(nodes, trace, d->d_name, served);
    closedir(dir);
    return err;
}

void export_forget(struct export_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++) {
        for (size_t s = 0; s < nodes->list[i].count; s++)
            free(nodes->list[i].streams[s].path);
        free(nodes->list[i].streams);
    }
    free(nodes->list);
}
