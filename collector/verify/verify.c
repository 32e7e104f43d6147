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
 * A collector writes the database first of what explains packets (nodes, processes, dictionaries), then the packets,
 * then how many there are. So there is no moment at which a reader could be misled, if it reads in this order:
 *
 * 1. The database, all of it at one moment. What it says is stored was in the files before that.
 * 2. The files. They may have more: what comes behind is not yet in what was read of the database.
 * 3. What a file has and 1 does not explain: the database again. What it does not explain either was there before its
 *    process was, which no collector does.
 *
 * Whether there may be more is no guess: a collector that ends with everything saved notes it in the database
 * (FACTS_FINISHED), and the next one takes the note away before it touches a file. Where the note stands at the first
 * look, and the same one behind a difference, nobody was at work in between, and all must agree to the byte: the rows
 * that the trace makes as well.
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

/* ---- looking again ----------------------------------------------------------------------------------------------- */

bool verify_is_settled(struct verify_walk *w)
{
    char now[sizeof w->v->finished];
    if (w->settled && (facts_refresh(w->facts) < 0 || facts_get(w->facts, FACTS_FINISHED, now, sizeof now) != 0 ||
                       strcmp(now, w->v->finished) != 0)) {
        w->settled = false;
        w->v->finished[0] = '\0';
    }
    return w->settled;
}

struct model_node *verify_look_again(struct verify_walk *w, int *err)
{
    *err = 0;
    if (!w->facts)
        return NULL;
    int changed = facts_refresh(w->facts);
    if (changed != 0 || w->newer_stale || !w->newer) {
        model_free(w->newer);
        w->newer_stale = false;
        w->newer = model_new(w->model->run);
        *err = changed < 0 ? changed : w->newer ? facts_load(w->facts, w->newer) : BEZEL_ENOMEM;
    }
    return *err || !w->node ? NULL : model_find_node(w->newer, w->node->uuid);
}

bool verify_is_left(struct verify_walk *w)
{
    w->v->totals.served = w->v->totals.served || (w->run && verify_is_served(w->run));
    return !w->v->totals.served;
}

/* ---- metadata ---------------------------------------------------------------------------------------------------- */

static bool is_stored(const struct model_process *p)
{
    for (size_t ring = 0; ring < PACKET_RINGS_MAX; ring++)
        if (p->streams[ring] && p->streams[ring]->packets)
            return true;
    return false;
}

/*
 * Compares with what the database says after the file was read: the file was made of what the database had before. It
 * may be late, by what was declared last, while a collector serves, or where one was killed: behind one that finished
 * not.
 */
static int compare_metadata(struct verify_walk *w, const char *file, const char *text, size_t n)
{
    static const char remedy[] = "a collector that is started on the run writes it anew: bezel-collector --run DIR ...";
    int err = 0;
    size_t same;
    const struct model_node *node = w->settled ? w->node : verify_look_again(w, &err);
    int is = node ? metadata_compare(node, text, n, &same) : err;
    if (is == METADATA_SAME || is < 0)
        return is;
    if (verify_is_settled(w) || is == METADATA_OTHER)
        tell(w->v, "metadata", file, remedy, "%s",
             is == METADATA_OTHER ? "its text is not what the database says" : "it lacks what was declared last");
    else if (verify_is_left(w))
        verify_tell(w->v, &(struct verify_finding){.is = VERIFY_INCOMPLETE,
                                                   .code = "late",
                                                   .file = file,
                                                   .text = "it lacks what was declared last: the collector was killed",
                                                   .remedy = remedy});
    return 0;
}

static int verify_metadata(struct verify_walk *w, const char *dir)
{
    static const char remedy[] = "a collector that is started on the run writes it anew: bezel-collector --run DIR ...";
    char path[PATH_MAX + 16], file[MESSAGE_NAME_MAX + 48], *text;
    const struct model_process *p = w->node->processes;
    size_t n;
    while (p && !is_stored(p))
        p = p->next;
    snprintf(path, sizeof path, "%s/metadata", dir);
    snprintf(file, sizeof file, "trace/%s/metadata", w->node->dir);
    int err = file_read_plain(path, READER_PLAIN, METADATA_MAX, &text, &n);
    if (err == BEZEL_ENOENT && !p)
        return 0; /* nothing to explain */
    if (err && err != BEZEL_ENOMEM)
        tell(w->v, "metadata", file, remedy, "it cannot be read: %s",
             errno == EINVAL ? "it is no regular file" : strerror(errno));
    if (err)
        return err == BEZEL_ENOMEM ? err : 0;
    err = compare_metadata(w, file, text, n);
    free(text);
    return err;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static int verify_node(struct verify_walk *w)
{
    char dir[PATH_MAX];
    if (snprintf(dir, sizeof dir, "%s/trace/%s", w->run, w->node->dir) >= (int)sizeof dir)
        return BEZEL_EINVAL;
    int err = reader_list(dir, verify_file, w);
    if (err == BEZEL_ENOMEM)
        return err;
    bool unreadable = err && err != BEZEL_ENOENT; /* which of its files are missing nobody knows */
    if (unreadable)
        tell(w->v, "unreadable", w->node->dir, NULL, "the trace of this node cannot be read: %s",
             errno == ELOOP ? "a symbolic link leads to it" : strerror(errno));
    else
        verify_missing(w);
    err = verify_metadata(w, dir);
    for (const struct model_process *p = w->node->processes; p && !err; p = p->next)
        if (p->state == PROCESS_RUNNING && verify_is_left(w))
            verify_unknown(w, p);
    return err;
}

static bool is_known(const struct model *m, const char *name)
{
    for (const struct model_node *node = m->nodes; node; node = node->next)
        if (strcmp(node->dir, name) == 0)
            return true;
    return false;
}

/* What is in trace/ beside the nodes; one that came meanwhile is in the database, which is asked again for it. */
static int verify_strangers(struct verify_walk *w)
{
    char path[PATH_MAX];
    int err = 0, read_err = 0;
    snprintf(path, sizeof path, "%s/trace", w->run);
    DIR *dir = file_open_dir(path, 1);
    if (!dir && errno != ENOENT)
        tell(w->v, "unreadable", "trace", NULL, "it cannot be read: %s",
             errno == ELOOP ? "a symbolic link leads to it" : strerror(errno));
    for (const struct dirent *e; dir && !err && (e = file_next(dir, &read_err));) {
        char file[sizeof e->d_name + 8];
        snprintf(file, sizeof file, "trace/%s", e->d_name);
        if (e->d_name[0] == '.' || is_known(w->model, e->d_name))
            continue;
        (void)verify_look_again(w, &err);
        if (!err && !is_known(w->newer, e->d_name))
            tell(w->v, "foreign", file, verify_remedy_foreign, "it is of no node that run.db knows");
    }
    if (read_err)
        tell(w->v, "unreadable", "trace", NULL, "whether it holds anything else cannot be read: %s", strerror(errno));
    if (dir)
        closedir(dir);
    return err;
}

/* ---- database ---------------------------------------------------------------------------------------------------- */

static void verify_stored(struct verify *v, const struct model_process *p)
{
    uint64_t stored = 0;
    for (size_t ring = 0; ring < PACKET_RINGS_MAX; ring++)
        if (p->streams[ring] && (p->streams[ring]->behind || p->streams[ring]->bytes != p->streams[ring]->saved.bytes))
            return; /* told already, or being written */
    for (uint32_t aspect = 1; aspect <= p->dict->aspect_count; aspect++)
        stored += p->counts[aspect].stored;
    if (p->saved_stored != stored)
        tell(v, "other-counts", "run.db", NULL,
             "the books of %s (%" PRIu32 ") say that %" PRIu64 " records are stored; its files hold %" PRIu64, p->name,
             p->pid, p->saved_stored, stored);
}

static void verify_told(struct verify *v, struct facts *f)
{
    char text[16384];
    if (facts_get(f, FACTS_DAMAGED, text, sizeof text) == 0)
        tell(v, "was-damaged", "run.db", NULL, "a collector that was started on the run found: %s", text);
}

/* Compares what the trace makes of the database with what is there. Where a file is damaged, that is what differs. */
static int verify_rows(struct verify_walk *w)
{
    char text[512];
    int err = 0;
    if (!w->rows || w->v->totals.damaged > 0 || !verify_is_settled(w))
        return 0;
    for (const struct model_node *node = w->model->nodes; node; node = node->next)
        for (const struct model_process *p = node->processes; p && !err; p = p->next)
            err = facts_save_process(w->rows, p);
    if (!err)
        err = facts_compare(w->facts, w->rows, text, sizeof text);
    if (err == 1 && verify_is_settled(w))
        tell(w->v, "other-rows", "run.db", NULL, "%s", text);
    return err == 1 ? 0 : err;
}

static void take_totals(struct verify_totals *t, const struct model_totals *m)
{
    t->nodes = m->nodes;
    t->processes = m->processes;
    t->streams = m->streams;
    t->packets = m->packets;
    t->records = m->records;
    t->lost = m->discarded;
    t->bytes = m->bytes;
}

static int verify_loaded(struct verify_walk *w)
{
    struct model *m = w->model;
    int err = 0;
    for (w->node = m->nodes; w->node && !err; w->node = w->node->next)
        err = verify_node(w);
    w->node = NULL;
    if (!err)
        err = verify_strangers(w);
    verify_told(w->v, w->facts);
    for (const struct model_node *node = m->nodes; node && !err; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            verify_stored(w->v, p);
    if (!err)
        err = verify_rows(w);
    if (!err && !verify_is_settled(w) && verify_is_left(w))
        verify_tell(w->v, &(struct verify_finding){.is = VERIFY_INCOMPLETE,
                                                   .code = "interrupted",
                                                   .file = "run.db",
                                                   .text = "the collector was killed: run.db may have less than the "
                                                           "files, and the nodes may hold what was not stored",
                                                   .remedy = verify_remedy_restart});
    take_totals(&w->v->totals, &m->totals);
    return err;
}

static int load(struct verify_walk *w)
{
    struct verify *v = w->v;
    int err = facts_open_read(w->run, &w->facts);
    if (!err)
        err = facts_check(w->facts);
    if (!err)
        err = facts_load(w->facts, w->model);
    if (!err)
        err = facts_load_streams(w->facts, w->model);
    if (err)
        return err;
    if (facts_get(w->facts, "run", w->model->run, sizeof w->model->run) != 0)
        w->model->run[0] = '\0';
    if (facts_get(w->facts, FACTS_FINISHED, v->finished, sizeof v->finished) != 0)
        v->finished[0] = '\0';
    w->settled = v->finished[0] != '\0';
    return w->settled ? facts_open_scratch(&w->rows) : 0;
}

/* Whether nothing is stored: no node has a folder. */
static bool has_no_trace(const char *run)
{
    char path[PATH_MAX];
    bool none = true;
    snprintf(path, sizeof path, "%s/trace", run);
    DIR *dir = file_open_dir(path, 1);
    if (!dir)
        return errno == ENOENT;
    for (const struct dirent *e; (e = readdir(dir));)
        none = none && e->d_name[0] == '.';
    closedir(dir);
    return none;
}

/* A run has its database before it has anything else: one that has neither has only begun. */
static void tell_unread(struct verify_walk *w, int err)
{
    if (err == BEZEL_EBUSY || (err == BEZEL_ENOENT && has_no_trace(w->run)))
        verify_tell(w->v, &(struct verify_finding){.is = VERIFY_INCOMPLETE,
                                                   .code = err == BEZEL_EBUSY ? "busy" : "begun",
                                                   .file = "run.db",
                                                   .text = err == BEZEL_EBUSY
                                                               ? "somebody else has locked it: nothing is known"
                                                               : "the run has neither a database nor a trace yet"});
    else
        tell(w->v, "database", "run.db", NULL, "%s: without it nothing tells what should be there", facts_why(err));
}

int verify_run(struct verify *v, const char *run)
{
    struct verify_walk w = {.v = v, .run = run, .model = model_new("")};
    v->totals.served = verify_is_served(run);
    int err = w.model ? load(&w) : BEZEL_ENOMEM;
    if (!err) {
        err = verify_loaded(&w);
    } else if (err != BEZEL_ENOMEM && !w.settled) {
        tell_unread(&w, err);
        err = 0;
    }
    (void)!facts_close(w.facts);
    (void)!facts_close(w.rows);
    model_free(w.newer);
    model_free(w.model);
    return err;
}
