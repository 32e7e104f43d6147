// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "export/perfetto_tracks.h"

#include "base/grow.h"
#include "base/hash.h"

#include <stdlib.h>

/* Fields of Perfetto's TrackDescriptor, ProcessDescriptor, ThreadDescriptor and CounterDescriptor. */
enum {
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
    COUNTER_UNIT_NAME = 6,
};

enum kind { OF_PROCESS = 1, OF_THREAD, BELOW, OF_COUNTER, BESIDE };

/*
 * Perfetto takes a pid for that of one machine. Those of the first node stay as they are; Linux has none from 1 << 22
 * on, so that those of others are moved there. Behind the last node that has room their processes have no pid.
 */
enum { PID_BITS = 22, PID_NODES = 1 << (31 - PID_BITS) };

static uint64_t uuid_of(enum kind kind, uint64_t of, uint64_t which)
{
    uint64_t parts[] = {(uint64_t)kind, of, which};
    return hash_fnv64(HASH_FNV64_START, parts, sizeof parts) | 1;
}

void perfetto_tracks_fini(struct perfetto_tracks *t)
{
    for (size_t i = 0; i < t->count; i++)
        free(t->list[i].roots);
    free(t->list);
    free(t->index.slots);
}

/* The track; *is_new: it is to be described. */
static struct perfetto_track *track_of(struct perfetto_tracks *t, uint64_t uuid, bool *is_new)
{
    int known = hash_index_find(&t->index, uuid, 0);
    *is_new = known < 0;
    if (known >= 0)
        return &t->list[known];
    if (!grow_list(&t->list, &t->capacity, t->count, sizeof *t->list) || !grow_index(&t->index, t->count)) {
        t->short_of_memory = true;
        return NULL;
    }
    hash_index_put(&t->index, uuid, 0, (uint32_t)t->count);
    t->list[t->count] = (struct perfetto_track){.uuid = uuid, .end = INT64_MIN, .forgotten = INT64_MIN};
    return &t->list[t->count++];
}

/* ---- descriptions ------------------------------------------------------------------------------------------------ */

struct described {
    size_t packet, descriptor;
};

static struct described describe(struct proto *p, uint64_t uuid)
{
    struct described d = {.packet = proto_open(p, TRACE_PACKET)};
    proto_int(p, PACKET_SEQUENCE, 1);
    d.descriptor = proto_open(p, PACKET_DESCRIPTOR);
    proto_int(p, TRACK_UUID, uuid);
    return d;
}

static void described(struct proto *p, struct described d)
{
    proto_close(p, d.descriptor);
    proto_close(p, d.packet);
}

/* What is added to the pids and thread ids of a node; -1: it has none. */
static int64_t pids_of(const struct model_node *node)
{
    int64_t number = 0;
    for (const struct model_node *n = node->model->nodes; n && n != node; n = n->next)
        number++;
    return number < PID_NODES ? number << PID_BITS : -1;
}

struct perfetto_track *perfetto_process(struct perfetto_tracks *t, struct proto *p, const struct model_process *of)
{
    bool is_new;
    struct perfetto_track *track = track_of(t, uuid_of(OF_PROCESS, (uint64_t)of->row, 0), &is_new);
    if (!track || !is_new)
        return track;
    char name[2 * MESSAGE_NAME_MAX + 2];
    bool alone = !of->node->model->nodes->next;
    int n = snprintf(name, sizeof name, "%s%s%s", alone ? "" : of->node->name, alone ? "" : "/", of->name);
    int64_t pids = pids_of(of->node);
    struct described d = describe(p, track->uuid);
    if (pids < 0) {
        proto_text(p, TRACK_NAME, name, (size_t)n);
    } else {
        size_t process = proto_open(p, TRACK_PROCESS);
        proto_int(p, PROCESS_PID, (uint64_t)(pids + of->pid));
        proto_text(p, PROCESS_NAME, name, (size_t)n);
        proto_close(p, process);
    }
    described(p, d);
    return track;
}

struct perfetto_track *perfetto_thread(struct perfetto_tracks *t, struct proto *p, const struct model_process *of,
                                       uint32_t thread, const char *name)
{
    bool is_new;
    struct perfetto_track *parent = perfetto_process(t, p, of);
    uint64_t process = parent ? parent->uuid : 0;
    struct perfetto_track *track = track_of(t, uuid_of(OF_THREAD, (uint64_t)of->row, thread), &is_new);
    if (!track || !is_new)
        return track;
    int64_t pids = pids_of(of->node);
    name = name ? name : of->name;
    struct described d = describe(p, track->uuid);
    proto_int(p, TRACK_PARENT, process);
    if (pids < 0) {
        proto_text(p, TRACK_NAME, name, strlen(name));
    } else {
        size_t is = proto_open(p, TRACK_THREAD);
        proto_int(p, THREAD_PID, (uint64_t)(pids + of->pid));
        proto_int(p, THREAD_TID, (uint64_t)(pids + thread));
        proto_text(p, THREAD_NAME, name, strlen(name));
        proto_close(p, is);
    }
    described(p, d);
    return track;
}

static void describe_below(struct proto *p, uint64_t uuid, uint64_t parent, const char *name)
{
    struct described d = describe(p, uuid);
    proto_int(p, TRACK_PARENT, parent);
    proto_text(p, TRACK_NAME, name, strlen(name));
    described(p, d);
}

struct perfetto_track *perfetto_below(struct perfetto_tracks *t, struct proto *p, uint64_t thread, const char *name)
{
    bool is_new;
    uint64_t which = hash_fnv64(HASH_FNV64_START, name, strlen(name));
    struct perfetto_track *track = track_of(t, uuid_of(BELOW, thread, which), &is_new);
    if (track && is_new)
        describe_below(p, track->uuid, thread, name);
    return track;
}

struct perfetto_track *perfetto_counter(struct perfetto_tracks *t, struct proto *p, const struct model_process *of,
                                        const char *name, size_t length, const char *unit)
{
    bool is_new;
    struct perfetto_track *parent = perfetto_process(t, p, of);
    uint64_t process = parent ? parent->uuid : 0;
    uint64_t which = hash_fnv64(HASH_FNV64_START, name, length);
    struct perfetto_track *track = track_of(t, uuid_of(OF_COUNTER, process, which), &is_new);
    if (!track || !is_new)
        return track;
    struct described d = describe(p, track->uuid);
    proto_int(p, TRACK_PARENT, process);
    proto_text(p, TRACK_NAME, name, length);
    size_t counter = proto_open(p, TRACK_COUNTER);
    if (unit && *unit && strcmp(unit, "1") != 0)
        proto_text(p, COUNTER_UNIT_NAME, unit, strlen(unit));
    proto_close(p, counter);
    described(p, d);
    return track;
}

/* ---- what fits --------------------------------------------------------------------------------------------------- */

static void forget_half(struct perfetto_track *track)
{
    size_t half = track->count / 2;
    track->forgotten = track->roots[half - 1].end;
    track->count -= half;
    memmove(track->roots, track->roots + half, track->count * sizeof *track->roots);
}

bool perfetto_fits(struct perfetto_track *track, struct perfetto_slice slice)
{
    size_t n = track->count;
    if (slice.end < track->end || slice.begin < track->forgotten)
        return false;
    while (n > 0 && track->roots[n - 1].begin > slice.begin)
        n--;
    if (n > 0 && track->roots[n - 1].end > slice.begin)
        return false;
    track->count = n;
    if (n >= PERFETTO_ROOTS)
        forget_half(track);
    if (!grow_list(&track->roots, &track->capacity, track->count, sizeof *track->roots))
        return false;
    track->roots[track->count++] = slice;
    track->end = slice.end;
    return true;
}

uint64_t perfetto_beside(struct perfetto_tracks *t, struct proto *p, uint64_t track, const char *name)
{
    uint64_t uuid = uuid_of(BESIDE, track, t->beside++);
    describe_below(p, uuid, track, name);
    return uuid;
}
