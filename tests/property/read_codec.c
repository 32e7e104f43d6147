// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Messages of consumers against the codec that rpcgen makes of read.x: the same fields and bytes, in both directions.
 */
#include "mdr/read_message.h"
#include "tests/lib/read_samples.h"
#include "tests/lib/reference.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <string.h>

REFERENCE_CODEC(mdr_read_message)

enum { ROUNDS = 2000, MUTATIONS = 30000 };

static struct read_message m, back;
static struct read_frame frame;
static uint8_t ours[READ_FRAME_MAX], theirs[READ_FRAME_MAX], dictionary[MESSAGE_DICT_MAX];

#define SAME(a, b) assert_true((a) == (b))

/* ---- random messages --------------------------------------------------------------------------------------------- */

static void random_text(uint64_t *seed, char *text, size_t max)
{
    size_t n = seed_next(seed) % 4 == 0 ? max : seed_next(seed) % (max + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)(1 + seed_next(seed) % 127);
    text[n] = '\0';
}

static void random_items(uint64_t *seed)
{
    uint8_t values[8 * PACKET_FIELDS_MAX];
    read_frame_begin(&frame);
    for (uint64_t left = seed_next(seed) % 900; left > 0; left--) {
        struct packet_record r = {.aspect = (uint32_t)seed_next(seed),
                                  .timestamp = seed_next(seed),
                                  .value_count = (uint32_t)(seed_next(seed) % (PACKET_FIELDS_MAX + 1)),
                                  .values = values};
        struct read_item item = {.schema = (uint32_t)seed_next(seed),
                                 .ring = (uint32_t)(seed_next(seed) % PACKET_RINGS_MAX),
                                 .thread = (uint32_t)seed_next(seed),
                                 .order = (enum read_order)(seed_next(seed) % 4),
                                 .run_time = (int64_t)seed_next(seed),
                                 .error = (int64_t)(seed_next(seed) >> 1) - 1,
                                 .time = seed_next(seed),
                                 .lost = seed_next(seed)};
        for (size_t i = 0; i < sizeof values; i++)
            values[i] = (uint8_t)seed_next(seed);
        if (!read_frame_add(&frame, &item, item.order == READ_LOSS ? NULL : &r))
            break;
    }
    read_frame_end(&frame, seed_next(seed));
    assert_int_equal(read_message_decode(frame.bytes, frame.size, &m), 0);
}

static void random_request(uint64_t *seed, struct read_request *q)
{
    random_text(seed, q->node, MESSAGE_TEXT_MAX);
    random_text(seed, q->process, MESSAGE_TEXT_MAX);
    random_text(seed, q->aspect, MESSAGE_TEXT_MAX);
    random_text(seed, q->where, READ_WHERE_MAX);
    q->no_monitor = seed_next(seed) % 2;
    q->follow = seed_next(seed) % 2;
    q->schemas = seed_next(seed) % 2;
    q->from = (int64_t)seed_next(seed);
    q->until = (int64_t)seed_next(seed);
    q->since = seed_next(seed);
    q->last = seed_next(seed);
    q->credit = READ_CREDIT_MIN + (uint32_t)(seed_next(seed) >> 33);
}

static void random_schema(uint64_t *seed, struct read_schema *s)
{
    s->number = (uint32_t)seed_next(seed);
    random_text(seed, s->node, MESSAGE_NAME_MAX);
    random_text(seed, s->process, MESSAGE_NAME_MAX);
    s->instance = seed_next(seed);
    s->pid = (uint32_t)seed_next(seed);
    s->role = (enum message_role)(seed_next(seed) % 2);
    s->dictionary_bytes = (uint32_t)(seed_next(seed) % (seed_next(seed) % 8 ? 300 : MESSAGE_DICT_MAX + 1));
    for (uint32_t i = 0; i < s->dictionary_bytes; i++)
        dictionary[i] = (uint8_t)seed_next(seed);
    s->dictionary = dictionary;
}

/* Up to `max` bytes at *bytes. Returns how many. */
static uint32_t random_bytes(uint64_t *seed, uint32_t max, const uint8_t **bytes)
{
    uint32_t n = (uint32_t)(seed_next(seed) % (seed_next(seed) % 8 ? 100 : max + 1));
    n = n < max ? n : max;
    for (uint32_t i = 0; i < n; i++)
        dictionary[i] = (uint8_t)seed_next(seed);
    *bytes = dictionary;
    return n;
}

static void random_file(uint64_t *seed, struct read_file *f)
{
    f->number = (uint32_t)seed_next(seed);
    random_text(seed, f->name, MESSAGE_TEXT_MAX);
    random_text(seed, f->lacks, MESSAGE_TEXT_MAX);
    f->stream = seed_next(seed) % 2;
    f->bytes = seed_next(seed);
    f->cover_bytes = random_bytes(seed, PACKET_HEADER_BYTES, &f->cover);
}

static void random_mirror_message(uint64_t *seed)
{
    switch (m.type) {
    case READ_MIRROR:
        m.mirror.follow = seed_next(seed) % 2;
        m.mirror.rows = (uint32_t)seed_next(seed);
        m.mirror.credit = (uint32_t)seed_next(seed);
        m.mirror.token_bytes = random_bytes(seed, READ_TOKEN_MAX, &m.mirror.token);
        break;
    case READ_FILE:
        random_file(seed, &m.file);
        break;
    case READ_HAVE:
        m.have = (struct read_have){(uint32_t)seed_next(seed), seed_next(seed), seed_next(seed)};
        break;
    case READ_BYTES:
        m.bytes.number = (uint32_t)seed_next(seed);
        m.bytes.offset = seed_next(seed);
        m.bytes.count = random_bytes(seed, READ_BYTES_MAX, &m.bytes.bytes);
        break;
    case READ_ROWS:
        m.rows.count = random_bytes(seed, READ_BYTES_MAX, &m.rows.bytes);
        break;
    case READ_WATERMARK:
        for (size_t i = 0; i < sizeof m.watermark.node; i++)
            m.watermark.node[i] = (uint8_t)seed_next(seed);
        m.watermark.low = (int64_t)seed_next(seed);
        m.watermark.age = seed_next(seed);
        break;
    default:
        m.step = (struct read_step){seed_next(seed), seed_next(seed) % 2, seed_next(seed) % 2};
    }
}

static void random_read_message(uint64_t *seed, unsigned i)
{
    (void)read_sample(i, &m);
    switch (m.type) {
    case READ_REFUSE:
        random_text(seed, m.refuse.reason, MESSAGE_TEXT_MAX);
        break;
    case READ_HEARTBEAT:
        m.heartbeat.at = seed_next(seed);
        break;
    case READ_READ:
        random_request(seed, &m.read);
        break;
    case READ_READING:
        random_text(seed, m.reading.run, MESSAGE_NAME_MAX);
        random_text(seed, m.reading.note, MESSAGE_TEXT_MAX);
        m.reading.grows = seed_next(seed) % 2;
        break;
    case READ_SCHEMA:
        random_schema(seed, &m.schema);
        break;
    case READ_RECORDS:
        random_items(seed);
        break;
    case READ_CREDIT:
        m.credit = (uint32_t)seed_next(seed);
        break;
    case READ_END:
        m.end.why = (enum read_end_why)(seed_next(seed) % (READ_END_STOPPED + 1));
        m.end.records = seed_next(seed);
        m.end.behind = seed_next(seed);
        random_text(seed, m.end.reason, MESSAGE_TEXT_MAX);
        break;
    default:
        random_mirror_message(seed);
    }
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

static void assert_same_items(const struct read_records *p, const mdr_records *q)
{
    struct read_item item;
    size_t offset = 0;
    SAME(p->behind, q->behind);
    SAME(p->count, q->items.items_len);
    for (uint32_t i = 0; i < p->count; i++) {
        const mdr_read_item *it = &q->items.items_val[i];
        assert_true(read_item_get(p, &offset, &item));
        SAME(item.schema, it->schema);
        SAME(item.ring, it->ring);
        SAME(item.thread, it->thread);
        SAME(item.run_time, it->run_time);
        SAME(item.error, it->error);
        SAME((int)item.order, (int)it->what.order);
        if (item.order == READ_LOSS) {
            SAME(item.time, it->what.mdr_read_what_u.loss.time);
            SAME(item.lost, it->what.mdr_read_what_u.loss.lost);
            continue;
        }
        SAME(item.record_bytes, it->what.mdr_read_what_u.record.record_len);
        assert_memory_equal(item.record, it->what.mdr_read_what_u.record.record_val, item.record_bytes);
    }
    assert_false(read_item_get(p, &offset, &item));
}

static void assert_same_request(const struct read_request *p, const mdr_read *q)
{
    assert_string_equal(p->node, q->node);
    assert_string_equal(p->process, q->process);
    assert_string_equal(p->aspect, q->aspect);
    assert_string_equal(p->where, q->where);
    SAME(p->no_monitor, q->no_monitor);
    SAME(p->follow, q->follow);
    SAME(p->schemas, q->schemas);
    SAME(p->from, q->from);
    SAME(p->until, q->until);
    SAME(p->since, q->since);
    SAME(p->last, q->last);
    SAME(p->credit, q->credit);
}

static void assert_same_schema(const struct read_schema *p, const mdr_schema *q)
{
    SAME(p->number, q->number);
    assert_string_equal(p->node, q->node);
    assert_memory_equal(p->uuid, q->uuid, sizeof p->uuid);
    assert_string_equal(p->process, q->process);
    SAME(p->instance, q->instance);
    SAME(p->pid, q->pid);
    SAME((int)p->role, (int)q->role);
    SAME(p->dictionary_bytes, q->dictionary.dictionary_len);
    if (p->dictionary_bytes > 0)
        assert_memory_equal(p->dictionary, q->dictionary.dictionary_val, p->dictionary_bytes);
}

static void assert_same_end(const struct read_end *p, const mdr_end *q)
{
    SAME((int)p->why, (int)q->why);
    SAME(p->records, q->records);
    SAME(p->lost, q->lost);
    SAME(p->late, q->late);
    SAME(p->cut, q->cut);
    SAME(p->rest, q->rest);
    SAME(p->behind, q->behind);
    assert_string_equal(p->reason, q->reason);
}

static void assert_same_bytes(const uint8_t *p, uint32_t n, const char *q, u_int count)
{
    SAME(n, count);
    if (n > 0)
        assert_memory_equal(p, q, n);
}

static void assert_same_file(const struct read_file *p, const mdr_mirrored *q)
{
    SAME(p->number, q->number);
    assert_string_equal(p->name, q->name);
    SAME(p->stream, q->stream);
    SAME(p->bytes, q->bytes);
    assert_same_bytes(p->cover, p->cover_bytes, q->cover.cover_val, q->cover.cover_len);
    assert_string_equal(p->lacks, q->lacks);
}

/* Of the messages of mirrors. */
static void assert_same_mirror(const struct read_message *p, const mdr_read_body *q)
{
    switch (p->type) {
    case READ_MIRROR:
        SAME(p->mirror.follow, q->mdr_read_body_u.mirror.follow);
        SAME(p->mirror.rows, q->mdr_read_body_u.mirror.rows);
        SAME(p->mirror.credit, q->mdr_read_body_u.mirror.credit);
        assert_same_bytes(p->mirror.token, p->mirror.token_bytes, q->mdr_read_body_u.mirror.token.token_val,
                          q->mdr_read_body_u.mirror.token.token_len);
        break;
    case READ_FILE:
        assert_same_file(&p->file, &q->mdr_read_body_u.file);
        break;
    case READ_HAVE:
        SAME(p->have.number, q->mdr_read_body_u.have.number);
        SAME(p->have.bytes, q->mdr_read_body_u.have.bytes);
        SAME(p->have.sum, q->mdr_read_body_u.have.sum);
        break;
    case READ_BYTES:
        SAME(p->bytes.number, q->mdr_read_body_u.bytes.number);
        SAME(p->bytes.offset, q->mdr_read_body_u.bytes.offset);
        assert_same_bytes(p->bytes.bytes, p->bytes.count, q->mdr_read_body_u.bytes.bytes.bytes_val,
                          q->mdr_read_body_u.bytes.bytes.bytes_len);
        break;
    case READ_ROWS:
        assert_same_bytes(p->rows.bytes, p->rows.count, q->mdr_read_body_u.rows.bytes.bytes_val,
                          q->mdr_read_body_u.rows.bytes.bytes_len);
        break;
    case READ_WATERMARK:
        assert_memory_equal(p->watermark.node, q->mdr_read_body_u.watermark.node, sizeof p->watermark.node);
        SAME(p->watermark.low, q->mdr_read_body_u.watermark.low);
        SAME(p->watermark.age, q->mdr_read_body_u.watermark.age);
        break;
    default:
        SAME(p->step.behind, q->mdr_read_body_u.step.behind);
        SAME(p->step.grows, q->mdr_read_body_u.step.grows);
        SAME(p->step.commit, q->mdr_read_body_u.step.commit);
    }
}

static void assert_same(const struct read_message *p, const mdr_read_message *q)
{
    SAME((int)p->type, (int)q->body.type);
    switch (p->type) {
    case READ_REFUSE:
        assert_string_equal(p->refuse.reason, q->body.mdr_read_body_u.refuse.reason);
        break;
    case READ_HEARTBEAT:
        SAME(p->heartbeat.at, q->body.mdr_read_body_u.heartbeat.at);
        break;
    case READ_READ:
        assert_same_request(&p->read, &q->body.mdr_read_body_u.read);
        break;
    case READ_READING:
        assert_string_equal(p->reading.run, q->body.mdr_read_body_u.reading.run);
        assert_string_equal(p->reading.note, q->body.mdr_read_body_u.reading.note);
        SAME(p->reading.grows, q->body.mdr_read_body_u.reading.grows);
        break;
    case READ_SCHEMA:
        assert_same_schema(&p->schema, &q->body.mdr_read_body_u.schema);
        break;
    case READ_RECORDS:
        assert_same_items(&p->records, &q->body.mdr_read_body_u.records);
        break;
    case READ_CREDIT:
        SAME(p->credit, q->body.mdr_read_body_u.credit.bytes);
        break;
    case READ_END:
        assert_same_end(&p->end, &q->body.mdr_read_body_u.end);
        break;
    default:
        assert_same_mirror(p, &q->body);
    }
}

/* `ours`, `n` bytes, which decode to `back`, are what the reference reads and writes, and what we write. */
static void assert_reference_s(size_t n)
{
    mdr_read_message reference = {0};
    assert_int_equal(decode_mdr_read_message(ours, n, &reference), n);
    assert_same(&back, &reference);
    assert_int_equal(encode_mdr_read_message(&reference, theirs, sizeof theirs), n);
    assert_memory_equal(ours, theirs, n);
    assert_int_equal(read_message_encode(&back, theirs, sizeof theirs), n);
    assert_memory_equal(ours, theirs, n);
    assert_int_equal(read_message_encode(&back, theirs, n - 4), BEZEL_EFULL);
    free_mdr_read_message(&reference);
}

static void messages_have_the_bytes_and_fields_of_the_reference(void **state)
{
    uint64_t *seed = *state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        random_read_message(seed, round % READ_SAMPLES);
        int n = read_message_encode(&m, ours, sizeof ours);
        assert_true(n > 0);
        assert_int_equal(read_message_decode(ours, (size_t)n, &back), 0);
        assert_reference_s((size_t)n);
    }
}

static void what_is_accepted_is_the_reference_s_own_form(void **state)
{
    uint64_t *seed = *state;
    unsigned accepted = 0;
    for (unsigned round = 0; round < MUTATIONS; round++) {
        (void)read_sample(round % READ_SAMPLES, &m);
        int n = read_message_encode(&m, ours, sizeof ours);
        assert_true(n > 0);
        for (uint64_t flips = 1 + seed_next(seed) % 3; flips > 0; flips--)
            ours[seed_next(seed) % (size_t)n] ^= (uint8_t)(1u << seed_next(seed) % 8);
        if (read_message_decode(ours, (size_t)n, &back) != 0)
            continue;
        accepted++;
        assert_reference_s((size_t)n);
    }
    assert_in_range(accepted, MUTATIONS / 10, MUTATIONS - MUTATIONS / 10); /* both ways were walked */
}

static void bounds_are_kept(void **state)
{
    (void)state;
    (void)read_sample(4, &m);
    m.schema.dictionary_bytes = MESSAGE_DICT_MAX + 1;
    m.schema.dictionary = ours;
    assert_int_equal(read_message_encode(&m, theirs, sizeof theirs), BEZEL_EINVAL);
    (void)read_sample(9, &m);
    m.file.cover_bytes++;
    assert_int_equal(read_message_encode(&m, theirs, sizeof theirs), BEZEL_EINVAL);
    (void)read_sample(11, &m);
    m.bytes.count = READ_BYTES_MAX + 1;
    assert_int_equal(read_message_encode(&m, theirs, sizeof theirs), BEZEL_EINVAL);
    (void)read_sample(5, &m);
    int n = read_message_encode(&m, ours, sizeof ours);
    assert_int_equal(read_message_decode(ours, (size_t)n - 4, &back), BEZEL_EMALFORMED);
    assert_int_equal(read_message_decode(ours, sizeof ours + 1, &back), BEZEL_EMALFORMED);
    memset(ours + 24 + 20, 0xFF, 8); /* the error of the first item, -1, ... */
    assert_int_equal(read_message_decode(ours, (size_t)n, &back), 0);
    ours[24 + 20 + 7] = 0xFE; /* ... and -2 */
    assert_int_equal(read_message_decode(ours, (size_t)n, &back), BEZEL_EMALFORMED);
    ours[7] = 3;
    assert_int_equal(read_message_decode(ours, (size_t)n, &back), BEZEL_EVERSION);
    assert_int_equal(back.type, READ_REFUSE);
}

int main(void)
{
    uint64_t seed = seed_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(messages_have_the_bytes_and_fields_of_the_reference, &seed),
        cmocka_unit_test_prestate(what_is_accepted_is_the_reference_s_own_form, &seed),
        cmocka_unit_test(bounds_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
