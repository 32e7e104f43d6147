// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/operator.h"

#include "base/clock.h"
#include "base/log.h"
#include "collector/facts.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAIL_LINES = 5, TAIL_BYTES = 2048 };

void operator_init(struct operator* o, bool quiet, bool shared)
{
    *o = (struct operator){.realtime_offset = clock_realtime_offset()};
    progress_init(&o->progress, stderr, quiet, shared);
}

void operator_free(struct operator* o)
{
    free(o->events);
    *o = (struct operator){0};
}

static void keep(struct operator* o, bool error, const char *text)
{
    if (!o->events)
        o->events = calloc(OPERATOR_EVENTS_MAX, sizeof *o->events);
    if (!o->events || o->count == OPERATOR_EVENTS_MAX) {
        o->dropped++;
        return;
    }
    struct operator_event *e = &o->events[o->count++];
    e->at = clock_now() + o->realtime_offset;
    e->error = error;
    snprintf(e->text, sizeof e->text, "%s", text);
}

/* Keeps what is told, and shows it above the progress line. */
static void tell(struct operator* o, bool error, const char *id, const char *format, va_list args)
{
    char text[OPERATOR_TEXT_MAX];
    vsnprintf(text, sizeof text, format, args);
    keep(o, error, text);
    progress_clear(&o->progress);
    if (error)
        log_error(id, "%s", text);
    else
        log_warn(id, "%s", text);
}

void operator_error(struct operator* o, const char *id, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(o, true, id, format, args);
    va_end(args);
}

void operator_event(struct operator* o, const char *id, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(o, false, id, format, args);
    va_end(args);
}

void operator_note(struct operator* o, const char *format, ...)
{
    if (o->progress.quiet)
        return;
    progress_clear(&o->progress);
    va_list args;
    va_start(args, format);
    fputs("bezel: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

bool operator_show_tail(struct operator* o, const char *path)
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
    progress_clear(&o->progress);
    for (char *line = from; line; from = line) {
        line = strchr(from, '\n');
        if (line)
            *line++ = '\0';
        fprintf(stderr, "  | %s\n", from);
    }
    return true;
}

int operator_keep(const struct operator* o, struct facts *f)
{
    int err = 0;
    for (size_t i = 0; i < o->count && !err; i++)
        err = facts_event(f, o->events[i].at, o->events[i].error, o->events[i].text);
    if (!err && o->dropped > 0) {
        char text[64];
        snprintf(text, sizeof text, "%zu more events were shown, but not kept", o->dropped);
        err = facts_event(f, clock_now() + o->realtime_offset, true, text);
    }
    return err;
}
