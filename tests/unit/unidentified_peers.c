// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Connections that nobody knows: how many stay, and how long; that nothing else of the process is touched. */
#include "mdr/link/unidentified_peers.h"

#include "base/clock.h"
#include "mdr/link/link.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAIT_MS = 20000, MANY = 2 * UNIDENTIFIED_PEERS_MAX };

static const int64_t start = 1000 * CLOCK_S;

static struct scene {
    char dir[SCRATCH_PATH], endpoint[LINK_ENDPOINT_MAX];
    struct link *link, *node;
    struct unidentified_peers *unidentified_peers;
    uint64_t known; /* the node's connection */
} s;

/* A node says something, again where a connection that has just ended took it along. */
static void greet(void)
{
    struct link_frame frame;
    int tries = 0;
    do {
        (void)!link_send(s.node, NULL, "hello", 5);
        assert_true(tries++ < WAIT_MS / 100);
        link_wait(&s.link, 1, NULL, 0, 100 * CLOCK_MS);
    } while (link_receive(s.link, &frame) != 0);
    s.known = link_connection(&frame);
    link_frame_free(&frame);
    assert_int_not_equal(s.known, 0);
}

static void begin(const char *endpoint)
{
    assert_int_equal(link_bind(endpoint, 4096, NULL, &s.link), 0);
    snprintf(s.endpoint, sizeof s.endpoint, "%s", link_endpoint(s.link));
    assert_int_equal(link_connect(s.endpoint, 4096, 16, NULL, &s.node), 0);
    s.unidentified_peers = unidentified_peers_new(s.endpoint);
    assert_non_null(s.unidentified_peers);
    greet();
}

static int begin_tcp(void **state)
{
    (void)state;
    scratch_make(s.dir);
    begin("tcp://127.0.0.1:*");
    return 0;
}

static int begin_tcp6(void **state)
{
    (void)state;
    scratch_make(s.dir);
    begin("tcp://[::1]:*");
    return 0;
}

/* As of a link that listens at all addresses: their connections have one of them. */
static int begin_any(void **state)
{
    begin_tcp(state);
    unidentified_peers_free(s.unidentified_peers);
    snprintf(s.endpoint, sizeof s.endpoint, "tcp://[::]%s", strrchr(link_endpoint(s.link), ':'));
    s.unidentified_peers = unidentified_peers_new(s.endpoint);
    assert_non_null(s.unidentified_peers);
    return 0;
}

static int begin_ipc(void **state)
{
    char endpoint[SCRATCH_PATH + 16];
    (void)state;
    scratch_make(s.dir);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/link", s.dir);
    begin(endpoint);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unidentified_peers_free(s.unidentified_peers);
    link_close(s.node, 0);
    link_close(s.link, 0);
    scratch_remove(s.dir);
    return 0;
}

/* A connection that says nothing. It is accepted: the other side has said what ZeroMQ says first. */
static int knock(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    bool tcp = strncmp(s.endpoint, "tcp", 3) == 0, six = strncmp(s.endpoint, "tcp://[::1]", 11) == 0;
    in.sin_port = in6.sin6_port = htons((uint16_t)atoi(strrchr(s.endpoint, ':') + 1));
    snprintf(un.sun_path, sizeof un.sun_path, "%s/link", s.dir);
    const struct sockaddr *to = six ? (struct sockaddr *)&in6 : tcp ? (struct sockaddr *)&in : (struct sockaddr *)&un;
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, to, six ? sizeof in6 : tcp ? sizeof in : sizeof un), 0);
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, WAIT_MS), 1);
    return fd;
}

/* Whether the connection has ended: waits for that where it is `expected`. */
static bool has_ended(int fd, bool expected)
{
    char bytes[256];
    ssize_t n = 1;
    while (n > 0 && poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, expected ? WAIT_MS : 0) == 1)
        n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    return n <= 0;
}

static unsigned look(int64_t after)
{
    return unidentified_peers_look(s.unidentified_peers, &s.known, 1, start + after);
}

static void who_says_nothing_is_ended_and_a_known_one_is_not(void **state)
{
    int pair[2], stranger = knock();
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    int64_t after = 0;
    for (; after <= UNIDENTIFIED_PEERS_PATIENCE; after += CLOCK_S)
        assert_int_equal(look(after), 0);
    assert_false(has_ended(stranger, false));
    assert_int_equal(look(after), 1);
    assert_true(has_ended(stranger, true));
    assert_int_equal(write(pair[0], "x", 1), 1); /* others of the process are not ended */
    uint64_t before = s.known;
    greet();
    assert_int_equal(s.known, before);
    close(stranger);
    close(pair[0]);
    close(pair[1]);
}

static void who_is_not_known_any_more_is_ended(void **state)
{
    (void)state;
    int64_t after = 0;
    for (unsigned ended = 0; ended == 0; after += CLOCK_S) {
        assert_true(after <= UNIDENTIFIED_PEERS_PATIENCE + 2 * CLOCK_S);
        ended = unidentified_peers_look(s.unidentified_peers, NULL, 0, start + after);
    }
    assert_true(after > UNIDENTIFIED_PEERS_PATIENCE);
    greet(); /* it comes again by itself */
}

static void so_many_stay_and_the_oldest_go_first(void **state)
{
    int old[10], fresh[UNIDENTIFIED_PEERS_MAX], flood[MANY];
    (void)state;
    for (int i = 0; i < 10; i++)
        old[i] = knock();
    assert_int_equal(look(0), 0);
    for (int i = 0; i < UNIDENTIFIED_PEERS_MAX - 5; i++)
        fresh[i] = knock();
    assert_int_equal(look(CLOCK_S), 5);
    int ended = 0;
    for (int i = 0; i < 10; i++)
        ended += has_ended(old[i], false);
    assert_true(ended <= 5);
    for (int i = 0; i < UNIDENTIFIED_PEERS_MAX - 5; i++)
        assert_false(has_ended(fresh[i], false));
    for (int i = 0; i < MANY; i++)
        flood[i] = knock();
    assert_int_equal(look(2 * CLOCK_S), MANY - UNIDENTIFIED_PEERS_MAX + UNIDENTIFIED_PEERS_MAX);
    for (int i = 0; i < UNIDENTIFIED_PEERS_MAX - 5; i++)
        assert_true(has_ended(fresh[i], true));
    greet();
    for (int i = 0; i < 10; i++)
        close(old[i]);
    for (int i = 0; i < UNIDENTIFIED_PEERS_MAX - 5; i++)
        close(fresh[i]);
    for (int i = 0; i < MANY; i++)
        close(flood[i]);
}

static void time_in_which_nobody_looked_ends_nobody(void **state)
{
    int stranger = knock();
    (void)state;
    assert_int_equal(look(0), 0);
    assert_int_equal(look(60 * CLOCK_S), 0);
    int64_t after = 61 * CLOCK_S;
    while (look(after) == 0)
        after += CLOCK_S;
    assert_in_range(after, 60 * CLOCK_S + UNIDENTIFIED_PEERS_PATIENCE - CLOCK_S,
                    60 * CLOCK_S + UNIDENTIFIED_PEERS_PATIENCE + CLOCK_S);
    assert_true(has_ended(stranger, true));
    close(stranger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define BOTH(name)                                                                                                     \
    cmocka_unit_test_setup_teardown(name, begin_tcp, end), cmocka_unit_test_setup_teardown(name, begin_tcp6, end),     \
        cmocka_unit_test_setup_teardown(name, begin_any, end), cmocka_unit_test_setup_teardown(name, begin_ipc, end)
        BOTH(who_says_nothing_is_ended_and_a_known_one_is_not),
        BOTH(who_is_not_known_any_more_is_ended),
        BOTH(so_many_stay_and_the_oldest_go_first),
        BOTH(time_in_which_nobody_looked_ends_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
