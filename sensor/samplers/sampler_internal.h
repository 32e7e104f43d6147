// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What the samplers share: sampler.c has the schedule; sampler_node.c, _process.c and _perf.c take the samples. */
#ifndef BEZEL_SENSOR_SAMPLERS_SAMPLER_INTERNAL_H
#define BEZEL_SENSOR_SAMPLERS_SAMPLER_INTERNAL_H

#include "sensor/samplers/sampler.h"
#include "sensor/samplers/sampler_text.h"
#include "sensor/shm/journal.h"

#include <limits.h>

enum {
    SAMPLER_TEXT_BYTES = 1 << 16, /* of a file that are read; a longer one is noted */
    SAMPLER_PARTS_MAX = 256,      /* thermal zones, or CPUs with a frequency */
    SAMPLER_PROCESSES = 256,      /* of the SUT that are sampled at once */
    SAMPLER_COUNTERS_MAX = 4096,  /* descriptors of perf counters */
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
};

/** Files of /proc about the node. */
enum sampler_node_file {
    FILE_CPU,
    FILE_MEMORY,
    FILE_NETWORK,
    FILE_DISK,
    FILE_PRESSURE, /* of CPU, memory, I/O */
    SAMPLER_FILES = FILE_PRESSURE + 3
};

/** A file that is read again and again: it stays open as long as reading it succeeds. */
struct sampler_file {
    int fd;           /* -1: closed */
    int64_t retry_at; /* when a closed file may be opened again */
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

struct sampler_process_state {
    uint64_t instance; /* 0: free place */
    uint64_t start_time;
    bool opened; /* opening its counters was tried */
    struct sampler_file stat, sched;
    uint32_t counter_count;
    struct sampler_counter *counters;
};

struct samplers {
    struct external *external;
    struct journal *journal;
    int64_t period[EXPERIMENT_SAMPLERS], due[EXPERIMENT_SAMPLERS]; /* ns; 0: not sampled */
    double stretch;                                                /* of the periods, from 1 */
    int64_t tick_ns, page_bytes;
    struct sampler_file files[SAMPLER_FILES];
    uint32_t zone_count, frequency_count, counter_count;
    struct sampler_part zones[SAMPLER_PARTS_MAX], frequencies[SAMPLER_PARTS_MAX];
    struct sampler_process_state processes[SAMPLER_PROCESSES];
    char text[SAMPLER_TEXT_BYTES + 1];
};

/** A file that is not open yet; `format` makes its path. */
struct sampler_file sampler_file(const char *format, ...) BEZEL_PRINTF(1, 2);
void sampler_file_close(struct sampler_file *f);

/**
 * Reads `f` into s->text. False if it cannot be read; that is noted once, unless `may_vanish` and the file is gone, as
 * that of a process that ended.
 */
bool sampler_read(struct samplers *s, struct sampler_file *f, int64_t now, bool may_vanish);

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

/** Closes the counters of a process (sampler_perf.c). */
void sampler_close_counters(struct samplers *s, struct sampler_process_state *p);

#endif
