// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "resmgr/manager/node_links.h"

#include "base/log.h"
#include "base/ulimit.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* The endpoint in `text`, NODE=ENDPOINT, if NODE is `name`; else NULL. */
static const char *endpoint_of(const char *text, const char *name)
{
    size_t n = strlen(name);
    return strncmp(text, name, n) == 0 && text[n] == '=' ? text + n + 1 : NULL;
}

static bool is_of_some_node(const struct experiment *e, const char *text)
{
    for (uint32_t i = 0; i < e->node_count; i++)
        if (endpoint_of(text, e->nodes[i].name))
            return true;
    return false;
}

static int check_names(const struct experiment *e, const struct manager_daemon_options *o)
{
    for (uint32_t i = 0; i < o->node_count; i++) {
        if (is_of_some_node(e, o->nodes[i]))
            continue;
        log_error("BEZEL-RESMGR-LINK", "--node %s: expected NODE=ENDPOINT, with a node of the experiment", o->nodes[i]);
        return BEZEL_EINVAL;
    }
    return 0;
}

static int find_endpoint(const struct experiment *e, const struct manager_daemon_options *o, uint32_t node,
                         char endpoint[LINK_ENDPOINT_MAX])
{
    const char *given = NULL, *name = e->nodes[node].name;
    for (uint32_t i = 0; i < o->node_count && !given; i++)
        given = endpoint_of(o->nodes[i], name);
    given = given ? given : e->nodes[node].address;
    if (!given && !o->sockets) {
        log_error("BEZEL-RESMGR-LINK", "node %s has no endpoint: give --node %s=ENDPOINT, or --sockets", name, name);
        return BEZEL_EINVAL;
    }
    int n = given ? snprintf(endpoint, LINK_ENDPOINT_MAX, "%s", given)
                  : snprintf(endpoint, LINK_ENDPOINT_MAX, "ipc://%s/.b%u/control", o->sockets, node);
    if (n < LINK_ENDPOINT_MAX && endpoint_check(endpoint) == 0)
        return 0;
    log_error("BEZEL-RESMGR-LINK", "node %s: %s is not an endpoint: expected ipc://PATH or tcp://HOST:PORT", name,
              endpoint);
    return BEZEL_EINVAL;
}

/*
 * Keys in both directions: not everybody who finds the port may set a program's knobs, and not everybody who listens
 * at the endpoint is the node. `server` gets the path of the public key `name`, which belongs to `what`.
 */
static int find_keys(const struct manager_daemon_options *o, const char *what, const char *endpoint, const char *name,
                     char server[PATH_MAX])
{
    if (!o->key || !o->keys) {
        log_error("BEZEL-RESMGR-LINK",
                  "%s: %s needs keys, so no command is sent: give --key and --keys, made with `bezel keygen`", what,
                  endpoint);
        return BEZEL_EPERM;
    }
    return snprintf(server, PATH_MAX, "%s/%s.pub", o->keys, name) >= PATH_MAX ? BEZEL_EINVAL : 0;
}

/* `node` "": to the daemon as a whole. */
static int open_link(const struct experiment *e, const struct manager_daemon_options *o, const char *what,
                     const char *endpoint, const char *key, const char *node, struct command_caller *caller)
{
    char server[PATH_MAX], proxies[EXPERIMENT_PROXIES_MAX];
    int err = endpoint_path(endpoint) ? 0 : find_keys(o, what, endpoint, key, server);
    if (err)
        return err;
    experiment_proxies(e, endpoint, proxies);
    log_forget_error();
    err = command_caller_open(caller, endpoint, (struct command_caller_access){o->key, server, proxies}, o->run, node);
    if (err && !log_last_error()[0]) /* else that names the key */
        log_error("BEZEL-RESMGR-LINK", "%s: cannot connect to %s: %s", what, endpoint, ulimit_reason(err));
    return err;
}

static int open_node(const struct experiment *e, const struct manager_daemon_options *o, uint32_t node,
                     struct command_caller *caller)
{
    char endpoint[LINK_ENDPOINT_MAX], what[EXPERIMENT_NAME_MAX + 8];
    const struct experiment_node *n = &e->nodes[node];
    int err = find_endpoint(e, o, node, endpoint);
    snprintf(what, sizeof what, "node %s", n->name);
    return err ? err : open_link(e, o, what, endpoint, n->key ? n->key : n->name, n->name, caller);
}

int node_links_open_collector(const struct experiment *e, const struct manager_daemon_options *o,
                              struct command_caller *collector)
{
    char endpoint[LINK_ENDPOINT_MAX], text[ADDRESS_TEXT_MAX];
    const char *given = o->collector ? o->collector : experiment_control(e, EXPERIMENT_ROOT, text);
    int n = given[0] ? snprintf(endpoint, sizeof endpoint, "%s", given)
                     : snprintf(endpoint, sizeof endpoint, "ipc://%s/.collector", o->sockets ? o->sockets : "");
    if ((given[0] || o->sockets) && n < LINK_ENDPOINT_MAX && endpoint_check(endpoint) == 0)
        return open_link(e, o, "the collector", endpoint, e->store.key, "", collector);
    log_error("BEZEL-RESMGR-LINK",
              "limits on metrics of several nodes need the collector, and %s is not where it takes commands: give "
              "--collector ENDPOINT or --sockets",
              given[0] ? given : "nothing");
    return BEZEL_EINVAL;
}

int node_links_open(const struct experiment *e, const struct manager_daemon_options *o,
                    struct command_caller nodes[EXPERIMENT_NODES_MAX])
{
    int err = check_names(e, o);
    for (uint32_t i = 0; i < e->node_count && !err; i++)
        err = open_node(e, o, i, &nodes[i]);
    return err;
}
