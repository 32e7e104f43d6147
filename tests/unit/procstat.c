// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/procstat.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void a_process_is_known_whatever_its_name(void **unused)
{
    (void)unused;
    struct procstat mine, self;
    assert_int_equal(prctl(PR_SET_NAME, ") Z 1 (2)"), 0);
    assert_true(procstat_read(0, &self));
    assert_true(procstat_read(getpid(), &mine));
    assert_int_equal(self.parent, getppid());
    assert_false(self.ended);
    assert_int_equal(mine.start_time, self.start_time);
}

/* Field 22 as another program counts it. */
static void the_start_time_is_field_22(void **unused)
{
    (void)unused;
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

static void a_zombie_has_ended_and_a_reaped_one_is_gone(void **unused)
{
    (void)unused;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_is_known_whatever_its_name),
        cmocka_unit_test(the_start_time_is_field_22),
        cmocka_unit_test(a_zombie_has_ended_and_a_reaped_one_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
