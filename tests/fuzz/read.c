// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Messages of consumers and servers of runs: what is accepted is encoded again as the same bytes, and fits no smaller
 * buffer; and what a consumer makes of messages of a hostile server, one after the other: 2 bytes of a length, then so
 * many of a message.
 */
#include "collector/remote/remote_reader.h"

#include "tests/fuzz/fuzz.h"

static void check_message(const uint8_t *data, size_t size)
{
    struct read_message m;
    if (read_message_decode(data, size, &m) != 0)
        return;
    uint8_t *again = fuzz_memory(size);
    fuzz_must(read_message_encode(&m, again, size) == (int)size);
    fuzz_must(memcmp(again, data, size) == 0);
    fuzz_must(read_message_encode(&m, again, size - 4) == BEZEL_EFULL);
    free(again);
}

/* Each message has memory of its own, which is gone before the next one comes. */
static bool feed(struct remote_reader *r, const uint8_t *data, size_t size)
{
    uint8_t *copy = fuzz_memory(size);
    memcpy(copy, data, size);
    int items = remote_reader_feed(r, copy, size);
    free(copy);
    struct remote_reader_totals totals = remote_reader_totals(r);
    fuzz_must(items < 0 || totals.proofs[RECORD_LATE] <= totals.records);
    return items >= 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_message(data, size);
    struct remote_reader *r = remote_reader_new();
    fuzz_must(r);
    for (size_t at = 0; size - at > 2;) {
        size_t n = (size_t)data[at] << 8 | data[at + 1];
        at += 2;
        n = n < size - at ? n : size - at;
        check_message(data + at, n);
        if (!feed(r, data + at, n))
            break;
        at += n;
    }
    remote_reader_close(r);
    return 0;
}
