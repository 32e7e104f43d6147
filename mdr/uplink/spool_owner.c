// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The owner of a spool, and the removal of abandoned spools, which their daemon could not remove. */
#include "base/clock.h"
#include "base/log.h"
#include "mdr/uplink/spool_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    OWNER_AT = 1024 + SPOOL_MARKS, /* behind the marks */
    OWNER_FOLDER = 2048,
    OWNER_OLD_S = 3600,
};

/* A spool can be used only with the window that numbered its streams, in the same boot of the machine. */
struct spool_owner {
    uint8_t boot[16];
    char folder[OWNER_FOLDER]; /* of the window */
    uint64_t sum;
};

_Static_assert(OWNER_AT + sizeof(struct spool_owner) <= SPOOL_DATA, "it lies before the first entry");

int spool_settle(struct spool *s, const char *folder)
{
    struct spool_owner h = {0};
    char path[PATH_MAX];
    clock_boot_id(h.boot);
    if (!realpath(folder, path))
        return err_from_errno(errno);
    if (strlen(path) < sizeof h.folder) /* else only the boot is compared */
        memcpy(h.folder, path, strlen(path));
    h.sum = checksum_add(CHECKSUM_START, &h, offsetof(struct spool_owner, sum));
    struct iovec part = {&h, sizeof h};
    return spool_write_at(s->fd, &part, 1, OWNER_AT);
}

/* Whether a daemon may still continue with this file. If that cannot be read, it may. */
static bool has_owner(int fd)
{
    struct spool_head head;
    struct spool_owner owner;
    uint8_t boot[16];
    if (spool_read_at(fd, &head, sizeof head, 0) != 0 || head.magic != SPOOL_MAGIC ||
        spool_read_at(fd, &owner, sizeof owner, OWNER_AT) != 0 ||
        owner.sum != checksum_add(CHECKSUM_START, &owner, offsetof(struct spool_owner, sum)))
        return true;
    clock_boot_id(boot);
    if (memcmp(boot, owner.boot, sizeof boot) != 0)
        return false;
    return owner.folder[0] == '\0' || window_is_of(owner.folder, head.run, head.uuid);
}

/* A file written lately may belong to a daemon that was just killed, and whose folder is not visible here. */
static bool is_abandoned(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1 &&
           time(NULL) - st.st_mtime > OWNER_OLD_S && !has_owner(fd) && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

unsigned spool_clear(const char *dir)
{
    unsigned gone = 0;
    DIR *all = opendir(dir);
    for (struct dirent *e; all && (e = readdir(all)) != NULL;) {
        if (fnmatch("bezel-*.spool", e->d_name, 0) != 0)
            continue;
        int fd = openat(dirfd(all), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
            continue;
        if (is_abandoned(fd) && unlinkat(dirfd(all), e->d_name, 0) == 0) {
            log_info("BEZEL-SPOOL-ABANDONED",
                     "removed %s/%s: the window that it belongs to is gone, so its packets cannot be sent", dir,
                     e->d_name);
            gone++;
        }
        close(fd);
    }
    if (all)
        closedir(all);
    return gone;
}
