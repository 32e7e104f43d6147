// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Messages between the parts of Bezel, as structs in memory; libtirpc converts them to and from the bytes that
 * mdr/mdr.x and mdr/control.x define. Structs own all their storage (fixed arrays, bounded as there), so that decoding
 * allocates nothing; but they are large: keep one per thread, not on the stack. Texts are NUL-terminated UTF-8.
 * Functions here are pure and thread-safe.
 */
#ifndef BEZEL_MDR_MESSAGE_H
#define BEZEL_MDR_MESSAGE_H

#include "base/err.h"
#include "mdr/bounds.h"
#include "mdr/manage.h"
#include "mdr/parts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
enum message_aspect_mode { ASPECT_ON = 0, ASPECT_COUNT = 1, ASPECT_OFF = 2 };

struct message_welcome {
    uint64_t credit_bytes; /* 0: the receiver sets no bound */
    bool more;
    uint8_t clock[16];   /* clock_identity() of the receiver */
    uint32_t clock_port; /* of its link for exchanges of times; 0: none */
    uint32_t stream_count;
    struct message_position streams[MESSAGE_ROWS_MAX];
};

struct message_need_process {
    uint64_t instance;
};

struct message_ack {
    uint32_t stream_count;
    struct message_position streams[MESSAGE_ROWS_MAX];
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

enum message_knob_action { KNOB_SET = 0, KNOB_RESET = 1 };

struct message_knob {
    enum message_knob_action action;
    char process[MESSAGE_NAME_MAX + 1]; /* empty: all that have the knob */
    char name[MESSAGE_NAME_MAX + 1];
    int32_t value; /* for KNOB_SET */
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

/** How a node's packets reach its collector now: not at all, by the link, or out of its window. */
enum message_way { MESSAGE_WAY_NONE = 0, MESSAGE_WAY_LINK = 1, MESSAGE_WAY_DIRECT = 2 };

struct message_node_status {
    uint64_t records;
    uint64_t lost_full, lost_off, lost_no_ring, lost_window, lost_spool,
        lost_reducer;                   /* all but the last: as in struct message_books_row */
    uint64_t window_bytes, spool_bytes; /* not acknowledged; in the spool */
    uint32_t processes;                 /* of the SUT, that live */
    uint64_t processes_seen;
    uint64_t period_ns; /* 0: polling is off */
    bool stop_wanted;   /* somebody else than the session's `bezel run` has sent STOP: the run is to end */
    struct message_managed manager;
    uint32_t firing_count;
    struct message_firing firings[MESSAGE_FIRINGS_MAX];
    enum message_way way;
};

struct message_collector_status {
    uint64_t records; /* of programs */
    uint64_t bytes, packets, discarded, refused;
    uint64_t over_rate;    /* how often a node exceeded its rate */
    uint64_t unidentified; /* connections that ended without a HELLO */
    uint32_t peers;        /* connections that sent one */
    uint64_t streams, processes, nodes;
    int32_t store_errno; /* why the store fails at present; 0: it works */
    uint32_t port;       /* of its data link; 0: that is over ipc */
    uint64_t expired;    /* of `packets`: those that expired from the store; their records and bytes */
    uint64_t expired_records, expired_bytes;
    uint64_t own_records; /* the monitor's own, which are not in `records` */
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

/** A program that a launcher is to start (mdr_launch). */
struct message_launch {
    uint32_t id;
    struct message_start of;
    uint64_t grace_ns;   /* from SIGTERM to SIGKILL when the programs are ended */
    uint64_t silence_ns; /* without a command after which the launcher ends them; 0: for ever */
    uint64_t timeout_ns; /* after which the launcher ends this one; 0: never */
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
        struct message_values values;
        struct message_loop loop;
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

#endif
