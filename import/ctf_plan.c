// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* How events of CTF traces become records: their classes become aspects, and their fields values. */
#include "import/ctf_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ctf_is_own(const bt_event_class *class)
{
    const char *name = bt_event_class_get_name(class);
    return name && strncmp(name, "bezel_", 6) == 0;
}

int64_t ctf_integer(const bt_field *f)
{
    return bt_field_class_type_is(bt_field_get_class_type(f), BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)
               ? (int64_t)bt_field_integer_unsigned_get_value(f)
               : bt_field_integer_signed_get_value(f);
}

/* ---- classes of events ------------------------------------------------------------------------------------------- */

/* Labels as an enum has them: those of 0, 1, 2 ..., each of one value. False where they are others. */
static bool join_labels(const bt_field_class *class, char labels[DICT_LABELS_MAX + 1])
{
    uint64_t count = bt_field_class_enumeration_get_mapping_count(class);
    bool is_signed = bt_field_class_type_is(bt_field_class_get_type(class), BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION);
    size_t n = 0;
    for (uint64_t i = 0; i < count; i++) {
        const char *label;
        int64_t lower = -1, upper = -1;
        uint64_t ranges;
        if (is_signed) {
            const bt_field_class_enumeration_signed_mapping *m =
                bt_field_class_enumeration_signed_borrow_mapping_by_index_const(class, i);
            const bt_integer_range_set_signed *set = bt_field_class_enumeration_signed_mapping_borrow_ranges_const(m);
            const bt_integer_range_signed *range = bt_integer_range_set_signed_borrow_range_by_index_const(set, 0);
            label = bt_field_class_enumeration_mapping_get_label(
                bt_field_class_enumeration_signed_mapping_as_mapping_const(m));
            ranges = bt_integer_range_set_get_range_count(bt_integer_range_set_signed_as_range_set_const(set));
            lower = bt_integer_range_signed_get_lower(range);
            upper = bt_integer_range_signed_get_upper(range);
        } else {
            const bt_field_class_enumeration_unsigned_mapping *m =
                bt_field_class_enumeration_unsigned_borrow_mapping_by_index_const(class, i);
            const bt_integer_range_set_unsigned *set =
                bt_field_class_enumeration_unsigned_mapping_borrow_ranges_const(m);
            const bt_integer_range_unsigned *range = bt_integer_range_set_unsigned_borrow_range_by_index_const(set, 0);
            label = bt_field_class_enumeration_mapping_get_label(
                bt_field_class_enumeration_unsigned_mapping_as_mapping_const(m));
            ranges = bt_integer_range_set_get_range_count(bt_integer_range_set_unsigned_as_range_set_const(set));
            lower = (int64_t)bt_integer_range_unsigned_get_lower(range);
            upper = (int64_t)bt_integer_range_unsigned_get_upper(range);
        }
        int added = snprintf(labels + n, DICT_LABELS_MAX + 1 - n, "%s%s", i ? "|" : "", label);
        if (ranges != 1 || lower != (int64_t)i || upper != (int64_t)i || !*label || strchr(label, '|') ||
            n + (size_t)added > DICT_LABELS_MAX)
            return false;
        n += (size_t)added;
    }
    return count > 0;
}

/* What a field of a record is made of; false: it has no place in a record. */
static bool read_field_class(const bt_field_class *class, struct dict_field *f, enum value_as *as,
                             char labels[DICT_LABELS_MAX + 1])
{
    static const struct {
        bt_field_class_type type;
        enum value_as as;
        enum dict_type to;
    } kinds[] = {
        {BT_FIELD_CLASS_TYPE_ENUMERATION, AS_LABEL, DICT_STRING},
        {BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER, AS_UNSIGNED, DICT_INT64},
        {BT_FIELD_CLASS_TYPE_SIGNED_INTEGER, AS_INTEGER, DICT_INT64},
        {BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL, AS_SINGLE, DICT_FLOAT64},
        {BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL, AS_DOUBLE, DICT_FLOAT64},
        {BT_FIELD_CLASS_TYPE_STRING, AS_TEXT, DICT_STRING},
        {BT_FIELD_CLASS_TYPE_BOOL, AS_BOOL, DICT_INT64},
        {BT_FIELD_CLASS_TYPE_BIT_ARRAY, AS_BITS, DICT_INT64},
    };
    bt_field_class_type type = bt_field_class_get_type(class);
    size_t i = 0;
    while (i < sizeof kinds / sizeof *kinds && !bt_field_class_type_is(type, kinds[i].type))
        i++;
    if (i == sizeof kinds / sizeof *kinds)
        return false;
    *as = kinds[i].as;
    f->type = kinds[i].to;
    f->labels = "";
    if (*as == AS_LABEL && join_labels(class, labels)) {
        *as = bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER) ? AS_UNSIGNED : AS_INTEGER;
        f->type = DICT_ENUM;
        f->labels = labels;
    }
    return true;
}

static void skip_field(struct reading *r, const char *event, const char *field)
{
    if (r->c->skipped++ == 0)
        snprintf(r->c->skipped_first, sizeof r->c->skipped_first, "%.60s of %.60s", field, event);
}

/* An event as it becomes an aspect; its labels have room for each field. */
struct drawn {
    struct dict_aspect a;
    char labels[DICT_FIELDS_MAX][DICT_LABELS_MAX + 1];
};

static bool is_whose(const struct whose *w, int i)
{
    return i == w->pid || i == w->tid || i == w->name || i == w->of_instance || i == w->of_ring;
}

/* Adds the fields of a structure; `whose`: those that say whose a record is are not its values. */
static void add_fields(struct reading *r, struct event_plan *plan, struct drawn *d, int scope,
                       const bt_field_class *structure, const struct whose *whose)
{
    uint64_t count = structure ? bt_field_class_structure_get_member_count(structure) : 0;
    for (uint64_t i = 0; i < count; i++) {
        const bt_field_class_structure_member *m = bt_field_class_structure_borrow_member_by_index_const(structure, i);
        uint32_t n = plan->count;
        struct dict_field f = {.name = bt_field_class_structure_member_get_name(m)};
        struct origin from = {.scope = scope, .index = i};
        if (whose && is_whose(whose, (int)i))
            continue;
        if (d->a.field_count == DICT_FIELDS_MAX ||
            !read_field_class(bt_field_class_structure_member_borrow_field_class_const(m), &f, &from.as,
                              d->labels[n])) {
            skip_field(r, d->a.name, f.name);
            continue;
        }
        d->a.fields[d->a.field_count++] = f;
        plan->origins[plan->count++] = from;
    }
}

/* CTF 1.8 has no kinds of events: Bezel's own traces have them in the URI of the event's model. */
static enum dict_kind kind_of(const bt_event_class *class, struct dict_aspect *a)
{
    static const char prefix[] = "bezel:";
    const char *uri = bt_event_class_get_emf_uri(class);
    enum dict_kind kind = DICT_EVENT;
    if (!uri || strncmp(uri, prefix, sizeof prefix - 1) != 0)
        return DICT_EVENT;
    while (kind <= DICT_WAIT && strcmp(dict_kind_name(kind), uri + sizeof prefix - 1) != 0)
        kind++;
    if (kind <= DICT_WAIT && dict_kind_lasts(kind) && a->field_count > 0)
        a->fields[0].unit = "ns";
    return kind <= DICT_WAIT ? kind : DICT_EVENT;
}

/* Writes the name with `to` in place of `part`, behind which it ends or has a `_`. False: it has no such part. */
static bool replace_part(const char *name, const char *part, const char *to, char out[DICT_NAME_MAX + 1])
{
    const char *at = strstr(name, part);
    size_t n = strlen(part);
    while (at && at[n] && at[n] != '_')
        at = strstr(at + 1, part);
    return at && snprintf(out, DICT_NAME_MAX + 1, "%.*s%s%s", (int)(at - name), name, to, at + n) <= DICT_NAME_MAX;
}

static const bt_event_class *class_of_name(const bt_stream_class *of, const char *name)
{
    for (uint64_t i = 0; i < bt_stream_class_get_event_class_count(of); i++) {
        const bt_event_class *class = bt_stream_class_borrow_event_class_by_index_const(of, i);
        const char *is = bt_event_class_get_name(class);
        if (is && strcmp(is, name) == 0)
            return class;
    }
    return NULL;
}

/* Classes NAME_entry and NAME_exit, or NAME_start and NAME_end, of a stream that says whose each event is, or that is
 * of one thread. */
static void find_pair(struct event_plan *plan, const struct ctf_stream *s, const bt_stream_class *of, struct drawn *d,
                      char span[DICT_NAME_MAX + 1])
{
    static const char *const pairs[][2] = {{"_entry", "_exit"}, {"_start", "_end"}};
    char other[DICT_NAME_MAX + 1];
    bool threads = s->whose.tid != NO_FIELD || s->whose.cpu == NO_FIELD;
    for (size_t i = 0; threads && !plan->entry && i < sizeof pairs / sizeof *pairs; i++)
        if (replace_part(d->a.name, pairs[i][0], pairs[i][1], other) && class_of_name(of, other))
            plan->entry = plan->class;
        else if (replace_part(d->a.name, pairs[i][1], pairs[i][0], other))
            plan->entry = class_of_name(of, other), plan->exit = plan->entry != NULL;
    if (!plan->exit)
        return;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (replace_part(d->a.name, pairs[i][1], "", span)) {
            d->a.name = span;
            break;
        }
    d->a.fields[d->a.field_count++] = (struct dict_field){DICT_INT64, "duration", "ns", ""};
}

/* NULL where memory is short. */
static struct event_plan *make_plan(struct reading *r, const struct ctf_stream *s, const bt_event_class *class)
{
    const bt_stream_class *of = bt_event_class_borrow_stream_class_const(class);
    struct event_plan *plan = calloc(1, sizeof *plan);
    struct drawn *d = calloc(1, sizeof *d);
    char number[32], span[DICT_NAME_MAX + 1];
    if (plan && d) {
        plan->class = class;
        snprintf(number, sizeof number, "event_%" PRIu64, bt_event_class_get_id(class));
        d->a.name = bt_event_class_get_name(class) ? bt_event_class_get_name(class) : number;
        if (!r->is_bezel)
            find_pair(plan, s, of, d, span);
        add_fields(r, plan, d, OF_PAYLOAD, bt_event_class_borrow_payload_field_class_const(class), NULL);
        add_fields(r, plan, d, OF_SPECIFIC, bt_event_class_borrow_specific_context_field_class_const(class), NULL);
        add_fields(r, plan, d, OF_COMMON, bt_stream_class_borrow_event_common_context_field_class_const(of), &s->whose);
        d->a.kind = plan->exit ? DICT_SPAN : kind_of(class, &d->a);
        plan->own = r->is_bezel && ctf_is_own(class);
        plan->shape = fill_shape(r->c->in, &d->a);
    }
    free(d);
    if (!plan || !plan->shape) {
        free(plan);
        return NULL;
    }
    return plan;
}

const struct event_plan *ctf_plan(struct reading *r, const struct ctf_stream *s, const bt_event_class *class)
{
    struct event_plan **bucket = &r->plans[((uintptr_t) class >> 4) % CLASS_BUCKETS], *plan = *bucket;
    while (plan && plan->class != class)
        plan = plan->next;
    if (plan || !(plan = make_plan(r, s, class)))
        return plan;
    plan->next = *bucket;
    return *bucket = plan;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* The id of an enum's label, or of its number where it has none. */
static uint64_t label_id(const struct reading *r, struct fill_process *p, const bt_field *f)
{
    bt_field_class_enumeration_mapping_label_array labels;
    uint64_t count = 0;
    char number[32];
    int64_t value = ctf_integer(f);
    int bad = bt_field_class_type_is(bt_field_get_class_type(f), BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)
                  ? bt_field_enumeration_unsigned_get_mapping_labels(f, &labels, &count)
                  : bt_field_enumeration_signed_get_mapping_labels(f, &labels, &count);
    if (!bad && count > 0)
        return fill_text(p, labels[0]);
    if (r->is_bezel && value == 0)
        return 0; /* a text for which there was no room */
    snprintf(number, sizeof number, "%" PRId64, value);
    return fill_text(p, number);
}

static uint64_t value_of(struct reading *r, struct fill_process *p, const bt_field *f, enum value_as as)
{
    uint64_t bits = 0;
    double real;
    switch (as) {
    case AS_INTEGER:
        return (uint64_t)bt_field_integer_signed_get_value(f);
    case AS_UNSIGNED:
        bits = bt_field_integer_unsigned_get_value(f);
        r->c->wrapped += bits > INT64_MAX;
        return bits;
    case AS_BOOL:
        return bt_field_bool_get_value(f) ? 1 : 0;
    case AS_BITS:
        return bt_field_bit_array_get_value_as_integer(f);
    case AS_SINGLE:
    case AS_DOUBLE:
        real = as == AS_SINGLE ? (double)bt_field_real_single_precision_get_value(f)
                               : bt_field_real_double_precision_get_value(f);
        memcpy(&bits, &real, sizeof bits);
        return bits;
    case AS_TEXT:
        return fill_text(p, bt_field_string_get_value(f));
    case AS_LABEL:
        return label_id(r, p, f);
    }
    return bits;
}

void ctf_values(struct reading *r, struct fill_process *p, const struct event_plan *plan, const bt_event *e,
                uint64_t values[DICT_FIELDS_MAX])
{
    const bt_field *scopes[SCOPES] = {[OF_PAYLOAD] = bt_event_borrow_payload_field_const(e),
                                      [OF_SPECIFIC] = bt_event_borrow_specific_context_field_const(e),
                                      [OF_COMMON] = bt_event_borrow_common_context_field_const(e)};
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct origin *from = &plan->origins[i];
        values[i] = value_of(
            r, p, bt_field_structure_borrow_member_field_by_index_const(scopes[from->scope], from->index), from->as);
    }
}

void ctf_free_plans(struct reading *r)
{
    for (size_t i = 0; i < CLASS_BUCKETS; i++)
        while (r->plans[i]) {
            struct event_plan *plan = r->plans[i];
            r->plans[i] = plan->next;
            free(plan);
        }
}
