// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The filters of knobs that are steered: a part of message.c, whose primitives they are made of; included there alone.
 */
#ifndef BEZEL_MDR_MESSAGE_KNOBS_H
#define BEZEL_MDR_MESSAGE_KNOBS_H

static bool_t filter_i32(XDR *x, int32_t *v)
{
    uint32_t bits = (uint32_t)*v;
    if (!filter_u32(x, &bits))
        return FALSE;
    if (x->x_op == XDR_DECODE)
        *v = (int32_t)bits;
    return TRUE;
}

static bool_t filter_steered(XDR *x, uint32_t *count, struct message_steered *knobs)
{
    if (!filter_count(x, count, MESSAGE_KNOBS_MAX))
        return FALSE;
    for (struct message_steered *k = knobs; k < knobs + *count; k++)
        if (!filter_u32(x, &k->knob) || !filter_i32(x, &k->value) || !filter_i32(x, &k->min) ||
            !filter_i32(x, &k->max) || !filter_i32(x, &k->home) || !filter_u32(x, &k->orders))
            return FALSE;
    return TRUE;
}

static bool_t filter_steers(XDR *x, uint32_t *count, struct message_steer *knobs)
{
    if (!filter_count(x, count, MESSAGE_KNOBS_MAX))
        return FALSE;
    for (struct message_steer *k = knobs; k < knobs + *count; k++)
        if (!filter_u32(x, &k->knob) || !filter_bool(x, &k->given) || !filter_i32(x, &k->value) ||
            !filter_i32(x, &k->cause) || !filter_double(x, &k->metric) || !filter_bool(x, &k->spent))
            return FALSE;
    return TRUE;
}

#endif
