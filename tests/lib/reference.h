// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The codec that rpcgen makes of mdr.x, with libtirpc's memory streams: the reference that Bezel's own is compared
 * with.
 */
#ifndef BEZEL_TESTS_LIB_REFERENCE_H
#define BEZEL_TESTS_LIB_REFERENCE_H

#include "mdr_reference.h"

#include <rpc/xdr.h>

#include <stddef.h>

/**
 * Decodes one value of TYPE from the start of `n` bytes into *value (zeros before; free_##TYPE() after, success or
 * not). Returns the bytes it took, -1 where it failed. encode_##TYPE() returns the bytes it put.
 */
#define REFERENCE_CODEC(TYPE)                                                                                          \
    static inline long decode_##TYPE(const void *in, size_t n, TYPE *value)                                            \
    {                                                                                                                  \
        XDR x;                                                                                                         \
        xdrmem_create(&x, (char *)in, (u_int)n, XDR_DECODE);                                                           \
        return xdr_##TYPE(&x, value) ? (long)xdr_getpos(&x) : -1;                                                      \
    }                                                                                                                  \
    static inline long encode_##TYPE(TYPE *value, void *out, size_t capacity)                                          \
    {                                                                                                                  \
        XDR x;                                                                                                         \
        xdrmem_create(&x, out, (u_int)capacity, XDR_ENCODE);                                                           \
        return xdr_##TYPE(&x, value) ? (long)xdr_getpos(&x) : -1;                                                      \
    }                                                                                                                  \
    static inline void free_##TYPE(TYPE *value)                                                                        \
    {                                                                                                                  \
        xdr_free((xdrproc_t)xdr_##TYPE, value);                                                                        \
    }

#endif
