// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "config/order_settings.h"
#include "base/clock.h"
#include "tests/lib/test.h"

TEST(they_are_written_and_read)
{
    static const struct {
        struct order_settings settings;
        const char *text;
    } right[] = {{ORDER_SETTINGS_DEFAULT, ""},
                 {{ORDER_SISO, UINT64_C(64) << 20, 5 * CLOCK_S}, "siso:64 MiB:5 s"},
                 {{ORDER_MISO, ORDER_MEMORY_LEAST, 5 * CLOCK_S}, "miso:1 MiB:5 s"},
                 {{ORDER_MISO, ORDER_MEMORY_MOST, 1}, "miso:4 GiB:1 ns"},
                 {{ORDER_SISO, ORDER_MEMORY_MOST - 1, ORDER_WAIT_MOST - 1}, "siso:4294967295 B:3599999999999 ns"},
                 {{ORDER_SISO, UINT64_C(2) << 20, ORDER_WAIT_MOST}, "siso:2 MiB:1 h"}};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        struct order_settings s = {0};
        assert_string_equal(order_settings_print(&right[i].settings).s, right[i].text);
        assert_true(order_settings_read(right[i].text, &s));
        assert_true(order_settings_same(&s, &right[i].settings));
    }
}

TEST(other_texts_are_refused_and_change_nothing)
{
    static const char *const wrong[] = {" ",
                                        "miso",
                                        "siso:64 MiB",
                                        "siso::",
                                        ":64 MiB:5 s",
                                        "mimo:64 MiB:5 s",
                                        "miso:64:5 s",
                                        "miso:64 MiB:5",
                                        "miso:1048575 B:5 s",
                                        "miso:4294967297 B:5 s",
                                        "miso:64 MiB:0 s",
                                        "miso:64 MiB:3600001 ms",
                                        "miso:64 MiB:5 s:",
                                        "miso:64 MiB:0000000000000000000000000005 s"};
    const struct order_settings before = {ORDER_SISO, 7, 7};
    struct order_settings s = before;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(order_settings_read(wrong[i], &s));
        assert_true(order_settings_same(&s, &before));
    }
}
