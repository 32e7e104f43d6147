// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/limit.h"
#include "base/log.h"
#include "ecs/commands.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *purpose;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"run", "run an experiment, from a file or around a command", cmd_run},
    {"check", "check an experiment file", cmd_check},
    {"report", "print the report of a run", cmd_report},
    {"export", "write a run's records as one trace, also while it is being written", cmd_export},
    {"verify", "prove a run complete, or name what is missing", cmd_verify},
    {"snapshot", "save what the rings of a run's flight recorders hold now", cmd_snapshot},
    {"aspects", "say which aspects of a run are recorded from now on", cmd_aspects},
    {"poll", "say how a run's nodes poll from now on, or see how they do", cmd_poll},
    {"knob", "tell or turn the knobs of a run's processes", cmd_knob},
    {"keygen", "make keys, for links beyond this machine", cmd_keygen},
    {"doctor", "tell what on this machine stands in the way, and its remedy", cmd_doctor},
};

enum {
    COMMANDS = sizeof commands / sizeof *commands,
    COMMAND_FILES = 16, /* open at once, of a command that opens few; `run` needs more, and asks for itself */
};

int command_end(int code)
{
    errno = 0; /* of a write that failed before nobody knows why */
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    log_error("BEZEL-OUTPUT", "what was to be written to standard output is not all there%s%s", errno ? ": " : "",
              errno ? strerror(errno) : "");
    return code == EXIT_HELD ? EXIT_FAILED : code;
}

int command_help(const char *text)
{
    fputs(text, stdout);
    return command_end(EXIT_HELD);
}

int command_misuse(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "bezel %s: ", command);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nTry 'bezel %s --help'.\n", command);
    return EXIT_USAGE;
}

static void usage(FILE *out)
{
    fputs("usage: bezel COMMAND [ARGUMENTS]\n"
          "\n"
          "Real-time adaptive monitoring of distributed embedded systems.\n"
          "\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].purpose);
    fputs("\n"
          "  --help, --version\n"
          "\n"
          "'bezel COMMAND --help' tells more.\n"
          "Exit codes: 0 done and limits held, 1 failed, 2 wrong file or usage, 3 a limit was violated,\n"
          "4 unreachable or timed out.\n",
          out);
}

int main(int argc, char **argv)
{
    file_hold_standard();
    log_init("bezel");
    signal(SIGXFSZ, SIG_IGN); /* a file that is too large is an error like others */
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (strcmp(name, "help") == 0 && argc == 2)) {
        usage(stdout);
        return command_end(EXIT_HELD);
    }
    if (strcmp(name, "--version") == 0) {
        puts("bezel " BEZEL_VERSION);
        return command_end(EXIT_HELD);
    }
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return limit_check_files(COMMAND_FILES) == 0 ? commands[i].run(argc - 1, argv + 1) : EXIT_FAILED;
    if (*name)
        fprintf(stderr, "bezel: there is no command '%s'\n\n", name);
    usage(stderr);
    return EXIT_USAGE;
}
