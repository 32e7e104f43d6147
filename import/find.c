// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "import/find.h"

#include "base/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_SEPARATOR = 0x1e, DEPTH_MAX = 16 };

/* Metadata of CTF 2 are JSON texts with a record separator before each. */
static bool is_ctf_2(const char *path)
{
    unsigned char first = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && read(fd, &first, 1) == 1 && first == RECORD_SEPARATOR;
    if (fd >= 0)
        close(fd);
    return is;
}

static int add(struct find *f, const FTSENT *metadata)
{
    if (!grow_list(&f->folders, &f->room, f->count, sizeof *f->folders))
        return BEZEL_ENOMEM;
    char *folder = strndup(metadata->fts_path, (size_t)(metadata->fts_pathlen - metadata->fts_namelen - 1));
    if (!folder)
        return BEZEL_ENOMEM;
    f->folders[f->count++] = folder;
    if (is_ctf_2(metadata->fts_accpath))
        f->ctf_2 = folder;
    return 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

int find_traces(const char *path, struct find *f)
{
    char *paths[] = {(char *)(uintptr_t)path, NULL};
    int err = 0;
    *f = (struct find){0};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
    for (FTSENT *e; tree && !err && (errno = 0, e = fts_read(tree));) {
        if (e->fts_info == FTS_D && e->fts_level > DEPTH_MAX)
            (void)!fts_set(tree, e, FTS_SKIP);
        if (e->fts_info == FTS_F && strcmp(e->fts_name, "metadata") == 0)
            err = add(f, e);
        if (e->fts_info == FTS_DNR || e->fts_info == FTS_ERR || (e->fts_info == FTS_NS && e->fts_level == 0))
            errno = e->fts_errno, err = err_from_errno(errno);
    }
    int sys = errno;
    if (!tree || (!err && sys))
        err = err_from_errno(sys);
    if (tree)
        fts_close(tree);
    errno = sys;
    return err;
}

void find_fini(struct find *f)
{
    for (size_t i = 0; i < f->count; i++)
        free(f->folders[i]);
    free(f->folders);
    *f = (struct find){0};
}
