// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * Retirement: a process of the SUT that has ended, and of which all is stored, saved and answered, keeps its name, its
 * part of the metadata and the positions of its streams, and gives its dictionary and figures back. So a run may have
 * had many more processes than live at a time. What comes of it later is answered from the positions: it can only be a
 * repetition.
 */
#ifndef BEZEL_COLLECTOR_RETIRE_H
#define BEZEL_COLLECTOR_RETIRE_H

#include "collector/model.h"

static inline bool retire_is(const struct model_process *p)
{
    return !p->dict;
}

/**
 * Retires whoever is ready for it: it is not active any more. Where memory is short some stay as they are. Allocates;
 * no I/O. Who was retired and became active again, for an answer that it waits for, leaves again after it.
 */
void retire_ended(struct model *m);

#endif
