// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/check_internal.h"

#include <string.h>

static const char no_folder[] = "needs 'store.keys': the folder in which `bezel keygen` stored the key";

/* False for "tcp://" beyond 127.x.x.x. The address itself was checked before. */
static bool is_of_this_machine(const char *listen)
{
    return strncmp(listen, "tcp://", 6) != 0 || strncmp(listen, "tcp://127.", 10) == 0;
}

static void without_keys(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *store = tree_get(root, "store"), *nodes = tree_get(root, "nodes");
    if (tree_get(store, "key"))
        reader_wrong_key(r, tree_get(store, "key"), "%s", no_folder);
    for (const struct tree *t = nodes ? nodes->first : NULL; t; t = t->next)
        if (tree_get(t, "key"))
            reader_wrong_key(r, tree_get(t, "key"), "%s", no_folder);
    if (e->store.listen && !is_of_this_machine(e->store.listen))
        reader_wrong(r, tree_get(store, "listen"),
                     "an address beyond 127.0.0.1 requires keys: make them with `bezel keygen --dir DIR NAME`, and add "
                     "'keys: DIR'");
}

void check_keys(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *keys = tree_get(tree_get(root, "store"), "keys");
    if (!keys) {
        without_keys(r, root, e);
        return;
    }
    e->store.keys_at = keys->at;
    if (!e->store.key)
        e->store.key = reader_copy(r, "collector");
    for (uint32_t i = 0; i < e->node_count; i++)
        if (!e->nodes[i].key && e->nodes[i].name)
            e->nodes[i].key = reader_copy(r, e->nodes[i].name);
}
