// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The uplink of a source whose receiver is on its machine, and reads the window. */
#include "tests/lib/test.h"
#include "tests/lib/uplink_play.h"

#include "base/uuid.h"
#include "mdr/uplink/direct.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

static bool has_asked(void)
{
    return p.asks.proof != 0;
}

static bool is_direct(void)
{
    const char *why;
    return sender_is_direct(p.forward, &why);
}

static struct direct_reader *agree(void)
{
    struct direct_reader *reader;
    char why[DIRECT_WHY_MAX];
    p.hellos = 0;
    p.asks.proof = 0;
    message.welcome = (struct message_welcome){.stream_count = PROCESSES};
    clock_identity(message.welcome.clock);
    for (uint32_t i = 0; i < PROCESSES; i++)
        message.welcome.streams[i] = (struct message_position){.instance = i + 1, .next_seq = p.got[i].next_seq};
    say(MESSAGE_WELCOME);
    until(has_asked, false);
    assert_int_equal(direct_reader_open(p.asks.text, run, uuid, p.asks.proof, &reader, why), 0);
    message.direct = p.asks;
    message.direct.agreed = true;
    message.direct.text[0] = '\0';
    say(MESSAGE_DIRECT);
    until(is_direct, false);
    return reader;
}

/* Up to `most` packets that pass directly, as the receiver takes those of the link. */
static uint64_t read_directly(struct direct_reader *reader, uint64_t most)
{
    struct direct_packet packet;
    uint64_t n = 0;
    assert_int_equal(direct_reader_fill(reader), 0);
    for (; n < most && direct_reader_look(reader, &packet) == 1; n++) {
        take_packet(&(struct link_frame){.data = packet.data, .size = packet.bytes});
        direct_reader_take(reader);
    }
    return n;
}

static bool has_spooled(void)
{
    return sender_spooled(p.forward) > 0;
}

/* Takes and acknowledges what comes by either way. Returns how many packets passed directly. */
static uint64_t read_all(struct direct_reader *reader)
{
    uint64_t directly = 0;
    int64_t deadline = clock_now() + PATIENCE;
    while (p.got[0].next_seq < window_stream(p.window, 0)->next_seq ||
           p.got[1].next_seq < window_stream(p.window, 1)->next_seq) {
        turn(false);
        directly += read_directly(reader, UINT64_MAX);
        acknowledge_all();
        assert_true(clock_now() < deadline);
    }
    return directly;
}

/*
 * The receiver reads the window and stops; then packets that it was offered move to the spool. It greets the sender
 * again, and gets what it lacks by the link, in order and once; take_packet() sees to that. Then all passes directly.
 */
TEST(what_is_offered_moves_to_the_spool_while_nobody_takes_it)
{
    enum { TAKEN = 3 };
    play_open();
    until(greeted, false);
    struct direct_reader *reader = agree();
    settle();
    assert_true(p.got[0].descriptions == 1 && p.got[1].descriptions == 1);
    assert_true(p.got[0].next_seq == 0 && p.got[1].next_seq == 0); /* nothing took the link */
    assert_int_equal(read_directly(reader, TAKEN), TAKEN);
    for (int i = 0; i < 1000 && !has_spooled(); i++) {
        for (int n = 0; n < 16; n++)
            (void)(model_cut(p.window, 0) && model_cut(p.window, 1));
        turn(false);
    }
    assert_true(has_spooled());
    p.now += CLOCK_S; /* HELLO is not said too often */
    until(greeted, false);
    direct_reader_close(reader);
    reader = agree();
    uint64_t directly = read_all(reader);
    assert_true(directly > 0 && directly < p.got[0].next_seq + p.got[1].next_seq - TAKEN);
    until(window_is_empty, false);
    uint64_t before = p.got[0].next_seq;
    assert_true(model_cut(p.window, 0));
    settle();
    assert_int_equal(p.got[0].next_seq, before);
    assert_int_equal(read_directly(reader, UINT64_MAX), 1);
    direct_reader_close(reader);
    play_close();
}

/* While each poll brings packets the receiver looks by itself; nobody rings. When one brings none it sleeps again. */
TEST(who_finds_packets_at_each_look_needs_no_bell)
{
    int fd;
    play_open();
    until(greeted, false);
    struct direct_reader *reader = agree();
    assert_true(read_all(reader) > 0);
    int64_t next = 0;
    for (int i = 0, looks = 0; looks < 2; i++) {
        assert_in_range(i, 0, 1000);
        assert_int_equal(read_directly(reader, UINT64_MAX), i ? 1 : 0);
        int64_t lasts = direct_reader_sleep(reader, false, &fd, CLOCK_S);
        bool expects = i >= 4 && (fd < 0 || clock_now() < next); /* on a busy machine the next poll may be over */
        looks += expects;
        assert_int_equal(fd, expects ? -1 : direct_reader_bell(reader));
        assert_true(expects ? lasts > 0 && lasts < CLOCK_S : lasts == CLOCK_S);
        assert_true(model_cut(p.window, 0));
        next = clock_now() + 9 * CLOCK_MS;
        sender_next(p.forward, next);
        turn(false);
        struct pollfd bell = {.fd = direct_reader_bell(reader), .events = POLLIN};
        assert_int_equal(poll(&bell, 1, 0), expects ? 0 : 1);
        direct_reader_awake(reader);
        assert_int_equal(poll(&bell, 1, 0), 0);
    }
    sender_next(p.forward, INT64_MAX); /* a hostile one */
    assert_true(model_cut(p.window, 0));
    turn(false);
    assert_int_equal(read_directly(reader, UINT64_MAX), 2);
    assert_int_equal(direct_reader_sleep(reader, false, &fd, CLOCK_S), CLOCK_S);
    assert_int_equal(fd, direct_reader_bell(reader));
    assert_int_equal(read_directly(reader, UINT64_MAX), 0);
    direct_reader_close(reader);
    play_close();
}

/* As whoever may write in the folder can. */
static struct direct_page *open_page(void)
{
    char path[SCRATCH_PATH + sizeof DIRECT_NAME];
    snprintf(path, sizeof path, "%s/" DIRECT_NAME, scratch_dir);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    struct direct_page *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(page != MAP_FAILED);
    close(fd);
    return page;
}

/*
 * A receiver that has mapped the page says what it likes there: what was never offered is not acknowledged, and while
 * it acknowledges nothing the window keeps all, until another receiver takes it.
 */
TEST(a_receiver_that_lies_or_never_acknowledges_frees_nothing)
{
    play_open();
    until(greeted, false);
    struct direct_reader *reader = agree();
    settle();
    struct direct_page *page = open_page();
    static const uint64_t lies[] = {PACKETS + 1, UINT64_MAX, UINT64_C(1) << 32};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        for (uint32_t stream = 0; stream < WINDOW_STREAMS; stream++)
            direct_reader_acknowledge(reader, stream, lies[i]);
        direct_reader_acknowledged(reader);
        settle();
        assert_int_equal(p.stored, 0);
        assert_int_equal(window_stream(p.window, 0)->acked_seq, 0);
    }
    for (uint64_t word = 1; word < 1 << 12; word++) { /* of another process */
        atomic_store(&page->acks[0], word % 2 ? word : word << 24);
        atomic_fetch_add(&page->turn, 1);
        sender_step(p.forward, p.now, false);
        assert_int_equal(window_stream(p.window, 0)->acked_seq, 0);
    }
    munmap(page, sizeof *page);
    direct_reader_close(reader);
    fall_silent();
    until(greeted, false);
    reader = agree();
    int64_t deadline = clock_now() + PATIENCE;
    for (uint64_t n = 0; n < PROCESSES * PACKETS; n += read_directly(reader, UINT64_MAX)) {
        turn(false);
        assert_true(clock_now() < deadline);
    }
    acknowledge_all();
    until(window_is_empty, false);
    direct_reader_close(reader);
    play_close();
}

/*
 * A receiver that was stopped, and that the sender has given up for another one, goes on: it finds nothing offered, and
 * what it still acknowledges was stored by it, and not by the one that reads now.
 */
TEST(an_earlier_receiver_takes_nothing_and_is_not_heard)
{
    play_open();
    until(greeted, false);
    struct direct_reader *before = agree();
    settle();
    assert_int_equal(read_directly(before, UINT64_MAX), PROCESSES * PACKETS);
    memset(p.got, 0, sizeof p.got); /* the other one has nothing */
    fall_silent();
    until(greeted, false);
    struct direct_reader *after = agree();
    for (uint32_t i = 0; i < PROCESSES; i++)
        direct_reader_acknowledge(before, i, PACKETS);
    direct_reader_acknowledged(before);
    settle();
    assert_int_equal(p.stored, 0);
    assert_int_equal(read_directly(before, UINT64_MAX), 0);
    assert_int_equal(read_directly(after, UINT64_MAX), PROCESSES * PACKETS);
    direct_reader_close(before);
    direct_reader_close(after);
    play_close();
}

/* The receiver lives, for `ns`. */
static void beat_for(int64_t ns)
{
    for (int64_t end = p.now + ns; p.now < end; p.now += CLOCK_S / 4) {
        message.heartbeat.at = (uint64_t)p.now;
        say(MESSAGE_HEARTBEAT);
        settle();
    }
}

/* Whoever may write in the folder writes over the offer: no receiver finds it, and packets take the link for good. */
TEST(an_offer_that_another_process_wrote_over_takes_the_link)
{
    for (int word = 0; word < 4; word++) {
        const char *why;
        play_open();
        until(greeted, false);
        struct direct_reader *reader = agree();
        settle();
        struct direct_page *page = open_page();
        _Atomic uint64_t *const words[] = {&page->from, &page->to, &page->low, &page->said};
        atomic_fetch_xor(words[word], 1 << word);
        munmap(page, sizeof *page);
        beat_for(3 * CLOCK_S);
        assert_true(p.hellos > 0);
        p.asks.proof = 0;
        message.welcome = (struct message_welcome){0};
        clock_identity(message.welcome.clock);
        say(MESSAGE_WELCOME);
        until(has_all, false);
        assert_int_equal(p.by_link, 1);
        assert_true(!has_asked() && !sender_is_direct(p.forward, &why) && strstr(why, scratch_dir));
        direct_reader_close(reader);
        play_close();
    }
}

/* A receiver may be paused. */
TEST(what_is_offered_may_wait_while_nobody_stores)
{
    play_open();
    until(greeted, false);
    struct direct_reader *reader = agree();
    beat_for(10 * CLOCK_S);
    assert_true(p.hellos == 0 && p.by_link == 0 && is_direct());
    assert_int_equal(read_directly(reader, UINT64_MAX), PROCESSES * PACKETS);
    acknowledge_all();
    until(window_is_empty, false);
    direct_reader_close(reader);
    play_close();
}

TEST(an_acknowledgement_that_another_process_wrote_over_comes_once_more)
{
    play_open();
    until(greeted, false);
    struct direct_reader *reader = agree();
    settle();
    struct direct_page *page = open_page();
    assert_int_equal(read_directly(reader, UINT64_MAX), PROCESSES * PACKETS);
    for (uint32_t i = 0; i < PROCESSES; i++)
        direct_reader_acknowledge(reader, i, PACKETS);
    for (uint32_t i = 0; i < PROCESSES; i++)
        atomic_store(&page->acks[i], UINT64_MAX - i);
    direct_reader_acknowledged(reader);
    munmap(page, sizeof *page);
    beat_for(3 * CLOCK_S);
    assert_true(p.hellos > 0 && p.by_link == 0);
    direct_reader_close(reader);
    reader = agree();
    until(window_is_empty, false);
    direct_reader_close(reader);
    play_close();
}

static bool has_more_of_the_second(void)
{
    return p.got[1].next_seq == PACKETS + 1;
}

/* Packets of a torn stream are freed unread, from under a reader: while there is such a stream, packets take the link.
 */
TEST(beside_a_torn_stream_packets_take_the_link)
{
    const char *why;
    play_open();
    until(greeted, false);
    struct direct_reader *reader = agree();
    settle();
    assert_int_equal(read_directly(reader, UINT64_MAX), PROCESSES * PACKETS);
    acknowledge_all();
    until(window_is_empty, false);
    window_tear(p.window, 0);
    for (uint32_t i = 0; i < PROCESSES; i++)
        assert_true(model_cut(p.window, i));
    assert_true(!sender_is_direct(p.forward, &why) && why[0]);
    until(has_more_of_the_second, false);
    assert_int_equal(read_directly(reader, UINT64_MAX), 0);
    acknowledge_all();
    until(window_is_empty, false);
    assert_int_equal(p.got[0].next_seq, PACKETS);
    window_forget(p.window, 1);
    until(is_direct, false);
    assert_true(model_cut(p.window, 1));
    settle();
    assert_int_equal(read_directly(reader, UINT64_MAX), 1);
    direct_reader_close(reader);
    play_close();
}

/* As where the file system has no room: the page is not made, nothing of it stays, and packets take the link. */
TEST(without_room_for_the_page_packets_take_the_link)
{
    const struct rlimit little = {.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
    struct rlimit before;
    struct direct_offer offer;
    char path[SCRATCH_PATH + sizeof DIRECT_NAME];
    play_open();
    sender_close(p.forward, true);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    int err = direct_offer_open(&offer, scratch_dir, run, uuid);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(err != 0 && !offer.page && offer.bell < 0);
    snprintf(path, sizeof path, "%s/" DIRECT_NAME, scratch_dir);
    assert_int_equal(access(path, F_OK), -1);
    open_sender();
    play_close();
}

static void invite(const uint8_t machine[16])
{
    char text[37];
    message.direct = (struct message_direct){.attempt = p.attempt, .agreed = true};
    message_text(message.direct.text, MESSAGE_TEXT_MAX, uuid_print(machine, text));
    say(MESSAGE_DIRECT);
    settle();
}

/* The root has another clock, but who passes its messages on is beside the sender: it asks that. */
TEST(an_inner_collector_on_this_machine_may_invite)
{
    uint8_t own[16];
    struct direct_reader *reader;
    char why[DIRECT_WHY_MAX];
    play_open();
    until(greeted, false);
    message.welcome = (struct message_welcome){.clock = "another clock"};
    say(MESSAGE_WELCOME);
    settle();
    assert_true(p.got[0].next_seq == PACKETS && p.got[1].next_seq == PACKETS && !has_asked()); /* by the link */
    invite((const uint8_t[16]){"a third machine"});
    assert_false(has_asked());
    clock_identity(own);
    invite(own);
    assert_true(has_asked());
    assert_int_equal(direct_reader_open(p.asks.text, run, uuid, p.asks.proof, &reader, why), 0);
    message.direct = p.asks;
    message.direct.agreed = true;
    message.direct.text[0] = '\0';
    say(MESSAGE_DIRECT);
    acknowledge_all();
    until(is_direct, false);
    until(window_is_empty, false);
    p.processes[0].version++; /* its new description goes before the packet, and over the link */
    assert_true(model_cut(p.window, 0));
    settle();
    assert_int_equal(read_directly(reader, UINT64_MAX), 1);
    assert_true(direct_reader_said(reader) > 0);
    acknowledge_all(); /* over the link, as the root does */
    until(window_is_empty, false);
    direct_reader_close(reader);
    play_close();
}
