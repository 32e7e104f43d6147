// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/run/sut_processes.h"

#include "ecs/run/load_experiment.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { OWN_VARIABLES = 5 };

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
    if (!out)
        return NULL;
    fputs("BEZEL_ASPECTS=", out);
    put_patterns(out, "count", e->sensing.count);
    put_patterns(out, "off", e->sensing.off);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
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
    all[3] = variable("BEZEL_WHEN_FULL=%s", e->sensing.when_full == WHEN_FULL_OVERWRITE ? "overwrite" : "discard");
    all[4] = describe_aspects(e);
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

static int make_process(const struct experiment *e, const struct experiment_process *p, uint32_t instance,
                        const char *run, const char *dir, struct sut_processes_process *s)
{
    const char *why;
    bool of_directory;
    experiment_instance_name(p, instance, s->name, sizeof s->name);
    if (p->output == OUTPUT_FILE)
        snprintf(s->output, sizeof s->output, "%s/output/%s.txt", run, s->name);
    s->environment = make_environment(e, p, s->name, dir);
    return s->environment ? load_find_command(p, s->path, sizeof s->path, &why, &of_directory) : BEZEL_ENOMEM;
}

int sut_processes_make(const struct experiment *e, const char *run, char *const *node_dirs, bool interactive,
                       struct sut_processes *sut)
{
    size_t n = 0;
    for (uint32_t i = 0; i < e->process_count; i++)
        n += e->processes[i].argv ? e->processes[i].instances : 0;
    *sut = (struct sut_processes){.processes = calloc(n + 1, sizeof *sut->processes),
                                  .launches = calloc(n + 1, sizeof *sut->launches)};
    int err = sut->processes && sut->launches ? 0 : BEZEL_ENOMEM;
    for (uint32_t i = 0; i < e->process_count && !err; i++) {
        const struct experiment_process *p = &e->processes[i];
        for (uint32_t k = 0; p->argv && k < p->instances && !err; k++) {
            struct sut_processes_process *s = &sut->processes[sut->count];
            struct launch *l = &sut->launches[sut->count++];
            err = make_process(e, p, k, run, node_dirs[p->node], s);
            *l = (struct launch){.path = s->path,
                                 .argv = p->argv,
                                 .environment = s->environment,
                                 .directory = p->directory,
                                 .output = p->output == OUTPUT_NONE ? "/dev/null"
                                           : s->output[0]           ? s->output
                                                                    : NULL,
                                 .foreground = interactive};
        }
    }
    if (err)
        sut_processes_free(sut);
    return err;
}

void sut_processes_free(struct sut_processes *sut)
{
    for (size_t i = 0; sut->processes && i < sut->count; i++) {
        for (char **v = sut->processes[i].environment; v && *v; v++)
            free(*v);
        free(sut->processes[i].environment);
    }
    free(sut->processes);
    free(sut->launches);
    *sut = (struct sut_processes){0};
}

void sut_processes_describe_end(int status, char *text, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(text, size, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "ended with exit code %d", WEXITSTATUS(status));
}
