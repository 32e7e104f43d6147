// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A collector and everything that reads what it stored, whatever nodes say: two connections over a real link, on which
 * two nodes speak. What is stored is what was taken, through kills of the collector too; where nothing spoilt the files
 * the verifier finds no damage; report and export come to their end.
 *
 * The first byte of an input is a sum of enum collector_how. Then acts: a byte of enum act, with bit 4 for the
 * connection, 5 for the node, 6 for a spoilt byte of the frame (its place and a mask follow) and 7 for saying it twice;
 * a byte with the process (bits 0 and 1), ring (bit 2) and what the act makes of bits 3 to 7; and what the act takes
 * besides. Nodes number their packets as the collector has them after each turn, as WELCOME and ACK would tell them.
 */
#include "base/clock.h"
#include "collector/receive/recover.h"
#include "mdr/builtin.h"
#include "mdr/message.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/receiver_collector.h"
#include "tests/lib/samples.h"

#include <stdbool.h>

enum act {
    SAY_HELLO,
    SAY_PROCESS,
    SAY_RECORDS,
    SAY_LOSS,
    SAY_CLOSE,
    SAY_BOOKS,
    SAY_NOTE,
    SAY_BYE,
    SAY_ALIVE,
    SAY_ANYTHING,
    SKIP_PACKET,
    TURN,
    SAVE,
    RESTART,
    SPOIL_AND_RESTART,
    TICK,
};

enum { LINK_OF_ACT = 16, NODE_OF_ACT = 32, SPOILS = 64, TWICE = 128 };
enum { SPOILS_LATER = 4, IN_ORDER = 16 }; /* of a restart's bits */
enum { NODES = 2, PROCESSES = 4, RINGS = 2, DICTIONARIES = 4, VALUES_MAX = 12 };

static const uint32_t ring_numbers[RINGS] = {0, PACKET_RINGS_MAX - 1};

struct dictionary {
    size_t bytes;
    uint8_t data[DICT_MAX_BYTES];
    struct dict *dict;
};

/* Where a node stands with a ring: what it sends next. */
struct stream {
    uint64_t seq, ordinal, discarded, time;
};

struct speaker {
    const struct dictionary *dictionary[PROCESSES]; /* that was said last */
    struct stream streams[PROCESSES][RINGS];
    uint8_t attempt;
};

struct act_input {
    uint8_t act, node, process, ring, bits; /* bits: 3 to 7 of the second byte */
    uint8_t spoilt_at, mask;
};

static struct collector collector;
static struct link *clients[2];
static struct dictionary dictionaries[DICTIONARIES];
static struct speaker speakers[NODES];
static int waiting, speaking; /* frames on their way, and whose they are */
static const uint8_t *in, *in_end;

static uint8_t take(void)
{
    return in < in_end ? *in++ : 0;
}

/* ---- once -------------------------------------------------------------------------------------------------------- */

static size_t must_fit(int n)
{
    fuzz_must(n > 0);
    return (size_t)n;
}

/* An aspect of the daemon's, by the types of its fields. */
static void add_builtin(struct dictionary *d, uint32_t id, const char *name, const char *types)
{
    static const char *const names[VALUES_MAX] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    struct dict_aspect a = {.id = id, .name = name, .field_count = (uint32_t)strlen(types)};
    for (uint32_t i = 0; i < a.field_count; i++)
        a.fields[i] = (struct dict_field){.type = (enum dict_type)(types[i] - '0'),
                                          .name = names[i],
                                          .labels = types[i] - '0' == DICT_ENUM ? "one|two" : ""};
    d->bytes = must_fit(dict_append_aspect(d->data, d->bytes, sizeof d->data, &a));
}

static void add_builtins(struct dictionary *d)
{
    static const char *const list[][2] = {
        {"bezel_usage", "000000010"},    {"bezel_limit", "02110000000"},    {"bezel_decision", "22000200"},
        {"bezel_metric", "331"},         {"bezel_clocks", "000000"},        {"bezel_polling", "20220"},
        {"bezel_totals", "0000000000"},  {"bezel_expired", "330000"},       {"bezel_knob", "33302000100"},
        {"bezel_observation", "0210"},   {"bezel_snapshot", "30010000002"}, {"bezel_setpoints", "00000000"},
        {"bezel_conclusion", "200110"},  {"bezel_exchange", "000000000"},   {"bezel_thread", "3003"},
        {"bezel_trigger", "0230100033"}, {"bezel_reduced", "330000"},       {"bezel_open", "30003302"},
        {"bezel_ending", "3002"},
    };
    for (uint32_t i = 0; i < sizeof list / sizeof *list; i++)
        add_builtin(d, i + 1, list[i][0], list[i][1]);
    d->bytes = must_fit(dict_append_string(d->data, d->bytes, sizeof d->data, 1, "app"));
    d->bytes = must_fit(dict_append_string(d->data, d->bytes, sizeof d->data, 2, "size\n\"<&,\xc3\xa9"));
}

/* A collector must know all of them: where they change, they change here. */
static void check_builtins(const struct dictionary *d)
{
    struct model_process *p = calloc(1, sizeof *p);
    struct dict *dict;
    uint32_t ids[sizeof p->builtins / sizeof(uint32_t)];
    fuzz_must(p && dict_parse(d->data, d->bytes, &dict) == 0);
    p->role = ROLE_DAEMON;
    model_set_dictionary(p, dict);
    memcpy(ids, &p->builtins, sizeof ids);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        fuzz_must(ids[i] != 0);
    dict_free(dict);
    free(p);
}

/* The daemon's; the same and one more; the golden one; one of every kind. */
static void make_dictionaries(void)
{
    add_builtins(&dictionaries[0]);
    check_builtins(&dictionaries[0]);
    add_builtins(&dictionaries[1]);
    add_builtin(&dictionaries[1], BUILTIN_COUNT + 1, "more", "0123");
    dictionaries[2].bytes = sample_dictionary(dictionaries[2].data);
    dictionaries[3].bytes = sample_kinds(dictionaries[3].data);
    for (int i = 0; i < DICTIONARIES; i++)
        fuzz_must(dict_parse(dictionaries[i].data, dictionaries[i].bytes, &dictionaries[i].dict) == 0);
}

static void end(void)
{
    link_close(clients[0], 0);
    link_close(clients[1], 0);
    collector_close(&collector);
    for (int i = 0; i < DICTIONARIES; i++)
        dict_free(dictionaries[i].dict);
}

static void begin(void)
{
    collector_open(&collector);
    for (int i = 0; i < 2; i++)
        fuzz_must(link_connect(link_endpoint(collector.server), PACKET_MAX_BYTES, 4096, NULL, &clients[i]) == 0);
    make_dictionaries();
    atexit(end);
}

/* ---- what nodes hear --------------------------------------------------------------------------------------------- */

static uint64_t instance_of(uint8_t node, uint8_t process)
{
    return UINT64_C(0x303900000000) + 16 * node + process;
}

static const struct model_process *process_of(uint8_t node, uint8_t process)
{
    uint8_t uuid[16];
    memset(uuid, 0xb0 + node, sizeof uuid);
    const struct model_node *known = model_find_node(collector.model, uuid);
    return known ? model_find_process(known, instance_of(node, process)) : NULL;
}

/* Every node goes on from where the collector stands. */
static void hear_positions(void)
{
    for (uint8_t n = 0; n < NODES; n++)
        for (uint8_t p = 0; p < PROCESSES; p++)
            for (int r = 0; r < RINGS; r++) {
                const struct model_process *known = process_of(n, p);
                const struct model_stream *at = known ? model_find_stream(known, ring_numbers[r]) : NULL;
                struct stream *s = &speakers[n].streams[p][r];
                s->seq = at ? at->at.next_seq : 0;
                s->ordinal = at ? at->at.next_ordinal : 0;
                s->discarded = at ? at->at.discarded : 0;
                s->time = at ? at->last_end : CLOCK_S;
            }
}

/* Whatever a collector answers is well-formed. */
static void hear_answers(void)
{
    static struct message m;
    struct link_frame frame;
    for (int i = 0; i < 2; i++)
        while (link_receive(clients[i], &frame) == 0) {
            fuzz_must(message_decode(frame.data, frame.size, &m) == 0);
            link_frame_free(&frame);
        }
}

static void turn(void)
{
    collector_turn(&collector, waiting);
    waiting = 0;
    hear_answers();
    hear_positions();
}

/* A restart, of which `a` says whether it is in order, and, where it `spoils`, what of the stream and when. */
static void restart(const struct act_input *a, bool spoils)
{
    turn();
    const struct model_process *p = process_of(a->node, a->process);
    const struct model_stream *stream = p ? model_find_stream(p, ring_numbers[a->ring]) : NULL;
    struct spoiling s = {.bits = a->bits};
    if (spoils) {
        s.place = (uint16_t)(take() << 8);
        s.place |= take();
        s.byte = take();
    }
    spoils = spoils && stream && store_path(collector.store, p->node, stream, s.path, sizeof s.path) == 0;
    bool later = spoils && a->bits & SPOILS_LATER;
    if (later)
        collector.later = s;
    collector_restart(&collector, a->bits & IN_ORDER, spoils && !later ? &s : NULL);
    hear_positions();
}

/* ---- what nodes say ---------------------------------------------------------------------------------------------- */

static void send_frame(const struct act_input *a, uint8_t *frame, size_t n)
{
    int who = a->act & LINK_OF_ACT ? 1 : 0;
    if (who != speaking || waiting >= RECEIVER_BATCH - 1)
        turn(); /* frames of two connections come in any order */
    speaking = who;
    if (a->act & SPOILS && n > 0)
        frame[(a->spoilt_at * n) / 256] ^= a->mask;
    for (int times = a->act & TWICE ? 2 : 1; times > 0; times--, waiting++)
        fuzz_must(link_send(clients[who], NULL, frame, n) == 0);
}

static void say(const struct act_input *a, const struct message *m)
{
    static uint8_t frame[MESSAGE_MAX_BYTES];
    int n = message_encode(m, frame, sizeof frame);
    fuzz_must(n > 0);
    send_frame(a, frame, (size_t)n);
}

static const uint64_t extremes[16] = {UINT64_C(0),
                                      UINT64_C(0x7FFFFFFFFFFFFFFF),
                                      UINT64_C(0x8000000000000000),
                                      UINT64_MAX,
                                      UINT64_C(0x7FF8000000000000), /* NaN, infinities, the largest, the smallest */
                                      UINT64_C(0x7FF0000000000000),
                                      UINT64_C(0xFFF0000000000000),
                                      UINT64_C(0x7FEFFFFFFFFFFFFF),
                                      UINT64_C(1),
                                      UINT64_C(0x4000000000000000),
                                      UINT64_C(0xC000000000000000),
                                      UINT64_C(1000000000),
                                      UINT64_C(0xFFFFFFFF),
                                      UINT64_C(0x80000000),
                                      UINT64_C(0xFFFFFFFF80000000),
                                      UINT64_C(1000000000000000)};

/* A byte makes a value: small, or one of the extremes. */
static uint64_t any_value(enum dict_type type)
{
    uint8_t byte = take();
    if (byte >= 0xF0)
        return extremes[byte - 0xF0];
    if (type != DICT_FLOAT64)
        return type == DICT_INT64 ? (uint64_t)((int64_t)byte - 8) : byte;
    double d = byte / 4.0;
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

static void say_hello(const struct act_input *a)
{
    static struct message m;
    m.type = MESSAGE_HELLO;
    m.hello = (struct message_hello){.pid = 1, .realtime_offset = (int64_t)any_value(DICT_INT64)};
    snprintf(m.hello.node, sizeof m.hello.node, "%s", a->bits & 1 ? "../desk" : "desk");
    memset(m.hello.uuid, 0xb0 + a->node, sizeof m.hello.uuid);
    memset(m.hello.run, a->bits & 2 ? 1 : 2, sizeof m.hello.run);
    memcpy(m.hello.clock, collector.model->clock, sizeof m.hello.clock);
    m.hello.clock[0] ^= a->bits & 4 ? 1 : 0;
    speakers[a->node].attempt += a->bits & 8 ? 0 : 1;
    m.hello.attempt = speakers[a->node].attempt;
    say(a, &m);
}

static void say_process(const struct act_input *a)
{
    static struct message m;
    const struct dictionary *d = &dictionaries[a->bits % DICTIONARIES];
    m.type = MESSAGE_PROCESS;
    m.process.instance = instance_of(a->node, a->process);
    m.process.stream_id = a->process + (a->bits & 16 ? 0 : 1);
    m.process.pid = a->process / 2;
    m.process.role = a->bits & 4 ? ROLE_SUT : ROLE_DAEMON;
    m.process.overwrites = a->bits & 8;
    snprintf(m.process.name, sizeof m.process.name, "%s", a->process ? "ap p/\x01" : "");
    snprintf(m.process.program, sizeof m.process.program, "/bin/app");
    m.process.started = any_value(DICT_INT64);
    m.process.dictionary_bytes = (uint32_t)d->bytes;
    memcpy(m.process.dictionary, d->data, d->bytes);
    speakers[a->node].dictionary[a->process] = d;
    say(a, &m);
}

/* Finishes and sends the packet, whose header is `h` but for what all of a stream have alike. */
static void say_packet(const struct act_input *a, struct packet_header *h, uint8_t *packet, size_t n)
{
    const struct dictionary *d = speakers[a->node].dictionary[a->process];
    struct stream *s = &speakers[a->node].streams[a->process][a->ring];
    memset(h->uuid, 0xb0 + a->node, sizeof h->uuid);
    h->stream_id = a->process + 1u;
    h->size_bytes = n;
    h->discarded = s->discarded;
    h->seq = s->seq++;
    h->instance = instance_of(a->node, a->process);
    h->ring = ring_numbers[a->ring];
    h->dictionary = d ? d->dict->hash : dictionaries[0].dict->hash;
    packet_put_header(packet, h);
    send_frame(a, packet, n);
}

/* A packet without records. The first of a stream opens it. */
static void say_empty(const struct act_input *a, enum packet_kind kind, uint64_t lost)
{
    static uint8_t packet[PACKET_HEADER_BYTES];
    struct stream *s = &speakers[a->node].streams[a->process][a->ring];
    struct packet_header h = {.kind = kind, .timestamp_begin = s->time, .timestamp_end = s->time};
    h.first_ordinal = s->ordinal;
    s->ordinal += lost;
    s->discarded += lost;
    say_packet(a, &h, packet, sizeof packet);
}

static void open_stream(const struct act_input *a)
{
    if (speakers[a->node].streams[a->process][a->ring].seq == 0)
        say_empty(a, PACKET_OPEN, 0);
}

static void say_records(const struct act_input *a)
{
    static uint8_t packet[PACKET_HEADER_BYTES + 32 * PACKET_RECORD_MAX_BYTES];
    const struct dictionary *known = speakers[a->node].dictionary[a->process];
    const struct dict *d = known ? known->dict : dictionaries[0].dict;
    open_stream(a);
    struct stream *s = &speakers[a->node].streams[a->process][a->ring];
    struct packet_header h = {.kind = PACKET_DATA, .records = a->bits % 32 + 1u, .first_ordinal = s->ordinal};
    uint8_t *at = packet + PACKET_HEADER_BYTES;
    h.timestamp_begin = s->time;
    for (uint32_t i = 0; i < h.records; i++) {
        const struct dict_aspect *aspect = &d->aspects[take() % d->aspect_count];
        uint8_t step = take();
        s->time += step < 0xC0 ? step * CLOCK_MS : UINT64_C(1) << (step & 63);
        at = packet_put_record(at, aspect->id, s->time);
        for (uint32_t k = 0; k < aspect->field_count; k++, at += 8)
            bytes_put_u64(at, any_value(aspect->fields[k].type));
    }
    h.timestamp_end = s->time;
    s->ordinal += h.records;
    say_packet(a, &h, packet, (size_t)(at - packet));
}

static void say_books(const struct act_input *a)
{
    static struct message m;
    m.type = MESSAGE_BOOKS;
    m.books = (struct message_books){.instance = instance_of(a->node, a->process)};
    m.books.state = (enum message_process_state)(a->bits % 3);
    m.books.at = any_value(DICT_INT64);
    m.books.unfinished = any_value(DICT_INT64);
    m.books.unobserved = any_value(DICT_INT64);
    m.books.row_count = a->bits / 4;
    for (uint32_t i = 0; i < m.books.row_count; i++) {
        struct message_books_row *row = &m.books.rows[i];
        uint64_t *const numbers[] = {&row->attempts, &row->full, &row->off, &row->no_ring, &row->window, &row->spool};
        row->aspect = take() % 16;
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            *numbers[k] = any_value(DICT_INT64);
    }
    say(a, &m);
}

static void say_note(const struct act_input *a)
{
    static struct message m;
    char text[16];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)take();
    text[sizeof text - 1] = '\0';
    m.type = MESSAGE_NOTE;
    m.note = (struct message_note){.instance = a->bits & 1 ? instance_of(a->node, a->process) : 0};
    m.note.at = any_value(DICT_INT64);
    m.note.pid = a->bits;
    message_text(m.note.name, sizeof m.note.name - 1, a->bits & 2 ? text : "");
    message_text(m.note.code, sizeof m.note.code - 1, a->bits & 4 ? text : "BEZEL-UNREAD");
    message_text(m.note.text, sizeof m.note.text - 1, text);
    say(a, &m);
}

static void say_anything(const struct act_input *a)
{
    static uint8_t frame[256];
    size_t n = take();
    for (size_t i = 0; i < n; i++)
        frame[i] = take();
    send_frame(a, frame, n);
}

static void say_plain(const struct act_input *a, enum message_type type)
{
    static struct message m;
    m.type = type;
    m.heartbeat.at = 1;
    say(a, &m);
}

static void act(const struct act_input *a)
{
    switch ((enum act)(a->act % 16)) {
    case SAY_HELLO:
        say_hello(a);
        break;
    case SAY_PROCESS:
        say_process(a);
        break;
    case SAY_RECORDS:
        say_records(a);
        break;
    case SAY_LOSS:
        open_stream(a);
        say_empty(a, PACKET_LOSS, any_value(DICT_INT64));
        break;
    case SAY_CLOSE:
        open_stream(a);
        say_empty(a, PACKET_CLOSE, a->bits);
        break;
    case SAY_BOOKS:
        say_books(a);
        break;
    case SAY_NOTE:
        say_note(a);
        break;
    case SAY_BYE:
        say_plain(a, MESSAGE_BYE);
        break;
    case SAY_ALIVE:
        say_plain(a, MESSAGE_HEARTBEAT);
        break;
    case SAY_ANYTHING:
        say_anything(a);
        break;
    case SKIP_PACKET:
        speakers[a->node].streams[a->process][a->ring].seq++;
        break;
    case TURN:
        turn();
        break;
    case SAVE:
        turn();
        if (a->bits & 1)
            fuzz_must(recover_rows(collector.rundb, collector.store, collector.model) == 0 || collector.spoilt);
        fuzz_must(receiver_save(collector.receiver) == 0);
        break;
    case RESTART:
        restart(a, false);
        break;
    case SPOIL_AND_RESTART:
        restart(a, true);
        break;
    case TICK:
        turn();
        (void)receiver_tick(collector.receiver, clock_now() + (a->bits & 1 ? 2 * RECEIVER_SILENT : 0), true);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!collector.server)
        begin();
    in = data, in_end = data + size;
    memset(speakers, 0, sizeof speakers);
    collector_begin(&collector, take());
    hear_positions();
    while (in < in_end) {
        struct act_input a = {.act = take()};
        uint8_t whose = take();
        a.node = a.act & NODE_OF_ACT ? 1 : 0;
        a.process = whose % PROCESSES;
        a.ring = whose / PROCESSES % RINGS;
        a.bits = whose / 8;
        if (a.act & SPOILS)
            a.spoilt_at = take(), a.mask = take();
        act(&a);
    }
    turn();
    collector_finish(&collector);
    return 0;
}
