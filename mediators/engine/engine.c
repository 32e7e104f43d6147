// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mediators/engine/engine_ops.h"

#include "base/file.h"
#include "base/ulimit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct engine_setting engine_settings[ENGINE_SETTINGS + 1];

static const struct engine_ops *const engines[] = {
#ifdef BEZEL_HAS_JETSTREAM
    &engine_jetstream,
#endif
#ifdef BEZEL_HAS_KAFKA
    &engine_kafka,
#endif
};

enum { ENGINES = sizeof engines / sizeof *engines };

/* Whose URL that is; NULL: of none. */
static const struct engine_ops *engine_of(const char *url)
{
    for (size_t i = 0; i < ENGINES; i++)
        for (const char *const *scheme = engines[i]->schemes; *scheme; scheme++)
            if (strncmp(url, *scheme, strlen(*scheme)) == 0)
                return engines[i];
    return NULL;
}

static bool split(const char *url, struct engine_servers *s)
{
    char *left;
    s->count = 0;
    if ((size_t)snprintf(s->text, sizeof s->text, "%s", url) >= sizeof s->text)
        return false;
    for (char *one = strtok_r(s->text, ",", &left); one; one = strtok_r(NULL, ",", &left)) {
        if (engine_of(one) != engine_of(url) || strcspn(one, " \t") != strlen(one) || s->count == ENGINE_SERVERS)
            return false;
        s->urls[s->count++] = one;
    }
    return s->count > 0;
}

const char *engine_check(const char *url)
{
    struct engine_servers servers;
    if (!engine_of(url))
        return "it is neither nats://HOST:PORT nor kafka://HOST:PORT, or this bezel-engine was built without the "
               "library for it";
    if (strchr(url, '@'))
        return "credentials do not belong into it, where others see them: give a file (--credentials)";
    return split(url, &servers) ? NULL : "several servers are of one kind, with commas, 16 at most";
}

static char *strip_spaces(char *text)
{
    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r", text[n - 1]))
        n--;
    text[n] = '\0';
    return text;
}

const char *engine_credentials(const char *file)
{
    static char *text; /* for as long as the process lives */
    struct stat st;
    size_t n;
    char *left;
    int count = 0, err = file ? file_read(file, ENGINE_CREDENTIALS_MAX, &text, &n) : BEZEL_ENOENT;
    if (!file)
        return NULL;
    if (err)
        return ulimit_reason(err);
    if (stat(file, &st) != 0 || (st.st_mode & 077))
        return "others can read it: chmod 600";
    for (char *line = strtok_r(text, "\n", &left); line; line = strtok_r(NULL, "\n", &left)) {
        line = strip_spaces(line);
        char *is = strchr(line, '=');
        if (!*line || *line == '#')
            continue;
        if (!is || count == ENGINE_SETTINGS)
            return "its lines are NAME = VALUE, 32 at most";
        *is = '\0';
        engine_settings[count++] = (struct engine_setting){strip_spaces(line), strip_spaces(is + 1)};
    }
    return NULL;
}

int engine_fail(struct engine *e, int err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(e->why, sizeof e->why, format, args);
    va_end(args);
    return err;
}

int engine_open(const char *url, const char *name, bool writes, struct engine **e)
{
    struct engine_servers servers;
    const struct engine_ops *ops = engine_of(url);
    *e = NULL;
    if (!ops || !split(url, &servers))
        return BEZEL_EINVAL;
    int err = ops->open(&servers, name, writes, e);
    if (*e)
        (*e)->ops = ops;
    return err;
}

int engine_put(struct engine *e, const char *key, bool once, const void *bytes, size_t n)
{
    return e->ops->put(e, key, once, bytes, n);
}

int engine_flush(struct engine *e)
{
    return e->ops->flush(e);
}

int engine_last(struct engine *e, const char *key, struct engine_message *m)
{
    return e->ops->last(e, key, m);
}

int engine_next(struct engine *e, struct engine_message *m)
{
    return e->ops->next(e, m);
}

int engine_gone(struct engine *e, uint64_t *n)
{
    return e->ops->gone(e, n);
}

const char *engine_why(const struct engine *e)
{
    return e->why;
}

void engine_close(struct engine *e)
{
    if (e)
        e->ops->close(e);
}
