// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Packets that pass directly: a window, its offer, and a reader beside it, in any order of steps; then on two threads
 * that sleep and wake each other; then with a page and a window that somebody spoils. Every packet says which it is.
 */
#include "mdr/uplink/direct_internal.h"
#include "mdr/uplink/window_internal.h"

#include "base/clock.h"
#include "tests/lib/patience.h"
#include "tests/lib/scratch.h"
#include "tests/lib/seed.h"
#include "tests/lib/test.h"
#include "tests/lib/window_model.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STREAMS = 5 };

static const uint8_t run[16] = "this run", uuid[16] = "this trace";
static char dir[SCRATCH_PATH];
static struct folder folder = {.fd = -1};
static uint64_t seed;

static struct window *w;
static struct direct_offer offer;
static struct direct_reader *reader;
static struct window_stream expected[STREAMS]; /* by the reader: where each stream stands */

static uint64_t below(uint64_t n)
{
    return seed_next(&seed) % n;
}

static bool light(void)
{
    return getenv("BEZEL_TEST_LIGHT") != NULL;
}

static void open_reader(void)
{
    char why[DIRECT_WHY_MAX];
    direct_reader_close(reader);
    if (direct_reader_open(dir, run, uuid, offer.page->proof, &reader, why) != 0)
        fail_msg("%s", why);
}

static void expect_all(void)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        expected[i] = (struct window_stream){.instance = i + 1, .stream_id = i + 1, .used = true};
}

static int begin(void **unused)
{
    uint64_t left;
    (void)unused;
    scratch_make(dir);
    assert_int_equal(folder_open(dir, &folder), 0);
    assert_int_equal(window_open(&folder, run, uuid, WINDOW_BYTES_MIN, &w, &left), 0);
    for (uint32_t i = 0; i < STREAMS; i++)
        assert_int_equal(window_add_stream(w, i + 1, 0, i + 1, 0), i);
    assert_int_equal(direct_offer_open(&offer, dir, run, uuid), 0);
    reader = NULL;
    open_reader();
    expect_all();
    return 0;
}

static int end(void **unused)
{
    (void)unused;
    direct_reader_close(reader);
    direct_offer_close(&offer);
    window_close(w, true);
    folder_close(&folder);
    scratch_remove(dir);
    return 0;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void offer_all(void)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        window_sent(w, i, window_stream(w, i)->next_seq);
    direct_offer_up_to(&offer, window_end(w), (int64_t)below(1000));
}

/* Takes up to `most` packets; each is the next of its stream, or one that was taken in a session before. */
static uint64_t take(uint64_t most, uint64_t *again)
{
    struct direct_packet p;
    uint64_t taken = 0;
    assert_int_equal(direct_reader_fill(reader), 0);
    for (; taken < most && direct_reader_look(reader, &p) == 1; taken++) {
        struct packet_header h;
        assert_int_equal(packet_get_header(p.data, p.bytes, &h), 0);
        assert_true(h.instance == p.stream + 1 && p.stream < STREAMS);
        struct window_stream *s = &expected[p.stream];
        assert_true(h.seq <= s->next_seq);
        if (h.seq < s->next_seq) {
            ++*again;
        } else {
            const struct packet_header right = model_next(s);
            assert_true(model_is(p.data, p.bytes, &right));
            *s = model_after(*s, h.seq + 1);
        }
        direct_reader_take(reader);
    }
    return taken;
}

static void acknowledge(void)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        if (below(3))
            direct_reader_acknowledge(reader, i, expected[i].next_seq);
    direct_reader_acknowledged(reader);
}

static void look(void)
{
    if (!direct_offer_looks(&offer))
        return;
    for (uint32_t i = 0; i < STREAMS; i++) {
        assert_true(direct_offer_acknowledged(&offer, i) <= window_stream(w, i)->sent_seq);
        window_acknowledge(w, i, direct_offer_acknowledged(&offer, i));
    }
    window_free_each(w, NULL, NULL);
}

/* A connection begins with the receiver's positions, as WELCOME has them, and an offer behind these. */
static void begin_session(void)
{
    for (uint32_t i = 0; i < STREAMS; i++)
        window_acknowledge(w, i, expected[i].next_seq);
    window_free_each(w, NULL, NULL);
    open_reader();
    direct_offer_begin(&offer, window_oldest(w));
}

TEST_WITH(begin, end, packets_come_in_order_once_a_session)
{
    uint64_t taken = 0, again = 0, sessions = 1;
    begin_session();
    for (int i = 0; i < (light() ? 60000 : 600000); i++) {
        switch (below(8)) {
        case 0:
        case 1:
            for (uint64_t n = below(30); n > 0 && model_cut(w, (uint32_t)below(STREAMS)); n--)
                ;
            break;
        case 2:
            offer_all();
            break;
        case 3:
        case 4:
            taken += take(below(40), &again);
            break;
        case 5:
            acknowledge();
            break;
        case 6:
            look();
            break;
        default:
            if (below(200) == 0) {
                begin_session();
                sessions++;
            }
        }
    }
    printf("%llu packets, %llu of them again, in %llu sessions; the window went round %llu times\n",
           (unsigned long long)taken, (unsigned long long)again, (unsigned long long)sessions,
           (unsigned long long)(window_end(w) / window_capacity(w)));
    assert_true(window_end(w) / window_capacity(w) > 3);
    offer_all();
    for (int nothing = 0; nothing < 2;) /* at the end of the window's memory there may be no packet in what is read */
        nothing = take(UINT64_MAX, &again) > 0 ? 0 : nothing + 1;
    for (uint32_t i = 0; i < STREAMS; i++)
        assert_int_equal(expected[i].next_seq, window_stream(w, i)->next_seq);
    assert_true(direct_reader_low(reader) >= 0);
}

/* ---- asleep ------------------------------------------------------------------------------------------------------ */

enum { SENT = 20000 };

static void *send_all(void *unused)
{
    uint64_t own = seed;
    (void)unused;
    for (uint64_t sent = 0; sent < SENT;) {
        sent += model_cut(w, (uint32_t)(seed_next(&own) % STREAMS));
        if (seed_next(&own) % 4 == 0)
            clock_sleep_until(clock_now() + (int64_t)(seed_next(&own) % 50000));
        for (uint32_t i = 0; i < STREAMS; i++)
            window_sent(w, i, window_stream(w, i)->next_seq);
        direct_offer_up_to(&offer, window_end(w), 0);
        look();
    }
    return NULL;
}

/* A wake that is lost would leave the reader asleep with packets before it: it sleeps without a limit but the test's.
 */
TEST_WITH(begin, end, a_sleeper_is_woken_for_every_packet)
{
    pthread_t sender;
    uint64_t taken = 0, again = 0, wakes = 0;
    int64_t deadline = clock_now() + PATIENCE;
    begin_session();
    assert_int_equal(pthread_create(&sender, NULL, send_all, NULL), 0);
    while (taken < SENT) {
        struct pollfd bell = {.fd = direct_reader_bell(reader), .events = POLLIN};
        if (direct_reader_may_sleep(reader)) {
            assert_int_equal(poll(&bell, 1, (int)((deadline - clock_now()) / CLOCK_MS)), 1);
            wakes++;
        }
        direct_reader_awake(reader);
        taken += take(UINT64_MAX, &again);
        for (uint32_t i = 0; i < STREAMS; i++)
            direct_reader_acknowledge(reader, i, expected[i].next_seq);
        direct_reader_acknowledged(reader);
    }
    pthread_join(sender, NULL);
    assert_int_equal(again, 0);
    printf("%d packets, and the reader was woken %llu times\n", (int)SENT, (unsigned long long)wakes);
}

/* A byte that comes after its ring was seen, or out of spite, ends some waits at once, and not all from then on. */
TEST_WITH(begin, end, a_late_byte_is_read_in_the_end)
{
    int waits = 0;
    begin_session();
    struct pollfd bell = {.fd = direct_reader_bell(reader), .events = POLLIN};
    assert_true(direct_reader_may_sleep(reader));
    atomic_store(&offer.page->asleep, 0);
    direct_reader_awake(reader);
    assert_int_equal(write(offer.bell, "", 1), 1);
    for (; poll(&bell, 1, 0) == 1; waits++) {
        assert_true(waits < 20);
        assert_true(direct_reader_may_sleep(reader));
        direct_reader_awake(reader);
    }
    assert_true(waits > 0);
}

/* Who rings faster than the reader hears would keep it there, if it were to read all. */
TEST_WITH(begin, end, a_reader_hears_a_bounded_number_of_rings_at_once)
{
    static const uint8_t many[PIPE_BUF];
    int before, after;
    begin_session();
    while (write(offer.bell, many, sizeof many) > 0)
        ;
    assert_int_equal(ioctl(offer.bell, FIONREAD, &before), 0);
    assert_true(before > 2 * PIPE_BUF);
    assert_true(direct_reader_may_sleep(reader));
    atomic_store(&offer.page->asleep, 0);
    direct_reader_awake(reader);
    assert_int_equal(ioctl(offer.bell, FIONREAD, &after), 0);
    assert_in_range(after, before - PIPE_BUF, before - 1);
}

/* As where its bezeld was killed, or has closed it to keep the receiver awake. */
TEST_WITH(begin, end, a_bell_that_nobody_can_ring_does_not_wake)
{
    begin_session();
    struct pollfd bell = {.fd = direct_reader_bell(reader), .events = POLLIN};
    assert_true(direct_reader_may_sleep(reader));
    direct_offer_close(&offer);
    assert_int_equal(poll(&bell, 1, 0), 0);
}

/* ---- hostile ----------------------------------------------------------------------------------------------------- */

static void spoil(const char *name, uint64_t bytes)
{
    uint8_t junk[16];
    int fd = folder_open_file(&folder, name, O_RDWR);
    assert_true(fd >= 0);
    for (uint64_t n = 1 + below(4); n > 0; n--) {
        for (size_t i = 0; i < sizeof junk; i++)
            junk[i] = (uint8_t)(below(2) ? below(256) : 0xff * below(2));
        assert_true(pwrite(fd, junk, 1 + below(sizeof junk), (off_t)(below(bytes) & ~below(2) * 15)) > 0);
    }
    close(fd);
}

static void truncate_it(const char *name, uint64_t bytes)
{
    int fd = folder_open_file(&folder, name, O_RDWR);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)below(bytes)) == 0);
    close(fd);
}

/* Reads as a collector does: whatever comes is in bounds, or is refused. */
static void read_whatever(void)
{
    struct direct_packet p;
    for (int i = 0; i < 200; i++) {
        if (direct_reader_fill(reader) != 0 || direct_reader_look(reader, &p) != 1)
            return;
        uint64_t sum = 0;
        assert_true(p.bytes > 0 && p.bytes <= WINDOW_PACKET_BYTES && p.stream < WINDOW_STREAMS);
        for (uint32_t k = 0; k < p.bytes; k++)
            sum += p.data[k];
        assert_true(sum <= UINT64_C(255) * p.bytes);
        direct_reader_acknowledge(reader, p.stream, sum);
        direct_reader_take(reader);
        direct_reader_acknowledged(reader);
    }
}

TEST_WITH(begin, end, whatever_is_in_page_and_window_the_reader_stays_in_bounds)
{
    for (int round = 0; round < (light() ? 100 : 1000); round++) {
        if (round > 0) {
            end(NULL);
            begin(NULL);
        }
        begin_session();
        for (int i = 0; i < 60 && model_cut(w, (uint32_t)below(STREAMS)); i++)
            ;
        offer_all();
        for (int i = 0; i < 20; i++) {
            if (below(4) == 0)
                spoil(DIRECT_NAME, below(2) ? 256 : sizeof(struct direct_page));
            else
                spoil("window", below(2) ? sizeof(struct window_file) + 4096 : sizeof(struct window_file) + 65536);
            read_whatever();
        }
        if (below(2)) {
            truncate_it(below(2) ? DIRECT_NAME : "window", below(2) ? 4096 : 1 << 17);
            read_whatever();
            (void)direct_reader_may_sleep(reader);
            direct_reader_awake(reader);
        }
        direct_reader_close(reader);
        char why[DIRECT_WHY_MAX];
        int err = direct_reader_open(dir, run, uuid, 1, &reader, why); /* another proof */
        assert_true(err != 0 && why[0] && !reader);
        direct_offer_close(&offer);
        w->file = NULL; /* its mapping may be beyond the file's end: it is not touched any more */
        assert_int_equal(unlinkat(folder.fd, "window", 0), 0);
        close(w->fd);
        free(w);
        uint64_t left;
        assert_int_equal(window_open(&folder, run, uuid, WINDOW_BYTES_MIN, &w, &left), 0);
    }
}

/* All of it is zeros from then on, which is no offer: it is refused all the same. */
TEST_WITH(begin, end, a_truncated_page_is_refused)
{
    begin_session();
    assert_int_equal(direct_reader_fill(reader), 0);
    int fd = folder_open_file(&folder, DIRECT_NAME, O_RDWR);
    assert_true(fd >= 0 && ftruncate(fd, 0) == 0);
    close(fd);
    assert_true(direct_reader_may_sleep(reader));
    assert_int_equal(direct_reader_fill(reader), BEZEL_EMALFORMED);
}

/* Below what is offered, and made as long as it was again: nothing of it is a packet any more. */
TEST_WITH(begin, end, a_truncated_window_is_refused)
{
    struct direct_packet p;
    begin_session();
    assert_true(model_cut(w, 0));
    offer_all();
    int fd = folder_open_file(&folder, "window", O_RDWR);
    off_t whole = lseek(fd, 0, SEEK_END);
    assert_true(fd >= 0 && ftruncate(fd, 0) == 0);
    assert_int_equal(direct_reader_fill(reader), BEZEL_EMALFORMED);
    assert_int_equal(ftruncate(fd, whole), 0);
    close(fd);
    assert_int_equal(direct_reader_fill(reader), BEZEL_EMALFORMED);
    assert_int_equal(direct_reader_look(reader, &p), 0);
}

TEST_WITH(begin, end, a_reader_refuses_what_is_not_its_senders)
{
    char why[DIRECT_WHY_MAX];
    struct direct_reader *other;
    const uint8_t another[16] = "another";
    assert_int_equal(direct_reader_open(dir, run, uuid, ~offer.page->proof, &other, why), BEZEL_EMALFORMED);
    assert_non_null(strstr(why, "another sender or machine"));
    assert_int_equal(direct_reader_open(dir, another, uuid, offer.page->proof, &other, why), BEZEL_EMALFORMED);
    assert_int_equal(direct_reader_open(dir, run, another, offer.page->proof, &other, why), BEZEL_EMALFORMED);
    assert_int_not_equal(direct_reader_open("/nowhere/at/all", run, uuid, 1, &other, why), 0);
    assert_non_null(strstr(why, "/nowhere/at/all"));
    assert_int_equal(unlinkat(folder.fd, DIRECT_BELL_NAME, 0), 0);
    assert_int_not_equal(direct_reader_open(dir, run, uuid, offer.page->proof, &other, why), 0);
    assert_non_null(strstr(why, DIRECT_BELL_NAME));
    assert_int_equal(symlinkat("/etc/passwd", folder.fd, DIRECT_BELL_NAME), 0);
    assert_int_not_equal(direct_reader_open(dir, run, uuid, offer.page->proof, &other, why), 0);
    assert_null(other);
}

/* In place of a file there is another of its name: a link to the right one, a pipe, a folder, nothing, too little. */
TEST_WITH(begin, end, a_reader_refuses_what_is_no_page_or_window)
{
    static const char *const names[] = {DIRECT_NAME, WINDOW_NAME};
    enum { LINK, PIPE, FOLDER, NOTHING, EMPTY, KINDS };
    char why[DIRECT_WHY_MAX];
    struct direct_reader *other;
    for (size_t i = 0; i < 2 * KINDS; i++) {
        const char *name = names[i / KINDS];
        int kind = i % KINDS;
        assert_int_equal(renameat(folder.fd, name, folder.fd, "right"), 0);
        int fd = kind == EMPTY ? folder_open_file(&folder, name, O_RDWR | O_CREAT) : -1;
        assert_true(kind == LINK     ? symlinkat("right", folder.fd, name) == 0
                    : kind == PIPE   ? mkfifoat(folder.fd, name, 0600) == 0
                    : kind == FOLDER ? mkdirat(folder.fd, name, 0700) == 0
                    : kind == EMPTY  ? fd >= 0 && close(fd) == 0
                                     : true);
        assert_int_not_equal(direct_reader_open(dir, run, uuid, offer.page->proof, &other, why), 0);
        assert_true(!other && strstr(why, name) && strstr(why, dir));
        (void)unlinkat(folder.fd, name, kind == FOLDER ? AT_REMOVEDIR : 0);
        assert_int_equal(renameat(folder.fd, "right", folder.fd, name), 0);
    }
    open_reader();
}

int main(void)
{
    seed = seed_start();
#ifdef __SANITIZE_THREAD__ /* which has nothing to find where there is one thread */
    cmocka_set_test_filter("a_sleeper*");
#endif
    return test_run(NULL, NULL);
}
