// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/stored_run.h"

#include "collector/receive/receiver_packet.h"
#include "collector/receive/recover.h"
#include "run/model/statistics.h"
#include "run/rundb/rundb_save.h"

#include <errno.h>
#include <stdio.h>

static unsigned index_of(const struct stored_run *r, uint64_t instance)
{
    unsigned i = 0;
    while (r->sensor->processes[i]->said.instance != instance)
        i++;
    return i;
}

/* As WELCOME does: a position is an acknowledgement. */
static void tell_positions(const struct stored_run *r)
{
    for (const struct model_process *p = r->node->processes; p; p = p->next)
        for (unsigned ring = 0; ring < FAKE_RINGS; ring++)
            if (model_find_stream(p, ring))
                r->acknowledged(index_of(r, p->instance), ring, p->streams[ring]->at.next_seq, r->context);
}

static int64_t now_of(const struct stored_run *r)
{
    return r->now ? *r->now : clock_now();
}

int stored_start(struct stored_run *r, const char *dir, struct fake_sensor *sensor, int64_t sync)
{
    char run[MODEL_UUID_TEXT] = "";
    r->sensor = sensor;
    int err = rundb_open(dir, &r->rundb);
    if (!err && rundb_get(r->rundb, "run", run, sizeof run) != 0)
        run[0] = '\0'; /* whoever began it gave it no id */
    if (!err && !(r->model = model_new(run)))
        err = BEZEL_ENOMEM;
    if (!err)
        err = rundb_serve(r->rundb, sync != STORE_SYNC_NEVER);
    if (!err)
        err = store_open(dir, sync, &r->store);
    if (!err)
        err = recover_run(r->rundb, r->store, r->model);
    if (!err)
        err = keep_init(&r->keep, &r->keep_to, r->rundb, r->store, r->model, now_of(r));
    if (err)
        return err;
    r->node = model_find_node(r->model, sensor->hello.uuid);
    if (r->node && r->acknowledged)
        tell_positions(r);
    if (r->node)
        return 0;
    r->node = model_add_node(r->model, &sensor->hello);
    return r->node ? rundb_add_node(r->rundb, r->node) : BEZEL_ENOMEM;
}

/* The result of a write to the database: where that has no room, it gets the reserve. */
static int of_database(const struct stored_run *r, int err)
{
    if (err == BEZEL_ENOSPC)
        store_fail(r->store, errno, "run.db");
    return err;
}

/* The process, known and with its newest dictionary. */
static int know(struct stored_run *r, unsigned process, struct model_process **known)
{
    const struct message_process *said = &r->sensor->processes[process]->said;
    struct model_process *p = *known = model_find_process(r->node, said->instance);
    struct dict *dict;
    if (p && p->dict->hash == r->sensor->processes[process]->dict->hash)
        return 0;
    int err = dict_parse(said->dictionary, said->dictionary_bytes, &dict);
    if (err)
        return err;
    if (p) {
        err = of_database(r, rundb_set_dictionary(r->rundb, p, said->dictionary, said->dictionary_bytes));
        if (err)
            dict_free(dict);
        else
            model_set_dictionary(p, dict);
        return err;
    }
    *known = p = model_add_process(r->node, said);
    if (!p) {
        dict_free(dict);
        return BEZEL_ENOMEM;
    }
    model_set_dictionary(p, dict);
    err = of_database(r, rundb_add_process(r->rundb, p, said->dictionary, said->dictionary_bytes));
    if (err)
        model_drop_process(p);
    return err;
}

static int take(struct stored_run *r, unsigned process, unsigned ring)
{
    struct received a;
    struct model_process *p;
    int err = know(r, process, &p);
    const struct fake_stream *s = &r->sensor->processes[process]->rings[ring];
    struct model_stream *stream = err ? NULL : model_stream(p, ring);
    if (!stream)
        return err ? err : BEZEL_ENOMEM;
    uint64_t seq = stream->at.next_seq;
    const uint8_t *packet = s->bytes + s->starts[seq];
    receiver_take_packet(r->node, r->store, NULL, packet, s->starts[seq + 1] - s->starts[seq], &a);
    if (a.what != RECEIVED_STORED)
        return a.what == RECEIVED_FAILED ? BEZEL_ENOSPC : BEZEL_EMALFORMED;
    statistics_count(stream, &a.header, packet, &a.found.all, 0);
    rundb_add_packet(r->rundb, p, &a.header, packet, a.found.lost);
    return 0;
}

static int acknowledge(struct stored_run *r)
{
    if (!store_sync_due(r->store, clock_now()))
        return 0;
    for (struct model_stream *s; (s = model_next_touched(r->node));) {
        int err = store_sync(r->store, s);
        if (err)
            return err;
        if (r->acknowledged)
            r->acknowledged(index_of(r, s->at.instance), s->at.ring, s->at.next_seq, r->context);
    }
    return 0;
}

static uint64_t stored_of(const struct stored_run *r, unsigned process, unsigned ring)
{
    const struct model_process *p = model_find_process(r->node, r->sensor->processes[process]->said.instance);
    return p && model_find_stream(p, ring) ? p->streams[ring]->at.next_seq : 0;
}

void stored_keep(struct stored_run *r)
{
    int64_t now = now_of(r);
    if (keep_is_due(&r->keep, now))
        (void)keep_step(&r->keep, now);
}

int stored_feed(struct stored_run *r, uint64_t packets)
{
    enum { SAVE_EVERY = 16 };
    uint64_t fed = 0, before;
    int err = 0;
    do {
        before = fed;
        for (unsigned i = 0; i < r->sensor->process_count; i++)
            for (unsigned ring = 0; ring < FAKE_RINGS && !err && fed < packets; ring++) {
                if (stored_of(r, i, ring) == r->sensor->processes[i]->rings[ring].packets)
                    continue;
                err = take(r, i, ring);
                fed++;
                if (!err && fed % (r->batch ? r->batch : 1) == 0) {
                    err = acknowledge(r);
                    stored_keep(r);
                }
                if (!err && fed % SAVE_EVERY == 0)
                    err = of_database(r, rundb_save(r->rundb, r->model));
            }
    } while (!err && fed > before);
    return err ? err : acknowledge(r);
}

int stored_save(struct stored_run *r)
{
    r->node->dirty = true;
    for (struct model_process *p = r->node->processes; p; p = p->next)
        p->dirty = true;
    return of_database(r, rundb_save(r->rundb, r->model));
}

void stored_end(struct stored_run *r)
{
    for (struct model_process *p = r->node->processes; p; p = p->next) {
        p->state = PROCESS_ENDED;
        p->dirty = true;
        for (uint32_t aspect = 1; aspect <= p->dict->aspect_count; aspect++)
            p->counts[aspect].attempts = p->counts[aspect].stored;
        for (unsigned ring = 0; ring < FAKE_RINGS; ring++)
            if (model_find_stream(p, ring)) {
                p->counts[1].attempts += p->streams[ring]->at.discarded;
                p->counts[1].full += p->streams[ring]->at.discarded;
            }
    }
}

static int finish(struct stored_run *r)
{
    int err = acknowledge(r);
    store_tidy(r->store, r->model, true);
    if (!err && rundb_lacks(r->rundb))
        err = recover_rows(r->rundb, r->store, r->model);
    do
        err = err ? err : of_database(r, rundb_save(r->rundb, r->model));
    while (!err && r->model->unsaved);
    return err ? err : of_database(r, rundb_finish(r->rundb, r->model));
}

int stored_stop(struct stored_run *r)
{
    bool failed = store_failure(r->store, NULL) != 0;
    store_hurry(r->store);
    int err = finish(r), closed;
    if (!failed && store_failure(r->store, NULL))
        err = finish(r);
    closed = rundb_close(r->rundb);
    r->rundb = NULL;
    stored_drop(r);
    return err ? err : closed;
}

int stored_grow(struct stored_run *r)
{
    int err = stored_feed(r, UINT64_MAX);
    return err ? err : stored_save(r);
}

int stored_whole(const char *dir, struct fake_sensor *sensor)
{
    struct stored_run r = {0};
    int err = stored_start(&r, dir, sensor, STORE_SYNC_NEVER);
    if (!err)
        err = stored_feed(&r, UINT64_MAX);
    if (err)
        return err;
    stored_end(&r);
    return stored_stop(&r);
}

void stored_drop(struct stored_run *r)
{
    (void)!rundb_close(r->rundb);
    store_close(r->store);
    model_free(r->model);
    r->rundb = NULL, r->store = NULL, r->model = NULL, r->node = NULL;
}

bool stored_is_right(const struct fake_sensor *sensor, const char *dir, bool whole)
{
    for (unsigned i = 0; i < sensor->process_count; i++)
        for (unsigned ring = 0; ring < FAKE_RINGS; ring++) {
            const struct fake_process *p = sensor->processes[i];
            char path[512];
            snprintf(path, sizeof path, "%s/trace/%s/%s-%u-%u", dir, sensor->hello.node, p->said.name, p->said.pid,
                     ring);
            if (p->rings[ring].packets && !fake_file_is_right(&p->rings[ring], path, whole))
                return false;
        }
    return true;
}
