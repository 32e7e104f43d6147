// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/model/run_clock.h"

#include "base/grow.h"
#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>

#define DRIFT_ERROR_MAX 20e-6

/* ---- Exchanges --------------------------------------------------------------------------------------------------- */

void run_clock_init(struct run_clock *c, enum run_clock_kind kind, int64_t ahead)
{
    *c = (struct run_clock){.kind = kind, .ahead = ahead};
    clock_relation_init(&c->relation);
}

void run_clock_free(struct run_clock *c)
{
    free(c->pieces);
    c->pieces = NULL;
    c->count = c->capacity = 0;
}

/*
 * One piece for two neighbours: the line from the start of the first to the end of the second. It is furthest from them
 * where they meet.
 */
static struct clock_piece join(const struct clock_piece *a, const struct clock_piece *b)
{
    double first = a->slope * (double)(a->until - a->from), second = (double)(b->offset - a->offset);
    double rise = second + b->slope * (double)(b->until - b->from);
    struct clock_piece both = {.from = a->from, .until = b->until, .offset = a->offset};
    both.slope = rise / (double)(b->until - a->from);
    double there = both.slope * (double)(b->from - a->from);
    double bound = (double)(a->bound > b->bound ? a->bound : b->bound);
    bound += fmax(fabs(there - first), fabs(there - second)) + 1;
    both.bound = bound < 9e18 ? (int64_t)ceil(bound) : INT64_MAX;
    return both;
}

static void halve(struct run_clock *c)
{
    size_t n = 0;
    for (size_t i = 0; i + 1 < c->count; i += 2)
        c->pieces[n++] = join(&c->pieces[i], &c->pieces[i + 1]);
    if (c->count % 2)
        c->pieces[n++] = c->pieces[c->count - 1];
    c->count = n;
}

static void push(struct run_clock *c, const struct clock_piece *piece)
{
    if (c->count == RUN_CLOCK_PIECES)
        halve(c);
    if (!grow_list(&c->pieces, &c->capacity, c->count, sizeof *c->pieces)) {
        c->incomplete = true;
        return;
    }
    c->pieces[c->count++] = *piece;
}

/* ---- Readings ---------------------------------------------------------------------------------------------------- */

/* The last piece that begins at or before `own`, else the first one; there is one. */
static const struct clock_piece *find(const struct run_clock *c, int64_t own)
{
    size_t low = 0, high = c->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (c->pieces[middle].from <= own)
            low = middle;
        else
            high = middle;
    }
    return &c->pieces[low];
}

/* The time of the run's clock. */
static struct clock_reading read_clock(const struct run_clock *c, int64_t own)
{
    const struct clock_piece *piece = c->count ? find(c, own) : NULL;
    if (piece && own < piece->until)
        return clock_piece_at(piece, own);
    struct clock_reading by_knots = clock_relation_at(&c->relation, own);
    struct clock_reading by_piece = piece ? clock_piece_at(piece, own) : by_knots;
    return by_knots.bound <= by_piece.bound ? by_knots : by_piece;
}

/*
 * Behind the last piece the line of the knots counts where its bound is the smaller one. From `own` on it stays so for
 * as long as it takes the bound to catch up with that of the piece, which grows too.
 */
static struct clock_stretch behind_pieces(const struct clock_piece *last, struct clock_stretch s, int64_t own)
{
    int64_t ahead = clock_piece_at(last, own).bound - clock_stretch_at(&s, own).bound - 4; /* for all roundings */
    double catches_up = fmax(s.early, s.late) - clock_piece_growth(last);
    if (ahead <= 0)
        return (struct clock_stretch){0};
    s.from = own;
    if (catches_up > 0) {
        int64_t until = saturate_add(own, (int64_t)fmin((double)ahead / catches_up, 1e18));
        s.until = until < s.until ? until : s.until;
    }
    return s;
}

/* The stretch around `own` in which read_clock() reads a single line; an empty one if that is not easily found. */
static struct clock_stretch find_stretch(const struct run_clock *c, int64_t own)
{
    const struct clock_piece *piece = c->count ? find(c, own) : NULL;
    if (piece && own < piece->until)
        return clock_piece_stretch(piece);
    struct clock_stretch s = clock_relation_stretch(&c->relation, own);
    if (!piece || s.until <= s.from)
        return s;
    bool is_last = piece == c->pieces + c->count - 1; /* if not, memory was short for the next one */
    return is_last ? behind_pieces(piece, s, own) : (struct clock_stretch){0};
}

static struct clock_reading make_run_time(const struct run_clock *c, struct clock_reading r)
{
    if (__builtin_add_overflow(r.ns, c->ahead, &r.ns))
        r = (struct clock_reading){.ns = c->ahead > 0 ? INT64_MAX : INT64_MIN, .bound = INT64_MAX};
    return r;
}

struct clock_reading run_clock_at(const struct run_clock *c, int64_t own)
{
    struct clock_reading r = {.ns = own, .bound = c->kind == RUN_CLOCK_SAME ? 0 : INT64_MAX};
    return make_run_time(c, c->kind == RUN_CLOCK_EXCHANGES ? read_clock(c, own) : r);
}

static bool is_in(const struct clock_stretch *s, int64_t own)
{
    return own >= s->from && own < s->until;
}

struct clock_reading run_clock_at_near(const struct run_clock *c, struct clock_stretch *near, int64_t own)
{
    if (c->kind == RUN_CLOCK_EXCHANGES && !is_in(near, own))
        *near = find_stretch(c, own);
    if (c->kind != RUN_CLOCK_EXCHANGES || !is_in(near, own))
        return run_clock_at(c, own);
    return make_run_time(c, clock_stretch_at(near, own));
}

/* ---- The whole run ----------------------------------------------------------------------------------------------- */

/* What the run's time is ahead by: the range of it, and the widest bound of its readings; INT64_MAX: unknown. */
struct range {
    int64_t least, most, bound;
    bool is;
};

/* Includes what the run's clock shows at `own`. */
static void include(struct range *range, const struct run_clock *c, int64_t own, struct clock_reading r)
{
    int64_t ahead = 0;
    if (__builtin_sub_overflow(r.ns, own, &ahead) || __builtin_add_overflow(ahead, c->ahead, &ahead))
        r.bound = INT64_MAX;
    range->least = range->is && range->least < ahead ? range->least : ahead;
    range->most = range->is && range->most > ahead ? range->most : ahead;
    range->bound = range->is && range->bound > r.bound ? range->bound : r.bound;
    range->is = true;
}

static void include_knots(struct range *range, const struct run_clock *c, int64_t own)
{
    include(range, c, own, clock_relation_at(&c->relation, own));
}

static void include_piece(struct range *range, const struct run_clock *c, const struct clock_piece *piece, int64_t own)
{
    include(range, c, own, clock_piece_at(piece, own));
}

/* At a jump: the last piece goes across it. What the run's time is ahead by there and before it, in the middle. */
static void note_jump(struct run_clock *c)
{
    struct range range = {0};
    const struct clock_piece *across = &c->pieces[c->count - 1];
    for (const struct clock_piece *p = c->pieces; p < across; p++) {
        include_piece(&range, c, p, p->from);
        include_piece(&range, c, p, p->until);
    }
    include_piece(&range, c, across, across->from);
    c->jumped = true;
    c->offset_before = range.least + (range.most - range.least) / 2;
}

void run_clock_add(struct run_clock *c, const struct clock_exchange *x, int64_t ahead)
{
    struct clock_piece piece;
    if (c->kind == RUN_CLOCK_SAME)
        return;
    enum clock_news news = clock_relation_add(&c->relation, x);
    while (clock_relation_next(&c->relation, &piece))
        push(c, &piece);
    if (news == CLOCK_NONSENSE)
        return;
    int64_t round_trip = (x->received - x->sent) - (x->answered - x->arrived);
    c->kind = RUN_CLOCK_EXCHANGES;
    c->ahead = ahead;
    if (news == CLOCK_JUMPED && !c->jumped && c->count)
        note_jump(c);
    c->round_trip = c->exchanges++ == 0 || round_trip < c->round_trip ? round_trip : c->round_trip;
}

/*
 * From `beside` ns before the first exchange to as long behind the last. Both the readings of a piece and, outside of
 * all pieces, their bounds are extreme at the ends.
 */
static struct range range_of(const struct run_clock *c, int64_t beside)
{
    struct range range = {0};
    const struct clock_relation *r = &c->relation;
    for (const struct clock_piece *p = c->pieces; p < c->pieces + c->count; p++) {
        include_piece(&range, c, p, p->from);
        include_piece(&range, c, p, p->until);
    }
    for (uint32_t i = r->next; i < r->held; i++)
        include_knots(&range, c, r->knots[i].at);
    if (c->count)
        include_piece(&range, c, &c->pieces[0], c->pieces[0].from - beside);
    else if (r->held)
        include_knots(&range, c, r->knots[0].at - beside);
    if (r->held)
        include_knots(&range, c,
                      (r->last_sent > r->knots[r->held - 1].at ? r->last_sent : r->knots[r->held - 1].at) + beside);
    else if (c->count)
        include_piece(&range, c, &c->pieces[c->count - 1], r->last_sent + beside);
    return range;
}

struct run_clock_line run_clock_line(const struct run_clock *c)
{
    struct run_clock_line line = {.offset = c->ahead, .bound = c->kind == RUN_CLOCK_SAME ? 0 : -1};
    struct range range = c->kind == RUN_CLOCK_EXCHANGES ? range_of(c, RUN_CLOCK_BESIDE) : (struct range){0};
    if (!range.is)
        return line;
    int64_t width = 0, above = 0, below = 0, bound = 0;
    bool unknown = range.bound == INT64_MAX || __builtin_sub_overflow(range.most, range.least, &width);
    line.offset = c->jumped ? c->offset_before : unknown ? range.least : range.least + width / 2;
    unknown = unknown || __builtin_sub_overflow(range.most, line.offset, &above) ||
              __builtin_sub_overflow(line.offset, range.least, &below) ||
              __builtin_add_overflow(range.bound, (above > below ? above : below) + 1, &bound);
    line.bound = unknown ? -1 : bound;
    return line;
}

int64_t run_clock_worst(const struct run_clock *c)
{
    struct range range = c->kind == RUN_CLOCK_EXCHANGES ? range_of(c, 0) : (struct range){0};
    return c->kind == RUN_CLOCK_SAME ? 0 : range.is && range.bound < INT64_MAX ? range.bound : -1;
}

double run_clock_drift(const struct run_clock *c)
{
    const struct clock_relation *r = &c->relation;
    if (c->kind != RUN_CLOCK_EXCHANGES || r->held == 0)
        return c->kind == RUN_CLOCK_SAME ? 0 : NAN;
    int64_t from = c->count ? c->pieces[0].from : r->knots[0].at, until = r->knots[r->held - 1].at;
    if (until - from < RUN_CLOCK_BESIDE)
        return NAN;
    struct clock_reading a = run_clock_at(c, from), b = run_clock_at(c, until);
    if (a.bound == INT64_MAX || b.bound == INT64_MAX ||
        (double)(a.bound + b.bound) > DRIFT_ERROR_MAX * (double)(until - from))
        return NAN;
    return (double)(until - from) / (double)(b.ns - a.ns) - 1;
}
