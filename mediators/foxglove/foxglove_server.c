// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mediators/foxglove/foxglove_server.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/log.h"
#include "base/saturate.h"
#include "base/units.h"
#include "mediators/foxglove/foxglove_clients.h"
#include "mediators/foxglove/foxglove_request.h"
#include "run/read/run_missing.h"
#include "run/read/run_reader.h"
#include "run/rundb/rundb.h"
#include "run/store/mirror_state.h"
#include <stdio.h>

enum { FRAMES = 8192, BATCH = 256 /* records between two looks for room; they are two frames each at most */ };

#define LOOK_NS   (250 * CLOCK_MS) /* between two looks at a run that goes on */
#define TURN_NS   (20 * CLOCK_MS)  /* of reading, in between which clients are heard */
#define HOLD_NS   (5 * CLOCK_MS)   /* of waiting for room */
#define SETTLE_NS (500 * CLOCK_MS) /* playing begins so long behind the latest subscription: they come one by one */
#define BEGIN_NS  (10 * CLOCK_S)   /* for which the database of a run that has just begun is waited for */
#define PLAY_HOLD (5 * CLOCK_S)    /* for which playing waits for a client that takes nothing */
#define LIVE_HOLD (250 * CLOCK_MS) /* the same where the run goes on, ... */
#define LIVE_LATE CLOCK_S          /* ... if what comes next was stored no longer ago */
#define PAUSE_NS  (10 * CLOCK_S)   /* playing leaves longer pauses out: the time of a record may be a lie */

enum state {
    FOLLOWS, /* a run that goes on, until all of it was given */
    WAITS,   /* to play it when somebody subscribes */
    PLAYS,
    OVER, /* all of it was given */
};

struct server {
    const struct foxglove_options *o;
    struct run_reader *reader;
    struct gate gate;
    struct foxglove_channels channels;
    struct foxglove_clients clients;
    char session[MODEL_UUID_TEXT + 16];
    unsigned plays;
    enum state state;
    bool followed; /* it went on when this began */
    uint64_t age;  /* of the model whose channels are known */
    bool has_item; /* `item` was read, and is to be given */
    struct record_item item;
    bool ends;             /* following: the run is over, and nothing comes behind what is there */
    int64_t look_at;       /* following */
    size_t on;             /* channels that clients have subscribed to, and ... */
    int64_t settles;       /* ... when that is no news any more */
    int64_t begun, begins; /* playing: when a record was given, from which on it keeps the times; its time */
    int trouble;           /* why it cannot be read on; 0: it can */
    uint64_t given, expired, left_out; /* records */
    uint64_t refused;                  /* clients */
};

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* Says why the run cannot be read on, once. */
static void take_trouble(struct server *s, int err)
{
    char text[320];
    if (err == s->trouble)
        return;
    s->trouble = err;
    if (!err)
        return;
    snprintf(text, sizeof text, "cannot read on in the run: %s; it is tried again", rundb_why(err));
    log_warn("BEZEL-FOXGLOVE-READ", "%s: %s", s->o->run, text);
    foxglove_clients_say(&s->clients, 2, text);
}

static void renew_channels(struct server *s)
{
    uint64_t age, left_out = s->channels.left_out;
    const struct model *m = run_reader_model(s->reader, &age);
    if (age == s->age && s->channels.count > 0)
        return;
    s->age = age;
    if (foxglove_channels_add(&s->channels, m) != 0)
        log_warn("BEZEL-FOXGLOVE-CHANNELS", "memory is short: topics are missing");
    if (s->channels.left_out != left_out)
        log_warn("BEZEL-FOXGLOVE-CHANNELS",
                 "the run has more aspects of processes than the %d for which there is room: %s topics are missing",
                 FOXGLOVE_CHANNELS, units_count(s->channels.left_out).s);
}

/* What expired from the store before it was read here is missing. */
static void say_expired(struct server *s)
{
    char text[128];
    uint64_t expired = run_reader_totals(s->reader).expired;
    if (expired == s->expired)
        return;
    s->expired = expired;
    snprintf(text, sizeof text, "%s records expired from the store before they could be shown", units_count(expired).s);
    log_warn("BEZEL-FOXGLOVE-EXPIRED", "%s", text);
    foxglove_clients_say(&s->clients, 1, text);
}

static void look(struct server *s, enum run_reader_look how)
{
    int err = run_reader_look(s->reader, how);
    take_trouble(s, err);
    if (!err) {
        renew_channels(s);
        say_expired(s);
    }
}

static bool next_item(struct server *s)
{
    if (s->has_item)
        return true;
    int more = run_reader_next(s->reader, &s->item);
    if (more < 0)
        take_trouble(s, more);
    s->has_item = more > 0;
    if (s->has_item)
        renew_channels(s);
    return s->has_item;
}

static void give_item(struct server *s)
{
    bool past = s->followed && s->item.arrived == 0;
    int number = foxglove_channels_put(&s->channels, &s->item);
    s->has_item = false;
    s->given++;
    if (number >= 0)
        foxglove_clients_give(&s->clients, (size_t)number, past);
    else
        s->left_out++;
}

/* ---- following and playing --------------------------------------------------------------------------------------- */

/* Opens the run, and finds its channels. */
static int open_run(struct server *s, const volatile sig_atomic_t *stop)
{
    struct record_filter all = RECORD_FILTER_ALL;
    s->followed = run_reader_goes_on(s->o->run);
    run_reader_await(s->o->run, BEGIN_NS, stop);
    int err = run_reader_open_compared(s->o->run, &all, RUN_MISSING_MOST, &s->reader);
    if (err) {
        log_error("BEZEL-FOXGLOVE-RUN", "cannot read %s: %s", s->o->run, rundb_why(err));
        return err;
    }
    s->state = s->followed ? FOLLOWS : WAITS;
    s->has_item = false;
    s->expired = 0;
    look(s, s->followed ? RUN_READER_HOLD : RUN_READER_ALL);
    s->look_at = clock_now() + LOOK_NS;
    snprintf(s->session, sizeof s->session, "%s.%u", run_reader_model(s->reader, NULL)->run, ++s->plays);
    return 0;
}

/* All clients have gone: the next one gets the run from its beginning. */
static int rewind_run(struct server *s, const volatile sig_atomic_t *stop)
{
    run_reader_close(s->reader);
    s->reader = NULL;
    foxglove_channels_forget(&s->channels);
    return open_run(s, stop);
}

/* Says that all was given; or what was not, as far as that is known. */
static void say_over(struct server *s)
{
    char text[480 + MIRROR_STATE_SENTENCE];
    struct run_reader_totals t = run_reader_totals(s->reader);
    struct mirror_look mirror;
    mirror_state_look(s->o->run, &mirror);
    bool whole =
        !s->trouble && t.cut == 0 && t.expired == 0 && t.rest == 0 && s->left_out == 0 && mirror.text[0] == '\0';
    s->state = OVER;
    if (whole)
        snprintf(text, sizeof text, "the run is over: these were all of its %s records and losses",
                 units_count(s->given).s);
    else
        snprintf(
            text, sizeof text,
            "the run is over, and %s records and losses of it were given, not all: %s%s%s streams are damaged, gone or "
            "cut off, %s bytes are no whole packets, %s records had expired, %s have no topic; see 'bezel verify'%s%s",
            units_count(s->given).s, s->trouble ? rundb_why(s->trouble) : "", s->trouble ? ", " : "",
            units_count(t.cut).s, units_count(t.rest).s, units_count(t.expired).s, units_count(s->left_out).s,
            mirror.text[0] ? ". " : "", mirror.text);
    foxglove_clients_say(&s->clients, whole ? 0 : 1, text);
    (whole ? log_info : log_warn)("BEZEL-FOXGLOVE-OVER", "%s%s", text,
                                  s->followed ? "" : "; it is played again when all clients have gone");
}

/* Looks for what is new. Once the run is over, that is the last time. */
static void look_again(struct server *s, int64_t now)
{
    s->ends = !run_reader_goes_on(s->o->run);
    look(s, s->ends ? RUN_READER_ALL : RUN_READER_HOLD);
    s->look_at = now + LOOK_NS;
}

static void say_pause(struct server *s, int64_t pause)
{
    char text[128];
    snprintf(text, sizeof text, "there are no records for %s: that pause is left out", units_duration(pause).s);
    log_info("BEZEL-FOXGLOVE-PAUSE", "%s", text);
    foxglove_clients_say(&s->clients, 0, text);
}

/* When the next record is to be given; playing keeps the times between records that are not too far apart. */
static int64_t due_at(struct server *s, int64_t now)
{
    if (s->state != PLAYS || s->o->speed == 0)
        return now;
    int64_t due = saturate_add(s->begun, saturate_sub(s->item.at.ns, s->begins) / (int64_t)s->o->speed);
    if (s->begun > 0 && due <= saturate_add(now, PAUSE_NS))
        return due;
    if (s->begun > 0)
        say_pause(s, saturate_sub(due, now));
    s->begun = now;
    s->begins = s->item.at.ns;
    return now;
}

/* Whether the next record waits for clients. One that was stored long ago does not: they would all fall behind. */
static bool must_hold(struct server *s, int64_t now)
{
    bool late = s->item.arrived == 0 || now + clock_realtime_offset() - s->item.arrived > LIVE_LATE;
    if (s->followed)
        return foxglove_clients_hold(&s->clients, now, LIVE_HOLD) && !late;
    return foxglove_clients_hold(&s->clients, now, PLAY_HOLD);
}

/* Gives what there is for now, for a turn at most. Returns when the next one is due. */
static int64_t give_items(struct server *s, int64_t now)
{
    int64_t until = now + TURN_NS;
    for (size_t n = 0; next_item(s); n++) {
        if (n % BATCH == 0) {
            (void)foxglove_clients_serve(&s->clients);
            now = clock_now();
            if (now >= until)
                return now;
            if (must_hold(s, now))
                return now + HOLD_NS;
        }
        int64_t due = due_at(s, now);
        if (due > now && due > (now = clock_now()))
            return due;
        give_item(s);
    }
    if (s->state == PLAYS || (s->ends && !s->trouble))
        say_over(s);
    return s->state == FOLLOWS ? s->look_at : now + LOOK_NS;
}

/* Returns when the next turn is due, or an error. */
static int64_t turn(struct server *s, const volatile sig_atomic_t *stop)
{
    size_t on = foxglove_clients_subscriptions(&s->clients);
    int64_t now = clock_now();
    if (s->clients.emptied && (s->state == PLAYS || (s->state == OVER && !s->followed)) && rewind_run(s, stop) != 0)
        return -1;
    s->clients.emptied = false;
    if (on != s->on)
        s->settles = now + SETTLE_NS;
    s->on = on;
    if (s->state == WAITS && on > 0 && now >= s->settles) {
        s->state = PLAYS;
        s->begun = 0;
        s->given = s->left_out = 0;
    }
    if (s->state == FOLLOWS && now >= s->look_at && !s->has_item)
        look_again(s, now);
    return s->state == FOLLOWS || s->state == PLAYS ? give_items(s, now) : now + LOOK_NS;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static int listen_at(struct server *s)
{
    static const struct web_file files[] = {
        {"/", "text/plain; charset=utf-8",
         "A run, for Foxglove and others: open there the address that `bezel view --foxglove` prints.\n"},
        {NULL, NULL, NULL}};
    const struct address *a = &s->o->address;
    bool local = address_is_loopback(a);
    struct web_options web = {.interface = local                    ? NULL
                                           : a->kind == ADDRESS_ANY ? ""
                                                                    : a->host,
                              .port = a->port,
                              .gate = &s->gate,
                              .files = files,
                              .sockets = s->o->open ? WEB_SOCKETS_ALL : WEB_SOCKETS_TOKEN,
                              .protocols = {"foxglove.sdk.v1", "foxglove.websocket.v1"},
                              .frames = FRAMES,
                              .message = FOXGLOVE_REQUEST_BYTES};
    char text[ADDRESS_TEXT_MAX];
    int err = gate_init(&s->gate, false, s->o->allowed);
    if (!err)
        err = web_start(&web, &s->clients.web);
    if (err) {
        log_error("BEZEL-FOXGLOVE-PORT", "cannot listen at %s: %s", address_print(a, text),
                  err == BEZEL_EBUSY ? "the port is taken; give another one" : err_text(err));
        return err;
    }
    if (!local || s->o->open)
        log_warn("BEZEL-FOXGLOVE-OPEN", "%s can read this run",
                 s->o->open ? local ? "every user of this machine" : "everybody who reaches this address"
                            : "who reads the network");
    printf("bezel view: open ws://%s:%u%s%s in Foxglove, as a Foxglove WebSocket\n",
           local                    ? "127.0.0.1"
           : a->kind == ADDRESS_ANY ? "HOST"
                                    : a->host,
           web_port(s->clients.web), s->o->open ? "" : "/?token=", s->o->open ? "" : s->gate.token);
    fflush(stdout);
    return 0;
}

/* Foxglove shows no more than that it could not connect. */
static void say_refused(struct server *s)
{
    uint64_t refused = web_counts(s->clients.web).refused;
    if (refused != s->refused)
        log_warn("BEZEL-FOXGLOVE-REFUSED",
                 "a client was refused: %s, or there are %d of them already, or it asked for nothing",
                 s->o->open ? "a page of another origin needs --allow-origin"
                            : "it needs the whole address with its token; for programs that know only host and port "
                              "there is --open",
                 WEB_PAGES);
    s->refused = refused;
}

/* Waits until `until`, less when something comes from clients, which it takes. */
static void take_events(struct server *s, int64_t until)
{
    struct web_event e;
    int64_t now = clock_now(), wait = until - now < LOOK_NS ? until - now : LOOK_NS;
    for (size_t i = 0; i < WEB_EVENTS && web_next(s->clients.web, i > 0 || wait < 0 ? 0 : wait, &e); i++)
        foxglove_clients_take(&s->clients, &e);
    say_refused(s);
}

static int serve(struct server *s, const volatile sig_atomic_t *stop)
{
    int64_t until = 0;
    while (!*stop) {
        if (foxglove_clients_serve(&s->clients) && until > clock_now() + HOLD_NS)
            until = clock_now() + HOLD_NS;
        take_events(s, until);
        until = turn(s, stop);
        if (until < 0)
            return EXIT_FAILED;
    }
    return EXIT_OK;
}

int foxglove_server_run(const struct foxglove_options *o, const volatile sig_atomic_t *stop)
{
    char name[128];
    struct server *s = calloc(1, sizeof *s);
    int code = EXIT_FAILED;
    if (!s)
        return code;
    s->o = o;
    snprintf(name, sizeof name, "bezel: %s", file_name(o->run));
    s->clients.name = name;
    s->clients.session = s->session;
    s->clients.channels = &s->channels;
    if (open_run(s, stop) == 0 && listen_at(s) == 0)
        code = serve(s, stop);
    foxglove_clients_fini(&s->clients);
    web_stop(s->clients.web);
    foxglove_channels_fini(&s->channels);
    run_reader_close(s->reader);
    if (s->left_out > 0)
        log_warn("BEZEL-FOXGLOVE-CHANNELS", "%s records have no topic, and were shown to nobody",
                 units_count(s->left_out).s);
    free(s);
    return code;
}
