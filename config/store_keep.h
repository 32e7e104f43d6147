// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What a run's store keeps, as the operator declares it: the newest packets, by their bytes or their time. Pure. */
#ifndef BEZEL_CONFIG_STORE_KEEP_H
#define BEZEL_CONFIG_STORE_KEEP_H

#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

/* A sixteenth expires at once: that of the least bytes still holds a packet, that of the least time is half a second.
 */
#define STORE_KEEP_BYTES_LEAST (UINT64_C(16) << 20)
#define STORE_KEEP_BYTES_MOST  (UINT64_C(1) << 50)
#define STORE_KEEP_TIME_LEAST  INT64_C(10000000000)           /* ns */
#define STORE_KEEP_TIME_MOST   INT64_C(3650 * 86400000000000) /* ns: ten years */
#define STORE_KEEP_ALLOWED     "16 MiB .. 1048576 GiB, 10 s .. 3650 days"

/** At most one of both is not 0; both 0: everything is kept. */
struct store_keep {
    uint64_t bytes; /* of packets */
    int64_t time;   /* ns since a packet was stored */
};

/** "2 GiB", "48 h", "7 days" (or "1 day"). Returns NULL, or what is wrong with the text, static. */
const char *store_keep_read(const char *text, struct store_keep *keep);

/** As store_keep_read() takes it; "" where everything is kept. */
struct units_text store_keep_print(const struct store_keep *keep);

#endif
