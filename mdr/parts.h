// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Parts of messages that files, tables and other structs hold too: roles, states of processes and daemons, the position
 * of a stream, the row of an aspect in the books, who leads, and what an answer tells.
 */
#ifndef BEZEL_MDR_PARTS_H
#define BEZEL_MDR_PARTS_H

#include <stdint.h>

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

#endif
