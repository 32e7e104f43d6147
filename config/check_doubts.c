// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/check_own.h"

#include "base/units.h"
#include "config/findings.h"
#include "config/knobs.h"

#include <fnmatch.h>
#include <string.h>

static void doubt_unused_metrics(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "metrics"), e->metric_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        bool used = false;
        for (uint32_t j = 0; j < e->limit_count; j++)
            used = used || e->limits[j].metric == (int)i;
        if (!used)
            reader_doubt(r, t, "no limit reads this metric");
    }
}

/* The pattern of `patterns` that matches `name`, NULL where none does. */
static const char *find_match(char *const *patterns, const char *name)
{
    for (; patterns && *patterns; patterns++)
        if (fnmatch(*patterns, name, 0) == 0)
            return *patterns;
    return NULL;
}

static void doubt_blind_metrics(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "metrics"), e->metric_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_metric *m = &e->metrics[i];
        const char *match = m->aspect ? find_match(e->sensing.off, m->aspect) : NULL;
        if (e->sensing.when_full == WHEN_FULL_OVERWRITE && !experiment_attaches(e) && m->kind != METRIC_RATE) {
            reader_doubt(r, t, "is unknown: the rings of flight recorders ('when-full: overwrite') are not polled");
            continue;
        }
        if (!match && m->field && (match = find_match(e->sensing.count, m->aspect)))
            reader_doubt(r, tree_get(t, "of"),
                         "is unknown: %s in sensing.aspects.count leaves no records of this aspect",
                         findings_quote(match).s);
        else if (match)
            reader_doubt(r, tree_get(t, m->field ? "of" : "rate"),
                         "is unknown: %s in sensing.aspects.off switches this aspect off", findings_quote(match).s);
    }
}

static void doubt_polling(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *poll = tree_get(tree_get(root, "sensing"), "poll");
    const struct tree *period = tree_get(poll, "period"), *batch = tree_get(poll, "batch");
    if (e->sensing.mode == POLL_BUSY_WAIT && period)
        reader_doubt(r, period, "is not used in busy-wait mode");
    if (e->sensing.mode == POLL_BUSY_WAIT && e->sensing.doorbell)
        reader_doubt(r, tree_get(poll, "doorbell"), "is not used in busy-wait mode, which never sleeps");
    if (e->limit_count > 0 && e->sensing.doorbell)
        reader_doubt(r, tree_get(poll, "doorbell"), "has no effect: where limits are judged no node sleeps");
    if (e->sensing.forward == FORWARD_COLLECT && e->sensing.batch > 0)
        reader_doubt(r, batch, "is not used with 'forward: collect', which takes one record a poll");
}

/* Importance is for the agents of policies that come to rest, and for a budget. */
static void doubt_importance(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = tree_get(tree_get(tree_get(root, "sensing"), "aspects"), "importance");
    if (!t || !e->sensing.importance || !e->sensing.importance[0].pattern)
        return;
    if (!experiment_policy_moves(e->adapt.policy) || e->adapt.policy == POLICY_DPP)
        reader_doubt(r, t, "has no effect with policy %s; use elastic, dpp-band, integral or aimd",
                     experiment_policy_word((int)e->adapt.policy));
}

static void doubt_adapt(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *adapt = tree_get(root, "adapt"), *policy = tree_get(adapt, "policy"), *at;
    const struct tree *every = tree_get(adapt, "every");
    const struct experiment_limit *hold = check_first_hold(root, e, 0, &at);
    if (e->adapt.policy == POLICY_NONE && e->adapt.knob_count == 0) {
        if (e->adapt.by == ADAPT_BY_MANAGER)
            reader_doubt(r, tree_get(adapt, "by"), "with policy none there is nothing to decide, and no manager");
        if (hold)
            reader_doubt(r, policy, "with policy none nothing is adapted: 'hold' limits (line %u) are only judged",
                         hold->at.line);
        return;
    }
    if (!hold)
        reader_doubt(r, policy, "there is nothing to adapt to: no limit says 'hold'");
    hold = every ? check_first_hold(root, e, 2 * e->adapt.every, &at) : NULL;
    if (hold)
        reader_doubt(
            r, every,
            "adapt decides every %s, faster than half the window (%s) of metric %s, and sees the effect of a decision "
            "late: a shorter window or a longer adapt.every avoids swinging",
            units_exact_duration(e->adapt.every).s, units_exact_duration(e->metrics[hold->metric].window).s,
            findings_quote(e->metrics[hold->metric].name).s);
}

/* What is attached to may have chosen to overwrite; what is started does as the file says. */
static void doubt_snapshots(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "limits"), e->limit_count);
    bool may = e->sensing.when_full == WHEN_FULL_OVERWRITE || experiment_attaches(e);
    for (uint32_t i = 0; t && !may; t = t->next, i++)
        if (e->limits[i].snapshot > 0)
            reader_doubt(r, tree_get(t, "on-violation"),
                         "saves nothing: no process is a flight recorder (sensing.ring.when-full: overwrite)");
}

/* ---- Processes that are attached to ------------------------------------------------------------------------------ */

/* "'nav' (line 5)", "'nav' (line 5) and 2 more": those that are attached to; there is one. */
static void name_attached(const struct experiment *e, char *text, size_t size)
{
    const struct experiment_process *first = NULL;
    unsigned more = 0;
    for (uint32_t i = 0; i < e->process_count; i++) {
        if (!e->processes[i].attach)
            continue;
        more += first != NULL;
        first = first ? first : &e->processes[i];
    }
    int n = snprintf(text, size, "'%s' (line %u)", first ? first->name : "", first ? first->at.line : 0);
    if (more > 0)
        snprintf(text + n, size - (size_t)n, " and %u more", more);
}

/* Their rings are as their own environment had it when they started. */
static void doubt_ring(struct reader *r, const struct tree *t, const struct experiment *e, const char *variable)
{
    char names[EXPERIMENT_NAME_MAX + 64];
    if (!t)
        return;
    name_attached(e, names, sizeof names);
    reader_doubt(r, t,
                 "%s: processes that are attached to make their rings themselves, here %s; start them with %s=%s in "
                 "their environment",
                 experiment_starts(e) ? "applies to started processes only" : "has no effect", names, variable,
                 t->text);
}

/* Two entries of a node with one pattern: all go to the first. */
static void doubt_patterns(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "processes"), e->process_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_process *p = &e->processes[i], *q = e->processes;
        while (q < p && !(p->attach && q->attach && p->node == q->node && strcmp(p->attach, q->attach) == 0))
            q++;
        if (q < p)
            reader_doubt(r, tree_get(t, "attach"),
                         "is the pattern of process '%s' (line %u) too, which gets all that match", q->name,
                         q->at.line);
    }
}

/* Keys that have no effect on processes which Bezel does not start. */
static void doubt_attached(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *sensing = tree_get(root, "sensing"), *ring = tree_get(sensing, "ring");
    if (!experiment_attaches(e))
        return;
    doubt_ring(r, tree_get(ring, "records"), e, "BEZEL_RING_RECORDS");
    doubt_ring(r, tree_get(ring, "when-full"), e, "BEZEL_WHEN_FULL");
    doubt_patterns(r, root, e);
    if (tree_get(root, "grace") && !experiment_starts(e))
        reader_doubt(r, tree_get(root, "grace"), "has no effect: no process is started, and so none is ended");
    if (e->sensing.doorbell && e->sensing.mode == POLL_POLLING && e->limit_count == 0)
        reader_doubt(r, tree_get(tree_get(sensing, "poll"), "doorbell"),
                     "has no effect while a process lives that was there before bezeld, as one that is attached to may "
                     "be: it cannot wake its node, which goes on polling");
}

void check_doubt(struct reader *r, const struct tree *root, const struct experiment *e)
{
    doubt_unused_metrics(r, root, e);
    doubt_blind_metrics(r, root, e);
    doubt_polling(r, root, e);
    doubt_adapt(r, root, e);
    doubt_importance(r, root, e);
    doubt_snapshots(r, root, e);
    doubt_attached(r, root, e);
    knobs_doubt(r, root, e);
    check_doubt_fits(r, root, e);
}
