// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The control endpoint of a bezeld: whom it lets in, which sessions it begins, and each refusal with its sentence. It
 * turns in this thread, with real sessions; their collector is one that only welcomes (fake_collector), or is not
 * there.
 */
#include "bezeld/control_endpoint.h"

#include "base/file.h"
#include "bezeld/node/owner.h"
#include "mdr/command/command_caller.h"
#include "tests/lib/fake_collector.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t ahead; /* ns */

int64_t __wrap_clock_now(void);
int64_t __real_clock_now(void);

int64_t __wrap_clock_now(void)
{
    return __real_clock_now() + ahead;
}

/* ---- The endpoint, a collector, and who commands ----------------------------------------------------------------- */

static struct scheduler all;
static struct control_endpoint *endpoint;
static struct fake_collector *collector;
static char control[SCRATCH_PATH + 32], data[SCRATCH_PATH + 32];
static bool shutdown;
static struct message m; /* too large for a stack */

static int open_endpoint(void)
{
    struct control_endpoint_options options = {.control = control, .idle_timeout = 1000 * CLOCK_S};
    return control_endpoint_open(&options, &endpoint);
}

static int begin(void **state)
{
    int err = scratch_begin(state);
    snprintf(control, sizeof control, "ipc://%s/c/socket", scratch_dir);
    snprintf(data, sizeof data, "ipc://%s/data", scratch_dir);
    setenv("BEZEL_DIR", scratch_dir, 1);
    ahead = 0;
    shutdown = false;
    scheduler_init(&all);
    return err ? err : open_endpoint();
}

/* Its packets may still be on their way. */
static void end_session(struct session *s)
{
    int64_t deadline = __real_clock_now() + PATIENCE;
    session_abort(s);
    while (s->phase != SESSION_OVER && __real_clock_now() < deadline)
        session_turn(s, false);
}

static int end(void **state)
{
    for (; all.count > 0; scheduler_remove(&all, 0))
        end_session(all.list[0]);
    control_endpoint_close(endpoint);
    if (collector)
        fake_collector_free(collector);
    collector = NULL;
    unsetenv("BEZEL_DIR");
    return scratch_end(state);
}

static void start_collector(void)
{
    collector = fake_collector_new(data, NULL, 1);
    assert_non_null(collector);
}

static void turn(void)
{
    shutdown |= control_endpoint_turn(endpoint, &all);
    scheduler_turn(&all);
    if (collector)
        fake_collector_round(collector, 0);
}

/* A caller; `run` 0 and node "": of the bezeld as a whole. */
static struct command_caller call(uint8_t run, const char *node)
{
    struct command_caller c;
    const uint8_t id[16] = {run};
    assert_int_equal(command_caller_open(&c, control, (struct command_caller_access){0}, id, node), 0);
    return c;
}

static void await_answer(struct command_caller *c, int id)
{
    int64_t deadline = __real_clock_now() + PATIENCE;
    do {
        assert_true(__real_clock_now() < deadline);
        turn();
        (void)link_wait(&c->link, 1, NULL, 0, CLOCK_MS);
    } while (command_caller_receive(c, &m) != 0 || (id && m.reply.id != (uint32_t)id));
    assert_int_equal(m.type, MESSAGE_REPLY);
}

/* Sends a message, once the life of the bezeld is known. Returns the number of its command. */
static int sends(struct command_caller *c, const struct message *wanted)
{
    static struct message sent;
    int64_t deadline = __real_clock_now() + PATIENCE;
    for (;;) {
        sent = *wanted;
        int id = command_caller_send(c, &sent);
        if (id > 0)
            return id;
        assert_true(__real_clock_now() < deadline && (id == 0 || id == BEZEL_EAGAIN)); /* its queue may seem full */
        if (id == 0)
            await_answer(c, 0);
        else
            turn();
    }
}

static const struct message_reply *ask(struct command_caller *c, struct message_command command)
{
    static struct message wanted;
    wanted.command = command;
    await_answer(c, sends(c, &wanted));
    return &m.reply;
}

static const struct message_reply *ask_bezeld(struct message_command command)
{
    struct command_caller c = call(0, "");
    const struct message_reply *r = ask(&c, command);
    command_caller_close(&c, 0);
    return r;
}

#define EXPERIMENT(name)                                                                                               \
    "experiment: " name "\nnodes: {a: {}, b: {}}\nprocesses: [{name: p, node: a, attach: x}]\n"                        \
    "sensing: {window: 1 MiB}\n"

static int sends_configure(struct command_caller *c, const char *experiment, const char *folder)
{
    static struct message wanted;
    wanted.command = (struct message_command){.verb = VERB_CONFIGURE};
    snprintf(wanted.configure.experiment, sizeof wanted.configure.experiment, "%s", experiment);
    snprintf(wanted.configure.folder, sizeof wanted.configure.folder, "%s/%s", scratch_dir, folder);
    snprintf(wanted.configure.collector, sizeof wanted.configure.collector, "%s", data);
    return sends(c, &wanted);
}

static const struct message_reply *configure(struct command_caller *c, const char *experiment, const char *folder)
{
    await_answer(c, sends_configure(c, experiment, folder));
    return &m.reply;
}

/* Asks for a session of which there is no answer yet, because nobody collects. */
static struct session *begins(struct command_caller *c, const char *folder)
{
    int64_t deadline = __real_clock_now() + PATIENCE;
    uint32_t before = all.count;
    (void)sends_configure(c, EXPERIMENT("x"), folder);
    while (all.count == before) {
        assert_true(__real_clock_now() < deadline);
        turn();
    }
    return all.list[before];
}

static void assert_refused(const struct message_reply *r, enum message_answer answer, const char *why)
{
    assert_int_equal(r->answer, answer);
    assert_string_equal(r->text, why);
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, its_folder_is_made_for_this_user_alone_and_used_by_one)
{
    char folder[SCRATCH_PATH + 8];
    struct stat st;
    struct control_endpoint *first = endpoint;
    snprintf(folder, sizeof folder, "%s/c", scratch_dir);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(open_endpoint(), BEZEL_EBUSY);
    assert_ptr_equal(endpoint, first);
    control_endpoint_close(endpoint);
    static const mode_t open_modes[] = {0710, 0701, 0720, 0704};
    for (size_t i = 0; i < sizeof open_modes / sizeof *open_modes; i++) {
        assert_int_equal(chmod(folder, open_modes[i]), 0);
        assert_int_equal(open_endpoint(), BEZEL_EPERM);
    }
    assert_int_equal(chmod(folder, 0700), 0);
    struct control_endpoint_options options = {.control = control, .keys = "/nowhere/keys"};
    assert_int_equal(control_endpoint_open(&options, &endpoint), BEZEL_ENOENT);
    assert_int_equal(open_endpoint(), 0);
}

/* ---- The bezeld as a whole --------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, it_answers_for_itself_and_refuses_what_only_a_session_can_do)
{
    const struct message_reply *r = ask_bezeld((struct message_command){.verb = VERB_QUERY, .subject = SUBJECT_STATE});
    assert_int_equal(r->answer, ANSWER_BEZELD);
    assert_int_equal(r->state, DAEMON_ACTIVE);
    assert_int_equal(r->sessions, 0);
    assert_refused(ask_bezeld((struct message_command){.verb = VERB_PAUSE}), ANSWER_REFUSED,
                   "only a session carries out this command: name its run and node");
    assert_refused(ask_bezeld((struct message_command){.verb = VERB_QUERY, .subject = SUBJECT_KNOBS}), ANSWER_REFUSED,
                   "only a session carries out this command: name its run and node");
    struct command_caller c = call(7, "a");
    assert_refused(ask(&c, (struct message_command){.verb = VERB_PAUSE}), ANSWER_ABSENT,
                   "this bezeld has no such session");
    command_caller_close(&c, 0);
    assert_int_equal(ask_bezeld((struct message_command){.verb = VERB_STOP})->answer, ANSWER_BEZELD);
    assert_false(shutdown);
    assert_int_equal(ask_bezeld((struct message_command){.verb = VERB_SHUTDOWN})->answer, ANSWER_BEZELD);
    assert_true(shutdown);
    control_endpoint_shut(endpoint);
    assert_int_equal(ask_bezeld((struct message_command){.verb = VERB_QUERY})->state, DAEMON_DRAINING);
    assert_int_equal(ask_bezeld((struct message_command){.verb = VERB_QUERY, .subject = SUBJECT_SESSIONS})->state,
                     DAEMON_DRAINING);
    assert_int_equal(ask_bezeld((struct message_command){.verb = VERB_QUERY, .subject = SUBJECT_SEGMENTS})->state,
                     DAEMON_DRAINING);
    c = call(7, "a");
    assert_refused(configure(&c, EXPERIMENT("x"), "one"), ANSWER_REFUSED, "this bezeld is ending");
    command_caller_close(&c, 0);
}

TEST_WITH(begin, end, each_session_is_listed_with_who_asked_for_it)
{
    start_collector();
    struct command_caller a = call(3, "a"), b = call(4, "b");
    assert_int_equal(configure(&a, EXPERIMENT("first"), "one")->answer, ANSWER_SESSION);
    assert_int_equal(configure(&b, EXPERIMENT("second"), "two")->answer, ANSWER_SESSION);
    assert_int_equal(ask_bezeld((struct message_command){.verb = VERB_QUERY})->sessions, 2);
    session_abort(all.list[1]); /* it has no node to be described any more */
    snprintf(all.list[1]->waiting.from.host, sizeof all.list[1]->waiting.from.host, "desk1.example");
    snprintf(all.list[1]->waiting.from.key, sizeof all.list[1]->waiting.from.key, "ann");
    const struct message_reply *r =
        ask_bezeld((struct message_command){.verb = VERB_QUERY, .subject = SUBJECT_SESSIONS});
    assert_int_equal(r->answer, ANSWER_SESSIONS);
    assert_int_equal(r->state, DAEMON_ACTIVE);
    assert_int_equal(m.sessions.count, 2);
    const struct message_session *rows = m.sessions.sessions;
    assert_int_equal(rows[0].run[0], 3);
    assert_string_equal(rows[0].experiment, "first");
    assert_string_equal(rows[0].node, "a");
    assert_int_equal(rows[0].state, DAEMON_ACTIVE);
    assert_string_equal(rows[0].host, "");
    assert_int_equal(rows[1].run[0], 4);
    assert_string_equal(rows[1].experiment, "second");
    assert_string_equal(rows[1].node, "b");
    assert_int_equal(rows[1].state, DAEMON_DRAINING);
    assert_string_equal(rows[1].host, "desk1.example");
    assert_string_equal(rows[1].key, "ann");
    command_caller_close(&a, 0);
    command_caller_close(&b, 0);
}

/* The folders come in the order of their names, each by the name of the one before. */
TEST_WITH(begin, end, processes_are_listed_folder_by_folder)
{
    struct command_caller a = call(3, "a"), b = call(4, "a");
    (void)begins(&a, "z");
    (void)begins(&b, "y");
    char expected[3][SCRATCH_PATH + 8];
    snprintf(expected[0], sizeof expected[0], "%s", scratch_dir);
    snprintf(expected[1], sizeof expected[1], "%s/y", scratch_dir);
    snprintf(expected[2], sizeof expected[2], "%s/z", scratch_dir);
    struct message_command list = {.verb = VERB_QUERY, .subject = SUBJECT_SEGMENTS};
    uint64_t instance = 0;
    for (int i = 0; i <= 3; i++) {
        const struct message_reply *r = ask_bezeld(list);
        assert_int_equal(r->answer, ANSWER_SEGMENTS);
        assert_string_equal(r->text, "");
        assert_string_equal(m.segments.folder, i < 3 ? expected[i] : "");
        assert_int_equal(m.segments.count, i == 1 || i == 2); /* the session's own trace */
        assert_int_equal(m.segments.next, 0);
        if (m.segments.count) {
            const struct message_segment *row = &m.segments.rows[0];
            assert_int_equal(row->pid, getpid());
            assert_int_equal(row->run[0], i == 1 ? 4 : 3);
            assert_true(row->instance != 0 && row->instance != instance);
            instance = row->instance;
        }
        snprintf(list.folder, sizeof list.folder, "%s", m.segments.folder);
        list.after = UINT64_MAX;
    }
    snprintf(list.folder, sizeof list.folder, "%s", expected[2]);
    list.after = instance; /* behind the last one of the folder */
    assert_int_equal(ask_bezeld(list)->answer, ANSWER_SEGMENTS);
    assert_string_equal(m.segments.folder, expected[2]);
    assert_int_equal(m.segments.count, 0);
    list.after = instance - 1;
    assert_int_equal(ask_bezeld(list)->answer, ANSWER_SEGMENTS);
    assert_int_equal(m.segments.count, 1);
    snprintf(list.folder, sizeof list.folder, "%s/x", scratch_dir); /* is not one of them: the next one begins at 0 */
    list.after = UINT64_MAX - 1;
    (void)ask_bezeld(list);
    assert_string_equal(m.segments.folder, expected[1]);
    assert_int_equal(m.segments.count, 1);
    command_caller_close(&a, 0);
    command_caller_close(&b, 0);
}

/* ---- Beginning a session ----------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, a_session_is_begun_once_and_answered_once_it_reaches_its_collector)
{
    struct command_caller c = call(3, "a");
    struct session *s = begins(&c, "one");
    int id = sends_configure(&c, EXPERIMENT("x"), "one");
    for (int64_t deadline = __real_clock_now() + PATIENCE; s->waiting.from.id != (uint32_t)id; turn())
        assert_true(__real_clock_now() < deadline);
    assert_int_equal(all.count, 1);
    assert_true(s->waiting.is && s->waiting.began);
    start_collector();
    await_answer(&c, id); /* the request that came last is answered */
    assert_int_equal(m.reply.answer, ANSWER_SESSION);
    assert_int_equal(m.reply.state, DAEMON_ACTIVE);
    assert_true(m.reply.begun);
    assert_string_equal(m.reply.text, "the session continues no earlier one");
    assert_false(s->waiting.is || s->waiting.began);
    const struct message_reply *r = configure(&c, EXPERIMENT("x"), "one"); /* its answer was lost */
    assert_int_equal(r->answer, ANSWER_SESSION);
    assert_false(r->begun);
    assert_string_equal(r->text, "");
    assert_int_equal(ask(&c, (struct message_command){.verb = VERB_QUERY})->answer, ANSWER_NODE);
    command_caller_close(&c, 0);
}

TEST_WITH(begin, end, an_experiment_too_long_for_a_message_is_read_from_its_file)
{
    char path[SCRATCH_PATH + 8], why[2 * SCRATCH_PATH];
    static const char text[] = EXPERIMENT("of_file");
    struct command_caller c = call(3, "a");
    start_collector();
    snprintf(path, sizeof path, "%s/file", scratch_dir);
    snprintf(why, sizeof why, "cannot read %s: No such file or directory", path);
    assert_refused(configure(&c, path, "one"), ANSWER_REFUSED, why);
    assert_int_equal(file_replace(path, text, sizeof text - 1), 0);
    assert_int_equal(configure(&c, path, "one")->answer, ANSWER_SESSION);
    assert_string_equal(all.list[0]->experiment->name, "of_file");
    command_caller_close(&c, 0);
}

TEST_WITH(begin, end, what_is_wrong_with_an_experiment_is_told_with_its_place)
{
    struct command_caller c = call(3, "a"), none = call(3, "none");
    assert_refused(configure(&c, EXPERIMENT("x") "duration: !t 1 s\nmore: 1\n", "one"), ANSWER_REFUSED,
                   "experiment:5:11: duration: tags ('!') are not supported; quote a text that begins with '!'");
    const struct message_reply *r = configure(&none, EXPERIMENT("x"), "one");
    assert_int_equal(r->answer, ANSWER_REFUSED);
    assert_non_null(strstr(r->text, "the experiment has no node none"));
    assert_int_equal(all.count, 0);
    command_caller_close(&c, 0);
    command_caller_close(&none, 0);
}

TEST_WITH(begin, end, more_sessions_than_it_serves_are_refused_with_the_number)
{
    char folder[8];
    start_collector();
    for (unsigned i = 0; i <= SCHEDULER_MAX; i++) {
        struct command_caller c = call((uint8_t)(i + 1), "a");
        snprintf(folder, sizeof folder, "n%u", i);
        const struct message_reply *r = configure(&c, EXPERIMENT("x"), folder);
        if (i < SCHEDULER_MAX)
            assert_int_equal(r->answer, ANSWER_SESSION);
        else
            assert_refused(r, ANSWER_REFUSED,
                           "this bezeld already serves 16 nodes, the maximum: wait until an experiment has ended, or "
                           "start another bezeld in a folder of its own");
        command_caller_close(&c, 0);
    }
    assert_int_equal(all.count, SCHEDULER_MAX);
    /* One of them may have been given up by its run, or ends: who asks is not answered, and asks again. */
    all.list[5]->waiting.is = all.list[5]->waiting.began = true;
    struct command_caller c = call(99, "a");
    int id = sends_configure(&c, EXPERIMENT("x"), "other");
    all.list[5]->phase = SESSION_ENDS; /* so that it is not answered itself */
    for (int i = 0; i < 20; i++) {
        (void)control_endpoint_turn(endpoint, &all);
        assert_int_equal(command_caller_receive(&c, &m), BEZEL_EAGAIN);
        (void)link_wait(&c.link, 1, NULL, 0, CLOCK_MS);
    }
    assert_true(id > 0);
    assert_int_equal(all.count, SCHEDULER_MAX);
    command_caller_close(&c, 0);
}

/* `bezel run` asks each half second: of one that has not asked for five, a session that does not serve yet is useless.
 */
TEST_WITH(begin, end, a_session_that_its_run_gave_up_before_it_served_is_ended)
{
    struct command_caller c = call(3, "a");
    struct session *s = begins(&c, "one");
    int64_t asked = s->waiting.asked;
    ahead = asked + 5 * CLOCK_S - CLOCK_S - __real_clock_now();
    (void)control_endpoint_turn(endpoint, &all);
    assert_int_equal(s->phase, SESSION_SERVES);
    ahead = asked + 5 * CLOCK_S - __real_clock_now();
    s->idle_timeout = 0; /* its run holds the parent pipe */
    (void)control_endpoint_turn(endpoint, &all);
    assert_int_equal(s->phase, SESSION_SERVES);
    s->idle_timeout = 1000 * CLOCK_S;
    s->waiting.began = false;
    (void)control_endpoint_turn(endpoint, &all);
    assert_int_equal(s->phase, SESSION_SERVES);
    s->waiting.began = true;
    s->waiting.is = false; /* it has its answer */
    (void)control_endpoint_turn(endpoint, &all);
    assert_int_equal(s->phase, SESSION_SERVES);
    s->waiting.is = true;
    (void)control_endpoint_turn(endpoint, &all);
    assert_int_equal(s->phase, SESSION_CLOSES);
    assert_false(s->waiting.is);
    command_caller_close(&c, 0);
}

/* ---- Sessions that have ended ------------------------------------------------------------------------------------ */

static void note_end(uint8_t run, const char *name, bool complete, bool deserted)
{
    struct session s = {.run = {run}, .complete = complete, .deserted = deserted, .idle_timeout = 90 * CLOCK_S};
    snprintf(s.name, sizeof s.name, "%s", name);
    control_endpoint_note_end(endpoint, &s);
}

static const struct message_reply *asks_for(uint8_t run, const char *node)
{
    struct command_caller c = call(run, node);
    const struct message_reply *r = configure(&c, EXPERIMENT("x"), "one");
    command_caller_close(&c, 0);
    return r;
}

static void may_begin(uint8_t run, const char *node)
{
    struct command_caller c = call(run, node);
    char folder[8];
    snprintf(folder, sizeof folder, "n%u", all.count);
    (void)begins(&c, folder);
    command_caller_close(&c, 0);
}

TEST_WITH(begin, end, a_session_that_ended_by_itself_is_not_begun_again)
{
    static const char told[] = "the session has ended: this bezeld was asked to end its sessions";
    note_end(1, "a", true, false);
    note_end(2, "b", true, true);
    note_end(3, "a", false, false); /* not all is stored: it may go on */
    for (int times = 0; times < 2; times++) {
        assert_refused(asks_for(1, "a"), ANSWER_REFUSED, told);
        assert_refused(asks_for(2, "b"), ANSWER_REFUSED,
                       "the session has ended: it received no command from `bezel run` for 1 min 30 s");
    }
    assert_int_equal(all.count, 0);
    for (uint8_t i = 0; i < 63; i++) /* 64 are remembered: the first one is not, any more */
        note_end((uint8_t)(100 + i), "a", true, false);
    assert_refused(asks_for(162, "a"), ANSWER_REFUSED, told);
    assert_refused(asks_for(100, "a"), ANSWER_REFUSED, told);
    assert_int_equal(asks_for(2, "b")->answer, ANSWER_REFUSED);
    may_begin(1, "a");
}

TEST_WITH(begin, end, another_node_or_run_than_the_one_that_ended_may_begin)
{
    note_end(1, "a", true, false);
    note_end(3, "a", false, false);
    may_begin(1, "b");
    may_begin(3, "a");
}

/* ---- Owners ------------------------------------------------------------------------------------------------------ */

TEST_WITH(begin, end, who_does_not_own_the_run_any_more_is_told_who_took_it_over)
{
    struct command_caller first = call(3, "a"), second = call(3, "a");
    first.owner = (struct message_leadership){.epoch = 1, .holder = 11};
    second.owner = (struct message_leadership){.epoch = 2, .holder = 22};
    start_collector();
    assert_int_equal(configure(&first, EXPERIMENT("x"), "one")->answer, ANSWER_SESSION);
    assert_int_equal(node_owner(all.list[0]->node).epoch, 1);
    assert_int_equal(configure(&second, EXPERIMENT("x"), "one")->answer, ANSWER_SESSION);
    assert_int_equal(all.count, 1);
    assert_int_equal(node_owner(all.list[0]->node).epoch, 2);
    assert_int_equal(node_owner(all.list[0]->node).holder, 22);
    assert_refused(configure(&first, EXPERIMENT("x"), "one"), ANSWER_TAKEN,
                   "the run was taken over by `bezel attach` on this machine");
    snprintf(all.list[0]->waiting.from.host, sizeof all.list[0]->waiting.from.host, "desk1");
    assert_refused(ask(&first, (struct message_command){.verb = VERB_PAUSE}), ANSWER_TAKEN,
                   "the run was taken over by `bezel attach` from desk1");
    snprintf(all.list[0]->waiting.from.key, sizeof all.list[0]->waiting.from.key, "ann");
    assert_refused(ask(&first, (struct message_command){.verb = VERB_QUERY}), ANSWER_TAKEN,
                   "the run was taken over by `bezel attach` from desk1 with key ann");
    assert_int_equal(ask(&second, (struct message_command){.verb = VERB_QUERY})->answer, ANSWER_NODE);
    assert_int_equal(node_owner(all.list[0]->node).epoch, 2);
    command_caller_close(&first, 0);
    command_caller_close(&second, 0);
}

/* The bezeld that served the session was killed, and its run was taken over before. */
TEST_WITH(begin, end, a_former_owner_begins_no_session_in_the_folder_that_a_newer_one_left)
{
    struct command_caller first = call(3, "a"), second = call(3, "a");
    char folder[SCRATCH_PATH + 8];
    struct state_file kept;
    const uint8_t run[16] = {3};
    first.owner = (struct message_leadership){.epoch = 1, .holder = 11};
    second.owner = (struct message_leadership){.epoch = 2, .holder = 22};
    snprintf(folder, sizeof folder, "%s/one", scratch_dir);
    assert_int_equal(mkdir(folder, 0700), 0);
    owner_file_init(&kept, folder, run);
    owner_save(&kept, second.owner);
    assert_refused(configure(&first, EXPERIMENT("x"), "one"), ANSWER_TAKEN, "the run was taken over by `bezel attach`");
    assert_int_equal(all.count, 0);
    assert_int_equal(node_owner(begins(&second, "one")->node).epoch, 2);
    command_caller_close(&first, 0);
    command_caller_close(&second, 0);
}
