// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* kill -9 of the collector at random moments: what was acknowledged is stored once, the rest comes again, once. */
#include "run/history/summary.h"
#include "tests/lib/collector_process.h"
#include "tests/lib/fake_sensor.h"
#include "tests/lib/patience.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILLS = 12, PROCESSES = 3, RINGS = 2 };

static const uint8_t run_id[16] = "a run's identity";
static uint64_t seed;

static void stream_path(const struct collector_process *c, const struct fake_sensor *f, unsigned p, unsigned r,
                        char path[256])
{
    const struct message_process *said = &f->processes[p]->said;
    snprintf(path, 256, "%s/trace/desk/%s-%u-%u", c->run, said->name, said->pid, r);
}

static void assert_files(const struct collector_process *c, const struct fake_sensor *f, bool whole)
{
    char path[256];
    for (unsigned p = 0; p < f->process_count; p++)
        for (unsigned r = 0; r < RINGS; r++) {
            stream_path(c, f, p, r, path);
            assert_true(fake_file_is_right(&f->processes[p]->rings[r], path, whole));
        }
}

static void cut_some(struct fake_sensor *f)
{
    unsigned p = (unsigned)(seed_next(&seed) % f->process_count), r = (unsigned)(seed_next(&seed) % RINGS);
    uint64_t what = seed_next(&seed) % 16;
    if (f->processes[p]->rings[r].packets > FAKE_PACKETS - 2)
        return;
    if (what == 0)
        fake_lose(f, p, r, 1 + seed_next(&seed) % 100);
    else
        fake_cut(f, p, r, 1 + (uint32_t)(seed_next(&seed) % 400));
    if (what == 1)
        fake_add_string(f, p, "one more");
}

/* Sends for some milliseconds; whoever comes and goes meanwhile is found again by the sensor itself. */
static void send_for(struct fake_sensor *f, int64_t ns)
{
    for (int64_t end = clock_now() + ns; clock_now() < end;) {
        cut_some(f);
        fake_round(f, CLOCK_MS / 10);
    }
}

/* As a kill in the middle of a write leaves it: a part of a packet at a file's end, and a file not yet named. */
static void tear(const struct collector_process *c, const struct fake_sensor *f)
{
    char path[256];
    const struct fake_stream *s = &f->processes[0]->rings[0];
    stream_path(c, f, 0, 0, path);
    int fd = open(path, O_WRONLY | O_APPEND);
    if (fd < 0)
        return;
    size_t n = 1 + seed_next(&seed) % (PACKET_HEADER_BYTES - 1);
    assert_int_equal(write(fd, s->bytes, n), n);
    close(fd);
}

static void assert_books(const struct collector_process *c, const struct fake_sensor *f)
{
    struct summary *s;
    assert_int_equal(summary_load(c->run, &s), 0);
    assert_int_equal(s->process_count, f->process_count);
    for (size_t i = 0; i < s->process_count; i++) {
        uint64_t stored = 0, discarded = 0;
        for (size_t b = 0; b < s->processes[i].book_count; b++)
            stored += s->processes[i].books[b].stored;
        for (unsigned r = 0; r < RINGS; r++)
            discarded += f->processes[i]->rings[r].discarded;
        assert_int_equal(stored, f->processes[i]->records);
        assert_int_equal(s->processes[i].discarded, discarded);
    }
    summary_free(s);
}

TEST(what_was_acknowledged_is_stored_once_whenever_it_is_killed)
{
    struct collector_process c = {0};
    char listen[LINK_ENDPOINT_MAX];
    assert_true(collector_make(&c));
    snprintf(listen, sizeof listen, "ipc://%s/data", c.dir);
    struct fake_sensor *f = fake_new("desk", run_id, seed_next(&seed));
    for (unsigned p = 0; p < PROCESSES; p++)
        fake_add_process(f, "app", 10 + p, ROLE_SUT);
    assert_true(collector_start(&c, listen));
    assert_true(fake_connect(f, listen));
    for (int i = 0; i < KILLS; i++) {
        send_for(f, (int64_t)(seed_next(&seed) % 60) * CLOCK_MS);
        kill(c.pid, SIGKILL);
        send_for(f, (int64_t)(seed_next(&seed) % 5) * CLOCK_MS);
        assert_true(WIFSIGNALED(collector_wait(&c)));
        assert_files(&c, f, false);
        if (i % 2)
            tear(&c, f);
        assert_true(collector_start(&c, listen));
        if (i % 3 == 0)
            assert_true(fake_settle(f, PATIENCE));
    }
    assert_true(fake_settle(f, PATIENCE));
    assert_files(&c, f, true);
    assert_int_equal(collector_status(&c, "records"), fake_records(f));
    assert_true(fake_say_bye(f, PATIENCE));
    assert_int_equal(collector_end(&c, SIGTERM), 0);
    assert_files(&c, f, true);
    assert_books(&c, f);
    assert_false(collector_said(&c, "BEZEL-PACKET-REFUSED"));
    fake_free(f);
    collector_remove(&c);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
