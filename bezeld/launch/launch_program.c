// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/launch_program.h"

#include "base/clock.h"
#include "base/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_VARIABLES = 6 };

/* NULL: no memory. */
static BEZEL_PRINTF(1, 2) char *variable(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    return n < 0 ? NULL : text;
}

static void put_patterns(FILE *out, const char *mode, char *const *patterns)
{
    for (; patterns && *patterns; patterns++)
        fprintf(out, "%s:%s ", mode, *patterns);
}

/* The modes of aspects until bezeld sees the process. `off` comes after `count`, as the last one counts. NULL: no
 * memory. */
static char *describe_aspects(const struct experiment *e)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (out) {
        fputs("BEZEL_ASPECTS=", out);
        put_patterns(out, "count", e->sensing.count);
        put_patterns(out, "off", e->sensing.off);
    }
    return file_text_end(out, &text) == 0 ? text : NULL;
}

/* The variables of libbezel, then those of the file, which override them. */
static char **make_environment(const struct experiment *e, const struct experiment_process *p, const char *name,
                               const char *dir)
{
    size_t n = 0;
    while (p->environment && p->environment[n])
        n++;
    char **all = calloc(n + OWN_VARIABLES + 1, sizeof *all);
    if (!all)
        return NULL;
    all[0] = variable("BEZEL_DIR=%s", dir);
    all[1] = variable("BEZEL_PROCESS=%s", name);
    all[2] = variable("BEZEL_RING_RECORDS=%u", e->sensing.ring_records);
    all[3] = variable("BEZEL_RING_THREADS=%u", e->sensing.ring_threads);
    all[4] = variable("BEZEL_WHEN_FULL=%s", e->sensing.when_full == WHEN_FULL_OVERWRITE ? "overwrite" : "discard");
    all[5] = describe_aspects(e);
    for (size_t i = 0; i < n; i++)
        all[OWN_VARIABLES + i] = strdup(p->environment[i]);
    bool complete = true;
    for (size_t i = 0; i < n + OWN_VARIABLES; i++)
        complete = complete && all[i];
    if (complete)
        return all;
    for (size_t i = 0; i < n + OWN_VARIABLES; i++)
        free(all[i]);
    free(all);
    return NULL;
}

static void free_all(char **texts)
{
    for (char **v = texts; v && *v; v++)
        free(*v);
    free(texts);
}

static int64_t size(uint64_t limit)
{
    return limit == EXPERIMENT_NO_SIZE ? -1 : (int64_t)limit;
}

static int64_t count(uint32_t limit)
{
    return limit == EXPERIMENT_NO_COUNT ? -1 : (int64_t)limit;
}

static void limit(const struct experiment_rlimits *of, int64_t to[RLIMITS_OF])
{
    to[RLIMIT_OF_CPU] = of->cpu ? (of->cpu + CLOCK_S - 1) / CLOCK_S : -1;
    to[RLIMIT_OF_MEMORY] = size(of->memory);
    to[RLIMIT_OF_FILES] = count(of->files);
    to[RLIMIT_OF_FILE_SIZE] = size(of->file_size);
    to[RLIMIT_OF_CORE] = size(of->core);
    to[RLIMIT_OF_STACK] = size(of->stack);
    to[RLIMIT_OF_LOCKED] = size(of->locked);
    to[RLIMIT_OF_PROCESSES] = count(of->processes);
    to[RLIMIT_OF_REAL_TIME] = count(of->real_time);
}

int launch_program_make(const struct experiment *e, const struct experiment_process *p, uint32_t instance,
                        const char *dir, struct launch_program *program)
{
    *program = (struct launch_program){.launch = {.of.incarnation = 1,
                                                  .argv = p->argv,
                                                  .directory = p->directory,
                                                  .output = LAUNCH_OUTPUT_SPOOL,
                                                  .grace = e->grace}};
    struct launch *l = &program->launch;
    limit(&p->limits, l->limits);
    l->port = p->ready.port;
    experiment_instance_name(p, instance, l->of.process, sizeof l->of.process);
    if (p->output == OUTPUT_NONE) {
        l->output = LAUNCH_OUTPUT_FILE;
        l->file = "/dev/null";
    }
    l->environment = program->environment = make_environment(e, p, l->of.process, dir);
    return program->environment ? 0 : BEZEL_ENOMEM;
}

void launch_program_free(struct launch_program *program)
{
    free_all(program->environment);
    program->environment = NULL;
}

const struct experiment_process *launch_program_find(const struct experiment *e, uint32_t node, const char *name,
                                                     uint32_t *instance)
{
    for (uint32_t i = 0; i < e->process_count; i++) {
        const struct experiment_process *p = &e->processes[i];
        char each[EXPERIMENT_NAME_MAX + 16];
        if (p->node != node || !p->argv || !experiment_is_instance(p, name))
            continue;
        for (*instance = 0; *instance < p->instances; ++*instance) {
            experiment_instance_name(p, *instance, each, sizeof each);
            if (strcmp(each, name) == 0)
                return p;
        }
    }
    return NULL;
}

/* ---- Commands of triggers ---------------------------------------------------------------------------------------- */

void launch_program_trigger_name(uint32_t trigger, char name[MESSAGE_NAME_MAX + 1])
{
    snprintf(name, MESSAGE_NAME_MAX + 1, "trigger:%u", trigger + 1);
}

int launch_program_trigger_find(const struct experiment *e, const char *name)
{
    for (uint32_t i = 0; i < e->trigger_count; i++) {
        char each[MESSAGE_NAME_MAX + 1];
        launch_program_trigger_name(i, each);
        if (strcmp(each, name) == 0 && experiment_trigger_action(&e->triggers[i], ACT_COMMAND))
            return (int)i;
    }
    return -1;
}

/* The event, as the command finds it. */
static char **describe_event(const struct experiment *e, uint32_t node, const struct message_firing *f)
{
    enum { VARIABLES = 7 };
    char **all = calloc(VARIABLES + 1, sizeof *all);
    bool complete = all;
    for (int i = 0; complete && i < VARIABLES; i++) {
        all[i] = i == 0   ? variable("BEZEL_TRIGGER=%u", f->trigger + 1)
                 : i == 1 ? variable("BEZEL_TRIGGER_WHEN=%s", e->triggers[f->trigger].when)
                 : i == 2 ? variable("BEZEL_TRIGGER_NODE=%s", e->nodes[node].name)
                 : i == 3 ? variable("BEZEL_TRIGGER_PROCESS=%s", f->process)
                 : i == 4 ? variable("BEZEL_TRIGGER_TIME_NS=%lld", (long long)f->at)
                 : i == 5 ? variable("BEZEL_TRIGGER_VALUE=%.17g", f->value)
                          : variable("BEZEL_TRIGGER_FIRED=%llu", (unsigned long long)f->count);
        complete = all[i];
    }
    if (complete)
        return all;
    free_all(all);
    return NULL;
}

int launch_program_trigger(const struct experiment *e, uint32_t node, const struct message_firing *f,
                           struct launch_program *program)
{
    const struct experiment_action *a = experiment_trigger_action(&e->triggers[f->trigger], ACT_COMMAND);
    *program = (struct launch_program){.launch = {.of.incarnation = 1,
                                                  .argv = a->argv,
                                                  .output = LAUNCH_OUTPUT_STDERR,
                                                  .grace = e->grace,
                                                  .timeout = a->timeout,
                                                  .limits = LAUNCH_NO_LIMITS}};
    launch_program_trigger_name(f->trigger, program->launch.of.process);
    program->launch.environment = program->environment = describe_event(e, node, f);
    return program->environment ? 0 : BEZEL_ENOMEM;
}
