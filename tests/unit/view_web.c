// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"
#include "views/page/view_server.h"
#include "views/page/web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static struct gate gate;
static struct web *web;

static int start(void **unused)
{
    static const struct web_file files[] = {{"/", "text/plain", "page"}, {NULL, NULL, NULL}};
    (void)unused;
    assert_int_equal(gate_init(&gate, false, NULL), 0);
    return web_start(&(struct web_options){.gate = &gate, .files = files}, &web);
}

static int stop(void **unused)
{
    (void)unused;
    web_stop(web);
    return 0;
}

static int connect_to_web(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(web_port(web))};
    struct timeval patience = {.tv_sec = PATIENCE / CLOCK_S};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(s >= 0);
    assert_int_equal(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(connect(s, (struct sockaddr *)&to, sizeof to), 0);
    return s;
}

struct asked {
    const char *to, *path, *protocol, *origin; /* origin: of another site; "": none; NULL: ours */
    bool has_cookie;
};

/* Asks for an upgrade of the connection. Returns whether it was made, to that protocol. */
static bool upgrade_as(int s, const struct asked *a)
{
    char text[1024], got_protocol[64], ours[64], cookie[128] = "", origin[96] = "";
    snprintf(ours, sizeof ours, "http://127.0.0.1:%u", web_port(web));
    if (a->has_cookie)
        snprintf(cookie, sizeof cookie, "Cookie: %s=%s\r\n", gate.cookie_name, gate.cookie);
    if (!a->origin || *a->origin)
        snprintf(origin, sizeof origin, "Origin: %s\r\n", a->origin ? a->origin : ours);
    snprintf(got_protocol, sizeof got_protocol, "%s\r\n", strrchr(a->protocol, ' ') ? "one" : a->protocol);
    int n = snprintf(text, sizeof text,
                     "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%sUpgrade: %s\r\n"
                     "Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: YWFhYWFhYWFhYWFhYWFhYQ==\r\n"
                     "Sec-WebSocket-Protocol: %s\r\n%s\r\n",
                     a->path, web_port(web), origin, a->to, a->protocol, cookie);
    assert_int_equal(send(s, text, (size_t)n, MSG_NOSIGNAL), n);
    ssize_t got = recv(s, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return strncmp(text, "HTTP/1.1 101 ", 13) == 0 && strcasestr(text, got_protocol);
}

static bool upgrade(int s, const char *to, bool has_cookie)
{
    return upgrade_as(s, &(struct asked){to, "/live", "bezel-view", NULL, has_cookie});
}

/* Asks for a page, so that the service comes round. */
static void ask(const char *path)
{
    char text[1024];
    int s = connect_to_web();
    int n = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
    assert_int_equal(send(s, text, (size_t)n, MSG_NOSIGNAL), n);
    assert_true(recv(s, text, sizeof text, 0) > 0);
    close(s);
}

static struct web_event next_event(void)
{
    struct web_event e;
    for (int64_t until = clock_now() + PATIENCE; !web_next(web, CLOCK_S / 10, &e);)
        assert_true(clock_now() < until);
    return e;
}

TEST_WITH(start, stop, connections_become_websockets_of_pages_with_a_cookie_and_nothing_else)
{
    static const struct {
        const char *to;
        bool has_cookie, is_made;
    } cases[] = {{"websocket", true, true}, {"websocket", false, false}, {"h2c", true, false}, {"h2c", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int s = connect_to_web();
        assert_int_equal(upgrade(s, cases[i].to, cases[i].has_cookie), cases[i].is_made);
        close(s);
    }
    assert_int_equal(next_event().kind, WEB_OPENED);
    assert_int_equal(next_event().kind, WEB_CLOSED);
}

/* They would take the places of all others until their time is over. */
TEST_WITH(start, stop, of_connections_that_ask_for_nothing_the_oldest_go)
{
    enum { COUNT = WEB_CONNECTIONS + 8 };
    int silent[COUNT];
    char byte;
    for (int i = 0; i < COUNT; i++)
        silent[i] = connect_to_web();
    ask("/");
    assert_true(web_counts(web).refused >= COUNT - WEB_SILENT);
    assert_int_equal(recv(silent[0], &byte, 1, 0), 0);
    assert_true(upgrade(silent[COUNT - 1], "websocket", true));
    for (int i = 0; i < COUNT; i++)
        close(silent[i]);
}

/* Pages that come and go unseen leave room for the token: else the file would open no further page. */
TEST_WITH(start, stop, a_token_is_told_whatever_waits)
{
    char path[64];
    for (unsigned i = 0; i < WEB_EVENTS; i++) {
        int s = connect_to_web();
        (void)!upgrade(s, "websocket", true);
        close(s);
    }
    snprintf(path, sizeof path, "/?token=%s", gate.token);
    ask(path);
    struct web_event e = next_event();
    while (e.kind != WEB_TOKEN_TAKEN)
        e = next_event();
    assert_string_not_equal(e.text, gate.token);
    free(e.text);
}

/* A look at thousands of streams takes long, be there nothing new in them: it takes no more than a part of the time. */
TEST(looks_that_gain_little_take_a_part_of_the_time)
{
    assert_int_equal(view_server_pause(CLOCK_MS, false, 0), 250 * CLOCK_MS);
    assert_int_equal(view_server_pause(100 * CLOCK_MS, true, 1000000), 0);
    assert_int_equal(view_server_pause(100 * CLOCK_MS, true, 100), 400 * CLOCK_MS);
    assert_int_equal(view_server_pause(100 * CLOCK_MS, false, 1000000), 400 * CLOCK_MS);
}

/* ---- tools, which have no cookie --------------------------------------------------------------------------------- */

static int start_for_tools(enum web_sockets sockets)
{
    static const struct web_file files[] = {{"/", "text/plain", "for tools"}, {NULL, NULL, NULL}};
    assert_int_equal(gate_init(&gate, false, "http://friend:1"), 0);
    return web_start(&(struct web_options){.gate = &gate,
                                           .files = files,
                                           .sockets = sockets,
                                           .protocols = {"one", "two"},
                                           .frames = 64,
                                           .message = 1000},
                     &web);
}

static int start_token(void **unused)
{
    (void)unused;
    return start_for_tools(WEB_SOCKETS_TOKEN);
}

static int start_all(void **unused)
{
    (void)unused;
    return start_for_tools(WEB_SOCKETS_ALL);
}

static bool admits(const char *path, const char *protocol, const char *origin)
{
    int s = connect_to_web();
    bool is_made = upgrade_as(s, &(struct asked){"websocket", path, protocol, origin, false});
    close(s);
    return is_made;
}

TEST_WITH(start_token, stop, the_token_in_the_address_admits_and_stays)
{
    char path[64], wrong[64];
    snprintf(path, sizeof path, "/?token=%s", gate.token);
    snprintf(wrong, sizeof wrong, "/?token=%s", gate.token);
    wrong[strlen(wrong) - 1] ^= 1;
    assert_true(admits(path, "one", "https://elsewhere"));
    assert_true(admits(path, "two", ""));
    assert_true(admits(path, "other, one", "")); /* the first of the client's that is there */
    assert_false(admits(path, "other", ""));
    assert_false(admits(wrong, "one", NULL));
    assert_false(admits("/", "one", NULL));
    assert_false(admits("/?token=", "one", NULL));
    assert_int_equal(web_counts(web).refused, 3);
}

TEST_WITH(start_all, stop, without_a_token_programs_are_admitted_and_pages_of_other_sites_are_not)
{
    assert_true(admits("/", "one", ""));
    assert_true(admits("/", "two", NULL));
    assert_true(admits("/", "one", "http://friend:1"));
    assert_false(admits("/", "one", "https://elsewhere"));
    assert_false(admits("/", "one", "null"));
}

/* ---- frames (RFC 6455) ------------------------------------------------------------------------------------------- */

enum { FINAL = 0x80, CONTINUED = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };

static void put_frame(int s, unsigned first, const void *payload, size_t n)
{
    static const uint8_t mask[4] = {0x37, 0xfa, 0x21, 0x3d};
    uint8_t frame[2048] = {(uint8_t)first};
    size_t at = n < 126 ? 2 : 4;
    frame[1] = (uint8_t)(0x80 | (n < 126 ? n : 126));
    if (n >= 126) {
        frame[2] = (uint8_t)(n >> 8);
        frame[3] = (uint8_t)n;
    }
    memcpy(frame + at, mask, sizeof mask);
    for (size_t i = 0; i < n; i++)
        frame[at + 4 + i] = ((const uint8_t *)payload)[i] ^ mask[i % 4];
    assert_int_equal(send(s, frame, at + 4 + n, MSG_NOSIGNAL), at + 4 + n);
}

static int open_socket(void)
{
    int s = connect_to_web();
    assert_true(upgrade_as(s, &(struct asked){"websocket", "/", "one", "", false}));
    assert_int_equal(next_event().kind, WEB_OPENED);
    return s;
}

static void wants_text(const char *text, size_t n)
{
    struct web_event e = next_event();
    assert_int_equal(e.kind, WEB_TEXT);
    assert_int_equal(e.length, n);
    assert_memory_equal(e.text, text, n);
    free(e.text);
}

TEST_WITH(start_all, stop, messages_of_several_frames_are_put_together_around_control_frames)
{
    uint8_t got[64];
    int s = open_socket();
    put_frame(s, TEXT, "ab", 2);
    put_frame(s, FINAL | PING, "still there?", 12);
    put_frame(s, CONTINUED, "", 0);
    put_frame(s, FINAL | CONTINUED, "cd", 2);
    wants_text("abcd", 4);
    assert_int_equal(recv(s, got, 14, MSG_WAITALL), 14);
    assert_int_equal(got[0], FINAL | PONG);
    assert_memory_equal(got + 2, "still there?", 12);
    put_frame(s, FINAL | PONG, "", 0); /* nobody asked */
    put_frame(s, FINAL | CLOSE, "\x03\xe8", 2);
    assert_int_equal(recv(s, got, 2, MSG_WAITALL), 2);
    assert_int_equal(got[0], FINAL | CLOSE);
    assert_int_equal(next_event().kind, WEB_CLOSED);
    close(s);
}

TEST_WITH(start_all, stop, frames_against_the_rules_end_their_page)
{
    char large[1200];
    const struct {
        unsigned first;
        const char *payload;
        size_t n;
    } cases[] = {
        {FINAL | BINARY, "1", 1},
        {FINAL | PING, large, 126},
        {PING, "", 0},
        {FINAL | 3, "", 0},
        {FINAL | TEXT, "\xc3\x28", 2},
        {FINAL | CONTINUED, "", 0},
        {FINAL | TEXT | 0x40, "a", 1},
        {FINAL | TEXT, large, 1200},
    };
    memset(large, 'a', sizeof large);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int s = open_socket();
        put_frame(s, cases[i].first, cases[i].payload, cases[i].n);
        uint8_t got = 0;
        ssize_t n = recv(s, &got, 1, 0);
        if (!(n == 0 || (n < 0 && errno == ECONNRESET) || (n == 1 && got == (FINAL | CLOSE))))
            fail_msg("case %zu went through", i);
        close(s);
        assert_int_equal(next_event().kind, WEB_CLOSED); /* and it was no message */
    }
}

/* A tool that subscribes to thousands of topics, a message for each, while the program reads the run. */
TEST_WITH(start_all, stop, messages_wait_in_order_until_there_is_room)
{
    enum { MESSAGES = 4 * WEB_EVENTS };
    char text[16];
    int s = open_socket();
    for (int i = 0; i < MESSAGES; i++)
        put_frame(s, FINAL | TEXT, text, (size_t)snprintf(text, sizeof text, "%d", i));
    for (int i = 0; i < 3; i++)
        ask("/"); /* the service has come round */
    for (int i = 0; i < MESSAGES; i++)
        wants_text(text, (size_t)snprintf(text, sizeof text, "%d", i));
    close(s);
    assert_int_equal(next_event().kind, WEB_CLOSED);
}

/* One that reads nothing fills its own frames, and no more. */
TEST_WITH(start_all, stop, frames_for_who_reads_nothing_are_bounded)
{
    static const char bytes[64 << 10];
    int s = open_socket(), err = 0;
    size_t taken = 0;
    assert_true(web_has_room(web, 1));
    while ((err = web_send(web, 1, bytes, sizeof bytes, false)) == 0)
        assert_true(++taken < 10000);
    assert_int_equal(err, BEZEL_EAGAIN);
    assert_false(web_has_room(web, 1));
    char got[1 << 16];
    for (int64_t until = clock_now() + PATIENCE; !web_has_room(web, 1);) {
        assert_true(recv(s, got, sizeof got, 0) > 0);
        assert_true(clock_now() < until);
    }
    assert_int_equal(web_send(web, 1, bytes, 1, false), 0);
    close(s);
    assert_int_equal(next_event().kind, WEB_CLOSED);
    assert_int_equal(web_send(web, 1, bytes, 1, false), BEZEL_ENOENT);
}
