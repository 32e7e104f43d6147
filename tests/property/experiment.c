// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Random edits of good and wrong files: an answer with places inside the file, or a model that survives being printed.
 */
#include "base/file.h"
#include "tests/lib/experiments.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <glob.h>

enum { ROUNDS = 8000, TEXT_MAX = 1 << 14 };

static uint64_t seed;

struct text {
    char s[TEXT_MAX];
    size_t n;
};

static size_t below(size_t n)
{
    return (size_t)(seed_next(&seed) % n);
}

/* Replaces `gone` bytes at `at` by `n` of `with`; does nothing if the text would become too large. */
static void splice(struct text *t, size_t at, size_t gone, const char *with, size_t n)
{
    if (t->n - gone + n > TEXT_MAX)
        return;
    memmove(t->s + at + n, t->s + at + gone, t->n - at - gone);
    memcpy(t->s + at, with, n);
    t->n = t->n - gone + n;
}

static void edit(struct text *t)
{
    static const char *const pieces[] = {"\n",
                                         " ",
                                         "  ",
                                         ":",
                                         ": ",
                                         "- ",
                                         "{",
                                         "}",
                                         "[",
                                         "]",
                                         ",",
                                         "\"",
                                         "'",
                                         "#",
                                         "&a ",
                                         "*a",
                                         "!x ",
                                         "? ",
                                         "|\n",
                                         ">\n",
                                         "---\n",
                                         "...\n",
                                         "\t",
                                         "\\",
                                         "\r",
                                         "%",
                                         "0",
                                         "-1",
                                         "1e9",
                                         "0x1",
                                         "1 ms",
                                         "10 %",
                                         "1 s .. 1 h",
                                         "16 MiB",
                                         "\xff",
                                         "\xc3\xa4",
                                         "\xef\xbb\xbf",
                                         "",
                                         "hold",
                                         "expect",
                                         "sensor_cpu",
                                         ">=",
                                         "<=",
                                         "attach: a",
                                         "command: [a, b]\n",
                                         "processes:\n",
                                         "nodes: {a: {address: \"ipc:///run/bezel/control\"}, b: {}}\n",
                                         "limits: []\n",
                                         "\"\\u2028\"",
                                         "\"\\ufeff\"",
                                         "\"\\0\"",
                                         "\"\\x80\"",
                                         "99999999999999999999"};
    size_t at = below(t->n + 1), left = t->n - at, span = left ? below(left < 40 ? left : 40) : 0;
    const char *piece = pieces[below(sizeof pieces / sizeof *pieces)];
    char copy[40];
    switch (below(5)) {
    case 0: /* another byte */
        if (left)
            t->s[at] = (char)below(256);
        break;
    case 1: /* a hole */
        splice(t, at, span, "", 0);
        break;
    case 2: /* something of the language */
        splice(t, at, 0, piece, strlen(piece));
        break;
    case 3: /* the same in place of what stands there */
        splice(t, at, span, piece, strlen(piece));
        break;
    case 4: /* a part of the file, elsewhere */
        memcpy(copy, t->s + at, span);
        splice(t, below(t->n + 1), 0, copy, span);
        break;
    }
}

TEST(edited_files_are_answered)
{
    glob_t files;
    size_t good = 0;
    struct text *t = malloc(sizeof *t);
    assert_non_null(t);
    assert_int_equal(glob("tests/golden/experiments/*.yaml", 0, NULL, &files), 0);
    for (int round = 0; round < ROUNDS; round++) {
        char *text;
        /* Every other time one edit of the fullest file, which has most to lose and is often still an experiment. */
        const char *path = round % 2 ? "tests/golden/experiments/full.yaml" : files.gl_pathv[below(files.gl_pathc)];
        assert_int_equal(file_read(path, TEXT_MAX, &text, &t->n), 0);
        memcpy(t->s, text, t->n);
        free(text);
        for (size_t edits = round % 2 ? 1 : 1 + below(4); edits > 0; edits--)
            edit(t);
        good += experiments_require_invariants(t->s, t->n);
    }
    printf("%zu of %d edited files were still experiments\n", good, ROUNDS);
    assert_true(good > ROUNDS / 50); /* else the part that prints and reads back tested nothing */
    globfree(&files);
    free(t);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
