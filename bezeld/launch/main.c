// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bezel-launcher: the service that starts programs on a machine of a persistent bezeld. It only forks: each session of
 * the bezeld gets a launcher process of its own, with a folder, a lock and a socket. So a new bezeld finds what runs,
 * and neither it nor the service takes the programs with it when it ends by accident.
 */
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/inherited.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/options.h"
#include "base/supervisor.h"
#include "base/units.h"
#include "bezeld/launch/launcher.h"
#include "bezeld/launch/unix_socket.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LAUNCHERS_MAX = 64,
    NAME_WAIT_MS = 1000,     /* for what a connection asks */
    FORGET_S = 24 * 60 * 60, /* age of what a killed launcher left, until it is removed */
};

#define GRACE       (2 * CLOCK_S)
#define OUTPUT_KEPT (UINT64_C(64) * UNITS_MIB)

static const char about[] =
    "Starts the programs of experiments on this machine, for the bezeld that has `--launcher DIR`. It runs beside that "
    "bezeld, as the same user, and outlives it: programs go on when the bezeld is restarted.\n";
static const char footer[] = "Programs end when their run ends, when nobody has asked about them for as long as the "
                             "file says (`silence`), and when bezel-launcher gets SIGTERM.\n"
                             "Exit codes: 0 ended on request, 1 failed, 2 wrong arguments.\n";

struct arguments {
    const char *dir;
    uint64_t output;
    bool allow_root;
    int ready;
};

struct service {
    const struct arguments *a;
    struct folder folder;
    struct launch_environment environment;
    int listening, signals, lock;
    pid_t sessions[LAUNCHERS_MAX];
    size_t count;
    bool ending;
};

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

static int read_arguments(int argc, char **argv, struct arguments *a)
{
    struct options o = {.program = "bezel-launcher", .usage = "--dir DIR [OPTIONS]", .about = about, .footer = footer};
    const struct options_entry entries[] = {
        {"dir", 0, "DIR",
         "folder of its sockets and of the output of programs; made if it is missing, and must be this user's alone "
         "(mode 0700). It must survive a restart of the bezeld: a folder in /run that systemd removes with the bezeld "
         "does not",
         .value = &a->dir},
        {"output", 0, "SIZE",
         "how much of the output of each program is kept until `bezel run` has fetched it: the last SIZE bytes, 1 MiB "
         "or more (default: 64 MiB). What is removed before, and what did not fit on the disk, is counted in the "
         "report",
         .size = &a->output, .least = UNITS_MIB, .most = INT64_MAX},
        {"allow-root", 0, NULL, "starts programs as root where it runs as root; otherwise it refuses to",
         .flag = &a->allow_root},
        LIFETIME_READY("`ready`", &a->ready),
        {0},
    };
    *a = (struct arguments){.ready = -1, .output = OUTPUT_KEPT};
    int code = options_read(&o, entries, argc, argv);
    return code != OPTIONS_GO_ON || a->dir ? code : options_misuse("--dir is missing");
}

/* ---- A session: a process of its own ----------------------------------------------------------------------------- */

/* "0123abcd-NODE", of characters that names of nodes have. */
static bool is_session_name(const char *name)
{
    size_t n = strlen(name);
    if (n < 10 || n >= LAUNCHER_NAME_MAX || name[8] != '-' || name[9] == '.')
        return false;
    for (const char *p = name; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_-.", *p))
            return false;
    return true;
}

/* Opens the folder of the session and its lock, which this process holds as long as it lives. */
static int open_session(const struct service *s, const char *name, int *socket)
{
    if (mkdirat(s->folder.fd, name, 0700) != 0 && errno != EEXIST)
        return -1;
    int folder = openat(s->folder.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int lock = folder < 0 ? -1 : openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) != 0 || unix_socket_listen(folder, LAUNCHER_SOCKET, socket) != 0)
        return -1;
    return folder;
}

static _Noreturn void become_session(const struct service *s, const char *name, int connection)
{
    int listening = -1;
    close(s->listening);
    close(s->signals);
    close(s->lock); /* else no other service could begin while the session lives */
    prctl(PR_SET_NAME, "bezel-launch");
    int folder = open_session(s, name, &listening);
    if (folder < 0) {
        if (errno != EWOULDBLOCK) /* else there is one already, which the asker finds at once */
            log_error("BEZEL-LAUNCHER-FOLDER", "cannot use %s/%s: %s", s->a->dir, name, strerror(errno));
        _exit(EXIT_FAILED);
    }
    bool done = launcher_serve(&(struct launcher_serving){.environment = s->environment,
                                                          .grace = GRACE,
                                                          .connection = connection,
                                                          .listening = listening,
                                                          .folder = folder,
                                                          .output_bytes = s->a->output});
    char path[PATH_MAX];
    if (done && snprintf(path, sizeof path, "%s/%s", s->a->dir, name) < (int)sizeof path)
        (void)!file_remove_tree(path);
    _exit(EXIT_OK);
}

/* ---- The service ------------------------------------------------------------------------------------------------- */

/* Reads which session a new connection is for, and forks its launcher. */
static void take_connection(struct service *s)
{
    char name[LAUNCHER_NAME_MAX + 1];
    int fd = unix_socket_accept(s->listening);
    if (fd < 0)
        return;
    ssize_t n = poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, NAME_WAIT_MS) == 1
                    ? recv(fd, name, sizeof name - 1, MSG_DONTWAIT)
                    : -1;
    name[n > 0 ? n : 0] = '\0';
    if (n <= 0 || !is_session_name(name) || s->ending)
        log_warn("BEZEL-LAUNCHER", "a connection that does not name a session was closed");
    else if (s->count == LAUNCHERS_MAX)
        log_error("BEZEL-LAUNCHER-FULL", "%s is refused: there are %d sessions, the maximum", name, LAUNCHERS_MAX);
    else {
        pid_t pid = fork();
        if (pid == 0)
            become_session(s, name, fd);
        if (pid > 0)
            s->sessions[s->count++] = pid;
        else
            log_error("BEZEL-LAUNCHER-FORK", "cannot start a launcher for %s: %s", name, strerror(errno));
    }
    close(fd);
}

/* Notes which launchers have ended. Kills what a killed launcher left behind. */
static void reap(struct service *s)
{
    int status;
    pid_t pid;
    bool killed = false;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (size_t i = 0; i < s->count; i++)
            if (s->sessions[i] == pid) {
                s->sessions[i] = s->sessions[--s->count];
                killed |= WIFSIGNALED(status);
                break;
            }
    if (!killed)
        return;
    log_error("BEZEL-LAUNCHER-KILLED", "a launcher was killed: the programs that it started are killed");
    if (!launcher_finish(s->sessions, s->count))
        log_error("BEZEL-LAUNCHER-LATE", "not all processes could be ended");
}

static void take_signals(struct service *s)
{
    struct signalfd_siginfo info;
    while (read(s->signals, &info, sizeof info) == (ssize_t)sizeof info)
        if (info.ssi_signo != SIGCHLD) {
            s->ending = true;
            for (size_t i = 0; i < s->count; i++)
                kill(s->sessions[i], SIGTERM);
        }
}

/* Removes what launchers that were killed a day ago have left. */
static void forget(const struct service *s)
{
    int fd = folder_open_entries(&s->folder);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *d; entries && (d = readdir(entries));) {
        char path[PATH_MAX];
        struct stat folder;
        if (!is_session_name(d->d_name) || fstatat(s->folder.fd, d->d_name, &folder, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISDIR(folder.st_mode) || time(NULL) - folder.st_mtime < FORGET_S ||
            snprintf(path, sizeof path, "%s/%s/lock", s->a->dir, d->d_name) >= (int)sizeof path)
            continue;
        int lock = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0) {
            *strrchr(path, '/') = '\0';
            (void)!file_remove_tree(path);
        }
        if (lock >= 0)
            close(lock);
    }
    if (entries)
        closedir(entries);
}

/* Makes the folder, and listens in it; another service there is not disturbed. */
static int open_folder(struct service *s)
{
    int err = folder_make_private(s->a->dir, &s->folder);
    if (err) {
        log_error("BEZEL-LAUNCHER-FOLDER", "%s: %s", s->a->dir, s->folder.why[0] ? s->folder.why : strerror(errno));
        return err;
    }
    s->lock = folder_open_file(&s->folder, "lock", O_RDWR | O_CREAT);
    if (s->lock < 0 || flock(s->lock, LOCK_EX | LOCK_NB) != 0) {
        log_error("BEZEL-LAUNCHER-BUSY", "%s: %s", s->a->dir,
                  errno == EWOULDBLOCK ? "another bezel-launcher uses it: end it, or name another folder"
                                       : strerror(errno));
        return BEZEL_EBUSY;
    }
    err = unix_socket_listen(s->folder.fd, LAUNCHER_SOCKET, &s->listening);
    if (err)
        log_error("BEZEL-LAUNCHER-FOLDER", "cannot listen in %s: %s", s->a->dir, strerror(errno));
    return err;
}

static void serve(struct service *s, int ready)
{
    lifetime_ready(&ready, "ready");
    supervisor_ready();
    while (!s->ending || s->count > 0) {
        struct pollfd fds[] = {{.fd = s->signals, .events = POLLIN},
                               {.fd = s->ending ? -1 : s->listening, .events = POLLIN}};
        poll(fds, 2, -1);
        take_signals(s);
        reap(s);
        if (fds[1].revents)
            take_connection(s);
    }
}

int main(int argc, char **argv)
{
    struct arguments a;
    inherited_take("bezel-launcher");
    supervisor_take();
    int code = read_arguments(argc, argv, &a);
    if (code != OPTIONS_GO_ON)
        return code;
    if (geteuid() == 0 && !a.allow_root) {
        log_error("BEZEL-LAUNCHER-ROOT", "programs would be started as root: start bezel-launcher as the user whose "
                                         "programs they are, or with --allow-root");
        return EXIT_USAGE;
    }
    struct service s = {.a = &a,
                        .listening = -1,
                        .environment = launch_environment_read(0),
                        .signals = lifetime_signals((const int[]){SIGCHLD, 0}),
                        .lock = -1};
    if (s.signals < 0) {
        log_error("BEZEL-START", "cannot receive SIGTERM: %s", strerror(errno));
        return EXIT_FAILED;
    }
    if (open_folder(&s) != 0)
        return EXIT_FAILED;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* see reap() */
    forget(&s);
    serve(&s, a.ready);
    close(s.lock);
    folder_close(&s.folder);
    return EXIT_OK;
}
