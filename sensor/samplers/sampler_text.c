// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/samplers/sampler_text.h"

#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 1000000, SECTOR_BYTES = 512 };

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

/* Reads the next number of the line, after blanks, and moves *text behind it. False if there is none. */
static bool take_number(const char **text, int64_t *value)
{
    const char *at = *text + strspn(*text, " \t");
    char *end;
    if (*at != '-' && (*at < '0' || *at > '9'))
        return false;
    errno = 0;
    long long n = strtoll(at, &end, 10);
    if (end == at || errno != 0)
        return false;
    *value = n;
    *text = end;
    return true;
}

/* Reads up to `max` numbers of a line; returns their number. */
static int take_numbers(const char **text, int64_t *values, int max)
{
    int n = 0;
    while (n < max && take_number(text, &values[n]))
        n++;
    return n;
}

static void skip_words(const char **text, int n)
{
    for (int i = 0; i < n; i++) {
        *text += strspn(*text, " \t");
        *text += strcspn(*text, " \t\n");
    }
}

static void next_line(const char **text)
{
    const char *end = strchr(*text, '\n');
    *text = end ? end + 1 : *text + strlen(*text);
}

/* n * factor; SAMPLER_UNKNOWN if n is negative or the product is out of range. */
static int64_t scaled(int64_t n, int64_t factor)
{
    int64_t product;
    return n < 0 || __builtin_mul_overflow(n, factor, &product) ? SAMPLER_UNKNOWN : product;
}

static void unknown(int64_t *values, int n)
{
    for (int i = 0; i < n; i++)
        values[i] = SAMPLER_UNKNOWN;
}

/* The text after `key` at the beginning of a line; NULL if no line begins with it. */
static const char *find_line(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (; *text; next_line(&text))
        if (strncmp(text, key, n) == 0)
            return text + n;
    return NULL;
}

static int64_t number_of(const char *text, const char *key)
{
    int64_t value;
    const char *at = find_line(text, key);
    return at && take_number(&at, &value) ? value : SAMPLER_UNKNOWN;
}

bool sampler_read_number(const char *text, int64_t *value)
{
    return take_number(&text, value);
}

/* ---- The node ---------------------------------------------------------------------------------------------------- */

bool sampler_read_cpu(const char *text, int64_t values[CPU_FIELDS])
{
    unknown(values, CPU_FIELDS);
    const char *all = find_line(text, "cpu ");
    if (!all || take_numbers(&all, values, CPU_TIMES) < CPU_IOWAIT)
        return false;
    values[CPU_SWITCHES] = number_of(text, "ctxt ");
    values[CPU_FORKS] = number_of(text, "processes ");
    values[CPU_RUNNING] = number_of(text, "procs_running ");
    values[CPU_BLOCKED] = number_of(text, "procs_blocked ");
    return true;
}

bool sampler_read_memory(const char *text, int64_t values[MEMORY_FIELDS])
{
    static const char *const keys[MEMORY_FIELDS] = {
        "MemTotal:", "MemFree:", "MemAvailable:", "Buffers:",   "Cached:",  "Shmem:",
        "Slab:",     "Dirty:",   "Writeback:",    "SwapTotal:", "SwapFree:"};
    for (int i = 0; i < MEMORY_FIELDS; i++)
        values[i] = scaled(number_of(text, keys[i]), 1024);
    return values[MEMORY_TOTAL] != SAMPLER_UNKNOWN;
}

/* Takes the `n` bytes at `from`, in which the kernel allows what it likes, as a name: without spaces and controls. */
static void take_name(char name[SAMPLER_NAME_MAX + 1], const char *from, size_t n)
{
    char text[SAMPLER_NAME_MAX + 1];
    if (n > SAMPLER_NAME_MAX)
        n = SAMPLER_NAME_MAX;
    memcpy(text, from, n);
    text[n] = '\0';
    utf8_escape_name(name, SAMPLER_NAME_MAX, text);
}

bool sampler_next_network(const char **text, char name[SAMPLER_NAME_MAX + 1], int64_t values[NETWORK_FIELDS])
{
    enum { RX = 0, TX = 8, COLUMNS = 16 };
    for (; **text; next_line(text)) {
        int64_t columns[COLUMNS];
        const char *start = *text + strspn(*text, " \t"), *at = start + strcspn(start, ":\n");
        size_t n = (size_t)(at - start);
        if (*at != ':' || n == 0)
            continue;
        at++;
        if (take_numbers(&at, columns, COLUMNS) < TX + 4)
            continue;
        take_name(name, start, n);
        for (int i = 0; i < 4; i++) {
            values[NETWORK_RX_BYTES + i] = columns[RX + i];
            values[NETWORK_TX_BYTES + i] = columns[TX + i];
        }
        next_line(text);
        return true;
    }
    return false;
}

bool sampler_next_disk(const char **text, char name[SAMPLER_NAME_MAX + 1], int64_t values[DISK_FIELDS])
{
    enum { READS, READ_SECTORS = 2, READ_MS, WRITES, WRITE_SECTORS = 6, WRITE_MS, IN_FLIGHT, BUSY_MS, COLUMNS };
    for (; **text; next_line(text)) {
        int64_t numbers[2], columns[COLUMNS];
        const char *at = *text;
        if (take_numbers(&at, numbers, 2) < 2)
            continue;
        const char *start = at + strspn(at, " \t");
        at = start + strcspn(start, " \t\n");
        size_t n = (size_t)(at - start);
        if (n == 0 || take_numbers(&at, columns, COLUMNS) < COLUMNS || (columns[READS] == 0 && columns[WRITES] == 0))
            continue;
        take_name(name, start, n);
        values[DISK_READS] = columns[READS];
        values[DISK_READ_BYTES] = scaled(columns[READ_SECTORS], SECTOR_BYTES);
        values[DISK_READ_NS] = scaled(columns[READ_MS], TICK_MS);
        values[DISK_WRITES] = columns[WRITES];
        values[DISK_WRITE_BYTES] = scaled(columns[WRITE_SECTORS], SECTOR_BYTES);
        values[DISK_WRITE_NS] = scaled(columns[WRITE_MS], TICK_MS);
        values[DISK_IN_FLIGHT] = columns[IN_FLIGHT];
        values[DISK_BUSY_NS] = scaled(columns[BUSY_MS], TICK_MS);
        next_line(text);
        return true;
    }
    return false;
}

/* The line of `key`: "some avg10=0.00 avg60=0.00 avg300=0.00 total=0". */
static bool read_stall(const char *text, const char *key, double *percent, int64_t *ns)
{
    long long us;
    const char *at = find_line(text, key);
    *percent = (double)NAN;
    *ns = SAMPLER_UNKNOWN;
    if (!at || sscanf(at, " avg10=%lf avg60=%*f avg300=%*f total=%lld", percent, &us) != 2)
        return false;
    *ns = scaled(us, 1000);
    return true;
}

bool sampler_read_pressure(const char *text, struct sampler_pressure *p)
{
    bool some = read_stall(text, "some", &p->some_percent, &p->some_ns);
    return read_stall(text, "full", &p->full_percent, &p->full_ns) || some; /* older kernels have no `full` for CPUs */
}

/* ---- Processes --------------------------------------------------------------------------------------------------- */

bool sampler_read_process(const char *text, int64_t values[PROCESS_FIELDS], uint64_t *start_time)
{
    /* Columns after the name and the state. The name may contain any character, also ')'. */
    enum { MINOR = 6, MAJOR = 8, USER = 10, SYSTEM = 11, THREADS = 16, START = 18, MAPPED, RESIDENT, COLUMNS };
    int64_t columns[COLUMNS];
    const char *at = strrchr(text, ')');
    unknown(values, PROCESS_FIELDS);
    if (!at || at[1] != ' ' || at[2] == '\0' || at[2] == 'Z' || at[2] == 'X')
        return false;
    at += 3;
    if (take_numbers(&at, columns, COLUMNS) < COLUMNS || columns[MAPPED] == 0)
        return false; /* a process that is ending has no memory: its zeros were never measured */
    values[PROCESS_USER] = columns[USER];
    values[PROCESS_SYSTEM] = columns[SYSTEM];
    values[PROCESS_MINOR_FAULTS] = columns[MINOR];
    values[PROCESS_MAJOR_FAULTS] = columns[MAJOR];
    values[PROCESS_THREADS] = columns[THREADS];
    values[PROCESS_RESIDENT] = columns[RESIDENT];
    *start_time = (uint64_t)columns[START];
    return true;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

/* Whether all are counts: no counter of the kernel is negative. */
static bool are_counts(const int64_t *values, int n)
{
    for (int i = 0; i < n; i++)
        if (values[i] < 0)
            return false;
    return true;
}

bool sampler_read_sched(const char *text, int64_t values[SCHED_FIELDS])
{
    return take_numbers(&text, values, SCHED_FIELDS) == SCHED_FIELDS && are_counts(values, SCHED_FIELDS);
}

bool sampler_read_switches(const char *text, int64_t *voluntary, int64_t *involuntary)
{
    *voluntary = number_of(text, "voluntary_ctxt_switches:");
    *involuntary = number_of(text, "nonvoluntary_ctxt_switches:");
    return *voluntary >= 0 && *involuntary >= 0;
}

/* cgroup v1 has a function of its own for it; that of v2 is inlined into the delivery of signals. */
bool sampler_is_frozen(const char *text)
{
    return strstr(text, "refrigerator") || strstr(text, "freezer") || strcmp(text, "get_signal") == 0;
}

bool sampler_waits_in_vfork(const char *text)
{
    return strstr(text, "vfork") || strstr(text, "do_fork") || strcmp(text, "kernel_clone") == 0;
}

bool sampler_read_thread(const char *text, int64_t *faults, int64_t *cpu)
{
    /* Columns after the name and the state, as in sampler_read_process(). */
    enum { MINOR = 6, MAJOR = 8, COLUMNS, CPU = 35 };
    int64_t columns[COLUMNS];
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ' || at[2] == '\0' || at[2] == 'Z' || at[2] == 'X')
        return false;
    at += 3;
    if (take_numbers(&at, columns, COLUMNS) < COLUMNS || columns[MINOR] < 0 || columns[MAJOR] < 0 ||
        __builtin_add_overflow(columns[MINOR], columns[MAJOR], faults))
        return false;
    skip_words(&at, CPU - COLUMNS); /* some do not fit into 64 bits with a sign */
    return take_number(&at, cpu) && *cpu >= 0;
}

/* ---- Interrupts -------------------------------------------------------------------------------------------------- */

bool sampler_read_columns(const char **text, struct sampler_table *t, uint32_t max)
{
    const char *at = *text;
    t->cpu_count = 0;
    while (t->cpu_count < max) {
        int64_t cpu;
        at += strspn(at, " \t");
        if (strncmp(at, "CPU", 3) != 0)
            break;
        at += 3;
        if (!take_number(&at, &cpu) || cpu < 0 || cpu > UINT32_MAX)
            break;
        t->cpus[t->cpu_count++] = (uint32_t)cpu;
    }
    next_line(text);
    return t->cpu_count > 0;
}

/* The name of a source whose word is `n` bytes at `word`; `rest` is what its line has behind the counts. */
static void name_source(char name[SAMPLER_NAME_MAX + 1], const char *word, size_t n, const char *rest)
{
    size_t end = strcspn(rest, "\n");
    while (end > 0 && (rest[end - 1] == ' ' || rest[end - 1] == '\t'))
        end--;
    size_t start = end;
    while (start > 0 && rest[start - 1] != ' ' && rest[start - 1] != '\t')
        start--;
    take_name(name, word, n);
    size_t used = strlen(name);
    if (*word < '0' || *word > '9' || end == start || used + 2 > SAMPLER_NAME_MAX)
        return;
    char last[SAMPLER_NAME_MAX + 1];
    take_name(last, rest + start, end - start);
    snprintf(name + used, SAMPLER_NAME_MAX + 1 - used, ":%.*s", (int)(SAMPLER_NAME_MAX - used - 1), last);
}

bool sampler_next_source(const char **text, const struct sampler_table *t, char name[SAMPLER_NAME_MAX + 1],
                         int64_t *counts)
{
    for (; **text; next_line(text)) {
        const char *start = *text + strspn(*text, " \t"), *at = start + strcspn(start, ": \t\n");
        size_t n = (size_t)(at - start);
        if (*at != ':' || n == 0)
            continue;
        at++;
        if (take_numbers(&at, counts, (int)t->cpu_count) < (int)t->cpu_count || !are_counts(counts, (int)t->cpu_count))
            continue; /* "ERR:" has one count for all CPUs */
        name_source(name, start, n, at);
        next_line(text);
        return true;
    }
    return false;
}

bool sampler_next_steal(const char **text, int64_t *cpu, int64_t *steal)
{
    for (; **text; next_line(text)) {
        int64_t columns[CPU_STEAL + 1];
        if (strncmp(*text, "cpu", 3) != 0 || (*text)[3] < '0' || (*text)[3] > '9')
            continue; /* "cpu " has the sums */
        const char *at = *text + 3;
        if (!take_number(&at, cpu))
            continue;
        if (take_numbers(&at, columns, CPU_STEAL + 1) < CPU_STEAL + 1 || columns[CPU_STEAL] < 0)
            continue;
        *steal = columns[CPU_STEAL];
        next_line(text);
        return true;
    }
    return false;
}
