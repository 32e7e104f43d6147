// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The system under test of the fault tests: faults_sut TRUTH CHILDREN THREADS PAUSE_US keeps CHILDREN processes of
 * THREADS recording threads each, and starts another where one is killed; `faults_sut TRUTH record THREADS PAUSE_US` is
 * such a process. `faults_sut TRUTH harm 0 0` is one that damages its own segment, `forge` one that forges segments of
 * others. What they record stands in the file TRUTH. SIGTERM ends all in order.
 */
#include "sensor/shm/segment.h"
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

static char folder[4096]; /* of the segments */

/* This process's own segment: the largest mapping, since the words that children write are mapped a second time. */
static struct segment *find_own(void)
{
    char line[4096], path[4096];
    unsigned long long from, to, own = 0, bytes = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    snprintf(folder, sizeof folder, "%s", getenv("BEZEL_DIR") ? getenv("BEZEL_DIR") : "");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%llx-%llx rw-s %*s %*s %*s %4095s", &from, &to, path) == 3 && strstr(path, folder) &&
            !strstr(path, "/" DOORBELL_NAME) && to - from > bytes) {
            own = from;
            bytes = to - from;
        }
    }
    if (maps)
        fclose(maps);
    return (struct segment *)(uintptr_t)own; /* NOLINT: it is mapped there */
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

/* Whether a bezeld has ever read the segment: only then it knows whose it is. */
static bool is_read(const struct segment *own)
{
    static const uint8_t nobody[sizeof own->session];
    return own && memcmp(own->session, nobody, sizeof nobody) != 0;
}

/* Records, and scribbles over its own segment; what becomes of its records is nobody's business. */
static int do_harm(void)
{
    const struct segment *own = NULL;
    bool read = false;
    for (int64_t i = 0; !stopped; i++) {
        bezel_record(beat, -1, i, i);
        own = own ? own : find_own();
        read = read || is_read(own);
        if (read && i % 50 == 0)
            scribble();
        nanosleep(&rest, NULL);
    }
    _exit(0); /* the library has nothing left to tidy up */
}

/* ---- forgeries --------------------------------------------------------------------------------------------------- */

enum { FORGED_RECORDS = 40 };

/* A piece of a dictionary, put in the place of the real one. */
static void lie(struct segment *s, const char *bytes, uint32_t n)
{
    memcpy(s->dict, bytes, n);
    s->dict_used = n;
}
#define LIE(s, bytes) lie(s, bytes, sizeof(bytes) - 1)

#define ENTRY      "\0\0\0\1"
#define NUMBER(n)  "\0\0\0" n
#define NO_FIELDS  NUMBER("\0")
#define FIELD(x)   NUMBER("\0") NUMBER("\1") x "\0\0\0" NUMBER("\1") "1\0\0\0" NUMBER("\0")
#define ASPECT(id) ENTRY NUMBER(id)

/* Makes `s`, a copy of this process's head, and `ring`, one of its first ring, wrong in way `i`. */
static void spoil(struct segment *s, struct bezel_ring *ring, int i)
{
    switch (i) {
    case 0: /* two aspects of one name */
        LIE(s, ASPECT("\1") NUMBER("\4") "same" NO_FIELDS ASPECT("\2") NUMBER("\4") "same" NO_FIELDS);
        break;
    case 1: /* a name with a blank */
        LIE(s, ASPECT("\1") NUMBER("\4") "a me" NO_FIELDS);
        break;
    case 2: /* an entry that is cut off */
        s->dict_used = 26;
        break;
    case 3: /* more than there can be */
        s->dict_used = UINT32_MAX;
        break;
    case 4: /* a text that is not UTF-8 */
        LIE(s, NUMBER("\2") NUMBER("\1") NUMBER("\4") "\xff\xfe\xfd\xfc");
        break;
    case 5: /* ids out of order */
        LIE(s, ASPECT("\7") NUMBER("\4") "name" NO_FIELDS);
        break;
    case 6: /* fields that are alike */
        LIE(s, ASPECT("\1") NUMBER("\4") "name" NUMBER("\2") FIELD("x") FIELD("x"));
        break;
    case 7: /* a span that does not begin with its duration */
        LIE(s, NUMBER("\3") NUMBER("\1") NUMBER("\4") "span" NUMBER("\1") FIELD("x"));
        break;
    case 8: /* more fields than there may be */
        LIE(s, ASPECT("\1") NUMBER("\4") "name" NUMBER("\15"));
        break;
    case 9: /* none at all */
        s->dict_used = 0;
        break;
    case 10: /* no such kind of entry */
        LIE(s, "\377\377\377\377" NUMBER("\1"));
        break;
    case 11: /* counters that cannot be, of what is explained and what is not */
        memset(ring->attempts, 0xff, sizeof ring->attempts);
        break;
    case 12: /* fewer attempts than records */
        memset(ring->attempts, 0, sizeof ring->attempts);
        break;
    default: /* a session that began beyond all attempts */
        ring->base_ordinal = UINT64_MAX - 7;
        break;
    }
}

static bool put_at(int fd, const void *bytes, size_t n, uint64_t at)
{
    return pwrite(fd, bytes, n, (off_t)at) == (ssize_t)n;
}

/* Puts a process into the folder that never was: what this one's segment holds, and wrong in way `i`. */
static bool forge_one(const struct segment *own, int i)
{
    static struct segment head;
    static struct {
        struct bezel_ring ring;
        struct bezel_slot slots[4 * FORGED_RECORDS];
    } first;
    char temporary[4200], name[4200];
    memcpy(&head, own, sizeof head);
    memcpy((void *)&first, (const char *)own + own->ring_offset, sizeof first);
    head.instance = own->instance + 1 + (uint64_t)i;
    first.ring.tail = 0; /* all of it waits */
    spoil(&head, &first.ring, i);
    snprintf(temporary, sizeof temporary, "%s/.forged%d", folder, i);
    snprintf(name, sizeof name, "%s/%016llx" SEGMENT_SUFFIX, folder, (unsigned long long)head.instance);
    int fd = open(temporary, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bool done = fd >= 0 && ftruncate(fd, (off_t)own->total_bytes) == 0 && put_at(fd, &head, sizeof head, 0) &&
                put_at(fd, &first, sizeof first, own->ring_offset) && rename(temporary, name) == 0;
    if (fd >= 0)
        close(fd);
    return done;
}

static int forge(void)
{
    for (int64_t i = 0; i < FORGED_RECORDS; i++)
        bezel_record(beat, -1, i, i);
    const struct segment *own = find_own();
    for (int i = 0; own && i < TRUTH_FORGERIES; i++)
        if (!forge_one(own, i))
            return 1;
    while (own && !stopped)
        nanosleep(&rest, NULL);
    return own ? 0 : 1;
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
    if (strcmp(argv[2], "forge") == 0)
        return forge();
    long pause_us = strtol(argv[4], NULL, 10);
    rest = (struct timespec){.tv_sec = pause_us / 1000000, .tv_nsec = pause_us % 1000000 * 1000};
    if (strcmp(argv[2], "record") == 0)
        return record_all(atoi(argv[3]));
    int count = atoi(argv[2]);
    return count > 0 && count <= TRUTH_CHILDREN ? supervise(count, argv) : 2;
}
