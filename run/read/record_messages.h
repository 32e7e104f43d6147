// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Messages between processes, by their two records, as <bezel/kinds.h> defines which belong together: each names the
 * other process, or both name a channel, which no process is called, with the same tag. Of several sendings of one
 * message the earliest counts. Pure, but for memory: a bound, beyond which the oldest are forgotten. One thread.
 */
#ifndef BEZEL_RUN_READ_RECORD_MESSAGES_H
#define BEZEL_RUN_READ_RECORD_MESSAGES_H

#include "run/read/record_item.h"

/** A message's sending that was found. */
struct record_sent {
    uint64_t key;            /* stands for the message; never 0 */
    int64_t node, process;   /* the sender's, as their rows in the database */
    uint32_t aspect, stream; /* stream: the number that its item has */
    uint64_t time;           /* on its clock, ns */
    struct clock_reading at; /* in the run's time */
    bool given;              /* it has its place in the order */
    bool matched;            /* record_messages_match() found it */
};

/**
 * How long a message took, ns, and the bound of the error of that; INT64_MAX: it is not known. Negative where clocks of
 * two nodes are known no better.
 */
struct clock_reading record_message_took(const struct record_sent *sent, const struct record_item *received);

struct record_messages;

/** `memory`: the most that it takes, bytes, of which it touches what it uses. NULL: no memory. */
struct record_messages *record_messages_new(size_t memory);
void record_messages_free(struct record_messages *m);

/**
 * All sendings and receivings are taken in the order of the run's time: of the same message of two processes the later
 * sending counts from then on. A program that was restarted numbers its messages anew.
 */
void record_messages_in_order(struct record_messages *m);

/** Takes a sending that was found; other records, and those that name nobody, are none. */
void record_messages_add(struct record_messages *m, const struct record_item *sent);

/** How many keys of sendings, of which each has one or two, were forgotten. */
uint64_t record_messages_forgotten(const struct record_messages *m);

/** The sending of the message in `received`; NULL: none is known. Valid until the next call. */
const struct record_sent *record_messages_find(const struct record_messages *m, const struct record_item *received);

/**
 * The same, for who took all sendings before; NULL too if the receiving is before its sending by more than the clocks'
 * bounds: it has none that could be its own.
 */
const struct record_sent *record_messages_pair(const struct record_messages *m, const struct record_item *received);

/** The same, for who takes records in order: *first: it is found for the first time, not for one of several receivings.
 */
const struct record_sent *record_messages_match(struct record_messages *m, const struct record_item *received,
                                                bool *first);

/** The sending with that key; NULL: it is not known, or no more. */
const struct record_sent *record_messages_by_key(const struct record_messages *m, uint64_t key);

/** Notes that a receiving was given and its sending was not. */
void record_messages_received(struct record_messages *m, const struct record_item *received);

/** Notes that a sending is given. Whether a receiving of that message was given before it. */
bool record_messages_sent(struct record_messages *m, const struct record_item *sent);

#endif
