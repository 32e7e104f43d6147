// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/course/run_journal.h"

#include "base/file.h"
#include "base/grow.h"
#include "base/hash.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Each line is a word, one blank and values, which blanks separate. A text is the last value of its line, with '\n' and
 * '\\' in place of a newline and a backslash. The lines of programs and events may repeat, and have no order.
 */

#define FIRST_LINE "bezel-journal "
#define VERSION    1
#define LAST_LINE  "end "

/* ---- Writing ----------------------------------------------------------------------------------------------------- */

static void put_text(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '\n' || *text == '\\')
            fprintf(out, "\\%c", *text == '\n' ? 'n' : '\\');
        else
            fputc(*text, out);
    fputc('\n', out);
}

static void put_line(FILE *out, const char *word, const char *text)
{
    fprintf(out, "%s ", word);
    put_text(out, text);
}

static void put_state(FILE *out, const struct run_journal *j)
{
    const struct state_saved *s = &j->state;
    fprintf(out, "state %d %d %d %d %d %d %d %d %d %d %" PRId64 " %" PRId64 "\n", (int)s->phase, (int)s->ended_by,
            s->failed, s->unreachable, s->store_failed, s->interrupted, s->unmanaged, s->attached_seen,
            s->unmatched_reported, j->undrained, s->started, s->ended);
    for (uint32_t d = 0; d < STATE_DAEMONS_MAX; d++)
        if (s->drained[d])
            fprintf(out, "drained %" PRIu32 "\n", d);
}

static void put_program(FILE *out, const struct run_journal_program *p)
{
    const struct message_launched *r = &p->row;
    fprintf(out, "program %" PRIu32 " %d %d %d %d %d %" PRIu64 " %" PRIu64 " %" PRIu32 " %d %d %" PRIu32 " %d %d",
            p->index, p->current, p->known, p->counted, p->home, p->done, p->begun, p->missing, r->of.incarnation,
            (int)r->state, r->ready, r->pid, r->status, r->error);
    fprintf(out, " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " ", r->started,
            r->ended, r->user_ns, r->system_ns, r->memory, r->output, r->dropped);
    put_text(out, r->stage);
}

int run_journal_print(const struct run_journal *j, char **text, size_t *n)
{
    *text = NULL;
    FILE *out = open_memstream(text, n);
    if (!out)
        return BEZEL_ENOMEM;
    fprintf(out, FIRST_LINE "%d\n", VERSION);
    put_line(out, "run", j->run);
    fprintf(out, "epoch %" PRIu64 "\npid %" PRIu32 "\n", j->epoch, j->pid);
    put_line(out, "boot", j->boot);
    put_line(out, "host", j->host);
    put_line(out, "directory", j->directory);
    put_line(out, "name", j->name);
    put_line(out, "data", j->data);
    for (uint32_t i = 0; i < EXPERIMENT_INNER_MAX; i++)
        if (j->inner[i][0]) {
            fprintf(out, "inner %" PRIu32 " ", i);
            put_text(out, j->inner[i]);
        }
    fprintf(out, "duration %" PRId64 "\noffset %" PRId64 "\nsnapshots %" PRIu32 " %" PRIu64 "\n", j->duration,
            j->realtime_offset, j->snapshots, j->snapshots_refused);
    put_state(out, j);
    for (size_t i = 0; i < j->program_count; i++)
        put_program(out, &j->programs[i]);
    for (size_t i = 0; i < j->event_count; i++) {
        fprintf(out, "event %" PRId64 " %d ", j->events[i].at, j->events[i].error);
        put_text(out, j->events[i].text);
    }
    if (fflush(out) == 0)
        fprintf(out, LAST_LINE "%016" PRIx64 "\n", hash_fnv64(HASH_FNV64_START, *text, *n));
    return file_text_end(out, text);
}

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

/* What is left of a line; ok: nothing in it was wrong so far. */
struct line {
    const char *at, *end;
    bool ok;
};

static bool take_word(struct line *l, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(l->end - l->at) <= n || memcmp(l->at, word, n) != 0 || l->at[n] != ' ')
        return false;
    l->at += n;
    return true;
}

/* The next value, which a blank precedes, as a number within its limits. */
static uint64_t take_unsigned(struct line *l, uint64_t max)
{
    uint64_t value = 0;
    const char *from = l->ok && l->at < l->end && *l->at == ' ' ? l->at + 1 : l->end;
    const char *at = from;
    for (; at < l->end && *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');
        l->ok &= value <= (UINT64_MAX - digit) / 10;
        value = 10 * value + digit;
    }
    l->ok &= at > from && value <= max;
    l->at = at;
    return l->ok ? value : 0;
}

static int64_t take_signed(struct line *l, int64_t min, int64_t max)
{
    bool negative = l->ok && l->end - l->at > 1 && l->at[0] == ' ' && l->at[1] == '-';
    struct line rest = *l;
    if (!negative)
        return (int64_t)take_unsigned(l, (uint64_t)max);
    if (l->end - l->at < 3 || l->at[2] < '0' || l->at[2] > '9')
        return l->ok = false, 0;
    uint64_t value = 0;
    for (rest.at += 2; rest.at < l->end && *rest.at >= '0' && *rest.at <= '9'; rest.at++) {
        l->ok &= value <= (uint64_t)INT64_MAX / 10;
        value = 10 * value + (unsigned)(*rest.at - '0');
    }
    l->at = rest.at;
    l->ok &= value <= (uint64_t)INT64_MAX && -(int64_t)value >= min;
    return l->ok ? -(int64_t)value : 0;
}

static bool take_bool(struct line *l)
{
    return take_unsigned(l, 1) != 0;
}

/* The rest of the line, of fewer than `size` bytes. */
static void take_text(struct line *l, char *text, size_t size)
{
    size_t n = 0;
    l->ok &= l->at < l->end && *l->at == ' ';
    for (const char *at = l->at + 1; l->ok && at < l->end; at++) {
        char c = *at;
        if (c == '\\') {
            l->ok &= ++at < l->end && (*at == 'n' || *at == '\\');
            c = l->ok && *at == 'n' ? '\n' : '\\';
        }
        l->ok &= c != '\0' && n + 1 < size;
        if (l->ok)
            text[n++] = c;
    }
    text[n] = '\0';
    l->at = l->end;
}

static void take_state(struct line *l, struct run_journal *j)
{
    struct state_saved *s = &j->state;
    s->phase = (enum state_phase)take_unsigned(l, PHASE_DONE);
    s->ended_by = (enum state_ended_by)take_unsigned(l, ENDED_BY_FAILURE);
    bool *const flags[] = {&s->failed,    &s->unreachable,   &s->store_failed,       &s->interrupted,
                           &s->unmanaged, &s->attached_seen, &s->unmatched_reported, &j->undrained};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        *flags[i] = take_bool(l);
    s->started = take_signed(l, INT64_MIN + 1, INT64_MAX);
    s->ended = take_signed(l, INT64_MIN + 1, INT64_MAX);
}

static void take_program(struct line *l, struct run_journal_program *p)
{
    struct message_launched *r = &p->row;
    p->index = (uint32_t)take_unsigned(l, UINT32_MAX);
    p->current = take_bool(l);
    p->known = take_bool(l);
    p->counted = take_bool(l);
    p->home = take_bool(l);
    p->done = take_bool(l);
    p->begun = take_unsigned(l, UINT64_MAX);
    p->missing = take_unsigned(l, UINT64_MAX);
    r->of.incarnation = (uint32_t)take_unsigned(l, UINT32_MAX);
    r->state = (enum message_launched_state)take_unsigned(l, LAUNCHED_LOST);
    r->ready = take_bool(l);
    r->pid = (uint32_t)take_unsigned(l, UINT32_MAX);
    r->status = (int32_t)take_signed(l, INT32_MIN, INT32_MAX);
    r->error = (int32_t)take_signed(l, INT32_MIN, INT32_MAX);
    r->started = take_signed(l, INT64_MIN + 1, INT64_MAX);
    r->ended = take_signed(l, INT64_MIN + 1, INT64_MAX);
    uint64_t *const amounts[] = {&r->user_ns, &r->system_ns, &r->memory, &r->output, &r->dropped};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        *amounts[i] = take_unsigned(l, UINT64_MAX);
    take_text(l, r->stage, sizeof r->stage);
}

static int take_lists(struct line *l, struct run_journal *j)
{
    if (take_word(l, "program")) {
        if (!grow_by_one(&j->programs, j->program_count, sizeof *j->programs))
            return BEZEL_ENOMEM;
        j->programs[j->program_count] = (struct run_journal_program){.index = 0};
        take_program(l, &j->programs[j->program_count++]);
    } else if (take_word(l, "event")) {
        if (!grow_by_one(&j->events, j->event_count, sizeof *j->events))
            return BEZEL_ENOMEM;
        struct console_event *e = &j->events[j->event_count++];
        e->at = take_signed(l, INT64_MIN + 1, INT64_MAX);
        e->error = take_bool(l);
        take_text(l, e->text, sizeof e->text);
    } else
        l->ok = false;
    return 0;
}

static int take_line(struct line *l, struct run_journal *j)
{
    if (take_word(l, "run"))
        take_text(l, j->run, sizeof j->run);
    else if (take_word(l, "epoch"))
        j->epoch = take_unsigned(l, UINT64_MAX - 1);
    else if (take_word(l, "boot"))
        take_text(l, j->boot, sizeof j->boot);
    else if (take_word(l, "pid"))
        j->pid = (uint32_t)take_unsigned(l, UINT32_MAX);
    else if (take_word(l, "host"))
        take_text(l, j->host, sizeof j->host);
    else if (take_word(l, "directory"))
        take_text(l, j->directory, sizeof j->directory);
    else if (take_word(l, "name"))
        take_text(l, j->name, sizeof j->name);
    else if (take_word(l, "data"))
        take_text(l, j->data, sizeof j->data);
    else if (take_word(l, "inner")) {
        uint64_t i = take_unsigned(l, EXPERIMENT_INNER_MAX - 1);
        take_text(l, j->inner[i], sizeof j->inner[i]);
    } else if (take_word(l, "duration"))
        j->duration = take_signed(l, 0, INT64_MAX);
    else if (take_word(l, "offset"))
        j->realtime_offset = take_signed(l, INT64_MIN + 1, INT64_MAX);
    else if (take_word(l, "snapshots")) {
        j->snapshots = (uint32_t)take_unsigned(l, UINT32_MAX);
        j->snapshots_refused = take_unsigned(l, UINT64_MAX);
    } else if (take_word(l, "state"))
        take_state(l, j);
    else if (take_word(l, "drained")) {
        uint64_t d = take_unsigned(l, STATE_DAEMONS_MAX - 1);
        j->state.drained[d] = l->ok;
    } else
        return take_lists(l, j);
    return 0;
}

/* Whether the last line has the hash of all before it, which end at *end. */
static bool is_whole(const char *text, size_t n, size_t *end)
{
    enum { LENGTH = sizeof LAST_LINE - 1 + 16 + 1 };
    char last[LENGTH + 1];
    if (n < LENGTH)
        return false;
    *end = n - LENGTH;
    snprintf(last, sizeof last, LAST_LINE "%016" PRIx64 "\n", hash_fnv64(HASH_FNV64_START, text, *end));
    return memcmp(text + *end, last, LENGTH) == 0;
}

int run_journal_parse(const char *text, size_t n, struct run_journal **out)
{
    size_t end;
    if (n < sizeof FIRST_LINE || memcmp(text, FIRST_LINE, sizeof FIRST_LINE - 1) != 0 || !is_whole(text, n, &end))
        return BEZEL_EMALFORMED;
    struct line first = {.at = text + sizeof FIRST_LINE - 2, .end = text + end, .ok = true};
    if (take_unsigned(&first, UINT64_MAX) != VERSION || *first.at != '\n')
        return BEZEL_EVERSION;
    struct run_journal *j = calloc(1, sizeof *j);
    int err = j ? 0 : BEZEL_ENOMEM;
    for (const char *at = first.at + 1; !err && at < text + end;) {
        const char *newline = memchr(at, '\n', (size_t)(text + end - at));
        struct line l = {.at = at, .end = newline ? newline : text + end, .ok = newline != NULL};
        err = l.ok ? take_line(&l, j) : BEZEL_EMALFORMED;
        if (!err && (!l.ok || l.at != l.end))
            err = BEZEL_EMALFORMED;
        at = l.end + 1;
    }
    if (!err && (!j->run[0] || j->epoch == 0))
        err = BEZEL_EMALFORMED;
    if (err)
        run_journal_free(j);
    else
        *out = j;
    return err;
}

/* ---- The file ---------------------------------------------------------------------------------------------------- */

static void name_file(const char *run, char path[PATH_MAX + 32])
{
    snprintf(path, PATH_MAX + 32, "%.*s/" RUN_JOURNAL_FILE, PATH_MAX, run);
}

int run_journal_read(const char *run, struct run_journal **j)
{
    char path[PATH_MAX + 32], *text;
    size_t n;
    name_file(run, path);
    int err = file_read_plain(path, 1, RUN_JOURNAL_FILE_MAX, &text, &n);
    if (err)
        return err;
    err = run_journal_parse(text, n, j);
    free(text);
    return err;
}

int run_journal_write(const struct run_journal *j, const char *run, bool lasting, uint64_t *written)
{
    char path[PATH_MAX + 32], *text;
    size_t n;
    int err = run_journal_print(j, &text, &n);
    if (err)
        return errno = ENOMEM, err;
    uint64_t hash = hash_fnv64(HASH_FNV64_START, text, n);
    name_file(run, path);
    if (hash != *written || lasting)
        err = lasting ? file_replace_lasting(path, text, n) : file_replace(path, text, n);
    if (!err)
        *written = hash;
    free(text);
    return err;
}

bool run_journal_is(const char *run)
{
    char path[PATH_MAX + 32];
    name_file(run, path);
    return access(path, F_OK) == 0;
}

void run_journal_remove(const char *run)
{
    char path[PATH_MAX + 32];
    name_file(run, path);
    unlink(path);
}

void run_journal_free(struct run_journal *j)
{
    if (!j)
        return;
    free(j->programs);
    free(j->events);
    free(j);
}
