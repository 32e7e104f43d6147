// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/grow.h"
#include "base/plain.h"
#include "export/export_internal.h"
#include "export/record_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * For speed, the first columns, which all records of a packet share, are written once, at the start of the buffer in
 * which each line is made. The columns of an aspect's fields are looked up once for each process.
 */

static const char *const fixed[] = {"node",   "process",     "pid",      "ring",        "thread", "time_ns",
                                    "aspect", "run_time_ns", "error_ns", "thread_name", "order",  "logical_ns"};

enum {
    FIXED = sizeof fixed / sizeof *fixed,
    NUMBER_MAX = 20,
    NUMBERS_MAX = 3 * NUMBER_MAX + 5,     /* of pid, ring and thread, with commas */
    NAME_MOST = 2 * MESSAGE_NAME_MAX + 2, /* if each of its characters is a quote */
    VALUE_MAX = 2 * DICT_LABELS_MAX + 2,
    ORDER_MAX = 10 + NUMBER_MAX, /* and logical_ns, with commas */
    LINE_MOST = 4 * NAME_MOST + NUMBERS_MAX + 3 * NUMBER_MAX + ORDER_MAX + DICT_FIELDS_MAX * VALUE_MAX +
                8, /* without the commas between columns */
};

_Static_assert((int)DICT_LABELS_MAX >= (int)DICT_TEXT_MAX && (int)MESSAGE_NAME_MAX >= (int)DICT_NAME_MAX &&
                   (int)MESSAGE_NAME_MAX >= (int)THREAD_NAME_MAX,
               "every text has room");

/* A field goes to a column. */
struct csv_cell {
    size_t column;
    uint32_t field;
};

/*
 * The cells of an aspect's records, in the order of columns. The fields of an aspect have different names. Those that
 * came after the first line have no column: they are the last `left_out`.
 */
struct csv_row {
    bool known;
    uint32_t left_out;
    struct csv_cell cells[DICT_FIELDS_MAX];
};

/* `name`: of its fields; `head` and `unit` as the first line shows them; unit "": none. */
struct csv_column {
    char *name, *head, *unit;
};

struct csv {
    FILE *out;
    bool ordered;
    size_t count;
    struct csv_column *columns;
    bool shows_units;
    uint64_t left_out;                   /* values without a column */
    const struct model_process *process; /* of the present packet, as ring and thread are */
    uint32_t ring, thread;
    struct csv_row rows[DICT_ASPECTS_MAX]; /* of that process, by aspect id - 1 */
    char *line;                            /* the buffer; begins with the first columns of the packet */
    size_t prefix;                         /* length of these columns in bytes */
};

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static bool needs_quotes(char c)
{
    return c <= ',' && (c == ',' || c == '"' || c == '\r' || c == '\n');
}

/* Whether a control character begins here, or one that may. */
static bool may_control(char c)
{
    unsigned char u = (unsigned char)c;
    return u < 0x20 || u == 0x7f || u == 0xc2;
}

/* The bytes of the control character at `i`, but for tabs and line ends; 0: there is none. */
static size_t control_at(const char *text, size_t i, size_t n)
{
    const char pair[] = {text[i], i + 1 < n ? text[i + 1] : '\0', '\0'};
    if (!may_control(text[i]) || text[i] == '\t' || text[i] == '\r' || text[i] == '\n')
        return 0;
    return text[i] ? plain_control(pair) : 1;
}

/*
 * Writes the text, quoted if needed, to `p`, which has 2 * n + 2 bytes. What a terminal would carry out becomes '?', as
 * in text for people: CSV has no escapes; JSON lines have them. The put_ functions return the next position.
 */
static char *put_text(char *p, const char *text, size_t n)
{
    size_t plain = 0;
    while (plain < n && !needs_quotes(text[plain]) && !may_control(text[plain]))
        plain++;
    if (plain == n)
        return (char *)memcpy(p, text, n) + n;
    bool quoted = false;
    for (size_t i = 0; i < n; i++)
        quoted = quoted || needs_quotes(text[i]);
    if (quoted)
        *p++ = '"';
    for (size_t i = 0; i < n;) {
        size_t control = control_at(text, i, n);
        if (control) {
            memset(p, '?', control);
            p += control;
            i += control;
            continue;
        }
        if (text[i] == '"')
            *p++ = '"';
        *p++ = text[i++];
    }
    if (quoted)
        *p++ = '"';
    return p;
}

static char *put_number(char *p, bool negative, uint64_t magnitude)
{
    char digits[NUMBER_MAX], *first = digits + sizeof digits;
    do
        *--first = (char)('0' + magnitude % 10);
    while ((magnitude /= 10) > 0);
    if (negative)
        *--first = '-';
    size_t n = (size_t)(digits + sizeof digits - first);
    return (char *)memcpy(p, first, n) + n;
}

static char *put_integer(char *p, int64_t value)
{
    return put_number(p, value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static char *put_commas(char *p, size_t n)
{
    return (char *)memset(p, ',', n) + n;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

static bool is_fixed(const char *name)
{
    for (size_t i = 0; i < FIXED; i++)
        if (strcmp(name, fixed[i]) == 0)
            return true;
    return false;
}

static void put_head(const struct csv *csv)
{
    for (size_t i = 0; i < FIXED - (csv->ordered ? 0u : 2u); i++)
        fprintf(csv->out, "%s%s", i ? "," : "", fixed[i]);
    for (size_t c = 0; c < csv->count; c++) {
        const struct csv_column *column = &csv->columns[c];
        char head[DICT_NAME_MAX + DICT_TEXT_MAX + 32], quoted[2 * sizeof head + 2];
        int n = snprintf(head, sizeof head, "%s", column->head);
        if (csv->shows_units && column->unit[0])
            n += snprintf(head + n, sizeof head - (size_t)n, " [%s]", column->unit);
        *put_text(quoted, head, (size_t)n) = '\0';
        fprintf(csv->out, ",%s", quoted);
    }
    fputc('\n', csv->out);
}

/* The number of the column `name`; csv->count if there is none. */
static size_t find_column(const struct csv *csv, const char *name)
{
    size_t c = 0;
    while (c < csv->count && strcmp(csv->columns[c].name, name) != 0)
        c++;
    return c;
}

static bool has_head(const struct csv *csv, const char *head)
{
    size_t c = 0;
    while (c < csv->count && strcmp(csv->columns[c].head, head) != 0)
        c++;
    return c < csv->count;
}

/* What the column of field `name` is called: with a number where another one is called so. NULL: memory is short. */
static char *make_head(const struct csv *csv, const char *name)
{
    char head[DICT_NAME_MAX + 32];
    const char *begin = is_fixed(name) ? "field." : "";
    snprintf(head, sizeof head, "%s%s", begin, name);
    for (unsigned i = 2; has_head(csv, head); i++)
        snprintf(head, sizeof head, "%s%s_%u", begin, name, i);
    return strdup(head);
}

/* A number of things has no unit to show; two programs may have given the same field different ones. */
static int add_column(struct csv *csv, const struct dict_field *field)
{
    const char *unit = field->unit && strcmp(field->unit, "1") != 0 ? field->unit : "";
    size_t c = find_column(csv, field->name);
    if (c < csv->count) {
        char **is = &csv->columns[c].unit, *several = strcmp(*is, unit) != 0 ? strdup("different units") : NULL;
        if (several) {
            free(*is);
            *is = several;
        }
        return several || strcmp(*is, unit) == 0 ? 0 : BEZEL_ENOMEM;
    }
    if (!grow_by_one(&csv->columns, csv->count, sizeof *csv->columns))
        return BEZEL_ENOMEM;
    struct csv_column made = {strdup(field->name), make_head(csv, field->name), strdup(unit)};
    csv->columns[csv->count++] = made; /* they are freed in any case */
    return made.name && made.head && made.unit ? 0 : BEZEL_ENOMEM;
}

static int add_columns_of(struct csv *csv, const struct record_filter *filter, const struct model_process *p)
{
    uint8_t wanted[DICT_ASPECTS_MAX + 1];
    int err = 0;
    if (!record_filter_takes(filter->node, p->node->name) || !record_filter_takes_process(filter, p) ||
        !record_filter_aspects(filter, p->dict, wanted))
        return 0;
    for (uint32_t a = 0; a < p->dict->aspect_count; a++)
        for (uint32_t f = 0; wanted[a + 1] && !err && f < p->dict->aspects[a].field_count; f++)
            err = add_column(csv, &p->dict->aspects[a].fields[f]);
    return err;
}

static int add_columns(struct csv *csv, const struct model *m, const struct record_filter *filter,
                       enum message_role role)
{
    int err = 0;
    for (const struct model_node *node = m->nodes; node; node = node->next)
        for (const struct model_process *p = node->processes; p && !err; p = p->next)
            if (p->role == role)
                err = add_columns_of(csv, filter, p);
    return err;
}

static const struct csv_row *row_of(struct csv *csv, const struct dict_aspect *a)
{
    struct csv_row *row = &csv->rows[a->id - 1];
    if (row->known)
        return row;
    row->known = true;
    for (uint32_t f = 0; f < a->field_count; f++) {
        struct csv_cell cell = {find_column(csv, a->fields[f].name), f};
        row->left_out += cell.column == csv->count;
        uint32_t i = f;
        for (; i > 0 && row->cells[i - 1].column > cell.column; i--)
            row->cells[i] = row->cells[i - 1];
        row->cells[i] = cell;
    }
    return row;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static char *put_value(char *p, const struct record_value *v)
{
    if (v->as == RECORD_TEXT)
        return put_text(p, v->text, v->length);
    if (v->as == RECORD_INT)
        return put_integer(p, v->integer);
    if (v->as == RECORD_FLOAT)
        return p + snprintf(p, VALUE_MAX, "%.17g", isnan(v->real) ? (double)NAN : v->real); /* never "-nan" */
    return p;
}

void csv_forget(struct csv *csv)
{
    csv->process = NULL;
}

uint64_t csv_left_out(const struct csv *csv)
{
    return csv->left_out;
}

void csv_packet(struct csv *csv, const struct model_process *p, const struct packet_header *h)
{
    if (csv->process == p && csv->ring == h->ring && csv->thread == h->thread)
        return;
    if (csv->process != p)
        memset(csv->rows, 0, sizeof csv->rows);
    csv->process = p;
    csv->ring = h->ring;
    csv->thread = h->thread;
    char *to = put_text(csv->line, p->node->name, strlen(p->node->name));
    *to++ = ',';
    to = put_text(to, p->name, strlen(p->name));
    to += snprintf(to, NUMBERS_MAX, ",%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",", p->pid, h->ring, h->thread);
    csv->prefix = (size_t)(to - csv->line);
}

void csv_record(struct csv *csv, const struct record_item *record)
{
    const struct csv_row *row = row_of(csv, record->aspect);
    size_t column = 0;
    char *p = put_number(csv->line + csv->prefix, false, record->r->timestamp);
    *p++ = ',';
    p = put_text(p, record->aspect->name, strlen(record->aspect->name));
    *p++ = ',';
    p = put_integer(p, record->at.ns);
    *p++ = ',';
    if (record->at.bound < INT64_MAX)
        p = put_integer(p, record->at.bound);
    *p++ = ',';
    const char *thread = record_item_thread(record);
    p = thread ? put_text(p, thread, strlen(thread)) : p;
    if (csv->ordered) {
        p = stpcpy(stpcpy(stpcpy(p, ","), record_writer_proof(record->proof)), ",");
        p = put_integer(p, record->logical);
    }
    csv->left_out += row->left_out;
    for (uint32_t i = 0; i < record->aspect->field_count - row->left_out; i++) {
        struct record_value v = record_item_value(record->process->dict, record->r, row->cells[i].field);
        p = put_commas(p, row->cells[i].column + 1 - column);
        p = put_value(p, &v);
        column = row->cells[i].column + 1;
    }
    p = put_commas(p, csv->count - column);
    *p++ = '\n';
    fwrite_unlocked(csv->line, 1, (size_t)(p - csv->line), csv->out);
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

int csv_open(FILE *out, const struct model *m, const struct record_filter *filter, bool ordered, bool units,
             struct csv **csv)
{
    struct csv *it = calloc(1, sizeof *it);
    if (!it)
        return BEZEL_ENOMEM;
    it->out = out;
    it->ordered = ordered;
    it->shows_units = units;
    int err = add_columns(it, m, filter, ROLE_SUT);
    if (!err)
        err = add_columns(it, m, filter, ROLE_DAEMON);
    it->line = malloc(LINE_MOST + it->count);
    if (err || !it->line) {
        csv_close(it);
        return BEZEL_ENOMEM;
    }
    put_head(it);
    *csv = it;
    return 0;
}

void csv_close(struct csv *csv)
{
    if (!csv)
        return;
    for (size_t i = 0; i < csv->count; i++) {
        free(csv->columns[i].name);
        free(csv->columns[i].head);
        free(csv->columns[i].unit);
    }
    free(csv->columns);
    free(csv->line);
    free(csv);
}
