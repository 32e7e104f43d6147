// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Records from before main() and after it, however the program is linked: each is stored, or counted as lost where libc
 * is not ready yet.
 */
#include "tests/lib/early.h"
#include "mdr/parts.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/test.h"
#include <unistd.h>

struct counts {
    uint64_t attempts, no_ring, stored;
};

static struct counts counts_of(struct fixture *f)
{
    struct message_books_row sum;
    (void)fixture_books(f, NULL, &sum);
    return (struct counts){sum.attempts, sum.no_ring, f->records};
}

enum {
    EARLY_RECORDS = EARLY_TIMES * (EARLY_PLACES + 2), /* EARLY_LOCAL and its end are in two threads */
    EARLY_LOST = EARLY_TIMES * EARLY_UNREADY,
};

static char *const *command;

static void execute(void *unused)
{
    (void)unused;
    execv(command[0], command);
    _exit(126);
}

/* Observes the program, and checks that what it and its libraries record, `more` records, is accounted for. */
static void check(char *const argv[], uint64_t more)
{
    struct fixture f = {.dir = ""};
    command = argv;
    fixture_observe(&f, execute);
    struct counts c = counts_of(&f);
    assert_int_equal(c.attempts, EARLY_RECORDS + more);
    assert_int_equal(c.no_ring, EARLY_LOST);
    assert_int_equal(c.stored, EARLY_RECORDS + more - EARLY_LOST);
    fixture_end(&f);
}

static char early[] = EARLY, early_hidden[] = EARLY_HIDDEN, early_static[] = EARLY_STATIC;
static char plugin[] = EARLY_PLUGIN, apart[] = "+" EARLY_PLUGIN;

TEST(of_a_plain_program)
{
    check((char *[]){early, NULL}, 0);
}

TEST(with_hidden_names_optimised_as_a_whole_and_bound_at_once)
{
    check((char *[]){early_hidden, NULL}, 0);
}

TEST(with_a_static_library_at_a_fixed_address)
{
    check((char *[]){early_static, NULL}, 0);
}

TEST(of_a_library_that_is_loaded_and_unloaded)
{
    check((char *[]){early, plugin, plugin, NULL}, 2);
}

TEST(of_a_library_in_a_name_space_of_its_own)
{
    check((char *[]){early, apart, NULL}, 2);
}
