// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/options.h"
#include "base/file.h"

#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/bezel-options-XXXXXX";
static bool loud;
static const char *name;
static unsigned sum;

static int read_number(const char *text, void *context)
{
    *(unsigned *)context += (unsigned)strtoul(text, NULL, 10);
    return *text == 'x' ? EXIT_USAGE : OPTIONS_GO_ON;
}

static const struct options_entry entries[] = {
    {"loud", 'l', .flag = &loud}, {"name", 'n', .value = &name}, {"add", .read = read_number}, {0}};

/* Reads `line`, whose words are separated by one blank; the first is the command's name. */
static int read_line(struct options *o, const char *line)
{
    static char text[256], *argv[16];
    int argc = 0;
    snprintf(text, sizeof text, "%s", line);
    for (char *rest = text; rest;)
        argv[argc++] = strsep(&rest, " ");
    argv[argc] = NULL;
    loud = false;
    name = NULL;
    sum = 0;
    optind = 0;
    o->command = argv[0];
    o->context = &sum;
    return options_read(o, entries, argc, argv);
}

/* The same, with what it writes to stderr in `said`. */
static int read_line_with(struct options *o, const char *line, char *said, size_t size)
{
    FILE *to = tmpfile();
    int before = dup(STDERR_FILENO);
    assert_true(to && before >= 0);
    assert_true(dup2(fileno(to), STDERR_FILENO) >= 0);
    int code = read_line(o, line);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    rewind(to);
    said[fread(said, 1, size - 1, to)] = '\0';
    close(before);
    fclose(to);
    return code;
}

static void options_and_words_may_stand_in_any_order(void **state)
{
    (void)state;
    struct options o = {.least = 1, .most = 2, .wanted = "one word or two"};
    assert_int_equal(read_line(&o, "test a --loud --name x --add 3 b --add=4"), OPTIONS_GO_ON);
    assert_true(loud);
    assert_string_equal(name, "x");
    assert_int_equal(sum, 7);
    assert_int_equal(o.count, 2);
    assert_string_equal(o.words[0], "a");
    assert_string_equal(o.words[1], "b");
    assert_null(o.words[2]);
    assert_int_equal(read_line(&o, "test -l -n x -n y a"), OPTIONS_GO_ON);
    assert_true(loud);
    assert_string_equal(name, "y");
}

static void misuse_is_told_apart(void **state)
{
    (void)state;
    struct options o = {.least = 1, .most = 2, .wanted = "one word or two"};
    static const struct {
        const char *line, *why;
    } wrong[] = {{"test", "one word or two"},
                 {"test a b c", "one word or two"},
                 {"test a --nonsense", "there is no option --nonsense"},
                 {"test a --nonsense=1", "there is no option --nonsense"},
                 {"test a --name", "option --name takes a value"},
                 {"test a -n", "option -n takes a value"},
                 {"test a --loud=1", "option --loud takes no value"},
                 {"test a --help=1", "option --help takes no value"},
                 {"test a --add x", NULL},
                 {"test a -x", "there is no option -x"},
                 {"test --loud -xl a", "there is no option -x"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char said[256], expected[256] = "";
        int code = read_line_with(&o, wrong[i].line, said, sizeof said);
        if (code != EXIT_USAGE)
            fail_msg("taken: %s", wrong[i].line);
        if (wrong[i].why)
            snprintf(expected, sizeof expected, "bezel test: %s\nTry 'bezel test --help'.\n", wrong[i].why);
        assert_string_equal(said, expected);
    }
}

static void help_ends_the_command(void **state)
{
    (void)state;
    struct options o = {.help = ""};
    assert_int_equal(read_line(&o, "test a b c --help"), EXIT_OK);
    assert_int_equal(read_line(&o, "test -h"), EXIT_OK);
}

/* What follows is another program's command line. */
static void the_first_word_may_end_the_options(void **state)
{
    (void)state;
    struct options o = {.most = 9, .stop_at_word = true};
    assert_int_equal(read_line(&o, "test --loud cc --name x -h"), OPTIONS_GO_ON);
    assert_null(name);
    assert_int_equal(o.count, 4);
    assert_false(o.dashes);
    assert_int_equal(read_line(&o, "test --loud -- --name x"), OPTIONS_GO_ON);
    assert_int_equal(o.count, 2);
    assert_true(o.dashes);
}

static void dashes_that_are_a_value_end_nothing(void **state)
{
    (void)state;
    struct options o = {.most = 9, .stop_at_word = true};
    assert_int_equal(read_line(&o, "test --name -- file"), OPTIONS_GO_ON);
    assert_string_equal(name, "--");
    assert_int_equal(o.count, 1);
    assert_false(o.dashes);
}

static void a_run_is_found_by_its_path_and_by_its_name_and_as_the_newest(void **state)
{
    (void)state;
    char run[PATH_MAX], expected[PATH_MAX], part[PATH_MAX + 8];
    struct options o = {.runs = folder};
    snprintf(expected, sizeof expected, "%s/first", folder);
    assert_int_equal(options_find_run(&o, NULL, run), EXIT_USAGE);
    assert_int_equal(options_find_run(&o, "first", run), EXIT_USAGE);
    assert_int_equal(mkdir(expected, 0700), 0);
    assert_int_equal(options_find_run(&o, "first", run), EXIT_USAGE); /* nothing of a run is in it */
    assert_int_equal(options_find_run(&o, expected, run), EXIT_USAGE);
    snprintf(part, sizeof part, "%s/trace", expected);
    assert_int_equal(mkdir(part, 0700), 0);
    assert_int_equal(options_find_run(&o, "first", run), OPTIONS_GO_ON);
    assert_string_equal(run, expected);
    assert_int_equal(options_find_run(&o, expected, run), OPTIONS_GO_ON);
    assert_string_equal(run, expected);
    assert_int_equal(options_find_run(&o, "second", run), EXIT_USAGE);
    assert_int_equal(options_find_run(&o, "", run), EXIT_USAGE);
    snprintf(expected, sizeof expected, "%s/latest", folder);
    assert_int_equal(symlink("first", expected), 0);
    assert_int_equal(options_find_run(&o, NULL, run), OPTIONS_GO_ON);
    assert_string_equal(run, expected);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return file_remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_words_may_stand_in_any_order),
        cmocka_unit_test(misuse_is_told_apart),
        cmocka_unit_test(help_ends_the_command),
        cmocka_unit_test(the_first_word_may_end_the_options),
        cmocka_unit_test(dashes_that_are_a_value_end_nothing),
        cmocka_unit_test(a_run_is_found_by_its_path_and_by_its_name_and_as_the_newest),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
