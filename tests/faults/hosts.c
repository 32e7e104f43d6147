// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The system under test on another host, started there by bezel-launcher: the line to it is cut in every phase of the
 * run, its daemons are killed, it is powered off, and `bezel run` is killed.
 */
#include "tests/faults/faults.h"
#include "tests/faults/remote.h"
#include "tests/lib/patience.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SILENCE_S 6

/* False: a host cannot be made here. */
static bool make(struct bed *b, const struct bed_options *o, unsigned round)
{
    struct bed_options remote = *o;
    struct bed_result before = round ? b->result : (struct bed_result){0};
    remote.remote = remote.keys = true;
    remote.silence_s = SILENCE_S * (unsigned)test_scale();
    remote.seed = o->seed + round;
    bed_make(b, &remote);
    bool absent = b->result.absent;
    b->result = before;
    b->result.absent = absent;
    return !absent;
}

/* For far less than the silence after which the node ends its programs: `bezel run` takes seconds to connect again. */
static void cut(struct bed *b)
{
    remote_cut(b);
    bed_nap(b, 2000);
    remote_mend(b);
    b->result.tried++;
}

static void cut_soon(struct bed *b)
{
    bed_nap(b, 300);
    cut(b);
}

static void try_cut_at_start(struct bed *b, const struct bed_options *o, const void *of)
{
    struct bed_options starting = *o;
    (void)of;
    starting.meanwhile = cut_soon;
    for (unsigned i = 0; i < o->rounds; i++) {
        if (!make(b, &starting, i))
            return;
        b->result.tried++;
        bed_await_progress(b, 2000);
        bed_end(b, "0");
    }
}

static void try_cut(struct bed *b, const struct bed_options *o, const void *of)
{
    (void)of;
    if (!make(b, o, 0))
        return;
    for (unsigned i = 0; i < o->rounds; i++) {
        bed_nap(b, 300);
        cut(b);
        bed_await_progress(b, 2000);
    }
    bed_end(b, "0");
}

static void try_cut_draining(struct bed *b, const struct bed_options *o, const void *of)
{
    (void)of;
    for (unsigned i = 0; i < o->rounds; i++) {
        if (!make(b, o, i))
            return;
        bed_nap(b, 100);
        kill(b->run, SIGINT);
        bed_nap(b, 60);
        cut(b);
        bed_end_alone(b, "0");
    }
}

/* What is killed is started again. */
static void try_kill(struct bed *b, const struct bed_options *o, const void *of)
{
    bool of_bezeld = strcmp(of, "bezeld") == 0;
    if (!make(b, o, 0))
        return;
    for (unsigned i = 0; i < o->rounds; i++) {
        bed_nap(b, 300);
        (of_bezeld ? remote_kill_bezeld : remote_kill_service)(b);
        bed_nap(b, 300);
        (of_bezeld ? remote_start_bezeld : remote_start_service)(b);
        b->result.tried++;
        bed_await_progress(b, 2000);
    }
    bed_end(b, "0");
}

/* Its programs end with it, and the run has failed. */
static void try_kill_launcher(struct bed *b, const struct bed_options *o, const void *of)
{
    (void)of;
    for (unsigned i = 0; i < o->rounds; i++) {
        if (!make(b, o, i))
            return;
        bed_nap(b, 300);
        remote_kill_launcher(b);
        b->result.tried++;
        bed_end_alone(b, "1");
    }
}

static void expect_unknown(struct bed *b)
{
    if (b->result.unknown == 0)
        bed_fail(b, "nothing is unknown, though records were made that could not be stored");
}

/* What was not stored by then is unknown, and the report says so. */
static void try_power_off(struct bed *b, const struct bed_options *o, const void *of)
{
    struct bed_options lost = *o;
    (void)of;
    lost.may_lack = true;
    for (unsigned i = 0; i < o->rounds; i++) {
        if (!make(b, &lost, i))
            return;
        bed_nap(b, 300);
        remote_power_off(b);
        b->result.tried++;
        bed_end_alone(b, "1");
        expect_unknown(b);
    }
}

/* The node ends the programs by itself; what was not stored by then is unknown. */
static void try_kill_run(struct bed *b, const struct bed_options *o, const void *of)
{
    struct bed_options lost = *o;
    (void)of;
    lost.may_lack = true;
    for (unsigned i = 0; i < o->rounds; i++) {
        if (!make(b, &lost, i))
            return;
        bed_nap(b, 300);
        kill(b->run, SIGKILL);
        b->result.tried++;
        bed_await(b, remote_is_idle, "the programs on the other host have ended");
        bed_end_killed(b);
        expect_unknown(b);
    }
}

static bool is_taken_over(struct bed *b)
{
    char text[64];
    snprintf(text, sizeof text, "`bezel attach` (pid %d) has taken the run over", (int)b->run);
    return bed_said(b, text);
}

/* Within the silence: nothing is missing. An attach is killed too, before it has taken over or after. */
static void try_attach(struct bed *b, const struct bed_options *o, const void *of)
{
    (void)of;
    if (!make(b, o, 0))
        return;
    for (unsigned i = 0; i < o->rounds; i++) {
        bed_nap(b, 300);
        kill(b->run, SIGKILL);
        b->result.tried++;
        bed_nap(b, 1000);
        bed_attach(b);
        if (bed_draw(b, 2))
            bed_await(b, is_taken_over, "the run is taken over");
    }
    bed_await(b, is_taken_over, "the run is taken over");
    bed_await_progress(b, 2000);
    bed_end(b, "0");
}

const struct fault faults_hosts[] = {
    {"line to a remote node cut, while it starts", try_cut_at_start, NULL, 2, 20},
    {"line to a remote node cut", try_cut, NULL, 2, 50},
    {"line to a remote node cut, while draining", try_cut_draining, NULL, 2, 20},
    {"kill -9 of a remote bezeld", try_kill, "bezeld", 4, 40},
    {"kill -9 of bezel-launcher", try_kill, "bezel-launcher", 4, 40},
    {"kill -9 of the launcher of a remote session", try_kill_launcher, NULL, 2, 20},
    {"remote host powered off", try_power_off, NULL, 1, 20},
    {"kill -9 of bezel run, with a remote node", try_kill_run, NULL, 1, 20},
    {"kill -9 of bezel run, with a remote node, and bezel attach", try_attach, NULL, 2, 20},
    {0},
};
