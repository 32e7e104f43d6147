// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Messages: what is accepted is encoded again as the same bytes, and fits no smaller buffer. */
#include "mdr/message.h"

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct message m;
    if (message_decode(data, size, &m) != 0)
        return 0;
    uint8_t *again = fuzz_memory(size);
    fuzz_must(message_encode(&m, again, size) == (int)size);
    fuzz_must(memcmp(again, data, size) == 0);
    fuzz_must(message_encode(&m, again, size - 4) == BEZEL_EFULL);
    free(again);
    return 0;
}
