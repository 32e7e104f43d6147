// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/order_settings.h"

#include <stdio.h>
#include <string.h>

const struct order_settings order_settings_default = ORDER_SETTINGS_DEFAULT;

bool order_settings_same(const struct order_settings *a, const struct order_settings *b)
{
    return a->buffers == b->buffers && a->memory == b->memory && a->wait == b->wait;
}

const char *order_buffers_word(enum order_buffers buffers)
{
    return buffers == ORDER_SISO ? "siso" : "miso";
}

bool order_buffers_read(const char *text, enum order_buffers *buffers)
{
    if (strcmp(text, "miso") != 0 && strcmp(text, "siso") != 0)
        return false;
    *buffers = strcmp(text, "siso") == 0 ? ORDER_SISO : ORDER_MISO;
    return true;
}

struct units_text order_settings_print(const struct order_settings *s)
{
    struct units_text text = {""};
    if (!order_settings_same(s, &order_settings_default))
        snprintf(text.s, sizeof text.s, "%.4s:%.15s:%.16s", order_buffers_word(s->buffers),
                 units_exact_size(s->memory).s, units_exact_duration(s->wait).s);
    return text;
}

/* Cuts `text`, a copy of the caller's, at its colons into three. False: it has not three parts. */
static bool cut(char *text, const char *part[3])
{
    part[0] = text;
    for (int i = 1; i < 3; i++) {
        text = strchr(text, ':');
        if (!text)
            return false;
        *text++ = '\0';
        part[i] = text;
    }
    return true;
}

bool order_settings_read(const char *text, struct order_settings *s)
{
    struct order_settings it = order_settings_default;
    struct units_text copy;
    const char *part[3], *why;
    if (*text) {
        if (snprintf(copy.s, sizeof copy.s, "%s", text) >= (int)sizeof copy.s || !cut(copy.s, part) ||
            !order_buffers_read(part[0], &it.buffers) || units_read_size(part[1], &it.memory, &why) != 0 ||
            units_read_duration(part[2], &it.wait, &why) != 0)
            return false;
        if (it.memory < ORDER_MEMORY_LEAST || it.memory > ORDER_MEMORY_MOST || it.wait < 1 || it.wait > ORDER_WAIT_MOST)
            return false;
    }
    *s = it;
    return true;
}
