// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Initializers of struct dict_field, for .c files with tables of aspects: a number with its unit, an enum with its
 * labels ("idle|busy"), a text.
 */
#ifndef BEZEL_MDR_DICT_FIELDS_H
#define BEZEL_MDR_DICT_FIELDS_H

#include "mdr/dict.h"

#define INT(name, unit)                                                                                                \
    {                                                                                                                  \
        DICT_INT64, name, unit, ""                                                                                     \
    }
#define FLOAT(name, unit)                                                                                              \
    {                                                                                                                  \
        DICT_FLOAT64, name, unit, ""                                                                                   \
    }
#define ENUM(name, labels)                                                                                             \
    {                                                                                                                  \
        DICT_ENUM, name, "1", labels                                                                                   \
    }
#define TEXT(name)                                                                                                     \
    {                                                                                                                  \
        DICT_STRING, name, "1", ""                                                                                     \
    }

#endif
