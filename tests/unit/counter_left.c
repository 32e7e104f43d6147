// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Programs that leave the processor's counter for the kernel's clock while they record: no record is lost, none is out
 * of order, and each has the time at which it was made.
 */
#include "base/clock.h"
#include "bezel/kinds.h"
#include "sensor/external/external_internal.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* `before`: the kernel's clock just before the record. */
BEZEL_ASPECT(made, (int64, before, "ns"), (int64, number, "1"));
BEZEL_ASPECT(late, (int64, before, "ns"), (int64, number, "1"), (int64, third, "1")); /* declared after the change */
BEZEL_SPAN(lasted, (int64, at_least, "ns"), (int64, since, "ns"));

enum { THREADS = 2 };

/* Shared with the program: what it is to do, and how far it is. */
static struct {
    _Atomic bool left, stop;
    _Atomic uint64_t made, made_since;
} * shared;

static void record_one(int64_t number)
{
    int64_t outer = clock_now();
    bezel_span span = bezel_begin(lasted);
    int64_t inner = clock_now();
    bezel_record(made, clock_now(), number);
    if (shared->left)
        bezel_record(late, clock_now(), number, 0);
    int64_t least = clock_now() - inner;
    bezel_end(lasted, span, least, outer);
}

static void *record_all(void *unused)
{
    (void)unused;
    for (int64_t i = 0; !shared->stop; i++) {
        record_one(i);
        shared->made++;
        shared->made_since += shared->left;
        if (i % 64 == 0)
            clock_sleep_until(clock_now() + CLOCK_MS);
    }
    return NULL;
}

static void program(void *unused)
{
    pthread_t threads[THREADS];
    (void)unused;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, record_all, NULL) != 0)
            _exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* By ring: what the last record said. */
struct seen {
    uint64_t records[THREADS + 2], made, of_late, spans_known, spans_unknown;
    int64_t next[THREADS + 2], last_at[THREADS + 2]; /* the least number to come; the time of the last record */
    int64_t error;
};

static void check_record(struct fixture *f, const struct packet_header *h, const struct packet_record *r,
                         const char *aspect)
{
    struct seen *s = f->context;
    int64_t at = (int64_t)r->timestamp, first = (int64_t)packet_value(r, 0), error = s->error + 2000;
    assert_true(h->ring < THREADS + 2);
    if (strcmp(aspect, "lasted") == 0) {
        int64_t least = (int64_t)packet_value(r, 1), most = at - (int64_t)packet_value(r, 2);
        s->spans_unknown += first < 0;
        s->spans_known += first >= 0;
        if (first >= 0)
            assert_true(first + error >= least && first - error <= most);
        return;
    }
    assert_true(at >= first - error);
    if (s->records[h->ring]++ > 0)
        assert_true(s->last_at[h->ring] <= first + error); /* it was made before this one began */
    s->last_at[h->ring] = at;
    s->of_late += strcmp(aspect, "late") == 0;
    if (strcmp(aspect, "made") == 0) {
        assert_true((int64_t)packet_value(r, 1) >= s->next[h->ring]); /* on a busy machine a ring gets full */
        s->next[h->ring] = (int64_t)packet_value(r, 1) + 1;
        s->made++;
    }
}

static bool is_counter(struct fixture *f)
{
    return external_counts(f->external)->clocks[SEGMENT_CLOCK_COUNTER] > 0;
}

static bool made_some(struct fixture *f)
{
    (void)f;
    return shared->made >= 2000;
}

static bool made_some_since(struct fixture *f)
{
    (void)f;
    return shared->made_since >= 2000;
}

static bool has_process(struct fixture *f)
{
    return external_counts(f->external)->processes_seen > 0;
}

TEST(a_running_program_goes_over_to_the_kernels_clock)
{
    struct seen s = {.error = 10000};
    struct fixture f = {.record = check_record, .context = &s};
    fixture_open(&f);
    pid_t pid = fixture_spawn(program, NULL);
    fixture_until(&f, has_process);
    bool counter = is_counter(&f);
    if (counter) {
        fixture_until(&f, made_some);
        f.external->proof.proven = true;
        external_clock_leave(f.external, clock_now(), "this test says so");
        assert_true(fixture_is_noted(&f, "BEZEL-COUNTER-LEFT"));
        assert_int_equal(f.external->doorbell->counter_proven, 0);
        assert_true(f.external->proof.left); /* for good */
        shared->left = true;
        fixture_until(&f, made_some_since);
        const struct external_process *p = external_process(f.external, 0);
        for (uint32_t id = 1; id < 4; id++)
            assert_true(p->at->segment->enable[id] & BEZEL_LEAVE_COUNTER);
    }
    shared->stop = true;
    assert_int_equal(fixture_wait(pid), 0);
    fixture_finish(&f);
    uint64_t lost = external_totals(f.external).full;
    if (counter) {
        assert_true(s.of_late > 0 && s.spans_known > 0);
        if (lost == 0) {
            assert_int_equal(s.made, shared->made);
            assert_in_range(s.of_late, shared->made_since - THREADS, shared->made_since + THREADS);
            assert_true(s.spans_known >= shared->made_since); /* not all before the first pair, and across the change */
        }
    }
    fixture_close(&f);
    if (!counter)
        skip(); /* this machine's programs have the kernel's clock anyway */
}

int main(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? 1 : test_run(NULL, NULL);
}
