// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/* Those who mean harm: floods of connections, scans of ports, malformed packets at full speed, a collector that lies.
 */
#include "run/history/summary.h"
#include "tests/faults/faults.h"
#include "tests/lib/fake_collector.h"
#include "tests/lib/fake_sensor.h"
#include "tests/lib/patience.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ATTACK CLOCK_S /* how long one lasts */

static void make(struct bed *b, const struct bed_options *o, bool keys)
{
    struct bed_options over = *o;
    over.over_network = true;
    over.keys = keys;
    bed_make(b, &over);
}

/* ---- floods ------------------------------------------------------------------------------------------------------ */

enum { CROWD = 400 }; /* connections that stay open at the same time */

static int connect_to(uint16_t port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) != 0 && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Says nothing, something, or what a peer of ZeroMQ says first. */
static void speak(struct bed *b, int fd)
{
    static const uint8_t greeting[] = {0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    uint8_t noise[512];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)bed_draw(b, 256);
    uint64_t how = bed_draw(b, 4);
    if (how == 1)
        (void)!send(fd, noise, 1 + bed_draw(b, sizeof noise), MSG_NOSIGNAL);
    if (how >= 2)
        (void)!send(fd, greeting, sizeof greeting, MSG_NOSIGNAL);
    if (how == 3)
        (void)!send(fd, noise, sizeof noise, MSG_NOSIGNAL);
}

/* Connections come as fast as they can, `stay` of them stay until others take their place. */
static unsigned flood(struct bed *b, unsigned stay)
{
    static int crowd[CROWD];
    unsigned n = 0;
    memset(crowd, 0xff, sizeof crowd);
    for (int64_t end = clock_now() + ATTACK; clock_now() < end; n++) {
        int *place = &crowd[n % stay];
        if (*place >= 0) {
            if (bed_draw(b, 2)) /* without a word: RST */
                setsockopt(*place, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
            close(*place);
        }
        *place = connect_to(b->port);
        if (*place >= 0)
            speak(b, *place);
    }
    for (unsigned i = 0; i < stay; i++)
        if (crowd[i] >= 0)
            close(crowd[i]);
    return n;
}

static void try_flood(struct bed *b, const struct bed_options *o, const void *of)
{
    make(b, o, false);
    for (unsigned i = 0; i < o->rounds; i++) {
        unsigned n = flood(b, *(const unsigned *)of);
        bed_await_progress(b, 2000);
        b->result.tried += n;
    }
    bed_end(b, "0");
}

/* Every port below some number, and the collector's again and again. */
static void try_scan(struct bed *b, const struct bed_options *o, const void *of)
{
    (void)of;
    make(b, o, false);
    for (unsigned i = 0; i < o->rounds; i++) {
        for (uint16_t port = 1; port < 2048; port++) {
            int fds[] = {connect_to(port), connect_to(b->port)};
            for (int k = 0; k < 2; k++)
                if (fds[k] >= 0)
                    close(fds[k]);
            b->result.tried += 2;
        }
        bed_await_progress(b, 2000);
    }
    bed_end(b, "0");
}

/* ---- malformed packets ------------------------------------------------------------------------------------------- */

/* The id of the run that goes on. */
static void find_run(struct bed *b, uint8_t id[16])
{
    char path[PATH_MAX];
    struct summary *s;
    snprintf(path, sizeof path, "%s/runs/latest", b->dir);
    if (summary_load(path, &s) != 0 || !summary_property(s, "run"))
        bed_fail(b, "%s: no run", path);
    const char *text = summary_property(s, "run");
    for (int i = 0; i < 16; i++, text += 2) {
        unsigned byte;
        text += *text == '-';
        if (sscanf(text, "%2x", &byte) != 1)
            bed_fail(b, "%s: no id", path);
        id[i] = (uint8_t)byte;
    }
    summary_free(s);
}

/* A packet as it should be, with some bits turned; that it is one still is not impossible, so its trace is another's.
 */
static void send_damaged(struct bed *b, struct fake_sensor *f)
{
    static uint8_t bytes[4096];
    const struct fake_stream *s = &f->processes[0]->rings[0];
    uint64_t k = bed_draw(b, s->packets);
    size_t n = s->starts[k + 1] - s->starts[k];
    n = n < sizeof bytes ? n : sizeof bytes;
    memcpy(bytes, s->bytes + s->starts[k], n);
    bytes[4 + bed_draw(b, 16)] ^= (uint8_t)(1 + bed_draw(b, 255));
    for (uint64_t turns = bed_draw(b, 8); turns > 0; turns--)
        bytes[bed_draw(b, n)] ^= (uint8_t)(1 << bed_draw(b, 8));
    if (bed_draw(b, 4) == 0)
        n = bed_draw(b, n + 1);
    b->result.tried += fake_send(f, bytes, n);
}

static void try_malformed(struct bed *b, const struct bed_options *o, const void *of)
{
    char endpoint[64];
    uint8_t run[16];
    (void)of;
    make(b, o, false);
    find_run(b, run);
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%u", b->port);
    struct fake_sensor *f = fake_new("evil", run, seed_next(&b->seed));
    fake_add_process(f, "evil", 1, ROLE_DAEMON);
    for (int i = 0; i < 20; i++)
        fake_cut(f, 0, 0, 1 + (uint32_t)bed_draw(b, 60));
    for (unsigned i = 0; i < o->rounds; i++) {
        if (!fake_connect(f, endpoint))
            bed_fail(b, "%s: no connection", endpoint);
        for (int64_t end = clock_now() + ATTACK; clock_now() < end;)
            send_damaged(b, f);
        bed_await_progress(b, 2000);
        fake_disconnect(f);
    }
    fake_free(f);
    bed_end(b, "0");
}

/* ---- a collector that lies --------------------------------------------------------------------------------------- */

/* Connections lead to `port` from now on, new ones, for there are no others. */
static void lead(struct bed *b, uint16_t port)
{
    if (!proxy_lead(&b->proxy, port) || !proxy_cut(&b->proxy))
        bed_fail(b, "the proxy does not answer");
}

static struct fake_collector *make_liar(struct bed *b, const struct link_keys *keys, uint16_t *port)
{
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "tcp://%s:*", b->address);
    struct fake_collector *f = fake_collector_new(endpoint, keys, seed_next(&b->seed));
    if (!f)
        bed_fail(b, "a collector that lies cannot be bound");
    *port = (uint16_t)strtoul(strrchr(link_endpoint(f->link), ':') + 1, NULL, 10);
    return f;
}

/*
 * bezeld is led to a collector that throws away what it gets and acknowledges what it never got, then back to the one
 * that knows better.
 */
static void try_liar(struct bed *b, const struct bed_options *o, const void *of)
{
    uint16_t port;
    (void)of;
    make(b, o, false);
    struct fake_collector *f = make_liar(b, NULL, &port);
    for (unsigned i = 0; i < o->rounds; i++) {
        uint64_t before = f->lies;
        lead(b, port);
        for (int64_t end = clock_now() + PATIENCE; f->lies < before + 200 && clock_now() < end;)
            fake_collector_round(f, 10 * CLOCK_MS);
        b->result.tried += (unsigned)(f->lies - before);
        lead(b, b->port);
        bed_await_progress(b, 2000);
    }
    fake_collector_free(f);
    bed_end(b, "0");
}

/* Keys of somebody else, who admits everybody that the collector does. */
static void make_false_keys(struct bed *b, struct link_keys *keys)
{
    char own[PATH_MAX], known[PATH_MAX];
    bed_make_key(b, "false", "collector");
    snprintf(own, sizeof own, "%s/false/collector.key", b->dir);
    snprintf(known, sizeof known, "%s/keys", b->dir);
    if (link_keys_open(own, known, NULL, keys) != 0)
        bed_fail(b, "%s cannot be read", own);
}

/* Who has not the collector's key gets nothing to lie about. */
static void try_impostor(struct bed *b, const struct bed_options *o, const void *of)
{
    uint16_t port;
    struct proxy_counts before, after;
    struct link_keys keys;
    (void)of;
    make(b, o, true);
    make_false_keys(b, &keys);
    struct fake_collector *f = make_liar(b, &keys, &port);
    for (unsigned i = 0; i < o->rounds; i++) {
        lead(b, port);
        if (!proxy_count(&b->proxy, &before))
            bed_fail(b, "the proxy does not answer");
        for (int64_t end = clock_now() + 2 * CLOCK_S; clock_now() < end;)
            fake_collector_round(f, 10 * CLOCK_MS);
        if (!proxy_count(&b->proxy, &after) || f->hellos || f->packets)
            bed_fail(b, "an impostor was given %llu HELLOs and %llu packets", (unsigned long long)f->hellos,
                     (unsigned long long)f->packets);
        b->result.tried += after.accepted - before.accepted;
        lead(b, b->port);
        bed_await_progress(b, 2000);
    }
    fake_collector_free(f);
    link_keys_close(&keys);
    bed_end(b, "0");
}

static bool it_is_noted(struct bed *b)
{
    return bed_noted(b) > 0;
}

/* A process of the SUT writes anything into its own segment; bezeld leaves it, and serves the others. */
static void try_scribble(struct bed *b, const struct bed_options *o, const void *of)
{
    struct bed_options harmed = *o;
    (void)of;
    harmed.evil = "harm";
    bed_make(b, &harmed);
    for (unsigned i = 0; i < o->rounds; i++) {
        bed_await_records(b, 4000);
        bed_await_progress(b, 2000);
        bed_await(b, it_is_noted, "the process that damages its segment is noted");
        b->result.tried++;
        bed_kill(b, BED_BEZELD); /* the next one finds the segment as it is */
        bed_await_progress(b, 2000);
    }
    bed_end(b, "01");
}

static bool all_are_noted(struct bed *b)
{
    return bed_noted(b) >= TRUTH_FORGERIES;
}

/*
 * Processes whose books cannot be sent to the collector, or are impossible: others lose nothing by it, and draining
 * takes no longer.
 */
static void try_forge(struct bed *b, const struct bed_options *o, const void *of)
{
    struct bed_options harmed = *o;
    (void)of;
    harmed.evil = "forge";
    harmed.window_mib = 1;
    harmed.spares = BED_ANY & ~BED_ONLY(BED_UNFINISHED);
    bed_make(b, &harmed);
    for (unsigned i = 0; i < o->rounds; i++) {
        bed_await(b, all_are_noted, "every forgery is noted");
        bed_await_records(b, 4000);
        bed_await_progress(b, 2000);
        b->result.tried += TRUTH_FORGERIES;
        if (i + 1 < o->rounds)
            bed_kill(b, BED_BEZELD); /* the next one finds those that it has not done with */
    }
    bed_end(b, "1");
    if (bed_said(b, "BEZEL-RUN-UNDRAINED"))
        bed_fail(b, "draining was given up");
    char runs[PATH_MAX];
    snprintf(runs, sizeof runs, "%s/runs", b->dir);
    int code = bed_program(b, "verify", (const char *const[]){FAULTS_BUILD "/bezel", "verify", "--runs", runs, NULL});
    if (code != 3) /* incomplete, and not damaged */
        bed_fail(b, "bezel verify: exit code %d", code);
}

#define STAYING(n) (&(const unsigned){n})

const struct fault faults_hostile[] = {
    {"flood of connections that end at once", try_flood, STAYING(1), 1, 20},
    {"flood of connections that stay", try_flood, STAYING(CROWD), 1, 20},
    {"port scans", try_scan, NULL, 1, 20},
    {"malformed packets at full speed", try_malformed, NULL, 1, 20},
    {"a process that damages its own segment, and bezeld killed", try_scribble, NULL, 2, 20},
    {"processes with dictionaries and counters that cannot be, and bezeld killed", try_forge, NULL, 2, 20},
    {"a collector that acknowledges what it never got", try_liar, NULL, 2, 50},
    {"the same, where there are keys that it has not", try_impostor, NULL, 1, 20},
    {0},
};
