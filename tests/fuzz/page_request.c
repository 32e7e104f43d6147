// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* What pages send to `bezel view`: whatever it is, what is read lies in its bounds. */
#include "views/page/page_request.h"
#include "tests/fuzz/fuzz.h"
#include "views/page/gate.h"

#include <stdlib.h>
#include <string.h>

static void check(const struct page_request *q)
{
    fuzz_must(q->row_count <= PAGE_REQUEST_ROWS && q->word_count <= PAGE_REQUEST_WORDS);
    if (q->kind == PAGE_WANT || q->kind == PAGE_RECORDS)
        fuzz_must(q->from < q->until && q->pixels >= 1 && q->pixels <= PAGE_REQUEST_PIXELS);
    for (size_t i = 0; i < q->row_count; i++)
        fuzz_must(q->rows[i].aspect <= 255 && q->rows[i].field <= 11 && q->rows[i].records <= PAGE_REQUEST_RECORDS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct page_request q;
    struct gate g = {.token = "00000000000000000000000000000000",
                     .cookie = "11111111111111111111111111111111",
                     .cookie_name = "bezel-view-1"};
    const char *why = NULL;
    char *text = (char *)fuzz_memory(size + 1);
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    (void)gate_has_cookie(&g, text);
    fuzz_must(!gate_is_host(text) || text[0] == '1' || text[0] == 'l' || text[0] == '[');
    (void)gate_is_origin(&g, text, text);
    int err = page_request_read(text, size, &q, &why);
    if (err == 0)
        check(&q);
    else
        fuzz_must(why);
    free(text);
    return 0;
}
