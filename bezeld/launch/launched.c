// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/launched.h"

#include "base/clock.h"
#include "base/grow.h"
#include "bezeld/launch/ports.h"
#include "mdr/parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void note(struct launched *all, struct job *job)
{
    job->change = ++all->change;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

/* Reads the name of a spool file, "PROCESS.INCARNATION.out". */
static bool read_name(const char *name, struct message_start *of)
{
    size_t n = strlen(name);
    if (n < 4 || n >= LAUNCHED_FILE_MAX || strcmp(name + n - 4, ".out") != 0)
        return false;
    char text[LAUNCHED_FILE_MAX], *end;
    memcpy(text, name, n - 4);
    text[n - 4] = '\0';
    char *dot = strrchr(text, '.');
    if (!dot || dot == text || dot - text > MESSAGE_NAME_MAX)
        return false;
    unsigned long incarnation = strtoul(dot + 1, &end, 10);
    *dot = '\0';
    *of = (struct message_start){.incarnation = (uint32_t)incarnation};
    memcpy(of->process, text, (size_t)(dot - text) + 1);
    return *end == '\0' && incarnation > 0 && incarnation <= UINT32_MAX;
}

static int take_up(struct launched *all, int folder, const char *name)
{
    struct message_start of;
    if (!read_name(name, &of))
        return 0;
    struct job *job = launched_add(all, &of);
    if (!job)
        return BEZEL_ENOMEM;
    job->row.state = LAUNCHED_LOST;
    if (output_spool_take_up(&job->output, folder, name) != 0)
        return 0; /* its output cannot be read; that it was started is known all the same */
    job->row.output = job->output.size;
    return 0;
}

int launched_init(struct launched *all, int folder)
{
    *all = (struct launched){.change = (uint64_t)clock_now()}; /* above every change of an earlier launcher */
    int fd = folder < 0 ? -1 : openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    for (struct dirent *d; !err && (d = readdir(entries));)
        err = take_up(all, folder, d->d_name);
    closedir(entries);
    return err;
}

void launched_free(struct launched *all)
{
    for (size_t i = 0; i < all->count; i++) {
        output_spool_close(&all->jobs[i]->output);
        free(all->jobs[i]);
    }
    free(all->jobs);
    *all = (struct launched){0};
}

struct job *launched_find(const struct launched *all, const struct message_start *of)
{
    for (size_t i = all->count; i-- > 0;)
        if (all->jobs[i]->row.of.incarnation == of->incarnation &&
            strcmp(all->jobs[i]->row.of.process, of->process) == 0)
            return all->jobs[i];
    return NULL;
}

const char *launched_forbids(const struct launched *all, const struct message_start *of)
{
    for (size_t i = all->count; i-- > 0;) {
        const struct job *job = all->jobs[i];
        if (strcmp(job->row.of.process, of->process) != 0)
            continue;
        if (job->pid != 0)
            return "an earlier incarnation of this program still runs";
        if (job->row.of.incarnation > of->incarnation)
            return "a later incarnation of this program was started before";
    }
    return NULL;
}

struct job *launched_add(struct launched *all, const struct message_start *of)
{
    if (!grow_list(&all->jobs, &all->room, all->count, sizeof(struct job *)))
        return NULL;
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->row.of = *of;
    job->output = OUTPUT_SPOOL_NONE;
    all->jobs[all->count++] = job;
    note(all, job);
    return job;
}

/* ---- What becomes of them ---------------------------------------------------------------------------------------- */

void launched_begin(struct launched *all, struct job *job, const struct spawned *child, uint32_t port, int64_t now)
{
    struct message_launched *row = &job->row;
    row->state = child->pid > 0 ? LAUNCHED_RUNS : LAUNCHED_FAILED;
    row->pid = (uint32_t)child->pid;
    row->error = child->error;
    memcpy(row->stage, child->stage, sizeof row->stage);
    row->started = now;
    row->ended = child->pid > 0 ? 0 : now;
    job->pid = child->pid;
    job->port = child->pid > 0 ? port : 0;
    note(all, job);
}

static uint64_t nanoseconds(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

void launched_end(struct launched *all, pid_t pid, int status, const struct rusage *usage, int64_t now)
{
    for (size_t i = all->count; i-- > 0;) {
        struct job *job = all->jobs[i];
        if (job->pid != pid)
            continue;
        job->pid = 0;
        job->port = 0;
        job->row.state = LAUNCHED_ENDED;
        job->row.status = status;
        job->row.ended = now;
        job->row.user_ns = nanoseconds(usage->ru_utime);
        job->row.system_ns = nanoseconds(usage->ru_stime);
        job->row.memory = (uint64_t)usage->ru_maxrss * 1024;
        note(all, job);
        return;
    }
}

void launched_note_silence(struct launched *all)
{
    for (size_t i = 0; i < all->count; i++) {
        struct message_launched *row = &all->jobs[i]->row;
        if (all->jobs[i]->pid == 0)
            continue;
        snprintf(row->stage, sizeof row->stage, MESSAGE_STAGE_SILENCE);
        row->error = 0;
    }
}

bool launched_runs(const struct launched *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->jobs[i]->pid != 0)
            return true;
    return false;
}

void launched_note_empty(struct launched *all)
{
    all->change += !all->empty;
    all->empty = true;
}

void launched_note_left(struct launched *all, uint32_t n)
{
    all->left = n;
    all->change++;
}

int64_t launched_end_late(struct launched *all, int64_t grace, int64_t now)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < all->count; i++) {
        struct job *job = all->jobs[i];
        if (job->pid == 0 || job->due == 0)
            continue;
        if (now >= job->due) {
            kill(-job->pid, job->late ? SIGKILL : SIGTERM);
            if (!job->late)
                snprintf(job->row.stage, sizeof job->row.stage, MESSAGE_STAGE_TIMEOUT);
            job->late = true;
            job->due = now + (grace > 0 ? grace : 1);
        }
        if (job->due < next)
            next = job->due;
    }
    return next;
}

bool launched_look_at_ports(struct launched *all)
{
    static struct ports ports; /* one thread */
    bool waits = false, read = false;
    for (size_t i = 0; i < all->count; i++) {
        struct job *job = all->jobs[i];
        if (job->port == 0)
            continue;
        if (!read)
            ports_read(&ports);
        read = true;
        if (ports_has(&ports, job->port)) {
            job->port = 0;
            job->row.ready = true;
            note(all, job);
        } else
            waits = true;
    }
    return waits;
}

/* ---- The list ---------------------------------------------------------------------------------------------------- */

/* Output that grew since it was listed last is a change too. */
static void note_outputs(struct launched *all)
{
    for (size_t i = 0; i < all->count; i++) {
        struct job *job = all->jobs[i];
        if (job->row.output == job->output.size && job->row.dropped == job->output.dropped)
            continue;
        job->row.output = job->output.size;
        job->row.dropped = job->output.dropped;
        note(all, job);
    }
}

/* The job with the earliest change after `change`; NULL: there is none. */
static const struct job *next_changed(const struct launched *all, uint64_t change)
{
    const struct job *next = NULL;
    for (size_t i = 0; i < all->count; i++)
        if (all->jobs[i]->change > change && (!next || all->jobs[i]->change < next->change))
            next = all->jobs[i];
    return next;
}

void launched_list(struct launched *all, uint64_t since, struct message_launched_list *list)
{
    const struct job *job = NULL;
    note_outputs(all);
    if (since > all->change) /* of a launcher before the last boot */
        since = 0;
    list->count = 0;
    list->change = since;
    while (list->count < MESSAGE_LAUNCHED_MAX && (job = next_changed(all, list->change))) {
        list->rows[list->count++] = job->row;
        list->change = job->change;
    }
    list->more = list->count == MESSAGE_LAUNCHED_MAX && next_changed(all, list->change);
    if (!list->more && list->change < all->change)
        list->change = all->change;
    list->empty = all->empty && !list->more;
    list->left = all->left;
}
