// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/doctor.h"
#include "mdr/keyring.h"
#include "mdr/link.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct finder {
    struct doctor *d;
    const char *dir;
    unsigned wrong;
};

static void tell(void *context, const char *file, const char *why)
{
    struct finder *f = context;
    f->wrong++;
    doctor_add(f->d, DOCTOR_PROBLEM, "keys", "public key", "make it anew with `bezel keygen`, or remove it",
               "%s/%s%s: %s", f->dir, file, file[0] ? ".pub" : "", why);
}

static void look_at_secrets(struct finder *f)
{
    DIR *folder = opendir(f->dir);
    for (struct dirent *e; folder && (e = readdir(folder));) {
        char path[PATH_MAX];
        struct key_secret secret;
        const char *why;
        size_t n = strlen(e->d_name);
        if (e->d_name[0] == '.' || n < 5 || strcmp(e->d_name + n - 4, ".key") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", f->dir, e->d_name);
        if (key_read_secret(path, &secret, &why) != 0) {
            f->wrong++;
            doctor_add(f->d, DOCTOR_PROBLEM, "keys", "secret key", "chmod 600, or make it anew with `bezel keygen`",
                       "%s: %s", path, why);
        }
        key_forget(&secret);
    }
    if (folder)
        closedir(folder);
}

void doctor_keys(struct doctor *d, const char *dir)
{
    if (link_has_keys())
        doctor_add(d, DOCTOR_OK, "keys", "CURVE", NULL, "this libzmq encrypts");
    else
        doctor_add(d, DOCTOR_WARNING, "keys", "CURVE", "install a libzmq that has it, as Debian's has",
                   "this libzmq was built without CURVE: links stay on this machine");
    if (!dir)
        return;
    struct finder f = {.d = d, .dir = dir};
    int known = keyring_examine(dir, tell, &f);
    if (known >= 0)
        look_at_secrets(&f);
    if (known >= 0 && !f.wrong)
        doctor_add(d, known ? DOCTOR_OK : DOCTOR_WARNING, "keys", "folder",
                   known ? NULL : "make some with `bezel keygen --dir`", "%s: %d public keys", dir, known);
}
