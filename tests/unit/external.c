// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * From bezel_record() to the packets in the window: the internal and the external sensor together, with real processes.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "mdr/parts.h"
#include "sensor/shm/segment.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

BEZEL_ASPECT(bare);
BEZEL_ASPECT(two, (int64, number, "1"), (float64, half, "1"));
BEZEL_ASPECT(state, (enum, phase, "1", "idle|busy"), (string, who, "1"), (int64, extra, "1"));
BEZEL_ASPECT(twelve, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"),
             (int64, f, "1"), (int64, g, "1"), (int64, h, "1"), (int64, i, "1"), (int64, j, "1"), (int64, k, "1"),
             (int64, l, "1"));

static double as_double(uint64_t bits)
{
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static void assert_balanced(struct fixture *f)
{
    struct message_books_row sum;
    uint64_t unfinished = fixture_books(f, NULL, &sum);
    assert_int_equal(sum.attempts, f->records + sum.full + sum.off + sum.no_ring + unfinished);
}

/* ---- Values ------------------------------------------------------------------------------------------------------ */

static void record_all_kinds(void *unused)
{
    (void)unused;
    bezel_string me = bezel_intern("a sensor"), again = bezel_intern("a sensor");
    for (int i = 0; i < 1000; i++) {
        bezel_record(bare);
        bezel_record(two, i, i / 2.0);
        bezel_record(state, i % 2, i % 2 ? me : again, -i);
        bezel_record(twelve, i, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, INT64_MIN);
    }
}

static void check_all_kinds(struct fixture *f, const struct packet_header *h, const struct packet_record *r,
                            const char *aspect)
{
    static const char *const order[] = {"bare", "two", "state", "twelve"};
    uint64_t i = (f->records - 1) / 4;
    assert_string_equal(aspect, order[(f->records - 1) % 4]);
    assert_int_equal(h->thread != 0, 1);
    if (strcmp(aspect, "two") == 0) {
        assert_int_equal(packet_value(r, 0), i);
        assert_true(as_double(packet_value(r, 1)) == (double)i / 2.0);
    } else if (strcmp(aspect, "state") == 0) {
        assert_int_equal(packet_value(r, 0), i % 2);
        assert_int_equal(packet_value(r, 1), 1); /* the same text has the same id, the first one is 1 */
        assert_int_equal((int64_t)packet_value(r, 2), -(int64_t)i);
    } else if (strcmp(aspect, "twelve") == 0) {
        assert_int_equal(packet_value(r, 0), i);
        assert_int_equal(packet_value(r, 10), 10);
        assert_int_equal((int64_t)packet_value(r, 11), INT64_MIN);
    }
}

static void every_value_arrives_as_it_was_recorded(void **unused)
{
    (void)unused;
    struct fixture f = {.options = {.batch = true, .take_all = true}, .record = check_all_kinds};
    setenv("BEZEL_RING_RECORDS", "16384", 1);
    fixture_open(&f);
    fixture_wait(fixture_spawn(record_all_kinds, NULL));
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(f.records, 4000);
    assert_int_equal(f.stream_count, 1);
    assert_balanced(&f);
    fixture_end(&f);
    unsetenv("BEZEL_RING_RECORDS");
}

/* ---- Losses ------------------------------------------------------------------------------------------------------ */

static void record_ten_thousand(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10000; i++)
        bezel_record(two, i, 0.5);
}

static void a_full_ring_discards_the_new_and_counts_every_one(void **unused)
{
    (void)unused;
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    fixture_open(&f);
    fixture_wait(fixture_spawn(record_ten_thousand, NULL)); /* nobody polls meanwhile */
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(f.records, 4096);
    assert_int_equal(f.streams[0].discarded, 10000 - 4096);
    assert_balanced(&f);
    struct message_books_row sum;
    assert_int_equal(fixture_books(&f, NULL, &sum), 0);
    assert_int_equal(sum.full, 10000 - 4096);
    fixture_end(&f);
}

/* A collector may drop a process when its books say that it has ended: no packet of it is to come behind them. */
static void books_say_that_a_process_has_ended_when_all_its_packets_are_acknowledged(void **unused)
{
    (void)unused;
    static struct message_books books;
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    fixture_open(&f);
    fixture_wait(fixture_spawn(record_ten_thousand, NULL));
    for (int life = 0; life < 2; life++) {
        int64_t deadline = clock_now() + PATIENCE;
        while (!fixture_all_gone(&f)) {
            external_poll(f.external, clock_now());
            external_housekeep(f.external, clock_now());
            assert_true(clock_now() < deadline);
        }
        external_books(external_process(f.external, 0), clock_now(), &books);
        assert_int_equal(books.state, PROCESS_RUNNING);
        if (life == 0) {
            external_close(f.external, false); /* killed */
            fixture_reopen(&f);
        }
    }
    fixture_turn(&f);
    fixture_turn(&f);
    external_books(external_process(f.external, 0), clock_now(), &books);
    assert_int_equal(books.state, PROCESS_ENDED);
    fixture_end(&f);
}

static void collect_and_forward_takes_one_record_a_poll(void **unused)
{
    (void)unused;
    struct fixture f = {.options = {.batch = false, .take_all = true}};
    fixture_open(&f);
    fixture_wait(fixture_spawn(record_ten_thousand, NULL));
    external_poll(f.external, clock_now()); /* finds the process */
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(external_poll(f.external, clock_now()), 1);
    fixture_finish(&f);
    assert_int_equal(f.records, 4096);
    fixture_close(&f);
}

static void a_batch_limit_is_what_a_poll_takes_at_most(void **unused)
{
    (void)unused;
    struct fixture f = {.options = {.batch = true, .batch_limit = 7, .take_all = true}};
    fixture_open(&f);
    fixture_wait(fixture_spawn(record_ten_thousand, NULL));
    external_poll(f.external, clock_now());  /* finds the process */
    int64_t recorded = clock_now(), low = 0; /* all records are earlier */
    for (uint32_t i = 0; i < 10; i++) {
        assert_int_equal(external_poll(f.external, clock_now() + i * 20 * CLOCK_MS), 7);
        assert_true(external_low(f.external, clock_now()) >= low);
        low = external_low(f.external, clock_now());
        assert_true(low < recorded); /* what is left is not much later than what was taken */
    }
    assert_true(low > 0);
    external_batch(f.external, true, 1000);
    assert_int_equal(external_poll(f.external, clock_now()), 1000);
    external_batch(f.external, false, 1000);
    assert_int_equal(external_poll(f.external, clock_now()), 1);
    external_batch(f.external, true, 0);
    fixture_turn(&f);
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(f.records, 4096);
    int64_t first = clock_now();
    external_poll(f.external, first);
    external_poll(f.external, first + CLOCK_S);
    assert_int_equal(external_low(f.external, first + CLOCK_S), first); /* the poll before the last */
    assert_balanced(&f);
    fixture_end(&f);
}

static void the_low_watermark_goes_on_where_nothing_is_recorded(void **unused)
{
    (void)unused;
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    fixture_open(&f);
    int64_t now = clock_now();
    assert_int_equal(external_low(f.external, now), 0); /* nothing was polled */
    external_collect(f.external, false);
    assert_int_equal(external_low(f.external, now + CLOCK_S), now);
    assert_int_equal(external_low(f.external, now + 2 * CLOCK_S), now + CLOCK_S);
    external_collect(f.external, true);
    assert_int_equal(external_low(f.external, now + 3 * CLOCK_S), now + CLOCK_S);
    for (int i = 4; i < 7; i++) {
        external_poll(f.external, now + i * CLOCK_S);
        assert_int_equal(external_low(f.external, now + i * CLOCK_S), now + (i == 4 ? 1 : i - 1) * CLOCK_S);
    }
    fixture_end(&f);
}

struct gate {
    _Atomic int go;
};

static void record_through_gate(void *context)
{
    struct gate *gate = context;
    for (int stage = 1; stage <= 3; stage++) {
        for (int i = 0; i < 100; i++)
            bezel_record(two, i, 0.5);
        gate->go = stage;
        while (gate->go == stage)
            clock_sleep_until(clock_now() + CLOCK_MS);
    }
}

static void wait_for_stage(struct gate *gate, int stage)
{
    int64_t deadline = clock_now() + PATIENCE;
    while (gate->go != stage) {
        assert_true(clock_now() < deadline);
        clock_sleep_until(clock_now() + CLOCK_MS);
    }
}

static struct gate *gate_new(void)
{
    void *at = mmap(NULL, sizeof(struct gate), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    return at;
}

static void off_counts_what_is_lost_and_loses_nothing_else(void **unused)
{
    (void)unused;
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    struct gate *gate = gate_new();
    fixture_open(&f);
    pid_t pid = fixture_spawn(record_through_gate, gate);
    wait_for_stage(gate, 1);
    fixture_turn(&f);
    fixture_turn(&f);
    assert_int_equal(f.records, 100);
    external_collect(f.external, false);
    gate->go = 10;
    wait_for_stage(gate, 2);
    fixture_turn(&f);
    assert_int_equal(f.records, 100);
    external_collect(f.external, true);
    gate->go = 10;
    wait_for_stage(gate, 3);
    gate->go = 10;
    fixture_wait(pid);
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(f.records, 200);
    assert_int_equal(f.streams[0].discarded, 100);
    struct message_books_row sum;
    assert_int_equal(fixture_books(&f, NULL, &sum), 0);
    assert_int_equal(sum.off, 100);
    assert_balanced(&f);
    fixture_end(&f);
}

/* ---- Threads, forks, attachment ---------------------------------------------------------------------------------- */

static void *thread_body(void *unused)
{
    for (int i = 0; i < 10; i++)
        bezel_record(two, i, 0.5);
    return unused;
}

static void run_many_threads(void *unused)
{
    (void)unused;
    for (int round = 0; round < 50; round++) {
        pthread_t t[4];
        for (int i = 0; i < 4; i++)
            if (pthread_create(&t[i], NULL, thread_body, NULL) != 0)
                _exit(1);
        for (int i = 0; i < 4; i++)
            pthread_join(t[i], NULL);
    }
}

static void threads_that_come_and_go_share_rings_and_keep_their_names(void **unused)
{
    (void)unused;
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    fixture_open(&f);
    assert_int_equal(fixture_wait(fixture_spawn(run_many_threads, NULL)), 0);
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(f.records, 2000);
    assert_true(f.stream_count <= 5);
    assert_balanced(&f);
    fixture_end(&f);
}

static void *hold_a_ring(void *context)
{
    bezel_record(two, 1, 1);
    pthread_barrier_wait(context);
    pthread_barrier_wait(context);
    return NULL;
}

static void run_too_many_threads(void *unused)
{
    (void)unused;
    enum { THREADS = SEGMENT_RINGS_DEFAULT + 20 };
    static pthread_barrier_t barrier;
    static pthread_t t[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, hold_a_ring, &barrier) != 0)
            _exit(1);
    pthread_barrier_wait(&barrier);
    bezel_record(bare); /* no ring is left for this thread */
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
}

static void a_thread_without_a_ring_counts_its_losses(void **unused)
{
    (void)unused;
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    setenv("BEZEL_RING_RECORDS", "64", 1);
    memset(f.streams, 0, sizeof f.streams);
    fixture_open(&f);
    assert_int_equal(fixture_wait(fixture_spawn(run_too_many_threads, NULL)), 0);
    unsetenv("BEZEL_RING_RECORDS");
    int64_t deadline = clock_now() + PATIENCE;
    struct message_books_row sum;
    do {
        external_poll(f.external, clock_now());
        external_housekeep(f.external, clock_now());
        assert_true(clock_now() < deadline);
    } while (!fixture_all_gone(&f));
    assert_int_equal(fixture_books(&f, NULL, &sum), 0);
    assert_int_equal(sum.attempts, SEGMENT_RINGS_DEFAULT + 20 + 1);
    assert_int_equal(sum.no_ring, 21);
    fixture_close(&f);
}

static void record_and_fork(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10; i++)
        bezel_record(two, i, 0.5);
    pid_t child = fork();
    for (int i = 0; i < 10; i++)
        bezel_record(two, i, 0.5);
    if (child > 0)
        waitpid(child, NULL, 0);
}

static void a_forked_child_has_a_segment_of_its_own(void **unused)
{
    (void)unused;
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    fixture_open(&f);
    fixture_wait(fixture_spawn(record_and_fork, NULL));
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(f.stream_count, 2);
    assert_int_equal(f.records, 30);
    assert_balanced(&f);
    fixture_end(&f);
}

static void a_process_attached_later_is_read_from_then_on(void **unused)
{
    (void)unused;
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    struct gate *gate = gate_new();
    fixture_open(&f);
    external_close(f.external, true); /* nobody listens when the process starts */
    pid_t pid = fixture_spawn(record_through_gate, gate);
    wait_for_stage(gate, 1);
    fixture_reopen(&f);
    gate->go = 10;
    wait_for_stage(gate, 2);
    fixture_turn(&f);
    assert_int_equal(f.records, 100);
    fixture_finish(&f); /* and left, alive */
    external_close(f.external, true);
    gate->go = 10;
    wait_for_stage(gate, 3); /* recorded by nobody */
    memset(f.options.run, 7, 16);
    f.stream_count = 0;
    f.records = 0;
    f.options.run[0]++;
    assert_int_equal(external_open(&f.options, &f.external), 0); /* another run */
    gate->go = 10;
    fixture_wait(pid);
    fixture_finish(&f);
    struct message_books_row sum;
    assert_int_equal(fixture_books(&f, NULL, &sum), 0);
    assert_int_equal(sum.attempts, 0);
    fixture_close(&f);
}

/*
 * A thread counted an attempt before the session began, was held up, and counts it as lost now: once in its ring, which
 * is not held against the process. More than that is impossible.
 */
static void a_loss_that_was_begun_before_the_session_is_possible_once_a_ring(void **unused)
{
    (void)unused;
    for (uint64_t losses = 1; losses <= 2; losses++) {
        struct fixture f = {.options = {.batch = true, .take_all = true}};
        struct gate *gate = gate_new();
        struct message_books_row sum;
        fixture_open(&f);
        external_close(f.external, true); /* nobody listens when the process starts */
        pid_t pid = fixture_spawn(record_through_gate, gate);
        wait_for_stage(gate, 1);
        fixture_reopen(&f);
        gate->go = 10;
        wait_for_stage(gate, 2);
        fixture_turn(&f);
        fixture_finish(&f); /* and left, alive */
        external_close(f.external, true);
        f.options.run[0]++;
        f.stream_count = 0;
        f.records = 0;
        f.may_end_open = losses == 2;
        assert_int_equal(external_open(&f.options, &f.external), 0);
        fixture_turn(&f);
        struct bezel_ring *ring = external_process(f.external, 0)->at->rings[0].reader.ring;
        for (uint32_t id = 1; id < RING_ASPECTS; id++)
            ring->full[id] += ring->attempts[id] ? losses : 0;
        gate->go = 10;
        wait_for_stage(gate, 3);
        gate->go = 10;
        fixture_wait(pid);
        fixture_until(&f, fixture_all_gone);
        assert_int_equal(f.records, 100);
        assert_int_equal(fixture_books(&f, NULL, &sum), 0);
        assert_int_equal(sum.attempts, losses == 1 ? 100 : 0);
        assert_int_equal(sum.full, losses == 1);
        assert_int_equal(fixture_is_noted(&f, "BEZEL-COUNTERS"), losses == 2);
        fixture_end(&f);
    }
}

static void a_process_that_was_left_is_not_taken_up_by_the_next_life(void **state)
{
    const bool *closed = *state; /* whether its streams were closed by then */
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    struct gate *gate = gate_new();
    fixture_open(&f);
    external_close(f.external, true); /* so that the process does not inherit its locks */
    pid_t pid = fixture_spawn(record_through_gate, gate);
    wait_for_stage(gate, 1);
    fixture_reopen(&f);
    gate->go = 10;
    wait_for_stage(gate, 2);
    fixture_turn(&f);
    if (*closed)
        fixture_finish(&f);
    else
        external_finish(f.external, clock_now());
    assert_int_equal(fixture_last_state(&f, 0), PROCESS_LEFT);
    external_close(f.external, false); /* killed before it was done */
    fixture_reopen(&f);
    gate->go = 10;
    wait_for_stage(gate, 3);
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(f.records, 100);
    assert_int_equal(external_process(f.external, 0)->state, PROCESS_DETACHED);
    assert_int_equal(fixture_last_state(&f, 0), PROCESS_LEFT);
    assert_balanced(&f);
    gate->go = 10;
    fixture_wait(pid);
    external_close(f.external, false);
    fixture_reopen(&f);
    assert_int_equal(fixture_last_state(&f, 0), PROCESS_LEFT); /* though it has ended by now */
    fixture_end(&f);
}

/* As after SIGTERM to its bezeld: in a folder of processes of any kind, where only its own are the run's. */
static void a_process_that_was_released_in_good_order_is_found_again_by_the_run(void **unused)
{
    (void)unused;
    struct fixture f = {.options = {.batch = true}};
    struct gate *gate = gate_new();
    struct message_books_row sum;
    fixture_open(&f);
    external_close(f.external, false); /* so that the process does not inherit its locks; the doorbell stays */
    pid_t pid = fixture_spawn(record_through_gate, gate);
    wait_for_stage(gate, 1);
    fixture_reopen(&f);
    fixture_turn(&f);
    assert_int_equal(f.records, 100);
    fixture_finish(&f);
    external_keep_processes(f.external);
    external_close(f.external, true);
    gate->go = 10;
    wait_for_stage(gate, 2); /* recorded by nobody */
    f.stream_count = 0;
    f.records = 0;
    fixture_reopen(&f);
    gate->go = 10;
    wait_for_stage(gate, 3);
    fixture_turn(&f);
    assert_int_equal(f.records, 100);
    gate->go = 10;
    fixture_wait(pid);
    fixture_finish(&f);
    assert_balanced(&f);
    assert_int_equal(fixture_books(&f, NULL, &sum), 0);
    fixture_close(&f);
}

static void what_a_crashed_bezeld_recorded_of_itself_is_drained(void **unused)
{
    (void)unused;
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    fixture_open(&f);
    setenv("BEZEL_PROCESS", "bezeld", 1); /* this very program, under that name: a predecessor of ours */
    fixture_wait(fixture_spawn(record_all_kinds, NULL));
    unsetenv("BEZEL_PROCESS");
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(external_process(f.external, 0)->role, ROLE_DAEMON);
    assert_balanced(&f);
    fixture_end(&f);
}

/*
 * Declares, by hand, what cannot be: names that are taken, by another or by the library, that are none, or not there,
 * and more than a dictionary holds.
 */
static void record_what_cannot_be_declared(void *unused)
{
    (void)unused;
    enum { MANY = 300, CLASHES = 5 };
    static const struct bezel_field other[] = {{BEZEL_TYPE_int64, "number", "1", NULL}};
    static struct bezel_aspect many[MANY];
    static char names[MANY][24];
    struct bezel_aspect *clash = calloc(CLASHES, sizeof *clash);
    clash[0] = (struct bezel_aspect){.enable = &bezel_enable_unset, .name = "two", .field_count = 1, .fields = other};
    clash[1] =
        (struct bezel_aspect){.enable = &bezel_enable_unset, .name = "no name", .field_count = 1, .fields = other};
    clash[2] = (struct bezel_aspect){
        .enable = &bezel_enable_unset, .name = "bezel_undeclared", .field_count = 1, .fields = other};
    clash[3] = (struct bezel_aspect){.enable = &bezel_enable_unset, .field_count = 1, .fields = other};
    clash[4] = (struct bezel_aspect){.enable = &bezel_enable_unset, .name = "no_fields", .field_count = 1};
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "many_%d", i);
        many[i] =
            (struct bezel_aspect){.enable = &bezel_enable_unset, .name = names[i], .field_count = 1, .fields = other};
        bezel_aspect_register(&many[i]);
    }
    for (int i = 0; i < CLASHES; i++)
        bezel_aspect_register(&clash[i]);
    uint64_t value = 1;
    for (int i = 0; i < MANY; i++)
        bezel_emit(&many[i], &value);
    for (int i = 0; i < CLASHES; i++)
        bezel_emit(&clash[i], &value);
}

static void what_cannot_be_declared_is_lost_and_counted(void **unused)
{
    (void)unused;
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    fixture_open(&f);
    fixture_wait(fixture_spawn(record_what_cannot_be_declared, NULL));
    fixture_until(&f, fixture_all_gone);
    struct message_books_row sum;
    assert_int_equal(fixture_books(&f, NULL, &sum), 0);
    assert_int_equal(sum.attempts, 305);
    assert_true(f.records >= 200);
    assert_int_equal(sum.no_ring, 305 - f.records);
    const struct dict *d = external_process(f.external, 0)->at->dict;
    assert_string_equal(d->aspects[d->aspect_count - 1].name, "bezel_undeclared");
    fixture_end(&f);
}

static void a_second_reader_is_refused(void **unused)
{
    (void)unused;
    struct fixture f = {.options = {.batch = true, .take_all = true}};
    struct external *second;
    fixture_open(&f);
    assert_int_equal(external_open(&f.options, &second), BEZEL_EBUSY);
    struct external_options other = f.options;
    other.run[0] ^= 1; /* of another run: its window would be another one */
    assert_int_equal(external_open(&other, &second), BEZEL_EBUSY);
    fixture_close(&f);
}

/* ---- Hostile processes ------------------------------------------------------------------------------------------- */

static void truncate_the_segment(void *context)
{
    struct gate *gate = context;
    bezel_record(two, 1, 1);
    struct segment *s = fixture_own_segment();
    gate->go = 1;
    while (gate->go == 1)
        clock_sleep_until(clock_now() + CLOCK_MS);
    char path[200];
    snprintf(path, sizeof path, "%s/%016llx" SEGMENT_SUFFIX, getenv("BEZEL_DIR"), (unsigned long long)s->instance);
    if (truncate(path, 4096) != 0)
        _exit(4);
    kill(getpid(), SIGKILL);
}

static void a_truncated_segment_is_survived(void **unused)
{
    (void)unused;
    fixture_needs_bus_address();
    struct fixture f = {.options = {.batch = true, .take_all = true}, .may_end_open = true};
    struct gate *gate = gate_new();
    fixture_open(&f);
    pid_t pid = fixture_spawn(truncate_the_segment, gate);
    wait_for_stage(gate, 1);
    fixture_turn(&f);
    assert_int_equal(f.records, 1);
    gate->go = 2;
    assert_true(WIFSIGNALED(fixture_wait(pid)));
    fixture_until(&f, fixture_all_gone);
    assert_int_equal(external_counts(f.external)->broken_segments, 1);
    uint32_t notes = external_note_count(f.external);
    assert_true(notes > 0);
    assert_string_equal(external_note(f.external, notes - 1)->code, "BEZEL-SEGMENT-CUT");
    assert_false(fixture_is_known_to_its_end(&f));
    fixture_end(&f);
}

static void without_shared_memory_the_program_runs_on(void **unused)
{
    (void)unused;
    setenv("BEZEL_DIR", "/proc/no-such-folder", 1);
    assert_int_equal(fixture_wait(fixture_spawn(record_ten_thousand, NULL)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_arrives_as_it_was_recorded),
        cmocka_unit_test(a_full_ring_discards_the_new_and_counts_every_one),
        cmocka_unit_test(books_say_that_a_process_has_ended_when_all_its_packets_are_acknowledged),
        cmocka_unit_test(collect_and_forward_takes_one_record_a_poll),
        cmocka_unit_test(a_batch_limit_is_what_a_poll_takes_at_most),
        cmocka_unit_test(the_low_watermark_goes_on_where_nothing_is_recorded),
        cmocka_unit_test(off_counts_what_is_lost_and_loses_nothing_else),
        cmocka_unit_test(threads_that_come_and_go_share_rings_and_keep_their_names),
        cmocka_unit_test(a_thread_without_a_ring_counts_its_losses),
        cmocka_unit_test(a_forked_child_has_a_segment_of_its_own),
        cmocka_unit_test(a_process_attached_later_is_read_from_then_on),
        cmocka_unit_test(a_loss_that_was_begun_before_the_session_is_possible_once_a_ring),
        cmocka_unit_test_prestate(a_process_that_was_left_is_not_taken_up_by_the_next_life, (bool[]){true}),
        cmocka_unit_test_prestate(a_process_that_was_left_is_not_taken_up_by_the_next_life, (bool[]){false}),
        cmocka_unit_test(a_process_that_was_released_in_good_order_is_found_again_by_the_run),
        cmocka_unit_test(what_a_crashed_bezeld_recorded_of_itself_is_drained),
        cmocka_unit_test(what_cannot_be_declared_is_lost_and_counted),
        cmocka_unit_test(a_second_reader_is_refused),
        cmocka_unit_test(a_truncated_segment_is_survived),
        cmocka_unit_test(without_shared_memory_the_program_runs_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
