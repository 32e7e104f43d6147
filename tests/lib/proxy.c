// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/proxy.h"

#include "base/clock.h"
#include "tests/lib/namespaces.h"
#include "tests/lib/seed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A connection is two sockets and two queues of pieces, one for each way. A piece is what one read() gave, with the
 * moment from which it may leave. A socket that ended is -1; a queue whose sending end is gone is dropped, one whose
 * reading end is gone is delivered first.
 */

enum {
    FLOWS = 4096,
    PIECE = 16384,
    QUEUE_BYTES = 8 << 20,  /* of one way: beyond it nothing is taken from who sends */
    SLOW_TURN_NS = 5000000, /* a slowed way is looked at this often */
};

enum verb { SET, CUT, ORPHAN, LEAD, COUNT };

struct command {
    enum verb verb;
    struct proxy_mode mode;
    uint16_t up;
};

struct piece {
    struct piece *next;
    int64_t due;
    size_t size, taken;
    uint8_t data[];
};

struct queue {
    struct piece *first, **last;
    size_t bytes;
    int64_t due;    /* of the newest piece: none overtakes it */
    int64_t filled; /* when `allowance` was last added to */
    double allowance;
};

struct flow {
    int ends[2]; /* by enum proxy_way: who sends that way, so [PROXY_UP] is who connected */
    struct queue queues[2];
    bool connecting, orphan;
};

struct state {
    struct flow *flows[FLOWS];
    size_t count;
    int control, listener, above; /* above: namespace to connect in, or -1 */
    int below;
    struct in_addr address;
    uint16_t up;
    struct proxy_mode mode;
    struct proxy_counts counts;
    uint64_t seed, until_corrupt;
};

/* ---- queues ------------------------------------------------------------------------------------------------------ */

static void queue_drop(struct queue *q)
{
    while (q->first) {
        struct piece *p = q->first;
        q->first = p->next;
        free(p);
    }
    q->last = &q->first;
    q->bytes = 0;
}

static void damage(struct state *s, uint8_t *data, size_t n)
{
    for (size_t at = 0; s->mode.corrupt_every;) {
        if (s->until_corrupt >= n - at) {
            s->until_corrupt -= n - at;
            return;
        }
        at += s->until_corrupt;
        data[at] ^= (uint8_t)(1u << seed_next(&s->seed) % 8);
        s->counts.corrupted++;
        s->until_corrupt = 1 + seed_next(&s->seed) % (2 * s->mode.corrupt_every);
    }
}

static void queue_add(struct state *s, struct queue *q, const uint8_t *data, size_t n)
{
    struct piece *p = malloc(sizeof *p + n);
    if (!p)
        abort();
    *p = (struct piece){.size = n, .due = clock_now() + s->mode.delay};
    memcpy(p->data, data, n);
    damage(s, p->data, n);
    if (s->mode.jitter)
        p->due += (int64_t)(seed_next(&s->seed) % (uint64_t)s->mode.jitter);
    if (p->due < q->due)
        p->due = q->due;
    q->due = p->due;
    q->bytes += n;
    *q->last = p;
    q->last = &p->next;
}

/* How many bytes may leave now. */
static size_t allowed(const struct state *s, struct queue *q, int64_t now)
{
    if (!s->mode.bytes_per_s)
        return SIZE_MAX;
    double most = (double)s->mode.bytes_per_s / 20 + 1;
    q->allowance += (double)(now - q->filled) * (double)s->mode.bytes_per_s / (double)CLOCK_S;
    q->filled = now;
    if (q->allowance > most)
        q->allowance = most;
    return (size_t)q->allowance;
}

/* Delivers what is due. False: the receiver is gone. */
static bool queue_deliver(struct state *s, struct queue *q, int to, enum proxy_way way, int64_t now)
{
    size_t may = allowed(s, q, now);
    while (q->first && q->first->due <= now && may > 0 && !s->mode.hold[way]) {
        struct piece *p = q->first;
        size_t n = p->size - p->taken < may ? p->size - p->taken : may;
        ssize_t sent = send(to, p->data + p->taken, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0)
            return errno == EAGAIN || errno == EINTR;
        q->bytes -= (size_t)sent;
        s->counts.bytes[way] += (uint64_t)sent;
        may -= (size_t)sent;
        if (s->mode.bytes_per_s)
            q->allowance -= (double)sent;
        if ((p->taken += (size_t)sent) < p->size)
            continue;
        if (!(q->first = p->next))
            q->last = &q->first;
        free(p);
    }
    return true;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static void end_close(int *fd, bool reset)
{
    if (*fd >= 0 && reset)
        setsockopt(*fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void flow_free(struct flow *f, bool reset)
{
    for (int way = PROXY_UP; way <= PROXY_DOWN; way++) {
        end_close(&f->ends[way], reset);
        queue_drop(&f->queues[way]);
    }
    free(f);
}

static int socket_here(void)
{
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

/* A socket belongs to the namespace that it was made in. */
static int socket_above(const struct state *s)
{
    if (s->above >= 0 && setns(s->above, CLONE_NEWNET) != 0)
        abort();
    int fd = socket_here();
    if (s->above >= 0 && setns(s->below, CLONE_NEWNET) != 0)
        abort();
    return fd;
}

static struct sockaddr_in address_of(const struct state *s, uint16_t port)
{
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = s->address};
}

static void flow_accept(struct state *s)
{
    int near = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (near < 0)
        return;
    s->counts.accepted++;
    struct flow *f = calloc(1, sizeof *f);
    if (!f || s->count == FLOWS) {
        free(f);
        end_close(&near, true);
        return;
    }
    f->ends[PROXY_UP] = near;
    f->ends[PROXY_DOWN] = socket_above(s);
    for (int way = PROXY_UP; way <= PROXY_DOWN; way++)
        queue_drop(&f->queues[way]);
    struct sockaddr_in at = address_of(s, s->up);
    int err = connect(f->ends[PROXY_DOWN], (struct sockaddr *)&at, sizeof at);
    if (err != 0 && errno != EINPROGRESS) {
        flow_free(f, true);
        return;
    }
    f->connecting = err != 0;
    s->flows[s->count++] = f;
}

/* Takes what who sends this way has sent. False: it has ended. */
static bool flow_take(struct state *s, struct flow *f, enum proxy_way way)
{
    uint8_t bytes[PIECE];
    ssize_t n = recv(f->ends[way], bytes, sizeof bytes, MSG_DONTWAIT);
    if (n > 0)
        queue_add(s, &f->queues[way], bytes, (size_t)n);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* False: the connection is over. */
static bool flow_turn(struct state *s, struct flow *f, const struct pollfd *fds, int64_t now)
{
    if (f->connecting && fds[PROXY_DOWN].revents) {
        int error = 0;
        socklen_t size = sizeof error;
        getsockopt(f->ends[PROXY_DOWN], SOL_SOCKET, SO_ERROR, &error, &size);
        if (error)
            return false;
        f->connecting = false;
    }
    for (int way = PROXY_UP; way <= PROXY_DOWN; way++) {
        bool gone = f->ends[way] < 0;
        if (!gone && fds[way].revents & (POLLIN | POLLHUP | POLLERR) && !(way == PROXY_DOWN && f->connecting))
            gone = !flow_take(s, f, (enum proxy_way)way);
        int to = f->ends[!way];
        if (to >= 0 && !f->connecting && !queue_deliver(s, &f->queues[way], to, (enum proxy_way)way, now))
            return false;
        if (gone && !f->orphan && f->ends[way] >= 0 && f->queues[way].first)
            end_close(&f->ends[way], false); /* what it said last is still to be delivered */
        if (f->ends[way] < 0 || gone)
            if (!f->queues[way].first || f->ends[!way] < 0)
                return false;
    }
    return true;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static void cut_all(struct state *s)
{
    for (size_t i = 0; i < s->count; i++)
        flow_free(s->flows[i], true);
    s->count = 0;
}

static void orphan_all(struct state *s)
{
    for (size_t i = 0; i < s->count; i++) {
        struct flow *f = s->flows[i];
        while (f->ends[PROXY_UP] >= 0) { /* what has arrived is not lost with the socket */
            struct pollfd fd = {.fd = f->ends[PROXY_UP], .events = POLLIN};
            if (poll(&fd, 1, 0) <= 0 || !flow_take(s, f, PROXY_UP))
                break;
        }
        end_close(&f->ends[PROXY_UP], true);
        queue_drop(&f->queues[PROXY_DOWN]);
        f->orphan = true;
    }
}

static void count_all(struct state *s)
{
    s->counts.open = (uint32_t)s->count;
    s->counts.held[PROXY_UP] = s->counts.held[PROXY_DOWN] = 0;
    s->counts.orphans = 0;
    for (size_t i = 0; i < s->count; i++)
        s->counts.orphans += s->flows[i]->orphan;
    for (size_t i = 0; i < s->count; i++)
        for (int way = PROXY_UP; way <= PROXY_DOWN; way++)
            s->counts.held[way] += s->flows[i]->queues[way].bytes;
}

static void obey(struct state *s)
{
    struct command c;
    if (recv(s->control, &c, sizeof c, 0) != (ssize_t)sizeof c)
        _exit(0);
    if (c.verb == SET) {
        s->mode = c.mode;
        s->until_corrupt = c.mode.corrupt_every ? 1 + seed_next(&s->seed) % (2 * c.mode.corrupt_every) : 0;
    } else if (c.verb == CUT) {
        cut_all(s);
    } else if (c.verb == ORPHAN) {
        orphan_all(s);
    } else if (c.verb == LEAD) {
        s->up = c.up;
    }
    count_all(s);
    if (send(s->control, &s->counts, sizeof s->counts, MSG_NOSIGNAL) < 0)
        _exit(0);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* What is to be waited for of one end; *until: when something falls due. */
static short awaited(const struct state *s, const struct flow *f, enum proxy_way end, int64_t now, int64_t *until)
{
    const struct queue *in = &f->queues[end], *out = &f->queues[!end];
    short events = in->bytes < QUEUE_BYTES ? POLLIN : 0;
    if (end == PROXY_DOWN && f->connecting)
        return POLLOUT;
    if (!out->first || s->mode.hold[!end])
        return events;
    int64_t due = s->mode.bytes_per_s ? now + SLOW_TURN_NS : out->first->due;
    if (due <= now)
        return events | POLLOUT;
    if (due < *until)
        *until = due;
    return events;
}

static void turn(struct state *s)
{
    static struct pollfd fds[2 + 2 * FLOWS];
    int64_t now = clock_now(), until = now + CLOCK_S;
    fds[0] = (struct pollfd){.fd = s->control, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = s->listener, .events = POLLIN};
    for (size_t i = 0; i < s->count; i++)
        for (int end = PROXY_UP; end <= PROXY_DOWN; end++)
            fds[2 + 2 * i + (size_t)end] = (struct pollfd){
                .fd = s->flows[i]->ends[end], .events = awaited(s, s->flows[i], (enum proxy_way)end, now, &until)};
    struct timespec wait = {.tv_sec = (until - now) / CLOCK_S, .tv_nsec = (until - now) % CLOCK_S};
    if (ppoll(fds, 2 + 2 * s->count, &wait, NULL) < 0 && errno != EINTR)
        abort();
    size_t left = 0;
    now = clock_now();
    for (size_t i = 0; i < s->count; i++) {
        if (flow_turn(s, s->flows[i], fds + 2 + 2 * i, now))
            s->flows[left++] = s->flows[i];
        else
            flow_free(s->flows[i], false);
    }
    s->count = left;
    if (fds[1].revents)
        flow_accept(s);
    if (fds[0].revents)
        obey(s);
}

static uint16_t listen_on(struct state *s, uint16_t port)
{
    int one = 1;
    struct sockaddr_in at = address_of(s, port);
    socklen_t size = sizeof at;
    s->listener = socket_here();
    setsockopt(s->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(s->listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(s->listener, 1024) != 0 ||
        getsockname(s->listener, (struct sockaddr *)&at, &size) != 0)
        return 0;
    return ntohs(at.sin_port);
}

static _Noreturn void serve(int control, const char *address, uint16_t up, bool apart, uint64_t seed)
{
    struct state *s = calloc(1, sizeof *s);
    if (!s)
        _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    *s = (struct state){.control = control, .up = up, .seed = seed, .above = -1, .below = -1};
    if (inet_pton(AF_INET, address, &s->address) != 1)
        _exit(1);
    if (apart) {
        s->above = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
        apart = s->above >= 0 && namespaces_new_network();
        s->below = apart ? open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC) : -1;
        s->above = apart ? s->above : -1;
    }
    struct proxy p = {.apart = apart, .port = listen_on(s, apart ? up : 0)};
    if (send(control, &p, sizeof p, MSG_NOSIGNAL) < 0 || p.port == 0)
        _exit(1);
    for (;;)
        turn(s);
}

/* ---- who commands ------------------------------------------------------------------------------------------------ */

static bool command(struct proxy *p, const struct command *c, struct proxy_counts *counts)
{
    struct proxy_counts ignored;
    return send(p->control, c, sizeof *c, MSG_NOSIGNAL) == (ssize_t)sizeof *c &&
           recv(p->control, counts ? counts : &ignored, sizeof ignored, 0) == (ssize_t)sizeof ignored;
}

bool proxy_start(struct proxy *p, const char *address, uint16_t up, bool apart, uint64_t seed)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        serve(ends[1], address, up, apart, seed);
    }
    close(ends[1]);
    bool serves = pid > 0 && recv(ends[0], p, sizeof *p, 0) == (ssize_t)sizeof *p && p->port != 0;
    p->pid = pid;
    p->control = ends[0];
    if (!serves && pid > 0)
        proxy_stop(p);
    return serves;
}

void proxy_stop(struct proxy *p)
{
    if (p->pid <= 0)
        return;
    close(p->control);
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    p->pid = 0;
}

bool proxy_set(struct proxy *p, const struct proxy_mode *mode)
{
    return command(p, &(struct command){.verb = SET, .mode = *mode}, NULL);
}

bool proxy_cut(struct proxy *p)
{
    return command(p, &(struct command){.verb = CUT}, NULL);
}

bool proxy_orphan(struct proxy *p)
{
    return command(p, &(struct command){.verb = ORPHAN}, NULL);
}

bool proxy_lead(struct proxy *p, uint16_t up)
{
    return command(p, &(struct command){.verb = LEAD, .up = up}, NULL);
}

bool proxy_count(struct proxy *p, struct proxy_counts *counts)
{
    return command(p, &(struct command){.verb = COUNT}, counts);
}
