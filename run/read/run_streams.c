// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/run_streams.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/saturate.h"
#include "run/rundb/rundb_live.h"
#include "run/rundb/rundb_sections.h"
#include "run/store/trace_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/*
 * Exchanges of times, where a clock is another one, and names of threads are read again after so many looks; the more
 * processes there are, which are read too, the later.
 */
enum { KNOWLEDGE_LOOKS = 8, KNOWLEDGE_LOOK_PROCESSES = 128 };

enum { FOLDERS_MAX = 4096 }; /* below trace/; an experiment has up to 1,024 nodes, some of them with several traces */

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* A run whose database lacks it, or has it empty, goes on. */
static int load_finished(struct rundb *f, struct model *m)
{
    char text[32] = "";
    int err = rundb_get(f, RUNDB_FINISHED, text, sizeof text);
    m->finished = saturate_ns(strtoll(text, NULL, 10));
    return err == BEZEL_ENOENT ? 0 : err;
}

struct model *run_streams_load(const char *run, bool streams, int *err)
{
    struct rundb *f;
    struct model *m = model_new("");
    *err = m ? rundb_open_read(run, &f) : BEZEL_ENOMEM;
    if (!*err) {
        m->uncounted = true;
        *err = rundb_get(f, "run", m->run, sizeof m->run);
        if (!*err || *err == BEZEL_ENOENT)
            *err = rundb_load(f, m);
        if (!*err && streams)
            *err = rundb_load_streams(f, m);
        if (!*err && streams)
            *err = rundb_note_expired(f, m);
        if (!*err)
            *err = load_finished(f, m);
        (void)!rundb_close(f);
    }
    if (!*err) {
        m->clocks_last = true; /* as far as there are */
        return m;
    }
    model_free(m);
    return NULL;
}

int run_streams_init(struct run_streams *s, const char *run, const struct run_streams_owner *owner)
{
    int err = 0;
    s->owner = *owner;
    if (snprintf(s->run, sizeof s->run, "%s", run) >= (int)sizeof s->run)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    s->model = run_streams_load(run, false, &err);
    return err;
}

void run_streams_fini(struct run_streams *s)
{
    free(s->folders);
    free(s->known.slots);
    model_free(s->model);
    s->folders = NULL;
    s->known.slots = NULL;
    s->model = NULL;
}

/*
 * Whether the dictionaries of `m` go on where those before end. Records that were decoded by the older ones are still
 * to be given.
 */
static bool goes_on(const struct model *before, const struct model *m)
{
    for (const struct model_node *node = before->nodes; node; node = node->next) {
        const struct model_node *now = model_find_node(m, node->uuid);
        for (const struct model_process *p = now ? node->processes : NULL; p; p = p->next) {
            const struct model_process *newer = model_find_process(now, p->instance);
            if (newer && (newer->dict->aspect_count < p->dict->aspect_count ||
                          memcmp(newer->dict->field_counts, p->dict->field_counts, p->dict->aspect_count + 1) != 0))
                return false;
        }
    }
    return true;
}

int run_streams_renew(void *streams)
{
    struct run_streams *s = streams;
    int err;
    if (s->renewals == RUN_STREAMS_RENEWALS)
        return 0;
    struct model *before = s->model, *m = run_streams_load(s->run, false, &err);
    if (!m)
        return err;
    s->renewals++;
    s->renewed_at = s->looks;
    /* A database only grows: one that lacks something is another one, and nothing of the old one would be right. */
    if (!goes_on(before, m)) {
        model_free(m);
        return BEZEL_EMALFORMED;
    }
    if (!s->owner.move(s->owner.context, m)) {
        bool restored = s->owner.move(s->owner.context, before);
        model_free(m);
        return restored ? BEZEL_EMALFORMED : BEZEL_ENOENT;
    }
    model_free(before);
    s->model = m;
    s->age++;
    return 0;
}

/*
 * Reads the names of threads again: they follow the first records. Without them threads have their ids. The model gets
 * another age where there are more, as its copies (pages) lack them.
 */
static void renew_names(struct run_streams *s)
{
    struct rundb *f;
    if (rundb_open_read(s->run, &f) != 0)
        return;
    s->renewed_at = s->looks;
    size_t before = s->model->thread_names;
    (void)!rundb_load_threads(f, s->model);
    s->age += s->model->thread_names != before;
    (void)!rundb_close(f);
}

/* Reads again what becomes known while the run goes on, once in a while. */
static int renew_knowledge(struct run_streams *s)
{
    uint64_t processes = 0;
    bool others = false;
    for (const struct model_node *node = s->model->nodes; node; node = node->next) {
        others = others || node->run_clock.kind != RUN_CLOCK_SAME;
        for (const struct model_process *p = node->processes; p; p = p->next)
            processes++;
    }
    if (s->looks - s->renewed_at < KNOWLEDGE_LOOKS + processes / KNOWLEDGE_LOOK_PROCESSES)
        return 0;
    if (others)
        return run_streams_renew(s);
    if (!s->model->finished)
        renew_names(s);
    return 0;
}

/* ---- files that were found --------------------------------------------------------------------------------------- */

static uint64_t path_hash(const char *path)
{
    return hash_fnv64(HASH_FNV64_START, path, strlen(path));
}

static bool is_known(const struct run_streams *s, const char *path)
{
    return hash_index_find(&s->known, path_hash(path), HASH_INDEX_NO_RING) >= 0;
}

static int add_known(struct run_streams *s, const char *path)
{
    return grow_index_put(&s->known, &s->known_count, path_hash(path), HASH_INDEX_NO_RING, 0) ? 0 : BEZEL_ENOMEM;
}

/* ---- a stream ---------------------------------------------------------------------------------------------------- */

/* Reads the header of the first packet, or of the cover of what expired. Returns 1; 0 if the file has no complete
 * one yet; or an error. */
static int read_first(const char *path, struct packet_header *h)
{
    uint8_t header[PACKET_HEADER_BYTES];
    struct trace_part part = {.bytes = header, .fd = -1};
    const uint8_t *bytes;
    int err = trace_part_open(&part, path);
    if (err)
        return err == BEZEL_EMALFORMED ? BEZEL_EINVAL : err;
    ssize_t n = trace_part_read(&part, path, 0, sizeof header, sizeof header, &bytes);
    trace_part_close(&part);
    if (n == BEZEL_EAGAIN)
        return *h = part.cover.header, 1;
    if (n < (ssize_t)sizeof header)
        return n < 0 ? (int)n : 0;
    err = packet_get_header(bytes, sizeof header, h);
    return err && err != BEZEL_EAGAIN ? err : 1;
}

/* The process of a new stream, which the model may have to be loaded anew for; NULL with *err 0: there is none. */
static const struct model_process *find_process(struct run_streams *s, const uint8_t uuid[16], uint64_t instance,
                                                int *err)
{
    const struct model_process *p = NULL;
    *err = 0;
    for (int turn = 0; turn < 2 && !p && !*err; turn++) {
        if (turn == 1)
            *err = run_streams_renew(s);
        const struct model_node *node = *err ? NULL : model_find_node(s->model, uuid);
        p = node ? model_find_process(node, instance) : NULL;
    }
    return p;
}

/* Warns of a file that is not read, or not to its end. */
static void leave_out(struct run_streams *s, const char *path, int err)
{
    if (err == BEZEL_EINVAL)
        log_warn("BEZEL-READ-FOREIGN", "left out %s: it is not a regular file", path);
    else if (err)
        log_warn("BEZEL-READ-DAMAGED", "left out %s: %s at its start", path, err_text(err));
    else
        log_warn("BEZEL-READ-FOREIGN", "left out %s: run.db has no process for it", path);
    s->left_out++;
}

/* A file in a node's folder. */
struct found {
    struct run_streams *s;
    const struct run_streams_folder *folder;
};

static int take_file(const char *path, void *context)
{
    const struct found *found = context;
    struct run_streams *s = found->s;
    struct packet_header h = {0};
    if (is_known(s, path))
        return 0;
    int more = read_first(path, &h), err = 0;
    if (more == 0 || more == BEZEL_ENOENT)
        return 0;
    if (more < 0 && more != BEZEL_EINVAL && more != BEZEL_EMALFORMED && more != BEZEL_EVERSION)
        return more;
    const struct model_process *p = more > 0 ? find_process(s, found->folder->uuid, h.instance, &err) : NULL;
    if (!err)
        err = add_known(s, path);
    if (err)
        return err;
    if (!p)
        leave_out(s, path, more > 0 ? 0 : more);
    err = p ? s->owner.add(s->owner.context, path, p, &h) : 0;
    return err ? err : s->until && clock_now() >= s->until;
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

static struct run_streams_folder *find_folder(struct run_streams *s, const char *name)
{
    for (size_t i = 0; i < s->folder_count; i++)
        if (strcmp(s->folders[i].name, name) == 0)
            return &s->folders[i];
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

static bool is_wanted(const struct run_streams *s, const struct model_node *node)
{
    return !s->owner.wants || s->owner.wants(s->owner.context, node);
}

/* Notes a new entry of trace/. */
static int add_folder(struct run_streams *s, const char *name, const char *path)
{
    if (!grow_list(&s->folders, &s->folder_capacity, s->folder_count, sizeof *s->folders))
        return BEZEL_ENOMEM;
    const struct model_node *node = node_of(s->model, name);
    int err = node ? 0 : run_streams_renew(s);
    if (err)
        return err;
    node = node_of(s->model, name);
    struct run_streams_folder *f = &s->folders[s->folder_count++];
    *f = (struct run_streams_folder){.left_out = !node || !is_wanted(s, node)};
    snprintf(f->name, sizeof f->name, "%s", name);
    if (node)
        memcpy(f->uuid, node->uuid, sizeof f->uuid);
    if (!node || !is_folder(path)) {
        log_warn("BEZEL-READ-FOREIGN", "left out %s: %s", path,
                 node ? "it is not a folder" : "run.db has no node for it");
        s->left_out++;
        f->left_out = true;
    }
    return 0;
}

/*
 * Whether the folder may have entries that were not listed. A file that came after the listing has changed the folder,
 * to a time that is not before that of the listing but for the clock's grain, and for a clock that was set.
 */
static bool may_have_more(struct run_streams_folder *f, const char *path)
{
    struct timespec now;
    struct stat st;
    if (lstat(path, &st) != 0)
        return true;
    int64_t changed = clock_ns(st.st_mtim);
    bool same = f->listed > 0 && changed == f->changed && f->listed - changed > CLOCK_S;
    clock_gettime(CLOCK_REALTIME, &now);
    if (!same)
        f->listed = clock_ns(now);
    f->changed = changed;
    return !same;
}

static int list_folder(const char *trace, const char *name, void *context)
{
    struct run_streams *s = context;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", trace, name) >= (int)sizeof path)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    struct run_streams_folder *f = find_folder(s, name);
    if (!f && s->folder_count == FOLDERS_MAX) {
        log_warn("BEZEL-READ-FOREIGN", "left out %s: there are more than %d entries beside it", path, FOLDERS_MAX);
        return 0;
    }
    int err = f ? 0 : add_folder(s, name, path);
    f = find_folder(s, name);
    if (err || f->left_out || !may_have_more(f, path))
        return err;
    struct found found = {s, f};
    err = trace_reader_list(path, take_file, &found);
    if (err) /* it is to be listed again */
        f->listed = 0;
    return err;
}

int run_streams_look(struct run_streams *s)
{
    s->renewals = 0;
    s->looks++;
    int err = renew_knowledge(s);
    return err ? err : trace_reader_folders(s->run, list_folder, s);
}
