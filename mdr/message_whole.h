// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The filters of what is said of limits on the whole: a part of message.c, which alone includes it. */
#ifndef BEZEL_MDR_MESSAGE_WHOLE_H
#define BEZEL_MDR_MESSAGE_WHOLE_H

#include "mdr/message.h"

#include <string.h>

static bool_t filter_part(XDR *x, struct message_part *m)
{
    static const uint8_t none[3 * sizeof(double)];
    if (!filter_u32(x, &m->limit) || !filter_enum(x, &m->state, PART_KNOWN) || !filter_double(x, &m->value) ||
        !filter_double(x, &m->over) || !filter_double(x, &m->unsure) || !filter_i64(x, &m->silent))
        return FALSE;
    double numbers[] = {m->value, m->over, m->unsure};
    return filter_check(x, m->state == PART_KNOWN || (memcmp(numbers, none, sizeof none) == 0 && m->silent == 0));
}

static bool_t filter_parts(XDR *x, struct message_parts *m)
{
    if (!filter_u64(x, &m->life) || !filter_u64(x, &m->at) || !filter_u64(x, &m->step) ||
        !filter_count(x, &m->count, MESSAGE_LIMITS_MAX))
        return FALSE;
    for (struct message_part *p = m->list; p < m->list + m->count; p++)
        if (!filter_part(x, p))
            return FALSE;
    return TRUE;
}

static bool_t filter_judged(XDR *x, struct message_judged *m)
{
    return filter_u32(x, &m->limit) && filter_enum(x, &m->state, MESSAGE_LIMIT_VIOLATED) &&
           filter_double(x, &m->value) && filter_double(x, &m->worst) && filter_i64(x, &m->settling) &&
           filter_i64(x, &m->held) && filter_i64(x, &m->violated) && filter_i64(x, &m->unknown) &&
           filter_i64(x, &m->ago) && filter_i64(x, &m->doubtful) && filter_i64(x, &m->trusted_ago) &&
           filter_double(x, &m->trusted_worst);
}

static bool_t filter_judgement(XDR *x, struct message_judgement *m)
{
    if (!filter_lease(x, &m->lease) || !filter_u64(x, &m->sequence) || !filter_u64(x, &m->missing) ||
        !filter_count(x, &m->count, MESSAGE_LIMITS_MAX))
        return FALSE;
    for (struct message_judged *j = m->list; j < m->list + m->count; j++)
        if (!filter_judged(x, j))
            return FALSE;
    return TRUE;
}

#endif
