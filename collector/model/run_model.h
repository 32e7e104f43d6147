// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a collector knows of a run, in memory: nodes, their process instances, their streams, and where each stands. The
 * truth about packets is in the trace files, that about nodes, processes and dictionaries in the database; both rebuild
 * this at start (recover.h). One thread; no I/O here.
 */
#ifndef BEZEL_COLLECTOR_MODEL_H
#define BEZEL_COLLECTOR_MODEL_H

#include "base/err.h"
#include "collector/bucket.h"
#include "collector/values.h"
#include "mdr/dict.h"
#include "mdr/message.h"
#include "mdr/packet.h"
#include "metric/histogram.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MODEL_BUCKETS = 1024,                      /* of a node's tables of processes; a power of two */
    MODEL_BASE_MAX = 63 + 1 + 10 + 1 + 16 + 1, /* "<process>-<pid>-<instance>" and its NUL */
    MODEL_UUID_TEXT = 37,
    MODEL_UNTAKEN_MAX = 64,
    MODEL_REFUSALS =
        16, /* of what comes again and again as it was: it is no accident on the way, which has no checksum */
};

/** No counter of attempts or losses is believed beyond it: a hundred days of a record each nanosecond. */
#define MODEL_ATTEMPTS_MAX (UINT64_C(1) << 53)

/**
 * What is stored of one aspect, and what the last BOOKS said of it. Number 0 of a process is all that its dictionary
 * does not explain.
 */
struct model_count {
    uint64_t stored;
    int64_t first_ns, last_ns; /* of the stored records; 0, 0: none */
    uint64_t attempts, full, off, no_ring, window, spool;
};

/** What the database has of a stream, as it was loaded; all 0: nothing. */
struct model_saved {
    uint64_t packets, bytes, next_ordinal, discarded, sum;
};

/** A ring's packets, in the order of their seq: one file. */
struct model_stream {
    struct model_process *process;
    struct message_position
        at;            /* at.instance and at.ring name it; the rest is the position behind the last stored packet */
    uint64_t last_end; /* timestamp_end of the last stored packet */
    uint64_t thrown;   /* of a process that is refused: every packet before it was thrown away; 0: none was */
    uint64_t bytes;    /* committed length of the file; what lies behind is torn */
    uint64_t pushed;   /* of them, what the disk was told to write */
    uint64_t packets;
    uint64_t sum; /* base/sum.h of them, packet by packet */
    struct model_saved saved;
    bool closed;                        /* its last stored packet says that there will be no other */
    bool touched;                       /* its position waits to be acknowledged; linked by next_touched */
    bool behind;                        /* a packet was not taken: the sender must hear the position again */
    bool unsynced;                      /* written, not yet in stable storage */
    struct model_stream *next_touched;  /* of the node */
    int fd;                             /* -1: closed */
    struct model_stream *newer, *older; /* among the open ones */
};

/** How the values of built-in aspects are found in a dictionary: aspect id of each kind, 0 where it declares none. */
struct model_builtins {
    uint32_t self, limit, decision, metric, clock;
    uint32_t polling, flow, expired;
    uint32_t knob;
    uint32_t snapshot, observation;
    uint32_t obeyed;
    uint32_t finding;
};

struct model_process {
    struct model_node *node;
    int64_t row; /* in the database */
    uint64_t instance;
    uint32_t stream_id, pid;
    enum message_role role;
    bool overwrites; /* its full rings overwrite */
    char name[MESSAGE_NAME_MAX + 1];
    char program[MESSAGE_TEXT_MAX + 1];
    uint64_t started;
    char base[MODEL_BASE_MAX]; /* opens the names of its files */
    struct dict *dict;         /* this, `counts`, `values` and `latency` are NULL of one that is retired: retire.h */
    struct model_builtins builtins;
    enum message_process_state state;
    uint64_t unfinished;
    uint64_t saved_stored;      /* records that the database says are stored, as it was loaded */
    uint64_t unobserved;        /* processes that it forked, which recorded and were not observed */
    bool refused;               /* for good: what comes of it is thrown away, and acknowledged */
    bool needed;                /* its dictionary was asked for since it last came */
    uint32_t refusals;          /* of what came of it, since a packet of it was stored */
    uint64_t books_at;          /* `at` of its last BOOKS */
    bool books_answer;          /* they are final: to be answered when they are saved */
    struct model_count *counts; /* DICT_ASPECTS_MAX + 1 of them, by aspect id */
    struct values **values;     /* likewise; NULL: of an event, or none is stored */
    struct histogram *latency;  /* NULL until a value is there */
    struct model_stream *streams[PACKET_RINGS_MAX];
    bool dirty;          /* counts, state or latency differ from the database */
    bool metadata_stale; /* metadata on disk lacks what it declared since */
    char *metadata;      /* its part of the metadata, by its dictionary; NULL: not written yet */
    size_t metadata_bytes;
    struct model_process *next;        /* of the node, in the order of their rows */
    struct model_process *next_active; /* of those that anything is still to be done for */
    bool active;                       /* is among them */
    struct model_process *next_bucket; /* same hash of the instance */
    struct model_process *next_pid;    /* same bucket of the pid */
};

/** A process that the model does not have, for it was refused as it says that it is: MODEL_REFUSALS times is for good.
 */
struct model_untaken {
    uint64_t instance;
    uint32_t refusals; /* 0: of nobody */
};

/** A node in one boot: one CTF trace. */
struct model_node {
    struct model *model;
    int64_t row;
    char name[MESSAGE_NAME_MAX + 1];
    uint8_t uuid[16], boot[16];
    int64_t realtime_offset;         /* ns, of its first HELLO */
    char dir[MESSAGE_NAME_MAX + 16]; /* below trace/ */
    bool local;                      /* its boot is ours: its clock is ours */
    bool left;                       /* said BYE, and nothing since: all that it had is stored */
    bool dirty;                      /* `left` or `unobserved` differs from the database */
    uint64_t unobserved;             /* processes that recorded and were not observed, beside those of its processes */
    uint64_t books_at;               /* `at` of its own last BOOKS */
    bool books_answer;               /* they are to be answered when they are saved */
    bool metadata_late;              /* metadata on disk explains less than is stored */
    bool has_dir;                    /* its directory was made */
    bool names_unsynced;             /* its directory has entries that stable storage may lack */
    struct model_process *processes, **last_process;
    struct model_process *active;                 /* those of them that are not retired; the order means nothing */
    struct model_process *buckets[MODEL_BUCKETS]; /* by instance */
    struct model_process *pids[MODEL_BUCKETS];    /* by pid */
    struct model_stream *touched;
    struct model_untaken untaken[MODEL_UNTAKEN_MAX];
    struct bucket bucket; /* what its peers have sent, against their rate */
    struct model_node *next;
};

struct model_totals {
    uint64_t records, bytes, packets, discarded, refused;
    uint64_t streams, processes, nodes;
    uint64_t untaken, untaken_records; /* processes that were refused as they were, and what their last books said */
};

struct model {
    uint8_t boot[16];          /* ours */
    char run[MODEL_UUID_TEXT]; /* UUID as text; "": not known yet */
    struct model_node *nodes, **last_node;
    struct model_totals totals;
    bool full; /* a process was one too many: no unknown one is taken any more */
};

/** Makes an empty model of run `run` ("" where it is not known yet). NULL where memory is short. */
struct model *model_new(const char *run);
void model_free(struct model *m);

struct model_node *model_find_node(const struct model *m, const uint8_t uuid[16]);

/** Adds the node that `hello` names; its directory is its name, with ".2" and so on where another boot has it. */
struct model_node *model_add_node(struct model *m, const struct message_hello *hello);

struct model_process *model_find_process(const struct model_node *node, uint64_t instance);

/** Adds the process that `said` describes, without its dictionary. NULL where memory is short. */
struct model_process *model_add_process(struct model_node *node, const struct message_process *said);

/** Takes out what model_add_process() or model_add_node() added last, where it could not be made lasting. */
void model_drop_process(struct model_process *process);
void model_drop_node(struct model_node *node);

/** Whether process `instance`, which the model does not have, was refused for good. */
bool model_is_untaken(const struct model_node *node, uint64_t instance);

/** Notes that it was refused once more. Returns how often; 0: there is no room to remember it. */
uint32_t model_leave_out(struct model_node *node, uint64_t instance);

/** Puts a process among the active ones of its node, where a new one is; it may be there already. */
void model_activate(struct model_process *process);

/** Frees what retirement takes away. */
void model_strip_process(struct model_process *process);

/** Gives a process its (larger) dictionary, which it owns from now on; the one before is freed. */
void model_set_dictionary(struct model_process *process, struct dict *dict);

/** The stream of a ring, made where it is new. NULL where memory is short. */
struct model_stream *model_stream(struct model_process *process, uint32_t ring);

/** Puts a stream among those whose position waits to be acknowledged. */
void model_touch(struct model_stream *stream);

/** The next stream that waits, taken out; NULL where none does. */
struct model_stream *model_next_touched(struct model_node *node);

/** Writes `uuid` in its 36-character form. */
void model_uuid_text(const uint8_t uuid[16], char text[MODEL_UUID_TEXT]);

/** Whether `name` can be the name of a directory and of nothing else: letters, digits, '_', '-', '.'; no '.' first. */
bool model_name_ok(const char *name);

#endif
