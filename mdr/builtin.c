// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/builtin.h"

#include "mdr/dict_fields.h"

#include <stdlib.h>

/* ---- As a dictionary has them ------------------------------------------------------------------------------------ */

/* All labels, separated by bars: the first bar is left out. */
#define BAR_LABEL(NAME, label) "|" label
#define LABELS_DECIDER         (&("" BUILTIN_DECIDERS(BAR_LABEL))[1])
#define LABELS_POLLING         (&("" BUILTIN_POLLINGS(BAR_LABEL))[1])
#define LABELS_SETTER          (&("" BUILTIN_SETTERS(BAR_LABEL))[1])
#define LABELS_TRIGGER         (&("" BUILTIN_TRIGGERS(BAR_LABEL))[1])
#define LABELS_OPEN            (&("" BUILTIN_OPENS(BAR_LABEL))[1])
#define LABELS_ENDING          (&("" BUILTIN_ENDINGS(BAR_LABEL))[1])
#define LABELS_CONCLUSION      (&("" BUILTIN_CONCLUSIONS(BAR_LABEL))[1])

#define DICTIONARY_INT(name, unit)    INT(name, unit)
#define DICTIONARY_FLOAT(name, unit)  FLOAT(name, unit)
#define DICTIONARY_ENUM(name, labels) ENUM(name, labels)
#define DICTIONARY_TEXT(name, unit)   TEXT(name)

#define DICTIONARY_FIELD(type, name, unit, sentence) DICTIONARY_##type(#name, unit),
#define COUNT_FIELD(type, name, unit, sentence)      +1
#define DICTIONARY_ASPECT(NAME, name_, table, owner, rows)                                                             \
    [BUILTIN_##NAME] = {.name = "bezel_" #name_,                                                                       \
                        .field_count = 0 BUILTIN_##NAME##_FIELDS(COUNT_FIELD, COUNT_FIELD),                            \
                        .fields = {BUILTIN_##NAME##_FIELDS(DICTIONARY_FIELD, DICTIONARY_FIELD)}},
const struct dict_aspect builtin_aspects[BUILTIN_COUNT] = {BUILTINS(DICTIONARY_ASPECT)};

/* ---- As structs and tables have them ----------------------------------------------------------------------------- */

#define OWNER_NODE                               "node"
#define OWNER_DAEMON                             "daemon"
#define IS_LATEST_EVERY                          false
#define IS_LATEST_LATEST                         true
#define OFFSET_FIELD(type, name, unit, sentence) offsetof(row, name),
#define KEY_YES(type, name, unit, sentence)      true,
#define KEY_NO(type, name, unit, sentence)       false,
#define LAYOUT(NAME, name_, table_, owner_, rows)                                                                      \
    case BUILTIN_##NAME: {                                                                                             \
        typedef struct builtin_##name_ row;                                                                            \
        static const struct builtin_layout it = {.table = table_,                                                      \
                                                 .owner = OWNER_##owner_,                                              \
                                                 .latest = IS_LATEST_##rows,                                           \
                                                 .size = sizeof(row),                                                  \
                                                 .offsets = {BUILTIN_##NAME##_FIELDS(OFFSET_FIELD, OFFSET_FIELD)},     \
                                                 .keys = {BUILTIN_##NAME##_FIELDS(KEY_YES, KEY_NO)}};                  \
        return &it;                                                                                                    \
    }

const struct builtin_layout *builtin_layout(enum builtin b)
{
    switch (b) {
        BUILTINS(LAYOUT)
    case BUILTIN_COUNT:
        break;
    }
    abort(); /* our own mistake: there is no such aspect */
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

#define LABEL(NAME, label) label,

const char *builtin_conclusion_name(int what)
{
    static const char *const labels[] = {BUILTIN_CONCLUSIONS(LABEL)};
    return what >= 0 && what < (int)(sizeof labels / sizeof *labels) ? labels[what] : "?";
}

const char *builtin_setter_name(int cause)
{
    static const char *const labels[] = {BUILTIN_SETTERS(LABEL)};
    return cause >= 0 && cause < (int)(sizeof labels / sizeof *labels) ? labels[cause] : "?";
}
