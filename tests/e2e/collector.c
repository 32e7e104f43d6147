// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* A real collector with made-up external sensors: its answers, the files, and the output of CTF readers. */
#include "base/bytes.h"
#include "base/file.h"
#include "mdr/link/unidentified_peers.h"
#include "mdr/message.h"
#include "run/history/summary.h"
#include "run/rundb/rundb_live.h"
#include "tests/lib/collector_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint8_t run_id[16] = "a run's identity";
static uint64_t seed;

static int setup(void **state)
{
    *state = collector_fixture_new(run_id, seed_next(&seed));
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    collector_fixture_free(*state);
    return 0;
}

static void assert_ends_well(struct collector_fixture *t)
{
    int status = collector_end(&t->collector, SIGTERM);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void assert_file(const struct collector_fixture *t, unsigned process, unsigned ring, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/trace/%s", t->collector.run, name);
    assert_true(fake_file_is_right(&t->sensor->processes[process]->rings[ring], path, true));
}

/* The number that shell command `command` prints. It gets the run directory in $RUN, a folder to write to in $DIR. */
static long shell_number(const struct collector_fixture *t, const char *command)
{
    long number = -1;
    setenv("RUN", t->collector.run, 1);
    setenv("DIR", t->collector.dir, 1);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    assert_int_equal(fscanf(p, "%ld", &number), 1);
    assert_int_equal(pclose(p), 0);
    return number;
}

/* Every record is printed; the warnings are those of the true losses. */
static void assert_babeltrace_agrees(const struct collector_fixture *t, uint64_t records, long losses)
{
    assert_int_equal(shell_number(t, "babeltrace2 $RUN/trace 2>$DIR/warnings | wc -l"), (long)records);
    assert_int_equal(shell_number(t, "grep -c 'WARNING.*discarded' $DIR/warnings || true"), losses);
    assert_int_equal(shell_number(t, "grep -c . $DIR/warnings || true"), losses);
}

static void fill(struct fake_sensor *f)
{
    unsigned server = fake_add_process(f, "server", 100, ROLE_SUT),
             client = fake_add_process(f, "client", 101, ROLE_SUT);
    for (int i = 0; i < 20; i++) {
        fake_cut(f, server, 0, 100);
        fake_cut(f, server, 3, 1);
        fake_cut(f, client, 0, 30);
        if (i % 5 == 4)
            fake_lose(f, client, 0, (uint64_t)i);
    }
    fake_close_stream(f, server, 0);
    fake_close_stream(f, server, 3);
    fake_close_stream(f, client, 0);
}

static void stores_acknowledges_and_tells(struct collector_fixture *t, const char *listen)
{
    struct fake_sensor *f = t->sensor;
    fill(f);
    assert_true(collector_start(&t->collector, listen));
    assert_true(fake_connect(f, t->collector.endpoint));
    assert_true(fake_settle(f, PATIENCE));
    assert_int_equal(f->needs, 0);
    assert_true(fake_say_books(f, 0, PROCESS_ENDED, 0));
    assert_true(fake_say_books(f, 1, PROCESS_RUNNING, 4 + 9 + 14 + 19));
    assert_true(fake_say_bye(f, PATIENCE));
    assert_int_equal(f->saved, 1); /* books of running processes are not final, and not answered */
    assert_true(f->saved_instance == f->processes[0]->said.instance);
    assert_true(collector_command(&t->collector, VERB_QUERY));
    const struct message_reply *reply = &t->collector.message->reply;
    assert_int_equal(reply->state, DAEMON_ACTIVE);
    assert_int_equal(reply->collector.records, fake_records(f));
    assert_int_equal(reply->collector.packets, 22 + 22 + 26);
    assert_int_equal(reply->collector.discarded, 46);
    assert_int_equal(reply->collector.refused, 0);
    assert_int_equal(reply->collector.streams, 3);
    assert_int_equal(reply->collector.processes, 2);
    assert_int_equal(reply->collector.nodes, 1);
    assert_int_equal(reply->collector.store_errno, 0);
    assert_true(collector_command(&t->collector, VERB_STOP));
    assert_int_equal(reply->state, DAEMON_DRAINED);
    assert_true(collector_command(&t->collector, VERB_SHUTDOWN));
    assert_int_equal(collector_wait(&t->collector), 0);
    assert_file(t, 0, 0, "desk/server-100-0");
    assert_file(t, 0, 3, "desk/server-100-3");
    assert_file(t, 1, 0, "desk/client-101-0");
    assert_babeltrace_agrees(t, fake_records(f), 4);
}

static void assert_summary_agrees(const struct collector_fixture *t)
{
    struct summary *s;
    assert_int_equal(summary_load(t->collector.run, &s), 0);
    assert_int_equal(s->process_count, 2);
    assert_int_equal(s->refused, 0);
    for (size_t i = 0; i < s->process_count; i++) {
        uint64_t stored = 0;
        for (size_t b = 0; b < s->processes[i].book_count; b++) {
            const struct summary_book *book = &s->processes[i].books[b];
            assert_int_equal(book->attempts, book->stored + book->full + book->off + book->no_ring);
            stored += book->stored;
        }
        assert_int_equal(stored, t->sensor->processes[i]->records);
        assert_int_equal(s->processes[i].latency.count, stored);
        assert_int_equal(s->processes[i].discarded, i == 1 ? 46 : 0);
        assert_int_equal(s->processes[i].state, i == 0 ? PROCESS_ENDED : PROCESS_RUNNING);
    }
    assert_string_equal(summary_property(s, "run"), "61207275-6e27-7320-6964-656e74697479");
    summary_free(s);
}

static void leaves_no_other_file(const struct collector_fixture *t)
{
    assert_int_equal(shell_number(t, "find $RUN -type f | wc -l"),
                     1 + 1 + 1 + 3); /* .lock, run.db, metadata, streams */
}

TEST_WITH(setup, teardown, a_run_over_ipc_is_stored_and_readable)
{
    struct collector_fixture *t = *test_state;
    stores_acknowledges_and_tells(t, t->ipc);
    assert_summary_agrees(t);
    leaves_no_other_file(t);
}

TEST_WITH(setup, teardown, a_run_over_tcp_is_stored_and_readable)
{
    struct collector_fixture *t = *test_state;
    stores_acknowledges_and_tells(t, "tcp://127.0.0.1:*");
    assert_summary_agrees(t);
}

TEST_WITH(setup, teardown, a_run_that_syncs_is_stored_and_readable)
{
    struct collector_fixture *t = *test_state;
    t->collector.sync = "always";
    stores_acknowledges_and_tells(t, t->ipc);
    assert_summary_agrees(t);
}

/* Also of a node that has no process, and whatever comes after it. */
TEST_WITH(setup, teardown, a_nodes_own_books_are_stored_answered_and_never_fall)
{
    struct collector_fixture *t = *test_state;
    static const uint64_t said[] = {3, 5, 4};
    static struct message m;
    static uint8_t bytes[MESSAGE_MAX_BYTES];
    struct summary *s;
    assert_true(collector_start(&t->collector, t->ipc));
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    for (uint64_t i = 0; i < 3; i++) {
        m = (struct message){.type = MESSAGE_BOOKS, .books = {.at = i + 1, .unobserved = said[i]}};
        int n = message_encode(&m, bytes, sizeof bytes);
        assert_true(n > 0 && fake_send(t->sensor, bytes, (size_t)n));
        for (int64_t until = clock_now() + PATIENCE; t->sensor->saved == i && clock_now() < until;)
            fake_round(t->sensor, CLOCK_MS);
        assert_int_equal(t->sensor->saved, i + 1);
        assert_int_equal(t->sensor->saved_instance, 0);
        assert_int_equal(summary_load(t->collector.run, &s), 0); /* what is answered is saved */
        assert_int_equal(s->nodes[0].unobserved, i == 0 ? 3 : 5);
        assert_int_equal(s->process_count, 0);
        summary_free(s);
    }
    assert_int_equal(t->sensor->needs, 0);
    assert_true(fake_say_bye(t->sensor, PATIENCE));
    assert_ends_well(t);
}

TEST_WITH(setup, teardown, what_is_sent_again_is_stored_once)
{
    struct collector_fixture *t = *test_state;
    struct fake_sensor *f = t->sensor;
    fill(f);
    assert_true(collector_start(&t->collector, t->ipc));
    assert_true(fake_connect(f, t->collector.endpoint));
    for (int cut = 0; cut < 10; cut++) {
        for (int i = 0; i < 3; i++)
            fake_round(f, CLOCK_MS);
        assert_true(fake_connect(f, f->endpoint)); /* in the middle of sending */
    }
    assert_true(fake_settle(f, PATIENCE));
    for (unsigned r = 0; r < FAKE_RINGS; r++) /* all of it again, acknowledged or not */
        for (uint64_t i = 0; i < f->processes[0]->rings[r].packets; i++) {
            const struct fake_stream *s = &f->processes[0]->rings[r];
            assert_true(fake_send(f, s->bytes + s->starts[i], s->starts[i + 1] - s->starts[i]));
        }
    assert_true(fake_say_bye(f, PATIENCE));
    assert_ends_well(t);
    assert_file(t, 0, 0, "desk/server-100-0");
    assert_file(t, 0, 3, "desk/server-100-3");
    assert_file(t, 1, 0, "desk/client-101-0");
}

TEST_WITH(setup, teardown, a_process_that_is_not_known_is_asked_for)
{
    struct collector_fixture *t = *test_state;
    struct fake_sensor *f = t->sensor;
    assert_true(collector_start(&t->collector, t->ipc));
    assert_true(fake_connect(f, t->collector.endpoint));
    while (!f->welcome)
        fake_round(f, 10 * CLOCK_MS);
    unsigned late = fake_add_process(f, "late", 7, ROLE_SUT); /* after WELCOME: not announced */
    fake_cut(f, late, 0, 10);
    assert_true(fake_settle(f, PATIENCE));
    assert_int_not_equal(f->needs, 0);
    uint64_t needs = f->needs;
    fake_add_string(f, late, "new");
    fake_add_aspect(f, late, "later");
    fake_cut(f, late, 0, 200); /* refers to a dictionary that the collector lacks */
    assert_true(fake_settle(f, PATIENCE));
    assert_true(f->needs > needs);
    assert_ends_well(t);
    assert_file(t, 0, 0, "desk/late-7-0");
    assert_babeltrace_agrees(t, 210, 0);
}

TEST_WITH(setup, teardown, garbage_is_refused_and_counted)
{
    struct collector_fixture *t = *test_state;
    struct fake_sensor *f = t->sensor;
    uint8_t bytes[4096];
    fill(f);
    assert_true(collector_start(&t->collector, "tcp://127.0.0.1:*"));
    assert_true(fake_connect(f, t->collector.endpoint));
    assert_true(fake_settle(f, PATIENCE));
    const struct fake_stream *s = &f->processes[0]->rings[0];
    for (int i = 0; i < 300; i++) {
        size_t n = seed_next(&seed) % sizeof bytes;
        for (size_t k = 0; k < n; k++)
            bytes[k] = (uint8_t)seed_next(&seed);
        if (i % 3 == 0 && n >= 4) /* begins like a packet */
            bytes_put_u32(bytes, (uint32_t)PACKET_MAGIC);
        if (i % 3 == 1) { /* a stored packet, cut short */
            n = s->starts[2] - s->starts[1] - 1 - n % 50;
            memcpy(bytes, s->bytes + s->starts[1], n);
        }
        assert_true(fake_send(f, bytes, n));
        fake_round(f, 0);
    }
    assert_true(fake_say_bye(f, PATIENCE));
    assert_true(collector_command(&t->collector, VERB_QUERY));
    assert_int_equal(t->collector.message->reply.collector.refused, 300);
    assert_int_equal(t->collector.message->reply.collector.records, fake_records(f));
    assert_ends_well(t);
    assert_file(t, 0, 0, "desk/server-100-0");
    assert_babeltrace_agrees(t, fake_records(f), 4);
}

static bool try_note(struct fake_sensor *f, uint64_t instance, const char *name, const char *text)
{
    f->out->type = MESSAGE_NOTE;
    f->out->note = (struct message_note){.instance = instance, .pid = 7, .at = 1000 + instance};
    snprintf(f->out->note.name, sizeof f->out->note.name, "%s", name);
    snprintf(f->out->note.code, sizeof f->out->note.code, "BEZEL-TEST");
    snprintf(f->out->note.text, sizeof f->out->note.text, "%s", text);
    return fake_say(f);
}

/* A collector that is slow has the link full for a while. */
static void say_note(struct fake_sensor *f, uint64_t instance, const char *name, const char *text)
{
    for (int64_t deadline = clock_now() + PATIENCE; !try_note(f, instance, name, text);) {
        assert_true(clock_now() < deadline);
        fake_round(f, 10 * CLOCK_MS);
    }
}

TEST_WITH(setup, teardown, what_processes_say_is_kept_once_however_often_it_comes)
{
    struct collector_fixture *t = *test_state;
    struct fake_sensor *f = t->sensor;
    struct summary *s;
    fill(f);
    assert_true(collector_start(&t->collector, t->ipc));
    for (int life = 0; life < 3; life++) {
        assert_true(fake_connect(f, t->collector.endpoint));
        for (int i = 0; i < 2; i++) {
            say_note(f, 1, "server", "no room");
            say_note(f, 2, "server", "no room"); /* another instance */
            say_note(f, 0, "", "of the node");
        }
        assert_true(fake_settle(f, PATIENCE));
        if (life == 0) { /* uncommitted ones are sent again */
            collector_end(&t->collector, SIGKILL);
            assert_true(collector_start(&t->collector, t->ipc));
        }
        fake_disconnect(f);
    }
    assert_true(fake_connect(f, t->collector.endpoint));
    assert_true(fake_settle(f, PATIENCE));
    assert_true(fake_say_bye(f, PATIENCE));
    assert_ends_well(t);
    assert_int_equal(summary_load(t->collector.run, &s), 0);
    assert_int_equal(s->note_count, 3);
    assert_string_equal(s->notes[0].name, "");
    assert_string_equal(s->notes[1].name, "server");
    assert_string_equal(s->notes[1].code, "BEZEL-TEST");
    assert_string_equal(s->notes[1].text, "no room");
    assert_int_equal(s->notes[1].instance, 1);
    assert_int_equal(s->notes[1].pid, 7);
    assert_int_equal(s->notes[2].instance, 2);
    summary_free(s);
}

/* How many notes the running collector has committed. */
static size_t committed_notes(const struct collector_fixture *t)
{
    struct summary *s;
    if (summary_load(t->collector.run, &s) != 0)
        return 0;
    size_t count = s->note_count;
    summary_free(s);
    return count;
}

static void say_flood(struct fake_sensor *f)
{
    char text[32];
    for (int i = 0; i < 1500; i++) {
        snprintf(text, sizeof text, "number %d", i);
        say_note(f, 1, "server", text);
    }
    assert_true(fake_settle(f, PATIENCE));
}

/* Frames that a peer sends while it counts as gone, as after a pause of its machine, are dropped. */
TEST_WITH(setup, teardown, a_flood_of_notes_fills_no_store)
{
    struct collector_fixture *t = *test_state;
    struct fake_sensor *f = t->sensor;
    int64_t deadline = clock_now() + PATIENCE;
    fill(f);
    assert_true(collector_start(&t->collector, t->ipc));
    assert_true(fake_connect(f, t->collector.endpoint));
    do
        say_flood(f);
    while (committed_notes(t) < 1024 && clock_now() < deadline);
    say_flood(f);
    assert_true(fake_say_bye(f, PATIENCE));
    assert_ends_well(t);
    assert_int_equal(committed_notes(t), 1024);
}

TEST_WITH(setup, teardown, a_sensor_of_another_run_is_refused_with_a_sentence)
{
    struct collector_fixture *t = *test_state;
    struct fake_sensor *f = t->sensor, *other = fake_new("other", (const uint8_t *)"another identity", 1);
    fill(f);
    assert_true(collector_start(&t->collector, t->ipc));
    assert_true(fake_connect(f, t->collector.endpoint));
    assert_true(fake_settle(f, PATIENCE));
    assert_true(fake_connect(other, t->collector.endpoint));
    for (int64_t deadline = clock_now() + PATIENCE; !*other->refused && clock_now() < deadline;)
        fake_round(other, 10 * CLOCK_MS);
    assert_non_null(strstr(other->refused, "another run"));
    fake_free(other);
    assert_ends_well(t);
}

/* Sends `m` to `endpoint` as a message of the next version, and asserts that the answer names both and the remedy. */
static void assert_version_refused(const char *endpoint, struct message *m)
{
    struct link *link;
    struct link_frame frame;
    uint8_t bytes[256];
    int n = message_encode(m, bytes, sizeof bytes);
    assert_true(n > 0);
    bytes_put_u32(bytes + 4, MESSAGE_VERSION + 1);
    assert_int_equal(link_connect(endpoint, MESSAGE_MAX_BYTES, 4, NULL, &link), 0);
    assert_int_equal(link_send(link, NULL, bytes, (size_t)n), 0);
    assert_true(link_wait(&link, 1, NULL, 0, PATIENCE) > 0);
    assert_int_equal(link_receive(link, &frame), 0);
    assert_int_equal(message_decode(frame.data, frame.size, m), 0);
    link_frame_free(&frame);
    link_close(link, 0);
    assert_int_equal(m->type, MESSAGE_REFUSE);
    assert_string_equal(m->refuse.reason, "messages of version 3 were sent to a part of Bezel that reads version 2: "
                                          "install the same version of Bezel on both sides");
}

TEST_WITH(setup, teardown, another_version_is_refused_with_a_sentence)
{
    struct collector_fixture *t = *test_state;
    static struct message m;
    fill(t->sensor);
    assert_true(collector_start(&t->collector, t->ipc));
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    m = (struct message){.type = MESSAGE_HELLO, .hello = {.node = "newer", .attempt = 1}};
    memcpy(m.hello.run, run_id, sizeof m.hello.run);
    assert_version_refused(t->collector.endpoint, &m);
    m = (struct message){.type = MESSAGE_COMMAND, .command = {.id = 1, .verb = VERB_QUERY}};
    assert_version_refused(t->collector.control, &m);
    assert_true(fake_settle(t->sensor, PATIENCE)); /* others go on */
    assert_ends_well(t);
}

static int64_t refused(struct collector_fixture *t)
{
    assert_true(collector_command(&t->collector, VERB_QUERY));
    return t->collector.message->reply.collector.refused;
}

TEST_WITH(setup, teardown, a_greeting_that_comes_late_displaces_nobody_and_a_later_one_does)
{
    struct collector_fixture *t = *test_state;
    struct fake_sensor *f = t->sensor, *other = fake_new("desk", run_id, 1);
    struct link_frame frame;
    fill(f);
    assert_true(collector_start(&t->collector, t->ipc));
    assert_true(fake_connect(f, t->collector.endpoint));
    assert_true(fake_settle(f, PATIENCE));
    uint64_t attempt = f->hello.attempt;
    for (int late = 0; late < 3; late++) { /* as the same attempt, as the one before it, as a former life's */
        other->hello.attempt = late == 2 ? 0 : attempt - 1 - (uint64_t)late;
        int64_t before = refused(t);
        assert_true(fake_connect(other, t->collector.endpoint));
        for (int64_t deadline = clock_now() + PATIENCE; refused(t) == before;)
            assert_true(clock_now() < deadline);
        fake_cut(f, 0, 1, 5);
        assert_true(fake_settle(f, PATIENCE));
        assert_int_equal(f->hello.attempt, attempt); /* it had no reason to connect anew */
        assert_int_equal(link_receive(other->link, &frame), BEZEL_EAGAIN);
    }
    other->hello.attempt = attempt;
    assert_true(fake_connect(other, t->collector.endpoint));
    assert_int_equal(link_wait(&other->link, 1, NULL, 0, PATIENCE), 1);
    assert_int_equal(link_receive(other->link, &frame), 0);
    link_frame_free(&frame);
    fake_free(other);
    assert_ends_well(t);
    assert_file(t, 0, 1, "desk/server-100-1");
}

TEST_WITH(setup, teardown, unidentified_peers_that_stay_are_ended_and_counted_while_a_node_is_served)
{
    enum { UNIDENTIFIED = 200 };
    struct collector_fixture *t = *test_state;
    struct link *peers[UNIDENTIFIED]; /* connected by ZeroMQ, without HELLO */
    fill(t->sensor);
    assert_true(collector_start(&t->collector, "tcp://127.0.0.1:*"));
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    for (int i = 0; i < UNIDENTIFIED; i++)
        assert_int_equal(link_connect(t->collector.endpoint, MESSAGE_MAX_BYTES, 1, NULL, &peers[i]), 0);
    int64_t deadline = clock_now() + PATIENCE, ended = 0;
    while (ended < UNIDENTIFIED - UNIDENTIFIED_PEERS_MAX) {
        fake_cut(t->sensor, 0, 1, 5);
        assert_true(fake_settle(t->sensor, PATIENCE) && clock_now() < deadline);
        assert_true(collector_command(&t->collector, VERB_QUERY));
        ended = t->collector.message->reply.collector.unidentified;
    }
    for (int i = 0; i < UNIDENTIFIED; i++)
        link_close(peers[i], 0);
    assert_int_equal(t->collector.message->reply.collector.peers, 1);
    assert_true(collector_said(&t->collector, "BEZEL-UNIDENTIFIED"));
    assert_ends_well(t);
    assert_file(t, 0, 1, "desk/server-100-1");
}

TEST_WITH(setup, teardown, a_silent_peer_is_taken_for_gone_and_may_come_back)
{
    struct collector_fixture *t = *test_state;
    struct fake_sensor *f = t->sensor;
    fill(f);
    assert_true(collector_start(&t->collector, t->ipc));
    assert_true(fake_connect(f, t->collector.endpoint));
    assert_true(fake_settle(f, PATIENCE));
    for (int64_t deadline = clock_now() + PATIENCE; !collector_said(&t->collector, "BEZEL-PEER-SILENT");) {
        assert_true(clock_now() < deadline);
        clock_sleep_until(clock_now() + 50 * CLOCK_MS);
    }
    fake_cut(f, 0, 1, 5);
    f->heard = 0; /* as a sensor that was stopped and continues */
    assert_true(fake_settle(f, PATIENCE));
    assert_ends_well(t);
    assert_file(t, 0, 1, "desk/server-100-1");
}

TEST_WITH(setup, teardown, two_nodes_and_a_new_boot_have_traces_of_their_own)
{
    struct collector_fixture *t = *test_state;
    struct fake_sensor *f[3] = {t->sensor, fake_new("studio", run_id, 2), fake_new("desk", run_id, 3)};
    f[2]->hello.uuid[15] ^= 1;
    f[2]->hello.clock[0] ^= 1;
    assert_true(collector_start(&t->collector, t->ipc));
    for (int i = 0; i < 3; i++) {
        fill(f[i]);
        assert_true(fake_connect(f[i], t->collector.endpoint));
        assert_true(fake_settle(f[i], PATIENCE)); /* names follow the order of greetings */
    }
    assert_ends_well(t);
    assert_file(t, 0, 0, "desk/server-100-0");
    t->sensor = f[1];
    assert_file(t, 0, 0, "studio/server-100-0");
    t->sensor = f[2];
    assert_file(t, 0, 0, "desk.2/server-100-0");
    t->sensor = f[0];
    assert_babeltrace_agrees(t, 3 * fake_records(f[0]), 12);
    fake_free(f[1]);
    fake_free(f[2]);
}

/* Records of the first process that the run database knows of. */
static uint64_t stored_in_database(const struct collector_fixture *t)
{
    struct summary *s;
    uint64_t stored = 0;
    assert_int_equal(summary_load(t->collector.run, &s), 0);
    for (size_t b = 0; s->process_count && b < s->processes[0].book_count; b++)
        stored += s->processes[0].books[b].stored;
    summary_free(s);
    return stored;
}

TEST_WITH(setup, teardown, the_database_can_be_read_while_it_is_written)
{
    struct collector_fixture *t = *test_state;
    struct fake_sensor *f = t->sensor;
    assert_true(collector_start(&t->collector, t->ipc));
    assert_true(fake_connect(f, t->collector.endpoint));
    unsigned p = fake_add_process(f, "app", 1, ROLE_SUT);
    uint64_t last = 0, reads_between = 0;
    for (int i = 0; i < 200; i++) {
        fake_cut(f, p, 0, 10);
        if (i % 10 == 0)
            fake_lose(f, p, 0, 1);
        assert_true(fake_settle(f, PATIENCE));
        uint64_t stored = stored_in_database(t);
        assert_in_range(stored, last, fake_records(f)); /* no less than before, and nothing that is not there */
        reads_between += stored > last;
        last = stored;
    }
    for (int64_t deadline = clock_now() + PATIENCE; last < fake_records(f); last = stored_in_database(t)) {
        assert_true(clock_now() < deadline); /* while it runs: it does not wait for the end */
        fake_round(f, 20 * CLOCK_MS);
    }
    assert_true(reads_between > 0);
    assert_ends_well(t);
    assert_int_equal(stored_in_database(t), fake_records(f));
}

TEST_WITH(setup, teardown, the_end_of_the_parent_pipe_ends_it)
{
    struct collector_fixture *t = *test_state;
    fill(t->sensor);
    assert_true(collector_start(&t->collector, t->ipc));
    assert_true(fake_connect(t->sensor, t->collector.endpoint));
    assert_true(fake_settle(t->sensor, PATIENCE));
    close(t->collector.parent_pipe);
    t->collector.parent_pipe = -1;
    assert_true(fake_say_bye(t->sensor, PATIENCE));
    assert_int_equal(collector_wait(&t->collector), 0);
    assert_file(t, 0, 0, "desk/server-100-0");
}

/* Whether the collector has stored `wanted` records. */
static bool has_stored(struct collector_fixture *t, int64_t wanted)
{
    return collector_status(&t->collector, "records") == wanted;
}

TEST_WITH(setup, teardown, paused_it_stores_nothing_and_afterwards_everything)
{
    struct collector_fixture *t = *test_state;
    struct fake_sensor *f = t->sensor;
    fill(f);
    assert_true(collector_start(&t->collector, t->ipc));
    assert_true(fake_connect(f, t->collector.endpoint));
    assert_true(fake_settle(f, PATIENCE));
    int64_t before = (int64_t)fake_records(f);
    for (int i = 0; i < 2; i++) { /* twice is once */
        assert_true(collector_command(&t->collector, VERB_PAUSE));
        assert_int_equal(t->collector.message->reply.state, DAEMON_PAUSED);
    }
    fake_cut(f, 0, 1, 70);
    assert_false(fake_settle(f, CLOCK_S)); /* several rounds of sending it again */
    assert_true(has_stored(t, before));
    assert_false(collector_said(&t->collector, "BEZEL-STORE-FAILS"));
    assert_true(collector_command(&t->collector, VERB_RESUME));
    assert_int_equal(t->collector.message->reply.state, DAEMON_ACTIVE);
    assert_true(fake_settle(f, PATIENCE));
    assert_true(has_stored(t, (int64_t)fake_records(f)));
    assert_true(collector_command(&t->collector, VERB_PAUSE)); /* the end of the run ends the pause */
    fake_cut(f, 0, 1, 5);
    fake_round(f, 0);
    assert_true(collector_command(&t->collector, VERB_STOP));
    assert_int_equal(t->collector.message->reply.state, DAEMON_DRAINED);
    assert_true(fake_settle(f, PATIENCE));
    assert_ends_well(t);
    assert_file(t, 0, 1, "desk/server-100-1");
}

TEST_WITH(setup, teardown, an_interrupt_from_the_terminal_does_not_end_it)
{
    struct collector_fixture *t = *test_state;
    assert_true(collector_start(&t->collector, t->ipc));
    kill(t->collector.pid, SIGINT);
    assert_true(collector_command(&t->collector, VERB_QUERY));
    assert_ends_well(t);
}

static struct order_settings order_of(const struct collector_fixture *t)
{
    struct rundb *f;
    struct model *m = model_new("");
    assert_non_null(m);
    assert_int_equal(rundb_open_read(t->collector.run, &f), 0);
    assert_int_equal(rundb_load(f, m), 0);
    assert_int_equal(rundb_close(f), 0);
    struct order_settings order = m->order;
    model_free(m);
    return order;
}

TEST_WITH(setup, teardown, who_begins_a_run_says_how_it_is_ordered)
{
    struct collector_fixture *t = *test_state;
    const struct order_settings first = {ORDER_SISO, ORDER_MEMORY_LEAST, 2 * CLOCK_S};
    static const char *const orders[][3] = {{"--order", "siso:1 MiB:2 s"}, {"--order", "miso:2 MiB:3 s"}, {NULL}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        t->collector.more = orders[i];
        assert_true(collector_start(&t->collector, t->ipc));
        struct order_settings order = order_of(t);
        assert_true(order_settings_same(&order, &first));
        assert_ends_well(t);
    }
}

TEST_WITH(setup, teardown, a_run_directory_has_one_collector)
{
    struct collector_fixture *t = *test_state;
    struct collector_process second = {.parent_pipe = -1};
    assert_true(collector_start(&t->collector, t->ipc));
    memcpy(second.dir, t->collector.dir, sizeof second.dir);
    const char *argv[] = {"bezel-collector",   "--run",     t->collector.run,     "--listen",
                          "tcp://127.0.0.1:*", "--control", t->collector.control, NULL};
    assert_int_equal(collector_try(&second, argv), 1);
    assert_true(collector_said(&t->collector, "another collector serves this run directory"));
    assert_ends_well(t);
}

TEST_WITH(setup, teardown, an_endpoint_in_use_is_told)
{
    struct collector_fixture *t = *test_state;
    struct collector_process second = {.parent_pipe = -1};
    char run[96], control[96];
    assert_true(collector_start(&t->collector, "tcp://127.0.0.1:*"));
    memcpy(second.dir, t->collector.dir, sizeof second.dir);
    snprintf(run, sizeof run, "%s/other", second.dir);
    snprintf(control, sizeof control, "ipc://%s/other-control", second.dir);
    assert_int_equal(mkdir(run, 0777), 0);
    const char *argv[] = {"bezel-collector",     "--run",     run,     "--listen",
                          t->collector.endpoint, "--control", control, NULL};
    assert_int_equal(collector_try(&second, argv), 1);
    assert_true(collector_said(&t->collector, "in use by another program"));
    assert_ends_well(t);
}

TEST_WITH(setup, teardown, misuse_ends_with_2_and_a_sentence)
{
    struct collector_fixture *t = *test_state;
    struct collector_process *c = &t->collector;
    char control[96];
    snprintf(control, sizeof control, "ipc://%s/open/control", c->dir);
    const char *cases[][9] = {
        {"bezel-collector", NULL},
        {"bezel-collector", "--nonsense", NULL},
        {"bezel-collector", "--run", c->run, "--listen", t->ipc, "--control", c->control, "extra", NULL},
        {"bezel-collector", "--run", c->run, "--listen", "tcp://0.0.0.0:7766", "--control", c->control, NULL},
        {"bezel-collector", "--run", c->run, "--listen", t->ipc, "--control", "tcp://127.0.0.1:*", NULL},
        {"bezel-collector", "--run", c->run, "--listen", t->ipc, "--control", control, NULL},
        {"bezel-collector", "--ready", "x", NULL},
    };
    static const char *const sentences[] = {"--run is needed", "--help",    "an argument too many", "loopback", "only",
                                            "chmod 700",       "descriptor"};
    char open_dir[96];
    snprintf(open_dir, sizeof open_dir, "%s/open", c->dir);
    assert_int_equal(mkdir(open_dir, 0755), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(collector_try(c, cases[i]), 2);
        assert_true(collector_said(c, sentences[i]));
    }
    const char *gone[] = {"bezel-collector", "--run", "/nonexistent", "--listen", t->ipc, "--control",
                          c->control,        NULL};
    assert_int_equal(collector_try(c, gone), 1);
    const char *help[] = {"bezel-collector", "--help", NULL};
    assert_int_equal(collector_try(c, help), 0);
}

int main(void)
{
    seed = seed_start();
    return test_run(NULL, NULL);
}
