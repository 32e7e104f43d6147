// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Preloaded, counts what the first thread of a program allocates, by who asks: the program itself, or one of its
 * libraries. The counts are in the file $COUNT_CALLS: see tests/lib/count_calls.h.
 */
#include "tests/lib/count_calls.h"
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);

#define OPEN __attribute__((visibility("default")))

static struct count_calls *counts;
static pid_t counted;
static uintptr_t program_begin, program_end;

static int find_program(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) { /* the program comes first */
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + h->p_vaddr;
        if (h->p_type != PT_LOAD)
            continue;
        program_begin = program_end == 0 || begin < program_begin ? begin : program_begin;
        program_end = begin + h->p_memsz > program_end ? begin + h->p_memsz : program_end;
    }
    return 1;
}

__attribute__((constructor)) static void start(void)
{
    const char *path = getenv("COUNT_CALLS");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    dl_iterate_phdr(find_program, NULL);
    counted = getpid();
    void *at = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    counts = at == MAP_FAILED ? NULL : at;
}

static void count(const void *caller)
{
    if (!counts || (pid_t)syscall(SYS_gettid) != counted)
        return;
    if ((uintptr_t)caller >= program_begin && (uintptr_t)caller < program_end)
        counts->program++;
    else
        counts->libraries++;
}

OPEN void *malloc(size_t size);
OPEN void *malloc(size_t size)
{
    count(__builtin_return_address(0));
    return __libc_malloc(size);
}

OPEN void *calloc(size_t n, size_t size);
OPEN void *calloc(size_t n, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_calloc(n, size);
}

OPEN void *realloc(void *p, size_t size);
OPEN void *realloc(void *p, size_t size)
{
    count(__builtin_return_address(0));
    return __libc_realloc(p, size);
}
