// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/page_request.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static char text[PAGE_REQUEST_MAX + 64];
static struct page_request q;
static const char *why;

static int read_text(const char *message)
{
    snprintf(text, sizeof text, "%s", message);
    return page_request_read(text, strlen(text), &q, &why);
}

TEST(a_picture_is_read_with_its_rows)
{
    assert_int_equal(read_text("want 7 -5 1000 600 1 3/-1/2/0/-1/0 4/12/0/-1/9/2000"), 0);
    assert_int_equal(q.kind, PAGE_WANT);
    assert_int_equal(q.sequence, 7);
    assert_int_equal(q.from, -5);
    assert_int_equal(q.until, 1000);
    assert_int_equal(q.pixels, 600);
    assert_true(q.follow);
    assert_int_equal(q.row_count, 2);
    assert_int_equal(q.rows[0].process, 3);
    assert_int_equal(q.rows[0].stream, -1);
    assert_int_equal(q.rows[0].aspect, 2);
    assert_int_equal(q.rows[0].field, 0);
    assert_int_equal(q.rows[0].key, -1);
    assert_int_equal(q.rows[1].stream, 12);
    assert_int_equal(q.rows[1].field, -1);
    assert_int_equal(q.rows[1].key, 9);
    assert_int_equal(q.rows[1].records, 2000);
    assert_int_equal(read_text("want 1 0 1 1 0"), 0);
    assert_int_equal(q.row_count, 0);
}

TEST(the_other_requests_are_read)
{
    assert_int_equal(read_text("ack 4294967295"), 0);
    assert_int_equal(q.sequence, UINT32_MAX);
    assert_int_equal(read_text("hidden 1"), 0);
    assert_true(q.kind == PAGE_HIDDEN && q.hidden);
    assert_int_equal(read_text("records 3 10 20 1/2/3/4/5/6"), 0);
    assert_true(q.kind == PAGE_RECORDS && q.row_count == 1 && q.from == 10 && q.until == 20);
    assert_int_equal(read_text("why 4 10 20"), 0);
    assert_true(q.kind == PAGE_WHY && q.sequence == 4 && q.row_count == 0 && q.from == 10 && q.until == 20);
    assert_int_equal(read_text("why 5 10 20 1/-1/3/-1/-1/0"), 0);
    assert_true(q.row_count == 1 && q.rows[0].process == 1 && q.rows[0].aspect == 3);
    assert_int_equal(read_text("share -1 2 1 -7 frame shown"), 0);
    assert_true(q.kind == PAGE_SHARE && q.from == -1 && q.until == 2 && q.follow && q.has_cursor && q.cursor == -7);
    assert_string_equal(q.filter, "frame shown");
    assert_int_equal(read_text("share 1 2 0 -"), 0);
    assert_true(!q.follow && !q.has_cursor);
    assert_string_equal(q.filter, "");
    assert_int_equal(read_text("control secret knob speed=4"), 0);
    assert_int_equal(q.word_count, 3);
    assert_string_equal(q.words[2], "speed=4");
}

TEST(what_makes_no_sense_is_refused_in_words)
{
    static const char *const bad[] = {
        "",
        "   ",
        "wants 1 0 1 1 0",
        "why 1 2 2",
        "why 1 0 5 1/-1/0/-1/-1/0",
        "why 1 0 5 1/-1/2/-1/-1/0 1/-1/3/-1/-1/0",
        "why 1 0 5 nonsense",
        "want 1 1 1 1 0",
        "want 1 0 1 0 0",
        "want 1 0 1 8193 0",
        "want 1 0 1 1 2",
        "want 1 0 9223372036854775807 1 0",
        "want 1 0 1 1 0 1/2/3/4/5",
        "want 1 0 1 1 0 1/2/3/4/5/6/7",
        "want 1 0 1 1 0 1/2/256/4/5/6",
        "want 1 0 1 1 0 1/2/3/12/5/6",
        "want 1 0 1 1 0 1/2/3/4/5/2001",
        "want 1 0 1 1 0 -1/2/3/4/5/6",
        "want 1 0 1 1 0 1/-2/3/4/5/6",
        "want 1 0 1 1 0 1//3/4/5/6",
        "want 1 0x1 1 1 0",
        "want 99999999999999999999 0 1 1 0",
        "records 1 0 1",
        "records 1 0 1 1/2/3/4/5/6 1/2/3/4/5/6",
        "ack",
        "ack -1",
        "hidden 2",
        "control secret",
        "control 1 2 3 4 5 6 7 8 9",
        "records 1 0 1 1/1/1/1/-1/0 biggest",
        "records 1 0 1 1/1/1/1/-1/0 most least",
        "records 1 0 1 1/1/1/-1/-1/0 most",
        "records 1 0 1 1/1/1/1/1/0 most",
        "share",
        "share 1 2 0",
        "share 2 1 0 -",
        "share 1 2 2 -",
        "share 1 2 0 x",
        "share 1 2 0 - a\nb",
        "share 1 2 0 - a\x1b[31m",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        why = NULL;
        assert_int_equal(read_text(bad[i]), BEZEL_EMALFORMED);
        assert_non_null(why);
    }
    assert_int_equal(page_request_read(strcpy(text, "ack 1"), 4, &q, &why), BEZEL_EMALFORMED); /* a NUL elsewhere */
}

TEST(rows_and_texts_are_bounded)
{
    static char message[PAGE_REQUEST_MAX + 64];
    int n = snprintf(message, sizeof message, "want 1 0 1 1 0");
    for (int i = 0; i < PAGE_REQUEST_ROWS; i++)
        n += snprintf(message + n, sizeof message - (size_t)n, " 1/1/1/1/1/1");
    assert_int_equal(read_text(message), 0);
    assert_int_equal(q.row_count, PAGE_REQUEST_ROWS);
    strcat(message, " 1/1/1/1/1/1");
    assert_int_equal(read_text(message), BEZEL_EMALFORMED);
    memset(message, 'x', sizeof message - 1);
    memcpy(message, "share 1 2 0 - ", 14);
    message[14 + PAGE_REQUEST_FILTER] = '\0';
    assert_int_equal(read_text(message), 0);
    message[14 + PAGE_REQUEST_FILTER] = 'x';
    message[15 + PAGE_REQUEST_FILTER] = '\0';
    assert_int_equal(read_text(message), BEZEL_EMALFORMED);
    message[15 + PAGE_REQUEST_FILTER] = 'x';
    message[PAGE_REQUEST_MAX + 1] = '\0';
    assert_int_equal(read_text(message), BEZEL_EMALFORMED);
}
