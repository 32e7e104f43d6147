// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Sessions on one thread: how long one keeps another waiting, and what each is told of their CPU. Nobody collects:
 * what is cut stays in the windows. What a session records of its cost is seen on its way to the journal (--wrap).
 */
#include "bezeld/scheduler.h"

#include "bezel/sensor.h"
#include "bezeld/node/node_internal.h"
#include "bezeld/node/own_trace.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLICE = 32768, RING = 65536, FLOODS = 3, FEW = 50 };

BEZEL_ASPECT(tick, (int64, number, "1"));

static struct {
    struct journal *j;
    int64_t cpu;
} told[SCHEDULER_MAX];

void __real_own_trace_record_usage(struct journal *j, const struct builtin_usage *s);
void __wrap_own_trace_record_usage(struct journal *j, const struct builtin_usage *s);
void __wrap_own_trace_record_usage(struct journal *j, const struct builtin_usage *s)
{
    unsigned i = 0;
    while (told[i].j && told[i].j != j)
        i++;
    told[i].j = j;
    told[i].cpu = s->cpu;
    __real_own_trace_record_usage(j, s);
}

static unsigned sleeps;

void __real_clock_sleep_until(int64_t deadline);
void __wrap_clock_sleep_until(int64_t deadline);
void __wrap_clock_sleep_until(int64_t deadline)
{
    sleeps++;
    __real_clock_sleep_until(deadline);
}

static bool no_agent; /* as where memory is used up */

int __real_agent_new(const struct experiment *e, uint32_t node, struct agent **agent);
int __wrap_agent_new(const struct experiment *e, uint32_t node, struct agent **agent);
int __wrap_agent_new(const struct experiment *e, uint32_t node, struct agent **agent)
{
    return no_agent ? BEZEL_ENOMEM : __real_agent_new(e, node, agent);
}

static int64_t told_cpu(const struct session *s)
{
    for (unsigned i = 0; i < SCHEDULER_MAX; i++)
        if (told[i].j == s->node->own_trace)
            return told[i].cpu;
    return -1;
}

/* ---- Sessions, and processes that have recorded ------------------------------------------------------------------ */

static struct scheduler all;

static int try_session(const char *dir, const char *name, const char *sensing, struct session **s, char *why)
{
    char collector[128], text[512];
    snprintf(collector, sizeof collector, "ipc://%s/nobody", scratch_dir);
    snprintf(text, sizeof text, "experiment: %s\ncommand: [unused]\nsensing: {window: 64 MiB, %s}\n", name, sensing);
    static const struct command_request nobody;
    struct session_request wish = {.run = {(uint8_t)(all.count + 1)},
                                   .node = "local",
                                   .dir = dir,
                                   .collector = collector,
                                   .from = &nobody,
                                   .text = text,
                                   .text_bytes = strlen(text),
                                   .file = name,
                                   .idle_timeout = 3600 * CLOCK_S};
    return session_open(&wish, s, why);
}

static struct session *open_session_in(const char *dir, const char *name, const char *sensing)
{
    char why[SESSION_WHY_MAX];
    struct session *s;
    if (try_session(dir, name, sensing, &s, why) != 0)
        fail_msg("%s: %s", name, why);
    assert_int_equal(scheduler_add(&all, s), 0);
    return s;
}

static struct session *open_session(const char *name, const char *sensing)
{
    char dir[96];
    snprintf(dir, sizeof dir, "%s/%s", scratch_dir, name);
    return open_session_in(dir, name, sensing);
}

static pid_t recorders[FLOODS + 1];
static unsigned recorder_count;

/* A process that has recorded `count` ticks, and stays. */
static void record(const struct session *s, int count)
{
    int done[2];
    char byte;
    assert_int_equal(pipe(done), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("BEZEL_DIR", s->dir, 1);
        setenv("BEZEL_RING_RECORDS", "65536", 1);
        for (int i = 0; i < count; i++)
            bezel_record(tick, i);
        close(done[1]);
        close(done[0]);
        for (;;)
            pause();
    }
    recorders[recorder_count++] = pid;
    close(done[1]);
    assert_int_equal(read(done[0], &byte, 1), 0);
    close(done[0]);
}

static uint64_t records(const struct session *s)
{
    return external_counts(s->node->external)->records;
}

static int begin(void **state)
{
    memset(told, 0, sizeof told);
    scheduler_init(&all);
    return scratch_begin(state);
}

static int end(void **state)
{
    while (recorder_count > 0) {
        kill(recorders[--recorder_count], SIGKILL);
        waitpid(recorders[recorder_count], NULL, 0);
    }
    while (all.count > 0)
        scheduler_remove(&all, all.count - 1);
    return scratch_end(state);
}

/* ---- The tests --------------------------------------------------------------------------------------------------- */

/*
 * However the flooded one forwards, the quiet one has its poll behind each slice of it, though it is due only once the
 * slice has begun. A turn that takes little may be shorter than that.
 */
static void keeps_nobody_waiting(const char *sensing)
{
    struct session *flooded = open_session("flooded", sensing), *quiet = open_session("quiet", "poll: {period: 1 ms}");
    int64_t deadline = clock_now() + PATIENCE;
    for (int i = 0; i < FLOODS; i++)
        record(flooded, RING);
    record(quiet, FEW);
    while (records(flooded) < FLOODS * RING && clock_now() < deadline) {
        uint64_t taken = records(flooded), polls = quiet->node->usage.polls;
        quiet->node->schedule.poll_due = clock_now() + 20 * CLOCK_US;
        scheduler_turn(&all);
        taken = records(flooded) - taken;
        assert_true(taken <= SLICE);
        assert_true(taken < SLICE / 2 || quiet->node->usage.polls > polls);
    }
    assert_true(records(flooded) >= FLOODS * RING && records(quiet) >= FEW);
}

TEST_WITH(begin, end, a_flood_of_one_lets_the_other_poll_after_each_slice)
{
    keeps_nobody_waiting("poll: {period: 1 us}");
}

TEST_WITH(begin, end, so_does_one_with_a_batch_of_its_own_that_is_longer)
{
    keeps_nobody_waiting("poll: {period: 1 us, batch: 100000}");
}

TEST_WITH(begin, end, so_does_one_that_waits_busily)
{
    keeps_nobody_waiting("poll: {mode: busy-wait}");
}

/* The policy turns it off and on again and again, each time before its poll is due: the poll comes all the same. */
TEST_WITH(begin, end, one_that_flickers_within_its_period_polls_on)
{
    struct node *n = open_session("flickers", "poll: {period: 100 ms}")->node;
    struct node_decider by = {.who = DECIDED_BY_AGENT};
    int64_t now = clock_now(), due = now + n->policy.period / 2;
    n->schedule.poll_due = due;
    for (int i = 0; i < 10; i++, now += n->policy.period / 50) {
        struct agent_outcome o = {.action = POLICY_OFF, .before = n->policy, .after = n->policy, .cause = -1};
        o.after.on = false;
        node_carry_out(n, &o, &by, now);
        o.action = POLICY_RESUME;
        o.before = o.after;
        o.after.on = true;
        node_carry_out(n, &o, &by, now + CLOCK_MS);
        assert_int_equal(n->schedule.poll_due, due);
    }
}

TEST_WITH(begin, end, one_that_waits_busily_never_sleeps)
{
    const struct session *s = open_session("busy", "poll: {mode: busy-wait}");
    int64_t deadline = clock_now() + PATIENCE;
    int none = -1;
    sleeps = 0;
    while (s->node->usage.polls < 5000 && clock_now() < deadline) {
        scheduler_turn(&all);
        scheduler_wait(&all, &none, 0);
    }
    assert_true(s->node->usage.polls >= 5000);
    assert_int_equal(sleeps, 0);
}

/* Control endpoint, signals and parent pipe get a turn where there is news, and cost nothing where there is none. */
TEST_WITH(begin, end, who_calls_is_heard_between_polls_and_nobody_else_is_looked_at)
{
    int call[2];
    open_session("called", "poll: {period: 1 ms}");
    assert_int_equal(pipe(call), 0);
    for (int turn = 0; turn < 60; turn++) {
        assert_false(scheduler_turn(&all));
        scheduler_wait(&all, call, 1);
    }
    assert_int_equal(write(call[1], "x", 1), 1);
    bool heard = false;
    for (int64_t deadline = clock_now() + PATIENCE; !heard && clock_now() < deadline;) {
        scheduler_wait(&all, call, 1);
        heard = scheduler_turn(&all);
    }
    assert_true(heard);
    close(call[0]);
    close(call[1]);
}

/* The counter tells a time on a line of its own, which may be wrong: only where it is plausible it is taken. */
TEST(a_look_takes_the_kernels_time_where_the_counters_is_none)
{
    const struct {
        int64_t late;
        bool trusted, taken;
    } cases[] = {
        {50 * CLOCK_US, true, true}, {50 * CLOCK_US, false, false}, {-CLOCK_US, true, false}, {CLOCK_S, true, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct external_row row = {0};
        int64_t before = clock_now(), due = before + 3600 * CLOCK_S; /* a time that the kernel's clock does not show */
        row.line = (struct timebase_line){.ns = due + cases[i].late, .factor = 0, .shift = 1};
        row.line.span = cases[i].trusted ? UINT64_MAX : 0;
        int64_t now = external_row_now(&row, due);
        if (cases[i].taken)
            assert_int_equal(now, due + cases[i].late);
        else
            assert_in_range(now, before, clock_now());
    }
}

TEST_WITH(begin, end, one_alone_takes_all_at_once)
{
    struct session *s = open_session("alone", "poll: {period: 1 us}");
    for (int i = 0; i < FLOODS; i++)
        record(s, RING);
    scheduler_turn(&all);
    assert_true(records(s) >= FLOODS * RING);
}

/* ---- CPU --------------------------------------------------------------------------------------------------------- */

static void *burn(void *ns)
{
    for (int64_t until = clock_process_cpu() + *(int64_t *)ns; clock_process_cpu() < until;)
        ;
    return NULL;
}

/* As ZeroMQ's threads do: not the one that the sessions have. */
static void burn_elsewhere(int64_t ns)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, burn, &ns), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Turns until what `s` is told of its cost is not what it was. */
static void await_sample(const struct session *s)
{
    int64_t before = told_cpu(s), deadline = clock_now() + PATIENCE;
    while (told_cpu(s) == before && clock_now() < deadline)
        scheduler_turn(&all);
    assert_true(told_cpu(s) > before);
}

TEST_WITH(begin, end, each_is_told_the_cpu_of_all_threads_undivided)
{
    int64_t opened = clock_now();
    struct session *a = open_session("a", "poll: {period: 1 ms}"), *b = open_session("b", "poll: {period: 1 ms}");
    burn_elsewhere(50 * CLOCK_MS);
    while (a->node->usage.sensor_cpu == 0 || b->node->usage.sensor_cpu == 0)
        scheduler_turn(&all);
    double least = 100.0 * (double)(50 * CLOCK_MS) / (double)(clock_now() - opened);
    assert_true(a->node->usage.sensor_cpu >= least && b->node->usage.sensor_cpu >= least);
}

TEST_WITH(begin, end, what_was_used_before_a_session_began_is_not_its)
{
    struct session *a = open_session("a", "poll: {period: 1 ms}");
    burn_elsewhere(50 * CLOCK_MS);
    int64_t before = clock_process_cpu();
    struct session *b = open_session("b", "poll: {period: 1 ms}");
    await_sample(b);
    assert_true(told_cpu(b) <= clock_process_cpu() - before);
    await_sample(a);
    assert_true(told_cpu(a) >= 50 * CLOCK_MS);
}

/* A session there, from its beginning to its end for want of a run; nobody collects. */
static void live_deserted(const char *dir)
{
    setenv("BEZEL_PROCESS", "bezeld", 1); /* its own segment is a daemon's */
    struct session *s = open_session_in(dir, "late", "poll: {period: 1 ms}");
    int64_t deadline = clock_now() + PATIENCE;
    while (records(s) == 0 && clock_now() < deadline) /* its own */
        scheduler_turn(&all);
    s->deserted = true;
    session_end(s);
    s->give_up = 0;
    while (s->phase != SESSION_OVER && clock_now() < deadline)
        scheduler_turn(&all);
    assert_int_equal(s->phase, SESSION_OVER);
    scheduler_remove(&all, 0);
}

/* Heard of too late, and deserted: it made the run's folder anew, which nobody else knows of. */
TEST_WITH(begin, end, one_whose_run_is_gone_leaves_no_folder)
{
    static const struct {
        const char *parent; /* of the first session's run, or not */
        bool goes;
    } cases[] = {{"run-01000000", true}, {"run-01000001", false}, {"mine", false}};
    char parent[96], dir[128];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(parent, sizeof parent, "%s/%s", scratch_dir, cases[i].parent);
        snprintf(dir, sizeof dir, "%s/local", parent);
        live_deserted(dir);
        assert_int_equal(access(dir, F_OK), cases[i].goes ? -1 : 0);
        assert_int_equal(access(parent, F_OK), cases[i].goes ? -1 : 0);
    }
    snprintf(parent, sizeof parent, "%s/run-01000000", scratch_dir);
    snprintf(dir, sizeof dir, "%s/.lock", parent);
    assert_int_equal(mkdir(parent, 0700), 0);
    close(open(dir, O_CREAT | O_RDWR, 0600)); /* a run lives here */
    snprintf(dir, sizeof dir, "%s/local", parent);
    live_deserted(dir);
    assert_int_equal(access(parent, F_OK), 0);
}

TEST_WITH(begin, end, an_agent_that_cannot_be_made_is_not_told_as_a_socket_that_cannot_be_bound)
{
    char why[SESSION_WHY_MAX];
    struct session *s;
    no_agent = true;
    int err = try_session(scratch_dir, "a", "poll: {period: 1 ms}", &s, why);
    no_agent = false;
    assert_int_equal(err, BEZEL_ENOMEM);
    if (!strstr(why, "cannot make the agent, which evaluates the limits of node local: "))
        fail_msg("told: %s", why);
}
