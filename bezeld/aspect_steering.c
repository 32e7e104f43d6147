// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/steering.h"

#include "base/file.h"
#include "base/log.h"
#include "sensor/notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT_MAX = 16 + STEER_RULES * (MESSAGE_NAME_MAX + 4) }; /* of the file: the run, then a rule a line */

static const char *const words[] = {[ASPECT_ON] = "on", [ASPECT_COUNT] = "count", [ASPECT_OFF] = "off"};
static const enum segment_enable modes[] = {
    [ASPECT_ON] = SEGMENT_RECORD, [ASPECT_COUNT] = SEGMENT_COUNT, [ASPECT_OFF] = SEGMENT_DISABLED};

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

/* Adds a rule for each of the patterns, separated by blanks. Returns 0 or an error, with *rules in disorder. */
static int add_patterns(struct steer *rules, const char *patterns, enum message_aspect_mode mode)
{
    char pattern[MESSAGE_PATTERNS_MAX + 1];
    do {
        size_t n = strcspn(patterns, " ");
        snprintf(pattern, sizeof pattern, "%.*s", (int)n, patterns);
        int err = experiment_pattern_ok(pattern) ? steer_add(rules, pattern, modes[mode]) : BEZEL_EINVAL;
        if (err)
            return err;
        patterns += n;
    } while (*patterns++ == ' ');
    return 0;
}

static void add_experiment(struct steer *rules, char *const *patterns, enum segment_enable mode)
{
    for (; patterns && *patterns; patterns++)
        (void)!steer_add(rules, *patterns, mode); /* EXPERIMENT_PATTERNS_MAX of two kinds fit, and all are patterns */
}

_Static_assert(2 * (int)EXPERIMENT_PATTERNS_MAX < STEER_RULES && (int)EXPERIMENT_NAME_MAX == (int)MESSAGE_NAME_MAX,
               "what a file may say is a rule");

/* ---- What is kept ------------------------------------------------------------------------------------------------ */

static void keep(const struct steering *s)
{
    char text[KEPT_MAX];
    memcpy(text, s->run, sizeof s->run);
    size_t n = sizeof s->run;
    for (uint32_t i = 0; i < s->rules.count; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%d %s\n", (int)s->rules.rules[i].mode,
                              s->rules.rules[i].pattern);
    if (file_replace(s->path, text, n) != 0)
        log_warn("BEZEL-STEERING", "%s cannot be written: %s: a restart of this daemon forgets what is recorded",
                 s->path, strerror(errno));
}

/* Takes the rules as a daemon of this run kept them; what is not a rule ends the reading. */
static void take_kept(struct steering *s)
{
    char *text, pattern[MESSAGE_NAME_MAX + 1];
    size_t n;
    int mode, length = 0;
    if (file_read_plain(s->path, 1, KEPT_MAX, &text, &n) != 0)
        return;
    if (n >= sizeof s->run && memcmp(text, s->run, sizeof s->run) == 0) {
        s->rules.count = 0;
        for (const char *at = text + sizeof s->run; sscanf(at, "%d %63s%n", &mode, pattern, &length) == 2; at += length)
            if (mode < SEGMENT_DISABLED || mode > SEGMENT_COUNT || !experiment_pattern_ok(pattern) ||
                steer_add(&s->rules, pattern, (enum segment_enable)mode) != 0)
                break;
    }
    free(text);
}

void steering_open(struct steering *s, const struct experiment *e, const char *dir, const uint8_t run[16])
{
    *s = (struct steering){.orders = 0};
    memcpy(s->run, run, sizeof s->run);
    snprintf(s->path, sizeof s->path, "%s/aspects", dir);
    add_experiment(&s->rules, e->sensing.count, SEGMENT_COUNT);
    add_experiment(&s->rules, e->sensing.off, SEGMENT_DISABLED);
    take_kept(s);
}

void steering_close(struct steering *s)
{
    unlink(s->path);
}

bool steering_blinds(const struct steering *s, const char *name)
{
    return steer_mode(&s->rules, name) == SEGMENT_DISABLED;
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

static bool is_living(const struct external_process *p)
{
    return p && p->role == ROLE_SUT && p->phase == EXTERNAL_LIVE;
}

/* Whether there is more in copies of rings than the window took. */
static bool is_behind(const struct external_process *p)
{
    for (uint32_t i = 0; i < p->at->ring_count; i++)
        if (p->at->rings[i].copy.ring && ring_waiting(&p->at->rings[i].copy) > 0)
            return true;
    return false;
}

static void snapshot(struct steering *s, struct external *x, int64_t now, struct message_reply *reply)
{
    int64_t processes = 0, behind = 0;
    uint32_t records = external_snapshot(x, now);
    for (uint32_t i = 0; i < external_process_count(x); i++) {
        const struct external_process *p = external_process(x, i);
        if (!is_living(p) || p->at->when_full != SEGMENT_OVERWRITE)
            continue;
        processes++;
        behind += is_behind(p);
    }
    message_reply_add(reply, "saved_records", records);
    message_reply_add(reply, "saved_processes", processes);
    message_reply_add(reply, "behind_processes", behind);
    notes_tell(x, NULL, now, "BEZEL-SAVED", "snapshot %u: %u record%s of %lld process%s%s", ++s->snapshots, records,
               records == 1 ? "" : "s", (long long)processes, processes == 1 ? "" : "es",
               behind ? ", and more behind them" : "");
}

/* How many aspects of living processes one of the patterns matches. */
static void count_matches(const char *patterns, struct external *x, struct message_reply *reply)
{
    static struct steer any; /* one thread; too large for a stack */
    int64_t aspects = 0, processes = 0;
    any.count = 0;
    (void)add_patterns(&any, patterns, ASPECT_OFF); /* they stand among the rules already */
    for (uint32_t i = 0; i < external_process_count(x); i++) {
        const struct external_process *p = external_process(x, i);
        int64_t before = aspects;
        for (uint32_t id = 1; is_living(p) && p->at->dict && id <= p->at->dict->aspect_count; id++)
            aspects += steer_mode(&any, p->at->dict->aspects[id - 1].name) == SEGMENT_DISABLED;
        processes += aspects > before;
    }
    message_reply_add(reply, "matched_aspects", aspects);
    message_reply_add(reply, "matched_processes", processes);
}

static void refuse(struct message_reply *reply, const char *why)
{
    snprintf(reply->text, sizeof reply->text, "%s", why);
    message_reply_add(reply, "refused", 1);
}

static void switch_aspects(struct steering *s, struct external *x, const struct message_command *c, int64_t now,
                           struct message_reply *reply)
{
    static struct steer rules; /* one thread; too large for a stack */
    rules = s->rules;
    int err = add_patterns(&rules, c->patterns, c->mode);
    if (err) {
        refuse(reply, err == BEZEL_EFULL ? "there are too many rules on aspects: start anew with '*'"
                                         : "what is to match no aspect is no pattern");
        return;
    }
    s->rules = rules;
    keep(s);
    external_steer(x);
    count_matches(c->patterns, x, reply);
    notes_tell(x, NULL, now, "BEZEL-STEERED", "order %u, aspects %s: %s", ++s->orders, words[c->mode], c->patterns);
}

void steering_answer(struct steering *s, struct external *x, const struct message_command *command, int64_t now,
                     struct message_reply *reply)
{
    if (command->verb == VERB_SNAPSHOT)
        snapshot(s, x, now, reply);
    else if (command->verb == VERB_ASPECTS)
        switch_aspects(s, x, command, now, reply);
}
