// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/dict.h"
#include "mdr/message.h"

#include <string.h>

void message_text(char *to, size_t max, const char *from)
{
    size_t n = 0;
    while (n < max && *from != '\0') {
        size_t fit = dict_text_fit(from, max - n);
        memcpy(to + n, from, fit);
        n += fit;
        from += fit;
        if (n == max || *from == '\0' || dict_text_fit(from, 4) > 0)
            break; /* full, at the end, or the next character has no room */
        to[n++] = '?';
        from++;
    }
    to[n] = '\0';
}

void message_reply_add(struct message_reply *reply, const char *name, int64_t value)
{
    if (reply->value_count >= MESSAGE_VALUES_MAX)
        return;
    struct message_value *v = &reply->values[reply->value_count++];
    message_text(v->name, MESSAGE_NAME_MAX, name);
    v->value = value;
}

int64_t message_reply_get(const struct message_reply *reply, const char *name, int64_t otherwise)
{
    for (uint32_t i = 0; i < reply->value_count; i++)
        if (strcmp(reply->values[i].name, name) == 0)
            return reply->values[i].value;
    return otherwise;
}
