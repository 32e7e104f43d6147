// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Programs that do not want to end, in random company, and the end of the launcher socket in every way that there is:
 * launcher and its owner commanded, stopped, continued and killed. No process is left. Prints its seed, takes it back
 * from BEZEL_SEED.
 */
#include "bezeld/launch/launcher.h"
#include "base/clock.h"
#include "mdr/message.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KINDS_MAX = 6 };

static uint64_t seed;

/* What is done to the owner of the socket, and to the launcher. */
enum deed {
    CLOSE_SOCKET,
    TELL_STOP,
    TELL_KILL,
    KILL_LAUNCHER,
    STOP_LAUNCHER_AND_CLOSE,
    TERMINATE_LAUNCHER,
    KILL_OWNER,
    STOP_LAUNCHER_AND_KILL_OWNER,
    STOP_OWNER_AND_KILL_LAUNCHER,
    DEEDS,
};

static const char *const names[DEEDS] = {"the socket is closed",
                                         "told to stop",
                                         "told to kill",
                                         "the launcher is killed",
                                         "the launcher is stopped, the socket closed",
                                         "the launcher gets SIGTERM",
                                         "the owner is killed",
                                         "the launcher is stopped, the owner killed",
                                         "the owner is stopped, the launcher killed"};

struct scene {
    char lock[SCRATCH_PATH + 16], variable[SCRATCH_PATH + 32], *argv[KINDS_MAX + 2];
    char *environment[2];
    struct launch launch;
    int64_t grace;
    enum deed deed;
    int tell; /* what the owner says: the launcher's pid, then how it went */
};

static void draw(struct scene *s, enum deed deed)
{
    static char kinds[][8] = {"hop", "daemon", "parent", "stopped", "deaf"}, bomb[] = "bomb";
    static unsigned round;
    *s = (struct scene){.deed = deed, .grace = (int64_t)(seed_next(&seed) % 50) * CLOCK_MS};
    snprintf(s->lock, sizeof s->lock, "%s/%u", scratch_dir, round++);
    snprintf(s->variable, sizeof s->variable, "BOMB=%s", s->lock);
    size_t n = 0, count = seed_next(&seed) % (KINDS_MAX + 1);
    s->argv[n++] = bomb;
    printf("%s:", names[deed]);
    while (n <= count) {
        s->argv[n] = kinds[seed_next(&seed) % (sizeof kinds / sizeof *kinds)];
        printf(" %s", s->argv[n++]);
    }
    printf("\n");
    s->environment[0] = s->variable;
    s->launch = (struct launch){.of = {"bomb", 1},
                                .path = BOMB,
                                .argv = s->argv,
                                .environment = s->environment,
                                .output = LAUNCH_OUTPUT_FILE,
                                .file = "/dev/null",
                                .limits = LAUNCH_NO_LIMITS};
}

static void nap(void)
{
    clock_sleep_until(clock_now() + 2 * CLOCK_MS);
}

static bool is_ready(const struct scene *s)
{
    char path[SCRATCH_PATH + 32];
    snprintf(path, sizeof path, "%s.ready", s->lock);
    return access(path, F_OK) == 0;
}

/* ---- The owner, a process of its own ----------------------------------------------------------------------------- */

/* Takes events up to the end of the tree, or of the launcher. Returns whether it was the tree's. */
static bool await_empty(struct launcher *l)
{
    static struct message m;
    int err = 0;
    bool empty = false;
    while (!empty && err != BEZEL_EUNREACH) {
        poll(&(struct pollfd){.fd = l->fd, .events = POLLIN}, 1, -1);
        err = launcher_receive(l, &m);
        empty = !err && m.launched.empty;
    }
    return err == 0;
}

static bool end_it(const struct scene *s, struct launcher *l)
{
    switch (s->deed) {
    case TELL_STOP:
    case TELL_KILL:
        return launcher_end(l, s->deed == TELL_STOP ? END_TERM : END_KILL) == 0 && await_empty(l) && launcher_close(l);
    case TERMINATE_LAUNCHER:
        kill(l->pid, SIGTERM);
        return await_empty(l) && launcher_close(l);
    case KILL_LAUNCHER:
        kill(l->pid, SIGKILL);
        return !await_empty(l) && launcher_close(l) && launcher_finish(NULL, 0);
    case STOP_OWNER_AND_KILL_LAUNCHER:
        return !await_empty(l) && launcher_close(l) && launcher_finish(NULL, 0);
    case STOP_LAUNCHER_AND_CLOSE:
        kill(l->pid, SIGSTOP);
        return launcher_close(l);
    case CLOSE_SOCKET:
        return launcher_close(l);
    default: /* to be killed */
        for (;;)
            pause();
    }
}

static _Noreturn void own(const struct scene *s)
{
    struct launcher l;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (launcher_fork(s->grace, &l) != 0 || launcher_start(&l, &s->launch) != 0)
        _exit(1);
    while (!is_ready(s))
        nap();
    pid_t pid = l.pid;
    if (write(s->tell, &pid, sizeof pid) != sizeof pid)
        _exit(1);
    _exit(end_it(s, &l) ? 0 : 2);
}

/* ---- The test ---------------------------------------------------------------------------------------------------- */

/* Whether nobody of the company lives. */
static bool is_over(const struct scene *s)
{
    int fd = open(s->lock, O_RDWR | O_CLOEXEC);
    bool over = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0)
        close(fd);
    return over;
}

static void await_over(const struct scene *s)
{
    int64_t deadline = clock_now() + PATIENCE;
    while (!is_over(s)) {
        if (clock_now() > deadline)
            fail_msg("somebody is left, who holds %s", s->lock);
        nap();
    }
}

static pid_t start_owner(struct scene *s, pid_t *launcher)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    s->tell = ends[1];
    fflush(NULL);
    pid_t owner = fork();
    assert_true(owner >= 0);
    if (owner == 0)
        own(s);
    close(ends[1]);
    assert_int_equal(read(ends[0], launcher, sizeof *launcher), sizeof *launcher);
    close(ends[0]);
    return owner;
}

static void play(enum deed deed)
{
    struct scene s;
    pid_t launcher;
    int status;
    draw(&s, deed);
    pid_t owner = start_owner(&s, &launcher);
    if (deed == STOP_OWNER_AND_KILL_LAUNCHER) {
        kill(owner, SIGSTOP);
        kill(launcher, SIGKILL);
        nap();
        kill(owner, SIGCONT);
    }
    if (deed == STOP_LAUNCHER_AND_KILL_OWNER)
        kill(launcher, SIGSTOP);
    bool killed = deed == STOP_LAUNCHER_AND_KILL_OWNER || deed == KILL_OWNER;
    if (killed)
        kill(owner, SIGKILL);
    assert_int_equal(waitpid(owner, &status, 0), owner);
    if (killed)
        assert_true(WIFSIGNALED(status));
    else
        assert_int_equal(status, 0);
    await_over(&s);
}

TEST(nobody_is_left_however_the_socket_ends)
{
    for (int round = getenv("BEZEL_TEST_LIGHT") ? 1 : 2; round > 0; round--)
        for (int deed = 0; deed < DEEDS; deed++)
            play((enum deed)deed);
}

/* The limit of what can be done: nobody is there any more that could end more than these. */
TEST(what_was_launched_itself_ends_even_when_both_are_killed)
{
    struct scene s;
    pid_t launcher;
    draw(&s, KILL_OWNER);
    s.argv[1] = NULL; /* without company */
    pid_t owner = start_owner(&s, &launcher);
    kill(launcher, SIGSTOP); /* so that it cannot do it */
    kill(owner, SIGSTOP);
    kill(launcher, SIGKILL);
    kill(owner, SIGKILL);
    assert_int_equal(waitpid(owner, NULL, 0), owner);
    await_over(&s);
}

int main(void)
{
    seed = seed_start();
    return test_run(scratch_begin, scratch_end);
}
