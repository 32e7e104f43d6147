// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/external/program_knobs.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "mdr/dict.h"
#include "sensor/external/external_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- Declarations ----------------------------------------------------------------------------------------------- */

static int find(const struct knobs *k, const char *name)
{
    for (uint32_t i = 0; k && i < k->count; i++)
        if (strcmp(k->knob[i].name, name) == 0)
            return (int)i;
    return -1;
}

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

/* Checks a copy, since the process may change the original meanwhile. */
static bool makes_sense(const struct knobs *known, const struct knob *k)
{
    if (k->name[sizeof k->name - 1] || k->unit[sizeof k->unit - 1])
        return false;
    return dict_name_ok(k->name) && k->unit[utf8_fit(k->unit, sizeof k->unit)] == '\0' && is_printable(k->unit) &&
           k->min <= k->initial && k->initial <= k->max && find(known, k->name) < 0;
}

static bool take(struct attached *a, uint32_t i)
{
    struct segment_knob from = a->segment->knobs[i];
    struct knob *k = &a->knobs->knob[i];
    *k = (struct knob){.min = from.min, .max = from.max, .initial = from.initial};
    memcpy(k->name, from.name, sizeof k->name);
    memcpy(k->unit, from.unit, sizeof k->unit);
    return makes_sense(a->knobs, k);
}

int segment_refresh_knobs(struct attached *a)
{
    uint32_t count = atomic_load_explicit(&a->segment->knob_count, memory_order_acquire); /* V1 acquire: pairs V0 */
    uint32_t known = a->knobs ? a->knobs->count : 0;
    if (count == known || (a->knobs && a->knobs->broken))
        return 0;
    if (!a->knobs && !(a->knobs = calloc(1, sizeof *a->knobs)))
        return BEZEL_ENOMEM;
    bool ok = count > known && count <= SEGMENT_KNOBS;
    while (ok && a->knobs->count < count && (ok = take(a, a->knobs->count)))
        a->knobs->count++;
    a->knobs->broken = !ok;
    return ok ? 1 : BEZEL_EMALFORMED;
}

/* ---- Values ----------------------------------------------------------------------------------------------------- */

int32_t segment_knob(const struct attached *a, uint32_t i)
{
    const struct knob *k = &a->knobs->knob[i];
    uint32_t shift = atomic_load_explicit(&a->segment->knob_shift[i], memory_order_relaxed); /* relaxed: a number */
    int32_t value = (int32_t)((uint32_t)k->initial + shift);
    return value < k->min ? k->min : value > k->max ? k->max : value;
}

void segment_set_knob(struct attached *a, uint32_t i, int32_t value)
{
    uint32_t shift = (uint32_t)value - (uint32_t)a->knobs->knob[i].initial;
    atomic_store_explicit(&a->segment->knob_shift[i], shift, memory_order_relaxed); /* relaxed: a number */
}

void segment_reset_knobs(struct attached *a)
{
    for (uint32_t i = 0; i < SEGMENT_KNOBS; i++)
        atomic_store_explicit(&a->segment->knob_shift[i], 0, memory_order_relaxed); /* relaxed: likewise */
}

/* ---- Knobs of attached processes --------------------------------------------------------------------------------- */

static bool can_turn(const struct external_process *p)
{
    return p->phase == EXTERNAL_LIVE && p->role == ROLE_SUT && !p->truncated;
}

uint32_t external_knob_count(struct external *x, struct external_process *p)
{
    if (!can_turn(p))
        return 0;
    if (segment_refresh_knobs(p->at) == BEZEL_EMALFORMED)
        notes_record(x, p, clock_now(), "BEZEL-KNOBS-BROKEN",
                     "it declared an invalid knob: this knob and those declared after it cannot be changed");
    return p->at->knobs ? p->at->knobs->count : 0;
}

int external_knob_find(const struct external_process *p, const char *name)
{
    return find(p->at->knobs, name);
}

int external_knob_set(struct external_process *p, uint32_t i, int32_t value, int32_t *before)
{
    const struct knobs *k = p->at->knobs;
    if (!can_turn(p) || !k || i >= k->count)
        return BEZEL_ENOENT;
    if (value < k->knob[i].min || value > k->knob[i].max)
        return BEZEL_EINVAL;
    *before = segment_knob(p->at, i);
    segment_set_knob(p->at, i, value);
    return 0;
}
