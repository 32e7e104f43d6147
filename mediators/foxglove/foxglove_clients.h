// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The clients of bezel-foxglove: what each knows, has subscribed to, is owed and has missed. Of each channel a client
 * is owed the newest record at most, so what waits is bounded, and a busy channel does not keep others from it. One
 * owner.
 */
#ifndef BEZEL_MEDIATORS_FOXGLOVE_CLIENTS_H
#define BEZEL_MEDIATORS_FOXGLOVE_CLIENTS_H

#include "mediators/foxglove/foxglove_channels.h"
#include "views/page/web.h"

struct foxglove_subscription {
    uint32_t id;
    bool on, due; /* due: the newest record of the channel is to be sent */
    bool owed;    /* it came after the client had subscribed: if a newer one takes its place, it was missed */
};

struct foxglove_client {
    uint32_t page;                    /* of web.h; 0: the place is free */
    size_t known, on;                 /* channels that it was told of; that it has subscribed to */
    size_t due, turn;                 /* channels whose newest record is to be sent, and with which one that begins */
    struct foxglove_subscription *of; /* by channel; FOXGLOVE_CHANNELS of them */
    int64_t clock;                    /* the latest time that it was told, ns of the run's time */
    int64_t stuck_since;              /* it has little room since then; 0: it has more */
    uint64_t sent, missed;            /* records */
    uint64_t said, logged;            /* of those missed, as it was told of them, and as the log says */
};

struct foxglove_clients {
    struct web *web;
    struct foxglove_channels *channels;
    const char *name, *session; /* of the run; of what is shown of it: another one begins anew */
    struct foxglove_client list[WEB_PAGES];
    uint64_t missed; /* of all so far */
    bool emptied;    /* the last one that was there has gone; for its owner to clear */
};

/** Takes what happened to a client. Frees the event's text. */
void foxglove_clients_take(struct foxglove_clients *c, struct web_event *e);
void foxglove_clients_fini(struct foxglove_clients *c);

/** Sends what is due, as far as there is room. Returns whether something is left. */
bool foxglove_clients_serve(struct foxglove_clients *c);

/**
 * Gives all who want it the newest record of channel `number`. `past`: it was there before they came, and may as well
 * be missed.
 */
void foxglove_clients_give(struct foxglove_clients *c, size_t number, bool past);

/** Says something to all; level 0: for information, 1: a warning, 2: an error. */
void foxglove_clients_say(struct foxglove_clients *c, int level, const char *text);

/**
 * Whether there are records that have to wait: one of the clients has little room left, but has had more within
 * `patience`, ns.
 */
bool foxglove_clients_hold(struct foxglove_clients *c, int64_t now, int64_t patience);

/** How many channels they have subscribed to, all together. */
size_t foxglove_clients_subscriptions(const struct foxglove_clients *c);

#endif
