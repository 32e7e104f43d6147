// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A finished run of which one file is spoilt: a bit turned, a part cut off, doubled, zeroed or appended, two files
 * exchanged. Every reader ends in order; and where `bezel verify` calls the run complete, all of them say what they
 * said before.
 */
#include "base/clock.h"
#include "base/file.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { FILES = 64, ROUNDS = 40, ROUNDS_LIGHT = 12, LONGEST = 16 << 20 };

static const char *const readers[] = {"report", "report --json", "tail -n all --process '*'",
                                      "export --format jsonl --all", "top --plain"};

enum { READERS = sizeof readers / sizeof *readers };

static uint64_t seed;
static char dir[SCRATCH_PATH], whole[2 * PATH_MAX], copy[2 * PATH_MAX];
static char files[FILES][PATH_MAX];
static unsigned file_count;
static char *answers[READERS];
static int codes[READERS];

static int shell(const char *format, ...)
{
    char command[8 * PATH_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    int status = system(command);
    assert_true(status >= 0 && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The exit code of a reader of the copy, which is in order; *text: what it prints, to be freed. */
static int ask(const char *reader, char **text, const char *what)
{
    char out[PATH_MAX];
    size_t n;
    snprintf(out, sizeof out, "%s/out", dir);
    int code = shell("exec timeout %lld '%s' %s '%s' </dev/null >'%s' 2>'%s/err'", (long long)(PATIENCE / CLOCK_S),
                     BEZEL, reader, copy, out, dir);
    if (code > 4 || shell("grep -q -e 'runtime error' -e Sanitizer '%s/err'", dir) == 0) {
        (void)shell("cat '%s/err'", dir);
        fail_msg("%s: bezel %s ends with %d", what, reader, code);
    }
    assert_int_equal(file_read(out, LONGEST, text, &n), 0);
    char *own = strcmp(reader, "top --plain") == 0 ? strstr(*text, "own ") : NULL; /* its own CPU and memory */
    if (own)
        memset(own, '-', strcspn(own, "\n"));
    return code;
}

static int note_file(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)at;
    if (kind == FTW_F && st->st_size > 0 && file_count < FILES)
        snprintf(files[file_count++], PATH_MAX, "%s", path + strlen(whole));
    return 0;
}

static uint64_t draw(uint64_t below)
{
    return seed_next(&seed) % below;
}

static void write_file(const char *file, const char *data, size_t n)
{
    char path[3 * PATH_MAX];
    snprintf(path, sizeof path, "%s%s", copy, file);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static char *read_file(const char *file, size_t *n)
{
    char path[3 * PATH_MAX], *data;
    snprintf(path, sizeof path, "%s%s", whole, file);
    assert_int_equal(file_read(path, LONGEST, &data, n), 0);
    return data;
}

/* Spoils one file of the copy, and writes what it did. */
static void spoil(char *what, size_t size)
{
    static const char *const ways[] = {"a bit of", "a byte of", "zeros in", "the end of",
                                       "behind",   "twice in",  "exchanged"};
    const char *file = files[draw(file_count)], *other = files[draw(file_count)];
    unsigned way = (unsigned)draw(sizeof ways / sizeof *ways);
    size_t n, m, more = 1 + draw(600);
    char *data = read_file(file, &n);
    size_t at = draw(n), part = more < n - at ? more : n - at;
    snprintf(what, size, "%s %s at %zu, %zu bytes (%s)", ways[way], file, at, part, other);
    char *spoilt = calloc(1, n + more + 1);
    assert_non_null(spoilt);
    memcpy(spoilt, data, n);
    switch (way) {
    case 0:
        spoilt[at] = (char)(spoilt[at] ^ (1 << draw(8)));
        break;
    case 1:
        spoilt[at] = (char)(spoilt[at] + 1 + (char)draw(255));
        break;
    case 2:
        memset(spoilt + at, 0, part);
        break;
    case 3:
        n = at;
        break;
    case 4:
        for (size_t i = 0; i < more; i++)
            spoilt[n++] = (char)draw(256);
        break;
    case 5:
        memcpy(spoilt + at + part, data + at, n - at);
        n += part;
        break;
    default: {
        char *theirs = read_file(other, &m);
        write_file(other, data, n);
        write_file(file, theirs, m);
        free(theirs);
    }
    }
    if (way < 6)
        write_file(file, spoilt, n);
    free(spoilt);
    free(data);
}

TEST(no_spoilt_byte_changes_what_a_complete_run_says)
{
    int rounds = getenv("BEZEL_TEST_LIGHT") ? ROUNDS_LIGHT : ROUNDS;
    for (int round = 0; round < rounds; round++) {
        char what[3 * PATH_MAX], *text;
        assert_int_equal(shell("rm -rf '%s' && cp -r '%s' '%s'", copy, whole, copy), 0);
        spoil(what, sizeof what);
        int is = ask("verify", &text, what);
        free(text);
        if (is != 0 && is != 1 && is != 3)
            fail_msg("%s: bezel verify ends with %d", what, is);
        for (unsigned i = 0; i < READERS; i++) {
            int code = ask(readers[i], &text, what);
            if (is == 0 && (code != codes[i] || strcmp(text, answers[i]) != 0))
                fail_msg("%s: complete, but bezel %s says something else", what, readers[i]);
            free(text);
        }
    }
}

static const char experiment[] = "experiment: bytes\n"
                                 "nodes: {left: {}, right: {}}\n"
                                 "processes:\n"
                                 "  - {name: a, node: left, command: [%s, 300, 1000]}\n"
                                 "  - {name: b, node: right, command: [%s, 200, 1000]}\n"
                                 "metrics: {most: {max: number, of: tick}}\n"
                                 "limits: [{expect: most <= 250}]\n";

static int make_run(void **state)
{
    (void)state;
    char text[2 * PATH_MAX + sizeof experiment], path[2 * PATH_MAX];
    scratch_make(dir);
    seed = seed_start();
    int n = snprintf(text, sizeof text, experiment, TICKER, TICKER);
    snprintf(path, sizeof path, "%s/e.yaml", dir);
    if (file_replace(path, text, (size_t)n) != 0)
        return -1;
    (void)shell("BEZEL_DIR='%s/s' '%s' run --quiet --runs '%s/runs' '%s' </dev/null >'%s/out' 2>&1", dir, BEZEL, dir,
                path, dir);
    snprintf(path, sizeof path, "%s/runs/latest", dir);
    snprintf(copy, sizeof copy, "%s/copy", dir);
    if (!realpath(path, whole) || nftw(whole, note_file, 8, FTW_PHYS) != 0 ||
        shell("cp -r '%s' '%s'", whole, copy) != 0)
        return -1;
    char *said;
    assert_int_equal(ask("verify", &said, "whole"), 0);
    free(said);
    for (unsigned i = 0; i < READERS; i++)
        codes[i] = ask(readers[i], &answers[i], "whole");
    return 0;
}

static int forget(void **state)
{
    (void)state;
    for (unsigned i = 0; i < READERS; i++)
        free(answers[i]);
    return 0;
}

int main(void)
{
    return test_run(make_run, forget);
}
