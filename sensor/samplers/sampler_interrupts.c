// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The sampler of interrupts: how many each CPU took between two samples, and the busiest source of them. The kernel's
 * tables have the counts of each source on each CPU since boot; those of the sample before are kept, so that a sample
 * allocates nothing.
 */
#include "base/clock.h"
#include "sensor/samplers/sampler_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMN_BYTES = 11, LINE_BYTES = 160 }; /* of a table: of a count, and of a line beside its counts */

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static int open_sources(struct sampler_sources *t, uint32_t cpus)
{
    t->names = calloc(SAMPLER_SOURCES, sizeof *t->names);
    t->counts = calloc((size_t)SAMPLER_SOURCES * cpus, sizeof *t->counts);
    t->cpus = calloc(cpus, sizeof *t->cpus);
    return t->names && t->counts && t->cpus ? 0 : BEZEL_ENOMEM;
}

static void close_sources(struct sampler_sources *t)
{
    free(t->names);
    free(t->counts);
    free(t->cpus);
}

int sampler_open_interrupts(struct samplers *s)
{
    struct sampler_interrupts *i = &s->interrupts;
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    i->cpu_max = cpus < 1 ? 1 : cpus > SAMPLER_CPUS ? SAMPLER_CPUS : (uint32_t)cpus;
    s->text_bytes = (SAMPLER_SOURCES + 1) * ((size_t)i->cpu_max * COLUMN_BYTES + LINE_BYTES);
    i->columns.cpus = calloc(i->cpu_max, sizeof *i->columns.cpus);
    i->line = calloc(i->cpu_max, sizeof *i->line);
    i->steal = calloc(i->cpu_max, sizeof *i->steal);
    if (!i->columns.cpus || !i->line || !i->steal)
        return BEZEL_ENOMEM;
    for (uint32_t c = 0; c < i->cpu_max; c++)
        i->steal[c].ticks = SAMPLER_UNKNOWN;
    int err = open_sources(&i->hard, i->cpu_max);
    return err ? err : open_sources(&i->soft, i->cpu_max);
}

void sampler_close_interrupts(struct samplers *s)
{
    struct sampler_interrupts *i = &s->interrupts;
    free(i->columns.cpus);
    free(i->line);
    free(i->steal);
    close_sources(&i->hard);
    close_sources(&i->soft);
}

/* ---- A table ----------------------------------------------------------------------------------------------------- */

/* Sources come in the same order each time, so that `guess` is mostly right. SAMPLER_SOURCES: there is no place. */
static uint32_t find_source(struct sampler_sources *t, uint32_t guess, const char *name, bool *is_new)
{
    *is_new = false;
    if (guess < t->count && strcmp(t->names[guess], name) == 0)
        return guess;
    for (uint32_t i = 0; i < t->count; i++)
        if (strcmp(t->names[i], name) == 0)
            return i;
    if (t->count == SAMPLER_SOURCES)
        return SAMPLER_SOURCES;
    *is_new = true;
    memcpy(t->names[t->count], name, sizeof t->names[0]);
    return t->count++;
}

/* The kernel's counts have 32 bits and wrap; one that is far below its predecessor began anew. */
static int64_t growth(int64_t now, int64_t before)
{
    uint32_t wrapped = (uint32_t)now - (uint32_t)before;
    return now >= before ? now - before : wrapped < UINT32_C(1) << 31 ? wrapped : now;
}

static void add_source(struct sampler_interrupts *i, struct sampler_sources *t, uint32_t source, bool is_new)
{
    for (uint32_t column = 0; column < i->columns.cpu_count; column++) {
        uint32_t cpu = i->columns.cpus[column];
        if (cpu >= i->cpu_max)
            continue;
        int64_t *count = &t->counts[(size_t)source * i->cpu_max + cpu];
        int64_t delta = is_new ? 0 : growth(i->line[column], *count);
        struct sampler_cpu_count *c = &t->cpus[cpu];
        *count = i->line[column];
        c->delta += delta;
        if (delta > c->most) {
            c->most = delta;
            c->busiest = source;
        }
    }
}

/* Takes in the table in s->text: what each CPU counted since the one before. False if it is none. */
static bool take_table(struct samplers *s, struct sampler_sources *t, const char *path, int64_t now)
{
    struct sampler_interrupts *i = &s->interrupts;
    const char *at = s->text;
    char name[SAMPLER_NAME_MAX + 1];
    bool is_new;
    for (uint32_t c = 0; c < i->cpu_max; c++)
        t->cpus[c].delta = t->cpus[c].most = 0;
    if (!sampler_read_columns(&at, &i->columns, i->cpu_max))
        return false;
    for (uint32_t n = 0; sampler_next_source(&at, &i->columns, name, i->line); n++) {
        uint32_t source = find_source(t, n, name, &is_new);
        if (source < SAMPLER_SOURCES)
            add_source(i, t, source, is_new);
        else
            sampler_note(s, NULL, now, "%s has more than %d sources: the others are not counted", path,
                         SAMPLER_SOURCES);
    }
    for (uint32_t c = 0; c < i->cpu_max; c++)
        t->cpus[c].total += t->cpus[c].delta;
    return true;
}

static bool read_table(struct samplers *s, enum sampler_node_file file, struct sampler_sources *t, int64_t now)
{
    return sampler_read(s, &s->files[file], now, false) && take_table(s, t, s->files[file].path, now);
}

/* Time that the hypervisor gave to others, in steps of a clock tick. */
static void read_steal(struct samplers *s, int64_t now)
{
    struct sampler_interrupts *i = &s->interrupts;
    int64_t cpu, ticks;
    for (uint32_t c = 0; c < i->cpu_max; c++)
        i->steal[c].delta = SAMPLER_UNKNOWN;
    if (!sampler_read(s, &s->files[FILE_STEAL], now, false))
        return;
    for (const char *at = s->text; sampler_next_steal(&at, &cpu, &ticks);) {
        struct sampler_steal *steal = cpu < i->cpu_max ? &i->steal[cpu] : NULL;
        if (steal && steal->ticks != SAMPLER_UNKNOWN && ticks >= steal->ticks)
            steal->total += steal->delta = (ticks - steal->ticks) * s->tick_ns;
        if (steal)
            steal->ticks = ticks;
    }
}

/* ---- The sample -------------------------------------------------------------------------------------------------- */

static int64_t busiest_of(struct samplers *s, const struct sampler_sources *t, uint32_t cpu)
{
    return (int64_t)journal_string(s->journal, t->cpus[cpu].most > 0 ? t->names[t->cpus[cpu].busiest] : "none");
}

static void record_cpu(struct samplers *s, uint32_t cpu, int64_t interval, bool hard, bool soft)
{
    const struct sampler_interrupts *i = &s->interrupts;
    const struct sampler_cpu_count *h = &i->hard.cpus[cpu], *f = &i->soft.cpus[cpu];
    if (h->delta == 0 && f->delta == 0 && i->steal[cpu].delta <= 0)
        return;
    int64_t values[] = {cpu,
                        interval,
                        hard ? h->delta : SAMPLER_UNKNOWN,
                        busiest_of(s, &i->hard, cpu),
                        hard ? h->most : SAMPLER_UNKNOWN,
                        soft ? f->delta : SAMPLER_UNKNOWN,
                        busiest_of(s, &i->soft, cpu),
                        soft ? f->most : SAMPLER_UNKNOWN,
                        i->steal[cpu].delta};
    sampler_record(s, ASPECT_INTERRUPTS, NULL, values, sizeof values / sizeof *values);
}

void sampler_take_interrupts(struct samplers *s, int64_t now)
{
    struct sampler_interrupts *i = &s->interrupts;
    bool hard = read_table(s, FILE_INTERRUPTS, &i->hard, now);
    int64_t at = clock_now();
    bool soft = read_table(s, FILE_SOFTIRQS, &i->soft, now);
    read_steal(s, now);
    for (uint32_t cpu = 0; i->at && cpu < i->cpu_max; cpu++)
        record_cpu(s, cpu, at - i->at, hard, soft);
    if (hard && soft && i->at)
        s->interrupts_taken = now;
    i->at = at;
}

/* ---- For the sampler of threads ---------------------------------------------------------------------------------- */

bool sampler_interrupts_of(const struct samplers *s, int64_t cpu, int64_t now, struct sampler_cpu_share *share)
{
    const struct sampler_interrupts *i = &s->interrupts;
    if (cpu < 0 || cpu >= i->cpu_max || !s->interrupts_before || s->interrupts_taken != now)
        return false;
    share->interrupts = i->hard.cpus[cpu].total - i->hard.cpus[cpu].before;
    share->softirqs = i->soft.cpus[cpu].total - i->soft.cpus[cpu].before;
    share->steal = i->steal[cpu].total - i->steal[cpu].before;
    return true;
}

void sampler_mark_interrupts(struct samplers *s, int64_t now)
{
    struct sampler_interrupts *i = &s->interrupts;
    s->interrupts_before = s->interrupts_taken == now;
    for (uint32_t cpu = 0; cpu < i->cpu_max; cpu++) {
        i->hard.cpus[cpu].before = i->hard.cpus[cpu].total;
        i->soft.cpus[cpu].before = i->soft.cpus[cpu].total;
        i->steal[cpu].before = i->steal[cpu].total;
    }
}
