// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The run itself in the report: where it is, when it was, its verdict and its properties. */
#include "base/clock.h"
#include "views/report/report.h"

#include <stdlib.h>
#include <time.h>

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* CLOCK_REALTIME nanoseconds as RFC 3339 in UTC with microseconds; null for 0. */
static void put_realtime(struct json *j, const char *key, int64_t ns)
{
    char text[64] = "";
    time_t seconds = (time_t)(ns / CLOCK_S);
    struct tm utc;
    if (ns <= 0 || !gmtime_r(&seconds, &utc)) {
        json_text(j, key, NULL);
        return;
    }
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + n, sizeof text - n, ".%06dZ", (int)(ns % CLOCK_S / CLOCK_US));
    json_text(j, key, text);
}

static void put_run(const struct report *r, struct json *j)
{
    const struct summary *s = r->summary;
    json_object(j, "run");
    json_text(j, "directory", r->run);
    json_text(j, "id", summary_property(s, "run"));
    json_text(j, "experiment", report_experiment_name(r));
    json_text(j, "state", verdict_run_name(r->verdict->run));
    put_realtime(j, "started", summary_is_unstarted(s) ? 0 : r->verdict->started);
    put_realtime(j, "ended", r->verdict->ended);
    json_text(j, "ended_by", summary_property(s, "ended_by"));
    json_text(j, "imported", report_imported(r));
    json_int(j, "duration_ns", r->verdict->duration);
    json_object_end(j);
}

static void put_verdict(const struct report *r, struct json *j)
{
    char *sentence = report_sentence_text(r);
    json_object(j, "verdict");
    json_text(j, "is", verdict_name(r->verdict->is));
    json_text(j, "sentence", sentence);
    json_bool(j, "green", report_is_green(r));
    json_int(j, "exit_code", verdict_exit_code(r->verdict));
    json_uint(j, "absent", r->verdict->lacks[LACK_ABSENT]);
    json_object_end(j);
    free(sentence);
}

/* Of a mirror that lacks something. */
static void put_mirror(const struct report *r, struct json *j)
{
    const struct mirror_look *m = &r->summary->mirror;
    if (!m->text[0])
        return;
    json_object(j, "mirror");
    json_bool(j, "complete", !m->partial);
    json_bool(j, "stale", m->stale);
    json_text(j, "text", m->text);
    json_object_end(j);
}

static void put_head(const struct report *r, struct json *j)
{
    put_run(r, j);
    put_verdict(r, j);
    put_mirror(r, j);
}

static void put_properties(const struct report *r, struct json *j)
{
    json_object(j, "properties");
    for (size_t i = 0; i < r->summary->property_count; i++)
        json_text(j, r->summary->properties[i].key, r->summary->properties[i].value);
    json_object_end(j);
}

/* ---- Text -------------------------------------------------------------------------------------------------------- */

/*
 * babeltrace2 opens the files of all streams at once, and six more. By default a process may have 1,024 open; it would
 * end with "Too many open files", and print nothing.
 */
enum { STREAMS_TO_OPEN = 1024 - 6 };

static void print_every_record(const struct report *r, FILE *out)
{
    size_t streams = 0;
    for (size_t i = 0; i < r->summary->process_count; i++)
        streams += r->summary->processes[i].stream_count;
    bool many = streams > STREAMS_TO_OPEN, ended = r->verdict->run == RUN_ENDED;
    if (ended && !many)
        fprintf(out, "Every record:  babeltrace2 %s/trace\n", report_word(r->run).s);
    else
        fprintf(out, "Every record%s:  bezel export %s%s | xargs babeltrace2\n", ended ? "" : " so far",
                many ? "--merge " : "", report_word(r->run).s);
    if (many)
        fprintf(
            out,
            "  The trace has %s streams, each a file, and babeltrace2 opens all of them at once: more than the 1,024\n"
            "  files that a program may usually open (ulimit -n).\n",
            units_count(streams).s);
    if (r->no_babeltrace)
        fputs("  babeltrace2 is not installed here; on Debian: apt install babeltrace2\n", out);
}

static void print_paths(const struct report *r, FILE *out)
{
    if (r->summary->mirror.endpoint[0]) { /* the copy that was read is removed now */
        fprintf(out, "\nRead from:     %s\nEvery record:  bezel mirror %s DIR, then babeltrace2 DIR/trace\n", r->run,
                report_word(r->run).s);
        if (!r->all)
            fprintf(out, "In full:       bezel report --all %s\n", report_word(r->run).s);
        return;
    }
    fprintf(out, "\nRun directory: %s\n", r->run);
    if (r->verdict->sut.stored || r->verdict->daemons.stored)
        print_every_record(r, out);
    if (!r->all)
        fprintf(out, "In full:       bezel report --all %s\n", report_word(r->run).s);
}

/* The first and the last section. */
const struct rows_section report_head = {.text = report_opening, .json = put_head},
                          report_paths = {.text = print_paths, .json = put_properties};
