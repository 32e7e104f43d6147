// SPDX-FileCopyrightText: 2026 The Bezel authors
// SPDX-License-Identifier: MIT

/*
 * How fast a stored run is read in order: by a program through <bezel/consumer.h>, through filters that leave nothing,
 * as the lines of `bezel tail`, and from its server over tcp://127.0.0.1. The run has 32 streams, whose records
 * interleave, and lies in shared memory. One figure a line: `name value unit`. bench-consumer
 */
#include <bezel/consumer.h>

#include "base/clock.h"
#include "base/file.h"
#include "export/record_writer.h"
#include "run/read/run_reader.h"
#include "tests/lib/serve_process.h"
#include "tests/lib/stored_run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { PACKETS = 20, RECORDS = 2000, ALL = FAKE_PROCESSES * FAKE_RINGS * PACKETS * RECORDS };

static char run[] = "/dev/shm/bezel-bench-XXXXXX";

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "bench-consumer: %s failed\n", what);
    (void)!file_remove_tree(run);
    exit(1);
}

static void store_run(void)
{
    static const uint8_t id[16] = "a run's identity";
    struct fake_sensor *f = fake_new("desk", id, 1);
    must(f && mkdtemp(run), "making a run");
    for (unsigned i = 0; i < FAKE_PROCESSES; i++) {
        fake_add_process(f, "client", 100 + i, ROLE_SUT);
        for (unsigned ring = 0; ring < FAKE_RINGS; ring++)
            for (unsigned packet = 0; packet < PACKETS; packet++)
                fake_cut(f, i, ring, RECORDS);
    }
    must(stored_whole(run, f) == 0, "storing a run");
    fake_free(f);
}

/* Prints the rate at which the run's records were gone through since `start`. */
static void say(const char *name, int64_t start)
{
    printf("%s %.0f 1/s\n", name, ALL / ((double)(clock_now() - start) / CLOCK_S));
}

static void consume(const char *name, const char *from, const char *where, const char *aspect, uint64_t expected)
{
    struct bezel_consumer_options options = {.size = sizeof options, .where = where, .aspect = aspect};
    struct bezel_consumer_item item = {.size = sizeof item};
    struct bezel_consumer *c;
    uint64_t records = 0;
    int64_t start = clock_now();
    int got = bezel_consumer_open(from, &options, &c);
    while (got >= 0 && (got = bezel_consumer_next(c, &item, -1)) > 0)
        records++;
    must(got == BEZEL_CONSUMER_END && records == expected, name);
    bezel_consumer_close(c);
    say(name, start);
}

static void consume_served(void)
{
    struct serve_process server;
    must(serve_process_start(&server, run, "tcp://127.0.0.1:*", NULL), "serving the run");
    consume("consumer_network_records_per_s", server.endpoint, NULL, NULL, ALL);
    must(serve_process_end(&server, SIGTERM) == 0, "serving the run");
}

static void write_lines(const char *name, enum record_writer_format format)
{
    struct record_filter all = RECORD_FILTER_ALL;
    struct run_reader *r = NULL;
    struct record_writer *w = NULL;
    struct record_item item;
    FILE *out = fopen("/dev/null", "w");
    int64_t start = clock_now();
    must(out && run_reader_open(run, &all, &r) == 0 && run_reader_look(r, RUN_READER_ALL) == 0 &&
             record_writer_open(out, format, run_reader_model(r, NULL), &RECORD_FILTER_ALL, true, &w) == 0,
         name);
    while (run_reader_next(r, &item) > 0)
        record_writer_put(w, &item);
    must(run_reader_totals(r).records == ALL, name);
    record_writer_close(w);
    run_reader_close(r);
    fclose(out);
    say(name, start);
}

int main(void)
{
    store_run();
    consume("consumer_records_per_s", run, NULL, NULL, ALL);
    consume("consumer_where_records_per_s", run, "source.name = nothing", NULL, 0);
    consume("consumer_stepped_over_records_per_s", run, NULL, "nothing", 0);
    consume_served();
    write_lines("tail_text_records_per_s", RECORD_WRITER_TEXT);
    write_lines("tail_jsonl_records_per_s", RECORD_WRITER_JSONL);
    write_lines("tail_csv_records_per_s", RECORD_WRITER_CSV);
    must(file_remove_tree(run) == 0, "removing the run");
    return 0;
}
