// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * A run is one stream of JetStream, "bezel-NAME", with a subject for each key, "bezel.NAME.KEY". In both, bytes that
 * NATS gives a meaning are written as =XX; nats-server takes a % in the name of a stream for a format of its own.
 *
 * The library's threads call failed_to_put() alone, under its own lock; it writes `lost` and its text once, under ours.
 */
#include "mediators/engine/engine_ops.h"

#include "base/checksum.h"

#include <ctype.h>
#include <inttypes.h>
#include <nats/nats.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WAIT_MS = 5000, /* for an answer */
    UNDER_WAY = 512,
    ESCAPED = 3 * ENGINE_NAME_MAX + 1,
    SUBJECT = 2 * ESCAPED + 8,
    REPLICAS = 3,
    STREAM_MAX = 255, /* bytes: NATS's own limit */
    READERS = 5,      /* that are asked for, until one is there */
};

struct jetstream {
    struct engine engine;
    natsOptions *options;
    natsConnection *connection;
    jsCtx *js;
    natsSubscription *subscription;
    natsMsg *message;  /* that the caller borrows */
    uint64_t at, last; /* numbers of the message that was read last, and of the last one that is known; 0: none */
    char stream[ESCAPED + 8], prefix[ESCAPED + 8];
    pthread_mutex_t lock;
    bool lost;
    char lost_why[ENGINE_WHY_MAX];
};

/* The library puts a place in its source in front of what the server said. */
static int fail_with(struct jetstream *e, natsStatus s, const char *what)
{
    natsStatus last = NATS_OK;
    const char *text = natsStatus_GetText(s), *more = nats_GetLastError(&last);
    const char *said = more ? strstr(more, "): ") : NULL;
    said = said && strcmp(said + 3, text) != 0 ? said + 3 : NULL;
    return engine_fail(&e->engine, BEZEL_EUNREACH, "%s: %s%s%s", what, text, said ? ": " : "", said ? said : "");
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Of `text`, what NATS takes in the name of a stream, and in a part of a subject. */
static void escape(const char *text, char out[ESCAPED])
{
    size_t n = 0;
    for (const unsigned char *c = (const unsigned char *)text; *c && n + 3 < ESCAPED; c++)
        if (isalnum(*c) || *c == '-' || *c == '_')
            out[n++] = (char)*c;
        else
            n += (size_t)snprintf(out + n, ESCAPED - n, "=%02X", *c);
    out[n] = '\0';
}

static const char *subject_of(const struct jetstream *e, const char *key, char out[SUBJECT])
{
    char escaped[ESCAPED];
    escape(key, escaped);
    snprintf(out, SUBJECT, "%s.%s", e->prefix, escaped);
    return out;
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

static void failed_to_put(jsCtx *js, jsPubAckErr *ack, void *context)
{
    struct jetstream *e = context;
    (void)js;
    pthread_mutex_lock(&e->lock);
    if (!e->lost)
        snprintf(e->lost_why, sizeof e->lost_why, "a message was not taken: %s",
                 ack->ErrText && *ack->ErrText ? ack->ErrText : natsStatus_GetText(ack->Err));
    e->lost = true;
    pthread_mutex_unlock(&e->lock);
}

static int check_put(struct jetstream *e)
{
    pthread_mutex_lock(&e->lock);
    bool lost = e->lost;
    if (lost)
        memcpy(e->engine.why, e->lost_why, sizeof e->engine.why);
    pthread_mutex_unlock(&e->lock);
    return lost ? BEZEL_EUNREACH : 0;
}

static const char *setting(const char *name)
{
    const struct engine_setting *s = engine_settings;
    while (s->name && strcmp(s->name, name) != 0)
        s++;
    return s->value;
}

static int check_settings(struct jetstream *e)
{
    static const char known[] = " user password token credentials ca certificate key ";
    char name[ENGINE_NAME_MAX];
    for (const struct engine_setting *s = engine_settings; s->name; s++)
        if (snprintf(name, sizeof name, " %s ", s->name) >= (int)sizeof name || !strstr(known, name))
            return engine_fail(&e->engine, BEZEL_EINVAL, "NATS takes no '%.40s' of --credentials, but%s", s->name,
                               known);
    return 0;
}

static natsStatus set_credentials(natsOptions *o)
{
    const char *user = setting("user"), *password = setting("password"), *token = setting("token"),
               *file = setting("credentials"), *ca = setting("ca"), *certificate = setting("certificate"),
               *key = setting("key");
    natsStatus s = user ? natsOptions_SetUserInfo(o, user, password ? password : "") : NATS_OK;
    if (s == NATS_OK && token)
        s = natsOptions_SetToken(o, token);
    if (s == NATS_OK && file)
        s = natsOptions_SetUserCredentialsFromFiles(o, file, NULL);
    if (s == NATS_OK && (ca || certificate))
        s = natsOptions_SetSecure(o, true);
    if (s == NATS_OK && ca)
        s = natsOptions_LoadCATrustedCertificates(o, ca);
    if (s == NATS_OK && certificate)
        s = natsOptions_LoadCertificatesChain(o, certificate, key ? key : certificate);
    return s;
}

static int fail_to_connect(struct jetstream *e, natsStatus s)
{
    int err = fail_with(e, s, "no server takes the connection");
    if (s != NATS_CONNECTION_AUTH_FAILED)
        return err;
    return engine_fail(&e->engine, BEZEL_EPERM, "the server refuses the credentials: give others (--credentials)");
}

/* A connection that breaks stays broken: whoever puts messages asks anew what the engine has. */
static int connect_to(struct jetstream *e, const struct engine_servers *servers)
{
    jsOptions o;
    int err = check_settings(e);
    if (err)
        return err;
    natsStatus s = natsOptions_Create(&e->options);
    if (s == NATS_OK)
        s = natsOptions_SetServers(e->options, (const char **)(uintptr_t)servers->urls, servers->count);
    if (s == NATS_OK)
        s = natsOptions_SetAllowReconnect(e->options, false);
    if (s == NATS_OK)
        s = natsOptions_SetTimeout(e->options, WAIT_MS);
    if (s == NATS_OK)
        s = natsOptions_SetName(e->options, "bezel");
    if (s == NATS_OK && (s = set_credentials(e->options)) != NATS_OK)
        return fail_with(e, s, "the credentials cannot be used") ? BEZEL_EINVAL : 0;
    if (s == NATS_OK)
        s = natsConnection_Connect(&e->connection, e->options);
    if (s != NATS_OK)
        return fail_to_connect(e, s);
    jsOptions_Init(&o);
    o.Wait = WAIT_MS;
    o.PublishAsync.MaxPending = UNDER_WAY;
    o.PublishAsync.StallWait = WAIT_MS;
    o.PublishAsync.ErrHandler = failed_to_put;
    o.PublishAsync.ErrHandlerClosure = e;
    s = natsConnection_JetStream(&e->js, e->connection, &o);
    return s == NATS_OK ? 0 : fail_with(e, s, "the connection cannot be used");
}

static int fail_at_stream(struct jetstream *e, natsStatus s, jsErrCode code)
{
    if (code == JSNotEnabledErr || code == JSNotEnabledForAccountErr || s == NATS_NO_RESPONDERS)
        return engine_fail(&e->engine, BEZEL_EUNREACH,
                           "the server has no JetStream: start it with -js, or for this account");
    if (code == JSStreamSubjectOverlapErr)
        return engine_fail(&e->engine, BEZEL_EINVAL, "a stream that is not Bezel's has the subjects %s.>", e->prefix);
    return fail_with(e, s, "JetStream has no place for the run");
}

static int make_stream(struct jetstream *e, int servers)
{
    jsStreamConfig c;
    jsErrCode code = 0;
    char subjects[SUBJECT];
    const char *all[] = {subjects};
    snprintf(subjects, sizeof subjects, "%s.>", e->prefix);
    jsStreamConfig_Init(&c);
    c.Name = e->stream;
    c.Description = "A run of Bezel";
    c.Subjects = all;
    c.SubjectsLen = 1;
    c.Storage = js_FileStorage;
    c.Replicas = servers < REPLICAS ? servers : REPLICAS;
    natsStatus s = js_AddStream(NULL, e->js, &c, NULL, &code);
    return s == NATS_OK ? 0 : fail_at_stream(e, s, code);
}

/* Of a stream that is read: whether all of it is there, and where it ends. */
static int take_state(struct jetstream *e, const jsStreamState *state)
{
    e->last = state->Msgs ? state->LastSeq : 0;
    if (state->LastSeq != state->Msgs)
        return engine_fail(&e->engine, BEZEL_EMALFORMED,
                           "%" PRIu64 " messages of the run have expired at the engine, or are deleted",
                           state->LastSeq - state->Msgs);
    return 0;
}

static int find_stream(struct jetstream *e, const char *name, bool writes, int servers)
{
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus s = js_GetStreamInfo(&info, e->js, e->stream, NULL, &code);
    if (s == NATS_NOT_FOUND && writes)
        return make_stream(e, servers);
    if (s == NATS_NOT_FOUND)
        return engine_fail(&e->engine, BEZEL_ENOENT, "it has no run %s", name);
    if (s != NATS_OK)
        return fail_at_stream(e, s, code);
    int err = writes ? 0 : take_state(e, &info->State);
    jsStreamInfo_Destroy(info);
    return err;
}

/* A cluster may give the reader to a server that was killed, which nobody hears from: the next time it is another one.
 */
static int subscribe(struct jetstream *e)
{
    jsSubOptions o;
    char subjects[SUBJECT];
    natsStatus s = NATS_TIMEOUT;
    snprintf(subjects, sizeof subjects, "%s.>", e->prefix);
    jsSubOptions_Init(&o);
    o.Stream = e->stream;
    o.Ordered = true;
    for (int i = 0; i < READERS && s == NATS_TIMEOUT; i++)
        s = js_SubscribeSync(&e->subscription, e->js, subjects, NULL, &o, NULL);
    return s == NATS_OK ? 0 : fail_with(e, s, "the messages of the run cannot be had");
}

static int open_stream(const struct engine_servers *servers, const char *name, bool writes, struct engine **engine)
{
    char escaped[ESCAPED];
    struct jetstream *e = calloc(1, sizeof *e);
    if (!e)
        return BEZEL_ENOMEM;
    *engine = &e->engine;
    pthread_mutex_init(&e->lock, NULL);
    escape(name, escaped);
    snprintf(e->stream, sizeof e->stream, "bezel-%s", escaped);
    snprintf(e->prefix, sizeof e->prefix, "bezel.%s", escaped);
    if (strlen(e->stream) > STREAM_MAX)
        return engine_fail(&e->engine, BEZEL_EINVAL, "the name is too long for NATS: give a shorter one (--name)");
    int err = connect_to(e, servers);
    if (!err)
        err = find_stream(e, name, writes, servers->count);
    return err || writes ? err : subscribe(e);
}

static void release(struct jetstream *e)
{
    natsMsg_Destroy(e->message);
    e->message = NULL;
}

/* The connection closes first, which ends its thread: libnats before 3.6 lets that thread lock a subscription that is
 * freed. */
static void close_stream(struct engine *engine)
{
    struct jetstream *e = (struct jetstream *)engine;
    natsConnection_Close(e->connection);
    release(e);
    natsSubscription_Destroy(e->subscription);
    jsCtx_Destroy(e->js);
    natsConnection_Destroy(e->connection);
    natsOptions_Destroy(e->options);
    nats_CloseAndWait(WAIT_MS); /* its threads know `e` */
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* By its id, a message that is still under way from a connection that broke is not stored twice. */
static int put(struct engine *engine, const char *key, bool once, const void *bytes, size_t n)
{
    struct jetstream *e = (struct jetstream *)engine;
    jsPubOptions o;
    char subject[SUBJECT], id[40];
    int err = check_put(e);
    if (err)
        return err;
    snprintf(id, sizeof id, "%016" PRIx64 "%016" PRIx64, checksum_add(CHECKSUM_START, key, strlen(key)),
             checksum_add(CHECKSUM_START, bytes, n));
    jsPubOptions_Init(&o);
    o.MaxWait = WAIT_MS;
    o.MsgId = once ? id : NULL;
    natsStatus s = js_PublishAsync(e->js, subject_of(e, key, subject), bytes, (int)n, &o);
    return s == NATS_OK ? 0 : fail_with(e, s, "a message cannot be sent");
}

static int flush(struct engine *engine)
{
    struct jetstream *e = (struct jetstream *)engine;
    jsPubOptions o;
    jsPubOptions_Init(&o);
    o.MaxWait = 2 * WAIT_MS;
    natsStatus s = js_PublishAsyncComplete(e->js, &o);
    int err = check_put(e);
    if (err)
        return err;
    return s == NATS_OK || s == NATS_INVALID_ARG ? 0 : fail_with(e, s, "messages are not acknowledged");
}

static int give(struct jetstream *e, struct engine_message *m)
{
    *m = (struct engine_message){(const uint8_t *)natsMsg_GetData(e->message),
                                 (size_t)natsMsg_GetDataLength(e->message)};
    return 1;
}

static int last(struct engine *engine, const char *key, struct engine_message *m)
{
    struct jetstream *e = (struct jetstream *)engine;
    char subject[SUBJECT];
    jsErrCode code = 0;
    release(e);
    natsStatus s = js_GetLastMsg(&e->message, e->js, e->stream, subject_of(e, key, subject), NULL, &code);
    if (s == NATS_NOT_FOUND || code == JSNoMessageFoundErr)
        return 0;
    return s == NATS_OK ? give(e, m) : fail_with(e, s, "the engine does not say what it has");
}

static int next(struct engine *engine, struct engine_message *m)
{
    struct jetstream *e = (struct jetstream *)engine;
    jsMsgMetaData *of = NULL;
    release(e);
    int err = e->at < e->last ? 0 : find_stream(e, "more", false, 0);
    if (err || e->at >= e->last)
        return err;
    natsStatus s = natsSubscription_NextMsg(&e->message, e->subscription, 2 * WAIT_MS);
    if (s == NATS_OK)
        s = natsMsg_GetMetaData(&of, e->message);
    if (s != NATS_OK)
        return fail_with(e, s, "the messages of the run stop coming");
    e->at = of->Sequence.Stream;
    jsMsgMetaData_Destroy(of);
    return give(e, m);
}

static int gone(struct engine *engine, uint64_t *n)
{
    struct jetstream *e = (struct jetstream *)engine;
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus s = js_GetStreamInfo(&info, e->js, e->stream, NULL, &code);
    *n = s == NATS_OK ? info->State.LastSeq - info->State.Msgs : 0;
    jsStreamInfo_Destroy(info);
    return s == NATS_OK ? 0 : fail_at_stream(e, s, code);
}

static const char *const schemes[] = {"nats://", "tls://", NULL};
const struct engine_ops engine_jetstream = {schemes, open_stream, put, flush, last, next, gone, close_stream};
