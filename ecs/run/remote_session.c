// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/run/remote_session.h"

#include "base/limit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { REMOTE_SESSION_QUEUE = 16 };

static struct message message; /* scratch: one thread, and too large for a stack */
static uint8_t bytes[MESSAGE_MAX_BYTES];

static BEZEL_PRINTF(2, 3) void end(struct remote_session *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->why, sizeof s->why, format, args);
    va_end(args);
    s->phase = REMOTE_SESSION_OVER;
}

/* ---- The control endpoint ---------------------------------------------------------------------------------------- */

static void ask(struct remote_session *s)
{
    message.type = MESSAGE_COMMAND;
    message.command = (struct message_command){.id = 1, .verb = VERB_BEGIN};
    message.begin = *s->request;
    s->asked = clock_now();
    int n = message_encode(&message, bytes, sizeof bytes);
    if (n < 0)
        end(s, "the session cannot be requested: %s", limit_reason(n));
    else if (link_send(s->control_endpoint, NULL, bytes, (size_t)n) != 0)
        return; /* the queue is full of such requests; another follows later */
}

void remote_session_start(struct remote_session *s)
{
    s->phase = REMOTE_SESSION_ASKED;
    s->stop = 0;
    s->why[0] = '\0';
    int err = s->served_once ? 0 : endpoint_try(s->address); /* one that served before may be restarting */
    if (err == BEZEL_ENOENT || err == BEZEL_EUNREACH) {
        end(s, "no bezeld serves there: start one with `bezeld --control %s`, or leave `address` out of the file",
            s->address);
        return;
    }
    if (!err && !s->control_endpoint)
        err = link_connect(s->address, MESSAGE_MAX_BYTES, REMOTE_SESSION_QUEUE, NULL, &s->control_endpoint);
    if (err)
        end(s, "cannot connect: %s", limit_reason(err));
    else
        ask(s);
}

/* Links `alias` to the socket of the session, for other commands. */
static void make_alias(const struct remote_session *s, const char *endpoint)
{
    const char *path = endpoint_path(endpoint);
    unlink(s->alias);
    if (path && symlink(path, s->alias) != 0)
        return; /* other commands then report that they cannot reach it */
}

static int take_endpoint(struct remote_session *s, const char *endpoint, struct link **link)
{
    int err = link_connect(endpoint, MESSAGE_MAX_BYTES, REMOTE_SESSION_QUEUE, NULL, link);
    if (err) {
        end(s, "cannot connect to its session at %s: %s", endpoint, limit_reason(err));
        return 0;
    }
    make_alias(s, endpoint);
    s->why[0] = '\0';
    s->phase = REMOTE_SESSION_SERVED;
    s->served_once = true;
    s->answered = clock_now();
    return 1;
}

static int take_answer(struct remote_session *s, const struct message_reply *r, struct link **link)
{
    bool anew = r->answer == ANSWER_SESSION && r->session.begun && r->text[0]; /* else it resumes what there was */
    s->left = s->left || (anew && s->served_once);
    if (r->answer == ANSWER_REFUSED)
        end(s, "%s", r->text);
    else if (r->answer == ANSWER_WAITING)
        snprintf(s->why, sizeof s->why, "%s", r->text);
    else if (r->answer != ANSWER_SESSION)
        return 0;
    else if (s->phase == REMOTE_SESSION_ASKED)
        return take_endpoint(s, r->session.endpoint, link);
    else if (r->session.begun)
        end(s, "it was restarted, and %s", anew ? "begins a new session" : "resumes the session");
    return 0;
}

int remote_session_serves(struct remote_session *s, struct link **link)
{
    struct link_frame frame;
    if (!s->control_endpoint)
        return 0;
    while ((s->phase == REMOTE_SESSION_ASKED || s->phase == REMOTE_SESSION_SERVED) &&
           link_receive(s->control_endpoint, &frame) == 0) {
        int err = message_decode(frame.data, frame.size, &message);
        link_frame_free(&frame);
        if ((!err || err == BEZEL_EVERSION) && message.type == MESSAGE_REFUSE)
            end(s, "%s", message.refuse.reason);
        if (!err && message.type == MESSAGE_REPLY && take_answer(s, &message.reply, link) == 1) {
            if (s->child)
                remote_session_close(s);
            return 1;
        }
    }
    int64_t now = clock_now();
    bool lost = s->phase == REMOTE_SESSION_SERVED && s->stop == 0 && now - s->answered > REMOTE_SESSION_SILENCE;
    if ((lost || s->phase == REMOTE_SESSION_ASKED) && now - s->asked > REMOTE_SESSION_ASK_EVERY)
        ask(s);
    return 0;
}

/* ---- The session ------------------------------------------------------------------------------------------------- */

void remote_session_answered(struct remote_session *s, const struct message_reply *r)
{
    s->answered = clock_now();
    if (s->stop && r->id == s->stop)
        s->phase = REMOTE_SESSION_OVER;
    else if (r->state == DAEMON_FAILED && s->phase == REMOTE_SESSION_SERVED)
        end(s, "%s", r->text);
}

void remote_session_stopped(struct remote_session *s, uint32_t id)
{
    s->stop = id;
    if (id == 0)
        s->phase = REMOTE_SESSION_OVER;
}

void remote_session_close(struct remote_session *s)
{
    link_close(s->control_endpoint, 0);
    s->control_endpoint = NULL;
}
