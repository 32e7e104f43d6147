// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * bench-mirror speed: how fast a stored run of 32 streams is mirrored from its server over tcp://127.0.0.1, from the
 * start of `bezel mirror`, which is in PATH, to its end; memory to memory. bench-mirror lag FILE COPY SAMPLES: how much
 * later COPY, a stream's file in a mirror, has what FILE has; the median of SAMPLES times at which FILE grew. Figures:
 * `name value unit`. bench-mirror link PORT: a link to that port that takes 20 ms either way; it prints its endpoint,
 * and goes on until it is ended.
 */
#include "base/clock.h"
#include "base/file.h"
#include "tests/lib/proxy.h"
#include "tests/lib/serve_process.h"
#include "tests/lib/stored_run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PACKETS = 100, RECORDS = 2000, ALL = FAKE_PROCESSES * FAKE_RINGS * PACKETS * RECORDS, SAMPLES_MAX = 100000 };

#define LOOK (CLOCK_MS / 5)

static char folder[] = "/dev/shm/bezel-bench-XXXXXX", run[64], copy[64];

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench-mirror: %s failed\n", what);
    (void)!file_remove_tree(folder);
    exit(1);
}

static void store_run(void)
{
    static const uint8_t id[16] = "a run's identity";
    struct fake_sensor *f = fake_new("desk", id, 1);
    must(f && file_make_dirs(run, 0700) == 0, "making a run");
    for (unsigned i = 0; i < FAKE_PROCESSES; i++) {
        fake_add_process(f, "client", 100 + i, ROLE_SUT);
        for (unsigned ring = 0; ring < FAKE_RINGS; ring++)
            for (unsigned packet = 0; packet < PACKETS; packet++)
                fake_cut(f, i, ring, RECORDS);
    }
    must(stored_whole(run, f) == 0, "storing a run");
    fake_free(f);
}

static int mirror(const char *endpoint)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        execlp("bezel", "bezel", "mirror", endpoint, copy, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    return status;
}

static void speed(void)
{
    struct serve_process server;
    must(mkdtemp(folder), "making a folder");
    snprintf(run, sizeof run, "%s/run", folder);
    snprintf(copy, sizeof copy, "%s/copy", folder);
    store_run();
    must(serve_process_start(&server, run, "tcp://127.0.0.1:*", NULL), "serving the run");
    int64_t start = clock_now();
    must(mirror(server.endpoint) == 0, "bezel mirror");
    printf("mirror_records_per_s %.0f 1/s\n", ALL / ((double)(clock_now() - start) / CLOCK_S));
    must(serve_process_end(&server, SIGTERM) == 0, "serving the run");
    must(file_remove_tree(folder) == 0, "removing the run");
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* Looks at both files again and again: when one has grown, and when the other has come to as much. */
static void lag(const char *of, const char *in, size_t samples)
{
    static struct {
        uint64_t bytes;
        int64_t at;
    } grown[SAMPLES_MAX];
    static int64_t behind[SAMPLES_MAX];
    size_t first = 0, count = 0, done = 0;
    int64_t deadline = clock_now() + 60 * CLOCK_S;
    for (uint64_t last = size_of(of); done < samples; clock_sleep_until(clock_now() + LOOK)) {
        uint64_t there = size_of(of), here = size_of(in);
        int64_t now = clock_now();
        must(now < deadline && count < SAMPLES_MAX, "waiting for the mirror");
        if (there > last) {
            grown[count].bytes = last = there;
            grown[count++].at = now;
        }
        for (; first < count && done < samples && here >= grown[first].bytes; first++)
            behind[done++] = now - grown[first].at;
    }
    qsort(behind, samples, sizeof *behind, compare);
    printf("mirror_lag_ms %.2f ms\nmirror_lag_p99_ms %.2f ms\n", (double)behind[samples / 2] / CLOCK_MS,
           (double)behind[samples * 99 / 100] / CLOCK_MS);
}

static void link_to(uint16_t port)
{
    struct proxy proxy;
    const struct proxy_mode mode = {.delay = 20 * CLOCK_MS};
    must(proxy_start(&proxy, "127.0.0.1", port, false, 1) && proxy_set(&proxy, &mode), "making a link");
    printf("tcp://127.0.0.1:%u\n", proxy.port);
    (void)!fflush(stdout);
    pause();
}

int main(int argc, char **argv)
{
    size_t samples = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
    if (argc == 2 && strcmp(argv[1], "speed") == 0)
        speed();
    else if (argc == 5 && strcmp(argv[1], "lag") == 0 && samples > 0 && samples <= SAMPLES_MAX)
        lag(argv[2], argv[3], samples);
    else if (argc == 3 && strcmp(argv[1], "link") == 0)
        link_to((uint16_t)strtoul(argv[2], NULL, 10));
    else
        return fputs("usage: bench-mirror speed | link PORT | lag FILE COPY SAMPLES\n", stderr), 2;
    return 0;
}
