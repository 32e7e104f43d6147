// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Messages between a consumer, or a mirror, and the server of a run (mdr/read.x), as structs in memory. Apart from
 * message.h, so that libbezel-consumer needs no libtirpc. Longer bytes are borrowed: from the frame that was decoded,
 * or for a frame from the caller. Texts are NUL-terminated UTF-8. Functions here are pure and thread-safe.
 */
#ifndef BEZEL_MDR_READ_MESSAGE_H
#define BEZEL_MDR_READ_MESSAGE_H

#include "mdr/packet.h"
#include "mdr/parts.h"

enum {
    READ_WHERE_MAX = 511,
    READ_FRAME_MAX = 66 * 1024,        /* bytes of a message */
    READ_CREDIT_MIN = READ_FRAME_MAX,  /* of the first credit */
    READ_CREDIT_MAX = 1 << 20,         /* bytes that are ever under way to a consumer */
    READ_SCHEMAS_MAX = 1 << 20,        /* of a consumer: a run has no more processes */
    READ_DICTIONARIES_MAX = 256 << 20, /* bytes of their dictionaries: a consumer takes no more */
    READ_TOKEN_MAX = 4096,
    READ_BYTES_MAX = 64 * 1024,          /* bytes of a file, or of rows, in a message */
    READ_TAIL = 4096,                    /* bytes of which HAVE has the checksum, at most */
    READ_FILES_MAX = 1 << 20,            /* of a mirror */
    READ_ITEM_LEAST = 4 * 3 + 8 * 2 + 4, /* bytes of an item, in front of its record or loss */
};

enum read_type {
    READ_REFUSE = 3, /* enum message_type has these two */
    READ_HEARTBEAT = 8,
    READ_READ = 30,
    READ_READING = 31,
    READ_SCHEMA = 32,
    READ_RECORDS = 33,
    READ_CREDIT = 34,
    READ_END = 35,
    READ_MIRROR = 36,
    READ_FILE = 37,
    READ_HAVE = 38,
    READ_BYTES = 39,
    READ_ROWS = 40,
    READ_STEP = 41,
    READ_WATERMARK = 42,
};

#define READ_LAST_ALL UINT64_MAX /* `last` of a request: begin with the first record */

struct read_request {
    char node[MESSAGE_TEXT_MAX + 1], process[MESSAGE_TEXT_MAX + 1], aspect[MESSAGE_TEXT_MAX + 1]; /* ""; all */
    char where[READ_WHERE_MAX + 1];
    bool no_monitor, follow, schemas;
    int64_t from, until;
    uint64_t since, last;
    uint32_t credit;
};

struct read_reading {
    char run[MESSAGE_NAME_MAX + 1];
    bool grows;
    char note[MESSAGE_TEXT_MAX + 1];
};

struct read_schema {
    uint32_t number;
    char node[MESSAGE_NAME_MAX + 1];
    uint8_t uuid[16];
    char process[MESSAGE_NAME_MAX + 1];
    uint64_t instance;
    uint32_t pid;
    enum message_role role;
    uint32_t dictionary_bytes;
    const uint8_t *dictionary;
};

enum read_order {
    READ_LOSS = 0,
    READ_UNKNOWN = 1,
    READ_PROVEN = 2,
    READ_LATE = 3,
    READ_TACHYON = 4,
    READ_MOVED = 5,
    READ_CONTRARY = 6,
};

/** A record or a loss. */
struct read_item {
    uint32_t schema, ring, thread;
    enum read_order order;
    int64_t run_time, error; /* ns; error -1: unknown */
    uint64_t time, lost;     /* of a loss */
    uint32_t record_bytes;   /* PACKET_RECORD_BYTES and 8 for each value; 0: a loss */
    const uint8_t *record;
};

struct read_records {
    uint64_t behind;
    uint32_t count, bytes;
    const uint8_t *items; /* encoded: read_item_get() */
};

enum read_end_why {
    READ_END_DONE = 0,
    READ_END_WRONG = 1,
    READ_END_ABSENT = 2,
    READ_END_DAMAGED = 3,
    READ_END_VERSION = 4,
    READ_END_FAILED = 5,
    READ_END_STOPPED = 6,
};

struct read_end {
    enum read_end_why why;
    uint64_t records, lost, late, cut, rest, behind;
    char reason[MESSAGE_TEXT_MAX + 1];
};

struct read_mirror {
    bool follow;
    uint32_t rows, credit;
    uint32_t token_bytes;
    const uint8_t *token;
};

struct read_file {
    uint32_t number;
    char name[MESSAGE_TEXT_MAX + 1];
    bool stream;
    uint64_t bytes;
    uint32_t cover_bytes; /* 0 or PACKET_HEADER_BYTES */
    const uint8_t *cover;
    char lacks[MESSAGE_TEXT_MAX + 1];
};

struct read_have {
    uint32_t number;
    uint64_t bytes, sum;
};

struct read_bytes {
    uint32_t number;
    uint64_t offset;
    uint32_t count;
    const uint8_t *bytes;
};

struct read_rows {
    uint32_t count;
    const uint8_t *bytes;
};

struct read_step {
    uint64_t behind;
    bool grows, commit;
};

struct read_watermark {
    uint8_t node[16];
    int64_t low;
    uint64_t age;
};

struct read_message {
    enum read_type type;
    union {
        struct message_refuse refuse;
        struct message_heartbeat heartbeat;
        struct read_request read;
        struct read_reading reading;
        struct read_schema schema;
        struct read_records records;
        uint32_t credit;
        struct read_end end;
        struct read_mirror mirror;
        struct read_file file;
        struct read_have have;
        struct read_bytes bytes;
        struct read_rows rows;
        struct read_step step;
        struct read_watermark watermark;
    };
};

/**
 * Encodes `m` into the `capacity` bytes at `out`. Returns the number of bytes (a multiple of 4), BEZEL_EFULL if they do
 * not fit, BEZEL_EINVAL if a count, enum or text of `m` exceeds its bound. Items of RECORDS are copied as they are.
 */
int read_message_encode(const struct read_message *m, uint8_t *out, size_t capacity) BEZEL_MUST_CHECK;

/**
 * Decodes the message in the `n` bytes at `in`, all of its items included; *m borrows them. As strict as
 * message_decode(). Returns 0; BEZEL_EMALFORMED, and *m is undefined; or BEZEL_EVERSION if the message has another
 * version: then *m is a REFUSE, either the message itself or the answer to it.
 */
int read_message_decode(const void *in, size_t n, struct read_message *m) BEZEL_MUST_CHECK;

/** Whether credit counts a message of this type: the long ones, and those of which there are many. */
bool read_is_counted(uint32_t type);

/**
 * The next item of RECORDS that read_message_decode() took: *offset is 0 at first, and is moved on. False: there is
 * none.
 */
bool read_item_get(const struct read_records *records, size_t *offset, struct read_item *item);

/** RECORDS that are made item by item, in a frame of READ_FRAME_MAX bytes. */
struct read_frame {
    uint32_t count;
    size_t size; /* bytes so far */
    uint8_t bytes[READ_FRAME_MAX];
};

/** Begins a frame without items. */
void read_frame_begin(struct read_frame *f);

/** Appends a record, with the `value_count` of `r`, or where that is NULL a loss. False: there is no room. */
bool read_frame_add(struct read_frame *f, const struct read_item *item, const struct packet_record *r);

/** Completes the frame: f->bytes are `size` bytes then. */
void read_frame_end(struct read_frame *f, uint64_t behind);

#endif
