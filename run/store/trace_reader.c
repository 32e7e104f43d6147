// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/store/trace_reader.h"

#include "base/file.h"
#include "run/store/cover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The buffer has room for a packet of the largest size. It holds `used` bytes of the file from `offset` on, of which
 * the first `taken` were returned as packets.
 */
struct trace_reader {
    int fd;
    uint64_t offset;
    size_t taken, used;
    uint64_t packets; /* up to the place, also those that expired */
    uint64_t records; /* likewise */
    bool known;       /* `first` is there */
    struct packet_header first;
    struct trace_expired expired;
    const char *reason;
    uint8_t bytes[PACKET_MAX_BYTES];
};

/* Allocates only after the file is open: most rings that callers try have no file. */
int trace_reader_open(const char *path, struct trace_reader **r)
{
    int fd = file_open_plain(path, TRACE_READER_PLAIN, false);
    if (fd < 0)
        return fd == BEZEL_EINVAL || errno == ELOOP || errno == ENXIO ? BEZEL_EMALFORMED : fd;
    struct trace_reader *it = malloc(sizeof *it);
    if (!it) {
        close(fd);
        return BEZEL_ENOMEM;
    }
    it->fd = fd;
    it->offset = it->packets = it->records = 0;
    it->taken = it->used = 0;
    it->known = false;
    memset(&it->expired, 0, sizeof it->expired);
    it->reason = "";
    *r = it;
    return 0;
}

void trace_reader_close(struct trace_reader *r)
{
    if (!r)
        return;
    close(r->fd);
    free(r);
}

const struct trace_expired *trace_reader_expired(const struct trace_reader *r)
{
    return &r->expired;
}

static void move_on(struct trace_reader *r, uint64_t bytes, uint64_t packets)
{
    r->offset = bytes;
    r->taken = r->used = 0;
    r->packets = packets;
}

void trace_reader_skip(struct trace_reader *r, uint64_t bytes, uint64_t packets)
{
    if (bytes > trace_reader_offset(r))
        move_on(r, bytes, packets);
}

void trace_reader_again(struct trace_reader *r, const struct packet_header *h)
{
    r->taken -= h->size_bytes;
    r->packets--;
    r->records -= h->records;
}

/* What the buffer has is gone, or about to go. */
static void pass_expired(struct trace_reader *r, const struct cover *c)
{
    uint64_t packets = c->header.seq + 1;
    r->expired.packets += packets > r->packets ? packets - r->packets : 0;
    r->expired.records += c->records > r->records ? c->records - r->records : 0;
    r->expired.cover = c->header;
    r->expired.cover_records = c->records;
    r->records = c->records;
    if (!r->known)
        r->first = c->header;
    r->known = true;
    move_on(r, c->header.size_bytes, packets);
}

/*
 * Moves the bytes not yet returned to the front and reads more. Returns 1 where there are more, or the place is another
 * one, because what was there expired; 0; or an error.
 */
static int trace_reader_fill(struct trace_reader *r)
{
    memmove(r->bytes, r->bytes + r->taken, r->used - r->taken);
    r->offset += r->taken;
    r->used -= r->taken;
    r->taken = 0;
    ssize_t n;
    do
        n = pread(r->fd, r->bytes + r->used, sizeof r->bytes - r->used, (off_t)(r->offset + r->used));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_from_errno(errno);
    r->used += (size_t)n;
    struct cover c;
    if (!cover_reaches(r->fd, r->offset, &c))
        return n > 0;
    pass_expired(r, &c);
    return 1;
}

/* Whether a packet is the next one of this file; else sets the reason. */
static bool trace_reader_expects(struct trace_reader *r, const struct packet_header *h)
{
    if (!r->known)
        r->first = *h;
    r->known = true;
    r->reason = NULL;
    if (memcmp(h->uuid, r->first.uuid, sizeof h->uuid) != 0 || h->stream_id != r->first.stream_id ||
        h->instance != r->first.instance || h->ring != r->first.ring)
        r->reason = "a packet of another stream";
    else if (h->seq > r->packets)
        r->reason = "packets are missing before this one";
    else if (h->seq < r->packets)
        r->reason = "a packet that came before";
    return !r->reason;
}

const char *trace_reader_reason(const struct trace_reader *r)
{
    return r->reason;
}

int trace_reader_next(struct trace_reader *r, struct packet_header *h, const uint8_t **packet)
{
    int err;
    while ((err = packet_get_header(r->bytes + r->taken, r->used - r->taken, h)) == BEZEL_EAGAIN) {
        int n = trace_reader_fill(r);
        if (n <= 0)
            return n;
    }
    if (err) {
        r->reason = err == BEZEL_EVERSION ? "a packet of another version of Bezel" : "bytes that are no packet";
        return err;
    }
    if (!trace_reader_expects(r, h))
        return BEZEL_EMALFORMED;
    *packet = r->bytes + r->taken;
    r->taken += h->size_bytes;
    r->packets++;
    r->records += h->records;
    return 1;
}

uint64_t trace_reader_offset(const struct trace_reader *r)
{
    return r->offset + r->taken;
}

uint64_t trace_reader_rest(const struct trace_reader *r)
{
    struct stat st;
    if (fstat(r->fd, &st) != 0 || (uint64_t)st.st_size < trace_reader_offset(r))
        return 0;
    return (uint64_t)st.st_size - trace_reader_offset(r);
}

static int is_stream_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "metadata") != 0;
}

int trace_reader_list(const char *trace, int (*each)(const char *path, void *context), void *context)
{
    struct dirent **entries;
    int dir = file_open_plain(trace, TRACE_READER_PLAIN - 1, true);
    if (dir < 0)
        return dir;
    int count = scandirat(dir, ".", &entries, is_stream_file, alphasort), saved = errno;
    close(dir);
    errno = saved;
    if (count < 0)
        return err_from_errno(errno);
    int result = 0;
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%s/%s", trace, entries[i]->d_name);
        if (result == 0)
            result = n < (int)sizeof path ? each(path, context) : BEZEL_EINVAL;
        free(entries[i]);
    }
    free(entries);
    return result;
}

static uint64_t file_bytes(int dir, const char *name)
{
    struct stat st;
    bool counts = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
    return counts ? (uint64_t)st.st_size : 0;
}

/* Calls `each` with every entry of a directory below `dir`, and returns the sum. */
static uint64_t sum_directory(int dir, const char *name, uint64_t (*each)(int dir, const struct dirent *entry))
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    uint64_t sum = 0;
    for (const struct dirent *e; (e = readdir(entries));)
        sum += is_stream_file(e) ? each(dirfd(entries), e) : 0;
    closedir(entries);
    return sum;
}

static uint64_t stream_bytes(int dir, const struct dirent *entry)
{
    return file_bytes(dir, entry->d_name);
}

static uint64_t node_bytes(int dir, const struct dirent *entry)
{
    return sum_directory(dir, entry->d_name, stream_bytes);
}

uint64_t trace_reader_trace_bytes(const char *run)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/trace", run) < (int)sizeof path ? sum_directory(AT_FDCWD, path, node_bytes)
                                                                           : 0;
}

/* The collector holds a lock on the directory. Trying it holds it only for a moment. */
bool trace_reader_is_served(const char *run)
{
    int fd = open(run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool served = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return served;
}
