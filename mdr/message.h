// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Messages between the parts of Bezel, as structs in memory; libtirpc converts them to and from the bytes that
 * mdr/mdr.x defines. Structs own all their storage (fixed arrays, bounded by mdr.x), so that decoding allocates
 * nothing; but they are large: keep one per thread, not on the stack. Texts are NUL-terminated UTF-8. Functions here
 * are pure and thread-safe.
 */
#ifndef BEZEL_MDR_MESSAGE_H
#define BEZEL_MDR_MESSAGE_H

#include "base/err.h"
#include "mdr/bounds.h"
#include "mdr/parts.h"

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
enum message_subject {
    SUBJECT_STATE = 0,
    SUBJECT_POLL = 1,
    SUBJECT_ASPECTS = 2,
    SUBJECT_KNOBS = 3,
    SUBJECT_SESSIONS = 4,
    SUBJECT_PROCESSES = 5,
    SUBJECT_OUTPUT = 6,
    SUBJECT_RECORDS = 7,
    SUBJECT_SEGMENTS = 8
};
enum message_ending { END_TERM = 0, END_INTERRUPTED = 1, END_KILL = 2 };
enum message_aspect_mode { ASPECT_ON = 0, ASPECT_COUNT = 1, ASPECT_OFF = 2 };
enum message_poll_mode { POLL_MODE_POLLING = 0, POLL_MODE_BUSY_WAIT = 1 };
enum message_poll_forward { POLL_FORWARD_BATCH = 0, POLL_FORWARD_COLLECT = 1 };
enum message_poll_given {
    POLL_GIVES_PERIOD = 1,
    POLL_GIVES_MODE = 2,
    POLL_GIVES_FORWARD = 4,
    POLL_GIVES_BATCH = 8,
    POLL_GIVES_ALL = 15
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

struct message_welcome {
    uint64_t credit_bytes; /* 0: the receiver sets no bound */
    bool more;
    uint8_t clock[16];   /* clock_identity() of the receiver */
    uint32_t clock_port; /* of its link for exchanges of times; 0: none */
    uint32_t stream_count;
    struct message_position streams[MESSAGE_ROWS_MAX];
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

struct message_need_process {
    uint64_t instance;
};

struct message_ack {
    uint32_t stream_count;
    struct message_position streams[MESSAGE_ROWS_MAX];
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

struct message_heartbeat {
    uint64_t at; /* ns, monotonic */
};

struct message_watermark {
    uint64_t low; /* ns, monotonic: every record of the node before it was sent before this message */
};

/** Packets could pass directly (mdr/uplink/direct.h), or the answer. */
struct message_direct {
    uint64_t attempt, proof;
    bool agreed;
    char text[MESSAGE_TEXT_MAX + 1]; /* the folder; of an answer, why not */
};

/** A question for the time, of which only `number` counts, or its answer (mdr_clock). */
struct message_clock {
    uint64_t number;            /* of the question; the answer repeats it */
    uint8_t identity[16];       /* clock_identity() of who answers */
    uint64_t arrived, answered; /* the question, and the answer; ns of that clock */
    int64_t ahead, error;       /* its struct clock_wall; error -1: nothing keeps CLOCK_REALTIME there */
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

/** Polling settings for a node, at least one. One that is not given is 0 and stays as it is. */
struct message_poll {
    uint32_t given;     /* sum of enum message_poll_given */
    uint64_t period_ns; /* 1 us .. 10 s */
    enum message_poll_mode mode;
    enum message_poll_forward forward;
    uint32_t batch; /* records that a poll takes at most; 0: all that wait */
};

enum message_knob_action { KNOB_SET = 0, KNOB_RESET = 1 };

struct message_knob {
    enum message_knob_action action;
    char process[MESSAGE_NAME_MAX + 1]; /* empty: all that have the knob */
    char name[MESSAGE_NAME_MAX + 1];
    int32_t value; /* for KNOB_SET */
};

/** A snapshot of the run that a limit requested. */
struct message_save {
    uint32_t number;                 /* of the run's snapshots, from 1 */
    uint32_t limit;                  /* in the experiment's list */
    char node[MESSAGE_NAME_MAX + 1]; /* where the limit was violated; not empty */
    uint64_t at;                     /* when, ns of CLOCK_REALTIME */
    uint64_t left;                   /* how long to go on after the arrival, ns */
    double value;                    /* the value of the limit's metric then; NaN: unknown */
};

/** A program of the experiment; an empty name: of the daemon, which goes to work. */
struct message_start {
    char process[MESSAGE_NAME_MAX + 1]; /* with the number of its instance */
    uint32_t incarnation;               /* from 1, and one more at each restart */
};

struct message_command {
    uint32_t id;                     /* mdr/command/command_caller.h chooses it, ... */
    uint64_t deadline;               /* ... and this: ns of the receiver's clock; ... */
    struct message_leadership owner; /* ... and this: the `bezel run` that sends it; of others the epoch is 0 */
    enum message_verb verb;
    enum message_subject subject; /* for VERB_QUERY and VERB_SET only */
    uint32_t from; /* for VERB_QUERY of knobs and files: the lowest number to list; of a file: its number */
    /* for VERB_SET only, by its subject: */
    enum message_aspect_mode mode;
    char patterns[MESSAGE_PATTERNS_MAX + 1]; /* separated by one blank */
    struct message_poll poll;
    struct message_knob knob;
    struct message_save save;   /* for VERB_SAVE only */
    struct message_start start; /* for VERB_START, and for VERB_QUERY of output */
    enum message_ending ending; /* for VERB_ENDING only */
    uint64_t since;             /* for VERB_QUERY of processes: the change after which to list */
    uint64_t offset;            /* for VERB_QUERY of output: bytes that the asker has */
    char process[MESSAGE_NAME_MAX + 1], aspect[MESSAGE_NAME_MAX + 1]; /* for VERB_QUERY of records only */
    char folder[MESSAGE_TEXT_MAX + 1]; /* for VERB_QUERY of segments: see mdr_segments_query. Likewise: */
    uint64_t after;
};

/** The session that VERB_CONFIGURE requests of a bezeld. A member beside the command, because it is large. */
struct message_configure {
    char folder[MESSAGE_TEXT_MAX + 1];
    char collector[MESSAGE_TEXT_MAX + 1];
    char experiment[MESSAGE_EXPERIMENT_MAX + 1];
};

/** How a resource manager decides for the node. */
struct message_managed {
    bool held;        /* the node applies its SETPOINTs now */
    uint64_t epoch;   /* of the manager that it follows, or followed last; 0: none */
    uint64_t applied; /* SETPOINTs */
};

/** Violations of limits with `on-violation` on a node in this life of the daemon: their number, and the latest one. */
struct message_violation {
    uint64_t count;
    uint32_t limit; /* index in the experiment's list */
    int64_t at;     /* ns of CLOCK_REALTIME */
    int64_t age;    /* ns since then, 0 or more */
    double value;   /* of the limit's metric; NaN: unknown */
};

/** How a node's packets reach its collector now: not at all, by the link, or out of its window. */
enum message_way { MESSAGE_WAY_NONE = 0, MESSAGE_WAY_LINK = 1, MESSAGE_WAY_DIRECT = 2 };

struct message_node_status {
    uint64_t records;
    uint64_t lost_full, lost_off, lost_no_ring, lost_window, lost_spool; /* as in struct message_books_row */
    uint64_t window_bytes, spool_bytes;                                  /* not acknowledged; in the spool */
    uint32_t processes;                                                  /* of the SUT, that live */
    uint64_t processes_seen;
    uint64_t period_ns; /* 0: polling is off */
    bool stop_wanted;   /* somebody else than the session's `bezel run` has sent STOP: the run is to end */
    struct message_managed manager;
    struct message_violation violation;
    enum message_way way;
};

struct message_collector_status {
    uint64_t records, bytes, packets, discarded, refused;
    uint64_t over_rate;    /* how often a node exceeded its rate */
    uint64_t unidentified; /* connections that ended without a HELLO */
    uint32_t peers;        /* connections that sent one */
    uint64_t streams, processes, nodes;
    int32_t store_errno; /* why the store fails at present; 0: it works */
    uint32_t port;       /* of its data link; 0: that is over ipc */
    uint64_t expired;    /* of `packets`: those that expired from the store; their records and bytes */
    uint64_t expired_records, expired_bytes;
};

struct message_manager_status {
    uint64_t epoch, observations, decisions, setpoints;
    uint32_t reached; /* nodes that it hears */
};

/** What SNAPSHOT saved from living processes whose rings overwrite. */
struct message_saved {
    uint32_t records, processes;
    uint32_t behind; /* processes some of whose records found no room yet; those follow by themselves */
};

/** What the patterns of ASPECTS match among living processes. */
struct message_matched {
    uint32_t aspects, processes;
};

/** The polling settings in force. */
struct message_polling {
    bool on;
    uint64_t period_ns;
    enum message_poll_mode mode;
    enum message_poll_forward forward;
    uint32_t batch;
    uint64_t effective_ns, worst_ns; /* from poll to poll, in the last interval; 0: not measured */
};

struct message_knob_state {
    uint64_t instance;
    uint32_t pid;
    char process[MESSAGE_NAME_MAX + 1], name[MESSAGE_NAME_MAX + 1], unit[MESSAGE_NAME_MAX + 1];
    int32_t value, min, max, initial;
};

struct message_knob_list {
    uint32_t next; /* `from` of the command that lists the rest; 0: these are all */
    uint32_t count;
    struct message_knob_state knobs[MESSAGE_LISTED_MAX];
};

/** A session of a bezeld, and who requested it. */
struct message_session {
    uint8_t run[16];
    char experiment[MESSAGE_NAME_MAX + 1], node[MESSAGE_NAME_MAX + 1];
    enum message_daemon_state state;
    uint32_t processes;                                         /* of the SUT, that live */
    char host[MESSAGE_NAME_MAX + 1], key[MESSAGE_NAME_MAX + 1]; /* "": over ipc */
};

struct message_session_list {
    uint32_t count;
    struct message_session sessions[MESSAGE_SESSIONS_MAX];
};

#define MESSAGE_STAGE_SILENCE "silence"

/** A program that a launcher started, or was to start (mdr_launched). Times in ns of the node's clock. */
struct message_launched {
    struct message_start of;
    enum message_launched_state state;
    bool ready;                        /* it listens at the port that it is to listen at */
    uint32_t pid;                      /* 0: it was not started */
    int32_t status;                    /* of one that ended, as of waitpid() */
    int32_t error;                     /* errno of what failed; 0: nothing */
    char stage[MESSAGE_STAGE_MAX + 1]; /* what failed: "exec"; while it runs: a setting; ended: "silence" */
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

/** A process that records, as its segment says: nobody vouches for it (mdr_segment). */
struct message_segment {
    uint64_t instance;
    uint8_t run[16]; /* that reads it; zeros: nobody does */
    uint32_t pid;    /* 0: of another pid namespace than the bezeld's */
    uint64_t age_ns;
    uint64_t records; /* that it tried to write */
    char name[MESSAGE_NAME_MAX + 1];
};

struct message_segment_list {
    char folder[MESSAGE_TEXT_MAX + 1]; /* that was listed; "": there is none left */
    uint64_t next;                     /* `after` of the command that goes on in this folder; 0: it is complete */
    uint32_t count;
    struct message_segment rows[MESSAGE_SEGMENTS_MAX]; /* in the order of their instances */
};

struct message_reply {
    uint32_t id; /* of the command; 0: the daemon sends it unasked */
    uint64_t at; /* when it was sent, ns of the daemon's clock */
    enum message_daemon_state state;
    char text[MESSAGE_TEXT_MAX + 1]; /* a sentence for the operator where something is wrong; else empty */
    enum message_answer answer;
    union {
        bool begun;        /* the session was begun in this life of the daemon */
        uint32_t sessions; /* of a bezeld */
        struct message_node_status node;
        struct message_collector_status collector;
        struct message_manager_status manager;
        struct message_saved saved;
        struct message_matched matched;
        struct message_polling polling;
        uint32_t knob_set; /* processes in which the knob was set */
        uint64_t records;  /* of the aspect, that the process tried to write */
    };
};

enum message_limit_state { MESSAGE_LIMIT_UNKNOWN = 0, MESSAGE_LIMIT_HELD = 1, MESSAGE_LIMIT_VIOLATED = 2 };

struct message_observed {
    uint32_t limit; /* index in the experiment's list */
    enum message_limit_state state;
    double value;
};

/** The state of a steered knob in the node's programs. */
struct message_steered {
    uint32_t knob;      /* index in the experiment's list */
    int32_t value;      /* of one of the programs, if several have the knob */
    int32_t min, max;   /* range that is valid in all of them */
    int32_t baseline;   /* the initial value, or what an operator set */
    uint32_t overrides; /* how often an operator did */
};

/** A decision about a knob. */
struct message_steer {
    uint32_t knob;
    bool given; /* set the knob to `value`; else leave it alone */
    int32_t value;
    int32_t cause;  /* index of the limit that the decision is for; -1: none */
    double metric;  /* the value of that limit's metric; NaN: unknown */
    bool saturated; /* at the end of its range, and the limit is violated */
};

/** A node's observation for its resource manager. Times in ns; CPU use in percent of one CPU; NaN: unknown. */
struct message_observation {
    uint64_t life; /* of the daemon: greater than in its earlier lives */
    uint64_t at;   /* when it was sent, on the node's clock; a SETPOINT that answers it repeats this */
    uint64_t step; /* sampling instants so far; all measurements are of the last one */
    struct message_leadership leadership; /* of the manager that it follows */
    uint64_t sequence;                    /* of the SETPOINT of that manager that it applied last; 0: none */
    bool on;                              /* the polling settings in force, with period_ns */
    uint64_t period_ns;
    uint64_t desired_ns; /* the period that the experiment or an operator set */
    uint32_t overrides;  /* how often an operator set it */
    uint32_t levels;     /* how many levels of importance load shedding may give up */
    uint32_t shed;       /* how many are given up now, the least important ones first */
    bool settled;        /* these settings were in force during the whole measured interval */
    double cpu, polls, records;
    int64_t elapsed; /* ns that these cover; 0: nothing was measured */
    uint32_t limit_count;
    struct message_observed limits[MESSAGE_LIMITS_MAX];
    uint32_t knob_count;
    struct message_steered knobs[MESSAGE_KNOBS_MAX];
};

enum message_infeasible { MESSAGE_FEASIBLE = 0, MESSAGE_INFEASIBLE = 1, MESSAGE_INFEASIBLE_GLOBAL = 2 };

/** A resource manager's decision on how a node polls and sets its knobs. */
struct message_setpoint {
    struct message_leadership leadership; /* the sender's */
    uint64_t sequence;                    /* number of the SETPOINT from this manager to this node, from 1 */
    uint64_t life, answers;               /* of the observation that it answers; its `at` */
    uint64_t expiry;                      /* ns after `answers`: the SETPOINT is not applied any later */
    uint64_t lasts; /* ns after `answers`: the manager is lost if no other SETPOINT arrives by then */
    bool on;
    uint64_t period_ns;
    int32_t cause; /* index of a limit in violation; -1: none */
    enum message_infeasible infeasible;
    double needed, budget; /* percent of one CPU; 0 where it is feasible */
    bool not_the_monitors; /* a quality is violated, and polling less does not help */
    bool starved;          /* records are late or lost, and the node may not poll more often */
    uint32_t shed;         /* how many levels of importance to give up, the least important ones first */
    uint32_t knob_count;
    struct message_steer knobs[MESSAGE_KNOBS_MAX];
};

enum message_partial_state { PARTIAL_UNKNOWN = 0, PARTIAL_NONE = 1, PARTIAL_KNOWN = 2 };

/** What a node contributes to the value of a global limit (config/experiment.h: enum experiment_join). */
struct message_partial {
    uint32_t limit;                   /* index in the experiment's list */
    enum message_partial_state state; /* none: this node contributes nothing */
    double value;                     /* for a quotient: the numerator */
    double over;                      /* the denominator; else 0 */
    double unsure;                    /* half-width of the uncertainty of `value` */
    /* ns since the last record of its aspect; 0: there is one since the last instant, or it reads no aspect */
    int64_t silent;
};

/** The node's partials at its sampling instant `step`. life and at: as in struct message_observation. */
struct message_partials {
    uint64_t life, at, step;
    uint32_t count;
    struct message_partial list[MESSAGE_LIMITS_MAX];
};

/** A manager's judgement of a global limit, cumulative over the manager's life (resmgr/agent/agent.h). Times in ns. */
struct message_judged {
    uint32_t limit;
    enum message_limit_state state;
    double value, worst; /* NaN: unknown, or none */
    int64_t settling, held, violated, unknown;
    int64_t ago;          /* since the last instant in violation; -1: there was none */
    int64_t doubtful;     /* part of `violated` that counts as unknown if the run ends now */
    int64_t trusted_ago;  /* `ago` without that part */
    double trusted_worst; /* `worst` without that part */
};

/** Judgements of all global limits, for the reporter to record. */
struct message_judgement {
    struct message_leadership leadership;    /* the sender's */
    uint64_t sequence;                       /* number of the JUDGEMENT from this manager, from 1 */
    uint64_t missing[MESSAGE_MISSING_WORDS]; /* bit i % 64 of word i / 64: node i is missing */
    uint32_t count;
    struct message_judged list[MESSAGE_LIMITS_MAX];
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

/** A program that a launcher is to start (mdr_launch). */
struct message_launch {
    uint32_t id;
    struct message_start of;
    uint64_t grace_ns;   /* from SIGTERM to SIGKILL when the programs are ended */
    uint64_t silence_ns; /* without a command after which the launcher ends them; 0: for ever */
    enum message_launch_output output;
    bool foreground;                /* keeps the launcher's terminal and standard input */
    uint32_t port;                  /* that it is to listen at; 0: none */
    int64_t limits[RLIMITS_OF];     /* soft and hard; -1: as the launcher's */
    uint32_t arguments;             /* 1 or more */
    uint32_t variables;             /* NAME=value */
    uint32_t text_bytes;            /* in `texts`, each text ended by a NUL: executable file, working directory, ... */
    char texts[MESSAGE_LAUNCH_MAX]; /* ... file of the output, arguments, variables; the first three may be empty */
};

enum { MESSAGE_LAUNCH_TEXTS = 3 /* before the arguments */ };

struct message {
    enum message_type type;
    struct message_envelope envelope; /* of control messages: MESSAGE_COMMAND and above */
    union {
        struct message_hello hello;
        struct message_welcome welcome;
        struct message_refuse refuse;
        struct message_process process;
        struct message_need_process need_process;
        struct message_ack ack;
        struct message_books books;
        struct message_heartbeat heartbeat;
        struct message_watermark watermark;
        struct message_direct direct;
        struct message_note note;
        struct message_clock clock;
        struct {
            struct message_command command;
            struct message_configure configure;
        };
        struct {
            struct message_reply reply;
            union {
                struct message_knob_list knobs;
                struct message_session_list sessions;
                struct message_launched_list launched;
                struct message_output output;
                struct message_segment_list segments;
            };
        };
        struct message_observation observation;
        struct message_setpoint setpoint;
        struct message_partials partials;
        struct message_judgement judgement;
        struct message_launch launch;
    };
};

/**
 * Encodes `m` into the `capacity` bytes at `out`. Returns the number of bytes (a multiple of 4), BEZEL_EFULL if they do
 * not fit, BEZEL_EINVAL if a count, enum or text of `m` exceeds its bound.
 */
int message_encode(const struct message *m, uint8_t *out, size_t capacity) BEZEL_MUST_CHECK;

/**
 * Decodes the message in the `n` bytes at `in`, of any alignment. Trailing bytes, non-zero padding, unknown enum
 * values, booleans other than 0 and 1, texts that are not UTF-8, and counts above their bounds are malformed. Returns
 * 0; BEZEL_EMALFORMED, and *m is undefined; or BEZEL_EVERSION if the message has another version: then *m is a REFUSE,
 * either the message itself (REFUSE has the same layout in all versions) or the answer to it.
 */
int message_decode(const void *in, size_t n, struct message *m) BEZEL_MUST_CHECK;

/** The type of the message in the `n` bytes at `in`, of any version, which may be malformed otherwise; -1: none. */
int message_type_of(const void *in, size_t n);

/**
 * Copies `from` into the max + 1 bytes at `to` as a text for a message: truncated after the last complete character,
 * and with \xHH in place of bytes that are not UTF-8. For names and paths that come from outside.
 */
void message_text(char *to, size_t max, const char *from);

#endif
