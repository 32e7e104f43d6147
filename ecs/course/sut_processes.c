// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/sut_processes.h"

#include "base/grow.h"
#include "ecs/course/load_experiment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static enum message_launch_output local_output(const struct experiment_process *p, bool json)
{
    if (p->output == OUTPUT_TERMINAL)
        return json ? LAUNCH_OUTPUT_STDERR : LAUNCH_OUTPUT_INHERITED;
    return LAUNCH_OUTPUT_FILE;
}

static int make_process(const struct experiment *e, const struct experiment_process *p, uint32_t instance,
                        const char *run, const char *dir, bool resumed, struct sut_process *s)
{
    const char *why;
    bool of_directory;
    s->of = p;
    s->remote = experiment_is_remote(&e->nodes[p->node]);
    s->home = !s->remote || p->output == OUTPUT_NONE;
    int err = launch_program_make(e, p, instance, dir, &s->program);
    if (p->output == OUTPUT_FILE)
        snprintf(s->output, sizeof s->output, "%s/output/%s.txt", run, s->program.launch.of.process);
    if (err || s->remote)
        return err;
    s->program.launch.path = s->path;
    if (s->output[0])
        s->program.launch.file = s->output;
    err = load_find_command(p, s->path, sizeof s->path, &why, &of_directory);
    return resumed ? 0 : err;
}

int sut_processes_make(const struct experiment *e, const char *run, char *const *node_dirs, bool interactive, bool json,
                       bool resumed, struct sut_processes *sut)
{
    size_t n = 0;
    for (uint32_t i = 0; i < e->process_count; i++)
        n += e->processes[i].argv ? e->processes[i].instances : 0;
    *sut = (struct sut_processes){.processes = calloc(n + 1, sizeof *sut->processes),
                                  .nodes = e->node_count,
                                  .launchers = calloc(e->node_count + 1, sizeof *sut->launchers)};
    int err = sut->processes && sut->launchers ? 0 : BEZEL_ENOMEM;
    for (uint32_t i = 0; i < e->process_count && !err; i++) {
        const struct experiment_process *p = &e->processes[i];
        for (uint32_t k = 0; p->argv && k < p->instances && !err; k++) {
            struct sut_process *s = &sut->processes[sut->count++];
            err = make_process(e, p, k, run, node_dirs[p->node], resumed, s);
            sut_processes_launcher(sut, s)->programs++;
            if (s->remote)
                continue;
            s->program.launch.output = local_output(p, json);
            s->program.launch.foreground = interactive;
        }
    }
    for (uint32_t i = 0; i < e->trigger_count && !err; i++) /* on whatever node it fires */
        for (uint32_t k = 0; k < e->node_count && experiment_trigger_action(&e->triggers[i], ACT_COMMAND); k++)
            sut->launchers[k].programs += experiment_is_remote(&e->nodes[k]);
    if (err)
        sut_processes_free(sut);
    return err;
}

void sut_processes_free(struct sut_processes *sut)
{
    for (size_t i = 0; sut->processes && i < sut->count; i++)
        launch_program_free(&sut->processes[i].program);
    free(sut->processes);
    free(sut->launchers);
    free(sut->ended);
    *sut = (struct sut_processes){0};
}

struct sut_process *sut_processes_find(struct sut_processes *sut, int node, const char *name)
{
    for (size_t i = 0; i < sut->count; i++) {
        struct sut_process *p = &sut->processes[i];
        if (p->remote == (node >= 0) && (node < 0 || p->of->node == (uint32_t)node) &&
            strcmp(p->program.launch.of.process, name) == 0)
            return p;
    }
    return NULL;
}

int sut_processes_note(struct sut_processes *sut, const struct sut_process *p)
{
    if (!p->known)
        return 0;
    if (!grow_by_one(&sut->ended, sut->ended_count, sizeof *sut->ended))
        return BEZEL_ENOMEM;
    uint64_t unfetched = !p->home && p->row.output > p->fetched ? p->row.output - p->fetched : 0;
    sut->ended[sut->ended_count++] =
        (struct sut_ended){.process = p, .row = p->row, .missing = p->missing + p->row.dropped + unfetched};
    return 0;
}

struct sut_launcher *sut_processes_launcher(struct sut_processes *sut, const struct sut_process *p)
{
    return p->remote ? &sut->launchers[p->of->node] : &sut->local;
}

bool sut_processes_all_ended(const struct sut_processes *sut, bool (*skip)(const void *of, uint32_t node),
                             const void *of)
{
    if (!sut->local.empty)
        return false;
    for (uint32_t i = 0; i < sut->nodes; i++)
        if (sut->launchers[i].programs > 0 && !sut->launchers[i].empty && !(skip && skip(of, i)))
            return false;
    return true;
}

bool sut_processes_is_unstarted(const struct sut_process *p)
{
    return p->sent == 0 || (p->sent == 1 && !p->known && !p->counted);
}

bool sut_processes_output_is_home(const struct sut_processes *sut, uint32_t node)
{
    for (size_t i = 0; i < sut->count; i++)
        if (sut->processes[i].of->node == node && sut->processes[i].sent && !sut->processes[i].home)
            return false;
    return true;
}

void sut_processes_describe_end(int status, char *text, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(text, size, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "ended with exit code %d", WEXITSTATUS(status));
}
