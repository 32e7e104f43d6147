// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * A run comes home from its server, beside what `bezel run` wrote here: complete, or it stays where it is; what is
 * damaged here is copied again, and what is damaged there is kept there. The launcher and bezeld there are played.
 */
#include "ecs/course/fetch.h"

#include "base/file.h"
#include "bezeld/launch/launch_collector.h"
#include "ecs/course/rundir.h"
#include "mdr/command/command_server.h"
#include "mdr/message.h"
#include "run/history/summary.h"
#include "run/rundb/rundb.h"
#include "run/store/mirror_state.h"
#include "run/store/trace_reader.h"
#include "run/verify/verify.h"
#include "tests/lib/scratch.h"
#include "tests/lib/serve_process.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint8_t id[16] = {0xb0, 0xe1, [15] = 0xef};
static const char id_text[] = "b0e10000-0000-0000-0000-0000000000ef";
static const char text[] = "experiment: away\n"
                           "nodes: {here: {}, store: {address: 'tcp://store.example:7767', key: box}}\n"
                           "processes: [{name: nav, node: here, command: nav}, {name: log, node: store, attach: log}]\n"
                           "store: {keys: keys}\n"
                           "collector: {node: store}\n";

/* ---- the machine of the collector -------------------------------------------------------------------------------- */

enum { SERVER, COLLECTOR, DISCARD, PROGRAMS };
static const char *const names[PROGRAMS] = {LAUNCH_COLLECTOR_SERVER, LAUNCH_COLLECTOR, LAUNCH_COLLECTOR_DISCARD};

static char home[SCRATCH_PATH], away[SCRATCH_PATH], sockets[SCRATCH_PATH], endpoint[SCRATCH_PATH + 16];
static struct fake_sensor *sensor;
static struct stored_run stored;
static struct serve_process server;
static struct command_server *bezeld, *collector; /* NULL: it does not run */
static pthread_t thread;
static atomic_bool over;
static atomic_uint started[PROGRAMS];
static struct {
    unsigned incarnation; /* that the launcher knows */
    bool ended;
} launched[PROGRAMS];

/* Ends the run there as a collector does. */
static void finish_there(void)
{
    stored = (struct stored_run){.sensor = NULL};
    if (stored_start(&stored, away, sensor, STORE_SYNC_NEVER) != 0)
        abort();
    stored_end(&stored);
    if (stored_stop(&stored) != 0)
        abort();
}

static void start_program(int which, uint32_t incarnation)
{
    atomic_fetch_add(&started[which], 1);
    launched[which].incarnation = incarnation;
    launched[which].ended = which == DISCARD;
    if (which == SERVER && !serve_process_start(&server, away, endpoint, NULL))
        abort();
    if (which == COLLECTOR && command_server_open(endpoint, NULL, &collector) != 0)
        abort();
    if (which == DISCARD && file_remove_tree(away) != 0)
        abort();
}

static void end_server(void)
{
    if (server.pid)
        (void)serve_process_end(&server, SIGTERM);
    server.pid = 0;
}

static void list_programs(struct message_launched_list *list)
{
    for (int i = 0; i < PROGRAMS; i++) {
        if (launched[i].incarnation == 0)
            continue;
        struct message_launched *row = &list->rows[list->count++];
        *row = (struct message_launched){.of.incarnation = launched[i].incarnation,
                                         .pid = 4711,
                                         .state = launched[i].ended ? LAUNCHED_ENDED : LAUNCHED_RUNS};
        snprintf(row->of.process, sizeof row->of.process, "%s", names[i]);
    }
}

static void forget(void)
{
    end_server();
    memset(launched, 0, sizeof launched);
}

static void answer(const struct command_request *to)
{
    struct message *m = command_server_message(bezeld);
    const struct message_command c = m->command;
    struct message_reply reply = {.state = DAEMON_ACTIVE, .answer = ANSWER_BEZELD};
    if (c.verb == VERB_CONFIGURE)
        reply.answer = ANSWER_SESSION;
    if (c.verb == VERB_DISCARD)
        forget();
    for (int i = 0; c.verb == VERB_START && i < PROGRAMS; i++)
        if (strcmp(c.start.process, names[i]) == 0 && c.start.incarnation > launched[i].incarnation)
            start_program(i, c.start.incarnation);
    if (c.verb == VERB_START || (c.verb == VERB_QUERY && c.subject == SUBJECT_PROCESSES)) {
        reply.answer = ANSWER_PROCESSES;
        m->launched = (struct message_launched_list){.count = 0};
        list_programs(&m->launched);
    }
    command_server_reply(bezeld, to, NULL, &reply);
}

/* A collector that finishes what there is, once it is told to end. */
static void answer_as_collector(const struct command_request *to)
{
    bool ends = command_server_message(collector)->command.verb == VERB_SHUTDOWN;
    command_server_reply(collector, to, NULL,
                         &(struct message_reply){.state = DAEMON_ACTIVE, .answer = ANSWER_COLLECTOR});
    if (!ends)
        return;
    finish_there();
    command_server_close(collector, 100);
    collector = NULL;
    launched[COLLECTOR].ended = true;
}

static void *serve(void *unused)
{
    struct command_request from;
    while (!atomic_load(&over)) {
        struct link *links[] = {command_server_link(bezeld), collector ? command_server_link(collector) : NULL};
        (void)link_wait(links, 2, NULL, 0, 20 * CLOCK_MS);
        for (int budget = 64; command_server_receive(bezeld, &budget, &from);)
            answer(&from);
        for (int budget = 64; collector && command_server_receive(collector, &budget, &from);)
            answer_as_collector(&from);
    }
    return unused;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static struct experiment *experiment;
static struct fetch_result result;

static void write_file(const char *dir, const char *name, const char *content)
{
    char path[SCRATCH_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(file_replace(path, content, strlen(content)), 0);
}

static void make_home(void)
{
    struct message_launched row = {.of = {.process = "nav", .incarnation = 1}, .pid = 17, .state = LAUNCHED_ENDED};
    struct rundb *f;
    assert_int_equal(rundb_open(home, &f), 0);
    assert_int_equal(rundb_put(f, "run", id_text), 0);
    assert_int_equal(rundb_put(f, "name", "survey"), 0);
    assert_int_equal(rundb_event(f, 11, true, "the line was cut"), 0);
    assert_int_equal(rundb_program(f, "here", &row, 5), 0);
    assert_int_equal(rundb_silent(f, "here", "client", 101, "recorded nothing"), 0); /* it has */
    assert_int_equal(rundb_silent(f, "store", "log", 0, "was not observed"), 0);
    assert_int_equal(rundb_close(f), 0);
    write_file(home, "experiment.yaml", text);
    assert_int_equal(rundir_note_away(home, "it lies on node store"), 0);
}

static void make_away(void)
{
    struct rundb *f;
    sensor = fake_new("store", id, 1);
    fake_add_process(sensor, "client", 101, ROLE_SUT);
    fake_add_process(sensor, "monitor", 102, ROLE_DAEMON);
    assert_int_equal(rundb_open(away, &f), 0);
    assert_int_equal(rundb_put(f, "run", id_text), 0);
    assert_int_equal(rundb_close(f), 0);
    stored = (struct stored_run){.sensor = NULL};
    assert_int_equal(stored_start(&stored, away, sensor, STORE_SYNC_NEVER), 0);
    for (unsigned i = 0; i < 90; i++)
        fake_cut(sensor, i % 3 / 2, i % 3 % 2, 40);
    assert_int_equal(stored_grow(&stored), 0);
}

static void end_there(void)
{
    stored_end(&stored);
    assert_int_equal(stored_stop(&stored), 0);
}

static int begin(void **state)
{
    struct experiment_diagnostics found;
    char control[SCRATCH_PATH + 16];
    (void)state;
    scratch_make(home);
    scratch_make(away);
    scratch_make(sockets);
    atomic_store(&over, false);
    for (int i = 0; i < PROGRAMS; i++)
        atomic_store(&started[i], 0);
    make_home();
    make_away();
    snprintf(control, sizeof control, "ipc://%s/bezeld", sockets);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/run", sockets);
    assert_int_equal(command_server_open(control, NULL, &bezeld), 0);
    assert_int_equal(experiment_read(text, strlen(text), &experiment, &found), 0);
    experiment_diagnostics_free(&found);
    free(experiment->nodes[1].address);
    experiment->nodes[1].address = strdup(control);
    return pthread_create(&thread, NULL, serve, NULL);
}

static int end(void **state)
{
    (void)state;
    atomic_store(&over, true);
    pthread_join(thread, NULL);
    forget();
    command_server_close(bezeld, 0);
    experiment_free(experiment);
    fake_free(sensor);
    scratch_remove(home);
    scratch_remove(away);
    scratch_remove(sockets);
    return 0;
}

/* With nodes of this machine, no keys are needed. */
static int fetch(void)
{
    struct remote_collector place;
    assert_int_equal(remote_collector_init(&place, experiment, EXPERIMENT_ROOT, id, "keys", ""), 0);
    snprintf(place.control, sizeof place.control, "%s", endpoint);
    place.proxies[0] = '\0';
    int err = fetch_run(&(struct fetch_options){.run = home, .place = &place}, &result);
    remote_collector_free(&place);
    return err;
}

/* ---- what is here ------------------------------------------------------------------------------------------------ */

static bool has(const char *dir, const char *name)
{
    char path[SCRATCH_PATH + 64];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void ignore(const struct verify_report *finding, void *context)
{
    (void)context;
    print_message("%s: %s: %s\n", finding->code, finding->file, finding->text);
}

static enum verify_is verify(void)
{
    struct verify v = {.report = ignore};
    assert_int_equal(verify_run(&v, home), 0);
    return verify_is(&v);
}

static void assert_property(const char *key, const char *wanted)
{
    char value[64];
    struct rundb *f;
    assert_int_equal(rundb_open(home, &f), 0);
    assert_int_equal(rundb_get(f, key, value, sizeof value), 0);
    assert_string_equal(value, wanted);
    assert_int_equal(rundb_close(f), 0);
}

/* Whether the home has what `bezel run` wrote, and nothing of it was replaced. */
static void assert_own(void)
{
    char path[SCRATCH_PATH + 64], *bytes;
    size_t n;
    snprintf(path, sizeof path, "%s/experiment.yaml", home);
    assert_int_equal(file_read(path, 1 << 20, &bytes, &n), 0);
    assert_string_equal(bytes, text);
    free(bytes);
    assert_property("name", "survey");
    assert_property("run", id_text);
}

static void assert_home(bool all)
{
    assert_true(result.home);
    assert_false(has(home, "away"));
    assert_int_equal(has(home, "mirror"), !all);
    assert_int_equal(has(away, "run.db"), !all);
    assert_int_equal(atomic_load(&started[DISCARD]), all);
    assert_own();
}

static void assert_away(void)
{
    assert_false(result.home);
    assert_true(has(home, "away"));
    assert_true(has(away, "run.db"));
    assert_int_equal(atomic_load(&started[DISCARD]), 0);
    assert_own();
}

static void write_at(const char *dir, const char *stream, off_t at, const char *bytes)
{
    char path[SCRATCH_PATH + 64];
    snprintf(path, sizeof path, "%s/trace/store/%s", dir, stream);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, bytes, strlen(bytes), at), strlen(bytes));
    close(fd);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, a_run_that_is_over_comes_home_and_its_copy_is_removed)
{
    end_there();
    uint64_t bytes = trace_reader_trace_bytes(away);
    assert_true(bytes > 0);
    assert_int_equal(fetch(), 0);
    assert_home(true);
    assert_int_equal(trace_reader_trace_bytes(home), bytes);
    assert_int_equal(verify(), VERIFY_COMPLETE);
    assert_int_equal(atomic_load(&started[COLLECTOR]), 0);
}

/* A note about a process that has recorded goes; that about another one gets its node. */
TEST_WITH(begin, end, what_bezel_run_wrote_is_joined)
{
    struct summary *s;
    struct rundb *f;
    end_there();
    assert_int_equal(fetch(), 0);
    assert_int_equal(summary_load(home, &s), 0);
    assert_string_equal(summary_property(s, "name"), "survey");
    assert_string_equal(summary_property(s, "run"), id_text);
    assert_int_equal(s->event_count, 1);
    assert_string_equal(s->events[0].text, "the line was cut");
    assert_int_equal(s->program_count, 1);
    assert_int_equal(s->note_count, 1);
    assert_string_equal(s->notes[0].name, "log");
    assert_int_equal(s->node_count, 1);
    assert_int_equal(s->notes[0].node, 0);
    summary_free(s);
    assert_int_equal(rundb_open(home, &f), 0);
    assert_int_equal(rundb_check_seal(f, false), RUNDB_SEALED);
    assert_int_equal(rundb_close(f), 0);
}

TEST_WITH(begin, end, a_collector_that_was_killed_is_followed_by_one_that_completes_the_run)
{
    stored_drop(&stored);
    assert_int_equal(fetch(), 0);
    assert_home(true);
    assert_int_equal(atomic_load(&started[COLLECTOR]), 1);
    assert_int_equal(atomic_load(&started[SERVER]), 2);
    assert_int_equal(verify(), VERIFY_COMPLETE);
}

static bool stop_at_once(void *context)
{
    return *(int *)context -= 1, *(int *)context < 0;
}

TEST_WITH(begin, end, one_that_was_interrupted_goes_on_and_what_was_damaged_since_is_copied_again)
{
    struct remote_collector place;
    int turns = 0;
    end_there();
    assert_int_equal(remote_collector_init(&place, experiment, EXPERIMENT_ROOT, id, "keys", ""), 0);
    assert_int_equal(
        fetch_run(&(struct fetch_options){.run = home, .place = &place, .stop = stop_at_once, .context = &turns},
                  &result),
        BEZEL_ETIMEDOUT);
    assert_string_equal(result.why, "it was interrupted");
    remote_collector_free(&place);
    assert_away();
    /* all of it had come, and then some bytes in its middle were changed */
    char command[3 * SCRATCH_PATH];
    snprintf(command, sizeof command, "cp -r %s/trace %s", away, home);
    assert_int_equal(system(command), 0);
    write_at(home, "client-101-0", 1000, "damage");
    assert_int_equal(fetch(), 0);
    assert_home(true);
    assert_int_equal(verify(), VERIFY_COMPLETE);
}

TEST_WITH(begin, end, what_is_damaged_there_is_not_removed_there)
{
    struct mirror_look look;
    end_there();
    write_at(away, "client-101-1", (off_t)sensor->processes[0]->rings[1].starts[7], "damage");
    assert_int_equal(fetch(), BEZEL_EMALFORMED);
    assert_non_null(strstr(result.why, "it lacks a part of 1 file"));
    assert_non_null(strstr(result.why, "client-101-1"));
    assert_home(false);
    mirror_state_look(home, &look);
    assert_non_null(strstr(look.text, "lacks a part of 1 file"));
    assert_int_equal(verify(), VERIFY_DAMAGED);
}

/* Packets whose heads are right: the database knows better. */
TEST_WITH(begin, end, what_contradicts_the_database_there_is_not_removed_there)
{
    end_there();
    write_at(away, "client-101-1", (off_t)sensor->processes[0]->rings[1].starts[8] - 3, "abc");
    assert_int_equal(fetch(), BEZEL_EMALFORMED);
    assert_non_null(strstr(result.why, "it is damaged"));
    assert_true(result.home);
    assert_true(has(away, "run.db"));
    assert_int_equal(atomic_load(&started[DISCARD]), 0);
    assert_int_equal(verify(), VERIFY_DAMAGED);
}

TEST_WITH(begin, end, a_stream_that_cannot_be_read_there_is_not_passed_over)
{
    end_there();
    write_at(away, "client-101-1", 0, "damage");
    assert_int_equal(fetch(), BEZEL_EMALFORMED);
    assert_non_null(strstr(result.why, "it lacks a part of 1 file"));
    assert_home(false);
}

TEST_WITH(begin, end, another_run_is_refused)
{
    assert_int_equal(rundb_put(stored.rundb, "run", "00000000-2b1a-4c5d-8e7f-0123456789ab"), 0);
    end_there();
    assert_int_equal(fetch(), BEZEL_EINVAL);
    assert_non_null(strstr(result.why, "serves run 00000000-2b1a-4c5d-8e7f-0123456789ab"));
    assert_away();
}

TEST_WITH(begin, end, the_files_of_the_home_are_not_replaced)
{
    end_there();
    write_file(away, "experiment.yaml", "experiment: another\n");
    assert_int_equal(fetch(), BEZEL_EMALFORMED);
    assert_non_null(strstr(result.why, "lists a file that no run has"));
    assert_away();
}
