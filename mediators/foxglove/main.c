// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/inherited.h"
#include "base/lifetime.h"
#include "base/options.h"
#include "mediators/foxglove/foxglove_server.h"

static const char about[] = "Gives the records of a run to Foxglove, Lichtblick and others by Foxglove's WebSocket "
                            "protocol. `bezel view --foxglove` starts it: see there.\n";
static const char footer[] = "SIGINT and SIGTERM end it. Exit codes: 0 ended, 1 failed, 2 wrong arguments.\n";

enum { FOXGLOVE_NICE = 10, SPEED_MOST = 1000000 };

static int check(struct foxglove_options *f, const char *address)
{
    const char *why;
    if (!f->run)
        return options_misuse("--run is missing");
    if (f->allowed && !f->open)
        return options_misuse("--allow-origin goes with --open: with the token, pages of any origin may connect");
    if (address && address_read_listen(address, &f->address, &why) != 0)
        return options_misuse("--listen %s: %s", address, why);
    return OPTIONS_GO_ON;
}

static int read_options(int argc, char **argv, struct foxglove_options *f)
{
    const char *address = NULL;
    struct options o = {.program = "bezel-foxglove", .usage = "--run DIR [OPTIONS]", .about = about, .footer = footer};
    const struct options_entry entries[] = {
        {"run", 0, "DIR", "the run directory", .value = &f->run},
        {"listen", 0, "ADDRESS",
         "where it is asked: PORT, on 127.0.0.1, or HOST:PORT with the address of an interface or *; * as PORT is a "
         "free one (default: 8765)",
         .value = &address},
        {"open", 0, NULL, "need no token in the address: programs that know only host and port may connect",
         .flag = &f->open},
        {"allow-origin", 0, "ORIGIN", "with --open: pages of this origin may connect, too: http://HOST:PORT",
         .value = &f->allowed},
        {"speed", 0, "N",
         "play a run that is over N times as fast as it was; 0: as fast as it is taken (0 to 1000000; default 1)",
         .count = &f->speed, .most = SPEED_MOST},
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    return code == OPTIONS_GO_ON ? check(f, address) : code;
}

int main(int argc, char **argv)
{
    struct foxglove_options o = {.address = {.kind = ADDRESS_IPV4, .host = "127.0.0.1", .port = FOXGLOVE_PORT},
                                 .speed = 1};
    inherited_take("bezel-foxglove");
    int code = read_options(argc, argv, &o);
    if (code != OPTIONS_GO_ON)
        return code;
    lifetime_catch_all();
    lifetime_step_back("BEZEL-FOXGLOVE", "view", FOXGLOVE_NICE);
    return foxglove_server_run(&o, &lifetime_stop);
}
