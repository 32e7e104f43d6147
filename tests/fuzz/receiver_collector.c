// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/fuzz/receiver_collector.h"

#include "base/clock.h"
#include "base/file.h"
#include "collector/receive/recover.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/patience.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_STARTED INT64_C(1700000000000000000)

enum { STREAMS_MAX = 64 }; /* that are looked at; an honest input has fewer */

static const char watched[] = "experiment: watched\n"
                              "processes: [{name: app, command: app}]\n"
                              "metrics: {fps: {rate: frame_shown}}\n"
                              "limits: [{expect: fps >= 29}, {expect: sensor_cpu <= 10 %, per: global}]\n";
static const char steered[] = "experiment: steered\n"
                              "processes: [{name: app, command: app}]\n"
                              "metrics: {fps: {rate: frame_shown}}\n"
                              "limits:\n"
                              "  - {hold: fps >= 29}\n"
                              "  - {hold: sensor_cpu <= 10 %}\n"
                              "  - {hold: fps <= 20}\n"
                              "  - {hold: lost_ratio <= 0.1 %}\n"
                              "  - {hold: sensor_cpu <= 30 %, per: global}\n"
                              "adapt:\n"
                              "  by: manager\n"
                              "  knobs: [{knob: size, process: app, serves: lost_ratio, helps: less, range: 1 .. 9}]\n";

static char dir[] = "/dev/shm/bezel-fuzz-receiver-XXXXXX", database[80], wal[80];
static char *empty_database;
static size_t empty_bytes;

/* ---- once -------------------------------------------------------------------------------------------------------- */

void collector_open(struct collector *c)
{
    char endpoint[96];
    fuzz_must(mkdtemp(dir));
    snprintf(c->run, sizeof c->run, "%s/run", dir);
    snprintf(database, sizeof database, "%s/run.db", c->run);
    snprintf(wal, sizeof wal, "%s/run.db-wal", c->run);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/link", dir);
    fuzz_must(mkdir(c->run, 0700) == 0 && rundb_open(c->run, &c->rundb) == 0 && rundb_close(c->rundb) == 0);
    fuzz_must(file_read(database, 1 << 24, &empty_database, &empty_bytes) == 0);
    fuzz_must(link_bind(endpoint, PACKET_MAX_BYTES, NULL, &c->server) == 0);
}

void collector_close(struct collector *c)
{
    link_close(c->server, 0);
    free(empty_database);
    (void)!file_remove_tree(dir);
}

/* ---- start and end ----------------------------------------------------------------------------------------------- */

static void start(struct collector *c)
{
    struct receiver_limits limits = {.connections = 2, .processes = 64};
    if (c->how & IS_BOUNDED)
        limits.processes = 3, limits.rate = 1;
    int64_t sync = c->how & SYNCS ? 0 : STORE_SYNC_NEVER;
    char name[MODEL_UUID_TEXT] = "";
    fuzz_must(rundb_open(c->run, &c->rundb) == 0 && rundb_serve(c->rundb, false) == 0);
    (void)!rundb_get(c->rundb, "run", name, sizeof name);
    c->model = model_new(name);
    fuzz_must(c->model && store_open(c->run, sync, &c->store) == 0);
    fuzz_must(recover_run(c->rundb, c->store, c->model) == 0);
    c->receiver = receiver_new(c->model, c->rundb, c->store, c->server, limits);
    fuzz_must(c->receiver);
}

static void stop(struct collector *c)
{
    receiver_free(c->receiver);
    fuzz_must(rundb_close(c->rundb) == 0);
    store_close(c->store);
    model_free(c->model);
}

/* What was not committed is not there. */
static void stop_as_killed(struct collector *c)
{
    char *files[2] = {NULL, NULL};
    const char *const paths[2] = {database, wal};
    size_t sizes[2];
    for (int i = 0; i < 2; i++)
        if (file_read(paths[i], 1 << 26, &files[i], &sizes[i]) != 0)
            files[i] = NULL;
    stop(c);
    for (int i = 0; i < 2; i++)
        if (files[i])
            fuzz_must(file_replace(paths[i], files[i], sizes[i]) == 0);
    free(files[0]);
    free(files[1]);
}

void collector_begin(struct collector *c, unsigned how)
{
    char path[96];
    const char *experiment = how & IS_STEERED ? steered : watched;
    c->how = how;
    c->spoilt = false;
    c->later.path[0] = '\0';
    fuzz_must(file_remove_tree(c->run) == 0 && mkdir(c->run, 0700) == 0);
    fuzz_must(file_replace(database, empty_database, empty_bytes) == 0);
    snprintf(path, sizeof path, "%s/experiment.yaml", c->run);
    fuzz_must(file_replace(path, experiment, strlen(experiment)) == 0);
    start(c);
}

void collector_turn(struct collector *c, int frames)
{
    int64_t deadline = clock_now() + PATIENCE;
    while (frames > 0) {
        int taken = receiver_turn(c->receiver);
        frames -= taken;
        fuzz_must(frames >= 0 && clock_now() < deadline);
        if (taken == 0)
            (void)link_wait(&c->server, 1, NULL, 0, 10 * CLOCK_MS);
    }
}

/* ---- restarts ---------------------------------------------------------------------------------------------------- */

/* What was stored of each stream before a restart. */
struct stood {
    size_t count;
    struct {
        uint8_t uuid[16];
        struct model_stream stream;
    } list[STREAMS_MAX];
};

static void note_streams(const struct collector *c, struct stood *s)
{
    s->count = 0;
    for (const struct model_node *node = c->model->nodes; node; node = node->next)
        for (const struct model_process *p = node->processes; p; p = p->next)
            for (uint32_t ring = 0; ring < p->ring_count; ring++)
                if (p->streams[ring] && p->streams[ring]->packets && s->count < STREAMS_MAX) {
                    memcpy(s->list[s->count].uuid, node->uuid, 16);
                    s->list[s->count++].stream = *p->streams[ring];
                }
}

static void check_streams(const struct collector *c, const struct stood *before)
{
    for (size_t i = 0; i < before->count; i++) {
        const struct model_stream *was = &before->list[i].stream;
        const struct model_node *node = model_find_node(c->model, before->list[i].uuid);
        const struct model_process *p = node ? model_find_process(node, was->at.instance) : NULL;
        const struct model_stream *is = p ? model_find_stream(p, was->at.ring) : NULL;
        fuzz_must(is && is->packets == was->packets && is->bytes == was->bytes && is->sum == was->sum);
        fuzz_must(is->at.next_seq == was->at.next_seq && is->at.next_ordinal == was->at.next_ordinal &&
                  is->at.discarded == was->at.discarded && is->closed == was->closed && is->last_end == was->last_end);
    }
}

void collector_restart(struct collector *c, bool in_order, const struct spoiling *spoiling)
{
    static struct stood stood;
    note_streams(c, &stood);
    (in_order ? stop : stop_as_killed)(c);
    if (spoiling)
        spoil_file(c, spoiling);
    start(c);
    if (!c->spoilt)
        check_streams(c, &stood);
}

/* Whether or not it can start on what was spoilt. */
static void try_start(struct collector *c)
{
    c->rundb = NULL, c->store = NULL;
    c->model = model_new("");
    fuzz_must(c->model);
    int err = rundb_open(c->run, &c->rundb);
    if (!err)
        err = rundb_serve(c->rundb, false);
    if (!err)
        err = store_open(c->run, STORE_SYNC_NEVER, &c->store);
    if (!err)
        err = recover_run(c->rundb, c->store, c->model);
    fuzz_must(!err || c->spoilt);
    (void)!rundb_close(c->rundb);
    store_close(c->store);
    model_free(c->model);
}

/* As `bezel run` does. */
static void put_times(struct collector *c)
{
    fuzz_must(rundb_put_int(c->rundb, "started", RUN_STARTED) == 0 &&
              rundb_put_int(c->rundb, "ended", RUN_STARTED + 10 * CLOCK_S) == 0 &&
              rundb_put(c->rundb, "ended_by", "duration") == 0);
}

void collector_finish(struct collector *c)
{
    if (c->how & HAS_ENDED)
        put_times(c);
    fuzz_must(receiver_finish(c->receiver) == 0 || c->spoilt);
    struct model_totals stored = c->model->totals;
    stop(c);
    if (c->later.path[0] && c->later.bits & SPOILS_DATABASE)
        spoil_database(c, &c->later);
    else if (c->later.path[0])
        spoil_file(c, &c->later);
    run_read(c, &stored);
    if (c->later.path[0])
        try_start(c);
}
