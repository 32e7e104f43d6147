// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

#include "bench/lttng.h"

#include "bench/batch.h"

bool lttng_here(void)
{
    static bool said;
    if (!said)
        bench_say("no figures of LTTng: this program was built without it (install-deps bench, then build again)");
    said = true;
    return false;
}

bool lttng_start(void)
{
    return lttng_here();
}

bool lttng_stop(void)
{
    return false;
}

void lttng_loop(int n)
{
    (void)n;
}

void lttng_eights(int n)
{
    (void)n;
}

void lttng_singles(uint32_t *ticks, int n)
{
    (void)ticks;
    (void)n;
}
