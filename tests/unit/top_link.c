// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "views/top/top_link.h"
#include "base/clock.h"
#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char run[] = "12345678-0000-4000-8000-000000000000";
static const int64_t noon = INT64_C(1700000000) * CLOCK_S;

static struct top_state state;
static struct top_link link_;
static struct linked *page;
static struct linked_state heard;

static int begin(void **unused)
{
    if (scratch_begin(unused) != 0 || setenv("XDG_RUNTIME_DIR", scratch_dir, 1) != 0)
        return -1;
    link_ = (struct top_link){0};
    top_state_init(&state, TOP_NODES, CLOCK_S, 60 * CLOCK_S);
    return linked_open(run, &link_.linked) == 0 && linked_open(run, &page) == 0 ? 0 : -1;
}

static int end(void **unused)
{
    linked_close(link_.linked);
    linked_close(page);
    return scratch_end(unused);
}

TEST_WITH(begin, end, what_top_shows_is_told_where_it_changed)
{
    top_link_send(&link_, &state, noon);
    assert_true(linked_receive(page, &heard));
    assert_true(heard.follow);
    assert_int_equal(heard.until - heard.from, 60 * CLOCK_S);
    top_link_send(&link_, &state, noon + CLOCK_S); /* it follows on: nobody chose anything */
    assert_false(linked_receive(page, &heard));
    state.follow = false;
    state.time = noon - CLOCK_S;
    state.end = noon;
    snprintf(state.filter, sizeof state.filter, "frame");
    state.editing = true;
    top_link_send(&link_, &state, noon);
    assert_false(linked_receive(page, &heard)); /* the word is not complete */
    state.editing = false;
    top_link_send(&link_, &state, noon);
    assert_true(linked_receive(page, &heard));
    assert_false(heard.follow);
    assert_int_equal(heard.from, noon - 60 * CLOCK_S);
    assert_int_equal(heard.until, noon);
    assert_int_equal(heard.cursor, noon - CLOCK_S);
    assert_string_equal(heard.filter, "frame");
}

TEST_WITH(begin, end, what_a_page_shows_is_shown_and_not_sent_back)
{
    struct linked_state said = {.from = noon, .until = noon + 10 * CLOCK_S, .cursor = noon + CLOCK_S};
    assert_false(top_link_receive(&link_, &state));
    memset(said.filter, 'x', LINKED_FILTER_MAX);
    linked_send(page, &said);
    assert_true(top_link_receive(&link_, &state));
    assert_false(state.follow);
    assert_int_equal(state.time, said.cursor);
    assert_int_equal(state.end, said.until);
    assert_int_equal(state.span, 10 * CLOCK_S);
    assert_int_equal(strlen(state.filter), sizeof state.filter - 1);
    top_link_send(&link_, &state, noon + 20 * CLOCK_S);
    assert_false(linked_receive(page, &heard));
    said.follow = true;
    said.cursor = 0;
    linked_send(page, &said);
    assert_true(top_link_receive(&link_, &state));
    assert_true(state.follow);
}
