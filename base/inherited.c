// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "base/inherited.h"

#include "base/file.h"
#include "base/log.h"

#include <signal.h>
#include <sys/stat.h>

enum { OWNERS_RIGHTS = 0700 };

static struct {
    bool ignored[NSIG];
    sigset_t blocked;
    mode_t umask;
} given = {.umask = 022};

static bool stays_ignored(int signal)
{
    return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT || signal == SIGTSTP || signal == SIGTTIN ||
           signal == SIGTTOU;
}

void inherited_take(const char *name)
{
    sigset_t none;
    file_hold_standard();
    log_init(name);
    for (int s = 1; s < NSIG; s++) {
        struct sigaction action;
        given.ignored[s] = sigaction(s, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
        if (given.ignored[s] && !stays_ignored(s))
            signal(s, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, &given.blocked);
    given.umask = umask(0);
    umask(given.umask & ~(mode_t)OWNERS_RIGHTS);
}

bool inherited_ignored(int signal)
{
    return given.ignored[signal];
}

void inherited_give_signals(void)
{
    for (int s = 1; s < NSIG; s++)
        signal(s, given.ignored[s] ? SIG_IGN : SIG_DFL);
    sigprocmask(SIG_SETMASK, &given.blocked, NULL);
}

void inherited_give_umask(void)
{
    umask(given.umask);
}
