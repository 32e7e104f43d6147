// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A store in a folder of its own, with one node, and the sensor that its packets come from. */
#ifndef BEZEL_TESTS_LIB_STORE_FIXTURE_H
#define BEZEL_TESTS_LIB_STORE_FIXTURE_H

#include "run/model/run_model.h"
#include "run/store/store.h"
#include "tests/lib/fake_sensor.h"

struct store_fixture {
    char dir[32];
    struct model *model;
    struct model_node *node;
    struct store *store;
    struct fake_sensor *sensor; /* it has no processes yet */
};

/** Set-up and tear-down of a test: *state is the fixture. */
int store_fixture_begin(void **state);
int store_fixture_end(void **state);

/** Process `i` of the sensor, with its dictionary, in the model; it may be there already. */
struct model_process *store_fixture_know(struct store_fixture *t, uint32_t i);

#endif
