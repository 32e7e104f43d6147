// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * What an exchange of times costs: the node's thread that asks and the collector's that answers, over loopback with
 * keys. One figure a line: `name value unit`. Bytes are those of the loopback device, headers included.
 */
#include "base/clock.h"
#include "base/file.h"
#include "bezeld/node/clock_client.h"
#include "collector/clock_server.h"
#include "mdr/link/keyring.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXCHANGES = 2000 };

static char dir[] = "/tmp/bezel-exchanges-XXXXXX";
static struct link_keys server_keys, node_keys;
static double round_trips_us[EXCHANGES];

static int make_key(const char *name, unsigned roles, struct key_secret *secret)
{
    struct key_public public = {.roles = roles};
    char path[PATH_MAX];
    return link_key_write_pair(dir, name, false, secret, &public, path, sizeof path);
}

static uint64_t loopback_bytes(void)
{
    uint64_t bytes = 0;
    FILE *f = fopen("/sys/class/net/lo/statistics/tx_bytes", "re");
    if (f && fscanf(f, "%" SCNu64, &bytes) != 1)
        bytes = 0;
    if (f)
        fclose(f);
    return bytes;
}

static int by_size(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static size_t take_all(struct clock_client *c, size_t count)
{
    struct clock_client_sample s;
    while (count < EXCHANGES && clock_client_take(c, &s))
        round_trips_us[count++] = (double)(s.x.received - s.x.sent - (s.x.answered - s.x.arrived)) / 1e3;
    return count;
}

static int measure(struct clock_client *c)
{
    size_t count = 0;
    int64_t until = clock_now() + 10 * CLOCK_S;
    while ((count = take_all(c, 0)) == 0 && clock_now() < until)
        clock_sleep_until(clock_now() + CLOCK_MS);
    if (count == 0)
        return 1;
    int64_t cpu = clock_process_cpu();
    uint64_t bytes = loopback_bytes();
    for (count = 0; count < EXCHANGES;) {
        size_t before = count;
        clock_client_last(c, CLOCK_S);
        count = take_all(c, count);
        if (count == before)
            return 1;
    }
    qsort(round_trips_us, count, sizeof round_trips_us[0], by_size);
    printf("clock_exchange_cpu_us %.1f us\n", (double)(clock_process_cpu() - cpu) / 1e3 / EXCHANGES);
    printf("clock_exchange_bytes %.0f B\n", (double)(loopback_bytes() - bytes) / EXCHANGES);
    printf("clock_exchange_round_trip_us %.1f us\n", round_trips_us[count / 2]);
    return 0;
}

int main(void)
{
    struct clock_server *s = NULL;
    struct clock_client *c = NULL;
    const struct clock_keeping nobody = {CLOCK_KEPT_BY_NOBODY, 0};
    char endpoint[64];
    if (!link_has_keys() || !mkdtemp(dir))
        return 1;
    int err = make_key("collector", KEY_CONTROL, &server_keys.own);
    if (!err)
        err = make_key("node", KEY_OBSERVE, &node_keys.own);
    if (!err)
        err = link_key_public(&server_keys.own, node_keys.server);
    if (!err)
        err = keyring_open(dir, &server_keys.known);
    if (!err)
        err = (s = clock_server_open("tcp://lo:*", &server_keys, &nobody, false)) ? 0 : BEZEL_ESYS;
    if (!err)
        err = clock_client_open(&node_keys, &nobody, &c);
    if (!err) {
        snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%" PRIu32, clock_server_port(s));
        clock_client_connect(c, endpoint);
        err = measure(c);
    }
    clock_client_close(c);
    clock_server_close(s);
    keyring_free(server_keys.known);
    (void)!file_remove_tree(dir);
    return err != 0;
}
