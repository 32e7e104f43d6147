// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What `bezel run` leaves in its journal for a `bezel attach`, and what that makes of it. */
#include "base/log.h"
#include "base/ulimit.h"
#include "ecs/course/run_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SAVE_EVERY                                                                                                     \
    (500 * CLOCK_MS) /* what changes meanwhile is lost with `bezel run`: an event, how a program ended                 \
                      */

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static void describe_boot(char text[33])
{
    uint8_t id[16];
    clock_identity(id);
    for (size_t i = 0; i < sizeof id; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
}

void run_describe_host(struct run_journal *j)
{
    describe_boot(j->boot);
    if (gethostname(j->host, sizeof j->host - 1) != 0)
        j->host[0] = '\0';
}

/* Counts of bytes change all the time: of a program that runs they are left out. */
static void put_row(struct run_journal_program *p, const struct message_launched *row)
{
    p->row = *row;
    if (row->state == LAUNCHED_RUNS)
        p->row.output = p->row.dropped = 0;
}

static void put_programs(const struct run *r, struct run_journal *j)
{
    for (size_t i = 0; i < r->sut.ended_count; i++) {
        const struct sut_ended *ended = &r->sut.ended[i];
        struct run_journal_program *p = &j->programs[j->program_count++];
        *p = (struct run_journal_program){
            .index = (uint32_t)(ended->process - r->sut.processes), .known = true, .missing = ended->missing};
        put_row(p, &ended->row);
    }
    for (size_t i = 0; i < r->sut.count; i++) {
        const struct sut_process *s = &r->sut.processes[i];
        if (!s->sent && !s->counted)
            continue;
        struct run_journal_program *p = &j->programs[j->program_count++];
        *p = (struct run_journal_program){.index = (uint32_t)i,
                                          .current = true,
                                          .known = s->known,
                                          .counted = s->counted,
                                          .home = s->home,
                                          .done = r->plan.programs[i].done,
                                          .begun = s->begun,
                                          .missing = s->missing};
        if (s->known)
            put_row(p, &s->row);
        p->row.of.incarnation = s->sent;
    }
}

void run_save(struct run *r, bool lasting)
{
    struct run_journal *j = calloc(1, sizeof *j);
    if (r->state.taken)
        free(j), j = NULL;
    if (!j)
        return;
    snprintf(j->run, sizeof j->run, "%s", r->dir.uuid);
    snprintf(j->name, sizeof j->name, "%s", r->e->name);
    snprintf(j->data, sizeof j->data, "%s", r->daemons.data);
    for (uint32_t i = 0; i < r->daemons.inner_count; i++)
        snprintf(j->inner[i], sizeof j->inner[i], "%s", r->daemons.inner[i].data);
    run_describe_host(j);
    if (!getcwd(j->directory, sizeof j->directory))
        j->directory[0] = '\0';
    j->epoch = r->daemons.owner.epoch;
    j->pid = (uint32_t)getpid();
    j->duration = r->e->duration;
    j->realtime_offset = r->console.realtime_offset;
    j->state = run_state_save(&r->state);
    j->undrained = r->undrained;
    j->snapshots = r->trigger.number;
    j->snapshots_refused = r->trigger.refused;
    j->programs = calloc(r->sut.ended_count + r->sut.count + 1, sizeof *j->programs);
    if (j->programs)
        put_programs(r, j);
    j->events = r->console.events;
    j->event_count = r->console.count;
    r->save_at = clock_now() + SAVE_EVERY;
    int err = j->programs ? run_journal_write(j, r->dir.path, lasting, &r->saved) : BEZEL_ENOMEM;
    if (err && !r->save_failed)
        log_warn("BEZEL-RUN-JOURNAL",
                 "cannot write %s/" RUN_JOURNAL_FILE ": %s; 'bezel attach' may not find out how far the run is",
                 r->dir.path, ulimit_reason(err));
    r->save_failed = err != 0;
    j->events = NULL;
    run_journal_free(j);
}

void run_save_changes(struct run *r)
{
    if (r->save_due || clock_now() >= r->save_at)
        run_save(r, false);
    r->save_due = false;
}

/* ---- Taking over ------------------------------------------------------------------------------------------------- */

/* Bytes of output of a remote program's incarnation that are home. Of one that goes to the terminal it is not known. */
static uint64_t count_home(const struct sut_process *s)
{
    struct stat st;
    if (!s->output[0] || stat(s->output, &st) != 0 || (uint64_t)st.st_size < s->begun)
        return 0;
    return (uint64_t)st.st_size - s->begun;
}

/* Where a program of a remote node was; its launcher knows what has become of it since. */
static void restore_remote(struct run *r, size_t i, const struct run_journal_program *p)
{
    struct sut_process *s = &r->sut.processes[i];
    struct start_plan_program *plan = &r->plan.programs[i];
    s->fetched = count_home(s);
    s->home = p->home;
    plan->phase = p->counted                      ? START_OVER
                  : !p->known                     ? START_TOLD
                  : p->row.state != LAUNCHED_RUNS ? START_PAUSES
                  : p->done                       ? START_READY
                                                  : START_RUNS;
    plan->at = clock_now();
}

static int restore_program(struct run *r, const struct run_journal_program *p)
{
    struct sut_process *s = &r->sut.processes[p->index];
    struct start_plan_program *plan = &r->plan.programs[p->index];
    s->row = p->row;
    s->row.of = s->program.launch.of;
    s->row.of.incarnation = p->row.of.incarnation;
    s->known = p->known;
    s->missing = p->missing;
    if (!p->current) {
        int err = sut_processes_note(&r->sut, s);
        s->known = false;
        s->missing = 0;
        return err;
    }
    s->begun = p->begun;
    s->counted = p->counted;
    s->sent = s->program.launch.of.incarnation = plan->wanted = p->row.of.incarnation;
    s->restarts = s->sent > 0 ? s->sent - 1 : 0;
    plan->done = p->done;
    if (s->remote)
        restore_remote(r, p->index, p);
    return 0;
}

/* The programs of this machine have ended with the `bezel run` that started them, and are not started again. */
static size_t lose_local(struct run *r)
{
    size_t lost = 0;
    for (size_t i = 0; i < r->sut.count; i++) {
        struct sut_process *s = &r->sut.processes[i];
        if (s->remote)
            continue;
        lost += !s->counted && s->sent > 0;
        start_plan_give_up(&r->plan, i);
        s->counted = true;
        s->known |= s->sent > 0; /* that it began */
        if (s->row.state == LAUNCHED_RUNS)
            s->row.state = LAUNCHED_LOST;
    }
    return lost;
}

static int restore_console(struct run *r, const struct run_journal *j)
{
    struct console *c = &r->console;
    if (j->event_count > 0 && !c->events)
        c->events = calloc(CONSOLE_EVENTS_MAX, sizeof *c->events);
    if (j->event_count > 0 && !c->events)
        return BEZEL_ENOMEM;
    c->count = j->event_count < CONSOLE_EVENTS_MAX ? j->event_count : CONSOLE_EVENTS_MAX;
    if (c->count > 0)
        memcpy(c->events, j->events, c->count * sizeof *c->events);
    return 0;
}

/* Times of the journal, on this machine's clock since its boot. */
static void translate_times(struct run *r, const struct run_journal *j, struct state_saved *saved)
{
    char boot[33];
    describe_boot(boot);
    if (strcmp(boot, j->boot) == 0) {
        r->console.realtime_offset = j->realtime_offset;
        return;
    }
    int64_t ahead = j->realtime_offset - r->console.realtime_offset;
    saved->started += saved->started ? ahead : 0;
    saved->ended += saved->ended ? ahead : 0;
}

/* Whether the run had begun with what the programs of this machine did: else they are started now. */
static bool had_begun(const struct run_journal *j)
{
    return j->state.phase > PHASE_STARTING;
}

int run_restore(struct run *r, struct state_actions *actions)
{
    const struct run_journal *j = r->taken;
    struct state_saved saved = j->state;
    translate_times(r, j, &saved);
    r->undrained = j->undrained;
    r->trigger.number = j->snapshots;
    r->trigger.refused = j->snapshots_refused;
    r->store_unclean = had_begun(j);
    int err = restore_console(r, j);
    for (size_t i = 0; i < j->program_count && !err && had_begun(j); i++)
        err = j->programs[i].index < r->sut.count ? restore_program(r, &j->programs[i]) : BEZEL_EMALFORMED;
    if (err)
        return err;
    for (uint32_t i = 0; i < r->sut.nodes; i++) /* else the run had failed, and says so */
        r->sut.launchers[i].empty = j->state.phase > PHASE_STOPPING && !j->state.failed;
    size_t lost = had_begun(j) ? lose_local(r) : 0;
    console_event(&r->console, "BEZEL-RUN-TAKEN",
                  "`bezel attach` (pid %d) has taken the run over, because its `bezel run` (pid %" PRIu32
                  "%s%s) is gone%s",
                  (int)getpid(), j->pid, j->host[0] ? " on " : "", j->host,
                  lost ? "; the programs that it had started itself have ended with it" : "");
    bool running = saved.phase == PHASE_RUNNING, stops = false;
    uint32_t ended = 0;
    for (size_t i = 0; i < r->sut.count; i++) {
        const struct sut_process *s = &r->sut.processes[i];
        ended += s->counted;
        stops |= s->counted && !s->remote && s->of->on_exit == ON_EXIT_STOP;
    }
    saved.failed |= running && lost > 0;
    r->ending = END_TERM;
    *actions = run_state_resume(&r->state, r->e, &saved, ended, stops, clock_now());
    return 0;
}
