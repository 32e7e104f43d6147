// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* All keys of the file, and their defaults. */
#include "config/fields_internal.h"

#include "base/clock.h"
#include "base/units.h"
#include "config/collectors.h"
#include "config/edges.h"
#include "config/intervals.h"
#include "config/knobs.h"
#include "config/operands.h"
#include "config/order_settings.h"
#include "config/real_time.h"
#include "config/starting.h"
#include "config/triggers.h"

#include <string.h>

#define IN(type, member) offsetof(struct type, member)

static const struct schema_word outputs[] = {
    {"file", OUTPUT_FILE, false}, {"terminal", OUTPUT_TERMINAL, false}, {"none", OUTPUT_NONE, false}, {NULL, 0, false}};
const struct schema_word schema_when_fulls[] = {
    {"discard", WHEN_FULL_DISCARD, false}, {"overwrite", WHEN_FULL_OVERWRITE, false}, {NULL, 0, false}};
static const struct schema_word modes[] = {
    {"polling", POLL_POLLING, false}, {"busy-wait", POLL_BUSY_WAIT, false}, {NULL, 0, false}};
static const struct schema_word forwards[] = {
    {"batch", FORWARD_BATCH, false}, {"collect", FORWARD_COLLECT, false}, {NULL, 0, false}};
const struct schema_word schema_yes_or_no[] = {{"no", false, false}, {"yes", true, false}, {NULL, 0, false}};
static const struct schema_word schema_windows[] = {
    {"sliding", false, false}, {"tumbling", true, false}, {NULL, 0, false}};
static const struct schema_word scopes[] = {{"process", true, false}, {"node", false, false}, {NULL, 0, false}};
static const struct schema_word judged[] = {
    {"metric", false, false}, {"global", true, false}, {"whole", true, true}, {NULL, 0, false}};
const struct schema_word schema_syncs[] = {
    {"never", EXPERIMENT_SYNC_NEVER, false}, {"always", 0, false}, {NULL, 0, false}};
static const struct schema_word switches_stores[] = {
    {"snapshots", SWITCHES_STORE_SNAPSHOTS, false}, {"all", SWITCHES_STORE_ALL, false}, {NULL, 0, false}};
#define POLICY_WORD(NAME, name, word, abilities) {word, POLICY_##NAME, false},
static const struct schema_word policies[] = {EXPERIMENT_POLICIES(POLICY_WORD){NULL, 0, false}};
#undef POLICY_WORD

static const struct schema_word deciders[] = {
    {"node", ADAPT_BY_NODE, false}, {"manager", ADAPT_BY_MANAGER, false}, {NULL, 0, false}};

static const struct schema_word buffers[] = {
    {"miso", ORDER_MISO, false}, {"siso", ORDER_SISO, false}, {NULL, 0, false}};

static const struct schema_word keepers[] = {
    {"ptp", CLOCK_KEPT_BY_PTP, false}, {"chrony", CLOCK_KEPT_BY_CHRONY, false}, {NULL, 0, false}};

/* The map `clock` of a node: which service keeps its wall clock. check.c says when `bound` is needed. */
#define CLOCK_FIELDS(type, member)                                                                                     \
    {                                                                                                                  \
        {.key = "kept-by",                                                                                             \
         .kind = SCHEMA_WORD,                                                                                          \
         .offset = IN(type, member.by),                                                                                \
         .words = keepers,                                                                                             \
         .required = true,                                                                                             \
         .note = "ptp or chrony",                                                                                      \
         .quiet = true},                                                                                               \
            {.key = "bound",                                                                                           \
             .kind = SCHEMA_DURATION,                                                                                  \
             .offset = IN(type, member.bound),                                                                         \
             .min = 1,                                                                                                 \
             .max = CLOCK_WALL_BOUND_MAX,                                                                              \
             .quiet = true},                                                                                           \
            {0},                                                                                                       \
    }
static const struct schema_field node_clock[] = CLOCK_FIELDS(experiment_node, clock);
static const struct schema_field collector_clock[] = CLOCK_FIELDS(experiment, collector.clock);

static bool has_address(const void *node)
{
    return ((const struct experiment_node *)node)->address;
}

/* "local" overrides an inventory that knows the node, on whatever machine the printed file is read. */
static void print_address(const void *from, FILE *out)
{
    const char *address = *(const char *const *)from;
    schema_print_text(address ? address : "local", out);
}

static void print_on_loss(const void *from, FILE *out)
{
    const struct experiment_loss *loss = from;
    if (loss->action == ON_LOSS_WAIT)
        fprintf(out, "wait %s", units_exact_duration(loss->wait).s);
    else
        fputs(loss->action == ON_LOSS_STOP ? "stop" : "continue", out);
}

const struct schema_field schema_node[] = {
    {SCHEMA_ROW_OWN("dir", IN(experiment_node, dir), fields_read_dir), .print = schema_print_char, .quiet = true},
    {SCHEMA_ROW_OWN("address", IN(experiment_node, address), fields_read_address), .print = print_address},
    {.key = "key", .kind = SCHEMA_NAME, .offset = IN(experiment_node, key), .quiet = true},
    {SCHEMA_ROW_OWN("on-loss", IN(experiment_node, on_loss), fields_read_on_loss), .print = print_on_loss,
     .is_used = has_address},
    {.key = "clock", .kind = SCHEMA_MAP, .fields = node_clock, .quiet = true},
    {.key = "parents", .kind = SCHEMA_CHECKED, .shape = SCHEMA_IS_LIST},
    {0},
};

static bool restarts(const void *process)
{
    return ((const struct experiment_process *)process)->restart == RESTART_ON_FAILURE;
}

/* A line for each variable. */
static void print_environment(const void *from, FILE *out)
{
    char *const *entries = *(char *const *const *)from;
    if (!entries[0])
        fputs("{}", out);
    for (; *entries; entries++) {
        const char *value = strchr(*entries, '=');
        fprintf(out, "\n      %.*s: ", (int)(value - *entries), *entries);
        schema_print_text(value + 1, out);
    }
}

const struct schema_field schema_process[] = {
    {.key = "name",
     .kind = SCHEMA_NAME,
     .offset = IN(experiment_process, name),
     .required = true,
     .note = "a name for the process"},
    {.key = "node", .kind = SCHEMA_CHECKED},
    {SCHEMA_ROW_OWN("command", IN(experiment_process, argv), fields_read_command), .print = schema_print_list,
     .shape = SCHEMA_IS_TEXT_OR_LIST},
    {SCHEMA_ROW_OWN("attach", IN(experiment_process, attach), fields_read_attach)},
    {SCHEMA_ROW_RANGE("instances", SCHEMA_COUNT, IN(experiment_process, instances), 1, EXPERIMENT_INSTANCES_MAX)},
    {SCHEMA_ROW_OWN("directory", IN(experiment_process, directory), fields_read_directory), .print = schema_print_char,
     .quiet = true},
    {SCHEMA_ROW_OWN("environment", IN(experiment_process, environment), fields_read_environment),
     .print = print_environment, .quiet = true, .shape = SCHEMA_IS_MAP},
    {SCHEMA_ROW_WORDS("output", SCHEMA_WORD, IN(experiment_process, output), outputs)},
    {SCHEMA_ROW_OWN("after", IN(experiment_process, after), starting_read_after), .print = schema_print_list,
     .quiet = true, .shape = SCHEMA_IS_LIST},
    {.key = "ready", .kind = SCHEMA_MAP, .fields = starting_ready_fields, .quiet = true},
    {SCHEMA_ROW_WORDS("restart", SCHEMA_WORD, IN(experiment_process, restart), starting_restarts)},
    {SCHEMA_ROW_RANGE("restarts", SCHEMA_COUNT, IN(experiment_process, restarts), 1, 1000), .is_used = restarts},
    {SCHEMA_ROW_RANGE("restart-pause", SCHEMA_DURATION, IN(experiment_process, restart_pause), 0, 3600 * CLOCK_S),
     .is_used = restarts},
    {SCHEMA_ROW_WORDS("on-exit", SCHEMA_WORD, IN(experiment_process, on_exit), starting_exits)},
    {SCHEMA_ROW_WORDS("plain", SCHEMA_FLAG, IN(experiment_process, plain), schema_yes_or_no), .quiet = true},
    {.key = "limits", .kind = SCHEMA_MAP, .fields = starting_limits_fields},
    {0},
};

static const struct schema_field ring_fields[] = {
    {SCHEMA_ROW_RANGE("records", SCHEMA_COUNT, IN(experiment, sensing.ring_records), 64, 1 << 20)},
    {SCHEMA_ROW_RANGE("threads", SCHEMA_COUNT, IN(experiment, sensing.ring_threads), 1, EXPERIMENT_RING_THREADS_MAX)},
    {SCHEMA_ROW_WORDS("when-full", SCHEMA_WORD, IN(experiment, sensing.when_full), schema_when_fulls)},
    {0},
};

/* A period with busy-wait draws a warning, so the default one is not printed; nor one that may lengthen. */
static bool period_is_used(const void *experiment)
{
    const struct experiment_sensing *s = &((const struct experiment *)experiment)->sensing;
    bool is_open = s->mode == POLL_BUSY_WAIT || s->period_quiet > s->period;
    return !is_open || s->period != schema_defaults.sensing.period;
}

const struct schema_field schema_poll[] = {
    {SCHEMA_ROW_WORDS("mode", SCHEMA_WORD, IN(experiment, sensing.mode), modes)},
    {SCHEMA_ROW_RANGE("period", SCHEMA_DURATION, IN(experiment, sensing.period), CLOCK_US, 10 * CLOCK_S),
     .is_used = period_is_used},
    {SCHEMA_ROW_WORDS("forward", SCHEMA_WORD, IN(experiment, sensing.forward), forwards),
     .note = "a map belongs to sensing.forward, beside 'poll'"},
    {SCHEMA_ROW_RANGE("batch", SCHEMA_COUNT, IN(experiment, sensing.batch), 0, EXPERIMENT_BATCH_MAX)},
    {SCHEMA_ROW_WORDS("doorbell", SCHEMA_WORD, IN(experiment, sensing.doorbell), schema_yes_or_no)},
    {0},
};

const struct schema_field schema_forward[] = {
    {SCHEMA_ROW_RANGE("accumulate", SCHEMA_COUNT, IN(experiment, sensing.accumulate), 1, EXPERIMENT_BATCH_MAX)},
    {SCHEMA_ROW_RANGE("or", SCHEMA_DURATION, IN(experiment, sensing.accumulate_or), CLOCK_US, 10 * CLOCK_S)},
    {0},
};

static const struct schema_field aspect_fields[] = {
    {SCHEMA_ROW_OWN("count", IN(experiment, sensing.count), fields_read_patterns), .shape = SCHEMA_IS_LIST},
    {SCHEMA_ROW_OWN("off", IN(experiment, sensing.off), fields_read_patterns), .shape = SCHEMA_IS_LIST},
    {SCHEMA_ROW_OWN("importance", IN(experiment, sensing.importance), fields_read_importance), .shape = SCHEMA_IS_MAP},
    {0},
};

static const struct schema_field spool_fields[] = {
    {SCHEMA_ROW_RANGE("size", SCHEMA_SIZE, IN(experiment, sensing.spool_bytes), UNITS_MIB, UNITS_GIB * 1024)},
    {SCHEMA_ROW_OWN("dir", IN(experiment, sensing.spool_dir), fields_read_spool_dir)},
    {0},
};

#define SAMPLER(name, which)                                                                                           \
    {                                                                                                                  \
        .key = (name), .kind = SCHEMA_DURATION, .offset = offsetof(struct experiment, sensing.sampler[which]),         \
        .min = CLOCK_MS, .max = 3600 * CLOCK_S, .quiet = true                                                          \
    }

/* Of the object `sensing`. */
const struct schema_field schema_switches[] = {
    {SCHEMA_ROW_WORDS("store", SCHEMA_WORD, IN(experiment_sensing, switches.store), switches_stores)},
    {.key = "budget", .kind = SCHEMA_SHARE, .offset = IN(experiment_sensing, switches.budget)},
    {SCHEMA_ROW_RANGE("period", SCHEMA_DURATION, IN(experiment_sensing, switches.period), CLOCK_MS, CLOCK_S)},
    {0},
};

static bool samples_switches(const void *experiment)
{
    return ((const struct experiment *)experiment)->sensing.sampler[EXPERIMENT_SAMPLER_SWITCHES] != 0;
}

/* In the order of enum experiment_sampler. */
const struct schema_field schema_samplers[] = {
    SAMPLER("cpu", EXPERIMENT_SAMPLER_CPU),
    SAMPLER("memory", EXPERIMENT_SAMPLER_MEMORY),
    SAMPLER("network", EXPERIMENT_SAMPLER_NETWORK),
    SAMPLER("disk", EXPERIMENT_SAMPLER_DISK),
    SAMPLER("pressure", EXPERIMENT_SAMPLER_PRESSURE),
    SAMPLER("temperature", EXPERIMENT_SAMPLER_TEMPERATURE),
    SAMPLER("frequency", EXPERIMENT_SAMPLER_FREQUENCY),
    SAMPLER("processes", EXPERIMENT_SAMPLER_PROCESSES),
    SAMPLER("perf", EXPERIMENT_SAMPLER_PERF),
    SAMPLER("interrupts", EXPERIMENT_SAMPLER_INTERRUPTS),
    SAMPLER("scheduling", EXPERIMENT_SAMPLER_SCHEDULING),
    {SCHEMA_ROW_OWN("switches", IN(experiment, sensing), fields_read_switches), .print = fields_print_switches,
     .fields = schema_switches, .shape = SCHEMA_IS_TEXT_OR_MAP, .is_used = samples_switches},
    {0},
};

_Static_assert(sizeof schema_samplers / sizeof *schema_samplers == EXPERIMENT_SAMPLERS + 1, "one key for each sampler");

static const struct schema_field sensing_fields[] = {
    {.key = "ring", .kind = SCHEMA_MAP, .fields = ring_fields},
    {.key = "poll", .kind = SCHEMA_MAP, .fields = schema_poll},
    {.key = "forward", .kind = SCHEMA_MAP, .fields = schema_forward},
    {SCHEMA_ROW_RANGE("window", SCHEMA_SIZE, IN(experiment, sensing.window_bytes), UNITS_MIB, UNITS_GIB)},
    {.key = "spool", .kind = SCHEMA_MAP, .fields = spool_fields},
    {.key = "aspects", .kind = SCHEMA_MAP, .fields = aspect_fields},
    {SCHEMA_ROW_OWN("expire", IN(experiment, sensing.expire), fields_read_expire), .shape = SCHEMA_IS_MAP},
    {SCHEMA_ROW_OWN("keep", IN(experiment, sensing.keep), fields_read_keep_rules), .shape = SCHEMA_IS_MAP},
    {.key = "real-time", .kind = SCHEMA_MAP, .fields = real_time_fields},
    {.key = "samplers", .kind = SCHEMA_MAP, .fields = schema_samplers},
    {0},
};

static bool has_period(const void *metric)
{
    return ((const struct experiment_metric *)metric)->period > 0;
}

static bool has_window(const void *metric)
{
    const struct experiment_metric *m = metric;
    return !m->operands && m->kind != METRIC_HISTOGRAM;
}

static bool tumbles(const void *metric)
{
    return ((const struct experiment_metric *)metric)->tumbles;
}

static bool is_quantile(const void *metric)
{
    return ((const struct experiment_metric *)metric)->kind == METRIC_QUANTILE;
}

static bool is_interval(const void *metric)
{
    return ((const struct experiment_metric *)metric)->kind == METRIC_INTERVAL;
}

/* An interval has one value in all where the file does not say `per`. */
static bool is_by_place(const void *metric)
{
    if (((const struct experiment_metric *)metric)->operands)
        return false;
    return !is_interval(metric) || ((const struct experiment_metric *)metric)->interval.by_end;
}

const struct schema_field schema_metric[] = {
    {SCHEMA_ROW_OWN("rate", IN(experiment_metric, aspect), fields_read_aspect)},
    {SCHEMA_ROW_OWN("mean", IN(experiment_metric, field), fields_read_statistic)},
    {SCHEMA_ROW_OWN("min", IN(experiment_metric, field), fields_read_statistic)},
    {SCHEMA_ROW_OWN("max", IN(experiment_metric, field), fields_read_statistic)},
    {SCHEMA_ROW_OWN("last", IN(experiment_metric, field), fields_read_statistic)},
    {SCHEMA_ROW_OWN("first", IN(experiment_metric, field), fields_read_statistic)},
    {SCHEMA_ROW_OWN("quantile", IN(experiment_metric, field), fields_read_statistic)},
    {SCHEMA_ROW_OWN("count", IN(experiment_metric, aspect), fields_read_aspect)},
    {SCHEMA_ROW_OWN("percent", IN(experiment_metric, aspect), fields_read_aspect)},
    {SCHEMA_ROW_OWN("time-mean", IN(experiment_metric, field), fields_read_statistic)},
    {SCHEMA_ROW_OWN("misses", IN(experiment_metric, aspect), fields_read_aspect)},
    {SCHEMA_ROW_OWN("histogram", IN(experiment_metric, field), fields_read_statistic)},
    {SCHEMA_ROW_OWN("edges", IN(experiment_metric, edges), edges_read), .shape = SCHEMA_IS_LIST},
    {SCHEMA_ROW_OWN("ratio", IN(experiment_metric, operands), operands_read), .shape = SCHEMA_IS_LIST},
    {SCHEMA_ROW_OWN("difference", IN(experiment_metric, operands), operands_read), .shape = SCHEMA_IS_LIST},
    {SCHEMA_ROW_OWN("of", IN(experiment_metric, aspect), fields_read_aspect)},
    {SCHEMA_ROW_OWN("where", IN(experiment_metric, where), fields_read_where), .print = schema_print_char,
     .quiet = true},
    {.key = "share", .kind = SCHEMA_SHARE, .offset = IN(experiment_metric, share), .is_used = is_quantile},
    {SCHEMA_ROW_RANGE("period", SCHEMA_DURATION, IN(experiment_metric, period), CLOCK_US, 3600 * CLOCK_S),
     .is_used = has_period},
    {SCHEMA_ROW_RANGE("window", SCHEMA_DURATION, IN(experiment_metric, window), 10 * CLOCK_MS, 3600 * CLOCK_S),
     .is_used = has_window},
    {SCHEMA_ROW_WORDS("windows", SCHEMA_FLAG, IN(experiment_metric, tumbles), schema_windows), .is_used = tumbles},
    {SCHEMA_ROW_WORDS("per", SCHEMA_FLAG, IN(experiment_metric, per_process), scopes), .is_used = is_by_place},
    {SCHEMA_ROW_OWN("interval", IN(experiment_metric, interval), intervals_read_aspects), .shape = SCHEMA_IS_LIST},
    {SCHEMA_ROW_OWN("match", IN(experiment_metric, interval.match), intervals_read_match)},
    {SCHEMA_ROW_RANGE("memory", SCHEMA_COUNT, IN(experiment_metric, interval.memory), EXPERIMENT_MATCH_MEMORY_MIN,
                      EXPERIMENT_MATCH_MEMORY_MAX),
     .is_used = is_interval},
    {.key = "at", .kind = SCHEMA_CHECKED},
    {0},
};

static const struct schema_field violation_fields[] = {
    {SCHEMA_ROW_RANGE("snapshot", SCHEMA_DURATION, IN(experiment_limit, snapshot), 10 * CLOCK_MS,
                      EXPERIMENT_SNAPSHOT_MAX),
     .required = true, .note = "for how long flight recorders are saved, such as 10 s", .quiet = true},
    {0},
};

static bool is_held(const void *limit)
{
    return ((const struct experiment_limit *)limit)->kind == LIMIT_HOLD;
}

const struct schema_field schema_limit[] = {
    {.key = "hold", .kind = SCHEMA_CHECKED},
    {.key = "expect", .kind = SCHEMA_CHECKED},
    {SCHEMA_ROW_WORDS("per", SCHEMA_FLAG, IN(experiment_limit, global), judged)},
    {SCHEMA_ROW_RANGE("for", SCHEMA_DURATION, IN(experiment_limit, persistence), 0, 3600 * CLOCK_S)},
    {.key = "tolerance", .kind = SCHEMA_SHARE, .offset = IN(experiment_limit, tolerance)},
    {SCHEMA_ROW_RANGE("priority", SCHEMA_COUNT, IN(experiment_limit, priority), 0, EXPERIMENT_PRIORITY_MAX),
     .is_used = is_held},
    {.key = "on-violation", .kind = SCHEMA_MAP, .fields = violation_fields, .quiet = true},
    {0},
};

static const struct schema_table knobs_table;

const struct schema_field schema_adapt[] = {
    {SCHEMA_ROW_WORDS("policy", SCHEMA_WORD, IN(experiment, adapt.policy), policies)},
    {SCHEMA_ROW_WORDS("by", SCHEMA_WORD, IN(experiment, adapt.by), deciders)},
    {SCHEMA_ROW_RANGE("every", SCHEMA_DURATION, IN(experiment, adapt.every), CLOCK_MS, 10 * CLOCK_S)},
    {SCHEMA_ROW_RANGE("period", SCHEMA_DURATION_RANGE, IN(experiment, adapt.period_min), CLOCK_US, 10 * CLOCK_S)},
    {.key = "hysteresis", .kind = SCHEMA_GIVEN_UP, .note = "max-age"},
    {SCHEMA_ROW_RANGE("max-age", SCHEMA_DURATION, IN(experiment, adapt.max_age), 0, 3600 * CLOCK_S)},
    {.key = "knobs", .kind = SCHEMA_TABLE, .offset = IN(experiment, adapt.knobs), .table = &knobs_table},
    {0},
};

_Static_assert(IN(experiment_adapt, period_max) == IN(experiment_adapt, period_min) + sizeof(int64_t),
               "a range is stored in two neighbours");

const struct schema_field schema_store_limits[] = {
    {SCHEMA_ROW_RANGE("connections", SCHEMA_COUNT, IN(experiment, store.limits.connections), 1, 4096)},
    {SCHEMA_ROW_RANGE("processes", SCHEMA_COUNT, IN(experiment, store.limits.processes), 1, 1 << 20)},
    {SCHEMA_ROW_RANGE("packet", SCHEMA_SIZE, IN(experiment, store.limits.packet), 256 * UNITS_KIB, UNITS_MIB)},
    {SCHEMA_ROW_RANGE("rate", SCHEMA_SIZE, IN(experiment, store.limits.rate), 0, 1024 * UNITS_GIB)},
    {0},
};

static const struct schema_field store_fields[] = {
    {SCHEMA_ROW_OWN("listen", IN(experiment, store.listen), fields_read_listen)},
    {SCHEMA_ROW_OWN("sync", IN(experiment, store.sync), fields_read_sync)},
    {SCHEMA_ROW_OWN("keep", IN(experiment, store.keep), fields_read_keep)},
    {SCHEMA_ROW_OWN("serve", IN(experiment, store.serve), fields_read_serve)},
    {SCHEMA_ROW_OWN("metrics", IN(experiment, store.metrics), fields_read_metrics)},
    {SCHEMA_ROW_OWN("push", IN(experiment, store.push), fields_read_push)},
    {SCHEMA_ROW_OWN("engine", IN(experiment, store.engine), fields_read_engine)},
    {SCHEMA_ROW_OWN("keys", IN(experiment, store.keys), fields_read_keys)},
    {.key = "key", .kind = SCHEMA_NAME, .offset = IN(experiment, store.key)},
    {.key = "limits", .kind = SCHEMA_MAP, .fields = schema_store_limits},
    {0},
};

static bool has_collector_node(const void *experiment)
{
    return ((const struct experiment *)experiment)->collector.node;
}

static void print_directory(const void *from, FILE *out)
{
    const char *directory = *(char *const *)from;
    schema_print_text(directory ? directory : EXPERIMENT_SPOOL_DIR, out);
}

const struct schema_field schema_collector[] = {
    {.key = "node", .kind = SCHEMA_NAME, .offset = IN(experiment, collector.node), .quiet = true},
    {SCHEMA_ROW_OWN("directory", IN(experiment, collector.directory), fields_read_spool_dir), .print = print_directory,
     .is_used = has_collector_node},
    {SCHEMA_ROW_OWN("control", IN(experiment, collector.control), fields_read_listen), .print = schema_print_char,
     .is_used = has_collector_node},
    {.key = "clock", .kind = SCHEMA_MAP, .fields = collector_clock, .quiet = true},
    {0},
};

const struct schema_field schema_order[] = {
    {SCHEMA_ROW_WORDS("buffers", SCHEMA_WORD, IN(experiment, order.buffers), buffers)},
    {SCHEMA_ROW_RANGE("memory", SCHEMA_SIZE, IN(experiment, order.memory), ORDER_MEMORY_LEAST, ORDER_MEMORY_MOST)},
    {SCHEMA_ROW_RANGE("wait", SCHEMA_DURATION, IN(experiment, order.wait), 1, ORDER_WAIT_MOST)},
    {0},
};

static const struct schema_field control_fields[] = {
    {.key = "key", .kind = SCHEMA_NAME, .offset = IN(experiment, control_key)},
    {0},
};

const struct experiment_process schema_default_process = {.instances = 1,
                                                          .output = OUTPUT_FILE,
                                                          .ready = {.within = 30 * CLOCK_S},
                                                          .restarts = 5,
                                                          .restart_pause = CLOCK_S,
                                                          .limits = STARTING_NO_LIMITS};
const struct experiment_node schema_default_node = {.on_loss = {.wait = EXPERIMENT_LOSS_WAIT}};
const struct experiment_metric schema_default_metric = {.kind = METRIC_RATE,
                                                        .share = 0.99,
                                                        .window = CLOCK_S,
                                                        .per_process = true,
                                                        .interval = {.memory = EXPERIMENT_MATCH_MEMORY}};
const struct experiment_limit schema_default_limit = {.tolerance = 0.01};

#define TABLE(type, list, entry_fields, entry_defaults, most, by_name)                                                 \
    {                                                                                                                  \
        .fields = (entry_fields), .defaults = &(entry_defaults), .size = sizeof(struct type), .place = IN(type, at),   \
        .count = IN(experiment, list), .max = (most), .named = (by_name)                                               \
    }

static const struct schema_table node_table =
    TABLE(experiment_node, node_count, schema_node, schema_default_node, EXPERIMENT_NODES_MAX, true);
static const struct schema_table inner_table =
    TABLE(experiment_inner, inner_count, collectors_fields, collectors_default, EXPERIMENT_INNER_MAX, true);
static const struct schema_table process_table =
    TABLE(experiment_process, process_count, schema_process, schema_default_process, EXPERIMENT_PROCESSES_MAX, false);
static const struct schema_table metric_table =
    TABLE(experiment_metric, metric_count, schema_metric, schema_default_metric, EXPERIMENT_METRICS_MAX, true);
static const struct schema_table limit_table =
    TABLE(experiment_limit, limit_count, schema_limit, schema_default_limit, EXPERIMENT_LIMITS_MAX, false);

static const struct schema_table trigger_table =
    TABLE(experiment_trigger, trigger_count, triggers_fields, triggers_default, EXPERIMENT_TRIGGERS_MAX, false);

static const struct schema_table knobs_table =
    TABLE(experiment_knob, adapt.knob_count, knob_fields, knob_default, EXPERIMENT_KNOBS_MAX, false);

_Static_assert(IN(experiment_node, name) == 0 && IN(experiment_metric, name) == 0 && IN(experiment_inner, name) == 0,
               "named objects open with their name");

const struct schema_field schema_experiment[] = {
    {.key = "experiment",
     .kind = SCHEMA_NAME,
     .offset = IN(experiment, name),
     .required = true,
     .note = "a name for the experiment"},
    {SCHEMA_ROW_RANGE("duration", SCHEMA_DURATION, IN(experiment, duration), 0, 8760 * 3600 * CLOCK_S)},
    {SCHEMA_ROW_RANGE("grace", SCHEMA_DURATION, IN(experiment, grace), 0, 600 * CLOCK_S)},
    {SCHEMA_ROW_RANGE("silence", SCHEMA_DURATION, IN(experiment, silence), CLOCK_S, 24 * 3600 * CLOCK_S)},
    {.key = "command", .kind = SCHEMA_CHECKED, .shape = SCHEMA_IS_TEXT_OR_LIST},
    {.key = "nodes", .kind = SCHEMA_TABLE, .offset = IN(experiment, nodes), .table = &node_table},
    {.key = "processes", .kind = SCHEMA_TABLE, .offset = IN(experiment, processes), .table = &process_table},
    {.key = "sensing", .kind = SCHEMA_MAP, .fields = sensing_fields},
    {.key = "metrics", .kind = SCHEMA_TABLE, .offset = IN(experiment, metrics), .table = &metric_table},
    {.key = "limits", .kind = SCHEMA_TABLE, .offset = IN(experiment, limits), .table = &limit_table},
    {.key = "triggers", .kind = SCHEMA_TABLE, .offset = IN(experiment, triggers), .table = &trigger_table},
    {.key = "adapt", .kind = SCHEMA_MAP, .fields = schema_adapt},
    {.key = "store", .kind = SCHEMA_MAP, .fields = store_fields},
    {.key = "collector", .kind = SCHEMA_MAP, .fields = schema_collector},
    {.key = "collectors", .kind = SCHEMA_TABLE, .offset = IN(experiment, inner), .table = &inner_table},
    {.key = "order", .kind = SCHEMA_MAP, .fields = schema_order},
    {.key = "control", .kind = SCHEMA_MAP, .fields = control_fields},
    {0},
};

const struct experiment schema_defaults = {
    .grace = 2 * CLOCK_S,
    .sensing = {.ring_records = 4096,
                .ring_threads = 128,
                .period = CLOCK_MS,
                .accumulate = 1,
                .accumulate_or = 50 * CLOCK_MS,
                .window_bytes = 16 * UNITS_MIB,
                .real_time = {.priority = 10, .timer_slack = CLOCK_US},
                .switches = {.budget = 0.01, .period = 10 * CLOCK_MS}},
    .sensor_cpu_window = CLOCK_S,
    .adapt = {.every = 100 * CLOCK_MS, .period_min = CLOCK_US, .period_max = CLOCK_S},
    .store = {.sync = EXPERIMENT_SYNC_NEVER, .limits = {.connections = 256, .processes = 65536, .packet = UNITS_MIB}},
    .order = ORDER_SETTINGS_DEFAULT,
};
