// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/real_time.h"

#include "base/clock.h"
#include "base/saturate.h"
#include "base/units.h"
#include "config/diagnostics.h"

#define IN(member) offsetof(struct experiment, sensing.real_time.member)

/*
 * The kernel's limits for SCHED_DEADLINE: the defaults of sched_deadline_period_min_us and
 * sched_deadline_period_max_us; a runtime has at least 2^10 ns.
 */
#define RUNTIME_MIN  (2 * CLOCK_US)
#define DEADLINE_MAX (4 * CLOCK_S)
#define PERIOD_MIN   (100 * CLOCK_US)

static const struct schema_word policies[] = {{"unchanged", REAL_TIME_UNCHANGED, false},
                                              {"other", REAL_TIME_OTHER, false},
                                              {"fifo", REAL_TIME_FIFO, false},
                                              {"deadline", REAL_TIME_DEADLINE, false},
                                              {NULL, 0, false}};

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

static void add_cpu(struct reader *r, const struct tree *t, struct experiment_cpus *cpus)
{
    uint64_t cpu;
    const char *why, *text = reader_text(r, t, "the number of a CPU");
    if (!text)
        return;
    if (units_read_count(text, &cpu, &why) != 0)
        reader_wrong(r, t, "%s is not the number of a CPU: %s", diagnostics_quote(text).s, why);
    else if (cpu >= EXPERIMENT_CPUS_MAX)
        reader_wrong(r, t, "%s is out of range; allowed: 0 .. %d", diagnostics_quote(text).s, EXPERIMENT_CPUS_MAX - 1);
    else if (experiment_has_cpu(cpus, (uint32_t)cpu))
        reader_wrong(r, t, "CPU %u appears twice in this list", (unsigned)cpu);
    else
        cpus->bits[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

static void read_cpus(struct reader *r, const struct tree *t, void *to)
{
    if (t->refused)
        return;
    if (t->kind == TREE_LIST && t->children == 0)
        reader_wrong(r, t, "is empty; expected: the number of a CPU, or several such as [2, 3]");
    else if (t->kind != TREE_LIST)
        add_cpu(r, t, to);
    else
        for (const struct tree *child = t->first; child; child = child->next)
            add_cpu(r, child, to);
}

/* An unused key draws a warning, so its default value is not printed. */
static bool priority_is_used(const void *experiment)
{
    const struct experiment_real_time *rt = &((const struct experiment *)experiment)->sensing.real_time;
    return rt->policy == REAL_TIME_FIFO || rt->priority != schema_defaults.sensing.real_time.priority;
}

static void print_cpus(const void *from, FILE *out)
{
    const struct experiment_cpus *cpus = from;
    fputc('[', out);
    for (uint32_t i = 0, left = experiment_cpu_count(cpus); left > 0; i++)
        if (experiment_has_cpu(cpus, i))
            fprintf(out, "%u%s", i, --left > 0 ? ", " : "]");
}

const struct schema_field real_time_fields[] = {
    {SCHEMA_ROW_WORDS("policy", SCHEMA_WORD, IN(policy), policies)},
    {SCHEMA_ROW_RANGE("priority", SCHEMA_COUNT, IN(priority), 1, 99), .is_used = priority_is_used},
    {SCHEMA_ROW_RANGE("runtime", SCHEMA_DURATION, IN(runtime), 0, DEADLINE_MAX), .quiet = true},
    {SCHEMA_ROW_RANGE("deadline", SCHEMA_DURATION, IN(deadline), 0, DEADLINE_MAX), .quiet = true},
    {SCHEMA_ROW_RANGE("period", SCHEMA_DURATION, IN(period), 0, DEADLINE_MAX), .quiet = true},
    {SCHEMA_ROW_OWN("cpu", IN(cpu), read_cpus), .print = print_cpus, .size = sizeof(struct experiment_cpus),
     .quiet = true, .shape = SCHEMA_IS_TEXT_OR_LIST},
    {SCHEMA_ROW_OWN("io-cpu", IN(io_cpu), read_cpus), .print = print_cpus, .size = sizeof(struct experiment_cpus),
     .quiet = true, .shape = SCHEMA_IS_TEXT_OR_LIST},
    {SCHEMA_ROW_WORDS("lock-memory", SCHEMA_FLAG, IN(lock_memory), schema_yes_or_no)},
    {SCHEMA_ROW_RANGE("timer-slack", SCHEMA_DURATION, IN(timer_slack), 1, 10 * CLOCK_MS)},
    {0},
};

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

static const struct tree *find(const struct tree *root, const char *key)
{
    return tree_get(tree_get(tree_get(root, "sensing"), "real-time"), key);
}

/*
 * Defaults: the period is the polling period at the start, the runtime half of the deadline. With busy-wait they are
 * 1 ms and nine tenths.
 */
static void choose_reservation(const struct experiment_sensing *s, struct experiment_real_time *rt)
{
    bool busy = s->mode == POLL_BUSY_WAIT;
    if (rt->period == 0)
        rt->period = saturate_between(busy ? CLOCK_MS : s->period,
                                      rt->deadline > PERIOD_MIN ? rt->deadline : PERIOD_MIN, DEADLINE_MAX);
    if (rt->deadline == 0)
        rt->deadline = rt->period;
    if (rt->runtime == 0)
        rt->runtime = saturate_between(busy ? rt->deadline / 10 * 9 : rt->deadline / 2, RUNTIME_MIN, rt->deadline);
}

/* The place for a diagnostic about the reservation: the first of the keys that the file has. */
static const struct tree *first_key(const struct tree *root, const char *first, const char *second)
{
    static const char *const any[] = {"runtime", "deadline", "period", "policy"};
    const struct tree *t = find(root, first) ? find(root, first) : find(root, second);
    for (size_t i = 0; !t && i < sizeof any / sizeof *any; i++)
        t = find(root, any[i]);
    return t;
}

void real_time_check(struct reader *r, const struct tree *root, struct experiment *e)
{
    struct experiment_real_time *rt = &e->sensing.real_time;
    const struct tree *section = tree_get(tree_get(root, "sensing"), "real-time");
    if (section)
        rt->at = section->key_at;
    if (rt->policy != REAL_TIME_DEADLINE)
        return;
    choose_reservation(&e->sensing, rt);
    if (rt->period < PERIOD_MIN)
        reader_wrong(r, first_key(root, "period", "period"),
                     "a period of %s is too short for the kernel; allowed: %s .. %s",
                     units_exact_duration(rt->period).s, units_exact_duration(PERIOD_MIN).s,
                     units_exact_duration(DEADLINE_MAX).s);
    else if (rt->runtime < RUNTIME_MIN)
        reader_wrong(r, first_key(root, "runtime", "deadline"),
                     "a runtime of %s is too short; allowed: %s .. the deadline", units_exact_duration(rt->runtime).s,
                     units_exact_duration(RUNTIME_MIN).s);
    else if (rt->runtime > rt->deadline || rt->deadline > rt->period)
        reader_wrong(
            r, first_key(root, rt->runtime > rt->deadline ? "runtime" : "deadline", "period"),
            "runtime %s, deadline %s, period %s: the runtime must not exceed the deadline, nor the deadline the period",
            units_exact_duration(rt->runtime).s, units_exact_duration(rt->deadline).s,
            units_exact_duration(rt->period).s);
}

/* ---- Warnings ---------------------------------------------------------------------------------------------------- */

static void warn_unused(struct reader *r, const struct tree *root, const char *key, const char *of)
{
    if (find(root, key))
        reader_warn(r, find(root, key), "is not used: it belongs to 'policy: %s'", of);
}

void real_time_warn(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct experiment_real_time *rt = &e->sensing.real_time;
    if (rt->policy != REAL_TIME_FIFO)
        warn_unused(r, root, "priority", "fifo");
    if (rt->policy != REAL_TIME_DEADLINE) {
        warn_unused(r, root, "runtime", "deadline");
        warn_unused(r, root, "deadline", "deadline");
        warn_unused(r, root, "period", "deadline");
    } else if (find(root, "cpu")) {
        reader_warn(r, find(root, "cpu"),
                    "with 'policy: deadline' the kernel accepts no CPUs other than all CPUs of an exclusive cpuset");
    }
    if (rt->policy == REAL_TIME_FIFO && e->sensing.mode == POLL_BUSY_WAIT && !find(root, "cpu"))
        reader_warn(r, find(root, "policy"),
                    "busy-wait with 'policy: fifo' blocks everything of lower priority on its CPU: give it a CPU of "
                    "its own with 'cpu', or use 'mode: polling' or 'policy: deadline'");
}

/* ---- CPUs -------------------------------------------------------------------------------------------------------- */

uint32_t experiment_cpu_count(const struct experiment_cpus *cpus)
{
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof cpus->bits / sizeof *cpus->bits; i++)
        n += (uint32_t)__builtin_popcountll(cpus->bits[i]);
    return n;
}

bool experiment_has_cpu(const struct experiment_cpus *cpus, uint32_t cpu)
{
    return cpu < EXPERIMENT_CPUS_MAX && (cpus->bits[cpu / 64] >> cpu % 64 & 1);
}

/* ---- On a machine ------------------------------------------------------------------------------------------------ */

static bool needs_from(const struct experiment_cpus *set, uint32_t cpus)
{
    for (uint32_t i = cpus; i < EXPERIMENT_CPUS_MAX; i++)
        if (experiment_has_cpu(set, i))
            return true;
    return false;
}

/* Nodes whose bezeld is on this machine. */
static uint32_t count_here(const struct experiment *e)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->node_count; i++)
        n += !experiment_is_remote(&e->nodes[i]);
    return n;
}

static int warn_of_starving(const struct experiment *e, uint32_t cpus, struct experiment_diagnostics *found)
{
    const struct experiment_real_time *rt = &e->sensing.real_time;
    uint32_t given = experiment_cpu_count(&rt->cpu), nodes = count_here(e);
    if (rt->policy != REAL_TIME_FIFO || e->sensing.mode != POLL_BUSY_WAIT)
        return 0;
    if (given && nodes > given)
        return experiment_report(found, true, rt->at, "sensing.real-time",
                                 "%u nodes busy-wait in policy fifo on %u CPU%s: %u of them would hardly ever run",
                                 nodes, given, given == 1 ? "" : "s", nodes - given);
    if (nodes >= cpus)
        return experiment_report(
            found, true, rt->at, "sensing.real-time",
            "%u node%s busy-wait%s in policy fifo, and this machine has %u CPU%s: everything else gets only the "
            "time that the kernel's real-time throttling leaves, which may be none",
            nodes, nodes == 1 ? "" : "s", nodes == 1 ? "s" : "", cpus, cpus == 1 ? "" : "s");
    return 0;
}

int experiment_check_cpus(const struct experiment *e, uint32_t cpus, struct experiment_diagnostics *found)
{
    const struct experiment_real_time *rt = &e->sensing.real_time;
    int err = 0;
    if (count_here(e) == 0)
        return 0;
    if (needs_from(&rt->cpu, cpus))
        err = experiment_report(found, true, rt->at, "sensing.real-time.cpu", "this machine has the CPUs 0 .. %u",
                                cpus - 1);
    if (!err && needs_from(&rt->io_cpu, cpus))
        err = experiment_report(found, true, rt->at, "sensing.real-time.io-cpu", "this machine has the CPUs 0 .. %u",
                                cpus - 1);
    return err ? err : warn_of_starving(e, cpus, found);
}
