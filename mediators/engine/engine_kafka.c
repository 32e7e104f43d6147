// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A run is one topic of Kafka with one partition, "bezel-NAME", since messages of a run are in one order. The library's
 * producer is idempotent, so it stores each message once, whatever is sent again.
 *
 * Kafka does not find the last message of a key. So a writer reads the topic once when it connects, and knows from then
 * on where the last message of each key is: what is there from reading, what it puts from its acknowledgement.
 */
#include "mediators/engine/engine_ops.h"

#include "base/grow.h"
#include "base/hash.h"

#include <ctype.h>
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WAIT_MS = 5000, /* for an answer */
    LOOK_MS = 100,
    TOPIC_MAX = 249, /* Kafka's own limit */
    REPLICAS = 3,
};

struct kafka {
    struct engine engine;
    rd_kafka_t *producer, *consumer;
    char topic[TOPIC_MAX + 1];
    rd_kafka_message_t *message; /* that the caller borrows */
    int64_t first, next, end;    /* of messages: the first there is; which is read next; behind the last one */
    struct hash_index index;     /* of hashes of keys, into: */
    int64_t *offsets;            /* of the last message of each key */
    size_t count, capacity;
    bool lost;    /* a message was not taken */
    bool refused; /* a broker did not take the credentials */
};

static int fail_with(struct kafka *k, rd_kafka_resp_err_t err, const char *what)
{
    return engine_fail(&k->engine, BEZEL_EUNREACH, "%s: %s", what, rd_kafka_err2str(err));
}

static uint64_t hash_of(const void *key, size_t n)
{
    return hash_fnv64(HASH_FNV64_START, key, n);
}

/* Remembers where the last message of a key is. False: memory is short. */
static bool note(struct kafka *k, const void *key, size_t n, int64_t offset)
{
    uint64_t hash = hash_of(key, n);
    int at = hash_index_find(&k->index, hash, 0);
    if (at >= 0)
        return k->offsets[at] = offset, true;
    if (!grow_list(&k->offsets, &k->capacity, k->count, sizeof *k->offsets) || !grow_index(&k->index, k->count))
        return false;
    hash_index_put(&k->index, hash, 0, (uint32_t)k->count);
    k->offsets[k->count++] = offset;
    return true;
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

/* Returns whether the topic has room for the name. */
static bool name_topic(const char *name, char topic[TOPIC_MAX + 1])
{
    size_t n = (size_t)snprintf(topic, TOPIC_MAX + 1, "bezel-");
    const unsigned char *c = (const unsigned char *)name;
    for (; *c && n + 3 <= TOPIC_MAX; c++)
        if (isalnum(*c) || *c == '-' || *c == '.')
            topic[n++] = (char)*c;
        else
            n += (size_t)snprintf(topic + n, TOPIC_MAX + 1 - n, "_%02X", *c);
    topic[n] = '\0';
    return !*c;
}

/* Called within rd_kafka_poll() and rd_kafka_flush(), by the caller's thread. */
static void delivered(rd_kafka_t *rk, const rd_kafka_message_t *m, void *context)
{
    struct kafka *k = context;
    (void)rk;
    if (m->err && !k->lost)
        (void)fail_with(k, m->err, "a message was not taken");
    if (m->err || !note(k, m->key, m->key_len, m->offset))
        k->lost = true;
}

/* Called within rd_kafka_poll() and rd_kafka_consumer_poll(). */
static void on_error(rd_kafka_t *rk, int err, const char *reason, void *context)
{
    struct kafka *k = context;
    (void)rk;
    (void)reason;
    k->refused = k->refused || err == RD_KAFKA_RESP_ERR__AUTHENTICATION;
}

static bool set_all(rd_kafka_conf_t *conf, const struct engine_setting *s, char *why, size_t size)
{
    while (s->name && rd_kafka_conf_set(conf, s->name, s->value, why, size) == RD_KAFKA_CONF_OK)
        s++;
    return !s->name;
}

static rd_kafka_t *connect_as(struct kafka *k, rd_kafka_type_t type, const struct engine_setting *settings)
{
    char why[200] = "";
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    bool ok = set_all(conf, settings, why, sizeof why) && set_all(conf, engine_settings, why, sizeof why);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_dr_msg_cb(conf, delivered);
    rd_kafka_conf_set_opaque(conf, k);
    rd_kafka_conf_set_log_cb(conf, NULL); /* what fails is said by the caller */
    rd_kafka_t *rk = !ok ? NULL : rd_kafka_new(type, conf, why, sizeof why);
    if (!rk) {
        (void)engine_fail(&k->engine, BEZEL_EINVAL, "librdkafka: %s", why);
        rd_kafka_conf_destroy(conf);
    }
    return rk;
}

/* A broker that makes topics on demand, or knows no such request, makes it with the first message. */
static void make_topic(struct kafka *k, int brokers)
{
    char why[200];
    rd_kafka_queue_t *answers = rd_kafka_queue_new(k->producer);
    rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(k->producer, RD_KAFKA_ADMIN_OP_CREATETOPICS);
    rd_kafka_NewTopic_t *topic =
        rd_kafka_NewTopic_new(k->topic, 1, brokers < REPLICAS ? brokers : REPLICAS, why, sizeof why);
    (void)!rd_kafka_AdminOptions_set_request_timeout(options, WAIT_MS, why, sizeof why);
    if (topic) {
        rd_kafka_CreateTopics(k->producer, &topic, 1, options, answers);
        rd_kafka_event_t *event = rd_kafka_queue_poll(answers, WAIT_MS);
        if (event)
            rd_kafka_event_destroy(event);
        rd_kafka_NewTopic_destroy(topic);
    }
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_queue_destroy(answers);
}

static int seek(struct kafka *k, int64_t offset)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(list, k->topic, 0)->offset = offset;
    rd_kafka_resp_err_t err = rd_kafka_assign(k->consumer, list);
    rd_kafka_topic_partition_list_destroy(list);
    k->next = offset;
    return err ? fail_with(k, err, "the topic cannot be read") : 0;
}

static void release(struct kafka *k)
{
    if (k->message)
        rd_kafka_message_destroy(k->message);
    k->message = NULL;
}

/* Takes the next message into k->message. */
static int receive(struct kafka *k)
{
    for (int waited = 0; waited < 2 * WAIT_MS; waited += LOOK_MS) {
        release(k);
        k->message = rd_kafka_consumer_poll(k->consumer, LOOK_MS);
        if (k->message && !k->message->err)
            return k->next = k->message->offset + 1, 0;
        if (k->message && k->message->err != RD_KAFKA_RESP_ERR__TRANSPORT)
            return fail_with(k, k->message->err, "the topic cannot be read");
    }
    return engine_fail(&k->engine, BEZEL_EUNREACH, "the messages of the run do not come");
}

/* Where the topic begins and ends. Returns 0, BEZEL_ENOENT, or another error. */
static int measure(struct kafka *k)
{
    rd_kafka_resp_err_t err = rd_kafka_query_watermark_offsets(k->consumer, k->topic, 0, &k->first, &k->end, WAIT_MS);
    if (err == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC || err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION ||
        err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
        return BEZEL_ENOENT;
    rd_kafka_message_t *more = err ? rd_kafka_consumer_poll(k->consumer, 0) : NULL;
    if (more)
        rd_kafka_message_destroy(more);
    if (err && k->refused)
        return engine_fail(&k->engine, BEZEL_EPERM, "a broker refuses the credentials: give others (--credentials)");
    return err ? fail_with(k, err, "no broker answers") : 0;
}

static int read_index(struct kafka *k)
{
    int err = seek(k, k->first);
    while (!err && k->next < k->end) {
        err = receive(k);
        if (!err && !note(k, k->message->key, k->message->key_len, k->message->offset))
            err = BEZEL_ENOMEM;
    }
    release(k);
    return err;
}

static int open_to_write(struct kafka *k, const char *servers, int count)
{
    const struct engine_setting settings[] = {{"bootstrap.servers", servers},
                                              {"client.id", "bezel"},
                                              {"enable.idempotence", "true"},
                                              {"delivery.timeout.ms", "10000"},
                                              {"linger.ms", "5"},
                                              {"queue.buffering.max.messages", "1024"},
                                              {NULL, NULL}};
    k->producer = connect_as(k, RD_KAFKA_PRODUCER, settings);
    if (!k->producer)
        return BEZEL_EINVAL;
    int err = measure(k);
    if (err == BEZEL_ENOENT) {
        make_topic(k, count);
        return 0;
    }
    return err || k->first == k->end ? err : read_index(k);
}

static int open_to_read(struct kafka *k, const char *name)
{
    int err = measure(k);
    if (err == BEZEL_ENOENT || (!err && k->end == 0))
        return engine_fail(&k->engine, BEZEL_ENOENT, "it has no run %s", name);
    if (!err && k->first > 0)
        return engine_fail(&k->engine, BEZEL_EMALFORMED, "%" PRId64 " messages of the run have expired at the engine",
                           k->first);
    return err ? err : seek(k, 0);
}

static int open_topic(const struct engine_servers *servers, const char *name, bool writes, struct engine **engine)
{
    char list[ENGINE_LIST_MAX] = "";
    struct kafka *k = calloc(1, sizeof *k);
    if (!k)
        return BEZEL_ENOMEM;
    *engine = &k->engine;
    for (int i = 0; i < servers->count; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? "," : "",
                 servers->urls[i] + strlen("kafka://"));
    if (!name_topic(name, k->topic))
        return engine_fail(&k->engine, BEZEL_EINVAL, "the name is too long for Kafka: give a shorter one (--name)");
    const struct engine_setting settings[] = {{"bootstrap.servers", list},
                                              {"client.id", "bezel"},
                                              {"group.id", "bezel"},
                                              {"enable.auto.commit", "false"},
                                              {"isolation.level", "read_uncommitted"},
                                              {"auto.offset.reset", "error"},
                                              {"allow.auto.create.topics", "false"},
                                              {NULL, NULL}};
    k->consumer = connect_as(k, RD_KAFKA_CONSUMER, settings);
    if (!k->consumer)
        return BEZEL_EINVAL;
    (void)!rd_kafka_poll_set_consumer(k->consumer);
    return writes ? open_to_write(k, list, servers->count) : open_to_read(k, name);
}

static void close_topic(struct engine *engine)
{
    struct kafka *k = (struct kafka *)engine;
    release(k);
    if (k->producer) {
        rd_kafka_purge(k->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_flush(k->producer, WAIT_MS);
        rd_kafka_destroy(k->producer);
    }
    if (k->consumer)
        rd_kafka_destroy(k->consumer);
    free(k->index.slots);
    free(k->offsets);
    free(k);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static int put(struct engine *engine, const char *key, bool once, const void *bytes, size_t n)
{
    struct kafka *k = (struct kafka *)engine;
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
    (void)once; /* the producer is idempotent */
    rd_kafka_poll(k->producer, 0);
    for (int waited = 0; !k->lost && waited < 2 * WAIT_MS; waited += LOOK_MS) {
        err = rd_kafka_producev(k->producer, RD_KAFKA_V_TOPIC(k->topic), RD_KAFKA_V_PARTITION(0),
                                RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key, strlen(key)),
                                RD_KAFKA_V_VALUE((void *)(uintptr_t)bytes, n), RD_KAFKA_V_END);
        if (err != RD_KAFKA_RESP_ERR__QUEUE_FULL)
            break;
        rd_kafka_poll(k->producer, LOOK_MS);
    }
    if (k->lost)
        return BEZEL_EUNREACH;
    return err ? fail_with(k, err, "a message cannot be sent") : 0;
}

static int flush(struct engine *engine)
{
    struct kafka *k = (struct kafka *)engine;
    rd_kafka_resp_err_t err = rd_kafka_flush(k->producer, 3 * WAIT_MS);
    if (k->lost)
        return BEZEL_EUNREACH;
    return err ? fail_with(k, err, "messages are not acknowledged") : 0;
}

static int give(struct kafka *k, struct engine_message *m)
{
    *m = (struct engine_message){k->message->payload, k->message->len};
    return 1;
}

/* Two keys of one hash are as none: what is there is put again. */
static int last(struct engine *engine, const char *key, struct engine_message *m)
{
    struct kafka *k = (struct kafka *)engine;
    int at = hash_index_find(&k->index, hash_of(key, strlen(key)), 0);
    if (at < 0)
        return 0;
    int err = seek(k, k->offsets[at]);
    if (!err)
        err = receive(k);
    if (err)
        return err;
    bool same = k->message->key_len == strlen(key) && memcmp(k->message->key, key, k->message->key_len) == 0;
    return same ? give(k, m) : 0;
}

static int next(struct engine *engine, struct engine_message *m)
{
    struct kafka *k = (struct kafka *)engine;
    int err = k->next < k->end ? 0 : measure(k);
    if (err || k->next >= k->end)
        return err;
    err = receive(k);
    return err ? err : give(k, m);
}

static int gone(struct engine *engine, uint64_t *n)
{
    struct kafka *k = (struct kafka *)engine;
    int err = measure(k);
    *n = err ? 0 : (uint64_t)k->first;
    return err;
}

static const char *const schemes[] = {"kafka://", NULL};
const struct engine_ops engine_kafka = {schemes, open_topic, put, flush, last, next, gone, close_topic};
