// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** A run of one record, as an observer gets it. */
#ifndef BEZEL_TESTS_LIB_ONE_RECORD_H
#define BEZEL_TESTS_LIB_ONE_RECORD_H

#include "mdr/packet.h"

struct one_record {
    struct packet_run run;
    uint8_t bytes[PACKET_RECORD_MAX_BYTES];
};

/** Of aspect 1, with `count` values; the run lasts as long as *r. */
static inline const struct packet_run *one_record(struct one_record *r, int64_t time, uint32_t count,
                                                  const uint64_t *values)
{
    uint8_t *at = packet_put_record(r->bytes, 1, (uint64_t)time);
    for (uint32_t i = 0; i < count; i++)
        bytes_put_u64(at + 8 * (size_t)i, values[i]);
    r->run = (struct packet_run){
        .aspect = 1, .count = 1, .stride = PACKET_RECORD_BYTES + 8 * count, .value_count = count, .first = r->bytes};
    return &r->run;
}

/** The same, which lasts as long as the block that it stands in. */
#define ONE_RECORD(time, count, values) one_record(&(struct one_record){0}, time, count, values)

#endif
