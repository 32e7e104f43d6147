// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/progress.h"

#include "base/clock.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TERMINAL_EVERY (500 * CLOCK_MS)
#define PLAIN_EVERY    (1000 * CLOCK_MS)

enum { LINE_MAX_BYTES = 512, COLUMNS_DEFAULT = 80 };

void progress_init(struct progress *p, FILE *out, bool quiet, bool shared)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    bool terminal = isatty(fileno(out)) && term && strcmp(term, "dumb") != 0;
    *p = (struct progress){.out = out, .quiet = quiet, .terminal = terminal, .shared = shared};
    p->color = terminal && !(no_color && *no_color);
}

void progress_format(const struct progress_view *view, double rate, bool color, char *line, size_t size)
{
    char time[80], lost[64], periods[128] = "";
    if (view->left >= 0)
        snprintf(time, sizeof time, "%s, %.1f s left", view->phase, (double)view->left / (double)CLOCK_S);
    else
        snprintf(time, sizeof time, "%s for %.1f s", view->phase, (double)view->elapsed / (double)CLOCK_S);
    bool red = color && view->lost > 0;
    snprintf(lost, sizeof lost, "%s%s lost%s", red ? "\033[31m" : "", units_count(view->lost).s, red ? "\033[0m" : "");
    if (view->periods[0])
        snprintf(periods, sizeof periods, ", %s", view->periods);
    snprintf(line, size, "%s: %s records stored, %s/s, %s%s", time, units_count(view->records).s,
             units_count((uint64_t)(rate + 0.5)).s, lost, periods);
}

/* Truncates `line` to `columns`: a wrapped line could not be cleared. Escape sequences take no column. */
static void truncate_line(char *line, unsigned columns)
{
    unsigned column = 0;
    for (char *p = line; *p; p++) {
        if (*p == '\033') {
            p += strcspn(p, "m");
            continue;
        }
        if (++column >= columns) {
            *p = '\0';
            return;
        }
    }
}

static unsigned columns(FILE *out)
{
    struct winsize size;
    return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : COLUMNS_DEFAULT;
}

static void show_line(struct progress *p, char *line)
{
    if (!p->terminal) {
        fprintf(p->out, "%s\n", line);
        return;
    }
    truncate_line(line, columns(p->out));
    /* Where the SUT writes too, the cursor returns to the first column, so that its next line covers this one. */
    fprintf(p->out, "\r%s%s\033[K%s", line, p->color ? "\033[0m" : "", p->shared ? "\r" : "");
    fflush(p->out);
    p->shown = true;
}

void progress_text(struct progress *p, const char *text, int64_t now)
{
    char line[LINE_MAX_BYTES];
    if (p->quiet || now < p->next)
        return;
    p->next = now + (p->terminal ? TERMINAL_EVERY : PLAIN_EVERY);
    snprintf(line, sizeof line, "%s", text);
    show_line(p, line);
}

void progress_show(struct progress *p, const struct progress_view *view, int64_t now)
{
    if (p->quiet || now < p->next)
        return;
    int64_t span = now - p->rate_at;
    uint64_t more = view->records > p->rate_records ? view->records - p->rate_records : 0;
    double rate = p->rate_at && span > 0 ? (double)more * (double)CLOCK_S / (double)span : 0;
    p->rate_at = now;
    p->rate_records = view->records;
    p->next = now + (p->terminal ? TERMINAL_EVERY : PLAIN_EVERY);
    char line[LINE_MAX_BYTES];
    progress_format(view, rate, p->color, line, sizeof line);
    show_line(p, line);
}

void progress_clear(struct progress *p)
{
    if (p->shown)
        fputs("\r\033[K", p->out);
    p->shown = false;
}
