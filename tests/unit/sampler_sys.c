// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Temperatures and frequencies of a machine that has them: its /sys is the test's own. */
#include "base/clock.h"
#include "sensor/samplers/sampler.h"
#include "tests/lib/namespaces.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#define THERMAL "/sys/class/thermal"
#define CPUFREQ "/sys/devices/system/cpu/cpufreq"

static struct seen {
    char name[64];
    double degrees;
    int64_t hertz;
    uint64_t count;
} seen[8];
static unsigned seen_count;

static struct seen *seen_of(const char *name)
{
    for (unsigned i = 0; i < seen_count; i++)
        if (strcmp(seen[i].name, name) == 0)
            return &seen[i];
    assert_true(seen_count < sizeof seen / sizeof *seen);
    struct seen *s = &seen[seen_count++];
    *s = (struct seen){.count = 0};
    snprintf(s->name, sizeof s->name, "%s", name);
    return s;
}

static void take(struct fixture *f, const struct packet_header *h, const struct packet_record *r, const char *aspect)
{
    bool degrees = strcmp(aspect, "node_temperature") == 0;
    if (!degrees && strcmp(aspect, "node_frequency") != 0)
        return;
    const struct dict *d = external_find(f->external, h->instance)->at->dict;
    struct seen *s = seen_of(d->strings[packet_value(r, 0) - 1]);
    uint64_t value = packet_value(r, 1);
    if (degrees)
        memcpy(&s->degrees, &value, sizeof value);
    else
        s->hertz = (int64_t)value;
    s->count++;
}

static void put(const char *folder, const char *part, const char *file, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, part);
    (void)mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/%s/%s", folder, part, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

/* Folders of /sys in which there is nothing else. False where that is not permitted. */
static bool make_sys(void)
{
    if (!namespaces_enter() || mount("none", "/sys/class", "tmpfs", 0, NULL) != 0 ||
        mount("none", "/sys/devices/system/cpu", "tmpfs", 0, NULL) != 0)
        return false;
    assert_int_equal(mkdir(THERMAL, 0755), 0);
    assert_int_equal(mkdir(CPUFREQ, 0755), 0);
    put(THERMAL, "thermal_zone0", "type", "x86_pkg_temp\n");
    put(THERMAL, "thermal_zone0", "temp", "48500\n");
    put(THERMAL, "thermal_zone1", "temp", "-7250\n"); /* without a type */
    put(THERMAL, "thermal_zone10", "type", "a type of more than thirty bytes\n");
    put(THERMAL, "thermal_zone10", "temp", "not a number\n");
    put(THERMAL, "thermal_zone2", "type", "battery\n");
    put(THERMAL, "thermal_zone2", "temp", "31000\n");
    put(THERMAL, "cooling_device0", "temp", "1\n");
    put(CPUFREQ, "policy0", "scaling_cur_freq", "2400000\n");
    put(CPUFREQ, "policy4", "scaling_cur_freq", "800000\n");
    return true;
}

static void turn_until(struct fixture *f, struct samplers *s, const char *name, uint64_t count)
{
    int64_t deadline = clock_now() + PATIENCE;
    while (seen_of(name)->count < count) {
        assert_true(clock_now() < deadline);
        samplers_turn(s, clock_now());
        fixture_turn(f);
    }
}

TEST(zones_and_policies_are_sampled_by_their_names)
{
    struct fixture f = {.options = {.batch = true, .take_all = true, .window_bytes = 1 << 20}, .record = take};
    struct experiment_sensing sensing = {.sampler[EXPERIMENT_SAMPLER_TEMPERATURE] = 2 * CLOCK_MS,
                                         .sampler[EXPERIMENT_SAMPLER_FREQUENCY] = 2 * CLOCK_MS};
    struct samplers *s;
    if (!make_sys())
        skip();
    fixture_open(&f);
    assert_int_equal(samplers_open(&sensing, f.dir, f.external, &s), 0);
    turn_until(&f, s, "policy4", 3);
    assert_true(seen_of("thermal_zone0:x86_pkg_temp")->degrees == 48.5);
    assert_true(seen_of("thermal_zone1")->degrees == -7.25);
    assert_true(seen_of("thermal_zone2:battery")->degrees == 31);
    assert_int_equal(seen_of("policy0")->hertz, 2400000000);
    assert_int_equal(seen_of("policy4")->hertz, 800000000);
    assert_int_equal(seen_count, 5);
    put(THERMAL, "thermal_zone2", "temp", "32000\n");
    uint64_t before = seen_of("thermal_zone2:battery")->count;
    turn_until(&f, s, "thermal_zone2:battery", before + 3);
    assert_true(seen_of("thermal_zone2:battery")->degrees == 32);
    assert_int_equal(external_note_count(f.external), 0); /* a zone may have no type */
    samplers_close(s);
    fixture_end(&f);
}
