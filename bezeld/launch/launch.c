// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bezeld/launch/launch.h"

#include "mdr/message.h"

#include <stdlib.h>
#include <string.h>

/* NULL counts as empty. Returns false if there is no room. */
static bool add(struct message_launch *m, const char *text)
{
    size_t n = text ? strlen(text) + 1 : 1;
    if (n > sizeof m->texts - m->text_bytes)
        return false;
    memcpy(m->texts + m->text_bytes, text ? text : "", n);
    m->text_bytes += (uint32_t)n;
    return true;
}

static bool add_all(struct message_launch *m, char *const *texts, uint32_t *count)
{
    for (*count = 0; texts && texts[*count]; ++*count)
        if (!add(m, texts[*count]))
            return false;
    return true;
}

int launch_to_message(const struct launch *l, struct message_launch *m)
{
    m->of = l->of;
    m->grace_ns = (uint64_t)l->grace;
    m->silence_ns = (uint64_t)l->silence;
    m->timeout_ns = (uint64_t)l->timeout;
    m->output = l->output;
    m->foreground = l->foreground;
    m->port = l->port;
    memcpy(m->limits, l->limits, sizeof m->limits);
    m->text_bytes = 0;
    bool fits = add(m, l->path) && add(m, l->directory) && add(m, l->file) && add_all(m, l->argv, &m->arguments) &&
                add_all(m, l->environment, &m->variables);
    return fits ? 0 : BEZEL_EFULL;
}

/* The next text; NULL for an empty one. */
static const char *next_text(const char **at)
{
    const char *text = *at;
    *at += strlen(text) + 1;
    return text[0] ? text : NULL;
}

int launch_from_message(const struct message_launch *m, struct launch *l, char ***pointers)
{
    const char *at = m->texts;
    char **p = *pointers = calloc((size_t)m->arguments + m->variables + 2, sizeof **pointers);
    if (!p)
        return BEZEL_ENOMEM;
    *l = (struct launch){.of = m->of,
                         .output = m->output,
                         .foreground = m->foreground,
                         .port = m->port,
                         .grace = (int64_t)m->grace_ns,
                         .silence = (int64_t)m->silence_ns,
                         .timeout = (int64_t)m->timeout_ns};
    memcpy(l->limits, m->limits, sizeof l->limits);
    l->path = next_text(&at);
    l->directory = next_text(&at);
    l->file = next_text(&at);
    l->argv = p;
    for (uint32_t i = 0; i < m->arguments; i++, at += strlen(at) + 1)
        *p++ = (char *)at;
    l->environment = ++p;
    for (uint32_t i = 0; i < m->variables; i++, at += strlen(at) + 1)
        *p++ = (char *)at;
    return 0;
}
