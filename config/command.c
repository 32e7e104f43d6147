// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/command.h"

#include "config/fields_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char expected[] = "a list of texts, or one text that is split at blanks";

void command_free(char **argv)
{
    for (char **a = argv; a && *a; a++)
        free(*a);
    free(argv);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Characters with a meaning in a shell; '~' and '#' only at the start of a word. '!' and braces are accepted. */
static bool is_shell(char c, bool opens_word)
{
    return c != '\0' && (strchr("|&;<>()$`\\*?", c) || (opens_word && strchr("~#", c)));
}

static bool wrong_character(struct reader *r, const struct tree *t, char c)
{
    reader_wrong(r, t,
                 "'%c' has a meaning only in a shell, and no shell is used: put the word in '...', or write the "
                 "command as a list (to use a shell: [sh, -c, \"...\"])",
                 c);
    return false;
}

/*
 * Copies the word at *p, which is not a blank, without its quotes into `word` (as large as the rest of the text), and
 * moves *p behind it. False: an error was reported.
 */
static bool take_word(struct reader *r, const struct tree *t, const char **p, char *word)
{
    const char *s = *p;
    bool opens = true;
    for (; *s != '\0' && !is_blank(*s); opens = false) {
        if (*s != '\'' && *s != '"') {
            if (is_shell(*s, opens))
                return wrong_character(r, t, *s);
            *word++ = *s++;
            continue;
        }
        char quote = *s++;
        for (; *s != quote; *word++ = *s++) {
            if (*s == '\0') {
                reader_wrong(r, t, "the quotation mark %c is never closed", quote);
                return false;
            }
            if (quote == '"' && strchr("$`\\", *s))
                return wrong_character(r, t, *s);
        }
        s++;
    }
    *word = '\0';
    *p = s;
    return true;
}

static const char *skip_blanks(const char *p)
{
    while (is_blank(*p))
        p++;
    return p;
}

/* `word`: a buffer for one word, as large as the text. */
static bool split(struct reader *r, const struct tree *t, char **argv, char *word)
{
    for (const char *p = skip_blanks(t->text); *p != '\0'; p = skip_blanks(p)) {
        if (!take_word(r, t, &p, word))
            return false;
        if (!(*argv++ = reader_copy(r, word)))
            return false;
    }
    return true;
}

static bool copy_list(struct reader *r, const struct tree *t, char **argv)
{
    bool good = true;
    for (const struct tree *item = t->first; item; item = item->next) {
        const char *text = reader_text(r, item, "a text");
        good = good && text && (*argv++ = reader_copy(r, text));
    }
    return good;
}

/* The kernel's limits on arguments and paths, beyond which a program cannot be started. */
static bool words_fit(struct reader *r, const struct tree *t, char *const *argv)
{
    const struct tree *item = t->kind == TREE_LIST ? t->first : NULL;
    if (!fields_path_fits(r, item ? item : t, argv[0], PATH_MAX - 1))
        return false;
    for (; *argv; argv++, item = item ? item->next : NULL)
        if (strlen(*argv) > FIELDS_WORD_MAX) {
            reader_wrong(r, item ? item : t, "is an argument of %zu bytes; allowed: up to %d", strlen(*argv),
                         FIELDS_WORD_MAX);
            return false;
        }
    return true;
}

void command_read(struct reader *r, const struct tree *t, void *to)
{
    if (t->kind != TREE_LIST && !reader_text(r, t, expected))
        return;
    /* A text of n bytes has at most (n + 1) / 2 words. */
    size_t room = t->kind == TREE_LIST ? t->children + 1 : strlen(t->text) / 2 + 2;
    char **argv = calloc(room, sizeof *argv), *word = t->kind == TREE_LIST ? NULL : malloc(strlen(t->text) + 1);
    bool good = argv && (t->kind == TREE_LIST || word);
    if (!good)
        r->out_of_memory = true;
    else
        good = t->kind == TREE_LIST ? copy_list(r, t, argv) : split(r, t, argv, word);
    free(word);
    if (good && !r->out_of_memory && (!argv[0] || argv[0][0] == '\0')) {
        reader_wrong(r, t, "the command is empty; expected: %s", expected);
        good = false;
    }
    if (good && !r->out_of_memory && words_fit(r, t, argv))
        *(char ***)to = argv;
    else
        command_free(argv);
}
