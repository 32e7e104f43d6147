// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A node's triggers on the records of a real process, a child: what its counters say where a silence seems to last, and
 * its last records before its end.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "bezeld/node/node_internal.h"
#include "tests/lib/opened_node.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

BEZEL_ASPECT(tick, (int64, number, "1"));
BEZEL_ASPECT(last_words, (int64, number, "1"));

static int open_node(void **state)
{
    scratch_begin(state);
    setenv("BEZEL_DIR", scratch_dir, 1);
    return opened_node("experiment: triggered\n"
                       "command: [unused]\n"
                       "sensing: {poll: {period: 10 s}}\n"
                       "triggers:\n"
                       "  - {when: no tick for 60 ms, once-in: 1 ms, do: [stop]}\n"
                       "  - {when: any last_words, do: [stop]}\n");
}

static uint64_t fired(uint32_t trigger)
{
    const struct message_firing *f = firings_find(&node->triggers.firings, trigger);
    return f ? f->count : 0;
}

/* ---- A child that records when it is told ------------------------------------------------------------------------ */

static pid_t child;
static int ask, answer; /* pipes: a byte is a record */

static void record_as_told(int asked, int answers)
{
    char what;
    while (read(asked, &what, 1) == 1) {
        if (what == 't')
            bezel_record(tick, 1);
        else
            bezel_record(last_words, 7);
        if (write(answers, &what, 1) != 1)
            break;
    }
    _exit(0);
}

static void begin_child(void)
{
    int to[2], from[2];
    assert_int_equal(pipe(to) + pipe(from), 0);
    child = fork();
    if (child == 0) {
        close(to[1]);
        record_as_told(to[0], from[1]);
    }
    assert_true(child > 0);
    close(to[0]);
    close(from[1]);
    ask = to[1];
    answer = from[0];
}

static void record(char what)
{
    char done = 0;
    assert_int_equal(write(ask, &what, 1), 1);
    assert_int_equal(read(answer, &done, 1), 1);
}

static void end_child(void)
{
    int status;
    close(ask);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(answer);
}

/* What it records waits in its ring, as nobody polls. */
TEST_WITH(open_node, close_node, before_a_silence_fires_the_counters_are_asked)
{
    begin_child();
    record('t');
    int64_t now = clock_now() + CLOCK_S; /* when it looks for processes again */
    external_housekeep(node->external, now);
    node_count_attempts(node, now);
    for (int i = 1; i <= 3; i++) {
        record('t');
        node_triggers_turn(node, now + i * 60 * CLOCK_MS);
        assert_int_equal(fired(0), 0);
    }
    node_triggers_turn(node, now + 239 * CLOCK_MS);
    assert_int_equal(fired(0), 0);
    node_triggers_turn(node, now + 240 * CLOCK_MS);
    assert_int_equal(fired(0), 1);
    assert_int_equal(trigger_counts(node->triggers.set, 0).suppressed, 0);
    end_child();
}

TEST_WITH(open_node, close_node, the_last_records_of_a_process_fire_with_its_name)
{
    begin_child();
    record('w');
    int64_t now = clock_now() + CLOCK_S;
    external_housekeep(node->external, now);
    assert_int_equal(fired(1), 0);
    end_child();
    external_housekeep(node->external, now + CLOCK_S);
    assert_int_equal(fired(1), 1);
    assert_string_not_equal(firings_find(&node->triggers.firings, 1)->process, "");
}

int main(void)
{
    return test_run(NULL, NULL);
}
