// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/saturate.h"
#include "base/sigbus_guard.h"
#include "mdr/parts.h"
#include "sensor/external/expiry.h"
#include "sensor/external/open_spans.h"
#include "sensor/external/packetize_internal.h"
#include "sensor/external/program_knobs.h"
#include "sensor/external/reduce.h"

#include <stdlib.h>
#include <string.h>

enum {
    EXTERNAL_STILL_NS = 200000000, /* how long a detached process's last record may take */
    EXTERNAL_STOP_NS = 1000000000, /* a process that still writes then ignores its enable words */
};

/* ---- Processes --------------------------------------------------------------------------------------------------- */

static void refresh_watches(struct external *x, struct external_process *p)
{
    const struct external_observer *o = &x->options.observer;
    const struct dict *d = p->at->dict;
    for (uint32_t id = p->watched; d && id <= d->aspect_count; p->watched = ++id) {
        p->watch[id] = o->watch && p->slot >= 0 ? o->watch(o->context, p->slot, p->role, &d->aspects[id - 1]) : -1;
        if (expiry_watch(x, p, id) != 0)
            notes_record(x, p, clock_now(), "BEZEL-EXPIRY",
                         "out of memory: its expired records are not counted, and are used for control");
        if (reduce_watch(x, p, id) != 0)
            notes_record(x, p, clock_now(), "BEZEL-REDUCE",
                         "out of memory: records of it that were to end at this node are stored");
    }
}

/* `Off` applies to the SUT: the daemons' own few records go on. */
enum segment_enable external_mode(const struct external *x, const struct external_process *p)
{
    if (p->phase != EXTERNAL_LIVE)
        return SEGMENT_DISABLED;
    return x->collecting || p->role == ROLE_DAEMON ? SEGMENT_RECORD : SEGMENT_COUNT;
}

void external_refresh(struct external *x, struct external_process *p)
{
    int grew = segment_refresh_dict(p->at);
    if (grew < 0)
        notes_record(x, p, clock_now(), "BEZEL-DICT-BROKEN",
                     "its dictionary is invalid from some byte on: %s: records of later aspects are not stored",
                     err_text(grew));
    if (grew <= 0)
        return;
    p->version++;
    refresh_watches(x, p);
    aspect_rules_apply(x, p);
}

/* ---- Ends of processes ------------------------------------------------------------------------------------------- */

/* The segment keeps it for a successor, which may come when the process has ended. */
static void see_alive(struct external_process *p, int64_t now)
{
    p->seen = now;
    atomic_store_explicit(&p->at->segment->seen, (uint64_t)now, memory_order_relaxed); /* relaxed: a number */
}

/* An exit that hangs is none: a process that was there for longer was ended. */
static enum builtin_ending_way way_of(const struct external_process *p, bool alive)
{
    uint64_t exits = atomic_load_explicit(&p->at->segment->exits, memory_order_relaxed); /* relaxed: it has ended */
    if (alive)
        return ENDING_NONE;
    if (exits != 0 && p->seen - saturate_ns((int64_t)exits) < CLOCK_S)
        return ENDING_EXIT;
    return segment_has_executed(p->at) ? ENDING_EXEC : ENDING_UNKNOWN;
}

static void tell_last(struct external *x, struct external_process *p, bool alive, int64_t now)
{
    open_spans_last(x, p, !alive, now);
    if (alive)
        see_alive(p, now);
    if (x->options.observer.ending && p->role == ROLE_SUT && !p->ending_told && !p->truncated)
        x->options.observer.ending(x->options.observer.context, p, way_of(p, alive));
    p->ending_told = true;
}

static void begin_closing(struct external *x, uint32_t i, enum message_process_state state, int64_t now)
{
    struct external_process *p = x->processes[i];
    p->left_alive = state == PROCESS_DETACHED && p->role == ROLE_SUT && !x->run_ends;
    window_leave(x->window, p->at->instance, p->left_alive ? WINDOW_LEFT_ALIVE : WINDOW_LEFT);
    tell_last(x, p, state != PROCESS_ENDED, now);
    segment_set_mode(p->at, SEGMENT_DISABLED);
    if (!x->goes_on)
        segment_reset_knobs(p->at);
    if (p->slot >= 0) /* what its rings hold later is stored: nobody evaluates it any more */
        packetize_process(x, p, now);
    if (x->options.observer.process_end && p->slot >= 0)
        x->options.observer.process_end(x->options.observer.context, p->slot);
    p->slot = -1;
    p->phase = EXTERNAL_CLOSING;
    p->wake_asked = false;
    bitset_remove(&x->polled, i);
    bitset_remove(&x->idle, i);
    p->state = state;
    p->closing_since = now;
    expiry_unwatch(p);
    reduce_unwatch(p);
}

/* Whether some ring of `p` is not read to its end. */
static bool is_broken(const struct external_process *p)
{
    for (uint32_t i = 0; i < p->at->ring_count; i++)
        if (p->at->rings[i].broken)
            return true;
    return p->truncated;
}

/*
 * Rings whose thread may have begun a record before this session, counted it as an attempt then, and as lost only now:
 * at most one each (run/verdict/verdict.h: verdict_begun_before()).
 */
static uint64_t count_older_rings(const struct external_process *p)
{
    uint64_t older = 0;
    for (uint32_t i = 0; i < p->at->ring_count; i++)
        older += p->at->rings[i].reader.ring && p->at->rings[i].base_ordinal > 0;
    return older;
}

/*
 * Records that were attempted, but neither dropped nor packetized: a writer that was killed, or still runs, has begun
 * them. The rest of a ring that is not read to its end is left out: how much of it was finished is unknown.
 */
static uint64_t count_unfinished(struct external *x, const struct external_process *p, int64_t now)
{
    uint64_t attempts = 0, dropped = 0, discarded, packetized = packetize_records(x, p, &discarded);
    bool rests = p->state == PROCESS_ENDED || now - p->closing_since >= EXTERNAL_STILL_NS;
    if (is_broken(p))
        return 0;
    for (uint32_t id = 1; id < RING_ASPECTS; id++) {
        struct message_books_row row = segment_tally(p->at, id);
        if (row.attempts == 0) /* a loss without one is of the session before, and in no books: read_rows() */
            continue;
        attempts += row.attempts;
        dropped += row.no_ring + row.full + row.off + row.window + row.spool;
    }
    dropped += reduce_taken(p);
    if (attempts < dropped || attempts - dropped < packetized) {
        bool is_older = dropped + packetized - attempts <= count_older_rings(p);
        p->at->disbelieved = rests && !is_older; /* else a record was counted between two reads, if not before */
        return !rests;
    }
    if (p->at->disbelieved ||
        p->at->when_full == SEGMENT_OVERWRITE) /* the unfinished record is counted as overwritten */
        return 0;
    return attempts - dropped - packetized;
}

/* Sets, once, how far each ring of a detached process is to be read. */
static void set_goals(struct external_process *p)
{
    for (uint32_t i = 0; i < p->at->ring_count && !p->goals_set; i++)
        p->at->rings[i].goal = p->at->rings[i].reader.tail + packetize_waiting(p, i);
    p->goals_set = true;
}

/* Does not wait for a process that ignores its enable words: its rings are read no further. */
static void stop_reading(struct external *x, struct external_process *p, int64_t now)
{
    if (p->state != PROCESS_DETACHED || now - p->closing_since < EXTERNAL_STOP_NS ||
        p->at->when_full == SEGMENT_OVERWRITE)
        return;
    for (uint32_t i = 0; i < p->at->ring_count; i++) {
        struct attached_ring *ring = &p->at->rings[i];
        if (packetize_waiting(p, i) == 0 || (int32_t)(ring->goal - ring->reader.tail) > 0)
            continue;
        struct packetizer c = {.x = x, .p = p, .ring = ring, .now = now};
        packetize_broken(&c, "records after collection had ended");
    }
}

/* Reads a flight recorder once more, after its last write. False: not yet. */
static bool take_final_snapshot(struct external *x, struct external_process *p, int64_t now)
{
    if (p->final_snapshot || p->at->when_full != SEGMENT_OVERWRITE)
        return true;
    if (packetize_waits(p) || (p->state == PROCESS_DETACHED && now - p->closing_since < EXTERNAL_STILL_NS))
        return false;
    packetize_snapshot(x, p, now);
    return p->final_snapshot = true;
}

/* The count of unobserved children never falls. Returns whether it grew. */
static bool take_unobserved(struct external_process *p, uint32_t count)
{
    bool grew = count > p->unobserved;
    if (grew)
        p->unobserved = count;
    return grew;
}

/* Returns the number of rows. */
static uint32_t read_rows(const struct external_process *p, struct message_books_row rows[MESSAGE_BOOKS_MAX])
{
    /* Counters exist also for aspects that a broken dictionary does not explain. */
    uint32_t count = 0, last = p->at->dict_broken ? RING_ASPECTS - 1 : p->at->dict ? p->at->dict->aspect_count : 0;
    for (uint32_t id = 1; id <= last; id++) {
        struct message_books_row row = segment_tally(p->at, id);
        if (row.attempts)
            rows[count++] = row;
    }
    return p->at->disbelieved ? 0 : count;
}

/*
 * A thread of a living process may have been in the midst of a record for all the time that it was given. It goes on
 * later, and counts the record again, as lost: the closing packet and `unfinished` have counted it already. Without
 * memory the counters stay the living ones.
 */
static void keep_rows(struct external_process *p)
{
    struct message_books_row rows[MESSAGE_BOOKS_MAX];
    uint32_t count = read_rows(p, rows);
    p->closed_rows = count ? malloc(count * sizeof *rows) : NULL;
    if (p->closed_rows)
        memcpy(p->closed_rows, rows, count * sizeof *rows);
    p->closed_count = count;
}

/* Drains and closes a process that ended or is detached. A living one gets a short time to finish its last record. */
static void close_step(struct external *x, struct external_process *p, int64_t now)
{
    segment_search_rings(p->at);
    set_goals(p);
    packetize_process(x, p, now);
    if (!take_final_snapshot(x, p, now))
        return;
    packetize_process(x, p, now);
    stop_reading(x, p, now);
    if (packetize_waits(p))
        return; /* the window is full */
    p->unfinished = count_unfinished(x, p, now);
    if (p->unfinished && p->state == PROCESS_DETACHED && now - p->closing_since < EXTERNAL_STILL_NS)
        return;
    if (!packetize_close(x, p, now))
        return;
    p->phase = EXTERNAL_CLOSED;
    if (p->state == PROCESS_DETACHED)
        keep_rows(p);
    if (p->state == PROCESS_ENDED) /* its living children have the doorbell */
        take_unobserved(p, unobserved_stop(&p->at->segment->unobserved));
    if (p->at->disbelieved) /* perhaps only since packetize_close() */
        p->unfinished = 0;
    if (p->clamped)
        notes_record(x, p, now, "BEZEL-TIME",
                     "the times of %llu records were moved: they were earlier than the record before or their "
                     "process, or in the future",
                     (unsigned long long)p->clamped);
}

/* Whether every packet of `p` is acknowledged, and gone from the window. */
static bool acknowledged(struct external *x, const struct external_process *p)
{
    for (uint32_t i = 0; i < p->at->ring_count; i++) {
        int n = window_find(x->window, p->at->instance, i);
        if (n >= 0 && window_holds(x->window, (uint32_t)n))
            return false;
    }
    return true;
}

void external_release(struct external_process *p, bool remove)
{
    segment_detach(p->at, remove);
    free(p->user_clock);
    free(p->expiry);
    free(p->reduce);
    free(p->open);
    free(p->closed_rows);
    free(p);
}

/*
 * Removes process `i`. The segment goes before its entry in the window: a segment without an entry would be read again.
 */
static void forget(struct external *x, uint32_t i)
{
    struct external_process *p = x->processes[i];
    uint64_t instance = p->at->instance;
    totals_add(x, p, &x->gone);
    x->gone_unobserved += p->unobserved;
    external_release(p, p->state == PROCESS_ENDED);
    window_forget(x->window, instance);
    hash_index_remove(&x->index, instance, HASH_INDEX_NO_RING);
    bitset_remove(&x->present, i);
    x->processes[i] = NULL;
}

static void note_counters(struct external *x, struct external_process *p, int64_t now)
{
    if (!p->at->disbelieved || p->counters_noted)
        return;
    p->counters_noted = true;
    notes_record(x, p, now, "BEZEL-COUNTERS",
                 "its counters contain impossible numbers: the books keep the last possible ones, and its later losses "
                 "are unknown");
}

/* `doubtful`: the process may have ended. */
static void housekeep_process(struct external *x, uint32_t i, bool doubtful, int64_t now)
{
    struct external_process *p = x->processes[i];
    if (!p->truncated && sigbus_guard_hit(p->at->guard)) {
        p->truncated = p->at->disbelieved = p->counters_noted = true;
        notes_record(x, p, now, "BEZEL-SEGMENT-CUT",
                     "the file of its segment was truncated: it is read no further, and its later records are lost");
        x->counts.broken_segments++;
        for (uint32_t r = 0; r < p->at->ring_max; r++)
            p->at->rings[r].broken = true;
    }
    if (p->phase == EXTERNAL_LIVE && doubtful && !segment_alive(p->at))
        begin_closing(x, i, PROCESS_ENDED, now); /* first: from here on a read sees all that it wrote */
    else if (p->phase == EXTERNAL_LIVE && (doubtful || p->at->pidfd >= 0))
        see_alive(p, now);
    if (p->phase != EXTERNAL_CLOSED && !p->truncated)
        external_refresh(x, p);      /* also without waiting records: aspects that are only counted have books */
    (void)external_knob_count(x, p); /* takes in new knobs, and notes invalid ones */
    segment_refresh_rings(p->at);
    if (p->phase == EXTERNAL_LIVE &&
        p->role == ROLE_DAEMON) /* the daemon's own records do not wait for a long period */
        packetize_process(x, p, now);
    if (p->phase != EXTERNAL_CLOSED) {
        bool grew = take_unobserved(p, unobserved_read(&p->at->segment->unobserved));
        notes_take(x, p, now);
        if (grew && p->phase == EXTERNAL_LIVE) /* its books changed, even if it is idle */
            idle_activate(x, i, now);
    }
    if (p->phase == EXTERNAL_LIVE) {
        idle_detect(x, i, now);
        open_spans_look(x, p, now);
    }
    if (p->phase == EXTERNAL_CLOSING)
        close_step(x, p, now);
    note_counters(x, p, now);
    if (p->phase != EXTERNAL_CLOSED || !acknowledged(x, p))
        return;
    if (!p->closed_at)
        p->closed_at = now;
    if (!x->finishing && (!expiry_is_reported(p) || !reduce_is_told(p)))
        return;
    /*
     * At the end all processes stay, unless another waits for their place, which would be lost without one. A process
     * that was detached alive always stays: its segment would be found again, and its streams opened anew.
     */
    if (p->books_saved && p->state == PROCESS_ENDED && (!x->finishing || x->left_out))
        forget(x, i);
}

/* Before any is closed, as the daemon's own records are of one of these processes, too. */
static void tell_last_of_all(struct external *x, int64_t now)
{
    for (uint32_t i = 0; i < x->process_count; i++) {
        struct external_process *p = x->processes[i];
        if (p && p->phase == EXTERNAL_LIVE)
            tell_last(x, p, segment_alive(p->at), now);
    }
}

static void close_living(struct external *x, int64_t now)
{
    for (uint32_t i = 0; i < x->process_count; i++) {
        struct external_process *p = x->processes[i];
        if (p && p->phase == EXTERNAL_LIVE)
            begin_closing(x, i, segment_alive(p->at) ? PROCESS_DETACHED : PROCESS_ENDED, now);
    }
}

/* At the end, takes in processes that waited for a place, or gives up if none can become free. */
static void finish_left_out(struct external *x, int64_t now)
{
    discover_processes(x, now);
    close_living(x, now);
    bool hope = x->left_out == 0;
    for (uint32_t i = 0; i < x->process_count && !hope; i++)
        hope = x->processes[i] && x->processes[i]->state == PROCESS_ENDED;
    if (hope)
        return;
    if (x->folder_error)
        notes_record(x, NULL, now, "BEZEL-UNREAD",
                     "cannot read all of folder %s: %s: processes that bezeld had not found were never read, and "
                     "their records are lost",
                     x->options.dir, strerror(x->folder_error));
    else
        notes_record(x, NULL, now, "BEZEL-UNREAD",
                     "no room for %u more process%s until the end, whose records are lost: %s", x->left_out,
                     x->left_out == 1 ? "" : "es", x->counts.unread_why);
    x->counts.unread = x->left_out;
    x->left_out = 0;
}

/* ---- Interface -------------------------------------------------------------------------------------------------- */

void external_batch(struct external *x, bool batch, uint32_t limit)
{
    x->options.batch = batch;
    x->options.batch_limit = limit;
}

static bool is_recorder(const struct external_process *p)
{
    return p && p->phase == EXTERNAL_LIVE && p->at->when_full == SEGMENT_OVERWRITE;
}

uint32_t external_snapshot(struct external *x, int64_t now)
{
    x->heads.known = false;
    uint32_t done = 0;
    x->saved_lately = (struct external_saved){0};
    accumulate_end(&x->accumulate);
    for (uint32_t i = 0; i < x->process_count; i++) {
        struct external_process *p = x->processes[i];
        if (!is_recorder(p))
            continue;
        idle_activate(x, i, now);
        packetize_snapshot(x, p, now);
        done += packetize_process(x, p, now);
    }
    return done;
}

bool external_snapshot_rest(struct external *x, int64_t now)
{
    bool left = false;
    x->heads.known = false;
    for (uint32_t i = 0; i < x->process_count; i++) {
        struct external_process *p = x->processes[i];
        if (!is_recorder(p))
            continue;
        packetize_process(x, p, now);
        left = left || packetize_waits(p);
    }
    return left;
}

struct external_saved external_saved(const struct external *x)
{
    return x->saved;
}

struct external_saved external_saved_lately(const struct external *x)
{
    return x->saved_lately;
}

void external_saved_begin(struct external *x)
{
    x->saved = (struct external_saved){0};
}

void external_housekeep(struct external *x, int64_t now)
{
    x->heads.known = false;
    external_clock_poll(x, now); /* with collection off, and at the end, nothing else reads the clock */
    notes_take_refusals(x, now);
    if (now >= x->scan_due && !x->finishing)
        discover_again(x, now);
    else if (now >= x->scan_due && x->left_out)
        finish_left_out(x, now);
    struct bitset doubtful = liveness_look(&x->liveness, &x->present);
    x->least_slots = UINT32_MAX;
    for
        BITSET_EACH (i, &x->present) {
            external_note_slots(x, x->processes[i]);
            housekeep_process(x, (uint32_t)i, bitset_has(&doubtful, (uint32_t)i), now);
        }
}

void external_note_slots(struct external *x, const struct external_process *p)
{
    bool polled = p->phase == EXTERNAL_LIVE && p->role == ROLE_SUT && p->at->when_full != SEGMENT_OVERWRITE;
    if (polled && p->at->ring_slots < x->least_slots)
        x->least_slots = p->at->ring_slots;
}

uint32_t external_least_slots(const struct external *x)
{
    return x->least_slots;
}

bool external_collect(struct external *x, bool on)
{
    if (x->collecting == on || x->finishing)
        return false;
    x->collecting = on;
    external_set_rules(x);
    return true;
}

void external_finish(struct external *x, int64_t now)
{
    x->heads.known = false;
    if (x->finishing)
        return;
    discover_processes(x, now); /* finds a process that came and went since the last search */
    x->finishing = true;
    tell_last_of_all(x, now);
    close_living(x, now);
}

bool external_finished(const struct external *x)
{
    for (uint32_t i = 0; i < x->process_count; i++)
        if (x->processes[i] && x->processes[i]->phase != EXTERNAL_CLOSED)
            return false;
    return x->finishing && x->left_out == 0;
}

int external_next(const struct external *x, uint32_t from)
{
    int i = bitset_next(&x->present, from);
    while (i >= 0 && bitset_has(&x->idle, (uint32_t)i))
        i = bitset_next(&x->present, (uint32_t)i + 1);
    return i;
}

struct window *external_window(struct external *x)
{
    return x->window;
}

const struct external_counts *external_counts(const struct external *x)
{
    return &x->counts;
}

uint32_t external_process_count(const struct external *x)
{
    return x->process_count;
}

struct external_process *external_process(struct external *x, uint32_t i)
{
    return x->processes[i];
}

struct external_process *external_find(struct external *x, uint64_t instance)
{
    int i = hash_index_find(&x->index, instance, HASH_INDEX_NO_RING);
    return i < 0 ? NULL : x->processes[i];
}

void external_books(const struct external_process *p, int64_t now, struct message_books *books)
{
    books->instance = p->at->instance;
    books->state = p->closed_at ? p->state : PROCESS_RUNNING; /* final books come after all packets */
    books->at = (uint64_t)now;
    books->unfinished = p->phase == EXTERNAL_CLOSED ? p->unfinished : 0;
    books->unobserved = p->unobserved;
    books->row_count = p->closed_rows ? p->closed_count : read_rows(p, books->rows);
    if (p->closed_rows)
        memcpy(books->rows, p->closed_rows, p->closed_count * sizeof *p->closed_rows);
}

void external_hand_on(struct external *x, int slot)
{
    for
        BITSET_EACH (i, &x->present) {
            struct external_process *p = x->processes[i];
            if (p->reduce && p->reduce->waits && (slot < 0 || p->slot == slot))
                reduce_hand_on(p);
        }
}

bool external_reduces(const struct external *x)
{
    for
        BITSET_EACH (i, &x->present)
            if (x->processes[i]->reduce && x->processes[i]->reduce->waits)
                return true;
    return false;
}

uint64_t external_node_unobserved(const struct external *x)
{
    return x->counts.unread + x->unobserved;
}

void external_node_books(const struct external *x, int64_t now, struct message_books *books)
{
    books->instance = 0;
    books->state = external_finished(x) ? PROCESS_ENDED : PROCESS_RUNNING;
    books->at = (uint64_t)now;
    books->unfinished = 0;
    books->unobserved = external_node_unobserved(x);
    books->row_count = 0;
}

uint64_t external_unobserved(const struct external *x)
{
    uint64_t sum = x->gone_unobserved + external_node_unobserved(x);
    for (uint32_t i = 0; i < x->process_count; i++)
        if (x->processes[i])
            sum += x->processes[i]->unobserved;
    return sum;
}
