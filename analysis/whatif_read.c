// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/whatif.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    return s;
}

static void take_name(struct whatif_change *c, const char *text, size_t n)
{
    static const struct {
        const char *name;
        enum path_class is;
    } waits[] = {{"network", PATH_MESSAGE}, {"lock", PATH_LOCK}, {"io", PATH_IO}, {"sleep", PATH_SLEEP}};
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        n--;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (strlen(waits[i].name) == n && memcmp(text, waits[i].name, n) == 0) {
            c->waits = waits[i].is;
            return;
        }
    memcpy(c->name, text, n);
}

/* The next word, up to a blank, goes into `word`; empty: there is none. Returns what follows. */
static const char *next_word(const char *text, char *word, size_t size)
{
    text = skip_blanks(text);
    size_t n = strcspn(text, " \t");
    snprintf(word, size, "%.*s", (int)(n < size ? n : 0), text);
    return skip_blanks(text + n);
}

/* "client.1 to studio CPU 1". */
static int read_move(const char *text, struct whatif_change *c)
{
    char to[8], number[8], *end;
    text = next_word(text, c->name, sizeof c->name);
    text = next_word(text, to, sizeof to);
    c->kind = WHATIF_MOVE;
    c->cpu = -1;
    if (!c->name[0] || strcmp(to, "to") != 0)
        return BEZEL_EINVAL;
    const char *next = next_word(text, to, sizeof to);
    if (strcmp(to, "CPU") != 0) {
        text = next_word(text, c->to, sizeof c->to);
        if (!c->to[0] || !*text)
            return c->to[0] ? 0 : BEZEL_EINVAL;
        next = next_word(text, to, sizeof to);
    }
    next = next_word(next, number, sizeof number);
    long cpu = strtol(number, &end, 10);
    bool ok = strcmp(to, "CPU") == 0 && isdigit((unsigned char)number[0]) && !*end && !*next && cpu < 64;
    c->cpu = ok ? (int)cpu : -1;
    return ok ? 0 : BEZEL_EINVAL;
}

int whatif_read(const char *text, struct whatif_change *change, const char **why)
{
    char *end;
    text = skip_blanks(text);
    size_t n = strcspn(text, "=:");
    const char *number = text[n] ? skip_blanks(text + n + 1) : "";
    *change = (struct whatif_change){0};
    *why =
        "it is not NAME = FACTOR, such as 'encode = 0', nor 'network: 10x', nor 'move PROCESS to NODE', 'move PROCESS "
        "to CPU N' or 'move SPAN to PROCESS'";
    if (strncmp(text, "move", 4) == 0 && isspace((unsigned char)text[4]) && !strchr("=:", *skip_blanks(text + 4)))
        return read_move(text + 4, change);
    if (n == 0 || n >= sizeof change->name || !isdigit((unsigned char)*number))
        return BEZEL_EINVAL;
    take_name(change, text, n);
    change->factor = strtod(number, &end);
    end = (char *)(uintptr_t)skip_blanks(end);
    if (text[n] == ':') {
        bool ok = !change->name[0] && change->waits == PATH_MESSAGE && *end == 'x' && change->factor > 0;
        change->factor = ok ? 1 / change->factor : 0;
        return ok && *skip_blanks(end + 1) == '\0' ? 0 : BEZEL_EINVAL;
    }
    change->factor /= *end == '%' ? 100 : 1;
    end += *end == '%';
    return *skip_blanks(end) == '\0' && change->factor <= 1000 ? 0 : BEZEL_EINVAL;
}
