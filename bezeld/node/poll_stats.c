// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/poll_stats.h"

void poll_stats_poll(struct poll_stats *p, int64_t now)
{
    if (p->last) {
        int64_t gap = now - p->last;
        p->gaps++;
        p->sum += gap;
        p->longest = gap > p->longest ? gap : p->longest;
    }
    p->last = now;
}

void poll_stats_restart(struct poll_stats *p)
{
    *p = (struct poll_stats){0};
}

void poll_stats_take(struct poll_stats *p, int64_t now)
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
