// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Sends metrics by HTTP POST, as VictoriaMetrics, vmagent and gateways take them. A thread of its own sends the newest
 * text: one that is offered while another is sent waits, and is replaced by a newer one. Each attempt ends within
 * PUSH_PATIENCE_S; one that fails is logged once, until it succeeds again.
 */
#ifndef BEZEL_MEDIATORS_METRICS_PUSH_H
#define BEZEL_MEDIATORS_METRICS_PUSH_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { PUSH_PATIENCE_S = 5, PUSH_CREDENTIALS_MAX = 1024 };

struct push;

struct push_counts {
    uint64_t taken, missed, refused; /* texts: the server has it; a newer one came first; it was sent in vain */
};

/**
 * Opens `url`, http://HOST[:PORT]/PATH or https://. `credentials`: a file whose first line is the value of the header
 * Authorization, such as "Bearer TOKEN"; NULL: none are sent. Returns 0 with *p; BEZEL_EINVAL with *why, a static
 * sentence; or BEZEL_ESYS, where the file cannot be read, with errno.
 */
int push_open(const char *url, const char *credentials, struct push **p, const char **why) BEZEL_MUST_CHECK;

/** Offers a text, which is copied. Does not wait. */
void push_offer(struct push *p, const char *text, size_t n);

struct push_counts push_counts(struct push *p);

/** Waits until the server has what it was offered last, for some seconds at most, and ends. NULL is allowed. */
void push_close(struct push *p);

#endif
