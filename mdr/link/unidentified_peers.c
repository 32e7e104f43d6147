// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/link/unidentified_peers.h"

#include "base/address.h"
#include "mdr/link/endpoint.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* The socket's inode identifies a connection: the number of a descriptor may be reused at any moment. */
struct peer {
    uint64_t connection;
    int64_t since;
    int fd;
    bool here;
};

struct unidentified_peers {
    char endpoint[ENDPOINT_MAX];
    int64_t looked;
    uint32_t count, fresh_count;
    struct peer list[UNIDENTIFIED_PEERS_MAX];  /* the oldest first */
    struct peer fresh[UNIDENTIFIED_PEERS_MAX]; /* found by this look */
};

struct unidentified_peers *unidentified_peers_new(const char *endpoint)
{
    struct unidentified_peers *g = calloc(1, sizeof *g);
    if (g)
        snprintf(g->endpoint, sizeof g->endpoint, "%s", endpoint);
    return g;
}

void unidentified_peers_free(struct unidentified_peers *g)
{
    free(g);
}

/* The local end of a TCP connection as address_print() has it; an IPv4 address that an IPv6 socket has is one of IPv4.
 */
static bool local_address(const struct sockaddr_storage *at, struct address *local)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)at;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)at;
    bool six = at->ss_family == AF_INET6, mapped = six && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr);
    if (at->ss_family != AF_INET && !six)
        return false;
    local->kind = six && !mapped ? ADDRESS_IPV6 : ADDRESS_IPV4;
    local->port = ntohs(six ? in6->sin6_port : in->sin_port);
    const void *number = !six ? (const void *)&in->sin_addr : &in6->sin6_addr.s6_addr[mapped ? 12 : 0];
    return inet_ntop(local->kind == ADDRESS_IPV6 ? AF_INET6 : AF_INET, number, local->host, sizeof local->host) != NULL;
}

/* Whether the local end of a connection is the link's endpoint. */
static bool is_ours(const struct unidentified_peers *g, int fd)
{
    struct sockaddr_storage at = {.ss_family = AF_UNSPEC};
    struct address local, endpoint;
    const char *why, *path = endpoint_path(g->endpoint);
    socklen_t n = sizeof at, size = sizeof(int);
    int listens = 1;
    if (getsockname(fd, (struct sockaddr *)&at, &n) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens)
        return false;
    if (at.ss_family == AF_UNIX) {
        const struct sockaddr_un *un = (const struct sockaddr_un *)&at;
        return path && strncmp(un->sun_path, path, sizeof un->sun_path) == 0;
    }
    if (path || !local_address(&at, &local) || address_read(g->endpoint, &endpoint, &why) != 0)
        return false;
    bool any = strcmp(endpoint.host, "0.0.0.0") == 0 || strcmp(endpoint.host, "::") == 0;
    return local.port == endpoint.port && (any || strcmp(local.host, endpoint.host) == 0);
}

static uint64_t connection_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) ? (uint64_t)st.st_ino : 0;
}

/* False: it had ended by itself. A connection that gets its number between these two calls is shut down instead. */
static bool end_one(const struct peer *peer)
{
    return connection_of(peer->fd) == peer->connection && shutdown(peer->fd, SHUT_RDWR) == 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Adds peer `seen`. Returns 1 if it was shut down, because there are too many new ones. */
static unsigned note(struct unidentified_peers *g, const struct peer *seen)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (g->list[i].connection == seen->connection) {
            g->list[i].fd = seen->fd;
            g->list[i].here = true;
            return 0;
        }
    if (g->fresh_count == UNIDENTIFIED_PEERS_MAX)
        return end_one(seen);
    g->fresh[g->fresh_count++] = *seen;
    return 0;
}

static unsigned look_around(struct unidentified_peers *g, const uint64_t *known, size_t known_count, int64_t now)
{
    unsigned ended = 0;
    DIR *all = opendir("/proc/self/fd");
    for (struct dirent *e; all && (e = readdir(all)) != NULL;) {
        struct peer seen = {.fd = atoi(e->d_name), .since = now, .here = true};
        seen.connection = e->d_name[0] == '.' ? 0 : connection_of(seen.fd);
        if (seen.connection && is_ours(g, seen.fd) &&
            !(known_count && bsearch(&seen.connection, known, known_count, sizeof *known, compare)))
            ended += note(g, &seen);
    }
    if (all)
        closedir(all);
    return ended;
}

/* Keeps peers that are still connected and may stay; new ones replace the oldest. */
static unsigned settle(struct unidentified_peers *g, int64_t now)
{
    unsigned ended = 0;
    uint32_t kept = 0, here = 0;
    for (uint32_t i = 0; i < g->count; i++)
        here += g->list[i].here;
    for (uint32_t i = 0; i < g->count; i++) {
        struct peer peer = g->list[i];
        if (!peer.here)
            continue;
        peer.here = false;
        if (now - peer.since <= UNIDENTIFIED_PEERS_PATIENCE && here + g->fresh_count <= UNIDENTIFIED_PEERS_MAX)
            g->list[kept++] = peer;
        else
            here--, ended += end_one(&peer);
    }
    for (uint32_t i = 0; i < g->fresh_count; i++) {
        g->list[kept] = g->fresh[i];
        g->list[kept++].here = false;
    }
    g->count = kept;
    return ended;
}

unsigned unidentified_peers_look(struct unidentified_peers *g, uint64_t *known, size_t known_count, int64_t now)
{
    int64_t gap = now - g->looked;
    if (known_count)
        qsort(known, known_count, sizeof *known, compare);
    for (uint32_t i = 0; i < g->count && gap > 2 * UNIDENTIFIED_PEERS_EVERY; i++)
        g->list[i].since += gap - UNIDENTIFIED_PEERS_EVERY;
    g->looked = now;
    g->fresh_count = 0;
    unsigned ended = look_around(g, known, known_count, now);
    return ended + settle(g, now);
}
