// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The run database: summary_load() returns what was written, and derived rows can be written anew from the trace. */
#include "base/file.h"
#include "collector/receive/receiver_packet.h"
#include "collector/receive/recover.h"
#include "mdr/builtin.h"
#include "mdr/parts.h"
#include "run/history/summary.h"
#include "run/model/statistics.h"
#include "run/rundb/rundb_save.h"
#include "run/rundb/rundb_sqlite.h"
#include "tests/lib/fake_sensor.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint8_t run_id[16] = "a run's identity";

enum {
    SELF = 1,
    LIMIT,
    DECISION,
    METRIC,
    CLOCK,
    POLLING,
    FLOW,
    EXPIRED,
    KNOB,
    CONCLUSION,
    FPS = 1,
    SERVER
}; /* ids of the daemon's aspects and strings */

struct fixture {
    char dir[32];
    struct rundb *rundb;
    struct store *store;
    struct model *model;
    struct fake_sensor *sensor;
};

/* Opens store, database and model as a collector does when it starts. */
static void start(struct fixture *t)
{
    assert_int_equal(rundb_open(t->dir, &t->rundb), 0);
    assert_int_equal(rundb_serve(t->rundb, false), 0);
    assert_int_equal(store_open(t->dir, STORE_SYNC_NEVER, &t->store), 0);
    t->model = model_new("");
    assert_int_equal(recover_run(t->rundb, t->store, t->model), 0);
}

static void stop(struct fixture *t)
{
    assert_int_equal(rundb_save(t->rundb, t->model), 0);
    assert_int_equal(rundb_close(t->rundb), 0);
    store_close(t->store);
    model_free(t->model);
    t->rundb = NULL, t->store = NULL, t->model = NULL;
}

static int setup(void **state)
{
    struct fixture *t = calloc(1, sizeof *t);
    snprintf(t->dir, sizeof t->dir, "/tmp/bezel-facts-XXXXXX");
    if (!mkdtemp(t->dir))
        return -1;
    t->sensor = fake_new("desk", run_id, 42);
    start(t);
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *t = *state;
    fake_free(t->sensor);
    if (t->rundb)
        stop(t);
    int err = file_remove_tree(t->dir);
    free(t);
    return err;
}

static struct model_process *know(struct fixture *t, unsigned process)
{
    const struct message_process *said = &t->sensor->processes[process]->said;
    struct model_node *node = model_find_node(t->model, t->sensor->hello.uuid);
    struct dict *dict;
    if (!node) {
        node = model_add_node(t->model, &t->sensor->hello);
        assert_int_equal(rundb_add_node(t->rundb, node), 0);
    }
    struct model_process *p = model_add_process(node, said);
    assert_int_equal(dict_parse(said->dictionary, said->dictionary_bytes, &dict), 0);
    model_set_dictionary(p, dict);
    assert_int_equal(rundb_add_process(t->rundb, p, said->dictionary, said->dictionary_bytes), 0);
    return p;
}

/* Stores every packet of a process that is not stored yet; `received` as for statistics_count(). */
static void feed(struct fixture *t, unsigned process, int64_t received)
{
    struct model_node *node = model_find_node(t->model, t->sensor->hello.uuid);
    for (unsigned r = 0; r < FAKE_RINGS; r++) {
        struct fake_stream *s = &t->sensor->processes[process]->rings[r];
        for (; s->acked < s->packets; s->acked++) {
            struct received a;
            const uint8_t *p = s->bytes + s->starts[s->acked];
            receiver_take_packet(node, t->store, NULL, p, s->starts[s->acked + 1] - s->starts[s->acked], &a);
            assert_int_equal(a.what, RECEIVED_STORED);
            statistics_count(a.stream, &a.header, p, &a.found.all, received);
            rundb_add_packet(t->rundb, a.stream->process, &a.header, p, a.found.lost);
        }
    }
}

/* bezeld as process of the made-up sensor: its dictionary is the built-in aspects and two strings. */
static unsigned add_daemon(struct fake_sensor *f)
{
    static const struct dict_aspect aspects[] = {
        {SELF,
         DICT_EVENT,
         "bezel_usage",
         9,
         {{0, "cpu", "", ""},
          {0, "wakeups", "", ""},
          {0, "records", "", ""},
          {0, "bytes", "", ""},
          {0, "window", "", ""},
          {0, "oldest", "", ""},
          {0, "period", "", ""},
          {DICT_FLOAT64, "cpu_share", "%", ""},
          {0, "worst", "", ""}}},
        {LIMIT,
         DICT_EVENT,
         "bezel_limit",
         11,
         {{0, "index", "", ""},
          {DICT_ENUM, "state", "", "unknown|held|violated"},
          {DICT_FLOAT64, "value", "", ""},
          {DICT_FLOAT64, "worst", "", ""},
          {0, "settling", "", ""},
          {0, "held", "", ""},
          {0, "violated", "", ""},
          {0, "unknown", "", ""},
          {0, "last", "", ""},
          {0, "unjudged", "", ""},
          {0, "epoch", "", ""}}},
        {DECISION,
         DICT_EVENT,
         "bezel_decision",
         8,
         {{DICT_ENUM, "policy", "", "none|spp|dpp"},
          {DICT_ENUM, "action", "", "keep|shorten|lengthen|off|resume"},
          {0, "before", "", ""},
          {0, "after", "", ""},
          {0, "cause", "", ""},
          {DICT_ENUM, "by", "", "agent|manager"},
          {0, "epoch", "", ""},
          {0, "sequence", "", ""}}},
        {METRIC,
         DICT_EVENT,
         "bezel_metric",
         3,
         {{DICT_STRING, "metric", "", ""}, {DICT_STRING, "process", "", ""}, {DICT_FLOAT64, "value", "", ""}}},
        {CLOCK,
         DICT_EVENT,
         "bezel_clocks",
         6,
         {{0, "kernel", "", ""},
          {0, "counter", "", ""},
          {0, "program", "", ""},
          {0, "error", "", ""},
          {0, "jumps", "", ""},
          {0, "clamped", "", ""}}},
        {POLLING,
         DICT_EVENT,
         "bezel_polling",
         5,
         {{DICT_ENUM, "cause", "", "start|operator|kept"},
          {0, "period", "", ""},
          {DICT_ENUM, "mode", "", "polling|busy-wait"},
          {DICT_ENUM, "forward", "", "batch|collect"},
          {0, "batch", "", ""}}},
        {FLOW,
         DICT_EVENT,
         "bezel_totals",
         10,
         {{0, "produced", "", ""},
          {0, "full", "", ""},
          {0, "off", "", ""},
          {0, "no_ring", "", ""},
          {0, "overwritten", "", ""},
          {0, "in_rings", "", ""},
          {0, "in_window", "", ""},
          {0, "backpressure", "", ""},
          {0, "window", "", ""},
          {0, "spool", "", ""}}},
        {EXPIRED,
         DICT_EVENT,
         "bezel_expired",
         6,
         {{DICT_STRING, "process", "", ""},
          {DICT_STRING, "aspect", "", ""},
          {0, "instance", "", ""},
          {0, "bound", "", ""},
          {0, "taken", "", ""},
          {0, "expired", "", ""}}},
        {KNOB,
         DICT_EVENT,
         "bezel_knob",
         11,
         {{DICT_STRING, "process", "", ""},
          {DICT_STRING, "knob", "", ""},
          {DICT_STRING, "unit", "", ""},
          {0, "instance", "", ""},
          {DICT_ENUM, "cause", "", "operator|manager|agent|kept|end"},
          {0, "before", "", ""},
          {0, "after", "", ""},
          {0, "limit", "", ""},
          {DICT_FLOAT64, "value", "", ""},
          {0, "epoch", "", ""},
          {0, "sequence", "", ""}}},
        {CONCLUSION,
         DICT_EVENT,
         "bezel_conclusion",
         6,
         {{DICT_ENUM, "what", "", "infeasible|not-the-monitors|starved|load-shedding|violated|saturated"},
          {0, "holds", "", ""},
          {0, "limit", "", ""},
          {DICT_FLOAT64, "needed", "", ""},
          {DICT_FLOAT64, "budget", "", ""},
          {0, "floor", "", ""}}},
    };
    unsigned index = fake_add_process(f, "bezeld", 50, ROLE_DAEMON);
    struct fake_process *p = f->processes[index];
    int n = 0;
    for (size_t i = 0; i < sizeof aspects / sizeof *aspects; i++)
        n = dict_append_aspect(p->said.dictionary, (size_t)n, MESSAGE_DICT_MAX, &aspects[i]);
    n = dict_append_string(p->said.dictionary, (size_t)n, MESSAGE_DICT_MAX, FPS, "fps");
    n = dict_append_string(p->said.dictionary, (size_t)n, MESSAGE_DICT_MAX, SERVER, "server");
    p->said.dictionary_bytes = (uint32_t)n;
    dict_free(p->dict);
    assert_int_equal(dict_parse(p->said.dictionary, (size_t)n, &p->dict), 0);
    return index;
}

static uint64_t bits(double value)
{
    uint64_t b;
    memcpy(&b, &value, sizeof b);
    return b;
}

TEST_WITH(setup, teardown, properties_and_events_are_kept)
{
    struct fixture *t = *test_state;
    struct summary *s;
    stop(t);
    struct rundb *f;
    assert_int_equal(rundb_open(t->dir, &f), 0);
    assert_int_equal(rundb_put(f, "name", "first"), 0);
    assert_int_equal(rundb_put(f, "name", "video's \"run\""), 0);
    assert_int_equal(rundb_put_int(f, "started", INT64_C(1700000000123456789)), 0);
    assert_int_equal(rundb_event(f, 1, true, "server died"), 0);
    assert_int_equal(rundb_event(f, INT64_C(1700000000123456790), false, "bezeld was restarted"), 0);
    assert_int_equal(rundb_close(f), 0);
    assert_int_equal(summary_load(t->dir, &s), 0);
    assert_string_equal(summary_property(s, "name"), "video's \"run\"");
    assert_string_equal(summary_property(s, "started"), "1700000000123456789");
    assert_null(summary_property(s, "ended"));
    assert_int_equal(s->event_count, 2);
    assert_true(s->events[0].error);
    assert_string_equal(s->events[0].text, "server died");
    assert_false(s->events[1].error);
    assert_int_equal(s->events[1].at, INT64_C(1700000000123456790));
    summary_free(s);
}

TEST_WITH(setup, teardown, tables_without_rowid_begin_with_their_key)
{
    struct fixture *t = *test_state;
    sqlite3 *db;
    sqlite3_stmt *s;
    stop(t);
    assert_int_equal(rundb_open_database(t->dir, &db), 0);
    const char *strays = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
                         " WHERE m.sql LIKE '%WITHOUT ROWID%' AND c.pk > 0 AND c.pk != c.cid + 1";
    assert_int_equal(sqlite3_prepare_v2(db, strays, -1, &s, NULL), SQLITE_OK);
    if (sqlite3_step(s) == SQLITE_ROW)
        fail_msg("%s.%s", (const char *)sqlite3_column_text(s, 0), (const char *)sqlite3_column_text(s, 1));
    sqlite3_finalize(s);
    sqlite3_close(db);
}

TEST_WITH(setup, teardown, a_process_that_was_launched_and_never_heard_of_is_noted)
{
    struct fixture *t = *test_state;
    struct summary *s;
    struct message_note note = {.pid = 55, .at = 9, .name = "refused", .code = RUNDB_NO_SEGMENT, .text = "no room"};
    fake_add_process(t->sensor, "heard", 50, ROLE_SUT);
    struct model_node *node = model_add_node(t->model, &t->sensor->hello);
    assert_int_equal(rundb_add_node(t->rundb, node), 0);
    struct model_process *p = model_add_process(node, &t->sensor->processes[0]->said);
    assert_int_equal(rundb_add_process(t->rundb, p, "", 0), 0);
    assert_int_equal(rundb_add_note(t->rundb, node, &note), 0);
    assert_int_equal(rundb_silent(t->rundb, node->name, "heard", 99, "silent"), 0);   /* by its name */
    assert_int_equal(rundb_silent(t->rundb, node->name, "renamed", 50, "silent"), 0); /* by its pid */
    assert_int_equal(rundb_silent(t->rundb, node->name, "refused", 55, "silent"), 0); /* has such a note already */
    assert_int_equal(rundb_silent(t->rundb, node->name, "quiet", 51, "silent"), 0);
    assert_int_equal(rundb_silent(t->rundb, "nowhere", "other", 50, "silent"),
                     0); /* a node that is not in the database */
    assert_int_equal(rundb_commit(t->rundb), 0);
    assert_int_equal(summary_load(t->dir, &s), 0);
    assert_int_equal(s->note_count, 3);
    assert_string_equal(s->notes[0].text, "no room");
    assert_string_equal(s->notes[1].name, "quiet");
    assert_string_equal(s->notes[1].text, "silent");
    assert_int_equal(s->notes[1].pid, 51);
    assert_int_equal(s->notes[1].node, 0);
    assert_string_equal(s->notes[2].name, "other");
    assert_int_equal(s->notes[2].node, s->node_count);
    summary_free(s);
}

TEST_WITH(setup, teardown, what_is_no_run_is_told_from_one)
{
    struct fixture *t = *test_state;
    struct summary *s;
    struct rundb *f;
    char path[64];
    assert_int_equal(summary_load("/nonexistent", &s), BEZEL_ENOENT);
    assert_int_equal(rundb_open("/nonexistent", &f), BEZEL_ENOENT);
    stop(t);
    snprintf(path, sizeof path, "%s/run.db", t->dir);
    assert_int_equal(file_replace(path, "this is no database, however long it is", 39), 0);
    assert_int_equal(summary_load(t->dir, &s), BEZEL_EMALFORMED);
    assert_int_equal(rundb_open(t->dir, &f), BEZEL_EMALFORMED);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(file_replace(path, "", 0), 0); /* as a writer leaves it that was killed when it began */
    assert_int_equal(summary_load(t->dir, &s), BEZEL_ENOENT);
}

TEST_WITH(setup, teardown, a_flight_recorder_is_known_as_one_and_has_no_latency)
{
    struct fixture *t = *test_state;
    struct summary *s;
    unsigned polled = fake_add_process(t->sensor, "polled", 1, ROLE_SUT);
    unsigned recorder = fake_add_process(t->sensor, "recorder", 2, ROLE_SUT);
    t->sensor->processes[recorder]->said.overwrites = true;
    for (unsigned i = polled; i <= recorder; i++) {
        know(t, i);
        fake_cut(t->sensor, i, 0, 3);
        feed(t, i, (int64_t)t->sensor->processes[i]->rings[0].time + CLOCK_S);
    }
    stop(t); /* a restart loads it */
    start(t);
    struct model_node *node = model_find_node(t->model, t->sensor->hello.uuid);
    assert_false(model_find_process(node, t->sensor->processes[polled]->said.instance)->overwrites);
    assert_true(model_find_process(node, t->sensor->processes[recorder]->said.instance)->overwrites);
    assert_int_equal(summary_load(t->dir, &s), 0);
    assert_false(s->processes[0].overwrites);
    assert_int_equal(s->processes[0].latency.count, 3);
    assert_true(s->processes[1].overwrites);
    assert_int_equal(s->processes[1].latency.count, 0);
    summary_free(s);
}

TEST_WITH(setup, teardown, books_and_latency_are_what_was_counted)
{
    struct fixture *t = *test_state;
    struct summary *s;
    unsigned app = fake_add_process(t->sensor, "app", 1, ROLE_SUT);
    fake_add_process(t->sensor, "idle", 2, ROLE_SUT);
    struct model_process *p = know(t, app);
    know(t, 1);
    fake_cut(t->sensor, app, 0, 40);
    fake_lose(t->sensor, app, 1, 3);
    fake_lose(t->sensor, app, 0, 4);
    fake_cut_one(t->sensor, app, 1, 1, NULL);
    int64_t last = (int64_t)t->sensor->processes[app]->rings[1].time;
    feed(t, app, last + 7 * CLOCK_S);
    p->counts[1] = (struct model_count){.stored = p->counts[1].stored,
                                        .first_ns = p->counts[1].first_ns,
                                        .last_ns = p->counts[1].last_ns,
                                        .attempts = p->counts[1].stored + 7,
                                        .full = 4,
                                        .off = 2,
                                        .no_ring = 1};
    p->state = PROCESS_ENDED;
    p->unfinished = 1;
    p->unobserved = 2;
    p->node->unobserved = 3;
    p->node->dirty = true;
    assert_int_equal(rundb_save(t->rundb, t->model), 0);
    assert_int_equal(summary_load(t->dir, &s), 0); /* while it is open for writing */
    assert_int_equal(s->node_count, 1);
    assert_string_equal(s->nodes[0].name, "desk");
    assert_true(isnan(s->nodes[0].sensor_cpu_mean) && isnan(s->nodes[0].sensor_cpu_max));
    assert_int_equal(s->process_count, 2);
    const struct summary_process *app_said = &s->processes[0];
    assert_string_equal(app_said->name, "app");
    assert_string_equal(app_said->executable, "/usr/bin/app");
    assert_int_equal(app_said->instance, p->instance);
    assert_int_equal(app_said->state, PROCESS_ENDED);
    assert_int_equal(app_said->unfinished, 1);
    assert_int_equal(app_said->unobserved, 2);
    assert_int_equal(s->nodes[0].unobserved, 3);
    assert_int_equal(app_said->discarded, 7);
    assert_int_equal(app_said->book_count, 2);
    assert_string_equal(app_said->books[1].name, "frame:shown");
    assert_int_equal(app_said->books[0].stored + app_said->books[1].stored, 41);
    assert_int_equal(app_said->books[0].attempts, app_said->books[0].stored + 7);
    assert_int_equal(app_said->books[0].full, 4);
    assert_int_equal(app_said->books[0].off, 2);
    assert_int_equal(app_said->books[0].no_ring, 1);
    assert_true(app_said->books[0].first_ns < last && app_said->books[0].last_ns >= last);
    assert_int_equal(app_said->latency.count, 41);
    assert_true(app_said->latency.median >= 7 * CLOCK_S && app_said->latency.max < 8 * CLOCK_S);
    assert_int_equal(s->latency.count, 41);
    assert_int_equal(s->processes[1].latency.count, 0);
    summary_free(s);
    uint64_t instance = p->instance;
    stop(t);
    start(t); /* a restart loads it */
    assert_int_equal(t->model->nodes->unobserved, 3);
    assert_int_equal(model_find_process(t->model->nodes, instance)->unobserved, 2);
}

static void what_the_daemon_records_of_itself_is_told(struct fixture *t)
{
    struct summary *s;
    assert_int_equal(summary_load(t->dir, &s), 0);
    assert_int_equal(s->nodes[0].cpu_ns, 3000);
    assert_int_equal(s->nodes[0].wakeups, 20);
    assert_int_equal(s->nodes[0].records, 200);
    assert_int_equal(s->nodes[0].bytes, 2000);
    assert_true(s->nodes[0].last_at > s->nodes[0].first_at);
    double mean = 100.0 * 2000 / (double)(s->nodes[0].last_at - s->nodes[0].first_at);
    assert_true(fabs(s->nodes[0].sensor_cpu_mean - mean) < 1e-9);
    assert_true(s->nodes[0].sensor_cpu_max == s->nodes[0].sensor_cpu_mean); /* so short a time is one sample */
    const struct builtin_clocks *c = &s->nodes[0].clock;
    assert_int_equal(c->kernel, 1);
    assert_int_equal(c->counter, 3);
    assert_int_equal(c->program, 2);
    assert_int_equal(c->error, 1200);
    assert_int_equal(c->jumps, 1);
    assert_int_equal(c->clamped, 17);
    assert_int_equal(s->nodes[0].period_mean, 2000000);
    assert_int_equal(s->nodes[0].period_worst, 4000000);
    assert_true(fabs(s->nodes[0].en_route_mean - 0.2) < 1e-9 && fabs(s->nodes[0].en_route_max - 0.3) < 1e-9);
    assert_int_equal(s->nodes[0].backpressure, 5);
    assert_int_equal(s->polling_count, 2);
    assert_int_equal(s->polling[0].cause, 0);
    assert_int_equal(s->polling[1].cause, 1);
    assert_int_equal(s->polling[1].period, 250000);
    assert_int_equal(s->polling[1].mode, POLL_MODE_BUSY_WAIT);
    assert_int_equal(s->polling[1].forward, POLL_FORWARD_COLLECT);
    assert_int_equal(s->polling[1].batch, 64);
    assert_int_equal(s->knob_count, 1);
    assert_string_equal(s->knobs[0].process, "server");
    assert_string_equal(s->knobs[0].knob, "fps");
    assert_string_equal(s->knobs[0].unit, "");
    assert_int_equal(s->knobs[0].instance, 77);
    assert_int_equal(s->knobs[0].cause, 3);
    assert_int_equal(s->knobs[0].before, -5);
    assert_int_equal(s->knobs[0].after, 40);
    assert_int_equal(s->knobs[0].limit, 1);
    assert_true(s->knobs[0].value == 24.5);
    assert_int_equal(s->knobs[0].epoch, 2);
    assert_int_equal(s->knobs[0].sequence, 9);
    assert_int_equal(s->conclusion_count, 2);
    assert_true(s->conclusions[0].what == 0 && s->conclusions[0].holds && s->conclusions[0].limit == -1);
    assert_true(s->conclusions[0].needed == 12.5 && s->conclusions[0].budget == 10);
    assert_true(s->conclusions[1].what == 3 && !s->conclusions[1].holds && s->conclusions[1].floor == 7);
    assert_true(isnan(s->conclusions[1].needed) && isnan(s->conclusions[1].budget));
    assert_int_equal(s->expired_count, 2);
    assert_int_equal(s->expired[0].instance, 77);
    assert_string_equal(s->expired[0].process, "server");
    assert_string_equal(s->expired[0].aspect, "fps");
    assert_int_equal(s->expired[0].bound, 100000000);
    assert_int_equal(s->expired[0].taken, 60);
    assert_int_equal(s->expired[0].expired, 3);
    assert_int_equal(s->expired[1].expired, 5);
    assert_int_equal(s->limit_count, 4);
    assert_true(s->limits[2].limit == 2 && s->limits[2].epoch == 2 && s->limits[2].held == 20); /* of each manager */
    assert_true(s->limits[3].limit == 2 && s->limits[3].epoch == 3 && s->limits[3].violated == 2);
    assert_int_equal(s->limits[0].limit, 0);
    assert_int_equal(s->limits[0].state, 2);
    assert_true(s->limits[0].value == 28.5 && s->limits[0].worst == 20.25);
    assert_int_equal(s->limits[0].settling, 11);
    assert_int_equal(s->limits[0].held, 12);
    assert_int_equal(s->limits[0].violated, 13);
    assert_int_equal(s->limits[0].unknown, 14);
    assert_int_equal(s->limits[0].last_violated, 15);
    assert_int_equal(s->limits[0].unjudged, 16);
    assert_true(isnan(s->limits[1].value) && isnan(s->limits[1].worst));
    assert_int_equal(s->decision_count, 1);
    assert_int_equal(s->decisions[0].policy, 2);
    assert_int_equal(s->decisions[0].action, 3);
    assert_int_equal(s->decisions[0].before, 1000000);
    assert_int_equal(s->decisions[0].after, 0);
    assert_int_equal(s->decisions[0].cause, -1);
    assert_int_equal(s->decisions[0].by, 1);
    assert_int_equal(s->decisions[0].epoch, 7);
    assert_int_equal(s->decisions[0].sequence, 42);
    assert_int_equal(s->metric_count, 1);
    assert_string_equal(s->metrics[0].metric, "fps");
    assert_string_equal(s->metrics[0].process, "server");
    assert_int_equal(s->metrics[0].count, 3);
    assert_true(s->metrics[0].mean == 29.0 && s->metrics[0].min == 27.0 && s->metrics[0].max == 31.0);
    assert_true(s->metrics[0].last == 29.0);
    assert_int_equal(s->processes[0].discarded, 9);
    assert_int_equal(s->latency.count, 0); /* a daemon's records are not the SUT's */
    summary_free(s);
}

static void record_the_daemon(struct fake_sensor *f, unsigned d)
{
    fake_cut_one(f, d, 0, SELF, (uint64_t[]){1000, 10, 100, 1000, 0, 0, 1000000, bits(5.5), 4000000});
    fake_cut_one(f, d, 0, LIMIT, (uint64_t[]){0, 1, bits(30), bits(NAN), 1, 2, 3, 4, 5, 0, 0});
    fake_cut_one(f, d, 0, LIMIT, (uint64_t[]){1, 0, bits(NAN), bits(NAN), 0, 0, 0, 9, 0, 0, 0});
    fake_cut_one(f, d, 0, LIMIT, (uint64_t[]){0, 2, bits(28.5), bits(20.25), 11, 12, 13, 14, 15, 16, 0});
    fake_cut_one(f, d, 0, LIMIT, (uint64_t[]){2, 1, bits(7), bits(9), 0, 20, 5, 1, 3, 0, 2});
    fake_cut_one(f, d, 0, LIMIT, (uint64_t[]){2, 2, bits(8), bits(8), 0, 1, 2, 0, 4, 0, 3});
    fake_cut_one(f, d, 0, DECISION, (uint64_t[]){2, 3, 1000000, 0, (uint64_t)-1, 1, 7, 42});
    fake_lose(f, d, 0, 9);
    fake_cut_one(f, d, 0, METRIC, (uint64_t[]){FPS, SERVER, bits(27)});
    fake_cut_one(f, d, 0, METRIC, (uint64_t[]){FPS, SERVER, bits(31)});
    fake_cut_one(f, d, 0, METRIC, (uint64_t[]){FPS, SERVER, bits(29)});
    fake_cut_one(f, d, 0, METRIC, (uint64_t[]){FPS, SERVER, bits(NAN)});
    fake_cut_one(f, d, 0, SELF, (uint64_t[]){3000, 20, 200, 2000, 0, 0, 3000000, bits(2.5), 3500000});
    fake_cut_one(f, d, 0, CLOCK, (uint64_t[]){0, 1, 0, 900, 0, 0});
    fake_cut_one(f, d, 0, CLOCK, (uint64_t[]){1, 3, 2, 1200, 1, 17});
    fake_cut_one(f, d, 0, POLLING, (uint64_t[]){0, 1000000, 0, 0, 0});
    fake_cut_one(f, d, 0, POLLING, (uint64_t[]){1, 250000, 1, 1, 64});
    fake_cut_one(f, d, 0, CONCLUSION, (uint64_t[]){0, 1, (uint64_t)-1, bits(12.5), bits(10), 0});
    fake_cut_one(f, d, 0, CONCLUSION, (uint64_t[]){3, 0, (uint64_t)-1, bits(NAN), bits(NAN), 7});
    fake_cut_one(f, d, 0, KNOB, (uint64_t[]){SERVER, FPS, 0, 77, 3, (uint64_t)-5, 40, 1, bits(24.5), 2, 9});
    fake_cut_one(f, d, 0, FLOW, (uint64_t[]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    fake_cut_one(f, d, 0, FLOW, (uint64_t[]){100, 1, 2, 3, 0, 20, 10, 4, 5, 6});
    fake_cut_one(f, d, 0, FLOW, (uint64_t[]){400, 1, 2, 3, 0, 30, 10, 5, 5, 6});
    fake_cut_one(f, d, 0, EXPIRED, (uint64_t[]){SERVER, FPS, 77, 100000000, 30, 2});
    fake_cut_one(f, d, 0, EXPIRED, (uint64_t[]){SERVER, FPS, 78, 100000000, 5, 5});
    fake_cut_one(f, d, 0, EXPIRED, (uint64_t[]){SERVER, FPS, 77, 100000000, 60, 3});
}

TEST_WITH(setup, teardown, built_in_aspects_become_facts_once_however_often_it_starts)
{
    struct fixture *t = *test_state;
    unsigned d = add_daemon(t->sensor);
    /* Of another ring, stored later with earlier times: the last packet need not have the latest record. */
    fake_cut_one(t->sensor, d, 1, CLOCK, (uint64_t[]){0, 1, 0, 5, 0, 0});
    fake_cut_one(t->sensor, d, 1, EXPIRED, (uint64_t[]){SERVER, FPS, 77, 100000000, 30, 1});
    record_the_daemon(t->sensor, d);
    know(t, d);
    feed(t, d, clock_now());
    assert_int_equal(rundb_save(t->rundb, t->model), 0);
    what_the_daemon_records_of_itself_is_told(t);
    for (int i = 0; i < 2; i++) {
        stop(t);
        start(t);
        assert_int_equal(rundb_save(t->rundb, t->model), 0);
        what_the_daemon_records_of_itself_is_told(t);
    }
    assert_int_equal(recover_rows(t->rundb, t->store, t->model), 0);
    assert_int_equal(rundb_save(t->rundb, t->model), 0);
    what_the_daemon_records_of_itself_is_told(t);
}

/* Aspects of the SUT may have the names of built-in ones: they make no rows. */
TEST_WITH(setup, teardown, aspects_named_like_built_in_ones_are_not_believed)
{
    struct fixture *t = *test_state;
    struct summary *s;
    unsigned d = add_daemon(t->sensor);
    t->sensor->processes[d]->said.role = ROLE_SUT;
    record_the_daemon(t->sensor, d);
    know(t, d);
    feed(t, d, 0);
    assert_int_equal(rundb_save(t->rundb, t->model), 0);
    assert_int_equal(summary_load(t->dir, &s), 0);
    assert_int_equal(s->limit_count + s->decision_count + s->metric_count, 0);
    assert_int_equal(s->nodes[0].records, 0);
    summary_free(s);
}

TEST_WITH(setup, teardown, a_start_after_a_kill_has_positions_and_counts_again)
{
    struct fixture *t = *test_state;
    unsigned app = fake_add_process(t->sensor, "app", 1, ROLE_SUT);
    struct model_process *p = know(t, app);
    fake_cut(t->sensor, app, 0, 40);
    fake_lose(t->sensor, app, 0, 4);
    fake_cut(t->sensor, app, 0, 50);
    feed(t, app, clock_now());
    uint64_t stored[2] = {p->counts[1].stored, p->counts[2].stored};
    struct message_position at = p->streams[0]->at;
    const struct fake_stream *s = &t->sensor->processes[app]->rings[0];
    char path[128], hidden[128];
    snprintf(path, sizeof path, "%s/trace/desk/app-1-0", t->dir);
    snprintf(hidden, sizeof hidden, "%s/trace/desk/.app-1-1", t->dir);
    int fd = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, s->bytes + s->starts[1], 300), 300); /* the next one was being written */
    close(fd);
    assert_int_equal(file_replace(hidden, "x", 1), 0);
    (void)!rundb_close(t->rundb); /* without a save: the database lacks the counts */
    store_close(t->store);
    model_free(t->model);
    start(t);
    p = model_find_process(t->model->nodes, t->sensor->processes[app]->said.instance);
    assert_non_null(p);
    assert_memory_equal(&p->streams[0]->at.next_seq, &at.next_seq, 3 * sizeof at.next_seq);
    assert_int_equal(p->counts[1].stored, stored[0]);
    assert_int_equal(p->counts[2].stored, stored[1]);
    assert_int_equal(t->model->totals.records, 90);
    assert_true(fake_file_is_right(s, path, true));
    assert_int_equal(access(hidden, F_OK), -1);
    fake_cut(t->sensor, app, 0, 5);
    feed(t, app, clock_now());
    assert_true(fake_file_is_right(s, path, true));
}

TEST_WITH(setup, teardown, what_follows_damage_is_cut_and_comes_again)
{
    struct fixture *t = *test_state;
    unsigned app = fake_add_process(t->sensor, "app", 1, ROLE_SUT);
    know(t, app);
    for (int i = 0; i < 4; i++)
        fake_cut(t->sensor, app, 0, 40);
    feed(t, app, clock_now());
    struct fake_stream *s = &t->sensor->processes[app]->rings[0];
    char path[128];
    snprintf(path, sizeof path, "%s/trace/desk/app-1-0", t->dir);
    stop(t);
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "", 1, (off_t)s->starts[3]), 1); /* the magic of packet 3 */
    close(fd);
    start(t);
    struct model_process *p = model_find_process(t->model->nodes, t->sensor->processes[app]->said.instance);
    assert_int_equal(p->streams[0]->at.next_seq, 3);
    s->acked = 3;
    feed(t, app, clock_now());
    assert_true(fake_file_is_right(s, path, true));
}

TEST(each_error_of_sqlite_is_one_of_ours)
{
    static const struct {
        int theirs, ours;
    } errors[] = {{SQLITE_OK, 0},
                  {SQLITE_ROW, 0},
                  {SQLITE_DONE, 0},
                  {SQLITE_FULL, BEZEL_ENOSPC},
                  {SQLITE_BUSY, BEZEL_EBUSY},
                  {SQLITE_BUSY_SNAPSHOT, BEZEL_EBUSY},
                  {SQLITE_LOCKED, BEZEL_EBUSY},
                  {SQLITE_NOMEM, BEZEL_ENOMEM},
                  {SQLITE_PERM, BEZEL_EPERM},
                  {SQLITE_READONLY, BEZEL_EPERM},
                  {SQLITE_CORRUPT, BEZEL_EMALFORMED},
                  {SQLITE_NOTADB, BEZEL_EMALFORMED},
                  {SQLITE_TOOBIG, BEZEL_EMALFORMED},
                  {SQLITE_INTERRUPT, BEZEL_ETIMEDOUT},
                  {SQLITE_CONSTRAINT, BEZEL_EINVAL},
                  {SQLITE_IOERR, BEZEL_ESYS}};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        errno = EIO;
        assert_int_equal(rundb_error(NULL, errors[i].theirs), errors[i].ours);
        assert_int_equal(errno, errors[i].theirs == SQLITE_FULL ? ENOSPC : 0);
    }
}
