// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/gate.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static int draw(char *text, size_t digits)
{
    uint8_t bytes[(GATE_SECRET_SIZE - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return BEZEL_ESYS;
    for (size_t i = 0; i < digits / 2; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

int gate_init(struct gate *g, bool control, const char *allowed)
{
    char number[9];
    *g = (struct gate){.allowed = allowed};
    int err = draw(g->token, GATE_SECRET_SIZE - 1);
    if (!err)
        err = draw(g->cookie, GATE_SECRET_SIZE - 1);
    if (!err && control)
        err = draw(g->control, GATE_SECRET_SIZE - 1);
    if (!err)
        err = draw(number, sizeof number - 1);
    if (!err)
        snprintf(g->cookie_name, sizeof g->cookie_name, "bezel-view-%s", number);
    return err;
}

/* Takes the same time wherever they differ. */
static bool is_secret(const char *secret, const char *text, size_t length)
{
    unsigned difference = 0;
    if (length != GATE_SECRET_SIZE - 1 || !secret[0])
        return false;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned)(secret[i] ^ text[i]);
    return difference == 0;
}

bool gate_has_token(const struct gate *g, const char *token)
{
    return is_secret(g->token, token, strlen(token));
}

bool gate_take_token(struct gate *g, const char *token)
{
    return gate_has_token(g, token) && draw(g->token, GATE_SECRET_SIZE - 1) == 0;
}

bool gate_has_cookie(const struct gate *g, const char *cookies)
{
    size_t name = strlen(g->cookie_name);
    for (const char *p = cookies; p && *p;) {
        p += strspn(p, "; ");
        size_t length = strcspn(p, ";");
        if (length > name && p[name] == '=' && strncmp(p, g->cookie_name, name) == 0 &&
            is_secret(g->cookie, p + name + 1, length - name - 1))
            return true;
        p += length;
    }
    return false;
}

bool gate_is_host(const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        size_t n = strlen(names[i]);
        if (strncmp(host, names[i], n) != 0)
            continue;
        const char *port = host + n;
        if (!*port || (*port == ':' && port[1] && strspn(port + 1, "0123456789") == strlen(port + 1)))
            return true;
    }
    return false;
}

bool gate_is_origin(const struct gate *g, const char *origin, const char *host)
{
    static const char scheme[] = "http://";
    if (!origin || !host)
        return false;
    if (g->allowed && strcmp(origin, g->allowed) == 0)
        return true;
    return strncmp(origin, scheme, sizeof scheme - 1) == 0 && strcmp(origin + sizeof scheme - 1, host) == 0;
}

bool gate_may_control(const struct gate *g, const char *secret)
{
    return is_secret(g->control, secret, strlen(secret));
}
