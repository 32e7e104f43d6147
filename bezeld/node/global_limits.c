// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/saturate.h"
#include "base/units.h"
#include "bezeld/node/node_internal.h"
#include "bezeld/node/own_trace.h"
#include "mdr/manage.h"
#include "resmgr/manager/manager.h"
#include "sensor/external/notes.h"

#include <math.h>
#include <string.h>

/*
 * Global limits (resmgr/manager/aggregate.h): this node sends its partials to the manager. If the manager has chosen it
 * as the reporter, it also records the judgements of all global limits.
 */

#define NODE_MISSING (2 * CLOCK_S) /* a node that is missing for so long, plus the longest window, gets a note */

enum { GAP_NOTES = 32 }; /* of times that were not judged; the timeline has all of them */

/* ---- Partials for the manager ------------------------------------------------------------------------------------ */

/* A partial that is known; of a quantile with its histogram, as far as there is room for it. */
static void add_histogram(const struct node *n, uint32_t limit, int64_t now, struct message_partials *parts,
                          struct message_partial *part)
{
    if (experiment_join_of(n->options.experiment, n->options.experiment->limits[limit].metric) != JOIN_HISTOGRAM)
        return;
    part->buckets = agent_histogram(n->agent, limit, now, parts->histograms + parts->histogram_bytes,
                                    MESSAGE_HISTOGRAMS_MAX - parts->histogram_bytes);
    parts->histogram_bytes += part->buckets * MESSAGE_BUCKET_BYTES;
    if (part->buckets == 0)
        *part = (struct message_partial){.limit = limit};
}

void global_limits_fill(const struct node *n, int64_t now, struct message_partials *parts)
{
    const struct experiment *e = n->options.experiment;
    *parts =
        (struct message_partials){.life = n->managed.leadership.life, .at = (uint64_t)now, .step = n->managed.steps};
    for (uint32_t i = 0; i < e->limit_count && n->managed.steps > 0; i++) {
        struct message_partial *part = &parts->list[parts->count];
        if (!e->limits[i].global)
            continue;
        *part = agent_partial(n->agent, i);
        if (part->state == PARTIAL_KNOWN)
            add_histogram(n, i, now, parts, part);
        parts->count++;
    }
}

/* ---- Recording judgements ---------------------------------------------------------------------------------------- */

static int64_t time_of(int64_t ago, int64_t now)
{
    return ago < 0 ? 0 : now > ago ? now - ago : 1;
}

static struct agent_limit limit_of(const struct message_judged *j, int64_t now)
{
    return (struct agent_limit){.state = j->state == MESSAGE_LIMIT_OPEN ? LIMIT_UNKNOWN : (enum limit_state)j->state,
                                .known = isfinite(j->value),
                                .value = j->value,
                                .slot = -1,
                                .worst = j->worst,
                                .settling = j->settling,
                                .held = j->held,
                                .violated = j->violated,
                                .unknown = j->unknown,
                                .last_violated = time_of(j->ago, now)};
}

static bool is_node_missing(const struct node *n)
{
    for (uint32_t i = 0; i < n->options.experiment->node_count; i++)
        if (n->judged.missing_since[i] < 0)
            return true;
    return false;
}

/*
 * Whether a limit that is unknown, and once was not, was not judged. Of one that the collector evaluates: it sent
 * nothing, or nothing recent, or had lost what it knew.
 */
static bool is_unjudged(const struct node *n, const struct message_judged *j)
{
    enum message_lack lack = n->judged.lack[j->limit];
    bool before = j->held + j->violated > 0;
    if (!experiment_limit_is_on_interval(n->options.experiment, &n->options.experiment->limits[j->limit]))
        return before && is_node_missing(n);
    return before && (lack == LACK_VALUES || lack == LACK_BEGIN || lack == LACK_RECENT);
}

/*
 * The time before judgement `j`, the one behind `was`, that was not judged; 0: none; -1: back to what was recorded
 * before, by whichever manager. A manager that knows the state now, and counts more unknown time than before, beside
 * violations that it counts as unknown since then, did not judge for that long. Nor did one that does not know the
 * state of a limit, as it once did, because a node has been missing for long, or the collector that evaluates it. What
 * is open is not judged from then on.
 */
static int64_t gap_before(struct node *n, const struct message_judged *was, const struct message_judged *j)
{
    bool is_first_of_all = n->judged.heard == 0 && n->judged.sequence == 1;
    int64_t withdrawn = was && j->violated < was->violated ? was->violated - j->violated : 0;
    int64_t grown = j->unknown - withdrawn - (was ? was->unknown : 0), *unknown = &n->judged.unknown[j->limit];
    if (!was) { /* the first judgement may have been late, after a gap that the manager knows */
        *unknown = 0;
        return is_first_of_all && grown > 0 ? grown : -1;
    }
    if (was->limit != j->limit || grown <= 0) {
        *unknown = 0;
        return 0;
    }
    if (j->state == MESSAGE_LIMIT_UNKNOWN) {
        *unknown += grown;
        if (!is_unjudged(n, j))
            return 0;
        grown = *unknown;
    }
    *unknown = 0;
    return grown;
}

/* Whether judgement `j`, behind `was`, judges anything: what it is about may wait for a node, or for the collector. */
static bool is_progress(const struct message_judged *was, const struct message_judged *j)
{
    return !was || was->limit != j->limit ||
           was->settling + was->held + was->violated + was->unknown != j->settling + j->held + j->violated + j->unknown;
}

enum { CAUSE_MAX = EXPERIMENT_NAME_MAX + 112 };

/* Why limit `i` was not judged for `gap` ns up to `now`. */
static void write_cause(const struct node *n, uint32_t i, int64_t gap, int64_t now, char text[CAUSE_MAX])
{
    const struct experiment *e = n->options.experiment;
    uint32_t late = n->judged.late[i];
    if (saturate_most(n->judged.pause[i], now - n->judged.heard) >= gap / 2)
        snprintf(text, CAUSE_MAX, "nothing came from bezel-resmgr, which was stopped, had no CPU, or was cut off");
    else if (late > 0)
        snprintf(
            text, CAUSE_MAX,
            "node %s was silent, or lacked a window: its bezeld was stopped, started again, had no CPU, or was cut off",
            e->nodes[late - 1].name);
    else if (experiment_limit_is_on_interval(e, &e->limits[i]))
        snprintf(text, CAUSE_MAX, "the collector sent no values: it was stopped, had no CPU, or was cut off");
    else
        snprintf(text, CAUSE_MAX, "bezel-resmgr was stopped, or had no CPU");
}

static void note_gap(struct node *n, uint32_t i, int64_t gap, bool goes_on, int64_t now)
{
    char cause[CAUSE_MAX];
    write_cause(n, i, gap, now, cause);
    if (n->judged.gap_notes < GAP_NOTES)
        n->judged.gap_notes +=
            notes_record(n->external, NULL, now, "BEZEL-LIMIT-GAP", "limit %s was not judged for %s%s: %s",
                         n->options.experiment->limits[i].text, units_duration(gap).s, goes_on ? " so far" : "", cause);
}

/*
 * For so long nobody has judged the limit, up to the end; 0: not for too long, or another node is the reporter by now:
 * the manager is heard, and sends no judgements.
 */
static int64_t gap_at_the_end(const struct node *n, const struct message_judged *j, int64_t now)
{
    const struct experiment *e = n->options.experiment;
    int64_t passed = now - n->judged.judged_at[j->limit], reach = agent_reach(e, &e->limits[j->limit]);
    bool is_known = j->state == MESSAGE_LIMIT_HELD || j->state == MESSAGE_LIMIT_VIOLATED;
    return is_known && passed > reach && n->managed.heard - n->judged.heard <= reach ? passed : 0;
}

/* The judgement at the end of the run, when silence of processes that ended is no violation. */
static struct agent_limit limit_at_the_end(const struct node *n, const struct message_judged *j, int64_t now)
{
    struct agent_limit l = limit_of(j, now);
    l.gap = gap_at_the_end(n, j, now);
    l.violated -= j->doubtful;
    l.unknown += j->doubtful + l.gap;
    l.unjudged = n->judged.unjudged[j->limit] + l.gap;
    l.worst = j->trusted_worst;
    l.last_violated = time_of(j->trusted_ago, now);
    if (l.gap > 0) {
        l.state = LIMIT_UNKNOWN;
        l.known = false;
    }
    return l;
}

static void record_limit(struct node *n, uint32_t i, const struct agent_limit *l, int64_t now)
{
    n->judged.recorded_at[i] = now;
    n->judged.worst[i] = l->worst;
    node_record_limit(n, i, l, n->judged.by.epoch);
    node_record_violated(n, i, l->violated > 0);
}

static void record(struct node *n, const struct message_judged *j, int64_t gap, int64_t now)
{
    uint32_t i = j->limit;
    struct agent_limit l = limit_of(j, now);
    bool goes_on = n->judged.in_gap[i];
    l.gap = gap;
    n->judged.in_gap[i] = gap > 0 && l.state == LIMIT_UNKNOWN;
    if (gap > agent_reach(n->options.experiment, &n->options.experiment->limits[i]) && !goes_on)
        note_gap(n, i, gap, n->judged.in_gap[i], now);
    /* Of what nobody told this node any part may not have been judged; who was told counts the rest (summary_node.c).
     */
    l.unjudged = n->judged.unjudged[i] = gap < 0 ? j->unknown : n->judged.unjudged[i] + gap;
    bool is_worse =
        isfinite(l.worst) && l.worst != n->judged.worst[i]; /* its manager may be killed before it says more */
    bool changed = l.state != n->limits.recorded[i].state || n->judged.recorded_at[i] == 0 || is_worse;
    node_record_observation(n, i, &l, now);
    if (changed || now - n->judged.recorded_at[i] >= CLOCK_S)
        record_limit(n, i, &l, now);
    bool late = experiment_limit_is_on_interval(n->options.experiment, &n->options.experiment->limits[i]);
    node_triggers_judged(n, i, &l, late ? now - n->judged.age : now);
}

static int64_t longest_window(const struct experiment *e)
{
    int64_t longest = 0;
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].global && experiment_limit_window(e, &e->limits[i]) > longest)
            longest = experiment_limit_window(e, &e->limits[i]);
    return longest;
}

static void note_missing(struct node *n, const uint64_t missing[MESSAGE_MISSING_WORDS], int64_t now)
{
    const struct experiment *e = n->options.experiment;
    for (uint32_t i = 0; i < e->node_count; i++) {
        int64_t *since = &n->judged.missing_since[i];
        if (!(missing[i / 64] >> i % 64 & 1)) {
            *since = 0;
            continue;
        }
        for (uint32_t l = 0; l < e->limit_count; l++)
            n->judged.late[l] = n->judged.late[l] ? n->judged.late[l] : i + 1;
        if (*since == 0)
            *since = now;
        else if (*since > 0 && now - *since >= NODE_MISSING + longest_window(e)) {
            *since = -1; /* the note is recorded */
            notes_record(
                n->external, NULL, now, "BEZEL-GLOBAL-MISSING",
                "no data from node %s for %s: global limits stay unknown until it reports, unless the other nodes "
                "decide them",
                e->nodes[i].name, units_duration(NODE_MISSING + longest_window(e)).s);
        }
    }
}

static const char *text_of(enum message_lack lack)
{
    static const char *const texts[] = {
        [LACK_NOTHING] = "",
        [LACK_VALUES] =
            "nothing comes from the collector, which evaluates it: it was killed, stopped or cut off, or is slow",
        [LACK_RECENT] =
            "the newest record in its value is older than adapt.max-age: records reach the collector too late",
        [LACK_BEGIN] = "the collector was started less than a window ago, and what it had evaluated is lost",
        [LACK_CLOCKS] = "the clock of a node is not known well enough: see the report's clocks",
        [LACK_PRECISION] = "its value is closer to the bound than it is certain",
        [LACK_RECORDS] = "no two records that belong together came within the window",
        [LACK_LOST] = "records were lost, or forgotten, that may have been of its value",
    };
    return texts[lack];
}

static void note_lack(struct node *n, uint32_t limit, enum message_lack lack, int64_t now)
{
    int64_t *since = &n->judged.lack_since[limit];
    if (lack == LACK_NOTHING || lack != n->judged.lack[limit])
        *since = lack == LACK_NOTHING ? 0 : now;
    else if (*since > 0 && now - *since >= NODE_MISSING) {
        *since = -1; /* the note is recorded */
        notes_record(n->external, NULL, now, "BEZEL-LIMIT-UNKNOWN", "limit %s is unknown: %s",
                     n->options.experiment->limits[limit].text, text_of(lack));
    }
    n->judged.lack[limit] = lack;
}

void global_limits_lack(struct node *n, const struct message_loop *loop, int64_t now)
{
    const struct experiment *e = n->options.experiment;
    n->judged.age = loop->limit >= 0 && loop->sent > 0 && loop->sent < now ? loop->sent : 0;
    for (uint32_t i = 0; i < loop->count; i++)
        if (loop->lacking[i].limit < e->limit_count)
            note_lack(n, loop->lacking[i].limit, loop->lacking[i].lack, now);
}

/* ---- Judgements of the manager ----------------------------------------------------------------------------------- */

/* Judgements of a replaced manager, and repeated ones, are refused. */
static bool is_newer(const struct node *n, const struct message_judgement *j)
{
    const struct node_judged *last = &n->judged;
    if (j->leadership.epoch < n->managed.leadership.holder.epoch || j->leadership.epoch < last->by.epoch ||
        j->leadership.epoch == 0)
        return false;
    if (j->leadership.epoch > last->by.epoch)
        return true;
    return j->leadership.holder == last->by.holder && j->sequence > last->sequence;
}

bool global_limits_receive(struct node *n, const struct message_judgement *j, int64_t now)
{
    const struct experiment *e = n->options.experiment;
    struct node_judged *judged = &n->judged;
    if (!is_newer(n, j)) {
        judged->refused++;
        return false;
    }
    if (j->leadership.epoch != judged->by.epoch) {
        memset(judged->recorded_at, 0, sizeof judged->recorded_at);
        memset(judged->unjudged, 0, sizeof judged->unjudged);
        memset(judged->unknown, 0, sizeof judged->unknown);
        memset(judged->in_gap, 0, sizeof judged->in_gap);
        judged->count = 0;
    }
    uint32_t before = j->sequence == judged->sequence + 1 ? judged->count : 0, count = 0;
    judged->by = j->leadership;
    judged->sequence = j->sequence;
    judged->last_received = now;
    note_missing(n, j->missing, now);
    for (uint32_t i = 0; i < j->count; i++) {
        const struct message_judged *of = &j->list[i];
        if (of->limit >= e->limit_count || !e->limits[of->limit].global)
            continue;
        const struct message_judged *was = count < before ? &judged->list[count] : NULL; /* each has the same list */
        if (is_progress(was, of)) {
            record(n, of, gap_before(n, was, of), now);
            judged->judged_at[of->limit] = now;
            judged->late[of->limit] = 0;
            judged->pause[of->limit] = 0;
        } else {
            judged->pause[of->limit] = saturate_most(judged->pause[of->limit], now - judged->heard);
        }
        judged->list[count++] = *of;
    }
    judged->count = count;
    judged->heard = now;
    return true;
}

void global_limits_end(struct node *n, int64_t now)
{
    for (uint32_t i = 0; i < n->judged.count; i++) {
        struct message_judged j = n->judged.list[i];
        j.ago += j.ago < 0 ? 0 : now - n->judged.last_received;
        j.trusted_ago += j.trusted_ago < 0 ? 0 : now - n->judged.last_received;
        struct agent_limit l = limit_at_the_end(n, &j, now);
        if (l.gap > 0) {
            note_gap(n, j.limit, l.gap, false, now);
            node_record_observation(n, j.limit, &l, now);
        }
        record_limit(n, j.limit, &l, now);
    }
    n->judged.count = 0;
}
