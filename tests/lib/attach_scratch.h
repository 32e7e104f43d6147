// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#ifndef BEZEL_TESTS_LIB_ATTACH_SCRATCH_H
#define BEZEL_TESTS_LIB_ATTACH_SCRATCH_H

#include "sensor/external/attach.h"

/** Attaches to a segment of scratch_dir, of which there is one or more; for segment_detach(). */
struct attached *attach_scratch(void);

#endif
