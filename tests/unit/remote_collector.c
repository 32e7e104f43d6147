// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* A collector on a node: where it is reached, and how it is started, with what comes in its place. */
#include "ecs/course/remote_collector.h"
#include "bezeld/launch/launch_collector.h"
#include "tests/lib/test.h"

#include <string.h>

static const char nodes[] = "experiment: away\n"
                            "nodes: {here: {}, store: {address: 'tcp://store.example:7767', key: box}}\n"
                            "processes: [{name: nav, node: here, command: nav}]\n";

static struct experiment *read_experiment(const char *rest)
{
    char text[1024];
    struct experiment *e = NULL;
    struct experiment_diagnostics found;
    snprintf(text, sizeof text, "%s%s", nodes, rest);
    assert_int_equal(experiment_read(text, strlen(text), &e, &found), 0);
    experiment_diagnostics_free(&found);
    return e;
}

TEST(it_is_reached_at_the_host_of_its_node)
{
    char endpoint[LINK_ENDPOINT_MAX];
    static struct remote_collector c;
    struct experiment *e = read_experiment("store: {keys: keys}\ncollector: {node: store}\n");
    assert_int_equal(experiment_collector_node(e), 1);
    assert_string_equal(remote_collector_control(e, EXPERIMENT_ROOT, endpoint), "tcp://store.example:7768");
    c.node = &e->nodes[experiment_collector_node(e)];
    snprintf(c.listen, sizeof c.listen, "%s", e->store.listen);
    remote_collector_bound(&c, 4711, endpoint);
    assert_string_equal(endpoint, "tcp://store.example:4711");
    assert_string_equal(c.listen, "tcp://*:4711"); /* one that is started again binds the same port */
    experiment_free(e);
}

TEST(an_address_of_its_own_is_that_of_the_packets)
{
    char endpoint[LINK_ENDPOINT_MAX];
    static struct remote_collector c;
    struct experiment *e = read_experiment("store: {keys: keys, listen: 'tcp://198.51.100.9:*'}\n"
                                           "collector: {node: store, control: 'tcp://eth0:99'}\n");
    assert_string_equal(remote_collector_control(e, EXPERIMENT_ROOT, endpoint), "tcp://store.example:99");
    c.node = &e->nodes[experiment_collector_node(e)];
    snprintf(c.listen, sizeof c.listen, "%s", e->store.listen);
    remote_collector_bound(&c, 4711, endpoint);
    assert_string_equal(endpoint, "tcp://198.51.100.9:4711");
    assert_string_equal(c.listen, "tcp://198.51.100.9:4711");
    experiment_free(e);
}

static void assert_has(char *const *argv, const char *option, const char *value)
{
    for (; *argv; argv++)
        if (strcmp(*argv, option) == 0) {
            if (value)
                assert_string_equal(argv[1], value);
            return;
        }
    fail_msg("there is no %s", option);
}

static bool has(char *const *argv, const char *option)
{
    while (*argv && strcmp(*argv, option) != 0)
        argv++;
    return *argv != NULL;
}

TEST(its_command_line_is_made_from_the_experiment)
{
    static struct launch_collector c;
    static const uint8_t run[16] = {0xb0, 0xe1, [15] = 0xef};
    struct experiment *e =
        read_experiment("store: {keys: keys, key: sink, sync: 1 s, serve: \"tcp://*:7770\",\n"
                        "        limits: {connections: 7, rate: 1 MiB}}\n"
                        "collector: {node: store, directory: /data/runs, clock: {kept-by: ptp, bound: 1 us}}\n"
                        "order: {buffers: siso, memory: 1 MiB, wait: 2 s}\n");
    struct launch_collector_options o = {.program = "/opt/bezel-collector",
                                         .server = "/opt/bezel-serve",
                                         .keys = "/etc/bezel",
                                         .listen = "tcp://*:5",
                                         .run = run,
                                         .silence = 77};
    assert_true(launch_collector_make(e, &o, "collector", &c));
    assert_string_equal(c.launch.path, "/opt/bezel-collector");
    assert_string_equal(c.launch.of.process, "collector");
    assert_int_equal(c.launch.silence, 77);
    assert_has(c.argv, "--run", "/data/runs/bezel-run-b0e10000-0000-0000-0000-0000000000ef");
    assert_has(c.argv, "--id", "b0e10000-0000-0000-0000-0000000000ef");
    assert_has(c.argv, "--listen", "tcp://*:5");
    assert_has(c.argv, "--control", "tcp://*:7768");
    assert_has(c.argv, "--keys", "/etc/bezel");
    assert_has(c.argv, "--key", "/etc/bezel/sink.key");
    assert_has(c.argv, "--sync", "1 s");
    assert_has(c.argv, "--connections", "7");
    assert_has(c.argv, "--rate", "1 MiB");
    assert_has(c.argv, "--clock", "ptp:1 us");
    assert_has(c.argv, "--order", "siso:1 MiB:2 s");
    assert_has(c.argv, "--serve", "tcp://*:7770");
    assert_true(launch_collector_make(e, &o, "server", &c));
    assert_string_equal(c.launch.path, "/opt/bezel-serve");
    assert_string_equal(c.launch.of.process, "server");
    assert_has(c.argv, "--run", "/data/runs/bezel-run-b0e10000-0000-0000-0000-0000000000ef");
    assert_has(c.argv, "--listen", "tcp://*:7768"); /* where the collector took commands */
    assert_has(c.argv, "--keys", "/etc/bezel");
    assert_has(c.argv, "--key", "/etc/bezel/sink.key");
    assert_true(launch_collector_make(e, &o, "discard", &c));
    assert_string_equal(c.launch.path, "/opt/bezel-collector");
    assert_has(c.argv, "--discard", NULL);
    assert_has(c.argv, "--run", "/data/runs/bezel-run-b0e10000-0000-0000-0000-0000000000ef");
    assert_has(c.argv, "--id", "b0e10000-0000-0000-0000-0000000000ef");
    assert_false(has(c.argv, "--listen"));
    assert_false(launch_collector_make(e, &o, "sh", &c));
    assert_false(launch_collector_make(e, &o, "", &c));
    experiment_free(e);
}

TEST(an_inner_collector_passes_on_to_the_parents_that_it_is_told)
{
    static struct launch_collector c;
    static const uint8_t run[16] = {0xb0, 0xe1, [15] = 0xef};
    static const char parents[EXPERIMENT_PARENTS_MAX][LAUNCH_COLLECTOR_ENDPOINT] = {"tcp://192.0.2.1:5", "ipc:///x"};
    char endpoint[LINK_ENDPOINT_MAX];
    struct experiment *e = read_experiment("store: {keys: keys, key: sink, limits: {packet: 512 KiB}}\n"
                                           "collectors: {x: {node: store}, rack: {node: store, buffer: 8 MiB}}\n");
    assert_string_equal(remote_collector_control(e, 1, endpoint), "tcp://store.example:7770"); /* after that of x */
    struct launch_collector_options o = {.program = "/opt/bezel-collector",
                                         .keys = "/etc/bezel",
                                         .listen = "tcp://*:*",
                                         .run = run,
                                         .silence = 77,
                                         .inner = &e->inner[1],
                                         .parents = parents,
                                         .connections = 3};
    assert_true(launch_collector_make(e, &o, "collector", &c));
    assert_int_equal(c.launch.silence, 77);
    assert_has(c.argv, "--id", "b0e10000-0000-0000-0000-0000000000ef");
    assert_has(c.argv, "--listen", "tcp://*:*");
    assert_has(c.argv, "--control", "tcp://*:7770");
    assert_has(c.argv, "--key", "/etc/bezel/sink.key");
    assert_has(c.argv, "--parent-key", "/etc/bezel/sink.pub");
    assert_has(c.argv, "--buffer", "8 MiB");
    assert_has(c.argv, "--connections", "3");
    assert_has(c.argv, "--packet", "512 KiB");
    assert_has(c.argv, "--parent", "tcp://192.0.2.1:5");
    size_t n = 0;
    while (c.argv[n])
        n++;
    assert_string_equal(c.argv[n - 1], "ipc:///x");
    assert_string_equal(c.argv[n - 2], "--parent");
    assert_false(has(c.argv, "--run"));
    assert_false(launch_collector_make(e, &o, "server", &c)); /* it stores nothing */
    assert_false(launch_collector_make(e, &o, "discard", &c));
    experiment_free(e);
}
