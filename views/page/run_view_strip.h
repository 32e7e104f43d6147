// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/** When a thread of a picture ran, was ready, or waited: of the records that sampler `switches` makes. One thread. */
#ifndef BEZEL_VIEWS_PAGE_RUN_VIEW_STRIP_H
#define BEZEL_VIEWS_PAGE_RUN_VIEW_STRIP_H

#include "base/json.h"
#include "views/page/run_view_internal.h"
#include "views/picture/strip.h"

/** Whether a row of records of `aspect` is a strip. Its key is of the thread: the name of its process + id << 12. */
bool run_view_is_strip(const struct page_row *row, const struct dict_aspect *aspect);

/**
 * Makes the strip of `row`, whose `streams` streams are in v->chosen, in `parts` parts of the time `from` to `until`
 * of pages. Records behind that time tell of it, too. *cut: there are more than can be read. Returns 0, with *s for
 * strip_fini(), or an error.
 */
int run_view_strip(struct run_view *v, const struct page_row *row, size_t streams, int64_t from, int64_t until,
                   uint32_t parts, struct strip *s, bool *cut) BEZEL_MUST_CHECK;

/** Member `strip`: [from, until, ns running, ready, waiting, either of both]. */
void run_view_put_strip(const struct run_view *v, const struct strip *s, struct json *j);

#endif
