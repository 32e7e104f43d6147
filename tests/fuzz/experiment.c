// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The experiment file: any bytes give a model or findings inside the file; a model is printed and read back unchanged.
 */
#include "tests/lib/experiments.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    experiments_require_invariants((const char *)data, size);
    return 0;
}
