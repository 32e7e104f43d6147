// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* Addresses of TCP endpoints: which texts are some, what they mean, and why others are none. */
#include "base/address.h"
#include "tests/lib/test.h"

#include <string.h>

#define LABEL63 "abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvwxyz0"
#define NAME253 LABEL63 "." LABEL63 "." LABEL63 ".abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrstuvw.y"

static const struct good {
    const char *text, *host;
    enum address_kind kind;
    uint16_t port;
    bool loopback;
} good[] = {
    {"tcp://192.0.2.7:7766", "192.0.2.7", ADDRESS_IPV4, 7766, false},
    {"tcp://127.0.0.1:1", "127.0.0.1", ADDRESS_IPV4, 1, true},
    {"tcp://127.255.0.9:2", "127.255.0.9", ADDRESS_IPV4, 2, true},
    {"tcp://128.0.0.1:65535", "128.0.0.1", ADDRESS_IPV4, 65535, false},
    {"tcp://0.0.0.0:*", "0.0.0.0", ADDRESS_IPV4, 0, false},
    {"tcp://[2001:db8::7]:7766", "2001:db8::7", ADDRESS_IPV6, 7766, false},
    {"tcp://[::1]:*", "::1", ADDRESS_IPV6, 0, true},
    {"tcp://[fe80::1%eth0]:7", "fe80::1%eth0", ADDRESS_IPV6, 7, false},
    {"tcp://desk1:7766", "desk1", ADDRESS_NAME, 7766, false},
    {"tcp://desk-1.lab_2.example:7766", "desk-1.lab_2.example", ADDRESS_NAME, 7766, false},
    {"tcp://desk1.example.:7", "desk1.example.", ADDRESS_NAME, 7, false},
    {"tcp://desk1.example7:7", "desk1.example7", ADDRESS_NAME, 7, false},
    {"tcp://7up:7", "7up", ADDRESS_NAME, 7, false},
    {"tcp://localhost:7", "localhost", ADDRESS_NAME, 7, false},
    {"tcp://" NAME253 ":7", NAME253, ADDRESS_NAME, 7, false},
    {"tcp://*:7766", "*", ADDRESS_ANY, 7766, false},
    {"tcp://*:*", "*", ADDRESS_ANY, 0, false},
};

TEST(an_address_is_read_and_printed)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct address a;
        char text[ADDRESS_TEXT_MAX];
        const char *why = "";
        if (address_read(good[i].text, &a, &why) != 0)
            fail_msg("%s: %s", good[i].text, why);
        assert_string_equal(a.host, good[i].host);
        assert_int_equal(a.kind, good[i].kind);
        assert_int_equal(a.port, good[i].port);
        assert_int_equal(address_is_loopback(&a), good[i].loopback);
        assert_string_equal(address_print(&a, text), good[i].text);
    }
}

TEST(what_is_none_is_refused_with_the_reason)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"", "expected: tcp://"},
        {"desk1:7766", "expected: tcp://"},
        {"tcp:/desk1:7766", "expected: tcp://"},
        {"ipc:///tmp/x", "expected: tcp://"},
        {"tcp://", "port"},
        {"tcp://desk1", "port"},
        {"tcp://desk1:", "port"},
        {"tcp://desk1:0", "port"},
        {"tcp://desk1:65536", "port"},
        {"tcp://desk1:+7", "port"},
        {"tcp://desk1: 7", "port"},
        {"tcp://desk1:7x", "port"},
        {"tcp://desk1:**", "port"},
        {"tcp://[::1]", "port"},
        {"tcp://[::1]7766", "port"},
        {"tcp://[::1:7766", "brackets"},
        {"tcp://::1:7766", "brackets"},
        {"tcp://[]:7766", "no IPv6 address in the brackets"},
        {"tcp://[192.0.2.7]:7766", "no IPv6 address in the brackets"},
        {"tcp://[fe80::1%]:7766", "no IPv6 address in the brackets"},
        {"tcp://[fe80::1%sixteen-letters-]:7766", "no IPv6 address in the brackets"},
        {"tcp://[1:2:3:4:5:6:7:8:9]:7766", "no IPv6 address in the brackets"},
        {"tcp://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:7766", "no IPv6 address in the brackets"},
        {"tcp://:7766", "host is missing"},
        {"tcp://-desk:7766", "host is missing"},
        {"tcp://.desk:7766", "host is missing"},
        {"tcp://desk 1:7766", "host is missing"},
        {"tcp://desk/1:7766", "host is missing"},
        {"tcp://*.example:7766", "host is missing"},
        {"tcp://192.0.2:7766", "no IPv4 address"},
        {"tcp://192.0.2.256:7766", "no IPv4 address"},
        {"tcp://192.0.2.7.:7766", "no IPv4 address"},
        {"tcp://7:7766", "no IPv4 address"},
        {"tcp://" NAME253 "z:7", "253"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct address a = {.kind = ADDRESS_ANY, .port = 99};
        const char *why = "";
        assert_int_equal(address_read(wrong[i].text, &a, &why), BEZEL_EINVAL);
        if (!strstr(why, wrong[i].why))
            fail_msg("%s: '%s' does not say '%s'", wrong[i].text, why, wrong[i].why);
        assert_int_equal(a.port, 99); /* untouched */
    }
}

int main(void)
{
    _Static_assert(sizeof NAME253 == 254, "the longest name");
    return test_run(NULL, NULL);
}
