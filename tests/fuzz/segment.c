// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/*
 * Segments: a good one, spoilt by its process before it is found and while it is read. Whatever it holds, what comes
 * into the window is well-formed packets that its dictionary explains, stream by stream in order. An input is a list of
 * strokes of STROKE bytes: what to change, where, the value; a byte that is left over says what kind of process it is.
 */
#include "base/clock.h"
#include "base/file.h"
#include "config/experiment.h"
#include "mdr/message.h"
#include "sensor/external/external.h"
#include "sensor/external/program_knobs.h"
#include "sensor/shm/ring_writer.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STROKE = 12, STROKES_MAX = 64, SLOTS = RING_SLOTS_MIN, RINGS = 2, RECORDS = 20, STREAMS = 64 };

/* What kind of process: bits of the byte that is left over. None: one that is gone when it is found. */
enum {
    LIVES = 1,
    IS_LATE = 2, /* it comes when the external sensor listens, knows its doorbell, and is asked to knock */
    EXPIRES = 4, /* what it records has a bound, and accumulates */
    HAS_USER_CLOCK = 8,
    HAS_COUNTER = 16,
    OVERWRITES = 32,
    ONE_A_POLL = 64,
    WAS_READ = 128, /* by another run, and is taken over */
};

static const uint64_t instance = 0x1234;
static char dir[] = "/dev/shm/bezel-test-fuzz-XXXXXX", path[64];

struct victim {
    unsigned kind;
    int64_t now;
    struct doorbell *bell; /* of one that is late */
    struct segment *s;     /* as its process has it */
    size_t bytes;
    int fd;
    bool truncated;
    struct external *x;
    struct window_stream streams[STREAMS]; /* by number in the window: what was read of each */
};

/* A folder for each input: libFuzzer ends without a chance to remove one. */
static void begin(void)
{
    memcpy(dir + sizeof dir - sizeof "XXXXXX", "XXXXXX", sizeof "XXXXXX");
    fuzz_must(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/%016llx" SEGMENT_SUFFIX, dir, (unsigned long long)instance);
}

/* ---- Who looks on ------------------------------------------------------------------------------------------------ */

static int begin_process(void *context, const char *name, enum message_role role, uint64_t started)
{
    (void)context;
    (void)role;
    (void)started;
    return name[0] ? 0 : -1;
}

static void end_process(void *context, int slot)
{
    (void)context;
    fuzz_must(slot == 0);
}

static int watch(void *context, int slot, enum message_role role, const struct dict_aspect *aspect)
{
    (void)role;
    (void)context;
    return slot == 0 ? (int)aspect->id : -1;
}

static void see_records(void *context, int watched, const struct packet_run *run)
{
    (void)context;
    fuzz_must(watched == (int)run->aspect && run->count > 0);
    for (uint32_t i = 0; i < run->count; i++) {
        struct packet_record r = packet_run_record(run, i);
        fuzz_must(r.aspect == run->aspect && (i == 0 || packet_run_time(run, i - 1) <= packet_run_time(run, i)));
        for (uint32_t k = 0; k < r.value_count; k++)
            *(volatile uint64_t *)context = packet_value(&r, k);
    }
}

static void see_taken(void *context, uint32_t records, int64_t first, int64_t last, int64_t now)
{
    (void)context, (void)now;
    fuzz_must(records > 0 && first <= last);
}

static uint64_t seen;
static const struct experiment_rule bounds[] = {{.pattern = (char[]){"p*"}, .value = CLOCK_S}, {0}};
static const struct external_options usual = {.dir = dir,
                                              .run = "run",
                                              .uuid = "uuid",
                                              .window_bytes = WINDOW_BYTES_MIN,
                                              .observer = {.context = &seen,
                                                           .process_begin = begin_process,
                                                           .process_end = end_process,
                                                           .watch = watch,
                                                           .records = see_records,
                                                           .taken = see_taken,
                                                           .stored = see_taken}};

/* ---- A good segment ---------------------------------------------------------------------------------------------- */

static struct bezel_ring *ring_of(struct segment *s, uint32_t i)
{
    return (struct bezel_ring *)(void *)((char *)s + segment_ring_offset() + i * segment_ring_stride(SLOTS));
}

static void fill_dict(struct segment *s)
{
    static const struct dict_aspect aspects[] = {
        {.id = 1, .name = "bare"},
        {.id = 2,
         .name = "pair",
         .field_count = 2,
         .fields = {{DICT_INT64, "a", "1", ""}, {DICT_ENUM, "b", "1", "x|y"}}}};
    int n = 0;
    for (int i = 0; i < 2; i++)
        n = dict_append_aspect(s->dict, (size_t)n, SEGMENT_DICT_BYTES, &aspects[i]);
    n = dict_append_string(s->dict, (size_t)n, SEGMENT_DICT_BYTES, 1, "text");
    fuzz_must(n > 0);
    s->dict_used = (uint32_t)n;
}

static void fill_ring(struct bezel_ring *r, bool overwrites)
{
    struct bezel_writer w = {0};
    writer_hold(&w, r, SLOTS, 0, overwrites);
    for (uint64_t i = 0; i < RECORDS; i++) {
        uint32_t id = 1 + i % 2, count = i % 2 ? 2 : 0;
        writer_put(&w, id, 1000 + i, (uint64_t[]){i, i % 2}, count);
    }
}

static void declare_knobs(struct segment *s)
{
    s->knobs[0] = (struct segment_knob){.min = -5, .max = 100, .initial = 7, .name = "gain", .unit = "dB"};
    s->knobs[1] = (struct segment_knob){.min = INT32_MIN, .max = INT32_MAX, .name = "wide"};
    s->knob_count = 2;
}

/* The clock of its records, with a first reading where it is one of its own. */
static void tell_clock(struct victim *v)
{
    v->s->clock = v->kind & HAS_USER_CLOCK ? SEGMENT_CLOCK_USER
                  : v->kind & HAS_COUNTER  ? SEGMENT_CLOCK_COUNTER
                                           : SEGMENT_CLOCK_MONOTONIC;
    v->s->clock_frequency = CLOCK_S;
    v->s->pair.ticks = 1000;
    v->s->pair.ns = (uint64_t)v->now;
    v->s->pair.uncertainty = 100;
    v->s->pair.wanted = v->s->pair.begun = v->s->pair.given = 1;
}

static void make(struct victim *v)
{
    v->bytes = segment_bytes(SLOTS, SEGMENT_RINGS_DEFAULT);
    v->fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    fuzz_must(v->fd >= 0 && ftruncate(v->fd, (off_t)v->bytes) == 0);
    v->s = mmap(NULL, v->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
    fuzz_must(v->s != MAP_FAILED);
    v->s->magic = SEGMENT_MAGIC;
    v->s->version = SEGMENT_VERSION;
    v->s->head_bytes = sizeof *v->s;
    v->s->ring_offset = segment_ring_offset();
    v->s->ring_stride = segment_ring_stride(SLOTS);
    v->s->ring_slots = SLOTS;
    v->s->ring_max = SEGMENT_RINGS_DEFAULT;
    v->s->total_bytes = v->bytes;
    v->s->pid = 1;
    v->s->instance = instance;
    memcpy(v->s->session, usual.run, sizeof v->s->session);
    v->s->session[0] ^= v->kind & WAS_READ;
    v->s->when_full = v->kind & OVERWRITES ? SEGMENT_OVERWRITE : SEGMENT_DISCARD;
    v->s->doorbell = v->bell ? v->bell->id : 0;
    tell_clock(v);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SEGMENT_LOCK_PROCESS, .l_len = 1};
    fuzz_must(!(v->kind & LIVES) || fcntl(v->fd, F_OFD_SETLK, &lock) == 0);
    fill_dict(v->s);
    declare_knobs(v->s);
    for (uint32_t i = 0; i < RINGS; i++) {
        fill_ring(ring_of(v->s, i), v->kind & OVERWRITES);
        v->s->ring_state[i] = SEGMENT_RING_OWNED;
    }
}

/* ---- What is done to it ------------------------------------------------------------------------------------------ */

static uint64_t little_endian(const uint8_t *p, int n)
{
    uint64_t v = 0;
    for (int i = n; i-- > 0;)
        v = v << 8 | p[i];
    return v;
}

/* Changes `n` bytes of `bytes` at `at`. */
static void put(void *at, size_t bytes, uint64_t where, const void *value, size_t n)
{
    where %= bytes;
    memcpy((char *)at + where, value, n < bytes - where ? n : bytes - where);
}

static void take_packets(struct victim *v);

static void look(struct victim *v)
{
    external_poll(v->x, v->now);
    external_housekeep(v->x, v->now);
    (void)external_totals(v->x);
    take_packets(v);
}

/* A knob goes where it is turned to, as far as it can be turned at all. */
static void turn(struct victim *v, uint32_t i, int32_t value)
{
    int32_t before;
    struct external_process *p = external_find(v->x, instance);
    if (!p || external_knob_set(p, i, value, &before) != 0)
        return;
    fuzz_must(segment_knob(p->at, i) == value);
}

/* As if the books of a process that has ended were saved: it is forgotten. */
static void save_books(struct victim *v)
{
    struct external_process *p = external_find(v->x, instance);
    if (p)
        p->books_saved = true;
}

/* What an external sensor does besides looking on. */
static void act(struct victim *v, const uint8_t *value)
{
    switch (*value % 6) {
    case 0:
        break;
    case 1:
        save_books(v);
        break;
    case 2:
        external_snapshot(v->x, v->now);
        external_snapshot_rest(v->x, v->now);
        break;
    case 3:
        turn(v, value[1] % 4, (int32_t)little_endian(value + 2, 4));
        break;
    case 4:
        external_collect(v->x, value[1] & 1);
        break;
    case 5:
        if (external_sleep(v->x) && value[1] & 1)
            external_wake(v->x);
        break;
    }
    v->now += value[6] * 10 * CLOCK_MS;
    look(v);
}

static void die(struct victim *v)
{
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = SEGMENT_LOCK_PROCESS, .l_len = 1};
    fuzz_must(fcntl(v->fd, F_OFD_SETLK, &lock) == 0);
}

static void stroke(struct victim *v, const uint8_t *p)
{
    uint64_t where = little_endian(p + 1, 3);
    const uint8_t *value = p + 4;
    struct bezel_ring *r = v->truncated ? NULL : ring_of(v->s, where >> 16 & (RINGS - 1));
    if (*p % 14 == 0 || *p % 14 == 1) {
        if (v->x)
            act(v, value);
        return;
    }
    if (v->truncated) /* by then it would be ourselves who are hit */
        return;
    switch (*p % 14) {
    case 2: /* the head */
        put(v->s, offsetof(struct segment, session), where, value, 8);
        break;
    case 3:
        v->s->dict_used = (uint32_t)little_endian(value, 4);
        break;
    case 4: /* the dictionary, where it is used */
        put(v->s->dict, 256, where, value, 4);
        break;
    case 5:
        v->s->ring_state[where % SEGMENT_RINGS_MAX] = (uint32_t)little_endian(value, 4);
        break;
    case 6: /* head, oldest, generation, threads */
        put(r, offsetof(struct bezel_ring, tail), where, value, 8);
        break;
    case 7: /* tail, base ordinal */
        put(&r->tail, 16, where, value, 8);
        break;
    case 8:
        put(r->attempts, sizeof r->attempts + sizeof r->full + sizeof r->off, where, value, 8);
        break;
    case 9:
        put(r + 1, SLOTS * RING_SLOT_BYTES, where, value, 8);
        break;
    case 10: /* everything else that a process may write */
        if (v->bell && *p >= 64)
            put(v->bell, sizeof *v->bell, where, value, 8);
        else
            put(v->s, segment_ring_offset(), where, value, 8);
        break;
    case 11:
        if (*value % 4 == 1)
            die(v);
        v->truncated = *value % 4 == 0;
        if (v->truncated)
            fuzz_must(ftruncate(v->fd, (off_t)(where % v->bytes)) == 0);
        break;
    case 12: /* notices: what they say, and whether they stand */
        put(v->s->notices, sizeof v->s->notices, where, value, 8);
        v->s->notices[where % SEGMENT_NOTICES].ready = *value & 1;
        v->s->notice_count = value[1];
        v->s->notices_dropped = *value & 2;
        break;
    case 13: /* knobs: what they are, how many, and how far they are turned */
        put(v->s->knobs, sizeof v->s->knobs, where, value, 8);
        v->s->knob_count = value[7] % (SEGMENT_KNOBS + 2);
        v->s->knob_shift[where % SEGMENT_KNOBS] = (uint32_t)little_endian(value, 4);
        break;
    }
}

/* ---- What comes of it -------------------------------------------------------------------------------------------- */

static void check_packet(struct victim *v, const struct window_packet *p)
{
    struct packet_header h;
    fuzz_must(p->stream < STREAMS && packet_get_header(p->data, p->bytes, &h) == 0);
    struct window_stream *s = &v->streams[p->stream];
    fuzz_must(h.seq == s->next_seq && (h.kind == PACKET_OPEN) == (h.seq == 0) && !s->closed);
    fuzz_must(h.seq == 0 || h.first_ordinal == s->next_ordinal);
    fuzz_must(h.timestamp_begin >= s->last_ns && h.discarded >= s->discarded && h.timestamp_end <= INT64_MAX);
    const struct external_process *owner = external_find(v->x, h.instance);
    fuzz_must(owner && owner->stream_id == h.stream_id);
    if (h.kind == PACKET_DATA) {
        const struct dict *d = owner->at->dict;
        fuzz_must(d && dict_includes(d, h.dictionary) &&
                  packet_check(p->data, &h, d->field_counts, d->aspect_count, NULL) == 0);
    }
    s->next_seq = h.seq + 1;
    s->next_ordinal = h.first_ordinal + h.records + (h.discarded - s->discarded);
    s->discarded = h.discarded;
    s->last_ns = h.timestamp_end;
    s->closed = h.kind == PACKET_CLOSE;
}

/* What is announced is what was read, whatever became of the original since. */
static void check_dictionaries(struct victim *v)
{
    for (uint32_t i = 0; i < external_process_count(v->x); i++) {
        const struct external_process *p = external_process(v->x, i);
        struct dict *d;
        if (!p || !p->at->dict)
            continue;
        fuzz_must(dict_parse(p->at->dict_bytes, p->at->dict_used, &d) == 0);
        fuzz_must(d->hash == p->at->dict->hash);
        dict_free(d);
    }
}

/* What is believed of its knobs makes sense, and so do their values. */
static void check_knobs(struct victim *v)
{
    for (uint32_t i = 0; i < external_process_count(v->x); i++) {
        const struct external_process *p = external_process(v->x, i);
        const struct knobs *all = p ? p->at->knobs : NULL;
        for (uint32_t n = 0; all && n < all->count; n++) {
            const struct knob *k = &all->knob[n];
            fuzz_must(dict_name_ok(k->name) && external_knob_find(p, k->name) == (int)n);
            fuzz_must(memchr(k->unit, '\0', sizeof k->unit) && k->min <= k->initial && k->initial <= k->max);
            int32_t value = segment_knob(p->at, n);
            fuzz_must(value >= k->min && value <= k->max);
        }
    }
}

static void take_packets(struct victim *v)
{
    struct window *w = external_window(v->x);
    struct window_packet *p;
    for (uint64_t at = window_oldest(w); (p = window_next(w, &at)) != NULL;) {
        check_packet(v, p);
        window_acknowledge(w, p->stream, v->streams[p->stream].next_seq);
    }
    window_free_each(w, NULL, NULL);
    fuzz_must(window_waiting(w) == 0);
    check_dictionaries(v);
    check_knobs(v);
}

/* What is told of it is printable, and of a process that can be named; and it is not much. */
static void check_notes(struct victim *v)
{
    uint32_t count = external_note_count(v->x);
    fuzz_must(count <= 64);
    for (uint32_t i = 0; i < count; i++) {
        const struct message_note *n = external_note(v->x, i);
        const char *const texts[] = {n->code, n->name, n->text};
        for (int k = 0; k < 3; k++)
            for (const char *c = texts[k]; *c; c++)
                fuzz_must(*c >= 0x20 && *c < 0x7f);
    }
}

static void finish(struct victim *v)
{
    static struct message m;
    static uint8_t bytes[MESSAGE_MAX_BYTES];
    external_finish(v->x, v->now);
    for (int i = 0; i < 4 && !external_finished(v->x); i++) {
        v->now += CLOCK_S;
        look(v);
    }
    fuzz_must(external_finished(v->x));
    check_notes(v);
    for (uint32_t i = 0; i < external_process_count(v->x); i++) {
        const struct external_process *p = external_process(v->x, i);
        m.type = MESSAGE_BOOKS;
        if (p)
            external_books(p, v->now, &m.books);
        fuzz_must(!p || message_encode(&m, bytes, sizeof bytes) > 0);
    }
    external_close(v->x, true);
}

static void start(struct victim *v)
{
    struct external_options options = usual;
    options.batch = !(v->kind & ONE_A_POLL);
    options.expire = v->kind & EXPIRES ? bounds : NULL;
    options.accumulate = v->kind & EXPIRES ? RECORDS / 2 : 0;
    options.accumulate_longest = CLOCK_S;
    options.take_all = v->kind & WAS_READ;
    options.doorbell = options.sleeps_beside_idle = v->kind & IS_LATE;
    fuzz_must(external_open(&options, &v->x) == 0);
}

/* The doorbell, as a process has it. */
static void find_bell(struct victim *v)
{
    char name[sizeof dir + sizeof "/" DOORBELL_NAME];
    snprintf(name, sizeof name, "%s/" DOORBELL_NAME, dir);
    int fd = open(name, O_RDWR);
    void *at = mmap(NULL, sizeof *v->bell, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    fuzz_must(fd >= 0 && at != MAP_FAILED);
    close(fd);
    v->bell = at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct victim v = {.fd = -1, .kind = size % STROKE ? data[size - 1] : 0, .now = clock_now()};
    size_t n = 0, strokes = size / STROKE < STROKES_MAX ? size / STROKE : STROKES_MAX;
    begin();
    if (v.kind & IS_LATE) {
        start(&v);
        find_bell(&v);
    }
    struct external *x = v.x;
    v.x = NULL; /* nobody looks yet */
    make(&v);
    while (n < strokes && data[n * STROKE] % 14 != 0) /* what is spoilt before it is found ... */
        stroke(&v, data + n++ * STROKE);
    v.x = x;
    if (v.x)
        v.bell->arrivals++;
    else
        start(&v);
    look(&v);
    while (n < strokes) /* ... and after */
        stroke(&v, data + n++ * STROKE);
    finish(&v);
    munmap(v.s, v.bytes);
    close(v.fd);
    if (v.bell)
        munmap(v.bell, sizeof *v.bell);
    unlink(path);
    if (v.kind & LIVES)
        (void)!file_remove_tree(dir);
    else
        fuzz_must(rmdir(dir) == 0); /* nothing is left */
    return 0;
}
