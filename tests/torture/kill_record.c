// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * kill -9 after every single instruction of a record: the reader finds exactly the completed records, and the books
 * balance. One process is killed after the first instruction, the next one after two, and so on, until one has
 * returned from the record. Likewise a signal whose handler records, after every instruction: no record of either is
 * lost or spoilt.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "mdr/parts.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/seed.h"
#include "tests/lib/step.h"
#include "tests/lib/test.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    SLOTS = RING_SLOTS_MIN,
    NUMBERS = 4 * SLOTS,
    STEPS_MAX = 1000000,
    SCENE_STEPS_FULL = 300000, /* in all lives of a scene, about: no instruction is left out; */
    SCENE_STEPS = 20000,       /* usually, and in the light version, */
    SCENE_STEPS_LIGHT = 2000,  /* some are */
    KILLS_MIN = 10,
    KILLS_MIN_LIGHT = 4,
};

BEZEL_ASPECT(none);
BEZEL_ASPECT(two, (int64, number, "1"), (int64, again, "1"));
BEZEL_ASPECT(twelve, (int64, number, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"),
             (int64, f, "1"), (int64, g, "1"), (int64, h, "1"), (int64, i, "1"), (int64, j, "1"), (int64, k, "1"),
             (int64, l, "1"));

BEZEL_WAIT(wait, lock);
BEZEL_LONG_SPAN(long_span, (int64, number, "1"), (int64, again, "1"));

enum { RECORDS_TWELVE = 1, OVERWRITES = 2, KERNEL_CLOCK = 4, DRAINED = 8, OPEN = 16 };

/* What a victim does: `before` records, then the one that is stepped through. */
struct scene {
    const char *name;
    uint32_t before;
    unsigned flags;
    uint32_t room; /* how many more records the ring has room for, as far as matters here */
    void (*stepped)(int64_t number);
    void (*prepare)(void); /* ahead of all records; may be NULL */
};

/* Shared with the victim. */
static struct notes {
    _Atomic uint32_t returned; /* from the record that is stepped through */
    _Atomic uint32_t handled;  /* records of the signal handler that were completed */
} * notes;

/* What the reader found in one life. */
static struct {
    uint32_t numberless, seen[NUMBERS];
    uint32_t left;       /* spans that the process left open */
    int64_t first, last; /* numbers; -1: none */
} found;

static const struct scene *scene;

/* ---- Victim ------------------------------------------------------------------------------------------------------ */

static void record_none(int64_t number)
{
    (void)number;
    bezel_record(none);
}

static void record_two(int64_t number)
{
    bezel_record(two, number, ~number);
}

static void record_twelve(int64_t number)
{
    bezel_record(twelve, number, number + 1, number + 2, number + 3, number + 4, number + 5, number + 6, number + 7,
                 number + 8, number + 9, number + 10, -number);
}

static bezel_span opened;

static void begin_wait(void)
{
    opened = bezel_begin(wait);
}

static void end_wait(int64_t number)
{
    (void)number;
    bezel_end(wait, opened);
}

static void begin_long_span(void)
{
    opened = bezel_begin(long_span);
}

static void end_long_span(int64_t number)
{
    bezel_end(long_span, opened, number, ~number); /* three values: out of line */
}

static void handle(int signal)
{
    (void)signal;
    record_two(scene->before + 1);
    notes->handled++;
}

static void declare(void)
{
    bezel_intern("a segment, and no ring");
}

static void victim(void *unused)
{
    (void)unused;
    struct sigaction action = {.sa_handler = handle};
    sigaction(SIGUSR1, &action, NULL);
    setenv("BEZEL_WHEN_FULL", scene->flags & OVERWRITES ? "overwrite" : "discard", 1);
    if (scene->flags & KERNEL_CLOCK)
        setenv("BEZEL_CLOCK", "monotonic", 1);
    if (scene->prepare)
        scene->prepare();
    for (int64_t n = 0; n < scene->before; n++)
        if (scene->flags & RECORDS_TWELVE)
            record_twelve(n);
        else
            record_two(n);
    step_stop();
    step_stop();
    scene->stepped(scene->before);
    notes->returned = 1;
    step_stop();
}

/* ---- Reader ------------------------------------------------------------------------------------------------------ */

static void take(struct fixture *f, const struct packet_header *h, const struct packet_record *r, const char *aspect)
{
    (void)f, (void)h;
    if (strcmp(aspect, "none") == 0 || strcmp(aspect, "wait") == 0 || strcmp(aspect, "long_span") == 0) {
        found.numberless++;
        return;
    }
    int64_t n = (int64_t)packet_value(r, 0);
    assert_true(n >= 0 && n < NUMBERS && ++found.seen[n] == 1);
    if (strcmp(aspect, "two") == 0) {
        assert_int_equal(packet_value(r, 1), ~n);
    } else {
        for (uint32_t i = 1; i < 11; i++)
            assert_int_equal(packet_value(r, i), n + i);
        assert_int_equal(packet_value(r, 11), -n);
    }
    found.first = found.first < 0 || n < found.first ? n : found.first;
    found.last = n > found.last ? n : found.last;
}

static void take_open(void *context, const struct external_process *p, const struct external_open_span *span)
{
    (void)context, (void)p;
    found.left += span->state == EXTERNAL_SPAN_LEFT;
}

static bool all_before_is_read(struct fixture *f)
{
    return f->records >= scene->before;
}

/*
 * Attempts = read + lost by cause + unfinished. Of the last records, `begun` were begun or about to be, `completed`
 * were completed, `kept` are there.
 */
static void check_books(struct fixture *f, uint32_t begun, uint32_t completed, uint32_t kept)
{
    struct message_books_row sum;
    uint64_t unfinished = fixture_books(f, NULL, &sum), attempts = sum.attempts, lost = sum.full;
    assert_int_equal(sum.off + sum.no_ring, 0);
    assert_true(attempts >= scene->before + completed && attempts <= scene->before + begun);
    if (scene->flags & OVERWRITES)
        return;
    assert_int_equal(attempts, f->records + lost + unfinished);
    assert_true(unfinished <= begun - completed);
    assert_true(lost + kept >= completed && lost + kept <= begun);
}

/* All records before the last two are there, but what was overwritten. Returns how many of the last two are. */
static uint32_t check_records(void)
{
    uint32_t numbered = scene->before;
    if (scene->flags & OVERWRITES) {
        for (int64_t n = found.first; n <= found.last; n++)
            assert_int_equal(found.seen[n], 1);
        assert_true(found.last >= scene->before - 1);
        assert_true(found.last - found.first >= SLOTS / (scene->flags & RECORDS_TWELVE ? 4 : 1) - 8);
    } else {
        for (uint32_t n = 0; n < numbered; n++)
            assert_int_equal(found.seen[n], 1);
    }
    return found.numberless + found.seen[numbered] + found.seen[numbered + 1];
}

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

/* How a life goes on. */
struct plan {
    int steps;     /* instructions of the record before the victim is killed */
    int interrupt; /* a signal comes after that many; negative: none */
    bool finish;   /* all is recorded before it is killed */
};

/* Goes on with the victim as planned; returns the number of instructions. */
static int step_through(pid_t pid, const struct plan *plan)
{
    int n = 0;
    for (; n < plan->steps && !notes->returned && !(plan->finish && n == plan->interrupt); n++)
        assert_true(step_once(pid, n == plan->interrupt ? SIGUSR1 : 0, NULL));
    if (plan->finish && !notes->returned) {
        step_continue(pid, plan->interrupt < 0 ? 0 : SIGUSR1);
        assert_true(step_wait(pid));
    }
    return n;
}

/*
 * One victim. Returns how many of its last records were found; *done says how many instructions there were. Skips the
 * test where nothing can be stepped.
 */
static uint32_t one_life(struct plan plan, int *done)
{
    struct fixture f = {.options = {.batch = true,
                                    .take_all = true,
                                    .window_bytes = WINDOW_BYTES_MIN,
                                    .observer = {.open_span = take_open}},
                        .record = take};
    memset(notes, 0, sizeof *notes);
    memset(&found, 0, sizeof found);
    found.first = found.last = -1;
    fixture_open(&f);
    pid_t pid = fixture_spawn(victim, NULL);
    if (!step_wait(pid)) {
        fixture_end(&f);
        printf("skipped: no process may be single-stepped here\n");
        skip();
    }
    if (scene->flags & DRAINED)
        fixture_until(&f, all_before_is_read);
    step_continue(pid, 0);
    assert_true(step_wait(pid));
    *done = step_through(pid, &plan);
    step_kill(pid);
    external_housekeep(f.external, clock_now() + 2 * CLOCK_S); /* looks through the folder, if it rang or not */
    fixture_until(&f, fixture_nobody_lives);
    uint32_t kept = check_records(), completed = notes->returned + notes->handled, begun = plan.interrupt < 0 ? 1 : 2;
    assert_true(kept >= (completed < scene->room ? completed : scene->room));
    assert_true(kept <=
                (plan.interrupt < 0 && scene->room == 0 ? 0 : begun)); /* a handler may have a ring of its own */
    check_books(&f, begun, completed, kept);
    assert_true(!(scene->flags & OPEN) || kept + found.left >= 1); /* a span is open, recorded, or both */
    assert_true(found.left <= 1 && !(notes->returned && found.left));
    fixture_end(&f);
    return kept;
}

/* A step further, or several where a life for each of `all` instructions takes too long. */
static int next_step(uint64_t *seed, int step, int all)
{
    int64_t most = getenv("BEZEL_TEST_FULL")    ? SCENE_STEPS_FULL
                   : getenv("BEZEL_TEST_LIGHT") ? SCENE_STEPS_LIGHT
                                                : SCENE_STEPS;
    int64_t stride = 1 + (int64_t)all * all / (2 * most);
    int kills = most == SCENE_STEPS_LIGHT ? KILLS_MIN_LIGHT : KILLS_MIN;
    if (stride > all / kills)
        stride = 1 + all / kills;
    return step + 1 + (int)(seed_next(seed) % (uint64_t)(2 * stride - 1));
}

/* Kills after every instruction, until a life has returned from the record; `interrupt` as in a plan. */
static void kill_in(const struct scene *s, int interrupt)
{
    uint64_t seed = seed_start();
    int kills = 0, with = 0, all, done;
    scene = s;
    one_life((struct plan){STEPS_MAX, interrupt, false}, &all);
    assert_int_equal(notes->returned, 1);
    for (int steps = 0; steps <= all; steps = next_step(&seed, steps, all), kills++)
        with += one_life((struct plan){steps, interrupt, false}, &done) > 0;
    printf("%s: %d instructions, killed in %d places, the record was there in %d\n", s->name, all, kills, with);
    assert_true(s->room ? with < kills : with == 0);
}

/* Interrupts after every instruction; nobody is killed before all is recorded. Returns how many instructions there are.
 */
static int interrupt_in(const struct scene *s)
{
    uint64_t seed = seed_start();
    int kills = 0, all, done;
    scene = s;
    one_life((struct plan){STEPS_MAX, -1, false}, &all);
    for (int at = 0; at < all; at = next_step(&seed, at, all), kills++) {
        one_life((struct plan){STEPS_MAX, at, true}, &done);
        assert_int_equal(notes->returned, 1);
        assert_true(notes->handled || done <= at); /* the kernel's clock does not always take as many instructions */
    }
    printf("%s: %d instructions, interrupted in %d places\n", s->name, all, kills);
    return all;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

TEST(a_warm_record_is_there_or_not)
{
    kill_in(&(struct scene){"no values", 5, 0, 2, record_none, NULL}, -1);
    kill_in(&(struct scene){"two values", 5, 0, 2, record_two, NULL}, -1);
    kill_in(&(struct scene){"twelve values", 5, RECORDS_TWELVE, 2, record_twelve, NULL}, -1);
    kill_in(&(struct scene){"two values, the kernel's clock", 5, KERNEL_CLOCK, 2, record_two, NULL}, -1);
}

TEST(a_record_across_the_end_of_the_ring_is_there_or_not)
{
    kill_in(&(struct scene){"across the end", SLOTS - 2, DRAINED, 2, record_twelve, NULL}, -1);
}

TEST(a_record_that_finds_no_room_is_counted_or_unfinished)
{
    kill_in(&(struct scene){"a full ring", SLOTS, 0, 0, record_two, NULL}, -1);
}

TEST(a_record_that_overwrites_is_there_or_not)
{
    kill_in(&(struct scene){"overwriting", 3 * SLOTS, OVERWRITES, 2, record_twelve, NULL}, -1);
    kill_in(&(struct scene){"overwriting larger ones", SLOTS, OVERWRITES | RECORDS_TWELVE, 2, record_two, NULL}, -1);
}

TEST(the_first_record_of_a_ring_is_there_or_not)
{
    kill_in(&(struct scene){"a ring is claimed", 0, 0, 2, record_two, declare}, -1);
}

TEST(the_first_record_of_a_process_is_there_or_not)
{
    kill_in(&(struct scene){"a segment is made", 0, 0, 2, record_two, NULL}, -1);
}

TEST(a_wait_is_open_or_recorded)
{
    kill_in(&(struct scene){"a wait ends", 5, OPEN, 2, end_wait, begin_wait}, -1);
    kill_in(&(struct scene){"a long span ends", 5, OPEN, 2, end_long_span, begin_long_span}, -1);
}

static void prepare_both(void)
{
    assert_int_equal(bezel_thread_init(BEZEL_SIGNALS), 0);
}

TEST(a_handler_may_record_after_any_instruction)
{
    interrupt_in(&(struct scene){"two values", 5, 0, 2, record_two, NULL});
    interrupt_in(&(struct scene){"twelve values", 5, RECORDS_TWELVE, 2, record_twelve, NULL});
    interrupt_in(&(struct scene){"two values, the kernel's clock", 5, KERNEL_CLOCK, 2, record_two, NULL});
    interrupt_in(&(struct scene){"room for one", SLOTS - 1, 0, 1, record_two, prepare_both});
    interrupt_in(
        &(struct scene){"room for one, the kernel's clock", SLOTS - 1, KERNEL_CLOCK, 1, record_two, prepare_both});
    interrupt_in(&(struct scene){"a ring is claimed", 0, 0, 2, record_two, declare});
}

TEST(a_record_inside_a_record_is_there_or_not)
{
    struct scene inline_one = {"inside two values", 5, 0, 2, record_two, prepare_both};
    struct scene other = {"inside twelve values", 5, RECORDS_TWELVE, 2, record_twelve, prepare_both};
    int all = interrupt_in(&inline_one);
    for (int i = 1; i < 4; i++)
        kill_in(&inline_one, all * i / 4);
    kill_in(&other, interrupt_in(&other) / 2);
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    puts("skipped: ThreadSanitizer keeps signals back, and a record is not made of its own instructions any more");
    return 77;
#endif
    cpu_set_t one; /* parent and child take turns: on one CPU nobody has to be woken up elsewhere */
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    if (!getenv("LD_BIND_NOW")) { /* what is stepped through is the record, not the dynamic linker */
        setenv("LD_BIND_NOW", "1", 1);
        execl("/proc/self/exe", "kill_record", (char *)NULL);
    }
    setenv("BEZEL_RING_RECORDS", "64", 1);
    notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (notes == MAP_FAILED)
        return 1;
    return test_run(NULL, NULL);
}
