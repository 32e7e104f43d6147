// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/fake_collector.h"

#include "tests/lib/seed.h"

#include <stdlib.h>
#include <string.h>

struct fake_collector *fake_collector_new(const char *endpoint, const struct link_keys *keys, uint64_t seed)
{
    struct fake_collector *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->seed = seed;
    if (link_bind(endpoint, PACKET_MAX_BYTES, keys, &f->link) == 0)
        return f;
    free(f);
    return NULL;
}

void fake_collector_free(struct fake_collector *f)
{
    if (!f)
        return;
    link_close(f->link, 0);
    free(f);
}

static void say(struct fake_collector *f, const struct link_peer *peer)
{
    int n = message_encode(&f->out, f->bytes, sizeof f->bytes);
    if (n > 0 && link_send(f->link, peer, f->bytes, (size_t)n) == 0)
        f->lies++;
}

/* Bytes that open like a message, or not, and go on at random. */
static void say_garbage(struct fake_collector *f, const struct link_peer *peer)
{
    size_t n = seed_next(&f->seed) % 2000;
    for (size_t i = 0; i < n; i++)
        f->bytes[i] = (uint8_t)seed_next(&f->seed);
    if (seed_next(&f->seed) % 2)
        memcpy(f->bytes, "BZL1\0\0\0\1\0\0\0", 11);
    if (link_send(f->link, peer, f->bytes, n) == 0)
        f->garbage++;
}

/* A position beyond what came, by a little or by much. */
static struct message_position beyond(struct fake_collector *f, const struct message_position *at)
{
    static const uint64_t most[] = {16, 1 << 20, UINT64_MAX / 2};
    struct message_position lie = *at;
    uint64_t more = 1 + seed_next(&f->seed) % most[seed_next(&f->seed) % 3];
    lie.next_seq += (uint64_t)1 << 20;
    lie.next_seq += more;
    lie.next_ordinal += more;
    return lie;
}

static void welcome(struct fake_collector *f, const struct link_peer *peer)
{
    struct message_welcome *w = &f->out.welcome;
    f->out.type = MESSAGE_WELCOME;
    *w = (struct message_welcome){.stream_count = f->stream_count};
    for (uint32_t i = 0; i < f->stream_count; i++)
        w->streams[i] = beyond(f, &f->streams[i]);
    say(f, peer);
}

static struct message_position *stream_of(struct fake_collector *f, const struct packet_header *h)
{
    for (uint32_t i = 0; i < f->stream_count; i++)
        if (f->streams[i].instance == h->instance && f->streams[i].ring == h->ring)
            return &f->streams[i];
    if (f->stream_count == FAKE_STREAMS)
        return NULL;
    f->streams[f->stream_count] = (struct message_position){.instance = h->instance, .ring = h->ring};
    return &f->streams[f->stream_count++];
}

static void lie_about(struct fake_collector *f, const struct link_peer *peer, const struct message_position *at)
{
    struct message_ack *ack = &f->out.ack;
    uint64_t how = seed_next(&f->seed) % 4;
    if (how == 0) {
        say_garbage(f, peer);
        return;
    }
    f->out.type = MESSAGE_ACK;
    ack->stream_count = 1;
    ack->streams[0] = beyond(f, at);
    if (how == 1)
        ack->streams[0].ring = (uint32_t)seed_next(&f->seed);
    if (how == 2) {
        f->out.type = MESSAGE_BOOKS;
        f->out.books = (struct message_books){.instance = at->instance, .state = PROCESS_ENDED, .at = UINT64_MAX};
    }
    say(f, peer);
}

static void take(struct fake_collector *f, const struct link_frame *frame)
{
    struct packet_header h;
    if (packet_is_packet(frame->data, frame->size)) {
        f->packets++;
        struct message_position *at = packet_get_header(frame->data, frame->size, &h) == 0 ? stream_of(f, &h) : NULL;
        if (at && h.seq >= at->next_seq)
            at->next_seq = h.seq + 1;
        if (at)
            lie_about(f, &frame->peer, at);
    } else if (message_decode(frame->data, frame->size, &f->in) == 0 && f->in.type == MESSAGE_HELLO) {
        f->hellos++;
        welcome(f, &frame->peer);
    }
}

void fake_collector_round(struct fake_collector *f, int64_t wait_ns)
{
    struct link_frame frame;
    link_wait(&f->link, 1, NULL, 0, wait_ns);
    for (int i = 0; i < 256 && link_receive(f->link, &frame) == 0; i++) {
        take(f, &frame);
        link_frame_free(&frame);
    }
}
