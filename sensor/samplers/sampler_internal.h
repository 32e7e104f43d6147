// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the samplers share: sampler.c has the schedule; the others take the samples. */
#ifndef BEZEL_SENSOR_SAMPLERS_SAMPLER_INTERNAL_H
#define BEZEL_SENSOR_SAMPLERS_SAMPLER_INTERNAL_H

#include "mdr/note.h"
#include "sensor/samplers/sampler.h"
#include "sensor/samplers/sampler_text.h"
#include "sensor/shm/journal.h"

#include <limits.h>

enum {
    SAMPLER_TEXT_BYTES = 1 << 16, /* of a file that are read at least; a longer one is noted */
    SAMPLER_PARTS_MAX = 256,      /* thermal zones, or CPUs with a frequency */
    SAMPLER_PROCESSES = 256,      /* of the SUT that are sampled at once */
    SAMPLER_COUNTERS_MAX = 4096,  /* descriptors of perf counters */
    SAMPLER_THREADS = 1024,       /* of the SUT that are sampled at once; fewer where few files may be open */
    SAMPLER_THREAD_FILES = 3,     /* of each thread, that stay open */
    SAMPLER_SOURCES = 512,        /* of interrupts that are counted apart; the same for softirqs */
    SAMPLER_CPUS = 1024,          /* whose interrupts are counted */
};

/** Aspects of the journal, in the order of their ids, from 1. */
enum sampler_aspect {
    ASPECT_CPU = 1,
    ASPECT_MEMORY,
    ASPECT_NETWORK,
    ASPECT_DISK,
    ASPECT_PRESSURE,
    ASPECT_TEMPERATURE,
    ASPECT_FREQUENCY,
    ASPECT_PROCESS,
    ASPECT_PERF,
    ASPECT_INTERRUPTS,
    ASPECT_SCHEDULING,
};

/** Files of /proc about the node. */
enum sampler_node_file {
    FILE_CPU,
    FILE_MEMORY,
    FILE_NETWORK,
    FILE_DISK,
    FILE_INTERRUPTS,
    FILE_SOFTIRQS,
    FILE_STEAL,
    FILE_PRESSURE, /* of CPU, memory, I/O */
    SAMPLER_FILES = FILE_PRESSURE + 3
};

/** A file that is read again and again: it stays open as long as reading it succeeds. */
struct sampler_file {
    int fd;           /* -1: closed */
    bool table;       /* the kernel gives it in pieces of a page: it is read until its end */
    bool gone;        /* when last read, what it is about had ended */
    int64_t retry_at; /* when a closed file may be opened again */
    const char *what; /* for the operator, of one among many of a kind; NULL: the path is */
    char path[64];
};

/** One of several things of a kind: a thermal zone, a CPU. */
struct sampler_part {
    struct sampler_file file;
    char name[SAMPLER_NAME_MAX + 1];
};

/** Perf counters of a process, summed over its threads. */
enum sampler_perf {
    PERF_CYCLES,
    PERF_INSTRUCTIONS,
    PERF_CACHE_MISSES,
    PERF_BRANCH_MISSES,
    PERF_TASK_NS,
    PERF_SWITCHES,
    PERF_MIGRATIONS,
    PERF_FIELDS
};

struct sampler_counter {
    int fd;
    enum sampler_perf what;
};

/** A thread that has a ring, as it was at its last sample. */
struct sampler_thread {
    enum { THREAD_NONE, THREAD_SAMPLED, THREAD_PASSED } state; /* PASSED: it ended, or has another ring, too */
    uint32_t id;
    uint32_t round, turn; /* of its last sample, see struct samplers */
    int64_t at;           /* 0: not sampled yet */
    int64_t sched[SCHED_FIELDS], voluntary, involuntary, faults, cpu;
    struct sampler_file times, stat, status;
    struct switches_recorder *recorder; /* of its context switches; NULL: none */
    int64_t summed_until;               /* no recorder before this time */
};

struct sampler_process_state {
    uint64_t instance; /* 0: free place */
    uint64_t start_time;
    bool opened; /* opening its counters was tried */
    struct sampler_file stat, sched;
    uint32_t counter_count;
    struct sampler_counter *counters;
    uint32_t thread_count; /* places of threads, by the numbers of their rings */
    struct sampler_thread *threads;
    struct sampler_throttle *throttle; /* of its CPU time; NULL: not looked for */
};

/** What CPUs counted so far, and in one sample (interrupts or softirqs). */
struct sampler_cpu_count {
    int64_t total, before; /* since the samplers began; and until the last sample of threads */
    int64_t delta, most;   /* in this sample: of all sources, and of the busiest */
    uint32_t busiest;      /* its number */
};

/** Time that the hypervisor took from a CPU. */
struct sampler_steal {
    int64_t ticks;         /* as read last; SAMPLER_UNKNOWN: not yet */
    int64_t delta;         /* in this sample, ns; SAMPLER_UNKNOWN: not known */
    int64_t total, before; /* ns, as in struct sampler_cpu_count */
};

/** Counts of each source on each CPU, as they were read last. */
struct sampler_sources {
    uint32_t count;
    char (*names)[SAMPLER_NAME_MAX + 1];
    int64_t *counts; /* of source i on CPU c: i * cpu_max + c */
    struct sampler_cpu_count *cpus;
};

/** State of sampler_interrupts.c; all NULL if interrupts are not sampled. */
struct sampler_interrupts {
    uint32_t cpu_max;
    struct sampler_table columns;
    int64_t *line; /* the counts of one line */
    struct sampler_steal *steal;
    int64_t at; /* of the sample before; 0: none */
    struct sampler_sources hard, soft;
};

struct samplers {
    struct external *external;
    struct journal *journal;
    int64_t period[EXPERIMENT_SAMPLERS], due[EXPERIMENT_SAMPLERS]; /* ns; 0: not sampled */
    double stretch;                                                /* of the periods, from 1 */
    uint32_t kept;                                                 /* a bit each: not stretched */
    int64_t tick_ns, page_bytes;
    struct sampler_file files[SAMPLER_FILES];
    uint32_t zone_count, frequency_count, counter_count, thread_count, thread_max;
    struct sampler_part zones[SAMPLER_PARTS_MAX], frequencies[SAMPLER_PARTS_MAX];
    struct sampler_process_state processes[SAMPLER_PROCESSES];
    /*
     * A turn may end before every thread was sampled; the next one goes on with those that were not. When all were, a
     * round is complete.
     */
    uint32_t round, turn;
    int64_t interrupts_taken; /* `now` of the turn that sampled interrupts last */
    bool interrupts_before;   /* they were sampled in the turn of the sample of threads before, too */
    struct sampler_interrupts interrupts;
    struct sampler_switches *switches; /* NULL: not sampled */
    bool unasked;                      /* the file has not asked for them: they take next to nothing, or wait */
    bool unseen_noted;                 /* that processes of another pid namespace are not sampled */
    size_t text_bytes;
    char *text; /* a byte longer than that */
};

/** A file that is not open yet; `format` makes its path. */
struct sampler_file sampler_file(const char *format, ...) BEZEL_PRINTF(1, 2);
void sampler_file_close(struct sampler_file *f);

/**
 * Reads `f` into s->text. False if it cannot be read; that is noted once, unless `may_vanish` and the file is gone, as
 * that of a process that ended.
 */
bool sampler_read(struct samplers *s, struct sampler_file *f, int64_t now, bool may_vanish);

/** Notes for the operator what cannot be sampled, if anybody asked for it. */
void sampler_note(struct samplers *s, const struct external_process *p, int64_t now, const char *format, ...)
    BEZEL_PRINTF(4, 5);

/** The same whether anybody asked or not, of what a verdict must know: it has samples of some processes or threads. */
void sampler_lacks(struct samplers *s, const struct external_process *p, int64_t now, const char *format, ...)
    BEZEL_PRINTF(4, 5);

/** Records a sample of `aspect`: `name`, unless it is NULL, and then the `n` integers of `values`. */
void sampler_record(struct samplers *s, enum sampler_aspect aspect, const char *name, const int64_t *values, int n);

/** The bits of a float as an integer, for sampler_record(). */
int64_t sampler_float(double value);

/** The samplers: each takes one sample. */
void sampler_take_cpu(struct samplers *s, int64_t now);
void sampler_take_memory(struct samplers *s, int64_t now);
void sampler_take_network(struct samplers *s, int64_t now);
void sampler_take_disk(struct samplers *s, int64_t now);
void sampler_take_pressure(struct samplers *s, int64_t now);
void sampler_take_temperature(struct samplers *s, int64_t now);
void sampler_take_frequency(struct samplers *s, int64_t now);
void sampler_take_processes(struct samplers *s, int64_t now);
void sampler_take_perf(struct samplers *s, int64_t now);
void sampler_take_interrupts(struct samplers *s, int64_t now);
void sampler_take_scheduling(struct samplers *s, int64_t now);
void sampler_take_switches(struct samplers *s, int64_t now);

/** Find thermal zones, and CPUs with a frequency; note if there are none. */
void sampler_find_zones(struct samplers *s, int64_t now);
void sampler_find_frequencies(struct samplers *s, int64_t now);

/**
 * Goes through the SUT's living processes: returns the state of the next one and sets *p, with *i from 0 on; NULL at
 * the end. The places of ended processes are freed first.
 */
struct sampler_process_state *sampler_next_process(struct samplers *s, uint32_t *i, const struct external_process **p);

/** Closes a process's files and counters, and frees its place. */
void sampler_forget_process(struct samplers *s, struct sampler_process_state *p);

/** Memory for the counts of interrupts. Returns 0 or BEZEL_ENOMEM; sampler_close_interrupts() frees it in both cases.
 */
int sampler_open_interrupts(struct samplers *s) BEZEL_MUST_CHECK;
void sampler_close_interrupts(struct samplers *s);

/**
 * What CPU `cpu` counted in the time between this sample of threads and the one before. False if that is not known:
 * interrupts are sampled at other times than threads, or not at all.
 */
struct sampler_cpu_share {
    int64_t interrupts, softirqs, steal; /* steal in ns */
};
bool sampler_interrupts_of(const struct samplers *s, int64_t cpu, int64_t now, struct sampler_cpu_share *share);

/** A sample of threads is complete: the next one counts from here. */
void sampler_mark_interrupts(struct samplers *s, int64_t now);

/**
 * Gives each ring of a process the thread that has it now, and closes the files of the one that had it
 * (sampler_threads.c).
 */
void sampler_find_threads(struct samplers *s, struct sampler_process_state *place, const struct external_process *p,
                          int64_t now);

/** Closes the files of a process's threads, and frees their places (sampler_threads.c). */
void sampler_close_threads(struct samplers *s, struct sampler_process_state *p);

/** Closes the counters of a process (sampler_perf.c). */
void sampler_close_counters(struct samplers *s, struct sampler_process_state *p);

/** As many threads are sampled where enough files may be open. */
static inline uint32_t sampler_most_threads(const struct samplers *s)
{
    return SAMPLER_THREADS / (s->unasked ? 4 : 1);
}

#endif
