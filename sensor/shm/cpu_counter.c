// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/shm/cpu_counter.h"

#include "bezel/core.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/prctl.h>
#endif

#define CPU_COUNTER_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* The kernel's clock source is that of a hypervisor, which may know more of the counter than the kernel does. */
static bool is_hypervisors(const char *source)
{
    return strcmp(source, "kvm-clock") == 0 || strcmp(source, "hyperv_clocksource_tsc_page") == 0;
}

enum cpu_counter_trust cpu_counter_judge(const struct cpu_counter_traits *counter, const char **why_not)
{
    const char *why = NULL;
    if (!counter->exists)
        why = "this processor has no counter that Bezel reads";
    else if (!counter->invariant)
        why = "the processor does not guarantee that its counter ticks at one rate";
    else if (!counter->readable)
        why = "this process may not read the processor's counter";
    else if (!counter->source[0])
        why = "the kernel's clock source cannot be read, so the processor's counter is not trusted";
    else if (is_hypervisors(counter->source))
        why = "the kernel uses its hypervisor's clock source, and no bezeld has proven the processor's counter";
    else if (strcmp(counter->source, counter->wanted) != 0)
        why = "the kernel uses another clock source than the processor's counter";
    *why_not = why;
    return !why ? CPU_COUNTER_TRUSTED
           : counter->exists && counter->invariant && counter->readable && is_hypervisors(counter->source)
               ? CPU_COUNTER_PROVABLE
               : CPU_COUNTER_NOT_TRUSTED;
}

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n)
        if ((at == text || at[-1] == ' ' || at[-1] == '\t') && (at[n] == '\0' || at[n] == ' ' || at[n] == '\n'))
            return true;
    return false;
}

bool cpu_counter_is_reliable(const char *flags)
{
    return has_word(flags, "constant_tsc") && has_word(flags, "nonstop_tsc") && has_word(flags, "tsc_reliable");
}

/* Reads the first word of the file at `path` into `word`; "" if the file cannot be read. */
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

static struct cpu_counter_traits find_traits(void)
{
    return (struct cpu_counter_traits){
        .exists = true, .invariant = is_invariant(), .readable = is_readable(), .wanted = "tsc"};
}

#elif defined(__aarch64__)

/* The architecture guarantees the rate, and the kernel lets programs read the counter where it is its clock source. */
static struct cpu_counter_traits find_traits(void)
{
    return (struct cpu_counter_traits){
        .exists = true, .invariant = true, .readable = true, .wanted = "arch_sys_counter"};
}

#else

static struct cpu_counter_traits find_traits(void)
{
    return (struct cpu_counter_traits){.wanted = ""};
}

#endif

uint64_t cpu_counter_read(void)
{
    return bezel_counter();
}

enum cpu_counter_trust cpu_counter_trust(const char **why_not)
{
    char source[64];
    struct cpu_counter_traits counter = find_traits();
    read_word(CPU_COUNTER_SOURCE, source, sizeof source);
    counter.source = source;
    return cpu_counter_judge(&counter, why_not);
}
