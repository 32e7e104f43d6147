// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Dictionaries: the aspects and strings behind a process's ids. The bytes are mdr.x's mdr_entry, one after the other,
 * append-only; the internal sensor writes them straight into its segment, the external sensor sends them as they are.
 */
#ifndef BEZEL_MDR_DICT_H
#define BEZEL_MDR_DICT_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
    DICT_MAX_BYTES = 65536,
    DICT_ASPECTS_MAX = 255,
    DICT_FIELDS_MAX = 12,
    DICT_STRINGS_MAX = 4095,
    DICT_NAME_MAX = 63,
    DICT_TEXT_MAX = 255,
    DICT_LABELS_MAX = 1023,
};

enum dict_type { DICT_INT64 = 0, DICT_FLOAT64 = 1, DICT_ENUM = 2, DICT_STRING = 3 };

/** What records of an aspect are. The numbers are <bezel/kinds.h>'s; on the wire each has an entry of its own. */
enum dict_kind {
    DICT_EVENT = 0,
    DICT_SPAN = 1,
    DICT_COUNTER = 2,
    DICT_GAUGE = 3,
    DICT_SENT = 4,
    DICT_RECEIVED = 5,
    DICT_WAIT = 6,
};

/** Texts are NUL-terminated and belong to the dictionary. */
struct dict_field {
    enum dict_type type;
    const char *name, *unit;
    const char *labels; /* of an enum, separated by '|'; else "" */
};

struct dict_aspect {
    uint32_t id; /* index in dict.aspects plus 1 */
    enum dict_kind kind;
    const char *name;
    uint32_t field_count;
    struct dict_field fields[DICT_FIELDS_MAX];
};

/** A dictionary as dict_parse() has read it. Its fields are for reading only. */
struct dict {
    uint64_t hash; /* over all bytes */
    uint32_t aspect_count, string_count;
    uint8_t field_counts[DICT_ASPECTS_MAX + 1]; /* by aspect id, as packet_next_record() wants them */
    struct dict_aspect *aspects;
    const char **strings; /* by string id minus 1 */
    uint64_t *hashes;     /* hash after each entry: every version that this dictionary includes */
    uint32_t entry_count;
    uint32_t others; /* owners beside the first: dict_share() */
};

/**
 * Appends the entry of an aspect, or of a string, to the `used` bytes at `at`, which has room for `capacity`. The
 * aspect keeps the limits DICT_*, dict_name_ok() and dict_kind_ok(); its field names differ; a `unit` or `labels` of
 * NULL is none. Returns the new number of bytes, or BEZEL_EFULL, or BEZEL_EINVAL if the entry breaks a limit or a text
 * is not UTF-8. Order of ids and uniqueness of aspect names are the caller's care. The bytes behind `used` may be
 * changed on failure. Depends on libc's string functions alone. Pure.
 */
int dict_append_aspect(uint8_t *at, size_t used, size_t capacity, const struct dict_aspect *a) BEZEL_MUST_CHECK;
int dict_append_string(uint8_t *at, size_t used, size_t capacity, uint32_t id, const char *text) BEZEL_MUST_CHECK;

/**
 * Whether `name` may name an aspect or field: 1 to 63 of letters, digits, '_', '.', ':'; not opening with a digit.
 * Pure.
 */
int dict_name_ok(const char *name);

/** "event", "span" and so on; "?" if `kind` is none. Static storage. Pure. */
const char *dict_kind_name(enum dict_kind kind);

/** Whether records of `kind` open with a duration that ends at their timestamp; -1: unknown. Pure. */
static inline int dict_kind_lasts(enum dict_kind kind)
{
    return kind == DICT_SPAN || kind == DICT_WAIT;
}

/**
 * Whether field `i` of `a` is a duration of which -1 is an unknown one: that of a span or wait, and of a message that
 * was received the time for which its receiver `waited`. Pure.
 */
int dict_is_duration(const struct dict_aspect *a, uint32_t i);

/** What the records of aspect `a` wait for: the labels of their reason, separated by '|'; "" of other kinds. Pure. */
const char *dict_reason(const struct dict_aspect *a);

/** Whether `a` opens with the fields that its kind has (mdr.x); more may follow. Pure. */
int dict_kind_ok(const struct dict_aspect *a);

/**
 * Reads and checks `n` bytes (0: the empty dictionary): bounds, types, ids in order, names, zero padding, aspect names
 * unique in the dictionary and field names in their aspect, the fields of its kind, labels only of enums, texts without
 * NUL and in UTF-8.
 * Returns 0 with *d owned by the caller (dict_free), BEZEL_EMALFORMED or BEZEL_ENOMEM with nothing to free.
 */
int dict_parse(const void *bytes, size_t n, struct dict **d) BEZEL_MUST_CHECK;

/** The aspect of `d` that is called so; NULL: there is none, or no `d`. Pure. */
const struct dict_aspect *dict_aspect_of(const struct dict *d, const char *name);

/** The index of the field of `a` that is called so; -1: there is none, or no `name`. Pure. */
int dict_field_of(const struct dict_aspect *a, const char *name);

/** Gives `d` one more owner, who frees it likewise. Owners are of one thread. */
struct dict *dict_share(struct dict *d);

/** Frees a dictionary that has no other owner; NULL is allowed. */
void dict_free(struct dict *d);

/**
 * Whether packets that name dictionary `hash` can be read with `d`: it is d's own hash or that of an earlier version.
 * Pure.
 */
int dict_includes(const struct dict *d, uint64_t hash);

#endif
