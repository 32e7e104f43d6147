// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/limit.h"
#include "base/log.h"
#include "base/plain.h"
#include "base/units.h"
#include "collector/facts.h"
#include "collector/verify.h"
#include "ecs/commands.h"
#include "ecs/find_run.h"
#include "ecs/json.h"
#include "ecs/verify_books.h"

#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: bezel verify [--json] [--runs DIR] [RUN]\n"
    "\n"
    "Proves RUN, a run directory or its name below the folder of runs (default: the newest), complete, or names what "
    "is\n"
    "missing: a line for each finding, with its file, place and remedy, then one for the whole. Reads every record,\n"
    "writes nothing; the run may still be going on.\n"
    "\n"
    "  --json      as data (docs/DURABILITY.md)\n"
    "  --runs DIR  the folder of runs (default: $BEZEL_RUNS, else runs)\n"
    "  -h, --help\n"
    "\n"
    "Exit codes: 0 complete: every record is stored, or counted as lost with its cause; 1 damaged, or not readable;\n"
    "2 usage; 3 incomplete: what is there is right, and what is not there is named.\n";

enum { VERIFY_FORMAT = 1 }; /* grows when a field changes its meaning; new fields leave it as it is */

struct output {
    struct json json;
    bool as_json;
};

static const char *const names[] = {"complete", "incomplete", "damaged"};

/* ---- findings ---- */

/* A directory may hold names that do things to a terminal. */
static void put_plain(const char *text)
{
    while (*text) {
        size_t n = plain_control(text);
        putchar(n ? '?' : *text);
        text += n ? n : 1;
    }
}

static void put_text(const struct verify_finding *f)
{
    printf("%s: ", names[f->is]);
    put_plain(f->file);
    if (f->placed)
        printf(": byte %" PRIu64 ", packet %" PRIu64, f->offset, f->packet);
    fputs(": ", stdout);
    put_plain(f->text);
    if (f->remedy)
        printf(" (%s)", f->remedy);
    putchar('\n');
}

static void put_json(struct json *j, const struct verify_finding *f)
{
    json_object(j, NULL);
    json_text(j, "is", names[f->is]);
    json_text(j, "code", f->code);
    json_text(j, "file", f->file);
    if (f->placed) {
        json_uint(j, "offset", f->offset);
        json_uint(j, "packet", f->packet);
    }
    json_text(j, "text", f->text);
    json_text(j, "remedy", f->remedy);
    json_object_end(j);
}

static void tell(const struct verify_finding *finding, void *context)
{
    struct output *o = context;
    if (o->as_json)
        put_json(&o->json, finding);
    else
        put_text(finding);
}

/* ---- the whole ---- */

static void put_whole_text(const struct verify *v)
{
    const struct verify_totals *t = &v->totals;
    printf("%s: %" PRIu64 " records in %" PRIu64 " packets of %" PRIu64 " streams, %s", names[verify_is(v)], t->records,
           t->packets, t->streams, units_bytes(t->bytes).s);
    if (t->lost)
        printf("; %" PRIu64 " lost, with their places", t->lost);
    if (t->damaged || t->incomplete)
        printf("; findings: %" PRIu64 " damaged, %" PRIu64 " incomplete", t->damaged, t->incomplete);
    putchar('\n');
}

static void put_whole_json(struct json *j, const struct verify *v)
{
    const struct verify_totals *t = &v->totals;
    json_array_end(j);
    json_text(j, "is", names[verify_is(v)]);
    json_bool(j, "served", t->served);
    json_uint(j, "damaged", t->damaged);
    json_uint(j, "incomplete", t->incomplete);
    json_uint(j, "nodes", t->nodes);
    json_uint(j, "processes", t->processes);
    json_uint(j, "streams", t->streams);
    json_uint(j, "packets", t->packets);
    json_uint(j, "records", t->records);
    json_uint(j, "lost", t->lost);
    json_uint(j, "bytes", t->bytes);
    json_object_end(j);
}

static int verify_and_print(const char *run, bool as_json)
{
    static const int codes[] = {EXIT_HELD, EXIT_VIOLATED, EXIT_FAILED};
    struct output o = {.json = {.out = stdout}, .as_json = as_json};
    struct verify v = {.tell = tell, .context = &o};
    if (as_json) {
        json_object(&o.json, NULL);
        json_int(&o.json, "format", VERIFY_FORMAT);
        json_text(&o.json, "run", run);
        json_array(&o.json, "findings");
    }
    int err = verify_run(&v, run);
    if (!err)
        err = verify_books(&v, run);
    if (as_json)
        put_whole_json(&o.json, &v);
    else
        put_whole_text(&v);
    if (err)
        log_error("BEZEL-VERIFY", "%s: %s", run, facts_why(err));
    return command_end(err ? EXIT_FAILED : codes[verify_is(&v)]);
}

int cmd_verify(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"runs", required_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    const char *runs = NULL;
    bool as_json = false;
    for (int o; (o = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (o == 'h')
            return command_help(help);
        if (o != 'j' && o != 'r')
            return EXIT_USAGE;
        if (o == 'j')
            as_json = true;
        else
            runs = optarg;
    }
    if (argc - optind > 1)
        return command_misuse("verify", "one run at a time");
    char run[PATH_MAX];
    if (find_run(argv[optind], runs, run, sizeof run) != 0)
        return EXIT_FAILED;
    return verify_and_print(run, as_json);
}
