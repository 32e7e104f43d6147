// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * What a reader with a filter reads of the disk: of packets that may have records which the filter wants, at most twice
 * their bytes; of all others a page, for the header, and with each page the first header of the file, which says what
 * expired. That it gives the records which a full scan gives, is in tests/property/run_reader.c. BEZEL_SEED repeats.
 */
#include "run/read/run_reader.h"
#include "tests/lib/grown_run.h"
#include "tests/lib/test.h"

enum { PACKETS = 600, ROUNDS = 60, PAGE = 4096 + PACKET_HEADER_BYTES, LARGE = 250 };

static struct grown g;
static struct stored {
    unsigned process;
    uint64_t begin, end, bytes;
} packets[PACKETS];
static uint64_t bytes_read;

ssize_t __real_pread64(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at);

ssize_t __wrap_pread64(int fd, void *to, size_t n, off_t at)
{
    ssize_t got = __real_pread64(fd, to, n, at);
    bytes_read += got > 0 ? (uint64_t)got : 0;
    return got;
}

/* Packets of a hundred to 250 records, one after the other; the last process alone has aspects `extra_*`. */
static void store_packets(void)
{
    grown_open(&g, "bytes");
    g.intact = true;
    for (unsigned i = 0; i < PROCESSES; i++)
        (void)get_process(&g, 0, i);
    extend(&g, get_process(&g, 0, PROCESSES - 1));
    for (unsigned i = 0; i < PACKETS; i++) {
        unsigned number = (unsigned)draw(PROCESSES);
        uint32_t ring = (uint32_t)draw(RINGS);
        struct model_process *p = get_process(&g, 0, number);
        struct model_stream *s = model_stream(p, ring);
        uint64_t before = s->bytes, begin = g.clock[0] > s->last_end ? g.clock[0] : s->last_end;
        append(&g, p, ring, 100 + (uint32_t)draw(LARGE - 100), g.clock[0], g.clock[0] + CLOCK_MS);
        packets[i] = (struct stored){number, begin, s->last_end, s->bytes - before};
        g.clock[0] += CLOCK_MS;
    }
    grown_close(&g);
}

/* The most that may be read of the run through the filter. */
static uint64_t most_of(const struct record_filter *f)
{
    static const char *const names[PROCESSES] = {"client", "server", "camera"};
    int64_t wall = 1700000000 * CLOCK_S;
    uint64_t most = 0;
    for (unsigned i = 0; i < PACKETS; i++) {
        const struct stored *p = &packets[i];
        bool wanted = record_filter_takes(f->process, names[p->process]);
        bool has = !f->aspect || f->aspect[0] != 'e' || p->process == PROCESSES - 1;
        bool in_time = wall + (int64_t)p->end >= f->from && wall + (int64_t)p->begin < f->until;
        most += !wanted ? 0 : has && in_time ? 2 * p->bytes + PAGE : PAGE;
    }
    return most;
}

static struct record_filter draw_filter(void)
{
    static const char *const processes[] = {NULL, "client", "c*", "server"}, *const aspects[] = {NULL, "shown",
                                                                                                 "extra_*"};
    struct record_filter f = RECORD_FILTER_ALL;
    int64_t begin = 1700000000 * CLOCK_S + (int64_t)g.begin;
    f.process = processes[draw(4)];
    f.aspect = aspects[draw(3)];
    if (draw(4) > 0)
        f.from = begin + (int64_t)(draw(PACKETS) * CLOCK_MS);
    if (draw(4) > 0)
        f.until = (f.from > begin ? f.from : begin) + (int64_t)(draw(PACKETS / 4) * CLOCK_MS);
    return f;
}

static uint64_t read_through(const struct record_filter *f)
{
    struct run_reader *r;
    struct record_item item;
    int more;
    assert_int_equal(run_reader_open(g.run, f, &r), 0);
    assert_int_equal(run_reader_look(r, RUN_READER_ALL), 0);
    bytes_read = 0;
    while ((more = run_reader_next(r, &item)) > 0)
        ;
    assert_int_equal(more, 0);
    run_reader_close(r);
    return bytes_read;
}

TEST(little_is_read_of_packets_that_a_filter_does_not_want)
{
    uint64_t all = 0, read = 0;
    store_packets();
    for (unsigned i = 0; i < PACKETS; i++)
        all += packets[i].bytes;
    for (int i = 0; i < ROUNDS; i++) {
        struct record_filter f = draw_filter();
        uint64_t bytes = read_through(&f), most = most_of(&f);
        if (bytes > most)
            fail_msg("%llu bytes were read, more than %llu: process %s, aspect %s, %lld to %lld",
                     (unsigned long long)bytes, (unsigned long long)most, f.process ? f.process : "*",
                     f.aspect ? f.aspect : "*", (long long)f.from, (long long)f.until);
        read += bytes;
    }
    printf("%llu bytes of %llu in each round\n", (unsigned long long)(read / ROUNDS), (unsigned long long)all);
    assert_true(read < all * ROUNDS);
}

int main(void)
{
    seed = seed_start();
    return test_run(scratch_begin, scratch_end);
}
