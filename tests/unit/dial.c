// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Names of hosts: which of a name's addresses is taken, what is said where none is, and links that wait for one. */
#include "mdr/link/dial.h"

#include "base/clock.h"
#include "mdr/link/keyring.h"
#include "mdr/link/link.h"
#include "tests/lib/free_port.h"
#include "tests/lib/key_pair.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_FRAME = 4096, SLOW = 40 };

/* ---- The resolver of the test ------------------------------------------------------------------------------------ */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held;             /* "slow" names get no answer */
    int inside, most, all; /* calls of getaddrinfo(): now, at a time, ever */
    bool moved;            /* "moved" has its other address */
} resolver = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

int __real_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **all);
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **all);

/* The addresses of `host`, as numbers; NULL: it is not a name of the test. */
static const char *const *addresses_of(const char *host)
{
    static const char *const one[] = {"127.0.0.1", NULL}, *const two[] = {"127.0.0.2", NULL};
    static const char *const some[] = {"127.0.0.2", "127.0.0.3", "127.0.0.4", NULL};
    if (strcmp(host, "one") == 0 || strcmp(host, "slow") == 0)
        return one;
    if (strcmp(host, "moved") == 0)
        return resolver.moved ? two : one;
    return strcmp(host, "some") == 0 ? some : NULL;
}

int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **all)
{
    struct addrinfo **end = all;
    pthread_mutex_lock(&resolver.lock);
    resolver.all++;
    if (++resolver.inside > resolver.most)
        resolver.most = resolver.inside;
    pthread_cond_broadcast(&resolver.changed);
    while (resolver.held && strcmp(host, "slow") == 0)
        pthread_cond_wait(&resolver.changed, &resolver.lock);
    const char *const *numbers = addresses_of(host);
    resolver.inside--;
    pthread_mutex_unlock(&resolver.lock);
    if (!numbers)
        return __real_getaddrinfo(host, port, hints, all);
    for (*all = NULL; *numbers; numbers++, end = &(*end)->ai_next)
        if (__real_getaddrinfo(*numbers, port, hints, end) != 0)
            return EAI_FAIL;
    return 0;
}

/* How often names were looked up since the last call of forget_calls(). */
static int calls(void)
{
    pthread_mutex_lock(&resolver.lock);
    int all = resolver.all;
    pthread_mutex_unlock(&resolver.lock);
    return all;
}

static void forget_calls(void)
{
    pthread_mutex_lock(&resolver.lock);
    resolver.most = resolver.all = 0;
    pthread_mutex_unlock(&resolver.lock);
}

static void hold(bool held)
{
    pthread_mutex_lock(&resolver.lock);
    resolver.held = held;
    pthread_cond_broadcast(&resolver.changed);
    pthread_mutex_unlock(&resolver.lock);
}

/* ---- Dials ------------------------------------------------------------------------------------------------------- */

static int listen_at(const char *number, uint16_t *port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(*port)};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(inet_pton(AF_INET, number, &at.sin_addr), 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static struct dial *dial(const char *host, uint16_t port)
{
    struct address address = {.kind = ADDRESS_NAME, .port = port};
    struct dial *d = NULL;
    snprintf(address.host, sizeof address.host, "%s", host);
    assert_int_equal(dial_begin(&address, &d), 0);
    return d;
}

/* Waits for the answer, and ends the dial. */
static int answer(struct dial *d, struct address *found, char why[DIAL_WHY_MAX])
{
    struct pollfd wait = {.fd = dial_fd(d), .events = POLLIN};
    assert_int_equal(poll(&wait, 1, (int)(PATIENCE / CLOCK_MS)), 1);
    int err = dial_answer(d, found, why);
    dial_end(d);
    return err;
}

TEST(the_only_address_is_not_tried)
{
    struct address found;
    char why[DIAL_WHY_MAX];
    uint16_t port = free_port();
    assert_int_equal(answer(dial("one", port), &found, why), 0);
    assert_int_equal(found.kind, ADDRESS_IPV4);
    assert_string_equal(found.host, "127.0.0.1");
    assert_int_equal(found.port, port);
}

TEST(of_several_the_first_that_listens_is_taken)
{
    struct address found;
    char why[DIAL_WHY_MAX];
    uint16_t port = 0;
    int third = listen_at("127.0.0.4", &port), second = listen_at("127.0.0.3", &port);
    assert_int_equal(answer(dial("some", port), &found, why), 0);
    assert_string_equal(found.host, "127.0.0.3");
    close(second);
    assert_int_equal(answer(dial("some", port), &found, why), 0);
    assert_string_equal(found.host, "127.0.0.4");
    close(third);
    assert_int_equal(answer(dial("some", port), &found, why), BEZEL_EUNREACH);
    assert_string_equal(why, "does not answer: Connection refused (127.0.0.2), Connection refused (127.0.0.3), "
                             "Connection refused (127.0.0.4)");
}

TEST(a_number_is_tried)
{
    struct address number = {.kind = ADDRESS_IPV4, .host = "127.0.0.1", .port = free_port()}, found;
    struct dial *d;
    char why[DIAL_WHY_MAX];
    assert_int_equal(dial_begin(&number, &d), 0);
    assert_int_equal(answer(d, &found, why), BEZEL_EUNREACH);
    assert_string_equal(why, "does not answer: Connection refused (127.0.0.1)");
    int fd = listen_at("127.0.0.1", &number.port);
    assert_int_equal(dial_begin(&number, &d), 0);
    assert_int_equal(answer(d, &found, why), 0);
    assert_string_equal(found.host, number.host);
    close(fd);
}

TEST(a_name_without_address_is_told)
{
    struct address found;
    char why[DIAL_WHY_MAX];
    assert_int_equal(answer(dial("no-such-host.invalid", 7), &found, why), BEZEL_ENOENT);
    assert_memory_equal(why, "has no address: ", 16);
    assert_non_null(strstr(why, "; correct the name, or give the address as a number"));
}

static void wait_inside(int count)
{
    int64_t deadline = clock_now() + PATIENCE;
    pthread_mutex_lock(&resolver.lock);
    while (resolver.inside != count && clock_now() < deadline) {
        pthread_mutex_unlock(&resolver.lock);
        sched_yield();
        pthread_mutex_lock(&resolver.lock);
    }
    assert_int_equal(resolver.inside, count);
    pthread_mutex_unlock(&resolver.lock);
}

TEST(many_wait_for_few_threads_and_those_given_up_are_not_looked_up)
{
    struct dial *slow[SLOW];
    struct address found;
    char why[DIAL_WHY_MAX];
    hold(true);
    forget_calls();
    for (int i = 0; i < SLOW; i++)
        slow[i] = dial("slow", 7);
    wait_inside(DIAL_THREADS);
    for (int i = 0; i < SLOW; i++)
        assert_int_equal(dial_answer(slow[i], &found, why), BEZEL_EAGAIN);
    for (int i = 0; i < SLOW - 1; i++) /* of these, DIAL_THREADS are with the resolver, and the others wait */
        dial_end(slow[i]);
    hold(false);
    assert_int_equal(answer(slow[SLOW - 1], &found, why), 0);
    assert_string_equal(found.host, "127.0.0.1");
    wait_inside(0);
    assert_int_equal(resolver.most, DIAL_THREADS);
    assert_int_equal(calls(), DIAL_THREADS + 1);
    assert_int_equal(answer(dial("one", 7), &found, why), 0); /* threads come again */
}

/* ---- Links ------------------------------------------------------------------------------------------------------- */

static char folder[SCRATCH_PATH];
static struct link_keys server_keys, client_keys;

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    assert_int_equal(link_key_new(&server_keys.own), 0);
    client_keys.own = key_pair_new(folder, "desk1", KEY_OBSERVE);
    assert_int_equal(link_key_public(&server_keys.own, client_keys.server), 0);
    assert_int_equal(keyring_open(folder, &server_keys.known), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    keyring_free(server_keys.known);
    scratch_remove(folder);
    return 0;
}

static struct link *bound(const char *endpoint)
{
    struct link *link = NULL;
    assert_int_equal(link_bind(endpoint, MAX_FRAME, &server_keys, &link), 0);
    return link;
}

static struct link *connected(const char *host, const struct link *to, int queue)
{
    char endpoint[LINK_ENDPOINT_MAX];
    struct link *link = NULL;
    snprintf(endpoint, sizeof endpoint, "tcp://%s%s", host, strrchr(link_endpoint(to), ':'));
    assert_int_equal(link_connect(endpoint, MAX_FRAME, queue, &client_keys, &link), 0);
    assert_string_equal(link_endpoint(link), endpoint);
    return link;
}

static void say(struct link *link, const char *text)
{
    assert_int_equal(link_send(link, NULL, text, strlen(text)), 0);
}

/* Waits for `text` at `server`; `client` is given turns, as its owner does. Answers it. */
static void assert_heard(struct link *server, struct link *client, const char *text)
{
    struct link_frame frame, nothing;
    struct link *both[] = {server, client};
    int64_t deadline = clock_now() + PATIENCE;
    int err;
    while ((err = link_receive(server, &frame)) == BEZEL_EAGAIN && clock_now() < deadline) {
        assert_int_equal(link_receive(client, &nothing), BEZEL_EAGAIN);
        link_wait(both, 2, NULL, 0, 100 * CLOCK_MS);
    }
    assert_int_equal(err, 0);
    assert_int_equal(frame.size, strlen(text));
    assert_memory_equal(frame.data, text, frame.size);
    link_frame_free(&frame);
}

TEST_WITH(set_up, tear_down, frames_wait_for_the_address)
{
    struct link *server = bound("tcp://127.0.0.1:*");
    hold(true);
    struct link *client = connected("slow", server, 3);
    say(client, "first");
    say(client, "second");
    char shared[] = "third";
    assert_int_equal(link_send_shared(client, NULL, shared, 5, NULL, NULL), 0);
    assert_int_equal(link_send(client, NULL, "fourth", 6), BEZEL_EAGAIN); /* no more than its queue takes */
    assert_int_equal(link_wait(&client, 1, NULL, 0, 0), 0);
    assert_null(link_trouble(client));
    hold(false);
    assert_heard(server, client, "first");
    assert_heard(server, client, "second");
    assert_heard(server, client, "third");
    say(client, "fourth");
    assert_heard(server, client, "fourth");
    link_close(client, 0);
    link_close(server, 0);
}

TEST_WITH(set_up, tear_down, a_link_closed_before_its_address_came_leaves_nothing)
{
    struct link *server = bound("tcp://127.0.0.1:*");
    hold(true);
    struct link *client = connected("slow", server, 16);
    say(client, "never");
    link_close(client, 0);
    hold(false);
    wait_inside(0);
    link_close(server, 0);
}

TEST_WITH(set_up, tear_down, a_wrong_name_is_told_and_looked_up_again)
{
    struct link *server = bound("tcp://127.0.0.1:*"), *client = connected("no-such-host.invalid", server, 16);
    struct link_frame frame;
    int64_t deadline = clock_now() + PATIENCE;
    forget_calls();
    while (calls() < 2 && clock_now() < deadline) {
        assert_int_equal(link_receive(client, &frame), BEZEL_EAGAIN);
        link_wait(&client, 1, NULL, 0, 50 * CLOCK_MS);
    }
    assert_true(calls() >= 2);
    assert_memory_equal(link_trouble(client), "has no address: ", 16);
    link_close(client, 0);
    link_close(server, 0);
}

TEST_WITH(set_up, tear_down, another_link_finds_the_address_that_the_name_has_now)
{
    struct link *before = bound("tcp://127.0.0.1:*"), *after;
    char endpoint[LINK_ENDPOINT_MAX];
    struct link *client = connected("moved", before, 16);
    say(client, "before");
    assert_heard(before, client, "before");
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.2%s", strrchr(link_endpoint(before), ':'));
    after = bound(endpoint);
    pthread_mutex_lock(&resolver.lock);
    resolver.moved = true;
    pthread_mutex_unlock(&resolver.lock);
    link_close(client, 0);
    client = connected("moved", before, 16);
    say(client, "after");
    assert_heard(after, client, "after");
    link_close(client, 0);
    link_close(before, 0);
    link_close(after, 0);
}

TEST_WITH(set_up, tear_down, a_link_listens_at_all_addresses_or_at_an_interface)
{
    static const char *const at[] = {"tcp://*:*", "tcp://lo:*"};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        struct link *server = bound(at[i]), *client = connected("one", server, 16);
        say(client, "hello");
        assert_heard(server, client, "hello");
        link_close(client, 0);
        link_close(server, 0);
    }
    struct link *none = NULL;
    assert_int_equal(link_bind("tcp://no-interface0:*", MAX_FRAME, &server_keys, &none), BEZEL_EINVAL);
    assert_null(none);
}
