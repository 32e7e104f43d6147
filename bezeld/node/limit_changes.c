// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/limit_changes.h"

#include "base/clock.h"

/*
 * An unchanged limit is recorded again once a second, so that a longer gap in the records means that it was not judged.
 * A shorter one shows in the record behind it.
 */
bool limit_changes_records(struct limit_changes *changes, uint32_t i, const struct agent_limit *l, int64_t now)
{
    struct limit_recorded *was = &changes->recorded[i];
    bool same = l->state == was->state && l->known == was->known && (!l->known || l->value == was->value);
    if (same && l->gap == 0 && was->at != 0 && now - was->at < CLOCK_S)
        return false;
    *was = (struct limit_recorded){.state = l->state, .known = l->known, .value = l->value, .at = now};
    return true;
}

bool limit_changes_records_all(struct limit_changes *changes, bool changed, int64_t now)
{
    if (!changed && now - changes->all_recorded < CLOCK_S)
        return false;
    changes->all_recorded = now;
    return true;
}
