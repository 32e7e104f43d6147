// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/**
 * What a page asks `bezel view` for: a text of words, one request in each message. Times are ns since the run's start,
 * whole numbers. The page is foreign: everything is checked. Pure.
 *
 *     want SEQUENCE FROM UNTIL PIXELS FOLLOW ROW...   the picture from now on, until the next `want`
 *     ack SEQUENCE                                    the picture of that number is drawn
 *     hidden 0|1                                      whether the page is out of sight
 *     records SEQUENCE FROM UNTIL ROW [most|least]    the records of a row: those nearest to the middle of the time, or
 *                                                     to where its field has its largest or least value
 *     why SEQUENCE FROM UNTIL [ROW]                   why what ended in that time took long: each record of the row's
 *                                                     aspect and process; without a row, what broke limits
 *     share FROM UNTIL FOLLOW CURSOR FILTER           for all other views of the run; CURSOR `-`: none
 *     control SECRET VERB WORD...                     to turn a knob, to poll otherwise, ...
 *
 * A ROW is PROCESS/STREAM/ASPECT/FIELD/KEY/RECORDS: numbers of the catalogue. STREAM -1: all of the process; ASPECT 0:
 * all; FIELD -1: the number of records; KEY -1: all; RECORDS: so many records at most come with the columns.
 */
#ifndef BEZEL_VIEWS_PAGE_PAGE_REQUEST_H
#define BEZEL_VIEWS_PAGE_PAGE_REQUEST_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PAGE_REQUEST_MAX = 32 << 10, /* bytes; a longer message ends its page */
    PAGE_REQUEST_ROWS = 256,
    PAGE_REQUEST_PIXELS = 8192,
    PAGE_REQUEST_RECORDS = 2000,
    PAGE_REQUEST_FILTER = 255, /* bytes */
    PAGE_REQUEST_WORDS = 8,
};

struct page_row {
    int64_t process, stream, key; /* `process` is its row in the database */
    uint32_t aspect;
    int32_t field;
    uint32_t records;
};

enum page_request_kind {
    PAGE_WANT,
    PAGE_ACK,
    PAGE_HIDDEN,
    PAGE_RECORDS,
    PAGE_WHY,
    PAGE_SHARE,
    PAGE_CONTROL,
};

enum page_around { PAGE_AROUND_MIDDLE, PAGE_AROUND_MOST, PAGE_AROUND_LEAST };

struct page_request {
    enum page_request_kind kind;
    enum page_around around; /* of RECORDS; MOST and LEAST where the row has a field and no key */
    uint32_t sequence;
    int64_t from, until; /* from < until, ns since the run's start */
    uint32_t pixels;     /* at least 1 */
    bool follow, hidden;
    size_t row_count;
    struct page_row rows[PAGE_REQUEST_ROWS];
    bool has_cursor;
    int64_t cursor;
    const char *filter; /* of SHARE: in the message */
    size_t word_count;
    const char *words[PAGE_REQUEST_WORDS]; /* of CONTROL: the secret, the verb and its words, in the message */
};

/**
 * Reads message `text`, of `length` bytes and a NUL behind them; it is cut into words. Returns 0, or BEZEL_EMALFORMED
 * with *why, a static sentence.
 */
int page_request_read(char *text, size_t length, struct page_request *q, const char **why) BEZEL_MUST_CHECK;

#endif
