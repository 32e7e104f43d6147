// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Commands, from both sides: each is carried out once, by the life that it names, in time; one that is repeated gets
 * the first answer; a caller whose link is cut, and cut again before an answer came, goes on.
 */
#include "mdr/command/command_caller.h"
#include "mdr/command/command_server.h"
#include "mdr/message.h"

#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static const uint8_t run[16] = "this run";
static const char node[] = "desk";
static struct message m; /* too large for a stack */

/* ---- a clock that can be moved, of one side too; and random numbers that can fail -------------------------------- */

static int64_t ahead; /* ns */
static unsigned draws_left = UINT32_MAX;

int64_t __wrap_clock_now(void);
int64_t __real_clock_now(void);

int64_t __wrap_clock_now(void)
{
    return __real_clock_now() + ahead;
}

ssize_t __wrap_getrandom(void *to, size_t n, unsigned flags);
ssize_t __real_getrandom(void *to, size_t n, unsigned flags);

ssize_t __wrap_getrandom(void *to, size_t n, unsigned flags)
{
    if (draws_left-- > 0)
        return __real_getrandom(to, n, flags);
    draws_left = UINT32_MAX;
    errno = ENOSYS;
    return -1;
}

/* ---- both sides -------------------------------------------------------------------------------------------------- */

static struct command_server *server;
static struct command_request from;

static void serve(const char *endpoint)
{
    assert_int_equal(command_server_open(endpoint, NULL, &server), 0);
}

static int begin(void **state)
{
    char endpoint[SCRATCH_PATH + 16];
    int err = scratch_begin(state);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/control", scratch_dir);
    ahead = 0;
    if (!err)
        serve(endpoint);
    return err;
}

static int end(void **state)
{
    command_server_close(server, 0);
    return scratch_end(state);
}

static const char *endpoint(void)
{
    return link_endpoint(command_server_link(server));
}

static void open_caller(struct command_caller *c)
{
    assert_int_equal(command_caller_open(c, endpoint(), (struct command_caller_access){0}, run, node), 0);
}

/* The next message that the server is to carry out. */
static const struct message *taken(void)
{
    int64_t deadline = __real_clock_now() + PATIENCE;
    for (int budget = 100; !command_server_receive(server, &budget, &from); budget = 100) {
        struct link *link = command_server_link(server);
        assert_true(__real_clock_now() < deadline);
        (void)link_wait(&link, 1, NULL, 0, 100 * CLOCK_MS);
    }
    return command_server_message(server);
}

/* What comes next to a caller. */
static int heard(struct command_caller *c)
{
    int64_t deadline = __real_clock_now() + PATIENCE;
    int err;
    while ((err = command_caller_receive(c, &m)) == BEZEL_EAGAIN) {
        assert_true(__real_clock_now() < deadline);
        (void)link_wait(&c->link, 1, NULL, 0, 100 * CLOCK_MS);
    }
    return err;
}

static void assert_heard(struct command_caller *c, uint32_t id, enum message_answer answer)
{
    assert_int_equal(heard(c), 0);
    assert_int_equal(m.type, MESSAGE_REPLY);
    assert_int_equal(m.reply.id, id);
    assert_int_equal(m.reply.answer, answer);
}

static void answer(uint32_t sessions)
{
    struct message_reply reply = {.state = DAEMON_ACTIVE, .answer = ANSWER_BEZELD, .sessions = sessions};
    command_server_reply(server, &from, NULL, &reply);
}

/* Has the caller learn the server's life. Returns the number of its QUERY. */
static uint32_t meet(struct command_caller *c)
{
    m.command = (struct message_command){.verb = VERB_QUERY};
    int id = command_caller_send(c, &m);
    assert_true(id > 0);
    assert_int_equal(taken()->command.verb, VERB_QUERY);
    assert_false(from.changes);
    answer(0);
    assert_heard(c, (uint32_t)id, ANSWER_BEZELD);
    return (uint32_t)id;
}

static int command(struct command_caller *c, enum message_verb verb)
{
    m.command = (struct message_command){.verb = verb};
    int id = command_caller_send(c, &m);
    assert_int_equal(m.command.verb, verb); /* a QUERY in its place leaves it as it was */
    return id;
}

/* Nothing of the frames sent before a QUERY is left to carry out: the QUERY is what comes next. */
static void assert_nothing_more(struct command_caller *c)
{
    m.command = (struct message_command){.verb = VERB_QUERY};
    int id = command_caller_send(c, &m);
    assert_true(id > 0);
    assert_int_equal(taken()->command.verb, VERB_QUERY);
    assert_int_equal(from.id, (uint32_t)id);
    answer(0);
}

/* ---- a bare link that says what no caller would ------------------------------------------------------------------ */

struct bare {
    struct link *link;
    struct message_envelope envelope;
};

static void open_bare(struct bare *b, uint8_t source, uint64_t life)
{
    assert_int_equal(link_connect(endpoint(), MESSAGE_MAX_BYTES, 1024, NULL, &b->link), 0);
    b->envelope = (struct message_envelope){.source = {source}, .life = life, .node = "desk"};
}

static void say(struct bare *b, uint32_t id, enum message_verb verb, int64_t deadline)
{
    static uint8_t bytes[MESSAGE_MAX_BYTES];
    m.type = MESSAGE_COMMAND;
    m.envelope = b->envelope;
    m.command = (struct message_command){.id = id, .verb = verb, .deadline = (uint64_t)deadline};
    int n = message_encode(&m, bytes, sizeof bytes);
    assert_true(n > 0);
    assert_int_equal(link_send(b->link, NULL, bytes, (size_t)n), 0);
}

static void assert_bare_heard(struct bare *b, enum message_type type)
{
    struct link_frame frame;
    int64_t deadline = __real_clock_now() + PATIENCE;
    while (link_receive(b->link, &frame) != 0) {
        int budget = 100;
        assert_false(command_server_receive(server, &budget, &from)); /* nothing is to be carried out */
        assert_true(__real_clock_now() < deadline);
        (void)link_wait(&b->link, 1, NULL, 0, 10 * CLOCK_MS);
    }
    (void)!message_decode(frame.data, frame.size, &m);
    link_frame_free(&frame);
    assert_int_equal(m.type, type);
}

/* Nothing is to be carried out, and that is the answer; that of a later command may be given again before it. */
static void assert_stale(struct bare *b, uint32_t id, const char *why)
{
    do
        assert_bare_heard(b, MESSAGE_REPLY);
    while (m.reply.id > id);
    assert_int_equal(m.reply.id, id);
    assert_int_equal(m.reply.answer, ANSWER_STALE);
    assert_int_equal(m.reply.state, DAEMON_FAILED);
    assert_non_null(strstr(m.reply.text, why));
}

static uint64_t life_of_server(void)
{
    struct command_caller c;
    open_caller(&c);
    meet(&c);
    uint64_t life = c.life;
    command_caller_close(&c, 0);
    return life;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, a_command_waits_until_the_life_of_its_daemon_is_known)
{
    struct command_caller c;
    open_caller(&c);
    assert_int_equal(command(&c, VERB_STOP), 0);
    assert_int_equal(taken()->command.verb, VERB_QUERY);
    assert_int_equal(from.envelope.life, 0);
    answer(3);
    assert_heard(&c, 1, ANSWER_BEZELD);
    assert_int_equal(m.reply.sessions, 3);
    assert_string_equal(m.envelope.node, node);
    assert_memory_equal(m.envelope.run, run, sizeof run);
    assert_memory_not_equal(m.envelope.source, c.source, sizeof c.source);
    assert_true(c.life != 0 && m.envelope.life == c.life);

    assert_int_equal(command(&c, VERB_STOP), 2);
    assert_int_equal(taken()->command.verb, VERB_STOP);
    assert_int_equal(from.id, 2);
    assert_true(from.changes);
    assert_int_equal(from.envelope.life, c.life);
    assert_memory_equal(from.envelope.source, c.source, sizeof c.source);
    assert_memory_equal(from.envelope.run, run, sizeof run);
    assert_string_equal(from.envelope.node, node);
    assert_string_equal(from.key, "");
    assert_string_equal(from.host, "");
    assert_true(from.may_launch);
    uint8_t by[16] = "somebody else";
    struct message_reply reply = {.state = DAEMON_DRAINING, .answer = ANSWER_BEZELD, .text = "a sentence"};
    command_server_reply(server, &from, by, &reply);
    assert_heard(&c, 2, ANSWER_BEZELD);
    assert_memory_equal(m.envelope.source, by, sizeof by);
    assert_int_equal(m.reply.state, DAEMON_DRAINING);
    assert_string_equal(m.reply.text, "a sentence");
    command_caller_close(&c, 0);
    command_caller_close(&c, 0);
    assert_int_equal(command(&c, VERB_STOP), BEZEL_EUNREACH);
    assert_int_equal(command_caller_tell(&c, &m), BEZEL_EUNREACH);
    assert_int_equal(command_caller_receive(&c, &m), BEZEL_EAGAIN);
}

TEST_WITH(begin, end, a_deadline_is_of_the_daemons_clock)
{
    struct command_caller c;
    open_caller(&c);
    assert_int_equal(command(&c, VERB_STOP), 0);
    ahead = 1000 * CLOCK_S; /* of the daemon */
    (void)taken();
    answer(0);
    ahead = 0;
    assert_heard(&c, 1, ANSWER_BEZELD);
    int64_t earliest = clock_now() + 999 * CLOCK_S + COMMAND_CALLER_DEADLINE;
    assert_int_equal(command(&c, VERB_PAUSE), 2);
    ahead = 1000 * CLOCK_S;
    assert_int_equal(taken()->command.verb, VERB_PAUSE);
    assert_true((int64_t)command_server_message(server)->command.deadline >= earliest);
    assert_true((int64_t)command_server_message(server)->command.deadline <= clock_now() + COMMAND_CALLER_DEADLINE);
    answer(0);
    ahead = 0;
    assert_heard(&c, 2, ANSWER_BEZELD);
    assert_int_equal(command(&c, VERB_RESUME), 3); /* and comes too late */
    ahead = 1000 * CLOCK_S + COMMAND_CALLER_DEADLINE + CLOCK_S;
    assert_nothing_more(&c);
    ahead = 0;
    assert_heard(&c, 3, ANSWER_STALE);
    command_caller_close(&c, 0);
}

TEST_WITH(begin, end, a_daemon_whose_clock_lies_by_ages_is_still_commanded)
{
    static const uint64_t times[] = {0, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
    static uint8_t bytes[MESSAGE_MAX_BYTES];
    struct command_caller c;
    open_caller(&c);
    for (uint32_t i = 0; i < sizeof times / sizeof *times; i++) {
        assert_int_equal(command(&c, VERB_QUERY), 3 * i + 1);
        (void)taken();
        m.type = MESSAGE_REPLY;
        m.envelope = from.envelope;
        m.envelope.life = 1;
        m.reply = (struct message_reply){.id = from.id, .at = times[i], .answer = ANSWER_BEZELD};
        int n = message_encode(&m, bytes, sizeof bytes);
        assert_true(n > 0);
        assert_int_equal(link_send(command_server_link(server), &from.peer, bytes, (size_t)n), 0);
        assert_heard(&c, 3 * i + 1, ANSWER_BEZELD);
        assert_int_equal(command(&c, VERB_STOP), 3 * i + 2);
        assert_in_range(m.command.deadline - times[i], COMMAND_CALLER_DEADLINE, COMMAND_CALLER_DEADLINE + PATIENCE);
        assert_nothing_more(&c);
        assert_heard(&c, 3 * i + 2, ANSWER_STALE); /* it has another life */
        assert_heard(&c, 3 * i + 3, ANSWER_BEZELD);
    }
    command_caller_close(&c, 0);
}

TEST_WITH(begin, end, a_command_is_carried_out_once_and_its_answer_given_again)
{
    struct bare a, b;
    int64_t late = clock_now() + 1000 * CLOCK_S;
    uint64_t life = life_of_server();
    open_bare(&a, 'a', life);
    open_bare(&b, 'b', life);
    say(&a, 7, VERB_PAUSE, late);
    say(&a, 7, VERB_PAUSE, late); /* while it is being carried out: nothing */
    assert_int_equal(taken()->command.verb, VERB_PAUSE);
    struct command_request first = from;
    say(&b, 5, VERB_STOP, late); /* lower, of another source */
    assert_int_equal(taken()->command.verb, VERB_STOP);
    assert_int_equal(from.id, 5);
    answer(50);
    assert_bare_heard(&b, MESSAGE_REPLY);
    assert_int_equal(m.reply.sessions, 50);
    uint8_t by[16] = "a session";
    struct message_reply reply = {.state = DAEMON_PAUSED, .answer = ANSWER_BEZELD, .sessions = 70};
    command_server_reply(server, &first, by, &reply);
    for (int times = 0; times < 3; times++) {
        assert_bare_heard(&a, MESSAGE_REPLY);
        assert_int_equal(m.reply.id, 7);
        assert_int_equal(m.reply.sessions, 70);
        assert_int_equal(m.envelope.life, life);
        assert_memory_equal(m.envelope.source, by, sizeof by);
        say(&a, 7, VERB_PAUSE, late);
    }
    assert_bare_heard(&a, MESSAGE_REPLY);
    say(&a, 6, VERB_RESUME, late);
    assert_stale(&a, 6, "older than one");
    say(&a, 8, VERB_RESUME, late);
    assert_int_equal(taken()->command.verb, VERB_RESUME);
    assert_int_equal(from.id, 8);
    say(&a, 0, VERB_STOP, late); /* a command without a number is none */
    say(&a, 9, VERB_QUERY, 0);   /* a QUERY is no change: it needs no life, has no deadline, and is never too old */
    assert_int_equal(taken()->command.verb, VERB_QUERY);
    say(&a, 1, VERB_QUERY, 0);
    assert_int_equal(taken()->command.id, 1);
    link_close(a.link, 0);
    link_close(b.link, 0);
}

TEST_WITH(begin, end, what_is_for_another_life_or_too_late_is_not_carried_out)
{
    struct bare a;
    int64_t late = clock_now() + 1000 * CLOCK_S;
    uint64_t life = life_of_server();
    open_bare(&a, 'a', life + 1);
    say(&a, 1, VERB_STOP, late);
    assert_stale(&a, 1, "earlier life");
    a.envelope.life = 0;
    say(&a, 2, VERB_STOP, late);
    assert_stale(&a, 2, "earlier life");
    a.envelope.life = life;
    say(&a, 3, VERB_STOP, clock_now() - 1);
    assert_stale(&a, 3, "too late");
    say(&a, 3, VERB_STOP, late); /* what was refused is none that was carried out */
    assert_int_equal(taken()->command.verb, VERB_STOP);
    link_close(a.link, 0);
}

/* The answers of 64 sources are kept; the one that was used longest ago goes. */
TEST_WITH(begin, end, the_source_that_was_silent_longest_is_forgotten)
{
    struct bare a;
    int64_t late = clock_now() + 1000 * CLOCK_S;
    open_bare(&a, 0, life_of_server());
    for (uint32_t i = 0; i < COMMAND_SERVER_SOURCES; i++) {
        a.envelope.source[0] = (uint8_t)i;
        say(&a, 1, VERB_PAUSE, late);
        assert_int_equal(taken()->command.id, 1);
        answer(i);
        assert_bare_heard(&a, MESSAGE_REPLY);
    }
    a.envelope.source[0] = 0;
    say(&a, 2, VERB_PAUSE, late); /* source 0 is used again: now source 1 is the oldest */
    assert_int_equal(taken()->command.id, 2);
    answer(1000);
    assert_bare_heard(&a, MESSAGE_REPLY);
    a.envelope.source[0] = COMMAND_SERVER_SOURCES;
    say(&a, 1, VERB_PAUSE, late);
    (void)taken();
    answer(2000);
    assert_bare_heard(&a, MESSAGE_REPLY);
    for (uint32_t i = 0; i <= COMMAND_SERVER_SOURCES; i++) {
        if (i == 1)
            continue;
        a.envelope.source[0] = (uint8_t)i;
        say(&a, i == 0 ? 2 : 1, VERB_PAUSE, late);
        assert_bare_heard(&a, MESSAGE_REPLY);
        assert_int_equal(m.reply.sessions, i == 0 ? 1000 : i == COMMAND_SERVER_SOURCES ? 2000 : i);
    }
    a.envelope.source[0] = 1;
    say(&a, 1, VERB_PAUSE, late);
    assert_int_equal(taken()->command.id, 1);
    link_close(a.link, 0);
}

TEST_WITH(begin, end, frames_are_looked_at_as_the_budget_says)
{
    struct bare a;
    open_bare(&a, 'a', 0);
    for (uint32_t i = 1; i <= 4; i++)
        say(&a, i, VERB_QUERY, 0);
    int budget = 2, none = 0;
    assert_false(command_server_receive(server, &none, &from));
    for (uint32_t i = 1; i <= 4; i++)
        assert_int_equal(taken()->command.id, i);
    say(&a, 0, VERB_QUERY, 0);
    say(&a, 0, VERB_QUERY, 0);
    say(&a, 5, VERB_QUERY, 0);
    int64_t deadline = __real_clock_now() + PATIENCE;
    while (budget > 0 && __real_clock_now() < deadline)
        assert_false(command_server_receive(server, &budget, &from));
    assert_int_equal(budget, 0);
    assert_int_equal(taken()->command.id, 5);
    say(&a, 6, VERB_QUERY, 0);
    budget = 3;
    while (!command_server_receive(server, &budget, &from))
        assert_true(__real_clock_now() < deadline);
    assert_int_equal(budget, 2);
    link_close(a.link, 0);
}

TEST_WITH(begin, end, what_is_no_command_is_dropped_and_another_version_answered)
{
    static uint8_t bytes[MESSAGE_MAX_BYTES];
    struct bare a;
    open_bare(&a, 'a', 0);
    assert_int_equal(link_send(a.link, NULL, "nonsense", 8), 0);
    m.type = MESSAGE_HEARTBEAT;
    m.heartbeat.at = 1;
    int n = message_encode(&m, bytes, sizeof bytes);
    assert_int_equal(link_send(a.link, NULL, bytes, (size_t)n), 0);
    say(&a, 1, VERB_QUERY, 0);
    assert_int_equal(taken()->command.id, 1);
    m.type = MESSAGE_COMMAND;
    m.envelope = a.envelope;
    m.command = (struct message_command){.id = 2, .verb = VERB_QUERY};
    n = message_encode(&m, bytes, sizeof bytes);
    bytes[7] ^= 0x40; /* of the version */
    assert_int_equal(link_send(a.link, NULL, bytes, (size_t)n), 0);
    assert_bare_heard(&a, MESSAGE_REFUSE);
    assert_non_null(strstr(m.refuse.reason, "version"));
    link_close(a.link, 0);
}

TEST_WITH(begin, end, tellings_reach_the_daemon_without_a_number)
{
    struct command_caller c;
    open_caller(&c);
    memset(&m, 0, sizeof m);
    m.type = MESSAGE_WATCH;
    assert_int_equal(command_caller_tell(&c, &m), 0);
    assert_int_equal(taken()->type, MESSAGE_WATCH);
    assert_int_equal(from.id, 0);
    assert_int_equal(from.envelope.life, 0);
    assert_false(from.changes);
    assert_string_equal(from.envelope.node, node);
    command_caller_close(&c, 0);
}

/* Its answers came to a link that is no more. The command goes out once, by the life that answered last. */
TEST_WITH(begin, end, a_link_that_is_cut_twice_before_an_answer_is_made_anew_each_time)
{
    struct command_caller c;
    uint64_t connections[3];
    command_server_close(server, 0);
    serve("tcp://127.0.0.1:*");
    open_caller(&c);
    meet(&c);
    uint64_t life = c.life;
    for (int cut = 0; cut < 3; cut++) {
        const struct link *before = c.link;
        int id = command(&c, VERB_PAUSE);
        assert_int_equal(id == 0, cut > 0); /* of a new link no life is known */
        assert_int_equal(taken()->command.verb, cut ? VERB_QUERY : VERB_PAUSE);
        memcpy(&connections[cut], from.peer.id, sizeof connections[cut]);
        assert_ptr_equal(c.link, before);
        ahead += COMMAND_CALLER_SILENCE - CLOCK_S;
        (void)command(&c, VERB_PAUSE); /* not silent for long enough */
        assert_int_equal(taken()->type, MESSAGE_COMMAND);
        assert_ptr_equal(c.link, before);
        ahead += 2 * CLOCK_S;
        assert_int_equal(command(&c, VERB_STOP), 0);
        assert_true(c.link != before);
        assert_int_equal(taken()->command.verb, VERB_QUERY);
        answer((uint32_t)cut);
        if (cut < 2) { /* nobody takes the answer: this link is cut too */
            ahead += COMMAND_CALLER_SILENCE + CLOCK_S;
            assert_int_equal(command(&c, VERB_STOP), 0);
            (void)taken();
        }
    }
    assert_true(memcmp(&connections[0], &connections[1], 8) != 0 && memcmp(&connections[1], &connections[2], 8) != 0);
    assert_int_equal(heard(&c), 0);
    assert_int_equal(m.reply.sessions, 2);
    assert_int_equal(c.life, life);
    int id = command(&c, VERB_STOP);
    assert_true(id > 0);
    assert_int_equal(taken()->command.verb, VERB_STOP);
    answer(9);
    assert_heard(&c, (uint32_t)id, ANSWER_BEZELD);
    assert_nothing_more(&c);
    command_caller_close(&c, 0);
}

/* A proxy behind which nobody answers is left after a while; a daemon that has answered is given longer. */
TEST_WITH(begin, end, a_proxy_that_leads_nowhere_is_left_for_the_daemon_itself)
{
    struct command_caller c;
    command_server_close(server, 0);
    serve("tcp://127.0.0.1:*");
    assert_int_equal(
        command_caller_open(&c, endpoint(), (struct command_caller_access){.proxies = " tcp://127.0.0.1:1"}, run, node),
        0);
    assert_string_equal(link_endpoint(c.link), "tcp://127.0.0.1:1");
    assert_int_equal(command(&c, VERB_STOP), 0);
    assert_false(command_caller_is_lost(&c));
    ahead += COMMAND_CALLER_TRY + CLOCK_S;
    assert_true(command_caller_is_lost(&c));
    assert_int_equal(command(&c, VERB_STOP), 0);
    assert_string_equal(link_endpoint(c.link), endpoint());
    assert_int_equal(taken()->command.verb, VERB_QUERY);
    answer(1);
    assert_int_equal(heard(&c), 0);
    assert_true(command(&c, VERB_STOP) > 0);
    ahead += COMMAND_CALLER_TRY + CLOCK_S;
    assert_false(command_caller_is_lost(&c));
    ahead += COMMAND_CALLER_SILENCE;
    assert_true(command_caller_is_lost(&c));
    command_caller_close(&c, 0);
    assert_false(command_caller_is_lost(&c));
}

/* Where something came, and over a socket of this machine, no link is cut however long it takes. */
TEST_WITH(begin, end, a_link_that_answers_or_is_of_this_machine_stays)
{
    struct command_caller c;
    for (int tcp = 0; tcp < 2; tcp++) {
        open_caller(&c);
        const struct link *before = c.link;
        meet(&c);
        ahead += 1000 * CLOCK_S;
        if (!tcp) { /* and nobody answers */
            assert_true(command(&c, VERB_PAUSE) > 0);
            assert_int_equal(taken()->command.verb, VERB_PAUSE);
        }
        ahead += 1000 * CLOCK_S;
        meet(&c);
        assert_ptr_equal(c.link, before);
        command_caller_close(&c, 0);
        command_server_close(server, 0);
        serve("tcp://127.0.0.1:*");
    }
}

TEST_WITH(begin, end, what_cannot_be_opened_is_told_and_leaves_nothing)
{
    struct command_caller c;
    const struct command_caller_access none = {0};
    char longer[LINK_ENDPOINT_MAX + 2];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(command_caller_open(&c, longer, none, run, node), BEZEL_EINVAL);
    assert_null(c.link);
    assert_int_equal(command_caller_open(&c, "tcp://127.0.0.1:*", none, run, node), BEZEL_EINVAL);
    draws_left = 0;
    assert_int_equal(command_caller_open(&c, endpoint(), none, run, node), BEZEL_ESYS);
    assert_null(c.link);
    for (unsigned left = 0; left < 2; left++) {
        struct command_server *other = NULL;
        draws_left = left;
        assert_int_equal(command_server_open("tcp://127.0.0.1:*", NULL, &other), BEZEL_ESYS);
        assert_null(other);
    }
    struct command_server *other = NULL;
    assert_int_equal(command_server_open(endpoint(), NULL, &other), BEZEL_EBUSY);
    assert_null(other);
    command_server_close(NULL, 0);
}
