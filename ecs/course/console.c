// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/console.h"

#include "base/clock.h"
#include "base/log.h"
#include "run/rundb/rundb.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAIL_LINES = 5, TAIL_BYTES = 2048 };

void console_init(struct console *c, bool quiet, bool shared)
{
    *c = (struct console){.realtime_offset = clock_realtime_offset()};
    progress_init(&c->progress, stderr, quiet, shared);
}

void console_free(struct console *c)
{
    free(c->events);
    *c = (struct console){0};
}

static void store_event(struct console *c, bool error, const char *text)
{
    if (!c->events)
        c->events = calloc(CONSOLE_EVENTS_MAX, sizeof *c->events);
    if (!c->events || c->count == CONSOLE_EVENTS_MAX) {
        c->dropped++;
        return;
    }
    struct console_event *e = &c->events[c->count++];
    e->at = clock_now() + c->realtime_offset;
    e->error = error;
    snprintf(e->text, sizeof e->text, "%s", text);
}

/* Stores the message, and logs it above the progress line. */
static void log_and_store(struct console *c, bool error, const char *id, const char *format, va_list args)
{
    char text[CONSOLE_TEXT_MAX];
    vsnprintf(text, sizeof text, format, args);
    store_event(c, error, text);
    progress_clear(&c->progress);
    if (error)
        log_error(id, "%s", text);
    else
        log_warn(id, "%s", text);
}

void console_error(struct console *c, const char *id, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_and_store(c, true, id, format, args);
    va_end(args);
}

void console_event(struct console *c, const char *id, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    log_and_store(c, false, id, format, args);
    va_end(args);
}

void console_note(struct console *c, const char *format, ...)
{
    if (c->progress.quiet)
        return;
    progress_clear(&c->progress);
    va_list args;
    va_start(args, format);
    fputs("bezel: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

bool console_show_tail(struct console *c, const char *path)
{
    char tail[TAIL_BYTES + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    off_t end = lseek(fd, 0, SEEK_END);
    ssize_t n = pread(fd, tail, TAIL_BYTES, end > TAIL_BYTES ? end - TAIL_BYTES : 0);
    close(fd);
    while (n > 0 && tail[n - 1] == '\n')
        n--;
    if (n <= 0)
        return false;
    tail[n] = '\0';
    char *from = tail + n;
    for (int lines = 0; from > tail; from--)
        if (from[-1] == '\n' && ++lines == TAIL_LINES)
            break;
    progress_clear(&c->progress);
    for (char *line = from; line; from = line) {
        line = strchr(from, '\n');
        if (line)
            *line++ = '\0';
        fprintf(stderr, "  | %s\n", from);
    }
    return true;
}

int console_keep(const struct console *c, struct rundb *f)
{
    int err = 0;
    for (size_t i = 0; i < c->count && !err; i++)
        err = rundb_event(f, c->events[i].at, c->events[i].error, c->events[i].text);
    if (!err && c->dropped > 0) {
        char text[64];
        snprintf(text, sizeof text, "%zu more events were shown, but not kept", c->dropped);
        err = rundb_event(f, clock_now() + c->realtime_offset, true, text);
    }
    return err;
}
