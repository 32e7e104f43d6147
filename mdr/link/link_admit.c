// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Admission: decides on the keys of new connections when ZeroMQ asks (ZAP). */
#include "base/clock.h"
#include "mdr/link/link_internal.h"
#include "mdr/link/zap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

/*
 * A thread of its own answers, since ZeroMQ asks at every new connection, and the link's owner may be writing to a
 * disk. The thread listens before the first link is bound with keys, since without a listener ZeroMQ admits every key.
 * It ends with the context, when no link is left.
 */
static struct {
    pthread_t thread;
    void *socket; /* NULL: the thread does not run */
    int stop;     /* eventfd */
} admission;

static pthread_mutex_t admit_lock = PTHREAD_MUTEX_INITIALIZER; /* of the list; held while a ring is looked at */
static struct link *admitting;
static unsigned domains;

/* The ring of the link whose domain is `domain`; the lock is held. */
static struct keyring *ring_of(const struct zap_part *domain)
{
    char text[16];
    for (const struct link *l = admitting; l; l = l->next)
        if ((size_t)snprintf(text, sizeof text, "%u", l->domain) == domain->size &&
            memcmp(text, domain->data, domain->size) == 0)
            return l->known;
    return NULL;
}

static void admission_reply(void *socket, const struct zap_request *r, const struct zap_answer *a)
{
    const struct zap_part parts[] = {
        r->version, r->id, {a->status, strlen(a->status)}, {a->text, strlen(a->text)}, {a->user, strlen(a->user)},
        {"", 0}};
    size_t count = sizeof parts / sizeof *parts;
    for (size_t i = 0; i < count; i++)
        (void)!zmq_send(socket, parts[i].data, parts[i].size, i + 1 < count ? ZMQ_SNDMORE : 0);
}

/* Takes one request and answers it. Only ZeroMQ in this process asks; a malformed request gets no answer. */
static void admission_serve(void *socket)
{
    zmq_msg_t messages[ZAP_PARTS];
    struct zap_part parts[ZAP_PARTS];
    size_t count = 0;
    bool more = true, received = true;
    while (more) {
        zmq_msg_t rest, *m = count < ZAP_PARTS ? &messages[count] : &rest;
        zmq_msg_init(m);
        received = zmq_msg_recv(m, socket, count ? 0 : ZMQ_DONTWAIT) >= 0;
        more = received && zmq_msg_more(m);
        if (received && m != &rest)
            parts[count++] = (struct zap_part){zmq_msg_data(m), zmq_msg_size(m)};
        else
            zmq_msg_close(m);
        if (!received)
            break;
    }
    struct zap_request request;
    struct zap_answer answer;
    if (received && zap_read(parts, count, &request) == 0) {
        pthread_mutex_lock(&admit_lock);
        zap_decide(&request, ring_of(&request.domain), clock_now(), &answer);
        pthread_mutex_unlock(&admit_lock);
        admission_reply(socket, &request, &answer);
    }
    for (size_t i = 0; i < count; i++)
        zmq_msg_close(&messages[i]);
}

/* Reads changed folders of keys, so that a key that was taken back is found when its next frame arrives. */
static void look_at_keys(void)
{
    pthread_mutex_lock(&admit_lock);
    for (const struct link *l = admitting; l; l = l->next)
        if (l->known)
            keyring_look(l->known, clock_now());
    pthread_mutex_unlock(&admit_lock);
}

static void *admission_run(void *unused)
{
    (void)unused;
    zmq_pollitem_t items[] = {{.socket = admission.socket, .events = ZMQ_POLLIN},
                              {.fd = admission.stop, .events = ZMQ_POLLIN}};
    while (!items[1].revents) {
        if (zmq_poll(items, 2, KEYRING_LOOK / 2 / CLOCK_MS) > 0 && items[0].revents)
            admission_serve(admission.socket);
        look_at_keys();
    }
    return NULL;
}

static int admission_start(void)
{
    int linger = 0, sys = 0;
    pthread_mutex_lock(&link_context_lock);
    if (!admission.socket) {
        void *socket = zmq_socket(link_context, ZMQ_REP);
        admission.stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (!socket || admission.stop < 0 || zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger) != 0 ||
            zmq_bind(socket, "inproc://zeromq.zap.01") != 0)
            sys = errno;
        admission.socket = socket;
        if (!sys)
            sys = link_thread(&admission.thread, admission_run, NULL);
        if (sys) {
            if (admission.stop >= 0)
                close(admission.stop);
            if (socket)
                zmq_close(socket);
            admission.socket = NULL;
        }
    }
    pthread_mutex_unlock(&link_context_lock);
    return errno = sys, sys ? -1 : 0;
}

void link_admission_stop(void)
{
    if (!admission.socket)
        return;
    eventfd_write(admission.stop, 1);
    pthread_join(admission.thread, NULL);
    zmq_close(admission.socket);
    close(admission.stop);
    admission.socket = NULL;
}

int link_admit(struct link *link, struct keyring *known)
{
    if (admission_start() != 0)
        return -1;
    pthread_mutex_lock(&admit_lock);
    link->known = known;
    link->domain = ++domains;
    link->next = admitting;
    admitting = link;
    pthread_mutex_unlock(&admit_lock);
    return 0;
}

void link_admit_nobody(struct link *link)
{
    pthread_mutex_lock(&admit_lock);
    struct link **at = &admitting;
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    pthread_mutex_unlock(&admit_lock);
}
