// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Packets: what is accepted is written again as the same bytes, and read by runs as by records. The first 8 bytes of an
 * input say how many fields the aspects have, two to a byte; the packets follow.
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

/* Read by runs a packet holds what it holds read by records. Returns the number of runs. */
static uint32_t check_runs(const uint8_t *packet, const struct packet_header *h, const uint8_t *field_counts)
{
    struct packet_run run;
    struct packet_record r;
    size_t offset = PACKET_HEADER_BYTES, single = PACKET_HEADER_BYTES;
    uint32_t runs = 0;
    while (packet_next_run(packet, h, field_counts, ASPECTS, &offset, &run) > 0) {
        fuzz_must(run.count > 0 && offset <= h->size_bytes);
        for (uint32_t i = 0; i < run.count; i++) {
            struct packet_record of_run = packet_run_record(&run, i);
            fuzz_must(packet_next_record(packet, h, field_counts, ASPECTS, &single, &r) > 0);
            fuzz_must(of_run.aspect == r.aspect && of_run.timestamp == r.timestamp && of_run.values == r.values &&
                      of_run.value_count == r.value_count);
        }
        runs++;
    }
    return runs;
}

/* Of times that do not fall: the first that is not before `time`. */
static void check_seek(const struct packet_run *run, int64_t time)
{
    uint32_t i = packet_run_seek(run, 0, time);
    fuzz_must(i <= run->count && (i == run->count || (int64_t)packet_run_time(run, i) >= time));
    fuzz_must(i == 0 || (int64_t)packet_run_time(run, i - 1) < time);
}

static void check_all(const struct packet_run *all, const struct packet_header *h, uint32_t runs)
{
    fuzz_must(all->count == (runs == 1 ? h->records : 0));
    for (uint32_t i = 0; i < all->count && h->timestamp_end <= INT64_MAX; i++)
        check_seek(all, (int64_t)packet_run_time(all, i));
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
        struct packet_run all;
        uint32_t runs = check_runs(data, &h, field_counts);
        if (packet_check(data, &h, field_counts, ASPECTS, &all) != 0)
            continue;
        fuzz_must(packet_check(data, &h, field_counts, ASPECTS, NULL) == 0);
        check_all(&all, &h, runs);
        uint8_t *again = fuzz_memory(h.size_bytes);
        write_again(data, &h, field_counts, again);
        fuzz_must(memcmp(again, data, h.size_bytes) == 0);
        free(again);
    }
    return 0;
}
