// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/limit_news.h"

#include "base/clock.h"

#include <math.h>

#define REPORTS_APART (100 * CLOCK_MS)

/* An unchanged limit is recorded again once a second, so that a gap in the records means that it was not judged. */
bool limit_news_records(struct limit_news *news, uint32_t i, const struct agent_limit *l, int64_t now)
{
    struct limit_recorded *was = &news->recorded[i];
    bool same = l->state == was->state && l->known == was->known && (!l->known || l->value == was->value);
    if (same && was->at != 0 && now - was->at < CLOCK_S)
        return false;
    *was = (struct limit_recorded){.state = l->state, .known = l->known, .value = l->value, .at = now};
    return true;
}

bool limit_news_records_all(struct limit_news *news, bool changed, int64_t now)
{
    if (!changed && now - news->all_recorded < CLOCK_S)
        return false;
    news->all_recorded = now;
    return true;
}

void limit_news_update(struct limit_news *news, uint32_t i, const struct agent_limit *l, bool asks, int64_t now)
{
    struct limit_broken *b = &news->broken;
    bool violated = l->state == LIMIT_VIOLATED, before = b->is[i];
    b->is[i] = violated;
    if (!violated || before || !asks)
        return;
    b->fresh = true;
    b->count++;
    b->limit = i;
    b->at = now;
    b->value = l->known ? l->value : (double)NAN;
}

bool limit_news_report_due(struct limit_news *news, bool listens, int64_t now)
{
    bool due = news->broken.fresh && listens && now >= news->broken.report_due;
    news->broken.fresh = false;
    if (due)
        news->broken.report_due = now + REPORTS_APART;
    return due;
}
