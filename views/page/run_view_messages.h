// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** The messages of a picture, paired by the rule of readers (run/read/record_messages.h). One thread. */
#ifndef BEZEL_VIEWS_PAGE_RUN_VIEW_MESSAGES_H
#define BEZEL_VIEWS_PAGE_RUN_VIEW_MESSAGES_H

#include "run/read/record_messages.h"
#include "views/page/run_view_internal.h"

/**
 * Reads the sendings of the rows of `q` that have records beside their columns, from time `from` to `until` of pages,
 * up to the deadline of the levels. Rows with more records than they may have are left out. NULL: no row receives, or
 * none sends, or memory is short.
 */
struct record_messages *run_view_messages(struct run_view *v, const struct page_request *q, int64_t from,
                                          int64_t until);

#endif
