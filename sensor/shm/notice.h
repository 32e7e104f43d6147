// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Notices: messages of libbezel to the operator. The standard streams belong to the program, so a notice is written
 * into the segment, and the external sensor passes it on to the report. BEZEL_DEBUG=1 prints it on stderr too.
 */
#ifndef BEZEL_SENSOR_SHM_NOTICE_H
#define BEZEL_SENSOR_SHM_NOTICE_H

#include "base/err.h"
#include "sensor/shm/segment.h"

#include <stdbool.h>

/**
 * Writes a notice: `code` (BEZEL-..., shorter than SEGMENT_CODE_BYTES, and in the list of mdr/note.c) and
 * a sentence (cut at SEGMENT_NOTICE_BYTES - 1). The same notice is written once, and at most SEGMENT_NOTICES_A_CODE of
 * one code. `s` NULL: there is no segment, and only stderr may have it. `format` may have %s, %d, %u, %ld, %lu, %lld,
 * %llu, %zu and %%. Keeps errno. Thread-safe, lock-free, async-signal-safe. Two threads with the same notice at the
 * same time may both write it.
 */
void sensor_notice(struct segment *s, const char *code, const char *format, ...) BEZEL_PRINTF(3, 4);

/**
 * Adds this process to a count of processes that record and have no segment. False: this count is not read any more.
 * Async-signal-safe.
 */
bool sensor_count_unobserved(_Atomic uint32_t *unobserved);

/**
 * Counts process `pid` of that namespace, called `name`, in the doorbell as not observed, and writes there why it has
 * no segment: `text`, cut as above. False: this doorbell is not read any more. Keeps errno. Async-signal-safe.
 */
bool sensor_refuse(struct doorbell *doorbell, uint32_t pid, const char *name, uint64_t pid_namespace, const char *text);

#endif
