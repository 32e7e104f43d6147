// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/run_missing.h"

#include "base/log.h"
#include "run/read/run_streams.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Whether the file of a stream lacks bytes that are stored. Whatever is wrong with those that it has is found by
 * reading. */
static bool lacks(const char *run, const struct model_process *p, uint32_t ring)
{
    char path[PATH_MAX];
    struct stat st;
    const struct model_stream *s = p->streams[ring];
    const struct model_file file = model_file(p, ring);
    if (!s || s->saved.bytes == 0 ||
        snprintf(path, sizeof path, "%s/trace/%s/%s", run, p->node->dir, file.name) >= (int)sizeof path)
        return false;
    uint64_t size = lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    return size < s->saved.bytes;
}

static void tell(const struct model_process *p, uint32_t ring)
{
    const struct model_file file = model_file(p, ring);
    const struct model_stream *s = p->streams[ring];
    log_warn("BEZEL-READ-MISSING",
             "trace/%s/%s is gone or was cut off: it had %" PRIu64 " bytes; what is lacking is not read; see 'bezel "
             "verify'",
             p->node->dir, file.name, s->saved.bytes);
}

/* Whether the user is to be told: a command reads a run several times. */
static bool is_new(const char *run)
{
    static _Thread_local char told[PATH_MAX];
    bool new = strcmp(told, run) != 0;
    snprintf(told, sizeof told, "%s", run);
    return new;
}

uint64_t run_missing(const char *run, const struct record_filter *filter)
{
    int err;
    uint64_t missing = 0, most = is_new(run) ? RUN_MISSING_TOLD : 0;
    struct model *m = run_streams_load(run, true, &err);
    for (const struct model_node *node = m ? m->nodes : NULL; node; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            for (uint32_t ring = 0; ring < p->ring_count; ring++)
                if (record_filter_takes(filter->node, node->name) && record_filter_takes_process(filter, p) &&
                    lacks(run, p, ring) && missing++ < most)
                    tell(p, ring);
    model_free(m);
    return missing;
}
