// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/folder_lock.h"
#include "base/ulimit.h"
#include "run/rundb/rundb_live.h"
#include "run/rundb/rundb_sections.h"
#include "run/store/metadata.h"
#include "run/store/mirror_state.h"
#include "run/store/trace_reader.h"
#include "run/verify/verify_internal.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A collector first commits the rows that explain packets (nodes, processes, dictionaries), then stores the packets,
 * then saves how many there are. A reader is therefore never misled if it reads in this order:
 *
 * 1. The database, in one transaction. Everything that it counts as stored was in the files before.
 * 2. The files. They may have more packets, stored after step 1.
 * 3. For a packet that step 1 does not explain: the database again. If that does not explain it either, the packet was
 *    stored before its process's row, which no collector does.
 *
 * A collector that ends with everything saved sets RUNDB_FINISHED in the database; the next one clears it before it
 * touches a file. So if step 1 finds it set, and it has the same value after a difference was found, no collector has
 * worked in between. Then files and database must agree to the byte, and so must the rows that are made from the trace.
 */

enum { METADATA_MAX = 1 << 28 };

/* The path of the run is added to commands. */
const char verify_remedy_restart[] = "start a collector on the run, which repairs it: bezel-collector --run";
static const char remedy_metadata[] = "start a collector on the run, which writes it anew: bezel-collector --run";
const char verify_remedy_foreign[] = "move it out of the run directory";

/*
 * Whether a mirror that is not complete explains a finding. Its database counts bytes that are still to come, as long
 * as it lacks RUNDB_FINISHED, which comes last; and no collector can repair what was not sent.
 */
static bool is_still_to_come(const struct verify_report *f)
{
    static const char *const codes[] = {"truncated", "missing", "experiment", "metadata", "late", "unsaved", "torn"};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (strcmp(f->code, codes[i]) == 0)
            return true;
    return false;
}

void verify_add(struct verify *v, const struct verify_report *finding)
{
    struct verify_report whole = *finding;
    char remedy[PATH_MAX + 128];
    if (v->partial && !v->finished[0] && is_still_to_come(finding)) {
        whole.is = VERIFY_INCOMPLETE;
        whole.remedy = NULL;
    }
    if (whole.is == VERIFY_DAMAGED)
        v->totals.damaged++;
    else if (whole.is == VERIFY_INCOMPLETE)
        v->totals.incomplete++;
    if (whole.remedy && v->run && finding->remedy != verify_remedy_foreign) {
        snprintf(remedy, sizeof remedy, "%s %s", finding->remedy, v->run);
        whole.remedy = remedy;
    }
    v->report(&whole, v->context);
}

enum verify_is verify_is(const struct verify *v)
{
    return v->totals.damaged ? VERIFY_DAMAGED : v->totals.incomplete ? VERIFY_INCOMPLETE : VERIFY_COMPLETE;
}

static BEZEL_PRINTF(6, 7) void report(struct verify *v, enum verify_is is, const char *code, const char *file,
                                      const char *remedy, const char *format, ...)
{
    char text[16384 + 256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    verify_add(v, &(struct verify_report){.is = is, .code = code, .file = file, .text = text, .remedy = remedy});
}

/* ---- looking again ----------------------------------------------------------------------------------------------- */

bool verify_is_settled(struct verify_walk *w)
{
    char now[sizeof w->v->finished];
    if (w->settled && (rundb_refresh(w->rundb) < 0 || rundb_get(w->rundb, RUNDB_FINISHED, now, sizeof now) != 0 ||
                       strcmp(now, w->v->finished) != 0)) {
        w->settled = false;
        w->v->finished[0] = '\0';
    }
    return w->settled;
}

struct model_node *verify_look_again(struct verify_walk *w, int *err)
{
    *err = 0;
    if (!w->rundb)
        return NULL;
    int changed = rundb_refresh(w->rundb);
    if (changed != 0 || w->newer_stale || !w->newer) {
        model_free(w->newer);
        w->newer_stale = false;
        w->newer = model_new(w->model->run);
        *err = changed < 0 ? changed : w->newer ? rundb_load(w->rundb, w->newer) : BEZEL_ENOMEM;
    }
    return *err || !w->node ? NULL : model_find_node(w->newer, w->node->uuid);
}

bool verify_is_left(struct verify_walk *w)
{
    w->v->totals.served = w->v->totals.served || (w->run && folder_is_held(w->run));
    return !w->v->totals.served;
}

/* ---- metadata ---------------------------------------------------------------------------------------------------- */

static bool is_stored(const struct model_process *p)
{
    for (uint32_t ring = 0; ring < p->ring_count; ring++)
        if (p->streams[ring] && p->streams[ring]->packets)
            return true;
    return false;
}

/*
 * Compares with the database as it is after the file was read, because the file was made from an earlier state of it.
 * While a collector serves, and after one was killed, the file may lack the latest declarations; after one that
 * finished it may not.
 */
static int compare_metadata(struct verify_walk *w, const char *file, const char *text, size_t n)
{
    int err = 0;
    size_t same;
    const struct model_node *node = w->settled ? w->node : verify_look_again(w, &err);
    if (node)
        node->model->clocks_last = verify_is_settled(w);
    int is = node ? metadata_compare(node, text, n, &same) : err;
    if (is == METADATA_SAME || is < 0)
        return is;
    if (verify_is_settled(w) || is == METADATA_OTHER)
        report(w->v, VERIFY_DAMAGED, "metadata", file, remedy_metadata, "%s",
               is == METADATA_OTHER ? "its text differs from the declarations in run.db"
                                    : "the latest declarations are missing");
    else if (verify_is_left(w))
        report(w->v, VERIFY_INCOMPLETE, "late", file, remedy_metadata,
               "the latest declarations are missing: the collector was killed");
    return 0;
}

static int verify_metadata(struct verify_walk *w, const char *dir)
{
    char path[PATH_MAX + 16], file[MESSAGE_NAME_MAX + 48], *text;
    const struct model_process *p = w->node->processes;
    size_t n;
    while (p && !is_stored(p))
        p = p->next;
    snprintf(path, sizeof path, "%s/metadata", dir);
    snprintf(file, sizeof file, "trace/%s/metadata", w->node->dir);
    int err = file_read_plain(path, TRACE_READER_PLAIN, METADATA_MAX, &text, &n);
    if (err == BEZEL_ENOENT && !p)
        return 0; /* no packet needs it */
    if (err && err != BEZEL_ENOMEM)
        report(w->v, VERIFY_DAMAGED, "metadata", file, remedy_metadata, "it cannot be read: %s",
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
    int err = trace_reader_list(dir, verify_file, w);
    if (err == BEZEL_ENOMEM)
        return err;
    bool unreadable = err && err != BEZEL_ENOENT; /* its missing files cannot be known then */
    if (unreadable)
        report(w->v, VERIFY_DAMAGED, "unreadable", w->node->dir, NULL, "the trace of this node cannot be read: %s",
               errno == ELOOP ? "a symbolic link leads to it" : strerror(errno));
    else
        verify_missing(w);
    err = verify_metadata(w, dir);
    for (const struct model_process *p = w->node->processes; p && !err; p = p->next)
        if (p->state == PROCESS_RUNNING && verify_is_left(w))
            verify_unknown(w, p);
    return err;
}

/* Reports entries of trace/ that are no node's folder. For a node that came meanwhile the database is read again. */
static int verify_foreign(struct verify_walk *w)
{
    char path[PATH_MAX];
    int err = 0, read_err = 0;
    snprintf(path, sizeof path, "%s/trace", w->run);
    DIR *dir = file_open_dir(path, 1);
    if (!dir && errno != ENOENT)
        report(w->v, VERIFY_DAMAGED, "unreadable", "trace", NULL, "it cannot be read: %s",
               errno == ELOOP ? "a symbolic link leads to it" : strerror(errno));
    for (const struct dirent *e; dir && !err && (e = file_next(dir, &read_err));) {
        char file[sizeof e->d_name + 8];
        snprintf(file, sizeof file, "trace/%s", e->d_name);
        if (e->d_name[0] == '.' || model_has_dir(w->model, e->d_name))
            continue;
        (void)verify_look_again(w, &err);
        if (!err && !model_has_dir(w->newer, e->d_name))
            report(w->v, VERIFY_DAMAGED, "foreign", file, verify_remedy_foreign, "it belongs to no node in run.db");
    }
    if (read_err)
        report(w->v, VERIFY_DAMAGED, "unreadable", "trace", NULL, "its list of files could not be read to the end: %s",
               strerror(errno));
    if (dir)
        closedir(dir);
    return err;
}

/* ---- database ---------------------------------------------------------------------------------------------------- */

static void verify_stored(struct verify *v, const struct model_process *p)
{
    uint64_t stored = 0;
    for (uint32_t ring = 0; ring < p->ring_count; ring++)
        if (p->streams[ring] && (p->streams[ring]->behind || p->streams[ring]->bytes != p->streams[ring]->saved.bytes))
            return; /* reported already, or being written */
    for (uint32_t aspect = 1; aspect <= p->dict->aspect_count; aspect++)
        stored += p->counts[aspect].stored;
    if (p->saved_stored != stored)
        report(v, VERIFY_DAMAGED, "other-counts", "run.db", NULL,
               "the books of %s (pid %" PRIu32 ") count %" PRIu64 " stored records; its files hold %" PRIu64, p->name,
               p->pid, p->saved_stored, stored);
}

static void verify_recovered(struct verify *v, struct rundb *f)
{
    char text[16384];
    if (rundb_get(f, RUNDB_DAMAGED, text, sizeof text) == 0)
        report(v, VERIFY_DAMAGED, "was-damaged", "run.db", NULL, "when a collector recovered the run, it found: %s",
               text);
}

/* Compares the rows made from the trace with the database, unless damage was found, which explains differences. */
static int verify_rows(struct verify_walk *w)
{
    char text[512];
    int err = 0;
    if (!w->rows || w->v->totals.damaged > 0 || !verify_is_settled(w))
        return 0;
    for (const struct model_node *node = w->model->nodes; node; node = node->next)
        for (const struct model_process *p = node->processes; p && !err; p = p->next)
            err = rundb_save_process(w->rows, p, RUNDB_ALL);
    if (!err)
        err = rundb_compare(w->rundb, w->rows, text, sizeof text);
    if (err == 1 && verify_is_settled(w))
        report(w->v, VERIFY_DAMAGED, "other-rows", "run.db", NULL, "%s", text);
    return err == 1 ? 0 : err;
}

/* What its threads lost without a ring is in its books alone. */
static uint64_t count_ringless(const struct model_process *p)
{
    uint64_t sum = 0;
    for (uint32_t aspect = 0; p->role == ROLE_SUT && p->counts && aspect <= DICT_ASPECTS_MAX; aspect++)
        sum += p->counts[aspect].no_ring;
    return sum;
}

static void take_totals(struct verify_totals *t, const struct model_totals *m)
{
    t->nodes = m->nodes;
    t->processes = m->processes;
    t->streams = m->streams;
    t->packets = m->packets;
    t->own_records = m->own_records;
    t->records = m->records - m->own_records;
    t->own_lost = m->own_discarded;
    t->lost = m->discarded - m->own_discarded;
    t->bytes = m->bytes;
    t->expired = m->expired;
    t->expired_records = m->expired_records;
    t->expired_bytes = m->expired_bytes;
}

/* The rows that the trace does not prove are those that the last writer sealed, unless damage explains differences. */
static int verify_seal(struct verify_walk *w)
{
    if (w->v->totals.damaged > 0 || !verify_is_settled(w))
        return 0;
    int is = rundb_check_seal(w->rundb, false);
    if (is == RUNDB_BROKEN)
        report(w->v, VERIFY_DAMAGED, "seal", "run.db", NULL,
               "its rows were changed since the run was finished: their checksum differs");
    else if (is == RUNDB_UNSEALED)
        report(w->v, VERIFY_INCOMPLETE, "unsealed", "run.db", verify_remedy_restart,
               "its last writer has left no checksum of its rows: what the trace does not prove of them cannot be "
               "checked");
    return is < 0 ? is : 0;
}

/* Reports read limits and settings from the file again. Runs of former versions have no checksum of it. */
static void verify_experiment(struct verify_walk *w)
{
    char stored[RUNDB_EXPERIMENT_MAX], found[RUNDB_EXPERIMENT_MAX];
    if (rundb_get(w->rundb, RUNDB_EXPERIMENT, stored, sizeof stored) != 0)
        return;
    int err = rundb_sum_experiment(w->run, found);
    if (err)
        report(w->v, VERIFY_DAMAGED, "experiment", "experiment.yaml", NULL, "it cannot be read: %s",
               errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    else if (strcmp(stored, found) != 0)
        report(w->v, VERIFY_DAMAGED, "experiment", "experiment.yaml", NULL,
               "it was changed since the run began: reports would judge by other limits");
}

static int verify_loaded(struct verify_walk *w)
{
    struct model *m = w->model;
    int err = 0;
    for (w->node = m->nodes; w->node && !err; w->node = w->node->next)
        err = verify_node(w);
    w->node = NULL;
    if (!err)
        err = verify_foreign(w);
    verify_recovered(w->v, w->rundb);
    verify_experiment(w);
    for (const struct model_node *node = m->nodes; node && !err; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next) {
            verify_stored(w->v, p);
            w->v->totals.ringless += count_ringless(p);
        }
    if (!err)
        err = verify_rows(w);
    if (!err)
        err = verify_seal(w);
    if (!err && !verify_is_settled(w) && verify_is_left(w) && !w->v->partial)
        report(w->v, VERIFY_INCOMPLETE, "interrupted", "run.db", verify_remedy_restart,
               "the collector was killed: run.db may lack packets that the files have, and nodes may hold packets that "
               "were not stored");
    take_totals(&w->v->totals, &m->totals);
    return err;
}

static int load(struct verify_walk *w)
{
    struct verify *v = w->v;
    int err = rundb_open_read(w->run, &w->rundb);
    if (!err)
        err = rundb_check(w->rundb);
    if (!err)
        err = rundb_load(w->rundb, w->model);
    if (!err)
        err = rundb_load_streams(w->rundb, w->model);
    if (!err)
        err = rundb_load_expired(w->rundb, w->model);
    if (err)
        return err;
    if (rundb_get(w->rundb, "run", w->model->run, sizeof w->model->run) != 0)
        w->model->run[0] = '\0';
    if (rundb_get(w->rundb, RUNDB_FINISHED, v->finished, sizeof v->finished) != 0)
        v->finished[0] = '\0';
    w->settled = v->finished[0] != '\0';
    err = w->settled ? rundb_open_scratch(&w->rows) : 0;
    return err || !w->settled ? err : rundb_copy_expired(w->rundb, w->rows);
}

/* Whether nothing is stored: trace/ has no folder. */
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

/* A run gets its database first: one with neither database nor trace has only begun. */
static void report_unread(struct verify_walk *w, int err)
{
    if (err == BEZEL_EBUSY)
        report(w->v, VERIFY_INCOMPLETE, "busy", "run.db", NULL, "the run cannot be verified now: %s", rundb_why(err));
    else if (err == BEZEL_ENOENT && has_no_trace(w->run))
        report(w->v, VERIFY_INCOMPLETE, "begun", "run.db", NULL, "the run has neither a database nor a trace yet");
    else
        report(w->v, VERIFY_DAMAGED, "database", "run.db", NULL, "%s: without it the trace cannot be checked",
               rundb_why(err));
}

int verify_run(struct verify *v, const char *run)
{
    v->run = run;
    struct verify_walk w = {.v = v, .run = run, .model = model_new("")};
    struct mirror_look mirror;
    mirror_state_look(run, &mirror);
    v->partial = mirror.partial;
    v->totals.served = folder_is_held(run);
    if (mirror.text[0])
        report(v, VERIFY_INCOMPLETE, "mirror", MIRROR_STATE_FILE, NULL, "%.*s", (int)strlen(mirror.text) - 1,
               mirror.text);
    int err = w.model ? load(&w) : BEZEL_ENOMEM;
    if (!err) {
        err = verify_loaded(&w);
    } else if (err != BEZEL_ENOMEM && !w.settled) {
        report_unread(&w, err);
        err = 0;
    }
    (void)!rundb_close(w.rundb);
    (void)!rundb_close(w.rows);
    model_free(w.newer);
    model_free(w.model);
    return err;
}
