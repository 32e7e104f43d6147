// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* videoconf-client: receive, put together, decompress, show; six records a frame. */
#include "codec.h"
#include "common.h"
#include "display.h"
#include "net.h"

#include <bezel/sensor.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

BEZEL_ASPECT(stream_joined, (string, codec, ""), (int64, width, "px"), (int64, height, "px"));
BEZEL_ASPECT(frame_arriving, (int64, frame, "1"), (enum, type, "", "I|P"));
BEZEL_ASPECT(frame_received, (int64, frame, "1"), (int64, bytes, "B"), (int64, lost, "1"));
BEZEL_ASPECT(decode_begin, (int64, frame, "1"));
BEZEL_ASPECT(decode_end, (int64, frame, "1"), (enum, result, "", "picture|refused"));
BEZEL_ASPECT(frame_shown, (int64, frame, "1"), (float64, latency, "ms"));
BEZEL_ASPECT(client_cycle, (int64, frame, "1"), (float64, busy, "ms"));

struct client {
    struct options options;
    struct assembler *assembler;
    struct decoder *decoder;
    struct display *display;
    int socket;
    bool joined;      /* an I frame came, what follows can be decoded */
    uint64_t dropped; /* complete frames that could not be shown */
    struct figures figures;
};

static double ms(int64_t ns)
{
    return (double)ns / (double)NS_PER_MS;
}

static bool client_open(struct client *c)
{
    const struct options *o = &c->options;
    c->decoder = decoder_new(o->codec);
    if (!c->decoder)
        return false;
    c->assembler = assembler_new();
    c->display = display_new(o->width, o->height);
    if (!c->assembler || !c->display) {
        fprintf(stderr, "%s: out of memory\n", o->program);
        return false;
    }
    c->socket = net_receiver(o->group, o->port, o->interface);
    if (c->socket < 0)
        fprintf(stderr, "%s: joining %s port %d: %s\n", o->program, o->group, o->port, strerror(errno));
    return c->socket >= 0;
}

static void client_close(struct client *c)
{
    if (c->socket >= 0)
        close(c->socket);
    display_free(c->display);
    assembler_free(c->assembler);
    decoder_free(c->decoder);
}

/*
 * Whether `f` can be decoded: of our codec, and after the first I frame. A lost frame spoils the picture until the next
 * I frame, a second at most; a conference shows it all the same.
 */
static bool client_wants(struct client *c, const struct frame *f)
{
    if (strcmp(f->codec, decoder_codec(c->decoder)) != 0) {
        if (c->dropped++ == 0)
            fprintf(stderr, "%s: the stream is %s, --codec says %s\n", c->options.program, f->codec,
                    decoder_codec(c->decoder));
        return false;
    }
    if (!c->joined && f->type == FRAME_I) {
        c->joined = true;
        bezel_record(stream_joined, bezel_intern(f->codec), f->width, f->height);
        if (c->options.verbose)
            fprintf(stderr, "%s: joined at frame %u: %s, %ux%u\n", c->options.program, f->number, f->codec, f->width,
                    f->height);
    }
    return c->joined;
}

/* The second half of the cycle, of a complete frame. */
static void client_show(struct client *c, const struct frame *f, int64_t received)
{
    bezel_record(decode_begin, f->number);
    const struct AVFrame *picture = decoder_decode(c->decoder, f->data, f->bytes);
    bezel_record(decode_end, f->number, picture == NULL);
    if (!picture || !display_show(c->display, picture)) {
        c->dropped++;
        return;
    }
    int64_t shown = now_ns();
    figures_add(&c->figures, shown, shown - f->captured);
    bezel_record(frame_shown, f->number, ms(shown - f->captured));
    bezel_record(client_cycle, f->number, ms(now_ns() - received));
}

static bool client_run(struct client *c)
{
    const struct options *o = &c->options;
    int64_t start = now_ns();
    uint8_t datagram[FRAGMENT_BYTES + 1]; /* one more than may come, so that a longer one shows */
    struct frame f;
    while (!stopping() && (o->frames == 0 || c->figures.shown < (uint64_t)o->frames)) {
        ssize_t n = recv(c->socket, datagram, sizeof datagram, 0);
        int64_t now = now_ns();
        if (o->seconds > 0 && now - start >= o->seconds * NS_PER_S)
            break;
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            fprintf(stderr, "%s: receiving: %s\n", o->program, strerror(errno));
            return false;
        }
        int took = n < 0 ? 0 : assembler_take(c->assembler, datagram, (size_t)n, now, &f);
        if (took < 0)
            continue;
        if (took & ASSEMBLER_FIRST)
            bezel_record(frame_arriving, f.number, f.type);
        if (took & ASSEMBLER_WHOLE) {
            bezel_record(frame_received, f.number, f.bytes, (int64_t)assembler_counts(c->assembler).lost);
            if (client_wants(c, &f))
                client_show(c, &f, now);
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    static struct client c = {.socket = -1};
    const struct options *o = &c.options;
    switch (options_read(&c.options, false, argc, argv)) {
    case OPTIONS_HELP:
        return 0;
    case OPTIONS_WRONG:
        return 2;
    case OPTIONS_RUN:
        break;
    }
    stop_on_signals();
    codec_log(o->verbose);
    bool ok = client_open(&c);
    if (ok) {
        bezel_thread_init(0);
        if (o->verbose)
            fprintf(stderr, "%s: listening to %s port %d\n", o->program, o->group, o->port);
        ok = client_run(&c);
        struct assembler_counts counts = assembler_counts(c.assembler);
        figures_print(&c.figures, o->program, "lost", counts.lost, "dropped", c.dropped);
        if (o->verbose && counts.refused)
            fprintf(stderr, "%s: %llu datagrams refused\n", o->program, (unsigned long long)counts.refused);
        if (o->dump && !display_dump(c.display, o->dump))
            ok = false;
    }
    client_close(&c);
    return ok ? 0 : 1;
}
