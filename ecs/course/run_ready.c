// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Whether a program is ready, as its file says: by a line of its output, or by its first record. */
#include "ecs/course/run_internal.h"

#include "mdr/message.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define LOOK_EVERY (20 * CLOCK_MS)

enum { PIECE = 1 << 16 };

/* Looks for the text in the lines that have come since it looked last. A line longer than a piece is cut. */
static bool says_so(struct sut_process *p)
{
    static char piece[PIECE + 1]; /* one thread */
    int fd = open(p->output, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool found = false;
    while (fd >= 0 && !found) {
        ssize_t n = pread(fd, piece, PIECE, (off_t)p->scanned);
        if (n <= 0)
            break;
        char *end = memrchr(piece, '\n', (size_t)n);
        if (!end && n < PIECE)
            break; /* the line goes on */
        size_t size = end ? (size_t)(end - piece) + 1 : (size_t)n;
        found = memmem(piece, size, p->of->ready.output, strlen(p->of->ready.output)) != NULL;
        p->scanned += size;
    }
    if (fd >= 0)
        close(fd);
    return found;
}

/* The node counts the records of all processes of that name. */
static void ask_for_records(struct run *r, struct sut_process *p)
{
    struct daemon *d = &r->daemons.daemons[1 + p->of->node].process;
    struct message_command ask = {.verb = VERB_QUERY, .subject = SUBJECT_RECORDS};
    snprintf(ask.process, sizeof ask.process, "%s", p->program.launch.of.process);
    snprintf(ask.aspect, sizeof ask.aspect, "%s", p->of->ready.record);
    if (d->serves && daemon_command(d, &ask) == 0)
        p->look_id = d->caller.id;
}

bool run_look_whether_ready(struct run *r, size_t i, int64_t now)
{
    struct sut_process *p = &r->sut.processes[i];
    if (!p->of->ready.output && !p->of->ready.record)
        return false;
    if (now - p->looked_at < LOOK_EVERY)
        return true;
    p->looked_at = now;
    if (p->of->ready.record)
        ask_for_records(r, p);
    else if (says_so(p))
        start_plan_ready(&r->plan, i);
    return true;
}

bool run_take_records(struct run *r, uint32_t d, const struct message_reply *reply)
{
    if (reply->answer != ANSWER_RECORDS)
        return false;
    for (size_t i = 0; i < r->sut.count; i++)
        if (r->sut.processes[i].of->node == d - 1 && r->sut.processes[i].look_id == reply->id && reply->records > 0)
            start_plan_ready(&r->plan, i);
    return true;
}
