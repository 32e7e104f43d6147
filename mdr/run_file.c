// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/run_file.h"

#include <string.h>

enum { NAME_MAX_BYTES = 160 };

/* The length of the name that `path` begins with; 0 if it is none. */
static size_t name_length(const char *path)
{
    size_t n = 0;
    while (path[n] > ' ' && path[n] < 127 && path[n] != '/')
        n++;
    return path[0] == '.' || n > NAME_MAX_BYTES ? 0 : n;
}

bool run_file_ok(const char *name)
{
    if (strncmp(name, "trace/", 6) != 0)
        return false;
    const char *folder = name + 6;
    size_t n = name_length(folder);
    if (n == 0 || folder[n] != '/')
        return false;
    const char *file = folder + n + 1;
    n = name_length(file);
    return n > 0 && file[n] == '\0';
}
