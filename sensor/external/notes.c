// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/external/notes.h"

#include "base/log.h"
#include "mdr/note.h"
#include "mdr/parts.h"
#include "sensor/external/external_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void notes_free(struct notes *notes)
{
    free(notes->list);
    *notes = (struct notes){0};
}

static bool is_same(const struct message_note *a, const struct message_note *b)
{
    return a->instance == b->instance && a->pid == b->pid && strcmp(a->code, b->code) == 0 &&
           strcmp(a->name, b->name) == 0 && strcmp(a->text, b->text) == 0;
}

static bool is_kept(const struct notes *notes, const struct message_note *note)
{
    for (uint32_t i = 0; i < notes->count; i++)
        if (is_same(&notes->list[i], note))
            return true;
    return false;
}

static uint32_t count_of(const struct notes *notes, const char *code)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < notes->count; i++)
        n += strcmp(notes->list[i].code, code) == 0;
    return n;
}

static void drop(struct notes *notes, const struct message_note *note, bool harmless)
{
    bool *said = harmless ? &notes->said_more : &notes->said_any;
    if (*said)
        return;
    *said = true;
    struct message_note *last = &notes->list[notes->count++];
    *last = (struct message_note){.at = note->at};
    snprintf(last->code, sizeof last->code, harmless ? "BEZEL-NOTES-MORE" : "BEZEL-NOTES");
    if (harmless)
        snprintf(last->text, sizeof last->text,
                 "there are more notes %s, or such that tell of no missing records: the log of bezeld has all",
                 note->code);
    else
        snprintf(last->text, sizeof last->text, "only the first notes are kept, some %d: the log of bezeld has all",
                 NOTES_MAX);
}

/* Two places are for the notes that there were more. False: no place, or no memory. */
static bool keep(struct notes *notes, const struct message_note *note)
{
    bool harmless = note_kind(note->code) == NOTE_HARMLESS;
    uint32_t room = NOTES_MAX - !notes->said_more - !notes->said_any;
    if (!notes->list && !(notes->list = calloc(NOTES_MAX, sizeof *notes->list)))
        return false;
    if (notes->count < room && !(harmless && count_of(notes, note->code) >= NOTES_OF_A_CODE)) {
        notes->list[notes->count++] = *note;
        return true;
    }
    drop(notes, note, harmless);
    return false;
}

static void show(const struct message_note *n)
{
    if (n->pid)
        log_warn("BEZEL-NOTE", "%s: %s (pid %u): %s", n->code, n->name, n->pid, n->text);
    else
        log_warn("BEZEL-NOTE", "%s: %s", n->code, n->text);
}

static bool add(struct notes *notes, const struct message_note *note)
{
    if (is_kept(notes, note))
        return false;
    show(note);
    return keep(notes, note);
}

static void about(struct message_note *note, const struct external_process *p)
{
    if (!p)
        return;
    note->instance = p->at->instance;
    note->pid = p->at->pid;
    snprintf(note->name, sizeof note->name, "%s", p->name);
}

bool notes_record(struct external *x, const struct external_process *p, int64_t now, const char *code,
                  const char *format, ...)
{
    struct message_note note = {.at = (uint64_t)now};
    va_list args;
    va_start(args, format);
    vsnprintf(note.text, sizeof note.text, format, args);
    va_end(args);
    about(&note, p);
    snprintf(note.code, sizeof note.code, "%s", code);
    return add(&x->notes, &note);
}

void notes_take(struct external *x, struct external_process *p, int64_t now)
{
    struct attached_notice notice;
    while (segment_next_notice(p->at, &notice)) {
        struct message_note note = {.at = (uint64_t)now};
        bool ours = note_is_libbezels(notice.code); /* the segment is the program's */
        about(&note, p);
        snprintf(note.code, sizeof note.code, "%s", ours ? notice.code : "BEZEL-PROGRAM");
        snprintf(note.text, sizeof note.text, "%s%s%s", ours ? "" : notice.code, ours ? "" : ": ", notice.text);
        add(&x->notes, &note);
    }
}

void notes_take_refusals(struct external *x, int64_t now)
{
    struct attached_refusal refusal;
    uint32_t unobserved = unobserved_read(&x->doorbell->unobserved);
    if (unobserved > x->unobserved)
        x->unobserved = unobserved;
    while (doorbell_next_refusal(x->doorbell, &x->refusals_seen, &refusal)) {
        struct message_note note = {.pid = refusal.pid, .at = (uint64_t)now, .code = "BEZEL-NO-SEGMENT"};
        snprintf(note.name, sizeof note.name, "%s", refusal.name);
        snprintf(note.text, sizeof note.text, "%s", refusal.text);
        add(&x->notes, &note);
    }
    if (x->refusals_seen == (UINT32_C(1) << DOORBELL_REFUSALS) - 1)
        notes_record(x, NULL, now, "BEZEL-NO-SEGMENT",
                     "%d processes had no segment: further ones are counted in the books, without a note",
                     DOORBELL_REFUSALS);
}

uint32_t external_note_count(const struct external *x)
{
    return x->notes.count;
}

const struct message_note *external_note(const struct external *x, uint32_t i)
{
    return &x->notes.list[i];
}
