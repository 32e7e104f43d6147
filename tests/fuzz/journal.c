// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The journal of a run: what is accepted is printed, and read again as the same. The input is read as it is, and with
 * the last line that it lacks, without whose hash nothing is accepted.
 */
#include "ecs/course/run_journal.h"

#include "base/hash.h"

#include "tests/fuzz/fuzz.h"

#include <inttypes.h>

enum { LAST_LINE_MAX = 32 };

static void check(const char *text, size_t size)
{
    struct run_journal *j = NULL, *again = NULL;
    char *printed = NULL, *second = NULL;
    size_t n = 0, m = 0;
    if (run_journal_parse(text, size, &j) != 0)
        return;
    fuzz_must(j->run[0] && j->epoch > 0);
    fuzz_must(run_journal_print(j, &printed, &n) == 0);
    fuzz_must(run_journal_parse(printed, n, &again) == 0);
    fuzz_must(run_journal_print(again, &second, &m) == 0);
    fuzz_must(n == m && memcmp(printed, second, n) == 0);
    fuzz_must(j->program_count == again->program_count && j->event_count == again->event_count);
    free(printed);
    free(second);
    run_journal_free(j);
    run_journal_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char last[LAST_LINE_MAX], *text = (char *)fuzz_memory(size), *ended;
    int n = snprintf(last, sizeof last, "end %016" PRIx64 "\n", hash_fnv64(HASH_FNV64_START, data, size));
    ended = (char *)fuzz_memory(size + (size_t)n);
    if (size > 0) {
        memcpy(text, data, size);
        memcpy(ended, data, size);
        check(text, size);
    }
    memcpy(ended + size, last, (size_t)n);
    check(ended, size + (size_t)n);
    free(text);
    free(ended);
    return 0;
}
