// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/sigbus_guard.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* The one thread that maps writes it; the handler reads it, on whichever thread the signal arrives. */
static struct {
    _Atomic uintptr_t at; /* 0: free */
    _Atomic size_t bytes;
    _Atomic bool hit;
} guards[SIGBUS_GUARD_MAX];

static uintptr_t guard_page;
static int guard_count; /* entries ever used */
static int guard_freed[SIGBUS_GUARD_MAX], guard_freed_count;

static void sigbus_guard_handle(int signal, siginfo_t *info, void *context)
{
    (void)context;
    uintptr_t fault = (uintptr_t)info->si_addr;
    for (int i = 0; i < SIGBUS_GUARD_MAX; i++) {
        uintptr_t at = atomic_load_explicit(&guards[i].at, memory_order_acquire);    /* G1 acquire: pairs G0 */
        size_t bytes = atomic_load_explicit(&guards[i].bytes, memory_order_relaxed); /* relaxed: G1 ordered it */
        if (!at || fault < at || fault - at >= bytes)
            continue;
        atomic_store_explicit(&guards[i].hit, true, memory_order_relaxed); /* relaxed: this thread reads it, later */
        void *page = (void *)(fault & ~(guard_page - 1));                  /* NOLINT: an address is all we have */
        if (mmap(page, guard_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page)
            return;
    }
    struct sigaction usual = {.sa_handler = SIG_DFL};
    sigaction(signal, &usual, NULL); /* the faulting instruction runs again, and the default action follows */
}

void sigbus_guard_init(void)
{
    guard_page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = sigbus_guard_handle, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

int sigbus_guard_add(void *at, size_t bytes)
{
    if (guard_freed_count == 0 && guard_count == SIGBUS_GUARD_MAX)
        return -1;
    int i = guard_freed_count ? guard_freed[--guard_freed_count] : guard_count++;
    atomic_store_explicit(&guards[i].bytes, bytes, memory_order_relaxed); /* relaxed: G0 publishes it */
    atomic_store_explicit(&guards[i].hit, false, memory_order_relaxed);   /* relaxed: likewise */
    atomic_store_explicit(&guards[i].at, (uintptr_t)at,
                          memory_order_release); /* G0 release: pairs G1, publishes the mapping's size */
    return i;
}

void sigbus_guard_remove(int i)
{
    if (i < 0)
        return;
    atomic_store_explicit(&guards[i].at, 0, memory_order_release); /* G0 release: pairs G1, no mapping any more */
    guard_freed[guard_freed_count++] = i;
}

bool sigbus_guard_hit(int i)
{
    return i >= 0 && atomic_load_explicit(&guards[i].hit, memory_order_relaxed); /* relaxed: set on this thread */
}
