// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What a step of store.keep costs, where processes come and go: as many SQLite instructions late in a run as early, so
 * it does not follow from the number of streams that ever were.
 */
#include "run/rundb/rundb_save.h"
#include "run/rundb/rundb_sections.h"
#include "run/rundb/rundb_sqlite.h"
#include "tests/lib/grown_run.h"
#include "tests/lib/test.h"

enum { ROUNDS = 60, SHORT = 12, KEPT = 4 };

static struct grown g;
static uint64_t instructions;

static int count_instructions(void *unused)
{
    (void)unused;
    instructions++;
    return 0;
}

/* Some processes come, record, and end, as far as their rows are concerned. */
static void let_pass(uint32_t round)
{
    struct model_node *node = get_node(&g, 0);
    for (uint32_t i = 0; i < SHORT; i++) {
        struct model_process *p = add_process(&g, node, "short", 100 + round * SHORT + i);
        for (uint32_t records = 0; records <= 5; records += 5)
            append(&g, p, 0, records, g.clock[0], g.clock[0] + 1000);
        p->counts[1].stored = 5;
        p->dirty = true;
    }
    assert_int_equal(rundb_save(g.rundb, g.model), 0);
}

/* Evicts all but the process that stays. */
static void evict(const struct model_process *stays)
{
    struct model_node *node = get_node(&g, 0);
    for (struct model_process **at = &node->active; *at;) {
        struct model_process *p = *at;
        if (p == stays) {
            at = &p->next_active;
            continue;
        }
        p->active = false;
        *at = p->next_active;
        p->ended = true;
        p->next_ended = node->ended;
        node->ended = p;
    }
}

static int64_t number_of(const char *query)
{
    sqlite3_stmt *s;
    assert_int_equal(sqlite3_prepare_v2(g.rundb->db, query, -1, &s, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return n;
}

static uint64_t free_expired(void)
{
    uint64_t n = 0;
    for (; g.model->expired; g.model->expired = g.model->expired->next_expired, n++)
        g.model->expired->is_expired = false;
    return n;
}

TEST(a_step_does_not_cost_more_because_there_were_more_streams)
{
    uint64_t cost[ROUNDS] = {0}, bytes = 0;
    grown_open(&g, "passing");
    g.intact = true;
    struct model_process *stays = add_process(&g, get_node(&g, 0), "stays", 1);
    sqlite3_progress_handler(g.rundb->db, 1, count_instructions, NULL);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const struct rundb_section next = {round + 1, round, 1};
        for (uint32_t records = 0; records <= 5; records += 5)
            append(&g, stays, round % 2, records, g.clock[0], g.clock[0] + 1000);
        stays->counts[1].stored += 5;
        stays->dirty = true;
        let_pass(round);
        evict(stays);
        instructions = 0;
        assert_int_equal(rundb_begin_section(g.rundb, g.model, &next), 0);
        if (round >= KEPT)
            assert_int_equal(rundb_expire(g.rundb, g.model, next.number - KEPT), 0);
        cost[round] = instructions;
        assert_int_equal(free_expired(), round >= KEPT ? SHORT + 1 : 0);
    }
    sqlite3_progress_handler(g.rundb->db, 0, NULL, NULL);
    printf("%d instructions, then %d\n", (int)cost[2 * KEPT], (int)cost[ROUNDS - 1]);
    assert_in_range(cost[ROUNDS - 1], 1, cost[2 * KEPT] * 5 / 4);
    /* Of each stream that expired the latest note is left, and the model has what they say. */
    uint64_t expired = (ROUNDS - KEPT) * SHORT + 2;
    assert_int_equal(
        number_of("SELECT count(*) FROM section_streams WHERE section <= (SELECT min(number) FROM sections)"), expired);
    assert_int_equal(
        number_of("SELECT count(*) FROM (SELECT DISTINCT process, ring FROM section_streams WHERE section <="
                  " (SELECT min(number) FROM sections))"),
        expired);
    for (const struct model_process *p = get_node(&g, 0)->processes; p; p = p->next)
        for (uint32_t ring = 0; ring < p->ring_count; ring++)
            bytes += p->streams[ring] ? p->streams[ring]->expired.bytes : 0;
    assert_int_equal(g.model->totals.expired_bytes, bytes);
    assert_int_equal(number_of("SELECT sum(bytes) FROM section_streams WHERE section <= (SELECT min(number) FROM"
                               " sections)"),
                     bytes);
    assert_int_equal(number_of("SELECT count(DISTINCT section) FROM section_books WHERE process = 1 AND section <="
                               " (SELECT min(number) FROM sections)"),
                     1);
    grown_close(&g);
}

int main(void)
{
    seed = seed_start();
    return test_run(scratch_begin, scratch_end);
}
