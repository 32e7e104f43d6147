// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* `bezel export --merge`: what babeltrace2 reads of one stream for each node is what it reads of one for each ring. */
#include "base/file.h"
#include "export/export.h"
#include "tests/lib/seed.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MORE_FILES = 10, FLIPS = 40 };

static const uint8_t run_id[16] = "a run's identity";
static uint64_t seed;

struct fixture {
    char dir[64], target[128];
    struct fake_sensor *sensor;
    uint64_t lost;
};

/* Eight processes, half of them alike, of four rings each, whose records and losses interleave. */
static void packetize_run(struct fixture *t)
{
    t->sensor = fake_new("desk", run_id, seed);
    for (unsigned i = 0; i < FAKE_PROCESSES; i++) {
        fake_add_process(t->sensor, i % 2 ? "server" : "client", 100 + i, i ? ROLE_SUT : ROLE_DAEMON);
        if (i >= FAKE_PROCESSES / 2)
            fake_add_aspect(t->sensor, i, "late");
        for (unsigned ring = 0; ring < FAKE_RINGS; ring++)
            fake_cut(t->sensor, i, ring, 100);
    }
    for (unsigned i = 0; i < 400; i++) {
        unsigned process = (unsigned)(seed_next(&seed) % FAKE_PROCESSES),
                 ring = (unsigned)(seed_next(&seed) % FAKE_RINGS);
        uint32_t count = 1 + (uint32_t)(seed_next(&seed) % 300);
        if (i % 8 == 7)
            fake_lose(t->sensor, process, ring, count), t->lost += count;
        else
            fake_cut(t->sensor, process, ring, count);
    }
}

static void setup_run(struct fixture *t)
{
    *t = (struct fixture){.dir = "/tmp/bezel-merge-XXXXXX"};
    assert_non_null(mkdtemp(t->dir));
    snprintf(t->target, sizeof t->target, "%s/export", t->dir);
    packetize_run(t);
    assert_int_equal(stored_whole(t->dir, t->sensor), 0);
}

static void teardown_run(struct fixture *t)
{
    fake_free(t->sensor);
    assert_int_equal(file_remove_tree(t->dir), 0);
}

static void need_babeltrace2(void)
{
    if (system("command -v babeltrace2 >/dev/null") == 0)
        return;
    puts("babeltrace2 is not installed");
    skip();
}

/* What the shell prints of `command`, the target (or `file` in it) and `rest`. Caller frees. */
static char *output_of(const struct fixture *t, const char *command, const char *file, const char *rest)
{
    char line[1024], *text;
    size_t n, got;
    snprintf(line, sizeof line, "%s '%s/%s' %s", command, t->target, file, rest);
    FILE *pipe = popen(line, "r"), *to = open_memstream(&text, &n);
    assert_non_null(pipe);
    char some[4096];
    while ((got = fread(some, 1, sizeof some, pipe)) > 0)
        fwrite(some, 1, got, to);
    assert_int_equal(pclose(pipe), 0);
    fclose(to);
    return text;
}

/* Every record: its time, name and fields, without what stands around it, strings as texts. */
static char *records(const struct fixture *t)
{
    return output_of(t, "babeltrace2 --clock-seconds --no-delta --names=none", "",
                     "2>/dev/null | LC_ALL=C sed 's/: {.*}, {/: {/;"
                     " s/( \\(\"[^\"]*\\(\\\\\"[^\"]*\\)*\"\\) : container = [0-9]* )/\\1/g' | LC_ALL=C sort");
}

/* The sum of all losses; it must be all that babeltrace2 warns of. */
static uint64_t losses(const struct fixture *t)
{
    char *said = output_of(t, "babeltrace2", "", "2>&1 >/dev/null");
    uint64_t sum = 0;
    for (char *line = strtok(said, "\n"); line; line = strtok(NULL, "\n")) {
        unsigned long long n;
        if (sscanf(line, "WARNING: Tracer discarded %llu event", &n) != 1)
            fail_msg("babeltrace2 says: %s", line);
        sum += n;
    }
    free(said);
    return sum;
}

TEST(the_merged_trace_has_the_same_records_and_losses)
{
    need_babeltrace2();
    struct fixture t;
    setup_run(&t);
    assert_int_equal(export_trace(t.dir, t.target, false), 0);
    char *apart = records(&t);
    assert_int_equal(losses(&t), t.lost);
    assert_int_equal(export_trace(t.dir, t.target, true), 0);
    char *merged = records(&t), *files = output_of(&t, "ls", "desk", "");
    assert_int_equal(losses(&t), t.lost);
    assert_string_equal(files, "metadata\nrecords\n");
    uint64_t lines = 0;
    for (const char *c = merged; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, fake_records(t.sensor));
    if (strcmp(apart, merged) != 0)
        fail_msg("other records");
    free(apart);
    free(merged);
    free(files);
    teardown_run(&t);
}

TEST(processes_that_declare_the_same_share_event_classes)
{
    struct fixture t;
    setup_run(&t);
    assert_int_equal(export_trace(t.dir, t.target, true), 0);
    char *events = output_of(&t, "grep -c '^event {'", "desk/metadata", "");
    assert_string_equal(events, "3\n"); /* tick, frame:shown, late */
    free(events);
    teardown_run(&t);
}

/* Descriptors that are open, and one for looking. */
static unsigned open_files(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2; /* . and .. */
}

static char *merged_records(const struct fixture *t, size_t *n)
{
    char path[sizeof t->target + 32], *bytes;
    snprintf(path, sizeof path, "%s/desk/records", t->target);
    assert_int_equal(file_read(path, 1 << 30, &bytes, n), 0);
    assert_int_equal(file_remove_tree(t->target), 0);
    return bytes;
}

/* Far fewer than there are streams, and it keeps none; what comes out is the same. */
TEST(it_needs_few_descriptors)
{
    struct fixture t;
    struct rlimit before, few;
    size_t all = 0, with_few = 0;
    setup_run(&t);
    assert_int_equal(export_trace(t.dir, t.target, true), 0);
    char *expected = merged_records(&t, &all);
    unsigned open_before = open_files();
    assert_true(open_before + MORE_FILES < FAKE_PROCESSES * FAKE_RINGS);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = (struct rlimit){open_before + MORE_FILES, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(export_trace(t.dir, t.target, true), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(open_files(), open_before);
    char *found = merged_records(&t, &with_few);
    assert_true(all > 0 && with_few == all && memcmp(found, expected, all) == 0);
    free(expected);
    free(found);
    teardown_run(&t);
}

TEST(without_a_database_nothing_is_merged_and_nothing_left)
{
    struct fixture t;
    char db[128];
    setup_run(&t);
    snprintf(db, sizeof db, "%s/run.db", t.dir);
    assert_int_equal(unlink(db), 0);
    assert_int_equal(export_trace(t.dir, t.target, true), BEZEL_ENOENT);
    assert_int_not_equal(access(t.target, F_OK), 0);
    teardown_run(&t);
}

/* Turns a bit of the file of a stream, whose records are not asked for any more. */
static void flip(const struct fixture *t, bool touched[FAKE_PROCESSES][FAKE_RINGS])
{
    char path[256];
    unsigned process = (unsigned)(seed_next(&seed) % FAKE_PROCESSES), ring = (unsigned)(seed_next(&seed) % FAKE_RINGS);
    touched[process][ring] = true;
    snprintf(path, sizeof path, "%s/trace/desk/%s-%u-%u", t->dir, process % 2 ? "server" : "client", 100 + process,
             ring);
    struct stat st;
    uint8_t byte;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    off_t at = (off_t)(seed_next(&seed) % (uint64_t)st.st_size);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= (uint8_t)(1U << seed_next(&seed) % 8);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static uint64_t untouched_records(const struct fixture *t, bool touched[FAKE_PROCESSES][FAKE_RINGS])
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < FAKE_PROCESSES; i++)
        for (unsigned ring = 0; ring < FAKE_RINGS; ring++)
            sum += touched[i][ring] ? 0 : t->sensor->processes[i]->rings[ring].records;
    return sum;
}

TEST(what_is_damaged_ends_its_stream_and_the_rest_is_read)
{
    need_babeltrace2();
    struct fixture t;
    bool touched[FAKE_PROCESSES][FAKE_RINGS] = {0};
    setup_run(&t);
    for (int i = 0; i < FLIPS; i++) {
        flip(&t, touched);
        assert_int_equal(export_trace(t.dir, t.target, true), 0);
        if (i % 8 != 0)
            continue;
        (void)losses(&t); /* babeltrace2 complains of nothing else */
        char *lines = output_of(&t, "babeltrace2", "", "2>/dev/null | wc -l");
        uint64_t read = strtoull(lines, NULL, 10);
        assert_in_range(read, untouched_records(&t, touched), fake_records(t.sensor));
        free(lines);
    }
    teardown_run(&t);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
