// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/link/key.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* ---- Z85 (ZeroMQ RFC 32): five characters of base 85 for four bytes, the most significant first ------------------ */

static const char z85[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

enum { Z85_BASE = 85, Z85_GROUP = 5, Z85_WORD = 4 };

void key_to_z85(const uint8_t bytes[KEY_BYTES], char text[KEY_Z85 + 1])
{
    for (size_t i = 0; i < KEY_BYTES / Z85_WORD; i++) {
        const uint8_t *b = bytes + i * Z85_WORD;
        uint32_t word = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
        for (size_t k = Z85_GROUP; k-- > 0; word /= Z85_BASE)
            text[i * Z85_GROUP + k] = z85[word % Z85_BASE];
    }
    text[KEY_Z85] = '\0';
}

int key_from_z85(const char *text, uint8_t bytes[KEY_BYTES])
{
    for (size_t i = 0; i < KEY_BYTES / Z85_WORD; i++) {
        uint64_t word = 0;
        for (size_t k = 0; k < Z85_GROUP; k++) {
            char c = text[i * Z85_GROUP + k];
            const char *digit = c ? strchr(z85, c) : NULL;
            if (!digit)
                return BEZEL_EMALFORMED;
            word = word * Z85_BASE + (uint64_t)(digit - z85);
        }
        if (word > UINT32_MAX)
            return BEZEL_EMALFORMED;
        for (size_t k = 0; k < Z85_WORD; k++)
            bytes[i * Z85_WORD + k] = (uint8_t)(word >> (24 - 8 * k));
    }
    return 0;
}

/* ---- roles and names --------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned role;
} roles[] = {{"observe", KEY_OBSERVE}, {"control", KEY_CONTROL}, {"launch", KEY_LAUNCH}, {"read", KEY_READ}};

enum { ROLES = sizeof roles / sizeof *roles };

unsigned key_role(const char *name, size_t n)
{
    for (size_t i = 0; i < ROLES; i++)
        if (strlen(roles[i].name) == n && memcmp(roles[i].name, name, n) == 0)
            return roles[i].role;
    return 0;
}

const char *key_roles_text(unsigned set, char text[KEY_ROLES_TEXT])
{
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < ROLES; i++)
        if (set & roles[i].role)
            n += (size_t)snprintf(text + n, KEY_ROLES_TEXT - n, "%s%s", n ? " " : "", roles[i].name);
    return text;
}

static bool is_of(const char *name, const char *others)
{
    size_t n = strlen(name);
    for (const char *c = name; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr(others, *c))
            return false;
    return n >= 1 && n <= KEY_NAME_MAX && name[0] != '.' && name[0] != '-';
}

bool key_name_ok(const char *name)
{
    return is_of(name, "_-.");
}

bool key_pattern_ok(const char *pattern)
{
    return is_of(pattern, "_-.*?[]");
}

bool key_speaks_for(const struct key_public *key, const char *name, const char *node)
{
    char patterns[sizeof key->nodes], *rest = NULL;
    if (!key->nodes[0])
        return strcmp(name, node) == 0;
    memcpy(patterns, key->nodes, sizeof patterns);
    for (const char *p = strtok_r(patterns, " ", &rest); p; p = strtok_r(NULL, " ", &rest))
        if (fnmatch(p, node, 0) == 0)
            return true;
    return false;
}

/* ---- the text of a file ------------------------------------------------------------------------------------------ */

static const char secret_title[] = "bezel-secret-key ", public_title[] = "bezel-public-key ";
static const char not_version[] = "this build does not support the version of this key: make a new key, or install the "
                                  "Bezel that wrote it";

/* The rest of a text; lines end with "\n" or, of an editor for Windows, "\r\n", which the last one may lack. */
struct lines {
    const char *at, *end;
};

static bool next_line(struct lines *l, const char **line, size_t *n)
{
    if (l->at == l->end)
        return false;
    const char *stop = memchr(l->at, '\n', (size_t)(l->end - l->at));
    *line = l->at;
    *n = (size_t)((stop ? stop : l->end) - l->at);
    l->at = stop ? stop + 1 : l->end;
    if (*n > 0 && (*line)[*n - 1] == '\r')
        --*n;
    return true;
}

/* Takes a line that begins with `prefix`; *rest is the text behind that. */
static bool take(struct lines *l, const char *prefix, const char **rest, size_t *n)
{
    size_t length = strlen(prefix);
    if (!next_line(l, rest, n) || *n < length || memcmp(*rest, prefix, length) != 0)
        return false;
    *rest += length;
    *n -= length;
    return true;
}

static int take_title(struct lines *l, const char *title, const char **why)
{
    const char *rest;
    size_t n;
    if (!take(l, title, &rest, &n))
        return BEZEL_EMALFORMED;
    if (n == 1 && rest[0] == '1')
        return 0;
    *why = not_version;
    return BEZEL_EVERSION;
}

static int take_key(struct lines *l, const char *prefix, uint8_t bytes[KEY_BYTES])
{
    const char *rest;
    size_t n;
    return take(l, prefix, &rest, &n) && n == KEY_Z85 ? key_from_z85(rest, bytes) : BEZEL_EMALFORMED;
}

static int take_roles(struct lines *l, unsigned *set, const char **why)
{
    const char *rest;
    size_t n;
    if (!take(l, "roles:", &rest, &n))
        return BEZEL_EMALFORMED;
    *set = 0;
    for (size_t i = 0, word; i < n; i += word) {
        word = 1;
        if (rest[i] == ' ')
            continue;
        const char *blank = memchr(rest + i, ' ', n - i);
        word = blank ? (size_t)(blank - (rest + i)) : n - i;
        unsigned role = key_role(rest + i, word);
        if (!role) {
            *why = "'roles:' holds an unknown role: the roles are observe, control, launch and read";
            return BEZEL_EMALFORMED;
        }
        *set |= role;
    }
    if (*set)
        return 0;
    *why = "'roles:' is empty: give observe, control or launch, or remove the file";
    return BEZEL_EMALFORMED;
}

/* The line may be missing. */
static int take_nodes(struct lines *l, char nodes[KEY_NODES_MAX + 1], const char **why)
{
    char words[KEY_NODES_MAX + 1], *left = NULL;
    const char *rest;
    size_t n, length = 0;
    memset(nodes, 0, KEY_NODES_MAX + 1);
    if (l->at == l->end)
        return 0;
    if (!take(l, "nodes:", &rest, &n))
        return BEZEL_EMALFORMED;
    *why = "'nodes:' takes 1 to 255 bytes of names of nodes, in which `*`, `?` and `[...]` are patterns";
    if (n > KEY_NODES_MAX || memchr(rest, '\0', n))
        return BEZEL_EMALFORMED;
    snprintf(words, sizeof words, "%.*s", (int)n, rest);
    for (const char *p = strtok_r(words, " ", &left); p; p = strtok_r(NULL, " ", &left)) {
        if (!key_pattern_ok(p))
            return BEZEL_EMALFORMED;
        length += (size_t)snprintf(nodes + length, KEY_NODES_MAX + 1 - length, "%s%s", length ? " " : "", p);
    }
    return length ? 0 : BEZEL_EMALFORMED;
}

int key_parse_secret(const char *text, size_t n, struct key_secret *key, const char **why)
{
    struct lines l = {text, text + n};
    struct key_secret read;
    *why = "not a secret key of `bezel keygen`, which has two lines: 'bezel-secret-key 1' and 'secret: ...'";
    int err = take_title(&l, secret_title, why);
    if (!err)
        err = take_key(&l, "secret: ", read.bytes);
    if (!err && l.at != l.end)
        err = BEZEL_EMALFORMED;
    if (!err)
        *key = read;
    key_forget(&read);
    return err;
}

int key_parse_public(const char *text, size_t n, struct key_public *key, const char **why)
{
    struct lines l = {text, text + n};
    struct key_public read;
    *why =
        "not a public key of `bezel keygen`, which has these lines: 'bezel-public-key 1', 'public: ...', 'roles: ...', "
        "and perhaps 'nodes: ...'";
    int err = take_title(&l, public_title, why);
    if (!err)
        err = take_key(&l, "public: ", read.bytes);
    if (!err)
        err = take_roles(&l, &read.roles, why);
    if (!err)
        err = take_nodes(&l, read.nodes, why);
    if (!err && l.at != l.end)
        err = BEZEL_EMALFORMED;
    if (!err)
        *key = read;
    return err;
}

int key_print_secret(const struct key_secret *key, char text[KEY_FILE_MAX])
{
    char code[KEY_Z85 + 1];
    key_to_z85(key->bytes, code);
    int n = snprintf(text, KEY_FILE_MAX, "%s1\nsecret: %s\n", secret_title, code);
    explicit_bzero(code, sizeof code);
    return n;
}

int key_print_public(const struct key_public *key, char text[KEY_FILE_MAX])
{
    char code[KEY_Z85 + 1], set[KEY_ROLES_TEXT];
    key_to_z85(key->bytes, code);
    return snprintf(text, KEY_FILE_MAX, "%s1\npublic: %s\nroles: %s\n%s%s%s", public_title, code,
                    key_roles_text(key->roles, set), key->nodes[0] ? "nodes: " : "", key->nodes,
                    key->nodes[0] ? "\n" : "");
}

void key_forget(struct key_secret *key)
{
    explicit_bzero(key, sizeof *key);
}
