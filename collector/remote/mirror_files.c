// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/remote/mirror_files.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/grow.h"
#include "mdr/run_file.h"
#include "run/store/cover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART ".mirrored" /* a file that is sent whole, until it is complete, in the folder where it belongs */

struct mirror_file {
    char *name;
    bool stream;
    uint64_t bytes; /* that are here */
};

static int refuse(struct mirror_files *f, const char *why)
{
    f->why = why;
    return BEZEL_EMALFORMED;
}

const char *mirror_files_name(const struct mirror_files *f)
{
    return f->open ? f->list[f->open - 1].name : "";
}

static void close_file(struct mirror_files *f)
{
    if (f->open)
        close(f->fd);
    f->open = 0;
}

void mirror_files_forget(struct mirror_files *f)
{
    close_file(f);
    for (uint32_t i = 0; i < f->capacity; i++)
        free(f->list[i].name);
    free(f->list);
    f->list = NULL;
    f->capacity = 0;
    f->whole = 0;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static bool is_name(const struct mirror_files *f, const char *name, bool stream)
{
    static const char *const whole[] = {"experiment.yaml", "versions.txt", "README"};
    for (size_t i = 0; !stream && !f->home && i < sizeof whole / sizeof *whole; i++)
        if (strcmp(name, whole[i]) == 0)
            return true;
    return run_file_ok(name);
}

/* Makes room for file `number`. */
static int grow(struct mirror_files *f, uint32_t number)
{
    uint32_t capacity = f->capacity ? f->capacity : 64;
    while (capacity <= number)
        capacity *= 2;
    return grow_zeroed(&f->list, &f->capacity, capacity, sizeof *f->list) ? 0 : BEZEL_ENOMEM;
}

/* The file of FILE, which may be new. NULL with *err. */
static struct mirror_file *find(struct mirror_files *f, const struct read_file *m, int *err)
{
    if (m->number >= READ_FILES_MAX || !is_name(f, m->name, m->stream))
        return *err = refuse(f, "lists a file that no run has"), NULL;
    *err = grow(f, m->number);
    if (*err)
        return NULL;
    struct mirror_file *it = &f->list[m->number];
    if (it->name && (strcmp(it->name, m->name) != 0 || it->stream != m->stream))
        return *err = refuse(f, "gives a file another name"), NULL;
    if (!it->name)
        *it = (struct mirror_file){.name = strdup(m->name), .stream = m->stream};
    if (!it->name)
        *err = BEZEL_ENOMEM;
    return it->name ? it : NULL;
}

/* The path below the run directory where the bytes of the file go. */
static void path_of(const struct mirror_file *it, char path[MESSAGE_TEXT_MAX + sizeof PART])
{
    const char *last = strrchr(it->name, '/') ? strrchr(it->name, '/') + 1 : it->name;
    if (it->stream)
        snprintf(path, MESSAGE_TEXT_MAX + sizeof PART, "%s", it->name);
    else
        snprintf(path, MESSAGE_TEXT_MAX + sizeof PART, "%.*s" PART, (int)(last - it->name), it->name);
}

/* Has the file open. Returns 0 or an error with errno. */
static int open_file(struct mirror_files *f, struct mirror_file *it)
{
    char path[MESSAGE_TEXT_MAX + sizeof PART];
    uint32_t number = (uint32_t)(it - f->list) + 1;
    if (f->open == number && f->fd >= 0)
        return 0;
    close_file(f);
    path_of(it, path);
    f->open = number; /* which an error is about */
    f->fd = file_open_below(f->folder, path);
    if (f->fd >= 0)
        return 0;
    f->fd = -1;
    return err_from_errno(errno);
}

/* ---- files that are sent whole ----------------------------------------------------------------------------------- */

/* Puts the complete file in its place. */
static int put_in_place(struct mirror_files *f, const struct mirror_file *it)
{
    char path[MESSAGE_TEXT_MAX + sizeof PART];
    path_of(it, path);
    int sys = renameat(f->folder, path, f->folder, it->name) == 0 ? 0 : errno;
    close_file(f);
    return sys ? (errno = sys, err_from_errno(sys)) : 0;
}

static int begin_whole(struct mirror_files *f, struct mirror_file *it, uint64_t bytes)
{
    if (f->whole || bytes > MIRROR_FILES_WHOLE_MAX)
        return refuse(f, "sends a file that is too long, or two at once");
    int err = open_file(f, it);
    if (!err && ftruncate(f->fd, 0) != 0)
        err = err_from_errno(errno);
    it->bytes = 0;
    f->whole = bytes;
    return !err && bytes == 0 ? put_in_place(f, it) : err;
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

/* Makes the hole that the file has there. A file system without holes keeps the bytes, which nobody reads. */
static int take_cover(struct mirror_files *f, const struct read_file *m)
{
    struct cover c;
    if (m->cover_bytes == 0)
        return 0;
    if (packet_get_cover(m->cover, m->cover_bytes, &c.header, &c.records) != 0 ||
        c.header.size_bytes > RUN_FILE_SIZE_MAX)
        return refuse(f, "sends a cover that is none");
    int sys = cover_copy(f->fd, &c);
    return sys == 0 || sys == EOPNOTSUPP ? 0 : (errno = sys, err_from_errno(sys));
}

static int begin_stream(struct mirror_files *f, struct mirror_file *it, const struct read_file *m,
                        struct read_have *have)
{
    uint8_t tail[READ_TAIL];
    struct stat st;
    int err = open_file(f, it);
    if (!err)
        err = take_cover(f, m);
    if (err)
        return err;
    if (fstat(f->fd, &st) != 0)
        return err_from_errno(errno);
    it->bytes = (uint64_t)st.st_size;
    size_t n = it->bytes < sizeof tail ? (size_t)it->bytes : sizeof tail;
    if (pread(f->fd, tail, n, (off_t)(it->bytes - n)) != (ssize_t)n)
        return err_from_errno(errno);
    *have = (struct read_have){.number = m->number, .bytes = it->bytes, .sum = checksum_add(CHECKSUM_START, tail, n)};
    return 1;
}

int mirror_files_take(struct mirror_files *f, const struct read_file *m, struct read_have *have)
{
    int err;
    struct mirror_file *it = find(f, m, &err);
    if (!it)
        return err;
    return it->stream ? begin_stream(f, it, m, have) : begin_whole(f, it, m->bytes);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static int append(struct mirror_files *f, struct mirror_file *it, const struct read_bytes *m)
{
    for (uint32_t done = 0; done < m->count;) {
        ssize_t n = pwrite(f->fd, m->bytes + done, m->count - done, (off_t)it->bytes);
        if (n < 0 && errno != EINTR)
            return err_from_errno(errno);
        done += n > 0 ? (uint32_t)n : 0;
        it->bytes += n > 0 ? (uint64_t)n : 0;
    }
    return 0;
}

int mirror_files_write(struct mirror_files *f, const struct read_bytes *m)
{
    struct mirror_file *it = m->number < f->capacity ? &f->list[m->number] : NULL;
    if (!it || !it->name || m->offset > it->bytes || m->offset > RUN_FILE_SIZE_MAX ||
        (!it->stream && (m->offset != it->bytes || m->count == 0 || m->count > f->whole || f->open != m->number + 1)))
        return refuse(f, "sends bytes that belong nowhere");
    int err = open_file(f, it);
    if (!err && m->offset < it->bytes) {
        err = ftruncate(f->fd, (off_t)m->offset) != 0 ? err_from_errno(errno) : 0;
        it->bytes = m->offset;
    }
    if (!err)
        err = append(f, it, m);
    if (err || it->stream)
        return err;
    f->whole -= m->count;
    return f->whole == 0 ? put_in_place(f, it) : 0;
}
