// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A process that records and is not observed counts itself, so that the report can show it. Either it cannot make a
 * segment: it has given up its user, its descriptors or its memory, or the folder is full. Or it made a segment that
 * nobody reads, because the folder's name leads to another folder than before, or than in its parent: the root
 * directory was changed, or the folder removed. Often it cannot open files any more. So it counts itself in memory that
 * it mapped before, in the first of these that is possible:
 *
 *     1. in the segment of the process that forked it, if that is read;
 *     2. in the doorbell of its folder, if that can be mapped now;
 *     3. in the doorbell that was there when the program was loaded, or that its parent had: of its folder, or else
 *        of the node whose launcher is its ancestor, as where its environment was emptied;
 *     4. by a mark and a signal for its launcher, where its doorbell cannot be reached (struct segment_mark);
 *     5. in the segment of the process that forked it, which may be read later.
 *
 * It keeps the beginning of the parent's segment mapped, through an open file description of its own, because the
 * parent's has the lock that shows that the parent is alive. The file's memory stays as long as this mapping. The
 * process unmaps it when it has a segment itself that is read. All of this is under the lock.
 */
#include "base/file.h"
#include "sensor/internal/internal.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    dev_t dev;
    ino_t ino;
};

static struct {
    struct segment *head; /* of our segment; before we have one, of the parent's; NULL: none */
    struct place folder;  /* of that segment */
    struct doorbell *doorbell;
    struct segment_launcher launcher; /* where there was no doorbell */
    bool looked;                      /* for a doorbell, when the program was loaded: done */
    pid_t left; /* the process that is counted, or could not be; not its parent, whose memory it may share */
} word;

void sensor_unobserved_prepare(void)
{
    if (word.looked)
        return;
    word.looked = true;
    word.doorbell = segment_map_doorbell(sensor_dir());
    if (word.doorbell)
        return;
    word.launcher = segment_find_launcher();
    word.doorbell = segment_map_launchers_doorbell(&word.launcher);
}

/* A doorbell that is replaced stays mapped: a record that the fork interrupted may set its wake bit there. */
void sensor_unobserved_inherit(void)
{
    struct doorbell **own = &sensor_process.own.doorbell;
    word.left = 0;
    if (!*own || (word.doorbell && word.doorbell->id == (*own)->id))
        return;
    word.doorbell = *own;
    *own = NULL;
}

static bool parent_is_read(void)
{
    return word.head &&
           (atomic_load_explicit(&word.head->unobserved, memory_order_relaxed) & SEGMENT_READ); /* relaxed: a hint */
}

static bool count_in_parent(const char *why)
{
    if (!word.head || !sensor_count_unobserved(&word.head->unobserved))
        return false;
    sensor_notice(word.head, "BEZEL-NO-SEGMENT", "its child process %d is not observed: %s", (int)getpid(), why);
    return true;
}

static bool count_in_doorbell(const char *why)
{
    struct doorbell *doorbell = segment_map_doorbell(sensor_dir());
    bool counted = doorbell && segment_refuse(doorbell, why);
    if (doorbell)
        munmap(doorbell, sizeof *doorbell);
    return counted || (word.doorbell && segment_refuse(word.doorbell, why));
}

void sensor_unobserved_report(void)
{
    const char *why = sensor_process.own.why_not;
    if (word.left == getpid())
        return;
    word.left = getpid();
    if (!(parent_is_read() && count_in_parent(why)) && !count_in_doorbell(why) && !segment_leave_mark(&word.launcher) &&
        !count_in_parent(why))
        sensor_notice(NULL, "BEZEL-NO-SEGMENT", "%s", why);
}

/* The place of folder `dir`; zeros if it does not exist, which differ from every place. */
static struct place folder_at(const char *dir)
{
    int before = errno;
    struct stat st;
    bool is = stat(dir, &st) == 0;
    errno = before;
    return is ? (struct place){st.st_dev, st.st_ino} : (struct place){0};
}

/* Whether our new segment is in a folder that is not read, while the right folder is or may be read. */
static bool is_astray(struct place folder)
{
    if (sensor_process.own.doorbell)
        return false;
    if (word.launcher.pid && !word.doorbell)
        return true;
    if (word.head && (folder.dev != word.folder.dev || folder.ino != word.folder.ino))
        return true;
    uint32_t state = word.doorbell
                         ? atomic_load_explicit(&word.doorbell->unobserved, memory_order_relaxed) /* relaxed: a hint */
                         : SEGMENT_UNREAD;
    return !(state & SEGMENT_UNREAD);
}

void sensor_unobserved_made(const char *dir)
{
    struct segment_owned *own = &sensor_process.own;
    struct place folder = folder_at(dir);
    if (is_astray(folder)) {
        snprintf(own->why_not, sizeof own->why_not,
                 "its folder %.64s is not what bezeld reads: removed, under another root, or BEZEL_DIR is unset", dir);
        sensor_unobserved_report();
        return; /* its children keep the inherited mapping, because this segment is not read */
    }
    if (word.head)
        munmap(word.head, segment_word_bytes());
    word.head = segment_map_word(own);
    word.folder = folder;
}
