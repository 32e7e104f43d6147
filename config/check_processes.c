// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/check_internal.h"

#include "config/diagnostics.h"
#include "config/fields_internal.h"
#include "config/starting.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CHECK_DIR_SIZE = 128 }; /* more than fields_read_dir() accepts */

/* ---- nodes ---- */

/* Removes each ".." and the name before it from path `dir`, as if there were no symbolic links. */
static void go_up(const char *dir, char *path, size_t size)
{
    size_t n = 0;
    for (const char *p = dir; *p;) {
        p += strspn(p, "/");
        size_t length = strcspn(p, "/");
        if (length == 2 && strncmp(p, "..", 2) == 0)
            while (n > 0 && path[--n] != '/')
                continue;
        else if (length > 0)
            n += (size_t)snprintf(path + n, size - n, "/%.*s", (int)length, p);
        p += length;
    }
    path[n] = '\0';
}

static bool is_one_folder(const char *a, const char *b)
{
    char x[CHECK_DIR_SIZE], y[CHECK_DIR_SIZE];
    go_up(a, x, sizeof x);
    go_up(b, y, sizeof y);
    return strcmp(x, y) == 0;
}

static bool on_one_machine(const struct experiment_node *a, const struct experiment_node *b)
{
    bool remote = experiment_is_remote(a);
    return remote == experiment_is_remote(b) && (!remote || strcmp(a->address, b->address) == 0);
}

/* Output, traces and logs have names of processes and nodes. */
static const char one_file[] =
    "differs from %s in capital letters alone: where a file system ignores these, their files would be one";

static void check_node(struct reader *r, const struct tree *t, const struct experiment_node *n,
                       const struct experiment_node *former)
{
    if (n->name && former->name && strcasecmp(n->name, former->name) == 0)
        reader_wrong_key(r, t, one_file, diagnostics_quote(former->name).s);
    if (n->dir && former->dir && on_one_machine(n, former) && is_one_folder(n->dir, former->dir))
        reader_wrong(r, tree_get(t, "dir"), "is also the folder of node %s: each node needs a folder of its own",
                     diagnostics_quote(former->name ? former->name : "").s);
}

void check_nodes(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *section = tree_get(root, "nodes"), *t = check_entries(section, e->node_count);
    for (uint32_t i = 0; t; t = t->next, i++)
        for (uint32_t j = 0; j < i; j++)
            check_node(r, t, &e->nodes[i], &e->nodes[j]);
    if (e->node_count > 0 || (section && section->children > 0))
        return;
    struct experiment_node *local = reader_alloc(r, 1, sizeof *local);
    free(e->nodes); /* of an empty map */
    e->nodes = local;
    if (!local)
        return;
    e->node_count = 1;
    local->name = reader_copy(r, "local");
}

static void resolve_node(struct reader *r, const struct tree *t, const struct experiment *e,
                         struct experiment_process *p)
{
    const struct tree *value = tree_get(t, "node");
    p->node = value || e->node_count != 1 ? UINT32_MAX : 0; /* UINT32_MAX: an error, reported here or before */
    if (e->node_count == 0)
        return;
    if (!value) {
        if (e->node_count > 1)
            reader_missing(r, t, "node", "is missing; expected: the name of one of the %u nodes", e->node_count);
        return;
    }
    const char *text = reader_text(r, value, "the name of a node");
    if (!text)
        return;
    struct near near = {.wanted = text};
    for (uint32_t i = 0; i < e->node_count; i++) {
        const char *name = e->nodes[i].name ? e->nodes[i].name : "";
        if (strcmp(name, text) == 0) {
            p->node = i;
            return;
        }
        near_consider(&near, name);
    }
    reader_no_such(r, value, "node", &near, "; add it to 'nodes', or remove this key");
}

/* ---- processes ---- */

int check_process_named(const struct experiment *e, const char *name)
{
    for (uint32_t i = 0; i < e->process_count; i++)
        if (e->processes[i].name && strcmp(e->processes[i].name, name) == 0)
            return (int)i;
    return -1;
}

int check_find_process(struct reader *r, const struct tree *t, const struct experiment *e, const char *name,
                       const char *otherwise)
{
    int found = check_process_named(e, name);
    struct near near = {.wanted = name};
    for (uint32_t i = 0; found < 0 && i < e->process_count; i++)
        if (e->processes[i].name)
            near_consider(&near, e->processes[i].name);
    if (found < 0)
        reader_no_such(r, t, "process", &near, otherwise);
    return found;
}

static bool uses_default_folder(const struct experiment *e, const struct experiment_process *p)
{
    return p->attach && p->node < e->node_count && !e->nodes[p->node].dir;
}

/*
 * Nodes with attached processes and without `dir` use the default folder of programs, which can have one reader on a
 * machine.
 */
static void check_default_folder(struct reader *r, const struct tree *t, const struct experiment *e)
{
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_process *p = &e->processes[i], *first = e->processes;
        if (!uses_default_folder(e, p))
            continue;
        while (!uses_default_folder(e, first) || !on_one_machine(&e->nodes[first->node], &e->nodes[p->node]))
            first++;
        if (p->node != first->node)
            reader_wrong_key(r, tree_get(t, "attach"),
                             "two nodes with 'attach' share the default folder (see line %u), which can have only one "
                             "reader: give one of them a 'dir'",
                             first->at.line);
    }
}

/* A process is either started or attached to; some keys apply to started ones only. */
static void check_process(struct reader *r, const struct tree *t)
{
    static const char *const of_started[] = {"instances", "directory", "environment",   "output",  "after", "ready",
                                             "restart",   "restarts",  "restart-pause", "on-exit", "plain", "limits"};
    const struct tree *command = tree_get(t, "command"), *attach = tree_get(t, "attach");
    if (command && attach)
        reader_wrong_key(r, attach, "cannot be combined with 'command': a process is either started or attached to");
    else if (!command && !attach)
        reader_missing(r, t, "command",
                       "is missing; expected: a program to start, or 'attach' with a glob for running ones");
    else if (attach)
        for (size_t i = 0; i < sizeof of_started / sizeof *of_started; i++)
            if (tree_get(t, of_started[i]))
                reader_wrong_key(
                    r, tree_get(t, of_started[i]),
                    "applies only to a process that is started ('command'), not to one that is attached to");
}

static void check_process_names(struct reader *r, const struct tree *t, struct experiment *e)
{
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_process *p = &e->processes[i];
        char last[EXPERIMENT_NAME_MAX + 16];
        if (!p->name)
            continue;
        experiment_instance_name(p, p->instances - 1, last, sizeof last);
        if (strlen(last) > EXPERIMENT_NAME_MAX)
            reader_wrong(r, tree_get(t, "name"),
                         "is too long: with the number of an instance, as in '%s', it has more than %d characters",
                         last, EXPERIMENT_NAME_MAX);
        for (uint32_t j = 0; j < i; j++) {
            const struct experiment_process *q = &e->processes[j];
            if (q->name && (experiment_is_instance(q, p->name) || experiment_is_instance(p, q->name))) {
                reader_wrong(r, tree_get(t, "name"),
                             "is already the name of the process in line %u, or of one of its instances", q->at.line);
                break;
            }
            if (q->name && strcasecmp(p->name, q->name) == 0)
                reader_wrong(r, tree_get(t, "name"), one_file, diagnostics_quote(q->name).s);
        }
    }
}

/* `command` at the top of the file: one process on the only node. */
static void add_short_form(struct reader *r, const struct tree *command, struct experiment *e)
{
    struct experiment_process *p = reader_alloc(r, 1, sizeof *p);
    if (!p)
        return;
    *p = schema_default_process;
    p->at = command->key_at;
    e->processes = p;
    e->process_count = 1;
    fields_read_command(r, command, &p->argv);
    if (p->argv) {
        char name[EXPERIMENT_NAME_MAX + 1];
        experiment_name_of_command(p->argv, name);
        p->name = reader_copy(r, name);
    }
    if (e->node_count > 1)
        reader_wrong_key(r, command, "there are several nodes: list the program in 'processes', with its 'node'");
}

/* The collector refuses a node whose processes exceed its limit; each bezeld counts as a process. */
static void check_process_limit(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *limit = tree_get(tree_get(tree_get(root, "store"), "limits"), "processes");
    uint32_t started = 0;
    for (uint32_t i = 0; i < e->process_count; i++)
        started += e->processes[i].attach ? 0 : e->processes[i].instances;
    if (started + e->node_count > e->store.limits.processes)
        reader_wrong(r,
                     limit                         ? limit
                     : tree_get(root, "processes") ? tree_get(root, "processes")
                                                   : root,
                     "%u started processes and one bezeld per node (%u) are more than store.limits.processes, %u: "
                     "raise it (up to 1048576), or start fewer processes",
                     started, e->node_count, e->store.limits.processes);
}

void check_processes(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *section = tree_get(root, "processes"), *command = tree_get(root, "command");
    const struct tree *t = check_entries(section, e->process_count);
    if (command && section)
        reader_wrong_key(r, command, "cannot be combined with 'processes': use one of them");
    else if (command && !command->refused)
        add_short_form(r, command, e);
    else if (!command && !section)
        reader_missing(r, root, "command", "is missing; expected: a program to start, or 'processes' with several");
    else if (section && section->kind == TREE_LIST && section->children == 0)
        reader_wrong(r, section, "is empty; expected: a process to start ('command') or to attach to ('attach')");
    check_process_names(r, t, e);
    for (uint32_t i = 0; t; t = t->next, i++) {
        if (t->kind != TREE_MAP || t->refused)
            continue;
        check_process(r, t);
        resolve_node(r, t, e, &e->processes[i]);
    }
    check_default_folder(r, check_entries(section, e->process_count), e);
    starting_check(r, check_entries(section, e->process_count), e);
    check_process_limit(r, root, e);
}
