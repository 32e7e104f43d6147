// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Windows that a crashed daemon left, and that something has spoilt since: whatever the file holds, opening it ends in
 * a window that can be used, with well-formed packets in it and every stream where its packets leave it. An input is a
 * list of strokes of STROKE bytes: where in the file, and the value.
 */
#include "mdr/uplink/window.h"

#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STROKE = 12, STROKES_MAX = 64, PROCESSES = 3, RINGS = 2, PACKETS = 40, RECORD = 28, PAGE = 4096 };

static const uint8_t run[16] = "run", uuid[16] = "uuid";
static char dir[] = "/dev/shm/bezel-test-fuzz-XXXXXX", path[64];
static struct folder folder;
static uint8_t *good; /* the file as it should be */
static size_t good_bytes;

static void begin(void)
{
    memcpy(dir + sizeof dir - sizeof "XXXXXX", "XXXXXX", sizeof "XXXXXX");
    fuzz_must(mkdtemp(dir) && folder_open(dir, &folder) == 0);
    snprintf(path, sizeof path, "%s/window", dir);
}

static struct window *reopen(void)
{
    struct window *w;
    uint64_t left;
    fuzz_must(window_open(&folder, run, uuid, WINDOW_BYTES_MIN, &w, &left) == 0);
    return w;
}

/* ---- A good window ----------------------------------------------------------------------------------------------- */

/* The next packet of stream `i`: opening, then records, a loss now and then. False: there is no room. */
static bool commit_one(struct window *w, uint32_t i, uint32_t records)
{
    const struct window_stream *s = window_stream(w, i);
    bool opens = s->next_seq == 0, loses = !opens && records == 0;
    if (opens)
        records = 0;
    uint8_t *p = window_reserve(w, PACKET_HEADER_BYTES + records * RECORD);
    if (!p)
        return false;
    struct packet_header h = {.stream_id = s->stream_id,
                              .timestamp_begin = s->last_ns,
                              .timestamp_end = s->last_ns,
                              .size_bytes = PACKET_HEADER_BYTES + (uint64_t)records * RECORD,
                              .discarded = s->discarded + loses,
                              .seq = s->next_seq,
                              .kind = opens   ? PACKET_OPEN
                                      : loses ? PACKET_LOSS
                                              : PACKET_DATA,
                              .instance = s->instance,
                              .ring = s->ring,
                              .records = records,
                              .first_ordinal = s->next_ordinal};
    memset(p + PACKET_HEADER_BYTES, 1, (size_t)records * RECORD);
    packet_put_header(p, &h);
    window_commit(w, i, &h);
    return true;
}

/* Processes, streams and packets; every other one acknowledged, and freed as far as that goes. */
static void fill(struct window *w)
{
    for (uint32_t n = 0; n < PROCESSES * RINGS; n++) {
        uint32_t id;
        fuzz_must(window_stream_id(w, 100 + n / RINGS, &id) == 0);
        fuzz_must(window_add_stream(w, 100 + n / RINGS, n % RINGS, id, 7 * n) == (int)n);
    }
    for (uint32_t n = 0; n < PACKETS; n++)
        fuzz_must(commit_one(w, n % (PROCESSES * RINGS), n % 5 * 20));
    for (uint32_t i = 0; i < PROCESSES * RINGS; i++)
        window_acknowledge(w, i, i % 3);
    window_free_each(w, NULL, NULL);
}

static void make_good(void)
{
    struct window *w = reopen();
    fill(w);
    window_close(w, false);
    struct stat st;
    int fd = open(path, O_RDONLY);
    fuzz_must(fd >= 0 && fstat(fd, &st) == 0);
    good_bytes = (size_t)st.st_size;
    good = fuzz_memory(good_bytes);
    fuzz_must(pread(fd, good, good_bytes, 0) == (ssize_t)good_bytes);
    close(fd);
}

/* ---- What is done to it ------------------------------------------------------------------------------------------ */

static uint64_t little_endian(const uint8_t *p, int n)
{
    uint64_t v = 0;
    for (int i = n; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

/* The file as it should be; what is zeros stays a hole. */
static int restore(void)
{
    static const uint8_t zeros[PAGE];
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    fuzz_must(fd >= 0 && ftruncate(fd, (off_t)good_bytes) == 0);
    for (size_t at = 0; at < good_bytes; at += PAGE) {
        size_t n = good_bytes - at < PAGE ? good_bytes - at : PAGE;
        if (memcmp(good + at, zeros, n) != 0)
            fuzz_must(pwrite(fd, good + at, n, (off_t)at) == (ssize_t)n);
    }
    return fd;
}

/* Most strokes hit what is used: the head, the first streams and processes, the first packets. */
static void spoil(const uint8_t *data, size_t size)
{
    size_t strokes = size / STROKE < STROKES_MAX ? size / STROKE : STROKES_MAX;
    size_t packets = good_bytes - WINDOW_BYTES_MIN,
           regions[] = {0, 96, 96 + 16 * 1024, packets, packets + 512, 0, 0, 0};
    size_t lengths[] = {96, 96, 2048, 512, 8192, packets, good_bytes, 96};
    int fd = restore();
    for (const uint8_t *p = data; p < data + strokes * STROKE; p += STROKE) {
        size_t where = regions[*p % 8] + little_endian(p + 1, 3) % lengths[*p % 8];
        size_t n = where + 8 < good_bytes ? 8 : good_bytes - where;
        fuzz_must(pwrite(fd, p + 4, n, (off_t)where) == (ssize_t)n);
    }
    if (size % STROKE == 1) /* and it may be shorter */
        fuzz_must(ftruncate(fd, (off_t)(data[size - 1] * good_bytes / 256)) == 0);
    close(fd);
}

/* ---- What comes of it -------------------------------------------------------------------------------------------- */

static void check_packets(struct window *w)
{
    size_t bytes;
    const uint8_t *memory = window_memory(w, &bytes);
    struct window_packet *p;
    for (uint64_t at = window_oldest(w); (p = window_next(w, &at)) != NULL;) {
        struct packet_header h;
        fuzz_must((uint8_t *)p >= memory && p->data + p->bytes <= memory + bytes);
        fuzz_must(packet_get_header(p->data, p->bytes, &h) == 0 && p->stream < WINDOW_STREAMS);
        fuzz_must(p->references == 0);
    }
}

/* It goes on: streams are opened, packets come and go, processes are forgotten. */
static void use(struct window *w)
{
    uint32_t id;
    check_packets(w);
    for (uint64_t instance = 100; instance < 100 + PROCESSES; instance++)
        for (uint32_t ring = 0; ring < RINGS; ring++) {
            int i = window_find(w, instance, ring);
            if (i < 0 && window_stream_id(w, instance, &id) == 0)
                i = window_add_stream(w, instance, ring, id, 0);
            if (i < 0)
                continue;
            (void)commit_one(w, (uint32_t)i, 3);
            (void)window_holds(w, (uint32_t)i);
            window_acknowledge(w, (uint32_t)i, window_stream(w, (uint32_t)i)->next_seq);
        }
    window_free_each(w, NULL, NULL);
    check_packets(w);
    (void)window_waiting(w);
    window_forget(w, 100);
    check_packets(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    begin();
    if (!good)
        make_good();
    spoil(data, size);
    struct window *w = reopen();
    use(w);
    window_close(w, true);
    folder_close(&folder);
    fuzz_must(rmdir(dir) == 0);
    return 0;
}
