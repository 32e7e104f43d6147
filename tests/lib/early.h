// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** Places where programs record that are not within main(), or a thread of it: see early.cc. */
#ifndef BEZEL_TESTS_LIB_EARLY_H
#define BEZEL_TESTS_LIB_EARLY_H

enum {
    EARLY_CHOICE,  /* in a function that chooses another (ifunc), while the loader works */
    EARLY_PREINIT, /* in .preinit_array, before the constructors of libraries */
    EARLY_UNREADY, /* the places before this one come before libc is ready */
    EARLY_CONSTRUCTOR = EARLY_UNREADY,
    EARLY_DESTRUCTOR,
    EARLY_GLOBAL, /* the constructor of a global object */
    EARLY_GLOBAL_END,
    EARLY_LOCAL, /* of one of a thread: in two threads */
    EARLY_LOCAL_END,
    EARLY_EXIT, /* a handler of exit() */
    EARLY_KEY,  /* a destructor of a thread-specific key */
    EARLY_MAIN,
    EARLY_PLACES,
    EARLY_TIMES = 10, /* records of each */
};

#ifdef __cplusplus
extern "C" {
#endif

void early_record(int place);

#ifdef __cplusplus
}
#endif

#endif
