// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "tests/lib/patience.h"
#include "views/page/view_server.h"
#include "views/page/web.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

static struct gate gate;
static struct web *web;

static int start(void **unused)
{
    static const struct web_file files[] = {{"/", "text/plain", "page"}, {NULL, NULL, NULL}};
    (void)unused;
    assert_int_equal(gate_init(&gate, false, NULL), 0);
    return web_start(&(struct web_options){NULL, 0, &gate, files}, &web);
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

/* Asks for an upgrade of the connection. Returns whether it was made. */
static bool upgrade(int s, const char *to, bool has_cookie)
{
    char text[1024];
    char cookie[128] = "";
    if (has_cookie)
        snprintf(cookie, sizeof cookie, "Cookie: %s=%s\r\n", gate.cookie_name, gate.cookie);
    int n = snprintf(text, sizeof text,
                     "GET /live HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nOrigin: http://127.0.0.1:%u\r\nUpgrade: %s\r\n"
                     "Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: YWFhYWFhYWFhYWFhYWFhYQ==\r\n"
                     "Sec-WebSocket-Protocol: bezel-view\r\n%s\r\n",
                     web_port(web), web_port(web), to, cookie);
    assert_int_equal(send(s, text, (size_t)n, MSG_NOSIGNAL), n);
    ssize_t got = recv(s, text, sizeof text - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return strncmp(text, "HTTP/1.1 101 ", 13) == 0;
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

static void connections_become_websockets_of_pages_with_a_cookie_and_nothing_else(void **unused)
{
    static const struct {
        const char *to;
        bool has_cookie, is_made;
    } cases[] = {{"websocket", true, true}, {"websocket", false, false}, {"h2c", true, false}, {"h2c", false, false}};
    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int s = connect_to_web();
        assert_int_equal(upgrade(s, cases[i].to, cases[i].has_cookie), cases[i].is_made);
        close(s);
    }
    assert_int_equal(next_event().kind, WEB_OPENED);
    assert_int_equal(next_event().kind, WEB_CLOSED);
}

/* Pages that come and go unseen leave room for the token: else the file would open no further page. */
static void a_token_is_told_whatever_waits(void **unused)
{
    char path[64];
    (void)unused;
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
static void looks_that_gain_little_take_a_part_of_the_time(void **unused)
{
    (void)unused;
    assert_int_equal(view_server_pause(CLOCK_MS, false, 0), 250 * CLOCK_MS);
    assert_int_equal(view_server_pause(100 * CLOCK_MS, true, 1000000), 0);
    assert_int_equal(view_server_pause(100 * CLOCK_MS, true, 100), 400 * CLOCK_MS);
    assert_int_equal(view_server_pause(100 * CLOCK_MS, false, 1000000), 400 * CLOCK_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(connections_become_websockets_of_pages_with_a_cookie_and_nothing_else, start,
                                        stop),
        cmocka_unit_test(looks_that_gain_little_take_a_part_of_the_time),
        cmocka_unit_test_setup_teardown(a_token_is_told_whatever_waits, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
