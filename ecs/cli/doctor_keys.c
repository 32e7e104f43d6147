// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/doctor.h"
#include "mdr/link/keyring.h"
#include "mdr/link/link.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

struct key_check {
    struct doctor *d;
    const char *dir;
    unsigned wrong;
};

static void report_public(void *context, const char *file, const char *why)
{
    struct key_check *f = context;
    f->wrong++;
    doctor_add(f->d, DOCTOR_PROBLEM, "keys", "public key", "remove it, or make a new pair with `bezel keygen --force`",
               "%s/%s%s: %s", f->dir, file, file[0] ? ".pub" : "", why);
}

static void check_secrets(struct key_check *f)
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
            doctor_add(f->d, DOCTOR_PROBLEM, "keys", "secret key",
                       "chmod 600, or make a new pair with `bezel keygen --force`", "%s: %s", path, why);
        }
        key_forget(&secret);
    }
    if (folder)
        closedir(folder);
}

void doctor_keys(struct doctor *d, const char *dir)
{
    if (link_has_keys())
        doctor_add(d, DOCTOR_OK, "keys", "CURVE", NULL, "this libzmq can encrypt links");
    else
        doctor_add(d, DOCTOR_WARNING, "keys", "CURVE", "install a libzmq with CURVE, such as Debian's",
                   "this libzmq was built without CURVE: links are possible on this machine only");
    if (!dir)
        return;
    struct key_check f = {.d = d, .dir = dir};
    int known = keyring_examine(dir, report_public, &f);
    if (known >= 0)
        check_secrets(&f);
    if (known >= 0 && !f.wrong)
        doctor_add(d, known ? DOCTOR_OK : DOCTOR_WARNING, "keys", "folder",
                   "make keys with `bezel keygen --dir DIR NAME`", "%s: %d public keys", dir, known);
}
