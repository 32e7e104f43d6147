// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Streams of made-up packets whose every byte follows from (instance, sequence number), so that whoever finds one in a
 * window can tell whether it is whole, and where its stream must stand. The rule of a stream is written a second time
 * here.
 */
#ifndef BEZEL_TESTS_LIB_WINDOW_MODEL_H
#define BEZEL_TESTS_LIB_WINDOW_MODEL_H

#include "mdr/uplink/window.h"

/** The packet that follows where the stream stands at `s`. */
struct packet_header model_next(const struct window_stream *s);

/** The stream that begins at `s` after packets 0 to next_seq - 1. */
struct window_stream model_after(struct window_stream s, uint64_t next_seq);

/** Cuts the next packet of stream `i`; false: the window is full. */
bool model_cut(struct window *w, uint32_t i);

/** Whether `bytes` bytes at `data`, or packet `p`, are, byte for byte, the packet with header `h`. */
bool model_is(const uint8_t *data, uint32_t bytes, const struct packet_header *h);
bool model_is_whole(const struct window_packet *p, const struct packet_header *h);

/** Whether both stand at the same place: all but acknowledgements. */
bool model_same(const struct window_stream *a, const struct window_stream *b);

#endif
