// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Programs whose segment another process scribbles on, at random, while they record and an external sensor reads: they
 * end well, their other memory is as it was, and the reader reads on. And a tail, or a head, that lies in every way: a
 * record takes a bounded number of instructions, whatever stands there.
 */
#include "base/clock.h"
#include "bezel/sensor.h"
#include "sensor/shm/segment.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/step.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS = 3,
    STEPS_BOUND = 10000, /* of a record, whatever stands in its ring */
};

BEZEL_ASPECT(small, (int64, number, "1"));
BEZEL_ASPECT(large, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"),
             (int64, f, "1"), (int64, g, "1"), (int64, h, "1"), (int64, i, "1"), (int64, j, "1"));

/* Shared with the programs. */
static struct page {
    _Atomic int stop;
    _Atomic uint64_t records;
} * page;

static bool overwrites;

/* ---- Where the segment is ---------------------------------------------------------------------------------------- */

/* The segment of the only program in the folder, mapped; NULL where there is none yet. */
static struct segment *find_segment(size_t *bytes)
{
    struct segment *s = NULL;
    DIR *dir = opendir(getenv("BEZEL_DIR"));
    for (struct dirent *e; dir && !s && (e = readdir(dir)) != NULL;) {
        size_t n = strlen(e->d_name);
        if (e->d_name[0] == '.' || n < 4 || strcmp(e->d_name + n - 4, SEGMENT_SUFFIX) != 0)
            continue;
        int fd = openat(dirfd(dir), e->d_name, O_RDWR);
        off_t size = lseek(fd, 0, SEEK_END);
        void *at = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        *bytes = (size_t)size;
        s = at == MAP_FAILED ? NULL : at;
    }
    if (dir)
        closedir(dir);
    return s;
}

static struct bezel_ring *ring_of(const struct segment *s, uint32_t i, uint64_t stride)
{
    return (struct bezel_ring *)(void *)((char *)s + segment_ring_offset() + i * stride);
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */

static void record_some(int64_t n)
{
    bezel_record(small, n);
    bezel_again(small, n);
    if (n % 3 == 0)
        bezel_record(large, n, n, n, n, n, n, n, n, n, n);
    atomic_fetch_add(&page->records, 2);
}

static void *record_until_stopped(void *unused)
{
    for (int64_t n = 0; !page->stop; n++) {
        record_some(n);
        if (n % 64 == 0)
            usleep(100);
    }
    return unused;
}

static void *record_a_few(void *unused)
{
    for (int64_t n = 0; n < 20; n++)
        record_some(n);
    return unused;
}

/* ---- Memory of the program that is not the segment's ------------------------------------------------------------- */

enum { CANARY_BYTES = 1 << 20, CANARIES = 5 };

static uint8_t in_data[CANARY_BYTES / 16] = {1}, in_bss[CANARY_BYTES / 16];

static struct canary {
    uint8_t *at;
    size_t bytes;
} canaries[CANARIES];
static unsigned canary_count;

static void guard(void *at, size_t bytes)
{
    canaries[canary_count++] = (struct canary){at, bytes};
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)at)[i] = (uint8_t)(i * 31 + 7);
}

static bool is_as_it_was(void)
{
    for (unsigned k = 0; k < canary_count; k++)
        for (size_t i = 0; i < canaries[k].bytes; i++)
            if (canaries[k].at[i] != (uint8_t)(i * 31 + 7))
                return false;
    return true;
}

/* Where the program has its segment mapped. */
static bool find_mapping(uintptr_t *from, uintptr_t *to)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    *from = *to = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        uintptr_t a, b;
        if (!strstr(line, SEGMENT_SUFFIX) || sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &a, &b) != 2)
            continue;
        *from = *from ? *from : a;
        *to = b;
    }
    if (maps)
        fclose(maps);
    return *to != 0;
}

/* Static memory, the heap, and what lies right before and behind the segment, where that is free. */
static void guard_all(void)
{
    uintptr_t from, to;
    void *heap = malloc(CANARY_BYTES);
    guard(in_data, sizeof in_data);
    guard(in_bss, sizeof in_bss);
    if (heap)
        guard(heap, CANARY_BYTES);
    if (!find_mapping(&from, &to))
        _exit(4);
    const uintptr_t beside[] = {from - CANARY_BYTES, to};
    for (int i = 0; i < 2; i++) {
        void *at = mmap((void *)beside[i], CANARY_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (at == (void *)beside[i])
            guard(at, CANARY_BYTES);
    }
}

/* Everything that reads something out of the segment: rings change hands, strings are found, children inherit. */
static void victim(void *unused)
{
    pthread_t threads[THREADS], t;
    (void)unused;
    setenv("BEZEL_WHEN_FULL", overwrites ? "overwrite" : "discard", 1);
    setenv("BEZEL_RING_RECORDS", "64", 1);
    setenv("BEZEL_RING_THREADS", overwrites ? "1024" : "128", 1);
    bezel_intern("a segment");
    guard_all();
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, record_until_stopped, NULL) != 0)
            _exit(1);
    for (uint64_t n = 0; !page->stop; n++) {
        char text[24];
        snprintf(text, sizeof text, "text %d", (int)(n % 100));
        bezel_intern(text);
        bezel_thread_init(BEZEL_SIGNALS);
        (void)bezel_ticks_ns(n);
        if (pthread_create(&t, NULL, record_a_few, NULL) != 0)
            _exit(1);
        pthread_join(t, NULL);
        if (n % 20 == 0) {
            pid_t child = fork();
            if (child == 0) {
                record_a_few(NULL);
                _exit(0);
            }
            int status;
            if (waitpid(child, &status, 0) != child || status != 0)
                _exit(2);
        }
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (!is_as_it_was())
        _exit(3);
}

/* ---- Scribblers -------------------------------------------------------------------------------------------------- */

static uint64_t any_word(uint64_t *seed)
{
    static const uint64_t favourites[] = {0, 1, 2, 3, UINT64_MAX, INT64_MAX, UINT32_MAX, INT32_MAX, 64, 63, 65, 2048};
    uint64_t r = seed_next(seed);
    return r % 2 ? r : favourites[(r >> 8) % (sizeof favourites / sizeof *favourites)];
}

/* Anywhere in the head, or what rings share with their reader, or their slots. Never makes or cuts pages. */
static void scribble(char *at, uint64_t stride, uint64_t *seed)
{
    uint64_t r = seed_next(seed), value = any_word(seed), offset;
    const struct segment *s = (const struct segment *)(void *)at;
    if (r % 4 == 0) {
        offset = (r >> 8) % segment_ring_offset();
    } else if (r % 4 == 1) {
        offset = (r >> 8) % offsetof(struct segment, dict); /* less of it is texts */
    } else {
        uint32_t ring = (uint32_t)(r >> 8) % (THREADS + 3);
        uint64_t most = r % 4 == 2 ? offsetof(struct bezel_ring, attempts) : stride;
        offset = (uint64_t)((char *)ring_of(s, ring, stride) - at) + (r >> 32) % most;
    }
    memcpy(at + offset / 8 * 8, &value, 1u << (r >> 60 & 3) % 4);
}

static void scribbler(void *context)
{
    uint64_t seed = *(const uint64_t *)context;
    size_t bytes;
    struct segment *s;
    while (!(s = find_segment(&bytes))) {
        if (page->stop) /* on a machine so busy that the program has come and gone */
            return;
        usleep(100);
    }
    uint64_t stride = segment_ring_stride(64);
    while (!page->stop) {
        for (uint64_t n = seed_next(&seed) % 200; n > 0; n--)
            scribble((char *)s, stride, &seed);
        usleep((useconds_t)(seed_next(&seed) % 500));
    }
}

/* What the sensor reads cannot be checked: that it reads on, and ends, can. */
static void scribble_and_read(uint64_t seed, int64_t ns)
{
    struct external_options options = {.batch = true, .take_all = true, .window_bytes = 4 << 20};
    struct fixture f = {.options = options};
    memset(page, 0, sizeof *page);
    fixture_open(&f);
    pid_t program = fixture_spawn(victim, NULL), other = fixture_spawn(scribbler, &seed);
    int64_t until = clock_now() + ns, deadline = until + PATIENCE;
    while (!page->stop) {
        int64_t now = clock_now();
        page->stop = now >= deadline || (now >= until && page->records > 1000);
        external_poll(f.external, now);
        external_housekeep(f.external, now);
        external_snapshot(f.external, now);
        fixture_acknowledge(&f);
    }
    int other_status = fixture_wait(other), status = fixture_wait(program);
    external_close(f.external, false);
    scratch_remove(f.dir);
    assert_int_equal(other_status, 0);
    assert_int_equal(status, 0);
    assert_true(page->records > 1000);
}

TEST(scribbling_harms_neither_the_program_nor_the_reader)
{
    uint64_t seed = seed_start();
    int rounds = getenv("BEZEL_TEST_FULL") ? 100 : getenv("BEZEL_TEST_LIGHT") ? 2 : 3;
    for (int i = 0; i < rounds; i++) {
        overwrites = i % 2;
        scribble_and_read(seed_next(&seed), 700 * CLOCK_MS);
    }
}

/* ---- No room ----------------------------------------------------------------------------------------------------- */

/* Alone with little shared memory, and a segment that says that all its rings were released. */
static void claim_what_has_no_memory(void *unused)
{
    pthread_t t[4 * THREADS];
    char size[48];
    size_t bytes;
    (void)unused;
    setenv("BEZEL_RING_RECORDS", "64", 1);
    snprintf(size, sizeof size, "mode=0700,size=%zu",
             (size_t)(segment_ring_offset() + THREADS * segment_ring_stride(64)) / 4096 * 4096 + 4096);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", getenv("BEZEL_DIR"), "tmpfs", 0, size) != 0)
        _exit(77);
    bezel_intern("a segment, and no ring");
    struct segment *s = find_segment(&bytes);
    if (!s)
        _exit(1);
    for (uint32_t i = 0; i < s->ring_max; i++)
        s->ring_state[i] = SEGMENT_RING_RELEASED;
    for (uint32_t id = 0; id < RING_ASPECTS; id++)
        s->enable[id] = SEGMENT_RECORD; /* nobody listens here: we wish it so */
    for (int i = 0; i < 4 * THREADS; i++)
        if (pthread_create(&t[i], NULL, record_until_stopped, NULL) != 0)
            _exit(1);
    while (page->records < 100000)
        usleep(1000);
    page->stop = 1;
    for (int i = 0; i < 4 * THREADS; i++)
        pthread_join(t[i], NULL);
}

TEST(a_ring_that_only_says_so_is_no_ring_where_memory_is_full)
{
    char dir[SCRATCH_PATH];
    memset(page, 0, sizeof *page);
    scratch_make(dir);
    setenv("BEZEL_DIR", dir, 1);
    int status = fixture_wait(fixture_spawn(claim_what_has_no_memory, NULL));
    scratch_remove(dir);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        printf("skipped: no private mounts here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* ---- Bounds ------------------------------------------------------------------------------------------------------ */

static bool larger;

/* Fills its ring, which nobody reads, and records on, to be stepped through. */
static void stepped(void *unused)
{
    (void)unused;
    setenv("BEZEL_WHEN_FULL", overwrites ? "overwrite" : "discard", 1);
    setenv("BEZEL_RING_RECORDS", "4096", 1);
    for (int64_t n = 0; n < 5000; n++)
        record_some(n);
    step_stop();
    for (int64_t n = 0;; n++) {
        if (larger)
            bezel_record(large, n, n, n, n, n, n, n, n, n, n);
        else
            bezel_record(small, n);
        page->records++;
    }
}

/* Where the counts of slots stand, or lie. */
static uint32_t any_count(uint64_t *seed, uint32_t true_one)
{
    uint64_t r = seed_next(seed);
    switch (r % 5) {
    case 0:
        return (uint32_t)any_word(seed);
    case 1:
        return true_one + (uint32_t)(r >> 8) % 64 - 32;
    case 2:
        return true_one + ((uint32_t)(r >> 8) % 8192 - 4096) * BEZEL_SLOT_BYTES;
    case 3:
        return (uint32_t)(r >> 32);
    default:
        return true_one;
    }
}

/* Lets the program make a record, whatever its ring says: the instructions that it takes. */
static int step_record(pid_t pid)
{
    uint64_t before = page->records;
    int steps = 0;
    while (page->records == before && steps <= STEPS_BOUND) {
        assert_true(step_once(pid, 0, NULL));
        steps++;
    }
    return steps;
}

static void lie_and_step(bool over, bool large_one)
{
    uint64_t seed = seed_start();
    size_t bytes;
    char dir[SCRATCH_PATH];
    int lies = getenv("BEZEL_TEST_FULL") ? 1500 : getenv("BEZEL_TEST_LIGHT") ? 40 : 500, most = 0;
    overwrites = over;
    larger = large_one;
    memset(page, 0, sizeof *page);
    struct fixture f = {.options = {.batch = true, .take_all = true, .window_bytes = 1 << 20}}; /* so that it records */
    fixture_open(&f);
    snprintf(dir, sizeof dir, "%s", f.dir);
    pid_t pid = fixture_spawn(stepped, NULL);
    if (!step_wait(pid)) {
        external_close(f.external, false);
        printf("skipped: no process may be single-stepped here\n");
        skip();
    }
    struct segment *s = find_segment(&bytes);
    assert_non_null(s);
    struct bezel_ring *ring = ring_of(s, 0, segment_ring_stride(4096));
    step_record(pid); /* what the dynamic linker does once */
    for (int i = 0; i < lies && most <= STEPS_BOUND; i++) {
        uint32_t head = ring->head;
        ring->tail = any_count(&seed, head);
        if (i % 2)
            ring->head = any_count(&seed, head);
        ring->oldest = any_count(&seed, head);
        if (i % 5 == 0)
            memset(ring + 1, (int)seed_next(&seed), 4096 * BEZEL_SLOT_BYTES); /* sizes of records are what they like */
        int steps = step_record(pid);
        most = steps > most ? steps : most;
    }
    printf("%s records, %s: at most %d instructions\n", larger ? "large" : "small",
           overwrites ? "overwriting" : "discarding", most);
    step_kill(pid);
    munmap(s, bytes);
    external_close(f.external, false);
    scratch_remove(dir);
    assert_true(most <= STEPS_BOUND);
}

TEST(a_ring_that_lies_costs_a_record_a_bounded_number_of_instructions)
{
    lie_and_step(false, false);
    lie_and_step(false, true);
    lie_and_step(true, false);
    lie_and_step(true, true);
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    printf("skipped: whoever scribbles gives a ring to two threads, which is a race as it should be\n");
    return 77;
#endif
    if (!getenv("LD_BIND_NOW")) { /* what is stepped through is the record, not the dynamic linker */
        setenv("LD_BIND_NOW", "1", 1);
        execl("/proc/self/exe", "law_hostile", (char *)NULL);
    }
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return 1;
    return test_run(NULL, NULL);
}
