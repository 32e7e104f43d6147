// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/limit.h"
#include "collector/facts_run.h"
#include "collector/metadata.h"
#include "collector/reader.h"
#include "collector/verify_own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/*
 * The database is read first, all of it at one moment, and the files after it: what a collector appends meanwhile is
 * beyond what the database has, which is as it should be.
 */

enum { METADATA_MAX = 1 << 28 };

const char verify_remedy_restart[] = "a collector that is started on the run mends it: bezel-collector --run DIR ...";
const char verify_remedy_foreign[] = "move it out of the run directory";

void verify_tell(struct verify *v, const struct verify_finding *finding)
{
    if (finding->is == VERIFY_DAMAGED)
        v->totals.damaged++;
    else if (finding->is == VERIFY_INCOMPLETE)
        v->totals.incomplete++;
    v->tell(finding, v->context);
}

enum verify_is verify_is(const struct verify *v)
{
    return v->totals.damaged ? VERIFY_DAMAGED : v->totals.incomplete ? VERIFY_INCOMPLETE : VERIFY_COMPLETE;
}

static BEZEL_PRINTF(5, 6) void tell(struct verify *v, const char *code, const char *file, const char *remedy,
                                    const char *format, ...)
{
    char text[16384 + 256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    verify_tell(
        v, &(struct verify_finding){.is = VERIFY_DAMAGED, .code = code, .file = file, .text = text, .remedy = remedy});
}

/* The collector holds a lock on the directory. It is tried for no longer than it takes. */
bool verify_is_served(const char *run)
{
    int fd = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool served = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return served;
}

/* ---- metadata ---------------------------------------------------------------------------------------------------- */

static bool is_stored(const struct model_process *p)
{
    for (size_t ring = 0; ring < PACKET_RINGS_MAX; ring++)
        if (p->streams[ring] && p->streams[ring]->packets)
            return true;
    return false;
}

/* A process's part stands behind that of the process before; looked for from there, all are found in one pass. */
static bool explains(const char *text, const char **from, const struct model_process *p)
{
    char *part;
    size_t n;
    if (metadata_write_process(p, &part, &n) != 0)
        return true;
    const char *at = strstr(*from, part);
    if (!at)
        at = strstr(text, part);
    if (at)
        *from = at + n;
    free(part);
    return at != NULL;
}

/* What a collector writes meanwhile may explain more than the database had. */
static void verify_metadata(struct verify_walk *w, const char *dir)
{
    static const char remedy[] = "a collector that is started on the run writes it anew: bezel-collector --run DIR ...";
    char path[PATH_MAX + 16], file[MESSAGE_NAME_MAX + 48], *text;
    const struct model_process *p = w->node->processes;
    size_t n;
    while (p && !is_stored(p))
        p = p->next;
    if (!p)
        return; /* nothing to explain */
    snprintf(path, sizeof path, "%s/metadata", dir);
    snprintf(file, sizeof file, "trace/%s/metadata", w->node->dir);
    if (file_read_regular(path, METADATA_MAX, &text, &n) != 0) {
        tell(w->v, "metadata", file, remedy, "it cannot be read: %s", strerror(errno));
        return;
    }
    if (strncmp(text, "/* CTF 1.8 */\n", 14) != 0)
        tell(w->v, "metadata", file, remedy, "it does not open as a trace's metadata does");
    const char *from = text;
    for (; p && !w->v->totals.served; p = p->next)
        if (is_stored(p) && !explains(text, &from, p))
            tell(w->v, "metadata", file, remedy, "it does not explain what process %s (%" PRIu32 ") declared", p->name,
                 p->pid);
    free(text);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static int verify_node(struct verify_walk *w, const char *run)
{
    char dir[PATH_MAX];
    if (snprintf(dir, sizeof dir, "%s/trace/%s", run, w->node->dir) >= (int)sizeof dir)
        return BEZEL_EINVAL;
    int err = reader_list(dir, verify_file, w);
    if (err == BEZEL_ENOMEM)
        return err;
    bool unreadable = err && err != BEZEL_ENOENT; /* which of its files are missing nobody knows */
    if (unreadable)
        tell(w->v, "unreadable", w->node->dir, NULL, "the trace of this node cannot be read: %s", strerror(errno));
    else
        verify_missing(w);
    verify_metadata(w, dir);
    for (const struct model_process *p = w->node->processes; p; p = p->next)
        if (p->state == PROCESS_RUNNING && !w->v->totals.served)
            verify_unknown(w, p);
    return 0;
}

static bool is_known(const struct model *m, const char *name)
{
    for (const struct model_node *node = m->nodes; node; node = node->next)
        if (strcmp(node->dir, name) == 0)
            return true;
    return false;
}

/* What is in trace/ beside the nodes. */
static void verify_strangers(struct verify *v, const char *run, const struct model *m)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/trace", run);
    DIR *dir = opendir(path);
    if (!dir)
        return;
    int err;
    for (const struct dirent *e; (e = file_next(dir, &err));) {
        char file[sizeof e->d_name + 8];
        snprintf(file, sizeof file, "trace/%s", e->d_name);
        if (e->d_name[0] != '.' && !is_known(m, e->d_name) && !v->totals.served)
            tell(v, "foreign", file, verify_remedy_foreign, "it is of no node that run.db knows");
    }
    if (err)
        tell(v, "unreadable", "trace", NULL, "whether it holds anything else cannot be read: %s", strerror(errno));
    closedir(dir);
}

/* ---- database ---------------------------------------------------------------------------------------------------- */

static void verify_stored(struct verify *v, struct facts *f, const struct model_process *p)
{
    uint64_t stored = 0, saved;
    for (size_t ring = 0; ring < PACKET_RINGS_MAX; ring++)
        if (p->streams[ring] && (p->streams[ring]->behind || p->streams[ring]->bytes != p->streams[ring]->saved.bytes))
            return; /* told already, or being written */
    for (uint32_t aspect = 1; aspect <= p->dict->aspect_count; aspect++)
        stored += p->counts[aspect].stored;
    int err = facts_stored(f, p, &saved);
    if (err)
        tell(v, "database", "run.db", NULL, "the books of %s cannot be read: %s", p->name, limit_reason(err));
    else if (saved != stored)
        tell(v, "other-counts", "run.db", NULL,
             "the books of %s (%" PRIu32 ") say that %" PRIu64 " records are stored; its files hold %" PRIu64, p->name,
             p->pid, saved, stored);
}

static void verify_told(struct verify *v, struct facts *f)
{
    char text[16384];
    if (facts_get(f, FACTS_DAMAGED, text, sizeof text) == 0)
        tell(v, "was-damaged", "run.db", NULL, "a collector that was started on the run found: %s", text);
}

static int verify_loaded(struct verify *v, const char *run, struct facts *f, struct model *m)
{
    struct verify_walk w = {.v = v, .model = m};
    int err = 0;
    for (w.node = m->nodes; w.node && !err; w.node = w.node->next)
        err = verify_node(&w, run);
    verify_strangers(v, run, m);
    verify_told(v, f);
    for (const struct model_node *node = m->nodes; node && !err; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            verify_stored(v, f, p);
    v->totals.nodes = m->totals.nodes;
    v->totals.processes = m->totals.processes;
    v->totals.streams = m->totals.streams;
    v->totals.packets = m->totals.packets;
    v->totals.records = m->totals.records;
    v->totals.lost = m->totals.discarded;
    v->totals.bytes = m->totals.bytes;
    return err;
}

int verify_run(struct verify *v, const char *run)
{
    v->totals.served = verify_is_served(run);
    struct facts *f = NULL;
    struct model *m = model_new("");
    int err = m ? facts_open_read(run, &f) : BEZEL_ENOMEM;
    if (!err)
        err = facts_check(f);
    if (!err)
        err = facts_load(f, m);
    if (!err)
        err = facts_load_streams(f, m);
    if (!err) {
        err = verify_loaded(v, run, f, m);
    } else if (err != BEZEL_ENOMEM) {
        tell(v, "database", "run.db", NULL, "%s: without it nothing tells what should be there", limit_reason(err));
        err = 0;
    }
    (void)!facts_close(f);
    model_free(m);
    return err;
}
