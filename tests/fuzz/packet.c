// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Packets: what is accepted is written again as the same bytes. The first 8 bytes of an input say how many fields the
 * aspects have, two to a byte; the packets follow.
 */
#include "mdr/packet.h"
#include "tests/fuzz/fuzz.h"

enum { ASPECTS = 16, PREFIX = ASPECTS / 2 };

/* Reads the records of a packet and writes all of it to `again`, which holds as much. */
static void write_again(const uint8_t *packet, const struct packet_header *h, const uint8_t *field_counts,
                        uint8_t *again)
{
    struct packet_record r;
    size_t offset = PACKET_HEADER_BYTES;
    uint8_t *p = again + PACKET_HEADER_BYTES;
    uint32_t records = 0;
    while (packet_next_record(packet, h, field_counts, ASPECTS, &offset, &r) > 0) {
        p = packet_put_record(p, r.aspect, r.timestamp);
        for (uint32_t i = 0; i < r.value_count; i++, p += 8)
            bytes_put_u64(p, packet_value(&r, i));
        records++;
    }
    fuzz_must(records == h->records && p == again + h->size_bytes);
    packet_put_header(again, h);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t field_counts[ASPECTS + 1] = {0};
    struct packet_header h;
    if (size < PREFIX)
        return 0;
    for (int i = 0; i < ASPECTS; i++)
        field_counts[i + 1] = (data[i / 2] >> (i % 2 * 4) & 15) % (PACKET_FIELDS_MAX + 1);
    for (data += PREFIX, size -= PREFIX; packet_get_header(data, size, &h) == 0;
         data += h.size_bytes, size -= h.size_bytes) {
        fuzz_must(h.size_bytes <= size && packet_is_packet(data, size));
        if (packet_check(data, &h, field_counts, ASPECTS, NULL) != 0)
            continue;
        uint8_t *again = fuzz_memory(h.size_bytes);
        write_again(data, &h, field_counts, again);
        fuzz_must(memcmp(again, data, h.size_bytes) == 0);
        free(again);
    }
    return 0;
}
