// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/pace.h"

void pace_poll(struct pace *p, int64_t now)
{
    if (p->last) {
        int64_t gap = now - p->last;
        p->gaps++;
        p->sum += gap;
        p->longest = gap > p->longest ? gap : p->longest;
    }
    p->last = now;
}

void pace_restart(struct pace *p)
{
    *p = (struct pace){0};
}

void pace_take(struct pace *p, int64_t now)
{
    int64_t open = p->last ? now - p->last : 0;
    if (p->gaps) {
        p->mean = p->sum / p->gaps;
        p->worst = p->longest;
    } else {
        p->mean = open > p->mean ? open : p->mean;
        p->worst = open > p->worst ? open : p->worst;
    }
    p->gaps = p->sum = p->longest = 0;
}
