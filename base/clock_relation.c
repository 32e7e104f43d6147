// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A knot is the box of an exchange: at its middle the offset lies within `half`. The piece between two knots is the
 * straight line through the middles of their boxes. Where the rate is constant in between, the line is no more wrong
 * than the wider box. Where it changes once, by `change`, the offset leaves the straight line between its own ends by
 * up to change * length / 4. How much the rate may have changed, the knots before and behind the piece show.
 *
 * Doubles serve for rates and differences; times are integers.
 */

#include "base/clock_relation.h"

#include "base/saturate.h"
#include <string.h>

enum {
    POOR_MAX = 4,    /* poor exchanges in a row, until the best of them is a knot */
    USUAL_NS = 1000, /* a round trip longer by less is as usual */
    ROUNDING_NS = 2,
    BEGINNING = 8, /* knots that come quickly */
};

static const int64_t ns_max = INT64_C(1) << 61; /* so that differences of differences fit */
static const int64_t window_max = INT64_C(60000000000);
static const double rate_most = CLOCK_RATE_PPM * 1e-6, slew_most = CLOCK_SLEW_PPM * 1e-6;
static const double aging = 1e-7; /* by how much a rate may wander in a second */

static const int64_t wait_beginning = 50000000, wait_again = 100000000;
static const int64_t wait_least = 1000000000, wait_most = INT64_C(16000000000);
enum { WAIT_HALVES = 100 }; /* half round trips: in that time the clocks can do little beside the round trip */

static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* ---- Exchanges --------------------------------------------------------------------------------------------------- */

static bool is_time(int64_t ns)
{
    return ns >= 0 && ns < ns_max;
}

/* Whether the times agree with each other, as far as one exchange can show. */
static bool makes_sense(const struct clock_relation *r, const struct clock_exchange *x)
{
    if (!is_time(x->sent) || !is_time(x->arrived) || !is_time(x->answered) || !is_time(x->received))
        return false;
    int64_t there = x->answered - x->arrived, all = x->received - x->sent;
    double drift = rate_most * (double)all + ROUNDING_NS;
    return x->sent > r->last_sent && all >= 0 && there >= 0 && (double)there <= (double)all + drift &&
           all - there <= CLOCK_ROUND_TRIP_NS && all <= 2 * CLOCK_ROUND_TRIP_NS;
}

/*
 * The box of an exchange. Seen when it was sent, the offset is at most arrived - sent; seen when the answer was
 * received, at least answered - received. At the middle each may have changed by what the rate allows in half the time.
 */
static struct clock_knot box(const struct clock_exchange *x)
{
    int64_t most = x->arrived - x->sent, least = x->answered - x->received, all = x->received - x->sent;
    double half = (double)(most - least) / 2 + rate_most * (double)all / 2 + ROUNDING_NS;
    return (struct clock_knot){
        .at = x->sent + all / 2, .offset = least + (most - least) / 2, .half = saturate_up(half)};
}

/*
 * The box of the wall clocks: peer + peer's ahead is own + own ahead but for both errors, and Linux slews
 * CLOCK_REALTIME and CLOCK_MONOTONIC together, so it holds for the whole exchange. False: nothing keeps one of them, or
 * they say too little.
 */
static bool box_of_walls(const struct clock_exchange *x, struct clock_knot *knot)
{
    const struct clock_wall *own = &x->own, *peer = &x->peer;
    if (own->error <= 0 || peer->error <= 0 || own->error > CLOCK_ROUND_TRIP_NS || peer->error > CLOCK_ROUND_TRIP_NS ||
        own->ahead <= -ns_max || own->ahead >= ns_max || peer->ahead <= -ns_max || peer->ahead >= ns_max)
        return false;
    knot->walls = own->ahead - peer->ahead;
    knot->walls_half = own->error + peer->error + ROUNDING_NS;
    return true;
}

/* Leaves of the knot's box what its wall clocks allow. False: nothing is left. */
static bool intersect(struct clock_knot *knot)
{
    int64_t off = knot->walls - knot->offset; /* within 2^62 of 2^61 */
    int64_t least = off - knot->walls_half, most = off + knot->walls_half;
    least = least > -knot->half ? least : -knot->half;
    most = most < knot->half ? most : knot->half;
    if (least > most)
        return false;
    knot->offset += least + (most - least) / 2;
    knot->half = (most - least + 1) / 2;
    return true;
}

/* Whether the clocks can have gone from box `a` to the later box `b`. */
static bool is_possible(const struct clock_knot *a, const struct clock_knot *b)
{
    double allowed = rate_most * (double)(b->at - a->at) + (double)a->half + (double)b->half;
    return magnitude((double)(b->offset - a->offset)) <= allowed;
}

/* Leaves of box `a` what box `b` allows: the offset cannot have gone further in between than the rate allows. */
static void narrow(struct clock_knot *a, const struct clock_knot *b)
{
    double apart = magnitude((double)(b->at - a->at)) * rate_most, off = (double)(b->offset - a->offset);
    double least = larger(-(double)a->half, off - (double)b->half - apart);
    double most = smaller((double)a->half, off + (double)b->half + apart);
    if (least > most || most - least > 2 * (double)a->half - 2 * ROUNDING_NS)
        return;
    a->offset += (int64_t)((least + most) / 2);
    a->half = saturate_up((most - least) / 2 + ROUNDING_NS);
}

/* ---- Rates ------------------------------------------------------------------------------------------------------- */

/* A rate of the offset, and how far from it the true one may be; relative. */
struct rate {
    double slope, error;
};

static struct rate rate_between(const struct clock_knot *a, const struct clock_knot *b)
{
    double ns = (double)(b->at - a->at);
    return (struct rate){.slope = (double)(b->offset - a->offset) / ns,
                         .error = (double)(a->half + b->half) / ns + aging * ns * 1e-9};
}

/*
 * The rate at knot `i` as the knots before it (`step` -1) or behind it (1) show, over the window that shows it best.
 * The longer a window, the smaller the share of the round trips; but if the rate changes within it, the shorter ones at
 * the knot differ from it, and this is added. False if there is no other knot.
 */
static bool rate_beside(const struct clock_relation *r, uint32_t i, int step, struct rate *best)
{
    uint32_t most = step < 0 ? i : r->held - 1 - i, n;
    double slowest = 0, fastest = 0;
    for (n = 0; n < most && n < CLOCK_WINDOW; n++) {
        const struct clock_knot *first = &r->knots[step < 0 ? i - n - 1 : i], *last = first + n + 1;
        if (n > 0 && last->at - first->at > window_max)
            break;
        struct rate rate = rate_between(first, last);
        slowest = n ? smaller(slowest, rate.slope) : rate.slope;
        fastest = n ? larger(fastest, rate.slope) : rate.slope;
        rate.error += larger(fastest - rate.slope, rate.slope - slowest);
        if (n == 0 || rate.error < best->error)
            *best = rate;
    }
    return n > 0;
}

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

/* Whether wall clocks cut the box of a knot that shows the rate in piece `i`. */
static bool is_cut(const struct clock_relation *r, uint32_t i)
{
    uint32_t from = i > CLOCK_WINDOW ? i - CLOCK_WINDOW : 0;
    for (uint32_t k = from; k < r->held && k <= i + 1 + CLOCK_WINDOW; k++)
        if (r->knots[k].walls_half)
            return true;
    return false;
}

/*
 * How far the offset may leave the straight line between its values at knots i and i + 1, ns. Where the rate goes from
 * `before` to `behind` once, or in one direction, that is |behind - before| * length / 4 at most. Where it changes
 * twice, at the first change the offset has left the line by |own - before| times the length before it, and at the
 * second one lacks |own - behind| times the length behind it; in between it is no further away. Where wall clocks cut
 * boxes, knots do not move as the clocks do: then only the promises count.
 */
static double departure(const struct clock_relation *r, uint32_t i)
{
    const struct clock_knot *from = &r->knots[i], *to = from + 1;
    double length = (double)(to->at - from->at), by_rate = rate_most * length / 2;
    if (to->at - from->at > CLOCK_STEADY_NS)
        return by_rate;
    struct rate own = rate_between(from, to), before, behind;
    bool has_before = rate_beside(r, i, -1, &before), has_behind = rate_beside(r, i + 1, 1, &behind);
    double by_slew = slew_most * length / 4, change = slew_most;
    if (is_cut(r, i))
        return smaller(by_slew, by_rate);
    if (has_before && has_behind)
        change = (magnitude(behind.slope - before.slope) + before.error + behind.error) / 4;
    else if (has_before || has_behind)
        change = own.error + (has_before ? before.error : behind.error);
    if (has_before)
        change = larger(change, magnitude(own.slope - before.slope) + before.error);
    if (has_behind)
        change = larger(change, magnitude(own.slope - behind.slope) + behind.error);
    return smaller(change * length, smaller(by_slew, by_rate));
}

/*
 * The bound of the line between two knots by the wall clocks, which are kept in between too: how far it is from where
 * the offset may be by the one or the other.
 */
static double by_walls(const struct clock_knot *from, const struct clock_knot *to)
{
    double ends[] = {0, (double)(to->offset - from->offset)}, worst = 0;
    const struct clock_knot *knots[] = {from, to};
    for (int i = 0; i < 4; i++) {
        double off = (double)(knots[i / 2]->walls - from->offset) - ends[i % 2];
        worst = larger(worst, magnitude(off) + (double)knots[i / 2]->walls_half);
    }
    return worst;
}

static struct clock_piece piece_from(const struct clock_relation *r, uint32_t i)
{
    const struct clock_knot *from = &r->knots[i], *to = from + 1;
    double bound = larger((double)from->half, (double)to->half) + departure(r, i);
    if (from->walls_half && to->walls_half)
        bound = smaller(bound, by_walls(from, to));
    return (struct clock_piece){.from = from->at,
                                .until = to->at,
                                .offset = from->offset,
                                .slope = rate_between(from, to).slope,
                                .bound = saturate_up(bound + ROUNDING_NS)};
}

/*
 * The piece across a jump, which was at one moment of it: before, the offset was that of its start, behind, of its end.
 * The jump may have been within the last exchange before it, or within the first one behind it: so it goes from the
 * knot before the former to the one behind the latter.
 */
static struct clock_piece piece_across(const struct clock_knot *from, const struct clock_knot *to)
{
    double length = (double)(to->at - from->at), half = larger((double)from->half, (double)to->half);
    double step = magnitude((double)(to->offset - from->offset));
    return (struct clock_piece){.from = from->at,
                                .until = to->at,
                                .offset = from->offset,
                                .slope = (double)(to->offset - from->offset) / length,
                                .bound = saturate_up(half + step + rate_most * length + ROUNDING_NS)};
}

/* ---- The relation ------------------------------------------------------------------------------------------------ */

void clock_relation_init(struct clock_relation *r)
{
    *r = (struct clock_relation){.last_sent = -1};
}

static void push(struct clock_relation *r, const struct clock_knot *knot, const struct clock_knot *alone)
{
    if (r->held == CLOCK_KNOTS) {
        memmove(r->knots, r->knots + 1, (CLOCK_KNOTS - 1) * sizeof r->knots[0]);
        memmove(r->alone, r->alone + 1, (CLOCK_KNOTS - 1) * sizeof r->alone[0]);
        r->held--;
        r->next -= r->next > 0;
        r->fixed -= r->fixed > 0;
    }
    uint32_t newest = r->held++;
    r->knots[newest] = *knot;
    r->alone[newest] = *alone;
    for (uint32_t i = 0; i < newest; i++) {
        narrow(&r->knots[newest], &r->knots[i]);
        narrow(&r->alone[newest], &r->alone[i]);
    }
    r->usual += r->usual == 0 || knot->half < r->usual ? knot->half - r->usual : (knot->half - r->usual) / 8;
    r->poor.half = r->poor_alone.half = r->suspect.half = 0;
    r->poor_count = 0;
}

/* The relation begins anew with the knot behind a jump. */
static void begin_anew(struct clock_relation *r)
{
    r->held = r->next = r->fixed = 0;
    r->closing = false;
    r->usual = 0;
    push(r, &r->fresh, &r->fresh);
    r->fixed = 1; /* where the piece across the jump ends */
    r->fresh.half = 0;
}

static enum clock_news take_contradiction(struct clock_relation *r, const struct clock_knot *knot)
{
    if (r->suspect.half == 0 || !is_possible(&r->suspect, knot)) {
        r->suspect = *knot;
        r->suspects++;
        return CLOCK_SUSPECT;
    }
    r->fresh = *knot;
    r->jumps++;
    r->closing = true;
    return CLOCK_JUMPED;
}

/*
 * The wall clocks are wrong: what they narrowed is again as the exchanges alone show it. The ends of closed pieces stay
 * where they are.
 */
static void forget_walls(struct clock_relation *r)
{
    r->contradicted++;
    r->distrust = CLOCK_WINDOW;
    for (uint32_t i = 0; i < r->held; i++) {
        const struct clock_knot *alone = &r->alone[i];
        int64_t off = r->knots[i].offset - alone->offset;
        if (i >= r->fixed)
            r->knots[i] = *alone;
        r->knots[i].half = i < r->fixed ? alone->half + (off < 0 ? -off : off) : alone->half;
        r->knots[i].walls_half = 0;
        r->usual = i == 0 || alone->half < r->usual ? alone->half : r->usual;
    }
    r->poor = r->poor_alone;
}

/* What an exchange, whose box is `alone`, and the wall clocks say together. */
static struct clock_knot with_walls(struct clock_relation *r, const struct clock_exchange *x,
                                    const struct clock_knot *alone)
{
    struct clock_knot both = *alone;
    if (!box_of_walls(x, &both))
        return *alone;
    if (!intersect(&both) || (r->held && !is_possible(&r->knots[r->held - 1], &both))) {
        forget_walls(r);
        return *alone;
    }
    if (r->distrust > 0) {
        r->distrust--;
        return *alone;
    }
    r->kept++;
    r->is_kept = true;
    return both;
}

/* Takes a knot, or keeps it for the case that none better comes. */
static enum clock_news take(struct clock_relation *r, struct clock_knot knot, struct clock_knot alone)
{
    for (uint32_t i = r->fixed; i < r->held; i++) {
        narrow(&r->knots[i], &knot);
        narrow(&r->alone[i], &alone);
    }
    if (r->held && knot.half > r->usual + r->usual / 2 + USUAL_NS) {
        if (r->poor.half == 0 || knot.half < r->poor.half) {
            r->poor = knot;
            r->poor_alone = alone;
        }
        if (++r->poor_count < POOR_MAX)
            return CLOCK_POOR;
        knot = r->poor;
        alone = r->poor_alone;
    }
    push(r, &knot, &alone);
    return CLOCK_TOOK;
}

enum clock_news clock_relation_add(struct clock_relation *r, const struct clock_exchange *x)
{
    struct clock_piece untaken;
    while (r->closing && clock_relation_next(r, &untaken))
        ;
    r->closing = false;
    r->is_kept = false;
    if (!makes_sense(r, x)) {
        r->nonsense++;
        return CLOCK_NONSENSE;
    }
    struct clock_knot alone = box(x);
    const struct clock_knot *newest = r->held ? &r->alone[r->held - 1] : NULL;
    r->last_sent = x->sent;
    if (newest && alone.at <= newest->at) {
        r->nonsense++;
        return CLOCK_NONSENSE;
    }
    if (newest && !is_possible(newest, &alone))
        return take_contradiction(r, &alone);
    r->suspect.half = 0;
    return take(r, with_walls(r, x, &alone), alone);
}

void clock_relation_finish(struct clock_relation *r)
{
    r->closing = true;
}

bool clock_relation_next(struct clock_relation *r, struct clock_piece *piece)
{
    bool jumped = r->closing && r->fresh.half;
    if (r->next + (jumped ? 2 : 1) < r->held && (r->closing || r->held - (r->next + 2) >= CLOCK_WINDOW)) {
        *piece = piece_from(r, r->next++);
        r->fixed = r->next + 1;
        return true;
    }
    if (jumped) {
        *piece = piece_across(&r->knots[r->next], &r->fresh);
        begin_anew(r);
        return true;
    }
    return false;
}

/* ---- Readings ---------------------------------------------------------------------------------------------------- */

static struct clock_reading reading(int64_t own, int64_t offset, double more, double bound)
{
    if (magnitude(more) > 4e18)
        return (struct clock_reading){own, INT64_MAX};
    return (struct clock_reading){own + offset + (int64_t)more, saturate_up(bound + ROUNDING_NS)};
}

double clock_piece_growth(const struct clock_piece *piece)
{
    return rate_most + magnitude(piece->slope);
}

struct clock_reading clock_piece_at(const struct clock_piece *piece, int64_t own)
{
    double beyond = own < piece->from    ? (double)(piece->from - own)
                    : own > piece->until ? (double)(own - piece->until)
                                         : 0;
    double bound = (double)piece->bound + beyond * clock_piece_growth(piece);
    return reading(own, piece->offset, piece->slope * (double)(own - piece->from), bound);
}

/* Outside of the knots the rate is that at their nearest, knot `i`. */
static struct clock_stretch beyond(const struct clock_relation *r, uint32_t i, int step)
{
    const struct clock_knot *knot = &r->knots[i];
    double wrong = rate_most;
    struct rate rate = {0, 0};
    if (rate_beside(r, i, step, &rate) && rate.error + slew_most < wrong)
        wrong = rate.error + slew_most;
    else
        rate.slope = 0;
    return (struct clock_stretch){.from = step < 0 ? knot->at : INT64_MIN,
                                  .until = step < 0 ? INT64_MAX : knot->at,
                                  .at = knot->at,
                                  .offset = knot->offset,
                                  .slope = rate.slope,
                                  .bound = (double)knot->half,
                                  .early = wrong,
                                  .late = rate_most + magnitude(rate.slope)}; /* any rate that is possible */
}

struct clock_stretch clock_piece_stretch(const struct clock_piece *piece)
{
    return (struct clock_stretch){.from = piece->from,
                                  .until = piece->until,
                                  .at = piece->from,
                                  .offset = piece->offset,
                                  .slope = piece->slope,
                                  .bound = (double)piece->bound};
}

struct clock_stretch clock_relation_stretch(const struct clock_relation *r, int64_t own)
{
    if (r->held == 0)
        return (struct clock_stretch){0};
    uint32_t newest = r->held - 1;
    if (own >= r->knots[newest].at)
        return beyond(r, newest, -1);
    if (own < r->knots[0].at)
        return beyond(r, 0, 1);
    uint32_t i = 0;
    while (own >= r->knots[i + 1].at)
        i++;
    struct clock_piece piece = piece_from(r, i);
    return clock_piece_stretch(&piece);
}

struct clock_reading clock_stretch_at(const struct clock_stretch *s, int64_t own)
{
    double after = (double)(own - s->at), age = magnitude(after), early = smaller(age, CLOCK_STEADY_NS);
    return reading(own, s->offset, s->slope * after, s->bound + early * s->early + (age - early) * s->late);
}

struct clock_reading clock_relation_at(const struct clock_relation *r, int64_t own)
{
    if (r->held == 0)
        return (struct clock_reading){own, INT64_MAX};
    struct clock_stretch stretch = clock_relation_stretch(r, own);
    return clock_stretch_at(&stretch, own);
}

int64_t clock_relation_wait(const struct clock_relation *r, enum clock_news news)
{
    if (r->held < BEGINNING && news != CLOCK_NONSENSE)
        return wait_beginning;
    if (news != CLOCK_TOOK)
        return wait_again;
    if (r->is_kept)
        return wait_least;
    int64_t wait = r->usual < wait_most / WAIT_HALVES ? r->usual * WAIT_HALVES : wait_most;
    return wait < wait_least ? wait_least : wait;
}
