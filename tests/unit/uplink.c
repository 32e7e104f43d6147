// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The uplink of a source that is no external sensor. It is linked without sensor/'s other parts. */
#include "tests/lib/test.h"
#include "tests/lib/uplink_play.h"

TEST(whoever_fills_a_window_can_send_it_up)
{
    play_open();
    welcome();
    until(has_all, false);
    assert_int_equal(p.due, 1);
    assert_int_equal(p.got[0].descriptions, 1);
    assert_int_equal(p.stored, 0);
    acknowledge_all();
    until(window_is_empty, false);
    assert_int_equal(p.stored, PROCESSES * PACKETS);
    assert_int_equal(p.got[0].final_books, 0);
    for (int i = 0; i < PROCESSES; i++)
        p.processes[i].recording = false, p.processes[i].complete = true;
    until(has_final_books, false);
    assert_false(sender_booked(p.forward));
    save_books();
    until(is_booked, false);
    assert_int_equal(p.got[0].final_books, 1);
    until(took_leave, true);
    say(MESSAGE_BYE);
    until(is_done, true);
    assert_int_equal(p.spool_full, 0);
    play_close();
}

TEST(what_grew_is_described_again_ahead_of_the_next_packet)
{
    play_open();
    welcome();
    until(has_all, false);
    p.processes[0].version++;
    p.processes[1].version++;
    for (int i = 0; i < 10; i++)
        turn(false);
    assert_int_equal(p.got[0].descriptions, 1); /* nothing came that would need it */
    assert_true(model_cut(p.window, 0));
    until(is_described_again, false);
    assert_int_equal(p.got[1].descriptions, 1);
    play_close();
}

TEST(books_that_the_receiver_lost_are_sent_again)
{
    play_open();
    welcome();
    until(has_all, false);
    acknowledge_all();
    until(window_is_empty, false);
    for (int i = 0; i < PROCESSES; i++)
        p.processes[i].recording = false, p.processes[i].complete = true;
    until(has_final_books, false);
    save_books();
    until(is_booked, false);
    p.hellos = 0;
    message.need_process = (struct message_need_process){.instance = 1};
    say(MESSAGE_NEED_PROCESS);
    welcome();
    until(is_described_again, false);
    assert_false(p.processes[0].saved);
    assert_true(p.processes[1].saved);
    p.got[0].final_books = 0;
    save_books();
    until(is_booked, false);
    play_close();
}

static void die(void)
{
    until(greeted, false); /* else its HELLO could be taken for that of the next one */
    sender_close(p.forward, false);
    window_close(p.window, false);
}

static void live_again(void)
{
    uint64_t left;
    p.hellos = 0;
    memset(p.lost, 0, sizeof p.lost);
    assert_int_equal(window_open(&scratch_folder, run, uuid, WINDOW_BYTES_MIN, &p.window, &left), 0);
    assert_true(window_find(p.window, 1, 0) >= 0);
    open_sender();
}

/* Fills the window until half of it is in the spool; then the daemon is killed. */
static void spool_and_die(void)
{
    for (int i = 0; i < 1000 && sender_spooled(p.forward) < WINDOW_BYTES_MIN / 2; i++) {
        for (int n = 0; n < 16; n++)
            (void)(model_cut(p.window, 0) && model_cut(p.window, 1));
        turn(false);
    }
    assert_true(sender_spooled(p.forward) >= WINDOW_BYTES_MIN / 2);
    die();
}

static const char *spool_file(void)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/bezel-%02x%02x%02x%02x%02x%02x%02x%02x%02x%02x000000000000.spool", scratch_dir,
             uuid[0], uuid[1], uuid[2], uuid[3], uuid[4], uuid[5], uuid[6], uuid[7], uuid[8], uuid[9]);
    return path;
}

static void change_byte(off_t at)
{
    const char *path = spool_file();
    char changed;
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, &changed, 1, at), 1);
    changed ^= 1;
    assert_int_equal(pwrite(fd, &changed, 1, at), 1);
    close(fd);
}

static bool both_are_lost(void)
{
    return p.lost[0] + p.lost[1] == PROCESSES;
}

enum { HEAD = 9, FIRST_ENTRY = 4096 + 40 }; /* bytes of the spool */

/* Of a spool in which a byte changed between two lives. take_packet() sees that no packet comes out of its order. */
TEST(what_was_lost_with_the_spool_is_told_and_nothing_is_sent_behind_it)
{
    static const off_t offsets[] = {HEAD, FIRST_ENTRY};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        play_open();
        spool_and_die();
        change_byte(offsets[i]);
        p.may_lose = true;
        live_again();
        welcome();
        until(both_are_lost, false);
        until(window_is_empty, false);
        assert_int_equal(p.damages, offsets[i] != HEAD); /* of that one nobody knows how much there was */
        assert_int_equal(p.got[0].next_seq + p.got[1].next_seq, 0);
        play_close();
    }
}

/*
 * The daemon that found the loss is killed before it knows whose packets are missing; the next one after it has told
 * that; a third one ends in order, with an empty spool, while the run goes on.
 */
TEST(what_was_lost_with_the_spool_is_known_in_all_later_lives)
{
    static const off_t offsets[] = {HEAD, FIRST_ENTRY};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        play_open();
        spool_and_die();
        change_byte(offsets[i]);
        p.may_lose = true;
        live_again();
        die();
        for (int life = 0; life < 3; life++) {
            live_again();
            welcome();
            until(both_are_lost, false);
            assert_true(model_cut(p.window, 0) && model_cut(p.window, 1));
            until(window_is_empty, false);
            assert_int_equal(sender_spooled(p.forward), 0);
            die();
        }
        assert_int_equal(p.damages, offsets[i] != HEAD);
        assert_int_equal(p.got[0].next_seq + p.got[1].next_seq, 0);
        live_again();
        play_close();
    }
}

/* Empty and in doubt, it is kept for a daemon that comes back; after the goodbye none does. */
TEST(a_spool_that_lost_packets_is_removed_with_the_run)
{
    play_open();
    spool_and_die();
    change_byte(HEAD);
    p.may_lose = true;
    live_again();
    welcome();
    until(both_are_lost, false);
    for (int i = 0; i < PROCESSES; i++)
        p.processes[i].recording = false, p.processes[i].complete = true;
    until(took_leave, true);
    say(MESSAGE_BYE);
    until(is_done, true);
    sender_close(p.forward, false);
    assert_int_equal(access(spool_file(), F_OK), -1);
    window_close(p.window, false);
    live_again();
    play_close();
}

/* Whose first packets went to another receiver is given up, and is so in the next life, which tells it once more. */
TEST(a_stream_that_was_given_up_stays_so_when_the_daemon_is_killed)
{
    play_open();
    welcome();
    until(has_all, false);
    acknowledge_all();
    until(window_is_empty, false);
    link_close(p.link, 0);
    snprintf(p.endpoint, sizeof p.endpoint, "ipc://%s/other", scratch_dir);
    assert_int_equal(link_bind(p.endpoint, PACKET_MAX_BYTES, NULL, &p.link), 0);
    p.hellos = 0;
    p.may_lose = true;
    memset(p.got, 0, sizeof p.got);
    sender_redirect(p.forward, p.endpoint, p.now);
    welcome();
    until(both_are_lost, false);
    assert_true(model_cut(p.window, 0) && model_cut(p.window, 1));
    die();
    live_again();
    assert_true(window_stream(p.window, 0)->torn && window_stream(p.window, 1)->torn);
    welcome();
    until(both_are_lost, false);
    assert_true(model_cut(p.window, 0) && model_cut(p.window, 1));
    until(window_is_empty, false);
    assert_int_equal(p.got[0].next_seq + p.got[1].next_seq, 0);
    play_close();
}

/* ---- Answers that are not what they seem ------------------------------------------------------------------------- */

static void answer_books(uint64_t instance, uint64_t at)
{
    message.books = (struct message_books){.instance = instance, .state = PROCESS_ENDED, .at = at};
    say(MESSAGE_BOOKS);
    settle();
}

static bool first_is_saved(void)
{
    return p.processes[0].saved;
}

/* An answer to books that are not the final ones, or were sent before these, confirms nothing. */
TEST(only_an_answer_to_its_final_books_confirms_a_process)
{
    play_open();
    welcome();
    until(has_all, false);
    p.now += SENDER_BOOKS_NS;
    settle();
    assert_true(p.got[0].books > 0);
    assert_int_equal(p.got[0].final_books, 0);
    answer_books(1, p.got[0].books_at);
    answer_books(1, UINT64_MAX);
    assert_false(p.processes[0].saved); /* it records on */
    acknowledge_all();
    until(window_is_empty, false);
    uint64_t before = p.got[0].books_at;
    p.now += CLOCK_S;
    for (int i = 0; i < PROCESSES; i++)
        p.processes[i].recording = false, p.processes[i].complete = true;
    until(has_final_books, false);
    assert_true(p.got[0].books_at > before);
    answer_books(1, before);
    answer_books(1, p.got[0].books_at - 1);
    assert_false(p.processes[0].saved);
    assert_false(p.processes[1].saved);
    answer_books(1, p.got[0].books_at);
    until(first_is_saved, false);
    assert_false(p.processes[1].saved);
    assert_false(sender_booked(p.forward));
    play_close();
}

TEST(a_leave_that_was_not_taken_is_not_granted)
{
    play_open();
    welcome();
    until(has_all, false);
    say(MESSAGE_BYE);
    settle();
    assert_false(sender_done(p.forward));
    play_close();
}

/* A welcome of several parts counts with its last one; one that nobody asked for does not count. */
TEST(a_welcome_counts_once_and_whole)
{
    play_open();
    welcome();
    until(has_all, false);
    fall_silent();
    until(greeted, false);
    message.welcome = (struct message_welcome){.more = true, .stream_count = 1};
    message.welcome.streams[0] = (struct message_position){.instance = 1, .next_seq = 5};
    p.got[0].next_seq = 5;
    say(MESSAGE_WELCOME);
    settle();
    assert_false(sender_connected(p.forward));
    message.welcome = (struct message_welcome){.stream_count = 1};
    message.welcome.streams[0] = (struct message_position){.instance = 2, .next_seq = 7};
    p.got[1].next_seq = 7;
    say(MESSAGE_WELCOME);
    until(has_all, false); /* from there on */
    settle();
    uint64_t waiting = window_waiting(p.window);
    message.welcome = (struct message_welcome){.stream_count = 1};
    message.welcome.streams[0] = (struct message_position){.instance = 1, .next_seq = PACKETS};
    say(MESSAGE_WELCOME);
    settle();
    assert_int_equal(sender_counts(p.forward)->welcomes, 2);
    assert_int_equal(window_waiting(p.window), waiting);
    play_close();
}

/* Who repeats where it stands lacks nothing, if nothing else was sent. */
TEST(a_position_that_is_the_last_sent_asks_for_nothing)
{
    play_open();
    welcome();
    until(has_all, false);
    acknowledge_all();
    until(window_is_empty, false);
    for (int i = 0; i < 3; i++) {
        acknowledge_all();
        settle();
    }
    assert_int_equal(p.hellos, 1);
    play_close();
}

/* A second request for a process, too early for another connection, is answered on this one. */
TEST(a_process_that_is_asked_for_again_at_once_is_described_again)
{
    play_open();
    welcome();
    until(has_all, false);
    acknowledge_all();
    until(window_is_empty, false);
    p.hellos = 0;
    message.need_process = (struct message_need_process){.instance = 1};
    say(MESSAGE_NEED_PROCESS);
    welcome();
    p.got[0].descriptions = 0;
    p.processes[0].recording = false, p.processes[0].complete = true;
    assert_true(model_cut(p.window, 0));
    for (p.got[0].descriptions = 0; p.got[0].descriptions < 1;)
        turn(false);
    message.need_process = (struct message_need_process){.instance = 1};
    say(MESSAGE_NEED_PROCESS);
    until(is_described_again, false);
    assert_int_equal(p.hellos, 1);
    play_close();
}

/* ---- A spool that lost packets ----------------------------------------------------------------------------------- */

static bool is_connected(void)
{
    return sender_connected(p.forward);
}

/* A life that leaves packets of both streams in the spool, a byte of which changes, and those behind them in the
 * window. */
static void leave_a_spool(void)
{
    struct stat st;
    play_open();
    for (int i = 0; sender_spooled(p.forward) < SPOOL_BYTES_MIN; i++) {
        assert_true(i < 10000);
        for (uint32_t k = 0; k < PROCESSES; k++)
            (void)model_cut(p.window, k);
        turn(false);
    }
    die();
    assert_int_equal(stat(spool_file(), &st), 0);
    change_byte(st.st_size / 2);
    p.may_lose = true;
    live_again();
}

static void welcome_at(uint64_t first, uint64_t second)
{
    until(greeted, false);
    message.welcome = (struct message_welcome){.stream_count = PROCESSES};
    message.welcome.streams[0] = (struct message_position){.instance = 1, .next_seq = first};
    message.welcome.streams[1] = (struct message_position){.instance = 2, .next_seq = second};
    say(MESSAGE_WELCOME);
    until(is_connected, false);
}

static bool has_all_of_the_first(void)
{
    return p.got[0].next_seq == window_stream(p.window, 0)->next_seq;
}

/* What the receiver has already lacks nothing, whatever the spool lost; one packet that neither has tears its stream.
 */
TEST(a_stream_is_torn_where_a_packet_is_nowhere_and_no_other)
{
    leave_a_spool();
    for (uint32_t i = 0; i < PROCESSES; i++)
        assert_in_range(window_stream(p.window, i)->spooled_seq, 1, window_first(p.window, i) - 1); /* a gap */
    p.got[0].next_seq = window_first(p.window, 0);
    welcome_at(p.got[0].next_seq, window_first(p.window, 1) - 1);
    assert_int_equal(p.lost[0], 0);
    assert_int_equal(p.lost[1], 1);
    assert_false(window_stream(p.window, 0)->torn);
    assert_true(window_stream(p.window, 1)->torn);
    until(has_all_of_the_first, false);
    message.ack = (struct message_ack){.stream_count = 1};
    message.ack.streams[0] = (struct message_position){.instance = 1, .next_seq = p.got[0].next_seq};
    say(MESSAGE_ACK);
    until(window_is_empty, false);
    assert_int_equal(p.got[1].next_seq, 0);
    fall_silent();
    welcome_at(p.got[0].next_seq, 0);
    assert_int_equal(p.lost[1], 1); /* noted once */
    play_close();
}
