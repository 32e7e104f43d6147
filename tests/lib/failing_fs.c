// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A file system that shows folder BELOW at MOUNT, and fails on command: failing_fs COMMANDS BELOW MOUNT. File COMMANDS
 * has lines `CALL ERRNO PART`, such as `fsync 5 /trace/`: each such call of a file whose path has PART fails. CALL is
 * one of open, write, close, fsync, rename, lock.
 *
 * Two mounts of one folder are as two machines on a server: locks of files reach both, locks of folders and memory that
 * is mapped do not. It ends when it is unmounted.
 */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { LOCKS = 1024 };

static const char *commands, *below;

/* The locks of an owner have a description of their own below, so that the kernel there tells owners apart. */
static struct {
    int used, of, fd;
    uint64_t owner;
} locks[LOCKS];

/* ---- what fails -------------------------------------------------------------------------------------------------- */

static int failure(const char *call, const char *path)
{
    char is[16], part[256];
    int sys, found = 0;
    FILE *f = fopen(commands, "re");
    while (f && !found && fscanf(f, "%15s %d %255s", is, &sys, part) == 3)
        found = strcmp(is, call) == 0 && strstr(path, part) ? sys : 0;
    if (f)
        fclose(f);
    return -found;
}

static int result(int r)
{
    return r < 0 ? -errno : r;
}

static const char *real(const char *path, char out[PATH_MAX])
{
    snprintf(out, PATH_MAX, "%s%s", below, path);
    return out;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static int fs_getattr(const char *path, struct stat *st, struct fuse_file_info *fi)
{
    char at[PATH_MAX];
    return result(fi ? fstat((int)fi->fh, st) : lstat(real(path, at), st));
}

static int fs_readlink(const char *path, char *to, size_t size)
{
    char at[PATH_MAX];
    ssize_t n = readlink(real(path, at), to, size - 1);
    if (n >= 0)
        to[n] = '\0';
    return n < 0 ? -errno : 0;
}

static int fs_mkdir(const char *path, mode_t mode)
{
    char at[PATH_MAX];
    return result(mkdir(real(path, at), mode));
}

static int fs_unlink(const char *path)
{
    char at[PATH_MAX];
    return result(unlink(real(path, at)));
}

static int fs_rmdir(const char *path)
{
    char at[PATH_MAX];
    return result(rmdir(real(path, at)));
}

static int fs_symlink(const char *target, const char *path)
{
    char at[PATH_MAX];
    return result(symlink(target, real(path, at)));
}

static int fs_link(const char *path, const char *to)
{
    char at[PATH_MAX], other[PATH_MAX];
    return result(link(real(path, at), real(to, other)));
}

static int fs_rename(const char *path, const char *to, unsigned flags)
{
    char at[PATH_MAX], other[PATH_MAX];
    int failed = failure("rename", to);
    return failed ? failed : result(renameat2(AT_FDCWD, real(path, at), AT_FDCWD, real(to, other), flags));
}

static int fs_chmod(const char *path, mode_t mode, struct fuse_file_info *fi)
{
    char at[PATH_MAX];
    return result(fi ? fchmod((int)fi->fh, mode) : chmod(real(path, at), mode));
}

static int fs_chown(const char *path, uid_t user, gid_t group, struct fuse_file_info *fi)
{
    char at[PATH_MAX];
    return result(fi ? fchown((int)fi->fh, user, group) : lchown(real(path, at), user, group));
}

static int fs_utimens(const char *path, const struct timespec times[2], struct fuse_file_info *fi)
{
    char at[PATH_MAX];
    return result(fi ? futimens((int)fi->fh, times) : utimensat(AT_FDCWD, real(path, at), times, AT_SYMLINK_NOFOLLOW));
}

static int fs_statfs(const char *path, struct statvfs *st)
{
    char at[PATH_MAX];
    return result(statvfs(real(path, at), st));
}

static int fs_readdir(const char *path, void *to, fuse_fill_dir_t fill, off_t from, struct fuse_file_info *fi,
                      enum fuse_readdir_flags flags)
{
    char at[PATH_MAX];
    DIR *dir = opendir(real(path, at));
    (void)from, (void)fi, (void)flags;
    if (!dir)
        return -errno;
    for (const struct dirent *d; (d = readdir(dir));)
        if (fill(to, d->d_name, NULL, 0, 0) != 0)
            break;
    closedir(dir);
    return 0;
}

static int fs_fsyncdir(const char *path, int data, struct fuse_file_info *fi)
{
    (void)data, (void)fi;
    return failure("fsync", path);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static int fs_create(const char *path, mode_t mode, struct fuse_file_info *fi)
{
    char at[PATH_MAX];
    int failed = failure("open", path), fd = failed ? -1 : open(real(path, at), fi->flags | O_CREAT | O_CLOEXEC, mode);
    fi->fh = (uint64_t)fd;
    return failed ? failed : fd < 0 ? -errno : 0;
}

static int fs_open(const char *path, struct fuse_file_info *fi)
{
    char at[PATH_MAX];
    int failed = failure("open", path), fd = failed ? -1 : open(real(path, at), (fi->flags & ~O_APPEND) | O_CLOEXEC);
    fi->fh = (uint64_t)fd;
    return failed ? failed : fd < 0 ? -errno : 0;
}

static int fs_read(const char *path, char *to, size_t n, off_t from, struct fuse_file_info *fi)
{
    (void)path;
    return result((int)pread((int)fi->fh, to, n, from));
}

static int fs_write(const char *path, const char *bytes, size_t n, off_t from, struct fuse_file_info *fi)
{
    int failed = failure("write", path);
    return failed ? failed : result((int)pwrite((int)fi->fh, bytes, n, from));
}

static int fs_truncate(const char *path, off_t size, struct fuse_file_info *fi)
{
    char at[PATH_MAX];
    return result(fi ? ftruncate((int)fi->fh, size) : truncate(real(path, at), size));
}

static int fs_fallocate(const char *path, int mode, off_t from, off_t n, struct fuse_file_info *fi)
{
    (void)path;
    return result(fallocate((int)fi->fh, mode, from, n));
}

static int fs_flush(const char *path, struct fuse_file_info *fi)
{
    (void)fi;
    return failure("close", path);
}

static int fs_fsync(const char *path, int data, struct fuse_file_info *fi)
{
    int failed = failure("fsync", path);
    return failed ? failed : result(data ? fdatasync((int)fi->fh) : fsync((int)fi->fh));
}

static int fs_release(const char *path, struct fuse_file_info *fi)
{
    (void)path;
    for (int i = 0; i < LOCKS; i++)
        if (locks[i].used && locks[i].of == (int)fi->fh) {
            close(locks[i].fd);
            locks[i].used = 0;
        }
    return close((int)fi->fh);
}

/* The description of an owner's locks; -1: there is none, and none could be made. */
static int owners(struct fuse_file_info *fi, int make)
{
    int unused = -1;
    char name[64];
    for (int i = 0; i < LOCKS; i++)
        if (locks[i].used && locks[i].of == (int)fi->fh && locks[i].owner == fi->lock_owner)
            return locks[i].fd;
        else if (!locks[i].used)
            unused = i;
    snprintf(name, sizeof name, "/proc/self/fd/%d", (int)fi->fh);
    int fd = make && unused >= 0 ? open(name, (fcntl((int)fi->fh, F_GETFL) & O_ACCMODE) | O_CLOEXEC) : -1;
    if (fd >= 0) {
        locks[unused].used = 1;
        locks[unused].of = (int)fi->fh;
        locks[unused].fd = fd;
        locks[unused].owner = fi->lock_owner;
    }
    return fd;
}

/* Nobody waits for a lock here: one thread serves all. */
static int fs_lock(const char *path, struct fuse_file_info *fi, int command, struct flock *lock)
{
    int failed = failure("lock", path), fd = failed ? -1 : owners(fi, command != F_GETLK && lock->l_type != F_UNLCK);
    lock->l_pid = 0;
    if (failed || (fd < 0 && lock->l_type == F_UNLCK))
        return failed;
    return result(fcntl(fd < 0 ? (int)fi->fh : fd, command == F_GETLK ? F_OFD_GETLK : F_OFD_SETLK, lock));
}

static void *fs_init(struct fuse_conn_info *c, struct fuse_config *config)
{
    (void)c;
    config->use_ino = 1;
    config->entry_timeout = config->attr_timeout = config->negative_timeout = 0;
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct fuse_operations calls = {
        .init = fs_init,
        .getattr = fs_getattr,
        .readlink = fs_readlink,
        .mkdir = fs_mkdir,
        .unlink = fs_unlink,
        .rmdir = fs_rmdir,
        .symlink = fs_symlink,
        .link = fs_link,
        .rename = fs_rename,
        .chmod = fs_chmod,
        .chown = fs_chown,
        .utimens = fs_utimens,
        .statfs = fs_statfs,
        .readdir = fs_readdir,
        .fsyncdir = fs_fsyncdir,
        .create = fs_create,
        .open = fs_open,
        .read = fs_read,
        .write = fs_write,
        .truncate = fs_truncate,
        .fallocate = fs_fallocate,
        .flush = fs_flush,
        .fsync = fs_fsync,
        .release = fs_release,
        .lock = fs_lock,
    };
    if (argc != 4)
        return 2;
    commands = argv[1];
    below = argv[2];
    umask(0);
    char *args[] = {argv[0], (char[]){"-s"}, (char[]){"-o"}, (char[]){"default_permissions"}, argv[3], NULL};
    return fuse_main(5, args, &calls, NULL);
}
