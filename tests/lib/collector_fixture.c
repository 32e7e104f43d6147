// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/collector_fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct collector_fixture *collector_fixture_new(const uint8_t run[16], uint64_t seed)
{
    struct collector_fixture *t = calloc(1, sizeof *t);
    if (!t || !collector_make(&t->collector) || !(t->sensor = fake_new("desk", run, seed))) {
        free(t);
        return NULL;
    }
    snprintf(t->ipc, sizeof t->ipc, "ipc://%s/data", t->collector.dir);
    return t;
}

void collector_fixture_free(struct collector_fixture *t)
{
    if (t->collector.pid)
        collector_end(&t->collector, SIGKILL);
    fake_free(t->sensor);
    collector_remove(&t->collector);
    free(t);
}

bool collector_awaits(struct collector_process *c, struct fake_sensor *f, const char *name, int64_t least,
                      int64_t timeout_ns)
{
    int64_t deadline = clock_now() + timeout_ns;
    while (collector_status(c, name) < least && clock_now() < deadline)
        fake_round(f, 10 * CLOCK_MS);
    return collector_status(c, name) >= least;
}
