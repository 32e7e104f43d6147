// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The relation of two clocks against the truth: drawn clocks and networks (tests/lib/virtual_hosts.h), exchanges as a
 * node makes them, and times that are read while they are made, and from the closed pieces.
 */
#include "base/clock_relation.h"
#include "base/clock.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"
#include "tests/lib/virtual_hosts.h"

#include <inttypes.h>
#include <string.h>

enum { READ_MAX = 1 << 16, PIECES_MAX = 1 << 13 };

static int rounds(int full)
{
    return getenv("BEZEL_TEST_LIGHT") ? full / 10 : full;
}

struct moment {
    int64_t own, truth;
};

static struct run {
    struct virtual_hosts hosts;
    struct clock_relation relation;
    struct moment moments[READ_MAX];
    struct clock_piece pieces[PIECES_MAX];
    size_t moment_count, piece_count;
    int64_t first, last; /* own times between which pieces must be */
    int64_t least_half;  /* of all exchanges */
} r;

static int64_t jump_at = INT64_MAX; /* true time at which a clock is stepped */

static void take_pieces(void)
{
    while (clock_relation_next(&r.relation, &r.pieces[r.piece_count])) {
        const struct clock_piece *p = &r.pieces[r.piece_count];
        assert_true(p->from < p->until);
        if (r.piece_count > 0) { /* without a gap, and without a step */
            assert_int_equal(p->from, p[-1].until);
            int64_t end = clock_piece_at(&p[-1], p->from).ns, start = clock_piece_at(p, p->from).ns;
            assert_true(llabs(end - start) <= 1 + llabs(p->offset - p[-1].offset) / (INT64_C(1) << 50));
        }
        assert_true(++r.piece_count < PIECES_MAX);
    }
}

static void expect_bound(struct clock_reading reading, int64_t truth, const char *what)
{
    int64_t error = llabs(reading.ns - truth);
    if (error > reading.bound)
        fail_msg("%s: %" PRId64 " ns wrong, stated %" PRId64 "; round trip %" PRId64
                 ", forth %g, jitter %g, tail %g, loss %g",
                 what, error, reading.bound, r.hosts.round_trip, r.hosts.forth, r.hosts.jitter, r.hosts.tail,
                 r.hosts.loss);
}

/* Reads the peer's time now, and keeps the moment for when its piece is closed. */
static void read_at(int64_t at)
{
    struct moment m = {virtual_clock_at(&r.hosts.own, at), virtual_clock_at(&r.hosts.peer, at)};
    if (at < jump_at || r.relation.jumps > 0)
        expect_bound(clock_relation_at(&r.relation, m.own), m.truth, "live");
    if (r.moment_count < READ_MAX)
        r.moments[r.moment_count++] = m;
}

static void note_exchange(const struct clock_exchange *x)
{
    int64_t half = (x->received - x->sent - (x->answered - x->arrived)) / 2;
    if (r.least_half == 0 || half < r.least_half)
        r.least_half = half;
}

/* ---- Wall clocks ------------------------------------------------------------------------------------------------- */

enum walls { NO_WALLS, TRUE_WALLS, WALLS_GO_WRONG, WRONG_WALLS };

static enum walls walls; /* what the machines say of their wall clocks */

static int64_t between_walls; /* peer's clock - own clock, if both wall clocks were exact */
static int64_t wander;        /* how far from it they come */
static int64_t stepped;       /* peer's clock - own clock grew by this at the jump */

/*
 * Lets the peer's wall clock wander about the own one, which is slewed as it was drawn, and each clock with its wall
 * clock: something keeps them, and turns at most every five seconds.
 */
static void keep_clocks(struct virtual_hosts *h)
{
    double off = 0, rate = 0;
    wander = (int64_t)seed_between(h->seed, 100, 1e6);
    between_walls = h->peer.bends[0].ns - h->own.bends[0].ns;
    int64_t turn = 0;
    for (size_t i = 0; i < h->own.count; i++) {
        const struct virtual_bend *b = &h->own.bends[i];
        off += i ? rate * (double)(b->at - b[-1].at) : 0;
        if (i + 1 == h->own.count)
            rate = 0;
        else if (b->at >= turn) { /* bends are at most a second apart */
            int64_t length = (int64_t)seed_between(h->seed, 5e9, 20e9);
            turn = b->at + length;
            rate = ((2 * seed_unit(h->seed) - 1) * (double)wander - off) / ((double)length + 1e9);
        }
        h->peer.bends[i] = (struct virtual_bend){b->at, b->ns + between_walls + (int64_t)off, b->rate + rate};
    }
    h->peer.count = h->own.count;
}

/*
 * What the machines say of their wall clocks: the truth, with a bound that may be wider than needed, as chrony's is; or
 * that they are elsewhere, further away than an exchange can be, so that it shows.
 */
static void say_walls(int64_t at, int64_t end, struct clock_exchange *x)
{
    int64_t errors = wander + 4 + (int64_t)seed_between(r.hosts.seed, 1, 1e5);
    int64_t said = between_walls + (at >= jump_at ? stepped : 0);
    bool wrong = walls == WRONG_WALLS || (walls == WALLS_GO_WRONG && at > r.hosts.length / 2);
    if (walls == NO_WALLS || seed_unit(r.hosts.seed) < 0.1)
        return;
    if (wrong) {
        int64_t by = 2 * (end - at) + 2 * errors + (int64_t)seed_between(r.hosts.seed, 1e3, 1e17);
        said += seed_next(r.hosts.seed) % 2 ? by : -by;
    }
    x->peer.ahead = INT64_C(1700000000000000000);
    x->own.ahead = x->peer.ahead + said;
    x->own.error = errors / 3 + 1;
    x->peer.error = errors - errors / 3;
}

/* Makes exchanges until the run is over, as often as the relation asks for, and reads in between. */
static void run_all(void)
{
    enum clock_news news = CLOCK_NONSENSE;
    for (int64_t at = 0; at < r.hosts.length;) {
        struct clock_exchange x;
        int64_t end, wait = clock_relation_wait(&r.relation, news);
        bool came = virtual_hosts_exchange(&r.hosts, at, &x, &end) && end - at < CLOCK_ROUND_TRIP_NS;
        if (came) {
            say_walls(at, end, &x);
            news = clock_relation_add(&r.relation, &x);
            note_exchange(&x);
            take_pieces();
        } else {
            news = CLOCK_POOR;
            end = at + CLOCK_ROUND_TRIP_NS / 4;
        }
        int64_t next = end + (came ? wait : 0);
        for (int i = 0; i < 8; i++)
            read_at(at + (int64_t)(seed_unit(r.hosts.seed) * (double)(next - at)));
        at = next;
    }
    clock_relation_finish(&r.relation);
    take_pieces();
}

static int by_own(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    return (x->own > y->own) - (x->own < y->own);
}

/* Each moment by its closed piece. Returns how many there were. */
static size_t expect_pieces(void)
{
    size_t i = 0, seen = 0;
    qsort(r.moments, r.moment_count, sizeof r.moments[0], by_own);
    for (size_t k = 0; k < r.moment_count && r.piece_count; k++) {
        while (i + 1 < r.piece_count && r.moments[k].own >= r.pieces[i].until)
            i++;
        expect_bound(clock_piece_at(&r.pieces[i], r.moments[k].own), r.moments[k].truth, "closed");
        seen++;
    }
    return seen;
}

static void begin(uint64_t *seed, bool quiet)
{
    r.moment_count = r.piece_count = 0;
    r.least_half = 0;
    virtual_hosts_draw(&r.hosts, seed, quiet);
    if (walls != NO_WALLS)
        keep_clocks(&r.hosts);
    clock_relation_init(&r.relation);
}

TEST(the_error_never_exceeds_its_bound)
{
    uint64_t seed = seed_start();
    size_t seen = 0;
    for (int i = 0; i < rounds(400); i++) {
        begin(&seed, i % 8 == 0);
        run_all();
        assert_int_equal(r.relation.jumps, 0);
        seen += expect_pieces();
    }
    assert_true(seen > (size_t)rounds(100000));
}

TEST(kept_wall_clocks_narrow_the_bound_and_it_holds)
{
    uint64_t seed = seed_start();
    double kept = 0, alone = 0;
    uint64_t count = 0;
    walls = TRUE_WALLS;
    for (int i = 0; i < rounds(400); i++) {
        begin(&seed, i % 8 == 0);
        run_all();
        assert_int_equal(r.relation.jumps, 0);
        assert_int_equal(r.relation.contradicted, 0);
        expect_pieces();
        count += r.relation.kept;
        kept += (double)r.relation.knots[r.relation.held - 1].half;
        alone += (double)r.relation.alone[r.relation.held - 1].half;
    }
    assert_true(count > (uint64_t)rounds(20000) && kept < alone / 4);
    walls = NO_WALLS;
}

TEST(wall_clocks_that_contradict_the_exchanges_change_nothing)
{
    uint64_t seed = seed_start(), contradicted = 0;
    walls = WRONG_WALLS;
    for (int i = 0; i < rounds(200); i++) {
        begin(&seed, i % 8 == 0);
        run_all();
        contradicted += r.relation.contradicted;
        assert_int_equal(r.relation.kept, 0);
        assert_int_equal(r.relation.jumps, 0);
        assert_memory_equal(r.relation.knots, r.relation.alone, r.relation.held * sizeof r.relation.knots[0]);
        expect_pieces();
    }
    assert_true(contradicted > (uint64_t)rounds(2000));
    walls = NO_WALLS;
}

/* What they narrowed was true, so the bound holds before and behind. */
TEST(wall_clocks_that_go_wrong_are_believed_no_more)
{
    uint64_t seed = seed_start(), kept = 0, contradicted = 0;
    walls = WALLS_GO_WRONG;
    for (int i = 0; i < rounds(200); i++) {
        begin(&seed, i % 8 == 0);
        run_all();
        assert_int_equal(r.relation.jumps, 0);
        expect_pieces();
        kept += r.relation.kept;
        contradicted += r.relation.contradicted;
    }
    assert_true(kept > (uint64_t)rounds(1000) && contradicted > (uint64_t)rounds(1000));
    walls = NO_WALLS;
}

/*
 * Wall clocks that are wrong by less than an exchange can tell, until a shorter one does. From there on times are those
 * of the exchanges alone, and no jump is seen.
 */
TEST(what_wrong_wall_clocks_narrowed_is_taken_back)
{
    const int64_t ms = CLOCK_MS, lie = 9 * CLOCK_MS;
    struct clock_relation relation;
    struct clock_reading now;
    clock_relation_init(&relation);
    for (int64_t i = 1; i < 60; i++) { /* equal clocks, slow answers; by the walls the peer's is 9 ms behind */
        int64_t sent = i * CLOCK_S, way = i < 20 ? 5 * ms : ms;
        struct clock_exchange x = {.sent = sent, .arrived = sent, .answered = sent};
        x.received = sent + 2 * way;
        x.own = (struct clock_wall){.ahead = i < 40 ? -lie : 0, .error = 1000};
        x.peer = (struct clock_wall){.ahead = 0, .error = 1000};
        assert_int_equal(clock_relation_add(&relation, &x), CLOCK_TOOK);
        struct clock_piece piece;
        while (clock_relation_next(&relation, &piece))
            for (int64_t own = piece.from; i >= 20 && own < piece.until; own += 100 * ms)
                assert_true(llabs(clock_piece_at(&piece, own).ns - own) <= piece.bound);
        now = clock_relation_at(&relation, x.received);
        assert_true(i < 20 ? now.bound < 100000 : now.bound < 2 * ms);
        assert_true(llabs(now.ns - x.received) <= (i < 20 ? lie + now.bound : now.bound));
        assert_int_equal(relation.contradicted, i < 20 ? 0 : i < 40 ? i - 19 : 20);
        assert_int_equal(relation.kept, i < 20 ? i : i < 40 + CLOCK_WINDOW ? 19 : i - 20 - CLOCK_WINDOW);
        assert_int_equal(clock_relation_wait(&relation, CLOCK_TOOK), i < 8 ? 50 * ms : CLOCK_S);
    }
    assert_true(now.bound < 100000);
    assert_int_equal(relation.jumps + relation.suspects, 0);
}

/* An exchange of equal clocks, sent at `sent`, `way` ns each way; the walls say that the peer's is `ahead`. */
static struct clock_exchange exchange(int64_t sent, int64_t way, int64_t ahead, int64_t error)
{
    return (struct clock_exchange){.sent = sent,
                                   .arrived = sent + way,
                                   .answered = sent + way,
                                   .received = sent + 2 * way,
                                   .own = {ahead, error},
                                   .peer = {0, error}};
}

/* They move by 4 ms in a second, as no clock does, though within what an exchange of 10 ms allows. */
TEST(wall_clocks_that_are_set_are_not_believed)
{
    struct clock_relation relation;
    clock_relation_init(&relation);
    for (int64_t i = 1; i < 20; i++) {
        const struct clock_exchange x = exchange(i * CLOCK_S, 5 * CLOCK_MS, i < 10 ? 0 : 4 * CLOCK_MS, 1000);
        assert_int_equal(clock_relation_add(&relation, &x), CLOCK_TOOK);
        assert_int_equal(relation.contradicted, i >= 10);
        assert_int_equal(relation.kept, i < 10 ? i : 9);
    }
    struct clock_reading now = clock_relation_at(&relation, 19 * CLOCK_S);
    assert_true(llabs(now.ns - 19 * CLOCK_S) <= now.bound && now.bound < 6 * CLOCK_MS);
}

/* The round trip is long, so that exchanges alone would be made every four seconds. */
TEST(kept_wall_clocks_are_read_every_second)
{
    struct clock_relation relation;
    clock_relation_init(&relation);
    for (int64_t i = 1; i < 30; i++) {
        const struct clock_exchange x = exchange(i * CLOCK_S, 40 * CLOCK_MS, 0, i < 20 ? 15 * CLOCK_MS : -1);
        enum clock_news news = clock_relation_add(&relation, &x);
        assert_int_equal(relation.is_kept, i < 20);
        if (news == CLOCK_TOOK && i >= 8)
            assert_true(i < 20 ? clock_relation_wait(&relation, news) == CLOCK_S
                               : clock_relation_wait(&relation, news) > 2 * CLOCK_S);
    }
}

/* The peer's clock jumps by 10 s while an exchange is under way: the way there, or back, is a fifth of a second. */
TEST(a_jump_within_an_exchange_is_within_a_piece)
{
    const int64_t way = 200 * CLOCK_MS, jump = 10 * CLOCK_S, met = 20 * CLOCK_S;
    for (int back = 0; back < 2; back++) {
        struct clock_relation relation;
        struct clock_piece piece;
        int64_t at = back ? met + CLOCK_MS : met + way - CLOCK_MS, until = 0;
        clock_relation_init(&relation);
        for (int64_t i = 15; i < 30; i++) {
            int64_t sent = i * CLOCK_S, there = sent + (back ? 0 : way);
            int64_t peer = 1000 * CLOCK_S + there + (there >= at ? jump : 0);
            const struct clock_exchange x = {.sent = sent, .arrived = peer, .answered = peer, .received = sent + way};
            (void)clock_relation_add(&relation, &x);
            if (i == 29)
                clock_relation_finish(&relation);
            for (; clock_relation_next(&relation, &piece); until = piece.until)
                for (int64_t own = piece.from; own < piece.until; own += CLOCK_MS) {
                    int64_t truth = 1000 * CLOCK_S + own + (own >= at ? jump : 0);
                    struct clock_reading here = clock_piece_at(&piece, own);
                    assert_true(llabs(here.ns - truth) <= here.bound);
                }
        }
        assert_int_equal(relation.jumps, 1);
        assert_true(until > 29 * CLOCK_S);
    }
}

/* Any numbers may come from the peer. */
TEST(senseless_wall_clocks_are_not_taken)
{
    static const struct clock_wall none[] = {
        {0, 0},         {5, -1},           {0, INT64_MIN},   {0, INT64_MAX},
        {INT64_MIN, 1}, {INT64_MAX, 1000}, {1, 2 * CLOCK_S}, {INT64_MIN, INT64_MIN}};
    for (size_t i = 0; i < 2 * sizeof none / sizeof *none; i++) {
        struct clock_relation relation;
        struct clock_exchange x = {.sent = 1000, .arrived = 51000, .answered = 51000, .received = 101000};
        x.own = i % 2 ? none[i / 2] : (struct clock_wall){1, 1};
        x.peer = i % 2 ? (struct clock_wall){1, 1} : none[i / 2];
        clock_relation_init(&relation);
        assert_int_equal(clock_relation_add(&relation, &x), CLOCK_TOOK);
        assert_int_equal(relation.kept + relation.contradicted, 0);
        assert_in_range(relation.knots[0].half, 50000, 51000);
    }
    for (int sign = -1; sign <= 1; sign += 2) {
        struct clock_relation relation;
        struct clock_exchange x = {.sent = 1000, .arrived = 51000, .answered = 51000, .received = 101000};
        x.own = (struct clock_wall){sign * ((INT64_C(1) << 61) - 1), CLOCK_S};
        x.peer = (struct clock_wall){-sign * ((INT64_C(1) << 61) - 1), CLOCK_S};
        clock_relation_init(&relation);
        assert_int_equal(clock_relation_add(&relation, &x), CLOCK_TOOK);
        assert_int_equal(relation.contradicted, 1);
    }
}

static int by_size(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

TEST(on_a_quiet_link_the_bound_is_little_more_than_half_the_round_trip)
{
    uint64_t seed = seed_start();
    static double ratios[PIECES_MAX];
    for (int i = 0; i < rounds(100); i++) {
        begin(&seed, true);
        run_all();
        assert_true(r.piece_count > 4);
        for (size_t k = 0; k < r.piece_count; k++)
            ratios[k] = (double)r.pieces[k].bound / (double)r.least_half;
        qsort(ratios, r.piece_count, sizeof ratios[0], by_size);
        assert_true(ratios[r.piece_count / 2] < 1.5);
    }
}

/* ---- Jumps, and what makes no sense ------------------------------------------------------------------------------ */

/* A clock is stepped in mid-run, as by a suspended machine: the own one forward, the peer's anywhere. */
static void step_a_clock(uint64_t *seed, int64_t at)
{
    int64_t by = (int64_t)seed_between(seed, 1e9, 1e17);
    bool own = seed_next(seed) % 2;
    stepped = own || seed_next(seed) % 2 ? -by : by;
    virtual_clock_step(own ? &r.hosts.own : &r.hosts.peer, at, own ? by : stepped);
}

/* Between the step and the second exchange behind it nobody can know of it; from there on the bound holds again. */
TEST(a_jump_is_counted_and_no_closed_piece_is_wrong)
{
    uint64_t seed = seed_start();
    for (int i = 0; i < rounds(200); i++) {
        walls = i % 2 ? TRUE_WALLS : NO_WALLS;
        begin(&seed, true);
        int64_t at = (int64_t)((0.2 + 0.6 * seed_unit(&seed)) * (double)r.hosts.length);
        for (struct virtual_bend *b = r.hosts.peer.bends; b < r.hosts.peer.bends + r.hosts.peer.count; b++)
            b->ns += INT64_C(200000000000000000); /* so that a step back leaves it above zero */
        between_walls += INT64_C(200000000000000000);
        r.hosts.length = at + 60 * CLOCK_S; /* two exchanges behind it, however rare they are */
        step_a_clock(&seed, at);
        jump_at = at;
        run_all();
        jump_at = INT64_MAX;
        walls = NO_WALLS;
        assert_int_equal(r.relation.contradicted, 0);
        assert_int_equal(r.relation.jumps, 1);
        assert_true(r.relation.nonsense <= 1); /* one that the step met */
        expect_pieces();
    }
}

static bool is_equal(const struct clock_relation *a, const struct clock_relation *b)
{
    struct clock_reading x = clock_relation_at(a, a->last_sent), y = clock_relation_at(b, a->last_sent);
    return a->held == b->held && memcmp(a->knots, b->knots, a->held * sizeof a->knots[0]) == 0 && x.ns == y.ns &&
           x.bound == y.bound;
}

/* An exchange that cannot be: any numbers, one that was taken before, an answer before its question, a late answer. */
static struct clock_exchange nonsense(uint64_t *seed, const struct clock_exchange *taken)
{
    struct clock_exchange x = *taken;
    int64_t more = (int64_t)seed_between(seed, 1e9, 1e18);
    switch (seed_next(seed) % 7) {
    case 0:
        return x;
    case 1:
        return (struct clock_exchange){x.sent + more, x.arrived, x.answered, x.received, x.own, x.peer};
    case 2:
        return (struct clock_exchange){x.sent + 1, x.arrived, x.answered + more, x.received, x.own, x.peer};
    case 3:
        return (struct clock_exchange){x.sent + 1, x.answered + 1, x.arrived, x.received, x.own, x.peer};
    case 4:
        return (struct clock_exchange){x.sent + 1, x.arrived, x.answered, x.received + more, x.own, x.peer};
    case 5:
        return (struct clock_exchange){-x.sent, x.arrived, x.answered, x.received, x.own, x.peer};
    default:
        return (struct clock_exchange){(int64_t)(seed_next(seed) | UINT64_C(1) << 63),
                                       (int64_t)seed_next(seed),
                                       (int64_t)seed_next(seed),
                                       (int64_t)seed_next(seed),
                                       x.own,
                                       x.peer};
    }
}

TEST(nonsense_changes_nothing)
{
    uint64_t seed = seed_start();
    struct clock_piece piece;
    for (int i = 0; i < rounds(200); i++) {
        begin(&seed, true);
        struct clock_relation with = r.relation;
        struct clock_exchange x;
        int64_t end, at = 0;
        for (int k = 0; k < 40; k++, at = end + CLOCK_S) {
            assert_true(virtual_hosts_exchange(&r.hosts, at, &x, &end));
            assert_int_equal(clock_relation_add(&r.relation, &x), clock_relation_add(&with, &x));
            struct clock_exchange bad = nonsense(&seed, &x);
            assert_int_equal(clock_relation_add(&with, &bad), CLOCK_NONSENSE);
            while (clock_relation_next(&with, &piece))
                assert_true(clock_relation_next(&r.relation, &piece));
            assert_true(is_equal(&r.relation, &with));
        }
        assert_int_equal(with.nonsense, 40);
    }
}

/* One exchange that contradicts the others, with times that could be: an answer to somebody else. */
TEST(a_single_contradiction_is_dropped)
{
    uint64_t seed = seed_start();
    for (int i = 0; i < rounds(200); i++) {
        begin(&seed, true);
        struct clock_exchange x;
        int64_t end, at = 0;
        for (int k = 0; k < 40; k++, at = end + CLOCK_S) {
            bool false_one = k % 7 == 6;
            assert_true(virtual_hosts_exchange(&r.hosts, at, &x, &end));
            int64_t by = (int64_t)seed_between(&seed, 1e9, 1e15);
            if (false_one)
                x.arrived += by, x.answered += by;
            enum clock_news news = clock_relation_add(&r.relation, &x);
            assert_int_equal(news, false_one ? CLOCK_SUSPECT : CLOCK_TOOK);
            take_pieces();
            if (!false_one)
                read_at(end);
        }
        assert_int_equal(r.relation.jumps, 0);
        assert_int_equal(r.relation.suspects, 5);
    }
}

/* A clock that stands still is not followed anywhere: the bound grows. */
TEST(a_clock_that_stands_still_is_not_believed)
{
    struct clock_relation relation;
    clock_relation_init(&relation);
    for (int64_t i = 1; i < 100; i++) {
        int64_t sent = i * CLOCK_S, peer = i < 50 ? 2 * CLOCK_S + sent : 52 * CLOCK_S;
        const struct clock_exchange x = {
            .sent = sent, .arrived = peer + 50000, .answered = peer + 50000, .received = sent + 100000};
        enum clock_news news = clock_relation_add(&relation, &x);
        assert_int_equal(news, i <= 50 ? CLOCK_TOOK : CLOCK_SUSPECT);
    }
    struct clock_reading last = clock_relation_at(&relation, 99 * CLOCK_S);
    assert_in_range(last.bound, 49 * CLOCK_S / 1000, CLOCK_S);
    const struct clock_exchange still = {
        .sent = 50 * CLOCK_S, .arrived = 52 * CLOCK_S, .answered = 52 * CLOCK_S, .received = 50 * CLOCK_S};
    assert_int_equal(clock_relation_add(&relation, &still), CLOCK_NONSENSE);
}

/* ---- A path of two links ----------------------------------------------------------------------------------------- */

/* ---- Two real hosts ---------------------------------------------------------------------------------------------- */

enum { PACKETS_MAX = 64 };

struct packet {
    int64_t ns;
    bool out;
    unsigned long seq, ack, flags;
};

static size_t read_packets(const char *folder, const char *file, struct packet packets[PACKETS_MAX])
{
    char path[4096], line[256], direction[8];
    snprintf(path, sizeof path, "%s/synctraces/%s", folder, file);
    FILE *in = fopen(path, "r");
    size_t n = 0;
    while (in && n < PACKETS_MAX && fgets(line, sizeof line, in)) {
        struct packet *p = &packets[n];
        if (sscanf(line, "%" SCNd64 ",%7[a-z],%lu,%lu,%lu", &p->ns, direction, &p->seq, &p->ack, &p->flags) == 5)
            n++, p->out = strcmp(direction, "out") == 0;
    }
    if (in)
        fclose(in);
    return n;
}

/* The packet of `there` that left the other host as `here`, or NULL. */
static const struct packet *other_end(const struct packet *here, const struct packet *there, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (there[i].out != here->out && there[i].seq == here->seq && there[i].ack == here->ack &&
            there[i].flags == here->flags)
            return &there[i];
    return NULL;
}

/* Recorded packets of a TCP connection between two hosts with clocks of their own: each arrives after it was sent. */
TEST(recorded_packets_arrive_after_they_were_sent)
{
    struct packet own[PACKETS_MAX], peer[PACKETS_MAX];
    const char *folder = getenv("BEZEL_TEST_DATA");
    size_t n = folder ? read_packets(folder, "scp_src.csv", own) : 0, m = 0, taken = 0, seen = 0;
    m = n ? read_packets(folder, "scp_dest.csv", peer) : 0;
    if (n == 0 || m == 0) {
        print_message("skipped: no recorded packets in $BEZEL_TEST_DATA/synctraces\n");
        skip();
    }
    struct clock_relation relation;
    clock_relation_init(&relation);
    for (size_t i = 0; i < n; i++) { /* a packet there, and the next one back */
        const struct packet *arrived = own[i].out ? other_end(&own[i], peer, m) : NULL;
        for (size_t k = i + 1; arrived && k < n; k++) {
            const struct packet *answer = own[k].out ? NULL : other_end(&own[k], peer, m);
            if (!answer || answer->ns < arrived->ns)
                continue;
            const struct clock_exchange x = {
                .sent = own[i].ns, .arrived = arrived->ns, .answered = answer->ns, .received = own[k].ns};
            taken += clock_relation_add(&relation, &x) != CLOCK_NONSENSE;
            break;
        }
    }
    assert_true(taken > 10);
    for (size_t i = 0; i < n; i++) {
        const struct packet *end = other_end(&own[i], peer, m);
        if (!end || llabs(end->ns - own[i].ns) > CLOCK_S)
            continue;
        struct clock_reading here = clock_relation_at(&relation, own[i].ns);
        assert_true(own[i].out ? here.ns <= end->ns : end->ns <= here.ns);
        assert_in_range(llabs(here.ns - own[i].ns), 80430000, 80700000);
        seen++;
    }
    assert_true(seen > 40);
}
