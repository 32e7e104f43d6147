// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/no_memory.h"

#include "base/err.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

static long allocations_left = -1; /* before one fails; negative: none does */

static bool is_last(void)
{
    return allocations_left >= 0 && allocations_left-- == 0;
}

void no_memory_after(long left)
{
    allocations_left = left;
}

bool no_memory_end(void)
{
    bool failed = allocations_left < 0;
    allocations_left = -1;
    return failed;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
int __wrap_asprintf(char **text, const char *format, ...) BEZEL_PRINTF(2, 3);

void *__wrap_malloc(size_t n)
{
    return is_last() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return is_last() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return is_last() ? NULL : __real_realloc(p, n);
}

char *__wrap_strdup(const char *s)
{
    return is_last() ? NULL : __real_strdup(s);
}

int __wrap_asprintf(char **text, const char *format, ...)
{
    va_list args;
    if (is_last())
        return -1;
    va_start(args, format);
    int n = vasprintf(text, format, args);
    va_end(args);
    return n;
}
