// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/begin.h"

#include "base/clock.h"
#include "base/uuid.h"

#include <stdio.h>
#include <string.h>

/* Takes messages until the reply to command `id` comes, or with `id` 0 any reply; or a REFUSE. */
static bool take(struct command_caller *c, int id, struct message *m, int64_t deadline)
{
    for (;;) {
        int err = command_caller_receive(c, m);
        bool good = !err || err == BEZEL_EVERSION;
        if (good &&
            (m->type == MESSAGE_REFUSE || (m->type == MESSAGE_REPLY && (id <= 0 || m->reply.id == (uint32_t)id))))
            return true;
        int64_t now = clock_now();
        if (err == BEZEL_EAGAIN && now >= deadline)
            return false;
        if (err == BEZEL_EAGAIN)
            link_wait(&c->link, 1, NULL, 0, deadline - now);
    }
}

bool begin_command(struct command_caller *c, struct message *m, int64_t patience)
{
    struct message_command wanted = m->command;
    int64_t deadline = clock_now() + patience;
    int sent = command_caller_send(c, m);
    while (sent == 0 && take(c, 0, m, deadline)) {
        m->command = wanted;
        sent = command_caller_send(c, m);
    }
    return sent > 0 && take(c, sent, m, deadline);
}

bool begin_fill(struct begin *b, const char *experiment, const char *node, const char *folder, const char *uuid,
                const char *collector)
{
    struct message_configure *m = &b->message.configure;
    memset(m, 0, sizeof *m);
    snprintf(m->experiment, sizeof m->experiment, "%s", experiment);
    snprintf(m->folder, sizeof m->folder, "%s", folder);
    snprintf(m->collector, sizeof m->collector, "%s", collector);
    snprintf(b->node, sizeof b->node, "%s", node);
    return uuid_read(uuid, b->run);
}

static int send(struct begin *b)
{
    b->message.command = (struct message_command){.verb = VERB_CONFIGURE};
    return command_caller_send(&b->caller, &b->message);
}

bool begin_ask(struct begin *b, const char *control, struct command_caller_access access)
{
    if (command_caller_open(&b->caller, control, access, b->run, b->node) != 0)
        return false;
    return send(b) >= 0;
}

bool begin_await(struct begin *b, int64_t patience)
{
    static struct message m; /* too large for a stack */
    int64_t deadline = clock_now() + patience;
    while (clock_now() < deadline) {
        bool heard = take(&b->caller, 0, &m, clock_now() + CLOCK_S / 2);
        bool final =
            heard && m.type == MESSAGE_REPLY && (m.reply.answer == ANSWER_SESSION || m.reply.answer == ANSWER_REFUSED);
        if (final) {
            b->message.reply = m.reply;
            return m.reply.answer == ANSWER_SESSION;
        }
        if (!heard || m.type == MESSAGE_REFUSE || m.reply.answer != ANSWER_WAITING)
            (void)!send(b);
    }
    b->message.reply.text[0] = '\0';
    return false;
}

void begin_close(struct begin *b)
{
    command_caller_close(&b->caller, 0);
}
