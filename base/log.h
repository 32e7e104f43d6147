// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Messages to the operator, on stderr: `program: ID: sentence`. The id (BEZEL-...) is stable, so that a message can be
 * looked up and filtered; the sentence names the place and the remedy; control characters in it are shown as `?`. A
 * message id that repeats is let through at most LOG_BURST times a second; the next line let through says how many were
 * withheld. Thread-safe; not async-signal-safe.
 */
#ifndef BEZEL_BASE_LOG_H
#define BEZEL_BASE_LOG_H

#include "base/err.h"

#include <stdbool.h>

enum { LOG_BURST = 10 };

/** Sets the name that opens each line; borrows `program` for ever. Call before threads start. */
void log_init(const char *program);

/** Shows log_debug() lines too. */
void log_set_debug(bool on);

void log_error(const char *id, const char *format, ...) BEZEL_PRINTF(2, 3);
void log_warn(const char *id, const char *format, ...) BEZEL_PRINTF(2, 3);
void log_info(const char *id, const char *format, ...) BEZEL_PRINTF(2, 3);
void log_debug(const char *id, const char *format, ...) BEZEL_PRINTF(2, 3);

/**
 * Names what the lines are about, from now on: it stands behind the program's name. Borrows `what` until the next call;
 * NULL: nothing. One thread at a time.
 */
void log_about(const char *what);

/** The text of the last log_error() of this thread since log_forget_error(), for who is told elsewhere too; "": none.
 */
const char *log_last_error(void);
void log_forget_error(void);

#endif
