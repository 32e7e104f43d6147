// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"
#include "views/page/door_file.h"
#include "views/page/gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(a_token_is_good_once)
{
    struct gate g, other;
    char first[GATE_SECRET_SIZE];
    assert_int_equal(gate_init(&g, false, NULL), 0);
    assert_int_equal(gate_init(&other, false, NULL), 0);
    assert_int_equal(strlen(g.token), GATE_SECRET_SIZE - 1);
    assert_string_not_equal(g.token, other.token);
    assert_string_not_equal(g.cookie, other.cookie);
    assert_string_not_equal(g.cookie_name, other.cookie_name);
    snprintf(first, sizeof first, "%s", g.token);
    assert_false(gate_take_token(&g, ""));
    assert_false(gate_take_token(&g, other.token));
    assert_string_equal(g.token, first);
    assert_true(gate_take_token(&g, first));
    assert_false(gate_take_token(&g, first));
    assert_true(gate_take_token(&g, g.token));
}

TEST(our_cookie_is_found_among_others)
{
    struct gate g;
    char text[256];
    assert_int_equal(gate_init(&g, false, NULL), 0);
    const struct {
        const char *before, *between, *behind;
        bool is_ours;
    } cases[] = {{"", "=", "", true},   {"a=1; ", "=", "", true}, {"a=1;", "=", "; b=2", true},
                 {"x", "=", "", false}, {"", "=", "0", false},    {"", " =", "", false},
                 {"", "=0", "", false}, {"a=", "=", "", false},   {"", "; a=", "", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "%s%s%s%s%s", cases[i].before, g.cookie_name, cases[i].between, g.cookie,
                 cases[i].behind);
        assert_int_equal(gate_has_cookie(&g, text), cases[i].is_ours);
    }
    assert_false(gate_has_cookie(&g, NULL));
    assert_false(gate_has_cookie(&g, ""));
    snprintf(text, sizeof text, "%s=", g.cookie_name);
    assert_false(gate_has_cookie(&g, text));
}

TEST(only_names_of_this_machine_are_hosts)
{
    static const char *const ours[] = {"127.0.0.1", "127.0.0.1:80", "localhost:65000", "localhost", "[::1]:8080"};
    static const char *const others[] = {"",
                                         "evil.example",
                                         "127.0.0.1.evil.example",
                                         "localhost.evil.example",
                                         "localhost:",
                                         "127.0.0.1:80:80",
                                         "127.0.0.1:x",
                                         "127.0.0.10",
                                         "127.0.0.1@evil.example",
                                         " localhost"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        assert_true(gate_is_host(ours[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(gate_is_host(others[i]));
    assert_false(gate_is_host(NULL));
}

TEST(an_origin_is_our_own_or_the_one_that_is_allowed)
{
    struct gate g;
    assert_int_equal(gate_init(&g, false, "https://desk.example:8443"), 0);
    assert_true(gate_is_origin(&g, "http://127.0.0.1:5000", "127.0.0.1:5000"));
    assert_true(gate_is_origin(&g, "https://desk.example:8443", "127.0.0.1:5000"));
    assert_false(gate_is_origin(&g, "http://127.0.0.1:5001", "127.0.0.1:5000"));
    assert_false(gate_is_origin(&g, "https://127.0.0.1:5000", "127.0.0.1:5000"));
    assert_false(gate_is_origin(&g, "null", "127.0.0.1:5000"));
    assert_false(gate_is_origin(&g, "https://desk.example", "127.0.0.1:5000"));
    assert_false(gate_is_origin(&g, NULL, "127.0.0.1:5000"));
    g.allowed = NULL;
    assert_false(gate_is_origin(&g, "https://desk.example:8443", "127.0.0.1:5000"));
}

TEST(without_control_no_secret_controls)
{
    struct gate g;
    assert_int_equal(gate_init(&g, false, NULL), 0);
    assert_false(gate_may_control(&g, ""));
    assert_false(gate_may_control(&g, "00000000000000000000000000000000"));
    assert_int_equal(gate_init(&g, true, NULL), 0);
    assert_true(gate_may_control(&g, g.control));
    assert_false(gate_may_control(&g, g.token));
}

/* ---- the file that has the token --------------------------------------------------------------------------------- */

TEST_WITH(scratch_begin, scratch_end, the_file_is_for_its_user_alone_wherever_it_is_made)
{
    char planted[PATH_MAX + 8], text[SCRATCH_PATH + 8];
    struct door_file f;
    struct stat st;
    assert_int_equal(setenv("XDG_RUNTIME_DIR", "/proc/0", 1), 0);
    assert_int_equal(setenv("TMPDIR", scratch_dir, 1), 0);
    assert_int_equal(door_file_init(&f, NULL, 1), 0);
    assert_memory_equal(f.path, scratch_dir, strlen(scratch_dir));
    snprintf(text, sizeof text, "%s/stays", scratch_dir);
    assert_int_equal(file_replace(text, "stays", 5), 0);
    snprintf(planted, sizeof planted, "%s.new", f.path);
    assert_int_equal(symlink(text, planted), 0);
    assert_int_equal(symlink(text, f.path), 0);
    assert_int_equal(door_file_write(&f, "token"), 0);
    assert_true(lstat(f.path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0777) == 0600);
    assert_true(lstat(planted, &st) != 0);
    assert_true(stat(text, &st) == 0 && st.st_size == 5);
    door_file_remove(&f);
    *strrchr(f.path, '/') = '\0';
    assert_true(lstat(f.path, &st) != 0);

    assert_int_equal(setenv("TMPDIR", "/proc/0", 1), 0);
    assert_int_equal(door_file_init(&f, NULL, 1), BEZEL_ESYS);
    assert_string_equal(f.path, "/proc/0"); /* for the operator */
}
