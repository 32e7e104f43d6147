// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/remote_session.h"

#include "base/ulimit.h"
#include "mdr/message.h"

#include <stdarg.h>
#include <stdio.h>

static BEZEL_PRINTF(2, 3) void end(struct remote_session *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->why, sizeof s->why, format, args);
    va_end(args);
    s->phase = REMOTE_SESSION_OVER;
}

static void ask(struct remote_session *s, struct command_caller *c)
{
    static struct message message; /* one thread; too large for a stack */
    message.command = (struct message_command){.verb = VERB_CONFIGURE};
    message.configure = *s->request;
    s->asked = clock_now();
    int sent = command_caller_send(c, &message);
    s->introduced = sent == 0;
    if (sent > 0)
        s->request_id = sent;
    else if (sent == BEZEL_EINVAL || sent == BEZEL_EFULL)
        end(s, "the session cannot be requested: %s", ulimit_reason(sent));
    /* else the queue is full of such requests; another follows later */
}

void remote_session_start(struct remote_session *s, struct command_caller *c, int err)
{
    s->phase = REMOTE_SESSION_ASKED;
    s->stop = s->request_id = 0;
    s->why[0] = '\0';
    if (!err && !s->served_once) /* one that served before may be restarting */
        err = endpoint_try(s->address);
    if (err == BEZEL_ENOENT || err == BEZEL_EUNREACH)
        end(s, "no bezeld serves there: start one with `bezeld --control %s`, or leave `address` out of the file",
            s->address);
    else if (err)
        end(s, "cannot connect: %s", ulimit_reason(err));
    else
        ask(s, c);
}

static void take_session(struct remote_session *s, const struct message_reply *r)
{
    bool anew = r->begun && r->text[0]; /* else it resumes what there was */
    s->left = s->left || (anew && s->served_once);
    if (s->phase == REMOTE_SESSION_ASKED) {
        s->why[0] = '\0';
        s->phase = REMOTE_SESSION_SERVED;
        s->served_once = true;
    } else if (r->begun)
        end(s, "it was restarted, and %s", anew ? "begins a new session" : "resumes the session");
}

/* An answer to CONFIGURE, or to what took its place. */
static void take_own(struct remote_session *s, struct command_caller *c, const struct message_reply *r)
{
    if (r->answer == ANSWER_SESSION)
        take_session(s, r);
    else if (r->answer == ANSWER_WAITING)
        snprintf(s->why, sizeof s->why, "%s", r->text);
    else if (r->answer == ANSWER_REFUSED)
        end(s, "%s", r->text);
    else if (s->introduced && c->life != 0)
        ask(s, c);
}

/* The answer to a command that named a session which the bezeld does not have, or not any more. */
static bool is_gone(const struct message *m)
{
    return m->type == MESSAGE_REPLY && (m->reply.answer == ANSWER_ABSENT || m->reply.answer == ANSWER_STALE);
}

bool remote_session_take(struct remote_session *s, struct command_caller *c, const struct message *m)
{
    if (s->phase != REMOTE_SESSION_ASKED && s->phase != REMOTE_SESSION_SERVED)
        return s->taken || is_gone(m);
    if (m->type == MESSAGE_REFUSE) {
        end(s, "%s", m->refuse.reason);
        return true;
    }
    if (m->type != MESSAGE_REPLY)
        return false;
    const struct message_reply *r = &m->reply;
    /* A bezeld says once that it has begun: where it is slow, to a request that others have followed. */
    bool own = r->answer == ANSWER_SESSION || ((int)r->id == s->request_id && s->request_id != 0);
    s->answered = clock_now();
    if (r->answer == ANSWER_TAKEN) {
        s->taken = true;
        end(s, "%s", r->text);
    } else if (s->stop && (int)r->id == s->stop)
        s->phase = REMOTE_SESSION_OVER;
    else if (s->phase == REMOTE_SESSION_ASKED || own)
        take_own(s, c, r);
    else if (is_gone(m))
        s->answered = 0; /* the bezeld was restarted: remote_session_tick() asks it at once */
    else if (r->state == DAEMON_FAILED && r->answer == ANSWER_NODE)
        end(s, "%s", r->text);
    else
        return false;
    return true;
}

void remote_session_tick(struct remote_session *s, struct command_caller *c)
{
    int64_t now = clock_now();
    if (s->phase == REMOTE_SESSION_ASKED && !s->served_once && c->link && link_is_refused(c->link)) {
        end(s, "it %s", link_trouble(c->link));
        return;
    }
    bool lost = s->phase == REMOTE_SESSION_SERVED && s->stop == 0 && now - s->answered > REMOTE_SESSION_SILENCE;
    if (((lost && !s->child) || s->phase == REMOTE_SESSION_ASKED) && now - s->asked > REMOTE_SESSION_ASK_EVERY)
        ask(s, c);
}

void remote_session_stopped(struct remote_session *s, int id)
{
    s->stop = id;
    if (id == 0)
        s->phase = REMOTE_SESSION_OVER;
}
