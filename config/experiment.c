// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/experiment.h"

#include "config/schema.h"

#include "base/file.h"
#include "base/units.h"
#include "config/check_internal.h"
#include "config/collectors.h"
#include "config/fields_internal.h"
#include "config/starting.h"
#include "config/triggers.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

const char *experiment_policy_word(int policy)
{
#define WORD(NAME, name, word, abilities) word,
    static const char *const words[] = {EXPERIMENT_POLICIES(WORD)};
#undef WORD
    return policy >= 0 && policy < EXPERIMENT_POLICY_COUNT ? words[policy] : "?";
}

bool experiment_is_managed(const struct experiment *e)
{
    return e->adapt.by == ADAPT_BY_MANAGER &&
           (experiment_policy_can(e->adapt.policy, POLICY_ADAPTS) || e->adapt.knob_count > 0);
}

bool experiment_has_global(const struct experiment *e)
{
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].global)
            return true;
    return false;
}

bool experiment_has_manager(const struct experiment *e)
{
    return experiment_is_managed(e) || experiment_has_global(e);
}

bool experiment_policy_can(enum experiment_policy policy, enum policy_ability ability)
{
#define ABILITIES(NAME, name, word, abilities) [POLICY_##NAME] = abilities,
    static const unsigned char abilities[EXPERIMENT_POLICY_COUNT] = {EXPERIMENT_POLICIES(ABILITIES)};
#undef ABILITIES
    return abilities[policy] & ability;
}

static int read_document(const char *text, size_t n, struct tree **document, struct experiment_diagnostics *found)
{
    *found = (struct experiment_diagnostics){0};
    if (n <= EXPERIMENT_FILE_MAX)
        return tree_read(text, n, document, found);
    int err = experiment_report(found, false, (struct experiment_place){1, 1}, "", "the file is larger than %d bytes",
                                EXPERIMENT_FILE_MAX);
    return err ? err : BEZEL_EMALFORMED;
}

int experiment_read(const char *text, size_t n, struct experiment **out, struct experiment_diagnostics *found)
{
    struct reader r = {.found = found};
    struct tree *document;
    int err = read_document(text, n, &document, found);
    if (err)
        return err;
    struct experiment *e = malloc(sizeof *e);
    if (e) {
        *e = schema_defaults;
        schema_read_map(&r, document->first, schema_experiment, e);
        experiment_check(&r, document->first, e);
    }
    tree_free(document);
    if (!e || r.out_of_memory || found->errors > 0) {
        experiment_free(e);
        return !e || r.out_of_memory ? BEZEL_ENOMEM : BEZEL_EMALFORMED;
    }
    *out = e;
    return 0;
}

static void free_process(struct experiment_process *p)
{
    free(p->name);
    fields_free_texts(p->argv);
    free(p->attach);
    free(p->directory);
    fields_free_texts(p->environment);
    starting_free(p);
}

/* Metrics and limits, and the knobs that serve these. */
static void free_judged(struct experiment *e)
{
    for (uint32_t i = 0; i < e->metric_count; i++) {
        free(e->metrics[i].name);
        free(e->metrics[i].aspect);
        free(e->metrics[i].field);
        free(e->metrics[i].where);
        fields_free_texts(e->metrics[i].operands);
        free(e->metrics[i].interval.match);
        fields_free_texts(e->metrics[i].interval.aspects);
        for (int at = 0; at < EXPERIMENT_STAGES_MAX; at++)
            free(e->metrics[i].interval.processes[at]);
    }
    for (uint32_t i = 0; i < e->limit_count; i++)
        free(e->limits[i].text);
    for (uint32_t i = 0; i < e->adapt.knob_count; i++)
        free(e->adapt.knobs[i].name);
    free(e->metrics);
    free(e->limits);
    free(e->adapt.knobs);
    e->metrics = NULL;
    e->limits = NULL;
    e->adapt.knobs = NULL;
    e->metric_count = e->limit_count = e->adapt.knob_count = 0;
}

void experiment_free(struct experiment *e)
{
    if (!e)
        return;
    for (uint32_t i = 0; i < e->node_count; i++) {
        free(e->nodes[i].name);
        free(e->nodes[i].dir);
        free(e->nodes[i].address);
        free(e->nodes[i].key);
    }
    for (uint32_t i = 0; i < e->process_count; i++)
        free_process(&e->processes[i]);
    free_judged(e);
    triggers_free(e); /* other metrics and limits leave them: they are what the run did */
    fields_free_rules(e->sensing.expire);
    fields_free_rules(e->sensing.keep);
    fields_free_rules(e->sensing.importance);
    free(e->sensing.spool_dir);
    fields_free_texts(e->sensing.count);
    fields_free_texts(e->sensing.off);
    collectors_free(e);
    free(e->nodes);
    free(e->processes);
    free(e->store.listen);
    free(e->store.serve);
    free(e->store.metrics);
    free(e->store.push);
    free(e->store.engine);
    free(e->store.keys);
    free(e->store.key);
    free(e->control_key);
    free(e->collector.node);
    free(e->collector.directory);
    free(e->collector.control);
    free(e->name);
    free(e);
}

enum { KEYS_MAX = 32 };

/* The keys of the file, of which only these two are read. */
static void judged_fields(struct schema_field fields[KEYS_MAX])
{
    size_t n = 0;
    for (const struct schema_field *f = schema_experiment; f->key && n + 1 < KEYS_MAX; f++) {
        bool read = strcmp(f->key, "metrics") == 0 || strcmp(f->key, "limits") == 0;
        fields[n++] = read ? *f : (struct schema_field){.key = f->key, .kind = SCHEMA_CHECKED};
    }
    fields[n] = (struct schema_field){0};
}

int experiment_read_judged(const char *text, size_t n, struct experiment *e, struct experiment_diagnostics *found)
{
    struct schema_field fields[KEYS_MAX];
    struct reader r = {.found = found};
    struct tree *document;
    int err = read_document(text, n, &document, found);
    if (err)
        return err;
    free_judged(e);
    e->adapt.policy = POLICY_NONE;
    judged_fields(fields);
    schema_read_map(&r, document->first, fields, e);
    if (document->first->kind == TREE_MAP) {
        check_metrics(&r, document->first, e);
        check_limits(&r, document->first, e);
        check_global(&r, document->first, e);
    }
    if (found->errors == 0 && !r.out_of_memory)
        check_drop_sensor_cpu(e);
    tree_free(document);
    return r.out_of_memory ? BEZEL_ENOMEM : found->errors > 0 ? BEZEL_EMALFORMED : 0;
}

bool experiment_is_remote(const struct experiment_node *node)
{
    return node->address && strncmp(node->address, "tcp://", strlen("tcp://")) == 0;
}

bool experiment_name_ok(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n <= EXPERIMENT_NAME_MAX && strspn(name, schema_name_characters) == n && name[0] != '.' &&
           name[0] != '-';
}

/* Programs that execute another one: options of theirs that have a value in the next word, and words before the
 * command. */
static const struct {
    const char *name, *valued;
    size_t words;
} prefixes[] = {{"taskset", "", 1}, {"chrt", "TPD", 1}, {"nice", "n", 0},  {"ionice", "cn", 0}, {"timeout", "ks", 1},
                {"env", "uC", 0},   {"nohup", "", 0},   {"setsid", "", 0}, {"stdbuf", "ioe", 0}};

/* How many words of `argv` are such a program with its options; 0: it is none. */
static size_t prefix_words(char *const argv[])
{
    size_t i = 0, n = 1;
    while (i < sizeof prefixes / sizeof *prefixes && strcmp(file_name(argv[0]), prefixes[i].name) != 0)
        i++;
    if (i == sizeof prefixes / sizeof *prefixes)
        return 0;
    for (; argv[n] && argv[n][0] == '-'; n++)
        if (argv[n][1] != '-' && argv[n][1] && !argv[n][2] && strchr(prefixes[i].valued, argv[n][1]) && argv[n + 1])
            n++;
    for (size_t w = 0; w < prefixes[i].words && argv[n]; w++)
        n++;
    while (argv[n] && strchr(argv[n], '=')) /* env NAME=VALUE */
        n++;
    return argv[n] ? n : 0;
}

void experiment_name_of_command(char *const argv[], char name[EXPERIMENT_NAME_MAX + 1])
{
    for (size_t n; (n = prefix_words(argv)) > 0;)
        argv += n;
    snprintf(name, EXPERIMENT_NAME_MAX + 1, "%s", file_name(argv[0]));
    for (char *c = name; *c; c++)
        if (!strchr(schema_name_characters, *c) || (c == name && (*c == '.' || *c == '-')))
            *c = '_';
    if (!name[0])
        snprintf(name, EXPERIMENT_NAME_MAX + 1, "command");
}

/* The end of the set that begins with '[' at `p`; NULL if it, or a range in it, is empty, or it has no end. */
static const char *skip_set(const char *p)
{
    static const char inside[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-";
    p += p[1] == '!' ? 2 : 1;
    size_t n = strspn(p, inside);
    for (size_t i = 0; i + 2 < n; i += p[i + 1] == '-' ? 3 : 1)
        if (p[i + 1] == '-' && p[i] > p[i + 2])
            return NULL;
    return n > 0 && p[n] == ']' ? p + n + 1 : NULL;
}

bool experiment_pattern_ok(const char *pattern)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:*?";
    size_t n = strlen(pattern);
    const char *p = pattern;
    while (p && *p) {
        p += strspn(p, plain);
        if (*p == '[')
            p = skip_set(p);
        else if (*p)
            return false;
    }
    return p && n > 0 && n <= EXPERIMENT_NAME_MAX;
}

bool experiment_is_instance(const struct experiment_process *p, const char *name)
{
    size_t n = strlen(p->name);
    uint64_t number;
    const char *why;
    if (strncmp(name, p->name, n) != 0)
        return false;
    if (name[n] == '\0')
        return true;
    return p->instances > 1 && name[n] == '.' && units_read_count(name + n + 1, &number, &why) == 0 && number >= 1 &&
           number <= p->instances;
}

bool experiment_starts(const struct experiment *e)
{
    for (uint32_t i = 0; i < e->process_count; i++)
        if (e->processes[i].argv)
            return true;
    return false;
}

bool experiment_attaches(const struct experiment *e)
{
    for (uint32_t i = 0; i < e->process_count; i++)
        if (e->processes[i].attach)
            return true;
    return false;
}

bool experiment_attaches_on(const struct experiment *e, uint32_t node)
{
    for (uint32_t i = 0; i < e->process_count; i++)
        if (e->processes[i].node == node && e->processes[i].attach)
            return true;
    return false;
}

void experiment_instance_name(const struct experiment_process *p, uint32_t i, char *name, size_t size)
{
    if (p->instances > 1)
        snprintf(name, size, "%s.%u", p->name, i + 1);
    else
        snprintf(name, size, "%s", p->name);
}

const char *experiment_pattern_of(char *const *patterns, const char *name)
{
    for (; patterns && *patterns; patterns++)
        if (fnmatch(*patterns, name, 0) == 0)
            return *patterns;
    return NULL;
}

uint32_t experiment_importance(const struct experiment_rule *rules, const char *name)
{
    int64_t weight = 1;
    for (; rules && rules->pattern; rules++)
        if (fnmatch(rules->pattern, name, 0) == 0)
            weight = rules->value;
    return (uint32_t)weight;
}
