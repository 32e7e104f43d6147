// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/log.h"

#include "base/clock.h"
#include "base/plain.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LOG_IDS = 64 };

struct log_rate {
    const char *id;
    int64_t second;
    unsigned shown, withheld;
};

static const char *log_program = "bezel", *log_subject;
static bool log_muted; /* under log_lock */
static _Thread_local char log_error_text[256];
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static struct log_rate log_rates[LOG_IDS];

void log_mute(void)
{
    pthread_mutex_lock(&log_lock);
    log_muted = true;
    pthread_mutex_unlock(&log_lock);
}

void log_init(const char *program)
{
    log_program = program;
}

/* Whether a line of `id` may be printed now; *withheld becomes the number of those that were not. Under log_lock. */
static bool log_admit(const char *id, unsigned *withheld)
{
    int64_t second = clock_now() / CLOCK_S;
    struct log_rate *r = log_rates;
    while (r < log_rates + LOG_IDS - 1 && r->id && strcmp(r->id, id) != 0)
        r++;
    if (!r->id || strcmp(r->id, id) != 0)
        *r = (struct log_rate){.id = id, .second = second};
    if (r->second != second) {
        *withheld = r->withheld;
        *r = (struct log_rate){.id = id, .second = second};
    }
    if (r->shown >= LOG_BURST) {
        r->withheld++;
        return false;
    }
    r->shown++;
    return true;
}

static void log_line(const char *level, const char *id, const char *format, va_list args)
{
    char text[1024];
    unsigned withheld = 0;
    vsnprintf(text, sizeof text, format, args);
    plain_text(text);
    pthread_mutex_lock(&log_lock);
    if (!log_muted && log_admit(id, &withheld)) {
        if (log_subject)
            fprintf(stderr, "%s: %s: %s%s: %s", log_program, log_subject, level, id, text);
        else
            fprintf(stderr, "%s: %s%s: %s", log_program, level, id, text);
        if (withheld)
            fprintf(stderr, " (%u more like it were withheld)", withheld);
        fputc('\n', stderr);
    }
    pthread_mutex_unlock(&log_lock);
}

#define LOG_DEFINE(name, level)                                                                                        \
    void name(const char *id, const char *format, ...)                                                                 \
    {                                                                                                                  \
        va_list args;                                                                                                  \
        va_start(args, format);                                                                                        \
        log_line(level, id, format, args);                                                                             \
        va_end(args);                                                                                                  \
    }

void log_error(const char *id, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    log_line("error: ", id, format, args);
    vsnprintf(log_error_text, sizeof log_error_text, format, again);
    plain_text(log_error_text);
    va_end(again);
    va_end(args);
}

LOG_DEFINE(log_warn, "warning: ")
LOG_DEFINE(log_info, "")

void log_about(const char *what)
{
    pthread_mutex_lock(&log_lock);
    log_subject = what;
    pthread_mutex_unlock(&log_lock);
}

const char *log_last_error(void)
{
    return log_error_text;
}

void log_forget_error(void)
{
    log_error_text[0] = '\0';
}
