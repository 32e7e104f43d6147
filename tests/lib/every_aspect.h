// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Aspects of 0 to 12 fields, with every type, and EVERY_RECORD(), which records one of each: compiled as C and as C++.
 * Value k of an aspect is 100 + k, as its type has it.
 */
#ifndef BEZEL_TESTS_LIB_EVERY_ASPECT_H
#define BEZEL_TESTS_LIB_EVERY_ASPECT_H

#include <bezel/sensor.h>

enum { EVERY_COUNT = 13, EVERY_FIRST = 100 };

#define EVERY_LABELS "idle|busy"

BEZEL_ASPECT(of0);
BEZEL_ASPECT(of1, (int64, a, "1"));
BEZEL_ASPECT(of2, (int64, a, "1"), (float64, b, "ms"));
BEZEL_ASPECT(of3, (int64, a, "1"), (float64, b, "ms"), (enum, c, "1", EVERY_LABELS));
BEZEL_ASPECT(of4, (int64, a, "1"), (float64, b, "ms"), (enum, c, "1", EVERY_LABELS), (string, d, "1"));
BEZEL_ASPECT(of5, (int64, a, "1"), (float64, b, "ms"), (enum, c, "1", EVERY_LABELS), (string, d, "1"), (int64, e, "1"));
BEZEL_ASPECT(of6, (int64, a, "1"), (float64, b, "ms"), (enum, c, "1", EVERY_LABELS), (string, d, "1"), (int64, e, "1"),
             (float64, f, "ms"));
BEZEL_ASPECT(of7, (int64, a, "1"), (float64, b, "ms"), (enum, c, "1", EVERY_LABELS), (string, d, "1"), (int64, e, "1"),
             (float64, f, "ms"), (enum, g, "1", EVERY_LABELS));
BEZEL_ASPECT(of8, (int64, a, "1"), (float64, b, "ms"), (enum, c, "1", EVERY_LABELS), (string, d, "1"), (int64, e, "1"),
             (float64, f, "ms"), (enum, g, "1", EVERY_LABELS), (string, h, "1"));
BEZEL_ASPECT(of9, (int64, a, "1"), (float64, b, "ms"), (enum, c, "1", EVERY_LABELS), (string, d, "1"), (int64, e, "1"),
             (float64, f, "ms"), (enum, g, "1", EVERY_LABELS), (string, h, "1"), (int64, i, "1"));
BEZEL_ASPECT(of10, (int64, a, "1"), (float64, b, "ms"), (enum, c, "1", EVERY_LABELS), (string, d, "1"), (int64, e, "1"),
             (float64, f, "ms"), (enum, g, "1", EVERY_LABELS), (string, h, "1"), (int64, i, "1"), (float64, j, "ms"));
BEZEL_ASPECT(of11, (int64, a, "1"), (float64, b, "ms"), (enum, c, "1", EVERY_LABELS), (string, d, "1"), (int64, e, "1"),
             (float64, f, "ms"), (enum, g, "1", EVERY_LABELS), (string, h, "1"), (int64, i, "1"), (float64, j, "ms"),
             (enum, k, "1", EVERY_LABELS));
BEZEL_ASPECT(of12, (int64, a, "1"), (float64, b, "ms"), (enum, c, "1", EVERY_LABELS), (string, d, "1"), (int64, e, "1"),
             (float64, f, "ms"), (enum, g, "1", EVERY_LABELS), (string, h, "1"), (int64, i, "1"), (float64, j, "ms"),
             (enum, k, "1", EVERY_LABELS), (string, l, "1"));

/** A string with an id of one's own choice; bezel_intern() gives real ones. */
static inline bezel_string every_string(uint64_t id)
{
    bezel_string s;
    s.id = id;
    return s;
}

#define EVERY_RECORD()                                                                                                 \
    do {                                                                                                               \
        bezel_record(of0);                                                                                             \
        bezel_record(of1, 100);                                                                                        \
        bezel_record(of2, 100, 101.0);                                                                                 \
        bezel_record(of3, 100, 101.0, 102);                                                                            \
        bezel_record(of4, 100, 101.0, 102, every_string(103));                                                         \
        bezel_record(of5, 100, 101.0, 102, every_string(103), 104);                                                    \
        bezel_record(of6, 100, 101.0, 102, every_string(103), 104, 105.0);                                             \
        bezel_record(of7, 100, 101.0, 102, every_string(103), 104, 105.0, 106);                                        \
        bezel_record(of8, 100, 101.0, 102, every_string(103), 104, 105.0, 106, every_string(107));                     \
        bezel_record(of9, 100, 101.0, 102, every_string(103), 104, 105.0, 106, every_string(107), 108);                \
        bezel_record(of10, 100, 101.0, 102, every_string(103), 104, 105.0, 106, every_string(107), 108, 109.0);        \
        bezel_record(of11, 100, 101.0, 102, every_string(103), 104, 105.0, 106, every_string(107), 108, 109.0, 110);   \
        bezel_record(of12, 100, 101.0, 102, every_string(103), 104, 105.0, 106, every_string(107), 108, 109.0, 110,    \
                     every_string(111));                                                                               \
    } while (0)

#endif
