// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Parses the kernel's text files (proc(5), the kernel's admin-guide/iostats and accounting/psi) into the values that
 * samplers record. Each function reads a NUL-terminated text and trusts nothing in it: a value that is missing or not a
 * number is SAMPLER_UNKNOWN. Pure.
 */
#ifndef BEZEL_SENSOR_SAMPLERS_SAMPLER_TEXT_H
#define BEZEL_SENSOR_SAMPLERS_SAMPLER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLER_UNKNOWN INT64_C(-1)

enum { SAMPLER_NAME_MAX = 63 };

/** /proc/stat: CPU time of all CPUs in ticks of sysconf(_SC_CLK_TCK), events since boot, tasks now. */
enum sampler_cpu {
    CPU_USER,
    CPU_NICE,
    CPU_SYSTEM,
    CPU_IDLE,
    CPU_IOWAIT,
    CPU_IRQ,
    CPU_SOFTIRQ,
    CPU_STEAL,
    CPU_SWITCHES,
    CPU_FORKS,
    CPU_RUNNING,
    CPU_BLOCKED,
    CPU_FIELDS,
    CPU_TIMES = CPU_SWITCHES
};
bool sampler_read_cpu(const char *text, int64_t values[CPU_FIELDS]);

/** /proc/meminfo, in bytes. */
enum sampler_memory {
    MEMORY_TOTAL,
    MEMORY_FREE,
    MEMORY_AVAILABLE,
    MEMORY_BUFFERS,
    MEMORY_CACHED,
    MEMORY_SHARED,
    MEMORY_SLAB,
    MEMORY_DIRTY,
    MEMORY_WRITEBACK,
    MEMORY_SWAP_TOTAL,
    MEMORY_SWAP_FREE,
    MEMORY_FIELDS
};
bool sampler_read_memory(const char *text, int64_t values[MEMORY_FIELDS]);

/** A line of /proc/net/dev: an interface's counters since it came up. */
enum sampler_network {
    NETWORK_RX_BYTES,
    NETWORK_RX_PACKETS,
    NETWORK_RX_ERRORS,
    NETWORK_RX_DROPS,
    NETWORK_TX_BYTES,
    NETWORK_TX_PACKETS,
    NETWORK_TX_ERRORS,
    NETWORK_TX_DROPS,
    NETWORK_FIELDS
};

/** Reads the next interface from *text on and moves *text behind its line; false at the end. */
bool sampler_next_network(const char **text, char name[SAMPLER_NAME_MAX + 1], int64_t values[NETWORK_FIELDS]);

/** A line of /proc/diskstats: bytes of 512-byte sectors, times in ns, requests in flight now. */
enum sampler_disk {
    DISK_READS,
    DISK_READ_BYTES,
    DISK_READ_NS,
    DISK_WRITES,
    DISK_WRITE_BYTES,
    DISK_WRITE_NS,
    DISK_IN_FLIGHT,
    DISK_BUSY_NS,
    DISK_FIELDS
};

/** Reads the next device that has done any I/O; as sampler_next_network(). */
bool sampler_next_disk(const char **text, char name[SAMPLER_NAME_MAX + 1], int64_t values[DISK_FIELDS]);

/** A file of /proc/pressure: how long some, or all, tasks stalled: percent of the last 10 s, ns since boot. */
struct sampler_pressure {
    double some_percent, full_percent; /* NAN: unknown */
    int64_t some_ns, full_ns;
};
bool sampler_read_pressure(const char *text, struct sampler_pressure *p);

/** /proc/<pid>/stat: times in ticks, memory in pages. */
enum sampler_process {
    PROCESS_USER,
    PROCESS_SYSTEM,
    PROCESS_MINOR_FAULTS,
    PROCESS_MAJOR_FAULTS,
    PROCESS_THREADS,
    PROCESS_RESIDENT,
    PROCESS_FIELDS
};

/** Sets *start_time too, in ticks since boot: it differs between two processes of one pid. False if the process has
 * ended. */
bool sampler_read_process(const char *text, int64_t values[PROCESS_FIELDS], uint64_t *start_time);

/** /proc/<pid>/task/<tid>/schedstat: ns on a CPU, ns in a run queue before it came there, and how often it came. */
enum sampler_sched { SCHED_RUNNING, SCHED_WAITING, SCHED_SLICES, SCHED_FIELDS };

/** False if a value is missing. A kernel that does not count has zeros. */
bool sampler_read_sched(const char *text, int64_t values[SCHED_FIELDS]);

/** /proc/<pid>/task/<tid>/status: context switches because the thread waited for something, and because it had to. */
bool sampler_read_switches(const char *text, int64_t *voluntary, int64_t *involuntary);

/** /proc/<pid>/task/<tid>/stat: page faults of both kinds, and the CPU where the thread ran last. False if it has
 * ended. */
bool sampler_read_thread(const char *text, int64_t *faults, int64_t *cpu);

/** /proc/<pid>/task/<tid>/wchan, the kernel's function in which the thread waits: a cgroup freezes it; for its child.
 */
bool sampler_is_frozen(const char *text);
bool sampler_waits_in_vfork(const char *text);

/** /proc/interrupts and /proc/softirqs: the first line names the CPUs, and each further one has a source's counts. */
struct sampler_table {
    uint32_t cpu_count;
    uint32_t *cpus; /* the number of each column's CPU */
};

/** Reads the first line of *text into `t`, up to `max` CPUs, and moves *text behind it. False if it names none. */
bool sampler_read_columns(const char **text, struct sampler_table *t, uint32_t max);

/**
 * Reads the next source that has a count for each column, and moves *text behind its line; false at the end. The name
 * is the first word; where that is a number, with the last word behind it: "LOC", "31:eth0".
 */
bool sampler_next_source(const char **text, const struct sampler_table *t, char name[SAMPLER_NAME_MAX + 1],
                         int64_t *counts);

/** /proc/stat: reads the next CPU's number and its stolen ticks, and moves *text behind its line; false at the end. */
bool sampler_next_steal(const char **text, int64_t *cpu, int64_t *steal);

/** A file with one number, as in /sys. */
bool sampler_read_number(const char *text, int64_t *value);

#endif
