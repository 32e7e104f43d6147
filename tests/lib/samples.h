// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * One of everything that crosses a wire: what tests/golden holds in bytes, docs/WIRE.md explains, and fuzzers start
 * from.
 */
#ifndef BEZEL_TESTS_LIB_SAMPLES_H
#define BEZEL_TESTS_LIB_SAMPLES_H

#include "mdr/packet.h"
#include "mdr/parts.h"

struct message;

enum {
    SAMPLE_PACKETS = 5, /* one stream: open, data, loss, data, close */
    SAMPLE_BYTES = MESSAGE_MAX_BYTES,
};

/** Every type of message, and how many there are. */
extern const enum message_type sample_types[];
extern const size_t sample_type_count;

/** Names of files: "packet-0-open", "message-hello". Static storage. */
const char *sample_packet_name(int i);
const char *sample_message_name(enum message_type type);

/** The dictionary of two aspects (tick; frame_shown with a field of each type) and one string, at most SAMPLE_BYTES. */
size_t sample_dictionary(uint8_t *out);

/** A dictionary of one aspect of each kind but an event, without a string. */
size_t sample_kinds(uint8_t *out);
size_t sample_wait(uint8_t *out);

/**
 * Packet `i` of the stream, whose records the dictionary explains. 4 records in all, 5 lost: 3 before the second data
 * packet.
 */
size_t sample_packet(int i, uint8_t *out);

/** A message of `type` with every field set, each to a value of its own. */
void sample_message(enum message_type type, struct message *m);

/** A REPLY with an answer of this kind, from ANSWER_REFUSED to ANSWER_SEGMENTS; and its file. */
void sample_reply(enum message_answer answer, struct message *m);
const char *sample_reply_name(enum message_answer answer);

/** The COMMANDs that say more than their verb: SET of aspects, poll and knob, SAVE, CONFIGURE and QUERY of knobs. */
void sample_aspects(struct message *m);
void sample_poll(struct message *m);
void sample_knob(struct message *m);
void sample_save(struct message *m);
void sample_configure(struct message *m);
void sample_query(struct message *m);

#endif
