// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Connected links to names. ZeroMQ gets numbers: a name is dialled before, and frames wait here until it has one. */
#include "base/clock.h"
#include "base/log.h"
#include "mdr/link/link_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#define REDIAL_PAUSE CLOCK_S

enum { LINK_KEPT = 16, LINK_KEPT_PARTS = 2 * LINK_KEPT }; /* frames that wait for the address of a name */

struct link_dial {
    struct address address;
    struct dial *dial;         /* NULL: the last one found nothing, and `again` is when the next one begins */
    int64_t again;             /* ns */
    char why[DIAL_WHY_MAX];    /* of the last one; "": none yet */
    char logged[DIAL_WHY_MAX]; /* the last of these that was logged */
    int kept_max, kept_count;  /* frames; kept_max: at most LINK_KEPT */
    int part_count;            /* of these frames */
    zmq_msg_t parts[LINK_KEPT_PARTS];
    int flags[LINK_KEPT_PARTS]; /* ZMQ_SNDMORE: another part follows */
};

static int dial_again(struct link_dial *d)
{
    int err = dial_begin(&d->address, &d->dial);
    if (err == BEZEL_ENOMEM)
        errno = ENOMEM;
    return err ? -1 : 0;
}

int link_dial_begin(struct link *link, const struct address *address, int queue)
{
    struct link_dial *d = calloc(1, sizeof *d);
    if (!d)
        return -1;
    d->address = *address;
    d->kept_max = queue < LINK_KEPT ? queue : LINK_KEPT;
    link->dial = d;
    return dial_again(d);
}

/* A frame has one part or two, so there is room for all parts where there is for the frame. */
int link_dial_keep(struct link *link, zmq_msg_t *part, int flags)
{
    struct link_dial *d = link->dial;
    if (d->kept_count == d->kept_max)
        return errno = EAGAIN, -1;
    d->flags[d->part_count] = flags & ZMQ_SNDMORE;
    d->kept_count += !(flags & ZMQ_SNDMORE);
    zmq_msg_init(&d->parts[d->part_count]);
    return zmq_msg_move(&d->parts[d->part_count++], part);
}

/* Gives ZeroMQ the address, and the frames: it has room for them, since there are at most as many as its queue takes.
 */
static void connect_number(struct link *link, const struct address *number)
{
    char endpoint[ADDRESS_TEXT_MAX];
    struct link_dial *d = link->dial;
    if (link_connect_number(link, number->kind == ADDRESS_IPV6, address_print(number, endpoint)) != 0) {
        snprintf(d->why, sizeof d->why, "has an address that ZeroMQ refuses: %s (%.150s)", strerror(errno),
                 number->host);
        return;
    }
    for (int i = 0; i < d->part_count; i++)
        (void)!zmq_msg_send(&d->parts[i], link->socket, ZMQ_DONTWAIT | d->flags[i]);
    link_dial_end(link);
}

void link_dial_step(struct link *link)
{
    struct link_dial *d = link->dial;
    struct address number;
    int64_t now = clock_now();
    if (!d->dial && now >= d->again && dial_again(d) != 0)
        d->again = now + REDIAL_PAUSE; /* no thread, or no descriptor now */
    int err = d->dial ? dial_answer(d->dial, &number, d->why) : BEZEL_EAGAIN;
    if (err == BEZEL_EAGAIN)
        return;
    dial_end(d->dial);
    d->dial = NULL;
    d->again = now + REDIAL_PAUSE;
    if (!err)
        connect_number(link, &number);
    else if (strcmp(d->why, d->logged) != 0) {
        memcpy(d->logged, d->why, sizeof d->logged);
        log_warn("BEZEL-LINK-NAME", "%s %s", link->endpoint, d->why);
    }
}

int link_dial_fd(const struct link *link)
{
    return link->dial && link->dial->dial ? dial_fd(link->dial->dial) : -1;
}

const char *link_dial_why(const struct link *link)
{
    return link->dial->why[0] ? link->dial->why : NULL;
}

void link_dial_end(struct link *link)
{
    struct link_dial *d = link->dial;
    if (!d)
        return;
    for (int i = 0; i < d->part_count; i++)
        zmq_msg_close(&d->parts[i]); /* empty where it was sent */
    dial_end(d->dial);
    free(d);
    link->dial = NULL;
}
