// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/procstat.h"
#include "base/clock.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(a_process_is_known_whatever_its_name)
{
    struct procstat mine, self;
    assert_int_equal(prctl(PR_SET_NAME, ") Z 1 (2)"), 0);
    assert_true(procstat_read(0, &self));
    assert_true(procstat_read(getpid(), &mine));
    assert_string_equal(self.name, ") Z 1 (2)");
    assert_int_equal(self.parent, getppid());
    assert_false(self.ended);
    assert_int_equal(mine.start_time, self.start_time);
}

/* Field 22 as another program counts it. */
TEST(the_start_time_is_field_22)
{
    char command[128];
    unsigned long long start = 0;
    struct procstat p;
    assert_int_equal(prctl(PR_SET_NAME, "plain"), 0);
    snprintf(command, sizeof command, "cut -d ' ' -f 22 /proc/%d/stat", (int)getpid());
    FILE *out = popen(command, "r");
    assert_non_null(out);
    assert_int_equal(fscanf(out, "%llu", &start), 1);
    pclose(out);
    assert_true(procstat_read(getpid(), &p));
    assert_int_equal(p.start_time, start);
}

TEST(a_zombie_has_ended_and_a_reaped_one_is_gone)
{
    struct procstat p;
    siginfo_t info;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    assert_true(procstat_read(pid, &p));
    assert_true(p.ended);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(procstat_read(pid, &p));
}

/* Two that compute on one CPU wait for each other. */
TEST(it_is_known_how_long_a_process_has_waited_for_a_cpu)
{
    pid_t pids[2];
    int64_t deadline = clock_now() + PATIENCE;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    if (access("/proc/self/schedstat", R_OK) != 0)
        skip();
    for (int i = 0; i < 2; i++)
        if ((pids[i] = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)!sched_setaffinity(0, sizeof one, &one);
            for (;;)
                ;
        }
    while (procstat_queued(pids[0]) < 50 * CLOCK_MS || procstat_queued(pids[1]) < 50 * CLOCK_MS)
        assert_true(clock_now() < deadline);
    for (int i = 0; i < 2; i++) {
        kill(pids[i], SIGKILL);
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
    }
    assert_int_equal(procstat_queued(pids[0]), 0);
}

static void *go_on(void *fd)
{
    char byte;
    (void)!read(*(int *)fd, &byte, 1);
    _exit(0);
}

TEST(a_process_whose_first_thread_has_ended_has_not)
{
    struct procstat p;
    static int ends[2];
    pthread_t other;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[1]);
        if (pthread_create(&other, NULL, go_on, &ends[0]) != 0)
            _exit(1);
        pthread_exit(NULL);
    }
    close(ends[0]);
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    for (int i = 0; i < 10000 && state != 'Z'; i++) { /* until its first thread has gone: ten seconds at most */
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        assert_int_equal(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
        fclose(f);
        usleep(1000);
    }
    assert_int_equal(state, 'Z');
    assert_true(procstat_read(pid, &p));
    assert_false(p.ended);
    close(ends[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(who_is_stopped_is_known)
{
    struct procstat p;
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    assert_true(procstat_read(pid, &p));
    assert_false(p.stopped);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(procstat_read(pid, &p));
    assert_true(p.stopped);
    assert_int_equal(kill(pid, SIGCONT), 0);
    assert_int_equal(waitpid(pid, &status, WCONTINUED), pid);
    assert_true(procstat_read(pid, &p));
    assert_false(p.stopped);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

TEST(our_pid_namespace_is_known)
{
    struct stat st;
    assert_int_equal(stat("/proc/self/ns/pid", &st), 0);
    assert_int_equal(procstat_namespace(), st.st_ino);
}

static void expect_program(const char *link_to, const char *program)
{
    char link[SCRATCH_PATH + 16], path[PATH_MAX];
    snprintf(link, sizeof link, "%s/exe", scratch_dir);
    unlink(link);
    assert_int_equal(symlink(link_to, link), 0);
    procstat_program(link, path, sizeof path);
    assert_string_equal(path, program);
}

/* A file may really be called so. */
TEST_WITH(scratch_begin, scratch_end, a_program_whose_file_was_replaced_keeps_its_name)
{
    char really[SCRATCH_PATH + 32], path[8];
    snprintf(really, sizeof really, "%s/server (deleted)", scratch_dir);
    expect_program("/usr/bin/none/server (deleted)", "/usr/bin/none/server");
    expect_program("/usr/bin/none/server (deleted) (deleted)", "/usr/bin/none/server (deleted)");
    expect_program("/usr/bin/none/server", "/usr/bin/none/server");
    expect_program(" (deleted)", " (deleted)");
    fclose(fopen(really, "w"));
    expect_program(really, really);
    unlink(really);
    procstat_program("/proc/self/exe", path, sizeof path);
    assert_int_equal(strlen(path), sizeof path - 1);
    procstat_program("/proc/none", path, sizeof path);
    assert_string_equal(path, "");
}
