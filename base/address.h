// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Addresses of TCP endpoints: tcp://HOST:PORT. HOST is an IPv4 address (RFC 791, four decimal numbers), an IPv6 address
 * in brackets (RFC 4291; with a zone behind '%' if it is link-local, RFC 4007), a name, or `*`. Functions are pure and
 * thread-safe.
 */
#ifndef BEZEL_BASE_ADDRESS_H
#define BEZEL_BASE_ADDRESS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ADDRESS_HOST_MAX = 253, /* bytes of a name (RFC 1035) */
    ADDRESS_TEXT_MAX = ADDRESS_HOST_MAX + sizeof "tcp://[]:65535",
};

enum address_kind { ADDRESS_IPV4, ADDRESS_IPV6, ADDRESS_NAME, ADDRESS_ANY };

struct address {
    enum address_kind kind;
    char host[ADDRESS_HOST_MAX + 1]; /* without brackets; "*" for ADDRESS_ANY */
    uint16_t port;                   /* 0: `*`, any free port */
};

/**
 * Reads tcp://HOST:PORT, PORT 1 to 65535 or `*`. Returns 0 with *address, or BEZEL_EINVAL with *why a static sentence.
 * A name has letters, digits, '-', '_' and '.'; one whose last part is a number is refused, as a wrong IPv4 address.
 */
int address_read(const char *text, struct address *address, const char **why) BEZEL_MUST_CHECK;

/** The same of PORT, on 127.0.0.1, or HOST:PORT with an IPv4 address or `*`: where something listens. */
int address_read_listen(const char *text, struct address *address, const char **why) BEZEL_MUST_CHECK;

/** Writes the address as address_read() reads it. Returns `text`. */
const char *address_print(const struct address *address, char text[ADDRESS_TEXT_MAX]);

/** Whether it is a number on loopback: 127.0.0.0/8 or ::1. */
bool address_is_loopback(const struct address *address);

#endif
