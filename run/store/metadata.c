// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/store/metadata.h"

#include "base/clock.h"
#include "base/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * As in XDR, everything is a multiple of 32 bits and aligned to 32 bits, apart from the sixteen bytes of the UUID.
 * Times are mapped to the node's clock, so that readers show a loss between the times of its packet.
 */
static const char types[] = "typealias integer { size = 8; align = 8; signed = false; base = x; } := bezel_byte;\n"
                            "typealias integer { size = 32; align = 32; signed = false; } := bezel_u32;\n"
                            "typealias integer { size = 64; align = 32; signed = false; } := bezel_u64;\n"
                            "typealias integer { size = 64; align = 32; signed = false; base = x; } := bezel_hex64;\n"
                            "typealias integer { size = 64; align = 32; signed = true; } := bezel_int64;\n"
                            "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 32; } := bezel_float64;\n";

static const char context[] = "    packet.context := struct {\n"
                              "        bezel_time timestamp_begin;\n"
                              "        bezel_time timestamp_end;\n"
                              "        bezel_u64 content_size;\n"
                              "        bezel_u64 packet_size;\n"
                              "        bezel_u64 events_discarded;\n"
                              "        bezel_u64 packet_seq_num;\n";

static const char packet_context[] =
    "        bezel_u32 format;\n"
    "        enum : bezel_u32 { DATA = 0, OPEN = 1, LOSS = 2, CLOSE = 3, COVER = 4, REDUCED = 5, THINNED = 6 } kind;\n"
    "        enum : bezel_hex64 { ";

static const char packet_context_rest[] = " } instance;\n"
                                          "        bezel_u32 ring;\n"
                                          "        bezel_u32 thread;\n"
                                          "        bezel_u32 generation;\n"
                                          "        bezel_u32 records;\n"
                                          "        bezel_hex64 dictionary;\n"
                                          "        bezel_u64 first_ordinal;\n";

static const char event_header[] = "    };\n"
                                   "    event.header := struct {\n"
                                   "        bezel_u32 id;\n"
                                   "        bezel_time timestamp;\n"
                                   "    };\n";

static const char merged_event_context[] = "    event.context := struct {\n"
                                           "        string process;\n"
                                           "        bezel_u32 pid;\n"
                                           "        bezel_hex64 instance;\n"
                                           "        bezel_u32 ring;\n"
                                           "        bezel_u32 thread;\n"
                                           "    };\n";

/* Writes a TSDL string literal. Control characters are three octal digits, which a following digit cannot lengthen. */
static void put_literal(FILE *out, const char *text, size_t n)
{
    fputc('"', out);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < ' ' || c == 127)
            fprintf(out, "\\%03o", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static void put_text(FILE *out, const char *text)
{
    put_literal(out, text, strlen(text));
}

static void put_trace(FILE *out, const struct model_node *node, const char *version)
{
    char uuid[MODEL_UUID_TEXT];
    model_uuid_text(node->uuid, uuid);
    fprintf(out, "/* CTF 1.8 */\n\n%s\n", types);
    fprintf(out,
            "trace {\n    major = 1;\n    minor = 8;\n    uuid = \"%s\";\n    byte_order = be;\n"
            "    packet.header := struct {\n        bezel_u32 magic;\n        bezel_byte uuid[16];\n"
            "        bezel_u32 stream_id;\n    };\n};\n\n",
            uuid);
    fputs("env {\n    hostname = ", out);
    put_text(out, node->name);
    fputs(";\n    node = ", out);
    put_text(out, node->name);
    fprintf(
        out,
        ";\n    run = \"%s\";\n    tracer_name = \"bezel\";\n    tracer_version = \"%s\";\n    format = %d;\n};\n\n",
        node->model->run, version, PACKET_VERSION);
}

static void put_offset(FILE *out, int64_t ns)
{
    int64_t seconds = ns / CLOCK_S, rest = ns % CLOCK_S;
    if (rest < 0)
        seconds--, rest += CLOCK_S;
    fprintf(out,
            "    freq = %" PRId64 ";\n    offset_s = %" PRId64 ";\n    offset = %" PRId64 ";\n    absolute = true;\n",
            CLOCK_S, seconds, rest);
}

static void open_clock(FILE *out, const char *name, const char *uuid, const char *description)
{
    fprintf(out, "clock {\n    name = \"%s\";\n    uuid = \"%s\";\n    description = \"%s\";\n", name, uuid,
            description);
}

static void close_clock(FILE *out, const char *name)
{
    fprintf(out,
            "};\n\ntypealias integer { size = 64; align = 32; signed = false; map = clock.%s.value; } := bezel_time;\n",
            name);
}

/* `last`: no exchange of times will follow, so that the clock is known as well as it ever will be. */
static void put_clock(FILE *out, const struct model_node *node, bool last)
{
    char description[160], uuid[MODEL_UUID_TEXT];
    struct run_clock_line line = {.offset = node->realtime_offset, .bound = -1};
    if (last)
        line = run_clock_line(&node->run_clock);
    if (line.bound < 0)
        snprintf(description, sizeof description,
                 "CLOCK_MONOTONIC of the node; CLOCK_REALTIME was ahead by %" PRId64 " ns when the node joined the run",
                 line.offset);
    else
        snprintf(description, sizeof description,
                 "CLOCK_MONOTONIC of the node; the time of the run is ahead by %" PRId64 " ns, give or take %" PRId64
                 " ns",
                 line.offset, line.bound);
    model_uuid_text(node->clock, uuid);
    open_clock(out, "monotonic", uuid, description);
    put_offset(out, line.offset);
    if (line.bound > 0)
        fprintf(out, "    precision = %" PRId64 ";\n", line.bound);
    close_clock(out, "monotonic");
}

/* Copies `name`, with '_' for each character that a name in TSDL cannot have. */
static void plain_name(const char *name, char plain[DICT_NAME_MAX + 1])
{
    snprintf(plain, DICT_NAME_MAX + 1, "%s", name);
    for (char *c = plain; *c; c++)
        if (*c == '.' || *c == ':')
            *c = '_';
}

/*
 * Writes a field's name with '_' in front, which readers strip, so that it is no keyword. If plain_name() makes two
 * names equal, the later one gets the field's number in front; no name begins with a digit.
 */
static void put_field_name(FILE *out, const struct dict_aspect *a, uint32_t field)
{
    char name[DICT_NAME_MAX + 1], other[DICT_NAME_MAX + 1];
    plain_name(a->fields[field].name, name);
    for (uint32_t i = 0; i < field; i++) {
        plain_name(a->fields[i].name, other);
        if (strcmp(name, other) == 0) {
            fprintf(out, "_%" PRIu32 "%s", field, name);
            return;
        }
    }
    fprintf(out, "_%s", name);
}

/* Writes the type of an enum field. `labels`: texts separated by '|', counted from 0; "": an integer. */
static void put_enum(FILE *out, const char *labels)
{
    if (!*labels) {
        fputs("bezel_int64 ", out);
        return;
    }
    fputs("enum : bezel_int64 { ", out);
    for (uint64_t number = 0;; number++) {
        size_t n = strcspn(labels, "|");
        put_literal(out, labels, n);
        fprintf(out, " = %" PRIu64, number);
        labels += n;
        if (!*labels++)
            break;
        fputs(", ", out);
    }
    fputs(" } ", out);
}

/* `p`: the process that string ids belong to; NULL: strings are written out (merged). */
static void put_field(FILE *out, const struct model_process *p, const struct dict_aspect *a, uint32_t i)
{
    fputs("        ", out);
    switch (a->fields[i].type) {
    case DICT_INT64:
        fputs("bezel_int64 ", out);
        break;
    case DICT_FLOAT64:
        fputs("bezel_float64 ", out);
        break;
    case DICT_ENUM:
        put_enum(out, a->fields[i].labels);
        break;
    case DICT_STRING:
        if (!p)
            fputs("string ", out);
        else if (p->dict->string_count)
            fprintf(out, "enum bezel_text_%" PRIu32 " ", p->stream_id);
        else
            fputs("bezel_u64 ", out);
        break;
    }
    put_field_name(out, a, i);
    fputs(";\n", out);
}

static void open_strings(FILE *out, const struct model_process *p)
{
    fprintf(out, "enum bezel_text_%" PRIu32 " : bezel_u64 {\n", p->stream_id);
}

static void put_string(FILE *out, const struct model_process *p, uint32_t i)
{
    fputs("    ", out);
    put_text(out, p->dict->strings[i]);
    fprintf(out, " = %" PRIu32 ",\n", i + 1);
}

static void put_strings(FILE *out, const struct model_process *p)
{
    open_strings(out, p);
    for (uint32_t i = 0; i < p->dict->string_count; i++)
        put_string(out, p, i);
    fputs("};\n", out);
}

/* The instance has the process's name and pid as its label, so that readers show it with each record. */
static void put_stream(FILE *out, const struct model_process *p)
{
    char name[MESSAGE_NAME_MAX + 16];
    snprintf(name, sizeof name, "%s (%" PRIu32 ")", p->name, p->pid);
    fprintf(out, "stream {\n    id = %" PRIu32 ";\n%s%s", p->stream_id, context, packet_context);
    put_text(out, name);
    fprintf(out, " = 0x%" PRIX64 "%s%s};\n", p->instance, packet_context_rest, event_header);
}

/*
 * CTF 1.8 has nothing for an aspect's kind. It is written, for all but plain events, as the URI of the event class's
 * model, which readers pass on.
 */
static void put_event(FILE *out, const struct model_process *p, const struct dict_aspect *a, uint32_t id,
                      uint32_t stream)
{
    fputs("event {\n    name = ", out);
    put_text(out, a->name);
    fprintf(out, ";\n    id = %" PRIu32 ";\n    stream_id = %" PRIu32 ";\n", id, stream);
    if (a->kind != DICT_EVENT)
        fprintf(out, "    model.emf.uri = \"bezel:%s\";\n", dict_kind_name(a->kind));
    fputs("    fields := struct {\n", out);
    for (uint32_t k = 0; k < a->field_count; k++)
        put_field(out, p, a, k);
    fputs("    };\n};\n", out);
}

static void put_process(FILE *out, const struct model_process *p)
{
    fputc('\n', out);
    if (p->dict->string_count)
        put_strings(out, p);
    put_stream(out, p);
    for (uint32_t i = 0; i < p->dict->aspect_count; i++)
        put_event(out, p, &p->dict->aspects[i], p->dict->aspects[i].id, p->stream_id);
}

int metadata_write_process(const struct model_process *p, char **text, size_t *length)
{
    FILE *out = open_memstream(text, length);
    if (out)
        put_process(out, p);
    return file_text_end(out, text);
}

int metadata_keep(struct model_node *node)
{
    int err = 0;
    for (struct model_process *p = node->processes; p && !err; p = p->next)
        if (!p->metadata)
            err = metadata_write_process(p, &p->metadata, &p->metadata_bytes);
    return err;
}

int metadata_write(const struct model_node *node, char **text, size_t *length)
{
    FILE *out = open_memstream(text, length);
    if (!out)
        return BEZEL_ENOMEM;
    put_trace(out, node, BEZEL_VERSION);
    put_clock(out, node, node->model->clocks_last);
    for (const struct model_process *p = node->processes; p; p = p->next)
        if (p->metadata)
            fwrite(p->metadata, 1, p->metadata_bytes, out);
        else
            put_process(out, p);
    return file_text_end(out, text);
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* A text that is compared piece by piece with the metadata that would be written. */
struct compared {
    const char *from, *end; /* the part not yet compared */
    FILE *piece;
    char *bytes;
    size_t size;
    bool failed;
};

/* Begins a piece. Returns the stream to write it to, NULL where memory is short. */
static FILE *piece(struct compared *c)
{
    c->piece = c->failed ? NULL : open_memstream(&c->bytes, &c->size);
    c->failed = !c->piece;
    return c->piece;
}

/* Ends the piece. Whether the text continues with it; then the text moves on behind it. */
static bool takes(struct compared *c)
{
    if (c->failed || file_text_end(c->piece, &c->bytes) != 0) {
        c->failed = true;
        return false;
    }
    bool same = c->size <= (size_t)(c->end - c->from) && memcmp(c->from, c->bytes, c->size) == 0;
    c->from += same ? c->size : 0;
    free(c->bytes);
    return same;
}

/* Compares the metadata up to its clock, with the version of Bezel that the text itself names. */
static bool takes_opening(struct compared *c, const struct model_node *node)
{
    static const char before[] = "tracer_version = \"",
                      allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+~";
    char version[32] = "";
    const char *at = memmem(c->from, (size_t)(c->end - c->from), before, sizeof before - 1);
    if (at)
        snprintf(version, sizeof version, "%.*s", (int)strspn(at + sizeof before - 1, allowed), at + sizeof before - 1);
    if (!piece(c))
        return false;
    put_trace(c->piece, node, version);
    return takes(c);
}

/* Compares the clock. *last: it is described as at the end of the run, if the run has ended. */
static bool takes_clock(struct compared *c, const struct model_node *node, bool *last)
{
    for (int i = 1; i >= 0 && piece(c); i--) {
        put_clock(c->piece, node, i == 1);
        *last = i == 1 || !node->model->clocks_last;
        if (takes(c))
            return true;
    }
    return false;
}

/*
 * Compares with the part of a process as it was written when its dictionary was shorter: entries of a dictionary never
 * change, and new strings and aspects are appended.
 */
static bool takes_earlier(struct compared *c, const struct model_process *now)
{
    struct dict dict = *now->dict;
    struct model_process p = *now;
    p.dict = &dict;
    dict.string_count = 0;
    if (now->dict->string_count && piece(c)) {
        fputc('\n', c->piece);
        open_strings(c->piece, &p);
        if (takes(c)) {
            while (dict.string_count < now->dict->string_count && piece(c)) {
                put_string(c->piece, &p, dict.string_count);
                if (!takes(c))
                    break;
                dict.string_count++;
            }
            if (dict.string_count == 0 || !piece(c))
                return false;
            fputs("};\n", c->piece);
            if (!takes(c))
                return false;
        }
    }
    if (!piece(c))
        return false;
    if (dict.string_count == 0)
        fputc('\n', c->piece);
    put_stream(c->piece, &p);
    if (!takes(c))
        return false;
    for (uint32_t i = 0; i < dict.aspect_count && piece(c); i++) {
        put_event(c->piece, &p, &dict.aspects[i], dict.aspects[i].id, p.stream_id);
        if (!takes(c))
            break;
    }
    return true;
}

int metadata_compare(const struct model_node *node, const char *text, size_t length, size_t *same)
{
    struct compared c = {.from = text, .end = text + length};
    bool complete = true, good = takes_opening(&c, node) && takes_clock(&c, node, &complete);
    const struct model_process *p = node->processes;
    for (; p && good && c.from < c.end; p = p->next) {
        const char *begin = c.from;
        if (!piece(&c))
            break;
        put_process(c.piece, p);
        if (takes(&c))
            continue;
        complete = false;
        c.from = begin;
        good = takes_earlier(&c, p);
    }
    *same = (size_t)(c.from - text);
    if (c.failed)
        return BEZEL_ENOMEM;
    if (!good || c.from < c.end)
        return METADATA_OTHER;
    return complete && !p ? METADATA_SAME : METADATA_EARLIER;
}

void metadata_put_merged(FILE *out, const struct model_node *node)
{
    put_trace(out, node, BEZEL_VERSION);
    if (node->run_clock.kind == RUN_CLOCK_WALL) {
        put_clock(out, node, true);
    } else {
        open_clock(out, "run", node->model->run, "the time of the run: ns since 1970");
        put_offset(out, 0);
        close_clock(out, "run");
    }
    fprintf(out, "\nstream {\n    id = %d;\n%s%s%s};\n", METADATA_MERGED, context, event_header, merged_event_context);
}

void metadata_put_merged_event(FILE *out, uint32_t id, const struct dict_aspect *a)
{
    put_event(out, NULL, a, id, METADATA_MERGED);
}
