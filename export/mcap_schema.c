// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "export/mcap_schema.h"

#include <ctype.h>
#include <stdio.h>

enum { CDR_HEAD = 4 };

const char mcap_loss_schema[] = "# so many records of a ring were lost up to here\n"
                                "string node\nstring process\nint64 pid\nint64 ring\nint64 lost\n"
                                "int64 bezel_thread\nint64 bezel_error # ns\n";

/* ---- definitions ------------------------------------------------------------------------------------------------- */

static void put(struct grow_bytes *b, const char *text)
{
    grow_bytes_add(b, text, strlen(text));
}

/* A name of letters, digits and '_'; capital for constants. */
static void put_name(struct grow_bytes *b, const char *name, size_t n, bool capital)
{
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)name[i];
        char as = c < 0x80 && isalnum(c) ? (char)(capital ? toupper(c) : c) : '_';
        grow_bytes_add(b, &as, 1);
    }
}

/* Whether the names of two fields are one without what a name may not have. */
static bool is_same(const char *a, const char *b)
{
    size_t i = 0;
    while (a[i] && b[i] && (a[i] == b[i] || (strchr("_.:", a[i]) && strchr("_.:", b[i]))))
        i++;
    return !a[i] && !b[i];
}

/* The name of field `i`; a number behind it if an earlier one has the same. */
static void put_field(struct grow_bytes *b, const struct dict_aspect *a, uint32_t i)
{
    char number[16];
    bool again = false;
    for (uint32_t k = 0; k < i; k++)
        again = again || is_same(a->fields[k].name, a->fields[i].name);
    put_name(b, a->fields[i].name, strlen(a->fields[i].name), false);
    snprintf(number, sizeof number, "_%u", i);
    put(b, again ? number : "");
}

/* A comment ends with its line. */
static void put_comment(struct grow_bytes *b, const char *text)
{
    put(b, " # ");
    for (const char *c = text; *c; c++)
        grow_bytes_add(b, *c == '\n' || *c == '\r' ? " " : c, 1);
}

/* FIELD_0_LABEL=0 and so on: their numbers make them different. */
static void put_labels(struct grow_bytes *b, const struct dict_field *f)
{
    unsigned number = 0;
    for (const char *label = f->labels, *end; label && *label; label = *end ? end + 1 : NULL, number++) {
        char value[24];
        end = strchr(label, '|');
        end = end ? end : label + strlen(label);
        put(b, "int64 ");
        put_name(b, f->name, strlen(f->name), true);
        snprintf(value, sizeof value, "_%u_", number);
        put(b, value);
        put_name(b, label, (size_t)(end - label), true);
        snprintf(value, sizeof value, "=%u\n", number);
        put(b, value);
    }
}

void mcap_schema(struct grow_bytes *b, const struct dict_aspect *a)
{
    static const char *const types[] = {
        [DICT_INT64] = "int64 ", [DICT_FLOAT64] = "float64 ", [DICT_ENUM] = "int64 ", [DICT_STRING] = "string "};
    for (uint32_t i = 0; i < a->field_count; i++) {
        const struct dict_field *f = &a->fields[i];
        if (f->type == DICT_ENUM)
            put_labels(b, f);
        put(b, types[f->type]);
        put_field(b, a, i);
        if (f->unit && *f->unit && strcmp(f->unit, "1") != 0)
            put_comment(b, f->unit);
        put(b, "\n");
    }
    put(b, "int64 bezel_thread\nint64 bezel_error # ns, of the time; -1: unknown\n");
}

const char *mcap_type(char type[MCAP_TYPE_SIZE], const char *name)
{
    snprintf(type, MCAP_TYPE_SIZE, "bezel/msg/%s", name);
    for (char *c = type + sizeof "bezel/msg"; (c = strpbrk(c, ".:")) != NULL;)
        *c = '_';
    return type;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const uint8_t head[CDR_HEAD] = {0, 1, 0, 0}; /* CDR, little-endian */

/* Values lie at multiples of their size behind the head. */
static void align(struct grow_bytes *b, size_t from, size_t to)
{
    size_t used = (b->n - from - CDR_HEAD) % to;
    if (used)
        mcap_uint(b, 0, to - used);
}

static void put_number(struct grow_bytes *b, size_t from, uint64_t bits)
{
    align(b, from, 8);
    mcap_uint(b, bits, 8);
}

static void put_text(struct grow_bytes *b, size_t from, const char *text, size_t n)
{
    align(b, from, 4);
    mcap_uint(b, n + 1, 4);
    grow_bytes_add(b, text, n);
    mcap_uint(b, 0, 1);
}

static void put_end(struct grow_bytes *b, size_t from, const struct record_item *item)
{
    put_number(b, from, item->packet->thread);
    put_number(b, from, item->at.bound < INT64_MAX ? (uint64_t)item->at.bound : UINT64_MAX);
}

void mcap_cdr(struct grow_bytes *b, const struct record_item *item)
{
    const struct dict *d = item->process->dict;
    size_t from = b->n;
    grow_bytes_add(b, head, sizeof head);
    for (uint32_t i = 0; i < item->aspect->field_count; i++) {
        uint64_t bits = packet_value(item->r, i);
        if (item->aspect->fields[i].type != DICT_STRING)
            put_number(b, from, bits);
        else if (bits == 0 || bits > d->string_count)
            put_text(b, from, "", 0);
        else
            put_text(b, from, d->strings[bits - 1], strlen(d->strings[bits - 1]));
    }
    put_end(b, from, item);
}

void mcap_loss_cdr(struct grow_bytes *b, const struct record_item *loss)
{
    const struct model_process *p = loss->process;
    size_t from = b->n;
    grow_bytes_add(b, head, sizeof head);
    put_text(b, from, p->node->name, strlen(p->node->name));
    put_text(b, from, p->name, strlen(p->name));
    put_number(b, from, p->pid);
    put_number(b, from, loss->packet->ring);
    put_number(b, from, loss->lost);
    put_end(b, from, loss);
}
