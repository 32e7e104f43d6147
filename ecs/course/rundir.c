// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/rundir.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "base/uuid.h"
#include "run/store/mirror_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { SAME_SECOND_MAX = 1000 };

#define TAKE_EVERY (20 * CLOCK_MS) /* between two looks whether the private folder is free */

static const char readme[] =
    "A run of Bezel.\n"
    "\n"
    "experiment.yaml   the experiment, as it was run\n"
    "versions.txt      versions of Bezel, compiler and libc; the host\n"
    "trace/NODE/       every record, as a CTF 1.8 trace for each node: babeltrace2 trace/NODE\n"
    "run.db            everything else, in SQLite: the books, limits, decisions, metrics, events\n"
    "output/           what the processes wrote on stdout and stderr\n"
    "log/              logs of the daemons\n"
    "levels/           made by programs that show the run, and made again where it is missing\n"
    "journal           until the run has ended: how far it is, for bezel attach\n"
    "\n"
    "bezel report DIR  prints the report again (--json: as data)\n"
    "bezel export DIR  writes all records as one trace\n";

const char *rundir_runs(const char *option)
{
    const char *set = getenv("BEZEL_RUNS");
    return option ? option : set && *set ? set : "runs";
}

/* Whether the directory holds a part of a run. One that must not be looked into may be a run. */
static bool is_run(const char *dir)
{
    static const char *const parts[] = {"experiment.yaml", "run.db", "trace"};
    char path[PATH_MAX + 32];
    struct stat st;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(path, sizeof path, "%.*s/%s", PATH_MAX, dir, parts[i]);
        if (lstat(path, &st) == 0 || errno != ENOENT)
            return true;
    }
    return false;
}

/*
 * Where there are no symbolic links, `latest` is a file with the name of the newest run: it stands for that run, also
 * as an argument, as the link does.
 */
static int follow_latest(char *path, size_t size)
{
    struct stat st;
    char *name = NULL, *last = strrchr(path, '/');
    size_t n = 0;
    last = last ? last + 1 : path;
    bool is_file = strcmp(last, "latest") == 0 && lstat(path, &st) == 0 && S_ISREG(st.st_mode);
    int len = (int)strlen(path);
    if (is_file && file_read_plain(path, 1, NAME_MAX, &name, &n) == 0 && strlen(name) == n && !strchr(name, '/'))
        len = (int)(last - path) + snprintf(last, size - (size_t)(last - path), "%s", name);
    free(name);
    return len;
}

/* Whether its name begins with date and time, as rundir_make() gives them. */
static int is_dated(const struct dirent *d)
{
    static const char digits[] = "0123456789";
    return strspn(d->d_name, digits) == 8 && d->d_name[8] == '-' && strspn(d->d_name + 9, digits) == 6;
}

/* Where `latest` leads to a run that was removed, the newest beside it that has its database; false: there is none. */
static bool find_newest(char *path, size_t size)
{
    char folder[PATH_MAX], database[PATH_MAX + NAME_MAX + 16];
    struct dirent **runs = NULL;
    const char *slash = strrchr(path, '/');
    bool found = false;
    if (strcmp(slash ? slash + 1 : path, "latest") != 0)
        return false;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - path) : 2, slash ? path : "./");
    int n = scandir(folder, &runs, is_dated, versionsort);
    for (int i = n; i-- > 0; free(runs[i])) {
        snprintf(database, sizeof database, "%s%s/run.db", folder, runs[i]->d_name);
        if (!found && access(database, F_OK) == 0)
            found = snprintf(path, size, "%s%s", folder, runs[i]->d_name) < (int)size;
    }
    free(runs);
    return found;
}

int rundir_find(const char *argument, const char *runs, char *path, size_t size)
{
    int len = argument ? snprintf(path, size, "%s", argument) : snprintf(path, size, "%s/latest", runs);
    struct stat st;
    if (len >= 0 && (size_t)len < size)
        len = follow_latest(path, size);
    if (len < 0 || (size_t)len >= size)
        return BEZEL_ENOENT;
    if ((stat(path, &st) != 0 && !(errno == ENOENT && find_newest(path, size) && stat(path, &st) == 0)) ||
        !S_ISDIR(st.st_mode))
        return BEZEL_ENOENT;
    return is_run(path) ? 0 : BEZEL_EINVAL;
}

bool rundir_version(unsigned i, const char **key, char *value, size_t size)
{
    struct utsname host;
    if (uname(&host) != 0)
        memset(&host, 0, sizeof host);
    switch (i) {
    case 0:
        return *key = "versions.bezel", snprintf(value, size, "%s", BEZEL_VERSION) >= 0;
    case 1:
        return *key = "versions.compiler", snprintf(value, size, "%s", __VERSION__) >= 0;
    case 2:
        return *key = "versions.libc", snprintf(value, size, "%s", gnu_get_libc_version()) >= 0;
    case 3:
        return *key = "host.name", snprintf(value, size, "%s", host.nodename) >= 0;
    case 4:
        return *key = "host.kernel", snprintf(value, size, "%s %s", host.sysname, host.release) >= 0;
    case 5:
        return *key = "host.machine", snprintf(value, size, "%s", host.machine) >= 0;
    case 6:
        return *key = "host.cpus", snprintf(value, size, "%ld", sysconf(_SC_NPROCESSORS_ONLN)) >= 0;
    default:
        return false;
    }
}

/* A random (version 4) UUID as text. */
static int make_uuid(char text[37])
{
    unsigned char b[16];
    if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b)
        return err_from_errno(errno);
    b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
    b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
    snprintf(text, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3],
             b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
    return 0;
}

/*
 * Makes the directory, and stores its absolute path in run->path. mkdir() decides which of two simultaneous runs gets a
 * name.
 */
static int make_unique(const char *runs, const char *experiment, struct rundir *run)
{
    char stamp[32], real[PATH_MAX];
    time_t now = time(NULL);
    struct tm tm;
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime_r(&now, &tm));
    if (!realpath(runs, real))
        return err_from_errno(errno);
    for (int i = 1; i <= SAME_SECOND_MAX; i++) {
        int len = i == 1 ? snprintf(run->path, sizeof run->path, "%s/%s-%s", real, stamp, experiment)
                         : snprintf(run->path, sizeof run->path, "%s/%s-%s-%d", real, stamp, experiment, i);
        if (len < 0 || (size_t)len >= sizeof run->path)
            return errno = ENAMETOOLONG, BEZEL_EINVAL;
        if (mkdir(run->path, 0777) == 0)
            return 0;
        if (errno != EEXIST)
            return err_from_errno(errno);
    }
    return errno = EEXIST, BEZEL_EBUSY;
}

static int write_versions(const char *dir)
{
    char text[2048], value[256];
    const char *key;
    size_t n = 0;
    for (unsigned i = 0; rundir_version(i, &key, value, sizeof value) && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s: %s\n", key, value);
    return file_replace_in(dir, "versions.txt", text, n < sizeof text ? n : sizeof text - 1);
}

static int fill(const struct rundir *run, const char *text, size_t n)
{
    static const char *const folders[] = {"log", "output", "trace"};
    char path[PATH_MAX + 32];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", run->path, folders[i]);
        if (mkdir(path, 0777) != 0)
            return err_from_errno(errno);
    }
    int err = file_replace_in(run->path, "experiment.yaml", text, n);
    if (!err)
        err = file_replace_in(run->path, "README", readme, sizeof readme - 1);
    return err ? err : write_versions(run->path);
}

/* Makes a link of another name, then renames it: a reader finds the old link or the new one. */
static int replace_latest(const struct rundir *run)
{
    const char *name = strrchr(run->path, '/') + 1;
    int dir = (int)(name - run->path);
    char temporary[PATH_MAX + 64], latest[PATH_MAX + 64];
    snprintf(temporary, sizeof temporary, "%.*s.latest.%s", dir, run->path, run->uuid);
    snprintf(latest, sizeof latest, "%.*slatest", dir, run->path);
    if (symlink(name, temporary) != 0)
        return err_from_errno(errno);
    if (rename(temporary, latest) != 0) {
        int saved = errno;
        unlink(temporary);
        return errno = saved, err_from_errno(saved);
    }
    return 0;
}

/* Whether a file system has no symbolic links: FAT, some of FUSE and of network file systems. */
static bool lacks_links(int sys)
{
    return sys == EPERM || sys == ENOSYS || sys == EOPNOTSUPP || sys == EINVAL;
}

int rundir_point_latest(const struct rundir *run)
{
    int err = replace_latest(run);
    if (err && errno == EISDIR) {
        log_warn("BEZEL-RUN-LATEST",
                 "%.*s/latest is a folder that Bezel did not make, and stays: commands without a run do not find %s",
                 (int)(strrchr(run->path, '/') - run->path), run->path, run->path);
        return 0;
    }
    if (err && lacks_links(errno)) {
        const char *name = strrchr(run->path, '/') + 1;
        char runs[PATH_MAX + 32];
        snprintf(runs, sizeof runs, "%.*s", (int)(name - run->path), run->path);
        err = file_replace_in(runs, "latest", name, strlen(name));
        if (!err)
            log_warn("BEZEL-RUN-LATEST",
                     "%slatest is a file with the name of the newest run, because this file system has no symbolic "
                     "links: commands without a run find it",
                     runs);
    }
    if (err)
        log_error("BEZEL-RUN-DIR", "cannot point 'latest' to run directory %s: %s", run->path, ulimit_reason(err));
    return err;
}

int rundir_init(struct rundir *run)
{
    *run = (struct rundir){.lock = -1, .running = -1};
    int err = make_uuid(run->uuid);
    if (err)
        log_error("BEZEL-RUN-ID", "no random numbers for the run's id: %s", strerror(errno));
    return err;
}

int rundir_make(const char *runs, const char *experiment, const char *text, size_t n, struct rundir *run)
{
    int err = file_make_dirs(runs, 0777);
    if (!err)
        err = make_unique(runs, experiment, run);
    if (err) {
        log_error("BEZEL-RUN-DIR", "cannot make a run directory in %s: %s%s", runs,
                  ulimit_reason(err_from_errno(errno)), file_room(runs, errno));
        return err;
    }
    err = fill(run, text, n);
    if (err)
        log_error("BEZEL-RUN-DIR", "cannot fill run directory %s: %s%s", run->path,
                  ulimit_reason(err_from_errno(errno)), file_room(run->path, errno));
    return err;
}

/* ---- The private folder ------------------------------------------------------------------------------------------ */

/* Refuses a folder in which other users could rename or replace our files. */
static int check_own(struct folder *f)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return err_from_errno(errno);
    bool shared_but_sticky = (st.st_mode & S_ISVTX) != 0;
    if ((st.st_uid == geteuid() || st.st_uid == 0) && (!(st.st_mode & S_IWGRP) || shared_but_sticky))
        return 0;
    snprintf(f->why, sizeof f->why, "may be written by other users, who could replace the files of a run there");
    return errno = EPERM, BEZEL_EPERM;
}

/* Opens and locks `<dir>/.lock`. Returns the descriptor, or -1. */
static int lock_folder(const char *dir, int flags)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/.lock", dir);
    int fd = open(path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Removes the folders of killed runs, which hold shared memory. A folder gets its name only after it is locked. */
static void remove_abandoned(const char *base)
{
    DIR *all = opendir(base);
    if (!all)
        return;
    for (struct dirent *d; (d = readdir(all));) {
        char path[PATH_MAX];
        if (strncmp(d->d_name, "run-", 4) != 0 ||
            snprintf(path, sizeof path, "%s/%s", base, d->d_name) >= (int)sizeof path)
            continue;
        int fd = lock_folder(path, 0);
        if (fd < 0)
            continue;
        if (file_remove_tree(path) == 0)
            log_info("BEZEL-RUN-ABANDONED", "removed %s, which a killed run had left", path);
        close(fd);
    }
    closedir(all);
}

/* Whether files of the folder can be mapped, as `file`, and it can hold sockets: network file systems and FUSE may not.
 */
static bool can_serve(const char *folder, int file)
{
    char path[PATH_MAX + 32];
    void *at = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    snprintf(path, sizeof path, "%s/.socket", folder);
    bool can = at != MAP_FAILED && munmap(at, 1) == 0 && mknod(path, S_IFSOCK | 0600, 0) == 0 && unlink(path) == 0;
    if (!can)
        errno = EOPNOTSUPP;
    return can;
}

static int make_locked(const char *base, struct rundir *run)
{
    char hidden[PATH_MAX + 16];
    snprintf(hidden, sizeof hidden, "%s/.new-%.8s", base, run->uuid);
    if (mkdir(hidden, 0700) != 0)
        return err_from_errno(errno);
    run->lock = lock_folder(hidden, O_CREAT);
    size_t n = strlen(run->uuid);
    if (run->lock >= 0 && write(run->lock, run->uuid, n) == (ssize_t)n && can_serve(hidden, run->lock) &&
        rename(hidden, run->private) == 0)
        return 0;
    int saved = errno;
    if (run->lock >= 0)
        close(run->lock); /* some of FUSE keep a removed file that is open under another name */
    run->lock = -1;
    if (file_remove_tree(hidden) != 0)
        log_warn("BEZEL-RUN-PRIVATE", "cannot remove %s: %s", hidden, strerror(errno));
    return errno = saved, err_from_errno(saved);
}

/* Takes the folder that a killed `bezel run` has left, once its daemons and programs have ended. BEZEL_ENOENT: there is
 * none. */
static int take_locked(struct rundir *run, int64_t wait)
{
    int64_t until = clock_now() + wait;
    while ((run->lock = lock_folder(run->private, 0)) < 0) {
        if (errno != EWOULDBLOCK)
            return err_from_errno(errno);
        if (clock_now() >= until)
            return errno = EBUSY, BEZEL_EBUSY;
        clock_sleep_until(clock_now() + TAKE_EVERY);
    }
    return 0;
}

/* `wait`: for the folder that there may be; -1: a new one is made. */
static int open_private(struct rundir *run, int64_t wait)
{
    char base[PATH_MAX], real[PATH_MAX];
    struct folder f;
    file_bezel_dir(base, sizeof base);
    int err = folder_make(base, &f);
    if (!err && !realpath(base, real))
        err = err_from_errno(errno);
    if (!err)
        err = check_own(&f);
    folder_close(&f);
    if (!err && snprintf(run->private, sizeof run->private, "%s/run-%.8s", real, run->uuid) >= (int)sizeof run->private)
        errno = ENAMETOOLONG, err = BEZEL_EINVAL;
    if (!err && wait >= 0)
        err = take_locked(run, wait);
    if ((!err && wait < 0) || err == BEZEL_ENOENT) {
        remove_abandoned(real);
        err = make_locked(real, run);
    }
    bool copy = err == BEZEL_EBUSY && mirror_state_is_copy(run->private, run->path);
    if (err)
        run->private[0] = '\0';
    if (err && f.why[0])
        log_error("BEZEL-RUN-PRIVATE", "no folder for segments and sockets: %s %s", base, f.why);
    else if (copy)
        log_error("BEZEL-RUN-PRIVATE", "%s is a copy of a run that goes on: name the folder of the run itself",
                  run->path);
    else if (err == BEZEL_EBUSY && wait >= 0)
        log_error(
            "BEZEL-RUN-PRIVATE",
            "processes that the last `bezel run` has left still use %s/run-%.8s: are they stopped? End them, then "
            "try again",
            base, run->uuid);
    else if (err)
        log_error("BEZEL-RUN-PRIVATE",
                  "cannot use %s for segments and sockets: %s; set BEZEL_DIR to a short path of your own%s", base,
                  strerror(errno),
                  errno == EOPNOTSUPP ? ", on a file system that maps files into memory and has sockets" : "");
    return err;
}

int rundir_make_private(struct rundir *run)
{
    return open_private(run, -1);
}

int rundir_take_private(struct rundir *run, int64_t wait)
{
    return open_private(run, wait);
}

/* Without this link a copy of the run is taken for the run. */
static void link_owner(const struct rundir *run)
{
    char link[PATH_MAX + 32], real[PATH_MAX];
    snprintf(link, sizeof link, "%s/" MIRROR_STATE_OWNER, run->private);
    unlink(link);
    if (realpath(run->path, real))
        (void)!symlink(real, link);
}

int rundir_publish(const struct rundir *run)
{
    char link[PATH_MAX + 32];
    link_owner(run);
    snprintf(link, sizeof link, "%s/control", run->path);
    unlink(link); /* of a run that was taken over */
    if (symlink(run->private, link) == 0)
        return 0;
    if (lacks_links(errno)) /* a file with the same text then */
        return file_replace_in(run->path, "control", run->private, strlen(run->private));
    int err = err_from_errno(errno);
    log_error("BEZEL-RUN-DIR", "cannot make %s: %s", link, strerror(errno));
    return err;
}

/* Whether some process of the run holds the lock of its private folder; then the lock's file has the run's id. */
static bool is_held(const char *private, uint8_t uuid[16])
{
    char text[37] = "";
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/.lock", private);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (held && pread(fd, text, sizeof text - 1, 0) != sizeof text - 1)
        held = false;
    if (fd >= 0)
        close(fd);
    return held && uuid_read(text, uuid);
}

/* Reads the link `control`, or the file that stands for it where there are no links. */
static bool read_control(const char *link, char target[PATH_MAX])
{
    char *text;
    size_t size;
    ssize_t n = readlink(link, target, PATH_MAX - 1);
    if (n >= 0) {
        target[n] = '\0';
        return true;
    }
    if (errno != EINVAL || file_read_plain(link, 1, PATH_MAX - 1, &text, &size) != 0)
        return false;
    memcpy(target, text, size + 1);
    free(text);
    return strlen(target) == size;
}

int rundir_control(const char *run, char private[RUNDIR_PRIVATE_MAX], uint8_t uuid[16])
{
    char link[PATH_MAX + 32], target[PATH_MAX];
    struct stat st;
    snprintf(link, sizeof link, "%.*s/control", PATH_MAX, run);
    if (!read_control(link, target))
        return BEZEL_EUNREACH;
    if (lstat(target, &st) != 0)
        return errno == EACCES ? BEZEL_EPERM : BEZEL_EUNREACH;
    if (!folder_is_private(&st))
        return BEZEL_EPERM;
    if (!is_held(target, uuid))
        return BEZEL_EUNREACH;
    if (mirror_state_is_copy(target, run))
        return BEZEL_EBUSY;
    return snprintf(private, RUNDIR_PRIVATE_MAX, "%s", target) < RUNDIR_PRIVATE_MAX ? 0 : BEZEL_EINVAL;
}

/* ---- Running or not ---------------------------------------------------------------------------------------------- */

/*
 * The lock belongs to the open file description (fcntl(2)): it ends with `bezel run`, however that ends. The lock of
 * the private folder would not do: daemons inherit it, and outlive a `bezel run` that was killed.
 */
static int lock_running(struct rundir *run)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/experiment.yaml", run->path);
    run->running = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (run->running >= 0 && fcntl(run->running, F_OFD_SETLK, &(struct flock){.l_type = F_WRLCK}) == 0)
        return 0;
    return errno == EAGAIN || errno == EACCES ? BEZEL_EBUSY : BEZEL_ESYS;
}

static void warn_of_lock(const struct rundir *run)
{
    log_warn("BEZEL-RUN-LOCK",
             "cannot lock %s/experiment.yaml: %s; until the run ends, 'bezel report' says that it was aborted",
             run->path, strerror(errno));
}

void rundir_mark_running(struct rundir *run)
{
    if (lock_running(run) != 0)
        warn_of_lock(run);
}

int rundir_take_over(const char *path, const char *uuid, struct rundir *run)
{
    *run = (struct rundir){.lock = -1, .running = -1};
    snprintf(run->uuid, sizeof run->uuid, "%s", uuid);
    if (!realpath(path, run->path))
        return err_from_errno(errno);
    int err = lock_running(run);
    if (!err || (err != BEZEL_EBUSY && run->running < 0))
        return err;
    if (err == BEZEL_EBUSY) {
        close(run->running);
        run->running = -1;
        return err;
    }
    warn_of_lock(run); /* a file system without locks: epochs decide alone */
    return 0;
}

void rundir_leave(struct rundir *run)
{
    run->path[0] = '\0';
}

bool rundir_is_running(const char *run)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%.*s/experiment.yaml", PATH_MAX, run);
    return file_is_locked(path);
}

/* The file that is locked went with the directory. */
int rundir_follow(struct rundir *run)
{
    static const char name[] = "/experiment.yaml";
    char link[64], now[PATH_MAX];
    struct stat st;
    if (access(run->path, F_OK) == 0 || errno != ENOENT || run->running < 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", run->running);
    ssize_t n = readlink(link, now, sizeof now - 1) - (ssize_t)strlen(name);
    if (n <= 0 || strncmp(now + n, name, strlen(name)) != 0 || fstat(run->running, &st) != 0 || st.st_nlink == 0)
        return BEZEL_ENOENT;
    memcpy(run->path, now, (size_t)n);
    run->path[n] = '\0';
    return 1;
}

#define AWAY "away" /* in the run directory: where the rest of it lies */

int rundir_note_away(const char *run, const char *place)
{
    char path[PATH_MAX + 32];
    if (place)
        return file_replace_in(run, AWAY, place, strlen(place));
    snprintf(path, sizeof path, "%.*s/" AWAY, PATH_MAX, run);
    return unlink(path) == 0 || errno == ENOENT ? 0 : err_from_errno(errno);
}

bool rundir_is_away(const char *run, char *place, size_t size)
{
    char path[PATH_MAX + 32], *text;
    size_t n;
    snprintf(path, sizeof path, "%.*s/" AWAY, PATH_MAX, run);
    if (file_read_plain(path, 1, 4096, &text, &n) != 0)
        return false;
    snprintf(place, size, "%s", text);
    free(text);
    return true;
}

static void unpublish(const struct rundir *run)
{
    char link[PATH_MAX + 32];
    snprintf(link, sizeof link, "%s/control", run->path);
    if (run->path[0])
        unlink(link);
}

void rundir_close(struct rundir *run)
{
    unpublish(run);
    if (run->private[0] && file_remove_tree(run->private) != 0)
        log_warn("BEZEL-RUN-PRIVATE", "cannot remove %s: %s", run->private, strerror(errno));
    run->private[0] = '\0';
    if (run->lock >= 0)
        close(run->lock);
    run->lock = -1;
    if (run->running >= 0)
        close(run->running);
    run->running = -1;
}
