// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/node_plan.h"

#include "base/err.h"
#include "base/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    UNPACKED = 5,         /* a package needs so many times its size, with what else apt fetches */
    CLOCK_OFF = 2,        /* s that the clock there may differ, beside the time that the question takes */
    SHM_LITTLE = 64 << 10 /* KiB: a window and some tens of rings */
};

/* ---- Traits ------------------------------------------------------------------------------------------------------ */

static struct node_trait *find(const struct node_traits *traits, const char *key, size_t n)
{
    for (unsigned i = 0; i < traits->count; i++)
        if (strlen(traits->list[i].key) == n && strncmp(traits->list[i].key, key, n) == 0)
            return (struct node_trait *)&traits->list[i];
    return NULL;
}

void node_traits_add(struct node_traits *traits, const char *line)
{
    size_t n = strcspn(line, " ");
    struct node_trait *trait = find(traits, line, n);
    if (n == 0 || n >= NODE_KEY_MAX || (!trait && traits->count == NODE_FACTS_MAX))
        return;
    if (!trait)
        trait = &traits->list[traits->count++];
    snprintf(trait->key, sizeof trait->key, "%.*s", (int)n, line);
    snprintf(trait->value, sizeof trait->value, "%.*s", NODE_VALUE_MAX - 1, line[n] ? line + n + 1 : "");
}

const char *node_trait(const struct node_traits *traits, const char *key)
{
    const struct node_trait *trait = find(traits, key, strlen(key));
    return trait ? trait->value : "";
}

static bool is(const struct node_traits *traits, const char *key, const char *value)
{
    return strcmp(node_trait(traits, key), value) == 0;
}

static uint64_t number(const struct node_traits *traits, const char *key)
{
    return strtoull(node_trait(traits, key), NULL, 10);
}

int node_version_compare(const char *a, const char *b)
{
    for (;;) {
        char *x, *y;
        unsigned long m = strtoul(a, &x, 10), n = strtoul(b, &y, 10);
        if (m != n)
            return m < n ? -1 : 1;
        if (*x != '.' && *y != '.')
            return 0;
        a = *x == '.' ? x + 1 : "0";
        b = *y == '.' ? y + 1 : "0";
    }
}

/* ---- The plan ---------------------------------------------------------------------------------------------------- */

BEZEL_PRINTF(2, 3) static void refuse(struct node_plan *plan, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (!plan->refused[0])
        vsnprintf(plan->refused, sizeof plan->refused, format, args);
    va_end(args);
}

BEZEL_PRINTF(2, 3) static void note(struct node_plan *plan, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (plan->notes < NODE_NOTES_MAX)
        vsnprintf(plan->note[plan->notes++], NODE_SENTENCE_MAX, format, args);
    va_end(args);
}

static bool has_root(const struct node_traits *traits)
{
    return is(traits, "root", "self") || is(traits, "root", "sudo");
}

/* Where sudo asks for a password, that may be permitted, so the operator chooses the home folder. */
static void plan_home(const struct node_traits *traits, const struct node_offer *offer, struct node_plan *plan)
{
    const char *user = node_trait(traits, "user");
    plan->home = !is(traits, "root", "password") || offer->home || is(traits, "own", "yes");
    if (!plan->home)
        refuse(plan,
               "installing needs root there, and sudo asks %s for a password, which is not waited for: permit it for "
               "this time (a line '%s ALL=(ALL) NOPASSWD: ALL' in /etc/sudoers.d), install the packages there by "
               "hand, or have it installed in %s's home with --home",
               user, user, user);
    note(plan,
         "without root Bezel is installed in %s/.local, for %s alone: a program that links libbezel finds it there if "
         "an experiment starts it, else with LD_LIBRARY_PATH (docs/INSTALL.md)",
         node_trait(traits, "home"), user);
}

/* Packages that are copied must be for that machine, and have room there. */
static void check_copy(const struct node_traits *traits, const struct node_offer *offer, struct node_plan *plan)
{
    uint64_t needed = offer->bytes / 1024 * UNPACKED;
    uint64_t room = number(traits, plan->home ? "space-home" : "space-usr");
    const char *candidate = node_trait(traits, "candidate");
    if (!offer->folder)
        refuse(plan,
               "apt there has no bezel %s%s%s, and this machine has no packages to copy: make them with "
               "packaging/packages, and name their folder with --packages",
               offer->version, *candidate ? ", but " : "", candidate);
    else if (!is(traits, "architecture", offer->architecture))
        refuse(plan, "the packages in %s are for %s, and that machine is %s: make packages there, or for it",
               offer->folder, offer->architecture, node_trait(traits, "architecture"));
    else if (!is(traits, "release", offer->release))
        refuse(plan,
               "the packages in %s were made for %s, and that machine has %s: make them on a machine with %s, and name "
               "their folder with --packages",
               offer->folder, offer->release, node_trait(traits, "release"), node_trait(traits, "release"));
    else if (number(traits, "space-tmp") < offer->bytes / 1024 || room < needed)
        refuse(plan,
               "there is too little space: the packages take %s in its folder for temporary files and about %s in "
               "%s; it has %s and %s",
               units_bytes(offer->bytes).s, units_bytes(needed * 1024).s,
               plan->home ? node_trait(traits, "home") : "/usr", units_bytes(number(traits, "space-tmp") * 1024).s,
               units_bytes(room * 1024).s);
}

/* What is installed there stays, if it is what is wanted. */
static void plan_install(const struct node_traits *traits, const struct node_offer *offer, struct node_plan *plan)
{
    const char *version = node_trait(traits, "version"), *path = node_trait(traits, "bezel");
    bool whole = !is(traits, "package", "broken");
    int order = *version ? node_version_compare(version, offer->version) : -1;
    plan->install = NODE_HAS_IT;
    if (order == 0 && whole)
        return;
    if (order > 0)
        refuse(plan, "it has bezel %s, which is newer than this machine's %s: upgrade this machine first", version,
               offer->version);
    else if (*version && strcmp(path, "/usr/bin/bezel") != 0 && !is(traits, "own", "yes"))
        refuse(plan,
               "%s there is version %s, and no package's: install version %s in its place, or remove it, then try "
               "again",
               path, version, offer->version);
    else if (!is(traits, "apt", "yes"))
        refuse(plan,
               "that machine has %s, which has no apt: install Bezel %s there by hand (docs/INSTALL.md), then "
               "try again",
               node_trait(traits, "release"), offer->version);
    else if (!has_root(traits))
        plan_home(traits, offer, plan);
    if (plan->refused[0])
        return;
    const char *candidate = node_trait(traits, "candidate");
    if (*candidate && node_version_compare(candidate, offer->version) == 0) {
        plan->install = NODE_BY_APT;
        return;
    }
    plan->install = NODE_BY_COPY;
    check_copy(traits, offer, plan);
}

/* How the daemons are started, and what then does not work. */
static void plan_service(const struct node_traits *traits, struct node_plan *plan)
{
    const char *user = node_trait(traits, "user");
    bool units = is(traits, "units", "yes") || (plan->install != NODE_HAS_IT && !plan->home);
    plan->service = is(traits, "systemd", "yes") && has_root(traits) && units;
    plan->launcher = !is(traits, "uid", "0");
    if (!plan->launcher)
        note(plan, "its user is root, as whom bezel-launcher starts no programs: experiments attach to programs there; "
                   "to have them started, add the node as another user");
    if (plan->service)
        return;
    if (!is(traits, "systemd", "yes"))
        note(plan,
             "systemd does not run there: the daemons are started now, and start anew if they fail, but not after "
             "the machine was started again: then `bezel node add` it again");
    else if (!has_root(traits))
        note(plan,
             "without root the daemons are no services: they are started now, and start anew if they fail, but not "
             "after the machine was started again; real-time priorities and locked memory are what %s may have",
             user);
    else
        note(plan,
             "its Bezel has no services of the system (it is no package's): the daemons are started now, and start "
             "anew if they fail, but not after the machine was started again");
    if (is(traits, "systemd", "yes") && is(traits, "linger", "no") && !has_root(traits))
        note(plan,
             "systemd ends what %s has started, and removes its shared memory, when %s logs out for the last time: an "
             "administrator permits more with: loginctl enable-linger %s",
             user, user, user);
}

static void note_machine(const struct node_traits *traits, const struct node_offer *offer, struct node_plan *plan)
{
    int64_t off = strtoll(node_trait(traits, "time"), NULL, 10) - offer->now;
    if (*node_trait(traits, "time") && (off > CLOCK_OFF || off < -CLOCK_OFF))
        note(plan,
             "its wall clock is %lld s %s: records have the right times all the same, since clocks are compared during "
             "a run; files and logs there do not",
             (long long)(off < 0 ? -off : off), off < 0 ? "behind" : "ahead");
    if (*node_trait(traits, "shm") && number(traits, "shm") < SHM_LITTLE)
        note(plan, "its shared memory has %s left, which is little for the rings of many threads",
             units_bytes(number(traits, "shm") * 1024).s);
}

void node_plan_make(const struct node_traits *traits, const struct node_offer *offer, struct node_plan *plan)
{
    *plan = (struct node_plan){.install = NODE_HAS_IT};
    if (strpbrk(node_trait(traits, "home"), " \t\"'\\$%") || *node_trait(traits, "home") != '/')
        refuse(plan, "the home folder of %s there is '%s', and services take no such path", node_trait(traits, "user"),
               node_trait(traits, "home"));
    plan_install(traits, offer, plan);
    plan_service(traits, plan);
    note_machine(traits, offer, plan);
}
