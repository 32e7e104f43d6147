// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/file.h"
#include "ecs/cli/doctor.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 16, USERS_BEGIN = 1000 /* whose files logind removes */ };

/* What file `path` sets of RemoveIPC, for *removes; left as it is where the file says nothing. */
static void read_setting(const char *path, bool *removes)
{
    static const char key[] = "RemoveIPC=";
    static const char *const no[] = {"no", "n", "false", "f", "off", "0"};
    char *text, *rest;
    size_t n;
    if (file_read(path, FILE_MAX, &text, &n) != 0)
        return;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char value[8] = "";
        line += strspn(line, " \t");
        if (strncmp(line, key, sizeof key - 1) != 0)
            continue;
        *removes = true;
        (void)!sscanf(line + sizeof key - 1, "%7s", value);
        for (size_t i = 0; i < sizeof no / sizeof *no; i++)
            *removes = *removes && strcmp(value, no[i]) != 0;
    }
    free(text);
}

/* Whether logind is set to remove the shared memory of users who have logged out: its default. */
static bool logind_removes(const char *root)
{
    static const char *const files[] = {"etc/systemd/logind.conf", "usr/lib/systemd/logind.conf.d/*.conf",
                                        "run/systemd/logind.conf.d/*.conf", "etc/systemd/logind.conf.d/*.conf"};
    bool removes = true;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char pattern[PATH_MAX];
        glob_t found;
        snprintf(pattern, sizeof pattern, "%s/%s", root, files[i]);
        if (glob(pattern, 0, NULL, &found) != 0)
            continue;
        for (size_t k = 0; k < found.gl_pathc; k++)
            read_setting(found.gl_pathv[k], &removes);
        globfree(&found);
    }
    return removes;
}

void doctor_logout(struct doctor *d, const char *root, const char *dir, const char *user, unsigned uid)
{
    char path[PATH_MAX], remedy[PATH_MAX];
    snprintf(path, sizeof path, "%s/run/systemd/users", root); /* made by logind */
    if (access(path, F_OK) != 0 || uid < USERS_BEGIN || strncmp(dir, "/dev/shm/", 9) != 0 || !logind_removes(root))
        return;
    snprintf(path, sizeof path, "%s/var/lib/systemd/linger/%s", root, user);
    snprintf(remedy, sizeof remedy, "sudo loginctl enable-linger %s", user);
    if (access(path, F_OK) == 0)
        doctor_add(d, DOCTOR_OK, "shared memory", "logout", NULL, "%s lingers: it stays when %s logs out", user, user);
    else
        doctor_add(
            d, DOCTOR_WARNING, "shared memory", "logout", remedy,
            "systemd-logind removes it when %s logs out for the last time (RemoveIPC): programs and services that "
            "go on then lose their records",
            user);
}
