// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Records, and losses, that a view has in a list: with their bytes, and where they are stored. Pure. */
#ifndef BEZEL_VIEWS_PICTURE_SHOWN_RECORD_H
#define BEZEL_VIEWS_PICTURE_SHOWN_RECORD_H

#include "run/levels/levels.h"

struct shown_record {
    int64_t at; /* ns of the node's clock; of a loss, the end of its packet */
    size_t stream;
    uint64_t packet, record, bytes; /* as struct levels_place has them, but bytes only as many as are in `raw` */
    uint64_t lost;                  /* not 0: so many records were lost; it is no record */
    uint32_t thread;
    uint8_t raw[PACKET_RECORD_MAX_BYTES];
};

/** Keeps what levels_records() gives of stream `stream`: record `r`, or a loss (NULL). */
void shown_record_keep(struct shown_record *it, const struct packet_record *r, const struct levels_place *place,
                       size_t stream);

/** The record, whose values point into it. Aspect 0: it is a loss, or dictionary `d` is another one by now. */
struct packet_record shown_record_read(const struct shown_record *it, const struct dict *d);

/** Of two struct shown_record, for qsort(): the order of time, and of one ring that in which they came. */
int shown_record_compare(const void *a, const void *b);

/** Field `i` of record `r` of aspect `a` as a number: of an enum or a string its own; NaN: there is none. */
double shown_record_number(const struct dict_aspect *a, const struct packet_record *r, int32_t i);

#endif
