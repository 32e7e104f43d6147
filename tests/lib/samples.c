// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/samples.h"

#include "base/hash.h"
#include "mdr/dict.h"
#include "mdr/message.h"

#include <stdlib.h>
#include <string.h>

enum { TICK = 1, FRAME_SHOWN = 2 };

const enum message_type sample_types[] = {
    MESSAGE_HELLO, MESSAGE_WELCOME,     MESSAGE_REFUSE,   MESSAGE_PROCESS,  MESSAGE_NEED_PROCESS, MESSAGE_ACK,
    MESSAGE_BOOKS, MESSAGE_HEARTBEAT,   MESSAGE_BYE,      MESSAGE_NOTE,     MESSAGE_COMMAND,      MESSAGE_REPLY,
    MESSAGE_WATCH, MESSAGE_OBSERVATION, MESSAGE_SETPOINT, MESSAGE_PARTIALS, MESSAGE_JUDGEMENT,    MESSAGE_LAUNCH,
    MESSAGE_CLOCK, MESSAGE_WATERMARK,   MESSAGE_DIRECT,   MESSAGE_VALUES,   MESSAGE_LOOP,
};
const size_t sample_type_count = sizeof sample_types / sizeof *sample_types;

const char *sample_packet_name(int i)
{
    static const char *const names[SAMPLE_PACKETS] = {"packet-0-open", "packet-1-data", "packet-2-loss",
                                                      "packet-3-data", "packet-4-close"};
    return names[i];
}

const char *sample_message_name(enum message_type type)
{
    switch (type) {
    case MESSAGE_HELLO:
        return "message-hello";
    case MESSAGE_WELCOME:
        return "message-welcome";
    case MESSAGE_REFUSE:
        return "message-refuse";
    case MESSAGE_PROCESS:
        return "message-process";
    case MESSAGE_NEED_PROCESS:
        return "message-need-process";
    case MESSAGE_ACK:
        return "message-ack";
    case MESSAGE_BOOKS:
        return "message-books";
    case MESSAGE_HEARTBEAT:
        return "message-heartbeat";
    case MESSAGE_BYE:
        return "message-bye";
    case MESSAGE_WATERMARK:
        return "message-watermark";
    case MESSAGE_DIRECT:
        return "message-direct";
    case MESSAGE_NOTE:
        return "message-note";
    case MESSAGE_CLOCK:
        return "message-clock";
    case MESSAGE_COMMAND:
        return "message-command";
    case MESSAGE_REPLY:
        return sample_reply_name(ANSWER_NODE);
    case MESSAGE_WATCH:
        return "message-watch";
    case MESSAGE_OBSERVATION:
        return "message-observation";
    case MESSAGE_SETPOINT:
        return "message-setpoint";
    case MESSAGE_PARTIALS:
        return "message-partials";
    case MESSAGE_JUDGEMENT:
        return "message-judgement";
    case MESSAGE_VALUES:
        return "message-values";
    case MESSAGE_LOOP:
        return "message-loop";
    case MESSAGE_LAUNCH:
        return "message-launch";
    }
    abort();
}

static size_t must(int n)
{
    if (n < 0)
        abort();
    return (size_t)n;
}

size_t sample_dictionary(uint8_t *out)
{
    static const struct dict_aspect tick = {.id = TICK, .name = "tick"};
    static const struct dict_aspect frame_shown = {
        .id = FRAME_SHOWN,
        .name = "frame_shown",
        .field_count = 4,
        .fields = {{.type = DICT_INT64, .name = "frame"},
                   {.type = DICT_FLOAT64, .name = "latency", .unit = "ms"},
                   {.type = DICT_ENUM, .name = "kind", .labels = "key|delta"},
                   {.type = DICT_STRING, .name = "source"}},
    };
    size_t n = must(dict_append_aspect(out, 0, SAMPLE_BYTES, &tick));
    n = must(dict_append_aspect(out, n, SAMPLE_BYTES, &frame_shown));
    return must(dict_append_string(out, n, SAMPLE_BYTES, 1, "studio"));
}

size_t sample_kinds(uint8_t *out)
{
    static const struct dict_aspect kinds[] = {
        {.id = 1,
         .kind = DICT_SPAN,
         .name = "decode",
         .field_count = 2,
         .fields = {{.type = DICT_INT64, .name = "duration", .unit = "ns"}, {.type = DICT_INT64, .name = "frame"}}},
        {.id = 2,
         .kind = DICT_COUNTER,
         .name = "dropped",
         .field_count = 1,
         .fields = {{.type = DICT_INT64, .name = "count", .unit = "frames"}}},
        {.id = 3,
         .kind = DICT_GAUGE,
         .name = "temperature",
         .field_count = 1,
         .fields = {{.type = DICT_FLOAT64, .name = "value", .unit = "degC"}}},
        {.id = 4,
         .kind = DICT_SENT,
         .name = "ask",
         .field_count = 2,
         .fields = {{.type = DICT_STRING, .name = "peer"}, {.type = DICT_INT64, .name = "tag"}}},
        {.id = 5,
         .kind = DICT_RECEIVED,
         .name = "told",
         .field_count = 2,
         .fields = {{.type = DICT_STRING, .name = "peer"}, {.type = DICT_INT64, .name = "tag"}}},
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        n = must(dict_append_aspect(out, n, SAMPLE_BYTES, &kinds[i]));
    return n;
}

size_t sample_wait(uint8_t *out)
{
    static const struct dict_aspect wait = {
        .id = 1,
        .kind = DICT_WAIT,
        .name = "queue_free",
        .field_count = 3,
        .fields = {{.type = DICT_INT64, .name = "duration", .unit = "ns"},
                   {.type = DICT_ENUM, .name = "reason", .unit = "1", .labels = "lock"},
                   {.type = DICT_INT64, .name = "place"}},
    };
    return must(dict_append_aspect(out, 0, SAMPLE_BYTES, &wait));
}

/* A tick at `at`, and a frame 500 us later. */
static size_t put_records(uint8_t *out, uint64_t at, int64_t frame, double latency)
{
    uint64_t bits;
    memcpy(&bits, &latency, sizeof bits);
    uint8_t *p = packet_put_record(out, TICK, at);
    p = packet_put_record(p, FRAME_SHOWN, at + 500000);
    bytes_put_u64(p, (uint64_t)frame);
    bytes_put_u64(p + 8, bits);
    bytes_put_u64(p + 16, (uint64_t)(frame & 1));
    bytes_put_u64(p + 24, 1); /* "studio" */
    return (size_t)(p + 32 - out);
}

size_t sample_packet(int i, uint8_t *out)
{
    struct packet_header h = {
        .uuid = {0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8, 0xb9, 0xba, 0xbb, 0xbc, 0xbd, 0xbe, 0xbf},
        .stream_id = 7,
        .size_bytes = PACKET_HEADER_BYTES,
        .seq = (uint64_t)i,
        .instance = UINT64_C(0x0000303900000001),
        .ring = 2,
        .thread = 4711,
        .generation = 1,
    };
    h.dictionary = hash_fnv64(HASH_FNV64_START, out, sample_dictionary(out));
    static const struct {
        enum packet_kind kind;
        uint64_t begin, end, discarded, first_ordinal;
    } stream[SAMPLE_PACKETS] = {
        {PACKET_OPEN, 1000000, 1000000, 0, 0},  {PACKET_DATA, 2000000, 2500000, 0, 0},
        {PACKET_LOSS, 2500000, 3000000, 3, 2},  {PACKET_DATA, 3000000, 3500000, 3, 5},
        {PACKET_CLOSE, 3500000, 4000000, 5, 7},
    };
    h.kind = stream[i].kind;
    h.timestamp_begin = stream[i].begin;
    h.timestamp_end = stream[i].end;
    h.discarded = stream[i].discarded;
    h.first_ordinal = stream[i].first_ordinal;
    if (h.kind == PACKET_DATA) {
        h.records = 2;
        h.size_bytes +=
            put_records(out + PACKET_HEADER_BYTES, h.timestamp_begin, i == 1 ? 41 : -42, i == 1 ? 12.5 : -0.0);
    }
    packet_put_header(out, &h);
    return h.size_bytes;
}

static void sample_positions(uint32_t *count, struct message_position *p)
{
    *count = 2;
    p[0] = (struct message_position){.instance = 11, .ring = 12, .next_seq = 13, .next_ordinal = 14, .discarded = 15};
    p[1] = (struct message_position){UINT64_MAX, 127, 23, 24, 25};
}

static void sample_process(struct message_process *p)
{
    *p = (struct message_process){.instance = UINT64_C(0x0000303900000001),
                                  .stream_id = 7,
                                  .pid = 12345,
                                  .role = ROLE_DAEMON,
                                  .overwrites = true,
                                  .name = "client",
                                  .program = "/opt/vid\xC3\xA9o/client",
                                  .started = 987654321};
    p->dictionary_bytes = (uint32_t)sample_dictionary(p->dictionary);
}

/* Of every message of control: from whom, and to whom. */
static void begin_control(enum message_type type, struct message *m)
{
    memset(m, 0, sizeof *m);
    m->type = type;
    m->envelope = (struct message_envelope){.source = {0xc0, 0xc1},
                                            .run = {0xb0, 1, 2, 3, 4, 5, 0x46, 7, 0x88, 9, 10, 11, 12, 13, 14, 15},
                                            .node = "studio",
                                            .life = UINT64_C(0x0123456789)};
}

void sample_aspects(struct message *m)
{
    begin_control(MESSAGE_COMMAND, m);
    m->command = (struct message_command){.id = 10,
                                          .deadline = 1010,
                                          .verb = VERB_SET,
                                          .subject = SUBJECT_ASPECTS,
                                          .mode = ASPECT_COUNT,
                                          .patterns = "frame_* video:[a-f]*.shown"};
}

void sample_configure(struct message *m)
{
    begin_control(MESSAGE_COMMAND, m);
    m->command = (struct message_command){.id = 12,
                                          .deadline = 1012,
                                          .owner = {.epoch = 3, .holder = UINT64_C(0xfedcba9876543210)},
                                          .verb = VERB_CONFIGURE};
    m->configure = (struct message_configure){.folder = "/dev/shm/bezel-0/run-b0010203/studio",
                                              .collector = "tcp://127.0.0.1:7766",
                                              .experiment = "experiment: caf\xC3\xA9\ncommand: hello\n"};
}

void sample_poll(struct message *m)
{
    begin_control(MESSAGE_COMMAND, m);
    m->command = (struct message_command){.id = 11,
                                          .deadline = 1011,
                                          .verb = VERB_SET,
                                          .subject = SUBJECT_POLL,
                                          .poll = {.given = POLL_GIVES_ALL,
                                                   .period_ns = 250000,
                                                   .mode = POLL_MODE_BUSY_WAIT,
                                                   .forward = POLL_FORWARD_COLLECT,
                                                   .batch = 64}};
}

void sample_query(struct message *m)
{
    begin_control(MESSAGE_COMMAND, m);
    m->command =
        (struct message_command){.id = 15, .deadline = 1015, .verb = VERB_QUERY, .subject = SUBJECT_KNOBS, .from = 33};
}

void sample_knob(struct message *m)
{
    begin_control(MESSAGE_COMMAND, m);
    m->command =
        (struct message_command){.id = 13,
                                 .deadline = 1013,
                                 .verb = VERB_SET,
                                 .subject = SUBJECT_KNOBS,
                                 .knob = {.action = KNOB_SET, .process = "server", .name = "quality", .value = -40}};
}

static void sample_observation(struct message_observation *o)
{
    *o = (struct message_observation){.life = 3600000000000,
                                      .at = 3605000000001,
                                      .step = 49,
                                      .leadership = {.epoch = 2, .holder = UINT64_C(0x0123456789abcdef)},
                                      .sequence = 17,
                                      .on = true,
                                      .period_ns = 2500000,
                                      .desired_ns = 1000000,
                                      .overrides = 1,
                                      .levels = 3,
                                      .shed = 1,
                                      .settled = true,
                                      .cpu = 9.5,
                                      .polls = 40,
                                      .records = 240,
                                      .elapsed = 100000007,
                                      .limit_count = 2};
    o->limits[0] = (struct message_observed){.limit = 0, .state = MESSAGE_LIMIT_VIOLATED, .value = 24.25};
    o->limits[1] = (struct message_observed){.limit = 2, .state = MESSAGE_LIMIT_HELD, .value = 9.5};
    o->knob_count = 1;
    o->knobs[0] =
        (struct message_steered){.knob = 1, .value = 40, .min = -10, .max = 100, .baseline = 80, .overrides = 1};
}

static void sample_partials(struct message_partials *p)
{
    *p = (struct message_partials){.life = 3600000000000, .at = 3605000000001, .step = 49, .count = 4};
    p->list[0] = (struct message_partial){.limit = 1, .state = PARTIAL_KNOWN, .value = 1250, .over = 5000};
    p->list[1] =
        (struct message_partial){.limit = 3, .state = PARTIAL_KNOWN, .value = 29.5, .unsure = 0.5, .silent = 33000000};
    p->list[2] = (struct message_partial){.limit = 4, .state = PARTIAL_NONE};
    p->list[3] = (struct message_partial){.limit = 5, .state = PARTIAL_KNOWN, .value = 20000000, .buckets = 2};
    p->histogram_bytes = 2 * MESSAGE_BUCKET_BYTES;
    memcpy(p->histograms, "\0\2\13\10\0\0\0\0\0\0\0\7\0\2\13\14\0\0\0\0\0\0\1\0", p->histogram_bytes);
}

static void sample_judgement(struct message_judgement *j)
{
    *j = (struct message_judgement){.leadership = {.epoch = 2, .holder = UINT64_C(0x0123456789abcdef)},
                                    .sequence = 51,
                                    .missing = {UINT64_C(1) << 63 | 2, [15] = 1},
                                    .count = 1};
    j->list[0] = (struct message_judged){.limit = 1,
                                         .state = MESSAGE_LIMIT_VIOLATED,
                                         .value = 25.5,
                                         .worst = 31.25,
                                         .settling = 1100000000,
                                         .held = 3000000000,
                                         .violated = 700000000,
                                         .unknown = 200000000,
                                         .ago = 0,
                                         .doubtful = 100000000,
                                         .trusted_ago = 100000000,
                                         .trusted_worst = 30};
}

static void sample_setpoint(struct message_setpoint *s)
{
    *s = (struct message_setpoint){.leadership = {.epoch = 2, .holder = UINT64_C(0x0123456789abcdef)},
                                   .sequence = 18,
                                   .life = 3600000000000,
                                   .answers = 3605000000001,
                                   .expiry = 500000000,
                                   .lasts = 2000000000,
                                   .on = true,
                                   .period_ns = 10000000,
                                   .cause = -1,
                                   .infeasible = MESSAGE_INFEASIBLE,
                                   .needed = 11.5,
                                   .budget = 10,
                                   .not_the_monitors = true,
                                   .starved = true,
                                   .shed = 2,
                                   .knob_count = 2};
    s->knobs[0] = (struct message_steer){.knob = 0, .given = true, .value = -5, .cause = 2, .metric = 24.25};
    s->knobs[1] = (struct message_steer){.knob = 1, .value = 10, .cause = -1, .metric = 9.5, .saturated = true};
}

void sample_save(struct message *m)
{
    begin_control(MESSAGE_COMMAND, m);
    m->command = (struct message_command){
        .id = 14,
        .deadline = 1014,
        .verb = VERB_SAVE,
        .save = {
            .number = 3, .trigger = 1, .node = "desk1", .at = 1790000000123456789, .left = 10000000000, .value = 24.5}};
}

const char *sample_reply_name(enum message_answer answer)
{
    static const char *const names[] = {
        [ANSWER_REFUSED] = "message-reply-refused",   [ANSWER_WAITING] = "message-reply-waiting",
        [ANSWER_SESSION] = "message-reply-session",   [ANSWER_BEZELD] = "message-reply-bezeld",
        [ANSWER_NODE] = "message-reply-node",         [ANSWER_COLLECTOR] = "message-reply-collector",
        [ANSWER_SAVED] = "message-reply-saved",       [ANSWER_ASPECTS] = "message-reply-aspects",
        [ANSWER_POLL] = "message-reply-polling",      [ANSWER_KNOBS] = "message-reply-knobs",
        [ANSWER_KNOB_SET] = "message-reply-knob-set", [ANSWER_STALE] = "message-reply-stale",
        [ANSWER_ABSENT] = "message-reply-absent",     [ANSWER_MANAGER] = "message-reply-manager",
        [ANSWER_SESSIONS] = "message-reply-sessions", [ANSWER_PROCESSES] = "message-reply-processes",
        [ANSWER_OUTPUT] = "message-reply-output",     [ANSWER_RECORDS] = "message-reply-records",
        [ANSWER_TAKEN] = "message-reply-taken",       [ANSWER_SEGMENTS] = "message-reply-segments",
    };
    return names[answer];
}

static const struct message_node_status node_status = {
    .records = 1001,
    .lost_full = 1002,
    .lost_off = 1003,
    .lost_no_ring = 1004,
    .lost_window = 1005,
    .lost_spool = 1006,
    .lost_reducer = 1019,
    .window_bytes = 1007,
    .spool_bytes = 1008,
    .processes = 1009,
    .processes_seen = 1010,
    .period_ns = 2500000,
    .stop_wanted = true,
    .manager = {.held = true, .epoch = 2, .applied = 1011},
    .firing_count = 1,
    .firings =
        {{.trigger = 1, .count = 3, .at = 1790000000123456789, .age = 1500000, .value = 24.5, .process = "client"}},
    .way = MESSAGE_WAY_DIRECT};

static const struct message_collector_status collector_status = {.records = 2001,
                                                                 .bytes = 2002,
                                                                 .packets = 2003,
                                                                 .discarded = 2004,
                                                                 .refused = 2005,
                                                                 .over_rate = 2006,
                                                                 .unidentified = 2007,
                                                                 .peers = 2008,
                                                                 .streams = 2009,
                                                                 .processes = 2010,
                                                                 .nodes = 2011,
                                                                 .store_errno = 28,
                                                                 .port = 2012,
                                                                 .expired = 2013,
                                                                 .expired_records = 2014,
                                                                 .expired_bytes = 2015,
                                                                 .own_records = 2016};

static const struct message_polling polling = {.on = true,
                                               .period_ns = 250000,
                                               .mode = POLL_MODE_BUSY_WAIT,
                                               .forward = POLL_FORWARD_COLLECT,
                                               .batch = 64,
                                               .effective_ns = 250113,
                                               .worst_ns = 251000};

static const struct message_knob_state knob_states[] = {{.instance = UINT64_C(0x0000303900000001),
                                                         .pid = 12345,
                                                         .process = "client",
                                                         .name = "quality",
                                                         .unit = "percent of all",
                                                         .value = 40,
                                                         .min = -10,
                                                         .max = 100,
                                                         .initial = 80},
                                                        {.instance = 2, .process = "server", .name = "threads"}};

static const struct message_session sessions[] = {
    {.run = {0xb0, 1, 2, 3, 4, 5, 0x46, 7, 0x88, 9, 10, 11, 12, 13, 14, 15},
     .experiment = "video-conference",
     .node = "studio",
     .state = DAEMON_ACTIVE,
     .processes = 3,
     .host = "192.0.2.1",
     .key = "operator"},
    {.experiment = "x", .node = "y", .state = DAEMON_PAUSED}};

static const struct message_launched launched_rows[] = {
    {.of = {"server", 1}, .state = LAUNCHED_RUNS, .ready = true, .pid = 4711, .started = 5000000000, .output = 17},
    {.of = {"client.2", 3},
     .state = LAUNCHED_ENDED,
     .pid = 4712,
     .status = 0x300,
     .error = 1,
     .stage = "nice",
     .started = 6000000000,
     .ended = 7000000000,
     .user_ns = 250000000,
     .system_ns = 50000000,
     .memory = 12 << 20,
     .output = 4096,
     .dropped = 9},
    {.of = {"x", 1}, .state = LAUNCHED_FAILED, .error = 2, .stage = "exec"}};

static const struct message_segment segments[] = {
    {.instance = 76,
     .run = {0xb0, 1, 2, 3, 4, 5, 0x46, 7, 0x88, 9, 10, 11, 12, 13, 14, 15},
     .pid = 4713,
     .age_ns = 8000000000,
     .records = 4002,
     .name = "server"},
    {.instance = 77, .age_ns = 1, .name = "x"}};

static void sample_launch(struct message_launch *l)
{
    static const char texts[] = "/usr/bin/env\0/srv\0\0env\0-i\0BEZEL_PROCESS=client.2";
    *l = (struct message_launch){.id = 10,
                                 .of = {"client.2", 4},
                                 .grace_ns = 2000000000,
                                 .silence_ns = 30000000000,
                                 .timeout_ns = 1500000000,
                                 .output = LAUNCH_OUTPUT_SPOOL,
                                 .foreground = true,
                                 .port = 5004,
                                 .limits = {10, -1, 1024, -1, 0, -1, -1, -1, 20},
                                 .arguments = 2,
                                 .variables = 1,
                                 .text_bytes = sizeof texts};
    memcpy(l->texts, texts, sizeof texts);
}

void sample_reply(enum message_answer answer, struct message *m)
{
    begin_control(MESSAGE_REPLY, m);
    m->reply = (struct message_reply){
        .id = 9, .at = 2009, .state = DAEMON_DRAINED, .text = "the store is full", .answer = answer};
    switch (answer) {
    case ANSWER_REFUSED:
    case ANSWER_STALE:
    case ANSWER_ABSENT:
    case ANSWER_WAITING:
    case ANSWER_TAKEN:
        break;
    case ANSWER_SESSION:
        m->reply.begun = true;
        break;
    case ANSWER_BEZELD:
        m->reply.sessions = 3;
        break;
    case ANSWER_NODE:
        m->reply.node = node_status;
        break;
    case ANSWER_COLLECTOR:
        m->reply.collector = collector_status;
        break;
    case ANSWER_MANAGER:
        m->reply.manager = (struct message_manager_status){
            .epoch = 2, .observations = 3001, .decisions = 3002, .setpoints = 3003, .reached = 3004};
        break;
    case ANSWER_SAVED:
        m->reply.saved = (struct message_saved){.records = 5000, .processes = 3, .behind = 1};
        break;
    case ANSWER_ASPECTS:
        m->reply.matched = (struct message_matched){.aspects = 7, .processes = 2};
        break;
    case ANSWER_POLL:
        m->reply.polling = polling;
        break;
    case ANSWER_KNOBS:
        m->knobs.next = 33;
        m->knobs.count = 2;
        memcpy(m->knobs.knobs, knob_states, sizeof knob_states);
        break;
    case ANSWER_KNOB_SET:
        m->reply.knob_set = 2;
        break;
    case ANSWER_SESSIONS:
        m->sessions.count = 2;
        memcpy(m->sessions.sessions, sessions, sizeof sessions);
        break;
    case ANSWER_PROCESSES:
        m->launched.change = 12;
        m->launched.more = true;
        m->launched.left = 2;
        m->launched.count = sizeof launched_rows / sizeof *launched_rows;
        memcpy(m->launched.rows, launched_rows, sizeof launched_rows);
        break;
    case ANSWER_RECORDS:
        m->reply.records = 4001;
        break;
    case ANSWER_SEGMENTS:
        strcpy(m->segments.folder, "/dev/shm/bezel-1000");
        m->segments.next = 77;
        m->segments.count = 2;
        memcpy(m->segments.rows, segments, sizeof segments);
        break;
    case ANSWER_OUTPUT:
        m->output = (struct message_output){.offset = 4096, .last = true, .count = 6, .bytes = "hello\n"};
        break;
    }
}

void sample_message(enum message_type type, struct message *m)
{
    memset(m, 0, sizeof *m);
    m->type = type;
    if (type >= MESSAGE_COMMAND)
        begin_control(type, m);
    switch (type) {
    case MESSAGE_HELLO:
        m->hello = (struct message_hello){.run = {1}, .clock = {2, 3}, .uuid = {0xb0, 0xb1}, .node = "desk1"};
        m->hello.realtime_offset = -5000000000;
        m->hello.pid = 4242;
        m->hello.attempt = 3600000000000;
        break;
    case MESSAGE_WELCOME:
        m->welcome.credit_bytes = 8 << 20;
        m->welcome.more = true;
        memset(m->welcome.clock, 0xc1, sizeof m->welcome.clock);
        m->welcome.clock_port = 7001;
        sample_positions(&m->welcome.stream_count, m->welcome.streams);
        break;
    case MESSAGE_REFUSE:
        m->refuse = (struct message_refuse){.reason = "this collector stores another run"};
        break;
    case MESSAGE_PROCESS:
        sample_process(&m->process);
        break;
    case MESSAGE_NEED_PROCESS:
        m->need_process.instance = UINT64_C(0x0102030405060708);
        break;
    case MESSAGE_ACK:
        sample_positions(&m->ack.stream_count, m->ack.streams);
        break;
    case MESSAGE_BOOKS:
        m->books = (struct message_books){.instance = 31, .state = PROCESS_DETACHED, .at = 32, .unfinished = 33};
        m->books.unobserved = 34;
        m->books.row_count = 1;
        m->books.rows[0] = (struct message_books_row){
            .aspect = 1, .attempts = 100, .full = 4, .off = 5, .no_ring = 6, .window = 7, .spool = 8};
        break;
    case MESSAGE_WATCH:
        break;
    case MESSAGE_OBSERVATION:
        sample_observation(&m->observation);
        break;
    case MESSAGE_SETPOINT:
        sample_setpoint(&m->setpoint);
        break;
    case MESSAGE_PARTIALS:
        sample_partials(&m->partials);
        break;
    case MESSAGE_JUDGEMENT:
        sample_judgement(&m->judgement);
        break;
    case MESSAGE_VALUES:
        m->values = (struct message_values){.life = 3600000000000, .at = 3605000000002, .count = 2};
        m->values.list[0] = (struct message_value){.limit = 1,
                                                   .state = PARTIAL_KNOWN,
                                                   .lack = LACK_PRECISION,
                                                   .value = 81.5,
                                                   .low = 79,
                                                   .high = 81.75,
                                                   .age = 12000000,
                                                   .collected = 3000000};
        m->values.list[1] = (struct message_value){.limit = 2, .lack = LACK_CLOCKS};
        break;
    case MESSAGE_LOOP:
        m->loop = (struct message_loop){.leadership = {.epoch = 2, .holder = UINT64_C(0x0123456789abcdef)},
                                        .sequence = 18,
                                        .limit = 1,
                                        .collected = 3000000,
                                        .decided = 20000000,
                                        .sent = 20500000,
                                        .held = 400000,
                                        .count = 1,
                                        .lacking = {{.limit = 2, .lack = LACK_CLOCKS}}};
        break;
    case MESSAGE_LAUNCH:
        sample_launch(&m->launch);
        break;
    case MESSAGE_HEARTBEAT:
        m->heartbeat.at = 123456789012;
        break;
    case MESSAGE_WATERMARK:
        m->watermark.low = 123456000000;
        break;
    case MESSAGE_DIRECT:
        m->direct = (struct message_direct){.attempt = 61, .proof = 62, .agreed = true};
        strcpy(m->direct.text, "/dev/shm/bezel-1000");
        break;
    case MESSAGE_NOTE:
        m->note = (struct message_note){.instance = 41, .pid = 42, .at = 43};
        strcpy(m->note.name, "client.1");
        strcpy(m->note.code, "BEZEL-RING-NO-MEMORY");
        strcpy(m->note.text, "no memory for the ring of a thread: its records are lost");
        break;
    case MESSAGE_CLOCK:
        m->clock = (struct message_clock){
            .number = 51, .identity = {52, 53}, .arrived = 54, .answered = 55, .ahead = -56, .error = 57};
        break;
    case MESSAGE_BYE:
        break;
    case MESSAGE_COMMAND:
        m->command = (struct message_command){.id = 9, .deadline = 1009, .verb = VERB_STOP};
        break;
    case MESSAGE_REPLY:
        sample_reply(ANSWER_NODE, m);
        break;
    }
}
