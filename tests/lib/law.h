// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What the programs of the test of the law (attempts = drained + lost, by cause) share with the test: a page on which
 * they count their own calls, and the values of a record, by which it is known again.
 */
#ifndef BEZEL_TESTS_LIB_LAW_H
#define BEZEL_TESTS_LIB_LAW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    LAW_LIVES = 1024, /* LAW_LIFE_BITS */
    LAW_PLAIN = 13,   /* aspects v0 to v12, by their number of values */
    LAW_SPAN = LAW_PLAIN,
    LAW_PLUGGED,  /* of a library that is loaded and unloaded */
    LAW_SWITCHED, /* disabled from outside at times: its attempts are not counted then */
    LAW_ASPECTS,
};

/** What a program does, beside recording; bits. */
enum {
    LAW_SIGNALS = 1,
    LAW_JUMPS = 2,     /* out of handlers */
    LAW_ALTERNATE = 4, /* handlers have a stack of their own */
    LAW_THREADS = 8,   /* that come and go */
    LAW_FORKS = 16,
    LAW_EXECS = 32,
    LAW_LIBRARY = 64,
    LAW_CLOCK = 128, /* one of its own, that jumps and interrupts */
    LAW_WRAP = 256,  /* its rings' counts of slots overflow */
    LAW_CANCELS = 512,
    LAW_INIT = 1024, /* bezel_thread_init() in between */
    LAW_PROFILES = 2048,
    LAW_CROWD = 2048, /* nothing but threads, one a turn */
};

/** One life of a process: from its start, a fork or an exec to its end, a kill or the next exec. */
struct law_life {
    _Atomic uint32_t profile;
    _Atomic uint32_t inherited; /* calls that were open in the thread that forked */
    _Atomic uint32_t ended;     /* of its own will, at a place where no call was open */
    _Atomic uint32_t next_thread;
    _Atomic uint64_t before[LAW_ASPECTS], after[LAW_ASPECTS]; /* calls begun, and returned */
    _Atomic uint64_t threads, signals, jumps, forks, loads, cancels, inits;
};

struct law_page {
    _Atomic uint32_t starts;
    _Atomic uint32_t stop;
    struct law_life life[LAW_LIVES];
};

/* A record's first value: who wrote it, and the how manieth of theirs it is. */
enum { LAW_LIFE_BITS = 10, LAW_THREAD_BITS = 20, LAW_DEPTH_BITS = 3, LAW_NUMBER_BITS = 23, LAW_CHECK_BITS = 8 };

struct law_id {
    uint32_t life, thread, depth, number;
};

static inline uint64_t law_mix(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ (x >> 32);
}

/** Value 0 of the record. */
static inline uint64_t law_first(struct law_id id, uint32_t aspect)
{
    uint64_t v = id.life;
    v = v << LAW_THREAD_BITS | id.thread;
    v = v << LAW_DEPTH_BITS | id.depth;
    v = v << LAW_NUMBER_BITS | id.number;
    return v << LAW_CHECK_BITS | (law_mix(v * LAW_ASPECTS + aspect) & ((1 << LAW_CHECK_BITS) - 1));
}

/** Whether `first` is value 0 of a record of `aspect`; whose it is, in *id. */
static inline bool law_read(uint64_t first, uint32_t aspect, struct law_id *id)
{
    uint64_t v = first >> LAW_CHECK_BITS;
    id->number = v & ((1 << LAW_NUMBER_BITS) - 1);
    id->depth = v >> LAW_NUMBER_BITS & ((1 << LAW_DEPTH_BITS) - 1);
    id->thread = v >> (LAW_NUMBER_BITS + LAW_DEPTH_BITS) & ((1 << LAW_THREAD_BITS) - 1);
    id->life = (uint32_t)(v >> (LAW_NUMBER_BITS + LAW_DEPTH_BITS + LAW_THREAD_BITS));
    return law_first(*id, aspect) == first;
}

/** Value `i`, from 1, of the record. */
static inline uint64_t law_value(uint64_t first, uint32_t i)
{
    return law_mix(first + i);
}

#endif
