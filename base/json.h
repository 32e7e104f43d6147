// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A writer of JSON (RFC 8259). Values are written in the order of the calls; `key` names a member of an object and is
 * NULL for an item of an array or the outermost value. Texts are escaped, bytes that are not UTF-8 become U+FFFD; NaN
 * and infinities, which JSON lacks, become null. Errors of `out` show in ferror(). All functions accept a writer of
 * NULL, and then write nothing. One owner.
 */
#ifndef BEZEL_BASE_JSON_H
#define BEZEL_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** Set `out` and `compact` (one line, for JSON lines), the rest zero. */
struct json {
    FILE *out;
    bool compact;
    bool after_item; /* private: a comma is due */
    int depth;
};

void json_object(struct json *j, const char *key);
void json_object_end(struct json *j);
void json_array(struct json *j, const char *key);
void json_array_end(struct json *j);

void json_text(struct json *j, const char *key, const char *text); /* NULL: null */
void json_int(struct json *j, const char *key, int64_t value);
void json_known_int(struct json *j, const char *key, bool known, int64_t value); /* null where it is not known */
void json_uint(struct json *j, const char *key, uint64_t value);
void json_double(struct json *j, const char *key, double value);
void json_bool(struct json *j, const char *key, bool value);

/** As a text: for numbers of which all 64 bits matter, because many readers keep only 53. */
void json_uint_text(struct json *j, const char *key, uint64_t value);

#endif
