// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/store/trace_reader.h"

#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

void trace_part_close(struct trace_part *part)
{
    if (part->fd >= 0)
        close(part->fd);
    part->fd = -1;
    part->path = NULL;
}

int trace_part_open(struct trace_part *part, const char *path)
{
    if (part->path != path)
        trace_part_close(part);
    if (part->fd >= 0)
        return 0;
    int fd = file_open_plain(path, TRACE_READER_PLAIN, false);
    if (fd < 0)
        return fd == BEZEL_EINVAL || errno == ELOOP || errno == ENXIO ? BEZEL_EMALFORMED : fd;
    part->fd = fd;
    if (part->path != path)
        part->used = 0;
    part->path = path;
    return 0;
}

/* Reads behind what the part has, up to `most` bytes in all. Returns 0 or an error. */
static int read_behind(struct trace_part *part, size_t most)
{
    ssize_t n;
    do
        n = pread(part->fd, part->bytes + part->used, most - part->used, (off_t)(part->offset + part->used));
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_from_errno(errno);
    part->used += (size_t)n;
    part->end = part->used < most ? part->offset + part->used : UINT64_MAX;
    if (!cover_read(part->fd, &part->cover))
        part->cover.header.size_bytes = 0;
    return 0;
}

ssize_t trace_part_read(struct trace_part *part, const char *path, uint64_t offset, size_t want, size_t most,
                        const uint8_t **bytes)
{
    int err = trace_part_open(part, path);
    if (err)
        return err == BEZEL_ENOENT ? BEZEL_EMALFORMED : err;
    uint64_t ahead = offset - part->offset;
    bool expired = offset < part->cover.header.size_bytes;
    size_t left = ahead <= part->used && !expired ? part->used - (size_t)ahead : 0;
    if (left)
        memmove(part->bytes, part->bytes + ahead, left);
    part->offset = offset;
    part->used = left;
    err = read_behind(part, most > want ? most : want);
    if (part->rests) {
        close(part->fd);
        part->fd = -1;
    }
    *bytes = part->bytes;
    return err ? err : offset < part->cover.header.size_bytes ? BEZEL_EAGAIN : (ssize_t)part->used;
}

/* ---- a reader of whole packets ----------------------------------------------------------------------------------- */

struct whole {
    struct trace_reader reader;
    struct trace_part part;
    struct trace_expired expired;
    uint8_t bytes[PACKET_MAX_BYTES];
};

/* Allocates only after the file is open: there may be none. */
int trace_reader_open(const char *path, struct trace_reader **r)
{
    struct trace_part part = {.fd = -1};
    int err = trace_part_open(&part, path);
    if (err)
        return err;
    struct whole *it = malloc(sizeof *it);
    if (!it) {
        trace_part_close(&part);
        return BEZEL_ENOMEM;
    }
    it->part = part;
    it->part.bytes = it->bytes;
    it->expired = (struct trace_expired){0};
    it->reader = (struct trace_reader){.path = path,
                                       .part = &it->part,
                                       .most = sizeof it->bytes,
                                       .follows = true,
                                       .expired = &it->expired,
                                       .reason = ""};
    *r = &it->reader;
    return 0;
}

void trace_reader_close(struct trace_reader *r)
{
    if (!r)
        return;
    trace_part_close(r->part);
    free(r); /* the first member of a struct whole */
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

void trace_reader_measure(struct trace_reader *r, uint64_t bytes)
{
    struct trace_part *part = r->part;
    r->end = bytes > r->at.bytes ? bytes : r->at.bytes;
    if (part->path == r->path && part->offset + part->used > r->at.bytes)
        part->used = r->at.bytes > part->offset ? (size_t)(r->at.bytes - part->offset) : 0;
}

void trace_reader_follow(struct trace_reader *r, const struct model_stream *s)
{
    const struct model_expired *gone = &s->expired;
    r->process = s->process;
    if (gone->packets == 0 || gone->bytes < r->at.bytes)
        return;
    r->at = (struct trace_position){
        .chain = {.next_seq = gone->packets,
                  .next_ordinal = gone->next_ordinal,
                  .discarded = gone->discarded,
                  .last_end = gone->last_end,
                  .closed = gone->closed},
        .bytes = gone->bytes,
        .records = gone->records,
        .last = {.stream_id = s->process->stream_id, .instance = s->at.instance, .ring = s->at.ring}};
    memcpy(r->at.last.uuid, s->process->node->uuid, sizeof r->at.last.uuid);
    r->end = r->end > gone->bytes ? r->end : gone->bytes;
}

void trace_reader_pass(struct trace_reader *r)
{
    const struct cover *c = &r->part->cover;
    struct trace_position *at = &r->at;
    if (r->expired) {
        uint64_t packets = c->header.seq + 1;
        r->expired->packets += packets > at->chain.next_seq ? packets - at->chain.next_seq : 0;
        r->expired->records += c->records > at->records ? c->records - at->records : 0;
        r->expired->cover = c->header;
        r->expired->cover_records = c->records;
    }
    if (at->bytes == 0)
        at->first = c->header.timestamp_begin;
    packet_chain_pass(&at->chain, &c->header);
    at->bytes = c->header.size_bytes;
    at->records = c->records;
    at->last = c->header;
    r->end = r->end > at->bytes ? r->end : at->bytes;
}

/* Whether the file has grown beyond the end. */
static bool has_grown(struct trace_reader *r)
{
    struct stat st;
    if (fstat(r->part->fd, &st) != 0 || (uint64_t)st.st_size <= r->end)
        return false;
    trace_reader_measure(r, (uint64_t)st.st_size);
    return true;
}

/* Gets `want` bytes from the position on. Returns 1; 0 where there are fewer; or as trace_part_get(). */
static int get(struct trace_reader *r, size_t want, const uint8_t **bytes)
{
    uint64_t left = r->end - r->at.bytes;
    if (left < want)
        return 0;
    ssize_t n = trace_part_get(r->part, r->path, r->at.bytes, want, left < r->most ? (size_t)left : r->most, bytes);
    if (n < 0)
        return (int)n;
    if ((size_t)n < want) /* a torn packet was cut off meanwhile */
        r->end = r->at.bytes + (size_t)n;
    return (size_t)n >= want;
}

/* Gets the header at the present position. Returns 1, 0, BEZEL_EAGAIN, or an error. */
static int find_header(struct trace_reader *r, struct packet_header *h, const uint8_t **bytes)
{
    int is = get(r, PACKET_HEADER_BYTES, bytes);
    if (is <= 0)
        return is;
    is = packet_get_header(*bytes, PACKET_HEADER_BYTES, h);
    if (is && is != BEZEL_EAGAIN) {
        r->reason = is == BEZEL_EVERSION ? "a packet of another version of Bezel" : "bytes that are no packet";
        return is;
    }
    if (r->part->end < r->end) /* a torn packet was cut off since the file was measured */
        r->end = r->part->end;
    return 1;
}

/*
 * Gets the packet at the present position, all of it or its header alone, without a check that it is the next one of
 * its stream. A torn one that was read ahead may have given way to one of the size that it had. Returns as above.
 */
static int find(struct trace_reader *r, bool whole, struct packet_header *h, const uint8_t **bytes)
{
    int is = find_header(r, h, bytes);
    if (is > 0 && h->size_bytes > r->end - r->at.bytes) {
        trace_reader_measure(r, r->end);
        is = find_header(r, h, bytes);
    }
    if (is <= 0 || h->size_bytes > r->end - r->at.bytes)
        return is > 0 ? 0 : is;
    return whole ? get(r, (size_t)h->size_bytes, bytes) : 1;
}

/* Whether packet `h` is of the stream: by its process, if it is known, and by what was read before. */
static bool is_of(const struct trace_reader *r, const struct packet_header *h)
{
    const struct packet_header *last = &r->at.last;
    const struct model_process *p = r->process;
    if (p && (h->instance != p->instance || h->stream_id != p->stream_id ||
              memcmp(h->uuid, p->node->uuid, sizeof h->uuid) != 0))
        return false;
    return r->at.bytes == 0 || (memcmp(h->uuid, last->uuid, sizeof h->uuid) == 0 && h->stream_id == last->stream_id &&
                                h->instance == last->instance && h->ring == last->ring);
}

static int look(struct trace_reader *r, bool whole, struct packet_header *h, const uint8_t **bytes)
{
    int is;
    r->refused = false;
    while ((is = find(r, whole, h, bytes)) == BEZEL_EAGAIN || (is == 0 && r->follows && has_grown(r)))
        if (is == BEZEL_EAGAIN)
            trace_reader_pass(r);
    if (is <= 0)
        return is;
    bool ours = is_of(r, h);
    r->reason = ours ? packet_chain_check(&r->at.chain, h) : "a packet of another stream";
    r->refused = r->reason && ours && h->seq == r->at.chain.next_seq;
    return r->reason ? BEZEL_EMALFORMED : 1;
}

void trace_reader_take(struct trace_reader *r, const struct packet_header *h)
{
    struct trace_position *at = &r->at;
    if (at->bytes == 0)
        at->first = h->timestamp_begin;
    r->lost = packet_chain_take(&at->chain, h);
    at->bytes += h->size_bytes;
    at->records += h->records;
    at->last = *h;
}

int trace_reader_look(struct trace_reader *r, struct packet_header *h, const uint8_t **packet)
{
    return look(r, true, h, packet);
}

int trace_reader_next(struct trace_reader *r, struct packet_header *h, const uint8_t **packet)
{
    int is = look(r, true, h, packet);
    if (is > 0)
        trace_reader_take(r, h);
    return is;
}

int trace_reader_step(struct trace_reader *r)
{
    struct packet_header h;
    const uint8_t *header;
    int is = look(r, false, &h, &header);
    if (is > 0)
        trace_reader_take(r, &h);
    return is;
}

uint64_t trace_reader_rest(const struct trace_reader *r)
{
    struct stat st;
    if (fstat(r->part->fd, &st) != 0 || (uint64_t)st.st_size < r->at.bytes)
        return 0;
    return (uint64_t)st.st_size - r->at.bytes;
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

static int is_stream_file(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "metadata") != 0;
}

int trace_reader_folders(const char *run, int (*each)(const char *trace, const char *name, void *context),
                         void *context)
{
    char trace[PATH_MAX];
    if (snprintf(trace, sizeof trace, "%s/trace", run) >= (int)sizeof trace)
        return errno = ENAMETOOLONG, BEZEL_EINVAL;
    DIR *dir = file_open_dir(trace, 1);
    if (!dir)
        return errno == ENOENT && access(run, F_OK) == 0 ? 0 : err_from_errno(errno); /* nothing is stored yet */
    int err = 0;
    for (struct dirent *d; !err && (d = file_next(dir, &err));)
        if (d->d_name[0] != '.')
            err = each(trace, d->d_name, context);
    closedir(dir);
    return err;
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
