// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/command_mirror.h"
#include "ecs/cli/commands.h"

static const char about[] =
    "Shows a run in a browser, while it goes on or later: limits and their metrics, decisions, polling, the fields of "
    "records, spans of threads, messages, losses, and the records behind each of these. It prints the name of a file "
    "that opens the page; the page is served on 127.0.0.1, to this user alone, until ctrl-C. With --foxglove it gives "
    "the records to Foxglove, Lichtblick or PlotJuggler instead, and prints the address to open there: those of a run "
    "that goes on as they come, those of one that is over from the beginning. " COMMAND_RUN COMMAND_ENDPOINT "\n";
static const char footer[] = "From another machine: ssh -L PORT:127.0.0.1:PORT HOST, and a copy of the file.\n"
                             "\n"
                             "Exit codes: 0 done, 1 failed, 2 wrong usage, or no such run, 4 the run lies on another "
                             "machine, or the server is not reached.\n";

struct view {
    const char *port, *file, *origin, *listen, *speed;
    bool control, foxglove, open;
};

static int check(const struct view *v)
{
    if (v->foxglove && (v->file || v->control))
        return options_misuse("--file and --control are of the page, which --foxglove does not serve");
    if (!v->foxglove && (v->listen || v->open || v->speed))
        return options_misuse("--listen, --open and --speed go with --foxglove");
    return v->listen && v->port ? options_misuse("give --port or --listen") : OPTIONS_GO_ON;
}

/* Becomes the program that shows `run`, with the options that it takes, too. */
static int become(const struct view *v, const char *run)
{
    const char *arguments[16] = {v->foxglove ? "bezel-foxglove" : "bezel-view", "--run", run};
    size_t n = 3;
    const struct {
        const char *option, *value;
    } passed[] = {{v->foxglove ? "--listen" : "--port", v->port},
                  {"--listen", v->listen},
                  {"--file", v->file},
                  {"--allow-origin", v->origin},
                  {"--speed", v->speed}};
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (passed[i].value) {
            arguments[n++] = passed[i].option;
            arguments[n++] = passed[i].value;
        }
    if (v->control || v->open)
        arguments[n] = v->control ? "--control" : "--open";
    return command_become(arguments);
}

int cmd_view(int argc, char **argv)
{
    struct view v = {.port = NULL};
    char run[PATH_MAX];
    struct command_mirror m = {.dir = NULL};
    struct options o = {.program = "bezel view",
                        .usage = "[OPTIONS] [RUN]\n[OPTIONS] ENDPOINT",
                        .about = about,
                        .footer = footer,
                        .most = 1};
    const struct options_entry entries[] = {
        {"port", 0, "PORT", "where it serves (default: a free port; with --foxglove: 8765)", .value = &v.port},
        {"file", 0, "FILE", "the file that opens the page (default: a new one); only you can read it",
         .value = &v.file},
        {"control", 0, NULL, "print a secret, with which a page may turn knobs, and change polling and aspects",
         .flag = &v.control},
        {"allow-origin", 0, "ORIGIN", "pages of this origin may connect, too: http://HOST:PORT (default: none)",
         .value = &v.origin},
        {"foxglove", 0, NULL, "serve the records by Foxglove's WebSocket protocol, and no page", .flag = &v.foxglove},
        {"listen", 0, "ADDRESS",
         "with --foxglove: where it serves, as PORT, on 127.0.0.1, or HOST:PORT with the address of an interface or *",
         .value = &v.listen},
        {"open", 0, NULL,
         "with --foxglove: need no token in the address, for programs that know only host and port; then every user "
         "of this machine can read the run",
         .flag = &v.open},
        {"speed", 0, "N",
         "with --foxglove: play a run that is over N times as fast as it was; 0: as fast as it is taken (default: 1)",
         .value = &v.speed},
        COMMAND_MIRROR(&m),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = check(&v);
    if (code == OPTIONS_GO_ON)
        code = command_open_mirrored(&m, o.words[0], COMMAND_GROWS, run);
    return code == OPTIONS_GO_ON ? become(&v, run) : code;
}
