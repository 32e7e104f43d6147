// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Writes the sample stream as a CTF trace, with metadata written by hand: ctf_trace FOLDER [BYTES of the stream]. */
#include "base/file.h"
#include "tests/lib/samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char metadata[] =
    "/* CTF 1.8 */\n"
    "typealias integer { size = 8; align = 8; signed = false; } := byte;\n"
    "typealias integer { size = 32; align = 32; signed = false; } := u32;\n"
    "typealias integer { size = 64; align = 32; signed = false; } := u64;\n"
    "typealias integer { size = 64; align = 32; signed = true; } := s64;\n"
    "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 32; } := f64;\n"
    "trace {\n"
    "    major = 1; minor = 8; byte_order = be;\n"
    "    uuid = \"b0b1b2b3-b4b5-b6b7-b8b9-babbbcbdbebf\";\n"
    "    packet.header := struct { u32 magic; byte uuid[16]; u32 stream_id; };\n"
    "};\n"
    "clock { name = \"mono\"; freq = 1000000000; offset_s = 1000; };\n"
    "typealias integer { size = 64; align = 32; signed = false; map = clock.mono.value; } := time;\n"
    "stream {\n"
    "    id = 7;\n"
    "    packet.context := struct {\n"
    "        time timestamp_begin; time timestamp_end; u64 content_size; u64 packet_size;\n"
    "        u64 events_discarded; u64 packet_seq_num;\n"
    "        u32 format; u32 kind; u64 instance; u32 ring; u32 thread; u32 generation; u32 records;\n"
    "        u64 dictionary; u64 first_ordinal;\n"
    "    };\n"
    "    event.header := struct { u32 id; time timestamp; };\n"
    "};\n"
    "event { name = \"tick\"; id = 1; stream_id = 7; fields := struct { }; };\n"
    "event { name = \"frame_shown\"; id = 2; stream_id = 7; fields := struct {\n"
    "    s64 _frame; f64 _latency; enum : u64 { \"key\", \"delta\" } _kind; enum : u64 { \"studio\" = 1 } _source; };\n"
    "};\n";

static int write_file(const char *folder, const char *name, const void *data, size_t n)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return file_replace(path, data, n);
}

int main(int argc, char **argv)
{
    static uint8_t stream[SAMPLE_PACKETS * 1024], packet[SAMPLE_BYTES];
    size_t n = 0;
    if (argc < 2)
        return 2;
    for (int i = 0; i < SAMPLE_PACKETS; i++) {
        size_t size = sample_packet(i, packet);
        memcpy(stream + n, packet, size);
        n += size;
    }
    if (argc > 2)
        n = (size_t)atoi(argv[2]);
    int err = file_make_dirs(argv[1], 0777);
    if (!err)
        err = write_file(argv[1], "metadata", metadata, sizeof metadata - 1);
    if (!err)
        err = write_file(argv[1], "stream", stream, n);
    if (err)
        perror(argv[1]);
    return err ? 1 : 0;
}
