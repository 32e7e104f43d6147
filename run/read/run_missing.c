// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/run_missing.h"

#include "base/checksum.h"
#include "base/log.h"
#include "run/read/run_streams.h"
#include "run/rundb/rundb_live.h"
#include "run/store/trace_reader.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Whether a byte of file `path` is not as it was stored, by the checksums that the database has of its packets, and the
 * cover of its own. A collector that was killed may have left a cover over more than the database says: what the sum of
 * those packets was is not known.
 */
static bool was_changed(const char *path, const struct model_stream *s)
{
    struct trace_reader *r;
    struct packet_header h;
    struct cover c;
    const uint8_t *packet;
    uint64_t sum = s->expired.packets ? s->expired.sum : CHECKSUM_START;
    if (cover_check(path, &c) < 0 || trace_reader_open(path, &r) != 0)
        return true;
    while (r->at.bytes < s->saved.bytes && trace_reader_next(r, &h, &packet) > 0)
        sum = checksum_add(sum, packet, h.size_bytes);
    bool known = r->expired->packets <= s->expired.packets;
    bool is = r->at.bytes < s->saved.bytes || (known && (r->at.bytes != s->saved.bytes || sum != s->saved.sum));
    trace_reader_close(r);
    return is;
}

static const char fault_gone[] = "is gone or was cut off", fault_changed[] = "was changed since it was stored";

/* What is wrong with the file of a stream; NULL: nothing that was looked for. Reads no more than *most bytes. */
static const char *fault_of(const char *run, const struct model_process *p, uint32_t ring, uint64_t *most)
{
    char path[PATH_MAX];
    struct stat st;
    const struct model_stream *s = p->streams[ring];
    const struct model_file file = model_file(p, ring);
    if (!s || s->saved.bytes == 0 ||
        snprintf(path, sizeof path, "%s/trace/%s/%s", run, p->node->dir, file.name) >= (int)sizeof path)
        return NULL;
    uint64_t size = lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    if (size < s->saved.bytes)
        return fault_gone;
    uint64_t kept = s->saved.bytes > s->expired.bytes ? s->saved.bytes - s->expired.bytes : 0;
    if (kept > *most)
        return NULL;
    *most -= kept;
    return was_changed(path, s) ? fault_changed : NULL;
}

static void tell(const struct model_process *p, uint32_t ring, const char *fault)
{
    const struct model_file file = model_file(p, ring);
    const struct model_stream *s = p->streams[ring];
    log_warn("BEZEL-READ-MISSING", "trace/%s/%s %s: it had %" PRIu64 " bytes; %s; see 'bezel verify'", p->node->dir,
             file.name, fault, s->saved.bytes,
             fault == fault_gone ? "what is lacking is not read" : "what is read of it may be wrong");
}

uint64_t run_missing(const char *run, const struct record_filter *filter, uint64_t most, bool tells)
{
    static _Thread_local char told_of[PATH_MAX]; /* a command reads a run several times */
    int err;
    uint64_t missing = 0, told = tells && strcmp(told_of, run) != 0 ? RUN_MISSING_TOLD : 0;
    struct model *m = run_streams_load(run, true, &err);
    for (const struct model_node *node = m ? m->nodes : NULL; node; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            for (uint32_t ring = 0; ring < p->ring_count; ring++) {
                bool wanted = record_filter_takes(filter->node, node->name) && record_filter_takes_process(filter, p);
                const char *fault = wanted ? fault_of(run, p, ring, &most) : NULL;
                if (fault && missing++ < told)
                    tell(p, ring, fault);
            }
    model_free(m);
    if (tells && missing > 0)
        snprintf(told_of, sizeof told_of, "%s", run);
    return missing;
}

bool run_changed(const char *run, uint64_t most)
{
    char path[PATH_MAX];
    struct stat st;
    struct rundb *f;
    bool fits = snprintf(path, sizeof path, "%s/run.db", run) < (int)sizeof path;
    if (!fits || stat(path, &st) != 0 || (uint64_t)st.st_size > most || rundb_open_read(run, &f) != 0)
        return false;
    bool changed = rundb_check_seal(f, true) == RUNDB_BROKEN;
    (void)rundb_close(f);
    return changed;
}
