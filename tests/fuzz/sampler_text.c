// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Texts that samplers read: whatever they are, nothing is read behind their end, and names fit. */
#include "sensor/samplers/sampler_text.h"

#include "tests/fuzz/fuzz.h"

static void expect_name(const char *name)
{
    size_t n = strlen(name);
    fuzz_must(n > 0 && n <= SAMPLER_NAME_MAX);
    for (size_t i = 0; i < n; i++)
        fuzz_must((unsigned char)name[i] > ' ' && name[i] != 0x7f); /* other bytes are UTF-8 */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t values[16];
    char name[SAMPLER_NAME_MAX + 1], *text = (char *)fuzz_memory(size + 1);
    uint64_t start;
    struct sampler_pressure p;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    (void)sampler_read_cpu(text, values);
    (void)sampler_read_memory(text, values);
    (void)sampler_read_pressure(text, &p);
    (void)sampler_read_process(text, values, &start);
    (void)sampler_read_number(text, values);
    uint32_t cpus[16];
    struct sampler_table table = {.cpus = cpus};
    (void)sampler_read_sched(text, values);
    (void)sampler_read_switches(text, &values[0], &values[1]);
    (void)sampler_read_thread(text, &values[0], &values[1]);
    for (const char *at = text; sampler_next_steal(&at, &values[0], &values[1]);)
        fuzz_must(values[0] >= 0 && values[1] >= 0);
    const char *row = text;
    if (sampler_read_columns(&row, &table, sizeof cpus / sizeof *cpus))
        while (sampler_next_source(&row, &table, name, values)) {
            expect_name(name);
            for (uint32_t i = 0; i < table.cpu_count; i++)
                fuzz_must(values[i] >= 0);
        }
    for (const char *at = text; sampler_next_network(&at, name, values);) {
        expect_name(name);
        fuzz_must(at > text && at <= text + size);
    }
    for (const char *at = text; sampler_next_disk(&at, name, values);)
        expect_name(name);
    free(text);
    return 0;
}
