// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Slices that go to one track, as perfetto_fits() says, come back as they were when a reader puts their begins and ends
 * in order of time, equal ones as they were written, and takes the latest that began at each end. Slices that nest and
 * begin at different times all fit.
 */
#include "export/perfetto_tracks.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <stdlib.h>

enum { SLICES = 40, ROUNDS = 2000, TIMES = 24 };

struct mark {
    int64_t at;
    size_t written;
    int slice; /* its number; -1 - number where it ends */
};

static int by_time(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->written > y->written) - (x->written < y->written);
}

static int by_end(const void *a, const void *b)
{
    const struct perfetto_slice *x = a, *y = b;
    return (x->end > y->end) - (x->end < y->end);
}

/* Puts them on one track, and reads it. Returns how many fitted. */
static int read_back(const struct perfetto_slice *slices, int n)
{
    struct perfetto_track track = {.end = INT64_MIN, .forgotten = INT64_MIN};
    struct mark marks[2 * SLICES];
    int stack[SLICES], depth = 0, fitted = 0;
    size_t count = 0;
    for (int i = 0; i < n; i++)
        if (perfetto_fits(&track, slices[i])) {
            marks[count] = (struct mark){slices[i].begin, count, i};
            count++;
            marks[count] = (struct mark){slices[i].end, count, -1 - i};
            count++;
            fitted++;
        }
    qsort(marks, count, sizeof *marks, by_time);
    for (size_t i = 0; i < count; i++) {
        if (marks[i].slice >= 0)
            stack[depth++] = marks[i].slice;
        else
            assert_int_equal(slices[stack[--depth]].end, slices[-1 - marks[i].slice].end);
        assert_true(marks[i].slice >= 0 || slices[stack[depth]].begin == slices[-1 - marks[i].slice].begin);
    }
    assert_int_equal(depth, 0);
    free(track.roots);
    return fitted;
}

TEST(any_slices)
{
    uint64_t seed = seed_start();
    for (int round = 0; round < ROUNDS; round++) {
        struct perfetto_slice slices[SLICES];
        for (int i = 0; i < SLICES; i++) {
            int64_t begin = (int64_t)(seed_next(&seed) % TIMES);
            slices[i] = (struct perfetto_slice){begin, begin + (int64_t)(seed_next(&seed) % TIMES)};
        }
        qsort(slices, SLICES, sizeof *slices, by_end);
        assert_true(read_back(slices, SLICES) >= 1);
    }
}

/* A tree of slices, in the order of their ends: as a thread records them. */
static int64_t grow(uint64_t *seed, struct perfetto_slice *slices, int *n, int depth, int64_t at)
{
    int64_t begin = at++;
    while (depth > 0 && *n < SLICES - 8 && seed_next(seed) % 3)
        at = grow(seed, slices, n, depth - 1, at + (int64_t)(seed_next(seed) % 2));
    slices[(*n)++] = (struct perfetto_slice){begin, at};
    return at + (int64_t)(seed_next(seed) % 2);
}

TEST(nested_ones_fit)
{
    uint64_t seed = seed_start();
    for (int round = 0; round < ROUNDS; round++) {
        struct perfetto_slice slices[SLICES];
        int n = 0;
        for (int64_t at = 0; n < SLICES - 8;)
            at = grow(&seed, slices, &n, 6, at);
        assert_int_equal(read_back(slices, n), n);
    }
}

TEST(what_is_forgotten_does_not_fit)
{
    struct perfetto_track track = {.end = INT64_MIN, .forgotten = INT64_MIN};
    for (int64_t i = 0; i <= PERFETTO_ROOTS; i++)
        assert_true(perfetto_fits(&track, (struct perfetto_slice){2 * i, 2 * i + 1}));
    assert_true(track.count <= PERFETTO_ROOTS);
    assert_false(perfetto_fits(&track, (struct perfetto_slice){1, 3 * PERFETTO_ROOTS}));
    assert_true(perfetto_fits(&track, (struct perfetto_slice){2 * PERFETTO_ROOTS - 1, 3 * PERFETTO_ROOTS}));
    free(track.roots);
}
