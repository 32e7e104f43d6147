// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/standing.h"

#include "base/limit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STANDING_QUEUE = 16 };

static struct message message; /* scratch: one thread, and too large for a stack */
static uint8_t bytes[MESSAGE_MAX_BYTES];

static BEZEL_PRINTF(2, 3) void end(struct standing *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->why, sizeof s->why, format, args);
    va_end(args);
    s->phase = STANDING_OVER;
}

/* ---- The desk ---------------------------------------------------------------------------------------------------- */

static void ask(struct standing *s)
{
    message.type = MESSAGE_COMMAND;
    message.command = (struct message_command){.id = 1, .verb = VERB_BEGIN};
    message.begin = *s->wish;
    s->asked = clock_now();
    int n = message_encode(&message, bytes, sizeof bytes);
    if (n < 0)
        end(s, "it cannot be asked for: %s", limit_reason(n));
    else if (link_send(s->desk, NULL, bytes, (size_t)n) != 0)
        return; /* its queue is full of the same: it is asked again */
}

void standing_start(struct standing *s)
{
    s->phase = STANDING_ASKED;
    s->stop = 0;
    s->why[0] = '\0';
    int err = s->served_once ? 0 : endpoint_try(s->address); /* one that served may be about to come back */
    if (err == BEZEL_ENOENT || err == BEZEL_EUNREACH) {
        end(s, "no bezeld stands there: start one with `bezeld --stand DIR`, or leave `address` out of the file");
        return;
    }
    if (!err && !s->desk)
        err = link_connect(s->address, MESSAGE_MAX_BYTES, STANDING_QUEUE, NULL, &s->desk);
    if (err)
        end(s, "cannot connect: %s", limit_reason(err));
    else
        ask(s);
}

/* Lets other commands find the session. */
static void make_alias(const struct standing *s, const char *endpoint)
{
    const char *path = endpoint_path(endpoint);
    unlink(s->alias);
    if (path && symlink(path, s->alias) != 0)
        return; /* they will say that they cannot reach it */
}

static int take_endpoint(struct standing *s, const char *endpoint, struct link **link)
{
    int err = link_connect(endpoint, MESSAGE_MAX_BYTES, STANDING_QUEUE, NULL, link);
    if (err) {
        end(s, "cannot connect to its session at %s: %s", endpoint, limit_reason(err));
        return 0;
    }
    make_alias(s, endpoint);
    s->why[0] = '\0';
    s->phase = STANDING_SERVED;
    s->served_once = true;
    s->heard = clock_now();
    return 1;
}

static int take_answer(struct standing *s, const struct message_reply *r, struct link **link)
{
    if (message_reply_get(r, "refused", 0))
        end(s, "%s", r->text);
    else if (message_reply_get(r, "waits", 0))
        snprintf(s->why, sizeof s->why, "%s", r->text);
    else if (s->phase == STANDING_ASKED)
        return take_endpoint(s, r->text, link);
    else if (message_reply_get(r, "began", 0))
        end(s, "was started again, and takes the session up again");
    return 0;
}

int standing_serves(struct standing *s, struct link **link)
{
    struct link_frame frame;
    while ((s->phase == STANDING_ASKED || s->phase == STANDING_SERVED) && link_receive(s->desk, &frame) == 0) {
        int err = message_decode(frame.data, frame.size, &message);
        link_frame_free(&frame);
        if (!err && message.type == MESSAGE_REPLY && take_answer(s, &message.reply, link) == 1)
            return 1;
    }
    int64_t now = clock_now();
    bool lost = s->phase == STANDING_SERVED && s->stop == 0 && now - s->heard > STANDING_SILENCE;
    if ((lost || s->phase == STANDING_ASKED) && now - s->asked > STANDING_ASK_EVERY)
        ask(s);
    return 0;
}

/* ---- The session ------------------------------------------------------------------------------------------------- */

void standing_heard(struct standing *s, const struct message_reply *r)
{
    s->heard = clock_now();
    if (s->stop && r->id == s->stop)
        s->phase = STANDING_OVER;
    else if (r->state == DAEMON_FAILED && s->phase == STANDING_SERVED)
        end(s, "%s", r->text);
}

void standing_stopped(struct standing *s, uint32_t id)
{
    s->stop = id;
    if (id == 0)
        s->phase = STANDING_OVER;
}

void standing_close(struct standing *s)
{
    link_close(s->desk, 0);
    s->desk = NULL;
}
