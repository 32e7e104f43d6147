// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/node/aspect_steering.h"

#include "mdr/message.h"
#include "sensor/external/notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_MAX = ASPECT_RULES_MAX * (MESSAGE_NAME_MAX + 4) }; /* of the file: a rule a line */
_Static_assert((int)KEPT_MAX <= (int)STATE_FILE_MAX, "all rules fit in the file");

static const char *const words[] = {[ASPECT_ON] = "on", [ASPECT_COUNT] = "count", [ASPECT_OFF] = "off"};
static const enum segment_enable modes[] = {
    [ASPECT_ON] = SEGMENT_RECORD, [ASPECT_COUNT] = SEGMENT_COUNT, [ASPECT_OFF] = SEGMENT_DISABLED};

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

/* Adds a rule for each of the patterns, separated by blanks. Returns 0 or an error, with *rules in disorder. */
static int add_patterns(struct aspect_rules *rules, const char *patterns, enum message_aspect_mode mode)
{
    char pattern[MESSAGE_PATTERNS_MAX + 1];
    do {
        size_t n = strcspn(patterns, " ");
        snprintf(pattern, sizeof pattern, "%.*s", (int)n, patterns);
        int err = experiment_pattern_ok(pattern) ? aspect_rules_add(rules, pattern, modes[mode]) : BEZEL_EINVAL;
        if (err)
            return err;
        patterns += n;
    } while (*patterns++ == ' ');
    return 0;
}

_Static_assert((int)MODE_ON == (int)ASPECT_ON && (int)MODE_COUNT == (int)ASPECT_COUNT &&
                   (int)MODE_OFF == (int)ASPECT_OFF,
               "the file's words are the message's");

int aspect_steering_add(struct aspect_rules *rules, const char *pattern, enum experiment_mode mode)
{
    return aspect_rules_add(rules, pattern, modes[mode]);
}

static void add_experiment(struct aspect_rules *rules, char *const *patterns, enum segment_enable mode)
{
    for (; patterns && *patterns; patterns++)
        (void)!aspect_rules_add(rules, *patterns,
                                mode); /* EXPERIMENT_PATTERNS_MAX of two kinds fit, and all are patterns */
}

_Static_assert(2 * (int)EXPERIMENT_PATTERNS_MAX < ASPECT_RULES_MAX && (int)EXPERIMENT_NAME_MAX == (int)MESSAGE_NAME_MAX,
               "all patterns of a file fit among the rules");

/* ---- The kept rules ---------------------------------------------------------------------------------------------- */

static void keep(const struct aspect_steering *s)
{
    char text[KEPT_MAX] = "";
    size_t n = 0;
    for (uint32_t i = 0; i < s->rules.count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%d %s\n", (int)s->rules.rules[i].mode,
                              s->rules.rules[i].pattern);
    state_file_write(&s->file, text);
}

/* Takes the rules that an earlier daemon of this run kept, up to the first line that is no rule. */
static void take_kept(struct aspect_steering *s)
{
    char *text = state_file_read(&s->file), pattern[MESSAGE_NAME_MAX + 1];
    int mode, length = 0;
    if (!text)
        return;
    s->rules.count = 0;
    for (const char *at = text; sscanf(at, "%d %63s%n", &mode, pattern, &length) == 2; at += length)
        if (mode < SEGMENT_DISABLED || mode > SEGMENT_COUNT || !experiment_pattern_ok(pattern) ||
            aspect_rules_add(&s->rules, pattern, (enum segment_enable)mode) != 0)
            break;
    free(text);
}

void aspect_steering_open(struct aspect_steering *s, const struct experiment *e, const char *dir, const uint8_t run[16])
{
    *s = (struct aspect_steering){.changes = 0};
    state_file_init(&s->file, dir, "aspects", run, "which aspects are to be recorded");
    add_experiment(&s->rules, e->sensing.count, SEGMENT_COUNT);
    add_experiment(&s->rules, e->sensing.off, SEGMENT_DISABLED);
    take_kept(s);
}

bool aspect_steering_blinds(const struct aspect_steering *s, const char *name)
{
    return aspect_rules_mode(&s->rules, name) == SEGMENT_DISABLED;
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

/* Whether copies of its rings hold records for which the window had no room. */
static bool is_behind(const struct external_process *p)
{
    for (uint32_t i = 0; i < p->at->ring_count; i++)
        if (p->at->rings[i].copy.ring && ring_waiting(&p->at->rings[i].copy) > 0)
            return true;
    return false;
}

void aspect_steering_snapshot(struct aspect_steering *s, struct external *x, int64_t now, struct message_reply *reply)
{
    uint32_t processes = 0, behind = 0;
    uint32_t records = external_snapshot(x, now);
    for (uint32_t i = 0; i < external_process_count(x); i++) {
        const struct external_process *p = external_process(x, i);
        if (!external_is_living(p) || p->at->when_full != SEGMENT_OVERWRITE)
            continue;
        processes++;
        behind += is_behind(p);
    }
    reply->answer = ANSWER_SAVED;
    reply->saved = (struct message_saved){.records = records, .processes = processes, .behind = behind};
    notes_record(x, NULL, now, "BEZEL-SAVED", "snapshot %u: %u record%s of %u process%s%s", ++s->snapshots, records,
                 records == 1 ? "" : "s", processes, processes == 1 ? "" : "es",
                 behind ? "; more of their records follow" : "");
}

/* How many aspects of living processes one of the patterns matches. */
static struct message_matched count_matches(const char *patterns, struct external *x)
{
    static struct aspect_rules any; /* one thread; too large for a stack */
    struct message_matched matched = {0};
    any.count = 0;
    (void)add_patterns(&any, patterns, ASPECT_OFF); /* they are among the rules already, so they are valid */
    for (uint32_t i = 0; i < external_process_count(x); i++) {
        const struct external_process *p = external_process(x, i);
        uint32_t before = matched.aspects;
        for (uint32_t id = 1; external_is_living(p) && p->at->dict && id <= p->at->dict->aspect_count; id++)
            matched.aspects += aspect_rules_mode(&any, p->at->dict->aspects[id - 1].name) == SEGMENT_DISABLED;
        matched.processes += matched.aspects > before;
    }
    return matched;
}

void aspect_steering_switch(struct aspect_steering *s, struct external *x, const struct message_command *c, int64_t now,
                            struct message_reply *reply)
{
    static struct aspect_rules rules; /* one thread; too large for a stack */
    rules = s->rules;
    int err = add_patterns(&rules, c->patterns, c->mode);
    if (err) {
        reply->answer = ANSWER_REFUSED;
        snprintf(reply->text, sizeof reply->text, "%s",
                 err == BEZEL_EFULL ? "too many rules on aspects: replace them all by one for '*'"
                                    : "one of the patterns is malformed: no aspect can match it");
        return;
    }
    s->rules = rules;
    keep(s);
    external_set_rules(x);
    reply->answer = ANSWER_ASPECTS;
    reply->matched = count_matches(c->patterns, x);
    notes_record(x, NULL, now, "BEZEL-STEERED", "change %u: aspects %s: %s", ++s->changes, words[c->mode], c->patterns);
}

/* ---- Triggers ---------------------------------------------------------------------------------------------------- */

void aspect_steering_pass(struct aspect_steering *s, struct external *x, const struct aspect_rules *rules)
{
    s->passing = *rules;
    s->rules.passing = &s->passing;
    external_set_rules(x);
}

bool aspect_steering_keep(struct aspect_steering *s, struct external *x, const struct experiment_rule *rules)
{
    static struct aspect_rules all; /* one thread; too large for a stack */
    all = s->rules;
    for (; rules && rules->pattern; rules++)
        if (aspect_steering_add(&all, rules->pattern, (enum experiment_mode)rules->value) != 0)
            return false;
    s->rules = all;
    keep(s);
    external_set_rules(x);
    return true;
}

uint32_t aspect_steering_matches(struct external *x, const char *pattern)
{
    return count_matches(pattern, x).aspects;
}
