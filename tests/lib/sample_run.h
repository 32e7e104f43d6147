// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Runs as their databases would tell them, made by hand: what tests of verdict and report judge. Storage is the
 * struct's.
 */
#ifndef BEZEL_TESTS_LIB_SAMPLE_RUN_H
#define BEZEL_TESTS_LIB_SAMPLE_RUN_H

#include "base/clock.h"
#include "config/experiment.h"
#include "resmgr/agent/agent.h"
#include "run/history/summary.h"
#include "run/read/record_tables.h"
#include "run/rundb/rundb.h"

#include <math.h>
#include <string.h>

#define SAMPLE_STARTED INT64_C(1700000000000000000) /* CLOCK_REALTIME: 2023-11-14T22:13:20Z */
#define SAMPLE_BOOTED  (SAMPLE_STARTED - 1000 * CLOCK_S)

enum { SAMPLE_NODES = 3, SAMPLE_LIMITS = 3, SAMPLE_PROCESSES = 5, SAMPLE_DECISIONS = 32 };

struct sample {
    struct experiment experiment;
    struct experiment_metric metrics[1];
    struct experiment_limit limits[SAMPLE_LIMITS];
    struct summary summary;
    struct summary_node nodes[SAMPLE_NODES];
    struct summary_process processes[SAMPLE_PROCESSES];
    struct summary_book books[SAMPLE_PROCESSES][2];
    struct summary_field fields[SAMPLE_PROCESSES][2][2]; /* of these */
    struct message_statistics messages[2];
    struct counter_statistics counters[2];
    struct label_statistics labels[1];
    size_t message_count, counter_count, label_count;
    struct builtin_limit rows[SAMPLE_LIMITS * SAMPLE_NODES];
    struct builtin_decision decisions[SAMPLE_DECISIONS];
    struct builtin_polling polling[3];
    struct builtin_expired expired[2];
    struct history_series values[1];
    struct summary_event events[2];
    struct summary_program programs[6];
    struct summary_note notes[5];
    struct summary_property properties[5];
};

/** `at` seconds after the run's start, on the clock of every node. */
static inline int64_t sample_time(double at)
{
    return SAMPLE_STARTED - SAMPLE_BOOTED + (int64_t)(at * (double)CLOCK_S);
}

static inline struct summary_book sample_book(uint32_t aspect, const char *name, uint64_t count)
{
    return (struct summary_book){.aspect = aspect,
                                 .name = name,
                                 .attempts = count,
                                 .stored = count,
                                 .first_ns = sample_time(0.5),
                                 .last_ns = sample_time(0.5) + (int64_t)(count - 1) * CLOCK_S / 30};
}

static inline struct builtin_limit sample_row(uint32_t node, uint32_t index, double held, double violated)
{
    return (struct builtin_limit){.node = node,
                                  .limit = index,
                                  .state = LIMIT_HELD,
                                  .value = 29.97,
                                  .worst = 28.5,
                                  .settling = 2 * CLOCK_S,
                                  .held = (int64_t)(held * (double)CLOCK_S),
                                  .violated = (int64_t)(violated * (double)CLOCK_S)};
}

static inline void sample_add_decision(struct sample *s, double at, int action, int64_t before, int64_t after,
                                       int cause)
{
    s->decisions[s->summary.decision_count++] = (struct builtin_decision){.at = sample_time(at),
                                                                          .policy = POLICY_DPP,
                                                                          .action = action,
                                                                          .before = before,
                                                                          .after = after,
                                                                          .cause = cause};
}

static inline void sample_experiment(struct sample *s)
{
    s->metrics[0] = (struct experiment_metric){
        .name = (char *)"fps", .aspect = (char *)"frame_shown", .window = CLOCK_S, .per_process = true};
    s->limits[0] = (struct experiment_limit){.kind = LIMIT_HOLD,
                                             .metric = 0,
                                             .compare = COMPARE_AT_LEAST,
                                             .bound = 29,
                                             .tolerance = 0.01,
                                             .text = (char *)"fps >= 29"};
    s->limits[1] = (struct experiment_limit){.kind = LIMIT_HOLD,
                                             .metric = LIMIT_ON_SENSOR_CPU,
                                             .compare = COMPARE_AT_MOST,
                                             .bound = 10,
                                             .unit = UNIT_PERCENT,
                                             .tolerance = 0.01,
                                             .text = (char *)"sensor_cpu <= 10 %"};
    s->limits[2] = s->limits[0];
    s->limits[2].kind = LIMIT_EXPECT;
    s->limits[2].text = (char *)"fps >= 25";
    s->experiment = (struct experiment){.name = (char *)"video-conference",
                                        .duration = 10 * CLOCK_S,
                                        .metric_count = 1,
                                        .limit_count = 2,
                                        .metrics = s->metrics,
                                        .limits = s->limits,
                                        .sensing = {.ring_records = 4096, .period = CLOCK_MS},
                                        .adapt = {.policy = POLICY_DPP, .every = 100 * CLOCK_MS}};
}

static inline void sample_process(struct sample *s, size_t i, const char *name, enum message_role role)
{
    s->processes[i] =
        (struct summary_process){.row = (int64_t)i,
                                 .instance = UINT64_C(0xfedcba9876543210) + i,
                                 .pid = 4711 + (uint32_t)i,
                                 .role = role,
                                 .name = name,
                                 .executable = "/opt/video/bin/conference",
                                 .started = sample_time(0.1),
                                 .state = PROCESS_ENDED,
                                 .latency = {.count = 100, .median = 612000, .p99 = 1900000, .max = 4200000},
                                 .book_count = 2,
                                 .books = s->books[i]};
}

/** Ten seconds of a server and three clients on one node, everything in order. */
static inline void sample_held(struct sample *s)
{
    memset(s, 0, sizeof *s);
    sample_experiment(s);
    s->nodes[0] = (struct summary_node){.name = "studio",
                                        .ahead = SAMPLE_BOOTED,
                                        .run_clock = {.kind = RUN_CLOCK_SAME, .ahead = SAMPLE_BOOTED},
                                        .first_at = sample_time(0.1),
                                        .last_at = sample_time(9.9),
                                        .sensor_cpu_mean = 3.4,
                                        .sensor_cpu_max = 4.06,
                                        .cpu_ns = 340 * CLOCK_MS,
                                        .wakeups = 9876,
                                        .records = 1312,
                                        .bytes = 51234,
                                        .ways = RUNDB_WAY_DIRECT,
                                        .period_mean = 1061234,
                                        .period_worst = 4567890,
                                        .en_route_mean = 0.00123,
                                        .en_route_max = 0.0345,
                                        .clock = {.counter = 4, .error = 212}};
    static const char *const names[SAMPLE_PROCESSES] = {"server", "client.1", "client.2", "client.3", "bezeld"};
    for (size_t i = 0; i < SAMPLE_PROCESSES; i++) {
        bool daemon = i == SAMPLE_PROCESSES - 1;
        sample_process(s, i, names[i], daemon ? ROLE_DAEMON : ROLE_SUT);
        s->books[i][0] = sample_book(1,
                                     daemon ? "bezel_usage"
                                     : i    ? "frame_received"
                                            : "frame_captured",
                                     daemon ? 96 : 301);
        s->books[i][1] = sample_book(2, daemon ? "bezel_limit" : i ? "frame_shown" : "frame_sent", daemon ? 12 : 301);
    }
    s->rows[0] = sample_row(0, 0, 7.5, 0);
    s->rows[1] = sample_row(0, 1, 8.5, 0.02);
    s->rows[1].value = 3.2;
    s->rows[1].worst = 12.5;
    s->values[0] = (struct history_series){
        .metric = "fps", .process = "client.1", .count = 9, .mean = 29.98, .min = 29.6, .max = 30.3, .last = 30};
    s->polling[0] = (struct builtin_polling){.at = sample_time(0.01), .period = CLOCK_MS};
    s->properties[0] = (struct summary_property){"run", "0b5e1d8e-6a0f-4f0e-9d3b-0123456789ab"};
    s->properties[1] = (struct summary_property){"started", "1700000000000000000"};
    s->properties[2] = (struct summary_property){"ended", "1700000010000000000"};
    s->properties[3] = (struct summary_property){"ended_by", "duration"};
    s->summary = (struct summary){.node_count = 1,
                                  .process_count = SAMPLE_PROCESSES,
                                  .limit_count = 2,
                                  .metric_count = 1,
                                  .property_count = 4,
                                  .polling_count = 1,
                                  .nodes = s->nodes,
                                  .processes = s->processes,
                                  .limits = s->rows,
                                  .decisions = s->decisions,
                                  .polling = s->polling,
                                  .expired = s->expired,
                                  .metrics = s->values,
                                  .events = s->events,
                                  .programs = s->programs,
                                  .notes = s->notes,
                                  .properties = s->properties,
                                  .latency = {.count = 2408, .median = 612345, .p99 = 1912345, .max = 4212345}};
}

static inline struct summary_number sample_whole(int64_t n)
{
    return (struct summary_number){true, n, (double)n};
}

/** Adds a field to book `b` of process `i`. */
static inline void sample_add_field(struct sample *s, size_t i, size_t b, struct summary_field field)
{
    struct summary_book *book = &s->books[i][b];
    book->fields = &s->fields[i][b][0];
    book->fields[book->field_count++] = field;
}

/** As sample_held(), but the server has a span and a gauge, client.1 two counters, one of them with losses. */
static inline void sample_kinds_held(struct sample *s)
{
    sample_held(s);
    s->experiment.sensing.period_quiet = 3072 * CLOCK_US; /* as where the file gives no period */
    s->books[0][0].kind = DICT_SPAN;
    sample_add_field(s, 0, 0,
                     (struct summary_field){.name = "duration",
                                            .unit = "ns",
                                            .count = 300,
                                            .unknown = 1,
                                            .total = 4 * CLOCK_S,
                                            .mean = 4.0 / 300 * CLOCK_S,
                                            .last = sample_whole(11 * CLOCK_MS),
                                            .min = sample_whole(602800),
                                            .max = sample_whole(40 * CLOCK_MS),
                                            .p50 = sample_whole(12345678),
                                            .p99 = sample_whole(31234567)});
    sample_add_field(s, 0, 0,
                     (struct summary_field){.field = 1,
                                            .name = "wait",
                                            .unit = "us",
                                            .count = 200,
                                            .total = 2115977,
                                            .mean = 10579.889,
                                            .last = sample_whole(3),
                                            .min = sample_whole(-1),
                                            .max = sample_whole(2115000),
                                            .p50 = sample_whole(0), /* chooses no unit */
                                            .p99 = sample_whole(3)});
    s->books[0][1].kind = DICT_GAUGE;
    sample_add_field(s, 0, 1,
                     (struct summary_field){.name = "value",
                                            .unit = "degC",
                                            .count = 301,
                                            .mean = 44.1,
                                            .last = {.d = 41.25},
                                            .min = {.d = NAN},
                                            .max = {.d = 57},
                                            .p50 = {.d = 43.75},
                                            .p99 = {.d = 56.5}});
    s->books[1][0].kind = s->books[1][1].kind = DICT_COUNTER;
    sample_add_field(s, 1, 0,
                     (struct summary_field){.name = "count",
                                            .unit = "B",
                                            .count = 301,
                                            .total = INT64_MAX, /* or beyond */
                                            .mean = 1e17,
                                            .last = sample_whole(41015544),
                                            .min = sample_whole(7),
                                            .max = sample_whole(9007199254740993),
                                            .p50 = sample_whole(41015544),
                                            .p99 = sample_whole(41015544)});
    sample_add_field(s, 1, 1,
                     (struct summary_field){.name = "count",
                                            .unit = "frames",
                                            .count = 301,
                                            .total = -3,
                                            .mean = -3.0 / 301,
                                            .last = sample_whole(0),
                                            .min = sample_whole(-3),
                                            .max = sample_whole(0),
                                            .p50 = sample_whole(0),
                                            .p99 = sample_whole(0)});
    s->books[1][1].attempts += 2;
    s->books[1][1].full = 2;
    s->books[2][0].kind = DICT_SENT;
    s->books[2][1].kind = s->books[3][1].kind = DICT_RECEIVED;
    s->messages[s->message_count++] = (struct message_statistics){.process = 2,
                                                                  .aspect = 1,
                                                                  .kind = DICT_SENT,
                                                                  .records = 301,
                                                                  .unmatched = 2,
                                                                  .contrary = 1,
                                                                  .min = NAN,
                                                                  .p50 = NAN};
    s->messages[s->message_count++] = (struct message_statistics){.process = 2,
                                                                  .aspect = 2,
                                                                  .kind = DICT_RECEIVED,
                                                                  .records = 299,
                                                                  .timed = 299,
                                                                  .min = -1500,
                                                                  .mean = 81000,
                                                                  .p50 = 76800,
                                                                  .p99 = 2359295,
                                                                  .max = 10579889,
                                                                  .bound = 52345,
                                                                  .asked = 298,
                                                                  .unawaited_mean = 4100,
                                                                  .unawaited_max = 812000};
    sample_add_field(s, 2, 1,
                     (struct summary_field){.name = "bytes",
                                            .unit = "B",
                                            .mean = NAN,
                                            .last = {.d = NAN},
                                            .min = {.d = NAN},
                                            .max = {.d = NAN},
                                            .p50 = {.d = NAN},
                                            .p99 = {.d = NAN}});
}

/** As sample_held(), but clients 1 and 2, which `attached` says of what kind they are, found their rings full. */
static inline void sample_full_rings(struct sample *s, bool attached)
{
    static struct experiment_process clients[2];
    sample_held(s);
    for (size_t i = 0; i < 2; i++) {
        clients[i] = (struct experiment_process){.name = (char *)s->processes[i + 1].name, .instances = 1};
        if (attached)
            clients[i].attach = (char *)"client*";
        s->books[i + 1][1].attempts += 14160 * (i + 1);
        s->books[i + 1][1].full = 14160 * (i + 1);
        s->processes[i + 1].discarded = 14160 * (i + 1);
    }
    s->experiment.processes = clients;
    s->experiment.process_count = 2;
}

/** Process `i` is a flight recorder that kept its last 100 records, of both aspects alike, and was killed. */
static inline void sample_recorder(struct sample *s, size_t i)
{
    struct summary_process *p = &s->processes[i];
    p->overwrites = true;
    for (int b = 0; b < 2; b++)
        s->books[i][b].stored = 50;
    s->books[i][0].off = 10;
    s->books[i][1].attempts += 4;
    s->books[i][1].no_ring = 3;
    p->unfinished = 1;
    p->discarded = 602 + 4 - 100 - 3;
}

/**
 * Two nodes, on which nothing goes well: sensor_cpu is violated on one, fps still with collection off, fps >= 25 is
 * never known; records are lost by every cause, and the books of one process do not balance.
 */
static inline void sample_troubled(struct sample *s)
{
    sample_held(s);
    s->experiment.limit_count = 3;
    s->nodes[1] = s->nodes[0];
    s->nodes[1].name = "desk1";
    s->nodes[1].sensor_cpu_mean = s->nodes[1].sensor_cpu_max = NAN;
    s->nodes[1].clock =
        (struct builtin_clocks){.counter = 1, .kernel = 1, .program = 1, .error = 45678, .jumps = 2, .clamped = 17};
    s->summary.node_count = 2;
    s->processes[2].node = s->processes[3].node = 1;
    s->rows[0] = sample_row(0, 0, 5, 2.5);
    s->rows[0].last_violated = sample_time(9);
    s->rows[1].violated = CLOCK_S;
    s->rows[2] = sample_row(1, 1, 8.5, 0);
    s->rows[3] = sample_row(1, 2, 0, 0);
    s->rows[3].state = LIMIT_UNKNOWN;
    s->rows[3].value = s->rows[3].worst = NAN;
    s->rows[3].unknown = 10 * CLOCK_S;
    s->summary.limit_count = 4;
    for (int i = 0; i < 30; i++)
        sample_add_decision(s, 1 + 0.1 * i, i % 2 ? POLICY_SHORTEN : POLICY_LENGTHEN, CLOCK_MS << (i % 2),
                            CLOCK_MS << ((i + 1) % 2), i % 2 ? -1 : 1);
    sample_add_decision(s, 5, POLICY_OFF, 124306, 0, 0);
    s->books[1][0].attempts += 12 + 30 + 1;
    s->books[1][0].full = 12;
    s->books[1][0].off = 30;
    s->processes[1].unfinished = 1;
    s->processes[1].discarded = 13;
    s->books[2][1].attempts += 4;
    s->books[2][1].no_ring = 1;
    s->processes[3].name = "cli\033[31ment";
    s->polling[1] = (struct builtin_polling){
        .node = 1, .at = sample_time(2.5), .cause = 1, .period = 250 * CLOCK_US, .forward = 1, .batch = 1000};
    s->polling[2] = (struct builtin_polling){.at = sample_time(4.25), .cause = 2, .period = CLOCK_MS, .mode = 1};
    s->summary.polling_count = 3;
    s->nodes[1].period_mean = s->nodes[1].period_worst = 0;
    s->nodes[1].en_route_mean = s->nodes[1].en_route_max = NAN;
    s->nodes[1].backpressure = 1234;
    s->expired[0] = (struct builtin_expired){0, 0, "client.1", "frame_shown", 31, 100 * CLOCK_MS, 301, 12};
    s->expired[1] = (struct builtin_expired){1, 0, "cli\033[31ment", "frame_shown", 33, 100 * CLOCK_MS, 0, 0};
    s->summary.expired_count = 2;
    s->summary.refused = 2;
    s->summary.program_count = 6;
    s->programs[0] = (struct summary_program){
        "studio", "client.1", 1, 4712, LAUNCHED_ENDED, 9, 0, "", 3 * CLOCK_S, 250 * CLOCK_MS, 12 << 20, 0, 0};
    s->programs[1] = (struct summary_program){
        "studio", "client.1", 2, 4722, LAUNCHED_ENDED, 0x300, 0, "", CLOCK_S, 2 * CLOCK_MS, 3 << 20, 70000, 0};
    s->programs[2] =
        (struct summary_program){"studio", "evil\033[31m", 1, 0, LAUNCHED_FAILED, 0, 2, "exec", 0, 0, 0, 0, 0};
    s->programs[3] = (struct summary_program){"desk", "lost", 1, 4724, LAUNCHED_LOST, 0, 0, "", 0, 0, 0, 0, 0};
    s->programs[4] = (struct summary_program){"desk", "server", 1, 4725, LAUNCHED_RUNS, 0, 0, "", 0, 0, 0, 0, 0};
    s->programs[5] = (struct summary_program){"desk",   "view",  1, 4726, LAUNCHED_ENDED, 0, 0, "silence", 2 * CLOCK_S,
                                              CLOCK_MS, 1 << 20, 0, 0};
    s->summary.event_count = 2;
    s->events[0] =
        (struct summary_event){SAMPLE_STARTED + 3 * CLOCK_S, true, "client.1 (pid 4712) was ended by signal 9"};
    s->events[1] = (struct summary_event){SAMPLE_STARTED + 4 * CLOCK_S, false, "bezeld of node studio was restarted"};
    s->summary.note_count = 5;
    s->notes[0] =
        (struct summary_note){0, 31, 4712, sample_time(1), "client.1", "BEZEL-STRING-NO-ROOM", "no room for 1"};
    s->notes[1] =
        (struct summary_note){0, 32, 4713, sample_time(2), "client.2", "BEZEL-STRING-NO-ROOM", "no room for 1"};
    s->notes[2] = (struct summary_note){1, 0, 0, sample_time(3), "", "BEZEL-UNREAD", "3 processes were never read"};
    s->notes[3] = (struct summary_note){2, 0, 4720, sample_time(4), "quiet", "BEZEL-NO-SEGMENT", "recorded nothing"};
    s->notes[4] = (struct summary_note){1, 33, 0, sample_time(4), "evil\033[31m", "BEZEL-\033X", "\033[2Jtext\n"};
}

#endif
