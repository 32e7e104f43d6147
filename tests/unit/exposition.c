// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "mediators/metrics/exposition.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdlib.h>

static const struct exposition_family gauge = {"size", EXPOSITION_GAUGE, NULL, "a \"size\"\nof\\it"},
                                      states = {"state", EXPOSITION_STATES, NULL, "."},
                                      times = {"time_seconds", EXPOSITION_HISTOGRAM, "seconds", "."};
static const char *const names[] = {"held", "unknown", NULL};

struct text {
    char *bytes;
    size_t n;
    struct exposition x;
    uint64_t left_out;
};

static void open_text(struct text *t, size_t most)
{
    *t = (struct text){.bytes = NULL};
    t->x = (struct exposition){.out = open_memstream(&t->bytes, &t->n), .most = most, .left_out = &t->left_out};
}

static void assert_text(struct text *t, const char *wanted)
{
    fclose(t->x.out);
    assert_string_equal(t->bytes, wanted);
    free(t->bytes);
}

#define LABELS(...) ((const struct exposition_label[]){__VA_ARGS__, {0}})

/* Names that are not one stay two, whatever bytes they have. */
TEST(test_names_are_mapped_without_collision)
{
    struct text t;
    open_text(&t, 10);
    t.x.run = "a\"b\\c\nd";
    exposition_begin(&t.x, &gauge);
    exposition_count(&t.x, LABELS({"name", "\xff"}), 1);
    exposition_count(&t.x, LABELS({"name", "\\xFF"}, {"missing", NULL}), UINT64_MAX);
    assert_text(&t, "# TYPE size gauge\n# HELP size a \\\"size\\\"\\nof\\\\it\n"
                    "size{run=\"a\\\"b\\\\c\\nd\",name=\"\\\\xFF\"} 1\n"
                    "size{run=\"a\\\"b\\\\c\\nd\",name=\"\\\\x5CxFF\"} 18446744073709551615\n");
}

TEST(test_numbers_come_back_as_they_were)
{
    struct text t;
    open_text(&t, 10);
    exposition_begin(&t.x, &gauge);
    exposition_number(&t.x, NULL, 0.1);
    exposition_number(&t.x, NULL, 0.1 + 0.2);
    exposition_number(&t.x, NULL, (double)NAN);
    exposition_number(&t.x, NULL, -(double)INFINITY);
    exposition_end(&t.x);
    assert_text(&t, "# TYPE size gauge\n# HELP size a \\\"size\\\"\\nof\\\\it\n"
                    "size 0.1\nsize 0.30000000000000004\nsize NaN\nsize -Inf\n# EOF\n");
}

/* A state or histogram of which a part has no room is left out as a whole; a family without samples has no head. */
TEST(test_what_has_no_room_is_counted)
{
    struct text t;
    open_text(&t, 3);
    exposition_begin(&t.x, &states);
    exposition_states(&t.x, NULL, names, 1);
    exposition_states(&t.x, LABELS({"node", "b"}), names, 0);
    exposition_begin(&t.x, &times);
    exposition_histogram(&t.x, NULL, (const double[]){1}, (const uint64_t[]){1, 2}, 1, (double)NAN);
    exposition_begin(&t.x, &gauge);
    exposition_count(&t.x, NULL, 7);
    assert_int_equal(t.left_out, 2 + 3);
    assert_text(&t, "# TYPE state stateset\n# HELP state .\nstate{state=\"held\"} 0\nstate{state=\"unknown\"} 1\n"
                    "# TYPE size gauge\n# HELP size a \\\"size\\\"\\nof\\\\it\nsize 7\n");
}

TEST(test_histograms_are_cumulative)
{
    struct text t;
    open_text(&t, 10);
    exposition_begin(&t.x, &times);
    exposition_histogram(&t.x, LABELS({"node", "a"}), (const double[]){0.001, 1}, (const uint64_t[]){1, 0, 2}, 2, 4.5);
    assert_text(&t, "# TYPE time_seconds histogram\n# UNIT time_seconds seconds\n# HELP time_seconds .\n"
                    "time_seconds_bucket{node=\"a\",le=\"0.001\"} 1\ntime_seconds_bucket{node=\"a\",le=\"1\"} 1\n"
                    "time_seconds_bucket{node=\"a\",le=\"+Inf\"} 3\ntime_seconds_count{node=\"a\"} 3\n"
                    "time_seconds_sum{node=\"a\"} 4.5\n");
}
