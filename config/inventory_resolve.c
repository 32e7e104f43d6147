// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * An experiment file is changed as text, at the places that the tree gives, so that all that a user wrote stays as it
 * is. What comes of it is read again: an address that did not arrive where it belongs is an error, not a wrong run.
 */
#include "base/file.h"
#include "config/diagnostics.h"
#include "config/inventory.h"
#include "config/schema.h"

#include <stdlib.h>
#include <string.h>

enum { PAIRS_MAX = 3 };

/* "key: value" that a map is to get. */
struct pairs {
    unsigned count;
    struct pair {
        const char *key, *value;
        bool bare; /* the value is YAML already */
    } pair[PAIRS_MAX];
};

struct insertion {
    size_t offset;
    char *text;
};

struct resolver {
    const struct inventory *inventory;
    const char *keys, *text;
    size_t n, count;
    struct insertion *insertions;
    struct inventory_edit *edits;
    bool out_of_memory;
};

static void add(struct pairs *p, const char *key, const char *value)
{
    p->pair[p->count++] = (struct pair){key, value, false};
}

/* ---- Insertions -------------------------------------------------------------------------------------------------- */

static void write_pair(const struct pair *pair, FILE *out)
{
    fprintf(out, "%s: ", pair->key);
    if (pair->bare)
        fputs(pair->value, out);
    else
        schema_print_text(pair->value, out);
}

static void write_flow(const struct pairs *p, FILE *out)
{
    for (unsigned i = 0; i < p->count; i++) {
        fputs(i ? ", " : "", out);
        write_pair(&p->pair[i], out);
    }
}

/* In front of the first key of a map of lines: each pair in a line of its own, and then the indentation of that key. */
static void write_lines(const struct pairs *p, uint32_t indent, FILE *out)
{
    for (unsigned i = 0; i < p->count; i++) {
        write_pair(&p->pair[i], out);
        fprintf(out, "\n%*s", (int)indent, "");
    }
}

/* `{a: , b}`: before a value that is absent, there may be no colon. */
static bool has_colon(const struct resolver *r, size_t offset)
{
    while (offset > 0 && strchr(" \t\r\n", r->text[offset - 1]))
        offset--;
    return offset > 0 && r->text[offset - 1] == ':';
}

/* Writes what is to be inserted into `t`, a map or an absent value; *offset is its place, *edit how much it is. */
static void write_insertion(const struct resolver *r, const struct tree *t, const struct pairs *p, size_t *offset,
                            struct inventory_edit *edit, FILE *out)
{
    *edit = (struct inventory_edit){.at = t->at};
    *offset = tree_offset(r->text, r->n, t->at);
    if (t->absent) {
        fputs(has_colon(r, *offset) ? " {" : ": {", out);
        write_flow(p, out);
        fputc('}', out);
    } else if (*offset < r->n && r->text[*offset] == '{') {
        ++*offset;
        edit->at.column++;
        write_flow(p, out);
        fputs(t->children ? ", " : "", out);
    } else {
        write_lines(p, t->at.column - 1, out);
        edit->lines = p->count;
    }
}

static uint32_t characters(const char *text)
{
    uint32_t count = 0;
    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static void insert(struct resolver *r, const struct tree *t, const struct pairs *p)
{
    struct insertion made = {0};
    struct inventory_edit edit;
    size_t n;
    if (p->count == 0 || r->out_of_memory)
        return;
    FILE *out = open_memstream(&made.text, &n);
    if (out)
        write_insertion(r, t, p, &made.offset, &edit, out);
    r->out_of_memory = file_text_end(out, &made.text) != 0;
    if (r->out_of_memory)
        return;
    edit.columns = edit.lines ? 0 : characters(made.text);
    size_t at = r->count++; /* sorted by place: there are at most three for a node and three for the file */
    for (; at > 0 && r->insertions[at - 1].offset > made.offset; at--) {
        r->insertions[at] = r->insertions[at - 1];
        r->edits[at] = r->edits[at - 1];
    }
    r->insertions[at] = made;
    r->edits[at] = edit;
}

/* ---- What a file gets -------------------------------------------------------------------------------------------- */

/* The node of the inventory that entry `t` of `nodes` stands for; NULL: the file says where it is. */
static const struct inventory_node *stands_for(const struct inventory *inventory, const struct tree *t)
{
    bool open = !t->refused && (t->absent || (t->kind == TREE_MAP && !tree_get(t, "address")));
    return open ? inventory_find(inventory, t->key) : NULL;
}

static bool is_local(const struct tree *t)
{
    const struct tree *address = tree_get(t, "address");
    return t->absent || (t->kind == TREE_MAP && (!address || (address->text && strcmp(address->text, "local") == 0)));
}

/* Its address, and where the inventory's keys are used, its key: nodes of this machine have the workstation's. */
static void resolve_node(struct resolver *r, const struct tree *t, bool own_keys)
{
    const struct inventory_node *node = stands_for(r->inventory, t);
    struct pairs p = {0};
    if (node)
        add(&p, "address", node->address);
    const char *key = node ? node->key : is_local(t) ? r->inventory->key : NULL;
    if (own_keys && key && !t->refused && !tree_get(t, "key"))
        add(&p, "key", key);
    insert(r, t, &p);
}

/* Puts `p` into section `name` of the file, which is made where it is missing. */
static void resolve_section(struct resolver *r, const struct tree *root, const char *name, const struct pairs *p,
                            struct pairs *missing, char **text)
{
    const struct tree *t = tree_get(root, name);
    if (t && (t->absent || t->kind == TREE_MAP)) {
        insert(r, t, p);
        return;
    }
    size_t n;
    FILE *out = t ? NULL : open_memstream(text, &n);
    if (!out)
        return;
    fputc('{', out);
    write_flow(p, out);
    fputc('}', out);
    if (file_text_end(out, text) == 0)
        missing->pair[missing->count++] = (struct pair){name, *text, true};
}

static void resolve_file(struct resolver *r, const struct tree *root)
{
    const struct tree *store = tree_get(root, "store"), *nodes = tree_get(root, "nodes");
    bool own_keys = r->inventory->key && !tree_get(store, "keys");
    struct pairs in_store = {0}, in_control = {0}, missing = {0};
    char *texts[2] = {NULL, NULL};
    for (const struct tree *t = nodes->first; t; t = t->next)
        resolve_node(r, t, own_keys);
    if (!own_keys)
        return;
    add(&in_store, "keys", r->keys);
    if (!tree_get(store, "key"))
        add(&in_store, "key", r->inventory->key);
    resolve_section(r, root, "store", &in_store, &missing, &texts[0]);
    if (!tree_get(tree_get(root, "control"), "key")) {
        add(&in_control, "key", r->inventory->key);
        resolve_section(r, root, "control", &in_control, &missing, &texts[1]);
    }
    insert(r, root, &missing);
    free(texts[0]);
    free(texts[1]);
}

static char *join(const struct resolver *r, size_t *n)
{
    char *text = NULL;
    size_t from = 0;
    FILE *out = open_memstream(&text, n);
    if (!out)
        return NULL;
    for (size_t i = 0; i < r->count; i++) {
        fwrite(r->text + from, 1, r->insertions[i].offset - from, out);
        fputs(r->insertions[i].text, out);
        from = r->insertions[i].offset;
    }
    fwrite(r->text + from, 1, r->n - from, out);
    return file_text_end(out, &text) == 0 ? text : NULL;
}

/* ---- Whether it arrived ------------------------------------------------------------------------------------------ */

static int refuse(struct experiment_diagnostics *found, const struct tree *t)
{
    char path[256];
    tree_path(t, path, sizeof path);
    int err = experiment_report(found, false, t->at, path,
                                "the inventory's address cannot be written here; write the node as '%s: {}'", t->key);
    return err ? err : BEZEL_EMALFORMED;
}

/* Compares what `text` now says of each node with what it should; `before`: the tree of the file as it was. */
static int compare(const struct inventory *inventory, const struct tree *before, const char *text, size_t n,
                   struct experiment_diagnostics *found)
{
    struct experiment_diagnostics again = {0};
    struct tree *document = NULL;
    int err = tree_read(text, n, &document, &again);
    const struct tree *nodes = err ? NULL : tree_get(document->first, "nodes");
    experiment_diagnostics_free(&again);
    if (err == BEZEL_ENOMEM)
        return err;
    err = 0;
    for (const struct tree *t = tree_get(before, "nodes")->first; t && !err; t = t->next) {
        const struct inventory_node *node = stands_for(inventory, t);
        const struct tree *address = tree_get(tree_get(nodes, t->key), "address");
        if (node && !(address && address->text && strcmp(address->text, node->address) == 0))
            err = refuse(found, t);
    }
    tree_free(document);
    return err;
}

static int resolve(struct resolver *r, const struct tree *root, struct inventory_resolved *resolved,
                   struct experiment_diagnostics *found)
{
    size_t most = tree_get(root, "nodes")->children + 3;
    r->insertions = calloc(most, sizeof *r->insertions);
    r->edits = calloc(most, sizeof *r->edits);
    r->out_of_memory = !r->insertions || !r->edits;
    if (!r->out_of_memory)
        resolve_file(r, root);
    if (!r->out_of_memory)
        resolved->text = join(r, &resolved->n);
    resolved->edits = r->edits;
    resolved->count = r->count;
    for (size_t i = 0; r->insertions && i < r->count; i++)
        free(r->insertions[i].text);
    free(r->insertions);
    return resolved->text ? compare(r->inventory, root, resolved->text, resolved->n, found) : BEZEL_ENOMEM;
}

int inventory_resolve(const struct inventory *inventory, const char *keys, const char *text, size_t n,
                      struct inventory_resolved *resolved, struct experiment_diagnostics *found)
{
    struct resolver r = {.inventory = inventory, .keys = keys, .text = text, .n = n};
    struct experiment_diagnostics unread = {0};
    struct tree *document = NULL;
    *resolved = (struct inventory_resolved){0};
    *found = (struct experiment_diagnostics){0};
    if (inventory->count == 0 || n > EXPERIMENT_FILE_MAX)
        return 0;
    int err = tree_read(text, n, &document, &unread);
    bool sound = err == 0 && unread.errors == 0;
    experiment_diagnostics_free(&unread);
    bool any = false;
    const struct tree *nodes = err ? NULL : tree_get(document->first, "nodes");
    for (const struct tree *t = nodes && nodes->kind == TREE_MAP ? nodes->first : NULL; t; t = t->next)
        any = any || stands_for(inventory, t);
    if (err == 0 && sound && any)
        err = resolve(&r, document->first, resolved, found);
    else if (err == BEZEL_EMALFORMED)
        err = 0;
    tree_free(document);
    if (err)
        inventory_resolved_free(resolved);
    return err;
}

struct experiment_place inventory_place(const struct inventory_resolved *resolved, struct experiment_place at)
{
    for (const struct inventory_edit *e = resolved->edits; e < resolved->edits + resolved->count; e++) {
        if (at.line < e->at.line || (at.line == e->at.line && at.column < e->at.column))
            break; /* in front of it, and of all that follow */
        struct experiment_place end = {e->at.line + e->lines, e->at.column + e->columns};
        if (at.line < end.line || (at.line == end.line && at.column < end.column))
            return e->at;
        at.line -= e->lines;
        if (at.line == e->at.line)
            at.column -= e->columns;
    }
    return at;
}

void inventory_resolved_free(struct inventory_resolved *resolved)
{
    free(resolved->text);
    free(resolved->edits);
    *resolved = (struct inventory_resolved){0};
}
