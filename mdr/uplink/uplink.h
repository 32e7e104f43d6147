// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The interface between an uplink and the source of its packets. A source puts packets into a window and implements
 * these functions; the uplink empties the window. The external sensor of a node is a source; any other module that
 * forwards packets can be one.
 *
 * The window keeps each stream (process instance, ring) and its marks: what was packetized, sent, acknowledged,
 * spooled, lost. The source keeps everything beside the packets: the processes, with their dictionaries and books,
 * and notes. The uplink keeps what it has sent of these on the present connection.
 *
 * The uplink calls these functions from within its own, on its owner's thread. They must not block, or call the uplink.
 */
#ifndef BEZEL_MDR_UPLINK_UPLINK_H
#define BEZEL_MDR_UPLINK_UPLINK_H

#include "base/err.h"
#include "mdr/uplink/window.h"

struct message_books;
struct message_note;
struct message_process;

/** A process of the source, in its present state. */
struct uplink_process {
    uint64_t instance;
    uint32_t place;   /* below WINDOW_PROCESSES; no other process has it for as long as this one is there */
    uint32_t version; /* of its description; changes where the dictionary grew */
    bool recording;   /* it lives, and is read */
    bool complete;    /* all its packets were built and acknowledged: its books are final */
    bool saved;       /* the receiver has saved its final books, see saved() */
};

struct uplink_source {
    void *context;
    struct window *window;     /* borrowed */
    const char *dir;           /* the window's folder; borrowed */
    uint8_t run[16], uuid[16]; /* of the trace that the packets belong to */

    /** Finds process `instance`. False: the source does not have it, or not any more. */
    bool (*find)(void *context, uint64_t instance, struct uplink_process *p);

    /** The first process at place `from` or behind it; without `idle`, those that record nothing may be left out. */
    bool (*next)(void *context, uint32_t from, bool idle, struct uplink_process *p);

    /** Fills in the description of process `instance`, which the source has. */
    void (*describe)(void *context, uint64_t instance, struct message_process *m);

    /** Fills in the books of process `instance`; 0: of the node. Those that are `final` are the last of a process. */
    void (*books)(void *context, uint64_t instance, bool final, int64_t now, struct message_books *books);

    /** The number of unobserved processes in the node's own books: they are sent whenever it has changed. */
    uint64_t (*unobserved)(const void *context);

    /** Note `i` for the operator, NULL if there are no more than `i`. Notes stay as they are. */
    const struct message_note *(*note)(const void *context, uint32_t i);

    /** Adds a note under `code`, about process `instance`, or about the node where that is 0. */
    void (*add_note)(void *context, uint64_t instance, int64_t now, const char *code, const char *format, ...)
        BEZEL_PRINTF(5, 6);

    /** Books of all processes are due, of idle ones too: a connection has come up, or the uplink gives up. */
    void (*books_due)(void *context, int64_t now);

    /** Whether the receiver has saved the final books of process `instance`; false where it needs them once more. */
    void (*saved)(void *context, uint64_t instance, bool saved);

    /** The receiver has stored the packet with header `h`. Not called for streams that have lost packets. */
    void (*stored)(void *context, const struct packet_header *h, int64_t now);

    /** Whether the spool takes no more packets, so that a full window stays full. */
    void (*spool_full)(void *context, bool full);

    /** The low watermark, ns: every record before it is in the window. It never falls; 0: not known. */
    int64_t (*low)(void *context, int64_t now);
};

#endif
