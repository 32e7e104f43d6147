// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT
#include "sensor/shm/cpu_counter.h"
#include "base/clock.h"
#include "sensor/external/user_clock.h"
#include "tests/lib/test.h"
#include "tests/lib/timebase_bound.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

static void only_the_clock_source_of_the_kernel_itself_is_trusted(void **state)
{
    (void)state;
    const struct {
        struct cpu_counter_traits counter;
        const char *says; /* NULL: trusted */
    } cases[] = {
        {{true, true, true, "tsc", "tsc"}, NULL},
        {{true, true, true, "arch_sys_counter", "arch_sys_counter"}, NULL},
        {{true, true, true, "kvm-clock", "tsc"}, "hypervisor's"},
        {{true, true, true, "hyperv_clocksource_tsc_page", "tsc"}, "hypervisor's"},
        {{true, true, false, "kvm-clock", "tsc"}, "may not read"},
        {{true, false, true, "kvm-clock", "tsc"}, "one rate"},
        {{true, true, true, "acpi_pm", "tsc"}, "another clock source"},
        {{true, true, true, "hpet", "tsc"}, "another clock source"},
        {{true, true, true, "", "tsc"}, "cannot be read"},
        {{true, true, false, "tsc", "tsc"}, "may not read"},
        {{true, false, true, "tsc", "tsc"}, "one rate"},
        {{false, false, false, "riscv_clocksource", ""}, "no counter"},
        {{false, false, false, "", ""}, "no counter"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = "unset";
        assert_int_equal(cpu_counter_judge(&cases[i].counter, &why), !cases[i].says ? CPU_COUNTER_TRUSTED
                                                                     : strcmp(cases[i].says, "hypervisor's") == 0
                                                                         ? CPU_COUNTER_PROVABLE
                                                                         : CPU_COUNTER_NOT_TRUSTED);
        if (cases[i].says)
            assert_non_null(strstr(why, cases[i].says));
        else
            assert_null(why);
    }
}

static void the_kernels_flags_must_all_be_there(void **state)
{
    (void)state;
    assert_true(cpu_counter_is_reliable("flags\t\t: fpu tsc constant_tsc nonstop_tsc tsc_reliable avx\n"));
    assert_true(cpu_counter_is_reliable("tsc_reliable nonstop_tsc constant_tsc"));
    assert_false(cpu_counter_is_reliable("flags : constant_tsc nonstop_tsc tsc_known_freq"));
    assert_false(cpu_counter_is_reliable("flags : constant_tsc nonstop_tsc not_tsc_reliable"));
    assert_false(cpu_counter_is_reliable("flags : constant_tsc nonstop_tsc_s3 tsc_reliable"));
    assert_false(cpu_counter_is_reliable(""));
}

static void this_machine_is_judged_and_a_refusal_has_its_sentence(void **state)
{
    (void)state;
    const char *why = "unset";
    bool trusted = cpu_counter_trust(&why) == CPU_COUNTER_TRUSTED;
    printf("the counter of this machine: %s\n", trusted ? "trusted" : why);
    assert_int_equal(trusted, why == NULL);
    if (trusted)
        assert_true(cpu_counter_read() != 0);
}

#if defined(__x86_64__)
static void a_process_that_may_not_read_the_counter_does_not(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const char *why;
        if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0)
            _exit(77);
        _exit(cpu_counter_trust(&why) != CPU_COUNTER_NOT_TRUSTED);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        puts("this kernel cannot forbid the counter");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}
#endif

/* How far outside of what CLOCK_MONOTONIC said before and after it a reading of the counter is, once converted. */
static int64_t outside(const struct timebase *tb, int64_t *bound)
{
    int64_t before = clock_now();
    uint64_t ticks = cpu_counter_read();
    int64_t after = clock_now(), ns = timebase_ns(tb, ticks);
    *bound = timebase_bound(tb, ticks);
    return ns < before ? before - ns : ns > after ? ns - after : 0;
}

/* Taken in order: what it says of a moment is compared with CLOCK_MONOTONIC at that moment, in the kernel's own words.
 */
static void for_a_second_the_counter_tells_the_time_within_its_stated_error(void **state)
{
    (void)state;
    const char *why;
    if (cpu_counter_trust(&why) != CPU_COUNTER_TRUSTED) {
        puts(why);
        skip();
    }
    struct timebase tb;
    timebase_init(&tb, 0);
    int64_t start = clock_now(), last = 0;
    for (int64_t now = start; now - start < CLOCK_S; now = clock_now()) {
        if (now >= timebase_due(&tb)) {
            struct clock_pair pair = clock_pair_read(cpu_counter_read, 16);
            assert_int_not_equal(timebase_add(&tb, &pair), TIMEBASE_JUMPED);
        }
        if (timebase_ready(&tb)) {
            int64_t bound, wrong = outside(&tb, &bound), ns = timebase_ns(&tb, cpu_counter_read());
            if (wrong > bound)
                fail_msg("%" PRId64 " ns wrong, stated %" PRId64, wrong, bound);
            assert_true(ns >= last);
            last = ns;
        }
        clock_sleep_until(clock_now() + CLOCK_MS / 2);
    }
    assert_int_equal(tb.jumps, 0);
    assert_true(timebase_error_ns(&tb) > 0);
    printf("stated error %" PRId64 " ns, %g ns a tick\n", timebase_error_ns(&tb),
           (double)timebase_tick_ns(&tb) / 0x1p32);
}

/* ---- A program's own clock --------------------------------------------------------------------------------------- */

static uint64_t own_clock(void)
{
    return (uint64_t)clock_now() / 1000 + UINT64_C(0xfffffffffff00000);
}

static void a_clock_of_the_program_is_asked_and_answers_once(void **state)
{
    (void)state;
    struct segment_pair shared = {0};
    struct user_clock c;
    user_clock_init(&c, 1e6);
    assert_false(segment_pair_wanted(&shared));
    segment_pair_give(&shared, own_clock); /* nobody asked */
    assert_int_equal(shared.given, 0);
    for (int taken = 0; taken < 20;) {
        int64_t now = clock_now();
        now = timebase_due(&c.timebase) > now ? timebase_due(&c.timebase) : now;
        assert_int_equal(user_clock_poll(&c, &shared, now), TIMEBASE_IGNORED); /* asks */
        assert_true(segment_pair_wanted(&shared));
        assert_int_equal(user_clock_poll(&c, &shared, now), TIMEBASE_IGNORED);
        clock_sleep_until(now);
        segment_pair_give(&shared, own_clock);
        assert_false(segment_pair_wanted(&shared));
        uint64_t answered = shared.ticks;
        segment_pair_give(&shared, own_clock); /* answered already */
        assert_int_equal(shared.ticks, answered);
        enum timebase_news news = user_clock_poll(&c, &shared, clock_now());
        if (news == TIMEBASE_IGNORED && c.timebase.ignored > 0)
            continue; /* this thread slept between the two readings: much less exact than those before it */
        assert_int_equal(news, TIMEBASE_TOOK);
        taken++;
        assert_true(timebase_ready(&c.timebase));
        uint64_t ticks = own_clock();
        int64_t wrong = llabs(timebase_ns(&c.timebase, ticks) - clock_now());
        assert_true(wrong <= timebase_bound(&c.timebase, ticks) + 100 * CLOCK_MS); /* this thread may have slept */
    }
    assert_int_equal(c.timebase.jumps, 0);
}

static void an_answer_that_is_there_already_is_where_it_begins(void **state)
{
    (void)state;
    struct segment_pair shared = {.wanted = 1}; /* as a process sets it up */
    struct user_clock c;
    segment_pair_give(&shared, own_clock);
    user_clock_init(&c, 1e6);
    assert_int_equal(user_clock_poll(&c, &shared, clock_now()), TIMEBASE_TOOK);
    assert_true(timebase_ready(&c.timebase));
    assert_int_equal(timebase_ns(&c.timebase, shared.ticks), shared.ns);
    user_clock_init(&c, 1e6); /* given since the poll began */
    assert_int_equal(user_clock_poll(&c, &shared, (int64_t)shared.ns - 1000), TIMEBASE_TOOK);
    user_clock_init(&c, 1e6); /* from the future: no */
    assert_int_equal(user_clock_poll(&c, &shared, (int64_t)shared.ns - 2 * CLOCK_S), TIMEBASE_IGNORED);
    assert_false(timebase_ready(&c.timebase));
}

static void an_answer_that_cannot_be_is_not_believed(void **state)
{
    (void)state;
    struct user_clock c;
    const int64_t lies[] = {0, -1, INT64_MIN, INT64_MAX, 4 * CLOCK_S};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        struct segment_pair shared = {0};
        user_clock_init(&c, 1e6);
        int64_t now = 5 * CLOCK_S;
        assert_int_equal(user_clock_poll(&c, &shared, now), TIMEBASE_IGNORED);
        shared.begun = shared.given = shared.wanted;
        shared.ns = (uint64_t)lies[i];
        assert_int_equal(user_clock_poll(&c, &shared, now + 1), TIMEBASE_IGNORED);
        assert_false(timebase_ready(&c.timebase));
        user_clock_init(&c, 1e6); /* as the first it can be from any time but the future */
        assert_int_equal(user_clock_poll(&c, &shared, 2 * CLOCK_S), lies[i] == 0 ? TIMEBASE_TOOK : TIMEBASE_IGNORED);
    }
}

static void a_question_whose_answer_was_abandoned_is_asked_anew(void **state)
{
    (void)state;
    struct segment_pair shared = {0};
    struct user_clock c;
    user_clock_init(&c, 1e6);
    int64_t now = clock_now();
    (void)user_clock_poll(&c, &shared, now);
    shared.begun = shared.wanted; /* claimed, and never given */
    (void)user_clock_poll(&c, &shared, now + USER_CLOCK_ASK_AGAIN_NS);
    assert_false(segment_pair_wanted(&shared));
    (void)user_clock_poll(&c, &shared, now + USER_CLOCK_ASK_AGAIN_NS + 1);
    assert_true(segment_pair_wanted(&shared));
    segment_pair_give(&shared, own_clock);
    c.asked_ns = now; /* this test does not wait two seconds */
    assert_int_equal(user_clock_poll(&c, &shared, clock_now()), TIMEBASE_TOOK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_clock_source_of_the_kernel_itself_is_trusted),
        cmocka_unit_test(the_kernels_flags_must_all_be_there),
        cmocka_unit_test(this_machine_is_judged_and_a_refusal_has_its_sentence),
#if defined(__x86_64__)
        cmocka_unit_test(a_process_that_may_not_read_the_counter_does_not),
#endif
        cmocka_unit_test(for_a_second_the_counter_tells_the_time_within_its_stated_error),
        cmocka_unit_test(a_clock_of_the_program_is_asked_and_answers_once),
        cmocka_unit_test(an_answer_that_is_there_already_is_where_it_begins),
        cmocka_unit_test(an_answer_that_cannot_be_is_not_believed),
        cmocka_unit_test(a_question_whose_answer_was_abandoned_is_asked_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
