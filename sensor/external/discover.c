// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Finding processes: searches the folder for segments, decides which are ours, takes them in. */
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "sensor/external/external_internal.h"
#include "sensor/external/reduce.h"
#include "sensor/shm/litter.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    FIND_AGAIN_NS = 1000000000,  /* the folder is checked this often even without an arrival */
    FIND_ALL = 10,               /* ... and searched every so many checks, even if it did not change */
    FIND_STILL_S = 2,            /* a change this long ago shows in the modification time, however coarse */
    FIND_A_SEGMENT_NS = 4000,    /* after arrivals, time between searches for each segment: a small share of the CPU */
    FIND_FEW = 64,               /* so few segments are searched without waiting */
    FIND_LEFT_OUT_NS = 20000000, /* ... and where the last search found no room for all */
};

static void clear_passed(struct external *x)
{
    memset(x->passed_places, 0, sizeof x->passed_places);
    x->passed_count = 0;
}

static const char *pattern_name(const struct external *x, const struct attached *a)
{
    const char *file = file_name(a->executable);
    for (uint32_t i = 0; i < x->options.pattern_count; i++) {
        const char *glob = x->options.patterns[i].glob;
        if (fnmatch(glob, strchr(glob, '/') ? a->executable : file, 0) == 0)
            return x->options.patterns[i].name;
    }
    return NULL;
}

/* Whether the segment is a bezeld's, this one's or its crashed predecessor's. */
static bool is_daemon(const struct external *x, const struct attached *a)
{
    return strcmp(a->name, "bezeld") == 0 && strcmp(a->executable, x->self_executable) == 0;
}

/* The segment is passed over for FIND_ALL checks; entries are dropped earlier to make room. */
static void pass_over(struct external *x, uint64_t instance)
{
    if (x->passed_count == EXTERNAL_INDEX / 2)
        clear_passed(x);
    hash_index_put(&x->passed, instance, HASH_INDEX_NO_RING, 0);
    x->passed_count++;
}

/*
 * Whether a predecessor in this run has read the segment to its end and released the process. It records nothing since
 * then. (A predecessor that was killed leaves its window, and in it how far it has come.)
 */
static bool was_released(const struct external *x, const struct attached *a)
{
    uint32_t mode = atomic_load_explicit(&a->segment->mode, memory_order_relaxed); /* relaxed: ours to write */
    return mode == SEGMENT_DISABLED && !window_left(x->window, a->instance);
}

/*
 * Whether the segment is ours to read, with its name in *name. Removes the segment of an ended process that was another
 * run's, or has been read to its end.
 */
static bool choose(struct external *x, struct attached *a, const char **name)
{
    bool ours = memcmp(a->session, x->options.run, 16) == 0, released = ours && was_released(x, a);
    const char *matched = pattern_name(x, a);
    *name = matched ? matched : a->name;
    if (ours && !released)
        return true;
    if (!segment_alive(a)) {
        segment_detach(a, true);
        return false;
    }
    if (released || matched || x->options.take_all || is_daemon(x, a)) {
        segment_begin_session(a, x->options.run);
        a->begun = true;
        return true;
    }
    pass_over(x, a->instance);
    segment_detach(a, false);
    return false;
}

static uint32_t mark_of(const char *text)
{
    return (uint32_t)hash_fnv64(HASH_FNV64_START, text, strlen(text));
}

/* Children of a program count as that program; a metric or limit by name covers all processes of the name. */
static void note_same_name(struct external *x, uint32_t place, int64_t now)
{
    const struct external_process *p = x->processes[place];
    struct external_mark mark = x->marks[place];
    for (uint32_t i = 0; i < x->process_count; i++) {
        const struct external_process *other = x->processes[i];
        if (x->marks[i].name != mark.name || x->marks[i].program == mark.program || !other ||
            strcmp(other->name, p->name) != 0)
            continue;
        notes_record(
            x, p, now, "BEZEL-SAME-NAME",
            "two programs have this name, %s and %s: metrics and limits by name combine both; give each a name "
            "of its own",
            p->at->executable, other->at->executable); /* no pid: the report tells each pair once */
        return;
    }
}

/* Puts `p` into place `i`. */
static void settle(struct external *x, uint32_t i, struct external_process *p)
{
    x->processes[i] = p;
    bitset_add(&x->present, i);
    if (p->phase == EXTERNAL_LIVE)
        bitset_add(&x->polled, i);
    hash_index_put(&x->index, p->at->instance, HASH_INDEX_NO_RING, i);
    x->marks[i] = (struct external_mark){mark_of(p->name), mark_of(p->at->executable)};
    if (i >= x->process_count)
        x->process_count = i + 1;
    liveness_watch(&x->liveness, i, p->at);
}

/*
 * What a process says of times may be of another clock: it may be in another time namespace. A process that has the
 * doorbell made its segment after the look that did not find it; what another one records is of this run.
 */
static void bound_times(const struct external *x, struct external_process *p, int64_t now)
{
    struct attached *a = p->at;
    bool is_new = a->doorbell_id == x->doorbell_id;
    p->earliest = (uint64_t)(a->begun ? now : is_new ? x->looked_at : x->since);
    if (a->started > (uint64_t)now)
        a->started = (uint64_t)now;
    if (is_new && a->started < p->earliest)
        a->started = p->earliest;
    uint64_t seen = atomic_load_explicit(&a->segment->seen, memory_order_relaxed); /* relaxed: a number */
    p->seen = seen < (uint64_t)now ? (int64_t)seen : now;
}

static int adopt(struct external *x, struct attached *a, const char *name, int64_t now)
{
    uint32_t stream_id;
    struct external_process *p = calloc(1, sizeof *p);
    int place = bitset_free(&x->present);
    if (!p || place < 0 || window_stream_id(x->window, a->instance, &stream_id) != 0) {
        free(p);
        return p ? BEZEL_EFULL : BEZEL_ENOMEM;
    }
    const struct external_observer *o = &x->options.observer;
    snprintf(p->name, sizeof p->name, "%s", name);
    p->at = a;
    bound_times(x, p, now);
    if (!external_clock_adopt(x, p)) {
        free(p);
        return BEZEL_ENOMEM;
    }
    p->stream_id = stream_id;
    p->role = is_daemon(x, a) ? ROLE_DAEMON : ROLE_SUT;
    p->own = p->role == ROLE_DAEMON && segment_pid_is_ours(a) && a->pid == (uint32_t)getpid();
    enum window_left left = window_left(x->window, a->instance);
    if (left != WINDOW_NOT_LEFT) { /* a predecessor had begun to close its streams */
        p->phase = EXTERNAL_CLOSING;
        p->left_alive = left == WINDOW_LEFT_ALIVE;
        p->state = p->left_alive || segment_alive(a) ? PROCESS_DETACHED : PROCESS_ENDED;
        x->resumed = x->resumed && (p->state == PROCESS_ENDED || p->role == ROLE_DAEMON);
        p->closing_since = now;
    }
    p->slot = o->process_begin && p->phase == EXTERNAL_LIVE
                  ? o->process_begin(o->context, p->name, p->role, p->at->started)
                  : -1;
    for (uint32_t i = 0; i < RING_ASPECTS; i++)
        p->watch[i] = -1;
    p->watched = 1;
    p->active_at = now;
    settle(x, (uint32_t)place, p);
    external_note_slots(x, p);
    x->counts.processes_seen += p->role == ROLE_SUT;
    x->counts.clocks[p->user_clock ? SEGMENT_CLOCK_USER
                     : p->timebase ? SEGMENT_CLOCK_COUNTER
                                   : 0] += p->role == ROLE_SUT;
    atomic_store_explicit(&a->segment->wake_bit, 0, memory_order_relaxed); /* relaxed: set by a predecessor, if any */
    unobserved_begin(&a->segment->unobserved);
    if (reduce_adopt(x, p) != 0)
        notes_record(x, p, now, "BEZEL-REDUCE",
                     "out of memory: records that were lost with the bezeld before this one are missing in the books");
    external_refresh(x, p);
    aspect_rules_apply(x, p);
    note_same_name(x, (uint32_t)place, now);
    return 0;
}

static bool known_file(const struct external *x, const char *file)
{
    uint64_t instance = strtoull(file, NULL, 16);
    return hash_index_find(&x->index, instance, HASH_INDEX_NO_RING) >= 0 ||
           hash_index_find(&x->passed, instance, HASH_INDEX_NO_RING) >= 0;
}

static bool lacks_room(int sys)
{
    return sys == EMFILE || sys == ENFILE || sys == ENOMEM;
}

/* Whether the error may pass: no place, memory or descriptor. */
static bool lacks_a_place(int err)
{
    return err == BEZEL_EFULL || err == BEZEL_ENOMEM || (err == BEZEL_ESYS && lacks_room(errno));
}

/* `err`, with its errno `sys`, is of the first one: those behind it are not tried. */
static void leave_out(struct external *x, int err, int sys)
{
    errno = sys;
    if (x->left_out++ == 0)
        snprintf(x->counts.unread_why, sizeof x->counts.unread_why, "%s",
                 err == BEZEL_EFULL ? "too many ran at once" : ulimit_reason(err));
}

static void look_at(struct external *x, const char *file, int64_t now)
{
    struct attached *a;
    const char *name;
    if (x->left_out) { /* like the one before */
        x->left_out++;
        return;
    }
    int err = segment_attach(&x->folder, file, &a);
    if (err == 0 && !choose(x, a, &name))
        return;
    if (err == 0 && (err = adopt(x, a, name, now)) != 0)
        segment_detach(a, false);
    if (lacks_a_place(err))
        leave_out(x, err, errno);
    if (err == 0 || err == BEZEL_ENOENT || x->left_out)
        return;
    bool is_new = notes_record(x, NULL, now, "BEZEL-SEGMENT", "%s/%s is not read: %s", x->options.dir, file,
                               err == BEZEL_EBUSY ? "another bezeld reads it" : ulimit_reason(err));
    x->counts.broken_segments += is_new && (err == BEZEL_EMALFORMED || err == BEZEL_EVERSION);
}

/*
 * Whether the folder's last change, returned in *when, is so old that a further change will show. (The time is the file
 * system's: where it is far ahead of ours, every check is a full search.)
 */
static bool folder_is_still(int fd, struct timespec *when)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return false;
    *when = st.st_mtim;
    return time(NULL) - st.st_mtim.tv_sec > FIND_STILL_S;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* Examines entry `file`. Returns whether that is final. */
static bool look_at_entry(struct external *x, const char *file, int64_t now)
{
    if (file[0] == '.') {
        bool unfinished = ends_with(file, SEGMENT_UNFINISHED);
        if (unfinished)
            litter_remove_unfinished(&x->folder, file);
        return !unfinished;
    }
    if (!ends_with(file, SEGMENT_SUFFIX))
        return true;
    x->segments_seen++;
    if (known_file(x, file))
        return true;
    look_at(x, file, now);
    return known_file(x, file);
}

/* Opens the folder's entries, also where the folder was removed and made again. NULL with errno. */
static DIR *open_entries(struct external *x)
{
    struct stat st;
    struct folder again;
    if (fstat(x->folder.fd, &st) == 0 && st.st_nlink == 0 && folder_open(x->options.dir, &again) == 0) {
        folder_close(&x->folder);
        x->folder = again;
    }
    int fd = folder_open_entries(&x->folder);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !dir)
        close(fd);
    return dir;
}

void discover_processes(struct external *x, int64_t now)
{
    bool was_crowded = x->left_out != 0;
    DIR *dir = open_entries(x);
    int unread = dir || errno == ENOENT ? 0 : errno;
    (void)futimens(x->lock, NULL); /* litter.c reads it as the time of the last reader */
    x->left_out = 0;
    if (unread)
        leave_out(x, BEZEL_ESYS, unread);
    x->folder_known = dir && folder_is_still(dirfd(dir), &x->folder_changed);
    x->segments_seen = 0;
    if (x->looks++ % FIND_ALL == 0)
        clear_passed(x);
    int err = 0;
    for (struct dirent *e; dir && (e = file_next(dir, &err)) != NULL;)
        if (!look_at_entry(x, e->d_name, now))
            x->folder_known = false;
    if (err) { /* other processes may be there, unseen */
        unread = errno;
        leave_out(x, BEZEL_ESYS, unread);
        x->folder_known = false;
    }
    if (dir)
        closedir(dir);
    x->folder_error = lacks_room(unread) ? 0 : unread;
    if (!x->left_out)
        x->looked_at = now;
    x->scan_due = now + (x->left_out ? FIND_LEFT_OUT_NS : FIND_AGAIN_NS);
    x->arrivals_due = x->segments_seen > FIND_FEW ? now + (int64_t)x->segments_seen * FIND_A_SEGMENT_NS : INT64_MIN;
    if (x->folder_error && !was_crowded)
        log_warn("BEZEL-FOLDER-UNREAD",
                 "cannot read all of folder %s: %s: processes that are not found yet wait in their rings; bezeld "
                 "tries again",
                 x->options.dir, strerror(x->folder_error));
    else if (x->left_out && !was_crowded)
        log_warn("BEZEL-CROWDED",
                 "no room for %u more process%s: they record into their rings, and are read when others have ended: %s",
                 x->left_out, x->left_out == 1 ? "" : "es", x->counts.unread_why);
}

void discover_again(struct external *x, int64_t now)
{
    struct stat st;
    bool same = x->folder_known && x->looks % FIND_ALL != 0 && fstat(x->folder.fd, &st) == 0 && st.st_nlink > 0 &&
                st.st_mtim.tv_sec == x->folder_changed.tv_sec && st.st_mtim.tv_nsec == x->folder_changed.tv_nsec;
    if (!same) {
        discover_processes(x, now);
        return;
    }
    x->looks++;
    (void)futimens(x->lock, NULL); /* as above */
    x->scan_due = now + FIND_AGAIN_NS;
}

void discover_arrivals(struct external *x, int64_t now)
{
    uint32_t arrivals = atomic_load_explicit(&x->doorbell->arrivals, memory_order_acquire); /* B1 acquire: pairs B0 */
    if (arrivals == x->arrivals || now < x->arrivals_due)
        return;
    x->arrivals = arrivals;
    discover_processes(x, now);
}
