// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * LTTng-UST beside Bezel: the same program, the same two numbers, in tracepoint bench:two. bench/lttng.c where LTTng is
 * there when this is built, else bench/lttng_none.c. `bench/with_lttng` starts the session daemon and makes the
 * session.
 */
#ifndef BEZEL_BENCH_LTTNG_H
#define BEZEL_BENCH_LTTNG_H

#include <stdbool.h>
#include <stdint.h>

/** Whether there is a session to take part in; says on stderr, once, where there is none. */
bool lttng_here(void);

/** Starts recording: true once tracepoints are enabled; then lttng_stop() must follow. */
bool lttng_start(void);

/** Stops recording: true where not one event was discarded since the session was made; else its figures do not count.
 */
bool lttng_stop(void);

/** As BENCH_LOOP(), BENCH_EIGHTS() and BENCH_SINGLES() define them. */
void lttng_loop(int n);
void lttng_eights(int n);
void lttng_singles(uint32_t *ticks, int n);

#endif
