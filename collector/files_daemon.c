// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/files_daemon.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "mdr/command/command_server.h"
#include "mdr/run_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINGER_MS = 500,
    COMMANDS_A_TURN = 64,
    PIECES_A_TURN = 16, /* of checksums, between two looks for commands */
};

struct run_file {
    char *name;
    uint64_t size, sum;
    bool summed;
};

struct files_daemon {
    const struct collector_daemon_options *options;
    int run, signals; /* run: the directory, locked */
    struct link_keys keys;
    struct command_server *control;
    struct run_file *files;
    uint32_t count, room;
    uint32_t summing; /* the file whose checksum is made, and what is made of it */
    uint64_t summed, sum;
    int open; /* the file that was read last */
    uint32_t open_file;
    bool finish;
};

/* ---- The list ---------------------------------------------------------------------------------------------------- */

static int add(struct files_daemon *v, const char *name)
{
    struct stat st;
    if (!run_file_ok(name) || fstatat(v->run, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
        return 0;
    if (v->count == v->room) {
        uint32_t room = v->room ? 2 * v->room : 64;
        struct run_file *larger = room > RUN_FILES_MAX ? NULL : realloc(v->files, room * sizeof *larger);
        if (!larger)
            return BEZEL_ENOMEM;
        v->files = larger;
        v->room = room;
    }
    char *copy = strdup(name);
    if (!copy)
        return BEZEL_ENOMEM;
    v->files[v->count++] = (struct run_file){.name = copy, .size = (uint64_t)st.st_size};
    return 0;
}

/* Calls `each` for the entries of folder `name`. */
static int list(struct files_daemon *v, const char *name, int (*each)(struct files_daemon *v, const char *path))
{
    int fd = openat(v->run, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), err = 0;
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries) {
        if (fd >= 0)
            close(fd);
        return 0; /* it is no folder */
    }
    for (struct dirent *d; !err && (d = file_next(entries, &err));) {
        char path[MESSAGE_TEXT_MAX + 1];
        if (d->d_name[0] != '.' && snprintf(path, sizeof path, "%s/%s", name, d->d_name) < (int)sizeof path)
            err = each(v, path);
    }
    closedir(entries);
    return err;
}

static int add_folder(struct files_daemon *v, const char *path)
{
    return list(v, path, add);
}

static int find_files(struct files_daemon *v)
{
    if (faccessat(v->run, "run.db-wal", F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        log_error("BEZEL-RUN-UNFINISHED", "%s: the collector did not end in order: start one, and end it, first",
                  v->options->run);
        return BEZEL_EBUSY;
    }
    int err = add(v, "run.db");
    if (!err)
        err = list(v, "trace", add_folder);
    if (err)
        log_error("BEZEL-RUN-DIRECTORY", "%s: %s", v->options->run, ulimit_reason(err));
    return err;
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* Reads up to `n` bytes of file `i` from `offset` on. Returns how many, or -1 with errno. */
static ssize_t read_part(struct files_daemon *v, uint32_t i, uint64_t offset, void *bytes, size_t n)
{
    if (v->open < 0 || v->open_file != i) {
        if (v->open >= 0)
            close(v->open);
        v->open = openat(v->run, v->files[i].name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        v->open_file = i;
    }
    return v->open < 0 ? -1 : pread(v->open, bytes, n, (off_t)offset);
}

/* Makes checksums for a while. Returns whether there is more to do. */
static bool sum_some(struct files_daemon *v)
{
    static uint8_t piece[RUN_FILE_PIECE]; /* one thread */
    for (int i = 0; i < PIECES_A_TURN && v->summing < v->count; i++) {
        struct run_file *f = &v->files[v->summing];
        size_t left = f->size - v->summed < sizeof piece ? (size_t)(f->size - v->summed) : sizeof piece;
        ssize_t n = left ? read_part(v, v->summing, v->summed, piece, left) : 0;
        if (n != (ssize_t)left) {
            log_error("BEZEL-RUN-FILE", "%s/%s cannot be read: %s", v->options->run, f->name,
                      n < 0 ? strerror(errno) : "it is shorter than before");
            v->finish = true;
            return false;
        }
        v->sum = run_file_sum(v->sum, piece, left);
        v->summed += left;
        if (v->summed < f->size)
            continue;
        f->sum = v->sum;
        f->summed = true;
        v->sum = v->summed = 0;
        v->summing++;
    }
    return v->summing < v->count;
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

static void list_from(const struct files_daemon *v, uint32_t first, struct message_file_list *all)
{
    all->total = v->count;
    all->first = first;
    all->count = 0;
    for (uint32_t i = first; i < v->count && all->count < MESSAGE_FILES_MAX; i++) {
        struct message_file *row = &all->files[all->count++];
        *row = (struct message_file){
            .size = v->files[i].size, .summed = v->files[i].summed, .sum = v->files[i].summed ? v->files[i].sum : 0};
        snprintf(row->name, sizeof row->name, "%s", v->files[i].name);
    }
}

static void send_part(struct files_daemon *v, const struct command_request *from, uint32_t i, uint64_t offset)
{
    struct message_output *part = &command_server_message(v->control)->output;
    bool there = i < v->count && offset <= v->files[i].size;
    ssize_t n = there ? read_part(v, i, offset, part->bytes, sizeof part->bytes) : -1;
    if (n < 0) {
        char why[MESSAGE_TEXT_MAX + 1];
        snprintf(why, sizeof why, "%.180s there cannot be read: %s", there ? v->files[i].name : "a file",
                 there ? strerror(errno) : "it has no such part");
        command_server_refuse(v->control, from, ANSWER_REFUSED, why);
        return;
    }
    part->offset = offset;
    part->count = (uint32_t)n;
    part->last = offset + (uint64_t)n >= v->files[i].size;
    command_server_reply(v->control, from, NULL,
                         &(struct message_reply){.state = DAEMON_ACTIVE, .answer = ANSWER_OUTPUT});
}

/* Removes the directory. Returns whether it is gone. */
static bool discard(struct files_daemon *v, const struct command_request *from)
{
    char why[MESSAGE_TEXT_MAX + 1];
    if (file_remove_tree(v->options->run) == 0)
        return v->finish = true;
    snprintf(why, sizeof why, "%.150s cannot be removed: %s", v->options->run, strerror(errno));
    command_server_refuse(v->control, from, ANSWER_REFUSED, why);
    return false;
}

static void carry_out(struct files_daemon *v, const struct command_request *from)
{
    struct message *m = command_server_message(v->control);
    struct message_command c = m->command;
    bool query = c.verb == VERB_QUERY && (c.subject == SUBJECT_STATE || c.subject == SUBJECT_FILES);
    if (c.verb == VERB_QUERY && c.subject == SUBJECT_FILE) {
        send_part(v, from, c.from, c.offset);
        return;
    }
    if (c.verb == VERB_DISCARD && !discard(v, from))
        return;
    if (!query && c.verb != VERB_DISCARD && c.verb != VERB_SHUTDOWN) {
        command_server_refuse(v->control, from, ANSWER_REFUSED,
                              "the run is over, and its files are being fetched: nothing else can be done with it");
        return;
    }
    v->finish |= c.verb == VERB_SHUTDOWN;
    list_from(v, c.verb == VERB_QUERY && c.subject == SUBJECT_FILES ? c.from : 0, &m->files);
    command_server_reply(
        v->control, from, NULL,
        &(struct message_reply){.state = v->finish ? DAEMON_DRAINING : DAEMON_ACTIVE, .answer = ANSWER_FILES});
}

static void serve(struct files_daemon *v)
{
    bool more = true;
    while (!v->finish) {
        struct link *links[] = {command_server_link(v->control)};
        struct command_request from;
        (void)link_wait(links, 1, &v->signals, 1, more ? 0 : CLOCK_S);
        v->finish |= lifetime_terms(v->signals) > 0;
        for (int budget = COMMANDS_A_TURN; command_server_receive(v->control, &budget, &from);)
            if (command_server_message(v->control)->type == MESSAGE_COMMAND)
                carry_out(v, &from);
        more = !v->finish && sum_some(v);
    }
}

static int start(struct files_daemon *v)
{
    v->signals = lifetime_signals();
    v->run = v->signals < 0 ? -1 : collector_daemon_lock(v->options, NULL);
    int err = v->run < 0 ? BEZEL_ESYS : find_files(v);
    if (!err && v->options->key)
        err = link_keys_open(v->options->key, v->options->keys, NULL, &v->keys);
    if (err)
        return err;
    err = command_server_open(v->options->control, endpoint_path(v->options->control) ? NULL : &v->keys, &v->control);
    if (err)
        log_error("BEZEL-ENDPOINT", "%s: %s", v->options->control, ulimit_reason(err));
    return err;
}

int files_daemon_run(const struct collector_daemon_options *options)
{
    struct files_daemon v = {.options = options, .run = -1, .signals = -1, .open = -1};
    int err = start(&v);
    if (!err)
        serve(&v);
    command_server_close(v.control, LINGER_MS);
    link_keys_close(&v.keys);
    for (uint32_t i = 0; i < v.count; i++)
        free(v.files[i].name);
    free(v.files);
    if (v.open >= 0)
        close(v.open);
    if (v.run >= 0)
        close(v.run);
    if (v.signals >= 0)
        close(v.signals);
    return err ? EXIT_FAILED : EXIT_OK;
}
