// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/external/doorbell_wait.h"

#include "base/clock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DOORBELL_WAIT_AWAKE = 0, DOORBELL_WAIT_ASLEEP = 1 };

struct doorbell_wait {
    struct doorbell *doorbell;
    int fd;
    bool asleep; /* as the owner set it; the doorbell's word may differ by now */
    pthread_t thread;
    sem_t slept; /* posted each time the owner falls asleep */
    _Atomic bool ends;
};

static long futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    return syscall(SYS_futex, (void *)word, operation, value, NULL, NULL, 0);
}

static bool still_sleeps(const struct doorbell_wait *b)
{
    uint32_t asleep = atomic_load_explicit(&b->doorbell->asleep, memory_order_relaxed); /* relaxed: a hint */
    return asleep == DOORBELL_WAIT_ASLEEP;
}

/* The thread waits from each falling asleep to the wake that follows. */
static void *listen(void *context)
{
    struct doorbell_wait *b = context;
    for (;;) {
        while (sem_wait(&b->slept) != 0)
            ;
        while (still_sleeps(b) && !atomic_load_explicit(&b->ends, memory_order_relaxed)) /* relaxed: a flag */
            if (futex(&b->doorbell->asleep, FUTEX_WAIT, DOORBELL_WAIT_ASLEEP) != 0 && errno != EAGAIN && errno != EINTR)
                break;
        if (atomic_load_explicit(&b->ends, memory_order_relaxed)) /* relaxed: a flag */
            return NULL;
        (void)eventfd_write(b->fd, 1);
    }
}

/* The thread blocks all signals but those of its own faults, which sigbus_guard handles. */
static int start(struct doorbell_wait *b)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&b->thread, NULL, listen, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}

int doorbell_wait_open(struct doorbell *doorbell, struct doorbell_wait **out)
{
    struct doorbell_wait *b = calloc(1, sizeof *b);
    if (!b)
        return BEZEL_ENOMEM;
    b->doorbell = doorbell;
    b->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    atomic_store_explicit(&doorbell->asleep, DOORBELL_WAIT_AWAKE,
                          memory_order_relaxed); /* relaxed: a crashed predecessor's */
    if (b->fd < 0 || sem_init(&b->slept, 0, 0) != 0 || (errno = start(b)) != 0) {
        int err = err_from_errno(errno);
        if (b->fd >= 0)
            close(b->fd);
        free(b);
        return err;
    }
    *out = b;
    return 0;
}

void doorbell_wait_close(struct doorbell_wait *b)
{
    if (!b)
        return;
    doorbell_wait_wake(b);
    atomic_store_explicit(&b->ends, true, memory_order_relaxed); /* relaxed: a flag */
    sem_post(&b->slept);
    while (pthread_tryjoin_np(b->thread, NULL) != 0) { /* a hostile process may set `asleep` again and again */
        futex(&b->doorbell->asleep, FUTEX_WAKE, INT_MAX);
        clock_sleep_until(clock_now() + CLOCK_MS / 10);
    }
    sem_destroy(&b->slept);
    close(b->fd);
    free(b);
}

int doorbell_wait_fd(const struct doorbell_wait *b)
{
    return b->fd;
}

void doorbell_wait_sleep(struct doorbell_wait *b)
{
    b->asleep = true;
    atomic_exchange_explicit(&b->doorbell->asleep, DOORBELL_WAIT_ASLEEP,
                             memory_order_acq_rel); /* A0 acq_rel: pairs A0, a wake that came too early is seen */
    sem_post(&b->slept);
}

bool doorbell_wait_sleeps(const struct doorbell_wait *b)
{
    return b->asleep && still_sleeps(b);
}

void doorbell_wait_hush(struct doorbell_wait *b)
{
    eventfd_t none;
    (void)eventfd_read(b->fd, &none);
}

void doorbell_wait_wake(struct doorbell_wait *b)
{
    if (!b->asleep)
        return;
    b->asleep = false;
    uint32_t was = atomic_exchange_explicit(&b->doorbell->asleep, DOORBELL_WAIT_AWAKE,
                                            memory_order_acq_rel); /* A0 acq_rel: pairs A0 */
    if (was != DOORBELL_WAIT_AWAKE)
        futex(&b->doorbell->asleep, FUTEX_WAKE, INT_MAX);
}
