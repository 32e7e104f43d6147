// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
/* What samplers make of the kernel's texts, and of texts that no kernel wrote. */
#include "sensor/samplers/sampler_text.h"
#include "tests/lib/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

TEST(cpu_times_and_counts_are_found_by_their_words)
{
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

TEST(what_an_old_kernel_does_not_report_is_unknown)
{
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

TEST(interfaces_come_one_by_one_whatever_their_names)
{
    static const char text[] = "Inter-|   Receive                                                |  Transmit\n"
                               " face |bytes    packets errs drop fifo frame compressed multicast|bytes  packets errs\n"
                               "    lo: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n"
                               "eth0:11 12 13 14 0 0 0 0 15 16 17 18 0 0 0 0\n"
                               "short: 1 2 3\n"
                               "caf\xE9: 21 22 23 24 0 0 0 0 25 26 27 28 0 0 0 0\n"
                               "caf\xE8\x01: 31 32 33 34 0 0 0 0 35 36 37 38 0 0 0 0\n";
    static const char *const names[] = {"lo", "eth0", "caf\\xE9", "caf\\xE8\\x01"};
    char name[SAMPLER_NAME_MAX + 1];
    int64_t v[NETWORK_FIELDS];
    const char *at = text;
    for (int n = 0; n < 4; n++) {
        assert_true(sampler_next_network(&at, name, v));
        assert_string_equal(name, names[n]);
        for (int i = 0; i < NETWORK_FIELDS; i++)
            assert_int_equal(v[i], 10 * n + 1 + i);
    }
    assert_false(sampler_next_network(&at, name, v));
}

TEST(a_name_that_is_too_long_is_cut)
{
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

TEST(disks_that_did_nothing_are_left_out)
{
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

TEST(a_process_may_be_named_like_its_own_line)
{
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

TEST(a_process_that_is_ending_is_not_sampled)
{
    int64_t v[PROCESS_FIELDS];
    uint64_t start;
    assert_false(
        sampler_read_process("42 (a) R 1 42 42 0 -1 4194564 107 3 2 1 9 8 0 0 20 0 1 0 777 0 0 0 1 1\n", v, &start));
    assert_false(
        sampler_read_process("42 (a) Z 1 42 42 0 -1 4194560 107 3 2 1 9 8 0 0 20 0 1 0 777 0 0 0 1 1\n", v, &start));
}

TEST(the_schedulers_times_are_three_counts_of_a_line)
{
    static const char *const wrong[] = {"",       "\n", "1 2", "1 2\n3", "1 x 3", "1 -2 3", "1 2 99999999999999999999",
                                        "a 1 2 3"};
    int64_t v[SCHED_FIELDS];
    assert_true(sampler_read_sched("686923853 588475182 173\n", v));
    assert_int_equal(v[SCHED_RUNNING], 686923853);
    assert_int_equal(v[SCHED_WAITING], 588475182);
    assert_int_equal(v[SCHED_SLICES], 173);
    assert_true(sampler_read_sched("0 0 0\n", v));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(sampler_read_sched(wrong[i], v));
}

TEST(a_frozen_thread_and_a_parent_in_vfork_are_known_by_where_they_wait)
{
    static const char *const frozen[] = {"__refrigerator", "do_freezer_trap", "get_signal"},
                             *const in_vfork[] = {"kernel_clone", "_do_fork", "wait_for_vfork_done"},
                             *const others[] = {"0",      "", "do_signal_stop", "io_schedule", "futex_wait_queue",
                                                "do_wait"};
    for (size_t i = 0; i < sizeof frozen / sizeof *frozen; i++)
        assert_true(sampler_is_frozen(frozen[i]) && !sampler_waits_in_vfork(frozen[i]));
    for (size_t i = 0; i < sizeof in_vfork / sizeof *in_vfork; i++)
        assert_true(sampler_waits_in_vfork(in_vfork[i]) && !sampler_is_frozen(in_vfork[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(sampler_is_frozen(others[i]) || sampler_waits_in_vfork(others[i]));
}

TEST(switches_are_found_by_their_words)
{
    int64_t voluntary, involuntary;
    assert_true(sampler_read_switches("Name:\tx\nvoluntary_ctxt_switches:\t2\nnonvoluntary_ctxt_switches:\t171\n",
                                      &voluntary, &involuntary));
    assert_int_equal(voluntary, 2);
    assert_int_equal(involuntary, 171);
    assert_false(sampler_read_switches("nonvoluntary_ctxt_switches:\t171\n", &voluntary, &involuntary));
    assert_int_equal(voluntary, SAMPLER_UNKNOWN);
    assert_int_equal(involuntary, 171);
    assert_false(sampler_read_switches("voluntary_ctxt_switches:\t2\nnonvoluntary_ctxt_switches:\t", &voluntary,
                                       &involuntary)); /* cut */
    assert_false(sampler_read_switches("voluntary_ctxt_switches:\t-2\nnonvoluntary_ctxt_switches:\t1", &voluntary,
                                       &involuntary));
}

#define THREAD_END                                                                                                     \
    " 0 63 5 0 0 20 0 1 0 5701730 2600960 345 18446744073709551615 93847102345216 93847102346297 140722871462272 0 "   \
    "0 0 65536 6 0 1 0 0 17 "

TEST(the_cpu_of_a_thread_stands_behind_numbers_of_any_size)
{
    static const char *const wrong[] = {"",
                                        "42 (a) ",
                                        "42 (a) Z 1 42 42 0 -1 4194304 84 0 7" THREAD_END "1 0",
                                        "42 (a) S 1 42 42 0 -1 4194304 84 0 7" THREAD_END,
                                        "42 (a) S 1 42 42 0 -1 4194304 84 0 7" THREAD_END "-1 0",
                                        "42 (a) S 1 42 42 0 -1 4194304 84 0 -7" THREAD_END "1 0",
                                        "42 (a) S 1 42 42 0 -1 4194304 84 0",
                                        "42 (a) S 1 42 42 0 -1 4194304 9223372036854775807 0 7" THREAD_END "1 0"};
    int64_t faults, cpu;
    assert_true(
        sampler_read_thread("42 (a) S 1 2 ) R 1 42 42 0 -1 4194304 84 0 7" THREAD_END "3 0 0\n", &faults, &cpu));
    assert_int_equal(faults, 91);
    assert_int_equal(cpu, 3);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(sampler_read_thread(wrong[i], &faults, &cpu));
}

enum { COLUMNS_MAX = 4 };

TEST(sources_of_interrupts_come_one_by_one_with_a_count_for_each_cpu)
{
    static const char text[] = "           CPU0       CPU2       CPU13\n"
                               " 24:          1          0    4294967295  IO-APIC   5-edge      ACPI:Ged\n"
                               "31:          0      11403   7 PCI-MSIX-0000:00:01.0   3-edge      virtio0-stats  \n"
                               " 7: 1 2 3\n"
                               "LOC:  152689850  152518395   3  Local timer interrupts\n"
                               "ERR:          0\n"
                               "BAD:  1 2\n"
                               "BAD:  1 2 -3\n"
                               "odd\x8Fname: 4 5 6 x\n"
                               "      HI:          7          8          9\n"
                               "cut: 1 2";
    static const struct {
        const char *name;
        int64_t counts[3];
    } expected[] = {{"24:ACPI:Ged", {1, 0, 4294967295}}, {"31:virtio0-stats", {0, 11403, 7}}, {"7", {1, 2, 3}},
                    {"LOC", {152689850, 152518395, 3}},  {"odd\\x8Fname", {4, 5, 6}},         {"HI", {7, 8, 9}}};
    uint32_t cpus[COLUMNS_MAX];
    int64_t counts[COLUMNS_MAX];
    char name[SAMPLER_NAME_MAX + 1];
    struct sampler_table t = {.cpus = cpus};
    const char *at = text;
    assert_true(sampler_read_columns(&at, &t, COLUMNS_MAX));
    assert_int_equal(t.cpu_count, 3);
    assert_true(cpus[0] == 0 && cpus[1] == 2 && cpus[2] == 13);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_true(sampler_next_source(&at, &t, name, counts));
        assert_string_equal(name, expected[i].name);
        for (int c = 0; c < 3; c++)
            assert_int_equal(counts[c], expected[i].counts[c]);
    }
    assert_false(sampler_next_source(&at, &t, name, counts));
}

TEST(a_table_of_interrupts_has_no_more_columns_than_there_is_room_for)
{
    static const char *const wrong[] = {"", "\n", "CPU", "CPU-1", "cpu0", "1 2 3\n", "CPU99999999999999999999"};
    uint32_t cpus[2];
    int64_t counts[2];
    char name[SAMPLER_NAME_MAX + 1], long_name[3 * SAMPLER_NAME_MAX];
    struct sampler_table t = {.cpus = cpus};
    const char *at = "CPU0 CPU1 CPU2\nLOC: 1 2 3\n";
    assert_true(sampler_read_columns(&at, &t, 2));
    assert_int_equal(t.cpu_count, 2);
    assert_true(sampler_next_source(&at, &t, name, counts));
    assert_int_equal(counts[1], 2);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(sampler_read_columns((at = wrong[i], &at), &t, 2));
    at = "CPU0\n";
    assert_true(sampler_read_columns(&at, &t, 2));
    for (int n = SAMPLER_NAME_MAX - 6; n < SAMPLER_NAME_MAX + 4; n++) {
        snprintf(long_name, sizeof long_name, "%0*d: 5 chip %0*d\n", n, 7, n, 8);
        at = long_name;
        assert_true(sampler_next_source(&at, &t, name, counts));
        assert_true(strlen(name) <= SAMPLER_NAME_MAX && strlen(name) >= SAMPLER_NAME_MAX - 6);
        assert_int_equal(counts[0], 5);
    }
}

TEST(stolen_time_is_that_of_each_cpu)
{
    const char *at = "cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 80 9 10\ncpu1 1 2\ncpu7 1 2 3 4 5 6 7 90\n"
                     "cpu8 1 2 3 4 5 6 7 -1\ncpux 1 2 3 4 5 6 7 8\nintr 1 2 3\n";
    int64_t cpu, steal;
    assert_true(sampler_next_steal(&at, &cpu, &steal));
    assert_true(cpu == 0 && steal == 80);
    assert_true(sampler_next_steal(&at, &cpu, &steal));
    assert_true(cpu == 7 && steal == 90);
    assert_false(sampler_next_steal(&at, &cpu, &steal));
}

TEST(what_makes_no_sense_is_no_sample)
{
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
