// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/inventory.h"

#include "base/grow.h"
#include "config/diagnostics.h"
#include "config/schema.h"

#include <stdlib.h>
#include <string.h>

/* ---- The file ---------------------------------------------------------------------------------------------------- */

/* An option of ssh's is no host; what is written is one word. */
static void read_word(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "one word");
    if (text && (!*text || *text == '-' || strpbrk(text, " \t\r\n")))
        reader_wrong(r, t, "%s is not one word that begins without '-'", diagnostics_quote(text).s);
    else if (text)
        *(char **)to = reader_copy(r, text);
}

static void read_tcp(struct reader *r, const struct tree *t, void *to)
{
    struct address address;
    const char *why = "a port and a host are needed", *text = reader_text(r, t, "tcp://HOST:PORT");
    if (text && (address_read(text, &address, &why) != 0 || address.kind == ADDRESS_ANY || address.port == 0))
        reader_wrong(r, t, "%s is not tcp://HOST:PORT: %s", diagnostics_quote(text).s, why);
    else if (text)
        *(char **)to = reader_copy(r, text);
}

static const struct schema_field node_fields[] = {
    {SCHEMA_ROW_OWN("ssh", offsetof(struct inventory_node, ssh), read_word), .required = true, .note = "[USER@]HOST"},
    {SCHEMA_ROW_OWN("address", offsetof(struct inventory_node, address), read_tcp), .required = true,
     .note = "tcp://HOST:PORT"},
    {.key = "key",
     .kind = SCHEMA_NAME,
     .offset = offsetof(struct inventory_node, key),
     .required = true,
     .note = "the name of the node's key"},
    {SCHEMA_ROW_OWN("version", offsetof(struct inventory_node, version), read_word), .quiet = true},
    {0},
};

static const struct inventory_node default_node;
static const struct schema_table nodes = {.fields = node_fields,
                                          .defaults = &default_node,
                                          .size = sizeof(struct inventory_node),
                                          .place = offsetof(struct inventory_node, at),
                                          .count = offsetof(struct inventory, count),
                                          .max = INVENTORY_NODES_MAX,
                                          .named = true};
static const struct schema_field workstation[] = {
    {.key = "key", .kind = SCHEMA_NAME, .offset = offsetof(struct inventory, key)},
    {0},
};
static const struct schema_field whole[] = {
    {.key = "workstation", .kind = SCHEMA_MAP, .fields = workstation},
    {.key = "nodes", .kind = SCHEMA_TABLE, .offset = offsetof(struct inventory, nodes), .table = &nodes},
    {0},
};

int inventory_read(const char *text, size_t n, struct inventory *inventory, struct experiment_diagnostics *found)
{
    struct reader r = {.found = found};
    struct tree *document;
    *inventory = (struct inventory){0};
    *found = (struct experiment_diagnostics){0};
    int err = tree_read(text, n, &document, found);
    if (err)
        return err;
    schema_read_map(&r, document->first, whole, inventory);
    const struct tree *list = tree_get(document->first, "nodes");
    for (const struct tree *t = list ? list->first : NULL; t; t = t->next)
        if (t->absent)
            reader_wrong(&r, t, "is empty; expected: {ssh: [USER@]HOST, address: tcp://HOST:PORT, key: NAME}");
    tree_free(document);
    if (r.out_of_memory)
        return BEZEL_ENOMEM;
    return found->errors > 0 ? BEZEL_EMALFORMED : 0;
}

static void print_pair(const char *key, const char *text, const char *behind, FILE *out)
{
    fprintf(out, "%s: ", key);
    schema_print_text(text, out);
    fputs(behind, out);
}

void inventory_print(const struct inventory *inventory, FILE *out)
{
    fputs("# The nodes of this workstation, which `bezel node` adds and removes.\n", out);
    if (inventory->key) {
        fputs("workstation: {", out);
        print_pair("key", inventory->key, "}\n", out);
    }
    fprintf(out, "nodes:%s\n", inventory->count ? "" : " {}");
    for (uint32_t i = 0; i < inventory->count; i++) {
        const struct inventory_node *node = &inventory->nodes[i];
        fputs("  ", out);
        schema_print_text(node->name, out);
        fputs(": {", out);
        print_pair("ssh", node->ssh, ", ", out);
        print_pair("address", node->address, ", ", out);
        print_pair("key", node->key, node->version ? ", " : "", out);
        if (node->version)
            print_pair("version", node->version, "", out);
        fputs("}\n", out);
    }
}

/* ---- In memory --------------------------------------------------------------------------------------------------- */

static void free_node(struct inventory_node *node)
{
    free(node->name);
    free(node->ssh);
    free(node->address);
    free(node->key);
    free(node->version);
}

void inventory_free(struct inventory *inventory)
{
    for (uint32_t i = 0; i < inventory->count; i++)
        free_node(&inventory->nodes[i]);
    free(inventory->nodes);
    free(inventory->key);
    *inventory = (struct inventory){0};
}

struct inventory_node *inventory_find(const struct inventory *inventory, const char *name)
{
    for (uint32_t i = 0; i < inventory->count; i++)
        if (strcmp(inventory->nodes[i].name, name) == 0)
            return &inventory->nodes[i];
    return NULL;
}

static char *copy(const char *text, bool *failed)
{
    char *made = text ? strdup(text) : NULL;
    *failed = *failed || (text && !made);
    return made;
}

int inventory_put(struct inventory *inventory, const struct inventory_node *node)
{
    bool failed = false;
    struct inventory_node made = {copy(node->name, &failed), copy(node->ssh, &failed),     copy(node->address, &failed),
                                  copy(node->key, &failed),  copy(node->version, &failed), node->at};
    struct inventory_node *place = inventory_find(inventory, node->name);
    if (failed || (!place && !grow_to(&inventory->nodes, inventory->count + 1, sizeof *place))) {
        free_node(&made);
        return BEZEL_ENOMEM;
    }
    if (place)
        free_node(place);
    else
        place = &inventory->nodes[inventory->count++];
    *place = made;
    return 0;
}

void inventory_remove(struct inventory *inventory, const char *name)
{
    struct inventory_node *node = inventory_find(inventory, name);
    if (!node)
        return;
    free_node(node);
    size_t behind = (size_t)(inventory->nodes + inventory->count - (node + 1));
    memmove(node, node + 1, behind * sizeof *node);
    inventory->count--;
}
