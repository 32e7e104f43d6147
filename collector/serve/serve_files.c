// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/serve/serve_files.h"

#include "base/checksum.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/log.h"
#include "mdr/run_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A stream that is offered waits for HAVE; one that is due may have something to send. */
enum state { NEW, OFFERED, READY };

struct serve_file {
    char *path;
    bool stream;
    enum state state;
    bool due, cut;
    struct timespec changed; /* as it was measured last; of a whole file: when it was sent */
    uint64_t size, inode, mark;
    struct trace_reader reader; /* at: the first byte that was not sent */
    uint64_t covered;           /* bytes of the cover that was sent to the mirror */
    uint64_t unexplained;       /* the look at which the model lacked the next packet's dictionary; 0: it did not */
    const char *lacks;          /* why it is cut; NULL: it is not */
};

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct serve_files *f, const struct serve_file *it)
{
    return it->path + strlen(f->found.run) + 1;
}

static uint32_t number_of(const struct serve_files *f, const struct serve_file *it)
{
    return (uint32_t)(it - f->list);
}

/* Adds a file. NULL with *err: memory is short, or (0) its name is none that a mirror takes. */
static struct serve_file *add(struct serve_files *f, const char *path, int *err)
{
    *err = 0;
    if (strlen(path) - strlen(f->found.run) - 1 > MESSAGE_TEXT_MAX) {
        log_warn("BEZEL-SERVE-NAME", "left out %s: its name is too long for a mirror", path);
        return NULL;
    }
    if (f->count == READ_FILES_MAX)
        return NULL; /* the mirror lacks it */
    if (!grow_by_one(&f->list, f->count, sizeof *f->list))
        return *err = BEZEL_ENOMEM, NULL;
    struct serve_file *it = &f->list[f->count];
    *it = (struct serve_file){.path = strdup(path)};
    if (!it->path)
        return *err = BEZEL_ENOMEM, NULL;
    f->count++;
    return it;
}

static int add_stream(void *context, const char *path, const struct model_process *p, const struct packet_header *first)
{
    struct serve_files *f = context;
    int err;
    (void)first;
    struct serve_file *it = run_file_ok(path + strlen(f->found.run) + 1) ? add(f, path, &err) : NULL;
    if (!it)
        return err;
    it->stream = true;
    it->reader =
        (struct trace_reader){.path = it->path, .process = p, .part = &f->part, .most = sizeof f->buffer, .reason = ""};
    return 0;
}

/* Streams keep their processes. */
static bool move(void *context, const struct model *m)
{
    struct serve_files *f = context;
    for (uint32_t i = 0; i < f->count; i++) {
        struct trace_reader *r = &f->list[i].reader;
        if (!f->list[i].stream)
            continue;
        const struct model_node *node = model_find_node(m, r->process->node->uuid);
        r->process = node ? model_find_process(node, r->process->instance) : NULL;
        if (!r->process)
            return false;
    }
    return true;
}

int serve_files_init(struct serve_files *f, const char *run, struct serve_socket *socket)
{
    const struct run_streams_owner owner = {.add = add_stream, .move = move, .context = f};
    f->socket = socket;
    f->part = (struct trace_part){.bytes = f->buffer, .fd = -1};
    return run_streams_init(&f->found, run, &owner);
}

void serve_files_fini(struct serve_files *f)
{
    trace_part_close(&f->part);
    run_streams_fini(&f->found);
    for (uint32_t i = 0; i < f->count; i++)
        free(f->list[i].path);
    free(f->list);
    free(f->whole);
}

int serve_files_look(struct serve_files *f)
{
    int err = run_streams_look(&f->found);
    if (!err && f->unexplained)
        err = run_streams_renew(&f->found);
    f->unexplained = false;
    f->looks++;
    return err;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

/* Begins a stream anew: its offer, and what was sent. */
static void begin_anew(struct serve_file *it)
{
    it->state = NEW;
    it->reader.at = (struct trace_position){.bytes = 0};
    it->covered = 0;
}

/* Whether more of the stream has expired than the mirror knows. */
static bool has_new_cover(const struct serve_file *it)
{
    struct cover c;
    int fd = file_open_plain(it->path, TRACE_READER_PLAIN, false);
    bool has = fd >= 0 && cover_read(fd, &c) && c.header.size_bytes > it->covered;
    if (fd >= 0)
        close(fd);
    return has;
}

/* Looks whether the file has changed. An expired packet changes it, too. */
static bool measure(struct serve_files *f, struct serve_file *it)
{
    struct stat st;
    if (lstat(it->path, &st) != 0 || !S_ISREG(st.st_mode))
        return false; /* it is gone: the mirror keeps what it has */
    uint64_t size = (uint64_t)st.st_size;
    if (size == it->size && memcmp(&st.st_mtim, &it->changed, sizeof it->changed) == 0)
        return false;
    if (it->state == READY && has_new_cover(it))
        it->state = NEW;
    it->size = size;
    it->changed = st.st_mtim;
    it->due = true;
    if (it->cut) { /* a collector may have removed the damage: it is offered without the reason */
        f->cut--;
        it->cut = false;
        it->lacks = NULL;
        it->state = NEW;
    }
    if (size < it->reader.at.bytes)
        begin_anew(it);
    trace_reader_measure(&it->reader, size);
    return true;
}

bool serve_files_measure(struct serve_files *f, bool all)
{
    bool grew = false;
    for (uint32_t i = 0; i < f->count; i++) {
        struct serve_file *it = &f->list[i];
        bool ended = it->reader.at.chain.closed && !it->due;
        if (it->stream && (all || !ended))
            grew = measure(f, it) || grew;
    }
    return grew;
}

/* What expires in the tick of the file system's clock that another change was in leaves a file's time as it was. */
void serve_files_look_for_covers(struct serve_files *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        if (f->list[i].stream && f->list[i].state == READY && has_new_cover(&f->list[i]))
            f->list[i].state = NEW;
}

static void count_rest(struct serve_files *f)
{
    f->behind = f->rest = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct serve_file *it = &f->list[i];
        uint64_t left = it->stream && !it->cut && it->size > it->reader.at.bytes ? it->size - it->reader.at.bytes : 0;
        f->behind += it->due ? left : 0;
        f->rest += it->due ? 0 : left;
    }
}

/* ---- files that are sent whole ----------------------------------------------------------------------------------- */

/* Sends the `size` bytes of the open file `fd`, after its FILE. */
static int send_all(struct serve_files *f, uint32_t number, int fd, uint64_t size)
{
    struct read_message *m = &f->socket->message;
    int err = 0;
    for (uint64_t at = 0; at < size && !err;) {
        size_t want = size - at < sizeof f->gathered ? (size_t)(size - at) : sizeof f->gathered;
        ssize_t n = pread(fd, f->gathered, want, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? err_from_errno(errno) : BEZEL_EMALFORMED; /* it became shorter: nobody does that */
        m->type = READ_BYTES;
        m->bytes = (struct read_bytes){.number = number, .offset = at, .count = (uint32_t)n, .bytes = f->gathered};
        err = serve_socket_send(f->socket);
        at += (uint64_t)n;
    }
    return err;
}

/* Opens the file if it is another one than that which was sent. -1: it is not, or there is none. */
static int open_changed(struct serve_file *it)
{
    struct stat st;
    int fd = file_open_plain(it->path, TRACE_READER_PLAIN, false);
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && st.st_size <= SERVE_FILES_WHOLE &&
        (st.st_ino != it->inode || (uint64_t)st.st_size != it->size ||
         memcmp(&st.st_mtim, &it->changed, sizeof it->changed) != 0)) {
        it->inode = st.st_ino;
        it->size = (uint64_t)st.st_size;
        it->changed = st.st_mtim;
        return fd;
    }
    close(fd);
    return -1;
}

static int send_if_changed(struct serve_files *f, struct serve_file *it)
{
    struct read_message *m = &f->socket->message;
    int fd = open_changed(it);
    if (fd < 0)
        return 0;
    m->type = READ_FILE;
    m->file = (struct read_file){.number = number_of(f, it), .bytes = it->size};
    snprintf(m->file.name, sizeof m->file.name, "%s", name_of(f, it));
    int err = serve_socket_send(f->socket);
    if (!err)
        err = send_all(f, number_of(f, it), fd, it->size);
    close(fd);
    return err;
}

/* The file that is sent whole, which may be new. They come in the same order each time. NULL with *err, as add(). */
static struct serve_file *find_whole(struct serve_files *f, const char *path, int *err)
{
    *err = 0;
    for (uint32_t i = 0; i < f->whole_count; i++) {
        uint32_t at = (f->whole_next + i) % f->whole_count;
        if (strcmp(f->list[f->whole[at]].path, path) == 0)
            return f->whole_next = at + 1, &f->list[f->whole[at]];
    }
    if (!grow_by_one(&f->whole, f->whole_count, sizeof *f->whole))
        return *err = BEZEL_ENOMEM, NULL;
    struct serve_file *it = add(f, path, err);
    if (it)
        f->whole[f->whole_count++] = number_of(f, it);
    return it;
}

static int send_whole(struct serve_files *f, const char *folder, const char *name)
{
    char path[2 * PATH_MAX];
    int err;
    snprintf(path, sizeof path, "%s/%s%s%s", f->found.run, folder, folder[0] ? "/" : "", name);
    struct serve_file *it = find_whole(f, path, &err);
    return it ? send_if_changed(f, it) : err;
}

int serve_files_send_whole(struct serve_files *f)
{
    static const char *const names[] = {"experiment.yaml", "versions.txt", "README"};
    char folder[PATH_MAX];
    int err = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && !err; i++)
        err = send_whole(f, "", names[i]);
    for (const struct model_node *node = f->found.model->nodes; node && !err; node = node->next) {
        snprintf(folder, sizeof folder, "trace/%s", node->dir);
        char name[PATH_MAX + 16];
        snprintf(name, sizeof name, "%s/metadata", folder);
        err = run_file_ok(name) ? send_whole(f, folder, "metadata") : 0;
    }
    return err;
}

/* ---- pieces of streams ------------------------------------------------------------------------------------------- */

static int flush(struct serve_files *f)
{
    struct read_message *m = &f->socket->message;
    if (f->piece.count == 0)
        return 0;
    m->type = READ_BYTES;
    m->bytes = f->piece;
    m->bytes.bytes = f->gathered;
    f->piece.count = 0;
    return serve_socket_send(f->socket);
}

/* ---- offers and answers ------------------------------------------------------------------------------------------ */

/* What was gathered of the stream goes before. */
static int offer(struct serve_files *f, struct serve_file *it)
{
    struct read_message *m = &f->socket->message;
    uint8_t header[PACKET_HEADER_BYTES];
    struct cover c;
    int fd, err = flush(f);
    if (err)
        return err;
    fd = file_open_plain(it->path, TRACE_READER_PLAIN, false);
    if (fd < 0) { /* it is gone */
        it->state = READY;
        it->due = false;
        return 0;
    }
    bool covered = cover_read(fd, &c);
    close(fd);
    m->type = READ_FILE;
    m->file = (struct read_file){.number = number_of(f, it), .stream = true};
    snprintf(m->file.name, sizeof m->file.name, "%s", name_of(f, it));
    snprintf(m->file.lacks, sizeof m->file.lacks, "%s", it->lacks ? it->lacks : "");
    if (covered) {
        packet_put_cover(header, &c.header, c.records);
        m->file.cover = header;
        m->file.cover_bytes = sizeof header;
    }
    it->covered = covered ? c.header.size_bytes : 0;
    it->state = OFFERED;
    f->offers++;
    return serve_socket_send(f->socket);
}

/* Whether the file begins with what the mirror has. */
static bool has_same(const struct serve_file *it, const struct read_have *have)
{
    uint8_t tail[READ_TAIL];
    struct stat st;
    size_t n = have->bytes < sizeof tail ? (size_t)have->bytes : sizeof tail;
    if (have->bytes == it->covered)
        return true;
    if (have->bytes < it->covered + n)
        return false; /* a part of what would be compared has expired here */
    int fd = file_open_plain(it->path, TRACE_READER_PLAIN, false);
    bool same = fd >= 0 && fstat(fd, &st) == 0 && have->bytes <= (uint64_t)st.st_size &&
                pread(fd, tail, n, (off_t)(have->bytes - n)) == (ssize_t)n &&
                checksum_add(CHECKSUM_START, tail, n) == have->sum;
    if (fd >= 0)
        close(fd);
    return same;
}

/* Brings the position to the last packet that ends within the first `bytes`. */
static void go_to(struct serve_file *it, uint64_t bytes)
{
    struct trace_reader *r = &it->reader;
    size_t most = r->most;
    r->at = (struct trace_position){.bytes = 0};
    r->most = PACKET_HEADER_BYTES; /* the packets themselves are not read */
    for (bool more = true; more;) {
        struct trace_position before = r->at;
        more = trace_reader_step(r) > 0;
        if (more && r->at.bytes > bytes) {
            r->at = before;
            more = false;
        }
    }
    r->most = most;
}

/* Has the mirror drop what it has from offset `at` on. */
static int send_cut(struct serve_files *f, const struct serve_file *it, uint64_t at)
{
    struct read_message *m = &f->socket->message;
    m->type = READ_BYTES;
    m->bytes = (struct read_bytes){.number = number_of(f, it), .offset = at, .bytes = f->gathered};
    return serve_socket_send(f->socket);
}

int serve_files_take(struct serve_files *f, const struct read_have *have)
{
    struct serve_file *it = have->number < f->count ? &f->list[have->number] : NULL;
    if (!it || !it->stream || f->offers == 0)
        return BEZEL_EMALFORMED;
    f->offers--;
    (void)measure(f, it); /* the mirror may have more than there was when it was measured */
    if (has_new_cover(it))
        it->state = NEW;
    if (it->state != OFFERED)
        return 0; /* it is offered anew */
    bool same = has_same(it, have);
    it->state = READY;
    it->due = !it->cut;
    if (same && have->bytes == it->reader.at.bytes)
        return 0;
    if (same)
        go_to(it, have->bytes);
    else
        it->reader.at = (struct trace_position){.bytes = 0};
    uint64_t from = it->reader.at.bytes > it->covered ? it->reader.at.bytes : it->covered;
    return from < have->bytes ? send_cut(f, it, from) : 0;
}

/* ---- packets ----------------------------------------------------------------------------------------------------- */

/* Appends a packet to the piece that is gathered, and sends it as often as it is full. */
static int put(struct serve_files *f, const struct serve_file *it, const uint8_t *packet, uint64_t size)
{
    uint64_t offset = it->reader.at.bytes;
    int err = 0;
    if (f->piece.count && (f->piece.number != number_of(f, it) || f->piece.offset + f->piece.count != offset))
        err = flush(f);
    for (uint64_t done = 0; done < size && !err;) {
        size_t room = sizeof f->gathered - f->piece.count, n = size - done < room ? (size_t)(size - done) : room;
        if (f->piece.count == 0)
            f->piece = (struct read_bytes){.number = number_of(f, it), .offset = offset + done};
        memcpy(f->gathered + f->piece.count, packet + done, n);
        f->piece.count += (uint32_t)n;
        done += n;
        if (f->piece.count == sizeof f->gathered)
            err = flush(f);
    }
    f->left -= size < f->left ? size : f->left;
    return err;
}

/* Ends the stream here, as far as it is known by now. */
static int cut(struct serve_files *f, struct serve_file *it, const char *why)
{
    it->lacks = why;
    it->cut = true;
    it->due = false;
    it->state = NEW; /* it is offered with the reason */
    f->cut++;
    return 0;
}

/* Whether the model explains the packet. A collector stores none before: one that is not explained later is damage. */
static bool is_explained(struct serve_files *f, struct serve_file *it, const struct packet_header *h)
{
    if (dict_includes(it->reader.process->dict, h->dictionary))
        return it->unexplained = 0, true;
    if (!it->unexplained)
        it->unexplained = f->looks;
    f->unexplained = true;
    return false;
}

/* Sends packets of a stream, as far as the turn goes. Returns 0, SERVE_GONE or an error. */
static int send_stream(struct serve_files *f, struct serve_file *it)
{
    struct trace_reader *r = &it->reader;
    const uint8_t *packet;
    struct packet_header h;
    int is = 0, err = 0;
    while (!err && f->left > 0 && (is = trace_reader_look(r, &h, &packet)) > 0) {
        if (r->part->cover.header.size_bytes > it->covered)
            break;
        if (!is_explained(f, it, &h))
            return f->looks - it->unexplained < 2 ? 0 : cut(f, it, "it uses a dictionary that run.db does not have");
        err = put(f, it, packet, h.size_bytes);
        trace_reader_take(r, &h);
    }
    if (err)
        return err;
    if (r->part->path == r->path && r->part->cover.header.size_bytes > it->covered)
        it->state = NEW; /* more has expired: it is offered with the new cover */
    if (is == BEZEL_EMALFORMED || is == BEZEL_EVERSION)
        return cut(f, it, r->reason);
    if (is == 0 && f->left > 0)
        it->due = false;
    return is < 0 ? is : 0;
}

void serve_files_mark(struct serve_files *f)
{
    for (uint32_t i = 0; i < f->count; i++)
        f->list[i].mark = f->list[i].size;
}

bool serve_files_passed(const struct serve_files *f)
{
    bool passed = true;
    for (uint32_t i = 0; i < f->count && passed; i++) {
        const struct serve_file *it = &f->list[i];
        passed = !it->stream || (it->state == READY && (!it->due || it->reader.at.bytes >= it->mark));
    }
    return passed;
}

int serve_files_send(struct serve_files *f, bool *more)
{
    int err = 0;
    *more = false;
    f->left = SERVE_FILES_TURN;
    for (uint32_t i = 0; i < f->count && !err; i++) {
        struct serve_file *it = &f->list[(f->next + i) % f->count];
        if (!it->stream)
            continue;
        if (it->state == NEW && f->offers < SERVE_FILES_OFFERS)
            err = offer(f, it);
        else if (it->state == READY && it->due && f->left > 0)
            err = send_stream(f, it);
        *more = *more || it->state != READY || it->due;
    }
    f->next = f->count ? (f->next + 1) % f->count : 0;
    if (!err)
        err = flush(f);
    count_rest(f);
    return err;
}
