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
#include "mediators/mediator.h"

enum { PUSH_PATIENCE_S = 5, PUSH_CREDENTIALS_MAX = 1024 };

/**
 * Opens `url`, http://HOST[:PORT]/PATH or https://. `credentials`: a file whose first line is the value of the header
 * Authorization, such as "Bearer TOKEN"; NULL: none are sent. Returns 0 with *m; BEZEL_EINVAL with *why, a static
 * sentence; or BEZEL_ESYS, where the file cannot be read, with errno.
 */
int push_open(const char *url, const char *credentials, struct mediator *m, const char **why) BEZEL_MUST_CHECK;

#endif
