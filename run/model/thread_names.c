// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/model/thread_names.h"

#include "base/grow.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_behind(const struct thread_name *name, uint32_t thread, int64_t at)
{
    return name->thread != thread ? name->thread > thread : name->at > at;
}

int thread_names_add(struct thread_names *n, uint32_t thread, int64_t at, const char *name)
{
    if (n->count && is_behind(&n->list[n->count - 1], thread, at))
        return BEZEL_EMALFORMED;
    if (!grow_by_one(&n->list, n->count, sizeof *n->list))
        return BEZEL_ENOMEM;
    struct thread_name *added = &n->list[n->count++];
    *added = (struct thread_name){.thread = thread, .at = at};
    snprintf(added->name, sizeof added->name, "%s", name);
    return 0;
}

const char *thread_names_at(const struct thread_names *n, uint32_t thread, int64_t at)
{
    size_t from = 0, until = n->count; /* all before `from` are not behind (thread, at), those from `until` on are */
    while (from < until) {
        size_t middle = from + (until - from) / 2;
        if (is_behind(&n->list[middle], thread, at))
            until = middle;
        else
            from = middle + 1;
    }
    const struct thread_name *found = from > 0 && n->list[from - 1].thread == thread ? &n->list[from - 1]
                                      : from < n->count                              ? &n->list[from]
                                                                                     : NULL;
    return found && found->thread == thread && found->name[0] ? found->name : NULL;
}

void thread_names_fini(struct thread_names *n)
{
    free(n->list);
    *n = (struct thread_names){0};
}
