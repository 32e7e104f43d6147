// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Links with keys: who is admitted, with which roles, and what those hear who are not. */
#include "base/clock.h"
#include "base/file.h"
#include "mdr/link/keyring.h"
#include "mdr/link/link.h"
#include "tests/lib/key_pair.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_FRAME = 4096 };

/* Each test: a folder that knows desk1 (observe) and boss (all roles), and the keys of all who take part. */
static char dir[32];
static struct link_keys server_keys, desk1, boss, stranger, mistaken;
static FILE *said; /* stderr, read back */
static int stderr_before;

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/bezel-link-keys-XXXXXX");
    assert_non_null(mkdtemp(dir));
    server_keys.own = key_pair_new(dir, "collector", KEY_CONTROL);
    desk1.own = key_pair_new(dir, "desk1", KEY_OBSERVE);
    boss.own = key_pair_new(dir, "boss", KEY_ALL_ROLES);
    assert_int_equal(link_key_new(&stranger.own), 0);
    mistaken.own = desk1.own;
    struct key_secret other;
    assert_int_equal(link_key_new(&other), 0);
    assert_int_equal(link_key_public(&server_keys.own, desk1.server), 0);
    assert_int_equal(link_key_public(&other, mistaken.server), 0);
    memcpy(boss.server, desk1.server, KEY_BYTES);
    memcpy(stranger.server, desk1.server, KEY_BYTES);
    assert_int_equal(keyring_open(dir, &server_keys.known), 0);
    said = tmpfile();
    fflush(stderr);
    stderr_before = dup(2);
    dup2(fileno(said), 2);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fflush(stderr);
    dup2(stderr_before, 2);
    close(stderr_before);
    char line[512];
    rewind(said);
    while (fgets(line, sizeof line, said))
        fputs(line, stderr);
    fclose(said);
    keyring_free(server_keys.known);
    return file_remove_tree(dir);
}

static bool was_said(const char *text)
{
    char all[65536];
    fflush(stderr);
    ssize_t n = pread(fileno(said), all, sizeof all - 1, 0);
    all[n > 0 ? n : 0] = '\0';
    return strstr(all, text) != NULL;
}

static struct link *bound(const struct link_keys *keys)
{
    struct link *link = NULL;
    assert_int_equal(link_bind("tcp://127.0.0.1:*", MAX_FRAME, keys, &link), 0);
    return link;
}

static struct link *connected(const struct link *to, const struct link_keys *keys)
{
    struct link *link = NULL;
    assert_int_equal(link_connect(link_endpoint(to), MAX_FRAME, 16, keys, &link), 0);
    return link;
}

static bool receive(struct link *link, struct link_frame *frame, int64_t patience)
{
    int64_t deadline = clock_now() + patience;
    int err;
    while ((err = link_receive(link, frame)) == BEZEL_EAGAIN && clock_now() < deadline)
        link_wait(&link, 1, NULL, 0, 20 * CLOCK_MS);
    return err == 0;
}

static void say(struct link *link, const char *text)
{
    assert_int_equal(link_send(link, NULL, text, strlen(text)), 0);
}

/* Waits until `text` is on stderr, and receives from `link` meanwhile: nothing may come. */
static void wait_for_word(struct link *link, struct link *server, const char *text)
{
    int64_t deadline = clock_now() + PATIENCE;
    struct link_frame frame;
    while (!was_said(text) && clock_now() < deadline) {
        assert_false(receive(link, &frame, 10 * CLOCK_MS));
        assert_false(receive(server, &frame, 10 * CLOCK_MS));
    }
    assert_true(was_said(text));
    assert_int_equal(link_receive(server, &frame), BEZEL_EAGAIN);
}

TEST_WITH(set_up, tear_down, a_known_key_is_admitted_with_its_roles)
{
    struct link *server = bound(&server_keys), *a = connected(server, &desk1), *b = connected(server, &boss);
    struct link_frame frame;
    say(a, "from desk1");
    assert_true(receive(server, &frame, PATIENCE));
    assert_int_equal(frame.roles, KEY_OBSERVE);
    assert_string_equal(frame.key, "desk1");
    assert_true(link_may(&frame, KEY_OBSERVE));
    assert_false(link_may(&frame, KEY_CONTROL));
    assert_true(was_said("a message from key desk1 was refused: it needs role control"));
    assert_int_equal(link_send(server, &frame.peer, "hello desk1", 11), 0);
    link_frame_free(&frame);
    assert_true(receive(a, &frame, PATIENCE));
    assert_int_equal(frame.roles, KEY_ALL_ROLES); /* whom we know by his key */
    link_frame_free(&frame);
    say(b, "from boss");
    assert_true(receive(server, &frame, PATIENCE));
    assert_int_equal(frame.roles, KEY_ALL_ROLES);
    assert_string_equal(frame.key, "boss");
    link_frame_free(&frame);
    link_close(a, 0);
    link_close(b, 0);
    link_close(server, 0);
}

TEST_WITH(set_up, tear_down, a_stranger_is_not_admitted_and_both_sides_say_so)
{
    struct link *server = bound(&server_keys), *link = connected(server, &stranger);
    say(link, "let me in");
    assert_null(link_trouble(link));
    wait_for_word(link, server, "does not admit our key");
    assert_non_null(strstr(link_trouble(link), "does not admit our key: put its public part"));
    assert_null(link_trouble(server));
    assert_true(was_said("BEZEL-KEY-UNKNOWN: a peer at 127.0.0.1"));
    link_close(link, 0);
    link_close(server, 0);
}

TEST_WITH(set_up, tear_down, a_wrong_key_of_the_server_is_found_out)
{
    struct link *server = bound(&server_keys), *link = connected(server, &mistaken);
    say(link, "is it you?");
    wait_for_word(link, server, "ends connections before the first message");
    assert_non_null(strstr(link_trouble(link), "that its public key is the one given here"));
    link_close(link, 0);
    link_close(server, 0);
}

/* A program that is no daemon of Bezel: its socket takes connections, and that is all. */
TEST_WITH(set_up, tear_down, somebody_who_listens_is_told_from_nobody)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    char endpoint[64];
    struct link *link;
    struct link_frame frame;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", ntohs(at.sin_port));
    assert_int_equal(link_connect(endpoint, MAX_FRAME, 16, &desk1, &link), 0);
    assert_false(receive(link, &frame, 300 * CLOCK_MS));
    assert_false(link_is_connected(link));
    assert_int_equal(listen(fd, 8), 0);
    for (int64_t deadline = clock_now() + PATIENCE; !link_is_connected(link) && clock_now() < deadline;)
        assert_false(receive(link, &frame, 10 * CLOCK_MS));
    assert_true(link_is_connected(link));
    link_close(link, 0);
    close(fd);
}

/* A server without a CPU is silent until the time for handshakes is over: that tells nothing of keys. */
TEST_WITH(set_up, tear_down, a_peer_that_is_silent_for_too_long_is_not_refused)
{
    char endpoint[64], bytes[256];
    struct link *link;
    struct link_frame frame;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), peer;
    assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
    assert_int_equal(listen(fd, 8), 0);
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", ntohs(at.sin_port));
    assert_int_equal(link_connect(endpoint, MAX_FRAME, 16, &desk1, &link), 0);
    assert_true((peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0);
    for (ssize_t n = 1; n != 0; n = recv(peer, bytes, sizeof bytes, 0))
        assert_false(receive(link, &frame, 10 * CLOCK_MS));
    for (int i = 0; i < 10; i++)
        assert_false(receive(link, &frame, 10 * CLOCK_MS));
    assert_null(link_trouble(link));
    link_close(link, 0);
    close(peer);
    close(fd);
}

TEST_WITH(set_up, tear_down, a_plain_peer_is_not_heard_where_keys_are)
{
    struct link *server = bound(&server_keys), *link = connected(server, NULL);
    say(link, "no key");
    wait_for_word(link, server, "ends connections before the first message");
    link_close(link, 0);
    link_close(server, 0);
}

TEST_WITH(set_up, tear_down, a_peer_with_keys_does_not_speak_plainly)
{
    struct link *server = bound(NULL), *link = connected(server, &desk1);
    say(link, "secret");
    wait_for_word(link, server, "ends connections before the first message");
    link_close(link, 0);
    link_close(server, 0);
}

TEST_WITH(set_up, tear_down, a_key_that_was_removed_is_not_admitted_again)
{
    struct link *server = bound(&server_keys), *link = connected(server, &desk1);
    struct link_frame frame;
    char path[PATH_MAX];
    say(link, "still known");
    assert_true(receive(server, &frame, PATIENCE));
    link_frame_free(&frame);
    link_close(link, 0);
    snprintf(path, sizeof path, "%s/desk1.pub", dir);
    assert_int_equal(unlink(path), 0);
    clock_sleep_until(clock_now() + KEYRING_LOOK); /* what is promised: within this time */
    link = connected(server, &desk1);
    say(link, "and now?");
    wait_for_word(link, server, "does not admit our key");
    link_close(link, 0);
    /* And one that is added is admitted, by a server that goes on. */
    struct link_keys late = desk1;
    late.own = key_pair_new(dir, "late", KEY_OBSERVE);
    clock_sleep_until(clock_now() + KEYRING_LOOK);
    link = connected(server, &late);
    say(link, "added");
    assert_true(receive(server, &frame, PATIENCE));
    assert_string_equal(frame.key, "late");
    link_frame_free(&frame);
    link_close(link, 0);
    link_close(server, 0);
}

/* What desk1 says until the server sees no role any more, on one connection. */
TEST_WITH(set_up, tear_down, a_key_that_was_removed_has_no_role_from_the_next_frame_on)
{
    struct link *server = bound(&server_keys), *link = connected(server, &desk1);
    struct link_frame frame;
    char path[PATH_MAX];
    int64_t deadline = clock_now() + PATIENCE;
    unsigned roles = KEY_OBSERVE;
    say(link, "known");
    assert_true(receive(server, &frame, PATIENCE));
    assert_true(link_speaks_for(server, &frame, "desk1"));
    assert_false(link_speaks_for(server, &frame, "desk2"));
    link_frame_free(&frame);
    snprintf(path, sizeof path, "%s/desk1.pub", dir);
    assert_int_equal(unlink(path), 0);
    while (roles && clock_now() < deadline) {
        clock_sleep_until(clock_now() + 20 * CLOCK_MS);
        say(link, "and now?");
        assert_true(receive(server, &frame, PATIENCE));
        assert_string_equal(frame.key, frame.roles ? "desk1" : "");
        assert_int_equal(link_speaks_for(server, &frame, "desk1"), frame.roles != 0);
        roles = frame.roles;
        link_frame_free(&frame);
    }
    assert_int_equal(roles, 0);
    link_close(link, 0);
    link_close(server, 0);
}

TEST_WITH(set_up, tear_down, two_links_of_a_process_know_different_keys)
{
    struct link_keys none = server_keys;
    none.known = NULL;
    struct link *nobody = bound(&none), *server = bound(&server_keys);
    struct link *refused = connected(nobody, &desk1), *link = connected(server, &desk1);
    struct link_frame frame;
    say(refused, "x");
    say(link, "y");
    assert_true(receive(server, &frame, PATIENCE));
    link_frame_free(&frame);
    wait_for_word(refused, nobody, "does not admit our key");
    link_close(nobody, 0); /* the other one is served on */
    struct link *again = connected(server, &boss);
    say(again, "z");
    assert_true(receive(server, &frame, PATIENCE));
    assert_string_equal(frame.key, "boss");
    link_frame_free(&frame);
    link_close(again, 0);
    link_close(refused, 0);
    link_close(link, 0);
    link_close(server, 0);
}

enum { LINGER_MS = 20000 };

/* A process of its own, since only the last link of a process waits until all is sent. */
static pid_t spawn_client(const char *endpoint)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    struct link *link = NULL;
    if (link_connect(endpoint, MAX_FRAME, 16, &desk1, &link) != 0 || link_send(link, NULL, "are you busy?", 13) != 0)
        _exit(1);
    link_close(link, LINGER_MS);
    _exit(0);
}

/* The server's owner does nothing at all until the client is gone: it was admitted, and what it said is there. */
TEST_WITH(set_up, tear_down, a_busy_owner_keeps_nobody_out)
{
    char endpoint[64];
    int status;
    struct link *server = NULL;
    struct link_frame frame;
    snprintf(endpoint, sizeof endpoint, "ipc://%s/busy", dir);
    pid_t client = spawn_client(endpoint);
    assert_int_equal(link_bind(endpoint, MAX_FRAME, &server_keys, &server), 0);
    assert_int_equal(waitpid(client, &status, 0), client);
    assert_int_equal(status, 0);
    assert_true(receive(server, &frame, PATIENCE));
    assert_string_equal(frame.key, "desk1");
    assert_int_equal(frame.size, 13);
    assert_memory_equal(frame.data, "are you busy?", 13);
    link_frame_free(&frame);
    link_close(server, 0);
}

TEST_WITH(set_up, tear_down, without_keys_nothing_leaves_this_machine)
{
    struct link *link = NULL;
    assert_int_equal(link_bind("tcp://0.0.0.0:*", MAX_FRAME, NULL, &link), BEZEL_EPERM);
    assert_true(was_said("bezel keygen"));
    assert_int_equal(link_connect("tcp://192.0.2.1:7766", MAX_FRAME, 1, NULL, &link), BEZEL_EPERM);
    assert_null(link);
    assert_int_equal(link_bind("tcp://0.0.0.0:*", MAX_FRAME, &server_keys, &link), 0);
    link_close(link, 0);
    assert_int_equal(link_connect("tcp://192.0.2.1:7766", MAX_FRAME, 1, &desk1, &link), 0);
    link_close(link, 0);
}

TEST_WITH(set_up, tear_down, commands_are_taken_in_private_or_with_keys)
{
    char control[64];
    snprintf(control, sizeof control, "ipc://%s/control", dir);
    assert_null(endpoint_check_control(control, false));
    assert_int_equal(chmod(dir, 0750), 0);
    assert_non_null(endpoint_check_control(control, true));
    assert_non_null(endpoint_check_control("tcp://127.0.0.1:7767", false));
    assert_null(endpoint_check_control("tcp://127.0.0.1:7767", true));
}

int main(void)
{
    if (!link_has_keys()) {
        puts("skipped: this libzmq was built without CURVE");
        return 77;
    }
    return test_run(NULL, NULL);
}
