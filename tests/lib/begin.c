// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/begin.h"

#include "base/clock.h"
#include "base/uuid.h"

#include <stdio.h>
#include <string.h>

enum { QUEUE = 16 };

bool begin_fill(struct begin *b, const char *experiment, const char *node, const char *folder, const char *uuid,
                const char *collector)
{
    struct message_begin *m = &b->message.begin;
    memset(m, 0, sizeof *m);
    snprintf(m->experiment, sizeof m->experiment, "%s", experiment);
    snprintf(m->node, sizeof m->node, "%s", node);
    snprintf(m->folder, sizeof m->folder, "%s", folder);
    snprintf(m->collector, sizeof m->collector, "%s", collector);
    return uuid_read(uuid, m->run);
}

static bool send(struct begin *b)
{
    b->message.type = MESSAGE_COMMAND;
    b->message.command = (struct message_command){.id = 1, .verb = VERB_BEGIN};
    int n = message_encode(&b->message, b->bytes, sizeof b->bytes);
    return n > 0 && link_send(b->link, NULL, b->bytes, (size_t)n) == 0;
}

bool begin_ask(struct begin *b, const char *control, const struct link_keys *keys)
{
    b->link = NULL;
    return link_connect(control, MESSAGE_MAX_BYTES, QUEUE, keys, &b->link) == 0 && send(b);
}

/* Takes an answer that is final. */
static bool take(struct begin *b, struct message *m)
{
    struct link_frame frame;
    while (link_receive(b->link, &frame) == 0) {
        int err = message_decode(frame.data, frame.size, m);
        link_frame_free(&frame);
        if (!err && m->type == MESSAGE_REPLY && m->reply.answer != ANSWER_WAITING)
            return true;
    }
    return false;
}

bool begin_await(struct begin *b, int64_t patience)
{
    static struct message m; /* too large for a stack */
    int64_t deadline = clock_now() + patience;
    bool answered = false;
    while (!(answered = take(b, &m)) && clock_now() < deadline)
        if (link_wait(&b->link, 1, NULL, 0, CLOCK_S / 2) <= 0 && !send(b))
            break;
    if (!answered)
        m.reply.text[0] = '\0';
    b->message.reply = m.reply;
    return answered && m.reply.answer == ANSWER_SESSION;
}

void begin_close(struct begin *b)
{
    link_close(b->link, 0);
    b->link = NULL;
}
