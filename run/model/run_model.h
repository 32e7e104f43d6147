// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The run in memory: nodes, their process instances, their streams, and the position of each. Packets are recorded in
 * the trace files, nodes, processes and dictionaries in the run database; both rebuild the model at start (recover.h).
 * One thread; no I/O.
 */
#ifndef BEZEL_RUN_MODEL_RUN_MODEL_H
#define BEZEL_RUN_MODEL_RUN_MODEL_H

#include "base/err.h"
#include "base/saturate.h"
#include "base/token_bucket.h"
#include "config/order_settings.h"
#include "mdr/bounds.h"
#include "mdr/builtin.h"
#include "mdr/dict.h"
#include "mdr/packet.h"
#include "mdr/parts.h"
#include "run/model/field_statistics.h"
#include "run/model/latency.h"
#include "run/model/run_clock.h"
#include "run/model/thread_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct message_hello;
struct message_process;

enum {
    MODEL_BUCKETS = 1024,                      /* of tables of processes and of their names; a power of two */
    MODEL_BASE_MAX = 63 + 1 + 10 + 1 + 16 + 1, /* "<process>-<pid>-<instance>" and its NUL */
    MODEL_UUID_TEXT = 37,
    MODEL_UNTAKEN_MAX = 64,
    MODEL_REFUSALS = 16, /* refusals without a success in between after which damage on the way is ruled out */
};

/** A record's time is at most that, ns: 73 years after its machine was started. */
#define MODEL_TIME_MAX (UINT64_C(1) << 61)

/** By so much, ns, wall clocks and clocks that have jumped unnoticed may be off where nothing better is known. */
#define MODEL_WALL_SLACK INT64_C(30000000000)

/** The largest valid count of attempts or losses: a record each nanosecond for a hundred days. */
#define MODEL_ATTEMPTS_MAX (UINT64_C(1) << 53)

#define MODEL_VALUES_MEMORY ((size_t)64 << 20) /* bytes for the statistics of all fields: some 6,000 of them */

/**
 * The counts of one aspect: stored, and those of its last BOOKS. Number 0 of a process is for all aspects that its
 * dictionary does not have.
 */
struct model_count {
    uint64_t stored;
    int64_t first_ns, last_ns; /* of the stored records; 0, 0: none */
    uint64_t attempts, full, off, no_ring, window, spool;
    bool unsaved; /* records were stored since the statistics of its fields were saved */
};

/** A stream as it was in the database when that was loaded; all 0: not there. */
struct model_saved {
    uint64_t packets, bytes, next_ordinal, discarded, sum;
};

/** The packets of a stream that expired from the store, its first ones; all 0: none. The rest is the position behind.
 */
struct model_expired {
    uint64_t packets, bytes, records, next_ordinal, discarded, sum, last_end;
    uint64_t section; /* that noted it */
    bool closed;
};

/** A ring's packets, in the order of their seq: one file. */
struct model_stream {
    struct model_process *process;
    struct message_position
        at;            /* at.instance and at.ring name it; the rest is the position behind the last stored packet */
    uint64_t last_end; /* timestamp_end of the last stored packet */
    uint64_t thrown;   /* of a refused process: seq behind the last packet thrown away; 0: none was */
    uint64_t bytes;    /* length of the file up to its last complete packet */
    uint64_t pushed;   /* of these, bytes that the kernel was asked to write */
    uint64_t packets, records;
    uint64_t reduced; /* records that ended at a reducer, as far as packets were read in this life */
    uint64_t thinned; /* of at.discarded: those that ended at the collector, which thinned their packets out */
    uint64_t sum;     /* checksum of all packets (base/checksum.h) */
    uint64_t noted;   /* bytes, when the present section of the store began */
    struct model_saved saved;
    struct model_expired expired;
    uint64_t covered;                   /* bytes of these that were freed */
    bool closed;                        /* its closing packet is stored */
    bool touched;                       /* its position is to be sent; linked by next_touched */
    bool behind;                        /* a packet was not stored: its position must be sent again */
    uint32_t direct;                    /* 1 + its number in a window that is read directly; 0: it is not */
    bool walked;                        /* of a verifier: its file was read */
    bool unsynced;                      /* has bytes that are not in stable storage */
    struct model_stream *next_touched;  /* of the node */
    struct model_stream *next_expired;  /* of the model */
    bool is_expired;                    /* it is in that list */
    int fd;                             /* -1: closed */
    struct model_stream *newer, *older; /* among the open ones */
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
    char base[MODEL_BASE_MAX];        /* first part of the names of its files */
    struct dict *dict;                /* NULL if evicted (evict.h), as are `counts`, `values` and `latency` */
    uint32_t builtins[BUILTIN_COUNT]; /* ids of the built-in aspects in its dictionary; 0: not there */
    enum message_process_state state;
    uint64_t unfinished;
    uint64_t saved_stored;             /* stored records, by the database as it was loaded */
    uint64_t unobserved;               /* processes that it forked, which recorded and were not observed */
    bool refused;                      /* for good: its packets are thrown away, and acknowledged */
    bool needed;                       /* NEED was sent since its last PROCESS */
    bool ahead;                        /* a record of it had a time later than that at which it came, which was noted */
    uint32_t refusals;                 /* since the last stored packet of it */
    uint64_t books_at;                 /* `at` of its last BOOKS */
    bool books_answer;                 /* they are final, and are answered when saved */
    struct model_count *counts;        /* DICT_ASPECTS_MAX + 1 of them, by aspect id; NULL too where model.uncounted */
    struct aspect_statistics **values; /* likewise; NULL: no field has any, or nothing was evaluated */
    struct latency *latency;           /* NULL without a value */
    void *evaluated; /* what collector/evaluate keeps of it, plain memory that is freed with the rest; NULL: nothing */
    uint64_t *thinned;     /* by aspect id, as `counts`: its records that ended at the collector, and whose values are
                            * stored, or to be stored with the next save; NULL: none */
    int64_t latency_bound; /* of the error of these latencies, ns */
    struct model_stream **streams;    /* by ring; NULL: that ring has none */
    uint32_t ring_count;              /* places in `streams`: no ring from here on has a stream */
    struct thread_names thread_names; /* of a reader */
    bool dirty;                       /* counts, state or latency are not saved */
    bool metadata_stale;              /* metadata on disk lacks its latest declarations */
    char *metadata;                   /* its part of the metadata; NULL: not cached */
    size_t metadata_bytes;
    struct model_process *next;        /* of the node, in the order of their rows */
    struct model_process *next_active; /* of the node's active processes: not evicted, or to be answered */
    bool active;                       /* is one of these */
    struct model_process *next_ended;  /* of the node's processes that were evicted since the present section began */
    bool ended;                        /* is one of these */
    uint64_t expired_section; /* the latest section before the first one that is kept, or this, that noted it */
    struct model_process *next_bucket; /* same hash of the instance */
    struct model_process *next_pid;    /* same bucket of the pid */
};

/** A process that the model does not have, because its PROCESS was refused; MODEL_REFUSALS times: for good. */
struct model_untaken {
    uint64_t instance;
    uint32_t refusals; /* 0: unused entry */
};

/** A node with one clock: one CTF trace. */
struct model_node {
    struct model *model;
    int64_t row;
    char name[MESSAGE_NAME_MAX + 1];
    uint8_t uuid[16], clock[16];     /* clock: clock_identity() there */
    int64_t realtime_offset;         /* ns, of its first HELLO */
    char dir[MESSAGE_NAME_MAX + 16]; /* below trace/ */
    bool local;                      /* it has our clock */
    struct run_clock run_clock;      /* what its clock says of the run's time */
    bool full;                       /* has had its share of the run's processes: unknown ones are refused */
    bool no_stream;                  /* has had its share of the run's streams */
    bool left;                       /* has sent BYE, and no HELLO since: all that it had is stored */
    bool dirty;                      /* `left`, `unobserved` or `ways` is not saved */
    uint32_t ways;                   /* by which stored packets came, as RUNDB_WAYS */
    uint64_t unobserved;             /* processes that recorded and were not observed, beside those of its processes */
    uint64_t books_at;               /* `at` of its own last BOOKS */
    bool books_answer;               /* they are answered when saved */
    bool metadata_late;              /* metadata on disk explains less than is stored */
    bool has_dir;                    /* its directory was made */
    int64_t low;                     /* its low watermark, ns of its clock; 0: not known */
    int watermark;                   /* its place in the file of watermarks plus 1; 0: none yet */
    bool names_unsynced;             /* its directory has entries that were not synced */
    uint32_t highest_stream_id;      /* of its processes that ever were */
    struct model_process *processes, **last_process;
    struct model_process *active;                 /* in no order */
    struct model_process *ended;                  /* likewise */
    struct model_process *buckets[MODEL_BUCKETS]; /* by instance */
    struct model_process *pids[MODEL_BUCKETS];    /* by pid */
    struct model_stream *touched;
    struct model_untaken untaken[MODEL_UNTAKEN_MAX];
    struct token_bucket bucket; /* for the rate limit of its peers */
    struct model_node *next;
};

/** The name of a process of the run; each once. */
struct model_name {
    struct model_name *next; /* of the same bucket */
    char text[];
};

struct model_totals {
    uint64_t records, bytes, packets, discarded, refused;
    uint64_t own_records, own_discarded; /* of these: those of the monitor's own processes */
    uint64_t streams, processes, nodes;
    uint64_t expired, expired_records, expired_bytes; /* packets, their records and bytes that expired from the store */
    uint64_t untaken, untaken_records; /* unknown processes refused for good, and their records, by their last books */
};

struct model {
    uint8_t clock[16];           /* ours */
    uint8_t run_clock[16];       /* clock_identity() of the run's clock; zeros: not known */
    int64_t ahead;               /* run's time - that clock, ns */
    bool clocks_last;            /* no exchange of times follows: the metadata has the clocks by all of them */
    struct dict *recent;         /* while it is loaded: the dictionary of its latest process, or NULL; borrowed */
    bool uncounted;              /* of a reader: processes have no counts, values and latency, some 35 KiB each */
    char run[MODEL_UUID_TEXT];   /* UUID as text; "": not known yet */
    struct order_settings order; /* of readers */
    size_t thread_names;         /* of a reader: how many its processes have */
    size_t values_memory;        /* that statistics of fields may still take */
    bool hurried;                /* these are left out for now: there is no time */
    bool unsaved;                /* some of these were left for the next save */
    uint64_t saves;
    struct model_node *nodes, **last_node;
    struct model_name *names[MODEL_BUCKETS];
    struct model_totals totals;
    struct model_stream *expired; /* streams of which more expired than was freed, in no order */
    bool full;                    /* the limit of processes was reached: unknown ones are refused */
    int64_t finished; /* of a reader: when a collector ended with everything saved, ns of CLOCK_REALTIME; 0: unknown */
};

/** Makes an empty model of run `run` ("" if it is not known yet). NULL where memory is short. */
struct model *model_new(const char *run);
void model_free(struct model *m);

struct model_node *model_find_node(const struct model *m, const uint8_t uuid[16]);

/** Whether `dir` is the directory of a node. */
bool model_has_dir(const struct model *m, const char *dir);

/** Adds the node that `hello` names; its directory is its name, with ".2" and so on where a node of another clock has
 * it. */
struct model_node *model_add_node(struct model *m, const struct message_hello *hello);

struct model_process *model_find_process(const struct model_node *node, uint64_t instance);

/** Adds the process that `said` describes, without its dictionary. NULL where memory is short. */
struct model_process *model_add_process(struct model_node *node, const struct message_process *said);

/** Whether a process of the run has, or ever had, this name. */
bool model_has_name(const struct model *m, const char *name);

/** Removes and frees what model_add_process() or model_add_node() added, if it could not be committed. */
void model_drop_process(struct model_process *process);
void model_drop_node(struct model_node *node);

/** Whether process `instance`, which the model does not have, was refused for good. */
bool model_is_untaken(const struct model_node *node, uint64_t instance);

/** Notes that PROCESS of `instance` was refused once more. Returns how often; 0: there is no room to note it. */
uint32_t model_leave_out(struct model_node *node, uint64_t instance);

/** Adds a process to the active ones of its node, if it is not there. A new process is. */
void model_activate(struct model_process *process);

/** Whether a process is evicted (evict.h). */
static inline bool model_is_evicted(const struct model_process *process)
{
    return !process->dict;
}

/** Frees dictionary, counts, values and latency, for eviction. */
void model_strip_process(struct model_process *process);

/** Gives a process its first or extended dictionary. It owns `dict` from now on; the one before is freed. */
void model_set_dictionary(struct model_process *process, struct dict *dict);

/** Returns the stream of a ring, below PACKET_RINGS_MAX, made if it is new. NULL where memory is short. */
struct model_stream *model_stream(struct model_process *process, uint32_t ring);

struct model_file {
    char name[MODEL_BASE_MAX + 12];
};

/** The run's time at `time` of the node's clock, as packets have it. */
static inline int64_t model_run_time(const struct model_node *node, uint64_t time)
{
    return run_clock_at(&node->run_clock, saturate_time(time)).ns;
}

/** The name of the file of a stream. */
struct model_file model_file(const struct model_process *process, uint32_t ring);

/** The stream of `node` of which packets expired and whose file has this name; NULL if there is none. */
struct model_stream *model_find_expired(const struct model_node *node, const char *name);

/** Returns the stream of a ring; NULL if it has none. */
static inline struct model_stream *model_find_stream(const struct model_process *process, uint32_t ring)
{
    return ring < process->ring_count ? process->streams[ring] : NULL;
}

/** The position of a stream by the packets of its node, which does not know what the collector took out of them. */
static inline struct message_position model_position(const struct model_stream *s)
{
    struct message_position at = s->at;
    at.discarded -= s->thinned;
    return at;
}

/** Counts stored and lost records of `process` in the totals. */
static inline void model_count(const struct model_process *process, uint64_t records, uint64_t lost)
{
    struct model_totals *t = &process->node->model->totals;
    bool own = process->role == ROLE_DAEMON;
    t->records += records;
    t->discarded += lost;
    t->own_records += own ? records : 0;
    t->own_discarded += own ? lost : 0;
}

/** Adds a stream to those whose position is to be sent, as an acknowledgement. */
void model_touch(struct model_stream *stream);

/** Takes the next of these streams from the list and returns it; NULL if there is none. */
struct model_stream *model_next_touched(struct model_node *node);

/**
 * The latest time that a record of the run can have by now, ns of the run's time. `clock`: clock_identity() of this
 * machine, whose clock_now() is `now`; `wall`: its CLOCK_REALTIME.
 */
int64_t model_latest(const struct model *m, const uint8_t clock[16], int64_t now, int64_t wall);

/**
 * Whether `time` of a node's clock is later than `latest`, by more than the bound of that clock: the clock is wrong, or
 * the node lies. Such a time says nothing of how far the run is.
 */
bool model_is_ahead(const struct model_node *node, uint64_t time, int64_t latest);

/** Writes `uuid` in its 36-character form. */
void model_uuid_text(const uint8_t uuid[16], char text[MODEL_UUID_TEXT]);

/** Whether `name` can be the name of a directory and of nothing else: letters, digits, '_', '-', '.'; no '.' first. */
bool model_name_ok(const char *name);

#endif
