// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/json.h"
#include "base/table.h"
#include "views/report/names.h"
#include "views/report/report.h"

static bool is_running(const struct report *r)
{
    return r->verdict->run == RUN_RUNNING;
}

void report_unjudged(const struct report *r, size_t limit, FILE *out)
{
    struct names_found found;
    int metric = r->experiment->limits[limit].metric;
    if (metric >= 0 && names_metric(r->summary, r->experiment, (uint32_t)metric, &found) &&
        !(is_running(r) && found.kind == NAMES_NO_RECORDS))
        fprintf(out, ": %s", found.text);
}

static void put_row(void *context, const char *what, const struct names_found *found)
{
    struct table **t = context;
    *t = *t ? *t : table_new("ll");
    table_cell(*t, "%s", what);
    table_cell(*t, "%s", found->text);
}

void report_names(const struct report *r, FILE *out)
{
    struct table *t = NULL;
    if (names_each(r->summary, r->experiment, is_running(r), put_row, &t) == 0)
        return;
    report_title(r, "Names that nothing has", out);
    table_print(t, 2, out);
}

static void put_json(void *context, const char *what, const struct names_found *found)
{
    static const char *const kinds[] = {"aspect", "field", "number", "time", "records", "knob"};
    struct json *j = context;
    json_object(j, NULL);
    json_text(j, "of", what);
    json_text(j, "lacks", kinds[found->kind]);
    json_text(j, "name", found->name);
    json_text(j, "nearest", found->nearest);
    json_text(j, "text", found->text);
    json_object_end(j);
}

void report_json_names(const struct report *r, struct json *j)
{
    json_array(j, "names");
    names_each(r->summary, r->experiment, is_running(r), put_json, j);
    json_array_end(j);
}
