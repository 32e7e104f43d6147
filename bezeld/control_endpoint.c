// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/control_endpoint.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/limit.h"
#include "base/log.h"
#include "base/units.h"
#include "mdr/link/keyring.h"
#include "mdr/message.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CONTROL_ENDPOINT_COMMANDS_A_TURN = 4,
    CONTROL_ENDPOINT_ENDED =
        64, /* sessions that ended by themselves and are kept in a list, so that BEGIN is refused for them */
};

#define CONTROL_ENDPOINT_ASKED (5 * CLOCK_S) /* a `bezel run` that waits for a session asks every half second */

#define SESSION_PREFIX "session-"

struct control_endpoint {
    struct link *link;
    struct link_keys link_keys;         /* over tcp */
    char dir[PATH_MAX], keys[PATH_MAX]; /* dir: "" over tcp; keys: "" where there are none */
    int lock;
    bool shut;
    int64_t idle_timeout;
    struct {
        uint8_t run[16];
        char node[EXPERIMENT_NAME_MAX + 1];
        bool idle; /* because of the idle time-out */
    } ended[CONTROL_ENDPOINT_ENDED];
    uint32_t ended_count;
    struct message message; /* scratch: too large for the stack */
    uint8_t bytes[MESSAGE_MAX_BYTES];
};

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* A command can make the daemon run code, so the folder must be accessible to this user alone. */
static int check_folder(const char *dir)
{
    struct stat st;
    if (lstat(dir, &st) != 0)
        return err_from_errno(errno);
    if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IRWXG | S_IRWXO)))
        return 0;
    errno = EPERM;
    return BEZEL_EPERM;
}

static int lock_folder(struct control_endpoint *d)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/lock", d->dir);
    d->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (d->lock < 0)
        return err_from_errno(errno);
    if (flock(d->lock, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK ? BEZEL_EBUSY : err_from_errno(errno);
    return 0;
}

/* Removes the sockets of sessions that a killed bezeld left. A session that begins again makes its socket again. */
static void remove_sockets(const char *dir)
{
    DIR *all = opendir(dir);
    for (struct dirent *e; all && (e = readdir(all)) != NULL;)
        if (strncmp(e->d_name, SESSION_PREFIX, sizeof SESSION_PREFIX - 1) == 0)
            unlinkat(dirfd(all), e->d_name, 0);
    if (all)
        closedir(all);
}

/* Takes the folder of the socket, and removes the sockets that a killed bezeld left there. */
static int take_folder(struct control_endpoint *d, const char *socket)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(socket, '/'); /* the path is absolute */
    snprintf(dir, sizeof dir, "%.*s", slash > socket ? (int)(slash - socket) : 1, socket);
    int err = file_make_dirs(dir, 0700);
    if (!err && !realpath(dir, d->dir))
        err = err_from_errno(errno);
    if (!err)
        err = check_folder(d->dir);
    if (!err)
        err = lock_folder(d);
    if (err == BEZEL_EBUSY)
        log_error("BEZEL-CONTROL-BUSY", "another bezeld uses %s: end it, or name another folder", dir);
    else if (err == BEZEL_EPERM)
        log_error("BEZEL-CONTROL-FOLDER",
                  "others can enter %s: give it to this user alone, mode 0700, or name another folder", dir);
    else if (err)
        log_error("BEZEL-CONTROL-FOLDER", "cannot open the control endpoint in %s: %s", dir, strerror(errno));
    else
        remove_sockets(d->dir);
    return err;
}

static void log_wrong_key(void *folder, const char *file, const char *why)
{
    if (file[0])
        log_warn("BEZEL-CONTROL-KEYS", "%s/%s.pub: %s", (const char *)folder, file, why);
    else
        log_error("BEZEL-CONTROL-KEYS", "%s: %s", (const char *)folder, why);
}

/* The files in the folder are read for each session; here a missing folder is reported early. */
static int take_keys(struct control_endpoint *d, const char *keys)
{
    if (!keys)
        return 0;
    if (!realpath(keys, d->keys)) {
        int err = err_from_errno(errno);
        log_error("BEZEL-CONTROL-KEYS", "%s: %s", keys, strerror(errno));
        return err;
    }
    int n = keyring_examine(d->keys, log_wrong_key, d->keys);
    return n < 0 ? n : 0;
}

static int bind_control(struct control_endpoint *d, const char *control, const char *key)
{
    int err = key ? link_keys_open(key, d->keys, NULL, &d->link_keys) : 0;
    if (err)
        return err;
    err = link_bind(control, MESSAGE_MAX_BYTES, key ? &d->link_keys : NULL, &d->link);
    if (err)
        log_error("BEZEL-CONTROL", "cannot bind %s: %s", control, limit_reason(err));
    return err;
}

int control_endpoint_open(const char *control, const char *key, const char *keys, int64_t idle_timeout,
                          struct control_endpoint **out)
{
    const char *socket = endpoint_path(control);
    struct control_endpoint *d = calloc(1, sizeof *d);
    if (!d)
        return BEZEL_ENOMEM;
    d->lock = -1;
    d->idle_timeout = idle_timeout;
    int err = socket ? take_folder(d, socket) : 0;
    if (!err)
        err = take_keys(d, keys);
    if (!err)
        err = bind_control(d, control, key);
    if (err) {
        control_endpoint_close(d);
        return err;
    }
    *out = d;
    return 0;
}

void control_endpoint_close(struct control_endpoint *d)
{
    link_close(d->link, 200);
    link_keys_close(&d->link_keys);
    if (d->lock >= 0)
        close(d->lock);
    free(d);
}

struct link *control_endpoint_link(const struct control_endpoint *d)
{
    return d->link;
}

void control_endpoint_shut(struct control_endpoint *d)
{
    d->shut = true;
}

/* ---- Sessions ---------------------------------------------------------------------------------------------------- */

void control_endpoint_note_end(struct control_endpoint *d, const struct session *s)
{
    if (!s->complete)
        return;
    uint32_t i = d->ended_count++ % CONTROL_ENDPOINT_ENDED;
    memcpy(d->ended[i].run, s->run, sizeof d->ended[i].run);
    snprintf(d->ended[i].node, sizeof d->ended[i].node, "%s", s->name);
    d->ended[i].idle = s->deserted;
}

/* Whether the session that `b` requests has ended by itself; if so, `why` says why it is not begun anew. */
static bool has_ended(const struct control_endpoint *d, const struct message_begin *b, char why[SESSION_WHY_MAX])
{
    for (uint32_t i = 0; i < d->ended_count && i < CONTROL_ENDPOINT_ENDED; i++)
        if (memcmp(d->ended[i].run, b->run, sizeof b->run) == 0 && strcmp(d->ended[i].node, b->node) == 0) {
            if (d->ended[i].idle)
                snprintf(why, SESSION_WHY_MAX, "the session has ended: it received no command from `bezel run` for %s",
                         units_duration(d->idle_timeout).s);
            else
                snprintf(why, SESSION_WHY_MAX, "the session has ended: this bezeld was told to end its sessions");
            return true;
        }
    return false;
}

/*
 * Whether the folder, or if all sessions are in use a place for one, will be free soon, so that a repeated request
 * succeeds. A session that its run does not use yet may have been given up by it, and then ends soon.
 */
static bool is_being_left(const struct scheduler *all, const struct message_begin *b)
{
    bool full = all->count == SCHEDULER_MAX;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct session *s = all->list[i];
        bool leaves = s->phase > SESSION_SERVES;
        bool unclaimed = s->waiting.is && s->waiting.began && memcmp(s->run, b->run, sizeof s->run) != 0;
        if ((full && (leaves || unclaimed)) || (leaves && strcmp(s->dir, b->folder) == 0))
            return true;
    }
    return false;
}

static void refuse(struct message_reply *reply, const char *why)
{
    reply->state = DAEMON_FAILED;
    message_text(reply->text, MESSAGE_TEXT_MAX, why);
    reply->answer = ANSWER_REFUSED;
}

/* The endpoint of a session: a socket with the same path in each life of the daemon, or a tcp port of the same host. */
static void name_endpoint(const struct control_endpoint *d, const struct message_begin *b, char *endpoint, size_t size)
{
    const char *control = link_endpoint(d->link);
    uint64_t h = hash_fnv64(HASH_FNV64_START, b->run, sizeof b->run);
    h = hash_fnv64(h, b->node, strlen(b->node));
    if (d->dir[0])
        snprintf(endpoint, size, "ipc://%s/" SESSION_PREFIX "%012llx", d->dir, (unsigned long long)(h >> 16));
    else
        snprintf(endpoint, size, "%.*s:*", (int)(strrchr(control, ':') - control), control);
}

/* Opens the session that `b` requests. NULL: it is refused. */
static struct session *open_session(struct control_endpoint *d, struct scheduler *all, const struct message_begin *b,
                                    struct message_reply *reply)
{
    char endpoint[PATH_MAX + 64], why[SESSION_WHY_MAX], *text = NULL;
    bool is_path = d->dir[0] && b->experiment[0] == '/'; /* the file is too long for a message */
    size_t n = strlen(b->experiment);
    struct session *s = NULL;
    name_endpoint(d, b, endpoint, sizeof endpoint);
    if (is_path && file_read(b->experiment, EXPERIMENT_FILE_MAX, &text, &n) != 0) {
        snprintf(why, sizeof why, "cannot read %.200s: %s", b->experiment, strerror(errno));
        return refuse(reply, why), NULL;
    }
    struct session_request request = {.node = b->node,
                                      .dir = b->folder,
                                      .collector = b->collector,
                                      .control = endpoint,
                                      .keys = d->keys[0] ? d->keys : NULL,
                                      .control_keys = d->dir[0] ? NULL : &d->link_keys,
                                      .text = text ? text : b->experiment,
                                      .text_bytes = n,
                                      .file = "experiment",
                                      .idle_timeout = d->idle_timeout};
    memcpy(request.run, b->run, sizeof request.run);
    int err = session_open(&request, &s, why);
    free(text);
    if (err)
        return refuse(reply, why), NULL;
    if (scheduler_add(all, s) != 0) { /* cannot happen: begin() checked for room */
        session_free(s);
        return refuse(reply, err_text(BEZEL_EFULL)), NULL;
    }
    log_info("BEZEL-SESSION", "%s: serving %s", s->label, s->dir);
    s->waiting.began = true;
    return s;
}

/* The session that `b` requests, which may exist already. NULL: refused; or not answered, so `bezel run` asks again. */
static struct session *begin(struct control_endpoint *d, struct scheduler *all, const struct message_begin *b,
                             struct message_reply *reply)
{
    char why[SESSION_WHY_MAX] = "this bezeld is ending";
    struct session *s = scheduler_find(all, b->run, b->node);
    if (s && s->phase == SESSION_SERVES)
        return s;
    if (has_ended(d, b, why))
        return refuse(reply, why), NULL;
    if (!d->shut && (s || is_being_left(all, b)))
        return NULL;
    else if (!d->shut && all->count == SCHEDULER_MAX)
        snprintf(
            why, sizeof why,
            "this bezeld already serves %d nodes, the maximum: wait until an experiment has ended, or start another "
            "bezeld in a folder of its own",
            SCHEDULER_MAX);
    else if (!d->shut)
        return open_session(d, all, b, reply);
    return refuse(reply, why), NULL;
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

static void send_message(struct control_endpoint *d, const struct link_peer *peer)
{
    int size = message_encode(&d->message, d->bytes, sizeof d->bytes);
    if (size < 0 || link_send(d->link, peer, d->bytes, (size_t)size) != 0)
        log_warn("BEZEL-REPLY", "a reply could not be sent");
}

static void send_reply(struct control_endpoint *d, const struct link_peer *peer, const struct message_reply *reply)
{
    d->message.type = MESSAGE_REPLY;
    d->message.reply = *reply;
    send_message(d, peer);
}

/* Replies why the session does not reach its collector, to each BEGIN until it serves. */
static void send_trouble(struct control_endpoint *d, const struct session *s, const struct link_peer *peer,
                         struct message_reply *reply)
{
    char text[SESSION_WHY_MAX + LINK_ENDPOINT_MAX];
    const char *trouble = s->phase == SESSION_SERVES ? node_trouble(s->node) : NULL;
    if (!trouble)
        return;
    snprintf(text, sizeof text, "%s %s", s->collector, trouble);
    message_text(reply->text, MESSAGE_TEXT_MAX, text);
    reply->answer = ANSWER_WAITING;
    send_reply(d, peer, reply);
}

/* BEGIN is answered once the session serves, or is refused. */
static void answer_begin(struct control_endpoint *d, struct scheduler *all, const struct link_peer *peer,
                         struct message_reply *reply)
{
    struct session *s = begin(d, all, &d->message.begin, reply);
    if (!s) {
        if (reply->text[0])
            send_reply(d, peer, reply);
        return;
    }
    s->waiting.is = true;
    s->waiting.id = reply->id;
    s->waiting.asked = clock_now();
    s->waiting.peer = *peer;
    send_trouble(d, s, peer, reply);
}

/* Answers the command in d->message. Returns its verb. */
static enum message_verb answer(struct control_endpoint *d, struct scheduler *all, const struct link_peer *peer)
{
    static struct message_reply reply; /* one thread; too large for a stack */
    enum message_verb verb = d->message.command.verb;
    reply = (struct message_reply){
        .id = d->message.command.id, .state = d->shut ? DAEMON_DRAINING : DAEMON_ACTIVE, .answer = ANSWER_BEZELD};
    if (verb == VERB_BEGIN) {
        answer_begin(d, all, peer, &reply);
        return verb;
    }
    if (verb == VERB_DRAIN)
        scheduler_end(all);
    else if (verb != VERB_STATUS && verb != VERB_STOP)
        refuse(&reply, "only a session carries out this command: send it to the session's control link");
    reply.sessions = all->count;
    send_reply(d, peer, &reply);
    return verb;
}

/*
 * Ends a session whose `bezel run` gave up before the session was ready, and so never got its endpoint. The session has
 * not reached its collector, so nothing can be sent. Unsent packets stay in the window, in case a run asks later.
 */
static void abort_unrequested(struct session *s)
{
    if (s->idle_timeout == 0) /* its `bezel run` holds the parent pipe, and would have closed it */
        return;
    if (!s->waiting.is || !s->waiting.began || clock_now() - s->waiting.asked < CONTROL_ENDPOINT_ASKED)
        return;
    log_warn("BEZEL-SESSION",
             "%s: `bezel run` no longer requests this session, and it has not begun to serve: ending it", s->label);
    s->waiting.is = false;
    session_abort(s);
}

/* Answers the peer that waits for session `s`, once it serves or is refused. A refused session is aborted. */
static void answer_waiting(struct control_endpoint *d, struct session *s)
{
    static struct message_reply reply; /* one thread; too large for a stack */
    bool serves = s->phase == SESSION_SERVES && node_connected(s->node);
    const char *refused = s->phase == SESSION_SERVES ? node_refused(s->node) : "the session is about to end";
    if (!s->waiting.is || (!serves && !refused))
        return;
    reply = (struct message_reply){.id = s->waiting.id, .state = DAEMON_ACTIVE};
    if (serves) {
        reply.answer = ANSWER_SESSION;
        message_text(reply.session.endpoint, MESSAGE_TEXT_MAX, node_control(s->node));
        reply.session.begun = s->waiting.began;
        if (s->waiting.began && !node_resumed(s->node))
            message_text(reply.text, MESSAGE_TEXT_MAX, "the session continues no earlier one");
    } else
        refuse(&reply, refused);
    send_reply(d, &s->waiting.peer, &reply);
    s->waiting.is = s->waiting.began = false;
    if (!serves)
        session_abort(s);
}

bool control_endpoint_turn(struct control_endpoint *d, struct scheduler *all)
{
    struct link_frame frame;
    bool stop = false;
    for (int i = 0; i < CONTROL_ENDPOINT_COMMANDS_A_TURN && link_receive(d->link, &frame) == 0; i++) {
        struct link_peer peer = frame.peer;
        bool may = link_may(&frame, KEY_CONTROL);
        int err = message_decode(frame.data, frame.size, &d->message);
        link_frame_free(&frame);
        if (!may)
            log_warn("BEZEL-COMMAND", "a command was dropped: its key does not have the role control");
        else if (err == BEZEL_EVERSION)
            send_message(d, &peer); /* the REFUSE that it was read as */
        else if (err || d->message.type != MESSAGE_COMMAND)
            log_warn("BEZEL-COMMAND", "a message on the control endpoint was dropped: it is not a command");
        else
            stop |= answer(d, all, &peer) == VERB_STOP;
    }
    for (uint32_t i = 0; i < all->count; i++) {
        answer_waiting(d, all->list[i]);
        abort_unrequested(all->list[i]);
    }
    return stop;
}
