// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "export/export.h"
#include "run/verify/verify.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/receiver_collector.h"
#include "views/report/report.h"

#include <sqlite3.h>
#include <stdbool.h>

static void hear_finding(const struct verify_report *f, void *context)
{
    const struct collector *c = context;
    fuzz_must(f->is != VERIFY_COMPLETE && f->code[0] && f->file[0] && f->text[0]);
    bool expected = c->spoilt || (f->is == VERIFY_INCOMPLETE && strcmp(f->code, "unsaved") != 0);
    if (!expected)
        fprintf(stderr, "%s: %s: %s\n", f->code, f->file, f->text);
    fuzz_must(expected);
}

static void verify(const struct collector *c, const struct model_totals *stored)
{
    struct verify v = {.report = hear_finding, .context = (void *)c};
    fuzz_must(verify_run(&v, c->run) == 0);
    fuzz_must(c->spoilt || (v.totals.packets == stored->packets && v.totals.bytes == stored->bytes &&
                            v.totals.records + v.totals.own_records == stored->records &&
                            v.totals.lost + v.totals.own_lost == stored->discarded));
}

/* Whether the `n` bytes at `text` are JSON. */
static bool is_json(const char *text, size_t n)
{
    static sqlite3 *db;
    static sqlite3_stmt *valid;
    if (!db)
        fuzz_must(sqlite3_open(":memory:", &db) == SQLITE_OK &&
                  sqlite3_prepare_v2(db, "SELECT json_valid(?1)", -1, &valid, NULL) == SQLITE_OK);
    fuzz_must(sqlite3_bind_text(valid, 1, text, (int)n, SQLITE_STATIC) == SQLITE_OK &&
              sqlite3_step(valid) == SQLITE_ROW);
    bool is = sqlite3_column_int(valid, 0);
    sqlite3_reset(valid);
    return is;
}

static void report(const struct collector *c, int form)
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    int code = out ? report_print(c->run, false, NULL, form, out) : -1;
    fuzz_must((code >= 0 || c->spoilt) && fclose(out) == 0 && strlen(text) == n && (n > 0) == (code >= 0));
    fuzz_must(form != REPORT_JSON || code < 0 || is_json(text, n));
    fuzz_must(form != REPORT_HTML || !strstr(text, "nan"));
    free(text);
}

static void export(const struct collector *c, enum export_format format, bool merged)
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    fuzz_must(out && (export_records(c->run, format, merged, &RECORD_FILTER_ALL, out) == 0 || c->spoilt) &&
              fclose(out) == 0 && strlen(text) == n);
    for (char *line = text, *line_end; format == EXPORT_JSONL && *line; line = line_end + 1) {
        line_end = strchr(line, '\n');
        fuzz_must(line_end && is_json(line, (size_t)(line_end - line)));
    }
    free(text);
}

/* As a trace, which replaces the one before. */
static void export_as_trace(const struct collector *c, bool merged)
{
    char target[sizeof c->run + 8];
    snprintf(target, sizeof target, "%s.export", c->run);
    fuzz_must(export_trace(c->run, target, merged) == 0 || c->spoilt);
}

void run_read(const struct collector *c, const struct model_totals *stored)
{
    verify(c, stored);
    if (c->how & READ_TEXT)
        report(c, REPORT_ALL);
    if (c->how & READ_JSON)
        report(c, REPORT_JSON);
    if (c->how & READ_HTML)
        report(c, REPORT_HTML);
    if (c->how & READ_RECORDS) {
        export(c, EXPORT_CSV, true);
        export(c, EXPORT_JSONL, false);
        export_as_trace(c, c->how & HAS_ENDED);
    }
}
