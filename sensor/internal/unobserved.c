// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A process that records and is not observed leaves word that it exists. It cannot make a segment: it has given up its
 * user, its descriptors or its memory, or the folder is full. Or it made one where nobody reads, for it sees another
 * folder under that name than it did, or than its parent does: the root directory was changed, or the folder removed.
 * Often it can open nothing any more. So it counts itself in memory that it has had since before:
 *
 *     1. in the segment of the process that forked it, where somebody reads that;
 *     2. in the doorbell of its folder, where that can be mapped now;
 *     3. in the doorbell that was there when this program was loaded, or that its parent had;
 *     4. in the segment of the process that forked it: somebody may come to read that.
 *
 * Of the parent's segment it keeps the beginning, mapped by an open file description of its own: the parent's one has
 * the parent's lock, which tells that the parent lives. While it keeps that, the file's memory stays. It lets go of it
 * when it has a segment itself that is read. All of this is under the lock.
 */
#include "base/file.h"
#include "sensor/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    dev_t dev;
    ino_t ino;
};

static struct {
    struct segment *head; /* of our segment; until we have one, of the process that forked us; NULL: none */
    struct place folder;  /* in which that segment is */
    struct doorbell *bell;
    bool looked; /* for a doorbell, when the program was loaded */
    bool left;   /* word was left, or could not be */
} word;

void sensor_unobserved_prepare(void)
{
    char dir[PATH_MAX];
    if (word.looked)
        return;
    word.looked = true;
    file_bezel_dir(dir, sizeof dir);
    word.bell = own_map_doorbell(dir);
}

/* A doorbell that is replaced stays mapped: a record that the fork interrupted may be about to knock there. */
void sensor_unobserved_inherit(void)
{
    struct doorbell **own = &sensor_process.own.bell;
    word.left = false;
    if (!*own || (word.bell && word.bell->id == (*own)->id))
        return;
    word.bell = *own;
    *own = NULL;
}

static bool parent_is_read(void)
{
    return word.head &&
           (atomic_load_explicit(&word.head->unobserved, memory_order_relaxed) & SEGMENT_READ); /* relaxed: a hint */
}

static bool tell_parents_segment(const char *why)
{
    if (!word.head || !sensor_count_unobserved(&word.head->unobserved))
        return false;
    sensor_notice(word.head, "BEZEL-NO-SEGMENT", "process %d, forked from it, is not observed: %s", (int)getpid(), why);
    return true;
}

static bool tell_doorbell(const char *why)
{
    char dir[PATH_MAX];
    file_bezel_dir(dir, sizeof dir);
    struct doorbell *bell = own_map_doorbell(dir);
    bool told = bell && own_refuse(bell, why);
    if (bell)
        munmap(bell, sizeof *bell);
    return told || (word.bell && own_refuse(word.bell, why));
}

void sensor_unobserved_tell(void)
{
    const char *why = sensor_process.own.why_not;
    if (word.left)
        return;
    word.left = true;
    if (!(parent_is_read() && tell_parents_segment(why)) && !tell_doorbell(why) && !tell_parents_segment(why))
        sensor_notice(NULL, "BEZEL-NO-SEGMENT", "%s", why);
}

/* Where it is gone already it is none that was there before. */
static struct place folder_at(const char *dir)
{
    int before = errno;
    struct stat st;
    bool is = stat(dir, &st) == 0;
    errno = before;
    return is ? (struct place){st.st_dev, st.st_ino} : (struct place){0};
}

/* Whether our new segment, in `folder`, is where nobody reads, though somebody reads, or may, where it should be. */
static bool is_astray(struct place folder)
{
    if (sensor_process.own.bell)
        return false;
    if (word.head && (folder.dev != word.folder.dev || folder.ino != word.folder.ino))
        return true;
    uint32_t told = word.bell ? atomic_load_explicit(&word.bell->unobserved, memory_order_relaxed) /* relaxed: a hint */
                              : SEGMENT_UNREAD;
    return !(told & SEGMENT_UNREAD);
}

void sensor_unobserved_made(const char *dir)
{
    struct own_segment *own = &sensor_process.own;
    struct place folder = folder_at(dir);
    if (is_astray(folder)) {
        snprintf(own->why_not, sizeof own->why_not,
                 "its folder %.64s is not the one that is read: that was removed, or is under another root", dir);
        sensor_unobserved_tell();
        return; /* its children keep what it inherited: nobody reads its segment */
    }
    if (word.head)
        munmap(word.head, segment_word_bytes());
    word.head = own_map_word(own);
    word.folder = folder;
}
