// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/fake_sensor.h"

#include "base/file.h"
#include "base/hash.h"
#include "mdr/message.h"
#include "tests/lib/seed.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A test that cannot go on says what it waited for, and what there was. */
static _Noreturn BEZEL_PRINTF(1, 2) void give_up(const char *format, ...)
{
    va_list args;
    fputs("fake_sensor: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

struct fake_sensor *fake_new(const char *node, const uint8_t run[16], uint64_t seed)
{
    struct fake_sensor *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->in = calloc(1, sizeof *f->in);
    f->out = calloc(1, sizeof *f->out);
    if (!f->in || !f->out) {
        fake_free(f);
        return NULL;
    }
    uint64_t half = hash_fnv64(HASH_FNV64_START, node, strlen(node));
    memcpy(f->hello.run, run, 16);
    clock_identity(f->hello.clock);
    memcpy(f->hello.uuid, &half, 8);
    memcpy(f->hello.uuid + 8, run, 8);
    snprintf(f->hello.node, sizeof f->hello.node, "%s", node);
    f->hello.realtime_offset = clock_realtime_offset();
    f->hello.pid = (uint32_t)getpid();
    f->hello.attempt = (uint64_t)clock_now();
    f->seed = seed;
    return f;
}

void fake_forget_processes(struct fake_sensor *f)
{
    f->forgotten = realloc(f->forgotten, (f->forgotten_count + FAKE_PROCESSES) * sizeof *f->forgotten);
    if (!f->forgotten)
        give_up("there is no memory");
    for (unsigned i = 0; i < f->process_count; i++) {
        f->forgotten[f->forgotten_count++] = f->processes[i]->said.instance;
        for (unsigned r = 0; r < FAKE_RINGS; r++)
            free(f->processes[i]->rings[r].bytes);
        dict_free(f->processes[i]->dict);
        free(f->processes[i]);
    }
    f->process_count = 0;
}

void fake_free(struct fake_sensor *f)
{
    if (!f)
        return;
    link_close(f->link, 0);
    fake_forget_processes(f);
    free(f->forgotten);
    free(f->in);
    free(f->out);
    free(f);
}

/* ---- dictionaries ------------------------------------------------------------------------------------------------ */

static void dictionary_changed(struct fake_process *p, int bytes)
{
    if (bytes < 0)
        give_up("the dictionary of %s takes no more: %s", p->said.name, err_text(bytes));
    p->said.dictionary_bytes = (uint32_t)bytes;
    dict_free(p->dict);
    int err = dict_parse(p->said.dictionary, p->said.dictionary_bytes, &p->dict);
    if (err)
        give_up("the dictionary of %s, of %u bytes, is none: %s", p->said.name, p->said.dictionary_bytes,
                err_text(err));
}

static void append_aspect(struct fake_process *p, const struct dict_aspect *a)
{
    dictionary_changed(p, dict_append_aspect(p->said.dictionary, p->said.dictionary_bytes, MESSAGE_DICT_MAX, a));
}

uint32_t fake_add_string(struct fake_sensor *f, unsigned process, const char *text)
{
    struct fake_process *p = f->processes[process];
    uint32_t id = p->dict->string_count + 1;
    dictionary_changed(p, dict_append_string(p->said.dictionary, p->said.dictionary_bytes, MESSAGE_DICT_MAX, id, text));
    return id;
}

uint32_t fake_add_aspect(struct fake_sensor *f, unsigned process, const char *name)
{
    return fake_add_aspect_like(f, process, &(struct dict_aspect){.name = name});
}

uint32_t fake_add_aspect_like(struct fake_sensor *f, unsigned process, const struct dict_aspect *like)
{
    struct fake_process *p = f->processes[process];
    struct dict_aspect a = *like;
    a.id = p->dict->aspect_count + 1;
    append_aspect(p, &a);
    return a.id;
}

unsigned fake_add_process(struct fake_sensor *f, const char *name, uint32_t pid, enum message_role role)
{
    static const struct dict_aspect tick = {.id = 1, .name = "tick"};
    static const struct dict_aspect shown = {.id = 2,
                                             .name = "frame:shown",
                                             .field_count = 4,
                                             .fields = {{DICT_INT64, "frame", "", ""},
                                                        {DICT_FLOAT64, "latency", "s", ""},
                                                        {DICT_ENUM, "event", "", "idle|a \"quoted\" one||busy"},
                                                        {DICT_STRING, "source.name", "", ""}}};
    struct fake_process *p = calloc(1, sizeof *p);
    if (!p || f->process_count == FAKE_PROCESSES)
        give_up("no room for process %s beside %u", name, f->process_count);
    unsigned index = f->process_count++;
    f->processes[index] = p;
    p->said.instance = seed_next(&f->seed);
    p->said.stream_id = index + 1;
    p->said.pid = pid;
    p->said.role = role;
    snprintf(p->said.name, sizeof p->said.name, "%s", name);
    snprintf(p->said.program, sizeof p->said.program, "/usr/bin/%s", name);
    p->said.started = (uint64_t)clock_now();
    append_aspect(p, &tick);
    append_aspect(p, &shown);
    fake_add_string(f, index, "camera");
    fake_add_string(f, index, "back\\slash \"quote\"\nnew line \t 1 \xc3\xa9");
    return index;
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

static struct fake_stream *stream_of(struct fake_sensor *f, unsigned process, unsigned ring)
{
    struct fake_stream *s = &f->processes[process]->rings[ring];
    if (s->time == 0)
        s->time = (uint64_t)clock_now();
    return s;
}

static uint8_t *reserve(struct fake_stream *s, size_t n)
{
    if (s->used + n > s->capacity) {
        s->capacity = (s->used + n) * 2;
        s->bytes = realloc(s->bytes, s->capacity);
    }
    if (!s->bytes || s->packets == FAKE_PACKETS)
        give_up("no room for a packet of %zu bytes behind %llu", n, (unsigned long long)s->packets);
    return s->bytes + s->used;
}

/* Ends the packet whose `n` bytes were written behind the others. */
static void finish(struct fake_sensor *f, unsigned process, unsigned ring, struct packet_header *h, size_t n)
{
    struct fake_process *p = f->processes[process];
    struct fake_stream *s = &p->rings[ring];
    memcpy(h->uuid, f->hello.uuid, sizeof h->uuid);
    h->stream_id = p->said.stream_id;
    h->size_bytes = n;
    h->discarded = s->discarded;
    h->seq = s->packets;
    h->instance = p->said.instance;
    h->ring = ring;
    h->thread = p->said.pid + ring;
    h->dictionary = p->dict->hash;
    packet_put_header(s->bytes + s->used, h);
    s->starts[s->packets++] = s->used;
    s->used += n;
    s->starts[s->packets] = s->used;
    s->records += h->records;
    p->records += h->records;
}

static void open_stream(struct fake_sensor *f, unsigned process, unsigned ring)
{
    struct fake_stream *s = stream_of(f, process, ring);
    if (s->packets)
        return;
    reserve(s, PACKET_HEADER_BYTES);
    finish(f, process, ring,
           &(struct packet_header){.kind = PACKET_OPEN, .timestamp_begin = s->time, .timestamp_end = s->time},
           PACKET_HEADER_BYTES);
}

static uint8_t *put_random(struct fake_sensor *f, const struct dict *d, struct fake_stream *s, uint8_t *at)
{
    uint32_t aspect = (uint32_t)(seed_next(&f->seed) % d->aspect_count) + 1;
    const struct dict_aspect *a = &d->aspects[aspect - 1];
    s->time += seed_next(&f->seed) % 1000;
    at = packet_put_record(at, aspect, s->time);
    for (uint32_t i = 0; i < a->field_count; i++, at += 8) {
        uint64_t value = seed_next(&f->seed);
        if (a->fields[i].type == DICT_ENUM)
            value %= 5;
        if (a->fields[i].type == DICT_STRING)
            value = value % d->string_count + 1;
        bytes_put_u64(at, value);
    }
    return at;
}

void fake_cut(struct fake_sensor *f, unsigned process, unsigned ring, uint32_t records)
{
    open_stream(f, process, ring);
    struct fake_stream *s = stream_of(f, process, ring);
    struct packet_header h = {.kind = PACKET_DATA, .records = records, .first_ordinal = s->next_ordinal};
    uint8_t *packet = reserve(s, PACKET_HEADER_BYTES + (size_t)records * PACKET_RECORD_MAX_BYTES);
    uint8_t *at = packet + PACKET_HEADER_BYTES;
    h.timestamp_begin = s->time;
    for (uint32_t i = 0; i < records; i++)
        at = put_random(f, f->processes[process]->dict, s, at);
    h.timestamp_end = s->time;
    s->next_ordinal += records;
    finish(f, process, ring, &h, (size_t)(at - packet));
}

void fake_cut_one(struct fake_sensor *f, unsigned process, unsigned ring, uint32_t aspect, const uint64_t *values)
{
    open_stream(f, process, ring);
    struct fake_stream *s = stream_of(f, process, ring);
    struct packet_header h = {.kind = PACKET_DATA, .records = 1, .first_ordinal = s->next_ordinal++};
    uint32_t fields = f->processes[process]->dict->field_counts[aspect];
    size_t n = PACKET_HEADER_BYTES + PACKET_RECORD_BYTES + 8 * (size_t)fields;
    s->time += 1000;
    h.timestamp_begin = h.timestamp_end = s->time;
    uint8_t *at = packet_put_record(reserve(s, n) + PACKET_HEADER_BYTES, aspect, s->time);
    for (uint32_t i = 0; i < fields; i++)
        bytes_put_u64(at + 8 * (size_t)i, values[i]);
    finish(f, process, ring, &h, n);
}

static void packetize_empty(struct fake_sensor *f, unsigned process, unsigned ring, enum packet_kind kind,
                            uint64_t lost)
{
    open_stream(f, process, ring);
    struct fake_stream *s = stream_of(f, process, ring);
    struct packet_header h = {.kind = kind, .timestamp_begin = s->time, .first_ordinal = s->next_ordinal};
    h.timestamp_end = s->time += 500;
    s->discarded += lost;
    s->next_ordinal += lost;
    reserve(s, PACKET_HEADER_BYTES);
    finish(f, process, ring, &h, PACKET_HEADER_BYTES);
}

void fake_lose(struct fake_sensor *f, unsigned process, unsigned ring, uint64_t count)
{
    packetize_empty(f, process, ring, PACKET_LOSS, count);
}

void fake_close_stream(struct fake_sensor *f, unsigned process, unsigned ring)
{
    packetize_empty(f, process, ring, PACKET_CLOSE, 0);
}

/* ---- the protocol ------------------------------------------------------------------------------------------------ */

bool fake_send(struct fake_sensor *f, const void *bytes, size_t n)
{
    return f->link && link_send(f->link, NULL, bytes, n) == 0;
}

bool fake_say(struct fake_sensor *f)
{
    int n = message_encode(f->out, f->frame, sizeof f->frame);
    return n > 0 && fake_send(f, f->frame, (size_t)n);
}

bool fake_say_process(struct fake_sensor *f, unsigned process)
{
    f->out->type = MESSAGE_PROCESS;
    f->out->process = f->processes[process]->said;
    return fake_say(f);
}

bool fake_say_books(struct fake_sensor *f, unsigned process, enum message_process_state state, uint64_t lost)
{
    const struct fake_process *p = f->processes[process];
    struct message_books *books = &f->out->books;
    f->out->type = MESSAGE_BOOKS;
    *books = (struct message_books){.instance = p->said.instance, .state = state, .at = (uint64_t)clock_now()};
    books->row_count = p->dict->aspect_count;
    for (uint32_t i = 0; i < books->row_count; i++)
        books->rows[i].aspect = i + 1;
    for (unsigned r = 0; r < FAKE_RINGS; r++)
        for (uint64_t k = 0; k < p->rings[r].packets; k++) {
            struct packet_header h;
            struct packet_record record;
            const uint8_t *packet = p->rings[r].bytes + p->rings[r].starts[k];
            size_t offset = PACKET_HEADER_BYTES;
            if (packet_get_header(packet, p->rings[r].starts[k + 1] - p->rings[r].starts[k], &h) != 0)
                give_up("packet %llu of ring %u of %s is none", (unsigned long long)k, r, p->said.name);
            while (packet_next_record(packet, &h, p->dict->field_counts, p->dict->aspect_count, &offset, &record) > 0)
                books->rows[record.aspect - 1].attempts++;
        }
    books->rows[0].attempts += lost;
    books->rows[0].full = lost;
    return fake_say(f);
}

void fake_disconnect(struct fake_sensor *f)
{
    link_close(f->link, 0);
    f->link = NULL;
    f->welcome = false;
}

bool fake_connect(struct fake_sensor *f, const char *endpoint)
{
    fake_disconnect(f);
    if (endpoint != f->endpoint)
        snprintf(f->endpoint, sizeof f->endpoint, "%s", endpoint);
    if (link_connect(f->endpoint, PACKET_MAX_BYTES, 4096, f->keys, &f->link) != 0)
        return false;
    f->heard = clock_now();
    f->bye = f->gone = false;
    f->out->type = MESSAGE_HELLO;
    f->hello.attempt++;
    f->out->hello = f->hello;
    return fake_say(f);
}

/* NULL: of a process that was forgotten. */
static struct fake_stream *stream_at(struct fake_sensor *f, const struct message_position *at)
{
    for (unsigned i = 0; i < f->process_count; i++)
        if (f->processes[i]->said.instance == at->instance && at->ring < FAKE_RINGS)
            return &f->processes[i]->rings[at->ring];
    for (size_t i = 0; i < f->forgotten_count; i++)
        if (f->forgotten[i] == at->instance)
            return NULL;
    give_up("the collector names ring %u of process %llx at packet %llu: there are %u processes, of %d rings each",
            at->ring, (unsigned long long)at->instance, (unsigned long long)at->next_seq, f->process_count, FAKE_RINGS);
}

/*
 * A position that repeats what was acknowledged asks for all that comes after it; what is under way may have met it
 * already.
 */
static void take_position(struct fake_sensor *f, const struct message_position *at)
{
    struct fake_stream *s = stream_at(f, at);
    if (!s || (s->is_refused && at->next_seq < s->acked))
        return;
    if (at->next_seq > s->packets || at->next_seq < s->acked)
        give_up(
            "the collector stands at packet %llu of ring %u of process %llx, in message %d: it had acknowledged %llu, "
            "%llu were sent on this connection, and %llu cut",
            (unsigned long long)at->next_seq, at->ring, (unsigned long long)at->instance, (int)f->in->type,
            (unsigned long long)s->acked, (unsigned long long)s->sent, (unsigned long long)s->packets);
    if (at->next_seq == s->acked && clock_now() - s->rewound > 100 * CLOCK_MS) {
        s->sent = s->acked;
        s->rewound = clock_now();
    }
    s->acked = at->next_seq;
    if (s->sent < s->acked)
        s->sent = s->acked;
}

static void take_welcome(struct fake_sensor *f)
{
    for (uint32_t i = 0; i < f->in->welcome.stream_count; i++)
        take_position(f, &f->in->welcome.streams[i]);
    if (f->in->welcome.more)
        return;
    f->welcome = true;
    for (unsigned i = 0; i < f->process_count; i++) {
        for (unsigned r = 0; r < FAKE_RINGS; r++)
            f->processes[i]->rings[r].sent = f->processes[i]->rings[r].acked;
        (void)!fake_say_process(f, i);
    }
}

static void take_need(struct fake_sensor *f)
{
    f->needs++;
    for (unsigned i = 0; i < f->process_count; i++)
        if (f->processes[i]->said.instance == f->in->need_process.instance) {
            (void)!fake_say_process(f, i);
            for (unsigned r = 0; r < FAKE_RINGS; r++)
                f->processes[i]->rings[r].sent = f->processes[i]->rings[r].acked;
        }
}

static void take(struct fake_sensor *f, const struct link_frame *frame)
{
    int err = message_decode(frame->data, frame->size, f->in);
    if (err)
        give_up("the collector sent %zu bytes that are no message: %s", frame->size, err_text(err));
    f->heard = clock_now();
    if (f->in->type == MESSAGE_WELCOME)
        take_welcome(f);
    else if (f->in->type == MESSAGE_NEED_PROCESS)
        take_need(f);
    else if (f->in->type == MESSAGE_ACK)
        for (uint32_t i = 0; i < f->in->ack.stream_count; i++)
            take_position(f, &f->in->ack.streams[i]);
    else if (f->in->type == MESSAGE_BOOKS)
        f->saved++, f->saved_instance = f->in->books.instance;
    else if (f->in->type == MESSAGE_BYE)
        f->bye = true;
    else if (f->in->type == MESSAGE_REFUSE)
        memcpy(f->refused, f->in->refuse.reason, sizeof f->refused);
}

static void send_streams(struct fake_sensor *f)
{
    for (unsigned i = 0; i < f->process_count; i++)
        for (unsigned r = 0; r < FAKE_RINGS; r++) {
            struct fake_stream *s = &f->processes[i]->rings[r];
            while (s->sent < s->packets && s->sent < s->acked + 64 &&
                   fake_send(f, s->bytes + s->starts[s->sent], s->starts[s->sent + 1] - s->starts[s->sent]))
                s->sent++;
        }
}

void fake_round(struct fake_sensor *f, int64_t wait_ns)
{
    struct link_frame frame;
    if (!f->link)
        return;
    link_wait(&f->link, 1, NULL, 0, wait_ns);
    while (link_receive(f->link, &frame) == 0) {
        take(f, &frame);
        link_frame_free(&frame);
    }
    if (clock_now() - f->heard > FAKE_SILENT) {
        f->gone = true;
        (void)!fake_connect(f, f->endpoint);
    }
    if (!f->welcome)
        return;
    f->out->type = MESSAGE_HEARTBEAT;
    f->out->heartbeat.at = (uint64_t)clock_now();
    (void)!fake_say(f);
    send_streams(f);
}

bool fake_all_acked(const struct fake_sensor *f)
{
    for (unsigned i = 0; i < f->process_count; i++)
        for (unsigned r = 0; r < FAKE_RINGS; r++)
            if (f->processes[i]->rings[r].acked < f->processes[i]->rings[r].packets)
                return false;
    return f->welcome;
}

uint64_t fake_records(const struct fake_sensor *f)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < f->process_count; i++)
        sum += f->processes[i]->records;
    return sum;
}

bool fake_settle(struct fake_sensor *f, int64_t timeout_ns)
{
    int64_t deadline = clock_now() + timeout_ns;
    while (!fake_all_acked(f) && clock_now() < deadline)
        fake_round(f, 20 * CLOCK_MS);
    return fake_all_acked(f);
}

bool fake_say_bye(struct fake_sensor *f, int64_t timeout_ns)
{
    int64_t deadline = clock_now() + timeout_ns;
    f->out->type = MESSAGE_BYE;
    if (!fake_say(f))
        return false;
    while (!f->bye && clock_now() < deadline) {
        struct link_frame frame;
        link_wait(&f->link, 1, NULL, 0, 20 * CLOCK_MS);
        while (link_receive(f->link, &frame) == 0) {
            take(f, &frame);
            link_frame_free(&frame);
        }
    }
    return f->bye;
}

bool fake_file_is_right(const struct fake_stream *s, const char *path, bool whole)
{
    char *data;
    size_t n;
    size_t least = whole ? s->used : s->starts[s->acked], expired = 0;
    struct packet_header cover;
    uint64_t records;
    if (file_read(path, 1 << 30, &data, &n) != 0)
        return least == 0;
    bool right = n >= least && n <= s->used;
    if (packet_get_cover(data, n, &cover, &records) == 0) {
        expired = (size_t)cover.size_bytes;
        right = right && cover.seq < s->packets && expired == s->starts[cover.seq + 1] && expired <= n;
    }
    right = right && memcmp(data + expired, s->bytes + expired, n - expired) == 0;
    free(data);
    return right;
}
