// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * How a pair is taken in: the rate is measured over a base line that grows until it is exact enough, and starts again
 * where the last interval contradicts it. From the pair on, the slope of the function differs from that rate such that
 * the function meets the clock at the end of the next interval; from there it equals the rate. A pair moves the
 * function only by the error that it proves: within the pair's uncertainty it proves none.
 *
 * Doubles serve for rates and differences, which are small; sums over a clock's life are integers.
 */

#include "base/timebase.h"

#include "base/hash.h"
#include "base/saturate.h"

#include <string.h>

enum {
    POOR_MAX = 7,       /* pairs in a row that may be passed over as poor */
    JUMP_NS = 1000,     /* a counter is read out of order by less */
    SURPRISE_NS = 1000, /* beyond its bound: pairs come sooner */
    STEADY_NS = 250,    /* up to here they come later */
    SOON_NS = 2000000,  /* the shortest interval of pairs that come sooner */
    ROUNDING_NS = 2,
};

static const double bend_max = 0.25; /* the function's slope against the rate, at most this much more or less */
static const double horizon_max = 1125899906842624; /* 2^50 ns */
static const double stated_error = 0.125;           /* of a nominal rate */
static const double usable_error = 1.0 / 64;        /* a rate this exact may replace an uncertain one */
static const double good_error = 1e-7;              /* a base line this exact is long enough */
static const double aging = 1e-7;                   /* by how much a rate is less exact a second later */
static const double implausible = 1.0 / 64;         /* no clock changes its rate by more, it jumps */

static const double slew_max = TIMEBASE_SLEW_PPM * 1e-6;
static const double rate_min = 1e-3, rate_max = 1e12;
static const double unknown_error = 1;          /* of a rate after a jump */
static const int64_t ns_max = INT64_C(1) << 62; /* so that differences fit */

static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

/* The piece `back` pieces before the newest. */
static const struct timebase_piece *piece_back(const struct timebase *tb, uint32_t back)
{
    return &tb->pieces[(tb->newest + TIMEBASE_PIECES - back) % TIMEBASE_PIECES];
}

/* timebase_scale(), at most INT64_MAX. */
static int64_t scale_held(uint64_t ticks, uint64_t factor, uint32_t shift)
{
    double about = (double)ticks * (double)factor / (double)(UINT64_C(1) << shift);
    return about < 9e18 ? (int64_t)timebase_scale(ticks, factor, shift) : INT64_MAX;
}

/* The time, by piece `p`, of ticks that are `after` its start. */
static int64_t piece_ns(const struct timebase_piece *p, uint64_t after)
{
    if (after < p->bend)
        return p->ns + (int64_t)timebase_scale(after, p->slew, p->shift);
    return saturate_add(p->bend_ns, scale_held(after - p->bend, p->rate, p->shift));
}

/* Whether calculations with it cannot overflow. */
static bool is_sane(const struct clock_pair *pair)
{
    return pair->ns >= 0 && pair->ns < ns_max && pair->uncertainty >= 0 && pair->uncertainty < ns_max;
}

/* ---- The function ------------------------------------------------------------------------------------------------ */

/* The piece for `ticks`: the newest that does not start behind them, or the oldest. */
static const struct timebase_piece *piece_at(const struct timebase *tb, uint64_t ticks)
{
    uint32_t back = 0;
    while (back + 1 < tb->held && (int64_t)(ticks - piece_back(tb, back)->ticks) < 0)
        back++;
    return piece_back(tb, back);
}

int64_t timebase_ns_anywhere(const struct timebase *tb, uint64_t ticks)
{
    if (!tb->held)
        return 0;
    const struct timebase_piece *p = piece_at(tb, ticks);
    uint64_t after = ticks - p->ticks;
    if ((int64_t)after >= 0)
        return piece_ns(p, after);
    int64_t before = scale_held(-after, p->rate, p->shift); /* the oldest one */
    return before < p->ns ? p->ns - before : 0;
}

/* The length of a line, in ticks, up to which nothing overflows. */
static uint64_t line_most(const struct timebase_line *line)
{
    double most = 4e18 / ((double)line->factor / (double)(UINT64_C(1) << line->shift));
    return line->ns > INT64_MAX / 2 ? 0 : most < 4e18 ? (uint64_t)most : (uint64_t)INT64_MAX / 2;
}

struct timebase_line timebase_line(const struct timebase *tb, uint64_t ticks)
{
    static const struct timebase_line identity = {.span = INT64_MAX, .factor = 2, .shift = 1};
    if (!tb)
        return identity;
    const struct timebase_piece *p = piece_at(tb, ticks);
    uint64_t after = ticks - p->ticks, end = UINT64_MAX; /* of the piece, behind its start */
    if (!tb->held || (int64_t)after < 0)
        return (struct timebase_line){0};
    if (p != piece_back(tb, 0))
        end = tb->pieces[(uint32_t)(p - tb->pieces + 1) % TIMEBASE_PIECES].ticks - p->ticks;
    bool bent = after < p->bend;
    struct timebase_line line = {.ticks = bent ? p->ticks : p->ticks + p->bend,
                                 .ns = bent ? p->ns : p->bend_ns,
                                 .factor = bent ? p->slew : p->rate,
                                 .shift = p->shift};
    uint64_t most = line_most(&line), span = bent ? (p->bend < end ? p->bend : end) : end - p->bend;
    line.span = span < most ? span : most;
    return line;
}

uint64_t timebase_tick_ns(const struct timebase *tb)
{
    return tb->held && tb->rate < 2147483648.0 ? (uint64_t)(tb->rate * 4294967296.0) : 0;
}

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
 * Adds a piece from (ticks, ns) on, which corrects `off` ns within `horizon` ns, or as soon as possible. Both of its
 * slopes are above zero.
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
    p->error_ns = saturate_up((double)tb->last_error_ns + tick_most(tb) / 2 + ROUNDING_NS);
}

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

/* The bound of a pair's error, in ns; its tick is at most `tick` ns long. */
static double pair_error(const struct clock_pair *pair, double tick)
{
    return (double)pair->uncertainty + tick / 2 + ROUNDING_NS;
}

/* The distance of the function, at `ticks`, from the line of slope `chord` through the last pair. */
static double deviation(const struct timebase *tb, uint64_t ticks, double chord)
{
    double line = (double)(int64_t)(ticks - tb->last.ticks) * chord;
    return magnitude((double)(timebase_ns(tb, ticks) - tb->last.ns) - line);
}

/* The largest deviation between the last pair and `pair`: at one of the ends, or where the function bends. */
static double deviation_most(const struct timebase *tb, const struct clock_pair *pair, double chord)
{
    uint64_t length = pair->ticks - tb->last.ticks;
    double most = larger(deviation(tb, tb->last.ticks, chord), deviation(tb, pair->ticks, chord));
    for (uint32_t back = 0; back < 2 && back < tb->held; back++) {
        const struct timebase_piece *p = piece_back(tb, back);
        const uint64_t knots[] = {p->ticks, p->ticks + p->bend};
        for (int i = 0; i < 2; i++)
            if (knots[i] - tb->last.ticks < length)
                most = larger(most, deviation(tb, knots[i], chord));
    }
    return most;
}

/*
 * The bound of a relative change of the rate in one of two intervals in a row: the difference of their chords plus the
 * errors of both. A change within one interval shows in full against the other's chord.
 */
static double change(const struct timebase *tb, double chord, double chord_error)
{
    return magnitude(chord / tb->chord - 1) + chord_error + tb->chord_error;
}

/* The bound of the clock's deviation from its chord in `ns`; a quarter of the largest slew allowed caps the change. */
static double drift(double ns, double changed)
{
    double most = slew_max / 4;
    return ns * (changed < most ? changed : most);
}

static void raise_to(int64_t *bound, int64_t to)
{
    *bound = *bound > to ? *bound : to;
}

/*
 * Sets the bound of the interval between the last pair and `pair`. The first interval has none before it to show
 * whether the rate changed in it; the second one shows it, so the final bound of the first comes an interval later.
 */
static void close_interval(struct timebase *tb, const struct clock_pair *pair, double chord, double chord_error)
{
    struct timebase_piece *p = &tb->pieces[tb->newest];
    struct timebase_piece *before = &tb->pieces[(tb->newest + TIMEBASE_PIECES - 1) % TIMEBASE_PIECES];
    double ns = (double)(pair->ns - tb->last.ns), tick = tick_most(tb);
    double known = deviation_most(tb, pair, chord) + larger(pair_error(&tb->last, tick), pair_error(pair, tick)) +
                   tick / 2 + ROUNDING_NS;
    if (!(tb->chord > 0)) {
        p->error_ns = saturate_up(known + drift(ns, unknown_error));
        tb->opening_error = known;
        tb->opening_length = ns;
        return;
    }
    double changed = change(tb, chord, chord_error);
    if (tb->opening_length > 0) {
        before->error_ns = saturate_up(tb->opening_error + drift(tb->opening_length, changed));
        raise_to(&tb->worst_ns, before->error_ns);
        tb->opening_length = 0;
    }
    p->error_ns = saturate_up(known + drift(ns, changed));
    raise_to(&tb->worst_ns, p->error_ns);
    if (tb->held > 1 && p->ticks != tb->last.ticks) /* the piece before reached into this interval */
        raise_to(&before->error_ns, p->error_ns);
}

/* ---- The rate ---------------------------------------------------------------------------------------------------- */

/* The rate from pair `a` to pair `b`, and its relative error; a tick is no longer than `tick` ns, 0: unknown. */
static double rate_between(const struct clock_pair *a, const struct clock_pair *b, double tick, double *error)
{
    double ns = (double)(b->ns - a->ns), ticks = (double)(int64_t)(b->ticks - a->ticks);
    if (!(tick > 0))
        tick = 2 * ns / ticks;
    double share = (pair_error(a, tick) + pair_error(b, tick)) / ns;
    *error = share < 0.5 ? share / (1 - share) : 1;
    return ns / ticks;
}

/* Measures the rate with a pair whose chord from the last pair is given. Returns whether there is a rate now. */
static bool measure(struct timebase *tb, const struct clock_pair *pair, double chord, double chord_error)
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

/* Takes the first pair ever, or after a jump: the function starts here if the rate is known. */
static void begin(struct timebase *tb, const struct clock_pair *pair)
{
    if (tb->opening_length > 0) /* no second interval made its bound final */
        raise_to(&tb->worst_ns, tb->pieces[tb->newest].error_ns);
    tb->opening_length = 0;
    tb->base = tb->last = *pair;
    tb->pairs = 1;
    tb->ignored = 0;
    tb->newest = tb->held = 0;
    tb->chord = 0;
    tb->sealed = pair->ticks;
    tb->usual_ns = pair->uncertainty;
    tb->due_ns = pair->ns + tb->interval_ns;
    tb->last_error_ns = saturate_up(pair_error(pair, tick_most(tb)));
    if (tb->rate > 0)
        piece_push(tb, pair->ticks, pair->ns, 0, (double)tb->interval_ns);
}

static enum timebase_news jump(struct timebase *tb, const struct clock_pair *pair)
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
static bool is_plausible(const struct timebase *tb, const struct clock_pair *pair)
{
    double ns = (double)(pair->ns - tb->last.ns), ticks = (double)(int64_t)(pair->ticks - tb->last.ticks);
    double expected = ticks * tb->rate;
    if (ticks < 0)
        return false;
    if (!(tb->rate > 0))
        return true;
    if (tb->held && magnitude((double)(pair->ns - timebase_ns(tb, pair->ticks))) > horizon_max * bend_max)
        return false; /* too far off to be slewed away */
    double allowed = (tb->rate_error + implausible) * larger(ns, expected) + pair_error(&tb->last, tick_most(tb)) +
                     pair_error(pair, tick_most(tb)) + JUMP_NS;
    return magnitude(ns - expected) <= allowed;
}

/*
 * Whether the pair is much less exact than usual, since its reading was interrupted. After POOR_MAX of them such pairs
 * are usual.
 */
static bool is_poor(const struct timebase *tb, const struct clock_pair *pair)
{
    return pair->uncertainty / 4 > tb->usual_ns + 10 && tb->ignored < POOR_MAX;
}

static enum timebase_news ignore(struct timebase *tb, const struct clock_pair *pair)
{
    int64_t soon = tb->interval_ns / 4;
    tb->due_ns = pair->ns + (soon > SOON_NS ? soon : SOON_NS);
    return TIMEBASE_IGNORED;
}

/* The start of the new piece: at the pair, or behind the ticks that were converted already. */
static uint64_t bend_from(struct timebase *tb, const struct clock_pair *pair)
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
static void bend(struct timebase *tb, const struct clock_pair *pair, uint64_t from)
{
    int64_t at = timebase_ns(tb, from);
    double ahead = (double)(from - pair->ticks) * tb->rate;
    double off = (double)(pair->ns - at) + ahead, proves = pair_error(pair, tick_most(tb));
    double expected = proves + (double)tb->last_error_ns + tb->rate_error * (double)(pair->ns - tb->last.ns);
    space_pairs(tb, magnitude(off) - expected);
    double wrong = off > proves ? off - proves : off < -proves ? off + proves : 0;
    double off_pair = (double)(pair->ns - timebase_ns(tb, pair->ticks));
    tb->last_error_ns = saturate_up(larger(magnitude(off), magnitude(off_pair)) + proves);
    piece_push(tb, from, at, wrong, (double)tb->interval_ns);
}

static void take(struct timebase *tb, const struct clock_pair *pair, double chord, double chord_error)
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

enum timebase_news timebase_add(struct timebase *tb, const struct clock_pair *pair)
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

/* ---- A copy in shared memory ------------------------------------------------------------------------------------- */

static uint64_t copy_check(const struct timebase_copy *copy)
{
    const uint8_t *from = (const uint8_t *)&copy->turn;
    return hash_fnv64(HASH_FNV64_START, from, sizeof *copy - offsetof(struct timebase_copy, turn));
}

static bool is_complete(const struct timebase_copy *copy)
{
    return copy->turn && copy->check == copy_check(copy);
}

/* The place of the newer complete copy; negative: there is none. */
static int newest_copy(const struct timebase_store *store)
{
    bool first = is_complete(&store->copies[0]), second = is_complete(&store->copies[1]);
    if (first && second)
        return store->copies[1].turn > store->copies[0].turn;
    return second ? 1 : first ? 0 : -1;
}

void timebase_save(struct timebase_store *store, const uint8_t boot[16], const struct timebase *tb)
{
    int newest = newest_copy(store);
    struct timebase_copy *copy = &store->copies[newest == 0];
    copy->turn = newest < 0 ? 1 : store->copies[newest].turn + 1;
    memcpy(copy->boot, boot, sizeof copy->boot);
    copy->timebase = *tb;
    copy->check = copy_check(copy);
}

static bool is_piece(const struct timebase_piece *p)
{
    const uint64_t factor_max = UINT64_C(1) << 62;
    if (p->shift < 1 || p->shift > 63 || p->ns < 0 || p->ns >= ns_max || p->error_ns < 0)
        return false;
    if (p->slew < 1 || p->slew >= factor_max || p->rate < 1 || p->rate >= factor_max || p->bend >= factor_max)
        return false;
    int64_t bent = scale_held(p->bend, p->slew, p->shift);
    return bent < ns_max && p->bend_ns == p->ns + bent;
}

/* Whether the pieces are one continuous function. */
static bool is_function(const struct timebase *tb)
{
    for (uint32_t back = 0; back < tb->held; back++)
        if (!is_piece(piece_back(tb, back)))
            return false;
    for (uint32_t back = 0; back + 1 < tb->held; back++) {
        const struct timebase_piece *p = piece_back(tb, back), *before = piece_back(tb, back + 1);
        if ((int64_t)(p->ticks - before->ticks) <= 0 || piece_ns(before, p->ticks - before->ticks) != p->ns)
            return false;
    }
    return true;
}

/* A comparison with a NaN is false. */
static bool is_state(const struct timebase *tb)
{
    return tb->newest < TIMEBASE_PIECES && tb->held >= 1 && tb->held <= TIMEBASE_PIECES && tb->pairs >= 1 &&
           tb->rate >= rate_min && tb->rate <= rate_max && tb->rate_error >= 0 && tb->rate_error <= unknown_error &&
           tb->chord >= 0 && tb->chord <= 2 * rate_max && tb->chord_error >= 0 && tb->chord_error <= 1e18 &&
           is_sane(&tb->base) && is_sane(&tb->last) && tb->base.ns <= tb->last.ns && tb->last_error_ns >= 0 &&
           tb->opening_error >= 0 && tb->opening_error <= 1e18 && tb->opening_length >= 0 &&
           tb->opening_length <= 1e18 && tb->usual_ns >= 0 && tb->usual_ns < ns_max &&
           tb->interval_ns >= TIMEBASE_FIRST_NS && tb->interval_ns <= TIMEBASE_LONGEST_NS && tb->worst_ns >= -1;
}

bool timebase_load(const struct timebase_store *store, const uint8_t boot[16], struct timebase *tb)
{
    int newest = newest_copy(store);
    if (newest < 0 || memcmp(store->copies[newest].boot, boot, 16) != 0)
        return false;
    const struct timebase *saved = &store->copies[newest].timebase;
    if (!is_state(saved) || !is_function(saved))
        return false;
    *tb = *saved;
    tb->due_ns = 0;
    return true;
}
