// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Makes a run of three nodes in folder FOLDER, which it prints: three_clocks FOLDER. `studio` has the run's clock, the
 * one of `far` is known to some 50 us, that of `shed` only by its wall clock. Messages from studio: 1 to far, 10 ms
 * under way; 2 to far, 20 us; 3 to shed, 10 ms. So the order of the first alone is proven.
 */
#include "tests/lib/grown_run.h"

#include <stdio.h>

/* Stores a packet of one message of process `p`. */
static void put_message(struct grown *g, struct model_process *p, uint32_t aspect, uint64_t time, uint64_t tag)
{
    static uint8_t packet[PACKET_MAX_BYTES];
    const struct model_stream *s = model_stream(p, 0);
    if (s->at.next_seq == 0) /* it opens */
        append(g, p, 0, 0, g->begin, g->begin + 1);
    struct packet_header h = {.stream_id = p->stream_id,
                              .seq = s->at.next_seq,
                              .kind = PACKET_DATA,
                              .instance = p->instance,
                              .thread = 7,
                              .dictionary = p->dict->hash,
                              .first_ordinal = s->at.next_ordinal,
                              .records = 1,
                              .timestamp_begin = time,
                              .timestamp_end = time};
    memcpy(h.uuid, p->node->uuid, sizeof h.uuid);
    uint8_t *at = packet_put_record(packet + PACKET_HEADER_BYTES, aspect, time);
    bytes_put_u64(at, 1);
    bytes_put_u64(at + 8, tag);
    store(g, p, 0, &h, packet, PACKET_HEADER_BYTES + PACKET_RECORD_BYTES + 16);
}

int main(int argc, char **argv)
{
    static struct grown g;
    static const char experiment[] = "experiment: clocks\nprocesses: [{name: p, command: [p]}]\n"
                                     "metrics: {hand: {interval: [handed, taken], match: tag, max: yes}}\n";
    struct dict_aspect message = {.id = 3, .name = "handed", .kind = DICT_SENT, .field_count = 2};
    struct model_process *p[NODES];
    char path[PATH_MAX + 32];
    if (argc != 2)
        return 2;
    snprintf(scratch_dir, sizeof scratch_dir, "%s", argv[1]);
    grown_open(&g, "clocks");
    g.intact = true;
    message.fields[0] = (struct dict_field){DICT_STRING, "peer", "1", ""};
    message.fields[1] = (struct dict_field){DICT_INT64, "tag", "1", ""};
    add_aspect(&g, &message);
    message.id = 4;
    message.name = "taken";
    message.kind = DICT_RECEIVED;
    add_aspect(&g, &message);
    assert_int_equal(rundb_put(g.rundb, "started", "1700000010000000000"), 0);
    assert_int_equal(rundb_put(g.rundb, "ended", "1700000014000000000"), 0);
    for (unsigned n = 0; n < NODES; n++)
        p[n] = add_process(&g, get_node(&g, n), "p", n + 1);
    const uint64_t sent = g.begin + CLOCK_S;
    for (uint64_t i = 0; i < 3; i++)
        put_message(&g, p[0], 3, sent + i * 20 * CLOCK_MS, i + 1);
    const uint64_t first = sent + 10 * CLOCK_MS, second = sent + 20 * CLOCK_MS + 20 * CLOCK_US;
    put_message(&g, p[1], 4, first + first / 10000, 1); /* its clock is 100 ppm fast */
    put_message(&g, p[1], 4, second + second / 10000, 2);
    put_message(&g, p[2], 4, sent + 50 * CLOCK_MS, 3);
    snprintf(path, sizeof path, "%s/experiment.yaml", g.run);
    assert_int_equal(file_replace(path, experiment, sizeof experiment - 1), 0);
    puts(g.run);
    grown_close(&g);
    return 0;
}
