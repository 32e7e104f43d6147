// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The one reader of stream files: of their bytes, and of their packets in order, up to the last complete one.
 * Collectors that recover a run, the verifier, levels and readers of records all use it. It writes nothing, and a file
 * may be hostile, or grow while it is read.
 *
 * Its invariants:
 *
 * - A packet is given only if it is complete and the next one of its stream (packet_chain.h), and of the stream's
 *   identity. So what was read has no gap, no repetition, and no packet of another stream. Records are not checked:
 *   packet_check() does.
 * - The end of a file may change: a collector that is writing, or was killed, leaves a torn packet, and the next
 *   collector cuts it off and writes another one in its place. So nothing behind `end` is in memory, and whoever moves
 *   `end` has the reader drop what it holds behind its position (trace_reader_measure()).
 * - The beginning of a file may change: packets expire, and become a hole below a cover (cover.h). So the cover is read
 *   after each read of bytes, and bytes that it reaches over are not used. The reader then stands behind the cover.
 *
 * One thread; blocks on the disk.
 */
#ifndef BEZEL_RUN_STORE_TRACE_READER_H
#define BEZEL_RUN_STORE_TRACE_READER_H

#include "run/model/packet_chain.h"
#include "run/model/run_model.h"
#include "run/store/cover.h"

#include <sys/types.h>

/** In the path RUN/trace/NODE/FILE of a trace's file, no symbolic link is followed in this number of last names. */
enum { TRACE_READER_PLAIN = 3 };

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/** A part of a stream file in memory. Begin with `bytes` and fd -1. */
struct trace_part {
    uint8_t *bytes;     /* borrowed; room for as many as are asked for */
    uint64_t offset;    /* in the file: of bytes[0] */
    size_t used;        /* that were read */
    uint64_t end;       /* of the file, if the last read came to it; else UINT64_MAX */
    const char *path;   /* of the file; NULL: nothing was read */
    int fd;             /* -1: closed */
    bool rests;         /* the file is closed after each read */
    struct cover cover; /* as it was after the last read, if size_bytes is not 0 */
};

/** Opens file `path`, unless it is open. Returns as trace_reader_open(). */
int trace_part_open(struct trace_part *part, const char *path) BEZEL_MUST_CHECK;
void trace_part_close(struct trace_part *part);

/** As trace_part_get(), which reads where the part does not have the bytes. */
ssize_t trace_part_read(struct trace_part *part, const char *path, uint64_t offset, size_t want, size_t most,
                        const uint8_t **bytes) BEZEL_MUST_CHECK;

/**
 * Has the part hold the bytes of file `path` from `offset` on: `want` of them, or as many as there are, and up to
 * `most` if they must be read. The path is borrowed until the part is closed or holds another file, which its address
 * tells. Returns how many there are from *bytes on; BEZEL_EAGAIN where they have expired, up to where the part's cover
 * says; BEZEL_EMALFORMED where the file is gone, or no regular file; or another error.
 */
static inline ssize_t trace_part_get(struct trace_part *part, const char *path, uint64_t offset, size_t want,
                                     size_t most, const uint8_t **bytes)
{
    uint64_t ahead = offset - part->offset;
    if (part->path != path || ahead > part->used || part->used - ahead < want || offset < part->cover.header.size_bytes)
        return trace_part_read(part, path, offset, want, most, bytes);
    *bytes = part->bytes + ahead;
    return (ssize_t)(part->used - ahead);
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

/** A position behind some packet, or behind a cover. All zeros: at the beginning. */
struct trace_position {
    struct packet_chain chain;
    uint64_t bytes, records;   /* in the file up to there, what expired included */
    uint64_t first;            /* timestamp_begin of the first packet, ns */
    struct packet_header last; /* the packet, or the cover */
};

/** What of a stream expired from the store before it was read, also while it was being read. */
struct trace_expired {
    uint64_t packets, records;
    struct packet_header cover; /* the latest, if packets is not 0 */
    uint64_t cover_records;     /* from the stream's first on */
};

struct trace_reader {
    const char *path; /* borrowed */
    /* Whose packets they are; NULL: not known. Borrowed. */
    const struct model_process *process;
    struct trace_part *part; /* borrowed; others may read other files by it in between */
    size_t most;             /* bytes to read at once, if no packet needs more */
    uint64_t end;            /* bytes of the file that are to be read, from `at` on */
    bool follows;            /* where `end` is reached, it moves to where the file ends by then */
    struct trace_position at;
    struct trace_expired *expired; /* counts it; borrowed. NULL: it is not counted */
    uint64_t lost;                 /* records that the packet counts as lost which was read last */
    const char *reason;            /* for BEZEL_EMALFORMED or BEZEL_EVERSION: a few words, static storage */
    bool refused;                  /* ... that is a packet of this stream, and in its place, which contradicts others */
};

/**
 * Opens stream file `path` for a reader of whole packets, from its beginning to where it ends by then. Returns 0 with
 * *r for trace_reader_close(); BEZEL_EMALFORMED if it is no regular file (opening a pipe would block) or a symbolic
 * link leads to it; BEZEL_ENOENT, BEZEL_ENOMEM, or another error.
 */
int trace_reader_open(const char *path, struct trace_reader **r) BEZEL_MUST_CHECK;
void trace_reader_close(struct trace_reader *r);

/**
 * Reads the next packet. Returns 1 with *h filled and *packet pointing to its h->size_bytes bytes, which stay in the
 * part until the next call; 0 where no further complete packet is there yet (call it again later); BEZEL_EMALFORMED
 * where the bytes are not a packet, with r->refused and *h where they are one, but not the next one; BEZEL_EVERSION; or
 * another error.
 */
int trace_reader_next(struct trace_reader *r, struct packet_header *h, const uint8_t **packet) BEZEL_MUST_CHECK;

/** As trace_reader_next(), but the position stays in front of the packet, until it is taken. */
int trace_reader_look(struct trace_reader *r, struct packet_header *h, const uint8_t **packet) BEZEL_MUST_CHECK;
void trace_reader_take(struct trace_reader *r, const struct packet_header *h);

/** As trace_reader_next(), of which only the header is read: r->at.last. The packet's bytes end at r->at.bytes. */
int trace_reader_step(struct trace_reader *r) BEZEL_MUST_CHECK;

/** Goes on as stream `s`, behind what expired of it by the database, unless the reader is further. */
void trace_reader_follow(struct trace_reader *r, const struct model_stream *s);

/** Goes on behind the cover that the part has found. */
void trace_reader_pass(struct trace_reader *r);

/** Notes that the file has `bytes` by now, at least up to the position. */
void trace_reader_measure(struct trace_reader *r, uint64_t bytes);

/** The number of bytes that the file, which the part has open, has now behind the position. */
uint64_t trace_reader_rest(const struct trace_reader *r);

/* ---- folders ----------------------------------------------------------------------------------------------------- */

/**
 * Calls `each` with folder `trace` of run directory `run` and the name of every entry there, until it returns another
 * value than 0. Returns that, or an error with errno. Nothing is stored yet: there is no folder.
 */
int trace_reader_folders(const char *run, int (*each)(const char *trace, const char *name, void *context),
                         void *context) BEZEL_MUST_CHECK;

/**
 * Calls `each` for every stream file in directory `trace` (of one node), in the order of their names: all files but
 * `metadata` and those that begin with a dot. Stops at and returns the first non-zero result of `each`; else 0 or an
 * error, with errno ENOTDIR if it is no folder, ELOOP where a symbolic link leads to it.
 */
int trace_reader_list(const char *trace, int (*each)(const char *path, void *context), void *context) BEZEL_MUST_CHECK;

/**
 * The bytes of all stream files of run directory `run`, torn tails and what expired included. Files that cannot be read
 * count as 0. Follows no symbolic link.
 */
uint64_t trace_reader_trace_bytes(const char *run);

#endif
