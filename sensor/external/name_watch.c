// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/external/name_watch.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/utf8.h"
#include "sensor/external/notes.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The thread that has a ring. A thread with a second ring, for its signal handlers, is in two places. */
struct place {
    uint32_t thread;
    uint32_t name; /* as in the table, from 1; 0: not known */
    bool known;    /* it was read; without a name it has one beyond the bounds */
};

struct process_names {
    uint64_t instance; /* 0: the place is free */
    uint32_t count, next, used;
    uint64_t has[NAME_WATCH_MAX / 64]; /* a bit for each name of the table: threads of the process have, or had it */
    struct place *rings;
};

struct name_watch {
    struct external *x;
    uint32_t next; /* the process at which the next look begins */
    uint32_t count;
    char names[NAME_WATCH_MAX][NAME_WATCH_BYTES + 1];
    struct process_names processes[EXTERNAL_PROCESSES];
};

struct look {
    struct name_watch *names;
    int64_t now, until; /* until 0: its first thread is to come, however late it is */
    uint32_t changes;
    bool all;
    name_watch_changed *changed;
    void *context;
};

struct name_watch *name_watch_new(struct external *x)
{
    struct name_watch *n = calloc(1, sizeof *n);
    if (n)
        n->x = x;
    return n;
}

void name_watch_free(struct name_watch *n)
{
    for (uint32_t i = 0; n && i < EXTERNAL_PROCESSES; i++)
        free(n->processes[i].rings);
    free(n);
}

/* ---- Names ------------------------------------------------------------------------------------------------------- */

/* The number of a name of process `of`, which may be new; 0: it is one beyond the bounds. */
static uint32_t number_of(struct name_watch *n, struct process_names *of, const char *name)
{
    uint32_t i = 0;
    while (i < n->count && strcmp(n->names[i], name) != 0)
        i++;
    if (i == NAME_WATCH_MAX)
        return 0;
    uint64_t *word = &of->has[i / 64], bit = UINT64_C(1) << i % 64;
    if (!(*word & bit) && of->used == NAME_WATCH_OF)
        return 0;
    if (i == n->count)
        snprintf(n->names[n->count++], sizeof n->names[0], "%s", name);
    of->used += !(*word & bit);
    *word |= bit;
    return i + 1;
}

/* Reads the name of a thread. False if there is none to read: it has ended, or we have no right. */
static bool read_name(uint32_t pid, uint32_t thread, char name[NAME_WATCH_BYTES + 1])
{
    char path[64], text[32];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", pid, thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[text[n - 1] == '\n' ? n - 1 : n] = '\0';
    utf8_escape(name, NAME_WATCH_BYTES, text);
    return true;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static void note_left_out(const struct look *look, const struct external_process *p, const struct process_names *of)
{
    notes_record(
        look->names->x, p, look->now, "BEZEL-THREAD-NAMES",
        of->used == NAME_WATCH_OF
            ? "its threads have had more than %d names: further ones are not recorded, and threads that have "
              "one are shown by their ids alone"
            : "the threads of this node's programs have had more than %d names: further ones are not recorded, "
              "and threads that have one are shown by their ids alone",
        of->used == NAME_WATCH_OF ? NAME_WATCH_OF : NAME_WATCH_MAX);
}

/* The pid is still that of `p` if the process lives after its file was read: so it is asked for a change alone. */
static void look_at_thread(struct look *look, const struct external_process *p, struct process_names *of,
                           struct place *place, uint32_t thread)
{
    char name[NAME_WATCH_BYTES + 1];
    struct name_watch *n = look->names;
    if (!read_name(p->at->pid, thread, name))
        return;
    bool same = place->known && place->thread == thread;
    if (same && place->name && strcmp(n->names[place->name - 1], name) == 0)
        return;
    uint32_t number = number_of(n, of, name);
    if (number == 0)
        note_left_out(look, p, of);
    if ((same && place->name == number) || !segment_alive(p->at))
        return;
    *place = (struct place){.thread = thread, .name = number, .known = true};
    look->changes++;
    look->changed(look->context, p, thread, number ? n->names[number - 1] : NULL);
}

static bool is_over(struct look *look)
{
    int64_t now = clock_now();
    bool over = look->until && (now >= look->until || look->changes >= NAME_WATCH_CHANGES);
    look->until = look->until ? look->until : now + NAME_WATCH_LOOK;
    return over;
}

/* False if some of its threads are left. */
static bool look_at_process(struct look *look, const struct external_process *p, struct process_names *of)
{
    if (of->instance != p->at->instance) {
        free(of->rings);
        *of = (struct process_names){.instance = p->at->instance};
    }
    if (!grow_zeroed(&of->rings, &of->count, p->at->ring_count, sizeof *of->rings))
        return true;
    for (; of->next < p->at->ring_count; of->next++) {
        struct place *place = &of->rings[of->next];
        uint32_t thread = segment_ring_thread(p->at, of->next);
        if (!thread || (!look->all && place->known && place->thread == thread))
            continue;
        if (is_over(look))
            return false;
        look_at_thread(look, p, of, place, thread);
    }
    of->next = 0;
    return true;
}

static bool has_names(const struct external_process *p)
{
    return p && p->role == ROLE_SUT && p->phase == EXTERNAL_LIVE && !p->truncated && segment_pid_is_ours(p->at);
}

void name_watch_look(struct name_watch *n, int64_t now, bool all, name_watch_changed *changed, void *context)
{
    struct look look = {.names = n, .now = now, .all = all, .changed = changed, .context = context};
    uint32_t count = n ? external_process_count(n->x) : 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (n->next + i) % count;
        const struct external_process *p = external_process(n->x, at);
        if (has_names(p) && !look_at_process(&look, p, &n->processes[at])) {
            n->next = at;
            return;
        }
    }
    if (n)
        n->next = 0;
}
