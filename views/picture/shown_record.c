// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/picture/shown_record.h"

#include <math.h>
#include <string.h>

void shown_record_keep(struct shown_record *it, const struct packet_record *r, const struct levels_place *place,
                       size_t stream)
{
    *it = (struct shown_record){.at = (int64_t)(r ? r->timestamp : place->header->timestamp_end),
                                .stream = stream,
                                .packet = place->packet,
                                .record = place->record,
                                .lost = r ? 0 : place->lost,
                                .thread = place->header->thread};
    it->bytes = place->bytes < sizeof it->raw ? place->bytes : sizeof it->raw;
    if (r)
        memcpy(it->raw, place->raw, it->bytes);
}

struct packet_record shown_record_read(const struct shown_record *it, const struct dict *d)
{
    struct packet_record r = {.aspect = 0};
    if (it->lost || it->bytes < PACKET_RECORD_BYTES)
        return r;
    r = (struct packet_record){.aspect = bytes_get_u32(it->raw),
                               .timestamp = bytes_get_u64(it->raw + 4),
                               .value_count = (uint32_t)((it->bytes - PACKET_RECORD_BYTES) / 8),
                               .values = it->raw + PACKET_RECORD_BYTES};
    if (!d || r.aspect == 0 || r.aspect > d->aspect_count || d->aspects[r.aspect - 1].field_count > r.value_count)
        r.aspect = 0;
    return r;
}

int shown_record_compare(const void *a, const void *b)
{
    const struct shown_record *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->stream != y->stream ? (x->stream > y->stream) - (x->stream < y->stream)
                                  : (x->record > y->record) - (x->record < y->record);
}

double shown_record_number(const struct dict_aspect *a, const struct packet_record *r, int32_t i)
{
    if (i < 0 || (uint32_t)i >= r->value_count)
        return NAN;
    uint64_t bits = packet_value(r, (uint32_t)i);
    double real;
    memcpy(&real, &bits, sizeof real);
    return a->fields[i].type == DICT_FLOAT64 ? real : (double)(int64_t)bits;
}
