// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/diagnostics.h"

#include "base/grow.h"
#include "base/plain.h"

#include <stdlib.h>
#include <string.h>

/* Diagnostics beyond this number are counted, not kept. */
enum { DIAGNOSTICS_MAX = 1000, DIAGNOSTICS_SENTENCE_MAX = 512 };

/* Replaces control characters in `s` by '?', and removes an incomplete UTF-8 character at its end. */
static void make_printable(char *s)
{
    size_t n = strlen(s), lead = n;
    plain_text(s);
    while (lead > 0 && ((unsigned char)s[lead - 1] & 0xc0) == 0x80)
        lead--;
    unsigned char c = lead > 0 ? (unsigned char)s[lead - 1] : 0;
    size_t length = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    if (lead > 0 && n - (lead - 1) < length)
        s[lead - 1] = '\0';
}

struct diagnostics_quoted diagnostics_quote(const char *text)
{
    struct diagnostics_quoted q;
    char part[sizeof q.s - sizeof "'...'" + 1];
    snprintf(part, sizeof part, "%s", text);
    make_printable(part);
    snprintf(q.s, sizeof q.s, "'%s%s'", part, strlen(part) < strlen(text) ? "..." : "");
    return q;
}

static bool is_before(struct experiment_place a, struct experiment_place b)
{
    return a.line != b.line ? a.line < b.line : a.column < b.column;
}

int diagnostics_add(struct experiment_diagnostics *found, bool warning, struct experiment_place at, const char *path,
                    const char *format, va_list args)
{
    if (!warning)
        found->errors++;
    if (found->count >= DIAGNOSTICS_MAX)
        return 0;
    char sentence[DIAGNOSTICS_SENTENCE_MAX];
    vsnprintf(sentence, sizeof sentence, format, args);
    struct experiment_diagnostic d = {.warning = warning, .at = at};
    d.path = strdup(path);
    d.sentence = strdup(sentence);
    if (!d.path || !d.sentence || !grow_by_one(&found->list, found->count, sizeof *found->list)) {
        free(d.path);
        free(d.sentence);
        return BEZEL_ENOMEM;
    }
    make_printable(d.path);
    make_printable(d.sentence);
    size_t i = found->count++;
    for (; i > 0 && is_before(at, found->list[i - 1].at); i--)
        found->list[i] = found->list[i - 1];
    found->list[i] = d;
    return 0;
}

int experiment_report(struct experiment_diagnostics *found, bool warning, struct experiment_place at, const char *path,
                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int err = diagnostics_add(found, warning, at, path, format, args);
    va_end(args);
    return err;
}

void experiment_print_diagnostics(const struct experiment_diagnostics *found, const char *file, FILE *out)
{
    size_t errors = 0;
    for (size_t i = 0; i < found->count; i++) {
        const struct experiment_diagnostic *d = &found->list[i];
        fprintf(out, "%s:", file);
        if (d->at.line > 0)
            fprintf(out, "%u:%u:", d->at.line, d->at.column);
        fprintf(out, " %s%s%s%s\n", d->warning ? "warning: " : "", d->path, d->path[0] ? ": " : "", d->sentence);
        errors += !d->warning;
    }
    if (found->errors > errors)
        fprintf(out, "%s: and %zu more errors\n", file, found->errors - errors);
}

void experiment_diagnostics_free(struct experiment_diagnostics *found)
{
    for (size_t i = 0; i < found->count; i++) {
        free(found->list[i].path);
        free(found->list[i].sentence);
    }
    free(found->list);
    *found = (struct experiment_diagnostics){0};
}
