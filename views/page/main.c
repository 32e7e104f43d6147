// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/exit_code.h"
#include "base/file.h"
#include "base/inherited.h"
#include "base/log.h"
#include "base/program.h"
#include "base/serve.h"
#include "base/units.h"
#include "views/page/view_server.h"
#include "views/report/report.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <malloc.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: bezel-view --run DIR [--port PORT] [--file FILE] [--control] [--allow-origin ORIGIN]\n"
    "\n"
    "Serves the page of `bezel view`, which starts it: see there.\n"
    "\n"
    "  --run DIR              the run directory\n"
    "  --port PORT            where it serves on 127.0.0.1 (default: a free port)\n"
    "  --file FILE            the file that opens the page (default: one in a folder of its own)\n"
    "  --control              pages that have the secret may control the run\n"
    "  --allow-origin ORIGIN  pages of this origin may connect, too: http://HOST:PORT\n"
    "  --report=live|ended    print the data of the report, of a run that goes on or is over, and end\n"
    "  --help, --version      print this, or the version, and end\n"
    "\n"
    "SIGINT and SIGTERM end it. Exit codes: 0 ended, 1 failed, 2 wrong arguments.\n";

enum { VIEW_NICE = 5 };
enum { OPT_RUN = 256, OPT_PORT, OPT_FILE, OPT_CONTROL, OPT_ORIGIN, OPT_REPORT, OPT_HELP, OPT_VERSION };

static const struct option long_options[] = {
    {"run", required_argument, NULL, OPT_RUN},
    {"port", required_argument, NULL, OPT_PORT},
    {"file", required_argument, NULL, OPT_FILE},
    {"control", no_argument, NULL, OPT_CONTROL},
    {"allow-origin", required_argument, NULL, OPT_ORIGIN},
    {"report", required_argument, NULL, OPT_REPORT},
    {"help", no_argument, NULL, OPT_HELP},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static volatile sig_atomic_t stop;
static const char *report; /* "live" or "ended": the report is to be printed */

static void on_stop(int sig)
{
    stop = sig;
}

static int misuse(const char *why)
{
    return serve_misuse("bezel-view", "%s", why);
}

static bool read_port(const char *text, uint16_t *port)
{
    const char *why;
    uint64_t n;
    if (units_read_count(text, &n, &why) != 0 || n < 1 || n > UINT16_MAX)
        return false;
    *port = (uint16_t)n;
    return true;
}

/* Returns -1 to go on, or the exit code to end with. */
static int read_options(int argc, char **argv, struct view_server_options *o)
{
    for (int c; (c = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (c == OPT_HELP)
            return serve_print(usage);
        if (c == OPT_VERSION)
            return serve_print("bezel-view " BEZEL_VERSION "\n");
        if (c == OPT_RUN)
            o->run = optarg;
        else if (c == OPT_FILE)
            o->file = optarg;
        else if (c == OPT_CONTROL)
            o->control = true;
        else if (c == OPT_ORIGIN)
            o->allowed = optarg;
        else if (c == OPT_REPORT)
            report = optarg;
        else if (c != OPT_PORT)
            return misuse("this option is unknown, or lacks its value");
        else if (!read_port(optarg, &o->port))
            return misuse("--port takes 1 to 65535");
    }
    if (optind < argc)
        return misuse("there are words that are no options");
    if (o->allowed && strncmp(o->allowed, "http://", 7) != 0 && strncmp(o->allowed, "https://", 8) != 0)
        return misuse("--allow-origin takes http://HOST:PORT or https://HOST:PORT");
    if (report && strcmp(report, "live") != 0 && strcmp(report, "ended") != 0)
        return misuse("--report takes live or ended");
    return o->run ? -1 : misuse("--run DIR is missing");
}

static int print_report(const char *run)
{
    int code = report_print(run, strcmp(report, "live") == 0, REPORT_DATA, stdout);
    return code >= 0 && fflush(stdout) == 0 ? EXIT_OK : EXIT_FAILED;
}

int main(int argc, char **argv)
{
    static char bezel[PATH_MAX];
    struct view_server_options o = {0};
    inherited_take("bezel-view");
    int code = read_options(argc, argv, &o);
    if (code >= 0)
        return code;
    if (report)
        return print_report(o.run);
    o.self = "/proc/self/exe";
    if (program_find_own("bezel", bezel, sizeof bezel) == 0)
        o.bezel = bezel;
    mallopt(M_ARENA_MAX, 1); /* two threads, and a bounded size */
    struct sigaction action = {.sa_handler = on_stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (!inherited_ignored(SIGHUP)) /* nohup */
        sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    errno = 0;
    if (nice(VIEW_NICE) == -1 && errno) /* the collector, and programs, go first */
        log_warn("BEZEL-VIEW", "this view has the priority of other programs: %s", strerror(errno));
    return view_server_run(&o, &stop);
}
