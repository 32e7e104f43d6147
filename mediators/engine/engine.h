// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * An engine that stores messages, as a run is handed on to it and made out of it again. The messages of a run are in
 * one order, under keys; an engine has the last message of each key at hand. NATS JetStream and Kafka
 * are behind it, as far as their libraries were there when this was built (engine_ops.h).
 *
 * A message that was put is under way until engine_flush() returns 0. Then the engine has acknowledged it, which does
 * not mean that it is on a disk: JetStream syncs every two minutes unless it is told otherwise, Kafka when the kernel
 * does. A publisher that
 * connects anew therefore asks what the engine has, and puts the rest again.
 *
 * One thread. Functions return 0 or an error; engine_why() has a sentence on it, without a capital and a point.
 */
#ifndef BEZEL_MEDIATORS_ENGINE_ENGINE_H
#define BEZEL_MEDIATORS_ENGINE_ENGINE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ENGINE_NAME_MAX = 200, ENGINE_WHY_MAX = 512, ENGINE_SERVERS = 16 };

/** Borrows from the engine, until its next call. */
struct engine_message {
    const uint8_t *bytes;
    size_t size;
};

struct engine;

/**
 * Whether `url` can be that of an engine: "nats://HOST:PORT", "tls://HOST:PORT" or "kafka://HOST:PORT", or several of a
 * kind with commas, ENGINE_SERVERS at most; NULL, or why not. Pure.
 */
const char *engine_check(const char *url);

/**
 * Reads what engines ask for of whoever connects to them from `file`, which only its owner may read: lines NAME =
 * VALUE, with # for comments. NATS takes user, password, token, credentials (a file of nsc's), ca, certificate and key
 * (files, for TLS); Kafka the properties of librdkafka. NULL, also for no file; or why not, without a capital and a
 * point. Once, before engine_open().
 */
const char *engine_credentials(const char *file);

/**
 * Connects to the first server of `url` that answers, for run `name`, 1 to ENGINE_NAME_MAX bytes. To write: makes room
 * for the run where there is none, on as many as three of the servers named. To read: BEZEL_ENOENT where the engine has
 * no such run, BEZEL_EMALFORMED where it has lost a part. BEZEL_EPERM: the credentials are refused. Waits for some
 * seconds. In any case *e is for engine_close(), or NULL.
 */
int engine_open(const char *url, const char *name, bool writes, struct engine **e) BEZEL_MUST_CHECK;

/**
 * Puts a message, at once or when fewer are under way. `key` has up to ENGINE_NAME_MAX bytes. `once`: where the engine
 * took the same message under the same key some minutes ago, it does not take it again.
 */
int engine_put(struct engine *e, const char *key, bool once, const void *bytes, size_t n) BEZEL_MUST_CHECK;

/** Waits until all that was put is acknowledged, for some seconds. */
int engine_flush(struct engine *e) BEZEL_MUST_CHECK;

/** Takes the last message of a key. Returns 1; 0: there is none; or an error. */
int engine_last(struct engine *e, const char *key, struct engine_message *m) BEZEL_MUST_CHECK;

/** Takes the next message. Returns 1; 0: there are no more as far as the engine says now; or an error. */
int engine_next(struct engine *e, struct engine_message *m) BEZEL_MUST_CHECK;

/** Of a writer: how many messages the engine had and has no more, as they expired or were deleted. */
int engine_gone(struct engine *e, uint64_t *n) BEZEL_MUST_CHECK;

const char *engine_why(const struct engine *e);

void engine_close(struct engine *e);

#endif
