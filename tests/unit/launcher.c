// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/launcher.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/procstat.h"
#include "bezeld/launch/process_tree.h"
#include "mdr/message.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *in_folder(const char *name)
{
    static char paths[8][128];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch_dir, name);
    return path;
}

static struct message heard;
static unsigned refused;

/* Waits for a report that has `wanted`, and returns it. */
static const struct message_launched_list *await(struct launcher *l,
                                                 bool (*wanted)(const struct message_launched_list *list))
{
    for (int64_t deadline = clock_now() + PATIENCE;;) {
        struct pollfd fd = {.fd = l->fd, .events = POLLIN};
        int64_t left = deadline - clock_now();
        assert_int_equal(poll(&fd, 1, left > 0 ? (int)(left / CLOCK_MS) : 0), 1);
        assert_int_equal(launcher_receive(l, &heard), 0);
        assert_int_equal(heard.type, MESSAGE_REPLY);
        if (heard.reply.answer == ANSWER_REFUSED)
            refused++;
        else if (wanted(&heard.launched))
            return &heard.launched;
    }
}

static enum message_launched_state sought;
static const char *sought_name = "x";

static bool has_row(const struct message_launched_list *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->rows[i].state == sought && strcmp(list->rows[i].of.process, sought_name) == 0)
            return true;
    return false;
}

/* What is reported of the program, once it is in `state`. */
static struct message_launched row_in(struct launcher *l, const char *name, enum message_launched_state state)
{
    sought = state;
    sought_name = name;
    const struct message_launched_list *list = await(l, has_row);
    const struct message_launched *row = list->rows;
    while (row->state != state || strcmp(row->of.process, name) != 0)
        row++;
    return *row;
}

static bool is_empty(const struct message_launched_list *list)
{
    return list->empty;
}

/* The report that nothing is left, which may be that of the last end. */
static void await_empty(struct launcher *l)
{
    if (!heard.launched.empty)
        await(l, is_empty);
}

/* A launch without limits. */
static struct launch plain(const char *name, const char *path, char *const *argv)
{
    struct launch l = {
        .of.incarnation = 1, .path = path, .argv = argv, .output = LAUNCH_OUTPUT_INHERITED, .limits = LAUNCH_NO_LIMITS};
    snprintf(l.of.process, sizeof l.of.process, "%s", name);
    return l;
}

static bool is_gone(pid_t pid)
{
    return kill(pid, 0) != 0 && errno == ESRCH;
}

/* Waits until file `name` holds a line, and returns its number. */
static long number_in(const char *name)
{
    int64_t deadline = clock_now() + PATIENCE;
    for (; clock_now() < deadline; clock_sleep_until(clock_now() + 5 * CLOCK_MS)) {
        char *text;
        size_t n;
        if (file_read(in_folder(name), 4096, &text, &n) != 0)
            continue;
        bool whole = n > 0 && text[n - 1] == '\n';
        long number = strtol(text, NULL, 10);
        free(text);
        if (whole)
            return number;
    }
    fail_msg("%s did not appear", name);
    return 0;
}

#define TEXT(literal) ((char[]){literal})

/* Starts, two forks and a session away, a program that ignores SIGTERM and writes its pid into file $0. */
#define STUBBORN                                                                                                       \
    "(setsid sh -c 'trap \"\" TERM; echo $$ > \"$0.x\"; mv \"$0.x\" \"$0\"; while :; do sleep 1000; done' \"$0\" &); " \
    "exec sleep 1000"

/* A launcher that has started it: its pid is returned, the one of its first ancestor is in *child. */
static pid_t launch_stubborn(struct launcher *l, int64_t grace, pid_t *child)
{
    static int count;
    char file[16];
    snprintf(file, sizeof file, "stubborn%d", count++);
    char *const argv[] = {TEXT("sh"), TEXT("-c"), TEXT(STUBBORN), (char *)in_folder(file), NULL};
    struct launch launch = plain("stubborn", "/bin/sh", argv);
    launch.output = LAUNCH_OUTPUT_FILE;
    launch.file = "/dev/null";
    assert_int_equal(launcher_fork(grace, l), 0);
    assert_int_equal(launcher_start(l, &launch), 0);
    *child = (pid_t)row_in(l, "stubborn", LAUNCHED_RUNS).pid;
    pid_t hidden = (pid_t)number_in(file);
    assert_false(is_gone(hidden));
    return hidden;
}

TEST(ends_a_double_forked_child_that_ignores_sigterm)
{
    struct launcher l;
    pid_t child, hidden = launch_stubborn(&l, 100 * CLOCK_MS, &child);
    assert_int_equal(launcher_end(&l, END_TERM), 0);
    struct message_launched row = row_in(&l, "stubborn", LAUNCHED_ENDED);
    assert_int_equal(row.pid, child);
    assert_true(WIFSIGNALED(row.status));
    assert_int_equal(WTERMSIG(row.status), SIGTERM);
    assert_true(row.ended >= row.started && row.started > 0);
    await_empty(&l);
    assert_true(is_gone(hidden));
    launcher_close(&l);
}

/* Closes the socket alone, and waits until the launcher has ended, for which launcher_close() leaves it few seconds. */
static void await_end(struct launcher *l)
{
    siginfo_t info = {0};
    close(l->fd);
    l->fd = -1;
    for (int64_t deadline = clock_now() + PATIENCE; info.si_pid == 0; clock_sleep_until(clock_now() + 5 * CLOCK_MS)) {
        assert_true(clock_now() < deadline);
        assert_int_equal(waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOHANG | WNOWAIT), 0);
    }
    assert_int_equal(info.si_code, CLD_EXITED);
    assert_true(launcher_close(l));
}

TEST(ends_everything_when_its_socket_ends)
{
    struct launcher l;
    pid_t child, hidden = launch_stubborn(&l, 100 * CLOCK_MS, &child), launcher = l.pid;
    await_end(&l);
    assert_true(is_gone(child));
    assert_true(is_gone(hidden));
    assert_true(is_gone(launcher));
}

TEST(reports_an_exec_that_fails_and_starts_the_others)
{
    char *const argv[] = {TEXT("x"), NULL}, *const sh[] = {TEXT("sh"), TEXT("-c"), TEXT("exit 7"), NULL};
    struct launch launches[] = {plain("none", "/nonexistent/x", argv), plain("good", "/bin/sh", sh),
                                plain("away", "/bin/sh", sh), plain("mute", "/bin/sh", sh),
                                plain("greedy", "/bin/sh", sh)};
    launches[2].directory = "/nonexistent";
    launches[3].output = LAUNCH_OUTPUT_FILE;
    launches[3].file = "/nonexistent/output";
    launches[4].limits[RLIMIT_OF_MEMORY] = 4096; /* exec has no room */
    static const char *const stages[] = {"exec", NULL, "directory", "output"};
    struct launcher l;
    assert_int_equal(launcher_fork(CLOCK_S, &l), 0);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(launcher_start(&l, &launches[i]), 0);
        if (i == 1 || i == 4)
            continue;
        struct message_launched row = row_in(&l, launches[i].of.process, LAUNCHED_FAILED);
        assert_int_equal(row.error, ENOENT);
        assert_string_equal(row.stage, stages[i]);
        assert_int_equal(row.pid, 0);
    }
    struct message_command again = {.id = 77, .verb = VERB_QUERY, .subject = SUBJECT_PROCESSES};
    heard.type = MESSAGE_COMMAND;
    heard.command = again;
    assert_int_equal(launcher_send(&l, &heard), 0);
    struct message_launched row = row_in(&l, "good", LAUNCHED_ENDED);
    assert_true(WIFEXITED(row.status));
    assert_int_equal(WEXITSTATUS(row.status), 7);
    launcher_close(&l);
}

TEST(limits_a_program_and_counts_what_it_uses)
{
    char *const argv[] = {TEXT("sh"), TEXT("-c"), TEXT("ulimit -n -c -t; i=0; while :; do i=$((i + 1)); done"), NULL};
    struct launch launch = plain("busy", "/bin/sh", argv);
    launch.output = LAUNCH_OUTPUT_FILE;
    launch.file = in_folder("limits.txt");
    launch.limits[RLIMIT_OF_FILES] = 37;
    launch.limits[RLIMIT_OF_CORE] = 0;
    launch.limits[RLIMIT_OF_CPU] = 1;
    struct launcher l;
    assert_int_equal(launcher_fork(CLOCK_S, &l), 0);
    assert_int_equal(launcher_start(&l, &launch), 0);
    struct message_launched row = row_in(&l, "busy", LAUNCHED_ENDED);
    assert_true(WIFSIGNALED(row.status));
    assert_int_equal(WTERMSIG(row.status), SIGXCPU);
    assert_in_range(row.user_ns + row.system_ns, 500000000, 3000000000); /* the kernel looks at a tick */
    assert_in_range(row.memory, 100 << 10, 1 << 30);
    launcher_close(&l);
}

/* Also with what it has started; what ignores SIGTERM is killed. The launcher's other programs go on. */
TEST(ends_a_program_whose_time_is_over)
{
    char *const argv[] = {
        TEXT("sh"), TEXT("-c"),
        TEXT("trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > \"$0.x\"; mv \"$0.x\" \"$0\"; while :; do sleep "
             "1000; done' \"$0\""),
        (char *)in_folder("late"), NULL};
    char *const other[] = {TEXT("sh"), TEXT("-c"), TEXT("exec sleep 1000"), NULL};
    struct launch launch = plain("late", "/bin/sh", argv), more = plain("other", "/bin/sh", other);
    launch.timeout = CLOCK_S;
    struct launcher l;
    assert_int_equal(launcher_fork(100 * CLOCK_MS, &l), 0);
    assert_int_equal(launcher_start(&l, &more), 0);
    pid_t spared = (pid_t)row_in(&l, "other", LAUNCHED_RUNS).pid;
    assert_int_equal(launcher_start(&l, &launch), 0);
    struct message_launched row = row_in(&l, "late", LAUNCHED_ENDED);
    assert_true(WIFSIGNALED(row.status) && WTERMSIG(row.status) == SIGKILL);
    assert_string_equal(row.stage, MESSAGE_STAGE_TIMEOUT);
    assert_true(row.ended - row.started >= CLOCK_S);
    assert_false(is_gone(spared));
    launcher_close(&l);
}

/* A repeated START is answered with what became of the first one. */
TEST(starts_an_incarnation_once)
{
    char *const argv[] = {TEXT("sh"), TEXT("-c"), TEXT("echo $$ >> \"$0\""), (char *)in_folder("once"), NULL};
    struct launch launch = plain("x", "/bin/sh", argv);
    struct launcher l;
    assert_int_equal(launcher_fork(CLOCK_S, &l), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(launcher_start(&l, &launch), 0);
    uint32_t first = row_in(&l, "x", LAUNCHED_ENDED).pid, before = refused;
    launch.of.incarnation = 3;
    assert_int_equal(launcher_start(&l, &launch), 0);
    launch.of.incarnation = 2; /* it is overtaken */
    assert_int_equal(launcher_start(&l, &launch), 0);
    struct message_launched row;
    do
        row = row_in(&l, "x", LAUNCHED_ENDED);
    while (row.of.incarnation != 3);
    assert_int_not_equal(row.pid, first);
    assert_int_equal(refused, before + 1);
    launcher_close(&l);
    char *text, wanted[64];
    size_t n;
    snprintf(wanted, sizeof wanted, "%u\n%u\n", first, row.pid);
    assert_int_equal(file_read(in_folder("once"), 4096, &text, &n), 0);
    assert_string_equal(text, wanted);
    free(text);
}

TEST(gives_a_process_its_output_environment_and_default_signals)
{
    char script[] = "read -r line || line=nothing; echo \"$BEZEL_PROCESS $PWD $line\"; echo error >&2; "
                    "grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -s '0\\n\\t' '0  '";
    char *const argv[] = {TEXT("sh"), TEXT("-c"), script, NULL}, *const environment[] = {TEXT("BEZEL_PROCESS=client.2"),
                                                                                         NULL};
    struct launch launch = plain("client.2", "/bin/sh", argv);
    launch.environment = environment;
    launch.directory = "/";
    launch.output = LAUNCH_OUTPUT_FILE;
    launch.file = in_folder("output.txt");
    struct launcher l;
    void (*before)(int) = signal(SIGUSR1, SIG_IGN);
    assert_int_equal(launcher_fork(CLOCK_S, &l), 0);
    signal(SIGUSR1, before);
    assert_int_equal(launcher_start(&l, &launch), 0);
    (void)row_in(&l, "client.2", LAUNCHED_ENDED);
    char *text;
    size_t n;
    assert_int_equal(file_read(in_folder("output.txt"), 4096, &text, &n), 0);
    assert_string_equal(text, "client.2 / nothing\nerror\nSigBlk: 0 SigIgn: 0 ");
    free(text);
    launcher_close(&l);
}

TEST(kills_at_once_on_command)
{
    struct launcher l;
    pid_t child, hidden = launch_stubborn(&l, 1000 * CLOCK_S, &child);
    assert_int_equal(launcher_end(&l, END_TERM), 0); /* whose grace outlasts the test */
    assert_int_equal(launcher_end(&l, END_KILL), 0);
    await_empty(&l);
    assert_true(is_gone(hidden));
    launcher_close(&l);
}

TEST(leaves_an_interrupted_process_the_time_to_end_by_itself)
{
    char *const argv[] = {TEXT("sh"), TEXT("-c"),
                          TEXT("trap 'exit 9' TERM; while [ ! -e \"$0\" ]; do sleep 0.01; done"),
                          (char *)in_folder("go"), NULL};
    struct launch launch = plain("x", "/bin/sh", argv);
    launch.foreground = true;
    struct launcher l;
    assert_int_equal(launcher_fork(1000 * CLOCK_S, &l), 0);
    assert_int_equal(launcher_start(&l, &launch), 0);
    (void)row_in(&l, "x", LAUNCHED_RUNS);
    assert_int_equal(launcher_end(&l, END_INTERRUPTED), 0);
    assert_int_equal(file_replace(in_folder("go"), "", 0), 0);
    assert_int_equal(row_in(&l, "x", LAUNCHED_ENDED).status, 0);
    await_empty(&l);
    launcher_close(&l);
}

TEST(its_own_death_is_seen)
{
    struct launcher l;
    assert_int_equal(launcher_fork(CLOCK_S, &l), 0);
    int first = launcher_receive(&l, &heard); /* it may tell that it has started nothing */
    assert_true(first == 0 || first == BEZEL_EAGAIN);
    kill(l.pid, SIGKILL);
    struct pollfd fd = {.fd = l.fd, .events = POLLIN};
    int err = BEZEL_EAGAIN;
    while ((err == 0 || err == BEZEL_EAGAIN) && poll(&fd, 1, PATIENCE / CLOCK_MS) == 1) /* it may have told more */
        err = launcher_receive(&l, &heard);
    assert_int_equal(err, BEZEL_EUNREACH);
    assert_int_equal(launcher_end(&l, END_TERM), BEZEL_EUNREACH);
    launcher_close(&l);
    launcher_close(&l);
}

static void assert_stopped(pid_t pid)
{
    int status;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
}

/* What it finds in its socket when it goes on is of an asker that is gone: nobody would observe the program. */
TEST(what_is_asked_by_one_who_has_hung_up_is_not_started)
{
    struct launcher l;
    char *argv[] = {(char[]){"touch"}, strdup(in_folder("unobserved")), NULL};
    struct launch launch = {.of = {"x", 1}, .path = "/bin/touch", .argv = argv, .limits = LAUNCH_NO_LIMITS};
    for (int killed = 0; killed < 2; killed++) {
        assert_int_equal(launcher_fork(100 * CLOCK_MS, &l), 0);
        assert_stopped(l.pid);
        assert_int_equal(launcher_start(&l, &launch), 0);
        if (killed)
            launcher_kill(&l);
        else
            assert_true(launcher_close(&l)); /* it goes on, ends in order, and has started nothing */
        assert_int_equal(l.fd, -1);
        assert_int_equal(l.pid, 0);
        assert_int_equal(access(argv[1], F_OK), -1);
    }
    launcher_kill(&l); /* there is none any more */
    free(argv[1]);
}

/* A child of ours with a child of its own, which lets go of pipe `ends` when both are gone. */
static pid_t start_family(int ends[2])
{
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0) {
        close(ends[1]);
        return pid;
    }
    (void)!fork();
    for (;;)
        pause();
}

static pid_t reborn; /* the next look at it is the last one before another process has its number; 0: no process */

bool __real_procstat_read(pid_t pid, struct procstat *p);
bool __wrap_procstat_read(pid_t pid, struct procstat *p);

bool __wrap_procstat_read(pid_t pid, struct procstat *p)
{
    static pid_t seen;
    bool is = __real_procstat_read(pid, p);
    if (pid == reborn && pid == seen)
        p->start_time++;
    seen = pid == reborn ? pid : seen;
    return is;
}

TEST(who_has_the_number_of_a_descendant_by_now_gets_no_signal)
{
    pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    reborn = pid;
    size_t signalled = process_tree_terminate();
    reborn = 0;
    assert_int_equal(signalled, 0);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    assert_int_equal(process_tree_terminate(), 1);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Daemons of the run are children of the same process: they live on, and so do their own. */
TEST(who_is_spared_lives_on_with_its_children_when_the_rest_is_ended)
{
    struct launcher l;
    int ends[2];
    pid_t child, hidden = launch_stubborn(&l, CLOCK_S, &child), spared = start_family(ends);
    kill(l.pid, SIGKILL);
    struct pollfd fd = {.fd = l.fd, .events = POLLIN}, family = {.fd = ends[0], .events = POLLIN};
    assert_int_equal(poll(&fd, 1, PATIENCE / CLOCK_MS), 1);
    launcher_close(&l);
    assert_true(launcher_finish(&spared, 1));
    while (waitpid(hidden, NULL, 0) < 0 && errno == EINTR)
        continue;
    assert_true(is_gone(hidden));
    assert_int_equal(waitpid(spared, NULL, WNOHANG), 0);
    assert_int_equal(poll(&family, 1, 0), 0);
    assert_true(launcher_finish(NULL, 0));
    assert_int_equal(poll(&family, 1, PATIENCE / CLOCK_MS), 1); /* both are gone */
    assert_int_equal(waitpid(spared, NULL, 0), spared);
    close(ends[0]);
}

/*
 * Its answers find nobody any more; what was sent before is carried out all the same. With `unread`, an answer had come
 * that the bezeld did not read: then the kernel tells of a reset before it gives what was sent.
 */
static void end_session_without_waiting(bool unread)
{
    int ends[2], folder = open(scratch_dir, O_RDONLY | O_DIRECTORY);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    struct launcher l = {.fd = ends[0]};
    static struct message m;
    m.type = MESSAGE_COMMAND;
    for (uint32_t i = 1; i <= 4; i++) {
        m.command = (struct message_command){.id = i, .verb = VERB_QUERY, .subject = SUBJECT_PROCESSES};
        m.command.verb = i == 4 ? VERB_SHUTDOWN : VERB_QUERY;
        assert_int_equal(launcher_send(&l, &m), 0);
    }
    if (unread)
        assert_int_equal(send(ends[1], "answer", 6, 0), 6);
    close(ends[0]);
    pid_t pid = fork();
    if (pid == 0)
        _exit(launcher_serve(&(struct launcher_serving){
                  .grace = CLOCK_S, .connection = ends[1], .listening = -1, .folder = folder, .output_bytes = 1 << 20})
                  ? 0
                  : 1);
    close(ends[1]);
    close(folder);
    int status = -1;
    for (int64_t deadline = clock_now() + LAUNCHER_SILENCE / 2;
         waitpid(pid, &status, WNOHANG) == 0 && clock_now() < deadline;)
        clock_sleep_until(clock_now() + CLOCK_MS);
    kill(pid, SIGKILL);
    assert_int_equal(status, 0);
}

TEST(a_session_is_over_though_its_bezeld_did_not_wait_for_answers)
{
    end_session_without_waiting(false);
}

TEST(a_session_is_over_though_its_bezeld_left_an_answer_unread)
{
    end_session_without_waiting(true);
}

int main(void)
{
    return test_run(scratch_begin, scratch_end);
}
