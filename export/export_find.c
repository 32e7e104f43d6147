// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/folder_lock.h"
#include "base/grow.h"
#include "base/log.h"
#include "base/units.h"
#include "export/export_internal.h"
#include "run/store/trace_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MEASURE_BYTES = 4 << 10 /* read at once: headers alone are looked at, and packets are longer */ };

/* The state of the search. */
struct search {
    bool served; /* by a collector: files grow */
    struct export_nodes *nodes;
    struct export_node *node;
};

/* Measures stream file s->path up to its last complete packet. A packet that cannot be read ends it, with a warning. */
static int measure(struct export_stream *s, bool served, struct trace_expired *expired)
{
    struct trace_reader *r;
    int err = trace_reader_open(s->path, &r);
    if (err == BEZEL_EMALFORMED) {
        log_warn("BEZEL-EXPORT-FOREIGN", "left out %s: it is not a regular file", s->path);
        return 0;
    }
    if (err)
        return err;
    r->most = MEASURE_BYTES;
    r->expired = expired;
    while ((err = trace_reader_step(r)) > 0) {
        if (s->bytes == 0)
            s->instance = r->at.last.instance, s->begin = r->at.last.timestamp_begin;
        s->bytes = r->at.bytes;
    }
    uint64_t rest = err == 0 && !served ? trace_reader_rest(r) : 0;
    trace_reader_close(r);
    if (rest)
        log_warn("BEZEL-EXPORT-TORN",
                 "%s: its last %llu bytes are not a complete packet, and not exported; see 'bezel verify'", s->path,
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
    if (!grow_list(&node->streams, &node->capacity, node->count, sizeof *node->streams))
        return BEZEL_ENOMEM;
    struct export_stream *s = &node->streams[node->count];
    *s = (struct export_stream){.path = strdup(path)};
    int err = s->path ? measure(s, search->served, &search->nodes->expired) : BEZEL_ENOMEM;
    if (!err && s->bytes > 0)
        node->count++;
    else
        free(s->path);
    return err;
}

static int add_node(struct search *search, const char *trace, const char *dir)
{
    struct export_nodes *nodes = search->nodes;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", trace, dir) >= (int)sizeof path)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    if (!grow_list(&nodes->list, &nodes->capacity, nodes->count, sizeof *nodes->list))
        return BEZEL_ENOMEM;
    search->node = &nodes->list[nodes->count++];
    memset(search->node, 0, sizeof *search->node);
    snprintf(search->node->dir, sizeof search->node->dir, "%s", dir);
    return trace_reader_list(path, add_stream, search);
}

/* Adds an entry of the trace's folder; leaves out what is not a folder. */
static int add_found(const char *trace, const char *dir, void *context)
{
    struct search *search = context;
    int err = add_node(search, trace, dir);
    if (err == BEZEL_ESYS && errno == ELOOP)
        log_error("BEZEL-EXPORT-LINK", "%s/%s is a symbolic link, which is not followed: copy the trace itself there",
                  trace, dir);
    if (err != BEZEL_ESYS || errno != ENOTDIR)
        return err;
    log_warn("BEZEL-EXPORT-FOREIGN", "left out %s/%s: it is not a folder", trace, dir);
    search->nodes->count--;
    return 0;
}

int export_find(const char *run, struct export_nodes *nodes)
{
    struct search search = {.served = folder_is_held(run), .nodes = nodes};
    *nodes = (struct export_nodes){0};
    int err = trace_reader_folders(run, add_found, &search);
    export_warn_expired(nodes->expired.records, nodes->expired.packets);
    return err;
}

void export_warn_expired(uint64_t records, uint64_t packets)
{
    if (packets)
        log_warn("BEZEL-EXPORT-EXPIRED",
                 "%s records in %s packets had expired from the store (store.keep) before they were exported",
                 units_count(records).s, units_count(packets).s);
}

void export_find_free(struct export_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++) {
        for (size_t s = 0; s < nodes->list[i].count; s++)
            free(nodes->list[i].streams[s].path);
        free(nodes->list[i].streams);
    }
    free(nodes->list);
}
