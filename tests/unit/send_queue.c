// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Window and spool take what a flood brings, as much as they have room for together, however small the window is. */
#include "mdr/uplink/send_queue.h"
#include "base/clock.h"
#include "bezel/sensor.h"
#include "tests/lib/node_fixture.h"
#include "tests/lib/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { FLOOD = 60000, SPOOL = 16 << 20 };

BEZEL_ASPECT(flood, (int64, number, "1"), (int64, more, "1"));

static struct fixture f;

static void flood(uint64_t *made)
{
    for (int i = 0; i < FLOOD; i++)
        bezel_record(flood, (int64_t)(*made)++, 0);
}

/* With nobody who acknowledges, a ring fuller than any packet is long, before each poll. */
static void a_flood_fills_the_spool_behind_the_smallest_window(void **unused)
{
    (void)unused;
    struct send_queue b;
    uint64_t made = 0, want = SPOOL / 2;
    setenv("BEZEL_RING_RECORDS", "65536", 1);
    f.options = (struct external_options){.batch = true, .take_all = true, .window_bytes = WINDOW_BYTES_MIN};
    scratch_begin(NULL);
    fixture_open(&f);
    struct uplink_source source = external_uplink(f.external);
    assert_int_equal(send_queue_open(&b, &source, scratch_dir, SPOOL, clock_now()), 0);
    flood(&made);
    for (int turn = 0; turn < 200 && send_queue_spooled(&b) < want; turn++) {
        external_poll(f.external, clock_now());
        external_housekeep(f.external, clock_now());
        send_queue_move(&b, clock_now());
        flood(&made);
    }
    assert_true(send_queue_spooled(&b) >= want);
    send_queue_close(&b, true);
    external_close(f.external, true);
    scratch_remove(f.dir);
    scratch_end(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flood_fills_the_spool_behind_the_smallest_window),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
