// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* On which nodes processes recorded that nobody observed: what they did there is in no books. */
#include "run/verdict/verdict_internal.h"

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
    return at == node || (is_launched_here(e, s->nodes[at].name) && is_launched_here(e, s->nodes[node].name));
}

/* Whether program `g` is none of the processes that were observed on its node. */
static bool is_unknown(const struct summary *s, const struct summary_program *g)
{
    bool known = false;
    for (size_t i = 0; i < s->process_count; i++)
        known = known || (s->processes[i].pid == g->pid && strcmp(s->nodes[s->processes[i].node].name, g->node) == 0);
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

bool verdict_joined_again(const struct summary *s, size_t node)
{
    bool is = false;
    for (size_t i = 0; i < s->node_count; i++)
        is = is ||
             (i != node && strcmp(s->nodes[i].name, s->nodes[node].name) == 0 && began_unseen(s, i > node ? i : node));
    for (size_t i = 0; i < s->note_count && is; i++)
        is = !verdict_is_clock_gap(s, i);
    return is;
}

bool verdict_is_uncertain_on(const struct verdict *v, const struct summary *s, const struct experiment *e,
                             uint32_t node)
{
    bool uncertain = (v->run != RUN_RUNNING && s->nodes[node].open) || verdict_joined_again(s, node);
    for (size_t i = 0; i < s->node_count; i++)
        uncertain = uncertain || (s->nodes[i].unobserved > 0 && may_be_of(s, e, i, node));
    for (size_t i = 0; i < s->process_count; i++)
        uncertain = uncertain || (s->processes[i].node == node &&
                                  (s->processes[i].unobserved > 0 || s->processes[i].state == PROCESS_LEFT));
    for (size_t i = 0; i < s->note_count; i++)
        uncertain =
            uncertain || (s->notes[i].node == node && (verdict_is_clock_gap(s, i) || verdict_is_uncounted(s, i)));
    return uncertain;
}
