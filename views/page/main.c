// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/exit_code.h"
#include "base/inherited.h"
#include "base/lifetime.h"
#include "base/options.h"
#include "base/program.h"
#include "views/page/view_server.h"
#include "views/report/report.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

static const char about[] = "Serves the page of `bezel view`, which starts it: see there.\n";
static const char footer[] = "SIGINT and SIGTERM end it. Exit codes: 0 ended, 1 failed, 2 wrong arguments.\n";

enum { VIEW_NICE = 5 };
static const char *report; /* "live" or "ended": the report is to be printed */

static int read_options(int argc, char **argv, struct view_server_options *v)
{
    uint64_t port = 0;
    struct options o = {.program = "bezel-view", .usage = "--run DIR [OPTIONS]", .about = about, .footer = footer};
    const struct options_entry entries[] = {
        {"run", 0, "DIR", "the run directory", .value = &v->run},
        {"port", 0, "PORT", "where it serves on 127.0.0.1 (default: a free port)", .count = &port, .least = 1,
         .most = UINT16_MAX},
        {"file", 0, "FILE",
         "the file that opens the page, of mode 0600, which is removed at the end (default: one in a folder of its "
         "own)",
         .value = &v->file},
        {"control", 0, NULL, "print a secret, with which a page may control the run", .flag = &v->control},
        {"allow-origin", 0, "ORIGIN", "pages of this origin may connect, too: http://HOST:PORT", .value = &v->allowed},
        {"report", 0, "live|ended",
         "print the data of the report, of a run that goes on or is over, and end: it calls itself so, to serve pages "
         "meanwhile",
         .value = &report},
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    v->port = (uint16_t)port;
    if (code != OPTIONS_GO_ON)
        return code;
    if (v->allowed && strncmp(v->allowed, "http://", 7) != 0 && strncmp(v->allowed, "https://", 8) != 0)
        return options_misuse("--allow-origin takes http://HOST:PORT or https://HOST:PORT");
    if (report && strcmp(report, "live") != 0 && strcmp(report, "ended") != 0)
        return options_misuse("--report takes live or ended");
    return v->run ? OPTIONS_GO_ON : options_misuse("--run is missing");
}

static int print_report(const char *run)
{
    int code = report_print(run, strcmp(report, "live") == 0, NULL, REPORT_DATA, stdout);
    return code >= 0 && fflush(stdout) == 0 ? EXIT_OK : EXIT_FAILED;
}

int main(int argc, char **argv)
{
    static char bezel[PATH_MAX];
    struct view_server_options o = {0};
    inherited_take("bezel-view");
    int code = read_options(argc, argv, &o);
    if (code != OPTIONS_GO_ON)
        return code;
    if (report)
        return print_report(o.run);
    o.self = "/proc/self/exe";
    if (program_find_own("bezel", bezel, sizeof bezel) == 0)
        o.bezel = bezel;
    lifetime_catch_all();
    lifetime_step_back("BEZEL-VIEW", "view", VIEW_NICE);
    return view_server_run(&o, &lifetime_stop);
}
