// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/levels/levels_store.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATE_MAX_BYTES = 256 << 20 };

/* In front of the rows of a block. The checksum is over what follows it; the nonce is the file's. */
struct block_head {
    uint64_t sum, nonce, number;
    uint32_t track, level;
};

_Static_assert(sizeof(struct block_head) % sizeof(double) == 0, "rows are aligned");

/* ---- the folder -------------------------------------------------------------------------------------------------- */

/* Opens folder `path`, made if it is missing, in which this process can write. -1: there is none. */
static int open_folder(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return -1;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* In the user's cache, by the run's number and place. */
static int open_cache(const char *run, const char *id)
{
    char real[PATH_MAX], dir[PATH_MAX], path[PATH_MAX + 64];
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
    bool set = cache && cache[0] == '/';
    if (!realpath(run, real) || (!set && !(home && home[0] == '/')))
        return -1;
    uint64_t hash = hash_fnv64(hash_fnv64(HASH_FNV64_START, id, strlen(id) + 1), real, strlen(real));
    int n = snprintf(dir, sizeof dir, "%s%s/bezel/levels", set ? cache : home, set ? "" : "/.cache");
    if (n >= (int)sizeof dir || file_make_dirs(dir, 0700) != 0)
        return -1;
    snprintf(path, sizeof path, "%s/%016llx", dir, (unsigned long long)hash);
    return open_folder(path);
}

void levels_store_measure(struct levels_store *s)
{
    uint64_t sum = 0;
    struct stat st;
    int fd = s->folder < 0 ? -1 : openat(s->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (const struct dirent *e; (e = readdir(dir));)
        if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            sum += (uint64_t)st.st_size;
    closedir(dir);
    s->kept = sum;
}

int levels_store_open(struct levels_store *s, const char *run, const char *id)
{
    char path[PATH_MAX + 16];
    s->fd = -1;
    s->block_bytes = LEVELS_BLOCK_BYTES;
    snprintf(path, sizeof path, "%s/levels", run);
    s->folder = open_folder(path);
    if (s->folder < 0)
        s->folder = open_cache(run, id);
    s->lock = (struct folder_lock){-1, -1};
    s->writes = s->folder >= 0 && folder_lock(s->folder, &s->lock) == 0;
    levels_store_measure(s);
    s->block = malloc(LEVELS_BLOCK_BYTES);
    return s->block ? 0 : BEZEL_ENOMEM;
}

void levels_store_rest(struct levels_store *s)
{
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    s->open = NULL;
}

void levels_store_close(struct levels_store *s)
{
    levels_store_rest(s);
    if (s->folder >= 0)
        close(s->folder);
    folder_unlock(&s->lock);
    s->folder = -1;
    for (size_t i = 0; i < LEVELS_CACHED; i++)
        free(s->cache[i].bytes);
    free(s->block);
}

void levels_store_forget(struct levels_store *s, const struct levels_tree *t)
{
    if (s->open == t)
        levels_store_rest(s);
    for (size_t i = 0; i < LEVELS_CACHED; i++)
        if (s->cache[i].tree == t)
            s->cache[i].tree = NULL;
}

/* Writes the name of a stream's file: "NODE.FILE". Returns 0, or BEZEL_EINVAL where it is too long. */
static int levels_store_name(const char *path, char name[LEVELS_NAME_BYTES])
{
    const char *file = strrchr(path, '/'), *node = file;
    while (node && node > path && node[-1] != '/')
        node--;
    int n = file ? snprintf(name, LEVELS_NAME_BYTES, "%.*s.%s", (int)(file - node), node, file + 1) : LEVELS_NAME_BYTES;
    return n < LEVELS_NAME_BYTES - (int)sizeof ".state" ? 0 : BEZEL_EINVAL;
}

/* Nothing is stored any more, as it could not be. */
static void give_up(struct levels_store *s, const char *path)
{
    log_warn("BEZEL-LEVELS-STORE", "cannot store levels of %s: %s; what is new stays in memory", path, strerror(errno));
    s->writes = false;
}

/* Opens file `name`, made if we write. -1 with errno. */
static int open_file(const struct levels_store *s, const char *name)
{
    struct stat st;
    int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | (s->writes ? O_RDWR | O_CREAT : O_RDONLY);
    int fd = openat(s->folder, name, flags, 0600);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1) { /* and no file of elsewhere */
        if (s->writes)
            file_share(fd, s->folder);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Opens the file of blocks of a tree, unless it is open. */
static bool open_blocks(const struct levels_tree *t)
{
    struct levels_store *s = t->store;
    char name[LEVELS_NAME_BYTES];
    if (s->open == t)
        return true;
    levels_store_rest(s);
    if (s->folder < 0 || levels_store_name(t->path, name) != 0)
        return false;
    s->fd = open_file(s, name);
    s->open = s->fd < 0 ? NULL : t;
    return s->open;
}

void levels_store_remove(struct levels_store *s, const char *path)
{
    char name[LEVELS_NAME_BYTES], state[LEVELS_NAME_BYTES + 8];
    if (!s->writes || levels_store_name(path, name) != 0)
        return;
    snprintf(state, sizeof state, "%s.state", name);
    unlinkat(s->folder, state, 0);
    unlinkat(s->folder, name, 0);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

size_t levels_store_block_rows(const struct levels_store *s, uint32_t row)
{
    return s->block_bytes > sizeof(struct block_head) + row ? (s->block_bytes - sizeof(struct block_head)) / row : 1;
}

static size_t bytes_of(const struct levels_list *list)
{
    return sizeof(struct block_head) + (size_t)list->block_rows * list->row;
}

static uint64_t sum_of(const uint8_t *block, size_t n)
{
    return checksum_add(CHECKSUM_START, block + sizeof(uint64_t), n - sizeof(uint64_t));
}

/* Writes the open rows as block `number`. Returns 0 or -1 with errno. */
static int write_block(struct levels_tree *t, const struct levels_list *list, const struct block_head *head)
{
    struct levels_store *s = t->store;
    size_t n = bytes_of(list);
    if (!open_blocks(t))
        return -1;
    memcpy(s->block, head, sizeof *head);
    memcpy(s->block + sizeof *head, list->open, n - sizeof *head);
    uint64_t sum = sum_of(s->block, n);
    memcpy(s->block, &sum, sizeof sum);
    ssize_t written = pwrite(s->fd, s->block, n, (off_t)t->file_bytes);
    if (written == (ssize_t)n)
        return 0;
    errno = written < 0 ? errno : ENOSPC;
    return -1;
}

int levels_store_block(struct levels_tree *t, struct levels_list *list, uint32_t track, unsigned level, uint64_t *at)
{
    struct levels_store *s = t->store;
    struct block_head head = {.nonce = t->nonce, .number = list->blocks, .track = track, .level = level};
    size_t n = (size_t)list->block_rows * list->row;
    if (s->writes && write_block(t, list, &head) == 0) {
        *at = t->file_bytes;
        t->file_bytes += bytes_of(list);
        s->kept += bytes_of(list);
        return 0;
    }
    if (s->writes)
        give_up(s, t->path);
    uint8_t *copy = malloc(n);
    if (!copy)
        return BEZEL_ENOMEM;
    memcpy(copy, list->open, n);
    *at = LEVELS_IN_MEMORY | (uint64_t)(uintptr_t)copy;
    s->in_memory += n;
    return 0;
}

void levels_store_drop(struct levels_tree *t, struct levels_list *list)
{
    for (size_t i = 0; i < list->blocks; i++)
        if (list->at[i] & LEVELS_IN_MEMORY) {
            free(levels_block_memory(list->at[i]));
            t->store->in_memory -= (size_t)list->block_rows * list->row;
            list->at[i] = 0;
        }
    list->dropped = (uint64_t)list->blocks * list->block_rows;
}

/* Reads a block into the cache. NULL if it is not what it must be. */
static const uint8_t *read_block(struct levels_tree *t, const struct levels_list *list, const struct block_head *is)
{
    struct levels_store *s = t->store;
    uint64_t at = list->at[is->number];
    struct levels_cached *c = &s->cache[(at / 4096 * 0x9e37 + (uintptr_t)t / 64) % LEVELS_CACHED];
    size_t n = bytes_of(list);
    struct block_head found;
    if (c->tree == t && c->at == at)
        return c->bytes + sizeof found;
    c->tree = NULL;
    if (!c->bytes && !(c->bytes = malloc(LEVELS_BLOCK_BYTES)))
        return NULL;
    if (!open_blocks(t) || pread(s->fd, c->bytes, n, (off_t)at) != (ssize_t)n)
        return NULL;
    memcpy(&found, c->bytes, sizeof found);
    if (found.nonce != is->nonce || found.number != is->number || found.track != is->track ||
        found.level != is->level || found.sum != sum_of(c->bytes, n))
        return NULL;
    c->tree = t;
    c->at = at;
    return c->bytes + sizeof found;
}

const void *levels_row(struct levels_tree *t, struct levels_list *list, uint32_t track, unsigned level, uint64_t number)
{
    if (!list || number >= list->rows)
        return t->damaged = true, NULL;
    if (number < list->dropped)
        return NULL;
    size_t block = (size_t)(number / list->block_rows), row = (size_t)(number % list->block_rows);
    if (block == list->blocks)
        return list->open + row * list->row;
    struct block_head is = {.nonce = t->nonce, .number = block, .track = track, .level = level};
    const uint8_t *rows =
        list->at[block] & LEVELS_IN_MEMORY ? levels_block_memory(list->at[block]) : read_block(t, list, &is);
    if (!rows)
        return t->damaged = true, NULL;
    return rows + row * list->row;
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

int levels_store_save(struct levels_tree *t, const struct levels_identity *of)
{
    struct levels_store *s = t->store;
    char name[LEVELS_NAME_BYTES];
    uint8_t *bytes;
    size_t n;
    if (!s->writes || levels_store_name(of->path, name) != 0)
        return BEZEL_EPERM;
    int err = levels_state_write(t, of, &bytes, &n);
    if (err)
        return err;
    strcat(name, ".state");
    err = file_replace_shared(s->folder, name, bytes, n);
    free(bytes);
    if (err)
        give_up(s, of->path);
    t->changed = t->changed && err;
    return err;
}

/* Whether the file of blocks has what the state says; what lies behind that is cut off. */
static bool cut_blocks(struct levels_tree *t)
{
    struct stat st;
    if (t->file_bytes == 0)
        return true;
    if (!open_blocks(t) || fstat(t->store->fd, &st) != 0 || (uint64_t)st.st_size < t->file_bytes)
        return false;
    return !t->store->writes || (uint64_t)st.st_size == t->file_bytes ||
           ftruncate(t->store->fd, (off_t)t->file_bytes) == 0;
}

int levels_store_load(struct levels_tree *t, const struct levels_identity *of)
{
    char name[LEVELS_NAME_BYTES], *bytes;
    size_t n;
    struct stat st;
    if (t->store->folder < 0 || levels_store_name(of->path, name) != 0)
        return BEZEL_ENOENT;
    strcat(name, ".state");
    int fd = openat(t->store->folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return BEZEL_ENOENT;
    int err =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? file_read_stream(fd, STATE_MAX_BYTES, &bytes, &n) : BEZEL_ENOENT;
    close(fd);
    if (err)
        return err == BEZEL_ENOMEM ? err : BEZEL_ENOENT;
    err = levels_state_read(t, of, (const uint8_t *)bytes, n);
    free(bytes);
    return err ? err : cut_blocks(t) ? 0 : BEZEL_ENOENT;
}
