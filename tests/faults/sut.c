// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The system under test of the fault tests: faults_sut TRUTH CHILDREN THREADS PAUSE_US keeps CHILDREN processes of
 * THREADS recording threads each, and starts another where one is killed; `faults_sut TRUTH record THREADS PAUSE_US` is
 * such a process. `faults_sut TRUTH harm 0 0` is one that damages its own segment. What they record stands in the file
 * TRUTH. SIGTERM ends all in order.
 */
#include "tests/faults/truth.h"

#include <bezel/sensor.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

BEZEL_ASPECT(beat, (int64, line, "1"), (int64, number, "1"), (int64, proof, "1"));
BEZEL_ASPECT(echo, (int64, line, "1"), (int64, number, "1"), (int64, proof, "1"), (float64, half, "1"));

enum { SUT_THREADS = 256 };

static volatile sig_atomic_t stopped;
static struct truth *truth;
static struct timespec rest;

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

static struct truth *open_truth(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(struct truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* ---- a recording process ----------------------------------------------------------------------------------------- */

static void *record(void *unused)
{
    uint32_t n = atomic_fetch_add(&truth->lines, 1);
    if (n >= TRUTH_LINES)
        abort();
    struct truth_line *l = &truth->line[n];
    atomic_store(&l->pid, getpid());
    for (int64_t i = 0; !stopped; i++) {
        /* Sequentially consistent, and so not moved by the compiler; a kill falls between two instructions. */
        atomic_store(&l->begun[0], (uint64_t)i + 1);
        bezel_record(beat, n, i, truth_proof(n, (uint64_t)i, 0));
        atomic_store(&l->done[0], (uint64_t)i + 1);
        if (i % 4 == 0) {
            int64_t k = i / 4;
            atomic_store(&l->begun[1], (uint64_t)k + 1);
            bezel_record(echo, n, k, truth_proof(n, (uint64_t)k, 1), (double)k / 2);
            atomic_store(&l->done[1], (uint64_t)k + 1);
        }
        nanosleep(&rest, NULL);
    }
    return unused;
}

static int record_all(int threads)
{
    pthread_t more[SUT_THREADS];
    int n = 0;
    for (; n < threads - 1 && n < SUT_THREADS; n++)
        if (pthread_create(&more[n], NULL, record, NULL) != 0)
            return 1;
    record(NULL);
    while (n-- > 0)
        pthread_join(more[n], NULL);
    return 0;
}

/* ---- who means harm ---------------------------------------------------------------------------------------------- */

static uint64_t draw(void)
{
    static uint64_t x = 88172645463325252;
    x ^= x << 13;
    x ^= x >> 7;
    return x ^= x << 17;
}

/* Writes anything anywhere into what the library shares with bezeld, but for what all processes share. */
static void scribble(void)
{
    char line[4096], path[4096];
    unsigned long long from, to;
    const char *dir = getenv("BEZEL_DIR");
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && dir && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%llx-%llx rw-s %*s %*s %*s %4095s", &from, &to, path) != 3 || !strstr(path, dir) ||
            strstr(path, "/reader"))
            continue;
        for (int i = 0; i < 64; i++) {
            uint64_t word = draw() % 3 ? draw() >> draw() % 64 : 0, words = (to - from) / 8;
            uint64_t at = draw() % (i % 2 && words > 4096 ? 4096 : words); /* half of them into what comes first */
            memcpy((char *)(uintptr_t)from + 8 * at, &word, sizeof word);  /* NOLINT: it is mapped there */
        }
    }
    if (maps)
        fclose(maps);
}

/* Records, and scribbles over its own segment more and more often; what becomes of its records is nobody's business. */
static int do_harm(void)
{
    for (int64_t i = 0; !stopped; i++) {
        bezel_record(beat, -1, i, i);
        if (i > 200 && i % 50 == 0)
            scribble();
        nanosleep(&rest, NULL);
    }
    _exit(0); /* the library has nothing left to tidy up */
}

/* ---- who keeps them ---------------------------------------------------------------------------------------------- */

static void start(int i, char **argv)
{
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", argv[0], argv[1], "record", argv[3], argv[4], (char *)NULL);
        _exit(127);
    }
    atomic_store(&truth->children[i], pid > 0 ? pid : 0);
}

static int find(pid_t pid, int count)
{
    for (int i = 0; i < count; i++)
        if (atomic_load(&truth->children[i]) == pid)
            return i;
    return -1;
}

/* Returns whether one is left. */
static bool look_after(int count, char **argv)
{
    int status;
    pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid < 0)
        return errno != ECHILD;
    int i = pid > 0 ? find(pid, count) : -1;
    if (i >= 0) {
        atomic_store(&truth->children[i], 0);
        if (WIFSIGNALED(status))
            atomic_fetch_add(&truth->killed, 1);
        if (WIFSIGNALED(status) && !stopped)
            start(i, argv);
    }
    return true;
}

static int supervise(int count, char **argv)
{
    bool told = false;
    atomic_store(&truth->supervisor, getpid());
    for (int i = 0; i < count; i++)
        start(i, argv);
    while (look_after(count, argv)) {
        if (stopped && !told)
            for (int i = 0; i < count; i++)
                if (atomic_load(&truth->children[i]) > 0)
                    kill(atomic_load(&truth->children[i]), SIGTERM);
        told = stopped;
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 5 || !(truth = open_truth(argv[1])))
        return 2;
    signal(SIGTERM, stop);
    rest.tv_nsec = 500000;
    if (strcmp(argv[2], "harm") == 0)
        return do_harm();
    long pause_us = strtol(argv[4], NULL, 10);
    rest = (struct timespec){.tv_sec = pause_us / 1000000, .tv_nsec = pause_us % 1000000 * 1000};
    if (strcmp(argv[2], "record") == 0)
        return record_all(atoi(argv[3]));
    int count = atoi(argv[2]);
    return count > 0 && count <= TRUTH_CHILDREN ? supervise(count, argv) : 2;
}
