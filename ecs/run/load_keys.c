// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Checks the keys that an experiment names. */
#include "ecs/run/load_experiment.h"
#include "mdr/link/keyring.h"
#include "mdr/link/link.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct finder {
    struct experiment_diagnostics *found;
    const struct experiment *e;
    int err;
};

static void report(struct finder *f, bool warning, const char *path, const char *what, const char *why)
{
    if (!f->err)
        f->err = experiment_report(f->found, warning, f->e->store.keys_at, path, "%s: %s", what, why);
}

static void report_wrong_file(void *context, const char *file, const char *why)
{
    struct finder *f = context;
    char name[KEY_NAME_MAX + 8];
    snprintf(name, sizeof name, "%s.pub", file);
    report(f, file[0] != '\0', "store.keys", file[0] ? name : f->e->store.keys, why);
}

static void check_roles(struct finder *f, const struct key_public *key, unsigned roles, const char *file,
                        const char *path)
{
    char text[KEY_ROLES_TEXT + 64], needed[KEY_ROLES_TEXT];
    if ((key->roles & roles) == roles)
        return;
    snprintf(text, sizeof text, "lacks the role %s, which a node needs at a collector", key_roles_text(roles, needed));
    report(f, false, path, file, text);
}

/* Checks the public key of a persistent bezeld, which keeps its secret key in a folder of its own. */
static void check_admission(struct finder *f, const char *name, const char *path)
{
    char file[PATH_MAX];
    struct key_public public;
    const char *why;
    snprintf(file, sizeof file, "%s/%s.pub", f->e->store.keys, name);
    if (key_read_public(file, &public, &why) != 0)
        report(f, false, path, file, why);
    else
        check_roles(f, &public, KEY_OBSERVE, file, path);
}

/* Checks both files of key `name`, which must have `roles`. */
static void check_pair(struct finder *f, const char *name, unsigned roles, const char *path)
{
    char file[PATH_MAX];
    struct key_secret secret;
    struct key_public public;
    uint8_t derived[KEY_BYTES];
    const char *why;
    snprintf(file, sizeof file, "%s/%s.key", f->e->store.keys, name);
    int err = key_read_secret(file, &secret, &why);
    if (!err) {
        snprintf(file, sizeof file, "%s/%s.pub", f->e->store.keys, name);
        err = key_read_public(file, &public, &why);
    }
    if (err) {
        report(f, false, path, file, why);
        return;
    }
    bool pair = link_key_public(&secret, derived) == 0 && memcmp(derived, public.bytes, KEY_BYTES) == 0;
    key_forget(&secret);
    if (!pair)
        report(f, false, path, file, "is not the public part of the .key beside it: the files belong to two key pairs");
    check_roles(f, &public, roles, file, path);
}

int load_check_keys(const struct experiment *e, struct experiment_diagnostics *found)
{
    struct finder f = {.found = found, .e = e};
    char path[EXPERIMENT_NAME_MAX + 16];
    if (!e->store.keys)
        return 0;
    if (!link_has_keys())
        report(&f, false, "store.keys", e->store.keys,
               "this libzmq was built without CURVE: install one with CURVE, such as Debian's");
    else if (keyring_examine(e->store.keys, report_wrong_file, &f) >= 0) {
        check_pair(&f, e->store.key, 0, "store.key");
        for (uint32_t i = 0; i < e->node_count; i++) {
            snprintf(path, sizeof path, "nodes.%s.key", e->nodes[i].name);
            if (e->nodes[i].address)
                check_admission(&f, e->nodes[i].key, path);
            else
                check_pair(&f, e->nodes[i].key, KEY_OBSERVE, path);
        }
    }
    return f.err;
}
