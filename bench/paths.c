// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What the path of a run costs while it grows: bench-paths RUN prints how much more CPU time reading the records of a
 * run takes with it than without, for each record, of each the least of several; bench-paths talk COUNT is a program in
 * which two threads send each other COUNT messages each.
 */
#include <bezel/sensor.h>

#include "analysis/live.h"
#include "base/clock.h"
#include "run/read/run_reader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 5 };

BEZEL_SENT(sent);
BEZEL_RECEIVED(received);
BEZEL_SPAN(answering);

/* ---- a program that talks to itself ------------------------------------------------------------------------------ */

struct talker {
    int from, to;
    int64_t count, first; /* tag of its first message */
    bool begins;
};

static bool say_one(const struct talker *t, bezel_string peer, int64_t tag)
{
    bezel_sent(sent, peer, tag);
    return write(t->to, &tag, sizeof tag) == sizeof tag;
}

static void *talk(void *of)
{
    const struct talker *t = of;
    bezel_string peer = bezel_intern("talk");
    int64_t tag = t->first, got;
    for (int64_t i = 0; i < t->count; i++, tag += 2) {
        bezel_span s = bezel_begin(answering);
        if ((t->begins && !say_one(t, peer, tag)) || read(t->from, &got, sizeof got) != sizeof got)
            break;
        bezel_received(received, peer, got);
        if (!t->begins && !say_one(t, peer, tag))
            break;
        bezel_end(answering, s);
    }
    return NULL;
}

static int talk_to_itself(int64_t count)
{
    int there[2], back[2];
    pthread_t thread;
    if (pipe(there) != 0 || pipe(back) != 0)
        return 1;
    struct talker asker = {back[0], there[1], count, 0, true}, answerer = {there[0], back[1], count, 1, false};
    if (pthread_create(&thread, NULL, talk, &answerer) != 0)
        return 1;
    talk(&asker);
    return pthread_join(thread, NULL) != 0;
}

/* ---- the path of a run ------------------------------------------------------------------------------------------- */

static bool takes(const void *of, const struct dict_aspect *a)
{
    (void)of;
    return activity_wants(a);
}

static int64_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * CLOCK_S + t.tv_nsec;
}

/* CPU time of reading all records, ns; -1: an error. With `f` they go into it. */
static int64_t read_all(const char *run, struct live *f, uint64_t *records)
{
    struct record_filter filter = RECORD_FILTER_ALL;
    struct run_reader *reader = NULL;
    struct record_item item;
    filter.takes = takes;
    int64_t start = cpu_time();
    int err = run_reader_open(run, &filter, &reader);
    err = err ? err : run_reader_look(reader, RUN_READER_ALL);
    for (*records = 0; !err && (err = run_reader_next(reader, &item)) > 0; ++*records)
        err = f ? live_take(f, &item) : 0;
    run_reader_close(reader);
    return err ? -1 : cpu_time() - start;
}

static int measure(const char *run)
{
    int64_t least = INT64_MAX, least_without = INT64_MAX;
    uint64_t records = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct live f;
        int64_t without = read_all(run, NULL, &records), with = -1;
        if (live_init(&f, INT64_MIN) == 0)
            with = read_all(run, &f, &records);
        live_fini(&f);
        if (without < 0 || with < 0 || records == 0)
            return 1;
        least = with < least ? with : least;
        least_without = without < least_without ? without : least_without;
    }
    printf("path_live_cpu_ns_per_record %.1f ns\n", (double)(least - least_without) / (double)records);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "talk") == 0)
        return talk_to_itself(strtoll(argv[2], NULL, 10));
    if (argc == 2)
        return measure(argv[1]);
    fputs("usage: bench-paths RUN\n       bench-paths talk COUNT\n", stderr);
    return 2;
}
