// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/fields_own.h"

#include "base/clock.h"
#include "base/units.h"
#include "config/findings.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIR_LENGTH_MAX = 72, /* leaves 35 of the 107 bytes of a socket's path for the names that Bezel puts below it */
    SPOOL_DIR_MAX = 1000,
    ENDPOINT_LENGTH_MAX = 107 + 6, /* ipc:// and a socket's path */
};

#define SYNC_EVERY_MIN CLOCK_MS
#define SYNC_EVERY_MAX (10 * CLOCK_S) /* what is not synced is not acknowledged: draining waits for it */

void fields_read_dir(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "an absolute path");
    if (!text)
        return;
    size_t n = strlen(text);
    while (n > 1 && text[n - 1] == '/')
        n--;
    if (text[0] != '/' || n > DIR_LENGTH_MAX) {
        reader_wrong(r, t,
                     "a node's folder is an absolute path of at most %d bytes: it holds sockets, whose paths are short",
                     DIR_LENGTH_MAX);
        return;
    }
    char *dir = reader_copy(r, text);
    if (dir)
        dir[n] = '\0';
    *(char **)to = dir;
}

/* A glob on the path of an executable: one with a '/' that could not match any absolute path is a mistake. */
void fields_read_attach(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "a glob on the executable's path, or on its file name");
    if (!text)
        return;
    if (text[0] == '\0' || (strchr(text, '/') && !strchr("/*?[", text[0])))
        reader_wrong(r, t, "%s matches nothing: give a file name, or a path that opens with '/' or a wildcard",
                     findings_quote(text).s);
    else
        *(char **)to = reader_copy(r, text);
}

static bool is_variable(const char *name)
{
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return *name == '\0';
}

static char *read_variable(struct reader *r, const struct tree *t)
{
    char *entry;
    const char *value = reader_text(r, t, "a text; \"\" for an empty one");
    if (!is_variable(t->key)) {
        reader_wrong_key(r, t, "is no name of a variable: letters, digits and '_', not opening with a digit");
        return NULL;
    }
    if (strcmp(t->key, "BEZEL_DIR") == 0 || strcmp(t->key, "BEZEL_PROCESS") == 0) {
        reader_wrong_key(r, t, "is set by Bezel itself, from the node's 'dir' and the process's 'name'");
        return NULL;
    }
    if (!value)
        return NULL;
    if (asprintf(&entry, "%s=%s", t->key, value) >= 0)
        return entry;
    r->out_of_memory = true;
    return NULL;
}

void fields_read_environment(struct reader *r, const struct tree *t, void *to)
{
    if (t->kind != TREE_MAP) {
        reader_wrong(r, t, "a map of variables is expected, NAME: value");
        return;
    }
    char **entries = calloc(t->children + 1, sizeof *entries), **next = entries;
    if (!entries) {
        r->out_of_memory = true;
        return;
    }
    for (const struct tree *child = t->first; child; child = child->next)
        if (!child->refused && (*next = read_variable(r, child)))
            next++;
    *(char ***)to = entries;
}

static void read_declared(struct reader *r, const struct tree *t, const char *expected, const char *what, char **to)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:";
    const char *text = reader_text(r, t, expected);
    if (!text)
        return;
    size_t n = strlen(text);
    if (n == 0 || n > EXPERIMENT_NAME_MAX || strspn(text, allowed) != n || isdigit((unsigned char)text[0]))
        reader_wrong(r, t, "%s names no %s: 1 to %d letters, digits, '_', '.' or ':', not opening with a digit",
                     findings_quote(text).s, what, EXPERIMENT_NAME_MAX);
    else if (!*to) /* of two keys that name it the checks tell */
        *to = reader_copy(r, text);
}

void fields_read_aspect(struct reader *r, const struct tree *t, void *to)
{
    read_declared(r, t, "the name of an aspect", "aspect", to);
}

void fields_read_field(struct reader *r, const struct tree *t, void *to)
{
    read_declared(r, t, "the name of a field", "field", to);
}

static char *read_pattern(struct reader *r, const struct tree *t)
{
    const char *text = reader_text(r, t, "a pattern of names of aspects");
    if (!text)
        return NULL;
    if (experiment_pattern_ok(text))
        return reader_copy(r, text);
    reader_wrong(r, t, "%s matches no aspect: 1 to %d letters, digits, '_', '.', ':', '*', '?' or sets such as [a-z]",
                 findings_quote(text).s, EXPERIMENT_NAME_MAX);
    return NULL;
}

void fields_read_patterns(struct reader *r, const struct tree *t, void *to)
{
    if (t->refused)
        return;
    if (t->kind != TREE_LIST) {
        reader_wrong(r, t, "a list of patterns is expected, such as [\"frame_*\"]");
        return;
    }
    if (t->children == 0)
        return;
    if (t->children > EXPERIMENT_PATTERNS_MAX) {
        reader_wrong(r, t, "has %u entries; allowed: up to %d", t->children, EXPERIMENT_PATTERNS_MAX);
        return;
    }
    char **patterns = calloc(t->children + 1, sizeof *patterns), **next = patterns;
    if (!patterns) {
        r->out_of_memory = true;
        return;
    }
    for (const struct tree *child = t->first; child; child = child->next)
        if ((*next = read_pattern(r, child)))
            next++;
    *(char ***)to = patterns;
}

/* tcp://ADDRESS:PORT or tcp://ADDRESS:*, with an IPv4 address as a number. Whether it takes keys: check_keys.c. */
static bool is_tcp_endpoint(const char *text)
{
    char address[sizeof "255.255.255.255"];
    struct in_addr ignored;
    uint64_t port;
    const char *why, *colon = strrchr(text, ':');
    if (strncmp(text, "tcp://", 6) != 0 || colon < text + 6 || (size_t)(colon - (text + 6)) >= sizeof address)
        return false;
    memcpy(address, text + 6, (size_t)(colon - (text + 6)));
    address[colon - (text + 6)] = '\0';
    if (inet_pton(AF_INET, address, &ignored) != 1)
        return false;
    return strcmp(colon, ":*") == 0 || (isdigit((unsigned char)colon[1]) &&
                                        units_read_count(colon + 1, &port, &why) == 0 && port >= 1 && port <= 65535);
}

void fields_read_listen(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "an endpoint, or 'ipc'");
    if (!text || strcmp(text, "ipc") == 0)
        return;
    if (is_tcp_endpoint(text) || (strncmp(text, "ipc:///", 7) == 0 && strlen(text) <= ENDPOINT_LENGTH_MAX))
        *(char **)to = reader_copy(r, text);
    else
        reader_wrong(r, t,
                     "%s is no endpoint: ipc, tcp://127.0.0.1:PORT (with 'keys' any IPv4 address as a number), "
                     "tcp://127.0.0.1:* or ipc:///PATH (at most 107 bytes)",
                     findings_quote(text).s);
}

/* A word, or how often. */
void fields_read_sync(struct reader *r, const struct tree *t, void *to)
{
    int64_t *sync = to, every;
    const char *why, *text = reader_text(r, t, "never, always, or a duration such as 1 s");
    if (!text)
        return;
    for (const struct schema_word *w = schema_syncs; w->word; w++)
        if (strcmp(text, w->word) == 0) {
            *sync = w->value;
            return;
        }
    if (!isdigit((unsigned char)text[0]))
        reader_wrong(r, t, "%s is unknown; allowed: never, always, or a duration such as 1 s", findings_quote(text).s);
    else if (units_read_duration(text, &every, &why) != 0)
        reader_wrong(r, t, "%s is no duration: %s", findings_quote(text).s, why);
    else if (every < SYNC_EVERY_MIN || every > SYNC_EVERY_MAX)
        reader_wrong(r, t, "%s is out of range; allowed: 1 ms .. 10 s, never, always", findings_quote(text).s);
    else
        *sync = every;
}

/* Of a standing bezeld. */
void fields_read_address(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "an endpoint ipc:///PATH");
    if (!text)
        return;
    if (strncmp(text, "ipc:///", 7) == 0 && text[7] && strlen(text) <= ENDPOINT_LENGTH_MAX)
        *(char **)to = reader_copy(r, text);
    else
        reader_wrong(
            r, t,
            "%s is no address of this version: ipc:///PATH (at most 107 bytes) of a bezeld that stands on this "
            "machine; leave it out, and one is started for the run",
            findings_quote(text).s);
}

void fields_read_spool_dir(struct reader *r, const struct tree *t, void *to)
{
    char **dir = to;
    const char *text = reader_text(r, t, "an absolute path");
    if (!text)
        return;
    if (text[0] != '/' || strlen(text) > SPOOL_DIR_MAX) {
        reader_wrong(r, t, "is an absolute path of at most %d bytes", SPOOL_DIR_MAX);
        return;
    }
    free(*dir);
    *dir = reader_copy(r, text);
}
