// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/receive/keep.h"

#include "base/log.h"
#include "base/ulimit.h"
#include "collector/receive/recover.h"
#include "run/rundb/rundb_save.h"

#include <errno.h>
#include <string.h>

static uint64_t kept_bytes(const struct model_totals *t)
{
    return t->bytes - t->expired_bytes;
}

static uint64_t part_bytes(const struct keep *k)
{
    return k->to.bytes / KEEP_PARTS;
}

static int64_t part_time(const struct keep *k)
{
    return k->to.time / KEEP_PARTS;
}

static const struct rundb_section *present(const struct keep *k)
{
    return &k->sections[k->count - 1];
}

/* ---- what is due ------------------------------------------------------------------------------------------------- */

/* Whether the present section is to end: one without packets never is. */
static bool is_full(const struct keep *k, int64_t now)
{
    uint64_t bytes = k->model->totals.bytes - k->began_bytes;
    if (bytes == 0 || k->count == RUNDB_SECTIONS_MAX)
        return false;
    return k->to.bytes ? bytes >= part_bytes(k) : now - present(k)->at >= part_time(k);
}

/* Whether the oldest section is to expire. All of it was stored before the next one began. */
static bool is_over(const struct keep *k, int64_t now)
{
    if (k->count < 2)
        return false;
    return k->to.bytes ? kept_bytes(&k->model->totals) + part_bytes(k) > k->to.bytes
                       : now - k->sections[1].at >= k->to.time;
}

static void plan(struct keep *k, int64_t now)
{
    const struct model_totals *t = &k->model->totals;
    uint64_t full = k->began_bytes + part_bytes(k);
    k->due_bytes = !k->to.bytes ? UINT64_MAX : t->bytes >= full ? t->bytes + part_bytes(k) : full;
    k->due_at = INT64_MAX;
    if (!k->to.time)
        return;
    int64_t part = present(k)->at + part_time(k);
    k->due_at = part > now ? part : now + part_time(k);
    if (k->count > 1 && k->sections[1].at + k->to.time < k->due_at)
        k->due_at = k->sections[1].at + k->to.time;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Whatever a section notes has to be in stable storage, if anything is. */
static int sync_all(struct keep *k)
{
    int err = 0;
    for (struct model_node *node = k->model->nodes; node && !err; node = node->next)
        for (struct model_process *p = node->active; p && !err; p = p->next_active) /* of others all is synced */
            for (uint32_t ring = 0; ring < p->ring_count && !err; ring++)
                err = p->streams[ring] ? store_sync(k->store, p->streams[ring]) : 0;
    return err;
}

static int begin_section(struct keep *k, int64_t now)
{
    struct rundb_section next = {present(k)->number + 1, now, clock_identity_short(k->model->clock)};
    int err = rundb_lacks(k->rundb) ? recover_rows(k->rundb, k->store, k->model) : 0;
    if (!err)
        err = sync_all(k);
    if (!err)
        err = rundb_save(k->rundb, k->model);
    if (!err)
        err = rundb_begin_section(k->rundb, k->model, &next);
    if (err)
        return err;
    k->sections[k->count++] = next;
    k->began_bytes = k->model->totals.bytes;
    return 0;
}

/* Frees what the database says has expired. What fails is tried again. Returns the last errno. */
static int free_expired(struct keep *k)
{
    int sys = 0;
    for (struct model_stream **at = &k->model->expired; *at;) {
        struct model_stream *s = *at;
        int failed = s->expired.bytes != s->covered ? store_expire(k->store, s) : 0;
        if (failed) {
            sys = failed;
            at = &s->next_expired;
            continue;
        }
        s->covered = s->expired.bytes;
        s->is_expired = false;
        *at = s->next_expired;
    }
    return sys;
}

static int expire_oldest(struct keep *k)
{
    int err = rundb_lacks(k->rundb) ? recover_rows(k->rundb, k->store, k->model) : 0;
    if (!err)
        err = rundb_expire(k->rundb, k->model, k->sections[1].number);
    if (!err)
        memmove(k->sections, k->sections + 1, --k->count * sizeof *k->sections);
    return err;
}

static void say_first(struct keep *k)
{
    if (!k->told)
        log_info("BEZEL-STORE-EXPIRES", "the store has reached %s: from now on the oldest packets expire (store.keep)",
                 store_keep_print(&k->to).s);
    k->told = true;
}

static int step(struct keep *k, int64_t now, const char **what)
{
    int err = is_full(k, now) ? begin_section(k, now) : 0;
    *what = "a new section of the store could not be begun";
    while (!err && is_over(k, now)) {
        *what = "the oldest packets could not be removed";
        say_first(k);
        err = expire_oldest(k);
    }
    if (err)
        return err;
    *what = "the space of expired packets could not be freed";
    int sys = free_expired(k);
    errno = sys;
    return sys ? BEZEL_ESYS : 0;
}

int keep_step(struct keep *k, int64_t now)
{
    const char *what;
    int err = step(k, now, &what);
    if (err && !k->failing)
        log_error("BEZEL-STORE-KEEP", "store.keep: %s (%s): storing goes on; the next attempt is in half a second",
                  what, ulimit_reason(err));
    k->failing = err != 0;
    plan(k, now);
    if (err) {
        k->due_bytes = UINT64_MAX;
        k->due_at = now + KEEP_RETRY;
    }
    return err;
}

int keep_note_process(struct keep *k, const struct model_process *process)
{
    bool needed = k && k->model && !model_is_evicted(process);
    return needed ? rundb_note_fields(k->rundb, present(k)->number + 1, process) : 0;
}

void keep_note_ended(const struct keep *k, struct model_process *process)
{
    if (!k || !k->model || process->ended)
        return;
    process->ended = true;
    process->next_ended = process->node->ended;
    process->node->ended = process;
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

/* Times of another boot do not compare with ours: the latest becomes now, so nothing expires too early. */
static int set_times(struct keep *k, int64_t now)
{
    int64_t own = clock_identity_short(k->model->clock), ahead = now - present(k)->at;
    int err = 0;
    if (present(k)->clock == own && ahead >= 0)
        return 0;
    for (size_t i = 0; i < k->count && !err; i++) {
        k->sections[i].at += ahead;
        k->sections[i].clock = own;
        err = rundb_set_section_time(k->rundb, &k->sections[i]);
    }
    return err ? err : rundb_commit(k->rundb);
}

/* Bytes up to where the present section began: of each stream up to where that noted it. */
static uint64_t bytes_before(const struct model *m)
{
    uint64_t bytes = 0;
    for (const struct model_node *node = m->nodes; node; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            for (uint32_t ring = 0; ring < p->ring_count; ring++)
                bytes += p->streams[ring] ? p->streams[ring]->noted : 0;
    return bytes;
}

int keep_init(struct keep *k, const struct store_keep *to, struct rundb *f, struct store *s, struct model *m,
              int64_t now)
{
    *k = (struct keep){.to = *to, .rundb = f, .store = s};
    if (to->bytes == 0 && to->time == 0)
        return 0;
    int err = rundb_load_sections(f, k->sections, &k->count);
    if (err)
        return err;
    k->model = m;
    k->told = m->totals.expired > 0;
    k->began_bytes = bytes_before(m);
    if (k->count == 0)
        k->sections[k->count++] = (struct rundb_section){0, now, clock_identity_short(m->clock)};
    else
        err = set_times(k, now);
    k->due_bytes = k->began_bytes + (to->bytes ? part_bytes(k) : UINT64_MAX - k->began_bytes);
    k->due_at = now;
    return err;
}
