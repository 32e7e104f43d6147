// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * The control endpoint of a bezeld: what it refuses, and why; what it answers twice the same; and that nothing of what
 * is said to it wrongly harms the session that it serves.
 */
#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "mdr/command/command_server.h"
#include "mdr/link/keyring.h"
#include "tests/lib/begin.h"
#include "tests/lib/key_pair.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char file[] = "experiment: asked\ncommand: [unused]\nsensing: {window: 1 MiB}\n";

static struct scene {
    char dir[SCRATCH_PATH]; /* stand/ and folders of nodes */
    char collector[128];    /* endpoint of that of the sessions that are asked for */
    pid_t bezeld;
    struct command_caller caller;
    struct message message;
    struct message_reply told; /* what came while another reply was waited for */
} s;

/* ---- The bezeld -------------------------------------------------------------------------------------------------- */

static int without; /* a system call that a bezeld does not get: as where descriptors are used up; 0: it gets all */

static int parent_pipe = -1; /* read end of the pipe that a bezeld gets; -1: none */

static void do_without(int call)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EMFILE),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        _exit(77);
}

static void become_bezeld(const char *stand, int ready)
{
    char ready_text[12], log[96], control[128];
    snprintf(control, sizeof control, "ipc://%s/control", stand);
    snprintf(ready_text, sizeof ready_text, "%d", ready);
    snprintf(log, sizeof log, "%s/log", s.dir);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(open(log, O_WRONLY | O_CREAT | O_APPEND, 0666), 2);
    if (without)
        do_without(without);
    if (parent_pipe >= 0) {
        char pipe_text[12];
        snprintf(pipe_text, sizeof pipe_text, "%d", parent_pipe);
        execl(BEZELD, "bezeld", "--control", control, "--ready", ready_text, "--parent-pipe", pipe_text, (char *)NULL);
    }
    execl(BEZELD, "bezeld", "--control", control, "--ready", ready_text, (char *)NULL);
    _exit(127);
}

/* Starts one in `stand`: its pid, once it says that it is ready, or has ended without that. */
static pid_t start_bezeld(const char *stand)
{
    int ready[2];
    assert_int_equal(pipe2(ready, 0), 0);
    fcntl(ready[0], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        become_bezeld(stand, ready[1]);
    close(ready[1]);
    assert_int_equal(poll(&(struct pollfd){.fd = ready[0], .events = POLLIN}, 1, (int)(PATIENCE / CLOCK_MS)), 1);
    close(ready[0]);
    return pid;
}

static int exit_code(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Connects to the bezeld, and has it introduce itself. */
static int call(const char *endpoint)
{
    static const uint8_t no_run[16];
    int err = command_caller_open(&s.caller, endpoint, (struct command_caller_access){0}, no_run, "");
    s.message.command = (struct message_command){.verb = VERB_QUERY};
    return err || !begin_command(&s.caller, &s.message, PATIENCE);
}

static int setup(void **state)
{
    char stand[96], endpoint[128];
    (void)state;
    scratch_make(s.dir);
    snprintf(s.collector, sizeof s.collector, "ipc://%s/nobody", s.dir);
    snprintf(stand, sizeof stand, "%s/stand", s.dir);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/control", stand);
    s.bezeld = start_bezeld(stand);
    return call(endpoint);
}

static int teardown(void **state)
{
    (void)state;
    command_caller_close(&s.caller, 0);
    return file_remove_tree(s.dir);
}

/* ---- Asking ------------------------------------------------------------------------------------------------------ */

/* The reply to command `id`. */
static const struct message_reply *reply(int id)
{
    int64_t deadline = clock_now() + PATIENCE;
    while (clock_now() < deadline) {
        int err = command_caller_receive(&s.caller, &s.message);
        if (err == BEZEL_EAGAIN) {
            link_wait(&s.caller.link, 1, NULL, 0, CLOCK_S);
            continue;
        }
        assert_int_equal(err, 0);
        assert_int_equal(s.message.type, MESSAGE_REPLY);
        if (s.message.reply.id == (uint32_t)id)
            return &s.message.reply;
        s.told = s.message.reply;
    }
    fail_msg("no reply");
    return NULL;
}

/* Whether command `id` was the last that was answered while another answer was waited for. */
static bool was_told(int id)
{
    return s.told.id == (uint32_t)id;
}

/* Sends a command to the bezeld as a whole. */
static const struct message_reply *command(struct message_command c)
{
    s.caller.node[0] = '\0';
    s.message.command = c;
    int id = command_caller_send(&s.caller, &s.message);
    assert_true(id > 0);
    return reply(id);
}

/* Asks for the session of run `run`; returns the number of the command. */
static int ask(uint8_t run, const char *node, const char *folder, const char *experiment)
{
    struct message_configure *c = &s.message.configure;
    s.message.command = (struct message_command){.verb = VERB_CONFIGURE};
    memset(c, 0, sizeof *c);
    s.caller.run[0] = run;
    snprintf(s.caller.node, sizeof s.caller.node, "%s", node);
    snprintf(c->folder, sizeof c->folder, "%s/%s", s.dir, folder);
    snprintf(c->collector, sizeof c->collector, "%s", s.collector);
    snprintf(c->experiment, sizeof c->experiment, "%s", experiment);
    int id = command_caller_send(&s.caller, &s.message);
    assert_true(id > 0);
    return id;
}

static void assert_refused(int id, const char *why)
{
    const struct message_reply *r = reply(id);
    assert_int_equal(r->answer, ANSWER_REFUSED);
    if (!strstr(r->text, why))
        fail_msg("refused because of: %s", r->text);
}

static int64_t sessions(void)
{
    const struct message_reply *r = command((struct message_command){.verb = VERB_QUERY});
    assert_int_equal(r->answer, ANSWER_BEZELD);
    return r->sessions;
}

/* ---- The tests --------------------------------------------------------------------------------------------------- */

static void what_cannot_be_served_is_refused_with_the_reason(void **state)
{
    (void)state;
    assert_refused(ask(1, "local", "a", "experiment: asked\ncommand: [unused]\nsensing: {perod: 1 ms}\n"),
                   "experiment:3:11: sensing.perod: is not a key");
    assert_refused(ask(1, "elsewhere", "a", file), "no node elsewhere");
    assert_refused(ask(1, "local", "log/below-a-file", file), "log/below-a-file");
    assert_refused(ask(1, "local", "a", ""), "experiment:1:1");
    assert_refused(ask(1, "local", "a", "/nowhere/experiment.yaml"),
                   "cannot read /nowhere/experiment.yaml: No such file");
    assert_int_equal(command((struct message_command){.verb = VERB_SNAPSHOT})->answer, ANSWER_REFUSED);
    struct message_command aspects = {.verb = VERB_SET, .subject = SUBJECT_ASPECTS, .patterns = "*"};
    assert_int_equal(command(aspects)->answer, ANSWER_REFUSED);
    assert_int_equal(sessions(), 0);
}

static void what_is_no_command_is_not_answered(void **state)
{
    (void)state;
    uint8_t bytes[64];
    s.message = (struct message){.type = MESSAGE_BYE};
    int n = message_encode(&s.message, bytes, sizeof bytes);
    assert_int_equal(link_send(s.caller.link, NULL, "nonsense", 8), 0);
    assert_int_equal(link_send(s.caller.link, NULL, "", 0), 0);
    assert_int_equal(link_send(s.caller.link, NULL, bytes, (size_t)n), 0);
    assert_int_equal(sessions(), 0); /* the first answer is to what came after */
}

static void another_version_is_refused_with_a_sentence(void **state)
{
    uint8_t bytes[128];
    (void)state;
    s.message = (struct message){.type = MESSAGE_COMMAND, .command = {.id = 1000, .verb = VERB_QUERY}};
    int n = message_encode(&s.message, bytes, sizeof bytes);
    assert_true(n > 0);
    bytes_put_u32(bytes + 4, MESSAGE_VERSION + 1);
    assert_int_equal(link_send(s.caller.link, NULL, bytes, (size_t)n), 0);
    assert_true(link_wait(&s.caller.link, 1, NULL, 0, PATIENCE) > 0);
    assert_int_equal(command_caller_receive(&s.caller, &s.message), 0);
    assert_int_equal(s.message.type, MESSAGE_REFUSE);
    assert_non_null(strstr(s.message.refuse.reason, "version 3 were sent to a part of Bezel that reads version 2: "));
}

/* ---- Commands that come late, twice, or to another --------------------------------------------------------------- */

/* Sends s.message.command as it is, with an envelope of its own. */
static int forge(uint32_t id, uint64_t life, uint64_t deadline, enum message_verb verb)
{
    uint8_t bytes[128];
    s.message.type = MESSAGE_COMMAND;
    s.message.envelope = (struct message_envelope){.source = {0xf0}, .life = life};
    s.message.command = (struct message_command){.id = id, .deadline = deadline, .verb = verb};
    int n = message_encode(&s.message, bytes, sizeof bytes);
    assert_int_equal(link_send(s.caller.link, NULL, bytes, (size_t)n), 0);
    return (int)id;
}

static void assert_stale(int id, const char *why)
{
    const struct message_reply *r = reply(id);
    assert_int_equal(r->answer, ANSWER_STALE);
    if (!strstr(r->text, why))
        fail_msg("refused because of: %s", r->text);
}

static void a_command_of_another_life_after_its_deadline_or_older_than_the_last_is_not_carried_out(void **state)
{
    (void)state;
    uint64_t life = s.caller.life, soon = (uint64_t)(clock_now() + s.caller.ahead + PATIENCE);
    assert_stale(forge(2000, life ^ 1, soon, VERB_SHUTDOWN), "an earlier life");
    assert_stale(forge(2001, 0, soon, VERB_SHUTDOWN), "an earlier life");
    assert_stale(forge(2002, life, (uint64_t)clock_now() - 1, VERB_SHUTDOWN), "too late");
    assert_stale(forge(2003, life, 0, VERB_SHUTDOWN), "too late");
    assert_int_equal(reply(forge(2010, life, soon, VERB_STOP))->answer, ANSWER_BEZELD);
    assert_stale(forge(2009, life, soon, VERB_SHUTDOWN), "older than one");
    assert_int_equal(reply(forge(2010, life, soon, VERB_STOP))->answer, ANSWER_BEZELD); /* the same answer again, ... */
    assert_int_equal(reply(forge(2010, life, soon, VERB_SHUTDOWN))->answer, ANSWER_BEZELD); /* ... and nothing more */
    assert_int_equal(waitpid(s.bezeld, NULL, WNOHANG), 0);
    assert_int_equal(sessions(), 0);
}

/* The answers of more sources than it keeps: a new one takes the place of the oldest. */
static void many_sources_are_answered(void **state)
{
    (void)state;
    uint8_t bytes[128];
    for (int i = 0; i < 3 * COMMAND_SERVER_SOURCES; i++) {
        s.message.type = MESSAGE_COMMAND;
        s.message.envelope = (struct message_envelope){.source = {0xf1, (uint8_t)i}, .life = s.caller.life};
        s.message.command = (struct message_command){
            .id = 3000, .deadline = (uint64_t)(clock_now() + s.caller.ahead + PATIENCE), .verb = VERB_STOP};
        int n = message_encode(&s.message, bytes, sizeof bytes);
        int err;
        int64_t deadline = clock_now() + PATIENCE; /* what was sent before may still be in the queue */
        while ((err = link_send(s.caller.link, NULL, bytes, (size_t)n)) == BEZEL_EAGAIN && clock_now() < deadline)
            poll(NULL, 0, 1);
        assert_int_equal(err, 0);
        assert_int_equal(reply(3000)->answer, ANSWER_BEZELD);
    }
}

static void a_session_that_is_not_there_is_told(void **state)
{
    (void)state;
    snprintf(s.caller.node, sizeof s.caller.node, "local");
    s.message.command = (struct message_command){.verb = VERB_PAUSE};
    const struct message_reply *r = reply(command_caller_send(&s.caller, &s.message));
    assert_int_equal(r->answer, ANSWER_ABSENT);
    assert_string_equal(r->text, "this bezeld has no such session");
}

/* ---- Sessions ---------------------------------------------------------------------------------------------------- */

static void a_session_is_one_however_often_it_is_asked_for_and_its_folder_is_its_own(void **state)
{
    (void)state;
    ask(1, "local", "a", file);
    ask(1, "local", "a", file);
    assert_int_equal(sessions(), 1); /* without an answer: its collector is not there */
    assert_refused(ask(2, "local", "a", file), "wait for its run to end");
    ask(2, "local", "b", file);
    assert_int_equal(sessions(), 2);
}

static void a_session_that_nobody_asks_for_any_more_ends_before_the_patience_does(void **state)
{
    int64_t deadline = clock_now() + 25 * CLOCK_S; /* of 30 s that it bears not to hear of one that serves */
    (void)state;
    while (sessions() != 0) { /* those of the test before; their collector never came */
        assert_true(clock_now() < deadline);
        poll(NULL, 0, 100);
    }
    ask(1, "local", "a", file); /* they can be begun anew */
    ask(2, "local", "b", file);
    assert_int_equal(sessions(), 2);
}

/* Its collector has keys, and it has none: as long as that is so it is told, and the session waits. */
static void what_keeps_a_session_from_its_collector_is_told(void **state)
{
    struct link_keys keys = {.known = NULL};
    struct link *keyed;
    char folder[96];
    int64_t deadline = clock_now() + PATIENCE;
    (void)state;
    if (!link_has_keys())
        skip();
    snprintf(folder, sizeof folder, "%s/keys", s.dir);
    assert_int_equal(mkdir(folder, 0700), 0);
    keys.own = key_pair_new(folder, "collector", KEY_OBSERVE);
    assert_int_equal(keyring_open(folder, &keys.known), 0);
    assert_int_equal(link_bind("tcp://127.0.0.1:*", MESSAGE_MAX_BYTES, &keys, &keyed), 0);
    snprintf(s.collector, sizeof s.collector, "%s", link_endpoint(keyed));
    for (int asked = 0; asked == 0 || (sessions() > 0 && !was_told(asked));) {
        assert_true(clock_now() < deadline);
        poll(NULL, 0, 50);
        asked = ask(3, "local", "c", file);
    }
    assert_int_equal(s.told.answer, ANSWER_WAITING);
    assert_non_null(strstr(s.told.text, "if it has keys, they are needed here too"));
    assert_memory_equal(s.told.text, s.collector, strlen(s.collector));
    assert_int_equal(sessions(), 3);
    link_close(keyed, 0);
    keyring_free(keys.known);
}

static void another_one_in_the_same_folder_is_refused_and_one_that_others_may_enter(void **state)
{
    char stand[96];
    (void)state;
    snprintf(stand, sizeof stand, "%s/stand", s.dir);
    assert_int_equal(exit_code(start_bezeld(stand)), 1);
    snprintf(stand, sizeof stand, "%s/open", s.dir);
    assert_int_equal(mkdir(stand, 0700), 0);
    assert_int_equal(chmod(stand, 0750), 0);
    assert_int_equal(exit_code(start_bezeld(stand)), 1);
    assert_int_equal(sessions(), 2);
}

static void told_to_stop_it_ends_though_a_collector_never_came(void **state)
{
    (void)state;
    command((struct message_command){.verb = VERB_SHUTDOWN});
    assert_int_equal(exit_code(s.bezeld), 0);
}

/* Its `bezel run` may be stopped, and asks again when it goes on: the pipe alone tells that it is gone. */
static void the_session_of_one_that_bezel_run_started_stays_until_the_pipe_ends(void **state)
{
    char stand[96], endpoint[128];
    struct command_caller caller = s.caller;
    int ends[2];
    (void)state;
    snprintf(stand, sizeof stand, "%s/child", s.dir);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/control", stand);
    assert_int_equal(pipe2(ends, 0), 0);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    parent_pipe = ends[0];
    pid_t pid = start_bezeld(stand);
    parent_pipe = -1;
    close(ends[0]);
    assert_int_equal(call(endpoint), 0);
    ask(1, "local", "d", file);
    assert_int_equal(sessions(), 1);
    clock_sleep_until(clock_now() + 6 * CLOCK_S); /* a session that others may ask for ends after 5 s */
    assert_int_equal(sessions(), 1);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    close(ends[1]);
    assert_int_equal(exit_code(pid), 0);
    command_caller_close(&s.caller, 0);
    s.caller = caller;
}

/* ZeroMQ keeps what is sent to a bezeld that is away, and passes it to the next one. */
static void what_was_meant_for_a_killed_one_is_not_carried_out_by_the_next(void **state)
{
    char stand[96], endpoint[128];
    struct command_caller caller = s.caller;
    (void)state;
    snprintf(stand, sizeof stand, "%s/again", s.dir);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/control", stand);
    pid_t pid = start_bezeld(stand);
    assert_int_equal(call(endpoint), 0);
    uint64_t life = s.caller.life;
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    s.message.command = (struct message_command){.verb = VERB_SHUTDOWN};
    int id = command_caller_send(&s.caller, &s.message);
    assert_true(id > 0);
    pid = start_bezeld(stand);
    assert_stale(id, "an earlier life");
    assert_true(s.caller.life != life); /* which the answer told */
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    assert_int_equal(sessions(), 0);
    command((struct message_command){.verb = VERB_SHUTDOWN});
    assert_int_equal(exit_code(pid), 0);
    command_caller_close(&s.caller, 0);
    s.caller = caller;
}

/* One that runs all the same could be ended by SIGKILL alone. */
static void one_that_cannot_listen_for_signals_does_not_start(void **state)
{
    (void)state;
    char stand[96], path[96], *log;
    size_t n;
    int status = 0;
    snprintf(stand, sizeof stand, "%s/deaf", s.dir);
    snprintf(path, sizeof path, "%s/log", s.dir);
    without = SYS_signalfd4;
    pid_t pid = start_bezeld(stand), got = 0;
    without = 0;
    for (int64_t deadline = clock_now() + PATIENCE; got == 0 && clock_now() < deadline;) {
        got = waitpid(pid, &status, WNOHANG);
        clock_sleep_until(clock_now() + CLOCK_MS);
    }
    if (got == 0)
        kill(pid, SIGKILL);
    assert_int_equal(got, pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE);
    assert_int_equal(file_read(path, 1 << 20, &log, &n), 0);
    assert_non_null(strstr(log, "BEZEL-START: cannot receive SIGTERM: Too many open files"));
    free(log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_cannot_be_served_is_refused_with_the_reason),
        cmocka_unit_test(what_is_no_command_is_not_answered),
        cmocka_unit_test(another_version_is_refused_with_a_sentence),
        cmocka_unit_test(a_command_of_another_life_after_its_deadline_or_older_than_the_last_is_not_carried_out),
        cmocka_unit_test(many_sources_are_answered),
        cmocka_unit_test(a_session_that_is_not_there_is_told),
        cmocka_unit_test(a_session_is_one_however_often_it_is_asked_for_and_its_folder_is_its_own),
        cmocka_unit_test(another_one_in_the_same_folder_is_refused_and_one_that_others_may_enter),
        cmocka_unit_test(a_session_that_nobody_asks_for_any_more_ends_before_the_patience_does),
        cmocka_unit_test(what_keeps_a_session_from_its_collector_is_told),
        cmocka_unit_test(the_session_of_one_that_bezel_run_started_stays_until_the_pipe_ends),
        cmocka_unit_test(what_was_meant_for_a_killed_one_is_not_carried_out_by_the_next),
        cmocka_unit_test(one_that_cannot_listen_for_signals_does_not_start),
        cmocka_unit_test(told_to_stop_it_ends_though_a_collector_never_came),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
