// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/text_maker.h"

#include "base/clock.h"
#include "base/exit_code.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES_MOST = 32 << 20 }; /* a report keeps to two MB */

extern char **environ;

int text_maker_start(struct text_maker *m, const char *const *arguments)
{
    posix_spawn_file_actions_t files;
    m->output = memfd_create("bezel-text", MFD_CLOEXEC);
    if (m->output < 0)
        return err_from_errno(errno);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, m->output, STDOUT_FILENO);
    if (m->made)
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    int sys = posix_spawn(&m->pid, m->program, &files, NULL, (char **)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    if (sys == 0)
        return 0;
    close(m->output);
    m->pid = 0;
    errno = sys;
    return err_from_errno(sys);
}

static char *read_output(int fd, size_t *n)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_size == 0 || st.st_size > BYTES_MOST)
        return NULL;
    char *text = malloc((size_t)st.st_size);
    if (!text || pread(fd, text, (size_t)st.st_size, 0) != st.st_size) {
        free(text);
        return NULL;
    }
    *n = (size_t)st.st_size;
    return text;
}

static int64_t ns_of(const struct timeval *t)
{
    return t->tv_sec * CLOCK_S + t->tv_usec * CLOCK_US;
}

bool text_maker_step(struct text_maker *m, char **text, size_t *n)
{
    struct rusage use;
    int status;
    if (!m->pid || wait4(m->pid, &status, WNOHANG, &use) != m->pid)
        return false;
    m->pid = 0;
    m->made = true;
    m->cpu_ns += ns_of(&use.ru_utime) + ns_of(&use.ru_stime);
    bool good = WIFEXITED(status) && (WEXITSTATUS(status) == EXIT_OK || WEXITSTATUS(status) == m->accepted);
    *text = good ? read_output(m->output, n) : NULL;
    close(m->output);
    return true;
}

void text_maker_stop(struct text_maker *m)
{
    if (!m->pid)
        return;
    kill(m->pid, SIGKILL);
    while (waitpid(m->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(m->output);
    m->pid = 0;
}
