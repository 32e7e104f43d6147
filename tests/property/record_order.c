// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Nodes whose clocks are wrong by up to their bounds send messages to each other. The order that the reader gives is
 * compared with one that is computed from all records at once: each record as late as its time, its node and the
 * sendings of what was received before it demand, and no later. Clocks beyond their bounds, and tags that contradict
 * each other, leave marks and lose nothing. BEZEL_SEED repeats.
 */
#include "base/hash.h"
#include "run/read/run_reader.h"
#include "run/store/watermarks.h"
#include "tests/lib/grown_run.h"
#include "tests/lib/test.h"

#include <sys/stat.h>

enum { HOSTS = 5, THREADS = 2, EVENTS_MAX = 3000, PACKET_MOST = 40, ROUND_TRIP = 100 * CLOCK_US };
enum { LOCAL = 1, SENT = 2, RECEIVED = 3 }; /* aspects */
enum { CHANNEL = HOSTS + 1 };               /* string of the channel; of process i: i + 1 */

static const char *const names[] = {"p0", "p1", "p2", "p3", "p4", "news"};

struct event {
    unsigned host, thread;
    uint32_t aspect, peer;
    uint64_t tag, time; /* of the host's clock */
    bool stored;
    /* From the reader and the oracle. */
    bool given;
    int64_t ns, key;
    enum record_proof proof;
    size_t sending; /* of a receiving; SIZE_MAX: none is stored */
};

/* A message on its way. */
struct on_way {
    size_t sending;
    unsigned to;
    uint32_t peer; /* as its receiver names it */
    uint64_t arrives;
};

static struct grown g;
static struct model_process *processes[HOSTS];
static uint64_t ahead[HOSTS]; /* of each clock, of the true time, ns */
static int64_t wrong[HOSTS];  /* what the exchanges say of it is wrong by that */
static struct event events[EVENTS_MAX];
static size_t event_count;

/* ---- the hosts --------------------------------------------------------------------------------------------------- */

static void tell_clock(const struct model_node *node, uint64_t its_ahead, int64_t its_wrong)
{
    static const uint8_t clock[16] = {1};
    char path[PATH_MAX + 8], insert[256];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/run.db", g.run);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(db, 5000), SQLITE_OK);
    for (int64_t i = 0; i < EXCHANGES; i++) { /* its answer stands in the middle, if its clock is right */
        int64_t there = 10 * CLOCK_S + i * CLOCK_S / 10, sent = there + (int64_t)its_ahead - ROUND_TRIP / 2;
        snprintf(insert, sizeof insert,
                 "INSERT INTO exchanges VALUES(%lld, 0, %lld, %lld, %lld, %lld, %lld, 0, -1, 0, -1, 0)",
                 (long long)node->row, (long long)clock_identity_short(clock), (long long)sent,
                 (long long)(there + its_wrong), (long long)(there + its_wrong), (long long)sent + ROUND_TRIP);
        assert_int_equal(sqlite3_exec(db, insert, NULL, NULL, NULL), SQLITE_OK);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Node 0 has the run's clock. */
static void add_host(unsigned i, int64_t most_wrong)
{
    struct message_hello hello = {.uuid = {(uint8_t)(i + 1)}, .clock = {(uint8_t)(i + 1)}};
    hello.realtime_offset = 1700000000 * CLOCK_S;
    snprintf(hello.node, sizeof hello.node, "host%u", i);
    struct model_node *node = model_add_node(g.model, &hello);
    assert_non_null(node);
    assert_int_equal(rundb_add_node(g.rundb, node), 0);
    ahead[i] = i ? draw(3600) * CLOCK_S + draw(CLOCK_S) : 0;
    wrong[i] = i ? (int64_t)draw(2 * (uint64_t)most_wrong + 1) - most_wrong : 0;
    if (i)
        tell_clock(node, ahead[i], wrong[i]);
    processes[i] = add_process(&g, node, names[i], i + 1);
}

static void begin_run(const char *name, bool siso, int64_t most_wrong)
{
    grown_open(&g, name);
    g.intact = true;
    g.dictionary_bytes = 0;
    struct dict_aspect aspects[] = {{.id = LOCAL, .name = "local", .field_count = 2},
                                    {.id = SENT, .name = "sent", .kind = DICT_SENT, .field_count = 2},
                                    {.id = RECEIVED, .name = "received", .kind = DICT_RECEIVED, .field_count = 2}};
    for (int i = 0; i < 3; i++) {
        aspects[i].fields[0] = (struct dict_field){DICT_STRING, "peer", "1", ""};
        aspects[i].fields[1] = (struct dict_field){DICT_INT64, "tag", "1", ""};
        add_aspect(&g, &aspects[i]);
    }
    for (uint32_t i = 0; i < CHANNEL; i++)
        g.dictionary_bytes =
            dict_append_string(g.dictionary, (size_t)g.dictionary_bytes, sizeof g.dictionary, i + 1, names[i]);
    assert_true(g.dictionary_bytes > 0);
    if (siso)
        assert_int_equal(rundb_put(g.rundb, "order.buffers", "siso"), 0);
    for (unsigned i = 0; i < HOSTS; i++)
        add_host(i, most_wrong);
    assert_int_equal(rundb_commit(g.rundb), 0);
    event_count = 0;
}

/* Times of a host differ. */
static bool is_taken(unsigned host, uint64_t time)
{
    for (size_t i = 0; i < event_count; i++)
        if (events[i].host == host && events[i].time == time)
            return true;
    return false;
}

static struct event *happens(unsigned host, uint32_t aspect, uint32_t peer, uint64_t tag, uint64_t now)
{
    while (is_taken(host, now + ahead[host]))
        now++;
    struct event *e = &events[event_count++];
    *e = (struct event){.host = host,
                        .thread = (unsigned)draw(THREADS),
                        .aspect = aspect,
                        .peer = peer,
                        .tag = tag,
                        .time = now + ahead[host],
                        .stored = draw(30) > 0,
                        .sending = SIZE_MAX};
    return e;
}

/* What the hosts do, at true times that grow; a message takes up to 30 us, where a clock may be wrong by 50. */
static void let_happen(size_t count)
{
    static struct on_way way[EVENTS_MAX];
    size_t under_way = 0;
    uint64_t now = 11 * CLOCK_S;
    while (event_count < count) {
        now += 1 + draw(20 * CLOCK_US);
        for (size_t i = 0; i < under_way && event_count < count; i++)
            if (way[i].arrives < now) {
                struct event *e = happens(way[i].to, RECEIVED, way[i].peer, events[way[i].sending].tag, way[i].arrives);
                e->sending = way[i].sending;
                way[i--] = way[--under_way];
            }
        if (event_count == count)
            break;
        unsigned host = (unsigned)draw(HOSTS), to = (unsigned)draw(HOSTS);
        bool is_channel = draw(4) == 0, sends = draw(2);
        size_t n = event_count;
        happens(host, sends ? SENT : LOCAL, is_channel ? CHANNEL : to + 1, n, now);
        for (unsigned t = 0; sends && t < HOSTS; t++) /* to one, or to who reads the channel */
            if (is_channel ? draw(2) == 0 : t == to && t != host)
                way[under_way++] =
                    (struct on_way){n, t, is_channel ? CHANNEL : host + 1, now + 1 + draw(30 * CLOCK_US)};
    }
}

/* The last record of each host waits, if it can: no more of its streams is there, and it is not given. */
static void end_with_messages(void)
{
    uint64_t now = 12 * CLOCK_S;
    for (unsigned to = 0; to < HOSTS; to++)
        for (unsigned from = 0; from < HOSTS; from++, now += CLOCK_US)
            if (wrong[from] > wrong[to] + 2 * CLOCK_US) {
                size_t n = event_count;
                happens(from, SENT, to + 1, n, now)->stored = true;
                struct event *received = happens(to, RECEIVED, from + 1, n, now + CLOCK_US);
                received->sending = n;
                received->stored = true;
            }
}

/* ---- the trace --------------------------------------------------------------------------------------------------- */

static int by_host_and_time(const void *a, const void *b)
{
    const struct event *x = &events[*(const size_t *)a], *y = &events[*(const size_t *)b];
    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    return x->time != y->time ? (x->time < y->time ? -1 : 1) : *(const size_t *)a < *(const size_t *)b ? -1 : 1;
}

/* The time of a host's first event, or an earlier one. */
static uint64_t first_of(unsigned host)
{
    uint64_t first = 10 * CLOCK_S + ahead[host];
    for (size_t i = 0; i < event_count; i++)
        if (events[i].host == host && events[i].time < first)
            first = events[i].time;
    return first;
}

/* Stores events `list`, of one thread of one host, as one packet; 0 of them: opens the stream. */
static void store_events(unsigned host, unsigned thread, const size_t *list, uint32_t count)
{
    static uint8_t packet[PACKET_MAX_BYTES];
    struct model_process *p = processes[host];
    struct model_stream *s = model_stream(p, thread);
    struct packet_header h = {.stream_id = p->stream_id,
                              .seq = s->at.next_seq,
                              .kind = count ? PACKET_DATA : PACKET_OPEN,
                              .instance = p->instance,
                              .ring = thread,
                              .thread = 7,
                              .dictionary = p->dict->hash,
                              .records = count,
                              .first_ordinal = s->at.next_ordinal};
    memcpy(h.uuid, p->node->uuid, sizeof h.uuid);
    h.timestamp_begin = count ? events[list[0]].time : first_of(host);
    h.timestamp_end = count ? events[list[count - 1]].time : h.timestamp_begin;
    uint8_t *at = packet + PACKET_HEADER_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        const struct event *e = &events[list[i]];
        at = packet_put_record(at, e->aspect, e->time);
        bytes_put_u64(at, e->peer);
        bytes_put_u64(at + 8, e->aspect == LOCAL ? list[i] : e->tag);
        at += 16;
    }
    store(&g, p, thread, &h, packet, (size_t)(at - packet));
}

/* All events that were stored, by their host and time; returns how many. */
static size_t sort_events(size_t *list)
{
    size_t count = 0;
    for (size_t i = 0; i < event_count; i++)
        if (events[i].stored)
            list[count++] = i;
    qsort(list, count, sizeof *list, by_host_and_time);
    return count;
}

/* Stores what each host did from `from` to before `until`, of the true time. */
static void store_between(uint64_t from, uint64_t until)
{
    static size_t list[EVENTS_MAX], part[EVENTS_MAX];
    size_t count = sort_events(list);
    for (unsigned host = 0; host < HOSTS; host++)
        for (unsigned thread = 0; thread < THREADS; thread++) {
            uint32_t n = 0;
            if (!model_stream(processes[host], thread)->at.next_seq)
                store_events(host, thread, NULL, 0);
            for (size_t i = 0; i <= count; i++) {
                const struct event *e = i < count ? &events[list[i]] : NULL;
                bool is_of = e && e->host == host && e->thread == thread && e->time >= from + ahead[host] &&
                             e->time < until + ahead[host];
                if (is_of)
                    part[n++] = list[i];
                if (n > 0 && (!e || n == PACKET_MOST)) {
                    store_events(host, thread, part, n);
                    n = 0;
                }
            }
        }
}

/* ---- what is given ----------------------------------------------------------------------------------------------- */

/* Which event a record is. */
static struct event *event_of(const struct record_item *item)
{
    unsigned host = (unsigned)(item->process->pid - 101), n = 0;
    struct event *found = NULL;
    assert_non_null(item->r);
    for (size_t i = 0; i < event_count; i++) {
        struct event *e = &events[i];
        if (e->stored && !e->given && e->host == host && e->thread == item->packet->ring && e->time == item->time &&
            e->aspect == item->r->aspect && (e->aspect == LOCAL ? i : e->tag) == packet_value(item->r, 1)) {
            found = found ? found : e;
            n++;
        }
    }
    assert_true(n >= 1); /* of equal ones the first */
    return found;
}

struct given {
    size_t count;
    const struct event *list[EVENTS_MAX];
    int64_t logical;
};

static void take(struct given *to, const struct record_item *item)
{
    struct event *e = event_of(item);
    e->given = true;
    e->ns = item->at.ns;
    e->proof = item->proof;
    assert_true(item->logical >= item->at.ns && (item->logical > to->logical || item->logical == INT64_MAX));
    to->logical = item->logical;
    to->list[to->count++] = e;
}

static void take_all(struct given *to, struct run_reader *r)
{
    struct record_item item;
    int more;
    while ((more = run_reader_next(r, &item)) > 0)
        take(to, &item);
    assert_int_equal(more, 0);
}

static struct given *read_run(void)
{
    static struct given to;
    struct record_filter all = RECORD_FILTER_ALL;
    struct run_reader *r;
    to = (struct given){.logical = INT64_MIN};
    for (size_t i = 0; i < event_count; i++)
        events[i].given = false;
    assert_int_equal(run_reader_open(g.run, &all, &r), 0);
    if (draw(2))
        run_reader_buffers(r, 2000); /* room for some that wait */
    assert_int_equal(run_reader_look(r, RUN_READER_ALL), 0);
    take_all(&to, r);
    run_reader_close(r);
    for (size_t i = 0; i < event_count; i++)
        assert_int_equal(events[i].given, events[i].stored);
    return &to;
}

/* The key of each event: its time, or that of what it follows on its host, or behind the sending that it received. */
static void compute_keys(void)
{
    static size_t list[EVENTS_MAX];
    size_t count = sort_events(list);
    for (size_t i = 0; i < count; i++)
        events[list[i]].key = events[list[i]].ns;
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < count; i++) {
            struct event *e = &events[list[i]];
            const struct event *before = i && events[list[i - 1]].host == e->host ? &events[list[i - 1]] : NULL;
            const struct event *sent = e->sending != SIZE_MAX ? &events[e->sending] : NULL;
            int64_t key = before && before->key > e->key ? before->key : e->key;
            if (sent && sent->stored && (sent->key > key || (sent->key == key && sent->host > e->host)))
                key = sent->key + 1; /* of equal ones the first host's comes first */
            changed = changed || key > e->key;
            e->key = key;
        }
    }
}

/* How many tachyons there are in what was given, whose order is as it must be. */
static size_t check(const struct given *given)
{
    uint64_t latest[HOSTS] = {0};
    size_t tachyons = 0;
    compute_keys();
    for (size_t i = 0; i < given->count; i++) {
        const struct event *e = given->list[i];
        const struct event *sent = e->sending != SIZE_MAX && events[e->sending].stored ? &events[e->sending] : NULL;
        bool is_tachyon = sent && sent->ns > e->ns;
        if (i && e->key < given->list[i - 1]->key)
            fail_msg("record %zu, of host %u, stands behind a later one, of host %u", i, e->host,
                     given->list[i - 1]->host);
        assert_true(e->time >= latest[e->host]);
        latest[e->host] = e->time;
        assert_int_equal(e->proof == RECORD_TACHYON, is_tachyon);
        assert_int_equal(e->proof == RECORD_MOVED, !is_tachyon && e->key > e->ns);
        assert_int_not_equal(e->proof, RECORD_CONTRARY);
        tachyons += is_tachyon;
    }
    for (size_t i = 0; i < given->count; i++) /* each sending before its receivings */
        if (given->list[i]->aspect == SENT)
            for (size_t k = 0; k < i; k++)
                assert_false(given->list[k]->sending != SIZE_MAX && &events[given->list[k]->sending] == given->list[i]);
    return tachyons;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* Of all that is stored. */
static uint64_t hash_of_streams(void)
{
    static char bytes[1 << 20];
    char path[PATH_MAX];
    uint64_t hash = HASH_FNV64_START;
    for (unsigned i = 0; i < HOSTS * THREADS; i++) {
        struct model_process *p = processes[i / THREADS];
        assert_int_equal(store_path(g.store, p->node, model_stream(p, i % THREADS), path, sizeof path), 0);
        FILE *f = fopen(path, "r");
        assert_non_null(f);
        size_t n = fread(bytes, 1, sizeof bytes, f);
        assert_in_range(n, 1, sizeof bytes - 1);
        hash = hash_fnv64(hash, bytes, n);
        fclose(f);
    }
    return hash;
}

TEST(what_was_received_stands_behind_its_sending_and_nothing_waits_longer)
{
    size_t tachyons = 0;
    for (int round = 0; round < 6; round++) {
        begin_run("honest", round % 2, ROUND_TRIP / 2);
        let_happen(200 + draw(800));
        end_with_messages();
        store_between(0, 20 * CLOCK_S);
        uint64_t stored = hash_of_streams();
        tachyons += check(read_run());
        assert_int_equal(hash_of_streams(), stored); /* the order is the reader's alone */
        grown_close(&g);
    }
    printf("%zu tachyons\n", tachyons);
    assert_true(tachyons > 100);
}

/* Stream files are as if they had grown 100 s ago. */
static void make_older(bool is_wanted)
{
    char path[PATH_MAX];
    struct timespec times[2];
    for (unsigned i = 0; i < HOSTS * THREADS && is_wanted; i++) {
        struct model_process *p = processes[i / THREADS];
        assert_int_equal(store_path(g.store, p->node, model_stream(p, i % THREADS), path, sizeof path), 0);
        clock_gettime(CLOCK_REALTIME, &times[0]);
        times[0].tv_sec -= 100;
        times[1] = times[0];
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
}

static uint64_t count_waiting(const struct given *given)
{
    uint64_t n = 0;
    for (size_t i = 0; i < given->count; i++)
        n += given->list[i]->key > given->list[i]->ns;
    return n;
}

TEST(a_run_that_grows_is_given_in_the_order_in_which_it_is_read_later)
{
    static struct given live;
    static const struct event *order[EVENTS_MAX];
    struct record_filter all = RECORD_FILTER_ALL;
    for (int round = 0; round < 4; round++) {
        struct watermarks *file;
        struct run_reader *r;
        begin_run("grows", round % 2, ROUND_TRIP / 2);
        assert_int_equal(watermarks_open(g.run, &file), 0);
        let_happen(600);
        live = (struct given){.logical = INT64_MIN};
        assert_int_equal(run_reader_open(g.run, &all, &r), 0);
        size_t early = 0;
        for (uint64_t at = 11 * CLOCK_S; at < 11 * CLOCK_S + 8 * CLOCK_MS; at += CLOCK_MS) {
            store_between(at, at + CLOCK_MS);
            make_older(at > 11 * CLOCK_S);
            for (unsigned i = 0; i < HOSTS; i++) {
                struct watermark mark = {.low = (int64_t)(at + CLOCK_MS + ahead[i]), .at = clock_now()};
                memcpy(mark.uuid, processes[i]->node->uuid, sizeof mark.uuid);
                watermarks_put(file, at == 11 * CLOCK_S ? watermarks_add(file) : (int)i, &mark);
            }
            assert_int_equal(run_reader_look(r, RUN_READER_HOLD), 0);
            take_all(&live, r);
            early += live.count > 0;
        }
        store_between(11 * CLOCK_S + 8 * CLOCK_MS, 20 * CLOCK_S);
        assert_int_equal(run_reader_look(r, RUN_READER_ALL), 0);
        take_all(&live, r);
        check(&live);
        assert_true(early > 5);
        struct run_reader_totals totals = run_reader_totals(r);
        assert_in_range(totals.waited, 1, live.count - 1); /* what the first look found was there before */
        assert_in_range(totals.waited_most, 100 * CLOCK_S, 200 * CLOCK_S);
        assert_in_range(totals.waited_ns / totals.waited, CLOCK_S, 200 * CLOCK_S);
        assert_int_equal(totals.proofs[RECORD_TACHYON] + totals.proofs[RECORD_MOVED], count_waiting(&live));
        run_reader_close(r);
        size_t count = live.count;
        memcpy(order, live.list, count * sizeof(const struct event *));
        const struct given *later = read_run();
        assert_int_equal(later->count, count);
        for (size_t i = 0; i < count; i++)
            assert_ptr_equal(later->list[i], order[i]);
        watermarks_close(file);
        grown_close(&g);
    }
}

/* Every sending that stands behind a receiving is marked, and nothing is lost. */
static void check_marks(const struct given *given)
{
    for (size_t i = 0; i < given->count; i++) {
        const struct event *e = given->list[i];
        bool before = false;
        for (size_t k = 0; k < i && e->aspect == SENT; k++)
            before = before || (given->list[k]->sending != SIZE_MAX && &events[given->list[k]->sending] == e);
        if (e->aspect == SENT)
            assert_int_equal(e->proof == RECORD_CONTRARY, before);
        bool behind = false; /* a tachyon stands behind its sending */
        for (size_t k = 0; k < i && e->proof == RECORD_TACHYON; k++)
            behind = behind || given->list[k] == &events[e->sending];
        assert_int_equal(e->proof == RECORD_TACHYON, behind);
    }
}

TEST(clocks_beyond_their_bounds_leave_marks)
{
    size_t contrary = 0;
    for (int round = 0; round < 4; round++) {
        begin_run("lying", round % 2, 20 * ROUND_TRIP);
        let_happen(800);
        store_between(0, 20 * CLOCK_S);
        const struct given *given = read_run();
        check_marks(given);
        for (size_t i = 0; i < given->count; i++)
            contrary += given->list[i]->proof == RECORD_CONTRARY;
        grown_close(&g);
    }
    printf("%zu contrary messages\n", contrary);
    assert_true(contrary > 10);
}

/* Tags that say anything: records wait for each other in circles, but never for ever. */
TEST(tags_that_contradict_each_other_hold_nothing_up)
{
    for (int round = 0; round < (getenv("BEZEL_TEST_LIGHT") ? 4 : 10); round++) {
        begin_run("tags", round % 2, ROUND_TRIP / 2);
        let_happen(500);
        for (size_t i = 0; i < event_count; i++)
            if (draw(2)) {
                events[i].tag = draw(20);
                events[i].peer = (uint32_t)draw(CHANNEL + 2); /* or nobody */
                events[i].aspect = 1 + (uint32_t)draw(3);
                events[i].sending = SIZE_MAX;
            }
        store_between(0, 20 * CLOCK_S);
        (void)read_run();
        grown_close(&g);
    }
}

/* Two hosts whose clocks are known, or known to be apart by any time, as their offsets from the wall clock say. */
static void begin_apart(bool siso, int64_t offset)
{
    begin_run("extremes", siso, ROUND_TRIP / 2);
    for (unsigned i = HOSTS - 2; i < HOSTS; i++) {
        struct message_hello hello = {.uuid = {0xe0, (uint8_t)i}, .clock = {0xe0, (uint8_t)i}};
        hello.realtime_offset = i == HOSTS - 1 ? offset : 0;
        snprintf(hello.node, sizeof hello.node, "apart%u", i);
        struct model_node *node = model_add_node(g.model, &hello);
        assert_non_null(node);
        assert_int_equal(rundb_add_node(g.rundb, node), 0);
        processes[i] = add_process(&g, node, names[i], i + 1);
    }
    assert_int_equal(rundb_commit(g.rundb), 0);
}

/* Each host sends a message at time `sent`, which the other one receives at `received`: in circles, where that is so.
 */
static void exchange_at(unsigned from, unsigned to, const uint64_t sent[2], const uint64_t received[2])
{
    const unsigned hosts[2] = {from, to};
    for (unsigned i = 0; i < 2; i++) {
        events[event_count++] = (struct event){hosts[i], 0, SENT, hosts[1 - i] + 1, i, sent[i], .stored = true};
        events[event_count++] =
            (struct event){hosts[i], 0, RECEIVED, hosts[1 - i] + 1, 1 - i, received[i], .stored = true};
        events[event_count - 2].sending = events[event_count - 1].sending = SIZE_MAX;
    }
    for (unsigned i = 0; i < 2; i++) {
        bool in_order = sent[i] <= received[i];
        size_t first = 2 * (size_t)i, list[2] = {first + !in_order, first + in_order};
        store_events(hosts[i], 0, NULL, 0);
        store_events(hosts[i], 0, list, 2);
    }
}

/* Every time that a packet can carry, with clocks that are as far apart as they can say. */
TEST(messages_at_the_ends_of_time_hold_nothing_up)
{
    static const uint64_t times[] = {0, 1, INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};
    static const int64_t offsets[] = {INT64_MIN, -1, 0, INT64_MAX};
    enum { TIMES = sizeof times / sizeof *times, OFFSETS = sizeof offsets / sizeof *offsets };
    for (int round = 0; round < 2 * TIMES * TIMES * OFFSETS; round++) {
        const uint64_t a[2] = {times[round / 2 % TIMES], times[round / 2 / TIMES % TIMES]};
        const uint64_t b[2] = {times[draw(TIMES)], times[draw(TIMES)]};
        begin_apart(round % 2, offsets[round / 2 / TIMES / TIMES]);
        exchange_at(HOSTS - 2, draw(2) ? HOSTS - 1 : 1, a, b);
        const struct given *given = read_run();
        assert_int_equal(given->count, 4);
        grown_close(&g);
    }
}

int main(void)
{
    seed = seed_start();
    return test_run(scratch_begin, scratch_end);
}
