// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Names of threads of real processes, as they are found: changes alone, within their bounds. */
#include "sensor/external/name_watch.h"

#include "base/clock.h"
#include "bezel/sensor.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/patience.h"
#include "tests/lib/test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

BEZEL_ASPECT(alive);

/* ---- What was found ---------------------------------------------------------------------------------------------- */

enum { CHANGES_MAX = 1024 };

static struct change {
    uint32_t thread;
    char name[NAME_WATCH_BYTES + 1]; /* "": none */
} changes[CHANGES_MAX];
static unsigned count;

static void changed(void *context, const struct external_process *p, uint32_t thread, const char *name)
{
    (void)context;
    assert_non_null(p);
    assert_true(count < CHANGES_MAX);
    changes[count].thread = thread;
    snprintf(changes[count++].name, sizeof changes[0].name, "%s", name ? name : "");
}

/* Looks until nothing new is found: a look is bounded. */
static void look(struct name_watch *w, bool all)
{
    unsigned before;
    do {
        before = count;
        name_watch_look(w, clock_now(), all, changed, NULL);
    } while (count != before);
}

static void expect(unsigned at, const char *name)
{
    assert_true(at < count);
    assert_string_equal(changes[at].name, name);
}

/* ---- The fixture ------------------------------------------------------------------------------------------------- */

enum { CROWD = 100, NAME_BYTES = 16 };

#define BEGIN_CROWD "\1"
#define END_CROWD   "\2"

struct watched {
    struct fixture f;
    struct name_watch *w;
    struct external_process *p;
    int pair[2]; /* names that the observed process is to take; it answers each with a byte */
    pid_t pid;
};

static struct crowd {
    pthread_barrier_t recorded, looked;
    pthread_t threads[CROWD];
    unsigned next;
} crowd;

static void *work(void *unused)
{
    char name[NAME_BYTES];
    (void)unused;
    snprintf(name, sizeof name, "worker %u", __atomic_fetch_add(&crowd.next, 1, __ATOMIC_RELAXED) % 8u);
    pthread_setname_np(pthread_self(), name);
    bezel_record(alive);
    pthread_barrier_wait(&crowd.recorded);
    pthread_barrier_wait(&crowd.looked);
    return NULL;
}

static void begin_crowd(void)
{
    pthread_barrier_init(&crowd.recorded, NULL, CROWD + 1);
    pthread_barrier_init(&crowd.looked, NULL, CROWD + 1);
    for (unsigned i = 0; i < CROWD; i++)
        if (pthread_create(&crowd.threads[i], NULL, work, NULL) != 0)
            _exit(1);
    pthread_barrier_wait(&crowd.recorded);
}

static void end_crowd(void)
{
    pthread_barrier_wait(&crowd.looked);
    for (unsigned i = 0; i < CROWD; i++)
        pthread_join(crowd.threads[i], NULL);
}

/* The observed process: takes the names that it is sent, until nobody sends any. */
static void obey(void *context)
{
    const int *pair = context;
    char name[NAME_BYTES];
    close(pair[0]);
    bezel_record(alive);
    while (read(pair[1], name, sizeof name) == sizeof name) {
        if (strcmp(name, BEGIN_CROWD) == 0)
            begin_crowd();
        else if (strcmp(name, END_CROWD) == 0)
            end_crowd();
        else
            pthread_setname_np(pthread_self(), name);
        if (write(pair[1], "", 1) != 1)
            return;
    }
}

static void take_name(const struct watched *t, const char *text)
{
    char name[NAME_BYTES] = {0}, answer;
    memcpy(name, text, strlen(text));
    assert_int_equal(write(t->pair[0], name, sizeof name), sizeof name);
    assert_int_equal(read(t->pair[0], &answer, 1), 1);
}

static bool is_found(struct fixture *f)
{
    return f->records > 0;
}

static int begin(void **state)
{
    struct watched *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->f = (struct fixture){.options = {.batch = true, .take_all = true, .window_bytes = 1 << 20}};
    fixture_open(&t->f);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, t->pair), 0);
    t->pid = fixture_spawn(obey, t->pair);
    close(t->pair[1]);
    take_name(t, "main");
    fixture_until(&t->f, is_found);
    t->p = external_process(t->f.external, 0);
    t->w = name_watch_new(t->f.external);
    assert_non_null(t->w);
    count = 0;
    *state = t;
    return 0;
}

static int end(void **state)
{
    struct watched *t = *state;
    close(t->pair[0]);
    name_watch_free(t->w);
    assert_int_equal(fixture_wait(t->pid), 0);
    fixture_until(&t->f, fixture_all_gone);
    fixture_end(&t->f);
    free(t);
    return 0;
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

TEST_WITH(begin, end, changes_alone_are_found)
{
    struct watched *t = *test_state;
    look(t->w, true);
    assert_int_equal(count, 1);
    assert_int_equal(changes[0].thread, t->pid);
    expect(0, "main");
    take_name(t, "later");
    look(t->w, false); /* it is not a new thread */
    assert_int_equal(count, 1);
    look(t->w, true);
    look(t->w, true);
    assert_int_equal(count, 2);
    expect(1, "later");
    take_name(t, "main");
    look(t->w, true);
    assert_int_equal(count, 3);
    expect(2, "main");
}

TEST_WITH(begin, end, names_are_escaped)
{
    struct watched *t = *test_state;
    take_name(t, "M\xfcller \xc3\xbc\n");
    look(t->w, true);
    expect(0, "M\\xFCller \xc3\xbc\n");
    take_name(t, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
    look(t->w, true);
    assert_int_equal(strlen(changes[1].name), NAME_WATCH_BYTES);
}

TEST_WITH(begin, end, another_pid_namespace_is_not_asked)
{
    struct watched *t = *test_state;
    t->p->at->our_namespace++;
    look(t->w, true);
    assert_int_equal(count, 0);
    t->p->at->our_namespace--;
    look(t->w, true);
    assert_int_equal(count, 1);
}

TEST_WITH(begin, end, further_names_are_none_and_noted)
{
    struct watched *t = *test_state;
    char name[16];
    for (unsigned i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "name %u", i % 10000u);
        take_name(t, name);
        look(t->w, true);
    }
    assert_int_equal(count, NAME_WATCH_OF + 1);
    expect(NAME_WATCH_OF - 1, "name 63");
    expect(NAME_WATCH_OF, "");
    assert_true(fixture_is_noted(&t->f, "BEZEL-THREAD-NAMES"));
    take_name(t, "name 5"); /* a known one is no further name */
    look(t->w, true);
    expect(NAME_WATCH_OF + 1, "name 5");
}

/* A look is bounded: what it does not reach comes first in the next one, and each thread is found once. */
TEST_WITH(begin, end, a_crowd_is_found_by_and_by)
{
    struct watched *t = *test_state;
    take_name(t, BEGIN_CROWD);
    fixture_turn(&t->f);
    name_watch_look(t->w, clock_now(), true, changed, NULL);
    assert_in_range(count, 1, NAME_WATCH_CHANGES);
    int64_t deadline = clock_now() + PATIENCE;
    while (count < CROWD + 1 && clock_now() < deadline)
        name_watch_look(t->w, clock_now(), true, changed, NULL);
    for (unsigned i = 0; i < 10; i++)
        look(t->w, true);
    take_name(t, END_CROWD);
    assert_int_equal(count, CROWD + 1);
    look(t->w, true); /* they have ended: their names are not others */
    assert_int_equal(count, CROWD + 1);
}

TEST_WITH(begin, end, without_memory_nothing_is_found)
{
    name_watch_look(NULL, clock_now(), true, changed, NULL);
    assert_int_equal(count, 0);
}
