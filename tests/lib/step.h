// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Single-stepping of a child, which is how a process is stopped or killed after any instruction. In a program that uses
 * it the kernel's clocks are read by a system call, which is one instruction. The usual way, in the vDSO, tries again
 * if the kernel has advanced its clocks meanwhile: a stepped process may try for ever.
 */
#ifndef BEZEL_TESTS_LIB_STEP_H
#define BEZEL_TESTS_LIB_STEP_H

#include <stdbool.h>
#include <sys/types.h>

/** In the child: stops, until the parent goes on with it. Ends it with 77 where no process may be traced. */
void step_stop(void);

/** Waits until child `pid` stops in step_stop(). False: it ended with 77; any other end fails the test. */
bool step_wait(pid_t pid);

/** Goes on with it up to its next step_stop(); `signal`, where not 0, is delivered to it first. */
void step_continue(pid_t pid, int signal);

/**
 * One instruction, or the delivery of a signal that the child raised; `signal`, where not 0, is delivered to it first.
 * False: it ended. *status, where not NULL, is its wait status then.
 */
bool step_once(pid_t pid, int signal, int *status);

/** Kills it where it stands. */
void step_kill(pid_t pid);

#endif
