// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/pace/accumulate.h"

void accumulate_end(struct accumulate *a)
{
    a->taking = true;
}

bool accumulate_asks(const struct accumulate *a)
{
    return a->records > 1 && !a->taking;
}

bool accumulate_takes(struct accumulate *a, int64_t now, uint64_t records, bool pressing)
{
    if (records == 0) {
        a->since = now;
        return false;
    }
    a->taking = pressing || records >= a->records || now - a->since >= a->longest;
    return a->taking;
}

void accumulate_took(struct accumulate *a, int64_t now, bool all)
{
    a->taking = !all;
    if (all)
        a->since = now;
}
