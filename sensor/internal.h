// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The inside of libbezel. process.c owns the segment of this process: makes it, declares aspects, interns strings,
 * hands out rings, survives fork. emit.c is the write path. Everything here may meet a host program that closes our
 * descriptors, forks, or has no room: it returns, it never aborts.
 */
#ifndef BEZEL_SENSOR_INTERNAL_H
#define BEZEL_SENSOR_INTERNAL_H

#include "base/err.h"
#include "bezel/sensor.h"
#include "sensor/ring.h"

#include <stdbool.h>
#include <stdint.h>

/** What a thread keeps. `busy` is set while it is inside libbezel, so that a signal handler's record finds out. */
struct sensor_thread {
    struct ring_writer writer; /* writer.ring NULL: none */
    uint32_t ring;             /* its number */
    uint32_t released_seen;    /* how many rings had been released when none was free */
    bool busy;
    bool refused; /* no ring was free at `released_seen` */
};

extern _Thread_local struct sensor_thread sensor_thread __attribute__((tls_model("initial-exec")));

/** In an aspect's id: it cannot be declared, the rest of the id is the aspect that stands for it. */
#define SENSOR_UNDECLARED (UINT32_C(1) << 31)

/**
 * Enable word of aspects that are never recorded: no segment, no room in the dictionary, same name with other fields.
 */
extern const uint32_t sensor_enable_never;

/**
 * Gives `aspect`, and every other registered aspect, its id and its enable word, making the segment first where there
 * is none. Takes the lock, may block. The caller is busy.
 */
void sensor_declare(struct bezel_aspect *aspect);

/**
 * Claims a ring for the calling thread. Returns 0, BEZEL_EFULL, BEZEL_ENOENT where there is no segment. The caller is
 * busy.
 */
int sensor_claim(struct sensor_thread *t) BEZEL_MUST_CHECK;

/** Counts a record of `aspect`, declared or not yet, that has no ring to go to. Async-signal-safe. */
void sensor_count_unringed(struct bezel_aspect *aspect);

#endif
