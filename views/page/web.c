// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/web.h"

#include "base/clock.h"
#include "views/page/page_request.h"

#include <errno.h>
#include <libwebsockets.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER_MAX = 1024, CHUNK = 64 << 10 };

struct frame {
    struct frame *next;
    size_t bytes;
    bool text;
    unsigned char room[]; /* LWS_PRE bytes, then the payload */
};

/* A text that was published, as long as it is the newest one or a connection sends it. */
struct published {
    unsigned users;
    size_t length;
    char text[];
};

struct page {
    uint32_t number; /* 0: the place is free */
    struct lws *wsi;
    struct frame *first, **last;
    size_t frames, bytes;
    char *in; /* a message that is not complete yet, or that waits for room among the events */
    size_t in_bytes;
    bool waits; /* it does; nothing is read from the page */
};

struct web {
    struct gate gate; /* of the service's thread, as the next two */
    bool open, local; /* there is no gate; it serves this machine alone */
    const struct web_file *files;
    enum web_sockets sockets;
    struct lws_protocols protocols[4]; /* a connection without one gets the first; the last one has no name */
    size_t frames, message;
    struct lws
        *silent[WEB_SILENT]; /* connections that have asked for nothing yet, or for nothing more; the oldest first */
    size_t silent_count;
    struct lws_context *context;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t come;
    bool stop;
    uint32_t numbers;
    struct web_counts counts;
    struct published *newest;
    struct page pages[WEB_PAGES];
    struct web_event events[WEB_EVENTS];
    size_t event_first, event_count;
};

/* What libwebsockets keeps for each connection. */
struct connection {
    const char *body; /* of an answer by HTTP: what is left of it; NULL: nothing */
    size_t length;
    bool asked_for;              /* it is what was asked for */
    bool written;                /* all of it is written; who asked may not have taken it yet */
    struct published *published; /* what the body belongs to; NULL: it is static */
    struct page *page;           /* of a WebSocket */
};

/* ---- events and frames: with the lock ---------------------------------------------------------------------------- */

/* Texts and pages leave room for events that must not be lost: pages that end, and the token that was taken. */
static bool has_room(const struct web *w, enum web_event_kind kind)
{
    size_t kept = kind == WEB_TOKEN_TAKEN ? 0 : kind == WEB_CLOSED ? 1 : WEB_PAGES + 1;
    return w->event_count + kept < WEB_EVENTS;
}

static bool add_event(struct web *w, enum web_event_kind kind, uint32_t page, const char *text, size_t length)
{
    char *copy = NULL;
    if (!has_room(w, kind) || (text && !(copy = malloc(length + 1))))
        return false;
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    w->events[(w->event_first + w->event_count++) % WEB_EVENTS] = (struct web_event){kind, page, copy, length};
    pthread_cond_signal(&w->come);
    return true;
}

static struct page *find_page(struct web *w, uint32_t number)
{
    for (size_t i = 0; i < WEB_PAGES; i++)
        if (w->pages[i].number == number)
            return &w->pages[i];
    return NULL;
}

static void free_page(struct page *p)
{
    for (struct frame *f = p->first; f;) {
        struct frame *next = f->next;
        free(f);
        f = next;
    }
    free(p->in);
    *p = (struct page){0};
}

/* ---- HTTP: the service's thread ---------------------------------------------------------------------------------- */

static const char closed_door[] = "<!DOCTYPE html><title>bezel view</title><p>This page is for the user who started "
                                  "<code>bezel view</code>: open the file that it names, or start it again.</p>\n";
static const char open_door[] =
    "<!DOCTYPE html><title>bezel view</title><meta http-equiv=\"refresh\" content=\"0;url=/\"><a href=\"/\">on</a>\n";
static const char nothing_there[] = "<!DOCTYPE html><title>bezel view</title><p>There is no such page.</p>\n";

static bool header(struct lws *wsi, enum lws_token_indexes which, char text[HEADER_MAX])
{
    return lws_hdr_copy(wsi, text, HEADER_MAX, which) > 0;
}

static bool is_host(struct lws *wsi)
{
    char host[HEADER_MAX];
    return header(wsi, WSI_TOKEN_HOST, host) && gate_is_host(host);
}

static bool has_cookie(const struct web *w, struct lws *wsi)
{
    char cookies[HEADER_MAX];
    return header(wsi, WSI_TOKEN_HTTP_COOKIE, cookies) && gate_has_cookie(&w->gate, cookies);
}

static void count_refused(struct web *w)
{
    pthread_mutex_lock(&w->lock);
    w->counts.refused++;
    pthread_mutex_unlock(&w->lock);
}

/* With the lock. */
static void release(struct published *p)
{
    if (p && --p->users == 0)
        free(p);
}

static void end_body(struct web *w, struct connection *c, bool whole)
{
    if (!c->body)
        return;
    pthread_mutex_lock(&w->lock);
    w->counts.answered += whole && c->asked_for;
    w->counts.cut += !whole && c->asked_for;
    release(c->published);
    pthread_mutex_unlock(&w->lock);
    *c = (struct connection){.page = c->page};
}

static int add_header(struct lws *wsi, const char *name, const char *value, unsigned char **p, unsigned char *end)
{
    return lws_add_http_header_by_name(wsi, (const unsigned char *)name, (const unsigned char *)value,
                                       (int)strlen(value), p, end);
}

/* Scripts and styles come from this server alone; nothing else is loaded, and no other page may frame this one. */
static const char policy[] = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src "
                             "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/* Begins the answer with the body of `c`: its head now, the body when there is room for it. */
static int begin(struct lws *wsi, struct connection *c, unsigned status, const char *type, const char *cookie)
{
    unsigned char room[LWS_PRE + 2048], *start = room + LWS_PRE, *p = start, *end = room + sizeof room - 1;
    if (lws_add_http_common_headers(wsi, status, type, c->length, &p, end) ||
        add_header(wsi, "content-security-policy:", policy, &p, end) ||
        add_header(wsi, "x-content-type-options:", "nosniff", &p, end) ||
        add_header(wsi, "cross-origin-resource-policy:", "same-origin", &p, end) ||
        add_header(wsi, "referrer-policy:", "no-referrer", &p, end) ||
        add_header(wsi, "cache-control:", "no-store", &p, end) ||
        (cookie && add_header(wsi, "set-cookie:", cookie, &p, end)) ||
        lws_finalize_write_http_header(wsi, start, &p, end))
        return 1;
    lws_callback_on_writable(wsi);
    return 0;
}

static int answer(struct lws *wsi, struct connection *c, unsigned status, const char *type, const char *body,
                  const char *cookie)
{
    *c = (struct connection){.body = body, .length = strlen(body)};
    return begin(wsi, c, status, type, cookie);
}

static int answer_file(struct web *w, struct lws *wsi, struct connection *c, const struct web_file *f)
{
    struct published *p = NULL;
    pthread_mutex_lock(&w->lock);
    if (!f->text && w->newest) {
        p = w->newest;
        p->users++;
    }
    pthread_mutex_unlock(&w->lock);
    const char *text = p ? p->text : f->text ? f->text : "";
    *c = (struct connection){.body = text, .length = p ? p->length : strlen(text), .asked_for = true, .published = p};
    return begin(wsi, c, HTTP_STATUS_OK, f->type, NULL);
}

static void forget_silent(struct web *w, const struct lws *wsi)
{
    size_t i = 0;
    while (i < w->silent_count && w->silent[i] != wsi)
        i++;
    if (i == w->silent_count)
        return;
    w->silent_count--;
    memmove(w->silent + i, w->silent + i + 1, (w->silent_count - i) * sizeof w->silent[0]);
}

/* Of too many that ask for nothing the oldest is disconnected, so that they do not take the places of those who ask. */
static void add_silent(struct web *w, struct lws *wsi)
{
    if (w->silent_count == WEB_SILENT) {
        lws_set_timeout(w->silent[0], PENDING_TIMEOUT_AWAITING_SERVER_RESPONSE, LWS_TO_KILL_ASYNC);
        forget_silent(w, w->silent[0]);
        pthread_mutex_lock(&w->lock);
        w->counts.refused++;
        pthread_mutex_unlock(&w->lock);
    }
    w->silent[w->silent_count++] = wsi;
}

/* Writes a part of the body. One who does not take it is disconnected. */
static int write_body(struct web *w, struct lws *wsi, struct connection *c)
{
    unsigned char part[LWS_PRE + CHUNK]; /* it writes in front of the bytes */
    if (!c->body)
        return 1;
    if (c->written) { /* and what was written is on its way */
        end_body(w, c, true);
        if (lws_http_transaction_completed(wsi))
            return 1;
        add_silent(w, wsi);
        return 0;
    }
    size_t n = c->length < CHUNK ? c->length : CHUNK;
    bool last = n == c->length;
    memcpy(part + LWS_PRE, c->body, n);
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, WEB_PATIENCE_S);
    if (lws_write(wsi, part + LWS_PRE, n, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0)
        return 1;
    c->body += n;
    c->length -= n;
    c->written = last;
    lws_callback_on_writable(wsi);
    return 0;
}

/* The connection ends; who has all that was written may be the first to end it. */
static void on_http_end(struct web *w, struct lws *wsi, struct connection *c)
{
    end_body(w, c, c->written && !lws_partial_buffered(wsi));
}

/* Gives the token's browser its cookie. Scripts do not see it, and requests that other sites cause do not have it. */
static int admit(struct web *w, struct lws *wsi, struct connection *c)
{
    char cookie[160];
    snprintf(cookie, sizeof cookie, "%s=%s; HttpOnly; SameSite=Strict; Path=/", w->gate.cookie_name, w->gate.cookie);
    pthread_mutex_lock(&w->lock);
    add_event(w, WEB_TOKEN_TAKEN, 0, w->gate.token, strlen(w->gate.token));
    pthread_mutex_unlock(&w->lock);
    return answer(wsi, c, HTTP_STATUS_OK, "text/html; charset=utf-8", open_door, cookie);
}

static int on_http(struct web *w, struct lws *wsi, struct connection *c, const char *uri)
{
    char room[HEADER_MAX];
    const char *token = lws_get_urlarg_by_name(wsi, "token=", room, sizeof room);
    if (lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) <= 0) /* nothing else is done, and the token stays what it is */
        return count_refused(w), answer(wsi, c, HTTP_STATUS_METHOD_NOT_ALLOWED, "text/plain", "", NULL);
    if ((!w->open || w->local) && !is_host(wsi))
        return count_refused(w), answer(wsi, c, HTTP_STATUS_FORBIDDEN, "text/html; charset=utf-8", closed_door, NULL);
    if (!w->open && token && strcmp(uri, "/") == 0 && gate_take_token(&w->gate, token))
        return admit(w, wsi, c);
    if (!w->open && !has_cookie(w, wsi))
        return count_refused(w), answer(wsi, c, HTTP_STATUS_FORBIDDEN, "text/html; charset=utf-8", closed_door, NULL);
    for (const struct web_file *f = w->files; f->path; f++)
        if (strcmp(f->path, uri) == 0)
            return answer_file(w, wsi, c, f);
    return answer(wsi, c, HTTP_STATUS_NOT_FOUND, "text/html; charset=utf-8", nothing_there, NULL);
}

/* ---- WebSockets: the service's thread ---------------------------------------------------------------------------- */

static bool has_token(const struct web *w, struct lws *wsi)
{
    char room[HEADER_MAX];
    const char *token = lws_get_urlarg_by_name(wsi, "token=", room, sizeof room);
    return token && gate_has_token(&w->gate, token);
}

/* Pages of other sites have an origin, which programs lack. */
static bool may_upgrade(struct web *w, struct lws *wsi)
{
    char host[HEADER_MAX] = "", origin[HEADER_MAX] = "";
    (void)!header(wsi, WSI_TOKEN_HOST, host);
    (void)!header(wsi, WSI_TOKEN_ORIGIN, origin);
    bool ours = gate_is_origin(&w->gate, origin, host), may = false;
    switch (w->sockets) {
    case WEB_SOCKETS_PAGES:
        may = !w->open && gate_is_host(host) && ours && has_cookie(w, wsi);
        break;
    case WEB_SOCKETS_TOKEN:
        may = has_token(w, wsi);
        break;
    case WEB_SOCKETS_ALL:
        may = (gate_is_host(host) || !w->local) && (ours || lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) <= 0);
        break;
    }
    if (!may)
        count_refused(w);
    return may;
}

static int on_open(struct web *w, struct lws *wsi, struct connection *c)
{
    static const char full[] = "there are too many pages";
    pthread_mutex_lock(&w->lock);
    struct page *p = find_page(w, 0);
    if (p) {
        *p = (struct page){.number = ++w->numbers, .wsi = wsi};
        p->last = &p->first;
        c->page = p;
        if (!add_event(w, WEB_OPENED, p->number, NULL, 0))
            p = NULL;
    }
    w->counts.refused += !p;
    pthread_mutex_unlock(&w->lock);
    if (!p)
        lws_close_reason(wsi, LWS_CLOSE_STATUS_POLICY_VIOLATION, (unsigned char *)(uintptr_t)full, sizeof full - 1);
    return p ? 0 : -1;
}

/* Gives the message to the program. If there is no room, it waits, and nothing is read from its page meanwhile. */
static void give_message(struct web *w, struct page *p)
{
    bool waited = p->waits;
    p->waits = !add_event(w, WEB_TEXT, p->number, p->in, p->in_bytes);
    if (!p->waits) {
        free(p->in);
        p->in = NULL;
        p->in_bytes = 0;
    }
    if (p->waits != waited)
        (void)!lws_rx_flow_control(p->wsi, !p->waits);
}

/* A message of several frames is put together; one that is too long, or binary, ends its page. */
static int on_bytes(struct web *w, struct lws *wsi, struct connection *c, const char *bytes, size_t n)
{
    struct page *p = c->page;
    if (!p || lws_frame_is_binary(wsi) || p->waits || p->in_bytes + n > w->message)
        return -1;
    char *larger = realloc(p->in, p->in_bytes + n + 1);
    if (!larger)
        return -1;
    p->in = larger;
    memcpy(larger + p->in_bytes, bytes, n);
    p->in_bytes += n;
    if (!lws_is_final_fragment(wsi) || lws_remaining_packet_payload(wsi))
        return 0;
    pthread_mutex_lock(&w->lock);
    give_message(w, p);
    pthread_mutex_unlock(&w->lock);
    return 0;
}

static struct frame *take_frame(struct web *w, struct page *p)
{
    pthread_mutex_lock(&w->lock);
    struct frame *f = p->first;
    if (f) {
        p->first = f->next;
        p->last = p->first ? p->last : &p->first;
        p->frames--;
        p->bytes -= f->bytes;
    }
    pthread_mutex_unlock(&w->lock);
    return f;
}

/* Writes as much as the connection takes now. */
static int on_writable(struct web *w, struct lws *wsi, struct connection *c)
{
    struct frame *f;
    int wrote = 0;
    while (c->page && wrote >= 0) {
        if (lws_send_pipe_choked(wsi))
            return lws_callback_on_writable(wsi) < 0 ? -1 : 0;
        if (!(f = take_frame(w, c->page)))
            break;
        wrote = lws_write(wsi, f->room + LWS_PRE, f->bytes, f->text ? LWS_WRITE_TEXT : LWS_WRITE_BINARY);
        free(f);
    }
    return wrote < 0 ? -1 : 0;
}

static void on_close(struct web *w, struct connection *c)
{
    if (!c->page)
        return;
    pthread_mutex_lock(&w->lock);
    uint32_t number = c->page->number;
    free_page(c->page);
    (void)add_event(w, WEB_CLOSED, number, NULL, 0); /* else the program finds out when it sends */
    pthread_mutex_unlock(&w->lock);
    c->page = NULL;
}

static void wake_page(struct web *w, struct page *p)
{
    if (p->number && p->first)
        lws_callback_on_writable(p->wsi);
    if (p->number && p->waits)
        give_message(w, p);
}

static void wake_pages(struct web *w)
{
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < WEB_PAGES; i++)
        wake_page(w, &w->pages[i]);
    pthread_mutex_unlock(&w->lock);
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t n)
{
    struct web *w = lws_context_user(lws_get_context(wsi));
    switch (reason) {
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
        add_silent(w, wsi);
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        forget_silent(w, wsi);
        return 0;
    case LWS_CALLBACK_HTTP:
        forget_silent(w, wsi);
        return on_http(w, wsi, user, in);
    case LWS_CALLBACK_HTTP_WRITEABLE:
        return write_body(w, wsi, user);
    case LWS_CALLBACK_CLOSED_HTTP:
        if (user)
            on_http_end(w, wsi, user);
        return 0;
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: /* not to HTTP/2, which browsers do not ask for in the clear */
        return strcmp(in, "websocket") == 0 ? 0 : -1;
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        forget_silent(w, wsi);
        return may_upgrade(w, wsi) ? 0 : 1;
    case LWS_CALLBACK_ESTABLISHED:
        return on_open(w, wsi, user);
    case LWS_CALLBACK_RECEIVE:
        return on_bytes(w, wsi, user, in, n);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return on_writable(w, wsi, user);
    case LWS_CALLBACK_CLOSED:
        on_close(w, user);
        return 0;
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
        wake_pages(w);
        return 0;
    default:
        return 0;
    }
}

static void set_protocols(struct web *w, const struct web_options *o)
{
    const char *names[] = {"http", o->protocols[0] ? o->protocols[0] : "bezel-view", o->protocols[1]};
    for (size_t i = 0; i < sizeof names / sizeof *names && names[i]; i++)
        w->protocols[i] =
            (struct lws_protocols){names[i], on_event, sizeof(struct connection), i ? 4096 : 0, 0, NULL, 0};
}

static void *serve(void *web)
{
    struct web *w = web;
    for (bool stop = false; !stop;) {
        if (lws_service(w->context, 0) < 0)
            break;
        pthread_mutex_lock(&w->lock);
        stop = w->stop;
        pthread_mutex_unlock(&w->lock);
    }
    return NULL;
}

/* ---- the program's thread ---------------------------------------------------------------------------------------- */

static int make_context(struct web *w, const char *interface, uint16_t port)
{
    struct lws_context_creation_info info = {
        .port = port,
        .iface = !interface ? "127.0.0.1" : interface[0] ? interface : NULL,
        .protocols = w->protocols,
        .options = LWS_SERVER_OPTION_DISABLE_IPV6 | LWS_SERVER_OPTION_VALIDATE_UTF8,
        .gid = -1,
        .uid = -1,
        .user = w,
        .fd_limit_per_thread = WEB_CONNECTIONS,
        .timeout_secs = WEB_PATIENCE_S,
        .keepalive_timeout = WEB_PATIENCE_S,
        .server_string = "bezel",
    };
    lws_set_log_level(0, NULL);
    errno = 0;
    w->context = lws_create_context(&info);
    return w->context ? 0 : errno == EADDRINUSE ? BEZEL_EBUSY : BEZEL_ESYS;
}

int web_start(const struct web_options *o, struct web **web)
{
    struct web *w = calloc(1, sizeof *w);
    pthread_condattr_t attributes;
    if (!w)
        return BEZEL_ENOMEM;
    w->open = !o->gate || o->sockets != WEB_SOCKETS_PAGES;
    w->local = !o->interface;
    if (o->gate)
        w->gate = *o->gate;
    w->files = o->files;
    w->sockets = o->sockets;
    w->frames = o->frames ? o->frames : WEB_FRAMES;
    w->message = o->message ? o->message : PAGE_REQUEST_MAX;
    set_protocols(w, o);
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&w->come, &attributes);
    pthread_condattr_destroy(&attributes);
    int err = make_context(w, o->interface, o->port);
    if (!err && (errno = pthread_create(&w->thread, NULL, serve, w)) != 0) {
        lws_context_destroy(w->context);
        err = BEZEL_ESYS;
    }
    if (err) {
        free(w);
        return err;
    }
    *web = w;
    return 0;
}

void web_stop(struct web *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_mutex_unlock(&w->lock);
    lws_cancel_service(w->context);
    pthread_join(w->thread, NULL);
    lws_context_destroy(w->context);
    for (size_t i = 0; i < WEB_PAGES; i++)
        free_page(&w->pages[i]);
    for (size_t i = 0; i < w->event_count; i++)
        free(w->events[(w->event_first + i) % WEB_EVENTS].text);
    release(w->newest);
    pthread_cond_destroy(&w->come);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

uint16_t web_port(const struct web *w)
{
    return (uint16_t)lws_get_vhost_listen_port(lws_get_vhost_by_name(w->context, "default"));
}

bool web_next(struct web *w, int64_t timeout_ns, struct web_event *e)
{
    int64_t until = clock_now() + timeout_ns;
    struct timespec deadline = {until / CLOCK_S, until % CLOCK_S};
    pthread_mutex_lock(&w->lock);
    if (w->event_count == 0 && timeout_ns > 0)
        pthread_cond_timedwait(&w->come, &w->lock, &deadline);
    bool is_there = w->event_count > 0, waits = false;
    if (is_there) {
        *e = w->events[w->event_first];
        w->event_first = (w->event_first + 1) % WEB_EVENTS;
        w->event_count--;
    }
    for (size_t i = 0; i < WEB_PAGES && is_there; i++)
        waits = waits || w->pages[i].waits;
    pthread_mutex_unlock(&w->lock);
    if (waits)
        lws_cancel_service(w->context);
    return is_there;
}

static bool is_full(const struct web *w, const struct page *p, size_t bytes)
{
    return p->frames >= w->frames || p->bytes + bytes > WEB_BYTES;
}

bool web_has_room(struct web *w, uint32_t page)
{
    pthread_mutex_lock(&w->lock);
    const struct page *p = find_page(w, page);
    bool room = !p || (p->frames < w->frames / 2 && p->bytes < WEB_BYTES / 2);
    pthread_mutex_unlock(&w->lock);
    return room;
}

int web_send(struct web *w, uint32_t page, const void *bytes, size_t n, bool text)
{
    struct frame *f = malloc(sizeof *f + LWS_PRE + n);
    if (!f)
        return BEZEL_ENOMEM;
    *f = (struct frame){.bytes = n, .text = text};
    memcpy(f->room + LWS_PRE, bytes, n);
    pthread_mutex_lock(&w->lock);
    struct page *p = find_page(w, page);
    int err = !p ? BEZEL_ENOENT : is_full(w, p, n) ? BEZEL_EAGAIN : 0;
    bool wake = !err && !p->first; /* else the service is about to write */
    if (!err) {
        *p->last = f;
        p->last = &f->next;
        p->frames++;
        p->bytes += n;
    }
    pthread_mutex_unlock(&w->lock);
    if (err)
        free(f);
    else if (wake)
        lws_cancel_service(w->context);
    return err;
}

int web_publish(struct web *w, const char *text, size_t n)
{
    struct published *p = malloc(sizeof *p + n);
    if (!p)
        return BEZEL_ENOMEM;
    *p = (struct published){.users = 1, .length = n};
    memcpy(p->text, text, n);
    pthread_mutex_lock(&w->lock);
    release(w->newest);
    w->newest = p;
    pthread_mutex_unlock(&w->lock);
    return 0;
}

struct web_counts web_counts(struct web *w)
{
    pthread_mutex_lock(&w->lock);
    struct web_counts counts = w->counts;
    pthread_mutex_unlock(&w->lock);
    return counts;
}
