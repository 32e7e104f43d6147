// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/node_remote.h"

#include "base/file.h"
#include "base/log.h"
#include "base/ulimit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_MAX = 1 << 20, WORDS_MAX = 32, SSH_FAILED = 255 };

extern const char node_script[]; /* ecs/cli/node.sh */

/* ---- A program --------------------------------------------------------------------------------------------------- */

enum { IN, OUT, ERR, PIPES };

struct child {
    pid_t pid;
    int fd[PIPES]; /* our ends; -1: closed */
    const char *input;
    char *said[PIPES];
    size_t n[PIPES];
};

static void close_pipe(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Starts `argv`, with pipes as its standard input, output and error. Returns 0 or an errno. */
static int start(struct child *c, char *const argv[])
{
    int its[PIPES], sys = 0;
    posix_spawn_file_actions_t actions;
    for (int i = 0; i < PIPES; i++)
        its[i] = c->fd[i] = -1;
    for (int i = 0; i < PIPES && !sys; i++) {
        int both[2];
        if (pipe2(both, O_CLOEXEC) != 0) {
            sys = errno;
            break;
        }
        its[i] = both[i == IN ? 0 : 1];
        c->fd[i] = both[i == IN ? 1 : 0];
        sys = fcntl(c->fd[i], F_SETFL, O_NONBLOCK) == 0 ? 0 : errno;
    }
    if (!sys)
        sys = posix_spawn_file_actions_init(&actions);
    if (!sys) {
        for (int i = 0; i < PIPES && !sys; i++)
            sys = posix_spawn_file_actions_adddup2(&actions, its[i], i);
        if (!sys)
            sys = posix_spawnp(&c->pid, argv[0], &actions, NULL, argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    for (int i = 0; i < PIPES; i++) {
        close_pipe(&its[i]);
        if (sys)
            close_pipe(&c->fd[i]);
    }
    return sys;
}

static void feed(struct child *c)
{
    ssize_t n = *c->input ? write(c->fd[IN], c->input, strlen(c->input)) : 0;
    if (n > 0)
        c->input += n;
    if (!*c->input || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_pipe(&c->fd[IN]);
}

/* What comes beyond ANSWER_MAX is not kept. */
static void take(struct child *c, int i)
{
    char bytes[4096];
    ssize_t n = read(c->fd[i], bytes, sizeof bytes);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_pipe(&c->fd[i]);
    if (n <= 0 || c->n[i] + (size_t)n > ANSWER_MAX)
        return;
    memcpy(c->said[i] + c->n[i], bytes, (size_t)n);
    c->n[i] += (size_t)n;
}

static void converse(struct child *c)
{
    while (c->fd[OUT] >= 0 || c->fd[ERR] >= 0) {
        struct pollfd p[PIPES];
        for (int i = 0; i < PIPES; i++)
            p[i] = (struct pollfd){.fd = c->fd[i], .events = i == IN ? POLLOUT : POLLIN};
        if (poll(p, PIPES, -1) < 0 && errno != EINTR)
            break;
        if (p[IN].revents)
            feed(c);
        for (int i = OUT; i < PIPES; i++)
            if (p[i].revents)
                take(c, i);
    }
    for (int i = 0; i < PIPES; i++)
        close_pipe(&c->fd[i]);
}

int node_remote_run(char *const argv[], const char *input, char **out, char **err)
{
    struct child c = {.input = input ? input : "",
                      .said = {NULL, calloc(1, ANSWER_MAX + 1), calloc(1, ANSWER_MAX + 1)}};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    int status = 0, sys = c.said[OUT] && c.said[ERR] ? 0 : ENOMEM;
    sigaction(SIGPIPE, &ignore, &before); /* it need not read all of its input */
    if (!sys)
        sys = start(&c, argv);
    if (!sys) {
        converse(&c);
        while (waitpid(c.pid, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    sigaction(SIGPIPE, &before, NULL);
    *out = c.said[OUT];
    *err = c.said[ERR];
    if (!sys)
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    errno = sys;
    return sys == ENOMEM ? BEZEL_ENOMEM : BEZEL_ESYS;
}

/* ---- ssh --------------------------------------------------------------------------------------------------------- */

void node_remote_reason(const char *text, char sentence[NODE_SENTENCE_MAX])
{
    static const struct {
        const char *said, *sentence;
    } reasons[] = {
        {"IDENTIFICATION HAS CHANGED",
         "it shows another host key than before: if it was set up anew, remove the old one "
         "with `ssh-keygen -R HOST`, and connect once with ssh"},
        {"Host key verification failed", "its host key is not known yet: connect once with ssh, and compare it"},
        {"Permission denied (",
         "it lets nobody in without a question: permit this user's key there (ssh-copy-id), or load "
         "the key into an agent (ssh-add)"},
        {"Too many authentication", "it refuses the many keys of the agent: name the right one in ~/.ssh/config"},
        {"Could not resolve", "there is no machine called so"},
        {"Connection refused", "it takes no ssh connections: is sshd there, at this port?"},
        {"timed out", "it does not answer: is it on, and in this network?"},
        {"No route to host", "it does not answer: is it on, and in this network?"},
        {"not responding", "it was not heard any more: what was begun there may be incomplete; try again"},
        {"Broken pipe", "the connection broke off: what was begun there may be incomplete; try again"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strstr(text, reasons[i].said)) {
            snprintf(sentence, NODE_SENTENCE_MAX, "%s", reasons[i].sentence);
            return;
        }
    size_t end = strlen(text);
    while (end > 0 && text[end - 1] == '\n')
        end--;
    size_t from = end;
    while (from > 0 && text[from - 1] != '\n')
        from--;
    snprintf(sentence, NODE_SENTENCE_MAX, "ssh does not get there: %.*s", (int)(end - from), text + from);
}

/* The words of ssh's command line for [USER@]HOST, and the command there; `copy` holds those of $BEZEL_SSH. */
static void ssh_words(const char *ssh, const char *command, char copy[PATH_MAX], char *words[WORDS_MAX])
{
    static const char *const options[] = {"-o", "BatchMode=yes",         "-o", "ConnectTimeout=10",
                                          "-o", "ServerAliveInterval=15"};
    const char *other = getenv("BEZEL_SSH");
    int n = 0;
    char *rest;
    snprintf(copy, PATH_MAX, "%s", other && *other ? other : "ssh");
    for (char *word = strtok_r(copy, " ", &rest); word && n < WORDS_MAX - 10; word = strtok_r(NULL, " ", &rest))
        words[n++] = word;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        words[n++] = (char *)options[i];
    words[n++] = (char *)ssh;
    words[n++] = (char *)command;
    words[n] = NULL;
}

/* What came of a call of ssh, as an error that is printed. */
static int judge(int code, const char *err, const struct node_traits *traits)
{
    char sentence[NODE_SENTENCE_MAX];
    const char *failed = traits ? node_trait(traits, "failed") : "";
    if (code == BEZEL_ENOMEM)
        log_error("BEZEL-NODE", "%s", ulimit_reason(BEZEL_ENOMEM));
    else if (code < 0)
        log_error("BEZEL-NODE", "ssh cannot be started: %s", strerror(errno));
    else if (*failed)
        log_error("BEZEL-NODE", "%s", failed);
    else if (code == SSH_FAILED) {
        node_remote_reason(err ? err : "", sentence);
        log_error("BEZEL-NODE", "%s", sentence);
    } else if (code > 0)
        log_error("BEZEL-NODE", "a command there failed with %d: %s", code, err && *err ? err : "it said nothing");
    else
        return 0;
    return code == BEZEL_ENOMEM ? BEZEL_ENOMEM : code == SSH_FAILED ? BEZEL_EUNREACH : BEZEL_ESYS;
}

/* ---- node.sh ----------------------------------------------------------------------------------------------------- */

void node_remote_set(struct node_request *q, const char *variable, const char *value)
{
    if (!q->out)
        q->out = open_memstream(&q->text, &q->n);
    if (!q->out)
        return;
    fprintf(q->out, "%s='", variable);
    for (; *value; value++)
        if (*value == '\'')
            fputs("'\\''", q->out);
        else
            fputc(*value, q->out);
    fputs("'\n", q->out);
}

void node_remote_forget(struct node_request *q)
{
    if (q->out)
        (void)fclose(q->out);
    free(q->text);
    *q = (struct node_request){0};
}

/* What the node says is foreign: no control character gets to the terminal. */
static void print_line(const char *line)
{
    for (; *line; line++)
        putchar((unsigned char)*line < ' ' || *line == 0x7f ? '?' : *line);
    putchar('\n');
}

static void take_answers(char *text, struct node_traits *traits)
{
    static const char begin[] = "bezel-node ", print[] = "print ";
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, begin, sizeof begin - 1) != 0)
            continue;
        line += sizeof begin - 1;
        if (strncmp(line, print, sizeof print - 1) == 0)
            print_line(line + sizeof print - 1);
        else if (strncmp(line, "note ", 5) == 0)
            log_warn("BEZEL-NODE", "%s", line + 5);
        else
            node_traits_add(traits, line);
    }
}

int node_remote_do(const char *ssh, const char *action, struct node_request *q, struct node_traits *traits)
{
    char copy[PATH_MAX], *words[WORDS_MAX], *input = NULL, *out = NULL, *err = NULL;
    if (q && q->out)
        (void)fflush(q->out);
    if (asprintf(&input, "%s%s\n%s </dev/null && say done yes\n", q && q->text ? q->text : "", node_script, action) < 0)
        return judge(BEZEL_ENOMEM, NULL, NULL);
    ssh_words(ssh, "sh", copy, words);
    int code = node_remote_run(words, input, &out, &err);
    if (out)
        take_answers(out, traits);
    if (code == 0 && strcmp(node_trait(traits, "done"), "yes") != 0)
        code = SSH_FAILED; /* a command in front of it, or a shell that is none */
    int result = judge(code, err, traits);
    node_traits_add(traits, "done no");
    free(input);
    free(out);
    free(err);
    return result;
}

int node_remote_copy(const char *ssh, const char *folder, const char *names, const char *to)
{
    static const char pipeline[] = "folder=$1 names=$2 && shift 2 && cd -- \"$folder\" && set -f && "
                                   "tar -c -f - -- $names | \"$@\"";
    char copy[PATH_MAX], command[PATH_MAX], *out = NULL, *err = NULL;
    char *words[WORDS_MAX + 6] = {(char *)"sh", (char *)"-c",   (char *)pipeline,
                                  (char *)"sh", (char *)folder, (char *)names};
    snprintf(command, sizeof command, "tar -x -o -f - -C %s", to);
    ssh_words(ssh, command, copy, words + 6);
    int code = node_remote_run(words, NULL, &out, &err);
    int result = judge(code, err, NULL);
    free(out);
    free(err);
    return result;
}

const char *node_remote_host(const char *ssh, char *host, size_t size)
{
    char copy[PATH_MAX], *words[WORDS_MAX], *out = NULL, *err = NULL;
    const char *at = strrchr(ssh, '@');
    snprintf(host, size, "%s", at ? at + 1 : ssh);
    ssh_words(ssh, "-G", copy, words);
    int n = 0;
    while (words[n + 1])
        n++;
    words[n] = words[n - 1]; /* -G HOST, at the end */
    words[n - 1] = (char *)"-G";
    char *line = node_remote_run(words, NULL, &out, &err) == 0 ? strstr(out, "\nhostname ") : NULL;
    if (line)
        snprintf(host, size, "%.*s", (int)strcspn(line + 10, "\n"), line + 10);
    free(out);
    free(err);
    return host;
}
