// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Types of messages, and parts of them that files, tables and other structs hold too: roles, states of processes and
 * daemons, the position of a stream, the row of an aspect in the books, who leads, a process and its sender as they are
 * introduced, settings, programs that are launched, and what an answer tells. A header includes this one instead of
 * mdr/message.h, of which only a file needs all that encodes, decodes or fills in a message.
 */
#ifndef BEZEL_MDR_PARTS_H
#define BEZEL_MDR_PARTS_H

#include "base/err.h"
#include "mdr/bounds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum message_type {
    MESSAGE_HELLO = 1,
    MESSAGE_WELCOME = 2,
    MESSAGE_REFUSE = 3,
    MESSAGE_PROCESS = 4,
    MESSAGE_NEED_PROCESS = 5,
    MESSAGE_ACK = 6,
    MESSAGE_BOOKS = 7,
    MESSAGE_HEARTBEAT = 8,
    MESSAGE_BYE = 9,
    MESSAGE_NOTE = 10,
    MESSAGE_CLOCK = 11,
    MESSAGE_WATERMARK = 12,
    MESSAGE_DIRECT = 13,
    MESSAGE_COMMAND = 20,
    MESSAGE_REPLY = 21,
    MESSAGE_WATCH = 22,
    MESSAGE_OBSERVATION = 23,
    MESSAGE_SETPOINT = 24,
    MESSAGE_PARTIALS = 25,
    MESSAGE_JUDGEMENT = 26,
    MESSAGE_LAUNCH = 27,
    MESSAGE_VALUES = 28,
    MESSAGE_LOOP = 29,
};

enum message_role { ROLE_SUT = 0, ROLE_DAEMON = 1 };
/* LEFT: it lived when its bezeld ended, and the run had not ended in order: what it recorded since then is unknown. */
enum message_process_state { PROCESS_RUNNING = 0, PROCESS_ENDED = 1, PROCESS_DETACHED = 2, PROCESS_LEFT = 3 };

enum message_daemon_state {
    DAEMON_STARTING = 0,
    DAEMON_ACTIVE = 1,
    DAEMON_DRAINING = 2,
    DAEMON_DRAINED = 3,
    DAEMON_FAILED = 4,
    DAEMON_PAUSED = 5
};
enum message_launched_state { LAUNCHED_RUNS = 0, LAUNCHED_ENDED = 1, LAUNCHED_FAILED = 2, LAUNCHED_LOST = 3 };

/** Position of a stream: what is expected next, and what was lost before it (mdr_position). */
struct message_position {
    uint64_t instance;
    uint32_t ring;
    uint64_t next_seq, next_ordinal, discarded;
};

struct message_books_row {
    uint32_t aspect;
    uint64_t attempts, full, off, no_ring, window, spool;
};

/** Identifies a resource manager or a `bezel run`: of several, the one with the greatest epoch counts. */
struct message_leadership {
    uint64_t epoch;  /* 0: none */
    uint64_t holder; /* drawn at random: distinguishes those of the same epoch */
};

enum message_verb {
    VERB_CONFIGURE = 0,
    VERB_START = 1,
    VERB_PAUSE = 2,
    VERB_RESUME = 3,
    VERB_STOP = 4,
    VERB_QUERY = 5,
    VERB_SET = 6,
    VERB_SHUTDOWN = 7,
    VERB_SNAPSHOT = 8,
    VERB_SAVE = 9,
    VERB_ENDING = 10,
    VERB_DISCARD = 11
};

/** Who sends a message of control, and to whom (mdr_envelope). */
struct message_envelope {
    uint8_t source[16], run[16];
    char node[MESSAGE_NAME_MAX + 1]; /* empty: a daemon as a whole */
    uint64_t life;                   /* of the daemon that takes a COMMAND, or sends a REPLY */
};

struct message_hello {
    uint8_t run[16], clock[16], uuid[16]; /* clock: clock_identity() */
    char node[MESSAGE_NAME_MAX + 1];
    int64_t realtime_offset; /* ns */
    uint32_t pid;
    uint64_t attempt; /* greater than in all earlier HELLOs of this trace, those of earlier lives included */
};

struct message_refuse {
    char reason[MESSAGE_TEXT_MAX + 1];
};

struct message_process {
    uint64_t instance;
    uint32_t stream_id, pid;
    enum message_role role;
    bool overwrites; /* its full rings overwrite */
    char name[MESSAGE_NAME_MAX + 1];
    char program[MESSAGE_TEXT_MAX + 1];
    uint64_t started; /* ns, monotonic */
    uint32_t dictionary_bytes;
    uint8_t dictionary[MESSAGE_DICT_MAX];
};

struct message_heartbeat {
    uint64_t at; /* ns, monotonic */
};

enum message_poll_mode { POLL_MODE_POLLING = 0, POLL_MODE_BUSY_WAIT = 1 };
enum message_poll_forward { POLL_FORWARD_BATCH = 0, POLL_FORWARD_COLLECT = 1 };
enum message_poll_given {
    POLL_GIVES_PERIOD = 1,
    POLL_GIVES_MODE = 2,
    POLL_GIVES_FORWARD = 4,
    POLL_GIVES_BATCH = 8,
    POLL_GIVES_ALL = 15
};

/** Polling settings for a node, at least one. One that is not given is 0 and stays as it is. */
struct message_poll {
    uint32_t given;     /* sum of enum message_poll_given */
    uint64_t period_ns; /* 1 us .. 10 s */
    enum message_poll_mode mode;
    enum message_poll_forward forward;
    uint32_t batch; /* records that a poll takes at most; 0: all that wait */
};

/** A snapshot of the run that a trigger requested. */
struct message_save {
    uint32_t number;                 /* of the run's snapshots, from 1 */
    uint32_t trigger;                /* in the experiment's list */
    char node[MESSAGE_NAME_MAX + 1]; /* where it fired; not empty */
    uint64_t at;                     /* when, ns of CLOCK_REALTIME */
    uint64_t left;                   /* how long to go on after the arrival, ns */
    double value;                    /* as in message_firing */
};

enum message_ending { END_TERM = 0, END_INTERRUPTED = 1, END_KILL = 2 };

/** A program of the experiment; an empty name: of the daemon, which goes to work. */
struct message_start {
    char process[MESSAGE_NAME_MAX + 1]; /* with the number of its instance */
    uint32_t incarnation;               /* from 1, and one more at each restart */
};

#define MESSAGE_STAGE_SILENCE "silence"
#define MESSAGE_STAGE_TIMEOUT "timeout"

/** A program that a launcher started, or was to start (mdr_launched). Times in ns of the node's clock. */
struct message_launched {
    struct message_start of;
    enum message_launched_state state;
    bool ready;                        /* it listens at the port that it is to listen at */
    uint32_t pid;                      /* 0: it was not started */
    int32_t status;                    /* of one that ended, as of waitpid() */
    int32_t error;                     /* errno of what failed; 0: nothing */
    char stage[MESSAGE_STAGE_MAX + 1]; /* what failed: "exec"; while it runs: a setting; ended: "silence", "timeout" */
    int64_t started, ended;            /* ended 0: it runs */
    uint64_t user_ns, system_ns;       /* CPU time, with its children that it waited for; 0 until it ended */
    uint64_t memory;                   /* the most bytes that were resident */
    uint64_t output, dropped;          /* bytes that it wrote: spooled, and without space */
};

struct message_launched_list {
    uint64_t change; /* of the last row: `since` of the command that lists what changes later */
    bool more;       /* that command lists more now */
    bool empty;      /* no program runs, and no process that one of them left behind */
    uint32_t left;   /* processes that got SIGTERM when all programs had ended */
    uint32_t count;
    struct message_launched rows[MESSAGE_LAUNCHED_MAX]; /* in the order of their last changes */
};

/** Output of a program that a launcher spools. */
struct message_output {
    uint64_t offset; /* of the first byte; greater than asked for if earlier bytes are not kept any more */
    bool last;       /* nothing follows, now or later */
    uint32_t count;
    uint8_t bytes[MESSAGE_OUTPUT_MAX];
};

enum message_launch_output {
    LAUNCH_OUTPUT_FILE = 0,      /* appended to a file */
    LAUNCH_OUTPUT_SPOOL = 1,     /* kept by the launcher */
    LAUNCH_OUTPUT_INHERITED = 2, /* the launcher's own */
    LAUNCH_OUTPUT_STDERR = 3     /* the launcher's standard error, for both */
};

enum message_rlimit {
    RLIMIT_OF_CPU = 0, /* s */
    RLIMIT_OF_MEMORY,  /* bytes of address space, as the sizes below */
    RLIMIT_OF_FILES,
    RLIMIT_OF_FILE_SIZE,
    RLIMIT_OF_CORE,
    RLIMIT_OF_STACK,
    RLIMIT_OF_LOCKED,
    RLIMIT_OF_PROCESSES,
    RLIMIT_OF_REAL_TIME, /* the highest real-time priority */
    RLIMITS_OF
};

/** WENT_ON: none, since its last process ended behind the last instant, with a record in between. */
enum message_partial_state {
    PARTIAL_UNKNOWN = 0,
    PARTIAL_NONE = 1,
    PARTIAL_KNOWN = 2,
    PARTIAL_OPEN = 3,
    PARTIAL_WENT_ON = 4
};

/** What a node contributes to the value of a global limit (config/experiment.h: enum experiment_join). */
struct message_partial {
    uint32_t limit;                   /* index in the experiment's list */
    enum message_partial_state state; /* none: it contributes nothing, but with others what ended processes left */
    double value;  /* for a quotient: the numerator; of a sum that is unknown: it is at least so much, if above 0; of a
                    * least or largest value that is unknown: that of a part of the window, if not 0 */
    double over;   /* the denominator; else 0 */
    double unsure; /* half-width of the uncertainty of `value` */
    /* ns since the last record of its aspect; 0: there is one since the last instant, or one of another aspect while
     * that is not for long, or it reads no aspect, or there is none yet */
    int64_t silent;
    uint32_t buckets; /* of its histogram, for a quantile; else 0 */
};

/** A trigger that asks for something: its firings in this life of the daemon, and of the latest one: */
struct message_firing {
    uint32_t trigger;                   /* index in the experiment's list */
    uint64_t count;                     /* 1 or more */
    int64_t at;                         /* ns of CLOCK_REALTIME */
    int64_t age;                        /* ns since then, 0 or more */
    double value;                       /* of a limit's metric, or the field that is compared; NaN: none */
    char process[MESSAGE_NAME_MAX + 1]; /* whose record completed the condition; empty: none */
};

struct message_books {
    uint64_t instance; /* 0: the node's own */
    enum message_process_state state;
    uint64_t at; /* ns, monotonic */
    uint64_t unfinished;
    uint64_t unobserved; /* processes that record and are not observed: its children, or the node's; never falls */
    uint32_t row_count;
    struct message_books_row rows[MESSAGE_BOOKS_MAX];
};

/** A note for the operator about a process, or about the node if `name` is empty. */
struct message_note {
    uint64_t instance; /* 0: the note is not about a process with a segment */
    uint32_t pid;      /* as the process saw itself; 0: unknown */
    char name[MESSAGE_NAME_MAX + 1];
    uint64_t at; /* ns, monotonic: when the daemon noticed it */
    char code[MESSAGE_NAME_MAX + 1];
    char text[MESSAGE_TEXT_MAX + 1];
};

enum message_answer {
    ANSWER_REFUSED = 0, /* the command was not carried out; the text says why. Likewise: */
    ANSWER_STALE = 1,   /* it is for another life of the daemon, came after its deadline, or repeats an old one */
    ANSWER_ABSENT = 2,  /* there is no session of this run and node */
    ANSWER_WAITING = 3, /* to CONFIGURE: the session does not reach its collector yet; the text says why */
    ANSWER_SESSION = 4,
    ANSWER_BEZELD = 5,
    ANSWER_NODE = 6,
    ANSWER_COLLECTOR = 7,
    ANSWER_MANAGER = 8,
    ANSWER_SAVED = 9,
    ANSWER_ASPECTS = 10,
    ANSWER_POLL = 11,
    ANSWER_KNOBS = 12, /* struct message_knob_list, beside the reply because it is large */
    ANSWER_KNOB_SET = 13,
    ANSWER_SESSIONS = 14,  /* struct message_session_list, likewise */
    ANSWER_PROCESSES = 15, /* struct message_launched_list, likewise */
    ANSWER_OUTPUT = 16,    /* struct message_output, likewise */
    ANSWER_RECORDS = 17,
    ANSWER_TAKEN = 18,   /* as ANSWER_REFUSED: the sender is not the owner of the session any more */
    ANSWER_SEGMENTS = 19 /* struct message_segment_list, likewise */
};

/**
 * Copies `from` into the max + 1 bytes at `to` as a text for a message: truncated after the last complete character,
 * and with \xHH in place of bytes that are not UTF-8. For names and paths that come from outside.
 */
void message_text(char *to, size_t max, const char *from);

#endif
