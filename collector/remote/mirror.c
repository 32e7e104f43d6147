// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "collector/remote/mirror.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/folder_lock.h"
#include "base/log.h"
#include "base/retry_timer.h"
#include "base/ulimit.h"
#include "collector/remote/mirror_files.h"
#include "run/rundb/rundb.h"
#include "run/rundb/rundb_apply.h"
#include "run/store/mirror_state.h"
#include "run/store/watermarks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Static_assert((int)RUNDB_APPLY_TOKEN_MAX <= (int)READ_TOKEN_MAX, "MIRROR has room for a token");

#define SAVE_EVERY    (500 * CLOCK_MS) /* the state, where it is the same but for numbers */
#define RETRY_FIRST   (200 * CLOCK_MS)
#define RETRY_LONGEST (10 * CLOCK_S)
#define TURN          (50 * CLOCK_MS)

enum { NODES_MAX = 4096 }; /* whose watermarks are taken */

struct mirror {
    const struct mirror_options *o;
    struct mirror_state state, saved; /* as it is; as it was written last */
    int64_t saved_at;
    struct mirror_files files;
    struct folder_lock lock;
    struct rundb_apply *apply;
    struct watermarks *watermarks; /* of the nodes, in their order; NULL: none came */
    uint8_t (*nodes)[16];
    size_t node_count, next_node; /* next_node: which comes next, most likely */
    struct remote_link link;      /* of this connection */
    bool once_connected, caught_up, given_up;
    struct mirror_progress progress;
    int64_t turned_at;
    struct retry_timer retry;
};

/* Tells why it ends. Returns `err`. */
static BEZEL_PRINTF(4, 5) int fail(struct mirror *m, int err, const char *id, const char *format, ...)
{
    char text[MIRROR_WHY_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (m->o->why)
        memcpy(m->o->why, text, sizeof text);
    else if (strcmp(text, log_last_error()) != 0)
        log_error(id, "%s", text);
    return err;
}

static bool is_stopped(const struct mirror *m)
{
    return m->given_up || (m->o->place.stop && *m->o->place.stop);
}

/* ---- the state --------------------------------------------------------------------------------------------------- */

static int64_t wall_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return clock_ns(now);
}

static int save(struct mirror *m)
{
    m->saved_at = clock_now();
    m->saved = m->state;
    int err = mirror_state_write(m->o->dir, &m->state);
    if (err)
        log_error("BEZEL-MIRROR-STATE", "%s/" MIRROR_STATE_FILE " cannot be written: %s%s", m->o->dir,
                  ulimit_reason(err), file_room(m->o->dir, errno));
    return err;
}

static int set_state(struct mirror *m, enum mirror_state_is is)
{
    if (m->state.is != is || m->state.since == 0)
        m->state.since = wall_clock();
    m->state.is = is;
    return save(m);
}

/* ---- the directory ----------------------------------------------------------------------------------------------- */

/* Whether the directory holds nothing. */
static bool is_empty(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), count = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0)
        close(fd);
    for (const struct dirent *d; dir && (d = readdir(dir));)
        count +=
            strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 && strcmp(d->d_name, FOLDER_LOCK_FILE) != 0;
    if (dir)
        closedir(dir);
    return dir && count == 0;
}

/* Reads how the mirror stood. One that is new stands for nothing yet. */
static int read_state(struct mirror *m)
{
    const char *dir = m->o->dir;
    int is = mirror_state_read(dir, &m->state);
    if (is < 0)
        return fail(m, BEZEL_EMALFORMED, "BEZEL-MIRROR-STATE",
                    "%s/" MIRROR_STATE_FILE " cannot be understood: remove %s, or name another directory", dir, dir);
    if (m->o->home)
        snprintf(m->state.run, sizeof m->state.run, "%s", m->o->home);
    else if (is == 0 && !is_empty(m->files.folder))
        return fail(m, BEZEL_EINVAL, "BEZEL-MIRROR-DIRECTORY",
                    "%s is no mirror, and holds something else: name a new or an empty directory", dir);
    snprintf(m->state.endpoint, sizeof m->state.endpoint, "%s", m->o->place.endpoint);
    m->state.temporary = m->o->temporary;
    return m->state.is == MIRROR_COMPLETE ? 0 : set_state(m, MIRROR_BEGUN); /* until the server says otherwise */
}

/* A directory has one process that fills it. */
static int open_directory(struct mirror *m)
{
    const char *dir = m->o->dir;
    int fd = -1, err = file_make_dirs(dir, 0777);
    if (!err) {
        fd = m->files.folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        err = fd < 0 ? BEZEL_ESYS : folder_lock(fd, &m->lock);
    }
    if (err == BEZEL_EBUSY)
        return fail(m, BEZEL_EBUSY, "BEZEL-MIRROR-BUSY",
                    "%s: another 'bezel mirror' fills this directory, or a collector does: name another directory",
                    dir);
    if (err && fd >= 0 && (errno == ENOLCK || errno == ENOSYS || errno == EOPNOTSUPP)) {
        log_warn("BEZEL-RUN-UNLOCKED", "%s cannot be locked: %s; nothing keeps a second mirror away from it", dir,
                 strerror(errno));
        err = 0;
    }
    return err ? fail(m, err, "BEZEL-MIRROR-DIRECTORY", "%s: %s", dir, ulimit_reason(err)) : read_state(m);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static int fail_files(struct mirror *m, int err)
{
    if (err == BEZEL_EMALFORMED)
        return remote_link_fail(&m->link, err, "%s %s", m->link.place, m->files.why);
    return remote_link_fail(&m->link, err, "%s/%s cannot be written: %s%s", m->o->dir, mirror_files_name(&m->files),
                            ulimit_reason(err), file_room(m->o->dir, errno));
}

static int fail_rows(struct mirror *m, int err)
{
    return remote_link_fail(&m->link, err, "%s/run.db: %s%s", m->o->dir, rundb_why(err),
                            err == BEZEL_ENOSPC ? file_room(m->o->dir, ENOSPC) : "");
}

static int take_reading(struct mirror *m, const struct read_reading *reading)
{
    struct mirror_state *s = &m->state;
    if (s->run[0] && strcmp(s->run, reading->run) != 0)
        return remote_link_fail(&m->link, BEZEL_EINVAL, "%s is %s run %s, and %s serves run %s: name another directory",
                                m->o->dir, m->o->home ? "that of" : "a mirror of", s->run, m->link.place, reading->run);
    snprintf(s->run, sizeof s->run, "%s", reading->run);
    s->lacking = 0;
    s->grows = reading->grows;
    m->once_connected = true;
    m->retry = (struct retry_timer){.pause = 0};
    return set_state(m, MIRROR_CONNECTED);
}

static int take_file(struct mirror *m, const struct read_file *file)
{
    struct read_message answer = {.type = READ_HAVE};
    int more = mirror_files_take(&m->files, file, &answer.have);
    if (more < 0)
        return fail_files(m, more);
    if (file->lacks[0])
        mirror_state_lack(&m->state, file->name, file->lacks);
    if (more == 0)
        return 0;
    int err = remote_link_send(&m->link, &answer);
    return err ? remote_link_fail(&m->link, BEZEL_EUNREACH, "%s takes no answer", m->link.place) : 0;
}

static void note_caught_up(struct mirror *m)
{
    if (!m->caught_up && m->o->caught_up)
        m->o->caught_up(m->o->context);
    m->caught_up = true;
}

static int take_step(struct mirror *m, const struct read_step *step)
{
    int err = step->commit ? rundb_apply_commit(m->apply) : 0;
    if (err)
        return fail_rows(m, err);
    m->state.behind = step->behind;
    m->state.grows = step->grows;
    bool new = m->state.lacking != m->saved.lacking || m->state.grows != m->saved.grows || !m->caught_up;
    if (new || clock_now() - m->saved_at > SAVE_EVERY)
        err = save(m);
    if (!err && step->behind == 0 && !step->commit && step->grows && !m->o->once) /* else the END is on its way */
        note_caught_up(m);
    return err ? fail_files(m, err) : 0;
}

/* The place of a node's watermark, which may be new; -1: there is no room. They come in the same order each time. */
static int find_mark(struct mirror *m, const uint8_t node[16])
{
    for (size_t i = 0; i < m->node_count; i++) {
        size_t at = (m->next_node + i) % m->node_count;
        if (memcmp(m->nodes[at], node, sizeof *m->nodes) == 0)
            return m->next_node = at + 1, (int)at;
    }
    if (!m->nodes)
        m->nodes = calloc(NODES_MAX, sizeof *m->nodes);
    if (!m->nodes || m->node_count == NODES_MAX || watermarks_add(m->watermarks) != (int)m->node_count)
        return -1;
    memcpy(m->nodes[m->node_count], node, sizeof *m->nodes);
    return (int)m->node_count++;
}

/* What the node recorded before is here. Without room for it, readers hold records back for a fixed time. */
static void take_mark(struct mirror *m, const struct read_watermark *mark)
{
    struct watermark to = {.low = mark->low, .at = clock_now()};
    if (!m->watermarks && watermarks_open(m->o->dir, &m->watermarks) != 0)
        return;
    memcpy(to.uuid, mark->node, sizeof to.uuid);
    to.at = mark->age < (uint64_t)to.at ? to.at - (int64_t)mark->age : 1;
    watermarks_put(m->watermarks, find_mark(m, mark->node), &to);
}

static int take(struct mirror *m, const struct read_message *message)
{
    int err = 0;
    if (!m->link.answered && message->type != READ_HEARTBEAT && message->type != READ_END)
        return remote_link_fail(&m->link, BEZEL_EMALFORMED, "%s sends a run before its answer", m->link.place);
    switch (message->type) {
    case READ_HEARTBEAT:
    case READ_END:
        return 0;
    case READ_READING:
        return take_reading(m, &message->reading);
    case READ_FILE:
        return take_file(m, &message->file);
    case READ_BYTES:
        m->progress.taken += message->bytes.count;
        err = mirror_files_write(&m->files, &message->bytes);
        return err ? fail_files(m, err) : 0;
    case READ_ROWS:
        m->progress.taken += message->rows.count;
        err = rundb_apply_bytes(m->apply, message->rows.bytes, message->rows.count);
        return err ? fail_rows(m, err) : 0;
    case READ_STEP:
        return take_step(m, &message->step);
    case READ_WATERMARK:
        take_mark(m, &message->watermark);
        return 0;
    default:
        return remote_link_fail(&m->link, BEZEL_EMALFORMED, "%s sends what a mirror is not sent", m->link.place);
    }
}

/* ---- a connection ------------------------------------------------------------------------------------------------ */

static int connect_to(struct mirror *m, uint8_t token[READ_TOKEN_MAX])
{
    struct read_message request = {.type = READ_MIRROR};
    size_t n = 0;
    int err = rundb_apply_open(m->o->dir, m->o->home != NULL, &m->apply);
    if (!err)
        err = rundb_apply_token(m->apply, token, &n);
    if (err)
        return fail_rows(m, err);
    request.mirror = (struct read_mirror){.follow = !m->o->once,
                                          .rows = RUNDB_APPLY_VERSION,
                                          .credit = READ_CREDIT_MAX,
                                          .token_bytes = (uint32_t)n,
                                          .token = token};
    return remote_link_open(&m->link, &m->o->place, &request);
}

/* Calls the caller's function, which may end the mirror. */
static void turn(struct mirror *m)
{
    int64_t now = clock_now();
    if (!m->o->turn || now - m->turned_at < TURN)
        return;
    m->turned_at = now;
    m->progress.answered = m->link.answered;
    m->progress.behind = m->state.behind;
    m->given_up = !m->o->turn(m->o->context, &m->progress);
}

/* Takes the next message, or none. Returns 0, BEZEL_EAGAIN where it was stopped, or an error. */
static int take_next(struct mirror *m)
{
    struct read_message message;
    int err = remote_link_receive(&m->link, &message, m->o->turn ? clock_now() + TURN : INT64_MAX);
    turn(m);
    if (!err)
        return take(m, &message);
    return err == BEZEL_EAGAIN && !is_stopped(m) ? 0 : err;
}

/* Takes what comes, until the end. Returns 0 at an END that says so, BEZEL_EAGAIN where it was stopped, or an error. */
static int session(struct mirror *m)
{
    uint8_t token[READ_TOKEN_MAX];
    memset(&m->link, 0, sizeof m->link);
    m->progress = (struct mirror_progress){.taken = 0};
    snprintf(m->link.place, sizeof m->link.place, "%s", m->o->place.endpoint);
    int err = connect_to(m, token);
    while (!err && !m->link.over)
        err = is_stopped(m) ? BEZEL_EAGAIN : take_next(m);
    (void)!rundb_apply_close(m->apply);
    m->apply = NULL;
    mirror_files_forget(&m->files);
    remote_link_close(&m->link);
    return err;
}

/* ---- again and again --------------------------------------------------------------------------------------------- */

/* Whether another connection may do better. */
static bool may_pass(const struct mirror *m, int err)
{
    return m->once_connected && !m->o->once &&
           (err == BEZEL_EUNREACH || err == BEZEL_ENOSPC || err == BEZEL_EPERM || err == BEZEL_EBUSY);
}

/* Waits for the next try. */
static void wait_some(struct mirror *m, int err)
{
    retry_timer_fail(&m->retry, true, RETRY_FIRST, RETRY_LONGEST);
    if (m->state.is == MIRROR_CONNECTED)
        log_warn(err == BEZEL_ENOSPC ? "BEZEL-MIRROR-FULL" : "BEZEL-MIRROR-CUT",
                 "%s; what is here stays, and the mirror goes on from it as soon as it can", m->link.why);
    (void)set_state(m, MIRROR_CUT);
    int64_t until = clock_now() + m->retry.pause;
    while (clock_now() < until && !is_stopped(m))
        clock_sleep_until(clock_now() + 50 * CLOCK_MS < until ? clock_now() + 50 * CLOCK_MS : until);
}

/* What was asked for is here. */
static int end(struct mirror *m)
{
    bool complete = !m->state.grows && !(m->o->home && m->o->temporary); /* its `bezel run` writes more elsewhere */
    m->state.behind = m->link.end.behind;
    mirror_state_lack_up_to(&m->state, m->link.end.cut, "trace", "the server has left out a file, which its log names");
    int err = m->o->home && complete && !m->state.lacking ? mirror_state_remove(m->o->dir)
                                                          : set_state(m, complete ? MIRROR_COMPLETE : MIRROR_STORED);
    if (m->state.lacking && !m->o->why)
        log_warn("BEZEL-MIRROR-LACKS", "%s lacks a part of %llu files, which could not be had: %s", m->o->dir,
                 (unsigned long long)m->state.lacking, m->state.lacks[0]);
    return err;
}

int mirror_run(const struct mirror_options *o)
{
    struct mirror m = {.o = o, .files = {.folder = -1, .home = o->home != NULL}, .lock = {-1, -1}};
    int err = open_directory(&m);
    bool opened = !err;
    while (opened) {
        err = session(&m);
        if (err == 0)
            err = end(&m);
        if (!may_pass(&m, err) || is_stopped(&m))
            break;
        wait_some(&m, err);
    }
    if (opened && err && (err == BEZEL_EAGAIN || is_stopped(&m))) {
        if (m.state.is == MIRROR_CONNECTED)
            (void)set_state(&m, MIRROR_STORED);
        err = BEZEL_EAGAIN;
    } else if (opened && err) {
        (void)fail(&m, err, "BEZEL-MIRROR", "%s", m.link.why);
        if (m.once_connected)
            (void)set_state(&m, MIRROR_CUT);
    }
    watermarks_close(m.watermarks);
    free(m.nodes);
    if (m.files.folder >= 0)
        close(m.files.folder);
    folder_unlock(&m.lock); /* nobody takes the run for one that goes on */
    if (!err)
        note_caught_up(&m);
    return err;
}
