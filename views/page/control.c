// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/control.h"

#include "base/plain.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 8 };

extern char **environ;

static bool is_verb(const char *word)
{
    static const char *const verbs[] = {"knob", "poll", "aspects", "pause", "resume", "snapshot"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(word, verbs[i]) == 0)
            return true;
    return false;
}

static const char *refusal(const struct control *c, const char *const *words, size_t count)
{
    if (c->pid)
        return "another command is being carried out";
    if (count == 0 || count > WORDS || !is_verb(words[0]))
        return "only knob, poll, aspects, pause, resume and snapshot are carried out";
    for (size_t i = 0; i < count; i++)
        if (words[i][0] == '-')
            return "a word begins with '-'";
    return NULL;
}

static int spawn(struct control *c, const char *const *words, size_t count)
{
    const char *arguments[WORDS + 4] = {c->program, words[0], c->run};
    posix_spawn_file_actions_t files;
    for (size_t i = 1; i < count; i++)
        arguments[i + 2] = words[i];
    c->output = memfd_create("bezel-view-control", MFD_CLOEXEC);
    if (c->output < 0)
        return errno;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, c->output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, c->output, STDERR_FILENO);
    int err = posix_spawn(&c->pid, c->program, &files, NULL, (char **)(uintptr_t)arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    if (err) {
        close(c->output);
        c->pid = 0;
    }
    return err;
}

void control_start(struct control *c, uint32_t page, const char *const *words, size_t count)
{
    const char *why = refusal(c, words, count);
    int err = why ? 0 : spawn(c, words, count);
    if (err)
        why = strerror(err);
    if (why && !c->pid) {
        c->page = page;
        snprintf(c->text, sizeof c->text, "control refused: %s", why);
    } else if (!why) {
        c->page = page;
    }
}

static void read_output(struct control *c, int status)
{
    int used = snprintf(c->text, sizeof c->text,
                        "control %s: ", WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "done" : "failed");
    ssize_t n = pread(c->output, c->text + used, sizeof c->text - (size_t)used - 1, 0);
    c->text[used + (n > 0 ? (int)n : 0)] = '\0';
    plain_text(c->text);
    close(c->output);
}

bool control_step(struct control *c, uint32_t *page, char *text, size_t size)
{
    int status;
    if (c->pid && waitpid(c->pid, &status, WNOHANG) == c->pid) {
        c->pid = 0;
        read_output(c, status);
    }
    if (!c->text[0])
        return false;
    *page = c->page;
    snprintf(text, size, "%s", c->text);
    c->text[0] = '\0';
    return true;
}

void control_stop(struct control *c)
{
    if (!c->pid)
        return;
    kill(c->pid, SIGTERM);
    while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(c->output);
    c->pid = 0;
}
