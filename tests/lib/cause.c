// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test that is late for a reason that is known: cause WAY [FILE]. It records each `step`, and how long
 * it took, until SIGTERM.
 *
 * sleep: it sleeps. burn: it computes. faults: it touches new memory. lock: thread `holder` holds the lock that thread
 * `taker` wants. stopped: process `stopper` stops it. vfork: it waits for a child. send FILE: it sends through a FIFO,
 * late. receive FILE: it waits for that. read FILE: it reads from a disk. culprit: it records nothing, and takes a CPU,
 * again and again.
 */
#include <bezel/sensor.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

BEZEL_ASPECT(step, (int64, took, "ns"));

#define MS     INT64_C(1000000)
#define LATE   (60 * MS)
#define MEMORY (8 << 20)

static volatile sig_atomic_t ended;
static const char *path;

static void stop(int signal)
{
    (void)signal;
    ended = 1;
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 * MS + t.tv_nsec;
}

static void pause_for(int64_t ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static void burn_for(int64_t ns)
{
    for (int64_t end = now() + ns; now() < end && !ended;)
        ;
}

static void nap(void)
{
    pause_for(LATE);
}

static void burn(void)
{
    burn_for(LATE);
}

static void touch(void)
{
    char *memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    for (long i = 0; i < MEMORY; i += 4096)
        memory[i] = 1;
    munmap(memory, MEMORY);
}

/* ---- A lock ------------------------------------------------------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *hold(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "holder");
    while (!ended) {
        pthread_mutex_lock(&lock);
        pause_for(LATE);
        pthread_mutex_unlock(&lock);
        pause_for(10 * MS);
    }
    return NULL;
}

static void take(void)
{
    static pthread_t holder;
    if (!holder) {
        prctl(PR_SET_NAME, "taker");
        pthread_create(&holder, NULL, hold, NULL);
    }
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pause_for(MS);
}

/* ---- Another process --------------------------------------------------------------------------------------------- */

static void be_stopped(void)
{
    static pid_t stopper = -1;
    pid_t self = getpid();
    if (stopper < 0 && (stopper = fork()) == 0) {
        prctl(PR_SET_NAME, "stopper");
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == self) {
            pause_for(LATE / 4); /* in which it pauses itself: being stopped is most of its time */
            kill(self, SIGSTOP);
            pause_for(LATE);
            kill(self, SIGCONT);
        }
        _exit(0);
    }
    pause_for(MS);
}

/* This thread waits until its child has ended, with the child's letter for a disk. */
static void wait_in_vfork(void)
{
    pid_t child = vfork();
    if (child == 0) {
        pause_for(LATE);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static void send_late(void)
{
    static int fd = -1;
    if (fd < 0)
        fd = open(path, O_RDWR | O_CLOEXEC);
    pause_for(LATE);
    if (write(fd, "", 1) != 1)
        exit(1);
}

static void receive(void)
{
    static int fd = -1;
    char c;
    if (fd < 0)
        fd = open(path, O_RDWR | O_CLOEXEC);
    if (read(fd, &c, 1) != 1 && !ended)
        exit(1);
}

static void read_disk(void)
{
    static int fd = -1;
    static void *block;
    static long at;
    if (fd < 0 && ((fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC)) < 0 || posix_memalign(&block, 4096, 4096) != 0))
        exit(1);
    if (pread(fd, block, 4096, at) != 4096)
        exit(1);
    at = (at + 4096) % (1 << 20);
}

static void culprit(void)
{
    (void)!write(STDOUT_FILENO, "culprit\n", 8);
    for (; !ended; pause_for(LATE))
        burn_for(LATE);
}

/* ---- The program ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*step)(void);
} ways[] = {{"sleep", nap},       {"burn", burn},          {"faults", touch},
            {"lock", take},       {"stopped", be_stopped}, {"send", send_late},
            {"receive", receive}, {"read", read_disk},     {"vfork", wait_in_vfork}};

int main(int argc, char **argv)
{
    size_t i = 0;
    if (argc < 2)
        return 2;
    path = argc > 2 ? argv[2] : "";
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = stop}, NULL);
    if (strcmp(argv[1], "culprit") == 0) {
        prctl(PR_SET_NAME, "culprit");
        culprit();
        return 0;
    }
    while (i < sizeof ways / sizeof *ways && strcmp(ways[i].name, argv[1]) != 0)
        i++;
    if (i == sizeof ways / sizeof *ways)
        return 2;
    for (int64_t began = now(); !ended; began = now()) {
        ways[i].step();
        bezel_record(step, now() - began);
    }
    return 0;
}
