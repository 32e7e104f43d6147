// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The balance: what the SUT says it did, against every record in the store and against the report's books. For each of
 * its processes: done <= produced <= begun, produced = stored + lost + unfinished, stored as often as the store has it,
 * and each stored record once, in order, and as it was recorded.
 */
#include "base/clock.h"
#include "config/experiment.h"
#include "run/history/summary.h"
#include "run/rundb/rundb_live.h"
#include "run/store/trace_reader.h"
#include "run/verdict/verdict.h"
#include "tests/faults/bed.h"

#include "base/file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVIL "evil"

/* The numbers of one line and aspect that were found. */
struct found {
    uint8_t *seen; /* by number */
    uint64_t size, count, first, next;
};

struct check {
    struct bed *bed;
    const struct model *model;
    struct found found[TRUTH_LINES][TRUTH_ASPECTS];
};

/* ---- what is stored ---------------------------------------------------------------------------------------------- */

static const struct model_process *process_of(const struct model *m, const struct packet_header *h)
{
    const struct model_node *n = model_find_node(m, h->uuid);
    return n ? model_find_process(n, h->instance) : NULL;
}

static int aspect_of(const struct model_process *p, uint32_t id)
{
    const struct dict_aspect *a = &p->dict->aspects[id - 1];
    for (int i = 0; i < TRUTH_ASPECTS; i++)
        if (strcmp(a->name, TRUTH_NAMES[i]) == 0 && a->field_count == TRUTH_FIELDS[i])
            return i;
    return -1;
}

/* Whether `number` is met for the first time. */
static bool see(struct found *f, uint64_t number)
{
    if (number >= f->size) {
        uint64_t size = 2 * number + 1024;
        f->seen = realloc(f->seen, size);
        if (!f->seen)
            abort();
        memset(f->seen + f->size, 0, size - f->size);
        f->size = size;
    }
    return !f->seen[number]++;
}

static void take_record(struct check *c, const struct model_process *p, const struct packet_record *r)
{
    struct bed_result *result = &c->bed->result;
    int aspect = aspect_of(p, r->aspect);
    uint64_t line = packet_value(r, 0), number = packet_value(r, 1);
    result->stored++;
    if (aspect < 0 || line >= TRUTH_LINES ||
        (int64_t)packet_value(r, 2) != truth_proof(line, number, (uint64_t)aspect) ||
        number >= atomic_load(&c->bed->truth->line[line].begun[aspect]) ||
        (uint32_t)atomic_load(&c->bed->truth->line[line].pid) != p->pid) {
        result->wrong++;
        return;
    }
    struct found *f = &c->found[line][aspect];
    if (!see(f, number))
        result->doubled++;
    else if (number < f->next)
        result->wrong++;
    else
        f->next = number + 1;
    if (f->count++ == 0)
        f->first = number;
}

static int take_file(const char *path, void *context)
{
    struct check *c = context;
    struct trace_reader *reader;
    struct packet_header h;
    const uint8_t *packet;
    int more, err = trace_reader_open(path, &reader);
    if (err)
        return err;
    while ((more = trace_reader_next(reader, &h, &packet)) > 0) {
        const struct model_process *p = process_of(c->model, &h);
        struct packet_record r;
        size_t offset = PACKET_HEADER_BYTES;
        if (!p)
            bed_fail(c->bed, "%s: packet %llu is of no process", path, (unsigned long long)h.seq);
        if (packet_check(packet, &h, p->dict->field_counts, p->dict->aspect_count, NULL) != 0)
            bed_fail(c->bed, "%s: packet %llu is malformed", path, (unsigned long long)h.seq);
        while (p->role == ROLE_SUT && strcmp(p->name, EVIL) != 0 &&
               packet_next_record(packet, &h, p->dict->field_counts, p->dict->aspect_count, &offset, &r) > 0)
            take_record(c, p, &r);
    }
    if (more < 0)
        bed_fail(c->bed, "%s: %s", path, err_text(more));
    trace_reader_close(reader);
    return 0;
}

static void take_store(struct check *c, const char *run)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/trace", run);
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/trace/%s", run, e->d_name);
        int err = e->d_name[0] == '.' ? 0 : trace_reader_list(path, take_file, c);
        if (err)
            bed_fail(c->bed, "%s: %s", path, err_text(err));
    }
    if (d)
        closedir(d);
}

/* ---- the books --------------------------------------------------------------------------------------------------- */

struct sums {
    uint64_t begun, done, stored;
};

static struct sums sum_lines(const struct check *c, uint32_t pid)
{
    struct sums s = {0};
    for (uint32_t i = 0; i < TRUTH_LINES; i++)
        for (int a = 0; a < TRUTH_ASPECTS; a++) {
            const struct truth_line *l = &c->bed->truth->line[i];
            if ((uint32_t)atomic_load(&l->pid) != pid)
                continue;
            s.begun += atomic_load(&l->begun[a]);
            s.done += atomic_load(&l->done[a]);
            s.stored += c->found[i][a].count;
        }
    return s;
}

static void add_losses(struct bed_result *r, const struct verdict_books *b)
{
    const uint64_t lost[BED_CAUSES] = {
        [BED_FULL] = b->full,       [BED_WINDOW] = b->window,           [BED_SPOOL] = b->spool,
        [BED_OFF] = b->off,         [BED_OVERWRITTEN] = b->overwritten, [BED_NO_RING] = b->no_ring,
        [BED_REDUCER] = b->reducer, [BED_UNFINISHED] = b->unfinished,   [BED_UNSTORED] = b->unstored};
    for (int i = 0; i < BED_CAUSES; i++)
        r->lost[i] += lost[i];
}

/*
 * Each aspect by itself, where nothing is missing whose aspect nobody can know: what it produced, by its own account,
 * is what the store has and what was lost.
 */
static void check_aspects(struct check *c, const struct summary_process *p, const struct verdict_books *books)
{
    for (size_t i = 0; i < p->book_count; i++) {
        const struct summary_book *b = &p->books[i];
        int a = strcmp(b->name, TRUTH_NAMES[1]) == 0;
        uint64_t begun = 0, done = 0, stored = 0;
        for (uint32_t l = 0; l < TRUTH_LINES; l++) {
            if ((uint32_t)atomic_load(&c->bed->truth->line[l].pid) != p->pid)
                continue;
            begun += atomic_load(&c->bed->truth->line[l].begun[a]);
            done += atomic_load(&c->bed->truth->line[l].done[a]);
            stored += c->found[l][a].count;
        }
        uint64_t rest =
            b->attempts - b->stored - b->reduced - b->reducer - b->full - b->window - b->spool - b->off - b->no_ring;
        bool told = rest <= books->unfinished + books->overwritten + books->unstored;
        if (b->attempts >= done && b->attempts <= begun && b->stored == stored && told)
            continue;
        fprintf(stderr, "%s: pid %u: %s: produced %llu (did %llu, began %llu), stored %llu (in the store %llu)\n",
                c->bed->options.name, p->pid, b->name, (unsigned long long)b->attempts, (unsigned long long)done,
                (unsigned long long)begun, (unsigned long long)b->stored, (unsigned long long)stored);
        c->bed->result.wrong++;
    }
}

/*
 * A second witness: the trace counts losses by the ordinals of the records that it has, the books by counters. One
 * without a ring has no ordinal; of what was given up the trace knows nothing.
 */
static void check_trace(struct check *c, const struct summary_process *p, const struct verdict_books *b)
{
    uint64_t lost = b->full + b->window + b->spool + b->off + b->overwritten + b->unfinished + b->reduced + b->reducer;
    if (b->unstored || p->discarded == lost)
        return;
    fprintf(stderr, "%s: pid %u: the books have %llu lost, the trace %llu\n", c->bed->options.name, p->pid,
            (unsigned long long)lost, (unsigned long long)p->discarded);
    c->bed->result.wrong++;
}

static void add_books(struct check *c, const struct summary_process *p, const struct verdict_books *books)
{
    struct bed_result *r = &c->bed->result;
    struct sums s = sum_lines(c, p->pid);
    uint64_t accounted = books->stored + books->reduced + verdict_lost(books);
    add_losses(r, books);
    uint64_t produced = books->attempts;
    if (produced < s.done || produced > s.begun) {
        fprintf(stderr, "%s: pid %u: produced %llu, but it did %llu and began %llu\n", c->bed->options.name, p->pid,
                (unsigned long long)produced, (unsigned long long)s.done, (unsigned long long)s.begun);
        produced = produced < s.done ? s.done : s.begun;
    }
    if (books->rest != 0 || books->stored != s.stored)
        fprintf(stderr, "%s: pid %u: produced %llu, stored %llu, in the store %llu, unfinished %llu, rest %lld\n",
                c->bed->options.name, p->pid, (unsigned long long)books->attempts, (unsigned long long)books->stored,
                (unsigned long long)s.stored, (unsigned long long)books->unfinished, (long long)books->rest);
    /* Where the disk took no more of the database, files may hold more than it says, until a collector reads them. */
    bool behind = c->bed->options.may_lack && p->state == PROCESS_RUNNING && books->stored < s.stored;
    if (books->stored != s.stored && !behind)
        r->wrong++;
    if (books->unfinished > s.begun - s.done) /* a record for each thread, at most */
        r->wrong++;
    r->produced += produced;
    r->reduced += books->reduced;
    r->unknown += produced > accounted ? produced - accounted : accounted - produced;
    if (p->state == PROCESS_RUNNING) /* its last books are not there, which the verdict tells */
        return;
    check_aspects(c, p, books);
    check_trace(c, p, books);
}

/* Of a process that the books do not know every record is unknown. */
static void add_missing(struct check *c, const struct summary *s)
{
    uint32_t lines = atomic_load(&c->bed->truth->lines);
    for (uint32_t i = 0; i < lines; i++) {
        const struct truth_line *l = &c->bed->truth->line[i];
        bool known = false;
        for (size_t p = 0; p < s->process_count; p++)
            known = known || s->processes[p].pid == (uint32_t)atomic_load(&l->pid);
        for (int a = 0; a < TRUTH_ASPECTS && !known; a++) {
            c->bed->result.produced += atomic_load(&l->done[a]);
            c->bed->result.unknown += atomic_load(&l->done[a]);
        }
    }
}

/* A thread that had no ring may come by one, when another has ended, however late: it is silent until then. */
static void add_silent(struct check *c)
{
    for (uint32_t i = 0; i < TRUTH_LINES; i++)
        for (int a = 0; a < TRUTH_ASPECTS; a++) {
            const struct truth_line *l = &c->bed->truth->line[i];
            const struct found *f = &c->found[i][a];
            c->bed->result.silent[0] += f->count ? f->first : atomic_load(&l->done[a]);
            c->bed->result.silent[1] += f->count ? f->first : atomic_load(&l->begun[a]);
        }
}

/* Whether whoever did no harm has balanced books. */
static bool all_known(const struct summary *s, const struct verdict *v)
{
    bool known = true;
    for (size_t i = 0; i < s->process_count; i++)
        known = known && (strcmp(s->processes[i].name, EVIL) == 0 ||
                          (v->books[i].rest == 0 && !verdict_is_open(s, &s->processes[i])));
    return known;
}

unsigned bed_noted(struct bed *b)
{
    char path[PATH_MAX];
    struct summary *s;
    unsigned processes = 0;
    snprintf(path, sizeof path, "%s/runs/latest", b->dir);
    if (summary_load(path, &s) != 0)
        return 0;
    for (size_t i = 0; i < s->note_count; i++) {
        bool first = strcmp(s->notes[i].name, EVIL) == 0;
        for (size_t k = 0; k < i && first; k++)
            first = s->notes[k].instance != s->notes[i].instance;
        processes += first;
    }
    summary_free(s);
    return processes;
}

/*
 * What happened lies within the run, whatever the wall clock did meanwhile. Where the disk is full at once, the last
 * that is stored of a node is what its bezeld recorded before the processes began.
 */
static void check_times(struct check *c, const struct summary *s, const struct verdict *v)
{
    int64_t slack = 60 * CLOCK_S; /* for starting, and for draining */
    for (size_t i = 0; i < s->node_count && v->run == RUN_ENDED; i++) {
        int64_t at = s->nodes[i].last_at + s->nodes[i].ahead - v->started;
        if (s->nodes[i].last_at != 0 && (at < -slack || at > v->duration + slack))
            bed_fail(c->bed, "times of node %s are %lld ms beside the run", s->nodes[i].name,
                     (long long)(at / CLOCK_MS));
    }
    for (size_t i = 0; i < s->event_count && v->run == RUN_ENDED; i++)
        if (llabs(s->events[i].at - v->started) > v->duration + slack)
            bed_fail(c->bed, "an event is not within the run: %s", s->events[i].text);
}

static void take_books(struct check *c, const char *run)
{
    char path[PATH_MAX], *text;
    size_t n;
    struct summary *s;
    struct experiment *e;
    struct experiment_diagnostics found = {0};
    struct verdict *v;
    snprintf(path, sizeof path, "%s/experiment.yaml", run);
    if (summary_load(run, &s) != 0 || file_read(path, EXPERIMENT_FILE_MAX, &text, &n) != 0 ||
        experiment_read(text, n, &e, &found) != 0 || verdict_new(s, e, false, &v) != 0)
        bed_fail(c->bed, "%s cannot be read", run);
    for (size_t i = 0; i < s->process_count; i++)
        if (s->processes[i].role == ROLE_SUT && strcmp(s->processes[i].name, EVIL) != 0)
            add_books(c, &s->processes[i], &v->books[i]);
    for (size_t i = 0; i < s->node_count; i++)
        c->bed->result.ways |= (unsigned)s->nodes[i].ways;
    if (c->bed->options.by_link && c->bed->result.ways & RUNDB_WAY_DIRECT)
        bed_fail(c->bed, "packets passed directly, and were to take the link");
    check_times(c, s, v);
    add_missing(c, s);
    add_silent(c);
    bool balanced = c->bed->options.evil ? all_known(s, v) : v->balanced;
    bool right = balanced ? c->bed->result.unknown == 0 : c->bed->options.may_lack;
    c->bed->result.failed |= !right && !c->bed->options.damaged;
    c->bed->result.refused += s->refused;
    experiment_diagnostics_free(&found);
    verdict_free(v);
    experiment_free(e);
    summary_free(s);
    free(text);
}

/* Whether records were lost by the causes that the fault is about, and by no others. */
static void check_causes(struct bed *b)
{
    for (int i = 0; i < BED_CAUSES; i++) {
        bool must = b->options.loses >> i & 1, must_not = b->options.spares >> i & 1;
        if ((!must || b->result.lost[i]) && (!must_not || !b->result.lost[i]))
            continue;
        fprintf(stderr, "%s: %llu records are lost by cause %d\n", b->options.name,
                (unsigned long long)b->result.lost[i], i);
        b->result.failed = true;
    }
}

void bed_check(struct bed *b)
{
    char path[PATH_MAX], *run;
    struct rundb *rundb;
    struct check *c = calloc(1, sizeof *c);
    struct model *m = model_new("");
    snprintf(path, sizeof path, "%s/runs/latest", b->dir);
    run = realpath(path, NULL);
    if (!c || !m || !run || rundb_open_read(run, &rundb) != 0 || rundb_load(rundb, m) != 0)
        bed_fail(b, "the run in %s cannot be read", path);
    c->bed = b;
    c->model = m;
    take_store(c, run);
    take_books(c, run);
    rundb_close(rundb);
    model_free(m);
    for (int i = 0; i < TRUTH_LINES; i++)
        for (int a = 0; a < TRUTH_ASPECTS; a++)
            free(c->found[i][a].seen);
    free(c);
    free(run);
    struct bed_result *r = &b->result;
    check_causes(b);
    bool lacks = r->unknown && !b->options.may_lack;
    r->failed |= b->options.reduces && r->reduced == 0;
    r->failed |= r->doubled || ((r->wrong || lacks) && !b->options.damaged) || r->stored == 0;
}
