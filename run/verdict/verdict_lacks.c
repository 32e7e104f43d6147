// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What is not known of a run: somebody did not observe, did not store to the end, or does not say so. Each is found
 * here and nowhere else: verdicts, reports and `bezel verify` go by these rows.
 */
#include "run/verdict/verdict_internal.h"

#include "mdr/note.h"
#include "run/rundb/rundb.h"
#include "run/rundb/rundb_live.h"

#include <string.h>

/* Whether `bezel run` itself launches the programs of a node, or of one that is not in the experiment. */
static bool is_launched_here(const struct experiment *e, const char *node)
{
    for (uint32_t i = 0; i < e->node_count; i++)
        if (e->nodes[i].name && strcmp(e->nodes[i].name, node) == 0)
            return !experiment_is_remote(&e->nodes[i]);
    return true;
}

/* Whether a process that counted at node `at` may be of `node`: it may know no more than that they have one launcher.
 */
static bool may_be_of(const struct summary *s, const struct experiment *e, size_t at, uint32_t node)
{
    return is_launched_here(e, s->nodes[at].name) && is_launched_here(e, s->nodes[node].name);
}

/*
 * Whether `p` is program `g` by its name: a `bezel run` that was killed at once has not told its pid. It is not where
 * `p` is another row's, as of the life before a restart.
 */
static bool is_named(const struct summary *s, const struct summary_process *p, const struct summary_program *g)
{
    return g->pid == 0 && p->role == ROLE_SUT && strcmp(p->name, g->name) == 0 &&
           strcmp(s->nodes[p->node].name, g->node) == 0 && !summary_program_of(s, p, NULL);
}

/* Whether program `g` is none of the processes that were observed on its node. */
static bool is_unknown(const struct summary *s, const struct summary_program *g)
{
    bool known = false;
    for (size_t i = 0; i < s->process_count; i++)
        known = known || summary_is_of(s, &s->processes[i], g) || is_named(s, &s->processes[i], g);
    return !known;
}

/* Whether a program of node `node` had begun before its bezeld first said anything, or may have begun and ended. */
static bool began_unseen(const struct summary *s, size_t node)
{
    for (size_t i = 0; i < s->process_count; i++)
        if (s->processes[i].node == node && s->processes[i].role == ROLE_SUT &&
            s->processes[i].started < s->nodes[node].first_at)
            return true;
    for (size_t i = 0; i < s->program_count; i++)
        if (strcmp(s->programs[i].node, s->nodes[node].name) == 0 && is_unknown(s, &s->programs[i]))
            return true;
    return false;
}

static bool is_of_node(const struct summary *s, const struct summary_note *note, size_t node)
{
    return note->node < s->node_count && strcmp(s->nodes[note->node].name, s->nodes[node].name) == 0;
}

/*
 * Whether node `node` has joined again where a program had begun by then: one bezeld had ended in order, and what was
 * recorded before this one was there is in no books. Behind a jump of its clock a note tells of that.
 */
static bool joined_again(const struct summary *s, size_t node)
{
    bool is = false;
    for (size_t i = 0; i < node && !is; i++)
        is = strcmp(s->nodes[i].name, s->nodes[node].name) == 0 && began_unseen(s, node);
    for (size_t i = 0; i < s->note_count && is; i++)
        is = !(is_of_node(s, &s->notes[i], node) && note_kind(s->notes[i].code) == NOTE_CLOCK_GAP);
    return is;
}

static void give(verdict_take_lack *take, void *context, struct verdict_lack l)
{
    if (l.count > 0)
        take(context, &l);
}

void verdict_each_lack(const struct summary *s, const struct experiment *e, bool over, verdict_take_lack *take,
                       void *context)
{
    const char *unended = over ? summary_property(s, RUNDB_UNENDED) : NULL;
    bool behind = summary_property_number(s, RUNDB_BEHIND) && !summary_property_number(s, RUNDB_FINISHED);
    give(take, context, (struct verdict_lack){LACK_LEFT_OUT, VERDICT_ANYWHERE, .count = s->left_out || s->untaken});
    give(take, context,
         (struct verdict_lack){LACK_UNENDED, VERDICT_ANYWHERE, .count = unended != NULL, .what = unended});
    for (uint32_t i = 0; e && i < e->node_count; i++)
        give(take, context,
             (struct verdict_lack){LACK_UNJOINED, VERDICT_ANYWHERE, .count = verdict_is_unjoined(s, e->nodes[i].name),
                                   .what = e->nodes[i].name});
    for (uint32_t i = 0; i < s->node_count; i++) {
        give(take, context,
             (struct verdict_lack){LACK_VANISHED, i, .count = over && s->nodes[i].open && !verdict_gave_up(s, i)});
        give(take, context, (struct verdict_lack){LACK_REJOINED, i, .count = joined_again(s, i)});
        give(take, context, (struct verdict_lack){LACK_UNOBSERVED, i, .count = s->nodes[i].unobserved});
    }
    for (size_t i = 0; i < s->process_count; i++) {
        const struct summary_process *p = &s->processes[i];
        give(take, context,
             (struct verdict_lack){LACK_UNKNOWN, p->node, .count = over && verdict_is_open(s, p), .process = p});
        give(take, context, (struct verdict_lack){LACK_LEFT, p->node, .count = p->state == PROCESS_LEFT, .process = p});
        give(take, context, (struct verdict_lack){LACK_UNOBSERVED, p->node, .count = p->unobserved, .process = p});
    }
    for (size_t i = 0; i < s->note_count; i++) {
        const struct summary_note *n = &s->notes[i];
        enum note_kind kind = note_kind(n->code);
        uint32_t node = n->node < s->node_count ? n->node : VERDICT_ANYWHERE;
        give(take, context,
             (struct verdict_lack){LACK_CLOCK_GAP, node, .count = kind == NOTE_CLOCK_GAP, .note = n, .what = n->code});
        give(take, context,
             (struct verdict_lack){LACK_UNCOUNTED, node, .count = kind == NOTE_UNCOUNTED, .note = n, .what = n->code});
    }
    give(take, context,
         (struct verdict_lack){LACK_UNCOUNTED, VERDICT_ANYWHERE, .count = behind, .what = "BEZEL-RUN-BEHIND"});
}

/* A run in whose verdict rows are doubted. */
struct doubted {
    struct verdict *v;
    const struct summary *s;
    const struct experiment *e;
};

/* Whether records of node `node` may not have been judged, by `l`. */
static bool is_uncertain_on(const struct doubted *d, const struct verdict_lack *l, uint32_t node)
{
    const struct summary_node *nodes = d->s->nodes;
    if (l->node == VERDICT_ANYWHERE)
        return l->is != LACK_UNJOINED; /* that node has no row */
    if (l->is == LACK_REJOINED)        /* lives before are as unsure of their ends */
        return node <= l->node && strcmp(nodes[l->node].name, nodes[node].name) == 0;
    return l->node == node || (l->is == LACK_UNOBSERVED && !l->process && may_be_of(d->s, d->e, l->node, node));
}

static void doubt(void *context, const struct verdict_lack *l)
{
    const struct doubted *d = context;
    for (size_t i = 0; VERDICT_DOUBTS >> l->is & 1 && i < d->s->limit_count; i++)
        if (is_uncertain_on(d, l, d->s->limits[i].node))
            verdict_doubt(&d->v->rows[i], VERDICT_LASTS >> l->is & 1);
}

void verdict_doubt_rows(struct verdict *v, const struct summary *s, const struct experiment *e)
{
    verdict_each_lack(s, NULL, v->run != RUN_RUNNING, doubt, &(struct doubted){v, s, e});
}
