// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Who asks for metrics, and who is sent them, may never read, reset, talk nonsense, be slow or away, or end in the
 * middle: that is counted, and others have the newest text.
 */
#include "base/clock.h"
#include "mediators/metrics/push.h"
#include "tests/lib/patience.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"
#include "views/page/web.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { TEXT_BYTES = 2 << 20, ROUNDS = 40 };

static char text[TEXT_BYTES + 1];

static void make_text(char letter)
{
    memset(text, letter, TEXT_BYTES);
    text[TEXT_BYTES] = '\0';
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct timeval patience = {.tv_sec = PATIENCE / CLOCK_S};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), room = 4096;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(s >= 0);
    assert_int_equal(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    assert_int_equal(setsockopt(s, SOL_SOCKET, SO_RCVBUF, &room, sizeof room), 0);
    assert_int_equal(connect(s, (struct sockaddr *)&to, sizeof to), 0);
    return s;
}

static void reset(int s)
{
    setsockopt(s, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    close(s);
}

/* ---- Who asks ---------------------------------------------------------------------------------------------------- */

static const char question[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

static void ask(int s, size_t bytes)
{
    (void)!send(s, question, bytes, MSG_NOSIGNAL);
}

/* Reads up to `most` bytes of an answer, and counts those that are `letter`. */
static size_t read_letters(int s, char letter, size_t most)
{
    static char part[1 << 16];
    size_t letters = 0, all = 0;
    for (ssize_t n; all < most && (n = recv(s, part, sizeof part, 0)) > 0; all += (size_t)n)
        for (ssize_t i = 0; i < n; i++)
            letters += part[i] == letter;
    return letters;
}

TEST(scrapers_that_do_not_do_their_part_keep_no_other_one_from_the_newest_text)
{
    static const struct web_file files[] = {{"/metrics", "text/plain", NULL}, {NULL, NULL, NULL}};
    uint64_t seed = seed_start();
    struct web *web;
    assert_int_equal(web_start(&(struct web_options){.files = files}, &web), 0);
    make_text('#');
    assert_int_equal(web_publish(web, text, TEXT_BYTES), 0);
    int silent = connect_to(web_port(web));
    ask(silent, sizeof question - 1);
    for (int i = 0; i < ROUNDS; i++) {
        char bytes[512];
        int s = connect_to(web_port(web)), half = connect_to(web_port(web)), noise = connect_to(web_port(web));
        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = (char)seed_next(&seed);
        ask(half, seed_next(&seed) % (sizeof question - 1));
        (void)!send(noise, bytes, sizeof bytes, MSG_NOSIGNAL);
        ask(s, sizeof question - 1);
        (void)read_letters(s, '#', seed_next(&seed) % 100000);
        make_text((char)('A' + i % 26));
        assert_int_equal(web_publish(web, text, TEXT_BYTES), 0);
        reset(s);
        reset(half);
        close(noise);
    }
    make_text('=');
    assert_int_equal(web_publish(web, text, TEXT_BYTES), 0);
    int s = connect_to(web_port(web));
    ask(s, sizeof question - 1);
    assert_int_equal(read_letters(s, '=', SIZE_MAX), TEXT_BYTES);
    close(s);
    for (int64_t until = clock_now() + PATIENCE; web_counts(web).cut == 0; usleep(10000)) /* the one that never read */
        assert_true(clock_now() < until);
    assert_true(web_counts(web).answered >= 1);
    web_stop(web);
    close(silent);
}

/* ---- Who is sent them -------------------------------------------------------------------------------------------- */

enum way { TAKES, IS_SLOW, FAILS, ENDS_IN_THE_MIDDLE, ANSWERS_HALF, ANSWERS_NOISE, IS_SILENT };

static struct tool {
    int listens;
    uint16_t port;
    pthread_t thread;
    _Atomic int way;
    atomic_bool stop;
} tool;

/* Reads what is posted, `part` bytes at a time. */
static void read_post(int s, size_t part, unsigned pause_us)
{
    char bytes[1 << 16];
    size_t head = 0, all = 0, length = SIZE_MAX - (1 << 20);
    for (ssize_t n; all < head + length && (n = recv(s, bytes, part, 0)) > 0; all += (size_t)n) {
        char *end = head ? NULL : memmem(bytes, (size_t)n, "\r\n\r\n", 4);
        char *said = end ? memmem(bytes, (size_t)n, "ontent-length:", 14) : NULL;
        said = said || !end ? said : memmem(bytes, (size_t)n, "ontent-Length:", 14);
        if (said) {
            head = all + (size_t)(end - bytes) + 4;
            length = strtoul(said + 14, NULL, 10);
        }
        if (pause_us)
            usleep(pause_us);
    }
}

static void say(int s, const char *words)
{
    (void)!send(s, words, strlen(words), MSG_NOSIGNAL);
}

static void serve(int s, enum way way)
{
    char noise[4096];
    memset(noise, 0xfe, sizeof noise);
    if (way == IS_SILENT || way == ENDS_IN_THE_MIDDLE)
        (void)recv(s, noise, sizeof noise, 0);
    else
        read_post(s, way == IS_SLOW ? 1 << 13 : 1 << 16, way == IS_SLOW ? 1000 : 0);
    if (way == TAKES || way == IS_SLOW)
        say(s, "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n");
    if (way == FAILS)
        say(s, "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 5\r\n\r\nsorry");
    if (way == ANSWERS_HALF)
        say(s, "HTTP/1.1 20");
    if (way == ANSWERS_NOISE)
        (void)!send(s, noise, sizeof noise, MSG_NOSIGNAL);
    while (way == IS_SILENT && !atomic_load(&tool.stop) && atomic_load(&tool.way) == IS_SILENT)
        usleep(1000);
    if (way == ENDS_IN_THE_MIDDLE)
        reset(s);
    else
        close(s);
}

static void *serve_all(void *unused)
{
    for (int s; !atomic_load(&tool.stop);)
        if ((s = accept(tool.listens, NULL, NULL)) >= 0) {
            struct timeval patience = {.tv_sec = PATIENCE / CLOCK_S};
            setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
            serve(s, (enum way)atomic_load(&tool.way));
        }
    return unused;
}

static int start_tool(void **unused)
{
    struct sockaddr_in at = {.sin_family = AF_INET};
    socklen_t n = sizeof at;
    (void)unused;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    tool.listens = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(tool.listens, (struct sockaddr *)&at, n) != 0 || listen(tool.listens, 8) != 0 ||
        getsockname(tool.listens, (struct sockaddr *)&at, &n) != 0)
        return -1;
    tool.port = ntohs(at.sin_port);
    atomic_store(&tool.stop, false);
    return pthread_create(&tool.thread, NULL, serve_all, NULL);
}

static int stop_tool(void **unused)
{
    (void)unused;
    atomic_store(&tool.stop, true);
    shutdown(tool.listens, SHUT_RDWR);
    pthread_join(tool.thread, NULL);
    close(tool.listens);
    return 0;
}

static struct push *open_push(uint16_t port)
{
    char url[64];
    const char *why;
    struct push *m;
    snprintf(url, sizeof url, "http://127.0.0.1:%u/import", port);
    assert_int_equal(push_open(url, NULL, &m, &why), 0);
    return m;
}

static struct push_counts await(struct push *m, uint64_t taken, uint64_t refused)
{
    struct push_counts c;
    for (int64_t until = clock_now() + PATIENCE; c = push_counts(m), c.taken < taken || c.refused < refused;
         usleep(1000))
        assert_true(clock_now() < until);
    return c;
}

TEST_WITH(start_tool, stop_tool, a_tool_that_does_not_do_its_part_is_sent_the_next_text)
{
    static const enum way ways[] = {FAILS, ENDS_IN_THE_MIDDLE, ANSWERS_HALF, ANSWERS_NOISE, IS_SILENT};
    struct push *m = open_push(tool.port);
    make_text('#');
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        atomic_store(&tool.way, (int)ways[i]);
        push_offer(m, text, TEXT_BYTES);
        (void)await(m, i, i + 1);
        atomic_store(&tool.way, TAKES);
        push_offer(m, text, TEXT_BYTES);
        (void)await(m, i + 1, i + 1);
    }
    struct push_counts c = push_counts(m);
    assert_true(c.taken == sizeof ways / sizeof *ways && c.refused == c.taken && c.missed == 0);
    push_close(m);
}

TEST_WITH(start_tool, stop_tool, a_slow_tool_misses_texts_and_has_the_newest)
{
    struct push *m = open_push(tool.port);
    uint64_t offered = 0;
    atomic_store(&tool.way, IS_SLOW);
    make_text('#');
    for (; push_counts(m).taken < 2; offered++) {
        push_offer(m, text, TEXT_BYTES);
        usleep(1000);
    }
    assert_true(push_counts(m).missed > 0 && push_counts(m).missed < offered);
    push_close(m); /* which waits for the last one */
}

TEST(a_tool_that_is_away_is_counted)
{
    struct push *m;
    assert_int_equal(start_tool(NULL), 0);
    uint16_t port = tool.port;
    stop_tool(NULL);
    m = open_push(port);
    push_offer(m, "text", 4);
    struct push_counts c = await(m, 0, 1);
    assert_true(c.taken == 0 && c.missed == 0);
    push_close(m);
}
