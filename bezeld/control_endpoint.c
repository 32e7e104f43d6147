// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/desk.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/limit.h"
#include "base/log.h"
#include "base/units.h"
#include "mdr/keyring.h"
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
    DESK_COMMANDS_A_TURN = 4,
    DESK_ENDED = 64, /* sessions that ended by themselves, remembered so that nobody begins them anew */
};

#define DESK_ASKED (5 * CLOCK_S) /* a `bezel run` that waits for a session asks every half second */

#define SESSION_PREFIX "session-"

struct desk {
    struct link *link;
    char dir[PATH_MAX], keys[PATH_MAX]; /* keys: "" where there are none */
    int lock;
    bool shut;
    int64_t patience;
    struct {
        uint8_t run[16];
        char node[EXPERIMENT_NAME_MAX + 1];
    } ended[DESK_ENDED];
    uint32_t ended_count;
    struct message message; /* scratch: too large for the stack */
    uint8_t bytes[MESSAGE_MAX_BYTES];
};

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* Who may command a daemon may run code: the folder must be this user's alone. */
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

static int lock_folder(struct desk *d)
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

/* Sockets of sessions that a killed life left: who has one of them begins it anew. */
static void remove_sockets(const char *dir)
{
    DIR *all = opendir(dir);
    for (struct dirent *e; all && (e = readdir(all)) != NULL;)
        if (strncmp(e->d_name, SESSION_PREFIX, sizeof SESSION_PREFIX - 1) == 0)
            unlinkat(dirfd(all), e->d_name, 0);
    if (all)
        closedir(all);
}

static int take_folder(struct desk *d, const char *dir)
{
    int err = file_make_dirs(dir, 0700);
    if (!err && !realpath(dir, d->dir))
        err = err_from_errno(errno);
    if (!err)
        err = check_folder(d->dir);
    if (!err)
        err = lock_folder(d);
    if (err == BEZEL_EBUSY)
        log_error("BEZEL-STAND-BUSY", "another bezeld stands in %s", dir);
    else if (err == BEZEL_EPERM)
        log_error("BEZEL-STAND-FOLDER", "%s is not this user's alone: give it mode 0700, or name another folder", dir);
    else if (err)
        log_error("BEZEL-STAND-FOLDER", "cannot stand in %s: %s", dir, strerror(errno));
    return err;
}

static void tell_wrong_key(void *folder, const char *file, const char *why)
{
    if (file[0])
        log_warn("BEZEL-STAND-KEYS", "%s/%s.pub: %s", (const char *)folder, file, why);
    else
        log_error("BEZEL-STAND-KEYS", "%s: %s", (const char *)folder, why);
}

/* What is in the folder is looked at again for each session; that there is none is told now. */
static int take_keys(struct desk *d, const char *keys)
{
    if (!keys)
        return 0;
    if (!realpath(keys, d->keys)) {
        int err = err_from_errno(errno);
        log_error("BEZEL-STAND-KEYS", "%s: %s", keys, strerror(errno));
        return err;
    }
    int n = keyring_examine(d->keys, tell_wrong_key, d->keys);
    return n < 0 ? n : 0;
}

int desk_open(const char *dir, const char *keys, int64_t patience, struct desk **out)
{
    char endpoint[PATH_MAX + 32];
    struct desk *d = calloc(1, sizeof *d);
    if (!d)
        return BEZEL_ENOMEM;
    d->lock = -1;
    d->patience = patience;
    int err = take_folder(d, dir);
    if (!err)
        err = take_keys(d, keys);
    if (!err) {
        remove_sockets(d->dir);
        snprintf(endpoint, sizeof endpoint, "ipc://%s/control", d->dir);
        err = link_bind(endpoint, MESSAGE_MAX_BYTES, NULL, &d->link);
        if (err)
            log_error("BEZEL-STAND-CONTROL", "cannot bind %s: %s", endpoint, limit_reason(err));
    }
    if (err) {
        desk_close(d);
        return err;
    }
    *out = d;
    return 0;
}

void desk_close(struct desk *d)
{
    link_close(d->link, 200);
    if (d->lock >= 0)
        close(d->lock);
    free(d);
}

struct link *desk_link(const struct desk *d)
{
    return d->link;
}

void desk_shut(struct desk *d)
{
    d->shut = true;
}

/* ---- Sessions ---------------------------------------------------------------------------------------------------- */

void desk_note_end(struct desk *d, const struct session *s)
{
    if (!s->complete)
        return;
    uint32_t i = d->ended_count++ % DESK_ENDED;
    memcpy(d->ended[i].run, s->run, sizeof d->ended[i].run);
    snprintf(d->ended[i].node, sizeof d->ended[i].node, "%s", s->name);
}

static bool has_ended(const struct desk *d, const struct message_begin *b)
{
    for (uint32_t i = 0; i < d->ended_count && i < DESK_ENDED; i++)
        if (memcmp(d->ended[i].run, b->run, sizeof b->run) == 0 && strcmp(d->ended[i].node, b->node) == 0)
            return true;
    return false;
}

/*
 * Whether a session is about to leave the folder, or its place where all are taken: it is had by asking again. One that
 * another run has not taken up may be one that its run gave up: then it leaves soon.
 */
static bool is_being_left(const struct sessions *all, const struct message_begin *b)
{
    bool full = all->count == SESSIONS_MAX;
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
    message_reply_add(reply, "refused", 1);
}

/* The endpoint of a session: the same in each life of the daemon. */
static void name_endpoint(const struct desk *d, const struct message_begin *b, char *endpoint, size_t size)
{
    uint64_t h = hash_fnv64(HASH_FNV64_START, b->run, sizeof b->run);
    h = hash_fnv64(h, b->node, strlen(b->node));
    snprintf(endpoint, size, "ipc://%s/" SESSION_PREFIX "%016llx", d->dir, (unsigned long long)h);
}

/* Opens the session that `b` wishes. NULL: it is refused. */
static struct session *open_session(struct desk *d, struct sessions *all, const struct message_begin *b,
                                    struct message_reply *reply)
{
    char endpoint[PATH_MAX + 64], why[SESSION_WHY_MAX];
    struct session *s;
    name_endpoint(d, b, endpoint, sizeof endpoint);
    struct session_wish wish = {.node = b->node,
                                .dir = b->folder,
                                .collector = b->collector,
                                .control = endpoint,
                                .named_keys = d->keys[0] ? d->keys : NULL,
                                .text = b->experiment,
                                .text_bytes = strlen(b->experiment),
                                .file = "experiment",
                                .lease = d->patience};
    memcpy(wish.run, b->run, sizeof wish.run);
    if (session_open(&wish, &s, why) != 0)
        return refuse(reply, why), NULL;
    if (sessions_add(all, s) != 0) { /* cannot be: the room was looked at */
        session_free(s);
        return refuse(reply, err_text(BEZEL_EFULL)), NULL;
    }
    log_info("BEZEL-SESSION", "%s: serving %s", s->label, s->dir);
    s->waiting.began = true;
    return s;
}

/* The session that `b` wishes, which may be there already. NULL: it is refused, or not answered: it is asked again. */
static struct session *begin(struct desk *d, struct sessions *all, const struct message_begin *b,
                             struct message_reply *reply)
{
    char why[SESSION_WHY_MAX] = "this bezeld was told to end";
    struct session *s = sessions_find(all, b->run, b->node);
    if (s && s->phase == SESSION_SERVES)
        return s;
    if (has_ended(d, b))
        snprintf(why, sizeof why, "the session has ended, since `bezel run` was not heard of for %s",
                 units_duration(d->patience).s);
    else if (!d->shut && (s || is_being_left(all, b)))
        return NULL;
    else if (!d->shut && all->count == SESSIONS_MAX)
        snprintf(why, sizeof why,
                 "it serves %d nodes already, which is the most: wait until an experiment has ended, or start another "
                 "bezeld in a folder of its own",
                 SESSIONS_MAX);
    else if (!d->shut)
        return open_session(d, all, b, reply);
    return refuse(reply, why), NULL;
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

static void send_reply(struct desk *d, const struct link_peer *peer, const struct message_reply *reply)
{
    d->message.type = MESSAGE_REPLY;
    d->message.reply = *reply;
    int size = message_encode(&d->message, d->bytes, sizeof d->bytes);
    if (size < 0 || link_send(d->link, peer, d->bytes, (size_t)size) != 0)
        log_warn("BEZEL-REPLY", "a reply could not be sent");
}

/* What keeps the session from its collector, said in answer to each BEGIN until it serves. */
static void tell_trouble(struct desk *d, const struct session *s, const struct link_peer *peer,
                         struct message_reply *reply)
{
    char text[SESSION_WHY_MAX + LINK_ENDPOINT_MAX];
    const char *trouble = s->phase == SESSION_SERVES ? node_trouble(s->node) : NULL;
    if (!trouble)
        return;
    snprintf(text, sizeof text, "%s %s", s->collector, trouble);
    message_text(reply->text, MESSAGE_TEXT_MAX, text);
    message_reply_add(reply, "waits", 1);
    send_reply(d, peer, reply);
}

/* BEGIN is answered once the session serves, or cannot. */
static void answer_begin(struct desk *d, struct sessions *all, const struct link_peer *peer,
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
    tell_trouble(d, s, peer, reply);
}

/* Answers the command in d->message. Returns its verb. */
static enum message_verb answer(struct desk *d, struct sessions *all, const struct link_peer *peer)
{
    static struct message_reply reply; /* one thread; too large for a stack */
    enum message_verb verb = d->message.command.verb;
    reply = (struct message_reply){.id = d->message.command.id, .state = d->shut ? DAEMON_DRAINING : DAEMON_ACTIVE};
    if (verb == VERB_BEGIN) {
        answer_begin(d, all, peer, &reply);
        return verb;
    }
    if (verb == VERB_DRAIN)
        sessions_end(all);
    else if (verb != VERB_STATUS && verb != VERB_STOP)
        refuse(&reply, "that is for a session to do: give the command to its own control link");
    message_reply_add(&reply, "sessions", all->count);
    message_reply_add(&reply, "sessions_max", SESSIONS_MAX);
    send_reply(d, peer, &reply);
    return verb;
}

/*
 * A session whose `bezel run` gave up before it was told of it: nobody knows its endpoint, and nobody asks again. It
 * has not met its collector, so there is nothing to hand on, and what it cut its window keeps for who may ask after
 * all.
 */
static void leave_unasked(struct session *s)
{
    if (!s->waiting.is || !s->waiting.began || clock_now() - s->waiting.asked < DESK_ASKED)
        return;
    log_warn("BEZEL-SESSION", "%s: nobody asks for the session any more, which has not begun to serve: it ends",
             s->label);
    s->waiting.is = false;
    session_cut(s);
}

/* Tells who waits for a session how it stands with it; one that the collector refused is given up. */
static void tell_waiting(struct desk *d, struct session *s)
{
    static struct message_reply reply; /* one thread; too large for a stack */
    bool serves = s->phase == SESSION_SERVES && node_connected(s->node);
    const char *refused = s->phase == SESSION_SERVES ? node_refused(s->node) : "the session is about to end";
    if (!s->waiting.is || (!serves && !refused))
        return;
    reply = (struct message_reply){.id = s->waiting.id, .state = DAEMON_ACTIVE};
    if (serves) {
        message_text(reply.text, MESSAGE_TEXT_MAX, s->control);
        message_reply_add(&reply, "began", s->waiting.began);
    } else
        refuse(&reply, refused);
    send_reply(d, &s->waiting.peer, &reply);
    s->waiting.is = s->waiting.began = false;
    if (!serves)
        session_cut(s);
}

bool desk_turn(struct desk *d, struct sessions *all)
{
    struct link_frame frame;
    bool stop = false;
    for (int i = 0; i < DESK_COMMANDS_A_TURN && link_receive(d->link, &frame) == 0; i++) {
        struct link_peer peer = frame.peer;
        bool may = link_may(&frame, KEY_CONTROL);
        int err = message_decode(frame.data, frame.size, &d->message);
        link_frame_free(&frame);
        if (!may)
            log_warn("BEZEL-COMMAND", "a command of a key without the role control was dropped");
        else if (err || d->message.type != MESSAGE_COMMAND)
            log_warn("BEZEL-COMMAND", "what came over the control link is no command");
        else
            stop |= answer(d, all, &peer) == VERB_STOP;
    }
    for (uint32_t i = 0; i < all->count; i++) {
        tell_waiting(d, all->list[i]);
        leave_unasked(all->list[i]);
    }
    return stop;
}
