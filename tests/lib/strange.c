// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test that does what samplers do not expect: strange WAY COUNT. It records `odd` COUNT times, and says
 * so. brief: each record is of a thread of its own, with the smallest stack there is, that lives for some 1 ms. closes:
 * after the first record it closes all descriptors but the standard ones. hidden: it is a process that another one
 * without rights must not look into.
 */
#include <bezel/sensor.h>

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

BEZEL_ASPECT(odd, (int64, number, "1"));

static void *record(void *number)
{
    bezel_record(odd, *(long *)number);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return NULL;
}

static bool record_in_a_thread(long *number)
{
    pthread_t thread;
    pthread_attr_t attr;
    return pthread_attr_init(&attr) == 0 && pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN) == 0 &&
           pthread_create(&thread, &attr, record, number) == 0 && pthread_join(thread, NULL) == 0;
}

int main(int argc, char **argv)
{
    const char *way = argc == 3 ? argv[1] : "";
    long count = argc == 3 ? atol(argv[2]) : 0;
    bool brief = strcmp(way, "brief") == 0;
    if (strcmp(way, "hidden") == 0 && prctl(PR_SET_DUMPABLE, 0) != 0)
        return 1;
    for (long i = 0; i < count; i++) {
        if (brief && !record_in_a_thread(&i))
            return 1;
        if (!brief)
            record(&i);
        if (i == 0 && strcmp(way, "closes") == 0 && syscall(SYS_close_range, 3, ~0U, 0) != 0)
            return 1;
    }
    printf("recorded %ld\n", count);
    return 0;
}
