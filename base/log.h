// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Messages to the operator, on stderr: `program: ID: sentence`. The id (BEZEL-...) is stable, so that a message can be
 * looked up and filtered; the sentence names the place and the remedy; control characters in it are shown as `?`. At
 * most LOG_BURST messages of an id are printed in a second; the next one printed adds how many were withheld.
 * Thread-safe; not async-signal-safe.
 */
#ifndef BEZEL_BASE_LOG_H
#define BEZEL_BASE_LOG_H

#include "base/err.h"

enum { LOG_BURST = 10 };

/** Sets the name that opens each line; borrows `program` for ever. Call before threads start. */
void log_init(const char *program);

void log_error(const char *id, const char *format, ...) BEZEL_PRINTF(2, 3);
void log_warn(const char *id, const char *format, ...) BEZEL_PRINTF(2, 3);
void log_info(const char *id, const char *format, ...) BEZEL_PRINTF(2, 3);

/**
 * Sets the subject of the lines from now on, printed behind the program's name. Borrows `what` until the next call;
 * NULL: none. One thread at a time.
 */
void log_about(const char *what);

/** From now on nothing is printed: in a library whose program decides what it prints. */
void log_mute(void);

/** The text of this thread's last log_error() since log_forget_error(), to be sent to a peer as well; "": none. */
const char *log_last_error(void);
void log_forget_error(void);

#endif
