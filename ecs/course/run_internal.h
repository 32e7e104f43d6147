// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Shared by the files of `bezel run`: the state of `bezel run`, and the functions that drive its parts. */
#ifndef BEZEL_ECS_COURSE_RUN_INTERNAL_H
#define BEZEL_ECS_COURSE_RUN_INTERNAL_H

#include "base/lifetime.h"
#include "bezeld/launch/launcher.h"
#include "ecs/course/console.h"
#include "ecs/course/daemons.h"
#include "ecs/course/run.h"
#include "ecs/course/run_journal.h"
#include "ecs/course/run_state.h"
#include "ecs/course/rundir.h"
#include "ecs/course/snapshot_trigger.h"
#include "ecs/course/start_plan.h"
#include "ecs/course/sut_processes.h"

struct message_reply;
struct rundb;

enum { RUN_COMMANDS_MAX = 1000 /* of a trigger, in a run */ };

/** The command of a trigger (run_commands.c). */
struct run_command {
    bool runs;                   /* it was asked for, and has not ended */
    bool known;                  /* its launcher has said so */
    uint32_t node, started;      /* started: how many were asked for */
    uint64_t refused, failed;    /* firings while it ran, together with others, or too many; those that failed */
    uint64_t late;               /* firings as the run ended, for which neither command nor snapshot was begun */
    int64_t sent_at;             /* of the last START to a launcher elsewhere */
    uint32_t sent_id;            /* 0: none was sent */
    struct message_launched row; /* of the present one, or the last */
};

struct run_command_row {
    uint32_t node;
    struct message_launched row;
};

/** What a run is made of; all of it is borrowed. */
struct run_start {
    const struct experiment *e;
    const struct run_options *options;
    const char *text; /* of a new run: its file */
    size_t text_bytes;
    const char *path;                /* of one that is taken over: its directory, absolute, ... */
    const struct run_journal *taken; /* ... and its journal; NULL: it is a new one */
};

struct run {
    const struct experiment *e;
    const struct run_options *options;
    const char *path;
    const struct run_journal *taken; /* NULL: it is a new run */
    struct run_state state;
    struct console console;
    struct rundir dir;
    struct daemons daemons;
    struct sut_processes sut;
    struct launcher launcher;
    struct start_plan plan;  /* of the programs in `sut`, with the same indices */
    bool by_trigger;         /* one asked for its end, and nobody before */
    bool launching;          /* programs are to be started */
    int64_t launcher_queued; /* procstat_queued() at the last look, */
    int64_t looked;          /* which was then */
    bool launcher_lost;
    enum message_ending ending; /* how programs are ended, once they are */
    bool launch_pending;        /* a launcher did not take a program: soon again */
    bool undrained;             /* draining was given up */
    bool behind;                /* nothing has made up for that */
    bool store_unclean;         /* the collector last ended with an error or signal: run.db may lag behind the trace */
    uint64_t drain_mark;        /* changes when draining makes progress */
    struct snapshot_trigger trigger; /* of snapshots that triggers start */
    struct message_save save;        /* the latest of them */
    struct run_command commands[EXPERIMENT_TRIGGERS_MAX];
    size_t command_row_count;
    struct run_command_row *command_rows; /* of those that have ended; owned */
    int signals;
    struct lifetime_orders orders; /* by signals */
    int64_t next_status;
    int64_t begun;   /* this `bezel run` or `bezel attach`, ns */
    int64_t save_at; /* when to look whether the journal has to be written */
    uint64_t saved;  /* hash of what it contains */
    bool save_due;   /* after this turn */
    bool save_failed;
    int64_t names_after; /* when to look for names that nothing has, ns after the start; 0: not decided */
    bool names_told;
};

/** Runs or takes over a run, to its report. Returns the exit code. */
int run_drive(const struct run_start *start);

/** run_feed() feeds an event to the state machine and carries out its actions; run_act() carries out `actions`. */
void run_feed(struct run *r, const struct state_event *event);
void run_act(struct run *r, struct state_actions actions);

/** Process what the launcher of this machine, or the daemons, have sent. */
void run_take_launcher(struct run *r);
void run_take_daemons(struct run *r);

/* ---- run_names.c: names of the file that nothing has ------------------------------------------------------------- */

/** While the run goes on, looks whether there are any, and reports them once. */
void run_look_for_names(struct run *r, int64_t now);

/** The same at the end of the run. */
void run_tell_names(struct run *r);

/* ---- run_save.c: the journal ------------------------------------------------------------------------------------- */

/** Writes the journal, if it has changed. `lasting`: it is in stable storage then. */
void run_save(struct run *r, bool lasting);

/** The same, if the start of a program was sent in this turn, or after some time. */
void run_save_changes(struct run *r);

/** Fills in boot and host of this machine. */
void run_describe_host(struct run_journal *j);

/** Sets the state of a run that is taken over, before its first turn. Returns 0 with *actions, or an error. */
int run_restore(struct run *r, struct state_actions *actions) BEZEL_MUST_CHECK;

/** Takes lock, epoch and private folder of a run that is taken over. Returns 0, or a logged error (run_attach.c). */
int run_take_directory(struct run *r) BEZEL_MUST_CHECK;

/* ---- run_commands.c: commands of triggers ------------------------------------------------------------------------ */

/** Trigger f->trigger fired `times` times on node `node`: has its command started there, once, unless one runs. */
void run_command_fire(struct run *r, uint32_t node, const struct message_firing *f, uint64_t times);

/** Asks launchers elsewhere again that have not answered. */
void run_commands_ask(struct run *r);

/** Takes what a launcher says of a program. False: it is no command of a trigger. */
bool run_command_take(struct run *r, const struct message_launched *row);

/** Takes a refusal of node `node`; -1: of the launcher of this machine. False: it is of no command. */
bool run_command_refused(struct run *r, int node, const struct message_reply *reply);

/** Records how they ended. Returns 0 or an error. */
int run_commands_put(struct run *r, struct rundb *f) BEZEL_MUST_CHECK;

/* ---- run_launch.c: programs -------------------------------------------------------------------------------------- */

/** Writes when the run started, for all that read it from now on: before a program is started. */
void run_put_start(struct run *r);

/** Has those started whose turn it is. Returns whether that is to be tried again soon. */
bool run_launch(struct run *r);

/** Has the launcher of this machine end all programs. */
void run_end_programs(struct run *r, enum message_ending how);

/** Kills the rest of the SUT when its launcher is gone: all descendants of this process but the daemons. */
bool run_finish_tree(struct run *r);

/** Kills the launcher of this machine and all that it has started, if it has not said that nothing is left. */
void run_kill_launcher(struct run *r);

/** Asks the launchers of remote nodes what has changed, and for output. */
void run_ask_launchers(struct run *r);

/** Takes what daemon `d` of `run` replied. Returns whether it was about programs. */
bool run_take_launched(void *run, uint32_t d, const struct message *m);

/** Looks whether program `i` is ready. Returns whether it has to be looked again soon (run_ready.c). */
bool run_look_whether_ready(struct run *r, size_t i, int64_t now);

/** Takes the answer to that of daemon `d`. Returns whether `reply` is one. */
bool run_take_records(struct run *r, uint32_t d, const struct message_reply *reply);

/** At the end of RUNNING: says which programs were never started, and fails the run for them. */
void run_report_unstarted(struct run *r);

/** Counts the programs of a lost node as ended. */
void run_lose_programs(struct run *r, uint32_t node);

#endif
