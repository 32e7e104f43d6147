// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/run_view_strip.h"

#include "base/clock.h"
#include "base/saturate.h"

enum {
    PARTS_MOST = 1024,
    SCAN_MOST = 200000, /* records of all threads that a strip looks at */
    WINDOWS_BEYOND = 4, /* the end of a long wait is looked for so many windows behind this one, but at least */
};

#define BEYOND_LEAST (2 * CLOCK_S)

struct reading {
    struct strip *s;
    int64_t key;
    const struct model_process *process;
    size_t stream;
    uint64_t scanned;
    bool waits; /* it is these that are read, and not intervals */
    bool cut;
};

bool run_view_is_strip(const struct page_row *row, const struct dict_aspect *aspect)
{
    return row->key >= 0 && row->records > 0 && aspect && activity_is_interval(aspect);
}

static int take(const struct packet_record *r, const struct levels_place *place, void *context)
{
    struct reading *of = context;
    (void)place;
    if (!r)
        return 0;
    if (++of->scanned > SCAN_MOST)
        return of->cut = true, 1;
    int64_t key = (int64_t)(packet_value(r, ACTIVITY_OF_PROCESS) & 0xfff) |
                  (int64_t)((packet_value(r, ACTIVITY_OF_THREAD) & UINT32_MAX) << 12);
    if (key != of->key)
        return 0;
    struct record_item item = catalogue_item(of->process, of->stream, r);
    struct activity_window time = activity_time_of(&item);
    if (of->waits)
        strip_add_wait(of->s, time.from, time.until);
    else
        strip_add(of->s, activity_interval_of(&item));
    return time.from >= of->s->until;
}

/* Reads the intervals, or the waits, of the chosen streams from `from` on. */
static int read_streams(struct run_view *v, struct reading *of, size_t streams, int64_t from, int64_t until)
{
    int err = 0;
    for (size_t i = 0; i < streams && !err; i++) {
        of->stream = v->chosen[i];
        of->process = levels_stream(v->c.levels, of->stream)->process;
        int64_t begin = run_view_own(v, of->process->node, from), end = run_view_own(v, of->process->node, until);
        uint32_t aspect = catalogue_aspect(of->process, of->waits ? activity_is_wait : activity_is_interval);
        if (aspect)
            err = levels_records(v->c.levels, of->stream, aspect, begin > 0 ? begin : 0, end, take, of);
        err = err == 1 || err == BEZEL_EMALFORMED ? 0 : err; /* what is damaged is told of the row */
        of->cut = of->cut || levels_was_cut(v->c.levels);
    }
    return err;
}

int run_view_strip(struct run_view *v, const struct page_row *row, size_t streams, int64_t from, int64_t until,
                   uint32_t parts, struct strip *s, bool *cut)
{
    int64_t beyond = saturate_sub(until, from) > INT64_MAX / 2 / WINDOWS_BEYOND ? 0 : (until - from) * WINDOWS_BEYOND;
    int err = strip_init(s, saturate_ns(from) + v->started, saturate_ns(until) + v->started,
                         parts < PARTS_MOST ? parts : PARTS_MOST);
    int64_t end = saturate_add(until, beyond > BEYOND_LEAST ? beyond : BEYOND_LEAST);
    struct reading of = {.s = s, .key = row->key};
    if (!err)
        err = read_streams(v, &of, streams, from, end);
    of.waits = true;
    if (!err && s->last < s->until) /* no interval tells of the rest */
        err = read_streams(v, &of, streams, s->last - v->started, end);
    *cut = of.cut;
    return err;
}

void run_view_put_strip(const struct run_view *v, const struct strip *s, struct json *j)
{
    json_array(j, "strip");
    for (size_t i = 0; i < s->count; i++) {
        const struct strip_piece *p = &s->pieces[i];
        json_array(j, NULL);
        json_int(j, NULL, p->from - v->started);
        json_int(j, NULL, p->until - v->started);
        for (int k = 0; k < STRIP_STATES; k++)
            json_int(j, NULL, p->ns[k]);
        json_array_end(j);
    }
    json_array_end(j);
}
