// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A program to be launched, and its message to a launcher. */
#ifndef BEZEL_BEZELD_LAUNCH_LAUNCH_H
#define BEZEL_BEZELD_LAUNCH_LAUNCH_H

#include "base/err.h"
#include "mdr/parts.h"

struct message_launch;

#define LAUNCH_NO_LIMITS                                                                                               \
    {                                                                                                                  \
        -1, -1, -1, -1, -1, -1, -1, -1, -1                                                                             \
    }

/** All texts are borrowed. */
struct launch {
    struct message_start of;
    const char *path;         /* executable file, absolute; NULL: argv[0] is looked for as execvp() does */
    char *const *argv;        /* argv[0] as the user wrote it; NULL-terminated */
    char *const *environment; /* "NAME=value", added or replaced; NULL-terminated. NULL: none */
    const char *directory;    /* working directory; NULL: the launcher's */
    const char *file;         /* of LAUNCH_OUTPUT_FILE: stdout and stderr are appended to it; else NULL */
    enum message_launch_output output;
    bool foreground; /* stays in the terminal's process group and keeps stdin; otherwise a session of its own */
    uint32_t port;   /* TCP or UDP, that it is to listen at; 0: none */
    int64_t limits[RLIMITS_OF]; /* soft and hard; -1: as the launcher's */
    int64_t grace;              /* from SIGTERM to SIGKILL when the launched programs are ended, ns */
    int64_t silence;            /* without a command after which the launcher ends them, ns; 0: for ever */
    int64_t timeout;            /* after which the launcher ends this one, ns; 0: never */
};

/** Makes the message. Returns 0, or BEZEL_EFULL where the texts are longer than a message may be. */
int launch_to_message(const struct launch *l, struct message_launch *m) BEZEL_MUST_CHECK;

/**
 * Reads the message. Returns 0 with *l, which borrows from `m` and from *pointers, an allocation that the caller frees;
 * or BEZEL_ENOMEM.
 */
int launch_from_message(const struct message_launch *m, struct launch *l, char ***pointers) BEZEL_MUST_CHECK;

#endif
