// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Knobs of this process: each has a place in the segment, and there a word with its value minus its initial value. */
#include "bezel/knob.h"
#include "base/utf8.h"

#include "mdr/dict.h"
#include "sensor/internal/internal.h"

#include <string.h>

_Static_assert((int)BEZEL_KNOBS_MAX == (int)SEGMENT_KNOBS && (int)BEZEL_KNOB_UNIT_MAX + 1 == (int)SEGMENT_UNIT_BYTES,
               "the segment has room for what the header promises");

enum { KNOB_REFUSED = -1 };

const uint32_t bezel_knob_unset = 0;

int32_t bezel_knob_value(const struct bezel_knob *knob)
{
    return bezel_knob_load(knob, knob->min, knob->max, knob->initial);
}

static void turn_from(struct bezel_knob *k, uint32_t place, const uint32_t *shift)
{
    k->place = place;
    __atomic_store_n(&k->shift, shift, __ATOMIC_RELEASE); /* V2 release: pairs V3, publishes the segment */
}

/* Why the knob cannot be declared; NULL: it can. */
static const char *why_not(const struct bezel_knob *k)
{
    if (!k->name || !dict_name_ok(k->name))
        return "its name is not allowed";
    if (!k->unit || strlen(k->unit) >= SEGMENT_UNIT_BYTES || k->unit[utf8_fit(k->unit, SEGMENT_UNIT_BYTES)])
        return "its unit is longer than 19 bytes, or is not text";
    if (k->min > k->initial || k->initial > k->max)
        return "its initial value is out of its range";
    return sensor_process.knob_count == SEGMENT_KNOBS ? "the process has 16 already" : NULL;
}

static bool same_knob(const struct bezel_knob *a, const struct bezel_knob *b)
{
    return strcmp(a->unit, b->unit) == 0 && a->min == b->min && a->max == b->max && a->initial == b->initial;
}

static uint32_t add_knob(struct segment *s, const struct bezel_knob *k)
{
    uint32_t place = sensor_process.knob_count++;
    struct segment_knob *to = &s->knobs[place];
    to->min = k->min;
    to->max = k->max;
    to->initial = k->initial;
    memcpy(to->name, k->name, strlen(k->name)); /* into zeros */
    memcpy(to->unit, k->unit, strlen(k->unit));
    atomic_store_explicit(&s->knob_count, sensor_process.knob_count,
                          memory_order_release); /* V0 release: pairs V1, publishes the knob */
    sensor_wake_if_idle();                       /* so that it can be set before the next record */
    return place + 1;
}

static void declare_knob(struct segment *s, struct bezel_knob *k)
{
    const char *why = why_not(k);
    struct bezel_knob *twin = NULL;
    for (struct bezel_knob *b = sensor_process.knobs; b && k->name && !twin; b = b->next)
        if (b != k && b->shift != &bezel_knob_unset && strcmp(b->name, k->name) == 0)
            twin = b;
    if (twin && k->unit && same_knob(twin, k)) {
        turn_from(k, twin->place, twin->shift);
        return;
    }
    if (twin)
        why = "another knob of this name has another range, unit or initial value";
    if (why) {
        sensor_notice(s, "BEZEL-KNOB-REFUSED", "knob %s cannot be declared: %s: it keeps its initial value", k->name,
                      why);
        k->place = (uint32_t)KNOB_REFUSED;
        return;
    }
    uint32_t place = add_knob(s, k);
    turn_from(k, place, (const uint32_t *)&s->knob_shift[place - 1]);
}

void sensor_knobs_declare(void)
{
    struct segment *s = sensor_process.own.segment;
    for (struct bezel_knob *k = sensor_process.knobs; k; k = k->next)
        if (!k->place)
            declare_knob(s, k);
}

void sensor_knobs_forget(void)
{
    for (struct bezel_knob *k = sensor_process.knobs; k; k = k->next)
        turn_from(k, 0, &bezel_knob_unset);
    sensor_process.knob_count = 0;
}

void bezel_knob_register(struct bezel_knob *knob)
{
    sigset_t mask;
    sensor_pin(knob);
    sensor_lock(&mask);
    if (!sensor_process.knobs_end)
        sensor_process.knobs_end = &sensor_process.knobs;
    knob->next = NULL;
    *sensor_process.knobs_end = knob;
    sensor_process.knobs_end = &knob->next;
    (void)sensor_hook(); /* if not now, then when the segment is made */
    if (sensor_process.own.segment)
        sensor_knobs_declare();
    sensor_unlock(&mask);
}
