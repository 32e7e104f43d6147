// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Who reaches a socket of Bezel's: its user and root alone, whatever the umask, its mode and the modes of its folder.
 */
#include "base/clock.h"
#include "base/folder.h"
#include "bezeld/launch/unix_socket.h"
#include "mdr/link/endpoint.h"
#include "mdr/link/link.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ALIEN = 1904244 /* nobody */, NAMED = 64 };

static const mode_t masks[] = {0, 02, 022, 077, 0177, 0777};

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", scratch_dir, name);
    return path;
}

static mode_t mode_of(const char *name)
{
    struct stat st;
    assert_int_equal(lstat(in_folder(name), &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    return st.st_mode & 07777;
}

static void listen_at(const char *name, int *fd)
{
    struct folder f;
    assert_int_equal(folder_make_private(scratch_dir, &f), 0);
    assert_int_equal(unix_socket_listen(f.fd, name, fd), 0);
    folder_close(&f);
}

static struct link *bind_at(const char *name)
{
    char endpoint[NAMED + 128];
    struct link *link = NULL;
    snprintf(endpoint, sizeof endpoint, "ipc://%s", in_folder(name));
    assert_int_equal(link_bind(endpoint, 4096, NULL, &link), 0);
    return link;
}

TEST(the_mode_of_a_socket_does_not_depend_on_the_umask)
{
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        int fd;
        mode_t before = umask(masks[i]);
        listen_at("launcher", &fd);
        struct link *link = masks[i] == 0777 ? NULL : bind_at("link"); /* ZeroMQ's files would be nobody's */
        assert_int_equal(umask(before), masks[i]);
        assert_int_equal(mode_of("launcher"), 0600);
        close(fd);
        if (!link)
            continue;
        assert_int_equal(mode_of("link"), 0600);
        link_close(link, 0);
    }
}

/* Connects as `user`, and waits for the first byte or the end of the connection. Exits with 0: a byte; 1: the end. */
static _Noreturn void visit(const char *path, int type, uid_t user)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char byte = 0;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (setuid(user) != 0)
        _exit(2);
    int fd = socket(AF_UNIX, type, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
        _exit(3);
    if (poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, (int)(PATIENCE / CLOCK_MS)) != 1)
        _exit(4);
    _exit(recv(fd, &byte, 1, 0) <= 0);
}

static pid_t send_visitor(const char *name, int type, uid_t user)
{
    assert_int_equal(chmod(scratch_dir, 0777), 0);
    assert_int_equal(chmod(in_folder(name), 0777), 0);
    pid_t pid = fork();
    if (pid == 0)
        visit(in_folder(name), type, user);
    assert_true(pid > 0);
    return pid;
}

static int end_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(chmod(scratch_dir, 0700), 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A socket that others reach by its mode: a mistake of the operator, or a folder whose rights were changed later. */
TEST(a_connection_of_another_user_is_closed_though_its_mode_lets_it_in)
{
    if (geteuid() != 0) {
        print_message("skipped: only root can be two users\n");
        skip();
    }
    for (int alien = 0; alien < 2; alien++) {
        int fd;
        listen_at("launcher", &fd);
        pid_t visitor = send_visitor("launcher", SOCK_SEQPACKET, alien ? ALIEN : 0);
        assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, (int)(PATIENCE / CLOCK_MS)), 1);
        int connection = unix_socket_accept(fd);
        assert_int_equal(connection >= 0, !alien);
        if (connection >= 0) {
            assert_int_equal(send(connection, "x", 1, MSG_NOSIGNAL), 1);
            assert_int_equal(close(connection), 0);
        }
        assert_int_equal(end_of(visitor), alien);
        close(fd);

        struct link *link = bind_at("link");
        assert_int_equal(end_of(send_visitor("link", SOCK_STREAM, alien ? ALIEN : 0)), alien); /* ZeroMQ greets first */
        link_close(link, 0);
    }
}

TEST(a_folder_that_others_may_enter_is_refused_for_sockets)
{
    static const struct {
        mode_t mode;
        int err;
    } rows[] = {{0700, 0},           {0500, 0},           {0701, BEZEL_EPERM}, {0711, BEZEL_EPERM},
                {0755, BEZEL_EPERM}, {0750, BEZEL_EPERM}, {0770, BEZEL_EPERM}, {02750, BEZEL_EPERM},
                {0777, BEZEL_EPERM}};
    char path[128], control[NAMED + 128];
    snprintf(path, sizeof path, "%s", in_folder("folder"));
    snprintf(control, sizeof control, "ipc://%s/control", path);
    assert_int_equal(mkdir(path, 0700), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct folder f;
        assert_int_equal(chmod(path, rows[i].mode), 0);
        assert_int_equal(folder_make_private(path, &f), rows[i].err);
        assert_int_equal(f.why[0] != '\0', rows[i].err != 0);
        assert_int_equal(f.fd >= 0, rows[i].err == 0);
        assert_int_equal(endpoint_check_control(control, false) != NULL, rows[i].err != 0);
        folder_close(&f);
    }
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    return test_run(scratch_begin, scratch_end);
}
