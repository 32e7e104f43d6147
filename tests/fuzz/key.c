// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Files of keys: what is accepted is written and read again as the same key; no input is both kinds of file. */
#include "mdr/link/key.h"

#include "tests/fuzz/fuzz.h"

static void check_public(const char *text, size_t size)
{
    struct key_public key, again;
    char written[KEY_FILE_MAX];
    const char *why = NULL;
    if (key_parse_public(text, size, &key, &why) != 0) {
        fuzz_must(why);
        return;
    }
    fuzz_must(key.roles != 0 && (key.roles & ~KEY_ALL_ROLES) == 0);
    int n = key_print_public(&key, written);
    fuzz_must(n > 0 && n < KEY_FILE_MAX);
    fuzz_must(key_parse_public(written, (size_t)n, &again, &why) == 0);
    fuzz_must(memcmp(key.bytes, again.bytes, KEY_BYTES) == 0 && key.roles == again.roles);
    fuzz_must(strcmp(key.nodes, again.nodes) == 0);
}

static void check_secret(const char *text, size_t size)
{
    struct key_secret key;
    char written[KEY_FILE_MAX];
    const char *why = NULL;
    if (key_parse_secret(text, size, &key, &why) != 0) {
        fuzz_must(why);
        return;
    }
    int n = key_print_secret(&key, written);
    size_t kept = 0;
    for (size_t i = 0; i < size; i++) /* lines may end as on Windows */
        if (text[i] != '\r') {
            fuzz_must(kept < (size_t)n && written[kept] == text[i]);
            kept++;
        }
    fuzz_must((size_t)n == kept || (size_t)n == kept + 1); /* the last line's end may be missing */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = (char *)fuzz_memory(size);
    if (size > 0)
        memcpy(text, data, size);
    check_public(text, size);
    check_secret(text, size);
    free(text);
    return 0;
}
