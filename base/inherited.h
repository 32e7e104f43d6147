// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a process was given by the one that started it: ignored and blocked signals, the umask, closed standard streams.
 * A program of Bezel's puts right what would break it, and keeps what was there for the programs under test.
 */
#ifndef BEZEL_BASE_INHERITED_H
#define BEZEL_BASE_INHERITED_H

#include <stdbool.h>

/**
 * The first call of main() of program `name`; starts the log. Opens closed standard streams as file_hold_standard()
 * does. Unblocks all signals, and ends the ignoring of all but SIGHUP (nohup), SIGINT, SIGQUIT (shells ignore these for
 * commands in the background), SIGTSTP, SIGTTIN and SIGTTOU: with SIGCHLD ignored, for example, children end without a
 * status, and their pids are reused at once. Lets the umask leave us our own rights to what we make.
 */
void inherited_take(const char *name);

/** Whether the process was started with `signal` ignored, before inherited_take(). */
bool inherited_ignored(int signal);

/** For a child that becomes a program under test: makes signals, or the umask, as they were before inherited_take(). */
void inherited_give_signals(void);
void inherited_give_umask(void);

#endif
