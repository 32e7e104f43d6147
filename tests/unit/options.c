// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/options.h"
#include "tests/lib/test.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool loud;
static const char *name, *only;
static unsigned sum;
static uint64_t count, size;
static int64_t duration;
static int descriptor;

static int read_number(const char *text, void *context)
{
    *(unsigned *)context += (unsigned)strtoul(text, NULL, 10);
    return *text == 'x' ? EXIT_USAGE : OPTIONS_GO_ON;
}

static const struct options_entry entries[] = {
    {"loud", 'l', NULL, "print more", .flag = &loud},
    {"name", 'n', "NAME", "a name", .value = &name},
    {"only", 0, "GLOB", NULL, .value = &only, .once = true},
    {"add", 0, "N",
     "a number to add; may be given several times, and has a text that takes more than a line of a hundred columns",
     .read = read_number},
    {"count", 0, "N", "how many\nof them", .count = &count, .least = 1, .most = 4096},
    {"size", 0, "SIZE", "how large", .size = &size, .least = 4096, .most = 1 << 20},
    {"time", 0, "DURATION-OF-WHAT-IS-WAITED-FOR", "how long", .duration = &duration, .most = 1000000000},
    {"to", 0, "FD", "where to", .descriptor = &descriptor},
    {"secret", 0, NULL, NULL, .flag = &loud},
    {0}};

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
    name = only = NULL;
    sum = 0;
    optind = 0;
    o->program = "bezel test";
    o->usage = "[OPTIONS] ONE [TWO]";
    o->about = "Tests.";
    o->footer = "The end.";
    o->context = &sum;
    return options_read(o, entries, argc, argv);
}

/* The same, with what it writes to `fd` in `said`. */
static int read_line_with(struct options *o, const char *line, int fd, char *said, size_t room)
{
    FILE *to = tmpfile();
    (void)!fflush(stdout);
    int before = dup(fd);
    assert_true(to && before >= 0);
    assert_true(dup2(fileno(to), fd) >= 0);
    int code = read_line(o, line);
    assert_true(dup2(before, fd) >= 0);
    rewind(to);
    said[fread(said, 1, room - 1, to)] = '\0';
    close(before);
    fclose(to);
    return code;
}

TEST(options_and_words_may_stand_in_any_order)
{
    struct options o = {.least = 1, .most = 2};
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

TEST(misuse_is_told_apart)
{
    struct options o = {.least = 1, .most = 2};
    static const struct {
        const char *line, *why;
    } wrong[] = {
        {"test", "an argument is missing; expected: [OPTIONS] ONE [TWO]"},
        {"test a b c", "'c' is an argument too many; expected: [OPTIONS] ONE [TWO]"},
        {"test a --nonsense", "there is no option --nonsense"},
        {"test a --sice 3", "there is no option --sice; the nearest is --size"},
        {"test a --nonsense=1", "there is no option --nonsense"},
        {"test a --name", "option --name takes a value"},
        {"test a -n", "option -n takes a value"},
        {"test a --loud=1", "option --loud takes no value"},
        {"test a --help=1", "option --help takes no value"},
        {"test --only b a --only c", "--only 'c': it stands for the second time, after 'b', and may be given once"},
        {"test a --add x", NULL},
        {"test a -x", "there is no option -x"},
        {"test --loud -xl a", "there is no option -x"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char said[256], expected[256] = "";
        int code = read_line_with(&o, wrong[i].line, STDERR_FILENO, said, sizeof said);
        if (code != EXIT_USAGE)
            fail_msg("taken: %s", wrong[i].line);
        if (wrong[i].why)
            snprintf(expected, sizeof expected, "bezel test: %s\nTry 'bezel test --help'.\n", wrong[i].why);
        assert_string_equal(said, expected);
    }
}

TEST(help_ends_the_command)
{
    struct options o = {.least = 1, .most = 1};
    assert_int_equal(read_line(&o, "test a b c --help"), EXIT_OK);
    assert_int_equal(read_line(&o, "test -h"), EXIT_OK);
    assert_int_equal(read_line(&o, "test --version"), EXIT_OK);
}

/* What follows is another program's command line. */
TEST(the_first_word_may_end_the_options)
{
    struct options o = {.most = 9, .stop_at_word = true};
    assert_int_equal(read_line(&o, "test --loud cc --name x -h"), OPTIONS_GO_ON);
    assert_null(name);
    assert_int_equal(o.count, 4);
    assert_false(o.dashes);
    assert_int_equal(read_line(&o, "test --loud -- --name x"), OPTIONS_GO_ON);
    assert_int_equal(o.count, 2);
    assert_true(o.dashes);
}

TEST(dashes_that_are_a_value_end_nothing)
{
    struct options o = {.most = 9, .stop_at_word = true};
    assert_int_equal(read_line(&o, "test --name -- file"), OPTIONS_GO_ON);
    assert_string_equal(name, "--");
    assert_int_equal(o.count, 1);
    assert_false(o.dashes);
}

TEST(quantities_are_read_within_their_bounds)
{
    struct options o = {.most = 1};
    static const struct {
        const char *line, *why;
    } wrong[] = {{"test --count=0", "--count '0': give a number from 1 to 4096"},
                 {"test --count=4097", "--count '4097': give a number from 1 to 4096"},
                 {"test --count=18446744073709551615", "--count '18446744073709551615': give a number from 1 to 4096"},
                 {"test --count=x", "--count 'x': give a number from 1 to 4096"},
                 {"test --size=4095B", "--size '4095B': give a size from 4 KiB to 1 MiB"},
                 {"test --size=1025KiB", "--size '1025KiB': give a size from 4 KiB to 1 MiB"},
                 {"test --time=1001ms", "--time '1001ms': give a duration from 0 s to 1 s"},
                 {"test --time=3", "--time '3': give a duration from 0 s to 1 s"}};
    assert_int_equal(read_line(&o, "test --count=1 --size=4KiB --time=0"), OPTIONS_GO_ON);
    assert_int_equal(count, 1);
    assert_int_equal(size, 4096);
    assert_int_equal(duration, 0);
    assert_int_equal(read_line(&o, "test --count=4096 --size=1MiB --time=1s"), OPTIONS_GO_ON);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char said[256], expected[256];
        snprintf(expected, sizeof expected, "bezel test: %s\nTry 'bezel test --help'.\n", wrong[i].why);
        assert_int_equal(read_line_with(&o, wrong[i].line, STDERR_FILENO, said, sizeof said), EXIT_USAGE);
        assert_string_equal(said, expected);
    }
    assert_int_equal(count, 4096); /* what is refused changes nothing */
    assert_int_equal(size, 1 << 20);
    assert_int_equal(duration, 1000000000);
}

TEST(a_descriptor_is_an_open_one)
{
    struct options o = {.most = 1};
    char line[64], said[256];
    int fd = dup2(STDERR_FILENO, 77);
    snprintf(line, sizeof line, "test --to=%d", fd);
    assert_int_equal(read_line(&o, line), OPTIONS_GO_ON);
    assert_int_equal(descriptor, fd);
    close(fd);
    assert_int_equal(read_line_with(&o, line, STDERR_FILENO, said, sizeof said), EXIT_USAGE);
    assert_int_equal(read_line_with(&o, "test --to=-1", STDERR_FILENO, said, sizeof said), EXIT_USAGE);
    assert_non_null(strstr(said, "not the number of an open descriptor"));
}

TEST(help_has_every_option_in_lines_of_a_hundred_columns)
{
    struct options o = {.most = 1};
    char said[4096];
    assert_int_equal(read_line_with(&o, "test --help", STDOUT_FILENO, said, sizeof said), EXIT_OK);
    assert_string_equal(
        said, "usage: bezel test [OPTIONS] ONE [TWO]\n"
              "\n"
              "Tests.\n"
              "\n"
              "  -l, --loud       print more\n"
              "  -n, --name NAME  a name\n"
              "  --add N          a number to add; may be given several times, and has a text that takes more than\n"
              "                   a line of a hundred columns\n"
              "  --count N        how many\n"
              "                   of them\n"
              "  --size SIZE      how large\n"
              "  --time DURATION-OF-WHAT-IS-WAITED-FOR\n"
              "                   how long\n"
              "  --to FD          where to\n"
              "  -h, --help       print this text\n"
              "  --version        print the version\n"
              "\n"
              "The end.\n");
}
