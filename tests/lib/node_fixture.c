// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "tests/lib/node_fixture.h"

#include "base/clock.h"
#include "base/hash.h"
#include "mdr/parts.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const uint8_t test_run[16] = {0x52, 0x55, 0x4e}, test_uuid[16] = {0x75, 0x75, 0x69, 0x64};

void fixture_reopen(struct fixture *f)
{
    memcpy(f->options.run, test_run, 16);
    memcpy(f->options.uuid, test_uuid, 16);
    f->options.dir = f->dir;
    if (!f->options.window_bytes)
        f->options.window_bytes = 4 << 20;
    assert_int_equal(external_open(&f->options, &f->external), 0);
}

void fixture_open(struct fixture *f)
{
    scratch_make(f->dir);
    setenv("BEZEL_DIR", f->dir, 1);
    fixture_reopen(f);
}

/* All but what a process leaves that is killed before it could lock its segment: it is empty, and goes later. */
static int is_left(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && !strstr(e->d_name, SEGMENT_UNFINISHED);
}

void fixture_close(struct fixture *f)
{
    struct dirent **left;
    external_close(f->external, true);
    int count = scandir(f->dir, &left, is_left, alphasort);
    if (count != 0)
        fail_msg("%s is left", left[0]->d_name);
    free(left);
    scratch_remove(f->dir);
}

void fixture_discard(struct fixture *f)
{
    external_close(f->external, true);
    scratch_remove(f->dir);
}

static struct fixture_stream *find_stream(struct fixture *f, const struct packet_header *h)
{
    for (uint32_t i = 0; i < f->stream_count; i++)
        if (f->streams[i].instance == h->instance && f->streams[i].ring == h->ring)
            return &f->streams[i];
    assert_true(f->stream_count < FIXTURE_STREAMS);
    struct fixture_stream *s = &f->streams[f->stream_count++];
    *s = (struct fixture_stream){.instance = h->instance, .ring = h->ring, .next_ordinal = h->first_ordinal};
    return s;
}

static void read_records(struct fixture *f, const uint8_t *packet, const struct packet_header *h)
{
    struct external_process *p = external_find(f->external, h->instance);
    assert_non_null(p);
    if (!p->at->dict && h->records == 0) {
        assert_int_equal(h->dictionary, HASH_FNV64_START); /* the empty one: a receiver knows it */
        return;
    }
    if (!p->at->dict)
        fail_msg("%s has records, and no dictionary: %u bytes of it, broken %d", p->at->name, p->at->dict_used,
                 p->at->dict_broken);
    assert_true(dict_includes(p->at->dict, h->dictionary));
    assert_int_equal(packet_check(packet, h, p->at->dict->field_counts, p->at->dict->aspect_count, NULL), 0);
    struct packet_record r;
    size_t at = PACKET_HEADER_BYTES;
    while (packet_next_record(packet, h, p->at->dict->field_counts, p->at->dict->aspect_count, &at, &r) > 0) {
        f->records++;
        if (f->record)
            f->record(f, h, &r, p->at->dict->aspects[r.aspect - 1].name);
    }
}

/*
 * The rules of a stream: opened first, closed last, sequence and ordinals without gaps, losses told, time not turning.
 */
static void read_packet(struct fixture *f, const uint8_t *packet, const struct packet_header *h)
{
    struct fixture_stream *s = find_stream(f, h);
    if (h->seq < s->next_seq)
        return; /* read by an earlier life */
    assert_int_equal(h->seq, s->next_seq);
    assert_int_equal(h->first_ordinal, s->next_ordinal);
    assert_int_equal(h->kind == PACKET_OPEN, h->seq == 0);
    assert_false(s->closed);
    assert_true(h->timestamp_begin >= s->last_ns);
    assert_true(h->discarded >= s->discarded);
    if (h->kind == PACKET_DATA || h->kind == PACKET_OPEN)
        assert_int_equal(h->discarded, s->discarded);
    if (h->kind == PACKET_LOSS)
        assert_true(h->discarded > s->discarded);
    s->next_seq = h->seq + 1;
    s->next_ordinal = h->first_ordinal + h->records + (h->discarded - s->discarded);
    s->discarded = h->discarded;
    s->last_ns = h->timestamp_end;
    s->records += h->records;
    s->closed = h->kind == PACKET_CLOSE;
    read_records(f, packet, h);
}

void fixture_acknowledge(struct fixture *f)
{
    struct window *w = external_window(f->external);
    uint64_t at = window_oldest(w);
    for (struct window_packet *p; (p = window_next(w, &at)) != NULL;) {
        struct packet_header h;
        assert_int_equal(packet_get_header(p->data, p->bytes, &h), 0);
        window_acknowledge(w, p->stream, h.seq + 1);
    }
    window_free_each(w, NULL, NULL);
}

void fixture_turn(struct fixture *f)
{
    struct window *w = external_window(f->external);
    int64_t now = clock_now();
    external_poll(f->external, now);
    external_housekeep(f->external, now);
    uint64_t at = window_oldest(w);
    for (struct window_packet *p; (p = window_next(w, &at)) != NULL;) {
        struct packet_header h;
        assert_int_equal(packet_get_header(p->data, p->bytes, &h), 0);
        assert_true(h.size_bytes <= window_packet_bytes(w)); /* no more was reserved */
        read_packet(f, p->data, &h);
        window_acknowledge(w, p->stream, h.seq + 1);
    }
    window_free_each(w, NULL, NULL);
    assert_int_equal(window_waiting(w), 0);
}

void fixture_until(struct fixture *f, bool (*done)(struct fixture *f))
{
    int64_t deadline = clock_now() + PATIENCE;
    do {
        fixture_turn(f);
        assert_true(clock_now() < deadline);
    } while (!done(f));
}

bool fixture_nobody_lives(struct fixture *f)
{
    for (uint32_t i = 0; i < external_process_count(f->external); i++) {
        const struct external_process *p = external_process(f->external, i);
        if (p && p->phase != EXTERNAL_CLOSED)
            return false;
    }
    return true;
}

bool fixture_all_gone(struct fixture *f)
{
    return external_process_count(f->external) > 0 && fixture_nobody_lives(f);
}

static bool finished(struct fixture *f)
{
    return external_finished(f->external) && window_waiting(external_window(f->external)) == 0;
}

void fixture_finish(struct fixture *f)
{
    external_finish(f->external, clock_now());
    fixture_until(f, finished);
    fixture_turn(f);
    for (uint32_t i = 0; i < f->stream_count; i++)
        assert_true(f->streams[i].closed || f->may_end_open);
}

void fixture_end(struct fixture *f)
{
    fixture_finish(f);
    fixture_close(f);
}

static const int caught[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};

pid_t fixture_spawn(void (*body)(void *context), void *context)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody behind */
        for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
            signal(caught[i], SIG_DFL); /* the framework's handlers would go on with the next test, in here */
        body(context);
        _exit(0);
    }
    return pid;
}

int fixture_wait(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return status;
}

void fixture_observe(struct fixture *f, void (*body)(void *context))
{
    int status;
    f->options.batch = f->options.take_all = true;
    fixture_open(f);
    pid_t pid = fixture_spawn(body, NULL);
    int64_t deadline = clock_now() + PATIENCE;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        fixture_turn(f);
        assert_true(clock_now() < deadline);
        clock_sleep_until(clock_now() + CLOCK_MS / 10); /* the CPU may be all that `body` waits for */
    }
    assert_int_equal(status, 0);
    fixture_until(f, fixture_all_gone);
}

const struct dict_aspect *fixture_aspect(struct fixture *f, const char *name)
{
    const struct dict *d = external_process(f->external, 0)->at->dict;
    for (uint32_t i = 0; i < d->aspect_count; i++)
        if (strcmp(d->aspects[i].name, name) == 0)
            return &d->aspects[i];
    return NULL;
}

static volatile char *volatile bus_address;

static void check_bus_address(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    uintptr_t off = (uintptr_t)info->si_addr - (uintptr_t)bus_address;
    _exit(off == 0 || off + 4095 < 4096 ? 0 : 1); /* some machines tell the page alone */
}

/* Touches a page behind the end of its file. */
static void touch_nothing(void *unused)
{
    char path[] = "/dev/shm/bezel-test-XXXXXX";
    struct sigaction action = {.sa_sigaction = check_bus_address, .sa_flags = SA_SIGINFO};
    int fd = mkstemp(path);
    (void)unused;
    unlink(path);
    if (fd < 0 || ftruncate(fd, 8192) != 0 || sigaction(SIGBUS, &action, NULL) != 0)
        _exit(2);
    char *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED || ftruncate(fd, 0) != 0)
        _exit(2);
    bus_address = at + 5000;
    *bus_address = 1;
    _exit(2);
}

void fixture_needs_bus_address(void)
{
    int status = fixture_wait(fixture_spawn(touch_nothing, NULL));
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    if (WEXITSTATUS(status) == 0)
        return;
    printf("SIGBUS does not tell the address here, as it would not under some emulators\n");
    skip();
}

struct segment *fixture_own_segment(void)
{
    char command[200], path[200] = "";
    snprintf(command, sizeof command, "ls %s/*" SEGMENT_SUFFIX, getenv("BEZEL_DIR"));
    FILE *list = popen(command, "r");
    if (!list || fscanf(list, "%199s", path) != 1)
        _exit(3);
    pclose(list);
    int fd = open(path, O_RDWR);
    struct segment *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    s = mmap(NULL, s->total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return s;
}

enum message_process_state fixture_last_state(struct fixture *f, uint32_t i)
{
    static struct message_books b;
    uint64_t instance = external_process(f->external, i)->at->instance;
    external_end_run(f->external);
    external_uplink(f->external).books(f->external, instance, true, clock_now(), &b);
    return b.state;
}

uint64_t fixture_books(const struct fixture *f, const char *aspect, struct message_books_row *sum)
{
    static struct message_books b;
    uint64_t unfinished = 0;
    *sum = (struct message_books_row){0};
    for (uint32_t i = 0; i < external_process_count(f->external); i++) {
        const struct external_process *p = external_process(f->external, i);
        if (!p || (aspect && !p->at->dict))
            continue;
        external_books(p, clock_now(), &b);
        unfinished += b.unfinished;
        for (uint32_t n = 0; n < b.row_count; n++) {
            const struct message_books_row *row = &b.rows[n];
            if (aspect && strcmp(p->at->dict->aspects[row->aspect - 1].name, aspect) != 0)
                continue;
            sum->attempts += row->attempts;
            sum->full += row->full;
            sum->off += row->off;
            sum->no_ring += row->no_ring;
            sum->window += row->window;
            sum->spool += row->spool;
        }
    }
    return unfinished;
}

bool fixture_is_known_to_its_end(const struct fixture *f)
{
    for (uint32_t i = 0; i < f->stream_count; i++)
        if (!f->streams[i].closed)
            return false;
    return true;
}

bool fixture_is_noted(const struct fixture *f, const char *code)
{
    for (uint32_t i = 0; i < external_note_count(f->external); i++)
        if (strcmp(external_note(f->external, i)->code, code) == 0)
            return true;
    return false;
}
