// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/json.h"
#include "base/log.h"
#include "base/plain.h"
#include "base/units.h"
#include "ecs/cli/command_mirror.h"
#include "ecs/cli/commands.h"
#include "run/rundb/rundb.h"
#include "run/verdict/verify_books.h"
#include "run/verify/verify.h"

#include <inttypes.h>
#include <stdio.h>

static const char about[] =
    "Checks that the records of RUN are complete: each is stored, or counted as lost with its cause. Prints a "
    "line for each finding, with its file, place and remedy, and a last line for the run. " COMMAND_RUN COMMAND_ENDPOINT
    " It may still be going on. Reads every record, writes nothing.\n";
static const char footer[] =
    "Exit codes: 0 complete; 1 damaged, or not readable; 2 wrong usage, or no such run; 3 incomplete: all that "
    "is there is right, and all that is missing is listed.\n";

enum { VERIFY_FORMAT = 2 }; /* grows when a field changes its meaning; new fields leave it as it is */

struct output {
    struct json json;
    bool as_json;
};

static const char *const names[] = {"complete", "incomplete", "damaged"};

/* ---- findings ---- */

/* Names of files may contain control characters, which would act on a terminal. */
static void put_plain(const char *text)
{
    while (*text) {
        size_t n = plain_control(text);
        putchar(n ? '?' : *text);
        text += n ? n : 1;
    }
}

static void put_text(const struct verify_report *f)
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

static void put_json(struct json *j, const struct verify_report *f)
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

static void put_finding(const struct verify_report *finding, void *context)
{
    struct output *o = context;
    if (o->as_json)
        put_json(&o->json, finding);
    else
        put_text(finding);
}

/* ---- the last line ---- */

static void put_total_text(const struct verify *v)
{
    const struct verify_totals *t = &v->totals;
    printf("%s: %" PRIu64 " records, and %" PRIu64 " of the monitor's own, in %" PRIu64 " packets of %" PRIu64
           " streams, %s",
           names[verify_is(v)], t->records, t->own_records, t->packets, t->streams, units_bytes(t->bytes).s);
    if (t->lost)
        printf("; %" PRIu64 " lost, at known places", t->lost);
    if (t->imported)
        fputs("; imported: what is lost is what the source counted", stdout);
    if (t->ringless)
        printf("; %" PRIu64 " lost by threads without a ring", t->ringless);
    if (t->own_lost)
        printf("; %" PRIu64 " of the monitor's own lost, at known places", t->own_lost);
    if (t->expired)
        printf("; %" PRIu64 " of all these records expired from the store (store.keep), with %" PRIu64 " packets, %s",
               t->expired_records, t->expired, units_bytes(t->expired_bytes).s);
    if (t->damaged || t->incomplete)
        printf("; findings: %" PRIu64 " damaged, %" PRIu64 " incomplete", t->damaged, t->incomplete);
    putchar('\n');
}

static void put_total_json(struct json *j, const struct verify *v)
{
    const struct verify_totals *t = &v->totals;
    json_array_end(j);
    json_text(j, "is", names[verify_is(v)]);
    json_bool(j, "served", t->served);
    json_bool(j, "imported", t->imported);
    json_uint(j, "damaged", t->damaged);
    json_uint(j, "incomplete", t->incomplete);
    json_uint(j, "nodes", t->nodes);
    json_uint(j, "processes", t->processes);
    json_uint(j, "streams", t->streams);
    json_uint(j, "packets", t->packets);
    json_uint(j, "records", t->records);
    json_uint(j, "lost", t->lost);
    json_uint(j, "ringless", t->ringless);
    json_uint(j, "own_records", t->own_records);
    json_uint(j, "own_lost", t->own_lost);
    json_uint(j, "bytes", t->bytes);
    json_uint(j, "expired_records", t->expired_records);
    json_uint(j, "expired_packets", t->expired);
    json_uint(j, "expired_bytes", t->expired_bytes);
    json_object_end(j);
}

static int verify_and_print(const char *run, bool as_json)
{
    static const int codes[] = {EXIT_OK, EXIT_VIOLATED, EXIT_FAILED};
    struct output o = {.json = {.out = stdout}, .as_json = as_json};
    struct verify v = {.report = put_finding, .context = &o};
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
        put_total_json(&o.json, &v);
    else
        put_total_text(&v);
    if (err)
        log_error("BEZEL-VERIFY", "%s: %s", run, rundb_why(err));
    return options_end(err ? EXIT_FAILED : codes[verify_is(&v)]);
}

int cmd_verify(int argc, char **argv)
{
    bool as_json = false;
    char run[PATH_MAX];
    struct command_mirror m = {.dir = NULL};
    struct options o = {.program = "bezel verify",
                        .usage = "[OPTIONS] [RUN]\n[OPTIONS] ENDPOINT",
                        .about = about,
                        .footer = footer,
                        .most = 1};
    const struct options_entry entries[] = {
        {"json", 'j', NULL, "print the findings as JSON (docs/DURABILITY.md)", .flag = &as_json},
        COMMAND_MIRROR(&m),
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON)
        code = command_open_mirrored(&m, o.words[0], COMMAND_NOW, run);
    return code == OPTIONS_GO_ON ? verify_and_print(run, as_json) : code;
}
