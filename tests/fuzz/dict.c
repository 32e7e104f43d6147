// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Dictionaries: what is accepted is appended again, entry by entry, as the same bytes. */
#include "mdr/dict.h"

#include "base/bytes.h"
#include "tests/fuzz/fuzz.h"

/* Appends the entries of `d` to `again` in the order that the original has them in. */
static size_t append_again(const struct dict *d, const uint8_t *original, uint8_t *again, size_t capacity)
{
    uint32_t aspects = 0, strings = 0;
    size_t n = 0;
    for (uint32_t i = 0; i < d->entry_count; i++) {
        int now;
        if (bytes_get_u32(original + n) != 2) /* a string */
            now = dict_append_aspect(again, n, capacity, &d->aspects[aspects++]);
        else
            now = dict_append_string(again, n, capacity, strings + 1, d->strings[strings]), strings++;
        fuzz_must(now > 0);
        n = (size_t)now;
    }
    fuzz_must(aspects == d->aspect_count && strings == d->string_count);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dict *d;
    if (dict_parse(data, size, &d) != 0)
        return 0;
    uint8_t *again = fuzz_memory(size);
    fuzz_must(append_again(d, data, again, size) == size);
    fuzz_must(size == 0 || memcmp(again, data, size) == 0);
    fuzz_must(dict_includes(d, d->hash));
    for (uint32_t id = 1; id <= d->aspect_count; id++)
        fuzz_must(d->field_counts[id] == d->aspects[id - 1].field_count);
    free(again);
    dict_free(d);
    return 0;
}
