// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test with names of threads: named WHAT MS. It records `named` from a thread for MS ms. WHAT: `late`:
 * the thread is "early" until half of the time is over, "later one" from then on; `latin`: its name is no UTF-8;
 * `many`: it takes 10,000 names in turn.
 */
#include <bezel/sensor.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

BEZEL_ASPECT(named, (int64, step, "1"));

enum { NAMES = 10000 };

struct options {
    const char *what;
    long ms;
};

static void rename_at(const struct options *o, long step)
{
    char name[16];
    if (strcmp(o->what, "many") == 0) {
        for (long i = step * NAMES / o->ms; i < (step + 1) * NAMES / o->ms; i++) {
            snprintf(name, sizeof name, "name %u", (unsigned)i % NAMES);
            pthread_setname_np(pthread_self(), name);
        }
    } else if (strcmp(o->what, "late") == 0 && (step == 0 || step == o->ms / 2)) {
        pthread_setname_np(pthread_self(), step == 0 ? "early" : "later one");
    } else if (strcmp(o->what, "latin") == 0 && step == 0) {
        pthread_setname_np(pthread_self(), "M\xfcller\tA");
    }
}

static void *work(void *options)
{
    const struct options *o = options;
    const struct timespec ms = {.tv_nsec = 1000000};
    for (long step = 0; step < o->ms; step++) {
        rename_at(o, step);
        bezel_record(named, step);
        nanosleep(&ms, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    struct options o = {.what = argc == 3 ? argv[1] : "", .ms = argc == 3 ? atol(argv[2]) : 0};
    if (o.ms < 2 || pthread_create(&thread, NULL, work, &o) != 0)
        return 2;
    pthread_join(thread, NULL);
    return 0;
}
