// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Command lines. A program describes its options in one table, by which they are read, and of which --help is made; the
 * manual page and the completion of shells are made of --help. One command line in a process, one thread.
 */
#ifndef BEZEL_BASE_OPTIONS_H
#define BEZEL_BASE_OPTIONS_H

#include "base/err.h"
#include "base/exit_code.h"

#include <stdbool.h>
#include <stdint.h>

enum { OPTIONS_GO_ON = -1 }; /* no exit code: the program goes on */

/** An option; its value goes to the one pointer that is set. If it is given twice, the last one counts, unless `once`.
 */
struct options_entry {
    const char *name;     /* the long form, without "--" */
    char letter;          /* the short form; 0: none */
    const char *argument; /* what --help calls the value; NULL: the option has none */
    const char *help;     /* a sentence without its first capital and its point; NULL: --help leaves the option out */
    bool *flag;           /* made true; of an option without a value */
    const char **value;   /* borrows the text */
    bool once;            /* of `value`, which begins as NULL: given twice, it is refused */
    int *descriptor;      /* the number of an open descriptor */
    uint64_t *count, *size;
    int64_t *duration; /* ns */
    /* Called with the text and options.context; returns as options_read() does. */
    int (*read)(const char *text, void *context);
    int64_t least, most; /* of count, size and duration */
};

/** A command line. Texts are wrapped where they are printed; a line in them that begins with a blank is not. */
struct options {
    const char *program;        /* "bezeld", "bezel run" */
    const char *usage;          /* its arguments, as "[OPTIONS] FILE"; a line for each way to use it */
    const char *about, *footer; /* what --help prints before the options and behind them */
    unsigned least, most;       /* how many words (arguments that are no options) are allowed */
    bool stop_at_word;          /* the first word ends the options; else options may follow words, too */
    void *context;              /* for options_entry.read */
    char **words;               /* set by options_read(): the words, and a NULL behind them */
    unsigned count;
    bool dashes; /* likewise: "--" ended the options */
};

/**
 * Reads --help, --version and the options of `entries`, the last of which has no name. Returns OPTIONS_GO_ON, or the
 * exit code to end with, after printing help or what is wrong.
 */
int options_read(struct options *o, const struct options_entry *entries, int argc, char **argv) BEZEL_MUST_CHECK;

/**
 * Prints to stderr what is wrong with the arguments of the program of the last options_read(), and how to get help;
 * returns EXIT_USAGE.
 */
int options_misuse(const char *format, ...) BEZEL_PRINTF(1, 2);

/**
 * Ends a program that has written to stdout: flushes it and returns `code`. If not all output could be written, logs
 * that and returns EXIT_FAILED instead of EXIT_OK.
 */
int options_end(int code);

/** Logs that a write to stdout failed with errno `sys`, or with one that is not known: 0. Returns EXIT_FAILED. */
int options_unwritten(int sys);

#endif
