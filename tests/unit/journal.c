// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Journals: several of one process, each read by the sensor of its own folder; full, counted, steered, left behind. */
#include "sensor/shm/journal.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUMBER = 1, NAMED, WIDE };

static const struct dict_aspect aspects[] = {
    {.name = "number", .field_count = 1, .fields = {{DICT_INT64, "n", "1", ""}}},
    {.name = "named", .field_count = 2, .fields = {{DICT_STRING, "name", "1", ""}, {DICT_INT64, "n", "1", ""}}},
    {.name = "wide",
     .field_count = 9,
     .fields = {{DICT_INT64, "a", "1", ""},
                {DICT_INT64, "b", "1", ""},
                {DICT_INT64, "c", "1", ""},
                {DICT_INT64, "d", "1", ""},
                {DICT_INT64, "e", "1", ""},
                {DICT_INT64, "f", "1", ""},
                {DICT_INT64, "g", "1", ""},
                {DICT_INT64, "h", "1", ""},
                {DICT_INT64, "i", "1", ""}}},
};

static struct journal *open_journal(const char *dir)
{
    struct journal *j = NULL;
    assert_int_equal(journal_open(dir, aspects, 3, &j), 0);
    return j;
}

/* The only process of the fixture. */
static struct external_process *process_of(struct fixture *f)
{
    fixture_turn(f);
    assert_int_equal(external_process_count(f->external), 1);
    return external_process(f->external, 0);
}

struct seen {
    uint64_t numbers, sum, wide;
    uint32_t thread;
    char names[64];
};

static void look(struct fixture *f, const struct packet_header *h, const struct packet_record *r, const char *aspect)
{
    struct seen *seen = f->context;
    seen->thread = h->thread;
    if (strcmp(aspect, "number") == 0) {
        seen->numbers++;
        seen->sum += packet_value(r, 0);
    } else if (strcmp(aspect, "wide") == 0) {
        for (uint32_t i = 0; i < 9; i++)
            seen->wide += packet_value(r, i) == i + 1;
    } else {
        const struct dict *d = external_find(f->external, h->instance)->at->dict;
        strcat(seen->names, d->strings[packet_value(r, 0) - 1]);
    }
}

TEST(two_of_one_process_go_to_two_folders)
{
    static struct fixture one, two;
    struct seen first = {0}, second = {0};
    one = two = (struct fixture){.options.batch = true};
    fixture_open(&one);
    fixture_open(&two);
    one.record = two.record = look;
    one.context = &first, two.context = &second;
    struct journal *a = open_journal(one.dir), *b = open_journal(two.dir);
    for (uint64_t i = 1; i <= 100; i++) {
        journal_record(a, NUMBER, &i);
        if (i % 2)
            journal_record(b, NUMBER, (uint64_t[]){1000});
    }
    journal_record(b, NAMED, (uint64_t[]){journal_string(b, "x"), 1});
    journal_record(b, NAMED, (uint64_t[]){journal_string(b, "yz"), 2});
    journal_record(b, NAMED, (uint64_t[]){journal_string(b, "x"), 3});
    journal_record(a, WIDE, (uint64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9});
    fixture_turn(&one);
    fixture_turn(&two);
    assert_int_equal(first.numbers, 100);
    assert_int_equal(first.sum, 5050);
    assert_int_equal(first.wide, 9);
    assert_int_equal(second.numbers, 50);
    assert_int_equal(second.sum, 50000);
    assert_string_equal(second.names, "xyzx");
    journal_close(a);
    journal_close(b);
    fixture_finish(&one);
    fixture_finish(&two);
    fixture_close(&one);
    fixture_close(&two);
}

static bool has_closed(struct fixture *f)
{
    return f->stream_count == 1 && f->streams[0].closed;
}

/* A fixture with one journal, whose records `seen` sums up. */
static struct fixture f;
static struct seen seen;
static struct journal *j;
static struct external_process *p;

static int begin(void **state)
{
    (void)state;
    seen = (struct seen){0};
    f = (struct fixture){.options.batch = true, .record = look, .context = &seen};
    fixture_open(&f);
    j = open_journal(f.dir);
    p = process_of(&f);
    return 0;
}

static int end(void **state)
{
    (void)state;
    journal_close(j);
    fixture_end(&f);
    return 0;
}

TEST_WITH(begin, end, what_finds_no_room_is_counted)
{
    for (uint64_t i = 0; i < 10000; i++)
        journal_record(j, NUMBER, &i);
    fixture_turn(&f);
    struct message_books_row row = segment_tally(p->at, NUMBER);
    assert_int_equal(row.attempts, 10000);
    assert_true(row.full > 0);
    assert_int_equal(seen.numbers + row.full, 10000);
    journal_record(j, NUMBER, (uint64_t[]){7}); /* there is room again */
    fixture_turn(&f);
    assert_int_equal(segment_tally(p->at, NUMBER).full, row.full);
}

/* A page of tmpfs that is touched later may find no memory, which kills. */
TEST_WITH(begin, end, the_memory_of_its_ring_is_there_from_the_start)
{
    struct stat st;
    assert_int_equal(fstat(p->at->fd, &st), 0);
    assert_true((uint64_t)st.st_blocks * 512 >= segment_ring_offset() + p->at->segment->ring_stride);
}

TEST_WITH(begin, end, its_records_name_the_thread_that_made_it)
{
    journal_record(j, NUMBER, (uint64_t[]){1});
    fixture_turn(&f);
    assert_int_equal(seen.numbers, 1);
    assert_int_equal(seen.thread, gettid());
}

TEST_WITH(begin, end, it_follows_the_enable_words)
{
    segment_set_mode(p->at, SEGMENT_COUNT);
    journal_record(j, NUMBER, (uint64_t[]){1});
    segment_set_mode(p->at, SEGMENT_DISABLED);
    journal_record(j, NUMBER, (uint64_t[]){1});
    segment_set_mode(p->at, SEGMENT_RECORD);
    journal_record(j, NUMBER, (uint64_t[]){1});
    fixture_turn(&f);
    struct message_books_row row = segment_tally(p->at, NUMBER);
    assert_int_equal(row.attempts, 2);
    assert_int_equal(row.off, 1);
    assert_int_equal(seen.numbers, 1);
}

TEST_WITH(begin, end, closed_it_is_drained_as_of_a_process_that_ended)
{
    journal_record(j, NUMBER, (uint64_t[]){42});
    journal_close(j);
    j = NULL;
    fixture_until(&f, has_closed);
    assert_int_equal(p->state, PROCESS_ENDED);
    assert_int_equal(seen.sum, 42);
}

TEST(wrong_aspects_and_folders_are_refused)
{
    static const struct dict_aspect wrong[] = {{.name = "no name", .field_count = 0}};
    struct journal *none = NULL;
    char missing[96];
    f = (struct fixture){.options.batch = true};
    fixture_open(&f);
    assert_int_equal(journal_open(f.dir, wrong, 1, &none), BEZEL_EINVAL);
    snprintf(missing, sizeof missing, "%s/window/folder", f.dir); /* below a file */
    errno = EAGAIN; /* of something before: it is not taken for the reason */
    assert_int_equal(journal_open(missing, aspects, 3, &none), BEZEL_ESYS);
    assert_int_equal(errno, ENOTDIR);
    assert_null(none);
    journal_close(NULL);
    fixture_end(&f);
}
