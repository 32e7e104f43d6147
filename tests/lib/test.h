// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The tests of a program: TEST(name) { ... } defines one that needs nothing, TEST_WITH(setup, teardown, name) { ... }
 * one between two fixtures of cmocka, of which either may be NULL. They run in the order of their file. test.c has a
 * main() that runs them, for files that have none of their own.
 */
#ifndef BEZEL_TESTS_LIB_TEST_H
#define BEZEL_TESTS_LIB_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name) TEST_WITH(NULL, NULL, name)
#define TEST_WITH(setup, teardown, name)                                                                               \
    static void name(void **test_state);                                                                               \
    static __attribute__((constructor)) void name##_is_a_test(void)                                                    \
    {                                                                                                                  \
        test_add(__LINE__, &(struct CMUnitTest){#name, name, setup, teardown, NULL});                                  \
    }                                                                                                                  \
    static void name(void **test_state __attribute__((unused)))

/** Adds a test that begins at `line` of its file. */
void test_add(int line, const struct CMUnitTest *test);

/** Runs the tests between the fixtures of all of them, NULL for none. Returns how many failed. */
int test_run(CMFixtureFunction setup, CMFixtureFunction teardown);

#endif
