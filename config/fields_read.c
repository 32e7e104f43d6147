// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/fields_internal.h"

#include "base/address.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/units.h"
#include "config/aspect_keep.h"
#include "config/diagnostics.h"
#include "config/intervals.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD_LENGTH_MAX = 32 * 4096 - 1, /* an argument, or NAME=value: MAX_ARG_STRLEN of Linux, without its NUL */
    DIR_LENGTH_MAX = 72,             /* leaves 35 of the 107 bytes of a socket's path for the names below it */
    SPOOL_DIR_MAX = 1000,
    KEYS_DIR_MAX = PATH_MAX - 1 - (EXPERIMENT_NAME_MAX + 5), /* leaves room for /NAME.key */
    ENDPOINT_LENGTH_MAX = 107 + 6,                           /* ipc:// and a socket's path */
};

#define EXPIRE_MAX     (3600 * CLOCK_S)
#define SYNC_EVERY_MIN CLOCK_MS
#define LOSS_WAIT_MAX  (24 * 3600 * CLOCK_S)
#define SYNC_EVERY_MAX (10 * CLOCK_S) /* draining waits for a sync, because only synced records are acknowledged */

void fields_free_texts(char **texts)
{
    for (char **text = texts; text && *text; text++)
        free(*text);
    free(texts);
}

void fields_free_rules(struct experiment_rule *rules)
{
    for (struct experiment_rule *rule = rules; rule && rule->pattern; rule++)
        free(rule->pattern);
    free(rules);
}

/* ---- Paths ------------------------------------------------------------------------------------------------------- */

/* Whether `path` has at most `max` bytes, and each name in it NAME_MAX; if not, reports it at `t`. */
static bool path_fits(struct reader *r, const struct tree *t, const char *path, size_t max)
{
    size_t length = strlen(path);
    if (length > max) {
        reader_wrong(r, t, "%s is a path of %zu bytes; allowed: up to %zu", diagnostics_quote(path).s, length, max);
        return false;
    }
    for (const char *name = path; *name; name += strspn(name, "/")) {
        size_t n = strcspn(name, "/");
        if (n > NAME_MAX) {
            reader_wrong(r, t, "%s has a name of %zu bytes; allowed: up to %d between two '/'",
                         diagnostics_quote(path).s, n, NAME_MAX);
            return false;
        }
        name += n;
    }
    return true;
}

static void read_path(struct reader *r, const struct tree *t, const char *expected, size_t max, char **to)
{
    const char *text = reader_text(r, t, expected);
    if (!text)
        return;
    if (text[0] == '\0')
        reader_wrong(r, t, "the text is empty; expected: %s", expected);
    else if (path_fits(r, t, text, max))
        *to = reader_copy(r, text);
}

void fields_read_directory(struct reader *r, const struct tree *t, void *to)
{
    read_path(r, t, "the path of a folder", PATH_MAX - 1, to);
}

void fields_read_keys(struct reader *r, const struct tree *t, void *to)
{
    read_path(r, t, "the path of a folder of keys", KEYS_DIR_MAX, to);
}

/* Removes "/./", "//" and a '/' at the end from an absolute path: its meaning stays, with any symbolic links. */
static void shorten(char *path)
{
    char *end = path;
    for (const char *p = path; *p;) {
        p += strspn(p, "/");
        size_t n = strcspn(p, "/");
        if (n > 0 && !(n == 1 && *p == '.')) {
            *end++ = '/';
            memmove(end, p, n);
            end += n;
        }
        p += n;
    }
    if (end == path)
        *end++ = '/';
    *end = '\0';
}

void fields_read_dir(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "an absolute path");
    char *dir = text ? reader_copy(r, text) : NULL;
    if (!dir)
        return;
    if (dir[0] == '/')
        shorten(dir);
    if (dir[0] == '/' && strlen(dir) <= DIR_LENGTH_MAX) {
        *(char **)to = dir;
        return;
    }
    reader_wrong(r, t,
                 "expected: an absolute path of at most %d bytes; the folder holds sockets, whose paths must be short",
                 DIR_LENGTH_MAX);
    free(dir);
}

/* ---- Globs ------------------------------------------------------------------------------------------------------- */

/* Takes the character at *p, without a '\\' before it, and moves *p behind it; -1 at the end of the text. */
static int take_character(const char **p)
{
    if (**p == '\\')
        ++*p;
    return **p ? (unsigned char)*(*p)++ : -1;
}

/* The end of the set that begins with '[' at `p`; NULL, with the reason in *why, if it is malformed or empty. */
static const char *skip_glob_set(const char *p, const char **why)
{
    bool first = true;
    *why = "a '[' has no ']' (write '[[]' for the character '[')";
    for (p += p[1] == '!' || p[1] == '^' ? 2 : 1; first || *p != ']'; first = false) {
        if (p[0] == '[' && *p && strchr(":=.", p[1]) && p[1]) { /* a class, as in [[:digit:]] */
            const char close[] = {p[1], ']', '\0'};
            p = strstr(p + 2, close);
            if (!p)
                return NULL;
            p += 2;
            continue;
        }
        int low = take_character(&p), high = low;
        if (p[0] == '-' && p[1] && p[1] != ']') {
            p++;
            high = take_character(&p);
        }
        if (low < 0 || high < 0)
            return NULL;
        if (low > high) {
            *why = "a range in '[...]' is empty: its ends are swapped";
            return NULL;
        }
    }
    return p + 1;
}

/* The reason why `glob` is malformed or matches nothing with fnmatch(); NULL: it may match something. */
static const char *glob_wrong(const char *glob)
{
    const char *why;
    for (const char *p = glob; *p;) {
        if (*p == '[') {
            if (!(p = skip_glob_set(p, &why)))
                return why;
        } else if (take_character(&p) < 0)
            return "the '\\' at its end escapes no character";
    }
    return NULL;
}

/* A glob on the path of an executable; with a '/' it must be able to match an absolute path. */
void fields_read_attach(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "a glob on the executable's path, or on its file name");
    if (!text)
        return;
    if (text[0] == '\0' || (strchr(text, '/') && !strchr("/*?[", text[0])))
        reader_wrong(r, t, "%s matches nothing: give a file name, or a path that begins with '/' or a wildcard",
                     diagnostics_quote(text).s);
    else if (glob_wrong(text))
        reader_wrong(r, t, "%s is not a glob: %s; allowed: '*', '?', sets such as [a-z] or [!a-z]",
                     diagnostics_quote(text).s, glob_wrong(text));
    else if (strlen(text) >= PATH_MAX)
        reader_wrong(r, t, "is a glob of %zu bytes; allowed: up to %d", strlen(text), PATH_MAX - 1);
    else
        *(char **)to = reader_copy(r, text);
}

/* ---- Variables --------------------------------------------------------------------------------------------------- */

static bool is_variable(const char *name)
{
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    while (isalnum((unsigned char)*name) || *name == '_')
        name++;
    return *name == '\0';
}

static char *read_variable(struct reader *r, const struct tree *t)
{
    char *entry;
    const char *value = reader_text(r, t, "a text; \"\" for an empty one");
    if (!is_variable(t->key)) {
        reader_wrong_key(r, t,
                         "is not the name of a variable; allowed: letters, digits and '_', not beginning with a digit");
        return NULL;
    }
    if (strcmp(t->key, "BEZEL_DIR") == 0 || strcmp(t->key, "BEZEL_PROCESS") == 0) {
        reader_wrong_key(r, t, "is set by Bezel itself, from the node's 'dir' and the process's 'name'");
        return NULL;
    }
    if (!value)
        return NULL;
    if (strlen(t->key) + 1 + strlen(value) > WORD_LENGTH_MAX) {
        reader_wrong(r, t, "has %zu bytes with its name; allowed: up to %d", strlen(t->key) + 1 + strlen(value),
                     WORD_LENGTH_MAX);
        return NULL;
    }
    if (asprintf(&entry, "%s=%s", t->key, value) >= 0)
        return entry;
    r->out_of_memory = true;
    return NULL;
}

void fields_read_environment(struct reader *r, const struct tree *t, void *to)
{
    if (t->kind != TREE_MAP) {
        reader_wrong(r, t, "a map of variables is expected, NAME: value");
        return;
    }
    char **entries = reader_alloc(r, t->children + 1, sizeof *entries), **next = entries;
    if (!entries)
        return;
    for (const struct tree *child = t->first; child; child = child->next)
        if (!child->refused && (*next = read_variable(r, child)))
            next++;
    *(char ***)to = entries;
}

/* ---- Names and patterns ------------------------------------------------------------------------------------------ */

bool fields_is_declared(const char *text, size_t n)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:";
    return n > 0 && n <= EXPERIMENT_NAME_MAX && strspn(text, allowed) >= n && !isdigit((unsigned char)text[0]);
}

static void read_declared(struct reader *r, const struct tree *t, const char *expected, const char *what, char **to)
{
    const char *text = reader_text(r, t, expected);
    if (!text)
        return;
    if (!fields_is_declared(text, strlen(text)))
        reader_wrong(r, t,
                     "%s cannot be the name of %s; allowed: 1 to %d letters, digits, '_', '.' or ':', not beginning "
                     "with a digit",
                     diagnostics_quote(text).s, what, EXPERIMENT_NAME_MAX);
    else if (!*to) /* a second key for the same value is reported by the checks */
        *to = reader_copy(r, text);
}

void fields_read_aspect(struct reader *r, const struct tree *t, void *to)
{
    read_declared(r, t, "the name of an aspect", "an aspect", to);
}

void fields_read_field(struct reader *r, const struct tree *t, void *to)
{
    read_declared(r, t, "the name of a field", "a field", to);
}

void fields_read_statistic(struct reader *r, const struct tree *t, void *to)
{
    if (intervals_has(t->parent)) /* has no field: intervals_check() reads it */
        return;
    for (int i = ARRIVALS_TIME; t->kind == TREE_TEXT && i <= ARRIVALS_JITTER; i++)
        if (strcmp(t->text, experiment_arrivals_word((enum experiment_arrivals)i)) == 0) {
            if (!*(char **)to)
                *(char **)to = reader_copy(r, t->text);
            return;
        }
    fields_read_field(r, t, to);
}

void fields_read_where(struct reader *r, const struct tree *t, void *to)
{
    struct condition condition;
    const char *why, *text = reader_text(r, t, "a condition on a field, such as 'latency > 5 ms'");
    if (text && condition_read(text, &condition, &why) != 0)
        reader_wrong(r, t, "%s cannot be read: %s", diagnostics_quote(text).s, why);
    else if (text)
        *(char **)to = reader_copy(r, text);
}

static char *read_pattern(struct reader *r, const struct tree *t)
{
    const char *text = reader_text(r, t, "a pattern of names of aspects");
    if (!text)
        return NULL;
    if (experiment_pattern_ok(text))
        return reader_copy(r, text);
    reader_wrong(r, t,
                 "%s is not a pattern; allowed: 1 to %d letters, digits, '_', '.', ':', '*', '?' or sets such as [a-z]",
                 diagnostics_quote(text).s, EXPERIMENT_NAME_MAX);
    return NULL;
}

/* Whether the list has *next already; then reports it, and frees *next. */
static bool appears_twice(struct reader *r, const struct tree *t, char *const *list, char **next)
{
    while (list < next && strcmp(*list, *next) != 0)
        list++;
    if (list == next)
        return false;
    reader_wrong(r, t, "%s appears twice in this list", diagnostics_quote(*next).s);
    free(*next);
    *next = NULL;
    return true;
}

void fields_read_patterns(struct reader *r, const struct tree *t, void *to)
{
    if (t->refused)
        return;
    if (t->kind != TREE_LIST) {
        reader_wrong(r, t, "a list of patterns is expected, such as [\"frame_*\"]");
        return;
    }
    if (t->children == 0)
        return;
    if (t->children > EXPERIMENT_PATTERNS_MAX) {
        reader_wrong(r, t, "has %u entries; allowed: up to %d", t->children, EXPERIMENT_PATTERNS_MAX);
        return;
    }
    char **patterns = reader_alloc(r, t->children + 1, sizeof *patterns), **next = patterns;
    if (!patterns)
        return;
    for (const struct tree *child = t->first; child; child = child->next)
        if ((*next = read_pattern(r, child)) && !appears_twice(r, child, patterns, next))
            next++;
    *(char ***)to = patterns;
}

/* ---- Endpoints --------------------------------------------------------------------------------------------------- */

static bool is_ipc(const char *text)
{
    return strncmp(text, "ipc:///", 7) == 0 && text[7] && strlen(text) <= ENDPOINT_LENGTH_MAX;
}

static void read_endpoint(struct reader *r, const struct tree *t, const char *text, const char *also, void *to)
{
    struct address address;
    const char *why;
    if (is_ipc(text) || address_read(text, &address, &why) == 0)
        *(char **)to = reader_copy(r, text);
    else
        reader_wrong(r, t,
                     "%s is not an endpoint; allowed: %sipc:///PATH (at most 107 bytes), or tcp://HOST:PORT with a "
                     "number, an interface or * as HOST and a number or * as PORT",
                     diagnostics_quote(text).s, also);
}

/* What it takes is checked in check.c: keys, or none. */
void fields_read_listen(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "an endpoint, or 'ipc'");
    if (text && strcmp(text, "ipc") != 0)
        read_endpoint(r, t, text, "ipc, ", to);
}

void fields_read_serve(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "an endpoint, such as tcp://*:7770");
    if (text)
        read_endpoint(r, t, text, "", to);
}

void fields_read_metrics(struct reader *r, const struct tree *t, void *to)
{
    struct address address;
    const char *why, *text = reader_text(r, t, "an address, such as 9464");
    if (text && address_read_listen(text, &address, &why) == 0)
        *(char **)to = reader_copy(r, text);
    else if (text)
        reader_wrong(
            r, t, "%s is not an address; allowed: PORT, on 127.0.0.1, or HOST:PORT with an IPv4 address or * as HOST",
            diagnostics_quote(text).s);
}

void fields_read_push(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "an URL, such as http://desk:8428/api/v1/import/prometheus");
    if (!text)
        return;
    if (strchr(text, '@'))
        reader_wrong(r, t, "credentials do not belong into the file, which the run keeps: use `bezel serve --push`");
    else if (strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0)
        *(char **)to = reader_copy(r, text);
    else
        reader_wrong(r, t, "%s is not an URL; allowed: http://HOST:PORT/PATH, or https://", diagnostics_quote(text).s);
}

/* Each server of a list with commas. */
static bool is_engine(const char *text)
{
    static const char *const schemes[] = {"nats://", "tls://", "kafka://"};
    for (const char *one = text; one; one = strchr(one, ',') ? strchr(one, ',') + 1 : NULL) {
        size_t i = 0;
        while (i < sizeof schemes / sizeof *schemes && strncmp(one, schemes[i], strlen(schemes[i])) != 0)
            i++;
        if (i == sizeof schemes / sizeof *schemes || strcspn(one, " \t") != strlen(one))
            return false;
    }
    return true;
}

void fields_read_engine(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "an URL, such as nats://desk:4222, or those of a cluster with commas");
    if (!text)
        return;
    if (strchr(text, '@'))
        reader_wrong(r, t,
                     "credentials do not belong into the file, which the run keeps: give a file of them with "
                     "BEZEL_ENGINE_CREDENTIALS");
    else if (is_engine(text))
        *(char **)to = reader_copy(r, text);
    else
        reader_wrong(r, t,
                     "%s is not an URL; allowed: nats://HOST:PORT, tls://, kafka://, or several of a kind with commas",
                     diagnostics_quote(text).s);
}

void fields_read_sync(struct reader *r, const struct tree *t, void *to)
{
    int64_t *sync = to, every;
    const char *why, *text = reader_text(r, t, "never, always, or a duration such as 1 s");
    if (!text)
        return;
    for (const struct schema_word *w = schema_syncs; w->word; w++)
        if (strcmp(text, w->word) == 0) {
            *sync = w->value;
            return;
        }
    if (!isdigit((unsigned char)text[0]))
        reader_wrong(r, t, "%s is unknown; allowed: never, always, or a duration such as 1 s",
                     diagnostics_quote(text).s);
    else if (units_read_duration(text, &every, &why) != 0)
        reader_wrong(r, t, "%s is not a duration: %s", diagnostics_quote(text).s, why);
    else if (every < SYNC_EVERY_MIN || every > SYNC_EVERY_MAX)
        reader_wrong(r, t, "%s is out of range; allowed: 1 ms .. 10 s, never, always", diagnostics_quote(text).s);
    else
        *sync = every;
}

void fields_read_keep(struct reader *r, const struct tree *t, void *to)
{
    const char *text = reader_text(r, t, "a size such as 2 GiB, or a time such as 7 days");
    const char *wrong = text ? store_keep_read(text, to) : NULL;
    if (wrong)
        reader_wrong(r, t, "%s cannot be kept to: %s", diagnostics_quote(text).s, wrong);
}

void fields_read_address(struct reader *r, const struct tree *t, void *to)
{
    struct address address;
    const char *why, *text = reader_text(r, t, "an endpoint ipc:///PATH or tcp://HOST:PORT");
    if (!text || strcmp(text, "local") == 0) /* whatever an inventory says of this name */
        return;
    bool tcp = address_read(text, &address, &why) == 0 && address.kind != ADDRESS_ANY && address.port != 0;
    if (tcp || is_ipc(text))
        *(char **)to = reader_copy(r, text);
    else
        reader_wrong(r, t,
                     "%s is not where a persistent bezeld can be reached; expected: ipc:///PATH (at most 107 bytes) on "
                     "this machine, tcp://HOST:PORT, or local. Without 'address', a bezeld is started for the run",
                     diagnostics_quote(text).s);
}

void fields_read_on_loss(struct reader *r, const struct tree *t, void *to)
{
    struct experiment_loss *loss = to;
    const char *why = "", *text = reader_text(r, t, "stop, continue, or 'wait' with a duration");
    if (!text)
        return;
    bool waits = strncmp(text, "wait ", 5) == 0;
    if (waits && units_read_duration(text + 5, &loss->wait, &why) == 0 && loss->wait <= LOSS_WAIT_MAX)
        loss->action = ON_LOSS_WAIT;
    else if (strcmp(text, "stop") == 0)
        loss->action = ON_LOSS_STOP;
    else if (strcmp(text, "continue") == 0)
        loss->action = ON_LOSS_CONTINUE;
    else
        reader_wrong(r, t,
                     "%s is unknown; allowed: stop, continue, or 'wait' with a duration of up to 24 h, as in "
                     "'wait 30 s'%s%s",
                     diagnostics_quote(text).s, *why ? ": " : "", why);
}

void fields_read_spool_dir(struct reader *r, const struct tree *t, void *to)
{
    char **dir = to;
    const char *text = reader_text(r, t, "an absolute path");
    if (!text)
        return;
    if (text[0] != '/' || strlen(text) > SPOOL_DIR_MAX) {
        reader_wrong(r, t, "expected: an absolute path of at most %d bytes", SPOOL_DIR_MAX);
        return;
    }
    if (!path_fits(r, t, text, SPOOL_DIR_MAX))
        return;
    free(*dir);
    *dir = reader_copy(r, text);
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

#define BLANKS " \t\n\r"

/* Characters with a meaning in a shell; '~' and '#' only at the start of a word. '!' and braces are accepted. */
static bool is_shell(char c, bool opens_word)
{
    return c != '\0' && (strchr("|&;<>()$`\\*?", c) || (opens_word && strchr("~#", c)));
}

static bool wrong_character(struct reader *r, const struct tree *t, char c)
{
    reader_wrong(r, t,
                 "'%c' has a meaning only in a shell, and no shell is used: put the word in '...', or write the "
                 "command as a list (to use a shell: [sh, -c, \"...\"])",
                 c);
    return false;
}

/*
 * Copies the word at *p, which is not a blank, without its quotes into `word` (as large as the rest of the text), and
 * moves *p behind it. False: an error was reported.
 */
static bool take_word(struct reader *r, const struct tree *t, const char **p, char *word)
{
    const char *s = *p;
    bool opens = true;
    for (; !strchr(BLANKS, *s); opens = false) { /* to a blank, or the end */
        if (*s != '\'' && *s != '"') {
            if (is_shell(*s, opens))
                return wrong_character(r, t, *s);
            *word++ = *s++;
            continue;
        }
        char quote = *s++;
        for (; *s != quote; *word++ = *s++) {
            if (*s == '\0') {
                reader_wrong(r, t, "the quotation mark %c is never closed", quote);
                return false;
            }
            if (quote == '"' && strchr("$`\\", *s))
                return wrong_character(r, t, *s);
        }
        s++;
    }
    *word = '\0';
    *p = s;
    return true;
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, BLANKS);
}

/* `word`: a buffer for one word, as large as the text. */
static bool split(struct reader *r, const struct tree *t, char **argv, char *word)
{
    for (const char *p = skip_blanks(t->text); *p != '\0'; p = skip_blanks(p))
        if (!take_word(r, t, &p, word) || !(*argv++ = reader_copy(r, word)))
            return false;
    return true;
}

static bool copy_list(struct reader *r, const struct tree *t, char **argv)
{
    bool good = true;
    for (const struct tree *item = t->first; item; item = item->next) {
        const char *text = reader_text(r, item, "a text");
        good = good && text && (*argv++ = reader_copy(r, text));
    }
    return good;
}

/* The kernel's limits on arguments and paths, beyond which a program cannot be started. */
static bool words_fit(struct reader *r, const struct tree *t, char *const *argv)
{
    const struct tree *item = t->kind == TREE_LIST ? t->first : NULL;
    if (!path_fits(r, item ? item : t, argv[0], PATH_MAX - 1))
        return false;
    for (; *argv; argv++, item = item ? item->next : NULL)
        if (strlen(*argv) > WORD_LENGTH_MAX) {
            reader_wrong(r, item ? item : t, "is an argument of %zu bytes; allowed: up to %d", strlen(*argv),
                         WORD_LENGTH_MAX);
            return false;
        }
    return true;
}

void fields_read_command(struct reader *r, const struct tree *t, void *to)
{
    static const char expected[] = "a list of texts, or one text that is split at blanks";
    bool is_list = t->kind == TREE_LIST;
    if (!is_list && !reader_text(r, t, expected))
        return;
    size_t length = is_list ? 0 : strlen(t->text), words = is_list ? t->children : (length + 1) / 2; /* at most */
    char **argv = reader_alloc(r, words + 1, sizeof *argv), *word = reader_alloc(r, length + 1, 1);
    bool good = argv && word && (is_list ? copy_list(r, t, argv) : split(r, t, argv, word));
    free(word);
    if (good && (!argv[0] || argv[0][0] == '\0')) {
        reader_wrong(r, t, "the command is empty; expected: %s", expected);
        good = false;
    }
    if (good && words_fit(r, t, argv))
        *(char ***)to = argv;
    else
        fields_free_texts(argv);
}

/* ---- Rules ------------------------------------------------------------------------------------------------------- */

/* The kind of the values of a map. */
struct value_kind {
    const char *all, *one; /* what is expected, with an example: the map, a value */
    bool (*read)(struct reader *r, const struct tree *t, const char *text, int64_t *value);
    const struct schema_word *words; /* in place of `one` and `read` */
};

static bool read_bound(struct reader *r, const struct tree *t, const char *text, int64_t *value)
{
    const char *why;
    if (units_read_duration(text, value, &why) != 0)
        reader_wrong(r, t, "%s is not a duration: %s", diagnostics_quote(text).s, why);
    else if (*value > EXPIRE_MAX)
        reader_wrong(r, t, "%s is out of range; allowed: 0 .. %s, 0 for none", diagnostics_quote(text).s,
                     units_exact_duration(EXPIRE_MAX).s);
    else
        return true;
    return false;
}

static bool read_weight(struct reader *r, const struct tree *t, const char *text, int64_t *value)
{
    uint64_t weight = 0;
    const char *why;
    if (units_read_count(text, &weight, &why) != 0)
        reader_wrong(r, t, "%s is not a weight: %s", diagnostics_quote(text).s, why);
    else if (weight < 1 || weight > EXPERIMENT_IMPORTANCE_MAX)
        reader_wrong(r, t, "%s is out of range; allowed: 1 .. %d", diagnostics_quote(text).s,
                     EXPERIMENT_IMPORTANCE_MAX);
    else
        *value = (int64_t)weight;
    return *value > 0;
}

/* Reads an entry into *rule; false: an error was reported. */
static bool read_entry(struct reader *r, const struct tree *t, const struct value_kind *of,
                       struct experiment_rule *rule)
{
    const struct schema_word *word = of->words ? reader_word(r, t, of->words, NULL) : NULL;
    const char *text = of->words ? NULL : reader_text(r, t, of->one);
    rule->value = word ? word->value : 0; /* a wrong entry before may have set it */
    if (!experiment_pattern_ok(t->key)) {
        reader_wrong_key(
            r, t, "is not a pattern; allowed: 1 to %d letters, digits, '_', '.', ':', '*', '?' or sets such as [a-z]",
            EXPERIMENT_NAME_MAX);
        return false;
    }
    bool known = word || (text && of->read(r, t, text, &rule->value));
    return known && (rule->pattern = reader_copy(r, t->key));
}

static void read_rules(struct reader *r, const struct tree *t, const struct value_kind *of, void *to)
{
    if (t->refused)
        return;
    if (t->kind != TREE_MAP) {
        reader_wrong(r, t, "a map of patterns and %s", of->all);
        return;
    }
    if (t->children > EXPERIMENT_PATTERNS_MAX) {
        reader_wrong(r, t, "has %u entries; allowed: up to %d", t->children, EXPERIMENT_PATTERNS_MAX);
        return;
    }
    struct experiment_rule *rules = reader_alloc(r, t->children + 1, sizeof *rules), *next = rules;
    if (!rules)
        return;
    for (const struct tree *child = t->first; child; child = child->next)
        if (!child->refused && read_entry(r, child, of, next))
            next++;
    *(struct experiment_rule **)to = rules;
}

void fields_read_expire(struct reader *r, const struct tree *t, void *to)
{
    static const struct value_kind bounds = {"bounds is expected, such as {\"frame_*\": 100 ms}",
                                             "a latency bound such as 100 ms", read_bound, NULL};
    read_rules(r, t, &bounds, to);
}

void fields_read_importance(struct reader *r, const struct tree *t, void *to)
{
    static const struct value_kind weights = {"weights is expected, such as {frame_shown: 10, \"debug_*\": 1}",
                                              "a weight such as 10", read_weight, NULL};
    read_rules(r, t, &weights, to);
}

const struct schema_word fields_aspect_modes[] = {
    {"on", MODE_ON, false}, {"count", MODE_COUNT, false}, {"off", MODE_OFF, false}, {NULL, 0, false}};

void fields_read_keep_rules(struct reader *r, const struct tree *t, void *to)
{
    static const struct value_kind keeps = {"words is expected, such as {\"pixel_*\": reduced}",
                                            .words = aspect_keep_words};
    read_rules(r, t, &keeps, to);
}

void fields_read_modes(struct reader *r, const struct tree *t, void *to)
{
    static const struct value_kind modes = {"modes is expected, such as {\"debug_*\": on}",
                                            .words = fields_aspect_modes};
    read_rules(r, t, &modes, to);
}

static void read_store(struct reader *r, const struct tree *t, struct experiment_switches *switches)
{
    const struct schema_word *w = schema_switches[0].words;
    const char *text = reader_text(r, t, "snapshots, all, or a map such as {store: all, budget: 1 %}");
    while (text && w->word && strcmp(w->word, text) != 0)
        w++;
    if (text && w->word)
        switches->store = (enum experiment_switches_store)w->value;
    else if (text)
        reader_wrong(r, t, "%s is unknown; allowed: snapshots, all, or a map such as {store: all, budget: 1 %%}",
                     diagnostics_quote(text).s);
}

void fields_read_switches(struct reader *r, const struct tree *t, void *to)
{
    struct experiment_sensing *sensing = to;
    if (t->kind == TREE_MAP)
        schema_read_map(r, t, schema_switches, sensing);
    else
        read_store(r, t, &sensing->switches);
    sensing->sampler[EXPERIMENT_SAMPLER_SWITCHES] = sensing->switches.period;
}

void fields_print_switches(const void *from, FILE *out)
{
    fputc('{', out);
    schema_print_map(schema_switches, from, &schema_defaults.sensing, false, out);
    fputc('}', out);
}
