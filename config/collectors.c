// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/collectors.h"

#include "base/address.h"
#include "base/units.h"
#include "base/words.h"
#include "config/check_internal.h"
#include "config/diagnostics.h"
#include "config/fields_internal.h"
#include "config/proxies.h"

#include <stdlib.h>
#include <string.h>

enum {
    LIST_MAX = 255,   /* bytes of a list of endpoints, as MESSAGE_TEXT_MAX */
    SOCKET_BYTES = 48 /* of the endpoint of a socket of the run, as a guess: its folder is not known yet */
};

static const char root_name[] = "root";

/* ---- Keys -------------------------------------------------------------------------------------------------------- */

#define IN(member) offsetof(struct experiment_inner, member)

/* `HOST:PORT`, or `HOST:PORT=PROXY`, both as tcp://, once or more. */
static void read_forward(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "endpoints, separated by blanks"), *why;
    const char *rest = text ? text : "", *word;
    for (size_t n; (n = words_next(&rest, &word));) {
        char one[2 * ADDRESS_TEXT_MAX];
        snprintf(one, sizeof one, "%.*s", (int)n, word);
        struct address address;
        char *proxy = strchr(one, '=');
        if (proxy)
            *proxy++ = '\0';
        if (address_read(one, &address, &why) == 0 && (!proxy || address_read(proxy, &address, &why) == 0))
            continue;
        reader_wrong(r, t, "%s is not tcp://HOST:PORT, or tcp://HOST:PORT=tcp://PROXY:PORT: %s",
                     diagnostics_quote(one).s, why);
        return;
    }
    if (text)
        *(char **)to = reader_copy(r, text);
}

const struct schema_field collectors_fields[] = {
    {.key = "node", .kind = SCHEMA_NAME, .offset = IN(node)},
    {SCHEMA_ROW_OWN("listen", IN(listen), fields_read_listen)},
    {.key = "parents", .kind = SCHEMA_CHECKED, .shape = SCHEMA_IS_LIST},
    {SCHEMA_ROW_RANGE("buffer", SCHEMA_SIZE, IN(buffer), 4 * UNITS_MIB, 4 * UNITS_GIB)},
    {SCHEMA_ROW_OWN("control", IN(control), fields_read_listen)},
    {SCHEMA_ROW_OWN("proxy", IN(proxy), fields_read_listen)},
    {SCHEMA_ROW_OWN("forward", IN(forward), read_forward)},
    {0},
};

const struct experiment_inner collectors_default = {.buffer = EXPERIMENT_INNER_BUFFER};

void collectors_free(struct experiment *e)
{
    for (uint32_t i = 0; i < e->inner_count; i++) {
        free(e->inner[i].name);
        free(e->inner[i].node);
        free(e->inner[i].listen);
        free(e->inner[i].control);
        free(e->inner[i].proxy);
        free(e->inner[i].forward);
    }
    free(e->inner);
}

/* ---- The tree ---------------------------------------------------------------------------------------------------- */

static int find_node(const struct experiment *e, const char *name)
{
    for (uint32_t i = 0; name && i < e->node_count; i++)
        if (e->nodes[i].name && strcmp(e->nodes[i].name, name) == 0)
            return (int)i;
    return -1;
}

int experiment_collector_node(const struct experiment *e)
{
    return find_node(e, e->collector.node);
}

int experiment_inner_node(const struct experiment *e, uint32_t i)
{
    return find_node(e, e->inner[i].node);
}

int experiment_inner_find(const struct experiment *e, const char *name)
{
    for (uint32_t i = 0; i < e->inner_count; i++)
        if (e->inner[i].name && strcmp(e->inner[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* The inner collectors among `parents`, as bits. */
static uint64_t bits_of(const struct experiment_parents *parents)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < parents->count; i++)
        bits |= parents->of[i] >= 0 ? UINT64_C(1) << parents->of[i] : 0;
    return bits;
}

bool collectors_leads_to_root(const struct experiment_parents *parents)
{
    for (uint32_t i = 0; i < parents->count; i++)
        if (parents->of[i] == EXPERIMENT_ROOT)
            return true;
    return parents->count == 0;
}

/* All inner collectors above `parents`. */
static uint64_t all_above(const struct experiment *e, const struct experiment_parents *parents)
{
    uint64_t above = bits_of(parents), before;
    do {
        before = above;
        for (uint32_t i = 0; i < e->inner_count; i++)
            if (above >> i & 1)
                above |= bits_of(&e->inner[i].parents);
    } while (above != before);
    return above;
}

/* Levels grow by one in each round, so a cycle reaches the limit, too. */
uint32_t experiment_inner_level(const struct experiment *e, uint32_t i)
{
    uint64_t at = UINT64_C(1) << i;
    uint32_t level = 0;
    for (; at && level <= EXPERIMENT_LEVELS_MAX; level++) {
        uint64_t above = 0;
        for (uint32_t k = 0; k < e->inner_count; k++)
            above |= at >> k & 1 ? bits_of(&e->inner[k].parents) : 0;
        at = above;
    }
    return level;
}

uint64_t experiment_node_above(const struct experiment *e, uint32_t node)
{
    return all_above(e, &e->nodes[node].parents);
}

uint32_t experiment_inner_nodes(const struct experiment *e, uint32_t i)
{
    uint32_t n = 0;
    for (uint32_t k = 0; k < e->node_count; k++)
        n += experiment_node_above(e, k) >> i & 1;
    return n;
}

bool experiment_reaches_root(const struct experiment *e, uint64_t gone)
{
    uint64_t reach = 0, before; /* inner collectors that have a way */
    do {
        before = reach;
        for (uint32_t i = 0; i < e->inner_count; i++) {
            const struct experiment_parents *parents = &e->inner[i].parents;
            if (!(gone >> i & 1) && (collectors_leads_to_root(parents) || bits_of(parents) & reach))
                reach |= UINT64_C(1) << i;
        }
    } while (reach != before);
    for (uint32_t i = 0; i < e->node_count; i++)
        if (!collectors_leads_to_root(&e->nodes[i].parents) && !(bits_of(&e->nodes[i].parents) & reach))
            return false;
    return true;
}

/* ---- Machines ---------------------------------------------------------------------------------------------------- */

/* The machine of node `node`, by its address; "": that of `bezel run`. */
static const char *machine_of(const struct experiment *e, int node, struct address *address)
{
    const char *why;
    if (node < 0 || !experiment_is_remote(&e->nodes[node]) ||
        address_read(e->nodes[node].address, address, &why) != 0 || address_is_loopback(address))
        return "";
    return address->host;
}

static int node_of(const struct experiment *e, int collector)
{
    return collector == EXPERIMENT_ROOT ? find_node(e, e->collector.node)
                                        : experiment_inner_node(e, (uint32_t)collector);
}

bool experiment_is_beside(const struct experiment *e, int child, bool is_node, int parent)
{
    struct address a, b;
    int node = is_node ? child : node_of(e, child), to = node_of(e, parent);
    return strcmp(machine_of(e, node, &a), machine_of(e, to, &b)) == 0;
}

static uint16_t port_of(const char *endpoint)
{
    struct address address;
    const char *why;
    return endpoint && address_read(endpoint, &address, &why) == 0 ? address.port : 0;
}

/* ---- Checks ------------------------------------------------------------------------------------------------------ */

static const struct tree *parents_tree(const struct tree *entry)
{
    const struct tree *t = tree_get(entry, "parents");
    return t && !t->refused && t->kind == TREE_LIST ? t : NULL;
}

void collectors_unknown(struct reader *r, const struct tree *t, const struct experiment *e, const char *other,
                        const char *remedy)
{
    struct near near = {.wanted = t->text};
    for (uint32_t i = 0; i < e->inner_count; i++)
        near_consider(&near, e->inner[i].name ? e->inner[i].name : "");
    near_consider(&near, root_name);
    if (other)
        near_consider(&near, other);
    reader_no_such(r, t, "collector", &near, remedy);
}

static int find_parent(struct reader *r, const struct tree *t, const struct experiment *e)
{
    const char *text = reader_text(r, t, "the name of a collector");
    if (!text)
        return -2;
    if (strcmp(text, root_name) == 0)
        return EXPERIMENT_ROOT;
    int found = experiment_inner_find(e, text);
    if (found >= 0)
        return found;
    collectors_unknown(r, t, e, NULL, ": declare it under 'collectors', or give root, the one that stores");
    return -2;
}

static void read_parents(struct reader *r, const struct tree *entry, const struct experiment *e,
                         struct experiment_parents *parents)
{
    const struct tree *t = tree_get(entry, "parents");
    if (!t || t->refused)
        return;
    if (t->kind != TREE_LIST || t->children == 0 || t->children > EXPERIMENT_PARENTS_MAX) {
        reader_wrong(r, t, "a list of 1 to %d collectors is expected, such as [rack1, root]", EXPERIMENT_PARENTS_MAX);
        return;
    }
    for (const struct tree *child = t->first; child; child = child->next) {
        int parent = find_parent(r, child, e);
        bool twice = false;
        for (uint32_t i = 0; i < parents->count; i++)
            twice |= parents->of[i] == parent;
        if (twice)
            reader_wrong(r, child, "%s appears twice in this list", diagnostics_quote(child->text).s);
        else if (parent >= EXPERIMENT_ROOT)
            parents->of[parents->count++] = parent;
    }
}

/* Adds " -> NAME" to a list for a message. */
static void add_step(char *text, size_t size, const char *name)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? " -> " : "", name);
}

/* Names the cycle through collector `i`, of which each one leads to the next; false: there is none. */
static bool name_cycle(const struct experiment *e, uint32_t i, char *text, size_t size)
{
    uint32_t at = i, steps = 0;
    if (!(all_above(e, &e->inner[i].parents) >> i & 1))
        return false;
    text[0] = '\0';
    do {
        const struct experiment_parents *parents = &e->inner[at].parents;
        uint32_t next = UINT32_MAX;
        add_step(text, size, e->inner[at].name);
        for (uint32_t k = 0; k < parents->count && next != i; k++) {
            int parent = parents->of[k];
            bool leads = parent >= 0 && ((uint32_t)parent == i || all_above(e, &e->inner[parent].parents) >> i & 1);
            next = leads && (next == UINT32_MAX || (uint32_t)parent == i) ? (uint32_t)parent : next;
        }
        at = next;
    } while (at != i && at != UINT32_MAX && ++steps < e->inner_count);
    add_step(text, size, e->inner[i].name);
    return true;
}

/* Reports each cycle once, at the first of its collectors. */
static bool check_cycles(struct reader *r, const struct tree *t, const struct experiment *e)
{
    char text[256];
    uint64_t told = 0;
    for (uint32_t i = 0; t; t = t->next, i++) {
        if (told >> i & 1 || !e->inner[i].name || !name_cycle(e, i, text, sizeof text))
            continue;
        told |= all_above(e, &e->inner[i].parents);
        reader_wrong(r, tree_get(t, "parents"), "collectors cannot be below themselves: %s", text);
    }
    return told != 0;
}

static void check_levels(struct reader *r, const struct tree *t, const struct experiment *e)
{
    for (uint32_t i = 0; t; t = t->next, i++)
        if (experiment_inner_level(e, i) > EXPERIMENT_LEVELS_MAX) {
            reader_wrong(r, tree_get(t, "parents"),
                         "there are more than %d inner collectors between a node and the root", EXPERIMENT_LEVELS_MAX);
            return;
        }
}

static void check_name(struct reader *r, const struct tree *t, const struct experiment_inner *c)
{
    if (c->name && strcmp(c->name, root_name) == 0)
        reader_wrong_key(r, t, "is the name of the collector that stores: give this one another name");
    else if (c->name && strlen(c->name) > EXPERIMENT_INNER_NAME_MAX)
        reader_wrong_key(r, t, "is too long; allowed for a collector: up to %d characters", EXPERIMENT_INNER_NAME_MAX);
}

static char *print_port(struct reader *r, size_t port)
{
    char text[32];
    snprintf(text, sizeof text, "tcp://*:%zu", port);
    return reader_copy(r, text);
}

/* The first inner collector on a node has the first port, each further one the next. */
static char *choose_control(struct reader *r, const struct experiment *e, uint32_t i)
{
    size_t port = EXPERIMENT_INNER_CONTROL;
    for (uint32_t k = 0; k < i; k++)
        port += experiment_inner_node(e, k) == experiment_inner_node(e, i);
    return print_port(r, port);
}

static void check_place(struct reader *r, const struct tree *t, struct experiment *e, uint32_t i)
{
    struct experiment_inner *c = &e->inner[i];
    const struct tree *control = tree_get(t, "control"), *node = tree_get(t, "node"), *listen = tree_get(t, "listen");
    int at = experiment_inner_node(e, i);
    if (!c->node) {
        const struct tree *told = control ? control : tree_get(t, "proxy");
        if (told && !node)
            reader_wrong_key(
                r, told, "is for a collector with 'node': `bezel run` commands the others over a socket of the run");
        return;
    }
    if (at < 0)
        reader_wrong(r, node, "there is no node '%s'", c->node);
    else if (!experiment_is_remote(&e->nodes[at]))
        reader_wrong(r, node,
                     "node '%s' has no address tcp://HOST:PORT: without 'node' the collector runs on the machine of "
                     "`bezel run`",
                     c->node);
    if (!c->control)
        c->control = choose_control(r, e, i);
    else if (port_of(c->control) == 0)
        reader_wrong(r, control, "needs a port, by which `bezel run` reaches it: tcp://*:%d", EXPERIMENT_INNER_CONTROL);
    struct address proxy;
    const char *why;
    if (c->proxy && (address_read(c->proxy, &proxy, &why) != 0 || proxy.port == 0 || proxy.kind == ADDRESS_NAME))
        reader_wrong(r, tree_get(t, "proxy"), "needs a number or *, and a port by which commands reach it: tcp://*:%d",
                     EXPERIMENT_INNER_PROXY);
    if (listen && strncmp(c->listen ? c->listen : "ipc", "ipc", 3) == 0)
        reader_wrong(r, listen, "a collector on a node listens at tcp://HOST:PORT: %s",
                     "leave 'listen' out for any free port");
}

/* ---- Endpoints --------------------------------------------------------------------------------------------------- */

static const char *child_name(const struct experiment *e, int child, bool is_node)
{
    const char *name = is_node ? e->nodes[child].name : e->inner[child].name;
    return name ? name : "";
}

/* Whether a parent can be reached from its child; if not, reports it at the parent's endpoint. */
static void check_reach(struct reader *r, const struct tree *root, const struct experiment *e, int child, bool is_node)
{
    const struct experiment_parents *parents = is_node ? &e->nodes[child].parents : &e->inner[child].parents;
    for (uint32_t i = 0; i < parents->count || i == 0; i++) {
        int parent = parents->count ? parents->of[i] : EXPERIMENT_ROOT;
        bool at_root = parent == EXPERIMENT_ROOT;
        const char *listen = at_root ? e->store.listen : e->inner[parent].listen;
        const struct tree *t = check_entries(tree_get(root, "collectors"), e->inner_count);
        for (int k = 0; t && k < parent; k++)
            t = t->next;
        t = tree_get(at_root ? tree_get(root, "store") : t, "listen");
        bool told = at_root && is_node; /* by check_remote() */
        if (!t || told || (listen && !check_is_of_this_machine(listen)) || (at_root && !listen) ||
            experiment_is_beside(e, child, is_node, parent))
            continue;
        reader_wrong(r, t,
                     "%s cannot be reached from %s %s on another machine: give the address or interface of this "
                     "collector's machine in its network, or leave 'listen' out",
                     listen ? listen : "ipc", is_node ? "node" : "collector", child_name(e, child, is_node));
        return;
    }
}

/* Whether some child of inner collector `i` is elsewhere. */
static bool has_children_elsewhere(const struct experiment *e, uint32_t i)
{
    for (uint32_t k = 0; k < e->node_count; k++)
        if (bits_of(&e->nodes[k].parents) >> i & 1 && !experiment_is_beside(e, (int)k, true, (int)i))
            return true;
    for (uint32_t k = 0; k < e->inner_count; k++)
        if (bits_of(&e->inner[k].parents) >> i & 1 && !experiment_is_beside(e, (int)k, false, (int)i))
            return true;
    return false;
}

static void choose_listen(struct reader *r, const struct tree *t, struct experiment *e, uint32_t i)
{
    struct experiment_inner *c = &e->inner[i];
    const struct tree *listen = tree_get(t, "listen");
    if (!c->listen && !listen && (c->node || has_children_elsewhere(e, i)))
        c->listen = reader_copy(r, "tcp://*:*");
    else if (c->listen && !e->store.keys && !check_is_of_this_machine(c->listen))
        reader_wrong(r, listen,
                     "an address beyond 127.0.0.1 requires keys: make them with `bezel keygen --dir DIR NAME`, and add "
                     "'store: {keys: DIR}'");
}

/* Bytes of the endpoint of a collector, as others are told it, with the longest port. */
static size_t endpoint_bytes(const struct experiment *e, int collector)
{
    const char *listen = collector == EXPERIMENT_ROOT ? e->store.listen : e->inner[collector].listen, *why;
    struct address address, at;
    char text[ADDRESS_TEXT_MAX];
    if (!listen)
        return SOCKET_BYTES;
    if (address_read(listen, &address, &why) != 0)
        return strlen(listen);
    int node = node_of(e, collector);
    if (address.kind == ADDRESS_ANY && node >= 0 && e->nodes[node].address &&
        address_read(e->nodes[node].address, &at, &why) == 0)
        address = at;
    address.port = UINT16_MAX;
    return strlen(address_print(&address, text));
}

static void check_length(struct reader *r, const struct tree *t, const struct experiment *e,
                         const struct experiment_parents *parents, size_t before)
{
    size_t n = before;
    for (uint32_t i = 0; i < parents->count; i++)
        n += (n > 0) + endpoint_bytes(e, parents->of[i]);
    if (n > LIST_MAX && parents_tree(t))
        reader_wrong(
            r, parents_tree(t),
            "the endpoints of these collectors have %zu bytes together; allowed: %d%s. Give numbers instead of "
            "long names as addresses, or fewer parents",
            n, LIST_MAX, before ? " with the collector's own" : "");
}

/* How many ports a proxy has, from the one that the file gives on. */
static size_t port_count(const struct experiment *e, uint32_t i)
{
    return e->inner[i].forward ? words_count(e->inner[i].forward) : proxies_count(e, i);
}

struct port {
    const char *machine, *of;
    uint16_t port;
    size_t count; /* of ports, from that one on */
};

/* Two of one machine cannot have one port. */
static void check_ports(struct reader *r, const struct tree *t, const struct experiment *e)
{
    struct port seen[2 + 3 * EXPERIMENT_INNER_MAX];
    size_t n = 0;
    const char *at = e->collector.node ? e->collector.node : "";
    const char *control = e->collector.control ? e->collector.control : EXPERIMENT_COLLECTOR_CONTROL;
    seen[n++] = (struct port){at, root_name, e->collector.node ? port_of(control) : 0, 1};
    seen[n++] = (struct port){at, root_name, port_of(e->store.listen), 1};
    for (uint32_t i = 0; t; t = t->next, i++) {
        const struct experiment_inner *c = &e->inner[i];
        const char *const endpoints[] = {c->node ? c->control : NULL, c->listen, c->node ? c->proxy : NULL};
        static const char *const keys[] = {"control", "listen", "proxy"};
        for (size_t k = 0; k < 3; k++) {
            struct port p = {c->node ? c->node : "", c->name ? c->name : "", port_of(endpoints[k]),
                             k == 2 ? port_count(e, i) : 1};
            const struct tree *own = tree_get(t, keys[k]);
            if (p.port + p.count > UINT16_MAX + 1)
                reader_wrong(r, own ? own : t,
                             "the proxy has %zu ports from %u on, and 65535 is the last one: give a lower one", p.count,
                             p.port);
            for (size_t s = 0; s < n && p.port; s++)
                if (seen[s].port && seen[s].port < p.port + p.count && p.port < seen[s].port + seen[s].count &&
                    strcmp(seen[s].machine, p.machine) == 0) {
                    reader_wrong(r, own ? own : t,
                                 "port %u is also one of collector '%s' on this machine: give another",
                                 p.port > seen[s].port ? p.port : seen[s].port, seen[s].of);
                    break;
                }
            seen[n++] = p;
        }
    }
}

/*
 * After all parents are known: who takes data of a machine that only it reaches gets a proxy for commands. Where each
 * leads follows from the ports of those below, so these are first.
 */
static void choose_proxies(struct reader *r, struct experiment *e)
{
    for (uint32_t i = 0; i < e->inner_count; i++) {
        size_t port = EXPERIMENT_INNER_PROXY;
        for (uint32_t k = 0; k < i; k++)
            port += experiment_inner_node(e, k) == experiment_inner_node(e, i) ? port_count(e, k) : 0;
        if (!e->inner[i].proxy && e->inner[i].node && port_count(e, i) > 0)
            e->inner[i].proxy = print_port(r, port);
    }
    for (uint32_t level = EXPERIMENT_LEVELS_MAX; level > 0; level--)
        for (uint32_t i = 0; i < e->inner_count; i++)
            if (e->inner[i].proxy && !e->inner[i].forward && experiment_inner_level(e, i) == level)
                e->inner[i].forward = proxies_list(e, i);
}

static void check_endpoints(struct reader *r, const struct tree *root, struct experiment *e)
{
    const struct tree *entries = check_entries(tree_get(root, "collectors"), e->inner_count), *t = entries;
    for (uint32_t i = 0; t; t = t->next, i++)
        choose_listen(r, t, e, i);
    choose_proxies(r, e);
    check_ports(r, entries, e);
    t = entries;
    for (uint32_t i = 0; t; t = t->next, i++) {
        check_reach(r, root, e, (int)i, false);
        check_length(r, t, e, &e->inner[i].parents, e->inner[i].node ? endpoint_bytes(e, (int)i) : 0);
    }
    t = check_entries(tree_get(root, "nodes"), e->node_count);
    for (uint32_t i = 0; t; t = t->next, i++) {
        check_reach(r, root, e, (int)i, true);
        check_length(r, t, e, &e->nodes[i].parents, 0);
    }
}

void collectors_check(struct reader *r, const struct tree *root, struct experiment *e)
{
    size_t errors = r->found->errors;
    const struct tree *entries = check_entries(tree_get(root, "collectors"), e->inner_count), *t = entries;
    for (uint32_t i = 0; t; t = t->next, i++) {
        check_name(r, t, &e->inner[i]);
        check_place(r, t, e, i);
        read_parents(r, t, e, &e->inner[i].parents);
    }
    t = check_entries(tree_get(root, "nodes"), e->node_count);
    for (uint32_t i = 0; t; t = t->next, i++)
        read_parents(r, t, e, &e->nodes[i].parents);
    if (check_cycles(r, entries, e))
        return;
    check_levels(r, entries, e);
    if (r->found->errors == errors) /* else more would follow from the same mistakes */
        check_endpoints(r, root, e);
}

void collectors_warn(struct reader *r, const struct tree *root, const struct experiment *e)
{
    const struct tree *t = check_entries(tree_get(root, "collectors"), e->inner_count);
    for (uint32_t i = 0; t; t = t->next, i++)
        if (experiment_inner_nodes(e, i) == 0)
            reader_warn(r, t,
                        "no node sends to this collector: name it among the 'parents' of a node, or leave it out");
}

/* ---- Printing ---------------------------------------------------------------------------------------------------- */

void collectors_print_parents(const struct experiment *e, const struct experiment_parents *parents, const char *before,
                              FILE *out)
{
    fprintf(out, "%sparents: [", before);
    for (uint32_t i = 0; i < parents->count; i++)
        fprintf(out, "%s%s", i ? ", " : "",
                parents->of[i] == EXPERIMENT_ROOT ? root_name : e->inner[parents->of[i]].name);
    fprintf(out, "%s]", parents->count ? "" : root_name);
}

void collectors_print_ways(const struct experiment *e, uint32_t node, uint32_t only, const char *before, FILE *out)
{
    uint64_t above = experiment_node_above(e, node);
    uint32_t n = 0;
    for (uint32_t i = 0; i < e->inner_count && n < EXPERIMENT_PARENTS_MAX; i++)
        if (above >> i & 1 && experiment_inner_node(e, i) == (int)only)
            fprintf(out, "%s%s", n++ ? ", " : before, e->inner[i].name);
    fputs(n ? "]" : "", out);
}

static void print_one(const struct experiment *e, const struct experiment_inner *c, bool part, FILE *out)
{
    fprintf(out, "  %s: {", c->name);
    if (c->node)
        fprintf(out, "node: %s, control: \"%s\", ", c->node, c->control);
    if (c->node && c->proxy)
        fprintf(out, "proxy: \"%s\", forward: \"%s\", ", c->proxy, c->forward ? c->forward : "");
    fprintf(out, "buffer: %s", units_exact_size(c->buffer).s);
    if (!part) {
        fputs(", listen: ", out);
        schema_print_text(c->listen ? c->listen : "ipc", out);
        collectors_print_parents(e, &c->parents, ", ", out);
    }
    fputs("}\n", out);
}

void collectors_print(const struct experiment *e, int64_t only, FILE *out)
{
    bool any = false;
    for (uint32_t i = 0; i < e->inner_count; i++) {
        if (only >= 0 && only != experiment_inner_node(e, i))
            continue;
        fputs(any ? "" : "collectors:\n", out);
        any = true;
        print_one(e, &e->inner[i], only >= 0, out);
    }
}
