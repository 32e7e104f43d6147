// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The path backward from an event is what a simulation knows of it, at each tick: threads of random programs run, wait
 * for CPUs, send messages that take their time, and wait for those that are not there yet, or rest meanwhile, which no
 * message explains, and which the kernel or the receiving behind it tells. Their pieces sum to the window exactly, and
 * the longest of all paths through the graph of what they did, tried one by one, is as long as the time that the path
 * explains. The form that grows, which is given the same as it comes and forgets what is old, has the same of each
 * class at each place, but where it says that it has not.
 */
#include "analysis/live.h"
#include "analysis/slack.h"

#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 5, STEPS = 12, TICKS = 4000, MESSAGES = THREADS * STEPS };
enum { TICK = 10000 }; /* ns */
enum { STATE_NONE, STATE_RUNS, STATE_READY, STATE_WAITS, STATE_RESTS };

static uint64_t seed;

struct message {
    unsigned from, to;
    long sent, arrives;    /* ticks; -1: not yet */
    long waited, received; /* the receiver: when it began to wait, -1: it did not; when it received it */
};

struct thread {
    unsigned node, steps, step;
    enum { STEP_RUN, STEP_SEND, STEP_RECEIVE, STEP_REST } does[STEPS];
    unsigned arg[STEPS]; /* ticks, or the message */
    unsigned span[STEPS];
    unsigned left; /* ticks of the present step */
    long rests_until;
    unsigned char state[TICKS];
    unsigned waits_for[TICKS], in[TICKS], says[TICKS];
    long least[TICKS], most[TICKS]; /* where an interval begins: the bounds of how long it was ready before */
    long ended;                     /* tick */
};

static struct thread threads[THREADS];
static struct message messages[MESSAGES];
static unsigned thread_count, message_count, cpus;
static bool receivings_say; /* for how long their threads had waited */
static struct activity a;

/* What the kernel says of a wait for a message, and of a rest; at [0] nothing. */
static const struct says {
    enum activity_state state;
    enum activity_woken woken;
    enum path_class is; /* if no message explains it */
    enum path_why why;
} of_waits[] = {{0, 0, PATH_UNKNOWN, PATH_BLOCKED},
                {ACTIVITY_SLEEP, ACTIVITY_BY_UNKNOWN, PATH_UNKNOWN, PATH_BLOCKED},
                {ACTIVITY_SLEEP, ACTIVITY_BY_THREAD, PATH_UNKNOWN, PATH_WOKEN},
                {ACTIVITY_UNSEEN, ACTIVITY_BY_SOFTIRQ, PATH_UNKNOWN, PATH_SOFTIRQ}},
  of_rests[] = {{0, 0, PATH_UNKNOWN, PATH_BLOCKED},
                {ACTIVITY_STOPPED, ACTIVITY_BY_UNKNOWN, PATH_STOPPED, PATH_KNOWN},
                {ACTIVITY_DISK, ACTIVITY_BY_THREAD, PATH_IO, PATH_KNOWN},
                {ACTIVITY_UNSEEN, ACTIVITY_BY_INTERRUPT, PATH_UNKNOWN, PATH_INTERRUPT}};

static unsigned below(unsigned n)
{
    return (unsigned)(seed_next(&seed) % n);
}

/* ---- the simulation ---------------------------------------------------------------------------------------------- */

static void add_step(unsigned t, int does, unsigned arg)
{
    struct thread *is = &threads[t];
    is->does[is->steps] = does;
    is->arg[is->steps] = arg;
    is->span[is->steps] = below(4);
    is->steps++;
}

/* A rest, and what is done then until the next step. */
static void add_rest(unsigned t)
{
    if (threads[t].steps + 4 > STEPS || below(3) > 0)
        return;
    add_step(t, STEP_REST, 1 + below(40));
    add_step(t, STEP_RUN, 1 + below(3));
}

/* Messages are sent and received in one order, so that nobody waits for ever; each thread runs in between. */
static void draw_programs(void)
{
    memset(threads, 0, sizeof threads);
    thread_count = 2 + below(THREADS - 1);
    cpus = 1 + below(3);
    message_count = 0;
    receivings_say = below(2);
    for (unsigned t = 0; t < thread_count; t++) {
        threads[t].node = below(2);
        threads[t].rests_until = -1;
        add_step(t, STEP_RUN, 2 + below(20));
    }
    for (unsigned tries = below(12) + 1; tries > 0; tries--) {
        unsigned from = below(thread_count), to = below(thread_count);
        add_rest(to);
        if (from == to || threads[from].steps + 2 > STEPS || threads[to].steps + 2 > STEPS)
            continue;
        messages[message_count] = (struct message){.from = from, .to = to, .sent = -1, .waited = -1, .received = -1};
        add_step(from, STEP_SEND, message_count);
        add_step(from, STEP_RUN, 2 + below(30));
        add_step(to, STEP_RECEIVE, message_count++);
        add_step(to, STEP_RUN, 2 + below(30));
    }
    for (unsigned t = 0; t < thread_count; t++)
        threads[t].left = threads[t].arg[0];
}

/* Does what takes no time, for a thread that has a CPU at tick `now`. Whether it goes on running. */
static bool go_on(struct thread *t, long now)
{
    while (t->step < t->steps) {
        struct message *m = &messages[t->arg[t->step]];
        switch (t->does[t->step]) {
        case STEP_RUN:
            if (t->left > 0)
                return true;
            break;
        case STEP_SEND:
            m->sent = now;
            m->arrives = now + 1 + (long)below(15);
            break;
        case STEP_RECEIVE:
            if (m->sent < 0 || m->arrives > now) {
                m->waited = now;
                return false;
            }
            m->received = now;
            break;
        case STEP_REST:
            t->rests_until = t->rests_until < 0 ? now + (long)t->arg[t->step] : t->rests_until;
            if (now < t->rests_until)
                return false;
            t->rests_until = -1;
        }
        if (++t->step < t->steps && t->does[t->step] == STEP_RUN)
            t->left = t->arg[t->step];
    }
    t->ended = now;
    return false;
}

/* Whether a thread that is not over is ready at tick `now`. */
static bool is_ready(const struct thread *t, long now)
{
    const struct message *m = t->does[t->step] == STEP_RECEIVE ? &messages[t->arg[t->step]] : NULL;
    return t->does[t->step] == STEP_REST ? now >= t->rests_until : !m || (m->sent >= 0 && m->arrives <= now);
}

static void take_tick(long now, bool had_cpu[THREADS])
{
    unsigned order[THREADS], running = 0;
    bool has[THREADS] = {false};
    for (unsigned i = 0; i < thread_count; i++)
        order[i] = i;
    for (unsigned i = thread_count; i > 1; i--) {
        unsigned k = below(i), x = order[i - 1];
        order[i - 1] = order[k];
        order[k] = x;
    }
    for (unsigned turn = 0; turn < 2; turn++) /* mostly who had a CPU keeps it */
        for (unsigned i = 0; i < thread_count; i++) {
            struct thread *t = &threads[order[i]];
            if (t->ended || has[order[i]] || running == cpus || (turn == 0 && (!had_cpu[order[i]] || below(10) == 0)))
                continue;
            if (!is_ready(t, now) || !go_on(t, now))
                continue;
            has[order[i]] = true;
            running++;
        }
    for (unsigned i = 0; i < thread_count; i++) {
        struct thread *t = &threads[i];
        if (t->ended)
            continue;
        t->state[now] = has[i]                             ? STATE_RUNS
                        : is_ready(t, now)                 ? STATE_READY
                        : t->does[t->step] == STEP_RECEIVE ? STATE_WAITS
                                                           : STATE_RESTS;
        t->waits_for[now] = t->arg[t->step];
        t->in[now] = t->span[t->step];
        t->left -= has[i];
        had_cpu[i] = has[i] && (t->left > 0 || go_on(t, now + 1)); /* what follows begins while it has the CPU */
    }
}

/* Returns the tick at which all threads were over. */
static long simulate(void)
{
    bool had_cpu[THREADS] = {false};
    long now = 0;
    for (bool all = false; !all; now++) {
        assert_true(now < TICKS);
        take_tick(now, had_cpu);
        all = true;
        for (unsigned i = 0; i < thread_count; i++)
            all = all && threads[i].ended;
    }
    return now - 1;
}

/* ---- its records ------------------------------------------------------------------------------------------------- */

/* When a thread runs at a tick or later; `until`: never. */
static long next_run(const struct thread *t, long tick, long until)
{
    while (tick < until && t->state[tick] != STATE_RUNS)
        tick++;
    return tick;
}

/*
 * What the kernel says of the wait of thread `of` from `begin` to `end`; who rested may say that by its receiving
 * alone. Returns whether it says who ended the wait.
 */
static bool record_wait(unsigned of, struct thread *t, long begin, long end)
{
    bool rests = begin < end && t->state[begin] == STATE_RESTS;
    unsigned say = begin < end ? rests && !receivings_say ? 1 + below(3) : below(4) : 0;
    const struct says *is = rests ? &of_rests[say] : &of_waits[say];
    for (long tick = begin; tick < end; tick++)
        t->says[tick] = say;
    if (say > 0)
        assert_true(activity_add_wait(&a, of,
                                      (struct activity_wait){.begin = begin * TICK,
                                                             .end = end * TICK,
                                                             .state = is->state,
                                                             .woken = is->woken,
                                                             .name = ACTIVITY_NONE,
                                                             .waker = ACTIVITY_NONE}));
    return say > 0 && is->woken != ACTIVITY_BY_UNKNOWN;
}

/* The kernel's sum may be known, or only bounds of it; of a thread that was ready all the time, or is known to have
 * been woken then, it is. */
static void draw_bounds(struct thread *t, long last, long begin, long ready, bool woken)
{
    bool widened = !woken && last >= 0 && ready < begin - last && below(2);
    long least = ready - (widened ? below(20) : 0), most = ready + (widened ? below(40) : 0);
    t->least[begin] = least < 0 ? 0 : least;
    t->most[begin] = most > begin - last ? begin - last : most;
}

static void record_intervals(unsigned of, struct thread *t)
{
    long last = -1, end;
    for (long begin = next_run(t, 0, t->ended); begin < t->ended; begin = next_run(t, end, t->ended)) {
        long ready = 0;
        for (end = begin; end < t->ended && t->state[end] == STATE_RUNS;)
            end++;
        while (last >= 0 && begin - ready > last && t->state[begin - ready - 1] == STATE_READY)
            ready++;
        draw_bounds(t, last, begin, ready, last >= 0 && record_wait(of, t, last, begin - ready));
        assert_true(activity_add_interval(
            &a, of,
            (struct activity_interval){.begin = begin * TICK,
                                       .end = end * TICK,
                                       .off = last < 0 ? -1 : (begin - last) * TICK,
                                       .ready_least = last < 0 ? -1 : t->least[begin] * TICK,
                                       .ready_most = last < 0 ? -1 : t->most[begin] * TICK,
                                       .ended = end == t->ended                ? ACTIVITY_EXITED
                                                : t->state[end] == STATE_READY ? ACTIVITY_PREEMPTED
                                                                               : ACTIVITY_WAITED}));
        last = end;
    }
}

/* Span 0 is none; 3 is span 1 within span 2. */
static void record_spans(unsigned of, const struct thread *t)
{
    static const char *const names[] = {"", "one", "two", "one"};
    for (long begin = 0, end; begin < t->ended; begin = end) {
        for (end = begin; end < t->ended && t->in[end] == t->in[begin];)
            end++;
        if (t->in[begin] != 0)
            assert_true(activity_add_span(&a, of,
                                          (struct activity_span){.begin = begin * TICK,
                                                                 .end = end * TICK,
                                                                 .name = activity_name(&a, names[t->in[begin]])}));
        if (t->in[begin] == 3)
            assert_true(activity_add_span(&a, of,
                                          (struct activity_span){.begin = begin * TICK,
                                                                 .end = end * TICK + TICK / 2,
                                                                 .name = activity_name(&a, "two")}));
    }
}

static bool is_event(const struct thread *t, unsigned step)
{
    return t->does[step] == STEP_SEND || t->does[step] == STEP_RECEIVE;
}

static int64_t event_time(const struct thread *t, unsigned step)
{
    const struct message *m = &messages[t->arg[step]];
    return (t->does[step] == STEP_SEND ? m->sent : m->received) * TICK;
}

static void record_events(unsigned of, const struct thread *t)
{
    for (unsigned i = 0; i < t->steps; i++) {
        if (!is_event(t, i))
            continue;
        const struct message *m = &messages[t->arg[i]];
        struct activity_event e = {.at = event_time(t, i), .peer = ACTIVITY_NONE, .kind = ACTIVITY_SENT};
        if (t->does[i] == STEP_RECEIVE) {
            e.kind = ACTIVITY_RECEIVED;
            e.peer = m->from;
            e.from = m->sent * TICK;
            e.waited = !receivings_say ? 0 : m->waited < 0 ? 1 : (m->received - m->waited) * TICK;
        }
        assert_true(activity_add_event(&a, of, e));
    }
}

static void record(void)
{
    assert_int_equal(activity_init(&a, NULL, 0), 0);
    for (unsigned i = 0; i < thread_count; i++) {
        struct activity_thread is = {.node_row = threads[i].node, .process_row = i, .id = i, .first = 0};
        is.process[0] = (char)('a' + i);
        assert_int_equal(activity_add_thread(&a, &is), i);
    }
    for (unsigned i = 0; i < thread_count; i++) {
        record_spans(i, &threads[i]);
        record_intervals(i, &threads[i]);
        record_events(i, &threads[i]);
    }
    assert_int_equal(activity_settle(&a), 0);
}

/* ---- what must come out ------------------------------------------------------------------------------------------ */

static struct path_piece expected[TICKS];

/* The innermost span in a half tick: that of number 3 lasts one longer outside than inside. */
static uint32_t span_at(const struct thread *t, long half)
{
    static const char *const names[] = {"", "one", "two", "one"};
    long tick = half / 2;
    bool outer = half % 2 == 0 && tick > 0 && t->in[tick] == 0 && t->in[tick - 1] == 3;
    return outer              ? activity_name(&a, "two")
           : t->in[tick] == 0 ? (uint32_t)ACTIVITY_NONE
                              : activity_name(&a, names[t->in[tick]]);
}

/* Since when a thread that does not run at `tick` has no CPU. */
static long off_since(const struct thread *t, long tick)
{
    while (tick > 0 && t->state[tick - 1] != STATE_RUNS)
        tick--;
    return tick;
}

/* The message that it waits for meanwhile; NULL: it is ready all the time. */
static const struct message *awaited(const struct thread *t, long since, long until)
{
    for (long tick = since; tick < until; tick++)
        if (t->state[tick] == STATE_WAITS)
            return &messages[t->waits_for[tick]];
    return NULL;
}

/* What the kernel says of the wait that a thread is in, or was before it became ready. */
static const struct says *said(const struct thread *t, long since)
{
    return t->state[since] == STATE_RESTS   ? &of_rests[t->says[since]]
           : t->state[since] == STATE_WAITS ? &of_waits[t->says[since]]
                                            : &of_waits[0];
}

/* What is known of a tick at which a thread does not run. */
static struct path_piece expect_off(unsigned thread, long tick)
{
    const struct thread *t = &threads[thread];
    long since = off_since(t, tick), begin = next_run(t, tick, t->ended), least = t->least[begin],
         most = t->most[begin];
    const struct message *m = awaited(t, since, begin);
    bool explained = m && (threads[m->from].node != t->node || m->sent >= since);
    struct path_piece p = {.thread = thread, .span = span_at(t, 2 * tick + 1), .peer = ACTIVITY_NONE};
    if (explained && begin - m->sent < most)
        most = begin - m->sent;
    if (least > most)
        least = most;
    if (begin - tick <= least) {
        p.is = PATH_READY;
    } else if (begin - tick <= most || !explained) {
        p.is = begin - tick <= most ? PATH_UNKNOWN : said(t, since)->is;
        p.why = begin - tick <= most ? PATH_BETWEEN : said(t, since)->why;
    } else {
        p.is = PATH_MESSAGE;
        p.peer = m->from;
    }
    return p;
}

/* Where the path goes when the thread was ready at the most since its message was sent: to the sender, too. */
static unsigned expect_next(unsigned thread, long at)
{
    const struct thread *t = &threads[thread];
    if (t->state[at] == STATE_RUNS || t->state[at - 1] == STATE_RUNS || next_run(t, 0, t->ended) > at)
        return thread;
    const struct message *m = awaited(t, off_since(t, at - 1), next_run(t, at, t->ended));
    return m && m->sent == at && m->sent > off_since(t, at - 1) ? m->from : thread;
}

static void expect(unsigned thread, long from, long until)
{
    long at = until;
    while (at > from) {
        const struct thread *t = &threads[thread];
        struct path_piece p = {
            .is = PATH_RUNNING, .thread = thread, .span = span_at(t, 2 * at - 1), .peer = ACTIVITY_NONE};
        if (next_run(t, 0, t->ended) >= at) { /* before its first interval */
            p.is = PATH_UNKNOWN;
            p.why = PATH_NO_SWITCHES;
        } else if (t->state[at - 1] != STATE_RUNS) {
            p = expect_off(thread, at - 1);
        }
        long sent = p.is == PATH_MESSAGE ? awaited(t, off_since(t, at - 1), next_run(t, at - 1, t->ended))->sent : 0;
        do
            expected[--at] = p;
        while (p.is == PATH_MESSAGE && at > sent && at > from);
        thread = p.is == PATH_MESSAGE ? p.peer : at > from ? expect_next(thread, at) : thread;
    }
}

static void check_half(const struct path_piece *is, long half)
{
    const struct path_piece *e = &expected[half / 2];
    assert_int_equal(is->is, e->is);
    assert_int_equal(is->why, e->why);
    assert_int_equal(is->thread, e->thread);
    assert_int_equal(is->peer, e->peer);
    assert_int_equal(is->span, e->is == PATH_MESSAGE ? e->span : span_at(&threads[e->thread], half));
}

static void check(unsigned thread, long from, long until)
{
    struct path p = {0};
    int64_t at = from * TICK;
    assert_int_equal(path_walk(&a, thread, from * TICK, until * TICK, &p), 0);
    expect(thread, from, until);
    for (size_t i = 0; i < p.count; i++) {
        assert_int_equal(p.pieces[i].from, at);
        assert_true(p.pieces[i].until > at);
        for (long half = 2 * at / TICK; half < 2 * p.pieces[i].until / TICK; half++)
            check_half(&p.pieces[i], half);
        at = p.pieces[i].until;
    }
    assert_int_equal(at, until * TICK);
    path_fini(&p);
}

/* ---- all paths --------------------------------------------------------------------------------------------------- */

/*
 * The longest way to `step` of thread `t` over all paths: from the step before it, without the time for which the
 * thread waited, and from where a message was sent. Each path is tried, so it takes a time that grows with their
 * number.
 */
static long longest(unsigned t, unsigned step)
{
    const struct thread *is = &threads[t];
    const struct message *m = &messages[is->arg[step]];
    long at = event_time(is, step) / TICK, before = 0, last = 0;
    unsigned k = step;
    do
        k = k == 0 ? UINT32_MAX : k - 1;
    while (k != UINT32_MAX && !is_event(is, k));
    if (k != UINT32_MAX) {
        before = longest(t, k);
        last = event_time(is, k) / TICK;
    }
    if (is->does[step] == STEP_SEND)
        return before + at - last;
    long waits = m->waited < 0 ? 0 : m->arrives - m->waited; /* from then on it is ready */
    long over = 0, here = before + at - last - waits;
    for (unsigned i = 0; i < threads[m->from].steps; i++)
        if (threads[m->from].does[i] == STEP_SEND && threads[m->from].arg[i] == is->arg[step])
            over = longest(m->from, i) + (m->waited < 0 ? 0 : at - m->sent);
    return over > here ? over : here;
}

static void check_longest(void)
{
    for (unsigned t = 0; t < thread_count; t++)
        for (unsigned i = 0; i < threads[t].steps; i++)
            if (is_event(&threads[t], i))
                assert_int_equal(longest(t, i), event_time(&threads[t], i) / TICK);
}

/* ---- the path that grows ----------------------------------------------------------------------------------------- */

enum { FED_SPAN, FED_WAIT, FED_INTERVAL, FED_EVENT };
struct fed {
    long tick; /* when it comes */
    uint32_t thread;
    int kind;
    size_t number;
};
static unsigned compared, equal;

static int by_tick(const void *x, const void *y)
{
    const struct fed *b = x, *c = y;
    return b->tick != c->tick       ? (b->tick > c->tick) - (b->tick < c->tick)
           : b->kind != c->kind     ? b->kind - c->kind
           : b->thread != c->thread ? (b->thread > c->thread) - (b->thread < c->thread)
                                    : (b->number > c->number) - (b->number < c->number);
}

static void feed(struct live *f, const struct fed *is)
{
    const struct activity_thread *t = &a.threads[is->thread];
    if (is->kind == FED_SPAN) {
        struct activity_span span = t->spans[is->number];
        span.name = activity_name(&f->activity, a.names[span.name]);
        assert_true(activity_add_span(&f->activity, is->thread, span));
    } else if (is->kind == FED_WAIT) {
        assert_true(activity_add_wait(&f->activity, is->thread, t->waits[is->number]));
    } else if (is->kind == FED_INTERVAL) {
        assert_true(activity_add_interval(&f->activity, is->thread, t->intervals[is->number]));
    } else {
        assert_true(activity_add_event(&f->activity, is->thread, t->events[is->number]));
    }
}

/* Spans and events come when they end, intervals up to `late` ticks after that. */
static size_t draw_feed(struct fed *list, long late)
{
    size_t count = 0;
    for (uint32_t i = 0; i < a.thread_count; i++) {
        const struct activity_thread *t = &a.threads[i];
        for (size_t k = 0; k < t->span_count; k++)
            list[count++] = (struct fed){(t->spans[k].end + TICK - 1) / TICK, i, FED_SPAN, k};
        for (size_t k = 0; k < t->event_count; k++)
            list[count++] = (struct fed){t->events[k].at / TICK, i, FED_EVENT, k};
        for (size_t k = 0; k < t->wait_count; k++)
            list[count++] = (struct fed){t->waits[k].end / TICK + late, i, FED_WAIT, k};
        for (size_t k = 0; k < t->interval_count; k++)
            list[count++] = (struct fed){t->intervals[k].end / TICK + late, i, FED_INTERVAL, k};
    }
    qsort(list, count, sizeof *list, by_tick);
    return count;
}

/* What a path has of a term; those that differ in the span alone are one unless `in_spans`. */
static int64_t time_of(const struct path *p, const struct live *f, const struct slow_term *t, bool in_spans)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->count; i++) {
        const struct path_piece *is = &p->pieces[i];
        bool same =
            !in_spans || ((is->span == ACTIVITY_NONE) == (t->span == ACTIVITY_NONE) &&
                          (t->span == ACTIVITY_NONE || strcmp(a.names[is->span], f->activity.names[t->span]) == 0));
        if (same && is->is == t->is && is->why == t->why && is->thread == t->thread && is->peer == t->peer)
            sum += is->until - is->from;
    }
    return sum;
}

static bool is_same_but_span(const struct slow_term *x, const struct slow_term *y)
{
    return x->is == y->is && x->why == y->why && x->thread == y->thread && x->peer == y->peer;
}

/* While the run goes on, spans that will end later are not known yet. */
static void check_live(struct live *f, int64_t until, bool goes_on)
{
    struct path p = {0};
    struct slow_terms terms;
    int64_t at, sum = 0, same = 0, forgotten = 0;
    uint32_t thread = live_latest(f, until, &at);
    if (thread == ACTIVITY_NONE || at <= 0)
        return;
    assert_int_equal(live_terms(f, thread, at, &terms), 0);
    assert_int_equal(path_walk(&a, thread, 0, at, &p), 0);
    for (size_t i = 0; i < terms.count; i++) {
        const struct slow_term *t = &terms.terms[i];
        int64_t is = time_of(&p, f, t, !goes_on), has = (int64_t)t->slow;
        for (size_t k = 0; k < terms.count && goes_on; k++)
            has += k != i && is_same_but_span(t, &terms.terms[k]) ? (int64_t)terms.terms[k].slow : 0;
        sum += (int64_t)t->slow;
        forgotten += t->why == PATH_FORGOTTEN ? (int64_t)t->slow : 0;
        same += is == has ? (int64_t)t->slow : 0;
    }
    assert_int_equal(sum, at);
    compared++;
    equal += same == at;
    if ((goes_on ? !f->is_ahead : f->late_spans == 0) && forgotten == 0)
        assert_int_equal(same, at);
    slow_terms_free(&terms);
    path_fini(&p);
}

static void check_streamed(void)
{
    static struct fed list[THREADS * TICKS];
    struct live f;
    long late = 1 + below(40), step = 20 + below(80), next = step;
    size_t count = draw_feed(list, late);
    bool switched = false;
    assert_int_equal(live_init(&f, 0), 0);
    for (uint32_t i = 0; i < a.thread_count; i++) {
        struct activity_thread is = {.node_row = a.threads[i].node_row, .process_row = i, .id = i, .first = 0};
        is.process[0] = (char)('a' + i);
        assert_int_equal(activity_add_thread(&f.activity, &is), i);
    }
    for (size_t i = 0; i < count; i++) {
        for (; list[i].tick >= next; next += step) {
            if (!switched) /* marks do not wait for the first interval of all */
                continue;
            f.newest = next * TICK;
            assert_int_equal(live_mark(&f, (next - late) * TICK), 0);
            check_live(&f, (next - late) * TICK, true);
        }
        feed(&f, &list[i]);
        switched = switched || list[i].kind == FED_INTERVAL;
    }
    assert_int_equal(activity_settle(&f.activity), 0);
    check_live(&f, INT64_MAX, false);
    live_fini(&f);
}

/* ---- slack ------------------------------------------------------------------------------------------------------- */

/* No message that is on the path could have come later. */
static void check_slack(unsigned thread, long until)
{
    struct path p = {0};
    struct slack s;
    assert_int_equal(path_walk(&a, thread, 0, until * TICK, &p), 0);
    assert_int_equal(slack_find(&a, thread, 0, until * TICK, &s), 0);
    for (size_t i = 0; i < p.count; i++)
        for (size_t k = 0; k < s.count && p.pieces[i].is == PATH_MESSAGE; k++)
            if (s.pairs[k].from == p.pieces[i].peer && s.pairs[k].to == p.pieces[i].thread)
                assert_int_equal(s.pairs[k].least, 0);
    path_fini(&p);
    slack_fini(&s);
}

TEST(test_random)
{
    unsigned rounds = getenv("BEZEL_TEST_LIGHT") ? 500 : 5000;
    for (unsigned round = 0; round < rounds; round++) {
        draw_programs();
        (void)simulate();
        record();
        for (unsigned n = 0; n < 20; n++) {
            unsigned t = below(thread_count);
            long until = 1 + below((unsigned)threads[t].ended);
            if (threads[t].state[until - 1] == STATE_RUNS)
                check(t, below((unsigned)until), until);
        }
        check_longest();
        check_streamed();
        check_slack(0, threads[0].ended);
        activity_fini(&a);
    }
    assert_true(2 * equal > compared);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
