// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/page/page_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Takes the next word from *rest; NULL: there is none. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " ");
    if (!*word)
        return NULL;
    char *end = word + strcspn(word, " ");
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

/* Reads a whole number from `least` to `most` at *text, which ends at `end`, and moves *text behind it. */
static bool read_number(const char **text, char end, int64_t least, int64_t most, int64_t *value)
{
    char *behind;
    const char *p = *text + (**text == '-');
    if (*p < '0' || *p > '9')
        return false;
    errno = 0;
    long long n = strtoll(*text, &behind, 10);
    if (errno || *behind != end || n < least || n > most)
        return false;
    *text = behind + (end != '\0');
    *value = n;
    return true;
}

static bool next_number(char **rest, int64_t least, int64_t most, int64_t *value)
{
    const char *word = next_word(rest);
    return word && read_number(&word, '\0', least, most, value);
}

static bool read_row(const char *p, struct page_row *row)
{
    int64_t process, stream, aspect, field, key, records;
    if (!read_number(&p, '/', 0, INT64_MAX, &process) || !read_number(&p, '/', -1, INT32_MAX, &stream) ||
        !read_number(&p, '/', 0, 255, &aspect) || !read_number(&p, '/', -1, 11, &field) ||
        !read_number(&p, '/', -1, INT32_MAX, &key) || !read_number(&p, '\0', 0, PAGE_REQUEST_RECORDS, &records))
        return false;
    *row = (struct page_row){process, stream, key, (uint32_t)aspect, (int32_t)field, (uint32_t)records};
    return true;
}

static const char *read_rows(char *rest, struct page_request *q)
{
    char *word;
    while ((word = next_word(&rest))) {
        if (q->row_count == PAGE_REQUEST_ROWS)
            return "there are too many rows";
        if (!read_row(word, &q->rows[q->row_count++]))
            return "a row is PROCESS/STREAM/ASPECT/FIELD/KEY/RECORDS, each of them a number of the catalogue";
    }
    return NULL;
}

static bool is_window(const struct page_request *q)
{
    return q->from >= -INT64_MAX / 4 && q->until <= INT64_MAX / 4 && q->from < q->until;
}

/* Reads what records are to lie around, behind their row. */
static const char *read_around(char **rest, struct page_request *q)
{
    const char *word;
    char *row = next_word(rest);
    if (!row || !read_row(row, &q->rows[q->row_count++]))
        return "records are of one row";
    if (!(word = next_word(rest)))
        return NULL;
    bool most = strcmp(word, "most") == 0;
    if ((!most && strcmp(word, "least") != 0) || q->rows[0].field < 0 || q->rows[0].key >= 0 || next_word(rest))
        return "records around `most` or `least` need a row of one field, without a key";
    q->around = most ? PAGE_AROUND_MOST : PAGE_AROUND_LEAST;
    return NULL;
}

static const char *read_picture(char *rest, struct page_request *q)
{
    int64_t sequence, pixels = 1, follow = 0;
    bool is_want = q->kind == PAGE_WANT;
    if (!next_number(&rest, 0, UINT32_MAX, &sequence) || !next_number(&rest, INT64_MIN, INT64_MAX, &q->from) ||
        !next_number(&rest, INT64_MIN, INT64_MAX, &q->until) ||
        (is_want && (!next_number(&rest, 1, PAGE_REQUEST_PIXELS, &pixels) || !next_number(&rest, 0, 1, &follow))))
        return "a picture is SEQUENCE FROM UNTIL PIXELS FOLLOW ROW...; records are SEQUENCE FROM UNTIL ROW";
    if (!is_window(q))
        return "the time does not end behind its begin, or is too far away";
    q->sequence = (uint32_t)sequence;
    q->pixels = (uint32_t)pixels;
    q->follow = follow != 0;
    return is_want ? read_rows(rest, q) : read_around(&rest, q);
}

static const char *read_why(char *rest, struct page_request *q)
{
    int64_t sequence;
    if (!next_number(&rest, 0, UINT32_MAX, &sequence) || !next_number(&rest, INT64_MIN, INT64_MAX, &q->from) ||
        !next_number(&rest, INT64_MIN, INT64_MAX, &q->until) || !is_window(q))
        return "why takes SEQUENCE FROM UNTIL, and a row with an aspect";
    q->sequence = (uint32_t)sequence;
    const char *why = read_rows(rest, q);
    return why ? why : q->row_count > 1 || (q->row_count && !q->rows[0].aspect) ? "why is of one aspect at most" : NULL;
}

static const char *read_share(char *rest, struct page_request *q)
{
    int64_t follow;
    if (!next_number(&rest, INT64_MIN, INT64_MAX, &q->from) || !next_number(&rest, INT64_MIN, INT64_MAX, &q->until) ||
        !next_number(&rest, 0, 1, &follow) || !is_window(q))
        return "what is shared is FROM UNTIL FOLLOW CURSOR FILTER";
    const char *cursor = next_word(&rest);
    q->has_cursor = cursor && strcmp(cursor, "-") != 0;
    if (!cursor || (q->has_cursor && !read_number(&cursor, '\0', -INT64_MAX / 4, INT64_MAX / 4, &q->cursor)))
        return "a cursor is a time, or `-`";
    q->follow = follow != 0;
    q->filter = rest;
    return strlen(rest) > PAGE_REQUEST_FILTER ? "the filter is too long" : NULL;
}

static const char *read_control(char *rest, struct page_request *q)
{
    char *word;
    while ((word = next_word(&rest))) {
        if (q->word_count == PAGE_REQUEST_WORDS)
            return "there are too many words";
        q->words[q->word_count++] = word;
    }
    return q->word_count < 2 ? "control needs the secret, and what is to be done" : NULL;
}

static const char *read_rest(const char *verb, char *rest, struct page_request *q)
{
    int64_t n;
    if (strcmp(verb, "want") == 0)
        return q->kind = PAGE_WANT, read_picture(rest, q);
    if (strcmp(verb, "records") == 0)
        return q->kind = PAGE_RECORDS, read_picture(rest, q);
    if (strcmp(verb, "ack") == 0) {
        q->kind = PAGE_ACK;
        if (!next_number(&rest, 0, UINT32_MAX, &n))
            return "ack takes the number of a picture";
        q->sequence = (uint32_t)n;
        return NULL;
    }
    if (strcmp(verb, "hidden") == 0) {
        q->kind = PAGE_HIDDEN;
        if (!next_number(&rest, 0, 1, &n))
            return "hidden takes 0 or 1";
        q->hidden = n == 1;
        return NULL;
    }
    if (strcmp(verb, "why") == 0)
        return q->kind = PAGE_WHY, read_why(rest, q);
    if (strcmp(verb, "share") == 0)
        return q->kind = PAGE_SHARE, read_share(rest, q);
    if (strcmp(verb, "control") == 0)
        return q->kind = PAGE_CONTROL, read_control(rest, q);
    return "it begins with none of want, ack, hidden, records, why, share and control";
}

int page_request_read(char *text, size_t length, struct page_request *q, const char **why)
{
    char *rest = text;
    *q = (struct page_request){0};
    if (length > PAGE_REQUEST_MAX || strlen(text) != length || strpbrk(text, "\n\r\t\x7f\x1b")) {
        *why = "it is too long, or has control characters";
        return BEZEL_EMALFORMED;
    }
    const char *verb = next_word(&rest);
    *why = verb ? read_rest(verb, rest, q) : "it is empty";
    return *why ? BEZEL_EMALFORMED : 0;
}
