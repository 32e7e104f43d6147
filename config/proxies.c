// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/proxies.h"

#include "base/address.h"
#include "base/file.h"
#include "base/words.h"
#include "config/collectors.h"

#include <stdio.h>
#include <string.h>

/*
 * Commands go where data go. A machine is *direct* if something on it sends to the root, or to a collector beside
 * `bezel run`: then `bezel run` reaches it, too. Any other machine is reached from the machines of the inner collectors
 * that take its data, and each of these has a proxy, with a port for each endpoint below it; the port leads to the
 * endpoint, or to that of a proxy between. A machine stands here for the node with its bezeld.
 */

enum { NO_WAY = -2, AT_ONCE = -1 };

static const struct experiment_parents *parents_on(const struct experiment *e, uint32_t node, uint32_t i)
{
    if (i == 0)
        return &e->nodes[node].parents;
    return experiment_is_beside(e, (int)node, true, (int)i - 1) ? &e->inner[i - 1].parents : NULL;
}

/* The inner collectors that take data of what is on the machine; *direct: others do, beside `bezel run` or as the root.
 */
static uint64_t takers(const struct experiment *e, uint32_t node, bool *direct)
{
    uint64_t takers = 0;
    *direct = !experiment_is_remote(&e->nodes[node]);
    for (uint32_t i = 0; i <= e->inner_count; i++) {
        const struct experiment_parents *parents = parents_on(e, node, i);
        *direct = *direct || (parents && collectors_leads_to_root(parents));
        for (uint32_t k = 0; parents && k < parents->count; k++) {
            int parent = parents->of[k];
            if (parent < 0 || experiment_is_beside(e, (int)node, true, parent))
                continue;
            *direct = *direct || experiment_inner_node(e, (uint32_t)parent) < 0;
            takers |= UINT64_C(1) << parent;
        }
    }
    return *direct ? 0 : takers;
}

/* Through whose proxy that of collector `from` reaches the machine: AT_ONCE, NO_WAY, or the number of a collector. */
static int next_hop(const struct experiment *e, uint32_t from, uint32_t node, unsigned levels)
{
    bool direct;
    uint64_t taking = takers(e, node, &direct);
    if (taking >> from & 1)
        return AT_ONCE;
    for (uint32_t i = 0; i < e->inner_count && levels > 0; i++) {
        if (!(taking >> i & 1))
            continue;
        int hop = next_hop(e, from, (uint32_t)experiment_inner_node(e, i), levels - 1);
        if (hop != NO_WAY)
            return hop == AT_ONCE ? (int)i : hop;
    }
    return NO_WAY;
}

static char *endpoint_on(const struct experiment *e, int node, const char *listen, size_t behind,
                         char text[ADDRESS_TEXT_MAX])
{
    struct address at, listening;
    const char *why;
    text[0] = '\0';
    if (!listen || node < 0 || !e->nodes[node].address || address_read(e->nodes[node].address, &at, &why) != 0 ||
        address_read(listen, &listening, &why) != 0)
        return text;
    at.port = (uint16_t)(listening.port + behind);
    address_print(&at, text);
    return text;
}

char *experiment_control(const struct experiment *e, int collector, char endpoint[ADDRESS_TEXT_MAX])
{
    return collector == EXPERIMENT_ROOT
               ? endpoint_on(e, experiment_collector_node(e), e->collector.control, 0, endpoint)
               : endpoint_on(e, experiment_inner_node(e, (uint32_t)collector), e->inner[collector].control, 0,
                             endpoint);
}

char *experiment_server(const struct experiment *e, char endpoint[ADDRESS_TEXT_MAX])
{
    return endpoint_on(e, experiment_collector_node(e), e->store.serve, 0, endpoint);
}

/* What takes commands on a machine: its bezeld, inner collectors, the root. "": not this one. */
static const char *endpoint_of(const struct experiment *e, uint32_t node, uint32_t k, char text[ADDRESS_TEXT_MAX])
{
    if (k == 0)
        return e->nodes[node].address ? e->nodes[node].address : "";
    int collector = k <= e->inner_count ? (int)k - 1 : EXPERIMENT_ROOT;
    int at = collector == EXPERIMENT_ROOT ? experiment_collector_node(e) : experiment_inner_node(e, k - 1);
    return at == (int)node ? experiment_control(e, collector, text) : "";
}

/* The place of `endpoint` in the list of a proxy; -1: it is not in it. */
static int place_of(const char *list, const char *endpoint)
{
    size_t n = strlen(endpoint);
    const char *rest = list ? list : "", *word;
    for (int place = 0; words_next(&rest, &word); place++)
        if (strcspn(word, " =") == n && strncmp(word, endpoint, n) == 0)
            return place;
    return -1;
}

/* The port of proxy `i` that leads to `endpoint`. */
static char *port_for(const struct experiment *e, uint32_t i, const char *endpoint, char text[ADDRESS_TEXT_MAX])
{
    int place = e->inner[i].proxy ? place_of(e->inner[i].forward, endpoint) : -1;
    text[0] = '\0';
    return place < 0 ? text : endpoint_on(e, experiment_inner_node(e, i), e->inner[i].proxy, (size_t)place, text);
}

void experiment_proxies(const struct experiment *e, const char *endpoint, char text[EXPERIMENT_PROXIES_MAX])
{
    size_t n = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < e->inner_count; i++) {
        bool direct = false;
        char one[ADDRESS_TEXT_MAX];
        if (experiment_inner_node(e, i) >= 0)
            (void)takers(e, (uint32_t)experiment_inner_node(e, i), &direct);
        if (direct && port_for(e, i, endpoint, one)[0] && n + strlen(one) + 2 <= EXPERIMENT_PROXIES_MAX)
            n += (size_t)snprintf(text + n, EXPERIMENT_PROXIES_MAX - n, "%s%s", n ? " " : "", one);
    }
}

size_t proxies_count(const struct experiment *e, uint32_t i)
{
    size_t n = 0;
    char text[ADDRESS_TEXT_MAX];
    for (uint32_t node = 0; node < e->node_count; node++)
        for (uint32_t k = 0; k < e->inner_count + 2 && next_hop(e, i, node, EXPERIMENT_LEVELS_MAX) != NO_WAY; k++)
            n += endpoint_of(e, node, k, text)[0] != '\0';
    return n;
}

char *proxies_list(const struct experiment *e, uint32_t i)
{
    char *list = NULL, text[ADDRESS_TEXT_MAX], through[ADDRESS_TEXT_MAX];
    size_t size;
    FILE *out = open_memstream(&list, &size);
    bool first = true;
    for (uint32_t node = 0; out && node < e->node_count; node++) {
        int hop = next_hop(e, i, node, EXPERIMENT_LEVELS_MAX);
        for (uint32_t k = 0; k < e->inner_count + 2 && hop != NO_WAY; k++) {
            const char *endpoint = endpoint_of(e, node, k, text);
            if (!endpoint[0])
                continue;
            fprintf(out, "%s%s", first ? "" : " ", endpoint);
            if (hop >= 0)
                fprintf(out, "=%s", port_for(e, (uint32_t)hop, endpoint, through));
            first = false;
        }
    }
    return file_text_end(out, &list) == 0 ? list : NULL;
}
