// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Who had the CPUs, and who woke whom: the kernel's records about all threads of the machine, one ring for each CPU.
 * They are kept in memory for as long as threads of the SUT may ask for them, and no record of the trace is made of
 * them but those answers: a machine's whole scheduling is too much. Both need rights: CAP_PERFMON for the CPUs, and
 * tracefs, which is root's, for the wakings. Without them threads have their intervals all the same.
 */
#include "base/clock.h"
#include "base/perf_rights.h"
#include "base/procstat.h"
#include "base/tracefs.h"
#include "sensor/samplers/sampler_switches.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PAGES_MOST = 64, /* of a CPU's records, in the kernel */
    PAGES_LEAST = 8,
    PAGES_ALL = 2048, /* of all CPUs: where there are many, each has fewer */
    KEPT_PLACES = 1 << 14,
    NAMES = 64,
};

struct cpu_recorder {
    struct switches_ring ring;
    int waking;      /* descriptor of the event of wakings; -1: none */
    int64_t began;   /* being recorded */
    uint64_t before; /* its head a second ago */
    struct switches_comings comings;
};

/* The command of a thread: as it was read in turn `turn`, or as the kernel said. */
struct command {
    uint32_t thread;
    uint64_t turn;
    char name[SWITCHES_COMMAND];
};

struct sampler_cpus {
    uint32_t cpu_max;
    bool first_namespace; /* ours: thread 0 is that of an idle CPU, and not one that has no number here */
    bool waking_tried;
    uint64_t waking_id; /* of tracepoint sched_waking; 0: it cannot be recorded */
    struct switches_format format;
    int64_t retry_at; /* before that nothing is opened */
    int64_t checked;  /* when CPUs were opened last */
    int64_t taken;    /* records until then are here */
    uint64_t turn;
    struct command read[NAMES], told[NAMES];
    uint32_t threads;           /* whose wakings are kept: without any, no CPU is recorded */
    uint16_t kept[KEPT_PLACES]; /* by the last bits of threads' numbers */
    struct switches_wakings wakings;
    struct cpu_recorder *recorders[SAMPLER_CPUS]; /* NULL: not recorded */
};

/* ---- Tracepoint sched_waking ------------------------------------------------------------------------------------- */

/* Where field `name` is, by the tracepoint's description. */
static bool find_field(const char *format, const char *name, uint32_t *offset)
{
    const char *at = strstr(format, name);
    at = at ? strstr(at, "offset:") : NULL;
    return at && sscanf(at, "offset:%u;", offset) == 1 && *offset < SWITCHES_RECORD_BYTES;
}

static void note_no_wakings(struct samplers *s, int64_t now)
{
    if (!s->switches->cpus->first_namespace)
        sampler_note(s, NULL, now,
                     "who wakes threads is not known: tracepoint sched_waking has the pids of the machine's first pid "
                     "namespace, and bezeld is in another one: run bezeld outside of containers");
    else
        sampler_note(
            s, NULL, now,
            "who wakes threads is not known: tracepoint sched_waking cannot be read (%s): run bezeld as root, outside "
            "of containers",
            errno == ENODEV ? "tracefs is not mounted" : strerror(errno));
}

/* Finds the tracepoint, once. In another pid namespace its pids would be taken for those of other threads. */
static void find_waking(struct samplers *s, int64_t now)
{
    struct sampler_cpus *c = s->switches->cpus;
    char text[4096];
    if (c->waking_tried)
        return;
    c->waking_tried = true;
    if (c->first_namespace && tracefs_read("events/sched/sched_waking/format", text, sizeof text) &&
        find_field(text, "common_flags", &c->format.flags) && find_field(text, "pid_t pid", &c->format.woken) &&
        tracefs_read("events/sched/sched_waking/id", text, sizeof text))
        c->waking_id = strtoull(text, NULL, 10);
    if (!c->waking_id)
        note_no_wakings(s, now);
}

/* ---- Recorders --------------------------------------------------------------------------------------------------- */

static void close_recorder(struct cpu_recorder *r)
{
    if (!r)
        return;
    if (r->waking >= 0)
        close(r->waking);
    switches_ring_close(&r->ring);
    free(r);
}

static void note_refused(struct samplers *s, int64_t now, int error, bool memory)
{
    const char *remedy = memory ? "`sudo sysctl kernel.perf_event_mlock_kb=65536` allows more memory"
                         : error == EMFILE || error == ENFILE ? "raise the " NOTE_OPEN_FILES " (ulimit -n)"
                         : (error == EACCES || error == EPERM) && perf_rights_suffice(0) ? PERF_RIGHTS_FILTERED
                         : error == EACCES || error == EPERM
                             ? "CAP_PERFMON permits it (`sudo setcap cap_perfmon+ep` of bezeld), not in containers"
                             : "this kernel does not record them";
    sampler_note(s, NULL, now,
                 "who had the CPU while a thread was ready, and who woke it, is not known: context switches of other "
                 "programs cannot be recorded (%s): %s",
                 strerror(error), remedy);
}

static uint64_t pages_of(const struct sampler_cpus *c)
{
    uint64_t pages = PAGES_MOST;
    while (pages > PAGES_LEAST && pages * c->cpu_max > PAGES_ALL)
        pages /= 2;
    return pages;
}

static struct cpu_recorder *new_recorder(struct samplers *s, uint32_t cpu, bool *memory, int64_t now)
{
    struct sampler_cpus *c = s->switches->cpus;
    struct cpu_recorder *r = calloc(1, sizeof *r);
    *memory = !r;
    if (!r)
        return NULL;
    r->waking = -1;
    if (switches_ring_open(&r->ring, -1, (int)cpu, pages_of(c), memory) != 0) {
        int error = errno;
        free(r);
        errno = error;
        return NULL;
    }
    r->began = clock_now();
    find_waking(s, now);
    if (c->waking_id && (r->waking = switches_ring_add(&r->ring, (int)cpu, c->waking_id)) < 0) {
        note_no_wakings(s, now);
        c->waking_id = 0;
    }
    return r;
}

/*
 * Opens the CPUs that are not recorded. One that was silent for a second may have been switched off, and its events are
 * over then: it is opened anew, before the old one is closed.
 */
static void open_recorders(struct samplers *s, int64_t now)
{
    struct sampler_cpus *c = s->switches->cpus;
    if (c->threads == 0 || now < c->retry_at || (c->checked && now - c->checked < CLOCK_S))
        return;
    c->checked = now;
    for (uint32_t cpu = 0; cpu < c->cpu_max; cpu++) {
        struct cpu_recorder *old = c->recorders[cpu];
        uint64_t head = old ? switches_ring_head(&old->ring) : 0;
        bool memory, silent = old && head == old->before;
        if (old)
            old->before = head;
        if (old && !silent)
            continue;
        struct cpu_recorder *r = new_recorder(s, cpu, &memory, now);
        if (r && old) {
            r->comings = old->comings;
            r->began = old->began;
        } else if (!r && errno != ENODEV && errno != ENXIO) { /* else it is off */
            if (old)
                continue;
            note_refused(s, now, errno, memory);
            c->retry_at = now + 10 * CLOCK_S;
            return;
        }
        c->recorders[cpu] = r;
        close_recorder(old);
    }
}

bool sampler_leave_cpus(struct samplers *s, int64_t until)
{
    struct sampler_cpus *c = s->switches->cpus;
    bool any = false;
    for (uint32_t cpu = 0; cpu < c->cpu_max; cpu++) {
        any = any || c->recorders[cpu];
        close_recorder(c->recorders[cpu]);
        c->recorders[cpu] = NULL;
    }
    c->retry_at = until;
    return any;
}

/* ---- Taking records ---------------------------------------------------------------------------------------------- */

void sampler_keep_wakings(struct samplers *s, uint32_t thread, bool keep)
{
    struct sampler_cpus *c = s->switches->cpus;
    if (keep) {
        c->kept[thread % KEPT_PLACES]++;
        c->threads++;
    } else {
        c->kept[thread % KEPT_PLACES]--;
        c->threads--;
    }
}

static void take_event(struct sampler_cpus *c, struct cpu_recorder *r, const struct switches_cpu_event *e,
                       int64_t taken)
{
    switch (e->what) {
    case SWITCHES_CPU_COMES:
        switches_leave(&r->comings, e->leaves);
        switches_come(&r->comings, e->time, e->pid, e->thread);
        break;
    case SWITCHES_CPU_WOKEN:
        if (c->kept[e->woken % KEPT_PLACES])
            switches_wake(&c->wakings,
                          &(struct switches_waking){e->time, taken, e->woken, e->pid, e->thread, e->context});
        break;
    case SWITCHES_CPU_NAMED:
        c->read[e->thread % NAMES].turn = 0;
        c->told[e->thread % NAMES] = (struct command){.thread = e->thread};
        memcpy(c->told[e->thread % NAMES].name, e->command, sizeof e->command);
        break;
    case SWITCHES_CPU_LOST:
        switches_miss(&r->comings);
        break;
    }
}

static void take_records(struct samplers *s)
{
    struct sampler_cpus *c = s->switches->cpus;
    struct switches_cpu_event e;
    int64_t now = clock_now();
    for (uint32_t cpu = 0; cpu < c->cpu_max; cpu++) {
        struct cpu_recorder *r = c->recorders[cpu];
        uint64_t head = r ? switches_ring_head(&r->ring) : 0;
        if (!r || head == switches_ring_tail(&r->ring))
            continue;
        int64_t taken = clock_now(); /* no record up to `head` is later */
        bool broken = false;
        struct switches_bytes b = switches_ring_bytes(&r->ring, head);
        bool full = switches_full(&b); /* records behind may be lost without a word */
        while (switches_cpu_next(&b, &c->format, &e, &broken))
            take_event(c, r, &e, taken);
        if (broken || full)
            switches_miss(&r->comings);
        switches_ring_free_up(&r->ring, head);
    }
    c->taken = now;
}

void sampler_take_cpus(struct samplers *s, int64_t now)
{
    s->switches->cpus->turn++;
    open_recorders(s, now);
    take_records(s);
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

bool sampler_waking_of(struct samplers *s, uint32_t thread, int64_t since, int64_t end, struct switches_waking *waking)
{
    struct sampler_cpus *c = s->switches->cpus;
    if (!c->waking_id)
        return false;
    if (c->taken < end)
        take_records(s);
    const struct switches_waking *found = switches_waking_of(&c->wakings, thread, since, end);
    if (found)
        *waking = *found;
    return found;
}

int sampler_rivals_of(struct samplers *s, uint32_t cpu, uint32_t thread, bool comes, int64_t begin, int64_t end,
                      struct switches_rival rivals[SWITCHES_RIVALS], bool *lost)
{
    struct sampler_cpus *c = s->switches->cpus;
    const struct cpu_recorder *r = cpu < c->cpu_max ? c->recorders[cpu] : NULL;
    *lost = !r && cpu < c->cpu_max && c->checked && c->taken >= c->retry_at; /* it was off, and is not opened yet */
    if (!r)
        return BEZEL_ENOENT;
    if (c->taken < end)
        take_records(s);
    bool is_known =
        comes ? switches_came(&r->comings, thread, end) : begin < r->began || switches_left(&r->comings, thread, begin);
    if (begin < r->began)
        begin = r->began;
    if (!is_known) {
        *lost = begin < end;
        return 0;
    }
    *lost = switches_unknown(&r->comings, begin, end) > 20 * CLOCK_US;
    return (int)switches_rivals(&r->comings, thread, begin, end, rivals);
}

/* Workers of the kernel add to their names what they do now: there would be a new one each time. */
static void keep_name(char *name)
{
    if (strncmp(name, "kworker/", 8) == 0)
        name[strcspn(name, "-+")] = '\0';
    name[strcspn(name, "\n")] = '\0';
}

static bool read_command(uint32_t thread, char *text, size_t size)
{
    char path[40];
    snprintf(path, sizeof path, "/proc/%u/comm", thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static const char *name_of(struct sampler_cpus *c, uint32_t thread)
{
    struct command *known = &c->read[thread % NAMES], *told = &c->told[thread % NAMES];
    char text[64];
    if (thread == 0 && c->first_namespace)
        return "idle";
    if (thread == 0 || thread == SWITCHES_NOBODY)
        return "unknown";
    if (known->thread == thread && known->turn == c->turn)
        return known->name;
    if (!read_command(thread, text, sizeof text))
        return told->thread == thread ? told->name : "unknown";
    keep_name(text);
    *known = (struct command){.thread = thread, .turn = c->turn};
    memcpy(known->name, text, strnlen(text, sizeof known->name - 1));
    return known->name;
}

uint64_t sampler_command_of(struct samplers *s, uint32_t thread)
{
    return journal_string(s->switches->journal, name_of(s->switches->cpus, thread));
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

struct sampler_cpus *sampler_open_cpus(void)
{
    struct sampler_cpus *c = calloc(1, sizeof *c);
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    if (!c)
        return NULL;
    c->cpu_max = cpus < 1 ? 1 : cpus > SAMPLER_CPUS ? SAMPLER_CPUS : (uint32_t)cpus;
    c->first_namespace = procstat_is_first_namespace();
    return c;
}

void sampler_close_cpus(struct sampler_cpus *c)
{
    for (uint32_t cpu = 0; c && cpu < c->cpu_max; cpu++)
        close_recorder(c->recorders[cpu]);
    free(c);
}
