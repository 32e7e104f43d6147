// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Knobs read by threads while they are turned at random, by who keeps their ranges and by who writes anything at all;
 * while their segment is made, more are declared, and children are forked. No read is ever out of range, and all see
 * the last value.
 */
#include "bezel/sensor.h"
#include "sensor/external/attach.h"
#include "sensor/external/program_knobs.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern const int descriptors_kept;
const int descriptors_kept = 1; /* of the segment that this process has, as it records */

enum { MIN = -1000, MAX = 1000, INITIAL = 500, READERS = 3, LATE = 8 };

BEZEL_KNOB(speed, "rpm", MIN, MAX, INITIAL);

static _Atomic bool ended;
static _Atomic int wrong;
static struct bezel_knob late[LATE];

static void *read_on(void *last)
{
    while (!ended) {
        int32_t value = bezel_knob(speed);
        wrong += value < MIN || value > MAX;
        for (int i = 0; i < LATE; i++) {
            value = bezel_knob_value(&late[i]);
            wrong += value < 0 || value > 9;
        }
    }
    *(int32_t *)last = bezel_knob(speed);
    return NULL;
}

static struct attached *attach_own(const char *dir, struct folder *folder)
{
    struct attached *a = NULL;
    assert_int_equal(folder_open(dir, folder), 0);
    DIR *d = opendir(dir);
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        if (strstr(e->d_name, SEGMENT_SUFFIX))
            assert_int_equal(segment_attach(folder, e->d_name, &a), 0);
    closedir(d);
    assert_non_null(a);
    assert_int_equal(segment_refresh_knobs(a), 1);
    return a;
}

static void fork_one(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(bezel_knob(speed) == INITIAL ? 0 : 1); /* whatever its parent's stands at */
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void turn_at_random(struct attached *a, uint64_t *seed, int rounds, int forks)
{
    int late_ones = 0;
    for (int n = 0; n < rounds; n++) {
        uint64_t r = seed_next(seed);
        if (r % 2)
            segment_set_knob(a, 0, MIN + (int32_t)(r / 2 % (MAX - MIN + 1)));
        else
            a->segment->knob_shift[r / 2 % SEGMENT_KNOBS] = (uint32_t)(r >> 16);
        int32_t value = segment_knob(a, 0);
        assert_in_range(value - MIN, 0, MAX - MIN);
        if (n % (rounds / LATE) == 0 && late_ones < LATE)
            bezel_knob_register(&late[late_ones++]);
        if (n % (rounds / forks) == 0)
            fork_one();
    }
}

TEST(no_read_is_out_of_range)
{
    static char names[LATE][16];
    uint64_t seed = seed_start();
    char dir[64];
    struct folder folder;
    int32_t last[READERS];
    pthread_t readers[READERS];
    bool light = getenv("BEZEL_TEST_LIGHT") != NULL;
    scratch_make(dir);
    setenv("BEZEL_DIR", dir, 1);
    for (int i = 0; i < LATE; i++) {
        snprintf(names[i], sizeof names[i], "late%d", i);
        late[i] = (struct bezel_knob){&bezel_knob_unset, names[i], "1", 0, 9, 5, 0, 0};
    }
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_on, &last[i]), 0);
    assert_int_equal(bezel_thread_init(0), 0); /* makes the segment, while they read */
    struct attached *a = attach_own(dir, &folder);
    turn_at_random(a, &seed, light ? 100000 : 400000, light ? 5 : 20);
    segment_set_knob(a, 0, 7);
    ended = true;
    for (int i = 0; i < READERS; i++) {
        pthread_join(readers[i], NULL);
        assert_int_equal(last[i], 7);
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(segment_refresh_knobs(a), 1);
    assert_int_equal(a->knobs->count, 1 + LATE);
    segment_reset_knobs(a);
    assert_int_equal(bezel_knob(speed), INITIAL);
    segment_detach(a, true);
    folder_close(&folder);
    scratch_remove(dir);
}
