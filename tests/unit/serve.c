// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Runs that are read over a link: the same items as from the files; credit; who is refused; what becomes of whom. */
#include <bezel/consumer.h>

#include "base/file.h"
#include "collector/remote/remote_reader.h"
#include "mdr/link/link.h"
#include "tests/lib/collector_process.h"
#include "tests/lib/key_pair.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/serve_process.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RECORDS = 6000, LOST = 17 }; /* more than the credit of one consumer */

static const uint8_t run_id[16] = "a run's identity";
static char run[SCRATCH_PATH + 8], keys[SCRATCH_PATH + 8];

/* ---- a run and its server ---------------------------------------------------------------------------------------- */

struct served {
    struct fake_sensor *sensor;
    struct stored_run stored;
    struct serve_process server;
    bool ended; /* the run has */
};

/* A run of two processes with two rings each, and a loss. */
static void store(struct served *s)
{
    s->sensor = fake_new("desk", run_id, 1);
    fake_add_process(s->sensor, "client", 101, ROLE_SUT);
    fake_add_process(s->sensor, "monitor", 102, ROLE_DAEMON);
    for (unsigned i = 0; i < 4; i++)
        fake_cut(s->sensor, i / 2, i % 2, RECORDS);
    fake_lose(s->sensor, 0, 1, LOST);
    (void)!file_remove_tree(run);
    assert_int_equal(file_make_dirs(run, 0700), 0);
    assert_int_equal(stored_start(&s->stored, run, s->sensor, STORE_SYNC_NEVER), 0);
    assert_int_equal(stored_feed(&s->stored, UINT64_MAX), 0);
}

static struct served start(const char *const *more, bool keyed)
{
    struct served s = {.ended = false};
    char key[sizeof keys + 16];
    const char *args[16] = {"--keys", keys, "--key", key};
    size_t n = keyed ? 4 : 0;
    snprintf(key, sizeof key, "%s/collector.key", keys);
    store(&s);
    while (more && *more)
        args[n++] = *more++;
    args[n] = NULL;
    assert_true(serve_process_start(&s.server, run, "tcp://127.0.0.1:*", args));
    return s;
}

static void end_run(struct served *s)
{
    stored_end(&s->stored);
    assert_int_equal(stored_stop(&s->stored), 0);
    s->ended = true;
}

static void stop(struct served *s)
{
    if (s->server.pid)
        assert_int_equal(serve_process_end(&s->server, SIGTERM), 0);
    if (!s->ended)
        end_run(s);
    fake_free(s->sensor);
}

static struct bezel_consumer_options options_of(void)
{
    return (struct bezel_consumer_options){.size = sizeof(struct bezel_consumer_options)};
}

/* ---- the same items ---------------------------------------------------------------------------------------------- */

static void assert_same_text(const char *a, const char *b)
{
    assert_int_equal(a != NULL, b != NULL);
    if (a)
        assert_string_equal(a, b);
}

static void assert_same_fields(struct bezel_consumer *a, struct bezel_consumer *b, uint32_t count)
{
    struct bezel_consumer_field f = {.size = sizeof f}, g = {.size = sizeof g};
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(bezel_consumer_get(a, i, &f), 0);
        assert_int_equal(bezel_consumer_get(b, i, &g), 0);
        assert_int_equal(f.type, g.type);
        assert_string_equal(f.name, g.name);
        assert_string_equal(f.unit, g.unit);
        assert_int_equal(f.integer, g.integer);
        assert_memory_equal(&f.real, &g.real, sizeof f.real);
        assert_same_text(f.text, g.text);
    }
}

/* Opens the server at `endpoint`, which may refuse for as long as it has a place that is not free again yet. */
static struct bezel_consumer *open_in_time(const char *endpoint, const struct bezel_consumer_options *options)
{
    struct bezel_consumer *c;
    int64_t deadline = clock_now() + PATIENCE;
    while (bezel_consumer_open(endpoint, options, &c) != 0)
        if (clock_now() > deadline)
            fail_msg("%s", bezel_consumer_reason());
    return c;
}

/* Reads the run from its files and from its server. Returns how many records both gave. */
static uint64_t assert_same_items(const struct served *s, const struct bezel_consumer_options *options)
{
    struct bezel_consumer_item x = {.size = sizeof x}, y = {.size = sizeof y};
    struct bezel_consumer_totals t = {.size = sizeof t}, u = {.size = sizeof u};
    struct bezel_consumer *a, *b = open_in_time(s->server.endpoint, options);
    int got;
    assert_int_equal(bezel_consumer_open(run, options, &a), 0);
    while ((got = bezel_consumer_next(a, &x, -1)) == BEZEL_CONSUMER_ITEM) {
        assert_int_equal(bezel_consumer_next(b, &y, -1), BEZEL_CONSUMER_ITEM);
        assert_int_equal(x.kind, y.kind);
        assert_int_equal(x.order, y.order);
        assert_string_equal(x.node, y.node);
        assert_string_equal(x.process, y.process);
        assert_same_text(x.aspect, y.aspect);
        assert_int_equal(x.pid, y.pid);
        assert_int_equal(x.ring, y.ring);
        assert_int_equal(x.thread, y.thread);
        assert_int_equal(x.fields, y.fields);
        assert_int_equal(x.time_ns, y.time_ns);
        assert_int_equal(x.run_time_ns, y.run_time_ns);
        assert_int_equal(x.error_ns, y.error_ns);
        assert_int_equal(x.lost, y.lost);
        assert_same_fields(a, b, x.fields);
    }
    assert_int_equal(got, BEZEL_CONSUMER_END);
    assert_int_equal(bezel_consumer_next(b, &y, -1), BEZEL_CONSUMER_END);
    assert_int_equal(bezel_consumer_totals(a, &t), 0);
    assert_int_equal(bezel_consumer_totals(b, &u), 0);
    assert_int_equal(t.records, u.records);
    assert_int_equal(t.lost, u.lost);
    assert_int_equal(u.behind, 0);
    bezel_consumer_close(a);
    bezel_consumer_close(b);
    return t.records;
}

TEST(a_program_gets_the_same_items_over_a_link_with_keys)
{
    key_pair_new(keys, "collector", KEY_CONTROL);
    key_pair_new(keys, "reader", KEY_READ);
    struct served s = start(NULL, true);
    struct bezel_consumer_options o = options_of();
    int own = getpriority(PRIO_PROCESS, 0);
    assert_int_equal(getpriority(PRIO_PROCESS, (id_t)s.server.pid),
                     own + 10 < 19 ? own + 10 : 19); /* others go first */
    o.keys = keys;
    assert_int_equal(assert_same_items(&s, &o), fake_records(s.sensor));
    o.last = 7;
    assert_int_equal(assert_same_items(&s, &o), 7);
    o.last = 0;
    o.aspect = "frame:*";
    o.where = "frame < 100";
    o.process = "cl*";
    (void)assert_same_items(&s, &o);
    o.where = NULL;
    uint64_t shown = assert_same_items(&s, &o);
    assert_true(shown > 0 && shown < fake_records(s.sensor));
    o.node = "nowhere";
    assert_int_equal(assert_same_items(&s, &o), 0);
    stop(&s);
}

static int lock_run(void)
{
    int lock = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* as a collector that serves it has it */
    assert_int_equal(flock(lock, LOCK_EX), 0);
    return lock;
}

/* ---- who is refused ---------------------------------------------------------------------------------------------- */

static void assert_refused(const struct served *s, const struct bezel_consumer_options *o, int result, const char *why)
{
    struct bezel_consumer *c;
    assert_int_equal(bezel_consumer_open(s->server.endpoint, o, &c), result);
    assert_null(c);
    if (!strstr(bezel_consumer_reason(), why))
        fail_msg("no '%s' in: %s", why, bezel_consumer_reason());
}

TEST(who_may_not_read_is_told_so)
{
    key_pair_new(keys, "collector", KEY_CONTROL);
    key_pair_new(keys, "reader", KEY_READ);
    key_pair_new(keys, "desk1", KEY_ALL_ROLES & ~(unsigned)KEY_READ);
    struct served s = start(NULL, true);
    struct bezel_consumer_options o = options_of();
    o.keys = keys;
    o.key = "desk1";
    assert_refused(&s, &o, BEZEL_CONSUMER_EPERM, "does not have the role read here: add `read`");
    o.key = "nobody";
    assert_refused(&s, &o, BEZEL_CONSUMER_ENOENT, "nobody.key");
    char path[sizeof keys + 16];
    snprintf(path, sizeof path, "%s/reader.pub", keys);
    assert_int_equal(unlink(path), 0);
    o.key = NULL;
    struct bezel_consumer *c;
    int64_t deadline = clock_now() + PATIENCE; /* the server looks at its folder once a second */
    while (bezel_consumer_open(s.server.endpoint, &o, &c) == 0 && clock_now() < deadline)
        bezel_consumer_close(c);
    assert_refused(&s, &o, BEZEL_CONSUMER_EPERM, "does not admit our key");
    stop(&s);
}

TEST(nonsense_is_refused_with_the_server_s_reason)
{
    struct served s = start(NULL, false);
    struct bezel_consumer_options o = options_of();
    o.where = "number >";
    assert_refused(&s, &o, BEZEL_CONSUMER_EINVAL, "'number >'");
    o.where = "frame > 5 ms";
    assert_refused(&s, &o, BEZEL_CONSUMER_EINVAL, "cannot be compared");
    o.where = NULL;
    o.keys = "/nonexistent";
    assert_refused(&s, &o, BEZEL_CONSUMER_ENOENT, "/nonexistent/reader.key");
    struct bezel_consumer *c;
    o.keys = NULL;
    assert_int_equal(bezel_consumer_open("tcp://192.0.2.1:7770", &o, &c), BEZEL_CONSUMER_EPERM);
    assert_non_null(strstr(bezel_consumer_reason(), "without keys"));
    assert_int_equal(bezel_consumer_open("tcp://nonsense", &o, &c), BEZEL_CONSUMER_EINVAL);
    stop(&s);
}

/* ---- a consumer by hand ------------------------------------------------------------------------------------------ */

static struct link *connect_to(const struct served *s)
{
    struct link *link;
    assert_int_equal(link_connect(s->server.endpoint, READ_FRAME_MAX, 64, NULL, &link), 0);
    return link;
}

/* Waits while the queue is full: the server lets others have the CPU first. */
static void say(struct link *link, const struct read_message *m)
{
    uint8_t bytes[2048];
    int n = read_message_encode(m, bytes, sizeof bytes), err;
    int64_t deadline = clock_now() + PATIENCE;
    assert_true(n > 0);
    while ((err = link_send(link, NULL, bytes, (size_t)n)) == BEZEL_EAGAIN && clock_now() < deadline)
        clock_sleep_until(clock_now() + CLOCK_MS);
    assert_int_equal(err, 0);
}

static void ask(struct link *link, uint32_t credit, bool follow)
{
    struct read_message m = {
        .type = READ_READ,
        .read = {.from = INT64_MIN, .until = INT64_MAX, .last = READ_LAST_ALL, .credit = credit, .follow = follow}};
    say(link, &m);
}

/* Takes the next message that is no heartbeat, waiting for it. Returns its type, and its size. */
static enum read_type hear(struct link *link, struct read_message *m, size_t *size)
{
    int64_t deadline = clock_now() + PATIENCE;
    struct link_frame frame;
    for (;;) {
        assert_true(clock_now() < deadline);
        if (link_receive(link, &frame) != 0) {
            (void)link_wait(&link, 1, NULL, 0, CLOCK_S);
            continue;
        }
        assert_int_equal(read_message_decode(frame.data, frame.size, m), 0);
        *size = frame.size;
        link_frame_free(&frame); /* what *m borrows is not looked at */
        if (m->type != READ_HEARTBEAT)
            return m->type;
    }
}

static bool is_counted(enum read_type type)
{
    return type == READ_SCHEMA || type == READ_RECORDS;
}

/* Takes what has come. Returns how many bytes of it count; *behind: what the last RECORDS said. */
static size_t drain(struct link *link, uint64_t *behind)
{
    struct read_message m;
    struct link_frame frame;
    size_t bytes = 0;
    while (link_receive(link, &frame) == 0) {
        assert_int_equal(read_message_decode(frame.data, frame.size, &m), 0);
        bytes += is_counted(m.type) ? frame.size : 0;
        if (m.type == READ_RECORDS)
            *behind = m.records.behind;
        link_frame_free(&frame);
    }
    return bytes;
}

TEST(no_more_is_sent_than_there_is_credit_for_and_others_read_on)
{
    struct served s = start(NULL, false);
    struct bezel_consumer_options o = options_of();
    struct link *slow = connect_to(&s), *lazy = connect_to(&s);
    struct read_message m;
    size_t n, granted = READ_CREDIT_MIN, taken = 0;
    uint64_t behind = 0;
    enum read_type type;
    ask(slow, READ_CREDIT_MIN, false);
    ask(lazy, READ_CREDIT_MIN, false); /* which never reads */
    for (int round = 0; round < 4; round++) {
        assert_int_equal(assert_same_items(&s, &o), fake_records(s.sensor)); /* while it gets what it may */
        taken += drain(slow, &behind);
        assert_in_range(taken, 0, granted);
        say(slow, &(struct read_message){.type = READ_CREDIT, .credit = READ_CREDIT_MIN});
        granted += READ_CREDIT_MIN;
    }
    for (int64_t deadline = clock_now() + PATIENCE; taken <= READ_CREDIT_MIN && clock_now() < deadline;) {
        (void)link_wait(&slow, 1, NULL, 0, CLOCK_S);
        taken += drain(slow, &behind);
    }
    assert_in_range(taken, READ_CREDIT_MIN + 1, granted);
    assert_true(behind > 0); /* it is told how far it is behind */
    say(slow, &(struct read_message){.type = READ_CREDIT, .credit = READ_CREDIT_MAX});
    while ((type = hear(slow, &m, &n)) != READ_END)
        if (is_counted(type))
            say(slow, &(struct read_message){.type = READ_CREDIT, .credit = (uint32_t)n});
    assert_int_equal(m.end.why, READ_END_DONE);
    assert_int_equal(m.end.records, fake_records(s.sensor));
    assert_int_equal(m.end.lost, LOST);
    link_close(slow, 0);
    link_close(lazy, 0);
    stop(&s);
}

static void assert_hears_refusal(struct link *link, const char *why)
{
    struct read_message m;
    size_t n;
    enum read_type type;
    while ((type = hear(link, &m, &n)) != READ_REFUSE)
        assert_true(type != READ_END);
    assert_non_null(strstr(m.refuse.reason, why));
}

/* Asks until the reader that the connection had before has ended. */
static void ask_until_read(struct link *link)
{
    struct read_message m;
    size_t n;
    int64_t deadline = clock_now() + PATIENCE;
    do {
        assert_true(clock_now() < deadline);
        ask(link, READ_CREDIT_MIN, false);
    } while (hear(link, &m, &n) == READ_REFUSE && strstr(m.refuse.reason, "has not ended yet"));
    assert_int_equal(m.type, READ_READING);
}

/* How many readers the server has, those included that were killed and have not ended. */
static unsigned count_readers(const struct served *s)
{
    char path[64], text[4096];
    unsigned n = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)s->server.pid, (int)s->server.pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    for (ssize_t i = 0; i < got; i++)
        n += text[i] == ' ';
    if (fd >= 0)
        close(fd);
    return n;
}

TEST(who_reads_and_ends_without_pause_has_one_reader_at_a_time)
{
    struct served s = start(NULL, false);
    struct bezel_consumer_options o = options_of();
    struct link *link = connect_to(&s);
    unsigned most = 0;
    uint64_t behind;
    for (int i = 0; i < 400; i++) {
        ask(link, READ_CREDIT_MIN, true);
        say(link, &(struct read_message){.type = READ_END});
        if (i % 16 != 15)
            continue;
        unsigned now = count_readers(&s);
        most = now > most ? now : most;
        assert_int_equal(assert_same_items(&s, &o), fake_records(s.sensor)); /* behind what was asked */
        (void)drain(link, &behind);
    }
    assert_in_range(most, 0, 3); /* and the one that read beside it */
    link_close(link, 0);
    stop(&s);
}

TEST(hostile_bytes_are_refused_and_hurt_nobody)
{
    struct served s = start(NULL, false);
    struct bezel_consumer_options o = options_of();
    struct link *link = connect_to(&s);
    static const uint8_t zeros[100];
    assert_int_equal(link_send(link, NULL, zeros, sizeof zeros), 0);
    assert_hears_refusal(link, "consumers read a run");
    say(link, &(struct read_message){.type = READ_CREDIT, .credit = UINT32_MAX});
    assert_hears_refusal(link, "does not know the consumer");
    ask(link, READ_CREDIT_MIN - 1, false);
    assert_hears_refusal(link, "less than 67584");
    ask(link, READ_CREDIT_MIN, false);
    say(link, &(struct read_message){.type = READ_CREDIT, .credit = UINT32_MAX});
    ask(link, READ_CREDIT_MIN, false);
    assert_hears_refusal(link, "one READ");
    ask_until_read(link);
    assert_int_equal(link_send(link, NULL, zeros, 3), 0);
    assert_hears_refusal(link, "one READ");
    uint8_t bytes[2048] = {0x42, 0x5A, 0x4C, 0x31, 0, 0, 0, 99, 0, 0, 0, READ_READ};
    assert_int_equal(link_send(link, NULL, bytes, sizeof bytes), 0);
    assert_hears_refusal(link, "install the same version");
    assert_int_equal(assert_same_items(&s, &o), fake_records(s.sensor));
    link_close(link, 0);
    stop(&s);
}

TEST(a_consumer_too_many_is_refused_until_another_one_leaves_or_vanishes)
{
    static const char *const two[] = {"--consumers", "2", NULL};
    struct served s = start(two, false);
    struct bezel_consumer_options o = options_of();
    struct bezel_consumer *c;
    struct link *link = connect_to(&s);
    struct read_message m;
    size_t n;
    int lock = lock_run();
    ask(link, READ_CREDIT_MIN, false);
    assert_int_equal(hear(link, &m, &n), READ_READING);
    o.follow = 1;
    assert_int_equal(bezel_consumer_open(s.server.endpoint, &o, &c), 0);
    struct bezel_consumer *first = c;
    for (int i = 0; i < 100; i++)
        assert_refused(&s, &o, BEZEL_CONSUMER_EPERM, "as many consumers");
    bezel_consumer_close(first); /* which says so */
    c = open_in_time(s.server.endpoint, &o);
    assert_refused(&s, &o, BEZEL_CONSUMER_EPERM, "as many consumers");
    first = c;
    say(link, &(struct read_message){.type = READ_END}); /* and keeps its connection */
    c = open_in_time(s.server.endpoint, &o);
    bezel_consumer_close(c);
    ask(link, READ_CREDIT_MIN, false);
    for (enum read_type type;
         (type = hear(link, &m, &n)) != READ_READING;) /* what it had asked for before comes first */
        if (type == READ_REFUSE)
            ask(link, READ_CREDIT_MIN, false); /* the one that left was there a moment longer */
    assert_refused(&s, &o, BEZEL_CONSUMER_EPERM, "as many consumers");
    link_close(link, 0); /* which says nothing */
    c = open_in_time(s.server.endpoint, &o);
    bezel_consumer_close(c);
    bezel_consumer_close(first);
    close(lock);
    stop(&s);
}

/* ---- the server ends --------------------------------------------------------------------------------------------- */

/* Takes all that is there now. */
static void take_all(struct bezel_consumer *c, uint64_t *records, uint64_t expected)
{
    struct bezel_consumer_item item = {.size = sizeof item};
    while (*records < expected) {
        int got = bezel_consumer_next(c, &item, (int)(PATIENCE / CLOCK_MS));
        if (got != BEZEL_CONSUMER_ITEM)
            fail_msg("%d: %s", got, bezel_consumer_reason());
        *records += item.kind == BEZEL_CONSUMER_RECORD;
    }
}

TEST(a_follower_gets_what_is_stored_later_and_the_end_with_the_collector_s)
{
    struct served s = start(NULL, false);
    struct bezel_consumer_options o = options_of();
    struct bezel_consumer_item item = {.size = sizeof item};
    struct bezel_consumer *c;
    int lock = lock_run(), got;
    uint64_t records = 0;
    o.follow = 1;
    assert_int_equal(bezel_consumer_open(s.server.endpoint, &o, &c), 0);
    take_all(c, &records, fake_records(s.sensor));
    fake_add_aspect(s.sensor, 0, "late_aspect"); /* a longer dictionary */
    fake_cut_one(s.sensor, 0, 0, 3, NULL);
    fake_cut(s.sensor, 0, 1, 5);
    assert_int_equal(stored_grow(&s.stored), 0);
    take_all(c, &records, fake_records(s.sensor));
    fake_cut(s.sensor, 0, 1, 7); /* what it gets at the very end */
    assert_int_equal(stored_feed(&s.stored, UINT64_MAX), 0);
    end_run(&s);
    close(lock);
    assert_int_equal(serve_process_end(&s.server, 0), 0);
    while ((got = bezel_consumer_next(c, &item, -1)) == BEZEL_CONSUMER_ITEM)
        records += item.kind == BEZEL_CONSUMER_RECORD;
    assert_int_equal(got, BEZEL_CONSUMER_END);
    assert_int_equal(records, fake_records(s.sensor));
    bezel_consumer_close(c);
    stop(&s);
}

TEST(a_follower_is_told_that_the_server_ends_before_the_run)
{
    struct served s = start(NULL, false);
    struct bezel_consumer_options o = options_of();
    struct bezel_consumer_item item = {.size = sizeof item};
    struct bezel_consumer *c;
    int lock = lock_run(), got;
    uint64_t records = 0;
    o.follow = 1;
    assert_int_equal(bezel_consumer_open(s.server.endpoint, &o, &c), 0);
    take_all(c, &records, fake_records(s.sensor));
    assert_int_equal(serve_process_end(&s.server, SIGTERM), 0);
    while ((got = bezel_consumer_next(c, &item, -1)) == BEZEL_CONSUMER_ITEM)
        ;
    assert_int_equal(got, BEZEL_CONSUMER_EUNREACH);
    assert_non_null(strstr(bezel_consumer_reason(), "the run goes on"));
    assert_int_equal(bezel_consumer_next(c, &item, -1), BEZEL_CONSUMER_EUNREACH); /* it stays so */
    bezel_consumer_close(c);
    close(lock);
    stop(&s);
}

/* ---- silence: by a clock that the test moves --------------------------------------------------------------------- */

static int64_t ahead;

int64_t __real_clock_now(void);
int64_t __wrap_clock_now(void);

int64_t __wrap_clock_now(void)
{
    return __real_clock_now() + ahead;
}

static struct remote_reader *follow(const struct served *s)
{
    struct remote_place place = {.endpoint = s->server.endpoint};
    struct read_request q = {.from = INT64_MIN, .until = INT64_MAX, .last = READ_LAST_ALL, .follow = true};
    struct remote_reader *r;
    struct record_item item;
    if (remote_reader_open(&place, &q, &r) != 0)
        fail_msg("%s", remote_reader_why(r));
    for (uint64_t records = 0; records < fake_records(s->sensor);) {
        assert_int_equal(remote_reader_next(r, &item, clock_now() + PATIENCE), 1);
        records += item.r != NULL;
    }
    return r;
}

/* Waits in steps of the moved clock until there is an error. */
static int wait_for_error(struct remote_reader *r, unsigned steps)
{
    struct record_item item;
    int err = BEZEL_EAGAIN;
    for (int64_t deadline = __real_clock_now() + PATIENCE; err == BEZEL_EAGAIN && __real_clock_now() < deadline;) {
        err = remote_reader_next(r, &item, clock_now() + 50 * CLOCK_MS);
        if (steps > 0 && steps--)
            ahead += 900 * CLOCK_MS; /* less than what counts as a program that is busy elsewhere */
    }
    ahead = 0;
    return err;
}

TEST(a_consumer_hears_of_a_server_that_was_restarted)
{
    struct served s = start(NULL, false);
    int lock = lock_run();
    struct remote_reader *r = follow(&s);
    char endpoint[sizeof s.server.endpoint];
    memcpy(endpoint, s.server.endpoint, sizeof endpoint);
    (void)serve_process_end(&s.server, SIGKILL);
    assert_true(serve_process_start(&s.server, run, endpoint, NULL));
    assert_int_equal(wait_for_error(r, 6), BEZEL_EUNREACH); /* 5.4 s, after which it asks */
    assert_non_null(strstr(remote_reader_why(r), "it was restarted"));
    remote_reader_close(r);
    close(lock);
    stop(&s);
}

TEST(a_consumer_hears_of_a_server_that_is_gone)
{
    struct served s = start(NULL, false);
    struct remote_reader *r;
    struct read_request q = {.from = INT64_MIN, .until = INT64_MAX, .last = READ_LAST_ALL};
    int lock = lock_run();
    r = follow(&s);
    (void)serve_process_end(&s.server, SIGKILL);
    assert_int_equal(wait_for_error(r, 20), BEZEL_EUNREACH);
    assert_non_null(strstr(remote_reader_why(r), "has not answered for 10 s"));
    remote_reader_close(r);
    const volatile sig_atomic_t stopped = 1;
    struct remote_place place = {.endpoint = s.server.endpoint, .stop = &stopped};
    assert_int_equal(remote_reader_open(&place, &q, &r), BEZEL_EAGAIN);
    remote_reader_close(r);
    close(lock);
    stop(&s);
}

/* ---- the collector's child --------------------------------------------------------------------------------------- */

/* The child of process `pid`; 0: there is none now. */
static pid_t child_of(pid_t pid)
{
    char path[64];
    int child = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%d", &child) != 1)
        child = 0;
    if (f)
        fclose(f);
    return child;
}

/* Its parent, here a subreaper, waits for the end of the server. */
TEST(a_collector_starts_its_server_again_and_ends_it_with_itself)
{
    struct collector_process collector = {.pid = 0};
    char endpoint[128];
    const char *const more[] = {"--serve", endpoint, NULL};
    struct bezel_consumer_options o = options_of();
    struct bezel_consumer_item item = {.size = sizeof item};
    struct bezel_consumer *c;
    int64_t deadline = clock_now() + PATIENCE;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    assert_true(collector_make(&collector));
    snprintf(endpoint, sizeof endpoint, "ipc://%s/serve", collector.dir);
    collector.more = more;
    assert_true(collector_start(&collector, "tcp://127.0.0.1:*"));
    pid_t first, second;
    while ((first = child_of(collector.pid)) == 0)
        assert_true(clock_now() < deadline);
    assert_int_equal(kill(first, SIGKILL), 0);
    while ((second = child_of(collector.pid)) == first || second == 0)
        assert_true(clock_now() < deadline);
    o.follow = 1;
    c = open_in_time(endpoint, &o);
    assert_int_equal(bezel_consumer_next(c, &item, 0), BEZEL_CONSUMER_LATER);
    assert_int_equal(collector_end(&collector, SIGTERM), 0);
    if (bezel_consumer_next(c, &item, -1) != BEZEL_CONSUMER_END)
        fail_msg("%s", bezel_consumer_reason());
    for (deadline = clock_now() + PATIENCE; waitpid(second, NULL, WNOHANG) != second;)
        assert_true(clock_now() < deadline);
    assert_true(collector_said(&collector, "BEZEL-SERVE-DIED: bezel-serve has ended: it is started again"));
    bezel_consumer_close(c);
    collector_remove(&collector);
}

static int begin(void **state)
{
    int err = scratch_begin(state);
    snprintf(run, sizeof run, "%s/run", scratch_dir);
    snprintf(keys, sizeof keys, "%s/keys", scratch_dir);
    return err ? err : file_make_dirs(keys, 0700);
}

int main(void)
{
    if (!link_has_keys()) {
        puts("skipped: this libzmq has no CURVE");
        return 77;
    }
    return test_run(begin, scratch_end);
}
