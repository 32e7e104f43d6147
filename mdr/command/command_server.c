// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/command/command_server.h"

#include "base/clock.h"
#include "base/log.h"
#include "mdr/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* The last command of a source, and its answer. */
struct answered {
    uint8_t source[16];
    uint32_t id;    /* 0: the place is free */
    uint64_t used;  /* a count: the place that was used longest ago is replaced */
    bool done;      /* `reply` is the answer; else it is still being carried out */
    uint8_t by[16]; /* who answered */
    struct message_reply reply;
};

struct command_server {
    struct link *link;
    uint8_t source[16];
    uint64_t life, uses;
    struct answered answered[COMMAND_SERVER_SOURCES];
    struct message message; /* scratch */
    uint8_t bytes[MESSAGE_MAX_BYTES];
};

int command_server_open(const char *endpoint, const struct link_keys *keys, struct command_server **out)
{
    struct command_server *c = calloc(1, sizeof *c);
    if (!c)
        return BEZEL_ENOMEM;
    int err = link_bind(endpoint, MESSAGE_MAX_BYTES, keys, &c->link);
    while (!err && c->life == 0)
        if (getrandom(c->source, sizeof c->source, 0) != sizeof c->source ||
            getrandom(&c->life, sizeof c->life, 0) != sizeof c->life)
            err = err_from_errno(errno);
    if (err) {
        command_server_close(c, 0);
        return err;
    }
    *out = c;
    return 0;
}

void command_server_close(struct command_server *c, int linger_ms)
{
    if (!c)
        return;
    link_close(c->link, linger_ms);
    free(c);
}

struct link *command_server_link(const struct command_server *c)
{
    return c->link;
}

struct message *command_server_message(struct command_server *c)
{
    return &c->message;
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

static struct answered *find(struct command_server *c, const uint8_t source[16])
{
    for (struct answered *a = c->answered; a < c->answered + COMMAND_SERVER_SOURCES; a++)
        if (a->id != 0 && memcmp(a->source, source, sizeof a->source) == 0)
            return a;
    return NULL;
}

static struct answered *replace_oldest(struct command_server *c, const uint8_t source[16])
{
    struct answered *oldest = c->answered;
    for (struct answered *a = c->answered; a < c->answered + COMMAND_SERVER_SOURCES; a++)
        oldest = a->used < oldest->used ? a : oldest;
    memcpy(oldest->source, source, sizeof oldest->source);
    return oldest;
}

int command_server_send(struct command_server *c, const struct command_request *to, const uint8_t source[16])
{
    struct message *m = &c->message;
    m->envelope = to->envelope;
    m->envelope.life = m->type == MESSAGE_REPLY ? c->life : 0;
    memcpy(m->envelope.source, source ? source : c->source, sizeof m->envelope.source);
    if (m->type == MESSAGE_REPLY) {
        m->reply.id = to->id;
        m->reply.at = (uint64_t)clock_now();
    }
    int size = message_encode(m, c->bytes, sizeof c->bytes);
    return size < 0 ? size : link_send(c->link, &to->peer, c->bytes, (size_t)size);
}

void command_server_reply(struct command_server *c, const struct command_request *to, const uint8_t source[16],
                          const struct message_reply *reply)
{
    struct answered *a = to->changes ? find(c, to->envelope.source) : NULL;
    if (a && a->id == to->id) {
        a->done = true;
        memcpy(a->by, source ? source : c->source, sizeof a->by);
        a->reply = *reply;
    }
    c->message.type = MESSAGE_REPLY;
    c->message.reply = *reply; /* a list of knobs is already in c->message.knobs */
    if (command_server_send(c, to, source) != 0)
        log_warn("BEZEL-REPLY", "a reply could not be sent: its receiver is gone, or does not receive");
}

void command_server_refuse(struct command_server *c, const struct command_request *to, enum message_answer answer,
                           const char *why)
{
    struct message_reply reply = {.state = DAEMON_FAILED, .answer = answer};
    message_text(reply.text, MESSAGE_TEXT_MAX, why);
    command_server_reply(c, to, NULL, &reply);
}

/* A REFUSE is read by every version, and by those who are no callers of commands. */
static void send_refuse(struct command_server *c, const struct command_request *to, const char *why)
{
    log_warn("BEZEL-COMMAND", "a message of control is refused: %s", why);
    char text[MESSAGE_TEXT_MAX + 1];
    message_text(text, MESSAGE_TEXT_MAX, why);
    c->message.type = MESSAGE_REFUSE;
    memcpy(c->message.refuse.reason, text, sizeof text);
    if (command_server_send(c, to, NULL) != 0)
        log_warn("BEZEL-REPLY", "a refusal could not be sent: its receiver is gone, or does not receive");
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

/* Whether the command is new and in time; else it is answered here. */
static bool admit(struct command_server *c, const struct command_request *from, uint64_t deadline)
{
    struct answered *a = find(c, from->envelope.source);
    if (!from->changes)
        return true;
    if (from->envelope.life != c->life)
        command_server_refuse(c, from, ANSWER_STALE, "the command was meant for an earlier life of this daemon");
    else if ((uint64_t)clock_now() > deadline)
        command_server_refuse(c, from, ANSWER_STALE, "the command came too late");
    else if (a && from->id < a->id)
        command_server_refuse(c, from, ANSWER_STALE, "the command is older than one that its source sent before");
    else if (!a || from->id > a->id) {
        a = a ? a : replace_oldest(c, from->envelope.source);
        a->id = from->id;
        a->used = ++c->uses;
        a->done = false;
        return true;
    } else if (a->done) {
        struct message_reply again = a->reply;
        command_server_reply(c, from, a->by, &again);
    }
    return false;
}

/* Whether the message in c->message is to be carried out; else it is answered or dropped. `err`: of decoding it. */
static bool take(struct command_server *c, int err, bool may, struct command_request *from)
{
    const struct message *m = &c->message;
    bool command = !err && m->type == MESSAGE_COMMAND;
    from->envelope = err ? (struct message_envelope){.life = 0} : m->envelope;
    from->id = command ? m->command.id : 0;
    from->changes = command && m->command.verb != VERB_QUERY;
    if (!may)
        send_refuse(c, from, "your key does not have the role control at this daemon");
    else if (err == BEZEL_EVERSION) {
        char why[sizeof m->refuse.reason];
        memcpy(why, m->refuse.reason, sizeof why);
        send_refuse(c, from, why);
    } else if (command && from->id != 0)
        return admit(c, from, m->command.deadline);
    else if (!err && (m->type == MESSAGE_WATCH || m->type == MESSAGE_SETPOINT || m->type == MESSAGE_JUDGEMENT ||
                      m->type == MESSAGE_LOOP))
        return true;
    else
        log_warn("BEZEL-COMMAND", "a message on the control link was dropped: it is not a command");
    return false;
}

bool command_server_receive(struct command_server *c, int *budget, struct command_request *from)
{
    struct link_frame frame;
    for (; *budget > 0 && link_receive(c->link, &frame) == 0; --*budget) {
        from->peer = frame.peer;
        bool may = link_may(&frame, KEY_CONTROL);
        from->may_launch = frame.roles & KEY_LAUNCH;
        link_host(&frame, from->host);
        memcpy(from->key, frame.key, sizeof from->key);
        int err = message_decode(frame.data, frame.size, &c->message);
        link_frame_free(&frame);
        if (take(c, err, may, from)) {
            --*budget;
            return true;
        }
    }
    return false;
}
