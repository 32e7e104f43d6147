// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* The link: frames in both directions, and every trap of ZeroMQ that mdr/link/link.c closes. */
#include "mdr/link/link.h"

#include "base/clock.h"
#include "base/file.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

enum { MAX_FRAME = 4096 };

static char dir[] = "/tmp/bezel-link-XXXXXX";
static char ipc[LINK_ENDPOINT_MAX];

static struct link *bound(const char *endpoint)
{
    struct link *link = NULL;
    assert_int_equal(link_bind(endpoint, MAX_FRAME, NULL, &link), 0);
    return link;
}

static struct link *connected(const char *endpoint)
{
    struct link *link = NULL;
    assert_int_equal(link_connect(endpoint, MAX_FRAME, 16, NULL, &link), 0);
    return link;
}

/* The next frame of `link`, waited for. */
static void receive(struct link *link, struct link_frame *frame)
{
    int64_t deadline = clock_now() + PATIENCE;
    int err;
    while ((err = link_receive(link, frame)) == BEZEL_EAGAIN && clock_now() < deadline)
        link_wait(&link, 1, NULL, 0, 100 * CLOCK_MS);
    assert_int_equal(err, 0);
}

static void assert_received(struct link *link, const char *text)
{
    struct link_frame frame;
    receive(link, &frame);
    assert_int_equal(frame.size, strlen(text));
    assert_memory_equal(frame.data, text, frame.size);
    link_frame_free(&frame);
}

static void say(struct link *link, const char *text)
{
    assert_int_equal(link_send(link, NULL, text, strlen(text)), 0);
}

static void frames_go_both_ways(const char *endpoint)
{
    struct link *server = bound(endpoint), *a = connected(link_endpoint(server)), *b = connected(link_endpoint(server));
    struct link_frame from_a, from_b, none;
    say(a, "from a");
    receive(server, &from_a);
    say(b, "");
    receive(server, &from_b);
    assert_int_equal(from_a.size, 6);
    assert_int_equal(from_b.size, 0);
    assert_true(from_a.peer.size > 0);
    assert_int_equal(link_send(server, &from_a.peer, "to a", 4), 0);
    assert_int_equal(link_send(server, &from_b.peer, "to b", 4), 0);
    assert_received(b, "to b");
    assert_received(a, "to a");
    assert_int_equal(link_receive(a, &none), BEZEL_EAGAIN);
    link_frame_free(&from_a);
    link_frame_free(&from_b);
    link_close(a, 0);
    link_close(b, 0);
    link_close(server, 0);
}

static void frames_go_both_ways_over_tcp(void **state)
{
    (void)state;
    frames_go_both_ways("tcp://127.0.0.1:*");
}

static void frames_go_both_ways_over_ipc(void **state)
{
    (void)state;
    frames_go_both_ways(ipc);
}

static void a_port_of_its_own_choice_is_reported(void **state)
{
    (void)state;
    struct link *server = bound("tcp://127.0.0.1:*"), *second = NULL;
    assert_memory_equal(link_endpoint(server), "tcp://127.0.0.1:", 16);
    assert_true(atoi(link_endpoint(server) + 16) > 0);
    assert_int_equal(link_bind(link_endpoint(server), MAX_FRAME, NULL, &second), BEZEL_EBUSY);
    assert_null(second);
    link_close(server, 0);
}

static void what_is_no_endpoint_is_refused(void **state)
{
    (void)state;
    struct link *link = NULL;
    char longest[LINK_ENDPOINT_MAX + 1];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    memcpy(longest, "tcp://", 6);
    const char *const bad[] = {
        "",      "127.0.0.1:5",      "udp://127.0.0.1:5", "inproc://x", "ipc://", "ipc://*", "ipc://@abstract",
        longest, "tcp://127.0.0.1:x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(link_bind(bad[i], MAX_FRAME, NULL, &link), BEZEL_EINVAL);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(link_connect(bad[i], MAX_FRAME, 1, NULL, &link), BEZEL_EINVAL);
    assert_int_equal(link_connect(ipc, MAX_FRAME, 0, NULL, &link), BEZEL_EINVAL);
    assert_null(link);
}

static void without_keys_tcp_binds_to_loopback_alone(void **state)
{
    (void)state;
    struct link *link = NULL;
    const char *const bad[] = {"tcp://*:*",         "tcp://0.0.0.0:*", "tcp://192.0.2.1:7766",
                               "tcp://localhost:*", "tcp://[::]:*",    "tcp://lo:*"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(link_bind(bad[i], MAX_FRAME, NULL, &link), BEZEL_EPERM);
    assert_null(link);
    link_close(bound("tcp://127.0.0.2:*"), 0);
}

static void without_keys_tcp_connects_to_loopback_alone(void **state)
{
    (void)state;
    struct link *link = NULL;
    const char *const bad[] = {"tcp://192.0.2.1:7766", "tcp://localhost:7766", "tcp://[2001:db8::1]:7766"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(link_connect(bad[i], MAX_FRAME, 1, NULL, &link), BEZEL_EPERM);
    assert_int_equal(link_connect("tcp://*:7766", MAX_FRAME, 1, NULL, &link), BEZEL_EINVAL);
    assert_int_equal(link_connect("tcp://127.0.0.1:*", MAX_FRAME, 1, NULL, &link), BEZEL_EINVAL);
    assert_null(link);
}

static void frames_go_both_ways_over_ipv6(void **state)
{
    (void)state;
    frames_go_both_ways("tcp://[::1]:*");
}

static void an_ipc_path_has_the_length_of_a_socket_at_most(void **state)
{
    (void)state;
    struct link *link = NULL;
    char longest[LINK_ENDPOINT_MAX];
    size_t limit = sizeof((struct sockaddr_un *)0)->sun_path - 1, n = strlen("ipc://") + limit;
    memset(longest, 'x', sizeof longest);
    memcpy(longest, ipc, strlen(ipc));
    longest[n] = '\0';
    link_close(bound(longest), 0);
    longest[n] = 'x';
    longest[n + 1] = '\0';
    assert_int_equal(link_bind(longest, MAX_FRAME, NULL, &link), BEZEL_EINVAL);
    assert_int_equal(link_connect(longest, MAX_FRAME, 1, NULL, &link), BEZEL_EINVAL);
}

static void a_missing_folder_is_not_found(void **state)
{
    (void)state;
    struct link *link = NULL;
    char endpoint[LINK_ENDPOINT_MAX];
    snprintf(endpoint, sizeof endpoint, "ipc://%s/none/s", dir);
    assert_int_equal(link_bind(endpoint, MAX_FRAME, NULL, &link), BEZEL_ENOENT);
}

static void the_ipc_path_of_a_living_server_is_busy(void **state)
{
    (void)state;
    struct link *server = bound(ipc), *thief = NULL, *client = connected(ipc);
    assert_int_equal(link_bind(ipc, MAX_FRAME, NULL, &thief), BEZEL_EBUSY);
    say(client, "still there?");
    assert_received(server, "still there?");
    link_close(client, 0);
    link_close(server, 0);
    link_close(bound(ipc), 0);
}

static void the_ipc_path_of_a_killed_server_is_free(void **state)
{
    (void)state;
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct link *link = NULL;
        if (link_bind(ipc, MAX_FRAME, NULL, &link) == 0)
            (void)!write(ready[1], "x", 1);
        for (;;)
            pause();
    }
    char byte;
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    struct link *link = NULL;
    assert_int_equal(link_bind(ipc, MAX_FRAME, NULL, &link), BEZEL_EBUSY);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    struct stat st;
    assert_int_equal(stat(ipc + strlen("ipc://"), &st), 0); /* what it left */
    link_close(bound(ipc), 0);
    assert_int_equal(stat(ipc + strlen("ipc://"), &st), -1);
}

static void a_file_at_the_ipc_path_is_left_alone(void **state)
{
    (void)state;
    const char *path = ipc + strlen("ipc://");
    char *text;
    size_t n;
    struct link *link = NULL;
    assert_int_equal(file_replace(path, "precious", 8), 0);
    assert_int_equal(link_bind(ipc, MAX_FRAME, NULL, &link), BEZEL_EBUSY);
    assert_int_equal(file_read(path, 100, &text, &n), 0);
    assert_string_equal(text, "precious");
    free(text);
    unlink(path);
}

static void what_is_sent_before_the_server_appears_arrives(void **state)
{
    (void)state;
    struct link *client = connected(ipc);
    say(client, "early");
    struct link *server = bound(ipc);
    assert_received(server, "early");
    link_close(client, 0);
    link_close(server, 0);
}

static void a_client_finds_the_server_again(void **state)
{
    (void)state;
    struct link *server = bound(ipc), *client = connected(ipc);
    say(client, "first");
    assert_received(server, "first");
    link_close(server, 0);
    server = bound(ipc);
    struct link_frame frame;
    int err = BEZEL_EAGAIN;
    for (int64_t deadline = clock_now() + PATIENCE; err == BEZEL_EAGAIN && clock_now() < deadline;) {
        int sent = link_send(client, NULL, "again", 5); /* what was on its way when the server went is lost: repeat */
        assert_true(sent == 0 || sent == BEZEL_EAGAIN);
        link_wait(&server, 1, NULL, 0, 50 * CLOCK_MS);
        err = link_receive(server, &frame);
    }
    assert_int_equal(err, 0);
    link_frame_free(&frame);
    link_close(client, 0);
    link_close(server, 0);
}

static void a_peer_that_went_is_unreachable(void **state)
{
    (void)state;
    struct link *server = bound(ipc), *client = connected(ipc);
    struct link_frame frame;
    say(client, "hello");
    receive(server, &frame);
    link_close(client, 0);
    int err = 0;
    for (int64_t deadline = clock_now() + PATIENCE; err != BEZEL_EUNREACH && clock_now() < deadline;) {
        link_wait(&server, 1, NULL, 0, 10 * CLOCK_MS);
        err = link_send(server, &frame.peer, "are you there?", 14);
    }
    assert_int_equal(err, BEZEL_EUNREACH);
    struct link_peer nobody = {.size = 5, .id = {0, 1, 2, 3, 4}};
    assert_int_equal(link_send(server, &nobody, "x", 1), BEZEL_EUNREACH);
    link_frame_free(&frame);
    link_close(server, 0);
}

static void a_peer_that_does_not_read_fills_its_queue_and_no_other(void **state)
{
    (void)state;
    static const char block[MAX_FRAME];
    struct link *server = bound(ipc), *lazy = connected(ipc), *keen = connected(ipc);
    struct link_frame frame;
    say(lazy, "hello");
    receive(server, &frame);
    struct link_peer peer = frame.peer;
    link_frame_free(&frame);
    int err = 0;
    while (!err)
        err = link_send(server, &peer, block, sizeof block);
    assert_int_equal(err, BEZEL_EAGAIN);
    say(keen, "hello");
    receive(server, &frame);
    assert_int_equal(link_send(server, &frame.peer, "hello", 5), 0);
    assert_received(keen, "hello");
    link_frame_free(&frame);
    link_close(lazy, 0);
    link_close(keen, 0);
    link_close(server, 0);
}

static void peers_stand_where_they_belong(void **state)
{
    (void)state;
    struct link *server = bound(ipc), *client = connected(ipc);
    struct link_peer peer = {.size = 1};
    assert_int_equal(link_send(server, NULL, "x", 1), BEZEL_EINVAL);
    assert_int_equal(link_send(server, &(struct link_peer){0}, "x", 1), BEZEL_EINVAL);
    assert_int_equal(link_send(client, &peer, "x", 1), BEZEL_EINVAL);
    assert_int_equal(link_send_shared(server, &peer, &peer, 1, NULL, NULL), BEZEL_EINVAL);
    link_close(client, 0);
    link_close(server, 0);
}

static pthread_mutex_t released_lock = PTHREAD_MUTEX_INITIALIZER;

/* A frame's release(): counts in *hint. From another thread. */
static void count_release(void *data, void *hint)
{
    (void)data;
    pthread_mutex_lock(&released_lock);
    ++*(int *)hint;
    pthread_mutex_unlock(&released_lock);
}

static void await_released(const int *released, int n)
{
    int seen = 0;
    for (int64_t deadline = clock_now() + PATIENCE; seen < n && clock_now() < deadline;) {
        clock_sleep_until(clock_now() + CLOCK_MS);
        pthread_mutex_lock(&released_lock);
        seen = *released;
        pthread_mutex_unlock(&released_lock);
    }
    assert_int_equal(seen, n);
}

static void a_shared_frame_is_released_once(void **state)
{
    (void)state;
    static char data[1000] = "shared";
    int released = 0;
    struct link *server = bound(ipc), *client = connected(ipc);
    struct link_frame frame;
    for (int i = 0; i < 10; i++)
        assert_int_equal(link_send_shared(client, NULL, data, sizeof data, count_release, &released), 0);
    for (int i = 0; i < 10; i++) {
        receive(server, &frame);
        assert_int_equal(frame.size, sizeof data);
        assert_memory_equal(frame.data, data, sizeof data);
        link_frame_free(&frame);
    }
    await_released(&released, 10);
    link_close(client, 0);
    link_close(server, 0);
    assert_int_equal(released, 10);
}

static void an_unsent_shared_frame_is_released_by_close_and_a_refused_one_at_once(void **state)
{
    (void)state;
    static char data[1000];
    int queued = 0, released = 0, err = 0;
    struct link *client = connected(ipc); /* nobody is there */
    while (!err) {
        err = link_send_shared(client, NULL, data, sizeof data, count_release, &released);
        queued += !err;
    }
    assert_int_equal(err, BEZEL_EAGAIN);
    assert_int_equal(queued, 16);
    assert_int_equal(released, 1);
    assert_int_equal(link_send(client, NULL, "x", 1), BEZEL_EAGAIN);
    link_close(client, 0); /* the last link: waits for ZeroMQ's threads */
    assert_int_equal(released, queued + 1);
}

static void what_lingers_arrives(void **state)
{
    (void)state;
    struct link *server = bound(ipc), *client = connected(ipc);
    say(client, "last words");
    link_close(client, 10000);
    assert_received(server, "last words");
    link_close(server, 0);
    link_close(NULL, 0);
}

static void a_frame_above_the_maximum_ends_its_connection_alone(void **state)
{
    (void)state;
    static const char large[MAX_FRAME + 1];
    struct link *server = bound(ipc), *rude = connected(ipc), *polite = connected(ipc);
    struct link_frame frame;
    assert_int_equal(link_send(rude, NULL, large, sizeof large), 0);
    assert_int_equal(link_send(polite, NULL, large, sizeof large - 1), 0);
    receive(server, &frame);
    assert_int_equal(frame.size, MAX_FRAME);
    link_frame_free(&frame);
    say(polite, "and on");
    assert_received(server, "and on");
    assert_int_equal(link_receive(server, &frame), BEZEL_EAGAIN);
    link_close(rude, 0);
    link_close(polite, 0);
    link_close(server, 0);
}

/* A ZeroMQ peer of another make: several parts, and an id longer than any of ours. */
static void foreign_messages_are_dropped(void **state)
{
    (void)state;
    struct link *server = bound(ipc), *client = connected(ipc);
    void *context = zmq_ctx_new(), *many = zmq_socket(context, ZMQ_DEALER), *named = zmq_socket(context, ZMQ_DEALER);
    zmq_setsockopt(named, ZMQ_ROUTING_ID, "longer than eight", LINK_PEER_MAX + 1);
    assert_int_equal(zmq_connect(many, ipc), 0);
    assert_int_equal(zmq_connect(named, ipc), 0);
    assert_int_equal(zmq_send(many, "one", 3, ZMQ_SNDMORE), 3);
    assert_int_equal(zmq_send(many, "two", 3, ZMQ_SNDMORE), 3);
    assert_int_equal(zmq_send(many, "three", 5, 0), 5);
    assert_int_equal(zmq_send(many, "alone", 5, 0), 5);
    assert_received(server, "alone");
    assert_int_equal(zmq_send(named, "x", 1, 0), 1);
    int64_t deadline = clock_now() + PATIENCE;
    while (link_wait(&server, 1, NULL, 0, 100 * CLOCK_MS) == 0)
        assert_true(clock_now() < deadline);
    struct link_frame frame;
    assert_int_equal(link_receive(server, &frame), BEZEL_EAGAIN); /* taken, and dropped */
    say(client, "ours");
    assert_received(server, "ours");
    zmq_close(many);
    zmq_close(named);
    zmq_ctx_term(context);
    link_close(client, 0);
    link_close(server, 0);
}

/* ---- relays ------------------------------------------------------------------------------------------------------ */

static void a_frame_passes_a_relay_in_the_name_of_who_sent_it(void **state)
{
    (void)state;
    char data[] = "shared";
    struct link *root = bound("tcp://127.0.0.1:*"), *below = bound(ipc), *above = connected(link_endpoint(root));
    struct link *a = connected(ipc), *b = connected(ipc);
    struct link_frame from_a, from_b, at_root;
    link_set_relay(root);
    link_set_relay(above);
    link_set_relay(below);
    say(a, "from a");
    receive(below, &from_a);
    say(b, "from b");
    receive(below, &from_b);
    assert_false(link_peer_is(&from_a.peer, &from_b.peer));
    assert_int_equal(from_a.peer.path_size, 0);
    assert_int_equal(link_send(above, &from_b.peer, from_b.data, from_b.size), 0);
    receive(root, &at_root);
    assert_int_equal(at_root.size, 6);
    assert_memory_equal(at_root.data, "from b", 6);
    assert_int_equal(at_root.peer.path_size, 1 + from_b.peer.size);
    assert_int_equal(at_root.peer.path[0], from_b.peer.size);
    assert_memory_equal(at_root.peer.path + 1, from_b.peer.id, from_b.peer.size);
    assert_int_equal(link_send(root, &at_root.peer, "to b", 4), 0);
    link_frame_free(&at_root);
    receive(above, &at_root);
    assert_true(link_peer_is(&at_root.peer, &from_b.peer));
    assert_int_equal(link_send(below, &at_root.peer, at_root.data, at_root.size), 0);
    assert_received(b, "to b");
    link_frame_free(&at_root);
    assert_int_equal(link_send_shared(above, &from_a.peer, data, 6, NULL, NULL), 0);
    receive(root, &at_root);
    assert_memory_equal(at_root.data, "shared", 6);
    assert_memory_equal(at_root.peer.path + 1, from_a.peer.id, from_a.peer.size);
    link_frame_free(&at_root);
    assert_int_equal(link_send(above, NULL, "x", 1), BEZEL_EINVAL);
    assert_int_equal(link_send(a, &from_a.peer, "x", 1), BEZEL_EINVAL);
    struct link_peer far = from_a.peer;
    far.path_size = LINK_PATH_MAX - 5; /* with its own hop one more than fits */
    memset(far.path, 1, far.path_size);
    assert_int_equal(link_send(above, &far, "x", 1), BEZEL_EFULL);
    link_frame_free(&from_a);
    link_frame_free(&from_b);
    link_close(a, 0);
    link_close(b, 0);
    link_close(above, 0);
    link_close(below, 0);
    link_close(root, 0);
}

static void send_parts(void *socket, const void *path, size_t n, const char *text, bool more)
{
    assert_int_equal(zmq_send(socket, path, n, ZMQ_SNDMORE), (int)n);
    assert_int_equal(zmq_send(socket, text, strlen(text), more ? ZMQ_SNDMORE : 0), (int)strlen(text));
    if (more)
        assert_int_equal(zmq_send(socket, "", 0, 0), 0);
}

static void paths_that_are_none_are_dropped(void **state)
{
    (void)state;
    static const uint8_t no_hop[] = {0}, cut[] = {5, 0, 1, 2, 3}, long_hop[] = {9, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const uint8_t behind[] = {1, 7, 3, 7, 7}, good[] = {1, 7, 2, 8, 9};
    uint8_t too_long[LINK_PATH_MAX + 2];
    struct link *server = bound(ipc);
    struct link_frame frame;
    link_set_relay(server);
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_DEALER);
    assert_int_equal(zmq_connect(socket, ipc), 0);
    for (size_t i = 0; i < sizeof too_long; i++)
        too_long[i] = 1; /* hops of one byte */
    send_parts(socket, "", 0, "no path", false);
    send_parts(socket, no_hop, sizeof no_hop, "no hop", false);
    send_parts(socket, cut, sizeof cut, "cut", false);
    send_parts(socket, long_hop, sizeof long_hop, "long hop", false);
    send_parts(socket, behind, sizeof behind, "cut behind", false);
    send_parts(socket, too_long, sizeof too_long, "too long", false);
    send_parts(socket, good, sizeof good, "one part more", true);
    send_parts(socket, good, sizeof good, "good", false);
    receive(server, &frame);
    assert_int_equal(frame.size, 4);
    assert_memory_equal(frame.data, "good", 4);
    assert_int_equal(frame.peer.path_size, sizeof good);
    assert_memory_equal(frame.peer.path, good, sizeof good);
    link_frame_free(&frame);
    send_parts(socket, too_long, LINK_PATH_MAX, "longest", false);
    assert_received(server, "longest");
    assert_int_equal(zmq_send(socket, "alone", 5, 0), 5);
    receive(server, &frame);
    assert_int_equal(frame.peer.path_size, 0);
    link_frame_free(&frame);
    zmq_close(socket);
    zmq_ctx_term(context);
    link_close(server, 0);
}

/* The other side of a relay's link: a parent that does not say for whom its frames are. */
static void a_relay_drops_frames_for_nobody(void **state)
{
    (void)state;
    struct link *server = bound(ipc), *above = connected(ipc);
    struct link_frame frame;
    struct link_peer child = {.size = 3, .id = {1, 2, 3}};
    link_set_relay(server);
    link_set_relay(above);
    assert_int_equal(link_send(above, &child, "hello", 5), 0);
    receive(server, &frame);
    struct link_peer whole = frame.peer, relay = frame.peer;
    link_frame_free(&frame);
    relay.path_size = 0;
    assert_int_equal(link_send(server, &relay, "for nobody", 10), 0);
    assert_int_equal(link_send(server, &whole, "for the child", 13), 0);
    receive(above, &frame);
    assert_int_equal(frame.size, 13);
    assert_true(link_peer_is(&frame.peer, &child));
    link_frame_free(&frame);
    link_close(above, 0);
    link_close(server, 0);
}

static void waiting_looks_at_links_and_descriptors(void **state)
{
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    struct link *server = bound(ipc), *client = connected(ipc);
    struct link *links[] = {NULL, server};
    const int read_ends[] = {-1, fds[0]};
    assert_int_equal(link_wait(links, 2, read_ends, 2, 0), 0);
    assert_int_equal(link_wait(links, 2, read_ends, 2, 1), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(link_wait(links, 2, read_ends, 2, -1), 1);
    say(client, "x");
    assert_int_equal(link_wait(links, 2, NULL, 0, PATIENCE), 1);
    assert_int_equal(link_wait(links, 2, read_ends, 2, -1), 2);
    char byte;
    int which[] = {fds[0], -1, fds[0]};
    assert_int_equal(link_wait_which(links, 2, which, 3, -1), 3);
    assert_true(which[0] == fds[0] && which[1] == -1 && which[2] == fds[0]);
    assert_int_equal(read(fds[0], &byte, 1), 1);
    assert_int_equal(link_wait_which(links, 2, which, 3, -1), 1);
    assert_true(which[0] == -1 && which[1] == -1 && which[2] == -1);
    link_close(client, 0);
    link_close(server, 0);
    close(fds[0]);
    close(fds[1]);
}

/* Takes up to `most` frames; returns how many there were. */
static int take(struct link *link, int most, struct link_peer *from)
{
    struct link_frame frame;
    int n = 0;
    for (; n < most && link_receive(link, &frame) == 0; n++) {
        *from = frame.peer;
        link_frame_free(&frame);
    }
    return n;
}

/* ZeroMQ's descriptor tells only of what comes behind the last look: sends and frames left behind are no such look. */
static void no_frame_is_missed_whatever_was_done_before(void **state)
{
    (void)state;
    unsigned seed = 1;
    struct link *server = bound(ipc), *client = connected(ipc);
    struct link_peer from, ignored;
    struct link_frame first;
    say(client, "first");
    receive(server, &first);
    from = first.peer;
    link_frame_free(&first);
    for (int round = 0, there = 0, here = 0; round < 500; round++) {
        for (int n = rand_r(&seed) % 3; n > 0; n--, there++)
            say(client, "there");
        for (int n = rand_r(&seed) % 3; n > 0; n--, here++)
            assert_int_equal(link_send(server, &from, "here", 4), 0);
        if (rand_r(&seed) % 2) /* it may see none yet: whoever asks then is told so once */
            (void)link_wait(rand_r(&seed) % 2 ? &server : &client, 1, NULL, 0, 0);
        while (there > rand_r(&seed) % 2) {
            assert_int_equal(link_wait(&server, 1, NULL, 0, PATIENCE), 1);
            there -= take(server, 1 + rand_r(&seed) % 3, &from);
        }
        while (here > rand_r(&seed) % 2) {
            assert_int_equal(link_wait(&client, 1, NULL, 0, PATIENCE), 1);
            here -= take(client, 1 + rand_r(&seed) % 3, &ignored);
        }
    }
    link_close(client, 0);
    link_close(server, 0);
}

static void ignore(int signal)
{
    (void)signal;
}

static void a_signal_ends_waiting(void **state)
{
    (void)state;
    struct link *server = bound(ipc);
    struct sigaction action = {.sa_handler = ignore}, old;
    sigaction(SIGALRM, &action, &old);
    /* Repeated, so that one which comes before the wait does no harm. */
    struct itimerval timer = {.it_value.tv_usec = 20000, .it_interval.tv_usec = 20000}, off = {0};
    setitimer(ITIMER_REAL, &timer, NULL);
    assert_int_equal(link_wait(&server, 1, NULL, 0, -1), 0);
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &old, NULL);
    link_close(server, 0);
}

static int make_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    snprintf(ipc, sizeof ipc, "ipc://%s/socket", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    return file_remove_tree(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ipc_path_of_a_killed_server_is_free), /* forks: before any context */
        cmocka_unit_test(frames_go_both_ways_over_tcp),
        cmocka_unit_test(frames_go_both_ways_over_ipc),
        cmocka_unit_test(a_port_of_its_own_choice_is_reported),
        cmocka_unit_test(what_is_no_endpoint_is_refused),
        cmocka_unit_test(without_keys_tcp_binds_to_loopback_alone),
        cmocka_unit_test(without_keys_tcp_connects_to_loopback_alone),
        cmocka_unit_test(frames_go_both_ways_over_ipv6),
        cmocka_unit_test(an_ipc_path_has_the_length_of_a_socket_at_most),
        cmocka_unit_test(a_missing_folder_is_not_found),
        cmocka_unit_test(the_ipc_path_of_a_living_server_is_busy),
        cmocka_unit_test(a_file_at_the_ipc_path_is_left_alone),
        cmocka_unit_test(what_is_sent_before_the_server_appears_arrives),
        cmocka_unit_test(a_client_finds_the_server_again),
        cmocka_unit_test(a_peer_that_went_is_unreachable),
        cmocka_unit_test(a_peer_that_does_not_read_fills_its_queue_and_no_other),
        cmocka_unit_test(peers_stand_where_they_belong),
        cmocka_unit_test(a_shared_frame_is_released_once),
        cmocka_unit_test(an_unsent_shared_frame_is_released_by_close_and_a_refused_one_at_once),
        cmocka_unit_test(what_lingers_arrives),
        cmocka_unit_test(a_frame_above_the_maximum_ends_its_connection_alone),
        cmocka_unit_test(foreign_messages_are_dropped),
        cmocka_unit_test(a_frame_passes_a_relay_in_the_name_of_who_sent_it),
        cmocka_unit_test(paths_that_are_none_are_dropped),
        cmocka_unit_test(a_relay_drops_frames_for_nobody),
        cmocka_unit_test(waiting_looks_at_links_and_descriptors),
        cmocka_unit_test(no_frame_is_missed_whatever_was_done_before),
        cmocka_unit_test(a_signal_ends_waiting),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
