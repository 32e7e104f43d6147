// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/shm/segment_list.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/procstat.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Of one segment ---------------------------------------------------------------------------------------------- */

void segment_copy_name(char *to, size_t size, const char *from, size_t from_size)
{
    size_t n = 0;
    for (size_t i = 0; i < from_size && from[i] && n + 1 < size; i++) {
        unsigned char c = (unsigned char)from[i];
        bool fits = isalnum(c) || c == '_' || c == '-' || (c == '.' && n > 0);
        to[n++] = (char)(fits ? c : '_');
    }
    if (n == 0)
        to[n++] = '_';
    to[n] = '\0';
}

uint64_t segment_start_time(uint32_t pid, uint64_t said)
{
    char path[40];
    struct stat its, ours;
    struct procstat now;
    snprintf(path, sizeof path, "/proc/%u/ns/time", (unsigned)pid);
    bool is_other = stat(path, &its) == 0 && stat("/proc/self/ns/time", &ours) == 0 && its.st_ino != ours.st_ino;
    return is_other && procstat_read((pid_t)pid, &now) ? now.start_time : said;
}

/* Whether the process that made the segment is certainly gone: its pid is free, reused, or a zombie's. */
static bool is_gone(uint32_t pid, uint64_t start_time)
{
    struct procstat now;
    if (!procstat_read((pid_t)pid, &now))
        return kill((pid_t)pid, 0) != 0 && errno == ESRCH; /* else /proc is hidden from us, or not there */
    return now.ended || now.start_time != start_time;
}

/*
 * The lock lives as long as somebody has the segment mapped, or its descriptor: closing all descriptors does not end
 * it; exec, a kill or the end do. But a child that the program forked behind libbezel's back has both and keeps it;
 * then the pid decides, where it is a number of our namespace and the start time tells it from a later process.
 *
 *     lock   pid namespace   process of that pid and start time   the process
 *     free   any             any                                  is dead (or has another image, by exec)
 *     held   ours            lives                                lives
 *     held   ours            gone, or a zombie                    is dead: a child of it holds the lock
 *     held   ours            not to be seen (hidepid, no /proc)   lives
 *     held   another's       any: not a number of ours            lives
 *     held   unknown         any: /proc was not that namespace's  lives
 */
bool segment_process_lives(int fd, uint32_t pid, uint64_t start_time, bool ours)
{
    return segment_is_locked(fd, SEGMENT_LOCK_PROCESS) && !(ours && is_gone(pid, start_time));
}

/* Attempts in the rings that were ever used. */
static uint64_t count_records(int fd, const struct segment *s)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->ring_max && i < SEGMENT_RINGS_MAX; i++) {
        uint64_t attempts[RING_ASPECTS];
        off_t at = (off_t)(segment_ring_offset() + i * segment_ring_stride(s->ring_slots) +
                           offsetof(struct bezel_ring, attempts));
        bool used = atomic_load_explicit(&s->ring_state[i], memory_order_relaxed); /* relaxed: of our copy */
        if (used && pread(fd, attempts, sizeof attempts, at) == (ssize_t)sizeof attempts)
            for (uint32_t a = 0; a < RING_ASPECTS; a++)
                sum += attempts[a];
    }
    return sum;
}

static void examine(int fd, const struct segment *s, struct segment_listed *row)
{
    uint64_t now = (uint64_t)clock_now();
    uint32_t slots = s->ring_slots;
    bool ours = s->pid_namespace != 0 && s->pid_namespace == procstat_namespace();
    *row = (struct segment_listed){
        .instance = s->instance, .pid = ours ? s->pid : 0, .age_ns = s->started <= now ? now - s->started : 0};
    if (segment_is_locked(fd, SEGMENT_LOCK_READER))
        memcpy(row->run, s->session, sizeof row->run);
    if (slots >= RING_SLOTS_MIN && slots <= RING_SLOTS_MAX)
        row->records = count_records(fd, s);
    segment_copy_name(row->name, sizeof row->name, s->name, sizeof s->name);
}

/* Whether `instance` of the folder is a segment of this version whose process lives; then it is in *row. */
static bool look_at(const struct folder *folder, uint64_t instance, struct segment *head, struct segment_listed *row)
{
    char file[32];
    snprintf(file, sizeof file, "%016llx" SEGMENT_SUFFIX, (unsigned long long)instance);
    int fd = folder_open_file(folder, file, O_RDONLY);
    if (fd < 0)
        return false;
    size_t n = offsetof(struct segment, enable); /* the rest is not needed */
    bool is = pread(fd, head, n, 0) == (ssize_t)n && head->magic == SEGMENT_MAGIC && head->version == SEGMENT_VERSION &&
              head->instance == instance;
    bool ours = is && head->pid != 0 && head->start_time != 0 && head->pid_namespace != 0 &&
                head->pid_namespace == procstat_namespace();
    is = is && segment_process_lives(fd, head->pid, ours ? segment_start_time(head->pid, head->start_time) : 0, ours);
    if (is)
        examine(fd, head, row);
    close(fd);
    return is;
}

/* ---- The folder -------------------------------------------------------------------------------------------------- */

/* The instance that `file` is named after; 0: none, it is no segment. */
static uint64_t instance_of(const char *file)
{
    char expected[32];
    uint64_t instance = strtoull(file, NULL, 16);
    snprintf(expected, sizeof expected, "%016llx" SEGMENT_SUFFIX, (unsigned long long)instance);
    return strcmp(expected, file) == 0 ? instance : 0;
}

/* The `SEGMENT_LIST_MAX` lowest of the instances that were offered, in order. */
struct lowest {
    uint32_t count;
    bool more; /* others had no place */
    uint64_t list[SEGMENT_LIST_MAX];
};

static void offer(struct lowest *l, uint64_t instance)
{
    uint32_t i = l->count;
    if (l->count == SEGMENT_LIST_MAX) {
        l->more = true;
        if (instance > l->list[--i])
            return;
    } else
        l->count++;
    for (; i > 0 && l->list[i - 1] > instance; i--)
        l->list[i] = l->list[i - 1];
    l->list[i] = instance;
}

/* The lowest instances above `after`. */
static int find(const struct folder *folder, uint64_t after, struct lowest *l)
{
    int err = 0, fd = folder_open_entries(folder);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        err = err_from_errno(errno);
        if (fd >= 0)
            close(fd);
        return err;
    }
    for (struct dirent *e; (e = file_next(dir, &err)) != NULL;) {
        uint64_t instance = instance_of(e->d_name);
        if (instance > after)
            offer(l, instance);
    }
    closedir(dir);
    return err;
}

int segment_list(const struct folder *folder, uint64_t after, struct segment_listed rows[static SEGMENT_LIST_MAX],
                 uint64_t *next)
{
    struct lowest lowest = {.count = 0};
    struct segment *head = malloc(sizeof *head);
    int n = 0, err = head ? find(folder, after, &lowest) : BEZEL_ENOMEM;
    for (uint32_t i = 0; !err && i < lowest.count; i++)
        n += look_at(folder, lowest.list[i], head, &rows[n]);
    free(head);
    *next = lowest.more ? lowest.list[lowest.count - 1] : 0;
    return err ? err : n;
}
