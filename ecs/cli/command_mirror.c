// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "ecs/cli/command_mirror.h"

#include "base/file.h"
#include "base/log.h"
#include "collector/remote/mirror.h"
#include "config/experiment.h"
#include "ecs/course/rundir.h"
#include "run/rundb/rundb.h"
#include "run/rundb/rundb_live.h"
#include "run/store/mirror_state.h"
#include "views/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HOME_FILE_MAX = 64 << 20, HOME_ID = 64 };

/* ---- where it lies ----------------------------------------------------------------------------------------------- */

/* The folder of mirrors: in the user's cache, else in the folder of temporary files. */
static bool find_folder(char folder[PATH_MAX])
{
    const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME"), *tmp = secure_getenv("TMPDIR");
    int n;
    if (cache && cache[0] == '/')
        n = snprintf(folder, PATH_MAX, "%s/bezel/mirrors", cache);
    else if (home && home[0] == '/')
        n = snprintf(folder, PATH_MAX, "%s/.cache/bezel/mirrors", home);
    else
        n = snprintf(folder, PATH_MAX, "%s/bezel-mirrors-%u", tmp && tmp[0] == '/' ? tmp : "/tmp", (unsigned)geteuid());
    return n < PATH_MAX && file_make_dirs(folder, 0700) == 0;
}

static int lock(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Removes mirrors whose processes were killed: nobody has them locked. */
static void remove_left(const char *folder)
{
    DIR *dir = file_open_dir(folder, 1);
    for (const struct dirent *d; dir && (d = readdir(dir));) {
        char path[PATH_MAX + NAME_MAX + 2];
        snprintf(path, sizeof path, "%s/%s", folder, d->d_name);
        int fd = d->d_name[0] == '.' ? -1 : lock(path);
        if (fd >= 0) {
            (void)!file_remove_tree(path);
            close(fd);
        }
    }
    if (dir)
        closedir(dir);
}

/* Makes a folder for a mirror, locked. Returns the descriptor of its lock, or -1. */
static int make_folder(char path[PATH_MAX])
{
    char folder[PATH_MAX];
    if (!find_folder(folder))
        return -1;
    remove_left(folder);
    if (snprintf(path, PATH_MAX, "%.*s/XXXXXX", PATH_MAX - 32, folder) >= PATH_MAX || !mkdtemp(path))
        return -1;
    return lock(path);
}

/* ---- the child --------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t stop;

static void on_stop(int sig)
{
    stop = sig;
}

static void note_caught_up(void *context)
{
    const int *ready = context;
    (void)!write(*ready, "", 1); /* if nobody listens, SIGTERM is on its way */
    log_mute();                  /* the terminal belongs to the command now, which says how the mirror stands */
}

int command_mirror_exit(int err)
{
    switch (err) {
    case 0:
    case BEZEL_EAGAIN: /* it was stopped */
        return EXIT_OK;
    case BEZEL_EUNREACH:
        return EXIT_UNREACHABLE;
    case BEZEL_EINVAL:
    case BEZEL_EBUSY:
        return EXIT_USAGE;
    default:
        return EXIT_FAILED;
    }
}

/* Mirrors until the parent of this process ends it, or has ended. Then removes the folder `temporary`, unless that is
 * "". */
static int mirror(struct mirror_options *o, const char *temporary, pid_t parent, int ready)
{
    const struct sigaction action = {.sa_handler = on_stop}, ignore = {.sa_handler = SIG_IGN};
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &ignore, NULL); /* the terminal's are for the command, with which this process ends */
    sigaction(SIGHUP, &ignore, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        stop = SIGTERM;
    o->place.stop = &stop;
    o->caught_up = note_caught_up;
    o->context = &ready;
    int err = mirror_run(o);
    close(ready);
    sigprocmask(SIG_BLOCK, &set, &before);
    while (!err && !stop)
        sigsuspend(&before); /* the command still reads it */
    if (temporary[0])
        (void)!file_remove_tree(temporary);
    return command_mirror_exit(err);
}

static pid_t child;

bool command_mirror_passes(const struct command_mirror *m)
{
    return child > 0 && !m->dir;
}

static void end_child(void)
{
    kill(child, SIGTERM);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Waits until the mirror has caught up. Returns OPTIONS_GO_ON, or the exit code of the child, which ended before. */
static int wait_for(int ready)
{
    char byte;
    ssize_t n;
    int status = 0;
    do
        n = read(ready, &byte, 1);
    while (n < 0 && errno == EINTR);
    close(ready);
    if (n == 1) {
        atexit(end_child);
        return OPTIONS_GO_ON;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) != EXIT_OK ? WEXITSTATUS(status) : EXIT_FAILED;
}

/* Starts the child. Returns the read end of a pipe, to which it writes when it has caught up, or -1. */
static int start(struct mirror_options *o, const char *temporary)
{
    int ready[2];
    pid_t parent = getpid();
    if (pipe2(ready, O_CLOEXEC) != 0)
        return -1;
    (void)!fflush(NULL);
    child = fork();
    if (child == 0) {
        close(ready[0]);
        _exit(mirror(o, temporary, parent, ready[1]));
    }
    close(ready[1]);
    if (child > 0)
        return ready[0];
    close(ready[0]);
    return -1;
}

/* Names the run in its folder after its server: views show the name. */
static int name_run(const char *folder, const char *endpoint, char run[PATH_MAX])
{
    int n = snprintf(run, PATH_MAX, "%s/", folder), first = n;
    if (n < PATH_MAX)
        n += snprintf(run + n, (size_t)(PATH_MAX - n), "%s", strstr(endpoint, "://") + 3);
    for (char *at = n < PATH_MAX ? run + first : NULL; at && *at; at++)
        if (*at == '/' || (*at == '.' && at == run + first))
            *at = '_';
    return n;
}

/* ---- a run that lies with its collector -------------------------------------------------------------------------- */

static bool copy_file(const char *from, const char *to, const char *name)
{
    char path[PATH_MAX + 32], *bytes;
    size_t n;
    snprintf(path, sizeof path, "%s/%s", from, name);
    if (file_read_plain(path, 1, HOME_FILE_MAX, &bytes, &n) != 0)
        return false;
    bool copied = file_replace_in(to, name, bytes, n) == 0;
    free(bytes);
    return copied;
}

/*
 * Puts into folder `run` what `bezel run` has written into `home`, which the collector does not have: the mirror is
 * joined with it. Until its end `bezel run` writes there only until its programs start. False: it cannot be read, or
 * written.
 */
static bool copy_home(const char *home, const char *run, char id[HOME_ID])
{
    static const char *const names[] = {"experiment.yaml", "versions.txt", "README", "run.db"};
    bool copied = file_make_dirs(run, 0700) == 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && copied; i++)
        copied = copy_file(home, run, names[i]);
    return copied && rundb_read(run, "run", id, HOME_ID) == 0;
}

/* ---- a command's run --------------------------------------------------------------------------------------------- */

/* `home`: the directory of `bezel run`, where the run lies with its collector; else NULL. */
static int open_server(const struct command_mirror *m, const char *endpoint, enum command_wants wants, const char *home,
                       char run[PATH_MAX])
{
    char temporary[PATH_MAX] = "", id[HOME_ID];
    struct mirror_options o = {.place = m->place, .dir = run, .once = wants == COMMAND_NOW, .temporary = !m->dir};
    o.place.endpoint = endpoint;
    int held = m->dir ? -1 : make_folder(temporary);
    if (!m->dir && held < 0) {
        log_error("BEZEL-MIRROR", "cannot make a folder for the copy of the run: %s; name a folder with --mirror DIR",
                  strerror(errno));
        return EXIT_FAILED;
    }
    int n = m->dir ? snprintf(run, PATH_MAX, "%s", m->dir) : name_run(temporary, endpoint, run);
    if (home && n < PATH_MAX) {
        o.home = copy_home(home, run, id) ? id : NULL;
        n = o.home ? n : PATH_MAX;
    }
    int ready = n < PATH_MAX ? start(&o, temporary) : -1;
    if (held >= 0)
        close(held); /* the child has it */
    if (ready < 0) {
        log_error("BEZEL-MIRROR", "cannot start the process that copies the run: %s", strerror(errno));
        return EXIT_FAILED;
    }
    return wait_for(ready);
}

/*
 * Whether the run goes on, and its collector on another machine serves it: then the endpoint, and the keys of `bezel
 * run`, which stay for the life of this process.
 */
static bool find_server(const char *run, char endpoint[ADDRESS_TEXT_MAX], struct remote_place *place)
{
    char where[2 * PATH_MAX];
    struct experiment *e; /* its texts are the place's, so it stays */
    if (!rundir_is_away(run, where, sizeof where) || !rundir_is_running(run) || report_load_experiment(run, &e) != 0)
        return false;
    if (!e->store.serve || !experiment_server(e, endpoint)[0])
        return experiment_free(e), false;
    *place = (struct remote_place){.keys = e->store.keys, .key = e->control_key, .server = e->store.key};
    return true;
}

void command_warn_mirror(const char *run)
{
    struct mirror_look look;
    mirror_state_look(run, &look);
    if (look.text[0])
        log_warn("BEZEL-MIRROR-LACKS", "%s", look.text);
}

int command_open_mirrored(const struct command_mirror *m, const char *word, enum command_wants wants,
                          char run[PATH_MAX])
{
    if (word && remote_link_is_endpoint(word))
        return open_server(m, word, wants, NULL, run);
    if (m->place.keys || m->place.key || m->place.server || m->dir)
        return options_misuse("--keys, --key, --server-key and --mirror go with an ENDPOINT, such as tcp://desk:7770");
    char endpoint[ADDRESS_TEXT_MAX], home[PATH_MAX];
    struct command_mirror away = *m;
    int code = command_find_run(&m->target, word, run);
    if (code != OPTIONS_GO_ON)
        return code;
    if (find_server(run, endpoint, &away.place)) {
        memcpy(home, run, sizeof home);
        return open_server(&away, endpoint, wants, home, run);
    }
    return wants == COMMAND_NOW ? command_open_run(&m->target, word, run) : command_open_real(&m->target, word, run);
}
