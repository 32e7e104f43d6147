// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/node.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/units.h"
#include "bezel/sensor.h"
#include "ecs/self.h"
#include "ecs/steering.h"
#include "resmgr/agent.h"
#include "sensor/external.h"
#include "sensor/forward.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NODE_HOUSEKEEP (100 * CLOCK_MS)
#define NODE_CONTROL   (10 * CLOCK_MS) /* descriptors and commands are looked at this often, however short the period */
#define NODE_SLEEP_MAX (5 * CLOCK_MS)  /* up to here a bare timer; beyond it also wakes for links */

enum { NODE_COMMANDS_A_TURN = 8 };

struct node {
    struct node_options options;
    struct external *external;
    struct forward *forward;
    struct agent *agent;
    struct link *control;
    struct steering steering;
    struct policy_state policy; /* as the agent last decided: what is carried out */
    bool busy_wait, draining, stopped;
    int64_t min_sleep; /* shorter waits are spun */
    int64_t poll_due, agent_due, sample_due, metric_due, housekeep_due, control_due;
    int64_t sampled_at, cpu_before, polls_since, limits_told;
    int64_t wakeups;
    double sensor_cpu;
    int64_t effective_period;
    struct message message; /* scratch */
    uint8_t bytes[MESSAGE_MAX_BYTES];
};

/* ---- The agent's senses ------------------------------------------------------------------------------------------ */

static int observe_begin(void *context, const char *name)
{
    return agent_process_add(((struct node *)context)->agent, name);
}

static void observe_end(void *context, int slot)
{
    agent_process_remove(((struct node *)context)->agent, slot);
}

static int observe_watch(void *context, int slot, const char *aspect)
{
    return agent_watch(((struct node *)context)->agent, slot, aspect);
}

static void observe_record(void *context, int watch, int64_t timestamp)
{
    agent_record(((struct node *)context)->agent, watch, timestamp);
}

static void count_aspect(struct node *n, const struct external_process *p, uint32_t id, int64_t now)
{
    if (steering_blinds(&n->steering, p->at->dict->aspects[id - 1].name))
        agent_blind(n->agent, p->watch[id]);
    else
        agent_count(n->agent, p->watch[id], segment_tally(p->at, id).attempts, now);
}

static void count_attempts(struct node *n, int64_t now)
{
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        if (!p || p->slot < 0)
            continue;
        for (uint32_t id = 1; id < p->watched; id++)
            if (p->watch[id] >= 0)
                count_aspect(n, p, id, now);
    }
}

/* ---- Telling ----------------------------------------------------------------------------------------------------- */

static void tell_metrics(struct node *n)
{
    const struct experiment *e = n->options.experiment;
    for (uint32_t m = 0; m < e->metric_count; m++) {
        double value;
        if (agent_metric(n->agent, m, -1, &value))
            self_record_metric(e->metrics[m].name, e->nodes[n->options.node].name, value);
        for (uint32_t i = 0; i < external_process_count(n->external); i++) {
            const struct external_process *p = external_process(n->external, i);
            if (p && p->slot >= 0 && agent_metric(n->agent, m, p->slot, &value))
                self_record_metric(e->metrics[m].name, p->name, value);
        }
    }
}

static void tell_sample(struct node *n)
{
    const struct external_counts *c = external_counts(n->external);
    struct window *w = external_window(n->external);
    uint64_t at = window_oldest(w);
    struct window_packet *oldest = window_next(w, &at);
    struct packet_header h;
    int64_t age = 0;
    if (oldest && packet_get_header(oldest->data, oldest->bytes, &h) == 0)
        age = clock_now() - (int64_t)h.timestamp_end;
    self_record_sample(&(struct self_sample){.cpu_ns = clock_process_cpu(),
                                             .wakeups = n->wakeups,
                                             .records = (int64_t)c->records,
                                             .bytes = (int64_t)c->bytes,
                                             .window_bytes = (int64_t)window_waiting(w),
                                             .oldest_ns = age,
                                             .period_ns = n->policy.on ? n->effective_period : 0,
                                             .sensor_cpu = n->sensor_cpu});
}

static void tell_clock(struct node *n)
{
    const struct external_counts *c = external_counts(n->external);
    self_record_clock(&(struct self_clock){.kernel = (int64_t)c->clocks[SEGMENT_CLOCK_MONOTONIC],
                                           .counter = (int64_t)c->clocks[SEGMENT_CLOCK_COUNTER],
                                           .program = (int64_t)c->clocks[SEGMENT_CLOCK_USER],
                                           .error_ns = c->clock_error_ns,
                                           .jumps = (int64_t)c->clock_jumps,
                                           .clamped = (int64_t)c->clamped});
}

static void tell_limits(const struct agent_outcome *o)
{
    for (uint32_t i = 0; i < o->limit_count; i++)
        self_record_limit((int)i, &o->limits[i]);
}

/* ---- Sampling and adapting --------------------------------------------------------------------------------------- */

/* CPU of all our threads, and how long a poll really took to come round, since the sample before. */
static void measure(struct node *n, int64_t now)
{
    int64_t cpu = clock_process_cpu(), elapsed = now - n->sampled_at;
    if (elapsed <= 0)
        return;
    n->sensor_cpu = 100.0 * (double)(cpu - n->cpu_before) / (double)elapsed;
    n->effective_period = n->polls_since ? elapsed / n->polls_since : n->policy.period;
    n->sampled_at = now;
    n->cpu_before = cpu;
    n->polls_since = 0;
}

static void carry_out(struct node *n, const struct agent_outcome *o, int64_t now)
{
    n->policy = o->after;
    if (o->action == POLICY_KEEP)
        return;
    self_record_decision(o);
    external_collect(n->external, n->policy.on);
    if (!n->busy_wait && (n->poll_due > now + n->policy.period || o->action == POLICY_RESUME))
        n->poll_due = now + n->policy.period;
}

static void sample(struct node *n, int64_t now)
{
    measure(n, now);
    count_attempts(n, now);
    const struct agent_outcome *o = agent_step(n->agent, now, n->sensor_cpu);
    carry_out(n, o, now);
    if (o->limit_changed || now - n->limits_told >= CLOCK_S) {
        n->limits_told = now;
        tell_limits(o);
    }
    if (now >= n->sample_due) {
        n->sample_due = now + NODE_HOUSEKEEP;
        tell_sample(n);
    }
    if (now >= n->metric_due) {
        n->metric_due = now + CLOCK_S;
        tell_metrics(n);
        tell_clock(n);
    }
    n->agent_due += agent_period(n->agent);
    if (n->agent_due <= now)
        n->agent_due = now + agent_period(n->agent);
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

static enum message_daemon_state node_state(const struct node *n)
{
    if (forward_refused(n->forward))
        return DAEMON_FAILED;
    if (n->draining)
        return node_drained(n) ? DAEMON_DRAINED : DAEMON_DRAINING;
    return forward_connected(n->forward) ? DAEMON_ACTIVE : DAEMON_STARTING;
}

static void sum_losses(struct node *n, struct message_books_row *sum, int64_t *living)
{
    for (uint32_t i = 0; i < external_process_count(n->external); i++) {
        const struct external_process *p = external_process(n->external, i);
        if (!p || p->role != ROLE_SUT)
            continue;
        *living += p->phase == EXTERNAL_LIVE;
        for (uint32_t id = 1; p->at->dict && id <= p->at->dict->aspect_count; id++) {
            struct message_books_row row = segment_tally(p->at, id);
            sum->full += row.full;
            sum->off += row.off;
            sum->no_ring += row.no_ring;
        }
    }
}

static void fill_reply(struct node *n, struct message_reply *reply)
{
    const struct external_counts *c = external_counts(n->external);
    struct message_books_row lost = {0};
    int64_t living = 0;
    sum_losses(n, &lost, &living);
    reply->state = node_state(n);
    const char *refused = forward_refused(n->forward);
    snprintf(reply->text, sizeof reply->text, "%s", refused ? refused : "");
    if (!refused && c->broken_rings + c->broken_segments)
        snprintf(reply->text, sizeof reply->text,
                 "a process wrote into its segment what makes no sense, and is not read any further: the report tells "
                 "which");
    if (!refused && c->unread)
        snprintf(reply->text, sizeof reply->text,
                 "%llu processes were never read, there were too many at once: what they recorded is lost; raise the "
                 "limit of open files (ulimit -n)",
                 (unsigned long long)c->unread);
    message_reply_add(reply, "records", (int64_t)c->records);
    message_reply_add(reply, "bytes", (int64_t)c->bytes);
    message_reply_add(reply, "lost_full", (int64_t)lost.full);
    message_reply_add(reply, "lost_off", (int64_t)lost.off);
    message_reply_add(reply, "lost_no_ring", (int64_t)lost.no_ring);
    message_reply_add(reply, "period_ns", n->policy.on ? n->policy.period : 0);
    message_reply_add(reply, "sensor_cpu_milli", (int64_t)(n->sensor_cpu * 1000));
    message_reply_add(reply, "window_bytes", (int64_t)window_waiting(external_window(n->external)));
    message_reply_add(reply, "unacked", window_waiting(external_window(n->external)) != 0);
    message_reply_add(reply, "processes", living);
    message_reply_add(reply, "processes_seen", (int64_t)c->processes_seen);
    message_reply_add(reply, "connected", forward_connected(n->forward));
    message_reply_add(reply, "broken", (int64_t)(c->broken_rings + c->broken_segments));
}

static void answer(struct node *n, const struct link_peer *peer, struct message_command command)
{
    if (command.verb == VERB_DRAIN)
        node_drain(n);
    n->stopped = n->stopped || command.verb == VERB_STOP;
    n->message.type = MESSAGE_REPLY;
    n->message.reply = (struct message_reply){.id = command.id};
    fill_reply(n, &n->message.reply);
    steering_answer(&n->steering, n->external, &command, clock_now(), &n->message.reply);
    int size = message_encode(&n->message, n->bytes, sizeof n->bytes);
    if (size < 0 || link_send(n->control, peer, n->bytes, (size_t)size) != 0)
        log_warn("BEZEL-REPLY", "a reply could not be sent");
}

static void answer_commands(struct node *n)
{
    struct link_frame frame;
    for (int i = 0; i < NODE_COMMANDS_A_TURN && link_receive(n->control, &frame) == 0; i++) {
        struct link_peer peer = frame.peer;
        int err = message_decode(frame.data, frame.size, &n->message);
        link_frame_free(&frame);
        if (err || n->message.type != MESSAGE_COMMAND)
            log_warn("BEZEL-COMMAND", "what came over the control link is no command");
        else
            answer(n, &peer, n->message.command);
    }
}

/* ---- The loop ---------------------------------------------------------------------------------------------------- */

static void poll_rings(struct node *n, int64_t now)
{
    external_poll(n->external, now);
    n->polls_since++;
    if (n->busy_wait)
        return; /* due again at once */
    n->poll_due += n->policy.period;
    if (n->poll_due <= now) /* polls that were missed are not made up for */
        n->poll_due = now + n->policy.period;
}

void node_turn(struct node *n)
{
    int64_t now = clock_now();
    n->wakeups++;
    if (n->policy.on && !n->draining && now >= n->poll_due)
        poll_rings(n, now);
    if (!n->draining && now >= n->agent_due)
        sample(n, now);
    if (now >= n->housekeep_due || n->draining) {
        external_housekeep(n->external, now);
        n->housekeep_due = now + NODE_HOUSEKEEP;
    }
    forward_step(n->forward, now, external_finished(n->external));
    if (now >= n->control_due || n->draining) {
        answer_commands(n);
        n->control_due = now + NODE_CONTROL;
    }
}

static int64_t earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void node_wait(struct node *n, const int *fds, size_t fd_count)
{
    int64_t now = clock_now(), due = earliest(n->agent_due, n->housekeep_due);
    if (n->draining)
        due = now + CLOCK_MS;
    else if (n->policy.on)
        due = earliest(due, n->poll_due);
    bool busy = n->busy_wait && n->policy.on && !n->draining;
    if (busy || due - now < n->min_sleep)
        return;
    if (due - now > NODE_SLEEP_MAX || n->draining) {
        struct link *links[] = {n->control, forward_link(n->forward)};
        if (link_wait(links, 2, fds, fd_count, due - now) > 0)
            n->control_due = now;
        return;
    }
    clock_sleep_until(due);
}

void node_drain(struct node *n)
{
    if (n->draining)
        return;
    int64_t now = clock_now();
    external_housekeep(n->external, now); /* a process that has ended is not a silent one */
    sample(n, now);
    tell_limits(agent_step(n->agent, now, n->sensor_cpu));
    tell_sample(n);
    tell_clock(n);
    external_collect(n->external, true); /* what waits in the rings is drained, whatever the policy says */
    n->draining = true;
    external_finish(n->external, now);
}

bool node_drained(const struct node *n)
{
    return n->draining && forward_done(n->forward);
}

bool node_connected(const struct node *n)
{
    return forward_connected(n->forward);
}

const char *node_refused(const struct node *n)
{
    return forward_refused(n->forward);
}

bool node_stopped(const struct node *n)
{
    return n->stopped;
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

/* The shortest sleep of five tries: a wait shorter than this is spun. */
static int64_t measure_min_sleep(void)
{
    int64_t best = CLOCK_S;
    for (int i = 0; i < 5; i++) {
        int64_t before = clock_now();
        clock_sleep_until(before + CLOCK_US);
        best = earliest(best, clock_now() - before);
    }
    return best;
}

/* The trace's UUID: of run, node and boot, so that the next life of this daemon goes on with the same trace. */
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

static int open_external(struct node *n, const struct message_hello *hello)
{
    const struct experiment *e = n->options.experiment;
    struct external_options *x = calloc(1, sizeof *x);
    if (!x)
        return BEZEL_ENOMEM;
    x->dir = n->options.dir;
    memcpy(x->run, hello->run, sizeof x->run);
    memcpy(x->uuid, hello->uuid, sizeof x->uuid);
    x->window_bytes = e->sensing.window_bytes;
    x->batch = e->sensing.forward == FORWARD_BATCH;
    x->observer = (struct external_observer){n, observe_begin, observe_end, observe_watch, observe_record};
    x->rules = &n->steering.rules;
    choose_processes(&n->options, x);
    int err = external_open(x, &n->external);
    free(x);
    if (err == BEZEL_EBUSY)
        log_error("BEZEL-FOLDER-BUSY",
                  "another bezeld reads %s: wait for its run to end, or give the node a folder of its own (`dir:`)",
                  n->options.dir);
    else if (err == BEZEL_ENOSPC)
        log_error(
            "BEZEL-FOLDER-FULL",
            "no room in %s for a window of %s: enlarge its file system (a container: docker run --shm-size=1g), or "
            "make the window smaller (`sensing: window:`)",
            n->options.dir, units_bytes(e->sensing.window_bytes).s);
    else if (err)
        log_error("BEZEL-FOLDER", "cannot sense in %s: %s (%s); `bezel doctor` tells more", n->options.dir,
                  err_text(err), strerror(errno));
    return err;
}

int node_open(const struct node_options *options, struct node **out)
{
    struct node *n = calloc(1, sizeof *n);
    if (!n)
        return BEZEL_ENOMEM;
    n->options = *options;
    n->policy = policy_start(&options->experiment->adapt, options->experiment->sensing.period);
    n->busy_wait = options->experiment->sensing.mode == POLL_BUSY_WAIT;
    n->min_sleep = measure_min_sleep();
    struct message_hello hello = make_hello(options);
    int err = agent_new(options->experiment, options->node, &n->agent);
    if (!err)
        err = link_bind(options->control, MESSAGE_MAX_BYTES, &n->control);
    if (err)
        log_error("BEZEL-CONTROL", "cannot bind %s: %s", options->control, err_text(err));
    steering_open(&n->steering, options->experiment, options->dir, options->run);
    if (!err)
        err = open_external(n, &hello);
    if (!err && (err = forward_open(n->external, options->collector, &hello, &n->forward)) != 0)
        log_error("BEZEL-COLLECTOR", "cannot connect to %s: %s", options->collector, err_text(err));
    if (err) {
        node_close(n);
        return err;
    }
    bezel_thread_init(0);
    int64_t now = clock_now();
    n->poll_due = n->agent_due = n->sampled_at = n->housekeep_due = now;
    n->agent_due += agent_period(n->agent);
    n->metric_due = now + CLOCK_S;
    n->cpu_before = clock_process_cpu();
    n->effective_period = n->policy.period;
    tell_sample(n); /* what the daemon costs counts from here, however short the run */
    *out = n;
    return 0;
}

void node_close(struct node *n)
{
    bool clean = n->forward && forward_done(n->forward);
    link_close(n->control, 200);
    if (n->forward)
        forward_close(n->forward);
    if (n->external)
        external_close(n->external, clean);
    if (clean)
        steering_close(&n->steering);
    agent_free(n->agent);
    free(n);
}
