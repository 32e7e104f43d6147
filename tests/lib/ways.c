// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/ways.h"

#include "bezel/sensor.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

BEZEL_ASPECT(one, (int64, number, "1"));

static void on_signal(int number)
{
    (void)number;
    bezel_record(one, 2);
}

static void *in_a_thread(void *unused)
{
    bezel_record(one, 3);
    return unused;
}

void ways_record(char how)
{
    pthread_t thread;
    if (how == 'o') {
        bezel_record(one, 1);
    } else if (how == 's') {
        signal(SIGUSR1, on_signal);
        raise(SIGUSR1);
    } else if (how == 't') {
        if (pthread_create(&thread, NULL, in_a_thread, NULL) == 0)
            pthread_join(thread, NULL);
    } else if (how == 'f') {
        if (fork() == 0) {
            bezel_record(one, 4);
            _exit(0);
        }
        wait(NULL);
    }
}
