// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * An external sensor without sensors: it makes up processes, rings and packets, speaks the link's protocol to a
 * collector, and remembers every byte that a stream's file must hold in the end. No test framework in here; functions
 * that can fail return false.
 */
#ifndef BEZEL_TESTS_LIB_FAKE_SENSOR_H
#define BEZEL_TESTS_LIB_FAKE_SENSOR_H

#include "base/clock.h"
#include "mdr/dict.h"
#include "mdr/link/link.h"
#include "mdr/packet.h"
#include "mdr/parts.h"

struct message;

enum { FAKE_PROCESSES = 8, FAKE_RINGS = 4, FAKE_PACKETS = 4096 };

/** A stream: its packets one after the other, and how far they went. */
struct fake_stream {
    uint8_t *bytes;
    size_t used, capacity;
    size_t starts[FAKE_PACKETS + 1]; /* of each packet, and the end */
    uint64_t packets, sent, acked;
    uint64_t next_ordinal, discarded, records;
    uint64_t time;
    int64_t rewound; /* when it was last sent again */
    bool is_refused; /* whatever comes of it is thrown away and acknowledged, in the order in which it comes */
};

struct fake_process {
    struct message_process said;
    struct dict *dict;
    uint64_t records; /* in all its streams */
    struct fake_stream rings[FAKE_RINGS];
};

struct fake_sensor {
    struct message_hello hello;
    struct link *link;
    const struct link_keys *keys; /* borrowed; NULL: none */
    char endpoint[LINK_ENDPOINT_MAX];
    bool welcome; /* of this connection */
    bool bye;     /* was answered */
    bool gone;    /* the collector was not heard for FAKE_SILENT */
    char refused[MESSAGE_TEXT_MAX + 1];
    int64_t heard;
    uint64_t needs;          /* NEEDs that came */
    uint64_t saved;          /* BOOKS that came: answers to final ones */
    uint64_t saved_instance; /* of the last one */
    unsigned process_count;
    struct fake_process *processes[FAKE_PROCESSES];
    uint64_t *forgotten; /* instances of forgotten processes */
    size_t forgotten_count;
    uint64_t seed;
    struct message *in, *out; /* received last; that it sends */
    uint8_t frame[MESSAGE_MAX_BYTES];
};

/* Shorter than a collector's own patience, so that tests go on quickly after a kill. */
#define FAKE_SILENT (700 * CLOCK_MS)

/** A sensor of node `node` (its trace id is made of the name) in run `run`, booted where we are. NULL: no memory. */
struct fake_sensor *fake_new(const char *node, const uint8_t run[16], uint64_t seed);
void fake_free(struct fake_sensor *f);

/** Makes room for other processes. What the collector still says of these is passed over. */
void fake_forget_processes(struct fake_sensor *f);

/** Adds a process of aspects tick() and shown(int64, float64, enum, string), with some strings. Returns its index. */
unsigned fake_add_process(struct fake_sensor *f, const char *name, uint32_t pid, enum message_role role);

/** Appends a string, an aspect without fields, or a copy of `like`, to a process's dictionary. Returns its id. */
uint32_t fake_add_string(struct fake_sensor *f, unsigned process, const char *text);
uint32_t fake_add_aspect(struct fake_sensor *f, unsigned process, const char *name);
uint32_t fake_add_aspect_like(struct fake_sensor *f, unsigned process, const struct dict_aspect *like);

/** Cut the next packet of a stream; a stream opens by itself. fake_cut_one() holds one record with these values. */
void fake_cut(struct fake_sensor *f, unsigned process, unsigned ring, uint32_t records);
void fake_cut_one(struct fake_sensor *f, unsigned process, unsigned ring, uint32_t aspect, const uint64_t *values);
void fake_lose(struct fake_sensor *f, unsigned process, unsigned ring, uint64_t count);
void fake_close_stream(struct fake_sensor *f, unsigned process, unsigned ring);

/** Connects (anew) and says HELLO; nothing is taken for sent any more. */
bool fake_connect(struct fake_sensor *f, const char *endpoint);

/** Cuts the connection without a word. */
void fake_disconnect(struct fake_sensor *f);

/** Encodes and sends f->out; or any bytes. */
bool fake_say(struct fake_sensor *f);
bool fake_send(struct fake_sensor *f, const void *bytes, size_t n);
bool fake_say_process(struct fake_sensor *f, unsigned process);

/**
 * Says BOOKS of a process: as many attempts of each aspect as were cut, and `lost` more of aspect 1, lost to a full
 * ring.
 */
bool fake_say_books(struct fake_sensor *f, unsigned process, enum message_process_state state, uint64_t lost);

/**
 * One round: takes what came, sends what is not sent yet, waits up to `wait_ns` for more. Reconnects where nobody is
 * heard.
 */
void fake_round(struct fake_sensor *f, int64_t wait_ns);

/** Rounds until all packets are acknowledged, or `timeout_ns` have passed (false). */
bool fake_settle(struct fake_sensor *f, int64_t timeout_ns);

/** Says BYE and waits for the answer. */
bool fake_say_bye(struct fake_sensor *f, int64_t timeout_ns);

/** Whether every packet is acknowledged on this connection; how many records were cut. */
bool fake_all_acked(const struct fake_sensor *f);
uint64_t fake_records(const struct fake_sensor *f);

/**
 * Whether the file at `path` holds the packets of a stream, each once: all of them, or (`whole` false) at least what
 * was acknowledged and nothing that was not cut; but for those that its cover stands for.
 */
bool fake_file_is_right(const struct fake_stream *s, const char *path, bool whole);

#endif
