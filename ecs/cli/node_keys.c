// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/node_keys.h"

#include "base/file.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "ecs/course/inventory_file.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { TEXT_MAX = 256 };

void node_keys_path(const struct node_keys *k, const char *name, const char *end, char path[NODE_KEYS_PATH])
{
    snprintf(path, NODE_KEYS_PATH, "%s/%.*s%s", k->folder, KEY_NAME_MAX, name, end);
}

void node_keys_name(const char *of, char name[KEY_NAME_MAX + 1])
{
    uint8_t random[2] = {0};
    (void)!getrandom(random, sizeof random, 0);
    snprintf(name, KEY_NAME_MAX + 1, "%.50s-%02x%02x", of, random[0], random[1]);
    for (char *c = name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", *c) ||
            (c == name && *c == '.'))
            *c = '_';
}

int node_keys_make(const struct node_keys *k, char name[KEY_NAME_MAX + 1])
{
    const struct passwd *user = getpwuid(geteuid());
    char host[TEXT_MAX] = "", of[2 * TEXT_MAX], path[PATH_MAX];
    struct key_secret secret;
    struct key_public public = {.roles = KEY_OBSERVE, .nodes = "*"};
    (void)!gethostname(host, sizeof host - 1);
    snprintf(of, sizeof of, "%s.%s", user ? user->pw_name : "user", host);
    node_keys_name(of, name);
    int err = file_make_dirs(k->folder, 0700);
    if (!err)
        err = link_key_write_pair(k->folder, name, false, &secret, &public, path, sizeof path);
    key_forget(&secret);
    if (err)
        log_error("BEZEL-NODE", "cannot make this workstation's key in %s: %s", k->folder, ulimit_reason(err));
    return err;
}

int node_keys_use(struct node_keys *k, const char *name)
{
    char *copy = strdup(name), *before = k->inventory->key;
    if (!copy)
        return BEZEL_ENOMEM;
    k->inventory->key = copy;
    int err = inventory_file_write(k->inventory);
    if (err)
        k->inventory->key = before;
    free(err ? copy : before);
    return err;
}

int node_keys_print(const struct node_keys *k, const char *name, char text[KEY_FILE_MAX])
{
    char path[NODE_KEYS_PATH];
    struct key_public public;
    const char *why;
    node_keys_path(k, name, ".pub", path);
    int err = key_read_public(path, &public, &why);
    if (err) {
        log_error("BEZEL-NODE",
                  "%s: %s: it is this workstation's key, by which its nodes know it: put it back, with its .key", path,
                  why);
        return err;
    }
    public.roles = KEY_CONTROL | KEY_LAUNCH;
    public.nodes[0] = '\0';
    key_print_public(&public, text);
    return 0;
}

int node_keys_own(struct node_keys *k, char text[KEY_FILE_MAX])
{
    char name[KEY_NAME_MAX + 1];
    if (!link_has_keys()) {
        log_error("BEZEL-LINK-CURVE",
                  "cannot make keys: this libzmq was built without CURVE; install one with it, such as Debian's");
        return BEZEL_ESYS;
    }
    int err = k->inventory->key ? 0 : node_keys_make(k, name);
    if (!err && !k->inventory->key)
        err = node_keys_use(k, name);
    return err ? err : node_keys_print(k, k->inventory->key, text);
}

int node_keys_admit(const struct node_keys *k, const char *node, const struct node_traits *traits)
{
    char path[NODE_KEYS_PATH], text[KEY_FILE_MAX];
    const char *name = node_trait(traits, "key"), *said = node_trait(traits, "public");
    struct key_public public = {.roles = KEY_OBSERVE};
    if (!key_name_ok(name) || strlen(said) != KEY_Z85 || key_from_z85(said, public.bytes) != 0) {
        log_error("BEZEL-NODE", "its public key did not arrive");
        return BEZEL_EMALFORMED;
    }
    snprintf(public.nodes, sizeof public.nodes, "%s", node);
    int n = key_print_public(&public, text);
    node_keys_path(k, name, ".pub", path);
    int err = file_replace_lasting(path, text, (size_t)n);
    if (err)
        log_error("BEZEL-NODE", "cannot write %s: %s%s", path, ulimit_reason(err), file_room(path, errno));
    return err;
}

void node_keys_forget(const struct node_keys *k, const char *name)
{
    char path[NODE_KEYS_PATH];
    if (!key_name_ok(name) || (k->inventory->key && strcmp(name, k->inventory->key) == 0))
        return;
    for (const char *const *end = (const char *const[]){".key", ".pub", NULL}; *end; end++) {
        node_keys_path(k, name, *end, path);
        unlink(path);
    }
}
