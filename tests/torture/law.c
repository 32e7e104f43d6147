// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The law: attempts = drained + full + off + overwritten + no ring + window + unfinished, for every process, whatever
 * it does and whatever is done to it. Programs that do everything at random (law_sut.c) are read by an external sensor
 * that stops, is killed and comes back, and steers them; what comes out is held against what they counted themselves.
 * Every record that is drained was written, comes once, and in order of its thread.
 *
 * BEZEL_SEED repeats a run as far as chance and not the scheduler made it, BEZEL_TEST_LIGHT shortens it,
 * BEZEL_TEST_FULL makes it minutes, with a million threads and a reader that stands still for one.
 */
#include "tests/lib/law.h"
#include "base/clock.h"
#include "mdr/parts.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROOM_BYTES (UINT64_C(512) << 20) /* what the lives of a round may need at once */

enum { PROGRAMS = 3, STILL_NS_LIGHT = 200 * CLOCK_MS };

static struct law_page *page;
static int page_fd;
static uint64_t seed;

/* ---- A map from numbers to numbers, as large as it must be ------------------------------------------------------- */

static struct map {
    struct {
        uint64_t key, value;
    } * entries;
    uint64_t size, used;
} seen, last_number, last_time;

static uint64_t *map_at(struct map *m, uint64_t key);

static void map_grow(struct map *m)
{
    struct map larger = {.size = m->size ? 2 * m->size : 1 << 12};
    larger.entries = calloc(larger.size, sizeof *larger.entries);
    assert_non_null(larger.entries);
    for (uint64_t i = 0; i < m->size; i++)
        if (m->entries[i].key)
            *map_at(&larger, m->entries[i].key) = m->entries[i].value;
    free(m->entries);
    *m = larger;
}

/* The value of `key`, 0 if it is new. */
static uint64_t *map_at(struct map *m, uint64_t key)
{
    if (2 * m->used >= m->size)
        map_grow(m);
    key |= key == 0;
    uint64_t i = law_mix(key) & (m->size - 1);
    while (m->entries[i].key && m->entries[i].key != key)
        i = (i + 1) & (m->size - 1);
    m->used += m->entries[i].key == 0;
    m->entries[i].key = key;
    return &m->entries[i].value;
}

static void map_clear(struct map *m)
{
    free(m->entries);
    *m = (struct map){0};
}

/* ---- What came out ----------------------------------------------------------------------------------------------- */

static uint64_t drained[LAW_LIVES][LAW_ASPECTS];

static struct sums {
    uint64_t rounds, restarts, kills, stops, takeovers, snapshots, steered;
    uint64_t attempts, drained, full, off, overwritten, no_ring, window, unfinished;
    uint64_t threads, signals, jumps, forks, loads, cancels, inits;
} sums;

static uint32_t number_of(const char *aspect)
{
    static const char *const names[] = {[LAW_SPAN] = "span", [LAW_PLUGGED] = "plugged", [LAW_SWITCHED] = "switched"};
    if (aspect[0] == 'v')
        return (uint32_t)atoi(aspect + 1);
    for (uint32_t i = LAW_PLAIN; i < LAW_ASPECTS; i++)
        if (strcmp(aspect, names[i]) == 0)
            return i;
    fail_msg("no program declares %s", aspect);
    return 0;
}

static uint32_t life_of(const struct external_process *p)
{
    assert_int_equal(strncmp(p->at->name, "life-", 5), 0);
    uint32_t life = (uint32_t)atoi(p->at->name + 5);
    assert_true(life < page->starts);
    return life;
}

static void check_values(const struct packet_record *r, uint32_t aspect, uint32_t life, uint64_t stream)
{
    uint32_t at = aspect == LAW_SPAN;
    uint64_t first = packet_value(r, at);
    struct law_id id;
    assert_true(law_read(first, aspect, &id));
    assert_true(id.life == life || page->life[life].inherited);
    for (uint32_t i = at + 1; i < r->value_count; i++)
        assert_int_equal(packet_value(r, i), law_value(first, i));
    uint64_t *times = map_at(&seen, law_mix(first) + stream / SEGMENT_RINGS_MAX);
    assert_int_equal(++*times, 1);
    uint64_t writer = (first >> (LAW_CHECK_BITS + LAW_NUMBER_BITS)) + law_mix(stream);
    uint64_t *last = map_at(&last_number, writer);
    assert_true(id.number + 1 > *last);
    *last = id.number + 1;
}

static void take(struct fixture *f, const struct packet_header *h, const struct packet_record *r, const char *name)
{
    uint32_t aspect = number_of(name), life = life_of(external_find(f->external, h->instance));
    uint64_t stream = h->instance * SEGMENT_RINGS_MAX + h->ring;
    uint64_t *last = map_at(&last_time, stream);
    assert_true(r->timestamp >= *last);
    *last = r->timestamp;
    drained[life][aspect]++;
    if (aspect != 0)
        check_values(r, aspect, life, stream);
}

/* ---- Books ------------------------------------------------------------------------------------------------------- */

static uint64_t sum_of(const _Atomic uint64_t counts[LAW_ASPECTS])
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < LAW_ASPECTS; i++)
        sum += counts[i];
    return sum;
}

/* One aspect of one process. Returns how many of its records came to nothing without a cause. */
static uint64_t check_row(const struct message_books_row *row, uint32_t aspect, uint32_t number)
{
    const struct law_life *life = &page->life[number];
    uint64_t lost = row->full + row->off + row->no_ring + row->window + row->spool;
    if (aspect != LAW_SWITCHED)
        assert_true(row->attempts >= life->after[aspect]);
    assert_true(row->attempts <= life->before[aspect] + life->inherited);
    assert_true(row->attempts >= drained[number][aspect] + lost);
    sums.attempts += row->attempts;
    sums.drained += drained[number][aspect];
    sums.full += row->full;
    sums.off += row->off;
    sums.no_ring += row->no_ring;
    sums.window += row->window + row->spool;
    return row->attempts - drained[number][aspect] - lost;
}

/* Its streams: every ordinal is a record, or lost. Returns how many are lost without a cause that the books tell. */
static uint64_t check_streams(const struct fixture *f, uint64_t instance, const struct message_books *b)
{
    uint64_t ordinals = 0, attempts = 0, lost = 0, told = 0;
    for (uint32_t i = 0; i < f->stream_count; i++) {
        if (f->streams[i].instance != instance)
            continue;
        assert_true(f->streams[i].closed);
        ordinals += f->streams[i].next_ordinal;
        lost += f->streams[i].discarded;
    }
    for (uint32_t i = 0; i < b->row_count; i++) {
        attempts += b->rows[i].attempts - b->rows[i].no_ring;
        told += b->rows[i].full + b->rows[i].off + b->rows[i].window + b->rows[i].spool;
    }
    assert_int_equal(ordinals, attempts);
    assert_true(lost >= told);
    return lost - told;
}

static void check_process(const struct fixture *f, const struct external_process *p)
{
    static struct message_books b;
    uint32_t number = life_of(p);
    const struct law_life *life = &page->life[number];
    uint64_t untold = 0, seen_rows = 0;
    external_books(p, clock_now(), &b);
    for (uint32_t i = 0; i < b.row_count; i++) {
        uint32_t aspect = number_of(p->at->dict->aspects[b.rows[i].aspect - 1].name);
        untold += check_row(&b.rows[i], aspect, number);
        seen_rows |= UINT64_C(1) << aspect;
    }
    for (uint32_t aspect = 0; aspect < LAW_ASPECTS; aspect++)
        if (!(seen_rows >> aspect & 1) && aspect != LAW_SWITCHED)
            assert_int_equal(life->after[aspect], 0);
    assert_int_equal(check_streams(f, p->at->instance, &b), untold);
    if (p->at->when_full == SEGMENT_OVERWRITE) {
        sums.overwritten += untold;
        return;
    }
    assert_int_equal(untold, b.unfinished);
    assert_true(b.unfinished <= sum_of(life->before) + life->inherited - sum_of(life->after));
    sums.unfinished += untold;
}

static void check_books(const struct fixture *f)
{
    bool found[LAW_LIVES] = {false};
    for (uint32_t i = 0; i < external_process_count(f->external); i++) {
        const struct external_process *p = external_process(f->external, i);
        if (!p)
            continue;
        assert_false(found[life_of(p)]);
        found[life_of(p)] = true;
        check_process(f, p);
    }
    for (uint32_t i = 0; i < page->starts && i < LAW_LIVES; i++) {
        const struct law_life *life = &page->life[i];
        if (!found[i] && sum_of(life->after))
            fail_msg("life %u made %llu records, and was never seen", i, (unsigned long long)sum_of(life->after));
        sums.restarts++;
        sums.threads += life->threads;
        sums.signals += life->signals;
        sums.jumps += life->jumps;
        sums.forks += life->forks;
        sums.loads += life->loads;
        sums.cancels += life->cancels;
        sums.inits += life->inits;
    }
}

/* ---- Programs ---------------------------------------------------------------------------------------------------- */

struct program {
    uint32_t life, profile, work;
    bool overwrites;
    uint32_t slots;
    uint64_t seed;
    pid_t pid;
    int64_t kill_at; /* 0: lives as long as it likes */
};

/* Mostly as many rings as usual; else as many as can be, or fewer than there are threads. */
static const char *draw_threads(uint64_t drawn)
{
    static const char *const threads[] = {"128", "128", "128", "1024", "1024", "3"};
    return threads[(drawn >> 41) % (sizeof threads / sizeof *threads)];
}

static void exec_program(void *context)
{
    const struct program *p = context;
    char text[5][24];
    snprintf(text[0], sizeof *text, "%d", page_fd);
    snprintf(text[1], sizeof *text, "%u", p->life);
    snprintf(text[2], sizeof *text, "%llu", (unsigned long long)p->seed);
    snprintf(text[3], sizeof *text, "%u", p->profile);
    snprintf(text[4], sizeof *text, "%u", p->work);
    char slots[24];
    snprintf(slots, sizeof slots, "%u", p->slots);
    setenv("BEZEL_RING_RECORDS", slots, 1);
    setenv("BEZEL_RING_THREADS", draw_threads(p->seed), 1);
    setenv("BEZEL_WHEN_FULL", p->overwrites ? "overwrite" : "discard", 1);
    setenv("BEZEL_CLOCK", p->seed >> 40 & 1 ? "counter" : "monotonic", 1);
    setenv("TSAN_OPTIONS", "die_after_fork=0", 0);
    execl(LAW_SUT, "law_sut", text[0], text[1], text[2], text[3], text[4], "2", (char *)NULL);
    _exit(5);
}

static struct program programs[PROGRAMS]; /* of this round */

/*
 * What the sanitizers bear: ThreadSanitizer breaks where a signal meets a thread that begins or ends, where a handler
 * jumps, or where one of several threads forks; AddressSanitizer takes a lock of the C library at a jump out of an
 * alternate stack, in the middle of which the next handler may take it again.
 */
static uint32_t bearable(uint32_t profile)
{
#ifdef __SANITIZE_THREAD__
    profile &= ~(uint32_t)(LAW_SIGNALS | LAW_JUMPS | LAW_FORKS);
#endif
#ifdef __SANITIZE_ADDRESS__
    if (profile & LAW_JUMPS)
        profile &= ~(uint32_t)LAW_ALTERNATE;
#endif
    return profile;
}

static void spawn(struct program *p)
{
    p->profile = bearable(p->profile);
    p->life = atomic_fetch_add(&page->starts, 1);
    p->pid = fixture_spawn(exec_program, p);
}

/* After a failure: nobody is left for the next test to reap. */
static int stop_all(void **unused)
{
    (void)unused;
    page->stop = 1;
    for (int i = 0; i < PROGRAMS; i++)
        if (programs[i].pid)
            kill(programs[i].pid, SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    memset(programs, 0, sizeof programs);
    return 0;
}

static struct program any_program(uint32_t work)
{
    uint64_t r = seed_next(&seed), more = seed_next(&seed);
    struct program p = {.profile = (uint32_t)r % LAW_PROFILES | ((r >> 40) % 2 ? LAW_SIGNALS | LAW_JUMPS : 0),
                        .work = work,
                        .overwrites = more % 4 == 0,
                        .slots = RING_SLOTS_MIN << (more >> 8) % 7,
                        .seed = seed_next(&seed)};
    if ((more >> 16) % 3 == 0)
        p.kill_at = clock_now() + (int64_t)((more >> 24) % (500 * CLOCK_MS));
    return p;
}

static void say(const struct program *p)
{
    static const char *const names[] = {"signals", "jumps", "alternate", "threads", "forks", "execs",
                                        "library", "clock", "wrap",      "cancels", "init",  "crowd"};
    printf("  life %u, seed %llu, %u slots%s%s:", p->life, (unsigned long long)p->seed, p->slots,
           p->overwrites ? ", overwriting" : "", p->kill_at ? ", to be killed" : "");
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (p->profile >> i & 1)
            printf(" %s", names[i]);
    printf("\n");
}

/* ---- Reader ------------------------------------------------------------------------------------------------------ */

static struct aspect_rules rules;

static void set_rules_at_random(struct fixture *f)
{
    static const enum segment_enable modes[] = {SEGMENT_RECORD, SEGMENT_COUNT, SEGMENT_DISABLED};
    uint64_t r = seed_next(&seed);
    char aspect[8];
    snprintf(aspect, sizeof aspect, "v%u", (unsigned)(r >> 8) % LAW_PLAIN);
    assert_int_equal(aspect_rules_add(&rules, aspect, modes[r % 2]), 0);
    assert_int_equal(aspect_rules_add(&rules, "switched", modes[(r >> 16) % 3]), 0);
    external_set_rules(f->external);
    external_collect(f->external, (r >> 32) % 4 != 0);
    sums.steered++;
}

/* The reader stops as by a debugger or a terminal. */
static void stand_still(int64_t ns)
{
    fflush(NULL);
    pid_t waker = fork();
    if (waker == 0) {
        struct timespec t = {ns / CLOCK_S, ns % CLOCK_S};
        kill(getppid(), SIGSTOP);
        nanosleep(&t, NULL);
        kill(getppid(), SIGCONT);
        _exit(0);
    }
    assert_true(waker > 0);
    fixture_wait(waker);
    sums.stops++;
}

/* Until then their descriptors are ours too, and with them our locks. */
static bool all_are_programs(void)
{
    bool all = true;
    for (uint32_t i = 0; i < PROGRAMS; i++)
        all = all && (!programs[i].pid || page->life[programs[i].life].next_thread);
    return all;
}

static void read_at_random(struct fixture *f)
{
    uint64_t r = seed_next(&seed);
    fixture_turn(f);
    if (r % 50 == 0)
        usleep((useconds_t)((r >> 8) % 50000));
    if (r % 100 == 1 && all_are_programs()) {
        external_close(f->external, false);
        fixture_reopen(f);
        sums.takeovers++;
    }
    if (r % 20 == 2) {
        external_snapshot(f->external, clock_now());
        sums.snapshots++;
    }
    if (r % 20 == 3)
        set_rules_at_random(f);
    if (r % 4 == 0)
        usleep(200);
}

/* Takes in what ended. False: nobody is left. */
static bool reap(void)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        bool killed = false;
        for (uint32_t i = 0; i < PROGRAMS; i++) {
            killed = killed || (programs[i].pid == pid && programs[i].kill_at);
            programs[i].pid = programs[i].pid == pid ? 0 : programs[i].pid;
        }
        if (status != 0 && !(killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
            fail_msg("process %d ended with status %#x", (int)pid, (unsigned)status);
    }
    return pid == 0;
}

static void kill_due(void)
{
    for (uint32_t i = 0; i < PROGRAMS; i++)
        if (programs[i].pid && programs[i].kill_at > 1 && clock_now() > programs[i].kill_at) {
            kill(programs[i].pid, SIGKILL);
            programs[i].kill_at = 1;
            sums.kills++;
        }
}

/* From the programs' start to the end of the last of their descendants, and the reckoning. */
static void run_round(int64_t still_ns, int64_t patience_ns)
{
    static struct fixture f;
    memset(page, 0, sizeof *page);
    memset(drained, 0, sizeof drained);
    memset(&rules, 0, sizeof rules);
    f = (struct fixture){.options = {.batch = true, .take_all = true, .rules = &rules}, .record = take};
    fixture_open(&f);
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        spawn(&programs[i]);
        say(&programs[i]);
    }
    fflush(stdout);
    int64_t deadline = clock_now() + patience_ns;
    while (reap()) {
        read_at_random(&f);
        kill_due();
        if (still_ns)
            stand_still(still_ns);
        still_ns = 0;
        if (clock_now() > deadline) {
            assert_int_equal(page->stop, 0);
            page->stop = 1;
            deadline = clock_now() + PATIENCE;
        }
    }
    external_housekeep(f.external, clock_now() + 2 * CLOCK_S); /* looks through the folder, if it rang or not */
    external_snapshot(f.external, clock_now());
    fixture_until(&f, fixture_nobody_lives);
    fixture_finish(&f);
    check_books(&f);
    fixture_close(&f);
    map_clear(&seen);
    map_clear(&last_number);
    map_clear(&last_time);
    sums.rounds++;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

static int amount(int light, int usual, int full)
{
    return getenv("BEZEL_TEST_FULL") ? full : getenv("BEZEL_TEST_LIGHT") ? light : usual;
}

TEST_WITH(NULL, stop_all, whatever_programs_do_the_law_holds)
{
    int rounds = amount(2, 12, 120);
    for (int round = 0; round < rounds; round++) {
        printf("round %d, BEZEL_SEED=%llu\n", round, (unsigned long long)seed);
        for (int i = 0; i < PROGRAMS; i++)
            programs[i] = any_program(20000);
        run_round(0, 10 * CLOCK_S);
    }
}

TEST_WITH(NULL, stop_all, a_reader_that_is_stopped_loses_no_count)
{
    for (int i = 0; i < PROGRAMS; i++) {
        programs[i] = any_program((uint32_t)amount(10000, 20000, 1000000));
        programs[i].kill_at = 0;
    }
    run_round(getenv("BEZEL_TEST_FULL") ? 60 * CLOCK_S : STILL_NS_LIGHT, 90 * CLOCK_S);
}

TEST_WITH(NULL, stop_all, threads_come_and_go)
{
    for (int i = 0; i < PROGRAMS; i++) {
        programs[i] = any_program((uint32_t)amount(1000, 6000, 350000));
        programs[i].profile = LAW_CROWD | (i == 0 ? 0 : LAW_SIGNALS) | (i == 1 ? LAW_CANCELS : 0);
        programs[i].kill_at = 0;
    }
    run_round(0, 600 * CLOCK_S);
}

static void print_table(void)
{
    const struct {
        const char *what;
        uint64_t count;
    } rows[] = {{"rounds", sums.rounds},
                {"process lives", sums.restarts},
                {"  of them killed", sums.kills},
                {"threads that came and went", sums.threads},
                {"  of them cancelled", sums.cancels},
                {"rings claimed ahead", sums.inits},
                {"signals handled", sums.signals},
                {"jumps out of handlers", sums.jumps},
                {"forks", sums.forks},
                {"libraries loaded", sums.loads},
                {"readers stopped", sums.stops},
                {"readers killed", sums.takeovers},
                {"snapshots", sums.snapshots},
                {"changes of rules", sums.steered},
                {"records attempted", sums.attempts},
                {"  drained", sums.drained},
                {"  lost: full", sums.full},
                {"  lost: off", sums.off},
                {"  lost: overwritten", sums.overwritten},
                {"  lost: no ring", sums.no_ring},
                {"  lost: window", sums.window},
                {"  unfinished", sums.unfinished}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        printf("%-28s%12llu\n", rows[i].what, (unsigned long long)rows[i].count);
    assert_int_equal(sums.attempts, sums.drained + sums.full + sums.off + sums.overwritten + sums.no_ring +
                                        sums.window + sums.unfinished);
}

TEST(the_sum_of_all_is_the_law_too)
{
    print_table();
}

int main(void)
{
    struct statvfs shm;
    if (statvfs("/dev/shm", &shm) != 0 || (uint64_t)shm.f_bavail * shm.f_frsize < ROOM_BYTES) {
        puts("skipped: /dev/shm has less than 512 MiB of room for the lives");
        return 77;
    }
    page_fd = memfd_create("law", 0);
    if (page_fd < 0 || ftruncate(page_fd, sizeof *page) != 0)
        return 1;
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);
    if (page == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        return 1;
    seed = seed_start();
    int failed = test_run(NULL, NULL);
    close(page_fd);
    return failed;
}
