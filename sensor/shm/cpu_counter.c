// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/counter.h"

#include "bezel/core.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/prctl.h>
#endif

#define COUNTER_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

bool counter_judge(const struct counter_facts *facts, const char **why_not)
{
    const char *why = NULL;
    if (!facts->exists)
        why = "this processor has no counter that Bezel reads";
    else if (!facts->invariant)
        why = "the processor does not promise that its counter ticks at one rate";
    else if (!facts->readable)
        why = "this process may not read the processor's counter";
    else if (!facts->source[0])
        why = "the kernel does not tell its clock source, so nothing vouches for the processor's counter";
    else if (strcmp(facts->source, facts->wanted) != 0)
        why = "the kernel keeps its own time by another clock source than the processor's counter";
    *why_not = why;
    return !why;
}

/* The first word of the file at `path` into `word`; "" where it cannot be read. */
static void read_word(const char *path, char *word, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, word, size - 1) : 0;
    if (fd >= 0)
        close(fd);
    word[n > 0 ? n : 0] = '\0';
    word[strcspn(word, " \n")] = '\0';
}

#if defined(__x86_64__)

static bool is_invariant(void)
{
    const unsigned leaf = 0x80000007, invariant = 1u << 8; /* of register d */
    unsigned a, b, c, d = 0;
    return __get_cpuid(leaf, &a, &b, &c, &d) && (d & invariant);
}

static bool is_readable(void)
{
    int mode = 0;
    return prctl(PR_GET_TSC, &mode, 0, 0, 0) == 0 && mode == PR_TSC_ENABLE;
}

static struct counter_facts find_facts(void)
{
    return (struct counter_facts){
        .exists = true, .invariant = is_invariant(), .readable = is_readable(), .wanted = "tsc"};
}

#elif defined(__aarch64__)

/* The architecture promises the rate; the kernel lets programs read what it keeps its own time by. */
static struct counter_facts find_facts(void)
{
    return (struct counter_facts){.exists = true, .invariant = true, .readable = true, .wanted = "arch_sys_counter"};
}

#else

static struct counter_facts find_facts(void)
{
    return (struct counter_facts){.wanted = ""};
}

#endif

uint64_t counter_read(void)
{
    return bezel_counter();
}

bool counter_trusted(const char **why_not)
{
    char source[64];
    struct counter_facts facts = find_facts();
    read_word(COUNTER_SOURCE, source, sizeof source);
    facts.source = source;
    return counter_judge(&facts, why_not);
}
