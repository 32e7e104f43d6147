// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A manager judges a limit over all nodes, and stands still now and then. Whom it tells changes: nodes are cut off,
 * come back, are killed and started again, and what they recorded last may not be stored. Whatever is drawn, the rows
 * of a run count at least the time that nobody judged, and where one node was told all along exactly that.
 */
#include "base/clock.h"
#include "mdr/message.h"
#include "run/history/summary.h"
#include "run/rundb/rundb.h"
#include "tests/lib/opened_node.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <math.h>

#include <sqlite3.h>

enum { NODES = 2, DAEMONS = 40, STEPS = 150, ROUNDS = 40 };

#define EVERY (100 * CLOCK_MS)

static const char text[] = "experiment: two\n"
                           "nodes: {a: {}, b: {}}\n"
                           "processes: [{name: p, node: a, command: [unused]}]\n"
                           "limits: [{expect: sensor_cpu <= 1 %, per: global}]\n";

static uint64_t seed;

/* What one life of a bezeld knows, and what is stored of it. */
struct life {
    int node;
    struct node_judged judged;
    int64_t stored_unjudged;
    struct message_judged told, stored;
};

static struct {
    struct message_judgement message; /* the latest, for all that it has judged */
    int64_t unjudged;                 /* as a person would count it */
    struct life daemons[DAEMONS];
    int count, of[NODES]; /* the latter: the one that each node has now */
    int reporter, silent; /* the node that is told, and for how many steps nothing reaches it */
    bool faulty, changed;
    int64_t now;
} world;

static bool is_drawn(int one_of)
{
    return seed_next(&seed) % (unsigned)one_of == 0;
}

static void start_life(int node_index)
{
    world.of[node_index] = world.count++;
    world.daemons[world.of[node_index]].node = node_index;
}

static void step_manager(void)
{
    struct message_judged *j = &world.message.list[0];
    int64_t passed = is_drawn(12) ? EVERY * (5 + (int64_t)(seed_next(&seed) % 60)) : EVERY;
    bool ever = j->held + j->violated > 0, was_end = j->violated > 0 && is_drawn(20);
    world.now += passed;
    if (was_end) { /* of a process: it looked like a violation */
        j->unknown += j->violated;
        j->violated = 0;
    }
    j->state = !ever && !is_drawn(8)     ? MESSAGE_LIMIT_UNKNOWN
               : !was_end && is_drawn(4) ? MESSAGE_LIMIT_VIOLATED
               : is_drawn(12)            ? MESSAGE_LIMIT_OPEN
                                         : MESSAGE_LIMIT_HELD;
    bool is_late = world.message.sequence == 0 || (ever && passed > EVERY); /* as the first one of all may be */
    bool is_unjudged = j->state == MESSAGE_LIMIT_OPEN || is_late;
    world.unjudged += is_unjudged ? passed : 0;
    *(is_unjudged || j->state == MESSAGE_LIMIT_UNKNOWN ? &j->unknown
      : j->state == MESSAGE_LIMIT_HELD                 ? &j->held
                                                       : &j->violated) += passed;
    world.message.sequence++;
}

/* The bezeld of the node that is told is killed, or cut off for a while; another one is told then, or its successor. */
static void draw_fault(void)
{
    if (!world.faulty || !is_drawn(20))
        return;
    world.changed = true;
    world.silent = 1 + (int)(seed_next(&seed) % 9);
    if (is_drawn(2) && world.count < DAEMONS)
        start_life(world.reporter);
    if (is_drawn(2))
        world.reporter = !world.reporter;
}

static void tell(void)
{
    static const struct command_request manager = {.peer = {.size = 7, .id = "manager"}};
    static struct message m;
    struct life *l = &world.daemons[world.of[world.reporter]];
    m.type = MESSAGE_JUDGEMENT;
    m.judgement = world.message;
    node->judged = l->judged;
    manager_client_receive(node, &manager, &m, world.now);
    l->judged = node->judged;
    l->told = l->judged.list[0];
    if (is_drawn(4)) {
        l->stored = l->told;
        l->stored_unjudged = l->judged.unjudged[0];
    }
}

static struct summary *stored(const char *run)
{
    static char statements[1 << 16];
    struct rundb *f;
    char path[SCRATCH_PATH + 16];
    sqlite3 *db;
    size_t n = (size_t)snprintf(statements, sizeof statements,
                                "INSERT INTO nodes VALUES(1, 'a', zeroblob(16), zeroblob(16), 0, 'a', 1, 0);"
                                "INSERT INTO nodes VALUES(2, 'b', randomblob(16), zeroblob(16), 0, 'b', 1, 0);");
    for (int i = 0; i < world.count; i++) {
        const struct life *l = &world.daemons[i];
        if (l->stored.held + l->stored.violated + l->stored.unknown == 0)
            continue;
        n += (size_t)snprintf(
            statements + n, sizeof statements - n,
            "INSERT INTO processes(id, node, instance, stream_id, pid, role, name, executable, started, base,"
            " dictionary, overwrites) VALUES(%d, %d, %d, %d, 1, 1, 'bezeld', '', 0, '%d', '', 0);"
            "INSERT INTO limits VALUES(%d, %d, 0, %d, 0, 0, 0, %lld, %lld, %lld, 0, %lld, 1, 0);",
            i + 1, l->node + 1, i + 1, i + 1, i, i + 1, i + 5, (int)l->stored.state % 3, (long long)l->stored.held,
            (long long)l->stored.violated, (long long)l->stored.unknown, (long long)l->stored_unjudged);
    }
    assert_int_equal(rundb_open(run, &f), 0);
    assert_int_equal(rundb_close(f), 0);
    snprintf(path, sizeof path, "%s/run.db", run);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, statements, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    struct summary *s = NULL;
    assert_int_equal(summary_load(run, &s), 0);
    return s;
}

static void begin_world(void)
{
    memset(&world, 0, sizeof world);
    world.now = clock_now();
    world.faulty = !is_drawn(4);
    world.message = (struct message_judgement){.leadership = {.epoch = 1, .holder = 7}, .count = 1};
    world.message.list[0] = (struct message_judged){.value = NAN, .worst = NAN, .ago = -1, .trusted_ago = -1};
    for (int i = 0; i < NODES; i++)
        start_life(i);
}

static int64_t time_of(int64_t held, int64_t violated, int64_t unknown)
{
    return held + violated + unknown;
}

/* Draws a run; at[i] is the time that the manager has judged by step i, of which unjudged[i] was not. */
static void draw_run(int64_t at[STEPS], int64_t unjudged[STEPS])
{
    begin_world();
    for (int i = 0; i < STEPS; i++) {
        const struct message_judged *j = &world.message.list[0];
        step_manager();
        at[i] = time_of(j->held, j->violated, j->unknown);
        unjudged[i] = world.unjudged;
        draw_fault();
        if (world.silent > 0)
            world.silent--;
        else
            tell();
    }
    for (int i = 0; i < NODES; i++) { /* these end in order, and record what they know */
        struct life *l = &world.daemons[world.of[i]];
        l->stored = l->told;
        l->stored_unjudged = l->judged.unjudged[0];
    }
}

static int open_node(void **state)
{
    scratch_begin(state);
    return opened_node(text);
}

TEST_WITH(open_node, close_node, what_nobody_judged_is_counted_whoever_is_told)
{
    int64_t at[STEPS], unjudged[STEPS];
    seed = seed_start();
    for (int round = 0; round < ROUNDS; round++) {
        char run[SCRATCH_PATH];
        int i = 0;
        draw_run(at, unjudged);
        scratch_make(run);
        struct summary *s = stored(run);
        assert_int_equal(s->limit_count, 1);
        const struct builtin_limit *row = &s->limits[0];
        while (i < STEPS - 1 && at[i] != time_of(row->held, row->violated, row->unknown))
            i++;
        assert_int_equal(at[i], time_of(row->held, row->violated, row->unknown));
        if (row->unjudged < unjudged[i] || row->unjudged > row->unknown ||
            (!world.changed && row->unjudged != unjudged[i]))
            fail_msg("round %d: %lld of %lld ns were not judged, not %lld", round, (long long)unjudged[i],
                     (long long)row->unknown, (long long)row->unjudged);
        summary_free(s);
        scratch_remove(run);
    }
}
