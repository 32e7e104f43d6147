// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/json.h"

#include "base/plain.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void line_break(struct json *j)
{
    if (!j->compact)
        fprintf(j->out, "\n%*s", 2 * j->depth, "");
}

static void put_text(FILE *out, const char *text)
{
    const char *valid = text + utf8_fit(text, SIZE_MAX);
    fputc('"', out);
    for (; *text; text++) {
        if (text == valid) { /* no UTF-8 begins here */
            fputs("\\ufffd", out);
            valid += 1 + utf8_fit(text + 1, SIZE_MAX);
        } else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20 || *text == 0x7f)
            fprintf(out, "\\u%04x", *text);
        else if (plain_control(text) == 2) /* of C1: U+0080 to U+009F */
            fprintf(out, "\\u%04x", (unsigned char)*++text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

/* Writes what precedes every value: the comma, the start of the line, the key. False: there is no writer. */
static bool open_item(struct json *j, const char *key)
{
    if (!j)
        return false;
    if (j->after_item)
        fputc(',', j->out);
    if (j->depth > 0)
        line_break(j);
    if (key) {
        put_text(j->out, key);
        fputs(j->compact ? ":" : ": ", j->out);
    }
    j->after_item = true;
    return true;
}

static void open_group(struct json *j, const char *key, char bracket)
{
    if (!open_item(j, key))
        return;
    fputc(bracket, j->out);
    j->after_item = false;
    j->depth++;
}

static void close_group(struct json *j, char bracket)
{
    if (!j)
        return;
    j->depth--;
    if (j->after_item)
        line_break(j);
    fputc(bracket, j->out);
    if (j->depth == 0)
        fputc('\n', j->out);
    j->after_item = j->depth > 0;
}

void json_object(struct json *j, const char *key)
{
    open_group(j, key, '{');
}

void json_object_end(struct json *j)
{
    close_group(j, '}');
}

void json_array(struct json *j, const char *key)
{
    open_group(j, key, '[');
}

void json_array_end(struct json *j)
{
    close_group(j, ']');
}

void json_text(struct json *j, const char *key, const char *text)
{
    if (!open_item(j, key))
        return;
    if (text)
        put_text(j->out, text);
    else
        fputs("null", j->out);
}

void json_int(struct json *j, const char *key, int64_t value)
{
    if (open_item(j, key))
        fprintf(j->out, "%" PRId64, value);
}

void json_known_int(struct json *j, const char *key, bool known, int64_t value)
{
    if (known)
        json_int(j, key, value);
    else
        json_text(j, key, NULL);
}

void json_uint(struct json *j, const char *key, uint64_t value)
{
    if (open_item(j, key))
        fprintf(j->out, "%" PRIu64, value);
}

void json_double(struct json *j, const char *key, double value)
{
    if (!open_item(j, key))
        return;
    if (!isfinite(value)) {
        fputs("null", j->out);
        return;
    }
    char text[32]; /* the shorter form, if it reads back as the same number */
    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof text, "%.17g", value);
    fputs(text, j->out);
}

void json_bool(struct json *j, const char *key, bool value)
{
    if (open_item(j, key))
        fputs(value ? "true" : "false", j->out);
}

void json_uint_text(struct json *j, const char *key, uint64_t value)
{
    if (open_item(j, key))
        fprintf(j->out, "\"%" PRIu64 "\"", value);
}
