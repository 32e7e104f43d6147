// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a system under test did, by its own account: a file that its processes map, exact to the record being written
 * however they end. Records name their line of it and carry running numbers, so each can be told from all others.
 */
#ifndef BEZEL_TESTS_FAULTS_TRUTH_H
#define BEZEL_TESTS_FAULTS_TRUTH_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

enum { TRUTH_FORGERIES = 14 }; /* segments that a forger makes, each wrong in another way */
enum { TRUTH_LINES = 2048, TRUTH_CHILDREN = 16, TRUTH_ASPECTS = 2 };

/** A thread that records. It alone writes its counts: `begun` ahead of a record, `done` behind it. */
struct truth_line {
    _Atomic pid_t pid; /* its process */
    _Atomic uint64_t begun[TRUTH_ASPECTS], done[TRUTH_ASPECTS];
};

struct truth {
    _Atomic uint32_t lines;
    _Atomic pid_t supervisor;
    _Atomic pid_t children[TRUTH_CHILDREN]; /* recording processes that live; 0: none */
    _Atomic uint32_t killed;                /* that did not end as told */
    struct truth_line line[TRUTH_LINES];
};

/** The names of the aspects, and the number of fields of each: line, number, proof, and whatever follows. */
#define TRUTH_NAMES  ((const char *const[TRUTH_ASPECTS]){"beat", "echo"})
#define TRUTH_FIELDS ((const uint8_t[TRUTH_ASPECTS]){3, 4})

/** What the third field of a record must be. */
static inline int64_t truth_proof(uint64_t line, uint64_t number, uint64_t aspect)
{
    uint64_t x = (line << 40 ^ number) * UINT64_C(0x9e3779b97f4a7c15) + aspect;
    return (int64_t)(x ^ x >> 29);
}

#endif
