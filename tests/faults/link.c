// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* The link between two hosts, cut, delayed, reordered, damaged, slowed and half-open. */
#include "tests/faults/faults.h"

#define SILENCE (3 * CLOCK_S) /* longer than a peer's */

static const char with_keys[] = "keys", of_reducer[] = "reducer";

static void make(struct bed *b, const struct bed_options *o, const char *link)
{
    struct bed_options over = *o;
    over.over_network = true;
    over.keys = link == with_keys;
    over.reduces = over.at_root = link == of_reducer;
    over.spares = over.reduces ? BED_ONLY(BED_REDUCER) : 0;
    bed_make(b, &over);
}

static struct proxy_counts count(struct bed *b)
{
    struct proxy_counts c;
    if (!proxy_count(&b->proxy, &c))
        bed_fail(b, "the proxy does not answer");
    return c;
}

/* RST at both ends, what was under way is gone. */
static void try_cut(struct bed *b, const struct bed_options *o, const void *of)
{
    make(b, o, of);
    for (unsigned i = 0; i < o->rounds; i++) {
        uint32_t before = count(b).accepted;
        bed_nap(b, 200);
        if (!proxy_cut(&b->proxy))
            bed_fail(b, "the proxy does not answer");
        b->result.tried++;
        if (bed_draw(b, 2))
            bed_await_progress(b, 2000);
        else
            bed_nap(b, 150); /* ZeroMQ connects again after 100 ms: into its handshake, or before */
        while (count(b).accepted == before)
            bed_sleep(5 * CLOCK_MS);
    }
    bed_await_progress(b, 2000);
    bed_end(b, "0");
}

/* A mode that a link can live with, for a while; the end comes under it. */
static void try_mode(struct bed *b, const struct bed_options *o, const void *of)
{
    make(b, o, NULL);
    for (unsigned i = 0; i < o->rounds; i++) {
        bed_network(b, *(const struct proxy_mode *)of);
        b->result.tried++;
        bed_await_progress(b, 4000);
        bed_nap(b, 1000);
        bed_network(b, (struct proxy_mode){0});
        bed_await_progress(b, 2000);
        bed_nap(b, 200);
    }
    bed_network(b, *(const struct proxy_mode *)of);
    bed_end(b, "0");
}

/* Nothing passes one way, or both, and neither end gets an error; then the old connections go on where they were, or
 * are cut. */
static void try_half_open(struct bed *b, const struct bed_options *o, const void *of)
{
    make(b, o, NULL);
    for (unsigned i = 0; i < o->rounds; i++) {
        bed_network(b, *(const struct proxy_mode *)of);
        b->result.tried++;
        bed_sleep(SILENCE);
        if (bed_draw(b, 2) && !proxy_cut(&b->proxy))
            bed_fail(b, "the proxy does not answer");
        bed_network(b, (struct proxy_mode){0});
        bed_await_progress(b, 2000);
    }
    bed_end(b, "0");
}

static bool has_newer(struct bed *b)
{
    struct proxy_counts c = count(b);
    return c.open > c.orphans && c.bytes[PROXY_UP] > 0;
}

/*
 * An old connection's bytes arrive after a new connection was opened: with `of`, the old one's first words, HELLO
 * included.
 */
static void try_reorder(struct bed *b, const struct bed_options *o, const void *of)
{
    make(b, o, NULL);
    for (unsigned i = 0; i < o->rounds; i++) {
        if (of && !proxy_cut(&b->proxy))
            bed_fail(b, "the proxy does not answer");
        bed_network(b, (struct proxy_mode){.hold = {[PROXY_UP] = true}});
        bed_sleep((int64_t)(of ? 2500 : 200) * CLOCK_MS);
        if (!proxy_orphan(&b->proxy))
            bed_fail(b, "the proxy does not answer");
        b->result.tried++;
        bed_await(b, has_newer, "a new connection");
        bed_nap(b, 400);
        bed_network(b, (struct proxy_mode){0});
        bed_await_progress(b, 2000);
    }
    bed_end(b, "0");
}

/* What keys authenticate does not arrive damaged: the connection ends, and another one is made. */
static void try_corrupt(struct bed *b, const struct bed_options *o, const void *of)
{
    make(b, o, with_keys);
    for (unsigned i = 0; i < o->rounds; i++) {
        struct proxy_counts before = count(b);
        bed_network(b, *(const struct proxy_mode *)of);
        bed_await_progress(b, 50000);
        bed_nap(b, 1000);
        bed_network(b, (struct proxy_mode){0});
        bed_await_progress(b, 2000);
        b->result.tried += (unsigned)(count(b).corrupted - before.corrupted);
    }
    bed_end(b, "0");
}

/*
 * Where there are no keys a value that was changed on the way looks like any other, so what is wrong is only counted.
 * But what is no packet any more is refused, nothing is stored twice, all that is stored can be read, and the run comes
 * to an end, if only because it gives up.
 */
static void try_corrupt_bare(struct bed *b, const struct bed_options *o, const void *of)
{
    struct bed_options damaged = *o;
    damaged.damaged = true;
    make(b, &damaged, NULL);
    struct proxy_counts before = count(b);
    bed_network(b, *(const struct proxy_mode *)of);
    for (unsigned i = 0; i < o->rounds; i++)
        bed_await_records(b, 10000);
    bed_network(b, (struct proxy_mode){0});
    b->result.tried += (unsigned)(count(b).corrupted - before.corrupted);
    bed_end(b, "014");
    if (b->result.refused == 0)
        bed_fail(b, "nothing was refused, though %u bits were turned", b->result.tried);
}

#define MODE(...) (&(const struct proxy_mode){__VA_ARGS__})

const struct fault faults_link[] = {
    {"link cut", try_cut, NULL, 4, 100},
    {"link with keys cut", try_cut, with_keys, 4, 100},
    {"link to a collector that reduces records cut", try_cut, of_reducer, 4, 100},
    {"link delayed by 50 to 250 ms", try_mode, MODE(.delay = 50 * CLOCK_MS, .jitter = 200 * CLOCK_MS), 1, 20},
    {"link slowed to 64 kB/s", try_mode, MODE(.bytes_per_s = 64000), 1, 20},
    {"link with keys corrupted, one bit in 20 kB", try_corrupt, MODE(.corrupt_every = 20000), 1, 50},
    {"link without keys corrupted, one bit in 2 kB", try_corrupt_bare, MODE(.corrupt_every = 2000), 1, 50},
    {"link half-open upward", try_half_open, MODE(.hold = {true, false}), 1, 20},
    {"link half-open downward", try_half_open, MODE(.hold = {false, true}), 1, 20},
    {"link half-open both ways", try_half_open, MODE(.hold = {true, true}), 1, 20},
    {"old connection's packets after the new connection", try_reorder, NULL, 2, 50},
    {"old connection's HELLO after the new connection", try_reorder, "HELLO", 1, 50},
    {0},
};
