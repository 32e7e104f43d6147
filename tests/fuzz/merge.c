// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Streams that `bezel export --merge` makes one of: whatever the files hold, what it writes is packets of well-formed
 * records, and of them exactly those that can be read in memory, in the order of time, with all losses. The first byte
 * of an input says how often each file counts, by its highest bit that buffers are as small as may be, and by the next
 * one which buffers; two numbers of 16 bits say how long the first two files are. The files follow.
 */
#include "base/file.h"
#include "export/export_internal.h"
#include "mdr/parts.h"
#include "run/model/packet_chain.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { FILES = 3, TIMES = 16, PREFIX = 5, HEAD = 72, ROOMY = 16 << 20, MERGED_MAX = 256 << 20 };

static const uint8_t uuid[16] = {0xb0, 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7,
                                 0xb8, 0xb9, 0xba, 0xbb, 0xbc, 0xbd, 0xbe, 0xbf};
static char run[] = "/dev/shm/bezel-fuzz-merge-XXXXXX", node_dir[64], to[64], records[96], metadata[96];
static int files[FILES];
static struct model *model;
static struct model_node *node;

/* What the trace must hold next. */
struct event {
    uint64_t time, lost; /* 0: a record */
    size_t source, order;
    const struct model_process *process;
    uint32_t ring, thread;
    struct packet_record record;
};

struct events {
    size_t count, capacity;
    struct event *list;
};

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static void clean_up(void)
{
    (void)!file_remove_tree(run);
    model_free(model);
}

static void add_process(uint32_t id, const char *name, const uint8_t *dictionary, size_t n)
{
    static struct message_process said;
    struct dict *dict;
    said = (struct message_process){.instance = UINT64_C(0x303900000000) + id, .stream_id = id, .pid = 4711};
    snprintf(said.name, sizeof said.name, "%s", name);
    struct model_process *p = model_add_process(node, &said);
    fuzz_must(p && dict_parse(dictionary, n, &dict) == 0);
    model_set_dictionary(p, dict);
}

/* Whose records are as large, merged, as any can be; and some are as small. */
static void add_wordy_process(void)
{
    static uint8_t bytes[4096];
    static char text[DICT_TEXT_MAX + 1];
    struct dict_aspect a = {.id = 1, .name = "wordy", .field_count = DICT_FIELDS_MAX};
    static const char *const names[DICT_FIELDS_MAX] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    for (int i = 0; i < DICT_FIELDS_MAX; i++)
        a.fields[i] = (struct dict_field){.type = DICT_STRING, .name = names[i]};
    int n = dict_append_aspect(bytes, 0, sizeof bytes, &a);
    a = (struct dict_aspect){.id = 2, .name = "mute"};
    n = n < 0 ? n : dict_append_aspect(bytes, (size_t)n, sizeof bytes, &a);
    memset(text, 'x', DICT_TEXT_MAX);
    n = n < 0 ? n : dict_append_string(bytes, (size_t)n, sizeof bytes, 1, text);
    n = n < 0 ? n : dict_append_string(bytes, (size_t)n, sizeof bytes, 2, "y");
    fuzz_must(n > 0);
    text[MESSAGE_NAME_MAX] = '\0';
    add_process(2, text, bytes, (size_t)n);
}

static void begin(void)
{
    struct message_hello hello = {.node = "desk"};
    char *dictionary, path[96];
    size_t n;
    fuzz_must(mkdtemp(run));
    snprintf(node_dir, sizeof node_dir, "%s/trace/desk", run);
    snprintf(to, sizeof to, "%s/merged", run);
    snprintf(records, sizeof records, "%s/records", to);
    snprintf(metadata, sizeof metadata, "%s/metadata", to);
    fuzz_must(file_make_dirs(node_dir, 0700) == 0 && file_make_dirs(to, 0700) == 0);
    for (int i = 0; i < FILES; i++) {
        snprintf(path, sizeof path, "%s/%d", node_dir, i);
        files[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        fuzz_must(files[i] >= 0);
    }
    memcpy(hello.uuid, uuid, sizeof uuid);
    model = model_new("");
    node = model ? model_add_node(model, &hello) : NULL;
    fuzz_must(node && file_read(BEZEL_SOURCE_DIR "/tests/golden/v1/dictionary.bin", 1 << 16, &dictionary, &n) == 0);
    add_process(1, "app", (const uint8_t *)dictionary, n);
    free(dictionary);
    add_wordy_process();
    atexit(clean_up);
}

static void put_file(int i, const uint8_t *data, size_t n)
{
    fuzz_must(ftruncate(files[i], 0) == 0 && pwrite(files[i], data, n, 0) == (ssize_t)n);
}

/* ---- what can be read in memory ---------------------------------------------------------------------------------- */

static void add_event(struct events *events, struct event e)
{
    if (events->count == events->capacity) {
        events->capacity = 2 * events->capacity + 64;
        events->list = realloc(events->list, events->capacity * sizeof *events->list);
        fuzz_must(events->list);
    }
    e.order = events->count;
    events->list[events->count++] = e;
}

/* Returns how many bytes at `p` are packets that follow each other in one file. */
static uint64_t whole_packets(const uint8_t *p, size_t n)
{
    struct packet_header h, first;
    struct packet_chain chain = {0};
    uint64_t at = 0;
    for (; packet_get_header(p + at, n - at, &h) == 0 && !packet_chain_check(&chain, &h); at += h.size_bytes) {
        if (h.seq == 0)
            first = h;
        if (memcmp(h.uuid, first.uuid, sizeof h.uuid) != 0 || h.stream_id != first.stream_id ||
            h.instance != first.instance || h.ring != first.ring)
            break;
        packet_chain_take(&chain, &h);
    }
    return at;
}

/* Adds the records of a packet, from `time` on. False: something is wrong with the last one. */
static bool expect_records(struct events *events, struct event e, const uint8_t *packet, const struct packet_header *h)
{
    const struct dict *d = e.process->dict;
    size_t offset = PACKET_HEADER_BYTES;
    uint32_t left = h->records;
    for (; offset < h->size_bytes; left--) {
        if (left == 0 || packet_next_record(packet, h, d->field_counts, d->aspect_count, &offset, &e.record) != 1 ||
            e.record.timestamp < e.time || e.record.timestamp > h->timestamp_end)
            return false;
        e.time = e.record.timestamp;
        add_event(events, e);
    }
    return left == 0;
}

/* Adds what the `n` bytes of whole packets at `p` hold, up to where they are damaged. */
static void expect(struct events *events, size_t source, const uint8_t *p, uint64_t n)
{
    struct packet_header h, before = {0};
    for (uint64_t at = 0; at < n; at += h.size_bytes, before = h) {
        fuzz_must(packet_get_header(p + at, n - at, &h) == 0);
        struct event e = {.source = source, .ring = h.ring, .thread = h.thread, .time = h.timestamp_begin};
        e.process = model_find_process(node, h.instance);
        if (!e.process || h.stream_id != e.process->stream_id || memcmp(h.uuid, uuid, sizeof uuid) != 0 ||
            !dict_includes(e.process->dict, h.dictionary))
            return;
        e.lost = h.discarded - before.discarded;
        if (e.lost) {
            e.time = h.timestamp_end;
            add_event(events, e);
            e.lost = 0;
        }
        if (!expect_records(events, e, p + at, &h))
            return;
    }
}

static int compare(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* ---- the merged trace -------------------------------------------------------------------------------------------- */

/* A packet's content, of which `at` bytes were read. */
struct content {
    const uint8_t *bytes;
    size_t at, end;
};

static const uint8_t *take(struct content *c, size_t n)
{
    fuzz_must(n <= c->end - c->at);
    c->at += n;
    return c->bytes + c->at - n;
}

static void align(struct content *c)
{
    while (c->at % 4 != 0)
        fuzz_must(*take(c, 1) == 0);
}

static void take_text(struct content *c, const char *text)
{
    size_t n = strlen(text) + 1;
    fuzz_must(memcmp(take(c, n), text, n) == 0);
}

static const char *text_of(const struct dict *d, uint64_t id)
{
    return id - 1 < d->string_count ? d->strings[id - 1] : "";
}

static void take_record(struct content *c, const struct event *e, const uint32_t bases[3])
{
    const struct model_process *p = e->process;
    align(c);
    fuzz_must(bytes_get_u32(take(c, 4)) == bases[p->stream_id] + e->record.aspect);
    fuzz_must(bytes_get_u64(take(c, 8)) == e->time);
    take_text(c, p->name);
    align(c);
    fuzz_must(bytes_get_u32(take(c, 4)) == p->pid && bytes_get_u64(take(c, 8)) == p->instance);
    fuzz_must(bytes_get_u32(take(c, 4)) == e->ring && bytes_get_u32(take(c, 4)) == e->thread);
    for (uint32_t i = 0; i < e->record.value_count; i++) {
        uint64_t value = packet_value(&e->record, i);
        if (p->dict->aspects[e->record.aspect - 1].fields[i].type == DICT_STRING) {
            take_text(c, text_of(p->dict, value));
        } else {
            align(c);
            fuzz_must(bytes_get_u64(take(c, 8)) == value);
        }
    }
}

/* A merged packet's header, and what went before it. */
struct head {
    uint64_t begin, end, content, size, discarded, number;
};

static struct head take_head(const uint8_t *p, size_t n, const struct head *before)
{
    fuzz_must(n >= HEAD && bytes_get_u32(p) == (uint32_t)PACKET_MAGIC && memcmp(p + 4, uuid, sizeof uuid) == 0 &&
              bytes_get_u32(p + 20) == 1);
    struct head h = {bytes_get_u64(p + 24), bytes_get_u64(p + 32), bytes_get_u64(p + 40),
                     bytes_get_u64(p + 48), bytes_get_u64(p + 56), bytes_get_u64(p + 64)};
    fuzz_must(h.begin >= before->end && h.end >= h.begin && h.discarded >= before->discarded);
    fuzz_must(h.content % 8 == 0 && h.content >= 8 * HEAD && h.content <= h.size && h.size - h.content < 32);
    fuzz_must(h.size % 32 == 0 && h.size / 8 <= n);
    return h;
}

/* Losses in sum, which no file can make fall. */
static uint64_t add_lost(uint64_t sum, uint64_t lost)
{
    return lost > UINT64_MAX - sum ? UINT64_MAX : sum + lost;
}

/* Reads packet `p`, whose events are those from `e` on. Returns how many it holds. */
static size_t take_packet(const uint8_t *p, const struct head *h, uint64_t lost, const struct event *e,
                          const struct event *end, const uint32_t bases[3])
{
    const struct event *first = e;
    struct content c = {p, HEAD, h->content / 8};
    for (; e < end && (e->lost ? add_lost(lost, e->lost) <= h->discarded && e->time <= h->end : c.at < c.end); e++) {
        fuzz_must(e->time >= h->begin && e->time <= h->end);
        if (e->lost)
            lost = add_lost(lost, e->lost);
        else
            take_record(&c, e, bases);
    }
    fuzz_must(c.at == c.end && lost == h->discarded);
    return (size_t)(e - first);
}

static void check(const struct events *events, const uint32_t bases[3])
{
    char *bytes;
    size_t n, taken = 0;
    struct head before = {0};
    fuzz_must(file_read(records, MERGED_MAX, &bytes, &n) == 0);
    uint64_t number = 0;
    for (size_t at = 0; at < n; at += before.size / 8) {
        const uint8_t *p = (const uint8_t *)bytes + at;
        struct head h = take_head(p, n - at, &before);
        fuzz_must(h.number == number++);
        taken += take_packet(p, &h, before.discarded, events->list + taken, events->list + events->count, bases);
        before = h;
    }
    fuzz_must(taken == events->count && (taken == 0) == (n == 0));
    free(bytes);
    fuzz_must(unlink(records) == 0 && unlink(metadata) == 0);
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

/* The streams of `found`, each `times`. Event classes are numbered as their processes come: `bases` says from where. */
static void list_streams(const struct export_node *found, size_t times, struct export_node *all, uint32_t bases[3])
{
    uint32_t classes = 0;
    bool seen[3] = {false};
    for (size_t i = 0; i < times * found->count; i++) {
        all->streams[all->count++] = found->streams[i % found->count];
        const struct model_process *p = model_find_process(node, found->streams[i % found->count].instance);
        if (!p || seen[p->stream_id])
            continue;
        seen[p->stream_id] = true;
        bases[p->stream_id] = classes;
        classes += p->dict->aspect_count;
    }
}

static void merge(const struct export_node *found, uint8_t how, const uint8_t *const data[FILES])
{
    struct export_stream streams[FILES * TIMES];
    struct export_node all = {.streams = streams};
    struct events events = {0};
    uint32_t bases[3] = {0};
    list_streams(found, 1 + how % TIMES, &all, bases);
    for (size_t i = 0; i < all.count; i++)
        expect(&events, i, data[all.streams[i].path[strlen(all.streams[i].path) - 1] - '0'], all.streams[i].bytes);
    if (events.count)
        qsort(events.list, events.count, sizeof *events.list, compare);
    struct order_settings order = {.buffers = how & 0x40 ? ORDER_SISO : ORDER_MISO, .memory = how & 0x80 ? 0 : ROOMY};
    fuzz_must(export_merge(node, &all, to, &order) == 0);
    check(&events, bases);
    free(events.list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!model)
        begin();
    if (size < PREFIX)
        return 0;
    const uint8_t *parts[FILES], *p = data + PREFIX;
    size_t present = 0;
    for (int i = 0; i < FILES; i++) {
        size_t rest = (size_t)(data + size - p), n = i < FILES - 1 ? bytes_get_u32(data + 1) >> 16 * i & 0xFFFF : rest;
        n = n < rest ? n : rest;
        parts[i] = p;
        put_file(i, p, n);
        present += whole_packets(p, n) > 0;
        p += n;
    }
    struct export_nodes nodes;
    fuzz_must(export_find(run, &nodes) == 0 && nodes.count == 1 && nodes.list[0].count == present);
    for (size_t i = 0; i < present; i++) {
        const struct export_stream *s = &nodes.list[0].streams[i];
        int file = s->path[strlen(s->path) - 1] - '0';
        fuzz_must(s->bytes ==
                  whole_packets(parts[file], (file < FILES - 1 ? parts[file + 1] : data + size) - parts[file]));
    }
    if (present)
        merge(&nodes.list[0], data[0], parts);
    export_find_free(&nodes);
    return 0;
}
