// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Waits and long spans are seen while they are open, when they have ended, and when their process has. */
#include "sensor/external/open_spans.h"
#include "base/clock.h"
#include "bezel/sensor.h"
#include "sensor/external/external_internal.h"
#include "sensor/external/notes.h"
#include "sensor/shm/open_place.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

BEZEL_WAIT(lock_wait, lock);
BEZEL_LONG_SPAN(backup, (int64, files, "1"));
BEZEL_SPAN(brief);
BEZEL_RECEIVED(asked, (int64, waited, "ns"));

/* What the child is to do next, and how far it is. */
static struct {
    _Atomic uint32_t go, done;
} * turn;

static struct {
    uint32_t open, ended, left;
    char last[64];
    uint32_t thread;
    int64_t since;
} told;

static int64_t ahead; /* of the clock, ns */

static void count(void *context, const struct external_process *p, const struct external_open_span *span)
{
    (void)context;
    told.open += span->state == EXTERNAL_SPAN_OPEN;
    told.ended += span->state == EXTERNAL_SPAN_ENDED;
    told.left += span->state == EXTERNAL_SPAN_LEFT;
    told.thread = span->thread;
    told.since = span->since;
    snprintf(told.last, sizeof told.last, "%s", p->at->dict->aspects[span->aspect - 1].name);
}

/* ---- The child --------------------------------------------------------------------------------------------------- */

static void wait_for(uint32_t step)
{
    while (turn->go < step)
        usleep(500);
}

/* The child has done `step`, and waits for the next one. */
static void reached(uint32_t step)
{
    turn->done = step;
    wait_for(step);
}

static void begin_and_end(void *unused)
{
    (void)unused;
    bezel_span plain = bezel_begin(brief), wait = bezel_begin(lock_wait);
    reached(1);
    bezel_end(lock_wait, wait);
    reached(2);
    bezel_span span = bezel_begin(backup);
    reached(3);
    bezel_drop(span);
    bezel_drop(plain);
    reached(4);
}

static void begin_when_it_is_read(void *unused)
{
    (void)unused;
    (void)bezel_thread_init(0);
    reached(1);
    bezel_span wait = bezel_begin(lock_wait);
    reached(2);
    bezel_end(lock_wait, wait);
    reached(3);
}

static void leave_open(void *unused)
{
    (void)unused;
    (void)bezel_begin(lock_wait);
    (void)bezel_begin(backup);
    (void)bezel_begin(brief);
    (void)bezel_receiving(asked);
    reached(1);
}

static void *receive_and_end(void *unused)
{
    (void)bezel_receiving(asked);
    return unused;
}

static void receive(void *unused)
{
    pthread_t thread;
    (void)unused;
    bezel_span wait = {0, 0};
    for (int i = 0; i < 3; i++)
        wait = bezel_receiving(asked); /* a time-out each time */
    reached(1);
    bezel_received(asked, bezel_intern("peer"), 7, bezel_waited(wait));
    reached(2);
    if (pthread_create(&thread, NULL, receive_and_end, NULL) == 0)
        pthread_join(thread, NULL);
    reached(3);
}

static void *wait_and_exit(void *unused)
{
    (void)bezel_begin(backup); /* another thread may end it */
    for (int i = 0; i < 2; i++)
        (void)bezel_begin(lock_wait);
    reached(1);
    pthread_exit(unused);
}

static void leave_waits(void *unused)
{
    pthread_t thread;
    if (pthread_create(&thread, unused, wait_and_exit, NULL) == 0)
        pthread_join(thread, NULL);
    reached(2);
}

static void take_all_places(void *unused)
{
    (void)unused;
    bezel_span spans[SEGMENT_OPEN_PLACES], more[3];
    for (uint32_t i = 0; i < SEGMENT_OPEN_PLACES; i++)
        spans[i] = bezel_begin(backup);
    for (uint32_t i = 0; i < 3; i++)
        more[i] = bezel_begin(lock_wait);
    for (uint32_t i = 0; i < 3; i++)
        bezel_end(lock_wait, more[i]);
    reached(1);
    for (uint32_t i = 0; i < SEGMENT_OPEN_PLACES; i++)
        bezel_end(backup, spans[i], i);
    (void)bezel_begin(lock_wait);
    reached(2);
}

/* The first one of a child has the place that its parent's had: the parent's end must not free it. */
static void end_in_a_child(void *unused)
{
    (void)unused;
    bezel_span of_parent = bezel_begin(lock_wait);
    pid_t child = fork();
    if (child == 0) {
        (void)bezel_begin(lock_wait);
        bezel_end(lock_wait, of_parent);
        bezel_end(lock_wait, of_parent);
        reached(1);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* ---- The external sensor ----------------------------------------------------------------------------------------- */

static struct fixture *opened(void)
{
    static struct fixture f;
    f = (struct fixture){
        .options = {
            .batch = true, .take_all = true, .window_bytes = WINDOW_BYTES_MIN, .observer = {.open_span = count}}};
    memset(turn, 0, sizeof *turn);
    memset(&told, 0, sizeof told);
    fixture_open(&f);
    return &f;
}

static bool child_is_there(struct fixture *f)
{
    return turn->done > turn->go && external_process_count(f->external) > 0;
}

static bool both_are_there(struct fixture *f)
{
    return external_process_count(f->external) == 2;
}

/* The child takes its next step. */
static void step(struct fixture *f)
{
    turn->go = turn->done;
    fixture_until(f, child_is_there);
}

static pid_t started(struct fixture *f, void (*body)(void *unused))
{
    ahead = 0;
    pid_t pid = fixture_spawn(body, NULL);
    fixture_until(f, child_is_there);
    return pid;
}

static void a_second_later(struct fixture *f)
{
    ahead += 2 * CLOCK_S;
    external_housekeep(f->external, clock_now() + ahead);
}

static void killed(struct fixture *f, pid_t pid)
{
    kill(pid, SIGKILL);
    (void)fixture_wait(pid);
    fixture_until(f, fixture_all_gone);
}

static void assert_told(uint32_t open, uint32_t ended, uint32_t left)
{
    assert_int_equal(told.open, open);
    assert_int_equal(told.ended, ended);
    assert_int_equal(told.left, left);
}

TEST(a_wait_is_seen_once_it_has_lasted_for_a_second)
{
    struct fixture *f = opened();
    int64_t before = clock_now();
    pid_t pid = started(f, begin_and_end);
    assert_told(0, 0, 0);
    a_second_later(f);
    assert_told(1, 0, 0);
    assert_string_equal(told.last, "lock_wait");
    assert_int_equal(told.thread, pid);
    assert_in_range(told.since, before, clock_now());
    a_second_later(f);
    assert_told(1, 0, 0);
    step(f);
    a_second_later(f);
    assert_told(1, 1, 0);
    assert_string_equal(told.last, "lock_wait");
    step(f);
    a_second_later(f);
    assert_told(2, 1, 0);
    step(f); /* it drops the span */
    a_second_later(f);
    assert_told(2, 2, 0);
    killed(f, pid);
    assert_told(2, 2, 0);
    assert_int_equal(f->records, 1);
    fixture_end(f);
}

/* Its time namespace may be another one: such a wait began a second before it was seen, at most, and is no other. */
TEST(a_wait_of_a_clock_that_is_hours_away_began_when_it_was_seen)
{
    static const int64_t hours[] = {2 * 3600 * CLOCK_S, -2 * 3600 * CLOCK_S};
    for (int i = 0; i < 2; i++) {
        struct fixture *f = opened();
        int64_t before = clock_now();
        pid_t pid = started(f, begin_and_end);
        struct segment *s = external_process(f->external, 0)->at->segment;
        for (uint32_t place = 0; place < SEGMENT_OPEN_PLACES; place++)
            s->open[place].ticks += (uint64_t)hours[i];
        assert_told(0, 0, 0);
        a_second_later(f);
        a_second_later(f);
        assert_told(1, 0, 0);
        assert_in_range(told.since, before - CLOCK_S, clock_now() + 2 * CLOCK_S);
        step(f);
        a_second_later(f);
        assert_told(1, 1, 0);
        killed(f, pid);
        fixture_end(f);
    }
}

TEST(a_killed_process_leaves_what_is_open)
{
    struct fixture *f = opened();
    killed(f, started(f, leave_open));
    assert_told(0, 0, 3); /* and not the plain span */
    fixture_end(f);
}

TEST(a_run_that_ends_sees_what_is_open)
{
    struct fixture *f = opened();
    pid_t pid = started(f, leave_open);
    external_finish(f->external, clock_now() + 2 * CLOCK_S);
    assert_told(3, 0, 0);
    kill(pid, SIGKILL);
    (void)fixture_wait(pid);
    fixture_finish(f);
    assert_told(3, 0, 0);
    fixture_discard(f);
}

TEST(a_receiver_waits_until_it_has_received)
{
    struct fixture *f = opened();
    pid_t pid = started(f, receive);
    a_second_later(f);
    assert_told(1, 0, 0); /* the two before timed out */
    step(f);
    a_second_later(f);
    assert_told(1, 1, 0);
    step(f); /* a thread ends while it waits */
    a_second_later(f);
    assert_told(1, 1, 0);
    killed(f, pid);
    assert_told(1, 1, 0);
    fixture_end(f);
}

TEST(a_wait_ends_with_its_thread_and_is_recorded)
{
    struct fixture *f = opened();
    pid_t pid = started(f, leave_waits);
    a_second_later(f);
    assert_told(3, 0, 0);
    step(f);
    a_second_later(f);
    assert_told(3, 2, 0);
    killed(f, pid);
    assert_told(3, 2, 1);
    assert_int_equal(f->records, 2);
    fixture_end(f);
}

TEST(spans_beyond_the_places_are_recorded_at_their_ends)
{
    struct fixture *f = opened();
    uint32_t notes = 0;
    pid_t pid = started(f, take_all_places);
    for (int i = 0; i < 5; i++)
        a_second_later(f);
    assert_told(SEGMENT_OPEN_PLACES, 0, 0);
    step(f);
    for (int i = 0; i < 5; i++)
        a_second_later(f);
    assert_told(SEGMENT_OPEN_PLACES + 1, SEGMENT_OPEN_PLACES, 0);
    for (uint32_t i = 0; i < external_note_count(f->external); i++)
        notes += strcmp(external_note(f->external, i)->code, "BEZEL-OPEN-SPANS") == 0;
    assert_int_equal(notes, 1);
    killed(f, pid);
    assert_int_equal(f->records, 3 + SEGMENT_OPEN_PLACES);
    fixture_end(f);
}

TEST(a_childs_span_is_not_ended_by_its_parents)
{
    struct fixture *f = opened();
    pid_t pid = started(f, end_in_a_child);
    fixture_until(f, both_are_there);
    a_second_later(f);
    assert_told(2, 0, 0); /* the parent's, and the child's */
    turn->go = turn->done;
    (void)fixture_wait(pid);
    fixture_until(f, fixture_all_gone);
    assert_told(2, 0, 2);
    fixture_end(f);
}

TEST(the_next_bezeld_tells_the_end)
{
    struct fixture *f = opened();
    external_close(f->external, true); /* so that the process does not inherit its locks */
    ahead = 0;
    pid_t pid = fixture_spawn(begin_when_it_is_read, NULL);
    fixture_reopen(f);
    fixture_until(f, child_is_there);
    step(f);
    a_second_later(f);
    assert_told(1, 0, 0);
    external_close(f->external, false); /* killed */
    fixture_reopen(f);
    fixture_turn(f);
    a_second_later(f);
    assert_told(1, 0, 0);
    step(f);
    a_second_later(f);
    assert_told(1, 1, 0);
    killed(f, pid);
    fixture_end(f);
}

/* Whatever stands in the places, the observer is told of aspects that there are. */
TEST(a_program_may_write_anything)
{
    struct fixture *f = opened();
    uint64_t seed = seed_start();
    pid_t pid = started(f, leave_open);
    struct segment *s = external_process(f->external, 0)->at->segment;
    for (int round = 0; round < 50; round++) {
        for (uint32_t i = 0; i < SEGMENT_OPEN_PLACES; i++) {
            s->open[i].word = (uint32_t)seed_next(&seed) & 0xffff0707u;
            s->open[i].ticks = seed_next(&seed) >> (seed_next(&seed) & 63);
            s->open_told[i] = (uint32_t)seed_next(&seed) & 0xffff0707u;
        }
        a_second_later(f);
        assert_true(told.since <= clock_now() + ahead);
    }
    killed(f, pid);
    fixture_end(f);
}

int main(void)
{
    setenv("BEZEL_CLOCK", "monotonic", 1); /* the child's clock does not need to be measured first */
    turn = mmap(NULL, sizeof *turn, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (turn == MAP_FAILED)
        return 1;
    return test_run(NULL, NULL);
}
