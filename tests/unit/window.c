// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The window: packets come out as they went in, in order, until they are acknowledged; and so after every new opening.
 */
#include "mdr/uplink/window_internal.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"
#include "tests/lib/window_model.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t run[16] = "this run", uuid[16] = "this trace", other[16] = "another";

static struct window *open_window(void)
{
    struct window *w;
    uint64_t left;
    assert_int_equal(window_open(&scratch_folder, run, uuid, WINDOW_BYTES_MIN, &w, &left), 0);
    assert_int_equal(left, 0);
    return w;
}

static uint32_t add_stream(struct window *w, uint64_t instance, uint32_t ring)
{
    uint32_t id;
    assert_int_equal(window_stream_id(w, instance, &id), 0);
    int n = window_add_stream(w, instance, ring, id, 100 * instance);
    assert_true(n >= 0);
    return (uint32_t)n;
}

static uint32_t count(struct window *w)
{
    uint32_t n = 0;
    for (uint64_t at = window_oldest(w); window_next(w, &at);)
        n++;
    return n;
}

static struct window_packet *oldest(struct window *w)
{
    uint64_t at = window_oldest(w);
    return window_next(w, &at);
}

static void acknowledge_all(struct window *w, uint32_t i)
{
    window_acknowledge(w, i, window_stream(w, i)->next_seq);
    window_free_each(w, NULL, NULL);
}

/* ---- Streams ----------------------------------------------------------------------------------------------------- */

TEST_WITH(scratch_begin, scratch_end, streams_are_found_by_process_and_ring)
{
    struct window *w = open_window();
    uint32_t a = add_stream(w, 7, 0), b = add_stream(w, 7, 1), c = add_stream(w, 8, 0);
    for (int life = 0; life < 2; life++) {
        assert_int_equal(window_find(w, 7, 0), a);
        assert_int_equal(window_find(w, 7, 1), b);
        assert_int_equal(window_find(w, 8, 0), c);
        assert_int_equal(window_find(w, 8, 1), BEZEL_ENOENT);
        assert_int_equal(window_stream(w, b)->next_ordinal, 700);
        window_close(w, false);
        w = open_window();
    }
    window_forget(w, 7);
    assert_int_equal(window_find(w, 7, 0), BEZEL_ENOENT);
    assert_int_equal(window_find(w, 8, 0), c);
    window_close(w, true);
}

TEST_WITH(scratch_begin, scratch_end, a_process_keeps_its_stream_id_and_no_other_gets_it)
{
    struct window *w = open_window();
    uint32_t id, last = 0;
    for (uint64_t instance = 1; instance <= WINDOW_PROCESSES; instance++) {
        assert_int_equal(window_stream_id(w, instance, &id), 0);
        assert_true(id > last);
        last = id;
    }
    assert_int_equal(window_stream_id(w, 5000, &id), BEZEL_EFULL);
    window_close(w, false);
    w = open_window();
    assert_int_equal(window_stream_id(w, WINDOW_PROCESSES, &id), 0);
    assert_int_equal(id, last);
    uint32_t forgotten, new;
    assert_int_equal(window_stream_id(w, 1, &forgotten), 0);
    window_forget(w, 1);
    assert_int_equal(window_stream_id(w, 5000, &id), 0);
    assert_int_equal(window_stream_id(w, 1, &new), BEZEL_EFULL); /* it is not known any more, and its place is taken */
    window_forget(w, 5000);
    assert_int_equal(window_stream_id(w, 1, &new), 0);
    assert_int_not_equal(new, forgotten);
    window_forget(w, 1);
    assert_int_equal(window_stream_id(w, 5000, &id), 0);
    assert_int_equal(id, last + 3); /* no number is given twice */
    window_close(w, true);
}

TEST_WITH(scratch_begin, scratch_end, streams_run_out_and_come_back)
{
    struct window *w = open_window();
    for (uint32_t i = 0; i < WINDOW_STREAMS; i++)
        assert_true(window_add_stream(w, 1 + i / 128, i % 128, 1, 0) >= 0);
    assert_int_equal(window_add_stream(w, 5000, 0, 2, 0), BEZEL_EFULL);
    for (uint32_t i = 0; i < WINDOW_STREAMS; i++)
        assert_true(window_find(w, 1 + i / 128, i % 128) >= 0);
    window_forget(w, 3);
    assert_true(window_add_stream(w, 5000, 0, 2, 0) >= 0);
    assert_true(window_find(w, 4, 127) >= 0);
    window_close(w, true);
}

/* ---- Packets ----------------------------------------------------------------------------------------------------- */

TEST_WITH(scratch_begin, scratch_end, a_full_window_takes_no_more_until_the_oldest_is_acknowledged)
{
    struct window *w = open_window();
    uint32_t a = add_stream(w, 1, 0), b = add_stream(w, 2, 0);
    assert_true(model_cut(w, a));
    while (model_cut(w, b))
        ;
    assert_true(window_waiting(w) > WINDOW_BYTES_MIN - 2 * WINDOW_PACKET_BYTES);
    acknowledge_all(w, b); /* all but the oldest */
    assert_false(model_cut(w, b));
    assert_int_equal(oldest(w)->stream, a);
    acknowledge_all(w, a);
    assert_int_equal(window_waiting(w), 0);
    assert_null(oldest(w));
    assert_true(model_cut(w, b));
    window_close(w, true);
}

TEST_WITH(scratch_begin, scratch_end, a_packet_that_a_queue_reads_stays_and_so_do_those_behind_it)
{
    struct window *w = open_window();
    uint32_t a = add_stream(w, 1, 0);
    for (int i = 0; i < 4; i++)
        assert_true(model_cut(w, a));
    uint64_t at = window_oldest(w);
    window_next(w, &at);
    struct window_packet *second = window_next(w, &at);
    second->references = 1;
    acknowledge_all(w, a);
    assert_ptr_equal(oldest(w), second);
    assert_int_equal(count(w), 3);
    second->references = 0;
    window_free_each(w, NULL, NULL);
    assert_int_equal(window_waiting(w), 0);
    window_close(w, true);
}

TEST_WITH(scratch_begin, scratch_end, an_acknowledgement_of_what_was_never_cut_is_not_believed)
{
    struct window *w = open_window();
    uint32_t a = add_stream(w, 1, 0);
    assert_true(model_cut(w, a) && model_cut(w, a));
    window_acknowledge(w, a, 3);
    window_free_each(w, NULL, NULL);
    assert_int_equal(count(w), 2);
    window_acknowledge(w, a, 1);
    window_acknowledge(w, a, 0); /* late */
    window_free_each(w, NULL, NULL);
    assert_int_equal(count(w), 1);
    window_close(w, true);
}

TEST_WITH(scratch_begin, scratch_end, what_was_reserved_and_not_committed_is_not_there)
{
    struct window *w = open_window();
    uint32_t a = add_stream(w, 1, 0);
    memset(window_reserve(w, 5000), 0xff, 5000);
    assert_int_equal(count(w), 0);
    window_close(w, false);
    w = open_window();
    assert_int_equal(count(w), 0);
    assert_true(model_cut(w, a));
    assert_int_equal(count(w), 1);
    window_close(w, true);
}

/* A packet may outlive its process's stream in the window: an older one of another stream keeps it there. */
TEST_WITH(scratch_begin, scratch_end, a_stream_is_held_while_a_packet_of_it_waits_behind_another)
{
    struct window *w = open_window();
    uint32_t a = add_stream(w, 1, 0), b = add_stream(w, 2, 0);
    assert_true(model_cut(w, a) && model_cut(w, b) && model_cut(w, b));
    window_acknowledge(w, b, 2);
    window_free_each(w, NULL, NULL);
    assert_true(window_holds(w, b));
    acknowledge_all(w, a);
    assert_false(window_holds(w, a));
    assert_false(window_holds(w, b));
    window_close(w, true);
}

/* ---- Other lives ------------------------------------------------------------------------------------------------- */

TEST_WITH(scratch_begin, scratch_end, a_window_has_one_owner)
{
    struct window *w = open_window(), *second;
    uint64_t left;
    assert_int_equal(window_open(&scratch_folder, run, uuid, WINDOW_BYTES_MIN, &second, &left), BEZEL_EBUSY);
    window_close(w, true);
}

TEST_WITH(scratch_begin, scratch_end, a_window_of_another_user_is_replaced_and_nobody_else_writes_there)
{
    struct window *w = open_window();
    struct stat st;
    assert_int_equal(chmod(scratch_dir, 02770), 0);
    assert_true(model_cut(w, add_stream(w, 1, 0)));
    if (geteuid() == 0)
        assert_int_equal(fchown(w->fd, 1, (gid_t)-1), 0);
    window_close(w, false);
    scratch_folder.shared = true;
    w = open_window();
    scratch_folder.shared = false;
    assert_int_equal(count(w), geteuid() == 0 ? 0 : 1);
    assert_true(fstat(w->fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 07777) == 0640);
    window_close(w, true);
}

TEST_WITH(scratch_begin, scratch_end, another_run_counts_what_it_drops)
{
    struct window *w = open_window();
    uint32_t a = add_stream(w, 1, 0);
    uint64_t left;
    for (int i = 0; i < 5; i++)
        assert_true(model_cut(w, a));
    window_close(w, false);
    assert_int_equal(window_open(&scratch_folder, other, uuid, 2 * WINDOW_BYTES_MIN, &w, &left), 0);
    assert_int_equal(left, 5);
    assert_int_equal(window_waiting(w), 0);
    assert_int_equal(window_records(w), 0);
    assert_int_equal(window_find(w, 1, 0), BEZEL_ENOENT);
    a = add_stream(w, 1, 0);
    assert_int_equal(window_stream(w, a)->next_seq, 0);
    window_close(w, true);
}

TEST_WITH(scratch_begin, scratch_end, what_was_left_stays_left_and_only_that)
{
    struct window *w = open_window();
    add_stream(w, 1, 0);
    add_stream(w, 2, 0);
    window_leave(w, 1, WINDOW_LEFT_ALIVE);
    window_leave(w, 3, WINDOW_LEFT); /* nobody's number */
    window_close(w, false);
    w = open_window();
    assert_int_equal(window_left(w, 1), WINDOW_LEFT_ALIVE);
    assert_false(window_left(w, 2));
    assert_false(window_left(w, 3));
    window_forget(w, 1);
    add_stream(w, 4, 0); /* in its place */
    assert_false(window_left(w, 4));
    window_close(w, false);
}

TEST_WITH(scratch_begin, scratch_end, a_window_has_a_trace_of_its_own_for_as_long_as_it_is_there)
{
    uint8_t traces[4][16];
    for (uint32_t i = 0; i < 4; i++) {
        memcpy(traces[i], uuid, sizeof uuid);
        struct window *w = open_window();
        window_trace(w, 7 + i, traces[i]);
        assert_true(window_is_of(scratch_dir, run, traces[i]));
        assert_false(window_is_of(scratch_dir, other, traces[i]));
        window_close(w, i == 1); /* the third is another one */
        assert_int_equal(window_is_of(scratch_dir, run, traces[i]), i != 1);
    }
    assert_memory_equal(traces[0], traces[1], 16);
    assert_memory_equal(traces[2], traces[3], 16);
    assert_memory_not_equal(traces[0], traces[2], 16);
    assert_false(window_is_of(scratch_dir, run, traces[0]));
}

static void set_positions(const char *path, uint64_t freed, uint64_t written)
{
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &freed, 8, offsetof(struct window_file, freed)), 8);
    assert_int_equal(pwrite(fd, &written, 8, offsetof(struct window_file, written)), 8);
    close(fd);
}

/* Found by fuzzing: a filler that led past the last position led back to the first, for ever. */
TEST_WITH(scratch_begin, scratch_end, positions_from_which_they_would_begin_anew_are_not_taken_over)
{
    static const uint64_t pairs[][2] = {{UINT64_MAX - 639, UINT64_MAX - 63},
                                        {UINT64_MAX - WINDOW_BYTES_MIN + 1, UINT64_MAX - 15},
                                        {UINT64_MAX - 63, UINT64_MAX - 63},
                                        {(uint64_t)INT64_MAX + 1, (uint64_t)INT64_MAX + 1}};
    char path[SCRATCH_PATH + 8];
    uint64_t left;
    snprintf(path, sizeof path, "%s/window", scratch_dir);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct window *w = open_window();
        add_stream(w, 1, 0);
        window_close(w, false);
        set_positions(path, pairs[i][0], pairs[i][1]);
        assert_int_equal(window_open(&scratch_folder, run, uuid, WINDOW_BYTES_MIN, &w, &left), 0);
        assert_int_equal(atomic_load(&w->file->written), 0);
        window_close(w, true);
    }
}

/* Nothing stands where the filler leads to. */
TEST_WITH(scratch_begin, scratch_end, a_filler_that_leads_past_what_is_written_is_not_taken_over)
{
    char path[SCRATCH_PATH + 8];
    uint64_t left;
    snprintf(path, sizeof path, "%s/window", scratch_dir);
    struct window *w = open_window();
    add_stream(w, 1, 0);
    window_close(w, false);
    set_positions(path, WINDOW_BYTES_MIN / 2, WINDOW_BYTES_MIN / 2 + 64); /* all zeros: of no bytes */
    assert_int_equal(window_open(&scratch_folder, run, uuid, WINDOW_BYTES_MIN, &w, &left), 0);
    assert_int_equal(atomic_load(&w->file->written), 0);
    window_close(w, true);
}

/* Any file may stand where the window is to be: it is taken over whole, or replaced. */
TEST_WITH(scratch_begin, scratch_end, a_spoilt_window_is_replaced)
{
    uint64_t seed = seed_start(), left;
    char path[SCRATCH_PATH + 8];
    snprintf(path, sizeof path, "%s/window", scratch_dir);
    for (int round = 0; round < 200; round++) {
        struct window *w = open_window();
        uint32_t a = add_stream(w, 1, 0);
        for (int i = 0; i < 20; i++)
            assert_true(model_cut(w, a));
        window_close(w, false);
        struct stat st;
        assert_int_equal(stat(path, &st), 0);
        FILE *f = fopen(path, "r+b");
        assert_non_null(f);
        for (int i = 0; i < 4; i++) {
            uint64_t word = seed_next(&seed), size = (uint64_t)st.st_size;
            /* the head; or the packets, which stand before the unused end */
            uint64_t at = word % 2 ? word / 2 % 128 : size - WINDOW_BYTES_MIN + word / 2 % 4096;
            fseek(f, (long)at, SEEK_SET);
            fputc((int)(word >> 56), f);
        }
        fclose(f);
        if (round % 8 == 0)
            assert_int_equal(truncate(path, (off_t)(seed_next(&seed) % (uint64_t)st.st_size)), 0);
        assert_int_equal(window_open(&scratch_folder, run, uuid, WINDOW_BYTES_MIN, &w, &left), 0);
        (void)count(w);
        window_close(w, true);
    }
}

/* A number of bytes that differs from the packet's own, within the same room. */
TEST_WITH(scratch_begin, scratch_end, a_packet_that_says_another_size_than_its_place_is_not_taken_over)
{
    static const uint32_t sizes[] = {PACKET_HEADER_BYTES, PACKET_HEADER_BYTES + 4, PACKET_HEADER_BYTES - 4};
    char path[SCRATCH_PATH + 8];
    snprintf(path, sizeof path, "%s/window", scratch_dir);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct window *w = open_window();
        assert_int_equal(add_stream(w, 1, 0), 0);
        assert_true(model_cut(w, 0));
        assert_int_equal(oldest(w)->bytes, PACKET_HEADER_BYTES);
        oldest(w)->bytes = sizes[i];
        window_close(w, false);
        w = open_window();
        assert_int_equal(count(w), i == 0);
        window_close(w, true);
    }
}

/* A kill between the saving of a stream's state and the freeing: the packet, here one that tells a loss, counts once.
 */
TEST_WITH(scratch_begin, scratch_end, a_packet_that_was_saved_and_not_freed_counts_once)
{
    char path[SCRATCH_PATH + 8];
    snprintf(path, sizeof path, "%s/window", scratch_dir);
    struct window *w = open_window();
    uint32_t a = add_stream(w, 1, 0);
    struct packet_header h = {.size_bytes = PACKET_HEADER_BYTES, .instance = 1, .first_ordinal = 100};
    for (h.seq = 0; h.seq < 3; h.seq++) {
        h.kind = h.seq ? PACKET_LOSS : PACKET_OPEN;
        h.first_ordinal += h.seq > 1 ? 7 : 0;
        h.discarded += h.seq ? 7 : 0;
        packet_put_header(window_reserve(w, PACKET_HEADER_BYTES), &h);
        window_commit(w, a, &h);
    }
    uint64_t written = window_waiting(w), last = written / 3 * 2;
    assert_int_equal(window_stream(w, a)->next_ordinal, 114);
    acknowledge_all(w, a);
    window_close(w, false);
    set_positions(path, last, written);
    w = open_window();
    assert_int_equal(count(w), 1);
    assert_int_equal(window_stream(w, a)->next_seq, 3);
    assert_int_equal(window_stream(w, a)->next_ordinal, 114);
    assert_int_equal(window_stream(w, a)->discarded, 14);
    window_close(w, true);
}

/* ---- For the spool ----------------------------------------------------------------------------------------------- */

/* Packets found in a spool: in order, none twice, none that was never cut; what is between was acknowledged. */
TEST_WITH(scratch_begin, scratch_end, what_a_spool_holds_is_taken_back_in_order)
{
    struct window *w = open_window();
    uint32_t a = add_stream(w, 1, 0);
    const struct window_stream *s = window_stream(w, a);
    for (int i = 0; i < 10; i++)
        assert_true(model_cut(w, a));
    window_acknowledge(w, a, 5);
    assert_false(window_take_back(w, a, 10));
    assert_true(window_take_back(w, a, 3));
    assert_true(s->acked_seq == 3 && s->spooled_seq == 4); /* nobody knows of more */
    assert_false(window_take_back(w, a, 3));
    assert_false(window_take_back(w, a, 2));
    assert_true(window_take_back(w, a, 4));
    assert_true(s->acked_seq == 3 && s->spooled_seq == 5);
    assert_true(window_take_back(w, a, 7));
    assert_true(s->acked_seq == 7 && s->spooled_seq == 8);
    window_close(w, true);
}

static uint64_t gone_from, gone_count;

static void gone(void *context, const struct packet_header *h)
{
    (void)context;
    gone_from = gone_count++ ? gone_from : h->seq;
}

TEST_WITH(scratch_begin, scratch_end, what_went_to_the_spool_is_not_told_and_a_torn_stream_neither)
{
    struct window *w = open_window();
    uint32_t a = add_stream(w, 1, 0), b = add_stream(w, 2, 0);
    for (int i = 0; i < 6; i++)
        assert_true(model_cut(w, a));
    for (int i = 0; i < 2; i++)
        assert_true(model_cut(w, b));
    window_spooled(w, a, 3);
    window_acknowledge(w, a, 6);
    gone_count = 0;
    window_tear(w, b);
    assert_true(model_cut(w, b)); /* is lost as well */
    const struct window_stream *s = window_stream(w, b);
    assert_true(s->acked_seq == 3 && s->sent_seq == 3);
    window_free_each(w, gone, NULL);
    assert_int_equal(gone_from, 3);
    assert_int_equal(gone_count, 3);
    assert_int_equal(window_waiting(w), 0);
    window_close(w, true);
}

TEST_WITH(scratch_begin, scratch_end, no_more_was_sent_than_was_cut)
{
    struct window *w = open_window();
    uint32_t a = add_stream(w, 1, 0);
    assert_true(model_cut(w, a) && model_cut(w, a));
    window_sent(w, a, 1);
    window_sent(w, a, 3);
    assert_int_equal(window_stream(w, a)->sent_seq, 1);
    window_sent(w, a, 0);
    assert_int_equal(window_stream(w, a)->sent_seq, 1);
    window_sent(w, a, 2);
    assert_int_equal(window_stream(w, a)->sent_seq, 2);
    window_close(w, true);
}

/* ---- Against the model ------------------------------------------------------------------------------------------- */

enum { STREAMS = 6, PACKETS = 1 << 16, OPERATIONS = 6000 };

static struct {
    struct window_stream first[STREAMS], now[STREAMS];
    uint32_t number[STREAMS]; /* in the window */
    uint64_t acked[STREAMS], freed[STREAMS];
    uint64_t instances;
    struct waiting {
        uint32_t stream;
        bool held;
        struct packet_header h;
    } queue[PACKETS];
    uint32_t head, tail; /* of queue, modulo PACKETS */
} model;

static void model_add(struct window *w, uint32_t i)
{
    uint64_t instance = ++model.instances;
    model.number[i] = add_stream(w, instance, i);
    model.first[i] = model.now[i] = (struct window_stream){.instance = instance,
                                                           .ring = i,
                                                           .stream_id = window_stream(w, model.number[i])->stream_id,
                                                           .next_ordinal = 100 * instance,
                                                           .used = true};
    model.acked[i] = model.freed[i] = 0;
}

static void packetize_one(struct window *w, uint32_t i)
{
    struct packet_header h = model_next(&model.now[i]);
    uint64_t waiting = window_waiting(w);
    if (!model_cut(w, model.number[i])) {
        assert_true(waiting + 2 * (h.size_bytes + 128) >
                    WINDOW_BYTES_MIN); /* the packet, and less than it to the end */
        return;
    }
    model.now[i] = model_after(model.now[i], h.seq + 1);
    assert_true(model.head - model.tail < PACKETS);
    model.queue[model.head++ % PACKETS] = (struct waiting){.stream = i, .h = h};
}

static void free_some(struct window *w)
{
    window_free_each(w, NULL, NULL);
    while (model.tail != model.head) {
        struct waiting *p = &model.queue[model.tail % PACKETS];
        if (p->held || p->h.seq >= model.acked[p->stream])
            break;
        model.freed[p->stream] = p->h.seq + 1;
        model.tail++;
    }
}

/* A queue takes a packet, or lets it go. */
static void toggle_hold(struct window *w, uint64_t which)
{
    uint64_t at = window_oldest(w), n = which % (model.head - model.tail + 1);
    struct window_packet *p = NULL;
    for (uint64_t i = 0; i <= n && (p = window_next(w, &at)); i++)
        ;
    if (!p)
        return;
    struct waiting *m = &model.queue[(model.tail + (uint32_t)n) % PACKETS];
    m->held = !m->held;
    p->references = m->held;
}

static struct window *reopen(struct window *w)
{
    window_close(w, false);
    w = open_window();
    for (uint32_t i = 0; i < STREAMS; i++) /* what the former life sent nobody knows */
        assert_int_equal(window_stream(w, model.number[i])->sent_seq, model.now[i].next_seq);
    for (uint32_t i = 0; i < STREAMS; i++)
        model.acked[i] = model.freed[i]; /* what was told after that is told again by the receiver */
    for (uint32_t i = model.tail; i != model.head; i++)
        model.queue[i % PACKETS].held = false;
    return w;
}

/* The process of stream `i` ends and another takes its place. */
static void replace(struct window *w, uint32_t i)
{
    bool waits = model.freed[i] < model.now[i].next_seq;
    assert_int_equal(window_holds(w, model.number[i]), waits);
    if (waits)
        return;
    window_forget(w, model.now[i].instance);
    model_add(w, i);
}

static uint64_t span_of(uint64_t bytes)
{
    return (sizeof(struct window_packet) + bytes + WINDOW_ALIGN - 1) / WINDOW_ALIGN * WINDOW_ALIGN;
}

/* What it counts, and the share of it that each stream may have: not more than eight times what is left then. */
static void compare_sums(struct window *w)
{
    uint64_t records = 0, held[STREAMS] = {0}, free_bytes = WINDOW_BYTES_MIN - window_waiting(w);
    for (uint32_t n = model.tail; n != model.head; n++) {
        const struct waiting *m = &model.queue[n % PACKETS];
        records += m->h.records;
        held[m->stream] += span_of(m->h.size_bytes);
    }
    assert_int_equal(window_records(w), records);
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_int_equal(window_stream(w, model.number[i])->held, held[i]);
        for (uint64_t bytes = PACKET_HEADER_BYTES; bytes <= WINDOW_PACKET_BYTES; bytes = bytes * 3 / 2) {
            int64_t left = (int64_t)(free_bytes - span_of(bytes));
            bool may = held[i] == 0 || (left > 0 && held[i] + span_of(bytes) <= 8 * (uint64_t)left);
            assert_int_equal(window_shares(w, model.number[i], (uint32_t)bytes), may);
        }
    }
}

static void compare(struct window *w)
{
    uint64_t at = window_oldest(w);
    compare_sums(w);
    for (uint32_t n = model.tail; n != model.head; n++) {
        const struct waiting *m = &model.queue[n % PACKETS];
        const struct window_packet *p = window_next(w, &at);
        assert_non_null(p);
        assert_int_equal(p->stream, model.number[m->stream]);
        assert_true(model_is_whole(p, &m->h));
    }
    assert_null(window_next(w, &at));
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_int_equal(window_find(w, model.now[i].instance, i), model.number[i]);
        assert_true(model_same(window_stream(w, model.number[i]), &model.now[i]));
        assert_int_equal(window_stream(w, model.number[i])->acked_seq, model.acked[i]);
    }
}

TEST_WITH(scratch_begin, scratch_end, whatever_is_done_the_window_holds_what_the_model_holds)
{
    uint64_t seed = seed_start();
    struct window *w = open_window();
    memset(&model, 0, sizeof model);
    for (uint32_t i = 0; i < STREAMS; i++)
        model_add(w, i);
    for (int n = getenv("BEZEL_TEST_LIGHT") ? OPERATIONS / 4 * 3 : 0; n < OPERATIONS; n++) {
        uint64_t r = seed_next(&seed), what = r % 64;
        uint32_t i = (uint32_t)(r >> 8) % STREAMS;
        if (what < 40)
            packetize_one(w, i);
        else if (what < 54) {
            uint64_t most = model.now[i].next_seq - model.acked[i];
            model.acked[i] += most ? (r >> 16) % (most + 1) : 0;
            window_acknowledge(w, model.number[i], model.acked[i]);
        } else if (what < 59)
            free_some(w);
        else if (what < 61)
            toggle_hold(w, r >> 16);
        else if (what < 63)
            replace(w, i);
        else
            w = reopen(w);
        if (n % 16 == 0 || what >= 61)
            compare(w);
    }
    compare(w);
    window_close(w, true);
}
