// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Which message a record is of: its sending and its receivings have one key. Pure. */
#ifndef BEZEL_RUN_MODEL_MESSAGE_KEYS_H
#define BEZEL_RUN_MODEL_MESSAGE_KEYS_H

#include "run/model/run_model.h"

/**
 * The keys of the message of record `r` of process `p`: between two processes, and through a channel, unless it names a
 * process. Otherwise, where messages are passed on with their tag, from A to B and from B to C, C's receiving would
 * have A's sending if that of B is missing. Returns how many; 0: the record names nobody, or its aspect is not of
 * `kind`, DICT_SENT or DICT_RECEIVED. A key is never 0.
 */
int message_keys(const struct model_process *p, const struct packet_record *r, enum dict_kind kind, uint64_t keys[2]);

#endif
