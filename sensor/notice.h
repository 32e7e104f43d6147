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

#include <stdbool.h>

/**
 * Tells `code` (BEZEL-..., under SEGMENT_CODE_BYTES) and a sentence (cut at SEGMENT_NOTICE_BYTES - 1), once however
 * often it is called with the same, and few of one code. `s` NULL: there is no segment, only stderr may show it.
 * `format` knows %s, %d, %u, %ld, %lu, %lld, %llu, %zu and %%. Keeps errno. Thread-safe, lock-free, async-signal-safe.
 * Two threads that tell the same at the same time may both have a place.
 */
void sensor_notice(struct segment *s, const char *code, const char *format, ...) BEZEL_PRINTF(3, 4);

/**
 * Counts this process, once, as one that records and has no segment. False: nobody reads this count any more.
 * Async-signal-safe.
 */
bool sensor_count_unobserved(_Atomic uint32_t *unobserved);

/**
 * Counts this process, called `name`, in the doorbell as unobserved, and leaves there why it has no segment: `text` is
 * cut as above. False: nobody reads this doorbell any more. Keeps errno. Async-signal-safe.
 */
bool sensor_refuse(struct doorbell *bell, const char *name, uint64_t pid_namespace, const char *text);

#endif
