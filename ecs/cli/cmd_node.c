// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/json.h"
#include "base/table.h"
#include "ecs/cli/command.h"
#include "ecs/cli/commands.h"
#include "ecs/course/inventory_file.h"

#include <stdio.h>
#include <string.h>

static const char about[] =
    "The nodes of this workstation: ls lists them. An experiment file that names one of them without an address, as "
    "in `nodes: {desk1: {}}`, means that one. They are in the file `nodes` of $XDG_CONFIG_HOME/bezel, or "
    "~/.config/bezel, and the keys with which they are reached in `keys` beside it.\n";
static const char footer[] = "Exit codes: 0 done, 1 failed, 2 wrong usage.\n";

/* ---- ls ---------------------------------------------------------------------------------------------------------- */

static void list_text(const struct inventory *inventory)
{
    static const char *const heads[] = {"node", "ssh", "address", "version", "key"};
    struct table *t = table_with_heads("lllll", heads);
    for (const struct inventory_node *node = inventory->nodes; node < inventory->nodes + inventory->count; node++) {
        table_cell(t, "%s", node->name);
        table_cell(t, "%s", node->ssh);
        table_cell(t, "%s", node->address);
        table_cell(t, "%s", node->version ? node->version : "-");
        table_cell(t, "%s", node->key);
    }
    table_print(t, 0, stdout);
}

static void list_json(const struct inventory *inventory)
{
    struct json j = {.out = stdout};
    json_object(&j, NULL);
    json_int(&j, "format", 1);
    json_text(&j, "workstation", inventory->key);
    json_array(&j, "nodes");
    for (const struct inventory_node *node = inventory->nodes; node < inventory->nodes + inventory->count; node++) {
        json_object(&j, NULL);
        json_text(&j, "name", node->name);
        json_text(&j, "ssh", node->ssh);
        json_text(&j, "address", node->address);
        json_text(&j, "version", node->version);
        json_text(&j, "key", node->key);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
}

static int list(bool json)
{
    struct inventory inventory;
    if (inventory_file_read(&inventory) != 0)
        return EXIT_FAILED;
    if (json)
        list_json(&inventory);
    else
        list_text(&inventory);
    inventory_free(&inventory);
    return options_end(EXIT_OK);
}

/* ---- The command ------------------------------------------------------------------------------------------------- */

int cmd_node(int argc, char **argv)
{
    bool json = false;
    struct options o = {
        .program = "bezel node", .usage = "[OPTIONS] ls", .about = about, .footer = footer, .least = 1, .most = 1};
    const struct options_entry entries[] = {
        {"json", 'j', NULL, "print the list as JSON", .flag = &json},
        {0},
    };
    int code = options_read(&o, entries, argc, argv);
    if (code != OPTIONS_GO_ON)
        return code;
    if (strcmp(o.words[0], "ls") != 0)
        return options_misuse("'%s' is nothing to do with nodes: use ls", o.words[0]);
    return list(json);
}
