// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/rundb/rundb_sections.h"

#include "base/grow.h"
#include "run/rundb/rundb_live.h"
#include "run/rundb/rundb_sqlite.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * The first section that is kept, of rows `section` at most that of theirs which is the latest: rundb_expire() leaves
 * no other. Without sections there are no such rows.
 */
#define EXPIRED " WHERE section <= (SELECT min(number) FROM sections)"

/* Runs a statement with up to three numbers, and calls `take`, if not NULL, with each row. */
static int run(struct rundb *f, const char *text, const int64_t numbers[3], int (*take)(sqlite3_stmt *s, void *context),
               void *context)
{
    sqlite3_stmt *s;
    int err = rundb_error(f->db, sqlite3_prepare_v2(f->db, text, -1, &s, NULL)), rc = SQLITE_DONE;
    for (int i = 0; !err && i < sqlite3_bind_parameter_count(s); i++)
        sqlite3_bind_int64(s, i + 1, numbers[i]);
    while (!err && (rc = sqlite3_step(s)) == SQLITE_ROW)
        err = rundb_is_too_long() ? BEZEL_ETIMEDOUT : take ? take(s, context) : 0;
    if (!err)
        err = rundb_error(f->db, rc);
    sqlite3_finalize(s);
    return err;
}

void rundb_set_section(struct rundb *f, uint64_t number)
{
    f->section = number;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

struct list {
    struct rundb_section *sections;
    size_t count;
};

static int take_section(sqlite3_stmt *s, void *context)
{
    struct list *l = context;
    if (l->count == RUNDB_SECTIONS_MAX)
        return BEZEL_EMALFORMED;
    l->sections[l->count++] = (struct rundb_section){(uint64_t)sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
                                                     sqlite3_column_int64(s, 2)};
    return 0;
}

int rundb_load_sections(struct rundb *f, struct rundb_section list[RUNDB_SECTIONS_MAX], size_t *count)
{
    struct list l = {.sections = list};
    int err = run(f, "SELECT number, at, clock FROM sections ORDER BY number", NULL, take_section, &l);
    *count = l.count;
    return err;
}

int rundb_set_section_time(struct rundb *f, const struct rundb_section *section)
{
    const int64_t numbers[3] = {(int64_t)section->number, section->at, section->clock};
    int err = rundb_begin(f);
    return err ? err : run(f, "UPDATE sections SET at = ?2, clock = ?3 WHERE number = ?1", numbers, NULL, NULL);
}

/* ---- changes, each in a transaction of its own ------------------------------------------------------------------- */

/* What was written before is not to go with it. */
static int begin(struct rundb *f)
{
    int err = rundb_commit(f);
    return err ? err : rundb_begin(f);
}

static int put_stream(struct rundb *f, uint64_t section, const struct model_stream *s)
{
    char text[512];
    snprintf(text, sizeof text,
             "INSERT INTO section_streams VALUES(?1, ?2, ?3, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
             ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %d)",
             (int64_t)s->packets, (int64_t)s->bytes, (int64_t)s->records, (int64_t)s->at.next_ordinal,
             (int64_t)s->at.discarded, (int64_t)s->sum, (int64_t)s->last_end, s->closed);
    return run(f, text, (int64_t[3]){(int64_t)section, s->process->row, s->at.ring}, NULL, NULL);
}

static bool is_new(const struct model_stream *s)
{
    return s && s->bytes != s->noted;
}

static int put_field(struct rundb *f, const int64_t key[4], const struct field_statistics *v)
{
    sqlite3_stmt *s;
    size_t n = field_pack_bytes(v);
    uint8_t *state = malloc(n);
    if (!state)
        return BEZEL_ENOMEM;
    field_pack(v, state);
    int err = rundb_error(
        f->db, sqlite3_prepare_v2(f->db, "INSERT OR REPLACE INTO section_fields VALUES(?, ?, ?, ?, ?)", -1, &s, NULL));
    for (int i = 0; i < 4 && !err; i++)
        sqlite3_bind_int64(s, i + 1, key[i]);
    if (!err)
        sqlite3_bind_blob(s, 5, state, (int)n, SQLITE_STATIC);
    if (!err)
        err = rundb_error(f->db, sqlite3_step(s));
    sqlite3_finalize(s);
    free(state);
    return err;
}

int rundb_note_fields(struct rundb *f, uint64_t number, const struct model_process *p)
{
    bool any = false;
    for (uint32_t ring = 0; ring < p->ring_count; ring++)
        any = any || is_new(p->streams[ring]);
    int err = any ? rundb_begin(f) : 0;
    for (uint32_t aspect = 1; any && !err && aspect <= p->dict->aspect_count; aspect++) {
        const struct aspect_statistics *v = p->values[aspect];
        for (uint32_t i = 0; v && i < v->field_count && !err; i++)
            if (field_has_statistics(&p->dict->aspects[aspect - 1], i))
                err = put_field(f, (int64_t[4]){(int64_t)number, p->row, aspect, i}, &v->fields[i]);
    }
    return err;
}

/* Notes a process, if the section before this one has packets of it. */
static int put_process(struct rundb *f, uint64_t section, const struct model_process *p)
{
    bool any = false;
    int err = 0;
    for (uint32_t ring = 0; ring < p->ring_count && !err; ring++)
        if (is_new(p->streams[ring])) {
            any = true;
            err = put_stream(f, section, p->streams[ring]);
        }
    if (any && !err)
        err = run(f,
                  "INSERT INTO section_books SELECT ?1, process, aspect, stored, first_ns, last_ns FROM books"
                  " WHERE process = ?2 AND stored > 0",
                  (int64_t[3]){(int64_t)section, p->row}, NULL, NULL);
    return err || !any || model_is_evicted(p) ? err : rundb_note_fields(f, section, p);
}

/* Notes the processes that may have packets of the section before: all others were evicted before it began. */
static int put_node(struct rundb *f, uint64_t section, const struct model_node *node)
{
    int err = 0;
    for (const struct model_process *p = node->active; p && !err; p = p->next_active)
        err = put_process(f, section, p);
    for (const struct model_process *p = node->ended; p && !err; p = p->next_ended)
        err = p->active ? 0 : put_process(f, section, p);
    return err;
}

static void set_process_noted(struct model_process *p)
{
    for (uint32_t ring = 0; ring < p->ring_count; ring++)
        if (p->streams[ring])
            p->streams[ring]->noted = p->streams[ring]->bytes;
}

static void set_noted(struct model_node *node)
{
    for (struct model_process *p = node->active; p; p = p->next_active)
        set_process_noted(p);
    for (; node->ended; node->ended = node->ended->next_ended) {
        set_process_noted(node->ended);
        node->ended->ended = false;
    }
}

int rundb_begin_section(struct rundb *f, struct model *m, const struct rundb_section *section)
{
    const int64_t numbers[3] = {(int64_t)section->number, section->at, section->clock};
    int err = begin(f);
    if (err)
        return err;
    err = run(f, "INSERT INTO sections SELECT 0, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM sections) AND ?1 > 0", numbers,
              NULL, NULL);
    if (!err)
        err = run(f, "INSERT INTO sections VALUES(?1, ?2, ?3)", numbers, NULL, NULL);
    for (const struct model_node *node = m->nodes; node && !err; node = node->next)
        err = put_node(f, section->number, node);
    err = rundb_end(f, err);
    if (err)
        return err;
    rundb_set_section(f, section->number);
    for (struct model_node *node = m->nodes; node; node = node->next)
        set_noted(node);
    return 0;
}

int rundb_join_sections(struct rundb *f)
{
    static const char *const tables[] = {"section_streams", "section_books", "section_fields"};
    int err = rundb_begin(f);
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !err; i++) {
        char text[160];
        snprintf(text, sizeof text, "DELETE FROM %s WHERE section > (SELECT min(number) FROM sections)", tables[i]);
        err = run(f, text, NULL, NULL, NULL);
    }
    if (!err)
        err = rundb_join_builtins(f->db);
    if (!err)
        err = run(f, "UPDATE losses SET section = min(section, (SELECT min(number) FROM sections))", NULL, NULL, NULL);
    if (!err)
        err = run(f, "DELETE FROM sections WHERE number > (SELECT min(number) FROM sections)", NULL, NULL, NULL);
    if (!err)
        err = rundb_note_rewritten(f);
    return err;
}

/* ---- what expired ------------------------------------------------------------------------------------------------ */

static struct model_process *process_of(sqlite3_stmt *s, const struct model *m)
{
    const struct model_node *node = m->nodes;
    while (node && node->row != sqlite3_column_int64(s, 0))
        node = node->next;
    return node ? model_find_process(node, (uint64_t)sqlite3_column_int64(s, 1)) : NULL;
}

#define EXPIRED_COLUMNS                                                                                                \
    "SELECT node, instance, ring, packets, bytes, records, next_ordinal, discarded, sum, last_end, closed, section"    \
    " FROM section_streams JOIN processes ON processes.id = section_streams.process"

/* Reads a row of EXPIRED_COLUMNS. */
static int read_expired(sqlite3_stmt *s, const struct model *m, struct model_stream **stream, struct model_expired *e)
{
    struct model_process *p = process_of(s, m);
    int64_t ring = sqlite3_column_int64(s, 2);
    uint64_t values[7];
    if (!p || ring < 0 || ring >= PACKET_RINGS_MAX)
        return BEZEL_EMALFORMED;
    *stream = model_stream(p, (uint32_t)ring);
    if (!*stream)
        return BEZEL_ENOMEM;
    for (int i = 0; i < 7; i++)
        values[i] = (uint64_t)sqlite3_column_int64(s, 3 + i);
    int64_t closed = sqlite3_column_int64(s, 10);
    if (values[0] == 0 || values[1] / PACKET_HEADER_BYTES < values[0] || closed < 0 || closed > 1)
        return BEZEL_EMALFORMED;
    *e = (struct model_expired){.packets = values[0],
                                .bytes = values[1],
                                .records = values[2],
                                .next_ordinal = values[3],
                                .discarded = values[4],
                                .sum = values[5],
                                .last_end = values[6],
                                .section = (uint64_t)sqlite3_column_int64(s, 11),
                                .closed = closed != 0};
    return 0;
}

static void set_expired(struct model *m, struct model_stream *s, const struct model_expired *e)
{
    struct model_totals *t = &m->totals;
    t->expired += e->packets - s->expired.packets;
    t->expired_records += e->records - s->expired.records;
    t->expired_bytes += e->bytes - s->expired.bytes;
    s->expired = *e;
    if (e->section > s->process->expired_section)
        s->process->expired_section = e->section;
}

static int take_expired(sqlite3_stmt *s, void *context)
{
    struct model_stream *stream;
    struct model_expired e;
    int err = read_expired(s, context, &stream, &e);
    if (!err)
        set_expired(context, stream, &e);
    return err;
}

int rundb_note_expired(struct rundb *f, struct model *m)
{
    struct model_totals *t = &m->totals;
    t->expired = t->expired_records = t->expired_bytes = 0;
    return run(f, EXPIRED_COLUMNS EXPIRED " ORDER BY section", NULL, take_expired, m);
}

/* The stream goes on behind what expired of it. */
static void begin_behind(struct model_stream *s, struct model_totals *t)
{
    const struct model_expired *gone = &s->expired;
    if (gone->packets == 0)
        return;
    s->packets = s->at.next_seq = gone->packets;
    s->bytes = s->noted = gone->bytes;
    s->records = gone->records;
    s->at.next_ordinal = gone->next_ordinal;
    s->at.discarded = gone->discarded;
    s->sum = gone->sum;
    s->last_end = gone->last_end;
    s->closed = gone->closed;
    t->streams++;
    t->packets += gone->packets;
    t->bytes += gone->bytes;
    model_count(s->process, gone->records, gone->discarded);
}

static int take_book(sqlite3_stmt *s, void *context)
{
    struct model_process *p = process_of(s, context);
    int64_t aspect = sqlite3_column_int64(s, 2);
    if (!p || aspect < 0 || aspect > p->dict->aspect_count)
        return BEZEL_EMALFORMED;
    p->counts[aspect].stored = (uint64_t)sqlite3_column_int64(s, 3);
    p->counts[aspect].first_ns = sqlite3_column_int64(s, 4);
    p->counts[aspect].last_ns = sqlite3_column_int64(s, 5);
    p->counts[aspect].unsaved = p->counts[aspect].stored != 0;
    return 0;
}

static int take_field(sqlite3_stmt *s, void *context)
{
    struct model *m = context;
    struct model_process *p = process_of(s, m);
    int64_t aspect = sqlite3_column_int64(s, 2), field = sqlite3_column_int64(s, 3);
    if (!p || aspect < 1 || aspect > p->dict->aspect_count)
        return BEZEL_EMALFORMED;
    const struct dict_aspect *a = &p->dict->aspects[aspect - 1];
    if (field < 0 || field >= a->field_count || !field_has_statistics(a, (uint32_t)field))
        return BEZEL_EMALFORMED;
    if (!p->values[aspect])
        p->values[aspect] = aspect_statistics_new(a, &m->values_memory);
    struct field_statistics *v = p->values[aspect] ? &p->values[aspect]->fields[field] : NULL;
    if (!v)
        return 0; /* without memory it is not evaluated */
    histogram_free(&v->values, &m->values_memory);
    int err = field_unpack(v, sqlite3_column_blob(s, 4), (size_t)sqlite3_column_bytes(s, 4), &m->values_memory);
    return err == BEZEL_ENOMEM ? 0 : err;
}

int rundb_load_expired(struct rundb *f, struct model *m)
{
    int err = rundb_note_expired(f, m);
    for (struct model_node *node = m->nodes; node && !err; node = node->next)
        for (struct model_process *p = node->processes; p; p = p->next)
            for (uint32_t ring = 0; ring < p->ring_count; ring++)
                if (p->streams[ring])
                    begin_behind(p->streams[ring], &m->totals);
    if (err || m->uncounted || m->totals.expired == 0)
        return err;
    err = run(f,
              "SELECT node, instance, aspect, stored, first_ns, last_ns FROM section_books"
              " JOIN processes ON processes.id = section_books.process" EXPIRED " ORDER BY section",
              NULL, take_book, m);
    return err ? err
               : run(f,
                     "SELECT node, instance, aspect, field, section_fields.state FROM section_fields"
                     " JOIN processes ON processes.id = section_fields.process" EXPIRED " ORDER BY section",
                     NULL, take_field, m);
}

/* ---- the oldest section expires ---------------------------------------------------------------------------------- */

/* What the first kept section noted. It is read in the transaction, and enters the model once that is committed. */
struct expiry {
    struct rundb *f;
    struct model *m;
    const struct model_process *last; /* whose older notes are gone */
    size_t count, capacity;
    struct {
        struct model_stream *stream;
        struct model_expired expired;
    } * list;
};

/* Of what was noted up to the first section that is kept, the latest of each stream and process stays. */
static int drop_older(struct expiry *e, const struct model_stream *s)
{
    const struct model_process *p = s->process;
    const int64_t stream[3] = {(int64_t)s->expired.section, p->row, s->at.ring};
    const int64_t process[3] = {(int64_t)p->expired_section, p->row};
    int err = !s->expired.packets
                  ? 0
                  : run(e->f, "DELETE FROM section_streams WHERE section = ?1 AND process = ?2 AND ring = ?3", stream,
                        NULL, NULL);
    if (err || p == e->last || !p->expired_section)
        return err;
    e->last = p;
    err = run(e->f, "DELETE FROM section_books WHERE section = ?1 AND process = ?2", process, NULL, NULL);
    return err ? err : run(e->f, "DELETE FROM section_fields WHERE section = ?1 AND process = ?2", process, NULL, NULL);
}

static int take_expiry(sqlite3_stmt *s, void *context)
{
    struct expiry *e = context;
    if (!grow_list(&e->list, &e->capacity, e->count, sizeof *e->list))
        return BEZEL_ENOMEM;
    int err = read_expired(s, e->m, &e->list[e->count].stream, &e->list[e->count].expired);
    return err ? err : drop_older(e, e->list[e->count++].stream);
}

static void tell_model(const struct expiry *e)
{
    for (size_t i = 0; i < e->count; i++) {
        struct model_stream *s = e->list[i].stream;
        set_expired(e->m, s, &e->list[i].expired);
        if (s->is_expired)
            continue;
        s->is_expired = true;
        s->next_expired = e->m->expired;
        e->m->expired = s;
    }
}

int rundb_expire(struct rundb *f, struct model *m, uint64_t first)
{
    const int64_t numbers[3] = {(int64_t)first};
    struct expiry e = {.f = f, .m = m};
    int err = begin(f);
    if (err)
        return err;
    err = run(f, "DELETE FROM sections WHERE number < ?1", numbers, NULL, NULL);
    if (!err)
        err = run(f, EXPIRED_COLUMNS " WHERE section = ?1", numbers, take_expiry, &e);
    err = rundb_end(f, err);
    if (!err)
        tell_model(&e);
    free(e.list);
    return err;
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

static int take_bound(sqlite3_stmt *s, void *context)
{
    struct rundb_bounds *b = context;
    if (b->count == RUNDB_SECTIONS_MAX)
        return BEZEL_EMALFORMED;
    b->at[b->count].section = (uint64_t)sqlite3_column_int64(s, 0);
    b->at[b->count++].bytes = (uint64_t)sqlite3_column_int64(s, 1);
    return 0;
}

static int take_last(sqlite3_stmt *s, void *context)
{
    ((struct rundb_bounds *)context)->last = (uint64_t)sqlite3_column_int64(s, 0);
    return 0;
}

int rundb_load_bounds(struct rundb *f, const struct model_stream *stream, struct rundb_bounds *b)
{
    const int64_t numbers[3] = {stream->process->row, stream->at.ring};
    b->count = 0;
    int err = run(f, "SELECT ifnull(max(number), 0) FROM sections", NULL, take_last, b);
    return err || b->last == 0 ? err
                               : run(f,
                                     "SELECT section, bytes FROM section_streams WHERE process = ?1 AND ring = ?2"
                                     " AND section > (SELECT min(number) FROM sections) ORDER BY section",
                                     numbers, take_bound, b);
}

/* A section notes a stream only if it stored packets in the section before: so these lie up to where it begins. */
uint64_t rundb_section_of(const struct rundb_bounds *b, uint64_t offset)
{
    for (size_t i = 0; i < b->count; i++)
        if (offset < b->at[i].bytes)
            return b->at[i].section - 1;
    return b->last;
}

bool rundb_bounds_hold(const struct rundb_bounds *b, uint64_t bytes)
{
    return b->count == 0 || b->at[b->count - 1].bytes <= bytes;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Copies a row of any table, without its rowid. */
static int copy_row(struct rundb *to, const char *table, sqlite3_stmt *row)
{
    char text[256];
    sqlite3_stmt *s;
    int n = snprintf(text, sizeof text, "INSERT INTO %s VALUES(?", table), columns = sqlite3_column_count(row);
    for (int i = 1; i < columns; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, ", ?");
    snprintf(text + n, sizeof text - (size_t)n, ")");
    int err = rundb_error(to->db, sqlite3_prepare_v2(to->db, text, -1, &s, NULL));
    for (int i = 0; i < columns && !err; i++)
        sqlite3_bind_value(s, i + 1, sqlite3_column_value(row, i));
    if (!err)
        err = rundb_error(to->db, sqlite3_step(s));
    sqlite3_finalize(s);
    return err;
}

static int copy_table(struct rundb *f, struct rundb *to, const char *table)
{
    char text[160];
    sqlite3_stmt *row;
    snprintf(text, sizeof text, "SELECT * FROM %s WHERE section < (SELECT min(number) FROM sections)", table);
    int err = rundb_error(f->db, sqlite3_prepare_v2(f->db, text, -1, &row, NULL)), rc = SQLITE_DONE;
    while (!err && (rc = sqlite3_step(row)) == SQLITE_ROW)
        err = copy_row(to, table, row);
    if (!err)
        err = rundb_error(f->db, rc);
    sqlite3_finalize(row);
    return err;
}

int rundb_copy_expired(struct rundb *f, struct rundb *to)
{
    rundb_allow(0); /* its time is proportional to the database, as that of verification is to the trace */
    int err = rundb_begin(to);
    if (!err)
        err = copy_table(f, to, "losses");
    for (int i = 0; i < BUILTIN_COUNT && !err; i++)
        err = copy_table(f, to, builtin_layout((enum builtin)i)->table);
    return err;
}
