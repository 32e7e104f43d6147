// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Aspects of each kind, with no field of their own and with as many as there may be, and KINDS_RECORD(), which records
 * them: compiled as C and as C++. Spans: span2 lasts from between mark 1 and mark 2 to between mark 3 and mark 4.
 */
#ifndef BEZEL_TESTS_LIB_EVERY_KIND_H
#define BEZEL_TESTS_LIB_EVERY_KIND_H

#include <bezel/sensor.h>

BEZEL_ASPECT(mark, (int64, n, "1"));
BEZEL_SPAN(span0);
BEZEL_SPAN(span2, (int64, a, "1"), (string, b, "1"));
BEZEL_SPAN(span11, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"), (int64, f, "1"),
           (int64, g, "1"), (int64, h, "1"), (int64, i, "1"), (int64, j, "1"), (float64, k, "ms"));
BEZEL_WAIT(wait0, lock);
BEZEL_WAIT(wait10, message, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"),
           (int64, f, "1"), (int64, g, "1"), (int64, h, "1"), (int64, i, "1"), (float64, j, "ms"));
BEZEL_COUNTER(counted, "B");
BEZEL_GAUGE(level, "degC");
BEZEL_SENT(sent0);
BEZEL_SENT(sent10, (int64, a, "1"), (int64, b, "1"), (int64, c, "1"), (int64, d, "1"), (int64, e, "1"), (int64, f, "1"),
           (int64, g, "1"), (int64, h, "1"), (int64, i, "1"), (float64, j, "ms"));
BEZEL_RECEIVED(received0);
BEZEL_RECEIVED(received1, (enum, a, "1", "new|again"));
BEZEL_RECEIVED(received2, (int64, bytes, "B"), (int64, waited, "ns"));
BEZEL_ASPECT(used, (int64, before, "ns"), (cpu, cpu, "ns"));

/** A string with an id of one's own choice; bezel_intern() gives real ones. */
static inline bezel_string kinds_string(uint64_t id)
{
    bezel_string s;
    s.id = id;
    return s;
}

#define KINDS_RECORD()                                                                                                 \
    do {                                                                                                               \
        const bezel_span none_ = {0, 0};                                                                               \
        bezel_record(mark, 1);                                                                                         \
        bezel_span outer_ = bezel_begin(span2);                                                                        \
        bezel_record(mark, 2);                                                                                         \
        bezel_span inner_ = bezel_begin(span0), dropped_ = bezel_begin(span0);                                         \
        (void)dropped_;                                                                                                \
        bezel_span asked_ = bezel_receiving(received2);                                                                \
        bezel_count(counted, 7);                                                                                       \
        bezel_gauge(level, -1.5);                                                                                      \
        bezel_sent(sent0, kinds_string(5), 6);                                                                         \
        bezel_sent(sent10, kinds_string(5), 7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0.5);                                        \
        bezel_received(received0, kinds_string(8), 9);                                                                 \
        bezel_received(received1, kinds_string(8), 10, 1);                                                             \
        bezel_received(received2, kinds_string(8), 11, 64, bezel_waited(asked_));                                      \
        bezel_received(received2, kinds_string(8), 12, 65, bezel_waited(none_));                                       \
        bezel_record(used, bezel_cpu_ns(), BEZEL_CPU);                                                                 \
        bezel_record(used, bezel_cpu_ns(), BEZEL_CPU);                                                                 \
        bezel_end(span0, inner_);                                                                                      \
        bezel_record(mark, 3);                                                                                         \
        bezel_end(span2, outer_, 11, kinds_string(12));                                                                \
        bezel_record(mark, 4);                                                                                         \
        bezel_end(span0, none_);                                                                                       \
        bezel_record(span0, 1234); /* measured by other means */                                                       \
        bezel_end(wait0, bezel_begin(wait0));                                                                          \
        bezel_end(wait10, bezel_begin(wait10), 1, 2, 3, 4, 5, 6, 7, 8, 9, 0.5);                                        \
        bezel_end(span11, bezel_begin(span11), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0.5);                                    \
    } while (0)

#endif
