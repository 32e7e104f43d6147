// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The receiver when something behind it fails: a row that the database does not take, an answer that the link does not
 * take, a sync. What was not written counts as not received, what was not answered is answered later, and the node
 * that repeats it is served.
 */
#include "collector/receive/receiver_internal.h"
#include "run/rundb/rundb_sqlite.h"
#include "tests/lib/fake_sensor.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const uint8_t run_id[16] = "a run's identity";

/* ---- what fails -------------------------------------------------------------------------------------------------- */

static int64_t ahead;                                                 /* ns, of the clock */
static int node_err, process_err, dictionary_err, note_err, save_err; /* of the next one; 0: it succeeds */
static int sys;                                                       /* errno of that */
static int answer_err; /* of the receiver's sends, as long as it is set */
static int sync_error; /* errno of syncs, likewise */

int64_t __wrap_clock_now(void);
int64_t __real_clock_now(void);

int64_t __wrap_clock_now(void)
{
    return __real_clock_now() + ahead;
}

static int once(int *err)
{
    int now = *err;
    *err = 0;
    if (now)
        errno = sys;
    return now;
}

int __wrap_rundb_add_node(struct rundb *f, struct model_node *node);
int __real_rundb_add_node(struct rundb *f, struct model_node *node);

int __wrap_rundb_add_node(struct rundb *f, struct model_node *node)
{
    int err = once(&node_err);
    return err ? err : __real_rundb_add_node(f, node);
}

int __wrap_rundb_add_process(struct rundb *f, struct model_process *p, const void *dictionary, size_t n);
int __real_rundb_add_process(struct rundb *f, struct model_process *p, const void *dictionary, size_t n);

int __wrap_rundb_add_process(struct rundb *f, struct model_process *p, const void *dictionary, size_t n)
{
    int err = once(&process_err);
    return err ? err : __real_rundb_add_process(f, p, dictionary, n);
}

int __wrap_rundb_set_dictionary(struct rundb *f, const struct model_process *p, const void *dictionary, size_t n);
int __real_rundb_set_dictionary(struct rundb *f, const struct model_process *p, const void *dictionary, size_t n);

int __wrap_rundb_set_dictionary(struct rundb *f, const struct model_process *p, const void *dictionary, size_t n)
{
    int err = once(&dictionary_err);
    return err ? err : __real_rundb_set_dictionary(f, p, dictionary, n);
}

int __wrap_rundb_add_note(struct rundb *f, const struct model_node *node, const struct message_note *note);
int __real_rundb_add_note(struct rundb *f, const struct model_node *node, const struct message_note *note);

int __wrap_rundb_add_note(struct rundb *f, const struct model_node *node, const struct message_note *note)
{
    int err = once(&note_err);
    return err ? err : __real_rundb_add_note(f, node, note);
}

int __wrap_rundb_save(struct rundb *f, struct model *m);
int __real_rundb_save(struct rundb *f, struct model *m);

int __wrap_rundb_save(struct rundb *f, struct model *m)
{
    int err = once(&save_err);
    return err ? err : __real_rundb_save(f, m);
}

int __wrap_link_send(struct link *link, const struct link_peer *peer, const void *data, size_t n);
int __real_link_send(struct link *link, const struct link_peer *peer, const void *data, size_t n);

int __wrap_link_send(struct link *link, const struct link_peer *peer, const void *data, size_t n)
{
    return peer && answer_err ? answer_err : __real_link_send(link, peer, data, n);
}

int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    (void)fd;
    errno = sync_error;
    return sync_error ? -1 : 0;
}

/* ---- a collector and a node -------------------------------------------------------------------------------------- */

static struct model *model;
static struct rundb *rundb;
static struct store *store;
static struct link *link;
static struct receiver *in;
static struct fake_sensor *f;

static unsigned room = 1; /* how much more there is of everything than other tests need */

static int open_all(int64_t sync)
{
    char endpoint[SCRATCH_PATH + 16];
    struct receiver_limits limits = {.connections = 2 * room, .processes = 4 * room};
    int err = scratch_begin(NULL);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/data", scratch_dir);
    ahead = 0;
    sys = ENOSPC;
    answer_err = sync_error = 0;
    model = model_new("");
    if (err || rundb_open(scratch_dir, &rundb) != 0 || rundb_serve(rundb, false) != 0 ||
        store_open(scratch_dir, sync, &store) != 0 || link_bind(endpoint, PACKET_MAX_BYTES, NULL, &link) != 0)
        return -1;
    in = receiver_new(model, rundb, store, link, limits);
    f = fake_new("desk", run_id, 42);
    fake_add_process(f, "app", 1, ROLE_SUT);
    return in && f ? 0 : -1;
}

static int begin(void **state)
{
    (void)state;
    return open_all(STORE_SYNC_NEVER);
}

static int begin_syncing(void **state)
{
    (void)state;
    return open_all(0);
}

static int begin_syncing_seldom(void **state)
{
    (void)state;
    return open_all(10 * 60 * CLOCK_S);
}

static int begin_in_a_large_run(void **state)
{
    (void)state;
    room = 500;
    int err = open_all(STORE_SYNC_NEVER);
    room = 1;
    return err;
}

static int end(void **state)
{
    fake_disconnect(f);
    fake_free(f);
    receiver_free(in);
    link_close(link, 0);
    assert_int_equal(rundb_close(rundb), 0);
    store_close(store);
    model_free(model);
    return scratch_end(state);
}

/* Turns of the receiver until it took `frames` of them. */
static void take(int frames)
{
    int64_t deadline = __real_clock_now() + PATIENCE;
    for (int taken = 0; taken < frames;) {
        assert_true(__real_clock_now() < deadline);
        (void)link_wait(&link, 1, NULL, 0, 100 * CLOCK_MS);
        taken += receiver_turn(in);
    }
}

/* The next message to the node, but for heartbeats. */
static enum message_type heard(void)
{
    struct link_frame frame;
    int64_t deadline = __real_clock_now() + PATIENCE;
    do {
        while (link_receive(f->link, &frame) != 0) {
            assert_true(__real_clock_now() < deadline);
            (void)link_wait(&f->link, 1, NULL, 0, 100 * CLOCK_MS);
        }
        assert_int_equal(message_decode(frame.data, frame.size, f->in), 0);
        link_frame_free(&frame);
    } while (f->in->type == MESSAGE_HEARTBEAT);
    return f->in->type;
}

/* Whether the receiver has an answer for the node: it says something unmistakable behind whatever it had to say. */
static bool is_silent(void)
{
    struct link_frame frame;
    ahead += 2 * RECEIVER_HEARTBEAT;
    receiver_tick(in, clock_now(), false);
    int64_t deadline = __real_clock_now() + PATIENCE;
    while (link_receive(f->link, &frame) != 0) {
        assert_true(__real_clock_now() < deadline);
        (void)link_wait(&f->link, 1, NULL, 0, 100 * CLOCK_MS);
    }
    assert_int_equal(message_decode(frame.data, frame.size, f->in), 0);
    link_frame_free(&frame);
    return f->in->type == MESSAGE_HEARTBEAT;
}

static void meet(void)
{
    assert_true(fake_connect(f, link_endpoint(link)));
    take(1);
    assert_int_equal(heard(), MESSAGE_WELCOME);
}

static struct model_process *known(void)
{
    return model_find_process(model->nodes, f->processes[0]->said.instance);
}

static void describe(void)
{
    assert_true(fake_say_process(f, 0));
    take(1);
}

/* The next packet that was not sent. */
static void send_packet(unsigned ring)
{
    struct fake_stream *s = &f->processes[0]->rings[ring];
    assert_true(fake_send(f, s->bytes + s->starts[s->sent], s->starts[s->sent + 1] - s->starts[s->sent]));
    s->sent++;
    take(1);
}

/* Ends the process: all is stored and acknowledged, its streams are closed, and its last books said. */
static void end_process(void)
{
    describe();
    fake_cut(f, 0, 0, 10);
    fake_close_stream(f, 0, 0);
    for (int i = 0; i < 3; i++) {
        send_packet(0);
        assert_int_equal(heard(), MESSAGE_ACK);
        assert_int_equal(f->in->ack.streams[0].next_seq, i + 1);
    }
    assert_true(fake_say_books(f, 0, PROCESS_ENDED, 0));
    take(1);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, a_node_that_the_database_does_not_take_is_welcomed_when_it_comes_again)
{
    node_err = BEZEL_EBUSY;
    assert_true(fake_connect(f, link_endpoint(link)));
    take(1);
    assert_null(model->nodes);
    assert_int_equal(model->totals.nodes, 0);
    assert_int_equal(receiver_peers(in), 0);
    assert_int_equal(store_failure(store, NULL), 0); /* it has nothing to do with the disk */
    meet();
    assert_int_equal(model->totals.nodes, 1);
    assert_int_equal(receiver_peers(in), 1);
}

TEST_WITH(begin, end, a_full_database_stops_the_store_too)
{
    const char *path;
    meet();
    process_err = BEZEL_ENOSPC;
    describe();
    assert_null(known());
    assert_int_equal(store_failure(store, &path), ENOSPC);
    assert_string_equal(path, "run.db");
}

TEST_WITH(begin, end, a_process_that_the_database_does_not_take_is_asked_for_again)
{
    meet();
    fake_cut(f, 0, 0, 10);
    process_err = BEZEL_EBUSY;
    describe();
    assert_null(known());
    assert_int_equal(model->totals.processes, 0);
    send_packet(0);
    assert_int_equal(heard(), MESSAGE_NEED_PROCESS);
    assert_int_equal(f->in->need_process.instance, f->processes[0]->said.instance);
    assert_int_equal(model->totals.packets, 0);
    describe();
    assert_non_null(known());
    assert_true(known()->dirty);
    f->processes[0]->rings[0].sent = 0;
    send_packet(0);
    assert_int_equal(heard(), MESSAGE_ACK);
    assert_int_equal(model->totals.packets, 1);
}

TEST_WITH(begin, end, a_dictionary_that_the_database_does_not_take_is_taken_when_it_comes_again)
{
    meet();
    describe();
    uint64_t before = known()->dict->hash;
    assert_int_equal(receiver_save(in), 0);
    assert_false(receiver_changed(in));
    fake_add_string(f, 0, "one more");
    dictionary_err = BEZEL_EBUSY;
    describe();
    assert_true(known()->dict->hash == before);
    describe();
    assert_true(known()->dict->hash == f->processes[0]->dict->hash);
    assert_true(receiver_changed(in) && known()->dirty);
}

static void say_watermark(uint64_t low)
{
    f->out->type = MESSAGE_WATERMARK;
    f->out->watermark.low = low;
    assert_true(fake_say(f));
    take(1);
}

/* The only low watermark of the file. */
static int64_t low_told(void)
{
    struct watermark mark[2];
    assert_int_equal(watermarks_read(scratch_dir, mark, 2), 1);
    assert_memory_equal(mark[0].uuid, f->hello.uuid, sizeof mark[0].uuid);
    return mark[0].low;
}

TEST_WITH(begin, end, a_low_watermark_is_told_while_all_before_it_is_stored)
{
    struct watermarks *file;
    struct watermark none;
    assert_int_equal(watermarks_open(scratch_dir, &file), 0);
    receiver_set_watermarks(in, file);
    assert_int_equal(watermarks_read(scratch_dir, &none, 1), 0);
    meet();
    describe();
    fake_cut(f, 0, 0, 10);
    fake_cut(f, 0, 0, 10);
    send_packet(0);
    assert_int_equal(heard(), MESSAGE_ACK);
    say_watermark(1000);
    assert_int_equal(low_told(), 1000);
    say_watermark(900); /* it never falls */
    assert_int_equal(low_told(), 1000);
    say_watermark(UINT64_MAX);
    assert_int_equal(low_told(), 1000);
    f->processes[0]->rings[0].sent++; /* a packet is lost on the way */
    send_packet(0);
    assert_int_equal(heard(), MESSAGE_ACK);
    say_watermark(2000);
    assert_int_equal(low_told(), 1000);
    meet();
    f->processes[0]->rings[0].sent = 1;
    send_packet(0);
    say_watermark(2000);
    assert_int_equal(low_told(), 2000);
    f->out->type = MESSAGE_BYE;
    assert_true(fake_say(f));
    take(1);
    assert_true(low_told() == WATERMARK_LEFT);
    meet(); /* it comes back */
    assert_int_equal(low_told(), 2000);
    receiver_set_watermarks(in, NULL);
    watermarks_close(file);
    assert_int_equal(watermarks_read(scratch_dir, &none, 1), 0);
}

TEST_WITH(begin, end, a_note_that_the_database_does_not_take_stops_nothing)
{
    meet();
    note_err = BEZEL_EBUSY;
    f->out->type = MESSAGE_NOTE;
    f->out->note = (struct message_note){.instance = 7, .pid = 7, .at = 1, .code = "BEZEL-X", .text = "a note"};
    assert_true(fake_say(f));
    take(1);
    assert_true(receiver_changed(in));
    assert_int_equal(receiver_save(in), 0);
    assert_int_equal(model->totals.refused, 0);
    describe();
    assert_non_null(known());
}

TEST_WITH(begin, end, final_books_are_answered_when_they_are_saved_and_again_to_who_repeats_them)
{
    meet();
    end_process();
    uint64_t at = f->out->books.at;
    assert_true(is_silent()); /* not saved yet */
    save_err = BEZEL_EBUSY;
    assert_int_equal(receiver_save(in), BEZEL_EBUSY);
    assert_true(is_silent());
    answer_err = BEZEL_EAGAIN;
    assert_int_equal(receiver_save(in), 0);
    assert_true(receiver_changed(in)); /* to try again */
    answer_err = 0;
    assert_int_equal(receiver_save(in), 0);
    assert_false(receiver_changed(in));
    assert_int_equal(heard(), MESSAGE_BOOKS);
    assert_int_equal(f->in->books.instance, f->processes[0]->said.instance);
    assert_int_equal(f->in->books.state, PROCESS_ENDED);
    assert_int_equal(f->in->books.at, at);
    assert_true(model_is_evicted(known()));
    assert_int_equal(receiver_save(in), 0);
    assert_true(is_silent());
    for (int times = 0; times < 2; times++) { /* the answer was lost */
        ahead += CLOCK_S;
        assert_true(fake_say_books(f, 0, PROCESS_ENDED, 0));
        take(1);
        assert_true(receiver_changed(in));
        assert_int_equal(receiver_save(in), 0);
        assert_int_equal(heard(), MESSAGE_BOOKS);
        assert_int_equal(f->in->books.at, f->out->books.at);
        assert_true(model_is_evicted(known()));
        assert_true(is_silent());
    }
}

TEST_WITH(begin, end, what_cannot_be_acknowledged_now_is_acknowledged_later)
{
    meet();
    describe();
    for (unsigned ring = 0; ring < 2; ring++)
        fake_cut(f, 0, ring, 10);
    answer_err = BEZEL_EAGAIN;
    send_packet(0);
    send_packet(1);
    answer_err = 0;
    assert_int_equal(receiver_peers(in), 1);
    assert_true(is_silent());
    (void)receiver_turn(in);
    assert_int_equal(heard(), MESSAGE_ACK);
    assert_int_equal(f->in->ack.stream_count, 2);
    assert_true(is_silent());
}

/* A section of the store is in stable storage when it begins: nobody waits for the next sync. */
TEST_WITH(begin_syncing_seldom, end, what_a_section_of_the_store_brings_to_the_disk_is_acknowledged_at_once)
{
    struct keep keep;
    assert_int_equal(keep_init(&keep, &(struct store_keep){.bytes = 8 << 10}, rundb, store, model, clock_now()), 0);
    receiver_set_keep(in, &keep);
    meet();
    describe();
    fake_cut(f, 0, 0, 60);
    send_packet(0); /* the opening packet, which begins no section */
    assert_true(is_silent());
    send_packet(0);
    assert_int_equal(heard(), MESSAGE_ACK);
    assert_int_equal(f->in->ack.streams[0].next_seq, 2);
    assert_int_equal(keep.count, 2);
}

/* Its connection is given up; what it was not told, the WELCOME to the next one says. */
TEST_WITH(begin, end, who_cannot_be_answered_is_gone_until_it_greets_again)
{
    meet();
    describe();
    fake_cut(f, 0, 0, 10);
    answer_err = BEZEL_EUNREACH;
    send_packet(0);
    answer_err = 0;
    assert_int_equal(receiver_peers(in), 0);
    send_packet(0); /* not taken: nobody knows who that is */
    assert_int_equal(model->totals.packets, 1);
    meet();
    assert_int_equal(f->in->welcome.stream_count, 1);
    assert_int_equal(f->in->welcome.streams[0].next_seq, 1);
    assert_int_equal(f->in->welcome.credit_bytes, RECEIVER_CREDIT);
    answer_err = BEZEL_EUNREACH; /* no heartbeat reaches it */
    ahead += CLOCK_S;
    receiver_tick(in, clock_now(), false);
    answer_err = 0;
    assert_int_equal(receiver_peers(in), 0);
}

/* A position is an acknowledgement. */
TEST_WITH(begin_syncing, end, who_comes_after_a_sync_failed_is_told_no_position)
{
    meet();
    describe();
    fake_cut(f, 0, 0, 10);
    sync_error = EIO;
    send_packet(0);
    assert_true(is_silent());
    assert_int_equal(store_failure(store, NULL), EIO);
    sync_error = 0;
    for (int times = 0; times < 2; times++) {
        assert_true(fake_connect(f, link_endpoint(link)));
        take(1);
        assert_int_equal(receiver_peers(in), 1);
        assert_true(is_silent());
    }
    assert_int_equal(receiver_sync(in, model->nodes), BEZEL_ESYS);
}

TEST_WITH(begin, end, a_bye_is_answered_when_all_is_saved)
{
    meet();
    end_process();
    f->out->type = MESSAGE_BYE;
    assert_true(fake_say(f));
    take(1);
    save_err = BEZEL_EBUSY;
    assert_int_equal(receiver_save(in), BEZEL_EBUSY);
    assert_int_equal(receiver_peers(in), 1);
    answer_err = BEZEL_EAGAIN;
    assert_int_equal(receiver_save(in), 0);
    assert_true(receiver_changed(in));
    assert_int_equal(receiver_peers(in), 1);
    answer_err = 0;
    assert_int_equal(receiver_save(in), 0);
    assert_int_equal(heard(), MESSAGE_BOOKS);
    assert_int_equal(heard(), MESSAGE_BYE);
    assert_int_equal(receiver_peers(in), 0);
    assert_true(model->nodes->left);
    assert_false(receiver_changed(in));
    meet();
    assert_false(model->nodes->left);
    assert_true(receiver_changed(in)); /* the database says that it left */
}

TEST_WITH(begin, end, who_is_silent_is_gone_but_only_where_nothing_waits)
{
    meet();
    ahead += RECEIVER_SILENT - CLOCK_MS * 500;
    receiver_tick(in, clock_now(), true);
    assert_int_equal(receiver_peers(in), 1);
    ahead += CLOCK_S;
    int64_t again = receiver_tick(in, clock_now(), false); /* its frames may still wait */
    assert_int_equal(receiver_peers(in), 1);
    assert_int_equal(receiver_tick(in, again - 1, true), again); /* too early: nothing is looked at */
    assert_int_equal(receiver_peers(in), 1);
    (void)receiver_tick(in, again, true);
    assert_int_equal(receiver_peers(in), 0);
}

/* A greeting with something changed is answered with a reason that has `words`. */
static void assert_refused(struct message_hello hello, const char *words)
{
    struct link *other;
    struct link *before = f->link;
    uint64_t refused = model->totals.refused;
    assert_int_equal(link_connect(link_endpoint(link), PACKET_MAX_BYTES, 16, NULL, &other), 0);
    f->link = other;
    f->out->type = MESSAGE_HELLO;
    f->out->hello = hello;
    f->out->hello.attempt += 1000;
    assert_true(fake_say(f));
    take(1);
    assert_int_equal(heard(), MESSAGE_REFUSE);
    if (!strstr(f->in->refuse.reason, words))
        fail_msg("%s", f->in->refuse.reason);
    assert_int_equal(model->totals.refused, refused + 1);
    link_close(other, 0);
    f->link = before;
}

TEST_WITH(begin, end, greetings_that_cannot_be_are_refused_with_the_reason)
{
    meet();
    struct message_hello other = f->hello;
    other.run[0] ^= 1;
    assert_refused(other, "another run");
    other = f->hello;
    snprintf(other.node, sizeof other.node, "lab");
    assert_refused(other, "uses this trace id");
    other = f->hello;
    other.clock[15] ^= 1;
    assert_refused(other, "uses this trace id");
    other = f->hello;
    other.uuid[0] ^= 1;
    snprintf(other.node, sizeof other.node, ".lab");
    assert_refused(other, "must not begin with '.'");
    assert_int_equal(receiver_peers(in), 1);
    assert_true(is_silent());
}

TEST_WITH(begin, end, what_a_collector_does_not_take_is_counted)
{
    meet();
    uint64_t refused = model->totals.refused;
    f->out->type = MESSAGE_ACK;
    f->out->ack.stream_count = 0;
    assert_true(fake_say(f));
    assert_true(fake_send(f, "nonsense", 8));
    take(2);
    assert_int_equal(model->totals.refused, refused + 2);
    assert_true(receiver_changed(in));
    assert_int_equal(receiver_peers(in), 1);
}

/* ---- shares ------------------------------------------------------------------------------------------------------ */

/* Says HELLO in the name of `node`, with its `number`-th trace. */
static void greet(const char *node, uint32_t number)
{
    f->out->type = MESSAGE_HELLO;
    f->out->hello = f->hello;
    snprintf(f->out->hello.node, sizeof f->out->hello.node, "%s", node);
    memcpy(f->out->hello.uuid, &number, sizeof number);
    memcpy(f->out->hello.uuid + 8, node, 4);
    assert_true(fake_say(f));
    take(1);
}

static unsigned count_notes(const char *code)
{
    sqlite3_stmt *s;
    assert_int_equal(rundb_commit(rundb), 0);
    assert_int_equal(sqlite3_prepare_v2(rundb->db, "SELECT count(*) FROM notes WHERE code = ?", -1, &s, NULL), 0);
    sqlite3_bind_text(s, 1, code, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(s), SQLITE_ROW);
    unsigned n = (unsigned)sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return n;
}

TEST_WITH(begin, end, a_time_that_is_still_to_come_is_noted_once)
{
    memcpy(model->run_clock, model->clock, sizeof model->run_clock);
    model->ahead = clock_realtime_offset();
    meet();
    describe();
    fake_cut(f, 0, 0, 10);
    send_packet(0);
    send_packet(0);
    assert_int_equal(count_notes("BEZEL-TIME-AHEAD"), 0);
    f->processes[0]->rings[0].time = (uint64_t)(clock_now() + MODEL_WALL_SLACK + CLOCK_S);
    fake_cut(f, 0, 0, 10);
    fake_cut(f, 0, 0, 10);
    send_packet(0);
    send_packet(0);
    assert_int_equal(count_notes("BEZEL-TIME-AHEAD"), 1);
    assert_int_equal(model->totals.records, 30);
    f->processes[0]->rings[0].time = MODEL_TIME_MAX; /* records are behind that */
    fake_cut(f, 0, 0, 10);
    send_packet(0);
    assert_int_equal(model->totals.records, 30);
}

TEST_WITH(begin_in_a_large_run, end, a_node_that_greets_without_end_is_not_answered_and_others_are)
{
    meet();
    uint32_t begun = 0;
    for (; model->totals.refused == 0 && begun < 1000; begun++)
        greet("evil", begun);
    assert_in_range(begun, SHARE_HELLOS_BURST, SHARE_HELLOS_BURST + 50); /* a second or so of real time */
    assert_int_equal(model->totals.nodes, begun);                        /* the last one was dropped; desk is one */
    for (unsigned i = 1; i < begun; i++)
        assert_int_equal(heard(), MESSAGE_WELCOME);
    assert_true(is_silent());
    greet("rack", 1);
    assert_int_equal(heard(), MESSAGE_WELCOME);
    assert_int_equal(count_notes("BEZEL-NODE-SHARE"), 1);
}

TEST_WITH(begin_in_a_large_run, end, a_node_begins_as_many_traces_as_are_its_share)
{
    meet();
    for (uint32_t i = 0; i < SHARE_TRACES_MAX; i++, ahead += CLOCK_S) {
        greet("evil", i);
        assert_int_equal(heard(), MESSAGE_WELCOME);
    }
    for (uint32_t i = 0; i < 3; i++, ahead += CLOCK_S) {
        greet("evil", SHARE_TRACES_MAX + i);
        assert_int_equal(heard(), MESSAGE_REFUSE);
        assert_non_null(strstr(f->in->refuse.reason, "256 traces"));
    }
    assert_int_equal(model->totals.nodes, 1 + SHARE_TRACES_MAX);
    greet("evil", 7); /* one that it has begun goes on */
    assert_int_equal(heard(), MESSAGE_WELCOME);
    greet("rack", 1);
    assert_int_equal(heard(), MESSAGE_WELCOME);
    assert_int_equal(count_notes("BEZEL-NODE-SHARE"), 1);
    receiver_free(in);
    struct receiver_limits limits = {.connections = 1000, .processes = 2000};
    in = receiver_new(model, rundb, store, link, limits); /* as the collector that is started again */
    assert_non_null(in);
    greet("evil", SHARE_TRACES_MAX);
    assert_int_equal(heard(), MESSAGE_REFUSE);
}

/* Says PROCESS of a process that nobody knows; returns whether the run has it now. */
static bool add_another(uint64_t instance)
{
    uint64_t before = model->totals.processes;
    f->out->type = MESSAGE_PROCESS;
    f->out->process = f->processes[0]->said;
    f->out->process.instance = instance;
    f->out->process.stream_id = (uint32_t)instance;
    assert_true(fake_say(f));
    take(1);
    return model->totals.processes > before;
}

TEST_WITH(begin_in_a_large_run, end, a_node_has_no_more_processes_than_its_share)
{
    uint64_t n = 0;
    meet();
    greet("rack", 1);
    assert_int_equal(heard(), MESSAGE_WELCOME);
    while (add_another(1000 + n))
        n++;
    assert_int_equal(n, 2000 - 2000 / SHARES_OWN / 2); /* the rest is desk's own */
    assert_int_equal(count_notes(RUNDB_PROCESS_REFUSED), 1);
    assert_true(fake_connect(f, link_endpoint(link)));
    take(1);
    assert_int_equal(heard(), MESSAGE_WELCOME);
    assert_true(add_another(1));
}

TEST_WITH(begin, end, a_node_has_no_more_streams_than_its_share)
{
    receiver_free(in);
    struct receiver_limits limits = {.connections = 2, .processes = 4, .streams = 3};
    in = receiver_new(model, rundb, store, link, limits);
    assert_non_null(in);
    fake_add_process(f, "other", 2, ROLE_SUT);
    meet();
    describe();
    for (unsigned ring = 0; ring < 4; ring++) {
        fake_cut(f, 0, ring, 1);
        send_packet(ring);
        if (ring == 3)
            send_packet(ring); /* what follows is thrown away, so that it does not hold up others */
        assert_int_equal(heard(), MESSAGE_ACK);
        assert_int_equal(f->in->ack.streams[0].next_seq, ring < 3 ? 1 : 2);
    }
    assert_int_equal(model->totals.streams, 3);
    assert_true(known()->refused);
    assert_int_equal(count_notes(RUNDB_PROCESS_REFUSED), 1);
}
