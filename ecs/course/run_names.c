// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/log.h"
#include "ecs/course/run_internal.h"
#include "run/history/summary.h"
#include "run/verdict/names.h"

/*
 * Tells of names in the file that nothing in the run has, as soon as that shows: a run of hours whose limit is never
 * judged helps nobody. The run database says what there is. It is read seldom, ever more seldom, and no longer once
 * something was told; the report says it again.
 */

#define FIRST_LOOK                                                                                                     \
    (2 * CLOCK_S) /* programs have declared their aspects, and a first save of the collector is stored                 \
                   */

enum { NAMES_TOLD = 5 };

struct told {
    struct run *run;
    size_t count;
};

static void tell(void *context, const char *what, const struct names_found *found)
{
    struct told *t = context;
    if (t->count++ >= NAMES_TOLD)
        return;
    progress_clear(&t->run->console.progress);
    log_warn("BEZEL-NAME", "%s: %s", what, found->text);
}

static bool has_names(const struct experiment *e)
{
    const struct experiment_sensing *s = &e->sensing;
    bool any = e->adapt.knob_count > 0 || e->trigger_count > 0 || s->count || s->off || s->expire || s->importance;
    for (uint32_t i = 0; i < e->metric_count; i++)
        any = any || e->metrics[i].aspect;
    return any;
}

static void look(struct run *r, bool running)
{
    struct summary *s;
    struct told t = {.run = r};
    if (!has_names(r->e) || r->names_told || summary_load_books(r->dir.path, &s) != 0)
        return; /* the database is on another machine, or the report says what is wrong with it */
    names_each(s, r->e, running, tell, &t);
    if (t.count > NAMES_TOLD)
        log_warn("BEZEL-NAME", "and %zu more: 'bezel report' and 'bezel status' have them", t.count - NAMES_TOLD);
    r->names_told = t.count > 0;
    summary_free(s);
}

void run_look_for_names(struct run *r, int64_t now)
{
    if (r->state.phase != PHASE_RUNNING || r->state.started == 0 || now - r->state.started < r->names_after)
        return;
    if (r->names_after > 0)
        look(r, true);
    r->names_after = r->names_after > 0 ? 2 * r->names_after : FIRST_LOOK;
}

void run_tell_names(struct run *r)
{
    look(r, false);
}
