// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The error convention of Bezel: a function returns 0 or a count on success, and one of the negative BEZEL_E* codes on
 * failure. BEZEL_ERR_MAP has each code, its number and its text, which users read. Numbers never change; new ones are
 * appended. errno has the reason of a BEZEL_ESYS: see ulimit_reason().
 */
#ifndef BEZEL_BASE_ERR_H
#define BEZEL_BASE_ERR_H

#define BEZEL_ERR_MAP(X)                                                                                               \
    X(EINVAL, -1, "a value that is not allowed here")                                                                  \
    X(ENOMEM, -2, "out of memory")                                                                                     \
    X(EMALFORMED, -3, "malformed bytes")                                                                               \
    X(EVERSION, -4, "of another version of Bezel")                                                                     \
    X(EFULL, -5, "no room for another one")                                                                            \
    X(EBUSY, -6, "in use by somebody else")                                                                            \
    X(ENOSPC, -7, "no space left")                                                                                     \
    X(ENOENT, -8, "not found")                                                                                         \
    X(EAGAIN, -9, "not now, try again later")                                                                          \
    X(ETIMEDOUT, -10, "timed out")                                                                                     \
    X(EUNREACH, -11, "unreachable")                                                                                    \
    X(EPERM, -12, "not permitted")                                                                                     \
    X(ESYS, -13, "refused by the system")

enum bezel_err {
    BEZEL_OK = 0,
#define BEZEL_ERR_ENUM(name, number, text) BEZEL_##name = (number),
    BEZEL_ERR_MAP(BEZEL_ERR_ENUM)
#undef BEZEL_ERR_ENUM
};

#define BEZEL_MUST_CHECK        __attribute__((warn_unused_result))
#define BEZEL_PRINTF(at, first) __attribute__((format(printf, at, first)))

/** The text of code `err` (0 included); never NULL, static storage. Thread-safe, async-signal-safe. */
const char *err_text(int err);

/** The code for errno value `sys` (ENOSPC and EDQUOT become BEZEL_ENOSPC, and so on; BEZEL_ESYS for the rest). */
int err_from_errno(int sys);

#endif
