// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Memory that runs out at any one allocation is told, as the function says, and nothing is leaked (with
 * AddressSanitizer). unit/experiment_memory does it for the reader of experiments.
 */
#include "tests/lib/no_memory.h"

#include "base/file.h"
#include "config/experiment.h"
#include "mdr/dict.h"
#include "metric/quantile.h"
#include "metric/rate.h"
#include "metric/statistic.h"
#include "resmgr/agent/agent.h"
#include "resmgr/manager/manager.h"
#include "run/model/run_model.h"
#include "tests/lib/test.h"

#include <stdlib.h>

static struct experiment *experiment;

static int read_experiment(void **state)
{
    static const char text[] = "experiment: two\n"
                               "nodes: {a: {}, b: {}}\n"
                               "processes: [{name: p, node: a, command: [unused]}]\n"
                               "metrics: {fps: {rate: frame}}\n"
                               "limits:\n"
                               "  - hold: fps >= 20\n"
                               "  - hold: sensor_cpu <= 10 %\n"
                               "  - {expect: sensor_cpu <= 20 %, per: global}\n"
                               "adapt: {by: manager}\n";
    struct experiment_diagnostics found = {0};
    (void)state;
    int err = experiment_read(text, sizeof text - 1, &experiment, &found);
    experiment_print_diagnostics(&found, "two", stderr);
    experiment_diagnostics_free(&found);
    return err;
}

static int free_experiment(void **state)
{
    (void)state;
    experiment_free(experiment);
    return 0;
}

/* ---- What allocates: each returns 0 or BEZEL_ENOMEM -------------------------------------------------------------- */

static int make_quantile(void)
{
    struct quantile *q = NULL;
    int err = quantile_new(&q);
    if (!err)
        quantile_free(q);
    return err;
}

static int make_rate(void)
{
    struct rate *r = NULL;
    int err = rate_new(1000000000, false, &r);
    if (!err)
        rate_free(r);
    return err;
}

static int make_statistics(void)
{
    static const enum statistic_kind kinds[] = {STATISTIC_MEAN, STATISTIC_MAX, STATISTIC_QUANTILE};
    int err = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !err; i++) {
        struct statistic *s = NULL;
        err = statistic_new(kinds[i], 0.5, 1000000000, &s);
        if (!err)
            statistic_free(s);
    }
    return err;
}

static int make_agent(void)
{
    struct agent *a = NULL;
    int err = agent_new(experiment, 0, &a);
    if (err)
        return err;
    int number = agent_process_add(a, "p");
    agent_free(a);
    return number < 0 ? number : 0;
}

static int make_manager(void)
{
    struct manager *m = NULL;
    int err = manager_new(experiment, (struct message_leadership){.epoch = 1, .holder = 2}, 5, &m);
    if (!err)
        manager_free(m);
    return err;
}

static int fill(struct model *m)
{
    static struct message_hello hello = {.node = "desk"};
    static struct message_process said = {.instance = 7, .name = "app"};
    struct model_node *node = model_add_node(m, &hello);
    struct model_process *p = node ? model_add_process(node, &said) : NULL;
    struct model_stream *s = p ? model_stream(p, 3) : NULL;
    /* What cannot be had leaves what was there as it was. */
    assert_int_equal(m->totals.nodes, node != NULL);
    assert_int_equal(m->totals.processes, p != NULL);
    assert_ptr_equal(m->nodes, node);
    if (node)
        assert_ptr_equal(model_find_process(node, 7), p);
    if (p)
        assert_ptr_equal(model_find_stream(p, 3), s);
    return s ? 0 : BEZEL_ENOMEM;
}

static int make_model(void)
{
    struct model *m = model_new("a run");
    int err = m ? fill(m) : BEZEL_ENOMEM;
    model_free(m);
    return err;
}

/* A file whose size nobody says, so that its bytes outgrow what they are read into. */
static int read_file(void)
{
    char *data;
    size_t n;
    int err = file_read("/proc/self/smaps", 1 << 24, &data, &n);
    if (!err)
        free(data);
    return err;
}

static int parse_dictionary(void)
{
    static uint8_t bytes[1024];
    static const struct dict_aspect a = {
        .id = 1, .name = "tick", .field_count = 1, .fields = {{DICT_INT64, "n", "1", ""}}};
    int n = dict_append_aspect(bytes, 0, sizeof bytes, &a);
    n = dict_append_string(bytes, (size_t)n, sizeof bytes, 1, "text");
    struct dict *d = NULL;
    int err = dict_parse(bytes, (size_t)n, &d);
    if (!err)
        dict_free(d);
    return err;
}

/* Fails each allocation in turn, until fewer are made. */
static void fail_each(int (*make)(void))
{
    for (long failed = 0;; failed++) {
        no_memory_after(failed);
        int err = make();
        if (!no_memory_end()) {
            assert_int_equal(err, 0);
            assert_true(failed > 0);
            return;
        }
        assert_int_equal(err, BEZEL_ENOMEM);
    }
}

TEST_WITH(read_experiment, free_experiment, want_of_memory_is_told_and_leaks_nothing)
{
    fail_each(make_quantile);
    fail_each(make_rate);
    fail_each(make_statistics);
    fail_each(make_agent);
    fail_each(make_manager);
    fail_each(make_model);
    fail_each(parse_dictionary);
    fail_each(read_file);
}
