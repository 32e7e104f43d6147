// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/picture/strip.h"

#include "base/saturate.h"

#include <stdlib.h>

int strip_init(struct strip *s, int64_t from, int64_t until, size_t parts)
{
    int64_t width = until > from ? saturate_sub(until, from) : 0;
    *s = (struct strip){.from = from, .until = from + width, .last = from, .capacity = 2 * parts + 4};
    s->least = saturate_add(width / (int64_t)(parts ? parts : 1), 1);
    s->pieces = malloc(s->capacity * sizeof *s->pieces);
    return s->pieces ? 0 : BEZEL_ENOMEM;
}

void strip_fini(struct strip *s)
{
    free(s->pieces);
    *s = (struct strip){0};
}

static int64_t length_of(const struct strip_piece *p)
{
    return p->until - p->from;
}

/* Whether what follows from `from` on belongs to the last piece: it is narrow itself, or goes on in the same state. */
static bool goes_on(const struct strip *s, enum strip_state state, int64_t from, int64_t until)
{
    const struct strip_piece *p = s->count ? &s->pieces[s->count - 1] : NULL;
    if (!p)
        return false;
    if (p->until == from && p->ns[state] == length_of(p))
        return true;
    return until - from < s->least && length_of(p) < s->least && from - p->from < s->least;
}

static void put(struct strip *s, enum strip_state state, int64_t from, int64_t until)
{
    from = from < s->last ? s->last : from;
    until = until < s->until ? until : s->until;
    if (from >= until)
        return;
    s->last = until;
    if (!goes_on(s, state, from, until)) {
        if (s->count == s->capacity)
            return;
        s->pieces[s->count++] = (struct strip_piece){.from = from};
    }
    s->pieces[s->count - 1].until = until;
    s->pieces[s->count - 1].ns[state] += until - from;
}

void strip_add(struct strip *s, struct activity_interval i)
{
    activity_settle_ready(&i);
    if (i.off > 0) {
        int64_t woken = saturate_sub(i.begin, i.ready_most), ready = saturate_sub(i.begin, i.ready_least);
        put(s, STRIP_WAITING, saturate_sub(i.begin, i.off), woken);
        put(s, STRIP_EITHER, woken, ready);
        put(s, STRIP_READY, ready, i.begin);
    }
    put(s, STRIP_RUNNING, i.begin, i.end);
}

void strip_add_wait(struct strip *s, int64_t from, int64_t until)
{
    put(s, STRIP_WAITING, from, until);
}

enum strip_state strip_most(const struct strip_piece *piece)
{
    int64_t most = length_of(piece);
    enum strip_state is = STRIP_STATES;
    for (int i = 0; i < STRIP_STATES; i++)
        most -= piece->ns[i];
    for (int i = 0; i < STRIP_STATES; i++)
        if (piece->ns[i] > most) {
            most = piece->ns[i];
            is = (enum strip_state)i;
        }
    return is;
}
