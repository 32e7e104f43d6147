// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "analysis/whatif.h"

#include <ctype.h>
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

int whatif_read(const char *text, struct whatif_change *change, const char **why)
{
    char *end;
    text = skip_blanks(text);
    size_t n = strcspn(text, "=:");
    const char *number = text[n] ? skip_blanks(text + n + 1) : "";
    *change = (struct whatif_change){0};
    *why = "it is not NAME = FACTOR, such as 'encode = 0', nor 'network: 10x'";
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
