// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Messages with random contents. */
#ifndef BEZEL_TESTS_LIB_RANDOM_MESSAGE_H
#define BEZEL_TESTS_LIB_RANDOM_MESSAGE_H

#include "mdr/message.h"

/** Fills *m with a message of `type` that can be encoded: random bytes wherever any bytes may stand. */
void random_message(uint64_t *seed, enum message_type type, struct message *m);

#endif
