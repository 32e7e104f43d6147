// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** How readers of a run bring the records of its nodes into one order, as the operator declares it. Pure. */
#ifndef BEZEL_CONFIG_ORDER_SETTINGS_H
#define BEZEL_CONFIG_ORDER_SETTINGS_H

#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

#define ORDER_MEMORY_LEAST (UINT64_C(1) << 20)
#define ORDER_MEMORY_MOST  (UINT64_C(4) << 30)
#define ORDER_WAIT_MOST    INT64_C(3600000000000)

enum order_buffers {
    ORDER_MISO, /* what waits for a sending waits in a buffer for each node, the store */
    ORDER_SISO, /* ... in one for all nodes */
};

struct order_settings {
    enum order_buffers buffers;
    uint64_t memory; /* bytes of a reader's buffers, ORDER_MEMORY_LEAST to ORDER_MEMORY_MOST */
    int64_t wait;    /* ns for which a silent node is waited for, 1 to ORDER_WAIT_MOST */
};

#define ORDER_SETTINGS_DEFAULT                                                                                         \
    {                                                                                                                  \
        .buffers = ORDER_MISO, .memory = UINT64_C(64) << 20, .wait = INT64_C(5000000000)                               \
    }
extern const struct order_settings order_settings_default;

bool order_settings_same(const struct order_settings *a, const struct order_settings *b);

/** "miso" or "siso". Reading returns false for any other text. */
const char *order_buffers_word(enum order_buffers buffers);
bool order_buffers_read(const char *text, enum order_buffers *buffers);

/** "BUFFERS:MEMORY:WAIT", such as "siso:64 MiB:5 s", or "" for the default; and back: false for any other text. */
struct units_text order_settings_print(const struct order_settings *s);
bool order_settings_read(const char *text, struct order_settings *s);

#endif
