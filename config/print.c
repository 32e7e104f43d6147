// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "base/units.h"
#include "config/aspect_keep.h"
#include "config/collectors.h"
#include "config/edges.h"
#include "config/intervals.h"
#include "config/knobs.h"
#include "config/real_time.h"
#include "config/starting.h"
#include "config/triggers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Length of the UTF-8 character at the start of `s`, which is well-formed; its code point in *code. */
static int decode(const unsigned char *s, uint32_t *code)
{
    int length = s[0] < 0x80 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    *code = length == 1 ? s[0] : s[0] & (0x7fu >> length);
    for (int i = 1; i < length; i++)
        *code = *code << 6 | (s[i] & 0x3fu);
    return length;
}

/* Characters that YAML rejects, or reads as a line break, inside double quotes. */
static bool needs_escape(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 || code == 0xfeff ||
           code == 0xfffe || code == 0xffff;
}

static bool is_simple(const char *text)
{
    static const char simple[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/.-";
    return text[0] != '\0' && text[0] != '-' && text[strspn(text, simple)] == '\0';
}

void schema_print_text(const char *text, FILE *out)
{
    if (is_simple(text)) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (const unsigned char *s = (const unsigned char *)text; *s != '\0';) {
        uint32_t code;
        int length = decode(s, &code);
        if (needs_escape(code))
            fprintf(out, "\\u%04x", code);
        else
            fprintf(out, "%s%.*s", code == '"' || code == '\\' ? "\\" : "", length, (const char *)s);
        s += length;
    }
    fputc('"', out);
}

static void print_field(const char *key, const char *text, FILE *out)
{
    fprintf(out, "    %s: ", key);
    schema_print_text(text, out);
    fputc('\n', out);
}

void schema_print_char(const void *from, FILE *out)
{
    schema_print_text(*(char *const *)from, out);
}

void schema_print_list(const void *from, FILE *out)
{
    char *const *texts = *(char *const *const *)from;
    fputc('[', out);
    for (size_t i = 0; texts && texts[i]; i++) {
        fputs(i > 0 ? ", " : "", out);
        schema_print_text(texts[i], out);
    }
    fputc(']', out);
}

/* ---- By the table ------------------------------------------------------------------------------------------------ */

static size_t size_of(const struct schema_field *f)
{
    static const size_t sizes[] = {[SCHEMA_DURATION] = sizeof(int64_t), [SCHEMA_DURATION_RANGE] = 2 * sizeof(int64_t),
                                   [SCHEMA_SIZE] = sizeof(uint64_t),    [SCHEMA_COUNT] = sizeof(uint32_t),
                                   [SCHEMA_SHARE] = sizeof(double),     [SCHEMA_WORD] = sizeof(int),
                                   [SCHEMA_FLAG] = sizeof(bool),        [SCHEMA_NAME] = sizeof(char *)};
    return f->kind != SCHEMA_OWN ? sizes[f->kind] : f->size ? f->size : sizeof(char *);
}

static void print_value(const struct schema_field *f, const void *from, FILE *out)
{
    const int64_t *ns = from;
    switch (f->kind) {
    case SCHEMA_DURATION:
        fputs(units_exact_duration(*ns).s, out);
        break;
    case SCHEMA_DURATION_RANGE:
        fprintf(out, "%s .. %s", units_exact_duration(ns[0]).s, units_exact_duration(ns[1]).s);
        break;
    case SCHEMA_SIZE:
        fputs(units_exact_size(*(const uint64_t *)from).s, out);
        break;
    case SCHEMA_COUNT:
        fprintf(out, "%" PRIu32, *(const uint32_t *)from);
        break;
    case SCHEMA_SHARE:
        fprintf(out, "%s %%", units_exact_number(*(const double *)from * 100).s);
        break;
    case SCHEMA_WORD:
        fputs(schema_word(f->words, *(const int *)from), out);
        break;
    case SCHEMA_FLAG:
        fputs(schema_word(f->words, *(const bool *)from), out);
        break;
    case SCHEMA_NAME:
        fputs(*(char *const *)from, out);
        break;
    default:
        f->print(from, out);
    }
}

static bool is_printed(const struct schema_field *f, const void *object, const void *defaults)
{
    if ((f->kind > SCHEMA_NAME && f->kind != SCHEMA_MAP && !f->print) || (f->is_used && !f->is_used(object)))
        return false;
    if (f->kind != SCHEMA_MAP)
        return !f->quiet ||
               memcmp((const char *)object + f->offset, (const char *)defaults + f->offset, size_of(f)) != 0;
    for (const struct schema_field *in = f->fields; f->quiet && in->key; in++)
        if (is_printed(in, object, defaults))
            return true;
    return !f->quiet;
}

bool schema_print_map(const struct schema_field *fields, const void *object, const void *defaults, bool lines,
                      FILE *out)
{
    bool any = false;
    for (const struct schema_field *f = fields; f->key; f++) {
        if (!is_printed(f, object, defaults))
            continue;
        fprintf(out, "%s%s: ", lines ? "    " : any ? ", " : "", f->key);
        any = true;
        if (f->kind == SCHEMA_MAP) {
            fputc('{', out);
            schema_print_map(f->fields, object, defaults, false, out);
            fputc('}', out);
        } else
            print_value(f, (const char *)object + f->offset, out);
        fputs(lines ? "\n" : "", out);
    }
    return any;
}

/* ---- What has a form of its own ---------------------------------------------------------------------------------- */

static void print_process(const struct experiment *e, const struct experiment_process *p, FILE *out)
{
    fprintf(out, "  - name: %s\n    node: %s\n", p->name, e->nodes[p->node].name);
    if (p->attach)
        print_field("attach", p->attach, out);
    else
        schema_print_map(schema_process + 2 /* behind name and node */, p, &schema_default_process, true, out);
}

enum rule_value { RULE_DURATION, RULE_WEIGHT, RULE_KEEP };

static void print_rules(const struct experiment_rule *rules, enum rule_value value, FILE *out)
{
    fputc('{', out);
    for (const struct experiment_rule *each = rules; each && each->pattern; each++) {
        fputs(each > rules ? ", " : "", out);
        schema_print_text(each->pattern, out);
        if (value == RULE_DURATION)
            fprintf(out, ": %s", units_exact_duration(each->value).s);
        else if (value == RULE_KEEP)
            fprintf(out, ": %s", aspect_keep_words[each->value].word);
        else
            fprintf(out, ": %" PRId64, each->value);
    }
    fputc('}', out);
}

/*
 * With attached processes, a ring key in the file draws a warning. A key with its default value, which the file may not
 * have had, is therefore printed as a comment.
 */
static void print_ring(const struct experiment *e, FILE *out)
{
    const struct experiment_sensing *s = &e->sensing, *ours = &schema_defaults.sensing;
    bool attaches = experiment_attaches(e);
    char texts[3][48];
    const bool comments[] = {attaches && s->ring_records == ours->ring_records,
                             attaches && s->ring_threads == ours->ring_threads,
                             attaches && s->when_full == ours->when_full};
    snprintf(texts[0], sizeof texts[0], "records: %u", s->ring_records);
    snprintf(texts[1], sizeof texts[1], "threads: %u", s->ring_threads);
    snprintf(texts[2], sizeof texts[2], "when-full: %s", schema_word(schema_when_fulls, (int)s->when_full));
    bool none = comments[0] && comments[1] && comments[2], first = true;
    fputs(none ? "  # ring: {" : "  ring: {", out);
    for (size_t i = 0; i < 3; i++)
        if (none || !comments[i]) {
            fprintf(out, "%s%s", first ? "" : ", ", texts[i]);
            first = false;
        }
    fputs("}", out);
    first = true;
    for (size_t i = 0; i < 3 && !none; i++)
        if (comments[i]) {
            fprintf(out, "%s%s", first ? " # " : ", ", texts[i]);
            first = false;
        }
    fputs("\n", out);
}

static void print_section(const char *key, const struct schema_field *fields, const struct experiment *e, FILE *out)
{
    fprintf(out, "%s: {", key);
    schema_print_map(fields, e, &schema_defaults, false, out);
    fputs("}\n", out);
}

static void print_sensing(const struct experiment *e, FILE *out)
{
    const struct experiment_sensing *s = &e->sensing;
    fputs("sensing:\n", out);
    print_ring(e, out);
    print_section("  poll", schema_poll, e, out);
    if (s->period_quiet > s->period)
        fprintf(out, "  # poll.period: %s, up to %s while little is recorded\n", units_exact_duration(s->period).s,
                units_exact_duration(s->period_quiet).s);
    print_section("  forward", schema_forward, e, out);
    fprintf(out, "  window: %s\n", units_exact_size(s->window_bytes).s);
    if (s->spool_bytes) {
        fprintf(out, "  spool: {size: %s, dir: ", units_exact_size(s->spool_bytes).s);
        schema_print_text(s->spool_dir ? s->spool_dir : EXPERIMENT_SPOOL_DIR, out);
        fputs("}\n", out);
    } else
        fputs("  # spool: none\n", out);
    fputs("  aspects: {count: ", out);
    schema_print_list(&s->count, out);
    fputs(", off: ", out);
    schema_print_list(&s->off, out);
    fputs(", importance: ", out);
    print_rules(s->importance, RULE_WEIGHT, out);
    fputs("}\n", out);
    fputs("  expire: ", out);
    print_rules(s->expire, RULE_DURATION, out);
    fputs("\n  keep: ", out);
    print_rules(s->keep, RULE_KEEP, out);
    fputc('\n', out);
    print_section("  real-time", real_time_fields, e, out);
    if (s->sampled_unasked) /* said in the file it could cost more */
        fprintf(out, "  # samplers: scheduling, every %s or less often: up to 0.2 %% of a CPU\n",
                units_exact_duration(s->sampler[EXPERIMENT_SAMPLER_SCHEDULING]).s);
    else
        print_section("  samplers", schema_samplers, e, out);
}

static void print_operands(const struct experiment_metric *m, FILE *out)
{
    fprintf(out, "%s: ", experiment_metric_word(m->kind));
    schema_print_list(&m->operands, out);
}

static void print_metric(const struct experiment_metric *m, FILE *out)
{
    const char *value = m->field ? m->field : experiment_arrivals_word(m->arrivals);
    fprintf(out, "  %s: {", m->name);
    if (m->kind == METRIC_INTERVAL)
        intervals_print(m, out);
    else if (m->operands)
        print_operands(m, out);
    else if (!experiment_metric_is_built_in(m->kind)) {
        fprintf(out, "%s: ", experiment_metric_word(m->kind));
        schema_print_text(value ? value : m->aspect, out);
        fputs(", ", out);
    }
    if (value) {
        fputs("of: ", out);
        schema_print_text(m->aspect, out);
        fputs(", ", out);
    }
    if (m->kind == METRIC_HISTOGRAM)
        edges_print(&m->edges, out);
    schema_print_map(schema_metric, m, &schema_default_metric, false, out);
    fputs("}\n", out);
}

/* As text, for free(); NULL: no memory. */
static char *metric_text(const struct experiment_metric *m)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out)
        print_metric(m, out);
    return file_text_end(out, &text) == 0 ? text : NULL;
}

bool experiment_metric_is_same(const struct experiment_metric *a, const struct experiment_metric *b)
{
    char *of_a = metric_text(a), *of_b = metric_text(b);
    bool same = of_a && of_b && strcmp(of_a, of_b) == 0;
    free(of_a);
    free(of_b);
    return same;
}

/* The window of sensor_cpu, where a limit is on it; else nothing reads it. */
static void print_sensor_cpu(const struct experiment *e, FILE *out)
{
    for (uint32_t i = 0; i < e->limit_count; i++)
        if (e->limits[i].metric == LIMIT_ON_SENSOR_CPU) {
            fprintf(out, "  sensor_cpu: {window: %s, per: node}\n", units_exact_duration(e->sensor_cpu_window).s);
            return;
        }
}

static bool has_metrics(const struct experiment *e)
{
    bool found = e->metric_count > 0;
    for (uint32_t i = 0; i < e->limit_count; i++)
        found = found || e->limits[i].metric == LIMIT_ON_SENSOR_CPU;
    return found;
}

static void print_limit(const struct experiment_limit *l, FILE *out)
{
    fprintf(out, "  - {%s: ", l->kind == LIMIT_HOLD ? "hold" : "expect");
    schema_print_text(l->text, out);
    fputs(", ", out);
    schema_print_map(schema_limit, l, &schema_default_limit, false, out);
    fputs("}\n", out);
}

/* `only`: as below. The bezeld of a node needs to know where it sends. */
static void print_node(const struct experiment *e, const struct experiment_node *n, int64_t only, FILE *out)
{
    fprintf(out, "  %s: {", n->name);
    bool any = schema_print_map(schema_node, n, &schema_default_node, false, out);
    if (e->inner_count > 0 && only < 0)
        collectors_print_parents(e, &n->parents, any ? ", " : "", out);
    else if (e->inner_count > 0)
        collectors_print_ways(e, (uint32_t)only, (uint32_t)only, any ? ", parents: [" : "parents: [", out);
    fputs("}\n", out);
}

static void print_store(const struct experiment *e, bool listen, FILE *out)
{
    const struct experiment_store *s = &e->store;
    fputs("store:\n  listen: ", out);
    schema_print_text(s->listen && listen ? s->listen : "ipc", out);
    fprintf(out, "\n  sync: %s\n",
            s->sync > 0 ? units_exact_duration(s->sync).s : schema_word(schema_syncs, (int)s->sync));
    struct units_text keep = store_keep_print(&s->keep);
    fprintf(out, "%s%s\n", keep.s[0] ? "  keep: " : "  # keep: everything", keep.s);
    const struct {
        const char *key, *text;
    } passed[] = {{"serve", s->serve}, {"metrics", s->metrics}, {"push", s->push}, {"engine", s->engine}};
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (passed[i].text) {
            fprintf(out, "  %s: ", passed[i].key);
            schema_print_text(passed[i].text, out);
            fputc('\n', out);
        }
    if (s->keys) {
        fputs("  keys: ", out);
        schema_print_text(s->keys, out);
        fprintf(out, "\n  key: %s\n", s->key);
    } else
        fputs("  # keys: none\n", out);
    fputs("  limits: {", out);
    schema_print_map(schema_store_limits, e, &schema_defaults, false, out);
    fprintf(out, "}%s\n", s->limits.rate ? "" : " # unbounded");
}

/* `only`: the node that is printed in full; of the other nodes only names are printed. -1: all nodes in full. */
static int print(const struct experiment *e, int64_t only, FILE *out)
{
    fprintf(out, "experiment: %s\n", e->name);
    fprintf(out, "duration: %s%s\n", units_exact_duration(e->duration).s,
            e->duration == 0 ? " # until the processes end" : "");
    if (experiment_starts(e) || e->grace != schema_defaults.grace)
        fprintf(out, "grace: %s\n", units_exact_duration(e->grace).s);
    if (e->silence > 0)
        fprintf(out, "silence: %s\n", units_exact_duration(e->silence).s);
    fputs("nodes:\n", out);
    for (uint32_t i = 0; i < e->node_count; i++)
        if (only < 0 || only == i)
            print_node(e, &e->nodes[i], only, out);
        else {
            fprintf(out, "  %s: {", e->nodes[i].name);
            collectors_print_ways(e, i, (uint32_t)only, "parents: [", out);
            fputs("}\n", out);
        }
    fputs("processes:\n", out);
    for (uint32_t i = 0; i < e->process_count; i++)
        if (only < 0 || only == e->processes[i].node)
            print_process(e, &e->processes[i], out);
        else
            fprintf(out, "  - {name: %s, node: %s, command: [\"-\"]}\n", e->processes[i].name,
                    e->nodes[e->processes[i].node].name);
    print_sensing(e, out);
    fputs(has_metrics(e) ? "metrics:\n" : "metrics: {}\n", out);
    print_sensor_cpu(e, out);
    for (uint32_t i = 0; i < e->metric_count; i++)
        print_metric(&e->metrics[i], out);
    fputs(e->limit_count > 0 ? "limits:\n" : "limits: []\n", out);
    for (uint32_t i = 0; i < e->limit_count; i++)
        print_limit(&e->limits[i], out);
    triggers_print(e, out);
    fputs("adapt: {", out);
    schema_print_map(schema_adapt, e, &schema_defaults, false, out);
    fputs(", knobs: [", out);
    knobs_print(e, out);
    fputs("]}\n", out);
    /* A node that sends to inner collectors may be unable to reach the root: it is told where they are. */
    print_store(e, only < 0 || e->inner_count == 0 || only == experiment_collector_node(e), out);
    if ((e->collector.node || e->collector.clock.by) && (only < 0 || only == experiment_collector_node(e)))
        print_section("collector", schema_collector, e, out);
    collectors_print(e, only, out);
    print_section("order", schema_order, e, out); /* the collector gets a node's part */
    if (e->control_key && (only < 0 || experiment_is_remote(&e->nodes[only])))
        fprintf(out, "control: {key: %s}\n", e->control_key);
    return ferror(out) ? BEZEL_ESYS : 0;
}

int experiment_print(const struct experiment *e, FILE *out)
{
    return print(e, -1, out);
}

int experiment_part_text(const struct experiment *e, uint32_t node, char **text, size_t *n)
{
    FILE *out = open_memstream(text, n);
    int err = out ? print(e, node, out) : 0;
    int end = file_text_end(out, text);
    return err ? err : end;
}
