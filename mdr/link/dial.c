// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/link/dial.h"

#include "mdr/link/link_internal.h"
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of its owner and, from dial_begin() until its answer, of the threads; the last of the two frees it. */
struct dial {
    struct dial *next; /* in the list of those that no thread has taken */
    struct address address, found;
    int answered; /* eventfd */
    int result;   /* BEZEL_EAGAIN: none yet */
    bool owned;
    char why[DIAL_WHY_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows, and of `result` and `owned` */
static struct dial *first, **last = &first;
static unsigned threads;

static void dial_free(struct dial *d)
{
    close(d->answered);
    free(d);
}

/* ---- In a thread ------------------------------------------------------------------------------------------------- */

/* Connects and closes: 0, or an errno. */
static int try_one(const struct addrinfo *at)
{
    int sys = 0, fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    if (connect(fd, at->ai_addr, at->ai_addrlen) != 0)
        sys = errno;
    if (sys == EINPROGRESS) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        socklen_t size = sizeof sys;
        if (poll(&wait, 1, DIAL_EACH_MS) != 1)
            sys = ETIMEDOUT;
        else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &sys, &size) != 0)
            sys = errno;
    }
    close(fd);
    return sys;
}

static bool print_number(const struct addrinfo *at, struct address *number)
{
    number->kind = at->ai_family == AF_INET6 ? ADDRESS_IPV6 : ADDRESS_IPV4;
    return getnameinfo(at->ai_addr, at->ai_addrlen, number->host, sizeof number->host, NULL, 0, NI_NUMERICHOST) == 0;
}

/* Tries the addresses in the order of getaddrinfo() (RFC 6724). */
static int try_all(struct dial *d, const struct addrinfo *all)
{
    bool one = d->address.kind == ADDRESS_NAME && !all->ai_next;
    size_t n = 0;
    for (const struct addrinfo *at = all; at; at = at->ai_next) {
        d->found.port = d->address.port;
        if (!print_number(at, &d->found))
            continue;
        int sys = one ? 0 : try_one(at);
        if (sys == 0)
            return 0;
        if (n < sizeof d->why)
            n += (size_t)snprintf(d->why + n, sizeof d->why - n, "%s%s (%s)",
                                  n ? ", " : "does not answer: ", strerror(sys), d->found.host);
    }
    return BEZEL_EUNREACH;
}

static int look_up(struct dial *d)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *all = NULL;
    char port[8];
    snprintf(port, sizeof port, "%u", d->address.port);
    int gai = getaddrinfo(d->address.host, port, &hints, &all);
    if (gai != 0) {
        snprintf(d->why, sizeof d->why, "has no address: %s; correct the name, or give the address as a number",
                 gai == EAI_SYSTEM ? strerror(errno) : gai_strerror(gai));
        return BEZEL_ENOENT;
    }
    int err = try_all(d, all);
    freeaddrinfo(all);
    return err;
}

/* Takes the next dial that has an owner; NULL: there is none, and the thread ends. */
static struct dial *take(void)
{
    pthread_mutex_lock(&lock);
    struct dial *d;
    while ((d = first)) {
        if (!(first = d->next))
            last = &first;
        if (d->owned)
            break;
        dial_free(d);
    }
    threads -= !d;
    pthread_mutex_unlock(&lock);
    return d;
}

static void *work(void *unused)
{
    (void)unused;
    for (struct dial *d; (d = take());) {
        int result = look_up(d);
        pthread_mutex_lock(&lock);
        d->result = result;
        bool owned = d->owned;
        if (owned)
            eventfd_write(d->answered, 1);
        pthread_mutex_unlock(&lock);
        if (!owned)
            dial_free(d);
    }
    return NULL;
}

/* ---- The owner --------------------------------------------------------------------------------------------------- */

/* Adds `d` to the list, and a thread where one may be added: 0, or an errno where no thread is there to take it. */
static int hand_over(struct dial *d)
{
    pthread_t thread;
    int sys = 0;
    pthread_mutex_lock(&lock);
    if (threads < DIAL_THREADS) {
        sys = link_thread(&thread, work, NULL);
        if (sys == 0) {
            pthread_detach(thread);
            threads++;
        }
    }
    if (threads > 0) {
        sys = 0;
        *last = d;
        last = &d->next;
    }
    pthread_mutex_unlock(&lock);
    return sys;
}

int dial_begin(const struct address *address, struct dial **dial)
{
    struct dial *d = calloc(1, sizeof *d);
    if (!d)
        return BEZEL_ENOMEM;
    d->address = *address;
    d->result = BEZEL_EAGAIN;
    d->owned = true;
    d->answered = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int sys = d->answered < 0 ? errno : hand_over(d);
    if (sys) {
        if (d->answered >= 0)
            close(d->answered);
        free(d);
        errno = sys;
        return err_from_errno(sys);
    }
    *dial = d;
    return 0;
}

void dial_end(struct dial *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&lock);
    d->owned = false;
    bool answered = d->result != BEZEL_EAGAIN;
    pthread_mutex_unlock(&lock);
    if (answered)
        dial_free(d);
}

int dial_fd(const struct dial *d)
{
    return d->answered;
}

int dial_answer(struct dial *d, struct address *found, char why[DIAL_WHY_MAX])
{
    pthread_mutex_lock(&lock);
    int result = d->result;
    pthread_mutex_unlock(&lock);
    if (result == 0)
        *found = d->found;
    else if (result != BEZEL_EAGAIN)
        memcpy(why, d->why, sizeof d->why);
    return result;
}
