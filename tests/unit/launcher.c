// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/launcher.h"
#include "base/clock.h"
#include "base/file.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char *in_folder(const char *name)
{
    static char paths[8][128];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch_dir, name);
    return path;
}

/* The next event, within the deadline. */
static struct launcher_event next(struct launcher *l)
{
    struct launcher_event event;
    struct pollfd fd = {.fd = l->fd, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, PATIENCE / CLOCK_MS), 1);
    assert_int_equal(launcher_receive(l, &event), 0);
    return event;
}

static bool is_gone(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

/* Waits until file `name` holds a line, and returns its number. */
static long number_in(const char *name)
{
    int64_t deadline = clock_now() + PATIENCE;
    for (; clock_now() < deadline; clock_sleep_until(clock_now() + 5 * CLOCK_MS)) {
        char *text;
        size_t n;
        if (file_read(in_folder(name), 4096, &text, &n) != 0)
            continue;
        bool whole = n > 0 && text[n - 1] == '\n';
        long number = strtol(text, NULL, 10);
        free(text);
        if (whole)
            return number;
    }
    fail_msg("%s did not appear", name);
    return 0;
}

#define TEXT(literal) ((char[]){literal})

/* Starts, two forks and a session away, a program that ignores SIGTERM and writes its pid into file $0. */
#define STUBBORN                                                                                                       \
    "(setsid sh -c 'trap \"\" TERM; echo $$ > \"$0.x\"; mv \"$0.x\" \"$0\"; while :; do sleep 1000; done' \"$0\" &); " \
    "exec sleep 1000"

/* A launcher that has started it: its pid is returned, the one of its first ancestor is in *child. */
static pid_t launch_stubborn(struct launcher *l, int64_t grace, pid_t *child)
{
    static int count;
    char file[16];
    snprintf(file, sizeof file, "stubborn%d", count++);
    char *const argv[] = {TEXT("sh"), TEXT("-c"), TEXT(STUBBORN), (char *)in_folder(file), NULL};
    struct launch launch = {.path = "/bin/sh", .argv = argv, .output = "/dev/null"};
    assert_int_equal(launcher_fork(&launch, 1, grace, l), 0);
    assert_int_equal(launcher_send(l, LAUNCHER_START), 0);
    struct launcher_event event = next(l);
    assert_int_equal(event.type, LAUNCHER_STARTED);
    *child = event.pid;
    pid_t hidden = (pid_t)number_in(file);
    assert_false(is_gone(hidden));
    return hidden;
}

static void ends_a_double_forked_child_that_ignores_sigterm(void **state)
{
    (void)state;
    struct launcher l;
    pid_t child, hidden = launch_stubborn(&l, 100 * CLOCK_MS, &child);
    assert_int_equal(launcher_send(&l, LAUNCHER_STOP), 0);
    struct launcher_event event = next(&l);
    assert_int_equal(event.type, LAUNCHER_EXITED);
    assert_int_equal(event.pid, child);
    assert_true(WIFSIGNALED(event.status));
    assert_int_equal(WTERMSIG(event.status), SIGTERM);
    assert_int_equal(next(&l).type, LAUNCHER_EMPTY);
    assert_true(is_gone(hidden));
    launcher_close(&l);
}

static void ends_everything_when_its_socket_ends(void **state)
{
    (void)state;
    struct launcher l;
    pid_t child, hidden = launch_stubborn(&l, 100 * CLOCK_MS, &child), launcher = l.pid;
    launcher_close(&l);
    assert_true(is_gone(child));
    assert_true(is_gone(hidden));
    assert_true(is_gone(launcher));
}

static void reports_an_exec_that_fails_and_starts_the_others(void **state)
{
    (void)state;
    char *const argv[] = {TEXT("x"), NULL}, *const sh[] = {TEXT("sh"), TEXT("-c"), TEXT("exit 7"), NULL};
    struct launch launches[] = {{.path = "/nonexistent/x", .argv = argv},
                                {.path = "/bin/sh", .argv = sh},
                                {.path = "/bin/sh", .argv = sh, .directory = "/nonexistent"},
                                {.path = "/bin/sh", .argv = sh, .output = "/nonexistent/output"}};
    static const char *const stages[] = {"exec", NULL, "directory", "output"};
    struct launcher l;
    assert_int_equal(launcher_fork(launches, 4, CLOCK_S, &l), 0);
    assert_int_equal(launcher_send(&l, LAUNCHER_START), 0);
    unsigned failed = 0;
    for (int i = 0; i < 5; i++) {
        struct launcher_event event = next(&l);
        if (event.type == LAUNCHER_FAILED) {
            failed |= 1u << event.process;
            assert_int_equal(event.error, ENOENT);
            assert_string_equal(event.stage, stages[event.process]);
        } else if (event.type == LAUNCHER_EXITED) {
            assert_int_equal(event.process, 1);
            assert_true(WIFEXITED(event.status));
            assert_int_equal(WEXITSTATUS(event.status), 7);
        } else
            assert_int_equal(event.type, LAUNCHER_STARTED);
    }
    assert_int_equal(failed, 0xd);
    launcher_close(&l);
}

static void gives_a_process_its_output_environment_and_default_signals(void **state)
{
    (void)state;
    char script[] = "read -r line || line=nothing; echo \"$BEZEL_PROCESS $PWD $line\"; echo error >&2; "
                    "grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -s '0\\n\\t' '0  '";
    char *const argv[] = {TEXT("sh"), TEXT("-c"), script, NULL}, *const environment[] = {TEXT("BEZEL_PROCESS=client.2"),
                                                                                         NULL};
    struct launch launch = {.path = "/bin/sh",
                            .argv = argv,
                            .environment = environment,
                            .directory = "/",
                            .output = in_folder("output.txt")};
    struct launcher l;
    void (*before)(int) = signal(SIGUSR1, SIG_IGN);
    assert_int_equal(launcher_fork(&launch, 1, CLOCK_S, &l), 0);
    signal(SIGUSR1, before);
    assert_int_equal(launcher_send(&l, LAUNCHER_START), 0);
    assert_int_equal(next(&l).type, LAUNCHER_STARTED);
    assert_int_equal(next(&l).type, LAUNCHER_EXITED);
    char *text;
    size_t n;
    assert_int_equal(file_read(in_folder("output.txt"), 4096, &text, &n), 0);
    assert_string_equal(text, "client.2 / nothing\nerror\nSigBlk: 0 SigIgn: 0 ");
    free(text);
    launcher_close(&l);
}

static void kills_at_once_on_command(void **state)
{
    (void)state;
    struct launcher l;
    pid_t child, hidden = launch_stubborn(&l, 1000 * CLOCK_S, &child);
    assert_int_equal(launcher_send(&l, LAUNCHER_STOP), 0); /* whose grace outlasts the test */
    assert_int_equal(launcher_send(&l, LAUNCHER_KILL), 0);
    assert_int_equal(next(&l).type, LAUNCHER_EXITED);
    assert_int_equal(next(&l).type, LAUNCHER_EMPTY);
    assert_true(is_gone(hidden));
    launcher_close(&l);
}

static void leaves_an_interrupted_process_the_time_to_end_by_itself(void **state)
{
    (void)state;
    char *const argv[] = {TEXT("sh"), TEXT("-c"),
                          TEXT("trap 'exit 9' TERM; while [ ! -e \"$0\" ]; do sleep 0.01; done"),
                          (char *)in_folder("go"), NULL};
    struct launch launch = {.path = "/bin/sh", .argv = argv, .foreground = true};
    struct launcher l;
    assert_int_equal(launcher_fork(&launch, 1, 1000 * CLOCK_S, &l), 0);
    assert_int_equal(launcher_send(&l, LAUNCHER_START), 0);
    assert_int_equal(next(&l).type, LAUNCHER_STARTED);
    assert_int_equal(launcher_send(&l, LAUNCHER_INTERRUPT), 0);
    assert_int_equal(file_replace(in_folder("go"), "", 0), 0);
    struct launcher_event event = next(&l);
    assert_int_equal(event.type, LAUNCHER_EXITED);
    assert_int_equal(event.status, 0);
    assert_int_equal(next(&l).type, LAUNCHER_EMPTY);
    launcher_close(&l);
}

static void its_own_death_is_seen(void **state)
{
    (void)state;
    struct launcher l;
    struct launcher_event event;
    assert_int_equal(launcher_fork(NULL, 0, CLOCK_S, &l), 0);
    assert_int_equal(launcher_receive(&l, &event), BEZEL_EAGAIN);
    kill(l.pid, SIGKILL);
    struct pollfd fd = {.fd = l.fd, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, PATIENCE / CLOCK_MS), 1);
    assert_int_equal(launcher_receive(&l, &event), BEZEL_EUNREACH);
    assert_int_equal(launcher_send(&l, LAUNCHER_STOP), BEZEL_EUNREACH);
    launcher_close(&l);
    launcher_close(&l);
}

/* A child of ours with a child of its own, which lets go of pipe `ends` when both are gone. */
static pid_t start_family(int ends[2])
{
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) {
        close(ends[1]);
        return pid;
    }
    (void)!fork();
    for (;;)
        pause();
}

/* Daemons of the run are children of the same process: they live on, and so do their own. */
static void who_is_spared_lives_on_with_its_children_when_the_rest_is_ended(void **state)
{
    (void)state;
    struct launcher l;
    int ends[2];
    pid_t child, hidden = launch_stubborn(&l, CLOCK_S, &child), spared = start_family(ends);
    kill(l.pid, SIGKILL);
    struct pollfd fd = {.fd = l.fd, .events = POLLIN}, family = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&fd, 1, PATIENCE / CLOCK_MS), 1);
    launcher_close(&l);
    assert_true(launcher_finish(&spared, 1));
    while (waitpid(hidden, NULL, 0) < 0 && errno == EINTR)
        continue;
    assert_true(is_gone(hidden));
    assert_int_equal(waitpid(spared, NULL, WNOHANG), 0);
    assert_int_equal(poll(&family, 1, 0), 0);
    assert_true(launcher_finish(NULL, 0));
    assert_int_equal(poll(&family, 1, PATIENCE / CLOCK_MS), 1); /* both are gone */
    assert_int_equal(waitpid(spared, NULL, 0), spared);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_a_double_forked_child_that_ignores_sigterm),
        cmocka_unit_test(ends_everything_when_its_socket_ends),
        cmocka_unit_test(reports_an_exec_that_fails_and_starts_the_others),
        cmocka_unit_test(gives_a_process_its_output_environment_and_default_signals),
        cmocka_unit_test(kills_at_once_on_command),
        cmocka_unit_test(leaves_an_interrupted_process_the_time_to_end_by_itself),
        cmocka_unit_test(its_own_death_is_seen),
        cmocka_unit_test(who_is_spared_lives_on_with_its_children_when_the_rest_is_ended),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
