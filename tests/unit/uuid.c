// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* UUIDs as text: what is one, and nothing else. */
#include "base/uuid.h"
#include "tests/lib/test.h"

TEST(a_uuid_is_read)
{
    static const uint8_t expected[16] = {0xb0, 0xe1, 0xd2, 0xc3, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0xbe, 0xef};
    uint8_t id[16];
    assert_true(uuid_read("b0e1d2c3-0000-4000-8000-00000000beef", id));
    assert_memory_equal(id, expected, sizeof id);
}

TEST(what_is_none_is_refused)
{
    static const char *const wrong[] = {"",
                                        "-",
                                        "b0e1d2c3",
                                        "b0e1d2c3-0000-4000-8000-00000000bee",
                                        "b0e1d2c3-0000-4000-8000-00000000beef0",
                                        "b0e1d2c3-0000-4000-8000-00000000beef-",
                                        "b0e1d2c30-000-4000-8000-00000000beef",
                                        "b0e1d2c3000040008000-00000000beef----",
                                        "b0e1d2c3000040008000000000000beef",
                                        "B0E1D2C3-0000-4000-8000-00000000BEEF",
                                        "b0e1d2c3-0000-4000-8000-00000000beeg"};
    uint8_t id[16];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(uuid_read(wrong[i], id));
}
