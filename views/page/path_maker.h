// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a page asks of paths: `bezel why --json` of a part of the run, in a process of its own, one at a time. Of each
 * page the latest request counts; pages are served in turn. One owner; nothing blocks.
 */
#ifndef BEZEL_VIEWS_PAGE_PATH_MAKER_H
#define BEZEL_VIEWS_PAGE_PATH_MAKER_H

#include "views/page/run_view.h"
#include "views/page/text_maker.h"

struct path_maker {
    struct text_maker maker; /* of `bezel`; program NULL: it is not installed */
    uint32_t page, sequence; /* of the request that is answered now */
};

/** Begins the answer to `q` of `page`; one that was begun for the same page is given up. Returns 0 or an error with
 * errno. */
int path_maker_start(struct path_maker *m, struct run_view *v, uint32_t page,
                     const struct page_request *q) BEZEL_MUST_CHECK;

/** Whether an answer is there, or none could be made: then *text is a message for m->page, for free(). NULL: no memory.
 */
bool path_maker_step(struct path_maker *m, char **text, size_t *n);

/** Makes such a message: `answer` as JSON. */
char *path_maker_message(uint32_t sequence, const char *answer, size_t length, size_t *n);

#endif
