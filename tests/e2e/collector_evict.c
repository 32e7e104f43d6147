// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* A real collector whose run has many processes, one after the other: memory, answers, and limits. */
#include "run/history/summary.h"
#include "tests/lib/collector_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static const uint8_t run_id[16] = "a run's identity";
static uint64_t seed;

static uint32_t had; /* processes, in all tests */

static int setup(void **state)
{
    *state = collector_fixture_new(run_id, seed_next(&seed));
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    collector_fixture_free(*state);
    return 0;
}

static void begin(struct collector_fixture *t)
{
    assert_true(collector_start(&t->collector, t->ipc));
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    int64_t deadline = clock_now() + PATIENCE;
    while (!t->sensor->welcome && clock_now() < deadline)
        fake_round(t->sensor, 10 * CLOCK_MS);
    assert_true(t->sensor->welcome);
}

/* A process comes, records, and closes its only stream. */
static void live(struct collector_fixture *t)
{
    char name[16];
    snprintf(name, sizeof name, "app%u", had);
    unsigned i = fake_add_process(t->sensor, name, 100 + had, ROLE_SUT);
    t->sensor->processes[i]->said.stream_id = ++had;
    assert_true(fake_say_process(t->sensor, i));
    fake_cut(t->sensor, i, 0, 20);
    fake_close_stream(t->sensor, i, 0);
}

static void end(struct collector_fixture *t, unsigned i)
{
    uint64_t saved = t->sensor->saved;
    assert_true(fake_say_books(t->sensor, i, PROCESS_ENDED, 0));
    int64_t deadline = clock_now() + PATIENCE;
    while (t->sensor->saved == saved && clock_now() < deadline)
        fake_round(t->sensor, CLOCK_MS);
    assert_int_equal(t->sensor->saved, saved + 1);
}

static bool send_packet(struct collector_fixture *t, unsigned process, unsigned i)
{
    const struct fake_stream *s = &t->sensor->processes[process]->rings[0];
    return fake_send(t->sensor, s->bytes + s->starts[i], s->starts[i + 1] - s->starts[i]);
}

static void assert_all_is_there(struct collector_fixture *t)
{
    struct summary *s;
    assert_int_equal(summary_load(t->collector.run, &s), 0);
    assert_int_equal(s->process_count, t->sensor->process_count);
    for (size_t i = 0; i < s->process_count; i++) {
        assert_int_equal(s->processes[i].state, PROCESS_ENDED);
        uint64_t stored = 0;
        for (size_t b = 0; b < s->processes[i].book_count; b++) {
            assert_int_equal(s->processes[i].books[b].attempts, s->processes[i].books[b].stored);
            stored += s->processes[i].books[b].stored;
        }
        assert_int_equal(stored, t->sensor->processes[i]->records);
    }
    summary_free(s);
}

/* As a node without an answer: everything again, twice, and once more after the collector was killed. */
TEST_WITH(setup, teardown, what_has_ended_and_comes_again_is_answered_and_changes_nothing)
{
    struct collector_fixture *t = *test_state;
    begin(t);
    live(t);
    live(t);
    assert_true(fake_settle(t->sensor, PATIENCE));
    end(t, 0);
    for (int again = 0; again < 3; again++) {
        if (again == 2) {
            collector_end(&t->collector, SIGKILL);
            begin(t);
        }
        assert_true(fake_say_process(t->sensor, 0));
        for (unsigned i = 0; i < t->sensor->processes[0]->rings[0].packets; i++)
            assert_true(send_packet(t, 0, i));
        end(t, 0);
    }
    assert_int_equal(collector_status(&t->collector, "refused"), 0);
    assert_int_equal(collector_status(&t->collector, "processes"), 2);
    end(t, 1);
    fake_cut(t->sensor, 0, 0, 1); /* behind the closing packet: impossible */
    assert_true(collector_awaits(&t->collector, t->sensor, "refused", 1, PATIENCE));
    t->sensor->processes[0]->records -= 1;
    assert_int_equal(WEXITSTATUS(collector_end(&t->collector, SIGTERM)), 0);
    assert_all_is_there(t);
}

static long resident_kib(pid_t pid)
{
    char path[64], line[128];
    long kib = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f) && sscanf(line, "VmRSS: %ld", &kib) != 1)
        ;
    fclose(f);
    return kib;
}

/* FAKE_PROCESSES at a time come, record and end. */
static void pass(struct collector_fixture *t, unsigned processes)
{
    for (unsigned n = 0; n < processes; n += FAKE_PROCESSES) {
        if (t->sensor->process_count > 0) /* the answer comes when it is forgotten */
            assert_true(send_packet(t, 0, 0));
        fake_forget_processes(t->sensor);
        for (unsigned i = 0; i < FAKE_PROCESSES; i++)
            live(t);
        assert_true(fake_settle(t->sensor, PATIENCE));
        for (unsigned i = 0; i < FAKE_PROCESSES; i++)
            assert_true(fake_say_books(t->sensor, i, PROCESS_ENDED, 0));
        uint64_t saved = t->sensor->saved;
        for (int64_t deadline = clock_now() + PATIENCE;
             t->sensor->saved < saved + FAKE_PROCESSES && clock_now() < deadline;)
            fake_round(t->sensor, 10 * CLOCK_MS);
    }
}

/* A sanitizer keeps freed memory. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define MEMORY_SAYS_NOTHING true
#else
#define MEMORY_SAYS_NOTHING false
#endif

/* A living process takes some 50 KiB; before eviction an ended one did, too. */
TEST_WITH(setup, teardown, those_who_have_ended_cost_little)
{
    enum { FIRST = 40, MORE = 160, KIB_EACH = 8 };
    struct collector_fixture *t = *test_state;
    begin(t);
    pass(t, FIRST);
    long before = resident_kib(t->collector.pid);
    pass(t, MORE);
    assert_int_equal(collector_status(&t->collector, "processes"), FIRST + MORE);
    assert_int_equal(collector_status(&t->collector, "refused"), 0);
    long more = resident_kib(t->collector.pid) - before;
    printf("%d processes that came and went: %ld KiB more memory\n", MORE, more);
    assert_true(MEMORY_SAYS_NOTHING || more < MORE * KIB_EACH);
}

/* The run at its end: process `i` has all its records, and one process has a note. */
static struct summary *ended_with_a_note(struct collector_fixture *t, unsigned i, const char *text)
{
    struct summary *s;
    uint64_t stored = 0;
    assert_int_equal(WEXITSTATUS(collector_end(&t->collector, SIGTERM)), 0);
    assert_int_equal(summary_load(t->collector.run, &s), 0);
    for (size_t b = 0; b < s->processes[i].book_count; b++)
        stored += s->processes[i].books[b].stored;
    assert_int_equal(stored, t->sensor->processes[i]->records);
    assert_int_equal(s->note_count, 1);
    assert_string_equal(s->notes[0].code, "BEZEL-REFUSED");
    assert_non_null(strstr(s->notes[0].text, text));
    return s;
}

/* It is thrown away and its sender may drop it; the others of its node go on. */
TEST_WITH(setup, teardown, one_process_too_many_is_left_out_and_stops_no_other)
{
    struct collector_fixture *t = *test_state;
    t->collector.more = (const char *const[]){"--processes", "2", NULL};
    begin(t);
    fake_add_process(t->sensor, "first", 1, ROLE_SUT);
    t->sensor->processes[0]->said.stream_id = ++had;
    assert_true(fake_say_process(t->sensor, 0));
    fake_cut(t->sensor, 0, 0, 20);
    live(t);
    assert_true(fake_settle(t->sensor, PATIENCE));
    live(t);
    live(t);
    fake_cut(t->sensor, 0, 0, 20);
    assert_true(fake_settle(t->sensor, PATIENCE));
    end(t, 2);
    end(t, 3);
    assert_true(fake_say_bye(t->sensor, PATIENCE));
    assert_int_equal(collector_status(&t->collector, "processes"), 2);
    struct summary *s = ended_with_a_note(t, 0, "raise the limit");
    assert_true(s->left_out);
    assert_int_equal(s->untaken, 2);
    assert_int_equal(s->untaken_records, 40);
    summary_free(s);
}

static void spoil_dictionary(struct message_process *said)
{
    said->dictionary[11] ^= 1;
}

static void take_the_stream_of_another(struct message_process *said)
{
    said->stream_id = had - 1;
}

/* For whatever reason a process is refused, the others of its node go on. */
TEST_WITH(setup, teardown, a_process_that_is_refused_stops_no_other)
{
    void (*const spoils[])(struct message_process *) = {spoil_dictionary, take_the_stream_of_another};
    struct collector_fixture *t = *test_state;
    begin(t);
    for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++) {
        fake_forget_processes(t->sensor);
        live(t);
        assert_true(fake_settle(t->sensor, PATIENCE));
        fake_add_process(t->sensor, "odd", 50, ROLE_SUT);
        t->sensor->processes[1]->said.stream_id = ++had;
        t->sensor->processes[1]->rings[0].is_refused = true;
        spoils[i](&t->sensor->processes[1]->said);
        fake_cut(t->sensor, 1, 0, 20);
        fake_close_stream(t->sensor, 1, 0);
        fake_add_process(t->sensor, "later", 51, ROLE_SUT);
        t->sensor->processes[2]->said.stream_id = ++had;
        fake_cut(t->sensor, 2, 0, 20);
        assert_true(fake_settle(t->sensor, PATIENCE));
        end(t, 1);
    }
    assert_true(fake_say_bye(t->sensor, PATIENCE));
    assert_int_equal(collector_status(&t->collector, "processes"), 4);
}

/* The same for a known process: its stored packets stay, and its books go on. */
TEST_WITH(setup, teardown, a_dictionary_that_is_another_than_before_stops_no_other)
{
    struct collector_fixture *t = *test_state;
    begin(t);
    live(t);
    fake_add_process(t->sensor, "odd", 50, ROLE_SUT);
    t->sensor->processes[1]->said.stream_id = ++had;
    fake_cut(t->sensor, 1, 0, 20);
    assert_true(fake_settle(t->sensor, PATIENCE));
    struct fake_process *odd = t->sensor->processes[1];
    odd->rings[0].is_refused = true;
    memcpy(odd->said.dictionary + 12, "tock", 4); /* its first aspect was tick */
    dict_free(odd->dict);
    assert_int_equal(dict_parse(odd->said.dictionary, odd->said.dictionary_bytes, &odd->dict), 0);
    fake_cut(t->sensor, 1, 0, 20);
    fake_close_stream(t->sensor, 1, 0);
    fake_add_process(t->sensor, "later", 51, ROLE_SUT);
    t->sensor->processes[2]->said.stream_id = ++had;
    fake_cut(t->sensor, 2, 0, 20);
    assert_true(fake_settle(t->sensor, PATIENCE));
    end(t, 1);
    assert_true(fake_say_bye(t->sensor, PATIENCE));
    struct summary *s = ended_with_a_note(t, 2, "does not contain");
    assert_true(s->processes[1].refused && !s->processes[0].refused && !s->left_out);
    summary_free(s);
}

TEST_WITH(setup, teardown, one_node_too_many_is_refused_with_a_sentence)
{
    struct collector_fixture *t = *test_state;
    t->collector.more = (const char *const[]){"--processes", "1", NULL};
    begin(t);
    struct fake_sensor *other = fake_new("studio", run_id, seed_next(&seed));
    assert_true(fake_connect(other, t->collector.endpoint));
    int64_t deadline = clock_now() + PATIENCE;
    while (!other->refused[0] && clock_now() < deadline)
        fake_round(other, 10 * CLOCK_MS);
    assert_non_null(strstr(other->refused, "raise the limit"));
    fake_free(other);
    assert_int_equal(collector_status(&t->collector, "nodes"), 1);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
