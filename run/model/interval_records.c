// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/model/interval_records.h"

#include "base/saturate.h"
#include "run/model/message_keys.h"

#include <string.h>

struct interval_part interval_part_of(const struct experiment_metric *m, const char *process,
                                      const struct dict_aspect *a)
{
    struct interval_part part = {INTERVAL_HAS_NO_PART, 0, 0, DICT_INT64};
    while (part.position < m->interval.count && (strcmp(m->interval.aspects[part.position], a->name) != 0 ||
                                                 !experiment_interval_takes(&m->interval, part.position, process)))
        part.position++;
    if (part.position == m->interval.count)
        return part;
    part.has = INTERVAL_HAS_NO_KEY;
    if (!m->interval.match && a->kind == (part.position == 0 ? DICT_SENT : DICT_RECEIVED))
        part.has = INTERVAL_HAS_PART;
    int field = dict_field_of(a, m->interval.match);
    if (field >= 0) {
        part.has = INTERVAL_HAS_PART;
        part.field = (uint32_t)field;
        part.type = a->fields[field].type;
    }
    return part;
}

/* The text of label number `n`; *length 0: there is none. */
static const char *label_of(const char *labels, uint64_t n, size_t *length)
{
    for (; n > 0 && *labels; n--) {
        labels += strcspn(labels, "|");
        labels += *labels == '|';
    }
    *length = strcspn(labels, "|");
    return labels;
}

static struct interval_key key_of_field(const struct interval_part *part, const struct dict *d,
                                        const struct packet_record *r)
{
    struct interval_key none = {0, 0};
    if (r->aspect == 0 || r->aspect > d->aspect_count || part->field >= r->value_count)
        return none;
    uint64_t bits = packet_value(r, part->field);
    double number;
    size_t length;
    const char *text;
    switch (part->type) {
    case DICT_FLOAT64:
        memcpy(&number, &bits, sizeof number);
        return interval_key_of_float(number);
    case DICT_STRING:
        text = bits && bits <= d->string_count ? d->strings[bits - 1] : NULL;
        return text ? interval_key_of_text(text, strlen(text)) : none;
    case DICT_ENUM:
        text = label_of(d->aspects[r->aspect - 1].fields[part->field].labels, bits, &length);
        return length ? interval_key_of_text(text, length) : none;
    default:
        return interval_key_of_integer((int64_t)bits);
    }
}

/* Through a channel, or between two processes. */
static struct interval_key key_of_message(const struct interval_part *part, const struct model_process *p,
                                          const struct packet_record *r)
{
    uint64_t keys[2];
    int n = message_keys(p, r, part->position == 0 ? DICT_SENT : DICT_RECEIVED, keys);
    return n > 0 ? interval_key_of_integer((int64_t)keys[n - 1]) : (struct interval_key){0, 0};
}

/*
 * Nodes of one machine have one clock. Across a jump of it, two records are no nearer to each other than those of two
 * machines.
 */
static uint32_t clock_of(const struct interval_part *part, const struct model_node *node)
{
    uint64_t halves[2];
    memcpy(halves, node->clock, sizeof halves);
    uint32_t clock = (uint32_t)((halves[0] ^ halves[1]) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return node->run_clock.jumped ? ~clock - part->position : clock;
}

uint32_t interval_end_of(const struct experiment_metric *m, const struct model_process *p)
{
    return !m->interval.by_end ? 0 : (uint32_t)(m->per_process ? p->row : p->node->row);
}

struct interval_event interval_event_of(const struct experiment_metric *m, const struct interval_part *part,
                                        const struct model_process *p, const struct packet_record *r,
                                        struct clock_reading at)
{
    return (struct interval_event){.position = part->position,
                                   .key =
                                       m->interval.match ? key_of_field(part, p->dict, r) : key_of_message(part, p, r),
                                   .source = (uint32_t)p->row,
                                   .clock = clock_of(part, p->node),
                                   .end = interval_end_of(m, p),
                                   .own = saturate_time(r->timestamp),
                                   .started = saturate_time(p->started),
                                   .at = at};
}
