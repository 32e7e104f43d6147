// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/disk_model.h"

#include "tests/lib/seed.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH = 192, NODES = 512, NAMES = 256, STEPS = 4096, DESCRIPTORS = 1024, SECTOR = 512 };

struct bytes {
    uint8_t *at;
    size_t size, capacity;
};

/* A file or directory: its bytes as they are, and as stable storage has them. */
struct node {
    bool dir;
    struct bytes now, safe;
    struct bytes
        dropped; /* for each sector 1 where a failed sync gave up its bytes: a later one writes nothing there */
};

struct name {
    char path[PATH]; /* from the root on, which is "." */
    int node;
};

/* A change of names: `from` goes ("" where none), `to` comes ("" where none). */
struct step {
    char from[PATH], to[PATH];
    int node;
};

struct names {
    int count;
    struct name list[NAMES];
};

struct disk_model {
    char root[PATH];
    int node_count, step_count;
    struct node nodes[NODES];
    struct names now, safe;
    struct step steps[STEPS]; /* since their directory was synced, in order */
    int open[DESCRIPTORS];    /* node + 1 */
    bool append[DESCRIPTORS];
    uint64_t position[DESCRIPTORS];
};

/* ---- bytes and names --------------------------------------------------------------------------------------------- */

static void resize(struct bytes *b, size_t size)
{
    if (size > b->capacity) {
        b->capacity = 2 * size;
        b->at = realloc(b->at, b->capacity);
        if (!b->at)
            abort();
    }
    if (size > b->size)
        memset(b->at + b->size, 0, size - b->size);
    b->size = size;
}

static void copy_bytes(struct bytes *to, const struct bytes *from)
{
    resize(to, from->size);
    if (from->size)
        memcpy(to->at, from->at, from->size);
}

static void copy_names(struct names *to, const struct names *from)
{
    to->count = from->count;
    memcpy(to->list, from->list, (size_t)from->count * sizeof *from->list);
}

static struct name *find(struct names *names, const char *path)
{
    for (int i = 0; i < names->count; i++)
        if (strcmp(names->list[i].path, path) == 0)
            return &names->list[i];
    return NULL;
}

static void apply(struct names *names, const struct step *s)
{
    struct name *n;
    if (s->from[0] && (n = find(names, s->from)))
        *n = names->list[--names->count];
    if (!s->to[0])
        return;
    if (!(n = find(names, s->to))) {
        if (names->count == NAMES)
            abort();
        n = &names->list[names->count++];
        memcpy(n->path, s->to, sizeof n->path);
    }
    n->node = s->node;
}

static bool is_in(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 && path[n] == '/' && !strchr(path + n + 1, '/');
}

static bool step_is_in(const struct step *s, const char *dir)
{
    return is_in(s->to[0] ? s->to : s->from, dir);
}

static void take_step(struct disk_model *d, const char *from, const char *to, int node)
{
    if (d->step_count == STEPS)
        abort();
    struct step *s = &d->steps[d->step_count++];
    snprintf(s->from, sizeof s->from, "%s", from);
    snprintf(s->to, sizeof s->to, "%s", to);
    s->node = node;
    apply(&d->now, s);
}

static int make_node(struct disk_model *d, const char *path, bool dir)
{
    if (d->node_count == NODES)
        abort();
    d->nodes[d->node_count].dir = dir;
    take_step(d, "", path, d->node_count);
    return d->node_count++;
}

struct disk_model *disk_new(const char *root)
{
    struct disk_model *d = calloc(1, sizeof *d);
    if (!d)
        abort();
    snprintf(d->root, sizeof d->root, "%s", root);
    make_node(d, ".", true);
    copy_names(&d->safe, &d->now);
    d->step_count = 0;
    return d;
}

void disk_free(struct disk_model *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->node_count; i++) {
        free(d->nodes[i].now.at);
        free(d->nodes[i].safe.at);
        free(d->nodes[i].dropped.at);
    }
    free(d);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static const char *name_of(const struct disk_model *d, int node)
{
    for (int i = 0; i < d->now.count; i++)
        if (d->now.list[i].node == node)
            return d->now.list[i].path;
    return "";
}

static struct node *node_at(struct disk_model *d, uint64_t fd)
{
    return fd < DESCRIPTORS && d->open[fd] ? &d->nodes[d->open[fd] - 1] : NULL;
}

static void set_size(struct node *n, size_t size)
{
    resize(&n->now, size);
    if (n->dropped.size > size / SECTOR)
        resize(&n->dropped, size / SECTOR);
}

/* The path in the tree that `text` names, seen from directory `fd`; "" where it is not in the tree. */
static void path_of(const struct disk_model *d, const struct call *c, uint64_t fd, uint64_t text, char path[PATH])
{
    char said[PATH];
    path[0] = '\0';
    if (!calls_read_text(c, text, said, sizeof said))
        return;
    if (said[0] == '/')
        snprintf(path, PATH, "%s", said);
    else if (fd < DESCRIPTORS && d->open[fd])
        snprintf(path, PATH, "%.*s%.*s/%.*s", PATH / 3 - 1, d->root, PATH / 3 - 1, name_of(d, d->open[fd] - 1) + 1,
                 PATH / 3 - 1, said);
    size_t n = strlen(path), root = strlen(d->root);
    if (n > 2 && strcmp(path + n - 2, "/.") == 0)
        path[n -= 2] = '\0';
    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    if (strncmp(path, d->root, root) != 0 || (path[root] && path[root] != '/')) {
        path[0] = '\0';
        return;
    }
    path[0] = '.';
    memmove(path + 1, path + root, n - root + 1);
}

static void see_open(struct disk_model *d, const struct call *c, uint64_t dir, uint64_t text, uint64_t flags)
{
    char path[PATH];
    path_of(d, c, dir, text, path);
    if (!path[0] || c->result >= DESCRIPTORS)
        return;
    struct name *n = find(&d->now, path);
    int node = n ? n->node : make_node(d, path, (flags & O_DIRECTORY) != 0);
    if (flags & O_TRUNC)
        set_size(&d->nodes[node], 0);
    d->open[c->result] = node + 1;
    d->position[c->result] = 0;
    d->append[c->result] = (flags & O_APPEND) != 0;
}

static void see_write(struct disk_model *d, const struct call *c, uint64_t at)
{
    struct node *n = node_at(d, c->args[0]);
    size_t size = (size_t)c->result;
    if (!n)
        return;
    if (size == 0)
        return;
    if (n->now.size < at + size)
        resize(&n->now, at + size);
    for (size_t sector = at / SECTOR; sector <= (at + size - 1) / SECTOR && sector < n->dropped.size; sector++)
        n->dropped.at[sector] = 0;
    if (!calls_read(c, c->args[1], n->now.at + at, size))
        abort();
}

static void see_names(struct disk_model *d, const struct call *c, uint64_t from_dir, uint64_t from, uint64_t to_dir,
                      uint64_t to)
{
    char old[PATH], new[PATH] = "";
    path_of(d, c, from_dir, from, old);
    if (to)
        path_of(d, c, to_dir, to, new);
    struct name *n = find(&d->now, old);
    if (n)
        take_step(d, old, new, n->node);
}

static void see_mkdir(struct disk_model *d, const struct call *c, uint64_t dir, uint64_t text)
{
    char path[PATH];
    path_of(d, c, dir, text, path);
    if (path[0])
        make_node(d, path, true);
}

static void see_truncate(struct disk_model *d, const struct call *c)
{
    char path[PATH];
    path_of(d, c, UINT64_MAX, c->args[0], path);
    struct name *n = find(&d->now, path);
    if (n)
        set_size(&d->nodes[n->node], (size_t)c->args[1]);
}

/* How many bytes of sector `i` these are. */
static size_t in_sector(const struct bytes *of, size_t i)
{
    size_t at = i * SECTOR;
    return of->size <= at ? 0 : of->size - at < SECTOR ? of->size - at : SECTOR;
}

static size_t sectors(const struct bytes *of)
{
    return (of->size + SECTOR - 1) / SECTOR;
}

static bool is_dropped(const struct node *n, size_t i)
{
    return i < n->dropped.size && n->dropped.at[i];
}

static void sync_file(struct node *n)
{
    resize(&n->safe, n->now.size);
    for (size_t i = 0; i < sectors(&n->now); i++)
        if (!is_dropped(n, i))
            memcpy(n->safe.at + i * SECTOR, n->now.at + i * SECTOR, in_sector(&n->now, i));
}

/* The kernel could not write what changed, counts it as written, and says so once. */
static void drop_unsynced(struct node *n)
{
    resize(&n->dropped, sectors(&n->now));
    for (size_t i = 0; i < sectors(&n->now); i++) {
        size_t size = in_sector(&n->now, i), at = i * SECTOR;
        if (in_sector(&n->safe, i) != size || memcmp(n->now.at + at, n->safe.at + at, size) != 0)
            n->dropped.at[i] = 1;
    }
}

/* A directory's names become safe in the order in which they changed. */
static void see_sync(struct disk_model *d, uint64_t fd)
{
    struct node *n = node_at(d, fd);
    if (!n)
        return;
    if (!n->dir) {
        sync_file(n);
        return;
    }
    const char *dir = name_of(d, d->open[fd] - 1);
    int kept = 0;
    for (int i = 0; i < d->step_count; i++)
        if (step_is_in(&d->steps[i], dir))
            apply(&d->safe, &d->steps[i]);
        else
            d->steps[kept++] = d->steps[i];
    d->step_count = kept;
}

static void see_failed(struct disk_model *d, const struct call *c)
{
    struct node *n = node_at(d, c->args[0]);
    if ((c->number == SYS_fsync || c->number == SYS_fdatasync) && n && !n->dir)
        drop_unsynced(n);
}

static bool is_hole(const struct call *c)
{
    return c->args[1] & FALLOC_FL_PUNCH_HOLE;
}

static void clear(struct bytes *b, size_t at, size_t n)
{
    if (at < b->size)
        memset(b->at + at, 0, n < b->size - at ? n : b->size - at);
}

static void see_file_call(struct disk_model *d, const struct call *c)
{
    struct node *n = node_at(d, c->args[0]);
    switch (c->number) {
    case SYS_lseek:
        if (n)
            d->position[c->args[0]] = (uint64_t)c->result;
        break;
    case SYS_write:
        if (n)
            see_write(d, c, d->append[c->args[0]] ? n->now.size : d->position[c->args[0]]);
        if (n)
            d->position[c->args[0]] += (uint64_t)c->result;
        break;
    case SYS_pwrite64:
        see_write(d, c, c->args[3]);
        break;
    case SYS_ftruncate:
        if (n)
            set_size(n, (size_t)c->args[1]);
        break;
    case SYS_fallocate:
        if (n && is_hole(c))
            clear(&n->now, (size_t)c->args[2], (size_t)c->args[3]);
        else if (n && n->now.size < c->args[2] + c->args[3])
            resize(&n->now, (size_t)(c->args[2] + c->args[3]));
        break;
    case SYS_fsync:
    case SYS_fdatasync:
        see_sync(d, c->args[0]);
        break;
    case SYS_close:
        if (c->args[0] < DESCRIPTORS)
            d->open[c->args[0]] = 0;
        break;
    default:
        break;
    }
}

void disk_see(struct disk_model *d, const struct call *c)
{
    if (c->entry)
        return;
    if (c->result < 0) {
        see_failed(d, c);
        return;
    }
    switch (c->number) {
#ifdef SYS_open
    case SYS_open:
        see_open(d, c, UINT64_MAX, c->args[0], c->args[1]);
        break;
    case SYS_rename:
        see_names(d, c, UINT64_MAX, c->args[0], UINT64_MAX, c->args[1]);
        break;
    case SYS_unlink:
        see_names(d, c, UINT64_MAX, c->args[0], 0, 0);
        break;
    case SYS_mkdir:
        see_mkdir(d, c, UINT64_MAX, c->args[0]);
        break;
#endif
    case SYS_openat:
        see_open(d, c, c->args[0], c->args[1], c->args[2]);
        break;
    case SYS_renameat:
    case SYS_renameat2:
        see_names(d, c, c->args[0], c->args[1], c->args[2], c->args[3]);
        break;
    case SYS_unlinkat:
        see_names(d, c, c->args[0], c->args[1], 0, 0);
        break;
    case SYS_mkdirat:
        see_mkdir(d, c, c->args[0], c->args[1]);
        break;
    case SYS_truncate:
        see_truncate(d, c);
        break;
    default:
        see_file_call(d, c);
    }
}

bool disk_changes(long number)
{
    static const long changing[] = {
#ifdef SYS_open
        SYS_rename,    SYS_unlink,   SYS_mkdir,
#endif
        SYS_pwrite64,  SYS_write,    SYS_ftruncate, SYS_truncate, SYS_fallocate, SYS_fsync,
        SYS_fdatasync, SYS_unlinkat, SYS_mkdirat,   SYS_renameat, SYS_renameat2};
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++)
        if (number == changing[i])
            return true;
    return false;
}

/* Whether `text`, seen from directory `fd`, is in the tree. */
static bool is_within(const struct disk_model *d, const struct call *c, uint64_t fd, uint64_t text)
{
    char path[PATH];
    path_of(d, c, fd, text, path);
    return path[0] != '\0';
}

bool disk_has(const struct disk_model *d, const struct call *c)
{
    switch (c->number) {
#ifdef SYS_open
    case SYS_open:
    case SYS_rename:
    case SYS_unlink:
    case SYS_mkdir:
        return is_within(d, c, UINT64_MAX, c->args[0]);
#endif
    case SYS_truncate:
        return is_within(d, c, UINT64_MAX, c->args[0]);
    case SYS_openat:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_unlinkat:
    case SYS_mkdirat:
        return is_within(d, c, c->args[0], c->args[1]);
    default:
        return c->args[0] < DESCRIPTORS && d->open[c->args[0]] != 0;
    }
}

uint64_t disk_growth(const struct disk_model *d, const struct call *c)
{
    uint64_t fd = c->args[0], end = 0;
    const struct node *n = fd < DESCRIPTORS && d->open[fd] ? &d->nodes[d->open[fd] - 1] : NULL;
    if (!n)
        return 0;
    if (c->number == SYS_write)
        end = (d->append[fd] ? n->now.size : d->position[fd]) + c->args[2];
    else if (c->number == SYS_pwrite64 || (c->number == SYS_fallocate && !is_hole(c)))
        end = c->args[2] + c->args[3];
    return end > n->now.size ? end - n->now.size : 0;
}

uint64_t disk_bytes(const struct disk_model *d)
{
    uint64_t bytes = 0;
    for (int i = 0; i < d->now.count; i++)
        bytes += d->nodes[d->now.list[i].node].now.size;
    return bytes;
}

/* ---- what is left ------------------------------------------------------------------------------------------------ */

/* Sector `i` as stable storage had it, and zeros where it had none. */
static void leave_old(const struct node *n, size_t i, struct bytes *left)
{
    size_t was = in_sector(&n->safe, i), size = in_sector(left, i);
    memset(left->at + i * SECTOR, 0, size);
    if (was)
        memcpy(left->at + i * SECTOR, n->safe.at + i * SECTOR, was < size ? was : size);
}

/* The bytes of a file: what is safe; by luck all that was written, or each sector for itself. */
static void leave_bytes(const struct node *n, enum disk_left how, uint64_t *seed, struct bytes *left)
{
    uint64_t luck = how == DISK_CERTAIN ? 0 : seed_next(seed) % 3;
    copy_bytes(left, luck ? &n->now : &n->safe);
    size_t end = n->safe.size < left->size ? n->safe.size : left->size;
    bool ended = false; /* what was appended gets there from the front: the first that is missing ends it */
    for (size_t i = 0; luck && i < sectors(left); i++) {
        size_t behind = i * SECTOR + in_sector(left, i);
        if (!is_dropped(n, i) && !ended && (luck == 1 || seed_next(seed) % 2))
            end = behind > end ? behind : end;
        else {
            leave_old(n, i, left);
            ended = ended || (how == DISK_ORDERED && !is_dropped(n, i) && behind > n->safe.size);
        }
    }
    if (luck == 2 && (how == DISK_ORDERED || seed_next(seed) % 2))
        resize(left, end);
}

/* Names that luck adds: of each directory's changes the first so many. */
static void add_steps(const struct disk_model *d, struct names *names, uint64_t *seed)
{
    bool stopped[NODES] = {false};
    for (int i = 0; i < d->step_count; i++) {
        int dir = -1;
        for (int k = 0; k < names->count; k++)
            if (step_is_in(&d->steps[i], names->list[k].path))
                dir = names->list[k].node;
        if (dir < 0 || stopped[dir] || (stopped[dir] = seed_next(seed) % 8 == 0))
            continue;
        apply(names, &d->steps[i]);
    }
}

static int by_depth(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->path, ((const struct name *)b)->path);
}

/* Takes out the names whose directory is not there, and sorts the others: a directory comes before what is in it. */
static void keep_reachable(struct names *names)
{
    int kept = 0;
    qsort(names->list, (size_t)names->count, sizeof *names->list, by_depth);
    for (int i = 0; i < names->count; i++) {
        bool reachable = strcmp(names->list[i].path, ".") == 0;
        for (int k = 0; k < kept; k++)
            reachable = reachable || is_in(names->list[i].path, names->list[k].path);
        if (reachable)
            names->list[kept++] = names->list[i];
    }
    names->count = kept;
}

struct disk_model *disk_left(const struct disk_model *d, enum disk_left how, uint64_t *seed)
{
    struct disk_model *left = calloc(1, sizeof *left);
    if (!left)
        abort();
    left->node_count = d->node_count;
    copy_names(&left->now, how == DISK_KILLED ? &d->now : &d->safe);
    if (how == DISK_ORDERED || how == DISK_TORN)
        add_steps(d, &left->now, seed);
    keep_reachable(&left->now);
    for (int i = 0; i < d->node_count; i++) {
        const struct node *n = &d->nodes[i];
        left->nodes[i].dir = n->dir;
        if (how == DISK_KILLED) {
            copy_bytes(&left->nodes[i].now, &n->now);
            copy_bytes(&left->nodes[i].safe, &n->safe);
            copy_bytes(&left->nodes[i].dropped, &n->dropped);
        } else {
            leave_bytes(n, how, seed, &left->nodes[i].now);
            copy_bytes(&left->nodes[i].safe, &left->nodes[i].now);
        }
    }
    copy_names(&left->safe, how == DISK_KILLED ? &d->safe : &left->now);
    if (how == DISK_KILLED) {
        left->step_count = d->step_count;
        memcpy(left->steps, d->steps, (size_t)d->step_count * sizeof *d->steps);
    }
    return left;
}

static bool put_node(const struct disk_model *d, const struct name *name)
{
    char path[2 * PATH];
    const struct node *n = &d->nodes[name->node];
    snprintf(path, sizeof path, "%s%s", d->root, name->path + 1);
    if (n->dir)
        return mkdir(path, 0777) == 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool done = fd >= 0 && write(fd, n->now.at, n->now.size) == (ssize_t)n->now.size;
    if (fd >= 0)
        close(fd);
    return done;
}

bool disk_put(struct disk_model *d, const char *root)
{
    snprintf(d->root, sizeof d->root, "%s", root);
    for (int i = 0; i < d->now.count; i++)
        if (strcmp(d->now.list[i].path, ".") != 0 && !put_node(d, &d->now.list[i]))
            return false;
    return true;
}

bool disk_leave(const struct disk_model *d, const char *into, uint64_t *seed)
{
    struct disk_model *left = disk_left(d, seed ? DISK_ORDERED : DISK_CERTAIN, seed);
    bool done = disk_put(left, into);
    disk_free(left);
    return done;
}
