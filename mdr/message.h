// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Messages between the parts of Bezel: structs in memory, mdr.x's bytes on the wire, libtirpc between the two. Structs
 * own all their storage (fixed arrays, bounded by mdr.x), so that decoding allocates nothing; but they are large: keep
 * one per thread, not on the stack. Texts are NUL-terminated UTF-8. Functions here are pure and thread-safe.
 */
#ifndef BEZEL_MDR_MESSAGE_H
#define BEZEL_MDR_MESSAGE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MESSAGE_NAME_MAX = 63,
    MESSAGE_TEXT_MAX = 255,
    MESSAGE_DICT_MAX = 65536,
    MESSAGE_ROWS_MAX = 1024,
    MESSAGE_BOOKS_MAX = 255,
    MESSAGE_VALUES_MAX = 64,
    MESSAGE_PATTERNS_MAX = 1023,
    MESSAGE_EXPERIMENT_MAX = 61440,
    MESSAGE_LIMITS_MAX = 64,
    MESSAGE_KNOBS_MAX = 16,
    MESSAGE_MAX_BYTES = 66 * 1024, /* the longest encoding: PROCESS with a full dictionary */
};

enum message_type {
    MESSAGE_HELLO = 1,
    MESSAGE_WELCOME = 2,
    MESSAGE_REFUSE = 3,
    MESSAGE_PROCESS = 4,
    MESSAGE_NEED = 5,
    MESSAGE_ACK = 6,
    MESSAGE_BOOKS = 7,
    MESSAGE_ALIVE = 8,
    MESSAGE_BYE = 9,
    MESSAGE_NOTE = 10,
    MESSAGE_COMMAND = 20,
    MESSAGE_REPLY = 21,
    MESSAGE_WATCH = 22,
    MESSAGE_OBSERVATION = 23,
    MESSAGE_SETTING = 24,
    MESSAGE_PARTS = 25,
    MESSAGE_JUDGEMENT = 26,
};

enum message_role { ROLE_SUT = 0, ROLE_DAEMON = 1 };
enum message_process_state { PROCESS_RUNNING = 0, PROCESS_ENDED = 1, PROCESS_DETACHED = 2 };
enum message_verb {
    VERB_STATUS = 0,
    VERB_DRAIN = 1,
    VERB_STOP = 2,
    VERB_SNAPSHOT = 3,
    VERB_ASPECTS = 4,
    VERB_POLL = 5,
    VERB_BEGIN = 6,
    VERB_KNOB = 7,
    VERB_SAVE = 8,
    VERB_ENDING = 9
};
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
enum message_daemon_state {
    DAEMON_STARTING = 0,
    DAEMON_ACTIVE = 1,
    DAEMON_DRAINING = 2,
    DAEMON_DRAINED = 3,
    DAEMON_FAILED = 4
};

/** Where a stream stands: what comes next, and what is behind it (mdr_position). */
struct message_position {
    uint64_t instance;
    uint32_t ring;
    uint64_t next_seq, next_ordinal, discarded;
};

struct message_hello {
    uint8_t run[16], boot[16], uuid[16];
    char node[MESSAGE_NAME_MAX + 1];
    int64_t realtime_offset; /* ns */
    uint32_t pid;
    uint64_t attempt; /* above those of all attempts of this trace before it, of former lives too */
};

struct message_welcome {
    uint64_t credit_bytes; /* 0: no bound of the receiver's */
    bool more;
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

struct message_need {
    uint64_t instance;
};

struct message_ack {
    uint32_t stream_count;
    struct message_position streams[MESSAGE_ROWS_MAX];
};

struct message_books_row {
    uint32_t aspect;
    uint64_t attempts, full, off, no_ring, window, spool;
};

struct message_books {
    uint64_t instance; /* 0: the node's own */
    enum message_process_state state;
    uint64_t at; /* ns, monotonic */
    uint64_t unfinished;
    uint64_t unobserved; /* processes that it forked, or of the node, which record and are not observed; never falls */
    uint32_t row_count;
    struct message_books_row rows[MESSAGE_BOOKS_MAX];
};

struct message_alive {
    uint64_t at; /* ns, monotonic */
};

/** Something for the operator: of a process, or of the node where `name` is empty. */
struct message_note {
    uint64_t instance; /* 0: of no process that has a segment */
    uint32_t pid;      /* as the process saw itself; 0: unknown */
    char name[MESSAGE_NAME_MAX + 1];
    uint64_t at; /* ns, monotonic: when the daemon learnt of it */
    char code[MESSAGE_NAME_MAX + 1];
    char text[MESSAGE_TEXT_MAX + 1];
};

/** How a node is to poll. What is not given is 0, and stays as it is; nothing given: what is in force is asked for. */
struct message_poll {
    uint32_t given;     /* sum of enum message_poll_given */
    uint64_t period_ns; /* 1 us .. 10 s */
    enum message_poll_mode mode;
    enum message_poll_forward forward;
    uint32_t batch; /* records that a poll takes at most; 0: all that wait */
};

enum message_knob_order { KNOB_ASK = 0, KNOB_SET = 1, KNOB_RESET = 2 };

/** A knob to tell of, or to turn. What an order does not use is 0 or empty. */
struct message_knob {
    enum message_knob_order order;
    uint32_t from;                      /* of KNOB_ASK: the first one whose number is not below it is told */
    char process[MESSAGE_NAME_MAX + 1]; /* of the others: whose, or empty: of all that have it */
    char name[MESSAGE_NAME_MAX + 1];
    int32_t value; /* of KNOB_SET */
};

/** A snapshot of the run that a limit asked for. */
struct message_save {
    uint32_t number;                 /* of the run's snapshots, from 1 */
    uint32_t limit;                  /* in the experiment's list */
    char node[MESSAGE_NAME_MAX + 1]; /* where it broke; not empty */
    uint64_t at;                     /* when, ns of CLOCK_REALTIME */
    uint64_t left;                   /* ns from the arrival on */
    double value;                    /* of the limit's metric then; NaN: unknown */
};

struct message_command {
    uint32_t id;
    enum message_verb verb;
    /* of VERB_ASPECTS only: */
    enum message_aspect_mode mode;
    char patterns[MESSAGE_PATTERNS_MAX + 1]; /* separated by one blank */
    struct message_poll poll;                /* of VERB_POLL only */
    struct message_knob knob;                /* of VERB_KNOB only */
    struct message_save save;                /* of VERB_SAVE only */
};

/** A session that a standing daemon is to begin, of VERB_BEGIN: beside its command, for it is large. */
struct message_begin {
    uint8_t run[16];
    char node[MESSAGE_NAME_MAX + 1];
    char folder[MESSAGE_TEXT_MAX + 1];
    char collector[MESSAGE_TEXT_MAX + 1];
    char experiment[MESSAGE_EXPERIMENT_MAX + 1];
};

struct message_value {
    char name[MESSAGE_NAME_MAX + 1];
    int64_t value;
};

struct message_reply {
    uint32_t id;
    enum message_daemon_state state;
    char text[MESSAGE_TEXT_MAX + 1];
    uint32_t value_count;
    struct message_value values[MESSAGE_VALUES_MAX];
};

/** Who decides for a node: the greatest epoch. */
struct message_lease {
    uint64_t epoch;  /* 0: nobody */
    uint64_t holder; /* drawn at random: told from others of the same epoch */
};

enum message_limit_state { MESSAGE_LIMIT_UNKNOWN = 0, MESSAGE_LIMIT_HELD = 1, MESSAGE_LIMIT_VIOLATED = 2 };

struct message_observed {
    uint32_t limit; /* index in the experiment's list */
    enum message_limit_state state;
    double value;
};

/** A knob that the experiment steers, as the node's programs have it. */
struct message_steered {
    uint32_t knob;    /* index in the experiment's list */
    int32_t value;    /* of several programs, that of one of them */
    int32_t min, max; /* what suits all of them */
    int32_t home;     /* the initial value, or what an operator set */
    uint32_t orders;  /* how often an operator did */
};

/** What was decided of a knob. */
struct message_steer {
    uint32_t knob;
    bool given; /* it is to have this value; else it is left alone */
    int32_t value;
    int32_t cause; /* index of the limit that it is for; -1: none */
    double metric; /* the value of that limit's metric; NaN: unknown */
    bool spent;    /* at the end of its range, and the limit is violated */
};

/** How a node stands, for its resource manager. Times in ns; percent of one CPU; NaN is unknown. */
struct message_observation {
    uint64_t life;              /* of the daemon: above those of its former lives */
    uint64_t at;                /* when it was sent, on the node's clock: what a setting answers */
    uint64_t step;              /* sampling instants so far; what was measured and observed is of the last one */
    struct message_lease lease; /* whom it obeys */
    uint64_t sequence;          /* of the setting of that lease that it obeyed last; 0: none */
    bool on;                    /* how it polls now */
    uint64_t period_ns;
    uint64_t desired_ns; /* what the experiment or an operator set */
    uint32_t orders;     /* how often an operator did */
    uint32_t levels;     /* importances of its aspects that may give way, for the budget's sake */
    uint32_t shed;       /* how many do, the least important ones first */
    bool settled;        /* it polled so through all of what was measured */
    double cpu, polls, records;
    int64_t elapsed, effective; /* 0: unknown */
    uint32_t limit_count;
    struct message_observed limits[MESSAGE_LIMITS_MAX];
    uint32_t knob_count;
    struct message_steered knobs[MESSAGE_KNOBS_MAX];
};

enum message_infeasible { MESSAGE_FEASIBLE = 0, MESSAGE_INFEASIBLE = 1, MESSAGE_INFEASIBLE_WHOLE = 2 };

/** How a node is to poll, as its resource manager decided. */
struct message_setting {
    struct message_lease lease; /* the sender's */
    uint64_t sequence;          /* rises with each setting of this lease to this node, from 1 */
    uint64_t life, answers;     /* of the observation that it answers; its `at` */
    uint64_t expiry, lasts;     /* ns after `answers`: not obeyed any later; the sender is lost where nothing comes */
    bool on;
    uint64_t period_ns;
    int32_t cause; /* index of a limit in violation; -1: none */
    enum message_infeasible infeasible;
    double needed, budget; /* percent of one CPU; 0 where it is feasible */
    bool blameless;        /* a quality is broken whether the node polls or not */
    bool starved;          /* records come late or are lost though it polls as often as it may */
    uint32_t shed;         /* importances of aspects that are to give way, the least important ones first */
    uint32_t knob_count;
    struct message_steer knobs[MESSAGE_KNOBS_MAX];
};

enum message_part_state { PART_UNKNOWN = 0, PART_NONE = 1, PART_KNOWN = 2 };

/** What a node adds to the value of a limit on the whole (config/experiment.h: enum experiment_join). */
struct message_part {
    uint32_t limit;                /* index in the experiment's list */
    enum message_part_state state; /* none: there is nothing here that it could be made of */
    double value;                  /* of a quotient: the numerator */
    double over;                   /* the denominator; of others 0 */
    double unsure;                 /* half-width of what is not known of `value` */
    int64_t
        silent; /* ns since the last record of its aspect; 0: there is one since the instant before, or it is of none
                 */
};

/** The node's parts as of its sampling instant `step`; likewise. */
struct message_parts {
    uint64_t life, at, step;
    uint32_t count;
    struct message_part list[MESSAGE_LIMITS_MAX];
};

/** A limit on the whole as its manager has judged it, cumulative over that one's life (resmgr/agent.h). Times in ns. */
struct message_judged {
    uint32_t limit;
    enum message_limit_state state;
    double value, worst; /* NaN: unknown, or none */
    int64_t settling, held, violated, unknown;
    int64_t ago; /* since the last instant in violation; -1: there was none */
    /* What is taken back where the run ends now: that share of `violated`, and what is left of the others then. */
    int64_t doubtful, trusted_ago;
    double trusted_worst;
};

/** What one node is to record, of all. */
struct message_judgement {
    struct message_lease lease; /* the sender's */
    uint64_t sequence;          /* rises with each, from 1 */
    uint64_t missing;           /* bit i: of node i nothing is known that the whole could be made of */
    uint32_t count;
    struct message_judged list[MESSAGE_LIMITS_MAX];
};

struct message {
    enum message_type type;
    union {
        struct message_hello hello;
        struct message_welcome welcome;
        struct message_refuse refuse;
        struct message_process process;
        struct message_need need;
        struct message_ack ack;
        struct message_books books;
        struct message_alive alive;
        struct message_note note;
        struct {
            struct message_command command;
            struct message_begin begin;
        };
        struct message_reply reply;
        struct message_observation observation;
        struct message_setting setting;
        struct message_parts parts;
        struct message_judgement judgement;
    };
};

/**
 * Encodes `m` into the `capacity` bytes at `out`. Returns the number of bytes (a multiple of 4), BEZEL_EFULL where they
 * do not fit, BEZEL_EINVAL where a count, enum or text of `m` breaks its bound.
 */
int message_encode(const struct message *m, uint8_t *out, size_t capacity) BEZEL_MUST_CHECK;

/**
 * Decodes the message that the `n` bytes at `in` hold, any alignment, exactly: trailing bytes, non-zero padding,
 * unknown enum values, booleans other than 0 and 1, texts that are not UTF-8 and counts above their bounds are refused.
 * Returns 0, BEZEL_EVERSION or BEZEL_EMALFORMED; *m is undefined then.
 */
int message_decode(const void *in, size_t n, struct message *m) BEZEL_MUST_CHECK;

/**
 * Copies `from` into the max + 1 bytes at `to` as a text that messages carry: cut at the last whole character, bytes
 * that are not UTF-8 replaced by '?'. For names and paths that come from outside.
 */
void message_text(char *to, size_t max, const char *from);

/** Appends a named value to a reply; a name that is too long is cut, a value beyond MESSAGE_VALUES_MAX is left out. */
void message_reply_add(struct message_reply *reply, const char *name, int64_t value);

/** The value called `name` in a reply, or `otherwise` where it holds none. */
int64_t message_reply_get(const struct message_reply *reply, const char *name, int64_t otherwise);

#endif
