// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/external/aspect_rules.h"

#include "sensor/external/external_internal.h"

#include <fnmatch.h>
#include <string.h>

static void drop_rule(struct aspect_rules *s, uint32_t i)
{
    memmove(&s->rules[i], &s->rules[i + 1], (s->count - i - 1) * sizeof *s->rules);
    s->count--;
}

int aspect_rules_add(struct aspect_rules *s, const char *pattern, enum segment_enable mode)
{
    size_t n = strlen(pattern);
    if (n == 0 || n > MESSAGE_NAME_MAX)
        return BEZEL_EINVAL;
    if (strcmp(pattern, "*") == 0)
        s->count = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (strcmp(s->rules[i].pattern, pattern) == 0)
            drop_rule(s, i--);
    if (s->count >= ASPECT_RULES_MAX)
        return BEZEL_EFULL;
    struct aspect_rule *rule = &s->rules[s->count++];
    memcpy(rule->pattern, pattern, n + 1);
    rule->mode = mode;
    return 0;
}

static const struct aspect_rule *find_rule(const struct aspect_rules *s, const char *name)
{
    for (uint32_t i = s->count; i-- > 0;)
        if (fnmatch(s->rules[i].pattern, name, 0) == 0)
            return &s->rules[i];
    return NULL;
}

enum segment_enable aspect_rules_mode(const struct aspect_rules *s, const char *name)
{
    const struct aspect_rule *rule = s->passing ? find_rule(s->passing, name) : NULL;
    if (!rule)
        rule = find_rule(s, name);
    return rule ? rule->mode : SEGMENT_RECORD;
}

enum segment_enable aspect_rules_wanted(const struct aspect_rules *s, const char *name)
{
    enum segment_enable mode = aspect_rules_mode(s, name);
    return mode == SEGMENT_RECORD && s->sheds && s->sheds(s->context, name) ? SEGMENT_COUNT : mode;
}

enum segment_enable aspect_rules_combine(enum segment_enable allowed, enum segment_enable wanted)
{
    return allowed == SEGMENT_RECORD || wanted == SEGMENT_DISABLED ? wanted : allowed;
}

void aspect_rules_apply(const struct external *x, struct external_process *p)
{
    enum segment_enable allowed = external_mode(x, p);
    struct segment *s = p->at->segment;
    const struct dict *d = p->at->dict;
    const struct aspect_rules *rules = p->role == ROLE_SUT ? x->options.rules : NULL;
    atomic_store_explicit(&s->mode, allowed, memory_order_relaxed); /* relaxed: late by a record is in time */
    for (uint32_t id = 1; id < RING_ASPECTS; id++) {
        bool declared = d && id <= d->aspect_count;
        if (!declared && allowed == SEGMENT_RECORD)
            continue; /* its writer may be declaring it now, with a first mode that is less */
        enum segment_enable wanted =
            declared && rules ? aspect_rules_wanted(rules, d->aspects[id - 1].name) : SEGMENT_RECORD;
        uint32_t word = aspect_rules_combine(allowed, wanted);
        if (p->wake_asked && word != SEGMENT_DISABLED)
            word |= BEZEL_WAKE;
        if (p->counter_left && word != SEGMENT_DISABLED)
            word |= BEZEL_LEAVE_COUNTER;
        atomic_store_explicit(&s->enable[id], word,
                              memory_order_release); /* Q0 release: pairs Q1, publishes `wake_bit` */
    }
}

void external_set_rules(struct external *x)
{
    for (uint32_t i = 0; i < x->process_count; i++)
        if (x->processes[i] && x->processes[i]->phase == EXTERNAL_LIVE)
            aspect_rules_apply(x, x->processes[i]);
}
