// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * kill -9 of either side of packets that pass directly, after every instruction that changes what both share: of a
 * sender that commits, offers, rings, takes acknowledgements and frees, and of a receiver that copies, acknowledges,
 * falls asleep and wakes. What then goes on, with the side that is left or with a new one, has every packet, whole, in
 * order, once; nothing is acknowledged that was not stored.
 */
#include "mdr/uplink/direct_internal.h"
#include "mdr/uplink/window_internal.h"
#include "tests/lib/scratch.h"
#include "tests/lib/step.h"
#include "tests/lib/test.h"
#include "tests/lib/window_model.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAMS = 2, BEFORE = 3 /* packets of each stream that are there at first */ };

static const uint8_t run[16] = "this run", uuid[16] = "this trace";
static char dir[SCRATCH_PATH];
static struct folder folder = {.fd = -1};
static struct window *w;
static struct direct_offer offer;
static struct direct_reader *reader;

/* What a side did, as it notes itself: shared with the child. */
static struct notes {
    uint64_t stored[STREAMS]; /* packets of each stream, by the receiver */
    uint64_t cut[STREAMS];    /* packets of each stream that were committed, by the sender */
} * notes;

static void open_reader(void)
{
    char why[DIRECT_WHY_MAX];
    direct_reader_close(reader);
    if (direct_reader_open(dir, run, uuid, offer.page->proof, &reader, why) != 0)
        fail_msg("%s", why);
}

/* As a daemon starts, also after one that was killed. */
static void open_sender(void)
{
    uint64_t left;
    assert_int_equal(folder_open(dir, &folder), 0);
    assert_int_equal(window_open(&folder, run, uuid, WINDOW_BYTES_MIN, &w, &left), 0);
    for (uint32_t i = 0; i < STREAMS; i++)
        if (window_find(w, i + 1, 0) < 0)
            assert_int_equal(window_add_stream(w, i + 1, 0, i + 1, 0), i);
    assert_int_equal(direct_offer_open(&offer, dir, run, uuid), 0);
}

/* Its memory alone: what it leaves behind if it is killed. */
static void forget_sender(void)
{
    munmap(offer.page, sizeof *offer.page);
    close(offer.bell);
    window_close(w, false);
    folder_close(&folder);
}

static void begin(void)
{
    scratch_make(dir);
    memset(notes, 0, sizeof *notes);
    open_sender();
    reader = NULL;
}

static void end(void)
{
    direct_reader_close(reader);
    direct_offer_close(&offer);
    window_close(w, true);
    folder_close(&folder);
    scratch_remove(dir);
}

/* ---- what each side does ----------------------------------------------------------------------------------------- */

static void cut(uint32_t i)
{
    if (!model_cut(w, i))
        _exit(1);
    notes->cut[i] = window_stream(w, i)->next_seq;
}

static void offer_all(void)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        window_sent(w, i, window_stream(w, i)->next_seq);
    direct_offer_up_to(&offer, window_end(w), (int64_t)window_end(w));
}

static void look(void)
{
    if (!direct_offer_looks(&offer))
        return;
    for (uint32_t i = 0; i < STREAMS; i++)
        window_acknowledge(w, i, direct_offer_acknowledged(&offer, i));
    window_free_each(w, NULL, NULL);
}

/* Stores what is offered. False: what came is no packet, or not whole, or not the next one. */
static bool store(void)
{
    struct direct_packet p;
    if (direct_reader_fill(reader) != 0)
        return false;
    while (direct_reader_look(reader, &p) == 1) {
        struct packet_header h;
        if (packet_get_header(p.data, p.bytes, &h) != 0 || p.stream >= STREAMS || h.instance != p.stream + 1 ||
            h.seq > notes->stored[p.stream])
            return false;
        struct window_stream s = {.instance = h.instance, .stream_id = p.stream + 1, .used = true};
        s = model_after(s, h.seq);
        const struct packet_header right = model_next(&s);
        if (!model_is(p.data, p.bytes, &right))
            return false;
        if (h.seq == notes->stored[p.stream])
            notes->stored[p.stream]++;
        direct_reader_take(reader);
    }
    return true;
}

static void acknowledge(void)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        direct_reader_acknowledge(reader, i, notes->stored[i]);
    direct_reader_acknowledged(reader);
}

static void begin_session(void)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        window_acknowledge(w, i, notes->stored[i]);
    window_free_each(w, NULL, NULL);
    open_reader();
    direct_offer_begin(&offer, window_oldest(w));
}

/* A sleeping receiver is woken for a packet, and gets all that there is; it is acknowledged and freed. */
static void check_it_goes_on(void)
{
    struct pollfd bell = {.fd = direct_reader_bell(reader), .events = POLLIN};
    offer_all();
    assert_true(store());
    if (!direct_reader_may_sleep(reader)) {
        direct_reader_awake(reader);
        assert_true(store() && direct_reader_may_sleep(reader));
    }
    cut(0);
    offer_all();
    assert_int_equal(poll(&bell, 1, 0), 1);
    direct_reader_awake(reader);
    assert_true(store());
    acknowledge();
    look();
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_int_equal(notes->stored[i], notes->cut[i]);
        assert_int_equal(notes->cut[i], window_stream(w, i)->next_seq);
    }
    assert_int_equal(window_waiting(w), 0);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

enum { HEAD = offsetof(struct window_file, processes) };

/* What both sides share, but for the packets: these change before a position that shows them does. */
struct shared {
    uint8_t head[HEAD];
    struct direct_page page;
    int bytes; /* in the pipe */
};

static void note_shared(struct shared *s)
{
    struct pollfd bell = {.fd = offer.bell, .events = POLLIN};
    memcpy(s->head, w->file, HEAD);
    memcpy(&s->page, offer.page, sizeof s->page);
    s->bytes = poll(&bell, 1, 0);
}

static bool is_same(const struct shared *a, const struct shared *b)
{
    return memcmp(a->head, b->head, HEAD) == 0 && memcmp(&a->page, &b->page, sizeof a->page) == 0 &&
           a->bytes == b->bytes;
}

/*
 * Forks a child that does `work`, and kills it when it has changed what is shared for time `change`, counted from 0.
 * Returns 1; 0: it came to its end before that; -1: nothing can be stepped here.
 */
static int kill_at(int change, void (*work)(void))
{
    struct shared *last = test_malloc(sizeof *last), *now = test_malloc(sizeof *now);
    int status, killed = 0;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        step_stop();
        work();
        _exit(0);
    }
    if (!step_wait(pid))
        killed = -1;
    memset(last, 0, sizeof *last);
    memset(now, 0, sizeof *now);
    note_shared(last);
    for (int seen = -1; !killed && step_once(pid, 0, &status);) {
        note_shared(now);
        if (is_same(last, now))
            continue;
        *last = *now;
        if (++seen == change) {
            step_kill(pid);
            killed = 1;
        }
    }
    if (!killed)
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    test_free(last);
    test_free(now);
    return killed;
}

/* The receiver sleeps. The sender commits and offers a packet, rings, finds what is acknowledged, frees. */
static void send_some(void)
{
    cut(0);
    offer_all();
    look();
    cut(1);
    offer_all();
}

static void receive_some(void)
{
    if (!store())
        _exit(1);
    acknowledge();
    if (direct_reader_may_sleep(reader)) /* nobody is waited for: the bell is looked at as after a wait */
        direct_reader_awake(reader);
    if (!store())
        _exit(1);
}

static void prepare(void)
{
    begin();
    for (int n = 0; n < BEFORE; n++)
        for (uint32_t i = 0; i < STREAMS; i++)
            cut(i);
    begin_session();
    offer_all();
}

static void skip_here(void)
{
    printf("skipped: no process may be single-stepped here\n");
    end();
    skip();
}

/* The receiver lives: it has stored and acknowledged half, and sleeps. The next sender recovers the window. */
TEST(a_sender_may_be_killed_after_any_step)
{
    int killed = 1, change = 0;
    for (; killed == 1; change++) {
        prepare();
        assert_true(store());
        direct_reader_acknowledge(reader, 0, notes->stored[0]);
        direct_reader_acknowledged(reader);
        assert_true(direct_reader_may_sleep(reader));
        if ((killed = kill_at(change, send_some)) < 0)
            skip_here();
        direct_reader_awake(reader);
        assert_true(store()); /* what was offered last is whole, and may be stored still */
        acknowledge();        /* to nobody */
        forget_sender();
        open_sender();
        for (uint32_t i = 0; i < STREAMS; i++) {
            uint64_t there = window_stream(w, i)->next_seq;
            assert_true(there == notes->cut[i] || there == notes->cut[i] + 1); /* killed before it noted it */
            assert_true(notes->stored[i] <= there);
            notes->cut[i] = there;
        }
        begin_session();
        check_it_goes_on();
        end();
    }
    printf("the sender was killed at %d steps\n", change - 1);
    assert_true(change > 8);
}

TEST(a_receiver_may_be_killed_after_any_step)
{
    int killed = 1, change = 0;
    for (; killed == 1; change++) {
        prepare();
        if ((killed = kill_at(change, receive_some)) < 0)
            skip_here();
        look(); /* what was acknowledged is stored, and freed */
        for (uint32_t i = 0; i < STREAMS; i++)
            assert_true(window_stream(w, i)->acked_seq <= notes->stored[i]);
        cut(1);
        offer_all(); /* rings, if it was asleep; nobody hears that */
        begin_session();
        check_it_goes_on();
        end();
    }
    printf("the receiver was killed at %d steps\n", change - 1);
    assert_true(change > 4);
}

int main(void)
{
    notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (notes == MAP_FAILED)
        return 1;
    return test_run(NULL, NULL);
}
