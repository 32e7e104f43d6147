// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The collector's end of the data link: keeps the connected peers, takes their packets and messages, and answers. In a
 * turn it receives a batch, stores its packets, acknowledges them, and only then counts their records. One thread.
 */
#ifndef BEZEL_COLLECTOR_RECEIVE_RECEIVER_H
#define BEZEL_COLLECTOR_RECEIVE_RECEIVER_H

#include "collector/receive/keep.h"
#include "mdr/link/link.h"
#include "run/model/run_model.h"
#include "run/rundb/rundb_live.h"
#include "run/store/store.h"
#include "run/store/watermarks.h"

struct evaluate;
struct message_collector_status;

enum {
    RECEIVER_BATCH = 64,        /* frames of a turn, at most */
    RECEIVER_STREAMS = 1 << 20, /* of which readers take twice as many */
    RECEIVER_CREDIT = 32 << 20, /* bytes of packets that a peer may have on the way, unacknowledged */
};

struct receiver_limits {
    unsigned connections; /* peers at a time; a further one is refused */
    unsigned processes;   /* of the whole run; a further one is not stored. Also nodes; a further one is refused */
    uint64_t streams;     /* of the whole run; processes with further ones are refused. 0: RECEIVER_STREAMS */
    uint64_t rate;        /* bytes a second of a peer; 0: unbounded */
};

#define RECEIVER_SAVE      (200 * CLOCK_MS) /* ns between two saves */
#define RECEIVER_TICK      (250 * CLOCK_MS) /* ns between two ticks */
#define RECEIVER_HEARTBEAT (500 * CLOCK_MS) /* ns between two heartbeats to each peer */
#define RECEIVER_SILENT    (2 * CLOCK_S)    /* ns without a frame after which a peer counts as gone */

/*
 * Bytes that a peer may send beyond its rate. Packets within them are stored, but acknowledged only when the rate
 * allows it, so a correct sender uses up its credit and waits. Beyond them, packets and lasting messages are refused:
 * no correct sender gets there, even if its credit is lost on the way and sent again a few times.
 */
enum { RECEIVER_OVERDRAFT = 4 * RECEIVER_CREDIT };

struct receiver;

/** Makes a receiver on `link`. Borrows everything but the limits. Returns NULL where memory is short. */
struct receiver *receiver_new(struct model *m, struct rundb *f, struct store *s, struct link *link,
                              struct receiver_limits limits);
void receiver_free(struct receiver *in);

/** WELCOME names the port where the nodes may ask for the time; 0, as at first: none. */
void receiver_set_clock_port(struct receiver *in, uint32_t port);

/** Low watermarks of nodes go there; borrowed. NULL, as at first: nowhere. */
void receiver_set_watermarks(struct receiver *in, struct watermarks *w);

/** Keeps the store to its room by `k`, of keep_init(); borrowed. NULL, as at first: everything is kept. */
void receiver_set_keep(struct receiver *in, struct keep *k);

/** The packets that are stored go there; borrowed. NULL, as at first: nowhere. */
void receiver_set_evaluate(struct receiver *in, struct evaluate *e);

/**
 * Before waiting: puts the descriptors of windows that are read directly into `fds`, RECEIVER_DIRECT_MAX at most, and
 * their number into *count. Returns for how many ns to wait at most: 0 where there is something to read; `most`.
 * receiver_awake() behind the wait.
 */
enum { RECEIVER_DIRECT_MAX = 64 };
int64_t receiver_sleep(struct receiver *in, int *fds, size_t *count, int64_t most);
void receiver_awake(struct receiver *in);

/** Does one turn. Returns the number of frames that it took, 0 where none waited. Blocks on the disk, not on peers. */
int receiver_turn(struct receiver *in);

/**
 * Sends heartbeats, drops silent peers, ends unidentified connections, and has packets sent again that could not be
 * stored. `idle`: receiver_turn() took nothing; only then a peer can be found silent. `now`: clock_now(). Returns the
 * time at which to call it again; earlier calls do nothing.
 */
int64_t receiver_tick(struct receiver *in, int64_t now, bool idle);

/** Saves the changes since the last save, and answers final books and BYE. Returns 0 or rundb_save()'s error. */
int receiver_save(struct receiver *in) BEZEL_MUST_CHECK;

/**
 * Finishes the run: brings everything to stable storage (by the store's policy), writes missing rows anew, and saves.
 * Returns as receiver_save() does.
 */
int receiver_finish(struct receiver *in) BEZEL_MUST_CHECK;

/**
 * Begins a pause, or ends it: nothing is stored or acknowledged meanwhile; afterwards the nodes send it again.
 * Idempotent.
 */
void receiver_pause(struct receiver *in, bool paused);

/** Whether there is anything to save. */
bool receiver_changed(const struct receiver *in);

/** The number of peers. */
unsigned receiver_peers(const struct receiver *in);

/** Fills the answer to a command. */
void receiver_status(const struct receiver *in, struct message_collector_status *s);

#endif
