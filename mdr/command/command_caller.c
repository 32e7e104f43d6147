// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/command/command_caller.h"

#include "mdr/message.h"

#include "base/words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum { COMMAND_CALLER_QUEUE = 16 };

#define REFUSED_PAUSE CLOCK_S /* before a link is made again whose key was not admitted */

/* Where the next link connects: to one proxy after the other, then to the daemon, then to the first proxy again. */
static const char *next_endpoint(const struct command_caller *c, char proxy[LINK_ENDPOINT_MAX])
{
    size_t wanted = c->links % (words_count(c->proxies) + 1), n;
    const char *rest = c->proxies, *word;
    while ((n = words_next(&rest, &word)) && wanted > 0)
        wanted--;
    snprintf(proxy, LINK_ENDPOINT_MAX, "%.*s", (int)n, word);
    return n ? proxy : c->endpoint;
}

static int make_link(struct command_caller *c)
{
    char proxy[LINK_ENDPOINT_MAX];
    const char *endpoint = next_endpoint(c, proxy);
    c->links++;
    c->linked = clock_now();
    c->waiting = 0;
    c->life = 0;
    return link_connect(endpoint, MESSAGE_MAX_BYTES, COMMAND_CALLER_QUEUE, c->keyed ? &c->keys : NULL, &c->link);
}

int command_caller_open(struct command_caller *c, const char *endpoint, struct command_caller_access access,
                        const uint8_t run[16], const char *node)
{
    *c = (struct command_caller){.link = NULL};
    memcpy(c->run, run, sizeof c->run);
    snprintf(c->node, sizeof c->node, "%s", node);
    if (getrandom(c->source, sizeof c->source, 0) != sizeof c->source)
        return err_from_errno(errno);
    if (snprintf(c->endpoint, sizeof c->endpoint, "%s", endpoint) >= (int)sizeof c->endpoint)
        return BEZEL_EINVAL;
    if (access.proxies && !endpoint_path(endpoint) &&
        snprintf(c->proxies, sizeof c->proxies, "%s", access.proxies) >= (int)sizeof c->proxies)
        return BEZEL_EINVAL;
    c->keyed = access.own && !endpoint_path(endpoint);
    int err = c->keyed ? link_keys_open(access.own, NULL, access.server, &c->keys) : 0;
    return err ? err : make_link(c);
}

void command_caller_close(struct command_caller *c, int linger_ms)
{
    link_close(c->link, linger_ms);
    link_keys_close(&c->keys);
    c->link = NULL;
}

bool command_caller_is_met(const struct command_caller *c)
{
    return c->met || (c->link && link_is_connected(c->link));
}

bool command_caller_is_lost(const struct command_caller *c)
{
    int64_t most = c->proxies[0] && c->life == 0 ? COMMAND_CALLER_TRY : COMMAND_CALLER_SILENCE;
    return c->link && c->waiting != 0 && !link_is_dialing(c->link) && clock_now() - c->waiting > most;
}

/* Makes the link anew where it is silent or was refused. What waits in it is dropped: its deadline would have passed.
 */
static int mend_link(struct command_caller *c, int64_t now)
{
    bool silent = command_caller_is_lost(c);
    bool refused = link_is_refused(c->link) && now - c->linked > REFUSED_PAUSE;
    if (endpoint_path(c->endpoint) || (!silent && !refused))
        return 0;
    struct link *before = c->link;
    c->met = command_caller_is_met(c);
    int err = make_link(c);
    if (err)
        c->link = before;
    else
        link_close(before, 0);
    return err;
}

static int send(struct command_caller *c, struct message *m)
{
    static uint8_t bytes[MESSAGE_MAX_BYTES]; /* one thread; too large for a stack */
    memcpy(m->envelope.source, c->source, sizeof c->source);
    memcpy(m->envelope.run, c->run, sizeof c->run);
    snprintf(m->envelope.node, sizeof m->envelope.node, "%s", c->node);
    m->envelope.life = m->type == MESSAGE_COMMAND ? c->life : 0;
    int size = message_encode(m, bytes, sizeof bytes);
    if (c->waiting == 0)
        c->waiting = clock_now();
    return size < 0 ? size : link_send(c->link, NULL, bytes, (size_t)size);
}

int command_caller_send(struct command_caller *c, struct message *m)
{
    int err = c->link ? mend_link(c, clock_now()) : BEZEL_EUNREACH;
    if (err)
        return err;
    bool unknown = c->life == 0 && m->command.verb != VERB_QUERY;
    struct message_command wanted = m->command;
    m->type = MESSAGE_COMMAND;
    if (unknown)
        m->command = (struct message_command){.verb = VERB_QUERY};
    m->command.owner = c->owner;
    m->command.id = c->id + 1;
    m->command.deadline = c->life ? (uint64_t)clock_now() + c->ahead + COMMAND_CALLER_DEADLINE : 0;
    err = send(c, m);
    m->command = unknown ? wanted : m->command;
    if (err)
        return err;
    c->id++;
    return unknown ? 0 : (int)c->id;
}

int command_caller_tell(struct command_caller *c, struct message *m)
{
    int err = c->link ? mend_link(c, clock_now()) : BEZEL_EUNREACH;
    return err ? err : send(c, m);
}

int command_caller_receive(struct command_caller *c, struct message *m)
{
    struct link_frame frame;
    int err = c->link ? link_receive(c->link, &frame) : BEZEL_EAGAIN;
    if (err)
        return BEZEL_EAGAIN;
    c->waiting = 0;
    err = message_decode(frame.data, frame.size, m);
    link_frame_free(&frame);
    if (err)
        return err;
    if (m->type == MESSAGE_REPLY) {
        c->life = m->envelope.life;
        c->ahead = m->reply.at - (uint64_t)clock_now();
    }
    return m->type < MESSAGE_COMMAND && m->type != MESSAGE_REFUSE ? BEZEL_EMALFORMED : 0;
}
