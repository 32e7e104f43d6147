// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mediators/metrics/push.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <libwebsockets.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { URL_MAX = 1024, WHY_MAX = 200, PART = 64 << 10, OK_FIRST = 200, OK_LAST = 299, END_PATIENCE_S = 12 };

struct text {
    char *bytes; /* NULL: there is none */
    size_t length;
};

struct push {
    char url[URL_MAX], host[URL_MAX], path[URL_MAX]; /* url: as it was given, for messages */
    char credentials[PUSH_CREDENTIALS_MAX];
    bool secure;
    int port;
    pthread_t thread;
    pthread_mutex_t lock; /* of the next four */
    pthread_cond_t change;
    struct text next; /* to be sent */
    struct push_counts counts;
    bool stop, ended;
    char trouble[WHY_MAX]; /* of the thread, as all below: the last attempt's; "": it succeeded */
};

/* An attempt. */
struct attempt {
    const struct push *p;
    const struct text *text;
    size_t sent;
    bool connected, late, done;
    unsigned status;          /* 0: no answer came */
    char reason[WHY_MAX / 2]; /* that libwebsockets gives */
    char why[WHY_MAX];
    struct lws_context *context;
    lws_sorted_usec_list_t deadline;
};

/* ---- one attempt ------------------------------------------------------------------------------------------------- */

static int put_headers(struct lws *wsi, const struct attempt *a, unsigned char **at, unsigned char *end)
{
    static const char type[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    const char *credentials = a->p->credentials;
    char length[24];
    int n = snprintf(length, sizeof length, "%zu", a->text->length);
    if (lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, (unsigned char *)length, n, at, end) ||
        lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_CONTENT_TYPE, (const unsigned char *)type, sizeof type - 1, at,
                                     end) ||
        (credentials[0] &&
         lws_add_http_header_by_token(wsi, WSI_TOKEN_HTTP_AUTHORIZATION, (const unsigned char *)credentials,
                                      (int)strlen(credentials), at, end)))
        return -1;
    lws_client_http_body_pending(wsi, 1);
    lws_callback_on_writable(wsi);
    return 0;
}

static int put_part(struct lws *wsi, struct attempt *a)
{
    unsigned char part[LWS_PRE + PART];
    size_t n = a->text->length - a->sent < PART ? a->text->length - a->sent : PART;
    bool last = a->sent + n == a->text->length;
    memcpy(part + LWS_PRE, a->text->bytes + a->sent, n);
    if (lws_write(wsi, part + LWS_PRE, n, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP) < 0)
        return -1;
    a->sent += n;
    if (last)
        lws_client_http_body_pending(wsi, 0);
    else
        lws_callback_on_writable(wsi);
    return 0;
}

static int skip_answer(struct lws *wsi)
{
    char room[LWS_PRE + 1024], *at = room + LWS_PRE;
    int n = sizeof room - LWS_PRE;
    return lws_http_client_read(wsi, &at, &n) < 0 ? -1 : 0;
}

/*
 * Ends the attempt. What runs out may end it before lws_service() waits, which would then be for what is due next. Once
 * it is done, the context may be in destruction, which closes connections.
 */
static void end_attempt(struct attempt *a)
{
    if (!a->done)
        lws_cancel_service(a->context);
    a->done = true;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t n)
{
    struct attempt *a = lws_context_user(lws_get_context(wsi));
    (void)user;
    switch (reason) {
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
        a->connected = true;
        return put_headers(wsi, a, in, *(unsigned char **)in + n);
    case LWS_CALLBACK_CLIENT_HTTP_WRITEABLE:
        return a->sent < a->text->length ? put_part(wsi, a) : 0;
    case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP:
        a->status = lws_http_client_http_response(wsi);
        return 0;
    case LWS_CALLBACK_RECEIVE_CLIENT_HTTP:
        return skip_answer(wsi);
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
        snprintf(a->reason, sizeof a->reason, "%.*s", in ? (int)n : 0, in ? (const char *)in : "");
        end_attempt(a);
        return 0;
    case LWS_CALLBACK_COMPLETED_CLIENT_HTTP:
        end_attempt(a);
        return -1;
    case LWS_CALLBACK_CLOSED_CLIENT_HTTP:
        end_attempt(a);
        return 0;
    default:
        return 0;
    }
}

static void on_deadline(lws_sorted_usec_list_t *deadline)
{
    struct attempt *a = lws_container_of(deadline, struct attempt, deadline);
    a->late = true;
    end_attempt(a);
}

static void connect_to(struct lws_context *context, struct attempt *a)
{
    const struct push *p = a->p;
    struct lws_client_connect_info info = {
        .context = context,
        .address = p->host,
        .port = p->port,
        .path = p->path,
        .host = p->host,
        .method = "POST",
        .alpn = "http/1.1",
        .ssl_connection = LCCSCF_HTTP_NO_FOLLOW_REDIRECT | (p->secure ? LCCSCF_USE_SSL : 0),
    };
    a->context = context;
    lws_sul_schedule(context, 0, &a->deadline, on_deadline, PUSH_PATIENCE_S * LWS_US_PER_SEC);
    if (!lws_client_connect_via_info(&info))
        a->done = true;
    while (!a->done && lws_service(context, 0) >= 0)
        ;
    a->done = true;
    lws_sul_schedule(context, 0, &a->deadline, on_deadline, LWS_SET_TIMER_USEC_CANCEL);
}

/* What a status says, as the end of a sentence. */
static const char *status_text(unsigned status)
{
    switch (status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
        return ": it takes metrics elsewhere; give the address that its answer names (Location)";
    case 401:
    case 403:
        return ": it refuses the credentials; give others (--push-credentials)";
    case 404:
    case 405:
        return ": it takes no metrics at this path";
    case 413:
        return ": the text is too large for it; allow fewer series (--series)";
    default:
        return status >= 500 ? ": it is in trouble itself" : "";
    }
}

/* Why the attempt failed, in words; "": it did not. */
static void conclude(struct attempt *a)
{
    if (a->status >= OK_FIRST && a->status <= OK_LAST)
        a->why[0] = '\0';
    else if (a->status > 0)
        snprintf(a->why, sizeof a->why, "it answers with status %u%s", a->status, status_text(a->status));
    else if (a->late)
        snprintf(a->why, sizeof a->why, "no answer within %d s", PUSH_PATIENCE_S);
    else if (a->connected)
        snprintf(a->why, sizeof a->why, "the connection ended before an answer came");
    else
        snprintf(a->why, sizeof a->why, "cannot connect: %s", a->reason[0] ? a->reason : "no memory or descriptors");
}

static void attempt(const struct push *p, struct attempt *a)
{
    static const struct lws_protocols protocols[] = {{"http", on_event, 0, 0, 0, NULL, 0},
                                                     {NULL, NULL, 0, 0, 0, NULL, 0}};
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .protocols = protocols,
        .options = p->secure ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0,
        .gid = -1,
        .uid = -1,
        .user = a,
        .fd_limit_per_thread = 8,
        .timeout_secs = PUSH_PATIENCE_S,
    };
    struct lws_context *context = lws_create_context(&info);
    if (context) {
        connect_to(context, a);
        lws_context_destroy(context);
    } else
        a->done = true;
    conclude(a);
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static void say(struct push *p, const char *why)
{
    if (why[0] && strcmp(why, p->trouble) != 0)
        log_warn("BEZEL-METRICS-PUSH",
                 "%s does not take metrics: %s; the run goes on, and newer metrics are offered as they come", p->url,
                 why);
    else if (!why[0] && p->trouble[0])
        log_info("BEZEL-METRICS-PUSH", "%s takes metrics again", p->url);
    snprintf(p->trouble, sizeof p->trouble, "%s", why);
}

static void send_text(struct push *p, const struct text *text)
{
    struct attempt a = {.p = p, .text = text};
    attempt(p, &a);
    say(p, a.why);
    pthread_mutex_lock(&p->lock);
    p->counts.taken += !a.why[0];
    p->counts.refused += a.why[0] != '\0';
    pthread_mutex_unlock(&p->lock);
}

/* Waits for a text. Returns whether there is one: else it is to stop. */
static bool next_text(struct push *p, struct text *text)
{
    pthread_mutex_lock(&p->lock);
    while (!p->next.bytes && !p->stop)
        pthread_cond_wait(&p->change, &p->lock);
    *text = p->next;
    p->next = (struct text){0};
    p->ended = !text->bytes;
    pthread_cond_broadcast(&p->change);
    pthread_mutex_unlock(&p->lock);
    return text->bytes;
}

static void *run(void *push)
{
    struct text text;
    while (next_text(push, &text)) {
        send_text(push, &text);
        free(text.bytes);
    }
    return NULL;
}

/* ---- what is offered --------------------------------------------------------------------------------------------- */

void push_offer(struct push *p, const char *bytes, size_t n)
{
    char *copy = malloc(n);
    if (copy)
        memcpy(copy, bytes, n);
    pthread_mutex_lock(&p->lock);
    p->counts.missed += p->next.bytes || !copy;
    if (copy) {
        free(p->next.bytes);
        p->next = (struct text){copy, n};
    }
    pthread_cond_broadcast(&p->change);
    pthread_mutex_unlock(&p->lock);
}

struct push_counts push_counts(struct push *p)
{
    pthread_mutex_lock(&p->lock);
    struct push_counts counts = p->counts;
    pthread_mutex_unlock(&p->lock);
    return counts;
}

/* A thread that a look-up of a name holds up is left to the end of the process, with what it uses. */
void push_close(struct push *p)
{
    if (!p)
        return;
    int64_t until = clock_now() + END_PATIENCE_S * CLOCK_S;
    struct timespec deadline = {until / CLOCK_S, until % CLOCK_S};
    int sys = 0;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->change);
    while (!p->ended && sys == 0)
        sys = pthread_cond_timedwait(&p->change, &p->lock, &deadline);
    bool ended = p->ended;
    pthread_mutex_unlock(&p->lock);
    if (!ended)
        return;
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->change);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* Splits the URL. lws_parse_uri() writes into the text that it is given. */
static const char *read_url(struct push *p, const char *url)
{
    char text[URL_MAX];
    const char *scheme, *host, *path;
    if (strlen(url) >= URL_MAX)
        return "it is too long";
    if (strchr(url, '@'))
        return "credentials do not belong into it, where others see them: give a file (--push-credentials)";
    snprintf(p->url, sizeof p->url, "%s", url);
    snprintf(text, sizeof text, "%s", url);
    if (!strstr(url, "://") || lws_parse_uri(text, &scheme, &host, &p->port, &path) != 0 || !host[0])
        return "expected: http://HOST:PORT/PATH, or https://";
    p->secure = strcmp(scheme, "https") == 0;
    if (!p->secure && strcmp(scheme, "http") != 0)
        return "expected: http:// or https://";
    snprintf(p->host, sizeof p->host, "%s", host);
    snprintf(p->path, sizeof p->path, "/%s", path);
    return p->port < 1 || p->port > UINT16_MAX ? "the port is from 1 to 65535" : NULL;
}

static int read_credentials(struct push *p, const char *file)
{
    char *text;
    size_t n;
    int err = file ? file_read(file, sizeof p->credentials - 1, &text, &n) : 0;
    if (!file || err)
        return err;
    snprintf(p->credentials, sizeof p->credentials, "%.*s", (int)strcspn(text, "\r\n"), text);
    free(text);
    return 0;
}

int push_open(const char *url, const char *credentials, struct push **opened, const char **why)
{
    struct push *p = calloc(1, sizeof *p);
    pthread_condattr_t attributes;
    if (!p)
        return BEZEL_ENOMEM;
    *why = read_url(p, url);
    int err = *why ? BEZEL_EINVAL : read_credentials(p, credentials);
    lws_set_log_level(0, NULL);
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&p->change, &attributes);
    pthread_condattr_destroy(&attributes);
    if (!err && (errno = pthread_create(&p->thread, NULL, run, p)) != 0)
        err = BEZEL_ESYS;
    if (err) {
        free(p);
        return err;
    }
    *opened = p;
    return 0;
}
