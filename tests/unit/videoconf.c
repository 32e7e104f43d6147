// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The parts of the video conference: fragments under loss, reordering, doubling and forgery; pattern; codec; file;
 * figures.
 */
#include "examples/videoconf/capture.h"
#include "examples/videoconf/codec.h"
#include "examples/videoconf/common.h"
#include "examples/videoconf/display.h"
#include "examples/videoconf/fragment.h"
#include "examples/videoconf/scaler.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <libavutil/frame.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SESSION = 7, WIDTH = 320, HEIGHT = 240 };

/* Byte `i` of frame `number`: what reassembly must give back. */
static uint8_t content(uint32_t number, uint32_t i)
{
    return (uint8_t)(number * 131 + i * 7 + i / 256);
}

static struct frame frame_make(uint32_t number, uint32_t bytes, uint8_t *data)
{
    for (uint32_t i = 0; i < bytes; i++)
        data[i] = content(number, i);
    return (struct frame){.session = SESSION,
                          .number = number,
                          .type = number % 30 == 0 ? FRAME_I : FRAME_P,
                          .captured = 1000 + number,
                          .width = WIDTH,
                          .height = HEIGHT,
                          .codec = "mpeg4",
                          .bytes = bytes,
                          .data = data};
}

static void assert_intact(const struct frame *f)
{
    for (uint32_t i = 0; i < f->bytes; i++)
        assert_int_equal(f->data[i], content(f->number, i));
    for (uint32_t i = 0; i < FRAME_PADDING; i++)
        assert_int_equal(f->data[f->bytes + i], 0);
}

/* Takes a copy of exactly `n` bytes, so that a sanitizer sees a read behind them. */
static int take(struct assembler *a, const uint8_t *datagram, size_t n, int64_t now, struct frame *out)
{
    uint8_t *exact = malloc(n ? n : 1);
    assert_non_null(exact);
    memcpy(exact, datagram, n);
    int took = assembler_take(a, exact, n, now, out);
    free(exact);
    return took;
}

/* Sends all fragments of a frame of `bytes`; returns what the last one gave. */
static int take_frame(struct assembler *a, uint32_t session, uint32_t number, uint32_t bytes, int64_t now)
{
    static uint8_t data[FRAME_BYTES_MAX], datagram[FRAGMENT_BYTES];
    struct frame f = frame_make(number, bytes, data), out;
    int took = 0;
    f.session = session;
    for (uint32_t i = 0; i < fragment_count(bytes); i++)
        took = take(a, datagram, fragment_put(&f, i, datagram), now, &out);
    if (took > 0 && took & ASSEMBLER_WHOLE)
        assert_intact(&out);
    return took;
}

TEST(frames_of_every_size_come_back_intact)
{
    static const uint32_t sizes[] = {
        1, FRAGMENT_PAYLOAD - 1, FRAGMENT_PAYLOAD, FRAGMENT_PAYLOAD + 1, 2 * FRAGMENT_PAYLOAD, 100000, FRAME_BYTES_MAX};
    static uint8_t data[FRAME_BYTES_MAX], datagram[FRAGMENT_BYTES];
    struct assembler *a = assembler_new();
    for (uint32_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct frame f = frame_make(s, sizes[s], data), out;
        uint32_t count = fragment_count(f.bytes);
        for (uint32_t i = 0; i < count; i++) {
            int expected = (i == 0 ? ASSEMBLER_FIRST : 0) | (i == count - 1 ? ASSEMBLER_WHOLE : 0);
            assert_int_equal(take(a, datagram, fragment_put(&f, i, datagram), 0, &out), expected);
        }
        assert_int_equal(out.bytes, f.bytes);
        assert_int_equal(out.type, f.type);
        assert_int_equal(out.captured, f.captured);
        assert_int_equal(out.width, WIDTH);
        assert_int_equal(out.height, HEIGHT);
        assert_string_equal(out.codec, "mpeg4");
        assert_intact(&out);
    }
    assert_int_equal(assembler_counts(a).lost, 0);
    assert_int_equal(assembler_counts(a).refused, 0);
    assembler_free(a);
}

TEST(fragments_in_any_order_and_doubled_make_one_frame)
{
    uint8_t data[4 * FRAGMENT_PAYLOAD], datagram[FRAGMENT_BYTES];
    struct assembler *a = assembler_new();
    struct frame f = frame_make(5, sizeof data, data), out;
    static const struct {
        uint32_t index;
        int expected;
    } arrivals[] = {{2, ASSEMBLER_FIRST}, {2, 0}, {3, 0}, {0, 0}, {0, 0}, {1, ASSEMBLER_WHOLE}, {1, 0}, {3, 0}};
    for (size_t i = 0; i < sizeof arrivals / sizeof *arrivals; i++) {
        size_t n = fragment_put(&f, arrivals[i].index, datagram);
        assert_int_equal(take(a, datagram, n, 0, &out), arrivals[i].expected);
        if (arrivals[i].expected & ASSEMBLER_WHOLE)
            assert_intact(&out);
    }
    assert_int_equal(assembler_counts(a).lost, 0);
    assembler_free(a);
}

TEST(a_lost_datagram_loses_its_frame_and_is_counted)
{
    uint8_t data[3 * FRAGMENT_PAYLOAD], datagram[FRAGMENT_BYTES];
    struct assembler *a = assembler_new();
    struct frame out;
    assert_true(take_frame(a, SESSION, 10, 5000, 0) & ASSEMBLER_WHOLE);
    struct frame f = frame_make(11, sizeof data, data);
    take(a, datagram, fragment_put(&f, 0, datagram), 0, &out);
    take(a, datagram, fragment_put(&f, 2, datagram), 0, &out);
    assert_true(take_frame(a, SESSION, 14, 5000, 0) & ASSEMBLER_WHOLE); /* 12 and 13 never came at all */
    assert_int_equal(assembler_counts(a).lost, 3);
    assert_int_equal(take(a, datagram, fragment_put(&f, 1, datagram), 0, &out), 0); /* overtaken: stays lost */
    assert_int_equal(assembler_counts(a).lost, 3);
    assembler_free(a);
}

TEST(a_frame_long_overdue_does_not_disturb_a_later_one)
{
    uint8_t old_data[2 * FRAGMENT_PAYLOAD], new_data[2 * FRAGMENT_PAYLOAD], datagram[FRAGMENT_BYTES];
    struct assembler *a = assembler_new();
    struct frame late = frame_make(1, sizeof old_data, old_data), f, out;
    take(a, datagram, fragment_put(&late, 0, datagram), 0, &out);
    for (uint32_t number = 2; number < 40; number++) {
        f = frame_make(number, sizeof new_data, new_data);
        take(a, datagram, fragment_put(&f, 0, datagram), 0, &out);
    }
    assert_int_equal(take(a, datagram, fragment_put(&late, 1, datagram), 0, &out), 0);
    for (uint32_t number = 36; number < 40; number++) { /* of the many under way, the last four have a place */
        f = frame_make(number, sizeof new_data, new_data);
        assert_int_equal(take(a, datagram, fragment_put(&f, 1, datagram), 0, &out), ASSEMBLER_WHOLE);
        assert_int_equal(out.number, number);
        assert_intact(&out);
    }
    assembler_free(a);
}

TEST(a_client_that_joins_in_the_middle_of_a_frame_has_lost_nothing)
{
    uint8_t data[3 * FRAGMENT_PAYLOAD], datagram[FRAGMENT_BYTES];
    struct assembler *a = assembler_new();
    struct frame f = frame_make(99, sizeof data, data), out;
    take(a, datagram, fragment_put(&f, 2, datagram), 0, &out);
    assert_true(take_frame(a, SESSION, 100, 5000, 0) & ASSEMBLER_WHOLE);
    assert_int_equal(assembler_counts(a).lost, 0);
    assembler_free(a);
}

TEST(frame_numbers_may_wrap)
{
    struct assembler *a = assembler_new();
    for (uint32_t i = 0; i < 6; i++)
        assert_true(take_frame(a, SESSION, UINT32_MAX - 2 + i, 3000, 0) & ASSEMBLER_WHOLE);
    assert_int_equal(assembler_counts(a).lost, 0);
    assembler_free(a);
}

TEST(another_server_is_refused_until_the_first_is_silent)
{
    struct assembler *a = assembler_new();
    int64_t now = 5 * NS_PER_S;
    assert_true(take_frame(a, SESSION, 500, 3000, now) & ASSEMBLER_WHOLE);
    assert_int_equal(take_frame(a, SESSION + 1, 501, 100, now + NS_PER_S / 2), ASSEMBLER_REFUSED);
    assert_int_equal(take_frame(a, SESSION, 500 + 100000, 100, now + NS_PER_S / 2), ASSEMBLER_REFUSED);
    assert_true(take_frame(a, SESSION, 501, 3000, now + NS_PER_S / 2) & ASSEMBLER_WHOLE);
    assert_true(take_frame(a, SESSION + 1, 0, 3000, now + 3 * NS_PER_S) & ASSEMBLER_WHOLE);
    assert_int_equal(assembler_counts(a).lost, 0);
    assert_int_equal(assembler_counts(a).refused, 2);
    assembler_free(a);
}

TEST(malformed_datagrams_are_refused)
{
    uint8_t data[2 * FRAGMENT_PAYLOAD], good[FRAGMENT_BYTES], bad[FRAGMENT_BYTES + 1] = {0};
    struct frame f = frame_make(1, sizeof data, data), out;
    size_t n = fragment_put(&f, 0, good);
    static const struct {
        size_t at;
        uint8_t bytes[4];
    } forgeries[] = {
        {0, {0, 0, 0, 0}},     /* magic */
        {12, {0, 0, 0, 0}},    /* an empty frame */
        {12, {0, 0x10, 0, 1}}, /* one byte more than a frame may have */
        {12, {0xff, 0xff, 0xff, 0xff}},
        {12, {0, 0, 0, 9}}, /* too short for the payload that came */
        {16, {0, 0, 0, 2}}, /* a fragment behind the last */
        {16, {0xff, 0xff, 0xff, 0xff}},
        {20, {0, 0, 0, 2}},         /* type */
        {32, {0, 0, 0, 240}},       /* no width */
        {32, {0xff, 0xff, 0, 240}}, /* too wide */
        {32, {1, 64, 0, 0}},        /* no height */
    };
    struct assembler *a = assembler_new();
    uint64_t refused = 0;
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        memcpy(bad, good, n);
        memcpy(bad + forgeries[i].at, forgeries[i].bytes, 4);
        assert_int_equal(take(a, bad, n, 0, &out), ASSEMBLER_REFUSED);
        assert_int_equal(assembler_counts(a).refused, ++refused);
    }
    memcpy(bad, good, n);
    memset(bad + 36, 'x', CODEC_NAME_BYTES); /* a name without an end */
    assert_int_equal(take(a, bad, n, 0, &out), ASSEMBLER_REFUSED);
    for (size_t shorter = 0; shorter < n; shorter++)
        assert_int_equal(take(a, good, shorter, 0, &out), ASSEMBLER_REFUSED);
    memcpy(bad, good, n);
    assert_int_equal(take(a, bad, n + 1, 0, &out), ASSEMBLER_REFUSED); /* longer than it says */
    assert_int_equal(take(a, good, n, 0, &out), ASSEMBLER_FIRST);
    assembler_free(a);
}

TEST(fragments_that_contradict_each_other_are_refused)
{
    uint8_t data[3 * FRAGMENT_PAYLOAD], datagram[FRAGMENT_BYTES];
    struct assembler *a = assembler_new();
    struct frame f = frame_make(1, sizeof data, data), liar = f, out;
    take(a, datagram, fragment_put(&f, 0, datagram), 0, &out);
    liar.bytes = 2 * FRAGMENT_PAYLOAD;
    assert_int_equal(take(a, datagram, fragment_put(&liar, 1, datagram), 0, &out), ASSEMBLER_REFUSED);
    liar = f;
    liar.captured++;
    assert_int_equal(take(a, datagram, fragment_put(&liar, 1, datagram), 0, &out), ASSEMBLER_REFUSED);
    take(a, datagram, fragment_put(&f, 1, datagram), 0, &out);
    assert_int_equal(take(a, datagram, fragment_put(&f, 2, datagram), 0, &out), ASSEMBLER_WHOLE);
    assert_intact(&out);
    assembler_free(a);
}

/* Any mixture of loss, doubling and reordering: what comes out is intact, in order, and the books are right. */
TEST(a_bad_network_gives_intact_frames_and_exact_counts)
{
    enum { FRAMES = 2000, BYTES_MAX = 6 * FRAGMENT_PAYLOAD, DELAYED = 8 };
    static uint8_t data[BYTES_MAX], held[DELAYED][FRAGMENT_BYTES];
    size_t held_bytes[DELAYED] = {0};
    uint64_t seed = seed_start(), delivered = 0;
    uint32_t first = 0, last = 0;
    struct assembler *a = assembler_new();
    for (uint32_t number = 1; number <= FRAMES; number++) {
        struct frame f = frame_make(number, 1 + (uint32_t)(seed_next(&seed) % BYTES_MAX), data), out;
        for (uint32_t i = 0; i < fragment_count(f.bytes); i++) {
            uint64_t fate = seed_next(&seed) % 100;
            if (fate < 3)
                continue; /* lost */
            /* One of the datagrams held back goes out, this one takes its place. */
            size_t place = fate < 30 ? seed_next(&seed) % DELAYED : 0;
            for (int copies = fate >= 95 ? 2 : 1; copies > 0 && held_bytes[place]; copies--) {
                int took = take(a, held[place], held_bytes[place], 0, &out);
                assert_true(took >= 0);
                if (took & ASSEMBLER_WHOLE) {
                    assert_intact(&out);
                    assert_true(out.number > last);
                    first = first ? first : out.number;
                    last = out.number;
                    delivered++;
                }
            }
            held_bytes[place] = fragment_put(&f, i, held[place]);
        }
    }
    assert_true(delivered > FRAMES / 4);
    assert_int_equal(delivered + assembler_counts(a).lost, last - first + 1);
    assembler_free(a);
}

/* Datagrams with bits turned over, cut and lengthened must neither crash the client nor give a frame out of bounds. */
TEST(hostile_datagrams_do_no_harm)
{
    static uint8_t data[5 * FRAGMENT_PAYLOAD];
    uint8_t datagram[FRAGMENT_BYTES + 1];
    uint64_t seed = seed_start();
    struct assembler *a = assembler_new();
    for (uint32_t i = 0; i < 50000; i++) {
        uint64_t r = seed_next(&seed);
        struct frame f = frame_make(i / 8, 1 + (uint32_t)(r % sizeof data), data), out;
        size_t n = fragment_put(&f, (uint32_t)(r >> 32) % fragment_count(f.bytes), datagram);
        for (uint64_t flips = seed_next(&seed) % 4; flips > 0; flips--) {
            uint64_t at = seed_next(&seed);
            datagram[at % FRAGMENT_HEADER_BYTES] ^= (uint8_t)(at >> 32);
        }
        if (r >> 40 & 1)
            n = seed_next(&seed) % sizeof datagram;
        if (take(a, datagram, n, (int64_t)i * NS_PER_MS, &out) > 0) {
            assert_in_range(out.bytes, 1, FRAME_BYTES_MAX);
            assert_in_range(out.width, SIZE_MIN, WIDTH_MAX);
            assert_in_range(out.height, SIZE_MIN, HEIGHT_MAX);
            assert_true(strlen(out.codec) < CODEC_NAME_BYTES);
        }
    }
    assert_true(assembler_counts(a).refused > 0);
    assembler_free(a);
}

static bool same_picture(const AVFrame *x, const AVFrame *y)
{
    for (int plane = 0; plane < 3; plane++)
        for (int row = 0; row < (plane == 0 ? x->height : x->height / 2); row++)
            if (memcmp(x->data[plane] + row * x->linesize[plane], y->data[plane] + row * y->linesize[plane],
                       (size_t)(plane == 0 ? x->width : x->width / 2)) != 0)
                return false;
    return true;
}

TEST(the_pattern_moves_and_can_be_repeated)
{
    static const int sizes[][2] = {
        {SIZE_MIN, SIZE_MIN}, {WIDTH, HEIGHT}, {WIDTH_MAX, SIZE_MIN}, {SIZE_MIN, HEIGHT_MAX}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct capture *x = capture_new(NULL, sizes[i][0], sizes[i][1], AV_PIX_FMT_YUV420P);
        struct capture *y = capture_new(NULL, sizes[i][0], sizes[i][1], AV_PIX_FMT_YUV420P);
        for (uint32_t number = 0; number < 200; number++)
            assert_true(same_picture(capture_next(x, number), capture_next(y, number)));
        if (sizes[i][0] >= WIDTH && sizes[i][1] >= HEIGHT)
            for (uint32_t number = 0; number < 200; number++)
                assert_false(same_picture(capture_next(x, number), capture_next(x, number + 1)));
        capture_free(x);
        capture_free(y);
    }
}

/* Peak signal to noise of the luminance, dB. */
static double psnr(const AVFrame *x, const AVFrame *y)
{
    double sum = 0;
    for (int row = 0; row < x->height; row++)
        for (int column = 0; column < x->width; column++) {
            double d = x->data[0][row * x->linesize[0] + column] - y->data[0][row * y->linesize[0] + column];
            sum += d * d;
        }
    return 10 * log10(255.0 * 255.0 * x->width * x->height / (sum + 1e-9));
}

/* Encodes 40 pictures and decodes them: each is close to what went in, and an I frame comes every 30. */
static void round_trip(const char *codec)
{
    static uint8_t padded[FRAME_BYTES_MAX + FRAME_PADDING];
    struct encoder *e = encoder_new(codec, WIDTH, HEIGHT, 30, 100);
    struct decoder *d = decoder_new(codec);
    assert_non_null(e);
    assert_non_null(d);
    struct capture *c = capture_new(NULL, WIDTH, HEIGHT, encoder_format(e));
    struct frame f = {0};
    for (uint32_t i = 0; i < 40; i++) {
        AVFrame *picture = capture_next(c, i);
        assert_int_equal(encoder_encode(e, picture, &f), 0);
        assert_true(f.bytes < WIDTH * HEIGHT);
        assert_string_equal(f.codec, codec);
        if (i % 30 == 0)
            assert_int_equal(f.type, FRAME_I);
        memcpy(padded, f.data, f.bytes);
        memset(padded + f.bytes, 0, FRAME_PADDING);
        const AVFrame *decoded = decoder_decode(d, padded, f.bytes);
        assert_non_null(decoded);
        assert_int_equal(decoded->width, WIDTH);
        assert_int_equal(decoded->height, HEIGHT);
        assert_true(psnr(picture, decoded) > 28);
    }
    assert_string_equal(decoder_codec(d), codec);
    capture_free(c);
    decoder_free(d);
    encoder_free(e);
}

TEST(mpeg4_gives_back_a_picture_close_to_its_input)
{
    round_trip("mpeg4");
}

TEST(mjpeg_gives_back_a_picture_close_to_its_input)
{
    round_trip("mjpeg");
}

TEST(bytes_that_are_no_frame_are_dropped_by_the_decoder)
{
    static uint8_t junk[5000 + FRAME_PADDING];
    uint64_t seed = seed_start();
    struct decoder *d = decoder_new("mpeg4");
    for (int i = 0; i < 200; i++) {
        for (size_t k = 0; k < 5000; k++)
            junk[k] = (uint8_t)seed_next(&seed);
        const AVFrame *picture = decoder_decode(d, junk, 5000);
        assert_true(!picture || picture->width <= WIDTH_MAX);
    }
    decoder_free(d);
}

TEST(unknown_codecs_are_refused)
{
    assert_null(encoder_new("no-such-codec", WIDTH, HEIGHT, 30, 100));
    assert_null(encoder_new("pcm_s16le", WIDTH, HEIGHT, 30, 100));
    assert_null(decoder_new("no-such-codec"));
    assert_null(decoder_new("pcm_s16le"));
}

/* Writes `frames` pictures of the pattern as an MPEG-4 stream to a new file named in `path`. */
static void video_write(char *path, uint32_t frames)
{
    struct encoder *e = encoder_new("mpeg4", WIDTH, HEIGHT, 30, 100);
    struct capture *c = capture_new(NULL, WIDTH, HEIGHT, encoder_format(e));
    FILE *out = fdopen(mkstemps(path, 4), "wb");
    struct frame f = {0};
    assert_non_null(out);
    for (uint32_t i = 0; i < frames; i++) {
        assert_int_equal(encoder_encode(e, capture_next(c, i), &f), 0);
        assert_int_equal(fwrite(f.data, 1, f.bytes, out), f.bytes);
    }
    assert_int_equal(fclose(out), 0);
    capture_free(c);
    encoder_free(e);
}

TEST(a_file_is_played_again_after_its_end)
{
    enum { FRAMES = 12 };
    char path[] = "/tmp/bezel-test-XXXXXX.m4v";
    video_write(path, FRAMES);
    struct capture *file = capture_new(path, WIDTH, HEIGHT, AV_PIX_FMT_YUV420P);
    struct capture *pattern = capture_new(NULL, WIDTH, HEIGHT, AV_PIX_FMT_YUV420P);
    assert_non_null(file);
    for (uint32_t i = 0; i < 3 * FRAMES; i++) {
        const AVFrame *played = capture_next(file, i);
        assert_non_null(played);
        assert_true(psnr(capture_next(pattern, i % FRAMES), played) > 28);
    }
    capture_free(file);
    capture_free(pattern);
    unlink(path);
}

TEST(what_is_no_video_is_refused)
{
    char path[] = "/tmp/bezel-test-XXXXXX.mp4";
    FILE *out = fdopen(mkstemps(path, 4), "w");
    fputs("not a video\n", out);
    fclose(out);
    assert_null(capture_new(path, WIDTH, HEIGHT, AV_PIX_FMT_YUV420P));
    assert_null(capture_new("/nonexistent/video.mp4", WIDTH, HEIGHT, AV_PIX_FMT_YUV420P));
    assert_null(capture_new("tcp://127.0.0.1:9", WIDTH, HEIGHT, AV_PIX_FMT_YUV420P));
    unlink(path);
}

/* A real recording, where the tester has one. */
TEST(footage_fills_the_display)
{
    const char *folder = getenv("BEZEL_TEST_DATA");
    char path[4096];
    snprintf(path, sizeof path, "%s/video/bottle-detection.mp4", folder ? folder : "");
    if (!folder || access(path, R_OK) != 0) {
        print_message("skipped: no footage in $BEZEL_TEST_DATA/video\n");
        skip();
    }
    struct capture *c = capture_new(path, WIDTH, HEIGHT, AV_PIX_FMT_YUV420P);
    struct display *d = display_new(WIDTH, HEIGHT);
    assert_non_null(c);
    for (uint32_t i = 0; i < 60; i++)
        assert_true(display_show(d, capture_next(c, i)));
    display_free(d);
    capture_free(c);
}

TEST(the_display_dumps_the_colours_it_shows)
{
    enum { SHOWN_WIDTH = WIDTH - 10 }; /* whose rows are no round number of bytes */
    char path[] = "/tmp/bezel-test-XXXXXX.ppm";
    close(mkstemps(path, 4));
    struct capture *c = capture_new(NULL, WIDTH, HEIGHT, AV_PIX_FMT_YUV420P);
    struct display *d = display_new(SHOWN_WIDTH, HEIGHT);
    assert_true(display_show(d, capture_next(c, 60)));
    assert_true(display_dump(d, path));
    assert_false(display_dump(d, "/nonexistent/x.ppm"));
    FILE *in = fopen(path, "rb");
    int width, height;
    static uint8_t rgb[SHOWN_WIDTH * HEIGHT * 3 + 1];
    assert_int_equal(fscanf(in, "P6 %d %d 255%*c", &width, &height), 2);
    assert_int_equal(fread(rgb, 1, sizeof rgb, in), SHOWN_WIDTH * HEIGHT * 3);
    fclose(in);
    unlink(path);
    assert_int_equal(width, SHOWN_WIDTH);
    assert_int_equal(height, HEIGHT);
    for (int row = 0; row < HEIGHT / 2; row++) { /* from the white bar to the blue one */
        const uint8_t *left = rgb + (row * SHOWN_WIDTH + 20) * 3, *right = rgb + ((row + 1) * SHOWN_WIDTH - 10) * 3;
        assert_true(left[0] > 240 && left[1] > 240 && left[2] > 240);
        assert_true(right[0] < 40 && right[1] < 40 && right[2] > 200);
    }
    display_free(d);
    capture_free(c);
}

/* A 16x16 picture in `format`, all of luminance `y`, no colour. */
static AVFrame *grey(enum AVPixelFormat format, int y)
{
    AVFrame *f = av_frame_alloc();
    f->width = f->height = 16;
    f->format = format;
    assert_int_equal(av_frame_get_buffer(f, 0), 0);
    for (int plane = 0; plane < 3 && f->data[plane]; plane++)
        memset(f->data[plane], plane == 0 ? y : 128, (size_t)f->linesize[plane] * (plane == 0 ? 16 : 8));
    return f;
}

TEST(white_is_white_in_broadcast_and_in_jpeg_range)
{
    struct scaler *s = scaler_new();
    AVFrame *broadcast = grey(AV_PIX_FMT_YUV420P, 235), *jpeg = grey(AV_PIX_FMT_YUVJ420P, 255);
    AVFrame *rgb = av_frame_alloc();
    rgb->width = rgb->height = 16;
    rgb->format = AV_PIX_FMT_RGB24;
    assert_int_equal(av_frame_get_buffer(rgb, 0), 0);
    for (int i = 0; i < 2; i++) {
        memset(rgb->data[0], 0, 3);
        assert_true(scaler_convert(s, i == 0 ? broadcast : jpeg, rgb));
        assert_in_range(rgb->data[0][0], 253, 255);
    }
    assert_true(scaler_convert(s, broadcast, jpeg));
    assert_in_range(jpeg->data[0][0], 253, 255);
    assert_true(scaler_convert(s, jpeg, broadcast));
    assert_in_range(broadcast->data[0][0], 233, 237);
    av_frame_free(&broadcast);
    av_frame_free(&jpeg);
    av_frame_free(&rgb);
    scaler_free(s);
}

TEST(rate_is_counted_between_the_first_frame_and_the_last)
{
    static struct figures f;
    assert_true(figures_rate(&f) == 0 && figures_median_ms(&f) == 0);
    for (int i = 0; i < 31; i++)
        figures_add(&f, 1000 * NS_PER_S + i * NS_PER_S / 30, (i % 3 + 1) * NS_PER_MS);
    assert_int_equal(f.shown, 31);
    assert_true(fabs(figures_rate(&f) - 30) < 0.001);
    assert_true(fabs(figures_seconds(&f) - 1) < 0.001);
    assert_true(fabs(figures_median_ms(&f) - 2) < 0.03);
    figures_add(&f, 1002 * NS_PER_S, 100 * NS_PER_S); /* beyond the histogram */
    figures_add(&f, 1002 * NS_PER_S, -5);             /* a clock of another machine */
    assert_int_equal(f.shown, 33);
}

int main(void)
{
    codec_log(false);
    return test_run(NULL, NULL);
}
