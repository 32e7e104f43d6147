// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The proxy of an inner collector: links pass through one and through two, by name too, and what goes wrong harms
 * nobody. */
#include "collector/proxy_server.h"

#include "mdr/link/link.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_FRAME = 1 << 20, LARGE = 900000 };

static struct link *server;
static char endpoint[LINK_ENDPOINT_MAX];
static uint8_t large[LARGE];

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (uint8_t)(i * 31 >> 3);
    assert_int_equal(link_bind("tcp://127.0.0.1:*", MAX_FRAME, NULL, &server), 0);
    snprintf(endpoint, sizeof endpoint, "%s", link_endpoint(server));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    link_close(server, 0);
    return 0;
}

/* `at`: its port for the last one of the list. */
static struct proxy_server *open_proxy(const char *forward, char at[LINK_ENDPOINT_MAX])
{
    struct proxy_server *s;
    size_t blanks = 0;
    for (const char *p = forward; *p; p++)
        blanks += *p == ' ';
    assert_int_equal(proxy_server_open("tcp://127.0.0.1:*", forward, &s), 0);
    snprintf(at, LINK_ENDPOINT_MAX, "tcp://127.0.0.1:%u", proxy_server_port(s, blanks));
    return s;
}

static void take(struct link *link, struct link_frame *frame)
{
    int64_t until = clock_now() + PATIENCE;
    int err;
    while ((err = link_receive(link, frame)) == BEZEL_EAGAIN) {
        assert_true(clock_now() < until);
        (void)link_wait(&link, 1, NULL, 0, CLOCK_S / 10);
    }
    assert_int_equal(err, 0);
}

/* A large frame there and back through the proxy at `proxy`. */
static void talk_through(const char *proxy)
{
    struct link *client;
    struct link_frame frame;
    assert_int_equal(link_connect(proxy, MAX_FRAME, 4, NULL, &client), 0);
    assert_int_equal(link_send(client, NULL, large, sizeof large), 0);
    take(server, &frame);
    assert_int_equal(frame.size, sizeof large);
    assert_memory_equal(frame.data, large, sizeof large);
    assert_int_equal(link_send(server, &frame.peer, frame.data, frame.size), 0);
    link_frame_free(&frame);
    take(client, &frame);
    assert_int_equal(frame.size, sizeof large);
    assert_memory_equal(frame.data, large, sizeof large);
    link_frame_free(&frame);
    link_close(client, 0);
}

TEST(a_link_passes_through_one_proxy)
{
    char at[LINK_ENDPOINT_MAX];
    struct proxy_server *s = open_proxy(endpoint, at);
    for (int i = 0; i < 3; i++)
        talk_through(at);
    proxy_server_close(s);
}

TEST(a_link_passes_through_two_proxies)
{
    char near_at[LINK_ENDPOINT_MAX], far_at[LINK_ENDPOINT_MAX], forward[3 * LINK_ENDPOINT_MAX];
    struct proxy_server *far = open_proxy(endpoint, far_at);
    snprintf(forward, sizeof forward, "tcp://192.0.2.9:1 tcp://desk1:7767=%s", far_at);
    struct proxy_server *near = open_proxy(forward, near_at);
    talk_through(near_at);
    proxy_server_close(near);
    proxy_server_close(far);
}

/* ---- By hand ----------------------------------------------------------------------------------------------------- */

static int connect_to(const struct proxy_server *s)
{
    struct sockaddr_in to = {AF_INET, htons(proxy_server_port(s, 0)), {htonl(INADDR_LOOPBACK)}, {0}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Reads `n` bytes, or fewer where the connection ends. Returns how many. */
static size_t read_some(int fd, uint8_t *bytes, size_t n)
{
    size_t have = 0;
    while (have < n) {
        struct pollfd p = {fd, POLLIN, 0};
        assert_int_equal(poll(&p, 1, (int)(PATIENCE / CLOCK_MS)), 1);
        ssize_t got = recv(fd, bytes + have, n - have, 0);
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    return have;
}

/* By a name, whose proxy looks it up. */
TEST(the_proxy_looks_names_up)
{
    char at[LINK_ENDPOINT_MAX], name[LINK_ENDPOINT_MAX];
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    if (getaddrinfo("localhost", NULL, &hints, &found) != 0) {
        print_message("skipped: this machine does not know the name localhost\n");
        skip();
    }
    freeaddrinfo(found);
    snprintf(name, sizeof name, "tcp://localhost:%s", strrchr(endpoint, ':') + 1);
    struct proxy_server *s = open_proxy(name, at);
    talk_through(at);
    proxy_server_close(s);
}

/* It tries for a while: a daemon may be about to start. */
TEST(a_port_that_leads_nowhere_ends_its_connection)
{
    char at[LINK_ENDPOINT_MAX];
    uint8_t byte;
    struct proxy_server *s = open_proxy("tcp://127.0.0.1:1", at);
    int fd = connect_to(s);
    assert_int_equal(read_some(fd, &byte, 1), 0);
    close(fd);
    proxy_server_close(s);
}

/* Hundreds that say nothing leave room for others, and end with the proxy. */
TEST(who_says_nothing_harms_nobody)
{
    enum { SILENT = 200 };
    char at[LINK_ENDPOINT_MAX];
    int silent[SILENT];
    struct proxy_server *s = open_proxy(endpoint, at);
    for (int i = 0; i < SILENT; i++)
        silent[i] = connect_to(s);
    talk_through(at);
    proxy_server_close(s);
    for (int i = 0; i < SILENT; i++) {
        uint8_t greeting[64]; /* of ZeroMQ, as far as it came */
        assert_true(read_some(silent[i], greeting, sizeof greeting) < sizeof greeting);
        close(silent[i]);
    }
}

TEST(what_is_no_list_is_refused)
{
    static const char *const wrong[] = {"x", "tcp://a:*", "tcp://a:1=", "tcp://a:1=b", "tcp://a:1=tcp://b:*"};
    struct proxy_server *s;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(proxy_server_open("tcp://127.0.0.1:*", wrong[i], &s), BEZEL_EINVAL);
    assert_int_equal(proxy_server_open("tcp://127.0.0.1:65535", "tcp://a:1 tcp://b:1", &s), BEZEL_EINVAL);
    assert_int_equal(proxy_server_open(endpoint, "tcp://a:1", &s), BEZEL_EBUSY);
    assert_int_equal(proxy_server_open("tcp://*:*", "", &s), 0);
    proxy_server_close(s);
    proxy_server_close(NULL);
}

int main(void)
{
    return test_run(setup, teardown);
}
