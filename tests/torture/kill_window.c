// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * kill -9 of the owner of a window: at random moments, and after every single instruction of a commit and of a freeing.
 * What was committed is there, whole and once; what was freed is counted; nothing unacknowledged is gone.
 */
#include "base/clock.h"
#include "mdr/uplink/window.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/step.h"
#include "tests/lib/test.h"
#include "tests/lib/window_model.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAMS = 5, WATCHED = 20 << 10 /* bytes of the file: its head, the processes, the first streams */ };

static const uint8_t run[16] = "this run", uuid[16] = "this trace";
static char dir[SCRATCH_PATH];

/* What the victim did, as it says itself: "before" is noted ahead of an operation, "after" when it returned. */
static struct notes {
    _Atomic int ready;
    struct {
        _Atomic uint64_t cut_before, cut_after, acked, freed_after;
    } stream[STREAMS];
} * notes;

static struct folder folder = {.fd = -1};

static struct window *open_window(void)
{
    struct window *w;
    uint64_t left;
    folder_close(&folder); /* `dir` may be another by now */
    if (folder_open(dir, &folder) != 0 || window_open(&folder, run, uuid, WINDOW_BYTES_MIN, &w, &left) != 0 ||
        left != 0)
        return NULL;
    return w;
}

static struct window *open_with_streams(void)
{
    struct window *w = open_window();
    for (uint32_t i = 0; w && i < STREAMS; i++)
        if (window_find(w, i + 1, 0) < 0 && window_add_stream(w, i + 1, 0, i + 1, 0) < 0)
            return NULL;
    return w;
}

static int begin(void **unused)
{
    (void)unused;
    scratch_make(dir);
    notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(notes != MAP_FAILED);
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    munmap(notes, sizeof *notes);
    folder_close(&folder);
    scratch_remove(dir);
    return 0;
}

static uint32_t stream_of(struct window *w, uint32_t i)
{
    int n = window_find(w, i + 1, 0);
    assert_true(n >= 0);
    return (uint32_t)n;
}

/*
 * Walks the window: every packet is whole and the next of its stream, and the last one is where the stream says that it
 * stands. from[i] receives the sequence number of the oldest packet of stream i.
 */
static void check_packets(struct window *w, uint64_t from[STREAMS])
{
    struct window_stream at[STREAMS];
    bool seen[STREAMS] = {false};
    for (uint32_t i = 0; i < STREAMS; i++) {
        const struct window_stream *s = window_stream(w, stream_of(w, i));
        at[i] = (struct window_stream){.instance = i + 1, .stream_id = i + 1, .used = true};
        from[i] = s->next_seq;
    }
    struct window_packet *p;
    for (uint64_t pos = window_oldest(w); (p = window_next(w, &pos)) != NULL;) {
        struct packet_header h;
        assert_int_equal(packet_get_header(p->data, p->bytes, &h), 0);
        uint32_t i = (uint32_t)h.instance - 1;
        assert_true(i < STREAMS && p->stream == stream_of(w, i));
        if (!seen[i])
            at[i] = model_after(at[i], from[i] = h.seq);
        seen[i] = true;
        struct packet_header expected = model_next(&at[i]);
        assert_int_equal(h.seq, expected.seq);
        assert_true(model_is_whole(p, &expected));
        at[i] = model_after(at[i], h.seq + 1);
    }
    for (uint32_t i = 0; i < STREAMS; i++) {
        const struct window_stream *s = window_stream(w, stream_of(w, i));
        at[i] = model_after(at[i], s->next_seq);
        assert_true(model_same(s, &at[i]));
        assert_true(s->acked_seq >= from[i]);
    }
}

/* ---- At random moments ------------------------------------------------------------------------------------------- */

static void victim(uint64_t seed)
{
    struct window *w = open_with_streams();
    if (!w)
        _exit(1);
    notes->ready = 1;
    for (;;) {
        uint64_t r = seed_next(&seed);
        uint32_t i = (uint32_t)(r >> 8) % STREAMS;
        int n = window_find(w, i + 1, 0);
        const struct window_stream *s = window_stream(w, (uint32_t)n);
        if (r % 8 < 6) {
            notes->stream[i].cut_before = s->next_seq + 1;
            model_cut(w, (uint32_t)n);
            notes->stream[i].cut_after = s->next_seq;
        } else {
            uint64_t to = s->next_seq - (r >> 16) % (1 + (s->next_seq - s->acked_seq));
            notes->stream[i].acked = to > notes->stream[i].acked ? to : notes->stream[i].acked;
            window_acknowledge(w, (uint32_t)n, to);
            window_free_each(w, NULL, NULL);
        }
        if (window_waiting(w) > WINDOW_BYTES_MIN / 2) /* one stream that is never acknowledged would end the play */
            for (uint32_t all = 0; all < STREAMS; all++) {
                n = window_find(w, all + 1, 0);
                notes->stream[all].acked = window_stream(w, (uint32_t)n)->next_seq;
                window_acknowledge(w, (uint32_t)n, notes->stream[all].acked);
                window_free_each(w, NULL, NULL);
            }
    }
}

static void check_against_notes(struct window *w)
{
    uint64_t from[STREAMS];
    check_packets(w, from);
    for (uint32_t i = 0; i < STREAMS; i++) {
        const struct window_stream *s = window_stream(w, stream_of(w, i));
        assert_true(s->next_seq == notes->stream[i].cut_after || s->next_seq == notes->stream[i].cut_before);
        assert_true(from[i] <= notes->stream[i].acked);
        /* the next victim may be killed before it notes that the last one's packet is there */
        notes->stream[i].cut_after = notes->stream[i].cut_before = s->next_seq;
    }
}

TEST_WITH(begin, end, killed_at_random_it_has_all_that_was_committed)
{
    uint64_t seed = seed_start();
    int rounds = getenv("BEZEL_TEST_LIGHT") ? 30 : 200;
    for (int round = 0; round < rounds; round++) {
        uint64_t r = seed_next(&seed);
        notes->ready = 0;
        fflush(NULL);
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            victim(r);
        }
        int64_t deadline = clock_now() + PATIENCE;
        while (!notes->ready && r % 16 != 0) { /* now and then before it is ready */
            assert_true(clock_now() < deadline && waitpid(pid, NULL, WNOHANG) == 0);
            clock_sleep_until(clock_now() + CLOCK_MS / 10);
        }
        clock_sleep_until(clock_now() + (int64_t)(r >> 8) % (2 * CLOCK_MS));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        struct window *w = open_with_streams();
        assert_non_null(w);
        check_against_notes(w);
        window_close(w, false);
    }
}

/* ---- After every instruction ------------------------------------------------------------------------------------- */

/* Cuts a packet of `i` and acknowledges all but the last two of it. */
static void cut_and_free(struct window *w, uint32_t i)
{
    assert_true(model_cut(w, i));
    uint64_t next = window_stream(w, i)->next_seq;
    window_acknowledge(w, i, next > 2 ? next - 2 : 0);
    window_free_each(w, NULL, NULL);
}

/*
 * Leaves two packets of each of two streams in the window, and less room to its end than the next one of the first
 * needs.
 */
static void prepare(uint64_t next[2])
{
    struct window *w = open_with_streams();
    assert_non_null(w);
    uint32_t a = stream_of(w, 0), b = stream_of(w, 1);
    for (;;) { /* until one that is quickly stepped through does not fit */
        uint64_t size = model_next(window_stream(w, a)).size_bytes;
        uint64_t place = (window_oldest(w) + window_waiting(w)) % WINDOW_BYTES_MIN;
        if (size < 1000 && place + size > WINDOW_BYTES_MIN)
            break;
        cut_and_free(w, a);
        cut_and_free(w, b);
    }
    next[0] = window_stream(w, a)->next_seq;
    next[1] = window_stream(w, b)->next_seq;
    window_close(w, false);
}

/* What the stepped child does: a commit that needs a filler, and a freeing of three packets of two streams. */
static void stepped(void)
{
    struct window *w = open_window();
    if (!w)
        _exit(1);
    uint32_t a = (uint32_t)window_find(w, 1, 0), b = (uint32_t)window_find(w, 2, 0);
    window_acknowledge(w, a, window_stream(w, a)->next_seq);
    window_acknowledge(w, b, window_stream(w, b)->next_seq - 1);
    step_stop();
    model_cut(w, a);
    window_free_each(w, NULL, NULL);
    _exit(0);
}

/* Copies the living window's file to where it can be opened as the one of a dead daemon. */
static void copy_window(const void *from, size_t bytes, const char *to_dir)
{
    char path[SCRATCH_PATH + 8];
    snprintf(path, sizeof path, "%s/window", to_dir);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, from, bytes), bytes);
    close(fd);
}

static void *map_window(size_t *bytes)
{
    char path[SCRATCH_PATH + 8];
    struct stat st;
    snprintf(path, sizeof path, "%s/window", dir);
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    assert_true(at != MAP_FAILED);
    close(fd);
    *bytes = (size_t)st.st_size;
    return at;
}

/*
 * The window as a next life would find it now: the packet of the first stream is there or not, the unacknowledged one
 * is.
 */
static void check_copy(const void *from, size_t bytes, const uint64_t next[2])
{
    char here[SCRATCH_PATH], copy[SCRATCH_PATH];
    uint64_t first[STREAMS];
    memcpy(here, dir, sizeof here);
    scratch_make(copy);
    copy_window(from, bytes, copy);
    memcpy(dir, copy, sizeof dir);
    struct window *w = open_window();
    memcpy(dir, here, sizeof dir);
    assert_non_null(w);
    check_packets(w, first);
    const struct window_stream *a = window_stream(w, stream_of(w, 0)), *b = window_stream(w, stream_of(w, 1));
    assert_true(a->next_seq == next[0] || a->next_seq == next[0] + 1);
    assert_int_equal(b->next_seq, next[1]);
    assert_true(first[1] <= next[1] - 1);
    window_close(w, true);
    scratch_remove(copy);
}

TEST_WITH(begin, end, killed_after_any_instruction_it_is_whole)
{
    size_t bytes;
    int status, steps = 0, changes = 0;
    uint64_t next[2];
    prepare(next);
    uint8_t *live = map_window(&bytes), *last = test_malloc(WATCHED);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        stepped();
    if (!step_wait(pid)) {
        printf("skipped: no process may be single-stepped here\n");
        test_free(last);
        munmap(live, bytes);
        skip();
    }
    memcpy(last, live, WATCHED);
    for (; step_once(pid, 0, &status); steps++) {
        if (memcmp(live, last, WATCHED) == 0) /* packets are looked at with it */
            continue;
        memcpy(last, live, WATCHED);
        check_copy(live, bytes, next);
        changes++;
    }
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_copy(live, bytes, next);
    printf("%d instructions, %d of them changed the window's head\n", steps, changes);
    assert_true(changes > 10);
    test_free(last);
    munmap(live, bytes);
}
