// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * How a pair is taken in. The rate is measured over a base line that grows until it is exact enough, and starts again
 * where the last interval contradicts it. From the pair on, the function runs beside that rate so that it meets where
 * the clock will be at the end of the next interval, then at that rate. A pair moves the function only as far as it
 * proves it wrong: inside of its uncertainty it proves nothing.
 */
#include "sensor/timebase_own.h"

enum {
    POOR_MAX = 7,       /* pairs in a row that may be passed over as poor */
    JUMP_NS = 1000,     /* a counter is read out of order by less */
    SURPRISE_NS = 1000, /* beyond its bound: pairs come sooner */
    STEADY_NS = 250,    /* up to here they come later */
    SOON_NS = 2000000,  /* how soon, at most */
    ROUNDING_NS = 2,
};

static const double bend_max = 0.25; /* the function's slope against the rate, at most this much more or less */
static const double horizon_max = 1125899906842624; /* 2^50 ns */
static const double stated_error = 0.125;           /* of a rate that somebody states */
static const double usable_error = 1.0 / 64;        /* a rate this exact may replace one that is in doubt */
static const double good_error = 1e-7;              /* a base line this exact is long enough */
static const double aging = 1e-7;                   /* by how much a rate is less exact a second later */
static const double implausible = 1.0 / 64;         /* no clock changes its rate by more, it jumps */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* The longest that a tick may be, ns. */
static double tick_most(const struct timebase *tb)
{
    return tb->rate * (1 + tb->rate_error);
}

/* ---- Pieces ------------------------------------------------------------------------------------------------------ */

/* The largest shift with which a factor for `rate`, bent or not, fits 62 bits. */
static uint32_t shift_for(double rate)
{
    uint32_t shift = 63;
    while (rate * (1 + bend_max) * (double)(UINT64_C(1) << shift) >= 4e18)
        shift--;
    return shift;
}

/*
 * A piece from (ticks, ns) on, which makes up for `off` ns within `horizon` ns, or as soon as that can be. Both slopes
 * are above zero.
 */
static void piece_push(struct timebase *tb, uint64_t ticks, int64_t ns, double off, double horizon)
{
    if (horizon < magnitude(off) / bend_max)
        horizon = magnitude(off) / bend_max;
    if (horizon > horizon_max)
        horizon = horizon_max;
    double bend = (double)(uint64_t)(horizon / tb->rate) + 1, beside = off / (bend * tb->rate);
    beside = beside > bend_max ? bend_max : beside < -bend_max ? -bend_max : beside;
    if (tb->held)
        tb->newest = (tb->newest + 1) % TIMEBASE_PIECES;
    tb->held += tb->held < TIMEBASE_PIECES;
    struct timebase_piece *p = &tb->pieces[tb->newest];
    uint32_t shift = shift_for(tb->rate);
    double unit = (double)(UINT64_C(1) << shift);
    *p = (struct timebase_piece){.ticks = ticks, .ns = ns, .bend = (uint64_t)bend, .shift = shift};
    p->rate = (uint64_t)(tb->rate * unit);
    p->slew = (uint64_t)(tb->rate * (1 + beside) * unit);
    p->bend_ns = ns + (int64_t)timebase_scale(p->bend, p->slew, shift);
    p->error_ns = whole((double)tb->last_error_ns + tick_most(tb) / 2 + ROUNDING_NS);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* How far a pair may be off: its tick has a length, of `tick` ns at most. */
static double pair_error(const struct pair *pair, double tick)
{
    return (double)pair->uncertainty + tick / 2 + ROUNDING_NS;
}

/* How far the function is from the line between the last pair and `pair` at `ticks`, which lie between them. */
static double stray(const struct timebase *tb, uint64_t ticks, double chord)
{
    double line = (double)(int64_t)(ticks - tb->last.ticks) * chord;
    return magnitude((double)(timebase_ns(tb, ticks) - tb->last.ns) - line);
}

/* The largest stray between the last pair and `pair`: at one of the ends, or where the function bends. */
static double stray_most(const struct timebase *tb, const struct pair *pair, double chord)
{
    uint64_t length = pair->ticks - tb->last.ticks;
    double most = larger(stray(tb, tb->last.ticks, chord), stray(tb, pair->ticks, chord));
    for (uint32_t back = 0; back < 2 && back < tb->held; back++) {
        const struct timebase_piece *p = piece_back(tb, back);
        const uint64_t knots[] = {p->ticks, p->ticks + p->bend};
        for (int i = 0; i < 2; i++)
            if (knots[i] - tb->last.ticks < length)
                most = larger(most, stray(tb, knots[i], chord));
    }
    return most;
}

/*
 * By how much the rate may have changed, relatively, in one of two intervals in a row: what their chords differ by, and
 * what they are wrong by. A change within one of them shows in full in the other's chord.
 */
static double change(const struct timebase *tb, double chord, double chord_error)
{
    return magnitude(chord / tb->chord - 1) + chord_error + tb->chord_error;
}

/* How far the clock may have strayed from its chord in `ns`: all that is promised to change, by a quarter. */
static double drift(double ns, double changed)
{
    double most = slew_max / 4;
    return ns * (changed < most ? changed : most);
}

static void raise(int64_t *bound, int64_t to)
{
    *bound = *bound > to ? *bound : to;
}

/*
 * What lies between the last pair and `pair` gets its bound. The first interval has none before it to show whether the
 * rate changed in it: the one behind it does, so that its final bound comes an interval later.
 */
static void close_interval(struct timebase *tb, const struct pair *pair, double chord, double chord_error)
{
    struct timebase_piece *p = &tb->pieces[tb->newest];
    struct timebase_piece *before = &tb->pieces[(tb->newest + TIMEBASE_PIECES - 1) % TIMEBASE_PIECES];
    double ns = (double)(pair->ns - tb->last.ns), tick = tick_most(tb);
    double known = stray_most(tb, pair, chord) + larger(pair_error(&tb->last, tick), pair_error(pair, tick)) +
                   tick / 2 + ROUNDING_NS;
    if (!(tb->chord > 0)) {
        p->error_ns = whole(known + drift(ns, unknown_error));
        tb->opening_error = known;
        tb->opening_length = ns;
        return;
    }
    double changed = change(tb, chord, chord_error);
    if (tb->opening_length > 0) {
        before->error_ns = whole(tb->opening_error + drift(tb->opening_length, changed));
        raise(&tb->worst_ns, before->error_ns);
        tb->opening_length = 0;
    }
    p->error_ns = whole(known + drift(ns, changed));
    raise(&tb->worst_ns, p->error_ns);
    if (tb->held > 1 && p->ticks != tb->last.ticks) /* the piece before reached into this interval */
        raise(&before->error_ns, p->error_ns);
}

/* ---- The rate ---------------------------------------------------------------------------------------------------- */

/* The rate from pair `a` to pair `b`, and its relative error; a tick is no longer than `tick` ns, 0: unknown. */
static double rate_between(const struct pair *a, const struct pair *b, double tick, double *error)
{
    double ns = (double)(b->ns - a->ns), ticks = (double)(int64_t)(b->ticks - a->ticks);
    if (!(tick > 0))
        tick = 2 * ns / ticks;
    double share = (pair_error(a, tick) + pair_error(b, tick)) / ns;
    *error = share < 0.5 ? share / (1 - share) : 1;
    return ns / ticks;
}

/* Measures the rate with a pair whose chord from the last pair is given. Returns whether there is a rate now. */
static bool measure(struct timebase *tb, const struct pair *pair, double chord, double chord_error)
{
    if (!(tb->rate > 0)) {
        if (chord_error > usable_error || chord < rate_min || chord > rate_max)
            return false;
        tb->rate = chord;
        tb->rate_error = chord_error;
        return true;
    }
    tb->rate_error += aging * 1e-9 * (double)(pair->ns - tb->last.ns);
    if (tb->rate_error > unknown_error)
        tb->rate_error = unknown_error;
    if (chord_error <= usable_error && magnitude(chord / tb->rate - 1) > chord_error + tb->rate_error)
        tb->base = tb->last;
    double error, rate = rate_between(&tb->base, pair, tick_most(tb), &error);
    bool changed = magnitude(rate / tb->rate - 1) > error + tb->rate_error;
    if ((changed || error <= tb->rate_error) && error <= usable_error && rate >= rate_min && rate <= rate_max) {
        tb->rate = rate;
        tb->rate_error = error;
    }
    if (error <= good_error)
        tb->base = *pair;
    return true;
}

/* ---- Pairs ------------------------------------------------------------------------------------------------------- */

void timebase_init(struct timebase *tb, double ticks_per_s)
{
    *tb = (struct timebase){.worst_ns = -1, .interval_ns = TIMEBASE_FIRST_NS, .rate_error = unknown_error};
    double rate = ticks_per_s > 0 ? 1e9 / ticks_per_s : 0;
    if (rate >= rate_min && rate <= rate_max) {
        tb->rate = rate;
        tb->rate_error = stated_error;
    }
}

/* The first pair, of all or behind a jump: the function starts here where the rate is known. */
static void begin(struct timebase *tb, const struct pair *pair)
{
    if (tb->opening_length > 0) /* no interval has come behind it */
        raise(&tb->worst_ns, tb->pieces[tb->newest].error_ns);
    tb->opening_length = 0;
    tb->base = tb->last = *pair;
    tb->pairs = 1;
    tb->ignored = 0;
    tb->newest = tb->held = 0;
    tb->chord = 0;
    tb->sealed = pair->ticks;
    tb->usual_ns = pair->uncertainty;
    tb->due_ns = pair->ns + tb->interval_ns;
    tb->last_error_ns = whole(pair_error(pair, tick_most(tb)));
    if (tb->rate > 0)
        piece_push(tb, pair->ticks, pair->ns, 0, (double)tb->interval_ns);
}

static enum timebase_news jump(struct timebase *tb, const struct pair *pair)
{
    bool again = tb->pairs < 3;
    tb->jumps++;
    tb->interval_ns = !again                                      ? TIMEBASE_FIRST_NS
                      : tb->interval_ns < TIMEBASE_LONGEST_NS / 2 ? tb->interval_ns * 2
                                                                  : TIMEBASE_LONGEST_NS;
    tb->rate_error = unknown_error;
    begin(tb, pair);
    return TIMEBASE_JUMPED;
}

/* Whether the clock went from the last pair to `pair` as its rate allows. */
static bool is_plausible(const struct timebase *tb, const struct pair *pair)
{
    double ns = (double)(pair->ns - tb->last.ns), ticks = (double)(int64_t)(pair->ticks - tb->last.ticks);
    double expected = ticks * tb->rate;
    if (ticks < 0)
        return false;
    if (!(tb->rate > 0))
        return true;
    if (tb->held && magnitude((double)(pair->ns - timebase_ns(tb, pair->ticks))) > horizon_max * bend_max)
        return false; /* further off than could be made up for */
    double allowed = (tb->rate_error + implausible) * larger(ns, expected) + pair_error(&tb->last, tick_most(tb)) +
                     pair_error(pair, tick_most(tb)) + JUMP_NS;
    return magnitude(ns - expected) <= allowed;
}

/* Much less exact than usual: it was interrupted. Not for ever: they may all be so from now on. */
static bool is_poor(const struct timebase *tb, const struct pair *pair)
{
    return pair->uncertainty / 4 > tb->usual_ns + 10 && tb->ignored < POOR_MAX;
}

static enum timebase_news ignore(struct timebase *tb, const struct pair *pair)
{
    int64_t soon = tb->interval_ns / 4;
    tb->due_ns = pair->ns + (soon > SOON_NS ? soon : SOON_NS);
    return TIMEBASE_IGNORED;
}

/* Where the new piece can start: at the pair, or behind what the function was used for. */
static uint64_t bend_from(struct timebase *tb, const struct pair *pair)
{
    int64_t ahead = (int64_t)(tb->sealed - pair->ticks);
    if (ahead <= 0 || (double)ahead * tb->rate > 1e9)
        tb->sealed = pair->ticks;
    return tb->sealed;
}

static void space_pairs(struct timebase *tb, double surprise)
{
    if (surprise > SURPRISE_NS)
        tb->interval_ns = tb->interval_ns / 4 > SOON_NS ? tb->interval_ns / 4 : SOON_NS;
    else if (surprise <= STEADY_NS)
        tb->interval_ns *= 2;
    if (tb->interval_ns > TIMEBASE_LONGEST_NS)
        tb->interval_ns = TIMEBASE_LONGEST_NS;
}

/* Bends the function from `from` on, towards where the clock is. */
static void bend(struct timebase *tb, const struct pair *pair, uint64_t from)
{
    int64_t at = timebase_ns(tb, from);
    double ahead = (double)(from - pair->ticks) * tb->rate;
    double off = (double)(pair->ns - at) + ahead, proves = pair_error(pair, tick_most(tb));
    double expected = proves + (double)tb->last_error_ns + tb->rate_error * (double)(pair->ns - tb->last.ns);
    space_pairs(tb, magnitude(off) - expected);
    double wrong = off > proves ? off - proves : off < -proves ? off + proves : 0;
    double off_pair = (double)(pair->ns - timebase_ns(tb, pair->ticks));
    tb->last_error_ns = whole(larger(magnitude(off), magnitude(off_pair)) + proves);
    piece_push(tb, from, at, wrong, (double)tb->interval_ns);
}

static void take(struct timebase *tb, const struct pair *pair, double chord, double chord_error)
{
    if (!tb->held) /* the rate has become known just now: the function goes back to the first pair */
        piece_push(tb, tb->last.ticks, tb->last.ns, 0, (double)tb->interval_ns);
    close_interval(tb, pair, chord, chord_error);
    bend(tb, pair, bend_from(tb, pair));
    tb->chord = chord;
    tb->chord_error = chord_error;
    tb->last = *pair;
    tb->pairs += tb->pairs < UINT32_MAX;
    tb->ignored = 0;
    tb->usual_ns +=
        pair->uncertainty < tb->usual_ns ? pair->uncertainty - tb->usual_ns : (pair->uncertainty - tb->usual_ns) / 8;
    tb->due_ns = pair->ns + tb->interval_ns;
}

enum timebase_news timebase_add(struct timebase *tb, const struct pair *pair)
{
    if (!is_sane(pair))
        return TIMEBASE_IGNORED;
    if (tb->pairs == 0) {
        begin(tb, pair);
        return TIMEBASE_TOOK;
    }
    if (pair->ns <= tb->last.ns)
        return TIMEBASE_IGNORED;
    if (is_poor(tb, pair)) {
        tb->ignored++;
        return ignore(tb, pair);
    }
    if (!is_plausible(tb, pair))
        return jump(tb, pair);
    /* Nothing new: within the tick of the last pair, or of the piece that has just begun. */
    if (pair->ticks == tb->last.ticks || (tb->held && (int64_t)(pair->ticks - piece_back(tb, 0)->ticks) <= 0))
        return ignore(tb, pair);
    double chord_error, chord = rate_between(&tb->last, pair, tick_most(tb), &chord_error);
    if (!measure(tb, pair, chord, chord_error))
        return ignore(tb, pair);
    take(tb, pair, chord, chord_error);
    return TIMEBASE_TOOK;
}
