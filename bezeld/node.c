// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/hash.h"
#include "base/limit.h"
#include "base/log.h"
#include "base/units.h"
#include "ecs/node_impl.h"
#include "ecs/self.h"
#include "sensor/notes.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODE_GIVES_UP (3 * CLOCK_S) /* for the final books of what is given up; less than a stop may take */

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

/*
 * The trace's UUID: of run, node and boot, so that the next life of this daemon goes on with the same trace. The birth
 * of its window is worked in by external_open().
 */
static void make_uuid(const struct message_hello *hello, uint8_t uuid[16])
{
    uint64_t h = hash_fnv64(HASH_FNV64_START, hello->run, sizeof hello->run);
    h = hash_fnv64(h, hello->boot, sizeof hello->boot);
    uint64_t high = hash_fnv64(h, hello->node, strlen(hello->node)), low = hash_fnv64(high, "bezel", 5);
    memcpy(uuid, &high, 8);
    memcpy(uuid + 8, &low, 8);
    uuid[6] = (uint8_t)(0x80 | (uuid[6] & 0x0f)); /* RFC 9562: version 8, our own */
    uuid[8] = (uint8_t)(0x80 | (uuid[8] & 0x3f));
}

static struct message_hello make_hello(const struct node_options *o)
{
    struct message_hello hello = {.realtime_offset = clock_realtime_offset(), .pid = (uint32_t)getpid()};
    memcpy(hello.run, o->run, sizeof hello.run);
    clock_boot_id(hello.boot);
    snprintf(hello.node, sizeof hello.node, "%s", o->experiment->nodes[o->node].name);
    make_uuid(&hello, hello.uuid);
    return hello;
}

/* A node whose file gives no folder has one of its own: everything in it is the experiment's. */
static void choose_processes(const struct node_options *o, struct external_options *x)
{
    const struct experiment *e = o->experiment;
    for (uint32_t i = 0; i < e->process_count && x->pattern_count < EXTERNAL_PATTERNS; i++) {
        const struct experiment_process *p = &e->processes[i];
        if (p->node != o->node || !p->attach)
            continue;
        x->patterns[x->pattern_count].glob = p->attach;
        x->patterns[x->pattern_count++].name = p->name;
    }
    x->take_all = !e->nodes[o->node].dir && x->pattern_count == 0;
}

/* Says why the folder is not to be trusted, where that is why it could not be opened. */
static bool tell_distrust(const char *dir)
{
    struct folder f;
    int err = folder_open(dir, &f);
    folder_close(&f);
    if (err == BEZEL_EPERM && f.why[0])
        log_error("BEZEL-FOLDER", "%s %s", dir, f.why);
    return err == BEZEL_EPERM && f.why[0];
}

/* hello->uuid is the trace's from then on. */
static int open_external(struct node *n, struct message_hello *hello)
{
    const struct experiment *e = n->options.experiment;
    struct external_options *x = calloc(1, sizeof *x);
    if (!x)
        return BEZEL_ENOMEM;
    x->dir = n->options.dir;
    memcpy(x->run, hello->run, sizeof x->run);
    memcpy(x->uuid, hello->uuid, sizeof x->uuid);
    x->birth = (uint32_t)(clock_now() / CLOCK_MS);
    x->window_bytes = e->sensing.window_bytes;
    x->spool_bytes = e->sensing.spool_bytes;
    x->spool_dir = e->sensing.spool_dir ? e->sensing.spool_dir : EXPERIMENT_SPOOL_DIR;
    x->observer = node_senses(n);
    x->rules = &n->steering.rules;
    x->doorbell = e->sensing.doorbell && e->sensing.mode == POLL_POLLING;
    x->expire = e->sensing.expire;
    choose_processes(&n->options, x);
    int err = external_open(x, &n->external);
    free(x);
    if (err == BEZEL_EBUSY)
        log_error("BEZEL-FOLDER-BUSY",
                  "another bezeld reads %s: wait for its run to end, or give the node a folder of its own (`dir:`)",
                  n->options.dir);
    else if (err == BEZEL_ENOSPC && errno != EFBIG)
        log_error(
            "BEZEL-FOLDER-FULL",
            "no room in %s for a window of %s: enlarge its file system (a container: docker run --shm-size=1g), or "
            "make the window smaller (`sensing: window:`)",
            n->options.dir, units_bytes(e->sensing.window_bytes).s);
    else if (err && !(err == BEZEL_EPERM && tell_distrust(n->options.dir)))
        log_error("BEZEL-FOLDER", "cannot sense in %s: %s; `bezel doctor` tells more", n->options.dir,
                  limit_reason(err));
    else if (!err)
        memcpy(hello->uuid, external_options(n->external)->uuid, sizeof hello->uuid);
    return err;
}

/* Of its own it records what it can: a node whose memory is full is still to read, and drain, what there is. */
static void open_journals(struct node *n)
{
    int err = self_open(n->options.dir, &n->self);
    if (err)
        notes_tell(n->external, NULL, clock_now(), "BEZEL-SELF",
                   "what bezeld does here is not recorded, with metrics and verdicts: %s: %s", n->options.dir,
                   limit_reason(err));
    err = samplers_open(&n->options.experiment->sensing, n->options.dir, n->external, &n->samplers);
    if (err)
        notes_tell(n->external, NULL, clock_now(), "BEZEL-SAMPLER", "nothing is sampled: %s: %s", n->options.dir,
                   limit_reason(err));
}

int node_open(const struct node_options *options, struct node **out)
{
    struct node *n = calloc(1, sizeof *n);
    if (!n)
        return BEZEL_ENOMEM;
    n->options = *options;
    n->cpu_begun = clock_process_cpu();
    polling_open(&n->polling, options->experiment, options->dir, options->run);
    n->policy = (struct policy_setting){.on = true, .period = (int64_t)n->polling.now.period_ns};
    struct message_hello hello = make_hello(options);
    int err = agent_new(options->experiment, options->node, &n->agent);
    if (!err)
        err = link_bind(options->control, MESSAGE_MAX_BYTES, options->control_keys, &n->control);
    if (err)
        log_error("BEZEL-CONTROL", "cannot bind %s: %s", options->control, limit_reason(err));
    steering_open(&n->steering, options->experiment, options->dir, options->run);
    n->steering.rules.sheds = node_sheds;
    n->steering.rules.context = n;
    if (!err)
        err = open_external(n, &hello);
    if (!err && (err = forward_open(n->external, options->collector, options->data_keys, &hello, &n->forward)) != 0)
        log_error("BEZEL-COLLECTOR", "cannot connect to %s, or open a spool: %s", options->collector,
                  limit_reason(err));
    if (!err)
        open_journals(n);
    if (err) {
        node_shut(n, false);
        node_close(n);
        return err;
    }
    n->realtime_offset = hello.realtime_offset;
    node_place(n);
    int64_t now = clock_now();
    n->poll_due = n->agent_due = n->sampled_at = n->housekeep_due = n->heard = now;
    n->agent_due += agent_period(n->agent);
    n->metric_due = now + CLOCK_S;
    n->cpu_before = clock_process_cpu();
    n->measured.cpu = NAN;
    agent_set_period(n->agent, n->policy.period);
    node_poll_start(n);
    node_manager_start(n);
    quota_start(&n->quota, n->options.experiment);
    node_knobs_start(n);
    node_tell_sample(n); /* what the daemon costs counts from here, however short the run */
    node_tell_flow(n);
    *out = n;
    return 0;
}

void node_shut(struct node *n, bool for_good)
{
    bool over = for_good || n->stopped;
    n->clean = over || (n->forward && forward_done(n->forward));
    link_close(n->control, 200);
    if (n->forward)
        forward_close(n->forward, over);
    n->control = NULL;
    n->forward = NULL;
}

bool node_quiet(const struct node *n)
{
    return !window_is_read(external_window(n->external));
}

void node_close(struct node *n)
{
    samplers_close(n->samplers);
    if (n->external)
        external_close(n->external, n->clean);
    if (n->clean)
        steering_close(&n->steering);
    if (n->clean)
        polling_close(&n->polling);
    if (n->clean)
        node_manager_end(n);
    journal_close(n->self);
    agent_free(n->agent);
    free(n);
}

/* ---- Draining, and how it stands --------------------------------------------------------------------------------- */

void node_drain(struct node *n)
{
    if (n->draining)
        return;
    int64_t now = clock_now();
    external_housekeep(n->external, now); /* a process that has ended is not a silent one */
    const struct agent_outcome *o = agent_end(n->agent);
    node_tell_observations(n, o, now);
    node_tell_violations(n, o);
    node_tell_limits(n, o);
    node_whole_end(n, now);
    external_collect(n->external, true); /* what waits in the rings is drained, whatever the policy says */
    external_batch(n->external, true, 0);
    external_poll(n->external, now);
    node_save_end(n, now);
    node_tell_sample(n);
    node_tell_clock(n);
    node_tell_flow(n);
    node_tell_expired(n);
    node_manager_tell(n);
    node_knobs_end(n);
    n->draining = true;
    external_finish(n->external, now);
}

bool node_drained(const struct node *n)
{
    return n->draining && forward_done(n->forward);
}

int64_t node_heard(const struct node *n)
{
    return n->heard;
}

bool node_connected(const struct node *n)
{
    return forward_connected(n->forward);
}

const char *node_refused(const struct node *n)
{
    return forward_refused(n->forward);
}

const char *node_trouble(const struct node *n)
{
    return forward_trouble(n->forward);
}

void node_stop(struct node *n)
{
    if (n->stopped)
        return;
    n->stopped = true;
    n->stop_by = n->turned;
    if (!n->draining || forward_done(n->forward) || !forward_connected(n->forward))
        return;
    forward_give_up(n->forward);
    n->stop_by += NODE_GIVES_UP;
}

bool node_stopped(const struct node *n)
{
    return n->stopped && (n->turned >= n->stop_by || forward_booked(n->forward));
}
