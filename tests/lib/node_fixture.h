// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * A folder of segments with an external sensor on it and nobody above: packets are read straight out of the window. For
 * tests that check what comes out of rings.
 */
#ifndef BEZEL_TESTS_LIB_NODE_FIXTURE_H
#define BEZEL_TESTS_LIB_NODE_FIXTURE_H

#include "mdr/parts.h"
#include "sensor/external/external.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { FIXTURE_STREAMS = 4096 };

/** What a stream amounted to; checked packet by packet as it is read. */
struct fixture_stream {
    uint64_t instance;
    uint32_t ring;
    uint64_t next_seq, next_ordinal, discarded, last_ns, records;
    bool opened, closed;
};

struct fixture {
    char dir[64];
    struct external_options options;
    struct external *external;
    uint32_t stream_count;
    struct fixture_stream streams[FIXTURE_STREAMS];
    /** Called for each record as it is read; may be NULL. */
    void (*record)(struct fixture *f, const struct packet_header *h, const struct packet_record *r, const char *aspect);
    uint64_t records;
    void *context;
    bool may_end_open; /* not every stream has its closing packet in the end */
};

/** Makes a folder below /dev/shm and opens an external sensor on it; sets BEZEL_DIR. Exits with 77 where it cannot. */
void fixture_open(struct fixture *f);

/** Opens the external sensor on the folder anew, as a restarted daemon would. */
void fixture_reopen(struct fixture *f);

/**
 * Closes the external sensor as at the end of a run, and removes the folder; fails the test where anything is left in
 * it.
 */
void fixture_close(struct fixture *f);

/** The same whatever is left in it. */
void fixture_discard(struct fixture *f);

/** Polls and housekeeps once, reads every new packet, checks it against the rules of a stream, acknowledges it. */
void fixture_turn(struct fixture *f);

/** Acknowledges every packet that the window has, unread. */
void fixture_acknowledge(struct fixture *f);

/** Turns until `done` says so; fails the test after ten seconds. */
void fixture_until(struct fixture *f, bool (*done)(struct fixture *f));

/** For fixture_until(): whether all processes that were found, if any, are closed. */
bool fixture_nobody_lives(struct fixture *f);

/** The same, and there was one. */
bool fixture_all_gone(struct fixture *f);

/** Finishes sensing and turns until every stream is closed and acknowledged. */
void fixture_finish(struct fixture *f);

/** fixture_finish() and fixture_close(). */
void fixture_end(struct fixture *f);

/** Runs `body` in a child that records into the folder; returns its pid. The child ends with _exit(0) after body. */
pid_t fixture_spawn(void (*body)(void *context), void *context);

/** Waits for a child: its wait status. */
int fixture_wait(pid_t pid);

/**
 * Opens `f` and runs `body` as a process, reading all along what it records, up to its end, which must be a good one
 * within 30 s.
 */
void fixture_observe(struct fixture *f, void (*body)(void *context));

/** Aspect `name` in the dictionary of the first process, or NULL. */
const struct dict_aspect *fixture_aspect(struct fixture *f, const char *name);

/** Skips the test where SIGBUS does not tell the address that was touched: so do some emulators, see docs/CROSS.md. */
void fixture_needs_bus_address(void);

/** In a process of the SUT: the segment that it has just made, the only one of its folder, mapped a second time. */
struct segment *fixture_own_segment(void);

/**
 * The sum of what the books of all processes say of `aspect`, NULL: of all their aspects; `aspect` of the sum is 0.
 * Returns the attempts that are unfinished.
 */
uint64_t fixture_books(const struct fixture *f, const char *aspect, struct message_books_row *sum);

/** What the last books of process `i` say of it, if the run ends in order only now. */
enum message_process_state fixture_last_state(struct fixture *f, uint32_t i);

/** Whether what is known of every stream has an end; whether there is a note of `code`. */
bool fixture_is_known_to_its_end(const struct fixture *f);
bool fixture_is_noted(const struct fixture *f, const char *code);

#endif
