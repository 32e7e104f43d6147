// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The keys of an experiment file as tables, and the function that reads a tree into the model by them. It does not stop
 * at an error: a wrong value is reported, and its member keeps the default. Internal to config/.
 */
#ifndef BEZEL_CONFIG_SCHEMA_H
#define BEZEL_CONFIG_SCHEMA_H

#include "base/near.h"
#include "config/tree.h"

/** Collects diagnostics. Functions do not return BEZEL_ENOMEM: they set out_of_memory. */
struct reader {
    struct experiment_diagnostics *found;
    bool out_of_memory;
};

enum schema_kind {
    SCHEMA_DURATION,       /* int64_t, ns, min .. max */
    SCHEMA_DURATION_RANGE, /* two int64_t, ns, both min .. max */
    SCHEMA_SIZE,           /* uint64_t, bytes, min .. max */
    SCHEMA_COUNT,          /* uint32_t, min .. max */
    SCHEMA_SHARE,          /* double, 0 .. 1, in the file 0 % .. 100 % */
    SCHEMA_WORD,           /* an enum: one of `words` */
    SCHEMA_FLAG,           /* bool: one of two `words` */
    SCHEMA_NAME,           /* char *: a name of an experiment, node, process or metric */
    SCHEMA_MAP,            /* `fields`, stored in the same object */
    SCHEMA_TABLE,          /* array of objects: `table` */
    SCHEMA_OWN,            /* stored by `read` */
    SCHEMA_ALONE,          /* bool: true where the key is there; it has no value */
    SCHEMA_CHECKED,        /* read by experiment_check(), which needs the whole file for it */
    SCHEMA_GIVEN_UP,       /* a former key: `note` is its name now */
};

/** The form of a value that SCHEMA_OWN or SCHEMA_CHECKED takes, for schema_json.c. */
enum schema_shape {
    SCHEMA_IS_TEXT,
    SCHEMA_IS_LIST, /* of texts */
    SCHEMA_IS_TEXT_OR_LIST,
    SCHEMA_IS_MAP,         /* of texts, by names or patterns */
    SCHEMA_IS_TEXT_OR_MAP, /* a map of `fields` */
};

/** A word and its value. given_up: a former word; the error names its successor. Lists end with word NULL. */
struct schema_word {
    const char *word;
    int value;
    bool given_up;
};

struct schema_field;

/** An array of objects in the model, read from a map (key: name) or a list. */
struct schema_table {
    const struct schema_field *fields;
    const void *defaults;      /* one object before its keys are read */
    size_t size, place, count; /* `count`: offset, in the model, of its uint32_t length */
    uint32_t max;
    bool named; /* a map: its key goes to the `char *` that opens the object */
    bool words; /* an entry may be a text: it stands for a map with this key, which has no value (SCHEMA_ALONE) */
};

/** A key of a map. Lists end with key NULL. */
struct schema_field {
    const char *key;
    enum schema_kind kind;
    bool required;
    size_t offset;
    int64_t min, max;
    const struct schema_word *words;
    const struct schema_field *fields;
    const struct schema_table *table;
    void (*read)(struct reader *r, const struct tree *t, void *to);
    void (*print)(const void *from, FILE *out); /* SCHEMA_OWN; NULL: the caller of schema_print_map() prints the key */
    enum schema_shape shape;                    /* SCHEMA_OWN, SCHEMA_CHECKED */
    size_t size;                                /* SCHEMA_OWN: bytes of the value; 0: it is a pointer */
    bool quiet; /* printed only if it is not the default; of a map: if a key in it is printed */
    bool (*is_used)(const void *object); /* printed only if true; NULL: always */
    /* SCHEMA_GIVEN_UP: the name now; SCHEMA_WORD: where a map belongs that is found here;
     * else, if required: names the missing value. */
    const char *note;
};

/** The beginnings of rows, by kind. `at`: the offset. */
#define SCHEMA_ROW_RANGE(name, what, at, least, most)                                                                  \
    .key = (name), .kind = (what), .offset = (at), .min = (least), .max = (most)
#define SCHEMA_ROW_WORDS(name, what, at, list) .key = (name), .kind = (what), .offset = (at), .words = (list)
#define SCHEMA_ROW_OWN(name, at, reader)       .key = (name), .kind = SCHEMA_OWN, .offset = (at), .read = (reader)

/** The keys of the whole file, and the model before any key is read. */
extern const struct schema_field schema_experiment[], schema_samplers[], schema_switches[], schema_adapt[],
    schema_forward[], schema_limit[], schema_metric[], schema_order[], schema_poll[], schema_process[],
    schema_store_limits[], schema_node[], schema_collector[];
extern const struct experiment schema_defaults;
extern const struct experiment_process schema_default_process;
extern const struct experiment_node schema_default_node;
extern const struct experiment_metric schema_default_metric;
extern const struct experiment_limit schema_default_limit;
extern const struct schema_word schema_yes_or_no[], schema_when_fulls[], schema_syncs[];

/** The characters of names. */
extern const char schema_name_characters[];

/** The word for `value`. */
const char *schema_word(const struct schema_word *words, int value);

/** Reads map `t` into the object at `to`. */
void schema_read_map(struct reader *r, const struct tree *t, const struct schema_field *fields, void *to);

/** Add an error at the place of value `t`; an error at the place of its key; a warning at the place of the value. */
void reader_wrong(struct reader *r, const struct tree *t, const char *format, ...) BEZEL_PRINTF(3, 4);
void reader_wrong_key(struct reader *r, const struct tree *t, const char *format, ...) BEZEL_PRINTF(3, 4);
void reader_warn(struct reader *r, const struct tree *t, const char *format, ...) BEZEL_PRINTF(3, 4);

/** Adds an error that map `t` lacks `key`, at the map's place, unless the key is there but misspelt. */
void reader_missing(struct reader *r, const struct tree *t, const char *key, const char *format, ...)
    BEZEL_PRINTF(4, 5);

/**
 * Adds an error that there is no `what` called `near->wanted`. It asks whether the nearest name is meant; where none is
 * near it ends with `otherwise`.
 */
void reader_no_such(struct reader *r, const struct tree *t, const char *what, const struct near *near,
                    const char *otherwise);

/** The text of value `t`; NULL, and reported, if it is not a text. `expected` describes the value in the message. */
const char *reader_text(struct reader *r, const struct tree *t, const char *expected);

/** The entry of `words` for the text of `t`; NULL: an error was reported, with `note`, if any, where it is a map. */
const struct schema_word *reader_word(struct reader *r, const struct tree *t, const struct schema_word *words,
                                      const char *note);

/** Reads a percentage as a share. The message that it is none ends with `hint`. */
void reader_share(struct reader *r, const struct tree *t, const char *expected, const char *hint, double *to);

/**
 * Prints the keys of `fields` in their order, with the values in `object`: "key: value, key: value", or each in a line
 * of four blanks (`lines`); `defaults`: as `object` is before its keys are read. Returns whether a key was printed.
 */
bool schema_print_map(const struct schema_field *fields, const void *object, const void *defaults, bool lines,
                      FILE *out);

/** For schema_field.print: of a char *; of a char **, ending with NULL. */
void schema_print_char(const void *from, FILE *out);
void schema_print_list(const void *from, FILE *out);

/** Prints `text` as a value, quoted where YAML needs it (config/print.c). */
void schema_print_text(const char *text, FILE *out);

/** strdup() and calloc(); NULL, with out_of_memory set, if there is no memory. */
char *reader_copy(struct reader *r, const char *text);
void *reader_alloc(struct reader *r, size_t count, size_t size);

#endif
