// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "bezeld/node/node_internal.h"
#include "bezeld/node/own_trace.h"
#include "bezeld/node/owner.h"
#include "sensor/external/notes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODE_GIVES_UP (3 * CLOCK_S) /* for the final books after giving up; less than `bezel run` waits for a stop */

_Static_assert(EXPERIMENT_ALIVE == SENDER_ALIVE_NS, "the experiment's warning is about what nodes do");

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

/*
 * The trace's UUID, made from run, node and clock, so that a restarted daemon continues the same trace. external_open()
 * mixes in when the window was made.
 */
static void make_uuid(const struct message_hello *hello, uint8_t uuid[16])
{
    uint64_t h = hash_fnv64(HASH_FNV64_START, hello->run, sizeof hello->run);
    h = hash_fnv64(h, hello->clock, sizeof hello->clock);
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
    clock_identity(hello.clock);
    snprintf(hello.node, sizeof hello.node, "%s", o->experiment->nodes[o->node].name);
    make_uuid(&hello, hello.uuid);
    return hello;
}

/* A node without `dir:` has a private folder: every process in it belongs to the experiment. */
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

/* Logs why the folder is not trusted, if that is the reason why it could not be opened. */
static bool log_distrust(const char *dir)
{
    struct folder f;
    int before = errno, err = folder_open(dir, &f);
    folder_close(&f);
    errno = before;
    if (err == BEZEL_EPERM && f.why[0])
        log_error("BEZEL-FOLDER", "%s %s", dir, f.why);
    return err == BEZEL_EPERM && f.why[0];
}

static int open_external(struct node *n, const struct message_hello *hello)
{
    const struct experiment *e = n->options.experiment;
    struct external_options *x = calloc(1, sizeof *x);
    char reader[EXTERNAL_READER_MAX + 1];
    if (!x)
        return BEZEL_ENOMEM;
    x->dir = n->options.dir;
    x->reader = n->options.reader;
    memcpy(x->run, hello->run, sizeof x->run);
    memcpy(x->uuid, hello->uuid, sizeof x->uuid);
    x->birth = (uint32_t)(clock_now() / CLOCK_MS);
    x->window_bytes = e->sensing.window_bytes;
    x->observer = node_observer(n);
    x->rules = &n->aspect_steering.rules;
    x->doorbell = e->sensing.mode == POLL_POLLING;
    x->sleeps_beside_idle = e->sensing.doorbell;
    x->expire = e->sensing.expire;
    x->accumulate = e->sensing.accumulate;
    x->accumulate_longest = e->sensing.accumulate_or;
    choose_processes(&n->options, x);
    int err = external_open(x, &n->external);
    free(x);
    if (err == BEZEL_EBUSY) {
        external_reader(n->options.dir, reader);
        log_error("BEZEL-FOLDER-BUSY",
                  "%s reads %s: wait for its run to end, or give the node a folder of its own (`dir:`)",
                  reader[0] ? reader : "another session", n->options.dir);
    } else if (err == BEZEL_ENOSPC && errno != EFBIG)
        log_error(
            "BEZEL-FOLDER-FULL",
            "no room in %s for a window of %s: enlarge its file system (a container: docker run --shm-size=1g), or "
            "make the window smaller (`sensing: window:`)",
            n->options.dir, units_bytes(e->sensing.window_bytes).s);
    else if (err && !(err == BEZEL_EPERM && log_distrust(n->options.dir)))
        log_error("BEZEL-FOLDER", "cannot use folder %s: %s; %s`bezel doctor` checks this machine", n->options.dir,
                  ulimit_reason(err),
                  err == BEZEL_EPERM
                      ? "start bezeld as the user of that folder, or with BEZEL_DIR=a folder of its own; "
                      : "");
    return err;
}

static int open_sender(struct node *n, const struct message_hello *hello)
{
    const struct experiment_sensing *sensing = &n->options.experiment->sensing;
    struct uplink_source source = external_uplink(n->external);
    struct sender_options o = {
        .endpoints = n->options.collector,
        .keys = n->options.data_keys,
        .hello = *hello,
        .spool_bytes = sensing->spool_bytes,
        .spool_dir = sensing->spool_dir ? sensing->spool_dir : EXPERIMENT_SPOOL_DIR,
        .by_link = getenv("BEZEL_BY_LINK") != NULL,
        .asks_when = agent_wants_stored(n->agent),
    };
    int err = sender_open(&source, &o, &n->sender);
    bool is_spool = sensing->spool_bytes > 0 && err != BEZEL_EINVAL && err != BEZEL_ENOMEM; /* of a connection: these */
    if (err && is_spool)
        log_error("BEZEL-SPOOL",
                  "cannot open a spool in %s: %s; make it a folder in which this bezeld may write, or name another "
                  "(`sensing: spool: dir:`)",
                  o.spool_dir, ulimit_reason(err));
    else if (err)
        log_error("BEZEL-COLLECTOR", "cannot connect to %s: %s", o.endpoints, ulimit_reason(err));
    return err;
}

/* Failures become notes: even a node without memory for its own records must read and drain those of the processes. */
static void open_journals(struct node *n)
{
    int err = own_trace_open(n->options.dir, &n->own_trace);
    if (err)
        notes_record(n->external, NULL, clock_now(), "BEZEL-OWN-TRACE",
                     "bezeld cannot record its own trace of this node: metrics and verdicts will be missing: %s: %s",
                     n->options.dir, ulimit_reason(err));
    n->name_watch = name_watch_new(n->external);
    err = samplers_open(&n->options.experiment->sensing, n->options.dir, n->external, &n->samplers);
    if (err && !n->options.experiment->sensing.sampled_unasked)
        notes_record(n->external, NULL, clock_now(), "BEZEL-SAMPLER", "the samplers are off: %s: %s", n->options.dir,
                     ulimit_reason(err));
}

int node_open(const struct node_options *options, struct node **out)
{
    struct node *n = calloc(1, sizeof *n);
    if (!n)
        return BEZEL_ENOMEM;
    n->options = *options;
    n->control = options->control;
    cpu_usage_open(&n->usage, clock_process_cpu());
    poll_settings_open(&n->poll_settings, options->experiment, options->dir, options->run);
    n->policy = (struct policy_setting){.on = true, .period = (int64_t)n->poll_settings.now.period_ns};
    struct message_hello hello = make_hello(options);
    int err = agent_new(options->experiment, options->node, &n->agent);
    if (err)
        log_error("BEZEL-AGENT", "cannot make the agent, which evaluates the limits of node %s: %s", hello.node,
                  ulimit_reason(err));
    if (!err)
        err = node_triggers_open(n);
    aspect_steering_open(&n->aspect_steering, options->experiment, options->dir, options->run);
    n->aspect_steering.rules.sheds = node_load_shedding;
    n->aspect_steering.rules.context = n;
    if (!err)
        err = open_external(n, &hello);
    if (!err)
        err = open_sender(n, &hello);
    if (!err)
        open_journals(n);
    if (err) {
        node_shut(n, false);
        node_close(n);
        return err;
    }
    n->realtime_offset = hello.realtime_offset;
    memcpy(n->clock.identity, hello.clock, sizeof n->clock.identity);
    memcpy(n->uuid, hello.uuid, sizeof n->uuid);
    node_clock_start(n);
    if (external_since(n->external) > 0)
        agent_judges_since(n->agent, external_since(n->external), true);
    node_rt_setup(n);
    int64_t now = clock_now();
    n->last_received = now;
    schedule_start(&n->schedule, now, agent_period(n->agent));
    n->hand_on_every = experiment_hand_on_period(options->experiment);
    cpu_usage_start(&n->usage, options->experiment, now, clock_process_cpu());
    agent_set_period(n->agent, n->policy.period);
    node_poll_start(n);
    manager_client_start(n);
    owner_file_init(&n->owner_file, n->options.dir, n->options.run);
    n->owner = owner_read(&n->owner_file);
    node_knobs_start(n);
    node_pause_start(n);
    node_record_sample(n); /* first record of the daemon's cost, so that even a short run has one */
    node_record_totals(n);
    *out = n;
    return 0;
}

/* The node does not go on in a new trace, even if it was to. */
static void end_here(struct node *n)
{
    if (!n->goes_on)
        return;
    n->goes_on = false;
    state_file_remove(&n->clock.parting);
    external_go_on(n->external, false);
    node_knobs_end(n);
}

void node_shut(struct node *n, bool for_good)
{
    bool over = for_good || n->stopped;
    if (over)
        end_here(n);
    if (n->external && !over)
        external_keep_processes(n->external);
    n->clean = over || (n->sender && sender_done(n->sender));
    clock_client_close(n->clock.client);
    n->clock.client = NULL;
    if (n->sender)
        sender_close(n->sender, over);
    n->control = NULL;
    n->sender = NULL;
}

bool node_idle(const struct node *n)
{
    return !window_is_read(external_window(n->external));
}

void node_close(struct node *n)
{
    samplers_close(n->samplers);
    name_watch_free(n->name_watch);
    if (n->external)
        external_close(n->external, n->clean);
    if (n->clean)
        state_file_remove(&n->clock.parting);
    if (n->clean && !n->goes_on) { /* the run is over: no restarted daemon will continue it */
        state_file_remove(&n->aspect_steering.file);
        state_file_remove(&n->poll_settings.file);
        state_file_remove(&n->managed.file);
        state_file_remove(&n->owner_file);
        state_file_remove(&n->pause.file);
    }
    journal_close(n->own_trace);
    agent_free(n->agent);
    trigger_free(n->triggers.set);
    free(n);
}

/* ---- Draining, and the node's state ------------------------------------------------------------------------------ */

static void drain(struct node *n)
{
    int64_t now = clock_now();
    external_housekeep(n->external, now); /* notices processes that have ended: their silence is no violation */
    const struct agent_outcome *o = agent_end(n->agent);
    node_record_observations(n, o, now);
    node_record_violations(n, o);
    node_record_limits(n, o);
    global_limits_end(n, now);
    node_clock_end(n);
    external_collect(n->external, true); /* the rings are drained even if the policy turned polling off */
    external_flush(n->external, now);
    node_hand_on_last(n, -1);
    node_record_reduced(n);
    knob_steering_declare(n);
    node_triggers_end(n, now);
    samplers_end(n->samplers);
    snapshot_take_end(n, now);
    node_record_sample(n);
    node_record_clock(n);
    node_record_totals(n);
    node_record_expired(n);
    manager_client_record(n);
    if (!n->goes_on)
        node_knobs_end(n);
    n->draining = true;
    n->tasks_due = INT64_MIN;
    external_finish(n->external, now);
}

void node_drain(struct node *n)
{
    end_here(n);
    if (!n->draining)
        drain(n);
}

void node_part(struct node *n)
{
    n->goes_on = true;
    n->clock.parted = clock_now();
    state_file_write(&n->clock.parting, "a clock has jumped\n");
    external_go_on(n->external, true);
    drain(n);
}

bool node_parted(const struct node *n)
{
    return n->goes_on && node_drained(n) && node_idle(n);
}

static void note_gap(struct node *n, int64_t parted)
{
    int64_t now = clock_now();
    notes_record(n->external, NULL, now, "BEZEL-CLOCK-GAP",
                 "the node did not observe its processes for %s, while its trace before this one was stored: records "
                 "of that time are in no books",
                 units_duration(now - parted).s);
}

int node_go_on(struct node **n)
{
    struct node_options options = (*n)->options;
    char reader[EXTERNAL_READER_MAX + 1];
    int64_t parted = (*n)->clock.parted;
    external_reader(options.dir, reader);
    options.reader = reader;
    options.clock_client = (*n)->clock.client;
    (*n)->clock.client = NULL;
    node_shut(*n, false);
    node_close(*n);
    *n = NULL;
    int err = node_open(&options, n);
    if (err)
        clock_client_close(options.clock_client);
    else
        note_gap(*n, parted);
    return err;
}

bool node_drained(const struct node *n)
{
    return n->draining && sender_done(n->sender);
}

bool node_resumed(const struct node *n)
{
    return external_resumed(n->external);
}

void node_set_owner(struct node *n, struct message_leadership owner)
{
    n->owner = owner;
    n->last_received = clock_now();
    owner_save(&n->owner_file, owner);
}

struct message_leadership node_owner(const struct node *n)
{
    return n->owner;
}

void node_set_collector(struct node *n, const char *endpoints)
{
    n->options.collector = endpoints;
    n->tasks_due = INT64_MIN;
    sender_redirect(n->sender, endpoints, clock_now());
}

int64_t node_last_received(const struct node *n)
{
    return n->last_received;
}

bool node_connected(const struct node *n)
{
    return sender_connected(n->sender);
}

const char *node_refused(const struct node *n)
{
    return sender_refused(n->sender);
}

const char *node_trouble(const struct node *n)
{
    return sender_trouble(n->sender);
}

void node_stop(struct node *n)
{
    if (n->stopped)
        return;
    external_end_run(n->external);
    end_here(n);
    n->stopped = true;
    n->tasks_due = INT64_MIN;
    n->stop_by = n->schedule.turned;
    if (!n->draining || sender_done(n->sender) || !sender_connected(n->sender))
        return;
    sender_give_up(n->sender);
    n->stop_by += NODE_GIVES_UP;
}

bool node_ends(const struct node *n)
{
    return n->stopped || (n->draining && !n->goes_on);
}

bool node_stopped(const struct node *n)
{
    return n->stopped && (n->schedule.turned >= n->stop_by || sender_booked(n->sender));
}
