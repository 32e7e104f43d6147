// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The exit codes of all programs. They are here so that the verdict of a run can be computed without a program. */
#ifndef BEZEL_BASE_EXIT_CODE_H
#define BEZEL_BASE_EXIT_CODE_H

enum exit_code {
    EXIT_OK = 0,          /* done, and the limits held */
    EXIT_FAILED = 1,      /* something failed */
    EXIT_USAGE = 2,       /* the file is wrong, the command is misused, or something that it names does not exist */
    EXIT_VIOLATED = 3,    /* a limit was violated */
    EXIT_UNREACHABLE = 4, /* a daemon or node could not be reached, or did not answer in time */
};

#endif
