// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/options.h"

#include "base/log.h"
#include "base/near.h"
#include "base/plain.h"
#include "base/units.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    ENTRIES_MAX = 32,
    ENTRY_VALUE = 256, /* what getopt_long() returns for entry 0: above all letters */
    WIDTH = 100,       /* columns of --help */
    HEAD_MAX = 26,     /* a longer head has a line of its own */
    MISUSE_MAX = 8192
};

static const char *program = "bezel";

/* ---- Help -------------------------------------------------------------------------------------------------------- */

/* Prints a line of a text whose first column is `indent`, with as many lines as it takes. Returns what follows it. */
static const char *put_line(const char *line, int indent)
{
    int at = indent, n;
    bool verbatim = *line == ' ';
    for (; *line && *line != '\n'; line += n + (line[n] == ' ')) {
        n = (int)strcspn(line, verbatim ? "\n" : " \n");
        if (at > indent && at + 1 + n > WIDTH)
            printf("\n%*s", at = indent, "");
        else if (at > indent)
            at += printf(" ");
        at += printf("%.*s", n, line);
    }
    putchar('\n');
    return line + (*line == '\n');
}

static void put_text(const char *text, int indent)
{
    while (*text)
        text = put_line(text, indent);
}

static int head_width(const struct options_entry *e)
{
    return (int)strlen(e->name) + 2 + (e->letter ? 4 : 0) + (e->argument ? 1 + (int)strlen(e->argument) : 0);
}

static void put_entry(const struct options_entry *e, int column)
{
    int at = printf("  ");
    if (e->letter)
        at += printf("-%c, ", e->letter);
    at += printf("--%s%s%s", e->name, e->argument ? " " : "", e->argument ? e->argument : "");
    if (at + 2 > column)
        printf("\n%*s", column, "");
    else
        printf("%*s", column - at, "");
    for (const char *line = e->help; *line;) {
        line = put_line(line, column);
        if (*line)
            printf("%*s", column, "");
    }
}

/* --help and --version, which all programs have. */
static const struct options_entry common[] = {{"help", 'h', NULL, "print this text", .flag = NULL},
                                              {"version", 0, NULL, "print the version", .flag = NULL}};

static int print_help(const struct options *o, const struct options_entry *entries)
{
    int longest = head_width(&common[0]);
    const char *usage = o->usage;
    for (const char *word = "usage:"; *usage; word = "\n      ", usage += *usage == '\n') {
        printf("%s %s %.*s", word, program, (int)strcspn(usage, "\n"), usage);
        usage += strcspn(usage, "\n");
    }
    fputs("\n\n", stdout);
    put_text(o->about, 0);
    putchar('\n');
    for (const struct options_entry *e = entries; e->name; e++)
        longest = e->help && head_width(e) > longest && head_width(e) <= HEAD_MAX ? head_width(e) : longest;
    for (const struct options_entry *e = entries; e->name; e++)
        if (e->help)
            put_entry(e, longest + 4);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        put_entry(&common[i], longest + 4);
    putchar('\n');
    put_text(o->footer, 0);
    return options_end(EXIT_OK);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* Converts the entries to the form of getopt_long(), and adds the common ones. Returns the number of entries. */
static int list_options(const struct options *o, const struct options_entry *entries, struct option *list,
                        char *letters)
{
    int n = 0;
    if (o->stop_at_word)
        *letters++ = '+';
    *letters++ = ':'; /* getopt_long() prints nothing, and returns ':' where an option lacks its value */
    for (; entries[n].name; n++) {
        assert(n < ENTRIES_MAX);
        list[n] =
            (struct option){entries[n].name, entries[n].flag ? no_argument : required_argument, NULL, ENTRY_VALUE + n};
        if (!entries[n].letter)
            continue;
        *letters++ = entries[n].letter;
        if (!entries[n].flag)
            *letters++ = ':';
    }
    list[n] = (struct option){common[0].name, no_argument, NULL, 'h'};
    list[n + 1] = (struct option){common[1].name, no_argument, NULL, ENTRY_VALUE + n};
    list[n + 2] = (struct option){0};
    *letters++ = 'h';
    *letters = '\0';
    return n;
}

/* What getopt_long() did not understand; `c`: what it returned. */
static int refuse_option(const struct options_entry *entries, int c, const char *word)
{
    int n = (int)strcspn(word, "=");
    char name[64] = "";
    struct near near = {.wanted = name};
    if (optopt > 0 && optopt < ENTRY_VALUE && optopt != 'h')
        return options_misuse(c == ':' ? "option -%c takes a value" : "there is no option -%c", optopt);
    if (c == ':')
        return options_misuse("option %.*s takes a value", n, word);
    if (optopt)
        return options_misuse("option %.*s takes no value", n, word);
    snprintf(name, sizeof name, "%.*s", n > 2 ? n - 2 : 0, word + 2);
    for (const struct options_entry *e = entries; e->name; e++)
        if (e->help)
            near_consider(&near, e->name);
    return options_misuse("there is no option %.*s%s%s", n, word, near.best ? "; the nearest is --" : "",
                          near.best ? near.best : "");
}

static int refuse_range(const struct options_entry *e, const char *text)
{
    char range[128];
    if (e->duration)
        snprintf(range, sizeof range, "duration from %s to %s", units_exact_duration(e->least).s,
                 units_exact_duration(e->most).s);
    else if (e->size)
        snprintf(range, sizeof range, "size from %s to %s", units_exact_size((uint64_t)e->least).s,
                 units_exact_size((uint64_t)e->most).s);
    else
        snprintf(range, sizeof range, "number from %lld to %lld", (long long)e->least, (long long)e->most);
    return options_misuse("--%s '%s': give a %s", e->name, text, range);
}

static int read_quantity(const struct options_entry *e, const char *text)
{
    uint64_t n = 0;
    int64_t ns = 0;
    const char *why;
    int err = e->duration ? units_read_duration(text, &ns, &why)
              : e->size   ? units_read_size(text, &n, &why)
                          : units_read_count(text, &n, &why);
    if (!e->duration)
        ns = n > INT64_MAX ? INT64_MAX : (int64_t)n;
    if (err || ns < e->least || ns > e->most)
        return refuse_range(e, text);
    if (e->duration)
        *e->duration = ns;
    else
        *(e->size ? e->size : e->count) = n;
    return OPTIONS_GO_ON;
}

static int read_descriptor(const struct options_entry *e, const char *text)
{
    uint64_t n;
    const char *why;
    if (units_read_count(text, &n, &why) != 0 || n > INT_MAX || fcntl((int)n, F_GETFD) < 0)
        return options_misuse("--%s '%s': not the number of an open descriptor", e->name, text);
    *e->descriptor = (int)n;
    return OPTIONS_GO_ON;
}

static int take_option(const struct options *o, const struct options_entry *e)
{
    if (e->read)
        return e->read(optarg, o->context);
    if (e->descriptor)
        return read_descriptor(e, optarg);
    if (e->count || e->size || e->duration)
        return read_quantity(e, optarg);
    if (e->flag)
        *e->flag = true;
    else if (e->once && *e->value)
        return options_misuse("--%s '%s': it stands for the second time, after '%s', and may be given once", e->name,
                              optarg, *e->value);
    else
        *e->value = optarg;
    return OPTIONS_GO_ON;
}

static int print_version(void)
{
    printf("%.*s " BEZEL_VERSION "\n", (int)strcspn(program, " "), program);
    return options_end(EXIT_OK);
}

static int check_words(const struct options *o)
{
    char expected[512];
    if (o->count >= o->least && o->count <= o->most)
        return OPTIONS_GO_ON;
    snprintf(expected, sizeof expected, "%s", o->usage);
    for (char *line = strchr(expected, '\n'); line; line = strchr(line, '\n'))
        *line = '|';
    return o->count > o->most
               ? options_misuse("'%s' is an argument too many; expected: %s", o->words[o->most], expected)
               : options_misuse("an argument is missing; expected: %s", expected);
}

int options_read(struct options *o, const struct options_entry *entries, int argc, char **argv)
{
    struct option list[ENTRIES_MAX + 3];
    char letters[2 * ENTRIES_MAX + 4];
    const char *value = NULL;
    int n = list_options(o, entries, list, letters);
    program = o->program;
    for (int c; (c = getopt_long(argc, argv, letters, list, NULL)) != -1;) {
        int i = c - ENTRY_VALUE;
        if (c == 'h')
            return print_help(o, entries);
        if (i == n)
            return print_version();
        if (c == '?' || c == ':')
            return refuse_option(entries, c, argv[optind - 1]);
        for (int k = 0; i < 0 && k < n; k++)
            i = entries[k].letter == c ? k : i;
        value = optarg;
        int code = take_option(o, &entries[i]);
        if (code != OPTIONS_GO_ON)
            return code;
    }
    o->words = argv + optind;
    o->count = (unsigned)(argc - optind);
    o->dashes = argv[optind - 1] != value && strcmp(argv[optind - 1], "--") == 0;
    return check_words(o);
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

int options_misuse(const char *format, ...)
{
    char text[MISUSE_MAX]; /* arguments are foreign: a file's name may hold what moves the cursor */
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!strchr(format, '\n')) /* what has several lines is our own */
        plain_text(text);
    fprintf(stderr, "%s: %s\nTry '%s --help'.\n", program, text, program);
    return EXIT_USAGE;
}

int options_unwritten(int sys)
{
    log_error("BEZEL-OUTPUT", "cannot write all of the output to standard output%s%s", sys ? ": " : "",
              sys ? strerror(sys) : "");
    return EXIT_FAILED;
}

int options_end(int code)
{
    errno = 0; /* the errno of an earlier failed write is lost */
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    int failed = options_unwritten(errno);
    return code == EXIT_OK ? failed : code;
}
