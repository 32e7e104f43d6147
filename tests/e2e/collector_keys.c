// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* A real collector with keys: admission, limits, and the cost of unidentified peers. */
#include "mdr/link/keyring.h"
#include "mdr/link/shares.h"
#include "mdr/message.h"
#include "tests/lib/collector_fixture.h"
#include "tests/lib/free_port.h"
#include "tests/lib/patience.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint8_t run_id[16] = "a run's identity";
static uint64_t seed;

struct fixture {
    struct collector_process collector;
    struct fake_sensor *sensor, *other;
    char keys[96], key[128];
    const char *arguments[13];
    struct link_keys desk1, watcher;
};

static void make_key(struct fixture *t, const char *name, unsigned roles, struct link_keys *keys,
                     uint8_t bytes[KEY_BYTES])
{
    struct key_public public = {.roles = roles, .nodes = "desk studio"};
    char path[PATH_MAX];
    assert_int_equal(link_key_write_pair(t->keys, name, false, &keys->own, &public, path, sizeof path), 0);
    if (bytes)
        memcpy(bytes, public.bytes, KEY_BYTES);
}

static int set_up(void **state)
{
    struct fixture *t = calloc(1, sizeof *t);
    struct link_keys collector;
    uint8_t server[KEY_BYTES];
    assert_non_null(t);
    assert_true(collector_make(&t->collector));
    snprintf(t->keys, sizeof t->keys, "%s/keys", t->collector.dir);
    assert_int_equal(mkdir(t->keys, 0700), 0);
    make_key(t, "collector", KEY_OBSERVE, &collector, server);
    make_key(t, "desk1", KEY_OBSERVE, &t->desk1, NULL);
    make_key(t, "watcher", KEY_CONTROL, &t->watcher, NULL);
    memcpy(t->desk1.server, server, KEY_BYTES);
    memcpy(t->watcher.server, server, KEY_BYTES);
    snprintf(t->key, sizeof t->key, "%s/collector.key", t->keys);
    t->sensor = fake_new("desk", run_id, seed_next(&seed));
    t->other = fake_new("studio", run_id, seed_next(&seed));
    assert_true(t->sensor && t->other);
    t->sensor->keys = t->other->keys = &t->desk1;
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *t = *state;
    if (t->collector.pid)
        collector_end(&t->collector, SIGKILL);
    fake_free(t->sensor);
    fake_free(t->other);
    collector_remove(&t->collector);
    free(t);
    return 0;
}

/* Starts the collector with its keys and up to two more options. */
static void start(struct fixture *t, const char *option, const char *value)
{
    const char *arguments[] = {"--keys", t->keys, "--key", t->key, option, value, NULL};
    memcpy(t->arguments, arguments, sizeof arguments);
    t->collector.more = t->arguments;
    assert_true(collector_start(&t->collector, "tcp://127.0.0.1:*"));
}

static void cut_some(struct fake_sensor *f, unsigned process, unsigned packets)
{
    for (unsigned i = 0; i < packets; i++)
        fake_cut(f, process, 0, 1 + (uint32_t)(seed_next(&seed) % 50));
}

static bool is_refused(struct fake_sensor *f, const char *why)
{
    int64_t deadline = clock_now() + PATIENCE;
    while (!f->refused[0] && clock_now() < deadline)
        fake_round(f, 10 * CLOCK_MS);
    return strstr(f->refused, why) != NULL;
}

TEST_WITH(set_up, tear_down, a_node_with_a_key_is_served_over_curve)
{
    struct fixture *t = *test_state;
    start(t, NULL, NULL);
    unsigned p = fake_add_process(t->sensor, "a", 100, ROLE_SUT);
    cut_some(t->sensor, p, 20);
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    assert_true(fake_settle(t->sensor, PATIENCE));
    assert_true(fake_say_bye(t->sensor, PATIENCE));
    assert_int_equal(collector_status(&t->collector, "records"), (int64_t)fake_records(t->sensor));
    assert_int_equal(WEXITSTATUS(collector_end(&t->collector, SIGTERM)), 0);
}

TEST_WITH(set_up, tear_down, a_node_with_the_key_of_another_is_refused_and_the_other_one_served)
{
    struct fixture *t = *test_state;
    start(t, NULL, NULL);
    struct fake_sensor *stranger = fake_new("attic", run_id, seed_next(&seed));
    assert_non_null(stranger);
    stranger->keys = &t->desk1;
    cut_some(stranger, fake_add_process(stranger, "a", 100, ROLE_SUT), 3);
    assert_true(fake_connect(stranger, t->collector.endpoint));
    assert_true(is_refused(stranger, "key desk1 does not speak for node attic: add the node to 'nodes:' in desk1.pub"));
    fake_free(stranger);
    cut_some(t->sensor, fake_add_process(t->sensor, "a", 100, ROLE_SUT), 3);
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    assert_true(fake_settle(t->sensor, PATIENCE));
    assert_int_equal(collector_status(&t->collector, "nodes"), 1);
    assert_int_equal(WEXITSTATUS(collector_end(&t->collector, SIGTERM)), 0);
}

TEST_WITH(set_up, tear_down, who_may_not_observe_is_refused_with_a_reason)
{
    struct fixture *t = *test_state;
    start(t, NULL, NULL);
    unsigned p = fake_add_process(t->sensor, "a", 100, ROLE_SUT);
    cut_some(t->sensor, p, 3);
    t->sensor->keys = &t->watcher;
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    assert_true(is_refused(t->sensor, "does not have the role observe"));
    assert_true(collector_said(&t->collector, "a message from key watcher was refused: it needs role observe"));
    assert_int_equal(collector_status(&t->collector, "records"), 0);
    assert_int_equal(collector_status(&t->collector, "peers"), 0);
}

TEST_WITH(set_up, tear_down, an_inner_collector_refuses_who_may_not_observe_with_a_reason)
{
    struct fixture *t = *test_state;
    static const char *const parents[] = {"tcp://127.0.0.1:1", NULL};
    char server[160];
    snprintf(server, sizeof server, "%s/collector.pub", t->keys);
    t->collector.parents = parents;
    start(t, "--parent-key", server);
    t->sensor->keys = &t->watcher;
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    assert_true(is_refused(t->sensor, "does not have the role observe"));
}

/* Says HELLO in the name of the other node, of a trace each. */
static void greet_without_end(struct fixture *t, uint32_t count)
{
    struct fake_sensor *f = t->other;
    for (uint32_t i = 0; i < count; i++) {
        f->out->type = MESSAGE_HELLO;
        f->out->hello = f->hello;
        f->out->hello.attempt += i;
        memcpy(f->out->hello.uuid, &i, sizeof i);
        (void)!fake_say(f); /* what has no room is not sent */
        if (i % 16 == 0)
            fake_round(f, 0);
    }
}

TEST_WITH(set_up, tear_down, a_node_that_greets_without_end_takes_nothing_from_the_others)
{
    struct fixture *t = *test_state;
    start(t, NULL, NULL);
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    assert_true(fake_connect(t->other, t->collector.endpoint));
    unsigned p = fake_add_process(t->sensor, "a", 100, ROLE_SUT);
    for (int i = 0; i < 10; i++) {
        greet_without_end(t, 1000);
        cut_some(t->sensor, p, 20);
        assert_true(fake_settle(t->sensor, PATIENCE));
    }
    assert_in_range(collector_status(&t->collector, "nodes"), 2, SHARE_TRACES_MAX + 1);
    assert_true(collector_status(&t->collector, "refused") > 0);
    assert_true(collector_said(&t->collector, "BEZEL-NODE-SHARE: node studio: this node sent HELLO more than 8 times"));
    assert_int_equal(collector_status(&t->collector, "records"), (int64_t)fake_records(t->sensor));
    assert_int_equal(WEXITSTATUS(collector_end(&t->collector, SIGTERM)), 0);
}

TEST_WITH(set_up, tear_down, one_connection_too_many_is_refused_and_a_known_node_may_come_again)
{
    struct fixture *t = *test_state;
    start(t, "--connections", "1");
    unsigned p = fake_add_process(t->sensor, "a", 100, ROLE_SUT);
    cut_some(t->sensor, p, 3);
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    assert_true(fake_settle(t->sensor, PATIENCE));
    assert_true(fake_connect(t->other, t->collector.endpoint));
    int64_t deadline = clock_now() + PATIENCE;
    while (!t->other->refused[0] && clock_now() < deadline) {
        fake_round(t->other, 10 * CLOCK_MS);
        fake_round(t->sensor, 0);
    }
    assert_non_null(strstr(t->other->refused, "as many connections as its limit"));
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    cut_some(t->sensor, p, 3);
    assert_true(fake_settle(t->sensor, PATIENCE));
}

TEST_WITH(set_up, tear_down, a_frame_beyond_the_limit_ends_its_connection)
{
    struct fixture *t = *test_state;
    static const uint8_t large[(256 << 10) + 1];
    start(t, "--packet", "256 KiB");
    unsigned p = fake_add_process(t->sensor, "a", 100, ROLE_SUT);
    cut_some(t->sensor, p, 3);
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    assert_true(fake_settle(t->sensor, PATIENCE));
    int64_t refused = collector_status(&t->collector, "refused");
    assert_true(fake_send(t->sensor, large, sizeof large));
    cut_some(t->sensor, p, 3);
    assert_true(fake_settle(t->sensor, PATIENCE)); /* over a new connection */
    assert_int_equal(collector_status(&t->collector, "refused"), refused);
    assert_true(fake_send(t->sensor, large, sizeof large - 1)); /* comes, and is no packet: refused */
    int64_t deadline = clock_now() + PATIENCE;
    while (collector_status(&t->collector, "refused") == refused && clock_now() < deadline)
        fake_round(t->sensor, 10 * CLOCK_MS);
    assert_int_equal(collector_status(&t->collector, "refused"), refused + 1);
}

TEST_WITH(set_up, tear_down, beyond_its_rate_a_node_waits_for_its_acknowledgements)
{
    struct fixture *t = *test_state;
    start(t, "--rate", "64 B");
    unsigned p = fake_add_process(t->sensor, "a", 100, ROLE_SUT);
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    cut_some(t->sensor, p, 40);
    int64_t deadline = clock_now() + PATIENCE;
    while (collector_status(&t->collector, "records") < (int64_t)fake_records(t->sensor) && clock_now() < deadline)
        fake_round(t->sensor, 10 * CLOCK_MS);
    assert_int_equal(collector_status(&t->collector, "records"), (int64_t)fake_records(t->sensor)); /* all is stored */
    assert_false(fake_all_acked(t->sensor)); /* some ten kilobytes of debt: minutes */
    assert_int_equal(collector_status(&t->collector, "over_rate"), 1);
    assert_true(collector_said(&t->collector, "node desk sends more than the limit of 64 B a second"));
    assert_false(t->sensor->gone); /* it receives heartbeats meanwhile */
    assert_true(fake_say_bye(t->sensor, PATIENCE));
}

/* Beyond RECEIVER_OVERDRAFT packets and lasting messages are refused; BYE is still answered. */
TEST_WITH(set_up, tear_down, far_beyond_its_rate_a_node_is_not_heard)
{
    struct fixture *t = *test_state;
    enum { FRAMES = 513 };
    static const uint8_t noise[256 << 10];
    start(t, "--rate", "64 B");
    unsigned first = fake_add_process(t->sensor, "a", 100, ROLE_SUT);
    cut_some(t->sensor, first, 3);
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    assert_true(collector_awaits(&t->collector, t->sensor, "records", (int64_t)fake_records(t->sensor), PATIENCE));
    int64_t refused = collector_status(&t->collector, "refused"), records = collector_status(&t->collector, "records");
    for (unsigned i = 1; i <= FRAMES; i++) {
        assert_true(fake_send(t->sensor, noise, sizeof noise));
        if (i % 32 == 0 || i == FRAMES)
            assert_true(collector_awaits(&t->collector, t->sensor, "refused", refused + i, PATIENCE));
    }
    refused = collector_status(&t->collector, "refused");
    unsigned second = fake_add_process(t->sensor, "b", 101, ROLE_SUT);
    assert_true(fake_say_process(t->sensor, second));
    cut_some(t->sensor, first, 1);
    assert_true(collector_awaits(&t->collector, t->sensor, "refused", refused + 2, PATIENCE));
    for (int anew = 0; anew < 2; anew++) { /* HELLO again, also by another name, does not reset the rate */
        t->sensor->hello.attempt++;
        t->sensor->hello.uuid[0] ^= (uint8_t)anew;
        t->sensor->out->type = MESSAGE_HELLO;
        t->sensor->out->hello = t->sensor->hello;
        refused = collector_status(&t->collector, "refused");
        assert_true(fake_say(t->sensor) && fake_say_process(t->sensor, second));
        assert_true(collector_awaits(&t->collector, t->sensor, "refused", refused + 1, PATIENCE));
    }
    assert_int_equal(collector_status(&t->collector, "processes"), 1);
    assert_int_equal(collector_status(&t->collector, "records"), records);
    assert_true(fake_say_bye(t->sensor, PATIENCE));
}

/* ---- unidentified peers ------------------------------------------------------------------------------------------ */

struct burden {
    long descriptors, resident; /* pages */
};

static struct burden burden_of(pid_t pid)
{
    char path[64];
    struct burden b = {.descriptors = -2}; /* . and .. */
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    while (readdir(folder))
        b.descriptors++;
    closedir(folder);
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*d %ld", &b.resident), 1);
    fclose(f);
    return b;
}

static int knock(const struct fixture *t)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons((uint16_t)atoi(strrchr(t->collector.endpoint, ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

enum manner { KNOCK_ONLY, KNOCK_GARBAGE, KNOCK_GREETING, KNOCK_PLAIN, KNOCK_HELLO, KNOCK_FRAME, MANNERS };

/* Sends the bytes of an unidentified peer of that manner. The connection may have been ended already. */
static void misbehave(int fd, enum manner manner)
{
    uint8_t bytes[1024] = {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0}; /* a greeting of ZMTP 3: 64 bytes */
    size_t n = 64;
    memcpy(bytes + 12, manner == KNOCK_PLAIN ? "NULL" : "CURVE", manner == KNOCK_PLAIN ? 4 : 5);
    if (manner == KNOCK_ONLY)
        return;
    if (manner == KNOCK_GARBAGE)
        for (n = 0; n < sizeof bytes; n++)
            bytes[n] = (uint8_t)seed_next(&seed);
    if (manner == KNOCK_HELLO) { /* a command of 200 bytes that opens no box */
        memcpy(bytes + n, "\x04\xc8\x05HELLO\x01", 9);
        n += 202;
    }
    if (manner == KNOCK_FRAME) { /* a frame said to have 2^62 bytes */
        memcpy(bytes + n, "\x02\x40\0\0\0\0\0\0\0", 9);
        n += 500;
    }
    (void)!send(fd, bytes, n, MSG_NOSIGNAL);
}

static void knock_and_go(const struct fixture *t, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int fd = knock(t);
        misbehave(fd, (enum manner)(i % MANNERS));
        if (i % 2) { /* half of them go by a reset */
            struct linger reset = {.l_onoff = 1};
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        }
        close(fd);
    }
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { MEMORY_SAYS_NOTHING = 1 }; /* a sanitizer keeps freed memory */
#else
enum { MEMORY_SAYS_NOTHING = 0 };
#endif

enum { ROUND = 250, HELD = 600, GROWTH_MAX_MIB = 8 };

/* A known node goes on: another packet, acknowledged. */
static void assert_served(struct fixture *t, unsigned process)
{
    cut_some(t->sensor, process, 1);
    assert_true(fake_settle(t->sensor, PATIENCE));
}

TEST_WITH(set_up, tear_down, ten_thousand_unidentified_peers_leave_nothing_behind)
{
    struct fixture *t = *test_state;
    unsigned peers = getenv("BEZEL_TEST_LIGHT") ? 2000 : 10000;
    int held[HELD];
    start(t, NULL, NULL);
    unsigned p = fake_add_process(t->sensor, "a", 100, ROLE_SUT);
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    assert_served(t, p);
    knock_and_go(t, 4 * ROUND); /* the allocator keeps some memory, once */
    assert_served(t, p);
    struct burden before = burden_of(t->collector.pid), after;
    for (unsigned done = 0; done < peers; done += ROUND) {
        knock_and_go(t, ROUND);
        assert_served(t, p);
    }
    for (unsigned i = 0; i < HELD; i++) /* and peers that stay, and send nothing more */
        misbehave(held[i] = knock(t), i % 2 ? KNOCK_ONLY : KNOCK_GREETING);
    assert_served(t, p);
    int64_t deadline = clock_now() + PATIENCE;
    do {
        assert_served(t, p);
        after = burden_of(t->collector.pid);
    } while (after.descriptors > before.descriptors && clock_now() < deadline);
    for (unsigned i = 0; i < HELD; i++)
        close(held[i]);
    assert_true(after.descriptors <= before.descriptors);
    long grown = (after.resident - before.resident) * sysconf(_SC_PAGESIZE) >> 10;
    printf("%u unidentified peers: %ld descriptors before, %ld after; %ld KiB more memory\n", peers + HELD,
           before.descriptors, after.descriptors, grown);
    assert_true(MEMORY_SAYS_NOTHING || grown <= GROWTH_MAX_MIB * 1024);
    assert_int_equal(collector_status(&t->collector, "peers"), 1);
    assert_int_equal(collector_status(&t->collector, "records"), (int64_t)fake_records(t->sensor));
    assert_int_equal(WEXITSTATUS(collector_end(&t->collector, SIGTERM)), 0);
}

TEST_WITH(set_up, tear_down, wrong_keys_are_told_and_nothing_is_served)
{
    struct fixture *t = *test_state;
    char *run = t->collector.run, *control = t->collector.control;
    const char *all_addresses[] = {"c", "--run", run, "--listen", "tcp://0.0.0.0:*", "--control", control, NULL};
    assert_int_equal(collector_try(&t->collector, all_addresses), 2);
    assert_true(collector_said(&t->collector, "bezel keygen"));
    const char *half[] = {"c",         "--run", run,      "--listen", "tcp://127.0.0.1:*",
                          "--control", control, "--keys", t->keys,    NULL};
    assert_int_equal(collector_try(&t->collector, half), 2);
    const char *control_tcp[] = {"c", "--run", run, "--listen", "tcp://127.0.0.1:*", "--control", "tcp://127.0.0.1:*",
                                 NULL};
    assert_int_equal(collector_try(&t->collector, control_tcp), 2);
    const char *open_key[] = {"c",     "--run", run,    "--listen", "tcp://127.0.0.1:*", "--control", control, "--keys",
                              t->keys, "--key", t->key, NULL};
    assert_int_equal(chmod(t->key, 0644), 0);
    assert_int_equal(collector_try(&t->collector, open_key), 1);
    assert_true(collector_said(&t->collector, "others can read this secret key"));
    assert_int_equal(chmod(t->key, 0600), 0);
    assert_int_equal(chmod(t->keys, 0777), 0);
    assert_int_equal(collector_try(&t->collector, open_key), 1);
    assert_true(collector_said(&t->collector, "others can write this folder"));
}

static struct message answer; /* too large for a stack */

/* Asks over a control link for the state: the type of the answer. */
static enum message_type ask(const struct link_keys *keys, const char *endpoint)
{
    struct link *link;
    struct link_frame frame;
    uint8_t bytes[96];
    int err = BEZEL_EAGAIN;
    answer.type = MESSAGE_COMMAND;
    answer.command = (struct message_command){.id = 9, .verb = VERB_QUERY};
    int n = message_encode(&answer, bytes, sizeof bytes);
    assert_int_equal(link_connect(endpoint, MESSAGE_MAX_BYTES, 4, keys, &link), 0);
    assert_int_equal(link_send(link, NULL, bytes, (size_t)n), 0);
    for (int64_t deadline = clock_now() + PATIENCE; err == BEZEL_EAGAIN && clock_now() < deadline;) {
        link_wait(&link, 1, NULL, 0, 100 * CLOCK_MS);
        err = link_receive(link, &frame);
    }
    assert_int_equal(err, 0);
    assert_int_equal(message_decode(frame.data, frame.size, &answer), 0);
    link_frame_free(&frame);
    link_close(link, 0);
    return answer.type;
}

TEST_WITH(set_up, tear_down, commands_over_tcp_are_for_the_role_control)
{
    struct fixture *t = *test_state;
    snprintf(t->collector.control, sizeof t->collector.control, "tcp://127.0.0.1:%d", free_port());
    start(t, NULL, NULL);
    assert_int_equal(ask(&t->watcher, t->collector.control), MESSAGE_REPLY);
    assert_int_equal(ask(&t->desk1, t->collector.control), MESSAGE_REFUSE);
    assert_non_null(strstr(answer.refuse.reason, "role control"));
    assert_true(collector_said(&t->collector, "a message from key desk1 was refused: it needs role control"));
}

int main(void)
{
    if (!link_has_keys()) {
        puts("skipped: this libzmq was built without CURVE");
        return 77;
    }
    seed = seed_start();
    return test_run(NULL, NULL);
}
