// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * For LD_PRELOAD: a `bezel run` that is killed (SIGKILL) when its journal says that it is in phase $BEZEL_TEST_DIES, a
 * number of enum state_phase, before it does anything of that phase; or has a line that begins with it, as "program 0";
 * or, with $BEZEL_TEST_DIES_BEFORE, when the journal is to say so: all that belongs to the phase before is done then.
 */
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether the journal at `path` has the phase that variable `name` says. */
static int says_so(int folder, const char *path, const char *name)
{
    char text[4096], wanted[64];
    const char *phase = getenv(name);
    if (!phase)
        return 0;
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    snprintf(wanted, sizeof wanted, "\n%s%s ", isdigit((unsigned char)phase[0]) ? "state " : "", phase);
    return strstr(text, wanted) != NULL;
}

__attribute__((visibility("default"))) int renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    const char *name = strrchr(to, '/');
    int is_journal = name && strcmp(name, "/journal") == 0;
    if (is_journal && says_so(from_folder, from, "BEZEL_TEST_DIES_BEFORE"))
        raise(SIGKILL);
    int result = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, 0);
    if (result == 0 && is_journal && says_so(to_folder, to, "BEZEL_TEST_DIES"))
        raise(SIGKILL);
    return result;
}
