// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What fuzzers share. A fuzzer is one file with LLVMFuzzerTestOneInput(); libFuzzer or replay.c brings main(). */
#ifndef BEZEL_TESTS_FUZZ_FUZZ_H
#define BEZEL_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Ends the process where `holds` is not true, also with NDEBUG. */
#define fuzz_must(holds) ((holds) ? (void)0 : fuzz_failed(__FILE__, __LINE__, #holds))

static inline _Noreturn void fuzz_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

/** Exactly `n` bytes of the heap, so that the sanitizer sees a byte too far. Caller frees. */
static inline uint8_t *fuzz_memory(size_t n)
{
    uint8_t *p = malloc(n > 0 ? n : 1);
    fuzz_must(p);
    return p;
}

#endif
