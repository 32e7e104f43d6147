// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/shm/notice.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Sentences --------------------------------------------------------------------------------------------------- */

/* A small printf(): the C library's may lock and allocate, and notices are written in signal handlers too. */
struct sentence {
    char *text;
    size_t used, size;
};

static void put_char(struct sentence *out, char c)
{
    if (out->used + 1 < out->size)
        out->text[out->used++] = c;
    out->text[out->used] = '\0';
}

static void put_text(struct sentence *out, const char *text)
{
    for (; *text; text++)
        put_char(out, *text);
}

static void put_number(struct sentence *out, unsigned long long n)
{
    char digits[24], *at = digits + sizeof digits - 1;
    *at = '\0';
    do {
        *--at = (char)('0' + n % 10);
    } while (n /= 10);
    put_text(out, at);
}

/* Takes an argument whose conversion has `longs` times 'l', or a 'z'. */
static unsigned long long take_unsigned(va_list *args, int longs)
{
    if (longs == 0)
        return va_arg(*args, unsigned);
    return longs == 1 ? va_arg(*args, unsigned long) : va_arg(*args, unsigned long long);
}

static long long take_signed(va_list *args, int longs)
{
    if (longs == 0)
        return va_arg(*args, int);
    return longs == 1 ? va_arg(*args, long) : va_arg(*args, long long);
}

/* Appends the argument of the conversion at `f`, after its '%'; returns the conversion's last character. */
static const char *put_conversion(struct sentence *out, const char *f, va_list *args)
{
    int longs = *f == 'z' && sizeof(size_t) == sizeof(unsigned long);
    if (*f == 'z')
        f++;
    for (; *f == 'l'; f++)
        longs++;
    if (*f == 's') {
        const char *text = va_arg(*args, const char *);
        put_text(out, text ? text : "(null)");
    } else if (*f == 'u') {
        put_number(out, take_unsigned(args, longs));
    } else if (*f == 'd') {
        long long n = take_signed(args, longs);
        if (n < 0)
            put_char(out, '-');
        put_number(out, n < 0 ? 0 - (unsigned long long)n : (unsigned long long)n);
    } else {
        put_char(out, *f);
    }
    return f;
}

static void put_sentence(char *text, size_t size, const char *format, va_list *args)
{
    struct sentence out = {.text = text, .size = size};
    for (const char *f = format; *f; f++) {
        if (*f == '%')
            f = put_conversion(&out, f + 1, args);
        else
            put_char(&out, *f);
    }
}

static void show(const char *code, const char *text)
{
    const char *debug = secure_getenv("BEZEL_DEBUG");
    char line[SEGMENT_CODE_BYTES + SEGMENT_NOTICE_BYTES + 16];
    struct sentence out = {.text = line, .size = sizeof line};
    if (!debug || strcmp(debug, "1") != 0)
        return;
    put_text(&out, "libbezel: ");
    put_text(&out, code);
    put_text(&out, ": ");
    put_text(&out, text);
    put_char(&out, '\n');
    if (write(STDERR_FILENO, line, out.used) < 0)
        return; /* stderr is closed: nothing more can be done */
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

/* Claims the next of `place_count` places; `count` is the number taken. -1: all are taken. */
static int claim(_Atomic uint32_t *count, uint32_t place_count)
{
    uint32_t n = atomic_load_explicit(count, memory_order_relaxed); /* relaxed: the exchange below decides */
    while (n < place_count) {
        /* relaxed: what the place holds is published by `ready` */
        if (atomic_compare_exchange_weak_explicit(count, &n, n + 1, memory_order_relaxed, memory_order_relaxed))
            return (int)n;
    }
    return -1;
}

enum notice_found { FOUND_NONE, FOUND_SAME, FOUND_MANY };

/* Whether this notice is written already, or so many others of its code that other codes would find no place. */
static enum notice_found find_notice(const struct segment *s, const char *code, const char *text)
{
    uint32_t of_code = 0;
    for (uint32_t i = 0; i < SEGMENT_NOTICES; i++) {
        const struct segment_notice *n = &s->notices[i];
        if (!atomic_load_explicit(&n->ready, memory_order_acquire) || /* N1 acquire: pairs N0 */
            strncmp(n->code, code, sizeof n->code) != 0)
            continue;
        if (strncmp(n->text, text, sizeof n->text) == 0)
            return FOUND_SAME;
        of_code++;
    }
    return of_code < SEGMENT_NOTICES_A_CODE ? FOUND_NONE : FOUND_MANY;
}

/* Copies a text into `size` bytes that are zeros; a longer text is cut. */
static void copy(char *to, size_t size, const char *from)
{
    memcpy(to, from, strnlen(from, size - 1));
}

static void write_notice(struct segment *s, const char *code, const char *text, bool often)
{
    int place = often ? -1 : claim(&s->notice_count, SEGMENT_NOTICES);
    if (place < 0) {
        atomic_fetch_add_explicit(&s->notices_dropped, 1,
                                  memory_order_relaxed); /* relaxed: a counter, nothing hangs on it */
        return;
    }
    struct segment_notice *n = &s->notices[place];
    copy(n->code, sizeof n->code, code);
    copy(n->text, sizeof n->text, text);
    atomic_store_explicit(&n->ready, 1, memory_order_release); /* N0 release: pairs N1, publishes code and text */
}

void sensor_notice(struct segment *s, const char *code, const char *format, ...)
{
    int saved = errno;
    char text[SEGMENT_NOTICE_BYTES] = "";
    va_list args;
    va_start(args, format);
    put_sentence(text, sizeof text, format, &args);
    va_end(args);
    enum notice_found found = s ? find_notice(s, code, text) : FOUND_NONE;
    if (found != FOUND_SAME) {
        show(code, text);
        if (s)
            write_notice(s, code, text, found == FOUND_MANY);
    }
    errno = saved;
}

bool sensor_count_unobserved(_Atomic uint32_t *unobserved)
{
    /* relaxed: this word alone decides who reads it */
    return !(atomic_fetch_add_explicit(unobserved, 1, memory_order_relaxed) & SEGMENT_UNREAD);
}

bool sensor_refuse(struct doorbell *doorbell, uint32_t pid, const char *name, uint64_t pid_namespace, const char *text)
{
    if (!sensor_count_unobserved(&doorbell->unobserved))
        return false;
    int saved = errno, place = claim(&doorbell->refusal_count, DOORBELL_REFUSALS);
    if (place >= 0) {
        struct doorbell_refusal *r = &doorbell->refusals[place];
        r->pid = pid;
        r->pid_namespace = pid_namespace;
        copy(r->name, sizeof r->name, name);
        copy(r->text, sizeof r->text, text);
        atomic_store_explicit(&r->ready, 1, memory_order_release); /* N2 release: pairs N3, publishes the refusal */
    }
    atomic_fetch_add_explicit(&doorbell->arrivals, 1, memory_order_relaxed); /* relaxed: N2 publishes */
    errno = saved;
    return true;
}
