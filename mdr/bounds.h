// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Bounds of messages, as mdr/mdr.x and mdr/control.x have them. Lengths of texts are without the final NUL. */
#ifndef BEZEL_MDR_BOUNDS_H
#define BEZEL_MDR_BOUNDS_H

enum {
    MESSAGE_VERSION = 2, /* of all messages; packets have a version of their own */
    MESSAGE_NAME_MAX = 63,
    MESSAGE_TEXT_MAX = 255,
    MESSAGE_DICT_MAX = 65536,
    MESSAGE_ROWS_MAX = 1024,
    MESSAGE_BOOKS_MAX = 255,
    MESSAGE_PATTERNS_MAX = 1023,
    MESSAGE_EXPERIMENT_MAX = 61440,
    MESSAGE_LIMITS_MAX = 64,
    MESSAGE_FIRINGS_MAX = 64,
    MESSAGE_HISTOGRAMS_MAX = 12288, /* bytes of the histograms of partials ... */
    MESSAGE_BUCKET_BYTES = 12,      /* ... in so many for each bucket */
    MESSAGE_KNOBS_MAX = 16,
    MESSAGE_LISTED_MAX = 256,
    MESSAGE_SESSIONS_MAX = 16,  /* of a bezeld */
    MESSAGE_LAUNCH_MAX = 61440, /* bytes of the texts of a program to be started */
    MESSAGE_LAUNCHED_MAX = 256, /* programs in one answer */
    MESSAGE_STAGE_MAX = 15,
    MESSAGE_OUTPUT_MAX = 32768,    /* bytes of output in one answer */
    MESSAGE_SEGMENTS_MAX = 64,     /* recording processes in one answer */
    MESSAGE_MISSING_WORDS = 16,    /* of a bit for each node */
    MESSAGE_CLOCK_BYTES = 68,      /* the encoding of CLOCK */
    MESSAGE_MAX_BYTES = 66 * 1024, /* the longest encoding: PROCESS with a full dictionary */
};

#endif
