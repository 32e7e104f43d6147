// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/run_view_internal.h"

#include "base/saturate.h"
#include "run/rundb/rundb_live.h"
#include "views/report/report.h"

#include <stdlib.h>

enum { START_UPDATES = 8 }; /* the run's start is read again after so many updates */

int run_view_open(const char *run, struct run_view **v)
{
    struct run_view *it = calloc(1, sizeof *it);
    int err = !it                                                                  ? BEZEL_ENOMEM
              : snprintf(it->run, sizeof it->run, "%s", run) < (int)sizeof it->run ? 0
                                                                                   : BEZEL_EINVAL;
    if (!err)
        err = rundb_read_start(run, &it->started);
    if (!err)
        err = catalogue_open(&it->c, run, HISTORY_OF_LIMITS | HISTORY_OF_METRICS);
    if (err) {
        run_view_close(it);
        return err;
    }
    if (report_load_experiment(run, &it->experiment) != 0)
        it->experiment = NULL; /* what is wrong was logged */
    *v = it;
    return 0;
}

void run_view_close(struct run_view *v)
{
    if (!v)
        return;
    catalogue_close(&v->c);
    experiment_free(v->experiment);
    free(v);
}

/* ---- streams of a process ---------------------------------------------------------------------------------------- */

size_t run_view_choose(struct run_view *v, const struct page_row *row)
{
    int64_t i = catalogue_process_of_row(&v->c, row->process);
    const struct catalogue_process *p = i < 0 ? NULL : &v->c.processes[i];
    v->chosen = p ? &v->c.streams[p->first] : NULL;
    if (!p || row->stream < 0)
        return p ? p->count : 0;
    for (size_t n = 0; n < p->count; n++, v->chosen++)
        if (*v->chosen == (size_t)row->stream)
            return 1;
    return 0;
}

bool run_view_place(const struct run_view *v, const struct page_row *row, struct run_view_place *place)
{
    int64_t i = catalogue_process_of_row(&v->c, row->process);
    const struct model_process *p = i < 0 ? NULL : v->c.processes[i].process;
    if (!p || !p->dict || row->aspect == 0 || row->aspect > p->dict->aspect_count)
        return false;
    *place = (struct run_view_place){p->node->name, p->name, p->dict->aspects[row->aspect - 1].name};
    return true;
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

int64_t run_view_time(const struct run_view *v, const struct model_node *node, int64_t own)
{
    return catalogue_time(node, own).ns - v->started;
}

int64_t run_view_own(const struct run_view *v, const struct model_node *node, int64_t time)
{
    return catalogue_own(node, saturate_ns(time) + v->started);
}

int64_t run_view_start(const struct run_view *v)
{
    return v->started;
}

const char *run_view_path(const struct run_view *v)
{
    return v->run;
}

const char *run_view_id(const struct run_view *v)
{
    return levels_model(v->c.levels, NULL)->run;
}

int64_t run_view_newest(const struct run_view *v)
{
    return v->newest;
}

/* Until its first program is told to start, a run has no start. */
static void renew_start(struct run_view *v)
{
    int64_t started;
    if (v->updates++ % START_UPDATES != 0 || rundb_read_start(v->run, &started) != 0 || started == v->started)
        return;
    v->started = started;
    v->restarts++;
}

/* ---- the course -------------------------------------------------------------------------------------------------- */

int run_view_update(struct run_view *v, int64_t budget_ns)
{
    int64_t first, last;
    int more = catalogue_update(&v->c, budget_ns);
    if (more < 0)
        return more;
    renew_start(v);
    v->ahead = catalogue_range(&v->c, &first, &last);
    v->newest = first <= last && last > v->started ? last - v->started : 0;
    return more;
}

uint64_t run_view_age(const struct run_view *v)
{
    return v->c.changes + v->restarts;
}

void run_view_totals(const struct run_view *v, uint64_t *records, uint64_t *memory)
{
    struct levels_totals totals = levels_totals(v->c.levels);
    *records = totals.records;
    *memory = totals.memory;
}
