// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/guests.h"

#include "mdr/endpoint.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* A connection is known by its socket's inode: a descriptor's number may be another's at any moment. */
struct guest {
    uint64_t connection;
    int64_t since;
    int fd;
    bool here;
};

struct guests {
    char endpoint[ENDPOINT_MAX];
    int64_t looked;
    uint32_t count, fresh_count;
    struct guest list[GUESTS_MAX], fresh[GUESTS_MAX]; /* the oldest first; those that this look found */
};

struct guests *guests_new(const char *endpoint)
{
    struct guests *g = calloc(1, sizeof *g);
    if (g)
        snprintf(g->endpoint, sizeof g->endpoint, "%s", endpoint);
    return g;
}

void guests_free(struct guests *g)
{
    free(g);
}

/* Whether the local end of a connection is where we listen. Of IPv6 ZeroMQ is not asked for. */
static bool is_ours(const struct guests *g, int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_un un;
    } at = {.any = {0}};
    char text[ENDPOINT_MAX], host[INET_ADDRSTRLEN] = "";
    socklen_t n = sizeof at, size = sizeof(int);
    int listens = 1;
    if (getsockname(fd, &at.any, &n) != 0 || getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens)
        return false;
    if (at.any.sa_family == AF_UNIX) {
        const char *path = endpoint_path(g->endpoint);
        return path && strncmp(at.un.sun_path, path, sizeof at.un.sun_path) == 0;
    }
    if (at.any.sa_family != AF_INET || !inet_ntop(AF_INET, &at.in.sin_addr, host, sizeof host))
        return false;
    snprintf(text, sizeof text, "tcp://%s:%u", host, ntohs(at.in.sin_port));
    if (strcmp(text, g->endpoint) == 0)
        return true;
    snprintf(text, sizeof text, "tcp://0.0.0.0:%u", ntohs(at.in.sin_port));
    return strcmp(text, g->endpoint) == 0;
}

static uint64_t connection_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) ? (uint64_t)st.st_ino : 0;
}

/* False: it had ended by itself. Another one that took its number between these two calls would end for it. */
static bool end_one(const struct guest *guest)
{
    return connection_of(guest->fd) == guest->connection && shutdown(guest->fd, SHUT_RDWR) == 0;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Notes the guest `seen`. Returns 1 where it had to be ended, since more are new than may stay. */
static unsigned note(struct guests *g, const struct guest *seen)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (g->list[i].connection == seen->connection) {
            g->list[i].fd = seen->fd;
            g->list[i].here = true;
            return 0;
        }
    if (g->fresh_count == GUESTS_MAX)
        return end_one(seen);
    g->fresh[g->fresh_count++] = *seen;
    return 0;
}

static unsigned look_around(struct guests *g, const uint64_t *known, size_t known_count, int64_t now)
{
    unsigned ended = 0;
    DIR *all = opendir("/proc/self/fd");
    for (struct dirent *e; all && (e = readdir(all)) != NULL;) {
        struct guest seen = {.fd = atoi(e->d_name), .since = now, .here = true};
        seen.connection = e->d_name[0] == '.' ? 0 : connection_of(seen.fd);
        if (seen.connection && is_ours(g, seen.fd) &&
            !(known_count && bsearch(&seen.connection, known, known_count, sizeof *known, compare)))
            ended += note(g, &seen);
    }
    if (all)
        closedir(all);
    return ended;
}

/* Keeps those that are here still and may stay, the newest as far as there is room beside the new ones. */
static unsigned settle(struct guests *g, int64_t now)
{
    unsigned ended = 0;
    uint32_t kept = 0, here = 0;
    for (uint32_t i = 0; i < g->count; i++)
        here += g->list[i].here;
    for (uint32_t i = 0; i < g->count; i++) {
        struct guest guest = g->list[i];
        if (!guest.here)
            continue;
        guest.here = false;
        if (now - guest.since <= GUESTS_PATIENCE && here + g->fresh_count <= GUESTS_MAX)
            g->list[kept++] = guest;
        else
            here--, ended += end_one(&guest);
    }
    for (uint32_t i = 0; i < g->fresh_count; i++) {
        g->list[kept] = g->fresh[i];
        g->list[kept++].here = false;
    }
    g->count = kept;
    return ended;
}

unsigned guests_look(struct guests *g, const uint64_t *known, size_t known_count, int64_t now)
{
    int64_t gap = now - g->looked;
    for (uint32_t i = 0; i < g->count && gap > 2 * GUESTS_EVERY; i++)
        g->list[i].since += gap - GUESTS_EVERY;
    g->looked = now;
    g->fresh_count = 0;
    unsigned ended = look_around(g, known, known_count, now);
    return ended + settle(g, now);
}
