// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/read/record_item.h"

#include "base/saturate.h"

#include <string.h>

static struct record_value text(const char *text, size_t length)
{
    return (struct record_value){.as = RECORD_TEXT, .text = text, .length = length};
}

/* The label of `value` of an enum; length 0: it has no label. */
static struct record_value enum_label(const struct dict_field *f, uint64_t value)
{
    const char *label = f->labels;
    for (; value > 0; value--) {
        label = strchr(label, '|');
        if (!label)
            return text("", 0);
        label++;
    }
    return text(label, strcspn(label, "|"));
}

struct record_value record_item_value(const struct dict *d, const struct packet_record *r, uint32_t i)
{
    const struct dict_field *f = &d->aspects[r->aspect - 1].fields[i];
    uint64_t bits = packet_value(r, i);
    struct record_value v = {.as = RECORD_INT, .integer = (int64_t)bits};
    if (f->type == DICT_FLOAT64) {
        v.as = RECORD_FLOAT;
        memcpy(&v.real, &bits, sizeof v.real);
    } else if (f->type == DICT_STRING) {
        if (bits == 0 || bits > d->string_count)
            v.as = RECORD_ABSENT;
        else
            v = text(d->strings[bits - 1], strlen(d->strings[bits - 1]));
    } else if (f->type == DICT_ENUM && bits <= DICT_LABELS_MAX) {
        struct record_value label = enum_label(f, bits);
        if (label.length)
            v = label;
    }
    return v;
}

/* The thread that a sample of `thread_scheduling` is about, by the names of its process and thread; NULL: not known. */
static const char *sampled_thread(const struct record_item *item, int64_t at)
{
    const struct model_node *node = item->process->node;
    struct record_value process = record_item_value(item->process->dict, item->r, 0);
    const char *name = NULL;
    for (const struct model_process *p = node->processes; p && !name && process.as == RECORD_TEXT; p = p->next)
        if (p->thread_names.count && strlen(p->name) == process.length &&
            memcmp(p->name, process.text, process.length) == 0)
            name = thread_names_at(&p->thread_names, (uint32_t)packet_value(item->r, 1), at);
    return name;
}

const char *record_item_thread(const struct record_item *item)
{
    int64_t at = (int64_t)(item->r ? item->r->timestamp : item->time);
    const struct dict_aspect *a = item->r && item->process->role == ROLE_DAEMON ? item->aspect : NULL;
    if (a && strcmp(a->name, "thread_scheduling") == 0 && a->field_count > 1 && a->fields[0].type == DICT_STRING &&
        strcmp(a->fields[1].name, "thread") == 0)
        return sampled_thread(item, at);
    return thread_names_at(&item->process->thread_names, item->packet->thread, at);
}

enum record_proof record_front_add(struct record_front *front, const void *clock, struct clock_reading at)
{
    int64_t others = !front->latest ? INT64_MIN : front->latest == clock ? front->until_of_others : front->until;
    int64_t from;
    bool is_proven = at.bound < INT64_MAX && !__builtin_sub_overflow(at.ns, at.bound, &from) && from > others;
    int64_t until = saturate_add(at.ns, at.bound);
    if (!front->latest)
        *front = (struct record_front){clock, until, INT64_MIN};
    else if (front->latest == clock)
        front->until = until > front->until ? until : front->until;
    else if (until > front->until)
        *front = (struct record_front){clock, until, front->until};
    else if (until > front->until_of_others)
        front->until_of_others = until;
    return is_proven ? RECORD_PROVEN : RECORD_UNKNOWN;
}
