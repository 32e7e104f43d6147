// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "bench/turns.h"

#include "bench/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 60 };

struct turns *turns_open(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *at = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, sizeof(struct turns)) == 0)
        at = mmap(NULL, sizeof(struct turns), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        bench_say("%s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return at == MAP_FAILED ? NULL : at;
}

struct turns *turns_read(const char *text, uint32_t *side)
{
    char path[PATH_MAX];
    const char *colon = strrchr(text, ':');
    int number = colon ? atoi(colon + 1) : 0;
    if (number < 1 || number >= TURNS_SIDES || colon - text >= (ptrdiff_t)sizeof path)
        return bench_say("%s is not FILE:SIDE", text), NULL;
    snprintf(path, sizeof path, "%.*s", (int)(colon - text), text);
    *side = (uint32_t)number;
    return turns_open(path);
}

void turns_give(struct turns *t, uint32_t whose)
{
    atomic_store(&t->whose, whose);
    syscall(SYS_futex, &t->whose, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool turns_wait(struct turns *t, uint32_t side)
{
    for (;;) {
        uint32_t whose = atomic_load(&t->whose);
        struct timespec patience = {.tv_sec = PATIENCE_S};
        if (whose == side || whose == TURNS_END)
            return whose == side;
        if (syscall(SYS_futex, &t->whose, FUTEX_WAIT, whose, &patience, NULL, 0) != 0 && errno == ETIMEDOUT &&
            atomic_load(&t->whose) == TURNS_NOBODY)
            return false;
    }
}
