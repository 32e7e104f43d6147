// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/file.h"
#include "base/procstat.h"
#include "base/sigbus_guard.h"
#include "sensor/external/external_internal.h"
#include "sensor/external/program_knobs.h"
#include "sensor/shm/litter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The doorbell ------------------------------------------------------------------------------------------------ */

static int map_doorbell(struct external *x, int fd)
{
    void *at = mmap(NULL, sizeof *x->doorbell, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return err_from_errno(errno);
    x->doorbell = at;
    x->doorbell_guard = sigbus_guard_add(at, sizeof *x->doorbell);
    x->doorbell_id = x->doorbell->id;
    return 0;
}

static void unmap_doorbell(struct external *x)
{
    if (!x->doorbell)
        return;
    sigbus_guard_remove(x->doorbell_guard);
    munmap(x->doorbell, sizeof *x->doorbell);
    x->doorbell = NULL;
}

/* Takes over the doorbell of a crashed predecessor of this run, which its processes go on using. */
static bool take_over_doorbell(struct external *x)
{
    struct stat st;
    int fd = folder_open_file(&x->folder, DOORBELL_NAME, O_RDWR);
    bool ours = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() && st.st_size == sizeof(struct doorbell) &&
                map_doorbell(x, fd) == 0;
    if (fd >= 0)
        close(fd);
    if (ours && x->doorbell->magic == DOORBELL_MAGIC && x->doorbell->id != 0 &&
        memcmp(x->doorbell->session, x->options.run, sizeof x->doorbell->session) == 0)
        return true;
    unmap_doorbell(x);
    return false;
}

/* Makes the doorbell under a temporary name, then renames it. */
static int make_doorbell(struct external *x)
{
    struct doorbell first = {.magic = DOORBELL_MAGIC, .id = (uint64_t)clock_now() << 1 | 1};
    memcpy(first.session, x->options.run, sizeof first.session);
    if (take_over_doorbell(x)) {
        x->looked_at = x->since; /* its processes may have begun while nobody looked */
        return 0;
    }
    int err = file_replace_shared(x->folder.fd, DOORBELL_NAME, &first, sizeof first);
    if (err)
        return err;
    int fd = folder_open_file(&x->folder, DOORBELL_NAME, O_RDWR);
    if (fd < 0)
        return err_from_errno(errno);
    err = map_doorbell(x, fd);
    close(fd);
    return err;
}

/* ---- Opening and closing ----------------------------------------------------------------------------------------- */

/* Programs test this lock to see whether a daemon reads (litter.c), which F_GETLK does without taking it. */
static int lock_folder(struct external *x)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    x->lock = folder_open_file(&x->folder, LITTER_LOCK_NAME, O_RDWR | O_CREAT);
    if (x->lock < 0)
        return err_from_errno(errno);
    file_share(x->lock, x->folder.fd);
    if (fcntl(x->lock, F_OFD_SETLK, &lock) != 0)
        return errno == EAGAIN || errno == EACCES ? BEZEL_EBUSY : err_from_errno(errno);
    size_t n = x->options.reader ? strlen(x->options.reader) : 0;
    return n > 0 && (ftruncate(x->lock, 0) != 0 || pwrite(x->lock, x->options.reader, n, 0) != (ssize_t)n)
               ? err_from_errno(errno)
               : 0;
}

void external_reader(const char *dir, char reader[EXTERNAL_READER_MAX + 1])
{
    struct folder f;
    int fd = folder_open(dir, &f) == 0 ? folder_open_file(&f, LITTER_LOCK_NAME, O_RDONLY) : -1;
    ssize_t n = fd < 0 ? 0 : pread(fd, reader, EXTERNAL_READER_MAX, 0);
    reader[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
    folder_close(&f);
}

static void name_self(struct external *x)
{
    procstat_program("/proc/self/exe", x->self_executable, sizeof x->self_executable);
}

/* ns since the window was made; its birth counts ms, and wraps. */
static int64_t begun_ago(const struct external *x)
{
    return ((uint32_t)(x->run_started / CLOCK_MS) - window_birth(x->window)) * (int64_t)CLOCK_MS;
}

static void note_opening(struct external *x, uint64_t left)
{
    if (left)
        notes_record(x, NULL, (int64_t)x->run_started, "BEZEL-LEFT-BEHIND",
                     "the window holds %llu packets of another run that were never acknowledged: they are dropped",
                     (unsigned long long)left);
    if (procstat_namespace() == 0)
        notes_record(x, NULL, (int64_t)x->run_started, "BEZEL-NO-PROC",
                     "there is no /proc of our pid namespace: whether programs recorded besides that were started with "
                     "an emptied environment is unknown; mount -t proc proc /proc");
}

int external_open(const struct external_options *options, struct external **out)
{
    uint64_t left = 0;
    struct external *x = calloc(1, sizeof *x);
    if (!x)
        return BEZEL_ENOMEM;
    x->options = *options;
    x->lock = x->folder.fd = -1;
    x->index = (struct hash_index){x->index_places, EXTERNAL_INDEX - 1};
    x->passed = (struct hash_index){x->passed_places, EXTERNAL_INDEX - 1};
    liveness_open(&x->liveness);
    x->collecting = true;
    x->least_slots = UINT32_MAX;
    x->accumulate = (struct accumulate){.records = options->accumulate, .longest = options->accumulate_longest};
    x->run_started = (uint64_t)clock_now();
    x->looked_at = (int64_t)x->run_started;
    name_self(x);
    sigbus_guard_init();
    int err = folder_make(options->dir, &x->folder);
    if (!err)
        err = lock_folder(x);
    if (!err)
        err = window_open(&x->folder, options->run, options->uuid, options->window_bytes, &x->window, &left);
    if (!err)
        x->resumed = !window_trace(x->window, options->birth, x->options.uuid);
    if (x->resumed)
        x->since = (int64_t)x->run_started - begun_ago(x);
    if (!err)
        err = make_doorbell(x);
    if (!err && options->doorbell && doorbell_wait_open(x->doorbell, &x->doorbell_wait) != 0)
        x->doorbell_wait = NULL; /* no descriptor or thread for it: the external sensor never sleeps */
    if (!err)
        external_clock_open(x);
    if (err) {
        int saved = errno;
        external_close(x, false);
        errno = saved;
        return err;
    }
    note_opening(x, left);
    discover_processes(x, (int64_t)x->run_started);
    *out = x;
    return 0;
}

/*
 * Whether the segment of `p` can be removed. A living process keeps its segment until it ends. The daemon's own goes
 * with external_finish(), even if that was cut short: no successor needs it.
 */
static bool is_done(const struct external *x, const struct external_process *p)
{
    if (p->state == PROCESS_DETACHED && !x->run_goes_on)
        memset(p->at->segment->session, 0, sizeof p->at->segment->session);
    bool own = p->role == ROLE_DAEMON && p->at->pid == (uint32_t)getpid();
    if (own && x->finishing)
        return true;
    return p->phase == EXTERNAL_CLOSED && (p->state == PROCESS_ENDED || own || !segment_alive(p->at));
}

bool external_resumed(const struct external *x)
{
    return x->resumed;
}

int64_t external_since(const struct external *x)
{
    return x->since;
}

void external_keep_processes(struct external *x)
{
    x->run_goes_on = true;
}

void external_end_run(struct external *x)
{
    x->run_ends = true;
}

void external_go_on(struct external *x, bool goes_on)
{
    x->goes_on = goes_on;
}

/* Unobserved processes that are in the books of this trace are not to be in the next one's. */
static void take_unobserved(struct external *x)
{
    if (x->doorbell)
        unobserved_taken(&x->doorbell->unobserved, x->unobserved);
    for (uint32_t i = 0; i < x->process_count; i++)
        if (x->processes[i])
            unobserved_taken(&x->processes[i]->at->segment->unobserved, x->processes[i]->unobserved);
}

void external_close(struct external *x, bool clean)
{
    bool is_last = clean && !x->goes_on;
    if (clean && x->goes_on)
        take_unobserved(x);
    if (is_last)
        unlinkat(x->folder.fd, DOORBELL_NAME, 0);
    if (is_last && x->doorbell)
        (void)unobserved_stop(&x->doorbell->unobserved);
    for (uint32_t i = 0; i < x->process_count; i++) {
        struct external_process *p = x->processes[i];
        if (p && p->phase == EXTERNAL_LIVE) /* closed without a finish: the process must not stay steered */
            segment_reset_knobs(p->at);
        if (p)
            external_release(p, clean && is_done(x, p));
    }
    liveness_close(&x->liveness);
    notes_free(&x->notes);
    window_close(x->window, clean);
    external_clock_close(x, is_last);
    doorbell_wait_close(x->doorbell_wait);
    unmap_doorbell(x);
    if (is_last)
        unlinkat(x->folder.fd, LITTER_LOCK_NAME, 0);
    if (x->lock >= 0)
        close(x->lock);
    folder_close(&x->folder);
    free(x);
}
