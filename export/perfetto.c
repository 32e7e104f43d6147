// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "export/perfetto.h"

#include "base/grow.h"
#include "base/saturate.h"
#include "export/perfetto_tracks.h"
#include "run/model/message_keys.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/*
 * Each stream is a sequence of packets of its own, in which the names of an aspect and its fields are written once, and
 * again behind a loss, which Perfetto takes for lost names. Numbers of names: an aspect's is its id, those of its
 * fields follow from that. Sequence 1 has what belongs to no stream.
 */

/* Fields of Perfetto's TrackEvent, DebugAnnotation, InternedData, EventName, ClockSnapshot and Clock. */
enum {
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_NUMBER = 10,
    EVENT_TRACK = 11,
    EVENT_NAME = 23,
    EVENT_COUNT = 30,
    EVENT_REAL = 44,
    EVENT_FLOW = 47,
    ANNOTATION_NUMBER = 1,
    ANNOTATION_INT = 4,
    ANNOTATION_REAL = 5,
    ANNOTATION_TEXT = 6,
    ANNOTATION_NAME = 10,
    INTERNED_EVENTS = 2,
    INTERNED_ANNOTATIONS = 3,
    INTERNED_NUMBER = 1,
    INTERNED_NAME = 2,
    SNAPSHOT_CLOCK = 1,
    CLOCK_ID = 1,
    CLOCK_TIME = 2,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { FLAG_CLEARED = 1, FLAG_NEEDED = 2 };
enum { PERFETTO_REALTIME = 1, PERFETTO_BOOTTIME = 6 }; /* the latter is that of a trace which says nothing else */
enum { SEQUENCE_OWN = 1, SEQUENCE_STREAMS = 2, FIELD_NUMBERS = 16, LIMITS_KNOWN = 64 };

struct stream {
    bool begun, lost;
    uint8_t named[(DICT_ASPECTS_MAX + 8) / 8]; /* aspects */
    uint8_t limits[LIMITS_KNOWN];              /* of a daemon: their states, plus 1; 0: not known */
};

struct perfetto {
    bool all, begun;
    struct perfetto_tracks tracks;
    struct stream *streams;
    size_t count, capacity;
    struct proto p;
};

struct perfetto *perfetto_new(FILE *out, bool all)
{
    struct perfetto *x = calloc(1, sizeof *x);
    if (x) {
        x->all = all;
        x->p.out = out;
    }
    return x;
}

void perfetto_free(struct perfetto *x)
{
    if (!x)
        return;
    proto_flush(&x->p);
    perfetto_tracks_fini(&x->tracks);
    free(x->streams);
    free(x);
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

static uint64_t time_of(int64_t ns)
{
    return ns > 0 ? (uint64_t)ns : 0;
}

/* The run's time is that of the trace, and of the wall clock that is shown. */
static void put_clocks(struct proto *p, int64_t at)
{
    static const uint64_t clocks[] = {PERFETTO_BOOTTIME, PERFETTO_REALTIME};
    size_t packet = proto_open(p, TRACE_PACKET);
    proto_int(p, PACKET_SEQUENCE, SEQUENCE_OWN);
    size_t snapshot = proto_open(p, PACKET_SNAPSHOT);
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        size_t clock = proto_open(p, SNAPSHOT_CLOCK);
        proto_int(p, CLOCK_ID, clocks[i]);
        proto_int(p, CLOCK_TIME, time_of(at));
        proto_close(p, clock);
    }
    proto_close(p, snapshot);
    proto_close(p, packet);
}

/* A packet with an event of a stream, which is being written. */
struct event {
    size_t packet, event;
};

static struct stream *stream_of(struct perfetto *x, size_t number)
{
    while (x->count <= number) {
        if (!grow_list(&x->streams, &x->capacity, x->count, sizeof *x->streams))
            return NULL;
        x->streams[x->count++] = (struct stream){.begun = false};
    }
    return &x->streams[number];
}

static void intern(struct proto *p, uint32_t list, uint64_t number, const char *name)
{
    size_t entry = proto_open(p, list);
    proto_int(p, INTERNED_NUMBER, number);
    proto_text(p, INTERNED_NAME, name, strlen(name));
    proto_close(p, entry);
}

/* A field's name with its unit. */
static void intern_names(struct proto *p, const struct dict_aspect *a)
{
    size_t interned = proto_open(p, PACKET_INTERNED);
    intern(p, INTERNED_EVENTS, a->id, a->name);
    for (uint32_t i = 0; i < a->field_count; i++) {
        const struct dict_field *f = &a->fields[i];
        char name[DICT_NAME_MAX + DICT_TEXT_MAX + 4];
        bool has_unit = f->unit && *f->unit && strcmp(f->unit, "1") != 0;
        snprintf(name, sizeof name, has_unit ? "%s [%s]" : "%s", f->name, f->unit);
        intern(p, INTERNED_ANNOTATIONS, a->id * FIELD_NUMBERS + i + 1, name);
    }
    proto_close(p, interned);
}

/* Begins an event of type `type` at `at` on track `track`; a record's names are written if they are not known. */
static struct event open_event(struct perfetto *x, const struct record_item *item, int64_t at, uint64_t type,
                               uint64_t track)
{
    struct proto *p = &x->p;
    struct stream *s = &x->streams[item->stream];
    bool cleared = !s->begun || s->lost;
    struct event e = {.packet = proto_open(p, TRACE_PACKET)};
    if (cleared)
        memset(s->named, 0, sizeof s->named);
    proto_int(p, PACKET_TIMESTAMP, time_of(at));
    proto_int(p, PACKET_SEQUENCE, item->stream + SEQUENCE_STREAMS);
    proto_int(p, PACKET_FLAGS, cleared ? FLAG_CLEARED | FLAG_NEEDED : FLAG_NEEDED);
    if (s->lost)
        proto_int(p, PACKET_DROPPED, 1);
    s->begun = true;
    s->lost = false;
    uint32_t id = item->r && (type == TYPE_BEGIN || type == TYPE_INSTANT) ? item->aspect->id : 0;
    if (id && !(s->named[id / 8] & 1u << id % 8)) {
        s->named[id / 8] |= (uint8_t)(1u << id % 8);
        intern_names(p, item->aspect);
    }
    e.event = proto_open(p, PACKET_EVENT);
    proto_int(p, EVENT_TYPE, type);
    proto_int(p, EVENT_TRACK, track);
    return e;
}

static void close_event(struct perfetto *x, struct event e)
{
    proto_close(&x->p, e.event);
    proto_close(&x->p, e.packet);
}

/* ---- what records say -------------------------------------------------------------------------------------------- */

static void put_value(struct proto *p, const struct record_value *v)
{
    if (v->as == RECORD_TEXT)
        proto_text(p, ANNOTATION_TEXT, v->text, v->length);
    else if (v->as == RECORD_INT)
        proto_int(p, ANNOTATION_INT, (uint64_t)v->integer);
    else if (v->as == RECORD_FLOAT)
        proto_double(p, ANNOTATION_REAL, v->real);
    else
        proto_text(p, ANNOTATION_TEXT, "?", 1);
}

/* The values of its fields from number `from` on, and how exact its time is. */
static void annotate(struct perfetto *x, const struct record_item *item, uint32_t from)
{
    struct proto *p = &x->p;
    for (uint32_t i = from; i < item->aspect->field_count; i++) {
        struct record_value v = record_item_value(item->process->dict, item->r, i);
        size_t annotation = proto_open(p, EVENT_ANNOTATION);
        proto_int(p, ANNOTATION_NUMBER, item->aspect->id * FIELD_NUMBERS + i + 1);
        put_value(p, &v);
        proto_close(p, annotation);
    }
    if (item->at.bound <= 0)
        return;
    static const char name[] = "error of its time [ns]", unknown[] = "unknown";
    size_t annotation = proto_open(p, EVENT_ANNOTATION);
    proto_text(p, ANNOTATION_NAME, name, sizeof name - 1);
    if (item->at.bound < INT64_MAX)
        proto_int(p, ANNOTATION_INT, (uint64_t)item->at.bound);
    else
        proto_text(p, ANNOTATION_TEXT, unknown, sizeof unknown - 1);
    proto_close(p, annotation);
}

/* Flows of a message have its keys: its sending and its receivings share one. */
static void put_instant(struct perfetto *x, const struct record_item *item, uint64_t track)
{
    uint64_t keys[2];
    enum dict_kind kind = item->aspect->kind;
    bool is_message = kind == DICT_SENT || kind == DICT_RECEIVED;
    int n = is_message ? message_keys(item->process, item->r, kind, keys) : 0;
    struct event e = open_event(x, item, item->at.ns, TYPE_INSTANT, track);
    proto_int(&x->p, EVENT_NAME_NUMBER, item->aspect->id);
    for (int i = 0; i < n; i++)
        proto_fixed64(&x->p, EVENT_FLOW, keys[i]);
    annotate(x, item, 0);
    close_event(x, e);
}

/* A slice of `track`, or beside it. */
static void put_slice(struct perfetto *x, const struct record_item *item, uint64_t uuid, bool fits, const char *name,
                      struct perfetto_slice slice, uint32_t fields_from)
{
    if (!fits)
        uuid = perfetto_beside(&x->tracks, &x->p, uuid, name);
    struct event e = open_event(x, item, slice.begin, TYPE_BEGIN, uuid);
    if (name == item->aspect->name)
        proto_int(&x->p, EVENT_NAME_NUMBER, item->aspect->id);
    else
        proto_text(&x->p, EVENT_NAME, name, strlen(name));
    annotate(x, item, fields_from);
    close_event(x, e);
    close_event(x, open_event(x, item, slice.end, TYPE_END, uuid));
}

/* A span or wait whose duration is known is a slice. */
static void put_span(struct perfetto *x, const struct record_item *item, struct perfetto_track *track)
{
    int64_t duration = (int64_t)packet_value(item->r, 0);
    struct perfetto_slice slice = {saturate_sub(item->at.ns, duration), item->at.ns};
    if (duration < 0)
        put_instant(x, item, track->uuid);
    else
        put_slice(x, item, track->uuid, perfetto_fits(track, slice), item->aspect->name, slice, 1);
}

static void put_count(struct perfetto *x, const struct record_item *item, struct perfetto_track *track,
                      const struct record_value *v)
{
    if (v->as == RECORD_FLOAT && isnan(v->real))
        return;
    struct event e = open_event(x, item, item->at.ns, TYPE_COUNTER, track->uuid);
    if (v->as == RECORD_FLOAT)
        proto_double(&x->p, EVENT_REAL, v->real);
    else
        proto_int(&x->p, EVENT_COUNT, (uint64_t)v->integer);
    close_event(x, e);
}

/* The level of a gauge, or the sum of a counter; further fields are counters of their own. */
static int put_level(struct perfetto *x, const struct record_item *item)
{
    for (uint32_t i = 0; i < item->aspect->field_count; i++) {
        char name[2 * DICT_NAME_MAX + 2];
        const struct dict_field *f = &item->aspect->fields[i];
        struct record_value v = record_item_value(item->process->dict, item->r, i);
        int n = snprintf(name, sizeof name, i ? "%s.%s" : "%s", item->aspect->name, f->name);
        if (v.as != RECORD_INT && v.as != RECORD_FLOAT)
            continue;
        struct perfetto_track *track = perfetto_counter(&x->tracks, &x->p, item->process, name, (size_t)n, f->unit);
        if (!track)
            return BEZEL_ENOMEM;
        if (i == 0 && item->aspect->kind == DICT_COUNTER && v.as == RECORD_INT)
            v.integer = track->sum = saturate_add(track->sum, v.integer);
        put_count(x, item, track, &v);
    }
    return 0;
}

/* ---- the monitor's records --------------------------------------------------------------------------------------- */

/* The number of a field of this name and type; the number of fields: there is none. */
static uint32_t field_of(const struct dict_aspect *a, const char *name, enum dict_type type)
{
    uint32_t i = 0;
    while (i < a->field_count && (a->fields[i].type != type || strcmp(a->fields[i].name, name) != 0))
        i++;
    return i;
}

/* What a sample of `switches` says of a thread: a slice below it. Else *taken is false. */
static int put_state(struct perfetto *x, const struct record_item *item, bool *taken)
{
    static const struct {
        const char *aspect, *name;
    } states[] = {{"thread_interval", "running"}, {"thread_ready", "ready"}, {"thread_wait", "waiting"}};
    const struct dict_aspect *a = item->aspect;
    const char *name = NULL;
    uint32_t duration = field_of(a, "duration", DICT_INT64), age = field_of(a, "age", DICT_INT64);
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        name = strcmp(a->name, states[i].aspect) == 0 ? states[i].name : name;
    *taken = name && duration < a->field_count && age < a->field_count;
    uint32_t id = 0;
    const char *called = NULL;
    const struct model_process *about = *taken ? record_item_about(item, &id, &called) : NULL;
    if (!about)
        return 0;
    struct perfetto_track *of = perfetto_thread(&x->tracks, &x->p, about, id, called);
    struct perfetto_track *track = of ? perfetto_below(&x->tracks, &x->p, of->uuid, name) : NULL;
    if (!track)
        return BEZEL_ENOMEM;
    char shown[DICT_TEXT_MAX + 16];
    uint32_t rival = field_of(a, "rival", DICT_STRING);
    struct record_value v = {.as = RECORD_ABSENT};
    if (rival < a->field_count)
        v = record_item_value(item->process->dict, item->r, rival);
    snprintf(shown, sizeof shown, v.as == RECORD_TEXT ? "%s, %.*s runs" : "%s", name, (int)v.length, v.text);
    int64_t end = saturate_sub(item->at.ns, (int64_t)packet_value(item->r, age));
    struct perfetto_slice slice = {saturate_sub(end, (int64_t)packet_value(item->r, duration)), end};
    if (slice.begin <= slice.end)
        put_slice(x, item, track->uuid, perfetto_fits(track, slice), shown, slice, age + 1);
    return 0;
}

/* A sample of the system: its numbers are counters, and its texts and its thread say of what. */
static int put_sample(struct perfetto *x, const struct record_item *item)
{
    const struct dict_aspect *a = item->aspect;
    char name[DICT_FIELDS_MAX * (DICT_TEXT_MAX + 2) + 2 * DICT_NAME_MAX];
    uint32_t thread = field_of(a, "thread", DICT_INT64);
    int of = snprintf(name, sizeof name, "%s", a->name), n;
    for (uint32_t i = 0; i < a->field_count; i++) {
        struct record_value v = record_item_value(item->process->dict, item->r, i);
        if (v.as == RECORD_TEXT)
            of += snprintf(name + of, sizeof name - (size_t)of, " %.*s", (int)v.length, v.text);
        else if (i == thread)
            of += snprintf(name + of, sizeof name - (size_t)of, " %" PRId64, v.integer);
    }
    for (uint32_t i = 0; i < a->field_count; i++) {
        struct record_value v = record_item_value(item->process->dict, item->r, i);
        if (i == thread || (v.as != RECORD_INT && v.as != RECORD_FLOAT))
            continue;
        n = of + snprintf(name + of, sizeof name - (size_t)of, ": %s", a->fields[i].name);
        struct perfetto_track *track =
            perfetto_counter(&x->tracks, &x->p, item->process, name, (size_t)n, a->fields[i].unit);
        if (!track)
            return BEZEL_ENOMEM;
        put_count(x, item, track, &v);
    }
    return 0;
}

/* What it decided and judged. A limit is recorded each second; only a change of its state is worth a mark. */
static bool is_event(struct perfetto *x, const struct record_item *item)
{
    static const enum builtin events[] = {BUILTIN_LIMIT,    BUILTIN_DECISION,   BUILTIN_KNOB,
                                          BUILTIN_SNAPSHOT, BUILTIN_CONCLUSION, BUILTIN_TRIGGER};
    enum { INDEX, STATE };
    const uint32_t *ids = item->process->builtins;
    uint32_t id = item->aspect->id;
    bool is = x->all;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        is = is || id == ids[events[i]];
    if (id != ids[BUILTIN_LIMIT] || x->all)
        return is;
    uint64_t limit = packet_value(item->r, INDEX);
    uint8_t state = (uint8_t)(packet_value(item->r, STATE) + 1), *known = x->streams[item->stream].limits;
    bool changed = limit >= LIMITS_KNOWN || known[limit] != state;
    if (limit < LIMITS_KNOWN)
        known[limit] = state;
    return changed;
}

static int put_monitors(struct perfetto *x, const struct record_item *item)
{
    bool taken;
    int err = put_state(x, item, &taken);
    if (err || taken)
        return err;
    if (strncmp(item->aspect->name, "bezel_", 6) != 0)
        return put_sample(x, item);
    if (!is_event(x, item))
        return 0;
    struct perfetto_track *track = perfetto_process(&x->tracks, &x->p, item->process);
    if (!track)
        return BEZEL_ENOMEM;
    put_instant(x, item, track->uuid);
    return 0;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static void put_loss(struct perfetto *x, const struct record_item *item, uint64_t track)
{
    char name[64];
    x->streams[item->stream].lost = true;
    int n = snprintf(name, sizeof name, "%" PRIu64 " record%s lost up to here", item->lost, item->lost == 1 ? "" : "s");
    struct event e = open_event(x, item, item->at.ns, TYPE_INSTANT, track);
    proto_text(&x->p, EVENT_NAME, name, (size_t)n);
    close_event(x, e);
}

int perfetto_put(struct perfetto *x, const struct record_item *item)
{
    if (!stream_of(x, item->stream))
        return BEZEL_ENOMEM;
    if (x->p.used >= PROTO_BUFFER - PROTO_MESSAGE_MAX)
        proto_flush(&x->p);
    if (!x->begun)
        put_clocks(&x->p, item->at.ns);
    x->begun = true;
    if (item->r && item->process->role == ROLE_DAEMON)
        return put_monitors(x, item);
    enum dict_kind kind = item->r ? item->aspect->kind : DICT_EVENT;
    if (item->r && (kind == DICT_COUNTER || kind == DICT_GAUGE))
        return put_level(x, item);
    struct perfetto_track *track =
        perfetto_thread(&x->tracks, &x->p, item->process, item->packet->thread, record_item_thread(item));
    if (!track)
        return BEZEL_ENOMEM;
    if (!item->r)
        put_loss(x, item, track->uuid);
    else if (dict_kind_lasts(kind))
        put_span(x, item, track);
    else
        put_instant(x, item, track->uuid);
    return 0;
}
