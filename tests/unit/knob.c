// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Knobs: what a process declares is found and turned by the external sensor, and read back by the process, which never
 * leaves its range. What stands there after forks, ends and kills.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "mdr/parts.h"
#include "sensor/external/external_internal.h"
#include "sensor/external/program_knobs.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int32_t knob_cc(void);

BEZEL_KNOB(quality, "%", 10, 100, 75);
BEZEL_KNOB(whole, "1", INT32_MIN, INT32_MAX, 0);
BEZEL_ASPECT(alive);

/* What child and test tell each other. */
static struct shared {
    _Atomic int32_t quality, whole, namespaced, by_hand, in_child, twin, other;
    _Atomic bool end;
    _Atomic int fork_now; /* a bool cannot be exchanged on RISC-V without libatomic */
} * shared;

static struct fixture f;
static const uint8_t another_run[16] = "another run";

static int begin(void **unused)
{
    (void)unused;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    memset(&f, 0, sizeof f);
    fixture_open(&f);
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    munmap(shared, sizeof *shared);
    return 0;
}

/* ---- The process ------------------------------------------------------------------------------------------------- */

static struct bezel_knob by_hand = {&bezel_knob_unset, "by_hand", "ms", 1, 9, 5, 0, 0};

static void show(void)
{
    shared->quality = bezel_knob(quality);
    shared->whole = bezel_knob(whole);
    shared->namespaced = knob_cc();
    shared->by_hand = bezel_knob_value(&by_hand);
    usleep(1000);
}

static void fork_a_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        shared->in_child = bezel_knob(quality);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void read_on(void *unused)
{
    (void)unused;
    bezel_knob_register(&by_hand);
    bezel_record(alive);
    while (!shared->end) {
        show();
        if (atomic_exchange(&shared->fork_now, 0))
            fork_a_child();
    }
}

static void declare_too_many(void *unused)
{
    static struct bezel_knob more[BEZEL_KNOBS_MAX];
    static char names[BEZEL_KNOBS_MAX][16];
    (void)unused;
    for (int i = 0; i < BEZEL_KNOBS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "more%d", i);
        more[i] = (struct bezel_knob){&bezel_knob_unset, names[i], "1", 0, 9, 3, 0, 0};
        bezel_knob_register(&more[i]);
    }
    read_on(NULL);
}

static void declare_badly(void *unused)
{
    static struct bezel_knob twin = {&bezel_knob_unset, "quality", "%", 10, 100, 75, 0, 0},
                             other = {&bezel_knob_unset, "quality", "%", 10, 99, 75, 0, 0},
                             range = {&bezel_knob_unset, "range", "1", 2, 1, 1, 0, 0},
                             name = {&bezel_knob_unset, "not a name", "1", 0, 1, 1, 0, 0},
                             unit = {&bezel_knob_unset, "unit", "twenty bytes of text", 0, 1, 1, 0, 0};
    struct bezel_knob *const all[] = {&twin, &other, &range, &name, &unit};
    (void)unused;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        bezel_knob_register(all[i]);
    bezel_record(alive);
    while (!shared->end) {
        show();
        shared->twin = bezel_knob_value(&twin);
        shared->other = bezel_knob_value(&other);
    }
}

/* ---- Above it ---------------------------------------------------------------------------------------------------- */

static struct external_process *process(void)
{
    for (uint32_t i = 0; i < external_process_count(f.external); i++)
        if (external_process(f.external, i))
            return external_process(f.external, i);
    return NULL;
}

/* Turns until the first process has `count` knobs. */
static struct external_process *find_knobs(uint32_t count)
{
    int64_t until = clock_now() + PATIENCE;
    for (; clock_now() < until; usleep(1000)) {
        fixture_turn(&f);
        if (process() && external_knob_count(f.external, process()) == count)
            return process();
    }
    fail_msg("no process with %u knobs", count);
    return NULL;
}

static void wait_for(const _Atomic int32_t *place, int32_t value)
{
    int64_t until = clock_now() + PATIENCE;
    for (; clock_now() < until && *place != value; usleep(1000))
        fixture_turn(&f);
    assert_int_equal(*place, value);
}

static void turn(const char *name, int32_t value, int32_t expected_before)
{
    int32_t before;
    int i = external_knob_find(process(), name);
    assert_true(i >= 0);
    assert_int_equal(external_knob_set(process(), (uint32_t)i, value, &before), 0);
    assert_int_equal(before, expected_before);
    assert_int_equal(segment_knob(process()->at, (uint32_t)i), value);
}

static void finish(pid_t pid)
{
    shared->end = true;
    assert_int_equal(fixture_wait(pid), 0);
    fixture_end(&f);
}

TEST_WITH(begin, end, what_is_turned_is_read)
{
    assert_int_equal(bezel_knob(quality), 75);
    pid_t pid = fixture_spawn(read_on, NULL);
    struct external_process *p = find_knobs(4);
    const struct knob *k = &p->at->knobs->knob[external_knob_find(p, "quality")];
    assert_string_equal(k->unit, "%");
    assert_true(k->min == 10 && k->max == 100 && k->initial == 75);
    assert_int_equal(external_knob_find(p, "qualit"), -1);
    wait_for(&shared->quality, 75);
    turn("quality", 20, 75);
    wait_for(&shared->quality, 20);
    turn("whole", INT32_MIN, 0);
    wait_for(&shared->whole, INT32_MIN);
    turn("whole", INT32_MAX, INT32_MIN);
    wait_for(&shared->whole, INT32_MAX);
    turn("namespaced", INT32_MAX, -7);
    wait_for(&shared->namespaced, INT32_MAX);
    turn("by_hand", 9, 5);
    wait_for(&shared->by_hand, 9);
    assert_int_equal(shared->quality, 20);
    finish(pid);
}

TEST_WITH(begin, end, nothing_is_turned_out_of_its_range)
{
    int32_t before;
    pid_t pid = fixture_spawn(read_on, NULL);
    struct external_process *p = find_knobs(4);
    uint32_t i = (uint32_t)external_knob_find(p, "quality");
    assert_int_equal(external_knob_set(p, i, 9, &before), BEZEL_EINVAL);
    assert_int_equal(external_knob_set(p, i, 101, &before), BEZEL_EINVAL);
    assert_int_equal(external_knob_set(p, 4, 1, &before), BEZEL_ENOENT);
    assert_int_equal(segment_knob(p->at, i), 75);
    /* Whatever an evil hand writes into the shared memory. */
    p->at->segment->knob_shift[i] = 1000;
    wait_for(&shared->quality, 100);
    assert_int_equal(segment_knob(p->at, i), 100);
    p->at->segment->knob_shift[i] = (uint32_t)-1000;
    wait_for(&shared->quality, 10);
    p->at->segment->knobs[i].max = INT32_MAX; /* its range is the program's own */
    p->at->segment->knob_shift[i] = 1000;
    wait_for(&shared->quality, 100);
    finish(pid);
}

static bool has_note(const char *code, const char *part)
{
    for (uint32_t i = 0; i < external_note_count(f.external); i++) {
        const struct message_note *n = external_note(f.external, i);
        if (strcmp(n->code, code) == 0 && strstr(n->text, part))
            return true;
    }
    return false;
}

/* Notes of a process come after its knobs are found. */
static bool is_told(const char *code, const char *part)
{
    int64_t until = clock_now() + PATIENCE;
    while (!has_note(code, part) && clock_now() < until) {
        fixture_turn(&f);
        clock_sleep_until(clock_now() + CLOCK_MS);
    }
    return has_note(code, part);
}

TEST_WITH(begin, end, those_beyond_the_table_are_told_and_stay)
{
    pid_t pid = fixture_spawn(declare_too_many, NULL);
    find_knobs(BEZEL_KNOBS_MAX);
    assert_true(external_knob_find(process(), "more0") >= 0);
    assert_int_equal(external_knob_find(process(), "more15"), -1);
    wait_for(&shared->by_hand, 5);
    fixture_turn(&f);
    assert_true(is_told("BEZEL-KNOB-REFUSED", "the process has 16 already"));
    finish(pid);
}

TEST_WITH(begin, end, what_breaks_a_rule_is_told_and_twins_are_one)
{
    pid_t pid = fixture_spawn(declare_badly, NULL);
    find_knobs(3);
    turn("quality", 30, 75);
    wait_for(&shared->quality, 30);
    wait_for(&shared->twin, 30);
    wait_for(&shared->other, 75);
    assert_true(is_told("BEZEL-KNOB-REFUSED", "another knob of this name"));
    assert_true(is_told("BEZEL-KNOB-REFUSED", "out of its range"));
    assert_true(is_told("BEZEL-KNOB-REFUSED", "its name is not allowed"));
    assert_true(is_told("BEZEL-KNOB-REFUSED", "its unit"));
    finish(pid);
}

TEST_WITH(begin, end, a_child_begins_anew)
{
    pid_t pid = fixture_spawn(read_on, NULL);
    find_knobs(4);
    turn("quality", 20, 75);
    wait_for(&shared->quality, 20);
    shared->fork_now = 1;
    wait_for(&shared->in_child, 75);
    wait_for(&shared->quality, 20);
    finish(pid);
}

TEST_WITH(begin, end, the_end_of_observation_turns_everything_back)
{
    pid_t pid = fixture_spawn(read_on, NULL);
    find_knobs(4);
    turn("quality", 20, 75);
    wait_for(&shared->quality, 20);
    external_finish(f.external, clock_now());
    wait_for(&shared->quality, 75);
    assert_int_equal(external_knob_count(f.external, process()), 0);
    finish(pid);
}

/* An external sensor that turns a knob of whoever is there, and is killed. */
static void turn_and_be_killed(void *unused)
{
    (void)unused;
    fixture_reopen(&f);
    while (!process() || external_knob_count(f.external, process()) != 4) /* and leaves all packets to the next life */
        external_housekeep(f.external, clock_now());
    turn("quality", 20, 75);
    raise(SIGKILL);
}

TEST_WITH(begin, end, a_kill_leaves_it_for_the_next_life_and_another_run_turns_it_back)
{
    external_close(f.external, false);
    pid_t pid = fixture_spawn(read_on, NULL);
    int status = fixture_wait(fixture_spawn(turn_and_be_killed, NULL));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    fixture_reopen(&f);
    find_knobs(4);
    wait_for(&shared->quality, 20);
    turn("quality", 21, 20); /* the next life knows where it stands */
    wait_for(&shared->quality, 21);
    segment_begin_session(process()->at, f.options.run); /* as the next trace of this run does */
    assert_int_equal(atomic_load(&shared->quality), 21);
    segment_begin_session(process()->at, another_run); /* as one of another run does when it takes it */
    wait_for(&shared->quality, 75);
    finish(pid);
}

TEST_WITH(begin, end, what_makes_no_sense_is_not_believed)
{
    pid_t pid = fixture_spawn(read_on, NULL);
    struct segment *s = find_knobs(4)->at->segment;
    s->knobs[0].min = 1000; /* known already: nothing changes */
    fixture_turn(&f);
    assert_int_equal(process()->at->knobs->knob[0].initial, s->knobs[0].initial);
    assert_true(process()->at->knobs->knob[0].min <= process()->at->knobs->knob[0].initial);
    s->knobs[4] = s->knobs[3]; /* twice the same name */
    s->knob_count = 5;
    fixture_turn(&f);
    assert_int_equal(external_knob_count(f.external, process()), 4);
    assert_true(is_told("BEZEL-KNOBS-BROKEN", "invalid knob"));
    s->knob_count = UINT32_MAX;
    fixture_turn(&f);
    turn("quality", 20, 75); /* those that were known go on */
    finish(pid);
}
