// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Who may talk to `bezel view`. The program listens on loopback, where every user of the machine and every page in the
 * browser can connect. A browser shows that its user opened the page by a token, which only that user could read from a
 * file of mode 0600. A token is good once; the browser keeps a cookie instead, which scripts and other sites do not
 * get. The header Host must name this machine, so that a foreign name that resolves to 127.0.0.1 (DNS rebinding) gets
 * nothing; the header Origin must be the same host and port, so that other pages get nothing. Pure, but for
 * gate_init() and gate_take_token(), which draw random bytes. One thread.
 */
#ifndef BEZEL_VIEWS_PAGE_GATE_H
#define BEZEL_VIEWS_PAGE_GATE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    GATE_SECRET_SIZE = 33, /* 128 random bits as hexadecimal digits, and a NUL */
    GATE_COOKIE_NAME_SIZE = 24,
};

struct gate {
    char token[GATE_SECRET_SIZE];            /* of the next page that is opened */
    char cookie[GATE_SECRET_SIZE];           /* the value that an admitted browser has */
    char cookie_name[GATE_COOKIE_NAME_SIZE]; /* cookies of one host are shared by its ports: each program has a name */
    char control[GATE_SECRET_SIZE];          /* "": nothing can be controlled */
    const char *allowed;                     /* one further origin that is admitted; borrowed; NULL: none */
};

/** Draws all secrets; that for control only if `control`. Returns 0 or BEZEL_ESYS. */
int gate_init(struct gate *g, bool control, const char *allowed) BEZEL_MUST_CHECK;

/** Whether `token` is the valid one. If so, draws a new one, and the old one is good no more. */
bool gate_take_token(struct gate *g, const char *token) BEZEL_MUST_CHECK;

/** Whether `token` is the valid one, which it stays. */
bool gate_has_token(const struct gate *g, const char *token);

/** Whether header Cookie `cookies` has our cookie. NULL: there is none. */
bool gate_has_cookie(const struct gate *g, const char *cookies);

/** Whether header Host names this machine: 127.0.0.1, localhost or [::1], with any port. */
bool gate_is_host(const char *host);

/** Whether header Origin is http:// and `host`, the header Host of the same request, or the origin that is allowed. */
bool gate_is_origin(const struct gate *g, const char *origin, const char *host);

/** Whether `secret` is the one for control. */
bool gate_may_control(const struct gate *g, const char *secret);

#endif
