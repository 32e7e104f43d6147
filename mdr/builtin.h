// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Built-in aspects: the monitor's records about itself, in the same trace. Only this table defines them. It makes the
 * structs, bezeld's dictionary and its records (bezeld/node/own_trace.c), the tables of run.db, and the code that
 * writes, compares, clears (run/rundb/rundb_builtin.c) and reads their rows.
 *
 * The collector finds a built-in aspect by its name and the types of its fields, in processes of role DAEMON. A row of
 * its table has the fields as columns, in their order, behind two of its own: `node` or `daemon`, which is the row of
 * the node or of the process that recorded it, and `at`, ns of the node's monotonic clock.
 */
#ifndef BEZEL_MDR_BUILTIN_H
#define BEZEL_MDR_BUILTIN_H

#include "mdr/dict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off */

/*
 * ASPECT(NAME, name, table of run.db, whose row it is: NODE or DAEMON, which rows stay). EVERY record is a row, or the
 * LATEST of those that agree in node or daemon and in the KEYs. Ids in bezeld's dictionary count from 1 in this order.
 */
#define BUILTINS(ASPECT)                                                                                               \
    ASPECT(USAGE,       usage,       "usage",        DAEMON, EVERY)                                                    \
    ASPECT(LIMIT,       limit,       "limits",       DAEMON, LATEST)                                                   \
    ASPECT(DECISION,    decision,    "decisions",    NODE,   EVERY)                                                    \
    ASPECT(METRIC,      metric,      "metrics",      NODE,   EVERY)                                                    \
    ASPECT(CLOCKS,      clocks,      "clocks",       DAEMON, LATEST)                                                   \
    ASPECT(POLLING,     polling,     "polling",      NODE,   EVERY)                                                    \
    ASPECT(TOTALS,      totals,      "totals",       DAEMON, EVERY)                                                    \
    ASPECT(EXPIRED,     expired,     "expired",      DAEMON, LATEST)                                                   \
    ASPECT(KNOB,        knob,        "knobs",        NODE,   EVERY)                                                    \
    ASPECT(SNAPSHOT,    snapshot,    "snapshots",    DAEMON, LATEST)                                                   \
    ASPECT(OBSERVATION, observation, "observations", NODE,   EVERY)                                                    \
    ASPECT(CONCLUSION,  conclusion,  "conclusions",  NODE,   EVERY)                                                    \
    ASPECT(SETPOINTS,   setpoints,   "setpoints",    DAEMON, LATEST)                                                   \
    ASPECT(EXCHANGE,    exchange,    "exchanges",    NODE,   EVERY)                                                    \
    ASPECT(THREAD,      thread,      "threads",      NODE,   EVERY)                                                    \
    ASPECT(TRIGGER,     trigger,     "triggers",     NODE,   EVERY)                                                    \
    ASPECT(REDUCED,     reduced,     "reductions",   DAEMON, EVERY)                                                    \
    ASPECT(OPEN,        open,        "open_spans",   NODE,   EVERY)                                                    \
    ASPECT(ENDING,      ending,      "endings",      NODE,   EVERY) /* a new one is the last: rundb_renew() */

/*
 * Fields: FIELD or KEY(INT, FLOAT, ENUM or TEXT; name; unit, or labels of an ENUM; a sentence). A time is ns of the
 * node's monotonic clock. A FLOAT that is unknown is NaN, and NULL in run.db.
 */

/** What the daemon did and cost; every agent period, at least every second. Counters are cumulative. */
#define BUILTIN_USAGE_FIELDS(KEY, FIELD)                                                                               \
    FIELD(INT,   cpu,        "ns", "CPU time of all threads")                                                          \
    FIELD(INT,   wakeups,    "1",  "wake-ups")                                                                         \
    FIELD(INT,   records,    "1",  "records of programs that were put into packets")                                               \
    FIELD(INT,   bytes,      "B",  "bytes of all packets, with those of the monitor's own records")                                                           \
    FIELD(INT,   window,     "B",  "bytes that wait for their acknowledgement now")                                    \
    FIELD(INT,   oldest,     "ns", "age of the oldest packet of these; 0: there is none")                              \
    FIELD(INT,   period,     "ns", "mean time between two polls since the sample before; 0: off, or unknown")          \
    FIELD(FLOAT, sensor_cpu, "%",  "of one CPU, since the sample before")                                              \
    FIELD(INT,   worst,      "ns", "the longest time between two polls since the sample before")

/**
 * A limit of a node; at every change of state, every second and at the end. Cumulative over one life of the daemon; of
 * a limit over all nodes, over one life of the manager.
 */
#define BUILTIN_LIMIT_FIELDS(KEY, FIELD)                                                                               \
    KEY(  INT,   limit,         "1",           "index in the experiment's list")                                       \
    FIELD(ENUM,  state,         LABELS_STATE,  "its state")                                                            \
    FIELD(FLOAT, value,         "1",           "value now")                                                            \
    FIELD(FLOAT, worst,         "1",           "worst value since it is judged")                                       \
    FIELD(INT,   settling,      "ns",          "time for which adaptation settled")                                    \
    FIELD(INT,   held,          "ns",          "time for which it held")                                               \
    FIELD(INT,   violated,      "ns",          "time for which it was violated")                                       \
    FIELD(INT,   unknown,       "ns",          "time for which it was unknown")                                        \
    FIELD(INT,   last_violated, "ns",          "time of its last violation; 0: never")                                 \
    FIELD(INT,   unjudged,      "ns",          "part of `unknown`: it is open, for the instants are too far apart, or nobody saw the records") \
    KEY(  INT,   epoch,         "1",           "of the manager that judged it, of a limit over all nodes; else 0")

/** A decision of the policy that changed something. */
#define BUILTIN_DECISION_FIELDS(KEY, FIELD)                                                                            \
    FIELD(ENUM,  policy,   LABELS_POLICY,   "the policy")                                                              \
    FIELD(ENUM,  action,   LABELS_ACTION,   "its action")                                                              \
    FIELD(INT,   before,   "ns",            "polling period before; 0: off")                                           \
    FIELD(INT,   after,    "ns",            "polling period after; 0: off")                                            \
    FIELD(INT,   cause,    "1",             "index of the limit in violation; -1: none")                               \
    FIELD(ENUM,  by,       LABELS_DECIDER,  "the node's own agent, or the resource manager")                           \
    FIELD(INT,   epoch,    "1",             "of the manager whose setpoint the node applied last; 0: none")            \
    FIELD(INT,   sequence, "1",             "number of that setpoint")

/**
 * The dead time of the loop over the collector, as values of metrics, which have no such names: ns since the newest record
 * in the value that a setpoint was decided by, until the collector had it, the manager decided, and the node applied a
 * setpoint that changed something, or got one that did not.
 */
#define BUILTIN_LOOP           "loop:"
#define BUILTIN_LOOP_COLLECTED BUILTIN_LOOP "collected"
#define BUILTIN_LOOP_DECIDED   BUILTIN_LOOP "decided"
#define BUILTIN_LOOP_APPLIED   BUILTIN_LOOP "applied"
#define BUILTIN_LOOP_RENEWED   BUILTIN_LOOP "renewed"

/** The value of a metric; every second. */
#define BUILTIN_METRIC_FIELDS(KEY, FIELD)                                                                              \
    FIELD(TEXT,  metric,  "1",   "its name")                                                                           \
    FIELD(TEXT,  process, "1",   "name of the process; the node's name where the metric is not per process")           \
    FIELD(FLOAT, value,   "1/s", "its value")

/** How exact this node's times are; every second and at the end. Cumulative, over one life of the daemon. */
#define BUILTIN_CLOCKS_FIELDS(KEY, FIELD)                                                                              \
    FIELD(INT,   kernel,  "1",  "processes of the SUT whose records were stamped with CLOCK_MONOTONIC")                \
    FIELD(INT,   counter, "1",  "those stamped with the processor's counter")                                          \
    FIELD(INT,   program, "1",  "those stamped with a clock of their own")                                             \
    FIELD(INT,   error,   "ns", "bound of the error of times that were converted to CLOCK_MONOTONIC; 0: none was")     \
    FIELD(INT,   jumps,   "1",  "jumps of clocks that were in use")                                                    \
    FIELD(INT,   clamped, "1",  "times of records that lay in the future, or before the record before, and were moved")

/** How the node polls from now on; at the start, and where an operator changes it. */
#define BUILTIN_POLLING_FIELDS(KEY, FIELD)                                                                             \
    FIELD(ENUM,  cause,   LABELS_POLLING, "why it polls so (see BUILTIN_POLLINGS)")                                    \
    FIELD(INT,   period,  "ns",           "in force; decisions move it from there")                                    \
    FIELD(ENUM,  mode,    LABELS_MODE,    "how the daemon waits")                                                      \
    FIELD(ENUM,  forward, LABELS_FORWARD, "forwarding policy")                                                         \
    FIELD(INT,   batch,   "1",            "records that a poll takes at most; 0: all that wait")

/**
 * What the node's processes of the SUT produced and what became of it; every second and at the end. Cumulative over the
 * run, but for what is under way now and `backpressure`, which is of one life of the daemon.
 */
#define BUILTIN_TOTALS_FIELDS(KEY, FIELD)                                                                              \
    FIELD(INT,   produced,     "1", "records that they tried to write")                                                \
    FIELD(INT,   full,         "1", "lost, the ring was full")                                                         \
    FIELD(INT,   off,          "1", "lost, collection was off")                                                        \
    FIELD(INT,   no_ring,      "1", "lost, the thread had no ring")                                                    \
    FIELD(INT,   overwritten,  "1", "lost, newer records took their place, as far as snapshots have shown")            \
    FIELD(INT,   in_rings,     "1", "neither lost nor in a packet yet")                                                \
    FIELD(INT,   in_window,    "1", "in a packet that is still in the window")                                         \
    FIELD(INT,   backpressure, "1", "polls that left records in a ring because the window was full")                   \
    FIELD(INT,   window,       "1", "lost, the ring was full because the window was")                                  \
    FIELD(INT,   spool,        "1", "lost likewise, and the spool was full too")

/**
 * Records of an aspect that has a latency bound (sensing.expire); every second and at the end, where there are new
 * ones. Cumulative, over one life of the daemon.
 */
#define BUILTIN_EXPIRED_FIELDS(KEY, FIELD)                                                                             \
    FIELD(TEXT,  process,  "1",  "name of the process")                                                                \
    KEY(  TEXT,  aspect,   "1",  "name of the aspect")                                                                 \
    KEY(  INT,   instance, "1",  "of the process")                                                                     \
    FIELD(INT,   bound,    "ns", "the latency bound")                                                                  \
    FIELD(INT,   taken,    "1",  "records that the external sensor took")                                              \
    FIELD(INT,   expired,  "1",  "those of them that were older than the bound when they were taken")

/** A knob of a process that was set, or found set by a daemon before this one; or that the process has (declared). */
#define BUILTIN_KNOB_FIELDS(KEY, FIELD)                                                                                \
    FIELD(TEXT,  process,  "1",           "name of the process")                                                       \
    FIELD(TEXT,  knob,     "1",           "name of the knob")                                                          \
    FIELD(TEXT,  unit,     "1",           "unit of the knob")                                                          \
    FIELD(INT,   instance, "1",           "of the process")                                                            \
    FIELD(ENUM,  cause,    LABELS_SETTER, "who set it; found so at a restart; brought back at the end; or its value where it was found")     \
    FIELD(INT,   before,   "1",           "value before")                                                              \
    FIELD(INT,   after,    "1",           "value after")                                                               \
    FIELD(INT,   limit,    "1",           "index of the limit that a manager or agent set it for; else -1")            \
    FIELD(FLOAT, value,    "1",           "of that limit's metric when it was decided")                                \
    FIELD(INT,   epoch,    "1",           "of the manager that decided it; else 0")                                    \
    FIELD(INT,   sequence, "1",           "number of that manager's setpoint; else 0")

/** A snapshot of flight recorders on this node; at its begin, every second and at its end. The last one is complete. */
#define BUILTIN_SNAPSHOT_FIELDS(KEY, FIELD)                                                                            \
    FIELD(TEXT,  origin,    "1",          "node where the limit was violated; an operator's: none")                    \
    KEY(  INT,   number,    "1",          "of the run's snapshots that triggers requested, from 1; an operator's: 0")    \
    FIELD(INT,   limit,     "1",          "index of the limit; an operator's: -1; of a trigger without limit: -2 less its index")                                     \
    FIELD(FLOAT, value,     "1",          "of the limit's metric then")                                                \
    KEY(  INT,   moment,    "ns",         "time of the violation, or of the operator's command")                       \
    FIELD(INT,   duration,  "ns",         "time that it lasts from then, by the file")                                 \
    FIELD(INT,   records,   "1",          "that this life of the daemon saved so far")                                 \
    FIELD(INT,   processes, "1",          "processes whose rings overwrite")                                           \
    FIELD(INT,   first,     "ns",         "time of the oldest of these records; 0: there is none")                     \
    FIELD(INT,   last,      "ns",         "time of the newest")                                                        \
    FIELD(ENUM,  state,     LABELS_SAVED, "whether it is over")

/** A limit at a sampling instant, as the policy saw it; every second where nothing changes. */
#define BUILTIN_OBSERVATION_FIELDS(KEY, FIELD)                                                                         \
    FIELD(INT,   limit, "1",          "index in the experiment's list")                                                \
    FIELD(ENUM,  state, LABELS_STATE, "its state")                                                                     \
    FIELD(FLOAT, value, "1",          "of the process furthest from holding it")                                       \
    FIELD(INT,   gap,   "ns",         "time before it that was not judged; 0: none; negative: all since the daemon before judged, or if none did, for so long")

/** What the policy finds or does beyond the polling period; each time that it changes. */
#define BUILTIN_CONCLUSION_FIELDS(KEY, FIELD)                                                                          \
    FIELD(ENUM,  what,   LABELS_CONCLUSION, "see BUILTIN_CONCLUSIONS")                                                 \
    FIELD(INT,   holds,  "1",               "1: it is so from now on; 0: no longer")                                   \
    FIELD(INT,   limit,  "1",               "index of the limit that it is about; -1: none")                           \
    FIELD(FLOAT, needed, "%",               "of one CPU, what monitoring needs; of `saturated`: see there")            \
    FIELD(FLOAT, budget, "%",               "of one CPU, what monitoring may use; of `saturated`: see there")          \
    FIELD(INT,   floor,  "1",               "of `load-shedding` and `saturated`: see there")

/**
 * What a node did with the setpoints of its manager; every second that it changed and at the end. Cumulative, over one
 * life of the daemon.
 */
#define BUILTIN_SETPOINTS_FIELDS(KEY, FIELD)                                                                           \
    FIELD(INT,   epoch,    "1", "of the manager whose setpoint the node applied last; 0: none")                        \
    FIELD(INT,   applied,  "1", "setpoints that were applied")                                                         \
    FIELD(INT,   expired,  "1", "not applied: too late, of another life, or overridden by an operator")                \
    FIELD(INT,   outdated, "1", "not applied: of a manager that another one followed")                                 \
    FIELD(INT,   repeated, "1", "not applied: the same or a later one had come before")                                \
    FIELD(INT,   clamped,  "1", "applied, after they were moved into the bounds of the file")                          \
    FIELD(INT,   lost,     "1", "how often the manager was lost")                                                      \
    FIELD(INT,   unsent,   "1", "observations that could not be sent to it")

/** An exchange of times with the collector, whose clock is another one (docs/CLOCKS.md). */
#define BUILTIN_EXCHANGE_FIELDS(KEY, FIELD)                                                                            \
    FIELD(INT,   clock,    "1",  "the collector's clock: its identity, shortened")                                     \
    FIELD(INT,   sent,     "ns", "when the node asked")                                                                \
    FIELD(INT,   arrived,  "ns", "when the question arrived, on the collector's clock")                                \
    FIELD(INT,   answered, "ns", "when the answer went out, on the collector's clock")                                 \
    FIELD(INT,   received, "ns", "when the answer arrived")                                                            \
    FIELD(INT,   own,      "ns", "by how much CLOCK_REALTIME was ahead then, on the node")                             \
    FIELD(INT,   own_error, "ns", "bound of the error of that; -1: nothing keeps CLOCK_REALTIME")                      \
    FIELD(INT,   peer,     "ns", "the same on the collector's machine")                                                \
    FIELD(INT,   peer_error, "ns", "bound of the error of that; -1: nothing keeps CLOCK_REALTIME")

/** The name of a thread: recorded when the daemon finds the thread, and within a second of a change of its name. */
#define BUILTIN_THREAD_FIELDS(KEY, FIELD)                                                                              \
    FIELD(TEXT,  process,  "1", "name of the process")                                                                 \
    FIELD(INT,   instance, "1", "of the process")                                                                      \
    FIELD(INT,   thread,   "1", "thread id, as in the packets of its ring")                                            \
    FIELD(TEXT,  name,     "1", "its name from then on; none: it has another one, beyond the names that are kept")

/**
 * A firing of a trigger, when its actions were done; what a firing did for some time, when that is undone; and the
 * counts of each trigger at the end of a life of the daemon.
 */
#define BUILTIN_TRIGGER_FIELDS(KEY, FIELD)                                                                             \
    FIELD(INT,   trigger,    "1",             "index in the experiment's list; those of `on-violation` stand behind the others")    \
    FIELD(ENUM,  event,      LABELS_TRIGGER,  "see BUILTIN_TRIGGERS")                                                  \
    FIELD(TEXT,  process,    "1",             "name of the process whose record completed the condition; else none")   \
    FIELD(INT,   moment,     "ns",            "time of that record, or when a violation or silence had lasted long enough") \
    FIELD(FLOAT, value,      "1",             "of the field that is compared, or of the limit's metric")                \
    FIELD(INT,   latency,    "ns",            "from `moment` until the node's actions were done")                      \
    FIELD(INT,   suppressed, "1",             "reasons to fire since the firing before, which came too soon")          \
    FIELD(INT,   looked,     "1",             "records that were looked at so far; of a limit: instants at which it was known") \
    FIELD(TEXT,  done,       "1",             "what was done, and what of it failed")                                  \
    FIELD(TEXT,  mark,       "1",             "the file's text for it; none: it has none")

/**
 * Records of an aspect whose records end at a reducer, its node (sensing.keep); recorded behind the values that have
 * them. Cumulative over the session of the process, whatever lives the daemon has.
 */
#define BUILTIN_REDUCED_FIELDS(KEY, FIELD)                                                                             \
    FIELD(TEXT,  process,  "1", "name of the process")                                                                 \
    FIELD(TEXT,  aspect,   "1", "name of the aspect")                                                                  \
    FIELD(INT,   instance, "1", "of the process")                                                                      \
    FIELD(INT,   taken,    "1", "records that the reducer took")                                                       \
    FIELD(INT,   handed,   "1", "those of them of which it has handed on values")                                      \
    FIELD(INT,   lost,     "1", "those that were lost with a daemon, which had not handed them on when it was killed")

/**
 * A wait or long span of a program that has lasted for a second and is open, and its end; or one that was open when its
 * process ended. One that has no later record is open still, or was at the end of the run.
 */
#define BUILTIN_OPEN_FIELDS(KEY, FIELD)                                                                                \
    FIELD(TEXT,  process,  "1",         "name of the process")                                                         \
    FIELD(INT,   instance, "1",         "of the process")                                                              \
    FIELD(INT,   place,    "1",         "no two spans of a process that are open at a time have the same")             \
    FIELD(INT,   thread,   "1",         "id of the thread that began it")                                              \
    FIELD(TEXT,  aspect,   "1",         "name of the aspect")                                                          \
    FIELD(TEXT,  reason,   "1",         "what it waits for: message, lock, io, timer or other; none: it does not wait") \
    FIELD(INT,   since,    "ns",        "when it began; 0: not known")                                                 \
    FIELD(ENUM,  state,    LABELS_OPEN, "see BUILTIN_OPENS")

/** How the daemon stopped observing a process of the SUT; its time is when the daemon found that. */
#define BUILTIN_ENDING_FIELDS(KEY, FIELD)                                                                              \
    FIELD(TEXT,  process,  "1",            "name of the process")                                                      \
    FIELD(INT,   instance, "1",            "of the process")                                                           \
    FIELD(INT,   seen,     "ns",           "when it was there for certain, the latest; 0: not known")                  \
    FIELD(ENUM,  way,      LABELS_ENDING,  "see BUILTIN_ENDINGS")

/* Labels of enums that others define, in their order: tests/unit/builtin.c compares them. */
#define LABELS_STATE   "unknown|held|violated"                           /* enum limit_state */
#define LABELS_POLICY  "none"                                            /* bezeld adds its own: EXPERIMENT_POLICIES */
#define LABELS_ACTION  "keep|shorten|lengthen|off|resume"                /* enum policy_action */
#define LABELS_MODE    "polling|busy-wait"                               /* enum message_poll_mode */
#define LABELS_FORWARD "batch|collect"                                   /* enum message_poll_forward */
#define LABELS_SAVED   "goes_on|over"                                    /* bool */

/** Who decided how the node polls: its own agent, or the resource manager. */
#define BUILTIN_DECIDERS(LABEL)                                                                                        \
    LABEL(DECIDED_BY_AGENT,   "agent")                                                                                 \
    LABEL(DECIDED_BY_MANAGER, "manager")

/** Why a node polls as it does: the file, an operator, an operator in a life of the daemon before this one. */
#define BUILTIN_POLLINGS(LABEL)                                                                                        \
    LABEL(POLLING_BY_START,    "start")                                                                                \
    LABEL(POLLING_BY_OPERATOR, "operator")                                                                             \
    LABEL(POLLING_BY_KEPT,     "kept")                                                                                 \
    LABEL(POLLING_BY_TRIGGER,  "trigger")

/**
 * Who set a knob; `kept`: found so by this life of the daemon; `end`: set back at the end of the run; `declared`: nobody,
 * the daemon found that a process has it. Recorded only where the file steers knobs, to know which there are.
 */
#define BUILTIN_SETTERS(LABEL)                                                                                         \
    LABEL(SET_BY_OPERATOR, "operator")                                                                                 \
    LABEL(SET_BY_MANAGER,  "manager")                                                                                  \
    LABEL(SET_BY_AGENT,    "agent")                                                                                    \
    LABEL(SET_BY_KEPT,     "kept")                                                                                     \
    LABEL(SET_BY_END,      "end")                                                                                      \
    LABEL(SET_BY_NONE,     "declared")                                                                                 \
    LABEL(SET_BY_TRIGGER,  "trigger")

/** Of a trigger: it fired; what it had changed for some time is undone; its counts when the daemon ends. */
#define BUILTIN_TRIGGERS(LABEL)                                                                                        \
    LABEL(TRIGGER_FIRED,  "fired")                                                                                     \
    LABEL(TRIGGER_UNDONE, "undone")                                                                                    \
    LABEL(TRIGGER_ENDS,   "ends")

/** Of a wait or long span: it is open; it is not any more; it was when its process ended (enum external_open_state). */
#define BUILTIN_OPENS(LABEL)                                                                                           \
    LABEL(OPEN_NOW,   "open")                                                                                          \
    LABEL(OPEN_ENDED, "ended")                                                                                         \
    LABEL(OPEN_LEFT,  "left")

/**
 * Of a process: not known, for a signal ended it, _exit(2), or an exit that hung for a second (of older libbezel,
 * always); exit(3) or quick_exit(3); it executed another program; it goes on, and is not observed any more.
 */
#define BUILTIN_ENDINGS(LABEL)                                                                                         \
    LABEL(ENDING_UNKNOWN, "unknown")                                                                                   \
    LABEL(ENDING_EXIT,    "exit")                                                                                      \
    LABEL(ENDING_EXEC,    "exec")                                                                                      \
    LABEL(ENDING_NONE,    "none")

/**
 * Conclusions. Of `load-shedding` aspects of an importance below `floor` are only counted. Of `saturated` `floor` is
 * the index of the knob, `needed` the value of the limit's metric, and `budget` the value where the knob's range ends.
 */
#define BUILTIN_CONCLUSIONS(LABEL)                                                                                     \
    LABEL(CONCLUSION_INFEASIBLE,       "infeasible")       /* the budget is less than what monitoring needs */         \
    LABEL(CONCLUSION_NOT_THE_MONITORS, "not-the-monitors") /* a quality is violated whether the node polls or not */   \
    LABEL(CONCLUSION_STARVED,          "starved")          /* polling as often as it may, and records late or lost */  \
    LABEL(CONCLUSION_LOAD_SHEDDING,    "load-shedding")    /* the least important aspects are only counted */          \
    LABEL(CONCLUSION_VIOLATED,         "violated")         /* a limit is, for the first time since it is judged */     \
    LABEL(CONCLUSION_SATURATED,        "saturated")        /* a knob is at the end of its range, its limit violated */

/* clang-format on */

#define BUILTIN_LABEL_ENUM(NAME, label) NAME,
enum builtin_decider { BUILTIN_DECIDERS(BUILTIN_LABEL_ENUM) };
enum builtin_poller { BUILTIN_POLLINGS(BUILTIN_LABEL_ENUM) };
enum builtin_setter { BUILTIN_SETTERS(BUILTIN_LABEL_ENUM) };
enum builtin_trigger_event { BUILTIN_TRIGGERS(BUILTIN_LABEL_ENUM) };
enum builtin_open_state { BUILTIN_OPENS(BUILTIN_LABEL_ENUM) };
enum builtin_ending_way { BUILTIN_ENDINGS(BUILTIN_LABEL_ENUM) };
enum builtin_conclusion_kind { BUILTIN_CONCLUSIONS(BUILTIN_LABEL_ENUM) };

#define BUILTIN_ENUM(NAME, name, table, owner, rows) BUILTIN_##NAME,
enum builtin { BUILTINS(BUILTIN_ENUM) BUILTIN_COUNT };

/*
 * struct builtin_<name>: a record. `node` and `at` are the reader's: index of the node and time. A writer leaves them
 * out, for its records have both anyway.
 */
#define BUILTIN_TYPE_INT                           int64_t
#define BUILTIN_TYPE_FLOAT                         double
#define BUILTIN_TYPE_ENUM                          int
#define BUILTIN_TYPE_TEXT                          const char *
#define BUILTIN_MEMBER(type, name, unit, sentence) BUILTIN_TYPE_##type name;
#define BUILTIN_STRUCT(NAME, name, table, owner, rows)                                                                 \
    struct builtin_##name {                                                                                            \
        uint32_t node;                                                                                                 \
        int64_t at;                                                                                                    \
        BUILTIN_##NAME##_FIELDS(BUILTIN_MEMBER, BUILTIN_MEMBER)                                                        \
    };
BUILTINS(BUILTIN_STRUCT)

/** The aspects as a dictionary has them, by enum builtin. */
extern const struct dict_aspect builtin_aspects[BUILTIN_COUNT];

/** The places of an aspect's fields in its struct, and of its rows in run.db. */
struct builtin_layout {
    const char *table, *owner; /* of run.db; its first column: "node" or "daemon" */
    bool latest;               /* else every record is a row */
    size_t size;               /* of the struct */
    size_t offsets[DICT_FIELDS_MAX];
    bool keys[DICT_FIELDS_MAX];
};
const struct builtin_layout *builtin_layout(enum builtin b);

/** The label of a value of these enums; "?" for a value without one. */
const char *builtin_conclusion_name(int what);
const char *builtin_setter_name(int cause);

#endif
