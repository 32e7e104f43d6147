// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Exports of an ended run of which one byte of a packet's head was changed: all is as it was stored, or it is said that
 * it is not. */
#include "base/file.h"
#include "export/export.h"
#include "tests/lib/scratch.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PACKETS = 4, RECORDS = 5, DICTIONARY_AT = 104, OUTPUT_MAX = 1 << 20 };

static char run[SCRATCH_PATH + 8], target[SCRATCH_PATH + 8], out_path[SCRATCH_PATH + 8], said_path[SCRATCH_PATH + 8];
static struct fake_sensor *sensor;

static int to_csv(FILE *out)
{
    return export_records(run, EXPORT_CSV, false, &RECORD_FILTER_ALL, out);
}

static int to_merged_csv(FILE *out)
{
    return export_records(run, EXPORT_CSV, true, &RECORD_FILTER_ALL, out);
}

static int to_picl(FILE *out)
{
    return export_picl(run, &RECORD_FILTER_ALL, out);
}

static int to_mcap(FILE *out)
{
    return export_mcap(run, &RECORD_FILTER_ALL, NULL, 0, out);
}

/* `from`, which is one file of the target, goes to `out`. */
static int copy(const char *from, FILE *out)
{
    char path[2 * SCRATCH_PATH], *text;
    size_t n;
    snprintf(path, sizeof path, "%s/%s", target, from);
    int err = file_read(path, OUTPUT_MAX, &text, &n);
    if (err)
        return err;
    fwrite(text, 1, n, out);
    free(text);
    return 0;
}

static int to_database(FILE *out)
{
    int err = export_database(run, &RECORD_FILTER_ALL, target);
    return err ? err : copy("records.db", out);
}

static int to_files(FILE *out)
{
    int err = export_files(run, false, &RECORD_FILTER_ALL, target);
    return err ? err : copy("tick.csv", out);
}

/* Those of one reader with others take one byte of four: each field of a head has its own four at least. */
static const struct {
    const char *name;
    int (*export)(FILE *out);
    bool by_stream;
    unsigned step;
} ways[] = {{"csv", to_csv, true, 1},     {"database", to_database, true, 4},
            {"files", to_files, true, 4}, {"merged", to_merged_csv, false, 1},
            {"picl", to_picl, false, 4},  {"mcap", to_mcap, false, 4}};
enum { WAYS = sizeof ways / sizeof *ways };

/* What an export wrote and said. */
struct exported {
    char *out, *said;
    size_t n;
    int status;
};

/* In a process of its own: a log withholds warnings of an id that had many within a second. */
static struct exported export_by(unsigned way)
{
    struct exported x = {0};
    size_t n;
    pid_t pid = fork();
    if (pid == 0) {
        FILE *out = fopen(out_path, "w");
        int said = open(said_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        dup2(said, STDERR_FILENO);
        dup2(fileno(out), STDOUT_FILENO); /* where sort(1) writes lines of PICL */
        int err = ways[way].export(out);
        _exit(fclose(out) != 0 || err ? 1 : 0);
    }
    assert_int_equal(waitpid(pid, &x.status, 0), pid);
    assert_true(WIFEXITED(x.status));
    assert_int_equal(file_read(out_path, OUTPUT_MAX, &x.out, &x.n), 0);
    assert_int_equal(file_read(said_path, OUTPUT_MAX, &x.said, &n), 0);
    return x;
}

static void drop(struct exported *x)
{
    free(x->out);
    free(x->said);
}

static void expect(unsigned way, const struct exported *whole, unsigned byte)
{
    struct exported x = export_by(way);
    bool same = x.n == whole->n && memcmp(x.out, whole->out, x.n) == 0;
    if (!same && x.status == 0 && strcmp(x.said, whole->said) == 0)
        fail_msg("%s: byte %u of the head was changed, and what was exported is other without a word", ways[way].name,
                 byte);
    if (ways[way].by_stream && byte >= DICTIONARY_AT && byte < DICTIONARY_AT + 8 &&
        !strstr(x.said, "exported up to there"))
        fail_msg("%s: of a packet with another dictionary is said: %s", ways[way].name, x.said);
    drop(&x);
}

TEST(what_a_changed_head_takes_away_is_said_by_every_export)
{
    struct exported whole[WAYS];
    char path[2 * SCRATCH_PATH];
    snprintf(path, sizeof path, "%s/trace/desk/client-100-0", run);
    off_t at = (off_t)sensor->processes[0]->rings[0].starts[2];
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    for (unsigned way = 0; way < WAYS; way++) {
        whole[way] = export_by(way);
        if (whole[way].status != 0 || strstr(whole[way].said, "DAMAGED") || whole[way].n == 0)
            fail_msg("%s, of a run that is whole, says %d: %s", ways[way].name, whole[way].status, whole[way].said);
    }
    for (unsigned byte = 0; byte < PACKET_HEADER_BYTES; byte++) {
        uint8_t is, other;
        assert_int_equal(pread(fd, &is, 1, at + byte), 1);
        other = is ^ 1;
        assert_int_equal(pwrite(fd, &other, 1, at + byte), 1);
        for (unsigned way = 0; way < WAYS; way++)
            if (byte % ways[way].step == 0)
                expect(way, &whole[way], byte);
        assert_int_equal(pwrite(fd, &is, 1, at + byte), 1);
    }
    for (unsigned way = 0; way < WAYS; way++)
        drop(&whole[way]);
    close(fd);
}

static int store_run(void **state)
{
    static const uint8_t id[16] = "a run's identity";
    if (scratch_begin(state) != 0)
        return -1;
    snprintf(run, sizeof run, "%s/run", scratch_dir);
    snprintf(target, sizeof target, "%s/target", scratch_dir);
    snprintf(out_path, sizeof out_path, "%s/out", scratch_dir);
    snprintf(said_path, sizeof said_path, "%s/said", scratch_dir);
    sensor = fake_new("desk", id, 1);
    if (!sensor || mkdir(run, 0700) != 0)
        return -1;
    fake_add_process(sensor, "client", 100, ROLE_SUT);
    for (int i = 0; i < PACKETS; i++)
        fake_cut(sensor, 0, 0, RECORDS);
    return stored_whole(run, sensor);
}

static int remove_run(void **state)
{
    fake_free(sensor);
    return scratch_end(state);
}

int main(void)
{
    return test_run(store_run, remove_run);
}
