// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bench-zmq MESSAGES BYTES: how long a message takes one way over bare ZeroMQ, DEALER to ROUTER, TCP on loopback,
 * between two processes that do nothing else, one message some 33 ms after the other. Prints `zmq_median_ns N` and
 * `zmq_p99_ns N`.
 */
#include "base/clock.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

static void send_all(const char *endpoint, int messages, size_t bytes)
{
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_DEALER);
    char *data = calloc(1, bytes);
    prctl(PR_SET_TIMERSLACK, 1UL);
    if (!data || zmq_connect(socket, endpoint) != 0)
        _exit(1);
    int64_t due = clock_now() + 300 * CLOCK_MS;
    for (int i = 0; i < messages; i++, due += 33 * CLOCK_MS + (i % 10) * 100 * CLOCK_US) {
        clock_sleep_until(due);
        int64_t now = clock_now();
        memcpy(data, &now, sizeof now);
        zmq_send(socket, data, bytes, 0);
    }
    zmq_close(socket);
    zmq_ctx_term(context);
    _exit(0);
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int receive_all(void *socket, int messages, size_t bytes)
{
    int64_t *took = calloc((size_t)messages, sizeof *took), sent;
    char id[256], *data = malloc(bytes);
    int i = 0;
    for (; took && data && i < messages; i++) {
        if (zmq_recv(socket, id, sizeof id, 0) < 0 || zmq_recv(socket, data, bytes, 0) != (int)bytes)
            break;
        memcpy(&sent, data, sizeof sent);
        took[i] = clock_now() - sent;
    }
    bool all = i == messages;
    if (all) {
        qsort(took, (size_t)messages, sizeof *took, ascending);
        printf("zmq_median_ns %" PRId64 "\nzmq_p99_ns %" PRId64 "\n", took[messages / 2], took[messages * 99 / 100]);
    }
    free(took);
    free(data);
    return all ? 0 : 1;
}

int main(int argc, char **argv)
{
    int messages = argc == 3 ? atoi(argv[1]) : 0, bytes = argc == 3 ? atoi(argv[2]) : 0, to_child[2];
    char endpoint[256];
    size_t size = sizeof endpoint;
    if (messages < 1 || bytes < 8 || pipe(to_child) != 0) {
        fputs("usage: bench-zmq MESSAGES BYTES\n", stderr);
        return 2;
    }
    pid_t child = fork(); /* before there is a context */
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (read(to_child[0], endpoint, sizeof endpoint) != (ssize_t)sizeof endpoint)
            _exit(1);
        send_all(endpoint, messages, (size_t)bytes);
    }
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_ROUTER);
    if (child < 0 || zmq_bind(socket, "tcp://127.0.0.1:*") != 0 ||
        zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size) != 0 ||
        write(to_child[1], endpoint, sizeof endpoint) != (ssize_t)sizeof endpoint)
        return 1;
    int code = receive_all(socket, messages, (size_t)bytes);
    zmq_close(socket);
    zmq_ctx_term(context);
    waitpid(child, NULL, 0);
    return code;
}
