// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * Brokers of Kafka for tests, of librdkafka: N brokers of it on loopback. Prints their addresses with commas, and takes
 * commands, a line each, until its input ends: `down I`, `up I` (from 1), `fail N`: the next N requests to store are
 * answered with an error.
 */
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRODUCE = 0, FAILURES_MAX = 100 };

static void fail(rd_kafka_mock_cluster_t *c, unsigned count)
{
    rd_kafka_resp_err_t errors[FAILURES_MAX];
    for (unsigned i = 0; i < FAILURES_MAX; i++)
        errors[i] = i % 2 ? RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS : RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT;
    rd_kafka_mock_push_request_errors_array(c, PRODUCE, count < FAILURES_MAX ? count : FAILURES_MAX, errors);
}

int main(int argc, char **argv)
{
    char why[200], line[100], command[20];
    unsigned number;
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), why, sizeof why);
    rd_kafka_mock_cluster_t *c = rk ? rd_kafka_mock_cluster_new(rk, argc > 1 ? atoi(argv[1]) : 1) : NULL;
    if (!c)
        return 1;
    puts(rd_kafka_mock_cluster_bootstraps(c));
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%19s %u", command, &number) != 2)
            return 1;
        if (strcmp(command, "fail") == 0)
            fail(c, number);
        else if (strcmp(command, "down") == 0)
            rd_kafka_mock_broker_set_down(c, (int32_t)number);
        else
            rd_kafka_mock_broker_set_up(c, (int32_t)number);
    }
    rd_kafka_mock_cluster_destroy(c);
    rd_kafka_destroy(rk);
    return 0;
}
