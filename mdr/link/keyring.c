// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/link/keyring.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/ulimit.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct keys {
    size_t count;
    struct keyring_key *list; /* by name */
};

struct keyring {
    char *dir;
    pthread_mutex_t reading; /* held while the folder is read */
    int64_t looked;
    uint64_t print;       /* fingerprint of the folder when it was read; 0: it could not be read */
    pthread_mutex_t lock; /* of `keys` alone: whoever finds a key does not wait for a disk */
    struct keys keys;
};

struct listener {
    void (*report)(void *context, const char *file, const char *why);
    void *context;
};

/* ---- reading a folder -------------------------------------------------------------------------------------------- */

/* Whether a file is a public key by its name; `name` gets the key's name. */
static bool is_key_file(const char *file, char name[KEY_NAME_MAX + 1])
{
    size_t n = strlen(file);
    if (file[0] == '.' || n < 5 || n - 4 > KEY_NAME_MAX || strcmp(file + n - 4, ".pub") != 0)
        return false;
    memcpy(name, file, n - 4);
    name[n - 4] = '\0';
    return key_name_ok(name);
}

static const char *check_folder(DIR *folder)
{
    struct stat st;
    if (fstat(dirfd(folder), &st) != 0)
        return strerror(errno);
    return st.st_mode & 022 ? "others can write this folder and so admit themselves: chmod go-w it" : NULL;
}

/*
 * The fingerprint of an entry, from its name, times, size and inode. A folder's is the sum, since the order of entries
 * may change.
 */
static uint64_t entry_print(int fd, const char *file)
{
    struct stat st;
    if (fstatat(fd, file, &st, 0) != 0)
        return 1;
    uint64_t all[] = {(uint64_t)st.st_mtim.tv_sec,  (uint64_t)st.st_mtim.tv_nsec, (uint64_t)st.st_ctim.tv_sec,
                      (uint64_t)st.st_ctim.tv_nsec, (uint64_t)st.st_size,         (uint64_t)st.st_ino};
    return hash_fnv64(hash_fnv64(HASH_FNV64_START, file, strlen(file)), all, sizeof all);
}

/* The folder's fingerprint; 0 where it may not be read. */
static uint64_t folder_print(const char *dir)
{
    char name[KEY_NAME_MAX + 1];
    DIR *folder = opendir(dir);
    if (!folder)
        return 0;
    uint64_t print = 0;
    if (!check_folder(folder)) {
        int err;
        print = 2;
        for (struct dirent *e; (e = file_next(folder, &err));)
            if (is_key_file(e->d_name, name))
                print += entry_print(dirfd(folder), e->d_name);
        print = err ? 0 : print | 1;
    }
    closedir(folder);
    return print;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct keyring_key *)a)->name, ((const struct keyring_key *)b)->name);
}

/* Drops keys that have two names: the roles of both files would apply. */
static void drop_doubles(struct keys *keys, const struct listener *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < keys->count; i++) {
        bool same = false;
        for (size_t k = 0; k < keys->count && !same; k++)
            same = k != i && memcmp(keys->list[k].key.bytes, keys->list[i].key.bytes, KEY_BYTES) == 0;
        keys->list[i].key.roles = same ? 0 : keys->list[i].key.roles;
    }
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->list[i].key.roles)
            keys->list[kept++] = keys->list[i];
        else
            l->report(l->context, keys->list[i].name, "another file of the folder holds the same key: remove one");
    }
    keys->count = kept;
}

/* Whether a failure says nothing about the folder, as where connections have used up all descriptors. */
static bool is_of_this_moment(int sys)
{
    return sys == EMFILE || sys == ENFILE || sys == ENOMEM || sys == EINTR;
}

static int add_key(const char *dir, const char *file, struct keys *keys, const struct listener *l)
{
    char path[PATH_MAX];
    struct keyring_key read;
    const char *why;
    if (!is_key_file(file, read.name))
        return 0;
    if (snprintf(path, sizeof path, "%s/%s", dir, file) >= (int)sizeof path)
        return BEZEL_EINVAL;
    errno = 0;
    int err = key_read_public(path, &read.key, &why);
    if (err && is_of_this_moment(errno))
        return err;
    if (err) {
        l->report(l->context, read.name, why);
        return 0;
    }
    if (keys->count == KEYRING_KEYS_MAX) {
        l->report(l->context, read.name, "the folder holds more than 1024 keys; this one is ignored: remove some");
        return 0;
    }
    if (!keys->list && !(keys->list = calloc(KEYRING_KEYS_MAX, sizeof *keys->list)))
        return BEZEL_ENOMEM;
    keys->list[keys->count++] = read;
    return 0;
}

/* What is of this moment is not reported, and errno has it. */
static int read_folder(const char *dir, struct keys *keys, const struct listener *l)
{
    *keys = (struct keys){0};
    DIR *folder = opendir(dir);
    const char *why = folder ? check_folder(folder) : strerror(errno);
    int err = folder ? why ? BEZEL_EPERM : 0 : err_from_errno(errno);
    if (why && !is_of_this_moment(errno))
        l->report(l->context, "", why);
    for (struct dirent *e; folder && !err && (e = file_next(folder, &err));)
        err = add_key(dir, e->d_name, keys, l);
    int sys = errno;
    if (err && !why && !is_of_this_moment(sys))
        l->report(l->context, "", ulimit_reason(err));
    if (folder)
        closedir(folder);
    if (err) {
        free(keys->list);
        *keys = (struct keys){0};
        errno = sys;
        return err;
    }
    if (keys->count > 0)
        qsort(keys->list, keys->count, sizeof *keys->list, by_name);
    drop_doubles(keys, l);
    return 0;
}

int keyring_examine(const char *dir, void (*report)(void *context, const char *file, const char *why), void *context)
{
    struct keys keys;
    errno = 0;
    int err = read_folder(dir, &keys, &(struct listener){report, context});
    if (err && is_of_this_moment(errno))
        report(context, "", ulimit_reason(err));
    free(keys.list);
    return err ? err : (int)keys.count;
}

/* ---- the ring ---------------------------------------------------------------------------------------------------- */

static void log_problem(void *context, const char *file, const char *why)
{
    const char *dir = context;
    if (file[0])
        log_error("BEZEL-KEYS", "%s/%s.pub is not admitted: %s", dir, file, why);
    else
        log_error("BEZEL-KEYS", "no peer is admitted by the keys in %s: %s", dir, why);
}

/* Logs what keys have lost since they were read before: else the links of their peers would fall silent without a word.
 */
static void log_losses(const char *dir, const struct keys *before, const struct keys *now)
{
    char roles[KEY_ROLES_TEXT];
    for (size_t i = 0; i < before->count; i++) {
        const struct keyring_key *was = &before->list[i];
        unsigned lost = was->key.roles;
        for (size_t k = 0; k < now->count; k++)
            if (memcmp(now->list[k].key.bytes, was->key.bytes, KEY_BYTES) == 0)
                lost &= ~now->list[k].key.roles;
        if (lost)
            log_warn("BEZEL-KEY-TAKEN",
                     "key %s no longer has the roles %s, as its file in %s says: messages that need these roles are "
                     "refused from now on; nodes keep their packets, in case the key gets the roles back",
                     was->name, key_roles_text(lost, roles), dir);
    }
}

/*
 * The fingerprint is taken first: a change while the folder is read is then found at the next look. Where the folder
 * cannot be read for the moment, the keys stay as they are.
 */
static int read_again(struct keyring *ring)
{
    struct keys keys;
    errno = 0;
    uint64_t print = folder_print(ring->dir);
    int err = print == 0 && is_of_this_moment(errno) ? err_from_errno(errno) : 0;
    if (!err && print == ring->print && ring->looked != 0)
        return 0;
    if (!err)
        err = read_folder(ring->dir, &keys, &(struct listener){log_problem, ring->dir});
    if (err && is_of_this_moment(errno)) {
        log_error("BEZEL-KEYS", "the keys in %s cannot be read now: %s; those that are known stay", ring->dir,
                  ulimit_reason(err));
        return err;
    }
    pthread_mutex_lock(&ring->lock);
    struct keys before = ring->keys;
    ring->keys = keys;
    pthread_mutex_unlock(&ring->lock);
    log_losses(ring->dir, &before, &keys);
    free(before.list);
    ring->print = print;
    return err;
}

int keyring_open(const char *dir, struct keyring **out)
{
    struct keyring *ring = calloc(1, sizeof *ring);
    if (!ring || !(ring->dir = strdup(dir))) {
        free(ring);
        return BEZEL_ENOMEM;
    }
    pthread_mutex_init(&ring->reading, NULL);
    pthread_mutex_init(&ring->lock, NULL);
    int err = read_again(ring);
    ring->looked = clock_now();
    if (err) {
        keyring_free(ring);
        return err;
    }
    *out = ring;
    return 0;
}

void keyring_free(struct keyring *ring)
{
    if (!ring)
        return;
    pthread_mutex_destroy(&ring->reading);
    pthread_mutex_destroy(&ring->lock);
    free(ring->keys.list);
    free(ring->dir);
    free(ring);
}

void keyring_look(struct keyring *ring, int64_t now)
{
    pthread_mutex_lock(&ring->reading);
    if (now - ring->looked >= KEYRING_LOOK) {
        ring->looked = now;
        (void)!read_again(ring); /* on failure no key is admitted */
    }
    pthread_mutex_unlock(&ring->reading);
}

int keyring_find(struct keyring *ring, const uint8_t bytes[KEY_BYTES], struct keyring_key *found)
{
    int err = BEZEL_ENOENT;
    pthread_mutex_lock(&ring->lock);
    for (size_t i = 0; i < ring->keys.count && err; i++)
        if (memcmp(ring->keys.list[i].key.bytes, bytes, KEY_BYTES) == 0) {
            *found = ring->keys.list[i];
            err = 0;
        }
    pthread_mutex_unlock(&ring->lock);
    return err;
}
