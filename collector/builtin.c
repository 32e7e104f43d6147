// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/builtin.h"

#include "collector/facts_db.h"
#include "collector/facts_run.h"

#include <string.h>

static void bind_real(sqlite3_stmt *s, int at, const struct packet_record *r, uint32_t value)
{
    uint64_t bits = packet_value(r, value);
    double real;
    memcpy(&real, &bits, sizeof real);
    sqlite3_bind_double(s, at, real); /* a NaN becomes NULL */
}

/* The columns of a record's row are its values from `from` on, in their order, bound at parameter `at` and after. */
static void bind_values(sqlite3_stmt *s, int at, const struct dict_aspect *a, const struct packet_record *r,
                        uint32_t from)
{
    for (uint32_t i = from; i < r->value_count; i++, at++) {
        if (a->fields[i].type == DICT_FLOAT64)
            bind_real(s, at, r, i);
        else
            sqlite3_bind_int64(s, at, (int64_t)packet_value(r, i));
    }
}

/* A row of the daemon's, with all of the record's values. */
static int add_own(struct facts *f, enum facts_statement row, const struct model_process *p,
                   const struct packet_record *r)
{
    int err;
    sqlite3_stmt *s = facts_prepare(f, row, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, p->row);
    sqlite3_bind_int64(s, 2, (int64_t)r->timestamp);
    bind_values(s, 3, &p->dict->aspects[r->aspect - 1], r, 0);
    return facts_run(f, s);
}

static int add_limit(struct facts *f, const struct model_process *p, const struct packet_record *r)
{
    int err;
    sqlite3_stmt *s = facts_prepare(f, FACTS_LIMIT, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, p->node->row);
    sqlite3_bind_int64(s, 2, (int64_t)packet_value(r, BLIMIT_INDEX));
    sqlite3_bind_int64(s, 3, (int64_t)r->timestamp);
    bind_values(s, 4, &p->dict->aspects[r->aspect - 1], r, BLIMIT_STATE);
    return facts_run(f, s);
}

/* A row of the node's, with all of the record's values. */
static int add_of_node(struct facts *f, enum facts_statement row, const struct model_process *p,
                       const struct packet_record *r)
{
    int err;
    sqlite3_stmt *s = facts_prepare(f, row, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, p->node->row);
    sqlite3_bind_int64(s, 2, (int64_t)r->timestamp);
    bind_values(s, 3, &p->dict->aspects[r->aspect - 1], r, 0);
    return facts_run(f, s);
}

/* The text of an interned string; "" for an id that the dictionary lacks. */
static const char *string_of(const struct dict *d, uint64_t id)
{
    return id && id <= d->string_count ? d->strings[id - 1] : "";
}

static int add_metric(struct facts *f, const struct model_process *p, const struct packet_record *r)
{
    int err;
    sqlite3_stmt *s = facts_prepare(f, FACTS_METRIC, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, p->node->row);
    sqlite3_bind_int64(s, 2, (int64_t)r->timestamp);
    facts_bind_text(s, 3, string_of(p->dict, packet_value(r, BMETRIC_NAME)));
    facts_bind_text(s, 4, string_of(p->dict, packet_value(r, BMETRIC_PROCESS)));
    bind_values(s, 5, &p->dict->aspects[r->aspect - 1], r, BMETRIC_VALUE);
    return facts_run(f, s);
}

static int add_expired(struct facts *f, const struct model_process *p, const struct packet_record *r)
{
    int err;
    sqlite3_stmt *s = facts_prepare(f, FACTS_EXPIRED, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, p->row);
    facts_bind_text(s, 2, string_of(p->dict, packet_value(r, BEXPIRED_PROCESS)));
    facts_bind_text(s, 3, string_of(p->dict, packet_value(r, BEXPIRED_ASPECT)));
    bind_values(s, 4, &p->dict->aspects[r->aspect - 1], r, BEXPIRED_INSTANCE);
    return facts_run(f, s);
}

static int add_knob(struct facts *f, const struct model_process *p, const struct packet_record *r)
{
    int err;
    sqlite3_stmt *s = facts_prepare(f, FACTS_KNOB, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, p->node->row);
    sqlite3_bind_int64(s, 2, (int64_t)r->timestamp);
    facts_bind_text(s, 3, string_of(p->dict, packet_value(r, BKNOB_PROCESS)));
    facts_bind_text(s, 4, string_of(p->dict, packet_value(r, BKNOB_NAME)));
    facts_bind_text(s, 5, string_of(p->dict, packet_value(r, BKNOB_UNIT)));
    bind_values(s, 6, &p->dict->aspects[r->aspect - 1], r, BKNOB_INSTANCE);
    return facts_run(f, s);
}

static int add_snapshot(struct facts *f, const struct model_process *p, const struct packet_record *r)
{
    int err;
    sqlite3_stmt *s = facts_prepare(f, FACTS_SNAPSHOT, &err);
    if (!s)
        return err;
    sqlite3_bind_int64(s, 1, p->row);
    sqlite3_bind_int64(s, 2, (int64_t)packet_value(r, BSNAPSHOT_NUMBER));
    sqlite3_bind_int64(s, 3, (int64_t)packet_value(r, BSNAPSHOT_MOMENT));
    sqlite3_bind_int64(s, 4, (int64_t)r->timestamp);
    facts_bind_text(s, 5, string_of(p->dict, packet_value(r, BSNAPSHOT_NODE)));
    sqlite3_bind_int64(s, 6, (int64_t)packet_value(r, BSNAPSHOT_LIMIT));
    bind_real(s, 7, r, BSNAPSHOT_VALUE);
    bind_values(s, 8, &p->dict->aspects[r->aspect - 1], r, BSNAPSHOT_DURATION);
    return facts_run(f, s);
}

int facts_add_builtin(struct facts *f, const struct model_process *process, const struct packet_record *r)
{
    const struct model_builtins *b = &process->builtins;
    if (r->aspect == b->self)
        return add_own(f, FACTS_SELF, process, r);
    if (r->aspect == b->limit)
        return add_limit(f, process, r);
    if (r->aspect == b->decision)
        return add_of_node(f, FACTS_DECISION, process, r);
    if (r->aspect == b->metric)
        return add_metric(f, process, r);
    if (r->aspect == b->clock)
        return add_own(f, FACTS_CLOCK, process, r);
    if (r->aspect == b->polling)
        return add_of_node(f, FACTS_POLLING, process, r);
    if (r->aspect == b->flow)
        return add_own(f, FACTS_FLOW, process, r);
    if (r->aspect == b->expired)
        return add_expired(f, process, r);
    if (r->aspect == b->knob)
        return add_knob(f, process, r);
    if (r->aspect == b->snapshot)
        return add_snapshot(f, process, r);
    if (r->aspect == b->observation)
        return add_of_node(f, FACTS_OBSERVATION, process, r);
    if (r->aspect == b->obeyed)
        return add_own(f, FACTS_OBEYED, process, r);
    if (r->aspect == b->finding)
        return add_of_node(f, FACTS_FINDING, process, r);
    return 0;
}
