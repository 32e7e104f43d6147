// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A real collector in a folder of its own, and a made-up sensor for it. Nothing in here asserts. */
#ifndef BEZEL_TESTS_LIB_COLLECTOR_FIXTURE_H
#define BEZEL_TESTS_LIB_COLLECTOR_FIXTURE_H

#include "tests/lib/collector_process.h"
#include "tests/lib/fake_sensor.h"

struct collector_fixture {
    struct collector_process collector; /* not started */
    char ipc[LINK_ENDPOINT_MAX];        /* an endpoint in its folder */
    struct fake_sensor *sensor;         /* of node "control endpoint", without processes; not connected */
};

/** Makes both; NULL where that fails. */
struct collector_fixture *collector_fixture_new(const uint8_t run[16], uint64_t seed);

/** Ends the collector, if it runs, and removes its folder. */
void collector_fixture_free(struct collector_fixture *t);

/**
 * Continues `f` until value `name` of the collector's status is `least` or more, for `timeout_ns` at most. Returns
 * whether it is.
 */
bool collector_awaits(struct collector_process *c, struct fake_sensor *f, const char *name, int64_t least,
                      int64_t timeout_ns);

#endif
