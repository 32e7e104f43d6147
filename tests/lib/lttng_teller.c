// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* lttng_teller COUNT: two threads trace by LTTng, COUNT times each, with all types of fields that it has. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/lib/lttng_teller.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int count;

static void *tell(void *name)
{
    static const int32_t all[] = {1, 2, 3, 4};
    char text[64];
    (void)!pthread_setname_np(pthread_self(), name);
    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof text, "%s, \"%d\"", (const char *)name, i % 7);
        lttng_ust_tracepoint(teller, told, i, i / 8.0, text, all);
        if (i % 5 == 0)
            lttng_ust_tracepoint(teller, plain);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static char names[2][8] = {"first", "second"};
    pthread_t threads[2];
    count = argc > 1 ? atoi(argv[1]) : 100;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, tell, names[i]) != 0)
            return 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
