// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/shm/litter.h"

#include "base/clock.h"
#include "base/procstat.h"
#include "sensor/shm/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    LITTER_LOOKS = 64,    /* files that one call opens */
    LITTER_LISTED = 1024, /* ... of so many folder entries at most */
    LITTER_LOCKED_S = 10, /* a process locks its segment within so long after making the file */
};

/* An entry of getdents64(): readdir() would allocate memory, and the first record may be made in a signal handler. */
struct entry {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t kind;
    char name[];
};

bool segment_is_locked(int fd, int at)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

/* Whether a bezeld has the folder, or may have it; *last: when one had it last, 0: never. */
static bool is_read(const struct folder *folder, time_t *last)
{
    struct stat st;
    int fd = folder_open_file(folder, LITTER_LOCK_NAME, O_RDONLY);
    *last = 0;
    if (fd < 0)
        return errno != ENOENT;
    bool locked = segment_is_locked(fd, 0) || fstat(fd, &st) != 0;
    if (!locked)
        *last = st.st_mtime;
    close(fd);
    return locked;
}

/* Whether the segment is litter. One that no bezeld ever read will not be read by a later one: its process is dead. */
static bool is_nobodys(int fd, time_t read_last)
{
    static const uint8_t none[16];
    uint8_t head[offsetof(struct segment, session) + sizeof none];
    const uint8_t *session = head + offsetof(struct segment, session);
    uint64_t magic;
    uint32_t version;
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_uid != geteuid() || st.st_size < (off_t)segment_word_bytes() ||
        segment_is_locked(fd, SEGMENT_LOCK_PROCESS) || segment_is_locked(fd, SEGMENT_LOCK_READER) ||
        pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head)
        return false;
    memcpy(&magic, head + offsetof(struct segment, magic), sizeof magic);
    memcpy(&version, head + offsetof(struct segment, version), sizeof version);
    if (magic != SEGMENT_MAGIC || version != SEGMENT_VERSION)
        return false;
    time_t since = st.st_mtime > read_last ? st.st_mtime : read_last;
    return memcmp(session, none, sizeof none) == 0 || time(NULL) - since > LITTER_KEPT_S;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* Unobserved children of the segment's process count themselves elsewhere from now on. */
static void stop_counting(int fd)
{
    struct segment *s = mmap(NULL, segment_word_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (s == MAP_FAILED)
        return;
    atomic_fetch_or_explicit(&s->unobserved, SEGMENT_UNREAD,
                             memory_order_relaxed); /* relaxed: this word alone decides who reads it */
    munmap(s, segment_word_bytes());
}

static void remove_segment(const struct folder *folder, const char *file, time_t read_last)
{
    int fd = folder_open_file(folder, file, O_RDWR);
    if (fd < 0)
        return;
    if (is_nobodys(fd, read_last)) {
        unlinkat(folder->fd, file, 0);
        stop_counting(fd);
    }
    close(fd);
}

void litter_remove_unfinished(const struct folder *folder, const char *file)
{
    struct stat st;
    int before = errno, fd = folder_open_file(folder, file, O_RDONLY);
    /* Looked at before its lock: its process may lock it, and let it grow, in between. Empty: about to be locked. */
    if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_size > 0 || time(NULL) - st.st_mtime > LITTER_LOCKED_S) &&
        !segment_is_locked(fd, SEGMENT_LOCK_PROCESS))
        unlinkat(folder->fd, file, 0);
    if (fd >= 0)
        close(fd);
    errno = before;
}

/* "PID-START TIME-PID NAMESPACE.unobserved". A launcher of another namespace cannot be looked for. */
bool litter_remove_marks(int folder, const char *file)
{
    struct procstat p;
    char *end;
    pid_t launcher = (pid_t)strtol(file, &end, 10);
    uint64_t start_time = *end == '-' ? strtoull(end + 1, &end, 10) : 0;
    uint64_t space = *end == '-' ? strtoull(end + 1, NULL, 10) : 0;
    bool alive = procstat_read(launcher, &p) ? start_time == p.start_time
                                             : launcher <= 0 || kill(launcher, 0) == 0 || errno != ESRCH;
    return !alive && space && space == procstat_namespace() && unlinkat(folder, file, 0) == 0;
}

/* Checks up to `looks` entries that could be litter, from number `from` on, and removes litter. Returns the number of
 * such entries among the first LITTER_LISTED. */
static uint32_t look(const struct folder *folder, int entries, uint32_t from, uint32_t looks, time_t read_last)
{
    _Alignas(struct entry) char buffer[1024];
    uint32_t seen = 0, listed = 0;
    for (long n; listed < LITTER_LISTED && (n = syscall(SYS_getdents64, entries, buffer, sizeof buffer)) > 0;) {
        for (long at = 0; at < n; listed++) {
            const struct entry *e = (const void *)(buffer + at);
            bool unfinished = ends_with(e->name, SEGMENT_UNFINISHED), marks = ends_with(e->name, SEGMENT_MARKS);
            at += e->bytes;
            if ((!unfinished && !marks && !ends_with(e->name, SEGMENT_SUFFIX)) || seen++ < from || seen > from + looks)
                continue;
            if (unfinished)
                litter_remove_unfinished(folder, e->name);
            else if (marks)
                (void)litter_remove_marks(folder->fd, e->name);
            else
                remove_segment(folder, e->name, read_last);
        }
    }
    return seen;
}

void litter_remove(const struct folder *folder)
{
    time_t read_last;
    int before = errno, entries = -1;
    if (!is_read(folder, &read_last) && (entries = folder_open_entries(folder)) >= 0) {
        uint32_t all = look(folder, entries, 0, 0, read_last), more = all > LITTER_LOOKS ? all - LITTER_LOOKS : 0;
        if (lseek(entries, 0, SEEK_SET) == 0)
            (void)look(folder, entries, (uint32_t)((uint64_t)clock_now() / CLOCK_US % (more + 1)), LITTER_LOOKS,
                       read_last);
        close(entries);
    }
    errno = before;
}
