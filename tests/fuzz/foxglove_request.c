// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What clients send to `bezel view --foxglove`: whatever it is, what is read lies in its bounds. */
#include "mediators/foxglove/foxglove_request.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct foxglove_request q;
    const char *why = NULL;
    char *text = (char *)fuzz_memory(size);
    if (size)
        memcpy(text, data, size);
    int err = foxglove_request_read(text, size, &q, &why);
    fuzz_must((err == 0) == (why == NULL));
    fuzz_must(q.count <= FOXGLOVE_REQUEST_ITEMS && memchr(q.name, '\0', sizeof q.name));
    if (err == 0)
        fuzz_must(q.name[0] &&
                  (q.op == FOXGLOVE_OTHER) == (strcmp(q.name, "subscribe") && strcmp(q.name, "unsubscribe")));
    free(text);
    return 0;
}
