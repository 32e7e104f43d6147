// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/doctor.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "ecs/cli/commands.h"
#include "sensor/shm/cpu_counter.h"
#include "sensor/shm/segment.h"
#include "tests/lib/namespaces.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/bezel-doctor-XXXXXX";
static char bezel_dir[PATH_MAX / 2];

/*
 * Runs `bezel doctor [option]` in a process of its own; returns its exit code, with what it wrote to stdout in *text.
 */
static int policy = SCHED_OTHER; /* by which that process is scheduled */
static const char *schedstat;    /* what the kernel says of its times; NULL: the truth */
static bool no_proc;             /* it is not mounted */

enum { NOT_PERMITTED = 125 };

static bool mount_proc(void)
{
    if (no_proc)
        return namespaces_enter() && mount("none", "/proc", "tmpfs", 0, NULL) == 0;
    return !schedstat || (namespaces_enter() && mount(schedstat, "/proc/self/schedstat", NULL, MS_BIND, NULL) == 0);
}

static int doctor(char *option, char **text)
{
    char path[PATH_MAX];
    size_t n;
    snprintf(path, sizeof path, "%s/stdout", folder);
    fflush(stdout);
    pid_t child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0) {
        char *argv[] = {(char *)"doctor", option, NULL};
        const struct sched_param priority = {.sched_priority = policy != SCHED_OTHER};
        if (!freopen(path, "w", stdout) || sched_setscheduler(0, policy, &priority) != 0)
            _exit(127);
        if (!mount_proc())
            _exit(NOT_PERMITTED);
        int code = cmd_doctor(option ? 2 : 1, argv);
        if (sched_getscheduler(0) != policy) /* tried, and not put back */
            code = 126;
        fflush(stdout);
        _exit(code);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(file_read(path, 1 << 20, text, &n), 0);
    return WEXITSTATUS(status);
}

static void expect(int code, const char *finding)
{
    char *text;
    assert_int_equal(doctor(NULL, &text), code);
    if (!strstr(text, finding))
        fail_msg("no '%s' in:\n%s", finding, text);
    free(text);
}

static char path_before[PATH_MAX];

static int reset_environment(void **state)
{
    (void)state;
    return setenv("PATH", path_before, 1) | setenv("BEZEL_DIR", bezel_dir, 1) | unsetenv("BEZEL_CLOCK");
}

TEST_WITH(reset_environment, NULL, a_folder_that_can_be_made_is_in_order_and_is_not_made)
{
    expect(EXIT_OK, "does not exist yet and can be made");
    assert_int_not_equal(access(bezel_dir, F_OK), 0);
}

TEST_WITH(reset_environment, NULL, a_folder_of_mine_alone_is_in_order)
{
    assert_int_equal(mkdir(bezel_dir, 0700), 0);
    expect(EXIT_OK, ", yours alone");
    assert_int_equal(rmdir(bezel_dir), 0); /* and still empty */
}

TEST_WITH(reset_environment, NULL, a_folder_shared_with_a_group_is_in_order)
{
    char told[64];
    snprintf(told, sizeof told, ", yours and group %u's", (unsigned)getegid());
    assert_int_equal(mkdir(bezel_dir, 0700), 0);
    assert_int_equal(chown(bezel_dir, (uid_t)-1, getegid()), 0);
    assert_int_equal(chmod(bezel_dir, 02770), 0);
    expect(EXIT_OK, told);
    assert_int_equal(rmdir(bezel_dir), 0);
}

TEST_WITH(reset_environment, NULL, a_folder_that_others_may_enter_is_a_problem_with_a_remedy)
{
    char remedy[PATH_MAX];
    snprintf(remedy, sizeof remedy, "remedy: chmod 700 %s\n", bezel_dir);
    assert_int_equal(mkdir(bezel_dir, 0700), 0);
    assert_int_equal(chmod(bezel_dir, 0755), 0);
    expect(EXIT_FAILED, remedy);
    assert_int_equal(rmdir(bezel_dir), 0);
}

TEST_WITH(reset_environment, NULL, a_file_in_its_place_is_a_problem)
{
    assert_int_equal(file_replace(bezel_dir, "", 0), 0);
    expect(EXIT_FAILED, "is not a directory");
    assert_int_equal(unlink(bezel_dir), 0);
}

TEST_WITH(reset_environment, NULL, a_folder_that_cannot_be_made_is_a_problem)
{
    char below[PATH_MAX];
    snprintf(below, sizeof below, "%s/stdout/bezel", folder); /* a file by then */
    assert_int_equal(setenv("BEZEL_DIR", below, 1), 0);
    expect(EXIT_FAILED, "cannot be made");
}

/* As a living process does: byte SEGMENT_LOCK_PROCESS is locked through a descriptor of its own. */
static int lock_segment(const char *path, off_t at)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
    return fd;
}

TEST_WITH(reset_environment, NULL, segments_of_the_dead_are_counted_and_left_alone)
{
    char dead[PATH_MAX], alive[PATH_MAX], read[PATH_MAX], remedy[2 * PATH_MAX];
    snprintf(dead, sizeof dead, "%s/1.seg", bezel_dir);
    snprintf(alive, sizeof alive, "%s/2.seg", bezel_dir);
    snprintf(read, sizeof read, "%s/3.seg", bezel_dir);
    assert_int_equal(mkdir(bezel_dir, 0700), 0);
    const char *paths[] = {dead, alive, read};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(file_replace(paths[i], "segment", 7), 0);
    int living = lock_segment(alive, SEGMENT_LOCK_PROCESS), reading = lock_segment(read, SEGMENT_LOCK_READER);
    snprintf(remedy, sizeof remedy, "remedy: rm %s\n", dead);
    expect(EXIT_OK, "1 of 3 were left behind by dead processes");
    expect(EXIT_OK, remedy);
    close(living);
    close(reading);
    expect(EXIT_OK, "3 of 3 were left behind");
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(unlink(paths[i]), 0);
    assert_int_equal(rmdir(bezel_dir), 0);
}

TEST_WITH(reset_environment, NULL, a_missing_babeltrace2_is_a_warning_with_the_package)
{
    assert_int_equal(setenv("PATH", "/nowhere::", 1), 0);
    expect(EXIT_OK, "remedy: sudo apt-get install babeltrace2\n");
}

TEST_WITH(reset_environment, NULL, the_clock_of_records_is_shown_with_the_reason)
{
    const char *why;
    char refused[256];
    enum cpu_counter_trust trust = cpu_counter_trust(&why);
    if (trust == CPU_COUNTER_PROVABLE) {
        expect(EXIT_OK, "stamps: "); /* as the proof comes out */
    } else if (trust == CPU_COUNTER_TRUSTED) {
        expect(EXIT_OK, "stamps: the processor's counter");
        assert_int_equal(setenv("BEZEL_CLOCK", "monotonic", 1), 0);
        expect(EXIT_OK, "stamps: CLOCK_MONOTONIC, because BEZEL_CLOCK is set to it");
        assert_int_equal(setenv("BEZEL_CLOCK", "counter", 1), 0);
        expect(EXIT_OK, "stamps: the processor's counter");
    } else {
        snprintf(refused, sizeof refused, "stamps: CLOCK_MONOTONIC: %s", why);
        expect(EXIT_OK, refused);
    }
}

TEST_WITH(reset_environment, NULL, a_kernel_that_keeps_no_times_of_threads_is_a_warning_with_the_remedy)
{
    long long slices = 0;
    FILE *in = fopen("/proc/self/schedstat", "re");
    bool keeps = in && fscanf(in, "%*d %*d %lld", &slices) == 1 && slices > 0;
    if (in)
        fclose(in);
    expect(EXIT_OK, keeps ? "ok       scheduling: the kernel keeps" : "warning  scheduling: the kernel does not keep");
    char zeros[PATH_MAX];
    snprintf(zeros, sizeof zeros, "%s/zeros", folder);
    assert_int_equal(file_replace(zeros, "0 0 0\n", 6), 0);
    schedstat = zeros;
    char *text;
    int code = doctor(NULL, &text);
    free(text);
    if (code != NOT_PERMITTED)
        expect(EXIT_OK, "remedy: boot with delayacct");
    schedstat = NULL;
    assert_int_equal(unlink(zeros), 0);
}

TEST_WITH(reset_environment, NULL, a_missing_proc_is_named)
{
    char *text;
    no_proc = true;
    int code = doctor(NULL, &text);
    free(text);
    if (code != NOT_PERMITTED)
        expect(EXIT_OK, "warning  processes: there is no /proc of this pid namespace");
    no_proc = false;
}

TEST_WITH(reset_environment, NULL, json_holds_every_area_and_a_remedy_wherever_one_is_due)
{
    if (system("command -v jq >/dev/null") != 0) {
        puts("jq is not installed");
        skip();
    }
    char *text, command[PATH_MAX];
    assert_int_equal(doctor((char *)"--json", &text), EXIT_OK);
    free(text);
    snprintf(
        command, sizeof command,
        "jq -e '.format == 2 and .problems == 0 and"
        " ([.checks[].area] | unique) == [\"clock\", \"keys\", \"privileges\", \"samplers\","
        " \"shared memory\", \"tools\"] and"
        " (.checks | all((.level == \"ok\") == (.remedy == null) and (.text | length) > 0))' '%s/stdout' >/dev/null",
        folder);
    assert_int_equal(system(command), 0);
}

/* What is said of the logout of user 1000 where the system's files are below `root`; NULL: nothing. */
static const char *of_logout(const char *root, const char *dir, unsigned uid)
{
    static char said[256];
    struct doctor d = {0};
    doctor_logout(&d, root, dir, "ada", uid);
    if (d.count > 0)
        snprintf(said, sizeof said, "%d %s", (int)d.list[0].level, d.list[0].remedy ? d.list[0].remedy : "");
    size_t count = d.count;
    doctor_free(&d);
    return count ? said : NULL;
}

static void write_below(const char *root, const char *dir, const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", root, dir);
    assert_int_equal(file_make_dirs(path, 0755), 0);
    snprintf(path, sizeof path, "%s/%s/%s", root, dir, name);
    assert_int_equal(file_replace(path, text, strlen(text)), 0);
}

TEST_WITH(reset_environment, NULL, a_logout_that_removes_shared_memory_is_a_warning)
{
    static const char dir[] = "/dev/shm/bezel-1000", warning[] = "1 sudo loginctl enable-linger ada";
    char root[PATH_MAX / 2];
    snprintf(root, sizeof root, "%s/root", folder);
    assert_null(of_logout(root, dir, 1000)); /* no logind */
    write_below(root, "run/systemd/users", "1000", "");
    assert_string_equal(of_logout(root, dir, 1000), warning);
    assert_null(of_logout(root, "/tmp/bezel", 1000));
    assert_null(of_logout(root, dir, 999));
    write_below(root, "etc/systemd", "logind.conf", "[Login]\n#RemoveIPC=no\n RemoveIPC=yes\n");
    assert_string_equal(of_logout(root, dir, 1000), warning);
    write_below(root, "etc/systemd/logind.conf.d", "a.conf", "[Login]\nRemoveIPC= no\n");
    assert_null(of_logout(root, dir, 1000));
    write_below(root, "etc/systemd/logind.conf.d", "b.conf", "[Login]\nRemoveIPC=1\n");
    assert_string_equal(of_logout(root, dir, 1000), warning);
    write_below(root, "var/lib/systemd/linger", "ada", "");
    assert_string_equal(of_logout(root, dir, 1000), "0 ");
}

TEST_WITH(reset_environment, NULL, real_time_that_is_in_use_is_permitted)
{
    const struct sched_param priority = {.sched_priority = 1}, none = {.sched_priority = 0};
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0) {
        print_message("skipped: real-time scheduling is not permitted\n");
        skip();
    }
    assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
    for (policy = SCHED_FIFO; policy <= SCHED_RR; policy++)
        expect(EXIT_OK, "real-time scheduling: in use already");
    policy = SCHED_OTHER;
}

TEST_WITH(reset_environment, NULL, misuse_is_exit_code_2)
{
    char *text;
    assert_int_equal(doctor((char *)"--heal", &text), EXIT_USAGE);
    assert_string_equal(text, "");
    free(text);
    assert_int_equal(doctor((char *)"me", &text), EXIT_USAGE);
    free(text);
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(path_before, sizeof path_before, "%s", getenv("PATH"));
    if (!mkdtemp(folder))
        return -1;
    snprintf(bezel_dir, sizeof bezel_dir, "%s/dir", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return file_remove_tree(folder);
}

int main(void)
{
    return test_run(make_folder, remove_folder);
}
