// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/starting.h"

#include "base/clock.h"
#include "base/near.h"
#include "base/units.h"
#include "config/diagnostics.h"
#include "config/fields_internal.h"

#include <stdlib.h>
#include <string.h>

#define IN(member) offsetof(struct experiment_process, member)

#define SIZE_LIMIT (1024 * 1024 * UNITS_GIB)

enum { LINE_MAX_BYTES = 255 };

const struct schema_word starting_restarts[] = {
    {"never", RESTART_NEVER, false}, {"on-failure", RESTART_ON_FAILURE, false}, {NULL, 0, false}};
const struct schema_word starting_exits[] = {
    {"continue", ON_EXIT_CONTINUE, false}, {"stop", ON_EXIT_STOP, false}, {NULL, 0, false}};

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static void read_line(struct reader *r, const struct tree *t, void *to)
{
    char **line = to;
    const char *text = reader_text(r, t, "a part of a line of output");
    if (!text)
        return;
    if (!text[0] || strlen(text) > LINE_MAX_BYTES || strpbrk(text, "\r\n"))
        reader_wrong(r, t, "expected: a part of one line, of at most %d bytes", LINE_MAX_BYTES);
    else if (!*line)
        *line = reader_copy(r, text);
}

const struct schema_field starting_ready_fields[] = {
    {.key = "record", .kind = SCHEMA_OWN, .offset = IN(ready.record), .read = fields_read_aspect},
    {.key = "output", .kind = SCHEMA_OWN, .offset = IN(ready.output), .read = read_line},
    {.key = "port", .kind = SCHEMA_COUNT, .offset = IN(ready.port), .min = 1, .max = 65535},
    {.key = "time", .kind = SCHEMA_DURATION, .offset = IN(ready.time), .min = CLOCK_MS, .max = 3600 * CLOCK_S},
    {.key = "within", .kind = SCHEMA_DURATION, .offset = IN(ready.within), .min = CLOCK_MS, .max = 3600 * CLOCK_S},
    {0},
};

#define SIZE(name, member)                                                                                             \
    {                                                                                                                  \
        .key = (name), .kind = SCHEMA_SIZE, .offset = IN(limits.member), .max = SIZE_LIMIT                             \
    }
#define COUNT(name, member, most)                                                                                      \
    {                                                                                                                  \
        .key = (name), .kind = SCHEMA_COUNT, .offset = IN(limits.member), .max = (most)                                \
    }

const struct schema_field starting_limits_fields[] = {
    {.key = "cpu", .kind = SCHEMA_DURATION, .offset = IN(limits.cpu), .min = CLOCK_S, .max = 8760 * 3600 * CLOCK_S},
    SIZE("memory", memory),
    COUNT("files", files, 1 << 20),
    SIZE("file-size", file_size),
    SIZE("core", core),
    SIZE("stack", stack),
    SIZE("locked", locked),
    COUNT("processes", processes, 1 << 22),
    COUNT("real-time", real_time, 99),
    {0},
};

void starting_read_after(struct reader *r, const struct tree *t, void *to)
{
    if (t->refused)
        return;
    if (t->kind != TREE_LIST || t->children == 0) {
        reader_wrong(r, t, "a list of names of processes is expected, such as [server]");
        return;
    }
    char **names = reader_alloc(r, t->children + 1, sizeof *names), **next = names;
    if (!names)
        return;
    for (const struct tree *child = t->first; child; child = child->next) {
        const char *text = reader_text(r, child, "the name of a process");
        if (text && (*next = reader_copy(r, text)))
            next++;
    }
    *(char ***)to = names;
}

void starting_free(struct experiment_process *p)
{
    fields_free_texts(p->after);
    free(p->ready.record);
    free(p->ready.output);
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

static int find(const struct experiment *e, const char *name)
{
    for (uint32_t i = 0; i < e->process_count; i++)
        if (e->processes[i].name && strcmp(e->processes[i].name, name) == 0)
            return (int)i;
    return -1;
}

static void check_name(struct reader *r, const struct tree *t, const struct experiment *e, const char *name)
{
    int found = find(e, name);
    struct near near = {.wanted = name};
    for (uint32_t i = 0; found < 0 && i < e->process_count; i++)
        near_consider(&near, e->processes[i].name ? e->processes[i].name : "");
    if (found < 0 && near.best)
        reader_wrong(r, t, "there is no process %s; did you mean '%s'?", diagnostics_quote(name).s, near.best);
    else if (found < 0)
        reader_wrong(r, t, "there is no process %s", diagnostics_quote(name).s);
    else if (e->processes[found].attach)
        reader_wrong(r, t, "process %s is attached to: only processes that are started can be waited for",
                     diagnostics_quote(name).s);
}

/* Whether process `i` waits for itself, directly or by others. */
static bool waits_for_itself(const struct experiment *e, uint32_t i)
{
    bool seen[EXPERIMENT_PROCESSES_MAX] = {false};
    uint32_t queue[EXPERIMENT_PROCESSES_MAX], count = 0, at = 0;
    queue[count++] = i;
    while (at < count) {
        const struct experiment_process *p = &e->processes[queue[at++]];
        for (char *const *name = p->after; name && *name; name++) {
            int next = find(e, *name);
            if (next == (int)i)
                return true;
            if (next < 0 || seen[next])
                continue;
            seen[next] = true;
            queue[count++] = (uint32_t)next; /* each once, so there is room */
        }
    }
    return false;
}

static void check_ready(struct reader *r, const struct tree *ready, const struct experiment_process *p)
{
    int given = !!p->ready.record + !!p->ready.output + (p->ready.port > 0) + (p->ready.time > 0);
    if (!ready || ready->kind != TREE_MAP || ready->refused)
        return;
    if (given > 1)
        reader_wrong(r, ready, "says several things; expected: one of record, output, port and time");
    else if (given == 0 && !tree_get(ready, "record") && !tree_get(ready, "output") && !tree_get(ready, "port") &&
             !tree_get(ready, "time"))
        reader_wrong(r, ready, "expected: one of record, output, port and time");
    if (p->ready.output && p->output != OUTPUT_FILE)
        reader_wrong_key(r, tree_get(ready, "output"), "needs 'output: file' for the process");
    if (p->ready.time > 0 && tree_get(ready, "within"))
        reader_wrong_key(r, tree_get(ready, "within"), "does not apply to 'time'");
}

static void check_one(struct reader *r, const struct tree *t, const struct experiment *e, uint32_t i)
{
    static const char *const of_restart[] = {"restarts", "restart-pause"};
    const struct experiment_process *p = &e->processes[i];
    const struct tree *after = tree_get(t, "after");
    if (after && after->kind == TREE_LIST)
        for (const struct tree *name = after->first; name; name = name->next)
            if (name->kind == TREE_TEXT && !name->absent && !name->refused)
                check_name(r, name, e, name->text);
    if (after && waits_for_itself(e, i))
        reader_wrong(r, after, "the process waits for itself, directly or by others: it would never start");
    check_ready(r, tree_get(t, "ready"), p);
    for (size_t k = 0; k < sizeof of_restart / sizeof *of_restart; k++)
        if (tree_get(t, of_restart[k]) && p->restart == RESTART_NEVER)
            reader_wrong_key(r, tree_get(t, of_restart[k]), "applies only with 'restart: on-failure'");
}

void starting_check(struct reader *r, const struct tree *t, const struct experiment *e)
{
    for (uint32_t i = 0; t; t = t->next, i++)
        if (t->kind == TREE_MAP && !t->refused)
            check_one(r, t, e, i);
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

static void print_size(const char *key, uint64_t value, bool *any, FILE *out)
{
    if (value == EXPERIMENT_NO_SIZE)
        return;
    fprintf(out, "%s%s: %s", *any ? ", " : "", key, units_exact_size(value).s);
    *any = true;
}

static void print_count(const char *key, uint32_t value, bool *any, FILE *out)
{
    if (value == EXPERIMENT_NO_COUNT)
        return;
    fprintf(out, "%s%s: %u", *any ? ", " : "", key, value);
    *any = true;
}

static void print_limits(const struct experiment_rlimits *l, FILE *out)
{
    bool any = l->cpu > 0;
    fputs("    limits: {", out);
    if (any)
        fprintf(out, "cpu: %s", units_exact_duration(l->cpu).s);
    print_size("memory", l->memory, &any, out);
    print_count("files", l->files, &any, out);
    print_size("file-size", l->file_size, &any, out);
    print_size("core", l->core, &any, out);
    print_size("stack", l->stack, &any, out);
    print_size("locked", l->locked, &any, out);
    print_count("processes", l->processes, &any, out);
    print_count("real-time", l->real_time, &any, out);
    fputs("}\n", out);
}

static void print_ready(const struct experiment_ready *ready, FILE *out)
{
    if (!ready->record && !ready->output && !ready->port && !ready->time)
        return;
    fputs("    ready: {", out);
    if (ready->record) {
        fputs("record: ", out);
        schema_print_text(ready->record, out);
    } else if (ready->output) {
        fputs("output: ", out);
        schema_print_text(ready->output, out);
    } else if (ready->port)
        fprintf(out, "port: %u", ready->port);
    else
        fprintf(out, "time: %s", units_exact_duration(ready->time).s);
    if (!ready->time)
        fprintf(out, ", within: %s", units_exact_duration(ready->within).s);
    fputs("}\n", out);
}

void starting_print(const struct experiment_process *p, FILE *out)
{
    if (p->after) {
        fputs("    after: [", out);
        for (char *const *name = p->after; *name; name++)
            fprintf(out, "%s%s", name > p->after ? ", " : "", *name);
        fputs("]\n", out);
    }
    print_ready(&p->ready, out);
    fprintf(out, "    restart: %s\n", schema_word(starting_restarts, (int)p->restart));
    if (p->restart == RESTART_ON_FAILURE)
        fprintf(out, "    restarts: %u\n    restart-pause: %s\n", p->restarts,
                units_exact_duration(p->restart_pause).s);
    fprintf(out, "    on-exit: %s\n", schema_word(starting_exits, (int)p->on_exit));
    if (p->plain)
        fputs("    plain: yes\n", out);
    print_limits(&p->limits, out);
}
