// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Memory that runs out at any one allocation of the reader is BEZEL_ENOMEM, and nothing is leaked (with
 * AddressSanitizer). Linked with --wrap for the allocating functions that config/ calls.
 */
#include "base/file.h"
#include "tests/lib/experiments.h"
#include "tests/lib/no_memory.h"
#include "tests/lib/test.h"

/* Fails each allocation in turn, until the reader makes fewer. */
static void fail_each_of(const char *text, size_t n, int expected, long least)
{
    long failed = 0;
    for (;; failed++) {
        struct experiment *e = NULL;
        struct experiment_diagnostics found;
        no_memory_after(failed);
        int err = experiment_read(text, n, &e, &found);
        bool was_enough = !no_memory_end();
        experiment_diagnostics_free(&found);
        if (was_enough) {
            assert_int_equal(err, expected);
            experiment_free(e);
            break;
        }
        assert_int_equal(err, BEZEL_ENOMEM);
        assert_null(e);
    }
    assert_true(failed > least);
}

static void fail_each(const char *path, int expected)
{
    char *text;
    size_t n;
    assert_int_equal(file_read(path, EXPERIMENT_FILE_MAX, &text, &n), 0);
    fail_each_of(text, n, expected, 50);
    free(text);
}

TEST(a_good_file_survives_want_of_memory)
{
    fail_each("tests/golden/experiments/full.yaml", 0);
}

/* The last error that is found is one of memory too, and whatever reads on after it hides it. */
TEST(a_file_of_what_is_not_supported_survives_want_of_memory)
{
    char text[256];
    static const char *const wrong[] = {"!t []", "&a []", "!t x", "&a x", "*a", "!t {}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "experiment: two\nduration: %s\n", wrong[i]);
        fail_each_of(text, strlen(text), BEZEL_EMALFORMED, 10);
    }
}

TEST(a_wrong_file_survives_want_of_memory)
{
    fail_each("tests/golden/experiments/ten-wrong-things.yaml", BEZEL_EMALFORMED);
}
