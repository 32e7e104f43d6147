// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A system under test with something of everything that a view shows: plant_floor. Until SIGTERM, each 10 ms a thread
 * works on a part (span `work`, within it span `drill`), hands it on to a second thread (messages), and records how
 * long that took (`part`, its latency in ms). Every hundredth part takes 40 ms, and comes with a burst of records that
 * its ring has no room for. Knob `speed` is how many parts are worked on at a time, and gauge `queue` follows it.
 */
#include <bezel/sensor.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

BEZEL_SPAN(work, (int64, part, "1"));
BEZEL_SPAN(drill);
BEZEL_SENT(handed);
BEZEL_RECEIVED(taken);
BEZEL_ASPECT(part, (float64, latency, "ms"), (int64, number, "1"));
BEZEL_ASPECT(burst, (int64, number, "1"));
BEZEL_GAUGE(queue, "parts");
BEZEL_KNOB(speed, "parts", 1, 8, 1);

enum { EVERY = 100, BURST = 20000 };

static volatile sig_atomic_t stopped;
static atomic_llong handed_on;

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void *take_parts(void *unused)
{
    bezel_thread_init(0);
    bezel_string from = bezel_intern("first");
    for (long long taken_last = 0; !stopped; wait_ms(1))
        for (long long now = atomic_load(&handed_on); taken_last < now;)
            bezel_received(taken, from, ++taken_last);
    return unused;
}

static void work_on(long long number, bezel_string to)
{
    bool slow = number % EVERY == 0;
    bezel_span whole = bezel_begin(work), hole = bezel_begin(drill);
    wait_ms(slow ? 39 : 2);
    bezel_end(drill, hole);
    for (int64_t i = 0; slow && i < BURST; i++)
        bezel_record(burst, i);
    wait_ms(1);
    bezel_end(work, whole, number);
    bezel_record(part, slow ? 40.0 : 3.0, number);
    bezel_gauge(queue, (double)bezel_knob(speed));
    bezel_sent(handed, to, number);
    atomic_store(&handed_on, number);
}

int main(void)
{
    pthread_t second;
    signal(SIGTERM, stop);
    bezel_string to = bezel_intern("<s>second</s>\x1b[31m");
    if (pthread_create(&second, NULL, take_parts, NULL) != 0)
        return 1;
    for (long long number = 1; !stopped; number++) {
        work_on(number, to);
        wait_ms(7);
    }
    pthread_join(second, NULL);
    return 0;
}
