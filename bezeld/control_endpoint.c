// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/control_endpoint.h"

#include "base/file.h"
#include "base/folder.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "base/units.h"
#include "bezeld/node/owner.h"
#include "mdr/command/command_server.h"
#include "mdr/link/keyring.h"
#include "mdr/message.h"
#include "sensor/shm/segment_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CONTROL_ENDPOINT_MESSAGES_A_TURN = 64,
    CONTROL_ENDPOINT_ENDED =
        64, /* sessions that ended by themselves and are kept in a list, so that CONFIGURE is refused for them */
};

#define CONTROL_ENDPOINT_ASKED (5 * CLOCK_S)   /* a `bezel run` that waits for a session asks every half second */
#define CONTROL_ENDPOINT_WAITS (25 * CLOCK_MS) /* between two looks whether it can be answered */

struct control_endpoint {
    struct command_server *control;
    struct link_keys link_keys;         /* over tcp */
    char dir[PATH_MAX], keys[PATH_MAX]; /* dir: "" over tcp; keys: "" if there are none */
    int lock;
    bool shut;
    int64_t idle_timeout;
    const char *launcher; /* borrowed */
    struct collector_places collectors;
    struct {
        uint8_t run[16];
        char node[EXPERIMENT_NAME_MAX + 1];
        int64_t idle; /* because of this idle time-out; 0: it was not */
    } ended[CONTROL_ENDPOINT_ENDED];
    uint32_t ended_count;
};

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

/* A command can make the daemon run code, so the folder must be accessible to this user alone. */
static int check_folder(const char *dir)
{
    struct stat st;
    if (lstat(dir, &st) != 0)
        return err_from_errno(errno);
    if (folder_is_private(&st))
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

/* Takes the folder of the socket. */
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
                  "other users can enter %s: give it to this user alone, mode 0700, or name another folder", dir);
    else if (err)
        log_error("BEZEL-CONTROL-FOLDER", "cannot open the control endpoint in %s: %s", dir, strerror(errno));
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
    err = command_server_open(control, key ? &d->link_keys : NULL, &d->control);
    if (err)
        log_error("BEZEL-CONTROL", "cannot bind %s: %s", control, ulimit_reason(err));
    return err;
}

int control_endpoint_open(const struct control_endpoint_options *o, struct control_endpoint **out)
{
    const char *socket = endpoint_path(o->control);
    struct control_endpoint *d = calloc(1, sizeof *d);
    if (!d)
        return BEZEL_ENOMEM;
    d->lock = -1;
    d->idle_timeout = o->idle_timeout;
    d->launcher = o->launcher;
    int err = socket ? take_folder(d, socket) : 0;
    if (!err)
        err = take_keys(d, o->keys);
    if (!err)
        err = bind_control(d, o->control, o->key);
    if (err) {
        control_endpoint_close(d);
        return err;
    }
    d->collectors = (struct collector_places){.control = d->control,
                                              .keys = d->keys[0] ? d->keys : NULL,
                                              .launcher = d->launcher,
                                              .idle_timeout = d->idle_timeout};
    *out = d;
    return 0;
}

void control_endpoint_close(struct control_endpoint *d)
{
    collector_places_free(&d->collectors);
    command_server_close(d->control, 200);
    link_keys_close(&d->link_keys);
    if (d->lock >= 0)
        close(d->lock);
    free(d);
}

struct link *control_endpoint_link(const struct control_endpoint *d)
{
    return command_server_link(d->control);
}

size_t control_endpoint_fds(const struct control_endpoint *d, int *fds)
{
    return collector_places_fds(&d->collectors, fds);
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
    d->ended[i].idle = s->deserted ? s->idle_timeout : 0;
}

/* Whether the session that `b` requests has ended by itself; if so, `why` says why it is not begun anew. */
static bool has_ended(const struct control_endpoint *d, const struct message_envelope *b, char why[SESSION_WHY_MAX])
{
    for (uint32_t i = 0; i < d->ended_count && i < CONTROL_ENDPOINT_ENDED; i++)
        if (memcmp(d->ended[i].run, b->run, sizeof b->run) == 0 && strcmp(d->ended[i].node, b->node) == 0) {
            if (d->ended[i].idle)
                snprintf(why, SESSION_WHY_MAX, "the session has ended: it received no command from `bezel run` for %s",
                         units_duration(d->ended[i].idle).s);
            else
                snprintf(why, SESSION_WHY_MAX, "the session has ended: this bezeld was asked to end its sessions");
            return true;
        }
    return false;
}

/* The folder of the session that `b` requests; "": the experiment is wrong, which session_open() reports. */
static void find_folder(const struct message *b, char folder[PATH_MAX])
{
    const struct message_configure *c = &b->configure;
    struct session_request request = {
        .node = b->envelope.node, .text = c->experiment, .text_bytes = strlen(c->experiment)};
    memcpy(request.run, b->envelope.run, sizeof request.run);
    snprintf(folder, PATH_MAX, "%s", c->folder);
    if (!folder[0] && session_find_folder(&request, folder) != 0)
        folder[0] = '\0';
}

/*
 * Whether the folder, or if all sessions are in use a place for one, will be free soon, so that a repeated request
 * succeeds. A session that its run does not use yet may have been given up by it, and then ends soon.
 */
static bool is_being_left(const struct scheduler *all, const struct message *b, const char *folder)
{
    bool full = all->count == SCHEDULER_MAX;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct session *s = all->list[i];
        bool leaves = s->phase > SESSION_SERVES;
        bool unclaimed = s->waiting.is && s->waiting.began && memcmp(s->run, b->envelope.run, sizeof s->run) != 0;
        if ((full && (leaves || unclaimed)) || (leaves && strcmp(s->dir, folder) == 0))
            return true;
    }
    return false;
}

/* Opens the session that `b` requests. NULL: it is refused, and `why` says why. */
static struct session *open_session(struct control_endpoint *d, struct scheduler *all,
                                    const struct command_request *from, char why[SESSION_WHY_MAX])
{
    const struct message *b = command_server_message(d->control);
    const struct message_configure *c = &b->configure;
    char *text = NULL;
    bool is_path = d->dir[0] && c->experiment[0] == '/'; /* the file is too long for a message */
    size_t n = strlen(c->experiment);
    struct session *s = NULL;
    if (is_path && file_read(c->experiment, EXPERIMENT_FILE_MAX, &text, &n) != 0) {
        snprintf(why, SESSION_WHY_MAX, "cannot read %.200s: %s", c->experiment, strerror(errno));
        return NULL;
    }
    struct session_request request = {.node = b->envelope.node,
                                      .dir = c->folder,
                                      .collector = c->collector,
                                      .from = from,
                                      .control = d->control,
                                      .keys = d->keys[0] ? d->keys : NULL,
                                      .launcher = d->launcher,
                                      .text = text ? text : c->experiment,
                                      .text_bytes = n,
                                      .file = "experiment",
                                      .idle_timeout = d->idle_timeout};
    memcpy(request.run, b->envelope.run, sizeof request.run);
    int err = session_open(&request, &s, why);
    free(text);
    if (err)
        return NULL;
    if (scheduler_add(all, s) != 0) { /* cannot happen: configure() checked for room */
        session_free(s);
        snprintf(why, SESSION_WHY_MAX, "%s", err_text(BEZEL_EFULL));
        return NULL;
    }
    log_info("BEZEL-SESSION", "%s: serving %s", s->label, s->dir);
    s->waiting.began = true;
    return s;
}

/* Answers a command of a `bezel run` that is not the owner any more. `s`: the session; NULL: it has not begun again. */
static void refuse_former(struct control_endpoint *d, const struct session *s, const struct command_request *to)
{
    char why[SESSION_WHY_MAX + LINK_HOST_MAX + KEY_NAME_MAX] = "the run was taken over by `bezel attach`";
    if (s) {
        const char *host = s->waiting.from.host, *key = s->waiting.from.key;
        snprintf(why, sizeof why, "the run was taken over by `bezel attach` %s%s%s%s",
                 host[0] ? "from " : "on this machine", host, key[0] ? " with key " : "", key);
    }
    command_server_refuse(d->control, to, ANSWER_TAKEN, why);
}

/* Whether the command of `from` is of a `bezel run` that is not the owner of session `s` any more: it is answered. */
static bool is_former(struct control_endpoint *d, const struct session *s, const struct command_request *from)
{
    const struct message *m = command_server_message(d->control);
    bool former = s && s->node && m->type == MESSAGE_COMMAND &&
                  owner_judge(node_owner(s->node), m->command.owner) == OWNER_FORMER;
    if (former)
        refuse_former(d, s, from);
    return former;
}

/* Whether the session that a killed bezeld has left in `folder` had a newer owner: CONFIGURE is answered. */
static bool was_former(struct control_endpoint *d, const char *folder, const struct command_request *from)
{
    const struct message *m = command_server_message(d->control);
    struct state_file kept;
    owner_file_init(&kept, folder, m->envelope.run);
    bool former = owner_judge(owner_read(&kept), m->command.owner) == OWNER_FORMER;
    if (former)
        refuse_former(d, NULL, from);
    return former;
}

/*
 * The session that `b` requests, which may exist already. NULL: refused, and `why` says why; or, where `why` is empty,
 * not answered, so that `bezel run` asks again.
 */
static struct session *configure(struct control_endpoint *d, struct scheduler *all, const struct command_request *from,
                                 char why[SESSION_WHY_MAX])
{
    const struct message *b = command_server_message(d->control);
    struct session *s = scheduler_find(all, b->envelope.run, b->envelope.node);
    char folder[PATH_MAX];
    why[0] = '\0';
    if (s && s->phase == SESSION_SERVES)
        return s;
    if (has_ended(d, &b->envelope, why))
        return NULL;
    find_folder(b, folder);
    if (!s && was_former(d, folder, from))
        return NULL;
    if (!d->shut && (s || is_being_left(all, b, folder)))
        return NULL;
    if (!d->shut && all->count < SCHEDULER_MAX)
        return open_session(d, all, from, why);
    if (d->shut)
        snprintf(why, SESSION_WHY_MAX, "this bezeld is ending");
    else
        snprintf(
            why, SESSION_WHY_MAX,
            "this bezeld already serves %d nodes, the maximum: wait until an experiment has ended, or start another "
            "bezeld in a folder of its own",
            SCHEDULER_MAX);
    return NULL;
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

/* Replies why the session does not reach its collector, to each CONFIGURE until it serves. */
static void send_trouble(struct control_endpoint *d, const struct session *s, const struct command_request *to)
{
    char text[SESSION_WHY_MAX + LINK_ENDPOINT_MAX];
    const char *trouble = s->phase == SESSION_SERVES ? node_trouble(s->node) : NULL;
    if (!trouble)
        return;
    struct message_reply reply = {.state = DAEMON_STARTING, .answer = ANSWER_WAITING};
    snprintf(text, sizeof text, "%s %s", s->collector, trouble);
    message_text(reply.text, MESSAGE_TEXT_MAX, text);
    command_server_reply(d->control, to, NULL, &reply);
}

/* Whoever sends CONFIGURE is the owner, unless one with a greater epoch is. */
static void note_owner(struct session *s, const struct message *configure, const struct command_request *from)
{
    struct message_leadership owner = configure->command.owner, before = node_owner(s->node);
    if (owner_judge(before, owner) != OWNER_NEWER)
        return;
    if (before.epoch)
        log_warn("BEZEL-SESSION-OWNER", "%s: taken over by `bezel attach` %s%s%s%s", s->label,
                 from->host[0] ? "from " : "on this machine", from->host, from->key[0] ? " with key " : "", from->key);
    session_take_over(s, owner, configure->configure.collector, from);
}

/* CONFIGURE is answered once the session serves, or is refused. */
static void answer_configure(struct control_endpoint *d, struct scheduler *all, const struct command_request *from)
{
    char why[SESSION_WHY_MAX];
    const struct message_envelope *to = &command_server_message(d->control)->envelope;
    if (is_former(d, scheduler_find(all, to->run, to->node), from))
        return;
    struct session *s = configure(d, all, from, why);
    if (!s) {
        if (why[0])
            command_server_refuse(d->control, from, ANSWER_REFUSED, why);
        return;
    }
    s->waiting.is = true;
    s->waiting.asked = clock_now();
    s->waiting.from = *from;
    note_owner(s, command_server_message(d->control), from);
    send_trouble(d, s, from);
}

static void list_sessions(struct control_endpoint *d, const struct scheduler *all, const struct command_request *from)
{
    struct message_session_list *list = &command_server_message(d->control)->sessions;
    list->count = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct session *s = all->list[i];
        struct message_session *row = &list->sessions[list->count++];
        *row = (struct message_session){.state = DAEMON_DRAINING};
        memcpy(row->run, s->run, sizeof row->run);
        snprintf(row->experiment, sizeof row->experiment, "%s", s->experiment->name);
        snprintf(row->node, sizeof row->node, "%s", s->name);
        snprintf(row->host, sizeof row->host, "%s", s->waiting.from.host);
        snprintf(row->key, sizeof row->key, "%s", s->waiting.from.key);
        if (s->phase < SESSION_CLOSES)
            node_describe(s->node, row);
    }
    struct message_reply reply = {.state = d->shut ? DAEMON_DRAINING : DAEMON_ACTIVE, .answer = ANSWER_SESSIONS};
    command_server_reply(d->control, from, NULL, &reply);
}

/* The first of the bezeld's folders, by name, that is not before `from`: the default one, or a session's. NULL: none.
 */
static const char *next_folder(const struct scheduler *all, const char *from, const char *usual)
{
    const char *next = strcmp(usual, from) >= 0 ? usual : NULL;
    for (uint32_t i = 0; i < all->count; i++) {
        const char *dir = all->list[i]->dir;
        if (strcmp(dir, from) >= 0 && (!next || strcmp(dir, next) < 0))
            next = dir;
    }
    return next;
}

_Static_assert((int)SEGMENT_LIST_MAX == MESSAGE_SEGMENTS_MAX, "an answer holds what is listed at once");

static void fill_segments(const char *path, uint64_t after, struct message_segment_list *list, char *why)
{
    struct segment_listed rows[SEGMENT_LIST_MAX];
    struct folder folder;
    int n = folder_open(path, &folder);
    message_text(list->folder, MESSAGE_TEXT_MAX, path);
    if (!n)
        n = segment_list(&folder, after, rows, &list->next);
    if (n < 0 && n != BEZEL_ENOENT)
        snprintf(why, SESSION_WHY_MAX, "cannot list the processes in %.100s: %.100s", path,
                 folder.why[0] ? folder.why : strerror(errno));
    for (int i = 0; i < n; i++) {
        struct message_segment *row = &list->rows[list->count++];
        *row = (struct message_segment){
            .instance = rows[i].instance, .pid = rows[i].pid, .age_ns = rows[i].age_ns, .records = rows[i].records};
        memcpy(row->run, rows[i].run, sizeof row->run);
        message_text(row->name, MESSAGE_NAME_MAX, rows[i].name);
    }
    folder_close(&folder);
}

static void list_segments(struct control_endpoint *d, const struct scheduler *all, const struct command_request *from)
{
    struct message *m = command_server_message(d->control);
    struct message_segment_list *list = &m->segments;
    char wanted[MESSAGE_TEXT_MAX + 2], usual[PATH_MAX], why[SESSION_WHY_MAX] = "";
    uint64_t after = m->command.after;
    bool next = after == UINT64_MAX;
    file_bezel_dir(usual, sizeof usual);
    snprintf(wanted, sizeof wanted, "%s%s", m->command.folder, next ? "\x01" : ""); /* the name that comes next */
    const char *folder = next_folder(all, wanted, usual);
    *list = (struct message_segment_list){.count = 0};
    if (folder)
        fill_segments(folder, strcmp(folder, wanted) == 0 ? after : 0, list, why);
    struct message_reply reply = {.state = d->shut ? DAEMON_DRAINING : DAEMON_ACTIVE, .answer = ANSWER_SEGMENTS};
    message_text(reply.text, MESSAGE_TEXT_MAX, why);
    command_server_reply(d->control, from, NULL, &reply);
}

/* Answers a command to the bezeld itself. Returns whether it was SHUTDOWN. */
static bool answer(struct control_endpoint *d, struct scheduler *all, const struct command_request *from)
{
    const struct message *m = command_server_message(d->control);
    bool is_state = m->command.verb == VERB_QUERY && m->command.subject == SUBJECT_STATE;
    bool is_shutdown = m->command.verb == VERB_SHUTDOWN;
    if (m->command.verb == VERB_QUERY && m->command.subject == SUBJECT_SESSIONS) {
        list_sessions(d, all, from);
        return false;
    }
    if (m->command.verb == VERB_QUERY && m->command.subject == SUBJECT_SEGMENTS) {
        list_segments(d, all, from);
        return false;
    }
    if (m->command.verb == VERB_STOP)
        scheduler_end(all);
    else if (!is_state && !is_shutdown) {
        command_server_refuse(d->control, from, ANSWER_REFUSED,
                              "only a session carries out this command: name its run and node");
        return false;
    }
    struct message_reply reply = {
        .state = d->shut ? DAEMON_DRAINING : DAEMON_ACTIVE, .answer = ANSWER_BEZELD, .sessions = all->count};
    command_server_reply(d->control, from, NULL, &reply);
    return is_shutdown;
}

/* Passes a message to the session that it names. */
static void pass(struct control_endpoint *d, struct scheduler *all, const struct command_request *from)
{
    const struct message *m = command_server_message(d->control);
    struct session *s = scheduler_find(all, m->envelope.run, m->envelope.node);
    if (is_former(d, s, from))
        return;
    if (s && s->phase < SESSION_CLOSES) {
        log_about(s->label);
        session_receive(s, from);
        log_about(NULL);
    } else if (m->type == MESSAGE_COMMAND)
        command_server_refuse(d->control, from, ANSWER_ABSENT, "this bezeld has no such session");
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
    bool serves = s->phase == SESSION_SERVES && node_connected(s->node);
    const char *refused = s->phase == SESSION_SERVES ? node_refused(s->node) : "the session is about to end";
    if (!s->waiting.is || (!serves && !refused))
        return;
    if (serves) {
        struct message_reply reply = {.state = DAEMON_ACTIVE, .answer = ANSWER_SESSION, .begun = s->waiting.began};
        if (s->waiting.began && !node_resumed(s->node))
            message_text(reply.text, MESSAGE_TEXT_MAX, "the session continues no earlier one");
        command_server_reply(d->control, &s->waiting.from, NULL, &reply);
    } else
        command_server_refuse(d->control, &s->waiting.from, ANSWER_REFUSED, refused);
    s->waiting.is = s->waiting.began = false;
    if (!serves)
        session_abort(s);
}

bool control_endpoint_turn(struct control_endpoint *d, struct scheduler *all)
{
    struct command_request from;
    int budget = CONTROL_ENDPOINT_MESSAGES_A_TURN;
    bool shutdown = false;
    while (command_server_receive(d->control, &budget, &from)) {
        const struct message *m = command_server_message(d->control);
        all->commanded = clock_now();
        if (collector_places_take(m))
            collector_places_receive(&d->collectors, &from);
        else if (m->envelope.node[0] == '\0')
            shutdown |= m->type == MESSAGE_COMMAND && answer(d, all, &from);
        else if (m->type == MESSAGE_COMMAND && m->command.verb == VERB_CONFIGURE)
            answer_configure(d, all, &from);
        else
            pass(d, all, &from);
    }
    collector_places_turn(&d->collectors);
    bool waited_for = false;
    for (uint32_t i = 0; i < all->count; i++) {
        programs_turn(all->list[i]->programs);
        answer_waiting(d, all->list[i]);
        abort_unrequested(all->list[i]);
        waited_for = waited_for || all->list[i]->waiting.is;
    }
    int64_t now = clock_now();
    all->control_due = waited_for ? now + CONTROL_ENDPOINT_WAITS : d->collectors.count > 0 ? now + CLOCK_S : INT64_MAX;
    return shutdown;
}
