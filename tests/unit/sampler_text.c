// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* What samplers make of the kernel's texts, and of texts that no kernel wrote. */
#include "sensor/samplers/sampler_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void cpu_times_and_counts_are_found_by_their_words(void **unused)
{
    (void)unused;
    int64_t v[CPU_FIELDS];
    assert_true(
        sampler_read_cpu("cpu  10 20 30 40 50 60 70 80 90 100\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5 5 5\nctxt 123\n"
                         "btime 1\nprocesses 456\nprocs_running 7\nprocs_blocked 0\nsoftirq 1 2\n",
                         v));
    for (int i = 0; i < CPU_TIMES; i++)
        assert_int_equal(v[i], 10 * (i + 1));
    assert_int_equal(v[CPU_SWITCHES], 123);
    assert_int_equal(v[CPU_FORKS], 456);
    assert_int_equal(v[CPU_RUNNING], 7);
    assert_int_equal(v[CPU_BLOCKED], 0);
}

static void what_an_old_kernel_does_not_report_is_unknown(void **unused)
{
    (void)unused;
    int64_t v[CPU_FIELDS], m[MEMORY_FIELDS];
    struct sampler_pressure p;
    assert_true(sampler_read_cpu("cpu  1 2 3 4\n", v));
    assert_int_equal(v[CPU_IDLE], 4);
    assert_int_equal(v[CPU_STEAL], SAMPLER_UNKNOWN);
    assert_int_equal(v[CPU_SWITCHES], SAMPLER_UNKNOWN);
    assert_true(sampler_read_memory("MemTotal:  16 kB\nMemFree: 8 kB\n", m));
    assert_int_equal(m[MEMORY_TOTAL], 16384);
    assert_int_equal(m[MEMORY_FREE], 8192);
    assert_int_equal(m[MEMORY_AVAILABLE], SAMPLER_UNKNOWN);
    assert_true(sampler_read_pressure("some avg10=1.50 avg60=0.00 avg300=0.00 total=2500\n", &p));
    assert_true(p.some_percent == 1.5 && p.some_ns == 2500000);
    assert_true(isnan(p.full_percent) && p.full_ns == SAMPLER_UNKNOWN);
}

static void interfaces_come_one_by_one_whatever_their_names(void **unused)
{
    (void)unused;
    static const char text[] = "Inter-|   Receive                                                |  Transmit\n"
                               " face |bytes    packets errs drop fifo frame compressed multicast|bytes  packets errs\n"
                               "    lo: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n"
                               "eth0:11 12 13 14 0 0 0 0 15 16 17 18 0 0 0 0\n"
                               "short: 1 2 3\n"
                               "odd\x01name: 21 22 23 24 0 0 0 0 25 26 27 28 0 0 0 0\n";
    static const char *const names[] = {"lo", "eth0", "odd?name"};
    char name[SAMPLER_NAME_MAX + 1];
    int64_t v[NETWORK_FIELDS];
    const char *at = text;
    for (int n = 0; n < 3; n++) {
        assert_true(sampler_next_network(&at, name, v));
        assert_string_equal(name, names[n]);
        for (int i = 0; i < NETWORK_FIELDS; i++)
            assert_int_equal(v[i], 10 * n + 1 + i);
    }
    assert_false(sampler_next_network(&at, name, v));
}

static void a_name_that_is_too_long_is_cut(void **unused)
{
    (void)unused;
    enum { MORE = 3 };
    char text[512], name[SAMPLER_NAME_MAX + 1], word[SAMPLER_NAME_MAX + MORE + 1];
    int64_t v[(int)NETWORK_FIELDS + (int)DISK_FIELDS];
    for (size_t n = SAMPLER_NAME_MAX - 1; n <= SAMPLER_NAME_MAX + MORE; n++) {
        memset(word, 'n', n);
        word[n] = '\0';
        const char *at = text;
        size_t kept = n < SAMPLER_NAME_MAX ? n : SAMPLER_NAME_MAX;
        snprintf(text, sizeof text, " %s: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n", word);
        assert_true(sampler_next_network(&at, name, v));
        assert_int_equal(strlen(name), kept);
        assert_int_equal(v[0], 1);
        at = text;
        snprintf(text, sizeof text, " 254 0 %s 10 1 20 30 40 2 50 60 1 70 80 0 0 0 0 0 0\n", word);
        assert_true(sampler_next_disk(&at, name, v));
        assert_int_equal(strlen(name), kept);
        assert_int_equal(v[DISK_READS], 10);
    }
}

static void disks_that_did_nothing_are_left_out(void **unused)
{
    (void)unused;
    const char *at = "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
                     " 254       0 vda 10 1 20 30 40 2 50 60 1 70 80 0 0 0 0 0 0\n 254 1 vda1 1 2\n";
    char name[SAMPLER_NAME_MAX + 1];
    int64_t v[DISK_FIELDS];
    assert_true(sampler_next_disk(&at, name, v));
    assert_string_equal(name, "vda");
    assert_int_equal(v[DISK_READS], 10);
    assert_int_equal(v[DISK_READ_BYTES], 20 * 512);
    assert_int_equal(v[DISK_READ_NS], 30 * 1000000);
    assert_int_equal(v[DISK_WRITES], 40);
    assert_int_equal(v[DISK_WRITE_BYTES], 50 * 512);
    assert_int_equal(v[DISK_WRITE_NS], 60 * 1000000);
    assert_int_equal(v[DISK_IN_FLIGHT], 1);
    assert_int_equal(v[DISK_BUSY_NS], 70 * 1000000);
    assert_false(sampler_next_disk(&at, name, v));
}

static void a_process_may_be_named_like_its_own_line(void **unused)
{
    (void)unused;
    int64_t v[PROCESS_FIELDS];
    uint64_t start;
    assert_true(
        sampler_read_process("42 (a) S 1 2 ) R 1 42 42 0 -1 4194560 107 3 2 1 9 8 0 0 20 0 5 0 777 4096 99 18446744"
                             "073709551615 1 1\n",
                             v, &start));
    assert_int_equal(v[PROCESS_MINOR_FAULTS], 107);
    assert_int_equal(v[PROCESS_MAJOR_FAULTS], 2);
    assert_int_equal(v[PROCESS_USER], 9);
    assert_int_equal(v[PROCESS_SYSTEM], 8);
    assert_int_equal(v[PROCESS_THREADS], 5);
    assert_int_equal(v[PROCESS_RESIDENT], 99);
    assert_int_equal(start, 777);
}

static void a_process_that_is_ending_is_not_sampled(void **unused)
{
    (void)unused;
    int64_t v[PROCESS_FIELDS];
    uint64_t start;
    assert_false(
        sampler_read_process("42 (a) R 1 42 42 0 -1 4194564 107 3 2 1 9 8 0 0 20 0 1 0 777 0 0 0 1 1\n", v, &start));
    assert_false(
        sampler_read_process("42 (a) Z 1 42 42 0 -1 4194560 107 3 2 1 9 8 0 0 20 0 1 0 777 0 0 0 1 1\n", v, &start));
}

static void what_makes_no_sense_is_no_sample(void **unused)
{
    (void)unused;
    static const char *const texts[] = {"",
                                        "\n",
                                        "cpu",
                                        "cpu ",
                                        "cpu  a b c d",
                                        ")",
                                        "1 (x)",
                                        "1 (x) ",
                                        "1 (x) S",
                                        "MemTotal:",
                                        "some",
                                        "some avg10=",
                                        "99999999999999999999999",
                                        "a:b:c:"};
    int64_t v[16];
    char name[SAMPLER_NAME_MAX + 1];
    uint64_t start;
    struct sampler_pressure p;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *network = texts[i], *disk = texts[i];
        assert_false(sampler_read_cpu(texts[i], v));
        assert_false(sampler_read_memory(texts[i], v));
        assert_false(sampler_next_network(&network, name, v));
        assert_false(sampler_next_disk(&disk, name, v));
        assert_false(sampler_read_process(texts[i], v, &start));
        assert_false(sampler_read_pressure(texts[i], &p));
        assert_false(texts[i][0] != '1' && sampler_read_number(texts[i], v));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_times_and_counts_are_found_by_their_words),
        cmocka_unit_test(what_an_old_kernel_does_not_report_is_unknown),
        cmocka_unit_test(interfaces_come_one_by_one_whatever_their_names),
        cmocka_unit_test(a_name_that_is_too_long_is_cut),
        cmocka_unit_test(disks_that_did_nothing_are_left_out),
        cmocka_unit_test(a_process_may_be_named_like_its_own_line),
        cmocka_unit_test(a_process_that_is_ending_is_not_sampled),
        cmocka_unit_test(what_makes_no_sense_is_no_sample),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
