// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/linked/linked.h"

#include "base/file.h"
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { VIEWS_MOST = 64 /* that a message goes to */ };

struct linked {
    int socket;
    char folder[sizeof((struct sockaddr_un *)NULL)->sun_path - 24];
    struct sockaddr_un own;
};

/* ---- messages ---------------------------------------------------------------------------------------------------- */

int linked_write(const struct linked_state *s, char text[LINKED_MESSAGE_MAX])
{
    return snprintf(text, LINKED_MESSAGE_MAX, "1 %" PRId64 " %" PRId64 " %" PRId64 " %d %s", s->from, s->until,
                    s->cursor, s->follow, s->filter);
}

bool linked_read(const char *text, struct linked_state *s)
{
    int follow = 0, used = 0;
    *s = (struct linked_state){0};
    if (sscanf(text, "1 %" SCNd64 " %" SCNd64 " %" SCNd64 " %d%n", &s->from, &s->until, &s->cursor, &follow, &used) !=
            4 ||
        text[used] != ' ' || strlen(text + used + 1) > LINKED_FILTER_MAX || s->from < 0 || s->from >= s->until ||
        s->cursor < 0 || follow < 0 || follow > 1)
        return false;
    for (const char *p = text + used + 1; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            return false;
    s->follow = follow;
    memcpy(s->filter, text + used + 1, strlen(text + used + 1) + 1);
    return true;
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

/* In /tmp others might have made it first: it has to be ours alone. */
static int make_folder(struct linked *l, const char *run)
{
    const char *runtime = file_runtime_dir();
    struct stat st;
    int n = runtime ? snprintf(l->folder, sizeof l->folder, "%s/bezel-%.8s", runtime, run)
                    : snprintf(l->folder, sizeof l->folder, "/tmp/bezel-%u-%.8s", (unsigned)getuid(), run);
    if (n >= (int)sizeof l->folder) {
        l->folder[0] = '\0'; /* it is cut */
        return errno = ENAMETOOLONG, BEZEL_ESYS;
    }
    if (mkdir(l->folder, 0700) != 0 && errno != EEXIST)
        return BEZEL_ESYS;
    if (lstat(l->folder, &st) != 0)
        return BEZEL_ESYS;
    if (folder_is_private(&st))
        return 0;
    l->folder[0] = '\0'; /* it is not ours to remove */
    return errno = EPERM, BEZEL_ESYS;
}

/* Binds a name of our own: a program that was killed may have left one. */
static int bind_name(struct linked *l)
{
    for (unsigned i = 0; i < VIEWS_MOST; i++) {
        l->own = (struct sockaddr_un){.sun_family = AF_UNIX};
        snprintf(l->own.sun_path, sizeof l->own.sun_path, "%s/%d.%u", l->folder, (int)getpid(), i);
        if (bind(l->socket, (struct sockaddr *)&l->own, sizeof l->own) == 0)
            return 0;
        if (errno != EADDRINUSE)
            break;
    }
    l->own.sun_path[0] = '\0';
    return BEZEL_ESYS;
}

int linked_open(const char *run, struct linked **l)
{
    struct linked *it = calloc(1, sizeof *it);
    if (!it)
        return errno = ENOMEM, BEZEL_ENOMEM;
    it->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int err = it->socket < 0 ? BEZEL_ESYS : make_folder(it, run);
    if (!err)
        err = bind_name(it);
    if (err) {
        int sys = errno;
        linked_close(it);
        errno = sys;
        return err;
    }
    *l = it;
    return 0;
}

void linked_close(struct linked *l)
{
    if (!l)
        return;
    if (l->socket >= 0)
        close(l->socket);
    if (l->own.sun_path[0])
        unlink(l->own.sun_path);
    if (l->folder[0])
        rmdir(l->folder); /* if we were the last */
    free(l);
}

/* ---- sending and receiving --------------------------------------------------------------------------------------- */

/* Removes the name of a program that is gone. */
static void send_to(struct linked *l, const char *name, const char *text, size_t n)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (snprintf(to.sun_path, sizeof to.sun_path, "%s/%s", l->folder, name) >= (int)sizeof to.sun_path ||
        strcmp(to.sun_path, l->own.sun_path) == 0)
        return;
    if (sendto(l->socket, text, n, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&to, sizeof to) < 0 &&
        errno == ECONNREFUSED)
        unlink(to.sun_path);
}

void linked_send(struct linked *l, const struct linked_state *state)
{
    char text[LINKED_MESSAGE_MAX];
    DIR *dir = l ? opendir(l->folder) : NULL;
    if (!dir)
        return;
    size_t n = (size_t)linked_write(state, text);
    unsigned views = 0;
    for (struct dirent *d; views < VIEWS_MOST && (d = readdir(dir));)
        if (d->d_name[0] != '.') {
            send_to(l, d->d_name, text, n);
            views++;
        }
    closedir(dir);
}

bool linked_receive(struct linked *l, struct linked_state *state)
{
    char text[LINKED_MESSAGE_MAX + 1];
    struct linked_state read;
    bool any = false;
    for (ssize_t n; l && (n = recv(l->socket, text, sizeof text - 1, MSG_DONTWAIT)) >= 0;) {
        text[n] = '\0';
        if (strlen(text) == (size_t)n && linked_read(text, &read)) {
            *state = read;
            any = true;
        }
    }
    return any;
}
