// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Messages as tables of their fields. A table says once how a struct in memory and its bytes (XDR, as mdr.x,
 * control.x and read.x define them) correspond; one walk encodes and decodes by it, so that the two cannot differ. The
 * walk produces and takes units of four bytes; a coder moves them: libtirpc in mdr/message.c, plain memory in
 * mdr/read_message.c.
 *
 * Decoding is strict: non-zero padding, unknown values of an enum, booleans other than 0 and 1, texts that are not
 * UTF-8, and counts above their bounds break it. Pure.
 */
#ifndef BEZEL_MDR_MESSAGE_FIELDS_H
#define BEZEL_MDR_MESSAGE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FIELDS_MAGIC = 0x425A4C31 };

/** The coder. While encoding, the walk reads what `m` points to, and writes nothing there. */
struct fields_coder {
    bool decode;
    bool broken; /* a bound is broken; else, where the walk fails, the bytes end */
    size_t used; /* bytes so far */
    bool (*word)(struct fields_coder *c, uint32_t *word);
    bool (*units)(struct fields_coder *c, void *bytes, uint32_t n);           /* a multiple of four */
    bool (*borrow)(struct fields_coder *c, const uint8_t **data, uint32_t n); /* with their padding; NULL: it cannot */
};

enum fields_kind {
    FIELDS_END,   /* of a table */
    FIELDS_WORD,  /* int32, uint32 */
    FIELDS_LONGS, /* int64, uint64, double, or an array of them */
    FIELDS_BOOL,
    FIELDS_TEXT,     /* terminated, in an array of char */
    FIELDS_BYTES,    /* an array of uint8_t */
    FIELDS_ENUM,     /* 0 .. `most` */
    FIELDS_BLOB,     /* a count of bytes, at `count_at`, and these */
    FIELDS_BORROWED, /* the same, up to `most`: the member is a pointer to where they are in the frame */
    FIELDS_ROWS,     /* a count, at `count_at`, and so many structs of `size` bytes */
    FIELDS_STRUCT,
    FIELDS_CHOICE, /* an enum, and the case that it selects among `cases`; a value without a case is an error */
    FIELDS_CALL,   /* what `call` does, mostly a check */
};

struct fields {
    enum fields_kind kind;
    uint32_t at, size; /* of the member, in the struct; of ROWS, the size of one */
    uint32_t most, count_at;
    const struct fields *of; /* of a row or struct */
    const struct fields_case *cases;
    bool (*call)(struct fields_coder *c, void *m);
};

/** Of a choice. Its table is of the member at `at`; NULL: nothing follows. */
struct fields_case {
    uint32_t value, at;
    const struct fields *of;
    bool is_end;
};

#define FIELDS_MEMBER(s, m) (((struct s *)NULL)->m)
#define FIELDS_PLACE(s, m)  .at = offsetof(struct s, m), .size = sizeof FIELDS_MEMBER(s, m)

/* clang-format off */

/** A table: FIELD for what its type says, or FIELDS for up to eight of these, and the others for what it does not. */
#define TABLE(name, ...) static const struct fields name[] = {__VA_ARGS__, {.kind = FIELDS_END}}

#define FIELD(s, m)                                                                                                    \
    {.kind = _Generic(FIELDS_MEMBER(s, m), int32_t: FIELDS_WORD, uint32_t: FIELDS_WORD, bool: FIELDS_BOOL,             \
                      int64_t: FIELDS_LONGS, uint64_t: FIELDS_LONGS, double: FIELDS_LONGS,                             \
                      int64_t *: FIELDS_LONGS, uint64_t *: FIELDS_LONGS, char *: FIELDS_TEXT, uint8_t *: FIELDS_BYTES), \
     FIELDS_PLACE(s, m)}
#define FIELDS(s, ...)                                                                                                 \
    FIELDS_PICK(__VA_ARGS__, FIELDS8, FIELDS7, FIELDS6, FIELDS5, FIELDS4, FIELDS3, FIELDS2, FIELD, )(s, __VA_ARGS__)
#define FIELDS_PICK(a, b, c, d, e, f, g, h, chosen, ...) chosen
#define FIELDS2(s, m, ...) FIELD(s, m), FIELD(s, __VA_ARGS__)
#define FIELDS3(s, m, ...) FIELD(s, m), FIELDS2(s, __VA_ARGS__)
#define FIELDS4(s, m, ...) FIELD(s, m), FIELDS3(s, __VA_ARGS__)
#define FIELDS5(s, m, ...) FIELD(s, m), FIELDS4(s, __VA_ARGS__)
#define FIELDS6(s, m, ...) FIELD(s, m), FIELDS5(s, __VA_ARGS__)
#define FIELDS7(s, m, ...) FIELD(s, m), FIELDS6(s, __VA_ARGS__)
#define FIELDS8(s, m, ...) FIELD(s, m), FIELDS7(s, __VA_ARGS__)

#define ENUM(s, m, last)    {.kind = FIELDS_ENUM, FIELDS_PLACE(s, m), .most = (last)}
#define STRUCT(s, m, table) {.kind = FIELDS_STRUCT, FIELDS_PLACE(s, m), .of = (table)}
#define CHOICE(s, m, table) {.kind = FIELDS_CHOICE, FIELDS_PLACE(s, m), .cases = (table)}
#define CALL(function)      {.kind = FIELDS_CALL, .call = (function)}
#define BLOB(s, count, m)   {.kind = FIELDS_BLOB, FIELDS_PLACE(s, m), .count_at = offsetof(struct s, count)}
#define BORROWED(s, count, m, limit)                                                                                   \
    {.kind = FIELDS_BORROWED, FIELDS_PLACE(s, m), .most = (limit), .count_at = offsetof(struct s, count)}
#define ROWS(s, count, m, table)                                                                                       \
    {.kind = FIELDS_ROWS, .at = offsetof(struct s, m), .size = sizeof FIELDS_MEMBER(s, m)[0],                          \
     .most = sizeof FIELDS_MEMBER(s, m) / sizeof FIELDS_MEMBER(s, m)[0], .count_at = offsetof(struct s, count),        \
     .of = (table)}

/** The cases of a choice: each with the table of a member, HERE with one of the same struct, or with nothing. */
#define CASES(name, ...) static const struct fields_case name[] = {__VA_ARGS__, {.is_end = true}}

#define CASE(value, s, m, table) {(value), offsetof(struct s, m), (table), false}
#define HERE(value, table)       {(value), 0, (table), false}
#define NOTHING(value)           {(value), 0, NULL, false}

/* clang-format on */

/** Walks over the table of the struct at `m`. False: the bytes end, or a bound is broken. */
bool fields_walk(struct fields_coder *c, const struct fields *table, void *m);

/** Walks over the case of `value` in the struct at `m`. */
bool fields_choose(struct fields_coder *c, const struct fields_case *cases, uint32_t value, void *m);

/** Notes a broken bound unless it holds. Returns `holds`. */
bool fields_check(struct fields_coder *c, bool holds);

/** A word of 0 .. `most`. */
bool fields_count(struct fields_coder *c, uint32_t *count, uint32_t most);

/**
 * Encodes or decodes a message: magic number, version, type (at the beginning of `m`), then what `body` does with the
 * rest. `reason`: where a REFUSE has its text. Encoding returns the bytes used, BEZEL_EFULL or BEZEL_EINVAL; decoding
 * `n` bytes returns 0, BEZEL_EMALFORMED, or BEZEL_EVERSION as message_decode().
 */
int fields_message(struct fields_coder *c, bool (*body)(struct fields_coder *c, void *m), void *m, char *reason,
                   size_t n);

#endif
