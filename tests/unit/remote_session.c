// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A session at a bezeld, as `bezel run` sees it: when it is requested, and again; what each answer means; a bezeld that
 * is restarted, and restarted again before its answer came. The bezeld is a command server of the test's.
 */
#include "ecs/course/remote_session.h"

#include "mdr/command/command_server.h"
#include "mdr/message.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <stdio.h>

static int64_t standing; /* the time at which the clock stands; 0: it goes */

int64_t __wrap_clock_now(void);
int64_t __real_clock_now(void);

int64_t __wrap_clock_now(void)
{
    return standing ? standing : __real_clock_now();
}

static const uint8_t run[16] = "this run";
static const struct message_configure request = {.experiment = "experiment: x\n", .folder = "/dev/shm/here"};
static char address[SCRATCH_PATH + 16];
static struct command_server *server;
static struct command_request from;
static struct command_caller caller;
static struct remote_session s;
static struct message m; /* too large for a stack */

static void serve(void)
{
    assert_int_equal(command_server_open(address, NULL, &server), 0);
}

/* Nothing that came to it is answered. */
static void end_server(void)
{
    command_server_close(server, 0);
    server = NULL;
}

static int begin(void **state)
{
    int err = scratch_begin(state);
    snprintf(address, sizeof address, "ipc://%s/control", scratch_dir);
    s = (struct remote_session){.address = address, .request = &request};
    if (!err)
        err = command_caller_open(&caller, address, (struct command_caller_access){0}, run, "desk");
    return err;
}

static int end(void **state)
{
    command_caller_close(&caller, 0);
    command_server_close(server, 0);
    server = NULL;
    return scratch_end(state);
}

/* The next command that the bezeld is to carry out; what comes to the session in the meantime is taken. */
static const struct message *taken(void)
{
    int64_t deadline = __real_clock_now() + PATIENCE;
    for (int budget = 100; !command_server_receive(server, &budget, &from); budget = 100) {
        struct link *links[] = {command_server_link(server), caller.link};
        assert_true(__real_clock_now() < deadline);
        if (command_caller_receive(&caller, &m) == 0)
            assert_true(remote_session_take(&s, &caller, &m));
        (void)link_wait(links, 2, NULL, 0, 100 * CLOCK_MS);
    }
    return command_server_message(server);
}

/* Has the session take what comes, up to the answer to `from`. */
static void hear(void)
{
    int64_t deadline = __real_clock_now() + PATIENCE;
    bool heard = false;
    while (!heard) {
        assert_true(__real_clock_now() < deadline);
        if (command_caller_receive(&caller, &m) == 0) {
            heard = m.reply.id == from.id;
            assert_true(remote_session_take(&s, &caller, &m));
        } else
            (void)link_wait(&caller.link, 1, NULL, 0, 100 * CLOCK_MS);
    }
}

static void answer(struct message_reply reply)
{
    command_server_reply(server, &from, NULL, &reply);
    hear();
}

/* Whoever listens there gives its life first, and then gets the request. */
static void expect_request(void)
{
    const struct message *got = taken();
    for (; got->command.verb == VERB_QUERY; got = taken())
        if (s.phase == REMOTE_SESSION_ASKED)
            answer((struct message_reply){.state = DAEMON_ACTIVE, .answer = ANSWER_BEZELD});
    assert_int_equal(got->command.verb, VERB_CONFIGURE);
    assert_string_equal(got->configure.experiment, request.experiment);
    assert_string_equal(got->configure.folder, request.folder);
    assert_int_equal(from.id, (uint32_t)s.request_id);
}

static void be_served(void)
{
    serve();
    remote_session_start(&s, &caller, 0);
    assert_int_equal(s.phase, REMOTE_SESSION_ASKED);
    expect_request();
    answer((struct message_reply){.state = DAEMON_ACTIVE, .answer = ANSWER_SESSION, .begun = true});
    assert_int_equal(s.phase, REMOTE_SESSION_SERVED);
}

/* How many requests it sends, so long after it asked and was answered last. */
static uint32_t requests_after(int64_t asked, int64_t answered)
{
    uint32_t before = caller.id;
    standing = __real_clock_now();
    s.asked = standing - asked;
    s.answered = standing - answered;
    remote_session_tick(&s, &caller);
    standing = 0;
    return caller.id - before;
}

#define SOON REMOTE_SESSION_ASK_EVERY

/* Gives the session an answer as if it had come. Returns whether it was about the session. */
static bool take(uint32_t id, struct message_reply reply)
{
    m.type = MESSAGE_REPLY;
    m.reply = reply;
    m.reply.id = id;
    return remote_session_take(&s, &caller, &m);
}

/* ---- Requesting -------------------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, it_is_requested_until_it_serves)
{
    serve();
    remote_session_start(&s, &caller, 0);
    assert_int_equal(taken()->command.verb, VERB_QUERY); /* for its life */
    assert_true(s.introduced);
    assert_int_equal(s.request_id, 0);
    answer((struct message_reply){.state = DAEMON_ACTIVE, .answer = ANSWER_BEZELD});
    assert_int_equal(taken()->command.verb, VERB_CONFIGURE);
    assert_false(s.introduced);
    assert_int_equal(s.phase, REMOTE_SESSION_ASKED);
    answer((struct message_reply){.state = DAEMON_STARTING, .answer = ANSWER_WAITING, .text = "it waits for nobody"});
    assert_int_equal(s.phase, REMOTE_SESSION_ASKED);
    assert_string_equal(s.why, "it waits for nobody");
    assert_int_equal(requests_after(SOON, 0), 0);
    s.child = true;
    assert_int_equal(requests_after(SOON + 1, 0), 1);
    s.child = false;
    expect_request();
    assert_int_equal(requests_after(SOON + 1, 0), 1);
    expect_request();
    answer((struct message_reply){.state = DAEMON_ACTIVE, .answer = ANSWER_SESSION, .begun = true, .text = "anew"});
    assert_int_equal(s.phase, REMOTE_SESSION_SERVED);
    assert_string_equal(s.why, "");
    assert_true(s.served_once);
    assert_false(s.left);
}

TEST_WITH(begin, end, where_nobody_serves_the_remedy_is_told)
{
    char expected[REMOTE_SESSION_WHY_MAX];
    snprintf(expected, sizeof expected,
             "no bezeld serves there: start one with `bezeld --control %s`, or leave `address` out of the file",
             address);
    remote_session_start(&s, &caller, 0);
    assert_int_equal(s.phase, REMOTE_SESSION_OVER);
    assert_string_equal(s.why, expected);
    serve();
    s.why[0] = '\0';
    remote_session_start(&s, &caller, BEZEL_EUNREACH);
    assert_int_equal(s.phase, REMOTE_SESSION_OVER);
    assert_string_equal(s.why, expected);
    remote_session_start(&s, &caller, BEZEL_ENOMEM);
    assert_int_equal(s.phase, REMOTE_SESSION_OVER);
    assert_memory_equal(s.why, "cannot connect: ", 16);
    assert_int_equal(caller.id, 0);
    end_server();
    s.served_once = true; /* it may be restarting */
    s.stop = s.request_id = 7;
    remote_session_start(&s, &caller, 0);
    assert_int_equal(s.phase, REMOTE_SESSION_ASKED);
    assert_string_equal(s.why, "");
    assert_int_equal(s.stop, 0);
    assert_int_equal(s.request_id, 0);
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, what_ends_a_session_says_why)
{
    static const struct message_reply refused = {.answer = ANSWER_REFUSED, .text = "no room"},
                                      took = {.answer = ANSWER_TAKEN, .text = "taken over"},
                                      failed = {.state = DAEMON_FAILED, .answer = ANSWER_NODE, .text = "it failed"};
    s.phase = REMOTE_SESSION_ASKED;
    s.request_id = 5;
    assert_true(take(3, refused)); /* whatever answers before it serves */
    assert_int_equal(s.phase, REMOTE_SESSION_OVER);
    assert_string_equal(s.why, "no room");
    assert_false(take(5, took)); /* it is over */
    s.phase = REMOTE_SESSION_SERVED;
    assert_false(take(3, refused)); /* of another command */
    assert_int_equal(s.phase, REMOTE_SESSION_SERVED);
    assert_true(take(5, refused));
    assert_int_equal(s.phase, REMOTE_SESSION_OVER);
    s.phase = REMOTE_SESSION_SERVED;
    assert_true(take(3, failed));
    assert_int_equal(s.phase, REMOTE_SESSION_OVER);
    assert_string_equal(s.why, "it failed");
    s.phase = REMOTE_SESSION_SERVED;
    assert_false(take(3, (struct message_reply){.state = DAEMON_ACTIVE, .answer = ANSWER_NODE, .text = "all is well"}));
    assert_false(take(3, (struct message_reply){.state = DAEMON_FAILED, .answer = ANSWER_KNOBS, .text = "no knob"}));
    assert_int_equal(s.phase, REMOTE_SESSION_SERVED);
    assert_string_equal(s.why, "it failed");
    m.type = MESSAGE_OBSERVATION;
    assert_false(remote_session_take(&s, &caller, &m));
    m.type = MESSAGE_REFUSE;
    snprintf(m.refuse.reason, sizeof m.refuse.reason, "another version");
    assert_true(remote_session_take(&s, &caller, &m));
    assert_int_equal(s.phase, REMOTE_SESSION_OVER);
    assert_string_equal(s.why, "another version");
    assert_false(s.taken);
    s.phase = REMOTE_SESSION_SERVED;
    assert_true(take(3, took));
    assert_true(s.taken);
    assert_string_equal(s.why, "taken over");
    assert_true(take(3, refused)); /* nothing is about anything else any more */
    assert_string_equal(s.why, "taken over");
}

/* Commands that were on their way when it ended find none. That is no news: why it is over stays. */
TEST_WITH(begin, end, a_session_that_is_over_takes_what_says_that_it_is_absent)
{
    be_served();
    assert_true(take(7, (struct message_reply){.state = DAEMON_FAILED, .answer = ANSWER_NODE, .text = "told to end"}));
    assert_int_equal(s.phase, REMOTE_SESSION_OVER);
    assert_true(take(8, (struct message_reply){.answer = ANSWER_ABSENT, .text = "no such session"}));
    assert_true(take(9, (struct message_reply){.answer = ANSWER_STALE, .text = "another life"}));
    assert_false(take(10, (struct message_reply){.state = DAEMON_DRAINING, .answer = ANSWER_NODE}));
    assert_int_equal(s.phase, REMOTE_SESSION_OVER);
    assert_string_equal(s.why, "told to end");
}

TEST_WITH(begin, end, a_session_that_was_stopped_is_over_with_its_answer)
{
    be_served();
    remote_session_stopped(&s, 9);
    assert_int_equal(requests_after(SOON + 1, REMOTE_SESSION_SILENCE + 1), 0); /* a bezeld that ends may be gone */
    assert_false(take(8, (struct message_reply){.state = DAEMON_DRAINING, .answer = ANSWER_NODE}));
    assert_int_equal(s.phase, REMOTE_SESSION_SERVED);
    assert_true(take(9, (struct message_reply){.state = DAEMON_DRAINING, .answer = ANSWER_NODE}));
    assert_int_equal(s.phase, REMOTE_SESSION_OVER);
    assert_string_equal(s.why, "");
    s.phase = REMOTE_SESSION_SERVED;
    remote_session_stopped(&s, 0);
    assert_int_equal(s.phase, REMOTE_SESSION_OVER);
    assert_int_equal(s.stop, 0);
}

TEST_WITH(begin, end, a_silent_session_is_requested_again)
{
    be_served();
    assert_int_equal(requests_after(SOON + 1, REMOTE_SESSION_SILENCE), 0);
    s.child = true; /* waitpid() would tell */
    assert_int_equal(requests_after(SOON + 1, REMOTE_SESSION_SILENCE + 1), 0);
    s.child = false;
    assert_int_equal(requests_after(SOON, REMOTE_SESSION_SILENCE + 1), 0);
    assert_int_equal(requests_after(SOON + 1, REMOTE_SESSION_SILENCE + 1), 1);
    assert_int_equal(s.phase, REMOTE_SESSION_SERVED);
    s.answered = 0;
    expect_request();
    answer((struct message_reply){.state = DAEMON_ACTIVE, .answer = ANSWER_SESSION}); /* it was only slow */
    assert_int_equal(s.phase, REMOTE_SESSION_SERVED);
    assert_int_not_equal(s.answered, 0);
    s.phase = REMOTE_SESSION_OVER;
    assert_int_equal(requests_after(SOON + 1, REMOTE_SESSION_SILENCE + 1), 0);
}

/* ---- Restarts ---------------------------------------------------------------------------------------------------- */

/* Lets both sides turn for a moment. Returns whether a command is to be carried out. */
static bool turn(void)
{
    struct link *links[] = {command_server_link(server), caller.link};
    int budget = 100;
    (void)link_wait(links, 2, NULL, 0, 50 * CLOCK_MS);
    if (command_server_receive(server, &budget, &from))
        return true;
    if (command_caller_receive(&caller, &m) == 0)
        assert_true(remote_session_take(&s, &caller, &m));
    return false;
}

/* `bezel run` sends a command to the session, which a restarted bezeld does not have. Some may go to the one before. */
static void find_it_absent(void)
{
    int64_t deadline = __real_clock_now() + PATIENCE;
    do {
        assert_true(__real_clock_now() < deadline);
        m.command = (struct message_command){.verb = VERB_QUERY};
        assert_true(command_caller_send(&caller, &m) > 0);
    } while (!turn());
    command_server_refuse(server, &from, ANSWER_ABSENT, "this bezeld has no such session");
    hear();
    assert_int_equal(s.phase, REMOTE_SESSION_SERVED);
    assert_int_equal(s.answered, 0);
}

static void restart(void)
{
    end_server();
    serve();
}

static void assert_asked_at_once_and_answers(const char *text)
{
    be_served();
    restart();
    find_it_absent();
    assert_int_equal(requests_after(SOON + 1, clock_now()), 1);
    expect_request();
    struct message_reply reply = {.state = DAEMON_ACTIVE, .answer = ANSWER_SESSION, .begun = true};
    snprintf(reply.text, sizeof reply.text, "%s", text);
    answer(reply);
    assert_int_equal(s.phase, REMOTE_SESSION_OVER);
}

TEST_WITH(begin, end, a_bezeld_that_was_restarted_is_asked_at_once_and_may_resume)
{
    assert_asked_at_once_and_answers("");
    assert_string_equal(s.why, "it was restarted, and resumes the session");
    assert_false(s.left);
}

TEST_WITH(begin, end, a_bezeld_that_begins_anew_has_left_the_earlier_session)
{
    assert_asked_at_once_and_answers("the session continues no earlier one");
    assert_string_equal(s.why, "it was restarted, and begins a new session");
    assert_true(s.left);
}

/* A slow bezeld gets a second request before it has answered the first one, and begins but once. */
TEST_WITH(begin, end, a_restart_is_told_by_the_answer_to_an_earlier_request)
{
    be_served();
    restart();
    find_it_absent();
    assert_int_equal(requests_after(SOON + 1, clock_now()), 1);
    expect_request();
    s.answered = 0;
    assert_int_equal(requests_after(SOON + 1, clock_now()), 1);
    answer((struct message_reply){.state = DAEMON_ACTIVE, .answer = ANSWER_SESSION, .begun = true});
    assert_int_equal(s.phase, REMOTE_SESSION_OVER);
    assert_string_equal(s.why, "it was restarted, and resumes the session");
}

/* Twice is not once: the second restart comes before the first one's answer, which never does, or comes late. */
TEST_WITH(begin, end, a_bezeld_that_is_restarted_again_before_its_answer_came_is_asked_again)
{
    static const struct message_reply anew = {.state = DAEMON_ACTIVE,
                                              .answer = ANSWER_SESSION,
                                              .begun = true,
                                              .text = "the session continues no earlier one"};
    be_served();
    restart();
    find_it_absent();
    assert_int_equal(requests_after(SOON + 1, clock_now()), 1);
    expect_request();
    uint32_t first = from.id;
    uint64_t life = caller.life;
    restart();
    int64_t deadline = __real_clock_now() + PATIENCE;
    while (caller.life == life) {
        assert_true(__real_clock_now() < deadline);
        assert_int_equal(requests_after(SOON + 1, clock_now()), 1);
        assert_false(turn()); /* it is for the life that is gone: not carried out */
    }
    assert_int_equal(s.phase, REMOTE_SESSION_SERVED);
    assert_int_equal(requests_after(SOON + 1, clock_now()), 1);
    expect_request();
    assert_true(from.id > first);
    assert_true(take(first, (struct message_reply){.answer = ANSWER_SESSION, .begun = true}));
    assert_int_equal(s.phase, REMOTE_SESSION_OVER);
    assert_string_equal(s.why, "it was restarted, and resumes the session");
    assert_false(s.left);
    remote_session_start(&s, &caller, 0);
    answer(anew);
    assert_int_equal(s.phase, REMOTE_SESSION_SERVED);
    assert_true(s.left);
}
