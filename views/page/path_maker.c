// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/path_maker.h"

#include "base/exit_code.h"
#include "base/file.h"
#include "base/saturate.h"

#include <inttypes.h>
#include <stdlib.h>

enum { WORDS = 20, TIME = 24 };

/* A time of pages as `bezel why` takes it. */
static const char *time_word(const struct run_view *v, int64_t at, char text[TIME])
{
    int64_t ns = saturate_add(run_view_start(v), at);
    snprintf(text, TIME, "%" PRId64, ns > 0 ? ns : 0);
    return text;
}

int path_maker_start(struct path_maker *m, struct run_view *v, uint32_t page, const struct page_request *q)
{
    char from[TIME], until[TIME];
    const char *words[WORDS] = {m->maker.program,
                                "why",
                                "--json",
                                "--from",
                                time_word(v, q->from, from),
                                "--until",
                                time_word(v, q->until, until)};
    size_t n = 7;
    struct run_view_place place;
    if (q->row_count) { /* each record of that aspect is asked for, not the slow ones among others */
        if (!run_view_place(v, &q->rows[0], &place))
            return BEZEL_ENOENT;
        const char *const more[] = {"--slowest", "100 %",    "--aspect",  place.aspect,
                                    "--node",    place.node, "--process", place.process};
        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
            words[n++] = more[i];
    }
    words[n] = run_view_path(v);
    text_maker_stop(&m->maker);
    m->page = page;
    m->sequence = q->sequence;
    m->maker.accepted = EXIT_FAILED; /* a part of the answer is unknown */
    return m->maker.program ? text_maker_start(&m->maker, words) : BEZEL_ENOENT;
}

char *path_maker_message(uint32_t sequence, const char *answer, size_t length, size_t *n)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, n);
    if (!out)
        return NULL;
    fprintf(out, "{\"is\":\"why\",\"sequence\":%" PRIu32 ",\"answer\":", sequence);
    fwrite(answer, 1, length, out);
    fputc('}', out);
    return file_text_end(out, &text) == 0 ? text : NULL;
}

bool path_maker_step(struct path_maker *m, char **text, size_t *n)
{
    char *answer;
    size_t length;
    if (!text_maker_step(&m->maker, &answer, &length))
        return false;
    *text = path_maker_message(m->sequence, answer ? answer : "null", answer ? length : 4, n);
    free(answer);
    return true;
}
