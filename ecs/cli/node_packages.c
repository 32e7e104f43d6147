// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/node_packages.h"

#include "base/file.h"
#include "base/log.h"
#include "base/program.h"
#include "base/ulimit.h"
#include "ecs/cli/node_remote.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES_MAX = 8, FILE_MAX = 1 << 16 };

/* As node.sh installs them. */
static const char *const names[] = {"bezel", "bezeld", "bezel-collector", "libbezel0"};

/* "debian 12", of this machine, on which packaging/packages made them. */
static void read_release(char *release, size_t size)
{
    char *text, *rest, id[32] = "?", version[32] = "";
    size_t n;
    if (file_read("/etc/os-release", FILE_MAX, &text, &n) == 0) {
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
            (void)!sscanf(line, "ID=%*[\"]%31[^\"]", id);
            (void)!sscanf(line, "ID=%31[^\"]", id);
            (void)!sscanf(line, "VERSION_ID=%*[\"]%31[^\"]", version);
            (void)!sscanf(line, "VERSION_ID=%31[^\"]", version);
        }
        free(text);
    }
    snprintf(release, size, "%s %s", id, version);
}

/* Adds the file of package `name` in folder `folder`; false: there is none. */
static bool add(const char *folder, const char *name, const char *architecture, struct node_packages *p)
{
    char pattern[PATH_MAX];
    struct stat st;
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/%s_" BEZEL_VERSION "-*_%s.deb", folder, name, architecture);
    if (glob(pattern, 0, NULL, &found) != 0)
        return false;
    const char *path = found.gl_pathv[found.gl_pathc - 1], *file = strrchr(path, '/') + 1; /* the last revision */
    size_t used = strlen(p->names);
    bool fits = snprintf(p->names + used, sizeof p->names - used, "%s%s", used ? " " : "", file) <
                (int)(sizeof p->names - used);
    const char *of = strrchr(file, '_') + 1;
    snprintf(p->architecture, sizeof p->architecture, "%.*s", (int)strcspn(of, "."), of);
    if (stat(path, &st) == 0)
        p->offer.bytes += (uint64_t)st.st_size;
    globfree(&found);
    return fits;
}

static bool look(const char *folder, const char *architecture, struct node_packages *p)
{
    bool all = realpath(folder, p->folder);
    p->names[0] = '\0';
    p->offer.bytes = 0;
    for (size_t i = 0; all && i < sizeof names / sizeof *names; i++)
        all = add(p->folder, names[i], architecture, p);
    return all;
}

void node_packages_find(const char *folder, const char *architecture, struct node_packages *p)
{
    static const char *const usual[] = {"../share/bezel/packages", "../packages/packages"};
    char self[PATH_MAX], path[PATH_MAX];
    *p = (struct node_packages){.offer = {.version = BEZEL_VERSION}};
    read_release(p->release, sizeof p->release);
    p->offer.release = p->release;
    p->offer.architecture = p->architecture;
    bool found = folder && (look(folder, architecture, p) || look(folder, "*", p));
    (void)program_folder(self);
    for (size_t i = 0; !folder && !found && i < sizeof usual / sizeof *usual; i++)
        found = program_join(self, usual[i], path, sizeof path) && (look(path, architecture, p) || look(path, "*", p));
    p->offer.folder = found ? p->folder : NULL;
}

/* Whether text `all` has line `line` of `n` bytes. */
static bool has_line(const char *all, const char *line, size_t n)
{
    for (; *all; all += strcspn(all, "\n") + (all[strcspn(all, "\n")] != '\0'))
        if (strncmp(all, line, n) == 0 && (all[n] == '\n' || all[n] == '\0'))
            return true;
    return false;
}

/* Compares the lines of `sums` with the SHA256SUMS beside the packages, where there is one. */
static int compare(const struct node_packages *p, const char *sums)
{
    char path[PATH_MAX + 16], *known;
    size_t n;
    int err = 0;
    snprintf(path, sizeof path, "%s/SHA256SUMS", p->folder);
    if (file_read(path, FILE_MAX, &known, &n) != 0)
        return 0;
    for (const char *line = sums; *line && !err; line += strcspn(line, "\n") + 1) {
        size_t length = strcspn(line, "\n");
        if (has_line(known, line, length))
            continue;
        log_error("BEZEL-NODE",
                  "%.*s in %s is not as SHA256SUMS there says: it was copied in part, or changed; nothing is installed",
                  (int)(length > 66 ? length - 66 : 0), line + (length > 66 ? 66 : 0), p->folder);
        err = BEZEL_EMALFORMED;
    }
    free(known);
    return err;
}

int node_packages_sums(const struct node_packages *p, char **sums)
{
    char copy[sizeof p->names],
        *words[NAMES_MAX + 8] = {(char *)"env", (char *)"-C", (char *)p->folder, (char *)"sha256sum", (char *)"--"},
                           *rest, *err = NULL;
    int n = 5;
    snprintf(copy, sizeof copy, "%s", p->names);
    for (char *word = strtok_r(copy, " ", &rest); word && n < NAMES_MAX + 7; word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    int code = node_remote_run(words, NULL, sums, &err);
    if (code != 0)
        log_error("BEZEL-NODE", "cannot read the packages in %s: %s", p->folder, code < 0 ? ulimit_reason(code) : err);
    free(err);
    return code == 0 ? compare(p, *sums) : BEZEL_ESYS;
}
