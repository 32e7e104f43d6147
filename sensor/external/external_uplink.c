// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The external sensor as the source of its node's uplink: see mdr/uplink/uplink.h for what each function does. */
#include "mdr/parts.h"
#include "sensor/external/external_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void show(const struct external *x, uint32_t i, struct uplink_process *to)
{
    const struct external_process *p = x->processes[i];
    *to = (struct uplink_process){.instance = p->at->instance,
                                  .place = i,
                                  .version = p->version,
                                  .recording = p->phase == EXTERNAL_LIVE,
                                  .complete = p->phase == EXTERNAL_CLOSED && p->closed_at,
                                  .saved = p->books_saved};
}

static bool source_find(void *context, uint64_t instance, struct uplink_process *to)
{
    const struct external *x = context;
    int i = hash_index_find(&x->index, instance, HASH_INDEX_NO_RING);
    if (i >= 0)
        show(x, (uint32_t)i, to);
    return i >= 0;
}

static bool source_next(void *context, uint32_t from, bool idle, struct uplink_process *to)
{
    const struct external *x = context;
    int i = idle ? bitset_next(&x->present, from) : external_next(x, from);
    if (i >= 0)
        show(x, (uint32_t)i, to);
    return i >= 0;
}

static void source_describe(void *context, uint64_t instance, struct message_process *m)
{
    const struct external_process *p = external_find(context, instance);
    const struct attached *a = p->at;
    m->instance = instance;
    m->stream_id = p->stream_id;
    m->pid = a->pid;
    m->role = p->role;
    m->overwrites = a->when_full == SEGMENT_OVERWRITE;
    message_text(m->name, MESSAGE_NAME_MAX, p->name);
    message_text(m->program, MESSAGE_TEXT_MAX, a->executable);
    m->started = a->started;
    m->dictionary_bytes = a->dict_used;
    if (a->dict_used)
        memcpy(m->dictionary, a->dict_bytes, a->dict_used);
}

/*
 * What the last books say of a process that lived: it was released, or only left, if the run had not ended in order.
 * That it has ended by now, as the books waited for the link, makes no difference. A trace that ends because a clock
 * has jumped is followed by the next one.
 */
static enum message_process_state last_state(const struct external *x, const struct external_process *p,
                                             enum message_process_state state)
{
    bool left = p->left_alive || (p->role == ROLE_SUT && !x->run_ends);
    return state == PROCESS_DETACHED && left && !x->goes_on ? PROCESS_LEFT : state;
}

/* A process that is given up before its rings were drained has its final state all the same. */
static void source_books(void *context, uint64_t instance, bool final, int64_t now, struct message_books *books)
{
    const struct external_process *p = external_find(context, instance);
    if (p)
        external_books(p, now, books);
    else
        external_node_books(context, now, books);
    if (final)
        books->state = p->state;
    if (p)
        books->state = last_state(context, p, books->state);
}

static uint64_t source_unobserved(const void *context)
{
    return external_node_unobserved(context);
}

static const struct message_note *source_note(const void *context, uint32_t i)
{
    return i < external_note_count(context) ? external_note(context, i) : NULL;
}

static void source_add_note(void *context, uint64_t instance, int64_t now, const char *code, const char *format, ...)
{
    char text[MESSAGE_TEXT_MAX + 1];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    notes_record(context, external_find(context, instance), now, code, "%s", text);
}

static void source_books_due(void *context, int64_t now)
{
    struct external *x = context;
    for
        BITSET_EACH (i, &x->present)
            if (x->processes[i]->phase == EXTERNAL_LIVE)
                idle_activate(x, (uint32_t)i, now);
}

static void source_saved(void *context, uint64_t instance, bool saved)
{
    external_find(context, instance)->books_saved = saved;
}

/* A snapshot's records were old before it was taken: they have no latency to the store. */
static void source_stored(void *context, const struct packet_header *h, int64_t now)
{
    struct external *x = context;
    const struct external_observer *o = &x->options.observer;
    const struct external_process *p = o->stored && h->records > 0 ? external_find(x, h->instance) : NULL;
    if (p && p->role == ROLE_SUT && p->at->when_full != SEGMENT_OVERWRITE)
        o->stored(o->context, h->records, (int64_t)h->timestamp_begin, (int64_t)h->timestamp_end, now);
}

static void source_spool_full(void *context, bool full)
{
    struct external *x = context;
    x->spool_full = full;
}

static int64_t source_low(void *context, int64_t now)
{
    return external_low(context, now);
}

struct uplink_source external_uplink(struct external *x)
{
    struct uplink_source source = {
        .context = x,
        .window = x->window,
        .dir = x->options.dir,
        .find = source_find,
        .next = source_next,
        .describe = source_describe,
        .books = source_books,
        .unobserved = source_unobserved,
        .note = source_note,
        .add_note = source_add_note,
        .books_due = source_books_due,
        .saved = source_saved,
        .stored = source_stored,
        .spool_full = source_spool_full,
        .low = source_low,
    };
    memcpy(source.run, x->options.run, sizeof source.run);
    memcpy(source.uuid, x->options.uuid, sizeof source.uuid);
    return source;
}
