// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Answers to pages: what makes no sense is empty; what takes too long to read is cut, and says so. What a view keeps of
 * a run is what it asks for. */
#include "base/clock.h"
#include "tests/lib/fake_sensor.h"
#include "tests/lib/interval_aspect.h"
#include "tests/lib/scratch.h"
#include "tests/lib/stored_run.h"
#include "tests/lib/test.h"
#include "views/page/run_view_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char run[PATH_MAX];
static struct fake_sensor *sensor;
static struct stored_run stored;
static struct run_view *view;

/* A process with some hundred records; the view is open. */
static int begin(void **state)
{
    static const uint8_t id[16] = "a run's identity";
    int err = scratch_begin(state), more;
    snprintf(run, sizeof run, "%s/run", scratch_dir);
    sensor = fake_new("desk", id, 1);
    if (err || !sensor || mkdir(run, 0777) != 0)
        return -1;
    fake_add_process(sensor, "app", 100, ROLE_SUT);
    fake_cut(sensor, 0, 0, 100);
    fake_cut(sensor, 0, 0, 100);
    memset(&stored, 0, sizeof stored);
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/experiment.yaml", run);
    FILE *file = fopen(path, "w");
    if (!file || fputs("experiment: e\ncommand: [sleep, \"1\"]\nmetrics:\n"
                       "  often: {rate: grab}\n"
                       "  path: {interval: [grab, send, show], match: frame, max: yes}\n"
                       "  way: {interval: [grab, show], match: frame, max: yes}\n",
                       file) < 0)
        return -1;
    fclose(file);
    if (stored_start(&stored, run, sensor, STORE_SYNC_NEVER) || stored_grow(&stored) || run_view_open(run, &view) != 0)
        return -1;
    while ((more = run_view_update(view, CLOCK_S)) > 0)
        ;
    return more;
}

static int end(void **state)
{
    run_view_close(view);
    stored_drop(&stored);
    fake_free(sensor);
    return scratch_end(state);
}

static void ask(struct page_request *q, const char *request)
{
    char text[128];
    const char *why;
    snprintf(text, sizeof text, "%s", request);
    assert_int_equal(page_request_read(text, strlen(text), q, &why), 0);
}

/* Whether the list of all records says that it is cut; it has no records then. */
static bool list_is_cut(int64_t deadline)
{
    struct page_request q;
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    ask(&q, "records 1 -2000000000000000000 2000000000000000000 1/-1/0/-1/-1/0");
    assert_int_equal(run_view_records(view, &q, deadline, out), 0);
    fclose(out);
    bool is_cut = strstr(text, "\"cut\":true");
    assert_int_equal(strstr(text, "\"at\":") == NULL, is_cut);
    free(text);
    return is_cut;
}

static bool picture_is_cut(int64_t deadline)
{
    const struct run_view_state is = {.live = false};
    struct page_request q;
    char *bytes;
    size_t n;
    ask(&q, "want 1 -2000000000000000000 2000000000000000000 10 0 1/-1/0/-1/-1/2000");
    assert_int_equal(run_view_picture(view, &q, q.from, q.until, &is, deadline, &bytes, &n), 0);
    bool is_cut = memmem(bytes, n, "\"cut\":true", 10);
    assert_int_equal(memmem(bytes, n, "\"records\":[[", 12) == NULL, is_cut);
    free(bytes);
    return is_cut;
}

/* Rows that the run does not have have nothing. */
TEST_WITH(begin, end, rows_that_make_no_sense_are_empty)
{
    static const char *const rows[] = {"1/-1/0/-1/0/2000",  "1/-1/0/0/-1/0", "1/-1/200/-1/-1/2000",
                                       "1/-1/1/11/-1/2000", "1/9/0/-1/-1/0", "9/-1/0/-1/-1/0"};
    const struct run_view_state is = {.live = false};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char request[128], *bytes;
        struct page_request q;
        size_t n;
        snprintf(request, sizeof request, "want 1 0 2000000000000000000 10 0 %s", rows[i]);
        ask(&q, request);
        assert_int_equal(run_view_picture(view, &q, q.from, q.until, &is, INT64_MAX, &bytes, &n), 0);
        assert_non_null(memmem(bytes, n, "\"rows\":[{}]", 11));
        free(bytes);
    }
}

/* What was right when it was taken in is damaged by now: the records up to there are shown, and that it is so. */
TEST_WITH(begin, end, damage_is_told_and_the_rest_is_shown)
{
    const struct run_view_state is = {.live = false};
    char path[PATH_MAX + 32], *bytes, *text;
    struct page_request q;
    size_t n;
    snprintf(path, sizeof path, "%s/trace/desk/app-100-0", run);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, -5, SEEK_END), 0);
    assert_int_equal(ftruncate(fileno(f), ftell(f)), 0);
    fclose(f);
    ask(&q, "want 1 0 2000000000000000000 10 0 1/-1/1/-1/0/0 1/-1/0/-1/-1/2000");
    assert_int_equal(run_view_picture(view, &q, q.from, q.until, &is, INT64_MAX, &bytes, &n), 0);
    assert_non_null(memmem(bytes, n, "\"records\":[[", 12));
    assert_non_null(memmem(bytes, n, "\"damaged\":true}]", 16));
    free(bytes);
    FILE *out = open_memstream(&text, &n);
    ask(&q, "records 1 -2000000000000000000 2000000000000000000 1/-1/0/-1/-1/0");
    assert_int_equal(run_view_records(view, &q, INT64_MAX, out), 0);
    fclose(out);
    assert_true(strstr(text, "\"at\":") && strstr(text, "\"damaged\":true"));
    free(text);
}

TEST_WITH(begin, end, what_takes_too_long_is_cut_and_says_so)
{
    assert_true(list_is_cut(0));
    assert_true(picture_is_cut(0));
    assert_false(list_is_cut(INT64_MAX));
    assert_false(picture_is_cut(INT64_MAX));
}

/* ---- messages and lists ------------------------------------------------------------------------------------------ */

static void take_in(void)
{
    int more;
    assert_int_equal(stored_grow(&stored), 0);
    while ((more = run_view_update(view, CLOCK_S)) > 0)
        ;
    assert_int_equal(more, 0);
}

static void put_message(unsigned process, unsigned ring, uint32_t peer, uint64_t tag)
{
    fake_cut_one(sensor, process, ring, 3, (const uint64_t[]){peer, tag});
}

/* A process that sends, or receives, with names of two channels and of the processes; its row is behind those before.
 */
static unsigned add_talker(const char *name, uint32_t pid, enum dict_kind kind)
{
    struct dict_aspect a = {.name = "message", .kind = kind, .field_count = 2};
    a.fields[0] = (struct dict_field){DICT_STRING, "peer", "1", ""};
    a.fields[1] = (struct dict_field){DICT_INT64, "tag", "1", ""};
    unsigned process = fake_add_process(sensor, name, pid, ROLE_SUT);
    assert_int_equal(fake_add_aspect_like(sensor, process, &a), 3);
    assert_int_equal(fake_add_string(sensor, process, "asker"), 3);
    assert_int_equal(fake_add_string(sensor, process, "teller"), 4);
    return process;
}

/* The pairs of the row of all that is received. */
static char *pairs_of(const char *rows)
{
    const struct run_view_state is = {.live = false};
    struct page_request q;
    char request[256], *bytes;
    size_t n;
    snprintf(request, sizeof request, "want 1 -2000000000000000000 2000000000000000000 10 0 %s", rows);
    ask(&q, request);
    assert_int_equal(run_view_picture(view, &q, q.from, q.until, &is, INT64_MAX, &bytes, &n), 0);
    char *pairs = memmem(bytes, n, "\"pairs\":", 8);
    char *copy = pairs ? strndup(pairs, (size_t)(strstr(pairs, "]]") - pairs) + 2) : strdup("none");
    free(bytes);
    return copy;
}

/*
 * Channels "camera" (string 1) and another one (2) use the same tag, and so does a message to a process: each receiving
 * is paired with the sending through its channel, or of its sender. What the teller passed on to the viewer with the
 * tag of what the asker sent to it is no message of the asker's. Streams 1 and 2 are the asker's, 0 is of `app`.
 */
TEST_WITH(begin, end, messages_pair_as_readers_pair_them)
{
    unsigned asker = add_talker("asker", 200, DICT_SENT), teller = add_talker("teller", 300, DICT_RECEIVED);
    unsigned viewer = add_talker("viewer", 400, DICT_RECEIVED), senders[3];
    long long at[3], sent[3];
    put_message(asker, 0, 1, 7); /* through "camera" */
    put_message(asker, 1, 2, 7); /* through the other one, later */
    put_message(asker, 2, 4, 7); /* to process "teller" */
    put_message(teller, 0, 1, 7);
    put_message(teller, 0, 2, 7);
    put_message(teller, 0, 3, 7); /* of process "asker" */
    put_message(teller, 0, 3, 8); /* whose sending is not stored */
    put_message(viewer, 0, 4, 7); /* neither is the teller's */
    take_in();
    char *pairs = pairs_of("2/-1/3/-1/-1/100 3/-1/3/-1/-1/100");
    assert_int_equal(sscanf(pairs, "\"pairs\":[[%lld,%lld,%u,3],[%lld,%lld,%u,3],[%lld,%lld,%u,3]]", &at[0], &sent[0],
                            &senders[0], &at[1], &sent[1], &senders[1], &at[2], &sent[2], &senders[2]),
                     9);
    for (int i = 0; i < 3; i++) {
        const struct levels_stream *s = levels_stream(view->c.levels, senders[i]);
        assert_int_equal(s->ring, i);
        assert_string_equal(s->process->name, "asker");
    }
    free(pairs);
    pairs = pairs_of("2/-1/3/-1/-1/100 4/-1/3/-1/-1/100");
    assert_int_equal(strncmp(pairs, "\"pairs\":[]", 10), 0);
    free(pairs);
    pairs = pairs_of("3/-1/3/-1/-1/100"); /* nothing that is sent is shown */
    assert_string_equal(pairs, "none");
    free(pairs);
}

static char *list_of(const char *request)
{
    struct page_request q;
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    ask(&q, request);
    assert_int_equal(run_view_records(view, &q, INT64_MAX, out), 0);
    fclose(out);
    return text;
}

static size_t count_of(const char *text, const char *word)
{
    size_t n = 0;
    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

/* Of 1,000 records a list has the 200 around the one with the largest, or the least, value, which it marks. */
TEST_WITH(begin, end, a_list_lies_around_what_stands_out)
{
    unsigned process = fake_add_process(sensor, "loop", 400, ROLE_SUT);
    for (uint64_t i = 0; i < 1000; i++) {
        double latency = i == 620 ? 45e-3 : i == 810 ? -1 : 100e-6;
        uint64_t values[4] = {i, 0, 0, 1};
        memcpy(&values[1], &latency, sizeof latency);
        fake_cut_one(sensor, process, 0, 2, values);
    }
    take_in();
    char *text = list_of("records 1 -2000000000000000000 2000000000000000000 2/-1/2/1/-1/0 most");
    assert_int_equal(count_of(text, "\"own\":"), 200);
    assert_true(strstr(text, "[\"frame\",620,") && strstr(text, "[\"frame\",530,") && strstr(text, "[\"frame\",710,"));
    assert_null(strstr(text, "[\"frame\",100,"));
    assert_int_equal(count_of(text, "\"chosen\":true"), 1);
    assert_true(strstr(text, "[\"frame\",620,") < strstr(text, "\"chosen\"") &&
                strstr(text, "\"chosen\"") < strstr(text, "[\"frame\",621,"));
    assert_non_null(strstr(text, "\"more\":true"));
    free(text);
    text = list_of("records 1 -2000000000000000000 2000000000000000000 2/-1/2/1/-1/0 least");
    assert_true(strstr(text, "[\"frame\",810,") && strstr(text, "\"chosen\":true"));
    free(text);
    text = list_of("records 1 -2000000000000000000 2000000000000000000 2/-1/2/1/-1/0");
    assert_int_equal(count_of(text, "\"own\":"), 200);
    assert_null(strstr(text, "\"chosen\""));
    free(text);
}

/* ---- what is kept of a run --------------------------------------------------------------------------------------- */

enum { LIMIT = 3, PACKETS = 5 };

/* A daemon that observes a limit; returns its number. */
static unsigned add_observer(void)
{
    struct dict_aspect observation = builtin_aspects[BUILTIN_OBSERVATION];
    unsigned index = fake_add_process(sensor, "bezeld", 50, ROLE_DAEMON);
    struct fake_process *p = sensor->processes[index];
    observation.id = 1;
    p->said.dictionary_bytes = (uint32_t)dict_append_aspect(p->said.dictionary, 0, MESSAGE_DICT_MAX, &observation);
    dict_free(p->dict);
    assert_int_equal(dict_parse(p->said.dictionary, p->said.dictionary_bytes, &p->dict), 0);
    return index;
}

/* Stores observations behind each other, which the database has where it is `saved`, and takes in what it finds. */
static void observe(unsigned observer, bool saved)
{
    static const uint64_t values[] = {LIMIT, 1, 0, 0};
    for (int i = 0; i < PACKETS; i++)
        fake_cut_one(sensor, observer, 0, 1, values);
    assert_int_equal(stored_feed(&stored, UINT64_MAX), 0);
    assert_int_equal(saved ? stored_save(&stored) : 0, 0);
    take_in();
}

static size_t frame_head(const char *bytes)
{
    const uint8_t *b = (const uint8_t *)bytes;
    return b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16 | (size_t)b[3] << 24;
}

/* Sum of the counts of a row's columns, and how many columns it has. */
static double counts_of(const char *request, size_t *columns)
{
    const struct run_view_state is = {.live = true};
    struct page_request q;
    char *bytes;
    size_t n;
    double sum = 0;
    ask(&q, request);
    assert_int_equal(run_view_picture(view, &q, q.from, q.until, &is, INT64_MAX, &bytes, &n), 0);
    const char *found = memmem(bytes, n, "\"columns\":", 10);
    assert_non_null(found);
    *columns = strtoul(found + 10, NULL, 10);
    const double *arrays = (const double *)(const void *)(bytes + (4 + frame_head(bytes) + 7) / 8 * 8);
    for (size_t i = 0; i < *columns; i++)
        sum += arrays[*columns + i];
    free(bytes);
    return sum;
}

/* The history of a limit is that of the database, which lags behind the stored records. */
TEST_WITH(begin, end, the_line_of_a_limit_has_each_observation_once)
{
    static const char all[] = "want 1 -2000000000000000000 2000000000000000000 10 0 2/-1/1/2/3/0";
    unsigned observer = add_observer();
    size_t columns;
    observe(observer, true);
    view->c.history.read_at -= 2 * CLOCK_S; /* it has paused */
    take_in();
    assert_non_null(history_limit(&view->c.history, 0, LIMIT));
    assert_true(counts_of(all, &columns) == PACKETS && columns == 1);
    observe(observer, false);
    assert_int_equal(history_limit(&view->c.history, 0, LIMIT)->count, PACKETS);
    assert_true(counts_of(all, &columns) == 2 * PACKETS && columns == 1);
}

/* One bezeld after the other monitors a node: each has a line of its own. */
TEST_WITH(begin, end, a_line_is_of_one_process)
{
    unsigned observer = add_observer();
    size_t columns;
    observe(observer, true);
    observe(add_observer(), true);
    view->c.history.read_at -= 2 * CLOCK_S;
    take_in();
    assert_int_equal(history_limit(&view->c.history, 0, LIMIT)->count, 2 * PACKETS);
    assert_true(counts_of("want 1 -2000000000000000000 2000000000000000000 10 0 2/-1/1/2/3/0", &columns) == PACKETS);
    assert_int_equal(columns, 2); /* the last one ends the line: who came behind it may say something else */
    assert_true(counts_of("want 1 -2000000000000000000 2000000000000000000 10 0 3/-1/1/2/3/0", &columns) == PACKETS);
    assert_int_equal(columns, 1);
}

/* Whether a value holds at the begin of a window that begins behind all records so far. */
static bool holds(int process)
{
    const struct run_view_state is = {.live = true};
    struct page_request q;
    char request[128], *bytes;
    size_t n;
    snprintf(request, sizeof request, "want 1 %lld %lld 10 0 %d/-1/1/2/3/0", (long long)view->newest + 1,
             (long long)view->newest + CLOCK_MS, process);
    ask(&q, request);
    assert_int_equal(run_view_picture(view, &q, q.from, q.until, &is, INT64_MAX, &bytes, &n), 0);
    bool no = memmem(bytes, n, "\"before\":null", 13);
    free(bytes);
    return !no;
}

TEST_WITH(begin, end, what_a_bezeld_knew_last_holds_until_it_ends_and_another_one_goes_on)
{
    observe(add_observer(), true);
    assert_true(holds(2));
    observe(add_observer(), true);
    assert_false(holds(2));
    assert_true(holds(3));
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */

/* A process that records `name` with a frame; returns its number. */
static unsigned add_part(const char *process, uint32_t pid, const char *name)
{
    struct dict_aspect a = {.name = name, .field_count = 1, .fields = {{DICT_INT64, "frame", "1", ""}}};
    unsigned index = fake_add_process(sensor, process, pid, ROLE_SUT);
    assert_int_equal(fake_add_aspect_like(sensor, index, &a), 3);
    return index;
}

/* Frames 1 and 2 go a whole way, 3 is never shown. A chain has its stages, two ends the whole. */
TEST_WITH(begin, end, intervals_have_edges_between_their_records)
{
    static const char rows[] = "want 1 -2000000000000000000 2000000000000000000 10 0 2/-1/3/-1/-1/100 3/-1/3/-1/-1/100 "
                               "4/-1/3/-1/-1/100";
    const struct run_view_state is = {.live = false};
    struct page_request q;
    unsigned camera = add_part("camera", 500, "grab"), net = add_part("net", 501, "send"),
             screen = add_part("screen", 502, "show"), number, stage, from, to, found[3] = {0};
    long long begin_at, end_at, took;
    char request[256], *bytes;
    size_t n;
    for (uint64_t frame = 1; frame <= 3; frame++) {
        fake_cut_one(sensor, camera, 0, 3, &frame);
        fake_cut_one(sensor, net, 0, 3, &frame);
        if (frame < 3)
            fake_cut_one(sensor, screen, 0, 3, &frame);
    }
    take_in();
    snprintf(request, sizeof request, "%s", rows);
    ask(&q, request);
    assert_int_equal(run_view_picture(view, &q, q.from, q.until, &is, INT64_MAX, &bytes, &n), 0);
    char *edges = memmem(bytes, n, "\"edges\":[[", 10);
    assert_non_null(edges);
    edges += 9;
    for (unsigned i = 0; i < 6; i++, edges = strchr(edges, ']') + 2) {
        assert_int_equal(
            sscanf(edges, "[%u,%u,%u,%lld,%u,%lld,%lld,0]", &number, &stage, &from, &begin_at, &to, &end_at, &took), 7);
        assert_int_equal(end_at - begin_at, took);
        const char *of[] = {levels_stream(view->c.levels, from)->process->name,
                            levels_stream(view->c.levels, to)->process->name};
        assert_string_equal(of[0], stage == 0 ? "camera" : "net");
        assert_string_equal(of[1], number == 0 && stage == 0 ? "net" : "screen");
        found[number == 0 ? stage : 2]++;
    }
    assert_true(found[0] == 2 && found[1] == 2 && found[2] == 2 && edges[-1] == ']');
    free(bytes);
}

/* ---- when threads had a CPU -------------------------------------------------------------------------------------- */

/* A daemon whose sampler records when threads had a CPU; returns its number. */
static unsigned add_switches(void)
{
    unsigned index = fake_add_process(sensor, "bezeld", 50, ROLE_DAEMON);
    assert_int_equal(fake_add_aspect_like(sensor, index, &interval_aspect_recorded), 3);
    assert_int_equal(fake_add_aspect_like(sensor, index, &wait_aspect_recorded), 4);
    return index;
}

static char *strip_of(const char *row)
{
    const struct run_view_state is = {.live = false};
    struct page_request q;
    char request[256], *bytes;
    size_t n;
    snprintf(request, sizeof request, "want 1 -2000000000000000000 2000000000000000000 4000 0 %s", row);
    ask(&q, request);
    assert_int_equal(run_view_picture(view, &q, q.from, q.until, &is, INT64_MAX, &bytes, &n), 0);
    char *strip = memmem(bytes, n, "\"strip\":", 8);
    char *copy = strip ? strndup(strip, (size_t)(strstr(strip, "]]") - strip) + 2) : strdup("none");
    free(bytes);
    return copy;
}

/* A strip is of the intervals of one thread: string 1, thread 7. In a window this wide they are one piece. Records are
 * a microsecond apart. */
TEST_WITH(begin, end, a_thread_has_its_own_strip)
{
    unsigned daemon = add_switches();
    long long from, until, running, ready, waiting, either;
    char row[64];
    fake_cut_one(sensor, daemon, 0, 3,
                 (const uint64_t[]){1, 7, 200, 0, 0, 0, (uint64_t)-1, (uint64_t)-1, (uint64_t)-1});
    fake_cut_one(sensor, daemon, 0, 3, (const uint64_t[]){1, 8, 900, 0, 0, 0, 0, 0, 0});
    fake_cut_one(sensor, daemon, 0, 3, (const uint64_t[]){2, 7, 900, 0, 0, 0, 0, 0, 0});
    fake_cut_one(sensor, daemon, 0, 3, (const uint64_t[]){1, 7, 300, 0, 0, 0, 2700, 200, 300});
    take_in();
    snprintf(row, sizeof row, "2/-1/3/-1/%lld/400", 1 + (7LL << 12));
    char *strip = strip_of(row);
    assert_int_equal(sscanf(strip, "\"strip\":[[%lld,%lld,%lld,%lld,%lld,%lld]]", &from, &until, &running, &ready,
                            &waiting, &either),
                     6);
    assert_true(until > from);
    assert_int_equal(running, 500);
    assert_int_equal(ready, 200);
    assert_int_equal(waiting, 2400);
    assert_int_equal(either, 100);
    free(strip);
    strip = strip_of("2/-1/3/-1/4097/400"); /* thread 1 has none */
    assert_int_equal(strncmp(strip, "\"strip\":[]", 10), 0);
    free(strip);
    strip = strip_of("2/-1/1/-1/28673/400"); /* another aspect */
    assert_string_equal(strip, "none");
    free(strip);
}

/* No interval tells of thread 9: it has waited, and waits still. */
TEST_WITH(begin, end, a_thread_that_only_waits_has_a_strip)
{
    unsigned daemon = add_switches();
    long long from, until, ns[4];
    char row[64];
    fake_cut_one(sensor, daemon, 0, 3, (const uint64_t[]){1, 8, 900, 0, 0, 0, 0, 0, 0});
    fake_cut_one(sensor, daemon, 0, 4, (const uint64_t[]){1, 9, 700, 0, 1, 4, 0, (uint64_t)-1, (uint64_t)-1});
    take_in();
    snprintf(row, sizeof row, "2/-1/3/-1/%lld/400", 1 + (9LL << 12));
    char *strip = strip_of(row);
    assert_int_equal(
        sscanf(strip, "\"strip\":[[%lld,%lld,%lld,%lld,%lld,%lld]]", &from, &until, &ns[0], &ns[1], &ns[2], &ns[3]), 6);
    assert_int_equal(until - from, 700);
    assert_int_equal(ns[2], 700);
    free(strip);
}

/* A run may have thousands of processes; what they counted would be ten times the rest. */
TEST_WITH(begin, end, a_reader_keeps_nothing_of_what_processes_counted)
{
    struct levels *levels;
    fake_add_process(sensor, "app", 101, ROLE_SUT);
    unsigned other = fake_add_process(sensor, "app", 102, ROLE_SUT);
    fake_add_string(sensor, other, "of this one alone");
    fake_cut(sensor, other - 1, 0, 1);
    fake_cut(sensor, other, 0, 1);
    assert_int_equal(stored_grow(&stored), 0);
    assert_int_equal(levels_open(run, &levels), 0);
    const struct model_process *p = levels_model(levels, NULL)->nodes->processes;
    assert_non_null(p->dict);
    assert_ptr_equal(p->next->dict, p->dict);
    assert_ptr_not_equal(p->next->next->dict, p->dict);
    assert_null(p->counts);
    assert_null(p->values);
    assert_null(p->latency);
    levels_close(levels);
}
