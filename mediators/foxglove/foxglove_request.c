// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mediators/foxglove/foxglove_request.h"

#include <libwebsockets.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What is read of a message, by its path in there. */
enum part { NOTHING, OP, SUBSCRIPTION_ID, CHANNEL_ID, UNSUBSCRIBED_ID };
static const char *const parts[] = {
    [OP] = "op",
    [SUBSCRIPTION_ID] = "subscriptions[].id",
    [CHANNEL_ID] = "subscriptions[].channelId",
    [UNSUBSCRIBED_ID] = "subscriptionIds[]",
};

struct reading {
    struct foxglove_request *q;
    const char *why;
    size_t subscriptions, ids, channels; /* so many of each were there */
    bool long_op;
};

static bool read_number(const struct lejp_ctx *c, uint32_t *number)
{
    char *end;
    unsigned long long value = strtoull(c->buf, &end, 10);
    *number = (uint32_t)value;
    return c->buf[0] >= '0' && c->buf[0] <= '9' && !*end && value <= UINT32_MAX;
}

static signed char refuse(struct reading *r, const char *why)
{
    r->why = why;
    return -1;
}

/* The parser looks for paths only where a member begins, and so not for items of arrays. */
static enum part part_of(const struct lejp_ctx *c)
{
    for (enum part p = OP; p <= UNSUBSCRIBED_ID; p++)
        if (strcmp(c->path, parts[p]) == 0)
            return p;
    return NOTHING;
}

static signed char on_number(struct reading *r, const struct lejp_ctx *c, enum part part)
{
    uint32_t number;
    size_t *count = part == CHANNEL_ID ? &r->channels : part == SUBSCRIPTION_ID ? &r->subscriptions : &r->ids;
    if (!read_number(c, &number))
        return refuse(r, "a number is not one from 0 to 4294967295");
    if (*count == FOXGLOVE_REQUEST_ITEMS)
        return refuse(r, "there are more than 4096 subscriptions in a message");
    struct foxglove_item *item = &r->q->items[(*count)++];
    if (part == CHANNEL_ID)
        item->channel = number;
    else
        item->id = number;
    return 0;
}

static signed char on_value(struct lejp_ctx *c, char reason)
{
    struct reading *r = c->user;
    enum part part = reason & LEJP_FLAG_CB_IS_VALUE ? part_of(c) : NOTHING;
    if (part == NOTHING)
        return 0;
    if (part != OP)
        return reason == LEJPCB_VAL_NUM_INT ? on_number(r, c, part) : refuse(r, "a number is missing");
    r->long_op = r->long_op || reason == LEJPCB_VAL_STR_CHUNK;
    if (reason == LEJPCB_VAL_STR_END)
        snprintf(r->q->name, sizeof r->q->name, "%.*s", (int)sizeof r->q->name - 1, c->buf);
    return 0;
}

static enum foxglove_op op_of(const struct reading *r)
{
    if (!r->long_op && strcmp(r->q->name, "subscribe") == 0)
        return FOXGLOVE_SUBSCRIBE;
    return !r->long_op && strcmp(r->q->name, "unsubscribe") == 0 ? FOXGLOVE_UNSUBSCRIBE : FOXGLOVE_OTHER;
}

/* What is wrong with a text that was read as far as `rest` says; NULL: nothing. */
static const char *trouble_of(const struct reading *r, int rest)
{
    if (r->why)
        return r->why;
    if (rest != 0)
        return "it is no object of JSON, or too long, or goes on behind its end";
    if (!r->q->name[0])
        return "it has no op";
    if (r->subscriptions != r->channels || (r->ids > 0 && r->subscriptions > 0))
        return "each subscription has one id and one channelId, and subscriptionIds come alone";
    return NULL;
}

int foxglove_request_read(const char *text, size_t n, struct foxglove_request *q, const char **why)
{
    struct reading r = {.q = q};
    struct lejp_ctx context;
    q->name[0] = '\0';
    while (n > 0 && memchr(" \t\r\n", text[n - 1], 4))
        n--;
    lejp_construct(&context, on_value, &r, NULL, 0);
    int rest = n <= FOXGLOVE_REQUEST_BYTES ? lejp_parse(&context, (const unsigned char *)text, (int)n) : -1;
    lejp_destruct(&context);
    q->op = op_of(&r);
    q->count = q->op == FOXGLOVE_SUBSCRIBE ? r.subscriptions : q->op == FOXGLOVE_UNSUBSCRIBE ? r.ids : 0;
    *why = trouble_of(&r, rest);
    return *why ? BEZEL_EMALFORMED : 0;
}
