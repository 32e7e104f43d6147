// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/shm/counter_proof.h"

#include "base/saturate.h"
#include "sensor/shm/cpu_counter.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    READS = 16,     /* for each of a visit's pairs */
    TRIES = 8,      /* of a visit that is not clear */
    UNCLEAR = 60,   /* visits in a row that say nothing, after which the trust ends */
    CPUS = 8192,    /* the most that a kernel can have */
    SURPRISE = 1000 /* ns */
};

#define ONLINE "/sys/devices/system/cpu/online"

/* ---- judgements -------------------------------------------------------------------------------------------------- */

enum counter_verdict counter_proof_judge(const struct counter_visit *v, int64_t *apart)
{
    int64_t reading = saturate_most(v->before.uncertainty, v->after.uncertainty) + v->there.uncertainty;
    int64_t span = (int64_t)(v->after.ticks - v->before.ticks), ns = v->after.ns - v->before.ns;
    *apart = INT64_MAX;
    if (reading > COUNTER_PROOF_CLEAR_NS)
        return COUNTER_UNCLEAR;
    if (span <= 0 || ns <= 0)
        return COUNTER_APART;
    double rate = (double)ns / (double)span;
    double expected = (double)(int64_t)(v->there.ticks - v->before.ticks) * rate;
    double off = expected - (double)(v->there.ns - v->before.ns);
    if (off < 0)
        off = -off;
    if (off > (double)INT64_MAX / 4)
        return COUNTER_APART;
    *apart = (int64_t)off + reading;
    return off <= (double)(reading + COUNTER_PROOF_SLACK_NS) ? COUNTER_AGREES : COUNTER_APART;
}

bool counter_proof_contradicts(const struct timebase *tb, const struct clock_pair *pair)
{
    if (!timebase_ready(tb) || tb->pairs < 3)
        return false;
    double elapsed = (double)(pair->ns - tb->last.ns);
    double off = (double)timebase_ns(tb, pair->ticks) - (double)pair->ns;
    double allowed = (double)pair->uncertainty + (double)tb->last_error_ns + SURPRISE +
                     elapsed * (TIMEBASE_SLEW_PPM * 1e-6 + tb->rate_error);
    return elapsed >= 0 && (off > allowed || -off > allowed);
}

/* ---- visits ------------------------------------------------------------------------------------------------------ */

int counter_proof_visit(uint32_t cpu, struct counter_visit *v)
{
    size_t size = CPU_ALLOC_SIZE(CPUS);
    cpu_set_t *own = CPU_ALLOC(CPUS), *one = CPU_ALLOC(CPUS);
    int err = own && one ? 0 : BEZEL_ENOMEM;
    if (!err && sched_getaffinity(0, size, own) != 0)
        err = err_from_errno(errno);
    if (!err) {
        CPU_ZERO_S(size, one);
        CPU_SET_S(cpu, size, one);
        v->before = clock_pair_read(cpu_counter_read, READS);
        err = sched_setaffinity(0, size, one) == 0 ? 0 : BEZEL_EINVAL;
    }
    if (!err) {
        v->there = clock_pair_read(cpu_counter_read, READS);
        err = sched_setaffinity(0, size, own) == 0 ? 0 : err_from_errno(errno);
        v->after = clock_pair_read(cpu_counter_read, READS);
    }
    CPU_FREE(own);
    CPU_FREE(one);
    return err;
}

/* The first processor from `from` on that is online; CPUS: there is none. The kernel lists them as "0-3,5". */
static uint32_t next_online(uint32_t from)
{
    char list[4096] = "";
    FILE *f = fopen(ONLINE, "re");
    if (!f || !fgets(list, sizeof list, f))
        list[0] = '\0';
    if (f)
        fclose(f);
    for (char *at = list; *at >= '0' && *at <= '9';) {
        unsigned long first = strtoul(at, &at, 10), last = *at == '-' ? strtoul(at + 1, &at, 10) : first;
        if (last >= from && last < CPUS)
            return (uint32_t)(first > from ? first : from);
        at += *at == ',';
    }
    return CPUS;
}

static const char *const apart_text = "the counters of its processors are apart";

/* Visits processor `cpu` until it is clear. */
static enum counter_verdict visit(struct counter_proof *p, uint32_t cpu)
{
    for (int i = 0; i < TRIES; i++) {
        struct counter_visit v;
        int64_t apart;
        if (counter_proof_visit(cpu, &v) != 0) {
            p->why = "bezeld may not run on all processors, and so cannot compare their counters";
            return COUNTER_UNCLEAR;
        }
        enum counter_verdict verdict = counter_proof_judge(&v, &apart);
        if (verdict == COUNTER_AGREES && apart > p->apart)
            p->apart = apart;
        if (verdict != COUNTER_UNCLEAR)
            return verdict;
    }
    p->why = "the machine is too busy to compare the counters of its processors";
    return COUNTER_UNCLEAR;
}

/* ---- the proof --------------------------------------------------------------------------------------------------- */

/* Whether the kernel, or whoever started this process, says that the counter is reliable. */
static bool is_reliable(void)
{
    const char *set = getenv("BEZEL_CLOCK");
    char *line = NULL;
    size_t size = 0;
    bool is = set && strcmp(set, "counter") == 0, found = false;
    FILE *f = is ? NULL : fopen("/proc/cpuinfo", "re");
    while (f && !found && getline(&line, &size, f) > 0) {
        found = strncmp(line, "flags", 5) == 0;
        is = found && cpu_counter_is_reliable(line);
    }
    free(line);
    if (f)
        fclose(f);
    return is;
}

static void prove(struct counter_proof *p, int64_t now)
{
    enum counter_verdict verdict = COUNTER_UNCLEAR;
    p->due = now + COUNTER_PROOF_EVERY;
    for (uint32_t cpu = next_online(0); cpu < CPUS; cpu = next_online(cpu + 1)) {
        verdict = visit(p, cpu);
        if (verdict != COUNTER_AGREES)
            break;
    }
    p->proven = verdict == COUNTER_AGREES;
    if (verdict == COUNTER_APART) {
        p->left = true;
        p->why = apart_text;
    }
}

void counter_proof_begin(struct counter_proof *p)
{
    enum cpu_counter_trust trust = cpu_counter_trust(&p->why);
    *p = (struct counter_proof){.needless = trust == CPU_COUNTER_TRUSTED, .asked = trust == CPU_COUNTER_PROVABLE};
    if (!p->asked)
        return;
    p->why = "the kernel does not say that the counter is reliable (constant_tsc, nonstop_tsc and tsc_reliable in "
             "/proc/cpuinfo); BEZEL_CLOCK=counter in bezeld's environment says so in its place";
    p->left = !is_reliable();
    if (!p->left)
        prove(p, clock_now());
}

bool counter_proof_poll(struct counter_proof *p, int64_t now)
{
    if (!p->asked || p->left || now < p->due)
        return true;
    if (!p->proven) {
        prove(p, now);
        return !p->left;
    }
    p->due = now + COUNTER_PROOF_EVERY;
    uint32_t cpu = next_online(p->next);
    if (cpu == CPUS)
        cpu = next_online(0);
    enum counter_verdict verdict = cpu == CPUS ? COUNTER_UNCLEAR : visit(p, cpu);
    p->unclear = verdict == COUNTER_UNCLEAR ? p->unclear + 1 : 0;
    if (verdict != COUNTER_UNCLEAR)
        p->next = cpu + 1;
    p->left = verdict == COUNTER_APART || p->unclear == UNCLEAR;
    if (verdict == COUNTER_APART)
        p->why = apart_text;
    return !p->left;
}
