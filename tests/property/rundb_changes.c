// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The copy of a run's database in a mirror. A collector does all that collectors do, at random: nodes, processes,
 * dictionaries, packets, losses, records of its own, notes, sections that begin, expire and are joined, rows that are
 * made anew, kills, orderly ends; `bezel run` writes beside it. After each commit of the copy every table in it is that
 * of the run; server and mirror end at any moment, also within the rows, and begin again.
 */
#include "collector/receive/recover.h"
#include "mdr/builtin.h"
#include "mdr/parts.h"
#include "run/rundb/rundb_save.h"
#include "run/rundb/rundb_sections.h"
#include "run/verify/verify.h"
#include "tests/lib/rundb_copy.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"

#include <math.h>

enum { STEPS = 1500, RINGS = 2, SAID = 2048 };

static uint64_t seed;
static struct scene {
    char dir[SCRATCH_PATH], mirror[SCRATCH_PATH];
    struct fake_sensor *sensor;
    struct stored_run run;
    int64_t now;
    uint32_t aspects[BUILTIN_COUNT]; /* of the daemon, process 0 */
    struct copy copy;
    bool finished; /* the copy was made with it */
    unsigned commits, cuts, nodes;
} t;

static void look(void);

static uint64_t draw(uint64_t below)
{
    return seed_next(&seed) % below;
}

/* ---- what the collector does ------------------------------------------------------------------------------------- */

static bool is_full(unsigned process, unsigned ring)
{
    return t.sensor->processes[process]->rings[ring].packets >= FAKE_PACKETS - 4;
}

static void cut_records(void)
{
    unsigned process = (unsigned)draw(t.sensor->process_count), ring = (unsigned)draw(RINGS);
    if (is_full(process, ring))
        return;
    if (draw(4) == 0)
        fake_lose(t.sensor, process, ring, 1 + draw(100));
    else
        fake_cut(t.sensor, process, ring, 1 + (uint32_t)draw(30));
    if (draw(6) == 0)
        fake_add_string(t.sensor, process, draw(2) ? "one more" : "");
}

/* Few values, so that rows of which the latest stays replace each other. */
static void cut_own_record(void)
{
    enum builtin b = (enum builtin)draw(BUILTIN_COUNT);
    const struct dict_aspect *a = &builtin_aspects[b];
    uint64_t values[DICT_FIELDS_MAX];
    double real = draw(3) == 0 ? NAN : draw(3) == 0 ? INFINITY : (double)draw(100) / 8;
    for (uint32_t i = 0; i < a->field_count; i++) {
        values[i] = draw(2);
        if (a->fields[i].type == DICT_FLOAT64)
            memcpy(&values[i], &real, sizeof real);
        else if (a->fields[i].type == DICT_INT64 && draw(5) == 0)
            values[i] = UINT64_MAX - draw(3);
    }
    if (!is_full(0, 0))
        fake_cut_one(t.sensor, 0, (unsigned)draw(RINGS), t.aspects[b], values);
}

static void add_process(void)
{
    if (t.sensor->process_count < FAKE_PROCESSES)
        fake_add_process(t.sensor, "app", 100 + t.sensor->process_count, ROLE_SUT);
}

static void add_node(void)
{
    struct message_hello hello = {.uuid = {(uint8_t)(t.nodes + 1), 9}, .clock = {1}};
    snprintf(hello.node, sizeof hello.node, "other%u", t.nodes);
    if (t.nodes++ >= 20)
        return;
    struct model_node *node = model_add_node(t.run.model, &hello);
    assert_non_null(node);
    assert_int_equal(rundb_add_node(t.run.rundb, node), 0);
    node->left = draw(2);
    node->dirty = true;
}

static void add_note(void)
{
    struct message_note note = {.instance = draw(3), .pid = (uint32_t)draw(3), .at = draw(9)};
    snprintf(note.name, sizeof note.name, "app%d", (int)draw(3));
    snprintf(note.code, sizeof note.code, "%s", draw(2) ? "BEZEL-A" : RUNDB_NO_SEGMENT);
    snprintf(note.text, sizeof note.text, "%d", (int)draw(3));
    assert_int_equal(rundb_add_note(t.run.rundb, t.run.node, &note), 0);
}

static void make_rows_anew(void)
{
    assert_int_equal(recover_rows(t.run.rundb, t.run.store, t.run.model), 0);
    if (draw(2))
        assert_int_equal(rundb_commit(t.run.rundb), 0);
}

static void begin(void)
{
    assert_int_equal(stored_start(&t.run, t.dir, t.sensor, STORE_SYNC_NEVER), 0);
}

static void begin_again(void)
{
    struct rundb_section sections[RUNDB_SECTIONS_MAX];
    size_t count;
    assert_int_equal(rundb_load_sections(t.run.rundb, sections, &count), 0);
    if (draw(3) == 0 && count > 0) {
        assert_int_equal(rundb_commit(t.run.rundb), 0);
        assert_int_equal(rundb_join_sections(t.run.rundb), 0);
        assert_int_equal(rundb_commit(t.run.rundb), 0);
        look();
    }
    if (draw(2) == 0)
        assert_int_equal(stored_stop(&t.run), 0);
    else
        stored_drop(&t.run);
    begin();
}

/* ---- what `bezel run` does --------------------------------------------------------------------------------------- */

static void write_beside(void)
{
    struct rundb *f;
    struct message_launched row = {.of = {.process = "app", .incarnation = (uint32_t)draw(4)}, .pid = 17};
    row.state = LAUNCHED_ENDED;
    row.error = (int)draw(9);
    assert_int_equal(rundb_commit(t.run.rundb), 0);
    assert_int_equal(rundb_open(t.dir, &f), 0);
    assert_int_equal(rundb_put_int(f, draw(2) ? "ended" : "outcome", (int64_t)draw(5)), 0);
    assert_int_equal(rundb_event(f, (int64_t)draw(5), draw(2), "said"), 0);
    assert_int_equal(rundb_program(f, draw(2) ? "desk" : "far", &row, draw(3)), 0);
    assert_int_equal(rundb_silent(f, draw(2) ? "desk" : "nowhere", "nav", (int64_t)draw(9), "nothing"), 0);
    assert_int_equal(rundb_close(f), 0);
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

static void take_bytes(size_t n)
{
    for (size_t at = 0, piece; at < n; at += piece) {
        piece = 1 + draw(draw(2) ? 20 : 70000);
        piece = piece < n - at ? piece : n - at;
        assert_int_equal(rundb_apply_bytes(t.copy.apply, t.copy.bytes.at + at, piece), 0);
    }
}

/* Server or mirror end in the middle of the rows. Nothing of these is in the copy. */
static void look_and_cut(void)
{
    if (!copy_look(&t.copy, -1, t.finished))
        return;
    take_bytes(draw(t.copy.bytes.n + 1));
    if (draw(2))
        copy_close_apply(&t.copy);
    else
        copy_close_changes(&t.copy);
    t.cuts++;
}

static void look(void)
{
    t.finished = draw(4) == 0;
    if (draw(4) == 0 && copy_look(&t.copy, RUNDB_CHANGES_EXPLAIN, t.finished)) {
        sqlite3 *db = copy_attach(&t.copy);
        take_bytes(t.copy.bytes.n);
        assert_int_equal(rundb_apply_commit(t.copy.apply), 0);
        copy_assert_table(db, "nodes", "");
        copy_assert_table(db, "processes", "");
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
    }
    if (copy_look(&t.copy, -1, t.finished))
        take_bytes(t.copy.bytes.n);
    assert_int_equal(rundb_apply_commit(t.copy.apply), 0);
    copy_assert_same(&t.copy, t.finished);
    assert_false(copy_look(&t.copy, -1, t.finished));
    t.commits++;
}

static void end_and_begin(void)
{
    if (draw(2))
        copy_close_apply(&t.copy);
    else
        copy_close_changes(&t.copy);
}

/* ---- the course -------------------------------------------------------------------------------------------------- */

static void step(void)
{
    static void (*const acts[])(void) = {cut_records, cut_records, cut_records,    cut_own_record, cut_own_record,
                                         add_process, add_note,    make_rows_anew, write_beside,   add_node};
    uint64_t what = draw(40);
    if (what < 20)
        acts[what % (sizeof acts / sizeof *acts)]();
    else if (what < 26)
        assert_int_equal(stored_feed(&t.run, 1 + draw(30)), 0);
    else if (what < 29)
        assert_int_equal(stored_save(&t.run), 0);
    else if (what < 33)
        stored_keep(&t.run);
    else if (what == 33 && draw(4) == 0)
        begin_again();
    else if (what == 34)
        look_and_cut();
    else if (what == 35)
        end_and_begin();
    else if (what > 35)
        look();
    t.now += (int64_t)draw(3) * CLOCK_S;
}

static void begin_scene(void)
{
    static const uint8_t id[16] = "a run's identity";
    memset(&t, 0, sizeof t);
    scratch_make(t.dir);
    scratch_make(t.mirror);
    t.now = clock_now();
    t.sensor = fake_new("desk", id, seed_next(&seed));
    fake_add_process(t.sensor, "bezeld", 1, ROLE_DAEMON);
    for (enum builtin b = 0; b < BUILTIN_COUNT; b++)
        t.aspects[b] = fake_add_aspect_like(t.sensor, 0, &builtin_aspects[b]);
    fake_add_process(t.sensor, "app", 2, ROLE_SUT);
    t.run = (struct stored_run){.keep_to = {.time = 60 * CLOCK_S}, .now = &t.now};
    t.copy = (struct copy){.run = t.dir, .to = t.mirror};
    begin();
}

static void hear(const struct verify_report *f, void *context)
{
    size_t n = strlen(context);
    snprintf((char *)context + n, SAID - n, "%s: %s: %s. ", f->code, f->file, f->text);
}

static void verified(const char *dir, char said[SAID])
{
    struct verify v = {.report = hear, .context = said};
    struct rundb *f;
    said[0] = '\0';
    assert_int_equal(rundb_open_read(dir, &f), 0);
    assert_int_equal(rundb_check_seal(f, false), RUNDB_SEALED);
    assert_int_equal(rundb_close(f), 0);
    assert_int_equal(verify_run(&v, dir), 0);
    assert_true(v.totals.records > 0);
}

/* With the packets, which are not the subject here, the copy proves as much as the run. */
static void assert_verified(void)
{
    char from[SCRATCH_PATH + 8], to[SCRATCH_PATH + 8], said[SAID], of_copy[SAID];
    verified(t.dir, said);
    snprintf(from, sizeof from, "%s/trace", t.dir);
    snprintf(to, sizeof to, "%s/trace", t.mirror);
    assert_int_equal(rename(from, to), 0);
    verified(t.mirror, of_copy);
    assert_string_equal(of_copy, said);
}

TEST(the_copy_is_what_the_database_was)
{
    begin_scene();
    for (int i = 0; i < STEPS; i++)
        step();
    assert_int_equal(stored_feed(&t.run, UINT64_MAX), 0);
    stored_end(&t.run);
    assert_int_equal(stored_stop(&t.run), 0);
    copy_all(&t.copy, false);
    copy_assert_same(&t.copy, false);
    copy_all(&t.copy, true); /* nothing has changed but that the rest is sent */
    copy_assert_same(&t.copy, true);
    copy_close_apply(&t.copy);
    assert_verified();
    free(t.copy.bytes.at);
    fake_free(t.sensor);
    printf("%u commits, %u cuts\n", t.commits, t.cuts);
    assert_true(t.commits > 10 && t.cuts > 0);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
