// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Ways in which a process comes to record, of aspect `one` with an int64: for processes that do so when they are told.
 */
#ifndef BEZEL_TESTS_LIB_WAYS_H
#define BEZEL_TESTS_LIB_WAYS_H

/**
 * Records once: 'o' from its code, 's' from the handler of a signal that it raises, 't' from a new thread, 'f' from a
 * child that it forks. Returns when that is done. Anything else records nothing. SIGUSR1 is taken.
 */
void ways_record(char how);

#endif
