// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* What a node does with the judgement of a limit over all nodes, beside what else the judgement sets off. */
#include "base/clock.h"
#include "bezeld/node_internal.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char text[] = "experiment: two\n"
                           "nodes: {a: {}, b: {}}\n"
                           "processes: [{name: p, node: a, command: [unused]}]\n"
                           "limits:\n"
                           "  - {expect: sensor_cpu <= 1 %, per: global, on-violation: {snapshot: 1 s}}\n";

static struct experiment *experiment;
static struct node *node;

static int open_node(void **state)
{
    static char control[128], collector[128];
    struct experiment_diagnostics found = {0};
    scratch_begin(state);
    snprintf(control, sizeof control, "ipc://%s/control", scratch_dir);
    snprintf(collector, sizeof collector, "ipc://%s/nobody", scratch_dir);
    int err = experiment_read(text, strlen(text), &experiment, &found);
    experiment_print_diagnostics(&found, "two", stderr);
    experiment_diagnostics_free(&found);
    struct node_options options = {
        .experiment = experiment, .dir = scratch_dir, .collector = collector, .control = control, .run = {1}};
    return err ? err : node_open(&options, &node);
}

static int close_node(void **state)
{
    node_shut(node, true);
    node_close(node);
    experiment_free(experiment);
    return scratch_end(state);
}

/* Whoever asked for STATUS is told at once of a limit that breaks, while the rest of the judgement is still to be read.
 */
static void a_limit_that_breaks_leaves_the_rest_of_its_judgement_as_it_was(void **state)
{
    (void)state;
    const struct link_peer peer = {.size = 5, .id = "asker"};
    int64_t now = clock_now();
    node->asker = peer;
    node->has_asker = true;
    node->message.type = MESSAGE_JUDGEMENT;
    node->message.judgement = (struct message_judgement){
        .leadership = {.epoch = 1, .holder = 7}, .sequence = 1, .missing = 1 << 1, .count = 1};
    node->message.judgement.list[0] = (struct message_judged){
        .limit = 0, .state = MESSAGE_LIMIT_VIOLATED, .value = 2, .worst = 2, .violated = CLOCK_S, .ago = 0};
    manager_client_receive(node, &peer, now);
    assert_int_equal(node->judged.missing_since[0], 0);
    assert_int_equal(node->judged.missing_since[1], now);
    assert_true(node->limits.broken.fresh && node->limits.broken.limit == 0 && node->limits.broken.value == 2);
    node_report_broken(node, now);
    assert_true(!node->limits.broken.fresh && node->message.type == MESSAGE_REPLY);
    assert_int_equal(node->message.reply.node.violation.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_limit_that_breaks_leaves_the_rest_of_its_judgement_as_it_was, open_node,
                                        close_node),
    };
    return cmocka_run_group_tests_name("global limits", tests, NULL, NULL);
}
