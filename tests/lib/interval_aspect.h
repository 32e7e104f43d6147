// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The aspects in which sampler `switches` records when threads had a CPU, and what they waited for. */
#ifndef BEZEL_TESTS_LIB_INTERVAL_ASPECT_H
#define BEZEL_TESTS_LIB_INTERVAL_ASPECT_H

#include "mdr/dict.h"

static const struct dict_aspect interval_aspect_recorded = {
    .name = "thread_interval",
    .kind = DICT_EVENT,
    .field_count = 9,
    .fields = {{DICT_STRING, "process", "", ""},
               {DICT_INT64, "thread", "1", ""},
               {DICT_INT64, "duration", "ns", ""},
               {DICT_INT64, "age", "ns", ""},
               {DICT_INT64, "cpu", "1", ""},
               {DICT_ENUM, "ended", "", "waited|preempted|exited|goes_on"},
               {DICT_INT64, "off", "ns", ""},
               {DICT_INT64, "ready_least", "ns", ""},
               {DICT_INT64, "ready_most", "ns", ""}}};

static const struct dict_aspect wait_aspect_recorded = {
    .name = "thread_wait",
    .kind = DICT_EVENT,
    .field_count = 9,
    .fields = {{DICT_STRING, "process", "", ""},
               {DICT_INT64, "thread", "1", ""},
               {DICT_INT64, "duration", "ns", ""},
               {DICT_INT64, "age", "ns", ""},
               {DICT_ENUM, "state", "", "unknown|sleep|disk_sleep|stopped"},
               {DICT_ENUM, "woken_by", "", "unknown|thread|softirq|interrupt|not_yet"},
               {DICT_STRING, "waker", "", ""},
               {DICT_INT64, "waker_pid", "1", ""},
               {DICT_INT64, "waker_thread", "1", ""}}};

#endif
