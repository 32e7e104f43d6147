// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Runs a program to which the kernel refuses perf_event_open(2), as a filter of system calls in a container does:
 * filtered ERROR PROGRAM [ARGUMENT...]. ERROR is EACCES, EPERM or ENOSYS.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    int error;
} errors[] = {{"EACCES", EACCES}, {"EPERM", EPERM}, {"ENOSYS", ENOSYS}};

static int refuse_perf(int error)
{
    struct sock_filter instructions[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof instructions / sizeof *instructions, .filter = instructions};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0;
}

int main(int argc, char **argv)
{
    size_t i = 0;
    if (argc < 3)
        return 2;
    while (i < sizeof errors / sizeof *errors && strcmp(argv[1], errors[i].name) != 0)
        i++;
    if (i == sizeof errors / sizeof *errors)
        return 2;
    if (refuse_perf(errors[i].error) != 0) {
        perror("seccomp");
        return 77;
    }
    execv(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
