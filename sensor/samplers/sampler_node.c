// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Samplers of the node: CPU, memory, network, disks, pressure, temperatures, frequencies. */
#include "sensor/samplers/sampler_internal.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t times(int64_t n, int64_t factor)
{
    return n < 0 ? n : n * factor;
}

void sampler_take_cpu(struct samplers *s, int64_t now)
{
    int64_t values[CPU_FIELDS];
    if (!sampler_read(s, &s->files[FILE_CPU], now, false) || !sampler_read_cpu(s->text, values))
        return;
    for (int i = 0; i < CPU_TIMES; i++)
        values[i] = times(values[i], s->tick_ns);
    sampler_record(s, ASPECT_CPU, NULL, values, CPU_FIELDS);
}

void sampler_take_memory(struct samplers *s, int64_t now)
{
    int64_t values[MEMORY_FIELDS];
    if (sampler_read(s, &s->files[FILE_MEMORY], now, false) && sampler_read_memory(s->text, values))
        sampler_record(s, ASPECT_MEMORY, NULL, values, MEMORY_FIELDS);
}

void sampler_take_network(struct samplers *s, int64_t now)
{
    int64_t values[NETWORK_FIELDS];
    char name[SAMPLER_NAME_MAX + 1];
    if (!sampler_read(s, &s->files[FILE_NETWORK], now, false))
        return;
    for (const char *at = s->text; sampler_next_network(&at, name, values);)
        sampler_record(s, ASPECT_NETWORK, name, values, NETWORK_FIELDS);
}

void sampler_take_disk(struct samplers *s, int64_t now)
{
    int64_t values[DISK_FIELDS];
    char name[SAMPLER_NAME_MAX + 1];
    if (!sampler_read(s, &s->files[FILE_DISK], now, false))
        return;
    for (const char *at = s->text; sampler_next_disk(&at, name, values);)
        sampler_record(s, ASPECT_DISK, name, values, DISK_FIELDS);
}

void sampler_take_pressure(struct samplers *s, int64_t now)
{
    for (int i = FILE_PRESSURE; i < SAMPLER_FILES; i++) {
        struct sampler_pressure p;
        if (!sampler_read(s, &s->files[i], now, false) || !sampler_read_pressure(s->text, &p))
            continue;
        int64_t values[] = {sampler_float(p.some_percent), sampler_float(p.full_percent), p.some_ns, p.full_ns};
        sampler_record(s, ASPECT_PRESSURE, strrchr(s->files[i].path, '/') + 1, values, 4);
    }
}

/* ---- /sys, which differs from machine to machine ----------------------------------------------------------------- */

/* Lists file `file` of each entry of `dir` that begins with `prefix`, by name: returns up to SAMPLER_PARTS_MAX. */
static uint32_t find_parts(const char *dir, const char *prefix, const char *file, struct sampler_part *parts)
{
    struct dirent **entries;
    int count = scandir(dir, &entries, NULL, versionsort);
    uint32_t n = 0;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (n < SAMPLER_PARTS_MAX && strncmp(name, prefix, strlen(prefix)) == 0) {
            parts[n].file = sampler_file("%s/%.20s/%s", dir, name, file);
            snprintf(parts[n].name, sizeof parts[n].name, "%.60s", name);
            n++;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return n;
}

/* Adds the type to the name of a zone: "thermal_zone0:x86_pkg_temp". */
static void name_zone(struct samplers *s, struct sampler_part *zone, int64_t now)
{
    struct sampler_file type = sampler_file("/sys/class/thermal/%.20s/type", zone->name);
    if (sampler_read(s, &type, now, true)) {
        size_t n = strlen(zone->name);
        s->text[strcspn(s->text, "\n")] = '\0';
        snprintf(zone->name + n, sizeof zone->name - n, ":%.30s", s->text);
    }
    sampler_file_close(&type);
}

void sampler_find_zones(struct samplers *s, int64_t now)
{
    s->zone_count = find_parts("/sys/class/thermal", "thermal_zone", "temp", s->zones);
    for (uint32_t i = 0; i < s->zone_count; i++)
        name_zone(s, &s->zones[i], now);
    if (s->zone_count == 0)
        sampler_note(s, NULL, now, "temperatures are not sampled: this machine has no zone in /sys/class/thermal");
}

void sampler_find_frequencies(struct samplers *s, int64_t now)
{
    s->frequency_count = find_parts("/sys/devices/system/cpu/cpufreq", "policy", "scaling_cur_freq", s->frequencies);
    if (s->frequency_count == 0)
        sampler_note(s, NULL, now,
                     "CPU frequencies are not sampled: this machine has no policy in /sys/devices/system/cpu/cpufreq");
}

void sampler_take_temperature(struct samplers *s, int64_t now)
{
    for (uint32_t i = 0; i < s->zone_count; i++) {
        int64_t millidegrees;
        if (!sampler_read(s, &s->zones[i].file, now, false) || !sampler_read_number(s->text, &millidegrees))
            continue;
        int64_t value = sampler_float((double)millidegrees / 1000);
        sampler_record(s, ASPECT_TEMPERATURE, s->zones[i].name, &value, 1);
    }
}

void sampler_take_frequency(struct samplers *s, int64_t now)
{
    for (uint32_t i = 0; i < s->frequency_count; i++) {
        int64_t khz;
        if (!sampler_read(s, &s->frequencies[i].file, now, false) || !sampler_read_number(s->text, &khz))
            continue;
        int64_t value = times(khz, 1000);
        sampler_record(s, ASPECT_FREQUENCY, s->frequencies[i].name, &value, 1);
    }
}
