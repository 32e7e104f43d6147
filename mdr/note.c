// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/note.h"

#include <string.h>

/* Uncounted are a segment that was not read; what the share of a node left out, and what its notes had no room for; of
 * an imported run what its source does not count, and what it has that could not be taken. */
static const char *const codes[NOTE_KINDS][12] = {
    [NOTE_HARMLESS] = {"BEZEL-SAME-NAME", "BEZEL-SECURE", "BEZEL-KNOB-REFUSED", "BEZEL-RING-RECORDS",
                       "BEZEL-RING-THREADS", "BEZEL-WHEN-FULL", "BEZEL-CLOCK", "BEZEL-RINGS-TAKEN",
                       "BEZEL-RING-NO-MEMORY", "BEZEL-THREAD-NAMES", "BEZEL-TIME"},
    [NOTE_CHANGE] = {"BEZEL-STEERED", "BEZEL-PAUSED", "BEZEL-RESUMED", "BEZEL-KEY-TAKEN"},
    [NOTE_CLOCK_GAP] = {"BEZEL-CLOCK-GAP"},
    [NOTE_UNCOUNTED] = {"BEZEL-SEGMENT", "BEZEL-NODE-SHARE", "BEZEL-NOTES", "BEZEL-IMPORT-LOST",
                        "BEZEL-IMPORT-LEFT-OUT", "BEZEL-IMPORT-DAMAGED"}};

static const char *const libbezels[] = {
    "BEZEL-NO-SEGMENT",   "BEZEL-SECURE",         "BEZEL-RING-NO-MEMORY", "BEZEL-RINGS-TAKEN",    "BEZEL-OPEN-SPANS",
    "BEZEL-ASPECT-TWICE", "BEZEL-ASPECT-REFUSED", "BEZEL-KNOB-REFUSED",   "BEZEL-STRING-NO-ROOM", "BEZEL-RING-RECORDS",
    "BEZEL-RING-THREADS", "BEZEL-WHEN-FULL",      "BEZEL-CLOCK",          "BEZEL-ASPECTS",        "BEZEL-NOTICES"};

bool note_is_libbezels(const char *code)
{
    bool is = false;
    for (size_t i = 0; i < sizeof libbezels / sizeof *libbezels; i++)
        is = is || strcmp(code, libbezels[i]) == 0;
    return is;
}

enum note_kind note_kind(const char *code)
{
    enum note_kind is = NOTE_OTHER;
    for (unsigned kind = 0; kind < NOTE_KINDS && is == NOTE_OTHER; kind++)
        for (const char *const *of = codes[kind]; *of && is == NOTE_OTHER; of++)
            is = strcmp(code, *of) == 0 ? kind : is;
    return is;
}
