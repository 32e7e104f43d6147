// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Which daemons of a run a command from another terminal goes to, and what is said where there are none. */
#include "ecs/course/control_client.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/log.h"
#include "base/uuid.h"
#include "ecs/course/rundir.h"
#include "mdr/command/command_server.h"
#include "mdr/message.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TWO_NODES                                                                                                      \
    "experiment: two\nnodes: {desk: {}, cart: {}}\nprocesses: [{name: p, node: desk, command: [unused]}]\n"

static char folder[] = "/tmp/bezel-control-client-XXXXXX";
static struct rundir run;
static struct control_client client;

static void begin_run(const char *text)
{
    char runs[64];
    snprintf(runs, sizeof runs, "%s/runs", folder);
    assert_int_equal(rundir_init(&run), 0);
    assert_int_equal(rundir_make_private(&run), 0);
    assert_int_equal(rundir_make(runs, "two", text, strlen(text), &run), 0);
    log_forget_error();
}

static void assert_opens(enum control_client_whom whom, const char *node, uint32_t count)
{
    uint8_t uuid[16];
    assert_true(uuid_read(run.uuid, uuid));
    assert_int_equal(control_client_open(run.path, whom, node, &client), EXIT_OK);
    assert_int_equal(client.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_memory_equal(client.nodes[i].caller.run, uuid, sizeof uuid);
}

static void assert_is(uint32_t i, const char *name, const char *node, const char *socket)
{
    char endpoint[LINK_ENDPOINT_MAX];
    snprintf(endpoint, sizeof endpoint, "ipc://%s/%s", run.private, socket);
    assert_string_equal(client.nodes[i].name, name);
    assert_string_equal(client.nodes[i].caller.node, node);
    assert_string_equal(client.nodes[i].caller.endpoint, endpoint);
}

static void assert_fails(enum control_client_whom whom, const char *node, int code, const char *format)
{
    char expected[PATH_MAX + 128];
    snprintf(expected, sizeof expected, "%s%s", format[0] == ' ' ? run.path : "", format);
    assert_int_equal(control_client_open(run.path, whom, node, &client), code);
    assert_string_equal(log_last_error(), expected);
    assert_int_equal(client.count, 0);
    log_forget_error();
}

TEST(a_command_goes_to_all_nodes_or_one_the_collector_or_the_manager)
{
    begin_run(TWO_NODES "limits: [{hold: sensor_cpu <= 20 %}]\nadapt: {by: manager}\n");
    assert_int_equal(rundir_publish(&run), 0);
    assert_opens(CONTROL_CLIENT_NODES, NULL, 2);
    assert_is(0, "desk", "desk", ".b0/control");
    assert_is(1, "cart", "cart", ".b1/control");
    control_client_close(&client);
    assert_opens(CONTROL_CLIENT_NODES, "cart", 1);
    assert_is(0, "cart", "cart", ".b1/control");
    control_client_close(&client);
    assert_opens(CONTROL_CLIENT_COLLECTOR, NULL, 1);
    assert_is(0, "collector", "", ".collector");
    control_client_close(&client);
    assert_opens(CONTROL_CLIENT_MANAGER, NULL, 1);
    assert_is(0, "manager", "", ".manager");
    control_client_close(&client);
    rundir_close(&run);
}

TEST(who_is_not_there_is_told)
{
    begin_run(TWO_NODES);
    assert_fails(CONTROL_CLIENT_NODES, NULL, EXIT_UNREACHABLE, " is not running any more: there is nothing to control");
    assert_int_equal(rundir_publish(&run), 0);
    assert_fails(CONTROL_CLIENT_MANAGER, NULL, EXIT_USAGE, "the experiment has no resource manager");
    assert_fails(CONTROL_CLIENT_NODES, "box", EXIT_USAGE, "the experiment has no node 'box'");
    assert_int_equal(chmod(run.private, 0750), 0);
    assert_fails(CONTROL_CLIENT_NODES, NULL, EXIT_UNREACHABLE, " is another user's run: only that user may control it");
    assert_int_equal(chmod(run.private, 0700), 0);
    rundir_close(&run);
    assert_fails(CONTROL_CLIENT_NODES, NULL, EXIT_UNREACHABLE, " is not running any more: there is nothing to control");
}

/* Answers the first command as a bezeld that has no such session (yet). */
static void *answer_absent(void *server)
{
    struct command_request from;
    int64_t deadline = clock_now() + PATIENCE;
    int budget = INT_MAX;
    struct link *link = command_server_link(server);
    while (!command_server_receive(server, &budget, &from) && clock_now() < deadline)
        link_wait(&link, 1, NULL, 0, CLOCK_S);
    command_server_refuse(server, &from, ANSWER_ABSENT, "this bezeld has no such session");
    return NULL;
}

static bool take_nothing(void *context, const char *node, const struct message *answer)
{
    (void)context, (void)node, (void)answer;
    return false;
}

TEST(of_a_run_that_is_starting_it_is_said)
{
    struct command_server *server;
    pthread_t thread;
    begin_run(TWO_NODES);
    assert_int_equal(rundir_publish(&run), 0);
    assert_int_equal(control_client_open(run.path, CONTROL_CLIENT_COLLECTOR, NULL, &client), EXIT_OK);
    assert_int_equal(command_server_open(client.nodes[0].caller.endpoint, NULL, &server), 0);
    assert_int_equal(pthread_create(&thread, NULL, answer_absent, server), 0);
    struct message_command query = {.verb = VERB_QUERY};
    assert_int_equal(control_client_ask(&client, &query, ANSWER_COLLECTOR, take_nothing, NULL), EXIT_FAILED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(strstr(log_last_error(), "the run is starting"));
    control_client_close(&client);
    command_server_close(server, 0);
    rundir_close(&run);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? setenv("BEZEL_DIR", folder, 1) : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return file_remove_tree(folder);
}

int main(void)
{
    return test_run(make_folder, remove_folder);
}
