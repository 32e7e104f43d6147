// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Faults of the machine: its wall clock is stepped, its disk fills up. */
#include "tests/faults/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* ---- clock ------------------------------------------------------------------------------------------------------- */

/* Forth and back, by a second to ten years. */
static int64_t draw_step(struct bed *b)
{
    static const int64_t most[] = {CLOCK_S, 3600 * CLOCK_S, 86400 * 365 * INT64_C(10) * CLOCK_S};
    int64_t step = (int64_t)(seed_next(&b->seed) % (uint64_t)most[bed_draw(b, 3)]);
    return bed_draw(b, 2) ? step : -step;
}

static void try_clock(struct bed *b, const struct bed_options *o, const void *of)
{
    struct bed_options shifted = *o;
    (void)of;
    shifted.shifted_clock = true;
    bed_make(b, &shifted);
    for (unsigned i = 0; i < o->rounds; i++) {
        atomic_store(b->wall, draw_step(b));
        b->result.tried++;
        bed_nap(b, 300);
        bed_await_progress(b, 2000);
    }
    bed_end(b, "0");
}

static void set_clock(struct bed *b, int64_t by)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += by / CLOCK_S;
    if (clock_settime(CLOCK_REALTIME, &t) != 0)
        bed_fail(b, "the machine's clock cannot be set: %s", strerror(errno));
}

/* The machine's own clock, an hour forth or back and restored after a tenth of a second. */
static void try_real_clock(struct bed *b, const struct bed_options *o, const void *of)
{
    (void)of;
    bed_make(b, o);
    for (unsigned i = 0; i < o->rounds; i++) {
        int64_t hour = (bed_draw(b, 2) ? 3600 : -3600) * CLOCK_S;
        set_clock(b, hour);
        bed_sleep(100 * CLOCK_MS);
        set_clock(b, -hour);
        b->result.tried++;
        bed_await_progress(b, 2000);
    }
    bed_end(b, "0");
}

/* ---- disk -------------------------------------------------------------------------------------------------------- */

/*
 * Takes all the room that is left on the file system of the run's directory: in one step, as far as that goes, since
 * who finds it nearly full gives room away that it had kept.
 */
static void fill_disk(struct bed *b, char path[PATH_MAX])
{
    static const char zeros[4096];
    struct statvfs left;
    struct stat st;
    snprintf(path, PATH_MAX, "%s/runs/ballast", b->dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ssize_t n = fd < 0 ? -1 : 0;
    if (fd >= 0 && fstat(fd, &st) == 0 && fstatvfs(fd, &left) == 0)
        (void)!posix_fallocate(fd, st.st_size, (off_t)(left.f_bfree * left.f_bsize));
    while (n >= 0)
        n = write(fd, zeros, sizeof zeros);
    if (fd < 0 || errno != ENOSPC)
        bed_fail(b, "%s: %s", path, strerror(errno));
    close(fd);
}

/* Whether the store still has the room that it keeps for its books. */
static bool has_reserve(struct bed *b)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/runs/latest/.reserve", b->dir);
    return access(path, F_OK) == 0;
}

static bool is_full(struct bed *b)
{
    return bed_said(b, "No space left on device");
}

struct disk {
    bool relieved; /* there is room again, before the run gives up */
    bool kill;     /* the collector is killed, and its next life finds the disk full */
};

/* Rounds in which the run ended its collector before the kill, or stored all in its reserve, as it may on a busy
 * machine. */
#define LATE_MAX 4

/*
 * The run stops at once, and what it has recorded is stored when there is room again; where there is none, the report
 * says how much is missing.
 */
static void try_disk(struct bed *b, const struct bed_options *o, const void *of)
{
    const struct disk *d = of;
    unsigned late = 0;
    for (unsigned i = 0; i < o->rounds;) {
        char ballast[PATH_MAX];
        struct bed_options small = *o;
        struct bed_result before = i ? b->result : (struct bed_result){0};
        small.seed = o->seed + i;
        small.store_mib = 16;
        small.may_lack = d->kill && !d->relieved;
        bed_make(b, &small);
        if (b->result.absent)
            return;
        b->result = before;
        bed_nap(b, 300);
        fill_disk(b, ballast);
        if (!has_reserve(b) && !d->relieved) /* the ballast may have that too */
            b->options.may_lack = true;
        b->result.tried++;
        bed_await(b, is_full, "the run says that there is no room");
        if (d->kill && !d->relieved)
            fill_disk(b, ballast); /* what the store had kept for its books too */
        bool bites = !d->kill || bed_kill(b, BED_COLLECTOR);
        if (d->relieved)
            unlink(ballast);
        bed_end_alone(b, "1");
        if (!d->kill && !d->relieved)
            bites = b->result.lost[BED_UNSTORED] + b->result.unknown > before.lost[BED_UNSTORED] + before.unknown;
        if (!bites && ++late > LATE_MAX)
            bed_fail(b, d->kill ? "no collector to kill" : "all was stored on a full disk");
        i += bites;
    }
}

#define DISK(...) (&(const struct disk){__VA_ARGS__})

const struct fault faults_machine[] = {
    {"wall clock stepped by up to ten years", try_clock, NULL, 6, 200},
    {"disk full, then not", try_disk, DISK(true, false), 1, 20},
    {"disk full, the collector killed, then not", try_disk, DISK(true, true), 1, 20},
    {"disk full, and stays so", try_disk, DISK(false, false), 1, 20},
    {"disk full, the collector killed, and it stays so", try_disk, DISK(false, true), 1, 20},
    {0},
};

const struct fault faults_asked[] = {
    {"the machine's own wall clock stepped by an hour", try_real_clock, NULL, 2, 10},
    {0},
};
