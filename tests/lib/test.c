// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/test.h"

#include <stdlib.h>

enum { MOST = 200 };

static struct CMUnitTest tests[MOST];
static int lines[MOST], count;

void test_add(int line, const struct CMUnitTest *test)
{
    int at = count++;
    if (at == MOST)
        abort();
    for (; at > 0 && lines[at - 1] > line; at--) { /* in which order constructors run is the compiler's to say */
        lines[at] = lines[at - 1];
        tests[at] = tests[at - 1];
    }
    lines[at] = line;
    tests[at] = *test;
}

int test_run(CMFixtureFunction setup, CMFixtureFunction teardown)
{
    return _cmocka_run_group_tests("tests", tests, (size_t)count, setup, teardown);
}

__attribute__((weak)) int main(void)
{
    return test_run(NULL, NULL);
}
