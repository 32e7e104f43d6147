// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What libbezel has to tell the operator. The standard streams belong to the program, so a notice goes into the
 * segment, from where the external sensor carries it to the report; BEZEL_DEBUG=1 shows it on stderr too.
 */
#ifndef BEZEL_SENSOR_NOTICE_H
#define BEZEL_SENSOR_NOTICE_H

#include "base/err.h"
#include "sensor/segment.h"

/**
 * Tells `code` (BEZEL-..., under SEGMENT_CODE_BYTES) and a sentence (cut at SEGMENT_NOTICE_BYTES - 1), once however
 * often it is called with the same, and few of one code. `s` NULL: there is no segment, only stderr may show it.
 * `format` knows %s, %d, %u, %ld, %lu, %lld, %llu, %zu and %%. Keeps errno. Thread-safe, lock-free, async-signal-safe.
 * Two threads that tell the same at the same time may both have a place.
 */
void sensor_notice(struct segment *s, const char *code, const char *format, ...) BEZEL_PRINTF(3, 4);

/** Leaves in the doorbell why this process, called `name`, has no segment: the sentence as above. Shows it on stderr as
 * above. */
void sensor_refuse(struct doorbell *bell, const char *name, uint64_t pid_namespace, const char *format, ...)
    BEZEL_PRINTF(4, 5);

#endif
