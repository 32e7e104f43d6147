// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** What a note tells, by its code (docs/NOTICES.md): for nodes, which keep so many, and for verdicts. Pure. */
#ifndef BEZEL_MDR_NOTE_H
#define BEZEL_MDR_NOTE_H

#include <stdbool.h>

/**
 * HARMLESS: many processes may each have one, and no verdict depends on them. CHANGE: of an operator; it is in the
 * timeline. CLOCK_GAP: a node did not observe its processes, since its clock had jumped. UNCOUNTED: there may be
 * records that no books count, and nothing but the note says so. OTHER: all others.
 */
enum note_kind { NOTE_OTHER, NOTE_HARMLESS, NOTE_CHANGE, NOTE_CLOCK_GAP, NOTE_UNCOUNTED, NOTE_KINDS };

enum note_kind note_kind(const char *code);

/** Whether libbezel may write it into a segment. From there no other is taken: it would name a false cause. */
bool note_is_libbezels(const char *code);

/** Words of notes of samplers by which a verdict knows what they have no samples of: run/verdict/verdict_unseen.c. */
#define NOTE_MORE_PROCESSES "processes run at once"
#define NOTE_MORE_THREADS   "threads run at once"
#define NOTE_OPEN_FILES     "limit of open files"
#define NOTE_NOR_OTHERS     "nor are others"
#define NOTE_SUMS           "for the busiest threads"

#endif
