// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/state_file.h"

#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void state_file_init(struct state_file *f, const char *dir, const char *name, const uint8_t run[16], const char *about)
{
    memcpy(f->run, run, sizeof f->run);
    f->about = about;
    snprintf(f->path, sizeof f->path, "%s/%s", dir, name);
}

void state_file_write(const struct state_file *f, const char *text)
{
    char bytes[sizeof f->run + STATE_FILE_MAX];
    size_t n = strnlen(text, STATE_FILE_MAX);
    memcpy(bytes, f->run, sizeof f->run);
    memcpy(bytes + sizeof f->run, text, n);
    if (file_replace(f->path, bytes, sizeof f->run + n) != 0)
        log_warn("BEZEL-STATE-FILE", "cannot write %s: %s; after a restart, this daemon cannot restore %s", f->path,
                 strerror(errno), f->about);
}

char *state_file_read(const struct state_file *f)
{
    char *bytes;
    size_t n;
    if (file_read_plain(f->path, 1, sizeof f->run + STATE_FILE_MAX, &bytes, &n) != 0)
        return NULL;
    if (n < sizeof f->run || memcmp(bytes, f->run, sizeof f->run) != 0) {
        free(bytes);
        return NULL;
    }
    memmove(bytes, bytes + sizeof f->run, n - sizeof f->run + 1); /* with the NUL */
    return bytes;
}

void state_file_remove(const struct state_file *f)
{
    unlink(f->path);
}
