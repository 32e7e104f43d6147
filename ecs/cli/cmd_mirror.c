// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/lifetime.h"
#include "base/log.h"
#include "collector/remote/mirror.h"
#include "ecs/cli/command_mirror.h"
#include "ecs/cli/commands.h"
#include "run/store/mirror_state.h"

static const char about[] =
    "Copies the run that a server serves at ENDPOINT into folder DIR, while the run goes on or later, and goes on "
    "until the run is over and all of it is there. All commands that read a run read DIR meanwhile. ENDPOINT is where "
    "`bezel serve` or a collector serves it on this machine or another, such as tcp://desk:7770. Where the link is "
    "cut, or the disk is full, it tries again, and goes on from what is there; so does a later `bezel mirror` into the "
    "same DIR. The file DIR/mirror says how it stands. Output and logs of programs stay where they are.\n";
static const char footer[] = "Exit codes: 0 all that was asked for is there, or ended by ctrl-C, 1 failed, 2 wrong "
                             "usage, or DIR is something else, 4 the server is not reached.\n";

/* Says how it ended. */
static void say_end(const char *dir)
{
    struct mirror_look look;
    mirror_state_look(dir, &look);
    if (look.text[0])
        log_info("BEZEL-MIRROR", "%s: %s", dir, look.text);
    else
        log_info("BEZEL-MIRROR", "%s: the run is over, and all of it is here", dir);
}

int cmd_mirror(int argc, char **argv)
{
    struct mirror_options m = {.place = {.stop = &lifetime_stop}};
    struct options o = {.program = "bezel mirror",
                        .usage = "[OPTIONS] ENDPOINT DIR",
                        .about = about,
                        .footer = footer,
                        .least = 2,
                        .most = 2};
    const struct options_entry entries[] = {
        {"once", 0, NULL, "end with what is stored by now", .flag = &m.once},
        COMMAND_KEYS(&m.place),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    if (!remote_link_is_endpoint(o.words[0]))
        return options_misuse("'%s' is no endpoint: tcp://HOST:PORT or ipc:///PATH", o.words[0]);
    lifetime_catch_all();
    m.place.endpoint = o.words[0];
    m.dir = o.words[1];
    int err = mirror_run(&m);
    if (!err || err == BEZEL_EAGAIN)
        say_end(m.dir);
    return command_mirror_exit(err);
}
