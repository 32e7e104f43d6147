// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "run/store/mirror_state.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/folder_lock.h"
#include "base/plain.h"
#include "base/units.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST = 64 << 10 };

static const char *const words[] = {[MIRROR_BEGUN] = "begun",
                                    [MIRROR_CONNECTED] = "connected",
                                    [MIRROR_CUT] = "cut",
                                    [MIRROR_STORED] = "stored",
                                    [MIRROR_COMPLETE] = "complete"};

static int path_of(const char *run, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/" MIRROR_STATE_FILE, run) < PATH_MAX ? 0 : (errno = ENAMETOOLONG, BEZEL_EINVAL);
}

void mirror_state_lack(struct mirror_state *s, const char *name, const char *why)
{
    if (s->lacking < MIRROR_STATE_LACKS) {
        snprintf(s->lacks[s->lacking], sizeof s->lacks[0], "%s: %s", name, why);
        plain_text(s->lacks[s->lacking]);
    }
    s->lacking++;
}

void mirror_state_lack_up_to(struct mirror_state *s, uint64_t count, const char *name, const char *why)
{
    while (s->lacking < count && s->lacking < MIRROR_STATE_LACKS)
        mirror_state_lack(s, name, why);
    if (s->lacking < count)
        s->lacking = count;
}

int mirror_state_write(const char *run, const struct mirror_state *s)
{
    char path[PATH_MAX], text[8192];
    uint64_t shown = s->lacking < MIRROR_STATE_LACKS ? s->lacking : MIRROR_STATE_LACKS;
    int err = path_of(run, path);
    int n = snprintf(text, sizeof text,
                     "endpoint: %s\nrun: %s\nis: %s\nsince: %" PRId64 "\nbehind: %" PRIu64
                     "\ngrows: %d\ntemporary: %d\nlacking: %" PRIu64 "\n",
                     s->endpoint, s->run, words[s->is], s->since, s->behind, s->grows, s->temporary, s->lacking);
    for (uint64_t i = 0; i < shown; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "lacks: %s\n", s->lacks[i]);
    return err ? err : file_replace(path, text, (size_t)n);
}

int mirror_state_remove(const char *run)
{
    char path[PATH_MAX];
    int err = path_of(run, path);
    return err || unlink(path) == 0 || errno == ENOENT ? err : err_from_errno(errno);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Takes a line `key: value`. False: it is none of ours. */
static bool take_line(struct mirror_state *s, const char *key, const char *value, unsigned *lacks)
{
    if (strcmp(key, "endpoint") == 0)
        return snprintf(s->endpoint, sizeof s->endpoint, "%s", value) < (int)sizeof s->endpoint;
    if (strcmp(key, "run") == 0)
        return snprintf(s->run, sizeof s->run, "%s", value) < (int)sizeof s->run;
    if (strcmp(key, "since") == 0)
        return s->since = strtoll(value, NULL, 10), s->since >= 0;
    if (strcmp(key, "behind") == 0)
        return s->behind = strtoull(value, NULL, 10), true;
    if (strcmp(key, "grows") == 0)
        return s->grows = value[0] == '1', true;
    if (strcmp(key, "temporary") == 0)
        return s->temporary = value[0] == '1', true;
    if (strcmp(key, "lacking") == 0)
        return s->lacking = strtoull(value, NULL, 10), true;
    if (strcmp(key, "lacks") == 0)
        return *lacks < MIRROR_STATE_LACKS && snprintf(s->lacks[(*lacks)++], sizeof s->lacks[0], "%s", value) >= 0;
    for (unsigned i = 0; strcmp(key, "is") == 0 && i < sizeof words / sizeof *words; i++)
        if (strcmp(value, words[i]) == 0)
            return s->is = (enum mirror_state_is)i, true;
    return false;
}

static int take_text(struct mirror_state *s, char *text)
{
    unsigned lacks = 0;
    char *rest = NULL;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *value = strstr(line, ": ");
        if (!value)
            return BEZEL_EMALFORMED;
        *value = '\0';
        if (!take_line(s, line, value + 2, &lacks))
            return BEZEL_EMALFORMED;
    }
    plain_text(s->endpoint);
    return lacks == (s->lacking < MIRROR_STATE_LACKS ? s->lacking : MIRROR_STATE_LACKS) ? 1 : BEZEL_EMALFORMED;
}

int mirror_state_read(const char *run, struct mirror_state *s)
{
    char path[PATH_MAX], *text;
    size_t n;
    *s = (struct mirror_state){.is = MIRROR_BEGUN};
    int err = path_of(run, path);
    if (!err)
        err = file_read_plain(path, 1, LONGEST, &text, &n);
    if (err)
        return errno == ENOENT || errno == ENOTDIR ? 0 : err;
    err = take_text(s, text);
    free(text);
    return err;
}

/* ---- sentences --------------------------------------------------------------------------------------------------- */

struct text {
    char *at;
    size_t left;
};

static BEZEL_PRINTF(2, 3) void say(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at, t->left, format, args);
    va_end(args);
    size_t used = n < 0 ? 0 : (size_t)n < t->left ? (size_t)n : t->left - 1;
    t->at += used;
    t->left -= used;
}

/* A moment, UTC. */
static void say_time(struct text *t, int64_t ns)
{
    char text[64] = "?";
    time_t s = (time_t)(ns / CLOCK_S);
    struct tm tm;
    if (gmtime_r(&s, &tm))
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm);
    say(t, "%s", text);
}

/* How the mirror stands, up to a point. */
static void say_state(struct text *t, const struct mirror_state *s, bool filled)
{
    if (s->is == MIRROR_STORED)
        say(t, "it has what was stored there at ");
    else if (s->is == MIRROR_CUT && filled)
        say(t, "the link is cut since ");
    else if (!filled && s->is == MIRROR_BEGUN)
        say(t, "nothing fills it any more, and its server had not answered since ");
    else if (!filled)
        say(t, "nothing fills it any more, and it was %s last at ", s->is == MIRROR_CUT ? "cut off" : "connected");
    else if (s->is == MIRROR_BEGUN)
        say(t, "the server has not answered since ");
    else
        say(t, "it is being filled since ");
    say_time(t, s->since);
}

static void say_incomplete(struct text *t, const struct mirror_state *s, bool filled)
{
    say(t, "This is a mirror of %s, and not complete: ", s->endpoint[0] ? s->endpoint : "a server");
    say_state(t, s, filled);
    if (s->behind)
        say(t, "; %s that were stored there are not here", units_bytes(s->behind).s);
    say(t, ". What the run has stored since is unknown here");
    if (!filled && !s->temporary)
        say(t, " until 'bezel mirror %s DIR' goes on with it", s->endpoint);
    say(t, ".");
}

static void say_lacks(struct text *t, const struct mirror_state *s, bool more)
{
    say(t, "%sThis mirror lacks a part of %" PRIu64 " file%s, which could not be had: %s", more ? " " : "", s->lacking,
        s->lacking == 1 ? "" : "s", s->lacks[0]);
    say(t, "%s.", s->lacking > 1 ? ", and others (see its file '" MIRROR_STATE_FILE "')" : "");
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

bool mirror_state_is_copy(const char *private, const char *run)
{
    char link[PATH_MAX + 32];
    struct stat own, here;
    snprintf(link, sizeof link, "%s/" MIRROR_STATE_OWNER, private);
    return stat(link, &own) == 0 && stat(run, &here) == 0 && (own.st_dev != here.st_dev || own.st_ino != here.st_ino);
}

/* A copy has the link to the private folder, too. False: it is none, or its run goes on no more. */
static bool look_at_copy(const char *run, struct mirror_look *look)
{
    struct text t = {look->text, sizeof look->text};
    char private[PATH_MAX + 32], link[PATH_MAX + 64], own[PATH_MAX], file[PATH_MAX + 32];
    snprintf(private, sizeof private, "%.*s/control", PATH_MAX, run);
    snprintf(link, sizeof link, "%s/" MIRROR_STATE_OWNER, private);
    if (!mirror_state_is_copy(private, run) || !realpath(link, own))
        return false;
    snprintf(file, sizeof file, "%s/experiment.yaml", own);
    if (!file_is_locked(file) && !folder_is_held(own))
        return false;
    *look = (struct mirror_look){.partial = true, .copy = true, .grows = true, .stale = true};
    plain_text(own);
    say(&t, "This is a copy of %s, a run that goes on. What the run has stored since is unknown here.", own);
    return true;
}

void mirror_state_look(const char *run, struct mirror_look *look)
{
    struct mirror_state s;
    struct text t = {look->text, sizeof look->text};
    if (look_at_copy(run, look))
        return;
    int is = mirror_state_read(run, &s);
    bool partial = is < 0 || (is > 0 && s.is != MIRROR_COMPLETE), filled = partial && folder_is_held(run);
    *look = (struct mirror_look){.partial = partial,
                                 .grows = partial && s.grows,
                                 .stale = partial && s.is != MIRROR_STORED && (!filled || s.is == MIRROR_CUT)};
    if (is > 0 && s.temporary)
        snprintf(look->endpoint, sizeof look->endpoint, "%s", s.endpoint);
    if (is < 0)
        say(&t, "This is a mirror, and it is not known whether it is complete: its file '" MIRROR_STATE_FILE
                "' cannot be read.");
    else if (look->partial)
        say_incomplete(&t, &s, filled);
    if (is > 0 && s.lacking)
        say_lacks(&t, &s, look->partial);
}
