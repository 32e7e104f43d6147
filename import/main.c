// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/exit_code.h"
#include "base/inherited.h"
#include "base/log.h"
#include "base/options.h"
#include "base/ulimit.h"
#include "import/ctf.h"
#include "import/fill.h"
#include "import/find.h"
#include "import/picl.h"
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static const char about[] = "Fills the run directory of --run with the records of a trace of another tool. `bezel "
                            "import` makes the directory and starts it. A trace without events leaves no run.db.\n";
static const char footer[] = "Exit codes: 0 done, 1 failed, or a trace could not be read to its end, 2 wrong "
                             "arguments, or no trace.\n";

struct arguments {
    const char *run, *id, *name, *trace;
};

/* ---- what is there to import ------------------------------------------------------------------------------------- */

/* Returns OPTIONS_GO_ON, or the exit code, after a line on stderr. */
static int look(const char *path, struct find *f)
{
    int err = 0;
    *f = (struct find){0};
    if (picl_is(path))
        return OPTIONS_GO_ON;
    err = find_traces(path, f);
    if (err)
        log_error("BEZEL-IMPORT-TRACE", "%s cannot be read: %s", path, ulimit_reason(err));
    else if (f->count == 0)
        log_error("BEZEL-IMPORT-TRACE",
                  "%s is no trace of PICL, nor of CTF, nor is a folder below it: none has a file `metadata`", path);
    else if (!ctf_is_here())
        log_error("BEZEL-IMPORT-LIBRARY",
                  "this Bezel was built without libbabeltrace2, which reads CTF: install libbabeltrace2-dev "
                  "(packaging/install-deps import), and build Bezel anew");
    else if (f->ctf_2 && !ctf_reads_2())
        log_error("BEZEL-IMPORT-TRACE",
                  "%s is CTF 2, which the installed libbabeltrace2 does not read: have its tracer write CTF 1.8 "
                  "(lttng create --trace-format=ctf-1.8), or install Babeltrace 2.1 and build Bezel with it",
                  f->ctf_2);
    else
        return OPTIONS_GO_ON;
    return (err && err != BEZEL_ENOENT) || (!err && f->count > 0 && !ctf_is_here()) ? EXIT_FAILED : EXIT_USAGE;
}

/* ---- what is said at the end ------------------------------------------------------------------------------------- */

static void warn_of_parts(const struct ctf_import *c, const struct fill_totals *t)
{
    if (c->skipped)
        log_warn(FILL_FIELDS,
                 "fields for which a record has no place (arrays, structures, variants, more than %d) were skipped: "
                 "%" PRIu64 ", such as %s",
                 DICT_FIELDS_MAX, c->skipped, c->skipped_first);
    if (c->wrapped)
        log_warn(FILL_FIELDS, "integers beyond 2^63 - 1, which are stored less 2^64: %" PRIu64, c->wrapped);
    if (t->cut || t->no_text)
        log_warn(FILL_FIELDS,
                 "texts longer than %d bytes, which were cut: %" PRIu64 "; texts for which a process had no room, "
                 "after some thousands, and which are missing: %" PRIu64,
                 DICT_TEXT_MAX, t->cut, t->no_text);
    if (c->own)
        log_warn("BEZEL-IMPORT-OWN", "of a trace of Bezel's, the monitor's own records were left out: %" PRIu64,
                 c->own);
    if (t->alike)
        log_warn(FILL_FIELDS,
                 "aspects that got a number, such as NAME.2, since their names in the source differ only in characters "
                 "that became _ or were cut: %" PRIu64,
                 t->alike);
    if (t->left_out)
        log_warn(FILL_LEFT_OUT,
                 "%" PRIu64 " records were left out: they had no possible time, or there was no room "
                 "for their process, thread or aspect",
                 t->left_out);
}

/* The notes say the same in the run, at its first node. */
static void note_parts(const struct ctf_import *c, struct fill_node *node)
{
    const struct fill_totals *t = fill_totals(c->in);
    if (c->skipped)
        fill_note(node, FILL_FIELDS, "fields without a place in a record were skipped: %" PRIu64 ", such as %.120s",
                  c->skipped, c->skipped_first);
    if (c->wrapped)
        fill_note(node, FILL_FIELDS, "integers beyond 2^63 - 1, stored less 2^64: %" PRIu64, c->wrapped);
    if (t->cut || t->no_text)
        fill_note(node, FILL_FIELDS, "texts that were cut: %" PRIu64 "; missing, for lack of room: %" PRIu64, t->cut,
                  t->no_text);
    if (t->alike)
        fill_note(node, FILL_FIELDS, "aspects with a number, since their names were cut or cleaned: %" PRIu64,
                  t->alike);
    if (t->left_out)
        fill_note(node, FILL_LEFT_OUT, "%" PRIu64 " records were left out: no possible time, or no room", t->left_out);
}

/* ---- the import -------------------------------------------------------------------------------------------------- */

/* Whether there is anything to show: a record, or a place where some are missing. */
static bool is_empty(const struct ctf_import *c)
{
    return !fill_first_node(c->in) || fill_totals(c->in)->begin > fill_totals(c->in)->end;
}

/* Without a database there is no run: `bezel import` removes the rest. */
static void remove_database(const char *run)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/run.db", run) < (int)sizeof path)
        (void)unlink(path);
}

static int finish(const struct ctf_import *c, const struct arguments *a, const char *format)
{
    const struct fill_totals *t = fill_totals(c->in);
    char source[CTF_SOURCE_MAX + 32];
    note_parts(c, fill_first_node(c->in));
    snprintf(source, sizeof source, "%s%s%s", format, c->source[0] ? " of " : "", c->source);
    int err = fill_finish(c->in, a->name, a->trace, source);
    if (err)
        return EXIT_FAILED;
    warn_of_parts(c, t);
    return EXIT_OK;
}

/* Reads all traces that were found. A damaged one does not keep the others from being read, but sets *damaged. */
static int read_ctf(struct ctf_import *c, const struct find *f, bool *damaged)
{
    int err = 0;
    for (size_t i = 0; i < f->count && !err; i++) {
        err = ctf_read(c, f->folders[i]);
        *damaged = *damaged || err;
        err = err == BEZEL_EMALFORMED && !fill_why(c->in) ? 0 : err;
    }
    return err;
}

static int read_picl(struct ctf_import *c, const char *path, bool *damaged)
{
    struct picl_import p = {.in = c->in};
    int err = picl_read(&p, path);
    *damaged = err != 0;
    if (p.skipped || p.data)
        log_warn(FILL_FIELDS,
                 "lines without a place in a run, such as statistics, which were skipped: %" PRIu64
                 "; data beyond %d of a line: %" PRIu64,
                 p.skipped, DICT_FIELDS_MAX, p.data);
    if (p.skipped || p.data)
        fill_note(fill_first_node(c->in), FILL_FIELDS, "skipped lines: %" PRIu64 "; skipped data: %" PRIu64, p.skipped,
                  p.data);
    if (p.unmatched)
        log_warn(FILL_LEFT_OUT, "entries without an exit, which were left out: %" PRIu64, p.unmatched);
    return err == BEZEL_EMALFORMED && !fill_why(c->in) ? 0 : err;
}

/* `f`: the traces of CTF; without one it is PICL. */
static int import(const struct arguments *a, const struct find *f)
{
    struct ctf_import c = {.in = fill_new(a->run, a->id)};
    bool damaged = false, is_ctf = f->count > 0;
    int err = !c.in ? BEZEL_ENOMEM : is_ctf ? read_ctf(&c, f, &damaged) : read_picl(&c, a->trace, &damaged);
    bool empty = !err && is_empty(&c);
    int code = err ? EXIT_FAILED : empty ? EXIT_OK : finish(&c, a, is_ctf ? "CTF 1.8" : "PICL");
    if (code != EXIT_OK)
        log_error("BEZEL-IMPORT", "%s: the import failed: %s", a->trace,
                  c.in && fill_why(c.in) ? fill_why(c.in) : ulimit_reason(err));
    fill_free(c.in);
    if (empty)
        remove_database(a->run);
    return code == EXIT_OK && damaged ? EXIT_FAILED : code;
}

int main(int argc, char **argv)
{
    struct arguments a = {.name = "imported"};
    struct find f;
    struct options o = {.program = "bezel-import",
                        .usage = "--run DIR --id UUID [OPTIONS] TRACE",
                        .about = about,
                        .footer = footer,
                        .least = 1,
                        .most = 1};
    const struct options_entry entries[] = {
        {"run", 0, "DIR", "the run directory", .value = &a.run},
        {"id", 0, "UUID", "the id of the run", .value = &a.id},
        {"name", 0, "NAME", "the name of the run (default: imported)", .value = &a.name},
        {0},
    };
    inherited_take("bezel-import");
    signal(SIGXFSZ, SIG_IGN);
    int code = options_read(&o, entries, argc, argv);
    if (code == OPTIONS_GO_ON && (!a.run || !a.id))
        code = options_misuse("--run and --id are needed");
    if (code != OPTIONS_GO_ON)
        return code;
    a.trace = o.words[0];
    code = look(a.trace, &f);
    if (code == OPTIONS_GO_ON)
        code = import(&a, &f);
    find_fini(&f);
    return code;
}
