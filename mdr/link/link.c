// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mdr/link/link.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/peer.h"
#include "mdr/link/link_internal.h"
#include "mdr/link/zap.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

/*
 * Frames. Options that matter are set here, all of them, defaults included:
 *
 * - ZMQ_HEARTBEAT_IVL 0: libzmq's own heartbeats close healthy links under back-pressure, and queued frames are lost.
 * - ZMQ_MAXMSGSIZE: a larger frame ends the connection that sent it.
 * - ZMQ_SNDHWM, ZMQ_RCVHWM: frames per peer. The receiver's credit bounds the bytes under way; these marks only bound
 * the memory that a misbehaving peer can take, by back-pressure. (A message of endlessly many parts passes them: ZeroMQ
 * gathers all parts first. Keys keep such a peer out.)
 * - ZMQ_ROUTER_MANDATORY 1: a frame for a peer that is gone or full is an error, where ZeroMQ would drop it silently.
 * - ZMQ_IMMEDIATE 0: a connected link queues from the start and keeps its queue over a reconnect. So frames from before
 * a reconnect may come ahead of the HELLO that follows it; receivers are prepared for that.
 * - ZMQ_HANDSHAKE_IVL: a connection that has not shown its key by then is closed: a silent one takes a descriptor for
 * that long.
 * - ZMQ_BACKLOG: leaves known peers room beside many unknown connections.
 * - ZMQ_TCP_KEEPALIVE: the kernel detects that a machine is gone; its connection would stay for ever otherwise. (It
 * asks the other kernel, not the program, so it never closes a connection because its program is busy.)
 * - ZMQ_LINGER is the argument of link_close().
 */

enum {
    LINK_RECEIVE_QUEUE = 256,
    LINK_SEND_QUEUE = 1000, /* of a bound link, for each peer */
    LINK_RECONNECT_MS = 100,
    LINK_RECONNECT_MAX_MS = 1000,
    LINK_BACKLOG = 1024,
    LINK_CURVE_BYTES = 33,      /* that encryption adds to a frame: its command's name, nonce, authenticator, flags */
    LINK_KEEPALIVE_IDLE_S = 30, /* then three probes, ten seconds apart */
    LINK_KEEPALIVE_INTERVAL_S = 10,
    LINK_KEEPALIVE_COUNT = 3,
};

_Static_assert(sizeof(zmq_msg_t) <= sizeof((struct link_frame *)0)->handle, "the handle holds a message");

/* ---- the process's context: one for all links -------------------------------------------------------------------- */

pthread_mutex_t link_context_lock = PTHREAD_MUTEX_INITIALIZER;
void *link_context;
static unsigned context_users;

/* ZeroMQ ends the process where its first socket gets no descriptor or thread, so these are tried before. */
enum { CONTEXT_FILES = 10, CONTEXT_THREADS = 2, CONTEXT_SOCKETS = 2 * LINK_WAIT_MAX };

static void *do_nothing(void *nothing)
{
    return nothing;
}

static bool has_files(void)
{
    int fds[CONTEXT_FILES], n = 0;
    while (n < CONTEXT_FILES && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    bool all = n == CONTEXT_FILES;
    int sys = errno;
    while (n > 0)
        close(fds[--n]);
    errno = sys;
    return all;
}

static bool has_threads(void)
{
    pthread_t threads[CONTEXT_THREADS];
    int n = 0, sys = 0;
    while (n < CONTEXT_THREADS && (sys = pthread_create(&threads[n], NULL, do_nothing, NULL)) == 0)
        n++;
    while (n > 0)
        pthread_join(threads[--n], NULL);
    errno = sys;
    return sys == 0;
}

int link_thread(pthread_t *thread, void *(*run)(void *), void *context)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int sys = pthread_create(thread, &attributes, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return sys;
}

/* A link takes one socket, with a monitor two. */
static void *make_context(void)
{
    void *context = zmq_ctx_new();
    if (context)
        (void)zmq_ctx_set(context, ZMQ_MAX_SOCKETS, CONTEXT_SOCKETS);
    return context;
}

static void *context_take(void)
{
    pthread_mutex_lock(&link_context_lock);
    if (!link_context && has_files() && has_threads())
        link_context = make_context();
    if (link_context)
        context_users++;
    void *taken = link_context;
    pthread_mutex_unlock(&link_context_lock);
    return taken;
}

/* The last user terminates the context, which waits for lingering frames. */
static void context_give(void)
{
    pthread_mutex_lock(&link_context_lock);
    if (--context_users == 0) {
        link_admission_stop();
        while (zmq_ctx_term(link_context) != 0 && errno == EINTR)
            ;
        link_context = NULL;
    }
    pthread_mutex_unlock(&link_context_lock);
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static int endpoint_error(int sys)
{
    return sys == ENODEV || sys == EADDRNOTAVAIL ? BEZEL_EINVAL : err_from_errno(sys);
}

static int set_int(struct link *link, int option, int value)
{
    return zmq_setsockopt(link->socket, option, &value, sizeof value);
}

static int set_options(struct link *link, size_t max_frame, int send_queue, bool keys)
{
    int64_t max = (int64_t)max_frame + (keys ? LINK_CURVE_BYTES : 0);
    if (set_int(link, ZMQ_LINGER, 0) != 0 || set_int(link, ZMQ_HEARTBEAT_IVL, 0) != 0 ||
        zmq_setsockopt(link->socket, ZMQ_MAXMSGSIZE, &max, sizeof max) != 0 ||
        set_int(link, ZMQ_RCVHWM, LINK_RECEIVE_QUEUE) != 0 || set_int(link, ZMQ_SNDHWM, send_queue) != 0 ||
        set_int(link, ZMQ_HANDSHAKE_IVL, LINK_HANDSHAKE_MS) != 0 || set_int(link, ZMQ_TCP_KEEPALIVE, 1) != 0 ||
        set_int(link, ZMQ_TCP_KEEPALIVE_IDLE, LINK_KEEPALIVE_IDLE_S) != 0 ||
        set_int(link, ZMQ_TCP_KEEPALIVE_INTVL, LINK_KEEPALIVE_INTERVAL_S) != 0 ||
        set_int(link, ZMQ_TCP_KEEPALIVE_CNT, LINK_KEEPALIVE_COUNT) != 0)
        return -1;
    if (link->bound)
        return set_int(link, ZMQ_ROUTER_MANDATORY, 1) != 0 ? -1 : set_int(link, ZMQ_BACKLOG, LINK_BACKLOG);
    return set_int(link, ZMQ_IMMEDIATE, 0) != 0 || set_int(link, ZMQ_RECONNECT_IVL, LINK_RECONNECT_MS) != 0 ||
                   set_int(link, ZMQ_RECONNECT_IVL_MAX, LINK_RECONNECT_MAX_MS) != 0
               ? -1
               : 0;
}

int link_connect_number(struct link *link, bool ipv6, const char *endpoint)
{
    link->drained = false;
    return set_int(link, ZMQ_IPV6, ipv6) != 0 ? -1 : zmq_connect(link->socket, endpoint);
}

static int attach_connected(struct link *link, const char *endpoint, int queue)
{
    struct address address;
    const char *why;
    memcpy(link->endpoint, endpoint, strlen(endpoint) + 1);
    if (link->keyed || !endpoint_path(endpoint))
        link_monitor_open(link);
    if (endpoint_path(endpoint) || address_read(endpoint, &address, &why) != 0)
        return zmq_connect(link->socket, endpoint);
    return address.kind == ADDRESS_NAME ? link_dial_begin(link, &address, queue)
                                        : link_connect_number(link, address.kind == ADDRESS_IPV6, endpoint);
}

/* An interface is listened at by its IPv4 address; by its IPv6 address where it has no other. */
static int bind_tcp(struct link *link, const char *endpoint)
{
    struct address address = {.kind = ADDRESS_IPV4};
    const char *why;
    (void)!address_read(endpoint, &address, &why);
    bool ipv6 = address.kind == ADDRESS_IPV6 || address.kind == ADDRESS_ANY;
    if (set_int(link, ZMQ_IPV6, ipv6) != 0)
        return -1;
    if (zmq_bind(link->socket, endpoint) == 0)
        return 0;
    return address.kind != ADDRESS_NAME || errno != ENODEV || set_int(link, ZMQ_IPV6, 1) != 0
               ? -1
               : zmq_bind(link->socket, endpoint);
}

/*
 * Binds at a path. bind(2) gives the socket the mode that the umask leaves, and ZeroMQ listens at once: so the umask is
 * set meanwhile. Besides, ZeroMQ closes connections of users other than this one and root, where it was built with
 * that.
 */
static int bind_path(struct link *link, const char *endpoint)
{
    const uid_t users[] = {peer_self(), 0};
    for (size_t i = 0; i < sizeof users / sizeof *users; i++)
        (void)!zmq_setsockopt(link->socket, ZMQ_IPC_FILTER_UID, &users[i], sizeof users[i]);
    mode_t before = umask(0177);
    int bound = zmq_bind(link->socket, endpoint), sys = errno;
    umask(before);
    errno = sys;
    return bound;
}

/* Binds or connects a socket with its options set. */
static int attach(struct link *link, const char *endpoint, int queue)
{
    if (!link->bound)
        return attach_connected(link, endpoint, queue);
    size_t size = sizeof link->endpoint;
    return (endpoint_path(endpoint) ? bind_path(link, endpoint) : bind_tcp(link, endpoint)) != 0
               ? -1
               : zmq_getsockopt(link->socket, ZMQ_LAST_ENDPOINT, link->endpoint, &size);
}

static bool find_descriptor(struct link *link)
{
    size_t size = sizeof link->fd;
    return zmq_getsockopt(link->socket, ZMQ_FD, &link->fd, &size) == 0;
}

static int link_open(const char *endpoint, size_t max_frame, int queue, bool bound, const struct link_keys *keys,
                     struct link **out)
{
    struct link *link = calloc(1, sizeof *link);
    if (!link)
        return BEZEL_ENOMEM;
    void *taken = context_take();
    if (!taken) {
        free(link);
        return err_from_errno(errno);
    }
    link->bound = bound;
    link->socket = zmq_socket(taken, bound ? ZMQ_ROUTER : ZMQ_DEALER);
    if (!link->socket || !find_descriptor(link) || set_options(link, max_frame, queue, keys != NULL) != 0 ||
        (keys && link_set_keys(link, keys) != 0) || attach(link, endpoint, queue) != 0) {
        int sys = errno;
        link_close(link, 0);
        errno = sys;
        return endpoint_error(sys);
    }
    *out = link;
    return 0;
}

int link_bind(const char *endpoint, size_t max_frame, const struct link_keys *keys, struct link **link)
{
    int err = endpoint_check(endpoint);
    if (!err)
        err = endpoint_check_bind(endpoint, keys != NULL);
    return err ? err : link_open(endpoint, max_frame, LINK_SEND_QUEUE, true, keys, link);
}

int link_connect(const char *endpoint, size_t max_frame, int queue, const struct link_keys *keys, struct link **link)
{
    if (queue < 1) /* ZeroMQ would read it as no bound */
        return BEZEL_EINVAL;
    int err = endpoint_check(endpoint);
    if (!err)
        err = endpoint_check_connect(endpoint, keys != NULL);
    return err ? err : link_open(endpoint, max_frame, queue, false, keys, link);
}

void link_close(struct link *link, int linger_ms)
{
    if (!link)
        return;
    /* ZeroMQ leaves the file of an ipc endpoint behind, and stops listening some time after zmq_close(). */
    if (link->bound && endpoint_path(link->endpoint))
        unlink(endpoint_path(link->endpoint));
    if (link->domain)
        link_admit_nobody(link);
    link_monitor_close(link);
    link_dial_end(link);
    if (link->socket) {
        (void)set_int(link, ZMQ_LINGER, linger_ms);
        zmq_close(link->socket);
    }
    free(link);
    context_give();
}

void link_set_relay(struct link *link)
{
    link->relay = true;
}

bool link_peer_is(const struct link_peer *a, const struct link_peer *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

uint64_t link_peer_key(const struct link_peer *peer)
{
    uint64_t key = 0;
    _Static_assert(LINK_PEER_MAX <= sizeof key, "an id fits the key");
    memcpy(&key, peer->id, peer->size);
    return peer->path_size ? hash_fnv64(key, peer->path, peer->path_size) : key;
}

uint32_t link_peer_sizes(const struct link_peer *peer)
{
    return (uint32_t)peer->path_size << 8 | peer->size;
}

bool link_is_dialing(const struct link *link)
{
    return link->dial != NULL;
}

const char *link_endpoint(const struct link *link)
{
    return link->endpoint;
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static int send_part(struct link *link, zmq_msg_t *part, int flags)
{
    int sent;
    link->drained = false; /* sending takes what the socket's descriptor had to tell */
    do
        sent = link->dial ? link_dial_keep(link, part, flags) : zmq_msg_send(part, link->socket, flags | ZMQ_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return 0;
    return errno == EHOSTUNREACH ? BEZEL_EUNREACH : err_from_errno(errno);
}

/* Sends a first part, with copied bytes. All errors show there: once it is accepted, the frame is too. */
static int send_first(struct link *link, const uint8_t *bytes, size_t n)
{
    zmq_msg_t part;
    if (zmq_msg_init_size(&part, n) != 0)
        return BEZEL_ENOMEM;
    memcpy(zmq_msg_data(&part), bytes, n);
    int err = send_part(link, &part, ZMQ_SNDMORE);
    zmq_msg_close(&part);
    return err;
}

/* Sends what goes before the frame: the peer's id, if this end is bound, and its path from there on. */
static int send_peer(struct link *link, const struct link_peer *peer)
{
    uint8_t path[1 + LINK_PEER_MAX + LINK_PATH_MAX];
    if (link->bound) {
        int err = send_first(link, peer->id, peer->size);
        return err || !peer->path_size ? err : send_first(link, peer->path, peer->path_size);
    }
    size_t n = 1 + (size_t)peer->size + peer->path_size;
    if (n > LINK_PATH_MAX)
        return BEZEL_EFULL;
    path[0] = peer->size;
    memcpy(path + 1, peer->id, peer->size);
    memcpy(path + 1 + peer->size, peer->path, peer->path_size);
    return send_first(link, path, n);
}

static int send_frame(struct link *link, const struct link_peer *peer, zmq_msg_t *frame)
{
    int err = peer ? send_peer(link, peer) : 0;
    if (!err)
        err = send_part(link, frame, 0);
    zmq_msg_close(frame); /* empty where it was sent; else it is released */
    return err;
}

static bool takes(const struct link *link, const struct link_peer *peer)
{
    return (link->bound || link->relay) == (peer && peer->size > 0);
}

int link_send(struct link *link, const struct link_peer *peer, const void *data, size_t n)
{
    zmq_msg_t frame;
    if (!takes(link, peer))
        return BEZEL_EINVAL;
    if (zmq_msg_init_size(&frame, n) != 0)
        return BEZEL_ENOMEM;
    if (n > 0)
        memcpy(zmq_msg_data(&frame), data, n);
    return send_frame(link, peer, &frame);
}

int link_send_shared(struct link *link, const struct link_peer *peer, void *data, size_t n,
                     void (*release)(void *data, void *hint), void *hint)
{
    zmq_msg_t frame;
    if (link->bound || !takes(link, peer))
        return BEZEL_EINVAL;
    if (zmq_msg_init_data(&frame, data, n, release, hint) != 0) {
        release(data, hint);
        return BEZEL_ENOMEM;
    }
    return send_frame(link, peer, &frame);
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

static int receive_part(void *socket, zmq_msg_t *part)
{
    int got;
    do
        got = zmq_msg_recv(part, socket, ZMQ_DONTWAIT);
    while (got < 0 && errno == EINTR);
    return got < 0 ? err_from_errno(errno) : 0;
}

/* Drops the parts behind `part`, which no frame of Bezel has. */
static void discard_parts(void *socket, zmq_msg_t *part)
{
    while (zmq_msg_more(part) && receive_part(socket, part) == 0)
        ;
}

/* Takes the id of a frame's peer from its first part. False: the sender is not Bezel's. */
static bool take_id(const zmq_msg_t *part, struct link_peer *peer)
{
    size_t n = zmq_msg_size(part);
    if (n == 0 || n > LINK_PEER_MAX || !zmq_msg_more(part))
        return false;
    peer->size = (uint8_t)n;
    memcpy(peer->id, zmq_msg_data((zmq_msg_t *)part), n);
    return true;
}

/* Whether `path` is that of a peer: hops, each of which has an id. */
static bool is_path(const uint8_t *path, size_t n)
{
    size_t at = 0;
    while (at < n && path[at] > 0 && path[at] <= LINK_PEER_MAX)
        at += 1 + (size_t)path[at];
    return n > 0 && at == n;
}

/*
 * Takes a path, which is a part before the frame. At a collector it follows its own peer's id; at a relay its first hop
 * is the relay's own peer.
 */
static bool take_path(const struct link *link, const zmq_msg_t *part, struct link_peer *peer)
{
    const uint8_t *path = zmq_msg_data((zmq_msg_t *)part);
    size_t n = zmq_msg_size(part);
    if (n > LINK_PATH_MAX || !is_path(path, n))
        return false;
    if (!link->bound) {
        peer->size = path[0];
        memcpy(peer->id, path + 1, peer->size);
        path += 1 + peer->size;
        n -= 1 + (size_t)peer->size;
    }
    peer->path_size = (uint8_t)n;
    memcpy(peer->path, path, n);
    return true;
}

/*
 * Receives a frame's parts: the peer's id on a bound link; a path, if it passed a relay; the frame itself. Returns 0
 * with the frame in *part; BEZEL_EMALFORMED if the frame has other parts, with *part the last one that was received; or
 * an error.
 */
static int receive_parts(const struct link *link, struct link_peer *peer, zmq_msg_t *part)
{
    int err = receive_part(link->socket, part);
    if (!err && link->bound)
        err = take_id(part, peer) ? receive_part(link->socket, part) : BEZEL_EMALFORMED;
    if (!err && link->relay && (zmq_msg_more(part) || !link->bound))
        err = zmq_msg_more(part) && take_path(link, part, peer) ? receive_part(link->socket, part) : BEZEL_EMALFORMED;
    return !err && zmq_msg_more(part) ? BEZEL_EMALFORMED : err;
}

/* Finds the key of a frame's connection: 0, or BEZEL_ENOENT where it was taken back. */
static int find_key(const struct link *link, const struct link_frame *frame, struct keyring_key *known)
{
    uint8_t key[KEY_BYTES];
    return link->known && zap_key(zmq_msg_gets((const zmq_msg_t *)frame->handle, "User-Id"), key) == 0
               ? keyring_find(link->known, key, known)
               : BEZEL_ENOENT;
}

/* Sets the roles and name of the sender's key, as they are now. A connected link has verified its peer by its key. */
static void take_roles(const struct link *link, struct link_frame *frame)
{
    struct keyring_key known;
    frame->key[0] = '\0';
    frame->roles = link->domain ? 0 : KEY_ALL_ROLES;
    if (!link->domain || find_key(link, frame, &known) != 0)
        return;
    frame->roles = known.key.roles;
    memcpy(frame->key, known.name, sizeof frame->key);
}

bool link_speaks_for(const struct link *link, const struct link_frame *frame, const char *node)
{
    struct keyring_key known;
    return !link->domain || (find_key(link, frame, &known) == 0 && key_speaks_for(&known.key, known.name, node));
}

/*
 * Whether there is nothing to receive, at the price of one call of the system, where ZeroMQ makes four. Its descriptor
 * tells of news only to who has taken all that was there: therefore `drained`. Right behind a wait even that call is
 * not needed.
 */
static bool is_quiet(struct link *link)
{
    struct pollfd news = {.fd = link->fd, .events = POLLIN};
    bool still = link->still;
    link->still = false;
    return link->drained && (still || poll(&news, 1, 0) == 0);
}

int link_receive(struct link *link, struct link_frame *frame)
{
    zmq_msg_t *part = (zmq_msg_t *)frame->handle;
    frame->peer = (struct link_peer){0};
    if (link->dial)
        link_dial_step(link);
    if (link->monitor)
        link_monitor_look(link);
    if (is_quiet(link))
        return BEZEL_EAGAIN;
    zmq_msg_init(part);
    int err = receive_parts(link, &frame->peer, part);
    link->drained = err == BEZEL_EAGAIN;
    if (err == BEZEL_EMALFORMED) {
        discard_parts(link->socket, part);
        log_warn("BEZEL-LINK-FOREIGN", "dropped a message on %s that is not Bezel's: another program may connect there",
                 link->endpoint);
        err = BEZEL_EAGAIN;
    }
    if (err) {
        zmq_msg_close(part);
        return err;
    }
    frame->data = zmq_msg_data(part);
    frame->size = zmq_msg_size(part);
    take_roles(link, frame);
    link_monitor_close(link);
    return 0;
}

void link_frame_free(struct link_frame *frame)
{
    zmq_msg_close((zmq_msg_t *)frame->handle);
}

uint64_t link_connection(const struct link_frame *frame)
{
    struct stat st;
    int fd = zmq_msg_get((const zmq_msg_t *)frame->handle, ZMQ_SRCFD);
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) ? (uint64_t)st.st_ino : 0;
}

/* An IPv4 peer of a link that is bound to IPv6 appears as IPv6 (RFC 4291, 2.5.5.2). */
void link_host(const struct link_frame *frame, char host[LINK_HOST_MAX + 1])
{
    static const char mapped[] = "::ffff:";
    const char *from = zmq_msg_gets((const zmq_msg_t *)frame->handle, "Peer-Address");
    if (from && strncmp(from, mapped, sizeof mapped - 1) == 0 && strchr(from, '.'))
        from += sizeof mapped - 1;
    if (!from || (!isxdigit((unsigned char)from[0]) && from[0] != ':'))
        from = ""; /* over ipc ZeroMQ tells "localhost", and who the process is */
    bool ipv6 = strchr(from, ':') != NULL;
    int n = snprintf(host, LINK_HOST_MAX + 1, "%s%s%s", ipv6 ? "[" : "", from, ipv6 ? "]" : "");
    if (n > LINK_HOST_MAX)
        host[0] = '\0';
}

/* Whether there is a frame: asks ZeroMQ only where that is not known. */
static bool has_frame(struct link *link)
{
    int events = 0;
    size_t size = sizeof events;
    bool has = zmq_getsockopt(link->socket, ZMQ_EVENTS, &events, &size) == 0 && events & ZMQ_POLLIN;
    link->drained = !has;
    return has;
}

/* What a wait looks at: links and then descriptors, each with the descriptor that is polled for it. */
struct waited {
    nfds_t links, all;
    struct link *link[LINK_WAIT_MAX];
    struct pollfd items[LINK_WAIT_MAX];
};

static void list_waited(struct waited *w, struct link *const *links, size_t link_count, const int *fds, size_t fd_count)
{
    w->all = 0;
    for (size_t i = 0; i < link_count && w->all < LINK_WAIT_MAX; i++) {
        if (!links[i])
            continue;
        int dialled = link_dial_fd(links[i]);
        w->link[w->all] = dialled < 0 ? links[i] : NULL;
        w->items[w->all++] = (struct pollfd){.fd = dialled < 0 ? links[i]->fd : dialled, .events = POLLIN};
    }
    w->links = w->all;
    for (size_t i = 0; i < fd_count && w->all < LINK_WAIT_MAX; i++)
        if (fds[i] >= 0)
            w->items[w->all++] = (struct pollfd){.fd = fds[i], .events = POLLIN};
}

/* How many links have frames of which no descriptor tells, as their last ones were not taken, or something was sent. */
static int count_untold(struct waited *w)
{
    int ready = 0;
    for (nfds_t i = 0; i < w->links; i++)
        if (w->link[i] && !w->link[i]->drained && has_frame(w->link[i])) {
            w->items[i].fd = -1;
            ready++;
        }
    return ready;
}

static int count_ready(struct waited *w)
{
    int ready = 0;
    for (nfds_t i = 0; i < w->all; i++)
        ready += w->items[i].revents && (i >= w->links || !w->link[i] || has_frame(w->link[i]));
    return ready;
}

static int wait_for(struct waited *w, int64_t timeout_ns)
{
    int ready = count_untold(w), told = 0;
    int64_t left = ready ? 0 : timeout_ns, until = left > 0 ? clock_now() + left : 0;
    do { /* a descriptor of ZeroMQ also tells of other things than frames: then it waits on */
        const struct timespec most = {.tv_sec = left / CLOCK_S, .tv_nsec = left % CLOCK_S};
        told = ppoll(w->items, w->all, left < 0 ? NULL : &most, NULL);
        ready += told > 0 ? count_ready(w) : 0;
        left = left > 0 ? until - clock_now() : left;
    } while (told > 0 && ready == 0 && left != 0 && (timeout_ns < 0 || left > 0));
    for (nfds_t i = 0; i < w->links; i++)
        if (w->link[i])
            w->link[i]->still = told >= 0 && w->link[i]->drained;
    return ready;
}

int link_wait(struct link *const *links, size_t link_count, const int *fds, size_t fd_count, int64_t timeout_ns)
{
    struct waited w;
    list_waited(&w, links, link_count, fds, fd_count);
    return wait_for(&w, timeout_ns);
}

int link_wait_which(struct link *const *links, size_t link_count, int *fds, size_t fd_count, int64_t timeout_ns)
{
    struct waited w;
    list_waited(&w, links, link_count, fds, fd_count);
    int ready = wait_for(&w, timeout_ns);
    nfds_t at = w.links;
    for (size_t i = 0; i < fd_count && at < w.all; i++)
        if (fds[i] >= 0 && !w.items[at++].revents)
            fds[i] = -1;
    return ready;
}
