// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What keys an experiment file has, as tables, and the walker that reads a tree by them into the model. It never stops
 * at an error: a value that is wrong is reported and keeps its default. Internal to config/.
 */
#ifndef BEZEL_CONFIG_SCHEMA_H
#define BEZEL_CONFIG_SCHEMA_H

#include "config/tree.h"

/** Where findings go. Memory that ran out is remembered instead of being returned from everywhere. */
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
    SCHEMA_NAME,           /* char *, reader_check_name() */
    SCHEMA_TEXT,           /* char *, not empty */
    SCHEMA_MAP,            /* `fields`, stored in the same object */
    SCHEMA_TABLE,          /* array of objects: `table` */
    SCHEMA_OWN,            /* `read` does it */
    SCHEMA_CHECKED,        /* read by experiment_check(), which needs the whole file for it */
    SCHEMA_LATER,          /* no key of this version, but one that design or habit suggests: `note` says what to do */
};

/** A word and what it stands for; later: understood, but not in this version. Ends with word NULL. */
struct schema_word {
    const char *word;
    int value;
    bool later;
};

struct schema_field;

/** An array of objects in the model, made of a map (key: name) or a list. Offsets are those within one object. */
struct schema_table {
    const struct schema_field *fields;
    const void *defaults;      /* the object before its keys are read */
    size_t size, place, count; /* `count`: offset, in the model, of its uint32_t length */
    uint32_t max;
    bool named; /* a map: its key goes to the `char *` that opens the object */
};

/** A key of a map. Ends with key NULL. */
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
    const char *note; /* SCHEMA_LATER: the answer; else, where required: what is expected, for the one who forgot it */
};

/** The keys of the whole file, and the model before any key is read. */
extern const struct schema_field schema_experiment[];
extern const struct experiment schema_defaults;
extern const struct experiment_process schema_default_process;
extern const struct schema_word schema_yes_or_no[], schema_outputs[], schema_when_fulls[], schema_modes[],
    schema_judged[], schema_forwards[], schema_scopes[], schema_policies[], schema_syncs[], schema_deciders[],
    schema_helps[], schema_orders[];

/** What names are made of. */
extern const char schema_name_characters[];

/** The word for `value`. */
const char *schema_word(const struct schema_word *words, int value);

/** Reads map `t` into the object at `to`. */
void schema_read_map(struct reader *r, const struct tree *t, const struct schema_field *fields, void *to);

/** Reports about a value, at its place; about its key, at the key's; a doubt is a warning. */
void reader_wrong(struct reader *r, const struct tree *t, const char *format, ...) BEZEL_PRINTF(3, 4);
void reader_wrong_key(struct reader *r, const struct tree *t, const char *format, ...) BEZEL_PRINTF(3, 4);
void reader_doubt(struct reader *r, const struct tree *t, const char *format, ...) BEZEL_PRINTF(3, 4);

/** Reports that map `t` lacks `key`, at the map's place, unless the key is there but misspelt. */
void reader_missing(struct reader *r, const struct tree *t, const char *key, const char *format, ...)
    BEZEL_PRINTF(4, 5);

/** The text that is the value `t`, NULL (and reported) where it is none; `expected` says what it should be. */
const char *reader_text(struct reader *r, const struct tree *t, const char *expected);

/** Whether `name` may name an experiment, node, process or metric; reported where not (`name` is t's text or key). */
bool reader_check_name(struct reader *r, const struct tree *t, const char *name);

/** strdup(). */
char *reader_copy(struct reader *r, const char *text);

#endif
