// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Small files that are replaced in one step: whatever call fails, and wherever the writer is killed, a reader has the
 * old file or the new one, and the next writer gets by with what was left.
 */
#include "base/file.h"
#include "base/state_file.h"
#include "tests/lib/disk_calls.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 3000, VERSIONS = 6 };

static const uint8_t run[16] = "this run";
static uint64_t seed;

enum writer { PLAIN, LASTING, SHARED, STATE, WRITERS };

static void text_of(unsigned version, char text[TEXT])
{
    memset(text, 'a' + (int)version, TEXT - 1);
    text[TEXT - 1 - 400 * version] = '\0'; /* each has its length */
}

/* Writes version `version` in folder `dir`. Returns 0 or an error; that of a state file shows only in its content. */
static int write_version(enum writer writer, const char *dir, unsigned version)
{
    char path[128], text[TEXT];
    struct state_file f;
    struct folder folder;
    text_of(version, text);
    text[TEXT - 1] = '\0';
    snprintf(path, sizeof path, "%s/file", dir);
    if (writer == PLAIN)
        return file_replace(path, text, strlen(text));
    if (writer == LASTING)
        return file_replace_lasting(path, text, strlen(text));
    if (writer == SHARED) {
        int err = folder_open(dir, &folder);
        if (!err)
            err = file_replace_shared(folder.fd, "file", text, strlen(text));
        folder_close(&folder);
        return err;
    }
    state_file_init(&f, dir, "file", run, "what it is to do");
    state_file_write(&f, text);
    return 0;
}

/* The version that a reader gets; -1: there is none. Asserts that it is whole. */
static int read_version(enum writer writer, const char *dir)
{
    char path[128], text[TEXT], *data = NULL;
    size_t n;
    struct state_file f;
    snprintf(path, sizeof path, "%s/file", dir);
    state_file_init(&f, dir, "file", run, "what it is to do");
    if (writer == STATE)
        data = state_file_read(&f);
    else if (file_read(path, 1 << 16, &data, &n) != 0)
        data = NULL;
    if (!data)
        return -1;
    int version = data[0] - 'a';
    assert_in_range(version, 0, VERSIONS - 1);
    text_of((unsigned)version, text);
    assert_string_equal(data, text);
    free(data);
    return version;
}

static unsigned files_in(const char *dir)
{
    unsigned count = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    while (readdir(d))
        count++;
    closedir(d);
    return count - 2;
}

/* ---- kills ------------------------------------------------------------------------------------------------------- */

struct scene {
    enum writer writer;
    struct disk_model *disk;
    int sure, begun; /* the version that is there, and the one that is being written */
    bool power;
};

/* What is left here is right, and the next version is written over it. */
static void end_here(void *context)
{
    struct scene *t = context;
    char left[SCRATCH_PATH];
    struct disk_model *disk = disk_left(t->disk, t->power ? DISK_ORDERED : DISK_KILLED, &seed);
    scratch_make(left);
    assert_true(disk_put(disk, left));
    int version = read_version(t->writer, left);
    if (t->power)
        assert_true(version <= t->begun); /* names that nobody synced may be lost, what they lead to is whole */
    else
        assert_true(version == t->sure || version == t->begun);
    assert_int_equal(write_version(t->writer, left, VERSIONS - 1), 0);
    assert_int_equal(read_version(t->writer, left), VERSIONS - 1);
    assert_int_equal(files_in(left), 1);
    scratch_remove(left);
    disk_free(disk);
}

static void end_everywhere(enum writer writer, bool power)
{
    struct scene t = {.writer = writer, .sure = -1, .power = power};
    char dir[SCRATCH_PATH];
    scratch_make(dir);
    t.disk = disk_new(dir);
    disk_calls_watch(t.disk, end_here, &t);
    disk_calls_split(&seed);
    for (t.begun = 0; t.begun < VERSIONS - 1; t.begun++) {
        assert_int_equal(write_version(writer, dir, (unsigned)t.begun), 0);
        t.sure = t.begun;
        disk_calls_pause(true);
        end_here(&t);
        disk_calls_pause(false);
    }
    disk_calls_end();
    disk_free(t.disk);
    scratch_remove(dir);
}

TEST(killed_anywhere_the_old_file_is_there_or_the_new_one)
{
    for (enum writer writer = PLAIN; writer < WRITERS; writer++)
        end_everywhere(writer, false);
}

TEST(without_power_a_lasting_file_is_whole_or_an_older_one)
{
    for (int i = 0; i < (getenv("BEZEL_TEST_LIGHT") ? 2 : 10); i++)
        end_everywhere(LASTING, true);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Returns how many calls there were. */
static uint64_t fail_at(enum writer writer, unsigned kinds, uint64_t at, int error)
{
    char dir[SCRATCH_PATH];
    scratch_make(dir);
    struct disk_model *disk = disk_new(dir);
    assert_int_equal(write_version(writer, dir, 0), 0);
    disk_free(disk);
    disk = disk_new(dir);
    disk_calls_watch(disk, NULL, NULL);
    disk_calls_fail(kinds, at, 1, error);
    int err = write_version(writer, dir, 1);
    uint64_t made = disk_calls_made();
    disk_calls_fail(0, 0, 0, 0);
    int version = read_version(writer, dir);
    assert_true(version == 1 || (version == 0 && (err || writer == STATE)));
    assert_true(version == 0 || !err);
    assert_int_equal(write_version(writer, dir, 2), 0);
    assert_int_equal(read_version(writer, dir), 2);
    assert_int_equal(files_in(dir), 1);
    disk_calls_end();
    disk_free(disk);
    scratch_remove(dir);
    return made;
}

TEST(an_error_at_any_call_leaves_the_old_file)
{
    static const struct {
        unsigned kinds;
        int error; /* 0: in part */
    } faults[] = {{DISK_ROOM, ENOSPC}, {DISK_CHANGES, EIO}, {DISK_WRITES, 0}, {DISK_WRITES, EINTR}};
    for (enum writer writer = PLAIN; writer < WRITERS; writer++)
        for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
            uint64_t calls = fail_at(writer, faults[i].kinds, 0, faults[i].error);
            assert_true(calls > 0);
            for (uint64_t at = 1; at <= calls; at++)
                (void)fail_at(writer, faults[i].kinds, at, faults[i].error);
        }
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
