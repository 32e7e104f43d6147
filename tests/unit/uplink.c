// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The uplink of a source that is no external sensor: the test fills a window with packets of two processes, and plays
 * the receiver too. It is linked without sensor/'s other parts.
 */
#include "mdr/uplink/uplink.h"
#include "base/clock.h"
#include "mdr/uplink/sender.h"
#include "mdr/uplink/spool.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/window_model.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
    #include <unistd.h>

#include <cmocka.h>

    enum {
        PROCESSES = 2,
        PACKETS = 20
    };

/* What the receiver got of a process, in the order in which it came. */
struct received {
    uint32_t descriptions, books, final_books;
    uint64_t next_seq, books_at;
};

static struct play {
    struct window *window;
    struct sender *forward;
    struct link *link; /* the receiver's */
    struct link_peer peer;
    uint32_t hellos, byes;
    struct received got[PROCESSES];
    /* the source */
    struct uplink_process processes[PROCESSES];
    uint32_t stored, spool_full, due;
    bool may_lose;                     /* packets, with the spool */
    uint32_t damages, lost[PROCESSES]; /* notes about that; about each process's ring */
    int64_t now;
} p;

static const uint8_t run[16] = "this run", uuid[16] = "this trace";
static struct message message;
static uint8_t bytes[MESSAGE_MAX_BYTES];

/* ---- The source -------------------------------------------------------------------------------------------------- */

static bool find(void *context, uint64_t instance, struct uplink_process *to)
{
    struct play *play = context;
    if (instance == 0 || instance > PROCESSES)
        return false;
    *to = play->processes[instance - 1];
    return true;
}

static bool next(void *context, uint32_t from, bool idle, struct uplink_process *to)
{
    (void)idle;
    return find(context, from + 1, to);
}

static void describe(void *context, uint64_t instance, struct message_process *m)
{
    (void)context;
    *m = (struct message_process){.instance = instance, .stream_id = (uint32_t)instance, .name = "somebody"};
}

static void books(void *context, uint64_t instance, bool final, int64_t now, struct message_books *b)
{
    (void)context;
    *b = (struct message_books){
        .instance = instance, .state = final ? PROCESS_ENDED : PROCESS_RUNNING, .at = (uint64_t)now};
}

static uint64_t unobserved(const void *context)
{
    (void)context;
    return 0;
}

static const struct message_note *note(const void *context, uint32_t i)
{
    (void)context;
    (void)i;
    return NULL;
}

static void add_note(void *context, uint64_t instance, int64_t now, const char *code, const char *format, ...)
{
    (void)context;
    (void)now;
    (void)format;
    if (p.may_lose && strcmp(code, "BEZEL-SPOOL-LOST") == 0)
        p.lost[instance - 1]++;
    else if (p.may_lose && strcmp(code, "BEZEL-SPOOL-DAMAGED") == 0)
        p.damages++;
    else
        fail_msg("%s", code);
}

static void books_due(void *context, int64_t now)
{
    (void)now;
    ((struct play *)context)->due++;
}

static void saved(void *context, uint64_t instance, bool is)
{
    ((struct play *)context)->processes[instance - 1].saved = is;
}

static void stored(void *context, const struct packet_header *h, int64_t now)
{
    (void)h;
    (void)now;
    ((struct play *)context)->stored++;
}

static void spool_full(void *context, bool full)
{
    ((struct play *)context)->spool_full += full;
}

static void open_source(void)
{
    uint64_t left;
    uint32_t id;
    assert_int_equal(window_open(&scratch_folder, run, uuid, WINDOW_BYTES_MIN, &p.window, &left), 0);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        p.processes[i] = (struct uplink_process){.instance = i + 1, .place = i, .recording = true};
        assert_int_equal(window_stream_id(p.window, i + 1, &id), 0);
        int n = window_add_stream(p.window, i + 1, 0, id, 0);
        assert_int_equal(n, i);
        for (int packet = 0; packet < PACKETS; packet++)
            assert_true(model_cut(p.window, i));
    }
}

/* ---- The receiver ------------------------------------------------------------------------------------------------ */

static void say(enum message_type type)
{
    message.type = type;
    int n = message_encode(&message, bytes, sizeof bytes);
    assert_true(n > 0);
    assert_int_equal(link_send(p.link, &p.peer, bytes, (size_t)n), 0);
}

static void take_packet(const struct link_frame *frame)
{
    struct packet_header h;
    assert_int_equal(packet_get_header(frame->data, frame->size, &h), 0);
    struct received *got = &p.got[h.instance - 1];
    assert_true(got->descriptions > 0);
    assert_int_equal(h.seq, got->next_seq);
    got->next_seq++;
}

static void take_message(const struct link_frame *frame)
{
    assert_int_equal(message_decode(frame->data, frame->size, &message), 0);
    if (message.type == MESSAGE_HELLO) {
        assert_memory_equal(message.hello.run, run, sizeof run);
        assert_memory_equal(message.hello.uuid, uuid, sizeof uuid);
        p.peer = frame->peer;
        p.hellos++;
    } else if (message.type == MESSAGE_PROCESS) {
        p.got[message.process.instance - 1].descriptions++;
    } else if (message.type == MESSAGE_BOOKS) {
        struct received *got = &p.got[message.books.instance - 1];
        got->books++;
        got->final_books += message.books.state == PROCESS_ENDED;
        got->books_at = message.books.at;
    }
    p.byes += message.type == MESSAGE_BYE;
}

static void turn(bool bye)
{
    struct link_frame frame;
    sender_attend(p.forward);
    sender_step(p.forward, p.now, bye);
    while (link_receive(p.link, &frame) == 0) {
        if (packet_is_packet(frame.data, frame.size))
            take_packet(&frame);
        else
            take_message(&frame);
        link_frame_free(&frame);
    }
    struct link *links[] = {p.link, sender_link(p.forward)};
    (void)link_wait(links, 2, NULL, 0, CLOCK_MS);
}

static void until(bool (*done)(void), bool bye)
{
    int64_t deadline = clock_now() + PATIENCE;
    while (!done()) {
        turn(bye);
        assert_true(clock_now() < deadline);
    }
}

static bool greeted(void)
{
    return p.hellos > 0;
}

static bool has_all(void)
{
    return p.got[0].next_seq == PACKETS && p.got[1].next_seq == PACKETS;
}

static bool window_is_empty(void)
{
    return window_waiting(p.window) == 0;
}

static bool has_final_books(void)
{
    return p.got[0].final_books > 0 && p.got[1].final_books > 0;
}

static bool is_booked(void)
{
    return sender_booked(p.forward);
}

static bool is_described_again(void)
{
    return p.got[0].descriptions == 2;
}

static bool took_leave(void)
{
    return p.byes > 0;
}

static bool is_done(void)
{
    return sender_done(p.forward);
}

static void welcome(void)
{
    until(greeted, false);
    message.welcome = (struct message_welcome){0};
    say(MESSAGE_WELCOME);
}

static void acknowledge_all(void)
{
    message.ack = (struct message_ack){.stream_count = PROCESSES};
    for (uint32_t i = 0; i < PROCESSES; i++)
        message.ack.streams[i] = (struct message_position){.instance = i + 1, .next_seq = p.got[i].next_seq};
    say(MESSAGE_ACK);
}

static void save_books(void)
{
    for (uint32_t i = 0; i < PROCESSES; i++) {
        message.books = (struct message_books){.instance = i + 1, .state = PROCESS_ENDED, .at = p.got[i].books_at};
        say(MESSAGE_BOOKS);
    }
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

static void open_sender(void)
{
    char endpoint[96];
    snprintf(endpoint, sizeof endpoint, "ipc://%s/data", scratch_dir);
    if (!p.link)
        assert_int_equal(link_bind(endpoint, PACKET_MAX_BYTES, NULL, &p.link), 0);
    struct uplink_source source = {.context = &p,
                                   .window = p.window,
                                   .dir = scratch_dir,
                                   .find = find,
                                   .next = next,
                                   .describe = describe,
                                   .books = books,
                                   .unobserved = unobserved,
                                   .note = note,
                                   .add_note = add_note,
                                   .books_due = books_due,
                                   .saved = saved,
                                   .stored = stored,
                                   .spool_full = spool_full};
    memcpy(source.run, run, sizeof run);
    memcpy(source.uuid, uuid, sizeof uuid);
    struct sender_options options = {.endpoint = p.endpoint,
                                     .hello = {.node = "anybody", .pid = 1},
                                     .spool_dir = scratch_dir,
                                     .spool_bytes = 4 * SPOOL_BYTES_MIN};
    assert_int_equal(sender_open(&source, &options, &p.forward), 0);
}

static void play_open(void)
{
    memset(&p, 0, sizeof p);
    scratch_begin(NULL);
    open_source();
    open_sender();
}

static void play_close(void)
{
    sender_close(p.forward, true);
    link_close(p.link, 0);
    window_close(p.window, true);
    scratch_end(NULL);
}

static void whoever_fills_a_window_can_send_it_up(void **unused)
{
    (void)unused;
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

static void what_grew_is_described_again_ahead_of_the_next_packet(void **unused)
{
    (void)unused;
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

static void books_that_the_receiver_lost_are_sent_again(void **unused)
{
    (void)unused;
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

/* Fills the window until half of it is in the spool; then the daemon is killed. */
static void spool_and_die(void)
{
    for (int i = 0; i < 1000 && sender_spooled(p.forward) < WINDOW_BYTES_MIN / 2; i++) {
        for (int n = 0; n < 16; n++)
            (void)(model_cut(p.window, 0) && model_cut(p.window, 1));
        turn(false);
    }
    assert_true(sender_spooled(p.forward) >= WINDOW_BYTES_MIN / 2);
    sender_close(p.forward, false);
    window_close(p.window, false);
}

static void change_byte(off_t at)
{
    char path[128], changed;
    snprintf(path, sizeof path, "%s/bezel-%02x%02x%02x%02x%02x%02x%02x%02x%02x%02x000000000000.spool", scratch_dir,
             uuid[0], uuid[1], uuid[2], uuid[3], uuid[4], uuid[5], uuid[6], uuid[7], uuid[8], uuid[9]);
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

/* Of a spool in which a byte changed between two lives. take_packet() sees that no packet comes out of its order. */
static void what_was_lost_with_the_spool_is_told_and_nothing_is_sent_behind_it(void **unused)
{
    enum { HEAD = 9, FIRST_ENTRY = 4096 + 40 };
    static const off_t offsets[] = {HEAD, FIRST_ENTRY};
    uint64_t left;
    (void)unused;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        play_open();
        spool_and_die();
        change_byte(offsets[i]);
        p.hellos = 0;
        p.may_lose = true;
        assert_int_equal(window_open(&scratch_folder, run, uuid, WINDOW_BYTES_MIN, &p.window, &left), 0);
        assert_true(window_find(p.window, 1, 0) >= 0);
        open_sender();
        welcome();
        until(both_are_lost, false);
        until(window_is_empty, false);
        assert_int_equal(p.damages, offsets[i] != HEAD); /* of that one nobody knows how much there was */
        assert_int_equal(p.got[0].next_seq + p.got[1].next_seq, 0);
        play_close();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_fills_a_window_can_send_it_up),
        cmocka_unit_test(what_grew_is_described_again_ahead_of_the_next_packet),
        cmocka_unit_test(books_that_the_receiver_lost_are_sent_again),
        cmocka_unit_test(what_was_lost_with_the_spool_is_told_and_nothing_is_sent_behind_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
