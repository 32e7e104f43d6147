// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* A program that says how it was started, a line for each thing that it inherited: started. */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static void say_signals(void)
{
    sigset_t mask;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    for (int s = 1; s < NSIG; s++) {
        struct sigaction action;
        if (sigismember(&mask, s) == 1)
            printf("blocked %d\n", s);
        if (sigaction(s, NULL, &action) == 0 && action.sa_handler != SIG_DFL)
            printf("not default %d\n", s);
    }
}

/* What is open beside the standard streams. */
static void say_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[64], to[256];
        snprintf(path, sizeof path, "/proc/self/fd/%.16s", e->d_name);
        ssize_t n = readlink(path, to, sizeof to - 1);
        if (n <= 0 || atoi(e->d_name) < 3 || atoi(e->d_name) == dirfd(d))
            continue;
        to[n] = '\0';
        printf("open %s: %s\n", e->d_name, to);
    }
    closedir(d);
}

static void say_limits(void)
{
    for (int r = 0; r < RLIM_NLIMITS; r++) {
        struct rlimit l;
        if (getrlimit((__rlimit_resource_t)r, &l) == 0)
            printf("limit %d: %llu %llu\n", r, (unsigned long long)l.rlim_cur, (unsigned long long)l.rlim_max);
    }
}

static void say_scheduling(void)
{
    cpu_set_t cpus;
    struct sched_param p;
    sched_getparam(0, &p);
    printf("policy %d priority %d nice %d\n", sched_getscheduler(0), p.sched_priority, getpriority(PRIO_PROCESS, 0));
    sched_getaffinity(0, sizeof cpus, &cpus);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &cpus))
            printf("CPU %d\n", i);
    printf("timer slack %d\n", prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0));
}

/* The lines of a file: all of them, or those that open with one of `names`, each with a blank behind it. */
static void say_file(const char *path, const char *names)
{
    char line[256], name[64];
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        snprintf(name, sizeof name, "%.*s ", (int)strcspn(line, ":"), line);
        if (!names || strstr(names, name))
            printf("%s %s", path, line);
    }
    if (f)
        fclose(f);
}

static void say_flags(void)
{
    int reaper = -1;
    prctl(PR_GET_CHILD_SUBREAPER, &reaper, 0, 0, 0);
    printf("reaper %d dumpable %d keepcaps %d no_new_privs %d securebits %d thp %d seccomp %d\n", reaper,
           prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0),
           prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_SECUREBITS, 0, 0, 0, 0),
           prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0), prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
}

int main(void)
{
    char directory[4096];
    mode_t mask = umask(0);
    printf("umask %o\ndirectory %s\nterminal session %d\n", mask, getcwd(directory, sizeof directory),
           getsid(0) == getpid());
    say_scheduling();
    say_signals();
    say_files();
    say_limits();
    say_flags();
    say_file("/proc/self/oom_score_adj", NULL);
    say_file("/proc/self/coredump_filter", NULL);
    say_file("/proc/self/status", "Name VmLck VmPin CapInh CapPrm CapEff CapBnd CapAmb Groups ");
    for (char **v = environ; *v; v++)
        if (strncmp(*v, "_=", 2) != 0)
            printf("variable %s\n", *v);
    return fflush(stdout) == EOF;
}
