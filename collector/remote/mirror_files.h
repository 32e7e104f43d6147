// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * The files of a mirror, as its server sends them. Nothing that it sends is trusted: files have names of
 * mdr/run_file.h, or three of the run directory itself; no symbolic link is followed; sizes are bounded. One thread.
 */
#ifndef BEZEL_COLLECTOR_REMOTE_MIRROR_FILES_H
#define BEZEL_COLLECTOR_REMOTE_MIRROR_FILES_H

#include "mdr/read_message.h"

#include <stddef.h>

enum { MIRROR_FILES_WHOLE_MAX = 1 << 30 };

struct mirror_file;

/** Begin with folder, the open run directory, `home`, and all else 0. */
struct mirror_files {
    int folder;
    bool home;       /* the files of the run directory itself stay as they are: the server is not to send them */
    const char *why; /* of BEZEL_EMALFORMED: what the server does, in static storage */

    /* Private. */
    struct mirror_file *list;
    uint32_t capacity;
    int fd;         /* of the file that is open */
    uint32_t open;  /* its number plus 1; 0: none is open */
    uint64_t whole; /* bytes of it that are still to come, where it is sent whole */
};

/**
 * Takes FILE. Returns 1 with *have, the answer that the server waits for; 0: it waits for none; BEZEL_EMALFORMED; or
 * another error with errno.
 */
int mirror_files_take(struct mirror_files *f, const struct read_file *m, struct read_have *have) BEZEL_MUST_CHECK;

/** Takes BYTES. Returns 0 or an error, as mirror_files_take(). */
int mirror_files_write(struct mirror_files *f, const struct read_bytes *m) BEZEL_MUST_CHECK;

/** The name of the file that was taken, or written to, last; "": there is none. */
const char *mirror_files_name(const struct mirror_files *f);

/** Forgets all files, for another connection. */
void mirror_files_forget(struct mirror_files *f);

#endif
