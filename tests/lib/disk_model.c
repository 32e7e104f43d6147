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
};

struct name {
    char path[PATH];
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
    const char *root;
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
    d->root = root;
    make_node(d, root, true);
    d->safe = d->now;
    d->step_count = 0;
    return d;
}

void disk_free(struct disk_model *d)
{
    for (int i = 0; i < d->node_count; i++) {
        free(d->nodes[i].now.at);
        free(d->nodes[i].safe.at);
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
        snprintf(path, PATH, "%.*s/%.*s", PATH / 2 - 1, name_of(d, d->open[fd] - 1), PATH / 2 - 1, said);
    size_t n = strlen(path), root = strlen(d->root);
    if (n > 2 && strcmp(path + n - 2, "/.") == 0)
        path[n -= 2] = '\0';
    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    if (strncmp(path, d->root, root) != 0 || (path[root] && path[root] != '/'))
        path[0] = '\0';
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
        resize(&d->nodes[node].now, 0);
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
    if (n->now.size < at + size)
        resize(&n->now, at + size);
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
        resize(&d->nodes[n->node].now, (size_t)c->args[1]);
}

/* A directory's names become safe in the order in which they changed. */
static void see_sync(struct disk_model *d, uint64_t fd)
{
    struct node *n = node_at(d, fd);
    if (!n)
        return;
    if (!n->dir) {
        resize(&n->safe, n->now.size);
        if (n->now.size)
            memcpy(n->safe.at, n->now.at, n->now.size);
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
            resize(&n->now, (size_t)c->args[1]);
        break;
    case SYS_fallocate:
        if (n && n->now.size < c->args[2] + c->args[3])
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
    if (c->entry || c->result < 0)
        return;
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
        SYS_rename,   SYS_unlink,    SYS_mkdir,
#endif
        SYS_pwrite64, SYS_write,     SYS_ftruncate, SYS_truncate, SYS_fallocate,
        SYS_fsync,    SYS_fdatasync, SYS_unlinkat,  SYS_mkdirat,  SYS_renameat2};
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++)
        if (number == changing[i])
            return true;
    return false;
}

/* ---- what is left ------------------------------------------------------------------------------------------------ */

/* The bytes of a file: what is safe; by luck all that was written, or each sector by itself, appended ones in order. */
static void leave_bytes(const struct node *n, uint64_t *seed, struct bytes *left)
{
    uint64_t luck = seed ? seed_next(seed) % 3 : 0;
    const struct bytes *whole = luck ? &n->now : &n->safe;
    resize(left, whole->size);
    if (whole->size)
        memcpy(left->at, whole->at, whole->size);
    size_t end = n->safe.size < left->size ? n->safe.size : left->size;
    for (size_t at = 0; luck == 2 && at < left->size; at += SECTOR) {
        size_t size = left->size - at < SECTOR ? left->size - at : SECTOR;
        if (seed_next(seed) % 2) {
            end = at + size > end ? at + size : end;
            continue;
        }
        memset(left->at + at, 0, size);
        if (at + size > n->safe.size)
            left->size = at + size; /* what was appended gets there from the front: this is its end */
        if (at < n->safe.size)
            memcpy(left->at + at, n->safe.at + at, n->safe.size - at < size ? n->safe.size - at : size);
    }
    if (luck == 2)
        resize(left, end);
}

static bool leave_node(const struct disk_model *d, const struct name *name, const char *into, uint64_t *seed)
{
    char path[2 * PATH];
    struct bytes left = {0};
    snprintf(path, sizeof path, "%s%s", into, name->path + strlen(d->root));
    if (d->nodes[name->node].dir)
        return mkdir(path, 0777) == 0;
    leave_bytes(&d->nodes[name->node], seed, &left);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    bool done = fd >= 0 && write(fd, left.at, left.size) == (ssize_t)left.size;
    if (fd >= 0)
        close(fd);
    free(left.at);
    return done;
}

static int by_depth(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->path, ((const struct name *)b)->path);
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

bool disk_leave(const struct disk_model *d, const char *into, uint64_t *seed)
{
    static struct names names;
    names = d->safe;
    if (seed)
        add_steps(d, &names, seed);
    qsort(names.list, (size_t)names.count, sizeof *names.list, by_depth);
    for (int i = 0; i < names.count; i++) {
        bool reachable = false;
        for (int k = 0; k < i; k++)
            reachable = reachable || is_in(names.list[i].path, names.list[k].path);
        if (strcmp(names.list[i].path, d->root) != 0 && !reachable)
            names.list[i].path[strlen(d->root)] = '\0'; /* its directory is not there */
        else if (strcmp(names.list[i].path, d->root) != 0 && !leave_node(d, &names.list[i], into, seed))
            return false;
    }
    return true;
}
