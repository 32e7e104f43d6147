// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* All keys of the file, and their defaults. */
#include "config/fields_internal.h"

#include "base/clock.h"
#include "base/units.h"
#include "config/collectors.h"
#include "config/knobs.h"
#include "config/order_settings.h"
#include "config/real_time.h"
#include "config/starting.h"

#define IN(type, member) offsetof(struct type, member)

const struct schema_word schema_outputs[] = {
    {"file", OUTPUT_FILE, false}, {"terminal", OUTPUT_TERMINAL, false}, {"none", OUTPUT_NONE, false}, {NULL, 0, false}};
const struct schema_word schema_when_fulls[] = {
    {"discard", WHEN_FULL_DISCARD, false}, {"overwrite", WHEN_FULL_OVERWRITE, false}, {NULL, 0, false}};
const struct schema_word schema_modes[] = {
    {"polling", POLL_POLLING, false}, {"busy-wait", POLL_BUSY_WAIT, false}, {NULL, 0, false}};
const struct schema_word schema_forwards[] = {
    {"batch", FORWARD_BATCH, false}, {"collect", FORWARD_COLLECT, false}, {NULL, 0, false}};
const struct schema_word schema_yes_or_no[] = {{"no", false, false}, {"yes", true, false}, {NULL, 0, false}};
const struct schema_word schema_scopes[] = {{"process", true, false}, {"node", false, false}, {NULL, 0, false}};
const struct schema_word schema_judged[] = {
    {"metric", false, false}, {"global", true, false}, {"whole", true, true}, {NULL, 0, false}};
const struct schema_word schema_syncs[] = {
    {"never", EXPERIMENT_SYNC_NEVER, false}, {"always", 0, false}, {NULL, 0, false}};
#define POLICY_WORD(NAME, name, word, abilities) {word, POLICY_##NAME, false},
static const struct schema_word policies[] = {EXPERIMENT_POLICIES(POLICY_WORD){NULL, 0, false}};
#undef POLICY_WORD

const struct schema_word schema_deciders[] = {
    {"node", ADAPT_BY_NODE, false}, {"manager", ADAPT_BY_MANAGER, false}, {NULL, 0, false}};

static const char note_pairs[] = "this version does not match records of two aspects; record the interval as a field";
static const char note_count[] = "this version does not count records over the whole run; give 'rate: ASPECT'";

const struct schema_word schema_buffers[] = {
    {"miso", ORDER_MISO, false}, {"siso", ORDER_SISO, false}, {NULL, 0, false}};

const struct schema_word schema_keepers[] = {
    {"ptp", CLOCK_KEPT_BY_PTP, false}, {"chrony", CLOCK_KEPT_BY_CHRONY, false}, {NULL, 0, false}};

/* The map `clock` of an object: what keeps the wall clock there. check.c tells when `bound` is needed. */
#define CLOCK_FIELDS(type, member)                                                                                     \
    {                                                                                                                  \
        {.key = "kept-by",                                                                                             \
         .kind = SCHEMA_WORD,                                                                                          \
         .offset = IN(type, member.by),                                                                                \
         .words = schema_keepers,                                                                                      \
         .required = true,                                                                                             \
         .note = "ptp or chrony"},                                                                                     \
            {.key = "bound",                                                                                           \
             .kind = SCHEMA_DURATION,                                                                                  \
             .offset = IN(type, member.bound),                                                                         \
             .min = 1,                                                                                                 \
             .max = CLOCK_WALL_BOUND_MAX},                                                                             \
            {0},                                                                                                       \
    }
static const struct schema_field node_clock_fields[] = CLOCK_FIELDS(experiment_node, clock);
static const struct schema_field collector_clock_fields[] = CLOCK_FIELDS(experiment, collector.clock);

static const struct schema_field node_fields[] = {
    {.key = "dir", .kind = SCHEMA_OWN, .offset = IN(experiment_node, dir), .read = fields_read_dir},
    {.key = "address", .kind = SCHEMA_OWN, .offset = IN(experiment_node, address), .read = fields_read_address},
    {.key = "key", .kind = SCHEMA_NAME, .offset = IN(experiment_node, key)},
    {.key = "on-loss", .kind = SCHEMA_OWN, .offset = IN(experiment_node, on_loss), .read = fields_read_on_loss},
    {.key = "clock", .kind = SCHEMA_MAP, .fields = node_clock_fields},
    {.key = "parents", .kind = SCHEMA_CHECKED},
    {0},
};

static const struct schema_field process_fields[] = {
    {.key = "name",
     .kind = SCHEMA_NAME,
     .offset = IN(experiment_process, name),
     .required = true,
     .note = "a name for the process"},
    {.key = "node", .kind = SCHEMA_CHECKED},
    {.key = "command", .kind = SCHEMA_OWN, .offset = IN(experiment_process, argv), .read = fields_read_command},
    {.key = "attach", .kind = SCHEMA_OWN, .offset = IN(experiment_process, attach), .read = fields_read_attach},
    {.key = "instances",
     .kind = SCHEMA_COUNT,
     .offset = IN(experiment_process, instances),
     .min = 1,
     .max = EXPERIMENT_INSTANCES_MAX},
    {.key = "directory",
     .kind = SCHEMA_OWN,
     .offset = IN(experiment_process, directory),
     .read = fields_read_directory},
    {.key = "environment",
     .kind = SCHEMA_OWN,
     .offset = IN(experiment_process, environment),
     .read = fields_read_environment},
    {.key = "output", .kind = SCHEMA_WORD, .offset = IN(experiment_process, output), .words = schema_outputs},
    {.key = "after", .kind = SCHEMA_OWN, .offset = IN(experiment_process, after), .read = starting_read_after},
    {.key = "ready", .kind = SCHEMA_MAP, .fields = starting_ready_fields},
    {.key = "restart", .kind = SCHEMA_WORD, .offset = IN(experiment_process, restart), .words = starting_restarts},
    {.key = "restarts", .kind = SCHEMA_COUNT, .offset = IN(experiment_process, restarts), .min = 1, .max = 1000},
    {.key = "restart-pause",
     .kind = SCHEMA_DURATION,
     .offset = IN(experiment_process, restart_pause),
     .max = 3600 * CLOCK_S},
    {.key = "on-exit", .kind = SCHEMA_WORD, .offset = IN(experiment_process, on_exit), .words = starting_exits},
    {.key = "plain", .kind = SCHEMA_FLAG, .offset = IN(experiment_process, plain), .words = schema_yes_or_no},
    {.key = "limits", .kind = SCHEMA_MAP, .fields = starting_limits_fields},
    {0},
};

static const struct schema_field ring_fields[] = {
    {.key = "records", .kind = SCHEMA_COUNT, .offset = IN(experiment, sensing.ring_records), .min = 64, .max = 1 << 20},
    {.key = "threads",
     .kind = SCHEMA_COUNT,
     .offset = IN(experiment, sensing.ring_threads),
     .min = 1,
     .max = EXPERIMENT_RING_THREADS_MAX},
    {.key = "when-full", .kind = SCHEMA_WORD, .offset = IN(experiment, sensing.when_full), .words = schema_when_fulls},
    {0},
};

static const struct schema_field poll_fields[] = {
    {.key = "mode", .kind = SCHEMA_WORD, .offset = IN(experiment, sensing.mode), .words = schema_modes},
    {.key = "period",
     .kind = SCHEMA_DURATION,
     .offset = IN(experiment, sensing.period),
     .min = CLOCK_US,
     .max = 10 * CLOCK_S},
    {.key = "forward",
     .kind = SCHEMA_WORD,
     .offset = IN(experiment, sensing.forward),
     .words = schema_forwards,
     .note = "a map belongs to sensing.forward, beside 'poll'"},
    {.key = "batch", .kind = SCHEMA_COUNT, .offset = IN(experiment, sensing.batch), .max = EXPERIMENT_BATCH_MAX},
    {.key = "doorbell", .kind = SCHEMA_WORD, .offset = IN(experiment, sensing.doorbell), .words = schema_yes_or_no},
    {0},
};

static const struct schema_field forward_fields[] = {
    {.key = "accumulate",
     .kind = SCHEMA_COUNT,
     .offset = IN(experiment, sensing.accumulate),
     .min = 1,
     .max = EXPERIMENT_BATCH_MAX},
    {.key = "or",
     .kind = SCHEMA_DURATION,
     .offset = IN(experiment, sensing.accumulate_or),
     .min = CLOCK_US,
     .max = 10 * CLOCK_S},
    {0},
};

static const struct schema_field aspect_fields[] = {
    {.key = "count", .kind = SCHEMA_OWN, .offset = IN(experiment, sensing.count), .read = fields_read_patterns},
    {.key = "off", .kind = SCHEMA_OWN, .offset = IN(experiment, sensing.off), .read = fields_read_patterns},
    {.key = "importance",
     .kind = SCHEMA_OWN,
     .offset = IN(experiment, sensing.importance),
     .read = fields_read_importance},
    {0},
};

static const struct schema_field spool_fields[] = {
    {.key = "size",
     .kind = SCHEMA_SIZE,
     .offset = IN(experiment, sensing.spool_bytes),
     .min = UNITS_MIB,
     .max = UNITS_GIB * 1024},
    {.key = "dir", .kind = SCHEMA_OWN, .offset = IN(experiment, sensing.spool_dir), .read = fields_read_spool_dir},
    {0},
};

#define SAMPLER(name, which)                                                                                           \
    {                                                                                                                  \
        .key = (name), .kind = SCHEMA_DURATION, .offset = offsetof(struct experiment, sensing.sampler[which]),         \
        .min = CLOCK_MS, .max = 3600 * CLOCK_S                                                                         \
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
    {0},
};

_Static_assert(sizeof schema_samplers / sizeof *schema_samplers == EXPERIMENT_SAMPLERS + 1, "one key for each sampler");

static const struct schema_field sensing_fields[] = {
    {.key = "ring", .kind = SCHEMA_MAP, .fields = ring_fields},
    {.key = "poll", .kind = SCHEMA_MAP, .fields = poll_fields},
    {.key = "forward", .kind = SCHEMA_MAP, .fields = forward_fields},
    {.key = "window",
     .kind = SCHEMA_SIZE,
     .offset = IN(experiment, sensing.window_bytes),
     .min = UNITS_MIB,
     .max = UNITS_GIB},
    {.key = "spool", .kind = SCHEMA_MAP, .fields = spool_fields},
    {.key = "aspects", .kind = SCHEMA_MAP, .fields = aspect_fields},
    {.key = "expire", .kind = SCHEMA_OWN, .offset = IN(experiment, sensing.expire), .read = fields_read_expire},
    {.key = "real-time", .kind = SCHEMA_MAP, .fields = real_time_fields},
    {.key = "samplers", .kind = SCHEMA_MAP, .fields = schema_samplers},
    {0},
};

static const struct schema_field metric_fields[] = {
    {.key = "rate", .kind = SCHEMA_OWN, .offset = IN(experiment_metric, aspect), .read = fields_read_aspect},
    {.key = "mean", .kind = SCHEMA_OWN, .offset = IN(experiment_metric, field), .read = fields_read_field},
    {.key = "min", .kind = SCHEMA_OWN, .offset = IN(experiment_metric, field), .read = fields_read_field},
    {.key = "max", .kind = SCHEMA_OWN, .offset = IN(experiment_metric, field), .read = fields_read_field},
    {.key = "last", .kind = SCHEMA_OWN, .offset = IN(experiment_metric, field), .read = fields_read_field},
    {.key = "quantile", .kind = SCHEMA_OWN, .offset = IN(experiment_metric, field), .read = fields_read_field},
    {.key = "of", .kind = SCHEMA_OWN, .offset = IN(experiment_metric, aspect), .read = fields_read_aspect},
    {.key = "share", .kind = SCHEMA_SHARE, .offset = IN(experiment_metric, share)},
    {.key = "window",
     .kind = SCHEMA_DURATION,
     .offset = IN(experiment_metric, window),
     .min = 10 * CLOCK_MS,
     .max = 3600 * CLOCK_S},
    {.key = "per", .kind = SCHEMA_FLAG, .offset = IN(experiment_metric, per_process), .words = schema_scopes},
    {.key = "count", .kind = SCHEMA_LATER, .note = note_count},
    {.key = "interval", .kind = SCHEMA_LATER, .note = note_pairs},
    {.key = "match", .kind = SCHEMA_LATER, .note = note_pairs},
    {0},
};

static const struct schema_field violation_fields[] = {
    {.key = "snapshot",
     .kind = SCHEMA_DURATION,
     .offset = IN(experiment_limit, snapshot),
     .min = 10 * CLOCK_MS,
     .max = EXPERIMENT_SNAPSHOT_MAX,
     .required = true,
     .note = "for how long flight recorders are saved, such as 10 s"},
    {0},
};

static const struct schema_field limit_fields[] = {
    {.key = "hold", .kind = SCHEMA_CHECKED},
    {.key = "expect", .kind = SCHEMA_CHECKED},
    {.key = "per", .kind = SCHEMA_FLAG, .offset = IN(experiment_limit, global), .words = schema_judged},
    {.key = "for", .kind = SCHEMA_DURATION, .offset = IN(experiment_limit, persistence), .max = 3600 * CLOCK_S},
    {.key = "tolerance", .kind = SCHEMA_SHARE, .offset = IN(experiment_limit, tolerance)},
    {.key = "priority", .kind = SCHEMA_COUNT, .offset = IN(experiment_limit, priority), .max = EXPERIMENT_PRIORITY_MAX},
    {.key = "on-violation", .kind = SCHEMA_MAP, .fields = violation_fields},
    {0},
};

static const struct schema_table knobs_table;

static const struct schema_field adapt_fields[] = {
    {.key = "policy", .kind = SCHEMA_WORD, .offset = IN(experiment, adapt.policy), .words = policies},
    {.key = "by", .kind = SCHEMA_WORD, .offset = IN(experiment, adapt.by), .words = schema_deciders},
    {.key = "every",
     .kind = SCHEMA_DURATION,
     .offset = IN(experiment, adapt.every),
     .min = CLOCK_MS,
     .max = 10 * CLOCK_S},
    {.key = "period",
     .kind = SCHEMA_DURATION_RANGE,
     .offset = IN(experiment, adapt.period_min),
     .min = CLOCK_US,
     .max = 10 * CLOCK_S},
    {.key = "hysteresis", .kind = SCHEMA_GIVEN_UP, .note = "max-age"},
    {.key = "max-age", .kind = SCHEMA_DURATION, .offset = IN(experiment, adapt.max_age), .max = 3600 * CLOCK_S},
    {.key = "knobs", .kind = SCHEMA_TABLE, .offset = IN(experiment, adapt.knobs), .table = &knobs_table},
    {0},
};

_Static_assert(IN(experiment_adapt, period_max) == IN(experiment_adapt, period_min) + sizeof(int64_t),
               "a range is stored in two neighbours");

static const struct schema_field limits_fields[] = {
    {.key = "connections",
     .kind = SCHEMA_COUNT,
     .offset = IN(experiment, store.limits.connections),
     .min = 1,
     .max = 4096},
    {.key = "processes",
     .kind = SCHEMA_COUNT,
     .offset = IN(experiment, store.limits.processes),
     .min = 1,
     .max = 1 << 20},
    {.key = "packet",
     .kind = SCHEMA_SIZE,
     .offset = IN(experiment, store.limits.packet),
     .min = 256 * UNITS_KIB,
     .max = UNITS_MIB},
    {.key = "rate", .kind = SCHEMA_SIZE, .offset = IN(experiment, store.limits.rate), .max = 1024 * UNITS_GIB},
    {0},
};

static const struct schema_field store_fields[] = {
    {.key = "listen", .kind = SCHEMA_OWN, .offset = IN(experiment, store.listen), .read = fields_read_listen},
    {.key = "sync", .kind = SCHEMA_OWN, .offset = IN(experiment, store.sync), .read = fields_read_sync},
    {.key = "keep", .kind = SCHEMA_OWN, .offset = IN(experiment, store.keep), .read = fields_read_keep},
    {.key = "serve", .kind = SCHEMA_OWN, .offset = IN(experiment, store.serve), .read = fields_read_serve},
    {.key = "keys", .kind = SCHEMA_OWN, .offset = IN(experiment, store.keys), .read = fields_read_keys},
    {.key = "key", .kind = SCHEMA_NAME, .offset = IN(experiment, store.key)},
    {.key = "limits", .kind = SCHEMA_MAP, .fields = limits_fields},
    {0},
};

static const struct schema_field collector_fields[] = {
    {.key = "node", .kind = SCHEMA_NAME, .offset = IN(experiment, collector.node)},
    {.key = "directory",
     .kind = SCHEMA_OWN,
     .offset = IN(experiment, collector.directory),
     .read = fields_read_spool_dir},
    {.key = "control", .kind = SCHEMA_OWN, .offset = IN(experiment, collector.control), .read = fields_read_listen},
    {.key = "clock", .kind = SCHEMA_MAP, .fields = collector_clock_fields},
    {0},
};

static const struct schema_field order_fields[] = {
    {.key = "buffers", .kind = SCHEMA_WORD, .offset = IN(experiment, order.buffers), .words = schema_buffers},
    {.key = "memory",
     .kind = SCHEMA_SIZE,
     .offset = IN(experiment, order.memory),
     .min = ORDER_MEMORY_LEAST,
     .max = ORDER_MEMORY_MOST},
    {.key = "wait", .kind = SCHEMA_DURATION, .offset = IN(experiment, order.wait), .min = 1, .max = ORDER_WAIT_MOST},
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
static const struct experiment_node default_node = {.on_loss = {.wait = EXPERIMENT_LOSS_WAIT}};
static const struct experiment_metric default_metric = {
    .kind = METRIC_RATE, .share = 0.99, .window = CLOCK_S, .per_process = true};
static const struct experiment_limit default_limit = {.tolerance = 0.01};

#define TABLE(type, list, entry_fields, entry_defaults, most, by_name)                                                 \
    {                                                                                                                  \
        .fields = (entry_fields), .defaults = &(entry_defaults), .size = sizeof(struct type), .place = IN(type, at),   \
        .count = IN(experiment, list), .max = (most), .named = (by_name)                                               \
    }

static const struct schema_table node_table =
    TABLE(experiment_node, node_count, node_fields, default_node, EXPERIMENT_NODES_MAX, true);
static const struct schema_table inner_table =
    TABLE(experiment_inner, inner_count, collectors_fields, collectors_default, EXPERIMENT_INNER_MAX, true);
static const struct schema_table process_table =
    TABLE(experiment_process, process_count, process_fields, schema_default_process, EXPERIMENT_PROCESSES_MAX, false);
static const struct schema_table metric_table =
    TABLE(experiment_metric, metric_count, metric_fields, default_metric, EXPERIMENT_METRICS_MAX, true);
static const struct schema_table limit_table =
    TABLE(experiment_limit, limit_count, limit_fields, default_limit, EXPERIMENT_LIMITS_MAX, false);

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
    {.key = "duration", .kind = SCHEMA_DURATION, .offset = IN(experiment, duration), .max = 8760 * 3600 * CLOCK_S},
    {.key = "grace", .kind = SCHEMA_DURATION, .offset = IN(experiment, grace), .max = 600 * CLOCK_S},
    {.key = "silence",
     .kind = SCHEMA_DURATION,
     .offset = IN(experiment, silence),
     .min = CLOCK_S,
     .max = 24 * 3600 * CLOCK_S},
    {.key = "command", .kind = SCHEMA_CHECKED},
    {.key = "nodes", .kind = SCHEMA_TABLE, .offset = IN(experiment, nodes), .table = &node_table},
    {.key = "processes", .kind = SCHEMA_TABLE, .offset = IN(experiment, processes), .table = &process_table},
    {.key = "sensing", .kind = SCHEMA_MAP, .fields = sensing_fields},
    {.key = "metrics", .kind = SCHEMA_TABLE, .offset = IN(experiment, metrics), .table = &metric_table},
    {.key = "limits", .kind = SCHEMA_TABLE, .offset = IN(experiment, limits), .table = &limit_table},
    {.key = "adapt", .kind = SCHEMA_MAP, .fields = adapt_fields},
    {.key = "store", .kind = SCHEMA_MAP, .fields = store_fields},
    {.key = "collector", .kind = SCHEMA_MAP, .fields = collector_fields},
    {.key = "collectors", .kind = SCHEMA_TABLE, .offset = IN(experiment, inner), .table = &inner_table},
    {.key = "order", .kind = SCHEMA_MAP, .fields = order_fields},
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
                .real_time = {.priority = 10, .timer_slack = CLOCK_US}},
    .sensor_cpu_window = CLOCK_S,
    .adapt = {.every = 100 * CLOCK_MS, .period_min = CLOCK_US, .period_max = CLOCK_S},
    .store = {.sync = EXPERIMENT_SYNC_NEVER, .limits = {.connections = 256, .processes = 65536, .packet = UNITS_MIB}},
    .order = ORDER_SETTINGS_DEFAULT,
};
