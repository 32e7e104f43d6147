// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * kill -9 of bezeld, many times in one run, while a process records: the stored trace has every record once and in
 * order, but those that a full ring lost, and it says which; the books balance, those of the killed bezelds too.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "run/history/summary.h"
#include "run/store/trace_reader.h"
#include "tests/lib/begin.h"
#include "tests/lib/collector_process.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3 };

/* What is recorded, and into what. */
struct load {
    int burst; /* records of a thread in a millisecond */
    const char *ring_records, *sensing;
};
static const struct load calm = {20, "65536", ""}; /* a ring outlasts a restart, where the machine is not busy */
static const struct load heavy = {1000, "1024", "window: 1 MiB, "}; /* rings are full, and so is the window */

static const char run_id[] = "b0e1d2c3-0000-4000-8000-00000000beef";

BEZEL_ASPECT(step, (int64, thread, "1"), (int64, number, "1"));
static const uint8_t step_fields[] = {0, 2};

static uint64_t seed;

/* Shared with the recording process. */
static struct page {
    _Atomic bool go, stop;
    int burst;
    _Atomic uint64_t done[THREADS];
} * page;

static struct begin begun; /* too large for a stack */

struct scene {
    struct collector_process collector;
    char dir[SCRATCH_PATH], bezeld_control[96];
    const struct load *load;
    pid_t bezeld, sut;
    int parent_pipe;
    uint64_t stored[THREADS], lost[THREADS];
};

/* ---- The recording process --------------------------------------------------------------------------------------- */

static void *thread_body(void *context)
{
    int64_t t = (int64_t)(intptr_t)context, due = clock_now();
    for (int64_t n = 0; !page->stop;) {
        for (int i = 0; i < page->burst; i++) {
            bezel_record(step, t, n++);
            page->done[t]++;
        }
        clock_sleep_until(due += CLOCK_MS);
    }
    return NULL;
}

static void record(void)
{
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, thread_body, (void *)i) != 0) /* NOLINT: a number is all it needs */
            _exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    exit(0); /* not _exit(): as a program ends */
}

/* Forks the program, which records from page->go on: before ZeroMQ's threads are in this process. */
static void start_recording(struct scene *s)
{
    memset(page, 0, sizeof *page);
    page->burst = s->load->burst;
    fflush(NULL);
    s->sut = fork();
    assert_true(s->sut >= 0);
    if (s->sut == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("BEZEL_DIR", s->dir, 1);
        setenv("BEZEL_PROCESS", "sut", 1);
        setenv("BEZEL_RING_RECORDS", s->load->ring_records, 1);
        while (!page->go)
            clock_sleep_until(clock_now() + CLOCK_MS);
        record();
    }
}

/* ---- bezeld ------------------------------------------------------------------------------------------------------ */

static void become_bezeld(const struct scene *s, int ready, int parent_pipe)
{
    char ready_text[12], pipe_text[12], log[96];
    snprintf(ready_text, sizeof ready_text, "%d", ready);
    snprintf(pipe_text, sizeof pipe_text, "%d", parent_pipe);
    snprintf(log, sizeof log, "%s/bezeld.log", s->collector.dir);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(open(log, O_WRONLY | O_CREAT | O_APPEND, 0666), 2);
    execl(BEZELD, "bezeld", "--control", s->bezeld_control, "--ready", ready_text, "--parent-pipe", pipe_text,
          (char *)NULL);
    _exit(127);
}

/* Starts bezeld, asks it for the session and waits until it serves, or, with `hurry`, not even that long. */
static void start_bezeld(struct scene *s, bool hurry)
{
    int ready[2], parent_pipe[2];
    char line[16], experiment[128];
    snprintf(experiment, sizeof experiment,
             "experiment: killed\ncommand: [unused]\nsensing: {%spoll: {period: 1 ms}}\n", s->load->sensing);
    assert_true(pipe2(ready, 0) == 0 && pipe2(parent_pipe, 0) == 0);
    fcntl(ready[0], F_SETFD, FD_CLOEXEC);
    fcntl(parent_pipe[1], F_SETFD, FD_CLOEXEC);
    fcntl(parent_pipe[0], F_SETFL, O_NONBLOCK);
    s->bezeld = fork();
    assert_true(s->bezeld >= 0);
    if (s->bezeld == 0)
        become_bezeld(s, ready[1], parent_pipe[0]);
    close(ready[1]);
    close(parent_pipe[0]);
    s->parent_pipe = parent_pipe[1];
    assert_int_equal(poll(&(struct pollfd){.fd = ready[0], .events = POLLIN}, 1, (int)(PATIENCE / CLOCK_MS)), 1);
    assert_int_equal(read(ready[0], line, sizeof line), strlen("ready\n"));
    close(ready[0]);
    assert_true(begin_fill(&begun, experiment, "local", s->dir, run_id, s->collector.endpoint));
    assert_true(begin_ask(&begun, s->bezeld_control, (struct command_caller_access){0}));
    if (hurry)
        return; /* the link stays open, so that CONFIGURE arrives */
    assert_true(begin_await(&begun, PATIENCE));
}

static void kill_bezeld(struct scene *s)
{
    int status;
    begin_close(&begun);
    kill(s->bezeld, SIGKILL);
    assert_int_equal(waitpid(s->bezeld, &status, 0), s->bezeld);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* it had not ended by itself */
    close(s->parent_pipe);
}

/* Asks the session: its state, or -1. */
static int ask(enum message_verb verb)
{
    static struct message m; /* too large for a stack */
    m.command = (struct message_command){.verb = verb};
    bool answered = begin_command(&begun.caller, &m, PATIENCE) && m.type == MESSAGE_REPLY;
    return answered ? (int)m.reply.state : -1;
}

static void drain(void)
{
    int64_t deadline = clock_now() + PATIENCE;
    int state = ask(VERB_STOP);
    while (state != DAEMON_DRAINED) {
        assert_true(state >= 0 && clock_now() < deadline);
        clock_sleep_until(clock_now() + 10 * CLOCK_MS);
        state = ask(VERB_QUERY);
    }
}

static void end_bezeld(struct scene *s)
{
    int status;
    assert_true(ask(VERB_SHUTDOWN) >= 0);
    begin_close(&begun);
    assert_int_equal(waitpid(s->bezeld, &status, 0), s->bezeld);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(s->parent_pipe);
}

/* ---- What is stored ---------------------------------------------------------------------------------------------- */

/*
 * Every number of a thread is there, in its place, or lies where the stream says that records were lost. Returns the
 * thread.
 */
static uint64_t check_packet(struct scene *s, const struct packet_header *h, const uint8_t *packet)
{
    struct packet_record r;
    size_t at = PACKET_HEADER_BYTES;
    uint64_t ordinal = h->first_ordinal, t = THREADS;
    assert_int_equal(packet_check(packet, h, step_fields, 1, NULL), 0);
    while (packet_next_record(packet, h, step_fields, 1, &at, &r) > 0) {
        t = packet_value(&r, 0);
        assert_true(t < THREADS);
        assert_int_equal(packet_value(&r, 1), ordinal++);
        s->stored[t]++;
    }
    assert_true(t < THREADS);
    return t;
}

static int check_file(const char *path, void *context)
{
    struct scene *s = context;
    struct trace_reader *r;
    struct packet_header h;
    const uint8_t *packet;
    uint64_t next_ordinal = 0, discarded = 0, thread = THREADS;
    bool closed = false, sut = strncmp(strrchr(path, '/'), "/sut-", 5) == 0;
    int n;
    assert_int_equal(trace_reader_open(path, &r), 0);
    while ((n = trace_reader_next(r, &h, &packet)) > 0) {
        assert_false(closed);
        assert_int_equal(h.first_ordinal, next_ordinal);
        next_ordinal += h.records + (h.discarded - discarded);
        discarded = h.discarded;
        closed = h.kind == PACKET_CLOSE;
        if (sut && h.kind == PACKET_DATA)
            thread = check_packet(s, &h, packet);
    }
    assert_int_equal(n, 0);
    assert_true(closed);
    if (thread < THREADS)
        s->lost[thread] = discarded; /* the closing packet has those behind the last record, too */
    trace_reader_close(r);
    return 0;
}

static void check_books(struct scene *s, bool ended)
{
    struct summary *sum;
    uint64_t bezelds = 0, detached = 0;
    assert_int_equal(summary_load(s->collector.run, &sum), 0);
    for (size_t i = 0; i < sum->process_count; i++) {
        const struct summary_process *p = &sum->processes[i];
        uint64_t attempts = 0, stored = 0, dropped = 0;
        for (size_t b = 0; b < p->book_count; b++) {
            attempts += p->books[b].attempts;
            stored += p->books[b].stored;
            dropped += p->books[b].full + p->books[b].window + p->books[b].spool + p->books[b].off;
            assert_int_equal(p->books[b].no_ring, 0);
        }
        assert_int_equal(attempts, stored + dropped + p->unfinished);
        assert_int_equal(p->discarded, dropped + p->unfinished);
        if (p->role == ROLE_SUT)
            assert_int_equal(p->state, ended ? PROCESS_ENDED : PROCESS_LEFT);
        detached += p->role == ROLE_DAEMON && p->state == PROCESS_DETACHED;
        bezelds += p->role == ROLE_DAEMON;
        /* On a busy machine a living thread may stand still within a record for longer than it is given. */
        assert_true(p->unfinished <= (p->role != ROLE_SUT ? 1 : ended ? 0 : THREADS));
    }
    assert_int_equal(detached, 1); /* the last bezeld, from itself */
    assert_true(bezelds > 0 && sum->process_count == bezelds + 1);
    summary_free(sum);
}

static void check_trace(struct scene *s)
{
    char path[128];
    snprintf(path, sizeof path, "%s/trace/local", s->collector.run);
    assert_int_equal(trace_reader_list(path, check_file, s), 0);
}

/* ---- Scenes ------------------------------------------------------------------------------------------------------ */

static void open_scene(struct scene *s)
{
    char listen[96];
    scratch_make(s->dir);
    assert_true(collector_make(&s->collector));
    scratch_add(s->collector.dir);
    snprintf(listen, sizeof listen, "ipc://%s/data", s->collector.dir);
    snprintf(s->bezeld_control, sizeof s->bezeld_control, "ipc://%s/bezeld", s->collector.dir);
    assert_true(collector_start(&s->collector, listen));
    start_recording(s);
    start_bezeld(s, false);
    page->go = true;
}

static void kill_often(struct scene *s)
{
    for (int kills = getenv("BEZEL_TEST_LIGHT") ? 8 : 25; kills > 0; kills--) {
        uint64_t r = seed_next(&seed);
        clock_sleep_until(clock_now() + (int64_t)(r % 80) * CLOCK_MS + (int64_t)(r % 1000) * CLOCK_US);
        kill_bezeld(s);
        clock_sleep_until(clock_now() + (int64_t)((r >> 16) % 20) * CLOCK_MS);
        start_bezeld(s, (r >> 32) % 3 == 0);
    }
    kill_bezeld(s);
    start_bezeld(s, false);
}

static void stop_recording(struct scene *s)
{
    int status;
    page->stop = true;
    assert_int_equal(waitpid(s->sut, &status, 0), s->sut);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void close_scene(struct scene *s)
{
    assert_int_equal(collector_end(&s->collector, SIGTERM), 0);
    assert_false(collector_said(&s->collector, "BEZEL-PACKET-REFUSED"));
}

static void record_and_kill(const struct load *load)
{
    struct scene s = {.load = load};
    open_scene(&s);
    kill_often(&s);
    stop_recording(&s);
    for (int i = 0; i < 3; i++) { /* and while it drains */
        ask(VERB_STOP);
        clock_sleep_until(clock_now() + (int64_t)(seed_next(&seed) % 10) * CLOCK_MS);
        kill_bezeld(&s);
        start_bezeld(&s, false);
    }
    drain();
    end_bezeld(&s);
    close_scene(&s);
    check_trace(&s);
    for (int t = 0; t < THREADS; t++) {
        printf("thread %d: %llu recorded, %llu stored, %llu lost\n", t, (unsigned long long)page->done[t],
               (unsigned long long)s.stored[t], (unsigned long long)s.lost[t]);
        assert_true(s.stored[t] > 0);
        assert_int_equal(s.stored[t] + s.lost[t], page->done[t]);
    }
    check_books(&s, true);
    scratch_remove(s.collector.dir);
    scratch_remove(s.dir);
}

TEST(every_record_is_stored_once_however_often_bezeld_is_killed)
{
    record_and_kill(&calm);
}

TEST(every_record_is_stored_once_or_its_loss_counted_where_rings_and_window_are_full)
{
    record_and_kill(&heavy);
}

TEST(a_process_that_is_left_alive_is_stored_up_to_its_closing_packet)
{
    struct scene s = {.load = &calm};
    open_scene(&s);
    for (int i = 0; i < 5; i++) {
        clock_sleep_until(clock_now() + (int64_t)(seed_next(&seed) % 40) * CLOCK_MS);
        ask(VERB_STOP);
        clock_sleep_until(clock_now() + (int64_t)(seed_next(&seed) % 10) * CLOCK_MS);
        kill_bezeld(&s);
        start_bezeld(&s, false);
    }
    drain();
    end_bezeld(&s);
    close_scene(&s);
    stop_recording(&s);
    check_trace(&s);
    check_books(&s, false);
    scratch_remove(s.collector.dir);
    scratch_remove(s.dir);
}

int main(void)
{
    seed = seed_start();
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 1;
    return test_run(NULL, NULL);
}
