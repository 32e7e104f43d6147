// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * The kernel's own bad network, below TCP: packets late, lost, doubled and out of order, between the proxy's host and
 * the collector's. Only ever on the loopback of a network that is the test's own, and where the kernel has it.
 */
#include "tests/faults/faults.h"

enum { TC_REFUSED = 2, TC_MISSING = 127 }; /* by the kernel, which has none; 1 would be our mistake */

#define TC(...) bed_program(b, "tc", (const char *const[]){"tc", "qdisc", __VA_ARGS__, NULL})

static int begin_netem(struct bed *b)
{
    if (!b->proxy.apart) /* the loopback is the machine's */
        return TC_REFUSED;
    return TC("add", "dev", "lo", "root", "netem", "delay", "5ms", "5ms", "loss", "2%", "duplicate", "2%", "reorder",
              "10%");
}

static void try_netem(struct bed *b, const struct bed_options *o, const void *of)
{
    (void)of;
    struct bed_options over = *o;
    over.over_network = true;
    bed_make(b, &over);
    for (unsigned i = 0; i < o->rounds; i++) {
        int code = begin_netem(b);
        b->result.absent = i == 0 && (code == TC_REFUSED || code == TC_MISSING);
        if (b->result.absent)
            break;
        if (code != 0)
            bed_fail(b, "tc exits with %d", code);
        b->result.tried++;
        bed_await_progress(b, 4000);
        bed_nap(b, 1000);
        if (TC("del", "dev", "lo", "root") != 0)
            bed_fail(b, "tc does not take back what it did");
        bed_await_progress(b, 2000);
    }
    bed_end(b, "0");
}

const struct fault faults_netem[] = {
    {"packets delayed, lost, doubled and reordered (tc netem)", try_netem, NULL, 2, 20},
    {0},
};
