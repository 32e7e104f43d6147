// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mediators/metrics/metrics_server.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/lifetime.h"
#include "base/log.h"
#include "base/ulimit.h"
#include "mediators/metrics/exposition.h"
#include "run/read/run_reader.h"
#include "views/page/text_maker.h"
#include "views/page/web.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SHARE = 20,   /* a text is followed by a pause of so many times what it took */
    LOOK_MS = 10, /* between two looks whether a text is made */
    ARGUMENTS = METRICS_SERVER_RUNS + 8,
};

#define LAST    (5 * CLOCK_S)    /* for which the end of a run is waited for, once its collector has ended */
#define AGAIN   (300 * CLOCK_MS) /* between two looks for it */
#define TOO_OLD (60 * CLOCK_S)   /* a text takes no longer */
#define TYPE    "application/openmetrics-text; version=1.0.0; charset=utf-8"

struct server {
    const struct metrics_server_options *o;
    struct web *web;
    struct text_maker maker;
    int signals;
    char paths[METRICS_SERVER_RUNS][PATH_MAX]; /* of the folder */
    const char *runs[METRICS_SERVER_RUNS];
    size_t run_count, left_out; /* runs; those of the folder that are too many */
    char *text;                 /* the newest one; NULL: none, or it failed */
    size_t text_bytes;
    bool running;                          /* it says that a run goes on */
    int64_t begun, made_at, took, next_at; /* took: CPU time */
    uint64_t made, failed;
    int64_t end_at; /* the parent is gone, and the end of the run is waited for until then; 0 */
};

/* ---- the runs of a folder ---------------------------------------------------------------------------------------- */

/* Whether a run in the folder is shown: one that goes on, or was written lately. *at: when it was. */
static bool is_shown(const struct server *s, const char *path, int64_t *at)
{
    char database[PATH_MAX];
    struct stat st;
    if (snprintf(database, sizeof database, "%s/run.db", path) >= (int)sizeof database || stat(database, &st) != 0)
        return false;
    *at = clock_ns(st.st_mtim);
    return clock_now() + clock_realtime_offset() - *at <= s->o->keep || run_reader_goes_on(path);
}

/* Takes the run in, in place of the one that was written first where there are too many. */
static void take_run(struct server *s, int64_t times[METRICS_SERVER_RUNS], const char *path, int64_t at)
{
    size_t i = s->run_count;
    if (i == METRICS_SERVER_RUNS) {
        s->left_out++;
        i = 0;
        for (size_t k = 1; k < METRICS_SERVER_RUNS; k++)
            i = times[k] < times[i] ? k : i;
        if (times[i] >= at)
            return;
    } else
        s->run_count++;
    times[i] = at;
    snprintf(s->paths[i], sizeof s->paths[i], "%s", path);
    s->runs[i] = s->paths[i];
}

static void find_runs(struct server *s)
{
    int64_t times[METRICS_SERVER_RUNS], at;
    char path[PATH_MAX];
    DIR *dir = opendir(s->o->folder);
    s->run_count = s->left_out = 0;
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (e->d_name[0] != '.' && e->d_type != DT_LNK && /* `latest` is one of the others */
            snprintf(path, sizeof path, "%s/%s", s->o->folder, e->d_name) < (int)sizeof path && is_shown(s, path, &at))
            take_run(s, times, path, at);
    if (dir)
        closedir(dir);
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static void add_scrapes(struct exposition *x, const struct web_counts *w)
{
    exposition_begin(x, &(struct exposition_family){"bezel_metrics_scrapes", EXPOSITION_COUNTER, NULL,
                                                    "Requests for metrics, by what became of them."});
    exposition_count(x, (struct exposition_label[]){{"result", "answered"}, {0}}, w->answered);
    exposition_count(x, (struct exposition_label[]){{"result", "not_read"}, {0}}, w->cut);
    exposition_count(x, (struct exposition_label[]){{"result", "refused"}, {0}}, w->refused);
}

static void add_pushes(struct exposition *x, const struct push_counts *c)
{
    exposition_begin(x, &(struct exposition_family){"bezel_metrics_pushes", EXPOSITION_COUNTER, NULL,
                                                    "Texts for a tool, by what became of them."});
    exposition_count(x, (struct exposition_label[]){{"to", "push"}, {"result", "taken"}, {0}}, c->taken);
    exposition_count(x, (struct exposition_label[]){{"to", "push"}, {"result", "missed"}, {0}}, c->missed);
    exposition_count(x, (struct exposition_label[]){{"to", "push"}, {"result", "refused"}, {0}}, c->refused);
}

static void add_gauge(struct exposition *x, const char *name, const char *unit, const char *help, double value)
{
    exposition_begin(x, &(struct exposition_family){name, EXPOSITION_GAUGE, unit, help});
    exposition_number(x, NULL, value);
}

/* What bezel-metrics says of itself, and the end. */
static void add_own(struct server *s, FILE *out)
{
    struct exposition x = {.out = out, .most = SIZE_MAX};
    struct web_counts counts = s->web ? web_counts(s->web) : (struct web_counts){0};
    add_gauge(&x, "bezel_metrics_made_timestamp_seconds", "seconds",
              "When the metrics of the runs were made; nothing is said of them where that has failed.",
              (double)s->made_at / 1e9);
    add_gauge(&x, "bezel_metrics_make_seconds", "seconds", "CPU time that making them took.", (double)s->took / 1e9);
    add_gauge(&x, "bezel_metrics_runs_left_out", NULL, "Runs in the folder that are too many to be shown.",
              (double)s->left_out);
    exposition_begin(&x, &(struct exposition_family){"bezel_metrics_failures", EXPOSITION_COUNTER, NULL,
                                                     "How often the metrics of the runs could not be made."});
    exposition_count(&x, NULL, s->failed);
    if (s->web)
        add_scrapes(&x, &counts);
    if (s->o->push) {
        struct push_counts pushes = push_counts(s->o->push);
        add_pushes(&x, &pushes);
    }
    exposition_end(&x);
}

/* Gives the newest text to all. */
static void publish(struct server *s)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return;
    if (s->text)
        fwrite(s->text, 1, s->text_bytes, out);
    add_own(s, out);
    if (fclose(out) == 0) {
        if (s->web && web_publish(s->web, text, n) != 0)
            log_warn("BEZEL-METRICS-MEMORY",
                     "no memory for the newest metrics: the ones before are shown, with their time");
        if (s->made > 0 && s->o->push)
            push_offer(s->o->push, text, n);
    }
    free(text);
}

static void start_text(struct server *s)
{
    char series[24];
    const char *arguments[ARGUMENTS] = {s->o->self, "--print", "--series", series};
    size_t n = 4;
    snprintf(series, sizeof series, "%" PRIu64, s->o->series);
    if (s->o->folder)
        find_runs(s);
    for (size_t i = 0; i < s->run_count; i++)
        arguments[n++] = s->runs[i];
    s->begun = clock_now();
    if (text_maker_start(&s->maker, arguments) == 0)
        return;
    log_warn("BEZEL-METRICS", "no process can be started that makes the metrics: %s", strerror(errno));
    s->next_at = s->begun + s->o->every;
}

/* Takes a text that was made, or gives one up that takes too long. Returns whether there is news. */
static bool take_text(struct server *s)
{
    int64_t now = clock_now(), cpu = s->maker.cpu_ns;
    char *text = NULL;
    size_t n = 0;
    if (!text_maker_step(&s->maker, &text, &n)) {
        if (now - s->begun < TOO_OLD)
            return false;
        log_warn("BEZEL-METRICS-SLOW",
                 "the metrics could not be made within %" PRId64 " s: nothing is said of the runs "
                 "until they can",
                 (int64_t)(TOO_OLD / CLOCK_S));
        text_maker_stop(&s->maker);
    }
    free(s->text);
    s->text = text;
    s->text_bytes = n;
    s->took = s->maker.cpu_ns - cpu;
    s->made += text != NULL;
    s->failed += !text;
    if (text)
        s->made_at = s->begun + clock_realtime_offset();
    s->running = text && memmem(text, n, "bezel_run_state=\"running\"} 1\n", 29);
    int64_t pause = s->took * SHARE > s->o->every ? s->took * SHARE : s->o->every;
    s->next_at = now + (s->end_at ? AGAIN : pause);
    return true;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static int listen_at(struct server *s)
{
    const struct address *a = &s->o->address;
    static const struct web_file files[] = {{METRICS_SERVER_PATH, TYPE, NULL}, {NULL, NULL, NULL}};
    bool local = address_is_loopback(a);
    struct web_options web = {.interface = local                    ? NULL
                                           : a->kind == ADDRESS_ANY ? ""
                                                                    : a->host,
                              .port = a->port,
                              .files = files};
    char text[ADDRESS_TEXT_MAX];
    int err = web_start(&web, &s->web);
    if (err == BEZEL_EBUSY)
        log_error("BEZEL-METRICS-PORT",
                  "port %u is taken: give another one, or have one server show all runs: bezel serve --all --metrics "
                  "PORT",
                  a->port);
    else if (err)
        log_error("BEZEL-METRICS-PORT", "cannot listen at %s: %s", address_print(a, text), err_text(err));
    if (err)
        return err;
    if (!local)
        log_warn("BEZEL-METRICS-OPEN", "everybody who reaches %s can read these metrics", address_print(a, text));
    log_info("BEZEL-METRICS", "metrics are at http://%s:%u%s", local || a->kind == ADDRESS_ANY ? "127.0.0.1" : a->host,
             web_port(s->web), METRICS_SERVER_PATH);
    return 0;
}

static int start(struct server *s)
{
    lifetime_parent_pipe(s->o->parent_pipe);
    s->signals = lifetime_signals(LIFETIME_NO_OTHER);
    if (s->o->parent_pipe < 0)
        signal(SIGINT, SIG_DFL);
    char port[16];
    int ready = s->o->ready, err = s->signals < 0 ? BEZEL_ESYS : s->o->listens ? listen_at(s) : 0;
    if (err)
        return err;
    publish(s);
    snprintf(port, sizeof port, "%u", s->web ? web_port(s->web) : 0);
    lifetime_ready(&ready, port);
    return 0;
}

static void wait_for_something(struct server *s)
{
    struct pollfd fds[] = {{.fd = s->signals, .events = POLLIN},
                           {.fd = s->end_at ? -1 : s->o->parent_pipe, .events = POLLIN}};
    int64_t rest = (s->next_at - clock_now()) / CLOCK_MS;
    (void)!poll(fds, 2, s->maker.pid ? LOOK_MS : rest < 0 ? 0 : rest > 1000 ? 1000 : (int)rest + 1);
}

/* One turn. Returns whether there are more. */
static bool turn(struct server *s)
{
    int64_t now = clock_now();
    if (lifetime_terms(s->signals) > 0)
        return false;
    if (!s->end_at && lifetime_is_deserted(s->o->parent_pipe)) { /* the collector has ended: what is the end? */
        s->end_at = now + LAST;
        s->next_at = now;
    }
    bool news = s->maker.pid && take_text(s);
    if (news)
        publish(s);
    if (s->end_at && ((news && !s->running && s->begun > s->end_at - LAST) || now > s->end_at))
        return false;
    if (!s->maker.pid && now >= s->next_at)
        start_text(s);
    return true;
}

int metrics_server_run(const struct metrics_server_options *o)
{
    struct server *s = calloc(1, sizeof *s);
    if (!s)
        return EXIT_FAILED;
    s->o = o;
    s->signals = -1;
    s->maker.program = o->self;
    for (size_t i = 0; i < o->run_count; i++)
        s->runs[s->run_count++] = o->runs[i];
    int err = start(s);
    while (!err && turn(s))
        wait_for_something(s);
    text_maker_stop(&s->maker);
    web_stop(s->web);
    push_close(o->push);
    if (s->signals >= 0)
        close(s->signals);
    free(s->text);
    free(s);
    return err ? EXIT_FAILED : EXIT_OK;
}
