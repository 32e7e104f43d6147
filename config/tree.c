// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Builds the tree from the events of libyaml; no other file uses libyaml. */
#include "config/tree.h"

#include "base/hash.h"
#include "config/diagnostics.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct builder {
    struct experiment_diagnostics *found;
    struct tree *open; /* the innermost map or list that is not closed; at least the document */
    char *key;         /* read, its value not yet */
    struct experiment_place key_at, end;
    int depth;
    bool complete;
};

/* libyaml adds a line break to the last line if there is none; a place behind it becomes the end of the file. */
static struct experiment_place place_of(const struct builder *b, yaml_mark_t mark)
{
    struct experiment_place at = {(uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
    return at.line > b->end.line ? b->end : at;
}

/* Bytes of the line break at the start of `s`: CR LF, CR, LF, NEL, LS or PS, as libyaml counts; 0: none. */
static size_t line_break(const char *s, size_t left)
{
    static const char *const breaks[] = {"\r\n", "\r", "\n", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        size_t n = strlen(breaks[i]);
        if (n <= left && memcmp(s, breaks[i], n) == 0)
            return n;
    }
    return 0;
}

/* Line and column of byte `offset`, for errors in the encoding, for which libyaml gives only the offset. */
static struct experiment_place place_of_offset(const char *text, size_t offset)
{
    struct experiment_place at = {1, 1};
    for (size_t i = 0; i < offset;) {
        size_t ends = line_break(text + i, offset - i);
        if (ends)
            at = (struct experiment_place){at.line + 1, 1};
        else if (((unsigned char)text[i] & 0xc0) != 0x80)
            at.column++;
        i += ends ? ends : 1;
    }
    return at;
}

size_t tree_offset(const char *text, size_t n, struct experiment_place at)
{
    size_t i = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* libyaml counts no mark of the encoding */
    struct experiment_place here = {1, 1};
    while (i < n && (here.line < at.line || (here.line == at.line && here.column < at.column))) {
        size_t ends = line_break(text + i, n - i);
        if (ends && here.line == at.line)
            return i;
        here =
            ends ? (struct experiment_place){here.line + 1, 1} : (struct experiment_place){here.line, here.column + 1};
        i += ends ? ends : 1;
        while (!ends && i < n && ((unsigned char)text[i] & 0xc0) == 0x80)
            i++;
    }
    return i;
}

/* Adds an error about `t`, or about the file if NULL. Returns BEZEL_EMALFORMED or BEZEL_ENOMEM. */
__attribute__((format(printf, 4, 5))) static int complain(struct builder *b, struct experiment_place at,
                                                          const struct tree *t, const char *format, ...)
{
    char path[256] = "";
    va_list args;
    if (t)
        tree_path(t, path, sizeof path);
    va_start(args, format);
    int err = diagnostics_add(b->found, false, at, path, format, args);
    va_end(args);
    return err ? err : BEZEL_EMALFORMED;
}

/* A refused value is no reason to stop building the tree. */
static int unless_fatal(int err)
{
    return err == BEZEL_EMALFORMED ? 0 : err;
}

static void append(struct tree *parent, struct tree *t)
{
    t->parent = parent;
    t->index = parent->children++;
    if (parent->last)
        parent->last->next = t;
    else
        parent->first = t;
    parent->last = t;
}

/* A new node at the event's place in the open map or list. */
static int add_node(struct builder *b, enum tree_kind kind, const yaml_event_t *event, struct tree **out)
{
    struct tree *t = calloc(1, sizeof *t), *parent = b->open;
    if (!t)
        return BEZEL_ENOMEM;
    append(parent, t);
    t->kind = kind;
    t->at = place_of(b, event->start_mark);
    t->key = b->key;
    t->key_at = b->key_at;
    b->key = NULL;
    *out = t;
    if (parent->children > TREE_CHILDREN_MAX)
        return complain(b, t->at, parent, "holds more than %d entries", TREE_CHILDREN_MAX);
    if (!t->key)
        return 0;
    t->key_hash = hash_fnv64(HASH_FNV64_START, t->key, strlen(t->key));
    for (const struct tree *other = parent->first; other != t; other = other->next) {
        if (other->key_hash != t->key_hash || strcmp(other->key, t->key) != 0)
            continue;
        t->refused = true;
        return unless_fatal(
            complain(b, t->key_at, t, "is given a second time; the first one is in line %u", other->key_at.line));
    }
    return 0;
}

static int refuse_decoration(struct builder *b, const struct tree *t, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    int err = 0;
    if (anchor)
        err = unless_fatal(complain(b, t->at, t, "anchors ('&') are not supported; quote a text that begins with '&'"));
    if (tag && !err)
        err = unless_fatal(complain(b, t->at, t, "tags ('!') are not supported; quote a text that begins with '!'"));
    return err;
}

static int add_key(struct builder *b, const yaml_event_t *event)
{
    b->key_at = place_of(b, event->start_mark);
    if (event->type != YAML_SCALAR_EVENT || event->data.scalar.anchor || event->data.scalar.tag)
        return complain(b, b->key_at, b->open, "a key must be a text, without anchor, alias or tag");
    b->key = strdup((const char *)event->data.scalar.value);
    if (!b->key)
        return BEZEL_ENOMEM;
    if (strlen(b->key) != event->data.scalar.length)
        return complain(b, b->key_at, b->open, "a key must not contain NUL");
    return 0;
}

static int add_text(struct builder *b, const yaml_event_t *event)
{
    struct tree *t;
    int err = add_node(b, TREE_TEXT, event, &t);
    if (err)
        return err;
    t->text = strdup((const char *)event->data.scalar.value);
    if (!t->text)
        return BEZEL_ENOMEM;
    t->absent = t->text[0] == '\0' && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    if (strlen(t->text) != event->data.scalar.length && !t->refused) {
        t->refused = true;
        err = unless_fatal(complain(b, t->at, t, "a text must not contain NUL"));
    }
    return err ? err : refuse_decoration(b, t, event->data.scalar.anchor, event->data.scalar.tag);
}

static int add_alias(struct builder *b, const yaml_event_t *event)
{
    struct tree *t;
    int err = add_node(b, TREE_TEXT, event, &t);
    if (err)
        return err;
    t->refused = true;
    return unless_fatal(complain(b, t->at, t, "aliases ('*') are not supported; quote a text that begins with '*'"));
}

static int open_container(struct builder *b, enum tree_kind kind, const yaml_event_t *event, const yaml_char_t *anchor,
                          const yaml_char_t *tag)
{
    struct tree *t;
    int err = add_node(b, kind, event, &t);
    if (err)
        return err;
    if (b->depth++ == TREE_DEPTH_MAX)
        return complain(b, t->at, t, "is nested deeper than %d levels", TREE_DEPTH_MAX);
    b->open = t;
    return refuse_decoration(b, t, anchor, tag);
}

static int take_event(struct builder *b, const yaml_event_t *event)
{
    bool is_value = event->type == YAML_SCALAR_EVENT || event->type == YAML_ALIAS_EVENT ||
                    event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT;
    if (is_value && b->open->kind == TREE_MAP && !b->key)
        return add_key(b, event);
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (b->open->first)
            return complain(b, place_of(b, event->start_mark), NULL,
                            "a second YAML document begins here; a file holds one experiment");
        return 0;
    case YAML_SCALAR_EVENT:
        return add_text(b, event);
    case YAML_ALIAS_EVENT:
        return add_alias(b, event);
    case YAML_MAPPING_START_EVENT:
        return open_container(b, TREE_MAP, event, event->data.mapping_start.anchor, event->data.mapping_start.tag);
    case YAML_SEQUENCE_START_EVENT:
        return open_container(b, TREE_LIST, event, event->data.sequence_start.anchor, event->data.sequence_start.tag);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        assert(b->open->parent); /* libyaml's events are balanced */
        b->open = b->open->parent;
        b->depth--;
        return 0;
    case YAML_STREAM_END_EVENT:
        b->complete = true;
        return 0;
    default:
        return 0;
    }
}

/* Reports libyaml's message, with a hint for frequent mistakes. */
static int syntax_error(struct builder *b, const yaml_parser_t *parser, const char *text)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return BEZEL_ENOMEM;
    if (parser->error == YAML_READER_ERROR)
        return complain(b, place_of_offset(text, parser->problem_offset), NULL, "%s: the file must be text in UTF-8",
                        parser->problem);
    struct experiment_place at = place_of(b, parser->problem_mark), began = place_of(b, parser->context_mark);
    const char *hint = "";
    if (strcmp(parser->problem, "found character that cannot start any token") == 0)
        hint = "; indent with blanks, not tabs, and quote a text that begins with '@', '%' or '`'";
    else if (strcmp(parser->problem, "mapping values are not allowed in this context") == 0)
        hint = "; quote a text that contains ': '";
    if (parser->context)
        return complain(b, at, NULL, "not YAML: %s (from line %u on) %s%s", parser->context, began.line,
                        parser->problem, hint);
    return complain(b, at, NULL, "not YAML: %s%s", parser->problem, hint);
}

int tree_read(const char *text, size_t n, struct tree **document, struct experiment_diagnostics *found)
{
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* the byte order mark of some editors */
        text += 3;
        n -= 3;
    }
    struct tree *top = calloc(1, sizeof *top);
    struct builder b = {.found = found, .open = top, .end = place_of_offset(text, n)};
    yaml_parser_t parser;
    if (!top || !yaml_parser_initialize(&parser)) {
        free(top);
        return BEZEL_ENOMEM;
    }
    top->kind = TREE_LIST;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    int err = 0;
    while (!err && !b.complete) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            err = syntax_error(&b, &parser, text);
            break;
        }
        err = take_event(&b, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    free(b.key);
    if (!err && !top->first)
        err = complain(&b, (struct experiment_place){1, 1}, NULL,
                       "the file is empty; the smallest experiment is 'experiment: NAME' and 'command: PROGRAM'");
    if (err)
        tree_free(top);
    else
        *document = top;
    return err;
}

void tree_free(struct tree *t)
{
    if (!t)
        return;
    for (struct tree *child = t->first, *next; child; child = next) {
        next = child->next;
        tree_free(child);
    }
    free(t->key);
    free(t->text);
    free(t);
}

const struct tree *tree_get(const struct tree *t, const char *key)
{
    if (!t || t->kind != TREE_MAP)
        return NULL;
    for (const struct tree *child = t->first; child; child = child->next)
        if (strcmp(child->key, key) == 0)
            return child;
    return NULL;
}

void tree_path(const struct tree *t, char *path, size_t size)
{
    path[0] = '\0';
    if (!t->parent || !t->parent->parent)
        return;
    tree_path(t->parent, path, size);
    size_t used = strlen(path);
    if (t->key)
        snprintf(path + used, size - used, "%s%s", used ? "." : "", t->key);
    else
        snprintf(path + used, size - used, "[%u]", t->index);
}
