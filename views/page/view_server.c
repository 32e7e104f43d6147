// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/view_server.h"

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/file.h"
#include "base/log.h"
#include "run/read/run_reader.h"
#include "run/rundb/rundb.h"
#include "views/linked/linked.h"
#include "views/page/control.h"
#include "views/page/door_file.h"
#include "views/page/page_request.h"
#include "views/page/path_maker.h"
#include "views/page/run_view.h"
#include "views/page/text_maker.h"
#include "views/web/pages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TICK_NS = 250000000,       /* between two looks at the run */
    UPDATE_NS = 100000000,     /* that a look may take */
    LOOK_SHARE = 4,            /* a look that gains little is followed by a pause of so many times what it took */
    LOOK_GAIN = 10000,         /* records; at least, of one that is followed by the next at once */
    LEAST_NS = 200000000,      /* between two pictures of a page, at least ... */
    SLOWEST = 40,              /* ... and so many times that at most, where a page is slow */
    ANSWER_NS = 500000000,     /* that a picture, or a list of records, may take */
    REPORT_NS = 1000000000,    /* between two reports, at least; */
    REPORT_SHARE = 20,         /* and so many times what one takes */
    CATALOGUE_NS = 1000000000, /* between two catalogues of a page */
};

#define BEGIN_NS (10 * CLOCK_S) /* a run that goes on is waited for */

struct page {
    uint32_t number; /* 0: the place is free */
    struct page_request want;
    bool wants, hidden;
    bool dirty; /* there is more to show than was sent */
    bool waits; /* a picture was sent that is not drawn yet */
    int64_t sent_at, interval;
    struct page_request list; /* of records, the newest that was asked for */
    bool lists;
    struct page_request why; /* the newest path that was asked for */
    bool asks;
    uint64_t skipped; /* looks at which it could not be sent what was new */
    uint64_t age;     /* of the catalogue that it has; 0: none */
    int64_t catalogue_at;
    uint64_t report; /* the number of the report that it has */
};

struct server {
    const struct view_server_options *o;
    struct gate gate;
    struct web *web;
    struct door_file door;
    struct run_view *run;
    struct control control;
    struct text_maker maker;
    struct path_maker paths;
    int64_t path_begun, path_at; /* when the last one began; before when none begins */
    struct linked *linked;       /* NULL: this view is not linked with others */
    struct page pages[WEB_PAGES];
    size_t turn;     /* the page that is served first */
    int64_t free_at; /* what pages want takes no more than half of the time */
    bool live, behind, grew;
    bool unreported; /* it grew since the last report began */
    int failed;      /* the error of the last picture; 0: it was sent */
    int trouble;     /* that of the last look at the run; 0: it was read */
    char why[128];   /* ... in words */
    int64_t newest, begun, tick_at, report_at, cpu_at, cpu_before;
    double cpu;
    char *report; /* the newest one, as JSON */
    size_t report_bytes;
    uint64_t reports;
};

/* ---- what a page is sent ----------------------------------------------------------------------------------------- */

static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*u %llu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Sends text that `write` makes. Returns as web_send(). */
static int send_text(struct server *s, const struct page *p, int (*write)(struct server *, const struct page *, FILE *))
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return BEZEL_ENOMEM;
    int err = write(s, p, out);
    if (file_text_end(out, &text) != 0)
        err = BEZEL_ENOMEM;
    if (!err)
        err = web_send(s->web, p->number, text, n, true);
    free(text);
    return err;
}

static int write_catalogue(struct server *s, const struct page *p, FILE *out)
{
    (void)p;
    run_view_catalogue(s->run, out);
    return 0;
}

static int write_records(struct server *s, const struct page *p, FILE *out)
{
    return run_view_records(s->run, &p->list, clock_now() + ANSWER_NS, out);
}

static void send_catalogue(struct server *s, struct page *p, int64_t now)
{
    if (p->age == run_view_age(s->run) || (p->catalogue_at && now - p->catalogue_at < CATALOGUE_NS))
        return;
    p->catalogue_at = now;
    if (send_text(s, p, write_catalogue) == 0)
        p->age = run_view_age(s->run);
}

static void send_report(struct server *s, struct page *p)
{
    if (p->report != s->reports && s->report && web_send(s->web, p->number, s->report, s->report_bytes, true) == 0)
        p->report = s->reports;
}

/* Says why a page gets no answer; in the log once. */
static void say_failed(struct server *s, const struct page *p, int err)
{
    char text[256];
    int n = snprintf(text, sizeof text, "failed: cannot read this part of the run: %s", rundb_why(err));
    (void)!web_send(s->web, p->number, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1, true);
    if (s->failed != err)
        log_warn("BEZEL-VIEW-READ", "cannot read a window of %s: %s", s->o->run, rundb_why(err));
    s->failed = err;
}

static void send_picture(struct server *s, struct page *p, int64_t now)
{
    char *bytes;
    size_t n;
    int64_t from = p->want.from, until = p->want.until;
    struct run_view_state state = {s->live,          s->behind,  s->cpu,
                                   resident_bytes(), p->skipped, s->trouble ? s->why : NULL};
    if (p->want.follow) {
        until = s->newest > until - from ? s->newest : until - from;
        from = until - (p->want.until - p->want.from);
    }
    int err = run_view_picture(s->run, &p->want, from, until, &state, now + ANSWER_NS, &bytes, &n);
    if (err) {
        say_failed(s, p, err);
        p->dirty = false;
        return;
    }
    s->failed = 0;
    p->sent_at = now;
    err = web_send(s->web, p->number, bytes, n, false);
    if (err == BEZEL_ENOENT) /* its end was not reported: too much was waiting */
        p->number = 0;
    p->dirty = err != 0;
    p->waits = !err;
    free(bytes);
}

/* The time at which the next picture or list for the page is due. INT64_MAX: nothing is due. */
static int64_t due(const struct server *s, const struct page *p)
{
    int64_t at = p->sent_at + p->interval;
    if (!p->number || p->hidden)
        return INT64_MAX;
    if (p->lists)
        return s->free_at;
    return p->dirty && p->wants && !p->waits ? (at > s->free_at ? at : s->free_at) : INT64_MAX;
}

static void serve_page(struct server *s, struct page *p)
{
    int64_t now = clock_now();
    if (!p->number || p->hidden)
        return;
    send_catalogue(s, p, now);
    send_report(s, p);
    if (now < due(s, p))
        return;
    if (p->lists)
        (void)!send_text(s, p, write_records);
    else
        send_picture(s, p, now);
    p->lists = false;
    int64_t end = clock_now();
    s->free_at = end + (end - now);
}

/* Serves the pages in turn: the one that wants most does not always come first. */
static void serve_pages(struct server *s)
{
    size_t first = s->turn++;
    for (size_t i = 0; i < WEB_PAGES; i++)
        serve_page(s, &s->pages[(first + i) % WEB_PAGES]);
}

/* ---- requests of a page ------------------------------------------------------------------------------------------ */

static struct page *find_page(struct server *s, uint32_t number)
{
    for (size_t i = 0; i < WEB_PAGES; i++)
        if (s->pages[i].number == number)
            return &s->pages[i];
    return NULL;
}

/* A page that takes long to draw gets pictures less often. */
static void take_ack(struct page *p, uint32_t sequence, int64_t now)
{
    if (!p->waits || sequence != p->want.sequence)
        return;
    int64_t took = now - p->sent_at;
    p->waits = false;
    if (took > p->interval && p->interval < (int64_t)SLOWEST * LEAST_NS)
        p->interval *= 2;
    else if (took < p->interval / 4 && p->interval > LEAST_NS)
        p->interval /= 2;
}

/* Tells the pages but `from` what another view shows. */
static void share_with_pages(struct server *s, uint32_t from, const struct linked_state *state)
{
    char message[PAGE_REQUEST_FILTER + 128], cursor[24] = "-";
    int64_t start = run_view_start(s->run);
    if (state->cursor)
        snprintf(cursor, sizeof cursor, "%" PRId64, state->cursor - start);
    int n = snprintf(message, sizeof message, "share %" PRId64 " %" PRId64 " %d %s %s", state->from - start,
                     state->until - start, state->follow, cursor, state->filter);
    for (size_t i = 0; i < WEB_PAGES; i++)
        if (s->pages[i].number && s->pages[i].number != from)
            (void)!web_send(s->web, s->pages[i].number, message, (size_t)n, true);
}

/* A page's window, for its server's other pages, and for other programs. */
static void share(struct server *s, uint32_t from, const struct page_request *q)
{
    int64_t start = run_view_start(s->run);
    struct linked_state state = {.from = q->from + start,
                                 .until = q->until + start,
                                 .cursor = q->has_cursor ? q->cursor + start : 0,
                                 .follow = q->follow};
    snprintf(state.filter, sizeof state.filter, "%s", q->filter);
    share_with_pages(s, from, &state);
    linked_send(s->linked, &state);
}

static void take_control(struct server *s, const struct page *p, const struct page_request *q)
{
    static const char refused[] = "control refused: this needs --control, and its secret";
    if (!gate_may_control(&s->gate, q->words[0]))
        (void)!web_send(s->web, p->number, refused, sizeof refused - 1, true);
    else
        control_start(&s->control, p->number, q->words + 1, q->word_count - 1);
}

static void take_request(struct server *s, struct page *p, struct page_request *q, int64_t now)
{
    switch (q->kind) {
    case PAGE_WANT:
        p->want = *q;
        p->wants = p->dirty = true;
        p->waits = false; /* what it asked for before, it does not want any more */
        p->sent_at = now - p->interval;
        break;
    case PAGE_ACK:
        take_ack(p, q->sequence, now);
        break;
    case PAGE_HIDDEN:
        p->dirty = p->dirty || (p->hidden && !q->hidden);
        p->hidden = q->hidden;
        break;
    case PAGE_RECORDS:
        p->list = *q;
        p->lists = true;
        break;
    case PAGE_WHY:
        p->why = *q;
        p->asks = true;
        break;
    case PAGE_SHARE:
        share(s, p->number, q);
        break;
    case PAGE_CONTROL:
        take_control(s, p, q);
        break;
    }
}

/* Why the file that opens a page could not be written, by errno, and what to do. */
static const char *door_why(void)
{
    return errno == EPERM ? "its file system cannot keep it from other users; name another file (--file)"
                          : strerror(errno);
}

static void take_text(struct server *s, const struct web_event *e, int64_t now)
{
    struct page_request q;
    const char *why;
    char answer[192];
    struct page *p = find_page(s, e->page);
    if (!p)
        return;
    if (page_request_read(e->text, e->length, &q, &why) == 0) {
        take_request(s, p, &q, now);
        return;
    }
    int n = snprintf(answer, sizeof answer, "refused: %s", why);
    (void)!web_send(s->web, p->number, answer, (size_t)n, true);
}

static void take_event(struct server *s, const struct web_event *e, int64_t now)
{
    struct page *p;
    switch (e->kind) {
    case WEB_OPENED:
        if ((p = find_page(s, 0)))
            *p = (struct page){.number = e->page, .interval = LEAST_NS};
        break;
    case WEB_CLOSED:
        if ((p = find_page(s, e->page)))
            p->number = 0;
        break;
    case WEB_TEXT:
        take_text(s, e, now);
        break;
    case WEB_TOKEN_TAKEN: /* the file opens a further page */
        if (door_file_write(&s->door, e->text) != 0)
            log_warn("BEZEL-VIEW-FILE", "cannot write %s: no further page can be opened: %s", s->door.path, door_why());
        break;
    }
    free(e->text);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* The report that was made becomes the newest one. How long it took decides when the next one is made. */
static void take_report(struct server *s, int64_t now)
{
    int64_t before = s->maker.cpu_ns;
    char *text;
    size_t n;
    if (!text_maker_step(&s->maker, &text, &n))
        return;
    int64_t took = s->maker.cpu_ns - before; /* of a busy machine the time would put the next one off for long */
    s->report_at = now + (took * REPORT_SHARE > REPORT_NS ? took * REPORT_SHARE : REPORT_NS);
    if (!text)
        return;
    free(s->report);
    s->report = text;
    s->report_bytes = n;
    s->reports++;
}

static void make_report(struct server *s, int64_t now)
{
    take_report(s, now);
    s->unreported = s->unreported || s->grew;
    if (s->maker.pid || now < s->report_at || (s->reports > 0 && !s->unreported && !s->live))
        return;
    const char *const arguments[] = {s->maker.program, "--run", s->o->run, s->live ? "--report=live" : "--report=ended",
                                     NULL};
    s->unreported = false;
    if (text_maker_start(&s->maker, arguments) == 0)
        return;
    log_warn("BEZEL-VIEW-REPORT", "no process can be started that makes the report: %s", strerror(errno));
    s->report_at = now + REPORT_NS;
}

static void measure(struct server *s, int64_t now)
{
    if (now - s->cpu_at < CLOCK_S)
        return;
    int64_t cpu = clock_process_cpu() + s->maker.cpu_ns + s->paths.maker.cpu_ns;
    s->cpu = 100.0 * (double)(cpu - s->cpu_before) / (double)(now - s->cpu_at);
    s->cpu_at = now;
    s->cpu_before = cpu;
}

/* Keeps why the run cannot be read on. Returns whether that has changed; then it is logged. */
static bool take_trouble(struct server *s, int err)
{
    if (err == s->trouble)
        return false;
    s->trouble = err;
    snprintf(s->why, sizeof s->why, "%s", err ? rundb_why(err) : "");
    if (err)
        log_warn("BEZEL-VIEW-READ", "cannot read on in %s: %s; it is tried again", s->o->run, s->why);
    return true;
}

int64_t view_server_pause(int64_t took, bool behind, uint64_t gained)
{
    if (behind && gained >= LOOK_GAIN)
        return 0;
    return took * LOOK_SHARE > TICK_NS ? took * LOOK_SHARE : TICK_NS;
}

/* Takes in what is new. A page whose window reaches beyond what was stored before gets a new picture. */
static void look(struct server *s, int64_t now)
{
    bool was_live = s->live, was_behind = s->behind;
    s->live = run_reader_goes_on(s->o->run);
    uint64_t had, has, memory;
    run_view_totals(s->run, &had, &memory);
    int more = run_view_update(s->run, UPDATE_NS);
    int64_t took = clock_now() - now;
    run_view_totals(s->run, &has, &memory);
    s->behind = more > 0;
    bool another = take_trouble(s, more < 0 ? more : 0) || was_live != s->live || was_behind != s->behind;
    int64_t before = s->newest;
    s->newest = run_view_newest(s->run);
    s->grew = s->newest != before || another;
    for (size_t i = 0; i < WEB_PAGES; i++) {
        struct page *p = &s->pages[i];
        if (!p->number || !s->grew || !(another || p->want.follow || p->want.until >= before))
            continue;
        p->skipped += p->dirty || p->waits;
        p->dirty = true;
    }
    measure(s, now);
    make_report(s, now);
    s->tick_at = now + view_server_pause(took, s->behind, has - had);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static int open_run(struct server *s, const volatile sig_atomic_t *stop)
{
    run_reader_await(s->o->run, BEGIN_NS, stop);
    int err = run_view_open(s->o->run, &s->run);
    if (err)
        log_error("BEZEL-VIEW-RUN", "cannot read %s: %s", s->o->run, rundb_why(err));
    return err;
}

static int start(struct server *s, const volatile sig_atomic_t *stop)
{
    static const struct web_file files[] = {{"/", "text/html; charset=utf-8", view_view_html},
                                            {"/page.css", "text/css; charset=utf-8", view_page_css},
                                            {"/axis.js", "text/javascript", view_axis_js},
                                            {"/plot.js", "text/javascript", view_plot_js},
                                            {"/elements.js", "text/javascript", view_elements_js},
                                            {"/report.js", "text/javascript", view_report_js},
                                            {"/live.js", "text/javascript", view_live_js},
                                            {"/rows.js", "text/javascript", view_rows_js},
                                            {"/path.js", "text/javascript", view_path_js},
                                            {"/view.js", "text/javascript", view_view_js},
                                            {NULL, NULL, NULL}};
    struct web_options web = {.port = s->o->port, .gate = &s->gate, .files = files};
    if (open_run(s, stop) != 0)
        return EXIT_FAILED;
    int err = gate_init(&s->gate, s->o->control, s->o->allowed);
    if (!err)
        err = web_start(&web, &s->web);
    if (err) {
        log_error("BEZEL-VIEW-PORT", "cannot serve on 127.0.0.1, port %u: %s", s->o->port,
                  err == BEZEL_EBUSY ? "it is taken; give another --port" : err_text(err));
        return EXIT_FAILED;
    }
    err = door_file_init(&s->door, s->o->file, web_port(s->web));
    if (!err)
        err = door_file_write(&s->door, s->gate.token);
    if (err) {
        log_error("BEZEL-VIEW-FILE", "cannot write %s, which opens the page: %s", s->door.path, door_why());
        return EXIT_FAILED;
    }
    return EXIT_OK;
}

static void say_where(const struct server *s)
{
    printf("bezel view: xdg-open %s\n", s->door.path);
    printf("bezel view: port %u; over ssh: ssh -L %u:127.0.0.1:%u HOST, and copy that file\n", web_port(s->web),
           web_port(s->web), web_port(s->web));
    if (s->gate.control[0])
        printf("bezel view: the secret for control: %s\n", s->gate.control);
    fflush(stdout);
}

static void take_controlled(struct server *s)
{
    char text[CONTROL_TEXT];
    uint32_t page;
    if (control_step(&s->control, &page, text, sizeof text))
        (void)!web_send(s->web, page, text, strlen(text), true);
}

static void send_path(struct server *s, uint32_t page, char *text, size_t n)
{
    if (text)
        (void)!web_send(s->web, page, text, n, true);
    free(text);
}

/* Begins the path that a page asks for; one that was begun for it is given up. */
static void begin_path(struct server *s, struct page *p, int64_t now)
{
    size_t n;
    p->asks = false;
    s->path_begun = now;
    if (path_maker_start(&s->paths, s->run, p->number, &p->why) != 0) {
        char *text = path_maker_message(p->why.sequence, "null", 4, &n);
        send_path(s, p->number, text, n);
    }
}

/* Sends the path that was made, and begins the next one, after a pause of as long as the last one took. */
static void make_paths(struct server *s, int64_t now)
{
    char *text;
    size_t n;
    if (path_maker_step(&s->paths, &text, &n)) {
        send_path(s, s->paths.page, text, n);
        s->path_at = now + (now - s->path_begun);
    }
    for (size_t i = 0; i < WEB_PAGES && now >= s->path_at; i++) {
        struct page *p = &s->pages[(s->turn + i) % WEB_PAGES];
        if (!p->number || !p->asks || (s->paths.maker.pid && s->paths.page != p->number))
            continue;
        if (s->paths.maker.pid)
            s->path_at = now + (now - s->path_begun);
        begin_path(s, p, now);
    }
}

/* Waits until there is something to do, and takes all that came: of what a page wants, its last word counts. */
static void take_events(struct server *s)
{
    struct web_event e;
    int64_t until = s->tick_at, now = clock_now();
    for (size_t i = 0; i < WEB_PAGES; i++)
        until = due(s, &s->pages[i]) < until ? due(s, &s->pages[i]) : until;
    for (size_t i = 0; i < WEB_EVENTS && web_next(s->web, i > 0 || until < now ? 0 : until - now, &e); i++)
        take_event(s, &e, clock_now());
}

static void serve(struct server *s, const volatile sig_atomic_t *stop)
{
    struct linked_state state;
    while (!*stop) {
        take_events(s);
        int64_t now = clock_now();
        if (now >= s->tick_at)
            look(s, now);
        take_controlled(s);
        make_paths(s, now);
        if (linked_receive(s->linked, &state))
            share_with_pages(s, 0, &state);
        serve_pages(s);
    }
}

int view_server_run(const struct view_server_options *o, const volatile sig_atomic_t *stop)
{
    static struct server s; /* the requests of all pages are large */
    s = (struct server){.o = o,
                        .control = {.program = o->bezel, .run = o->run},
                        .maker = {.program = o->self},
                        .paths = {.maker = {.program = o->bezel}}};
    int code = start(&s, stop);
    if (code == EXIT_OK) {
        if (linked_open(run_view_id(s.run), &s.linked) != 0)
            log_warn("BEZEL-VIEW-LINKED",
                     "cannot link this view with other views of the run: %s; their windows stay apart",
                     strerror(errno));
        say_where(&s);
        serve(&s, stop);
    }
    web_stop(s.web);
    if (s.door.path[0])
        door_file_remove(&s.door);
    control_stop(&s.control);
    text_maker_stop(&s.maker);
    text_maker_stop(&s.paths.maker);
    linked_close(s.linked);
    run_view_close(s.run);
    free(s.report);
    return code;
}
