// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/starting.h"

#include "base/clock.h"
#include "base/units.h"
#include "config/check_internal.h"
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

static bool is_waited_for(const void *process)
{
    const struct experiment_ready *ready = &((const struct experiment_process *)process)->ready;
    return ready->record || ready->output || ready->port;
}

const struct schema_field starting_ready_fields[] = {
    {SCHEMA_ROW_OWN("record", IN(ready.record), fields_read_aspect), .print = schema_print_char, .quiet = true},
    {SCHEMA_ROW_OWN("output", IN(ready.output), read_line), .print = schema_print_char, .quiet = true},
    {SCHEMA_ROW_RANGE("port", SCHEMA_COUNT, IN(ready.port), 1, 65535), .quiet = true},
    {SCHEMA_ROW_RANGE("time", SCHEMA_DURATION, IN(ready.time), CLOCK_MS, 3600 * CLOCK_S), .quiet = true},
    {SCHEMA_ROW_RANGE("within", SCHEMA_DURATION, IN(ready.within), CLOCK_MS, 3600 * CLOCK_S), .is_used = is_waited_for},
    {0},
};

#define SIZE(name, member)                                                                                             \
    {                                                                                                                  \
        .key = (name), .kind = SCHEMA_SIZE, .offset = IN(limits.member), .max = SIZE_LIMIT, .quiet = true              \
    }
#define COUNT(name, member, most)                                                                                      \
    {                                                                                                                  \
        .key = (name), .kind = SCHEMA_COUNT, .offset = IN(limits.member), .max = (most), .quiet = true                 \
    }

const struct schema_field starting_limits_fields[] = {
    {SCHEMA_ROW_RANGE("cpu", SCHEMA_DURATION, IN(limits.cpu), CLOCK_S, 8760 * 3600 * CLOCK_S), .quiet = true},
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

static void check_name(struct reader *r, const struct tree *t, const struct experiment *e, const char *name)
{
    int found = check_find_process(r, t, e, name, "");
    if (found >= 0 && e->processes[found].attach)
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
            int next = check_process_named(e, *name);
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
