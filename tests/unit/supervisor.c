// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/supervisor.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int manager; /* the socket of the service manager */

/* Takes the next report; "" if there is none. */
static const char *reported(void)
{
    static char text[64];
    ssize_t n = recv(manager, text, sizeof text - 1, MSG_DONTWAIT);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* Makes an abstract socket, and names it in the environment, with a watchdog of `usec`, for process `pid`. */
static void ask(const char *usec, pid_t pid)
{
    char name[64], number[16];
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(name, sizeof name, "@bezel-supervisor-%d", (int)getpid());
    snprintf(number, sizeof number, "%d", (int)pid);
    size_t length = strlen(name);
    memcpy(to.sun_path + 1, name + 1, length - 1);
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(
        bind(manager, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)), 0);
    setenv("NOTIFY_SOCKET", name, 1);
    setenv("WATCHDOG_USEC", usec, 1);
    setenv("WATCHDOG_PID", number, 1);
}

/* Each case has a process of its own, since a daemon is asked once. */
static void in_a_process(void (*test)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        test();
        close(manager);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void watched(void)
{
    ask("3000000", getpid());
    supervisor_take();
    assert_null(getenv("NOTIFY_SOCKET"));
    assert_null(getenv("WATCHDOG_USEC"));
    assert_int_equal(supervisor_alive(INT64_MAX), INT64_MAX); /* it does not serve yet */
    assert_string_equal(reported(), "");
    supervisor_ready();
    supervisor_ready();
    assert_string_equal(reported(), "READY=1");
    assert_string_equal(reported(), "");
    int64_t now = supervisor_alive(0), then = supervisor_alive(now);
    assert_string_equal(reported(), "WATCHDOG=1");
    assert_int_equal(then, now + 1000000000); /* a third of what was asked for */
    assert_int_equal(supervisor_alive(then - 1), then);
    assert_string_equal(reported(), "");
    assert_int_equal(supervisor_alive(then), then + 1000000000);
    assert_string_equal(reported(), "WATCHDOG=1");
}

static void others_watchdog(void)
{
    ask("3000000", getppid());
    supervisor_take();
    supervisor_ready();
    assert_string_equal(reported(), "READY=1");
    assert_int_equal(supervisor_alive(0), INT64_MAX);
}

static void nobody(void)
{
    manager = -1;
    unsetenv("NOTIFY_SOCKET");
    setenv("WATCHDOG_USEC", "3000000", 1);
    supervisor_take();
    supervisor_ready();
    assert_int_equal(supervisor_alive(0), INT64_MAX);
}

TEST(a_watched_daemon_reports_in_time)
{
    in_a_process(watched);
}

TEST(a_watchdog_of_another_process_is_not_ours)
{
    in_a_process(others_watchdog);
}

TEST(where_nobody_asks_nothing_is_reported)
{
    in_a_process(nobody);
}
