// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/activity.h"

#include "base/grow.h"
#include "base/hash.h"
#include "base/saturate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN INT64_C(50000) /* ns around a window in which events are kept, too */

static uint32_t look_up(const struct hash_index *x, int64_t row, uint32_t id)
{
    int found = hash_index_find(x, (uint64_t)row, id);
    return found < 0 ? ACTIVITY_NONE : (uint32_t)found;
}

size_t activity_window_at(const struct activity_window *windows, size_t count, int64_t at)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (windows[middle].until < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether a time from `from` to `until` lies in a window, be it in part. */
static bool is_wanted(struct activity *a, int64_t from, int64_t until)
{
    if (a->window_count == 0)
        return true;
    bool is_near = a->near < a->window_count && a->windows[a->near].until >= from &&
                   (a->near == 0 || a->windows[a->near - 1].until < from); /* mostly it is that of the record before */
    if (!is_near)
        a->near = activity_window_at(a->windows, a->window_count, from);
    return a->near < a->window_count && a->windows[a->near].from <= until;
}

int activity_init(struct activity *a, const struct activity_window *windows, size_t window_count)
{
    *a = (struct activity){.windows = windows, .window_count = window_count, .left = ACTIVITY_MEMORY};
    a->messages = record_messages_new(ACTIVITY_SENT_MEMORY);
    if (!a->messages)
        return BEZEL_ENOMEM;
    record_messages_in_order(a->messages);
    return 0;
}

void activity_fini(struct activity *a)
{
    for (size_t i = 0; i < a->thread_count; i++) {
        free(a->threads[i].spans);
        free(a->threads[i].inner);
        free(a->threads[i].intervals);
        free(a->threads[i].events);
        free(a->threads[i].rivals);
        free(a->threads[i].waits);
        free(a->threads[i].near);
    }
    free(a->threads);
    free(a->names);
    free(a->gaps);
    free(a->io);
    free(a->by_io.slots);
    free(a->by_thread.slots);
    free(a->by_key.slots);
    free(a->by_name.slots);
    free(a->pids);
    free(a->aspects);
    free(a->streams);
    record_messages_free(a->messages);
    *a = (struct activity){0};
}

/* ---- threads and names ------------------------------------------------------------------------------------------- */

uint32_t activity_find(const struct activity *a, int64_t process_row, uint32_t id)
{
    return look_up(&a->by_thread, process_row, id);
}

uint32_t activity_add_thread(struct activity *a, const struct activity_thread *is)
{
    if (!grow_list(&a->threads, &a->thread_capacity, a->thread_count, sizeof *a->threads) ||
        !grow_index(&a->by_thread, a->thread_count))
        return ACTIVITY_NONE;
    struct activity_near *near = calloc(1, sizeof *near);
    if (!near)
        return ACTIVITY_NONE;
    a->threads[a->thread_count] = *is;
    a->threads[a->thread_count].near = near;
    hash_index_put(&a->by_thread, (uint64_t)is->process_row, is->id, (uint32_t)a->thread_count);
    return (uint32_t)a->thread_count++;
}

uint32_t activity_name(struct activity *a, const char *name)
{
    uint64_t hash = hash_fnv64(HASH_FNV64_START, name, strlen(name));
    uint32_t same = 0, found; /* names before it that have this hash */
    while ((found = look_up(&a->by_name, (int64_t)hash, same)) != ACTIVITY_NONE && strcmp(a->names[found], name) != 0)
        same++;
    if (found != ACTIVITY_NONE)
        return found;
    if (!grow_list(&a->names, &a->name_capacity, a->name_count, sizeof *a->names) ||
        !grow_list(&a->pids, &a->pid_capacity, a->name_count, sizeof *a->pids) ||
        !grow_index(&a->by_name, a->name_count))
        return ACTIVITY_NONE;
    hash_index_put(&a->by_name, hash, same, (uint32_t)a->name_count);
    snprintf(a->names[a->name_count], sizeof *a->names, "%s", name);
    a->pids[a->name_count] = 0;
    return (uint32_t)a->name_count++;
}

static uint32_t thread_of_process(struct activity *a, const struct model_process *p, uint32_t id, int64_t own)
{
    uint32_t t = activity_find(a, p->row, id);
    if (t != ACTIVITY_NONE)
        return t;
    struct activity_thread is = {
        .node_row = p->node->row, .process_row = p->row, .id = id, .pid = p->pid, .first = INT64_MAX};
    const char *name = thread_names_at(&p->thread_names, id, own);
    snprintf(is.node, sizeof is.node, "%s", p->node->name);
    snprintf(is.process, sizeof is.process, "%s", p->name);
    snprintf(is.name, sizeof is.name, "%s", name ? name : "");
    return activity_add_thread(a, &is);
}

/* The stream of an item, made if it is new. NULL: no memory. */
static struct activity_stream *stream_of(struct activity *a, size_t number)
{
    if (number >= a->stream_capacity) {
        size_t larger = 2 * number + 16;
        if (!grow_to(&a->streams, larger, sizeof *a->streams))
            return NULL;
        while (a->stream_capacity < larger)
            a->streams[a->stream_capacity++] = (struct activity_stream){.last = INT64_MIN};
    }
    return &a->streams[number];
}

/* The thread that made `item`; ACTIVITY_NONE: no memory. */
static uint32_t thread_of(struct activity *a, struct activity_stream *s, const struct record_item *item)
{
    if (!s->thread || s->id != item->packet->thread) {
        uint32_t t = thread_of_process(a, item->process, item->packet->thread, saturate_time(item->time));
        if (t == ACTIVITY_NONE)
            return t;
        if (s->thread != t + 1)
            a->threads[t].older = s->thread;
        s->thread = (size_t)t + 1;
        s->id = item->packet->thread;
    }
    struct activity_thread *is = &a->threads[s->thread - 1];
    is->first = item->at.ns < is->first ? item->at.ns : is->first;
    return (uint32_t)(s->thread - 1);
}

/* The thread that made a sending. */
static uint32_t sender_of(const struct activity *a, const struct record_sent *sent)
{
    size_t t = sent->stream < a->stream_capacity ? a->streams[sent->stream].thread : 0, steps = a->thread_count;
    while (t && a->threads[t - 1].first > sent->at.ns && a->threads[t - 1].older && steps-- > 0)
        t = a->threads[t - 1].older;
    return t ? (uint32_t)(t - 1) : ACTIVITY_NONE;
}

/* As grow_list(), for what threads did, all of which has a bound. */
static bool room_of(struct activity *a, void *list, size_t *capacity, size_t count, size_t size)
{
    if (a->left < size)
        return false;
    a->left -= size;
    return grow_list(list, capacity, count, size);
}

/* ---- what they did ----------------------------------------------------------------------------------------------- */

/* Inline: what was just put together, member by member, waits where it is copied as a whole. */

inline bool activity_add_span(struct activity *a, uint32_t thread, struct activity_span span)
{
    struct activity_thread *t = &a->threads[thread];
    if (span.begin >= span.end)
        return true;
    if (!room_of(a, &t->spans, &t->span_capacity, t->span_count, sizeof *t->spans))
        return false;
    t->spans[t->span_count++] = span;
    return true;
}

bool activity_add_io(struct activity *a, uint32_t thread, uint32_t name, int64_t bytes)
{
    uint32_t found = look_up(&a->by_io, name, thread);
    if (found == ACTIVITY_NONE) {
        if (!grow_list(&a->io, &a->io_capacity, a->io_count, sizeof *a->io) || !grow_index(&a->by_io, a->io_count))
            return false;
        found = (uint32_t)a->io_count++;
        a->io[found] = (struct activity_io){.thread = thread, .name = name};
        hash_index_put(&a->by_io, name, thread, found);
    }
    a->io[found].waits++;
    a->io[found].unsaid += bytes < 0;
    a->io[found].bytes = saturate_add(a->io[found].bytes, bytes < 0 ? 0 : bytes);
    return true;
}

inline bool activity_add_event(struct activity *a, uint32_t thread, struct activity_event event)
{
    struct activity_thread *t = &a->threads[thread];
    if (!room_of(a, &t->events, &t->event_capacity, t->event_count, sizeof *t->events))
        return false;
    if (t->event_count && event.at < t->events[t->event_count - 1].at) /* clocks were compared anew */
        event.at = t->events[t->event_count - 1].at;
    t->events[t->event_count++] = event;
    return true;
}

/* What overlaps the one before, or is empty, is cut off. */
inline bool activity_add_rival(struct activity *a, uint32_t thread, struct activity_rival r)
{
    struct activity_thread *t = &a->threads[thread];
    if (t->rival_count && r.begin < t->rivals[t->rival_count - 1].end)
        r.begin = t->rivals[t->rival_count - 1].end;
    if (r.begin >= r.end)
        return true;
    if (!room_of(a, &t->rivals, &t->rival_capacity, t->rival_count, sizeof *t->rivals))
        return false;
    t->rivals[t->rival_count++] = r;
    return true;
}

inline bool activity_add_wait(struct activity *a, uint32_t thread, struct activity_wait w)
{
    struct activity_thread *t = &a->threads[thread];
    if (w.begin >= w.end || (t->wait_count && w.begin < t->waits[t->wait_count - 1].end))
        return true;
    if (!room_of(a, &t->waits, &t->wait_capacity, t->wait_count, sizeof *t->waits))
        return false;
    t->waits[t->wait_count++] = w;
    return true;
}

void activity_settle_ready(struct activity_interval *i)
{
    if (i->ready_least < 0 || i->ready_most < 0) {
        i->ready_least = 0;
        i->ready_most = i->off;
    }
    i->ready_most = saturate_between(i->ready_most, 0, saturate_most(i->off, 0));
    i->ready_least = saturate_between(i->ready_least, 0, i->ready_most);
}

/* What contradicts the interval before, or itself, is cut off. */
inline bool activity_add_interval(struct activity *a, uint32_t thread, struct activity_interval i)
{
    struct activity_thread *t = &a->threads[thread];
    int64_t last = t->interval_count ? t->intervals[t->interval_count - 1].end : INT64_MIN;
    i.begin = i.begin < last ? last : i.begin;
    if (i.begin >= i.end)
        return true;
    int64_t off_from = i.off < 0 ? i.begin : saturate_sub(i.begin, i.off);
    if (i.off >= 0 && last > INT64_MIN && saturate_sub(off_from, last) < ACTIVITY_JOINED)
        i.off = i.begin - last;
    activity_settle_ready(&i);
    if (!room_of(a, &t->intervals, &t->interval_capacity, t->interval_count, sizeof *t->intervals))
        return false;
    t->intervals[t->interval_count++] = i;
    return true;
}

static int64_t run_time(const struct record_item *item, int64_t own)
{
    return saturate_ns(run_clock_at(&item->process->node->run_clock, saturate_ns(own)).ns);
}

static enum activity_reason reason_called(const char *text, size_t length)
{
    static const char *const reasons[] = {"message", "lock", "io", "timer", "other"};
    for (int i = 0; i < 5; i++)
        if (strlen(reasons[i]) == length && memcmp(reasons[i], text, length) == 0)
            return (enum activity_reason)(ACTIVITY_FOR_MESSAGE + i);
    return ACTIVITY_FOR_OTHER;
}

static enum activity_reason reason_of(const struct record_item *item)
{
    if (item->aspect->kind != DICT_WAIT)
        return ACTIVITY_NO_WAIT;
    struct record_value v = record_item_value(item->process->dict, item->r, 1);
    return v.as == RECORD_TEXT ? reason_called(v.text, v.length) : ACTIVITY_FOR_OTHER;
}

bool activity_add_open(struct activity *a, const struct activity_thread *is, const char *name, const char *reason,
                       struct activity_span span)
{
    uint32_t t = activity_find(a, is->process_row, is->id);
    if (t == ACTIVITY_NONE)
        t = activity_add_thread(a, is);
    span.name = activity_name(a, name);
    span.reason = *reason ? reason_called(reason, strlen(reason)) : ACTIVITY_NO_WAIT;
    if (t == ACTIVITY_NONE || span.name == ACTIVITY_NONE)
        return false;
    a->threads[t].first = span.begin < a->threads[t].first ? span.begin : a->threads[t].first;
    return activity_add_span(a, t, span);
}

/* The size of a message, or of an operation; -1: it does not say. */
static int64_t bytes_of(const struct activity_aspect *aspect, const struct record_item *item)
{
    int64_t bytes = aspect->bytes < 0 ? -1 : (int64_t)packet_value(item->r, (uint32_t)aspect->bytes);
    return bytes < 0 ? -1 : bytes;
}

static bool take_span(struct activity *a, uint32_t t, const struct activity_aspect *aspect,
                      const struct record_item *item)
{
    int64_t duration = (int64_t)packet_value(item->r, 0), own = saturate_time(item->time);
    if (duration <= 0)
        return true;
    struct activity_span span = {.begin = run_time(item, saturate_sub(own, duration)),
                                 .end = saturate_ns(item->at.ns),
                                 .name = aspect->name,
                                 .reason = reason_of(item)};
    if (!is_wanted(a, span.begin - MARGIN, span.end + MARGIN))
        return true;
    if (span.reason == ACTIVITY_FOR_IO && !activity_add_io(a, t, span.name, bytes_of(aspect, item)))
        return false;
    return activity_add_span(a, t, span);
}

/* The first one behind a window is kept, too: it tells what the thread waited for when the window ended. */
static bool take_received(struct activity *a, uint32_t t, const struct activity_aspect *aspect,
                          const struct record_item *item)
{
    const struct record_sent *sent = record_messages_pair(a->messages, item);
    struct activity_event e = {.at = saturate_ns(item->at.ns), .peer = ACTIVITY_NONE, .kind = ACTIVITY_RECEIVED};
    e.bytes = bytes_of(aspect, item);
    int64_t waited = aspect->waited < 0 ? -1 : (int64_t)packet_value(item->r, (uint32_t)aspect->waited);
    e.waited = waited == 0 ? 1 : waited > 0 ? waited : 0;
    if (sent) {
        struct clock_reading took = record_message_took(sent, item);
        e.from = saturate_ns(saturate_sub(e.at, took.ns));
        e.bound = took.bound;
        e.peer = sender_of(a, sent);
    }
    a->unsent += e.peer == ACTIVITY_NONE;
    int64_t since = a->threads[t].event < e.at - MARGIN ? a->threads[t].event : e.at - MARGIN;
    a->threads[t].event = e.at;
    return !is_wanted(a, since, e.at + MARGIN) || activity_add_event(a, t, e);
}

static bool take_sent(struct activity *a, uint32_t t, const struct activity_aspect *aspect,
                      const struct record_item *item)
{
    int64_t at = saturate_ns(item->at.ns);
    record_messages_add(a->messages, item);
    a->threads[t].event = at;
    struct activity_event e = {.at = at, .peer = ACTIVITY_NONE, .kind = ACTIVITY_SENT, .bytes = bytes_of(aspect, item)};
    return !is_wanted(a, at - MARGIN, at + MARGIN) || activity_add_event(a, t, e);
}

/* ---- intervals on a CPU ------------------------------------------------------------------------------------------ */

enum { DURATION = ACTIVITY_OF_THREAD + 1, AGE, CPU, ENDED, OFF, READY_LEAST, READY_MOST, SWITCHES_FIELDS };
enum { RIVAL = 5, RIVAL_PID, RIVAL_THREAD, HAD, STATE = 4, WOKEN_BY, WAKER, WAKER_PID, WAKER_THREAD };

/* The aspects of sampler `switches`, and the types of their fields: s text, i integer, e enum. */
enum switches_aspect { OF_INTERVAL, OF_READY, OF_WAIT, SWITCHES_ASPECTS };
static const char *const switches_names[] = {"thread_interval", "thread_ready", "thread_wait"};
static const char *const switches_types[] = {"siiiieiii", "siiiisiii", "siiieesii"};

static enum switches_aspect switches_aspect(const struct dict_aspect *a)
{
    enum switches_aspect is = OF_INTERVAL;
    if (a->kind != DICT_EVENT || a->field_count < SWITCHES_FIELDS || a->name[0] != 't')
        return SWITCHES_ASPECTS;
    while (is < SWITCHES_ASPECTS && strcmp(a->name, switches_names[is]) != 0)
        is++;
    for (uint32_t i = 0; i < SWITCHES_FIELDS && is < SWITCHES_ASPECTS; i++)
        if (a->fields[i].type != (switches_types[is][i] == 's'   ? DICT_STRING
                                  : switches_types[is][i] == 'e' ? DICT_ENUM
                                                                 : DICT_INT64))
            return SWITCHES_ASPECTS;
    return is;
}

bool activity_is_interval(const struct dict_aspect *aspect)
{
    return switches_aspect(aspect) == OF_INTERVAL;
}

bool activity_is_ready(const struct dict_aspect *aspect)
{
    return switches_aspect(aspect) == OF_READY;
}

bool activity_is_wait(const struct dict_aspect *aspect)
{
    return switches_aspect(aspect) == OF_WAIT;
}

/*
 * What was found last of a text and numbers of a process, *is: that is so still: since then no process and no thread
 * has come. If not, it is to be found and kept there.
 */
static struct activity_known *known_of(struct activity *a, const struct record_item *item, uint64_t text, int64_t pid,
                                       uint32_t id, bool *is)
{
    const struct activity_known key = {.text = text,
                                       .row = item->process->row,
                                       .pid = pid,
                                       .id = id,
                                       .processes = item->process->node->highest_stream_id,
                                       .threads = a->thread_count + 1};
    uint64_t hash = (text ^ (uint64_t)pid << 12 ^ (uint64_t)id << 32) * UINT64_C(0x9e3779b97f4a7c15);
    struct activity_known *k = &a->known[hash >> 32 & (ACTIVITY_KNOWN - 1)];
    *is = k->text == text && k->row == key.row && k->pid == pid && k->id == id && k->processes == key.processes &&
          k->threads == key.threads;
    if (!*is)
        *k = key;
    return k;
}

/* The thread that a record of the sampler is about: known already by its records, or one of the latest process of that
 * name. */
static uint32_t find_thread(struct activity *a, const struct record_item *item, const char *name, uint32_t id)
{
    uint32_t t = ACTIVITY_NONE;
    const struct model_process *latest = NULL;
    for (const struct model_process *p = item->process->node->processes; p; p = p->next) {
        if (p->role != ROLE_SUT || strcmp(p->name, name) != 0)
            continue;
        uint32_t known = activity_find(a, p->row, id);
        t = known != ACTIVITY_NONE ? known : t;
        latest = p;
    }
    return t != ACTIVITY_NONE || !latest ? t : thread_of_process(a, latest, id, saturate_time(item->time));
}

static uint32_t thread_of_switches(struct activity *a, const struct record_item *item)
{
    const struct dict *d = item->process->dict;
    uint64_t name = packet_value(item->r, ACTIVITY_OF_PROCESS);
    uint32_t id = (uint32_t)packet_value(item->r, ACTIVITY_OF_THREAD);
    bool is;
    if (name == 0 || name > d->string_count)
        return ACTIVITY_NONE;
    struct activity_known *k = known_of(a, item, name, INT64_MIN, id, &is);
    if (!is)
        k->thread = find_thread(a, item, d->strings[name - 1], id);
    return k->thread;
}

struct activity_window activity_time_of(const struct record_item *item)
{
    int64_t end = saturate_sub(saturate_time(item->time), (int64_t)packet_value(item->r, AGE));
    int64_t duration = saturate_ns((int64_t)packet_value(item->r, DURATION));
    return (struct activity_window){run_time(item, saturate_sub(end, duration)), run_time(item, end)};
}

/* A process of the run by its pid, or else a command, as a name, and its thread `id`; ACTIVITY_NONE: it is unknown, or
 * memory is short. */
static void find_other(struct activity *a, const struct record_item *item, struct activity_known *k)
{
    const struct dict *d = item->process->dict;
    const char *name = k->text && k->text <= d->string_count ? d->strings[k->text - 1] : "";
    k->monitor = strncmp(name, "bezel", 5) == 0 && (name[5] == '\0' || name[5] == 'd' || name[5] == '-');
    k->thread = ACTIVITY_NONE;
    for (const struct model_process *p = item->process->node->processes; p && k->pid > 0; p = p->next) {
        if ((int64_t)p->pid != k->pid)
            continue;
        uint32_t known = activity_find(a, p->row, k->id);
        k->thread = known != ACTIVITY_NONE ? known : k->thread;
        k->monitor = k->monitor || p->role == ROLE_DAEMON;
        name = p->role == ROLE_SUT ? p->name : name;
    }
    k->name = *name && strcmp(name, "unknown") != 0 ? activity_name(a, name) : (uint32_t)ACTIVITY_NONE;
    if (k->name != ACTIVITY_NONE && k->pid > 0)
        a->pids[k->name] = a->pids[k->name] == 0 || a->pids[k->name] == k->pid ? k->pid : ACTIVITY_SEVERAL;
}

static const struct activity_known *other_of(struct activity *a, const struct record_item *item, uint32_t field,
                                             int64_t id)
{
    bool is;
    struct activity_known *k =
        known_of(a, item, packet_value(item->r, field), (int64_t)packet_value(item->r, field + 1), (uint32_t)id, &is);
    if (!is)
        find_other(a, item, k);
    return k;
}

static bool take_ready(struct activity *a, uint32_t t, const struct record_item *item)
{
    struct activity_window time = activity_time_of(item);
    const struct activity_known *by = other_of(a, item, RIVAL, -1);
    struct activity_rival r = {.begin = time.from, .end = time.until, .name = by->name, .monitor = by->monitor};
    return activity_add_rival(a, t, r);
}

static bool take_wait(struct activity *a, uint32_t t, const struct record_item *item)
{
    struct activity_window time = activity_time_of(item);
    uint64_t state = packet_value(item->r, STATE), woken = packet_value(item->r, WOKEN_BY);
    const struct activity_known *by = other_of(a, item, WAKER, (int64_t)packet_value(item->r, WAKER_THREAD));
    struct activity_wait w = {.begin = time.from,
                              .end = time.until,
                              .state = state <= ACTIVITY_STOPPED ? (enum activity_state)state : ACTIVITY_UNSEEN,
                              .woken = woken <= ACTIVITY_NOT_YET ? (enum activity_woken)woken : ACTIVITY_BY_UNKNOWN,
                              .name = by->name,
                              .waker = by->thread};
    return activity_add_wait(a, t, w);
}

struct activity_interval activity_interval_of(const struct record_item *item)
{
    struct activity_window time = activity_time_of(item);
    return (struct activity_interval){.begin = time.from,
                                      .end = time.until,
                                      .off = saturate_ns((int64_t)packet_value(item->r, OFF)),
                                      .ready_least = (int64_t)packet_value(item->r, READY_LEAST),
                                      .ready_most = (int64_t)packet_value(item->r, READY_MOST),
                                      .ended = (enum activity_ended)(packet_value(item->r, ENDED) & 3)};
}

struct activity_ready activity_ready_of(const struct record_item *item)
{
    const struct dict *d = item->process->dict;
    struct activity_window time = activity_time_of(item);
    uint64_t text = packet_value(item->r, RIVAL);
    return (struct activity_ready){.begin = time.from,
                                   .end = time.until,
                                   .had = saturate_ns((int64_t)packet_value(item->r, HAD)),
                                   .rival = text && text <= d->string_count ? d->strings[text - 1] : "unknown",
                                   .pid = (int64_t)packet_value(item->r, RIVAL_PID)};
}

static bool wants_switches(struct activity *a, enum switches_aspect is, const struct record_item *item)
{
    if (a->window_count == 0)
        return true;
    struct activity_window time = activity_time_of(item);
    int64_t off = is == OF_INTERVAL ? saturate_ns((int64_t)packet_value(item->r, OFF)) : 0;
    return is_wanted(a, saturate_sub(time.from, off < 0 ? 0 : off) - MARGIN, time.until + MARGIN);
}

static bool take_switches(struct activity *a, enum switches_aspect is, const struct record_item *item)
{
    uint64_t by = is == OF_WAIT ? packet_value(item->r, WOKEN_BY) : ACTIVITY_BY_UNKNOWN;
    a->intervals += is == OF_INTERVAL;
    a->wakings += by >= ACTIVITY_BY_THREAD && by <= ACTIVITY_BY_INTERRUPT;
    if (!wants_switches(a, is, item))
        return true;
    uint32_t t = thread_of_switches(a, item);
    if (t == ACTIVITY_NONE)
        return true;
    a->threads[t].cpus |= is == OF_INTERVAL ? UINT64_C(1) << (packet_value(item->r, CPU) & 63) : 0;
    return is == OF_INTERVAL ? activity_add_interval(a, t, activity_interval_of(item))
           : is == OF_READY  ? take_ready(a, t, item)
                             : take_wait(a, t, item);
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

bool activity_wants(const struct dict_aspect *aspect)
{
    return dict_kind_lasts(aspect->kind) || aspect->kind == DICT_SENT || aspect->kind == DICT_RECEIVED ||
           switches_aspect(aspect) < SWITCHES_ASPECTS;
}

/* What is to know of an aspect of a process, without comparing texts again. NULL: no memory. */
static const struct activity_aspect *aspect_of(struct activity *a, const struct record_item *item)
{
    const struct dict_aspect *d = item->aspect;
    uint32_t found = look_up(&a->by_key, item->process->row, item->r->aspect);
    if (found != ACTIVITY_NONE)
        return &a->aspects[found];
    struct activity_aspect is = {.name = ACTIVITY_NONE, .bytes = -1, .waited = -1, .switches = SWITCHES_ASPECTS};
    if (item->process->role == ROLE_DAEMON)
        is.switches = (int)switches_aspect(d);
    else if (dict_kind_lasts(d->kind))
        is.name = activity_name(a, d->name);
    for (uint32_t i = d->field_count; i > 0; i--)
        if (d->fields[i - 1].type == DICT_INT64 && strcmp(d->fields[i - 1].name, "bytes") == 0)
            is.bytes = (int)i - 1;
        else if (dict_is_duration(d, i - 1))
            is.waited = (int)i - 1;
    if ((is.name == ACTIVITY_NONE && dict_kind_lasts(d->kind) && item->process->role != ROLE_DAEMON) ||
        !grow_list(&a->aspects, &a->aspect_capacity, a->aspect_count, sizeof is) ||
        !grow_index(&a->by_key, a->aspect_count))
        return NULL;
    hash_index_put(&a->by_key, (uint64_t)item->process->row, item->r->aspect, (uint32_t)a->aspect_count);
    a->aspects[a->aspect_count] = is;
    return &a->aspects[a->aspect_count++];
}

static bool take_loss(struct activity *a, struct activity_stream *s, uint32_t t, const struct record_item *item)
{
    int64_t at = saturate_ns(item->at.ns), from = s->last;
    if (!is_wanted(a, from, at))
        return true;
    if (item->process->role != ROLE_DAEMON)
        return activity_add_event(
            a, t, (struct activity_event){.at = at, .from = from, .peer = ACTIVITY_NONE, .kind = ACTIVITY_LOST});
    if (!grow_list(&a->gaps, &a->gap_capacity, a->gap_count, sizeof *a->gaps))
        return false;
    if (a->gap_count && a->gaps[a->gap_count - 1].until > at)
        at = a->gaps[a->gap_count - 1].until;
    a->gaps[a->gap_count++] = (struct activity_gap){at, from, item->process->node->row};
    return true;
}

static bool take_record(struct activity *a, uint32_t t, const struct record_item *item)
{
    const struct activity_aspect *is = aspect_of(a, item);
    if (!is)
        return false;
    if (item->process->role == ROLE_DAEMON)
        return is->switches == SWITCHES_ASPECTS || take_switches(a, (enum switches_aspect)is->switches, item);
    if (dict_kind_lasts(item->aspect->kind))
        return take_span(a, t, is, item);
    if (item->aspect->kind == DICT_SENT)
        return take_sent(a, t, is, item);
    return item->aspect->kind != DICT_RECEIVED || take_received(a, t, is, item);
}

bool activity_take(struct activity *a, const struct record_item *item)
{
    struct activity_stream *s = stream_of(a, item->stream);
    uint32_t t = !s ? (uint32_t)ACTIVITY_NONE : item->process->role == ROLE_DAEMON ? 0 : thread_of(a, s, item);
    if (t == ACTIVITY_NONE)
        return false;
    bool taken = item->r ? take_record(a, t, item) : take_loss(a, s, t, item);
    s->last = saturate_ns(item->at.ns);
    return taken;
}
