// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * videoconf-server: capture, show, compress, multicast; a record of each step, the time of every frame in its figures.
 */
#include "capture.h"
#include "codec.h"
#include "common.h"
#include "display.h"
#include "net.h"

#include <bezel/sensor.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

BEZEL_ASPECT(stream_opened, (string, source, ""), (string, codec, ""), (int64, width, "px"), (int64, height, "px"));
BEZEL_ASPECT(frame_captured, (int64, frame, "1"), (float64, lateness, "ms"));
BEZEL_ASPECT(frame_shown, (int64, frame, "1"), (float64, latency, "ms"));
BEZEL_ASPECT(encode_begin, (int64, frame, "1"));
BEZEL_ASPECT(encode_end, (int64, frame, "1"), (enum, type, "", "I|P"), (int64, bytes, "B"));
BEZEL_ASPECT(frame_multicast, (int64, frame, "1"), (int64, datagrams, "1"));
BEZEL_ASPECT(server_cycle, (int64, frame, "1"), (float64, busy, "ms"));

/* What may be turned while the video goes on; read once a frame. */
BEZEL_KNOB(quality, "%", 10, 100, 100);     /* of the usual bit rate */
BEZEL_KNOB(frame_scale, "%", 25, 100, 100); /* of the video's width and height */

struct server {
    struct options options;
    struct encoder *encoder;
    struct capture *capture;
    struct display *display;
    int32_t quality, scale; /* as the knobs were when they were last looked at */
    int width, height;      /* of the pictures, and of the stream */
    int socket;
    uint64_t missed; /* instants of capture that passed by while a frame was being worked on */
    uint64_t unsent; /* datagrams that the system refused */
    struct figures figures;
};

static double ms(int64_t ns)
{
    return (double)ns / (double)NS_PER_MS;
}

/* An even number of pixels, as the codecs want. */
static int scaled(int pixels, int32_t percent)
{
    int n = pixels * percent / 100 & ~1;
    return n < SIZE_MIN ? SIZE_MIN : n;
}

static void tell_stream(const struct server *s)
{
    const struct options *o = &s->options;
    bezel_record(stream_opened, bezel_intern(o->input ? o->input : "pattern"), bezel_intern(o->codec), s->width,
                 s->height);
}

/*
 * Follows the knobs. No codec changes its size in the middle, and few their bit rate: a new one goes on, with an I
 * frame. Where it cannot be had, the old one does.
 */
static void server_follow(struct server *s)
{
    const struct options *o = &s->options;
    int32_t quality = bezel_knob(quality), scale = bezel_knob(frame_scale);
    if (quality == s->quality && scale == s->scale)
        return;
    int width = scaled(o->width, scale), height = scaled(o->height, scale);
    struct encoder *e = encoder_new(o->codec, width, height, o->fps, quality);
    bool same = width == s->width && height == s->height;
    if (e && (same || capture_resize(s->capture, width, height))) {
        encoder_free(s->encoder);
        s->encoder = e;
        s->width = width;
        s->height = height;
        tell_stream(s);
    } else {
        encoder_free(e);
    }
    s->quality = quality;
    s->scale = scale;
}

static bool server_open(struct server *s)
{
    const struct options *o = &s->options;
    s->quality = s->scale = 100;
    s->width = o->width;
    s->height = o->height;
    s->encoder = encoder_new(o->codec, o->width, o->height, o->fps, s->quality);
    if (!s->encoder)
        return false;
    s->capture = capture_new(o->input, o->width, o->height, encoder_format(s->encoder));
    if (!s->capture)
        return false;
    s->display = display_new(o->width, o->height);
    if (!s->display) {
        fprintf(stderr, "%s: out of memory\n", o->program);
        return false;
    }
    s->socket = net_sender(o->group, o->port, o->interface, o->ttl);
    if (s->socket < 0)
        fprintf(stderr, "%s: multicast to %s port %d through %s: %s\n", o->program, o->group, o->port, o->interface,
                strerror(errno));
    return s->socket >= 0;
}

static void server_close(struct server *s)
{
    if (s->socket >= 0)
        close(s->socket);
    display_free(s->display);
    capture_free(s->capture);
    encoder_free(s->encoder);
}

/* One frame, due at `due`: the cycle of the dissertation's server process. */
static bool server_cycle(struct server *s, struct frame *f, int64_t due)
{
    f->captured = now_ns();
    struct AVFrame *picture = capture_next(s->capture, f->number);
    if (!picture)
        return false;
    bezel_record(frame_captured, f->number, ms(f->captured - due));

    if (!display_show(s->display, picture))
        return false;
    int64_t shown = now_ns();
    figures_add(&s->figures, shown, shown - f->captured);
    bezel_record(frame_shown, f->number, ms(shown - f->captured));

    bezel_record(encode_begin, f->number);
    if (encoder_encode(s->encoder, picture, f) != 0)
        return false;
    bezel_record(encode_end, f->number, f->type, f->bytes);

    uint32_t sent = net_multicast(s->socket, f);
    s->unsent += fragment_count(f->bytes) - sent;
    bezel_record(frame_multicast, f->number, sent);
    bezel_record(server_cycle, f->number, ms(now_ns() - f->captured));
    return true;
}

static bool server_run(struct server *s)
{
    const struct options *o = &s->options;
    int64_t start = now_ns(), due = start, period = NS_PER_S / o->fps;
    struct frame f = {.session = (uint32_t)start ^ (uint32_t)getpid()};
    while (!stopping() && (o->frames == 0 || f.number < o->frames)) {
        sleep_until(due);
        if (stopping() || (o->seconds > 0 && now_ns() - start >= o->seconds * NS_PER_S))
            break;
        server_follow(s);
        if (!server_cycle(s, &f, due))
            return false;
        f.number++;
        due += period;
        int64_t late = (now_ns() - due) / period;
        if (late > 0) {
            s->missed += (uint64_t)late;
            due += late * period;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    static struct server s = {.socket = -1};
    const struct options *o = &s.options;
    switch (options_read(&s.options, true, argc, argv)) {
    case OPTIONS_HELP:
        return 0;
    case OPTIONS_WRONG:
        return 2;
    case OPTIONS_RUN:
        break;
    }
    stop_on_signals();
    codec_log(o->verbose);
    bool ok = server_open(&s);
    if (ok) {
        bezel_thread_init(0);
        tell_stream(&s);
        if (o->verbose)
            fprintf(stderr, "%s: %s, %s, %dx%d at %d frames/s to %s port %d\n", o->program,
                    o->input ? o->input : "test pattern", o->codec, o->width, o->height, o->fps, o->group, o->port);
        ok = server_run(&s);
        figures_print(&s.figures, o->program, "missed", s.missed, "datagrams unsent", s.unsent);
        if (o->dump && !display_dump(s.display, o->dump))
            ok = false;
    }
    server_close(&s);
    return ok ? 0 : 1;
}
