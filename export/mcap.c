// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "export/mcap.h"

#include "base/grow.h"
#include "base/hash.h"
#include "export/mcap_bytes.h"
#include "export/mcap_schema.h"

#include <inttypes.h>
#include <stdlib.h>
#include <zlib.h>

/*
 * Messages are gathered in a chunk, with the definitions that they need; then the chunk, an index for each of its
 * channels, and later, at the end of the file, an index of the chunks. Channel 0 has the losses.
 */

static const uint8_t magic[] = {0x89, 'M', 'C', 'A', 'P', '0', '\r', '\n'};
enum opcode {
    HEADER = 1,
    FOOTER,
    SCHEMA,
    CHANNEL,
    MESSAGE,
    CHUNK,
    MESSAGE_INDEX,
    CHUNK_INDEX,
    ATTACHMENT,
    ATTACHMENT_INDEX,
    STATISTICS,
    METADATA,
    METADATA_INDEX,
    SUMMARY_OFFSET,
    DATA_END,
};
enum { CHUNK_BYTES = 1 << 20, NUMBERS_MOST = 65535, OF_SCHEMA = 0, OF_LOSSES = 1 };

struct channel {
    uint64_t messages;
    struct grow_bytes index; /* of the present chunk: time and offset of each message */
};

struct lost {
    char name[2 * MESSAGE_NAME_MAX + 48]; /* of the ring */
    uint64_t records;
};

struct mcap {
    FILE *out;
    uint64_t written; /* bytes of the file */
    uint32_t sum;     /* checksum of these */
    struct channel *channels;
    size_t channel_count, channel_capacity, schema_count;
    struct hash_index numbers; /* of channels, by process and aspect; of schemas, by their hash */
    size_t number_count;
    struct grow_bytes schema_list, channel_list; /* their records, for the summary */
    struct grow_bytes chunk_list, attachment_list, metadata_list;
    struct grow_bytes chunk, scratch;
    uint64_t chunk_first, chunk_last, first, last; /* times of messages */
    uint64_t messages, in_chunk, chunks, attachments, left_out;
    struct lost *lost; /* by stream */
    size_t lost_count, lost_capacity;
};

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static void write_out(struct mcap *m, const void *data, size_t n)
{
    if (n == 0)
        return;
    m->sum = (uint32_t)crc32(m->sum, data, (uInt)n);
    fwrite_unlocked(data, 1, n, m->out);
    m->written += n;
}

static void write_scratch(struct mcap *m)
{
    write_out(m, m->scratch.at, m->scratch.n);
    m->scratch.n = 0;
}

struct mcap *mcap_new(FILE *out)
{
    struct mcap *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->out = out;
    grow_bytes_add(&m->scratch, magic, sizeof magic);
    size_t r = mcap_record(&m->scratch, HEADER);
    mcap_text(&m->scratch, "");
    mcap_text(&m->scratch, "bezel");
    mcap_close(&m->scratch, r, 8);
    write_scratch(m);
    return m;
}

void mcap_free(struct mcap *m)
{
    if (!m)
        return;
    struct grow_bytes *all[] = {&m->schema_list,   &m->channel_list, &m->chunk_list, &m->attachment_list,
                                &m->metadata_list, &m->chunk,        &m->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]->at);
    for (size_t i = 0; i < m->channel_count; i++)
        free(m->channels[i].index.at);
    free(m->channels);
    free(m->numbers.slots);
    free(m->lost);
    free(m);
}

static int error_of(const struct mcap *m)
{
    bool shorts = m->schema_list.short_of_memory || m->channel_list.short_of_memory || m->chunk_list.short_of_memory ||
                  m->attachment_list.short_of_memory || m->metadata_list.short_of_memory || m->chunk.short_of_memory ||
                  m->scratch.short_of_memory;
    return shorts ? BEZEL_ENOMEM : 0;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

static uint64_t time_of(int64_t ns)
{
    return ns > 0 ? (uint64_t)ns : 0;
}

static void end_chunk(struct mcap *m)
{
    struct grow_bytes *s = &m->scratch, *list = &m->chunk_list;
    if (m->chunk.n == 0)
        return;
    uint64_t start = m->written;
    size_t r = mcap_record(s, CHUNK);
    mcap_uint(s, m->chunk_first, 8);
    mcap_uint(s, m->chunk_last, 8);
    mcap_uint(s, m->chunk.n, 8);
    mcap_uint(s, crc32(0, m->chunk.at, (uInt)m->chunk.n), 4);
    mcap_text(s, "");
    mcap_uint(s, m->chunk.n, 8);
    mcap_close(s, r, 8);
    if (!s->short_of_memory) /* the messages belong to the record */
        mcap_set(s->at + r - 8, s->n - r + m->chunk.n, 8);
    write_scratch(m);
    write_out(m, m->chunk.at, m->chunk.n);
    uint64_t indexed = m->written;

    size_t index = mcap_record(list, CHUNK_INDEX);
    mcap_uint(list, m->chunk_first, 8);
    mcap_uint(list, m->chunk_last, 8);
    mcap_uint(list, start, 8);
    mcap_uint(list, indexed - start, 8);
    size_t offsets = mcap_open(list, 4);
    for (size_t c = 0; c < m->channel_count; c++) {
        struct grow_bytes *of = &m->channels[c].index;
        if (of->n == 0)
            continue;
        mcap_uint(list, c, 2);
        mcap_uint(list, m->written, 8);
        r = mcap_record(s, MESSAGE_INDEX);
        mcap_uint(s, c, 2);
        mcap_uint(s, of->n, 4);
        grow_bytes_add(s, of->at, of->n);
        mcap_close(s, r, 8);
        write_scratch(m);
        of->n = 0;
    }
    mcap_close(list, offsets, 4);
    mcap_uint(list, m->written - indexed, 8);
    mcap_text(list, "");
    mcap_uint(list, m->chunk.n, 8);
    mcap_uint(list, m->chunk.n, 8);
    mcap_close(list, index, 8);
    m->chunk.n = 0;
    m->in_chunk = 0;
    m->chunks++;
}

/* Begins a message of channel `c`; its data follow in the chunk. */
static size_t open_message(struct mcap *m, size_t c, int64_t at)
{
    struct channel *of = &m->channels[c];
    uint64_t time = time_of(at);
    bool is_first = m->messages++ == 0;
    mcap_uint(&of->index, time, 8);
    mcap_uint(&of->index, m->chunk.n, 8);
    bool opens = m->in_chunk++ == 0;
    m->chunk_first = opens || time < m->chunk_first ? time : m->chunk_first;
    m->chunk_last = opens || time > m->chunk_last ? time : m->chunk_last;
    m->first = is_first || time < m->first ? time : m->first;
    m->last = time > m->last ? time : m->last;
    size_t r = mcap_record(&m->chunk, MESSAGE);
    mcap_uint(&m->chunk, c, 2);
    mcap_uint(&m->chunk, of->messages++, 4);
    mcap_uint(&m->chunk, time, 8);
    mcap_uint(&m->chunk, time, 8);
    return r;
}

static int close_message(struct mcap *m, size_t c, size_t begun)
{
    mcap_close(&m->chunk, begun, 8);
    int err = m->channels[c].index.short_of_memory ? BEZEL_ENOMEM : error_of(m);
    if (!err && m->chunk.n >= CHUNK_BYTES) {
        end_chunk(m);
    }
    return err;
}

/* ---- channels and schemas ---------------------------------------------------------------------------------------- */

/* What stands in a chunk before its first use, and once more in the summary. */
static void define(struct mcap *m, struct grow_bytes *list, size_t from)
{
    grow_bytes_add(&m->chunk, list->at + from, list->n - from);
}

/* The number of schema `name` with the definition in m->scratch, which it empties; 0: there is no room. */
static size_t schema_of(struct mcap *m, const char *name)
{
    struct grow_bytes *list = &m->schema_list, *text = &m->scratch;
    uint64_t key = hash_fnv64(hash_fnv64(HASH_FNV64_START, name, strlen(name) + 1), text->at, text->n);
    int known = hash_index_find(&m->numbers, key, OF_SCHEMA);
    if (known < 0 && m->schema_count < NUMBERS_MOST &&
        grow_index_put(&m->numbers, &m->number_count, key, OF_SCHEMA, m->schema_count)) {
        char type[MCAP_TYPE_SIZE];
        size_t from = list->n, r = mcap_record(list, SCHEMA);
        known = (int)m->schema_count++;
        mcap_uint(list, m->schema_count, 2);
        mcap_text(list, mcap_type(type, name));
        mcap_text(list, "ros2msg");
        mcap_span(list, (const char *)text->at, text->n);
        mcap_close(list, r, 8);
        define(m, list, from);
    }
    text->n = 0;
    return known < 0 ? 0 : (size_t)known + 1;
}

static void put_pair(struct grow_bytes *b, const char *key, const char *value)
{
    mcap_text(b, key);
    mcap_text(b, value);
}

/* Adds a channel for `key` with the definition in m->scratch. Returns its number, or -1: there is no room. */
static int add_channel(struct mcap *m, uint64_t key, uint32_t kind, const char *topic, const char *name,
                       const struct model_process *p)
{
    struct grow_bytes *list = &m->channel_list;
    size_t schema = schema_of(m, name), number = m->channel_count;
    char pid[24];
    if (schema == 0 || number >= NUMBERS_MOST || !grow_index_put(&m->numbers, &m->number_count, key, kind, number) ||
        !grow_list(&m->channels, &m->channel_capacity, number, sizeof *m->channels))
        return -1;
    m->channels[m->channel_count++] = (struct channel){.messages = 0};
    size_t from = list->n, r = mcap_record(list, CHANNEL);
    mcap_uint(list, number, 2);
    mcap_uint(list, schema, 2);
    mcap_text(list, topic);
    mcap_text(list, "cdr");
    size_t pairs = mcap_open(list, 4);
    if (p) {
        snprintf(pid, sizeof pid, "%" PRIu32, p->pid);
        put_pair(list, "node", p->node->name);
        put_pair(list, "process", p->name);
        put_pair(list, "pid", pid);
    }
    mcap_close(list, pairs, 4);
    mcap_close(list, r, 8);
    define(m, list, from);
    return (int)number;
}

static int channel_of(struct mcap *m, const struct record_item *item)
{
    const struct model_process *p = item->process;
    uint64_t key = mcap_key(p, item->aspect);
    int known = hash_index_find(&m->numbers, key, OF_LOSSES + 1);
    char topic[2 * MESSAGE_NAME_MAX + DICT_NAME_MAX + 4];
    if (known >= 0)
        return known;
    snprintf(topic, sizeof topic, "%s/%s/%s", p->node->name, p->name, item->aspect->name);
    mcap_schema(&m->scratch, item->aspect);
    return add_channel(m, key, OF_LOSSES + 1, topic, item->aspect->name, p);
}

/* ---- records and losses ------------------------------------------------------------------------------------------ */

static int note_loss(struct mcap *m, const struct record_item *loss)
{
    while (m->lost_count <= loss->stream) {
        if (!grow_list(&m->lost, &m->lost_capacity, m->lost_count, sizeof *m->lost))
            return BEZEL_ENOMEM;
        m->lost[m->lost_count++] = (struct lost){.records = 0};
    }
    struct lost *of = &m->lost[loss->stream];
    const struct model_process *p = loss->process;
    of->records += loss->lost;
    snprintf(of->name, sizeof of->name, "%s/%s[%" PRIu32 "]/ring %" PRIu32, p->node->name, p->name, p->pid,
             loss->packet->ring);
    return 0;
}

static int put_loss(struct mcap *m, const struct record_item *loss)
{
    int c = hash_index_find(&m->numbers, 0, OF_LOSSES);
    if (c < 0) {
        grow_bytes_add(&m->scratch, mcap_loss_schema, strlen(mcap_loss_schema));
        c = add_channel(m, 0, OF_LOSSES, "bezel/lost", "lost", NULL);
    }
    if (c < 0)
        return error_of(m);
    size_t r = open_message(m, (size_t)c, loss->at.ns);
    mcap_loss_cdr(&m->chunk, loss);
    return close_message(m, (size_t)c, r);
}

int mcap_put(struct mcap *m, const struct record_item *item)
{
    if (!item->r) {
        int err = note_loss(m, item);
        return err ? err : put_loss(m, item);
    }
    int c = channel_of(m, item);
    if (c < 0) {
        m->left_out++;
        return error_of(m);
    }
    size_t r = open_message(m, (size_t)c, item->at.ns);
    mcap_cdr(&m->chunk, item);
    return close_message(m, (size_t)c, r);
}

uint64_t mcap_left_out(const struct mcap *m)
{
    return m->left_out;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

int mcap_attach(struct mcap *m, const char *name, const char *media, const void *data, size_t n)
{
    struct grow_bytes *s = &m->scratch, *list = &m->attachment_list;
    end_chunk(m);
    uint64_t start = m->written;
    size_t r = mcap_record(s, ATTACHMENT);
    mcap_uint(s, m->last, 8);
    mcap_uint(s, 0, 8);
    mcap_text(s, name);
    mcap_text(s, media);
    mcap_uint(s, n, 8);
    grow_bytes_add(s, data, n);
    if (!s->short_of_memory)
        mcap_uint(s, crc32(0, s->at + r, (uInt)(s->n - r)), 4);
    mcap_close(s, r, 8);
    size_t length = s->n;
    write_scratch(m);
    r = mcap_record(list, ATTACHMENT_INDEX);
    mcap_uint(list, start, 8);
    mcap_uint(list, length, 8);
    mcap_uint(list, m->last, 8);
    mcap_uint(list, 0, 8);
    mcap_uint(list, n, 8);
    mcap_text(list, name);
    mcap_text(list, media);
    mcap_close(list, r, 8);
    m->attachments++;
    return error_of(m);
}

/* How many records of each ring were lost; none where nothing was. */
static void put_losses(struct mcap *m)
{
    struct grow_bytes *s = &m->scratch, *list = &m->metadata_list;
    uint64_t start = m->written;
    char number[24];
    size_t r = mcap_record(s, METADATA);
    mcap_text(s, "bezel:lost");
    size_t pairs = mcap_open(s, 4);
    for (size_t i = 0; i < m->lost_count; i++)
        if (m->lost[i].records) {
            snprintf(number, sizeof number, "%" PRIu64, m->lost[i].records);
            put_pair(s, m->lost[i].name, number);
        }
    mcap_close(s, pairs, 4);
    mcap_close(s, r, 8);
    size_t length = s->n;
    write_scratch(m);
    r = mcap_record(list, METADATA_INDEX);
    mcap_uint(list, start, 8);
    mcap_uint(list, length, 8);
    mcap_text(list, "bezel:lost");
    mcap_close(list, r, 8);
}

static void put_statistics(struct mcap *m)
{
    struct grow_bytes *s = &m->scratch;
    size_t r = mcap_record(s, STATISTICS);
    mcap_uint(s, m->messages, 8);
    mcap_uint(s, m->schema_count, 2);
    mcap_uint(s, m->channel_count, 4);
    mcap_uint(s, m->attachments, 4);
    mcap_uint(s, 1, 4);
    mcap_uint(s, m->chunks, 4);
    mcap_uint(s, m->first, 8);
    mcap_uint(s, m->last, 8);
    size_t counts = mcap_open(s, 4);
    for (size_t c = 0; c < m->channel_count; c++) {
        mcap_uint(s, c, 2);
        mcap_uint(s, m->channels[c].messages, 8);
    }
    mcap_close(s, counts, 4);
    mcap_close(s, r, 8);
    write_scratch(m);
}

/* The groups of the summary, and where each stands. */
static void put_summary(struct mcap *m, struct grow_bytes *offsets)
{
    const struct group {
        enum opcode opcode;
        const struct grow_bytes *list; /* NULL: the statistics */
    } groups[] = {{SCHEMA, &m->schema_list},
                  {CHANNEL, &m->channel_list},
                  {STATISTICS, NULL},
                  {CHUNK_INDEX, &m->chunk_list},
                  {ATTACHMENT_INDEX, &m->attachment_list},
                  {METADATA_INDEX, &m->metadata_list}};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        uint64_t start = m->written;
        if (groups[g].list)
            write_out(m, groups[g].list->at, groups[g].list->n);
        else
            put_statistics(m);
        if (m->written == start)
            continue;
        size_t r = mcap_record(offsets, SUMMARY_OFFSET);
        mcap_uint(offsets, groups[g].opcode, 1);
        mcap_uint(offsets, start, 8);
        mcap_uint(offsets, m->written - start, 8);
        mcap_close(offsets, r, 8);
    }
}

int mcap_end(struct mcap *m)
{
    struct grow_bytes *s = &m->scratch, offsets = {.at = NULL};
    end_chunk(m);
    put_losses(m);
    uint32_t sum = m->sum;
    size_t r = mcap_record(s, DATA_END);
    mcap_uint(s, sum, 4);
    mcap_close(s, r, 8);
    write_scratch(m);
    uint64_t summary = m->written;
    m->sum = 0;
    put_summary(m, &offsets);
    uint64_t offsets_start = m->written;
    write_out(m, offsets.at, offsets.n);
    r = mcap_record(s, FOOTER);
    mcap_uint(s, summary, 8);
    mcap_uint(s, offsets_start, 8);
    if (!s->short_of_memory) { /* the checksum goes up to here, and the length counts it */
        mcap_set(s->at + r - 8, s->n - r + 4, 8);
        mcap_uint(s, crc32(m->sum, s->at, (uInt)s->n), 4);
    }
    grow_bytes_add(s, magic, sizeof magic);
    write_scratch(m);
    int err = offsets.short_of_memory ? BEZEL_ENOMEM : error_of(m);
    free(offsets.at);
    return err;
}
