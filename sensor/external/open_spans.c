// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/external/open_spans.h"

#include "sensor/external/packetize_internal.h"
#include "sensor/shm/open_place.h"

#include <stdlib.h>

enum { CHANGES_OF_LOOK = 64 /* of a process: the next look continues */ };

/*
 * What the observer was told of the places. The words of these spans are in the segment, `open_told`, 0 for none: so
 * the next bezeld of the run tells the end of what this one has told.
 */
struct open_spans {
    int64_t due;
    struct {
        uint32_t word;
        int64_t at;
    } first[SEGMENT_OPEN_PLACES]; /* the first look that saw this word */
    struct external_open_span told[SEGMENT_OPEN_PLACES];
};

static bool make(struct external_process *p)
{
    if (!p->open)
        p->open = calloc(1, sizeof *p->open);
    return p->open != NULL;
}

/*
 * When the span began, and since when it was open for certain; 0 where that is not known. The clock of a program in
 * another time namespace may be hours away: a time that cannot be is not taken, and the span began at most the time
 * between two looks before the first of them.
 */
static int64_t since_of(const struct external_process *p, uint32_t place, uint64_t ticks, int64_t now, int64_t *certain)
{
    *certain = 0;
    if (p->timebase && !timebase_ready(p->timebase))
        return 0;
    uint64_t ns = external_clock_ns(p, ticks);
    int64_t first = p->open->first[place].at, before = first - OPEN_SPANS_LONG, earliest = (int64_t)p->earliest;
    bool possible = packetize_is_possible(p, ns, now);
    *certain = !possible ? first : (int64_t)ns > now ? now : (int64_t)ns;
    return possible ? *certain : before > earliest ? before : earliest;
}

static void tell(struct external *x, struct external_process *p, uint32_t place, enum external_open_state state)
{
    struct external_open_span *told = &p->open->told[place];
    told->state = state;
    x->options.observer.open_span(x->options.observer.context, p, told);
    if (state != EXTERNAL_SPAN_OPEN)
        p->at->segment->open_told[place] = 0;
}

/* Tells the end of what an earlier bezeld told, or this one. A program may have written anything there. */
static bool tell_end(struct external *x, struct external_process *p, uint32_t place, uint32_t word)
{
    struct external_open_span *told = &p->open->told[place];
    if (told->aspect != (word & OPEN_ASPECT))
        *told = (struct external_open_span){.place = place, .aspect = word & OPEN_ASPECT};
    bool is = told->aspect > 0 && told->aspect <= p->at->dict->aspect_count;
    p->at->segment->open_told[place] = 0;
    if (is)
        tell(x, p, place, EXTERNAL_SPAN_ENDED);
    return is;
}

/* Returns how often the observer was told something. */
static uint32_t look_at(struct external *x, struct external_process *p, uint32_t place, bool left, int64_t now)
{
    struct segment *s = p->at->segment;
    struct open_span span;
    bool is = open_place_read(&s->open[place], &span) && span.aspect <= p->at->dict->aspect_count;
    uint32_t known = s->open_told[place], count = 0;
    if (known && (!is || span.word != known))
        count += tell_end(x, p, place, known);
    if (!is || (span.word == known && !left))
        return count;
    if (p->open->first[place].word != span.word) {
        p->open->first[place].word = span.word;
        p->open->first[place].at = now;
    }
    int64_t certain, since = since_of(p, place, span.ticks, now, &certain);
    if (!left && (certain == 0 || now - certain < OPEN_SPANS_LONG))
        return count;
    s->open_told[place] = span.word;
    p->open->told[place] =
        (struct external_open_span){.place = place, .aspect = span.aspect, .thread = span.thread, .since = since};
    tell(x, p, place, left ? EXTERNAL_SPAN_LEFT : EXTERNAL_SPAN_OPEN);
    return count + 1;
}

static bool has_places(const struct external *x, const struct external_process *p)
{
    return x->options.observer.open_span && p->role == ROLE_SUT && !p->truncated && p->at->dict &&
           atomic_load_explicit(&p->at->segment->open_used, memory_order_relaxed); /* relaxed: Y1 orders the places */
}

void open_spans_look(struct external *x, struct external_process *p, int64_t now)
{
    if ((p->open && now < p->open->due) || !has_places(x, p) || !make(p))
        return;
    uint32_t count = 0;
    for (uint32_t i = 0; i < SEGMENT_OPEN_PLACES && count < CHANGES_OF_LOOK; i++)
        count += look_at(x, p, i, false, now);
    p->open->due = now + OPEN_SPANS_LONG;
}

void open_spans_last(struct external *x, struct external_process *p, bool left, int64_t now)
{
    if (!p->truncated)
        external_refresh(x, p); /* the process may have declared the aspect of an open span since the last look */
    if ((p->open && p->open->due == INT64_MAX) || !has_places(x, p) || !make(p))
        return;
    for (uint32_t i = 0; i < SEGMENT_OPEN_PLACES; i++)
        (void)look_at(x, p, i, left, now);
    p->open->due = INT64_MAX;
}
