// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/samplers/sampler.h"

#include "base/clock.h"
#include "mdr/dict_fields.h"
#include "sensor/external/notes.h"
#include "sensor/samplers/sampler_switches.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SAMPLER_RETRY (10 * CLOCK_S)
#define UNASKED_SHARE 500 /* of what nobody asked for: the part of a CPU that it takes at most */

/* ---- Aspects ----------------------------------------------------------------------------------------------------- */

static const struct dict_aspect aspects[] = {
    {.name = "node_cpu",
     .field_count = CPU_FIELDS,
     .fields = {INT("user", "ns"), INT("nice", "ns"), INT("system", "ns"), INT("idle", "ns"), INT("iowait", "ns"),
                INT("irq", "ns"), INT("softirq", "ns"), INT("steal", "ns"), INT("switches", "1"), INT("forks", "1"),
                INT("running", "1"), INT("blocked", "1")}},
    {.name = "node_memory",
     .field_count = MEMORY_FIELDS,
     .fields = {INT("total", "B"), INT("free", "B"), INT("available", "B"), INT("buffers", "B"), INT("cached", "B"),
                INT("shared", "B"), INT("slab", "B"), INT("dirty", "B"), INT("writeback", "B"), INT("swap_total", "B"),
                INT("swap_free", "B")}},
    {.name = "node_network",
     .field_count = 1 + NETWORK_FIELDS,
     .fields = {TEXT("interface"), INT("rx_bytes", "B"), INT("rx_packets", "1"), INT("rx_errors", "1"),
                INT("rx_drops", "1"), INT("tx_bytes", "B"), INT("tx_packets", "1"), INT("tx_errors", "1"),
                INT("tx_drops", "1")}},
    {.name = "node_disk",
     .field_count = 1 + DISK_FIELDS,
     .fields = {TEXT("device"), INT("reads", "1"), INT("read_bytes", "B"), INT("read_time", "ns"), INT("writes", "1"),
                INT("write_bytes", "B"), INT("write_time", "ns"), INT("in_flight", "1"), INT("busy", "ns")}},
    {.name = "node_pressure",
     .field_count = 5,
     .fields = {TEXT("resource"), FLOAT("some_share", "%"), FLOAT("full_share", "%"), INT("some", "ns"),
                INT("full", "ns")}},
    {.name = "node_temperature", .field_count = 2, .fields = {TEXT("zone"), FLOAT("temperature", "Cel")}},
    {.name = "node_frequency", .field_count = 2, .fields = {TEXT("cpu"), INT("frequency", "Hz")}},
    {.name = "process_usage",
     .field_count = 10,
     .fields = {TEXT("process"), INT("pid", "1"), INT("user", "ns"), INT("system", "ns"), INT("running", "ns"),
                INT("waiting", "ns"), INT("minor_faults", "1"), INT("major_faults", "1"), INT("threads", "1"),
                INT("resident", "B")}},
    {.name = "process_perf",
     .field_count = 2 + PERF_FIELDS,
     .fields = {TEXT("process"), INT("pid", "1"), INT("cycles", "1"), INT("instructions", "1"),
                INT("cache_misses", "1"), INT("branch_misses", "1"), INT("task", "ns"), INT("switches", "1"),
                INT("migrations", "1")}},
    {.name = "node_interrupts",
     .field_count = 9,
     .fields = {INT("cpu", "1"), INT("interval", "ns"), INT("interrupts", "1"), TEXT("source"), INT("of_source", "1"),
                INT("softirqs", "1"), TEXT("softirq"), INT("of_softirq", "1"), INT("steal", "ns")}},
    {.name = "thread_scheduling",
     .field_count = 12,
     .fields = {TEXT("process"), INT("thread", "1"), INT("interval", "ns"), INT("running", "ns"), INT("waiting", "ns"),
                INT("voluntary", "1"), INT("involuntary", "1"), INT("faults", "1"), INT("cpu", "1"),
                INT("interrupts", "1"), INT("softirqs", "1"), INT("steal", "ns")}},
};

int64_t sampler_float(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void sampler_record(struct samplers *s, enum sampler_aspect aspect, const char *name, const int64_t *values, int n)
{
    uint64_t all[DICT_FIELDS_MAX];
    int at = 0;
    if (name)
        all[at++] = journal_string(s->journal, name);
    for (int i = 0; i < n; i++)
        all[at++] = (uint64_t)values[i];
    journal_record(s->journal, aspect, all);
}

/* ---- Files ------------------------------------------------------------------------------------------------------- */

struct sampler_file sampler_file(const char *format, ...)
{
    struct sampler_file f = {.fd = -1};
    va_list args;
    va_start(args, format);
    vsnprintf(f.path, sizeof f.path, format, args);
    va_end(args);
    return f;
}

void sampler_file_close(struct sampler_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

static ssize_t read_piece(struct samplers *s, struct sampler_file *f, size_t at)
{
    ssize_t n;
    do
        n = pread(f->fd, s->text + at, s->text_bytes - at, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Some of the kernel's files fail only when they are read, not when they are opened. */
static ssize_t read_file(struct samplers *s, struct sampler_file *f)
{
    if (f->fd < 0 && (f->fd = open(f->path, O_RDONLY | O_CLOEXEC)) < 0)
        return -1;
    ssize_t n = read_piece(s, f, 0), more = n;
    while (f->table && more > 0 && (size_t)n < s->text_bytes)
        n += (more = read_piece(s, f, (size_t)n)) > 0 ? more : 0;
    if (n == 0)
        errno = ENODATA;
    return n > 0 ? n : -1;
}

static void note(struct samplers *s, const struct external_process *p, int64_t now, const char *format, va_list args)
{
    char text[MESSAGE_TEXT_MAX + 1];
    vsnprintf(text, sizeof text, format, args);
    notes_record(s->external, p, now, "BEZEL-SAMPLER", "%s", text);
}

void sampler_note(struct samplers *s, const struct external_process *p, int64_t now, const char *format, ...)
{
    va_list args;
    if (s->unasked)
        return;
    va_start(args, format);
    note(s, p, now, format, args);
    va_end(args);
}

void sampler_lacks(struct samplers *s, const struct external_process *p, int64_t now, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note(s, p, now, format, args);
    va_end(args);
}

static void note_unread(struct samplers *s, const struct sampler_file *f, int64_t now)
{
    const char *remedy = errno == EMFILE ? ": raise the " NOTE_OPEN_FILES " (ulimit -n)"
                         : errno == EACCES || errno == EPERM
                             ? ": give bezeld the rights of the program's user, or mount /proc without hidepid"
                             : "";
    sampler_note(s, NULL, now, "%s cannot be sampled: %s%s", f->what ? f->what : f->path, strerror(errno),
                 f->what || errno == EMFILE ? remedy : "");
}

bool sampler_read(struct samplers *s, struct sampler_file *f, int64_t now, bool may_vanish)
{
    if (f->fd < 0 && now < f->retry_at)
        return false;
    ssize_t n = read_file(s, f);
    if (n > 0) {
        s->text[n] = '\0';
        f->gone = false;
        if ((size_t)n == s->text_bytes)
            sampler_note(s, NULL, now, "%s is longer than %zu bytes: its end is not sampled", f->path, s->text_bytes);
        return true;
    }
    f->gone = errno == ENOENT || errno == ESRCH;
    if (!may_vanish || !f->gone)
        note_unread(s, f, now);
    sampler_file_close(f);
    f->retry_at = now + SAMPLER_RETRY;
    return false;
}

/* ---- The schedule ------------------------------------------------------------------------------------------------ */

typedef void sampler_take(struct samplers *s, int64_t now);

static sampler_take *const takes[EXPERIMENT_SAMPLERS] = {
    [EXPERIMENT_SAMPLER_CPU] = sampler_take_cpu,
    [EXPERIMENT_SAMPLER_MEMORY] = sampler_take_memory,
    [EXPERIMENT_SAMPLER_NETWORK] = sampler_take_network,
    [EXPERIMENT_SAMPLER_DISK] = sampler_take_disk,
    [EXPERIMENT_SAMPLER_PRESSURE] = sampler_take_pressure,
    [EXPERIMENT_SAMPLER_TEMPERATURE] = sampler_take_temperature,
    [EXPERIMENT_SAMPLER_FREQUENCY] = sampler_take_frequency,
    [EXPERIMENT_SAMPLER_PROCESSES] = sampler_take_processes,
    [EXPERIMENT_SAMPLER_PERF] = sampler_take_perf,
    [EXPERIMENT_SAMPLER_INTERRUPTS] = sampler_take_interrupts,
    [EXPERIMENT_SAMPLER_SCHEDULING] = sampler_take_scheduling,
    [EXPERIMENT_SAMPLER_SWITCHES] = sampler_take_switches,
};

/* Nobody wakes up for what nobody asked for. */
int64_t samplers_due(const struct samplers *s)
{
    int64_t due = INT64_MAX;
    for (int i = 0; s && !s->unasked && i < EXPERIMENT_SAMPLERS; i++)
        if (s->period[i] && s->due[i] < due)
            due = s->due[i];
    return due;
}

static int64_t period_of(const struct samplers *s, int i)
{
    bool kept = i == EXPERIMENT_SAMPLER_SWITCHES || s->kept >> i & 1; /* the kernel's rings do not wait */
    return kept ? s->period[i] : (int64_t)((double)s->period[i] * s->stretch);
}

static void hasten(struct samplers *s, int64_t now)
{
    for (int i = 0; i < EXPERIMENT_SAMPLERS; i++)
        if (s->due[i] > now + period_of(s, i))
            s->due[i] = now + period_of(s, i);
}

void samplers_stretch(struct samplers *s, double factor, uint32_t kept, int64_t now)
{
    double stretch = factor > SAMPLERS_STRETCH_MAX ? SAMPLERS_STRETCH_MAX : factor > 1 ? factor : 1;
    if (!s || (s->stretch == stretch && s->kept == kept))
        return;
    s->stretch = stretch;
    s->kept = kept;
    hasten(s, now);
}

void samplers_turn(struct samplers *s, int64_t now)
{
    for (int i = 0; s && i < EXPERIMENT_SAMPLERS; i++) {
        if (!s->period[i] || now < s->due[i])
            continue;
        int64_t began = s->unasked ? clock_thread_cpu() : 0;
        takes[i](s, now);
        s->due[i] += period_of(s, i);
        int64_t earliest = s->unasked ? now + UNASKED_SHARE * (clock_thread_cpu() - began) : now;
        if (s->due[i] <= earliest)
            s->due[i] = earliest > now ? earliest : now + period_of(s, i);
    }
}

void samplers_end(struct samplers *s)
{
    if (s && s->switches)
        sampler_end_switches(s);
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

static void name_files(struct samplers *s)
{
    static const char *const files[SAMPLER_FILES] = {
        "stat",     "meminfo", "net/dev",      "diskstats",       "interrupts",
        "softirqs", "stat",    "pressure/cpu", "pressure/memory", "pressure/io"};
    for (int i = 0; i < SAMPLER_FILES; i++)
        s->files[i] = sampler_file("/proc/%s", files[i]);
    s->files[FILE_NETWORK].table = s->files[FILE_DISK].table = true;
    s->files[FILE_INTERRUPTS].table = s->files[FILE_SOFTIRQS].table = s->files[FILE_STEAL].table = true;
}

/* Threads take half of the files that may be open, the rest is for bezeld's other work. */
static uint32_t most_threads(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur / 2 / SAMPLER_THREAD_FILES >= SAMPLER_THREADS)
        return SAMPLER_THREADS;
    return (uint32_t)(files.rlim_cur / 2 / SAMPLER_THREAD_FILES);
}

static int make_room(struct samplers *s)
{
    int err = s->period[EXPERIMENT_SAMPLER_INTERRUPTS] ? sampler_open_interrupts(s) : 0;
    if (s->text_bytes < SAMPLER_TEXT_BYTES)
        s->text_bytes = SAMPLER_TEXT_BYTES;
    s->text = malloc(s->text_bytes + 1);
    return s->text ? err : BEZEL_ENOMEM;
}

int samplers_open(const struct experiment_sensing *sensing, const char *dir, struct external *x, struct samplers **out)
{
    bool any = false;
    *out = NULL;
    for (int i = 0; i < EXPERIMENT_SAMPLERS; i++)
        any = any || sensing->sampler[i] != 0;
    if (!any)
        return 0;
    struct samplers *s = calloc(1, sizeof *s);
    if (!s)
        return BEZEL_ENOMEM;
    int64_t now = clock_now();
    s->external = x;
    s->stretch = 1;
    s->tick_ns = CLOCK_S / sysconf(_SC_CLK_TCK);
    s->page_bytes = sysconf(_SC_PAGESIZE);
    s->unasked = sensing->sampled_unasked;
    s->thread_max = most_threads() / (s->unasked ? 4 : 1);
    name_files(s);
    for (int i = 0; i < EXPERIMENT_SAMPLERS; i++) {
        s->period[i] = sensing->sampler[i];
        s->due[i] = now;
    }
    int err = make_room(s);
    if (!err)
        err = journal_open(dir, aspects, sizeof aspects / sizeof *aspects, &s->journal);
    if (!err && s->period[EXPERIMENT_SAMPLER_SWITCHES])
        err = sampler_open_switches(s, &sensing->switches, dir);
    if (err) {
        samplers_close(s);
        return err;
    }
    if (s->period[EXPERIMENT_SAMPLER_TEMPERATURE])
        sampler_find_zones(s, now);
    if (s->period[EXPERIMENT_SAMPLER_FREQUENCY])
        sampler_find_frequencies(s, now);
    *out = s;
    return 0;
}

void samplers_close(struct samplers *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < SAMPLER_FILES; i++)
        sampler_file_close(&s->files[i]);
    for (uint32_t i = 0; i < s->zone_count; i++)
        sampler_file_close(&s->zones[i].file);
    for (uint32_t i = 0; i < s->frequency_count; i++)
        sampler_file_close(&s->frequencies[i].file);
    for (uint32_t i = 0; i < SAMPLER_PROCESSES; i++)
        if (s->processes[i].instance)
            sampler_forget_process(s, &s->processes[i]);
    sampler_close_interrupts(s);
    sampler_close_switches(s);
    journal_close(s->journal);
    free(s->text);
    free(s);
}
