// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Messages between processes, by their two records, as <bezel/kinds.h> defines which belong together: each names the
 * other process, or both name a channel, with the same tag. Of several records of one message the first one of each
 * sender counts. Pure, but for memory: a bound, beyond which the oldest are forgotten. One thread.
 */
#ifndef BEZEL_RUN_READ_RECORD_MESSAGES_H
#define BEZEL_RUN_READ_RECORD_MESSAGES_H

#include "run/read/record_item.h"

/** The name of the other process, or of the channel; NULL: the record has none, or is not of `kind`. */
const char *record_message_peer(const struct dict *d, const struct packet_record *r, enum dict_kind kind);

/** Stands for message `tag` from process `from` to process `to`, or through channel `to` with `from` "". Never 0. */
uint64_t record_message_key(const char *from, const char *to, uint64_t tag);

/** A message's sending that was found. */
struct record_sent {
    uint64_t key;
    int64_t node, process; /* the sender's, as their rows in the database */
    uint32_t aspect;
    size_t stream;           /* the number that its item has */
    uint64_t time;           /* on its clock, ns */
    struct clock_reading at; /* in the run's time */
    bool given;              /* it has its place in the order */
    bool matched;            /* record_messages_match() found it */
};

struct record_messages;

/** `memory`: the most that it takes, bytes. NULL: no memory. */
struct record_messages *record_messages_new(size_t memory);
void record_messages_free(struct record_messages *m);

/** Takes a sending that was found. Without memory for it, it is not known. */
void record_messages_add(struct record_messages *m, const struct record_item *sent);

/** The sending of what `received` tells of; NULL: none is known. Valid until the next call. */
const struct record_sent *record_messages_find(const struct record_messages *m, const struct record_item *received);

/** The same, for who matches messages: *first: it is found for the first time, not for one of several receivings. */
const struct record_sent *record_messages_match(struct record_messages *m, const struct record_item *received,
                                                bool *first);

/** The sending with that key; NULL: it is not known, or no more. */
const struct record_sent *record_messages_by_key(const struct record_messages *m, uint64_t key);

/** Notes that a receiving was given and its sending was not. */
void record_messages_received(struct record_messages *m, const struct record_item *received);

/** Notes that a sending is given. Whether a receiving of that message was given before it. */
bool record_messages_sent(struct record_messages *m, const struct record_item *sent);

#endif
