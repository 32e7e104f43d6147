// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The uplink of a source that is no external sensor: the test fills a window with packets of two processes, and plays
 * the receiver too. One play at a time, `p`.
 */
#ifndef BEZEL_TESTS_LIB_UPLINK_PLAY_H
#define BEZEL_TESTS_LIB_UPLINK_PLAY_H

#include "base/clock.h"
#include "mdr/message.h"
#include "mdr/uplink/sender.h"
#include "mdr/uplink/spool.h"
#include "mdr/uplink/uplink.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "tests/lib/window_model.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROCESSES = 2, PACKETS = 20 };

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
    uint64_t attempt;           /* of the last HELLO */
    struct message_direct asks; /* the sender's last one */
    struct received got[PROCESSES];
    /* the source */
    struct uplink_process processes[PROCESSES];
    uint32_t stored, spool_full, due;
    bool may_lose;                     /* packets, with the spool or the receiver that had them */
    uint32_t damages, lost[PROCESSES]; /* notes about that; about each process's ring */
    uint32_t by_link;                  /* notes that packets take the link */
    char endpoint[96];
    int64_t now;
} p;

static const uint8_t run[16] = "this run", uuid[16] = "this trace";
static struct message message;
static uint8_t bytes[MESSAGE_MAX_BYTES];

/* ---- The source -------------------------------------------------------------------------------------------------- */

static inline bool find(void *context, uint64_t instance, struct uplink_process *to)
{
    struct play *play = context;
    if (instance == 0 || instance > PROCESSES)
        return false;
    *to = play->processes[instance - 1];
    return true;
}

static inline bool next(void *context, uint32_t from, bool idle, struct uplink_process *to)
{
    (void)idle;
    return find(context, from + 1, to);
}

static inline void describe(void *context, uint64_t instance, struct message_process *m)
{
    (void)context;
    *m = (struct message_process){.instance = instance, .stream_id = (uint32_t)instance, .name = "somebody"};
}

static inline void books(void *context, uint64_t instance, bool final, int64_t now, struct message_books *b)
{
    (void)context;
    *b = (struct message_books){
        .instance = instance, .state = final ? PROCESS_ENDED : PROCESS_RUNNING, .at = (uint64_t)now};
}

static inline uint64_t unobserved(const void *context)
{
    (void)context;
    return 0;
}

static inline const struct message_note *note(const void *context, uint32_t i)
{
    (void)context;
    (void)i;
    return NULL;
}

static inline void add_note(void *context, uint64_t instance, int64_t now, const char *code, const char *format, ...)
{
    (void)context;
    (void)now;
    (void)format;
    if (p.may_lose && (strcmp(code, "BEZEL-SPOOL-LOST") == 0 || strcmp(code, "BEZEL-BEHIND") == 0))
        p.lost[instance - 1]++;
    else if (p.may_lose && strcmp(code, "BEZEL-SPOOL-DAMAGED") == 0)
        p.damages++;
    else if (strcmp(code, "BEZEL-BY-LINK") == 0)
        p.by_link++;
    else
        fail_msg("%s", code);
}

static inline void books_due(void *context, int64_t now)
{
    (void)now;
    ((struct play *)context)->due++;
}

static inline void saved(void *context, uint64_t instance, bool is)
{
    ((struct play *)context)->processes[instance - 1].saved = is;
}

static inline void stored(void *context, const struct packet_header *h, int64_t now)
{
    (void)h;
    (void)now;
    ((struct play *)context)->stored++;
}

static inline int64_t low(void *context, int64_t now)
{
    (void)context;
    (void)now;
    return 0;
}

static inline void spool_full(void *context, bool full)
{
    ((struct play *)context)->spool_full += full;
}

static inline void open_source(void)
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

static inline void say(enum message_type type)
{
    message.type = type;
    int n = message_encode(&message, bytes, sizeof bytes);
    assert_true(n > 0);
    assert_int_equal(link_send(p.link, &p.peer, bytes, (size_t)n), 0);
}

static inline void take_packet(const struct link_frame *frame)
{
    struct packet_header h;
    assert_int_equal(packet_get_header(frame->data, frame->size, &h), 0);
    struct received *got = &p.got[h.instance - 1];
    assert_true(got->descriptions > 0);
    assert_int_equal(h.seq, got->next_seq);
    got->next_seq++;
}

static inline void take_message(const struct link_frame *frame)
{
    assert_int_equal(message_decode(frame->data, frame->size, &message), 0);
    if (message.type == MESSAGE_HELLO) {
        assert_memory_equal(message.hello.run, run, sizeof run);
        assert_memory_equal(message.hello.uuid, uuid, sizeof uuid);
        p.peer = frame->peer;
        p.attempt = message.hello.attempt;
        p.hellos++;
    } else if (message.type == MESSAGE_PROCESS) {
        p.got[message.process.instance - 1].descriptions++;
    } else if (message.type == MESSAGE_BOOKS) {
        struct received *got = &p.got[message.books.instance - 1];
        got->books++;
        got->final_books += message.books.state == PROCESS_ENDED;
        got->books_at = message.books.at;
    }
    if (message.type == MESSAGE_DIRECT)
        p.asks = message.direct;
    p.byes += message.type == MESSAGE_BYE;
}

static inline void turn(bool bye)
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

static inline void until(bool (*done)(void), bool bye)
{
    int64_t deadline = clock_now() + PATIENCE;
    while (!done()) {
        turn(bye);
        assert_true(clock_now() < deadline);
    }
}

static inline bool greeted(void)
{
    return p.hellos > 0;
}

static inline bool has_all(void)
{
    return p.got[0].next_seq == PACKETS && p.got[1].next_seq == PACKETS;
}

static inline bool window_is_empty(void)
{
    return window_waiting(p.window) == 0;
}

static inline bool has_final_books(void)
{
    return p.got[0].final_books > 0 && p.got[1].final_books > 0;
}

static inline bool is_booked(void)
{
    return sender_booked(p.forward);
}

static inline bool is_described_again(void)
{
    return p.got[0].descriptions == 2;
}

static inline bool took_leave(void)
{
    return p.byes > 0;
}

static inline bool is_done(void)
{
    return sender_done(p.forward);
}

static inline void welcome(void)
{
    until(greeted, false);
    message.welcome = (struct message_welcome){0};
    say(MESSAGE_WELCOME);
}

static inline void acknowledge_all(void)
{
    message.ack = (struct message_ack){.stream_count = PROCESSES};
    for (uint32_t i = 0; i < PROCESSES; i++)
        message.ack.streams[i] = (struct message_position){.instance = i + 1, .next_seq = p.got[i].next_seq};
    say(MESSAGE_ACK);
}

static inline void save_books(void)
{
    for (uint32_t i = 0; i < PROCESSES; i++) {
        message.books = (struct message_books){.instance = i + 1, .state = PROCESS_ENDED, .at = p.got[i].books_at};
        say(MESSAGE_BOOKS);
    }
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

static inline void open_sender(void)
{
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
                                   .spool_full = spool_full,
                                   .low = low};
    memcpy(source.run, run, sizeof run);
    memcpy(source.uuid, uuid, sizeof uuid);
    struct sender_options options = {.endpoints = p.endpoint,
                                     .hello = {.node = "anybody", .pid = 1},
                                     .spool_dir = scratch_dir,
                                     .spool_bytes = 4 * SPOOL_BYTES_MIN};
    assert_int_equal(sender_open(&source, &options, &p.forward), 0);
}

static inline void play_open(void)
{
    memset(&p, 0, sizeof p);
    scratch_begin(NULL);
    open_source();
    snprintf(p.endpoint, sizeof p.endpoint, "ipc://%s/data", scratch_dir);
    assert_int_equal(link_bind(p.endpoint, PACKET_MAX_BYTES, NULL, &p.link), 0);
    p.now = clock_now();
    open_sender();
}

static inline void play_close(void)
{
    sender_close(p.forward, true);
    link_close(p.link, 0);
    window_close(p.window, true);
    scratch_end(NULL);
}

/* Time for what must not happen. */
static inline void settle(void)
{
    for (int i = 0; i < 20; i++)
        turn(false);
}

/* The sender gives its connection up, and greets on another one. */
static inline void fall_silent(void)
{
    int64_t deadline = clock_now() + PATIENCE;
    p.hellos = 0;
    for (p.now += 2 * (int64_t)SENDER_SILENCE_NS; p.hellos == 0; p.now += CLOCK_MS) {
        turn(false);
        assert_true(clock_now() < deadline);
    }
}

#endif
