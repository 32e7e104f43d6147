// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int program_check(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

bool program_join(const char *folder, const char *name, char *path, size_t size)
{
    int n = name[0] == '/' ? snprintf(path, size, "%s", name) : snprintf(path, size, "%s/%s", folder, name);
    return n >= 0 && (size_t)n < size;
}

int program_find(const char *list, const char *directory, const char *name, char *path, size_t size)
{
    int error = ENOENT;
    if (!list)
        list = getenv("PATH");
    if (!list)
        list = "/usr/local/bin:/usr/bin:/bin";
    for (;; list++) {
        char folder[PATH_MAX], full[PATH_MAX];
        int n = (int)strcspn(list, ":");
        snprintf(folder, sizeof folder, "%.*s", n ? n : 1, n ? list : ".");
        if (program_join(directory, folder, full, sizeof full) && program_join(full, name, path, size)) {
            int e = program_check(path);
            if (e == 0)
                return 0;
            if (e == EACCES)
                error = e;
        }
        list += n;
        if (*list == '\0')
            return error;
    }
}

bool program_folder(char path[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return slash;
}

int program_find_own(const char *name, char *path, size_t size)
{
    char self[PATH_MAX];
    if (program_folder(self) && program_join(self, name, path, size) && program_check(path) == 0)
        return 0;
    return program_find(NULL, ".", name, path, size) == 0 ? 0 : ENOENT;
}
