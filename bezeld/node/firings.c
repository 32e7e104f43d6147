// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/firings.h"

#include "base/clock.h"

#define REPORTS_APART (100 * CLOCK_MS)

static uint32_t find(const struct firings *in, uint32_t trigger)
{
    uint32_t i = 0;
    while (i < in->count && in->list[i].trigger != trigger)
        i++;
    return i;
}

const struct message_firing *firings_find(const struct firings *from, uint32_t trigger)
{
    uint32_t i = find(from, trigger);
    return i < from->count ? &from->list[i] : NULL;
}

void firings_add(struct firings *to, const struct message_firing *f)
{
    uint32_t i = find(to, f->trigger);
    if (i == MESSAGE_FIRINGS_MAX)
        return;
    uint64_t before = i < to->count ? to->list[i].count : 0;
    to->count += i == to->count;
    to->list[i] = *f;
    to->list[i].count = before + 1;
    to->fresh = true;
}

bool firings_report_due(struct firings *of, bool listens, int64_t now)
{
    bool due = of->fresh && listens && now >= of->report_due;
    of->fresh = false;
    if (due)
        of->report_due = now + REPORTS_APART;
    return due;
}

uint32_t firings_write(const struct firings *from, int64_t realtime_offset, int64_t now,
                       struct message_firing to[MESSAGE_FIRINGS_MAX])
{
    for (uint32_t i = 0; i < from->count; i++) {
        to[i] = from->list[i];
        to[i].age = now > from->list[i].at ? now - from->list[i].at : 0;
        to[i].at += realtime_offset;
    }
    return from->count;
}
