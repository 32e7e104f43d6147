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

enum { OF_PROCESS, OF_THREAD };

/* Whether a record is a sample of a thread. */
static bool samples_thread(const struct record_item *item)
{
    const struct dict_aspect *a = item->r && item->process->role == ROLE_DAEMON ? item->aspect : NULL;
    return a && a->field_count > OF_THREAD && a->fields[OF_PROCESS].type == DICT_STRING &&
           a->fields[OF_THREAD].type == DICT_INT64 && strcmp(a->fields[OF_PROCESS].name, "process") == 0 &&
           strcmp(a->fields[OF_THREAD].name, "thread") == 0;
}

const struct model_process *record_item_about(const struct record_item *item, uint32_t *thread, const char **called)
{
    const struct model_process *latest = NULL;
    *called = NULL;
    if (!samples_thread(item))
        return NULL;
    struct record_value name = record_item_value(item->process->dict, item->r, OF_PROCESS);
    *thread = (uint32_t)packet_value(item->r, OF_THREAD);
    for (const struct model_process *p = item->process->node->processes; p && name.as == RECORD_TEXT; p = p->next) {
        if (p->role != ROLE_SUT || strlen(p->name) != name.length || memcmp(p->name, name.text, name.length) != 0)
            continue;
        const char *known = thread_names_at(&p->thread_names, *thread, (int64_t)item->r->timestamp);
        latest = known || !*called ? p : latest;
        *called = known ? known : *called;
    }
    return latest;
}

const char *record_item_thread(const struct record_item *item)
{
    uint32_t thread = 0;
    const char *called = NULL;
    (void)record_item_about(item, &thread, &called);
    if (samples_thread(item))
        return called;
    return thread_names_at(&item->process->thread_names, item->packet->thread,
                           (int64_t)(item->r ? item->r->timestamp : item->time));
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
