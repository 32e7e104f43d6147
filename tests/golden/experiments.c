// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Each tests/golden/experiments/NAME.yaml is answered, word for word, with NAME.expected beside it: nothing, warnings,
 * or errors. With BEZEL_GOLDEN_WRITE set, the answers are written instead of compared, to be read before they are
 * committed.
 */
#include "tests/lib/experiments.h"
#include "base/file.h"
#include "tests/lib/test.h"

#include <glob.h>

static const char folder[] = "tests/golden/experiments/";

static char *read_whole(const char *path, size_t *n)
{
    char *text = NULL;
    if (file_read(path, EXPERIMENT_FILE_MAX, &text, n) != 0)
        fail_msg("%s cannot be read", path);
    return text;
}

static char *answer_to(const char *yaml)
{
    size_t n, length;
    char *text = read_whole(yaml, &n), *answer = NULL;
    struct experiment *e = NULL;
    struct experiment_diagnostics found;
    FILE *out = open_memstream(&answer, &length);
    assert_non_null(out);
    int err = experiment_read(text, n, &e, &found);
    assert_int_equal(err, found.errors ? BEZEL_EMALFORMED : 0);
    experiment_print_diagnostics(&found, yaml + sizeof folder - 1, out);
    assert_int_equal(fclose(out), 0);
    experiment_free(e);
    experiment_diagnostics_free(&found);
    free(text);
    return answer;
}

TEST(every_file_gets_its_answer)
{
    glob_t files;
    int differing = 0;
    assert_int_equal(glob("tests/golden/experiments/*.yaml", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char path[PATH_MAX], *answer = answer_to(files.gl_pathv[i]);
        size_t n;
        snprintf(path, sizeof path, "%.*s.expected", (int)strlen(files.gl_pathv[i]) - 5, files.gl_pathv[i]);
        if (getenv("BEZEL_GOLDEN_WRITE"))
            assert_int_equal(file_replace(path, answer, strlen(answer)), 0);
        char *expected = read_whole(path, &n);
        if (strcmp(answer, expected) != 0) {
            printf("%s:\n--- expected\n%s--- got\n%s", files.gl_pathv[i], expected, answer);
            differing++;
        }
        free(expected);
        free(answer);
    }
    globfree(&files);
    assert_int_equal(differing, 0);
}

/* The names say how many errors there are; a file with one wrong thing is not answered with two. */
TEST(one_mistake_is_one_error)
{
    glob_t files;
    assert_int_equal(glob("tests/golden/experiments/*.yaml", 0, NULL, &files), 0);
    assert_true(files.gl_pathc > 90);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        size_t n;
        char *text = read_whole(files.gl_pathv[i], &n);
        const char *name = files.gl_pathv[i] + sizeof folder - 1;
        struct experiment *e = NULL;
        struct experiment_diagnostics found;
        (void)!experiment_read(text, n, &e, &found);
        size_t errors = strncmp(name, "wrong-", 6) == 0 ? 1 : strncmp(name, "ten-", 4) == 0 ? 10 : 0;
        size_t warnings = strncmp(name, "warn-", 5) == 0;
        if (found.errors != errors || found.count != errors + warnings)
            fail_msg("%s: %zu errors and %zu findings in all", name, found.errors, found.count);
        experiment_free(e);
        experiment_diagnostics_free(&found);
        experiments_require_invariants(text, n);
        free(text);
    }
    globfree(&files);
}
